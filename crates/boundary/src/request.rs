//! What a client asks and what it gets: the vocabulary of every door.
//!
//! Invariant: plain data and streams. A door never sees a DataFusion type here, only Arrow batches.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use bytes::Bytes;
use formats::{FormatKind, FormatSettings};
use futures::StreamExt;
use futures::stream::BoxStream;
use host::meter::Account;

use crate::already_loaded::AlreadyLoaded;
use crate::error::Error;
use crate::outfile::Outfile;
use crate::progress::QueryProgress;

/// Whose rules hold for integer division, NULL, case and result labels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Dialect {
    #[default]
    ClickHouse,
}

/// Marks the schema of an answer that is lines of text for people, such as a plan.
pub const TEXT_KEY: &str = "gristmill.text";

/// Data of `INSERT ... FORMAT`, as it arrives.
pub type BodyStream = BoxStream<'static, Result<Bytes, Error>>;

/// The user of a request that names none.
pub const DEFAULT_USER: &str = "default";

/// Who asks, as far as a door knows: shown in `system.processes` and `system.query_log`, decides nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Caller {
    /// Where from; `None` inside the process.
    pub address: Option<std::net::SocketAddr>,
    /// GET, POST, ..; empty without HTTP.
    pub http_method: String,
    pub http_user_agent: String,
    /// The name the client gives itself.
    pub name: String,
}

/// One statement.
#[derive(Default)]
pub struct Request {
    pub sql: String,
    /// Who asks, known by whoever let them in; empty: `default`.
    pub user: String,
    /// Of the statements of other users, of what they said, and of named collections the sender sees nothing.
    pub sees_own_only: bool,
    pub client: Caller,
    /// Values of `{name:Type}`.
    pub params: Vec<(String, String)>,
    /// Settings of this statement only, weaker than its own SETTINGS clause.
    pub settings: Vec<(String, String)>,
    pub dialect: Dialect,
    /// The current database of this statement only; the session's when absent.
    pub database: Option<String>,
    pub body: Option<BodyStream>,
    /// The statement is cancelled after this long.
    pub deadline: Option<Duration>,
    /// Generated when absent or empty. Two statements of one id never run at one time.
    pub query_id: Option<String>,
    /// Keep a clone to watch, or cancel, the statement before it answers: an INSERT answers at its end.
    pub progress: Arc<QueryProgress>,
}

impl Request {
    pub fn new(sql: impl Into<String>) -> Request {
        Request { sql: sql.into(), ..Request::default() }
    }
}

/// What a statement answers.
pub struct Outcome {
    /// Names and types of the result; no fields when there is no result, as for DDL.
    pub schema: SchemaRef,
    pub stream: BoxStream<'static, Result<RecordBatch, Error>>,
    /// The statement's FORMAT clause.
    pub format: Option<FormatKind>,
    /// How the session wants results written; of a statement without a result the defaults.
    pub format_settings: Arc<FormatSettings>,
    /// The statement's INTO OUTFILE clause; its format counts, then.
    pub outfile: Option<Outfile>,
    pub warnings: Vec<String>,
    /// Set when an INSERT repeated an earlier one, by its label, its token or its rows: it succeeded and wrote nothing.
    pub already_loaded: Option<AlreadyLoaded>,
    pub progress: Arc<QueryProgress>,
    pub query_id: String,
    /// What is made of the rows is the statement's memory, too: whoever writes them works for this account. `None` where the
    /// rows are another server's.
    pub account: Option<Arc<Account>>,
}

impl std::fmt::Debug for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Outcome({}, {} columns)", self.query_id, self.schema.fields().len())
    }
}

impl Outcome {
    /// Whether there is a result to show, if only an empty one.
    pub fn has_result(&self) -> bool {
        !self.schema.fields().is_empty()
    }

    /// Whether the rows are lines of one text, to be shown without a frame.
    pub fn is_text(&self) -> bool {
        self.schema.metadata().contains_key(TEXT_KEY)
    }

    /// Runs it to the end and keeps all rows. For tests and small results.
    pub async fn collect(mut self) -> Result<Vec<RecordBatch>, Error> {
        let mut batches = Vec::new();
        while let Some(batch) = self.stream.next().await {
            batches.push(batch?);
        }
        Ok(batches)
    }
}

/// Rows a statement returns, before a door sees them.
pub struct Rows {
    pub schema: SchemaRef,
    pub stream: BoxStream<'static, Result<RecordBatch, Error>>,
}

impl Rows {
    /// The answer of a statement that has none.
    pub fn none() -> Rows {
        Rows::of(Arc::new(Schema::empty()), Vec::new())
    }

    pub fn of(schema: SchemaRef, batches: Vec<RecordBatch>) -> Rows {
        let stream = futures::stream::iter(batches.into_iter().map(Ok)).boxed();
        Rows { schema, stream }
    }
}
