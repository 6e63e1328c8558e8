//! Session settings that reading sources obeys, as plain data.
//!
//! Invariant: every limit here is above zero once [`SourceSettings::bounded`] has been called. Names and defaults
//! are ClickHouse's. Must not know: how a session stores its settings.

use std::sync::Arc;
use std::time::Duration;

use formats::FormatSettings;
use model::ColumnType;
use model::saturating::usize_of;

use crate::codecs::compression::{Compression, Opening};
use crate::keys::file_filter::FileFilter;
use crate::statement::rate::Rate;
use crate::statement::rejects::Rejects;

/// `remote_filesystem_read_method`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadMethod {
    /// One request at a time, nothing ahead of the reader.
    Read,
    /// Requests run on the I/O threads, ahead of the reader.
    Threadpool,
}

/// `schema_inference_mode`, and ours.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum InferenceMode {
    /// The first file that can be read decides (ClickHouse's `default`).
    First,
    /// Every file is read; the result has every column (ClickHouse's `union`).
    Union,
    /// Ours: all Parquet footers, and first, last, largest and five more text files.
    SampledUnion,
}

/// How often and how long a page is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WebPolicy {
    /// `http_max_tries`, the first one counted.
    pub tries: usize,
    pub connect_timeout: Duration,
    /// A connection may be silent for so long.
    pub receive_timeout: Duration,
    pub backoff_min: Duration,
    pub backoff_max: Duration,
    pub redirects_max: usize,
}

impl Default for WebPolicy {
    /// ClickHouse's numbers, but for redirects: it follows none, and data sites redirect.
    fn default() -> Self {
        WebPolicy {
            tries: 10,
            connect_timeout: Duration::from_secs(1),
            receive_timeout: Duration::from_secs(30),
            backoff_min: Duration::from_millis(100),
            backoff_max: Duration::from_secs(10),
            redirects_max: 10,
        }
    }
}

/// What `azure_*` settings say where `s3_*` settings say something else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AzureRules {
    pub list_page_keys: usize,
    pub ignore_missing: bool,
    pub throw_on_zero_files: bool,
    pub skip_empty_files: bool,
    /// `None`: as for S3.
    pub retry_attempts: Option<usize>,
    pub body_retries: usize,
    pub connect_timeout: Duration,
    pub request_timeout: Duration,
    pub redirects_max: usize,
    pub get_rate: Rate,
    pub put_rate: Rate,
}

impl Default for AzureRules {
    fn default() -> Self {
        AzureRules {
            list_page_keys: 1000,
            ignore_missing: false,
            throw_on_zero_files: false,
            skip_empty_files: false,
            retry_attempts: None,
            body_retries: 4,
            connect_timeout: Duration::from_secs(1),
            request_timeout: Duration::from_secs(30),
            redirects_max: 10,
            get_rate: Rate::default(),
            put_rate: Rate::default(),
        }
    }
}

/// `schema_inference_make_columns_nullable`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Nullability {
    /// 0.
    Never,
    /// 1.
    Always,
    /// 2 and `auto`: what metadata or the values looked at say.
    Seen,
    /// 3: what metadata says; every column of a format without.
    Declared,
}

/// What inference obeys beside the settings of the format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InferenceSettings {
    pub nullable: Nullability,
    /// `column_names_for_schema_inference`.
    pub column_names: Vec<String>,
    /// `schema_inference_hints`, as a structure.
    pub hints: String,
}

impl Default for InferenceSettings {
    fn default() -> Self {
        InferenceSettings { nullable: Nullability::Declared, column_names: Vec::new(), hints: String::new() }
    }
}

/// Columns that the rows of a source are meant for: what text is read as instead of what it looks like.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WantedTypes {
    pub columns: Vec<(String, ColumnType)>,
    /// All columns of the source are meant, in this order: they may go by their places, and be used where nothing can be
    /// inferred.
    pub whole: bool,
    /// Columns that the SELECT uses for something else, too.
    pub used: Vec<String>,
    /// Columns of which is asked which cells are not there, unless all are meant.
    pub asked: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct SourceSettings {
    /// Streams that decode at the same time.
    pub max_threads: usize,
    /// Ranged GETs in flight for one file.
    pub max_download_threads: usize,
    /// Bytes of one ranged GET; a file above twice this is read in ranges.
    pub max_download_buffer_size: u64,
    pub read_method: ReadMethod,
    pub prefetch: bool,
    /// Several streams may parse one text file.
    pub parallel_parsing: bool,
    /// How many of them; 0 is `max_threads`.
    pub max_parsing_threads: usize,
    /// Bytes of text that one of them takes at a time.
    pub parsing_chunk_bytes: u64,
    /// Largest window of a zstd file, as a power of two.
    pub zstd_window_log_max: u32,
    /// Rows of one batch.
    pub max_block_size: usize,
    /// Keys in one page of a listing.
    pub list_page_keys: usize,
    /// Retries of one request after the first attempt.
    pub retry_attempts: usize,
    pub connect_timeout: Duration,
    pub request_timeout: Duration,
    /// No retry starts later than this after the first attempt of a request.
    pub retry_timeout: Duration,
    /// Times the body of one range may break and be asked for from there.
    pub body_retries: usize,
    /// One refusal of too many requests slows everybody who asks the bucket.
    pub slow_all_after_refusal: bool,
    /// Requests under way in one bucket, of all statements together.
    pub max_connections: usize,
    pub get_rate: Rate,
    pub put_rate: Rate,
    pub validate_etag: bool,
    /// Redirects that a request to a store follows.
    pub redirects_max: usize,
    /// The query string of a presigned URL is a part of the key.
    pub presigned_query_in_key: bool,
    /// Pages that the braces of a URL of `url()` may stand for.
    pub glob_expansion_max: u64,
    /// A page among several that does not exist is passed over.
    pub skip_missing_pages: bool,
    /// A page without bytes is passed over.
    pub skip_empty_pages: bool,
    pub web: WebPolicy,
    pub azure: AzureRules,
    /// An exact key that is missing is an error unless this is set.
    pub ignore_missing: bool,
    pub throw_on_zero_files: bool,
    pub skip_empty_files: bool,
    pub inference_mode: InferenceMode,
    /// For objects of stores.
    pub use_schema_cache: bool,
    /// For local files.
    pub use_schema_cache_for_files: bool,
    /// A column that a Parquet file has in no other case than asked for may be one that differs in case.
    pub parquet_any_case: bool,
    /// A column that a Parquet file does not have is NULL or its type's default; otherwise an error.
    pub parquet_missing_columns: bool,
    /// Row groups and pages are skipped by their bounds.
    pub parquet_skip_row_groups: bool,
    /// Row groups are skipped by their bloom filters.
    pub parquet_bloom_filters: bool,
    /// Bytes of a text file looked at by inference.
    pub inference_bytes_max: u64,
    /// Parquet footers read for one source; of more files inference takes an even sample.
    pub max_footers: usize,
    /// Bytes fetched ahead of the decoder by one stream.
    pub prefetch_bytes_max: u64,
    /// Folders named `name=value` are columns.
    pub hive_partitioning: bool,
    /// Paths a filter may name to be read without a listing.
    pub path_filter_limit: usize,
    /// What the statement around the call says of files: no others are listed or read.
    pub wanted_files: FileFilter,
    pub inference: InferenceSettings,
    /// Of the table that an INSERT fills.
    pub wanted_types: WantedTypes,
    pub format: FormatSettings,
    /// Where rows go that are skipped because they cannot be read.
    pub rejects: Arc<Rejects>,
}

impl Default for SourceSettings {
    fn default() -> Self {
        SourceSettings {
            max_threads: 2,
            max_download_threads: 4,
            max_download_buffer_size: 10 << 20,
            read_method: ReadMethod::Threadpool,
            prefetch: true,
            parallel_parsing: true,
            max_parsing_threads: 0,
            parsing_chunk_bytes: 4 << 20,
            zstd_window_log_max: 27,
            max_block_size: 65_409,
            list_page_keys: 1000,
            // With waits capped at 5 s these would be 40 minutes of silence: `retry_timeout` ends it before.
            retry_attempts: 500,
            connect_timeout: Duration::from_millis(1000),
            request_timeout: Duration::from_millis(30_000),
            retry_timeout: Duration::from_secs(120),
            body_retries: 4,
            slow_all_after_refusal: false,
            max_connections: 1024,
            get_rate: Rate::default(),
            put_rate: Rate::default(),
            validate_etag: true,
            redirects_max: 10,
            presigned_query_in_key: false,
            glob_expansion_max: 1000,
            skip_missing_pages: true,
            skip_empty_pages: false,
            web: WebPolicy::default(),
            azure: AzureRules::default(),
            ignore_missing: false,
            throw_on_zero_files: false,
            skip_empty_files: true,
            inference_mode: InferenceMode::SampledUnion,
            use_schema_cache: true,
            use_schema_cache_for_files: true,
            parquet_any_case: false,
            parquet_missing_columns: true,
            parquet_skip_row_groups: true,
            parquet_bloom_filters: true,
            inference_bytes_max: 32 << 20,
            max_footers: 2000,
            prefetch_bytes_max: 64 << 20,
            hive_partitioning: true,
            path_filter_limit: 1000,
            wanted_files: FileFilter::default(),
            inference: InferenceSettings::default(),
            wanted_types: WantedTypes::default(),
            format: FormatSettings::default(),
            rejects: Arc::default(),
        }
    }
}

impl SourceSettings {
    /// The same settings with every limit at least at its least useful value.
    pub fn bounded(mut self) -> Self {
        self.max_threads = self.max_threads.max(1);
        self.max_download_threads = self.max_download_threads.clamp(1, 256);
        self.max_download_buffer_size = self.max_download_buffer_size.max(64 << 10);
        self.max_block_size = self.max_block_size.max(1);
        self.list_page_keys = self.list_page_keys.clamp(1, 1000);
        self.max_connections = self.max_connections.max(1);
        self.max_footers = self.max_footers.max(1);
        self.inference_bytes_max = self.inference_bytes_max.max(32 << 10);
        self
    }

    /// The same settings with Azure's rules of listing and of requests.
    pub fn for_azure(&self) -> Self {
        let azure = self.azure;
        SourceSettings {
            list_page_keys: azure.list_page_keys.clamp(1, 5000),
            ignore_missing: azure.ignore_missing,
            throw_on_zero_files: azure.throw_on_zero_files,
            skip_empty_files: azure.skip_empty_files,
            retry_attempts: azure.retry_attempts.unwrap_or(self.retry_attempts),
            body_retries: azure.body_retries,
            connect_timeout: azure.connect_timeout,
            request_timeout: azure.request_timeout,
            redirects_max: azure.redirects_max,
            get_rate: azure.get_rate,
            put_rate: azure.put_rate,
            ..self.clone()
        }
    }

    /// Whether bytes may be fetched before they are asked for.
    pub fn reads_ahead(&self) -> bool {
        self.prefetch && self.read_method == ReadMethod::Threadpool
    }

    /// How files are opened whose compression is `said`, or told by their first bytes.
    pub fn opening(&self, said: Option<Compression>) -> Opening {
        Opening { said, zstd_window_log_max: self.zstd_window_log_max }
    }

    /// Streams that may parse one text file.
    pub fn parsing_threads(&self) -> usize {
        match self.max_parsing_threads {
            _ if !self.parallel_parsing => 1,
            0 => self.max_threads,
            count => count.min(self.max_threads),
        }
    }

    /// Bytes of a piece of text. Pieces wait and are parsed beside each other, so large ones cost memory and small ones
    /// make small batches.
    pub fn piece_bytes(&self) -> usize {
        usize_of(self.parsing_chunk_bytes).clamp(64 << 10, 16 << 20)
    }
}
