//! Colours of a statement while it is typed: keywords, texts, numbers, comments.
//!
//! Invariant: only colours are added, so that what is shown is what was typed. Must not know: what a statement means.

const KEYWORD: &str = "\x1b[1;34m";
const TEXT: &str = "\x1b[32m";
const NUMBER: &str = "\x1b[36m";
const COMMENT: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

/// The text in colours. `is_keyword` is asked of each word.
pub(super) fn coloured(text: &str, is_keyword: impl Fn(&str) -> bool) -> String {
    let mut shown = String::with_capacity(text.len() * 2);
    let mut rest = text;
    while !rest.is_empty() {
        let (length, colour) = piece(rest, &is_keyword);
        let (piece, behind) = rest.split_at(length);
        match colour {
            Some(colour) => shown.extend([colour, piece, PLAIN]),
            None => shown.push_str(piece),
        }
        rest = behind;
    }
    shown
}

/// How long the first piece of a text is, in bytes, and its colour.
fn piece(text: &str, is_keyword: &impl Fn(&str) -> bool) -> (usize, Option<&'static str>) {
    let until =
        |end: &str, from: usize| text[from..].find(end).map_or(text.len(), |at| from + at + end.len());
    let while_it = |fits: fn(char) -> bool| text.find(|c| !fits(c)).unwrap_or(text.len());
    let Some(first) = text.chars().next() else { return (0, None) };
    match first {
        '-' if text.starts_with("--") => (until("\n", 2), Some(COMMENT)),
        '/' if text.starts_with("/*") => (until("*/", 2), Some(COMMENT)),
        '\'' => (quoted(text, '\''), Some(TEXT)),
        '"' | '`' => (quoted(text, first), None),
        '0'..='9' => (while_it(|c| c.is_alphanumeric() || c == '.'), Some(NUMBER)),
        c if c.is_alphabetic() || c == '_' => {
            let length = while_it(|c| c.is_alphanumeric() || c == '_');
            (length, is_keyword(&text[..length]).then_some(KEYWORD))
        }
        other => (other.len_utf8(), None),
    }
}

/// The length of what begins with a quote; to the end where it is open still.
fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str) -> String {
        let shown = coloured(text, |word| word.eq_ignore_ascii_case("select"));
        [(KEYWORD, "<k>"), (TEXT, "<t>"), (NUMBER, "<n>"), (COMMENT, "<c>"), (PLAIN, "</>")]
            .iter()
            .fold(shown, |shown, (colour, name)| shown.replace(colour, name))
    }

    #[test]
    fn pieces_have_their_colours() {
        for (text, shown) in [
            ("select a1, 'it\\'s' x", "<k>select</> a1, <t>'it\\'s'</> x"),
            ("SELECT 1.5e3 -- no 'end", "<k>SELECT</> <n>1.5e3</> <c>-- no 'end</>"),
            ("`select` /* 1 */é 'open", "`select` <c>/* 1 */</>é <t>'open</>"),
            ("", ""),
        ] {
            assert_eq!(marked(text), shown, "{text}");
        }
    }
}
