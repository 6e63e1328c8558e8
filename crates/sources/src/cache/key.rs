//! Under what a file's columns are remembered, and what is remembered of it.
//!
//! Invariant: two files, two versions of one, or two sets of settings that could infer differently never share a key.
//! Must not know: how long anything is kept.

use model::ColumnType;
use stores::clients::store::Store;
use stores::codecs::compression::Compression;
use stores::files::listing::SourceFile;
use stores::statement::settings::SourceSettings;

/// What a schema depends on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SchemaKey {
    /// `S3`, `File` and so on.
    pub storage: &'static str,
    /// Endpoint, bucket and key.
    pub source: String,
    pub etag: String,
    pub format: String,
    /// A digest of every setting that can change the answer.
    pub format_settings: String,
}

impl SchemaKey {
    /// `None` if the file has no version or the settings want nothing remembered.
    pub(crate) fn of(
        store: &Store,
        file: &SourceFile,
        settings: &SourceSettings,
        format: &str,
        compression: Option<Compression>,
    ) -> Option<SchemaKey> {
        let remembers = match store.is_local() {
            true => settings.use_schema_cache_for_files,
            false => settings.use_schema_cache,
        };
        Some(SchemaKey {
            storage: store.storage(),
            source: format!("{}/{}", store.identity(), file.key),
            etag: file.etag.clone().filter(|_| remembers)?,
            format: format.to_owned(),
            format_settings: digest(&[
                &format!("{compression:?}"),
                // All of it: a new setting of a format must not be forgotten here.
                &format!("{:?}", settings.format),
                &format!("{:?}", settings.inference),
                &settings.inference_bytes_max.to_string(),
            ]),
        })
    }

    /// The key of the number of rows of a text file that is read with these columns: they decide whether its first line
    /// is a header. `None` where rows that cannot be read are skipped, because which these are depends on more.
    pub(crate) fn of_rows(
        self,
        settings: &SourceSettings,
        stored: &[(String, ColumnType)],
    ) -> Option<SchemaKey> {
        let format = &settings.format;
        if format.allow_errors_num > 0 || format.allow_errors_ratio_billionths > 0 {
            return None;
        }
        let columns: Vec<String> = stored.iter().map(|(name, t)| format!("{name:?} {t}")).collect();
        let format_settings = digest(&[&self.format_settings, &columns.join("\n")]);
        Some(SchemaKey { format_settings, ..self })
    }
}

/// 128 bits, so that two sets of settings never look alike.
fn digest(parts: &[&str]) -> String {
    format!("{:032x}", xxhash_rust::xxh3::xxh3_128(parts.join("\n").as_bytes()))
}

/// What is known of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SchemaEntry {
    /// `None` before anybody asked for them.
    pub columns: Option<Vec<(String, ColumnType)>>,
    pub rows: Option<u64>,
    pub registered_ms: u64,
}
