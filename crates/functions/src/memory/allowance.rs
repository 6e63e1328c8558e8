//! The memory that one evaluation of a function may take.
//!
//! A kernel asks before it allocates what its arguments can make large; what is refused is an error 241. Asking costs a
//! subtraction as long as a call takes little, and then one look at the statement's account for each mebibyte.
//! Invariant: what was granted and not allocated is given back when the call ends. Must not know: kernels.

use std::cell::{Cell, RefCell};

use host::{MemoryRefused, meter};
use model::ErrorCode;

pub use host::meter::Reserved;

use crate::error::FunctionError;
use crate::memory::folding;

/// A call takes so many bytes without asking, and asks for no fewer.
const STEP_BYTES: usize = 1 << 20;

/// Longest text that a column can hold.
const TEXT_BYTES_MAX: usize = 0xFFFF_FFFF;

/// Most elements that the arrays of one batch can have together.
const ELEMENTS_MAX: usize = 0x7FFF_FFFF;

/// What one call may still allocate without asking.
#[derive(Debug)]
pub(crate) struct Allowance {
    function: &'static str,
    left: Cell<usize>,
    granted: RefCell<Vec<Reserved>>,
}

impl Allowance {
    pub(crate) fn new(function: &'static str) -> Self {
        Self { function, left: Cell::new(STEP_BYTES), granted: RefCell::default() }
    }

    pub(crate) fn function(&self) -> &'static str {
        self.function
    }

    /// Takes bytes that are about to be allocated.
    pub(crate) fn take(&self, bytes: usize) -> Result<(), FunctionError> {
        match self.left.get().checked_sub(bytes) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => self.ask(bytes),
        }
    }

    #[cold]
    fn ask(&self, bytes: usize) -> Result<(), FunctionError> {
        let asked = bytes.max(STEP_BYTES);
        let granted = reserve(self.function, asked)?;
        self.granted.borrow_mut().push(granted);
        self.left.set(self.left.get() + (asked - bytes));
        Ok(())
    }

    /// Refuses a text that no column holds.
    pub(crate) fn check_text(&self, bytes: usize) -> Result<(), FunctionError> {
        if bytes <= TEXT_BYTES_MAX {
            return Ok(());
        }
        let message = format!(
            "function {} would make a text of {bytes} bytes: at most {TEXT_BYTES_MAX} fit",
            self.function
        );
        Err(FunctionError::new(ErrorCode::TOO_LARGE_STRING_SIZE, message))
    }

    /// Refuses arrays that no column holds.
    pub(crate) fn check_elements(&self, elements: usize) -> Result<(), FunctionError> {
        if elements <= ELEMENTS_MAX {
            return Ok(());
        }
        let message = format!(
            "function {} would make {elements} array elements in one block: at most {ELEMENTS_MAX} fit; lower max_block_size",
            self.function
        );
        Err(FunctionError::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, message))
    }
}

/// Asks for bytes that are about to be allocated, for as long as the answer is kept.
///
/// # Errors
/// The statement may not have so much: MEMORY_LIMIT_EXCEEDED.
pub fn reserve(consumer: &'static str, bytes: usize) -> Result<Reserved, FunctionError> {
    folding::check(bytes)?;
    meter::reserve(consumer, bytes).map_err(refused)
}

fn refused(refused: MemoryRefused) -> FunctionError {
    let MemoryRefused { scope, consumer, asked, used, limit } = refused;
    let message = format!(
        "memory limit ({scope}) exceeded: function {consumer} needs {asked} bytes more, {used} of {limit} bytes are in use"
    );
    FunctionError::new(ErrorCode::MEMORY_LIMIT_EXCEEDED, message)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use host::{Account, MemoryBudget};

    use super::*;

    #[test]
    fn little_is_not_asked_for_and_much_is_refused() {
        let account = Account::open(8 << 20, &MemoryBudget::new(1 << 50));
        let _entered = meter::enter(Some(Arc::clone(&account)));
        let allowance = Allowance::new("repeat");
        (0..1024).for_each(|_| allowance.take(1024).unwrap());
        assert_eq!(account.live_bytes(), 0);
        allowance.take(1).unwrap();
        assert_eq!(account.live_bytes(), 1 << 20);
        allowance.take(6 << 20).unwrap();
        let error = allowance.take(2 << 20).unwrap_err();
        assert_eq!(error.code, ErrorCode::MEMORY_LIMIT_EXCEEDED);
        assert!(error.message.contains("function repeat needs 2097152 bytes"), "{error}");
        drop(allowance);
        assert_eq!(account.live_bytes(), 0);
    }
}
