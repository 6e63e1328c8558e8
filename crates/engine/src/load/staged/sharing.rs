//! A load from its opening to the last unit: this server and its helpers read what is left, in rounds.
//!
//! Invariant: it is over when the log says that every unit is staged, and not before. Must not know: how it is published.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use boundary::error::Error;
use boundary::ledgers::loads::LoadAttempt;
use cluster::{Coordinator, Peer, Read};
use load::{Leases, LoadPlan, NextUnit, Unit, UnitSource};
use model::{Label, LoadId, Seq};
use parking_lot::Mutex;
use physical::nodes::unit_list::UnitList;
use sources::SourceUnit;
use tokio_util::task::AbortOnDropHandle;

use super::StagedInsert;
use super::cutting::Cutting;
use super::ending::given_up;
use super::rounds::{HandOut, LoadUnits, Round, plan_round, run_round};
use crate::context::execution::{Execution, Helping};
use crate::context::services::Services;
use crate::load::workers::{self, Help, enough_for};
use crate::query::load_source::unit_of;
use crate::query::select::PlannedQuery;
use sinks::frozen::{Places, outlook, take_in};
use sinks::leases::SharedLeases;

/// While others read, the log is looked at so often: one of them may be gone without a word.
const LOOKS: Duration = Duration::from_millis(500);

/// What is left of a load, and who reads it.
pub(super) struct Shared {
    all: Arc<UnitList>,
    places: Arc<Places>,
    leases: Arc<SharedLeases>,
    hand_out: HandOut,
    helpers: Vec<Peer>,
}

impl Shared {
    pub(super) fn new(insert: &StagedInsert<'_>, units: LoadUnits) -> Shared {
        let LoadUnits { all, left, uncut, is_sealed, places } = units;
        let (ranges, _) = outlook(&[], &uncut, insert.source.range_bytes());
        let helpers = enough_for(left.len() + ranges, insert.helpers.clone());
        let servers = helpers.len() + 1;
        let tail = insert.sinks * 2 * servers;
        let in_order = LoadPlan::new(left).hand_out_order(tail);
        let leases = if is_sealed { Leases::new(in_order) } else { Leases::growing(in_order) };
        // The cutter goes on until twice as many are free, so whoever has nobody else to help is not kept waiting.
        let spared = if helpers.is_empty() { 0 } else { insert.sinks * servers };
        let leases = Arc::new(SharedLeases::new(leases, spared));
        let source: Arc<dyn UnitSource> = Arc::clone(&leases) as _;
        Shared { all, places, leases, hand_out: HandOut { source, servers }, helpers }
    }

    pub(super) async fn plan(
        &self,
        insert: &StagedInsert<'_>,
        planned: &mut PlannedQuery,
        attempt: &LoadAttempt,
    ) -> Result<Round, Error> {
        plan_round(insert, planned, &self.all, &self.hand_out, attempt).await
    }

    pub(super) fn units(&self) -> Arc<Vec<SourceUnit>> {
        self.all.all()
    }

    /// Finds the units that are not known yet, if there are any.
    fn cut(
        &self,
        services: &Arc<Services>,
        execution: &Arc<Execution>,
        insert: &StagedInsert<'_>,
        (load, label): (LoadId, &Label),
    ) -> Option<AbortOnDropHandle<()>> {
        let cutting = Cutting {
            services: Arc::clone(services),
            execution: Arc::clone(execution),
            source: Arc::clone(&insert.source),
            load,
            label: label.clone(),
            places: Arc::clone(&self.places),
            list: Arc::clone(&self.all),
            leases: Arc::clone(&self.leases),
            streams: insert.sinks * self.hand_out.servers,
        };
        self.leases.grows().then(|| cutting.start())
    }

    /// Reads and stages everything, with the helpers. `first` was planned before the load was opened, at `seq`.
    pub(super) async fn stage(
        self,
        services: &Arc<Services>,
        execution: &Arc<Execution>,
        insert: &StagedInsert<'_>,
        (mut planned, first): (PlannedQuery, Round),
        load: (LoadId, &Label, &Arc<LoadAttempt>),
        seq: Seq,
    ) -> Result<(), Error> {
        let (id, label, attempt) = load;
        let leases = &self.leases;
        let mut changes = leases.changes();
        let help = Help {
            load: id,
            seq,
            text: insert.text,
            helpers: self.helpers.clone(),
            given: Arc::clone(&attempt.given),
        };
        let helping = workers::start(services, execution, leases, help);
        let _cutting = self.cut(services, execution, insert, (id, label));
        let mut first = Some(first);
        let rows_before = services.catalog.snapshot().load(id).map_or(0, |open| open.rows());
        loop {
            changes.mark_unchanged();
            if leases.has_free() || leases.grows() {
                let round = match first.take() {
                    Some(first) => first,
                    None => self.plan(insert, &mut planned, attempt).await?,
                };
                let mut failed = leases.changes();
                tokio::select! {
                    done = run_round(services, execution, insert, (id, attempt), round) => done?,
                    // A helper has found what would end the load here, too.
                    _ = failed.wait_for(|_| leases.failed().is_some()) => {}
                }
            }
            if let Some(error) = leases.failed() {
                return Err(error);
            }
            let open = services.catalog.snapshot().load(id).ok_or_else(|| given_up(label))?;
            leases.settle(&open);
            if leases.is_over() {
                break;
            }
            if !leases.has_free() && !leases.grows() {
                tokio::select! {
                    _ = changes.changed() => {}
                    () = tokio::time::sleep(LOOKS) => workers::look(services, id, leases).await,
                }
            }
        }
        helping.end().await;
        // Of what helpers staged before they were lost nobody else has told.
        let staged = services.catalog.snapshot().load(id).map_or(0, |open| open.rows());
        let here = execution.progress.written_rows();
        execution.progress.add_written(staged.saturating_sub(rows_before + here), 0);
        Ok(())
    }
}

/// The units of a load that another server coordinates.
pub(super) struct Remote {
    services: Arc<Services>,
    coordinator: Arc<Coordinator>,
    load: LoadId,
    all: Arc<UnitList>,
    places: Arc<Places>,
    /// Was given already.
    first: Mutex<Option<u32>>,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Remote({} units)", self.all.len())
    }
}

impl Remote {
    /// A unit by its number. It was in the log before it was leased.
    async fn known(&self, number: u32) -> Option<Unit> {
        let at = number as usize;
        if self.all.get(at).is_none() {
            workers::catch_up(&self.services).await;
        }
        let open = self.services.catalog.snapshot().load(self.load)?;
        take_in(&self.all, &open, &self.places).ok()?;
        // Whoever else goes on with the load may have staged it meanwhile.
        self.all.get(at).filter(|_| !open.is_covered(number)).as_ref().map(|unit| unit_of((at, unit)))
    }
}

impl UnitSource for Remote {
    fn next(&self) -> NextUnit<'_> {
        Box::pin(async {
            let first = self.first.lock().take();
            let unit = match first {
                Some(unit) => unit,
                None => self.coordinator.lease().await?,
            };
            let known = self.known(unit).await;
            if known.is_none() {
                self.give_back(&[unit]);
            }
            known
        })
    }

    fn ended(&self, unit: Unit, is_read: bool) {
        // What was read is held until it is staged.
        if !is_read {
            self.give_back(&[unit.id.0]);
        }
    }

    fn give_back(&self, units: &[u32]) {
        self.coordinator.give_back(units.to_vec());
    }
}

/// Reads and stages what the coordinator gives, until it gives nothing more.
pub(super) async fn help(
    services: &Arc<Services>,
    execution: &Execution,
    insert: &StagedInsert<'_>,
    (mut planned, units): (PlannedQuery, LoadUnits),
    (id, attempt): (LoadId, &Arc<LoadAttempt>),
    helping: &Helping,
) -> Result<(), Error> {
    let coordinator = &helping.coordinator;
    let progress = Arc::clone(&execution.progress);
    coordinator.watch(move || Read {
        rows: progress.source.rows_read(),
        bytes: progress.source.bytes_read(),
        written_rows: progress.written_rows(),
        written_bytes: progress.written_bytes(),
    });
    let remote = Arc::new(Remote {
        services: Arc::clone(services),
        coordinator: Arc::clone(coordinator),
        load: id,
        all: Arc::clone(&units.all),
        places: units.places,
        first: Mutex::default(),
    });
    let hand_out = HandOut { source: Arc::clone(&remote) as _, servers: helping.servers };
    while let Some(unit) = coordinator.wait().await {
        *remote.first.lock() = Some(unit);
        let round = plan_round(insert, &mut planned, &units.all, &hand_out, attempt).await?;
        helping.reads.store(true, Ordering::Release);
        run_round(services, execution, insert, (id, attempt), round).await?;
    }
    Ok(())
}
