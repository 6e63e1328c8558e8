//! Writing to the person at the terminal: answers on standard output, remarks on standard error.
//!
//! Invariant: only this module and `progress` write to the terminal.

use std::io::{self, IsTerminal, Write};

/// A line of the answer. An error means that nobody reads any more.
pub(crate) fn line(text: &str) -> io::Result<()> {
    write(text.as_bytes())?;
    write(b"\n")
}

/// Bytes of the answer, out at once.
pub(crate) fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// A line beside the answer: figures, warnings, errors.
pub(crate) fn note(text: &str) {
    // When standard error is closed there is nobody left to tell.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Whether a person reads the answers.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}
