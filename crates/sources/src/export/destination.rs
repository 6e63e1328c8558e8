//! Where an INSERT INTO FUNCTION writes: the call taken apart, and the key each partition gets.
//!
//! Invariant: a key that is taken is an error, unless a setting says to replace it, to number it, or (for files) it can
//! be appended to. Must not know: rows, when a statement commits.

use std::path::Path;
use std::sync::Arc;

use formats::FormatKind;
use host::Disk;
use http::Method;
use model::export::{ExportCredentials, ExportStore};
use model::{ColumnType, ErrorCode};
use stores::calls::arguments::{ObjectArguments, SourceCall};
use stores::calls::signatures::{Family, function};
use stores::clients::cache::RetryPolicy;
use stores::clients::store::Store;
use stores::codecs::compression::Compression;
use stores::credentials::{Credentials, GivenCredentials, S3Environment};
use stores::error::{Result, SourceError, SourceErrorKind};
use stores::locations::azure::ContainerLocation;
use stores::locations::location::{BucketLocation, Location};
use stores::network::connector::header_map;
use stores::web::location::WebPage;

use crate::env::SourceEnv;
use crate::export::asked::{format_of, name_of, path_of, refuse_storage_class};
use crate::export::journal::ExportJournal;
use crate::export::links::refuse_links;
use crate::export::names::{self, PARTITION_WILDCARD, PartitionStrategy, can_append};
use crate::export::post::{PostTarget, body_headers};
use crate::export::settings::ExportSettings;
use crate::resolve::open::{credentials, locate};
use crate::schema::structure;

/// Numbers tried for a new file before giving up: each is a request.
const NUMBERS_MAX: u32 = 10_000;

/// What tells the rows of one object from those of another.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum PartitionKey {
    /// The value of the expression as text.
    Value(String),
    /// Names and values of columns.
    Columns(Vec<(String, String)>),
}

/// A call that is written to.
pub struct Destination {
    pub format: FormatKind,
    pub compression: Compression,
    /// Columns, when the call names them.
    pub structure: Option<Vec<(String, ColumnType)>>,
    /// `None`: no PARTITION BY.
    pub strategy: Option<PartitionStrategy>,
    /// Whether the columns of PARTITION BY are written, too, under the hive strategy.
    pub partition_columns_in_data_file: bool,
    shown: String,
    arguments: ObjectArguments,
    env: SourceEnv,
    disk: Arc<dyn Disk>,
    settings: ExportSettings,
}

/// A key that may be written.
pub(super) struct Spot {
    pub key: String,
    /// `None`: a file.
    pub store: Option<Arc<Store>>,
    pub place: Arc<ExportStore>,
    /// The file is there, and rows go behind what it has.
    pub appends: bool,
    /// What is there is replaced.
    pub replaces: bool,
    /// The page that is sent, and nothing else is written.
    pub page: Option<PostTarget>,
}

impl Destination {
    /// Takes a call apart. Asks nothing of the store yet.
    pub fn new(
        call: &SourceCall,
        env: &SourceEnv,
        disk: Arc<dyn Disk>,
        settings: ExportSettings,
        is_partitioned: bool,
    ) -> Result<Destination> {
        let arguments = call.object_arguments(&env.collections)?;
        let has_cluster = function(&call.function).is_some_and(|function| function.has_cluster);
        if has_cluster {
            return Err(SourceError::unsupported(format!(
                "INSERT INTO FUNCTION {} is not supported; s3, gcs, azureBlobStorage, url and file are",
                call.function
            )));
        }
        refuse_storage_class(&arguments)?;
        let compression = match &arguments.compression {
            Some(name) => Compression::by_name(name)?,
            None => Compression::by_suffix(name_of(&arguments)).0,
        };
        let shown = match arguments.family {
            Family::Url => arguments.shown_url().split('?').next().unwrap_or_default().to_owned(),
            _ => path_of(&arguments).to_owned(),
        };
        let destination = Destination {
            shown,
            format: format_of(&arguments)?,
            compression,
            structure: arguments.structure.as_deref().map(structure::parse).transpose()?,
            strategy: None,
            partition_columns_in_data_file: arguments.partition_columns_in_data_file.unwrap_or(false),
            arguments,
            env: env.clone(),
            disk,
            settings,
        };
        let path = destination.path().to_owned();
        if !is_partitioned {
            names::refuse_globs(&path)?;
            destination.location(&|text| Ok(text.to_owned()))?;
            return Ok(destination);
        }
        let template = format!("{path} {} {}", destination.arguments.url, destination.arguments.container);
        let strategy =
            PartitionStrategy::choose(destination.arguments.partition_strategy.as_deref(), &template)?;
        if strategy == PartitionStrategy::Hive && destination.is_page() {
            let message =
                format!("PARTITION BY needs {PARTITION_WILDCARD} in the URL \"{}\"", destination.shown);
            return Err(SourceError::bad_arguments(message));
        }
        names::refuse_globs(&path.replace(PARTITION_WILDCARD, "x"))?;
        destination.location(&|text| Ok(text.replace(PARTITION_WILDCARD, "x")))?;
        Ok(Destination { strategy: Some(strategy), ..destination })
    }

    /// The path or URL, without anything secret.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Whether rows are sent to a server that takes them when it likes: nothing of it can be undone or known again.
    pub fn is_page(&self) -> bool {
        self.arguments.family == Family::Url
    }

    /// What tells this target from every other, as one text: service, account, bucket and key, without credentials.
    pub fn identity(&self) -> Result<String> {
        // A word that buckets and containers may have in their name, and hardly have.
        let located = self.location(&|text| Ok(text.replace(PARTITION_WILDCARD, "0partition0id0")))?;
        let parts = match &located {
            Location::S3 { bucket, pattern } => ["s3", &bucket.endpoint, &bucket.bucket, "", pattern],
            Location::Azure { container, pattern, .. } => {
                ["azure", &container.endpoint, &container.account, &container.container, pattern]
            }
            Location::Local { pattern } => ["file", "", "", "", pattern],
            Location::Web { written, .. } => ["url", "", "", "", written],
        };
        Ok(parts.map(|part| format!("{part:?}")).join(" "))
    }

    fn path(&self) -> &str {
        path_of(&self.arguments)
    }

    pub(super) fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    pub(super) fn env(&self) -> &SourceEnv {
        &self.env
    }

    pub(super) fn settings(&self) -> &ExportSettings {
        &self.settings
    }

    /// The key for a partition's rows, which `journal` keeps for this statement. `id` names files that have no name of
    /// their own.
    pub(super) async fn spot(
        &self,
        partition: Option<&PartitionKey>,
        id: &str,
        journal: &dyn ExportJournal,
    ) -> Result<Spot> {
        let location = match partition {
            None | Some(PartitionKey::Columns(_)) => self.location(&|text| Ok(text.to_owned()))?,
            Some(PartitionKey::Value(value)) => self.location(&|text| names::with_value(text, value))?,
        };
        let key = |pattern: String| match partition {
            Some(PartitionKey::Columns(columns)) => {
                names::hive_key(&pattern, columns, id, self.format, self.compression)
            }
            _ => Ok(pattern),
        };
        match location {
            Location::Local { pattern } => self.file_spot(&format!("/{}", key(pattern)?), journal).await,
            Location::S3 { bucket, pattern } => {
                self.bucket_spot(Bucket::S3(bucket), key(pattern)?, journal).await
            }
            Location::Azure { container, key: given, pattern } => {
                self.bucket_spot(Bucket::Azure(container, given), key(pattern)?, journal).await
            }
            Location::Web { written, .. } => self.page_spot(&written),
        }
    }

    fn page_spot(&self, url: &str) -> Result<Spot> {
        let page = WebPage::new(url)?;
        let method = match self.arguments.method.as_deref() {
            Some("PUT") => Method::PUT,
            _ => Method::POST,
        };
        let mut headers = body_headers(self.format, self.compression);
        // What the call says counts.
        headers.extend(header_map(&self.arguments.headers)?);
        let place = Arc::new(ExportStore::files());
        let key = page.shown.clone();
        let page = Some(PostTarget { page, method, headers });
        Ok(Spot { key, store: None, place, appends: false, replaces: true, page })
    }

    /// Where the call points when `{_partition_id}` is what `with` makes of it.
    pub(super) fn location(&self, with: &dyn Fn(&str) -> Result<String>) -> Result<Location> {
        let mut arguments = self.arguments.clone();
        match arguments.family {
            Family::Azure => {
                arguments.container = with(&arguments.container)?;
                arguments.blob_path = with(&arguments.blob_path)?;
            }
            _ => arguments.url = with(&arguments.url)?,
        }
        match locate(&arguments, &self.env)? {
            Location::S3 { bucket, .. } if bucket.version.is_some() => Err(SourceError::bad_arguments(
                "a version of an object cannot be written; leave versionId out",
            )),
            // A presigned URL allows the one request it was signed for.
            Location::Web { .. } if !self.is_page() => Err(only_read()),
            located => Ok(located),
        }
    }

    /// ClickHouse's rule for files: append where the format can, else the settings decide.
    async fn file_spot(&self, path: &str, journal: &dyn ExportJournal) -> Result<Spot> {
        refuse_links(Path::new(path), &self.env.user_files)?;
        let there = |path: &str| {
            self.disk
                .exists(Path::new(path))
                .map_err(|error| file_error(Path::new(path), "looked for", &error))
        };
        let place = Arc::new(ExportStore::files());
        let spot = |key: String, appends, replaces| Spot {
            key,
            store: None,
            place: Arc::clone(&place),
            appends,
            replaces,
            page: None,
        };
        let may_number =
            self.settings.file_create_new && !self.settings.file_truncate && !can_append(self.format);
        let reserved = journal.reserve(&place, path, !may_number).await;
        if may_number && (reserved.is_err() || there(path)?) {
            for number in 1..=NUMBERS_MAX {
                let numbered = names::numbered(path, number);
                if !there(&numbered)? && journal.reserve(&place, &numbered, false).await.is_ok() {
                    // Whoever had the name may have made the file since it was looked for.
                    if !there(&numbered)? {
                        return Ok(spot(numbered, false, false));
                    }
                }
            }
            return Err(all_taken(path));
        }
        reserved?;
        if self.settings.file_truncate || !there(path)? {
            return Ok(spot(path.to_owned(), false, self.settings.file_truncate));
        }
        if can_append(self.format) {
            return Ok(spot(path.to_owned(), true, true));
        }
        let message = format!(
            "file \"{path}\" already exists, and format {} cannot be appended to",
            self.format.name()
        );
        Err(SourceError::new(SourceErrorKind::Exists, message)
            .with_file(path)
            .with_code(ErrorCode::CANNOT_APPEND_TO_FILE)
            .with_hint(
                "set engine_file_truncate_on_insert = 1 to replace it, or engine_file_allow_create_multiple_files = 1 to write a numbered file beside it",
            ))
    }

    async fn bucket_spot(&self, bucket: Bucket, key: String, journal: &dyn ExportJournal) -> Result<Spot> {
        let Existing { replaces, numbers } = self.existing(&bucket);
        let may_number = numbers && !replaces;
        let reserved = journal.reserve(&self.place(&bucket), &key, !may_number).await;
        if let (Err(error), false) = (&reserved, may_number) {
            return Err(error.clone());
        }
        let (bucket, store, taken) = self.look(bucket, &key).await?;
        let place = Arc::new(self.place(&bucket));
        let spot = |key: String| Spot {
            key,
            store: Some(Arc::clone(&store)),
            place: Arc::clone(&place),
            appends: false,
            replaces,
            page: None,
        };
        if replaces || (!taken && reserved.is_ok()) {
            return Ok(spot(key));
        }
        if !may_number {
            return Err(exists(&bucket, &key));
        }
        for number in 1..=NUMBERS_MAX {
            let numbered = names::numbered(&key, number);
            if journal.reserve(&place, &numbered, false).await.is_ok() && !store.exists(&numbered).await? {
                return Ok(spot(numbered));
            }
        }
        Err(all_taken(&store.shown(&key)))
    }

    /// The bucket where it really is, and whether the key is taken.
    async fn look(&self, bucket: Bucket, key: &str) -> Result<(Bucket, Arc<Store>, bool)> {
        let store = self.store(&bucket)?;
        let error = match store.exists(key).await {
            Ok(taken) => return Ok((bucket, store, taken)),
            Err(error) => error,
        };
        match (error.region(), bucket) {
            (Some(region), Bucket::S3(bucket)) if bucket.region.as_deref() != Some(region) => {
                let moved = Bucket::S3(bucket.moved_to(region));
                let store = self.store(&moved)?;
                let taken = store.exists(key).await?;
                Ok((moved, store, taken))
            }
            // Whoever may only write is not told what is there; replacing needs no answer.
            (_, bucket) if error.kind() == SourceErrorKind::Denied && self.existing(&bucket).replaces => {
                Ok((bucket, store, true))
            }
            _ => Err(error),
        }
    }

    /// Each kind of store has settings of its own, as in ClickHouse.
    fn existing(&self, bucket: &Bucket) -> Existing {
        let (replaces, numbers) = match bucket {
            Bucket::S3(_) => (self.settings.truncate, self.settings.create_new),
            Bucket::Azure(..) => (self.settings.azure_truncate, self.settings.azure_create_new),
        };
        Existing { replaces, numbers }
    }

    pub(super) fn store(&self, bucket: &Bucket) -> Result<Arc<Store>> {
        let (settings, credentials) = (self.env.settings.as_ref(), self.credentials(bucket));
        match bucket {
            Bucket::S3(bucket) => self.env.stores.bucket(bucket, &credentials, RetryPolicy::from(settings)),
            Bucket::Azure(container, _) => {
                let policy = RetryPolicy::from(&settings.for_azure());
                self.env.stores.container(container, &credentials, policy)
            }
        }
    }

    fn credentials(&self, bucket: &Bucket) -> Credentials {
        match bucket {
            Bucket::S3(bucket) => credentials(&self.arguments, bucket, &self.env),
            Bucket::Azure(_, key) => Credentials::choose(key, &S3Environment::default(), ""),
        }
    }

    /// The bucket this call writes to; one, where PARTITION BY chooses between buckets.
    pub(super) fn bucket(&self) -> Option<Bucket> {
        match self.location(&|text| Ok(text.replace(PARTITION_WILDCARD, "x"))) {
            Ok(Location::S3 { bucket, .. }) => Some(Bucket::S3(bucket)),
            Ok(Location::Azure { container, key, .. }) => Some(Bucket::Azure(container, key)),
            _ => None,
        }
    }

    pub(super) fn place(&self, bucket: &Bucket) -> ExportStore {
        let (signs, keyed) = match (bucket, self.credentials(bucket)) {
            (Bucket::Azure(container, _), _) if container.signature.is_some() => (true, true),
            (_, Credentials::Explicit(_)) => (true, true),
            (_, Credentials::Ambient(_)) => (true, false),
            (_, Credentials::Anonymous) => (false, false),
        };
        let credentials = match (signs, keyed) {
            (true, true) => ExportCredentials::Statement,
            (true, false) => ExportCredentials::Ambient,
            (false, _) => ExportCredentials::Nobody,
        };
        let (endpoint, virtual_host, region, account) = match bucket {
            Bucket::S3(of) => (&of.endpoint, of.virtual_host, of.region.as_deref(), None),
            Bucket::Azure(of, _) => (&of.endpoint, false, None, Some(of.account.as_str())),
        };
        ExportStore {
            endpoint: endpoint.as_str().into(),
            bucket: bucket.name().into(),
            virtual_host,
            region: region.map(Into::into),
            account: account.map(Into::into),
            credentials,
        }
    }
}

/// What a call writes to, when it is not files.
pub(super) enum Bucket {
    S3(BucketLocation),
    Azure(ContainerLocation, GivenCredentials),
}

/// What becomes of an object that is there.
struct Existing {
    replaces: bool,
    /// A numbered one is written beside it.
    numbers: bool,
}

impl Bucket {
    fn name(&self) -> &str {
        match self {
            Bucket::S3(bucket) => &bucket.bucket,
            Bucket::Azure(container, _) => &container.container,
        }
    }
}

pub(super) fn only_read() -> SourceError {
    SourceError::unsupported("writing with a presigned URL is not supported")
        .with_hint("s3(), gcs(), azureBlobStorage(), url() and file() can be written")
}

/// The bucket that a record names; a container of Azure is none.
pub(super) fn bucket_of(place: &ExportStore) -> Option<BucketLocation> {
    place.account.is_none().then(|| BucketLocation {
        endpoint: place.endpoint.to_string(),
        bucket: place.bucket.to_string(),
        virtual_host: place.virtual_host,
        region: place.region.as_deref().map(str::to_owned),
        version: None,
        headers: Vec::new(),
    })
}

fn exists(bucket: &Bucket, key: &str) -> SourceError {
    let (name, settings) = match bucket {
        Bucket::S3(_) => (bucket.name(), "s3"),
        Bucket::Azure(..) => (bucket.name(), "azure"),
    };
    let message = format!("object in bucket \"{name}\" with key \"{key}\" already exists");
    SourceError::new(SourceErrorKind::Exists, message).with_file(&format!("{name}/{key}")).with_hint(format!(
        "set {settings}_truncate_on_insert = 1 to overwrite it, or {settings}_create_new_file_on_insert = 1 to write a numbered object beside it"
    ))
}

fn all_taken(shown: &str) -> SourceError {
    let message = format!("\"{shown}\" exists in {NUMBERS_MAX} numbered copies already");
    SourceError::new(SourceErrorKind::Exists, message).with_hint("write under another name")
}

/// An error of the machine's file system.
pub(super) fn file_error(path: &Path, done: &str, error: &std::io::Error) -> SourceError {
    let shown = path.display().to_string();
    SourceError::new(SourceErrorKind::Unavailable, format!("file \"{shown}\" could not be {done}: {error}"))
        .with_file(&shown)
        .with_code(ErrorCode::CANNOT_WRITE_TO_FILE_DESCRIPTOR)
}

#[cfg(test)]
mod tests;
