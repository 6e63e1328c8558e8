//! What can go wrong between rows and parts, by what the caller can do about it.

use std::path::PathBuf;

use catalog::{CatalogError, RefusedWhy};
use host::MemoryRefused;
use model::{ByteSize, RowExprError};
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
    /// ClickHouse's words and its code 252, for the same reason.
    #[error(
        "Too many parts ({parts} with average size of {average}) in table '{table}'. Merges are processing \
         significantly slower than inserts"
    )]
    TooManyParts { table: String, parts: u64, average: ByteSize },
    #[error(
        "Too many parts ({parts}) in all partitions in total in table '{table}'. This indicates wrong choice of \
         partition key. The threshold can be modified with the table setting 'max_parts_in_total'"
    )]
    TooManyPartsInTotal { table: String, parts: u64 },
    /// Small inserts come faster than their rows are flushed.
    #[error(
        "memory limit exceeded: table \"{table}\" takes no more small inserts, because {held} of rows wait to be \
         written into parts and at most {limit} may"
    )]
    InlineFull { table: String, held: ByteSize, limit: ByteSize },
    /// The rows given do not fit the table; a mistake of the caller.
    #[error("rows do not fit table \"{table}\": {message}")]
    Rows { table: String, message: String },
    /// A row is not of the partitions that are replaced.
    #[error(
        "a row for table \"{table}\" is in partition {partition}, which is none of those to be overwritten"
    )]
    OutsidePartitions { table: String, partition: String },
    /// A sign, or whether a row is deleted, is none.
    #[error("{0}")]
    IncorrectData(String),
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
    /// Missing is not empty: parts are made only after a record has made their table.
    #[error(
        "the log in {} has no record, but there are {files} files of parts, such as {}: the log is missing", .root.display(),
        .example.display()
    )]
    LogMissing { root: PathBuf, files: usize, example: PathBuf },
    /// Columns of the inputs of a merge do not fit together.
    #[error("cannot gather the rows of a merge: {0}")]
    Gather(String),
    #[error("cancelled")]
    Cancelled,
}
