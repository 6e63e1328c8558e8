//! How loads that outlive their statement change the state.
//!
//! Invariant: a staged part becomes live or removed, once. Must not know: whether a load may be published.

use std::sync::Arc;

use model::{LoadId, PartDescriptor};

use super::{Moment, State};
use crate::blocks::{Replaced, assign};
use crate::loads::{OpenedLoad, StagedLoad};
use crate::op::Op;
use crate::table_state::RemovedPart;

impl State {
    /// `op` is a `StageOpen`.
    pub(super) fn open_load(&mut self, op: &Op, moment: Moment) -> Option<()> {
        let Op::StageOpen {
            load,
            database,
            label,
            table,
            fingerprint,
            schema_version,
            statement,
            files,
            units,
            input,
            is_sealed,
        } = op
        else {
            return None;
        };
        self.tables.get(table)?;
        let opened = OpenedLoad {
            id: *load,
            database: *database,
            label: label.clone(),
            table: *table,
            fingerprint: *fingerprint,
            schema_version: *schema_version,
            statement: Arc::clone(statement),
            files: files.clone(),
            units: units.clone(),
            input: input.clone(),
            is_sealed: *is_sealed,
        };
        self.loads.insert(StagedLoad::new(opened, moment.seq, moment.at_ms));
        Some(())
    }

    pub(super) fn publish_load(&mut self, load: LoadId) -> Option<()> {
        let load = self.loads.remove(load)?;
        // A load replaces nothing, whatever else its transaction does.
        let replaced = Replaced::default();
        self.change(load.table, |state| {
            for part in load.parts() {
                let blocks = assign(state, part, &replaced);
                state.insert_part(Arc::new(PartDescriptor { blocks, ..PartDescriptor::clone(part) }));
            }
        })
    }

    pub(super) fn abort_load(&mut self, load: LoadId, moment: Moment) -> Option<()> {
        let load = self.loads.remove(load)?;
        let (seq, removed_ms) = (moment.seq, moment.at_ms);
        self.change(load.table, |state| {
            for part in load.parts() {
                state.restore_removed(RemovedPart { descriptor: Arc::clone(part), seq, removed_ms });
            }
        })
    }

    pub(super) fn abort_loads(&mut self, wanted: impl Fn(&StagedLoad) -> bool, moment: Moment) -> Option<()> {
        self.loads.matching(wanted).into_iter().try_for_each(|load| self.abort_load(load, moment))
    }
}
