//! What each encoding costs and saves, column by column. The table in `docs/design/parts.md` is made by
//! `cargo test --release -p parts --test measure_encodings -- --ignored --nocapture`.
#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::clone_on_ref_ptr,
    reason = "tests fail by panicking, and their numbers are small"
)]

mod rows;

use std::sync::Arc;

use arrow::array::RecordBatch;
use model::{PartDescriptor, TableKeys};
use parts::encoding::{LeafEncoding, PageCodec, ValueEncoding};
use parts::{ColumnEncodings, PartSpec, PartStore, PartWriter, WritePurpose};
use rows::{COLUMNS, host, rows as make_rows, spec, table};

const ROWS: u64 = 240_000;
const BATCH: usize = 8192;

/// Milliseconds and the part.
fn write(store: &PartStore, spec: PartSpec, batches: &[RecordBatch]) -> (u128, PartDescriptor) {
    let started = store.host().clock.monotonic();
    let mut writer = PartWriter::new(store, spec).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    let part = writer.finish().unwrap().into_descriptor();
    let took = store.host().clock.monotonic() - started;
    store.delete(&part).unwrap();
    (took.as_millis(), part)
}

fn batches(table: &model::TableDef) -> Vec<RecordBatch> {
    (0..ROWS / BATCH as u64).map(|i| make_rows(table, i * BATCH as u64, BATCH, true)).collect()
}

fn variants() -> Vec<(&'static str, LeafEncoding)> {
    use PageCodec::{Lz4, None, QuickZstd, Zstd};
    use ValueEncoding::{Delta, Dictionary, Plain};
    let leaf = |values, codec| LeafEncoding { values, codec };
    vec![
        ("plain", leaf(Plain, None)),
        ("plain lz4", leaf(Plain, Lz4)),
        ("plain quick zstd", leaf(Plain, QuickZstd)),
        ("plain zstd 1", leaf(Plain, Zstd(1))),
        ("plain zstd 3", leaf(Plain, Zstd(3))),
        ("dictionary", leaf(Dictionary, None)),
        ("dictionary lz4", leaf(Dictionary, Lz4)),
        ("dictionary zstd 1", leaf(Dictionary, Zstd(1))),
        ("delta", leaf(Delta, None)),
        ("delta lz4", leaf(Delta, Lz4)),
        ("delta zstd 1", leaf(Delta, Zstd(1))),
    ]
}

#[test]
#[ignore = "takes a minute and wants a release build"]
fn by_column() {
    let (dir, whole) = (tempfile::tempdir().unwrap(), table());
    let store = PartStore::local(host(), dir.path().to_owned());
    let all = batches(&whole);
    for (position, (name, kind)) in COLUMNS.iter().enumerate() {
        let mut one = whole.as_ref().clone();
        one.columns = vec![whole.columns[position].clone()];
        let one = Arc::new(one);
        let cut: Vec<RecordBatch> = all
            .iter()
            .map(|b| RecordBatch::try_new(one.arrow_schema(), vec![b.column(position).clone()]).unwrap())
            .collect();
        for (label, leaf) in variants() {
            let integer = kind.contains("Int") || kind.contains("Date");
            if leaf.values == ValueEncoding::Delta && !integer {
                continue;
            }
            let mut spec = spec(&whole, WritePurpose::Insert);
            spec.table = Arc::clone(&one);
            spec.keys = Arc::new(TableKeys::default());
            spec.encodings = Some(Arc::new(ColumnEncodings::uniform(leaf, 1)));
            write(&store, spec.clone(), &cut);
            let best =
                (0..3).map(|_| write(&store, spec.clone(), &cut)).min_by_key(|(took, _)| *took).unwrap();
            assert_eq!(best.1.rows, ROWS / BATCH as u64 * BATCH as u64);
            println!("{name:14} {label:18} {:6} ms {:9.2} MB", best.0, best.1.bytes as f64 / 1e6);
        }
    }
}

#[test]
#[ignore = "takes a minute and wants a release build"]
fn whole_rows() {
    let (dir, table) = (tempfile::tempdir().unwrap(), table());
    let store = PartStore::local(host(), dir.path().to_owned());
    let all = batches(&table);
    for purpose in [WritePurpose::Insert, WritePurpose::Merge] {
        let best =
            (0..3).map(|_| write(&store, spec(&table, purpose), &all)).min_by_key(|(took, _)| *took).unwrap();
        let (file, memory) = (best.1.bytes as f64 / 1e6, best.1.bytes_uncompressed as f64 / 1e6);
        assert!(file < memory);
        println!("{purpose:?}: {} ms, {file:.1} MB of {memory:.1} MB", best.0);
    }
}
