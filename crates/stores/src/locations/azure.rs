//! Where blobs of `azureBlobStorage()` are: a connection string or an account's URL, taken apart.
//!
//! Pure. Invariant: keys and signatures become [`Secret`]s here and are in no message. Must not know: clients.

use url::Url;

use crate::credentials::{AccessKey, Secret};
use crate::error::{Result, SourceError};

/// Azurite's account; its key is printed in every manual of it.
const EMULATOR_ACCOUNT: &str = "devstoreaccount1";
const EMULATOR_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const EMULATOR_ENDPOINT: &str = "http://127.0.0.1:10000/devstoreaccount1";

/// A container behind an endpoint.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ContainerLocation {
    /// Scheme, host and port; an emulator's with the account in its path.
    pub endpoint: String,
    pub account: String,
    pub container: String,
    /// A shared access signature: a query string that is its own credential.
    pub signature: Option<Secret>,
}

/// A location, and the key a connection string gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Account {
    pub location: ContainerLocation,
    pub key: Option<AccessKey>,
}

/// Takes the first argument apart; `account` is the name given beside it.
///
/// # Errors
/// What is missing or not understood, by name.
pub(crate) fn azure_account(text: &str, container: &str, account: Option<&str>) -> Result<Account> {
    if container.is_empty() || container.contains(['/', '*', '?', '{']) {
        return Err(SourceError::bad_arguments(format!(
            "azureBlobStorage(): \"{container}\" is no name of a container; patterns are for blob paths"
        )));
    }
    match text.starts_with("http://") || text.starts_with("https://") {
        true => account_url(text, container, account, None),
        false => connection_string(text, container, account),
    }
}

fn wrong(problem: &str) -> SourceError {
    SourceError::bad_arguments(format!("azureBlobStorage(): {problem}"))
}

fn account_url(
    text: &str,
    container: &str,
    account: Option<&str>,
    key: Option<AccessKey>,
) -> Result<Account> {
    let url = Url::parse(text).map_err(|_| wrong("the account's URL cannot be parsed"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("credentials inside a URL are not accepted; give account_name and account_key"));
    }
    let host = url.host_str().ok_or_else(|| wrong("the account's URL has no host"))?;
    let path = url.path().trim_matches('/');
    if path.contains('/') {
        return Err(wrong(
            "the account's URL holds more than an account; container and blob are arguments of their own",
        ));
    }
    let of_host = host.split_once(".blob.").map(|(name, _)| name);
    let account = account
        .or((!path.is_empty()).then_some(path))
        .or(of_host)
        .ok_or_else(|| wrong("the account's URL names no account; give account_name and account_key"))?;
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    let path = if path.is_empty() { String::new() } else { format!("/{path}") };
    let location = ContainerLocation {
        endpoint: format!("{}://{host}{port}{path}", url.scheme()),
        account: account.to_owned(),
        container: container.to_owned(),
        signature: url.query().filter(|query| !query.is_empty()).map(Secret::new),
    };
    Ok(Account { location, key })
}

fn connection_string(text: &str, container: &str, account: Option<&str>) -> Result<Account> {
    let mut found: [Option<&str>; 7] = [None; 7];
    const NAMES: [&str; 7] = [
        "defaultendpointsprotocol",
        "accountname",
        "accountkey",
        "endpointsuffix",
        "blobendpoint",
        "sharedaccesssignature",
        "usedevelopmentstorage",
    ];
    for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        let Some((name, value)) = part.split_once('=') else {
            return Err(wrong(
                "the first argument is neither a URL nor a connection string (name=value;name=value)",
            ));
        };
        let name = name.trim().to_ascii_lowercase();
        match NAMES.iter().position(|known| *known == name) {
            Some(at) => found[at] = Some(value.trim()).filter(|value| !value.is_empty()),
            // Endpoints of the other services.
            None if ["queueendpoint", "tableendpoint", "fileendpoint"].contains(&name.as_str()) => {}
            None => return Err(wrong(&format!("\"{name}\" in a connection string is not known"))),
        }
    }
    let [protocol, name, key, suffix, endpoint, signature, emulated] = found;
    if emulated.is_some_and(|text| text.eq_ignore_ascii_case("true")) {
        let key = AccessKey {
            id: EMULATOR_ACCOUNT.to_owned(),
            secret: Secret::new(EMULATOR_KEY),
            session_token: None,
        };
        return account_url(
            endpoint.unwrap_or(EMULATOR_ENDPOINT),
            container,
            Some(EMULATOR_ACCOUNT),
            Some(key),
        );
    }
    let name = name.or(account);
    let endpoint = match (endpoint, name) {
        (Some(endpoint), _) => endpoint.to_owned(),
        (None, Some(name)) => format!(
            "{}://{name}.blob.{}",
            protocol.unwrap_or("https"),
            suffix.unwrap_or("core.windows.net").trim_matches('/')
        ),
        (None, None) => return Err(wrong("the connection string has neither AccountName nor BlobEndpoint")),
    };
    let mut account = account_url(&endpoint, container, name, None)?;
    if let Some(key) = key {
        let id = account.location.account.clone();
        account.key = Some(AccessKey { id, secret: Secret::new(key), session_token: None });
    }
    if let Some(signature) = signature {
        account.location.signature = Some(Secret::new(signature.trim_start_matches('?')));
    }
    Ok(account)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, name: Option<&str>) -> String {
        match azure_account(text, "c", name) {
            Ok(Account { location, key }) => format!(
                "{} {} {} {}",
                location.endpoint,
                location.account,
                key.map_or("-", |key| if key.secret.reveal() == "a2V5" { "key" } else { "emulator" }),
                location.signature.map_or("-".to_owned(), |signature| signature.reveal().to_owned())
            ),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn every_form() {
        for (text, name, expected) in [
            (
                "DefaultEndpointsProtocol=https;AccountName=n;AccountKey=a2V5;EndpointSuffix=core.windows.net",
                None,
                "https://n.blob.core.windows.net n key -",
            ),
            ("AccountName=n;AccountKey=a2V5", None, "https://n.blob.core.windows.net n key -"),
            (
                "BlobEndpoint=http://azurite:10000/devstoreaccount1;AccountName=devstoreaccount1;AccountKey=a2V5;",
                None,
                "http://azurite:10000/devstoreaccount1 devstoreaccount1 key -",
            ),
            (
                "UseDevelopmentStorage=true",
                None,
                "http://127.0.0.1:10000/devstoreaccount1 devstoreaccount1 emulator -",
            ),
            (
                "BlobEndpoint=https://n.blob.core.windows.net/;SharedAccessSignature=?sv=1&sig=a%3D",
                None,
                "https://n.blob.core.windows.net n - sv=1&sig=a%3D",
            ),
            (
                "https://n.blob.core.windows.net/?sv=1&sig=a",
                None,
                "https://n.blob.core.windows.net n - sv=1&sig=a",
            ),
            ("https://n.blob.core.windows.net", Some("m"), "https://n.blob.core.windows.net m - -"),
            ("http://localhost:10000/acc", None, "http://localhost:10000/acc acc - -"),
        ] {
            assert_eq!(shown(text, name), expected, "{text}");
        }
    }

    #[test]
    fn mistakes_are_named_and_secrets_are_not() {
        for (text, words) in [
            ("nonsense s3cr3t", "neither a URL nor a connection string"),
            ("AccountKey=s3cr3t", "neither AccountName nor BlobEndpoint"),
            ("AccountName=n;Colour=s3cr3t", "\"colour\""),
            ("https://u:s3cr3t@h/", "inside a URL"),
            ("https://n.blob.core.windows.net/c/b?sig=s3cr3t", "more than an account"),
            ("http://10.0.0.1/?sig=s3cr3t", "names no account"),
        ] {
            let shown = shown(text, None);
            assert!(shown.contains(words) && !shown.contains("s3cr3t"), "{text}: {shown}");
        }
        assert!(azure_account("AccountName=n", "c*", None).is_err());
    }
}
