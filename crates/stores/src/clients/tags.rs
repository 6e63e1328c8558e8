//! Tags of the objects of a bucket: one signed request each, for which the store's client has no call.
//!
//! Invariant: the request is signed like every other of its bucket, leaves through the same connector, and whoever calls
//! repeats it by the same rules; what cannot be read is an error, never an object without tags. Must not know: columns.

use bytes::{Bytes, BytesMut};
use http::{Method, Request, StatusCode};
use object_store::ClientOptions;
use object_store::aws::{AwsAuthorizer, AwsCredential};
use object_store::client::{HttpClient, HttpConnector, HttpRequestBody};

use crate::credentials::Credentials;
use crate::error::{SourceError, SourceErrorKind, StoreAnswer};
use crate::keys::odd::in_url;
use crate::locations::location::BucketLocation;
use crate::network::wire::{Paced, WatchedConnector};
use crate::requests::attempts::Failure;
use crate::requests::facts::Pairs;
use crate::requests::verdict::verdict;
use crate::xml::{Elements, first_text};

/// An object has ten tags at most, of 384 characters.
const ANSWER_BYTES_MAX: usize = 256 << 10;

/// Asks for tags; see the module.
pub(crate) struct TagReader {
    client: HttpClient,
    /// What stands ahead of `/key`.
    address: String,
    region: String,
    credential: Option<AwsCredential>,
    version: Option<String>,
}

impl TagReader {
    pub(crate) fn new(
        bucket: &BucketLocation,
        credentials: &Credentials,
        options: &ClientOptions,
        connector: &WatchedConnector,
    ) -> object_store::Result<TagReader> {
        let address = match bucket.virtual_host {
            true => bucket.endpoint.clone(),
            false => format!("{}/{}", bucket.endpoint, bucket.bucket),
        };
        let credential = credentials.key().map(|key| AwsCredential {
            key_id: key.id.clone(),
            secret_key: key.secret.reveal().to_owned(),
            token: key.session_token.as_ref().map(|token| token.reveal().to_owned()),
        });
        Ok(TagReader {
            client: connector.connect(options)?,
            address,
            region: bucket.region.clone().unwrap_or_else(|| "us-east-1".to_owned()),
            credential,
            version: bucket.version.clone(),
        })
    }

    /// One attempt at the tags of a key, which errors call `shown`.
    pub(crate) async fn attempt(&self, key: &str, shown: &str) -> Result<Pairs, Failure> {
        let mut address = format!("{}/{}?tagging", self.address, in_url(key));
        if let Some(version) = &self.version {
            address = format!("{address}&versionId={}", in_url(version));
        }
        let request = Request::builder().method(Method::GET).uri(address).body(HttpRequestBody::empty());
        let Ok(mut request) = request else {
            let error = SourceError::bad_arguments(format!("key \"{shown}\" cannot be addressed"));
            return Err(ours(error, None, None));
        };
        if let Some(credential) = &self.credential {
            AwsAuthorizer::new(credential, "s3", &self.region).authorize(&mut request, None);
        }
        let (head, body) = self.client.execute(request).await?.into_parts();
        let mut pieces = Paced::new(body.bytes_stream());
        let mut text = BytesMut::new();
        while let Some(piece) = pieces.next(|piece| piece.as_ref().map_or(0, Bytes::len)).await? {
            text.extend_from_slice(&piece?);
            if text.len() > ANSWER_BYTES_MAX {
                return Err(ours(unreadable(shown, "the answer has no end"), None, None));
            }
        }
        let text = String::from_utf8_lossy(&text);
        if !head.status.is_success() {
            return Err(refused(shown, head.status, &text));
        }
        // A set that is cut has no end.
        if !Elements::of(&text).any(|element| element.name == "TagSet") {
            return Err(ours(unreadable(shown, "the answer is no set of tags"), None, None));
        }
        Ok(tags_in(&text))
    }
}

fn unreadable(shown: &str, why: &str) -> SourceError {
    SourceError::new(SourceErrorKind::Unavailable, format!("the tags of \"{shown}\" cannot be read: {why}"))
        .with_file(shown)
}

fn ours(error: SourceError, status: Option<u16>, s3_code: Option<&str>) -> Failure {
    let seen = object_store::Error::Generic { store: "S3", source: error.to_string().into() };
    Failure::Ours { verdict: verdict(&seen, status, s3_code), error }
}

fn refused(shown: &str, status: StatusCode, body: &str) -> Failure {
    let kind = match status.as_u16() {
        404 => SourceErrorKind::NotFound,
        401 | 403 => SourceErrorKind::Denied,
        _ => SourceErrorKind::Unavailable,
    };
    let s3_code = first_text(body, "Code");
    let answer = StoreAnswer {
        http_status: Some(status.as_u16()),
        s3_code: s3_code.clone(),
        ..StoreAnswer::default()
    };
    let error = SourceError::new(kind, format!("the tags of \"{shown}\" cannot be read"))
        .with_file(shown)
        .with_answer(answer)
        .with_hint("reading them needs the right s3:GetObjectTagging: leave _tags out to do without");
    ours(error, Some(status.as_u16()), s3_code.as_deref())
}

fn tags_in(xml: &str) -> Pairs {
    let (mut tags, mut key, mut value) = (Pairs::new(), None, String::new());
    for element in Elements::of(xml) {
        match element.name.as_str() {
            "Key" => key = Some(element.text),
            "Value" => value = element.text,
            "Tag" => {
                let value = std::mem::take(&mut value);
                tags.extend(key.take().map(|key| (key, value)));
            }
            _ => {}
        }
    }
    tags.sort();
    tags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_what_the_store_means() {
        let set = |inner: &str| format!("<?xml version=\"1.0\"?><Tagging><TagSet>{inner}</TagSet></Tagging>");
        for (inner, expected) in [
            ("", vec![]),
            (
                "<Tag><Key>b</Key><Value>2</Value></Tag><Tag><Key>a</Key><Value></Value></Tag>",
                vec![("a", ""), ("b", "2")],
            ),
            (
                "<Tag><Key>a&amp;b</Key><Value>&lt;&#x416;&#66;&unknown;&gt;</Value></Tag>",
                vec![("a&b", "<ЖB&unknown;>")],
            ),
            ("<Tag>\n <Value>v</Value>\n <Key>k</Key>\n</Tag>", vec![("k", "v")]),
            ("<Tag><Key>k</Key><Value/></Tag>", vec![("k", "")]),
        ] {
            let expected: Pairs =
                expected.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
            assert_eq!(tags_in(&set(inner)), expected, "{inner}");
        }
    }
}
