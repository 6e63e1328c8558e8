//! Which position of which table function means what: ClickHouse's tables.
//!
//! Pure. Invariant: a reading depends on the count of the arguments, on NOSIGN and on the places of format names, never
//! on what a URL or a key looks like. Must not know: values, secrets, clients.

use crate::calls::format;

/// Functions with the same arguments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Family {
    S3,
    Azure,
    Url,
    File,
}

/// A table function that reads sources.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Function {
    pub family: Family,
    /// The first argument names a cluster.
    pub has_cluster: bool,
}

/// The function of a name, in any case.
pub fn function(name: &str) -> Option<Function> {
    let (family, has_cluster) = match name.to_ascii_lowercase().as_str() {
        "s3" | "gcs" | "oss" | "cosn" => (Family::S3, false),
        "s3cluster" => (Family::S3, true),
        "azureblobstorage" => (Family::Azure, false),
        "azureblobstoragecluster" => (Family::Azure, true),
        "url" => (Family::Url, false),
        "urlcluster" => (Family::Url, true),
        "file" => (Family::File, false),
        "filecluster" => (Family::File, true),
        _ => return None,
    };
    Some(Function { family, has_cluster })
}

/// Meaning of one argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// URL of `s3` and `url`, path of `file`, account URL or connection string of Azure.
    Url,
    /// Appended to the URL of a named collection.
    FileName,
    NoSign,
    UseEnvironment,
    KeyId,
    KeySecret,
    Token,
    ExpirationWindow,
    Container,
    BlobPath,
    AccountName,
    AccountKey,
    Format,
    Structure,
    Compression,
    PartitionStrategy,
    PartitionColumnsInFile,
    StorageClass,
    Method,
}

impl Slot {
    /// The name ClickHouse gives the argument.
    pub fn name(self) -> &'static str {
        match self {
            Slot::Url => "url",
            Slot::FileName => "filename",
            Slot::NoSign => "NOSIGN",
            Slot::UseEnvironment => "use_environment_credentials",
            Slot::KeyId => "access_key_id",
            Slot::KeySecret => "secret_access_key",
            Slot::Token => "session_token",
            Slot::ExpirationWindow => "expiration_window_seconds",
            Slot::Container => "container",
            Slot::BlobPath => "blob_path",
            Slot::AccountName => "account_name",
            Slot::AccountKey => "account_key",
            Slot::Format => "format",
            Slot::Structure => "structure",
            Slot::Compression => "compression_method",
            Slot::PartitionStrategy => "partition_strategy",
            Slot::PartitionColumnsInFile => "partition_columns_in_data_file",
            Slot::StorageClass => "storage_class_name",
            Slot::Method => "method",
        }
    }

    /// Never shown, not even to its owner.
    pub fn is_secret(self) -> bool {
        matches!(self, Slot::KeySecret | Slot::Token | Slot::AccountKey)
    }

    /// Part of what a client identifies itself with.
    pub fn is_credential(self) -> bool {
        self.is_secret() || matches!(self, Slot::KeyId | Slot::AccountName)
    }
}

const TAIL: [Slot; 5] =
    [Slot::Format, Slot::Structure, Slot::Compression, Slot::PartitionStrategy, Slot::PartitionColumnsInFile];
const AZURE_TAIL: [Slot; 5] =
    [Slot::Format, Slot::Compression, Slot::Structure, Slot::PartitionStrategy, Slot::PartitionColumnsInFile];

impl Family {
    /// The meaning of each positional argument; `None` when no signature has so many.
    pub fn slots(self, texts: &[&str]) -> Option<Vec<Slot>> {
        match self {
            Family::S3 => s3_slots(texts),
            Family::Azure => azure_slots(texts),
            Family::Url | Family::File => {
                let all = [Slot::Url, Slot::Format, Slot::Structure, Slot::Compression];
                (1..=all.len()).contains(&texts.len()).then(|| all[..texts.len()].to_vec())
            }
        }
    }

    /// The argument called `name` in `name = value`, or a key of a named collection.
    pub fn named_slot(self, name: &str) -> Option<Slot> {
        let both = |name: &str| match name {
            "format" => Some(Slot::Format),
            "structure" => Some(Slot::Structure),
            "compression_method" | "compression" => Some(Slot::Compression),
            _ => None,
        };
        let own = match (self, name) {
            (Family::S3 | Family::Url, "url") | (Family::File, "path" | "url") => Slot::Url,
            (Family::S3 | Family::Url, "filename") => Slot::FileName,
            (Family::S3, "no_sign_request") => Slot::NoSign,
            (Family::S3, "use_environment_credentials") => Slot::UseEnvironment,
            (Family::S3, "access_key_id") => Slot::KeyId,
            (Family::S3, "secret_access_key") => Slot::KeySecret,
            (Family::S3, "session_token") => Slot::Token,
            (Family::S3, "expiration_window_seconds") => Slot::ExpirationWindow,
            (Family::S3, "storage_class_name") => Slot::StorageClass,
            (Family::Azure, "connection_string" | "storage_account_url") => Slot::Url,
            (Family::Azure, "container") => Slot::Container,
            (Family::Azure, "blob_path") => Slot::BlobPath,
            (Family::Azure, "account_name") => Slot::AccountName,
            (Family::Azure, "account_key") => Slot::AccountKey,
            (Family::Url, "method") => Slot::Method,
            (Family::S3 | Family::Azure, "partition_strategy") => Slot::PartitionStrategy,
            (Family::S3 | Family::Azure, "partition_columns_in_data_file") => Slot::PartitionColumnsInFile,
            _ => return both(name),
        };
        Some(own)
    }

    /// Names [`Family::named_slot`] knows, for errors.
    pub fn names(self) -> &'static str {
        match self {
            Family::S3 => {
                "url, filename, access_key_id, secret_access_key, session_token, no_sign_request, \
                 use_environment_credentials, expiration_window_seconds, format, structure, compression_method, \
                 partition_strategy, partition_columns_in_data_file, storage_class_name"
            }
            Family::Azure => {
                "connection_string, storage_account_url, container, blob_path, account_name, account_key, format, \
                 compression_method, structure, partition_strategy, partition_columns_in_data_file"
            }
            Family::Url => "url, filename, method, format, structure, compression_method",
            Family::File => "path, format, structure, compression_method",
        }
    }

    /// Every way to call a function of the family, for errors.
    pub fn signatures(self) -> &'static str {
        match self {
            Family::S3 => {
                "(url), (url, NOSIGN), (url, format), (url, NOSIGN, format), (url, format, structure), \
                 (url, NOSIGN, format, structure), (url, format, structure, compression_method), \
                 (url, NOSIGN, format, structure, compression_method), (url, access_key_id, secret_access_key), \
                 (url, access_key_id, secret_access_key, session_token), \
                 (url, access_key_id, secret_access_key[, session_token], format), \
                 (url, access_key_id, secret_access_key[, session_token], format, structure), \
                 (url, access_key_id, secret_access_key[, session_token], format, structure, compression_method), \
                 each with [, partition_strategy[, partition_columns_in_data_file]] after compression_method, \
                 [, headers('name' = 'value', ..)] and name = value for the last ones; (named_collection[, name = value ..])"
            }
            Family::Azure => {
                "(connection_string, container, blob_path[, format[, compression_method[, structure]]]), \
                 (connection_string, container, blob_path, structure), \
                 (storage_account_url, container, blob_path, account_name, account_key\
                 [, format[, compression_method[, structure]]]), \
                 each with [, partition_strategy[, partition_columns_in_data_file]] after structure and \
                 name = value for the last ones; (named_collection[, name = value ..])"
            }
            Family::Url => {
                "(url[, format[, structure[, compression_method]]]), each with [, headers('name' = 'value', ..)] and \
                 name = value for the last ones; (named_collection[, name = value ..])"
            }
            Family::File => {
                "(path[, format[, structure[, compression_method]]]) with name = value for the last ones; \
                 (named_collection[, name = value ..])"
            }
        }
    }
}

/// ClickHouse's rule: the count, NOSIGN and the places of format names decide.
fn s3_slots(texts: &[&str]) -> Option<Vec<Slot>> {
    use Slot::{KeyId, KeySecret, NoSign, Token, Url};
    let is_format = |i: usize| texts.get(i).is_some_and(|text| format::is_name_or_auto(text));
    let no_sign = texts.get(1).is_some_and(|text| text.eq_ignore_ascii_case("NOSIGN"));
    let (head, rest): (&[Slot], usize) = match (texts.len(), no_sign) {
        (1, _) => (&[Url], 0),
        (count @ 2..=7, true) => (&[Url, NoSign], count - 2),
        (2, _) => (&[Url], 1),
        (count @ 3..=6, _) if is_format(1) => (&[Url], count - 1),
        (3, _) => (&[Url, KeyId, KeySecret], 0),
        (count @ 4..=8, _) if is_format(3) => (&[Url, KeyId, KeySecret], count - 3),
        (count @ 4..=9, _) => (&[Url, KeyId, KeySecret, Token], count - 4),
        _ => return None,
    };
    Some(head.iter().chain(TAIL.iter().take(rest)).copied().collect())
}

fn azure_slots(texts: &[&str]) -> Option<Vec<Slot>> {
    use Slot::{AccountKey, AccountName, BlobPath, Container, Structure, Url};
    let is_format = |i: usize| texts.get(i).is_some_and(|text| format::is_name_or_auto(text));
    let base = [Url, Container, BlobPath];
    let (more, rest): (&[Slot], usize) = match texts.len() {
        3 => (&[], 0),
        count @ 4..=8 if is_format(3) => (&[], count - 3),
        4 => (&[Structure], 0),
        count @ 5..=10 => (&[AccountName, AccountKey], count - 5),
        _ => return None,
    };
    Some(base.iter().chain(more).chain(AZURE_TAIL.iter().take(rest)).copied().collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(family: Family, texts: &[&str]) -> String {
        family
            .slots(texts)
            .map_or_else(String::new, |slots| slots.into_iter().map(Slot::name).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn azure_has_its_own_order() {
        for (texts, expected) in [
            (&["c", "b", "p"][..], "url container blob_path"),
            (&["c", "b", "p", "CSV"], "url container blob_path format"),
            (&["c", "b", "p", "a Int8"], "url container blob_path structure"),
            (&["c", "b", "p", "CSV", "gzip"], "url container blob_path format compression_method"),
            (&["c", "b", "p", "n", "k"], "url container blob_path account_name account_key"),
            (
                &["c", "b", "p", "auto", "auto", "auto"],
                "url container blob_path format compression_method structure",
            ),
            (
                &["c", "b", "p", "n", "k", "CSV", "auto", "a Int8"],
                "url container blob_path account_name account_key format compression_method structure",
            ),
            (&["c", "b"], ""),
        ] {
            assert_eq!(names(Family::Azure, texts), expected, "{texts:?}");
        }
    }

    /// The table of the specification, written as it stands there.
    fn table(texts: &[&str]) -> Option<&'static str> {
        let f = |i: usize| texts.get(i - 1).is_some_and(|text| format::is_name_or_auto(text));
        let no_sign = texts.get(1).is_some_and(|text| text.eq_ignore_ascii_case("NOSIGN"));
        Some(match texts.len() {
            1 => "url",
            2 if no_sign => "url NOSIGN",
            2 => "url format",
            3 if no_sign => "url NOSIGN format",
            3 if f(2) => "url format structure",
            3 => "url access_key_id secret_access_key",
            4 if no_sign => "url NOSIGN format structure",
            4 if f(2) => "url format structure compression_method",
            4 if f(4) => "url access_key_id secret_access_key format",
            4 => "url access_key_id secret_access_key session_token",
            5 if no_sign => "url NOSIGN format structure compression_method",
            5 if f(4) => "url access_key_id secret_access_key format structure",
            5 => "url access_key_id secret_access_key session_token format",
            6 if f(4) => "url access_key_id secret_access_key format structure compression_method",
            6 => "url access_key_id secret_access_key session_token format structure",
            7 => "url access_key_id secret_access_key session_token format structure compression_method",
            _ => return None,
        })
    }

    proptest! {
        /// Whoever writes one of the signatures is read as the table says. Calls that no signature means (a format in
        /// the place of a key) are left out: there the newer signatures with a partition strategy apply.
        #[test]
        fn positions_follow_the_table(
            texts in prop::collection::vec(
                prop::sample::select(vec!["u", "k", "NOSIGN", "nosign", "CSV", "Parquet", "auto", "a Int8", "gzip"]),
                1..=7,
            ),
        ) {
            let is_format = |i: usize| texts.get(i).is_some_and(|text| format::is_name_or_auto(text));
            let newer = (texts.len() >= 5 && is_format(1))
                || (texts.len() >= 6 && texts[1].eq_ignore_ascii_case("NOSIGN"))
                || (texts.len() == 7 && is_format(3));
            prop_assume!(!newer);
            prop_assert_eq!(names(Family::S3, &texts), table(&texts).unwrap_or_default());
        }

        #[test]
        fn every_position_has_one_meaning(
            texts in prop::collection::vec("[a-zA-Z]{0,6}|auto|CSV|NOSIGN", 0..12),
        ) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            for family in [Family::S3, Family::Azure, Family::Url, Family::File] {
                let Some(slots) = family.slots(&texts) else { continue };
                prop_assert_eq!(slots.len(), texts.len());
                for (i, slot) in slots.iter().enumerate() {
                    prop_assert!(!slots[..i].contains(slot), "{:?} twice", slot);
                }
            }
        }
    }
}
