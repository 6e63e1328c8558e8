//! A root in a store that many servers share: what makes them equal, and what each keeps of it.
//!
//! ```text
//!   root            who the root is           node.rs    who is there, what it reads, its time
//!   part_files.rs,  parts in the store,       duty.rs    who does which background work
//!   read_through.rs for writers and readers   sharing.rs following the log, telling the others
//!   fetches.rs      those on their way        known_seq  how far it went
//!   local_files.rs  those this machine has    open.rs    all of it together
//! ```
//!
//! Invariant: what is kept on this machine can be deleted at any time. Nothing here decides what is true: that is the log alone; a
//! disagreement about who is there costs work, never rows. Must not know: tables, SQL.

pub mod error;
pub mod root;
pub mod node;
pub mod duty;
pub mod counted;
pub mod local_files;
pub mod fetches;
pub mod part_files;
pub mod read_through;
pub mod known_seq;
pub mod sharing;
pub mod open;

pub use counted::{Counted, Counts};
pub use duty::Duties;
pub use error::SharedError;
pub use fetches::Fetches;
pub use local_files::LocalFiles;
pub use node::{Member, Node, NodeId, Report};
pub use open::{LookedAt, OpenedRoot, RootPlace, look_at, open};
pub use part_files::SharedParts;
pub use read_through::ReadThrough;
pub use root::{RootId, known_root, open_root};
pub use sharing::Sharing;
