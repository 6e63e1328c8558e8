//! A block is sorted as a plain stable sort of its values would sort it.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, RecordBatch, StringViewArray};
use arrow::datatypes::Schema;
use mergetree::write::gather::{RowPlace, places};
use mergetree::write::sort::BlockKeys;
use model::type_arrow::{FIELD_ID_KEY, to_field};
use model::{ColumnId, ColumnType, RowExpr, TableKeys};
use proptest::prelude::*;

use crate::fixture::rows::Column;

type Row = (Option<i32>, String);

fn block(rows: &[Row]) -> RecordBatch {
    let types = [ColumnType::Int32.nullable(), ColumnType::String];
    let fields = types.iter().zip(["1", "2"]).map(|(column_type, id)| {
        let field = to_field(id, column_type);
        let mut metadata = field.metadata().clone();
        metadata.insert(FIELD_ID_KEY.to_owned(), id.to_owned());
        field.with_metadata(metadata)
    });
    let columns: Vec<ArrayRef> = vec![
        Arc::new(rows.iter().map(|row| row.0).collect::<Int32Array>()),
        Arc::new(StringViewArray::from_iter_values(rows.iter().map(|row| row.1.as_str()))),
    ];
    RecordBatch::try_new(Arc::new(Schema::new(fields.collect::<Vec<_>>())), columns).unwrap()
}

fn keys() -> TableKeys {
    let column = |id: u32, column_type: ColumnType| -> Arc<dyn RowExpr> {
        Arc::new(Column { column_type, id: [ColumnId(id)], text: id.to_string() })
    };
    let sort = vec![column(1, ColumnType::Int32.nullable()), column(2, ColumnType::String)];
    TableKeys { sort, ..TableKeys::default() }
}

/// NULL is greater than everything.
fn order(a: &Row, b: &Row) -> Ordering {
    let key = |row: &Row| (row.0.is_none(), row.0);
    key(a).cmp(&key(b)).then_with(|| a.1.cmp(&b.1))
}

proptest! {
    #[test]
    fn as_a_stable_sort(
        rows in prop::collection::vec((prop::option::of(-2..3_i32), "[ab\\x00é]{0,3}|a{12,40}"), 1..60),
        keep in prop::collection::vec(any::<bool>(), 60),
    ) {
        // In two batches: places must order across them.
        let cut = rows.len() / 2;
        let (blocks, keys) = ([block(&rows[..cut]), block(&rows[cut..])], keys());
        let all = places(&blocks).unwrap();
        let value = |place: &RowPlace| &rows[place.batch as usize * cut + place.row as usize];
        let subset: Vec<RowPlace> =
            all.iter().zip(&keep).filter(|(_, keep)| **keep).map(|(place, _)| *place).collect();
        for subset in [None, Some(subset)] {
            let mut expected = subset.clone().unwrap_or_else(|| all.clone());
            let given = expected.clone();
            expected.sort_by(|a, b| order(value(a), value(b)));
            let found = BlockKeys::new(&keys, &blocks).unwrap().sorted_rows(subset.as_deref());
            prop_assert_eq!(found.is_none(), expected == given, "in order is said exactly when it is true");
            prop_assert_eq!(found.unwrap_or(given), expected);
        }
    }
}
