//! Vectors, as arrays and as tuples: norms, distances, products.
//!
//! Invariant: of arrays the result is a Float64, or a Float32 when all elements are; of tuples it has the type of the
//! formula over their elements.

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{ArrowNativeTypeOp, ArrowPrimitiveType, Float64Type};
use model::{ColumnType, ErrorCode};

use super::algebra::{Algebra, Norm, Types, Values, cosine, dot, minus, part_types, parts_of, tuple};
use crate::cast::CastMode;
use crate::columns::container::{list_of, offsets_of, range, unnamed};
use crate::columns::number::with_number;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::list::Lists;
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::expanded;
use crate::kernel::types::contained;

/// What is asked of one vector or two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Question {
    Length(Norm),
    Distance(Norm),
    Cosine,
}

impl Question {
    fn vectors(self) -> usize {
        if matches!(self, Question::Length(_)) { 1 } else { 2 }
    }

    fn has_power(self) -> bool {
        matches!(self, Question::Length(Norm::Lp) | Question::Distance(Norm::Lp))
    }

    fn arguments(self) -> usize {
        self.vectors() + usize::from(self.has_power())
    }

    /// The formula over elements of tuples.
    fn of_tuples<A: Algebra>(
        self,
        algebra: &A,
        vectors: &[Vec<A::Value>],
        power: Option<A::Value>,
    ) -> Result<A::Value, FunctionError> {
        match (self, vectors) {
            (Question::Length(norm), [a]) => norm.of(algebra, a, power),
            (Question::Distance(norm), [a, b]) => norm.of(algebra, &minus(algebra, a, b)?, power),
            (Question::Cosine, [a, b]) => cosine(algebra, a, b),
            _ => Err(FunctionError::bad_argument("vectors are missing")),
        }
    }

    /// The same over the elements of arrays.
    fn of_numbers(self, a: &[f64], b: &[f64], power: f64) -> f64 {
        // The sum of no numbers is -0.
        let length = |norm: Norm, values: &mut dyn Iterator<Item = f64>| match norm {
            Norm::L1 => values.map(f64::abs).sum::<f64>() + 0.0,
            Norm::L2 => (values.map(|x| x * x).sum::<f64>() + 0.0).sqrt(),
            Norm::L2Squared => values.map(|x| x * x).sum::<f64>() + 0.0,
            Norm::Linf => values.map(f64::abs).fold(0.0, f64::max),
            Norm::Lp => values.map(|x| x.abs().powf(power)).sum::<f64>().powf(1.0 / power),
        };
        match self {
            Question::Length(norm) => length(norm, &mut a.iter().copied()),
            Question::Distance(norm) => length(norm, &mut a.iter().zip(b).map(|(x, y)| x - y)),
            Question::Cosine => {
                let dot: f64 = a.iter().zip(b).map(|(x, y)| x * y).sum();
                let squared = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>();
                1.0 - dot / (squared(a).sqrt() * squared(b).sqrt())
            }
        }
    }
}

fn result_type(
    name: &'static str,
    question: Question,
    args: &[ArgType],
) -> Result<ColumnType, FunctionError> {
    let vectors = args.get(..question.vectors()).unwrap_or_default();
    if vectors.iter().all(|arg| matches!(arg.column_type, ColumnType::Tuple(_))) {
        let parts =
            vectors.iter().map(|arg| part_types(&arg.column_type, name)).collect::<Result<Vec<_>, _>>()?;
        same_sizes(name, &parts)?;
        let power = args.get(question.vectors()).map(|arg| arg.column_type.clone());
        return question.of_tuples(&Types, &parts, power);
    }
    let mut elements = Vec::with_capacity(vectors.len());
    for arg in vectors {
        match &arg.column_type {
            ColumnType::Array(element) if element.is_number() && !element.is_nullable() => {
                elements.push(&**element);
            }
            other => return Err(FunctionError::illegal_type(other, name)),
        }
    }
    let narrow = crate::kernel::types::supertype(elements)? == ColumnType::Float32;
    Ok(if narrow { ColumnType::Float32 } else { ColumnType::Float64 })
}

fn same_sizes<T>(name: &str, parts: &[Vec<T>]) -> Result<(), FunctionError> {
    match parts {
        [a, b] if a.len() != b.len() => {
            let message =
                format!("function {name} needs tuples of one size, got {} and {}", a.len(), b.len());
            Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message))
        }
        _ => Ok(()),
    }
}

/// Elements of an array argument as numbers.
fn numbers(call: &Call<'_>, lists: &Lists) -> Result<arrow::array::Float64Array, FunctionError> {
    let caster = call.caster(CastMode::Strict);
    Ok(caster
        .column(lists.values(), &lists.element, &ColumnType::Float64)?
        .as_primitive::<Float64Type>()
        .clone())
}

fn evaluate(name: &'static str, question: Question, call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    if matches!(call.arg(0)?.column_type, ColumnType::Tuple(_)) {
        let vectors = (0..question.vectors()).map(|index| parts_of(call.arg(index)?));
        let vectors = vectors.collect::<Result<Vec<_>, _>>()?;
        let power = call.args.get(question.vectors()).cloned();
        return expanded(&question.of_tuples(&Values(call), &vectors, power)?, call.rows);
    }
    let lists = (0..question.vectors()).map(|index| call.lists(index)).collect::<Result<Vec<_>, _>>()?;
    let values = lists.iter().map(|list| numbers(call, list)).collect::<Result<Vec<_>, _>>()?;
    let powers = if question.has_power() { Some(call.floats(question.vectors())?) } else { None };
    let results = call.each::<Float64Type>(|row| {
        let vector = |index: usize| match (lists.get(index), values.get(index)) {
            (Some(list), Some(values)) => &values.values()[list.range(row)],
            _ => &[],
        };
        let (a, b) = (vector(0), vector(1));
        if question.vectors() == 2 && a.len() != b.len() {
            let message = format!("array arguments for function {name} must have equal sizes");
            return Err(FunctionError::new(ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH, message));
        }
        Ok(question.of_numbers(a, b, powers.as_ref().map_or(2.0, |powers| powers.get(row))))
    })?;
    Ok(call.caster(CastMode::Strict).column(&results, &ColumnType::Float64, call.result_type)?)
}

fn vector(
    name: &'static str,
    aliases: &'static [&'static str],
    question: Question,
    doc: (&'static str, &'static str, &'static str),
) -> ScalarFunction {
    let arguments = question.arguments();
    ScalarFunction::new(
        name,
        arguments..=arguments,
        move |args| result_type(name, question, args),
        move |call| evaluate(name, question, call),
    )
    .aliases(aliases)
    .doc(doc.0, doc.1, doc.2)
}

fn dot_type(name: &'static str, args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    match (&args[0].column_type, &args[1].column_type) {
        (ColumnType::Array(a), ColumnType::Array(b)) => {
            Types.apply("multiply", &[(**a).clone(), (**b).clone()])
        }
        (a, b) => {
            let (a, b) = (part_types(a, name)?, part_types(b, name)?);
            let parts = [a, b];
            same_sizes(name, &parts)?;
            dot(&Types, &parts[0], &parts[1])
        }
    }
}

fn dot_product(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (a, b) = (call.arg(0)?, call.arg(1)?);
    if matches!(a.column_type, ColumnType::Tuple(_)) {
        return expanded(&dot(&Values(call), &parts_of(a)?, &parts_of(b)?)?, call.rows);
    }
    let target = ColumnType::Array(Box::new(call.result_type.clone()));
    let (x, y) = (call.converted(0, &target)?, call.converted(1, &target)?);
    let (x, y) = (x.as_list::<i32>(), y.as_list::<i32>());
    with_number!(call.result_type, T => {
        let (left, right) = (x.values().as_primitive::<T>(), y.values().as_primitive::<T>());
        call.each::<T>(|row| {
            let (own, other) = (range(x.value_offsets(), a.row(row)), range(y.value_offsets(), b.row(row)));
            if own.len() != other.len() {
                let message = "array arguments for function arrayDotProduct must have equal sizes";
                return Err(FunctionError::new(ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH, message));
            }
            let products = own.zip(other).map(|(i, j)| left.value(i).mul_wrapping(right.value(j)));
            Ok(products.fold(Default::default(), |sum: <T as ArrowPrimitiveType>::Native, p| sum.add_wrapping(p)))
        })
    }, else Err(FunctionError::illegal_type(call.result_type, "arrayDotProduct")))
}

/// The elements of each array divided by its norm.
fn normalized_lists(call: &Call<'_>, norm: Norm) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Array(element) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "of vectors"));
    };
    let lists = call.lists(0)?;
    let values = numbers(call, &lists)?;
    let powers = if norm == Norm::Lp { Some(call.floats(1)?) } else { None };
    let (mut all, mut lengths) = (Vec::new(), Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        let own = &values.values()[lists.range(row)];
        let power = powers.as_ref().map_or(2.0, |powers| powers.get(row));
        let length = Question::Length(norm).of_numbers(own, &[], power);
        call.reserve_indices(own.len())?;
        all.extend(own.iter().map(|value| value / length));
        lengths.push(own.len());
    }
    let made: ArrayRef = std::sync::Arc::new(arrow::array::Float64Array::from(all));
    let made = call.caster(CastMode::Strict).column(&made, &ColumnType::Float64, element)?;
    Ok(list_of(element, offsets_of(lengths), made, None)?)
}

/// Each element divided by the norm.
fn normalized(
    name: &'static str,
    aliases: &'static [&'static str],
    norm: Norm,
    doc: (&'static str, &'static str, &'static str),
) -> ScalarFunction {
    fn divided<A: Algebra>(
        norm: Norm,
        algebra: &A,
        parts: Vec<A::Value>,
        power: Option<A::Value>,
    ) -> Result<Vec<A::Value>, FunctionError> {
        let length = norm.of(algebra, &parts, power)?;
        parts.into_iter().map(|part| algebra.apply("divide", &[part, length.clone()])).collect()
    }
    let arguments = if norm == Norm::Lp { 2 } else { 1 };
    let rule = move |args: &[ArgType]| {
        if let ColumnType::Array(element) = &args[0].column_type {
            let narrow = **element == ColumnType::Float32;
            if !element.is_number() || element.is_nullable() {
                return Err(FunctionError::illegal_type(&args[0].column_type, name));
            }
            let float = if narrow { ColumnType::Float32 } else { ColumnType::Float64 };
            return Ok(ColumnType::Array(Box::new(float)));
        }
        let parts = part_types(&args[0].column_type, name)?;
        let power = args.get(1).map(|arg| arg.column_type.clone());
        Ok(unnamed(divided(norm, &Types, parts, power)?.into_iter().map(contained)))
    };
    ScalarFunction::new(name, arguments..=arguments, rule, move |call| {
        if let ColumnType::Array(_) = call.result_type {
            return normalized_lists(call, norm);
        }
        let parts = parts_of(call.arg(0)?)?;
        tuple(call, divided(norm, &Values(call), parts, call.args.get(1).cloned())?)
    })
    .aliases(aliases)
    .doc(doc.0, doc.1, doc.2)
}

/// A name, its aliases, what is asked, the documentation.
type Row<Q> = (&'static str, &'static [&'static str], Q, (&'static str, &'static str, &'static str));

const QUESTIONS: &[Row<Question>] = &[
    (
        "L1Norm",
        &["normL1"],
        Question::Length(Norm::L1),
        ("L1Norm(vector)", "The sum of the absolute values.", "L1Norm((1, -2)) -> 3"),
    ),
    (
        "L2Norm",
        &["normL2"],
        Question::Length(Norm::L2),
        ("L2Norm(vector)", "The square root of the sum of squares.", "L2Norm((3, 4)) -> 5"),
    ),
    (
        "L2SquaredNorm",
        &["normL2Squared"],
        Question::Length(Norm::L2Squared),
        ("L2SquaredNorm(vector)", "The sum of squares.", "L2SquaredNorm((3, 4)) -> 25"),
    ),
    (
        "LinfNorm",
        &["normLinf"],
        Question::Length(Norm::Linf),
        ("LinfNorm(vector)", "The largest absolute value.", "LinfNorm((1, -3)) -> 3"),
    ),
    (
        "LpNorm",
        &["normLp"],
        Question::Length(Norm::Lp),
        ("LpNorm(vector, p)", "The pth root of the sum of pth powers.", "LpNorm((3, 4), 2) -> 5"),
    ),
    (
        "L1Distance",
        &["distanceL1"],
        Question::Distance(Norm::L1),
        ("L1Distance(a, b)", "The L1Norm of the difference.", "L1Distance((1, 2), (3, 5)) -> 5"),
    ),
    (
        "L2Distance",
        &["distanceL2"],
        Question::Distance(Norm::L2),
        ("L2Distance(a, b)", "The L2Norm of the difference.", "L2Distance((1, 2), (4, 6)) -> 5"),
    ),
    (
        "L2SquaredDistance",
        &["distanceL2Squared"],
        Question::Distance(Norm::L2Squared),
        (
            "L2SquaredDistance(a, b)",
            "The L2SquaredNorm of the difference.",
            "L2SquaredDistance((1, 2), (4, 6)) -> 25",
        ),
    ),
    (
        "LinfDistance",
        &["distanceLinf"],
        Question::Distance(Norm::Linf),
        ("LinfDistance(a, b)", "The LinfNorm of the difference.", "LinfDistance((1, 2), (4, 6)) -> 4"),
    ),
    (
        "LpDistance",
        &["distanceLp"],
        Question::Distance(Norm::Lp),
        ("LpDistance(a, b, p)", "The LpNorm of the difference.", "LpDistance((1, 2), (4, 6), 2) -> 5"),
    ),
    (
        "cosineDistance",
        &["distanceCosine"],
        Question::Cosine,
        (
            "cosineDistance(a, b)",
            "1 less the cosine of the angle between the vectors.",
            "cosineDistance((1, 0), (0, 1)) -> 1",
        ),
    ),
];

const NORMALIZED: &[Row<Norm>] = &[
    (
        "L1Normalize",
        &["normalizeL1"],
        Norm::L1,
        ("L1Normalize(tuple)", "The tuple divided by its L1Norm.", "L1Normalize((1, 3)) -> (0.25,0.75)"),
    ),
    (
        "L2Normalize",
        &["normalizeL2"],
        Norm::L2,
        ("L2Normalize(tuple)", "The tuple divided by its L2Norm.", "L2Normalize((3, 4)) -> (0.6,0.8)"),
    ),
    (
        "LinfNormalize",
        &["normalizeLinf"],
        Norm::Linf,
        ("LinfNormalize(tuple)", "The tuple divided by its LinfNorm.", "LinfNormalize((3, 4)) -> (0.75,1)"),
    ),
    (
        "LpNormalize",
        &["normalizeLp"],
        Norm::Lp,
        ("LpNormalize(tuple, p)", "The tuple divided by its LpNorm.", "LpNormalize((3, 4), 2) -> (0.6,0.8)"),
    ),
];

pub(super) fn functions() -> Vec<ScalarFunction> {
    let questions =
        QUESTIONS.iter().map(|(name, aliases, question, doc)| vector(name, aliases, *question, *doc));
    let normalized =
        NORMALIZED.iter().map(|(name, aliases, norm, doc)| normalized(name, aliases, *norm, *doc));
    let mut all: Vec<ScalarFunction> = questions.chain(normalized).collect();
    all.push(
        ScalarFunction::new("arrayDotProduct", 2..=2, |args| dot_type("arrayDotProduct", args), dot_product)
            .doc(
                "arrayDotProduct(a, b)",
                "The products of elements at the same place, added.",
                "arrayDotProduct([1, 2], [3, 4]) -> 11",
            ),
    );
    all.push(
        ScalarFunction::new("dotProduct", 2..=2, |args| dot_type("dotProduct", args), dot_product)
            .aliases(&["scalarProduct"])
            .doc(
                "dotProduct(a, b)",
                "The products of elements at the same place, added.",
                "dotProduct((1, 2), (3, 4)) -> 11",
            ),
    );
    all
}
