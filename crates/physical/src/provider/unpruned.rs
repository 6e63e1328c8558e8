//! UnprunedExec: a scan of columns in which there are NaNs, which no condition reaches.
//!
//! Least and greatest values in a Parquet file leave NaN out, so they prove nothing about `v != 5`. DataFusion hands conditions of nodes above down to
//! scans whenever it can, and passes over row groups and pages by them. Invariant: the rows are the input's. Must not know: which conditions.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};

use crate::unary::{Step, Unary};

/// See the module.
#[derive(Clone)]
pub(super) struct Unpruned;

impl Step for Unpruned {
    const NAME: &'static str = "UnprunedExec";

    fn keeps_order(&self) -> bool {
        true
    }

    // Who divides rows may do it above, where it gains something: masks want each block from one part.
    fn may_be_divided(&self) -> bool {
        false
    }

    fn keeps_rows(&self) -> bool {
        true
    }

    fn execute(
        node: &Unary<Self>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        node.input.execute(partition, context)
    }
}
