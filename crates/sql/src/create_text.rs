//! SHOW CREATE TABLE and SHOW CREATE VIEW: a definition as the statement that makes it, as ClickHouse prints it.
//!
//! Invariant: what is printed is a statement that is read again; secrets are masked by who calls. Must not know: what is
//! stored, and how.

use model::{
    ColumnDef, ColumnType, ConstraintDef, ConstraintKind, DETACHED_PARTS, DefaultKind, KeptClause, TableDef,
    TableEngine,
};
use sqlparser::ast::{OrderByExpr, OrderByKind};

use crate::definition::dictionary::{dictionary_of_text, write as write_dictionary};
use crate::grammar::kept::{index, projection};
use crate::grammar::ttl::{formatted, items};
use crate::key_text::{WRITTEN, is_partitioned, key_text, primary_of};
use crate::parameters::has_parameters;
use crate::parser::{measured_query, parse_expression, parse_one};
use crate::printer::formatted::{
    Layout, Page, formatted_expression, formatted_query, write_keys, write_query,
};
use crate::reader::head::Head;
use crate::reader::keys::{ORDER_BY, PARTITION_BY, PRIMARY_KEY};
use crate::reader::tokens::tokenize;
use crate::statement::Statement;
use crate::statement::dictionary::Dictionary;
use crate::table_text::{COLUMN_TTL, column_ttl, display_expression};
use lexer::codec_text::shown_codec;
use lexer::error::Result;
use lexer::escape::{always_quote_name, quote_name, quote_text};

/// The statement that makes this table. `engine` is the engine with its arguments, secrets masked by who knows which
/// they are: the definition's own are never printed here. Of a view it is the SELECT.
pub fn show_create_table(def: &TableDef, database: &str, engine: &str, layout: Layout) -> String {
    let name = format!("{}.{}", quote_name(database), quote_name(&def.name));
    let what = match def.engine {
        TableEngine::View => format!("VIEW {name}"),
        TableEngine::MaterializedView => {
            let target = def.kept_text(VIEW_TO).and_then(|text| text.split_once(NAME_DIVIDER));
            let (database, table) = target.unwrap_or_default();
            let to = format!("TO {}.{}", quote_name(database), quote_name(table));
            match def.kept_text(VIEW_REFRESH) {
                Some(refresh) => {
                    let line = if layout == Layout::ON_ONE_LINE { ' ' } else { '\n' };
                    format!("MATERIALIZED VIEW {name}{line}REFRESH {refresh} {to}")
                }
                None => format!("MATERIALIZED VIEW {name} {to}"),
            }
        }
        _ => format!("TABLE {name}"),
    };
    if let Some(dictionary) = dictionary_of(def) {
        return create_dictionary(def, &name, &dictionary, layout);
    }
    create_text(def, &what, engine, layout)
}

fn dictionary_of(def: &TableDef) -> Option<Dictionary> {
    (def.engine == TableEngine::Dictionary).then(|| dictionary_of_text(def.engine_arguments.text()).ok())?
}

fn create_dictionary(def: &TableDef, name: &str, dictionary: &Dictionary, layout: Layout) -> String {
    let mut page = Page::new(layout);
    page.push(&format!("CREATE DICTIONARY {name}"));
    page.line();
    write_dictionary(&mut page, dictionary);
    if !def.comment.is_empty() {
        page.line();
        page.push(&format!("COMMENT {}", quote_text(&def.comment)));
    }
    page.finished()
}

/// The same of a temporary table, which is in no database.
pub fn show_create_temporary_table(def: &TableDef, engine: &str, layout: Layout) -> String {
    create_text(def, &format!("TEMPORARY TABLE {}", quote_name(&def.name)), engine, layout)
}

/// The engine and the clauses that belong to it, on one line: ClickHouse's `engine_full`. A view has none.
pub fn storage_text(def: &TableDef, engine: &str) -> String {
    let mut page = Page::new(Layout::ON_ONE_LINE);
    if !is_view(def) && dictionary_of(def).is_none() {
        storage(&mut page, def, engine);
    }
    page.finished()
}

/// `system.tables.sampling_key`.
pub fn sampling_key(def: &TableDef) -> String {
    let clause = def.kept.iter().find(|clause| *clause.keyword == *"SAMPLE BY");
    clause.map(shown_clause).unwrap_or_default()
}

/// The SELECT of a view; text that cannot be read is shown as it is.
pub fn shown_select(select: &str, layout: Layout) -> String {
    let Ok(parsed) = parse_one(select) else { return select.to_owned() };
    match &parsed.statement {
        Statement::Query(query) => parsed.measure.run(|| formatted_query(query, layout)),
        _ => select.to_owned(),
    }
}

fn create_text(def: &TableDef, what: &str, engine: &str, layout: Layout) -> String {
    let is_view = is_view(def);
    let mut page = Page::new(layout);
    page.push(&format!("CREATE {what}"));
    if !is_view || !asks_for_parameters(engine) {
        page.line();
        elements(&mut page, def);
    }
    let comment = |page: &mut Page| {
        if !def.comment.is_empty() {
            page.line();
            page.push(&format!("COMMENT {}", quote_text(&def.comment)));
        }
    };
    if is_view {
        comment(&mut page);
        page.line();
        page.push("AS ");
        page.push(&shown_select(engine, layout));
    } else {
        page.line();
        page.push("ENGINE = ");
        storage(&mut page, def, engine);
        comment(&mut page);
    }
    page.finished()
}

/// The clauses by which a materialized view remembers the table whose INSERTs it sees, and the one its rows go to.
pub const VIEW_FROM: &str = "FROM";
pub const VIEW_TO: &str = "TO";
/// The id of the table it fills, where that is its own.
pub const VIEW_OWN: &str = "OWN";
/// Of a view that is refreshed: its clause, and what is known of its last run.
pub const VIEW_REFRESH: &str = "REFRESH";
pub const VIEW_RUN: &str = "RUN";
/// Stands between the names of a database and of its table there.
pub const NAME_DIVIDER: char = '\u{1}';

fn is_view(def: &TableDef) -> bool {
    matches!(def.engine, TableEngine::View | TableEngine::MaterializedView)
}

/// The columns of a view with parameters are known when it is called.
fn asks_for_parameters(select: &str) -> bool {
    measured_query(select).is_ok_and(|(query, measure)| measure.run(|| has_parameters(&query)))
}

/// `(`, an element a line, `)`.
fn elements(page: &mut Page, def: &TableDef) {
    page.push("(");
    page.inside(|page| {
        page.edge();
        let mut rest = false;
        let mut next = |page: &mut Page| {
            if std::mem::replace(&mut rest, true) {
                page.push(",");
                page.line();
            }
        };
        for one in &def.columns {
            next(page);
            column(page, one, def);
        }
        let of = |keyword: &'static str| def.kept.iter().filter(move |clause| *clause.keyword == *keyword);
        for clause in of("INDEX") {
            next(page);
            page.push("INDEX ");
            page.push(&index_text(&clause.text).unwrap_or_else(|_| clause.text.to_string()));
        }
        for clause in of("CONSTRAINT") {
            next(page);
            page.push(&format!("CONSTRAINT {}", clause.text));
        }
        for one in &def.constraints {
            next(page);
            page.push(&constraint(one, def));
        }
        for clause in of("PROJECTION") {
            next(page);
            page.push("PROJECTION ");
            projection_text(page, &clause.text);
        }
    });
    page.edge();
    page.push(")");
}

fn column(page: &mut Page, column: &ColumnDef, def: &TableDef) {
    page.push(&always_quote_name(&column.name));
    page.push(" ");
    match column.combined_by.is_some() {
        true => page.push(&column.declared_type()),
        false => type_text(page, &column.column_type),
    }
    if let Some((kind, expression)) = &column.default {
        let word = match kind {
            DefaultKind::Default => "DEFAULT",
            DefaultKind::Materialized => "MATERIALIZED",
            DefaultKind::Alias => "ALIAS",
            DefaultKind::Ephemeral => "EPHEMERAL",
        };
        let shown = display_expression(expression, def);
        match kind {
            // What stands for an EPHEMERAL without an expression.
            DefaultKind::Ephemeral if shown.starts_with("defaultValueOfTypeName(") => page.push(" EPHEMERAL"),
            _ => page.push(&format!(" {word} {shown}")),
        }
    }
    if !column.comment.is_empty() {
        page.push(&format!(" COMMENT {}", quote_text(&column.comment)));
    }
    if let Some(codec) = &column.codec {
        page.push(&format!(" CODEC({})", shown_codec(codec, &column.column_type)));
    }
    if let Some(ttl) = column_ttl(column, def) {
        page.push(&format!(" TTL {ttl}"));
    }
}

/// A tuple of several has an element a line, a step deeper.
fn type_text(page: &mut Page, column_type: &ColumnType) {
    let around = |page: &mut Page, word: &str, inner: &ColumnType| {
        page.push(word);
        page.push("(");
        type_text(page, inner);
        page.push(")");
    };
    match column_type {
        ColumnType::Nullable(inner) => around(page, "Nullable", inner),
        ColumnType::Array(inner) => around(page, "Array", inner),
        ColumnType::Map(key, value) => {
            page.push(&format!("Map({key}, "));
            type_text(page, value);
            page.push(")");
        }
        ColumnType::Tuple(elements) if elements.len() > 1 => {
            page.push("Tuple(");
            page.inside(|page| {
                for (at, element) in elements.iter().enumerate() {
                    if at > 0 {
                        page.push(",");
                        page.line();
                    } else {
                        page.edge();
                    }
                    if let Some(name) = &element.name {
                        page.push(&format!("{} ", quote_name(name)));
                    }
                    type_text(page, &element.column_type);
                }
            });
            page.push(")");
        }
        other => page.push(&other.to_string()),
    }
}

fn constraint(constraint: &ConstraintDef, def: &TableDef) -> String {
    let word = match constraint.kind {
        ConstraintKind::Check => "CHECK",
        ConstraintKind::Assume => "ASSUME",
    };
    let shown = display_expression(&constraint.expression, def);
    format!("CONSTRAINT {} {word} {shown}", quote_name(&constraint.name))
}

fn read<T>(text: &str, grammar: impl FnOnce(&mut Head<'_>) -> Result<T>) -> Result<T> {
    let mut head = Head::new(text, 0, tokenize(text)?)?;
    let measure = head.measure;
    measure.run(|| {
        let read = grammar(&mut head)?;
        head.expect_end()?;
        Ok(read)
    })
}

fn index_text(kept: &str) -> Result<String> {
    let index = read(kept, index)?;
    let (name, expression) = (quote_name(&index.name), formatted_expression(&index.expression));
    Ok(format!("{name} {expression} TYPE {} GRANULARITY {}", index.index_type, index.granularity))
}

/// `name`, and the SELECT on lines of its own.
fn projection_text(page: &mut Page, kept: &str) {
    let Ok(projection) = read(kept, projection) else { return page.push(kept) };
    page.name(&projection.name);
    page.line();
    page.push("(");
    page.inside(|page| {
        page.edge();
        projection_query(page, &projection.query);
    });
    page.edge();
    page.push(")");
}

/// The ORDER BY of a projection is a list of expressions. Text that cannot be read is shown as it is.
fn projection_query(page: &mut Page, query: &str) {
    let Ok((mut parsed, measure)) = measured_query(query) else { return page.push(query) };
    let keys: Vec<OrderByExpr> = match parsed.order_by.take().map(|order| order.kind) {
        Some(OrderByKind::Expressions(keys)) => keys,
        _ => vec![],
    };
    measure.run(|| write_query(page, &parsed));
    if !keys.is_empty() {
        page.line();
        page.push("ORDER BY");
        write_keys(page, keys.iter().map(|key| &key.expr));
    }
}

/// The SELECT of a projection on one line.
pub fn shown_projection(query: &str) -> String {
    let mut page = Page::new(Layout::ON_ONE_LINE);
    projection_query(&mut page, query);
    page.finished()
}

fn is_element(clause: &KeptClause) -> bool {
    matches!(clause.keyword.as_ref(), "INDEX" | "PROJECTION" | "CONSTRAINT" | COLUMN_TTL)
}

fn is_shown_behind_keys(clause: &KeptClause) -> bool {
    let is_hidden = [WRITTEN_PRIMARY_KEY, DETACHED_PARTS].contains(&clause.keyword.as_ref());
    !is_element(clause) && !is_hidden && !clause.keyword.starts_with(WRITTEN)
}

/// The keyword of a clause without text: PRIMARY KEY was written, and is shown where it is all of ORDER BY.
pub const WRITTEN_PRIMARY_KEY: &str = PRIMARY_KEY;

/// What ClickHouse shows of a table that has no such setting of its own.
const GRANULARITY: (&str, &str) = ("index_granularity", "8192");

fn storage(page: &mut Page, def: &TableDef, engine: &str) {
    let is_bare = !engine.contains('(');
    page.push(&if is_bare { quote_name(engine) } else { engine.to_owned() });
    let is_merge_tree = def.engine == TableEngine::MergeTree;
    if def.is_in_old_syntax() {
        // Its arguments say all that the clauses would.
        return;
    }
    let mut clause = |text: String| {
        page.line();
        page.push(&text);
    };
    if is_partitioned(def) {
        clause(format!("PARTITION BY {}", key_text(PARTITION_BY, &def.partition_by, def)));
    }
    if is_merge_tree {
        let primary = primary_of(def);
        if primary.len() < def.order_by.len() || def.kept_text(WRITTEN_PRIMARY_KEY).is_some() {
            clause(format!("PRIMARY KEY {}", key_text(PRIMARY_KEY, primary, def)));
        }
        clause(format!("ORDER BY {}", key_text(ORDER_BY, &def.order_by, def)));
    }
    for kept in def.kept.iter().filter(|clause| is_shown_behind_keys(clause)) {
        clause(format!("{} {}", kept.keyword, shown_clause(kept)));
    }
    let mut settings: Vec<String> =
        def.settings.iter().map(|(name, value)| format!("{name} = {}", shown_setting(value))).collect();
    if is_merge_tree && def.settings.get(GRANULARITY.0).is_none() {
        settings.push(format!("{} = {}", GRANULARITY.0, GRANULARITY.1));
    }
    if !settings.is_empty() {
        clause(format!("SETTINGS {}", settings.join(", ")));
    }
}

/// A number or a word of truth as it is, others in quotes.
fn shown_setting(value: &str) -> String {
    let is_bare = value.parse::<f64>().is_ok() || ["true", "false"].contains(&value);
    if is_bare { value.to_owned() } else { quote_text(value) }
}

/// SAMPLE BY and TTL are kept as they were written; what cannot be read is shown so.
fn shown_clause(clause: &KeptClause) -> String {
    let shown = match clause.keyword.as_ref() {
        "TTL" => ttl_text(&clause.text).ok(),
        _ => parse_expression(&clause.text).ok().map(|expression| formatted_expression(&expression)),
    };
    shown.unwrap_or_else(|| clause.text.to_string())
}

/// The TTL of a table as ClickHouse prints it.
///
/// # Errors
/// It is none.
fn ttl_text(kept: &str) -> Result<String> {
    read(kept, items).map(|items| formatted(&items))
}

#[cfg(test)]
mod tests {
    use model::{DatabaseId, TableId};

    use super::*;
    use crate::table_text::stored_expr;

    fn def() -> TableDef {
        let columns = [(1, "Id", "Int32"), (2, "Creation Date", "DateTime64(3, 'UTC')")]
            .map(|(id, name, kind)| ColumnDef::plain(id, name, model::type_name::parse(kind).unwrap()));
        TableDef {
            partition_by: vec!["toYear(`#2`)".into()],
            order_by: vec!["toDate(`#2`)".into(), "`#1`".into()],
            primary_key_len: 1,
            ..TableDef::plain(TableId::from_bytes([1; 16]), "posts", TableEngine::MergeTree, columns.into())
        }
    }

    #[test]
    fn a_definition_prints_as_clickhouse_prints_it() {
        let text = show_create_table(&def(), "default", "MergeTree", Layout::default());
        assert_eq!(
            text,
            "CREATE TABLE default.posts\n(\n    `Id` Int32,\n    `Creation Date` DateTime64(3, 'UTC')\n)\n\
             ENGINE = MergeTree\nPARTITION BY toYear(`Creation Date`)\nPRIMARY KEY toDate(`Creation Date`)\n\
             ORDER BY (toDate(`Creation Date`), Id)\nSETTINGS index_granularity = 8192"
        );
        assert_eq!(
            show_create_table(&def(), "a b", "MergeTree", Layout::ON_ONE_LINE),
            "CREATE TABLE `a b`.posts (`Id` Int32, `Creation Date` DateTime64(3, 'UTC')) ENGINE = MergeTree \
             PARTITION BY toYear(`Creation Date`) PRIMARY KEY toDate(`Creation Date`) \
             ORDER BY (toDate(`Creation Date`), Id) SETTINGS index_granularity = 8192"
        );
    }

    #[test]
    fn kept_clauses_are_printed_as_clickhouse_prints_them() {
        let mut def = def();
        let kept = |keyword: &str, text: &str| KeptClause { keyword: keyword.into(), text: text.into() };
        def.kept = vec![
            kept("PROJECTION", "p (select Id, count() group by Id order by Id)"),
            kept("INDEX", "i `Id`*2 TYPE minmax GRANULARITY 1"),
            kept(
                "TTL",
                "d + interval 1 month delete, d+1 to disk 'x', d where Id=1, d recompress codec(ZSTD(3))",
            ),
        ];
        let check = parse_expression("Id>1 and Id between 2 and 3").unwrap();
        def.constraints = vec![ConstraintDef {
            name: "c".into(),
            kind: ConstraintKind::Check,
            expression: stored_expr(&check, &def.columns).unwrap().into(),
        }];
        let text = show_create_table(&def, "default", "MergeTree", Layout::default());
        assert!(
            text.contains(
                "    INDEX i Id * 2 TYPE minmax GRANULARITY 1,\n    CONSTRAINT c CHECK (Id > 1) AND ((Id >= 2) AND \
                 (Id <= 3)),\n    PROJECTION p\n    (\n        SELECT\n            Id,\n            count()\n        \
                 GROUP BY Id\n        ORDER BY Id\n    )\n)\n"
            ),
            "{text}"
        );
        assert!(
            text.contains(
                "TTL d + toIntervalMonth(1), d + 1 TO DISK 'x', d WHERE Id = 1, d RECOMPRESS CODEC(ZSTD(3))\n"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_view_shows_its_select_as_it_was_read() {
        let columns = vec![ColumnDef::plain(1, "x", ColumnType::UInt8)];
        let mut view = TableDef::plain(TableId::from_bytes([1; 16]), "v", TableEngine::View, columns);
        view.database = DatabaseId::from_bytes([2; 16]);
        view.comment = "it's".into();
        let shown = |select: &str, layout| show_create_table(&view, "d", select, layout);
        assert_eq!(
            shown("SELECT a+1 AS x FROM t WHERE a IN (SELECT 1) SETTINGS max_threads = 1", Layout::default()),
            "CREATE VIEW d.v\n(\n    `x` UInt8\n)\nCOMMENT 'it\\'s'\nAS SELECT a + 1 AS x\nFROM t\nWHERE a IN (\n    \
             SELECT 1\n)\nSETTINGS max_threads = 1"
        );
        assert_eq!(
            shown("SELECT {p:UInt8} AS x", Layout::ON_ONE_LINE),
            "CREATE VIEW d.v COMMENT 'it\\'s' AS SELECT {p:UInt8} AS x"
        );
    }
}
