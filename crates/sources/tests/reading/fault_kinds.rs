//! Reading through a proxy that breaks a tenth of the answers: exact rows or a clear error, and few requests more.
//!
//! Two seeds by default, twenty with `GRISTMILL_SOAK=1`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow::array::{ArrayRef, Int64Array};
use host::{Clock, SystemClock};
use sources::resolve;
use stores::{Argument, ArgumentValue, Rate, SourceCall};
use tokio::io::AsyncWriteExt;

use crate::fault_proxy::kinds::{FaultKind, Faults, KINDS};
use crate::fault_proxy::proxy::FaultProxy;
use crate::fixture::{Fixture, parquet};

const FILES: i64 = 5;
const ROWS: i64 = 30_000;

struct World {
    fixture: Fixture,
    proxy: FaultProxy,
    faults: Arc<Mutex<Faults>>,
}

impl World {
    /// Five files of each format; every listing has three pages.
    fn new() -> World {
        let mut fixture = Fixture::new();
        fixture.settings(|settings| {
            settings.request_timeout = Duration::from_millis(1000);
            settings.retry_attempts = 20;
            settings.retry_timeout = Duration::from_secs(60);
            settings.list_page_keys = 2;
            settings.max_download_buffer_size = 64 << 10;
        });
        for file in 0..FILES {
            let numbers = file * ROWS..(file + 1) * ROWS;
            let text: String = numbers.clone().map(|n| format!("{n}\n")).collect();
            let columns: Vec<(&str, ArrayRef)> = vec![("n", Arc::new(Int64Array::from_iter_values(numbers)))];
            fixture.server.put("b", &format!("p/{file}.parquet"), parquet(columns, 10_000));
            fixture.server.put("b", &format!("c/{file}.csv"), text.clone());
            let zipped = fixture.run(async {
                let mut gzip = async_compression::tokio::write::GzipEncoder::new(Vec::new());
                gzip.write_all(text.as_bytes()).await.unwrap();
                gzip.shutdown().await.unwrap();
                gzip.into_inner()
            });
            fixture.server.put("b", &format!("z/{file}.csv.gz"), zipped);
        }
        let faults = Arc::new(Mutex::new(Faults::default()));
        let upstream = fixture.server.url("").trim_start_matches("http://").trim_end_matches('/').parse();
        let proxy = FaultProxy::start(&fixture.runtimes, upstream.unwrap(), 0, Arc::clone(&faults)).unwrap();
        World { fixture, proxy, faults }
    }

    fn set(&self, seed: u64, per_mille: u64, kinds: &[FaultKind]) {
        *self.faults.lock().unwrap() = Faults { seed, per_mille, kinds: kinds.to_vec(), latency_ms: 0 };
    }

    fn call(&self, path: &str) -> SourceCall {
        let texts = match path.ends_with("parquet") {
            true => vec![format!("{}/{path}", self.proxy.url())],
            false => vec![format!("{}/{path}", self.proxy.url()), "CSV".to_owned(), "n Int64".to_owned()],
        };
        let arguments =
            texts.into_iter().map(|text| Argument { name: None, value: ArgumentValue::Text(text) }).collect();
        SourceCall { function: "s3".to_owned(), arguments }
    }

    /// Files and their sum, or the error.
    fn sum(&self, path: &str) -> Result<Vec<String>, String> {
        let table = self.fixture.run(resolve(&self.call(path), &self.fixture.env, None));
        let table = table.map_err(|error| error.to_string())?;
        self.fixture.query(&table, "select count(distinct _path), count(*), sum(n) from t where n >= 0")
    }

    /// Requests without faults. Footers are cached by then, as they are for every later reading.
    fn clean(&self) -> u64 {
        self.read_all(None);
        self.read_all(None)
    }

    /// Reads everything; how many requests it took. A fault may surface as an error that `error_may_say` knows.
    fn read_all(&self, error_may_say: Option<&str>) -> u64 {
        let (before, _, _) = self.proxy.counts();
        let rows = FILES * ROWS;
        let expected = vec![format!("{FILES}|{rows}|{}", rows * (rows - 1) / 2)];
        for path in ["b/p/*.parquet", "b/c/*.csv", "b/z/*.csv.gz"] {
            match (self.sum(path), error_may_say) {
                (Ok(found), _) => assert_eq!(found, expected, "{path}"),
                (Err(error), words) => {
                    assert!(words.is_some_and(|words| error.contains(words)), "{path}: {error}")
                }
            }
        }
        self.proxy.counts().0 - before
    }
}

fn is_soak() -> bool {
    std::env::var("GRISTMILL_SOAK").is_ok_and(|value| value == "1")
}

fn seeds() -> std::ops::RangeInclusive<u64> {
    1..=if is_soak() { 20 } else { 2 }
}

/// A tenth of the requests have one of these faults; rows are exact and requests at most three times as many.
fn tenth(kinds: &[FaultKind], error_may_say: Option<&str>) {
    let world = World::new();
    let clean = world.clean();
    for seed in seeds() {
        let faulty_before = world.proxy.counts().1;
        world.set(seed, 100, kinds);
        let requests = world.read_all(error_may_say);
        let faulty = world.proxy.counts().1 - faulty_before;
        let case =
            format!("{kinds:?}, seed {seed}: {clean} requests became {requests}, {faulty} of them broken");
        assert!(requests <= 3 * clean, "{case}");
    }
    assert!(world.proxy.counts().1 > 0, "{kinds:?}: nothing was broken");
}

#[test]
fn each_broken_connection_is_borne() {
    for kind in
        [FaultKind::ResetBeforeHead, FaultKind::ResetInHead, FaultKind::ResetInBody, FaultKind::Truncated]
    {
        tenth(&[kind], None);
    }
}

#[test]
fn each_error_answer_is_borne() {
    for kind in [FaultKind::Internal500, FaultKind::SlowDown503, FaultKind::ErrorUnder200] {
        tenth(&[kind], None);
    }
}

#[test]
fn each_broken_listing_is_borne() {
    for kind in [FaultKind::ListFails, FaultKind::ListCut, FaultKind::SameToken] {
        let world = World::new();
        let clean = world.clean();
        // Few requests are listings: half of them are broken.
        for seed in seeds() {
            world.set(seed, 500, &[kind]);
            // A few attempts at a page that is no listing; five broken ones in a row are an error.
            let requests = world.read_all(Some("listing"));
            println!("{kind:?}, seed {seed}: {clean} requests became {requests}");
            assert!(requests <= 3 * clean, "{kind:?}: {requests} instead of {clean}");
        }
        assert!(world.proxy.counts().1 > 0, "{kind:?}");
    }
}

#[test]
fn silence_is_borne() {
    tenth(&[FaultKind::Stall], None);
}

#[test]
fn slowness_is_borne() {
    tenth(&[FaultKind::Dribble], None);
}

#[test]
fn a_store_that_names_a_time_to_wait_is_obeyed() {
    tenth(&[FaultKind::TooMany429], None);
}

#[test]
fn another_version_is_an_error_even_if_the_store_does_not_say_so() {
    tenth(&[FaultKind::WrongEtag], Some("was replaced while it was being read: its ETag was"));
}

#[test]
fn all_kinds_together_are_borne() {
    let kinds: Vec<FaultKind> = KINDS.iter().map(|(_, kind)| *kind).collect();
    tenth(&kinds, Some("was replaced while it was being read"));
}

#[test]
fn a_store_that_is_down_for_a_while_is_waited_for() {
    let world = World::new();
    world.set(1, 1000, &[FaultKind::ResetBeforeHead]);
    let faults = Arc::clone(&world.faults);
    let _up = world.fixture.runtimes.spawn_io("up again", async move {
        tokio::time::sleep(Duration::from_millis(1500)).await;
        *faults.lock().unwrap() = Faults::default();
    });
    world.read_all(None);
    assert!(world.proxy.counts().1 >= 3, "it was down");
}

#[test]
fn what_never_ends_ends() {
    for (kind, words) in [
        (FaultKind::SlowDown503, "HTTP 503"),
        (FaultKind::Stall, "no answer within 200 ms"),
        (FaultKind::Dribble, "came to a stop, or too slowly"),
        (FaultKind::SameToken, "goes round in circles"),
        (FaultKind::ListCut, "cut, or not a listing"),
        (FaultKind::ErrorUnder200, "injected"),
    ] {
        let mut world = World::new();
        world.fixture.settings(|settings| {
            settings.request_timeout = Duration::from_millis(200);
            settings.retry_attempts = 3;
        });
        world.set(1, 1000, &[kind]);
        let error = world.sum("b/c/*.csv").expect_err(&format!("{kind:?}"));
        assert!(error.contains(words), "{kind:?}: {error}");
        assert!(error.contains("attempts in") && error.contains("\"b/c/"), "{kind:?}: {error}");
    }
}

/// Begins a reading under such faults, gives it up after a while, and answers how long anything of it went on.
fn cancelled(world: &World, kind: FaultKind, path: &str, after_ms: u64) -> Duration {
    let runtimes = &world.fixture.runtimes;
    world.set(1, 1000, &[kind]);
    let (call, env) = (world.call(path), world.fixture.env.clone());
    let reading = runtimes.spawn_cpu("reading", async move { resolve(&call, &env, None).await.is_ok() });
    let clock = SystemClock::new();
    clock.sleep(Duration::from_millis(after_ms));
    let began = clock.monotonic();
    reading.abort();
    assert!(runtimes.block_on(reading).is_err_and(|ended| ended.is_cancelled()), "{kind:?}");
    loop {
        let waited = clock.monotonic() - began;
        if runtimes.running().iter().all(|task| !task.starts_with("source")) {
            return waited;
        }
        assert!(waited < Duration::from_secs(2), "{kind:?} at {after_ms} ms: {:?}", runtimes.running());
        clock.sleep(Duration::from_millis(1));
    }
}

#[test]
fn cancelling_ends_every_request_at_once() {
    let world = World::new();
    for (kind, after_ms) in [
        (FaultKind::Stall, 0),
        (FaultKind::Stall, 30),
        (FaultKind::Stall, 700),
        (FaultKind::SlowDown503, 5),
        (FaultKind::SlowDown503, 150),
        (FaultKind::TooMany429, 300),
        (FaultKind::Dribble, 60),
        (FaultKind::ResetBeforeHead, 90),
    ] {
        cancelled(&world, kind, "b/p/*.parquet", after_ms);
    }
    if !is_soak() {
        return;
    }
    // Moments that follow from a number: densely at first, up to two seconds.
    let mut longest = Duration::ZERO;
    for moment in 0..100_u64 {
        for kind in [FaultKind::Stall, FaultKind::SlowDown503, FaultKind::Dribble, FaultKind::ResetBeforeHead]
        {
            longest = longest.max(cancelled(&world, kind, "b/p/*.parquet", moment * moment / 5));
        }
    }
    println!("cancelled at 400 moments: {longest:?} at most");
}

#[test]
fn a_listing_that_lies_about_a_size_is_an_error_with_both_sizes() {
    let mut world = World::new();
    world.fixture.settings(|settings| settings.validate_etag = false);
    world.fixture.server.put("b", "lie/a.csv", "1\n2\n3\n");
    let call = world.call("b/lie/*.csv");
    let table = world.fixture.run(resolve(&call, &world.fixture.env, None)).unwrap();
    world.fixture.server.put("b", "lie/a.csv", "1\n");
    let error = world.fixture.query(&table, "select sum(n) from t where n >= 0").unwrap_err();
    assert!(error.contains("\"b/lie/a.csv\" has 2 bytes") && error.contains("at least 6"), "{error}");
}

#[test]
fn requests_a_second_are_limited() {
    let mut world = World::new();
    world.fixture.settings(|settings| settings.get_rate = Rate { per_second: 20, burst: 1 });
    let clock = SystemClock::new();
    let table =
        world.fixture.run(resolve(&world.call("b/c/{0,1,2,3,4}.csv"), &world.fixture.env, None)).unwrap();
    assert_eq!(table.files().len(), 5);
    assert!(clock.monotonic() >= Duration::from_millis(200), "five HEADs 50 ms apart");
}
