//! CREATE, ALTER and DROP NAMED COLLECTION.
//!
//! Invariant: an error here names keys and positions and never a value: most values are credentials.

use sqlparser::tokenizer::Token;

use crate::reader::head::Head;
use crate::statement::{CollectionChange, CollectionEntry, Statement};
use lexer::error::{Result, SqlError};

/// Behind CREATE, at NAMED COLLECTION.
pub(crate) fn create(head: &mut Head<'_>) -> Result<Statement> {
    expect_both(head)?;
    let if_not_exists = head.if_not_exists();
    let name = head.name("the name of a collection")?;
    head.on_cluster()?;
    head.expect_word("AS")?;
    let entries = entries(head)?;
    Ok(Statement::Collection(CollectionChange::Create { name, if_not_exists, entries }))
}

/// Behind ALTER, at NAMED COLLECTION.
pub(crate) fn alter(head: &mut Head<'_>) -> Result<Statement> {
    expect_both(head)?;
    let if_exists = head.if_exists();
    let name = head.name("the name of a collection")?;
    head.on_cluster()?;
    let set = if head.word("SET") { entries(head)? } else { Vec::new() };
    let mut deleted = Vec::new();
    if head.word("DELETE") {
        deleted.push(head.name("a key")?);
        while head.symbol(&Token::Comma) {
            deleted.push(head.name("a key")?);
        }
    }
    if set.is_empty() && deleted.is_empty() {
        return Err(head.expected("SET or DELETE"));
    }
    if let Some(key) = deleted.iter().find(|key| set.iter().any(|entry| entry.key == **key)) {
        return Err(SqlError::bad_arguments(format!("key \"{key}\" is both set and deleted")));
    }
    Ok(Statement::Collection(CollectionChange::Alter { name, if_exists, set, deleted }))
}

/// Behind DROP, at NAMED COLLECTION.
pub(crate) fn drop(head: &mut Head<'_>) -> Result<Statement> {
    expect_both(head)?;
    let if_exists = head.if_exists();
    let name = head.name("the name of a collection")?;
    head.on_cluster()?;
    Ok(Statement::Collection(CollectionChange::Drop { name, if_exists }))
}

fn expect_both(head: &mut Head<'_>) -> Result<()> {
    head.expect_word("NAMED")?;
    head.expect_word("COLLECTION")
}

/// `key = value [[NOT] OVERRIDABLE], ..`.
fn entries(head: &mut Head<'_>) -> Result<Vec<CollectionEntry>> {
    let mut entries: Vec<CollectionEntry> = Vec::new();
    loop {
        let key = head.name("a key")?;
        if entries.iter().any(|entry| entry.key == key) {
            return Err(SqlError::bad_arguments(format!("key \"{key}\" is given more than once")));
        }
        if !head.symbol(&Token::Eq) {
            return Err(expected_at(head, "= behind the key", &key));
        }
        let value = value(head, &key)?;
        let overridable = if head.words(&["NOT", "OVERRIDABLE"]) {
            Some(false)
        } else {
            head.word("OVERRIDABLE").then_some(true)
        };
        entries.push(CollectionEntry { key, value, overridable });
        if !head.symbol(&Token::Comma) {
            return Ok(entries);
        }
    }
}

/// A literal, as the text that an argument would be.
fn value(head: &mut Head<'_>, key: &str) -> Result<String> {
    let negative = head.symbol(&Token::Minus);
    let value = match head.token().clone() {
        Token::SingleQuotedString(text) if !negative => text,
        Token::Number(digits, _) if negative => format!("-{digits}"),
        Token::Number(digits, _) => digits,
        Token::Word(word) if !negative && word.quote_style.is_none() => {
            match word.value.to_ascii_lowercase().as_str() {
                "true" => "1".to_owned(),
                "false" => "0".to_owned(),
                _ => return Err(expected_at(head, "a literal as the value", key)),
            }
        }
        _ => return Err(expected_at(head, "a literal as the value", key)),
    };
    head.advance();
    Ok(value)
}

/// Like [`Head::expected`], without what was found: it may be a part of a secret.
fn expected_at(head: &Head<'_>, what: &str, key: &str) -> SqlError {
    head.expected_silently(&format!("{what} of \"{key}\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::parse_one;

    /// What was read, with the values that do not print.
    fn check(text: &str, expected: &str) {
        let shown = |entries: &[CollectionEntry]| -> String {
            let one =
                |entry: &CollectionEntry| format!(" {}={:?}{:?}", entry.key, entry.value, entry.overridable);
            entries.iter().map(one).collect()
        };
        let found = match parse_one(text).map(|parsed| parsed.statement) {
            Ok(Statement::Collection(CollectionChange::Create { name, if_not_exists, entries })) => {
                format!("create {name} {if_not_exists}{}", shown(&entries))
            }
            Ok(Statement::Collection(CollectionChange::Alter { name, if_exists, set, deleted })) => {
                format!("alter {name} {if_exists}{} {deleted:?}", shown(&set))
            }
            Ok(Statement::Collection(CollectionChange::Drop { name, if_exists })) => {
                format!("drop {name} {if_exists}")
            }
            Ok(other) => format!("{other:?}"),
            Err(error) => format!("{} {}", error.code.number(), error.message),
        };
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn collections_are_read() {
        check("CREATE NAMED COLLECTION n AS a = 1", "create n false a=\"1\"None");
        check(
            "create named collection if not exists `n m` ON CLUSTER default AS a = -1.5 OVERRIDABLE, format='it''s' not overridable, b = true",
            "create n m true a=\"-1.5\"Some(true) format=\"it's\"Some(false) b=\"1\"None",
        );
        check(
            "ALTER NAMED COLLECTION n SET a = 2, b = 'x' DELETE c, d",
            "alter n false a=\"2\"None b=\"x\"None [\"c\", \"d\"]",
        );
        check("ALTER NAMED COLLECTION IF EXISTS n DELETE format", "alter n true [\"format\"]");
        check("DROP NAMED COLLECTION IF EXISTS n", "drop n true");
    }

    #[test]
    fn errors_name_keys_and_never_values() {
        check("CREATE NAMED COLLECTION n AS a = 'x', a = 's3cr3t'", "36 key \"a\" is given more than once");
        check(
            "CREATE NAMED COLLECTION n AS a 's3cr3t'",
            "62 syntax error: failed at position 32: expected = behind the key of \"a\"",
        );
        check(
            "CREATE NAMED COLLECTION n AS a = s3cr3t",
            "62 syntax error: failed at position 34: expected a literal as the value of \"a\"",
        );
        check("ALTER NAMED COLLECTION n SET a = 1 DELETE a", "36 key \"a\" is both set and deleted");
        assert!(
            !format!("{:?}", parse_one("CREATE NAMED COLLECTION n AS a = 's3cr3t'").unwrap())
                .contains("s3cr3t")
        );
    }
}
