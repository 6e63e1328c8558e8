//! How far two rows of things are from each other: bytes or characters of texts, elements of arrays.
//!
//! Invariant: only places and equality count. Work and memory grow with the product of the lengths: who asks limits them.
//! Must not know: types, and what is compared.

pub mod names;

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

fn float(n: usize) -> f64 {
    n as f64
}

/// Least insertions, removals and exchanges.
pub fn levenshtein<T: PartialEq>(a: &[T], b: &[T]) -> usize {
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
pub fn damerau(a: &[u8], b: &[u8]) -> usize {
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

/// Jaro's similarity, from 0 to 1.
pub fn jaro(a: &[u8], b: &[u8]) -> f64 {
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
pub fn jaro_winkler(a: &[u8], b: &[u8]) -> f64 {
    let similarity = jaro(a, b);
    if similarity <= 0.7 || a.is_empty() || b.is_empty() {
        return similarity;
    }
    let start = a.iter().zip(b).take(4).take_while(|(x, y)| x == y).count();
    similarity + 0.1 * float(start) * (1.0 - similarity)
}

/// Shared elements over all elements, each counted once.
pub fn jaccard<T: Eq + Hash + Copy>(a: &[T], b: &[T]) -> f64 {
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
pub fn ngram_distance<T: Eq + Hash + Clone>(a: &[T], b: &[T], n: usize) -> f64 {
    let (ours, theirs) = (runs(a, n), runs(b, n));
    let difference: usize =
        ours.iter().map(|(run, count)| count.abs_diff(theirs.get(run).copied().unwrap_or(0))).sum();
    let rest: usize = theirs.iter().filter(|(run, _)| !ours.contains_key(*run)).map(|(_, count)| count).sum();
    let total: usize = ours.values().chain(theirs.values()).sum();
    float(difference + rest) / float(total.max(1))
}

/// The share of the needle's runs that the text has.
pub fn ngram_search<T: Eq + Hash + Clone>(text: &[T], needle: &[T], n: usize) -> f64 {
    let (ours, theirs) = (runs(needle, n), runs(text, n));
    let found: usize = ours.iter().map(|(run, count)| *count.min(theirs.get(run).unwrap_or(&0))).sum();
    match ours.values().sum::<usize>() {
        // Less than a run of a needle is everywhere.
        0 => 1.0,
        all => float(found) / float(all),
    }
}

/// Bytes that differ, place by place; what one text has more counts, too.
pub fn hamming(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).filter(|(x, y)| x != y).count() + a.len().abs_diff(b.len())
}

/// As [`levenshtein`], where an insertion or removal costs the weight of the element, and an exchange both.
pub fn weighted_levenshtein<T: PartialEq>(a: &[T], b: &[T], a_weights: &[f64], b_weights: &[f64]) -> f64 {
    let inserted = b_weights.iter().scan(0.0, |sum, weight| {
        *sum += weight;
        Some(*sum)
    });
    let mut row: Vec<f64> = std::iter::once(0.0).chain(inserted).collect();
    for (x, removal) in a.iter().zip(a_weights) {
        let mut diagonal = row[0];
        row[0] += removal;
        for (j, (y, insertion)) in b.iter().zip(b_weights).enumerate() {
            let exchanged = if x == y { diagonal } else { diagonal + removal + insertion };
            diagonal = row[j + 1];
            row[j + 1] = exchanged.min(row[j] + insertion).min(diagonal + removal);
        }
    }
    row[b.len()]
}
