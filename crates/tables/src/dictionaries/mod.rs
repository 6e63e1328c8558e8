//! Dictionaries: what one says, the calls that ask it, and the rows that they are answered from (`docs/design/dictionaries.md`).
//!
//! Invariant: a dictionary is read by the statement that asks it, at the statement's snapshot. Must not know: sessions and
//! statements; they give what they know of tables.

mod selects;
mod definition;
mod calls;
mod changes;
mod asked;

pub use asked::{Columns, read_for};
pub use calls::KnownDictionary;
pub use changes::{created, dropped, named};
pub use definition::{Find, check_table, dictionary_of, kept_name, refuse_as_table, select_of};
pub use selects::shown_source;
