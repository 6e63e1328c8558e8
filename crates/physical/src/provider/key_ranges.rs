//! Rows whose keys overlap: what FINAL has to compare, and what it need not.
//!
//! Invariant: rows of one key are in one range. Only the first expression of the key is looked at, and only where its bounds
//! are certain: anything else reaches from the least to the greatest. Must not know: what becomes of a range.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::DataType;
use arrow::row::{RowConverter, SortField};
use catalog::TableState;
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::logical_expr::Expr;
use mergetree::Table;
use model::type_arrow::to_data_type;
use model::{ColumnBounds, ColumnDef, ColumnId, PartDescriptor, PartitionValue, RowExpr};
use parts::sorted::KEY_ORDER;

use crate::error::into_datafusion;

/// What one FINAL read reads of one place in the order of insertion.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Part(Arc<PartDescriptor>),
    /// Rows of the log of one partition.
    Rows {
        partition: PartitionValue,
        first_block: u64,
        rows: Vec<RecordBatch>,
    },
}

impl Item {
    pub(super) fn rows(&self) -> u64 {
        match self {
            Item::Part(part) => part.rows,
            Item::Rows { rows, .. } => rows.iter().map(|batch| batch.num_rows() as u64).sum(),
        }
    }
}

/// The least and the greatest key, as bytes that compare as keys do; `None`: without an end.
struct Reach {
    least: Vec<u8>,
    greatest: Option<Vec<u8>>,
}

impl Reach {
    fn everywhere() -> Reach {
        Reach { least: Vec::new(), greatest: None }
    }
}

/// Items, in the order of insertion, by ranges of keys that have none in common.
///
/// # Errors
/// A key cannot be computed.
pub(super) fn apart(table: &Table, state: &TableState, items: Vec<Item>) -> Result<Vec<Vec<Item>>> {
    let first = FirstKey::of(table, state);
    let mut reaches = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        reaches
            .push((first.as_ref().map_or_else(|| Ok(Reach::everywhere()), |first| first.reach(item))?, at));
    }
    reaches.sort_by(|a, b| a.0.least.cmp(&b.0.least));
    let mut ranges: Vec<(Option<Vec<u8>>, Vec<usize>)> = Vec::new();
    for (reach, at) in reaches {
        match ranges.last_mut() {
            Some((end, members)) if end.as_ref().is_none_or(|end| *end >= reach.least) => {
                let longer = |end: Vec<u8>| reach.greatest.map(|greatest| end.max(greatest));
                *end = end.take().and_then(longer);
                members.push(at);
            }
            _ => ranges.push((reach.greatest, vec![at])),
        }
    }
    let in_order = |(_, mut members): (Option<Vec<u8>>, Vec<usize>)| {
        members.sort_unstable();
        members.into_iter().map(|at| items[at].clone()).collect()
    };
    Ok(ranges.into_iter().map(in_order).collect())
}

/// Conditions of which exactly one is true of each row, so that rows of a range may be merged side by side; none where nobody
/// knows where to cut. They are about the first column of the key, and cut between its least and its greatest value.
pub(super) fn cuts(table: &Table, state: &TableState, items: &[Item], count: usize) -> Vec<Expr> {
    let Some(first) =
        FirstKey::of(table, state).filter(|first| !matches!(first.data_type, DataType::Utf8View))
    else {
        return Vec::new();
    };
    let known = items.iter().filter_map(|item| match item {
        Item::Part(part) => first.bounds_of(part),
        Item::Rows { .. } => None,
    });
    let (mut least, mut greatest): (Option<i128>, Option<i128>) = (None, None);
    for bounds in known {
        let (Some(min), Some(max)) =
            (bounds.min.as_ref().and_then(whole), bounds.max.as_ref().and_then(whole))
        else {
            continue;
        };
        least = Some(least.map_or(min, |least| least.min(min)));
        greatest = Some(greatest.map_or(max, |greatest| greatest.max(max)));
    }
    let (Some(least), Some(greatest)) = (least, greatest) else { return Vec::new() };
    let column = || Expr::Column(Column::from_name(first.column.name.as_ref()));
    let points = (1..count as i128).map(|at| least + (greatest - least) * at / count as i128);
    let points: Option<Vec<Expr>> = points.map(|point| first.literal(point)).collect();
    let Some(points) = points.filter(|points| !points.is_empty()) else { return Vec::new() };
    let from = |at: usize| column().gt_eq(points[at].clone());
    let below = |at: usize| column().lt(points[at].clone());
    let last = points.len() - 1;
    let between = (1..=last).map(|at| from(at - 1).and(below(at)));
    let mut cuts = vec![below(0)];
    cuts.extend(between);
    cuts.push(from(last).or(column().is_null()));
    cuts
}

fn whole(value: &model::Value) -> Option<i128> {
    match value {
        model::Value::Int(number) => Some(i128::from(*number)),
        model::Value::UInt(number) => Some(i128::from(*number)),
        _ => None,
    }
}

/// The first expression of a key that is a column whose bounds order as keys do.
struct FirstKey<'a> {
    state: &'a TableState,
    column: &'a ColumnDef,
    key: Arc<dyn RowExpr>,
    data_type: DataType,
    converter: RowConverter,
}

impl<'a> FirstKey<'a> {
    fn of(table: &Table, state: &'a TableState) -> Option<FirstKey<'a>> {
        let key = Arc::clone(table.keys.sort.first()?);
        let id: ColumnId = key.as_column()?;
        let column = state.def.column_by_id(id)?;
        let data_type = to_data_type(&column.column_type);
        let is_certain =
            data_type.is_integer() || data_type.is_temporal() || matches!(data_type, DataType::Utf8View);
        if !is_certain || to_data_type(key.column_type()) != data_type {
            return None;
        }
        let field = SortField::new_with_options(data_type.clone(), KEY_ORDER);
        let converter = RowConverter::new(vec![field]).ok()?;
        Some(FirstKey { state, column, key, data_type, converter })
    }

    fn reach(&self, item: &Item) -> Result<Reach> {
        match item {
            Item::Part(part) => Ok(self.of_part(part)),
            Item::Rows { rows, .. } => self.of_rows(rows),
        }
    }

    /// Bounds of values of an older type say nothing about those of the type now.
    fn bounds_of<'b>(&self, part: &'b PartDescriptor) -> Option<&'b ColumnBounds> {
        let then = self.state.definition_of(part.schema_version);
        let then = then.as_ref().and_then(|then| then.column_by_id(self.column.id));
        let is_of_type = then.is_some_and(|then| then.column_type == self.column.column_type);
        part.bounds_of(self.column.id).filter(|_| is_of_type)
    }

    /// A value of the column.
    fn literal(&self, number: i128) -> Option<Expr> {
        let value = match u64::try_from(number) {
            Ok(number) if i64::try_from(number).is_err() => model::Value::UInt(number),
            _ if self.data_type.is_unsigned_integer() => model::Value::UInt(u64::try_from(number).ok()?),
            _ => model::Value::Int(i64::try_from(number).ok()?),
        };
        let array = value.to_array(&self.data_type).ok()?;
        let literal = ScalarValue::try_from_array(&array, 0).ok().filter(|value| !value.is_null())?;
        Some(Expr::Literal(literal, None))
    }

    fn of_part(&self, part: &PartDescriptor) -> Reach {
        let Some(bounds) = self.bounds_of(part) else { return Reach::everywhere() };
        let bytes = |value: &model::Value| {
            let array = value.to_array(&self.data_type).ok().filter(|array| array.null_count() == 0)?;
            self.bytes(&array, |keys| keys.next())
        };
        let least = bounds.min.as_ref().and_then(bytes).unwrap_or_default();
        // NULL is behind all others.
        let greatest = bounds.max.as_ref().filter(|_| bounds.nulls == Some(0)).and_then(bytes);
        Reach { least, greatest }
    }

    fn of_rows(&self, rows: &[RecordBatch]) -> Result<Reach> {
        let mut reach: Option<(Vec<u8>, Vec<u8>)> = None;
        for batch in rows.iter().filter(|batch| batch.num_rows() > 0) {
            let keys = self.key.evaluate(batch);
            let keys = keys.map_err(|e| into_datafusion(mergetree::TableError::from(e)))?;
            let (Some(least), Some(greatest)) =
                (self.bytes(&keys, |keys| keys.min()), self.bytes(&keys, |keys| keys.max()))
            else {
                return Ok(Reach::everywhere());
            };
            reach = Some(match reach {
                None => (least, greatest),
                Some((so_far, until)) => (so_far.min(least), until.max(greatest)),
            });
        }
        Ok(reach
            .map_or_else(Reach::everywhere, |(least, greatest)| Reach { least, greatest: Some(greatest) }))
    }

    fn bytes(
        &self,
        values: &ArrayRef,
        pick: impl Fn(&mut dyn Iterator<Item = Vec<u8>>) -> Option<Vec<u8>>,
    ) -> Option<Vec<u8>> {
        let rows = self.converter.convert_columns(std::slice::from_ref(values)).ok()?;
        let mut keys = rows.iter().map(|row| row.data().to_vec());
        pick(&mut keys)
    }
}
