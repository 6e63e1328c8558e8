//! Parts of URLs, found by shape alone.
//!
//! Invariant: what a URL does not have is the empty text; nothing is an error.

use arrow::array::{ArrayRef, StringViewBuilder};
use model::ColumnType;

use crate::columns::container::{list_of, offsets_of};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::takes_text;

/// What a scheme and its `://` take at most, in bytes.
const SCHEME_BYTES_MAX: usize = 16;

/// `https` of `https://host/`, which is no more than a word, a colon and three bytes.
fn protocol(url: &str) -> &str {
    let end = url.find(':').unwrap_or(0);
    let word = &url[..end];
    let is_word = word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    if is_word && url.len() - end > 3 { word } else { "" }
}

/// What neither a scheme nor a host may have.
pub(super) fn is_foreign(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'<' | b'>' | b'%' | b'{' | b'}' | b'|' | b'\\' | b'^' | b'~')
        || matches!(byte, b'[' | b']' | b';' | b'=' | b'&')
}

/// What follows `//` or a scheme, from the host on; `None` where the text starts as no URL does.
pub(super) fn after_scheme(url: &str) -> Option<&str> {
    if let Some(rest) = url.strip_prefix("//") {
        return Some(rest);
    }
    let bytes = url.as_bytes();
    let end = bytes.len().min(SCHEME_BYTES_MAX);
    let is_of_scheme = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+');
    // ClickHouse does not look at the first byte.
    match (1..end).find(|at| !is_of_scheme(bytes[*at])) {
        Some(at) if is_foreign(bytes[at]) => None,
        Some(at) if bytes[at..end].starts_with(b"://") => Some(&url[at + 3..]),
        _ => Some(url),
    }
}

/// The host without user and port. A dot of the user counts, and a colon ends it: a password hides the host.
pub(super) fn domain(url: &str) -> &str {
    let Some(rest) = after_scheme(url) else { return "" };
    let (mut start, mut end, mut dot) = (0, rest.len(), None);
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            b'.' => dot = Some(at),
            b'@' => start = at + 1,
            b':' | b'/' | b'?' | b'#' => {
                end = at;
                break;
            }
            byte if is_foreign(byte) => return "",
            _ => {}
        }
    }
    match dot {
        Some(dot) if start < end && dot + 1 < end => &rest[start..end],
        _ => "",
    }
}

pub(super) fn without_www(host: &str) -> &str {
    host.strip_prefix("www.").unwrap_or(host)
}

fn top_level_domain(url: &str) -> &str {
    let host = domain(url);
    let last = host.rsplit('.').next().unwrap_or("");
    if last.starts_with(|c: char| c.is_ascii_digit()) || !host.contains('.') { "" } else { last }
}

/// From the first slash on, or from the first one behind `//`.
fn path_full(url: &str) -> &str {
    let Some(slash) = url.find('/') else { return "" };
    match url[slash..].strip_prefix("//") {
        Some(rest) => rest.find('/').map_or("", |at| &rest[at..]),
        None => &url[slash..],
    }
}

fn path(url: &str) -> &str {
    let full = path_full(url);
    &full[..full.find(['?', '#']).unwrap_or(full.len())]
}

fn query_string(url: &str) -> &str {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    &query[..query.find('#').unwrap_or(query.len())]
}

fn fragment(url: &str) -> &str {
    url.find('#').map_or("", |at| &url[at + 1..])
}

fn query_and_fragment(url: &str) -> &str {
    match (url.split_once('?'), url.find('#')) {
        (Some((_, query)), _) => query,
        (None, Some(at)) => &url[at..],
        (None, None) => "",
    }
}

fn cut_query(url: &str, out: &mut String) {
    let Some(query) = url.find('?') else {
        out.push_str(url);
        return;
    };
    let fragment = url[query..].find('#').map_or(url.len(), |at| query + at);
    out.push_str(&url[..query]);
    out.push_str(&url[fragment..]);
}

/// Where the host starts, behind `//` or a word of letters, a colon and `//`, and behind a user.
fn www_start(url: &str) -> Option<usize> {
    let from = match url.starts_with("//") {
        true => 2,
        false => {
            let colon = protocol(url).len();
            url.get(colon + 1..)?.starts_with("//").then_some(colon + 3)?
        }
    };
    let authority = url[from..].split(['/', '?', '#']).next().unwrap_or("");
    // As there, a user with a password hides the host.
    let user = authority.rfind('@').filter(|at| !authority[..*at].contains(':'));
    Some(user.map_or(from, |at| from + at + 1))
}

fn cut_www(url: &str, out: &mut String) {
    match www_start(url) {
        Some(at) if url[at..].starts_with("www.") && url.len() > at + 4 => {
            out.push_str(&url[..at]);
            out.push_str(&url[at + 4..]);
        }
        _ => out.push_str(url),
    }
}

/// `name=value` pairs of the query and, as ClickHouse does, of the fragment; a name without a value counts where another
/// parameter follows. A value may have a `?`, as URLs in URLs do; in a name it starts another one.
fn parameters(url: &str) -> impl Iterator<Item = &str> {
    let start = url.find(['?', '#']).map_or(url.len(), |at| at + 1);
    let mut rest = &url[start..];
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let end = rest.find(['&', '#']).unwrap_or(rest.len());
            let (pair, after) = rest.split_at(end);
            rest = after.get(1..).unwrap_or("");
            let name = &pair[..pair.find('=').unwrap_or(pair.len())];
            if name.len() < pair.len() || !after.is_empty() {
                return Some(&pair[name.rfind('?').map_or(0, |at| at + 1)..]);
            }
        }
        None
    })
}

/// The value behind `name=` at the start of the query or fragment or after `?`, `&` or `#`.
fn parameter<'a>(url: &'a str, name: &str) -> &'a str {
    const BEFORE_NAMES: [char; 3] = ['?', '&', '#'];
    let mut rest = url.find(['?', '#']).map_or("", |at| &url[at..]);
    while let Some(at) = rest.find(BEFORE_NAMES).filter(|_| !name.is_empty()) {
        rest = &rest[at + 1..];
        if let Some(value) = rest.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')) {
            return &value[..value.find(['&', '#']).unwrap_or(value.len())];
        }
    }
    ""
}

pub(super) fn part(name: &'static str, part: fn(&str) -> &str) -> ScalarFunction {
    ScalarFunction::new(name, 1..=1, takes_text(name, 1, ColumnType::String), move |call| {
        let urls = call.texts(0)?;
        call.each_part(|row| part(urls.get(row)))
    })
}

fn written(name: &'static str, write: fn(&str, &mut String)) -> ScalarFunction {
    ScalarFunction::new(name, 1..=1, takes_text(name, 1, ColumnType::String), move |call| {
        let urls = call.texts(0)?;
        call.each_text(|row, out| {
            write(urls.get(row), out);
            Ok(())
        })
    })
}

/// Shorter URLs have too few parameters to ask for.
const LONG_BYTES: usize = 32 << 10;

/// A parameter has two bytes at least, and is a piece and a text of 16, in buffers that grow by doubling.
const PIECE_BYTES_PER_BYTE: usize = 32;

fn listed(name: &'static str, keep: fn(&str) -> &str) -> ScalarFunction {
    let list = ColumnType::Array(Box::new(ColumnType::String));
    ScalarFunction::new(name, 1..=1, takes_text(name, 1, list), move |call: &Call<'_>| {
        let urls = call.texts(0)?;
        let mut builder = StringViewBuilder::new();
        let mut lengths = Vec::with_capacity(call.rows);
        for row in 0..call.rows {
            if urls.get(row).len() > LONG_BYTES {
                call.reserve(urls.get(row).len().saturating_mul(PIECE_BYTES_PER_BYTE))?;
            }
            let pairs: Vec<&str> =
                if call.is_null(row) { Vec::new() } else { parameters(urls.get(row)).collect() };
            pairs.iter().for_each(|pair| builder.append_value(keep(pair)));
            lengths.push(pairs.len());
        }
        let values: ArrayRef = std::sync::Arc::new(builder.finish());
        Ok::<ArrayRef, FunctionError>(list_of(&ColumnType::String, offsets_of(lengths), values, None)?)
    })
}

/// The port in place of a missing one is a UInt16, as ports are.
fn port_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    match args.get(1).map(|arg| &arg.column_type) {
        Some(other) if *other != ColumnType::UInt16 => Err(FunctionError::illegal_type(other, "port")),
        _ => takes_text("port", 1, ColumnType::UInt16)(args),
    }
}

fn hosts() -> Vec<ScalarFunction> {
    vec![
        part("protocol", protocol).doc(
            "protocol(url)",
            "The scheme.",
            "protocol('https://a.b/c') -> 'https'",
        ),
        part("domain", domain).doc("domain(url)", "The host.", "domain('https://www.a.b:80/c') -> 'www.a.b'"),
        part("domainWithoutWWW", |url| without_www(domain(url))).doc(
            "domainWithoutWWW(url)",
            "The host without www.",
            "domainWithoutWWW('https://www.a.b/c') -> 'a.b'",
        ),
        part("topLevelDomain", top_level_domain).doc(
            "topLevelDomain(url)",
            "The last label of the host.",
            "topLevelDomain('https://a.org/') -> 'org'",
        ),
        written("cutWWW", cut_www).doc(
            "cutWWW(url)",
            "The URL without www.",
            "cutWWW('https://www.a.b/') -> 'https://a.b/'",
        ),
        ScalarFunction::new("port", 1..=2, port_type, |call| {
            let urls = call.texts(0)?;
            let fallback = if call.args.len() > 1 { call.ints(1)?.get(0) } else { 0 };
            call.each::<arrow::datatypes::UInt16Type>(|row| {
                if domain(urls.get(row)).is_empty() {
                    return Ok(u16::try_from(fallback).unwrap_or(0));
                }
                let rest = after_scheme(urls.get(row)).unwrap_or("");
                let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
                // As with the host, ClickHouse gives up on a password.
                let host = authority
                    .rsplit_once('@')
                    .map_or(Some(authority), |(user, host)| (!user.contains(':')).then_some(host));
                let found =
                    host.unwrap_or("").rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
                Ok(found.unwrap_or_else(|| u16::try_from(fallback).unwrap_or(0)))
            })
        })
        .doc("port(url[, default])", "The port.", "port('http://a.b:80/') -> 80"),
    ]
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let mut out = hosts();
    out.extend([
        part("path", path).doc("path(url)", "The path without the query.", "path('https://a.b/c?d') -> '/c'"),
        part("pathFull", path_full).doc(
            "pathFull(url)",
            "The path with query and fragment.",
            "pathFull('https://a.b/c?d') -> '/c?d'",
        ),
        part("queryString", query_string).doc(
            "queryString(url)",
            "The query.",
            "queryString('https://a.b/?c=1#d') -> 'c=1'",
        ),
        part("fragment", fragment).doc("fragment(url)", "The fragment.", "fragment('https://a.b/#d') -> 'd'"),
        part("queryStringAndFragment", query_and_fragment).doc(
            "queryStringAndFragment(url)",
            "Query and fragment.",
            "queryStringAndFragment('https://a.b/?c#d') -> 'c#d'",
        ),
        written("cutQueryString", cut_query).doc(
            "cutQueryString(url)",
            "The URL without its query.",
            "cutQueryString('https://a.b/?c#d') -> 'https://a.b/#d'",
        ),
        part("cutFragment", |url| &url[..url.find('#').unwrap_or(url.len())]).doc(
            "cutFragment(url)",
            "The URL without its fragment.",
            "cutFragment('https://a.b/#d') -> 'https://a.b/'",
        ),
        part("cutQueryStringAndFragment", |url| {
            &url[..url.find('?').or_else(|| url.find('#')).unwrap_or(url.len())]
        })
        .doc(
            "cutQueryStringAndFragment(url)",
            "The URL up to its query.",
            "cutQueryStringAndFragment('https://a.b/?c#d') -> 'https://a.b/'",
        ),
        ScalarFunction::new(
            "extractURLParameter",
            2..=2,
            takes_text("extractURLParameter", 2, ColumnType::String),
            |call| {
                let (urls, names) = (call.texts(0)?, call.texts(1)?);
                call.each_part(|row| parameter(urls.get(row), names.get(row)))
            },
        )
        .doc(
            "extractURLParameter(url, name)",
            "The value of a parameter.",
            "extractURLParameter('http://a/?b=1', 'b') -> '1'",
        ),
        listed("extractURLParameters", |pair| pair).doc(
            "extractURLParameters(url)",
            "All name=value pairs.",
            "extractURLParameters('http://a/?b=1&c=2') -> ['b=1','c=2']",
        ),
        listed("extractURLParameterNames", |pair| pair.split('=').next().unwrap_or("")).doc(
            "extractURLParameterNames(url)",
            "The names of all parameters.",
            "extractURLParameterNames('http://a/?b=1&c=2') -> ['b','c']",
        ),
    ]);
    out
}
