//! ALTER TABLE on one definition, as a table of cases: the commands, and the columns after them or the error's code.

use sql::Statement;

use super::*;

fn def() -> TableDef {
    let text = [
        ("a", 1, "UInt32"),
        ("b", 2, "String"),
        ("c", 3, "Int64"),
        ("e", 4, "Enum8('x' = 1)"),
        ("n", 5, "Nullable(UInt8)"),
    ];
    let column = |(name, id, type_name): &(&str, u32, &str)| ColumnDef {
        id: ColumnId(*id),
        name: (*name).into(),
        column_type: model::type_name::parse(type_name).unwrap(),
        default: (*name == "c").then(|| (DefaultKind::Default, "`#1` + 1".into())),
        comment: "".into(),
        codec: None,
        combined_by: None,
    };
    TableDef {
        id: model::TableId::from_bytes([1; 16]),
        database: model::DatabaseId::from_bytes([2; 16]),
        name: "t".into(),
        engine: TableEngine::MergeTree,
        engine_arguments: model::EngineArguments::default(),
        mode: MergeMode::Plain,
        schema_version: 7,
        columns: text.iter().map(column).collect(),
        next_column_id: 6,
        partition_by: vec!["`#4`".into()],
        order_by: vec!["intDiv(`#2`, 2)".into()],
        sort_key_version: 1,
        primary_key_len: 1,
        settings: model::TableSettings::new(),
        kept: vec![KeptClause { keyword: "INDEX".into(), text: "i n TYPE minmax".into() }],
        constraints: vec![],
        comment: "".into(),
    }
}

fn parsed(commands: &str) -> Alter {
    match sql::parse_one(&format!("ALTER TABLE t {commands}")).unwrap().statement {
        Statement::Alter(alter) => *alter,
        other => panic!("{other:?}"),
    }
}

/// `id name type [kind expression]` of each column.
fn shown(def: &TableDef) -> String {
    let column = |column: &ColumnDef| {
        let default =
            column.default.as_ref().map_or_else(String::new, |(kind, text)| format!(" {kind:?} {text}"));
        format!("{} {} {}{default}", column.id.0, column.name, column.column_type)
    };
    def.columns.iter().map(column).collect::<Vec<_>>().join(", ")
}

#[test]
fn commands_change_the_columns_or_are_refused_with_the_code_of_clickhouse() {
    const REST: &str = "3 c Int64 Default `#1` + 1, 4 e Enum8('x' = 1), 5 n Nullable(UInt8)";
    let cases: &[(&str, &str)] = &[
        ("ADD COLUMN d UInt8", "1 a UInt32, 2 b String, {REST}, 6 d UInt8"),
        (
            "ADD COLUMN d UInt8 DEFAULT a * 2 FIRST",
            "6 d UInt8 Default `#1` * 2, 1 a UInt32, 2 b String, {REST}",
        ),
        ("ADD COLUMN d UInt8 AFTER a", "1 a UInt32, 6 d UInt8, 2 b String, {REST}"),
        ("ADD COLUMN d UInt8, DROP COLUMN d, ADD COLUMN d Int8", "1 a UInt32, 2 b String, {REST}, 7 d Int8"),
        ("RENAME COLUMN b TO bb", "1 a UInt32, 2 bb String, {REST}"),
        ("RENAME COLUMN a TO z, RENAME COLUMN b TO a", "1 z UInt32, 2 a String, {REST}"),
        ("MODIFY COLUMN a UInt64 COMMENT 'x'", "1 a UInt64, 2 b String, {REST}"),
        ("MODIFY COLUMN a DEFAULT 5", "1 a UInt32 Default 5, 2 b String, {REST}"),
        ("ALTER COLUMN a TYPE Int8", "1 a Int8, 2 b String, {REST}"),
        (
            "MODIFY COLUMN e Enum8('x' = 1, 'y' = 2)",
            "1 a UInt32, 2 b String, 3 c Int64 Default `#1` + 1, 4 e Enum8('x' = 1, 'y' = 2), 5 n Nullable(UInt8)",
        ),
        (
            "MODIFY COLUMN c REMOVE DEFAULT, DROP COLUMN a",
            "2 b String, 3 c Int64, 4 e Enum8('x' = 1), 5 n Nullable(UInt8)",
        ),
        ("ADD COLUMN IF NOT EXISTS a Int8, DROP COLUMN IF EXISTS zz", "nothing"),
        ("MODIFY COLUMN IF EXISTS zz Int8, RENAME COLUMN IF EXISTS zz TO y", "nothing"),
        ("ADD COLUMN a UInt8", "15"),
        ("ADD COLUMN d UInt8 AFTER zz", "16"),
        ("ADD COLUMN d UInt8 DEFAULT zz", "47"),
        ("DROP COLUMN zz", "10"),
        ("DROP COLUMN a", "44"),
        ("DROP COLUMN b", "524"),
        ("DROP COLUMN e", "524"),
        ("DROP COLUMN n", "47"),
        ("RENAME COLUMN a TO b", "15"),
        ("RENAME COLUMN zz TO y", "10"),
        ("MODIFY COLUMN b LowCardinality(String)", "524"),
        ("MODIFY COLUMN e Enum8('y' = 1)", "524"),
        ("MODIFY COLUMN n UInt8", "36"),
        ("MODIFY COLUMN b ALIAS 1", "524"),
        ("MODIFY COLUMN a REMOVE DEFAULT", "36"),
        ("MODIFY SETTING nosuch = 1", "115"),
    ];
    for (commands, expected) in cases {
        let found = match altered(&def(), &parsed(commands)) {
            Ok(None) => "nothing".to_owned(),
            Ok(Some(next)) => {
                assert_eq!(next.schema_version, 8, "{commands}");
                shown(&next)
            }
            Err(error) => error.code.to_string(),
        };
        assert_eq!(found, expected.replace("{REST}", REST), "{commands}");
    }
}

#[test]
fn constraints_that_were_kept_as_text_become_constraints() {
    let mut old = def();
    let clause = |text: &str| KeptClause { keyword: "CONSTRAINT".into(), text: text.into() };
    old.kept = vec![clause("few CHECK a < 5"), clause("odd CHECK ((("), clause("b ASSUME b = 'x'")];
    assert_eq!(altered(&old, &parsed("DROP COLUMN IF EXISTS zz")).unwrap(), None);
    let next = altered(&old, &parsed("RENAME COLUMN a TO z")).unwrap().unwrap();
    let texts: Vec<&str> = next.constraints.iter().map(|known| known.expression.as_ref()).collect();
    assert_eq!(texts, ["`#1` < 5", "`#2` = 'x'"]);
    assert_eq!(next.kept.len(), 1, "what cannot be read stays");
    let next = altered(&next, &parsed("DROP CONSTRAINT odd, DROP CONSTRAINT few")).unwrap().unwrap();
    assert_eq!((next.kept.len(), next.constraints.len()), (0, 1));
    let needed = altered(&next, &parsed("DROP CONSTRAINT few")).unwrap_err();
    assert_eq!(needed.code.number(), 36);
}
