//! Which objects of a record belong to which call: the same bucket and key, whatever way leads there.
//!
//! Invariant: two names are equal exactly if writing one writes the other, as far as addresses tell. Must not know: what
//! exists, who writes.

use std::sync::Arc;

use model::export::{ExportObject, ExportStore};
use stores::clients::store::Store;
use stores::error::Result;
use stores::locations::location::{BucketLocation, Location};

use crate::export::destination::{Bucket, Destination};
use crate::export::names::{self, PARTITION_WILDCARD};

/// What one object or file is called in this process, to tell it from all others.
pub fn object_name(place: &ExportStore, key: &str) -> String {
    match place.is_files() {
        true => key.to_owned(),
        false => format!("{}\n{key}", place_name(place)),
    }
}

/// AWS has a name for a bucket once in the world, and many hosts to reach it by.
fn place_name(place: &ExportStore) -> String {
    let endpoint = aws_domain(&place.endpoint).unwrap_or(&place.endpoint);
    format!("{endpoint}\n{}\n{}", place.account.as_deref().unwrap_or_default(), place.bucket)
}

fn aws_domain(endpoint: &str) -> Option<&'static str> {
    let is_s3 = |label: &str| label == "s3" || label.starts_with("s3-");
    ["amazonaws.com", "amazonaws.com.cn"].into_iter().find(|domain| {
        let host = endpoint.split("//").last().unwrap_or(endpoint);
        host.strip_suffix(domain).is_some_and(|front| front.split('.').any(is_s3))
    })
}

impl Destination {
    /// Whether this call writes to `place`, so that what waits there can be finished with what it brings.
    pub fn can_finish(&self, place: &ExportStore) -> bool {
        match (place.is_files(), self.bucket()) {
            (true, None) => true,
            (false, Some(ours)) => place_name(&self.place(&ours)) == place_name(place),
            _ => false,
        }
    }

    /// The store of `place` with this call's credentials.
    pub fn store_of(&self, place: &ExportStore) -> Result<Arc<Store>> {
        match self.bucket() {
            Some(Bucket::S3(bucket)) => {
                let region = place.region.as_deref().map(str::to_owned);
                let (endpoint, virtual_host) = (place.endpoint.to_string(), place.virtual_host);
                self.store(&Bucket::S3(BucketLocation { region, endpoint, virtual_host, ..bucket }))
            }
            Some(azure) => self.store(&azure),
            None => Err(super::destination::only_read()),
        }
    }

    /// Whether this call may choose the key of `object`.
    pub fn may_write(&self, object: &ExportObject) -> bool {
        let Ok(location) = self.location(&|text| Ok(text.to_owned())) else { return false };
        let pattern = match &location {
            Location::Local { pattern } => format!("/{pattern}"),
            other => other.pattern().to_owned(),
        };
        let key = &*object.key;
        self.can_finish(&object.store)
            && match self.strategy {
                None => key == pattern || names::is_numbered(&pattern, key),
                Some(_) => key.starts_with(pattern.split(PARTITION_WILDCARD).next().unwrap_or_default()),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_object_has_one_name() {
        let at = |endpoint: &str, bucket: &str| ExportStore {
            endpoint: endpoint.into(),
            bucket: bucket.into(),
            ..ExportStore::files()
        };
        let name = object_name(&at("https://s3.eu-west-1.amazonaws.com", "b"), "k");
        for (endpoint, bucket, is_same) in [
            ("https://b.s3.us-east-1.amazonaws.com", "b", true),
            ("https://s3.amazonaws.com", "b", true),
            ("https://b.s3-us-west-2.amazonaws.com", "b", true),
            ("https://s3.amazonaws.com", "c", false),
            ("https://s3.cn-north-1.amazonaws.com.cn", "b", false),
            ("http://ec2-1.compute.amazonaws.com:9000", "b", false),
            ("https://storage.googleapis.com", "b", false),
        ] {
            let other = object_name(&at(endpoint, bucket), "k");
            assert_eq!(name == other, is_same, "{endpoint} {bucket}: {other}");
        }
        assert_eq!(object_name(&ExportStore::files(), "/k"), "/k");
    }
}
