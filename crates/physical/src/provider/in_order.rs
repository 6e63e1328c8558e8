//! Scans one behind the other, as one stream: how a table that keeps the order of insertion is read.
//!
//! Invariant: the rows of a scan come when all those of the scans before it have. Must not know: what is scanned.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use futures::{StreamExt, TryStreamExt, stream};

struct Behind {
    scans: Vec<Arc<dyn ExecutionPlan>>,
    schema: SchemaRef,
}

impl fmt::Debug for Behind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Behind({} scans)", self.scans.len())
    }
}

/// All scans have this schema.
pub(super) fn one_behind_the_other(
    scans: Vec<Arc<dyn ExecutionPlan>>,
    schema: SchemaRef,
) -> Result<Arc<dyn ExecutionPlan>> {
    let behind = Behind { scans, schema: Arc::clone(&schema) };
    let plan = StreamingTableExec::try_new(schema, vec![Arc::new(behind)], None, None, false, None)?;
    Ok(Arc::new(plan))
}

impl PartitionStream for Behind {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let partitions = |scan: &Arc<dyn ExecutionPlan>| {
            let count = scan.output_partitioning().partition_count();
            (0..count).map(|at| (Arc::clone(scan), at)).collect::<Vec<_>>()
        };
        let all: Vec<_> = self.scans.iter().flat_map(partitions).collect();
        let schema = Arc::clone(&self.schema);
        // Each is begun when the one before is done.
        let rows = stream::iter(all)
            .map(move |(scan, at)| scan.execute(at, Arc::clone(&context)))
            .try_flatten()
            .and_then(move |batch| {
                let batch = batch.with_schema(Arc::clone(&schema)).map_err(Into::into);
                std::future::ready(batch)
            });
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), rows))
    }
}
