//! Arrays as a file has them, made into arrays of the column's type.
//!
//! Invariant: the result has exactly the layout and the nullability of the field; a value that does not fit is an
//! error that names file and column, never another value. NULL where the column knows none becomes the default, as in
//! ClickHouse (`input_format_null_as_default`). Must not know: where bytes come from.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, ListArray, MapArray, StringViewArray, StructArray,
    new_null_array,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{CastOptions, cast_with_options, is_null, kernels::zip::zip};
use arrow::datatypes::{DataType, Date32Type, Field, FieldRef, Int8Type, Int16Type};
use arrow::util::display::FormatOptions;
use datafusion::common::ScalarValue;
use formats::{TextForm, TypedColumnBuilder};
use model::ColumnType;
use model::type_arrow::from_field;

use crate::error::{Result, SourceError, SourceErrorKind, code, format_code};

/// The last day of ClickHouse's Date, 2149-06-06.
const DATE_DAYS_MAX: i32 = 65_535;

/// Names used in errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub file: &'a str,
    pub column: &'a str,
}

impl Place<'_> {
    fn error(self, problem: &str) -> SourceError {
        let message = format!("column \"{}\" of \"{}\" {problem}", self.column, self.file);
        SourceError::new(SourceErrorKind::BadValue, message).with_file(self.file)
    }
}

/// Makes `array` fit `field`.
pub(crate) fn conform(array: &ArrayRef, field: &Field, place: Place<'_>) -> Result<ArrayRef> {
    let shaped = if same_layout(array.data_type(), field.data_type()) {
        Arc::clone(array)
    } else {
        reshape(array, field, place)?
    };
    if matches!(shaped.data_type(), DataType::Int8 | DataType::Int16 | DataType::Utf8View | DataType::Date32)
    {
        check_values(&shaped, &from_field(field), place)?;
    }
    if field.is_nullable() || shaped.null_count() == 0 {
        return Ok(shaped);
    }
    without_nulls(&shaped, field, place)
}

/// A column that the file does not have: NULL, or the type's default.
pub(crate) fn missing(field: &Field, rows: usize, place: Place<'_>) -> Result<ArrayRef> {
    if field.is_nullable() {
        return Ok(new_null_array(field.data_type(), rows));
    }
    default_of(field, place)?.to_array_of_size(rows).map_err(|error| place.error(&error.to_string()))
}

/// Equal down to the metadata of nested fields, which a batch checks.
fn same_layout(from: &DataType, to: &DataType) -> bool {
    from == to && !matches!(to, DataType::List(_) | DataType::Map(..) | DataType::Struct(_))
}

fn reshape(array: &ArrayRef, field: &Field, place: Place<'_>) -> Result<ArrayRef> {
    let to = field.data_type();
    match (array.data_type(), to) {
        (DataType::BinaryView, DataType::Utf8View) => checked_text(array.as_binary_view(), place),
        (DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_), DataType::Utf8View) => {
            let views = cast(array, &DataType::BinaryView, place)?;
            checked_text(views.as_binary_view(), place)
        }
        (DataType::BinaryView, _) => {
            let text = checked_text(array.as_binary_view(), place)?;
            parsed(text.as_string_view(), field, place)
        }
        (DataType::Utf8View, _) => parsed(array.as_string_view(), field, place),
        (DataType::List(_), DataType::List(item)) => list(array.as_list(), item, place),
        (DataType::Map(..), DataType::Map(entries, _)) => map(array.as_map(), entries, place),
        (DataType::Struct(_), DataType::Struct(_)) => tuple(array.as_struct(), to, place),
        _ => cast(array, to, place),
    }
}

/// Text read as values, by the rules of the text formats: names of enums, dates, UUIDs.
fn parsed(text: &StringViewArray, field: &Field, place: Place<'_>) -> Result<ArrayRef> {
    let column_type = from_field(field).nullable();
    let failed = |error: String, code: u32| {
        place.error(&format!("cannot be read as {column_type}: {error}")).with_code(format_code(code))
    };
    let mut builder =
        TypedColumnBuilder::new(&column_type).map_err(|error| failed(error.to_string(), error.code))?;
    for value in text {
        let (bytes, form) = match value {
            Some(value) => (value.as_bytes(), TextForm::Raw),
            None => (&[][..], TextForm::Null),
        };
        builder.append_text(bytes, form).map_err(|error| failed(error.to_string(), error.code))?;
    }
    let values = builder.finish().map_err(|error| failed(error.to_string(), error.code))?;
    if values.data_type() == field.data_type() { Ok(values) } else { cast(&values, field.data_type(), place) }
}

/// Values that the layout could hold and the type does not know.
fn check_values(array: &ArrayRef, column_type: &ColumnType, place: Place<'_>) -> Result<()> {
    let unfit = match (column_type.value_type(), array.data_type()) {
        (ColumnType::Enum8(names), DataType::Int8) => {
            first_unfit(array.as_primitive::<Int8Type>().iter(), |n| names.name(i16::from(n)).is_some())
        }
        (ColumnType::Enum16(names), DataType::Int16) => {
            first_unfit(array.as_primitive::<Int16Type>().iter(), |n| names.name(n).is_some())
        }
        (ColumnType::Date, DataType::Date32) => {
            first_unfit(array.as_primitive::<Date32Type>().iter(), |days| (0..=DATE_DAYS_MAX).contains(&days))
        }
        (ColumnType::FixedString(bytes), DataType::Utf8View) => {
            let bytes_max = usize::try_from(*bytes).unwrap_or(usize::MAX);
            first_unfit(array.as_string_view().iter(), |text| text.len() <= bytes_max)
        }
        _ => None,
    };
    match unfit {
        Some(value) => Err(place.error(&format!("has the value {value}, which is none of {column_type}"))),
        None => Ok(()),
    }
}

fn first_unfit<V: ToString + Copy>(
    mut values: impl Iterator<Item = Option<V>>,
    fits: impl Fn(V) -> bool,
) -> Option<String> {
    values.find_map(|value| value.filter(|value| !fits(*value))).map(|value| value.to_string())
}

fn checked_text(bytes: &BinaryViewArray, place: Place<'_>) -> Result<ArrayRef> {
    let text = bytes.clone().to_string_view().map_err(|_| {
        let row =
            (0..bytes.len()).find(|i| bytes.is_valid(*i) && std::str::from_utf8(bytes.value(*i)).is_err());
        let at = row.map(|row| format!(", value {row} of its batch")).unwrap_or_default();
        place
            .error(&format!("has bytes that are not UTF-8{at}"))
            .with_code(code::INCORRECT_DATA)
            .with_hint("strings are UTF-8 here; other bytes are not supported yet")
    })?;
    Ok(Arc::new(text))
}

fn cast(array: &ArrayRef, to: &DataType, place: Place<'_>) -> Result<ArrayRef> {
    let options = CastOptions { safe: false, format_options: FormatOptions::default() };
    cast_with_options(array, to, &options).map_err(|error| {
        place.error(&format!("cannot be read as {to}: {error}")).with_code(code::TYPE_MISMATCH)
    })
}

/// A NULL list is an empty one: our arrays know no NULL. The reader gives NULL lists no items, so only the validity
/// has to go.
fn list(array: &ListArray, item: &FieldRef, place: Place<'_>) -> Result<ArrayRef> {
    let values = conform(array.values(), item, place)?;
    ListArray::try_new(Arc::clone(item), array.offsets().clone(), values, None)
        .map(|list| Arc::new(list) as ArrayRef)
        .map_err(|error| place.error(&error.to_string()))
}

fn map(array: &MapArray, entries: &FieldRef, place: Place<'_>) -> Result<ArrayRef> {
    let pairs: ArrayRef = Arc::new(array.entries().clone());
    let pairs = tuple(pairs.as_struct(), entries.data_type(), place)?;
    let offsets = OffsetBuffer::new(array.offsets().inner().clone());
    MapArray::try_new(Arc::clone(entries), offsets, pairs.as_struct().clone(), None, false)
        .map(|map| Arc::new(map) as ArrayRef)
        .map_err(|error| place.error(&error.to_string()))
}

/// Elements by position; a NULL tuple is one of NULLs or defaults.
fn tuple(array: &StructArray, to: &DataType, place: Place<'_>) -> Result<ArrayRef> {
    let DataType::Struct(fields) = to else { return Err(place.error(&format!("cannot be read as {to}"))) };
    if fields.len() != array.num_columns() {
        let problem = format!("has {} elements, {} are expected", array.num_columns(), fields.len());
        return Err(place.error(&problem).with_code(code::TYPE_MISMATCH));
    }
    // Children carry the parent's NULLs after `logical` masking, so that they turn into defaults too.
    let columns: Result<Vec<ArrayRef>> = fields
        .iter()
        .zip(array.columns())
        .map(|(field, column)| {
            let masked = match array.nulls() {
                Some(nulls) => {
                    arrow::compute::nullif(column, &arrow::array::BooleanArray::new(!nulls.inner(), None))
                        .map_err(|error| place.error(&error.to_string()))?
                }
                None => Arc::clone(column),
            };
            conform(&masked, field, place)
        })
        .collect();
    StructArray::try_new_with_length(fields.clone(), columns?, None, array.len())
        .map(|tuple| Arc::new(tuple) as ArrayRef)
        .map_err(|error| place.error(&error.to_string()))
}

/// The first name of an enum, else zero, the empty text, nothing.
fn default_of(field: &Field, place: Place<'_>) -> Result<ScalarValue> {
    let first =
        from_field(field).enum_values().and_then(|names| names.iter().next().map(|(number, _)| number));
    let default = match (first, field.data_type()) {
        (Some(number), DataType::Int8) => i8::try_from(number).map(|n| ScalarValue::Int8(Some(n))).ok(),
        (Some(number), DataType::Int16) => Some(ScalarValue::Int16(Some(number))),
        (_, other) => ScalarValue::new_default(other).ok(),
    };
    default.ok_or_else(|| place.error(&format!("has no default for {}", field.data_type())))
}

fn without_nulls(array: &ArrayRef, field: &Field, place: Place<'_>) -> Result<ArrayRef> {
    let broken = |error: arrow::error::ArrowError| place.error(&error.to_string());
    let default = default_of(field, place)?.to_scalar().map_err(|error| place.error(&error.to_string()))?;
    zip(&is_null(array).map_err(broken)?, &default, array).map_err(broken)
}

#[cfg(test)]
mod tests {
    use arrow::array::{BinaryArray, Int32Array, Int64Array, StringViewArray};
    use arrow::datatypes::Int32Type;
    use model::type_arrow::to_field;
    use model::type_name;

    use super::*;

    const PLACE: Place<'static> = Place { file: "b/k", column: "c" };

    fn conformed(array: ArrayRef, type_name: &str) -> Result<ArrayRef> {
        conform(&array, &to_field("c", &type_name::parse(type_name).unwrap()), PLACE)
    }

    #[test]
    fn numbers_widen_and_refuse_to_wrap() {
        let wide = conformed(Arc::new(Int32Array::from(vec![1, 2])), "Int64").unwrap();
        assert_eq!(wide.as_ref(), &Int64Array::from(vec![1, 2]) as &dyn Array);
        let error = conformed(Arc::new(Int32Array::from(vec![1, 300])), "UInt8").unwrap_err();
        assert_eq!((error.kind(), error.file()), (SourceErrorKind::BadValue, Some("b/k")));
        assert!(error.to_string().contains("column \"c\""), "{error}");
    }

    #[test]
    fn text_is_read_as_the_type_asked_for() {
        let read = |text: &str, type_name: &str| {
            conformed(Arc::new(StringViewArray::from(vec![Some(text), None])), type_name)
        };
        let kinds = read("Answer", "Enum8('Question' = 1, 'Answer' = 2)").unwrap();
        assert_eq!(kinds.as_primitive::<Int8Type>().values(), &[2, 1]);
        assert_eq!(read("2020-01-02", "Nullable(Date)").unwrap().null_count(), 1);
        assert_eq!(read("17", "Int64").unwrap().as_ref(), &Int64Array::from(vec![17, 0]) as &dyn Array);
        let error = read("Comment", "Enum8('Question' = 1)").unwrap_err();
        assert!(error.to_string().contains("column \"c\" of \"b/k\""), "{error}");
    }

    #[test]
    fn values_the_type_does_not_know_are_errors() {
        let error = conformed(Arc::new(Int32Array::from(vec![1, 7])), "Enum8('a' = 1)").unwrap_err();
        assert!(error.to_string().contains("has the value 7, which is none of Enum8"), "{error}");
        let error = conformed(Arc::new(StringViewArray::from(vec!["abcd"])), "FixedString(3)").unwrap_err();
        assert!(error.to_string().contains("abcd"), "{error}");
    }

    #[test]
    fn null_becomes_the_default_where_null_is_unknown() {
        let filled = conformed(Arc::new(Int32Array::from(vec![Some(1), None])), "Int32").unwrap();
        assert_eq!(filled.as_ref(), &Int32Array::from(vec![1, 0]) as &dyn Array);
        let text = conformed(Arc::new(StringViewArray::from(vec![None, Some("a")])), "String").unwrap();
        assert_eq!(text.as_string_view().value(0), "");
        let kept = conformed(Arc::new(Int32Array::from(vec![Some(1), None])), "Nullable(Int32)").unwrap();
        assert_eq!(kept.null_count(), 1);
    }

    #[test]
    fn bytes_are_text_only_if_they_are() {
        let good = conformed(Arc::new(BinaryArray::from(vec!["ж".as_bytes()])), "String").unwrap();
        assert_eq!(good.as_string_view().value(0), "ж");
        let error = conformed(Arc::new(BinaryArray::from(vec![&b"a"[..], &[0xff]])), "String").unwrap_err();
        assert!(error.to_string().contains("not UTF-8, value 1"), "{error}");
    }

    #[test]
    fn null_lists_are_empty_lists() {
        let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None]), None]);
        let fixed = conformed(Arc::new(lists), "Array(Int32)").unwrap();
        assert_eq!((fixed.null_count(), fixed.as_list::<i32>().value_length(1)), (0, 0));
        assert_eq!(fixed.as_list::<i32>().value(0).as_ref(), &Int32Array::from(vec![1, 0]) as &dyn Array);
    }

    #[test]
    fn missing_columns_are_null_or_default() {
        let field = |name: &str| to_field("c", &type_name::parse(name).unwrap());
        assert_eq!(missing(&field("Nullable(Int8)"), 2, PLACE).unwrap().null_count(), 2);
        let text = missing(&field("String"), 2, PLACE).unwrap();
        assert_eq!((text.null_count(), text.as_string_view().value(1)), (0, ""));
        assert_eq!(missing(&field("Array(String)"), 1, PLACE).unwrap().null_count(), 0);
    }
}
