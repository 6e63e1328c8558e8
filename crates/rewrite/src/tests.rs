mod hostile;
mod planned;

use sql::{Statement, parse_one};

use crate::{RewriteContext, prepare};

fn rewritten(text: &str) -> String {
    let outcome = parse_one(text).and_then(|parsed| match parsed.statement {
        Statement::Query(query) => prepare(
            &query,
            &RewriteContext {
                current_database: "default",
                manner: crate::Manner::default(),
                union_default_mode: "",
                expanded_elements_max: 0,
            },
        ),
        other => panic!("{other:?}"),
    });
    match outcome {
        Ok(prepared) => prepared.ast.to_string().replace('`', "").replace('\u{1}', "~"),
        Err(e) => format!("{} {}", e.code.number(), e.message),
    }
}

fn check(text: &str, expected: &str) {
    assert_eq!(rewritten(text), expected, "{text}");
}

#[test]
fn items_get_labels() {
    check("SELECT a, b AS c, a + 1 FROM t", "SELECT a, b AS c, a + 1 AS plus(a, 1) FROM t");
    check(
        "SELECT count(), count(*), COUNT(a) FROM t",
        "SELECT count() AS count(), count() AS count()~1, count(a) AS COUNT(a) FROM t",
    );
    check("SELECT a, a FROM t", "SELECT a, a AS a~1 FROM t");
    check("SELECT *, a FROM t", "SELECT *, a AS a~1 FROM t");
    check("SELECT t.a FROM t", "SELECT t.a AS a FROM t");
}

#[test]
fn aliases_are_seen_everywhere_and_win() {
    check("SELECT a + 1 AS x, x * 2 FROM t", "SELECT a + 1 AS x, (a + 1) * 2 AS multiply(x, 2) FROM t");
    check("SELECT a + 1 AS x FROM t WHERE x > 2", "SELECT a + 1 AS x FROM t WHERE (a + 1) > 2");
    check("SELECT a + 1 AS a FROM t WHERE a > 2", "SELECT a + 1 AS a FROM t WHERE (a + 1) > 2");
    check(
        "SELECT a % 2 AS k, count() AS c FROM t GROUP BY k HAVING c > 1 ORDER BY c DESC",
        "SELECT a % 2 AS k, count() AS c FROM t GROUP BY (a % 2) HAVING count() > 1 ORDER BY c DESC NULLS LAST",
    );
    check("SELECT (a + 1 AS y) * y FROM t", "SELECT (a + 1) * (a + 1) AS multiply(y, y) FROM t");
    check("SELECT max(a) AS a FROM t WHERE a > 1", "SELECT max(a) AS a FROM t WHERE a > 1");
    check("SELECT 1 AS x, 2 AS x", "179 different expressions with the same alias x");
}

#[test]
fn tables_are_called_by_their_own_name_too() {
    check("SELECT d.t.a FROM d.t AS x", "SELECT x.a AS a FROM d.t AS x");
    check("SELECT t.a FROM d.t AS x", "SELECT x.a AS a FROM d.t AS x");
    check("SELECT default.t.a FROM t AS x", "SELECT x.a AS a FROM t AS x");
    // A name that is visible is meant, and one of another database is another table's.
    check("SELECT x.a FROM d.t AS x", "SELECT x.a AS a FROM d.t AS x");
    check("SELECT t.a FROM d.u AS t", "SELECT t.a AS a FROM d.u AS t");
}

#[test]
fn with_expressions_are_replaced() {
    check("WITH 5 AS five SELECT five + 1", "SELECT 5 + 1 AS plus(five, 1)");
    check(
        "WITH 5 AS n, t AS (SELECT n AS a) SELECT a FROM t",
        "WITH t AS (SELECT {'UInt8': '5'} AS a) SELECT a FROM t",
    );
    check("WITH x -> 1 AS f SELECT f(1)", "SELECT 1 AS f(1)");
}

#[test]
fn positions_mean_items() {
    check(
        "SELECT a + 1, count() FROM t GROUP BY 1 ORDER BY 2 DESC",
        "SELECT a + 1 AS plus(a, 1), count() AS count() FROM t GROUP BY a + 1 ORDER BY count() DESC NULLS LAST",
    );
    check(
        "SELECT a, b + 1, sum(c) FROM t GROUP BY ALL",
        "SELECT a, b + 1 AS plus(b, 1), sum(c) AS sum(c) FROM t GROUP BY a, b + 1",
    );
    check("SELECT a, b FROM t ORDER BY ALL", "SELECT a, b FROM t ORDER BY a NULLS LAST, b NULLS LAST");
    check("SELECT count() FROM t GROUP BY 1", "184 aggregate function count() is found in GROUP BY");
    check("SELECT a FROM t GROUP BY 2", "36 positional argument out of bounds: 2 (expected in range [1, 1])");
    check("SELECT a FROM t LIMIT 1, 2", "SELECT a FROM t LIMIT 2 OFFSET 1");
}

#[test]
fn aggregates_lose_combinators_and_parameters() {
    check(
        "SELECT countIf(a > 1) FROM t",
        "SELECT count() FILTER (WHERE a > 1) AS countIf(greater(a, 1)) FROM t",
    );
    check("SELECT sumIf(a, b) FROM t", "SELECT sum(a) FILTER (WHERE _isTrue(b)) AS sumIf(a, b) FROM t");
    check("SELECT quantile(0.9)(a) FROM t", "SELECT quantile(a, 0.9) AS quantile(0.9)(a) FROM t");
    check("SELECT count(DISTINCT a) FROM t", "SELECT count(DISTINCT a) AS countDistinct(a) FROM t");
    check("SELECT sum(5)(a) FROM t", "48 parameters of aggregate function sum is not supported");
    check(
        "SELECT sumIfMerge(a) FROM t",
        "SELECT _stated('Merge\u{1f}sumIf\u{1f}1', a) AS sumIfMerge(a) FROM t",
    );
    check("SELECT a FROM t WHERE sum(a) > 1", "184 aggregate function sum is found in WHERE");
    check(
        "SELECT sum(max(a)) FROM t",
        "184 aggregate function max is found inside another aggregate function",
    );
}

#[test]
fn functions_are_known_or_refused() {
    check("SELECT nosuchfunction(1)", "46 unknown function nosuchfunction");
    check("SELECT length(x -> x)", "43 function length can't have lambda-expressions as arguments");
    check("SELECT arrayMap([1])", "42 function arrayMap needs a lambda as its first argument");
    check(
        "SELECT CAST(a AS Nullable(UInt8)) FROM t",
        "SELECT CAST(a, 'Nullable(UInt8)') AS CAST(a, 'Nullable(UInt8)') FROM t",
    );
    check("SELECT equals(a, 1) AS e FROM t", "SELECT (a = 1) AS e FROM t");
    check("SELECT a FROM t WHERE and(a, b, c)", "SELECT a FROM t WHERE ((a AND b) AND c)");
}

#[test]
fn table_functions_become_tables() {
    let parsed =
        parse_one("SELECT * FROM s3('u', NOSIGN, format = 'CSV', headers('a' = 'b')) AS x, numbers(10 * 10)")
            .unwrap();
    let Statement::Query(query) = parsed.statement else { panic!() };
    let prepared = prepare(
        &query,
        &RewriteContext {
            current_database: "default",
            manner: crate::Manner::default(),
            union_default_mode: "",
            expanded_elements_max: 0,
        },
    )
    .unwrap();
    let names: Vec<String> =
        prepared.calls.iter().map(|call| format!("{} {}", call.name, call.placeholder)).collect();
    assert_eq!(names, ["s3 s3_0", "numbers numbers_1"]);
    assert_eq!(
        prepared.ast.to_string(),
        "SELECT * FROM `_table_function`.`s3_0` AS x, `_table_function`.`numbers_1`"
    );
}

#[test]
fn worded_forms_and_sets() {
    check("SELECT a FROM t WHERE a IN ((1, 2))", "SELECT a FROM t WHERE a IN (1, 2)");
    check("SELECT a FROM t WHERE a IN u", "SELECT a FROM t WHERE a IN (SELECT * FROM u)");
    check(
        "SELECT a FROM t WHERE a GLOBAL IN (SELECT 1)",
        "SELECT a FROM t WHERE a IN (SELECT {'UInt8': '1'} AS 1)",
    );
    check(
        "SELECT a[1] AS x, a.1 AS y FROM t",
        "SELECT arrayElement(a, 1) AS x, tupleElement(a, 1) AS y FROM t",
    );
    check("SELECT 0x1F AS x, 1_000 AS y", "SELECT 31 AS x, 1000 AS y");
}

#[test]
fn limits_by_keys_stand_behind_the_order() {
    check(
        "SELECT a, b FROM t ORDER BY a LIMIT 1, 2 BY b, a + 1 LIMIT 5",
        "SELECT a, b FROM t ORDER BY a NULLS LAST, _limitBy('~2', '~1', b, a + 1) NULLS LAST LIMIT 5",
    );
    check("SELECT a FROM t LIMIT 1 BY a", "SELECT a FROM t ORDER BY _limitBy('~1', '~0', a) NULLS LAST");
    check(
        "SELECT a FROM t ORDER BY a LIMIT 2 WITH TIES",
        "SELECT a FROM t ORDER BY a NULLS LAST, _withTies('~2', '~0') NULLS LAST",
    );
    check("SELECT DISTINCT ON (b) a FROM t", "SELECT a FROM t ORDER BY _limitBy('~1', '~0', b) NULLS LAST");
    check(
        "SELECT DISTINCT a FROM t ORDER BY b",
        "SELECT a FROM t ORDER BY b NULLS LAST, _distinctBy(a) NULLS LAST",
    );
    check(
        "SELECT 1 AS a UNION SELECT 2",
        "558 expected ALL or DISTINCT after UNION, because setting union_default_mode is empty",
    );
    check("SELECT DISTINCT a FROM t ORDER BY a", "SELECT DISTINCT a FROM t ORDER BY a NULLS LAST");
}

#[test]
fn arrays_are_joined_in_parentheses() {
    check(
        "SELECT *, x FROM t ARRAY JOIN a AS x, b",
        "SELECT * EXCEPT (~x), ~x AS x~1 FROM (t ARRAY JOIN UNNEST(a AS ~x, b AS b))",
    );
    check(
        "SELECT x FROM t LEFT ARRAY JOIN [1, 2] AS x WHERE x > 1",
        "SELECT ~x AS x FROM (t LEFT ARRAY JOIN UNNEST(array(1, 2) AS ~x)) WHERE ~x > 1",
    );
    check(
        "SELECT x FROM t ANY LEFT JOIN u USING (a)",
        "SELECT x FROM (t ASOF JOIN u MATCH_CONDITION ('ANY LEFT') USING(a))",
    );
    check("SELECT a FROM t PREWHERE a = 1 WHERE b", "SELECT a FROM t WHERE (a = 1) AND _isTrue(b)");
}

#[test]
fn comments_with_a_hash_are_skipped() {
    check("SELECT a # it's not\n, b #!this 'x\nFROM t # end", "SELECT a, b FROM t");
    check("SELECT '# no', a /* # */ FROM t -- # b", "SELECT '# no' AS '# no', a FROM t");
}
