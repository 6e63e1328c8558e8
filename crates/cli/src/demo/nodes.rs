//! `gristmill demo --nodes 3`: several servers on one bucket, one of which is killed.
//!
//! Each server is a process of its own with a port and a cache folder; the bucket is an endpoint in this process. All of it is in a
//! temporary folder, and gone at the end. The statements go over HTTP, as anybody would send them.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use arrow::array::AsArray;
use arrow::datatypes::UInt64Type;
use engine::FormatKind;
use host::{Host, Runtimes};
use lab::endpoint::{Endpoint, Serving};
use model::RowCount;

use super::{Step, print_steps, title};
use crate::failure::Failure;
use crate::remote::{Address, Remote};
use crate::runner::{Runner, Stop};
use crate::terminal;

/// Single rows that are inserted before and after a server is lost.
const SINGLE_INSERTS: u64 = 300;
/// Servers on one machine.
const NODES_MAX: usize = 16;
const CREATE: &str =
    "CREATE TABLE events (id UInt64, at DateTime, name String) ENGINE = MergeTree ORDER BY id";

/// The command. Call from outside the runtimes.
pub(super) fn run(nodes: usize, rows: u64, host: &Host, runtimes: &Runtimes) -> Result<(), Failure> {
    if !(2..=NODES_MAX).contains(&nodes) {
        return Err(Failure::new(format!("--nodes takes 2 to {NODES_MAX} servers")));
    }
    let folder = tempfile::tempdir()?;
    host.disk.create_dir_all(&folder.path().join("store/demo"))?;
    let endpoint = Endpoint::start(&folder.path().join("store"), Serving::default(), host, runtimes)?;
    let root = format!("{}/demo/db", endpoint.url());
    let (host, runtimes) = (host.clone(), runtimes.clone());
    let mut story = Story { host, runtimes, root, nodes: Vec::new(), steps: Vec::new() };
    story.tell(nodes, rows, folder.path())
}

/// A server; killed when this is dropped.
struct Node {
    number: usize,
    child: Child,
    runner: Runner,
}

impl Drop for Node {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Story {
    host: Host,
    runtimes: Runtimes,
    root: String,
    nodes: Vec<Node>,
    steps: Vec<Step>,
}

impl Story {
    fn tell(&mut self, nodes: usize, rows: u64, folder: &Path) -> Result<(), Failure> {
        title(&format!("A bucket, and {nodes} servers on it: {}", self.root))?;
        for number in 1..=nodes {
            self.start(number, folder)?;
        }
        title("Load on one server, ask another one.")?;
        self.statement(0, "create a table", CREATE)?;
        let load = format!(
            "INSERT INTO events SELECT number, toDateTime(1700000000 + number), hex(number) FROM numbers({rows})"
        );
        self.statement(0, &format!("load {} rows", RowCount(rows)), &load)?;
        self.statement(1, "ask another server", "SELECT count(), min(at), max(at) FROM events")?;

        title(&format!(
            "{SINGLE_INSERTS} single rows, each INSERT on the next server, each durable when it is answered."
        ))?;
        self.single_inserts(rows)?;
        self.count(nodes - 1, rows + SINGLE_INSERTS)?;

        title(&format!("kill -9 server {nodes}, and go on.",))?;
        drop(self.nodes.pop());
        self.single_inserts(rows + SINGLE_INSERTS)?;
        self.count(0, rows + 2 * SINGLE_INSERTS)?;

        title("A new server: it has an empty cache folder and knows the bucket's address, nothing else.")?;
        self.start(nodes + 1, folder)?;
        terminal::line("")?;
        self.count(nodes - 1, rows + 2 * SINGLE_INSERTS)?;
        print_steps(&self.steps)?;
        terminal::line(
            "\nYour own bucket: gristmill server --shared s3://bucket/prefix --cache DIR    (docs/shared.md)",
        )?;
        Ok(())
    }

    fn start(&mut self, number: usize, folder: &Path) -> Result<(), Failure> {
        let started = self.now();
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["server", "--shared", &self.root, "--listen", "127.0.0.1:0", "--cache"])
            .arg(folder.join(format!("cache-{number}")))
            .envs([
                ("AWS_ACCESS_KEY_ID", "demo"),
                ("AWS_SECRET_ACCESS_KEY", "demo"),
                ("AWS_REGION", "us-east-1"),
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = host::process::start(&mut command)?;
        let address = child.stdout.take().and_then(address_of);
        let Some(port) = address else {
            let _ = child.kill();
            let _ = child.wait();
            return Err(Failure::new(format!("server {number} did not start")));
        };
        let (host, secure, user, password) = ("127.0.0.1".to_owned(), false, "default".to_owned(), None);
        let remote = Remote::new(&Address { host, port, secure, user, password }, &self.host.random)?;
        let runner = Runner::of_server(remote, &self.host, FormatKind::PrettyCompact, false);
        terminal::line(&format!("server {number}: http://127.0.0.1:{port}  process {}", child.id()))?;
        self.nodes.push(Node { number, child, runner });
        self.note_step(&format!("start server {number}"), started, String::new());
        Ok(())
    }

    /// Shows a statement, runs it on one of the servers, shows its answer.
    fn statement(&mut self, node: usize, name: &str, sql: &str) -> Result<(), Failure> {
        let Some(node) = self.nodes.get(node) else { return Ok(()) };
        let number = node.number;
        terminal::line(&format!("server {number} :) {sql}\n"))?;
        let started = self.now();
        self.runtimes.block_on(node.runner.run(sql, None)).map_err(|stop| match stop {
            Stop::Failed(error) => Failure::from(error),
            Stop::OutputClosed => Failure::new("the output was closed"),
        })?;
        self.note_step(name, started, format!("on server {number}"));
        Ok(())
    }

    /// Rows with ids from `first` on, on the servers in turn.
    fn single_inserts(&mut self, first: u64) -> Result<(), Failure> {
        let started = self.now();
        for (number, node) in (0..SINGLE_INSERTS).zip(self.nodes.iter().cycle()) {
            let sql = format!("INSERT INTO events VALUES ({}, now(), 'one')", first + number);
            self.runtimes.block_on(node.runner.rows(&sql))?;
        }
        let elapsed = self.now().saturating_sub(started);
        let each = elapsed / u32::try_from(SINGLE_INSERTS).unwrap_or(1);
        let remark =
            format!("{:.2} ms each, on {} servers in turn", each.as_secs_f64() * 1000.0, self.nodes.len());
        terminal::line(&format!(
            "{SINGLE_INSERTS} statements in {:.2} s, {remark}\n",
            elapsed.as_secs_f64()
        ))?;
        self.note_step(&format!("{SINGLE_INSERTS} single-row INSERTs"), started, remark);
        Ok(())
    }

    /// Asks a server for what all of them have written; an error if a row is missing.
    fn count(&mut self, node: usize, expected: u64) -> Result<(), Failure> {
        let sql = "SELECT count() FROM events SETTINGS select_sequential_consistency = 1";
        self.statement(node, "count everything", sql)?;
        let Some(node) = self.nodes.get(node) else { return Ok(()) };
        let rows = self.runtimes.block_on(node.runner.rows(sql))?;
        let counted = rows.first().and_then(|batch| batch.column(0).as_primitive_opt::<UInt64Type>());
        let counted = counted.map_or(0, |counted| counted.value(0));
        if counted == expected {
            return Ok(());
        }
        Err(Failure::new(format!("server {} counts {counted} rows of {expected}", node.number)))
    }

    fn note_step(&mut self, name: &str, started: Duration, remark: String) {
        let elapsed = self.now().saturating_sub(started);
        self.steps.push(Step { name: name.to_owned(), elapsed, remark });
    }

    fn now(&self) -> Duration {
        self.host.clock.monotonic()
    }
}

/// The port of a server's line `listening on ADDRESS`; `None` if it ended before.
fn address_of(output: impl std::io::Read) -> Option<u16> {
    for line in BufReader::new(output).lines() {
        if let Some(address) = line.ok()?.strip_prefix("listening on ") {
            return address.rsplit_once(':')?.1.parse().ok();
        }
    }
    None
}
