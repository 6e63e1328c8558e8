//! Keys with values in a text: `a:1, b:"x y"`.
//!
//! Invariant: what is no pair is passed over, and never an error; a key that comes twice is there twice. Must not know: what values
//! mean.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewBuilder};
use model::ColumnType;

use crate::columns::container::{map_of, offsets_of};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::constant_text;

/// Most pairs of one text, as in ClickHouse (`extract_key_value_pairs_max_pairs_per_row`).
const PAIRS_MAX: usize = 1000;

/// What a quote within a word that started without one means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stray {
    /// The word is none.
    Invalid,
    /// It is one of its characters.
    Accept,
    /// The word starts there.
    Promote,
}

/// By what a text is read.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Marks {
    between: char,
    pairs: String,
    quote: char,
    stray: Stray,
    escapes: bool,
}

/// How a word without quotes ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Between,
    Pair,
    Quote,
    Text,
}

struct Reader<'a> {
    rest: &'a str,
    marks: &'a Marks,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn takes(&mut self, mark: char) -> bool {
        let rest = self.rest.strip_prefix(mark);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Up to what ends a word; a value may hold what stands between it and its key.
    fn word(&mut self, is_key: bool, out: &mut String) -> End {
        out.clear();
        while let Some(c) = self.next() {
            match c {
                c if is_key && c == self.marks.between => return End::Between,
                c if self.marks.pairs.contains(c) => return End::Pair,
                c if c == self.marks.quote && self.marks.stray != Stray::Accept => return End::Quote,
                '\\' if self.marks.escapes => self.escaped(out),
                c => out.push(c),
            }
        }
        End::Text
    }

    /// Up to the closing quote, if there is one.
    fn quoted(&mut self, out: &mut String) -> bool {
        out.clear();
        while let Some(c) = self.next() {
            match c {
                c if c == self.marks.quote => return true,
                '\\' if self.marks.escapes => self.escaped(out),
                c => out.push(c),
            }
        }
        false
    }

    /// What stands behind a backslash.
    fn escaped(&mut self, out: &mut String) {
        let Some(c) = self.next() else {
            out.push('\\');
            return;
        };
        match c {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'v' => out.push('\u{b}'),
            'a' => out.push('\u{7}'),
            'e' => out.push('\u{1b}'),
            '0' => out.push('\0'),
            '\\' | '\'' | '"' | '`' | '/' | '=' => out.push(c),
            other => out.extend(['\\', other]),
        }
    }

    /// The next key and its value.
    fn pair(&mut self, key: &mut String, value: &mut String) -> bool {
        while self.key(key) {
            if self.takes(self.marks.quote) {
                return self.quoted(value);
            }
            match self.word(false, value) {
                End::Quote if self.marks.stray == Stray::Promote => return self.quoted(value),
                End::Quote => {}
                End::Between | End::Pair | End::Text => return true,
            }
        }
        false
    }

    /// The next key, up to behind what stands between it and its value.
    fn key(&mut self, key: &mut String) -> bool {
        loop {
            self.rest = self.rest.trim_start_matches(|c: char| self.marks.pairs.contains(c));
            let mut is_quoted = self.takes(self.marks.quote);
            if !is_quoted {
                match self.word(true, key) {
                    End::Text => return false,
                    End::Quote => is_quoted = self.marks.stray == Stray::Promote,
                    End::Between if !key.is_empty() => return true,
                    End::Between | End::Pair => {}
                }
            }
            if is_quoted {
                if !self.quoted(key) {
                    return false;
                }
                if !key.is_empty() && self.takes(self.marks.between) {
                    return true;
                }
            }
        }
    }
}

fn marks(args: &[ArgType], escapes: bool) -> Result<Marks, FunctionError> {
    let wrong = |message: &str| FunctionError::bad_argument(message);
    let one = |index: usize, default: char| {
        let written = constant_text(args, index).unwrap_or_default();
        let mut chars = written.chars();
        match (chars.next(), chars.next()) {
            (None, _) => Ok(default),
            (Some(mark), None) => Ok(mark),
            _ => Err(wrong("a mark between keys, values and pairs is one character or empty")),
        }
    };
    let pairs = constant_text(args, 2).filter(|pairs| !pairs.is_empty()).unwrap_or_else(|| " ,;".to_owned());
    let stray = match constant_text(args, 4).unwrap_or_default().to_ascii_uppercase().as_str() {
        "" | "PROMOTE" => Stray::Promote,
        "INVALID" => Stray::Invalid,
        "ACCEPT" => Stray::Accept,
        _ => return Err(wrong("a quote within a word is INVALID, ACCEPT or PROMOTE")),
    };
    let marks = Marks { between: one(1, ':')?, pairs, quote: one(3, '"')?, stray, escapes };
    if marks.between == marks.quote || marks.pairs.contains([marks.between, marks.quote]) {
        return Err(wrong("the marks between keys, values and pairs and the quote differ from each other"));
    }
    Ok(marks)
}

fn result() -> ColumnType {
    ColumnType::Map(Box::new(ColumnType::String), Box::new(ColumnType::String))
}

fn rule(
    name: &'static str,
    escapes: bool,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        if let Some(arg) = args.iter().find(|arg| !arg.column_type.is_string()) {
            return Err(FunctionError::illegal_type(&arg.column_type, name));
        }
        // What is not a constant yet may be one once it is computed.
        if args.iter().skip(1).all(|arg| arg.constant.is_some()) {
            marks(args, escapes)?;
        }
        Ok(result())
    }
}

fn pairs_of(call: &Call<'_>, escapes: bool) -> Result<ArrayRef, FunctionError> {
    if call.args.iter().skip(1).any(|arg| !arg.is_constant) {
        return Err(FunctionError::bad_argument("the marks between keys, values and pairs are constants"));
    }
    let (texts, marks) = (call.texts(0)?, marks(&call.types(), escapes)?);
    let (mut keys, mut values) = (StringViewBuilder::new(), StringViewBuilder::new());
    let (mut key, mut value) = (String::new(), String::new());
    let mut lengths = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let mut count = 0;
        let mut reader = Reader { rest: if call.is_null(row) { "" } else { texts.get(row) }, marks: &marks };
        while count < PAIRS_MAX && reader.pair(&mut key, &mut value) {
            call.reserve(key.len() + value.len() + 32)?;
            keys.append_value(&key);
            values.append_value(&value);
            count += 1;
        }
        lengths.push(count);
    }
    let (keys, values): (ArrayRef, ArrayRef) = (Arc::new(keys.finish()), Arc::new(values.finish()));
    Ok(map_of(&ColumnType::String, &ColumnType::String, offsets_of(lengths), keys, values, None)?)
}

fn function(name: &'static str, escapes: bool) -> ScalarFunction {
    ScalarFunction::new(name, 1..=5, rule(name, escapes), move |call| pairs_of(call, escapes))
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![
        function("extractKeyValuePairs", false).aliases(&["str_to_map", "mapFromString"]).doc(
            "extractKeyValuePairs(text[, between[, pairs[, quote[, stray]]]])",
            "The keys with their values in a text: between a key and its value stands ':', between pairs one of ' ,;'.",
            "extractKeyValuePairs('a:1, b:\"x y\"') -> {'a':'1','b':'x y'}",
        ),
        function("extractKeyValuePairsWithEscaping", true).doc(
            "extractKeyValuePairsWithEscaping(text[, between[, pairs[, quote[, stray]]]])",
            "As extractKeyValuePairs, with \\n and its kin in words.",
            "extractKeyValuePairsWithEscaping('a:1') -> {'a':'1'}",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_pair_is_passed_over() {
        let marks = Marks {
            between: ':',
            pairs: " ,;".to_owned(),
            quote: '"',
            stray: Stray::Promote,
            escapes: false,
        };
        let read = |text: &str| {
            let (mut key, mut value) = (String::new(), String::new());
            let mut reader = Reader { rest: text, marks: &marks };
            let mut all = Vec::new();
            while reader.pair(&mut key, &mut value) {
                all.push(format!("{key}={value}"));
            }
            all.join("|")
        };
        assert_eq!(read("a:1;;, b:2"), "a=1|b=2");
        assert_eq!(read("a : 1"), "");
        assert_eq!(read("a: b:c"), "a=|b=c");
        assert_eq!(read("::a"), "");
        assert_eq!(read("a::b"), "a=:b");
        assert_eq!(read("\"a\"b:1"), "b=1");
        assert_eq!(read("a\"b:1"), "");
        assert_eq!(read("a:x\"y z\""), "a=y z");
        assert_eq!(read("a:\"x\"y b:2"), "a=x|b=2");
        assert_eq!(read("a:\"b\"\"c\""), "a=b");
        assert_eq!(read("a:\"\" b:2"), "a=|b=2");
        assert_eq!(read("\"\":1"), "");
        assert_eq!(read("a:"), "a=");
    }
}
