//! How far texts are from each other.
//!
//! Invariant: bytes are compared unless the function is named UTF8; work grows with the product of the lengths, so
//! texts have a limit.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use arrow::datatypes::{Float32Type, Float64Type, UInt64Type};
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode, raw_text};

use crate::columns::number::wrap;
use crate::error::FunctionError;
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::Texts;
use crate::kernel::types::takes_text;

/// Longest text whose distance is computed, as in ClickHouse.
const LENGTH_MAX: usize = 1 << 16;

fn float(n: usize) -> f64 {
    wrap::<u64, f64>(u64_of(n))
}

fn check(a: &[u8], b: &[u8]) -> Result<(), FunctionError> {
    if a.len().max(b.len()) <= LENGTH_MAX {
        return Ok(());
    }
    let message = format!("the distance of texts of more than {LENGTH_MAX} bytes is not computed");
    Err(FunctionError::new(ErrorCode::TOO_LARGE_STRING_SIZE, message))
}

/// Least insertions, removals and exchanges.
fn levenshtein<T: PartialEq>(a: &[T], b: &[T]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let exchanged = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = exchanged.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// As [`levenshtein`]; neighbours may change places, each once.
fn damerau(a: &[u8], b: &[u8]) -> usize {
    let width = b.len() + 1;
    // All rows of two texts of the largest length would take 32 GiB; a change of places looks back by two.
    let (mut older, mut last, mut row) =
        (vec![0_usize; width], (0..width).collect::<Vec<_>>(), vec![0; width]);
    for i in 1..=a.len() {
        row[0] = i;
        for j in 1..=b.len() {
            let exchanged = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = exchanged.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(older[j - 2] + 1);
            }
            row[j] = best;
        }
        std::mem::swap(&mut older, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    last[b.len()]
}

fn jaro(a: &[u8], b: &[u8]) -> f64 {
    if a.is_empty() || b.is_empty() {
        // Beside nothing ClickHouse counts the bytes.
        return float(a.len() + b.len());
    }
    let reach = (a.len().max(b.len()) / 2).saturating_sub(1);
    let (mut taken, mut ours) = (vec![false; b.len()], Vec::new());
    for (i, x) in a.iter().enumerate() {
        let window = i.saturating_sub(reach)..(i + reach + 1).min(b.len());
        if let Some(j) = window.into_iter().find(|j| !taken[*j] && b[*j] == *x) {
            taken[j] = true;
            ours.push(*x);
        }
    }
    if ours.is_empty() {
        return 0.0;
    }
    let theirs = b.iter().zip(&taken).filter(|(_, taken)| **taken).map(|(y, _)| *y);
    let moved = float(ours.iter().zip(theirs).filter(|(x, y)| **x != *y).count()) / 2.0;
    let same = float(ours.len());
    // Times a third, as ClickHouse's last digits tell.
    (same / float(a.len()) + same / float(b.len()) + (same - moved) / same) * (1.0 / 3.0)
}

/// A common start counts for more where the texts are alike.
fn jaro_winkler(a: &[u8], b: &[u8]) -> f64 {
    let similarity = jaro(a, b);
    if similarity <= 0.7 || a.is_empty() || b.is_empty() {
        return similarity;
    }
    let start = a.iter().zip(b).take(4).take_while(|(x, y)| x == y).count();
    similarity + 0.1 * float(start) * (1.0 - similarity)
}

/// Shared elements over all elements, each counted once.
fn jaccard<T: Eq + Hash + Copy>(a: &[T], b: &[T]) -> f64 {
    let (ours, theirs): (HashSet<T>, HashSet<T>) = (a.iter().copied().collect(), b.iter().copied().collect());
    let shared = ours.intersection(&theirs).count();
    float(shared) / float((ours.len() + theirs.len() - shared).max(1))
}

/// How often each run of `n` occurs.
fn runs<T: Eq + Hash + Clone>(all: &[T], n: usize) -> HashMap<Vec<T>, usize> {
    let mut counts = HashMap::new();
    all.windows(n).for_each(|run| *counts.entry(run.to_vec()).or_insert(0) += 1);
    counts
}

/// Runs that only one side has, over all runs.
fn ngram_distance<T: Eq + Hash + Clone>(a: &[T], b: &[T], n: usize) -> f64 {
    let (ours, theirs) = (runs(a, n), runs(b, n));
    let difference: usize =
        ours.iter().map(|(run, count)| count.abs_diff(theirs.get(run).copied().unwrap_or(0))).sum();
    let rest: usize = theirs.iter().filter(|(run, _)| !ours.contains_key(*run)).map(|(_, count)| count).sum();
    let total: usize = ours.values().chain(theirs.values()).sum();
    float(difference + rest) / float(total.max(1))
}

/// The share of the needle's runs that the text has.
fn ngram_search<T: Eq + Hash + Clone>(text: &[T], needle: &[T], n: usize) -> f64 {
    let (ours, theirs) = (runs(needle, n), runs(text, n));
    let found: usize = ours.iter().map(|(run, count)| *count.min(theirs.get(run).unwrap_or(&0))).sum();
    match ours.values().sum::<usize>() {
        // Less than a run of a needle is everywhere.
        0 => 1.0,
        all => float(found) / float(all),
    }
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

/// Bytes that differ, place by place; what one text has more counts, too.
fn hamming(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).filter(|(x, y)| x != y).count() + a.len().abs_diff(b.len())
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
