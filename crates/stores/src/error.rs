//! What can go wrong with a source, and what the reader of the message should do about it.
//!
//! Invariant: a message names the object (file, bucket, argument) and never a secret. A `SourceError` crosses
//! libraries inside their error types; [`SourceError::find`] gets it back out.
//! Must not know: how a client shows errors.

use std::error::Error as StdError;
use std::fmt;
use std::ops::Range;
use std::time::Duration;

use host::guarded;
use model::ErrorCode;
use tokio::task::JoinError;

/// What the caller can do about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SourceErrorKind {
    /// The call is written wrong: fix the arguments.
    BadArguments,
    /// Bucket, key or file does not exist: fix the name.
    NotFound,
    /// What is to be written is there already: allow replacing it, or write elsewhere.
    Exists,
    /// Not allowed: fix the credentials or use NOSIGN.
    Denied,
    /// The network or the store failed after all retries: try again later.
    Unavailable,
    /// The object changed while it was read: run the statement again.
    Changed,
    /// Bytes are not what they claim to be: repair the file.
    Corrupt,
    /// No columns can be found: give the structure or the format.
    NoStructure,
    /// A value does not fit its column.
    BadValue,
    /// We do not do this yet.
    Unsupported,
    /// Memory was refused: raise the limit.
    Memory,
    /// A library or we panicked: report it.
    Broken,
}

impl SourceErrorKind {
    /// ClickHouse's error code when nothing more exact is known.
    fn default_code(self) -> ErrorCode {
        match self {
            SourceErrorKind::BadArguments | SourceErrorKind::Exists => ErrorCode::BAD_ARGUMENTS,
            SourceErrorKind::NotFound | SourceErrorKind::Denied | SourceErrorKind::Unavailable => {
                ErrorCode::S3_ERROR
            }
            SourceErrorKind::Changed => ErrorCode::S3_ERROR,
            SourceErrorKind::Corrupt => ErrorCode::INCORRECT_DATA,
            SourceErrorKind::NoStructure => ErrorCode::CANNOT_EXTRACT_TABLE_STRUCTURE,
            SourceErrorKind::BadValue => ErrorCode::CANNOT_PARSE_TEXT,
            SourceErrorKind::Unsupported => ErrorCode::NOT_IMPLEMENTED,
            SourceErrorKind::Memory => ErrorCode::MEMORY_LIMIT_EXCEEDED,
            SourceErrorKind::Broken => ErrorCode::LOGICAL_ERROR,
        }
    }
}

/// An error of this crate; see the module.
#[derive(Clone)]
pub struct SourceError(Box<Detail>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Detail {
    kind: SourceErrorKind,
    code: ErrorCode,
    message: String,
    file: Option<String>,
    byte_range: Option<Range<u64>>,
    http_status: Option<u16>,
    s3_code: Option<String>,
    request_id: Option<String>,
    region: Option<String>,
    /// Attempts that were made, and the time from the first to the end of the last.
    attempts: Option<(usize, Duration)>,
    hint: Option<String>,
}

pub type Result<T, E = SourceError> = std::result::Result<T, E>;

impl SourceError {
    pub fn new(kind: SourceErrorKind, message: impl Into<String>) -> Self {
        SourceError(Box::new(Detail {
            kind,
            code: kind.default_code(),
            message: message.into(),
            file: None,
            byte_range: None,
            http_status: None,
            s3_code: None,
            request_id: None,
            region: None,
            attempts: None,
            hint: None,
        }))
    }

    pub fn bad_arguments(message: impl Into<String>) -> Self {
        Self::new(SourceErrorKind::BadArguments, message)
    }

    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(SourceErrorKind::Unsupported, message)
    }

    /// A task of ours ended before its work: it panicked, or the database closes.
    pub fn ended_early(what: &str, task: JoinError) -> Self {
        match guarded::panic_of(task) {
            Some(panic) => {
                let message = format!("{what} broke: a library or the database panicked: {panic}");
                let hint = "it ended this statement alone; please report the statement and this message";
                Self::new(SourceErrorKind::Broken, message).with_hint(hint)
            }
            None => {
                let message = format!("{what} was stopped: the database is shutting down");
                Self::new(SourceErrorKind::Unavailable, message)
            }
        }
    }

    pub fn corrupt(file: &str, message: impl Into<String>) -> Self {
        Self::new(SourceErrorKind::Corrupt, message).with_file(file)
    }

    /// Where the kind's own is too coarse.
    pub fn with_code(mut self, code: ErrorCode) -> Self {
        self.0.code = code;
        self
    }

    /// Bucket and key, or a path. The innermost name is kept.
    pub fn with_file(mut self, file: &str) -> Self {
        self.0.file.get_or_insert_with(|| file.to_owned());
        self
    }

    pub fn with_range(mut self, range: Range<u64>) -> Self {
        self.0.byte_range.get_or_insert(range);
        self
    }

    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint.get_or_insert_with(|| hint.into());
        self
    }

    /// A hint that fits better than the one there may be.
    pub fn with_hint_instead(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// What a store's answer said: HTTP status, S3 error code, request id, the region it wants.
    pub fn with_answer(mut self, answer: StoreAnswer) -> Self {
        self.0.http_status = answer.http_status;
        self.0.s3_code = answer.s3_code;
        self.0.request_id = answer.request_id;
        self.0.region = answer.region;
        self
    }

    /// What the head of the answer said, where its body did not say it.
    pub(crate) fn with_head(
        mut self,
        status: Option<u16>,
        request_id: Option<&str>,
        region: Option<&str>,
    ) -> Self {
        self.0.http_status = self.0.http_status.or(status);
        self.0.request_id = self.0.request_id.or_else(|| request_id.map(str::to_owned));
        self.0.region = self.0.region.or_else(|| region.map(str::to_owned));
        self
    }

    /// How often it was tried, and for how long.
    pub(crate) fn with_attempts(mut self, attempts: usize, waited: Duration) -> Self {
        self.0.attempts = Some((attempts, waited));
        self
    }

    pub fn kind(&self) -> SourceErrorKind {
        self.0.kind
    }

    /// ClickHouse's error code.
    pub fn code(&self) -> ErrorCode {
        self.0.code
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }

    pub fn file(&self) -> Option<&str> {
        self.0.file.as_deref()
    }

    pub fn byte_range(&self) -> Option<Range<u64>> {
        self.0.byte_range.clone()
    }

    pub fn http_status(&self) -> Option<u16> {
        self.0.http_status
    }

    pub fn s3_code(&self) -> Option<&str> {
        self.0.s3_code.as_deref()
    }

    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// The region the store told us to use, in a redirect.
    pub fn region(&self) -> Option<&str> {
        self.0.region.as_deref()
    }

    /// How to fix it, if there is a usual way.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The `SourceError` inside an error of a library, however deep.
    pub fn find<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a SourceError> {
        let mut next = Some(error);
        while let Some(current) = next {
            if let Some(found) = current.downcast_ref::<SourceError>() {
                return Some(found);
            }
            next = current.source();
        }
        None
    }
}

/// What could be read from a store's error answer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StoreAnswer {
    pub http_status: Option<u16>,
    pub s3_code: Option<String>,
    pub request_id: Option<String>,
    pub region: Option<String>,
    pub message: Option<String>,
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let detail = &self.0;
        f.write_str(&detail.message)?;
        let mut notes: Vec<String> = Vec::new();
        if let Some(file) = detail.file.as_ref().filter(|file| !detail.message.contains(file.as_str())) {
            notes.push(format!("file \"{file}\""));
        }
        if let Some(range) = &detail.byte_range {
            notes.push(format!("bytes {}-{}", range.start, range.end.saturating_sub(1)));
        }
        if let Some(status) = detail.http_status {
            notes.push(format!("HTTP {status}"));
        }
        if let Some(code) = &detail.s3_code {
            notes.push(format!("S3 code {code}"));
        }
        if let Some(id) = &detail.request_id {
            notes.push(format!("request id {id}"));
        }
        if let Some((attempts, waited)) = detail.attempts.filter(|(attempts, _)| *attempts > 1) {
            notes.push(format!("{attempts} attempts in {:.1} s", waited.as_secs_f64()));
        }
        if !notes.is_empty() {
            write!(f, " ({})", notes.join(", "))?;
        }
        if let Some(hint) = &detail.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl StdError for SourceError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_names_everything_it_knows_once() {
        let answer = StoreAnswer {
            http_status: Some(404),
            s3_code: Some("NoSuchKey".to_owned()),
            request_id: Some("r1".to_owned()),
            ..StoreAnswer::default()
        };
        let error = SourceError::new(SourceErrorKind::NotFound, "key \"b/k\" does not exist")
            .with_file("b/k")
            .with_range(0..10)
            .with_answer(answer);
        assert_eq!(
            error.to_string(),
            "key \"b/k\" does not exist (bytes 0-9, HTTP 404, S3 code NoSuchKey, request id r1)"
        );
        assert_eq!(error.code(), ErrorCode::S3_ERROR);
    }

    #[test]
    fn it_is_found_inside_a_library_error() {
        let error = SourceError::corrupt("b/k", "cut");
        let outer = object_store::Error::Generic { store: "S3", source: Box::new(error) };
        assert_eq!(SourceError::find(&outer).and_then(SourceError::file), Some("b/k"));
    }
}
