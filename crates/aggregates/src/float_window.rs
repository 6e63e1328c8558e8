//! Sums and averages of floating point numbers over frames that slide.
//!
//! Taking a number back by subtracting it would leave what rounding made of it: 1e16 + 1 + 1 - 1e16 is 0, and a NaN stays for
//! ever. So the frame is two stacks: the older half keeps the sum of each value and all that are newer than it in this half,
//! the newer half one sum; values leave from the older one (Tangwongsan and others, "General incremental sliding-window
//! aggregation", VLDB 2015). Invariant: what left the frame leaves no trace. Must not know: what frames are.

use arrow::array::{Array, ArrayRef, AsArray, Float64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::Accumulator;

/// The accumulator of an aggregate of this name over such numbers, if it is one of these.
pub(super) fn accumulator(name: &str, types: &[DataType]) -> Option<Box<dyn Accumulator>> {
    let is_average = match name {
        "sum" | "sumWithOverflow" => false,
        "avg" => true,
        _ => return None,
    };
    let is_float = matches!(types, [DataType::Float32 | DataType::Float64]);
    is_float.then(|| Box::new(FloatWindow { is_average, ..FloatWindow::default() }) as _)
}

#[derive(Debug, Default)]
struct FloatWindow {
    is_average: bool,
    /// Sums of the older values, the oldest last.
    older: Vec<f64>,
    newer: Vec<f64>,
    newer_sum: f64,
}

impl FloatWindow {
    fn push(&mut self, value: f64) {
        self.newer.push(value);
        self.newer_sum += value;
    }

    fn pop(&mut self) {
        if self.older.is_empty() {
            let mut sum = 0.0;
            while let Some(value) = self.newer.pop() {
                sum += value;
                self.older.push(sum);
            }
            self.newer_sum = 0.0;
        }
        self.older.pop();
    }

    fn sum(&self) -> f64 {
        self.older.last().copied().unwrap_or(0.0) + self.newer_sum
    }
}

fn numbers(values: &[ArrayRef]) -> Result<Float64Array> {
    let Some(values) = values.first() else { return internal_err!("a sum of nothing") };
    Ok(cast(values, &DataType::Float64)?.as_primitive::<Float64Type>().clone())
}

impl Accumulator for FloatWindow {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        numbers(values)?.iter().flatten().for_each(|value| self.push(value));
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = numbers(values)?;
        (0..values.len() - values.null_count()).for_each(|_| self.pop());
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let count = self.older.len() + self.newer.len();
        #[expect(
            clippy::cast_precision_loss,
            reason = "a frame has fewer rows than a Float64 has whole numbers"
        )]
        let divisor = if self.is_average { count as f64 } else { 1.0 };
        Ok(ScalarValue::Float64((count > 0).then(|| self.sum() / divisor)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + (self.older.capacity() + self.newer.capacity()) * size_of::<f64>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        internal_err!("a frame has no state")
    }

    fn merge_batch(&mut self, _states: &[ArrayRef]) -> Result<()> {
        internal_err!("frames are not merged")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn slide(name: &str, values: &[Option<f64>], width: usize) -> Vec<Option<f64>> {
        let mut frame = accumulator(name, &[DataType::Float64]).unwrap();
        let one = |value: Option<f64>| -> [ArrayRef; 1] { [Arc::new(Float64Array::from(vec![value]))] };
        let shown = |(row, value): (usize, &Option<f64>)| {
            frame.update_batch(&one(*value)).unwrap();
            if row >= width {
                frame.retract_batch(&one(values[row - width])).unwrap();
            }
            match frame.evaluate().unwrap() {
                ScalarValue::Float64(value) => value,
                other => panic!("{other}"),
            }
        };
        values.iter().enumerate().map(shown).collect()
    }

    #[test]
    fn what_left_the_frame_leaves_no_trace() {
        let values = [Some(1e16), Some(1.0), Some(1.0), None, Some(2.0)];
        assert_eq!(slide("sum", &values, 2), [1e16, 1e16, 2.0, 1.0, 2.0].map(Some));
        assert_eq!(slide("avg", &values, 2), [1e16, 5e15, 1.0, 1.0, 2.0].map(Some));
        let values = [Some(f64::NAN), Some(f64::INFINITY), Some(1.0), Some(2.0)];
        assert_eq!(slide("sum", &values, 1)[2..], [Some(1.0), Some(2.0)]);
        assert_eq!(slide("sum", &[Some(1.0), None], 1), [Some(1.0), None]);
        assert!(accumulator("sum", &[DataType::Int64]).is_none());
    }
}
