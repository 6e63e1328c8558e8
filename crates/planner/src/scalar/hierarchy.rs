//! What stands above and below the keys of a dictionary, one of whose attributes names the key above; and the keys that have a value.
//!
//! Invariant: a key stands in an answer once, so that a circle ends where it began. Must not know: how a dictionary is read, and
//! what its calls are named.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, UInt8Array, UInt64Array};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::UInt64Type;
use datafusion::common::{Result, internal_err};
use functions::allowance::reserve;
use model::ColumnType;
use model::type_arrow::to_field;

use super::lookup::Lookup;
use super::over_rows::AsksRows;
use aggregates::typing::external;

/// Bytes of a key in an answer, and among those that were seen.
const KEY_BYTES: usize = 48;

/// `_hierarchy(rows are there, key, no parent)`: the key, and those above it.
#[derive(Debug)]
pub(super) struct Above;

/// `_is_below(rows are there, key, key above, no parent)`.
#[derive(Debug)]
pub(super) struct IsBelow;

/// `_descendants(rows are there, key, level)`: those below a key, of one level, or of all if that is 0.
#[derive(Debug)]
pub(super) struct Below;

/// `_keys_of(rows are there, value)`: the keys that have a value.
#[derive(Debug)]
pub(super) struct KeysOf;

impl AsksRows for KeysOf {
    fn name(&self) -> &'static str {
        "_keys_of"
    }

    fn values(&self, lookup: &Lookup, given: &[ArrayRef], _: &ColumnType) -> Result<ArrayRef> {
        lookup.values_of(given)
    }
}

impl AsksRows for Above {
    fn name(&self) -> &'static str {
        "_hierarchy"
    }

    fn values(&self, lookup: &Lookup, given: &[ArrayRef], _: &ColumnType) -> Result<ArrayRef> {
        let [key, none] = given else { return internal_err!("{} of {} values", self.name(), given.len()) };
        lists(above(lookup, as_keys(key)?, as_keys(none)?)?)
    }
}

impl AsksRows for IsBelow {
    fn name(&self) -> &'static str {
        "_is_below"
    }

    fn values(&self, lookup: &Lookup, given: &[ArrayRef], result: &ColumnType) -> Result<ArrayRef> {
        let [key, wanted, none] = given else {
            return internal_err!("{} of {} values", self.name(), given.len());
        };
        let chains = above(lookup, as_keys(key)?, as_keys(none)?)?;
        let found = chains.iter().zip(as_keys(wanted)?);
        let found = found.map(|(chain, wanted)| wanted.is_some_and(|wanted| chain.contains(&wanted)));
        let found: UInt8Array = found.map(|found| Some(u8::from(found))).collect();
        let nulls = NullBuffer::union(key.logical_nulls().as_ref(), wanted.logical_nulls().as_ref());
        Ok(Arc::new(UInt8Array::new(found.values().clone(), nulls.filter(|_| result.is_nullable()))))
    }
}

impl AsksRows for Below {
    fn name(&self) -> &'static str {
        "_descendants"
    }

    fn values(&self, lookup: &Lookup, given: &[ArrayRef], _: &ColumnType) -> Result<ArrayRef> {
        let [key, level] = given else { return internal_err!("{} of {} values", self.name(), given.len()) };
        let level = as_keys(level)?.iter().next().flatten().unwrap_or_default();
        lists(below(lookup, as_keys(key)?, level)?)
    }
}

fn as_keys(array: &ArrayRef) -> Result<&UInt64Array> {
    match array.as_primitive_opt::<UInt64Type>() {
        Some(keys) => Ok(keys),
        None => internal_err!("keys of a hierarchy are laid out as {}", array.data_type()),
    }
}

/// Of each key itself, if it is there, and those above it. A NULL is asked about as 0; `none` is the key above that is none.
fn above(lookup: &Lookup, keys: &UInt64Array, none: &UInt64Array) -> Result<Vec<Vec<u64>>> {
    let mut chains: Vec<Vec<u64>> = vec![Vec::new(); keys.len()];
    let mut ends: Vec<Option<u64>> = keys.iter().map(|key| Some(key.unwrap_or_default())).collect();
    let mut granted = Vec::new();
    while ends.iter().any(Option::is_some) {
        granted.push(reserve("of a hierarchy", keys.len() * KEY_BYTES).map_err(external)?);
        let asked: ArrayRef = Arc::new(UInt64Array::from(ends.clone()));
        let (places, parents) = lookup.places_of(&[asked])?;
        let parents = as_keys(&parents)?;
        for (row, end) in ends.iter_mut().enumerate() {
            let Some(key) = end.take() else { continue };
            if places.is_null(row) {
                continue;
            }
            let chain = &mut chains[row];
            if chain.is_empty() {
                chain.push(key);
            }
            let parent = parents.is_valid(row).then(|| parents.value(row));
            let is_none = |parent: &u64| none.is_valid(row) && none.value(row) == *parent;
            if let Some(parent) = parent.filter(|parent| !is_none(parent) && !chain.contains(parent)) {
                chain.push(parent);
                *end = Some(parent);
            }
        }
    }
    Ok(chains)
}

/// Of each key those below it that are so many levels away; of 0 all.
fn below(lookup: &Lookup, keys: &UInt64Array, level: u64) -> Result<Vec<Vec<u64>>> {
    let mut found: Vec<Vec<u64>> = vec![Vec::new(); keys.len()];
    let mut seen: Vec<HashSet<u64>> = vec![HashSet::new(); keys.len()];
    let mut edge: Vec<(usize, u64)> =
        keys.iter().enumerate().map(|(row, key)| (row, key.unwrap_or_default())).collect();
    let (mut granted, mut depth) = (Vec::new(), 0);
    while !edge.is_empty() && (level == 0 || depth < level) {
        depth += 1;
        let asked: ArrayRef = Arc::new(edge.iter().map(|(_, key)| Some(*key)).collect::<UInt64Array>());
        let (places, children) = lookup.places_of(&[asked])?;
        let Some(children) = children.as_list_opt::<i32>() else {
            return internal_err!("the keys below one are laid out as {}", children.data_type());
        };
        granted.push(reserve("of a hierarchy", children.values().len() * KEY_BYTES).map_err(external)?);
        let mut next = Vec::new();
        for (at, (row, _)) in edge.iter().enumerate().filter(|(at, _)| places.is_valid(*at)) {
            let of_key = children.value(at);
            for child in as_keys(&of_key)?.iter().flatten() {
                if seen[*row].insert(child) {
                    next.push((*row, child));
                    if level == 0 || level == depth {
                        found[*row].push(child);
                    }
                }
            }
        }
        edge = next;
    }
    Ok(found)
}

fn lists(keys: Vec<Vec<u64>>) -> Result<ArrayRef> {
    let offsets = OffsetBuffer::from_lengths(keys.iter().map(Vec::len));
    let values: UInt64Array = keys.into_iter().flatten().map(Some).collect();
    let element = Arc::new(to_field("item", &ColumnType::UInt64));
    Ok(Arc::new(ListArray::try_new(element, offsets, Arc::new(values), None)?))
}

#[cfg(test)]
mod tests {
    use super::super::lookup::LookupBuilder;
    use super::*;

    fn filled(rows: &[(u64, u64)]) -> Lookup {
        let lookup = Lookup::default();
        let mut builder = LookupBuilder::new([arrow::datatypes::DataType::UInt64]).unwrap();
        let (keys, parents): (Vec<u64>, Vec<u64>) = rows.iter().copied().unzip();
        builder.push(&[Arc::new(UInt64Array::from(keys))], Arc::new(UInt64Array::from(parents))).unwrap();
        let missing: ArrayRef = Arc::new(UInt64Array::from(vec![0]));
        lookup.fill(builder, &missing, ()).unwrap();
        lookup
    }

    #[test]
    fn a_chain_ends_at_no_parent_at_what_is_not_there_and_in_a_circle() {
        let lookup = filled(&[(1, 0), (2, 1), (4, 2), (7, 7), (8, 9), (9, 8), (10, 99)]);
        let asked = UInt64Array::from(vec![Some(4), Some(7), Some(8), Some(10), Some(5), None]);
        let none = UInt64Array::from(vec![0; 6]);
        let found = above(&lookup, &asked, &none).unwrap();
        assert_eq!(found, [vec![4, 2, 1], vec![7], vec![8, 9], vec![10, 99], vec![], vec![]]);
    }

    #[test]
    fn levels_below_a_key_are_counted() {
        let lookup = Lookup::default();
        let mut builder = LookupBuilder::new([arrow::datatypes::DataType::UInt64]).unwrap();
        let children = lists(vec![vec![2, 3], vec![4], vec![9], vec![8]]).unwrap();
        builder.push(&[Arc::new(UInt64Array::from(vec![1, 2, 8, 9]))], children).unwrap();
        lookup.fill(builder, &lists(vec![vec![]]).unwrap(), ()).unwrap();
        let asked = UInt64Array::from(vec![1, 8, 5]);
        assert_eq!(below(&lookup, &asked, 0).unwrap(), [vec![2, 3, 4], vec![9, 8], vec![]]);
        assert_eq!(below(&lookup, &asked, 2).unwrap(), [vec![4], vec![8], vec![]]);
    }
}
