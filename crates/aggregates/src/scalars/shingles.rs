//! `ngramSimHash`, `wordShingleMinHash` and their kin: fingerprints of texts, near each other where the texts are.
//!
//! A text is taken apart into *shingles*, runs of so many characters or words. SimHash keeps of each bit of their hashes what most
//! of them have; MinHash keeps the smallest and the largest hashes.
//! Invariant: the numbers are ClickHouse's, also where it is odd: words of fewer than [`WORD_BYTES_MIN`] bytes are none, the
//! first run of characters in UTF-8 does not count, case is a bit of every byte. Must not know: states.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder, UInt64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, UInt64Type};
use functions::allowance::{Reserved, reserve};
use functions::container::{tuple_of, unnamed};
use functions::{ArgType, Call, CastMode, FunctionError, ScalarFunction, cast_column, join_hashes_64};
use model::saturating::usize_of;
use model::{ColumnType, ErrorCode, TupleElement, raw_text};

/// Characters or words of a shingle, unless told.
const SIZE: usize = 3;
/// Hashes that are kept of each end, unless told.
const HASHES: usize = 6;
/// Both are at most this.
const MOST: u64 = 25;
const WORD_BYTES_MIN: usize = 4;
/// The bit by which small letters differ from capital ones.
const CASE: u8 = 0x20;
/// Who asks for memory.
const CONSUMER: &str = "ngramMinHash";
/// Fewer bytes are not asked for.
const MUCH: usize = 1 << 20;

/// How a text is taken apart.
#[derive(Clone, Copy)]
struct Way {
    words: bool,
    utf8: bool,
    any_case: bool,
}

/// A part of a text and its hash.
type Shingle<'a> = (u64, &'a [u8]);

/// The remainders of the Castagnoli polynomial.
static REMAINDERS: [u32; 256] = remainders();

const fn remainders() -> [u32; 256] {
    let mut table = [0; 256];
    let mut at = 0_u32;
    while at < 256 {
        let (mut rest, mut bit) = (at, 0);
        while bit < 8 {
            rest = if rest & 1 == 1 { rest >> 1 ^ 0x82f6_3b78 } else { rest >> 1 };
            bit += 1;
        }
        table[at as usize] = rest;
        at += 1;
    }
    table
}

impl Way {
    /// The checksum of bytes behind others.
    fn behind(self, before: u32, bytes: &[u8]) -> u32 {
        bytes.iter().fold(before, |rest, byte| {
            let byte = if self.any_case { byte | CASE } else { *byte };
            rest >> 8 ^ REMAINDERS[usize::from(rest.to_le_bytes()[0] ^ byte)]
        })
    }

    fn hash(self, bytes: &[u8]) -> u64 {
        if bytes.is_empty() { u64::MAX } else { u64::from(self.behind(u32::MAX, bytes)) }
    }

    /// The shingles of so many characters or words, in the order they have in the text.
    fn shingles(self, text: &[u8], size: usize) -> Vec<Shingle<'_>> {
        let hashed = |part| (self.hash(part), part);
        if self.words {
            return self.of_words(text, size);
        }
        if !self.utf8 {
            return if text.len() < size {
                vec![hashed(text)]
            } else {
                text.windows(size).map(hashed).collect()
            };
        }
        let ends = characters(text);
        if ends.len() <= size {
            return vec![hashed(text)];
        }
        ends.windows(size + 1).skip(1).map(|ends| hashed(&text[ends[0]..ends[size]])).collect()
    }

    fn of_words(self, text: &[u8], size: usize) -> Vec<Shingle<'_>> {
        let words = words(text);
        let size = size.min(words.len());
        if size == 0 {
            return vec![];
        }
        let joined = |words: &[(usize, usize)]| {
            let rest =
                words.iter().fold(u32::MAX, |rest, (start, end)| self.behind(rest, &text[*start..*end]));
            (u64::from(rest), &text[words[0].0..words[size - 1].1])
        };
        words.windows(size).map(joined).collect()
    }
}

/// Where characters end, 0 before them: how long one is, its first byte says.
fn characters(text: &[u8]) -> Vec<usize> {
    let mut ends = vec![0];
    let mut at = 0;
    while at < text.len() {
        at += match text[at] {
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            _ => 1,
        };
        at = at.min(text.len());
        ends.push(at);
    }
    ends
}

/// Where words start and end.
fn words(text: &[u8]) -> Vec<(usize, usize)> {
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    let (mut words, mut start) = (vec![], 0);
    for (at, byte) in text.iter().enumerate() {
        if !is_of_word(byte) {
            words.push((start, at));
            start = at + 1;
        }
    }
    words.push((start, text.len()));
    words.retain(|(start, end)| end - start >= WORD_BYTES_MIN);
    words
}

/// Of each bit what most hashes have.
fn majority(shingles: &[Shingle<'_>]) -> u64 {
    let mut more = [0_i64; 64];
    for (hash, _) in shingles {
        for (bit, more) in more.iter_mut().enumerate() {
            *more += if hash >> bit & 1 == 1 { 1 } else { -1 };
        }
    }
    more.iter().enumerate().fold(0, |set, (bit, more)| if *more > 0 { set | 1 << bit } else { set })
}

/// The smallest hashes, the largest first, and the largest, the smallest first; equal ones once, with their first text.
fn ends<'a>(shingles: &[Shingle<'a>], hashes: usize) -> [Vec<Shingle<'a>>; 2] {
    let (mut smallest, mut largest) = (BTreeMap::new(), BTreeMap::new());
    for (hash, text) in shingles {
        smallest.entry(*hash).or_insert(*text);
        if smallest.len() > hashes {
            smallest.pop_last();
        }
        largest.entry(*hash).or_insert(*text);
        if largest.len() > hashes {
            largest.pop_first();
        }
    }
    [smallest.into_iter().rev().collect(), largest.into_iter().collect()]
}

/// What a function gives.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Sim,
    Min,
    /// The shingles of the hashes instead of the hashes.
    MinArg,
}

/// The texts of one end: as many as hashes are kept.
fn texts_of(hashes: usize) -> ColumnType {
    unnamed(vec![ColumnType::String; hashes])
}

/// A constant from 1 to [`MOST`], such as the size of a shingle.
fn number(args: &[ArgType], index: usize, name: &str, usual: usize) -> Result<usize, FunctionError> {
    let Some(arg) = args.get(index) else { return Ok(usual) };
    let what =
        if index == 1 { "second argument (shingle size)" } else { "third argument (number of hashes)" };
    let illegal = |wanted: &str| {
        let message = format!("the {what} of function {name} must be {wanted}");
        FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message)
    };
    let given = arg.column_type.value_type();
    if !matches!(given, ColumnType::UInt8 | ColumnType::UInt16 | ColumnType::UInt32 | ColumnType::UInt64) {
        return Err(illegal(&format!("an integer without a sign, not {}", arg.column_type)));
    }
    let Some(constant) = &arg.constant else { return Err(illegal("a constant")) };
    let value = first(constant, given)?;
    if !(1..=MOST).contains(&value) {
        let message = format!("the {what} of function {name} is {value}: from 1 to {MOST}");
        return Err(FunctionError::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, message));
    }
    Ok(usize_of(value))
}

fn first(constant: &ArrayRef, column_type: &ColumnType) -> Result<u64, FunctionError> {
    let value = cast_column(constant, column_type, &ColumnType::UInt64, CastMode::Strict)?;
    Ok(value.as_primitive::<UInt64Type>().iter().next().flatten().unwrap_or(0))
}

fn result_type(args: &[ArgType], kind: Kind, name: &str) -> Result<ColumnType, FunctionError> {
    if *args[0].column_type.value_type() != ColumnType::String {
        return Err(FunctionError::illegal_type(&args[0].column_type, name));
    }
    number(args, 1, name, SIZE)?;
    let hashes = number(args, 2, name, HASHES)?;
    // There are no tuples that are NULL.
    if kind != Kind::Sim && args.iter().any(|arg| arg.column_type.is_nullable()) {
        let message = format!("a Nullable argument of function {name} is not supported");
        return Err(FunctionError::new(ErrorCode::NOT_IMPLEMENTED, message));
    }
    Ok(match kind {
        Kind::Sim => ColumnType::UInt64,
        Kind::Min => unnamed([ColumnType::UInt64, ColumnType::UInt64]),
        Kind::MinArg => unnamed([texts_of(hashes), texts_of(hashes)]),
    })
}

/// The number that an argument of the call is in all rows.
fn given(call: &Call<'_>, index: usize, usual: usize) -> Result<usize, FunctionError> {
    call.args.get(index).map_or(Ok(usual), |arg| Ok(usize_of(first(&arg.array, &arg.column_type)?)))
}

fn evaluate(call: &Call<'_>, way: Way, kind: Kind) -> Result<ArrayRef, FunctionError> {
    let (size, hashes) = (given(call, 1, SIZE)?, given(call, 2, HASHES)?);
    let text = &call.args[0];
    let texts = cast(&text.array, &DataType::Utf8View)?;
    let texts = texts.as_string_view();
    let mut ends_of_rows = EndsOfRows::new(kind, hashes);
    let mut fingerprints = Vec::with_capacity(if kind == Kind::Sim { call.rows } else { 0 });
    for row in 0..call.rows {
        let row = text.row(row);
        let bytes = raw_text::bytes(if texts.is_null(row) { "" } else { texts.value(row) });
        let needed = bytes.len().saturating_mul(size_of::<Shingle<'_>>());
        let _reserved = if needed > MUCH { Some(reserve(CONSUMER, needed)?) } else { None };
        let shingles = way.shingles(&bytes, size);
        match kind {
            Kind::Sim => fingerprints.push(majority(&shingles)),
            _ => ends_of_rows.push(&ends(&shingles, hashes))?,
        }
    }
    match kind {
        Kind::Sim => Ok(Arc::new(UInt64Array::from(fingerprints))),
        _ => ends_of_rows.finish(call),
    }
}

/// Both ends of all rows, as the columns of the result.
struct EndsOfRows {
    joined: [Vec<u64>; 2],
    /// A column for each place of each end.
    texts: [Vec<StringViewBuilder>; 2],
    reserved: Vec<Reserved>,
    /// Bytes of texts that were not asked for yet.
    unasked: usize,
}

impl EndsOfRows {
    fn new(kind: Kind, hashes: usize) -> EndsOfRows {
        let columns = if kind == Kind::MinArg { hashes } else { 0 };
        let texts = || (0..columns).map(|_| StringViewBuilder::new()).collect();
        EndsOfRows { joined: [vec![], vec![]], texts: [texts(), texts()], reserved: vec![], unasked: 0 }
    }

    fn push(&mut self, ends: &[Vec<Shingle<'_>>; 2]) -> Result<(), FunctionError> {
        self.unasked += ends.iter().flatten().map(|(_, text)| text.len()).sum::<usize>();
        if self.unasked > MUCH {
            self.reserved.push(reserve(CONSUMER, std::mem::take(&mut self.unasked))?);
        }
        for ((end, joined), texts) in ends.iter().zip(&mut self.joined).zip(&mut self.texts) {
            joined.push(end.iter().fold(0, |joined, (hash, _)| join_hashes_64(joined, *hash)));
            for (place, texts) in texts.iter_mut().enumerate() {
                texts.append_value(raw_text::carry(end.get(place).map_or(&[][..], |(_, text)| *text)));
            }
        }
        Ok(())
    }

    fn finish(self, call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
        let elements = elements_of(call.result_type);
        let mut columns: Vec<ArrayRef> = vec![];
        for ((joined, texts), element) in self.joined.into_iter().zip(self.texts).zip(elements) {
            columns.push(match elements_of(&element.column_type) {
                [] => Arc::new(UInt64Array::from(joined)),
                parts => {
                    let texts = texts.into_iter().map(|mut texts| Arc::new(texts.finish()) as ArrayRef);
                    tuple_of(parts, texts.collect(), None, call.rows)?
                }
            });
        }
        Ok(tuple_of(elements, columns, None, call.rows)?)
    }
}

fn elements_of(column_type: &ColumnType) -> &[TupleElement] {
    match column_type {
        ColumnType::Tuple(elements) => elements,
        _ => &[],
    }
}

fn function(name: &'static str, way: Way, kind: Kind) -> ScalarFunction {
    let arguments = if kind == Kind::Sim { 1..=2 } else { 1..=3 };
    let rule = move |args: &[ArgType]| result_type(args, kind, name);
    let function = ScalarFunction::new(name, arguments, rule, move |call| evaluate(call, way, kind));
    if kind == Kind::Sim { function } else { function.own_nulls() }
}

/// The functions of one way to take texts apart: SimHash, MinHash and its texts.
macro_rules! family {
    ($sim:literal, $min:literal, $texts:literal, $way:expr) => {
        [
            function($sim, $way, Kind::Sim).doc(
                concat!($sim, "(text[, size])"),
                "A fingerprint of the runs of so many characters or words in a text: fingerprints of texts that are alike \
                 differ in few bits.",
                concat!($sim, "('ClickHouse is fast')"),
            ),
            function($min, $way, Kind::Min).doc(
                concat!($min, "(text[, size[, hashes]])"),
                "Two fingerprints of a text: of the smallest and of the largest hashes of its runs of characters or words.",
                concat!($min, "('ClickHouse is fast')"),
            ),
            function($texts, $way, Kind::MinArg).doc(
                concat!($texts, "(text[, size[, hashes]])"),
                "The runs of characters or words that have the smallest and the largest hashes.",
                concat!($texts, "('ClickHouse is fast', 2, 3)"),
            ),
        ]
    };
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let grams = |utf8, any_case| Way { words: false, utf8, any_case };
    let words = |utf8, any_case| Way { words: true, utf8, any_case };
    let families = [
        family!("ngramSimHash", "ngramMinHash", "ngramMinHashArg", grams(false, false)),
        family!(
            "ngramSimHashCaseInsensitive",
            "ngramMinHashCaseInsensitive",
            "ngramMinHashArgCaseInsensitive",
            grams(false, true)
        ),
        family!("ngramSimHashUTF8", "ngramMinHashUTF8", "ngramMinHashArgUTF8", grams(true, false)),
        family!(
            "ngramSimHashCaseInsensitiveUTF8",
            "ngramMinHashCaseInsensitiveUTF8",
            "ngramMinHashArgCaseInsensitiveUTF8",
            grams(true, true)
        ),
        family!("wordShingleSimHash", "wordShingleMinHash", "wordShingleMinHashArg", words(false, false)),
        family!(
            "wordShingleSimHashCaseInsensitive",
            "wordShingleMinHashCaseInsensitive",
            "wordShingleMinHashArgCaseInsensitive",
            words(false, true)
        ),
        family!(
            "wordShingleSimHashUTF8",
            "wordShingleMinHashUTF8",
            "wordShingleMinHashArgUTF8",
            words(true, false)
        ),
        family!(
            "wordShingleSimHashCaseInsensitiveUTF8",
            "wordShingleMinHashCaseInsensitiveUTF8",
            "wordShingleMinHashArgCaseInsensitiveUTF8",
            words(true, true)
        ),
    ];
    families.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_clickhouse() {
        let grams = Way { words: false, utf8: false, any_case: false };
        let of = |way: Way, text: &str| majority(&way.shingles(text.as_bytes(), 3));
        assert_eq!(
            [of(grams, ""), of(grams, "ab"), of(grams, "ClickHouse")],
            [u64::MAX, 492_689_097, 1_627_567_969]
        );
        assert_eq!(of(Way { utf8: true, ..grams }, "abc"), 0);
        assert_eq!(of(Way { utf8: true, ..grams }, "abcd"), 3_841_129_639);
        assert_eq!(of(Way { any_case: true, ..grams }, "ClickHouse"), 562_180_645);
        let words = Way { words: true, ..grams };
        assert_eq!([of(words, "one two"), of(words, "abcd x efgh")], [0, 4_117_487_176]);
    }
}
