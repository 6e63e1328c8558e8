//! What stands behind the `?` of a URL: names and values, in their order.
//!
//! Invariant: text that is not percent-encoded UTF-8 is an error, never repaired. Must not know: what the names mean.

use engine::{Error, ErrorCode, ErrorKind};
use percent_encoding::percent_decode_str;

/// Names and values, as they were written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Reads the query part of a URL.
    pub(crate) fn parse(query: &str) -> Result<Parameters, Error> {
        let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decoded(name)?, decoded(value)?))
        });
        Ok(Parameters(pairs.collect::<Result<_, Error>>()?))
    }

    /// Adds one behind the others.
    pub(crate) fn push(&mut self, name: String, value: String) {
        self.0.push((name, value));
    }

    /// The last value of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The last value of a name, which is not among the others any more.
    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        let value = self.get(name)?.to_owned();
        self.0.retain(|(known, _)| known != name);
        Some(value)
    }

    /// Whether a name says yes.
    ///
    /// # Errors
    /// It says neither yes nor no.
    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, Error> {
        match self.get(name) {
            None => Ok(None),
            Some("1" | "true") => Ok(Some(true)),
            Some("0" | "false" | "") => Ok(Some(false)),
            Some(other) => Err(bad(format!("parameter \"{name}\" is 0 or 1, not \"{other}\""))),
        }
    }

    /// The number a name says.
    ///
    /// # Errors
    /// It says none.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, Error> {
        let Some(text) = self.get(name).filter(|text| !text.is_empty()) else { return Ok(None) };
        match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(bad(format!("parameter \"{name}\" is a whole number, not \"{text}\""))),
        }
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

fn bad(message: String) -> Error {
    Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message)
}

/// The library lets broken escapes stand; here they are looked for first.
fn decoded(text: &str) -> Result<String, Error> {
    for (at, _) in text.match_indices('%') {
        match text.as_bytes()[at + 1..] {
            [high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {}
            [high, low, ..] => {
                let shown = [high, low].escape_ascii().to_string();
                return Err(bad(format!("the URL has \"%{shown}\", which is no byte")));
            }
            _ => return Err(bad("the URL ends inside a %".to_owned())),
        }
    }
    let text = text.replace('+', " ");
    let decoded = percent_decode_str(&text).decode_utf8().map(String::from);
    decoded.map_err(|_| bad("the URL is not UTF-8".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_decoded_in_their_order() {
        let read = |text: &str| {
            Parameters::parse(text)
                .map(|read| read.iter().map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>())
        };
        for (text, expected) in [
            ("", vec![]),
            ("query=SELECT+1%20%2B%202&&a", vec!["query=SELECT 1 + 2", "a="]),
            ("a=1&a=2&b=%D1%8F=", vec!["a=1", "a=2", "b=я="]),
            ("%71uery=%0d%0A", vec!["query=\r\n"]),
        ] {
            assert_eq!(read(text).unwrap(), expected, "{text}");
        }
        for text in ["a=%", "a=%1", "a=%zz", "a=%ff"] {
            assert_eq!(read(text).unwrap_err().code.number(), 36, "{text}");
        }
    }

    #[test]
    fn the_last_value_counts() {
        let read = Parameters::parse("a=1&b=true&a=0&n=12&w=x").unwrap();
        assert_eq!(
            (read.flag("a").unwrap(), read.flag("b").unwrap(), read.flag("c").unwrap()),
            (Some(false), Some(true), None)
        );
        assert_eq!(read.number("n").unwrap(), Some(12));
        assert!(read.flag("w").is_err() && read.number("w").is_err());
    }
}
