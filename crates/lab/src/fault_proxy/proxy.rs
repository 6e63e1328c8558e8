//! An HTTP/1.1 proxy in front of one store that breaks some of the answers.
//!
//! It works on bytes, not messages, because half of what it does is no HTTP: connections that are reset in the
//! middle of a head, bodies that are shorter than announced.
//!
//! Invariant: a request without a fault gets the store's answer byte for byte, but for `connection: close`; what is
//! counted is what arrived. Must not know: what is asked for, beyond [`Asked`].

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use host::Runtimes;
use percent_encoding::percent_decode_str;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::kinds::{Asked, FaultKind, Faults};

/// Head of a request or an answer.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// One kilobyte a second, in pieces that come often enough to look alive.
const DRIBBLE_BYTES: usize = 100;
const DRIBBLE_EVERY: Duration = Duration::from_millis(100);

/// A running proxy; its tasks end with the runtimes.
#[derive(Clone, Debug)]
pub(crate) struct FaultProxy {
    state: Arc<State>,
    address: SocketAddr,
}

#[derive(Debug)]
struct State {
    upstream: SocketAddr,
    faults: Arc<Mutex<Faults>>,
    requests: AtomicU64,
    faulty: AtomicU64,
    connections: AtomicU64,
}

impl FaultProxy {
    /// Listens on a port of the loopback address (0 takes a free one) and asks `upstream`. The faults may be changed
    /// while it runs.
    pub(crate) fn start(
        runtimes: &Runtimes,
        upstream: SocketAddr,
        port: u16,
        faults: Arc<Mutex<Faults>>,
    ) -> io::Result<FaultProxy> {
        let listener = std::net::TcpListener::bind(("127.0.0.1", port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let _inside = runtimes.io().enter();
        let listener = TcpListener::from_std(listener)?;
        let state = Arc::new(State {
            upstream,
            faults,
            requests: AtomicU64::new(0),
            faulty: AtomicU64::new(0),
            connections: AtomicU64::new(0),
        });
        let (shared, tasks) = (Arc::clone(&state), runtimes.clone());
        runtimes.spawn_io("fault proxy", async move {
            while let Ok((client, _)) = listener.accept().await {
                shared.connections.fetch_add(1, Ordering::Relaxed);
                let shared = Arc::clone(&shared);
                tasks.spawn_io("fault proxy connection", async move { shared.serve(client).await });
            }
        });
        Ok(FaultProxy { state, address })
    }

    /// `http://127.0.0.1:port`
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Requests that arrived, those with a fault among them, and connections.
    pub(crate) fn counts(&self) -> (u64, u64, u64) {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (count(&self.state.requests), count(&self.state.faulty), count(&self.state.connections))
    }
}

impl State {
    /// Requests of one connection, one after the other. How it ends is the client's affair.
    async fn serve(&self, mut client: TcpStream) -> io::Result<()> {
        client.set_nodelay(true)?;
        while let Some(request) = read_request(&mut client).await? {
            let number = self.requests.fetch_add(1, Ordering::Relaxed);
            let asked = asked(&request);
            let faults = self.faults.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
            let fault = faults.of(number, asked);
            self.faulty.fetch_add(u64::from(fault.is_some()), Ordering::Relaxed);
            if faults.latency_ms > 0 {
                tokio::time::sleep(Duration::from_millis(faults.latency_ms)).await;
            }
            let stays = match fault {
                None => {
                    let answer = self.forward(&request).await?;
                    client.write_all(&answer.whole()).await?;
                    true
                }
                Some(fault) => self.break_it(&mut client, &request, fault).await?,
            };
            if !stays {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether the connection can be used again.
    async fn break_it(&self, client: &mut TcpStream, request: &[u8], fault: FaultKind) -> io::Result<bool> {
        let status = match fault {
            FaultKind::ListFails | FaultKind::Internal500 => Some((500, "InternalError", "")),
            FaultKind::SlowDown503 => Some((503, "SlowDown", "")),
            FaultKind::TooMany429 => Some((429, "TooManyRequests", "retry-after: 1\r\n")),
            FaultKind::ErrorUnder200 => Some((200, "InternalError", "")),
            _ => None,
        };
        if let Some((status, code, headers)) = status {
            client.write_all(&error_answer(status, code, headers, request.starts_with(b"HEAD "))).await?;
            return Ok(true);
        }
        match fault {
            FaultKind::ResetBeforeHead => reset(client).map(|()| false),
            FaultKind::Stall => {
                // Until the client gives up.
                let _ = client.read(&mut [0; 1]).await;
                Ok(false)
            }
            _ => {
                let answer = self.forward(request).await?;
                spoil(client, request, answer, fault).await
            }
        }
    }

    /// The store's answer, asked on a connection of its own.
    async fn forward(&self, request: &[u8]) -> io::Result<Answer> {
        let mut store = TcpStream::connect(self.upstream).await?;
        store.set_nodelay(true)?;
        let line = find(request, b"\r\n").map_or(request.len(), |at| at + 2);
        let (first, rest) = request.split_at(line);
        store.write_all(&[first, b"connection: close\r\n", rest].concat()).await?;
        let mut bytes = Vec::new();
        store.read_to_end(&mut bytes).await?;
        let end =
            find(&bytes, b"\r\n\r\n").ok_or_else(|| io::Error::other("the store's answer has no head"))?;
        let body = bytes.split_off(end + 4);
        let head = String::from_utf8_lossy(&bytes);
        let lines =
            head.trim_end().split("\r\n").filter(|line| !line.eq_ignore_ascii_case("connection: close"));
        Ok(Answer { head: lines.collect::<Vec<_>>().join("\r\n") + "\r\n\r\n", body })
    }
}

struct Answer {
    /// With the empty line that ends it.
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn whole(&self) -> Vec<u8> {
        [self.head.as_bytes(), &self.body].concat()
    }

    /// The answer with another body of any length.
    fn with_body(self, body: Vec<u8>) -> Answer {
        let framing = |line: &&str| {
            let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
            name != "content-length" && name != "transfer-encoding"
        };
        let kept: Vec<&str> = self.head.trim_end().split("\r\n").filter(framing).collect();
        Answer { head: format!("{}\r\ncontent-length: {}\r\n\r\n", kept.join("\r\n"), body.len()), body }
    }
}

/// Sends an answer of the store, broken.
async fn spoil(client: &mut TcpStream, request: &[u8], answer: Answer, fault: FaultKind) -> io::Result<bool> {
    let half = answer.body.len() / 2;
    match fault {
        FaultKind::ResetInHead => {
            client.write_all(&answer.head.as_bytes()[..answer.head.len() / 2]).await?;
            reset(client).map(|()| false)
        }
        FaultKind::ResetInBody | FaultKind::Truncated => {
            client.write_all(answer.head.as_bytes()).await?;
            client.write_all(&answer.body[..half]).await?;
            client.flush().await?;
            // What was sent should be seen: a reset takes back what the other side has not read.
            tokio::time::sleep(Duration::from_millis(5)).await;
            match fault {
                FaultKind::Truncated => client.shutdown().await.map(|()| false),
                _ => reset(client).map(|()| false),
            }
        }
        FaultKind::Dribble => {
            client.write_all(answer.head.as_bytes()).await?;
            for piece in answer.body.chunks(DRIBBLE_BYTES) {
                client.write_all(piece).await?;
                tokio::time::sleep(DRIBBLE_EVERY).await;
            }
            Ok(true)
        }
        FaultKind::WrongEtag => {
            let other = |line: &str| match line.to_ascii_lowercase().starts_with("etag:") {
                true => "etag: \"of-another-version\"".to_owned(),
                false => line.to_owned(),
            };
            let head: Vec<String> = answer.head.trim_end().split("\r\n").map(other).collect();
            client.write_all(format!("{}\r\n\r\n", head.join("\r\n")).as_bytes()).await?;
            client.write_all(&answer.body).await?;
            Ok(true)
        }
        FaultKind::ListCut => {
            let cut = answer.body[..half].to_vec();
            client.write_all(&answer.with_body(cut).whole()).await?;
            Ok(true)
        }
        FaultKind::SameToken => {
            let same = same_token(&String::from_utf8_lossy(request), &String::from_utf8_lossy(&answer.body));
            client.write_all(&answer.with_body(same.into_bytes()).whole()).await?;
            Ok(true)
        }
        _ => {
            client.write_all(&answer.whole()).await?;
            Ok(true)
        }
    }
}

/// The page again and again: its next token is the one it was asked with. A first page has none to repeat.
fn same_token(request: &str, page: &str) -> String {
    let asked = between(request, "continuation-token=", "&");
    let next = between(page, "<NextContinuationToken>", "</NextContinuationToken>");
    match (asked, next) {
        (Some(asked), Some(next)) => page.replace(
            &format!("<NextContinuationToken>{next}</NextContinuationToken>"),
            &format!(
                "<NextContinuationToken>{}</NextContinuationToken>",
                percent_decode_str(asked).decode_utf8_lossy()
            ),
        ),
        _ => page.to_owned(),
    }
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(found, _)| found)
}

fn error_answer(status: u16, code: &str, headers: &str, head_only: bool) -> Vec<u8> {
    let xml =
        format!("<Error><Code>{code}</Code><Message>injected</Message><RequestId>req-1</RequestId></Error>");
    let body = if head_only { "" } else { xml.as_str() };
    format!(
        "HTTP/1.1 {status} Injected\r\ncontent-type: application/xml\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn asked(request: &[u8]) -> Asked {
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    match (line.starts_with("GET "), line.contains("list-type=2")) {
        (true, true) => Asked::List,
        (true, false) => Asked::Get,
        _ => Asked::Other,
    }
}

/// Head and body; nothing when the client is done.
async fn read_request(client: &mut TcpStream) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let mut piece = vec![0; 16 << 10];
    let head = loop {
        if let Some(end) = find(&bytes, b"\r\n\r\n") {
            break end + 4;
        }
        let read = client.read(&mut piece).await?;
        if read == 0 || bytes.len() > HEAD_BYTES_MAX {
            return Ok(None);
        }
        bytes.extend_from_slice(&piece[..read]);
    };
    let length = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
    let length = length
        .split("content-length:")
        .nth(1)
        .and_then(|rest| rest.split("\r\n").next()?.trim().parse().ok());
    let whole = head + length.unwrap_or(0);
    while bytes.len() < whole {
        let read = client.read(&mut piece).await?;
        if read == 0 {
            return Ok(None);
        }
        bytes.extend_from_slice(&piece[..read]);
    }
    Ok(Some(bytes))
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

/// The other side sees "connection reset by peer".
fn reset(client: &TcpStream) -> io::Result<()> {
    client.set_zero_linger()
}
