//! UUIDs as they are written: 32 digits, or five groups of them.
//!
//! Invariant: nothing but those two forms is read. Must not know: columns.

/// The UUID as one number.
pub fn parse(text: &[u8]) -> Option<u128> {
    let hyphens = match text.len() {
        32 => 0,
        36 => 4,
        _ => return None,
    };
    let mut value = 0_u128;
    let mut seen = 0;
    for (at, byte) in text.iter().enumerate() {
        if hyphens == 4 && matches!(at, 8 | 13 | 18 | 23) {
            if *byte != b'-' {
                return None;
            }
            seen += 1;
            continue;
        }
        let digit = char::from(*byte).to_digit(16)?;
        value = (value << 4) | u128::from(digit);
    }
    (seen == hyphens).then_some(value)
}
