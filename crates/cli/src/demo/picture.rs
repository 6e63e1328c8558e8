//! Parts of a table as a small picture: one bar a part, as long as the part is large.
//!
//! Pure: names, rows and bytes in, lines out.

use model::{ByteSize, RowCount};

use crate::progress::bar;
use crate::statistics::as_f64;

const BAR_WIDTH: usize = 32;
/// More parts than this are summed up in a last line.
const PARTS_SHOWN_MAX: usize = 12;

/// A part as the picture shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) rows: u64,
    pub(super) bytes: u64,
}

/// One line a part, the first ones first; all bars have the same scale.
pub(super) fn draw(parts: &[Bar]) -> Vec<String> {
    let largest = parts.iter().map(|part| part.bytes).max().unwrap_or(0).max(1);
    let name_width = parts.iter().map(|part| part.name.len()).max().unwrap_or(0);
    let mut lines: Vec<String> = parts
        .iter()
        .take(PARTS_SHOWN_MAX)
        .map(|part| {
            format!(
                "  {:name_width$} {} {:>10}, {} rows",
                part.name,
                bar(as_f64(part.bytes) / as_f64(largest), BAR_WIDTH),
                ByteSize(part.bytes).to_string(),
                RowCount(part.rows),
            )
        })
        .collect();
    if parts.len() > PARTS_SHOWN_MAX {
        let rest = &parts[PARTS_SHOWN_MAX..];
        let bytes = rest.iter().map(|part| part.bytes).sum();
        lines.push(format!("  and {} more parts, {}", rest.len(), ByteSize(bytes)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, bytes: u64) -> Bar {
        Bar { name: name.to_owned(), rows: bytes / 100, bytes }
    }

    #[test]
    fn bars_share_one_scale() {
        let lines = draw(&[part("2020_1_1_0", 4_000_000), part("2020_2_2_0", 1_000_000)]);
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].matches('█').count(), 32);
        assert_eq!(lines[1].matches('█').count(), 8);
        assert!(lines[0].ends_with("3.81 MiB, 40.00 thousand rows"), "{}", lines[0]);
    }

    #[test]
    fn many_parts_are_summed_up() {
        let parts: Vec<Bar> = (0..20).map(|n| part(&format!("p{n}"), 1024)).collect();
        let lines = draw(&parts);
        assert_eq!(lines.len(), 13);
        assert_eq!(lines[12], "  and 8 more parts, 8.00 KiB");
        assert!(draw(&[]).is_empty());
    }
}
