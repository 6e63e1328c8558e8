//! URLs of `s3()` and `gcs()`: which endpoint, which bucket, which region, which version, which pattern of keys.
//!
//! Pure. Invariant: a pattern is text after URL decoding, so `%20` is a space and `*` is a glob; a `+`, and a `%` that
//! starts no escape, stand for themselves. Errors never repeat a query string. Must not know: clients.

use percent_encoding::percent_decode_str;

use crate::calls::showing::shown_address;
use crate::calls::signatures::Family;
use crate::credentials::{S3Environment, Secret};
use crate::error::{Result, SourceError};

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
    /// `?versionId=`: the version of the one key that is read.
    pub version: Option<String>,
    /// Of `headers()`: sent with every request.
    pub headers: Vec<(String, Secret)>,
}

impl BucketLocation {
    fn new(endpoint: String, bucket: &str, virtual_host: bool, region: Option<String>) -> Self {
        let bucket = bucket.to_owned();
        BucketLocation { endpoint, bucket, virtual_host, region, version: None, headers: Vec::new() }
    }

    /// The same bucket where a redirect says it is. AWS answers only at the endpoint of a bucket's own region.
    pub fn moved_to(&self, region: &str) -> Self {
        let domain = ["amazonaws.com", "amazonaws.com.cn"]
            .into_iter()
            .find(|domain| self.endpoint.ends_with(&format!(".{domain}")));
        let endpoint = match (domain, self.virtual_host) {
            (Some(domain), true) => format!("https://{}.s3.{region}.{domain}", self.bucket),
            (Some(domain), false) => format!("https://s3.{region}.{domain}"),
            (None, _) => self.endpoint.clone(),
        };
        BucketLocation { endpoint, region: Some(region.to_owned()), ..self.clone() }
    }
}

/// A URL taken apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum S3Url {
    Bucket {
        bucket: BucketLocation,
        pattern: String,
    },
    /// It carries its own signature: one object, asked for exactly as written.
    Presigned {
        shown: String,
    },
}

/// Where the schemes of other stores lead: ClickHouse's default `url_scheme_mappers`, and whether the bucket stands in
/// the host.
const SCHEMES: &[(&str, &str)] = &[
    ("gs", "https://storage.googleapis.com"),
    ("gcs", "https://storage.googleapis.com"),
    ("oss", "https://{bucket}.oss.aliyuncs.com"),
];

/// Stores whose hosts carry the bucket in front of one of these labels.
const VIRTUAL_LABELS: &[&str] = &["s3", "cos", "obs", "oss", "eos"];

/// Takes a URL apart. With `query_in_key` the query string of a presigned URL is a part of the key, as it once was.
pub(crate) fn s3_url(url: &str, environment: &S3Environment, query_in_key: bool) -> Result<S3Url> {
    let shown = shown_address(Family::S3, url);
    let wrong = |problem: &str| SourceError::bad_arguments(format!("URL \"{shown}\" {problem}"));
    let Some((scheme, rest)) = url.split_once("://") else {
        return Err(wrong("has no scheme; it starts with s3://, gs://, http:// or https://"));
    };
    let (rest, query) = match query_string(rest) {
        Some(Query::Presigned) if !query_in_key => {
            return Ok(S3Url::Presigned { shown: presigned_name(rest) });
        }
        Some(Query::Version { before, version }) => (before, Some(version)),
        Some(Query::Other(name)) => {
            return Err(wrong(&format!("has the query string \"{name}\", which is not understood"))
                .with_hint("versionId and presigned URLs are"));
        }
        Some(Query::Presigned) | None => (rest, None),
    };
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
    let (mut bucket, pattern) = match scheme.to_ascii_lowercase().as_str() {
        "s3" | "s3a" | "s3n" => (aws_bucket(host, environment), path),
        scheme @ ("http" | "https") => http_bucket(scheme, host, path, environment),
        scheme => match SCHEMES.iter().find(|(known, _)| *known == scheme) {
            Some((_, template)) => (mapped_bucket(template, host), path),
            None if ["cos", "cosn", "obs", "eos"].contains(&scheme) => {
                return Err(wrong("has a scheme without a region")
                    .with_hint("write https://<bucket>.cos.<region>.myqcloud.com/<key> or the like"));
            }
            None if ["abfs", "abfss", "az", "azure"].contains(&scheme) => {
                return Err(wrong("is of Azure").with_hint("azureBlobStorage() reads it"));
            }
            None => return Err(wrong("has an unknown scheme; s3, gs, gcs, oss, http and https are known")),
        },
    };
    bucket.version = query.map(str::to_owned);
    check_bucket(&bucket, &pattern, &wrong)?;
    Ok(S3Url::Bucket { bucket, pattern })
}

fn check_bucket(bucket: &BucketLocation, pattern: &str, wrong: &dyn Fn(&str) -> SourceError) -> Result<()> {
    if bucket.bucket.is_empty() {
        return Err(wrong("names no bucket"));
    }
    if bucket.bucket.contains(['*', '?', '{']) {
        return Err(SourceError::unsupported(format!(
            "globs in the bucket name \"{}\" are not supported: buckets are not listed; write one s3() a bucket, with \
             UNION ALL between",
            bucket.bucket
        )));
    }
    // Clients make a URL of these for each request, and panic where it is none.
    let host = bucket.endpoint.split_once("://").map_or("", |(_, host)| host);
    if !is_host(host) {
        let written: String = host.chars().take(100).collect();
        return Err(wrong(&format!("has the host \"{written}\", which is none")).with_hint(
            "a host is made of ASCII letters, digits, -, _ and ., with a port of at most 65535 behind it",
        ));
    }
    if !bucket.bucket.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(wrong("names a bucket with characters that no bucket has"));
    }
    if bucket.endpoint.ends_with("://storage.cloud.google.com") {
        return Err(
            wrong("is the address for browsers").with_hint("write https://storage.googleapis.com/bucket/key")
        );
    }
    if pattern.is_empty() {
        return Err(
            wrong("names a bucket and no key").with_hint("append /** to read every key of the bucket")
        );
    }
    if bucket.version.is_some() && pattern.contains(['*', '{']) {
        return Err(wrong("has a versionId, which belongs to one key, and globs"));
    }
    Ok(())
}

/// `name`, `name:port`, `1.2.3.4`, `[::1]:9000`, maybe with the path of an endpoint behind it.
fn is_host(written: &str) -> bool {
    let host = written.split('/').next().unwrap_or_default();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:[]".contains(&byte);
    !host.is_empty() && host.bytes().all(is_plain) && url::Url::parse(&format!("http://{host}/")).is_ok()
}

/// What the text after a `?` is, when it is no glob.
enum Query<'a> {
    Version { before: &'a str, version: &'a str },
    Presigned,
    Other(&'a str),
}

/// A query string, as opposed to the glob `?`: only names that S3 knows count.
fn query_string(rest: &str) -> Option<Query<'_>> {
    const SIGNED: &[&str] = &[
        "x-amz-signature=",
        "x-amz-algorithm=",
        "awsaccesskeyid=",
        "signature=",
        "x-goog-signature=",
        "x-goog-algorithm=",
    ];
    const OTHER: &[&str] = &["x-amz-", "x-goog-", "response-", "partnumber=", "versionid="];
    let (before, query) = rest.split_once('?')?;
    let names = || query.split('&').map(str::to_ascii_lowercase);
    if names().any(|pair| SIGNED.iter().any(|name| pair.starts_with(name))) {
        return Some(Query::Presigned);
    }
    if let Some((name, version)) = query.split_once('=')
        && name.eq_ignore_ascii_case("versionId")
        && !version.contains('&')
    {
        return Some(Query::Version { before, version });
    }
    let is_other = OTHER.iter().any(|name| query.to_ascii_lowercase().starts_with(name));
    is_other.then(|| Query::Other(query.split('=').next().unwrap_or(query)))
}

/// `bucket/key` of a presigned URL, as well as its path tells.
fn presigned_name(rest: &str) -> String {
    let before = rest.split('?').next().unwrap_or(rest);
    let (host, path) = before.split_once('/').unwrap_or((before, ""));
    let path = decode(path).unwrap_or_else(|| path.to_owned());
    match virtual_host_bucket(host) {
        Some(bucket) => format!("{bucket}/{path}"),
        None => path,
    }
}

/// Percent decoding; a `%` that starts no escape stands for itself, and so does `+`.
fn decode(path: &str) -> Option<String> {
    percent_decode_str(path).decode_utf8().ok().map(String::from)
}

fn aws_bucket(bucket: &str, environment: &S3Environment) -> BucketLocation {
    let region = environment.region.clone();
    let aws = || format!("https://s3.{}.amazonaws.com", region.as_deref().unwrap_or("us-east-1"));
    let endpoint = environment.endpoint.as_ref().map_or_else(aws, |url| url.trim_end_matches('/').to_owned());
    BucketLocation::new(endpoint, bucket, false, region)
}

fn mapped_bucket(template: &str, bucket: &str) -> BucketLocation {
    let is_virtual = template.contains("{bucket}");
    BucketLocation::new(template.replace("{bucket}", bucket), bucket, is_virtual, None)
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
        return (BucketLocation::new(endpoint, bucket, true, region), path);
    }
    match path.split_once('/') {
        Some((bucket, key)) => (BucketLocation::new(endpoint, bucket, false, region), key.to_owned()),
        None => (BucketLocation::new(endpoint, &path, false, region), String::new()),
    }
}

/// `bucket.s3.region.host`, `bucket.s3-region.host`, `bucket.storage.googleapis.com`: the label that says what it is, is
/// not the first one.
fn virtual_host_bucket(host: &str) -> Option<&str> {
    if let Some(bucket) = host.strip_suffix(".storage.googleapis.com") {
        return Some(bucket);
    }
    let labels = VIRTUAL_LABELS.iter().filter_map(|label| {
        let dotted = format!(".{label}");
        host.match_indices(&dotted).map(|(at, _)| at).find(|at| {
            let after = &host[at + dotted.len()..];
            after.starts_with('.') || after.starts_with('-')
        })
    });
    labels.min().filter(|at| *at > 0).map(|at| &host[..at])
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
        match s3_url(url, &S3Environment::default(), false) {
            Ok(S3Url::Bucket { bucket, pattern }) => format!(
                "{} {} {} {} {pattern}{}",
                bucket.endpoint,
                bucket.bucket,
                if bucket.virtual_host { "virtual" } else { "path" },
                bucket.region.as_deref().unwrap_or("-"),
                bucket.version.map_or_else(String::new, |version| format!(" version {version}"))
            ),
            Ok(S3Url::Presigned { shown }) => format!("presigned {shown}"),
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
                "https://b.s3.dualstack.eu-west-3.amazonaws.com/k",
                "https://b.s3.dualstack.eu-west-3.amazonaws.com b virtual eu-west-3 k",
            ),
            (
                "https://s3.eu-west-3.amazonaws.com/b/k",
                "https://s3.eu-west-3.amazonaws.com b path eu-west-3 k",
            ),
            ("https://s3.amazonaws.com/b/k", "https://s3.amazonaws.com b path - k"),
            ("s3://b/a/{1..3}.parquet", "https://s3.us-east-1.amazonaws.com b path - a/{1..3}.parquet"),
            ("S3A://b/k", "https://s3.us-east-1.amazonaws.com b path - k"),
            ("gs://b/k", "https://storage.googleapis.com b path - k"),
            ("gcs://b/a/*", "https://storage.googleapis.com b path - a/*"),
            ("https://storage.googleapis.com/b/k", "https://storage.googleapis.com b path - k"),
            ("https://b.storage.googleapis.com/k", "https://b.storage.googleapis.com b virtual - k"),
            ("oss://b/k", "https://b.oss.aliyuncs.com b virtual - k"),
            (
                "https://b.oss-cn-hangzhou.aliyuncs.com/k",
                "https://b.oss-cn-hangzhou.aliyuncs.com b virtual - k",
            ),
            ("https://b-1.cos.ap-x.myqcloud.com/k", "https://b-1.cos.ap-x.myqcloud.com b-1 virtual - k"),
            ("http://[::1]:9000/b/k", "http://[::1]:9000 b path - k"),
            ("http://10.0.0.7/b/k", "http://10.0.0.7 b path - k"),
            ("http://h/b/a%20b%/c+d/?.csv", "http://h b path - a b%/c+d/?.csv"),
            ("http://h/b/100%25 sure%2Fx", "http://h b path - 100% sure/x"),
            ("http://h/b/k?versionId=7.a_b", "http://h b path - k version 7.a_b"),
            ("http://h/b/k?x=1", "http://h b path - k?x=1"),
            ("https://h/b/k.csv?X-Amz-Date=1&X-Amz-Signature=s3cr3t", "presigned b/k.csv"),
            ("https://b.s3.amazonaws.com/a%20b.csv?AWSAccessKeyId=i&Signature=s3cr3t", "presigned b/a b.csv"),
        ] {
            assert_eq!(shown(url), expected, "{url}");
        }
        let Ok(S3Url::Bucket { pattern, .. }) =
            s3_url("https://h/b/k?X-Amz-Signature=s", &S3Environment::default(), true)
        else {
            panic!("not a bucket")
        };
        assert_eq!(pattern, "k?X-Amz-Signature=s");
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        for (url, words) in [
            ("b/k", "no scheme"),
            ("ftp://b/k", "unknown scheme"),
            ("cos://b/k", "myqcloud"),
            ("abfss://c/k", "azureBlobStorage()"),
            ("https://storage.cloud.google.com/b/k", "storage.googleapis.com"),
            ("http://h/b", "no key"),
            ("http://h/", "no bucket"),
            ("http://h/b*/k", "globs in the bucket"),
            ("http://u:p@h/b/k", "inside a URL"),
            ("http://h/b/k?partNumber=7", "query string \"partNumber\""),
            ("http://h/b/*?versionId=7", "belongs to one key"),
            ("http://h/b/%ff", "UTF-8"),
            ("http://127。0。0。1:1/b/x.csv", "which is none"),
            ("http://127.0.0.1 :1/b/x.csv", "which is none"),
            ("http://h:99999/b/x.csv", "which is none"),
            ("https://h\u{0}/b/x.csv", "which is none"),
            ("http://h/b c/x.csv", "no bucket has"),
        ] {
            assert!(shown(url).contains(words), "{url}: {}", shown(url));
        }
    }

    #[test]
    fn the_environment_moves_s3_urls() {
        let environment =
            S3Environment { endpoint: Some("http://minio:9000/".to_owned()), ..S3Environment::default() };
        let Ok(S3Url::Bucket { bucket, .. }) = s3_url("s3://b/k", &environment, false) else {
            panic!("not S3")
        };
        assert_eq!(bucket.endpoint, "http://minio:9000");
    }

    #[test]
    fn a_bucket_elsewhere_is_asked_there() {
        for (url, expected) in [
            ("s3://b/k", "https://s3.eu-west-3.amazonaws.com"),
            ("https://b.s3.amazonaws.com/k", "https://b.s3.eu-west-3.amazonaws.com"),
            ("http://minio:9000/b/k", "http://minio:9000"),
        ] {
            let Ok(S3Url::Bucket { bucket, .. }) = s3_url(url, &S3Environment::default(), false) else {
                panic!("{url}")
            };
            let moved = bucket.moved_to("eu-west-3");
            assert_eq!(
                (moved.endpoint.as_str(), moved.region.as_deref()),
                (expected, Some("eu-west-3")),
                "{url}"
            );
        }
    }
}
