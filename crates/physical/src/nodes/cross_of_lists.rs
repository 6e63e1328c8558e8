//! Cross joins whose left side has arrays, maps or tuples.
//!
//! DataFusion's step repeats each left row through a single value, which forgets what the fields within it say, and its
//! batches then do not fit its schema. The step of nested loops takes rows as they are. Invariant: the rows are the same.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinType, Result};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::{CrossJoinExec, NestedLoopJoinExec};

/// The plan with nested loops in the place of such joins.
pub fn with_nested_columns(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let done = plan.transform_up(|node| {
        let Some(cross) = node.downcast_ref::<CrossJoinExec>() else { return Ok(Transformed::no(node)) };
        let schema = cross.left().schema();
        if !schema.fields().iter().any(|field| nests(field.data_type())) {
            return Ok(Transformed::no(node));
        }
        let (left, right) = (Arc::clone(cross.left()), Arc::clone(cross.right()));
        let loops = NestedLoopJoinExec::try_new(left, right, None, &JoinType::Inner, None)?;
        Ok(Transformed::yes(Arc::new(loops) as Arc<dyn ExecutionPlan>))
    })?;
    Ok(done.data)
}

fn nests(data_type: &DataType) -> bool {
    matches!(data_type, DataType::List(_) | DataType::Map(..) | DataType::Struct(_))
}
