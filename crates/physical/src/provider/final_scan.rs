//! FINAL: parts and inline rows merged by the sort key, and rows of equal key made one as they go by.
//!
//! Invariant: no row is left out before it was compared with those of its key; only conditions about the key itself are asked
//! before. Equal keys come in the order of insertion. Must not know: what the mode of the table does with them.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use arrow::array::{Array, RecordBatch, RecordBatchOptions};
use arrow::compute::interleave;
use arrow::datatypes::SchemaRef;
use arrow::row::Rows;
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::memory::MemoryStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use futures::{StreamExt, TryStreamExt, stream};
use mergetree::Table;
use mergetree::write::collapse::{Collapser, For};
use mergetree::write::gather::gather;
use mergetree::write::sort::BlockKeys;
use model::saturating::usize_of;
use parts::array_size::batch_bytes;
use parts::sorted::{KeyRows, run_length};

use crate::error::into_datafusion;

/// Rows of one input are looked at so many at a time.
const BATCH_ROWS: usize = 8192;

/// Where rows come from.
pub(super) enum Source {
    /// In the order of the key, by one partition.
    Sorted(Arc<dyn ExecutionPlan>),
    /// In any order, by one partition: they are sorted in memory.
    Unsorted(Arc<dyn ExecutionPlan>),
    /// In any order.
    Rows(Vec<RecordBatch>),
}

/// Sources that are merged, in the order of insertion.
pub(super) struct Merged {
    pub(super) table: Table,
    pub(super) sources: Vec<Source>,
    /// Of the sources: the columns that are given and those that are asked.
    pub(super) read: SchemaRef,
    /// The columns that are given, as places in `read`.
    pub(super) given: Vec<usize>,
    pub(super) schema: SchemaRef,
    /// Counts the rows that were merged.
    pub(super) counted: Option<Arc<AtomicU64>>,
}

impl fmt::Debug for Merged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Merged({} sources of {})", self.sources.len(), self.table.def.name)
    }
}

impl PartitionStream for Merged {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = match self.begin(&context) {
            Ok(merging) => stream::try_unfold(merging, Merging::next).boxed(),
            Err(error) => stream::once(std::future::ready(Err(error))).boxed(),
        };
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), rows))
    }
}

impl Merged {
    fn begin(&self, context: &Arc<TaskContext>) -> Result<Merging> {
        let keys = &self.table.keys;
        let collapser = Collapser::new(&self.table.def, keys, &self.read, For::Reading);
        let collapser = collapser.map_err(into_datafusion)?;
        let collapser = collapser.ok_or_else(|| internal_datafusion_err!("FINAL of a plain table"))?;
        let mut heads = Vec::with_capacity(self.sources.len());
        for source in &self.sources {
            let rows = match source {
                Source::Sorted(plan) => plan.execute(0, Arc::clone(context))?,
                Source::Unsorted(plan) => self.sorted(plan.execute(0, Arc::clone(context))?, context),
                Source::Rows(rows) => {
                    let rows = MemoryStream::try_new(rows.clone(), Arc::clone(&self.read), None)?;
                    self.sorted(Box::pin(rows), context)
                }
            };
            heads.push(Head { rows, batch: None, keys: None, at: 0, ended: false });
        }
        Ok(Merging {
            keys: (!keys.sort.is_empty()).then(|| KeyRows::new(&keys.sort)),
            heads,
            order: Vec::new(),
            collapser,
            read: Arc::clone(&self.read),
            given: self.given.clone(),
            schema: Arc::clone(&self.schema),
            counted: self.counted.clone(),
            ended: false,
        })
    }

    /// All rows of a stream in order. They are held meanwhile, and the statement's memory is asked for them.
    fn sorted(
        &self,
        mut rows: SendableRecordBatchStream,
        context: &Arc<TaskContext>,
    ) -> SendableRecordBatchStream {
        let (keys, read) = (Arc::clone(&self.table.keys), Arc::clone(&self.read));
        let memory = MemoryConsumer::new("rows of FINAL in no order").register(context.memory_pool());
        let sorted = async move {
            let mut block: Vec<RecordBatch> = Vec::new();
            while let Some(batch) = rows.try_next().await? {
                let order = batch.num_rows() * size_of::<(usize, usize)>();
                memory.try_grow(usize_of(batch_bytes(&batch)) + order)?;
                block.push(batch.with_schema(Arc::clone(&read))?);
            }
            let order = BlockKeys::new(&keys, &block).map_err(into_datafusion)?.sorted_rows(None);
            let Some(order) = order else { return Ok(stream::iter(block.into_iter().map(Ok)).boxed()) };
            let pieces: Vec<_> = order.chunks(BATCH_ROWS).map(<[_]>::to_vec).collect();
            let gathered = pieces.into_iter().map(move |piece| {
                let _held = &memory;
                Ok(gather(&block, &piece)?)
            });
            Ok::<_, datafusion::error::DataFusionError>(stream::iter(gathered).boxed())
        };
        let rows = stream::once(sorted).try_flatten();
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.read), rows))
    }
}

/// Where one source stands.
struct Head {
    rows: SendableRecordBatchStream,
    batch: Option<RecordBatch>,
    keys: Option<Rows>,
    at: usize,
    ended: bool,
}

impl Head {
    fn key_at(&self, row: usize) -> &[u8] {
        self.keys.as_ref().map_or(&[], |keys| keys.row(row).data())
    }

    fn left(&self) -> usize {
        self.batch.as_ref().map_or(0, RecordBatch::num_rows) - self.at
    }
}

struct Merging {
    /// `None` without a sort key: the sources follow each other.
    keys: Option<KeyRows>,
    heads: Vec<Head>,
    /// Heads that have rows, the next one last.
    order: Vec<usize>,
    collapser: Collapser,
    read: SchemaRef,
    given: Vec<usize>,
    schema: SchemaRef,
    counted: Option<Arc<AtomicU64>>,
    ended: bool,
}

impl Merging {
    async fn next(mut self) -> Result<Option<(RecordBatch, Merging)>> {
        while !self.ended {
            let rows = match self.merged().await? {
                Some(rows) => self.collapser.push(&rows),
                None => {
                    self.ended = true;
                    self.collapser.finish()
                }
            };
            if let Some(rows) = rows.map_err(into_datafusion)? {
                let columns = self.given.iter().map(|at| Arc::clone(rows.column(*at))).collect();
                let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
                let rows = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?;
                return Ok(Some((rows, self)));
            }
        }
        Ok(None)
    }

    /// The next rows of all sources; `None` at the end.
    async fn merged(&mut self) -> Result<Option<RecordBatch>> {
        for at in 0..self.heads.len() {
            // Without a key the sources that come later are not begun.
            if self.keys.is_none() && self.heads[..at].iter().any(|head| head.left() > 0) {
                break;
            }
            if self.heads[at].left() == 0 && !self.heads[at].ended {
                self.load(at).await?;
            }
        }
        let (mut batches, mut rows) = (Vec::new(), Vec::with_capacity(BATCH_ROWS));
        let mut places: Vec<Option<usize>> = vec![None; self.heads.len()];
        while rows.len() < BATCH_ROWS {
            let Some(first) = self.order.pop() else { break };
            let taken = self.rows_before_rival(first, BATCH_ROWS - rows.len());
            let head = &mut self.heads[first];
            let Some(batch) = &head.batch else { continue };
            let place = *places[first].get_or_insert_with(|| {
                batches.push(batch.clone());
                batches.len() - 1
            });
            rows.extend((head.at..head.at + taken).map(|row| (place, row)));
            head.at += taken;
            if head.left() == 0 {
                // What comes next of it has to be read before anybody else's rows.
                break;
            }
            self.enter(first);
        }
        if rows.is_empty() {
            return Ok(None);
        }
        self.counted.iter().for_each(|counted| _ = counted.fetch_add(rows.len() as u64, Relaxed));
        let columns = (0..self.read.fields().len()).map(|column| {
            let arrays: Vec<&dyn Array> = batches.iter().map(|batch| batch.column(column).as_ref()).collect();
            interleave(&arrays, &rows)
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        Ok(Some(RecordBatch::try_new(Arc::clone(&self.read), columns)?))
    }

    /// Reads the next batch of a source that has rows, if there is one.
    async fn load(&mut self, at: usize) -> Result<()> {
        let head = &mut self.heads[at];
        (head.batch, head.keys, head.at) = (None, None, 0);
        loop {
            let Some(batch) = head.rows.next().await.transpose()? else {
                head.ended = true;
                return Ok(());
            };
            if batch.num_rows() == 0 {
                continue;
            }
            let batch = batch.with_schema(Arc::clone(&self.read))?;
            if let Some(keys) = &mut self.keys {
                let rows = keys.arrays(&batch).and_then(|arrays| keys.rows(&arrays));
                let rows = rows.map_err(|e| into_datafusion(mergetree::TableError::from(e)))?;
                if (1..rows.num_rows()).any(|row| rows.row(row - 1) > rows.row(row)) {
                    return Err(internal_datafusion_err!(
                        "rows of a part are not in the order of {}",
                        keys.text()
                    ));
                }
                head.keys = Some(rows);
            }
            head.batch = Some(batch);
            break;
        }
        self.enter(at);
        Ok(())
    }

    /// Puts a head that has rows at its place in the order.
    fn enter(&mut self, at: usize) {
        let place = self.order.partition_point(|other| self.is_before(at, *other));
        self.order.insert(place, at);
    }

    fn is_before(&self, a: usize, b: usize) -> bool {
        let (one, two) = (&self.heads[a], &self.heads[b]);
        one.key_at(one.at).cmp(two.key_at(two.at)).then(a.cmp(&b)).is_lt()
    }

    /// How many rows of the head come before those of all others; the first does.
    fn rows_before_rival(&self, first: usize, most: usize) -> usize {
        let head = &self.heads[first];
        let limit = head.left().min(most).max(1);
        let Some(rival) = self.order.last().copied() else { return limit };
        let bound = self.heads[rival].key_at(self.heads[rival].at);
        let comes_before = |row: usize| match head.key_at(head.at + row).cmp(bound) {
            Ordering::Less => true,
            Ordering::Equal => first < rival,
            Ordering::Greater => false,
        };
        run_length(limit, comes_before)
    }
}
