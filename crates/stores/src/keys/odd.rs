//! Keys that the client's paths cannot spell: `/a.csv` and `a//b.csv`, whose folders have no name.
//!
//! A bucket takes any text as a key; the client drops a `/` in front and refuses an empty piece, and one such key makes
//! it refuse the whole page of a listing. So pages are handed to it with a *mark* in place of each piece it cannot bear,
//! and such a key is asked for by a client of its own whose endpoint ends with the key's *front*: the signature is that
//! of the URL, so it is right. Invariant: unmarking what was marked gives the key back, whatever it holds.
//! Must not know: requests, patterns.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use object_store::aws::AmazonS3;
use parking_lot::Mutex;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::error::Result;
use crate::xml::Elements;

/// Stands in front of a piece of a key; of a piece that begins with it, twice. No writing system uses it.
const MARK: char = '\u{f8fe}';
/// Clients kept of one bucket.
const FRONTS_MAX: usize = 64;

/// Makes the client of an endpoint that ends so.
type MakeClient = dyn Fn(&str) -> Result<Arc<AmazonS3>> + Send + Sync;

/// The clients of one bucket's odd keys, by what their endpoints end with.
pub(crate) struct OddKeys {
    make: Box<MakeClient>,
    made: Mutex<HashMap<String, Arc<AmazonS3>>>,
}

impl OddKeys {
    /// `make` is given the front of a key, to be put behind the bucket and a `/`.
    pub(crate) fn new(make: impl Fn(&str) -> Result<Arc<AmazonS3>> + Send + Sync + 'static) -> OddKeys {
        OddKeys { make: Box::new(make), made: Mutex::default() }
    }

    pub(crate) fn client(&self, front: &str) -> Result<Arc<AmazonS3>> {
        let mut made = self.made.lock();
        if let Some(client) = made.get(front) {
            return Ok(Arc::clone(client));
        }
        let client = (self.make)(front)?;
        if made.len() >= FRONTS_MAX {
            made.clear();
        }
        made.insert(front.to_owned(), Arc::clone(&client));
        Ok(client)
    }
}

/// An odd key as front and rest, with a `/` between: the rest is one the client can spell.
pub(crate) fn split(key: &str) -> Option<(&str, &str)> {
    match key.rfind("//") {
        Some(at) => Some((&key[..=at], &key[at + 2..])),
        None => key.strip_prefix('/').map(|rest| ("", rest)),
    }
}

/// A front as it stands in a URL.
pub(crate) fn in_url(front: &str) -> String {
    const ESCAPED: &AsciiSet =
        &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');
    utf8_percent_encode(front, ESCAPED).to_string()
}

/// A page of a listing that the client can read. Only the texts of keys and folders are looked at.
pub(crate) fn marked(page: &Bytes) -> Bytes {
    let Ok(text) = std::str::from_utf8(page) else { return page.clone() };
    let text = text.trim_start_matches('\u{feff}');
    let (mut out, mut copied) = (String::new(), 0);
    for element in Elements::of(text) {
        let is_folder = match element.name.as_str() {
            "Key" | "Name" => false,
            "Prefix" => true,
            _ => continue,
        };
        let Some(inside) = element.inside else { continue };
        let written = &text[inside.clone()];
        // Such as CDATA, whose own letters are no key's.
        if written.contains('<') {
            continue;
        }
        if let Cow::Owned(key) = marked_key(written, is_folder) {
            out.push_str(&text[copied..inside.start]);
            out.push_str(&key);
            copied = inside.end;
        }
    }
    if copied == 0 {
        return page.clone();
    }
    out.push_str(&text[copied..]);
    Bytes::from(out)
}

/// The `/` at the end of a folder's name is its own.
fn marked_key(key: &str, is_folder: bool) -> Cow<'_, str> {
    let (pieces, end) = match key.strip_suffix('/') {
        Some(pieces) if is_folder => (pieces, "/"),
        _ => (key, ""),
    };
    let is_odd = |piece: &str| matches!(piece, "" | "." | "..") || piece.starts_with(MARK);
    if key.is_empty() || !pieces.split('/').any(is_odd) {
        return Cow::Borrowed(key);
    }
    let mark = |piece: &str| if is_odd(piece) { format!("{MARK}{piece}") } else { piece.to_owned() };
    let marked: Vec<String> = pieces.split('/').map(mark).collect();
    Cow::Owned(format!("{}{end}", marked.join("/")))
}

/// The key that a page of a listing meant.
pub(crate) fn unmarked(path: &str) -> String {
    let unmark = |piece: &str| piece.strip_prefix(MARK).unwrap_or(piece).to_owned();
    match path.contains(MARK) {
        true => path.split('/').map(unmark).collect::<Vec<_>>().join("/"),
        false => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use object_store::path::Path;

    use super::*;

    #[test]
    fn the_front_holds_what_a_path_cannot() {
        for (key, expected) in [
            ("a.csv", None),
            ("a/b.csv", None),
            ("/a.csv", Some(("", "a.csv"))),
            ("//a.csv", Some(("/", "a.csv"))),
            ("a//b/c.csv", Some(("a/", "b/c.csv"))),
            ("a///b", Some(("a//", "b"))),
            ("/a/b//c", Some(("/a/b/", "c"))),
        ] {
            assert_eq!(split(key), expected, "{key}");
            if let Some((front, rest)) = split(key) {
                assert_eq!(format!("{front}/{rest}"), key);
                assert!(Path::parse(rest).is_ok_and(|path| path.as_ref() == rest), "{key}");
            }
        }
        assert_eq!(in_url("a b/é?/"), "a%20b/%C3%A9%3F/");
    }

    #[test]
    fn pages_are_marked_and_keys_come_back() {
        let keys =
            ["a/b.csv", "/a.csv", "a//b.csv", "//", "a/", "./x", "a/../b", "\u{f8fe}a/b", "a/\u{f8fe}"];
        for key in keys {
            let page = format!(
                "<L xmlns=\"http://h//\"><Prefix></Prefix><Contents><Key>{key}</Key><Size>1</Size></L>"
            );
            let marked = marked(&Bytes::from(page));
            let text = std::str::from_utf8(&marked).unwrap();
            let inside = text.split_once("<Key>").unwrap().1.split_once("</Key>").unwrap().0;
            let path = Path::parse(inside).unwrap();
            assert_eq!(path.as_ref(), inside, "the client changes nothing of {key:?}");
            assert_eq!(unmarked(path.as_ref()), key);
        }
        let folders = Bytes::from("<CommonPrefixes><Prefix>a//</Prefix></CommonPrefixes><Prefix>a/</Prefix>");
        let marked = marked(&folders);
        let text = std::str::from_utf8(&marked).unwrap();
        assert_eq!(text, "<CommonPrefixes><Prefix>a/\u{f8fe}/</Prefix></CommonPrefixes><Prefix>a/</Prefix>");
    }
}
