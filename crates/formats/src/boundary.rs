//! Where records end, for cutting a file into ranges that can be read on their own.
//!
//! Invariant: a cut is a position at which a reader started with `ReaderStart::Middle` sees whole records only.

use crate::kind::FormatKind;
use crate::reader::is_csv;
use crate::scan::{ItemEnd, find_any, string_end};

/// Whether a line end is always a record end, so that a cut may be found from anywhere in the file.
pub fn lines_are_records(kind: FormatKind) -> bool {
    use FormatKind as F;
    matches!(
        kind,
        F::TabSeparated
            | F::TabSeparatedWithNames
            | F::TabSeparatedWithNamesAndTypes
            | F::TabSeparatedRaw
            | F::TabSeparatedRawWithNames
            | F::TabSeparatedRawWithNamesAndTypes
            | F::LineAsString
    )
}

/// End of the last complete record in `bytes`, which begin at a record; `None` when no record ends in them or the
/// format cannot be cut. For JSONEachRow a record ends at a line end outside of objects.
pub fn record_boundary(kind: FormatKind, bytes: &[u8]) -> Option<usize> {
    if lines_are_records(kind) {
        return bytes.iter().rposition(|b| *b == b'\n').map(|at| at + 1);
    }
    if is_csv(kind) {
        return csv_boundary(bytes);
    }
    (kind == FormatKind::JsonEachRow || kind == FormatKind::JsonCompactEachRow)
        .then(|| json_boundary(bytes))?
}

fn csv_boundary(bytes: &[u8]) -> Option<usize> {
    let (mut at, mut boundary, mut quoted) = (0, None, false);
    while let Some(offset) = find_any(&bytes[at..], [b'"', b'\n']) {
        at += offset;
        // Doubled quotes toggle twice; a quote inside a bare cell is no CSV that can be cut without reading it.
        if bytes[at] == b'"' {
            quoted = !quoted;
        } else if !quoted {
            boundary = Some(at + 1);
        }
        at += 1;
    }
    boundary
}

fn json_boundary(bytes: &[u8]) -> Option<usize> {
    let (mut at, mut boundary, mut depth) = (0, None, 0_u64);
    while let Some(offset) = find_any(&bytes[at..], [b'"', b'\n', b'{', b'}', b'[', b']']) {
        at += offset;
        match bytes[at] {
            b'"' => match string_end(bytes, at, b'"', false) {
                ItemEnd::At(end) => {
                    at = end;
                    continue;
                }
                ItemEnd::Open => return boundary,
            },
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ if depth == 0 => boundary = Some(at + 1),
            _ => {}
        }
        at += 1;
    }
    boundary
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_fall_between_records() {
        for (kind, text, cut) in [
            (FormatKind::Csv, "1,a\n2,\"x\ny\"\n3,\"z\n", Some(12)),
            (FormatKind::Csv, "\"a\"\"\n\",1", None),
            (FormatKind::TabSeparated, "1\t2\n3\t4", Some(4)),
            (FormatKind::JsonEachRow, "{\"a\":\"}\\\"\n\"}\n{\"a\":{\n}}\n{", Some(23)),
            (FormatKind::Values, "(1)\n(2)", None),
        ] {
            assert_eq!(record_boundary(kind, text.as_bytes()), cut, "{text}");
        }
    }
}
