//! Compiled LIKE patterns and regular expressions, each compiled once per call.
//!
//! Invariant: `%`, `_` and `\` mean what they mean in ClickHouse; a dot matches a line end, as RE2 is set up there.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use regex::{Regex, RegexBuilder};

use crate::error::{FunctionError, codes};

/// Patterns kept per call; a column with more is compiled row by row.
const PATTERNS_MAX: usize = 64;

/// A LIKE pattern, as plain a search as it allows.
pub(super) enum Like {
    Exact(String),
    Prefix(String),
    Suffix(String),
    Contains(String),
    Regex(Regex),
}

impl Like {
    pub(super) fn compile(pattern: &str, any_case: bool) -> Result<Like, FunctionError> {
        let plain = |text: &str| !text.contains(['%', '_', '\\']);
        let inner = pattern.trim_matches('%');
        if !any_case && plain(inner) && !pattern.is_empty() {
            let open_start = pattern.starts_with('%');
            let open_end = pattern.ends_with('%');
            let inner = inner.to_owned();
            return Ok(match (open_start, open_end) {
                (false, false) => Like::Exact(inner),
                (false, true) => Like::Prefix(inner),
                (true, false) => Like::Suffix(inner),
                (true, true) => Like::Contains(inner),
            });
        }
        let mut expression = String::from("^");
        let mut chars = pattern.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '%' => expression.push_str(".*"),
                '_' => expression.push('.'),
                // An escape stands for its character; before others the backslash is itself.
                '\\' if chars.peek().is_some_and(|next| matches!(next, '%' | '_' | '\\')) => {
                    push_literal(chars.next().unwrap_or('\\'), &mut expression);
                }
                other => push_literal(other, &mut expression),
            }
        }
        expression.push('$');
        Ok(Like::Regex(build(&expression, any_case, true)?))
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        match self {
            Like::Exact(other) => text == other,
            Like::Prefix(prefix) => text.starts_with(prefix.as_str()),
            Like::Suffix(suffix) => text.ends_with(suffix.as_str()),
            Like::Contains(part) => text.contains(part.as_str()),
            Like::Regex(regex) => regex.is_match(text),
        }
    }
}

fn push_literal(c: char, out: &mut String) {
    let mut buffer = [0; 4];
    out.push_str(&regex::escape(c.encode_utf8(&mut buffer)));
}

/// Compiles a regular expression; error 427 names it.
pub(super) fn build(
    expression: &str,
    any_case: bool,
    dot_matches_line_end: bool,
) -> Result<Regex, FunctionError> {
    RegexBuilder::new(expression)
        .case_insensitive(any_case)
        .dot_matches_new_line(dot_matches_line_end)
        .build()
        .map_err(|_| {
            let message = format!("cannot compile the regular expression {expression}");
            FunctionError::new(codes::CANNOT_COMPILE_REGEXP, message)
        })
}

/// Remembers what was compiled during a call.
pub(super) struct Compiled<T> {
    known: RefCell<HashMap<String, Rc<T>>>,
    compile: fn(&str) -> Result<T, FunctionError>,
}

impl<T> Compiled<T> {
    pub(super) fn new(compile: fn(&str) -> Result<T, FunctionError>) -> Self {
        Self { known: RefCell::new(HashMap::new()), compile }
    }

    pub(super) fn get(&self, pattern: &str) -> Result<Rc<T>, FunctionError> {
        if let Some(found) = self.known.borrow().get(pattern) {
            return Ok(Rc::clone(found));
        }
        let made = Rc::new((self.compile)(pattern)?);
        let mut known = self.known.borrow_mut();
        if known.len() < PATTERNS_MAX {
            known.insert(pattern.to_owned(), Rc::clone(&made));
        }
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_patterns() {
        for (pattern, text, expected) in [
            ("a%", "abc", true),
            ("%c", "abc", true),
            ("%b%", "abc", true),
            ("abc", "abc", true),
            ("a_c", "abc", true),
            ("a_c", "ac", false),
            ("%", "", true),
            ("", "", true),
            ("", "a", false),
            ("a\\%", "a%", true),
            ("a\\%", "ab", false),
            ("%a\nb%", "xa\nby", true),
            ("a%c", "a\nc", true),
            ("a.c", "abc", false),
        ] {
            assert_eq!(Like::compile(pattern, false).unwrap().matches(text), expected, "{pattern} {text}");
        }
        assert!(Like::compile("A%", true).unwrap().matches("abc"));
    }
}
