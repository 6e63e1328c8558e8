//! What ClickHouse 26.9 prints of queries and expressions: by `formatQuerySingleLine`, `EXPLAIN SYNTAX oneline = 1` and
//! `formatQuery`.

use super::*;
use crate::parser::{parse_one, parse_query};
use crate::statement::Statement;

const ON_ONE_LINE: Layout = Layout::ON_ONE_LINE;
const AS_FUNCTIONS: Layout = Layout { as_functions: true, as_tree: true, ..Layout::ON_ONE_LINE };

fn shown(text: &str, layout: Layout) -> String {
    match parse_one(text).map(|parsed| parsed.statement) {
        Ok(Statement::Query(query)) => formatted_query(&query, layout),
        other => panic!("{text}: {other:?}"),
    }
}

/// Items of a SELECT as they are written, printed and explained; what ClickHouse does not explain is empty.
const ITEMS: &[(&str, &str, &str)] = &[
    (r#"a + b * c - d"#, r#"(a + (b * c)) - d"#, r#"minus(plus(a, multiply(b, c)), d)"#),
    (r#"(a + b) * c"#, r#"(a + b) * c"#, r#"multiply(plus(a, b), c)"#),
    (r#"((a))"#, r#"(a)"#, r#"(a)"#),
    (
        r#"-(a), -(-a), - 1, -a * b, a - -1, - a[1], -f(x)"#,
        r#"-(a), -(-a), -1, (-a) * b, a - -1, -(a[1]), -f(x)"#,
        r#"negate(a), negate(negate(a)), -1, multiply(negate(a), b), minus(a, -1), negate(arrayElement(a, 1)), negate(f(x))"#,
    ),
    (r#"NOT a = b AND c OR d"#, r#"((NOT (a = b)) AND c) OR d"#, r#"or(and(not(equals(a, b)), c), d)"#),
    (
        r#"a AND b AND c, a AND (b AND c), a OR b AND c"#,
        r#"a AND b AND c, a AND (b AND c), a OR (b AND c)"#,
        r#"and(a, b, c), and(a, and(b, c)), or(a, and(b, c))"#,
    ),
    (
        r#"a || b || c, a || (b || c)"#,
        r#"concat(a, b, c), concat(a, (concat(b, c)))"#,
        r#"concat(a, b, c), concat(a, concat(b, c))"#,
    ),
    (
        r#"a BETWEEN 1 AND 2, a NOT BETWEEN b + 1 AND 2 OR c"#,
        r#"(a >= 1) AND (a <= 2), ((a < (b + 1)) OR (a > 2)) OR c"#,
        r#"and(greaterOrEquals(a, 1), lessOrEquals(a, 2)), or(or(less(a, plus(b, 1)), greater(a, 2)), c)"#,
    ),
    (
        r#"a IS NULL, (a + 1) IS NOT NULL, a IS NULL = 1"#,
        r#"a IS NULL, (a + 1) IS NOT NULL, (a IS NULL) = 1"#,
        r#"isNull(a), isNotNull(plus(a, 1)), equals(isNull(a), 1)"#,
    ),
    (
        r#"a IN (1, 2), a NOT IN (b), a IN [1, 2], (a, b) IN ((1, 2), (3, 4)), a IN db.t"#,
        r#"a IN (1, 2), a NOT IN (b), a IN [1, 2], (a, b) IN ((1, 2), (3, 4)), a IN (db.t)"#,
        r#"in(a, (1, 2)), notIn(a, b), in(a, _CAST([1, 2], 'Array(UInt8)')), in(tuple(a, b), ((1, 2), (3, 4))), in(a, db.t)"#,
    ),
    (
        r#"a LIKE 'x', a NOT ILIKE concat('x', b), NOT a LIKE 'x'"#,
        r#"a LIKE 'x', a NOT ILIKE concat('x', b), NOT (a LIKE 'x')"#,
        r#"like(a, 'x'), notILike(a, concat('x', b)), not(like(a, 'x'))"#,
    ),
    (
        r#"a <=> b, a IS DISTINCT FROM b, a == b, a <> b, a MOD b, a DIV b"#,
        r#"a <=> b, a IS DISTINCT FROM b, a = b, a != b, a % b, intDiv(a, b)"#,
        r#"isNotDistinctFrom(a, b), isDistinctFrom(a, b), equals(a, b), notEquals(a, b), modulo(a, b), intDiv(a, b)"#,
    ),
    (
        r#"a[1], a[1][2], a.1, f(x)[1], f(x).1, (a, b).2, [1, 2][1], t.a[1], a['x']"#,
        r#"a[1], (a[1])[2], a.1, f(x)[1], (f(x)).1, (a, b).2, [1, 2][1], t.a[1], a['x']"#,
        r#"arrayElement(a, 1), arrayElement(arrayElement(a, 1), 2), tupleElement(a, 1), arrayElement(f(x), 1), tupleElement(f(x), 1), tupleElement(tuple(a, b), 2), arrayElement(_CAST([1, 2], 'Array(UInt8)'), 1), arrayElement(t.a, 1), arrayElement(a, 'x')"#,
    ),
    (
        r#"x -> x + 1, arrayMap((x, y) -> (x, y), a, b), arrayMap(x -> -x, a), arrayMap(x -> (y -> x), a)"#,
        r#"x -> (x + 1), arrayMap((x, y) -> (x, y), a, b), arrayMap(x -> (-x), a), arrayMap(x -> (y -> x), a)"#,
        r#"lambda(tuple(x), plus(x, 1)), arrayMap(lambda(tuple(x, y), tuple(x, y)), a, b), arrayMap(lambda(tuple(x), negate(x)), a), arrayMap(lambda(tuple(x), lambda(tuple(y), x)), a)"#,
    ),
    (
        r#"CASE WHEN a = 1 THEN 'x' ELSE 'y' END, CASE a WHEN 1 THEN 2 END + 1"#,
        r#"multiIf(a = 1, 'x', 'y'), caseWithExpression(a, 1, 2, NULL) + 1"#,
        r#"multiIf(equals(a, 1), 'x', 'y'), plus(caseWithExpression(a, 1, 2, _CAST(NULL, 'Nullable(Nothing)')), 1)"#,
    ),
    (
        r#"CAST(a AS Int8), a::Array(String), 1::UInt8, cast('1', 'Int8'), DATE '2020-01-01', TIMESTAMP '2020-01-01 00:00:00'"#,
        r#"CAST(a, 'Int8'), CAST(a, 'Array(String)'), CAST('1', 'UInt8'), CAST('1', 'Int8'), toDate('2020-01-01'), toDateTime('2020-01-01 00:00:00')"#,
        r#"CAST(a, 'Int8'), CAST(a, 'Array(String)'), CAST('1', 'UInt8'), CAST('1', 'Int8'), toDate('2020-01-01'), toDateTime('2020-01-01 00:00:00')"#,
    ),
    (
        r#"INTERVAL 1 DAY, now() - INTERVAL a MONTH, DATE_ADD(DAY, 1, d), dateDiff(day, a, b)"#,
        r#"toIntervalDay(1), now() - toIntervalMonth(a), plus(d, toIntervalDay(1)), dateDiff('day', a, b)"#,
        r#"toIntervalDay(1), minus(now(), toIntervalMonth(a)), plus(d, toIntervalDay(1)), dateDiff('day', a, b)"#,
    ),
    (
        r#"EXTRACT(DAY FROM x), SUBSTRING(x FROM 2 FOR 3), TRIM(LEADING 'a' FROM x), POSITION('a' IN b)"#,
        r#"toDayOfMonth(x), substring(x, 2, 3), trimLeft(x, 'a'), position(b, 'a')"#,
        r#"toDayOfMonth(x), substring(x, 2, 3), trimLeft(x, 'a'), position(b, 'a')"#,
    ),
    (
        r#"count(*), count(DISTINCT a, b), COUNT(DISTINCT a), sum(a) FILTER (WHERE b > 1), quantile(0.5)(a), any(a) IGNORE NULLS"#,
        r#"count(*), countDistinct(a, b), COUNTDistinct(a), sumIf(a, b > 1), quantile(0.5)(a), any(a) IGNORE NULLS"#,
        r#"count(*), countDistinct(a, b), COUNTDistinct(a), sumIf(a, greater(b, 1)), quantile(0.5)(a), any(a) IGNORE NULLS"#,
    ),
    (
        r#"sum(a) OVER (PARTITION BY b, c + 1 ORDER BY d DESC, e NULLS FIRST ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), sum(a) OVER w"#,
        r#"sum(a) OVER (PARTITION BY b, c + 1 ORDER BY d DESC, e ASC NULLS FIRST ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), sum(a) OVER w"#,
        r#"sum(a) OVER (PARTITION BY b, plus(c, 1) ORDER BY d DESC, e ASC NULLS FIRST ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), sum(a) OVER w"#,
    ),
    (
        r#"1.0, 1e10, 0x1F, .5, 1e-7, 1e21, 1.50, 18446744073709551616, -0.0, inf, NULL, true, 'it''s\n'"#,
        r#"1., 10000000000., 31, 0.5, 1e-7, 1e21, 1.5, 18446744073709552000., -0., inf, NULL, true, 'it\'s\n'"#,
        r#"1., 10000000000., 31, 0.5, 1e-7, 1e21, 1.5, 18446744073709552000., -0., inf, _CAST(NULL, 'Nullable(Nothing)'), true, 'it\'s\n'"#,
    ),
    (
        r#"[1, 2.5], (1, 'a'), [], (1,), (), [[1], []], tuple(1, 2), array(a), [a, 1], ([1], 2)"#,
        r#"[1, 2.5], (1, 'a'), [], tuple(1), tuple(), [[1], []], tuple(1, 2), array(a), [a, 1], ([1], 2)"#,
        r#"_CAST([1., 2.5], 'Array(Float64)'), _CAST((1, 'a'), 'Tuple(UInt8, String)'), _CAST([], 'Array(Nothing)'), tuple(1), tuple(), _CAST([[1], []], 'Array(Array(UInt8))'), tuple(1, 2), array(a), array(a, 1), tuple(_CAST([1], 'Array(UInt8)'), 2)"#,
    ),
    (
        r#"a AS x, (a AS y) + 1, f((a + 1 AS z))"#,
        r#"a AS x, (a AS y) + 1, f((a + 1) AS z)"#,
        r#"a AS x, plus(a AS y, 1), f(plus(a, 1) AS z)"#,
    ),
    (
        r#"`select`, `a b`, "c", t.`from`, `é`, `TRUE`, end_"#,
        r#"`select`, `a b`, c, t.`from`, `é`, `TRUE`, end_"#,
        r#"`select`, `a b`, c, t.`from`, `é`, `TRUE`, end_"#,
    ),
    (
        r#"{p:UInt8}, t.*, * EXCEPT (a, b), * EXCEPT a, * REPLACE (a + 1 AS b), COLUMNS('^a'), * APPLY sum"#,
        r#"{p:UInt8}, t.*, * EXCEPT (a, b), * EXCEPT a, * REPLACE (a + 1 AS b), COLUMNS('^a'), * APPLY sum"#,
        r#""#,
    ),
    (
        r#"plus(a, b), and(a, b), not(a), negate(a), in(a, (1, 2)), arrayElement(a, 1)"#,
        r#"plus(a, b), and(a, b), NOT (a), negate(a), in(a, (1, 2)), arrayElement(a, 1)"#,
        r#"plus(a, b), and(a, b), not(a), negate(a), in(a, (1, 2)), arrayElement(a, 1)"#,
    ),
    (
        r#"(SELECT 1), a IN (SELECT 1), EXISTS (SELECT 1), NOT EXISTS (SELECT 1)"#,
        r#"(SELECT 1), a IN (SELECT 1), exists((SELECT 1)), NOT exists((SELECT 1))"#,
        r#"(SELECT 1 FROM system.one), in(a, (SELECT 1 FROM system.one)), exists((SELECT 1 FROM system.one)), not(exists((SELECT 1 FROM system.one)))"#,
    ),
];

/// A query as it is written and printed.
const QUERIES: &[(&str, &str)] = &[
    (
        r#"SELECT a, b FROM t"#,
        "\
SELECT
    a,
    b
FROM t",
    ),
    (
        r#"WITH 1 AS x, y AS (SELECT 1) SELECT a, (SELECT 1, 2) AS s FROM t AS q, u WHERE a IN (SELECT 1 UNION ALL SELECT 2)"#,
        "\
WITH
    1 AS x,
    y AS
    (
        SELECT 1
    )
SELECT
    a,
    (
        SELECT
            1,
            2
    ) AS s
FROM t AS q, u
WHERE a IN (
    SELECT 1
    UNION ALL
    SELECT 2
)",
    ),
    (
        r#"SELECT DISTINCT a FROM (SELECT a FROM u) AS s INNER JOIN v ON s.a = v.a AND s.b > 1 ANY LEFT JOIN w USING (a, b) CROSS JOIN z"#,
        "\
SELECT DISTINCT a
FROM
(
    SELECT a
    FROM u
) AS s
INNER JOIN v ON (s.a = v.a) AND (s.b > 1)
ANY LEFT JOIN w USING (a, b)
CROSS JOIN z",
    ),
    (
        r#"SELECT a FROM t JOIN (SELECT 1 AS a) AS x USING a LEFT JOIN u ON t.a = u.a ARRAY JOIN b AS c, d LEFT ARRAY JOIN [1] AS e"#,
        "\
SELECT a
FROM t
INNER JOIN
(
    SELECT 1 AS a
) AS x USING (a)
LEFT JOIN u ON t.a = u.a
ARRAY JOIN
    b AS c,
    d
LEFT ARRAY JOIN [1] AS e",
    ),
    (
        r#"SELECT a, sum(b) FROM t PREWHERE a > 1 WHERE b GROUP BY a, c WITH ROLLUP WITH TOTALS HAVING sum(b) > 1 ORDER BY a DESC NULLS FIRST, c LIMIT 1, 2 BY a LIMIT 3 OFFSET 4 SETTINGS max_threads = 1, format_csv_delimiter = ';' FORMAT TSV"#,
        "\
SELECT
    a,
    sum(b)
FROM t
PREWHERE a > 1
WHERE b
GROUP BY
    a,
    c
    WITH ROLLUP
    WITH TOTALS
HAVING sum(b) > 1
ORDER BY
    a DESC NULLS FIRST,
    c ASC
LIMIT 1, 2 BY a
LIMIT 4, 3
SETTINGS max_threads = 1, format_csv_delimiter = ';'
FORMAT TSV",
    ),
    (
        r#"SELECT a FROM t GROUP BY GROUPING SETS ((a, b), (a), ()) ORDER BY a WITH FILL FROM 1 TO 5 STEP 2 INTERPOLATE (b, c AS c + 1)"#,
        "\
SELECT a
FROM t
GROUP BY
    GROUPING SETS (
        (a, b),
        (a),
        ())
ORDER BY a ASC WITH FILL FROM 1 TO 5 STEP 2
INTERPOLATE (`b` AS b, `c` AS c + 1)",
    ),
    (
        r#"SELECT a FROM t GROUP BY ALL ORDER BY ALL"#,
        "\
SELECT a
FROM t
GROUP BY ALL
ORDER BY ALL ASC",
    ),
    (
        r#"SELECT sum(a) OVER w FROM t WINDOW w AS (PARTITION BY a ORDER BY b), v AS (ORDER BY c) QUALIFY sum(a) OVER w > 1"#,
        "\
SELECT sum(a) OVER w
FROM t
WINDOW
    w AS (PARTITION BY a ORDER BY b ASC),
    v AS (ORDER BY c ASC)
QUALIFY sum(a) OVER w > 1",
    ),
    (
        r#"SELECT 1 UNION ALL SELECT 2 UNION DISTINCT (SELECT 3 UNION ALL SELECT 4)"#,
        "\
SELECT 1
UNION ALL
SELECT 2
UNION DISTINCT
(
    SELECT 3
    UNION ALL
    SELECT 4
)",
    ),
    (
        r#"SELECT 1 EXCEPT SELECT 2"#,
        "\
(
    SELECT 1
)
EXCEPT
(
    SELECT 2
)",
    ),
    (
        r#"SELECT 1 INTERSECT SELECT 2"#,
        "\
SELECT 1
INTERSECT
SELECT 2",
    ),
    (
        r#"(SELECT 1) UNION ALL (SELECT 2)"#,
        "\
SELECT 1
UNION ALL
SELECT 2",
    ),
    (
        r#"SELECT a FROM numbers(10) AS n, s3('http://x/y.csv', 'CSV', headers('a' = 'b')), view(SELECT 1 AS a)"#,
        "\
SELECT a
FROM numbers(10) AS n, s3('http://x/y.csv', 'CSV', headers('a' = 'b')), view(
    SELECT 1 AS a
)",
    ),
    (
        r#"SELECT if((SELECT count() FROM t) > 0, (SELECT 1), 2), EXISTS (SELECT 1 FROM u WHERE u.a = t.a) FROM t WHERE NOT EXISTS (SELECT 1)"#,
        "\
SELECT
    if((
        SELECT count()
        FROM t
    ) > 0, (
        SELECT 1
    ), 2),
    exists((
        SELECT 1
        FROM u
        WHERE u.a = t.a
    ))
FROM t
WHERE NOT exists((
    SELECT 1
))",
    ),
    (
        r#"SELECT a FROM t ORDER BY a LIMIT 10 WITH TIES"#,
        "\
SELECT a
FROM t
ORDER BY a ASC
LIMIT 10
 WITH TIES",
    ),
    (
        r#"SELECT DISTINCT ON (a, b) c FROM t"#,
        "\
SELECT c
FROM t
LIMIT 1 BY
    a,
    b",
    ),
    (
        r#"FROM t SELECT a"#,
        "\
SELECT a
FROM t",
    ),
    (
        r#"SELECT a FROM t LIMIT 1 BY a, b"#,
        "\
SELECT a
FROM t
LIMIT 1 BY
    a,
    b",
    ),
    (
        r#"WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM r WHERE a < 3) SELECT * FROM r OFFSET 1"#,
        "\
WITH RECURSIVE
    r AS
    (
        SELECT 1 AS a
        UNION ALL
        SELECT a + 1
        FROM r
        WHERE a < 3
    )
SELECT *
FROM r
OFFSET 1",
    ),
];

#[test]
fn expressions_are_printed_as_clickhouse_prints_them() {
    for (written, printed, explained) in ITEMS {
        let select = format!("SELECT {written}");
        assert_eq!(shown(&select, ON_ONE_LINE), format!("SELECT {printed}"), "{written}");
        if !explained.is_empty() {
            let select = format!("{select} FROM t");
            assert_eq!(shown(&select, AS_FUNCTIONS), format!("SELECT {explained} FROM t"), "{written}");
        }
    }
}

#[test]
fn queries_are_printed_as_clickhouse_prints_them() {
    for (written, printed) in QUERIES {
        assert_eq!(shown(written, Layout::default()), *printed, "{written}");
    }
}

#[test]
fn what_is_printed_prints_so_again() {
    let items = ITEMS.iter().map(|(written, ..)| format!("SELECT {written}"));
    for written in items.chain(QUERIES.iter().map(|(written, _)| (*written).to_owned())) {
        for layout in [Layout::default(), ON_ONE_LINE] {
            let once = shown(&written, layout);
            assert_eq!(shown(&once, layout), once, "{written}");
        }
    }
}

/// Where nothing is read as something else, what is printed is the same tree.
#[test]
fn what_is_printed_reads_back_as_it_was() {
    for text in [
        "SELECT (a + b) * c, -(a), a[1], t.a, f(x, (1, 2)), NOT (a = 1), arrayMap(x -> (x + 1), b), [1, a], a IN (1, 2) FROM t",
        "WITH 1 AS x, y AS (SELECT 1) SELECT a FROM y AS q, u WHERE (a > 1) AND (b LIKE 'it\\'s') GROUP BY a, b WITH TOTALS",
        "SELECT DISTINCT a FROM (SELECT 1 AS a UNION ALL SELECT 2) AS s INNER JOIN v ON s.a = v.a LEFT JOIN w USING (a)",
        "SELECT a FROM t ANY LEFT JOIN u ON t.a = u.a ARRAY JOIN b AS c, d ORDER BY a DESC, b ASC LIMIT 1 BY a LIMIT 5",
        "SELECT a FROM t WHERE (a IS NULL) OR (b IS NOT NULL) ORDER BY a DESC NULLS FIRST LIMIT 2, 3",
        "SELECT sum(a) OVER (PARTITION BY b ORDER BY c ASC ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM numbers(10)",
        "SELECT quantile(0.5)(a), `a b`, CAST(a, 'Array(String)'), (SELECT 1) AS x FROM `d b`.`select`",
    ] {
        let once = parse_query(text).unwrap();
        for layout in [Layout::default(), ON_ONE_LINE] {
            let printed = shown(text, layout);
            assert_eq!(parse_query(&printed).unwrap(), once, "{printed}");
        }
    }
}

#[test]
fn set_operations_are_a_chain() {
    for (written, printed) in [
        ("SELECT 1 UNION ALL SELECT 2 EXCEPT SELECT 3", "SELECT 1 UNION ALL (SELECT 2) EXCEPT (SELECT 3)"),
        ("SELECT 1 EXCEPT SELECT 2 INTERSECT SELECT 3", "(SELECT 1) EXCEPT (SELECT 2) INTERSECT SELECT 3"),
        ("SELECT 1 EXCEPT (SELECT 2 UNION ALL SELECT 3)", "(SELECT 1) EXCEPT (SELECT 2 UNION ALL SELECT 3)"),
        ("SELECT 1 INTERSECT SELECT 2 UNION ALL SELECT 3", "SELECT 1 INTERSECT SELECT 2 UNION ALL SELECT 3"),
        (
            "WITH x AS (SELECT 1) SELECT 1 EXCEPT SELECT 2",
            "(WITH x AS (SELECT 1) SELECT 1) EXCEPT (SELECT 2)",
        ),
    ] {
        assert_eq!(shown(written, ON_ONE_LINE), printed);
        assert_eq!(shown(printed, ON_ONE_LINE), printed);
    }
}

#[test]
fn what_is_applied_to_columns_reads_back() {
    for (written, printed) in [
        ("SELECT * APPLY(quantiles(0.5)) FROM t", "SELECT * APPLY quantiles(0.5) FROM t"),
        (
            "SELECT COLUMNS('a') EXCEPT x APPLY (x -> x + 1) FROM t",
            "SELECT COLUMNS('a') EXCEPT x APPLY (x -> (x + 1)) FROM t",
        ),
    ] {
        assert_eq!(shown(written, ON_ONE_LINE), printed);
        assert_eq!(shown(printed, ON_ONE_LINE), printed);
    }
    assert_eq!(
        shown("SELECT * APPLY x -> f(x) APPLY sum", ON_ONE_LINE),
        "SELECT * APPLY (x -> f(x)) APPLY sum"
    );
}

#[test]
fn what_is_nested_does_not_grow_without_end() {
    let nested = (0..60).fold("a".to_owned(), |inner, _| format!("({inner} BETWEEN 1 AND 2)"));
    for layout in [Layout::default(), AS_FUNCTIONS] {
        assert!(shown(&format!("SELECT {nested}"), layout).len() < 4000);
    }
    assert_eq!(
        shown("SELECT (a BETWEEN 1 AND 2) BETWEEN 0 AND b + 1", ON_ONE_LINE),
        "SELECT ((a >= 1) AND (a <= 2)) BETWEEN 0 AND (b + 1)"
    );
}

/// Stays as it is written where ClickHouse would print what does not read back.
#[test]
fn a_union_keeps_the_parentheses_that_mean_something() {
    assert_eq!(
        shown("(SELECT 1 LIMIT 1) UNION ALL (SELECT 2 ORDER BY 1)", ON_ONE_LINE),
        "(SELECT 1 LIMIT 1) UNION ALL (SELECT 2 ORDER BY 1 ASC)"
    );
}
