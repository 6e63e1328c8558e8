//! The rows of all partitions of a plan as one stream, made by whoever asks for them for as long as that is enough.
//!
//! DataFusion starts a task for each partition, and each opens its files and computes batches ahead. Where more statements
//! run than there are threads that gains nothing, and for a thousand clients who hardly read it is most of what they cost.
//! There the first partition alone is asked, until a few batches were taken or a few milliseconds computed: then somebody
//! wants the rows, and the tasks are started.
//! Invariant: the rows are those of the plan, each partition is executed once, none is asked alone that needs the others. Must not know: clients, what the plan reads.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::stream::{RecordBatchReceiverStream, RecordBatchStreamAdapter};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, execute_stream};
use futures::StreamExt;
use host::Clock;

/// Batches that are made without tasks: what a client's connection takes before anybody reads from it.
const BATCHES_ALONE: usize = 6;

/// Time computed without tasks.
const TIME_ALONE: Duration = Duration::from_millis(5);

/// The rows of a plan, sparingly as the module says.
///
/// # Errors
/// Those of the plan's beginning.
pub fn gathered(
    plan: Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
    clock: Arc<dyn Clock>,
) -> Result<SendableRecordBatchStream> {
    // One with a LIMIT of its own counts the rows of all partitions.
    let below = plan.downcast_ref::<CoalescePartitionsExec>().filter(|gather| gather.fetch().is_none());
    let plan = below.map_or(&plan, |gather| gather.input());
    if plan.output_partitioning().partition_count() <= 1 || !has_independent_partitions(plan) {
        return execute_stream(Arc::clone(plan), context);
    }
    let schema = plan.schema();
    let first = plan.execute(0, Arc::clone(&context))?;
    let plan = Arc::clone(plan);
    let gather = Gather { plan, context, clock, first, batches: 0, computed: Duration::ZERO, all: None };
    let rows = futures::stream::unfold(gather, |mut gather| async move {
        let batch = gather.next().await?;
        Some((batch, gather))
    });
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
}

struct Gather {
    plan: Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
    clock: Arc<dyn Clock>,
    first: SendableRecordBatchStream,
    batches: usize,
    computed: Duration,
    /// All partitions, once they have tasks.
    all: Option<SendableRecordBatchStream>,
}

/// What came of asking the first partition.
enum Asked {
    Batch(Result<RecordBatch>),
    /// It has no more.
    End,
    /// It had its time.
    Enough,
}

impl Gather {
    async fn next(&mut self) -> Option<Result<RecordBatch>> {
        if self.all.is_none()
            && self.batches < BATCHES_ALONE
            && let Asked::Batch(batch) = self.ask_first().await
        {
            self.batches += 1;
            return Some(batch);
        }
        let all = match self.all.take() {
            Some(all) => all,
            None => match self.spread() {
                Ok(all) => all,
                Err(error) => return Some(Err(error)),
            },
        };
        self.all.insert(all).next().await
    }

    async fn ask_first(&mut self) -> Asked {
        let asked = std::future::poll_fn(|context| {
            let begun = self.clock.monotonic();
            let polled = self.first.poll_next_unpin(context);
            self.computed += self.clock.monotonic().saturating_sub(begun);
            match polled {
                Poll::Ready(Some(batch)) => Poll::Ready(Asked::Batch(batch)),
                Poll::Ready(None) => Poll::Ready(Asked::End),
                Poll::Pending if self.computed >= TIME_ALONE => Poll::Ready(Asked::Enough),
                Poll::Pending => Poll::Pending,
            }
        })
        .await;
        if let Asked::End = asked {
            // Nobody may ask a stream again that has ended.
            self.first = empty(&self.plan.schema());
        }
        asked
    }

    /// A task for each partition, as DataFusion has them.
    fn spread(&mut self) -> Result<SendableRecordBatchStream> {
        let partitions = self.plan.output_partitioning().partition_count();
        let mut all = RecordBatchReceiverStream::builder(self.plan.schema(), partitions);
        let first = std::mem::replace(&mut self.first, empty(&self.plan.schema()));
        let others = (1..partitions).map(|partition| self.plan.execute(partition, Arc::clone(&self.context)));
        for rows in std::iter::once(Ok(first)).chain(others) {
            let (mut rows, taken) = (rows?, all.tx());
            all.spawn(async move {
                while let Some(batch) = rows.next().await {
                    let failed = batch.is_err();
                    if taken.send(batch).await.is_err() || failed {
                        break;
                    }
                }
                Ok(())
            });
        }
        Ok(all.build())
    }
}

/// Whether a partition comes to its end without the others. Those of a repartitioned input, and of a join, which waits for
/// all of them before it probes, do not: the first alone would fill their queues, or wait for ever.
fn has_independent_partitions(plan: &Arc<dyn ExecutionPlan>) -> bool {
    match plan.children().as_slice() {
        [] => true,
        [child] => !plan.is::<RepartitionExec>() && has_independent_partitions(child),
        _ => false,
    }
}

fn empty(schema: &SchemaRef) -> SendableRecordBatchStream {
    Box::pin(RecordBatchStreamAdapter::new(Arc::clone(schema), futures::stream::empty()))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use arrow::array::{AsArray, Int64Array};
    use arrow::datatypes::{DataType, Field, Int64Type, Schema};
    use datafusion::common::DataFusionError;
    use datafusion::datasource::memory::MemorySourceConfig;
    use futures::TryStreamExt;
    use host::SystemClock;

    use super::*;

    fn partitions(batches: usize) -> Arc<dyn ExecutionPlan> {
        let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, false)]));
        let batch = |number: usize| {
            let column = Arc::new(Int64Array::from(vec![i64::try_from(number).unwrap()]));
            RecordBatch::try_new(Arc::clone(&schema), vec![column]).unwrap()
        };
        let rows: Vec<Vec<RecordBatch>> =
            (0..3).map(|part| (0..batches).map(|at| batch(part * 1000 + at)).collect()).collect();
        MemorySourceConfig::try_new_exec(&rows, Arc::clone(&schema), None).unwrap()
    }

    fn over(plan: Arc<dyn ExecutionPlan>, clock: Arc<dyn Clock>) -> Gather {
        let context = Arc::new(TaskContext::default());
        let first = plan.execute(0, Arc::clone(&context)).unwrap();
        Gather { plan, context, clock, first, batches: 0, computed: Duration::ZERO, all: None }
    }

    #[tokio::test]
    async fn every_row_comes_once_however_many_there_are() {
        for batches in [0, 1, BATCHES_ALONE - 1, BATCHES_ALONE, BATCHES_ALONE + 1, 50] {
            for coalesced in [false, true] {
                let mut plan = partitions(batches);
                if coalesced {
                    plan = Arc::new(CoalescePartitionsExec::new(plan));
                }
                let rows =
                    gathered(plan, Arc::new(TaskContext::default()), Arc::new(SystemClock::new())).unwrap();
                let rows: Vec<RecordBatch> = rows.try_collect().await.unwrap();
                let numbers = rows.iter().map(|batch| batch.column(0).as_primitive::<Int64Type>().value(0));
                let mut numbers: Vec<i64> = numbers.collect();
                let alone = i64::try_from(batches.min(BATCHES_ALONE)).unwrap();
                assert!(numbers.iter().copied().take(batches.min(BATCHES_ALONE)).eq(0..alone));
                numbers.sort_unstable();
                let all = (0..3).flat_map(|part| (0..batches).map(move |at| part * 1000 + at));
                assert!(numbers.into_iter().eq(all.map(|number| i64::try_from(number).unwrap())));
            }
        }
    }

    #[test]
    fn only_partitions_that_need_no_others_are_asked_alone() {
        use datafusion::physical_plan::Partitioning;
        use datafusion::physical_plan::union::UnionExec;

        let scan = partitions(1);
        let dealt = RepartitionExec::try_new(Arc::clone(&scan), Partitioning::RoundRobinBatch(2)).unwrap();
        let dealt: Arc<dyn ExecutionPlan> = Arc::new(dealt);
        let both = UnionExec::try_new(vec![Arc::clone(&scan), Arc::clone(&scan)]).unwrap();
        let gathered: Arc<dyn ExecutionPlan> = Arc::new(CoalescePartitionsExec::new(Arc::clone(&dealt)));
        for (plan, independent) in [(scan, true), (dealt, false), (both, false), (gathered, false)] {
            assert_eq!(has_independent_partitions(&plan), independent, "{plan:?}");
        }
    }

    #[tokio::test]
    async fn a_partition_that_ended_is_not_asked_again() {
        let mut gather = over(partitions(1), Arc::new(SystemClock::new()));
        let first = std::mem::replace(&mut gather.first, empty(&gather.plan.schema()));
        // This kind of stream panics when it is.
        let strict = futures::stream::unfold(first, |mut first| async { Some((first.next().await?, first)) });
        gather.first = Box::pin(RecordBatchStreamAdapter::new(gather.plan.schema(), strict));
        let mut batches = 0;
        while let Some(batch) = gather.next().await {
            batch.unwrap();
            batches += 1;
        }
        assert_eq!(batches, 3);
    }

    #[tokio::test]
    async fn an_error_comes_through_from_alone_and_from_a_task() {
        for good in [2, BATCHES_ALONE + 2] {
            let mut gather = over(partitions(10), Arc::new(SystemClock::new()));
            let schema = gather.plan.schema();
            let error = futures::stream::once(async { Err(DataFusionError::External("broken".into())) });
            let first = std::mem::replace(&mut gather.first, empty(&schema));
            gather.first = Box::pin(RecordBatchStreamAdapter::new(schema, first.take(good).chain(error)));
            let mut failed = false;
            while let Some(batch) = gather.next().await {
                failed |= batch.is_err();
                if gather.batches < BATCHES_ALONE && failed {
                    break;
                }
            }
            assert!(failed);
        }
    }

    /// Ten milliseconds pass whenever it is looked at.
    #[derive(Debug, Default)]
    struct Fast(AtomicU64);

    impl Clock for Fast {
        fn now_ms(&self) -> u64 {
            0
        }

        fn monotonic(&self) -> Duration {
            Duration::from_millis(self.0.fetch_add(10, Ordering::Relaxed))
        }

        fn sleep(&self, _: Duration) {}
    }

    #[tokio::test]
    async fn who_computes_long_gets_tasks_before_the_first_batch() {
        let mut gather = over(partitions(10), Arc::new(Fast::default()));
        let schema = gather.plan.schema();
        // It never has anything: the others' rows come nevertheless.
        let never = futures::stream::pending();
        gather.first = Box::pin(RecordBatchStreamAdapter::new(schema, never));
        for _ in 0..20 {
            gather.next().await.unwrap().unwrap();
        }
        assert_eq!(gather.batches, 0);
    }
}
