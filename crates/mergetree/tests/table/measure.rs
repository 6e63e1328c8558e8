//! What a sink costs beside encoding: `cargo test --release -p mergetree --test table measure -- --ignored --nocapture`.

use arrow::array::RecordBatch;
use mergetree::write::PartSink;
use parts::array_size::batch_bytes;

use crate::fixture::rows::{host, rows as make_rows};
use crate::fixture::{create, definition, settings};

const BATCH: u64 = 8192;
const BATCHES: u64 = 40;

fn run(partitioned: bool, sorted: bool) {
    let dir = tempfile::tempdir().unwrap();
    let table = create(&host(), dir.path(), definition(partitioned));
    let batches: Vec<RecordBatch> =
        (0..BATCHES).map(|i| make_rows(&table.def, i * BATCH, 8192, sorted)).collect();
    let bytes: u64 = batches.iter().map(batch_bytes).sum();
    for _ in 0..3 {
        let started = table.host.clock.monotonic();
        let mut sink = PartSink::new(table.clone(), settings(&table.host.memory)).unwrap();
        batches.iter().for_each(|batch| sink.write(batch.clone()).unwrap());
        let parts = sink.finish().unwrap();
        let took = table.host.clock.monotonic() - started;
        let written: u64 = parts.iter().map(|part| part.descriptor().bytes).sum();
        assert_eq!(parts.iter().map(|part| part.descriptor().rows).sum::<u64>(), BATCHES * BATCH);
        let rate = bytes as f64 / took.as_secs_f64() / 1e6;
        let (memory, file) = (bytes as f64 / 1e6, written as f64 / 1e6);
        println!(
            "partitioned {partitioned} sorted {sorted}: {rate:.0} MB/s, {memory:.0} MB, {file:.0} MB on disk, {} parts",
            parts.len()
        );
        parts.iter().for_each(|part| table.store.delete(part.descriptor()).unwrap());
    }
}

#[test]
#[ignore = "takes a while and wants a release build"]
fn sink_throughput() {
    run(false, false);
    run(true, false);
    run(false, true);
}
