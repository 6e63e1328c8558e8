//! More about hosts, and URLs as hierarchies.
//!
//! Invariant: a second level (`co.uk`, `com.tr`) counts as part of its top level where ClickHouse takes it for one.
//! `second_levels.tsv` has a line for each top level, with all such words of two and three letters and the usual longer ones.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use arrow::array::{ArrayRef, StringViewBuilder};
use arrow::datatypes::UInt16Type;
use model::ColumnType;

use super::url::{after_scheme, domain, is_foreign, part, without_www};
use crate::columns::container::{list_of, offsets_of};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::takes_text;

/// Second levels in order, by top level.
static SECOND_LEVELS: LazyLock<BTreeMap<&'static str, Vec<&'static str>>> = LazyLock::new(|| {
    let lines = include_str!("second_levels.tsv").lines().filter_map(|line| line.split_once('\t'));
    lines.map(|(top, words)| (top, words.split(' ').collect())).collect()
});

fn is_second_level(word: &str, top: &str) -> bool {
    SECOND_LEVELS.get(top).is_some_and(|words| words.binary_search(&word).is_ok())
}

/// From the host's user on, with port.
fn authority(url: &str) -> &str {
    let rest = after_scheme(url).unwrap_or("");
    &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())]
}

/// The host as RFC 3986 reads it: a password does not hide it.
fn domain_rfc(url: &str) -> &str {
    let authority = authority(url);
    let host = authority.split_once('@').map_or(authority, |(_, host)| host);
    let is_part = |c: char| {
        !c.is_ascii_whitespace() && !matches!(c, '@' | '<' | '>' | '{' | '}' | '|' | '\\' | '^' | '~')
    };
    if !host.chars().all(is_part) {
        return "";
    }
    if let Some(address) = host.strip_prefix('[') {
        // An IPv6 address is in brackets, which are no part of it.
        return address.split_once(']').map_or("", |(address, _)| address);
    }
    let host = &host[..host.rfind(':').unwrap_or(host.len())];
    if host.contains('.') && !host.bytes().any(is_foreign) { host } else { "" }
}

fn top_level(host: &str) -> &str {
    let last = host.rsplit_once('.').map_or("", |(_, last)| last);
    if last.starts_with(|c: char| c.is_ascii_digit()) { "" } else { last }
}

/// Where the significant label starts and ends in a host.
fn significant(host: &str) -> Option<(usize, usize)> {
    let top = host.rfind('.')?;
    let second = host[..top].rfind('.').map_or(0, |at| at + 1);
    if second == 0 || !is_second_level(&host[second..top], &host[top + 1..]) {
        return Some((second, top));
    }
    let third = host[..second - 1].rfind('.').map_or(0, |at| at + 1);
    Some((third, second - 1))
}

fn first_significant(url: &str) -> &str {
    let host = without_www(domain(url));
    significant(host).map_or(host, |(start, end)| &host[start..end])
}

/// From the significant label on; nothing where that one is empty.
fn cut_to(host: &str) -> &str {
    match significant(host) {
        Some((start, end)) if start == end => "",
        Some((start, _)) => &host[start..],
        None => host,
    }
}

/// What ends a level.
const SEPARATORS: [char; 3] = ['/', '?', '#'];

/// Where the level ends that starts there: after its separator.
fn level_end(url: &str, from: usize) -> usize {
    url[from..].find(SEPARATORS).map_or(url.len(), |at| from + at + 1)
}

/// The URL up to each of its separators behind a place; several in a row are one.
fn levels(url: &str, from: usize) -> Vec<&str> {
    let mut out = Vec::new();
    let mut end = from;
    while let Some(word) = url[end..].find(|c| !SEPARATORS.contains(&c)) {
        end = level_end(url, end + word);
        out.push(&url[..end]);
    }
    out
}

/// Where the host starts; only URLs with a scheme, `://` and more have levels.
fn host_start(url: &str) -> Option<usize> {
    let scheme = url.find(|c: char| !c.is_ascii_alphanumeric())?;
    let rest = url[scheme..].strip_prefix("://")?;
    (scheme > 0 && !rest.is_empty()).then_some(scheme + 3)
}

fn hierarchy(url: &str) -> Vec<&str> {
    let host = host_start(url).map_or(url.len(), |start| level_end(url, start));
    let mut out = levels(url, host);
    if !url.is_empty() {
        out.insert(0, &url[..host]);
    }
    out
}

fn path_hierarchy(url: &str) -> Vec<&str> {
    let path = host_start(url).and_then(|start| url[start..].find(SEPARATORS).map(|at| &url[start + at..]));
    path.map_or_else(Vec::new, |path| levels(path, 1))
}

fn listed(name: &'static str, list: fn(&str) -> Vec<&str>) -> ScalarFunction {
    let texts = ColumnType::Array(Box::new(ColumnType::String));
    ScalarFunction::new(
        name,
        1..=1,
        takes_text(name, 1, texts),
        move |call: &Call<'_>| -> Result<ArrayRef, FunctionError> {
            let urls = call.texts(0)?;
            let mut builder = StringViewBuilder::new();
            let mut lengths = Vec::with_capacity(call.rows);
            for row in 0..call.rows {
                let levels = if call.is_null(row) { Vec::new() } else { list(urls.get(row)) };
                levels.iter().for_each(|level| builder.append_value(level));
                lengths.push(levels.len());
            }
            Ok(list_of(
                &ColumnType::String,
                offsets_of(lengths),
                std::sync::Arc::new(builder.finish()),
                None,
            )?)
        },
    )
}

/// The URL without the first parameter of a name, in the query or in the fragment.
fn without_parameter(url: &str, name: &str) -> String {
    let mut from = url.find(['?', '#']).map_or(url.len(), |at| at + 1);
    while from < url.len() {
        let end = url[from..].find(['&', '?', '#']).map_or(url.len(), |at| from + at);
        if url[from..end].split('=').next() == Some(name) && url[from..end].contains('=') {
            // The last one takes the & before it along.
            let before = if url[..from].ends_with('&') { from - 1 } else { from };
            let (start, end) = if url[end..].starts_with('&') { (from, end + 1) } else { (before, end) };
            return format!("{}{}", &url[..start], &url[end..]);
        }
        from = end + 1;
    }
    url.to_owned()
}

fn cut_parameter_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let names = &args[1].column_type;
    let fits = match names {
        ColumnType::Array(element) => element.is_string(),
        other => other.is_string(),
    };
    match (args[0].column_type.is_string(), fits) {
        (true, true) => Ok(ColumnType::String),
        (false, _) => Err(FunctionError::illegal_type(&args[0].column_type, "cutURLParameter")),
        _ => Err(FunctionError::illegal_type(names, "cutURLParameter")),
    }
}

fn cut_parameter(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let urls = call.texts(0)?;
    if let ColumnType::Array(_) = call.arg(1)?.column_type {
        let lists = call.lists(1)?;
        let names = call.caster(crate::cast::CastMode::Strict).to_text(lists.values(), &lists.element);
        return call.each_text(|row, out| {
            let cut = |url: String, at: usize| without_parameter(&url, names.value(at));
            out.push_str(&lists.range(row).fold(urls.get(row).to_owned(), cut));
            Ok(())
        });
    }
    let names = call.texts(1)?;
    call.each_text(|row, out| {
        out.push_str(&without_parameter(urls.get(row), names.get(row)));
        Ok(())
    })
}

fn significant_functions() -> Vec<ScalarFunction> {
    vec![
        part("firstSignificantSubdomain", first_significant).doc(
            "firstSignificantSubdomain(url)",
            "The label before the top level.",
            "firstSignificantSubdomain('https://news.example.com/') -> 'example'",
        ),
        part("firstSignificantSubdomainRFC", |url| {
            let host = without_www(domain_rfc(url));
            significant(host).map_or(host, |(start, end)| &host[start..end])
        })
        .doc(
            "firstSignificantSubdomainRFC(url)",
            "As firstSignificantSubdomain, hosts by RFC 3986.",
            "firstSignificantSubdomainRFC('http://a:b@news.example.com/') -> 'example'",
        ),
        part("cutToFirstSignificantSubdomain", |url| cut_to(without_www(domain(url)))).doc(
            "cutToFirstSignificantSubdomain(url)",
            "The host from its significant label on.",
            "cutToFirstSignificantSubdomain('https://news.example.com.tr/') -> 'example.com.tr'",
        ),
        part("cutToFirstSignificantSubdomainWithWWW", |url| {
            let host = domain(url);
            if host.starts_with("www.") && host.matches('.').count() == 1 { host } else { cut_to(host) }
        })
        .doc(
            "cutToFirstSignificantSubdomainWithWWW(url)",
            "As cutToFirstSignificantSubdomain, www. being a label.",
            "cutToFirstSignificantSubdomainWithWWW('https://www.example.com/') -> 'example.com'",
        ),
        part("cutToFirstSignificantSubdomainRFC", |url| cut_to(without_www(domain_rfc(url)))).doc(
            "cutToFirstSignificantSubdomainRFC(url)",
            "As cutToFirstSignificantSubdomain, hosts by RFC 3986.",
            "cutToFirstSignificantSubdomainRFC('http://a:b@news.example.com/') -> 'example.com'",
        ),
    ]
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let mut out = significant_functions();
    out.extend([
        part("netloc", authority).doc(
            "netloc(url)",
            "User, host and port.",
            "netloc('http://a@www.b.c:80/') -> 'a@www.b.c:80'",
        ),
        part("domainRFC", domain_rfc).doc(
            "domainRFC(url)",
            "The host by RFC 3986.",
            "domainRFC('http://user:password@example.com:8080/') -> 'example.com'",
        ),
        part("domainWithoutWWWRFC", |url| without_www(domain_rfc(url))).doc(
            "domainWithoutWWWRFC(url)",
            "The host by RFC 3986 without www.",
            "domainWithoutWWWRFC('http://a:b@www.example.com/') -> 'example.com'",
        ),
        part("topLevelDomainRFC", |url| top_level(domain_rfc(url))).doc(
            "topLevelDomainRFC(url)",
            "The last label of the host by RFC 3986.",
            "topLevelDomainRFC('http://a:b@foo.com') -> 'com'",
        ),
        ScalarFunction::new("portRFC", 1..=2, takes_text("portRFC", 1, ColumnType::UInt16), |call| {
            let urls = call.texts(0)?;
            let fallback = if call.args.len() > 1 { call.ints(1)?.get(0) } else { 0 };
            call.each::<UInt16Type>(|row| {
                let host = authority(urls.get(row))
                    .rsplit_once('@')
                    .map_or(authority(urls.get(row)), |(_, host)| host);
                let found = host.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
                Ok(found.unwrap_or_else(|| u16::try_from(fallback).unwrap_or(0)))
            })
        })
        .doc(
            "portRFC(url[, default])",
            "The port by RFC 3986.",
            "portRFC('http://a:b@c.d:80/') -> 80",
        ),
        listed("URLHierarchy", hierarchy).doc(
            "URLHierarchy(url)",
            "The URL up to each of its separators.",
            "URLHierarchy('http://a.b/c') -> ['http://a.b/','http://a.b/c']",
        ),
        listed("URLPathHierarchy", path_hierarchy).doc(
            "URLPathHierarchy(url)",
            "The path up to each of its separators.",
            "URLPathHierarchy('http://a.b/c/d') -> ['/c/','/c/d']",
        ),
        ScalarFunction::new("cutURLParameter", 2..=2, cut_parameter_type, cut_parameter).doc(
            "cutURLParameter(url, name or names)",
            "The URL without parameters of these names.",
            "cutURLParameter('http://a.b/?x=1&y=2', 'x') -> 'http://a.b/?y=2'",
        ),
        form("decodeURLFormComponent", |text| text.replace('+', " ")).doc(
            "decodeURLFormComponent(text)",
            "As decodeURLComponent; + is a blank.",
            "decodeURLFormComponent('a+b') -> 'a b'",
        ),
    ]);
    out
}

/// Text changed before percent escapes are read.
fn form(name: &'static str, change: fn(&str) -> String) -> ScalarFunction {
    ScalarFunction::new(name, 1..=1, takes_text(name, 1, ColumnType::String), move |call| {
        let texts = call.texts(0)?;
        call.each_text(|row, out| {
            out.push_str(&super::encode::percent_decoded(&change(texts.get(row))));
            Ok(())
        })
    })
}
