//! `multipart/form-data`: parameters that are too long for a URL, and tables that a statement brings along.
//!
//! Invariant: a form is held in memory up to a limit; its fields are text, its files any bytes. Must not know: what the
//! fields mean.

use bytes::Bytes;
use engine::{BodyStream, Error, ErrorCode, ErrorKind};
use futures::StreamExt;
use memchr::memmem::find;

use crate::http::arrival::TextMemory;
use crate::http::parameters::Parameters;

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

/// A file of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SentFile {
    pub(crate) name: String,
    pub(crate) bytes: Bytes,
}

/// Reads a whole form, adds its fields to `parameters` and answers its files.
///
/// # Errors
/// The body's own; a form that is too long or damaged, or for which there is no memory.
pub(crate) async fn read(
    mut body: BodyStream,
    boundary: &str,
    bytes_max: usize,
    parameters: &mut Parameters,
    memory: &mut TextMemory,
) -> Result<Vec<SentFile>, Error> {
    let mut held = Vec::new();
    while let Some(chunk) = body.next().await {
        let chunk: Bytes = chunk?;
        if held.len() + chunk.len() > bytes_max {
            return Err(Error::new(
                ErrorKind::Limit,
                ErrorCode::QUERY_IS_TOO_LARGE,
                format!("the form is longer than {bytes_max} bytes"),
            ));
        }
        held.extend_from_slice(&chunk);
        memory.hold(held.len()).await?;
    }
    let form = Form::read(Bytes::from(held), boundary)?;
    for (name, value) in form.fields {
        parameters.push(name, value);
    }
    Ok(form.files)
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Form {
    fields: Vec<(String, String)>,
    files: Vec<SentFile>,
}

fn damaged(what: &str) -> Error {
    Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, format!("the form is damaged: {what}"))
}

impl Form {
    fn read(bytes: Bytes, boundary: &str) -> Result<Form, Error> {
        let delimiter = format!("--{boundary}");
        // The first delimiter may begin the form; all others follow a line end.
        let start = match bytes.starts_with(delimiter.as_bytes()) {
            true => delimiter.len(),
            false => {
                let later = format!("\r\n{delimiter}");
                let at = find(&bytes, later.as_bytes()).ok_or_else(|| damaged("its boundary is missing"))?;
                at + later.len()
            }
        };
        let mut rest = bytes.slice(start..);
        let delimiter = format!("\r\n{delimiter}");
        let mut form = Form::default();
        while !rest.starts_with(b"--") {
            if !rest.starts_with(b"\r\n") {
                return Err(damaged("a boundary does not end its line"));
            }
            // Headers may be none: then the part begins with the empty line.
            let head_end = find(&rest, b"\r\n\r\n").ok_or_else(|| damaged("a part has no content"))?;
            let head = rest.slice(..head_end);
            let content = rest.slice(head_end + 4..);
            let end = find(&content, delimiter.as_bytes()).ok_or_else(|| damaged("it has no end"))?;
            form.add(&head, content.slice(..end))?;
            rest = content.slice(end + delimiter.len()..);
        }
        Ok(form)
    }

    fn add(&mut self, head: &[u8], content: Bytes) -> Result<(), Error> {
        let no_text = |_| damaged("it is not UTF-8");
        let head = std::str::from_utf8(head).map_err(no_text)?;
        let disposition = head.split("\r\n").find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.trim().eq_ignore_ascii_case("content-disposition").then_some(value)
        });
        let disposition = disposition.ok_or_else(|| damaged("a part has no Content-Disposition"))?;
        let name = attribute(disposition, "name").ok_or_else(|| damaged("a part has no name"))?;
        match attribute(disposition, "filename") {
            Some(_) => self.files.push(SentFile { name, bytes: content }),
            None => {
                let value = std::str::from_utf8(&content).map_err(no_text)?;
                self.fields.push((name, value.to_owned()));
            }
        }
        Ok(())
    }
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
    fn attributes_are_found_in_any_order() {
        let disposition = " form-data; filename*=UTF-8''b; FileName=\"my name=x.csv\"; Name=t";
        assert_eq!(attribute(disposition, "name").as_deref(), Some("t"));
        assert_eq!(attribute(disposition, "filename").as_deref(), Some("my name=x.csv"));
        assert_eq!(attribute(disposition, "my name"), None);
    }

    #[test]
    fn fields_and_files_are_read() {
        let read = |form: &str| Form::read(form.replace('\n', "\r\n").into(), "B");
        let two = "--B\nContent-Disposition: form-data; name=\"param_a\"\n\n1\n--B\nContent-Type: text/plain\n\
                   content-disposition: form-data; name=query\n\nSELECT\n\n1\n--B--\n";
        let expected =
            [("param_a".to_owned(), "1".to_owned()), ("query".to_owned(), "SELECT\r\n\r\n1".to_owned())];
        assert_eq!(read(two).unwrap().fields, expected);
        assert_eq!(read("--B--\n").unwrap(), Form::default());
        assert_eq!(read(&format!("preamble\n{two}")).unwrap().fields, expected);
        let file = [
            b"--B\r\nContent-Disposition: form-data; name=\"t\"; filename=\"t.csv\"\r\n\r\n".as_slice(),
            b"\xff\r\n--C\r\n\0\r\n--B--\r\n",
        ];
        let form = Form::read(file.concat().into(), "B").unwrap();
        let sent = SentFile { name: "t".to_owned(), bytes: Bytes::from_static(b"\xff\r\n--C\r\n\0") };
        assert_eq!((form.files, form.fields), (vec![sent], vec![]));
        for damaged in
            ["", "--B", "--B\n", "--B\n\nx\n--B--", "--B\nContent-Disposition: form-data; name=a\n\n1\n"]
        {
            assert_eq!(read(damaged).unwrap_err().code.number(), 36, "{damaged:?}");
        }
    }
}
