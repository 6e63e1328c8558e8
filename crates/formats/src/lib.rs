//! Rows as bytes, both directions: readers, writers and schema inference of every format.
//!
//! Invariant: no I/O and no async; a reader is pushed bytes and gives batches, a writer is pushed batches and gives
//! bytes. Values are read and printed as ClickHouse does. Must not know: DataFusion, files, sessions.
//!
//! Of one text knows `values`, of many `columns`; `rows` and `binary` know where they stand in a format. `reader` joins
//! these, `pieces` cuts what it is given, `infer` tells what it needs; `writer` is the way back.

pub mod error;
pub mod settings;
pub mod values;
pub mod columns;
pub mod rows;
mod binary;
pub mod reader;
pub mod pieces;
pub mod infer;
pub mod writer;

pub use columns::builder::{CellError, TypedColumnBuilder, parse_value};
pub use columns::conform::{conform, missing};
pub use columns::fit::types_of;
pub use columns::omitted::{
    Omissions, asked_in, column_of, omissions_name, omissions_of, with_omissions, without_omissions,
};
pub use columns::text::{ColumnText, NULL_SIGN, Style};
pub use error::{FormatError, ValueError};
pub use infer::columns::{Inferred, infer, infer_details};
pub use infer::detect::detect;
pub use model::format_kind::{FormatKind, HeaderRows};
pub use pieces::boundary::RecordBoundaries;
pub use pieces::cutter::{Cut, Cutter, Piece};
pub use pieces::feed::{Feed, joined};
pub use reader::{ReaderStart, new_reader, new_reader_at, new_typed_reader, new_typed_reader_at};
pub use rows::reject::RejectedRow;
pub use rows::split::{Header, RowReader};
pub use settings::{DateTimeInput, DateTimeOutput, FormatSettings, ParquetOutput};
pub use values::cell::{Cell, TextForm};
pub use writer::{EXTREMES_KEY, OutputStats, RowWriter, TOTALS_KEY, is_extremes, is_totals, new_writer};
