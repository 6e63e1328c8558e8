//! How much one value says about another: `cramersV`, `contingency`, `theilsU`, `categoricalInformationValue`.
//!
//! Invariant: values of any type are told apart, not measured. Sums go over the table of counts in the order in which values
//! were met, so the last digits may differ from ClickHouse's. Must not know: what the values are.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array};
use arrow::datatypes::UInt8Type;
use functions::FunctionError;
use functions::aggregates::{AggregateFunction, Group, Parameters, array_of, different, illegal};
use functions::container::{list_of, offsets_of};
use model::ColumnType;

use super::numbers::{float_of, one};

/// How often each pair of values occurs, and each value.
struct Table {
    rows: f64,
    first: Vec<f64>,
    second: Vec<f64>,
    pairs: Vec<(usize, usize, f64)>,
}

impl Table {
    fn of(group: &Group<'_>) -> Result<Table, FunctionError> {
        let places = |index: usize| {
            let (first, which) = different(&[Arc::clone(&group.call.args[index].array)])?;
            let mut counts = vec![0.0; first.len()];
            which.iter().for_each(|place| counts[*place] += 1.0);
            Ok::<_, FunctionError>((counts, which))
        };
        let ((first, of_first), (second, of_second)) = (places(0)?, places(1)?);
        let mut known: HashMap<(usize, usize), usize> = HashMap::new();
        let mut pairs: Vec<(usize, usize, f64)> = Vec::new();
        for (one, other) in of_first.iter().zip(&of_second) {
            let place = *known.entry((*one, *other)).or_insert(pairs.len());
            if place == pairs.len() {
                pairs.push((*one, *other, 0.0));
            }
            pairs[place].2 += 1.0;
        }
        Ok(Table { rows: float_of(of_first.len()), first, second, pairs })
    }

    /// The mean square contingency.
    fn phi_squared(&self) -> f64 {
        let shares: f64 = self
            .pairs
            .iter()
            .map(|(one, other, count)| count * count / (self.first[*one] * self.second[*other]))
            .sum();
        (shares - 1.0).max(0.0)
    }

    fn kinds(&self) -> (f64, f64) {
        (float_of(self.first.len()), float_of(self.second.len()))
    }

    fn cramers_v(&self) -> f64 {
        let (first, second) = self.kinds();
        (self.phi_squared() / (first.min(second) - 1.0)).sqrt()
    }

    /// Cramér's V, less what it is of samples without any association.
    fn bias_corrected(&self) -> f64 {
        let ((first, second), free) = (self.kinds(), self.rows - 1.0);
        let phi = (self.phi_squared() - (first - 1.0) * (second - 1.0) / free).max(0.0);
        let corrected = |kinds: f64| kinds - (kinds - 1.0) * (kinds - 1.0) / free;
        (phi / (corrected(first).min(corrected(second)) - 1.0)).sqrt()
    }

    fn contingency(&self) -> f64 {
        let phi = self.phi_squared();
        (phi / (1.0 + phi)).sqrt()
    }

    /// How much of the entropy of the first value the second takes away.
    fn theils_u(&self) -> f64 {
        let share = |count: f64| count / self.rows;
        let alone: f64 = self.first.iter().map(|count| share(*count) * share(*count).ln()).sum();
        let given: f64 = self
            .pairs
            .iter()
            .map(|(_, other, count)| share(*count) * (count / self.second[*other]).ln())
            .sum();
        if alone == 0.0 { 0.0 } else { (alone - given) / alone }
    }
}

fn any_types(_: &[ColumnType], _: Parameters<'_>) -> Result<ColumnType, FunctionError> {
    Ok(ColumnType::Float64)
}

fn of_table(name: &'static str, value: fn(&Table) -> f64) -> AggregateFunction {
    AggregateFunction::new(name, 2..=2, any_types, move |group| {
        let table = Table::of(group)?;
        Ok(one(if table.rows < 2.0 { f64::NAN } else { value(&table) }))
    })
}

fn flags(args: &[ColumnType], parameters: Parameters<'_>) -> Result<ColumnType, FunctionError> {
    match args.iter().find(|arg| **arg != ColumnType::UInt8) {
        Some(other) => Err(illegal(other, parameters.function)),
        None => Ok(array_of(ColumnType::Float64)),
    }
}

/// Of each category, what being in it says about the tag, which is the last argument.
fn information(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let flags = group.call.args.iter().map(|arg| &arg.array.as_primitive::<UInt8Type>().values()[..]);
    let flags: Vec<&[u8]> = flags.collect();
    let Some((tags, categories)) = flags.split_last() else { return Ok(one(f64::NAN)) };
    let tagged = tags.iter().filter(|tag| **tag != 0).count();
    let totals = [float_of(tags.len() - tagged), float_of(tagged)];
    let value = |category: &&[u8]| {
        let mut counts = [0.0, 0.0];
        for (_, tag) in category.iter().zip(*tags).filter(|(is_in, _)| **is_in != 0) {
            counts[usize::from(*tag != 0)] += 1.0;
        }
        let (without, with) = (counts[0] / totals[0], counts[1] / totals[1]);
        (with - without) * (with / without).ln()
    };
    let values = Float64Array::from_iter_values(categories.iter().map(value));
    let count = values.len();
    Ok(list_of(&ColumnType::Float64, offsets_of([count]), Arc::new(values), None)?)
}

pub(super) fn functions() -> Vec<AggregateFunction> {
    vec![
        of_table("cramersV", Table::cramers_v).doc(
            "cramersV(a, b)",
            "Cramér's V: 0 if values say nothing about each other, 1 if they say all.",
            "cramersV(city, product)",
        ),
        of_table("cramersVBiasCorrected", Table::bias_corrected).doc(
            "cramersVBiasCorrected(a, b)",
            "Cramér's V without what a sample has of it by chance.",
            "cramersVBiasCorrected(city, product)",
        ),
        of_table("contingency", Table::contingency).doc(
            "contingency(a, b)",
            "The contingency coefficient of two values.",
            "contingency(city, product)",
        ),
        of_table("theilsU", Table::theils_u).doc(
            "theilsU(a, b)",
            "Theil's U: the share of a's uncertainty that b takes away.",
            "theilsU(city, product)",
        ),
        AggregateFunction::new("categoricalInformationValue", 2..=usize::MAX, flags, information).doc(
            "categoricalInformationValue(category, ..., tag)",
            "Of each category, what being in it says about the tag.",
            "categoricalInformationValue(is_new, is_local, bought)",
        ),
    ]
}
