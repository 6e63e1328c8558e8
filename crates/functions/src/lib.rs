//! ClickHouse's scalar functions and conversions as Arrow kernels.
//!
//! Invariant: a function's result has exactly the layout of its result type (`model::type_arrow::to_data_type`) and
//! as many rows as were asked for; result types, NULLs and errors are ClickHouse's. Must not know: SQL text,
//! DataFusion, tables, the clock (the session carries the time of the query).
//!
//! A new function goes into the module of its family: a type rule, a kernel and a `doc`, in the list that the module's
//! `functions()` returns. `tests/oracle/*.txt` then gets lines with its expressions, filled in by `scripts/oracle.py`.

pub mod error;
pub mod folding;
pub mod allowance;
mod row_bytes;
pub mod call;
mod number;
mod calendar;
mod zone;
mod temporal;
pub mod container;
mod wide;
pub mod cast;
mod fixed_text;
pub mod registry;
mod rows;
mod types;
mod interval;
mod arithmetic_operator;
mod decimal_math;
mod time_math;
mod wide_arithmetic;
mod arithmetic;
mod plain_time;
mod convert;
mod compare;
mod logic;
mod conditional;
mod bits;
mod math;
mod integers;
mod bins;
mod list;
mod strings;
mod json;
pub mod aggregates;
mod arrays;
mod dates;
mod hash;
mod value;
mod checks;
mod random;
mod session;
pub mod lambda;
pub mod all;

pub use all::{all, lookup};
pub use call::{Arg, ArgType, Call, RandomStream, SessionValues};
pub use cast::{CastError, CastMode, CastSettings, cast_column, cast_column_with, default_array};
pub use error::FunctionError;
pub use hash::city_hash_128;
pub use interval::Stride;
pub use lambda::{LambdaFunction, lambda_function, lambda_functions};
pub use registry::{FunctionDoc, ScalarFunction};
pub use row_bytes::row_bytes;
pub use value::shown_type;
