//! Modes over small tables of rows, whole and cut into batches in every way.

use std::sync::Arc;

use arrow::array::{Int8Array, Int64Array, RecordBatch, StringViewArray, UInt8Array};
use arrow::compute::concat_batches;
use model::{ColumnDef, ColumnId, ColumnType, MergeMode, RowExpr, TableDef, TableEngine, TableId, TableKeys};

use super::*;

fn table(mode: MergeMode) -> (TableDef, TableKeys) {
    let columns = vec![
        ColumnDef::plain(1, "key", ColumnType::Int64),
        ColumnDef::plain(2, "sign", ColumnType::Int8),
        ColumnDef::plain(3, "version", ColumnType::UInt8),
        ColumnDef::plain(4, "text", ColumnType::String),
    ];
    let mut def = TableDef::plain(TableId::from_bytes([1; 16]), "t", TableEngine::MergeTree, columns);
    (def.mode, def.order_by) = (mode, vec!["`#1`".into()]);
    let key: Arc<dyn RowExpr> = Arc::new(Plain([ColumnId(1)]));
    (def, TableKeys { sort: vec![key], ..TableKeys::default() })
}

/// A column as a key.
#[derive(Debug)]
struct Plain([ColumnId; 1]);

impl RowExpr for Plain {
    fn evaluate(&self, rows: &RecordBatch) -> Result<ArrayRef, model::RowExprError> {
        let at = rows.schema().fields().iter().position(|field| column_id_of(field) == Some(self.0[0]));
        Ok(Arc::clone(rows.column(at.unwrap())))
    }

    fn column_type(&self) -> &ColumnType {
        &ColumnType::Int64
    }

    fn columns(&self) -> &[ColumnId] {
        &self.0
    }

    fn as_column(&self) -> Option<ColumnId> {
        Some(self.0[0])
    }

    fn monotonicity(&self) -> Option<model::Monotonicity> {
        None
    }

    fn text(&self) -> &str {
        "key"
    }
}

type Row = (i64, i8, u8, &'static str);

fn batch(def: &TableDef, rows: &[Row]) -> RecordBatch {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(rows.iter().map(|row| row.0).collect::<Int64Array>()),
        Arc::new(rows.iter().map(|row| row.1).collect::<Int8Array>()),
        Arc::new(rows.iter().map(|row| row.2).collect::<UInt8Array>()),
        Arc::new(rows.iter().map(|row| Some(row.3)).collect::<StringViewArray>()),
    ];
    RecordBatch::try_new(def.arrow_schema(), columns).unwrap()
}

/// The texts that are left, whichever way the rows are cut.
fn left(mode: MergeMode, who: For, rows: &[Row]) -> String {
    let (def, keys) = table(mode);
    let whole = batch(&def, rows);
    let mut answers: Vec<String> = Vec::new();
    for size in 1..=rows.len() {
        let mut collapser = Collapser::new(&def, &keys, &whole.schema(), who).unwrap().unwrap();
        let mut out = Vec::new();
        for start in (0..rows.len()).step_by(size) {
            out.extend(collapser.push(&whole.slice(start, size.min(rows.len() - start))).unwrap());
        }
        out.extend(collapser.finish().unwrap());
        let out = concat_batches(&whole.schema(), &out).unwrap();
        let texts: &StringViewArray = out.column(3).as_any().downcast_ref().unwrap();
        let signs: &Int8Array = out.column(1).as_any().downcast_ref().unwrap();
        let shown = (0..out.num_rows()).map(|row| format!("{}{:+}", texts.value(row), signs.value(row)));
        answers.push(shown.collect::<Vec<_>>().join(" "));
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    answers.remove(0)
}

#[test]
fn the_newest_row_of_a_key_stays() {
    let plain = || MergeMode::Replacing { version: None, is_deleted: None };
    let rows =
        [(1, 1, 5, "a"), (1, 1, 9, "b"), (1, 1, 9, "c"), (1, 1, 2, "d"), (2, 1, 0, "e"), (3, 1, 1, "f")];
    assert_eq!(left(plain(), For::Storage, &rows), "d+1 e+1 f+1");
    let versioned = |is_deleted| MergeMode::Replacing { version: Some(ColumnId(3)), is_deleted };
    assert_eq!(left(versioned(None), For::Reading, &rows), "c+1 e+1 f+1");
    // The column of versions says who is deleted, too.
    let deleted = versioned(Some(ColumnId(3)));
    let rows = [(1, 1, 0, "a"), (1, 1, 1, "b"), (1, 1, 0, "c"), (2, 1, 0, "e"), (3, 1, 1, "f")];
    assert_eq!(left(deleted.clone(), For::Reading, &rows), "e+1");
    assert_eq!(left(deleted, For::Storage, &rows), "b+1 e+1 f+1");
}

#[test]
fn signs_cancel_each_other() {
    let mode = || MergeMode::Collapsing { sign: ColumnId(2) };
    for (signs, stored, read) in [
        (vec![1, -1], "", ""),
        (vec![-1, 1], "a-1 b+1", "b+1"),
        (vec![1, 1, -1], "b+1", "b+1"),
        (vec![1, -1, -1], "b-1", ""),
        (vec![-1], "a-1", ""),
        (vec![1, -1, 1], "c+1", "c+1"),
        (vec![1, -1, -1, 1], "b-1 d+1", "d+1"),
    ] {
        let names = ["a", "b", "c", "d"];
        let rows: Vec<Row> = signs.iter().zip(names).map(|(sign, name)| (7, *sign, 0, name)).collect();
        assert_eq!(left(mode(), For::Storage, &rows), stored, "{signs:?}");
        assert_eq!(left(mode(), For::Reading, &rows), read, "{signs:?}");
    }
}

#[test]
fn versions_cancel_in_any_order() {
    let mode = MergeMode::VersionedCollapsing { sign: ColumnId(2), version: ColumnId(3) };
    let rows =
        [(1, 1, 2, "a"), (1, -1, 1, "b"), (1, 1, 1, "c"), (1, -1, 3, "d"), (1, 1, 3, "e"), (2, -1, 1, "f")];
    assert_eq!(left(mode, For::Storage, &rows), "a+1 f-1");
}

#[test]
fn sums_wrap_and_zeros_go() {
    let mode = MergeMode::Summing { columns: vec![ColumnId(2)] };
    let rows =
        [(1, 100, 0, "a"), (1, 100, 0, "b"), (2, 5, 0, "c"), (2, -5, 0, "d"), (3, 0, 0, "e"), (4, 1, 0, "f")];
    assert_eq!(left(mode, For::Storage, &rows), "a-56 f+1");
}

#[test]
fn a_sign_that_is_none_is_an_error() {
    let (def, keys) = table(MergeMode::Collapsing { sign: ColumnId(2) });
    let rows = batch(&def, &[(1, 0, 0, "a")]);
    let mut collapser = Collapser::new(&def, &keys, &rows.schema(), For::Storage).unwrap().unwrap();
    let failed = collapser.push(&rows).and_then(|_| collapser.finish()).unwrap_err();
    assert!(failed.to_string().contains("Sign = 0"), "{failed}");
}
