//! Several readers give what one gives: rows, order and errors; and no more is held or left behind than is said.

use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::compute::concat_batches;
use arrow::datatypes::{Schema, SchemaRef};
use formats::{FormatKind, FormatSettings, OutputStats, new_reader_at, new_writer};
use futures::StreamExt;
use model::type_arrow::to_field;

use super::*;

const THREADS: usize = 2;
const PIECE_BYTES: usize = 64 << 10;

fn schema() -> SchemaRef {
    let column = |name: &str, of: &str| to_field(name, &model::type_name::parse(of).unwrap());
    Arc::new(Schema::new(vec![column("n", "Int64"), column("s", "String")]))
}

fn runtimes() -> Runtimes {
    Runtimes::new(2, 1).unwrap()
}

fn plan(kind: FormatKind, threads: usize, runtimes: &Runtimes, memory: u64) -> BodyPlan {
    let settings = FormatSettings::default();
    BodyPlan {
        boundaries: RecordBoundaries::with_blocks(kind, &settings),
        make_reader: Arc::new(move |start| new_reader_at(kind, schema(), None, &settings, start)),
        has_long_records: !kind.is_text(),
        threads,
        piece_bytes: PIECE_BYTES,
        rejects: Arc::default(),
        runtimes: runtimes.clone(),
        memory: MemoryBudget::new(memory),
    }
}

fn chunks(body: &[u8], length: usize) -> BodyStream {
    let chunks: Vec<_> = body.chunks(length).map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
    futures::stream::iter(chunks).boxed()
}

/// Rows until the end or the first error.
fn read(plan: BodyPlan, body: BodyStream) -> (RecordBatch, Option<Error>) {
    let runtimes = plan.runtimes.clone();
    runtimes.block_on(async {
        let (mut batches, mut failed) = (Vec::new(), None);
        let mut rows = read_body(plan, body).unwrap();
        while let Some(batch) = rows.next().await {
            match batch {
                Ok(batch) => batches.push(batch),
                Err(error) => failed = Some(error),
            }
        }
        (concat_batches(&schema(), &batches).unwrap(), failed)
    })
}

const ROWS: usize = 60_000;

fn texts(row: impl Fn(usize) -> String) -> Vec<u8> {
    (0..ROWS).map(row).collect::<String>().into_bytes()
}

fn blocks() -> Vec<u8> {
    let csv = texts(|row| format!("{row},\"text {row} that is longer than twelve bytes\"\n"));
    let runtimes = runtimes();
    let (rows, _) = read(plan(FormatKind::Csv, 1, &runtimes, 1 << 30), chunks(&csv, 100_000));
    let settings = FormatSettings::default();
    let (mut writer, mut out) = (new_writer(FormatKind::Native, &settings).unwrap(), Vec::new());
    writer.start(&schema(), &mut out).unwrap();
    // Blocks of all sizes, of which some are longer than a piece.
    let (mut from, mut count) = (0, 1);
    while from < rows.num_rows() {
        count = (count * 3).min(rows.num_rows() - from);
        writer.write(&rows.slice(from, count), &mut out).unwrap();
        (from, count) = (from + count, if count > 5000 { 1 } else { count });
    }
    writer.finish(&OutputStats::default(), &mut out).unwrap();
    out
}

fn bodies() -> Vec<(FormatKind, Vec<u8>)> {
    let names = |head: &str, mut rows: Vec<u8>| {
        rows.splice(..0, head.bytes());
        rows
    };
    vec![
        (FormatKind::Csv, texts(|row| format!("{row},\"a \"\"quoted\"\" text\nover lines, {row}\"\n"))),
        (FormatKind::Csv, texts(|row| format!("{row},bare text with a \" in it\r\n"))),
        (
            FormatKind::CsvWithNames,
            names("s,n\n", texts(|row| format!("\"text\r\nnumber {row}\",{row}\r\n"))),
        ),
        (FormatKind::TabSeparated, texts(|row| format!("{row}\ta text\\\nover lines\\\\\n"))),
        (
            FormatKind::TabSeparatedWithNames,
            names("s\tn\n", texts(|row| format!("some text that is long enough\t{row}\n"))),
        ),
        (
            FormatKind::JsonEachRow,
            texts(|row| format!("{{\n  \"s\": \"}}\\\" {row}\",\n  \"n\": {row}\n}}\n")),
        ),
        (
            FormatKind::JsonEachRow,
            names("[", texts(|row| format!("{{\"n\": {row}, \"s\": \"in a list\"}},\n"))),
        ),
        (FormatKind::JsonCompactEachRow, texts(|row| format!("[{row}, \"a list []\\n\"]\n"))),
        (FormatKind::Native, blocks()),
        // Not cut at all.
        (
            FormatKind::RowBinary,
            (0..ROWS).flat_map(|row| [&row.to_le_bytes()[..], &[24], &[b'x'; 24]].concat()).collect(),
        ),
    ]
}

#[test]
fn several_readers_give_what_one_gives() {
    let runtimes = runtimes();
    for (kind, mut body) in bodies() {
        if body.starts_with(b"[{") {
            body.truncate(body.len() - 2);
            body.push(b']');
        }
        assert!(body.len() > SMALL_BYTES_MAX + 4 * PIECE_BYTES, "{kind:?} has {} bytes", body.len());
        let (alone, failed) = read(plan(kind, 1, &runtimes, 1 << 30), chunks(&body, 100_000));
        assert!(failed.is_none() && alone.num_rows() == ROWS, "{kind:?}: {failed:?}");
        for length in [977, 65_536, body.len()] {
            let (together, failed) = read(plan(kind, THREADS, &runtimes, 1 << 30), chunks(&body, length));
            assert!(failed.is_none(), "{kind:?}, {length}: {failed:?}");
            assert!(together == alone, "{kind:?}, {length}: {} rows", together.num_rows());
        }
    }
}

#[test]
fn pieces_are_parsed_beside_each_other_and_small_bodies_are_not() {
    let runtimes = runtimes();
    let starts = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let counted = |threads| {
        let (mut plan, starts) = (plan(FormatKind::Csv, threads, &runtimes, 1 << 30), Arc::clone(&starts));
        let make = Arc::clone(&plan.make_reader);
        plan.make_reader = Arc::new(move |start| {
            if let ReaderStart::Middle { position, .. } = start {
                starts.lock().push(*position);
            }
            make(start)
        });
        plan
    };
    let body = texts(|row| format!("{row},some text of this row\n"));
    let small = &body[..SMALL_BYTES_MAX];
    for (threads, body) in [(1, body.as_slice()), (THREADS, small)] {
        read(counted(threads), chunks(body, 50_000));
        assert_eq!(*starts.lock(), [0; 0], "{threads} threads, {} bytes", body.len());
    }
    read(counted(THREADS), chunks(&body, 50_000));
    let starts = starts.lock();
    assert!(starts.len() >= (body.len() - SMALL_BYTES_MAX) / PIECE_BYTES / 2, "{} pieces", starts.len());
}

#[test]
fn errors_name_the_row_and_the_byte_of_the_body() {
    let runtimes = runtimes();
    let fails = |kind: FormatKind, body: &[u8], length: usize| {
        let (alone, expected) = read(plan(kind, 1, &runtimes, 1 << 30), chunks(body, length));
        let (together, failed) = read(plan(kind, THREADS, &runtimes, 1 << 30), chunks(body, length));
        let (expected, failed) = (expected.unwrap(), failed.unwrap());
        assert_eq!((failed.code, failed.to_string()), (expected.code, expected.to_string()), "{kind:?}");
        assert!(together.num_rows() <= ROWS && alone.num_rows() <= ROWS);
        failed.to_string()
    };
    for bad in [10, 30_000, 45_678, ROWS - 1] {
        let csv = |row: usize| match row == bad {
            true => format!("{row}x,\"bad text of some length\"\n"),
            false => format!("{row},\"good text\nof some length\"\n"),
        };
        let place = format!("row {}, column \"n\"", bad + 1);
        let said = fails(FormatKind::Csv, &texts(csv), 70_000);
        assert!(said.contains(&place), "{said}");
        let json = |row: usize| match row == bad {
            true => format!("{{\"n\": {row}, \"s\" \"no colon\"}}\n"),
            false => format!("{{\"n\": {row}, \"s\": \"some text\"}}\n"),
        };
        let said = fails(FormatKind::JsonEachRow, &texts(json), 70_000);
        assert!(said.contains(&format!("row {}", bad + 1)), "{said}");
    }
    // A quote that is never closed; a body that ends inside of a block, and one that is no block somewhere.
    let open =
        texts(|row| format!("{row},{}some text of some length\n", if row == 50_000 { "\"" } else { "" }));
    fails(FormatKind::Csv, &open, 70_000);
    let blocks = blocks();
    fails(FormatKind::Native, &blocks[..blocks.len() - 100], 70_000);
    fails(FormatKind::Native, &[&blocks[..], b"\x01\x01\x01n\x05Int6x12345678"].concat(), 70_000);
}

#[test]
fn a_body_that_breaks_off_is_an_error_behind_its_rows() {
    let runtimes = runtimes();
    let body = texts(|row| format!("{row},some text of this row\n"));
    let broken = || Err(Error::internal("it broke off"));
    for at in [0, 10_000, SMALL_BYTES_MAX, body.len()] {
        let chunks = chunks(&body[..at], 30_000).chain(futures::stream::iter([broken()])).boxed();
        let (rows, failed) = read(plan(FormatKind::Csv, THREADS, &runtimes, 1 << 30), chunks);
        assert!(failed.is_some_and(|error| error.to_string().contains("it broke off")), "{at}");
        assert!(rows.num_rows() < ROWS);
    }
}

#[test]
fn little_memory_is_enough_and_all_of_it_is_given_back() {
    let runtimes = runtimes();
    let body = texts(|row| format!("{row},some text of this row\n"));
    for limit in [0, 3 * PIECE_BYTES as u64, 1 << 30] {
        let plan = plan(FormatKind::Csv, THREADS, &runtimes, limit);
        let memory = plan.memory.clone();
        let (rows, failed) = read(plan, chunks(&body, 50_000));
        assert!(failed.is_none() && rows.num_rows() == ROWS, "{limit}");
        let most = 2 * (THREADS + PIECES_WAITING) as u64 * (2 * PIECE_BYTES as u64);
        assert!(memory.used() == 0 && memory.peak() > 0 && memory.peak() <= most, "{}", memory.peak());
    }
}

#[test]
fn no_more_is_read_than_is_taken_and_a_stream_that_is_dropped_leaves_no_task() {
    let runtimes = runtimes();
    let line = b"1,some text of this row\n".repeat(1000);
    let read = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&read);
    let endless = futures::stream::repeat(Bytes::from(line)).map(move |chunk| {
        counter.fetch_add(chunk.len(), Ordering::Relaxed);
        Ok(chunk)
    });
    let plan = plan(FormatKind::Csv, THREADS, &runtimes, 1 << 30);
    let memory = plan.memory.clone();
    runtimes.block_on(async {
        let mut rows = read_body(plan, endless.boxed()).unwrap();
        let mut taken = 0;
        while taken < 200_000 {
            taken += rows.next().await.unwrap().unwrap().num_rows();
        }
        let ahead = read.load(Ordering::Relaxed) - taken * 24;
        let most = SMALL_BYTES_MAX + (THREADS + PIECES_WAITING + 3) * PIECE_BYTES;
        assert!(ahead < most, "{ahead} bytes were read ahead");
        assert!(memory.used() > 0);
        drop(rows);
        while !runtimes.running().is_empty() {
            tokio::task::yield_now().await;
        }
    });
    assert_eq!(memory.used(), 0);
}
