//! Every production of the grammar, repeated and nested, ends with an answer or an error, and soon.
//!
//! A stack that overflows ends the process, so the statements run in a child, this same binary, which says which one it
//! began. Invariant: the statements depend on nothing but this file. All of them run in one process of a user who may
//! only read, one after the other.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]
#![expect(clippy::disallowed_methods, reason = "a hang is measured on the real clock")]
#![expect(clippy::print_stdout, reason = "the child tells its parent where it is")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use engine::{Config, Database, Request};

/// Says that this process is the child.
const CHILD: &str = "GRISTMILL_DEEP_CHILD";
/// Longest a statement may take; unoptimized builds are slower by a magnitude.
const STATEMENT_MAX: Duration = Duration::from_secs(if cfg!(debug_assertions) { 60 } else { 2 });
/// Repetitions: plain use, much, and over what is allowed.
const TIMES: &[usize] =
    if cfg!(debug_assertions) { &[8, 400, 30_000] } else { &[12, 90, 250, 400, 6000, 30_000] };

/// Start, what is repeated, what stands in the middle, what is repeated behind it.
type Production = (&'static str, &'static str, &'static str, &'static str);

const PRODUCTIONS: &[Production] = &[
    ("SELECT [1]", "[1]", "", ""),
    ("SELECT t", ".1", " FROM (SELECT (1, 2) AS t)", ""),
    ("SELECT 1", "::UInt8", "", ""),
    ("SELECT 1", " + 1", "", ""),
    ("SELECT 'a'", " || 'b'", "", ""),
    ("SELECT 1", " AND 1", "", ""),
    ("SELECT number FROM numbers(3) WHERE number = 1", " OR number = 2", "", ""),
    ("SELECT 1", " = 1", "", ""),
    ("SELECT 1", " IN (1)", "", ""),
    ("SELECT 1", " IS NULL", "", ""),
    ("SELECT 'a'", " LIKE 'a'", "", ""),
    ("SELECT 1", " BETWEEN 0 AND 1", "", ""),
    ("SELECT 1", " IS DISTINCT FROM 1", "", ""),
    ("SELECT 1", " MOD 2", "", ""),
    ("SELECT 1", " AS a", "", ""),
    ("SELECT ", "NOT ", "1", ""),
    ("SELECT ", "- ", "1", ""),
    ("SELECT ", "1 ? 2 : ", "3", ""),
    ("SELECT ", "x -> ", "1", ""),
    ("SELECT arrayMap(", "x -> arrayMap(", "y -> 1, [1]", ", [1])"),
    ("SELECT ", "(", "1", ")"),
    ("SELECT ", "[", "1", "]"),
    ("SELECT ", "(1, ", "2", ")"),
    ("SELECT ", "abs(", "1", ")"),
    ("SELECT ", "if(1, 2, ", "3", ")"),
    ("SELECT ", "CAST(", "1", " AS UInt8)"),
    ("SELECT ", "CASE WHEN 1 THEN ", "1", " END"),
    ("SELECT CASE", " WHEN 1 THEN 2", "", " END"),
    ("SELECT ", "INTERVAL ", "1", " DAY"),
    ("SELECT 1::", "Array(", "UInt8", ")"),
    ("SELECT 1::", "Tuple(a ", "UInt8", ")"),
    ("SELECT ", "(SELECT ", "1", ")"),
    ("SELECT * FROM ", "(SELECT * FROM ", "numbers(1)", ")"),
    ("SELECT * FROM ", "(", "numbers(1)", ")"),
    ("", "(", "SELECT 1", ")"),
    ("SELECT 1 IN ", "(SELECT 1 IN ", "(1)", ")"),
    ("SELECT EXISTS ", "(SELECT 1 WHERE EXISTS ", "(SELECT 1)", ")"),
    ("", "WITH a AS (", "SELECT 1", ") SELECT * FROM a"),
    ("WITH 1 AS a0", ", a0 AS b", " SELECT 1", ""),
    ("SELECT 1", " UNION ALL SELECT 1", "", ""),
    ("SELECT 1", " UNION DISTINCT SELECT 1", "", ""),
    ("SELECT 1", " INTERSECT SELECT 1", "", ""),
    ("SELECT 1", " EXCEPT SELECT 1", "", ""),
    ("EXPLAIN SELECT 1", " UNION ALL SELECT 1", "", ""),
    ("", "EXPLAIN ", "SELECT 1", ""),
    ("SELECT 1 FROM numbers(1)", " ARRAY JOIN [1] AS x", "", ""),
    ("SELECT 1 FROM numbers(1) AS a", " JOIN numbers(1) AS b USING (number)", "", ""),
    ("SELECT 1 FROM numbers(1)", ", numbers(1)", "", ""),
    ("SELECT 1 FROM ", "(SELECT 1 FROM numbers(1) JOIN ", "numbers(1)", " USING (number))"),
    ("SELECT * ", " APPLY(toString)", " FROM numbers(1)", ""),
    ("SELECT COLUMNS('n') ", " APPLY(toString)", " FROM numbers(1)", ""),
    ("SELECT * ", " EXCEPT (a)", " FROM numbers(1)", ""),
    ("SELECT * ", " REPLACE (1 AS number)", " FROM numbers(1)", ""),
    ("SELECT 1", ", 1", "", ""),
    ("SELECT sum(1)", "(1)", "", ""),
    ("SELECT sum(1) OVER ", "(ORDER BY ", "1", ")"),
    ("SELECT sum(1) OVER w WINDOW w AS ()", ", w AS ()", "", ""),
    ("SELECT 1 GROUP BY GROUPING SETS ((1)", ", (1)", ")", ""),
    ("SELECT number FROM numbers(1) ORDER BY number", ", number", "", ""),
    ("SELECT 1 LIMIT ", "(", "1", ")"),
    ("SELECT (1, 2) IN ((1, 2)", ", (3, 4)", ")", ""),
    ("SELECT 1 IN (1", ", 2", ")", ""),
    ("SELECT 1 IN (", "(", "1", ")"),
    ("SELECT length([1", ", 2", "])", ""),
    ("SELECT * FROM (VALUES (1)", ", (2)", ")", ""),
    ("SELECT * FROM values(1", ", 2", ")", ""),
    ("SELECT 1 SETTINGS max_threads = 1", ", max_threads = 1", "", ""),
    ("SET max_threads = 1", ", max_threads = 1", "", ""),
    ("ALTER TABLE t ADD COLUMN a UInt8", ", ADD COLUMN b UInt8", "", ""),
    ("CREATE TABLE t (a UInt8", ", b UInt8", ") ORDER BY a", ""),
    ("CREATE TABLE t (a UInt8 DEFAULT 1", " + 1", ") ORDER BY a", ""),
    ("CREATE TABLE t (a UInt8) ORDER BY a", " + 1", "", ""),
    ("INSERT INTO t VALUES (1)", ", (1)", "", ""),
    ("INSERT INTO t SELECT 1", " UNION ALL SELECT 1", "", ""),
    ("DESCRIBE ", "(", "SELECT 1", ")"),
    ("KILL QUERY WHERE 1", " AND 1", "", ""),
    ("SELECT 1 ", "/* ", "", " */"),
    ("SELECT 1 ", "-- a\n", "", ""),
    ("SELECT '", "''", "'", ""),
    ("SELECT 1", ";", "", ""),
    ("SELECT a", ".b", "", ""),
    ("SELECT default", " + default", " FROM (SELECT 1 AS default)", ""),
    ("SELECT f() WITHIN GROUP (ORDER BY 1)", " + f() WITHIN GROUP (ORDER BY 1)", "", ""),
    ("SELECT extract(DAY FROM ", "extract(DAY FROM ", "now()", ")"),
    ("SELECT * FROM view(", "SELECT * FROM view(", "SELECT 1", ")"),
    ("SELECT {a:", "Array(", "UInt8", ")"),
    ("SELECT ", "abs(if(rand() = 1, 2, ", "3", "))"),
    ("SELECT ", "toString(CASE 1 WHEN 1 THEN ", "3", " END)"),
    ("SELECT ", "lcase(", "'A'", ")"),
    ("SELECT ", "map('a', ", "1", ")"),
    ("SELECT ", "arrayMap(x -> x, ", "[1]", ")"),
    ("SELECT ", "arrayFilter(x -> 1, ", "[1]", ")"),
    ("SELECT ", "coalesce(NULL, ", "1", ")"),
    ("SELECT multiIf(number = 1, 2", ", number = 1, 3", ", 4) FROM numbers(3)", ""),
    ("SELECT map(number, 2", ", number, 2", ") FROM numbers(3)", ""),
    ("SELECT 1 FROM numbers(3) GROUP BY number", ", number + 1", "", ""),
    ("SELECT number FROM numbers(3) LIMIT 1 BY number", ", number + 1", "", ""),
    ("SELECT sum(number) OVER ()", ", sum(number) OVER ()", " FROM numbers(3)", ""),
    ("SELECT 'aaa' LIKE '", "%a", "'", ""),
    ("SELECT (SELECT 1)", ", (SELECT 1)", "", ""),
];

/// What each of these means grows with each that stands behind it.
fn grown(times: usize) -> Vec<String> {
    let list = |item: &dyn Fn(usize) -> String| (0..times).map(item).collect::<String>();
    vec![
        format!("SELECT 1 AS a0{}", list(&|n| format!(", a{n} + a{n} AS a{}", n + 1))),
        format!("SELECT 1 AS a0{}", list(&|n| format!(", a{n} + 1 AS a{}", n + 1))),
        format!("SELECT 1 AS a0{} FORMAT Null", list(&|n| format!(", a{n} AS a{}", n + 1))),
        format!("WITH 1 AS a0{} SELECT a{times}", list(&|n| format!(", a{n} + a{n} AS a{}", n + 1))),
        format!(
            "WITH c0 AS (SELECT 1 AS x){} SELECT * FROM c{times}",
            list(&|n| format!(", c{} AS (SELECT a.x FROM c{n} AS a, c{n} AS b)", n + 1))
        ),
        format!(
            "WITH c0 AS (SELECT 1 AS x){} SELECT * FROM c{times}",
            list(&|n| format!(", c{} AS (SELECT * FROM c{n})", n + 1))
        ),
    ]
}

fn statements() -> Vec<String> {
    let mut all = vec!["WITH r AS (SELECT * FROM r) SELECT * FROM r".to_owned()];
    for times in TIMES {
        for (start, link, middle, behind) in PRODUCTIONS {
            all.push(format!("{start}{}{middle}{}", link.repeat(*times), behind.repeat(*times)));
        }
        all.extend(grown(*times));
    }
    // Productions within productions, from a fixed sequence.
    let bracketed: Vec<&Production> = PRODUCTIONS
        .iter()
        .filter(|(start, .., behind)| *start == "SELECT " && behind.ends_with(')'))
        .collect();
    let mut seed = 17_usize;
    for _ in 0..60 {
        let (mut before, mut after) = (String::from("SELECT "), String::new());
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let depth = if cfg!(debug_assertions) { [4, 8, 8, 400, 3000] } else { [4, 8, 16, 200, 3000] }
            [(seed >> 33) % 5];
        for _ in 0..depth {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (_, opens, _, closes) = bracketed[(seed >> 33) % bracketed.len()];
            before.push_str(opens);
            after.insert_str(0, closes);
        }
        all.push(format!("{before}1{after}"));
    }
    all
}

#[test]
fn no_statement_ends_the_process_or_takes_long() {
    if std::env::var(CHILD).is_ok() {
        return run_all();
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "no_statement_ends_the_process_or_takes_long", "--nocapture"])
        .env(CHILD, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let all = statements();
    let shown = |at: usize| format!("{at}: {:.70}.. of {} bytes", all[at], all[at].len());
    let (mut begun, mut slow) = (0, Vec::new());
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        let mut words = line.split_whitespace();
        let (Some("statement"), Some(at)) = (words.next(), words.next()) else { continue };
        begun = at.parse().unwrap();
        if let Some(ms) = words.next()
            && Duration::from_millis(ms.parse().unwrap()) > STATEMENT_MAX
        {
            slow.push(format!("{ms} ms: {}", shown(begun)));
        }
    }
    let status = child.wait().unwrap();
    assert!(status.success(), "{status} at {}", shown(begun));
    assert_eq!(begun + 1, all.len());
    assert!(slow.is_empty(), "{slow:#?}");
}

fn listed(count: usize, item: impl Fn(usize) -> String, separator: &str) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(separator)
}

/// What people's programs write is answered: the text, the rows, the first cell of the first row.
#[test]
#[expect(clippy::too_many_lines, reason = "a list of statements and their answers")]
fn long_statements_are_answered() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let database =
        Database::open(Config { threads: Some(2), background: false, ..Config::default() }).unwrap();
    let session = database.session();
    let numbers = |count: usize| listed(count, |n| n.to_string(), ", ");
    let checked: Vec<(String, Result<&str, u16>)> = vec![
        (
            format!(
                "SELECT count() FROM numbers(5000) WHERE {}",
                listed(600, |n| format!("number = {n}"), " OR ")
            ),
            Ok("600"),
        ),
        (
            format!(
                "SELECT count() FROM numbers(5000) WHERE {}",
                listed(400, |n| format!("number != {n}"), " AND ")
            ),
            Ok("4600"),
        ),
        (
            format!("SELECT count() FROM ({})", listed(120, |n| format!("SELECT {n} AS x"), " UNION ALL ")),
            Ok("120"),
        ),
        (
            format!(
                "SELECT count() FROM ({})",
                listed(120, |n| format!("SELECT {} AS x", n % 7), " UNION DISTINCT ")
            ),
            Ok("7"),
        ),
        (format!("SELECT {}", vec!["1"; 100].join(" + ")), Ok("100")),
        (format!("SELECT {}1{}", "(".repeat(90), ")".repeat(90)), Ok("1")),
        (format!("SELECT {}1{}", "abs(".repeat(60), ")".repeat(60)), Ok("1")),
        (format!("SELECT count() FROM numbers(400000) WHERE number IN ({})", numbers(300_000)), Ok("300000")),
        (format!("SELECT count() FROM numbers(3000) WHERE number NOT IN ({})", numbers(1000)), Ok("2000")),
        (format!("SELECT count() FROM numbers(3) WHERE toInt8(number) IN (-1, {})", numbers(1000)), Ok("3")),
        (
            format!("SELECT count() FROM numbers(3000) WHERE toString(number) IN ({})", numbers(1000)),
            Ok("1000"),
        ),
        (format!("SELECT toFloat64(3) IN ({})", numbers(1000)), Ok("1")),
        (format!("SELECT toNullable(toUInt8(5)) IN ({}), 1", numbers(1000)), Ok("1")),
        (
            format!(
                "SELECT count() FROM numbers(5000) WHERE toString(number) IN ({})",
                listed(3000, |n| format!("'{n}'"), ",")
            ),
            Ok("3000"),
        ),
        (
            format!(
                "SELECT count() FROM numbers(50000) WHERE (number, number + 1) IN ({})",
                listed(30_000, |n| format!("({n},{})", n + n % 2), ",")
            ),
            Ok("15000"),
        ),
        (
            format!(
                "SELECT count() FROM numbers(900) WHERE (number, toString(number)) NOT IN ({})",
                listed(600, |n| format!("({n}, '{n}')"), ", ")
            ),
            Ok("300"),
        ),
        (format!("SELECT {} FORMAT Null", numbers(1000)), Ok("0")),
        (format!("SELECT [1]{}", "[1]".repeat(2000)), Err(306)),
        (grown(20).remove(0), Err(168)),
        (grown(20).remove(3), Err(168)),
        (grown(25).remove(4), Err(168)),
        (grown(4000).remove(1), Err(168)),
        (grown(5001).remove(1), Err(161)),
        (grown(4000).remove(5), Err(306)),
        (grown(5001).remove(5), Err(168)),
        (grown(10).remove(0), Ok("1")),
    ];
    for (text, expected) in checked {
        let begun = Instant::now();
        let batches = runtime.block_on(async { session.execute(Request::new(&text)).await?.collect().await });
        let told =
            batches.map(|batches| first_cell(&batches)).map_err(|error: engine::Error| error.code.number());
        assert_eq!(told.as_ref().map(String::as_str).map_err(|code| *code), expected, "{text:.100}");
        assert!(begun.elapsed() < STATEMENT_MAX, "{:?} {text:.100}", begun.elapsed());
    }
    runtime.block_on(database.close());
}

fn first_cell(batches: &[arrow::array::RecordBatch]) -> String {
    let Some(batch) = batches.iter().find(|batch| batch.num_rows() > 0) else { return String::new() };
    match batch.column(0).is_null(0) || *batch.column(0).data_type() == arrow::datatypes::DataType::Null {
        true => "NULL".to_owned(),
        false => arrow::util::display::array_value_to_string(batch.column(0), 0).unwrap(),
    }
}

/// Says of each statement that it begins, and how long it took.
fn run_all() {
    let only: Option<usize> = std::env::var("GRISTMILL_DEEP_ONLY").ok().and_then(|at| at.parse().ok());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let config = Config { threads: Some(2), background: false, ..Config::default() };
    let database = Database::open(config).unwrap();
    let session = database.session();
    session.set("readonly", "1").unwrap();
    for (at, statement) in statements().into_iter().enumerate() {
        if only.is_some_and(|only| only != at) {
            continue;
        }
        println!("\nstatement {at}");
        std::io::stdout().flush().unwrap();
        let begun = Instant::now();
        let answered = async {
            let request = Request::new(&statement);
            Ok::<_, engine::Error>(session.execute(request).await?.collect().await?.len())
        };
        let outcome = runtime.block_on(async { tokio::time::timeout(STATEMENT_MAX, answered).await });
        let told = match outcome {
            Ok(Ok(batches)) => format!("{batches} batches"),
            Ok(Err(error)) => format!("{} {:.60}", error.code, error.message.replace('\n', " ")),
            Err(_) => "not answered".to_owned(),
        };
        println!("\nstatement {at} {} {told}", begun.elapsed().as_millis());
    }
    // Whatever still runs was told to be too slow.
    std::process::exit(0);
}
