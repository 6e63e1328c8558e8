//! Where an INSERT INTO FUNCTION writes: the call taken apart, and the key each partition gets.
//!
//! Invariant: a key that is taken is an error, unless a setting says to replace it, to number it, or (for files) it can
//! be appended to. Must not know: rows, when a statement commits.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use formats::FormatKind;
use host::Disk;
use model::ColumnType;
use model::export::{ExportCredentials, ExportStore};

use crate::arguments::{ObjectArguments, SourceCall};
use crate::compression::Compression;
use crate::credentials::Credentials;
use crate::env::SourceEnv;
use crate::error::{Result, SourceError, SourceErrorKind, code};
use crate::export::names::{self, PARTITION_WILDCARD, PartitionStrategy};
use crate::export::settings::ExportSettings;
use crate::location::{BucketLocation, Location, file_location, s3_location};
use crate::store::Store;
use crate::stores::RetryPolicy;
use crate::structure;

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
    is_files: bool,
    /// URL or path as given.
    path: String,
    credentials: Credentials,
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
        let function = call.function.to_ascii_lowercase();
        if !matches!(function.as_str(), "s3" | "gcs" | "file") {
            return Err(SourceError::unsupported(format!(
                "INSERT INTO FUNCTION {} is not supported; s3, gcs and file are",
                call.function
            )));
        }
        let is_files = function == "file";
        let arguments = call.object_arguments()?;
        let compression = match &arguments.compression {
            Some(name) => Compression::by_name(name)?,
            None => Compression::by_suffix(&arguments.url).0,
        };
        let destination = Destination {
            format: format_of(&arguments)?,
            compression,
            structure: arguments.structure.as_deref().map(structure::parse).transpose()?,
            strategy: None,
            partition_columns_in_data_file: false,
            is_files,
            credentials: Credentials::choose(&arguments.credentials, &env.environment),
            path: arguments.url,
            env: env.clone(),
            disk,
            settings,
        };
        if !is_partitioned {
            names::refuse_globs(&destination.path)?;
            destination.location(&destination.path)?;
            return Ok(destination);
        }
        let strategy = PartitionStrategy::choose(None, &destination.path)?;
        let plain = destination.path.replace(PARTITION_WILDCARD, "x");
        names::refuse_globs(&plain)?;
        destination.location(&plain)?;
        Ok(Destination { strategy: Some(strategy), ..destination })
    }

    /// The path or URL, without anything secret.
    pub fn shown(&self) -> &str {
        &self.path
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

    /// The key for a partition's rows. `id` names files that have no name of their own.
    pub(super) async fn spot(&self, partition: Option<&PartitionKey>, id: &str) -> Result<Spot> {
        let location = match partition {
            None => self.location(&self.path)?,
            Some(PartitionKey::Value(value)) => self.location(&names::with_value(&self.path, value)?)?,
            Some(PartitionKey::Columns(columns)) => {
                let key = |root: &str| names::hive_key(root, columns, id, self.format, self.compression);
                match self.location(&self.path)? {
                    Location::S3 { bucket, pattern } => Location::S3 { bucket, pattern: key(&pattern)? },
                    Location::Local { pattern } => Location::Local { pattern: key(&pattern)? },
                }
            }
        };
        match location {
            Location::Local { pattern } => self.file_spot(&format!("/{pattern}")),
            Location::S3 { bucket, pattern } => self.bucket_spot(bucket, pattern).await,
        }
    }

    fn location(&self, path: &str) -> Result<Location> {
        match self.is_files {
            true => file_location(path, &self.env.user_files),
            false => s3_location(path, &self.env.environment),
        }
    }

    /// ClickHouse's rule for files: append where the format can, else the settings decide.
    fn file_spot(&self, path: &str) -> Result<Spot> {
        let there = |path: &str| {
            self.disk
                .exists(Path::new(path))
                .map_err(|error| file_error(Path::new(path), "looked for", &error))
        };
        let spot = |key: String, appends, replaces| Spot {
            key,
            store: None,
            place: Arc::new(ExportStore::files()),
            appends,
            replaces,
        };
        if self.settings.file_truncate || !there(path)? {
            return Ok(spot(path.to_owned(), false, self.settings.file_truncate));
        }
        if can_append(self.format) {
            return Ok(spot(path.to_owned(), true, true));
        }
        if !self.settings.file_create_new {
            let message = format!(
                "file \"{path}\" already exists, and format {} cannot be appended to",
                self.format.name()
            );
            return Err(SourceError::new(SourceErrorKind::Exists, message)
                .with_file(path)
                .with_code(code::CANNOT_APPEND_TO_FILE)
                .with_hint(
                    "set engine_file_truncate_on_insert = 1 to replace it, or engine_file_allow_create_multiple_files = 1 to write a numbered file beside it",
                ));
        }
        for number in 1..=NUMBERS_MAX {
            let numbered = names::numbered(path, number);
            if !there(&numbered)? {
                return Ok(spot(numbered, false, false));
            }
        }
        Err(all_taken(path))
    }

    async fn bucket_spot(&self, bucket: BucketLocation, key: String) -> Result<Spot> {
        let (bucket, store, taken) = self.look(bucket, &key).await?;
        let place = Arc::new(self.place(&bucket));
        let spot = |key: String| Spot {
            key,
            store: Some(Arc::clone(&store)),
            place,
            appends: false,
            replaces: self.settings.truncate,
        };
        if self.settings.truncate || !taken {
            return Ok(spot(key));
        }
        if !self.settings.create_new {
            return Err(exists(&bucket.bucket, &key));
        }
        for number in 1..=NUMBERS_MAX {
            let numbered = names::numbered(&key, number);
            if !store.exists(&numbered).await? {
                return Ok(spot(numbered));
            }
        }
        Err(all_taken(&store.shown(&key)))
    }

    /// The bucket where it really is, and whether the key is taken.
    async fn look(&self, bucket: BucketLocation, key: &str) -> Result<(BucketLocation, Arc<Store>, bool)> {
        let store = self.store(&bucket)?;
        match store.exists(key).await {
            Ok(taken) => Ok((bucket, store, taken)),
            Err(error) => match error.region().filter(|region| bucket.region.as_deref() != Some(region)) {
                Some(region) => {
                    let moved = BucketLocation { region: Some(region.to_owned()), ..bucket };
                    let store = self.store(&moved)?;
                    let taken = store.exists(key).await?;
                    Ok((moved, store, taken))
                }
                // Whoever may only write is not told what is there; replacing needs no answer.
                None if error.kind() == SourceErrorKind::Denied && self.settings.truncate => {
                    Ok((bucket, store, true))
                }
                None => Err(error),
            },
        }
    }

    fn store(&self, bucket: &BucketLocation) -> Result<Arc<Store>> {
        self.env.stores.bucket(bucket, &self.credentials, RetryPolicy::from(self.env.settings.as_ref()))
    }

    /// Whether this call's credentials are those that `place` waits for.
    pub fn can_finish(&self, place: &ExportStore) -> bool {
        let Credentials::Explicit(_) = &self.credentials else { return false };
        let ours = match self.location(&self.path.replace(PARTITION_WILDCARD, "x")) {
            Ok(Location::S3 { bucket, .. }) => bucket,
            _ => return false,
        };
        place.credentials == ExportCredentials::Statement
            && *place.endpoint == *ours.endpoint
            && *place.bucket == *ours.bucket
    }

    /// The store of `place` with this call's credentials.
    pub fn store_of(&self, place: &ExportStore) -> Result<Arc<Store>> {
        self.store(&bucket_of(place))
    }

    fn place(&self, bucket: &BucketLocation) -> ExportStore {
        ExportStore {
            endpoint: bucket.endpoint.as_str().into(),
            bucket: bucket.bucket.as_str().into(),
            virtual_host: bucket.virtual_host,
            region: bucket.region.as_deref().map(Into::into),
            credentials: match &self.credentials {
                Credentials::Explicit(_) => ExportCredentials::Statement,
                Credentials::Ambient(_) => ExportCredentials::Ambient,
                Credentials::Anonymous => ExportCredentials::Nobody,
            },
        }
    }
}

/// The bucket that a record names.
pub(super) fn bucket_of(place: &ExportStore) -> BucketLocation {
    BucketLocation {
        endpoint: place.endpoint.to_string(),
        bucket: place.bucket.to_string(),
        virtual_host: place.virtual_host,
        region: place.region.as_deref().map(str::to_owned),
    }
}

fn format_of(arguments: &ObjectArguments) -> Result<FormatKind> {
    let unknown = |message: String| SourceError::bad_arguments(message).with_code(code::UNKNOWN_FORMAT);
    let format = match &arguments.format {
        Some(name) => FormatKind::parse(name).ok_or_else(|| unknown(format!("unknown format \"{name}\"")))?,
        None => {
            let plain = Compression::by_suffix(&arguments.url).1;
            FormatKind::of_file_name(plain).ok_or_else(|| {
                let message = format!("the name \"{}\" tells no format to write", arguments.url);
                SourceError::bad_arguments(message)
                    .with_code(code::CANNOT_DETECT_FORMAT)
                    .with_hint("give the format as an argument")
            })?
        }
    };
    match format.is_output() {
        true => Ok(format),
        false => Err(unknown(format!("format \"{}\" cannot be written", format.name()))),
    }
}

/// Formats whose rows end where the file ends; all others are closed by something.
fn can_append(format: FormatKind) -> bool {
    !["Parquet", "ORC", "Arrow", "Avro", "JSON", "JSONCompact", "XML", "Npy"].contains(&format.name())
}

fn exists(bucket: &str, key: &str) -> SourceError {
    let message = format!("object in bucket \"{bucket}\" with key \"{key}\" already exists");
    SourceError::new(SourceErrorKind::Exists, message).with_file(&format!("{bucket}/{key}")).with_hint(
        "set s3_truncate_on_insert = 1 to overwrite it, or s3_create_new_file_on_insert = 1 to write a numbered object beside it",
    )
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
        .with_code(code::CANNOT_WRITE_FILE)
}

/// The name of a file while it is written: in the same folder, so that renaming it is all that is left to do.
pub(super) fn temporary_of(path: &str, id: &str) -> PathBuf {
    let path = Path::new(path);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.{id}.tmp"))
}
