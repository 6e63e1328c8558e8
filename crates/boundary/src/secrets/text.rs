//! A statement's text before and beside parsing: parameters put in, secrets taken out.
//!
//! Invariant: text inside quotes and comments is never taken for syntax; a masked text never shows the secret part of a
//! source's arguments. Which part that is, `sources` says.

use std::ops::Range;

use model::ErrorCode;
use sources::schema::structure;
use sql::Lexeme;
use sql::lexer::values::quoted_end;
use stores::calls::arguments::{SeenArgument, Showing, showing};
use stores::codecs::compression::Compression;

use stores::calls::urls::masked_urls;

use crate::error::{Error, ErrorKind};

/// Stands where credentials stood.
pub const HIDDEN: &str = "'[HIDDEN]'";

/// The text as logs and process lists may show it: `s3('url', '[HIDDEN]', '[HIDDEN]')`. What may be a credential is
/// hidden, too.
pub fn masked(text: &str) -> String {
    masked_urls(&without(text, &doubtful_ranges(text)))
}

/// The texts that [`masked`] hides, as written and as they are read.
pub fn hidden_texts(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for range in doubtful_ranges(text) {
        for lexeme in sql::lexemes_at(&text[range]) {
            if lexeme.text.len() > 1 {
                found.push(lexeme.text.trim_matches(['\'', '"']).to_owned());
                found.push(sql::escape::unquote_text(lexeme.text));
            }
        }
    }
    found
}

/// Names of arguments and keys whose values are credentials wherever they stand.
const SECRET_NAMES: [&str; 9] = [
    "access_key_id",
    "secret_access_key",
    "session_token",
    "account_key",
    "sas_token",
    "connection_string",
    "client_secret",
    "refresh_token",
    "password",
];

/// Literals within literals that are searched; what is deeper is hidden whole.
const NESTED_MAX: usize = 16;

/// Where credentials stand or may stand: in calls, in named collections, behind telling names, in comments.
fn doubtful_ranges(text: &str) -> Vec<Range<usize>> {
    doubtful_at(text, 0)
}

/// The same for a text that lies in so many literals and comments. Every level is shorter than the one around it, and
/// there are few of them, so the work grows with the text and the stack does not.
fn doubtful_at(text: &str, depth: usize) -> Vec<Range<usize>> {
    if depth > NESTED_MAX {
        return std::iter::once(0..text.len()).collect();
    }
    let lexemes: Vec<Lexeme<'_>> = sql::lexemes_at(text).collect();
    let mut hidden = hidden_ranges(text, true);
    hidden.extend(collection_values(&lexemes));
    hidden.extend(users_of_servers(&lexemes));
    // A statement may be written inside a literal, as in conditions on logs.
    let tells = |lexeme: &&Lexeme<'_>| {
        lexeme.is_text
            && lexeme.text.contains(['(', '='])
            && !doubtful_at(&sql::escape::unquote_text(lexeme.text), depth + 1).is_empty()
    };
    hidden.extend(lexemes.iter().filter(tells).map(|lexeme| lexeme.start..lexeme.end));
    for at in 0..lexemes.len() {
        if let [name, equals, value, ..] = &lexemes[at..]
            && equals.text == "="
            && (name.is_name || name.is_text)
            && SECRET_NAMES.contains(&unquoted(name.text).to_ascii_lowercase().as_str())
            && is_literal(value)
        {
            hidden.push(value.start..value.end);
        }
    }
    let ends = std::iter::once(0).chain(lexemes.iter().map(|lexeme| lexeme.end));
    let starts = lexemes.iter().map(|lexeme| lexeme.start).chain(std::iter::once(text.len()));
    for (end, start) in ends.zip(starts) {
        hidden.extend(in_comment(text, end..start.max(end), depth));
    }
    joined(hidden)
}

/// What a comment between two lexemes would show: statements are commented out with their credentials.
///
/// All of its marks are blanked at once: what is left has no comments, and every byte stays where it was.
fn in_comment(text: &str, gap: Range<usize>, depth: usize) -> Vec<Range<usize>> {
    const MARKS: [&str; 4] = ["--", "/*", "*/", "#"];
    let mut inside = text[gap.clone()].to_owned();
    if !MARKS.iter().any(|mark| inside.contains(mark)) {
        return Vec::new();
    }
    for mark in MARKS {
        inside = inside.replace(mark, &" ".repeat(mark.len()));
    }
    let found = doubtful_at(&inside, depth + 1);
    found.into_iter().map(|range| range.start + gap.start..range.end + gap.start).collect()
}

/// The values of CREATE and ALTER NAMED COLLECTION, and every literal in it.
fn collection_values(lexemes: &[Lexeme<'_>]) -> Vec<Range<usize>> {
    let is = |lexeme: &Lexeme<'_>, word: &str| lexeme.text.eq_ignore_ascii_case(word);
    let collection = lexemes.windows(3).any(|words| {
        (is(&words[0], "CREATE") || is(&words[0], "ALTER"))
            && is(&words[1], "NAMED")
            && is(&words[2], "COLLECTION")
    });
    if !collection {
        return Vec::new();
    }
    let mut hidden = Vec::new();
    let mut in_value = false;
    for lexeme in lexemes {
        let ends = [",", "NOT", "OVERRIDABLE", "DELETE", ";"].iter().any(|word| is(lexeme, word));
        if ends {
            in_value = false;
        } else if in_value || is_literal(lexeme) {
            hidden.push(lexeme.start..lexeme.end);
        }
        in_value |= lexeme.text == "=";
    }
    hidden
}

/// What stands behind the table in `remote('host', db.t, 'user', 'password')`. Who leaves one of these calls goes on behind it,
/// so that a text is read once.
fn users_of_servers(lexemes: &[Lexeme<'_>]) -> Vec<Range<usize>> {
    let (mut hidden, mut at) = (Vec::new(), 0);
    while let Some(name) = lexemes.get(at) {
        at += 1;
        let is_call = name.is_name && lexemes.get(at).is_some_and(|next| next.text == "(");
        if !is_call
            || !["remote", "remoteSecure"].iter().any(|it| it.eq_ignore_ascii_case(unquoted(name.text)))
        {
            continue;
        }
        let (arguments, end) = arguments_from(lexemes, at + 1);
        // A database and a table, or both as one.
        let behind =
            if arguments.get(1).is_some_and(|second| text_of(second.value).is_some()) { 3 } else { 2 };
        let literals = arguments.iter().skip(behind).flat_map(|argument| argument.value);
        hidden.extend(literals.filter(|lexeme| is_literal(lexeme)).map(|lexeme| lexeme.start..lexeme.end));
        at = end;
    }
    hidden
}

/// In order, those that overlap or touch as one.
fn joined(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// The text as it is compared: only what is read as a credential is hidden, or two statements would be taken for one.
pub fn without_credentials(text: &str) -> String {
    without(text, &hidden_ranges(text, false))
}

fn without(text: &str, hidden: &[Range<usize>]) -> String {
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for range in hidden {
        out.push_str(&text[at..range.start]);
        out.push_str(HIDDEN);
        at = range.end;
    }
    out.push_str(&text[at..]);
    out
}

/// Where credentials stand, in order.
fn hidden_ranges(text: &str, in_doubt: bool) -> Vec<Range<usize>> {
    let lexemes: Vec<Lexeme<'_>> = sql::lexemes_at(text).collect();
    let (mut hidden, mut at) = (Vec::new(), 0);
    while let Some(name) = lexemes.get(at) {
        at += 1;
        let opens = name.is_name && lexemes.get(at).is_some_and(|next| next.text == "(");
        // Cheap, and almost every call ends here.
        if !opens || showing(unquoted(name.text), &[], false).is_none() {
            continue;
        }
        let (arguments, end) = arguments_from(&lexemes, at + 1);
        let seen: Vec<SeenArgument<'_>> =
            arguments.iter().map(|argument| (argument.name, text_of(argument.value))).collect();
        let shown = showing(unquoted(name.text), &seen, end < lexemes.len()).unwrap_or_default();
        for (argument, shown) in arguments.iter().zip(shown) {
            match (shown, argument.value) {
                (Showing::Credential, [first, .., last]) => hidden.push(first.start..last.end),
                (Showing::Credential, [only]) => hidden.push(only.start..only.end),
                // A heredoc, which lexemes do not know: all of the argument.
                (Showing::Unclear, value @ [first, .., last])
                    if in_doubt && value.iter().any(|lexeme| lexeme.text == "$") =>
                {
                    hidden.push(first.start..last.end);
                }
                (Showing::Unclear, value) if in_doubt => {
                    let secret =
                        value.iter().filter(|lexeme| is_literal(lexeme) && !is_harmless(lexeme.text));
                    hidden.extend(secret.map(|lexeme| lexeme.start..lexeme.end));
                }
                _ => {}
            }
        }
        at = end;
    }
    hidden
}

/// One argument of a call.
struct WrittenArgument<'a, 'b> {
    name: Option<&'a str>,
    value: &'b [Lexeme<'a>],
}

/// The arguments that begin at `from`, and where the closing parenthesis stands: behind the end if there is none.
fn arguments_from<'a, 'b>(lexemes: &'b [Lexeme<'a>], from: usize) -> (Vec<WrittenArgument<'a, 'b>>, usize) {
    let (mut arguments, mut start, mut depth, mut at) = (Vec::new(), from, 0_usize, from);
    while let Some(lexeme) = lexemes.get(at) {
        match lexeme.text {
            ")" if depth == 0 => break,
            "," if depth == 0 => {
                arguments.push(argument(&lexemes[start..at]));
                start = at + 1;
            }
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    arguments.push(argument(lexemes.get(start..at).unwrap_or_default()));
    (arguments, at)
}

fn argument<'a, 'b>(lexemes: &'b [Lexeme<'a>]) -> WrittenArgument<'a, 'b> {
    match lexemes {
        [name, equals, value @ ..] if (name.is_name || name.is_text) && equals.text == "=" => {
            WrittenArgument { name: Some(unquoted(name.text)), value }
        }
        value => WrittenArgument { name: None, value },
    }
}

/// The text of a value that is one literal, word or number, in parentheses or not.
fn text_of<'a>(mut value: &[Lexeme<'a>]) -> Option<&'a str> {
    while let [open, inside @ .., close] = value
        && open.text == "("
        && close.text == ")"
    {
        value = inside;
    }
    match value {
        [only] => Some(unquoted(only.text)),
        _ => None,
    }
}

fn unquoted(text: &str) -> &str {
    let inside = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    ['\'', '"', '`'].into_iter().find_map(inside).unwrap_or(text)
}

/// A text, a name in double quotes, which sources take for one, or something that is not closed.
fn is_literal(lexeme: &Lexeme<'_>) -> bool {
    lexeme.is_text || lexeme.text.starts_with(['\'', '"']) || lexeme.text.contains("/*")
}

/// Formats, compressions and structures help to read a log and are no secrets.
fn is_harmless(quoted: &str) -> bool {
    let inside = unquoted(quoted);
    inside.eq_ignore_ascii_case("auto")
        || formats::FormatKind::parse(inside).is_some()
        || Compression::by_name(inside).is_ok()
        || structure::parse(&sql::escape::unquote_text(quoted)).is_ok()
        || structure::parse(inside).is_ok()
}

/// Puts the values of `{name:Type}` into a statement, as typed literals.
pub fn with_parameters(text: &str, params: &[(String, String)]) -> Result<String, Error> {
    if params.is_empty() {
        return Ok(text.to_owned());
    }
    let mut out = String::with_capacity(text.len());
    let (mut copied, mut at) = (0, 0);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        if let Some(end) = passed_over(text, at) {
            at = end;
            continue;
        }
        let asked = if bytes[at] == b'{' { parameter_at(text, at) } else { None };
        // One that is not given a view may leave to those who read from it; elsewhere the planner asks for it.
        let given = asked.as_ref().and_then(|asked| params.iter().find(|(name, _)| name == asked.name));
        match (asked, given) {
            (Some(asked), Some((name, value))) => {
                out.push_str(&text[copied..at]);
                out.push_str(&value_of_parameter(name, value, asked.type_name)?);
                (copied, at) = (asked.end, asked.end);
            }
            _ => at += 1,
        }
    }
    out.push_str(&text[copied..]);
    Ok(out)
}

/// Where the literal or the comment ends that begins at `at`.
fn passed_over(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    match rest.as_bytes() {
        [b'\'' | b'"' | b'`', ..] => Some(quoted_end(text.as_bytes(), at)),
        [b'-', b'-', ..] | [b'/', b'/', ..] => Some(at + rest.find('\n').unwrap_or(rest.len())),
        [b'/', b'*', ..] => Some(at + rest.find("*/").map_or(rest.len(), |length| length + 2)),
        _ => None,
    }
}

/// `{name:Type}` in a text.
struct AskedParameter<'a> {
    name: &'a str,
    type_name: &'a str,
    /// Behind the brace that closes it.
    end: usize,
}

/// The parameter whose brace opens at `open`. Its type may have literals: `DateTime('UTC')`.
fn parameter_at(text: &str, open: usize) -> Option<AskedParameter<'_>> {
    let inside = &text[open + 1..];
    let colon = open + 1 + inside.find(|c: char| !is_of_name(c) && !c.is_whitespace())?;
    let name = text[open + 1..colon].trim();
    if !text[colon..].starts_with(':') || name.is_empty() || !name.chars().all(is_of_name) {
        return None;
    }
    let (bytes, mut at) = (text.as_bytes(), colon + 1);
    while at < bytes.len() {
        match bytes[at] {
            b'\'' | b'"' | b'`' => at = quoted_end(bytes, at),
            b'}' => {
                return Some(AskedParameter { name, type_name: text[colon + 1..at].trim(), end: at + 1 });
            }
            b'{' => return None,
            _ => at += 1,
        }
    }
    None
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// What stands for a parameter. Texts come as in TabSeparated, `\N` is NULL, and an `Identifier` is a name.
fn value_of_parameter(name: &str, value: &str, type_name: &str) -> Result<String, Error> {
    if type_name == "Identifier" {
        return Ok(sql::escape::always_quote_name(value));
    }
    let inner = type_name.strip_prefix("Nullable(").unwrap_or(type_name).trim_start();
    if value == "\\N" && inner != type_name {
        return Ok(format!("CAST(NULL, {})", sql::escape::quote_text(type_name)));
    }
    let is_text =
        ["String", "FixedString", "LowCardinality(String", "Enum"].iter().any(|t| inner.starts_with(t));
    if is_text && value.contains(['\t', '\n']) {
        let message = format!("value of parameter \"{name}\" has a bare tab or line end");
        return Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_QUERY_PARAMETER, message)
            .with_hint("write \\t or \\n"));
    }
    let literal = if is_text { literal_of_escaped(value) } else { sql::escape::quote_text(value) };
    if type_name == "String" {
        // Bare, so that it is a constant wherever one is needed: a time zone, a format.
        return Ok(literal);
    }
    Ok(format!("CAST({literal}, {})", sql::escape::quote_text(type_name)))
}

/// A text that has its escapes already, between quotes.
fn literal_of_escaped(value: &str) -> String {
    let (mut literal, mut chars) = (String::from("'"), value.chars());
    while let Some(c) = chars.next() {
        match c {
            '\'' => literal.push_str("\\'"),
            '\\' => {
                literal.push('\\');
                literal.push(chars.next().unwrap_or('\\'));
            }
            other => literal.push(other),
        }
    }
    literal.push('\'');
    literal
}

#[cfg(test)]
mod tests;
