//! INSERT INTO FUNCTION url(): what a server is sent, and what it sees of statements that fail.

use std::sync::Arc;
use std::time::Duration;

use host::{Disk, SystemDisk};
use model::ExportObject;
use sources::export::{ExportJournal, ExportNames, PartitionKey, Sealed};
use sources::{Destination, Export, ExportSettings};
use stores::{Argument, ArgumentValue, SourceCall, SourceError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::exports::rows;
use crate::fixture::Fixture;

/// As good as for ever: a request that takes this long does not come.
const PATIENCE: Duration = Duration::from_secs(60);

/// One request as it arrived, heads and chunks and all.
#[derive(Clone)]
struct Arrived {
    text: String,
    /// Its last chunk came.
    is_whole: bool,
}

/// A server that takes bodies in chunks. It answers with the status in the path: `/404/x`.
struct Taker {
    /// Requests that have ended, one way or the other.
    arrived: Arc<watch::Sender<Vec<Arrived>>>,
    address: String,
}

impl Taker {
    fn start(fixture: &Fixture) -> Taker {
        let arrived = Arc::new(watch::Sender::new(Vec::new()));
        let listener = fixture.run(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (shared, tasks) = (Arc::clone(&arrived), fixture.runtimes.clone());
        fixture.runtimes.spawn_io("test taker", async move {
            while let Ok((stream, _)) = listener.accept().await {
                let shared = Arc::clone(&shared);
                tasks.spawn_io("test taker connection", take(stream, shared));
            }
        });
        Taker { arrived, address }
    }

    /// Waits until so many requests have ended.
    fn arrived(&self, fixture: &Fixture, count: usize) -> Vec<Arrived> {
        let mut seen = self.arrived.subscribe();
        let all = async {
            let reached = seen.wait_for(|arrived| arrived.len() >= count);
            tokio::time::timeout(PATIENCE, reached).await.is_ok()
        };
        assert!(fixture.run(all), "fewer than {count} requests have ended");
        self.arrived.borrow().clone()
    }

    fn forget(&self) {
        self.arrived.send_modify(Vec::clear);
    }
}

fn pause(fixture: &Fixture, millis: u64) {
    fixture.run(async { tokio::time::sleep(Duration::from_millis(millis)).await });
}

async fn take(mut stream: TcpStream, arrived: Arc<watch::Sender<Vec<Arrived>>>) {
    let (mut text, mut piece) = (Vec::new(), vec![0; 1 << 16]);
    let is_whole = loop {
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => break false,
            Ok(bytes) => text.extend_from_slice(&piece[..bytes]),
        }
        if text.ends_with(b"\r\n0\r\n\r\n") {
            break true;
        }
    };
    let text = String::from_utf8_lossy(&text).into_owned();
    let status = text.split('/').nth(1).unwrap_or_default().to_owned();
    arrived.send_modify(|arrived| arrived.push(Arrived { text, is_whole }));
    let head = format!(
        "HTTP/1.1 {status} X\r\nlocation: /200/x\r\ncontent-length: 4\r\nconnection: close\r\n\r\nwhy\n"
    );
    let _ = stream.write_all(head.as_bytes()).await;
}

/// Nothing of a page is ever noted.
struct NoJournal;

impl ExportJournal for NoJournal {
    fn opened(&self, _: &[ExportObject]) -> Result<(), SourceError> {
        Err(SourceError::bad_arguments("a page was noted in the journal"))
    }

    fn reserve<'a>(
        &'a self,
        _: &'a model::ExportStore,
        key: &'a str,
        _: bool,
    ) -> futures::future::BoxFuture<'a, Result<(), SourceError>> {
        let error = SourceError::bad_arguments(format!("page {key} was reserved"));
        Box::pin(std::future::ready(Err(error)))
    }
}

fn begin(fixture: &Fixture, url: &str, more: &[(&str, &str)], parts: bool) -> Result<Export, SourceError> {
    let text = |text: &str| ArgumentValue::Text(text.to_owned());
    let mut arguments = vec![Argument { name: None, value: text(url) }];
    arguments.extend(
        more.iter().map(|(name, value)| Argument { name: Some((*name).to_owned()), value: text(value) }),
    );
    let call = SourceCall { function: "url".to_owned(), arguments };
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
    let destination = Destination::new(&call, &fixture.env, disk, ExportSettings::default(), parts)?;
    let (file_id, temporary_id) = ("1".to_owned(), "t".to_owned());
    let names = ExportNames { file_id, temporary_id, is_named: false };
    Ok(Export::new(Arc::new(destination), rows(1).schema(), Arc::new(NoJournal), names))
}

fn finish(fixture: &Fixture, mut export: Export) -> Result<(), SourceError> {
    fixture.run(async {
        match export.seal().await? {
            Sealed::Posted(pages) => pages.finish().await,
            Sealed::Whole { .. } | Sealed::Staged(_) => {
                Err(SourceError::bad_arguments("a page became an object"))
            }
        }
    })
}

#[test]
fn a_page_is_one_request_in_chunks() {
    let fixture = Fixture::new();
    let taker = Taker::start(&fixture);
    for (path, more, heads) in [
        (
            "200/x.csv?token=s3cr3t",
            vec![],
            ["POST /200/x.csv?token=s3cr3t", "text/csv; charset=UTF-8; header=absent"],
        ),
        ("200/x.csv.gz", vec![], ["POST /200/x.csv.gz", "content-encoding: gzip"]),
        ("201/x", vec![("format", "CSV"), ("method", "put")], ["PUT /201/x", "transfer-encoding: chunked"]),
    ] {
        taker.forget();
        let mut export = begin(&fixture, &format!("http://{}/{path}", taker.address), &more, false).unwrap();
        fixture.run(export.write(None, &rows(2))).unwrap();
        fixture.run(export.write(None, &rows(1))).unwrap();
        finish(&fixture, export).unwrap();
        let arrived = taker.arrived(&fixture, 1);
        assert_eq!(arrived.len(), 1, "{path}");
        assert!(arrived[0].is_whole, "{path}");
        for head in heads {
            assert!(arrived[0].text.contains(head), "{path}: {}", arrived[0].text);
        }
        assert_eq!(arrived[0].text.contains("1,\"text 1\"\n"), !path.ends_with(".gz"), "{}", arrived[0].text);
    }
}

#[test]
fn a_statement_that_fails_cuts_its_request() {
    let fixture = Fixture::new();
    let taker = Taker::start(&fixture);
    let mut export = begin(&fixture, &format!("http://{}/200/x.csv", taker.address), &[], false).unwrap();
    fixture.run(export.write(None, &rows(2))).unwrap();
    // Rows are on their way.
    pause(&fixture, 300);
    fixture.run(export.abort()).unwrap();
    let arrived = taker.arrived(&fixture, 1);
    assert_eq!(arrived.len(), 1);
    assert!(!arrived[0].is_whole, "a cut body looked whole: {}", arrived[0].text);
}

#[test]
fn what_a_server_refuses_is_an_error_and_not_tried_again() {
    let fixture = Fixture::new();
    let taker = Taker::start(&fixture);
    for status in ["302", "303", "307", "403", "404", "500", "503"] {
        taker.forget();
        let url = format!("http://{}/{status}/x.csv?token=s3cr3t", taker.address);
        let mut export = begin(&fixture, &url, &[], false).unwrap();
        fixture.run(export.write(None, &rows(2))).unwrap();
        let error = finish(&fixture, export).unwrap_err();
        assert!(!error.to_string().contains("s3cr3t"), "{error}");
        if !status.starts_with('3') {
            assert_eq!(error.code().number(), 86, "{error}");
            assert!(error.to_string().contains(status) && error.to_string().contains("why"), "{error}");
        }
        assert_eq!(taker.arrived(&fixture, 1).len(), 1, "{status}: asked again");
    }
}

#[test]
fn partitions_are_pages_and_need_their_place_in_the_url() {
    let fixture = Fixture::new();
    let taker = Taker::start(&fixture);
    let url = format!("http://{}/200/{{_partition_id}}.csv", taker.address);
    let mut export = begin(&fixture, &url, &[], true).unwrap();
    for value in ["a", "b"] {
        let key = PartitionKey::Value(value.to_owned());
        fixture.run(export.write(Some(&key), &rows(1))).unwrap();
    }
    finish(&fixture, export).unwrap();
    let mut paths: Vec<String> =
        taker.arrived(&fixture, 2).iter().map(|one| one.text.split(' ').nth(1).unwrap().to_owned()).collect();
    paths.sort();
    assert_eq!(paths, ["/200/a.csv", "/200/b.csv"]);
    for (url, parts, named) in [
        ("http://h.invalid/x.csv", true, "{_partition_id}"),
        ("http://h.invalid/x{1,2}.csv", false, "contains globs"),
        ("http://h.invalid/x", false, "tells no format"),
    ] {
        let error = begin(&fixture, url, &[], parts).err().unwrap();
        assert!(error.to_string().contains(named), "{url}: {error}");
    }
}
