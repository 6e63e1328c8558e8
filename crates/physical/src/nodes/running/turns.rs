//! Turns: what computes for long lets other tasks have theirs between its batches.
//!
//! A task that always finds another batch awaits nothing: a join of a million rows with a million others hands batches on for hours, and
//! as many such tasks as there are computing threads keep everybody else out. Behind the last of many rows whatever collects
//! them begins to work, without a batch to stop at: there the task gives its thread away.
//! Invariant: the rows are the input's, in its order. Must not know: what the rows are for.

use std::pin::Pin;
use std::task::{Context, Poll};

use arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::execution::SendableRecordBatchStream;
use futures::{Stream, StreamExt};
use host::at_length::let_others_go;
use host::turn::Turn;

/// So many rows are sorted, hashed or written out of a table of groups in some milliseconds.
const ROWS_MANY: usize = 1 << 18;

/// See the module.
pub(super) struct Turns {
    rows: SendableRecordBatchStream,
    turn: Turn,
    seen: usize,
}

impl Turns {
    pub(super) fn of(rows: SendableRecordBatchStream) -> Turns {
        Turns { rows, turn: Turn::default(), seen: 0 }
    }
}

impl Stream for Turns {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.turn.is_over() {
            self.turn.end();
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let next = self.rows.poll_next_unpin(context);
        match &next {
            Poll::Pending => self.turn.end(),
            Poll::Ready(Some(Ok(batch))) => self.seen += batch.num_rows(),
            Poll::Ready(None) if self.seen > ROWS_MANY => let_others_go(),
            Poll::Ready(_) => {}
        }
        next
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rows.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::Schema;
    use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
    use host::Runtimes;

    use super::*;

    /// One thread computes: what never awaits anything would keep it for ever.
    #[test]
    fn endless_rows_keep_nobody_out() {
        let runtimes = Runtimes::new(1, 1).unwrap();
        let schema = Arc::new(Schema::empty());
        let batch = RecordBatch::new_empty(Arc::clone(&schema));
        let endless = futures::stream::repeat_with(move || Ok(batch.clone()));
        let rows = Turns::of(Box::pin(RecordBatchStreamAdapter::new(schema, endless)));
        let forever = runtimes.spawn_cpu("endless", rows.for_each(|_| std::future::ready(())));
        let beside = runtimes.spawn_cpu("beside", async { 1 });
        assert_eq!(runtimes.block_on(beside).unwrap(), 1);
        forever.abort();
    }
}
