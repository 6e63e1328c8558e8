//! Buckets and keys as paths below one folder.
//!
//! Invariant: no name leads out of the folder, and `key_of(path_of(key)) == key`. Because folders stand for the pieces
//! between slashes, `a` and `a/b` cannot both be objects, and a key with an empty piece or `..` is refused.

use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Where unfinished uploads lie; no bucket name may begin with a dot.
pub(super) const UPLOADS: &str = ".uploads";

/// The path of `key` in `bucket`, or nothing if the key cannot be a path.
pub(super) fn path_of(root: &Path, bucket: &str, key: &str) -> Option<PathBuf> {
    let mut path = bucket_path(root, bucket)?;
    for piece in key.split('/') {
        if !is_plain(piece) {
            return None;
        }
        path.push(piece);
    }
    Some(path)
}

/// The folder of `bucket`, or nothing if the name cannot be one.
pub(super) fn bucket_path(root: &Path, bucket: &str) -> Option<PathBuf> {
    (is_plain(bucket) && !bucket.starts_with('.') && !bucket.contains('/')).then(|| root.join(bucket))
}

/// Bytes outside the unreserved set and `/` as `%XX`, for clients that ask for `encoding-type=url`.
pub(super) fn percent_encode(key: &str) -> String {
    const ESCAPED: &AsciiSet =
        &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');
    utf8_percent_encode(key, ESCAPED).to_string()
}

fn is_plain(piece: &str) -> bool {
    !piece.is_empty() && piece != "." && piece != ".." && !piece.contains('\0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_below_the_folder() {
        let root = Path::new("/srv");
        assert_eq!(path_of(root, "b", "x/y.parquet"), Some(PathBuf::from("/srv/b/x/y.parquet")));
        for (bucket, key) in
            [("b", "../x"), ("b", "x/../../y"), ("b", "x//y"), ("b", ""), ("..", "x"), (UPLOADS, "x")]
        {
            assert_eq!(path_of(root, bucket, key), None, "{bucket} {key}");
        }
    }

    #[test]
    fn percent_encoding_keeps_slashes() {
        assert_eq!(percent_encode("a/b c+é.csv"), "a/b%20c%2B%C3%A9.csv");
    }
}
