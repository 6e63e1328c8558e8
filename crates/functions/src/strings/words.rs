//! Whether the pieces of a text are among those asked for: all of them, any of them, or all in a row.
//!
//! Invariant: a piece is found whole and in its own case; of nothing asked for nothing is found. Must not know: how a text is taken
//! apart.

use arrow::array::{Array, ArrayRef, StringViewArray};
use arrow::datatypes::UInt8Type;
use model::{ColumnType, ErrorCode};

use super::grams::Tokenizer;
use crate::cast::CastMode;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::list::Lists;
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::Texts;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    All,
    Any,
    /// All of them, one behind the other.
    Phrase,
}

fn is_text(column_type: &ColumnType) -> bool {
    column_type.is_string() || *column_type.value_type() == ColumnType::Nothing
}

fn takes(column_type: &ColumnType) -> bool {
    match column_type {
        ColumnType::Array(element) => is_text(element),
        plain => is_text(plain),
    }
}

fn rule(
    name: &'static str,
    wanted: Wanted,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        for (index, arg) in args.iter().enumerate() {
            let may_be_array = index == 0 || index == 1 && wanted != Wanted::Phrase;
            let fits = if may_be_array { takes(&arg.column_type) } else { is_text(&arg.column_type) };
            if !fits {
                return Err(FunctionError::illegal_type(&arg.column_type, name));
            }
        }
        Ok(ColumnType::UInt8)
    }
}

/// The texts of a row, of which there are several where the argument is an array.
enum Haystacks {
    Texts(Texts),
    Lists(Lists, StringViewArray),
}

impl Haystacks {
    fn new(call: &Call<'_>) -> Result<Self, FunctionError> {
        if !matches!(call.arg(0)?.column_type, ColumnType::Array(_)) {
            return Ok(Haystacks::Texts(call.texts(0)?));
        }
        let lists = call.lists(0)?;
        let texts = call.caster(CastMode::Strict).to_text(lists.values(), &lists.element);
        Ok(Haystacks::Lists(lists, texts))
    }

    fn each_piece(&self, row: usize, tokenizer: &Tokenizer, push: &mut dyn FnMut(&str)) {
        match self {
            Haystacks::Texts(texts) => tokenizer.each(texts.get(row), push),
            Haystacks::Lists(lists, texts) => {
                for at in lists.range(row).filter(|at| texts.is_valid(*at)) {
                    tokenizer.each(texts.value(at), push);
                }
            }
        }
    }
}

/// The pieces asked for: those of a text, or an array of them as they are.
fn needles(call: &Call<'_>, tokenizer: &Tokenizer) -> Result<Vec<String>, FunctionError> {
    let mut needles = Vec::new();
    if matches!(call.arg(1)?.column_type, ColumnType::Array(_)) {
        let lists = call.lists(1)?;
        let texts = call.caster(CastMode::Strict).to_text(lists.values(), &lists.element);
        needles.extend(lists.range(0).filter(|at| texts.is_valid(*at)).map(|at| texts.value(at).to_owned()));
    } else {
        tokenizer.each(call.texts(1)?.get(0), &mut |piece| needles.push(piece.to_owned()));
    }
    Ok(needles)
}

/// Whether the pieces of a text, one after the other, have all needles in a row.
struct Phrase<'a> {
    needles: &'a [String],
    /// How many needles the runs have that end at the last piece.
    open: Vec<usize>,
    found: bool,
}

impl Phrase<'_> {
    fn push(&mut self, piece: &str) {
        let needles = self.needles;
        let next = |reached: &usize| {
            (needles.get(*reached).map(String::as_str) == Some(piece)).then_some(*reached + 1)
        };
        self.open = self.open.iter().chain(&[0]).filter_map(next).collect();
        self.found |= self.open.contains(&needles.len());
    }
}

fn search(call: &Call<'_>, name: &str, wanted: Wanted) -> Result<ArrayRef, FunctionError> {
    if call.args.iter().skip(1).any(|arg| !arg.is_constant) {
        let message = format!("what {name} looks for is a constant: a text, or an array of its pieces");
        return Err(FunctionError::new(ErrorCode::ILLEGAL_COLUMN, message));
    }
    let tokenizer = match call.args.len() {
        ..=2 => Tokenizer::Words,
        _ => Tokenizer::parse(call, call.texts(2)?.get(0))?,
    };
    let mut needles = needles(call, &tokenizer)?;
    if wanted != Wanted::Phrase {
        needles.sort_unstable();
        needles.dedup();
    }
    let haystacks = Haystacks::new(call)?;
    let mut seen = vec![false; needles.len()];
    call.each::<UInt8Type>(|row| {
        if wanted == Wanted::Phrase {
            let mut phrase = Phrase { needles: &needles, open: Vec::new(), found: false };
            haystacks.each_piece(row, &tokenizer, &mut |piece| phrase.push(piece));
            return Ok(u8::from(phrase.found && !needles.is_empty()));
        }
        seen.fill(false);
        haystacks.each_piece(row, &tokenizer, &mut |piece| {
            if let Ok(place) = needles.binary_search_by(|needle| needle.as_str().cmp(piece)) {
                seen[place] = true;
            }
        });
        let found = match wanted {
            Wanted::Any => seen.contains(&true),
            _ => !seen.is_empty() && !seen.contains(&false),
        };
        Ok(u8::from(found))
    })
}

fn function(name: &'static str, wanted: Wanted) -> ScalarFunction {
    ScalarFunction::new(name, 2..=3, rule(name, wanted), move |call| search(call, name, wanted))
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![
        function("hasAllTokens", Wanted::All).aliases(&["hasAllToken"]).doc(
            "hasAllTokens(text, words[, tokenizer])",
            "Whether all words, of a text or in an array, occur in text.",
            "hasAllTokens('a b c', 'c a') -> 1",
        ),
        function("hasAnyTokens", Wanted::Any).aliases(&["hasAnyToken"]).doc(
            "hasAnyTokens(text, words[, tokenizer])",
            "Whether one of the words, of a text or in an array, occurs in text.",
            "hasAnyTokens('a b c', ['d', 'c']) -> 1",
        ),
        function("hasPhrase", Wanted::Phrase).aliases(&["matchPhrase"]).doc(
            "hasPhrase(text, phrase[, tokenizer])",
            "Whether the words of a phrase occur in text one behind the other.",
            "hasPhrase('a quick, brown fox', 'quick brown') -> 1",
        ),
    ]
}
