//! Window functions that look at other rows, with ClickHouse's types: no such row is the type's default, not NULL.
//!
//! Invariant: which row is looked at is DataFusion's decision. The values are no dictionary's.

use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Scalar};
use arrow::compute::SortOptions;
use arrow::compute::kernels::zip::zip;
use arrow::compute::{cast, is_not_null};
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::SessionStateDefaults;
use datafusion::logical_expr::function::{ExpressionArgs, PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion::logical_expr::window_state::WindowAggState;
use datafusion::logical_expr::{
    LimitEffect, PartitionEvaluator, ReversedUDWF, Signature, WindowUDF, WindowUDFImpl,
};
use datafusion::physical_plan::PhysicalExpr;
use functions::default_array;
use model::ColumnType;
use model::type_arrow::{to_data_type, to_field};

use crate::coercion::branches::without_dictionary;
use aggregates::typing::{scalar_at, type_of_field};

/// The functions of DataFusion that give a value of another row, and ClickHouse's further names.
const OF_OTHER_ROWS: &[(&str, &[&str])] = &[
    ("first_value", &[]),
    ("last_value", &[]),
    ("nth_value", &[]),
    ("lag", &["lagInFrame"]),
    ("lead", &["leadInFrame"]),
];

/// Every window function.
pub(crate) fn all() -> Vec<Arc<WindowUDF>> {
    let wrap = |udwf: Arc<WindowUDF>| match OF_OTHER_ROWS.iter().find(|(name, _)| *name == udwf.name()) {
        Some((_, aliases)) => Arc::new(WindowUDF::from(OtherRow::new(udwf, aliases))),
        None => udwf,
    };
    SessionStateDefaults::default_window_functions().into_iter().map(wrap).collect()
}

/// One of them.
#[derive(Clone, Debug)]
struct OtherRow {
    inner: Arc<WindowUDF>,
    aliases: Vec<String>,
}

impl OtherRow {
    fn new(inner: Arc<WindowUDF>, more: &[&str]) -> Self {
        let mut aliases = inner.aliases().to_vec();
        aliases.extend(more.iter().map(|alias| (*alias).to_owned()));
        aliases.extend(more.iter().map(|alias| alias.to_ascii_lowercase()));
        Self { inner, aliases }
    }
}

impl PartialEq for OtherRow {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner
    }
}

impl Eq for OtherRow {}

impl Hash for OtherRow {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

/// The type of the value that is looked at.
fn looked_at(fields: &[FieldRef]) -> ColumnType {
    fields.first().map_or(ColumnType::Nothing, |field| type_of_field(field))
}

impl WindowUDFImpl for OtherRow {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn expressions(&self, expr_args: ExpressionArgs) -> Vec<Arc<dyn PhysicalExpr>> {
        self.inner.expressions(expr_args)
    }

    fn partition_evaluator(&self, args: PartitionEvaluatorArgs) -> Result<Box<dyn PartitionEvaluator>> {
        let column_type = without_dictionary(looked_at(args.input_fields()));
        let inner = self.inner.partition_evaluator_factory(args)?;
        if column_type.is_nullable() {
            return Ok(inner);
        }
        let data_type = to_data_type(&column_type);
        Ok(Box::new(Filled { inner, nothing: default_array(&column_type, 1), data_type }))
    }

    fn field(&self, field_args: WindowUDFFieldArgs) -> Result<FieldRef> {
        let column_type = without_dictionary(looked_at(field_args.input_fields()));
        Ok(Arc::new(to_field(field_args.name(), &column_type)))
    }

    fn sort_options(&self) -> Option<SortOptions> {
        self.inner.sort_options()
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(arg_types)
    }

    fn reverse_expr(&self) -> ReversedUDWF {
        match self.inner.reverse_expr() {
            ReversedUDWF::Reversed(inner) => {
                ReversedUDWF::Reversed(Arc::new(WindowUDF::from(OtherRow { inner, aliases: Vec::new() })))
            }
            other => other,
        }
    }

    fn limit_effect(&self, args: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        self.inner.inner().limit_effect(args)
    }
}

/// NULL, which stands for a missing row, replaced by the default of the type.
#[derive(Debug)]
struct Filled {
    inner: Box<dyn PartitionEvaluator>,
    /// One row.
    nothing: ArrayRef,
    /// The layout of the column: a single list or tuple forgets what the fields of its elements say.
    data_type: DataType,
}

impl Filled {
    fn fill(&self, array: ArrayRef) -> Result<ArrayRef> {
        let array = if *array.data_type() == self.data_type { array } else { cast(&array, &self.data_type)? };
        if array.null_count() == 0 {
            return Ok(array);
        }
        Ok(zip(&is_not_null(&array)?, &array, &Scalar::new(Arc::clone(&self.nothing)))?)
    }
}

impl PartitionEvaluator for Filled {
    fn memoize(&mut self, state: &mut WindowAggState) -> Result<()> {
        self.inner.memoize(state)
    }

    fn get_range(&self, idx: usize, n_rows: usize) -> Result<Range<usize>> {
        self.inner.get_range(idx, n_rows)
    }

    fn is_causal(&self) -> bool {
        self.inner.is_causal()
    }

    fn evaluate_all(&mut self, values: &[ArrayRef], num_rows: usize) -> Result<ArrayRef> {
        let array = self.inner.evaluate_all(values, num_rows)?;
        self.fill(array)
    }

    fn evaluate(&mut self, values: &[ArrayRef], range: &Range<usize>) -> Result<ScalarValue> {
        let value = self.inner.evaluate(values, range)?;
        if value.is_null() {
            scalar_at(&self.nothing, 0)
        } else {
            scalar_at(&self.fill(value.to_array()?)?, 0)
        }
    }

    fn evaluate_all_with_rank(
        &self,
        num_rows: usize,
        ranks_in_partition: &[Range<usize>],
    ) -> Result<ArrayRef> {
        self.fill(self.inner.evaluate_all_with_rank(num_rows, ranks_in_partition)?)
    }

    fn supports_bounded_execution(&self) -> bool {
        self.inner.supports_bounded_execution()
    }

    fn uses_window_frame(&self) -> bool {
        self.inner.uses_window_frame()
    }

    fn include_rank(&self) -> bool {
        self.inner.include_rank()
    }
}
