//! Records of the log as text: those of a segment, and one that is an object of its own.
//!
//! Must not know: what a transaction means; its lines come from the catalog.

use std::path::Path;

use commitlog::{Tail, record};
use host::Host;

use crate::failure::Failure;

/// The lines of a segment of a log in a folder.
pub(super) fn segment(path: &Path, host: &Host) -> Result<Vec<String>, Failure> {
    let Some(dump) = commitlog::dump(host.disk.as_ref(), path)? else {
        return Ok(vec!["segment: never used".to_owned()]);
    };
    let header = &dump.header;
    let mut lines = vec![format!(
        "segment: stream {}, first record {}, {} records",
        header.stream,
        header.first_seq,
        dump.records.len()
    )];
    for summary in &dump.records {
        let record = &summary.record;
        lines.push(format!(
            "record {} epoch={} at_ms={} offset={} bytes={} hash={}",
            record.seq,
            record.epoch,
            record.commit_time_ms,
            summary.offset,
            summary.bytes,
            hex(&summary.hash)
        ));
        lines.extend(
            catalog::inspect::record_lines(&record.transactions)?.into_iter().map(|line| format!("  {line}")),
        );
    }
    lines.push(match &dump.tail {
        Tail::Clean { zeros } => format!("end: {zeros} bytes waiting to be written"),
        Tail::Torn { offset, bytes, why } => format!("end: {bytes} torn bytes from {offset} on: {why}"),
        Tail::Damaged { offset, later_seq, why } => {
            format!("DAMAGED at {offset}, with record {later_seq} behind: {why}")
        }
    });
    Ok(lines)
}

/// The lines of a record that is an object of its own. A damaged one is said to be, so that those behind it are shown.
pub(super) fn object_record(path: &Path, host: &Host) -> Result<Vec<String>, Failure> {
    let frame = host::read_all(host.disk.as_ref(), path)?;
    let record = match record::decode(&frame, 0) {
        Ok(record) => record,
        Err(bad) => return Ok(vec![format!("DAMAGED: it is no record: {bad}")]),
    };
    let envelope = &record.envelope;
    let mut lines = vec![format!(
        "record {} epoch={} at_ms={} bytes={} hash={} previous={} uuid={}",
        envelope.seq,
        envelope.epoch,
        envelope.commit_time_ms,
        frame.len(),
        hex(&record::hash(&frame)),
        hex(&envelope.previous_hash),
        hex(&envelope.uuid)
    )];
    match catalog::inspect::record_lines(&record.transactions) {
        Ok(ops) => lines.extend(ops.into_iter().map(|line| format!("  {line}"))),
        Err(error) => lines.push(format!("  it cannot be read: {error}")),
    }
    Ok(lines)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
