//! Rows as bytes, both directions: readers, writers and schema inference of every format.
//!
//! Invariant: no I/O and no async; a reader is pushed bytes and gives batches, a writer is pushed batches and gives
//! bytes. Values are read and printed as ClickHouse does. Must not know: DataFusion, files, sessions.

mod calendar;
mod marks;
mod scan;

pub mod error;
pub mod kind;

mod number;

pub mod column_names;

pub mod settings;

mod date_text;

pub mod cell;

pub mod builder;

mod print;

pub mod text;

mod reject;

pub mod split;

mod omitted;

mod quick_rows;

pub mod conform;

mod binary;

pub mod members;

mod fit;

mod arrow_stream;
mod row_binary;
mod whole;

mod native;

mod block;
mod delimited;
mod json_document;
mod json_keys;
mod json_rows;
mod json_columns;
mod json_objects;
mod tskv;

mod custom;

mod splitter;

pub mod reader;

pub mod boundary;
pub mod cutter;
pub mod feed;
pub mod infer;
pub mod detect;

pub mod writer;

pub use boundary::RecordBoundaries;
pub use builder::{CellError, TypedColumnBuilder, parse_value};
pub use cell::{Cell, TextForm};
pub use conform::{conform, missing};
pub use cutter::{Cut, Cutter, Piece};
pub use detect::detect;
pub use error::{FormatError, ValueError};
pub use feed::{Feed, joined};
pub use fit::types_of;
pub use infer::{Inferred, infer, infer_details};
pub use kind::{FormatKind, HeaderRows};
pub use omitted::{
    Omissions, asked_in, column_of, omissions_name, omissions_of, with_omissions, without_omissions,
};
pub use reader::{ReaderStart, new_reader, new_reader_at, new_typed_reader, new_typed_reader_at};
pub use reject::RejectedRow;
pub use settings::{DateTimeInput, DateTimeOutput, FormatSettings, ParquetOutput};
pub use split::{Header, RowReader};
pub use text::{ColumnText, NULL_SIGN, Style};
pub use writer::{OutputStats, RowWriter, TOTALS_KEY, is_totals, new_writer};
