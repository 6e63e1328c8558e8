//! Units of work: the input of a load, cut below the file.
//!
//! Invariant: the units of a plan do not overlap, and together they are the whole input.

use model::UnitId;

/// One cut of the input, sized so that a worker finishes it in seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    pub id: UnitId,
    /// Index into the frozen listing of the load.
    pub file: u32,
    /// Compressed bytes, as listed or estimated; decides the order of work.
    pub bytes: u64,
    /// Known for formats with a footer.
    pub rows: Option<u64>,
}
