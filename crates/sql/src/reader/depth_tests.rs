//! How deep `lexer::depth` says that statements are, beside what the parser makes of them.

use lexer::depth::*;
use model::ErrorCode;

use crate::parser::parse_one;
use crate::reader::tokens::tokenize;

fn of(text: &str) -> Measure {
    measure(&tokenize(text).unwrap()).unwrap_or_else(|error| panic!("{}: {text:.60}", error.message))
}

fn refused(text: &str) {
    let error = measure(&tokenize(text).unwrap()).expect_err(&format!("{text:.80}"));
    assert_eq!(error.code, ErrorCode::TOO_DEEP_RECURSION, "{text:.80}");
}

#[test]
fn each_link_of_a_chain_is_a_level() {
    let chains = [
        ("SELECT [1]", "[1]"),
        ("SELECT t", ".1"),
        ("SELECT 1", " + 1"),
        ("SELECT 1", "::A"),
        ("SELECT 1", " IS NULL"),
        ("SELECT 1", " IN (1)"),
        ("SELECT 1", " IS DISTINCT FROM 1"),
        ("SELECT f() WITHIN GROUP (ORDER BY 1)", " + f() WITHIN GROUP (ORDER BY 1)"),
        ("SELECT default", " + default"),
        ("SELECT a", " AS b"),
        ("SELECT f(1)", "(1)"),
        ("SELECT a", " COLLATE limit"),
        ("SELECT ", "NOT "),
        ("SELECT ", "- "),
        ("SELECT ", "1 ? 2 : "),
        ("SELECT ", "x -> "),
        ("SELECT ", "CASE WHEN 1 THEN "),
        ("SELECT ", "("),
        ("SELECT ", "["),
        ("SELECT ", "INTERVAL "),
        ("", "EXPLAIN "),
        ("SELECT * ", " APPLY(f)"),
        ("SELECT COLUMNS(a) ", " EXCEPT (a)"),
        ("SELECT 1 FROM t", " ARRAY JOIN [1] AS x"),
        ("SELECT 1 FROM t", " JOIN union"),
        ("SELECT 1 FROM t", " JOIN select"),
        ("SELECT 1 FROM t", ", t"),
        ("SELECT 1", " INTERSECT SELECT 1"),
        ("SELECT * ", " EXCEPT SELECT *"),
        ("SELECT 1 FROM t", " PIVOT(a)"),
    ];
    for (start, link) in chains {
        refused(&format!("{start}{}", link.repeat(400)));
        let levels = of(&format!("{start}{}", link.repeat(40))).levels;
        assert!((40..=250).contains(&levels), "{levels}: {start}{link}");
    }
    for (start, link, links) in [
        ("SELECT 1", " AND 1", 4000),
        ("SELECT 1", " OR a = 1", 4000),
        ("SELECT *", " UNION ALL SELECT *", 1000),
    ] {
        refused(&format!("{start}{}", link.repeat(links * 3 / 2)));
        let measured = of(&format!("{start}{}", link.repeat(links)));
        assert!(measured.terms >= 4000 && measured.levels < 10, "{measured:?}");
    }
}

#[test]
fn parts_of_a_name_count_where_there_are_too_many() {
    refused(&format!("SELECT a{}", ".b".repeat(400)));
    assert!(of(&format!("SELECT a{}", ".b".repeat(30))).levels < 5);
    assert!(of(&format!("SELECT a.b{}", " AND a.b.c".repeat(1000))).levels < 5);
    assert!(of(&format!("SELECT a.b{} FROM c.d", " + a.b".repeat(100))).levels < 210);
}

#[test]
fn what_stands_side_by_side_is_not_deep() {
    let lists = [
        ("SELECT 1", ", a + b.c[1] AS d"),
        ("SELECT 1 IN (1", ", -2"),
        ("SELECT [1", ", (1, 'a', [2])"),
        (
            "SELECT 1 FROM t JOIN u USING (a) WHERE a = 1",
            " UNION ALL SELECT 1 FROM t JOIN u USING (a) WHERE a = 1",
        ),
        ("CREATE TABLE t (a UInt8", ", b Array(String) DEFAULT [1 + 1] CODEC(ZSTD) COMMENT 'x'"),
        ("SELECT CASE WHEN a = 1 THEN 1", " WHEN f(a) + 1 = 2 THEN 2"),
        ("SELECT 1 WHERE a = 1", " AND f(a) + 2 NOT IN (1, 2)"),
    ];
    for (start, item) in lists {
        let text = format!("{start}{}", item.repeat(1000));
        assert!(of(&text).levels < 20, "{} {text:.60}", of(&text).levels);
        assert!(of(&text).elements > 1000);
    }
}

#[test]
fn nodes_are_counted_as_clickhouse_does() {
    for (text, most) in [
        ("SELECT 1 IN (1, 2, 3, -4, 'a', NULL)".to_owned(), 8),
        ("SELECT [(1, 2), (3, 4)]".to_owned(), 6),
        (format!("SELECT {}", vec!["a AS b"; 100].join(", ")), 110),
        (format!("SELECT [{}]", vec!["1"; 600_000].join(",")), 6),
    ] {
        let nodes = of(&text).nodes;
        assert!((2..=most).contains(&nodes), "{nodes}: {text:.60}");
    }
    assert!(of("SELECT f(a, 1, 2) + 1").nodes > of("SELECT (1, 2) + 1").nodes);
    let error = measure(&tokenize(&format!("SELECT {}", vec!["a"; 600_000].join(","))).unwrap()).unwrap_err();
    assert_eq!(error.code, ErrorCode::TOO_BIG_AST);
}

#[test]
fn items_of_with_lists_are_counted_together() {
    let text = |items: usize| format!("WITH 1 AS a{} SELECT a", ", a AS b".repeat(items - 1));
    assert!(parse_one(&text(5000)).is_ok());
    let error = parse_one(&text(5001)).unwrap_err();
    assert_eq!(error.code, ErrorCode::TOO_BIG_AST);
    assert!(error.message.contains("have 5001 items"), "{}", error.message);
}
