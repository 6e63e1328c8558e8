//! How often each error happened, and what the last one said. The memory behind `system.errors`.
//!
//! Invariant: an error is counted once, where it is answered or, if nobody asked, where it is handled; one entry a code, of
//! bounded length. A message is stored as it may be shown: without credentials. Must not know: who may see it.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::ErrorCode;
use parking_lot::Mutex;

use crate::error::Error;

/// Characters of a message that are kept.
const MESSAGE_CHARACTERS_MAX: usize = 2000;

/// What is known of one code.
#[derive(Clone, Debug, Default)]
pub struct Noted {
    /// How often.
    pub count: u64,
    pub last_ms: u64,
    pub last_message: String,
    /// Empty: of no statement.
    pub last_query_id: String,
    /// Whose statement it was; empty: of nobody, as a torn end of the log.
    pub last_user: Arc<str>,
}

/// Whose statement an error ended.
#[derive(Clone, Debug, Default)]
pub struct Whose<'a> {
    pub query_id: &'a str,
    pub user: &'a str,
}

/// See the module.
#[derive(Debug, Default)]
pub struct ErrorLedger {
    by_code: Mutex<BTreeMap<ErrorCode, Noted>>,
}

impl ErrorLedger {
    pub fn note(&self, at_ms: u64, error: &Error, whose: &Whose<'_>) {
        let message: String = error.message.chars().take(MESSAGE_CHARACTERS_MAX).collect();
        let mut by_code = self.by_code.lock();
        let noted = by_code.entry(error.code).or_default();
        noted.count = noted.count.saturating_add(1);
        (noted.last_ms, noted.last_message) = (at_ms, message);
        whose.query_id.clone_into(&mut noted.last_query_id);
        noted.last_user = whose.user.into();
    }

    /// Every code that happened, by its number.
    pub fn all(&self) -> Vec<(ErrorCode, Noted)> {
        self.by_code.lock().iter().map(|(code, noted)| (*code, noted.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_is_counted_and_its_last_message_kept() {
        let ledger = ErrorLedger::default();
        let whose = Whose { query_id: "q", user: "reader" };
        ledger.note(1, &Error::unknown_table("default", "a"), &Whose::default());
        ledger.note(2, &Error::internal("x".repeat(1_000_000)), &Whose::default());
        ledger.note(3, &Error::unknown_table("default", "b"), &whose);
        let all = ledger.all();
        let [(ErrorCode::LOGICAL_ERROR, internal), (ErrorCode::UNKNOWN_TABLE, unknown)] = all.as_slice()
        else {
            panic!("{all:?}")
        };
        assert_eq!(internal.last_message.len(), MESSAGE_CHARACTERS_MAX);
        assert_eq!((internal.count, unknown.count, unknown.last_ms), (1, 2, 3));
        assert_eq!(unknown.last_message, "table \"default.b\" does not exist");
        assert_eq!((unknown.last_query_id.as_str(), unknown.last_user.as_ref()), ("q", "reader"));
    }
}
