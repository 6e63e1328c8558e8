//! How far texts are from each other.
//!
//! Invariant: bytes are compared unless the function is named UTF8; work grows with the product of the lengths, so
//! texts have a limit.

use arrow::datatypes::{Float32Type, Float64Type, UInt64Type};
use model::likeness::{
    damerau, hamming, jaccard, jaro, jaro_winkler, levenshtein, ngram_distance, ngram_search,
};
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode, raw_text};

use crate::columns::number::wrap;
use crate::error::FunctionError;
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::Texts;
use crate::kernel::types::takes_text;

/// Longest text whose distance is computed, as in ClickHouse.
const LENGTH_MAX: usize = 1 << 16;

fn check(a: &[u8], b: &[u8]) -> Result<(), FunctionError> {
    if a.len().max(b.len()) <= LENGTH_MAX {
        return Ok(());
    }
    let message = format!("the distance of texts of more than {LENGTH_MAX} bytes is not computed");
    Err(FunctionError::new(ErrorCode::TOO_LARGE_STRING_SIZE, message))
}

/// What a function compares of two texts: their bytes, or their characters.
#[derive(Clone, Copy)]
enum Compared<T> {
    Bytes(fn(&[u8], &[u8]) -> T),
    Characters(fn(&[char], &[char]) -> T),
}

impl<T> Compared<T> {
    fn of(self, a: &Texts, b: &Texts, row: usize) -> Result<T, FunctionError> {
        let (x, y) = (a.bytes(row), b.bytes(row));
        check(&x, &y)?;
        Ok(match self {
            Compared::Bytes(compare) => compare(&x, &y),
            Compared::Characters(compare) => compare(&characters(a.get(row)), &characters(b.get(row))),
        })
    }
}

fn count(name: &'static str, distance: Compared<usize>) -> ScalarFunction {
    ScalarFunction::new(name, 2..=2, takes_text(name, 2, ColumnType::UInt64), move |call| {
        let (a, b) = (call.texts(0)?, call.texts(1)?);
        call.each::<UInt64Type>(|row| distance.of(&a, &b, row).map(u64_of))
    })
}

fn share(name: &'static str, similarity: Compared<f64>) -> ScalarFunction {
    ScalarFunction::new(name, 2..=2, takes_text(name, 2, ColumnType::Float64), move |call| {
        let (a, b) = (call.texts(0)?, call.texts(1)?);
        call.each::<Float64Type>(|row| similarity.of(&a, &b, row))
    })
}

fn ngrams(name: &'static str, distance: fn(&str, &str) -> f64) -> ScalarFunction {
    ScalarFunction::new(name, 2..=2, takes_text(name, 2, ColumnType::Float32), move |call| {
        let (a, b) = (call.texts(0)?, call.texts(1)?);
        call.each::<Float32Type>(|row| Ok(wrap::<f64, f32>(distance(a.get(row), b.get(row)))))
    })
}

fn characters(text: &str) -> Vec<char> {
    text.chars().collect()
}

fn small_bytes(text: &str) -> Vec<u8> {
    raw_text::bytes(text).to_ascii_lowercase()
}

fn by_ngrams() -> Vec<ScalarFunction> {
    vec![
        ngrams("ngramDistance", |a, b| ngram_distance(&raw_text::bytes(a), &raw_text::bytes(b), 4)).doc(
            "ngramDistance(a, b)",
            "How many runs of 4 bytes the texts do not share, from 0 to 1.",
            "ngramDistance('ClickHouse', 'ClickHouse') -> 0",
        ),
        ngrams("ngramDistanceCaseInsensitive", |a, b| ngram_distance(&small_bytes(a), &small_bytes(b), 4))
            .doc(
                "ngramDistanceCaseInsensitive(a, b)",
                "As ngramDistance in any case.",
                "ngramDistanceCaseInsensitive('ClickHouse', 'clickhouse') -> 0",
            ),
        ngrams("ngramDistanceUTF8", |a, b| ngram_distance(&characters(a), &characters(b), 3)).doc(
            "ngramDistanceUTF8(a, b)",
            "How many runs of 3 characters the texts do not share.",
            "ngramDistanceUTF8('abcd', 'abcd') -> 0",
        ),
        ngrams("ngramDistanceCaseInsensitiveUTF8", |a, b| {
            ngram_distance(&characters(&a.to_lowercase()), &characters(&b.to_lowercase()), 3)
        })
        .doc(
            "ngramDistanceCaseInsensitiveUTF8(a, b)",
            "As ngramDistanceUTF8 in any case.",
            "ngramDistanceCaseInsensitiveUTF8('abcD', 'abcd') -> 0",
        ),
        ngrams("ngramSearch", |a, b| ngram_search(&raw_text::bytes(a), &raw_text::bytes(b), 4)).doc(
            "ngramSearch(text, needle)",
            "The share of the needle's runs of 4 bytes that the text has.",
            "ngramSearch('ClickHouse', 'House') -> 1",
        ),
        ngrams("ngramSearchCaseInsensitive", |a, b| ngram_search(&small_bytes(a), &small_bytes(b), 4)).doc(
            "ngramSearchCaseInsensitive(text, needle)",
            "As ngramSearch in any case.",
            "ngramSearchCaseInsensitive('ClickHouse', 'house') -> 1",
        ),
        ngrams("ngramSearchUTF8", |a, b| ngram_search(&characters(a), &characters(b), 3)).doc(
            "ngramSearchUTF8(text, needle)",
            "The share of the needle's runs of 3 characters that the text has.",
            "ngramSearchUTF8('ClickHouse', 'House') -> 1",
        ),
    ]
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let mut out = by_ngrams();
    out.extend([
        count("editDistance", Compared::Bytes(levenshtein)).aliases(&["levenshteinDistance"]).doc(
            "editDistance(a, b)",
            "Least insertions, removals and exchanges of bytes.",
            "editDistance('kitten', 'sitting') -> 3",
        ),
        count("editDistanceUTF8", Compared::Characters(levenshtein))
            .aliases(&["levenshteinDistanceUTF8"])
            .doc(
                "editDistanceUTF8(a, b)",
                "As editDistance, in characters.",
                "editDistanceUTF8('ñ', 'n') -> 1",
            ),
        count("damerauLevenshteinDistance", Compared::Bytes(damerau)).doc(
            "damerauLevenshteinDistance(a, b)",
            "As editDistance; neighbours may change places.",
            "damerauLevenshteinDistance('ab', 'ba') -> 1",
        ),
        count("byteHammingDistance", Compared::Bytes(hamming)).aliases(&["mismatches"]).doc(
            "byteHammingDistance(a, b)",
            "Bytes that differ, place by place.",
            "byteHammingDistance('karolin', 'kathrin') -> 3",
        ),
        share("jaroSimilarity", Compared::Bytes(jaro)).doc(
            "jaroSimilarity(a, b)",
            "Jaro's similarity, from 0 to 1.",
            "jaroSimilarity('abc', 'abc') -> 1",
        ),
        share("jaroWinklerSimilarity", Compared::Bytes(jaro_winkler)).doc(
            "jaroWinklerSimilarity(a, b)",
            "Jaro's similarity with a bonus for a common start.",
            "jaroWinklerSimilarity('abc', 'abc') -> 1",
        ),
        share("stringJaccardIndex", Compared::Bytes(jaccard)).doc(
            "stringJaccardIndex(a, b)",
            "Bytes both texts have over all bytes they have.",
            "stringJaccardIndex('clickhouse', 'mouse') -> 0.4",
        ),
        share("stringJaccardIndexUTF8", Compared::Characters(jaccard)).doc(
            "stringJaccardIndexUTF8(a, b)",
            "Characters both texts have over all they have.",
            "stringJaccardIndexUTF8('clickhouse', 'mouse') -> 0.4",
        ),
    ]);
    out
}
