//! Finds the units of a load as it runs: ranges of large text files, whose records end where only reading tells.
//!
//! ```text
//! ranges of the next file ──► StageUnits (a batch) ──► list, leases ──► ... ──► StageUnits + StageSeal
//! ```
//! Invariant: a unit is leased after it is in the log, with the number it has there. What the log has is the only state: whoever
//! goes on with the load cuts on where the last unit ends. Must not know: who reads the units.

use std::sync::Arc;

use boundary::error::Error;
use catalog::{Op, StagedLoad};
use host::meter;
use model::{Label, LoadId, StagedUnit};
use physical::nodes::unit_list::UnitList;
use sinks::frozen::{Places, take_in};
use sinks::leases::SharedLeases;
use sources::ObjectTable;
use tokio::task::JoinHandle;
use tokio_util::task::AbortOnDropHandle;

use super::ending::{commit_ops, given_up};
use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::query::load_source::unit_of;

/// See the module.
pub(super) struct Cutting {
    pub services: Arc<Services>,
    pub execution: Arc<Execution>,
    pub source: Arc<ObjectTable>,
    pub load: LoadId,
    pub label: Label,
    pub places: Arc<Places>,
    pub list: Arc<UnitList>,
    pub leases: Arc<SharedLeases>,
    /// Streams that read the load, on all servers.
    pub streams: usize,
}

impl Cutting {
    /// Cuts beside those who read, until all is cut or the handle is dropped. An error ends the load.
    pub(super) fn start(self) -> AbortOnDropHandle<()> {
        let runtimes = self.services.runtimes.clone();
        let account = Some(Arc::clone(&self.execution.account));
        let task: JoinHandle<()> = runtimes.spawn_cpu("unit cutter", async move {
            if let Err(error) = meter::metered(account, self.all()).await {
                self.leases.fail(error);
            }
        });
        AbortOnDropHandle::new(task)
    }

    async fn all(&self) -> Result<(), Error> {
        loop {
            let open = self.open()?;
            self.take_in(&open)?;
            if open.is_sealed {
                self.leases.seal();
                return Ok(());
            }
            let known = self.list.len();
            let Err(error) = self.rest_of(&open).await else { continue };
            let now = self.open()?;
            if !now.is_sealed && now.units.len() <= known {
                return Err(error);
            }
            // Another server goes on with the same load, and was faster.
        }
    }

    fn open(&self) -> Result<Arc<StagedLoad>, Error> {
        self.services.catalog.snapshot().load(self.load).ok_or_else(|| given_up(&self.label))
    }

    /// What the log has and this process does not know is free.
    fn take_in(&self, open: &StagedLoad) -> Result<(), Error> {
        let known = self.list.len();
        let found = take_in(&self.list, open, &self.places)?;
        let units = (known..).zip(&found).map(unit_of);
        // Whoever else goes on with the load may have staged some already.
        self.leases.add(units.filter(|unit| !open.is_covered(unit.id.0)).collect());
        Ok(())
    }

    /// Cuts the first file that is not cut to its end, or says that there is none.
    async fn rest_of(&self, open: &StagedLoad) -> Result<(), Error> {
        let Some((file, rest)) = open.uncut().next() else {
            return self.commit(Op::StageSeal { load: self.load }).await;
        };
        let mut ranges = self.source.ranges(self.places.of(file)?, rest.start)?;
        let mut batch = Vec::new();
        while let Some(range) = ranges.next().await? {
            let bytes = range.end - range.start;
            batch.push(StagedUnit { file, row_groups: None, range: Some(range), bytes, rows: None });
            if batch.len() >= self.streams || !self.leases.has_free() {
                self.add(&mut batch).await?;
            }
            self.leases.room(2 * self.streams).await;
        }
        self.add(&mut batch).await
    }

    async fn add(&self, batch: &mut Vec<StagedUnit>) -> Result<(), Error> {
        if batch.is_empty() {
            return Ok(());
        }
        let units = std::mem::take(batch);
        self.commit(Op::StageUnits { load: self.load, units }).await?;
        self.take_in(&*self.open()?)
    }

    async fn commit(&self, op: Op) -> Result<(), Error> {
        commit_ops(&self.services, &self.execution.profile, vec![op]).await.map(drop)
    }
}
