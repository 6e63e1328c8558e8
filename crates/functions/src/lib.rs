//! ClickHouse's scalar functions and conversions as Arrow kernels.
//!
//! Invariant: a function's result has exactly the layout of its result type (`model::type_arrow::to_data_type`) and
//! as many rows as were asked for; result types, NULLs and errors are ClickHouse's. Must not know: SQL text,
//! DataFusion, tables, the clock (the session carries the time of the query).
//!
//! From below: `memory`, `columns`, `time` and `cast` know values, `kernel` what a function is; then come the families.
//! A new function goes into the module of its family: a type rule, a kernel and a `doc`, in the list that the module's
//! `functions()` returns. `tests/oracle/*.txt` then gets lines with its expressions, filled in by `scripts/oracle.py`.

pub mod error;
pub mod memory;
pub mod columns;
mod time;
pub mod cast;
pub mod kernel;
mod arithmetic;
mod conversion;
mod truth;
mod strings;
mod json;
pub mod aggregates;
mod arrays;
mod dates;
mod hash;
mod geo;
mod session;
pub mod lambda;
pub mod all;

pub use all::{all, lookup};
pub use arithmetic::interval::Stride;
pub use arrays::subcolumn_type;
pub use cast::{CastError, CastMode, CastSettings, cast_column, cast_column_with, default_array};
pub use columns::container;
pub use conversion::value::shown_type;
pub use error::FunctionError;
pub use hash::{city_hash_64, city_hash_128, join_hashes_64, mix_32, sip_hash_64};
pub use kernel::call;
pub use kernel::call::{Arg, ArgType, Call, RandomStream, SessionValues};
pub use kernel::list::unsigned_zeros;
pub use kernel::registry::{FunctionDoc, ScalarFunction};
pub use kernel::types::floats_for_integers;
pub use lambda::{LambdaFunction, lambda_function, lambda_functions};
pub use memory::row_bytes::row_bytes;
pub use memory::{allowance, folding};
