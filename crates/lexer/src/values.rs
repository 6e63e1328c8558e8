//! The text behind VALUES, cut into rows and values.
//!
//! Invariant: a parenthesis, bracket or comma inside quotes or comments cuts nothing; what is cut are parts of the text
//! itself, so that a row can be shown as it was written. Must not know: types, or what the values mean.

use std::ops::Range;

/// The bytes of a text that are syntax, each with its place: comments are passed over, a quoted text is its first quote.
struct Syntax<'a> {
    text: &'a [u8],
    at: usize,
    /// Where a comment begins that the text does not end.
    comment: Option<usize>,
}

impl<'a> Syntax<'a> {
    fn of(text: &'a [u8]) -> Self {
        Self { text, at: 0, comment: None }
    }

    /// Behind the mark that ends the comment at `start`.
    fn behind_comment(&mut self, start: usize, mark: &[u8]) -> usize {
        // The first mark of `/*/` does not end it.
        let from = (start + 2).min(self.text.len());
        match self.text[from..].windows(mark.len()).position(|window| window == mark) {
            Some(at) => from + at + mark.len(),
            None => {
                self.comment = Some(start);
                self.text.len()
            }
        }
    }
}

impl Iterator for Syntax<'_> {
    type Item = (usize, u8);

    fn next(&mut self) -> Option<(usize, u8)> {
        loop {
            let at = self.at;
            let byte = *self.text.get(at)?;
            let next = self.text.get(at + 1);
            self.at = match byte {
                b'\'' | b'"' | b'`' => {
                    self.at = quoted_end(self.text, at);
                    return Some((at, byte));
                }
                b'-' if next == Some(&b'-') => self.behind_comment(at, b"\n"),
                b'/' if next == Some(&b'*') => self.behind_comment(at, b"*/"),
                _ => {
                    self.at += 1;
                    return Some((at, byte));
                }
            };
        }
    }
}

/// Behind the quote that closes the one at `start`; the end of the text when none does.
pub fn quoted_end(text: &[u8], start: usize) -> usize {
    let quote = text[start];
    let mut at = start + 1;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 2,
            byte if byte == quote && text.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// The rows of a text, each with its parentheses.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct Rows {
    pub complete: Vec<Range<usize>>,
    /// Where something stands that belongs to no row, or to one that is not complete.
    pub rest: Option<usize>,
    /// Where a comment begins that is not complete.
    pub comment: Option<usize>,
}

impl Rows {
    /// Up to where more text changes nothing; `None` if what comes next cannot become a row.
    pub fn decided(&self, text: &[u8]) -> Option<usize> {
        match (self.rest, self.comment) {
            // The second byte of a mark of comments may be still to come.
            (Some(at), _) if matches!(&text[at..], [b'(', ..] | [b'-' | b'/']) => Some(at),
            (Some(_), _) => None,
            (None, Some(at)) => Some(at),
            (None, None) => Some(text.len()),
        }
    }
}

pub fn rows(text: &[u8]) -> Rows {
    let (mut rows, mut depth, mut start) = (Rows::default(), 0_usize, 0);
    let mut syntax = Syntax::of(text);
    for (at, byte) in syntax.by_ref() {
        match byte {
            b'(' if depth == 0 => (depth, start) = (1, at),
            b',' | b';' if depth == 0 => {}
            _ if depth == 0 && byte.is_ascii_whitespace() => {}
            _ if depth == 0 => return Rows { rest: Some(at), ..rows },
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth -= 1;
                if depth == 0 {
                    rows.complete.push(start..at + 1);
                }
            }
            _ => {}
        }
    }
    rows.rest = (depth > 0).then_some(start);
    rows.comment = syntax.comment;
    rows
}

/// The values of one row, without space around them.
pub fn values(row: &str) -> Vec<&str> {
    let inside = row.trim();
    let inside = inside.strip_prefix('(').unwrap_or(inside);
    let inside = inside.strip_suffix(')').unwrap_or(inside);
    let (mut values, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, byte) in Syntax::of(inside.as_bytes()) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                values.push(inside[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = inside[start..].trim();
    // A comma may stand behind the last value.
    if !last.is_empty() {
        values.push(last);
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_values_are_cut_at_what_is_no_text() {
        type Case = (&'static str, &'static [&'static [&'static str]], Option<usize>);
        let cases: [Case; 12] = [
            (" ", &[], None),
            ("(1, ')'), ([2], f(3)) , ('a''(')", &[&["1", "')'"], &["[2]", "f(3)"], &["'a''('"]], None),
            ("(1,(2,3),[4,5],{'a':6,'b':7})", &[&["1", "(2,3)", "[4,5]", "{'a':6,'b':7}"]], None),
            ("(1 /* ,2) */, 3) -- (4)\n(5);", &[&["1 /* ,2) */", "3"], &["5"]], None),
            (r"('it\'s, (', 1)", &[&[r"'it\'s, ('", "1"]], None),
            ("(1, 2, )", &[&["1", "2"]], None),
            ("(`a,b`, \"c)\")", &[&["`a,b`", "\"c)\""]], None),
            ("(1), (2, 'cut", &[&["1"]], Some(5)),
            ("(1) x (2)", &[&["1"]], Some(4)),
            ("(1), 'x'", &[&["1"]], Some(5)),
            ("[1], (2)", &[], Some(0)),
            (")", &[], Some(0)),
        ];
        for (text, expected, rest) in cases {
            let rows = rows(text.as_bytes());
            let found: Vec<_> = rows.complete.into_iter().map(|row| values(&text[row])).collect();
            assert_eq!(
                (found, rows.rest),
                (expected.iter().map(|row| row.to_vec()).collect(), rest),
                "{text}"
            );
        }
    }

    #[test]
    fn what_more_text_may_change_is_not_decided() {
        for (text, decided) in [
            ("", Some(0)),
            (" ,; ", Some(4)),
            ("(1), (2", Some(5)),
            ("(1) -", Some(4)),
            ("(1) /", Some(4)),
            ("(1) -- x", Some(4)),
            ("(1) -- x\n", Some(9)),
            ("(1) /*/", Some(4)),
            ("(1) /* x */ ", Some(12)),
            ("(1) x", None),
            ("(1) -x", None),
            ("'x", None),
        ] {
            assert_eq!(rows(text.as_bytes()).decided(text.as_bytes()), decided, "{text}");
        }
    }

    #[test]
    fn a_text_that_ends_anywhere_is_no_trouble() {
        let text = "(1, 'a\\'(', [2, 3]) -- x\n, /* y */ ({'k': f(1)}, `q`)";
        for end in 0..=text.len() {
            let cut = &text[..end];
            for row in rows(cut.as_bytes()).complete {
                assert!(!values(&cut[row]).is_empty(), "{cut}");
            }
        }
    }
}
