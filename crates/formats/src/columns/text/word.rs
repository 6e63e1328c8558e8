//! Words that need no escapes, in quotes where a style has them.
//!
//! Must not know: which types are written so.

use super::Style;

/// Text without any character to escape: dates, times, UUIDs, addresses.
pub(super) fn plain_word(style: Style, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let quote = match style {
        Style::Plain | Style::Escaped | Style::Xml => return write(out),
        Style::Csv | Style::Json => b'"',
        Style::Quoted => b'\'',
    };
    out.push(quote);
    write(out);
    out.push(quote);
}
