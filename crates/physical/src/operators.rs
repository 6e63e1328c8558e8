//! The operators of a plan with what they counted, taken out of DataFusion's metrics.
//!
//! Invariant: plain numbers and texts; the plan can be dropped. Readable while the plan runs.

use std::time::Duration;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::display::DisplayableExecutionPlan;
use datafusion::physical_plan::metrics::{MetricValue, MetricsSet};

/// One operator, its partitions added up.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Operator {
    /// Name and arguments.
    pub text: String,
    pub rows: Option<u64>,
    /// Computing time of all partitions, without its inputs.
    pub time: Option<Duration>,
    pub bytes: Option<u64>,
    /// Counters of its own that are not zero, as `name=value`.
    pub others: Vec<String>,
    pub inputs: Vec<Operator>,
}

/// Counters that have a place of their own, or say nothing of an operator.
const SHOWN_ELSEWHERE: &[&str] = &[
    "output_rows",
    "elapsed_compute",
    "output_bytes",
    "output_batches",
    "rows_written",
    "bytes_written",
    "bytes_scanned",
];

/// The operators of a plan. The commit is none of them: it has a node of its own, made of spans.
pub fn operators_of(plan: &dyn ExecutionPlan) -> Operator {
    match plan.children().as_slice() {
        [input] if plan.name() == "CommitExec" => operators_of(input.as_ref()),
        _ => operator(plan),
    }
}

fn operator(plan: &dyn ExecutionPlan) -> Operator {
    // It changes nothing and costs nothing.
    if let ("MeteredExec", [input]) = (plan.name(), plan.children().as_slice()) {
        return operator(input.as_ref());
    }
    let metrics = plan.metrics().unwrap_or_default().aggregate_by_name();
    let named = |name: &str| metrics.sum_by_name(name).map(|value| value.as_usize() as u64);
    let output_bytes = metrics.sum(|metric| matches!(metric.value(), MetricValue::OutputBytes(_)));
    Operator {
        text: DisplayableExecutionPlan::new(plan).one_line().to_string().trim().to_owned(),
        rows: named("rows_written").or(metrics.output_rows().map(|rows| rows as u64)),
        time: metrics.elapsed_compute().map(|nanos| Duration::from_nanos(nanos as u64)),
        bytes: named("bytes_written")
            .or(named("bytes_scanned"))
            .or(output_bytes.map(|bytes| bytes.as_usize() as u64)),
        others: others(metrics),
        inputs: plan.children().into_iter().map(|input| operator(input.as_ref())).collect(),
    }
}

fn others(metrics: MetricsSet) -> Vec<String> {
    let metrics = metrics.timestamps_removed().sorted_for_display();
    let values = metrics.iter().map(|metric| metric.value());
    let kept = values.filter(|value| !SHOWN_ELSEWHERE.contains(&value.name()) && counted(value));
    kept.map(|value| format!("{}={value}", value.name())).collect()
}

fn counted(value: &MetricValue) -> bool {
    match value {
        MetricValue::PruningMetrics { pruning_metrics, .. } => {
            pruning_metrics.pruned() + pruning_metrics.matched() > 0
        }
        MetricValue::Ratio { ratio_metrics, .. } => ratio_metrics.total() > 0,
        other => other.as_usize() > 0,
    }
}
