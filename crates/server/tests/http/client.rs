//! A client of bare bytes over a socket, and a server in this process for it.
//!
//! Invariant: it says what came and in which chunks; it forgives nothing.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use engine::{Config, Database};
use host::{Host, Runtimes};
use server::{Limits, Server, ServerConfig, User};

pub(crate) struct Running {
    pub(crate) database: Arc<Database>,
    pub(crate) server: Option<Server>,
    pub(crate) runtimes: Runtimes,
    pub(crate) address: SocketAddr,
    pub(crate) folder: tempfile::TempDir,
}

pub(crate) fn start() -> Running {
    start_with(vec![User::unnamed()], Limits::default())
}

pub(crate) fn start_with(users: Vec<User>, limits: Limits) -> Running {
    start_on(Config { faces_users: true, ..Config::default() }, users, limits)
}

/// A server as `gristmill server` makes it: files of users are in a folder of their own.
pub(crate) fn start_confined(users: Vec<User>, allowed_hosts: Option<Vec<String>>) -> Running {
    let config =
        Config { faces_users: true, allow_any_local_path: false, allowed_hosts, ..Config::default() };
    start_on(config, users, Limits::default())
}

fn start_on(config: Config, users: Vec<User>, limits: Limits) -> Running {
    start_as(config, |server| (server.users, server.limits) = (users, limits))
}

/// A server whose configuration is changed before it starts.
pub(crate) fn start_as(config: Config, change: impl FnOnce(&mut ServerConfig)) -> Running {
    let folder = tempfile::tempdir().unwrap();
    let root = Some(folder.path().join("db"));
    let user_files = Some(folder.path().join("user_files"));
    let database = Database::open(Config { root, threads: Some(2), user_files, ..config }).unwrap();
    let runtimes = Runtimes::new(2, 2).unwrap();
    let mut config = ServerConfig {
        listen: vec!["127.0.0.1:0".parse().unwrap()],
        tls: None,
        users: vec![User::unnamed()],
        limits: Limits::default(),
        display_name: "tests".to_owned(),
        allowed_origin: None,
        host_names: Vec::new(),
        metrics_users: None,
        spool: folder.path().join("spool"),
    };
    change(&mut config);
    let host = Host::system(1 << 30).unwrap();
    let server = Server::start(config, Arc::clone(&database), host, runtimes.clone()).unwrap();
    let address = server.addresses()[0];
    Running { database, server: Some(server), runtimes, address, folder }
}

impl Running {
    /// One request on a connection of its own.
    pub(crate) fn ask(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut client = Client::connect(self.address);
        client.send(method, target, headers, body);
        client.answer()
    }

    pub(crate) fn post(&self, target: &str, body: &str) -> Answer {
        self.ask("POST", target, &[], body.as_bytes())
    }

    /// Runs statements that must succeed.
    pub(crate) fn run(&self, statements: &[&str]) {
        for statement in statements {
            let answer = self.post("/", statement);
            assert_eq!(answer.status, 200, "{statement}: {}", answer.text());
        }
    }

    /// Waits until no statement runs.
    pub(crate) fn wait_until_idle(&self) {
        for _ in 0..2000 {
            if self.database.figures().statements_running == 0 {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("a statement still runs after 20 s");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            self.runtimes.block_on(server.stop());
        }
        self.runtimes.block_on(Arc::clone(&self.database).close());
    }
}

pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) chunks: Vec<Vec<u8>>,
    /// It was chunked and ended with the last chunk, or had its length.
    pub(crate) complete: bool,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn body(&self) -> Vec<u8> {
        self.chunks.concat()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body()).into_owned()
    }
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Client { stream: BufReader::new(stream) }
    }

    /// To write while the answer is waited for.
    pub(crate) fn writer(&self) -> TcpStream {
        self.stream.get_ref().try_clone().unwrap()
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    pub(crate) fn send(&mut self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) {
        let mut head =
            format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        self.write(head.as_bytes());
        self.write(body);
    }

    /// A body in chunks of `length`.
    pub(crate) fn send_chunked(
        &mut self,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
        length: usize,
    ) {
        let mut head = format!("POST {target} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        self.write(head.as_bytes());
        for piece in body.chunks(length) {
            let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
            chunk.extend_from_slice(piece);
            chunk.extend_from_slice(b"\r\n");
            self.write(&chunk);
        }
        self.write(b"0\r\n\r\n");
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line).ok()?;
        (read > 0).then(|| line.trim_end_matches("\r\n").to_owned())
    }

    pub(crate) fn head(&mut self) -> Answer {
        let status = self.line().expect("an answer");
        let status = status.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        while let Some(line) = self.line().filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(": ").unwrap_or((&line, ""));
            headers.push((name.to_owned(), value.to_owned()));
        }
        Answer { status, headers, chunks: Vec::new(), complete: false }
    }

    /// The next chunk; empty at the end, `None` when the connection broke.
    pub(crate) fn chunk(&mut self) -> Option<Vec<u8>> {
        let length = usize::from_str_radix(&self.line()?, 16).ok()?;
        let mut chunk = vec![0; length];
        self.stream.read_exact(&mut chunk).ok()?;
        self.line()?;
        Some(chunk)
    }

    pub(crate) fn answer(&mut self) -> Answer {
        let mut answer = self.head();
        if let Some(length) = answer.header("content-length") {
            let mut body = vec![0; length.parse().unwrap()];
            self.stream.read_exact(&mut body).unwrap();
            answer.chunks.push(body);
            answer.complete = true;
        } else if answer.header("transfer-encoding").is_some() {
            while let Some(chunk) = self.chunk() {
                if chunk.is_empty() {
                    answer.complete = true;
                    break;
                }
                answer.chunks.push(chunk);
            }
        } else {
            answer.complete = true;
        }
        answer
    }
}
