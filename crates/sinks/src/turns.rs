//! The sinks of one INSERT of rows that come in one stream.
//!
//! While a sink sorts and writes its block it takes no rows; so a second one begins when the first has taken a block, a
//! third after two, and from then on they take turns. A body of less than a block is one sink's, and one part.
//! Invariant: every row goes to one sink. The first that fails stops the others, and its error is the statement's.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use boundary::error::{Error, into_datafusion};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;
use futures::stream::BoxStream;
use futures::stream::FuturesUnordered;
use tokio::sync::{Mutex, watch};

use crate::exec::sink::write_stream;
use crate::target::SinkTarget;

/// Rows in the order in which they come.
pub type Batches = BoxStream<'static, Result<RecordBatch, Error>>;

/// Rows that sinks take from, batch by batch.
struct Turns {
    /// `None` after the end or an error.
    rows: Mutex<Option<Batches>>,
    /// Bytes of the batches taken so far.
    taken: watch::Sender<u64>,
}

/// Sorts and writes all rows with at most `sinks` sinks; the parts are among the target's uncommitted ones.
pub async fn write_rows(rows: Batches, sinks: usize, target: &Arc<SinkTarget>) -> Result<(), Error> {
    let (taken, mut watched) = watch::channel(0);
    let turns = Arc::new(Turns { rows: Mutex::new(Some(rows)), taken });
    let begin = || write_stream(turns_of(&turns), Arc::clone(target));
    let mut running = FuturesUnordered::from_iter([begin()]);
    let mut begun: u64 = 1;
    let mut written = Ok(());
    loop {
        let may_begin = usize::try_from(begun).is_ok_and(|begun| begun < sinks) && written.is_ok();
        // Without a block's size every batch is a block.
        let blocks_taken = begun.saturating_mul(target.settings.block_bytes_min.max(1));
        tokio::select! {
            biased;
            done = running.next() => match done {
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    target.stop.cancel();
                    if written.is_ok() {
                        written = Err(error);
                    }
                }
                None => return written,
            },
            _ = watched.wait_for(|taken| *taken >= blocks_taken), if may_begin => {
                running.push(begin());
                begun += 1;
            }
        }
    }
}

/// What one sink takes.
fn turns_of(turns: &Arc<Turns>) -> SendableRecordBatchStream {
    let batches = futures::stream::unfold(Arc::clone(turns), |turns| async move {
        let mut rows = turns.rows.lock().await;
        let batch = match rows.as_mut() {
            Some(rows) => rows.next().await,
            None => None,
        };
        match &batch {
            Some(Ok(batch)) => {
                let bytes = batch.get_array_memory_size() as u64;
                turns.taken.send_modify(|taken| *taken = taken.saturating_add(bytes));
            }
            Some(Err(_)) | None => *rows = None,
        }
        drop(rows);
        Some((batch?.map_err(into_datafusion), turns))
    });
    Box::pin(RecordBatchStreamAdapter::new(Arc::new(Schema::empty()), batches))
}
