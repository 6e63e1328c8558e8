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

/// `https` of `https://host/`.
fn protocol(url: &str) -> &str {
    let end = url.find(':').unwrap_or(0);
    let word = &url[..end];
    let is_word = !word.is_empty()
        && word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    if is_word { word } else { "" }
}

/// What follows `//`, from the host on; `None` where the text starts with no host.
pub(super) fn after_scheme(url: &str) -> Option<&str> {
    if let Some(rest) = url.strip_prefix("//") {
        return Some(rest);
    }
    let protocol = protocol(url);
    url[protocol.len()..].strip_prefix("://").or(Some(url))
}

/// The host without user and port.
pub(super) fn domain(url: &str) -> &str {
    let Some(rest) = after_scheme(url) else { return "" };
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    if user.contains(':') {
        // ClickHouse gives up on a password.
        return "";
    }
    let host = &host[..host.find(':').unwrap_or(host.len())];
    let fits = host.chars().all(|c| {
        !c.is_ascii_whitespace()
            && !matches!(c, '<' | '>' | '{' | '}' | '|' | '\\' | '^' | '~' | '[' | ']' | ';' | '=' | '&')
    });
    if fits && host.contains('.') { host } else { "" }
}

pub(super) fn without_www(host: &str) -> &str {
    host.strip_prefix("www.").unwrap_or(host)
}

fn top_level_domain(url: &str) -> &str {
    let host = domain(url);
    let last = host.rsplit('.').next().unwrap_or("");
    if last.starts_with(|c: char| c.is_ascii_digit()) || !host.contains('.') { "" } else { last }
}

/// From the slash after the host on.
fn path_full(url: &str) -> &str {
    let Some(rest) = after_scheme(url) else { return "" };
    match rest.find(['/', '?', '#']) {
        Some(at) if rest[at..].starts_with('/') => &rest[at..],
        _ => "",
    }
}

fn path(url: &str) -> &str {
    let full = path_full(url);
    &full[..full.find(['?', '#']).unwrap_or(full.len())]
}

fn query_string(url: &str) -> &str {
    let before_fragment = &url[..url.find('#').unwrap_or(url.len())];
    before_fragment.find('?').map_or("", |at| &before_fragment[at + 1..])
}

fn fragment(url: &str) -> &str {
    url.find('#').map_or("", |at| &url[at + 1..])
}

fn query_and_fragment(url: &str) -> &str {
    match url.find(['?', '#']) {
        Some(at) if url[at..].starts_with('?') => &url[at + 1..],
        Some(at) => &url[at..],
        None => "",
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

fn cut_www(url: &str, out: &mut String) {
    let host = domain(url);
    let at = host.as_ptr().addr().wrapping_sub(url.as_ptr().addr());
    if host.starts_with("www.") && !protocol(url).is_empty() {
        out.push_str(&url[..at]);
        out.push_str(&url[at + 4..]);
    } else {
        out.push_str(url);
    }
}

/// `name=value` pairs of the query and, as ClickHouse does, of the fragment; a name without a value counts where another
/// parameter follows.
fn parameters(url: &str) -> impl Iterator<Item = &str> {
    let start = url.find(['?', '#']).map_or(url.len(), |at| at + 1);
    let mut rest = &url[start..];
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let end = rest.find(['&', '?', '#']).unwrap_or(rest.len());
            let (pair, after) = rest.split_at(end);
            rest = after.get(1..).unwrap_or("");
            if pair.contains('=') || !pair.is_empty() && after.starts_with('&') {
                return Some(pair);
            }
        }
        None
    })
}

fn parameter<'a>(url: &'a str, name: &str) -> &'a str {
    let value = |pair: &'a str| pair.strip_prefix(name).and_then(|rest| rest.strip_prefix('='));
    if name.is_empty() { "" } else { parameters(url).find_map(value).unwrap_or("") }
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
