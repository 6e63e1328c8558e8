//! Which of the parts that are left hold the rows of a table whose log is gone.
//!
//! Pure: takes what is known of each part, returns which to read and which not. Invariant: no row is taken twice: a part goes
//! if a sound one says it took over its rows, whatever lies between the two. A damaged part leaves its place to the parts it
//! replaced, where they are still there. Must not know: files.

use std::collections::{HashMap, HashSet};

use model::PartId;

/// A part that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    pub id: PartId,
    /// Whether all its pages are as they were written.
    pub is_sound: bool,
    pub rows: u64,
    /// The newest record when it was written, and the time.
    pub written: (u64, u64),
    pub replaced: Vec<PartId>,
}

/// What is to be done.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Survivors {
    /// To be read, in the order they were written.
    pub taken: Vec<PartId>,
    /// Their rows are in others of `taken`.
    pub replaced: Vec<PartId>,
    /// Damaged, and nobody has all their rows: with how many rows nobody has.
    pub lost: Vec<(PartId, u64)>,
}

/// Chooses among the parts of one table.
pub fn choose(candidates: &[Candidate]) -> Survivors {
    let by_id: HashMap<PartId, &Candidate> = candidates.iter().map(|part| (part.id, part)).collect();
    let mut gone = HashSet::new();
    for part in candidates.iter().filter(|part| part.is_sound) {
        gone.extend(below(part, &by_id));
    }
    let mut survivors = Survivors::default();
    let mut taken: Vec<&Candidate> = Vec::new();
    for part in candidates {
        if gone.contains(&part.id) {
            survivors.replaced.push(part.id);
        } else if part.is_sound {
            taken.push(part);
        }
    }
    let is_taken: HashSet<PartId> = taken.iter().map(|part| part.id).collect();
    for part in candidates.iter().filter(|part| !part.is_sound && !gone.contains(&part.id)) {
        let inputs = below(part, &by_id);
        let saved: u64 = inputs
            .iter()
            .filter(|id| is_taken.contains(id))
            .filter_map(|id| by_id.get(id))
            .map(|p| p.rows)
            .sum();
        if saved < part.rows {
            survivors.lost.push((part.id, part.rows - saved));
        } else {
            survivors.replaced.push(part.id);
        }
    }
    taken.sort_by_key(|part| (part.written, part.id));
    survivors.taken = taken.iter().map(|part| part.id).collect();
    survivors
}

/// All parts whose rows one holds, as far as the chain can be followed.
fn below(part: &Candidate, by_id: &HashMap<PartId, &Candidate>) -> HashSet<PartId> {
    let mut found = HashSet::new();
    let mut ahead = part.replaced.clone();
    while let Some(id) = ahead.pop() {
        if id != part.id && found.insert(id) {
            ahead.extend(by_id.get(&id).iter().flat_map(|part| part.replaced.iter().copied()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: char) -> PartId {
        PartId::from_random_bytes([u8::try_from(name).unwrap(); 16])
    }

    /// `a5` is a sound part of 5 rows, `a5!` a damaged one, `c9<ab` one that replaced others.
    fn candidates(text: &str) -> Vec<Candidate> {
        let one = |(at, word): (usize, &str)| {
            let (own, replaced) = word.split_once('<').unwrap_or((word, ""));
            let rows = own.trim_end_matches('!')[1..].parse().unwrap();
            Candidate {
                id: id(own.chars().next().unwrap()),
                is_sound: !own.ends_with('!'),
                rows,
                written: (at as u64, 0),
                replaced: replaced.chars().map(id).collect(),
            }
        };
        text.split_whitespace().enumerate().map(one).collect()
    }

    #[test]
    fn every_row_is_taken_once_or_named_as_lost() {
        for (found, taken, lost) in [
            ("a5 b4", "ab", vec![]),
            ("a5 b4 c9<ab", "c", vec![]),
            ("a5 b4 c9!<ab", "ab", vec![]),
            // One input is gone: its rows are.
            ("a5 c9!<ab", "a", vec![('c', 4)]),
            ("c9!<ab", "", vec![('c', 9)]),
            // Through a part that is damaged, or gone when the last one names all.
            ("a5 b4 c9!<ab d1 e10<cd", "e", vec![]),
            ("a5 b4 e10<cdab", "e", vec![]),
            ("a5! b4 c9<ab", "c", vec![]),
            // A row less than its inputs had, because rows were deleted: they come back, none is lost.
            ("a5 b4 c8!<ab", "ab", vec![]),
            ("b4 a5", "ba", vec![]),
            ("a5<a", "a", vec![]),
        ] {
            let survivors = choose(&candidates(found));
            let taken: Vec<PartId> = taken.chars().map(id).collect();
            let lost: Vec<(PartId, u64)> = lost.into_iter().map(|(name, rows)| (id(name), rows)).collect();
            assert_eq!((survivors.taken, survivors.lost), (taken, lost), "{found}");
        }
    }
}
