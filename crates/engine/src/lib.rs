//! The API boundary: everything above speaks `Database`, `Session`, `Request`, `Outcome`, `Error`.
//!
//! Journey of a statement:
//! 1. a door calls [`Session::execute`] with a [`Request`];
//! 2. `sql` parses it ([`session`]); settings of session, request and statement are laid over each other;
//! 3. a snapshot is pinned and a memory budget made (`context`);
//! 4. `execute` chooses who does it, within the `limits` that settings draw;
//! 5. for a query, `sql` rewrites and guards its AST and lists its table functions;
//! 6. `resolve` makes those into tables: listing and inference, the only I/O before running;
//! 7. DataFusion plans over `schemas`, which answer from the one snapshot;
//! 8. `provider` makes scans of parts, pruned by their bounds, beside the inline rows;
//! 9. batches flow on the computing threads into the answer's stream;
//! 10. for an INSERT, `conform` casts rows to the table and either one inline op is committed,
//! 11. or `exec` runs `CommitExec <- SinkExec <- .. <- UnitScanExec`: parts sealed, then one transaction; a load with a
//!     label commits parts unit by unit, unseen, and publishes them at the end (`staged_load`);
//! 12. `background` is woken: merges, flushes, collection, checkpoints.
//!
//! Invariant: no DataFusion type crosses this boundary.

mod error_code;
pub mod error;
mod storage_errors;
pub mod config;
mod memory_tables;
mod memory_pool;
mod provider;
pub mod already_loaded;
pub mod progress;
mod profile;
mod part_log;
mod rejected_rows;
mod outfile;
pub mod request;
pub mod coding;
mod secret_urls;
mod statement_text;
mod secrets;
mod fingerprint;
mod once;
mod claim;
mod row_expr;
mod conform;
mod uncommitted;
mod sink_target;
mod commit;
mod exec;
mod infile;
mod insert_shape;
mod tables;
mod flushing;
mod merges;
mod processes;
mod loads;
mod running_exports;
mod schemas_name;
pub mod database;
pub mod figures;
mod context;
mod collections;
mod limits;
mod pressure;
mod source_settings;
mod schema_file;
mod system;
mod schemas;
mod virtual_columns;
mod file_filters;
mod target_types;
mod resolve;
mod outside;
mod query;
mod format_stream;
mod insert_rows;
mod load_source;
mod staged_load;
mod insert;
mod exports;
mod export;
mod insert_into;
mod load_statements;
mod ddl;
mod collection_ddl;
mod create_select;
mod merging;
mod settling;
mod optimize;
mod show;
mod explain_sources;
mod explain;
mod execute;
pub mod session;
mod background;
mod open;

pub use already_loaded::{AlreadyLoaded, RecognisedBy};
pub use catalog::{Collection, CollectionValue};
pub use config::Config;
pub use database::Database;
pub use error::{Error, ErrorKind};
pub use figures::Figures;
pub use formats::FormatKind;
pub use outfile::{Existing, Outfile, OutputEncoder};
pub use progress::QueryProgress;
pub use request::{BodyStream, Dialect, Outcome, Request};
pub use session::Session;
pub use sql::{Arrived, arrived, is_blank, lexemes, next_statement};
pub use statement_text::masked;
