//! The end of a body, where an error may stand: the status was sent when it was not known yet.
//!
//! ```text
//! rows CR LF __exception__ CR LF tag CR LF message LF length ' ' tag CR LF __exception__ CR LF
//! ```
//! Invariant: no byte of the frame is given out as a row. Must not know: formats.

use bytes::Bytes;
use engine::{Error, ErrorCode, ErrorKind};

use super::fault;

/// Bytes of rows on their way, with the last few held back.
pub(super) struct Tail {
    /// What stands before the message; empty when the server frames none.
    mark: Vec<u8>,
    /// Held back: they may be the beginning of the mark, or are the frame.
    held: Vec<u8>,
    found: bool,
}

impl Tail {
    pub(super) fn new(tag: &str) -> Tail {
        let mark =
            if tag.is_empty() { Vec::new() } else { format!("\r\n__exception__\r\n{tag}\r\n").into_bytes() };
        Tail { mark, held: Vec::new(), found: false }
    }

    /// Takes a piece of the body; answers with the bytes that are certainly rows.
    pub(super) fn push(&mut self, chunk: &Bytes) -> Bytes {
        if self.mark.is_empty() {
            return chunk.clone();
        }
        self.held.extend_from_slice(chunk);
        if self.found {
            return Bytes::new();
        }
        let at = self.held.windows(self.mark.len()).position(|window| window == self.mark);
        self.found = at.is_some();
        let rows = at.unwrap_or_else(|| self.held.len().saturating_sub(self.mark.len() - 1));
        let frame = self.held.split_off(rows);
        Bytes::from(std::mem::replace(&mut self.held, frame))
    }

    /// The body has ended.
    ///
    /// # Errors
    /// What the server said in the place of further rows.
    pub(super) fn finish(&mut self) -> Result<Bytes, Error> {
        let rest = std::mem::take(&mut self.held);
        if !std::mem::take(&mut self.found) {
            return Ok(Bytes::from(rest));
        }
        let framed = String::from_utf8_lossy(&rest[self.mark.len()..]);
        // The line with the length is the last but one.
        let message = framed.rsplitn(3, "\r\n").last().unwrap_or_default();
        let message = message.rsplit_once('\n').map_or(message, |(message, _)| message);
        let broken = || {
            Error::new(
                ErrorKind::Unavailable,
                ErrorCode::NETWORK_ERROR,
                format!("the answer broke off: {message}"),
            )
        };
        Err(fault::parse(message).unwrap_or_else(broken))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: &str = "\r\n__exception__\r\n0123456789abcdef\r\nCode: 153. DB::Exception: division by zero. \
                         (ILLEGAL_DIVISION)\n75 0123456789abcdef\r\n__exception__\r\n";

    fn read(body: &[u8], step: usize) -> (Vec<u8>, Result<(), Error>) {
        let mut tail = Tail::new("0123456789abcdef");
        let mut rows = Vec::new();
        for chunk in body.chunks(step) {
            rows.extend_from_slice(&tail.push(&Bytes::copy_from_slice(chunk)));
        }
        let ended = tail.finish().map(|rest| rows.extend_from_slice(&rest));
        (rows, ended)
    }

    #[test]
    fn an_error_is_found_wherever_the_body_is_cut() {
        let body = format!("some rows\r\n__exception__\r\nof these words{FRAME}");
        for step in 1..=body.len() {
            let (rows, ended) = read(body.as_bytes(), step);
            assert_eq!(rows, b"some rows\r\n__exception__\r\nof these words", "{step}");
            let error = ended.unwrap_err();
            assert_eq!((error.code.number(), error.message.as_str()), (153, "division by zero"), "{step}");
        }
    }

    #[test]
    fn rows_without_an_error_come_whole() {
        for body in [&b""[..], b"\r\n__excep", b"rows\r\n"] {
            let (rows, ended) = read(body, 2);
            assert_eq!(rows, body);
            assert!(ended.is_ok());
        }
        let mut untagged = Tail::new("");
        assert_eq!(untagged.push(&Bytes::from_static(b"x")), "x");
        assert!(untagged.finish().unwrap().is_empty());
    }
}
