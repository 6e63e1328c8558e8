//! What can go wrong between rows and parts, by what the caller can do about it.

use catalog::{CatalogError, RefusedWhy};
use host::MemoryRefused;
use model::RowExprError;
use parts::PartError;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum TableError {
    #[error(transparent)]
    Part(#[from] PartError),
    #[error(transparent)]
    Key(#[from] RowExprError),
    /// ClickHouse's words and its code 252, because people search for them.
    #[error(
        "Too many partitions for single INSERT block (more than {max}). The limit is controlled by \
         'max_partitions_per_insert_block' setting. Large number of partitions is a common misconception. It will \
         lead to severe negative performance impact, including slow server startup, slow INSERT queries and slow \
         SELECT queries. Recommended total number of partitions for a table is under 1000..10000. Please note, that \
         partitioning is not intended to speed up SELECT queries (ORDER BY key is sufficient to make range queries \
         fast). Partitions are intended for data manipulation (DROP PARTITION, etc)."
    )]
    TooManyPartitions { max: u64 },
    /// The rows given do not fit the table; a mistake of the caller.
    #[error("rows do not fit table \"{table}\": {message}")]
    Rows { table: String, message: String },
    #[error("inline rows of statement {block} cannot be read: {message}")]
    InlineDamaged { block: u64, message: String },
    #[error(transparent)]
    Memory(#[from] MemoryRefused),
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error(transparent)]
    Refused(#[from] RefusedWhy),
    /// The transaction may or may not have happened; its files must stay.
    #[error("it is not known whether the transaction was committed: {0}")]
    OutcomeUnknown(String),
    /// Columns of the inputs of a merge do not fit together.
    #[error("cannot gather the rows of a merge: {0}")]
    Gather(String),
    #[error("cancelled")]
    Cancelled,
}
