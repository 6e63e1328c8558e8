//! What a part says of itself in its own footer, for the day when the log is gone.
//!
//! Invariant: nothing of a running database reads it; the log decides. What is read back is what was written: the sum of the
//! footer covers it. Must not know: which of the parts that are found are to be used (`survivors`).

use std::str::FromStr;

use catalog::definition_format::{definition_text, read_definition};
use model::{BlockRange, PartDescriptor, PartId, PartitionValue, TableDef};
use parts::FoundPart;

use crate::table::Table;

const DEFINITION: &str = "gristmill.definition";
const DATABASE: &str = "gristmill.database";
const SEQ: &str = "gristmill.seq";
const CREATED: &str = "gristmill.created_ms";
const REPLACED: &str = "gristmill.replaced";

/// What a part says of where it comes from.
#[derive(Clone, Debug)]
pub struct Origin {
    /// As it was when the part was written: the part has exactly its stored columns.
    pub def: TableDef,
    pub database: String,
    /// The newest record then.
    pub seq: u64,
    pub created_ms: u64,
    /// Parts whose rows it holds, or that were dropped before it was made.
    pub replaced: Vec<PartId>,
}

impl Origin {
    /// What the footer of a part says; an error says what is missing.
    ///
    /// # Errors
    /// It does not say enough, or says it for a newer program.
    pub fn of(part: &FoundPart) -> Result<Origin, String> {
        let text = |key: &str| part.says(key).ok_or_else(|| format!("its footer lacks {key}"));
        let number = |key: &str| u64::from_str(text(key)?).map_err(|e| format!("{key}: {e}"));
        let id = |text: &str| PartId::parse(text).ok_or_else(|| format!("{REPLACED}: \"{text}\" is no part"));
        let def = read_definition(text(DEFINITION)?).map_err(|e| e.to_string())?;
        if text("gristmill.part")? != part.id().to_string() {
            return Err("it is another part than its name says".to_owned());
        }
        Ok(Origin {
            def,
            database: text(DATABASE)?.to_owned(),
            seq: number(SEQ)?,
            created_ms: number(CREATED)?,
            replaced: text(REPLACED)?.split_whitespace().map(id).collect::<Result<_, _>>()?,
        })
    }
}

/// What a part of these blocks takes the place of: its `inputs`, what they took over, and what was dropped between them,
/// as long as its files are there.
pub(crate) fn replaced_within(
    table: &Table,
    inputs: Vec<PartId>,
    partition: &PartitionValue,
    blocks: BlockRange,
) -> Vec<PartId> {
    let mut replaced = inputs;
    if let Some(state) = table.catalog.snapshot().table_by_id(table.def.id) {
        let within = |part: &PartDescriptor| {
            part.partition == *partition && part.blocks.min >= blocks.min && part.blocks.max <= blocks.max
        };
        // Nobody took over the rows of detached parts.
        let removed = state.outdated().map(|removed| &removed.descriptor);
        replaced.extend(removed.filter(|part| within(part)).map(|part| part.id));
    }
    replaced
}

/// Keys and values. `level`, `blocks` and `replaced` are those of the part; new rows replace nothing.
pub(crate) fn origin_pairs(
    table: &Table,
    level: u32,
    blocks: BlockRange,
    replaced: &[PartId],
) -> Vec<(String, String)> {
    let snapshot = table.catalog.snapshot();
    let ids: Vec<String> = replaced.iter().map(ToString::to_string).collect();
    let pairs = [
        (DEFINITION, definition_text(&table.def)),
        (DATABASE, snapshot.state().database_name(table.def.database)),
        ("gristmill.table_name", table.def.name.to_string()),
        // The newest record when it was written: whatever names the part comes later.
        (SEQ, snapshot.seq().to_string()),
        (CREATED, table.host.clock.now_ms().to_string()),
        ("gristmill.level", level.to_string()),
        ("gristmill.blocks", format!("{}-{}", blocks.min, blocks.max)),
        (REPLACED, ids.join(" ")),
    ];
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
