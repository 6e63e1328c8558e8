//! What ALTER TABLE says.

use model::DefaultKind;
use sqlparser::ast;

use super::mutation::Mutation;
use super::{ColumnSpec, ConstraintSpec, Query, Refresh, SettingChange, TableName};

/// ALTER TABLE: all of its commands happen, one after the other, or none; then those about rows, which see the new columns.
#[derive(Clone, PartialEq, Debug)]
pub struct Alter {
    pub table: TableName,
    pub commands: Vec<AlterCommand>,
    pub rows: Option<Mutation>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum AlterCommand {
    AddColumn {
        column: ColumnSpec,
        if_not_exists: bool,
        place: Option<ColumnPlace>,
    },
    DropColumn {
        name: String,
        if_exists: bool,
    },
    RenameColumn {
        from: String,
        to: String,
        if_exists: bool,
    },
    /// What `column` does not say stays as it is.
    ModifyColumn {
        column: ColumnSpec,
        if_exists: bool,
        place: Option<ColumnPlace>,
    },
    RemoveOfColumn {
        name: String,
        if_exists: bool,
        what: ColumnProperty,
    },
    CommentColumn {
        name: String,
        if_exists: bool,
        comment: String,
    },
    AddConstraint {
        constraint: ConstraintSpec,
        if_not_exists: bool,
    },
    DropConstraint {
        name: String,
        if_exists: bool,
    },
    AddIndex {
        index: IndexClause,
        if_not_exists: bool,
        place: Option<ClausePlace>,
    },
    DropIndex {
        name: String,
        if_exists: bool,
    },
    AddProjection {
        projection: ProjectionClause,
        if_not_exists: bool,
        place: Option<ClausePlace>,
    },
    DropProjection {
        name: String,
        if_exists: bool,
    },
    /// CLEAR and MATERIALIZE of an index or a projection: there is nothing to clear or to make.
    Touch,
    /// As written.
    ModifyTtl(String),
    RemoveTtl,
    /// What a materialized view does with rows from now on.
    ModifyQuery(Query),
    /// Of a view that is refreshed: another clause in the place of the old one.
    ModifyRefresh(Box<Refresh>),
    ModifyOrderBy(Vec<ast::Expr>),
    ModifySampleBy(ast::Expr),
    RemoveSampleBy,
    CommentTable(String),
    ModifySettings(Vec<SettingChange>),
    ResetSettings(Vec<String>),
}

impl AlterCommand {
    /// Whether rows may have to go because of it.
    pub fn gives_ttl(&self) -> bool {
        match self {
            AlterCommand::ModifyTtl(_) => true,
            AlterCommand::ModifyColumn { column, .. } => column.ttl.is_some(),
            _ => false,
        }
    }
}

/// `name expression TYPE type GRANULARITY n`.
#[derive(Clone, PartialEq, Debug)]
pub struct IndexClause {
    pub name: String,
    pub expression: ast::Expr,
    /// With its arguments, as written.
    pub index_type: String,
    pub granularity: u64,
}

/// `name (SELECT ..)`, the query as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProjectionClause {
    pub name: String,
    pub query: String,
}

/// Where an index or a projection comes to stand among its like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClausePlace {
    First,
    After(String),
}

/// Where a column comes to stand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ColumnPlace {
    First,
    After(String),
}

/// What MODIFY COLUMN .. REMOVE takes away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnProperty {
    Default(DefaultKind),
    Comment,
    Codec,
    Ttl,
}

/// One pair of RENAME TABLE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RenamedTable {
    pub from: TableName,
    pub to: TableName,
    /// A table that is not there is passed over.
    pub if_exists: bool,
}
