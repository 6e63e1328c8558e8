//! Literals: what ClickHouse reads as one, and the type it gives to a literal that EXPLAIN SYNTAX shows in `_CAST`.
//!
//! Invariant: an array or a tuple with anything else than literals of its own sort in it is none. Must not know: types
//! that are no literal's.

use sqlparser::ast::{Expr, UnaryOperator, Value};

use crate::printer::label::literal;

/// The type of a literal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Of an empty array's elements.
    Nothing,
    Null,
    Bool,
    Text,
    /// With as many bits.
    Unsigned(u8),
    Signed(u8),
    Float,
    Nullable(Box<Kind>),
    Array(Box<Kind>),
    Tuple(Vec<Kind>),
    Variant(Vec<String>),
}

impl Kind {
    pub(super) fn name(&self) -> String {
        match self {
            Kind::Nothing => "Nothing".to_owned(),
            Kind::Null => "Nullable(Nothing)".to_owned(),
            Kind::Bool => "Bool".to_owned(),
            Kind::Text => "String".to_owned(),
            Kind::Unsigned(bits) => format!("UInt{bits}"),
            Kind::Signed(bits) => format!("Int{bits}"),
            Kind::Float => "Float64".to_owned(),
            Kind::Nullable(kind) => format!("Nullable({})", kind.name()),
            Kind::Array(kind) => format!("Array({})", kind.name()),
            Kind::Tuple(kinds) => {
                let names: Vec<String> = kinds.iter().map(Kind::name).collect();
                format!("Tuple({})", names.join(", "))
            }
            Kind::Variant(names) => format!("Variant({})", names.join(", ")),
        }
    }

    /// Whether its whole numbers are shown with a point.
    pub(super) fn is_of_floats(&self) -> bool {
        match self {
            Kind::Float => true,
            Kind::Nullable(kind) | Kind::Array(kind) => kind.is_of_floats(),
            _ => false,
        }
    }
}

/// Whether ClickHouse reads it as one literal.
pub(super) fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Array(array) => array.elem.iter().all(|one| !matches!(one, Expr::Tuple(_)) && is_literal(one)),
        Expr::Tuple(parts) => parts.iter().all(|one| !matches!(one, Expr::Array(_)) && is_literal(one)),
        other => scalar(other).is_some(),
    }
}

/// A literal as it is printed, with its sign.
fn scalar(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Value(value) if matches!(value.value, Value::Placeholder(_)) => None,
        Expr::Value(value) => Some(literal(&value.value)),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match expr.as_ref() {
            Expr::Value(value) if matches!(value.value, Value::Number(..)) => {
                Some(format!("-{}", literal(&value.value)))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The type of a literal.
pub(super) fn kind(expr: &Expr) -> Kind {
    match expr {
        Expr::Array(array) => Kind::Array(Box::new(common(array.elem.iter().map(kind).collect()))),
        Expr::Tuple(parts) => Kind::Tuple(parts.iter().map(kind).collect()),
        Expr::Value(value) => match &value.value {
            Value::Null => Kind::Null,
            Value::Boolean(_) => Kind::Bool,
            Value::Number(..) | Value::HexStringLiteral(_) => number(&literal(&value.value)),
            _ => Kind::Text,
        },
        other => number(&scalar(other).unwrap_or_default()),
    }
}

fn number(digits: &str) -> Kind {
    let fits = |bits: u8| 1_i128 << bits;
    match digits.parse::<i128>() {
        Ok(number) if number < 0 => {
            let bits = [8, 16, 32, 64].into_iter().find(|bits| -number <= fits(bits - 1));
            bits.map_or(Kind::Float, Kind::Signed)
        }
        Ok(number) => {
            let bits = [8, 16, 32, 64].into_iter().find(|bits| number < fits(*bits));
            bits.map_or(Kind::Float, Kind::Unsigned)
        }
        Err(_) => Kind::Float,
    }
}

/// The type that all of them have as elements of one array.
fn common(kinds: Vec<Kind>) -> Kind {
    let mut nulls = false;
    let mut distinct: Vec<Kind> = vec![];
    for kind in kinds {
        let kind = match kind {
            Kind::Null => {
                nulls = true;
                continue;
            }
            Kind::Nullable(kind) => {
                nulls = true;
                *kind
            }
            other => other,
        };
        if kind != Kind::Nothing && !distinct.contains(&kind) {
            distinct.push(kind);
        }
    }
    let kind = match distinct.as_slice() {
        [] => return if nulls { Kind::Null } else { Kind::Nothing },
        [one] => one.clone(),
        several => of_several(several),
    };
    match kind {
        Kind::Array(_) | Kind::Tuple(_) | Kind::Variant(_) => kind,
        other if nulls => Kind::Nullable(Box::new(other)),
        other => other,
    }
}

fn of_several(kinds: &[Kind]) -> Kind {
    if let Some(number) = common_number(kinds) {
        return number;
    }
    let elements = kinds.iter().map(|kind| match kind {
        Kind::Array(element) => Some(element.as_ref().clone()),
        _ => None,
    });
    if let Some(elements) = elements.collect::<Option<Vec<_>>>() {
        return Kind::Array(Box::new(common(elements)));
    }
    let mut names: Vec<String> = kinds.iter().map(Kind::name).collect();
    names.sort();
    Kind::Variant(names)
}

/// Floats hold whole numbers of 32 bits, signed numbers hold unsigned ones of half their bits.
fn common_number(kinds: &[Kind]) -> Option<Kind> {
    let (mut unsigned, mut signed, mut floats) = (0, 0, false);
    for kind in kinds {
        match kind {
            Kind::Unsigned(bits) => unsigned = unsigned.max(*bits),
            Kind::Signed(bits) => signed = signed.max(*bits),
            Kind::Float => floats = true,
            _ => return None,
        }
    }
    match (floats, signed) {
        (true, _) => (unsigned.max(signed) <= 32).then_some(Kind::Float),
        (false, 0) => Some(Kind::Unsigned(unsigned)),
        (false, signed) => {
            let bits = signed.max(unsigned * 2);
            (bits <= 64).then_some(Kind::Signed(bits))
        }
    }
}
