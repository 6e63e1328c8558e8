//! The nouns of the database: ids, types, table and part descriptions, codes of errors; and the arithmetic all crates share, as
//! the calendar, time zones, published hashes, distances, and how single values are written.
//!
//! Invariant: plain data. No I/O, no async, no clock; of Arrow only schema types, arrays of keys and batches.
//! Must not know: SQL text beyond type names, the log, files.

pub mod calendar;
pub mod mix64;
pub mod saturating;
pub mod hashes;
pub mod likeness;
pub mod curves;
pub mod plane;
pub mod error_code;
pub mod ids;
pub mod column_type;
mod type_aliases;
pub mod type_name;
pub mod format_kind;
pub mod type_arrow;
pub mod raw_text;
pub mod address;
pub mod wide;
pub mod value;
pub mod partition;
pub mod part;
pub mod row_expr;
pub mod table_keys;
pub mod staged;
pub mod export;
pub mod table_settings;
pub mod merge_mode;
pub mod table_def;
pub mod units;

pub use column_type::{ColumnType, EnumValues, StateType, TupleElement};
pub use error_code::ErrorCode;
pub use export::{ExportCredentials, ExportObject, ExportStore};
pub use ids::{ColumnId, DatabaseId, ExportId, Label, LoadId, PartId, Seq, TableId, TxnId, UnitId};
pub use merge_mode::{Combining, MergeMode};
pub use part::{BlockRange, ColumnBounds, FileTail, PartDescriptor, PartLocation, SealedPart, SortOrder};
pub use partition::PartitionValue;
pub use row_expr::{Monotonicity, RowExpr, RowExprError};
pub use staged::{StagedFile, StagedInput, StagedUnit};
pub use table_def::detached_parts::DETACHED_PARTS;
pub use table_def::{
    ColumnDef, ConstraintDef, ConstraintKind, DefaultKind, EngineArguments, KeptClause, TableDef, TableEngine,
};
pub use table_keys::{Combine, Conversion, Evolution, TableKeys};
pub use table_settings::TableSettings;
pub use type_name::every_type::EVERY_TYPE;
pub use units::{ByteSize, RowCount};
pub use value::Value;
pub use wide::WideInteger;
