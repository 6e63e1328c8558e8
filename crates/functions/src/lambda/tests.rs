//! Lambdas without anybody to evaluate them: what fits, what stands side by side, how folds step.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, ListArray, UInt64Array};
use arrow::datatypes::Int64Type;
use model::ColumnType;
use model::type_name::parse;

use super::{Elements, lambda_function};
use crate::error::FunctionError;
use crate::kernel::call::Arg;

fn lists(rows: &[&[i64]]) -> ArrayRef {
    let rows = rows.iter().map(|row| Some(row.iter().map(|n| Some(*n)).collect::<Vec<_>>()));
    let plain = ListArray::from_iter_primitive::<Int64Type, _, _>(rows);
    let wanted = model::type_arrow::to_data_type(&parse("Array(Int64)").unwrap());
    arrow::compute::cast(&plain, &wanted).unwrap()
}

fn column(array: ArrayRef, is_constant: bool) -> Arg {
    Arg { array, is_constant, column_type: parse("Array(Int64)").unwrap() }
}

fn numbers(array: &ArrayRef) -> Vec<i64> {
    array.as_primitive::<Int64Type>().values().to_vec()
}

#[test]
fn parameters_fit_the_arguments() {
    // Function, parameters, arguments behind the lambda, whether tuples are taken apart or the error.
    for (name, parameters, arguments, expected) in [
        ("arrayMap", 1, 1, Ok(false)),
        ("arrayMap", 2, 2, Ok(false)),
        ("arrayMap", 2, 1, Ok(true)),
        ("arrayMap", 1, 2, Err(43)),
        ("arrayMap", 0, 1, Err(43)),
        ("arrayMap", 1, 0, Err(42)),
        ("arrayPartialSort", 1, 2, Ok(false)),
        ("arrayPartialSort", 1, 1, Err(42)),
        ("arrayFold", 2, 2, Ok(false)),
        ("arrayFold", 3, 3, Ok(false)),
        ("arrayFold", 1, 2, Err(43)),
        ("mapFilter", 2, 1, Ok(true)),
        ("mapFilter", 1, 1, Ok(false)),
        ("mapFilter", 2, 2, Err(43)),
    ] {
        let found = lambda_function(name).unwrap().takes_apart(parameters, arguments);
        assert_eq!(found.map_err(|error| error.code.number()), expected, "{name}, {parameters}, {arguments}");
    }
}

#[test]
fn elements_of_slices_and_constants_stand_side_by_side() {
    let map = lambda_function("arrayMap").unwrap();
    let sliced = lists(&[&[9], &[1, 2], &[3, 4], &[8]]).slice(1, 2);
    let constant = lists(&[&[10, 20]]);
    let args = [column(sliced, false), column(constant, true)];
    let elements = Elements::new(map, &args, 2, false).unwrap();
    let parameters = elements.parameters();
    assert_eq!(numbers(&parameters[0]), [1, 2, 3, 4]);
    assert_eq!(numbers(&parameters[1]), [10, 20, 10, 20]);
    assert_eq!(elements.row_of_each(), UInt64Array::from(vec![0, 0, 1, 1]));
}

#[test]
fn arrays_of_different_sizes_are_refused() {
    let map = lambda_function("arrayMap").unwrap();
    let args = [column(lists(&[&[1, 2]]), false), column(lists(&[&[1]]), false)];
    assert_eq!(Elements::new(map, &args, 1, false).unwrap_err().code.number(), 190);
}

#[test]
fn a_fold_steps_through_all_rows_that_go_on() {
    let fold = lambda_function("arrayFold").unwrap();
    let start = Arg {
        array: Arc::new(Int64Array::from(vec![0, 0, 0, 100])),
        is_constant: false,
        column_type: ColumnType::Int64,
    };
    let args = [column(lists(&[&[1, 2, 3], &[], &[4], &[5, 6]]), false), start.clone()];
    let elements = Elements::new(fold, &args, 4, false).unwrap();
    let mut steps = vec![];
    let folded = elements.steps().fold(&start.array, |rows, folded, now| {
        steps.push(rows.len());
        let sums = numbers(&folded).into_iter().zip(numbers(&now[0])).map(|(a, b)| a * 10 + b);
        Ok::<ArrayRef, FunctionError>(Arc::new(Int64Array::from(sums.collect::<Vec<_>>())))
    });
    assert_eq!(numbers(&folded.unwrap()), [123, 0, 4, 10056]);
    assert_eq!(steps, [3, 2, 1]);
}
