//! What a piece of a plan is, in a few bytes: servers work together only if they mean the same.
//!
//! Of what is read in shares it is which parts or files there are, and in which version; of what every server reads whole, also the rows that
//! are in no part. Invariant: equal digests of one version of the program mean equal rows of equal shares. Must not know: where a plan comes from.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use arrow::ipc::writer::StreamWriter;
use datafusion::common::Result;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::display::DisplayableExecutionPlan;
use datafusion::physical_plan::joins::HashJoinExec;

use super::leaf::{Leaf, parts_of};
use crate::provider::checked_file::ScannedPart;

/// Rows in no part that are compared one by one.
pub(super) const DIGEST_ROWS_MAX: usize = 100_000;

/// The line of a node in a plan.
fn line_of(plan: &dyn ExecutionPlan) -> String {
    DisplayableExecutionPlan::new(plan).one_line().to_string()
}

/// The digest of a piece that is read in shares.
///
/// # Errors
/// Rows cannot be encoded.
pub fn digest(plan: &Arc<dyn ExecutionPlan>) -> Result<u64> {
    let mut hasher = DefaultHasher::new();
    add(plan, true, &mut hasher)?;
    Ok(hasher.finish())
}

fn add(plan: &Arc<dyn ExecutionPlan>, in_shares: bool, hasher: &mut DefaultHasher) -> Result<()> {
    plan.name().hash(hasher);
    plan.schema().fields().iter().for_each(|field| {
        field.name().hash(hasher);
        field.data_type().to_string().hash(hasher);
        let mut metadata: Vec<_> = field.metadata().iter().collect();
        metadata.sort();
        metadata.hash(hasher);
    });
    match Leaf::of(plan.as_ref()) {
        Some(Leaf::Parts(config)) => {
            for (id, file) in parts_of(config) {
                let version = file.extension::<ScannedPart>().map(|scanned| scanned.version);
                (id.to_string(), file.object_meta.size, version).hash(hasher);
            }
            let source = &config.file_source;
            let filter = source.filter().map(|filter| filter.to_string());
            (filter, source.projection().map(|projection| projection.to_string())).hash(hasher);
            config.limit.hash(hasher);
        }
        Some(Leaf::Inline(_)) if in_shares => {}
        Some(Leaf::Inline(config)) => {
            for batch in config.partitions().iter().flatten() {
                let mut bytes = StreamWriter::try_new(Vec::new(), &batch.schema())?;
                bytes.write(batch)?;
                bytes.into_inner()?.hash(hasher);
            }
            config.projection().hash(hasher);
        }
        Some(Leaf::Files(scan)) => {
            line_of(plan.as_ref()).hash(hasher);
            scan.identity().hash(hasher);
        }
        None => line_of(plan.as_ref()).hash(hasher),
    }
    let build = plan.downcast_ref::<HashJoinExec>().map(|join| Arc::as_ptr(join.left()));
    for child in plan.children() {
        let is_build = build.is_some_and(|build| std::ptr::addr_eq(build, Arc::as_ptr(child)));
        add(child, in_shares && !is_build, hasher)?;
    }
    Ok(())
}
