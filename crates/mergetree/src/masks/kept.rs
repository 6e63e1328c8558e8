//! Masks that were computed, kept for the queries to come.
//!
//! Invariant: what is given is of exactly the rows that are asked about; what is of parts and rows that are gone is dropped
//! when something new comes. A mask that finds no room is computed anew by each query. Must not know: how masks are computed.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use host::{MemoryBudget, MemoryGrant};
use model::{PartId, TableId};
use parking_lot::Mutex;

use super::row_mask::RowMask;

/// Rows that masks are of, without the rows.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum SourceId {
    Part(PartId),
    /// Rows of the log: a queue that loses rows in front and gains them behind, of which this is the first block, and how many
    /// rows of a partition there are between two parts.
    Rows {
        partition: Arc<str>,
        first_block: u64,
        rows: u64,
    },
}

/// All sources whose keys overlap, in the order of insertion.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Signature {
    /// Of the table's columns and key.
    pub schema_version: u32,
    pub sources: Vec<SourceId>,
}

impl Signature {
    /// Whether this source is among these, with as many rows or others.
    fn has(&self, source: &SourceId) -> bool {
        match source {
            SourceId::Part(_) => self.sources.contains(source),
            SourceId::Rows { partition, first_block, .. } => self.sources.iter().any(|other| {
                matches!(other, SourceId::Rows { partition: of, first_block: other, .. }
                    if other == first_block && of == partition)
            }),
        }
    }

    /// Whether `later` has these sources and more rows of the log behind them.
    fn comes_before(&self, later: &Signature) -> bool {
        let same = |(one, two): (&SourceId, &SourceId)| match (one, two) {
            (
                SourceId::Rows { partition, first_block, rows },
                SourceId::Rows { partition: of, first_block: first, rows: more },
            ) => partition == of && first_block == first && rows <= more,
            (one, two) => one == two,
        };
        let more = later.sources.get(self.sources.len()..);
        self.schema_version == later.schema_version
            && self.sources.iter().zip(&later.sources).all(same)
            && more.is_some_and(|more| more.iter().all(|source| matches!(source, SourceId::Rows { .. })))
    }
}

/// What is known of rows whose keys overlap.
struct Known {
    signature: Signature,
    masks: Option<(Arc<Vec<RowMask>>, MemoryGrant)>,
    /// Rows that were merged by queries since there is no mask.
    merged_rows: Arc<AtomicU64>,
}

/// The masks of all tables, within a memory budget.
pub struct MaskCache {
    memory: MemoryBudget,
    tables: Mutex<HashMap<TableId, Vec<Known>>>,
}

/// Ranges of keys of one table that something is known of. Those beyond are forgotten, the oldest first.
const KNOWN_MAX: usize = 10_000;

impl MaskCache {
    pub fn new(memory: MemoryBudget) -> MaskCache {
        MaskCache { memory, tables: Mutex::new(HashMap::new()) }
    }

    /// The masks of these sources, in their order.
    pub fn find(&self, table: TableId, signature: &Signature) -> Option<Arc<Vec<RowMask>>> {
        let tables = self.tables.lock();
        let known = tables.get(&table)?.iter().find(|known| known.signature == *signature)?;
        known.masks.as_ref().map(|(masks, _)| Arc::clone(masks))
    }

    /// The masks of sources that these are, but for rows of the log that have come since.
    pub fn find_before(&self, table: TableId, signature: &Signature) -> Option<Arc<Vec<RowMask>>> {
        let tables = self.tables.lock();
        let known = tables.get(&table)?.iter().filter(|known| known.signature.comes_before(signature));
        known.filter_map(|known| known.masks.as_ref()).map(|(masks, _)| Arc::clone(masks)).next_back()
    }

    /// How many rows queries have merged because there is no mask of these sources, nor of them with fewer rows of the log.
    pub fn merged_rows(
        &self,
        table: TableId,
        signature: &Signature,
        is_live: impl Fn(&SourceId) -> bool,
    ) -> Arc<AtomicU64> {
        let mut tables = self.tables.lock();
        let known = tables.entry(table).or_default();
        let counted = known.iter_mut().find(|known| {
            let is_it = known.signature == *signature || known.signature.comes_before(signature);
            known.masks.is_none() && is_it
        });
        if let Some(known) = counted {
            known.signature = signature.clone();
            return Arc::clone(&known.merged_rows);
        }
        make_room(known, is_live);
        let merged_rows = Arc::<AtomicU64>::default();
        known.push(Known {
            signature: signature.clone(),
            masks: None,
            merged_rows: Arc::clone(&merged_rows),
        });
        merged_rows
    }

    /// Keeps masks if there is room for them.
    pub fn keep(
        &self,
        table: TableId,
        signature: &Signature,
        masks: &Arc<Vec<RowMask>>,
        is_live: impl Fn(&SourceId) -> bool,
    ) {
        let mut tables = self.tables.lock();
        make_room(tables.entry(table).or_default(), |source| is_live(source) && !signature.has(source));
        let bytes =
            masks.iter().map(RowMask::bytes).sum::<u64>() + size_of_val(signature.sources.as_slice()) as u64;
        let granted = self.memory.try_grant("masks", bytes).or_else(|_| {
            // Those of other tables are as old as these are new.
            tables.retain(|other, _| *other == table);
            self.memory.try_grant("masks", bytes)
        });
        if let Ok(granted) = granted {
            let masks = Some((Arc::clone(masks), granted));
            let known = Known { signature: signature.clone(), masks, merged_rows: Arc::default() };
            tables.entry(table).or_default().push(known);
        }
    }

    /// Forgets tables that are gone.
    pub fn retain(&self, is_there: impl Fn(TableId) -> bool) {
        self.tables.lock().retain(|table, _| is_there(*table));
    }
}

/// Forgets what is known of rows of which some are not to be kept, and makes room for one more.
fn make_room(known: &mut Vec<Known>, stays: impl Fn(&SourceId) -> bool) {
    known.retain(|known| known.signature.sources.iter().all(&stays));
    let beyond = (known.len() + 1).saturating_sub(KNOWN_MAX);
    known.drain(..beyond);
}
