//! Compiled LIKE patterns and regular expressions, each compiled once per call.
//!
//! Invariant: `%`, `_` and `\` mean what they mean in ClickHouse; a dot matches a line end, as RE2 is set up there.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use model::ErrorCode;
use regex::{Regex, RegexBuilder};

use crate::error::FunctionError;

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

/// A pattern with another escape in the words of one whose escape is the backslash.
pub(super) fn with_backslashes(pattern: &str, escape: char) -> Result<String, FunctionError> {
    if escape == '\\' {
        return Ok(pattern.to_owned());
    }
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        let literal = match chars.clone().next() {
            _ if c != escape => None,
            Some(next) if next == escape || matches!(next, '%' | '_') => chars.next(),
            next => {
                let found = next.map_or_else(|| escape.to_string(), |next| format!("{escape}{next}"));
                let message = format!(
                    "invalid escape '{found}' in the LIKE pattern '{pattern}': behind '{escape}' stands '%', '_' or \
                     '{escape}'"
                );
                return Err(FunctionError::new(ErrorCode::CANNOT_PARSE_ESCAPE_SEQUENCE, message));
            }
        };
        match literal {
            Some(special @ ('%' | '_' | '\\')) => out.extend(['\\', special]),
            Some(other) => out.push(other),
            None if c == '\\' => out.push_str("\\\\"),
            None => out.push(c),
        }
    }
    Ok(out)
}

impl Like {
    pub(super) fn compile(pattern: &str, any_case: bool) -> Result<Like, FunctionError> {
        let open_escape = pattern.len() - pattern.trim_end_matches('\\').len();
        if open_escape % 2 == 1 {
            let message = format!("the LIKE pattern '{pattern}' ends with an escape of nothing");
            return Err(FunctionError::new(ErrorCode::CANNOT_PARSE_ESCAPE_SEQUENCE, message));
        }
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

/// The members of a class that a letter behind a backslash stands for, as RE2 has them: ASCII only.
fn members(letter: char) -> Option<(&'static str, bool)> {
    Some(match letter {
        'w' => ("0-9A-Za-z_", true),
        'W' => ("0-9A-Za-z_", false),
        'd' => ("0-9", true),
        'D' => ("0-9", false),
        's' => ("\\t\\n\\f\\r ", true),
        'S' => ("\\t\\n\\f\\r ", false),
        _ => return None,
    })
}

/// Whether a brace begins a count: `{2}`, `{2,}`, `{2,3}`.
fn is_count(rest: &str) -> bool {
    let Some((inside, _)) = rest.split_once('}') else { return false };
    let (low, high) = inside.split_once(',').unwrap_or((inside, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    !low.is_empty() && digits(low) && digits(high)
}

/// An expression of RE2 as one that means the same here: classes are of ASCII, a brace that counts nothing and brackets
/// in classes are themselves.
fn as_re2(expression: &str) -> String {
    let mut out = String::with_capacity(expression.len() + 16);
    let mut in_class = false;
    let mut chars = expression.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                let Some((_, letter)) = chars.next() else {
                    out.push('\\');
                    break;
                };
                match (members(letter), in_class) {
                    (Some((inside, true)), true) => out.push_str(inside),
                    (Some((inside, true)), false) => out.extend(["[", inside, "]"]),
                    (Some((inside, false)), _) => out.extend(["[^", inside, "]"]),
                    (None, false) if letter == 'b' => out.push_str("(?-u:\\b)"),
                    (None, _) => out.extend(['\\', letter]),
                }
            }
            '[' if !in_class => {
                in_class = true;
                out.push('[');
                if chars.next_if(|(_, next)| *next == '^').is_some() {
                    out.push('^');
                }
                // First in a class it is a member.
                if chars.next_if(|(_, next)| *next == ']').is_some() {
                    out.push_str("\\]");
                }
            }
            '[' if !expression[at + 1..].starts_with(':') => out.push_str("\\["),
            '[' => {
                let end = expression[at..].find(":]").map_or(at + 1, |end| at + end + 2);
                out.push_str(&expression[at..end]);
                while chars.next_if(|(next, _)| *next < end).is_some() {}
            }
            ']' => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => out.extend(['\\', c]),
            '{' if !in_class && !is_count(&expression[at + 1..]) => out.push_str("\\{"),
            other => out.push(other),
        }
    }
    out
}

/// Compiles a regular expression; error 427 names it.
pub(super) fn build(
    expression: &str,
    any_case: bool,
    dot_matches_line_end: bool,
) -> Result<Regex, FunctionError> {
    RegexBuilder::new(&as_re2(expression))
        .case_insensitive(any_case)
        .dot_matches_new_line(dot_matches_line_end)
        .build()
        .map_err(|_| {
            let message = format!("cannot compile the regular expression {expression}");
            FunctionError::new(ErrorCode::CANNOT_COMPILE_REGEXP, message)
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
    fn expressions_mean_what_they_mean_in_re2() {
        for (expression, text, expected) in [
            ("\\w", "é", false),
            ("^\\W$", "é", true),
            ("[\\w-]+", "a-b", true),
            ("^[^\\d]$", "x", true),
            ("\\d", "٣", false),
            ("^[\\s]$", " ", true),
            ("a{2}", "aa", true),
            ("^{}$", "{}", true),
            ("^{\"a", "{\"a\":1", true),
            ("^[[]$", "[", true),
            ("^[]a]+$", "a]", true),
            ("^[[:alpha:]]$", "b", true),
            ("\\bb\\b", "a b", true),
            ("a\\.b", "a.b", true),
            ("^[a&&b]$", "&", true),
        ] {
            assert_eq!(
                build(expression, false, true).unwrap().is_match(text),
                expected,
                "{expression} {text}"
            );
        }
        assert!(build("(", false, true).is_err());
    }

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
