//! Tables of engine Join: what one says, which of its rows there are, the joins that may name it, and joinGet
//! (`docs/design/join_engine.md`).
//!
//! Invariant: rows are stored as those of a log, and which of them there are is decided when they are read. Must not know:
//! sessions and statements; they give what they know of tables.

mod definition;
mod right_side;
mod asked;

pub use asked::JoinsOfStatement;
pub use definition::{JoinTable, check_definition, condition_of, hides_rows, read};
pub use right_side::check_joins;
