//! Pages of `url()`, with the requests they cost: servers with ranges and without, redirects, retries, missing pages.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use host::Runtimes;
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use s3s::Body;
use stores::{HostFilter, NamedCollections, SourceErrorKind, StoreCache};
use tokio::net::TcpListener;

use crate::fixture::Fixture;

/// How a page answers.
#[derive(Clone, Default)]
pub(crate) struct Page {
    pub(crate) content: Vec<u8>,
    pub(crate) gives_ranges: bool,
    /// Of `content`, as it is sent.
    pub(crate) encoding: Option<&'static str>,
    pub(crate) location: Option<String>,
    pub(crate) etag: Option<&'static str>,
    /// Failures before the first good answer.
    pub(crate) failures: usize,
    pub(crate) status: Option<u16>,
    /// Answers only to who knows this `X-Key`.
    pub(crate) key: Option<&'static str>,
    /// Answers only to signatures for this region.
    pub(crate) region: Option<&'static str>,
}

#[derive(Default)]
struct State {
    pages: BTreeMap<String, Page>,
    /// Path and range.
    arrived: Vec<(String, Option<String>)>,
    /// Method, query and authorization.
    signed: Vec<(String, String, String)>,
}

/// A web server in memory. Stricter than a real one: a range that ends behind the page is no range.
pub(crate) struct WebServer {
    state: Arc<Mutex<State>>,
    address: String,
}

impl WebServer {
    pub(crate) fn start(runtimes: &Runtimes) -> WebServer {
        let state: Arc<Mutex<State>> = Arc::default();
        let listener = runtimes.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (shared, tasks) = (Arc::clone(&state), runtimes.clone());
        runtimes.spawn_io("test web", async move {
            while let Ok((stream, _)) = listener.accept().await {
                let shared = Arc::clone(&shared);
                tasks.spawn_io("test web connection", async move {
                    let answer = service_fn(move |request| {
                        let shared = Arc::clone(&shared);
                        async move { Ok::<_, std::convert::Infallible>(answer(&request, &shared)) }
                    });
                    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
                });
            }
        });
        WebServer { state, address }
    }

    pub(crate) fn put(&self, path: &str, page: Page) {
        self.state.lock().unwrap().pages.insert(path.to_owned(), page);
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Method, query and authorization of what arrived.
    pub(crate) fn signed(&self) -> Vec<(String, String, String)> {
        std::mem::take(&mut self.state.lock().unwrap().signed)
    }

    fn arrived(&self) -> Vec<(String, Option<String>)> {
        std::mem::take(&mut self.state.lock().unwrap().arrived)
    }
}

fn answer(request: &Request<Incoming>, state: &Mutex<State>) -> Response<Body> {
    let header = |name: &str| request.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    let (path, range) = (request.uri().path().to_owned(), header("range"));
    let mut state = state.lock().unwrap();
    state.arrived.push((path.clone(), range.clone()));
    let authorization = header("authorization").unwrap_or_default();
    let query = request.uri().query().unwrap_or_default().to_owned();
    state.signed.push((request.method().to_string(), query, authorization.clone()));
    let status = |status: u16| Response::builder().status(StatusCode::from_u16(status).unwrap());
    let Some(page) = state.pages.get_mut(&path) else { return status(404).body(Body::empty()).unwrap() };
    if page.failures > 0 {
        page.failures -= 1;
        return status(503).body(Body::empty()).unwrap();
    }
    if let Some(location) = &page.location {
        return status(302).header("location", location).body(Body::empty()).unwrap();
    }
    if let Some(code) = page.status {
        return status(code).body(Body::from("s3cr3t of the server".to_owned())).unwrap();
    }
    if let Some(region) = page.region.filter(|region| !authorization.contains(&format!("/{region}/s3/"))) {
        return status(301).header("x-amz-bucket-region", region).body(Body::empty()).unwrap();
    }
    if page.key.is_some() && header("x-key").as_deref() != page.key {
        return status(403).body(Body::empty()).unwrap();
    }
    let mut answer = status(200).header("last-modified", "Sun, 13 Sep 2020 12:26:40 GMT");
    if let Some(etag) = page.etag {
        answer = answer.header("etag", etag);
    }
    if let Some(encoding) = page.encoding {
        answer = answer.header("content-encoding", encoding);
    }
    let total = page.content.len();
    let Some(range) = range.filter(|_| page.gives_ranges) else {
        return answer.body(Body::from(page.content.clone())).unwrap();
    };
    let (start, last) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
    let (start, end) = (start.parse::<usize>().unwrap(), last.parse::<usize>().unwrap() + 1);
    if end > total {
        return status(416).header("content-range", format!("bytes */{total}")).body(Body::empty()).unwrap();
    }
    answer
        .status(206)
        .header("content-range", format!("bytes {start}-{}/{total}", end - 1))
        .body(Body::from(page.content[start..end].to_vec()))
        .unwrap()
}

fn fixture() -> (Fixture, WebServer) {
    let mut fixture = Fixture::new();
    fixture.settings(|settings| {
        settings.web.backoff_min = std::time::Duration::from_millis(1);
        settings.web.tries = 3;
    });
    let server = WebServer::start(&fixture.runtimes);
    (fixture, server)
}

fn csv(rows: std::ops::Range<usize>) -> Page {
    let content = rows.map(|n| format!("{n},v{n}\n")).collect::<String>().into_bytes();
    Page { content, ..Page::default() }
}

const STRUCTURE: [&str; 2] = ["CSV", "n Int64, s String"];

fn read(fixture: &Fixture, url: &str) -> Result<Vec<String>, String> {
    let table =
        fixture.resolve("url", &[url, STRUCTURE[0], STRUCTURE[1]]).map_err(|error| error.to_string())?;
    fixture.query(&table, "select n, s, _path, _file, _size from t order by n")
}

#[test]
fn a_page_is_read_with_ranges_and_without() {
    let (fixture, server) = fixture();
    server.put("/a/ranged.csv", Page { gives_ranges: true, etag: Some("W/\"1\""), ..csv(1..3) });
    server.put("/a/whole.csv", csv(1..3));
    let ranged = read(&fixture, &server.url("/a/ranged.csv?x=1")).unwrap();
    assert_eq!(ranged, ["1|v1|/a/ranged.csv|ranged.csv|10", "2|v2|/a/ranged.csv|ranged.csv|10"]);
    let arrived = server.arrived();
    assert_eq!(arrived.first().and_then(|(_, range)| range.as_deref()), Some("bytes=0-0"));
    assert!(arrived.len() >= 2 && arrived.iter().all(|(_, range)| range.is_some()), "{arrived:?}");
    let whole = read(&fixture, &server.url("/a/whole.csv")).unwrap();
    assert_eq!(whole, ["1|v1|/a/whole.csv|whole.csv|10", "2|v2|/a/whole.csv|whole.csv|10"]);
    assert_eq!(server.arrived().len(), 1, "the first answer was the page already");
}

#[test]
fn parquet_is_read_from_a_server_without_ranges() {
    let (fixture, server) = fixture();
    let ids = Arc::new(arrow::array::Int64Array::from((0..1000).collect::<Vec<i64>>()));
    let content = crate::fixture::parquet(vec![("id", ids)], 100).to_vec();
    for gives_ranges in [false, true] {
        server.put("/x.parquet", Page { content: content.clone(), gives_ranges, ..Page::default() });
        let table = fixture.resolve("url", &[&server.url("/x.parquet")]).unwrap();
        assert_eq!(fixture.query(&table, "select sum(id), count(*) from t").unwrap(), ["499500|1000"]);
    }
}

#[test]
fn an_encoded_page_is_decoded() {
    let (fixture, server) = fixture();
    // "1,v1\n" by gzip.
    let content = vec![
        0x1f, 0x8b, 0x08, 0, 0, 0, 0, 0, 0, 0xff, 0x01, 0x05, 0x00, 0xfa, 0xff, b'1', b',', b'v', b'1',
        b'\n', 0x0a, 0x77, 0x5f, 0x42, 0x05, 0, 0, 0,
    ];
    let crc = crc32(b"1,v1\n").to_le_bytes();
    let mut content: Vec<u8> = content;
    content.splice(20..24, crc);
    server.put("/e.csv", Page { content, encoding: Some("gzip"), gives_ranges: true, ..Page::default() });
    assert_eq!(read(&fixture, &server.url("/e.csv")).unwrap(), ["1|v1|/e.csv|e.csv|5"]);
    server.put("/f.csv", Page { encoding: Some("compress"), ..csv(1..2) });
    let error = read(&fixture, &server.url("/f.csv")).unwrap_err();
    assert!(error.contains("\"compress\""), "{error}");
}

/// Of gzip, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |sum, byte| {
        (0..8).fold(
            sum ^ u32::from(*byte),
            |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 },
        )
    })
}

#[test]
fn braces_are_pages_and_missing_ones_are_passed_over() {
    let (mut fixture, server) = fixture();
    server.put("/1.csv", csv(1..2));
    server.put("/2.csv", csv(2..3));
    let several = read(&fixture, &server.url("/{1..3}.csv")).unwrap();
    assert_eq!(several, ["1|v1|/1.csv|1.csv|5", "2|v2|/2.csv|2.csv|5"]);
    assert_eq!(server.arrived().len(), 3, "one request a page");
    let error = read(&fixture, &server.url("/3.csv")).unwrap_err();
    assert!(error.contains("/3.csv\" does not exist") && error.contains("HTTP 404"), "{error}");
    fixture.settings(|settings| settings.skip_missing_pages = false);
    assert!(read(&fixture, &server.url("/{1..3}.csv")).is_err());
    server.arrived();
    let error = fixture.resolve("url", &[&server.url("/{0..10000}{0..10000}.csv")]).unwrap_err();
    assert_eq!((error.kind(), error.code().number()), (SourceErrorKind::BadArguments, 36));
    assert!(server.arrived().is_empty(), "counted before anything is asked");
}

#[test]
fn a_choice_between_addresses_is_the_first_that_answers() {
    let (mut fixture, server) = fixture();
    fixture.settings(|settings| settings.web.tries = 1);
    server.put("/here.csv", csv(1..3));
    server.put("/other.csv", csv(7..8));
    server.put("/down.csv", Page { failures: 100, ..csv(1..2) });
    for (path, expected) in [
        ("/{here|other}.csv", &["/here.csv", "/here.csv"][..]),
        ("/{missing|other|here}.csv", &["/other.csv"]),
        ("/{down|other}.csv", &["/other.csv"]),
        ("/{missing|here,down|other}.csv", &["/here.csv", "/here.csv", "/other.csv"]),
        ("/{missing|gone,other}.csv", &["/other.csv"]),
    ] {
        let rows = read(&fixture, &server.url(path)).unwrap();
        let paths: Vec<&str> = rows.iter().filter_map(|row| row.split('|').nth(2)).collect();
        assert_eq!(paths, expected, "{path}: {rows:?}");
    }
    let error = read(&fixture, &server.url("/{missing|gone}.csv")).unwrap_err();
    assert!(
        error.contains("/missing.csv\" does not exist") && error.contains("none of the 1 other"),
        "{error}"
    );
    // Nobody listens on the first port.
    let host = server.url("").trim_start_matches("http://").trim_end_matches('/').to_owned();
    let rows = read(&fixture, &format!("http://{{127.0.0.1:1|{host}}}/here.csv")).unwrap();
    assert_eq!(rows.len(), 2);
}

#[test]
fn passing_trouble_is_tried_again_and_the_rest_is_not() {
    let (fixture, server) = fixture();
    server.put("/slow.csv", Page { failures: 2, ..csv(1..2) });
    assert_eq!(read(&fixture, &server.url("/slow.csv")).unwrap().len(), 1);
    assert_eq!(server.arrived().len(), 3);
    server.put("/down.csv", Page { failures: 100, ..csv(1..2) });
    let error = read(&fixture, &server.url("/down.csv")).unwrap_err();
    assert!(error.contains("HTTP 503") && error.contains("tried 3 times"), "{error}");
    server.put("/gone.csv", Page { status: Some(403), ..Page::default() });
    server.arrived();
    let error = read(&fixture, &server.url("/gone.csv?token=s3cr3t")).unwrap_err();
    assert!(error.contains("denied") && !error.contains("s3cr3t"), "{error}");
    assert_eq!(server.arrived().len(), 1);
}

#[test]
fn redirects_are_followed_as_far_as_allowed() {
    let (mut fixture, server) = fixture();
    server.put("/real.csv", csv(1..2));
    server.put("/a.csv", Page { location: Some("/b.csv".to_owned()), ..Page::default() });
    server.put("/b.csv", Page { location: Some(server.url("/real.csv")), ..Page::default() });
    assert_eq!(read(&fixture, &server.url("/a.csv")).unwrap(), ["1|v1|/a.csv|a.csv|5"]);
    fixture.settings(|settings| settings.web.redirects_max = 1);
    let error = read(&fixture, &server.url("/a.csv")).unwrap_err();
    assert!(error.contains("more than 1 redirects"), "{error}");
    fixture.settings(|settings| settings.web.redirects_max = 0);
    let error = read(&fixture, &server.url("/a.csv")).unwrap_err();
    assert!(error.contains("no redirect is followed"), "{error}");
}

#[test]
fn headers_and_collections_reach_the_server() {
    let (mut fixture, server) = fixture();
    server.put("/k.csv", Page { key: Some("open"), ..csv(1..2) });
    assert!(read(&fixture, &server.url("/k.csv")).is_err());
    let text = |text: &str| stores::ArgumentValue::Text(text.to_owned());
    let named =
        |name: &str, value: &str| stores::Argument { name: Some(name.to_owned()), value: text(value) };
    let headers = |key: &str| stores::Argument {
        name: None,
        value: stores::ArgumentValue::Call {
            name: "headers".to_owned(),
            arguments: vec![named("X-Key", key)],
        },
    };
    let values = [("url", server.url("/")), ("format", "CSV".to_owned())];
    let values = values.map(|(name, value)| (name.to_owned(), value)).into();
    fixture.env.collections = Arc::new(NamedCollections::new(BTreeMap::from([("mine".to_owned(), values)])));
    let collection = stores::Argument { name: None, value: stores::ArgumentValue::Word("mine".to_owned()) };
    let arguments = |key: &str| {
        vec![
            collection.clone(),
            headers(key),
            named("filename", "k.csv"),
            named("structure", "n Int64, s String"),
        ]
    };
    let resolve = |key: &str| {
        let call = stores::SourceCall { function: "url".to_owned(), arguments: arguments(key) };
        fixture.run(sources::resolve(&call, &fixture.env, None))
    };
    let table = resolve("open").unwrap();
    assert_eq!(fixture.query(&table, "select n from t").unwrap(), ["1"]);
    let error = resolve("s3cr3t").unwrap_err();
    assert!(
        error.kind() == SourceErrorKind::Denied && !format!("{error} {error:?}").contains("s3cr3t"),
        "{error}"
    );
}

#[test]
fn with_users_in_front_a_page_of_this_machine_is_not_asked_for() {
    let (mut fixture, server) = fixture();
    server.put("/a.csv", csv(1..2));
    let port = server.address.rsplit_once(':').unwrap().1;
    let with = |fixture: &mut Fixture, allowed: Option<&[String]>| {
        let filter = HostFilter::new(allowed.map(<[String]>::to_vec), true).unwrap();
        fixture.env.stores = Arc::new(StoreCache::with_hosts(fixture.runtimes.clone(), filter));
    };
    with(&mut fixture, None);
    for host in ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"] {
        let error =
            fixture.resolve("url", &[&format!("http://{host}:{port}/a.csv"), "CSV", "n Int64, s String"]);
        assert_eq!(error.unwrap_err().code().number(), 491, "{host}");
        let error =
            fixture.resolve("s3", &[&format!("http://{host}:{port}/b/a.csv"), "CSV", "n Int64, s String"]);
        assert_eq!(error.unwrap_err().code().number(), 491, "{host}");
    }
    assert!(server.arrived().is_empty());
    with(&mut fixture, Some(std::slice::from_ref(&server.address)));
    assert_eq!(read(&fixture, &server.url("/a.csv")).unwrap().len(), 1, "the operator named it");
    for elsewhere in ["http://169.254.169.254/latest", "http://localhost/x", "ftp://127.0.0.1/x"] {
        server.put("/away.csv", Page { location: Some(elsewhere.to_owned()), ..Page::default() });
        let error = read(&fixture, &server.url("/away.csv")).unwrap_err();
        assert!(error.contains("host") || error.contains("scheme"), "{elsewhere}: {error}");
    }
}

#[test]
fn a_password_in_a_url_is_sent_and_not_shown() {
    let (fixture, server) = fixture();
    server.put("/a.csv", csv(1..2));
    let url = |path: &str| server.url(path).replace("http://", "http://u:s3cr3t@");
    assert_eq!(read(&fixture, &url("/a.csv")).unwrap(), ["1|v1|/a.csv|a.csv|5"]);
    // base64 of u:s3cr3t
    assert!(server.signed().iter().all(|(_, _, authorization)| authorization == "Basic dTpzM2NyM3Q="));
    let error = fixture.resolve("url", &[&url("/b.csv"), STRUCTURE[0], STRUCTURE[1]]).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("s3cr3t"), "{error}");
    let table = fixture.resolve("url", &[&format!("{}?token=s3cr3t", url("/a.csv")), "CSV"]).unwrap();
    let kept = format!("{:?} {:?} {:?}", fixture.env.schema_cache.rows(), table.notes(), table.files());
    assert!(!kept.contains("s3cr3t"), "{kept}");
}

#[test]
fn a_presigned_url_of_a_bucket_is_one_page() {
    let (fixture, server) = fixture();
    server.put("/b/k.csv", csv(1..2));
    let url = server.url("/b/k.csv?X-Amz-Algorithm=A&X-Amz-Signature=s3cr3t");
    let table = fixture.resolve("s3", &[&url, STRUCTURE[0], STRUCTURE[1]]).unwrap();
    assert_eq!(fixture.query(&table, "select n, _path, _file from t").unwrap(), ["1|b/k.csv|k.csv"]);
    server.put("/b/k.csv", Page { status: Some(403), ..Page::default() });
    let error = fixture.resolve("s3", &[&url, STRUCTURE[0], STRUCTURE[1]]).unwrap_err();
    assert!(
        error.to_string().contains("b/k.csv") && !format!("{error} {error:?}").contains("s3cr3t"),
        "{error}"
    );
}
