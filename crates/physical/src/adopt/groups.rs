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
        Groups { adoption, current: None }
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
                unit.lease.finish();
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
        let (free, ..) = self.adoption.queue.counts();
        if is_ahead && free < self.adoption.streams {
            return Ok(None);
        }
        let Some(lease) = UnitLease::of(&self.adoption.queue) else { return Ok(None) };
        let index = lease.unit().map(|unit| unit.id.0 as usize);
        let unit = index.and_then(|index| self.adoption.units.get(index));
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

    /// All rows of a row group are written; `is_counted` says whether whoever read it counted its file.
    pub(super) fn finish(&self, place: Place, is_counted: bool) {
        let groups = place.footer.num_row_groups();
        if place.row_group + 1 == groups && !(is_counted && groups == 1) {
            self.adoption.load.source.count_file_done();
        }
        if let Some(lease) = place.lease {
            lease.finish();
        }
    }
}
