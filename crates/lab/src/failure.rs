//! What a tool says when it cannot go on.
//!
//! Invariant: one line for the person at the terminal, in the words of what failed. An error like any other, so that whoever
//! runs a tool passes it on.

use std::num::TryFromIntError;
use std::{fmt, io};

use arrow::error::ArrowError;
use commitlog::LogError;
use parquet::errors::ParquetError;
use tokio::task::JoinError;

/// One line for the person at the terminal.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Failure {
        Failure(message.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

/// Each is told in its own words.
macro_rules! told {
    ($($error:ty),* $(,)?) => {
        $(
            impl From<$error> for Failure {
                fn from(error: $error) -> Failure {
                    Failure(error.to_string())
                }
            }
        )*
    };
}

told!(
    io::Error,
    TryFromIntError,
    JoinError,
    ArrowError,
    ParquetError,
    object_store::Error,
    object_store::path::Error,
    LogError,
    engine::Error,
);
