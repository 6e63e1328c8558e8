//! A request's body as it arrives: the statement told from its data.
//!
//! ```text
//! ?query=INSERT INTO t FORMAT CSV     body: 1,a\n2,b\n ..      one text, a line end between
//! ?                                   body: INSERT INTO t FORMAT CSV\n1,a\n2,b\n ..
//! ```
//! Invariant: no more of a body is held than the statement's text and VALUES up to [`VALUES_BYTES_MAX`], and their memory is
//! granted. Must not know: how bodies come.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::{Arrived, BodyStream, Error, ErrorCode, ErrorKind, arrived, text_of_bytes};
use futures::{StreamExt, stream};
use host::{MemoryBudget, MemoryGrant};

use crate::door::TEXTS_SCOPE;
use crate::door::lobby::Lobby;

/// Rows of VALUES up to here are part of the text; more are read as they come.
const VALUES_BYTES_MAX: usize = 1 << 20;

/// A text of so many bytes asks for no memory: most are shorter.
const SMALL_BYTES: u64 = 4 << 10;
/// Longer ones are granted it in such steps.
const GRANT_BYTES: u64 = 64 << 10;
/// So many bodies that are waited for may have to go for one text, and so long each has for it.
const SENT_AWAY_MAX: usize = 8;
const PACKING: Duration = Duration::from_millis(5);

/// Memory of one text, or form, while it comes.
pub(crate) struct TextMemory {
    grant: MemoryGrant,
    /// Half texts that nobody sends on hold what others need.
    bodies: Arc<Lobby>,
}

impl TextMemory {
    pub(crate) fn new(texts: &MemoryBudget, consumer: &'static str, bodies: &Arc<Lobby>) -> TextMemory {
        TextMemory { grant: texts.empty_grant(consumer), bodies: Arc::clone(bodies) }
    }

    /// Memory for so many bytes that are held.
    ///
    /// # Errors
    /// There is none, also without those who have waited longest.
    pub(crate) async fn hold(&mut self, bytes: usize) -> Result<(), Error> {
        let short = (bytes as u64).saturating_sub(self.grant.bytes());
        if short <= SMALL_BYTES {
            return Ok(());
        }
        let mut sent_away = 0;
        loop {
            let Err(refused) = self.grant.try_grow(short.max(GRANT_BYTES)) else { return Ok(()) };
            let is_for_texts = refused.scope == TEXTS_SCOPE && sent_away < SENT_AWAY_MAX;
            if !is_for_texts || !self.bodies.send_one_away(None) {
                return Err(Error::new(
                    ErrorKind::Limit,
                    ErrorCode::MEMORY_LIMIT_EXCEEDED,
                    refused.to_string(),
                )
                .with_hint("other statements are being received; try again later"));
            }
            sent_away += 1;
            tokio::time::sleep(PACKING).await;
        }
    }
}

/// A statement and the data that goes with it.
pub(crate) struct Arrival {
    pub(crate) sql: String,
    /// For the text, as long as it is held.
    pub(crate) memory: TextMemory,
    pub(crate) data: Option<BodyStream>,
}

/// Reads a statement that begins with `in_url` and goes on in `body`.
///
/// # Errors
/// The body's own; a text longer than `text_bytes_max`, or for which there is no memory.
pub(crate) async fn arrival(
    in_url: &str,
    body: BodyStream,
    text_bytes_max: usize,
    mut memory: TextMemory,
) -> Result<Arrival, Error> {
    // It may be asked again after its end.
    let mut body = body.fuse();
    let mut read = in_url.trim_end().as_bytes().to_vec();
    if !read.is_empty() {
        read.push(b'\n');
    }
    let (mut ended, mut look_at) = (false, 0);
    loop {
        // The text is looked at when it has grown by a half, so that many small pieces cost little.
        if read.len() >= look_at || ended {
            match arrived(valid(&read)) {
                Arrived::Format { end, data } => {
                    let rest = Bytes::from(read.split_off(data));
                    read.truncate(end);
                    let data = stream::iter([Ok(rest)]).chain(body).boxed();
                    return Ok(Arrival { sql: text(read), memory, data: Some(data) });
                }
                Arrived::Values { data } if read.len() - data > VALUES_BYTES_MAX => {
                    let rest = Bytes::from(read.split_off(data));
                    let data = stream::iter([Ok(rest)]).chain(body).boxed();
                    return Ok(Arrival { sql: text(read), memory, data: Some(data) });
                }
                Arrived::Values { .. } => look_at = read.len() + VALUES_BYTES_MAX / 4,
                Arrived::Text | Arrived::Undecided => {
                    if read.len() > text_bytes_max {
                        return Err(too_long(text_bytes_max));
                    }
                    look_at = read.len() * 3 / 2;
                }
            }
        }
        if ended {
            return Ok(Arrival { sql: text(read), memory, data: None });
        }
        match body.next().await {
            Some(chunk) => {
                read.extend_from_slice(&chunk?);
                memory.hold(read.len()).await?;
            }
            None => ended = true,
        }
    }
}

/// The part of `read` that is text; data behind it may be anything.
fn valid(read: &[u8]) -> &str {
    match std::str::from_utf8(read) {
        Ok(text) => text,
        Err(error) => {
            read.get(..error.valid_up_to()).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or("")
        }
    }
}

/// Bytes that are no UTF-8 are those of a literal, which ClickHouse takes as they are.
fn text(read: Vec<u8>) -> String {
    String::from_utf8(read).unwrap_or_else(|error| text_of_bytes(error.as_bytes()))
}

fn too_long(bytes_max: usize) -> Error {
    Error::new(
        ErrorKind::Limit,
        ErrorCode::QUERY_IS_TOO_LARGE,
        format!("the statement is longer than {bytes_max} bytes"),
    )
    .with_hint("send rows as data of INSERT .. FORMAT")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(budget: &MemoryBudget) -> TextMemory {
        TextMemory::new(budget, "text", &Lobby::new(&host::Host::system(1 << 20).unwrap().clock))
    }

    fn pieces(text: &[u8], length: usize) -> BodyStream {
        let pieces: Vec<_> = text.chunks(length).map(Bytes::copy_from_slice).collect();
        // As a body does, it breaks when it is asked after its end.
        stream::unfold(pieces.into_iter(), |mut left| async move { Some((Ok(left.next()?), left)) }).boxed()
    }

    async fn read(in_url: &str, body: &[u8], length: usize) -> Result<(String, Option<Vec<u8>>), Error> {
        let memory = memory(&MemoryBudget::new(16 << 20));
        let Arrival { sql, data, .. } = arrival(in_url, pieces(body, length), 1000, memory).await?;
        let Some(data) = data else { return Ok((sql, None)) };
        let chunks: Vec<_> = data.map(|chunk| chunk.unwrap().to_vec()).collect().await;
        Ok((sql, Some(chunks.concat())))
    }

    #[tokio::test]
    async fn a_statement_and_its_data_are_the_same_wherever_the_body_is_cut() {
        type Case = (&'static str, &'static [u8], &'static str, Option<&'static [u8]>);
        let cases: [Case; 9] = [
            ("SELECT 1", b"", "SELECT 1\n", None),
            ("", b"SELECT 1", "SELECT 1", None),
            ("SELECT", b"1", "SELECT\n1", None),
            (
                "INSERT INTO t FORMAT Native",
                b"\x01\x01\xff",
                "INSERT INTO t FORMAT Native",
                Some(b"\x01\x01\xff"),
            ),
            ("INSERT INTO t FORMAT CSV\n", b"1\n", "INSERT INTO t FORMAT CSV", Some(b"1\n")),
            (
                "",
                b"INSERT INTO t FORMAT RowBinary\n\n\xff\x00",
                "INSERT INTO t FORMAT RowBinary",
                Some(b"\n\xff\x00"),
            ),
            ("", b"INSERT INTO t FORMAT CSV 1\n2\n", "INSERT INTO t FORMAT CSV", Some(b"1\n2\n")),
            ("INSERT INTO t VALUES", b"(1), (2)", "INSERT INTO t VALUES\n(1), (2)", None),
            ("", b"INSERT INTO t (a) VALUES (now())", "INSERT INTO t (a) VALUES (now())", None),
        ];
        for (in_url, body, sql, data) in cases {
            for length in 1..=body.len().max(1) {
                let (read_sql, read_data) = read(in_url, body, length).await.unwrap();
                assert_eq!((read_sql.as_str(), read_data.as_deref()), (sql, data), "{in_url} {length}");
            }
        }
    }

    #[tokio::test]
    async fn long_values_are_data_and_long_texts_an_error() {
        let rows = b"(1),".repeat(VALUES_BYTES_MAX / 2);
        let (sql, data) = read("INSERT INTO t VALUES", &rows, 10_000).await.unwrap();
        assert_eq!((sql.as_str(), data.unwrap().len()), ("INSERT INTO t VALUES", rows.len() + 1));
        let long = b"SELECT 1 ".repeat(1000);
        assert_eq!(read("", &long, 100).await.unwrap_err().code.number(), 229);
        let (bytes, _) = read("", b"SELECT '\xff'", 100).await.unwrap();
        assert_eq!(bytes, "SELECT '\u{10feff}'");
        let budget = MemoryBudget::new(100_000);
        let long = b"SELECT 1 ".repeat(100_000);
        let refused = arrival("", pieces(&long, 1000), long.len(), memory(&budget)).await;
        assert_eq!((refused.err().map(|error| error.code.number()), budget.used()), (Some(241), 0));
    }
}
