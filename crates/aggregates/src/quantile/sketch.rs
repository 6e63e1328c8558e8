//! The accumulator of `quantileTDigest`: numbers, days and ticks as Float32.
//!
//! Invariant: memory does not grow with the rows. The state is the digest's means and counts.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float32Array, ListArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Float32Type, Float64Type};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::Accumulator;

use super::digest::{Digest, narrowed};
use super::{Results, as_floats};

/// See the module.
#[derive(Debug)]
pub(super) struct Sketch {
    digest: Digest,
    /// Whether there was a NaN, which a group of nothing else gives.
    has_nan: bool,
    results: Results,
}

impl Sketch {
    pub(super) fn new(results: Results) -> Self {
        Self { digest: Digest::default(), has_nan: false, results }
    }
}

fn list_of(values: Vec<f32>) -> Result<ScalarValue> {
    let values: ArrayRef = Arc::new(Float32Array::from(values));
    let field = Arc::new(Field::new_list_field(DataType::Float32, true));
    let list = ListArray::try_new(field, OffsetBuffer::from_lengths([values.len()]), values, None)?;
    Ok(ScalarValue::List(Arc::new(list)))
}

impl Accumulator for Sketch {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Some(first) = values.first() else { return Ok(()) };
        let floats = as_floats(first)?;
        for value in floats.as_primitive::<Float64Type>().iter().flatten() {
            self.has_nan |= value.is_nan();
            self.digest.add(narrowed(value), 1.0);
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let levels = self.results.levels.iter();
        let picked: Vec<f64> = levels.map(|level| f64::from(self.digest.at(*level))).collect();
        self.results.of_floats(picked, self.digest.is_empty() && !self.has_nan)
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.digest.bytes()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let (mut means, mut counts) = self.digest.parts();
        if means.is_empty() && self.has_nan {
            means.push(f32::NAN);
            counts.push(1.0);
        }
        Ok(vec![list_of(means)?, list_of(counts)?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [means, counts] = states else { return internal_err!("a sketch has two states") };
        let (means, counts) = (means.as_list::<i32>(), counts.as_list::<i32>());
        for row in (0..means.len()).filter(|row| means.is_valid(*row) && counts.is_valid(*row)) {
            let (means, counts) = (means.value(row), counts.value(row));
            let both = means
                .as_primitive::<Float32Type>()
                .values()
                .iter()
                .zip(counts.as_primitive::<Float32Type>().values());
            for (mean, count) in both {
                self.has_nan |= mean.is_nan();
                self.digest.add(*mean, *count);
            }
        }
        Ok(())
    }
}
