//! What one stream of an adopting load counts.

use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder};

use crate::nodes::sealed_rows::SinkCounters;

/// What one stream counts, beside what sinks do.
#[derive(Clone)]
pub(super) struct AdoptCounters {
    pub(super) sink: SinkCounters,
    pub(super) adopted_row_groups: Count,
    pub(super) sorted_row_groups: Count,
    pub(super) copied_bytes: Count,
}

impl AdoptCounters {
    pub(super) fn new(metrics: &ExecutionPlanMetricsSet, partition: usize) -> AdoptCounters {
        let counter = |name: &'static str| MetricBuilder::new(metrics).counter(name, partition);
        AdoptCounters {
            sink: SinkCounters::new(metrics, partition),
            adopted_row_groups: counter("adopted_row_groups"),
            sorted_row_groups: counter("sorted_row_groups"),
            copied_bytes: counter("copied_bytes"),
        }
    }
}
