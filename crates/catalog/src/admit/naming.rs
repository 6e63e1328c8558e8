//! May this change of a named collection or of a function happen?
//!
//! Invariant: no message here holds a value of a collection. Must not know: what keys mean, who uses a collection.

use super::RefusedWhy;
use crate::collections::{COLLECTION_KEYS_MAX, COLLECTIONS_MAX, Collection, altered};
use crate::functions::FUNCTIONS_MAX;
use crate::op::Op;
use crate::state::State;

pub(super) fn check_collection(state: &State, op: &Op) -> Result<(), RefusedWhy> {
    match op {
        Op::CreateCollection { name, entries } => {
            if state.collections().get(name).is_some() {
                return Err(RefusedWhy::CollectionExists(name.to_string()));
            }
            if name.is_empty() {
                return Err(RefusedWhy::Invalid("a named collection needs a name".to_owned()));
            }
            if state.collections().len() >= COLLECTIONS_MAX {
                let message = format!("there are {COLLECTIONS_MAX} named collections, which is the most");
                return Err(RefusedWhy::Invalid(message));
            }
            check_keys(name, entries)
        }
        Op::AlterCollection { name, set, deleted } => {
            let old = existing(state, name)?;
            let known = |key: &str| old.contains_key(key) || set.contains_key(key);
            if let Some(key) = deleted.iter().find(|key| !known(key)) {
                let message = format!("key \"{key}\" of named collection \"{name}\" does not exist");
                return Err(RefusedWhy::Invalid(message));
            }
            check_keys(name, &altered(old, set, deleted))
        }
        Op::DropCollection { name } => existing(state, name).map(drop),
        // The caller sends no others here.
        _ => Ok(()),
    }
}

pub(super) fn check_function(state: &State, op: &Op) -> Result<(), RefusedWhy> {
    let known = |name: &str| state.functions().get(name).is_some();
    match op {
        Op::CreateFunction { name, .. } if name.is_empty() => {
            Err(RefusedWhy::Invalid("a function needs a name".to_owned()))
        }
        Op::CreateFunction { name, .. } if !known(name) && state.functions().len() >= FUNCTIONS_MAX => {
            Err(RefusedWhy::Invalid(format!("there are {FUNCTIONS_MAX} functions, which is the most")))
        }
        Op::DropFunction { name } if !known(name) => Err(RefusedWhy::UnknownFunction(name.to_string())),
        // The caller sends no others here.
        _ => Ok(()),
    }
}

fn existing<'a>(state: &'a State, name: &str) -> Result<&'a Collection, RefusedWhy> {
    let found = state.collections().get(name);
    found.map(AsRef::as_ref).ok_or_else(|| RefusedWhy::UnknownCollection(name.to_owned()))
}

fn check_keys(name: &str, entries: &Collection) -> Result<(), RefusedWhy> {
    let problem = match entries.len() {
        0 => "cannot be empty".to_owned(),
        count if count > COLLECTION_KEYS_MAX => format!("can have {COLLECTION_KEYS_MAX} keys at most"),
        _ if entries.contains_key("") => "cannot have a key without a name".to_owned(),
        _ => return Ok(()),
    };
    Err(RefusedWhy::Invalid(format!("named collection \"{name}\" {problem}")))
}
