//! What a request says about compression, and an answer made so.
//!
//! Invariant: an answer is compressed once: in ClickHouse's blocks when asked for them, else by HTTP's negotiation. Must
//! not know: statements.

use engine::coding::decompressed;
use engine::{BodyStream, Error, ErrorCode, ErrorKind, OutputEncoder};

use crate::http::blocks::{BlockWriter, unpacked};

/// HTTP's names of what we write, the cheapest first, and the engine's.
const CODINGS: [(&str, &str); 6] = [
    ("lz4", "lz4"),
    ("zstd", "zstd"),
    ("gzip", "gzip"),
    ("x-gzip", "gzip"),
    ("br", "br"),
    ("deflate", "deflate"),
];

/// What a client can read of it, `Accept-Encoding`: the most wanted, of those the cheapest.
pub(crate) fn accepted(header: &str) -> Option<&'static str> {
    let wanted = |coding: &str| {
        let mut weight = None;
        for offer in header.split(',') {
            let mut pieces = offer.split(';').map(str::trim);
            if !pieces.next().is_some_and(|name| name.eq_ignore_ascii_case(coding)) {
                continue;
            }
            let q = pieces.find_map(|piece| piece.strip_prefix("q=")).unwrap_or("1");
            weight = q.trim().parse::<f32>().ok().filter(|q| *q > 0.0);
        }
        weight
    };
    let mut best: Option<(&'static str, f32)> = None;
    for (coding, _) in CODINGS {
        if let Some(weight) = wanted(coding)
            && best.is_none_or(|(_, most)| weight > most)
        {
            best = Some((coding, weight));
        }
    }
    best.map(|(coding, _)| coding)
}

/// The body of a request without its compression.
///
/// # Errors
/// A coding nobody here reads.
pub(crate) fn decoded(mut body: BodyStream, codings: &[String], blocks: bool) -> Result<BodyStream, Error> {
    // The last coding was applied last.
    for coding in codings.iter().rev() {
        let name = coding.to_ascii_lowercase();
        let known = match name.as_str() {
            "identity" => continue,
            // Only decoded.
            "xz" | "bz2" | "snappy" => Some(name.as_str()),
            _ => CODINGS.iter().find(|(http, _)| *http == name).map(|(_, ours)| *ours),
        };
        let Some(method) = known else {
            let message = format!("Content-Encoding \"{}\" is not known", coding.escape_debug());
            return Err(Error::new(ErrorKind::Unsupported, ErrorCode::UNKNOWN_COMPRESSION_METHOD, message)
                .with_hint("lz4, zstd, gzip, deflate, br, xz, bz2 and snappy are"));
        };
        body = decompressed(body, method)?;
    }
    Ok(if blocks { unpacked(body) } else { body })
}

/// How one answer is compressed.
pub(crate) enum Encoding {
    Plain,
    Blocks(BlockWriter),
    Http { name: &'static str, encoder: Option<Box<OutputEncoder>> },
}

impl Encoding {
    /// In blocks, or by one of HTTP's codings, or neither.
    ///
    /// # Errors
    /// The method's library failed.
    pub(crate) fn new(blocks: bool, coding: Option<&'static str>) -> Result<Encoding, Error> {
        if blocks {
            return Ok(Encoding::Blocks(BlockWriter::default()));
        }
        let Some(name) = coding else { return Ok(Encoding::Plain) };
        let method = CODINGS.iter().find(|(http, _)| *http == name).map_or(name, |(_, ours)| *ours);
        Ok(Encoding::Http { name, encoder: Some(Box::new(OutputEncoder::of_method(method, None)?)) })
    }

    /// `Content-Encoding` of the answer.
    pub(crate) fn http_name(&self) -> Option<&'static str> {
        match self {
            Encoding::Http { name, .. } => Some(name),
            Encoding::Plain | Encoding::Blocks(_) => None,
        }
    }

    /// Whether bytes stay as they are.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self, Encoding::Plain)
    }

    /// Appends to `out` what becomes of `bytes`.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        match self {
            Encoding::Plain => out.extend_from_slice(bytes),
            Encoding::Blocks(blocks) => blocks.push(bytes, out),
            Encoding::Http { encoder: Some(encoder), .. } => encoder.encode(bytes, out)?,
            Encoding::Http { encoder: None, .. } => return Err(Error::internal("an ended answer goes on")),
        }
        Ok(())
    }

    /// Makes a client see what was pushed so far, where that is cheap.
    pub(crate) fn flush(&mut self, out: &mut Vec<u8>) {
        if let Encoding::Blocks(blocks) = self {
            blocks.flush(out);
        }
    }

    /// As [`Encoding::flush`], also where it costs some of the compression.
    ///
    /// # Errors
    /// The method's library failed.
    pub(crate) fn flush_all(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        match self {
            Encoding::Http { encoder: Some(encoder), .. } => encoder.flush(out),
            _ => {
                self.flush(out);
                Ok(())
            }
        }
    }

    /// Appends the end.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        match self {
            Encoding::Plain => {}
            Encoding::Blocks(blocks) => blocks.flush(out),
            Encoding::Http { encoder, .. } => {
                if let Some(encoder) = encoder.take() {
                    encoder.finish(out)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_wanted_coding_is_taken() {
        for (header, expected) in [
            ("", None),
            ("identity", None),
            ("gzip", Some("gzip")),
            ("lz4,zstd,gzip,deflate", Some("lz4")),
            ("gzip, deflate, br, zstd", Some("zstd")),
            ("gzip;q=1.0, br;q=0.5", Some("gzip")),
            ("br;q=0.9, gzip;q=0.2", Some("br")),
            ("GZIP", Some("gzip")),
            ("gzip;q=0", None),
            ("x-gzip, deflate", Some("x-gzip")),
            ("sdch", None),
        ] {
            assert_eq!(accepted(header), expected, "{header}");
        }
    }

    #[test]
    fn unknown_codings_are_refused_by_name() {
        let body = || Box::pin(futures::stream::empty());
        let error = decoded(body(), &["sdch\r\n".to_owned()], false).err().unwrap();
        assert!(error.code.number() == 89 && error.message.contains("sdch\\r\\n"));
        assert!(decoded(body(), &["identity".to_owned(), "GZIP".to_owned()], true).is_ok());
    }
}
