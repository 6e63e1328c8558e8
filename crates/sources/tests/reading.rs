//! Reading and writing objects and files through the public API, against an S3 endpoint in this process.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod s3_server;
mod fault_proxy;

#[path = "reading/fixture.rs"]
mod fixture;
#[path = "reading/globs.rs"]
mod globs;
#[path = "reading/parquet.rs"]
mod parquet_files;
#[path = "reading/pruning.rs"]
mod pruning;
#[path = "reading/broken_parquet.rs"]
mod broken_parquet;
#[path = "reading/faults.rs"]
mod faults;
#[path = "reading/fault_kinds.rs"]
mod fault_kinds;
#[path = "reading/inference.rs"]
mod inference;
#[path = "reading/exports.rs"]
mod exports;
#[path = "reading/sending.rs"]
mod sending;
#[path = "reading/posts.rs"]
mod posts;
#[path = "reading/ranges.rs"]
mod ranges;
#[path = "reading/files.rs"]
mod files;
#[path = "reading/web.rs"]
mod web;
#[path = "reading/facts.rs"]
mod facts;
#[path = "reading/stores.rs"]
mod stores;
#[path = "reading/partitions.rs"]
mod partitions;
#[path = "reading/adopted.rs"]
mod adopted;
