//! Which parts ALTER TABLE .. DETACH, ATTACH and DROP DETACHED are about, and the transaction that carries them out.
//!
//! Invariant: a part changes from seen to unseen, or back, in the record that names it anew in the definition, so no record
//! leaves a part in both places or in none. Must not know: how rows are copied, and who commits.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use catalog::{Op, Precondition, TableState};
use datafusion::execution::SessionState;
use model::{ErrorCode, PartDescriptor, PartId, TableDef, TableEngine, TableKeys};
use sql::{NamedParts, PartsChangeKind};

use crate::changes::Within;
use crate::partition_ids::partition_id;

/// A part, and the number of the command that named it.
pub type Chosen = (usize, Arc<PartDescriptor>);

/// Refuses tables that have no parts to be named.
pub fn check_engine(def: &TableDef) -> Result<(), Error> {
    if def.engine == TableEngine::MergeTree {
        return Ok(());
    }
    let message = format!(
        "table \"{}\" of engine {} has no partitions that could be named",
        def.name,
        def.engine.name()
    );
    Err(Error::new(ErrorKind::Unsupported, ErrorCode::NOT_IMPLEMENTED, message))
}

/// What a command names, for a table of these keys.
pub fn within(
    state: &SessionState,
    def: &TableDef,
    keys: &TableKeys,
    named: &NamedParts,
) -> Result<Within, Error> {
    Ok(match named {
        NamedParts::All => Within::All,
        NamedParts::Partition(partition) => Within::Partition(partition_id(state, def, keys, partition)?),
        NamedParts::Part(name) => Within::Part(name.clone()),
    })
}

/// The parts that the commands are about, each once, in the order of the commands and of their rows.
///
/// # Errors
/// PART names one that is not there. A partition may have none.
pub fn chosen(table: &TableState, kind: &PartsChangeKind, within: &[Within]) -> Result<Vec<Chosen>, Error> {
    let of_detached =
        || table.detached().map(|detached| Arc::clone(&detached.descriptor)).collect::<Vec<_>>();
    let is_of_detached = matches!(kind, PartsChangeKind::Attach | PartsChangeKind::DropDetached);
    let mut there = if is_of_detached { of_detached() } else { table.parts().cloned().collect() };
    there.sort_by_key(|part| (part.blocks, part.id));
    let (mut chosen, mut seen) = (Vec::new(), HashSet::new());
    for (command, within) in within.iter().enumerate() {
        let mut named = there.iter().filter(|part| within.has(part)).peekable();
        if let (Within::Part(name), None) = (within, named.peek()) {
            return Err(no_part(table, name, is_of_detached));
        }
        chosen.extend(named.filter(|part| seen.insert(part.id)).map(|part| (command, Arc::clone(part))));
    }
    Ok(chosen)
}

fn no_part(table: &TableState, name: &str, is_of_detached: bool) -> Error {
    let unknown = |code, message, hint: &str| {
        Error::new(ErrorKind::UnknownObject, code, message).with_hint(hint.to_owned())
    };
    let of = &table.def.name;
    if is_of_detached {
        let message = format!("table \"{of}\" has no detached part \"{name}\"");
        return unknown(ErrorCode::BAD_DATA_PART_NAME, message, "system.detached_parts has their names");
    }
    // partition_min_max_level; a partition may have more of the dividers.
    let mut numbers = name.rsplitn(4, '_');
    let is_number = |text: Option<&str>| text.is_some_and(|text| text.parse::<u64>().is_ok());
    let is_name =
        (0..3).all(|_| is_number(numbers.next())) && numbers.next().is_some_and(|of| !of.is_empty());
    let code = if is_name { ErrorCode::NO_SUCH_DATA_PART } else { ErrorCode::BAD_DATA_PART_NAME };
    let hint = "system.parts has the names of parts; a merge gives others";
    unknown(code, format!("table \"{of}\" has no part \"{name}\""), hint)
}

/// What must hold, and what happens but for rows that are attached: `parts` go out of sight, or are detached no more.
pub fn transaction(
    table: &TableState,
    kind: &PartsChangeKind,
    parts: &[Chosen],
    forgets_tokens: bool,
) -> (Vec<Precondition>, Vec<Op>) {
    let id = table.def.id;
    let named = || parts.iter().map(|(_, part)| part.id);
    let mut detached: BTreeSet<PartId> = table.def.detached_parts();
    let schema_version = table.def.schema_version;
    let mut preconditions = vec![Precondition::SchemaCompatible { table: id, schema_version }];
    let mut ops: Vec<Op> = Vec::new();
    if *kind == PartsChangeKind::Detach {
        preconditions.extend(named().map(|part| Precondition::PartLive { table: id, part }));
        ops.extend(named().map(|part| Op::RemovePart { table: id, part }));
        detached.extend(named());
    } else {
        named().for_each(|part| {
            detached.remove(&part);
        });
    }
    ops.push(Op::AlterTable(table.def.with_detached_parts(&detached)));
    if forgets_tokens {
        // What is not there may be inserted again.
        ops.push(Op::ForgetTokens { table: id });
    }
    (preconditions, ops)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_is_not_there_is_told_from_what_is_no_name() {
        let def = TableDef::plain(model::TableId::from_bytes([1; 16]), "t", TableEngine::MergeTree, vec![]);
        let table = TableState::new(Arc::new(def));
        let code = |kind: PartsChangeKind, name: &str| {
            chosen(&table, &kind, &[Within::Part(name.to_owned())]).unwrap_err().code
        };
        assert_eq!(code(PartsChangeKind::Detach, "all_1_1_0"), ErrorCode::NO_SUCH_DATA_PART);
        assert_eq!(code(PartsChangeKind::Detach, "a_b_1_1_0"), ErrorCode::NO_SUCH_DATA_PART);
        for name in ["nope", "_1_1_0", "all_1_1_x", "1_1_0", ""] {
            assert_eq!(code(PartsChangeKind::Detach, name), ErrorCode::BAD_DATA_PART_NAME, "{name}");
        }
        assert_eq!(code(PartsChangeKind::Attach, "all_1_1_0"), ErrorCode::BAD_DATA_PART_NAME);
        assert!(
            chosen(&table, &PartsChangeKind::Detach, &[Within::Partition("1".to_owned())])
                .unwrap()
                .is_empty()
        );
    }
}
