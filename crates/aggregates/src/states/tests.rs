//! Every function's states: whichever accumulator made them, whichever takes them in, the result is that of the rows.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use functions::{CastMode, cast_column};
use model::type_name::state_names::{ALIASES, IN_ANY_CASE};
use model::{ColumnType, StateType, type_name};

use super::groups::{Ends, One};
use super::recipe::Recipe;
use super::runs::Aggregation;
use crate::documentation;
use crate::naming::Kind;

/// Arguments that some function takes: types, and the text of each row.
const ARGUMENTS: &[(&[&str], &[&[&str]])] = &[
    (&["Float64"], &[&["1.5"], &["2"], &["2"], &["7.25"]]),
    (&["Nullable(Int32)"], &[&["5"], &["-3"], &["5"], &["8"]]),
    (&["UInt8"], &[&["1"], &["2"], &["2"], &["9"]]),
    (&["String"], &[&["a"], &["b"], &["b"], &["a longer text than twelve"]]),
    (&["Float64", "Float64"], &[&["1", "2"], &["2", "5"], &["3", "1"], &["8", "7"]]),
    (&["UInt32", "UInt8"], &[&["1", "1"], &["2", "0"], &["3", "1"], &["8", "1"]]),
    (
        &["Array(UInt8)", "Array(UInt64)"],
        &[&["[1]", "[2]"], &["[1,2]", "[3,4]"], &["[]", "[]"], &["[7]", "[1]"]],
    ),
    (&["Map(String, UInt64)"], &[&["{'a':1}"], &["{'b':2}"], &["{'a':3}"], &["{}"]]),
];

/// Parameters that some function wants.
const PARAMETERS: &[&[&str]] =
    &[&[], &["2"], &["0.5"], &["0.25", "0.75"], &["','"], &["2", "8"], &["1", "10", "2"]];

fn columns(types: &[ColumnType], rows: &[&[&str]]) -> Vec<ArrayRef> {
    let column = |(at, column_type): (usize, &ColumnType)| {
        let texts = rows.iter().map(|row| row[at]);
        let texts: ArrayRef = Arc::new(arrow::array::StringViewArray::from_iter_values(texts));
        cast_column(&texts, &ColumnType::String, column_type, CastMode::Strict).unwrap()
    };
    types.iter().enumerate().map(column).collect()
}

fn shown(values: &ArrayRef, column_type: &ColumnType) -> Vec<String> {
    let text = cast_column(values, column_type, &ColumnType::String.nullable(), CastMode::Strict).unwrap();
    let text = text.as_string_view().iter().map(|text| text.unwrap_or("NULL").to_owned());
    // Sums of floats in another order differ in the last digits.
    text.map(|text| text.parse::<f64>().map_or(text, |number| format!("{number:.9}"))).collect()
}

/// The state of these rows made by the accumulator of one group.
fn one(recipe: &Arc<Recipe>, columns: &[ArrayRef]) -> ArrayRef {
    use datafusion::logical_expr::Accumulator;
    let ends = Ends::new(Arc::clone(recipe), Kind::State).unwrap();
    let mut one = One { inner: recipe.accumulator().unwrap(), ends };
    one.update_batch(columns).unwrap();
    one.evaluate().unwrap().to_array().unwrap()
}

fn merged(recipe: &Arc<Recipe>, states: &[ArrayRef]) -> [Vec<String>; 2] {
    use datafusion::logical_expr::Accumulator;
    let parts: Vec<&dyn Array> = states.iter().map(AsRef::as_ref).collect();
    let all = arrow::compute::concat(&parts).unwrap();
    let ends = Ends::new(Arc::clone(recipe), Kind::Merge).unwrap();
    let by_groups = Aggregation::Stated(ends.clone()).over_runs(&[Arc::clone(&all)], &[all.len()]).unwrap();
    let mut one = One { inner: recipe.accumulator().unwrap(), ends };
    one.update_batch(&[all]).unwrap();
    let by_one = one.evaluate().unwrap().to_array().unwrap();
    [by_groups, by_one].map(|found| shown(&found, recipe.result()))
}

fn check(name: &str, recipe: &Arc<Recipe>, columns: &[ArrayRef]) {
    let half = |start: usize| columns.iter().map(|column| column.slice(start, 2)).collect::<Vec<_>>();
    let whole = Aggregation::Plain(Arc::clone(recipe)).over_runs(columns, &[4]).unwrap();
    let expected = shown(&whole, recipe.result());
    let by_groups = Ends::new(Arc::clone(recipe), Kind::State).map(Aggregation::Stated).unwrap();
    let by_groups = by_groups.over_runs(columns, &[2, 2]).unwrap();
    let by_one = [one(recipe, &half(0)), one(recipe, &half(2))];
    let mixed = [by_groups.slice(0, 1), Arc::clone(&by_one[1])];
    let nothing = one(recipe, &columns.iter().map(|column| column.slice(0, 0)).collect::<Vec<_>>());
    // Some say nothing of no rows but an error.
    if let Ok(of_nothing) = Aggregation::Plain(Arc::clone(recipe)).over_runs(&half(0), &[0, 2]) {
        for found in merged(recipe, &[nothing]) {
            assert_eq!(found, shown(&of_nothing.slice(0, 1), recipe.result()), "{name} of nothing");
        }
    }
    for states in [&[by_groups][..], &by_one, &mixed] {
        for found in merged(recipe, states) {
            assert_eq!(found, expected, "{name} over {:?}", recipe.state().to_string());
        }
    }
}

#[test]
fn states_of_every_function_come_to_its_result() {
    let mut tried = 0;
    for function in documentation() {
        let mut is_tried = false;
        for (types, rows) in ARGUMENTS {
            let arguments: Vec<ColumnType> =
                types.iter().map(|name| type_name::parse(name).unwrap()).collect();
            for parameters in PARAMETERS {
                let parameters = parameters.iter().map(|constant| (*constant).into()).collect();
                let state =
                    StateType { function: function.name.into(), parameters, arguments: arguments.clone() };
                let Ok(recipe) = Recipe::new(&state).map(Arc::new) else { continue };
                // What its accumulators refuse is no matter of states.
                let columns = columns(&arguments, rows);
                let plain = Aggregation::Plain(Arc::clone(&recipe)).over_runs(&columns, &[4]);
                if plain.is_err() {
                    continue;
                }
                check(function.name, &recipe, &columns);
                is_tried = true;
            }
        }
        tried += usize::from(is_tried);
    }
    assert!(tried > 60, "{tried} functions");
}

#[test]
fn types_know_the_names_that_statements_know() {
    let (mut aliases, mut in_any_case) = (Vec::new(), Vec::new());
    for function in documentation() {
        aliases.extend(function.aliases.iter().map(|alias| (*alias, function.name)));
        if function.any_case {
            in_any_case.push(function.name);
        }
    }
    aliases.sort_unstable();
    in_any_case.sort_unstable();
    assert_eq!(aliases, ALIASES);
    assert_eq!(in_any_case, IN_ANY_CASE);
}

/// States that tables have kept since the first release that had them: type, and the bytes of the rows 1, 2, 2, 9.
const FIRST: &str = include_str!("first.txt");

#[test]
fn states_have_the_bytes_of_the_first_release() {
    let mut wrong = Vec::new();
    for line in FIRST.lines() {
        let (name, expected) = line.split_once('\t').unwrap();
        let parsed = type_name::parse(&format!("AggregateFunction({name})")).unwrap();
        let state = parsed.state().unwrap();
        let recipe = Arc::new(Recipe::new(state).unwrap());
        let rows: Vec<&[&str]> = vec![&["1", "1"], &["2", "0"], &["2", "1"], &["9", "0"]];
        let found = one(&recipe, &columns(&state.arguments, &rows));
        let bytes = found.as_binary_view().value(0).iter();
        let found: String = bytes.map(|byte| format!("{byte:02x}")).collect();
        if found != expected {
            wrong.push(format!("{name}\t{found}"));
        }
        // What was kept is still understood.
        let kept: Vec<u8> = (0..expected.len() / 2)
            .map(|at| u8::from_str_radix(&expected[at * 2..at * 2 + 2], 16).unwrap())
            .collect();
        let kept: ArrayRef = Arc::new(arrow::array::BinaryViewArray::from_iter_values([kept]));
        merged(&recipe, &[kept]);
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
