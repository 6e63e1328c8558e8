//! Credentials inside URLs and connection strings: users and passwords, signatures of presigned URLs, account keys.
//!
//! Invariant: what is no credential stays as it is. Must not know: statements.

/// Stands where a credential stood inside another text.
pub const HIDDEN_PART: &str = "[HIDDEN]";

/// Names of parts of URLs and connection strings that are credentials, in lower case.
const SECRET_PARTS: [&str; 14] = [
    "sig",
    "signature",
    "awsaccesskeyid",
    "googleaccessid",
    "x-amz-credential",
    "x-amz-signature",
    "x-amz-security-token",
    "x-goog-credential",
    "x-goog-signature",
    "accountkey",
    "sharedaccesskey",
    "sharedaccesssignature",
    "access_token",
    "token",
];

/// The text with the credentials inside its URLs and connection strings hidden: `http://user:[HIDDEN]@host/x?sig=[HIDDEN]`.
pub fn masked_urls(text: &str) -> String {
    if !text.contains("://") && !text.contains('=') {
        return text.to_owned();
    }
    without_parts(&without_users(text))
}

/// Hides what stands before the `@` of a URL's host; the name of a user that has a password stays.
fn without_users(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find("://") {
        let (before, authority) = rest.split_at(at + "://".len());
        out.push_str(before);
        let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '\'' | '"' | '`' | '<' | '>');
        let end = authority.find(ends).unwrap_or(authority.len());
        rest = authority;
        if let Some(host) = authority[..end].rfind('@') {
            if let Some(password) = authority[..host].find(':') {
                out.push_str(&authority[..=password]);
            }
            out.push_str(HIDDEN_PART);
            rest = &authority[host..];
        }
    }
    out.push_str(rest);
    out
}

/// Hides the values of [`SECRET_PARTS`], up to the next separator.
fn without_parts(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(equals) = rest.find('=') {
        let (before, value) = rest.split_at(equals + 1);
        out.push_str(before);
        rest = value;
        if !is_secret_part(&before[..equals]) {
            continue;
        }
        let ends = |c: char| c.is_whitespace() || matches!(c, '&' | ';' | '\'' | '"' | '`' | '#' | '<' | '>');
        let end = value.find(ends).unwrap_or(value.len());
        if end > 0 {
            out.push_str(HIDDEN_PART);
            rest = &value[end..];
        }
    }
    out.push_str(rest);
    out
}

/// Whether a text ends with the name of a secret part, behind what separates parts.
fn is_secret_part(before: &str) -> bool {
    let in_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '%');
    let start = before
        .char_indices()
        .rev()
        .take_while(|(_, c)| in_name(*c))
        .last()
        .map_or(before.len(), |(at, _)| at);
    let separated = before[..start].ends_with(['?', '&', ';', '\'', '"', '`']) || start == 0;
    separated && SECRET_PARTS.contains(&before[start..].to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_lose_their_credentials_and_nothing_else() {
        for (text, shown) in [
            ("http://host/b/x.csv?versionId=3&a=b", ""),
            ("SELECT a = 'x', token = 3, sig=4 FROM t WHERE b='http://h/x'", ""),
            ("at http://us:p%40w@host:80/x?a=1", "at http://us:[HIDDEN]@host:80/x?a=1"),
            ("url('https://ghp_abc@host/x')", "url('https://[HIDDEN]@host/x')"),
            ("'http://h/x@y'", ""),
            ("'https://a.blob/c/x?sv=2&sig=a%2Fb%3D&se=3'", "'https://a.blob/c/x?sv=2&sig=[HIDDEN]&se=3'"),
            (
                "http://h/k?X-Amz-Credential=AK/1/s3&X-Amz-Expires=1&X-Amz-Signature=abc def",
                "http://h/k?X-Amz-Credential=[HIDDEN]&X-Amz-Expires=1&X-Amz-Signature=[HIDDEN] def",
            ),
            (
                "AccountName=n;AccountKey=ab+/==;EndpointSuffix=core",
                "AccountName=n;AccountKey=[HIDDEN];EndpointSuffix=core",
            ),
            ("'SharedAccessSignature=sv=1&sig=x'", "'SharedAccessSignature=[HIDDEN]&sig=[HIDDEN]'"),
        ] {
            assert_eq!(masked_urls(text), if shown.is_empty() { text } else { shown });
        }
    }
}
