//! What takes whole parts out of sight and brings them back, or keeps a copy of them.

use super::TableName;
use super::mutation::Partition;

/// ALTER TABLE: DETACH, ATTACH, DROP DETACHED, FREEZE and UNFREEZE of partitions and parts. All commands of a statement do the
/// same.
#[derive(Clone, PartialEq, Debug)]
pub struct PartsChange {
    pub table: TableName,
    pub kind: PartsChangeKind,
    /// At least one.
    pub parts: Vec<NamedParts>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PartsChangeKind {
    /// They stay, and no query reads them.
    Detach,
    /// Those that were detached are read again.
    Attach,
    /// Those that were detached are deleted.
    DropDetached,
    /// A copy of them stays whatever becomes of the table; without a name it gets a number.
    Freeze { name: Option<String> },
    /// The copy is deleted.
    Unfreeze { name: String },
}

/// Which parts a command is about.
#[derive(Clone, PartialEq, Debug)]
pub enum NamedParts {
    All,
    Partition(Partition),
    /// PART 'name', as `system.parts` shows it.
    Part(String),
}

impl PartsChangeKind {
    /// What `command_type` says of a command.
    pub fn command_type(&self, parts: &NamedParts) -> String {
        let verb = match self {
            PartsChangeKind::Detach => "DETACH",
            PartsChangeKind::Attach => "ATTACH",
            PartsChangeKind::DropDetached => "DROP DETACHED",
            PartsChangeKind::Freeze { .. } => "FREEZE",
            PartsChangeKind::Unfreeze { .. } => "UNFREEZE",
        };
        let is_copy = matches!(self, PartsChangeKind::Freeze { .. } | PartsChangeKind::Unfreeze { .. });
        let what = match parts {
            NamedParts::All if is_copy => "ALL",
            NamedParts::All | NamedParts::Partition(_) => "PARTITION",
            NamedParts::Part(_) => "PART",
        };
        format!("{verb} {what}")
    }
}
