//! CREATE DATABASE and CREATE TABLE; the clauses behind the columns come in any order.

use model::{EngineArguments, ErrorCode, TableEngine};
use sqlparser::ast::Expr;
use sqlparser::tokenizer::Token;

use crate::grammar::column::{TableElements, elements};
use crate::grammar::{collection, dictionary, engine, function, kept, query, ttl, view};
use crate::reader::head::Head;
use crate::reader::keys::{ORDER_BY, PARTITION_BY, PRIMARY_KEY, key_of, written};
use crate::statement::{Alter, CreateSource, CreateTable, Materialized, Statement, TableName};
use lexer::error::{Result, SqlError};

/// Behind CREATE.
pub(crate) fn create(head: &mut Head<'_>) -> Result<Statement> {
    let or_replace = head.words(&["OR", "REPLACE"]);
    if head.word("DATABASE") || head.word("SCHEMA") {
        return database(head);
    }
    if head.peek_word("NAMED") && !or_replace {
        return collection::create(head);
    }
    let temporary = head.word("TEMPORARY");
    if temporary && !head.peek_word("TABLE") {
        return Err(head.refuse("CREATE TEMPORARY of anything but TABLE"));
    }
    for refused in ["LIVE", "WINDOW", "USER", "ROLE", "ROW", "QUOTA", "SETTINGS", "WORKLOAD", "RESOURCE"] {
        if head.peek_word(refused) {
            return Err(head.refuse(&format!("CREATE {refused}")));
        }
    }
    if head.word("DICTIONARY") {
        return dictionary::create(head, or_replace);
    }
    if head.words(&["MATERIALIZED", "VIEW"]) {
        return view::create(head, or_replace, Some(own_table));
    }
    if head.word("VIEW") {
        return view::create(head, or_replace, None);
    }
    if head.words(&["UNIQUE", "INDEX"]) {
        return Err(head.refuse("CREATE UNIQUE INDEX"));
    }
    if head.word("INDEX") {
        let (table, command) = kept::create_index(head)?;
        return Ok(Statement::Alter(Box::new(Alter { table, commands: vec![command], rows: None })));
    }
    if head.word("FUNCTION") {
        return function::create(head, or_replace);
    }
    head.expect_word("TABLE")?;
    table(head, or_replace, temporary)
}

fn database(head: &mut Head<'_>) -> Result<Statement> {
    let if_not_exists = head.if_not_exists();
    let name = head.name("a database name")?;
    head.on_cluster()?;
    if head.word("ENGINE") {
        head.symbol(&Token::Eq);
        let engine = head.name("a database engine")?;
        if !["Atomic", "Ordinary", "Memory"].contains(&engine.as_str()) {
            return Err(SqlError::not_implemented(format!("database engine \"{engine}\"")));
        }
        engine::no_arguments(head)?;
        head.warnings.push("ENGINE of a database has no effect: every database is transactional".to_owned());
    }
    let comment = if head.word("COMMENT") { head.text("a comment")? } else { String::new() };
    Ok(Statement::CreateDatabase { name, if_not_exists, comment })
}

fn table(head: &mut Head<'_>, or_replace: bool, temporary: bool) -> Result<Statement> {
    let if_not_exists = head.if_not_exists();
    let name = head.table_name()?;
    if temporary && name.database.is_some() {
        let message =
            format!("temporary table \"{name}\" belongs to the session: name it without a database");
        return Err(SqlError::new(ErrorCode::BAD_DATABASE_FOR_TEMPORARY_TABLE, message));
    }
    if head.word("UUID") {
        return Err(head.refuse("UUID of CREATE TABLE"));
    }
    head.on_cluster()?;
    let mut table = CreateTable { temporary, if_not_exists, or_replace, ..blank(name) };
    let mut written = None;
    if *head.token() == Token::LParen && !query::starts(head) {
        let TableElements { columns, kept, constraints, primary_key, .. } = elements(head)?;
        (table.kept, table.constraints) = (kept, constraints);
        (table.primary_key, written) = (primary_key, Some(columns));
    }
    let mut source = None;
    while !head.at_end() {
        if !clause(head, &mut table)? {
            table.clones = head.word("CLONE");
            let read = self::source(head, written.take().unwrap_or_default())?;
            if table.clones && !matches!(read, CreateSource::Table(_)) {
                return Err(head.expected("a table behind CLONE AS"));
            }
            source = Some(read);
        }
    }
    table.source = match (source, written) {
        (Some(source), _) => source,
        (None, Some(columns)) => CreateSource::Columns(columns),
        // The columns are those of the files.
        (None, None) if table.engine.is_some_and(|engine| engine.is_external() || engine.is_query()) => {
            CreateSource::Columns(vec![])
        }
        (None, None) => return Err(head.expected("columns or AS")),
    };
    finished(table).map(|table| Statement::CreateTable(Box::new(table)))
}

/// The engine and the keys of a table of the view's own.
fn own_table(head: &mut Head<'_>, view: &TableName) -> Result<Materialized> {
    let name = TableName { database: view.database.clone(), table: format!(".inner.{}", view.table) };
    let mut table = blank(name);
    let mut populate = false;
    while !head.peek_word("AS") && !head.peek_word("COMMENT") {
        if head.word("POPULATE") {
            populate = true;
        } else if !clause(head, &mut table)? {
            break;
        }
    }
    if table.engine.is_none() && table.order_by.is_none() && table.primary_key.is_none() {
        return Err(head.expected("TO or ENGINE"));
    }
    Ok(Materialized::Own { table: Box::new(finished(table)?), populate })
}

/// A table of which nothing is said but its name.
fn blank(name: TableName) -> CreateTable {
    CreateTable {
        name,
        temporary: false,
        if_not_exists: false,
        or_replace: false,
        clones: false,
        source: CreateSource::Columns(vec![]),
        engine: None,
        engine_arguments: EngineArguments::default(),
        partition_by: vec![],
        unpartitioned: false,
        order_by: None,
        primary_key: None,
        sample_by: None,
        mode: None,
        old_syntax: None,
        written_keys: vec![],
        settings: vec![],
        kept: vec![],
        constraints: vec![],
        comment: String::new(),
    }
}

/// Reads one clause; false when AS comes next.
fn clause(head: &mut Head<'_>, table: &mut CreateTable) -> Result<bool> {
    if head.word("ENGINE") {
        head.symbol(&Token::Eq);
        once(head, table.engine.is_some(), "ENGINE")?;
        engine::read(head, table)?;
    } else if head.words(&["PARTITION", "BY"]) {
        once(head, !table.partition_by.is_empty() || table.unpartitioned, "PARTITION BY")?;
        table.partition_by = key(head, PARTITION_BY, &mut table.written_keys)?;
        table.unpartitioned = table.partition_by.is_empty();
    } else if head.words(&["ORDER", "BY"]) {
        once(head, table.order_by.is_some(), "ORDER BY")?;
        table.order_by = Some(key(head, ORDER_BY, &mut table.written_keys)?);
        if head.peek_word("DESC") || head.peek_word("ASC") {
            return Err(head.refuse("a direction in the ORDER BY of a table"));
        }
    } else if head.words(&["PRIMARY", "KEY"]) {
        once(head, table.primary_key.is_some(), "PRIMARY KEY")?;
        table.primary_key = Some(key(head, PRIMARY_KEY, &mut table.written_keys)?);
    } else if head.words(&["SAMPLE", "BY"]) {
        once(head, table.sample_by.is_some(), "SAMPLE BY")?;
        table.sample_by = Some(head.expression()?);
        head.warnings.push("SAMPLE BY is kept in the definition and has no effect".to_owned());
    } else if head.word("TTL") {
        let text = ttl::ttl(head)?;
        table.kept.push(("TTL".to_owned(), text));
    } else if head.word("SETTINGS") {
        table.settings.extend(head.settings()?);
    } else if head.word("COMMENT") {
        table.comment = head.text("a comment")?;
    } else if ["AS", "EMPTY", "CLONE"].iter().any(|word| head.peek_word(word)) || query::starts(head) {
        return Ok(false);
    } else {
        return Err(head.expected(
            "ENGINE, PARTITION BY, ORDER BY, PRIMARY KEY, SAMPLE BY, TTL, SETTINGS, COMMENT or AS",
        ));
    }
    Ok(true)
}

/// A key, and how it was written.
fn key(head: &mut Head<'_>, clause: &'static str, keys: &mut Vec<(&'static str, Expr)>) -> Result<Vec<Expr>> {
    let key = head.expression()?;
    keys.extend(written(clause, &key));
    Ok(key_of(key))
}

fn once(head: &Head<'_>, seen: bool, clause: &str) -> Result<()> {
    if seen { Err(head.expected(&format!("only one {clause}"))) } else { Ok(()) }
}

fn source(head: &mut Head<'_>, columns: Vec<crate::statement::ColumnSpec>) -> Result<CreateSource> {
    let empty = head.word("EMPTY");
    if !query::starts(head) || empty {
        head.expect_word("AS")?;
    }
    if query::starts(head) {
        let query = Box::new(query::query(head)?);
        return Ok(CreateSource::Select { columns, query, empty });
    }
    if empty || !columns.is_empty() {
        return Err(head.expected("SELECT"));
    }
    if *head.token_after(1) == Token::LParen {
        return Err(head.refuse("CREATE TABLE AS a table function"));
    }
    let source = head.table_name()?;
    Ok(CreateSource::Table(source))
}

/// Checks between the clauses that need no catalog.
fn finished(mut table: CreateTable) -> Result<CreateTable> {
    if table.temporary {
        match table.engine.get_or_insert(TableEngine::Memory) {
            TableEngine::Memory | TableEngine::Null => {}
            other => {
                let message = format!("a temporary table with engine {other:?} (use ENGINE = Memory)");
                return Err(SqlError::not_implemented(message));
            }
        }
    }
    if let CreateSource::Columns(columns) = &table.source
        && let Some(twice) =
            columns.iter().enumerate().find(|(i, c)| columns[..*i].iter().any(|b| b.name == c.name))
    {
        let message = format!("column \"{}\" is defined twice", twice.1.name);
        return Err(SqlError::new(ErrorCode::DUPLICATE_COLUMN, message));
    }
    engine::check_clauses(&mut table)?;
    Ok(table)
}

impl CreateTable {
    /// The table's name with its database filled in.
    pub fn name_in(&self, current_database: &str) -> TableName {
        let database = self.name.database.as_deref().unwrap_or(current_database);
        TableName::new(Some(database), &self.name.table)
    }
}
