//! State at a `Seq` as a Parquet file, `<root>/stream/0/ckpt/<seq:020>.parquet`.
//!
//! Columns: `kind` (UInt16), `seq` (UInt64), `payload` (Binary); one row per fact. The footer's key-value list has the
//! seq, the format version needed, and an XXH3-64 over both, all rows and their number. Invariant: a file under its final name is complete, and was
//! read back once. Must not know: when a checkpoint is due, or which older ones are still needed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BinaryBuilder, RecordBatch, UInt16Builder, UInt64Builder};
use arrow::datatypes::{DataType, Field, Schema, UInt16Type, UInt64Type};
use bytes::Bytes;
use host::guarded::guarded;
use host::{Disk, DiskFile, Faults, Host, create_dir_all_synced, read_all};
use model::Seq;
use model::saturating::u64_of;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use thiserror::Error;
use xxhash_rust::xxh3::Xxh3;

use crate::fact_format::{Fact, Rebuild, facts, needs};
use crate::op_format::VERSION;
use crate::op_format::fields::FormatError;
use crate::state::State;

const SEQ_KEY: &str = "gristmill.seq";
const NEEDS_KEY: &str = "gristmill.needs";
const HASH_KEY: &str = "gristmill.xxh3";

/// Payload bytes of one batch handed to the Parquet writer.
const BATCH_BYTES: usize = 4 << 20;

/// Encoded bytes after which a row group is closed: bounds what the writer holds in memory.
const ROW_GROUP_BYTES: usize = 32 << 20;

#[derive(Debug, Error)]
pub enum CheckpointError {
    #[error("checkpoint {}: {source}", .path.display())]
    Io { path: PathBuf, source: io::Error },
    /// The bytes are not what was written: an older checkpoint may help.
    #[error("checkpoint {} is damaged: {problem}", .path.display())]
    Damaged { path: PathBuf, problem: String },
    /// The bytes are sound and this program cannot read them: a newer program can.
    #[error("checkpoint {}: {source}", .path.display())]
    TooNew { path: PathBuf, source: FormatError },
}

/// Where checkpoints of a root live.
pub fn dir_of(root: &Path) -> PathBuf {
    root.join("stream").join("0").join("ckpt")
}

pub fn path_of(dir: &Path, seq: Seq) -> PathBuf {
    dir.join(format!("{:020}.parquet", seq.0))
}

/// The checkpoints in a folder, newest first; other names are passed over.
pub fn list(disk: &dyn Disk, dir: &Path) -> io::Result<Vec<Seq>> {
    let names = disk.list(dir)?;
    let mut found: Vec<Seq> = names.iter().filter_map(|entry| seq_of(&entry.name)).collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    Ok(found)
}

/// The seq in the name of a checkpoint.
pub fn seq_of(name: &str) -> Option<Seq> {
    let digits = name.strip_suffix(".parquet").filter(|digits| digits.len() == 20)?;
    digits.parse().ok().map(Seq)
}

/// Removes checkpoints other than `kept`, and files an interrupted write has left.
pub fn remove_others(disk: &dyn Disk, dir: &Path, kept: &[Seq]) -> io::Result<()> {
    for entry in disk.list(dir)? {
        if seq_of(&entry.name).is_some_and(|seq| !kept.contains(&seq)) {
            disk.remove_file(&dir.join(&entry.name))?;
        }
    }
    remove_leftovers(disk, dir)
}

/// Removes files an interrupted write has left.
pub fn remove_leftovers(disk: &dyn Disk, dir: &Path) -> io::Result<()> {
    for entry in disk.list(dir)? {
        if entry.name.ends_with(TEMPORARY) {
            disk.remove_file(&dir.join(&entry.name))?;
        }
    }
    Ok(())
}

const TEMPORARY: &str = ".parquet.tmp";

/// Writes a state under its final name, durably, after reading it back. Returns the bytes of the file.
pub fn write(host: &Host, dir: &Path, state: &State) -> Result<u64, CheckpointError> {
    let (disk, faults) = (&*host.disk, &host.faults);
    let path = path_of(dir, state.seq());
    let io_error = |source| CheckpointError::Io { path: path.clone(), source };
    create_dir_all_synced(disk, dir).map_err(io_error)?;
    let temporary = dir.join(format!("{:020}{TEMPORARY}", state.seq().0));
    // Tries that failed, this one's or those of other seqs: on a full disk they would be in the way of the next.
    remove_leftovers(disk, dir).map_err(io_error)?;
    let file = disk.create(&temporary).map_err(io_error)?;
    faults.hit("catalog.checkpoint.write").map_err(io_error)?;
    write_file(file, state, faults).map_err(io_error)?;
    let bytes = read_all(disk, &temporary).map_err(io_error)?;
    let length = u64_of(bytes.len());
    let read_back = read_rows(&temporary, bytes, &mut |_| Ok(()))?;
    if read_back != state.seq() {
        return Err(CheckpointError::Damaged {
            path: temporary,
            problem: format!("it says seq {read_back}"),
        });
    }
    faults.hit("catalog.checkpoint.rename").map_err(io_error)?;
    disk.rename(&temporary, &path).map_err(io_error)?;
    faults.hit("catalog.checkpoint.renamed").map_err(io_error)?;
    disk.sync_dir(dir).map_err(io_error)?;
    Ok(length)
}

/// Reads one checkpoint.
pub fn read(disk: &dyn Disk, path: &Path) -> Result<State, CheckpointError> {
    let bytes =
        read_all(disk, path).map_err(|source| CheckpointError::Io { path: path.to_owned(), source })?;
    decode(path, bytes)
}

/// The state in a checkpoint that was read from `path`.
pub fn decode(path: &Path, bytes: Bytes) -> Result<State, CheckpointError> {
    let mut rebuild = Rebuild::default();
    let seq = read_rows(path, bytes, &mut |fact| rebuild.add(fact))?;
    rebuild.finish(seq).map_err(|error| classify(path, error))
}

/// A sound file that cannot be understood is too new; anything else is damage.
fn classify(path: &Path, source: FormatError) -> CheckpointError {
    let path = path.to_owned();
    match source {
        FormatError::UnknownField { .. }
        | FormatError::UnknownKind { .. }
        | FormatError::NewerVersion { .. } => CheckpointError::TooNew { path, source },
        other => CheckpointError::Damaged { path, problem: other.to_string() },
    }
}

/// A disk file as the Parquet writer wants it.
struct Appending(Box<dyn DiskFile>);

impl io::Write for Appending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![
        Field::new("kind", DataType::UInt16, false),
        Field::new("seq", DataType::UInt64, false),
        Field::new("payload", DataType::Binary, false),
    ]))
}

fn write_file(file: Box<dyn DiskFile>, state: &State, faults: &Faults) -> io::Result<()> {
    let level = ZstdLevel::try_new(1).map_err(io::Error::other)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_dictionary_enabled(false)
        .set_created_by("gristmill".to_owned())
        .build();
    let mut writer =
        ArrowWriter::try_new(Appending(file), schema(), Some(properties)).map_err(io::Error::other)?;
    let (mut rows, mut needed, mut hash, mut batch) = (0u64, 1, Xxh3::new(), FactBatch::default());
    let forget_inline = faults.planted("catalog.checkpoint_without_inline");
    let forget_labels = faults.planted("catalog.checkpoint_without_labels");
    for fact in facts(state) {
        if (forget_inline && fact.is_inline()) || (forget_labels && fact.is_label()) {
            continue;
        }
        rows += 1;
        needed = needed.max(needs(&fact));
        feed(&mut hash, &fact);
        batch.push(&fact);
        if batch.bytes >= BATCH_BYTES {
            write_batch(&mut writer, &mut batch).map_err(io::Error::other)?;
        }
    }
    write_batch(&mut writer, &mut batch).map_err(io::Error::other)?;
    let pairs = [
        (SEQ_KEY, state.seq().0.to_string()),
        (NEEDS_KEY, needed.to_string()),
        (HASH_KEY, digest_of(hash, state.seq(), needed, rows)),
    ];
    pairs.into_iter().for_each(|(key, value)| {
        writer.append_key_value_metadata(KeyValue { key: key.to_owned(), value: Some(value) });
    });
    writer.into_inner().map_err(io::Error::other)?.0.sync_data()
}

fn write_batch(writer: &mut ArrowWriter<Appending>, batch: &mut FactBatch) -> Result<(), ParquetError> {
    writer.write(&std::mem::take(batch).finish()?)?;
    if writer.in_progress_size() >= ROW_GROUP_BYTES {
        writer.flush()?;
    }
    Ok(())
}

#[derive(Default)]
struct FactBatch {
    kinds: UInt16Builder,
    seqs: UInt64Builder,
    payloads: BinaryBuilder,
    bytes: usize,
}

impl FactBatch {
    fn push(&mut self, fact: &Fact) {
        self.kinds.append_value(fact.kind);
        self.seqs.append_value(fact.seq.0);
        self.payloads.append_value(&fact.payload);
        self.bytes += fact.payload.len() + 16;
    }

    fn finish(mut self) -> Result<RecordBatch, ParquetError> {
        let columns: [ArrayRef; 3] =
            [Arc::new(self.kinds.finish()), Arc::new(self.seqs.finish()), Arc::new(self.payloads.finish())];
        Ok(RecordBatch::try_new(schema(), columns.into())?)
    }
}

fn feed(hash: &mut Xxh3, fact: &Fact) {
    hash.update(&fact.kind.to_le_bytes());
    hash.update(&fact.seq.0.to_le_bytes());
    hash.update(&u64_of(fact.payload.len()).to_le_bytes());
    hash.update(&fact.payload);
}

/// What the footer says beside the rows.
struct Footer {
    seq: Seq,
    needs: u64,
    hash: String,
}

/// Hands every row to `each`, which may not rely on what it got before this function has returned `Ok`: only then are
/// count and hash right. Returns the seq of the checkpoint.
pub fn read_rows(
    path: &Path,
    bytes: Bytes,
    each: &mut dyn FnMut(&Fact) -> Result<(), FormatError>,
) -> Result<Seq, CheckpointError> {
    // Bytes that say of themselves what is not so make the reader of Parquet files break off.
    guarded(|| read_unguarded(path, bytes, each))
        .unwrap_or_else(|problem| Err(CheckpointError::Damaged { path: path.to_owned(), problem }))
}

fn read_unguarded(
    path: &Path,
    bytes: Bytes,
    each: &mut dyn FnMut(&Fact) -> Result<(), FormatError>,
) -> Result<Seq, CheckpointError> {
    let damaged = |problem: String| CheckpointError::Damaged { path: path.to_owned(), problem };
    let builder =
        ParquetRecordBatchReaderBuilder::try_new(bytes).map_err(|error| damaged(error.to_string()))?;
    let footer = footer_of(builder.metadata().file_metadata().key_value_metadata())
        .ok_or_else(|| damaged("its footer is not that of a checkpoint".to_owned()))?;
    let reader = builder.build().map_err(|error| damaged(error.to_string()))?;
    let (mut rows, mut hash, mut taken) = (0u64, Xxh3::new(), Ok(()));
    for batch in reader {
        let batch = batch.map_err(|error| damaged(error.to_string()))?;
        for fact in facts_of(&batch).ok_or_else(|| damaged("its columns have other types".to_owned()))? {
            rows += 1;
            feed(&mut hash, &fact);
            taken = taken.and_then(|()| each(&fact));
        }
    }
    let digest = digest_of(hash, footer.seq, footer.needs, rows);
    if digest != footer.hash {
        return Err(damaged(format!("its hash is {digest}, written was {}", footer.hash)));
    }
    if footer.needs > VERSION {
        let (known, needed) = (VERSION, footer.needs);
        return Err(classify(path, FormatError::NewerVersion { what: "checkpoint", known, needed }));
    }
    taken.map_err(|error| classify(path, error))?;
    Ok(footer.seq)
}

/// The hash of all rows and of what the footer says of them.
fn digest_of(mut hash: Xxh3, seq: Seq, needs: u64, rows: u64) -> String {
    [seq.0, needs, rows].into_iter().for_each(|number| hash.update(&number.to_le_bytes()));
    format!("{:016x}", hash.digest())
}

fn footer_of(pairs: Option<&Vec<KeyValue>>) -> Option<Footer> {
    let value = |key: &str| pairs?.iter().find(|pair| pair.key == key)?.value.clone();
    Some(Footer {
        seq: Seq(value(SEQ_KEY)?.parse().ok()?),
        needs: value(NEEDS_KEY)?.parse().ok()?,
        hash: value(HASH_KEY)?,
    })
}

fn facts_of(batch: &RecordBatch) -> Option<impl Iterator<Item = Fact>> {
    let kinds = batch.column_by_name("kind")?.as_primitive_opt::<UInt16Type>()?;
    let seqs = batch.column_by_name("seq")?.as_primitive_opt::<UInt64Type>()?;
    let payloads = batch.column_by_name("payload")?.as_binary_opt::<i32>()?;
    Some((0..batch.num_rows()).map(|row| Fact {
        kind: kinds.value(row),
        seq: Seq(seqs.value(row)),
        payload: payloads.value(row).to_vec(),
    }))
}

#[cfg(test)]
mod tests;
