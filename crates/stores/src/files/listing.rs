//! From a pattern to the files it names.
//!
//! Invariant: every file once, in order of keys for a listing and in the pattern's order for exact keys; no folders.
//! Exact keys make no LIST, nor do paths a filter names; partitions that a filter excludes are not listed. Must not know: formats, columns.

use std::collections::HashSet;
use std::path::Path as FilePath;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use futures::stream::{self, StreamExt, TryStreamExt};
use host::MemoryGrant;

use crate::clients::store::{ListedObject, Store, looping};
use crate::error::{Result, SourceError, SourceErrorKind};
use crate::files::folders::narrow;
use crate::keys::file_filter::FileFilter;
use crate::keys::glob::Glob;
use crate::keys::hive;
use crate::requests::facts::Pairs;
use crate::statement::progress::ReadProgress;
use crate::statement::settings::SourceSettings;
use crate::web::spool::Spool;

/// Requests of one listing in flight.
const LISTING_REQUESTS_MAX: usize = 16;
/// Components of a local path a pattern may walk into: a loop of symbolic links ends here.
const LOCAL_DEPTH_MAX: usize = 64;

/// One file of a source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceFile {
    /// Key in the bucket, or absolute path without the leading `/`.
    pub key: String,
    /// `bucket/key`, or the absolute path: the column `_path`.
    pub path: String,
    /// Last component: the column `_file`.
    pub file: String,
    pub bytes: u64,
    pub modified: Option<DateTime<Utc>>,
    pub etag: Option<String>,
    /// Of a page: what its server said of it, in order of the names.
    pub headers: Option<Arc<Pairs>>,
    /// Of an object of a bucket, once they were asked for.
    pub tags: Option<Arc<Pairs>>,
    /// Its content where the store's bytes are not what is read; `bytes` counts it.
    pub unwrapped: Option<Unwrapped>,
}

/// A file's content without the compression around it.
#[derive(Clone)]
pub struct Unwrapped {
    /// All bytes of the file.
    pub content: Arc<Spool>,
    /// Held for as long as the content is.
    pub granted: Arc<MemoryGrant>,
}

impl std::fmt::Debug for Unwrapped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes, {} in memory", self.content.bytes(), self.granted.bytes())
    }
}

impl PartialEq for Unwrapped {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.content, &other.content)
    }
}

impl Eq for Unwrapped {}

impl SourceFile {
    fn new(object: ListedObject, store: &Store) -> Self {
        SourceFile {
            path: store.shown(&object.key),
            file: object.key.rsplit('/').next().unwrap_or(&object.key).to_owned(),
            key: object.key,
            bytes: object.bytes,
            modified: object.modified,
            etag: object.etag,
            headers: None,
            tags: None,
            unwrapped: None,
        }
    }
}

/// What a pattern names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Listing {
    pub files: Vec<SourceFile>,
    /// Keys the store showed us while looking.
    pub keys_seen: usize,
    /// Zero-byte files left out.
    pub empty_files: usize,
    /// Whether the statement's filter may have kept files away.
    pub is_narrowed: bool,
}

/// Objects below a pattern's prefixes, before they are held against the pattern.
#[derive(Default)]
struct Found {
    objects: Vec<ListedObject>,
    is_narrowed: bool,
}

impl From<Vec<ListedObject>> for Found {
    fn from(objects: Vec<ListedObject>) -> Self {
        Found { objects, is_narrowed: false }
    }
}

/// Finds the files of a pattern.
///
/// # Errors
/// The store's own, an exact key that does not exist (unless `ignore_missing`), or no file at all with
/// `throw_on_zero_files`.
pub async fn list(
    store: &Arc<Store>,
    glob: &Glob,
    settings: &SourceSettings,
    progress: &ReadProgress,
) -> Result<Listing> {
    let (filter, hive) = (&settings.wanted_files, settings.hive_partitioning);
    let found = match (filter.paths(settings.path_filter_limit), glob.exact_keys()) {
        (Some(paths), None) => {
            Found { objects: chosen(store, &paths, glob, progress).await?, is_narrowed: true }
        }
        (_, Some(mut keys)) => {
            let before = keys.len();
            keys.retain(|key| filter.keeps(&store.shown(key), hive));
            let is_narrowed = keys.len() < before;
            Found { objects: exact(store, keys, settings.ignore_missing, progress).await?, is_narrowed }
        }
        (None, None) if store.is_local() => walk(store, glob, settings).await?,
        (None, None) => listed(store, glob, settings, progress).await?,
    };
    let Found { objects, is_narrowed } = found;
    let mut listing = Listing { keys_seen: objects.len(), is_narrowed, ..Listing::default() };
    let mut seen = HashSet::new();
    let folders = folders(&objects);
    for object in objects {
        // The client drops the `/` at the end of a folder's name.
        let is_folder = object.bytes == 0 && folders.contains(&object.key);
        if is_folder
            || object.key.ends_with('/')
            || !glob.matches(&object.key)
            || !seen.insert(object.key.clone())
        {
            continue;
        }
        if !filter.keeps(&store.shown(&object.key), hive) {
            listing.is_narrowed = true;
            continue;
        }
        if object.bytes == 0 && settings.skip_empty_files {
            listing.empty_files += 1;
            continue;
        }
        listing.files.push(SourceFile::new(object, store));
    }
    let is_nothing = listing.files.is_empty() && listing.empty_files == 0 && !listing.is_narrowed;
    if is_nothing && settings.throw_on_zero_files {
        let message = format!("\"{}\" matches no file", store.shown(glob.pattern()));
        return Err(SourceError::new(SourceErrorKind::NotFound, message)
            .with_hint("s3_throw_on_zero_files_match = 0 makes that no rows"));
    }
    Ok(listing)
}

/// What stands in front of a `/` in any key, where an empty object lists that could be a folder.
fn folders(objects: &[ListedObject]) -> HashSet<String> {
    if objects.iter().all(|object| object.bytes > 0) {
        return HashSet::new();
    }
    let parents = |object: &ListedObject| {
        let ends: Vec<usize> = object.key.match_indices('/').map(|(at, _)| at).collect();
        ends.into_iter().map(|at| object.key[..at].to_owned()).collect::<Vec<_>>()
    };
    objects.iter().flat_map(parents).collect()
}

/// Paths a filter names, without a listing; those that do not exist are simply not there.
async fn chosen(
    store: &Arc<Store>,
    paths: &[&str],
    glob: &Glob,
    progress: &ReadProgress,
) -> Result<Vec<ListedObject>> {
    let own = store.shown("");
    let keys = paths.iter().filter_map(|path| path.strip_prefix(own.as_str()));
    let mut keys: Vec<String> = keys.filter(|key| glob.matches(key)).map(str::to_owned).collect();
    keys.sort_unstable();
    keys.dedup();
    exact(store, keys, true, progress).await
}

async fn exact(
    store: &Arc<Store>,
    keys: Vec<String>,
    ignore_missing: bool,
    progress: &ReadProgress,
) -> Result<Vec<ListedObject>> {
    let heads = keys.into_iter().map(|key| async move {
        progress.add_request();
        match store.head(&key).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if ignore_missing && error.kind() == SourceErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    });
    let found: Vec<Option<ListedObject>> =
        stream::iter(heads).buffered(LISTING_REQUESTS_MAX).try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}

async fn listed(
    store: &Arc<Store>,
    glob: &Glob,
    settings: &SourceSettings,
    progress: &ReadProgress,
) -> Result<Found> {
    let mut prefixes = glob.listing_prefixes();
    let mut is_narrowed = false;
    if let ([prefix], true) = (prefixes.as_slice(), settings.hive_partitioning) {
        match wanted_prefixes(store, prefix, settings, progress).await? {
            Wanted::Prefixes(wanted) => (prefixes, is_narrowed) = (wanted, true),
            Wanted::Found(objects) => return Ok(objects.into()),
            Wanted::All => {}
        }
    }
    let prefixes = prefixes.into_iter().map(|prefix| async move {
        let mut objects = Vec::new();
        let mut token = None;
        let mut tokens = HashSet::new();
        loop {
            progress.add_request();
            let page = store.list_page(&prefix, token, settings.list_page_keys).await?;
            objects.extend(page.objects);
            token = page.next;
            match &token {
                None => return Ok::<_, SourceError>(objects),
                Some(token) if !tokens.insert(token.clone()) => {
                    return Err(looping(store.shown("").trim_end_matches('/'), &prefix));
                }
                Some(_) => {}
            }
        }
    });
    let lists: Vec<Vec<ListedObject>> =
        stream::iter(prefixes).buffered(LISTING_REQUESTS_MAX).try_collect().await?;
    let mut objects: Vec<ListedObject> = lists.into_iter().flatten().collect();
    objects.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(Found { objects, is_narrowed })
}

/// How a prefix whose folders may be partitions is listed.
enum Wanted {
    All,
    /// One page held everything.
    Found(Vec<ListedObject>),
    Prefixes(Vec<String>),
}

/// With a filter that may be about partitions, the first page says whether it is, and whether there is more at all.
async fn wanted_prefixes(
    store: &Arc<Store>,
    prefix: &str,
    settings: &SourceSettings,
    progress: &ReadProgress,
) -> Result<Wanted> {
    let filter = &settings.wanted_files;
    if filter.partition_names().next().is_none() {
        return Ok(Wanted::All);
    }
    progress.add_request();
    let page = store.list_page(prefix, None, settings.list_page_keys).await?;
    if page.next.is_none() {
        return Ok(Wanted::Found(page.objects));
    }
    // A prefix may end inside a folder's name.
    let folder = prefix.rsplit_once('/').map_or_else(String::new, |(folder, _)| format!("{folder}/"));
    let below = |object: &ListedObject| object.key.get(folder.len()..).unwrap_or_default().to_owned();
    let first = page.objects.first().map(below).unwrap_or_default();
    let named = hive::pairs(&first)?;
    let decisive: Vec<String> =
        filter.partition_names().filter(|name| named.contains_key(name)).map(str::to_owned).collect();
    if decisive.is_empty() {
        return Ok(Wanted::All);
    }
    Ok(Wanted::Prefixes(narrow(store, folder, decisive, settings, progress).await?.prefixes))
}

/// Local files: folders are read on a thread that may block, then each match is asked for its size.
async fn walk(store: &Arc<Store>, glob: &Glob, settings: &SourceSettings) -> Result<Found> {
    let pattern = glob.clone();
    let filter =
        if settings.hive_partitioning { settings.wanted_files.clone() } else { FileFilter::default() };
    let walk = store.runtimes().spawn_blocking("source walk", move || {
        let mut walked = Walked::default();
        for prefix in pattern.listing_prefixes() {
            let folder = prefix.rsplit_once('/').map_or("", |(folder, _)| folder);
            walk_folder(folder, &pattern, &filter, &mut walked);
        }
        walked.keys.sort_unstable();
        walked.keys.dedup();
        walked
    });
    let Walked { keys, is_narrowed } =
        walk.await.map_err(|task| SourceError::ended_early("listing", task))?;
    let heads = keys.into_iter().map(|key| async move { store.head(&key).await });
    let objects = stream::iter(heads).buffered(LISTING_REQUESTS_MAX).try_collect().await?;
    Ok(Found { objects, is_narrowed })
}

#[derive(Default)]
struct Walked {
    keys: Vec<String>,
    is_narrowed: bool,
}

/// Whether a file is one of ours that is still written: `.name.<id>.tmp`, with the id of an export.
pub fn is_unfinished(name: &str) -> bool {
    let inside = name.strip_prefix('.').and_then(|rest| rest.strip_suffix(".tmp"));
    let id = inside.and_then(|inside| inside.rsplit_once('.')).map_or("", |(_, id)| id);
    let fits = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    id.len() == 36 && id.bytes().enumerate().all(fits)
}

/// A folder that cannot be read holds no matches: it may be another user's, deep below the pattern.
fn walk_folder(folder: &str, glob: &Glob, filter: &FileFilter, walked: &mut Walked) {
    let Ok(entries) = std::fs::read_dir(FilePath::new("/").join(folder)) else { return };
    let depth_max = glob.slashes_max().unwrap_or(LOCAL_DEPTH_MAX);
    for entry in entries.flatten() {
        let (Ok(name), Ok(metadata)) = (entry.file_name().into_string(), std::fs::metadata(entry.path()))
        else {
            continue;
        };
        let wanted = !metadata.is_dir() || filter.keeps_folder(&name);
        if metadata.is_file() && is_unfinished(&name) {
            continue;
        }
        let key = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        walked.is_narrowed |= !wanted;
        if metadata.is_dir() && wanted && key.matches('/').count() < depth_max {
            walk_folder(&key, glob, filter, walked);
        } else if metadata.is_file() && glob.matches(&key) {
            walked.keys.push(key);
        }
    }
}
