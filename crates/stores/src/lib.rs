//! Stores and what lies in them: objects in buckets and containers, pages, local files; asked, listed, read and written.
//!
//! A call (`s3(...)`, `file(...)`) says where (`calls`, `locations`) and who asks (`credentials`); a [`StoreCache`] gives the one
//! [`clients::store::Store`] for it, whose requests go out by `requests` and `network`; `files` finds what a pattern names and reads
//! ranges of it; `codecs` takes off the compression.
//!
//! Invariant: a file is read as the listing saw it (ETag), and every error names it and holds no secret; no request leaves but to a
//! host that is let through. Must not know: columns, tables, the query engine.

pub mod error;
mod xml;
pub mod codecs;
pub mod keys;
pub mod statement;
pub mod credentials;
pub mod calls;
pub mod network;
pub mod requests;
pub mod web;
pub mod locations;
pub mod clients;
pub mod files;

pub use calls::arguments::{Argument, ArgumentValue, SourceCall};
pub use calls::collections::NamedCollections;
pub use clients::cache::StoreCache;
pub use clients::shared_bucket::SharedBucket;
pub use codecs::encode::{Effort, Encoder};
pub use credentials::{AccessKey, EndpointCredentials, S3Environment, Secret};
pub use error::{Result, SourceError, SourceErrorKind};
pub use files::listing::SourceFile;
pub use keys::file_filter::{FileCondition, FileFilter, FilterValue};
pub use locations::location::UserFiles;
pub use network::hosts::HostFilter;
pub use statement::progress::{ReadCounts, ReadProgress};
pub use statement::rate::Rate;
pub use statement::settings::{
    AzureRules, InferenceMode, InferenceSettings, Nullability, ReadMethod, SourceSettings, WantedTypes,
    WebPolicy,
};
