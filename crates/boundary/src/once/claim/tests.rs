//! What an INSERT claims: its names, and which statements have one fingerprint.

use bytes::Bytes;
use model::TableEngine;

use super::*;

fn table(engine: TableEngine, window: &str) -> TableDef {
    TableDef {
        id: TableId::from_bytes([2; 16]),
        database: DatabaseId::from_bytes([1; 16]),
        name: "t".into(),
        engine,
        engine_arguments: model::EngineArguments::default(),
        mode: model::MergeMode::Plain,
        schema_version: 1,
        columns: Vec::new(),
        next_column_id: 1,
        partition_by: Vec::new(),
        order_by: Vec::new(),
        sort_key_version: 1,
        primary_key_len: 0,
        settings: std::iter::once(("non_replicated_deduplication_window".into(), window.into())).collect(),
        kept: Vec::new(),
        constraints: Vec::new(),
        comment: "".into(),
    }
}

/// The claim of a statement under its own SETTINGS.
fn claim_of(def: &TableDef, text: &str) -> Result<Option<Claim>, Error> {
    let parsed = sql::parse_one(text).unwrap();
    let sql::Statement::Insert(insert) = &parsed.statement else { panic!("{text} is no INSERT") };
    let mut settings = Settings::session();
    settings.apply_all(&parsed.output.settings).unwrap();
    Claim::of(&settings, insert, def, "default", text)
}

fn once(text: &str) -> Once {
    claim_of(&table(TableEngine::MergeTree, "0"), text).unwrap().unwrap().once()
}

fn refusal(def: &TableDef, text: &str) -> String {
    claim_of(def, text).err().unwrap().message
}

#[test]
fn a_label_comes_from_the_clause_or_the_setting() {
    let label = |text: &str| once(text).label.unwrap().as_str().to_owned();
    assert_eq!(label("INSERT INTO t WITH LABEL l SELECT 1"), "l");
    assert_eq!(label("INSERT INTO t SELECT 1 SETTINGS insert_label = 's-1'"), "s-1");
    assert_eq!(label("INSERT INTO t WITH LABEL l SELECT 1 SETTINGS insert_label = 'l'"), "l");
    let def = table(TableEngine::MergeTree, "0");
    assert!(claim_of(&def, "INSERT INTO t SELECT 1").unwrap().is_none());
    let both = refusal(&def, "INSERT INTO t WITH LABEL l SELECT 1 SETTINGS insert_label = 'm'");
    assert_eq!(both, "the statement has label \"l\", and insert_label is \"m\"");
    assert_eq!(refusal(&def, "INSERT INTO t WITH LABEL 'a b' SELECT 1"), "\"a b\" is no label");
}

#[test]
fn engines_without_a_log_keep_no_names() {
    for (engine, name) in [(TableEngine::Memory, "Memory"), (TableEngine::Null, "Null")] {
        let refused = refusal(&table(engine, "5"), "INSERT INTO t WITH LABEL l SELECT 1");
        assert_eq!(refused, format!("table \"t\": engine {name} keeps no labels and no tokens"));
        assert!(claim_of(&table(engine, "5"), "INSERT INTO t SELECT 1").unwrap().is_none());
    }
}

#[test]
fn settings_and_layout_do_not_make_another_statement() {
    let first = once("INSERT INTO t WITH LABEL l SELECT a, b FROM s3('u', 'key', 'secret') WHERE a = 'x'")
        .fingerprint;
    for same in [
        "INSERT INTO t SETTINGS insert_label = 'm' SELECT a,b FROM s3('u', 'key', 'secret') WHERE a='x'",
        "INSERT INTO t WITH LABEL l SELECT a, /* c */ b FROM s3('u', 'key', 'secret') WHERE a = 'x' SETTINGS max_threads = 1",
        "INSERT INTO t WITH LABEL l SELECT a, b FROM s3('u', 'other', 'renewed') WHERE a = 'x'",
    ] {
        assert_eq!(once(same).fingerprint, first, "{same}");
    }
    for other in [
        "INSERT INTO t WITH LABEL l SELECT a, b FROM s3('v', 'key', 'secret') WHERE a = 'x'",
        "INSERT INTO t WITH LABEL l SELECT a, b FROM s3('u', 'key', 'secret') WHERE a = 'y'",
        "INSERT INTO t (a, b) WITH LABEL l SELECT a, b FROM s3('u', 'key', 'secret') WHERE a = 'x'",
    ] {
        assert_ne!(once(other).fingerprint, first, "{other}");
    }
}

#[test]
fn every_argument_of_a_source_but_its_credentials_is_part_of_the_statement() {
    let of = |call: &str| once(&format!("INSERT INTO t WITH LABEL l SELECT * FROM {call}")).fingerprint;
    let jan = of("s3(format='CSV', structure='a Int8', url='http://h/b/jan.csv')");
    assert_ne!(jan, of("s3(format='CSV', structure='a Int8', url='http://h/b/feb.csv')"));
    assert_ne!(jan, of("s3(format='CSV', structure='a Int16', url='http://h/b/jan.csv')"));
    let keys = |id: &str| of(&format!("s3(secret_access_key='{id}', access_key_id='{id}', url='u')"));
    assert_eq!(keys("a"), keys("b"));
    let path = |path: &str| of(&format!(r"s3('u', 'k', 's') WHERE _path = '{path}' AND _file = 'x'"));
    assert_ne!(path(r"a\\"), path(r"a\\\\"));
    let key = |key: &str| of(&format!(r"s3('C:\\', '{key}', 's')"));
    assert_eq!(key("a"), key("b"));
}

#[test]
fn settings_that_decide_rows_are_part_of_the_statement() {
    let of = |text: &str, settings: &str| {
        once(&format!("INSERT INTO t SETTINGS insert_label = 'l'{settings} {text}"))
    };
    for text in ["VALUES ('2020-01-01 00:00:00')", "SELECT * FROM file('a.csv')", "FORMAT CSV\n1\n"] {
        let first = of(text, "").fingerprint;
        assert_eq!(of(text, ", max_threads = 3, session_timezone = ''").fingerprint, first, "{text}");
        assert_ne!(of(text, ", session_timezone = 'Asia/Tokyo'").fingerprint, first, "{text}");
        assert_ne!(of(text, ", format_csv_delimiter = ';'").fingerprint, first, "{text}");
    }
}

#[test]
fn values_with_subqueries_depend_on_the_current_database() {
    let of = |database: &str, values: &str| {
        let text = format!("INSERT INTO t WITH LABEL l VALUES {values}");
        let parsed = sql::parse_one(&text).unwrap();
        let sql::Statement::Insert(insert) = &parsed.statement else { panic!("{text} is no INSERT") };
        let def = table(TableEngine::MergeTree, "0");
        let claim = Claim::of(&Settings::session(), insert, &def, database, &text).unwrap().unwrap();
        claim.once().fingerprint
    };
    assert_eq!(of("a", "(1, 'select')"), of("b", "(1, 'select')"));
    assert_ne!(of("a", "((SELECT max(x) FROM u))"), of("b", "((SELECT max(x) FROM u))"));
}

#[test]
fn literals_are_part_of_the_statement() {
    let values = |values: &str| once(&format!("INSERT INTO t WITH LABEL l VALUES {values}")).fingerprint;
    assert_eq!(values("(1, 'a')"), values("( 1,'a' )"));
    assert_ne!(values("(1, 'a')"), values("(1, 'b')"));
    let csv = |data: &str| once(&format!("INSERT INTO t WITH LABEL l FORMAT CSV\n{data}")).fingerprint;
    assert_ne!(csv("1,2\n"), csv("1,3\n"));
}

#[tokio::test]
async fn a_body_is_hashed_as_it_passes() {
    async fn of(chunks: &'static [&'static str]) -> u128 {
        let def = table(TableEngine::MergeTree, "0");
        let claim = Arc::new(claim_of(&def, "INSERT INTO t WITH LABEL l FORMAT CSV").unwrap().unwrap());
        assert!(claim.takes_body);
        let body = futures::stream::iter(chunks.iter().map(|chunk| Ok(Bytes::from_static(chunk.as_bytes()))));
        let passed = claim.watch(body.boxed()).count().await;
        assert_eq!(passed, chunks.len());
        claim.once().fingerprint
    }
    assert_eq!(of(&["1,2\n3,4\n"]).await, of(&["1,2", "\n3", ",4\n"]).await);
    assert_ne!(of(&["1,2\n3,4\n"]).await, of(&["1,2\n"]).await);
}

#[test]
fn deduplicate_insert_wins_over_insert_deduplicate_when_it_is_given() {
    let (remembers, forgets) = (table(TableEngine::MergeTree, "5"), table(TableEngine::MergeTree, "0"));
    for (settings, compares) in [
        ("", true),
        ("insert_deduplicate = 0", false),
        ("insert_deduplicate = 0, deduplicate_insert = 'enable'", true),
        ("insert_deduplicate = 1, deduplicate_insert = 'disable'", false),
        ("insert_deduplicate = 0, deduplicate_insert = 'backward_compatible_choice'", false),
        ("deduplicate_insert_select = 'disable'", false),
    ] {
        let with = |more: &str| {
            let all: Vec<&str> = [settings, more].into_iter().filter(|part| !part.is_empty()).collect();
            if all.is_empty() { String::new() } else { format!(" SETTINGS {}", all.join(", ")) }
        };
        let by_rows = claim_of(&remembers, &format!("INSERT INTO t SELECT 1{}", with(""))).unwrap();
        assert_eq!(by_rows.is_some_and(|claim| claim.by_rows), compares, "{settings}");
        let token = with("insert_deduplication_token = 'x'");
        let named = claim_of(&forgets, &format!("INSERT INTO t SELECT 1{token}")).unwrap();
        assert_eq!(named.is_some_and(|claim| claim.once().token_text.is_some()), compares, "{settings}");
    }
    let values = "INSERT INTO t SETTINGS deduplicate_insert_select = 'disable' VALUES (1)";
    assert!(claim_of(&remembers, values).unwrap().is_some(), "VALUES is no SELECT");
}

#[test]
fn a_name_replaces_the_comparison_of_rows() {
    let def = table(TableEngine::MergeTree, "5");
    for text in [
        "INSERT INTO t WITH LABEL l SELECT 1",
        "INSERT INTO t SELECT 1 SETTINGS insert_deduplication_token = 'x'",
    ] {
        assert!(!claim_of(&def, text).unwrap().unwrap().by_rows, "{text}");
    }
    let unnamed = claim_of(&def, "INSERT INTO t SELECT 1").unwrap().unwrap().once();
    assert_eq!((unnamed.label, unnamed.token), (None, None), "no rows have passed");
}
