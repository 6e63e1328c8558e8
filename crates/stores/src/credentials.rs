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
    /// Explicit before the endpoint's configuration before environment before anonymous. `url` is where the bucket is.
    pub fn choose(given: &GivenCredentials, environment: &S3Environment, url: &str) -> Credentials {
        match (given, environment.configured(url), &environment.key) {
            (GivenCredentials::Key(key), ..) => Credentials::Explicit(key.clone()),
            (GivenCredentials::NoSign, ..) => Credentials::Anonymous,
            (GivenCredentials::Unsaid, Some(configured), _) => {
                configured.key.clone().map_or(Credentials::Anonymous, Credentials::Explicit)
            }
            (GivenCredentials::Unsaid, None, Some(key)) => Credentials::Ambient(key.clone()),
            (GivenCredentials::Unsaid, None, None) => Credentials::Anonymous,
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
    /// Of the server's configuration.
    pub endpoints: Vec<EndpointCredentials>,
}

/// Credentials for every URL that starts with a prefix.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndpointCredentials {
    /// `https://minio:9000/bucket/`.
    pub prefix: String,
    /// `None`: requests are not signed.
    pub key: Option<AccessKey>,
}

impl S3Environment {
    /// Reads the variables every S3 tool reads; `lookup` is usually `std::env::var`. Half a key is no key.
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
            endpoints: Vec::new(),
        }
    }

    /// The variables, then the files of `~/.aws`, as every S3 tool does; a file that cannot be read says nothing.
    pub fn of_machine() -> S3Environment {
        let lookup = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let mut found = S3Environment::read(lookup);
        let profile = lookup("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
        let file = |variable: &str, name: &str| {
            let path =
                lookup(variable).or_else(|| lookup("HOME").map(|home| format!("{home}/.aws/{name}")))?;
            std::fs::read_to_string(path).ok()
        };
        for text in [file("AWS_SHARED_CREDENTIALS_FILE", "credentials"), file("AWS_CONFIG_FILE", "config")] {
            found.add_profile(&text.unwrap_or_default(), &profile);
        }
        found
    }

    /// Takes from one profile of a file what is not known yet.
    fn add_profile(&mut self, text: &str, profile: &str) {
        let mut values = std::collections::HashMap::new();
        let mut is_ours = false;
        for line in text.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                let name = name.trim();
                is_ours = name.strip_prefix("profile ").unwrap_or(name).trim() == profile;
            } else if let Some((name, value)) =
                line.split_once('=').filter(|_| is_ours && !line.starts_with('#'))
            {
                values.insert(name.trim().to_owned(), value.trim().to_owned());
            }
        }
        let mut take = |name: &str| values.remove(name).filter(|value| !value.is_empty());
        let key = take("aws_access_key_id").zip(take("aws_secret_access_key"));
        let session_token = take("aws_session_token").map(Secret::new);
        if let (None, Some((id, secret))) = (&self.key, key) {
            self.key = Some(AccessKey { id, secret: Secret::new(secret), session_token });
        }
        self.region = self.region.take().or_else(|| take("region"));
        self.endpoint = self.endpoint.take().or_else(|| take("endpoint_url"));
    }

    /// What the server's configuration says about a URL: the longest prefix counts.
    pub(crate) fn configured(&self, url: &str) -> Option<&EndpointCredentials> {
        let fits = |one: &&EndpointCredentials| url.starts_with(&one.prefix);
        self.endpoints.iter().filter(fits).max_by_key(|one| one.prefix.len())
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
        let choose =
            |given: &GivenCredentials, env: &S3Environment| Credentials::choose(given, env, "http://h/b/");
        assert_eq!(
            choose(&GivenCredentials::Key(key("mine")), &environment),
            Credentials::Explicit(key("mine"))
        );
        assert_eq!(choose(&GivenCredentials::Unsaid, &environment), Credentials::Ambient(key("env")));
        assert_eq!(choose(&GivenCredentials::NoSign, &environment), Credentials::Anonymous);
        assert_eq!(choose(&GivenCredentials::Unsaid, &S3Environment::default()), Credentials::Anonymous);
        let at = |prefix: &str, id: Option<&str>| EndpointCredentials {
            prefix: prefix.to_owned(),
            key: id.map(key),
        };
        let endpoints =
            vec![at("http://h/", Some("host")), at("http://h/b/", Some("bucket")), at("http://h/c/", None)];
        let configured = S3Environment { endpoints, ..environment };
        assert_eq!(choose(&GivenCredentials::Unsaid, &configured), Credentials::Explicit(key("bucket")));
        assert_eq!(
            Credentials::choose(&GivenCredentials::Unsaid, &configured, "http://h/c/"),
            Credentials::Anonymous
        );
        assert_eq!(
            choose(&GivenCredentials::Key(key("mine")), &configured),
            Credentials::Explicit(key("mine"))
        );
        assert_eq!(choose(&GivenCredentials::NoSign, &configured), Credentials::Anonymous);
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

    #[test]
    fn a_profile_fills_what_variables_leave_open() {
        let file = "# mine\n[default]\naws_access_key_id = a\naws_secret_access_key=b\nregion = eu\n\n\
                    [profile other]\naws_access_key_id=c\naws_secret_access_key=d\naws_session_token = t\n\
                    [half]\naws_access_key_id=e\n";
        let of = |profile: &str| {
            let mut environment = S3Environment::default();
            environment.add_profile(file, profile);
            (environment.key.map(|key| (key.id, key.session_token.is_some())), environment.region)
        };
        assert_eq!(of("default"), (Some(("a".to_owned(), false)), Some("eu".to_owned())));
        assert_eq!(of("other"), (Some(("c".to_owned(), true)), None));
        assert_eq!(of("half"), (None, None));
        assert_eq!(of("none"), (None, None));
        let mut known = S3Environment { key: Some(key("env")), ..S3Environment::default() };
        known.add_profile(file, "default");
        assert_eq!(known.key.map(|key| key.id).as_deref(), Some("env"));
    }
}
