//! Texts that nobody writes: whatever is parsed, rewritten and dropped, nothing panics or overflows the stack.

use proptest::prelude::*;
use sql::{Statement, next_statement, parse};

use crate::{RewriteContext, prepare};

/// Words and marks that make statements, so that random texts get deep into the grammar.
const WORDS: &[&str] = &[
    "SELECT",
    "FROM",
    "WHERE",
    "INSERT",
    "INTO",
    "VALUES",
    "FORMAT",
    "CREATE",
    "TABLE",
    "ENGINE",
    "=",
    "MergeTree",
    "ORDER",
    "BY",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ".",
    "?",
    ":",
    "::",
    "'a'",
    "`b`",
    "1",
    "1.5",
    ".1",
    "AS",
    "WITH",
    "IN",
    "NOT",
    "NULL",
    "INTERVAL",
    "DAY",
    "CAST",
    "UInt8",
    "SETTINGS",
    "GROUP",
    "LIMIT",
    "JOIN",
    "ON",
    "USING",
    "x",
    "->",
    "count",
    "*",
    "OVER",
    "PARTITION",
    "CASE",
    "WHEN",
    "THEN",
    "END",
    "EXPLAIN",
    "SHOW",
    "SYSTEM",
    "DIV",
    "-",
    "DATE",
    ";",
    "'",
    "\\",
    "--",
    "/*",
    "UNION",
    "ALL",
    "EXCEPT",
    "AND",
    "OR",
    "BETWEEN",
    "LIKE",
    "DROP",
    "SET",
    "OPTIMIZE",
    "ALTER",
];

fn survives(text: &str) {
    let _ = next_statement(text, false);
    let Ok(statements) = parse(text) else { return };
    for parsed in statements {
        assert!(text.get(parsed.range.clone()).is_some(), "{text}: {:?}", parsed.range);
        // Where there is room for it, as statements are run and dropped.
        parsed.measure.run(move || {
            let Statement::Query(query) = parsed.statement else { return };
            let context = RewriteContext {
                current_database: "default",
                manner: crate::Manner::default(),
                union_default_mode: "",
                expanded_elements_max: 0,
            };
            let _ = prepare(&query, &context);
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn random_text_never_panics(text in any::<String>()) {
        survives(&text);
    }

    #[test]
    fn random_words_never_panic(words in proptest::collection::vec(proptest::sample::select(WORDS), 0..24)) {
        survives(&words.join(" "));
    }
}

#[test]
fn deep_nesting_is_refused_and_not_followed() {
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("f(", ")"),
        ("CASE WHEN ", " END"),
        ("NOT ", ""),
        ("- ", ""),
        ("(SELECT ", ")"),
    ] {
        let text = format!("SELECT {}1{}", open.repeat(5000), close.repeat(5000));
        survives(&text);
    }
    // What is accepted is walked to its end on a test's small stack.
    for text in [
        format!("SELECT {}1{}", "(".repeat(38), ")".repeat(38)),
        format!("SELECT {}", vec!["1"; 240].join(" + ")),
        format!("SELECT a FROM t WHERE {}", vec!["a"; 240].join(" OR ")),
    ] {
        assert!(parse(&text).is_ok(), "{text}");
        survives(&text);
    }
    survives(&format!("SELECT {}", vec!["1"; 3000].join(" + ")));
    survives(&format!("SELECT 1 WHERE {}", vec!["a = 1"; 3000].join(" AND ")));
    survives(&format!("SELECT CAST(x AS {}UInt8{})", "Array(".repeat(3000), ")".repeat(3000)));
}
