//! What a part says of itself in its own footer, for the day when the log is gone.
//!
//! Invariant: nothing of a running database reads it; the log decides. Whoever brings rows back without a log takes the
//! definition of the newest part of a table, and leaves out the parts that a sound one says it replaced.

use catalog::definition_format::definition_text;
use model::{BlockRange, PartId};

use crate::table::Table;

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
        ("gristmill.definition", definition_text(&table.def)),
        ("gristmill.database", snapshot.state().database_name(table.def.database)),
        ("gristmill.table_name", table.def.name.to_string()),
        // The newest record when it was written: whatever names the part comes later.
        ("gristmill.seq", snapshot.seq().to_string()),
        ("gristmill.created_ms", table.host.clock.now_ms().to_string()),
        ("gristmill.level", level.to_string()),
        ("gristmill.blocks", format!("{}-{}", blocks.min, blocks.max)),
        ("gristmill.replaced", ids.join(" ")),
    ];
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
