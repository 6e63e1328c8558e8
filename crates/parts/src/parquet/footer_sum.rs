//! One sum over what a footer says of its part, for readers who have no descriptor to compare it with.
//!
//! It stands in the footer under `gristmill.footer_sum`, in hexadecimal digits: XXH3-64 of the other pairs whose key begins with
//! `gristmill.`, in the order of their keys, each as `key NUL value NUL`, and of the number of rows, eight little-endian
//! bytes. The sums of the pages are one of these pairs, so it vouches for every row. Must not know: what the pairs mean.

use std::collections::BTreeMap;

use ::parquet::file::metadata::{KeyValue, ParquetMetaData};
use xxhash_rust::xxh3::Xxh3;

const KEY: &str = "gristmill.footer_sum";
const OURS: &str = "gristmill.";

/// What a footer says of its part.
pub(crate) type OwnPairs = BTreeMap<String, String>;

fn sum_of(pairs: &OwnPairs, rows: u64) -> u64 {
    let mut hash = Xxh3::new();
    for (key, value) in pairs {
        for text in [key, value] {
            hash.update(text.as_bytes());
            hash.update(&[0]);
        }
    }
    hash.update(&rows.to_le_bytes());
    hash.digest()
}

/// The sum as an entry of the footer of a file of so many rows.
pub(crate) fn key_value(pairs: &OwnPairs, rows: u64) -> KeyValue {
    KeyValue::new(KEY.to_owned(), format!("{:016x}", sum_of(pairs, rows)))
}

/// The pairs of a footer, and its rows, if they are as they were written; an error says what is wrong.
pub(crate) fn checked(footer: &ParquetMetaData) -> Result<(OwnPairs, u64), String> {
    let entries = footer.file_metadata().key_value_metadata().into_iter().flatten();
    let ours = entries.filter(|entry| entry.key.starts_with(OURS));
    let mut pairs: OwnPairs =
        ours.map(|entry| (entry.key.clone(), entry.value.clone().unwrap_or_default())).collect();
    let rows = u64::try_from(footer.file_metadata().num_rows()).map_err(|e| e.to_string())?;
    let written = pairs.remove(KEY).ok_or("its footer does not say enough: an older version wrote it")?;
    match format!("{:016x}", sum_of(&pairs, rows)) == written {
        true => Ok((pairs, rows)),
        false => Err("its footer is not as it was written".to_owned()),
    }
}
