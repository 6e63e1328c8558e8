//! Arithmetic of integers of 128 and 256 bits, alone or with narrower ones.
//!
//! Invariant: computed in 256 bits and wrapped in the result's type; quotients and remainders are cut towards zero.

use arrow::array::ArrayRef;
use arrow::datatypes::i256;
use model::{ColumnType, WideInteger};

use crate::arithmetic::operator::{Operator, division_by_zero, division_of_smallest};
use crate::columns::wide::{column, kind_of, numbers};
use crate::error::FunctionError;
use crate::kernel::call::Call;
use crate::kernel::types::{any_integer_shape, integer_of};

/// An integer argument.
struct Side {
    numbers: Vec<i256>,
    kind: WideInteger,
    is_constant: bool,
}

impl Side {
    fn new(call: &Call<'_>, index: usize) -> Result<Self, FunctionError> {
        let arg = call.arg(index)?;
        let plain = arg.column_type.value_type();
        let numbers = numbers(&arg.array, plain)?;
        Ok(Self { numbers, kind: kind_of(plain), is_constant: arg.is_constant })
    }

    fn get(&self, row: usize) -> i256 {
        self.numbers[if self.is_constant { 0 } else { row }]
    }

    /// Whether the number is below zero.
    fn is_negative(&self, number: i256) -> bool {
        self.kind.signed && number.is_negative()
    }
}

/// A quotient and a remainder of numbers without sign.
fn divided(n: i256, d: i256) -> (i256, i256) {
    let beyond = |number: i256| number.is_negative();
    let is_less = |a: i256, b: i256| (beyond(a), a) < (beyond(b), b);
    if beyond(d) {
        return if is_less(n, d) { (i256::ZERO, n) } else { (i256::ONE, n.wrapping_sub(d)) };
    }
    if !beyond(n) {
        return (n.wrapping_div(d), n.wrapping_rem(d));
    }
    // Half of the dividend has no top bit; twice its quotient is at most one too small.
    let half = (n >> 1_u8) & i256::MAX;
    let quotient = half.wrapping_div(d) << 1_u8;
    let rest = n.wrapping_sub(quotient.wrapping_mul(d));
    if is_less(rest, d) { (quotient, rest) } else { (quotient.wrapping_add(i256::ONE), rest.wrapping_sub(d)) }
}

/// The greatest common divisor of numbers without sign.
fn greatest_divisor(mut a: i256, mut b: i256) -> i256 {
    while b != i256::ZERO {
        (a, b) = (b, divided(a, b).1);
    }
    a
}

/// The type of a common divisor or multiple: the size of the larger one, a sign if one has it.
pub(crate) fn common_type(a: &ColumnType, b: &ColumnType) -> ColumnType {
    let (a, b) = (any_integer_shape(a).unwrap_or((1, false)), any_integer_shape(b).unwrap_or((1, false)));
    integer_of(a.0.max(b.0), a.1 || b.1)
}

/// Greatest common divisors, or least common multiples.
pub(crate) fn common(call: &Call<'_>, is_multiple: bool) -> Result<ArrayRef, FunctionError> {
    let (a, b) = (Side::new(call, 0)?, Side::new(call, 1)?);
    let magnitude = |side: &Side, row: usize| {
        let number = side.get(row);
        if side.is_negative(number) { number.wrapping_neg() } else { number }
    };
    let mut values = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let (x, y) = (magnitude(&a, row), magnitude(&b, row));
        values.push(match (x == i256::ZERO || y == i256::ZERO, is_multiple) {
            _ if call.is_null(row) => i256::ZERO,
            (true, _) => return Err(division_by_zero()),
            (false, false) => greatest_divisor(x, y),
            (false, true) => divided(x, greatest_divisor(x, y)).0.wrapping_mul(y),
        });
    }
    column(&values, call.result_type.value_type(), None)
}

fn divide(
    operator: Operator,
    sides: (&Side, &Side),
    row: usize,
    to: WideInteger,
) -> Result<i256, FunctionError> {
    let (x, y) = (sides.0.get(row), sides.1.get(row));
    if y == i256::ZERO {
        return if operator.or_zero() { Ok(i256::ZERO) } else { Err(division_by_zero()) };
    }
    let is_quotient = matches!(operator, Operator::IntDiv | Operator::IntDivOrZero);
    // Quotients are those of the bits in the type of the result.
    let larger = WideInteger { bytes: to.bytes.max(sides.1.kind.bytes), signed: to.signed };
    let (x, y) = if is_quotient { (to.wrap(x), larger.wrap(y)) } else { (x, y) };
    let negative = |side: &Side, number: i256| match is_quotient {
        true => to.signed && number.is_negative(),
        false => side.is_negative(number),
    };
    let (x_negative, y_negative) = (negative(sides.0, x), negative(sides.1, y));
    let magnitude = |number: i256, negative: bool| if negative { number.wrapping_neg() } else { number };
    let (quotient, rest) = divided(magnitude(x, x_negative), magnitude(y, y_negative));
    let own = sides.0.kind;
    let limit = if matches!(operator, Operator::IntDiv | Operator::IntDivOrZero) { to } else { own };
    let smallest = limit.signed && x == limit.limits().0 && y_negative && y == i256::MINUS_ONE;
    if smallest {
        return if operator.or_zero() { Ok(i256::ZERO) } else { Err(division_of_smallest()) };
    }
    match operator {
        Operator::IntDiv | Operator::IntDivOrZero => Ok(magnitude(quotient, x_negative != y_negative)),
        Operator::PositiveModulo if x_negative && rest != i256::ZERO => {
            Ok(magnitude(y, y_negative).wrapping_sub(rest))
        }
        _ => Ok(magnitude(rest, x_negative)),
    }
}

/// `+ - *`, whole quotients and remainders.
pub(crate) fn binary(operator: Operator, call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (a, b) = (Side::new(call, 0)?, Side::new(call, 1)?);
    let result = call.result_type.value_type();
    let to = kind_of(result);
    let mut values = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        values.push(match operator {
            _ if call.is_null(row) => i256::ZERO,
            Operator::Plus => a.get(row).wrapping_add(b.get(row)),
            Operator::Minus => a.get(row).wrapping_sub(b.get(row)),
            Operator::Multiply => a.get(row).wrapping_mul(b.get(row)),
            _ => divide(operator, (&a, &b), row, to)?,
        });
    }
    column(&values, result, None)
}

/// The opposite number, or the number without its sign.
pub(crate) fn unary(call: &Call<'_>, negates: bool) -> Result<ArrayRef, FunctionError> {
    let side = Side::new(call, 0)?;
    let value = |row| {
        let number = side.get(row);
        if negates || side.is_negative(number) { number.wrapping_neg() } else { number }
    };
    let values: Vec<i256> = (0..call.rows).map(value).collect();
    column(&values, call.result_type.value_type(), None)
}

/// Whether these are integers of which one is wide.
pub(crate) fn applies(a: &ColumnType, b: &ColumnType) -> bool {
    let integer = |t: &ColumnType| t.is_integer() || t.is_wide_integer() || *t == ColumnType::Bool;
    integer(a) && integer(b) && (a.is_wide_integer() || b.is_wide_integer())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_without_sign_divide() {
        let number = |text: &str| WideInteger { bytes: 32, signed: false }.parse(text.as_bytes()).unwrap().0;
        let most = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
        for (n, d, quotient, rest) in [
            ("7", "2", "3", "1"),
            (
                most,
                "10",
                "11579208923731619542357098500868790785326998466564056403945758400791312963993",
                "5",
            ),
            (most, most, "1", "0"),
            ("5", most, "0", "5"),
            (most, "1", most, "0"),
        ] {
            assert_eq!(divided(number(n), number(d)), (number(quotient), number(rest)), "{n} / {d}");
        }
    }
}
