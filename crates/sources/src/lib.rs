//! Where rows come from outside: objects in S3 buckets and local files, as tables.
//!
//! A call (`s3(...)`, `file(...)`) is [`resolve`]d into an [`ObjectTable`] before planning: listing, format, columns.
//! Queries scan it as a table of the query engine; loads cut it into units and read each with
//! [`ObjectTable::scan_unit`]. Both run the same code. The other way, `export` writes rows as objects. How a store is asked is
//! `stores`' own.
//!
//! Invariant: what a table is, is fixed when it is resolved, and every error names the file. Must not know: tables of ours, SQL
//! text, clients.

pub mod schema;
pub mod cache;
pub mod env;
mod parquet;
pub mod text;
pub mod tables;
pub mod resolve;
pub mod export;

pub use self::parquet::adopt::chunks::{ArrivingChunks, RowGroupChunks};
pub use self::parquet::adopt::page_walk::StoredPage;
pub use self::parquet::adopt::verify::{ChunkWanted, UnfitPages, Verified, VerifiedChunk};
pub use self::parquet::decode::BatchStream;
pub use self::parquet::sent::SentParquet;
pub use ::parquet::file::metadata::ParquetMetaData as Footer;
pub use cache::key::{SchemaEntry, SchemaKey};
pub use cache::schema_file;
pub use cache::schemas::{SchemaCache, SchemaCacheRow};
pub use env::SourceEnv;
pub use export::{Destination, Export, ExportSettings};
pub use resolve::call::resolve;
pub use resolve::infer::columns_of_text;
pub use schema::virtual_columns::VirtualColumn;
pub use tables::object_table::ObjectTable;
pub use tables::omitted::{ColumnDefaults, Filling};
pub use tables::scan::ObjectScanExec;
pub use tables::split::SourceUnit;
pub use tables::unit_feed::{NextSourceUnit, UnitFeed};
pub use text::parallel::Share;
pub use text::ranges::Ranges;
