//! Byte sizes and row counts as people read and write them.
//!
//! Invariant: printing is what ClickHouse's closing line prints; reading accepts plain integers and `10Gi`, `1.5M`.

use std::fmt;

/// A number of bytes; prints as `42.10 MiB`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct ByteSize(pub u64);

/// A number of rows; prints as `960.00 thousand`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct RowCount(pub u64);

const BINARY: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const DECIMAL: [&str; 6] = ["B", "KB", "MB", "GB", "TB", "PB"];
const COUNT: [&str; 5] = ["", " thousand", " million", " billion", " trillion"];

impl ByteSize {
    /// Reads `1024`, `1Ki`, `1KiB`, `1.5G`, `1GB`: a trailing `i` means powers of 1024, otherwise of 1000.
    pub fn parse(text: &str) -> Option<ByteSize> {
        let text = text.trim();
        let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) =
            (text[..split].parse::<f64>().ok()?, text[split..].trim().trim_end_matches(['B', 'b']));
        let power = match unit.chars().next().map(|c| c.to_ascii_uppercase()) {
            None => 0,
            Some(letter) => "KMGTP".find(letter)? + 1,
        };
        let base: f64 = match unit.get(1..).unwrap_or("") {
            "i" | "I" => 1024.0,
            "" => 1000.0,
            _ => return None,
        };
        let bytes = number * base.powi(i32::try_from(power).ok()?);
        // 2^63 and above are refused, so the cast below is exact enough and never saturates.
        (bytes.is_finite() && bytes < 9.2e18).then(|| ByteSize(to_u64(bytes)))
    }

    /// Powers of 1000, as rates are shown: `373.22 MB`.
    pub fn decimal(self) -> String {
        let (scaled, unit) = scale(as_f64(self.0), 1000.0, DECIMAL.len());
        format!("{scaled:.2} {}", DECIMAL[unit])
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scaled, unit) = scale(as_f64(self.0), 1024.0, BINARY.len());
        write!(f, "{scaled:.2} {}", BINARY[unit])
    }
}

impl fmt::Display for RowCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1000 {
            return write!(f, "{}", self.0);
        }
        let (scaled, unit) = scale(as_f64(self.0), 1000.0, COUNT.len());
        write!(f, "{scaled:.2}{}", COUNT[unit])
    }
}

fn scale(mut number: f64, base: f64, units: usize) -> (f64, usize) {
    let mut unit = 0;
    while number >= base && unit + 1 < units {
        number /= base;
        unit += 1;
    }
    (number, unit)
}

#[expect(clippy::cast_precision_loss, reason = "shown with two decimals")]
fn as_f64(number: u64) -> f64 {
    number as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the caller checked the range")]
fn to_u64(number: f64) -> u64 {
    number as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_and_print() {
        for (text, bytes) in [
            ("0", 0),
            ("1024", 1024),
            ("1Ki", 1024),
            ("1KiB", 1024),
            ("1K", 1000),
            ("1.5Gi", 1_610_612_736),
            ("2GB", 2_000_000_000),
        ] {
            assert_eq!(ByteSize::parse(text), Some(ByteSize(bytes)), "{text}");
        }
        assert_eq!(ByteSize::parse("1X"), None);
        assert_eq!(ByteSize::parse(""), None);
        assert_eq!(ByteSize(44_145_049).to_string(), "42.10 MiB");
        assert_eq!(ByteSize(373_220_000).decimal(), "373.22 MB");
        assert_eq!(RowCount(960_000).to_string(), "960.00 thousand");
        assert_eq!(RowCount(7).to_string(), "7");
    }
}
