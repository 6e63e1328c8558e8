//! Which columns a source has, and where each comes from: the files, or the names of their folders.
//!
//! Pure. Invariant: a partition's value comes from the path even where the file has a column of that name; every file
//! has a column of its own. Must not know: how columns were found.

use model::{ColumnType, ErrorCode};
use stores::error::{Result, SourceError, SourceErrorKind};
use stores::keys::hive::HiveColumn;

/// Name and type of columns, in order.
pub(crate) type Columns = Vec<(String, ColumnType)>;

/// The columns of a source.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct SourceColumns {
    /// What `*` stands for.
    pub all: Columns,
    /// What the files hold, in their order: formats without names need them all.
    pub stored: Columns,
    /// Of `all`, those whose values stand in the path.
    pub partitions: Vec<HiveColumn>,
    /// Partitions that a given structure leaves out: read when they are named.
    pub hidden_partitions: Vec<HiveColumn>,
}

impl SourceColumns {
    /// Of a structure that was given: what it names of the partitions is not looked for in the files.
    pub(crate) fn given(columns: Columns, hive: Vec<HiveColumn>) -> Result<SourceColumns> {
        let is_partition = |name: &str| hive.iter().any(|column| column.name == name);
        let stored = columns.iter().filter(|(name, _)| !is_partition(name)).cloned().collect();
        let (partitions, hidden_partitions) =
            hive.into_iter().partition::<Vec<_>, _>(|one| columns.iter().any(|(name, _)| *name == one.name));
        let partitions = typed_as(partitions, &columns);
        checked(SourceColumns { all: columns, stored, partitions, hidden_partitions })
    }

    /// Of files that were looked into: partitions follow the files' own columns, unless these have the name already.
    pub(crate) fn inferred(stored: Columns, hive: Vec<HiveColumn>) -> Result<SourceColumns> {
        let mut all = stored.clone();
        let added = hive.iter().filter(|one| stored.iter().all(|(name, _)| *name != one.name));
        all.extend(added.map(|one| (one.name.clone(), one.column_type.clone())));
        let partitions = typed_as(hive, &all);
        checked(SourceColumns { all, stored, partitions, hidden_partitions: Vec::new() })
    }
}

fn typed_as(partitions: Vec<HiveColumn>, columns: &Columns) -> Vec<HiveColumn> {
    let typed = |one: HiveColumn| {
        let known = columns.iter().find(|(name, _)| *name == one.name);
        HiveColumn { column_type: known.map_or(one.column_type, |(_, known)| known.clone()), name: one.name }
    };
    partitions.into_iter().map(typed).collect()
}

fn checked(columns: SourceColumns) -> Result<SourceColumns> {
    let from_path = |name: &str| columns.partitions.iter().any(|column| column.name == name);
    if columns.partitions.is_empty() || columns.stored.iter().any(|(name, _)| !from_path(name)) {
        return Ok(columns);
    }
    let message = "files whose columns are all partitions of their paths cannot be read";
    Err(SourceError::new(SourceErrorKind::NoStructure, message)
        .with_code(ErrorCode::INCORRECT_DATA)
        .with_hint("use_hive_partitioning = 0 reads paths as plain names"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(text: &str) -> Columns {
        crate::schema::structure::parse(text).unwrap()
    }

    fn hive(text: &str) -> Vec<HiveColumn> {
        columns(text).into_iter().map(|(name, column_type)| HiveColumn { name, column_type }).collect()
    }

    #[test]
    fn partitions_beside_the_columns_of_files() {
        let found = SourceColumns::inferred(columns("a Int8, n Int8"), hive("n Int64, y Int64")).unwrap();
        assert_eq!(found.all, columns("a Int8, n Int8, y Int64"));
        assert_eq!(found.stored, columns("a Int8, n Int8"));
        assert_eq!(found.partitions, hive("n Int8, y Int64"));
        let given = SourceColumns::given(columns("a Int8, y UInt16"), hive("n Int64, y Int64")).unwrap();
        assert_eq!((given.all, given.stored), (columns("a Int8, y UInt16"), columns("a Int8")));
        assert_eq!((given.partitions, given.hidden_partitions), (hive("y UInt16"), hive("n Int64")));
    }

    #[test]
    fn a_file_has_a_column_of_its_own() {
        let error = SourceColumns::inferred(columns("a Int8"), hive("a Int64")).unwrap_err();
        assert_eq!(error.code(), ErrorCode::INCORRECT_DATA);
        assert!(SourceColumns::given(columns("a Int8"), hive("a Int64")).is_err());
        assert!(SourceColumns::inferred(columns("a Int8"), Vec::new()).is_ok());
    }
}
