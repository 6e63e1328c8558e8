//! The pieces that a text is searched by: its runs of characters of one length, and its words.
//!
//! Invariant: pieces keep the order they have in the text. Must not know: where pieces are kept, how they are found.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StringViewArray};
use model::ColumnType;

use super::split::{each_list, text_list};
use crate::cast::CastMode;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::takes_text;

/// Characters of a piece where nothing else is asked for.
const GRAM_CHARS: usize = 3;

/// How a text is taken apart.
pub(super) enum Tokenizer {
    Words,
    Grams(usize),
    Separators(Vec<String>),
    Whole,
}

impl Tokenizer {
    /// As it is written in one text: `ngrams(3)`, `splitByString([' '])`.
    pub(super) fn parse(call: &Call<'_>, written: &str) -> Result<Tokenizer, FunctionError> {
        let (name, of) = match written.trim().strip_suffix(')').and_then(|call| call.split_once('(')) {
            Some((name, of)) => (name.trim(), of.trim()),
            None => (written.trim(), ""),
        };
        match (name, of) {
            ("splitByNonAlpha", "") => Ok(Tokenizer::Words),
            ("array", "") => Ok(Tokenizer::Whole),
            ("ngrams", "") => Ok(Tokenizer::Grams(GRAM_CHARS)),
            ("ngrams", chars) => match chars.parse() {
                Ok(chars) if chars > 0 => Ok(Tokenizer::Grams(chars)),
                _ => Err(unknown(written)),
            },
            ("splitByString", "") => Ok(Tokenizer::Separators(vec![" ".to_owned()])),
            ("splitByString", list) => {
                let list: ArrayRef = Arc::new(StringViewArray::from(vec![list]));
                let list = call.caster(CastMode::Strict).column(&list, &ColumnType::String, &text_list())?;
                let texts = list.as_list::<i32>().values().as_string_view();
                checked(texts.iter().map(|text| text.unwrap_or_default().to_owned()).collect())
                    .map(Tokenizer::Separators)
            }
            _ => Err(unknown(written)),
        }
    }

    /// Hands the pieces over, one by one.
    pub(super) fn each(&self, text: &str, push: &mut dyn FnMut(&str)) {
        match self {
            Tokenizer::Words => text
                .split(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric())
                .filter(|word| !word.is_empty())
                .for_each(push),
            Tokenizer::Grams(chars) => each_gram(text, *chars, push),
            Tokenizer::Separators(separators) => each_between(text, separators, push),
            Tokenizer::Whole => push(text),
        }
    }
}

fn unknown(written: &str) -> FunctionError {
    FunctionError::bad_argument(format!("unknown tokenizer: '{written}'"))
}

fn each_gram(text: &str, chars: usize, push: &mut dyn FnMut(&str)) {
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]).skip(chars);
    for (start, end) in text.char_indices().map(|(at, _)| at).zip(ends) {
        push(&text[start..end]);
    }
}

fn gram_chars(call: &Call<'_>, index: usize) -> Result<usize, FunctionError> {
    if call.args.len() <= index {
        return Ok(GRAM_CHARS);
    }
    let chars = call.ints(index)?.get(0);
    usize::try_from(chars).ok().filter(|chars| *chars > 0).ok_or_else(|| {
        FunctionError::bad_argument(format!("pieces have at least 1 character, {chars} asked for"))
    })
}

fn ngrams_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let texts = takes_text("ngrams", 1, text_list())(args)?;
    match &args[1].column_type {
        length if length.is_integer() => Ok(texts),
        other => Err(FunctionError::illegal_type(other, "ngrams")),
    }
}

fn separators(call: &Call<'_>) -> Result<Vec<String>, FunctionError> {
    if call.args.len() < 3 {
        return Ok(vec![" ".to_owned()]);
    }
    let lists = call.lists(2)?;
    let texts = call.caster(CastMode::Strict).to_text(lists.values(), &lists.element);
    let values: Vec<String> = texts
        .iter()
        .skip(lists.range(0).start)
        .take(lists.range(0).len())
        .map(|text| text.unwrap_or_default().to_owned())
        .collect();
    checked(values)
}

fn checked(separators: Vec<String>) -> Result<Vec<String>, FunctionError> {
    if separators.is_empty() || separators.iter().any(String::is_empty) {
        return Err(FunctionError::bad_argument("separators are texts that are not empty, one at least"));
    }
    Ok(separators)
}

fn tokenizer(call: &Call<'_>) -> Result<Tokenizer, FunctionError> {
    if call.args.len() < 2 {
        return Ok(Tokenizer::Words);
    }
    match call.texts(1)?.get(0) {
        "splitByNonAlpha" => Ok(Tokenizer::Words),
        "ngrams" => Ok(Tokenizer::Grams(gram_chars(call, 2)?)),
        "splitByString" => Ok(Tokenizer::Separators(separators(call)?)),
        "array" => Ok(Tokenizer::Whole),
        other => Err(unknown(other)),
    }
}

/// Splits at whichever separator comes first; of those that stand at one place, the one named first.
fn each_between(text: &str, separators: &[String], push: &mut dyn FnMut(&str)) {
    let (mut start, mut at) = (0, 0);
    while at < text.len() {
        match separators.iter().find(|separator| text[at..].starts_with(separator.as_str())) {
            Some(separator) => {
                if start < at {
                    push(&text[start..at]);
                }
                at += separator.len();
                start = at;
            }
            None => at += text[at..].chars().next().map_or(1, char::len_utf8),
        }
    }
    if start < text.len() {
        push(&text[start..]);
    }
}

fn tokens() -> ScalarFunction {
    ScalarFunction::new("tokens", 1..=3, takes_text("tokens", 2, text_list()), |call| {
        let texts = call.texts(0)?;
        let tokenizer = tokenizer(call)?;
        each_list(call, false, |row, push| {
            tokenizer.each(texts.get(row), push);
            Ok(())
        })
    })
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new("ngrams", 2..=2, ngrams_type, |call| {
            let texts = call.texts(0)?;
            let chars = gram_chars(call, 1)?;
            each_list(call, false, |row, push| {
                each_gram(texts.get(row), chars, push);
                Ok(())
            })
        })
        .doc(
            "ngrams(text, n)",
            "The runs of n characters in text.",
            "ngrams('abc', 2) -> ['ab','bc']",
        ),
        tokens().doc(
            "tokens(text[, tokenizer[, of]])",
            "The pieces of text by a tokenizer: splitByNonAlpha, ngrams, splitByString or array.",
            "tokens('a, b') -> ['a','b']",
        ),
    ]
}
