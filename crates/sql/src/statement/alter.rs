//! What ALTER TABLE says.

use model::DefaultKind;

use super::{ColumnSpec, ConstraintSpec, SettingChange, TableName};

/// ALTER TABLE: all of its commands happen, one after the other, or none.
#[derive(Clone, PartialEq, Debug)]
pub struct Alter {
    pub table: TableName,
    pub commands: Vec<AlterCommand>,
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
    CommentTable(String),
    ModifySettings(Vec<SettingChange>),
    ResetSettings(Vec<String>),
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
}
