//! A request's body as it arrives: the statement told from its data.
//!
//! ```text
//! ?query=INSERT INTO t FORMAT CSV     body: 1,a\n2,b\n ..      one text, a line end between
//! ?                                   body: INSERT INTO t FORMAT CSV\n1,a\n2,b\n ..
//! ```
//! Invariant: no more of a body is held than the statement's text and VALUES up to [`VALUES_BYTES_MAX`], and their memory is
//! granted. Must not know: how bodies come.

use bytes::Bytes;
use engine::{Arrived, BodyStream, Error, ErrorKind, arrived};
use futures::{StreamExt, stream};
use host::MemoryGrant;

/// Rows of VALUES up to here are part of the text; more are read as they come.
const VALUES_BYTES_MAX: usize = 1 << 20;

/// A text is granted its memory in such steps, the first before it asks for it.
const GRANT_BYTES: usize = 64 << 10;

/// Memory for so many bytes that are held.
///
/// # Errors
/// There is none.
pub(crate) fn granted(grant: &mut MemoryGrant, bytes: usize) -> Result<(), Error> {
    let short = (bytes as u64).saturating_sub(grant.bytes());
    if short <= GRANT_BYTES as u64 {
        return Ok(());
    }
    grant.try_grow(short).map_err(|refused| {
        Error::new(ErrorKind::Limit, 241, refused.to_string())
            .with_hint("other statements are being received; try again later")
    })
}

/// A statement and the data that goes with it.
pub(crate) struct Arrival {
    pub(crate) sql: String,
    /// For the text, as long as it is held.
    pub(crate) grant: MemoryGrant,
    pub(crate) data: Option<BodyStream>,
}

/// Reads a statement that begins with `in_url` and goes on in `body`.
///
/// # Errors
/// The body's own; a text that is not UTF-8, longer than `text_bytes_max`, or for which there is no memory in `grant`'s budget.
pub(crate) async fn arrival(
    in_url: &str,
    body: BodyStream,
    text_bytes_max: usize,
    mut grant: MemoryGrant,
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
                    return Ok(Arrival { sql: text(read)?, grant, data: Some(data) });
                }
                Arrived::Values { data } if read.len() - data > VALUES_BYTES_MAX => {
                    let rest = Bytes::from(read.split_off(data));
                    let data = stream::iter([Ok(rest)]).chain(body).boxed();
                    return Ok(Arrival { sql: text(read)?, grant, data: Some(data) });
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
            return Ok(Arrival { sql: text(read)?, grant, data: None });
        }
        match body.next().await {
            Some(chunk) => {
                read.extend_from_slice(&chunk?);
                granted(&mut grant, read.len())?;
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

fn text(read: Vec<u8>) -> Result<String, Error> {
    String::from_utf8(read).map_err(|_| {
        Error::new(ErrorKind::Syntax, 62, "the statement is not UTF-8, and no data begins before that")
    })
}

fn too_long(bytes_max: usize) -> Error {
    Error::new(ErrorKind::Limit, 229, format!("the statement is longer than {bytes_max} bytes"))
        .with_hint("send rows as data of INSERT .. FORMAT")
}

#[cfg(test)]
mod tests {
    use host::MemoryBudget;

    use super::*;

    fn pieces(text: &[u8], length: usize) -> BodyStream {
        let pieces: Vec<_> = text.chunks(length).map(Bytes::copy_from_slice).collect();
        // As a body does, it breaks when it is asked after its end.
        stream::unfold(pieces.into_iter(), |mut left| async move { Some((Ok(left.next()?), left)) }).boxed()
    }

    async fn read(in_url: &str, body: &[u8], length: usize) -> Result<(String, Option<Vec<u8>>), Error> {
        let grant = MemoryBudget::new(16 << 20).empty_grant("text");
        let Arrival { sql, data, .. } = arrival(in_url, pieces(body, length), 1000, grant).await?;
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
        assert_eq!(read("", &long, 100).await.unwrap_err().code, 229);
        assert_eq!(read("", b"SELECT \xff", 100).await.unwrap_err().code, 62);
        let budget = MemoryBudget::new(100_000);
        let long = b"SELECT 1 ".repeat(100_000);
        let refused = arrival("", pieces(&long, 1000), long.len(), budget.empty_grant("text")).await;
        assert_eq!((refused.err().map(|error| error.code), budget.used()), (Some(241), 0));
    }
}
