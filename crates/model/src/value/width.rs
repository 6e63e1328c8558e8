//! How many terminal columns a text takes.

use unicode_width::UnicodeWidthChar;

const TAB_STOP: usize = 8;

/// Columns of a character. Emoji as old as Unicode 8 take one in ClickHouse's tables.
fn char_width(c: char) -> usize {
    match u32::from(c) {
        0x1f23b | 0x1f260..=0x1f265 | 0x1f57a | 0x1f5a4 => 2,
        0x1f004..=0x1f6d0 | 0x1f6eb | 0x1f6ec | 0x1f910..=0x1f918 | 0x1f980..=0x1f984 | 0x1f9c0 => {
            c.width().unwrap_or(0).min(1)
        }
        // Bytes that are no character, as `raw_text` carries them.
        0x10_fe80..=0x10_feff => 0,
        _ => c.width().unwrap_or(0),
    }
}

/// Columns of one line of text that starts at column `start`; a tab goes to the next multiple of eight.
pub fn display_width(text: &str, start: usize) -> usize {
    let mut at = start;
    for c in text.chars() {
        at += match c {
            '\t' => TAB_STOP - at % TAB_STOP,
            other => char_width(other),
        };
    }
    at - start
}

/// The longest start of `text` that takes at most `width_max` columns.
pub fn cut(text: &str, start: usize, width_max: usize) -> &str {
    let mut at = start;
    for (offset, c) in text.char_indices() {
        at += match c {
            '\t' => TAB_STOP - at % TAB_STOP,
            other => char_width(other),
        };
        if at - start > width_max {
            return &text[..offset];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_a_terminal() {
        assert_eq!(display_width("日本語 é", 0), 8);
        assert_eq!(display_width("é😀✅", 0), 4);
        assert_eq!(display_width("tab\there", 24), 12);
        assert_eq!(display_width("a\tb", 5), 4);
        assert_eq!(display_width("\0\u{8}\u{10feff}", 0), 0);
        assert_eq!(cut("日本語", 0, 5), "日本");
    }
}
