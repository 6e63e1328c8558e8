//! Writing to the person at the terminal: answers on standard output, remarks on standard error.
//!
//! Invariant: of this crate only this module writes to the terminal.

use std::io::{self, Write};

/// A line of the answer, out at once. An error means that nobody reads any more.
pub(crate) fn line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

/// A line beside the answer: figures, warnings, errors.
pub(crate) fn note(text: &str) {
    // When standard error is closed there is nobody left to tell.
    let _ = writeln!(io::stderr().lock(), "{text}");
}
