//! A share of a query that another server reads: asked for when its first row is wanted, and read here if that server is lost before it came.
//!
//! Invariant: the rows of a share are those of one server. One that is lost, refuses or fails before its first row was handed on costs time; later it is an error that
//! names it, never fewer rows. Must not know: which piece of a plan it is.

use std::fmt;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use boundary::error::{Error, ErrorKind};
use cluster::{Peer, PeerError, Read, Report, RowReceiver, UnitOfFiles, WorkFailed, WorkOrder};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;
use model::ErrorCode;
use model::saturating::usize_of;
use physical::nodes::running::metered::metered;
use physical::spread::node::OtherServer;
use physical::spread::share::{Share, as_one, over};
use physical::spread::units::{SharedUnits, TheseUnits};
use sources::SourceUnit;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::context::execution::Execution;
use crate::context::servers::error_of;
use crate::context::services::Services;

/// Batches that wait for who wants them.
const BATCHES_AHEAD: usize = 4;

/// See the module.
#[derive(Clone)]
pub(crate) struct Elsewhere {
    pub services: Arc<Services>,
    pub execution: Arc<Execution>,
    pub peer: Peer,
    /// Its place among the servers; this one has 0.
    pub place: usize,
    /// Without its units.
    pub order: WorkOrder,
    /// The piece, over all it reads.
    pub whole: Arc<dyn ExecutionPlan>,
    pub share: Share,
    pub units: Option<Arc<SharedUnits>>,
}

/// Why a server gives nothing more.
enum Stopped {
    Lost(String),
    Failed(WorkFailed),
}

impl From<PeerError> for Stopped {
    fn from(error: PeerError) -> Self {
        Stopped::Lost(error.to_string())
    }
}

/// The next rows; `None` behind the last of them.
type Heard = std::result::Result<Option<RecordBatch>, Stopped>;

impl fmt::Debug for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Elsewhere({})", self.peer.address)
    }
}

impl OtherServer for Elsewhere {
    fn name(&self) -> &str {
        &self.peer.address
    }

    fn rows(&self, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (sender, heard) = mpsc::channel(BATCHES_AHEAD);
        let stop = CancellationToken::new();
        let (asking, stopped) = (self.clone(), stop.clone());
        self.services.runtimes.spawn_io("reader", async move {
            tokio::select! {
                () = stopped.cancelled() => {}
                () = asking.hear(&sender) => {}
            }
        });
        let reading = Reading {
            server: self.clone(),
            context,
            heard,
            has_rows: false,
            instead: None,
            _stop: stop.drop_guard(),
        };
        let rows = futures::stream::try_unfold(reading, Reading::next);
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}

impl Elsewhere {
    fn schema(&self) -> SchemaRef {
        self.whole.schema()
    }

    /// Hands on what the server says, until it has said all.
    async fn hear(&self, sender: &mpsc::Sender<Heard>) {
        let heard = self.ask(sender).await.map(|()| None);
        if let (Err(Stopped::Lost(_)), Some(peers)) = (&heard, self.services.peers.get()) {
            peers.avoid(&self.peer);
        }
        // Whoever is gone has no use for it.
        let _ = sender.send(heard).await;
    }

    async fn ask(&self, sender: &mpsc::Sender<Heard>) -> std::result::Result<(), Stopped> {
        let Some(peers) = self.services.peers.get() else { return Err(Stopped::Lost("no port".to_owned())) };
        let mut order = self.order.clone();
        if let (Some(units), Some(read)) = (&self.units, &mut order.read) {
            let all = units.all().await.map_err(|error| Stopped::Lost(error.to_string()))?;
            read.units = all.iter().map(wire_of).collect();
        }
        let mut server = peers.begin(&self.peer, order).await?;
        let (mut receiver, mut read) = (RowReceiver::default(), Read::default());
        loop {
            match server.next().await? {
                Some(Report::Ask(_)) => {
                    let unit = self.units.as_ref().and_then(|units| units.lease(self.place));
                    server.give(unit.and_then(|unit| u32::try_from(unit).ok()).into_iter().collect()).await?;
                }
                Some(Report::Rows(bytes)) => {
                    let batches = receiver.take(bytes).map_err(|error| Stopped::Lost(error.to_string()))?;
                    for batch in batches {
                        if sender.send(Ok(Some(batch))).await.is_err() {
                            return Ok(());
                        }
                    }
                }
                Some(Report::Alive(said)) => {
                    let source = &self.execution.progress.source;
                    source.add_bytes(said.bytes.saturating_sub(read.bytes));
                    source.add_rows(usize_of(said.rows.saturating_sub(read.rows)));
                    read = said;
                }
                Some(Report::Done(_)) => {
                    return receiver.end().map_err(|error| Stopped::Lost(error.to_string()));
                }
                Some(Report::Failed(failed)) => return Err(Stopped::Failed(failed)),
                Some(Report::Back(_)) => {}
                None => return Err(Stopped::Lost("it ended without a word".to_owned())),
            }
        }
    }
}

/// The rows of one share, as they are wanted.
struct Reading {
    server: Elsewhere,
    context: Arc<TaskContext>,
    heard: mpsc::Receiver<Heard>,
    has_rows: bool,
    /// The same share, read here.
    instead: Option<SendableRecordBatchStream>,
    _stop: DropGuard,
}

impl Reading {
    async fn next(mut self) -> Result<Option<(RecordBatch, Reading)>> {
        if self.instead.is_none() {
            match self.heard.recv().await {
                Some(Ok(None)) => return Ok(None),
                None => self.read_here(Stopped::Lost("it is not listened to any more".to_owned()))?,
                Some(Ok(Some(batch))) => {
                    self.has_rows = true;
                    return Ok(Some((self.checked(batch)?, self)));
                }
                Some(Err(stopped)) => self.read_here(stopped)?,
            }
        }
        match &mut self.instead {
            None => Ok(None),
            Some(rows) => Ok(rows.next().await.transpose()?.map(|batch| (batch, self))),
        }
    }

    /// What other servers say is believed, but columns of other types would be read as what they are not.
    fn checked(&self, batch: RecordBatch) -> Result<RecordBatch> {
        let schema = self.server.schema();
        // Rows of no columns are counted all the same.
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = batch.columns().to_vec();
        RecordBatch::try_new_with_options(schema, columns, &options).map_err(DataFusionError::from)
    }

    fn read_here(&mut self, stopped: Stopped) -> Result<()> {
        let Elsewhere { peer, share, whole, units, place, .. } = &self.server;
        let why = match &stopped {
            Stopped::Lost(why) => why.clone(),
            Stopped::Failed(failed) => failed.message.clone(),
        };
        if self.has_rows {
            let lost = match &stopped {
                Stopped::Failed(failed) => error_of(failed, &peer.address),
                Stopped::Lost(_) => Error::new(
                    ErrorKind::Unavailable,
                    ErrorCode::NETWORK_ERROR,
                    format!("server {} was lost while it sent its share of the rows: {why}", peer.address),
                )
                .with_hint("run the statement again: servers that are gone are not asked"),
            };
            return Err(DataFusionError::External(Box::new(lost)));
        }
        self.server.execution.warn(format!("server {}: {why}; its share was read here", peer.address));
        let mut share = share.clone();
        if let Some(units) = units {
            share.feed = Some(Arc::new(TheseUnits::new(units.held_by(*place))));
        }
        let plan = reset_plan_states(over(whole, &share)?)?;
        let plan = as_one(metered(plan)?, None);
        self.instead = Some(plan.execute(0, Arc::clone(&self.context))?);
        Ok(())
    }
}

fn wire_of(unit: &SourceUnit) -> UnitOfFiles {
    let number = |position: usize| u64::try_from(position).unwrap_or(u64::MAX);
    UnitOfFiles {
        file: number(unit.file),
        is_whole: unit.row_groups.is_none(),
        row_groups: unit.row_groups.iter().flatten().map(|group| number(*group)).collect(),
        bytes: unit.bytes,
        rows: unit.rows,
    }
}

/// The other way.
pub(crate) fn unit_of_wire(unit: &UnitOfFiles) -> SourceUnit {
    let groups = || unit.row_groups.iter().map(|group| usize_of(*group)).collect();
    SourceUnit {
        file: usize_of(unit.file),
        row_groups: (!unit.is_whole).then(groups),
        range: None,
        bytes: unit.bytes,
        rows: unit.rows,
        share: None,
    }
}
