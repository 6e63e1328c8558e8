//! What nodes that write parts give and count: a row for each part, and how much went into it.
//!
//! Must not know: how parts are written, and who commits them.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, RecordBatch, StringViewArray, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, Time};
use model::SealedPart;
use model::saturating::usize_of;

/// What one stream of a sink counts.
#[derive(Clone, Default)]
pub struct SinkCounters {
    rows_written: Count,
    /// Of the files.
    bytes_written: Count,
    parts: Count,
    /// Casting, sorting, encoding, writing; not waiting for the input.
    time: Time,
}

impl SinkCounters {
    pub fn new(metrics: &ExecutionPlanMetricsSet, partition: usize) -> SinkCounters {
        SinkCounters {
            rows_written: MetricBuilder::new(metrics).counter("rows_written", partition),
            bytes_written: MetricBuilder::new(metrics).counter("bytes_written", partition),
            parts: MetricBuilder::new(metrics).counter("parts", partition),
            time: MetricBuilder::new(metrics).elapsed_compute(partition),
        }
    }

    /// Rows were handed over, and worked on for so long.
    pub fn wrote(&self, rows: usize, took: Duration) {
        self.rows_written.add(rows);
        self.time.add_duration(took);
    }

    /// These parts are durable.
    pub fn sealed(&self, parts: &[SealedPart]) {
        self.parts.add(parts.len());
        let bytes: u64 = parts.iter().map(|part| part.descriptor().bytes).sum();
        self.bytes_written.add(usize_of(bytes));
    }
}

/// Of what a sink gives: its parts, each a row.
pub fn part_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("part", DataType::Utf8View, false),
        Field::new("rows", DataType::UInt64, false),
        Field::new("bytes", DataType::UInt64, false),
    ]))
}

/// One row for each of these parts.
///
/// # Errors
/// None at present; Arrow checks the lengths.
pub fn part_rows(parts: &[SealedPart]) -> Result<RecordBatch> {
    let names = parts.iter().map(|part| Some(part.descriptor().id.to_string()));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(names.collect::<StringViewArray>()),
        Arc::new(parts.iter().map(|part| Some(part.descriptor().rows)).collect::<UInt64Array>()),
        Arc::new(parts.iter().map(|part| Some(part.descriptor().bytes)).collect::<UInt64Array>()),
    ];
    Ok(RecordBatch::try_new(part_schema(), columns)?)
}
