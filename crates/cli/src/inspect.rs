//! `gristmill inspect PATH`: what is in a part, a segment of the log, a checkpoint. The debugger's first stop.
//!
//! Reads beside a running database and changes nothing. Which kind of file it is, is decided by its bytes and its place.

use std::path::{Path, PathBuf};

use clap::Args;
use commitlog::Tail;
use host::Host;
use model::{ByteSize, RowCount};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::failure::Failure;
use crate::terminal;

/// Statistics longer than this are cut.
const VALUE_CHARS_MAX: usize = 24;

#[derive(Args, Debug)]
pub(crate) struct InspectArgs {
    /// A part (.parquet), a segment of the log (.seg), a checkpoint, or a folder of them
    path: PathBuf,
    /// PATH is the folder of a database: check every byte of it, name what is damaged, and exit with 1 if something is
    #[arg(long)]
    verify: bool,
}

/// The command.
pub(crate) fn run(args: &InspectArgs, host: &Host) -> Result<(), Failure> {
    if args.verify {
        return verify(&std::path::absolute(&args.path)?, host);
    }
    for path in files(&std::path::absolute(&args.path)?, host)? {
        terminal::line(&format!("{}", path.display()))?;
        for line in lines_of(&path, host)? {
            terminal::line(&format!("  {line}"))?;
        }
    }
    Ok(())
}

/// A line a kind of file, a line a problem.
fn verify(root: &Path, host: &Host) -> Result<(), Failure> {
    if !host.disk.exists(root)? {
        return Err(Failure::new(format!("{} does not exist", root.display())));
    }
    let checks = engine::verify_folder(host, root);
    let mut problems = 0;
    for check in &checks {
        let verdict = if check.damage.is_empty() { "ok" } else { "DAMAGED" };
        terminal::line(&format!("{:<12} {:>6}  {verdict:<8} {}", check.what, check.checked, check.remark))?;
        problems += check.damage.len();
    }
    for problem in checks.iter().flat_map(|check| &check.damage) {
        terminal::line(&format!("DAMAGED {problem}"))?;
    }
    match problems {
        0 => Ok(()),
        _ => Err(Failure::new(format!("{problems} problems in {}", root.display()))),
    }
}

/// The file itself, or everything in a folder that can be inspected.
fn files(path: &Path, host: &Host) -> Result<Vec<PathBuf>, Failure> {
    if !host.disk.exists(path)? {
        return Err(Failure::new(format!("{} does not exist", path.display())));
    }
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in host.disk.list(path)? {
        let below = path.join(&entry.name);
        if entry.is_dir {
            found.extend(files(&below, host)?);
        } else if kind_of(&below).is_some() {
            found.push(below);
        }
    }
    Ok(found)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Part,
    Segment,
    Checkpoint,
}

fn kind_of(path: &Path) -> Option<Kind> {
    let checkpoint = path.components().any(|piece| piece.as_os_str() == "ckpt");
    match path.extension()?.to_str()? {
        "seg" => Some(Kind::Segment),
        _ if checkpoint => Some(Kind::Checkpoint),
        "parquet" => Some(Kind::Part),
        _ => None,
    }
}

fn lines_of(path: &Path, host: &Host) -> Result<Vec<String>, Failure> {
    match kind_of(path) {
        Some(Kind::Part) => part(path, host),
        Some(Kind::Segment) => segment(path, host),
        Some(Kind::Checkpoint) => Ok(catalog::inspect::checkpoint_lines(host.disk.as_ref(), path)?),
        None => Err(Failure::new(format!("{} is no part, log segment or checkpoint", path.display()))),
    }
}

fn part(path: &Path, host: &Host) -> Result<Vec<String>, Failure> {
    let bytes = host::read_all(host.disk.as_ref(), path)?;
    let size = bytes.len() as u64;
    let reader = SerializedFileReader::new(bytes)?;
    let metadata = reader.metadata();
    let file = metadata.file_metadata();
    let rows = u64::try_from(file.num_rows()).unwrap_or(0);
    let mut lines = vec![format!(
        "part: {} rows, {}, {} row groups, written by {}",
        RowCount(rows),
        ByteSize(size),
        metadata.num_row_groups(),
        file.created_by().unwrap_or("nobody who says so")
    )];
    lines.extend(
        file.key_value_metadata()
            .into_iter()
            .flatten()
            .filter(|pair| pair.key != "ARROW:schema")
            .map(|pair| format!("{} = {}", pair.key, cut(pair.value.as_deref().unwrap_or("")))),
    );
    lines.extend(sort_order(metadata));
    lines.extend(columns(metadata));
    lines.extend(metadata.row_groups().iter().enumerate().map(|(number, group)| row_group(number, group)));
    Ok(lines)
}

fn sort_order(metadata: &ParquetMetaData) -> Option<String> {
    let order = metadata.row_groups().first()?.sorting_columns()?;
    let names: Vec<String> = order
        .iter()
        .filter_map(|column| {
            let leaf = metadata
                .file_metadata()
                .schema_descr()
                .columns()
                .get(usize::try_from(column.column_idx).ok()?)?;
            Some(format!("{}{}", leaf.path(), if column.descending { " desc" } else { "" }))
        })
        .collect();
    Some(format!("sorted by {}", names.join(", ")))
}

/// One line a column: sizes over all row groups, encodings, bounds.
fn columns(metadata: &ParquetMetaData) -> Vec<String> {
    let leaves = metadata.file_metadata().schema_descr().columns();
    let describe = |(index, leaf): (usize, &parquet::schema::types::ColumnDescPtr)| {
        let chunks: Vec<_> = metadata.row_groups().iter().map(|group| group.column(index)).collect();
        let sum = |of: fn(&parquet::file::metadata::ColumnChunkMetaData) -> i64| {
            ByteSize(u64::try_from(chunks.iter().map(|chunk| of(chunk)).sum::<i64>()).unwrap_or(0))
        };
        let nulls: u64 = chunks.iter().filter_map(|chunk| chunk.statistics()?.null_count_opt()).sum();
        let info = leaf.self_type().get_basic_info();
        let id = if info.has_id() { format!("#{} ", info.id()) } else { String::new() };
        let encodings: Vec<String> = chunks
            .first()
            .map(|chunk| chunk.encodings().map(|e| format!("{e:?}")).collect())
            .unwrap_or_default();
        let codec = chunks.first().map(|chunk| format!("{}", chunk.compression())).unwrap_or_default();
        format!(
            "column {id}{} {}: {} of {} {codec} [{}] nulls={nulls}",
            leaf.path(),
            leaf.physical_type(),
            sum(|chunk| chunk.compressed_size()),
            sum(|chunk| chunk.uncompressed_size()),
            encodings.join(" "),
        )
    };
    leaves.iter().enumerate().map(describe).collect()
}

fn row_group(number: usize, group: &RowGroupMetaData) -> String {
    let rows = u64::try_from(group.num_rows()).unwrap_or(0);
    let bytes = u64::try_from(group.compressed_size()).unwrap_or(0);
    format!("row group {number}: {} rows, {}", RowCount(rows), ByteSize(bytes))
}

fn segment(path: &Path, host: &Host) -> Result<Vec<String>, Failure> {
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

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn cut(text: &str) -> String {
    if text.chars().count() <= VALUE_CHARS_MAX {
        return text.to_owned();
    }
    format!("{}...", text.chars().take(VALUE_CHARS_MAX).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_name_and_place() {
        for (path, kind) in [
            ("/d/data/t/x.parquet", Some(Kind::Part)),
            ("/d/stream/0/wal/00000000000000000001.seg", Some(Kind::Segment)),
            ("/d/stream/0/ckpt/00000000000000000009.parquet", Some(Kind::Checkpoint)),
            ("/d/LOCK", None),
        ] {
            assert_eq!(kind_of(Path::new(path)), kind, "{path}");
        }
    }

    #[test]
    fn long_values_are_cut() {
        assert_eq!(cut("short"), "short");
        assert_eq!(cut(&"x".repeat(30)), format!("{}...", "x".repeat(24)));
    }
}
