//! What a store says of a file beside its bytes: names and values.
//!
//! Invariant: in order of the names, as ClickHouse has them. Must not know: requests, columns.

use http::HeaderMap;
use http::header::{CONTENT_LENGTH, CONTENT_RANGE};

/// Names and values, in order of the names.
pub type Pairs = Vec<(String, String)>;

/// The head of an answer. Of a name that comes again the first counts. Of a part of a page, which is `whole` bytes long, it is
/// what the head of the page would be.
pub(crate) fn of_head(headers: &HeaderMap, whole: Option<u64>) -> Pairs {
    let mut shown = Pairs::new();
    for name in headers.keys() {
        let value = match whole {
            Some(_) if *name == CONTENT_RANGE => continue,
            Some(bytes) if *name == CONTENT_LENGTH => Some(bytes.to_string()),
            _ => headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned),
        };
        shown.extend(value.map(|value| (capitals(name.as_str()), value)));
    }
    shown.sort();
    shown
}

/// A name as servers write it: what arrives has lost its capitals.
fn capitals(name: &str) -> String {
    if name == "etag" {
        return "ETag".to_owned();
    }
    if ["x-amz-", "x-goog-", "x-ms-"].iter().any(|vendor| name.starts_with(vendor)) {
        return name.to_owned();
    }
    let mut begins = true;
    let letter = |letter: char| {
        let written = if begins { letter.to_ascii_uppercase() } else { letter };
        begins = letter == '-';
        written
    };
    name.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_those_of_whole_pages() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("x-my", "one"),
            ("x-my", "two"),
            ("etag", "\"e\""),
            ("content-length", "1"),
            ("content-range", "bytes 0-0/9"),
            ("x-amz-request-id", "r"),
        ] {
            headers.append(name, value.parse().unwrap());
        }
        let shown = |whole| {
            let pairs: Vec<String> =
                of_head(&headers, whole).iter().map(|(name, value)| format!("{name}: {value}")).collect();
            pairs.join(", ")
        };
        assert_eq!(shown(Some(9)), "Content-Length: 9, ETag: \"e\", X-My: one, x-amz-request-id: r");
        assert_eq!(
            shown(None),
            "Content-Length: 1, Content-Range: bytes 0-0/9, ETag: \"e\", X-My: one, x-amz-request-id: r"
        );
    }
}
