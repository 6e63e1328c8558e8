//! URLs and paths of the calls, taken apart: which endpoint, which bucket, which pattern of keys.
//!
//! Pure. Invariant: a pattern is text after URL decoding, so `%20` is a space and `*` is a glob. Displayed file names
//! are `bucket/key` for objects and absolute paths for files, as ClickHouse's `_path` shows them.
//! Must not know: credentials, clients.

use std::path::{Component, Path, PathBuf};

use crate::credentials::S3Environment;
use crate::error::{Result, SourceError, code};

/// Where files are, and which.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Location {
    S3 {
        bucket: BucketLocation,
        pattern: String,
    },
    /// Pattern of an absolute path without its leading `/`.
    Local {
        pattern: String,
    },
}

/// A bucket behind an endpoint.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BucketLocation {
    /// Scheme, host and port; of a virtual host with the bucket in it.
    pub endpoint: String,
    pub bucket: String,
    /// The bucket is part of the host name.
    pub virtual_host: bool,
    /// Named in the host or in the environment.
    pub region: Option<String>,
}

/// Where `file()` may look.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UserFiles {
    /// Relative paths start here; absolute.
    pub root: PathBuf,
    /// Absolute paths anywhere are allowed (`local` mode).
    pub anywhere: bool,
}

/// Takes a URL of `s3()` apart.
pub fn s3_location(url: &str, environment: &S3Environment) -> Result<Location> {
    let wrong = |problem: &str| SourceError::bad_arguments(format!("URL \"{url}\" {problem}"));
    let Some((scheme, rest)) = url.split_once("://") else {
        return Err(wrong("has no scheme; it starts with s3://, http:// or https://"));
    };
    if let Some(query) = query_string(rest) {
        return Err(SourceError::unsupported(format!(
            "the query string \"{query}\" of a URL is not supported yet"
        )));
    }
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    if host.is_empty() {
        return Err(wrong("has no host"));
    }
    if host.contains('@') {
        return Err(SourceError::bad_arguments(
            "credentials inside a URL are not accepted; give them as arguments",
        ));
    }
    let path = decode(path).ok_or_else(|| wrong("does not decode to UTF-8"))?;
    let (bucket, pattern) = match scheme.to_ascii_lowercase().as_str() {
        "s3" | "s3a" | "s3n" => (aws_bucket(host, environment), path),
        scheme @ ("http" | "https") => http_bucket(scheme, host, path, environment),
        "gs" | "gcs" | "oss" | "abfs" | "abfss" | "az" | "hdfs" => {
            return Err(SourceError::unsupported(format!("scheme \"{scheme}://\" is not supported yet")));
        }
        _ => return Err(wrong("has an unknown scheme; s3://, http:// and https:// are known")),
    };
    if bucket.bucket.is_empty() {
        return Err(wrong("names no bucket"));
    }
    if bucket.bucket.contains(['*', '?', '{']) {
        return Err(SourceError::unsupported(format!(
            "globs in the bucket name of \"{url}\" are not supported"
        )));
    }
    if pattern.is_empty() {
        return Err(
            wrong("names a bucket and no key").with_hint("append /** to read every key of the bucket")
        );
    }
    Ok(Location::S3 { bucket, pattern })
}

/// Takes a path of `file()` apart.
pub fn file_location(path: &str, files: &UserFiles) -> Result<Location> {
    let path = path.strip_prefix("file://").unwrap_or(path);
    if path.is_empty() {
        return Err(SourceError::bad_arguments("file() was given an empty path"));
    }
    let absolute = plain_path(&files.root.join(path));
    let root = plain_path(&files.root);
    if !files.anywhere && !absolute.starts_with(&root) {
        return Err(SourceError::bad_arguments(format!(
            "file \"{path}\" is not inside \"{}\"",
            root.display()
        ))
        .with_code(code::DATABASE_ACCESS_DENIED));
    }
    let text = absolute.to_str().unwrap_or(path);
    Ok(Location::Local { pattern: text.trim_start_matches('/').to_owned() })
}

/// Without `.` and `..`, by text alone: a glob names no real folder to ask.
fn plain_path(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// A query string, as opposed to the glob `?`: only names that S3 knows count.
fn query_string(rest: &str) -> Option<&str> {
    let (_, query) = rest.split_once('?')?;
    let known = ["versionId=", "X-Amz-", "x-amz-", "AWSAccessKeyId=", "response-", "partNumber="];
    known.iter().any(|name| query.starts_with(name)).then_some(query.split('=').next().unwrap_or(query))
}

/// Percent decoding; a `%` that starts no escape stands for itself, and so does `+`.
fn decode(path: &str) -> Option<String> {
    let bytes = path.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escape = (bytes[at] == b'%')
            .then(|| path.get(at + 1..at + 3))
            .flatten()
            .filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        out.push(escape.unwrap_or(bytes[at]));
        at += if escape.is_some() { 3 } else { 1 };
    }
    String::from_utf8(out).ok()
}

fn aws_bucket(bucket: &str, environment: &S3Environment) -> BucketLocation {
    let region = environment.region.clone();
    let aws = || format!("https://s3.{}.amazonaws.com", region.as_deref().unwrap_or("us-east-1"));
    let endpoint = environment.endpoint.as_ref().map_or_else(aws, |url| url.trim_end_matches('/').to_owned());
    BucketLocation { endpoint, bucket: bucket.to_owned(), virtual_host: false, region }
}

fn http_bucket(
    scheme: &str,
    host: &str,
    path: String,
    environment: &S3Environment,
) -> (BucketLocation, String) {
    let endpoint = format!("{scheme}://{host}");
    let region = aws_region(host).or_else(|| environment.region.clone());
    if let Some(bucket) = virtual_host_bucket(host) {
        return (BucketLocation { endpoint, bucket: bucket.to_owned(), virtual_host: true, region }, path);
    }
    let (bucket, key) = match path.split_once('/') {
        Some((bucket, key)) => (bucket.to_owned(), key.to_owned()),
        None => (path, String::new()),
    };
    (BucketLocation { endpoint, bucket, virtual_host: false, region }, key)
}

/// `bucket.s3.region.host`, `bucket.s3-region.host`: the label that says S3 is not the first one.
fn virtual_host_bucket(host: &str) -> Option<&str> {
    let at = host.match_indices(".s3").map(|(at, _)| at).find(|at| {
        let after = &host[at + 3..];
        after.starts_with('.') || after.starts_with('-')
    })?;
    (at > 0).then(|| &host[..at])
}

/// The region in `s3.eu-west-1.amazonaws.com` or `s3-eu-west-1.amazonaws.com`.
fn aws_region(host: &str) -> Option<String> {
    let name = host.strip_suffix(".amazonaws.com").or_else(|| host.strip_suffix(".amazonaws.com.cn"))?;
    let after = match name.rfind(".s3") {
        Some(at) => &name[at + 3..],
        None => name.strip_prefix("s3")?,
    };
    let region = after.trim_start_matches(['.', '-']).trim_start_matches("dualstack.");
    (!region.is_empty()).then(|| region.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(url: &str) -> String {
        match s3_location(url, &S3Environment::default()) {
            Ok(Location::S3 { bucket, pattern }) => format!(
                "{} {} {} {} {pattern}",
                bucket.endpoint,
                bucket.bucket,
                if bucket.virtual_host { "virtual" } else { "path" },
                bucket.region.as_deref().unwrap_or("-")
            ),
            Ok(Location::Local { pattern }) => pattern,
            Err(error) => format!("{} {error}", error.code()),
        }
    }

    #[test]
    fn every_form_of_url() {
        for (url, expected) in [
            ("http://localhost:9000/b/a/*.csv", "http://localhost:9000 b path - a/*.csv"),
            (
                "https://b.s3.eu-west-3.amazonaws.com/a/b",
                "https://b.s3.eu-west-3.amazonaws.com b virtual eu-west-3 a/b",
            ),
            ("https://my.b.s3.amazonaws.com/k", "https://my.b.s3.amazonaws.com my.b virtual - k"),
            (
                "https://b.s3-eu-west-3.amazonaws.com/k",
                "https://b.s3-eu-west-3.amazonaws.com b virtual eu-west-3 k",
            ),
            (
                "https://s3.eu-west-3.amazonaws.com/b/k",
                "https://s3.eu-west-3.amazonaws.com b path eu-west-3 k",
            ),
            ("https://s3.amazonaws.com/b/k", "https://s3.amazonaws.com b path - k"),
            ("s3://b/a/{1..3}.parquet", "https://s3.us-east-1.amazonaws.com b path - a/{1..3}.parquet"),
            ("http://h/b/a%20b%/c+d/?.csv", "http://h b path - a b%/c+d/?.csv"),
        ] {
            assert_eq!(shown(url), expected, "{url}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        for (url, words) in [
            ("b/k", "no scheme"),
            ("gs://b/k", "\"gs://\" is not supported"),
            ("http://h/b", "no key"),
            ("http://h/", "no bucket"),
            ("http://h/b*/k", "globs in the bucket"),
            ("http://u:p@h/b/k", "inside a URL"),
            ("http://h/b/k?versionId=7", "query string \"versionId\""),
        ] {
            assert!(shown(url).contains(words), "{url}: {}", shown(url));
        }
    }

    #[test]
    fn the_environment_moves_s3_urls() {
        let environment =
            S3Environment { endpoint: Some("http://minio:9000/".to_owned()), ..S3Environment::default() };
        let Ok(Location::S3 { bucket, .. }) = s3_location("s3://b/k", &environment) else { panic!("not S3") };
        assert_eq!(bucket.endpoint, "http://minio:9000");
    }

    #[test]
    fn files_stay_inside_their_folder_unless_told_otherwise() {
        let inside = UserFiles { root: "/data/files".into(), anywhere: false };
        let pattern = |path: &str, files: &UserFiles| match file_location(path, files) {
            Ok(Location::Local { pattern }) => pattern,
            Ok(other) => format!("{other:?}"),
            Err(error) => error.code().to_string(),
        };
        assert_eq!(pattern("a/*.csv", &inside), "data/files/a/*.csv");
        assert_eq!(pattern("/data/files/a.csv", &inside), "data/files/a.csv");
        assert_eq!(pattern("../x.csv", &inside), "291");
        assert_eq!(pattern("/etc/passwd", &inside), "291");
        let anywhere = UserFiles { anywhere: true, ..inside };
        assert_eq!(pattern("/tmp/x.csv", &anywhere), "tmp/x.csv");
        assert_eq!(pattern("./x.csv", &anywhere), "data/files/x.csv");
    }
}
