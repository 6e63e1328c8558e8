//! From a call in a statement to a table, before anything is planned: all the I/O that planning must not do.
//!
//! Order: arguments, location, credentials, client, listing, format, columns. A structure that is given is never
//! inferred. Invariant: errors hold no secrets. Must not know: the statement around the call.

use std::sync::Arc;

use formats::FormatKind;
use model::ColumnType;

use crate::arguments::{ObjectArguments, SourceCall};
use crate::compression::{Compression, MAGIC_BYTES, opened};
use crate::credentials::Credentials;
use crate::env::SourceEnv;
use crate::error::{Result, SourceError, SourceErrorKind};
use crate::footer;
use crate::format;
use crate::glob::Glob;
use crate::infer::{Inference, Inferred, no_files};
use crate::listing::{Listing, SourceFile, list};
use crate::location::{BucketLocation, Location, file_location, s3_location};
use crate::object_table::{ObjectSource, ObjectTable};
use crate::settings::InferenceMode;
use crate::store::Store;
use crate::stores::RetryPolicy;
use crate::structure;

/// A listing of this many times fewer keys than braces stand for is worth a word.
const BRACE_PRODUCT_FACTOR: u64 = 10;

/// Makes the table of a call. `structure_hint` stands in for inference when the call gives no structure.
///
/// # Errors
/// Every [`SourceErrorKind`]; the message names argument, bucket, key or file.
pub async fn resolve(
    call: &SourceCall,
    env: &SourceEnv,
    structure_hint: Option<Vec<(String, ColumnType)>>,
) -> Result<ObjectTable> {
    let arguments = call.object_arguments()?;
    let given = match &arguments.structure {
        Some(text) => Some(structure::parse(text)?),
        None => structure_hint,
    };
    let said_format = arguments.format.as_deref().map(format::by_name).transpose()?;
    let compression = arguments.compression.as_deref().map(Compression::by_name).transpose()?;
    let mut notes = vec![format!("arguments were read as {}", arguments.reading)];
    let location = match call.function.eq_ignore_ascii_case("file") {
        true => file_location(&arguments.url, &env.user_files)?,
        false => s3_location(&arguments.url, &env.environment)?,
    };
    let (store, listing) = open_and_list(&location, &arguments, env, &mut notes).await?;
    let files: Vec<Arc<SourceFile>> = listing.files.into_iter().map(Arc::new).collect();
    let found = Found { env, store: &store, files: &files, compression };
    let format = match (said_format, files.first()) {
        (Some(format), _) => format,
        (None, Some(first)) => found.format(first).await?,
        (None, None) => by_suffix_of_pattern(&location)?,
    };
    let inferred = given.is_none();
    let columns = match given {
        Some(columns) => columns,
        None if files.is_empty() => return Err(no_files()),
        None => {
            let Inferred { columns, notes: found } =
                Inference { env, store: &store, format, compression }.run(&files).await?;
            notes.extend(found);
            columns
        }
    };
    let rows = found.rows(format, inferred).await?;
    let env = env.clone();
    Ok(ObjectTable::new(ObjectSource { env, store, files, format, compression, columns, rows, notes }))
}

async fn open_and_list(
    location: &Location,
    arguments: &ObjectArguments,
    env: &SourceEnv,
    notes: &mut Vec<String>,
) -> Result<(Arc<Store>, Listing)> {
    match location {
        Location::Local { pattern } => {
            let store = env.stores.local();
            let listing = list(&store, &Glob::parse(pattern), &env.settings, &env.progress).await?;
            Ok((store, listing))
        }
        Location::S3 { bucket, pattern } => {
            let glob = Glob::parse(pattern);
            let credentials = Credentials::choose(&arguments.credentials, &env.environment);
            let (store, listing) = list_bucket(bucket, credentials, &glob, env, notes).await?;
            let product = glob.brace_product();
            let seen = u64::try_from(listing.keys_seen).unwrap_or(u64::MAX);
            if glob.exact_keys().is_none() && product > seen.saturating_mul(BRACE_PRODUCT_FACTOR) {
                notes.push(format!(
                    "the braces of the pattern stand for {product} keys, {seen} keys were listed"
                ));
            }
            Ok((store, listing))
        }
    }
}

/// Lists; what the store refuses for a reason we can repair is tried once more.
async fn list_bucket(
    bucket: &BucketLocation,
    credentials: Credentials,
    glob: &Glob,
    env: &SourceEnv,
    notes: &mut Vec<String>,
) -> Result<(Arc<Store>, Listing)> {
    let attempt = async |bucket: &BucketLocation, credentials: &Credentials| {
        let store = env.stores.bucket(bucket, credentials, RetryPolicy::from(env.settings.as_ref()))?;
        let listing = list(&store, glob, &env.settings, &env.progress).await?;
        Ok::<_, SourceError>((store, listing))
    };
    let error = match attempt(bucket, &credentials).await {
        Ok(done) => return Ok(done),
        Err(error) => error,
    };
    if let Some(region) = error.region().filter(|region| bucket.region.as_deref() != Some(region)) {
        notes.push(format!("bucket \"{}\" is in region {region}", bucket.bucket));
        let moved = BucketLocation { region: Some(region.to_owned()), ..bucket.clone() };
        return attempt(&moved, &credentials).await;
    }
    if error.kind() == SourceErrorKind::Denied && matches!(credentials, Credentials::Ambient(_)) {
        let unsigned = attempt(bucket, &Credentials::Anonymous).await;
        return match unsigned {
            Ok(done) => {
                notes.push(
                    "the credentials of the environment were refused; the bucket was read without a signature".to_owned(),
                );
                Ok(done)
            }
            Err(_) => Err(error.with_hint(
                "the credentials of the environment were refused, and so was a request without a signature",
            )),
        };
    }
    Err(error)
}

fn by_suffix_of_pattern(location: &Location) -> Result<FormatKind> {
    let (Location::S3 { pattern, .. } | Location::Local { pattern }) = location;
    format::by_suffix(pattern)?.ok_or_else(no_files)
}

/// A listing, to be looked into.
struct Found<'a> {
    env: &'a SourceEnv,
    store: &'a Arc<Store>,
    files: &'a [Arc<SourceFile>],
    compression: Option<Compression>,
}

impl Found<'_> {
    /// The first file decides for all: by its suffix, else by its first bytes.
    async fn format(&self, first: &Arc<SourceFile>) -> Result<FormatKind> {
        if let Some(format) = format::by_suffix(&first.file)? {
            return Ok(format);
        }
        let reader = self.env.reader(self.store, first);
        // Enough for the magic bytes behind a compression's own header.
        let stored = reader.get(0..first.bytes.min(MAGIC_BYTES * 512)).await?;
        let mut chunks = opened(Box::pin(futures::stream::iter([Ok(stored)])), self.compression, &first.path);
        let content = match futures::StreamExt::next(&mut chunks).await {
            Some(chunk) => chunk?,
            None => bytes::Bytes::new(),
        };
        format::by_content(&content, &first.path)
    }

    /// Rows of all files, where inference has just read every footer.
    async fn rows(&self, format: FormatKind, inferred: bool) -> Result<Option<u64>> {
        let settings = &self.env.settings;
        let few = self.files.len() <= settings.max_footers;
        if format != FormatKind::Parquet
            || !inferred
            || !few
            || settings.inference_mode == InferenceMode::First
        {
            return Ok(None);
        }
        let mut rows = 0_u64;
        for file in self.files {
            let footer = self.env.schema_cache.footers().load(&self.env.reader(self.store, file)).await?;
            rows = rows.saturating_add(footer::rows(&footer));
        }
        Ok(Some(rows))
    }
}
