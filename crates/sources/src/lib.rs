//! Where rows come from outside: objects in S3 buckets and local files.
//!
//! A call (`s3(...)`, `file(...)`) is [`resolve`]d into an [`ObjectTable`] before planning: listing, format, columns.
//! Queries scan it as a table of the query engine; loads cut it into units and read each with
//! [`ObjectTable::scan_unit`]. Both run the same code.
//! Invariant: a file is read as the listing saw it (ETag), and every error names it. Must not know: tables of ours, SQL
//! text, clients.

pub mod error;
mod snappy;
mod frames;
mod side_by_side;
pub mod compression;
pub mod rejects;
mod hive;
pub mod file_filter;
pub mod rate;
pub mod settings;
pub mod progress;
pub mod credentials;
pub mod collections;
pub mod encode;
pub mod format;
pub mod signatures;
mod showing;
pub mod arguments;
mod sorting;
mod url_forms;
mod azure_location;
pub mod web_location;
pub mod location;
pub mod glob;
pub mod hosts;
mod connector;
pub mod facts;
mod store_errors;
mod web_spool;
mod web_store;
mod verdict;
mod lane;
mod pace;
mod odd_keys;
mod wire;
mod attempts;
mod download;
mod local_read;
mod tags;
pub mod store;
mod store_write;
pub mod stores;
mod folders;
pub mod listing;
mod fetch;
mod pages;
mod footer;
mod schema_key;
mod cache_format;
pub mod cache;
pub mod env;
pub mod structure;
mod source_columns;
pub mod merge_schemas;
mod parquet_types;
mod wanted_types;
mod infer;
mod conform;
pub mod virtual_columns;
mod batch_size;
mod late_columns;
mod prune;
mod live_filters;
mod parquet_disk;
mod parquet_stream;
mod omitted;
mod sent_parquet;
pub mod cut_stream;
mod shared_text;
mod text_stream;
mod row_counts;
mod bloom;
pub mod split;
mod read_order;
pub mod object_table;
mod compression_notes;
mod object_scan;
mod object_provider;
pub mod open;
mod wrapped_parquet;
pub mod resolve;
pub mod export;

pub use arguments::{Argument, ArgumentValue, SourceCall};
pub use cache::{SchemaCache, SchemaCacheRow};
pub use collections::NamedCollections;
pub use credentials::{AccessKey, EndpointCredentials, S3Environment, Secret};
pub use encode::{Effort, Encoder};
pub use env::SourceEnv;
pub use error::{Result, SourceError, SourceErrorKind};
pub use export::{Destination, Export, ExportSettings};
pub use file_filter::{FileCondition, FileFilter, FilterValue};
pub use hosts::HostFilter;
pub use infer::columns_of_text;
pub use listing::SourceFile;
pub use location::UserFiles;
pub use object_table::ObjectTable;
pub use omitted::{ColumnDefaults, Filling};
pub use parquet_stream::BatchStream;
pub use progress::{ReadCounts, ReadProgress};
pub use rate::Rate;
pub use resolve::resolve;
pub use schema_key::{SchemaEntry, SchemaKey};
pub use sent_parquet::SentParquet;
pub use settings::{
    AzureRules, InferenceMode, InferenceSettings, Nullability, ReadMethod, SourceSettings, WantedTypes,
    WebPolicy,
};
pub use shared_text::Share;
pub use split::SourceUnit;
pub use stores::StoreCache;
pub use virtual_columns::VirtualColumn;
