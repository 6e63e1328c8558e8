//! Large numbers in words: `-- 12.35 million`.

use crate::column_type::ColumnType;

const NAMES: [&str; 21] = [
    "",
    "thousand",
    "million",
    "billion",
    "trillion",
    "quadrillion",
    "quintillion",
    "sextillion",
    "septillion",
    "octillion",
    "nonillion",
    "decillion",
    "undecillion",
    "duodecillion",
    "tredecillion",
    "quattuordecillion",
    "quindecillion",
    "sexdecillion",
    "septendecillion",
    "octodecillion",
    "novemdecillion",
];
const LAST_NAME: &str = "vigintillion";

/// Numbers in this range fill 64 bits: hashes and ids, which nobody reads as quantities.
const HASHES: std::ops::RangeInclusive<f64> = 1e18..=18_446_744_073_709_551_616.0;

/// The note behind a number's text; `None` for small numbers and what is none. `threshold` 0 switches notes off.
pub fn tip(text: &[u8], column_type: &ColumnType, threshold: u64) -> Option<String> {
    if threshold == 0 || text.len() < 6 && !text.contains(&b'e') || !column_type.is_number() {
        return None;
    }
    let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let magnitude = number.abs();
    if !magnitude.is_finite() || magnitude <= as_f64(threshold) || HASHES.contains(&magnitude) {
        return None;
    }
    let (mut scaled, mut name) = (number, 0);
    while scaled.abs() >= 1000.0 && name < NAMES.len() {
        scaled /= 1000.0;
        name += 1;
    }
    let name = NAMES.get(name).unwrap_or(&LAST_NAME);
    Some(format!(" -- {scaled:.2} {name}"))
}

#[expect(clippy::cast_precision_loss, reason = "a threshold for display")]
fn as_f64(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_large_quantities_get_a_note() {
        let shown = |text: &str| tip(text.as_bytes(), &ColumnType::Float64, 1_000_000);
        assert_eq!(shown("1000000"), None);
        assert_eq!(shown("1000001").as_deref(), Some(" -- 1.00 million"));
        assert_eq!(shown("-4294967295").as_deref(), Some(" -- -4.29 billion"));
        assert_eq!(shown("9223372036854775807"), None);
        assert_eq!(shown("1e40").as_deref(), Some(" -- 10.00 duodecillion"));
        assert_eq!(tip(b"20240101", &ColumnType::String, 1_000_000), None);
    }
}
