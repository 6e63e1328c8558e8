//! An aggregate function over the frames of a window.
//!
//! Invariant: over a frame without rows it gives what it gives over no rows, where DataFusion gives NULL; an aggregate that
//! cannot take rows back is computed anew for each frame that lost rows. Must not know: which function it is.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::concat;
use arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, ReversedUDAF, Signature};
use datafusion::physical_expr::PhysicalExpr;

/// Slices of a frame put together once there are so many.
const SLICES_MAX: usize = 64;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Framed {
    inner: Arc<AggregateUDF>,
    /// The value over no rows.
    nothing: ScalarValue,
}

impl Framed {
    pub(super) fn new(inner: Arc<AggregateUDF>, nothing: ScalarValue) -> Self {
        Self { inner, nothing }
    }
}

impl PartialEq for Framed {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner && self.nothing == other.nothing
    }
}

impl Eq for Framed {}

impl Hash for Framed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl AggregateUDFImpl for Framed {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(arg_types)
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arg_types)
    }

    fn return_field(&self, arg_fields: &[FieldRef]) -> Result<FieldRef> {
        self.inner.return_field(arg_fields)
    }

    fn is_nullable(&self) -> bool {
        self.inner.is_nullable()
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.inner.accumulator(args)
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let maker = Maker::new(&self.inner, &args);
        let anew = is_computed_anew(self.inner.name(), args.expr_fields);
        if !anew
            && let Ok(sliding) = self.inner.create_sliding_accumulator(args)
            && sliding.supports_retract_batch()
        {
            return Ok(sliding);
        }
        Ok(Box::new(Frame { slices: vec![], skipped: 0, maker, nothing: self.nothing.clone() }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.inner.state_fields(args)
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.inner.order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        match self.inner.reverse_udf() {
            ReversedUDAF::Identical => ReversedUDAF::Identical,
            _ => ReversedUDAF::NotSupported,
        }
    }

    fn default_value(&self, _data_type: &DataType) -> Result<ScalarValue> {
        Ok(self.nothing.clone())
    }

    fn supports_null_handling_clause(&self) -> bool {
        self.inner.supports_null_handling_clause()
    }

    fn supports_within_group_clause(&self) -> bool {
        self.inner.supports_within_group_clause()
    }
}

/// Whether an aggregate cannot really take rows back: a variance that subtracts keeps what rounding made of it, and the extreme
/// of floats keeps a NaN.
fn is_computed_anew(name: &str, fields: &[FieldRef]) -> bool {
    let is_float = |field: &FieldRef| matches!(field.data_type(), DataType::Float32 | DataType::Float64);
    match name {
        "min" | "max" => fields.iter().any(is_float),
        _ => ["var", "stddev", "covar", "corr"].iter().any(|moments| name.starts_with(moments)),
    }
}

/// Makes the accumulator of one frame.
#[derive(Debug)]
struct Maker {
    inner: Arc<AggregateUDF>,
    schema: Schema,
    return_field: FieldRef,
    ignore_nulls: bool,
    is_distinct: bool,
    name: String,
    exprs: Vec<Arc<dyn PhysicalExpr>>,
    expr_fields: Vec<FieldRef>,
}

impl Maker {
    fn new(inner: &Arc<AggregateUDF>, args: &AccumulatorArgs<'_>) -> Self {
        Self {
            inner: Arc::clone(inner),
            schema: args.schema.clone(),
            return_field: Arc::clone(&args.return_field),
            ignore_nulls: args.ignore_nulls,
            is_distinct: args.is_distinct,
            name: args.name.to_owned(),
            exprs: args.exprs.to_vec(),
            expr_fields: args.expr_fields.to_vec(),
        }
    }

    fn make(&self) -> Result<Box<dyn Accumulator>> {
        self.inner.accumulator(AccumulatorArgs {
            return_field: Arc::clone(&self.return_field),
            schema: &self.schema,
            ignore_nulls: self.ignore_nulls,
            order_bys: &[],
            is_reversed: false,
            name: &self.name,
            is_distinct: self.is_distinct,
            exprs: &self.exprs,
            expr_fields: &self.expr_fields,
        })
    }
}

/// The rows of a frame, of which those in front leave first.
#[derive(Debug)]
struct Frame {
    slices: Vec<Vec<ArrayRef>>,
    /// Rows of the first slice that have left.
    skipped: usize,
    maker: Maker,
    nothing: ScalarValue,
}

fn rows_of(slice: &[ArrayRef]) -> usize {
    slice.first().map_or(0, |column| column.len())
}

impl Frame {
    /// The slices as one, without what has left.
    fn joined(&mut self) -> Result<()> {
        if self.slices.len() > 1 || self.skipped > 0 {
            let width = self.slices.first().map_or(0, Vec::len);
            let column = |at: usize| {
                let parts: Vec<&dyn Array> = self.slices.iter().map(|slice| slice[at].as_ref()).collect();
                let all = concat(&parts)?;
                Ok(all.slice(self.skipped, all.len() - self.skipped))
            };
            let whole = (0..width).map(column).collect::<Result<Vec<_>>>()?;
            (self.slices, self.skipped) = (vec![whole], 0);
        }
        Ok(())
    }
}

impl Accumulator for Frame {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        if rows_of(values) > 0 {
            self.slices.push(values.to_vec());
        }
        if self.slices.len() > SLICES_MAX {
            self.joined()?;
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.skipped += rows_of(values);
        while let Some(rows) =
            self.slices.first().map(|slice| rows_of(slice)).filter(|rows| *rows <= self.skipped)
        {
            self.slices.remove(0);
            self.skipped -= rows;
            if rows == 0 && self.slices.is_empty() {
                break;
            }
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.joined()?;
        let Some(rows) = self.slices.first() else { return Ok(self.nothing.clone()) };
        let mut accumulator = self.maker.make()?;
        accumulator.update_batch(rows)?;
        accumulator.evaluate()
    }

    fn size(&self) -> usize {
        let arrays = self.slices.iter().flatten();
        size_of_val(self)
            + arrays.map(|array| array.to_data().get_slice_memory_size().unwrap_or(0)).sum::<usize>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        internal_err!("a frame has no state")
    }

    fn merge_batch(&mut self, _states: &[ArrayRef]) -> Result<()> {
        internal_err!("frames are not merged")
    }
}
