//! Shares give the rows of the file, once, whatever the chunks; failures reach everybody and nobody waits for ever.

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{Int64Type, Schema, SchemaRef};
use formats::new_reader_at;
use futures::{FutureExt, StreamExt};
use model::type_arrow::to_field;

use super::*;

const SHARES: usize = 3;

fn schema() -> SchemaRef {
    let column = |name: &str, of: &str| to_field(name, &model::type_name::parse(of).unwrap());
    Arc::new(Schema::new(vec![column("n", "Int64"), column("s", "String")]))
}

fn make_reader(format: FormatKind) -> MakeReader {
    Box::new(move |start| {
        new_reader_at(format, schema(), None, &FormatSettings::default(), start)
            .map_err(|error| bad_row("f", &error))
    })
}

fn runtimes() -> Runtimes {
    Runtimes::new(2, 1).unwrap()
}

fn plan(format: FormatKind, chunks: Vec<Result<Bytes>>, runtimes: &Runtimes, memory: u64) -> CutPlan {
    CutPlan {
        chunks: futures::stream::iter(chunks).boxed(),
        path: "f".to_owned(),
        boundaries: RecordBoundaries::new(format, &FormatSettings::default()).unwrap(),
        make_reader: make_reader(format),
        piece_bytes: 64 << 10,
        runtimes: runtimes.clone(),
        memory: MemoryBudget::new(memory),
    }
}

fn open(plan: CutPlan, format: FormatKind) -> Vec<Share> {
    let shares: Vec<Share> = shares(format, &FormatSettings::default(), SHARES).unwrap().collect();
    let plan = Mutex::new(Some(plan));
    for share in &shares {
        share.open(|| Ok(plan.lock().take().unwrap())).unwrap();
    }
    shares
}

/// Numbers of the rows that one share is given.
async fn read(share: Share, format: FormatKind) -> Result<Vec<i64>> {
    let mut rows: Vec<RecordBatch> = Vec::new();
    while let Some(given) = share.next().await? {
        match given {
            Given::Rows(given) => rows.extend(given),
            Given::Piece(piece) => rows.extend(piece.read("f", make_reader(format))?),
            Given::Rest { mut feed, mut chunks } => {
                let mut read = |chunk: &[u8], end| {
                    feed.take(chunk, end, &mut rows).map_err(|error| bad_row("f", &error))
                };
                while let Some(chunk) = chunks.next().await {
                    read(&chunk?, false)?;
                }
                read(&[], true)?;
            }
        }
        // Others get a turn.
        tokio::task::yield_now().await;
    }
    Ok(rows.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec()).collect())
}

fn read_all(shares: Vec<Share>, format: FormatKind, runtimes: &Runtimes) -> Vec<Result<Vec<i64>>> {
    let tasks: Vec<_> =
        shares.into_iter().map(|share| runtimes.spawn_cpu("share", read(share, format))).collect();
    runtimes.block_on(futures::future::join_all(tasks)).into_iter().map(|read| read.unwrap()).collect()
}

fn chunks(text: &str, step: usize) -> Vec<Result<Bytes>> {
    text.as_bytes().chunks(step).map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect()
}

const ROWS: i64 = 60_000;

fn text(format: FormatKind) -> String {
    let row = |n: i64| match format {
        FormatKind::Csv => format!("{n},\"a \"\"{n}\"\"\n, {n}\"\n"),
        FormatKind::CsvWithNames => format!("\"5\"\"\n{n}\",{n}\n"),
        FormatKind::TabSeparated => format!("{n}\ta\\\n{n}\n"),
        _ => format!("{{\"s\":\"}}\\\"{n}\",\"n\":{n}}}\n"),
    };
    let header = if format == FormatKind::CsvWithNames { "s,n\n" } else { "" };
    std::iter::once(header.to_owned()).chain((0..ROWS).map(row)).collect()
}

#[test]
fn shares_together_give_every_row_once() {
    let runtimes = runtimes();
    for format in
        [FormatKind::Csv, FormatKind::CsvWithNames, FormatKind::TabSeparated, FormatKind::JsonEachRow]
    {
        let text = text(format);
        // A small memory: pieces are counted past it, one at a time.
        for (step, memory) in [(1 << 20, 1 << 30), (10_007, 1 << 30), (100_000, 1000), (text.len(), 1 << 30)]
        {
            let shares = open(plan(format, chunks(&text, step), &runtimes, memory), format);
            let read = read_all(shares, format, &runtimes);
            let mut rows: Vec<i64> = read.into_iter().flat_map(Result::unwrap).collect();
            rows.sort_unstable();
            assert!(rows.iter().copied().eq(0..ROWS), "{format:?} in steps of {step}: {} rows", rows.len());
        }
    }
}

#[test]
fn one_stream_alone_reads_in_order() {
    let runtimes = runtimes();
    let shares = open(
        plan(FormatKind::Csv, chunks(&text(FormatKind::Csv), 99_991), &runtimes, 1 << 30),
        FormatKind::Csv,
    );
    let mut rows = Vec::new();
    for share in shares {
        rows.extend(runtimes.block_on(read(share, FormatKind::Csv)).unwrap());
    }
    assert!(rows.into_iter().eq(0..ROWS));
}

#[test]
fn what_cannot_be_cut_is_read_by_one_share() {
    let runtimes = runtimes();
    let array = format!("[{}]", text(FormatKind::JsonEachRow).trim_end().replace('\n', ",\n"));
    let padded = format!("{array}{}", " ".repeat(33 << 20));
    let format = FormatKind::JsonEachRow;
    for text in [array, padded] {
        let read = read_all(
            open(plan(format, chunks(&text, 1 << 20), &runtimes, 1 << 30), format),
            format,
            &runtimes,
        );
        let mut of_shares: Vec<usize> = read.into_iter().map(|rows| rows.unwrap().len()).collect();
        of_shares.sort_unstable();
        assert_eq!(of_shares, [0, 0, usize::try_from(ROWS).unwrap()]);
    }
}

#[test]
fn an_error_reaches_everybody() {
    let runtimes = runtimes();
    let format = FormatKind::Csv;
    let mut broken = chunks(&text(format), 100_000);
    broken.truncate(5);
    broken.push(Err(SourceError::corrupt("f", "\"f\" is cut")));
    let read = read_all(open(plan(format, broken, &runtimes, 1 << 30), format), format, &runtimes);
    for share in read {
        assert_eq!(share.unwrap_err().message(), "\"f\" is cut");
    }
}

#[test]
fn a_bad_row_is_named_by_its_part_and_byte() {
    let runtimes = runtimes();
    let format = FormatKind::TabSeparated;
    let mut text = text(format);
    let bad = text.len();
    text.push_str("x\ty\n");
    let read =
        read_all(open(plan(format, chunks(&text, 1 << 20), &runtimes, 1 << 30), format), format, &runtimes);
    let errors: Vec<String> = read.into_iter().filter_map(|read| Some(read.err()?.to_string())).collect();
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0].contains("of the part from byte ") && errors[0].contains(&format!("byte {bad})")),
        "{errors:?}"
    );
}

#[test]
fn a_share_that_is_not_polled_takes_nothing_from_the_others() {
    let runtimes = runtimes();
    let format = FormatKind::Csv;
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    let mut plan = plan(format, Vec::new(), &runtimes, 1 << 30);
    let stored =
        futures::stream::unfold(
            receiver,
            |mut receiver| async move { Some((receiver.recv().await?, receiver)) },
        );
    plan.chunks = stored.boxed();
    let mut shares = open(plan, format);
    let idle = shares.pop().unwrap();
    let mut waiting = Box::pin(idle.next());
    assert!(waiting.as_mut().now_or_never().is_none());
    chunks(&text(format), 70_000).into_iter().for_each(|chunk| sender.send(chunk).unwrap());
    drop(sender);
    let rows: usize = read_all(shares, format, &runtimes).into_iter().map(|rows| rows.unwrap().len()).sum();
    assert_eq!(rows, usize::try_from(ROWS).unwrap());
    assert!(runtimes.block_on(waiting).unwrap().is_none());
}

#[test]
fn a_share_is_opened_once_and_ends_with_the_last() {
    let runtimes = runtimes();
    let format = FormatKind::Csv;
    let memory = MemoryBudget::new(1 << 30);
    let mut plan = plan(format, chunks(&text(format), 70_000), &runtimes, 1);
    plan.memory = memory.clone();
    let shares = open(plan, format);
    let again = shares[0].open(|| unreachable!("the cutter runs")).unwrap_err();
    assert!(again.to_string().contains("opened twice"), "{again}");
    runtimes.block_on(async {
        for _ in 0..2 {
            assert!(matches!(shares[1].next().await.unwrap(), Some(Given::Rows(_) | Given::Piece(_))));
        }
    });
    assert!(runtimes.running().contains(&"source cutter".to_owned()));
    drop(shares);
    // Dropping the shares is what stops the task.
    while runtimes.running().contains(&"source cutter".to_owned()) {
        std::thread::yield_now();
    }
    assert_eq!(memory.used(), 0);
}
