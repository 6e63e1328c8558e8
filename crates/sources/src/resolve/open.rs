//! From sorted arguments to a client and a listing; what a store refuses for a reason we can repair is tried once more.
//!
//! Invariant: a repair (another region, no signature) is told in a note, and nothing is repaired twice. Must not know:
//! formats, columns.

use std::path::Path as FilePath;
use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use model::ErrorCode;
use model::saturating::u64_of;
use stores::calls::arguments::ObjectArguments;
use stores::clients::cache::RetryPolicy;
use stores::clients::store::Store;
use stores::credentials::{Credentials, S3Environment};
use stores::error::{Result, SourceError, SourceErrorKind};
use stores::files::listing::{Listing, SourceFile, list};
use stores::keys::glob::{Glob, NESTING_MAX, nesting};
use stores::locations::location::{BucketLocation, Location, UserFiles, location};
use stores::statement::settings::SourceSettings;
use stores::web::location::WebPage;

use crate::env::SourceEnv;

/// A listing of this many times fewer keys than braces stand for is worth a word.
const BRACE_PRODUCT_FACTOR: u64 = 10;
/// Pages looked at together.
const PAGES_IN_FLIGHT: usize = 16;

/// A store, and what of it is meant.
pub(crate) struct Opened {
    pub store: Arc<Store>,
    pub listing: Listing,
}

/// A client and the text of a key, without a request: where writing starts.
#[derive(Debug)]
pub struct Target {
    pub store: Arc<Store>,
    /// May hold `{_partition_id}` or globs; which are meant is the writer's to decide.
    pub key: String,
}

/// Where sorted arguments point, for reading.
pub(crate) fn locate(arguments: &ObjectArguments, env: &SourceEnv) -> Result<Location> {
    location(arguments, &env.environment, &env.settings, &env.user_files)
}

/// Where sorted arguments point, for writing.
///
/// # Errors
/// Bad arguments, or a place that is only read.
pub fn target(arguments: &ObjectArguments, env: &SourceEnv) -> Result<Target> {
    let policy = RetryPolicy::from(env.settings.as_ref());
    match locate(arguments, env)? {
        Location::Local { pattern } => Ok(Target { store: env.stores.local(), key: pattern }),
        Location::S3 { bucket, .. } if bucket.version.is_some() => {
            Err(SourceError::bad_arguments("a version of an object cannot be written; leave versionId out"))
        }
        Location::S3 { bucket, pattern } => {
            let credentials = credentials(arguments, &bucket, env);
            Ok(Target { store: env.stores.bucket(&bucket, &credentials, policy)?, key: pattern })
        }
        Location::Azure { container, key, pattern } => {
            let credentials = Credentials::choose(&key, &S3Environment::default(), "");
            let policy = RetryPolicy::from(&env.settings.for_azure());
            Ok(Target { store: env.stores.container(&container, &credentials, policy)?, key: pattern })
        }
        Location::Web { .. } => {
            Err(SourceError::unsupported("writing to a URL or with a presigned one is not supported")
                .with_hint("s3(), gcs(), azureBlobStorage() and file() can be written"))
        }
    }
}

/// Who signs requests to a bucket.
pub(crate) fn credentials(
    arguments: &ObjectArguments,
    bucket: &BucketLocation,
    env: &SourceEnv,
) -> Credentials {
    let url = match bucket.virtual_host {
        true => format!("{}/", bucket.endpoint),
        false => format!("{}/{}/", bucket.endpoint, bucket.bucket),
    };
    // The server's own keys are not for whoever can write a statement.
    let environment = match env.stores.hosts().faces_users() {
        true => S3Environment { key: None, ..env.environment.clone() },
        false => env.environment.clone(),
    };
    Credentials::choose(&arguments.credentials, &environment, &url)
}

/// Opens and lists.
pub(crate) async fn open_and_list(
    location: Location,
    arguments: &ObjectArguments,
    env: &SourceEnv,
    notes: &mut Vec<String>,
) -> Result<Opened> {
    match location {
        Location::Local { pattern } => {
            let store = env.stores.local();
            let listing = list(&store, &glob_of(&pattern)?, &env.settings, &env.progress).await?;
            if !env.user_files.anywhere {
                stay_inside(&store, &listing, &env.user_files).await?;
            }
            Ok(Opened { store, listing })
        }
        Location::S3 { bucket, pattern } => {
            let glob = keys_of(&pattern, &bucket.bucket)?;
            let credentials = credentials(arguments, &bucket, env);
            let opened = open_bucket(&bucket, credentials, &glob, env, notes).await?;
            note_braces(&glob, &opened.listing, notes);
            Ok(opened)
        }
        Location::Azure { container, key, pattern } => {
            let glob = keys_of(&pattern, &container.container)?;
            let settings = env.settings.for_azure();
            let policy = RetryPolicy::from(&settings);
            let credentials = Credentials::choose(&key, &S3Environment::default(), "");
            let store = env.stores.container(&container, &credentials, policy)?;
            let listing = list(&store, &glob, &settings, &env.progress).await?;
            note_braces(&glob, &listing, notes);
            Ok(Opened { store, listing })
        }
        Location::Web { pages, .. } => {
            if let Some(method) = arguments.method.as_deref().filter(|method| *method != "GET") {
                return Err(SourceError::unsupported(format!("reading a page by {method} is not supported"))
                    .with_hint("leave the method out; POST and PUT are for INSERT INTO FUNCTION url()"));
            }
            let addresses = pages.iter().flat_map(|page| std::iter::once(page).chain(&page.instead));
            let store =
                env.stores.pages(addresses.cloned().collect(), &arguments.headers, env.settings.web)?;
            let listing = look(&store, pages, &env.settings, env).await?;
            Ok(Opened { store, listing })
        }
    }
}

/// Links inside the folder of user files may lead out of it: what is read is what they lead to.
async fn stay_inside(store: &Arc<Store>, listing: &Listing, files: &UserFiles) -> Result<()> {
    let paths: Vec<String> = listing.files.iter().map(|file| file.path.clone()).collect();
    let root = files.root.clone();
    let outside = store.runtimes().spawn_blocking("source links", move || {
        let root = root.canonicalize().unwrap_or(root);
        let is_outside =
            |path: &String| !FilePath::new(path).canonicalize().is_ok_and(|real| real.starts_with(&root));
        paths.into_iter().find(is_outside)
    });
    let outside = outside.await.map_err(|task| SourceError::ended_early("following links", task))?;
    match outside {
        None => Ok(()),
        Some(path) => Err(SourceError::bad_arguments(format!(
            "file \"{path}\" is a link to somewhere outside of \"{}\"",
            files.root.display()
        ))
        .with_code(ErrorCode::DATABASE_ACCESS_DENIED)
        .with_hint("copy the file into the folder")),
    }
}

fn keys_of(pattern: &str, bucket: &str) -> Result<Glob> {
    if pattern.ends_with('/') {
        return Err(SourceError::bad_arguments(format!("\"{bucket}/{pattern}\" names a folder"))
            .with_hint("append * to read what is in it, or ** for folders inside it, too"));
    }
    glob_of(pattern)
}

fn glob_of(pattern: &str) -> Result<Glob> {
    let depth = nesting(pattern);
    if depth > NESTING_MAX {
        return Err(SourceError::bad_arguments(format!(
            "the pattern has braces {depth} deep, more than {NESTING_MAX}"
        ))
        .with_hint("alternatives inside alternatives can be written one after the other"));
    }
    Ok(Glob::parse(pattern))
}

fn note_braces(glob: &Glob, listing: &Listing, notes: &mut Vec<String>) {
    let product = glob.brace_product();
    let seen = u64_of(listing.keys_seen);
    if glob.exact_keys().is_none() && product > seen.saturating_mul(BRACE_PRODUCT_FACTOR) {
        notes.push(format!("the braces of the pattern stand for {product} keys, {seen} keys were listed"));
    }
}

async fn open_bucket(
    bucket: &BucketLocation,
    credentials: Credentials,
    glob: &Glob,
    env: &SourceEnv,
    notes: &mut Vec<String>,
) -> Result<Opened> {
    let attempt = async |bucket: &BucketLocation, credentials: &Credentials| {
        let store = env.stores.bucket(bucket, credentials, RetryPolicy::from(env.settings.as_ref()))?;
        let listing = list(&store, glob, &env.settings, &env.progress).await?;
        Ok::<_, SourceError>(Opened { store, listing })
    };
    let mut bucket = bucket.clone();
    let mut tried = attempt(&bucket, &credentials).await;
    if let Err(error) = &tried
        && let Some(region) = error.region().filter(|region| bucket.region.as_deref() != Some(region))
    {
        notes.push(format!("bucket \"{}\" is in region {region}", bucket.bucket));
        bucket = bucket.moved_to(region);
        tried = attempt(&bucket, &credentials).await;
    }
    note_region(&bucket, &env.environment, notes);
    let error = match tried {
        Ok(opened) => return Ok(opened),
        Err(error) => error,
    };
    match &credentials {
        _ if error.kind() != SourceErrorKind::Denied => return Err(error),
        Credentials::Explicit(_) => return Err(error),
        Credentials::Ambient(_) => {}
        Credentials::Anonymous => {
            return Err(error.with_hint_instead(
                "the request was not signed: give an access key id and a secret key as arguments, or a named collection",
            ));
        }
    }
    match attempt(&bucket, &Credentials::Anonymous).await {
        Ok(opened) => {
            notes.push(
                "the credentials of the environment were refused; the bucket was read without a signature"
                    .to_owned(),
            );
            Ok(opened)
        }
        Err(_) => Err(error.with_hint_instead(
            "the credentials of the environment were refused, and so was a request without a signature",
        )),
    }
}

/// Reading over regions is slow and is paid for.
fn note_region(bucket: &BucketLocation, environment: &S3Environment, notes: &mut Vec<String>) {
    if let (Some(there), Some(here)) = (&bucket.region, &environment.region)
        && there != here
    {
        notes.push(format!(
            "bucket \"{}\" is in region {there} and we are in {here}: every byte crosses regions",
            bucket.bucket
        ));
    }
}

/// Looks at every page. One of several that does not exist is passed over, as ClickHouse does.
async fn look(
    store: &Arc<Store>,
    pages: Vec<WebPage>,
    settings: &SourceSettings,
    env: &SourceEnv,
) -> Result<Listing> {
    let are_several = pages.len() > 1;
    let keys_seen = pages.len();
    let firsts = pages.iter().scan(0, |next, page| {
        let first = *next;
        *next += 1 + page.instead.len();
        Some(first)
    });
    let firsts: Vec<usize> = firsts.collect();
    let heads = firsts.into_iter().zip(pages).map(|(first, page)| async move {
        match look_at(store, first, page, env).await {
            Err(error)
                if error.kind() == SourceErrorKind::NotFound
                    && are_several
                    && settings.skip_missing_pages =>
            {
                Ok(None)
            }
            other => other.map(Some),
        }
    });
    let found: Vec<Option<SourceFile>> = stream::iter(heads).buffered(PAGES_IN_FLIGHT).try_collect().await?;
    let mut listing = Listing { keys_seen, ..Listing::default() };
    for file in found.into_iter().flatten() {
        match file.bytes == 0 && settings.skip_empty_pages {
            true => listing.empty_files += 1,
            false => listing.files.push(file),
        }
    }
    Ok(listing)
}

/// Looks at a page at the first of its addresses that answers; `first` is the number of the first.
async fn look_at(store: &Arc<Store>, first: usize, page: WebPage, env: &SourceEnv) -> Result<SourceFile> {
    let others = page.instead.len();
    let WebPage { path, file, instead, .. } = page;
    let addresses =
        std::iter::once((path, file)).chain(instead.into_iter().map(|page| (page.path, page.file)));
    let mut failed: Option<SourceError> = None;
    for (at, (path, file)) in addresses.enumerate() {
        env.progress.add_request();
        let key = (first + at).to_string();
        match store.head(&key).await {
            Ok(found) => {
                let (bytes, modified, etag) = (found.bytes, found.modified, found.etag);
                let headers = store.headers_of(&key).map(Arc::new);
                return Ok(SourceFile {
                    key,
                    path,
                    file,
                    bytes,
                    modified,
                    etag,
                    headers,
                    tags: None,
                    unwrapped: None,
                });
            }
            // Which hosts may be asked is not for a choice to find out.
            Err(error) if error.code() == ErrorCode::UNACCEPTABLE_URL => return Err(error),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    let failed = failed.unwrap_or_else(|| SourceError::bad_arguments("url() was given no address"));
    Err(match others {
        0 => failed,
        _ => {
            failed.with_hint_instead(format!("and none of the {others} other addresses of the page answered"))
        }
    })
}
