//! The row groups that one stream of an adopting load works on, in turn.
//!
//! Invariant: a unit is leased by one stream, and done when the last of its row groups is. Must not know: what is done with them.

use std::collections::VecDeque;
use std::sync::Arc;

use datafusion::common::Result;
use load::UnitLease;
use model::saturating::u64_of;
use sources::{Footer, SourceUnit};

use super::adoption::{Adoption, internal};
use crate::error::into_datafusion;

/// A row group of a unit.
pub(super) struct Place {
    pub(super) file: usize,
    pub(super) row_group: usize,
    pub(super) footer: Arc<Footer>,
    pub(super) rows: usize,
    pub(super) unit: SourceUnit,
    /// With the last one of the unit.
    pub(super) lease: Option<UnitLease>,
}

/// The row groups of the units that a stream leases, one by one.
pub(super) struct Groups<'a> {
    adoption: &'a Adoption,
    current: Option<Unit>,
    ended: Vec<Ended>,
}

/// A unit all of whose rows are written.
pub(super) struct Ended {
    pub(super) unit: u32,
    /// As stored.
    pub(super) bytes: u64,
}

/// A unit that is worked on.
struct Unit {
    lease: UnitLease,
    file: usize,
    footer: Arc<Footer>,
    left: VecDeque<usize>,
}

impl<'a> Groups<'a> {
    pub(super) fn new(adoption: &'a Adoption) -> Groups<'a> {
        Groups { adoption, current: None, ended: Vec::new() }
    }

    /// Units that have ended since the last call.
    pub(super) fn take_ended(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.ended)
    }

    fn end(&mut self, lease: UnitLease) {
        if let Some(unit) = lease.unit() {
            self.ended.push(Ended { unit: unit.id.0, bytes: unit.bytes });
        }
        lease.finish();
    }

    /// The next row group. One that `is_ahead` of its time is of a new unit only if there is one for every stream.
    pub(super) async fn next(&mut self, is_ahead: bool) -> Result<Option<Place>> {
        loop {
            let mut unit = match self.current.take() {
                Some(unit) => unit,
                None => match self.lease(is_ahead).await? {
                    Some(unit) => unit,
                    None => return Ok(None),
                },
            };
            let Some(row_group) = unit.left.pop_front() else {
                self.end(unit.lease);
                continue;
            };
            let group = unit.footer.row_group(row_group);
            let rows = usize::try_from(group.num_rows()).unwrap_or(0);
            let bytes = u64::try_from(group.compressed_size()).unwrap_or(0);
            let (file, footer) = (unit.file, Arc::clone(&unit.footer));
            let one = SourceUnit {
                file,
                range: None,
                row_groups: Some(vec![row_group]),
                bytes,
                rows: Some(u64_of(rows)),
                share: None,
            };
            let lease = match unit.left.is_empty() {
                true => Some(unit.lease),
                false => {
                    self.current = Some(unit);
                    None
                }
            };
            return Ok(Some(Place { file, row_group, footer, rows, unit: one, lease }));
        }
    }

    async fn lease(&self, is_ahead: bool) -> Result<Option<Unit>> {
        let (queue, units) = (&self.adoption.queue, &self.adoption.units);
        if is_ahead && !queue.has_ahead(units, self.adoption.streams) {
            return Ok(None);
        }
        let Some(lease) = UnitLease::next(&queue.source()).await else { return Ok(None) };
        let index = lease.unit().map(|unit| unit.id.0 as usize);
        let unit = index.and_then(|index| units.get(index));
        let unit = unit.ok_or_else(|| internal("a lease of a unit that is not there"))?;
        let source = &self.adoption.load.source;
        let footer = source.footer(unit.file).await.map_err(into_datafusion)?;
        let footer = footer.ok_or_else(|| internal("a file that is no Parquet is adopted"))?;
        let left = match &unit.row_groups {
            Some(row_groups) => row_groups.iter().copied().collect(),
            None => (0..footer.num_row_groups()).collect(),
        };
        Ok(Some(Unit { lease, file: unit.file, footer, left }))
    }

    /// All rows of a row group are written; `is_counted` says whether whoever read it counted its file. True if its unit is done.
    pub(super) fn finish(&mut self, place: Place, is_counted: bool) -> bool {
        let groups = place.footer.num_row_groups();
        if place.row_group + 1 == groups && !(is_counted && groups == 1) {
            self.adoption.load.source.count_file_done();
        }
        place.lease.map(|lease| self.end(lease)).is_some()
    }
}
