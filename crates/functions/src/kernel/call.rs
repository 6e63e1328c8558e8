//! What a function gets to see: its arguments, and the session it runs in.
//!
//! Invariant: a constant argument has one row, every other one has `rows`. Reading row `i` of an argument goes
//! through [`Arg::row`], which knows that.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{Array, ArrayRef};
use arrow::buffer::NullBuffer;
use chrono_tz::Tz;
use host::Clock;
use model::mix64::{STEP, mix64};
use model::{ColumnType, ErrorCode};

use crate::error::FunctionError;
use crate::memory::allowance::Allowance;

/// The type of an argument, and its value where that is known before any row is.
#[derive(Clone, Debug)]
pub struct ArgType {
    pub column_type: ColumnType,
    /// One row.
    pub constant: Option<ArrayRef>,
}

/// The values of an argument.
#[derive(Clone, Debug)]
pub struct Arg {
    /// One row if `is_constant`, else as many as the call has.
    pub array: ArrayRef,
    pub is_constant: bool,
    pub column_type: ColumnType,
}

impl Arg {
    /// Where row `row` of the call is found in `array`.
    pub fn row(&self, row: usize) -> usize {
        if self.is_constant { 0 } else { row }
    }

    pub fn is_null(&self, row: usize) -> bool {
        self.array.is_null(self.row(row))
    }
}

/// One evaluation of a function over a batch.
#[derive(Debug)]
pub struct Call<'a> {
    pub args: &'a [Arg],
    pub rows: usize,
    /// What `ScalarFunction::result_type` said for these arguments.
    pub result_type: &'a ColumnType,
    pub session: &'a SessionValues,
    /// Rows that are NULL because an argument is; kernels skip them.
    pub(crate) nulls: Option<NullBuffer>,
    pub(crate) allowance: Allowance,
}

impl<'a> Call<'a> {
    pub fn new(
        args: &'a [Arg],
        rows: usize,
        result_type: &'a ColumnType,
        session: &'a SessionValues,
    ) -> Self {
        let allowance = Allowance::new("of this expression");
        Self { args, rows, result_type, session, nulls: None, allowance }
    }

    /// The same call as another function's.
    pub(crate) fn again<'b>(&'b self) -> Call<'b> {
        let allowance = Allowance::new(self.allowance.function());
        Call { nulls: self.nulls.clone(), allowance, ..*self }
    }

    /// Asks for memory that the kernel is about to allocate: an upper bound, before it does.
    ///
    /// # Errors
    /// The statement may not have so much: MEMORY_LIMIT_EXCEEDED.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<(), FunctionError> {
        self.allowance.take(bytes)
    }
}

/// The version of ClickHouse that clients are told, so that they use what it could do; an LTS release, newer than what
/// any of them asks for.
pub const CLAIMED_VERSION: &str = "25.8.1.1";

/// What functions may ask about the query and its session.
#[derive(Clone, Debug)]
pub struct SessionValues {
    /// Zone of DateTime values that name none.
    pub time_zone: Tz,
    /// Start of the query, nanoseconds since the epoch; `now()` is the same in all of a query.
    pub now_ns: i64,
    /// When the process started, nanoseconds since the epoch.
    pub process_start_ns: i64,
    pub user: Arc<str>,
    pub database: Arc<str>,
    pub host_name: Arc<str>,
    /// What `version()` answers.
    pub version: Arc<str>,
    pub query_id: Arc<str>,
    /// Source of `rand()` and `generateUUIDv4()`.
    pub random: Arc<RandomStream>,
    /// By which `sleep` waits; without one it does not.
    pub clock: Option<Arc<dyn Clock>>,
}

impl Default for SessionValues {
    /// UTC, the epoch, and a fixed seed: what tests want.
    fn default() -> Self {
        Self {
            time_zone: Tz::UTC,
            now_ns: 0,
            process_start_ns: 0,
            user: "default".into(),
            database: "default".into(),
            host_name: "localhost".into(),
            version: CLAIMED_VERSION.into(),
            query_id: "".into(),
            random: Arc::new(RandomStream::new(0)),
            clock: None,
        }
    }
}

impl SessionValues {
    /// Sets the zone by its IANA name.
    pub fn set_time_zone(&mut self, name: &str) -> Result<(), FunctionError> {
        self.time_zone = parse_zone(name)?;
        Ok(())
    }
}

/// A zone by its IANA name (`Europe/Paris`, `UTC`); the error is ClickHouse's.
pub fn parse_zone(name: &str) -> Result<Tz, FunctionError> {
    name.parse::<Tz>()
        .map_err(|_| FunctionError::new(ErrorCode::BAD_ARGUMENTS, format!("cannot load time zone {name}")))
}

/// As [`parse_zone`], of an argument that must name a zone.
pub(crate) fn named_zone(name: &str) -> Result<Tz, FunctionError> {
    if name.is_empty() {
        let message = "the time zone given is empty";
        return Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
    }
    parse_zone(name)
}

/// Numbers that look random and follow from a seed, for any number of threads ([`model::mix64`]).
#[derive(Debug)]
pub struct RandomStream {
    state: AtomicU64,
}

impl RandomStream {
    /// Take the seed from the host's random source, once a query.
    pub fn new(seed: u64) -> Self {
        Self { state: AtomicU64::new(seed) }
    }

    pub fn next_u64(&self) -> u64 {
        mix64(self.state.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP))
    }
}
