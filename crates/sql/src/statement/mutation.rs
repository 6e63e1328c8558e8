//! What changes rows and partitions that are there.

use sqlparser::ast::Expr;

use super::TableName;

/// DELETE, UPDATE, and what ALTER TABLE says of rows: the commands happen one after the other.
#[derive(Clone, PartialEq, Debug)]
pub struct Mutation {
    pub table: TableName,
    pub commands: Vec<RowCommand>,
}

/// One command. `text` is how `system.mutations` shows it.
#[derive(Clone, PartialEq, Debug)]
pub struct RowCommand {
    pub change: RowChange,
    /// Only rows of this partition.
    pub partition: Option<Partition>,
    pub text: String,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Partition {
    /// PARTITION expr: the values of the partition key.
    Expression(Box<Expr>),
    /// PARTITION ID 'text'.
    Id(String),
}

#[derive(Clone, PartialEq, Debug)]
pub enum RowChange {
    Delete {
        condition: Box<Expr>,
    },
    Update {
        assignments: Vec<(String, Expr)>,
        condition: Box<Expr>,
    },
    /// DROP PARTITION; without a partition ALL of them.
    DropPartition,
    /// DROP PART: by its name.
    DropPart {
        name: String,
    },
    /// CLEAR COLUMN: its default takes the place of its values.
    ClearColumn {
        name: String,
        if_exists: bool,
    },
    /// MATERIALIZE COLUMN: a MATERIALIZED column is computed anew; what is left out of older parts is written.
    MaterializeColumn {
        name: String,
    },
    /// MATERIALIZE TTL: what is too old by now is deleted.
    MaterializeTtl {
        /// Also of parts that are not too old as a whole, whatever `ttl_only_drop_parts` says.
        is_forced: bool,
    },
}

/// ALTER TABLE: rows of a partition go from one table to another.
#[derive(Clone, PartialEq, Debug)]
pub struct PartitionTransfer {
    pub from: TableName,
    pub to: TableName,
    /// `None`: all of them.
    pub partition: Option<Partition>,
    pub kind: TransferKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransferKind {
    /// ATTACH PARTITION .. FROM: beside the rows that are there.
    Attach,
    /// REPLACE PARTITION .. FROM: in the place of the rows that are there.
    Replace,
    /// MOVE PARTITION .. TO TABLE: beside the rows that are there; those they were copied from go.
    Move,
}

impl Mutation {
    /// The conditions and values of its commands.
    pub fn expressions_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        self.commands.iter_mut().flat_map(|command| {
            let (assignments, condition) = match &mut command.change {
                RowChange::Delete { condition } => (None, Some(condition)),
                RowChange::Update { assignments, condition } => (Some(assignments), Some(condition)),
                _ => (None, None),
            };
            let values = assignments.into_iter().flatten().map(|(_, value)| value);
            values.chain(condition.map(Box::as_mut))
        })
    }
}
