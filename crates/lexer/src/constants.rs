//! Long lists of plain constants behind IN: read from the text at once, and carried as text through all trees.
//!
//! A node for each of a million values costs hundreds of megabytes and most of a minute. Such a list becomes one literal of
//! its own kind, which `planner` reads straight into a set. Invariant: only whole numbers, texts without escapes, and
//! tuples of these are taken, of which the literal's text says all; positions of the other tokens stay those of the text.

use std::borrow::Cow;

use sqlparser::ast::{DollarQuotedString, Value};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::scan::{PieceKind, Scanner};

/// The tag of the literal that holds a list; nobody can write it.
const TAG: &str = "\u{1}constants";
/// Shorter lists are plans as always.
const ITEMS_MIN: usize = 512;
/// A shorter text has no list that long.
const TEXT_MIN: usize = 2 * ITEMS_MIN;

/// Text without its long lists, and the lists.
pub struct Cut<'a> {
    pub text: Cow<'a, str>,
    mark: String,
    lists: Vec<&'a str>,
}

/// Takes long lists out of a text. What stands in their place is as wide as they were.
pub fn cut(text: &str) -> Cut<'_> {
    if text.len() < TEXT_MIN {
        return uncut(text);
    }
    let mut scanner = Scanner::new(text, 0);
    let (mut out, mut copied, mut lists) = (String::new(), 0, vec![]);
    let mark = mark_for(text);
    let mut is_in = false;
    while let Some(piece) = scanner.next() {
        let was_in = std::mem::replace(
            &mut is_in,
            piece.kind == PieceKind::Word && text[piece.start..piece.end].eq_ignore_ascii_case("in"),
        );
        if !was_in || piece.kind != PieceKind::Symbol(b'(') {
            continue;
        }
        let Some(end) = list_end(text.as_bytes(), piece.end) else { continue };
        let list = &text[piece.end..end];
        out.push_str(&text[copied..piece.end]);
        let literal = format!("'{mark}{}'/*", lists.len());
        let width = literal.chars().count() + 2;
        // Lines that began where the literal stands now begin behind it.
        let mut lines = list.chars().take(width).filter(|character| *character == '\n').count();
        let blank = |character| match character {
            '\n' => '\n',
            _ if lines > 0 => {
                lines -= 1;
                '\n'
            }
            _ => ' ',
        };
        out.push_str(&literal);
        out.extend(list.chars().skip(width).map(blank));
        out.push_str("*/");
        lists.push(list);
        copied = end;
        scanner = Scanner::new(text, end);
    }
    if lists.is_empty() {
        return uncut(text);
    }
    out.push_str(&text[copied..]);
    Cut { text: Cow::Owned(out), mark, lists }
}

/// The text as it is.
pub fn uncut(text: &str) -> Cut<'_> {
    Cut { text: Cow::Borrowed(text), mark: String::new(), lists: vec![] }
}

/// Something that the text does not hold: the tag, with more of its first letter behind it than anywhere.
fn mark_for(text: &str) -> String {
    let more = |(at, _): (usize, &str)| {
        let behind = text.as_bytes()[at + TAG.len()..].iter();
        behind.take_while(|byte| **byte == 1).count() + 1
    };
    let more = text.match_indices(TAG).map(more).max().unwrap_or(0);
    format!("{TAG}{}", "\u{1}".repeat(more))
}

impl Cut<'_> {
    /// Puts the lists into the tokens that stand for them; false if one has none.
    pub fn restore(&self, tokens: &mut [TokenWithSpan]) -> bool {
        if self.lists.is_empty() {
            return true;
        }
        let mut restored = 0;
        for token in tokens {
            let Token::SingleQuotedString(text) = &token.token else { continue };
            let list = text.strip_prefix(&self.mark).and_then(|at| self.lists.get(at.parse::<usize>().ok()?));
            if let Some(list) = list {
                let (value, tag) = ((*list).to_owned(), Some(TAG.to_owned()));
                token.token = Token::DollarQuotedString(DollarQuotedString { value, tag });
                restored += 1;
            }
        }
        restored == self.lists.len()
    }
}

/// Where the list ends that starts here, if it is one of plain constants and long enough.
fn list_end(text: &[u8], from: usize) -> Option<usize> {
    let (mut at, mut items) = (from, 0);
    let end = loop {
        at = space(text, at);
        at = if text.get(at) == Some(&b'(') { tuple_end(text, at + 1)? } else { value_end(text, at)? };
        items += 1;
        at = space(text, at);
        match text.get(at)? {
            b',' => at += 1,
            b')' => break at,
            _ => return None,
        }
    };
    (items >= ITEMS_MIN).then_some(end)
}

fn tuple_end(text: &[u8], from: usize) -> Option<usize> {
    let (mut at, mut items) = (from, 0);
    loop {
        at = space(text, value_end(text, space(text, at))?);
        items += 1;
        match text.get(at)? {
            b',' => at += 1,
            b')' if items > 1 => return Some(at + 1),
            _ => return None,
        }
    }
}

fn space(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// A whole number of 64 bits, with a sign or without; or a text without quotes and backslashes in it.
fn value_end(text: &[u8], from: usize) -> Option<usize> {
    /// All numbers of so many digits fit.
    const DIGITS_SURE: usize = 18;
    if text.get(from) == Some(&b'\'') {
        let length = text[from + 1..].iter().position(|byte| matches!(byte, b'\'' | b'\\'))?;
        let end = from + 1 + length;
        return (text[end] == b'\'' && text.get(end + 1) != Some(&b'\'')).then_some(end + 1);
    }
    let first = from + usize::from(text.get(from) == Some(&b'-'));
    let digits = text[first.min(text.len())..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let end = first + digits;
    let fits = || std::str::from_utf8(&text[from..end]).is_ok_and(|written| whole(written).is_some());
    let is_number = digits > 0 && (digits <= DIGITS_SURE || fits()) && (digits == 1 || text[first] != b'0');
    // `1.5`, `1e3` and names that begin with digits are none.
    let ends = !text.get(end).is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_'));
    (is_number && ends).then_some(end)
}

/// The list that a literal holds.
pub fn list_of(value: &Value) -> Option<&str> {
    match value {
        Value::DollarQuotedString(DollarQuotedString { value, tag: Some(tag) }) if tag == TAG => Some(value),
        _ => None,
    }
}

/// A constant of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Constant<'a> {
    /// Of 64 bits, with a sign or without.
    Number(i128),
    Text(&'a str),
}

/// A number that has a type of 64 bits.
fn whole(written: &str) -> Option<i128> {
    let number = written.parse().ok()?;
    (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&number).then_some(number)
}

/// The rows of a list: one constant, or those of a tuple.
pub struct Rows<'a> {
    text: &'a str,
    at: usize,
}

/// The rows of a list, as [`list_of`] gives it.
pub fn rows(list: &str) -> Rows<'_> {
    Rows { text: list, at: 0 }
}

impl<'a> Rows<'a> {
    fn value(&mut self) -> Option<Constant<'a>> {
        let start = space(self.text.as_bytes(), self.at);
        let end = value_end(self.text.as_bytes(), start)?;
        self.at = space(self.text.as_bytes(), end);
        let written = &self.text[start..end];
        Some(match written.strip_prefix('\'') {
            Some(rest) => Constant::Text(rest.strip_suffix('\'').unwrap_or(rest)),
            None => Constant::Number(whole(written)?),
        })
    }

    /// Reads the next row into `row`; false behind the last.
    pub fn next_into(&mut self, row: &mut Vec<Constant<'a>>) -> bool {
        row.clear();
        let bytes = self.text.as_bytes();
        self.at = space(bytes, self.at);
        let is_tuple = bytes.get(self.at) == Some(&b'(');
        self.at += usize::from(is_tuple);
        while let Some(value) = self.value() {
            row.push(value);
            if !is_tuple || bytes.get(self.at) != Some(&b',') {
                break;
            }
            self.at += 1;
        }
        if is_tuple {
            self.at = space(bytes, self.at + 1);
        }
        // The comma behind the row.
        self.at += 1;
        !row.is_empty()
    }
}

/// The list as ClickHouse prints it.
pub fn shown(list: &str) -> String {
    let (mut rows, mut row, mut out) = (rows(list), Vec::new(), String::new());
    while rows.next_into(&mut row) {
        if !out.is_empty() {
            out.push_str(", ");
        }
        let values: Vec<String> = row
            .iter()
            .map(|value| match value {
                Constant::Number(number) => number.to_string(),
                Constant::Text(text) => crate::escape::quote_text(text),
            })
            .collect();
        match values.as_slice() {
            [one] => out.push_str(one),
            several => out.push_str(&format!("({})", several.join(", "))),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(item: &str) -> String {
        vec![item; ITEMS_MIN].join(",\n ")
    }

    #[test]
    fn long_lists_of_plain_constants_are_taken_and_nothing_moves() {
        for item in [
            "17",
            "-3",
            "18446744073709551615",
            "-9223372036854775808",
            "'a b'",
            "( 1, 'x')",
            "(1,2,3)",
            "'ä'",
        ] {
            let text = format!("SELECT 1 FROM t WHERE a NOT in ( {}) AND 'b' = c", list(item));
            let cut = cut(&text);
            assert_eq!(cut.lists.len(), 1, "{item}");
            assert_eq!(cut.text.chars().count(), text.chars().count());
            assert_eq!(cut.text.lines().count(), text.lines().count());
            assert!(cut.text.ends_with("*/) AND 'b' = c"), "{item}");
            let mut read = rows(cut.lists[0]);
            let (mut row, mut count) = (vec![], 0);
            while read.next_into(&mut row) {
                count += 1;
            }
            assert_eq!(count, ITEMS_MIN, "{item}");
        }
    }

    #[test]
    fn what_is_no_plain_constant_stays() {
        for item in [
            "1.5",
            "1e3",
            "1 + 1",
            "'a''b'",
            "'a\\n'",
            "NULL",
            "x",
            "(1)",
            "007",
            "18446744073709551616",
            "-9223372036854775809",
        ] {
            let text = format!("SELECT 1 IN ({})", list(item));
            assert!(cut(&text).lists.is_empty(), "{item}");
        }
        assert!(cut(&format!("SELECT f({})", list("1"))).lists.is_empty());
        assert!(cut("SELECT 1 IN (1, 2)").lists.is_empty());
    }

    #[test]
    fn a_list_in_a_text_stays_and_its_marks_cost_nothing() {
        let text = format!("SELECT $$x IN ({})$$, $a$ y IN ({}) $a$", list("1"), list("'b'"));
        assert!(cut(&text).lists.is_empty());
        let text = format!("SELECT '{TAG}{}' IN ({})", "\u{1}".repeat(1 << 20), list("1"));
        assert_eq!((cut(&text).lists.len(), cut(&text).mark.len()), (1, TAG.len() + (1 << 20) + 1));
    }

    #[test]
    fn rows_are_read_and_shown() {
        assert_eq!(shown("1,-2 ,'a'"), "1, -2, 'a'");
        assert_eq!(shown("(1,'a'), (2 , 'b')"), "(1, 'a'), (2, 'b')");
    }
}
