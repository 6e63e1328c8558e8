//! Whole numbers as SQL writes them in expressions: sums and products of digits, `_` between these.
//!
//! Invariant: the whole text must be the expression, and its value and every part of it fit 64 bits. Must not know: names, other
//! operators.

/// The value of whole numbers between `+`, `-` and `*`: `2024-13-45` is 1966, `1_000` is 1000.
pub fn whole(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii();
    let (negative, mut rest) = match text {
        [sign @ (b'-' | b'+'), rest @ ..] => (*sign == b'-', rest),
        _ => (false, text),
    };
    let first = product(&mut rest)?;
    let mut sum = if negative { first.checked_neg()? } else { first };
    while let [sign @ (b'+' | b'-'), after @ ..] = rest {
        rest = after;
        let next = product(&mut rest)?;
        sum = if *sign == b'-' { sum.checked_sub(next)? } else { sum.checked_add(next)? };
    }
    rest.is_empty().then_some(sum)
}

/// The value of `0x1F` or `0b11`.
pub fn of_radix(text: &[u8]) -> Option<u64> {
    let (digits, radix) = match text {
        [b'0', b'x' | b'X', digits @ ..] => (digits, 16),
        [b'0', b'b' | b'B', digits @ ..] => (digits, 2),
        _ => return None,
    };
    // A sign would be taken for a digit.
    let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
    u64::from_str_radix(digits, radix).ok()
}

fn product(rest: &mut &[u8]) -> Option<i64> {
    let mut product = factor(rest)?;
    while let [b'*', after @ ..] = *rest {
        *rest = after;
        product = product.checked_mul(factor(rest)?)?;
    }
    Some(product)
}

fn factor(rest: &mut &[u8]) -> Option<i64> {
    let text = rest.trim_ascii_start();
    let length = text.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'_').unwrap_or(text.len());
    let (digits, after) = text.split_at(length);
    // An underscore stands between two digits.
    let parts = digits.split(|byte| *byte == b'_');
    let mut number = 0_i64;
    for part in parts {
        if part.is_empty() {
            return None;
        }
        for digit in part {
            number = number.checked_mul(10)?.checked_add(i64::from(digit - b'0'))?;
        }
    }
    *rest = after.trim_ascii_start();
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn sums_and_products_of_whole_numbers_have_a_value() {
        for (text, value) in [
            ("007", Some(7)),
            ("+1_000", Some(1000)),
            ("2024-13-45", Some(1966)),
            (" -1 + 2 * 3 ", Some(5)),
            ("9223372036854775807", Some(i64::MAX)),
            ("9223372036854775808", None),
            ("1_", None),
            ("1__0", None),
            ("1--1", None),
            ("1+", None),
            ("1.5", None),
            ("1e3", None),
            ("", None),
        ] {
            assert_eq!(whole(text.as_bytes()), value, "{text}");
        }
    }
}
