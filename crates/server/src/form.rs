//! `multipart/form-data`: parameters that are too long for a URL.
//!
//! Invariant: a form is fields of text; a file in it would be a table of ClickHouse's, and is refused by name.

use bytes::Bytes;
use engine::{BodyStream, Error, ErrorKind};
use futures::StreamExt;

use crate::parameters::Parameters;

/// The boundary of a form, of a `Content-Type`; `None` when the body is something else.
pub(crate) fn boundary_of(content_type: &str) -> Option<String> {
    let (kind, rest) = content_type.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let named = |piece: &str| {
        let (name, value) = piece.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"').to_owned())
    };
    rest.split(';').find_map(named).filter(|boundary| !boundary.is_empty())
}

/// Reads a whole form and adds its fields to `parameters`.
///
/// # Errors
/// The body's own; a form that is too long, damaged, or holds a file.
pub(crate) async fn read(
    mut body: BodyStream,
    boundary: &str,
    bytes_max: usize,
    parameters: &mut Parameters,
) -> Result<(), Error> {
    let mut held = Vec::new();
    while let Some(chunk) = body.next().await {
        let chunk: Bytes = chunk?;
        if held.len() + chunk.len() > bytes_max {
            return Err(Error::new(
                ErrorKind::Limit,
                229,
                format!("the form is longer than {bytes_max} bytes"),
            ));
        }
        held.extend_from_slice(&chunk);
    }
    for (name, value) in fields(&held, boundary)? {
        parameters.push(name, value);
    }
    Ok(())
}

fn fields(form: &[u8], boundary: &str) -> Result<Vec<(String, String)>, Error> {
    let damaged = |what: &str| Error::new(ErrorKind::BadInput, 36, format!("the form is damaged: {what}"));
    let text = std::str::from_utf8(form).map_err(|_| damaged("it is not UTF-8"))?;
    let delimiter = format!("--{boundary}");
    // The first delimiter may begin the form; all others follow a line end.
    let mut rest = match text.strip_prefix(delimiter.as_str()) {
        Some(rest) => rest,
        None => {
            text.split_once(&format!("\r\n{delimiter}")).ok_or_else(|| damaged("its boundary is missing"))?.1
        }
    };
    let delimiter = format!("\r\n{delimiter}");
    let mut found = Vec::new();
    while !rest.starts_with("--") {
        let part = rest.strip_prefix("\r\n").ok_or_else(|| damaged("a boundary does not end its line"))?;
        // Headers may be none: then the part begins with the empty line.
        let (head, content) = match part.strip_prefix("\r\n") {
            Some(content) => ("", content),
            None => part.split_once("\r\n\r\n").ok_or_else(|| damaged("a part has no content"))?,
        };
        let (value, after) =
            content.split_once(delimiter.as_str()).ok_or_else(|| damaged("it has no end"))?;
        let disposition = head.split("\r\n").find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.trim().eq_ignore_ascii_case("content-disposition").then_some(value)
        });
        let disposition = disposition.ok_or_else(|| damaged("a part has no Content-Disposition"))?;
        let name = attribute(disposition, "name").ok_or_else(|| damaged("a part has no name"))?;
        if attribute(disposition, "filename").is_some() {
            let message =
                format!("table \"{}\" sent along with a statement is not supported", name.escape_debug());
            return Err(Error::new(ErrorKind::Unsupported, 48, message));
        }
        found.push((name, value.to_owned()));
        rest = after;
    }
    Ok(found)
}

/// `name="value"` of a header, quotes undone.
fn attribute(header: &str, wanted: &str) -> Option<String> {
    let mut rest = header;
    loop {
        let (_, after) = rest.split_once(';')?;
        let (name, value) = after.split_once('=')?;
        let (text, left) = match value.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => value.split_at(value.find(';').unwrap_or(value.len())),
        };
        if name.trim().eq_ignore_ascii_case(wanted) {
            return Some(text.trim().to_owned());
        }
        rest = left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_told_by_their_type() {
        for (content_type, expected) in [
            ("multipart/form-data; boundary=abc", Some("abc")),
            ("Multipart/Form-Data; charset=utf-8; Boundary=\"a b\"", Some("a b")),
            ("multipart/form-data", None),
            ("application/x-www-form-urlencoded", None),
        ] {
            assert_eq!(boundary_of(content_type).as_deref(), expected, "{content_type}");
        }
    }

    #[test]
    fn fields_are_read_and_files_refused() {
        let read = |form: &str| fields(form.replace('\n', "\r\n").as_bytes(), "B");
        let two = "--B\nContent-Disposition: form-data; name=\"param_a\"\n\n1\n--B\nContent-Type: text/plain\n\
                   content-disposition: form-data; name=query\n\nSELECT\n\n1\n--B--\n";
        let expected =
            [("param_a".to_owned(), "1".to_owned()), ("query".to_owned(), "SELECT\r\n\r\n1".to_owned())];
        assert_eq!(read(two).unwrap(), expected);
        assert_eq!(read("--B--\n").unwrap(), []);
        assert_eq!(read(&format!("preamble\n{two}")).unwrap(), expected);
        let file = "--B\nContent-Disposition: form-data; name=\"t\"; filename=\"t.csv\"\n\n1\n--B--\n";
        assert_eq!(read(file).unwrap_err().code, 48);
        for damaged in
            ["", "--B", "--B\n", "--B\n\nx\n--B--", "--B\nContent-Disposition: form-data; name=a\n\n1\n"]
        {
            assert_eq!(read(damaged).unwrap_err().code, 36, "{damaged:?}");
        }
    }
}
