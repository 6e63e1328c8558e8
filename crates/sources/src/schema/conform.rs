//! Arrays as a file has them, made into arrays of the column's type; errors name file and column.
//!
//! Invariant: the rules are those of every format that brings types (`formats::conform`). Must not know: where bytes
//! come from.

use arrow::array::ArrayRef;
use arrow::datatypes::Field;
use formats::ValueError;
use model::ErrorCode;
use stores::error::{Result, SourceError, SourceErrorKind};

/// Names used in errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub file: &'a str,
    pub column: &'a str,
}

impl Place<'_> {
    /// NULL stands where the type knows none, and shall be no default.
    pub(crate) fn null(self) -> SourceError {
        let problem = "has NULL, which its type does not know: set input_format_null_as_default = 1 to read the default";
        self.error(&ValueError::new(ErrorCode::CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN, problem))
    }

    fn error(self, problem: &ValueError) -> SourceError {
        let message = format!("column \"{}\" of \"{}\" {problem}", self.column, self.file);
        let error =
            SourceError::new(SourceErrorKind::BadValue, message).with_file(self.file).with_code(problem.code);
        match error.code() {
            ErrorCode::INCORRECT_DATA => {
                error.with_hint("strings are UTF-8 here; other bytes are not supported yet")
            }
            _ => error,
        }
    }
}

/// Makes `array` fit `field`.
pub(crate) fn conform(array: &ArrayRef, field: &Field, place: Place<'_>) -> Result<ArrayRef> {
    formats::conform(array, field).map_err(|error| place.error(&error))
}

/// A column that the file does not have: NULL, or the type's default.
pub(crate) fn missing(field: &Field, rows: usize, place: Place<'_>) -> Result<ArrayRef> {
    formats::missing(field, rows).map_err(|error| place.error(&error))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Array, AsArray, BinaryArray, Int32Array, Int64Array, ListArray, StringViewArray};
    use arrow::datatypes::{Int8Type, Int32Type};
    use model::type_arrow::to_field;
    use model::{raw_text, type_name};

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
    fn bytes_are_text_and_those_that_are_no_utf8_are_carried() {
        let good = conformed(Arc::new(BinaryArray::from(vec!["ж".as_bytes()])), "String").unwrap();
        assert_eq!(good.as_string_view().value(0), "ж");
        let carried = conformed(Arc::new(BinaryArray::from(vec![&b"a"[..], &[0xff]])), "String").unwrap();
        assert_eq!(carried.as_string_view().value(0), "a");
        assert_eq!(raw_text::bytes(carried.as_string_view().value(1)).as_ref(), [0xff]);
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
