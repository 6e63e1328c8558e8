//! URLs of `url()`: braces expanded into pages, `{a|b}` into addresses of one page.
//!
//! Pure. Invariant: a page is shown without its query string and without a password. Nothing is listed, so `*` in a
//! path is an error. Must not know: clients.

use std::collections::HashSet;

use model::saturating::u64_of;
use url::Url;

use crate::calls::showing::shown_address;
use crate::calls::signatures::Family;
use crate::error::{Result, SourceError};

/// One URL that is read.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct WebPage {
    /// As it is asked for.
    pub url: Url,
    /// In messages.
    pub shown: String,
    /// The column `_path`: for `url()` the path as it is written.
    pub path: String,
    /// The column `_file`.
    pub file: String,
    /// `{a|b}`: what is asked if this address has no answer, in this order.
    pub instead: Vec<WebPage>,
}

impl std::fmt::Debug for WebPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown)
    }
}

impl WebPage {
    /// The page of one URL, without looking for braces.
    pub fn new(text: &str) -> Result<WebPage> {
        let shown = shown_address(Family::Url, text);
        let shown = shown.split('?').next().unwrap_or(&shown).to_owned();
        let wrong = |problem: &str| SourceError::bad_arguments(format!("URL \"{shown}\" {problem}"));
        let url = Url::parse(text).map_err(|error| wrong(&format!("cannot be read: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong(&format!("has the scheme \"{}\"; url() reads http and https", url.scheme())));
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(wrong("has no host"));
        }
        if url.path().contains('*') {
            return Err(wrong("has a * in its path, but pages are not listed").with_hint(
                "name them with {a,b} or {1..9}, or read the store with s3(), gcs() or azureBlobStorage()",
            ));
        }
        let path = url.path().to_owned();
        let file = path.rsplit('/').next().unwrap_or(&path).to_owned();
        Ok(WebPage { url, shown, path, file, instead: Vec::new() })
    }

    /// The page of a presigned URL of a bucket: `_path` is `bucket/key`.
    pub fn presigned(text: &str, shown: &str) -> Result<WebPage> {
        let file = shown.rsplit('/').next().unwrap_or(shown).to_owned();
        let page = WebPage::new(text)?;
        Ok(WebPage { shown: shown.to_owned(), path: shown.to_owned(), file, ..page })
    }
}

/// All pages of a URL with braces, each once, in the order they are written.
///
/// # Errors
/// More than `pages_max` of them, counted before any is made.
pub fn web_pages(text: &str, pages_max: u64) -> Result<Vec<WebPage>> {
    let shown = shown_address(Family::Url, text);
    let pieces = pieces(text).ok_or_else(|| {
        SourceError::bad_arguments(format!(
            "URL \"{shown}\" has a brace without its partner, or one inside another"
        ))
        .with_hint("a brace that belongs to the address is written %7B or %7D")
    })?;
    let count = pieces.iter().fold(1_u64, |count, piece| count.saturating_mul(piece.count()));
    if count > pages_max {
        return Err(SourceError::bad_arguments(format!(
            "the braces of URL \"{shown}\" stand for {count} pages, more than glob_expansion_max_elements = {pages_max}"
        ))
        .with_hint("raise the setting, or read fewer pages in one statement"));
    }
    let mut pages = vec![vec![String::new()]];
    for piece in &pieces {
        if let Piece::Literal(more) = piece {
            // In place: a URL of many pieces would otherwise be copied once for each.
            pages.iter_mut().flatten().for_each(|text| text.push_str(more));
            continue;
        }
        let more = piece.texts();
        pages =
            pages.iter().flat_map(|page| more.iter().map(move |choices| with_each(page, choices))).collect();
    }
    let mut seen = HashSet::new();
    pages.retain(|addresses| seen.insert(addresses.clone()));
    pages.iter().map(|addresses| page_of(addresses)).collect()
}

/// Every address of a page with every choice behind it.
fn with_each(addresses: &[String], choices: &[String]) -> Vec<String> {
    addresses.iter().flat_map(|text| choices.iter().map(move |more| format!("{text}{more}"))).collect()
}

/// A page that may be had from any of these addresses.
fn page_of(addresses: &[String]) -> Result<WebPage> {
    let mut pages = addresses.iter().map(|text| WebPage::new(text)).collect::<Result<Vec<_>>>()?.into_iter();
    let first = pages.next().ok_or_else(|| SourceError::bad_arguments("url() was given no address"))?;
    Ok(WebPage { instead: pages.collect(), ..first })
}

enum Piece<'a> {
    Literal(&'a str),
    Alternatives(Vec<&'a str>),
    Numbers { first: u64, last: u64, width: usize },
}

impl Piece<'_> {
    fn count(&self) -> u64 {
        match self {
            Piece::Literal(_) => 1,
            Piece::Alternatives(all) => {
                let choices = all.iter().map(|text| text.split('|').count()).sum::<usize>();
                u64_of(choices)
            }
            Piece::Numbers { first, last, .. } => first.abs_diff(*last).saturating_add(1),
        }
    }

    /// Of each page the choices between its addresses.
    fn texts(&self) -> Vec<Vec<String>> {
        match self {
            Piece::Literal(text) => vec![vec![(*text).to_owned()]],
            Piece::Alternatives(all) => {
                all.iter().map(|text| text.split('|').map(str::to_owned).collect()).collect()
            }
            Piece::Numbers { first, last, width } => {
                let numbers = (*first.min(last)..=*first.max(last)).map(|n| vec![format!("{n:0width$}")]);
                if first > last { numbers.rev().collect() } else { numbers.collect() }
            }
        }
    }
}

fn pieces(text: &str) -> Option<Vec<Piece<'_>>> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while let Some(open) = rest.find('{') {
        let close = open + rest[open..].find('}')?;
        let body = &rest[open + 1..close];
        if body.contains('{') || rest[..open].contains('}') {
            return None;
        }
        pieces.push(Piece::Literal(&rest[..open]));
        pieces.push(numbers(body).unwrap_or_else(|| Piece::Alternatives(body.split(',').collect())));
        rest = &rest[close + 1..];
    }
    if rest.contains('}') {
        return None;
    }
    pieces.push(Piece::Literal(rest));
    Some(pieces)
}

fn numbers(body: &str) -> Option<Piece<'_>> {
    let (first, last) = body.split_once("..")?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !is_number(first) || !is_number(last) {
        return None;
    }
    let is_padded = [first, last].iter().any(|text| text.len() > 1 && text.starts_with('0'));
    let width = if is_padded { first.len().max(last.len()) } else { 0 };
    Some(Piece::Numbers { first: first.parse().ok()?, last: last.parse().ok()?, width })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(page: &WebPage) -> String {
        let instead = page.instead.iter().map(|other| format!("|{}", other.url));
        std::iter::once(page.url.to_string()).chain(instead).collect()
    }

    fn shown(text: &str) -> String {
        match web_pages(text, 1000) {
            Ok(pages) => pages.iter().map(addresses).collect::<Vec<_>>().join(" "),
            Err(error) => format!("{} {error}", error.code()),
        }
    }

    #[test]
    fn braces_are_pages() {
        for (text, expected) in [
            ("http://h/a.csv", "http://h/a.csv"),
            ("http://h/{b,a,b}.csv", "http://h/b.csv http://h/a.csv"),
            ("http://h/{1..3}", "http://h/1 http://h/2 http://h/3"),
            ("http://h/{3..1}", "http://h/3 http://h/2 http://h/1"),
            ("http://h/{08..10}", "http://h/08 http://h/09 http://h/10"),
            (
                "http://{x,y}:81/{1..2}?q=*",
                "http://x:81/1?q=* http://x:81/2?q=* http://y:81/1?q=* http://y:81/2?q=*",
            ),
            ("http://h/?a=1&b=2", "http://h/?a=1&b=2"),
            ("http://{x|y}/a", "http://x/a|http://y/a"),
            ("http://{x|y}/{a|b,c}", "http://x/a|http://x/b|http://y/a|http://y/b http://x/c|http://y/c"),
            ("http://h:{81|82}/{1..2}", "http://h:81/1|http://h:82/1 http://h:81/2|http://h:82/2"),
            ("http://h/a|b", "http://h/a|b"),
        ] {
            assert_eq!(shown(text), expected);
        }
    }

    #[test]
    fn what_is_no_page_is_said() {
        for (text, words) in [
            (
                "http://h/{0..10000}{0..10000}",
                "36 the braces of URL \"http://h/{0..10000}{0..10000}\" stand for 100020001",
            ),
            ("http://h/{1..1001}", "glob_expansion_max_elements = 1000"),
            ("http://h/{0..18446744073709551615}{0..18446744073709551615}", "more than"),
            ("http://h/{a", "partner"),
            ("http://h/a}", "partner"),
            ("http://h/{a,{b,c}}", "partner"),
            ("http://h/{a|*}", "not listed"),
            ("http://h/{1..600}{a|b}", "stand for 1200"),
            ("http://h/*.csv", "not listed"),
            ("ftp://h/x", "ftp"),
            ("h/x", "cannot be read"),
            ("http://", "cannot be read"),
        ] {
            assert!(shown(text).contains(words), "{text}: {}", shown(text));
        }
    }

    #[test]
    fn what_is_shown_opens_no_door() {
        let page = WebPage::new("https://u:s3cr3t@h/a/b%20c.csv?sig=s3cr3t").unwrap();
        assert_eq!(format!("{page:?}"), "https://[HIDDEN]@h/a/b%20c.csv");
        assert_eq!((page.path.as_str(), page.file.as_str()), ("/a/b%20c.csv", "b%20c.csv"));
        assert!(!shown("https://u:s3cr3t@h/{1..2000}{a|b}?sig=s3cr3t").contains("s3cr3t"));
    }
}
