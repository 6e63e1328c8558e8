//! The API boundary: everything above speaks `Database`, `Session`, `Request`, `Outcome`, `Error`.
//!
//! Journey of a statement, room by room:
//! 1. a door calls [`Session::execute`] with a [`Request`] (crate `boundary`, `statement`);
//! 2. `sql` parses it; settings of session, request and statement are laid over each other (`statement/session.rs`);
//! 3. a snapshot is pinned and memory granted: an `Execution`, beside the `Services` that outlive it (`context`);
//! 4. `statement/execute.rs` chooses who does it, within the limits that settings draw (`context/limits.rs`);
//! 5. for a query, `planner` guards and rewrites its AST and lists its table functions (`query`);
//! 6. `resolve` makes those into tables: listing and inference, of a query the only I/O before running;
//! 7. DataFusion plans over `resolve/schemas.rs`, which answers from the one snapshot;
//! 8. `physical` makes scans of parts, pruned by their bounds, beside the inline rows;
//! 9. batches flow on the computing threads into the answer's stream (`statement/answer.rs`);
//! 10. for an INSERT, `tables/conform.rs` casts rows to the table and either one inline op is committed (`insert`),
//! 11. or `exec` runs `CommitExec <- SinkExec <- .. <- UnitScanExec`: parts sealed, then one transaction; a load with a
//!     label commits parts unit by unit, unseen, and publishes them at the end (`load`);
//! 12. `background` is woken: merges, flushes, collection, checkpoints.
//!
//! Invariant: no DataFusion type crosses this boundary.

mod planning;
pub mod context;
mod resolve;
mod query;
mod load;
mod insert;
mod export;
mod define;
mod background;
mod mutate;
pub mod statement;
mod repair;

pub use boundary::already_loaded::{AlreadyLoaded, RecognisedBy};
pub use boundary::coding;
pub use boundary::config::Config;
pub use boundary::error::{Error, ErrorKind};
pub use boundary::found_at_open::OpenNotice;
pub use boundary::outfile::{Existing, Outfile, OutputEncoder};
pub use boundary::progress::QueryProgress;
pub use boundary::request::{BodyStream, Caller, Dialect, Outcome, Request};
pub use boundary::room::room_to_finish;
pub use boundary::secrets::text::masked;
pub use boundary::telling::Telling;
pub use catalog::{Collection, CollectionValue};
pub use cluster::{Listener, PeerConfig, TlsFiles};
pub use context::database::Database;
pub use context::figures::Figures;
pub use formats::FormatKind;
pub use mergetree::{folder_check::FolderCheck, folder_check::verify_folder, root_check::verify_root};
pub use model::ErrorCode;
/// Bytes of a statement as text, those that are no UTF-8 included.
pub use model::raw_text::text as text_of_bytes;
pub use repair::restore::{RestoreProgress, RestoreRequest, Restored, RestoredTable, restore};
pub use shared::{RootPlace, look_at};
pub use sql::{Arrived, arrived, is_blank, lexemes, next_statement};
pub use statement::session::Session;
