//! Where a shared root is: the bucket or the container that its URL names, and who we are there.
//!
//! Invariant: errors show a URL as it was written, and no secret; nobody is asked. Must not know: what is in a root.

use std::sync::Arc;

use crate::clients::cache::{RetryPolicy, StoreCache};
use crate::clients::store::Store;
use crate::credentials::{AccessKey, Credentials, GivenCredentials, S3Environment, Secret};
use crate::error::{Result, SourceError};
use crate::locations::azure::{Account, ContainerLocation, azure_account};
use crate::locations::bucket::{BucketLocation, S3Url, s3_url};

/// Schemes of Azure Blob Storage.
const AZURE: [&str; 2] = ["az://", "azure://"];

/// What the environment says under a name.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// See the module.
#[derive(Debug)]
pub(crate) struct RootPlace {
    home: Home,
    /// In front of all keys; empty, or ends in `/`.
    pub(crate) prefix: String,
}

#[derive(Debug)]
enum Home {
    Bucket(BucketLocation, Credentials),
    Container(ContainerLocation, Credentials),
}

impl RootPlace {
    /// `s3://bucket/prefix`, `gs://bucket/prefix`, a URL of an endpoint with bucket and prefix, or `az://container/prefix`.
    ///
    /// # Errors
    /// The URL is not understood, or the environment does not say what it needs.
    pub(crate) fn parse(url: &str, environment: &S3Environment, lookup: Lookup<'_>) -> Result<RootPlace> {
        if let Some(rest) = AZURE.iter().find_map(|scheme| url.strip_prefix(scheme)) {
            return container(url, rest, lookup);
        }
        let (bucket, prefix) = bucket(url, environment)?;
        let credentials = Credentials::choose(&GivenCredentials::Unsaid, environment, &bucket.endpoint);
        Ok(RootPlace { home: Home::Bucket(bucket, credentials), prefix })
    }

    /// The client of its bucket or container.
    ///
    /// # Errors
    /// None can be made.
    pub(crate) fn client(&self, stores: &StoreCache, policy: RetryPolicy) -> Result<Arc<Store>> {
        match &self.home {
            Home::Bucket(bucket, credentials) => stores.bucket(bucket, credentials, policy),
            Home::Container(container, credentials) => stores.container(container, credentials, policy),
        }
    }
}

/// Bucket, and what is in front of all keys.
fn bucket(url: &str, environment: &S3Environment) -> Result<(BucketLocation, String)> {
    // With a key behind it, so that a bucket alone is a URL, too.
    const KEY: &str = "/root";
    let written = url.trim_end_matches('/');
    if written.is_empty() || written.ends_with(':') {
        return Err(SourceError::bad_arguments(format!("URL \"{url}\" names no bucket")));
    }
    let of_key = format!("{written}{KEY}");
    // Nobody wrote that key.
    let as_written = |error: SourceError| {
        let message = error.message().replacen(&format!("{KEY}\""), "\"", 1);
        SourceError::new(error.kind(), message)
    };
    let S3Url::Bucket { bucket, pattern } = s3_url(&of_key, environment, false).map_err(as_written)? else {
        return Err(SourceError::bad_arguments("a shared root cannot be behind a presigned URL"));
    };
    let prefix = pattern.strip_suffix("root").unwrap_or(&pattern).trim_start_matches('/');
    refuse_patterns(prefix)?;
    Ok((bucket, prefix.to_owned()))
}

fn container(url: &str, rest: &str, lookup: Lookup<'_>) -> Result<RootPlace> {
    let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    if name.is_empty() {
        return Err(SourceError::bad_arguments(format!("URL \"{url}\" names no container")));
    }
    let prefix = prefix.trim_matches('/');
    refuse_patterns(prefix)?;
    let Account { location, key } = account(url, name, lookup)?;
    let given = key.map_or(GivenCredentials::Unsaid, GivenCredentials::Key);
    let credentials = Credentials::choose(&given, &S3Environment::default(), "");
    let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
    Ok(RootPlace { home: Home::Container(location, credentials), prefix })
}

/// The account is found as Azure's own tools find it.
fn account(url: &str, container: &str, lookup: Lookup<'_>) -> Result<Account> {
    let set = |names: [&str; 2]| names.into_iter().find_map(lookup).filter(|value| !value.is_empty());
    let name = set(["AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"]);
    if let Some(text) = lookup("AZURE_STORAGE_CONNECTION_STRING").filter(|text| !text.is_empty()) {
        return azure_account(&text, container, name.as_deref());
    }
    let Some(name) = name else {
        return Err(SourceError::bad_arguments(format!(
            "URL \"{url}\" needs AZURE_STORAGE_CONNECTION_STRING in the environment, or AZURE_STORAGE_ACCOUNT with \
             AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN"
        )));
    };
    let mut account =
        azure_account(&format!("https://{name}.blob.core.windows.net"), container, Some(&name))?;
    account.key = set(["AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY"]).map(|key| AccessKey {
        id: name,
        secret: Secret::new(key),
        session_token: None,
    });
    account.location.signature = lookup("AZURE_STORAGE_SAS_TOKEN")
        .filter(|token| !token.is_empty())
        .map(|token| Secret::new(token.trim_start_matches('?')));
    Ok(account)
}

fn refuse_patterns(prefix: &str) -> Result<()> {
    if !prefix.contains(['*', '?', '{']) {
        return Ok(());
    }
    let shown = prefix.trim_end_matches('/');
    Err(SourceError::bad_arguments(format!("the prefix \"{shown}\" of a shared root is a pattern")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str, variables: &[(&str, &str)]) -> Result<RootPlace> {
        let lookup = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        RootPlace::parse(url, &S3Environment::default(), &lookup)
    }

    #[test]
    fn buckets_and_containers_are_told_apart() {
        let place = parsed("s3://bucket/some/prefix/", &[]).unwrap();
        assert!(matches!(&place.home, Home::Bucket(bucket, _) if bucket.bucket == "bucket"));
        assert_eq!(place.prefix, "some/prefix/");
        assert_eq!(parsed("s3://bucket", &[]).unwrap().prefix, "");
        let key = [("AZURE_STORAGE_ACCOUNT", "n"), ("AZURE_STORAGE_KEY", "a2V5")];
        let place = parsed("az://container/some/prefix", &key).unwrap();
        let endpoint = "https://n.blob.core.windows.net";
        assert!(matches!(
            &place.home,
            Home::Container(found, Credentials::Explicit(_)) if found.container == "container" && found.endpoint == endpoint
        ));
        assert_eq!(place.prefix, "some/prefix/");
        let signed = [("AZURE_STORAGE_ACCOUNT", "n"), ("AZURE_STORAGE_SAS_TOKEN", "?sv=1&sig=a")];
        let place = parsed("az://container", &signed).unwrap();
        assert!(matches!(&place.home, Home::Container(container, _) if container.signature.is_some()));
        let emulated = [("AZURE_STORAGE_CONNECTION_STRING", "UseDevelopmentStorage=true")];
        assert_eq!(parsed("azure://container/", &emulated).unwrap().prefix, "");
    }

    #[test]
    fn what_is_no_place_of_a_root_is_named_as_it_was_written() {
        for (url, words) in [
            ("s3://", "URL \"s3://\" names no bucket"),
            ("", "URL \"\" names no bucket"),
            ("az://", "URL \"az://\" names no container"),
            ("az://container/db", "URL \"az://container/db\" needs AZURE_STORAGE_CONNECTION_STRING"),
            ("bucket/db", "URL \"bucket/db\" has no scheme"),
            ("s3://bucket/d*b", "the prefix \"d*b\" of a shared root is a pattern"),
        ] {
            let error = parsed(url, &[]).unwrap_err();
            assert!(error.message().contains(words), "{url}: {}", error.message());
        }
        let wrong = [("AZURE_STORAGE_CONNECTION_STRING", "nonsense s3cr3t")];
        let error = parsed("az://container/db", &wrong).unwrap_err();
        assert!(!error.message().contains("s3cr3t"), "{}", error.message());
    }
}
