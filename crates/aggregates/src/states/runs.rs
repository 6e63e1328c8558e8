//! An aggregate over runs of rows that lie one behind the other.
//!
//! Invariant: there is one result for each run, also for those without rows. Must not know: who cut the runs.

use std::sync::Arc;

use arrow::array::{ArrayRef, new_empty_array};
use arrow::compute::{cast, interleave};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};
use model::ColumnType;
use model::type_arrow::to_data_type;

use super::groups::{All, Ends, One};
use super::recipe::{Recipe, counting};
use crate::naming::Kind;

#[derive(Clone, Debug)]
pub(super) enum Aggregation {
    /// From arguments to the result.
    Plain(Arc<Recipe>),
    /// States come in or go out.
    Stated(Ends),
}

impl Aggregation {
    fn recipe(&self) -> &Recipe {
        match self {
            Aggregation::Plain(recipe) => recipe,
            Aggregation::Stated(ends) => &ends.recipe,
        }
    }

    /// One value for each run; runs have these lengths and are together as long as the columns.
    pub(super) fn over_runs(&self, columns: &[ArrayRef], lengths: &[usize]) -> Result<ArrayRef> {
        let Some(inner) = self.recipe().groups()? else { return self.one_by_one(columns, lengths) };
        if !lengths.contains(&0) {
            return self.at_once(inner, columns, lengths);
        }
        // Accumulators of groups want a row for each group.
        let some: Vec<usize> = lengths.iter().copied().filter(|length| *length > 0).collect();
        let found = self.at_once(inner, columns, &some)?;
        let none: Vec<ArrayRef> = columns.iter().map(|column| column.slice(0, 0)).collect();
        let nothing = cast(&self.one_by_one(&none, &[0])?, found.data_type())?;
        let mut next = 0;
        let places = lengths.iter().map(|length| match length {
            0 => (1, 0),
            _ => {
                next += 1;
                (0, next - 1)
            }
        });
        Ok(interleave(&[found.as_ref(), nothing.as_ref()], &places.collect::<Vec<(usize, usize)>>())?)
    }

    fn at_once(
        &self,
        mut inner: Box<dyn GroupsAccumulator>,
        columns: &[ArrayRef],
        lengths: &[usize],
    ) -> Result<ArrayRef> {
        let runs = lengths.iter().enumerate();
        let groups: Vec<usize> = runs.flat_map(|(run, length)| std::iter::repeat_n(run, *length)).collect();
        match self {
            Aggregation::Plain(recipe) => {
                let (columns, counts) = recipe.prepared(columns)?;
                inner.update_batch(&columns, &groups, counts.as_ref(), lengths.len())?;
                inner.evaluate(EmitTo::All)
            }
            Aggregation::Stated(ends) => {
                let mut all = All { inner, ends: ends.clone() };
                all.update_batch(columns, &groups, None, lengths.len())?;
                all.evaluate(EmitTo::All)
            }
        }
    }

    fn one_by_one(&self, columns: &[ArrayRef], lengths: &[usize]) -> Result<ArrayRef> {
        let (mut results, mut start) = (Vec::with_capacity(lengths.len()), 0);
        for length in lengths {
            let own: Vec<ArrayRef> = columns.iter().map(|column| column.slice(start, *length)).collect();
            start += length;
            let mut inner = self.recipe().accumulator()?;
            results.push(match self {
                Aggregation::Plain(recipe) => {
                    let (own, counts) = recipe.prepared(&own)?;
                    inner.update_batch(&counting(own, counts.as_ref())?)?;
                    inner.evaluate()?
                }
                Aggregation::Stated(ends) => {
                    let mut one = One { inner, ends: ends.clone() };
                    one.update_batch(&own)?;
                    one.evaluate()?
                }
            });
        }
        if results.is_empty() {
            Ok(new_empty_array(&to_data_type(&self.result())))
        } else {
            ScalarValue::iter_to_array(results)
        }
    }

    /// The type of the results.
    pub(super) fn result(&self) -> ColumnType {
        match self {
            Aggregation::Stated(ends) if ends.kind != Kind::Merge => {
                ColumnType::AggregateFunction(Arc::new(ends.recipe.state().clone()))
            }
            other => other.recipe().result().clone(),
        }
    }
}
