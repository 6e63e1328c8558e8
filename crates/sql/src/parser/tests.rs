use super::*;
use crate::statement::{CreateSource, InsertSource, SettingText, Show};

fn debug(text: &str) -> String {
    match parse(text) {
        Ok(statements) => {
            statements.iter().map(|s| format!("{:?}", s.statement)).collect::<Vec<_>>().join("\n")
        }
        Err(e) => format!("{} {}", e.code.number(), e.message),
    }
}

#[test]
fn trailing_clauses_are_cut_in_any_order() {
    let check = |text: &str, ast: &str, format: Option<&str>, settings: &[&str]| {
        let parsed = parse_one(text).unwrap();
        let Statement::Query(query) = parsed.statement else { panic!("{text}") };
        assert_eq!(query.ast.to_string(), ast);
        assert_eq!(parsed.output.format.as_deref(), format);
        let names: Vec<String> = parsed
            .output
            .settings
            .iter()
            .map(|s| format!("{}={}", s.name, s.value.text().unwrap_or("DEFAULT")))
            .collect();
        assert_eq!(names, settings);
    };
    check("SELECT 1 FORMAT JSON", "SELECT 1", Some("JSON"), &[]);
    check("SELECT 1 FORMAT Null SETTINGS a=1, b='x'", "SELECT 1", Some("Null"), &["a=1", "b=x"]);
    check("SELECT 1 SETTINGS a=1 FORMAT CSV", "SELECT 1", Some("CSV"), &["a=1"]);
    check("SELECT format, settings FROM t", "SELECT format, settings FROM t", None, &[]);
    check("SELECT 1 AS format SETTINGS x = DEFAULT", "SELECT 1 AS format", None, &["x=DEFAULT"]);
}

#[test]
fn insert_sources() {
    let source = |text: &str| match parse_one(text).map(|p| p.statement) {
        Ok(Statement::Insert(insert)) => match insert.source {
            InsertSource::Values(range) => format!("values {:?}", &text[range]),
            InsertSource::Format { name, data } => format!("{name} {:?}", &text[data]),
            InsertSource::Select(query) => format!("select {}", query.ast),
            InsertSource::Infile { path, .. } => format!("infile {path}"),
        },
        other => format!("{other:?}"),
    };
    assert_eq!(source("INSERT INTO t VALUES (1), (2);"), "values \" (1), (2)\"");
    assert_eq!(source("INSERT INTO t VALUES (';') -- ;"), "values \" (';') -- ;\"");
    assert_eq!(source(" ; INSERT INTO t VALUES (';');"), "values \" (';')\"");
    assert_eq!(source("INSERT INTO t (a, b) FORMAT CSV\n1,2\n"), "CSV \"1,2\\n\"");
    assert_eq!(source("INSERT INTO TABLE d.t SELECT 1"), "select SELECT 1");
    assert_eq!(source("INSERT INTO t (SELECT 1)"), "select (SELECT 1)");
    assert_eq!(source("INSERT INTO t FROM INFILE 'a.csv' FORMAT CSV"), "infile a.csv");
    let parsed = parse_one("INSERT INTO t SETTINGS a=1 SELECT 2 SETTINGS b=3").unwrap();
    let values: Vec<_> = parsed.output.settings.iter().map(|s| (s.name.as_str(), s.value.clone())).collect();
    assert_eq!(values, [("a", SettingText::Bare("1".into())), ("b", SettingText::Bare("3".into()))]);
}

#[test]
fn inserts_have_labels() {
    let read = |text: &str| match parse_one(text).map(|p| p.statement) {
        Ok(Statement::Insert(insert)) => format!("{:?} {:?}", insert.label, insert.columns),
        other => format!("{other:?}"),
    };
    let labelled = "Some(\"l-1\") Some([\"a\", \"b\"])";
    assert_eq!(read("INSERT INTO t WITH LABEL 'l-1' (a, b) VALUES (1, 2)"), labelled);
    assert_eq!(read("INSERT INTO t (a, b) WITH LABEL `l-1` FORMAT CSV 1,2"), labelled);
    assert_eq!(read("INSERT INTO t with label \"l-1\" (a, b) (SELECT 1, 2)"), labelled);
    assert_eq!(read("INSERT INTO t WITH LABEL l1 SELECT 1"), "Some(\"l1\") None");
    assert_eq!(read("INSERT INTO t WITH LABEL 2024_01_02 SELECT 1"), "Some(\"2024_01_02\") None");
    assert_eq!(read("INSERT INTO t WITH LABEL l1 SETTINGS max_threads = 1 VALUES (1)"), "Some(\"l1\") None");
    assert_eq!(read("INSERT INTO t WITH label AS (SELECT 1) SELECT * FROM label"), "None None");
    assert_eq!(read("INSERT INTO t WITH 1 AS label SELECT label"), "None None");
    assert!(parse_one("INSERT INTO t (a) WITH LABEL l (b) VALUES (1)").is_err());
    assert!(parse_one("INSERT INTO t WITH LABEL l").is_err());
    assert!(parse_one("INSERT INTO t WITH LABEL VALUES (1)").is_err());
}

#[test]
fn loads_are_named_by_their_labels() {
    let named = |text: &str| match parse_one(text).map(|parsed| parsed.statement) {
        Ok(Statement::ResumeLoad { database, label }) => format!("resume {database:?} {label}"),
        Ok(Statement::CancelLoad { database, label }) => format!("cancel {database:?} {label}"),
        other => format!("{other:?}"),
    };
    assert_eq!(named("RESUME LOAD 'l-1'"), "resume None l-1");
    assert_eq!(named("resume load from db where label = 'l-1';"), "resume Some(\"db\") l-1");
    assert_eq!(named("CANCEL LOAD l1"), "cancel None l1");
    assert_eq!(named("CANCEL LOAD FROM db WHERE LABEL = 'l'"), "cancel Some(\"db\") l");
    assert!(parse_one("RESUME 'l'").is_err() && parse_one("CANCEL LOAD").is_err());
    assert!(parse_one("CANCEL LOAD WHERE STATE = 'x'").is_err());
    let shown = |text: &str| match parse_one(text).map(|parsed| parsed.statement) {
        Ok(Statement::Show(Show::Load { database, label, limit })) => {
            format!("{database:?} {:?} {limit:?}", label.pattern)
        }
        other => format!("{other:?}"),
    };
    assert_eq!(shown("SHOW LOAD"), "None None None");
    assert_eq!(
        shown("SHOW LOAD FROM db WHERE LABEL = 'a_b' LIMIT 2"),
        "Some(\"db\") Some(\"a\\\\_b\") Some(2)"
    );
    assert_eq!(shown("SHOW LOAD LIKE 'a%'"), "None Some(\"a%\") None");
    assert_eq!(shown("SHOW LOAD WHERE LABEL LIKE 'a%'"), "None Some(\"a%\") None");
}

#[test]
fn show_stands_for_selects() {
    let shown = |text: &str| match parse_one(text).map(|parsed| parsed.statement) {
        Ok(Statement::Show(Show::Rows(query))) => query.ast.to_string(),
        Ok(Statement::Show(Show::RowsOf { database, query })) => format!("{database:?} {}", query.ast),
        Ok(Statement::Show(Show::CreateTable { name, what })) => format!("{what:?} {name}"),
        Ok(Statement::Show(Show::Index(name))) => format!("index {name}"),
        Ok(other) => format!("{other:?}"),
        Err(error) => error.code.name().to_owned(),
    };
    for (text, expected) in [
        ("SHOW DATABASES", "SELECT name FROM system.databases ORDER BY name"),
        (
            "show tables from d not like 'a%' limit 2",
            "Some(\"d\") SELECT name FROM system.tables WHERE (database = 'd') AND (name NOT LIKE 'a%') ORDER BY name LIMIT 2",
        ),
        (
            "SHOW FULL TABLES WHERE engine = 'Memory' -- of it",
            "None SELECT name, engine FROM system.tables WHERE (database = currentDatabase()) AND (engine = 'Memory') ORDER BY name",
        ),
        ("SHOW TEMPORARY TABLES", "SELECT name FROM system.tables WHERE (is_temporary = 1) ORDER BY name"),
        ("SHOW PROCESSLIST", "SELECT * FROM system.processes ORDER BY elapsed DESC"),
        ("SHOW SETTING a", "SELECT value FROM system.settings WHERE (name = 'a') ORDER BY name"),
        ("SHOW INDEX FROM t IN d", "index d.t"),
        ("SHOW CREATE VIEW d.v", "View d.v"),
        ("SHOW CREATE view", "Table view"),
        ("SHOW CREATE TEMPORARY TABLE t", "Temporary t"),
        ("SHOW TABLE t", "Table t"),
        ("SHOW t", "Table t"),
        ("SHOW GRANTS FOR a", "NOT_IMPLEMENTED"),
        ("SHOW FULL PROCESSLIST", "SYNTAX_ERROR"),
        ("SHOW TABLES FROM d (1", "SYNTAX_ERROR"),
    ] {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn kill_finds_its_victims_by_a_select() {
    let read = |text: &str| match parse_one(text).map(|parsed| parsed.statement) {
        Ok(Statement::KillQuery { victims, mode }) => format!("{mode:?} {}", victims.ast),
        other => format!("{other:?}"),
    };
    let select = "SELECT query_id, user, query FROM system.processes WHERE (user = 'a' OR elapsed > 1)";
    assert_eq!(read("KILL QUERY WHERE user = 'a' OR elapsed > 1"), format!("Async {select}"));
    assert_eq!(read("kill query where user = 'a' or elapsed > 1 sync"), format!("Sync {select}"));
    assert_eq!(read("KILL QUERY WHERE user = 'a' OR elapsed > 1 TEST;"), format!("Test {select}"));
    assert!(parse_one("KILL QUERY WHERE user = 'a' SYNC TEST").is_err());
    assert_eq!(read("KILL QUERY WHERE user = 'a' OR elapsed > 1 FORMAT Null"), format!("Async {select}"));
    assert!(parse_one("KILL QUERY").is_err() && parse_one("KILL TRANSACTION WHERE 1").is_err());
    // None is left that is not done: who asks gets no row.
    let parsed = parse_one("KILL MUTATION WHERE table = 't' SYNC FORMAT Null").unwrap();
    let Statement::Query(query) = parsed.statement else { panic!("{:?}", parsed.statement) };
    assert!(query.ast.to_string().ends_with("FROM system.mutations WHERE (table = 't') AND NOT is_done"));
}

#[test]
fn temporary_tables_are_in_no_database() {
    let created = |text: &str| match parse_one(text).map(|parsed| parsed.statement) {
        Ok(Statement::CreateTable(table)) => format!("{} {} {:?}", table.temporary, table.name, table.engine),
        Ok(Statement::DropTemporaryTables { names, if_exists }) => format!("{names:?} {if_exists}"),
        Ok(other) => format!("{other:?}"),
        Err(error) => error.code.name().to_owned(),
    };
    assert_eq!(created("CREATE TEMPORARY TABLE t (a Int8)"), "true t Some(Memory)");
    assert_eq!(created("CREATE OR REPLACE TEMPORARY TABLE t AS SELECT 1"), "true t Some(Memory)");
    assert_eq!(created("CREATE TEMPORARY TABLE t (a Int8) ENGINE = Null"), "true t Some(Null)");
    assert_eq!(created("CREATE TEMPORARY TABLE d.t (a Int8)"), "BAD_DATABASE_FOR_TEMPORARY_TABLE");
    assert_eq!(created("CREATE TEMPORARY VIEW v AS SELECT 1"), "NOT_IMPLEMENTED");
    assert_eq!(created("CREATE TEMPORARY TABLE t (a Int8) ENGINE = MergeTree ORDER BY a"), "NOT_IMPLEMENTED");
    assert_eq!(created("DROP TEMPORARY TABLE IF EXISTS a, b"), "[\"a\", \"b\"] true");
    assert_eq!(created("DROP TEMPORARY TABLE d.t"), "BAD_DATABASE_FOR_TEMPORARY_TABLE");
}

#[test]
fn engines_outside_keep_their_arguments() {
    let read = |text: &str| match parse_one(text).map(|p| p.statement) {
        Ok(Statement::CreateTable(table)) => {
            let (engine, kept) = (table.engine.unwrap(), table.engine_arguments.text().to_owned());
            format!("{engine:?} {kept} by {}", table.partition_by.len())
        }
        Ok(other) => format!("{other:?}"),
        Err(e) => format!("{} {}", e.code.number(), e.message),
    };
    assert_eq!(
        read("CREATE TABLE t (a Int8) ENGINE = S3('u', 'it\\'s', /* c */ format=CSV -- d\n) PARTITION BY a"),
        "S3 'u', 'it\\'s', format = CSV by 1"
    );
    assert_eq!(
        read("CREATE TABLE t ENGINE = URL('u', headers('a' = 'b'))"),
        "Url 'u', headers('a' = 'b') by 0"
    );
    assert_eq!(read("CREATE TABLE t ENGINE = File(CSV, 'p') AS SELECT 1"), "File CSV, 'p' by 0");
    assert_eq!(
        read("CREATE TABLE t (a Int8) ENGINE = S3()"),
        "42 table engine S3 needs arguments that say where its rows are"
    );
    assert_eq!(
        read("CREATE TABLE t (a Int8) ENGINE = S3('u', 's3cr' || 'et')"),
        "36 an argument of table function S3 is not a constant"
    );
    assert_eq!(
        read("CREATE TABLE t (a Int8) ENGINE = URL('u') PARTITION BY a"),
        "36 table engine URL takes no PARTITION BY, ORDER BY, PRIMARY KEY or SAMPLE BY"
    );
    assert_eq!(
        read("CREATE TABLE t (a Int8) ENGINE = GCS('u') ORDER BY a"),
        "36 table engine Gcs takes no ORDER BY or PRIMARY KEY"
    );
    let debug = debug("CREATE TABLE t (a Int8) ENGINE = S3('u', 'k', 's3cr3t')");
    assert!(!debug.contains("s3cr3t"), "{debug}");
}

#[test]
fn what_is_not_understood_is_an_error_with_its_code() {
    let check =
        |text: &str, expected: &str| assert!(debug(text).starts_with(expected), "{text}: {}", debug(text));
    check(
        "SELEC 1",
        "62 syntax error: failed at position 1 (\"SELEC\") (line 1, col 1): expected a statement",
    );
    check("SELECT * FROM t FINAL AS x", "181 what stands here does not support FINAL");
    check("SELECT 1 +", "62 syntax error: failed at position 11 (end of query): expected an expression");
    check("SYSTEM RELOAD CONFIG", "48 SYSTEM RELOAD CONFIG is not supported");
    check(
        "ALTER TABLE t ATTACH PARTITION 1, ADD COLUMN a UInt8",
        "48 DETACH, ATTACH, DROP DETACHED or FREEZE beside other commands is not supported",
    );
    check("CREATE MATERIALIZED VIEW v AS SELECT 1", "62 syntax error: failed at position 28");
    check("CREATE TABLE t (a UInt7) ENGINE = Memory", "50 unknown type \"UInt7\"");
    check("CREATE TABLE t (a UInt8) ENGINE = Foo", "56 unknown table engine \"Foo\"");
    check("CREATE TABLE t (a UInt8) ENGINE = Log ORDER BY a", "36 table engine Log takes no PARTITION BY");
    check("CREATE TABLE t (a UInt8, a UInt8) ENGINE = Memory", "15 column \"a\" is defined twice");
    check("DROP TABLE t garbage", "62 syntax error: failed at position 14 (\"garbage\")");
    check("OPTIMIZE TABLE t CLEANUP", "48 OPTIMIZE .. CLEANUP is not supported");
    check("OPTIMIZE TABLE t DEDUPLICATE BY", "62 syntax error: failed at");
    check("SELECT 'abc", "62 syntax error");
}

#[test]
fn several_statements_keep_their_ranges() {
    let text = "SELECT 1; -- c\n  USE d;; INSERT INTO t VALUES (1); SET a = 1, b = 'x'";
    let ranges: Vec<&str> = parse(text).unwrap().into_iter().map(|s| &text[s.range]).collect();
    assert_eq!(ranges, ["SELECT 1", "USE d", "INSERT INTO t VALUES (1)", "SET a = 1, b = 'x'"]);
}

/// The statements of ClickHouse's guide to S3 performance, URL shortened.
#[test]
fn the_statements_of_the_s3_guide_are_understood() {
    let top_users = "SELECT OwnerDisplayName, count() AS num_posts FROM s3('https://b/posts/*.parquet') \
        WHERE OwnerDisplayName NOT IN ('', 'anon') GROUP BY OwnerDisplayName ORDER BY num_posts DESC LIMIT 5";
    let posts = "CREATE TABLE posts
        (
            `Id` Int32 CODEC(Delta(4), ZSTD(1)),
            `PostTypeId` Enum8('Question' = 1, 'Answer' = 2, 'Wiki' = 3, 'TagWikiExcerpt' = 4, 'TagWiki' = 5,
                'ModeratorNomination' = 6, 'WikiPlaceholder' = 7, 'PrivilegeWiki' = 8),
            `AcceptedAnswerId` UInt32,
            `CreationDate` DateTime64(3, 'UTC'),
            `Score` Int32,
            `Body` String,
            `OwnerDisplayName` LowCardinality(String),
            `LastEditDate` Nullable(DateTime64(3, 'UTC')) CODEC(NONE),
            `Tags` String DEFAULT '' COMMENT 'as <a><b>'
        )
        ENGINE = MergeTree
        PARTITION BY toYear(CreationDate)
        ORDER BY (PostTypeId, toDate(CreationDate), CreationDate)
        SETTINGS index_granularity = 8192
        COMMENT 'posts'";
    for text in [
        top_users,
        &format!("{top_users} SETTINGS max_threads = 1"),
        &format!("{top_users} SETTINGS max_threads = 64, max_download_threads = 8 FORMAT Null"),
        &top_users.replace("s3('", "s3Cluster('default', '"),
        "DESCRIBE TABLE s3('https://b/posts/*.parquet')",
        "DESCRIBE TABLE s3('https://b/posts/*.parquet') SETTINGS describe_compact_output = 1",
        posts,
        "CREATE TABLE posts_null AS posts ENGINE = Null",
        "INSERT INTO posts SELECT * FROM s3('https://b/posts/*.parquet')",
        "INSERT INTO posts SELECT * FROM s3('https://b/posts/*.parquet') SETTINGS min_insert_block_size_rows = 0, \
            max_insert_threads = 4, min_insert_block_size_bytes = 2863311530, parts_to_throw_insert = 3000",
        "INSERT INTO posts SETTINGS max_insert_threads = 4 SELECT * FROM s3Cluster('default', 'https://b/*.parquet')",
        "SELECT * FROM s3('https://b/posts/*.parquet') FORMAT Null",
        "SELECT count() FROM posts WHERE CreationDate > now() - INTERVAL 1 YEAR AND PostTypeId = 'Question'",
        "SYSTEM STOP MERGES posts",
        "SYSTEM DROP UNCOMPRESSED CACHE",
        "SYSTEM CLEAR UNCOMPRESSED CACHE",
        "OPTIMIZE TABLE posts PARTITION 2020 FINAL",
        "EXPLAIN PLAN header = 1 SELECT 1",
        "EXPLAIN LOAD INSERT INTO posts SELECT * FROM s3('u')",
        "EXPLAIN ANALYZE INSERT INTO posts SELECT * FROM s3('u')",
        "SHOW PROFILELIST LIMIT 5",
        "ANALYZE PROFILE FROM 'abc'",
    ] {
        let parsed = parse_one(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        if let Statement::Query(query) = parsed.statement {
            crate::guard::guard(&query.ast).unwrap_or_else(|e| panic!("{text}: {e}"));
        }
    }
    let Statement::CreateTable(table) = parse_one(posts).unwrap().statement else { panic!() };
    let key: Vec<String> = table.order_by.unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(key, ["PostTypeId", "toDate(CreationDate)", "CreationDate"]);
    assert_eq!((table.comment.as_str(), table.settings.len(), table.partition_by.len()), ("posts", 1, 1));
}

#[test]
fn values_of_an_explained_insert_are_where_they_stand_in_the_text() {
    for (text, values) in [
        ("EXPLAIN ANALYZE INSERT INTO t VALUES (1, 'ä;'), (2, ')')", "(1, 'ä;'), (2, ')')"),
        ("  EXPLAIN ANALYZE INSERT INTO t (a)\nVALUES\n (1) ;", "(1)"),
        ("EXPLAIN ANALYZE INSERT INTO t VALUES (1) SETTINGS max_threads = 1", "(1)"),
    ] {
        let Statement::Explain(explain) = parse_one(text).unwrap().statement else { panic!("{text}") };
        let Statement::Insert(insert) = *explain.statement else { panic!("{text}") };
        let InsertSource::Values(range) = insert.source else { panic!("{text}") };
        assert_eq!(&text[range], values, "{text}");
    }
}

#[test]
fn clauses_of_create_table_come_in_any_order() {
    let shown = |text: &str| match parse_one(text).map(|p| p.statement) {
        Ok(Statement::CreateTable(t)) => {
            let key = |k: Option<Vec<sqlparser::ast::Expr>>| {
                k.map(|k| k.iter().map(|part| part.to_string().replace('`', "")).collect::<Vec<_>>())
            };
            let columns = match t.source {
                CreateSource::Columns(c) => c.iter().map(|c| c.name.clone()).collect::<Vec<_>>().join(","),
                CreateSource::Table(t) => format!("as {t}"),
                CreateSource::Select { query, empty, .. } => format!("select {} {empty}", query.ast),
            };
            format!(
                "{columns} {:?} {:?} {:?} {}",
                t.engine,
                key(t.order_by),
                key(t.primary_key),
                t.settings.len()
            )
        }
        Ok(other) => format!("{other:?}"),
        Err(e) => e.message,
    };
    let same = "a,b Some(MergeTree) Some([\"a\", \"b\"]) Some([\"a\"]) 1";
    assert_eq!(
        shown(
            "CREATE TABLE t (a UInt8, b UInt8) ENGINE MergeTree ORDER BY (a, b) PRIMARY KEY a SETTINGS x = 1"
        ),
        same
    );
    assert_eq!(
        shown(
            "CREATE TABLE t (a UInt8, b UInt8) PRIMARY KEY (a) ORDER BY (a, b) ENGINE = MergeTree() SETTINGS x = 1"
        ),
        same
    );
    assert_eq!(
        shown(
            "CREATE TABLE t (a UInt8 PRIMARY KEY, b UInt8) ENGINE = MergeTree SETTINGS x = 1 ORDER BY (a, b)"
        ),
        same
    );
    assert_eq!(
        shown("CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY tuple()"),
        "a Some(MergeTree) Some([]) None 0"
    );
    assert_eq!(shown("CREATE TABLE t AS u"), "as u None None None 0");
    assert_eq!(
        shown("CREATE TABLE t ENGINE = MergeTree ORDER BY a AS SELECT 1 AS a"),
        "select SELECT 1 AS a false Some(MergeTree) Some([\"a\"]) None 0"
    );
    assert_eq!(
        shown("CREATE TABLE t ENGINE = Memory EMPTY AS SELECT 1 AS a"),
        "select SELECT 1 AS a true Some(Memory) None None 0"
    );
    assert_eq!(
        shown("CREATE TABLE t (a UInt8, b UInt8) ENGINE = MergeTree ORDER BY (a, b) PRIMARY KEY b"),
        "PRIMARY KEY of table \"t\" must be a prefix of its ORDER BY"
    );
    assert_eq!(
        shown("CREATE TABLE t (a UInt8) ENGINE = Memory ORDER BY a"),
        "table engine Memory takes no PARTITION BY, ORDER BY, PRIMARY KEY or SAMPLE BY"
    );
}
