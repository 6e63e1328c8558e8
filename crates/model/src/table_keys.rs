//! What storage needs to compute of one version of a table's columns: keys, and how older rows become rows of it.
//!
//! Invariant: compiled from one definition; another schema version has another. Must not know: SQL, casts; `engine`
//! brings both.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::Field;

use crate::column_type::ColumnType;
use crate::ids::ColumnId;
use crate::row_expr::{RowExpr, RowExprError};

/// The compiled keys of one schema version of one table.
#[derive(Clone, Debug, Default)]
pub struct TableKeys {
    /// ORDER BY; empty means rows keep their insertion order.
    pub sort: Vec<Arc<dyn RowExpr>>,
    /// PARTITION BY; empty means the one partition `all`.
    pub partition: Vec<Arc<dyn RowExpr>>,
    /// How values of equal key become one, of the columns whose type says it.
    pub combined: BTreeMap<ColumnId, Arc<dyn Combine>>,
    /// For rows written for an older version.
    pub evolution: Arc<Evolution>,
}

/// How values of equal key become one.
pub trait Combine: Send + Sync + Debug {
    /// One value for each run of values; a run begins at each of `starts`, the first of which is 0. Associative: values that
    /// came out may be given again, in the place of those they came from.
    ///
    /// # Errors
    /// A state cannot be read.
    fn combine(&self, values: &ArrayRef, starts: &[usize]) -> Result<ArrayRef, RowExprError>;
}

/// Values of one type as values of another.
pub trait Conversion: Send + Sync + Debug {
    /// As many values, in the layout of `to`.
    ///
    /// # Errors
    /// A value, or the pair of types, does not convert.
    fn convert(
        &self,
        values: &ArrayRef,
        from: &ColumnType,
        to: &ColumnType,
    ) -> Result<ArrayRef, RowExprError>;
}

/// How rows of an older version of the columns become rows of this one.
#[derive(Clone, Debug, Default)]
pub struct Evolution {
    columns: BTreeMap<ColumnId, Field>,
    defaults: BTreeMap<ColumnId, Arc<dyn RowExpr>>,
    conversion: Option<Arc<dyn Conversion>>,
}

impl Evolution {
    /// `columns` are all columns of this version, those that are not stored included, as [`RowExpr`]s see them;
    /// `defaults` the expressions of those that have one. Any other column that older rows lack is the default of its type.
    pub fn new(
        columns: BTreeMap<ColumnId, Field>,
        defaults: BTreeMap<ColumnId, Arc<dyn RowExpr>>,
        conversion: Arc<dyn Conversion>,
    ) -> Evolution {
        Evolution { columns, defaults, conversion: Some(conversion) }
    }

    /// A column of this version.
    pub fn column(&self, id: ColumnId) -> Option<&Field> {
        self.columns.get(&id)
    }

    /// What a row is given that lacks the column.
    pub fn default_of(&self, id: ColumnId) -> Option<&Arc<dyn RowExpr>> {
        self.defaults.get(&id)
    }

    /// Values of an older type of a column as those of its type now.
    ///
    /// # Errors
    /// As [`Conversion::convert`]; or nobody brought a conversion.
    pub fn convert(
        &self,
        values: &ArrayRef,
        from: &ColumnType,
        to: &ColumnType,
    ) -> Result<ArrayRef, RowExprError> {
        match &self.conversion {
            _ if from == to => Ok(Arc::clone(values)),
            Some(conversion) => conversion.convert(values, from, to),
            None => Err(RowExprError {
                expression: format!("{from} as {to}"),
                message: "no conversion is known here".to_owned(),
            }),
        }
    }
}
