//! Statements about users, roles, quotas, row policies and settings profiles: all of them are denied.
//!
//! Users stand in the server's configuration, which statements do not change. ClickHouse denies these statements with the same
//! code where access is not managed by SQL. Invariant: nothing is consumed. Must not know: which users there are.

use model::ErrorCode;
use sqlparser::tokenizer::Token;

use crate::reader::head::Head;
use crate::reader::tokens::is_word;
use lexer::error::{Result, SqlError};

/// What is named behind CREATE, ALTER, DROP, MOVE and SHOW CREATE, and its plural, which stands behind SHOW.
const KINDS: &[(&[&str], &[&str])] = &[
    (&["USER"], &["USERS"]),
    (&["ROLE"], &["ROLES"]),
    (&["QUOTA"], &["QUOTAS"]),
    (&["ROW", "POLICY"], &["ROW", "POLICIES"]),
    (&["POLICY"], &["POLICIES"]),
    (&["SETTINGS", "PROFILE"], &["SETTINGS", "PROFILES"]),
    (&["PROFILE"], &["PROFILES"]),
];

/// Denies the statement if it is one of these.
///
/// # Errors
/// ACCESS_DENIED, and UNKNOWN_ROLE where a right is given to somebody.
pub(super) fn deny(head: &Head<'_>) -> Result<()> {
    let words = |from: usize, words: &[&str]| {
        words.iter().enumerate().all(|(at, word)| is_word(head.token_after(from + at), word))
    };
    let one = |at: usize| KINDS.iter().map(|(one, _)| *one).find(|one| words(at, one));
    let several = |at: usize| KINDS.iter().map(|(_, several)| *several).find(|several| words(at, several));
    if words(0, &["GRANT"]) || words(0, &["REVOKE"]) {
        let message = format!("{}: statements give no rights and take none", verb(head));
        return Err(SqlError::new(ErrorCode::UNKNOWN_ROLE, message).with_hint(HINT));
    }
    let denied = if words(0, &["SHOW", "CREATE"]) {
        one(2)
    } else if words(0, &["SHOW"]) {
        several(1)
    } else if ["CREATE", "ALTER", "DROP", "MOVE"].iter().any(|verb| words(0, &[verb])) {
        one(1)
    } else if words(0, &["SET", "DEFAULT", "ROLE"]) {
        Some(&["DEFAULT", "ROLE"] as &[&str])
    } else {
        None
    };
    match denied {
        Some(kind) if !is_name(head, kind) => {
            let message = format!("not enough privileges for {} {}", verb(head), kind.join(" "));
            Err(SqlError::new(ErrorCode::ACCESS_DENIED, message).with_hint(HINT))
        }
        _ => Ok(()),
    }
}

const HINT: &str = "users and their rights stand in the configuration of the server";

fn verb(head: &Head<'_>) -> String {
    let mut words = vec![head.token().to_string().to_uppercase()];
    if is_word(head.token(), "SHOW") && is_word(head.token_after(1), "CREATE") {
        words.push("CREATE".to_owned());
    }
    words.join(" ")
}

/// `SHOW CREATE user.t`: a database may be called so, too.
fn is_name(head: &Head<'_>, kind: &[&str]) -> bool {
    let behind = kind.len() + if is_word(head.token_after(1), "CREATE") { 2 } else { 1 };
    *head.token_after(behind) == Token::Period
}

#[cfg(test)]
mod tests {
    use crate::parser::parse_one;

    #[test]
    fn statements_about_access_are_denied() {
        for (text, code) in [
            ("CREATE USER u", "ACCESS_DENIED"),
            ("CREATE ROW POLICY p ON t USING 1 TO ALL", "ACCESS_DENIED"),
            ("DROP ROLE IF EXISTS r", "ACCESS_DENIED"),
            ("ALTER SETTINGS PROFILE p", "ACCESS_DENIED"),
            ("SHOW CREATE USER u", "ACCESS_DENIED"),
            ("SHOW POLICIES ON t", "ACCESS_DENIED"),
            ("SET DEFAULT ROLE r TO u", "ACCESS_DENIED"),
            ("GRANT SELECT ON *.* TO u", "UNKNOWN_ROLE"),
        ] {
            assert_eq!(parse_one(text).map_err(|error| error.code.name()).err(), Some(code), "{text}");
        }
        for text in ["SHOW CREATE user.t", "SHOW SETTINGS LIKE 'a'", "DROP TABLE users"] {
            assert!(parse_one(text).is_ok(), "{text}");
        }
    }
}
