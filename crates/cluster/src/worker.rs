//! The side of a call that works: it asks for units, says that it lives, and hears when nobody waits any more.
//!
//! Invariant: every unit it was given is asked for; when the coordinator is gone the work is told, and ends. Must not know: how a
//! unit is read.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::BoxStream;
use host::Runtimes;
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::{Status, Streaming};

use crate::messages::{
    CommitAnswer, CommitRequest, FromWorker, GivenBack, Order, Read, Report, ToWorker, WorkFailed, WorkOrder,
};
use crate::rows::RowSender;

/// How often a worker says that it lives.
pub(crate) const ALIVE_EVERY: Duration = Duration::from_secs(1);
/// Answers on their way: there is one question at a time.
const ANSWERS_MAX: usize = 8;
/// Pieces of rows that wait to be sent.
const ROWS_AHEAD: usize = 4;

/// What a server does for its peers.
#[async_trait]
pub trait PeerWork: Send + Sync + 'static {
    /// Whether a server of this id shares the root.
    async fn is_peer(&self, id: u128) -> bool;

    /// A call had no effect.
    fn refused(&self, from: &str, why: &str);

    /// Commits rows of a peer together with its own; the error is said to whoever asks.
    async fn commit(&self, request: CommitRequest) -> Result<CommitAnswer, String>;

    /// Reads a share of a query, and gives its rows, until there are no more.
    async fn read(
        &self,
        order: WorkOrder,
        coordinator: Arc<Coordinator>,
        rows: RowSender,
    ) -> Result<(), WorkFailed>;

    /// Helps with a load until [`Coordinator::wait`] gives no unit, and then has staged all it read.
    async fn work(&self, order: WorkOrder, coordinator: Arc<Coordinator>) -> Result<(), WorkFailed>;
}

/// Whoever asked for the work hears no more of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NobodyAsks;

/// Who hands out units, as a worker sees it.
#[derive(Debug)]
pub struct Coordinator {
    /// One question and its answer at a time, and what is given back: it stays short.
    reports: mpsc::UnboundedSender<Report>,
    answers: Mutex<Answers>,
    done: Arc<Done>,
    gone: CancellationToken,
}

/// What is asked each time the worker says that it lives.
#[derive(Default)]
struct Done {
    read: OnceLock<Box<dyn Fn() -> Read + Send + Sync>>,
}

impl Done {
    fn so_far(&self) -> Read {
        self.read.get().map_or_else(Read::default, |read| read())
    }
}

impl std::fmt::Debug for Done {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.so_far().fmt(f)
    }
}

#[derive(Debug)]
struct Answers {
    given: mpsc::Receiver<Vec<u32>>,
    /// Asked for and not taken: whoever asked went away.
    owed: usize,
    /// Given and not taken.
    kept: Vec<u32>,
}

impl Coordinator {
    /// The next unit; `None` if none is free now, or nobody hands out any more.
    pub async fn lease(&self) -> Option<u32> {
        self.ask(false).await.ok().flatten()
    }

    /// The next unit, or that there are no more; of a query, for whoever asks counts on all of them.
    ///
    /// # Errors
    /// Nobody hands out any more.
    pub async fn next_unit(&self) -> Result<Option<u32>, NobodyAsks> {
        self.ask(false).await
    }

    /// Waits until a unit is free; `None` when the load needs none any more. Asked for when all that was read is staged.
    pub async fn wait(&self) -> Option<u32> {
        self.ask(true).await.ok().flatten()
    }

    async fn ask(&self, waits: bool) -> Result<Option<u32>, NobodyAsks> {
        let mut answers = self.answers.lock().await;
        loop {
            if let Some(unit) = answers.kept.pop() {
                return Ok(Some(unit));
            }
            if answers.owed == 0 {
                self.reports.send(Report::Ask(waits)).map_err(|_| NobodyAsks)?;
                answers.owed = 1;
            }
            let given = answers.given.recv().await.ok_or(NobodyAsks)?;
            answers.owed = 0;
            answers.kept = given;
            if answers.kept.is_empty() && !waits {
                return Ok(None);
            }
        }
    }

    /// These were not staged, and others may read them.
    pub fn give_back(&self, units: Vec<u32>) {
        // A coordinator that is gone has them all back.
        let _ = self.reports.send(Report::Back(GivenBack { units }));
    }

    /// For who watches the load: asked each second, and in the end. The first counts.
    pub fn watch(&self, read: impl Fn() -> Read + Send + Sync + 'static) {
        let _first = self.done.read.set(Box::new(read));
    }

    /// Nobody waits for what is done here.
    pub fn gone(&self) -> &CancellationToken {
        &self.gone
    }
}

/// What a coordinator hears, until it or the work ends.
struct Answered {
    reports: mpsc::UnboundedReceiver<Report>,
    /// Rows, and behind the last of them how the work ended.
    rows: mpsc::Receiver<Report>,
    ticks: tokio::time::Interval,
    done: Arc<Done>,
    _gone: DropGuard,
}

/// Starts the work, and gives what is to be said of it.
pub(crate) fn begin(
    (work, runtimes): (&Arc<dyn PeerWork>, &Runtimes),
    order: WorkOrder,
    orders: Streaming<ToWorker>,
) -> BoxStream<'static, Result<FromWorker, Status>> {
    let (reports, heard) = mpsc::unbounded_channel();
    let (answers, given) = mpsc::channel(ANSWERS_MAX);
    let (done, gone) = (Arc::new(Done::default()), CancellationToken::new());
    let coordinator = Arc::new(Coordinator {
        reports: reports.clone(),
        answers: Mutex::new(Answers { given, owed: 0, kept: Vec::new() }),
        done: Arc::clone(&done),
        gone: gone.clone(),
    });
    runtimes.spawn_io("peer orders", take_orders(orders, answers, gone.clone()));
    let (work, all_done) = (Arc::clone(work), Arc::clone(&done));
    let (rows, rows_heard) = mpsc::channel(ROWS_AHEAD);
    runtimes.spawn_cpu("peer work", async move {
        let worked = match order.read {
            Some(_) => work.read(order, coordinator, RowSender::new(rows.clone())).await,
            None => work.work(order, coordinator).await,
        };
        let report = match worked {
            Ok(()) => Report::Done(true),
            Err(failed) => Report::Failed(failed),
        };
        // Who is gone does not need to know.
        let _ = rows.send(Report::Alive(all_done.so_far())).await;
        let _ = rows.send(report).await;
    });
    let mut ticks = tokio::time::interval(ALIVE_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let answered = Answered { reports: heard, rows: rows_heard, ticks, done, _gone: gone.drop_guard() };
    futures::stream::unfold(answered, |mut answered| async move {
        let report = tokio::select! {
            report = answered.rows.recv() => report?,
            Some(report) = answered.reports.recv() => report,
            _ = answered.ticks.tick() => Report::Alive(answered.done.so_far()),
        };
        Some((Ok(FromWorker { report: Some(report) }), answered))
    })
    .boxed()
}

/// Hands on what the coordinator gives. It ends its side when the load needs nothing more; a connection that breaks ends the work.
async fn take_orders(
    mut orders: Streaming<ToWorker>,
    answers: mpsc::Sender<Vec<u32>>,
    gone: CancellationToken,
) {
    loop {
        let order = tokio::select! {
            () = gone.cancelled() => return,
            order = orders.message() => order,
        };
        match order {
            Ok(Some(ToWorker { order: Some(Order::Units(units)) })) => {
                if answers.send(units.units).await.is_err() {
                    return;
                }
            }
            Ok(Some(_)) => {}
            Ok(None) => return,
            Err(_) => return gone.cancel(),
        }
    }
}
