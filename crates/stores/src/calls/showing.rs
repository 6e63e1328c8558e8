//! What of a call may be shown in logs, process lists and errors.
//!
//! Pure. Invariant: in doubt nothing is shown; an argument that only might be a credential is [`Showing::Unclear`].
//! Must not know: how a statement is cut into lexemes.

use crate::calls::signatures::{Family, Slot, function};

/// Whether a log may show an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Showing {
    Shown,
    /// An access key, its secret or a session token.
    Credential,
    /// Nothing we know: a function that is not read yet, or a mistake.
    Unclear,
}

/// An argument as a log sees it: name, and text of a value that is one literal, word or number.
pub type SeenArgument<'a> = (Option<&'a str>, Option<&'a str>);

/// Which arguments of a table function may be shown; `None` for a function that takes no credentials. `is_whole` is
/// false when more arguments may follow.
pub fn showing(name: &str, arguments: &[SeenArgument<'_>], is_whole: bool) -> Option<Vec<Showing>> {
    let function = function(name).filter(|function| function.family != Family::File)?;
    let family = function.family;
    let skipped = usize::from(function.has_cluster);
    let leading = skipped + usize::from(family != Family::Azure);
    let positional = arguments.iter().skip(skipped).filter(|(name, _)| name.is_none());
    let texts: Option<Vec<&str>> = positional.map(|(_, text)| *text).collect();
    let slots = texts.filter(|_| is_whole).and_then(|texts| family.slots(&texts)).unwrap_or_default();
    let of_position =
        |at: usize, text: Option<&str>| match at.checked_sub(skipped).and_then(|at| slots.get(at)) {
            _ if at < leading => text.map_or(Showing::Unclear, |text| of_address(family, text)),
            Some(Slot::Url) => text.map_or(Showing::Unclear, |text| of_address(family, text)),
            Some(Slot::NoSign | Slot::Container | Slot::BlobPath) => Showing::Shown,
            Some(slot) if slot.is_credential() => Showing::Credential,
            // Only a guess by position: a key in the wrong place would be shown.
            _ => Showing::Unclear,
        };
    let of_name = |name: &str, text: Option<&str>| match family.named_slot(&name.to_ascii_lowercase()) {
        Some(slot) if slot.is_credential() => Showing::Credential,
        Some(Slot::Url | Slot::FileName) => text.map_or(Showing::Unclear, |text| of_address(family, text)),
        Some(_) => Showing::Shown,
        None => Showing::Unclear,
    };
    let shown = arguments
        .iter()
        .enumerate()
        .map(|(at, (name, text))| name.map_or_else(|| of_position(at, *text), |name| of_name(name, *text)));
    Some(shown.collect())
}

/// A URL may carry a password, a signature or a token; a connection string always carries a key.
fn of_address(family: Family, text: &str) -> Showing {
    match shown_address(family, text) == text {
        true => Showing::Shown,
        // Not a credential alone: statements that read different files must not be taken for one.
        false => Showing::Unclear,
    }
}

/// Names in a query string whose values open a door.
const SECRET_QUERY: &[&str] = &[
    "sig",
    "x-amz-signature",
    "x-amz-credential",
    "x-amz-security-token",
    "signature",
    "awsaccesskeyid",
    "token",
    "x-goog-signature",
    "x-goog-credential",
    "access_token",
    "key",
    "api_key",
    "apikey",
    "password",
    "secret",
];

/// A URL, path or connection string without what must not be shown: the password of `user:password@`, signatures and
/// tokens in the query string, the key of a connection string.
pub(crate) fn shown_address(family: Family, text: &str) -> String {
    if family == Family::Azure && text.to_ascii_lowercase().contains("accountkey=")
        || text.to_ascii_lowercase().contains("sharedaccesssignature=")
    {
        return shown_connection_string(text);
    }
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let (before, query) = match rest.split_once('?') {
        Some((before, query)) => (before, Some(query)),
        None => (rest, None),
    };
    let (authority, path) = match before.find('/') {
        Some(at) => before.split_at(at),
        None => (before, ""),
    };
    let host = match authority.rsplit_once('@') {
        Some((_, host)) => format!("[HIDDEN]@{host}"),
        None => authority.to_owned(),
    };
    let query = query.map(|query| {
        let pairs = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, _)) if SECRET_QUERY.contains(&name.to_ascii_lowercase().as_str()) => {
                format!("{name}=[HIDDEN]")
            }
            _ => pair.to_owned(),
        });
        format!("?{}", pairs.collect::<Vec<_>>().join("&"))
    });
    format!("{scheme}://{host}{path}{}", query.unwrap_or_default())
}

fn shown_connection_string(text: &str) -> String {
    let parts = text.split(';').map(|part| match part.split_once('=') {
        Some((name, _))
            if ["accountkey", "sharedaccesssignature"]
                .contains(&name.trim().to_ascii_lowercase().as_str()) =>
        {
            format!("{name}=[HIDDEN]")
        }
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join(";")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_what_opens_doors() {
        for (family, text, expected) in [
            (Family::S3, "https://b.s3.amazonaws.com/k?versionId=3", None),
            (Family::S3, "http://h/b/?.csv", None),
            (
                Family::S3,
                "https://h/k?X-Amz-Date=1&X-Amz-Signature=abc",
                Some("https://h/k?X-Amz-Date=1&X-Amz-Signature=[HIDDEN]"),
            ),
            (Family::Url, "http://u:pw@h/k", Some("http://[HIDDEN]@h/k")),
            (Family::Url, "http://h/k?a=1&token=t", Some("http://h/k?a=1&token=[HIDDEN]")),
            (Family::Url, "http://h/a@b", None),
            (
                Family::Azure,
                "AccountName=n;AccountKey=abc==;EndpointSuffix=x",
                Some("AccountName=n;AccountKey=[HIDDEN];EndpointSuffix=x"),
            ),
            (
                Family::Azure,
                "BlobEndpoint=https://h;SharedAccessSignature=sv=1&sig=abc",
                Some("BlobEndpoint=https://h;SharedAccessSignature=[HIDDEN]"),
            ),
            (
                Family::Azure,
                "https://n.blob.core.windows.net?sv=1&sig=abc",
                Some("https://n.blob.core.windows.net?sv=1&sig=[HIDDEN]"),
            ),
            (Family::File, "/a/b?key=1", None),
        ] {
            let expected = expected.unwrap_or(text);
            assert_eq!(shown_address(family, text), expected);
            let is_shown = showing("url", &[(None, Some(text))], true) == Some(vec![Showing::Shown]);
            assert!(family != Family::Url || is_shown == (expected == text), "{text}");
        }
    }
}
