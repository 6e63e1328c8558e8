use crate::parser::parse_one;
use crate::statement::Statement;

fn check(text: &str, expected: &str) {
    let outcome = parse_one(text).and_then(|parsed| match parsed.statement {
        Statement::Query(query) => super::guard(&query.ast),
        other => panic!("{other:?}"),
    });
    let shown = match outcome {
        Ok(()) => "ok".to_owned(),
        Err(e) => format!("{} {}", e.code.number(), e.message),
    };
    assert!(shown.starts_with(expected), "{text}: {shown}");
}

#[test]
fn clauses_that_datafusion_would_ignore_are_refused_by_name() {
    check("SELECT a FROM t AS x FINAL WHERE final = 1", "ok");
    check("SELECT a FROM numbers(3) FINAL", "48 FINAL");
    check("SELECT a FROM t WITH (NOLOCK)", "48 WITH hints of a table");
    check("SELECT a FROM t FINAL AS x", "181 what stands here does not support FINAL");
    check("SELECT a FROM t SAMPLE 1/10", "141 no table here supports sampling");
    check("SELECT a FROM t ORDER BY a WITH FILL STALENESS 2 STEP 1", "62 syntax error");
    check("SELECT sum(a) OVER (ORDER BY a WITH FILL) FROM t", "48 WITH FILL of a window's key");
    check("SELECT a FROM t LATERAL VIEW explode(a) x", "48 LATERAL VIEW is not supported");
    check("SELECT a FROM t ASOF FULL JOIN u USING (a)", "62 syntax error: failed at position 22 (\"FULL\")");
    check("SELECT ?", "62 ");
}

#[test]
fn what_is_understood_passes() {
    for text in [
        "SELECT 1",
        "SELECT * EXCEPT (a) FROM t",
        "SELECT a ? 1 : 2, t.1, x::UInt8, a IN [1, 2], INTERVAL 1 DAY FROM t",
        "SELECT sum(a) OVER (PARTITION BY b ORDER BY c ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t",
        "WITH 5 AS five, x AS (SELECT 1) SELECT five FROM x",
        "SELECT a FROM t JOIN u ON t.a = u.a LEFT JOIN v USING (a) WHERE a IN (SELECT 1) ORDER BY a LIMIT 1, 2",
        "SELECT count(DISTINCT a), quantile(0.9)(b), CASE WHEN a THEN 1 ELSE 2 END FROM s3('u', 'CSV')",
        "SELECT 1 UNION ALL SELECT 2 EXCEPT SELECT 3",
        "SELECT a FROM t PREWHERE a = 1",
        "SELECT a, count() FROM t GROUP BY a WITH ROLLUP",
        "SELECT a, count() FROM t GROUP BY GROUPING SETS ((a), ())",
        "SELECT a FROM t LIMIT 1 BY a LIMIT 2",
        "SELECT DISTINCT ON (a) a FROM t",
        "SELECT a FROM t ARRAY JOIN b AS c, [1, 2]",
        "SELECT a FROM t ANY LEFT JOIN u USING (a)",
        "SELECT a FROM t ASOF JOIN u ON t.a = u.a AND t.b >= u.b",
        "SELECT a FROM t NATURAL JOIN u",
        "WITH RECURSIVE x AS (SELECT 1) SELECT * FROM x",
        "SELECT a FROM t ORDER BY a WITH FILL FROM 1 TO 5 STEP 2 INTERPOLATE (b AS b + 1, c)",
        "SELECT a FROM t OFFSET 1 ROW FETCH FIRST 1 ROW ONLY",
        "SELECT TOP 3 a FROM t",
        "SELECT a FROM (SELECT 1 AS a SETTINGS max_threads = 1)",
        "SELECT sum(a) OVER (w ROWS UNBOUNDED PRECEDING) FROM t WINDOW w AS (ORDER BY a)",
    ] {
        check(text, "ok");
    }
}

#[test]
fn depth_is_limited_and_chains_are_not_deep() {
    let nested = format!("SELECT {}1{}", "(".repeat(500), ")".repeat(500));
    let e = parse_one(&nested).unwrap_err();
    assert_eq!(e.code.number(), 306);
    let chain = format!("SELECT 1 WHERE {}", vec!["a = 1"; 100].join(" OR "));
    check(&chain, "ok");
}
