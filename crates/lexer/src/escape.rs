//! Escapes of ClickHouse string literals and quoted names, both directions.
//!
//! Invariant: `unescape(&escape(s), quote) == s`.

use model::raw_text;

/// Reads the inside of a quoted literal: backslash sequences and doubled quotes.
///
/// An unknown sequence keeps its backslash, as ClickHouse does, so that `'\%'` still means a literal `%` to LIKE.
pub fn unescape(raw: &str, quote: char) -> String {
    if !raw.contains(['\\', quote]) {
        return raw.to_owned();
    }
    let mut out = String::with_capacity(raw.len());
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        if c == quote && chars.peek() == Some(&quote) {
            chars.next();
            out.push(quote);
        } else if c == '\\' {
            escaped(&mut chars, &mut out);
        } else {
            out.push(c);
        }
    }
    // Bytes that are characters together were read one by one.
    if raw.contains("\\x") { raw_text::text(&raw_text::bytes(&out)) } else { out }
}

fn escaped(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    let Some(c) = chars.next() else {
        out.push('\\');
        return;
    };
    match c {
        'b' => out.push('\u{8}'),
        'f' => out.push('\u{c}'),
        'r' => out.push('\r'),
        'n' => out.push('\n'),
        't' => out.push('\t'),
        '0' => out.push('\0'),
        'a' => out.push('\u{7}'),
        'v' => out.push('\u{b}'),
        'e' => out.push('\u{1b}'),
        'N' => {}
        'x' => {
            let digits: String = chars.clone().take(2).collect();
            match u8::from_str_radix(&digits, 16) {
                Ok(byte) if digits.len() == 2 => {
                    chars.next();
                    chars.next();
                    raw_text::push(&[byte], out);
                }
                _ => out.push_str("\\x"),
            }
        }
        '\\' | '\'' | '"' | '`' | '/' | '=' => out.push(c),
        other => {
            out.push('\\');
            out.push(other);
        }
    }
}

/// The text of bytes that are written in digits, as `x'3031'` and `b'00110000'` are: 16 to a digit or 2. The first byte
/// may have fewer digits.
pub fn bytes_in_digits(digits: &str, radix: u32) -> Option<String> {
    let each = if radix == 2 { 8 } else { 2 };
    let byte = |chunk: &[u8]| {
        let chunk = std::str::from_utf8(chunk).ok().filter(|chunk| !chunk.starts_with('+'))?;
        u8::from_str_radix(chunk, radix).ok()
    };
    let bytes = digits.as_bytes().rchunks(each).rev().map(byte).collect::<Option<Vec<u8>>>()?;
    Some(raw_text::text(&bytes))
}

/// The text as a single-quoted literal, as ClickHouse prints it.
pub fn quote_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    push_escaped(text, '\'', &mut out);
    out.push('\'');
    out
}

/// The value of a literal with its quotes; text without them is taken as it is.
pub fn unquote_text(literal: &str) -> String {
    match literal.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        Some(inside) => unescape(inside, '\''),
        None => literal.to_owned(),
    }
}

/// The name as it must be written in a query: bare when it can be, else in backticks.
pub fn quote_name(name: &str) -> String {
    let plain_start = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let plain = plain_start && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if plain && !NEEDS_QUOTES.iter().any(|word| word.eq_ignore_ascii_case(name)) {
        return name.to_owned();
    }
    always_quote_name(name)
}

/// The name in backticks, as column names stand in SHOW CREATE TABLE. Backticks in it are doubled, and nothing else is
/// changed: names are read so.
pub fn always_quote_name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Bare words that would read as something else: those that ClickHouse quotes, and a few that it reads.
const NEEDS_QUOTES: &[&str] = &[
    "all", "distinct", "false", "from", "inf", "infinity", "nan", "null", "select", "some", "table", "top",
    "true", "values", "as", "exists", "with",
];

fn push_escaped(text: &str, quote: char, out: &mut String) {
    for c in text.chars() {
        match c {
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\0' => out.push_str("\\0"),
            '\\' => out.push_str("\\\\"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_read_as_clickhouse_reads_them() {
        let check = |raw: &str, expected: &str| assert_eq!(unescape(raw, '\''), expected, "{raw}");
        check("it''s", "it's");
        check(r"a\nb\\c\'d", "a\nb\\c'd");
        check(r"100\%", r"100\%");
        check(r"\x41\e", "A\u{1b}");
        check(r"\x4", r"\x4");
        check("\\", "\\");
    }

    #[test]
    fn what_is_printed_is_read_back() {
        for text in ["", "a", "it's", "a\\b", "\n\t\0", "ä%"] {
            let quoted = quote_text(text);
            assert_eq!(unescape(&quoted[1..quoted.len() - 1], '\''), text);
            assert_eq!(unquote_text(&quoted), text);
        }
        assert_eq!(quote_name("a b"), "`a b`");
        assert_eq!(quote_name("a_1"), "a_1");
    }
}
