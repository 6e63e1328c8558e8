//! Listing a bucket: keys in byte order, by prefix, delimiter and page.
//!
//! Invariant: pages laid end to end are the whole listing, each key once, as long as nothing changes meanwhile.
//! Folders that cannot hold a wanted key are not opened.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// One object as a listing shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) key: String,
    pub(super) bytes: u64,
    pub(super) modified: SystemTime,
}

/// What a client asks for.
#[derive(Clone, Debug, Default)]
pub(super) struct ListRequest {
    pub(super) prefix: String,
    pub(super) delimiter: Option<String>,
    /// Keys and common prefixes up to and including this one are left out.
    pub(super) after: String,
    pub(super) keys_max: usize,
}

/// What it gets.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) objects: Vec<Listed>,
    pub(super) common_prefixes: BTreeSet<String>,
    /// Where the next page begins; `None` on the last page.
    pub(super) next_after: Option<String>,
}

impl Page {
    fn is_full(&self, request: &ListRequest) -> bool {
        self.objects.len() + self.common_prefixes.len() >= request.keys_max
    }
}

/// Lists the files below `bucket`. An absent folder is an error of kind `NotFound`.
pub(super) fn list(bucket: &Path, request: &ListRequest) -> io::Result<Page> {
    let mut page = Page::default();
    if request.keys_max > 0 {
        walk(bucket, "", request, &mut page)?;
    }
    Ok(page)
}

/// Visits one folder whose keys begin with `folder_key`; false when the page is full.
fn walk(folder: &Path, folder_key: &str, request: &ListRequest, page: &mut Page) -> io::Result<bool> {
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let is_folder = entry.file_type()?.is_dir();
        // Names that are not UTF-8 cannot be keys.
        if let Ok(name) = entry.file_name().into_string() {
            let key = format!("{folder_key}{name}{}", if is_folder { "/" } else { "" });
            entries.push((key, is_folder, entry));
        }
    }
    entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    for (key, is_folder, entry) in entries {
        let wanted = if is_folder { may_hold(&key, request) } else { is_wanted(&key, request) };
        if !wanted {
            continue;
        }
        let goes_on = if is_folder {
            walk(&entry.path(), &key, request, page)?
        } else {
            add(key, &entry.metadata()?, request, page)?
        };
        if !goes_on {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_wanted(key: &str, request: &ListRequest) -> bool {
    key.starts_with(&request.prefix) && key > request.after.as_str()
}

/// Whether a folder (`a/b/`) may hold a key that is wanted.
fn may_hold(folder: &str, request: &ListRequest) -> bool {
    let on_the_way = folder.starts_with(&request.prefix) || request.prefix.starts_with(folder);
    let not_behind = folder > request.after.as_str() || request.after.starts_with(folder);
    on_the_way && not_behind
}

fn add(
    key: String,
    metadata: &std::fs::Metadata,
    request: &ListRequest,
    page: &mut Page,
) -> io::Result<bool> {
    let group = request.delimiter.as_deref().and_then(|delimiter| {
        let at = key[request.prefix.len()..].find(delimiter)?;
        Some(key[..request.prefix.len() + at + delimiter.len()].to_owned())
    });
    if let Some(group) = &group
        && (page.common_prefixes.contains(group) || *group <= request.after)
    {
        return Ok(true);
    }
    if page.is_full(request) {
        let last_object = page.objects.last().map(|object| object.key.clone());
        let last_group = page.common_prefixes.last().cloned();
        page.next_after = last_object.max(last_group);
        return Ok(false);
    }
    match group {
        Some(group) => {
            page.common_prefixes.insert(group);
        }
        None => page.objects.push(Listed { key, bytes: metadata.len(), modified: metadata.modified()? }),
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use host::{Disk, SystemDisk};

    use super::*;

    fn bucket(keys: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for key in keys {
            let path = folder.path().join(key);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            SystemDisk.create(&path).unwrap().append(key.as_bytes()).unwrap();
        }
        folder
    }

    fn names(page: &Page) -> Vec<String> {
        let keys = page.objects.iter().map(|object| object.key.clone());
        keys.chain(page.common_prefixes.iter().map(|prefix| format!("[{prefix}]"))).collect()
    }

    fn request(prefix: &str, delimiter: Option<&str>, keys_max: usize) -> ListRequest {
        let delimiter = delimiter.map(str::to_owned);
        ListRequest { prefix: prefix.to_owned(), delimiter, after: String::new(), keys_max }
    }

    #[test]
    fn keys_come_in_byte_order_not_in_folder_order() {
        // '-' sorts before '/', so a-b.csv stands before everything in folder a.
        let bucket = bucket(&["a/2.csv", "a/10.csv", "a-b.csv", "a.csv", "b/c/3.csv"]);
        let page = list(bucket.path(), &request("", None, 1000)).unwrap();
        assert_eq!(names(&page), ["a-b.csv", "a.csv", "a/10.csv", "a/2.csv", "b/c/3.csv"]);
        assert_eq!(page.next_after, None);
    }

    #[test]
    fn prefix_and_delimiter_group_what_lies_deeper() {
        let bucket = bucket(&["a/1", "a/b/2", "a/b/3", "a/c/4", "z"]);
        assert_eq!(
            names(&list(bucket.path(), &request("a/", Some("/"), 1000)).unwrap()),
            ["a/1", "[a/b/]", "[a/c/]"]
        );
        assert_eq!(names(&list(bucket.path(), &request("a/b", None, 1000)).unwrap()), ["a/b/2", "a/b/3"]);
        assert_eq!(
            names(&list(bucket.path(), &request("nothing", None, 1000)).unwrap()),
            Vec::<String>::new()
        );
    }

    #[test]
    fn pages_laid_end_to_end_are_the_listing() {
        let keys: Vec<String> = (0..7).flat_map(|a| (0..3).map(move |b| format!("d{a}/f{b}"))).collect();
        let bucket = bucket(&keys.iter().map(String::as_str).collect::<Vec<_>>());
        for (delimiter, expected) in [(None, 21), (Some("/"), 7)] {
            for size in [1, 2, 5, 21] {
                let mut request = request("", delimiter, size);
                let mut seen = Vec::new();
                loop {
                    let page = list(bucket.path(), &request).unwrap();
                    assert!(names(&page).len() <= size);
                    seen.extend(names(&page));
                    let Some(next) = page.next_after else { break };
                    request.after = next;
                }
                assert_eq!(seen.len(), expected, "{delimiter:?} by {size}: {seen:?}");
                assert!(seen.is_sorted());
            }
        }
    }

    #[test]
    fn an_absent_bucket_is_not_an_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        let error = list(&folder.path().join("none"), &request("", None, 10)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
