//! Names of what is written: the key of a statement, of a partition, of a numbered copy.
//!
//! Pure. Invariant: one partition has one key, and a value never changes which folder or pattern a key means: what
//! could is refused. Must not know: what exists, stores.

use std::path::{Path, PathBuf};

use formats::FormatKind;
use model::ErrorCode;
use stores::codecs::compression::Compression;
use stores::error::{Result, SourceError};

/// Stands for the partition's value in a path or bucket.
pub const PARTITION_WILDCARD: &str = "{_partition_id}";

/// How PARTITION BY becomes names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartitionStrategy {
    /// The value stands where the path says `{_partition_id}`.
    Wildcard,
    /// `<path>/name=value/../<id>.<format>`.
    Hive,
}

impl PartitionStrategy {
    /// What the argument says, or the path: ClickHouse's default is hive, and wildcard where the path has one.
    pub fn choose(said: Option<&str>, path: &str) -> Result<PartitionStrategy> {
        let has_wildcard = path.contains(PARTITION_WILDCARD);
        match said.map(str::to_ascii_lowercase).as_deref() {
            Some("wildcard") if !has_wildcard => Err(SourceError::bad_arguments(format!(
                "partition_strategy = 'wildcard' needs {PARTITION_WILDCARD} in the path \"{path}\""
            ))),
            Some("wildcard") => Ok(PartitionStrategy::Wildcard),
            Some("hive") if has_wildcard => Err(SourceError::bad_arguments(format!(
                "partition_strategy = 'hive' takes no {PARTITION_WILDCARD} in the path \"{path}\""
            ))),
            Some("hive") => Ok(PartitionStrategy::Hive),
            None if has_wildcard => Ok(PartitionStrategy::Wildcard),
            None => Ok(PartitionStrategy::Hive),
            Some(other) => Err(SourceError::bad_arguments(format!(
                "unknown partition_strategy \"{other}\"; wildcard and hive are known"
            ))),
        }
    }
}

/// A path that is written to is no pattern.
pub fn refuse_globs(path: &str) -> Result<()> {
    if path.contains(PARTITION_WILDCARD) {
        return Err(SourceError::bad_arguments(format!(
            "the path \"{path}\" has {PARTITION_WILDCARD}, and the INSERT has no PARTITION BY"
        ))
        .with_hint("add PARTITION BY"));
    }
    // Behind the ? of a URL nothing is a pattern.
    let is_url = path.starts_with("http://") || path.starts_with("https://");
    let pattern = if is_url { path.split('?').next().unwrap_or(path) } else { path };
    if pattern.contains(['*', '?', '{']) {
        return Err(SourceError::bad_arguments(format!(
            "path \"{path}\" contains globs, so it is read-only"
        ))
        .with_code(ErrorCode::DATABASE_ACCESS_DENIED)
        .with_hint("write to a path without *, ? and {"));
    }
    Ok(())
}

/// Refuses what would not name one object: a folder, a pattern, nothing.
pub fn check_value(value: &str) -> Result<()> {
    check_part(
        "partition value",
        value,
        "partition by an expression of plain text, such as base64Encode or replaceAll of it",
    )
}

fn check_part(what: &str, value: &str, hint: &str) -> Result<()> {
    let problem = match value.chars().find(|c| "/\\?*{}%".contains(*c) || c.is_control()) {
        _ if value.is_empty() => "is empty".to_owned(),
        _ if value == "." || value == ".." => "means a folder".to_owned(),
        None => return Ok(()),
        Some(c) if c.is_control() => format!("has the control character {}", c.escape_default()),
        Some(c) => format!("has the character '{c}'"),
    };
    let shown: String = value.chars().take(80).flat_map(char::escape_default).collect();
    Err(SourceError::bad_arguments(format!("{what} \"{shown}\" {problem}: it cannot be part of a key"))
        .with_hint(hint))
}

/// The path of one partition under the wildcard strategy.
pub fn with_value(path: &str, value: &str) -> Result<String> {
    check_value(value)?;
    Ok(path.replace(PARTITION_WILDCARD, value))
}

/// The key of one partition under the hive strategy; `id` tells it from what other statements write there.
pub fn hive_key(
    root: &str,
    columns: &[(String, String)],
    id: &str,
    format: FormatKind,
    compression: Compression,
) -> Result<String> {
    let mut key = root.trim_end_matches('/').to_owned();
    for (name, value) in columns {
        check_part("partition column", name, "select the column under a plain name")?;
        check_value(value)?;
        key.push_str(&format!("/{name}={value}"));
    }
    let suffix = suffix_of(compression);
    key.push_str(&format!("/{id}.{}{suffix}", format.name().to_ascii_lowercase()));
    Ok(key)
}

/// `data.csv.gz` with 2 is `data.2.csv.gz`: in front of the first point of the name, as ClickHouse counts.
pub fn numbered(key: &str, number: u32) -> String {
    let name_at = key.rfind('/').map_or(0, |slash| slash + 1);
    match key[name_at..].find('.') {
        Some(point) => {
            let (stem, suffixes) = key.split_at(name_at + point);
            format!("{stem}.{number}{suffixes}")
        }
        None => format!("{key}.{number}"),
    }
}

/// Formats whose rows end where the file ends; all others are closed by something.
pub fn can_append(format: FormatKind) -> bool {
    !["Parquet", "ORC", "Arrow", "ArrowStream", "Avro", "JSON", "JSONCompact", "XML", "Npy"]
        .contains(&format.name())
}

/// The name of a file while it is written: in the same folder, so that renaming it is all that is left to do.
pub(super) fn temporary_of(path: &str, id: &str) -> PathBuf {
    let path = Path::new(path);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.{id}.tmp"))
}

/// Whether `key` is [`numbered`] of `of`.
pub fn is_numbered(of: &str, key: &str) -> bool {
    let name_at = of.rfind('/').map_or(0, |slash| slash + 1);
    let (stem, suffixes) = of.split_at(of[name_at..].find('.').map_or(of.len(), |point| name_at + point));
    let number = key.strip_prefix(stem).and_then(|rest| rest.strip_suffix(suffixes)?.strip_prefix('.'));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn suffix_of(compression: Compression) -> String {
    match compression.name() {
        "none" => String::new(),
        "gzip" => ".gz".to_owned(),
        "zstd" => ".zst".to_owned(),
        "brotli" => ".br".to_owned(),
        other => format!(".{other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_numbered_before_the_first_point() {
        for (key, expected) in [
            ("data.csv.gz", "data.2.csv.gz"),
            ("a.b/data.csv", "a.b/data.2.csv"),
            ("a.b/data", "a.b/data.2"),
            ("data", "data.2"),
        ] {
            assert_eq!(numbered(key, 2), expected);
        }
    }

    #[test]
    fn values_that_would_move_a_key_are_refused() {
        for bad in ["", "a/b", "a?b", "*", "{x}", "a\nb", "\u{0}", "..", ".", "a%2Fb", "a\\b"] {
            let error = check_value(bad).unwrap_err();
            assert_eq!(error.code(), ErrorCode::BAD_ARGUMENTS, "{bad:?}");
            assert!(with_value("x_{_partition_id}", bad).is_err());
        }
        for good in ["a", "2024-01-01", "(1,'x')", "a b", "ü", "a=b"] {
            assert!(check_value(good).is_ok(), "{good:?}");
        }
        assert_eq!(with_value("b{_partition_id}/{_partition_id}.csv", "7").unwrap(), "b7/7.csv");
    }

    #[test]
    fn files_that_end_once_are_not_appended_to() {
        use FormatKind as F;
        for (format, expected) in [
            (F::Csv, true),
            (F::Native, true),
            (F::Parquet, false),
            (F::ArrowStream, false),
            (F::Json, false),
        ] {
            assert_eq!(can_append(format), expected, "{format:?}");
        }
    }

    #[test]
    fn hive_folders() {
        let columns = [("y".to_owned(), "2024".to_owned()), ("c".to_owned(), "de".to_owned())];
        let key = |root: &str, compression| {
            hive_key(root, &columns, "17", FormatKind::Parquet, compression).unwrap()
        };
        assert_eq!(key("out/", Compression::None), "out/y=2024/c=de/17.parquet");
        assert_eq!(key("out", Compression::Gzip), "out/y=2024/c=de/17.parquet.gz");
        let slash = [("y".to_owned(), "a/b".to_owned())];
        assert!(hive_key("out", &slash, "1", FormatKind::Csv, Compression::None).is_err());
        for name in ["../../../../tmp/e", "a/b", "..", ""] {
            let climbing = [(name.to_owned(), "1".to_owned())];
            let error = hive_key("out", &climbing, "1", FormatKind::Csv, Compression::None).unwrap_err();
            assert!(error.to_string().contains("partition column"), "{error}");
        }
    }

    #[test]
    fn the_path_decides_the_strategy_unless_it_is_said() {
        use PartitionStrategy::{Hive, Wildcard};
        let of = |said, path| PartitionStrategy::choose(said, path).map_err(|error| error.code());
        assert_eq!(of(None, "a/{_partition_id}.csv"), Ok(Wildcard));
        assert_eq!(of(None, "a"), Ok(Hive));
        assert_eq!(of(Some("HIVE"), "a"), Ok(Hive));
        assert_eq!(of(Some("hive"), "a/{_partition_id}.csv"), Err(ErrorCode::BAD_ARGUMENTS));
        assert_eq!(of(Some("wildcard"), "a"), Err(ErrorCode::BAD_ARGUMENTS));
        assert_eq!(of(Some("auto"), "a"), Err(ErrorCode::BAD_ARGUMENTS));
    }

    #[test]
    fn patterns_are_read_only() {
        for path in ["a/*.csv", "a/?.csv", "http://h/{a,b}"] {
            assert_eq!(refuse_globs(path).unwrap_err().code(), ErrorCode::DATABASE_ACCESS_DENIED, "{path}");
        }
        assert!(refuse_globs("http://h/x.csv?a=*").is_ok());
        assert!(refuse_globs("a/{_partition_id}.csv").unwrap_err().to_string().contains("PARTITION BY"));
        assert!(refuse_globs("a/b.csv").is_ok());
    }

    #[test]
    fn numbered_keys_are_recognised() {
        for key in ["a.b/data.csv.gz", "a.b/data", "data.csv"] {
            assert!(is_numbered(key, &numbered(key, 12)), "{key}");
            assert!(!is_numbered(key, key) && !is_numbered(key, &format!("{key}.1x")), "{key}");
        }
        assert!(!is_numbered("data.csv", "data.other.csv") && !is_numbered("data.csv", "data.1.parquet"));
    }
}
