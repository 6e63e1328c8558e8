//! Compiled LIKE patterns and regular expressions, each compiled once per call.
//!
//! Invariant: `%`, `_` and `\` mean what they mean in ClickHouse; a dot matches a line end, as RE2 is set up there.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use model::ErrorCode;
use regex::{Regex, RegexBuilder};

use crate::error::FunctionError;

/// Patterns kept per call; a column with more is compiled row by row.
const PATTERNS_MAX: usize = 64;

/// Bytes of a LIKE pattern that may become a regular expression, which takes a thousand times their memory.
const EXPRESSION_BYTES_MAX: usize = 1024;

/// A LIKE pattern, as plain a search as it allows.
pub(super) enum Like {
    Exact(String),
    Prefix(String),
    Suffix(String),
    Contains(String),
    Parts(Parts),
    Regex(Regex),
}

/// What stands between the `%` of a long pattern, found one behind the other.
pub(super) struct Parts {
    start: String,
    middle: Vec<String>,
    /// None is a pattern without any `%`.
    end: Option<String>,
    any_case: bool,
}

impl Parts {
    /// None where a `_` stands for any character.
    fn of(pattern: &str, any_case: bool) -> Option<Parts> {
        let mut parts = vec![String::new()];
        let mut chars = pattern.chars().peekable();
        while let Some(c) = chars.next() {
            let literal = match c {
                '_' => return None,
                '%' => {
                    parts.push(String::new());
                    continue;
                }
                '\\' => chars.next_if(|next| matches!(next, '%' | '_' | '\\')).unwrap_or(c),
                _ => c,
            };
            parts.last_mut()?.push(if any_case { folded(literal) } else { literal });
        }
        let end = if parts.len() > 1 { parts.pop() } else { None };
        let mut parts = parts.into_iter();
        Some(Parts { start: parts.next()?, middle: parts.collect(), end, any_case })
    }

    fn matches(&self, text: &str) -> bool {
        let text = match self.any_case {
            true => Cow::Owned(text.chars().map(folded).collect::<String>()),
            false => Cow::Borrowed(text),
        };
        let Some(mut rest) = text.strip_prefix(self.start.as_str()) else { return false };
        for part in &self.middle {
            let Some((_, behind)) = rest.split_once(part.as_str()) else { return false };
            rest = behind;
        }
        self.end.as_ref().map_or(rest.is_empty(), |end| rest.ends_with(end.as_str()))
    }
}

/// One character for all that differ in case alone, where it is one character.
fn folded(c: char) -> char {
    let mut upper = c.to_uppercase();
    let upper = if upper.len() == 1 { upper.next().unwrap_or(c) } else { c };
    let mut lower = upper.to_lowercase();
    if lower.len() == 1 { lower.next().unwrap_or(upper) } else { upper }
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
        if pattern.len() > EXPRESSION_BYTES_MAX
            && let Some(parts) = Parts::of(pattern, any_case)
        {
            return Ok(Like::Parts(parts));
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
            Like::Parts(parts) => parts.matches(text),
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

    /// However long a pattern is, it says what the same one says as a regular expression.
    #[test]
    fn long_patterns_of_like_are_parts_of_a_text() {
        let all = [
            "", "a", "ab%", "%ab", "%b%", "a%c", "a%b%c", "%%a%%", "\\%a%", "\\\\%", "%a\\b%", "aa%aa", "%ö%",
        ];
        for (pattern, any_case) in all.iter().flat_map(|pattern| [(pattern, false), (pattern, true)]) {
            let Ok(expression) = Like::compile(pattern, any_case) else { continue };
            let parts = Parts::of(pattern, any_case).unwrap();
            for text in [
                "", "a", "A", "ab", "aB", "abc", "axbxc", "aaa", "aaaa", "%a", "\\", "\\x", "a\\b", "xÖx",
                "xöx", "cba",
            ] {
                assert_eq!(parts.matches(text), expression.matches(text), "{pattern} {any_case} {text}");
            }
        }
        let long = Like::compile(&"%a".repeat(20_000), false).unwrap();
        assert!(matches!(long, Like::Parts(_)));
        assert!(long.matches(&"a".repeat(20_000)) && !long.matches(&"a".repeat(19_999)));
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
