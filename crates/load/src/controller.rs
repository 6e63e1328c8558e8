//! How many sinks a load gets and how large their blocks are.
//!
//! Pure: numbers in, numbers out. Invariant: what the sinks may hold together stays inside the memory limit, and an
//! explicit setting always wins over a derived number.

/// Uncompressed bytes of a block when memory is plenty. Measured on a million posts: from 64 to 192 MiB the load takes the
/// same time and its parts the same bytes, but 18, 12 or 6 parts, and 650 MB, 770 MB or more; rows of numbers (TPC-H lineitem)
/// load a twentieth faster at 64 than at 96 MiB, because more of a block is in the processor's cache when it is sorted.
pub const BLOCK_BYTES_DEFAULT: u64 = 64 << 20;

/// Below this a part is so small that merging it costs more than the memory saved.
pub const BLOCK_BYTES_MIN: u64 = 16 << 20;

/// A sink holds its block, the sorted copy of its views, and the pages being encoded: about three blocks' worth at
/// worst. ClickHouse's guide derives the same three (`peak / (3 * threads)`).
const COPIES_PER_SINK: u64 = 3;

/// What the statement and the machine offer. Zero means "not given".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SinkRequest {
    pub cores: u64,
    /// `max_insert_threads`.
    pub insert_threads: u64,
    /// `min_insert_block_size_rows`; `None` if the user did not set it.
    pub block_rows_min: Option<u64>,
    /// `min_insert_block_size_bytes`; `None` if the user did not set it.
    pub block_bytes_min: Option<u64>,
    /// Bytes this statement may hold.
    pub memory_bytes_max: u64,
}

/// The decision. A zero threshold is off, as in ClickHouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SinkPlan {
    pub sinks: u64,
    pub block_rows_min: u64,
    pub block_bytes_min: u64,
}

pub fn plan_sinks(request: SinkRequest) -> SinkPlan {
    let sinks = if request.insert_threads > 0 { request.insert_threads } else { request.cores.max(1) };
    let share = request.memory_bytes_max / (COPIES_PER_SINK * sinks);
    let derived = BLOCK_BYTES_DEFAULT.min(share).max(BLOCK_BYTES_MIN);
    SinkPlan {
        sinks,
        block_rows_min: request.block_rows_min.unwrap_or(0),
        block_bytes_min: request.block_bytes_min.unwrap_or(derived),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn decisions() {
        let free = SinkRequest {
            cores: 2,
            insert_threads: 0,
            block_rows_min: None,
            block_bytes_min: None,
            memory_bytes_max: 19 * GIB,
        };
        assert_eq!(
            plan_sinks(free),
            SinkPlan { sinks: 2, block_rows_min: 0, block_bytes_min: BLOCK_BYTES_DEFAULT }
        );
        // One GiB is plenty for two sinks.
        let tight = SinkRequest { memory_bytes_max: GIB, ..free };
        assert_eq!(plan_sinks(tight).block_bytes_min, BLOCK_BYTES_DEFAULT);
        // A quarter of that: 256 MiB / 6.
        assert_eq!(plan_sinks(SinkRequest { memory_bytes_max: GIB / 4, ..free }).block_bytes_min, GIB / 24);
        // The guide's tuned statement is obeyed to the letter.
        let tuned = SinkRequest {
            insert_threads: 4,
            block_rows_min: Some(0),
            block_bytes_min: Some(2_863_311_530),
            ..free
        };
        assert_eq!(
            plan_sinks(tuned),
            SinkPlan { sinks: 4, block_rows_min: 0, block_bytes_min: 2_863_311_530 }
        );
    }
}
