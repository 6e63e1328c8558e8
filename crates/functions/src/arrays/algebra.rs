//! Arithmetic over tuples, element by element, and what is made of all elements: norms, distances, products.
//!
//! A formula is written once, over types and over values ([`Algebra`]). Invariant: its steps are our functions of
//! numbers, so types and overflow are theirs.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, AsArray, Float64Array};
use model::{ColumnType, ErrorCode, TupleElement};

use crate::columns::container::tuple_of;
use crate::error::FunctionError;
use crate::kernel::call::{Arg, ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::contained;

static STEPS: LazyLock<HashMap<&'static str, ScalarFunction>> = LazyLock::new(|| {
    [
        crate::arithmetic::numbers::functions(),
        crate::conversion::convert::functions(),
        crate::truth::compare::functions(),
        crate::truth::conditional::functions(),
        crate::arithmetic::math::functions(),
        crate::arithmetic::analysis::functions(),
    ]
    .into_iter()
    .flatten()
    .map(|function| (function.name, function))
    .collect()
});

fn step(name: &str) -> Result<&'static ScalarFunction, FunctionError> {
    let missing = || FunctionError::new(ErrorCode::LOGICAL_ERROR, format!("there is no function {name}"));
    STEPS.get(name).ok_or_else(missing)
}

/// What a formula is computed over.
pub(super) trait Algebra {
    type Value: Clone;

    fn apply(&self, name: &str, operands: &[Self::Value]) -> Result<Self::Value, FunctionError>;

    fn constant(&self, number: f64) -> Self::Value;

    /// All values put together by a function of two.
    fn reduce(&self, name: &str, values: Vec<Self::Value>) -> Result<Self::Value, FunctionError> {
        let mut values = values.into_iter();
        let Some(mut all) = values.next() else {
            return Err(FunctionError::bad_argument("a tuple without elements"));
        };
        for next in values {
            all = self.apply(name, &[all, next])?;
        }
        Ok(all)
    }
}

/// The types of a formula.
pub(super) struct Types;

impl Algebra for Types {
    type Value = ColumnType;

    fn apply(&self, name: &str, operands: &[ColumnType]) -> Result<ColumnType, FunctionError> {
        let plain = |column_type: &ColumnType| ArgType { column_type: column_type.clone(), constant: None };
        step(name)?.result_type(&operands.iter().map(plain).collect::<Vec<_>>())
    }

    fn constant(&self, _number: f64) -> ColumnType {
        ColumnType::Float64
    }
}

/// Its values.
pub(super) struct Values<'a, 'c>(pub(super) &'a Call<'c>);

impl Algebra for Values<'_, '_> {
    type Value = Arg;

    fn apply(&self, name: &str, operands: &[Arg]) -> Result<Arg, FunctionError> {
        let types: Vec<ColumnType> = operands.iter().map(|arg| arg.column_type.clone()).collect();
        let column_type = Types.apply(name, &types)?;
        let array = step(name)?.evaluate(&Call::new(operands, self.0.rows, &column_type, self.0.session))?;
        Ok(Arg { array, is_constant: false, column_type })
    }

    fn constant(&self, number: f64) -> Arg {
        let array: ArrayRef = Arc::new(Float64Array::from(vec![number]));
        Arg { array, is_constant: true, column_type: ColumnType::Float64 }
    }
}

/// A way to measure how long a vector is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Norm {
    L1,
    L2,
    L2Squared,
    Linf,
    /// The power is an argument.
    Lp,
}

impl Norm {
    /// The norm of elements; `power` is there for [`Norm::Lp`].
    pub(super) fn of<A: Algebra>(
        self,
        algebra: &A,
        parts: &[A::Value],
        power: Option<A::Value>,
    ) -> Result<A::Value, FunctionError> {
        let each = |names: &[&str]| -> Result<Vec<A::Value>, FunctionError> {
            let through = |part: &A::Value| {
                names.iter().try_fold(part.clone(), |value, name| algebra.apply(name, &[value]))
            };
            parts.iter().map(through).collect()
        };
        match self {
            Norm::L1 => algebra.reduce("plus", each(&["abs"])?),
            Norm::Linf => {
                let magnitudes = each(&["abs"])?;
                let [one] = magnitudes.as_slice() else {
                    return algebra.reduce("max2", magnitudes);
                };
                Ok(one.clone())
            }
            Norm::L2Squared => {
                let squares =
                    parts.iter().map(|part| algebra.apply("multiply", &[part.clone(), part.clone()]));
                algebra.reduce("plus", squares.collect::<Result<_, _>>()?)
            }
            Norm::L2 => {
                let squared = Norm::L2Squared.of(algebra, parts, None)?;
                algebra.apply("sqrt", &[squared])
            }
            Norm::Lp => {
                let Some(power) = power else {
                    return Err(FunctionError::bad_argument("the power of a norm is missing"));
                };
                let powers = each(&["abs"])?.into_iter();
                let powers = powers.map(|part| algebra.apply("pow", &[part, power.clone()]));
                let sum = algebra.reduce("plus", powers.collect::<Result<_, _>>()?)?;
                let root = algebra.apply("divide", &[algebra.constant(1.0), power])?;
                algebra.apply("pow", &[sum, root])
            }
        }
    }
}

/// The products of elements at the same place, added.
pub(super) fn dot<A: Algebra>(
    algebra: &A,
    a: &[A::Value],
    b: &[A::Value],
) -> Result<A::Value, FunctionError> {
    let products = a.iter().zip(b).map(|(x, y)| algebra.apply("multiply", &[x.clone(), y.clone()]));
    algebra.reduce("plus", products.collect::<Result<_, _>>()?)
}

/// The differences of elements at the same place.
pub(super) fn minus<A: Algebra>(
    algebra: &A,
    a: &[A::Value],
    b: &[A::Value],
) -> Result<Vec<A::Value>, FunctionError> {
    a.iter().zip(b).map(|(x, y)| algebra.apply("minus", &[x.clone(), y.clone()])).collect()
}

/// One less the cosine of the angle between two vectors.
pub(super) fn cosine<A: Algebra>(
    algebra: &A,
    a: &[A::Value],
    b: &[A::Value],
) -> Result<A::Value, FunctionError> {
    let lengths = [Norm::L2.of(algebra, a, None)?, Norm::L2.of(algebra, b, None)?];
    let both = algebra.apply("multiply", &lengths)?;
    let cosine = algebra.apply("divide", &[dot(algebra, a, b)?, both])?;
    algebra.apply("minus", &[algebra.constant(1.0), cosine])
}

/// The types of a tuple's elements.
pub(super) fn part_types(column_type: &ColumnType, name: &str) -> Result<Vec<ColumnType>, FunctionError> {
    match column_type {
        ColumnType::Tuple(parts) if !parts.is_empty() => {
            Ok(parts.iter().map(|part| part.column_type.clone()).collect())
        }
        other => Err(FunctionError::illegal_type(other, name)),
    }
}

/// The elements of a tuple as arguments.
pub(super) fn parts_of(arg: &Arg) -> Result<Vec<Arg>, FunctionError> {
    let types = part_types(&arg.column_type, "of tuples")?;
    let columns = arg.array.as_struct().columns();
    let part = |(array, column_type): (&ArrayRef, ColumnType)| Arg {
        array: Arc::clone(array),
        is_constant: arg.is_constant,
        column_type,
    };
    Ok(columns.iter().zip(types).map(part).collect())
}

fn same_size(name: &str, args: &[ArgType]) -> Result<(Vec<ColumnType>, Vec<ColumnType>), FunctionError> {
    let (a, b) = (part_types(&args[0].column_type, name)?, part_types(&args[1].column_type, name)?);
    if a.len() == b.len() {
        return Ok((a, b));
    }
    let message = format!(
        "expected tuples of the same size as arguments of function {name}, got {} and {}",
        args[0].column_type, args[1].column_type
    );
    Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message))
}

fn tuple_type(parts: Vec<ColumnType>) -> ColumnType {
    crate::columns::container::unnamed(parts.into_iter().map(contained))
}

/// A tuple of computed elements.
pub(super) fn tuple(call: &Call<'_>, parts: Vec<Arg>) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Tuple(elements) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "of tuples"));
    };
    let columns =
        parts.iter().map(|part| crate::kernel::rows::expanded(part, call.rows)).collect::<Result<_, _>>()?;
    Ok(tuple_of(elements, columns, None, call.rows)?)
}

/// A function of two tuples, element by element.
fn of_pairs(name: &'static str, by: &'static str) -> ScalarFunction {
    let rule = move |args: &[ArgType]| {
        let (a, b) = same_size(name, args)?;
        let parts = a.into_iter().zip(b).map(|(x, y)| Types.apply(by, &[x, y]));
        Ok(tuple_type(parts.collect::<Result<_, _>>()?))
    };
    ScalarFunction::new(name, 2..=2, rule, move |call| {
        let (a, b) = (parts_of(call.arg(0)?)?, parts_of(call.arg(1)?)?);
        let parts = a.into_iter().zip(b).map(|(x, y)| Values(call).apply(by, &[x, y]));
        tuple(call, parts.collect::<Result<_, _>>()?)
    })
    .own_nulls()
}

/// A function of a tuple and a number, the same for each element.
fn by_number(name: &'static str, by: &'static str) -> ScalarFunction {
    let rule = move |args: &[ArgType]| {
        let parts = part_types(&args[0].column_type, name)?.into_iter();
        let parts = parts.map(|part| Types.apply(by, &[part, args[1].column_type.clone()]));
        Ok(tuple_type(parts.collect::<Result<_, _>>()?))
    };
    ScalarFunction::new(name, 2..=2, rule, move |call| {
        let number = call.arg(1)?;
        let parts = parts_of(call.arg(0)?)?.into_iter();
        let parts = parts.map(|part| Values(call).apply(by, &[part, number.clone()]));
        tuple(call, parts.collect::<Result<_, _>>()?)
    })
    .own_nulls()
}

fn negate() -> ScalarFunction {
    let rule = |args: &[ArgType]| {
        let parts = part_types(&args[0].column_type, "tupleNegate")?.into_iter();
        Ok(tuple_type(parts.map(|part| Types.apply("negate", &[part])).collect::<Result<_, _>>()?))
    };
    ScalarFunction::new("tupleNegate", 1..=1, rule, |call| {
        let parts = parts_of(call.arg(0)?)?.into_iter();
        tuple(call, parts.map(|part| Values(call).apply("negate", &[part])).collect::<Result<_, _>>()?)
    })
    .own_nulls()
}

fn hamming() -> ScalarFunction {
    fn distance<A: Algebra>(
        algebra: &A,
        a: Vec<A::Value>,
        b: Vec<A::Value>,
    ) -> Result<A::Value, FunctionError> {
        let tests = a.into_iter().zip(b).map(|(x, y)| algebra.apply("notEquals", &[x, y]));
        algebra.reduce("plus", tests.collect::<Result<_, _>>()?)
    }
    let rule = |args: &[ArgType]| {
        let (a, b) = same_size("tupleHammingDistance", args)?;
        distance(&Types, a, b)
    };
    ScalarFunction::new("tupleHammingDistance", 2..=2, rule, |call| {
        let made = distance(&Values(call), parts_of(call.arg(0)?)?, parts_of(call.arg(1)?)?)?;
        crate::kernel::rows::expanded(&made, call.rows)
    })
    .own_nulls()
}

/// The elements of tuples that stand in tuples, all as one tuple.
fn flat_parts(column_type: &ColumnType) -> Vec<TupleElement> {
    let ColumnType::Tuple(parts) = column_type else { return vec![] };
    let mut flat = vec![];
    for part in parts {
        match &part.column_type {
            inner @ ColumnType::Tuple(_) => {
                flat.extend(
                    flat_parts(inner).into_iter().map(|found| TupleElement {
                        name: part
                            .name
                            .as_ref()
                            .zip(found.name)
                            .map(|(outer, own)| format!("{outer}.{own}").into()),
                        column_type: found.column_type,
                    }),
                );
            }
            _ => flat.push(part.clone()),
        }
    }
    flat
}

fn flat_columns(arg: &Arg) -> Result<Vec<Arg>, FunctionError> {
    let mut flat = vec![];
    for part in parts_of(arg)? {
        match part.column_type {
            ColumnType::Tuple(_) => flat.extend(flat_columns(&part)?),
            _ => flat.push(part),
        }
    }
    Ok(flat)
}

pub(super) fn concat() -> ScalarFunction {
    let rule = |args: &[ArgType]| {
        let mut parts = vec![];
        for arg in args {
            match &arg.column_type {
                ColumnType::Tuple(own) => parts.extend(own.iter().map(|part| part.column_type.clone())),
                other => return Err(FunctionError::illegal_type(other, "tupleConcat")),
            }
        }
        Ok(tuple_type(parts))
    };
    ScalarFunction::new("tupleConcat", 1..=usize::MAX, rule, |call| {
        let mut parts = vec![];
        for arg in call.args.iter().filter(|arg| arg.array.as_struct().num_columns() > 0) {
            parts.extend(parts_of(arg)?);
        }
        tuple(call, parts)
    })
    .own_nulls()
}

fn flatten() -> ScalarFunction {
    let rule = |args: &[ArgType]| {
        if let ColumnType::Tuple(parts) = &args[0].column_type
            && parts.iter().any(|part| part.name.is_none())
        {
            return Err(FunctionError::illegal_type(&args[0].column_type, "flattenTuple, which needs names"));
        }
        part_types(&args[0].column_type, "flattenTuple")?;
        Ok(ColumnType::Tuple(flat_parts(&args[0].column_type)))
    };
    ScalarFunction::new("flattenTuple", 1..=1, rule, |call| tuple(call, flat_columns(call.arg(0)?)?))
        .own_nulls()
}

/// Functions of two tuples: name, step, documentation.
const PAIRS: &[[&str; 5]] = &[
    [
        "tuplePlus",
        "plus",
        "tuplePlus(a, b)",
        "The sums of the elements.",
        "tuplePlus((1, 2), (3, 4)) -> (4,6)",
    ],
    [
        "tupleMinus",
        "minus",
        "tupleMinus(a, b)",
        "The differences of the elements.",
        "tupleMinus((1, 2), (3, 4)) -> (-2,-2)",
    ],
    [
        "tupleMultiply",
        "multiply",
        "tupleMultiply(a, b)",
        "The products of the elements.",
        "tupleMultiply((1, 2), (3, 4)) -> (3,8)",
    ],
    [
        "tupleDivide",
        "divide",
        "tupleDivide(a, b)",
        "The quotients of the elements.",
        "tupleDivide((1, 2), (2, 4)) -> (0.5,0.5)",
    ],
    [
        "tupleIntDiv",
        "intDiv",
        "tupleIntDiv(a, b)",
        "The whole quotients of the elements.",
        "tupleIntDiv((5, 7), (2, 2)) -> (2,3)",
    ],
    [
        "tupleIntDivOrZero",
        "intDivOrZero",
        "tupleIntDivOrZero(a, b)",
        "The whole quotients of the elements, 0 where the divisor is.",
        "tupleIntDivOrZero((5, 7), (0, 2)) -> (0,3)",
    ],
    [
        "tupleModulo",
        "modulo",
        "tupleModulo(a, b)",
        "The remainders of the elements.",
        "tupleModulo((5, 7), (2, 3)) -> (1,1)",
    ],
];

/// Functions of a tuple and a number.
const BY_NUMBER: &[[&str; 5]] = &[
    [
        "tupleMultiplyByNumber",
        "multiply",
        "tupleMultiplyByNumber(tuple, n)",
        "Each element times n.",
        "tupleMultiplyByNumber((1, 2), 3) -> (3,6)",
    ],
    [
        "tupleDivideByNumber",
        "divide",
        "tupleDivideByNumber(tuple, n)",
        "Each element divided by n.",
        "tupleDivideByNumber((1, 2), 2) -> (0.5,1)",
    ],
    [
        "tupleIntDivByNumber",
        "intDiv",
        "tupleIntDivByNumber(tuple, n)",
        "The whole quotient of each element and n.",
        "tupleIntDivByNumber((5, 7), 2) -> (2,3)",
    ],
    [
        "tupleIntDivOrZeroByNumber",
        "intDivOrZero",
        "tupleIntDivOrZeroByNumber(tuple, n)",
        "The whole quotient of each element and n, 0 if n is.",
        "tupleIntDivOrZeroByNumber((5, 7), 0) -> (0,0)",
    ],
    [
        "tupleModuloByNumber",
        "modulo",
        "tupleModuloByNumber(tuple, n)",
        "The remainder of each element and n.",
        "tupleModuloByNumber((5, 7), 2) -> (1,1)",
    ],
];

fn aliases(name: &str) -> &'static [&'static str] {
    match name {
        "tuplePlus" => &["vectorSum"],
        "tupleMinus" => &["vectorDifference"],
        _ => &[],
    }
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let pairs = PAIRS.iter().map(|[name, by, signature, description, example]| {
        of_pairs(name, by).aliases(aliases(name)).doc(signature, description, example)
    });
    let numbers = BY_NUMBER.iter().map(|[name, by, signature, description, example]| {
        by_number(name, by).doc(signature, description, example)
    });
    let mut all: Vec<ScalarFunction> = pairs.chain(numbers).collect();
    all.push(by_number("tuplePositiveModuloByNumber", "positiveModulo").doc(
        "tuplePositiveModuloByNumber(tuple, n)",
        "The remainder of each element and n, never below 0.",
        "tuplePositiveModuloByNumber((-1, 5), 3) -> (2,2)",
    ));
    all.extend([
        negate().doc(
            "tupleNegate(tuple)",
            "Each element with the other sign.",
            "tupleNegate((1, 2)) -> (-1,-2)",
        ),
        hamming().doc(
            "tupleHammingDistance(a, b)",
            "At how many places the tuples differ.",
            "tupleHammingDistance((1, 2), (1, 3)) -> 1",
        ),
        concat().doc(
            "tupleConcat(a, b, ...)",
            "The elements of all tuples as one tuple.",
            "tupleConcat((1, 2), tuple('a')) -> (1,2,'a')",
        ),
        flatten().doc(
            "flattenTuple(tuple)",
            "The elements of tuples inside of tuples as one tuple.",
            "flattenTuple(CAST((1, tuple(2)), 'Tuple(a UInt8, b Tuple(c UInt8))')) -> (1,2)",
        ),
    ]);
    all
}
