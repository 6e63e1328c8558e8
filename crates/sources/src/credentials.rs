//! Who we are to a store: given in the call, found in the environment, or nobody.
//!
//! Invariant: a secret never leaves through `Debug` or `Display`; both show `[HIDDEN]`.
//! Must not know: URLs, clients.

use std::fmt;

/// Text that is never printed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Secret(text.into())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[HIDDEN]")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[HIDDEN]")
    }
}

/// An access key as S3 understands it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AccessKey {
    pub id: String,
    pub secret: Secret,
    pub session_token: Option<Secret>,
}

/// What the call says about credentials.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum GivenCredentials {
    /// Nothing: the environment decides.
    #[default]
    Unsaid,
    /// `NOSIGN`.
    NoSign,
    Key(AccessKey),
}

/// How requests are signed, and who decided it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Credentials {
    Explicit(AccessKey),
    /// From the environment: a refusal is tried again unsigned.
    Ambient(AccessKey),
    Anonymous,
}

impl Credentials {
    /// Explicit before environment before anonymous.
    pub fn choose(given: &GivenCredentials, environment: &S3Environment) -> Credentials {
        match (given, &environment.key) {
            (GivenCredentials::Key(key), _) => Credentials::Explicit(key.clone()),
            (GivenCredentials::Unsaid, Some(key)) => Credentials::Ambient(key.clone()),
            (GivenCredentials::NoSign, _) | (GivenCredentials::Unsaid, None) => Credentials::Anonymous,
        }
    }

    pub(crate) fn key(&self) -> Option<&AccessKey> {
        match self {
            Credentials::Explicit(key) | Credentials::Ambient(key) => Some(key),
            Credentials::Anonymous => None,
        }
    }
}

/// What the process's environment says about S3.
#[derive(Clone, Debug, Default)]
pub struct S3Environment {
    pub key: Option<AccessKey>,
    pub region: Option<String>,
    /// Where `s3://` goes instead of AWS.
    pub endpoint: Option<String>,
}

impl S3Environment {
    /// Reads the variables every S3 tool reads; `lookup` is usually `std::env::var`.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> S3Environment {
        let set = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let key = set("AWS_ACCESS_KEY_ID").zip(set("AWS_SECRET_ACCESS_KEY")).map(|(id, secret)| AccessKey {
            id,
            secret: Secret::new(secret),
            session_token: set("AWS_SESSION_TOKEN").map(Secret::new),
        });
        S3Environment {
            key,
            region: set("AWS_REGION").or_else(|| set("AWS_DEFAULT_REGION")),
            endpoint: set("AWS_ENDPOINT_URL_S3").or_else(|| set("AWS_ENDPOINT_URL")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(id: &str) -> AccessKey {
        AccessKey {
            id: id.to_owned(),
            secret: Secret::new("s3cr3t"),
            session_token: Some(Secret::new("t0k3n")),
        }
    }

    #[test]
    fn explicit_beats_environment_beats_nobody() {
        let environment = S3Environment { key: Some(key("env")), ..S3Environment::default() };
        let choose = |given: &GivenCredentials, env: &S3Environment| Credentials::choose(given, env);
        assert_eq!(
            choose(&GivenCredentials::Key(key("mine")), &environment),
            Credentials::Explicit(key("mine"))
        );
        assert_eq!(choose(&GivenCredentials::Unsaid, &environment), Credentials::Ambient(key("env")));
        assert_eq!(choose(&GivenCredentials::NoSign, &environment), Credentials::Anonymous);
        assert_eq!(choose(&GivenCredentials::Unsaid, &S3Environment::default()), Credentials::Anonymous);
    }

    #[test]
    fn secrets_do_not_print() {
        let shown = format!("{:?} {}", Credentials::Explicit(key("mine")), Secret::new("s3cr3t"));
        assert!(shown.contains("mine") && shown.contains("[HIDDEN]"), "{shown}");
        assert!(!shown.contains("s3cr3t") && !shown.contains("t0k3n"), "{shown}");
    }

    #[test]
    fn the_environment_needs_both_halves_of_a_key() {
        let read = |pairs: &[(&str, &str)]| {
            let pairs: Vec<(String, String)> =
                pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            S3Environment::read(move |name| pairs.iter().find(|(k, _)| k == name).map(|(_, v)| v.clone()))
        };
        assert_eq!(read(&[("AWS_ACCESS_KEY_ID", "a")]).key, None);
        let full =
            read(&[("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b"), ("AWS_DEFAULT_REGION", "eu")]);
        assert_eq!(full.key.map(|key| key.id).as_deref(), Some("a"));
        assert_eq!(full.region.as_deref(), Some("eu"));
    }
}
