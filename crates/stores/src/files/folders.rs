//! Folders of a bucket, so that partitions nobody wants are never listed.
//!
//! Invariant: what is found holds every key below the prefix that the filter may leave. Must not know: formats, columns.

use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};

use crate::clients::store::Store;
use crate::error::Result;
use crate::keys::file_filter::FileFilter;
use crate::keys::hive;
use crate::statement::progress::ReadProgress;
use crate::statement::settings::SourceSettings;

/// Folders looked into at one time, and how many of one level: of more the level is listed whole.
const FOLDERS_AT_ONCE: usize = 16;
const FOLDERS_MAX: usize = 256;
/// Levels of partitions.
const LEVELS_MAX: usize = 16;

/// What to list instead of one prefix.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Narrowed {
    /// Everything below these may be wanted.
    pub prefixes: Vec<String>,
}

/// A prefix on the way down.
#[derive(Clone)]
struct Level {
    prefix: String,
    /// Partitions the filter names and the prefix has not decided yet.
    open: Vec<String>,
}

/// Walks down the partitions below a folder, leaving out those the filter excludes, until all of `open` are decided.
pub(crate) async fn narrow(
    store: &Arc<Store>,
    folder: String,
    open: Vec<String>,
    settings: &SourceSettings,
    progress: &ReadProgress,
) -> Result<Narrowed> {
    let filter = &settings.wanted_files;
    let mut found = Narrowed::default();
    let mut levels = vec![Level { prefix: folder, open }];
    for _ in 0..LEVELS_MAX {
        let asked: Vec<_> =
            levels.into_iter().map(|level| looked_into(store, level, settings, progress)).collect();
        let answers: Vec<(Level, Option<Vec<String>>)> =
            stream::iter(asked).buffered(FOLDERS_AT_ONCE).try_collect().await?;
        let mut next = Vec::new();
        for (level, folders) in answers {
            match folders.filter(|folders| is_partitioned(folders)) {
                Some(folders) => descend(&level, &folders, filter, &mut next, &mut found),
                None => found.prefixes.push(level.prefix),
            }
        }
        levels = next;
        if levels.is_empty() {
            return Ok(found);
        }
        if levels.len() > FOLDERS_MAX {
            break;
        }
    }
    found.prefixes.extend(levels.into_iter().map(|level| level.prefix));
    Ok(found)
}

async fn looked_into(
    store: &Arc<Store>,
    level: Level,
    settings: &SourceSettings,
    progress: &ReadProgress,
) -> Result<(Level, Option<Vec<String>>)> {
    progress.add_request();
    let folders = folders_of(store, &level.prefix, settings.list_page_keys).await?;
    Ok((level, folders))
}

/// Keys that lie in a level beside its partitions would be missed, so a level counts only if it is nothing but those.
fn is_partitioned(folders: &[String]) -> bool {
    !folders.is_empty() && folders.iter().all(|folder| hive::pair(name_of(folder)).is_some())
}

fn name_of(folder: &str) -> &str {
    let folder = folder.trim_end_matches('/');
    folder.rsplit('/').next().unwrap_or(folder)
}

fn descend(
    level: &Level,
    folders: &[String],
    filter: &FileFilter,
    next: &mut Vec<Level>,
    found: &mut Narrowed,
) {
    for folder in folders.iter().filter(|folder| filter.keeps_folder(name_of(folder))) {
        let decided = hive::pair(name_of(folder)).map_or("", |(name, _)| name);
        let open: Vec<String> = level.open.iter().filter(|name| *name != decided).cloned().collect();
        match open.is_empty() {
            true => found.prefixes.push(folder.clone()),
            false => next.push(Level { prefix: folder.clone(), open }),
        }
    }
}

/// The folders right below a prefix; `None` if there are keys, too, or more than one page of folders.
async fn folders_of(store: &Arc<Store>, prefix: &str, keys_max: usize) -> Result<Option<Vec<String>>> {
    if store.bucket.is_none() {
        return Ok(None);
    }
    store.folders_page(prefix, keys_max).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::file_filter::{FileCondition, FilterValue};

    #[test]
    fn partitions_that_are_excluded_are_not_entered() {
        let filter = FileFilter {
            conditions: vec![FileCondition {
                column: "m".to_owned(),
                values: vec![FilterValue::Number("2".to_owned())],
            }],
        };
        let level = Level { prefix: "t/".to_owned(), open: vec!["m".to_owned()] };
        let (mut next, mut found) = (Vec::new(), Narrowed::default());
        let folders = ["t/m=01/", "t/m=02/", "t/m=__HIVE_DEFAULT_PARTITION__/", "t/y=1/"].map(str::to_owned);
        assert!(is_partitioned(&folders));
        descend(&level, &folders, &filter, &mut next, &mut found);
        assert_eq!(found.prefixes, ["t/m=02/", "t/m=__HIVE_DEFAULT_PARTITION__/"]);
        assert_eq!(next.iter().map(|level| level.prefix.as_str()).collect::<Vec<_>>(), ["t/y=1/"]);
        assert!(!is_partitioned(&["t/m=1/".to_owned(), "t/plain/".to_owned()]) && !is_partitioned(&[]));
    }
}
