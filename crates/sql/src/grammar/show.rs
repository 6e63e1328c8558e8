//! SHOW and EXISTS.
//!
//! Most kinds of SHOW stand for a SELECT over system tables, as they do in ClickHouse; so LIKE, WHERE and LIMIT mean
//! the same in all of them. Must not know: what those tables hold.

use sqlparser::tokenizer::Token;

use crate::grammar::admin::{count, filter, temporary_name};
use crate::grammar::{load, query};
use crate::reader::head::Head;
use crate::statement::{Created, ExistsKind, Query, Show, Statement};
use lexer::error::Result;
use lexer::escape::quote_text;

/// Kinds of SHOW that ClickHouse has and that are not done.
const REFUSED: &[&str] = &[
    "CLUSTER",
    "GRANTS",
    "USERS",
    "CURRENT",
    "ENABLED",
    "ROLES",
    "PROFILES",
    "POLICIES",
    "QUOTAS",
    "QUOTA",
    "ACCESS",
    "PRIVILEGES",
    "MERGES",
    "FILESYSTEM",
];

/// Behind SHOW.
pub(crate) fn show(head: &mut Head<'_>) -> Result<Statement> {
    if head.word("CREATE") {
        return created(head);
    }
    if head.peek_word("LOAD") {
        head.advance();
        return load::show(head);
    }
    if let Some(refused) = REFUSED.iter().find(|word| head.peek_word(word)) {
        return Err(head.refuse(&format!("SHOW {refused}")));
    }
    if head.word("DATABASES") || head.word("SCHEMAS") {
        return rows("SELECT name FROM system.databases", &[], "name", &narrowing(head, "name")?);
    }
    if head.word("PROCESSLIST") {
        return rows("SELECT * FROM system.processes", &[], "elapsed DESC", &Narrowing::default());
    }
    if head.word("FUNCTIONS") {
        let narrowing = narrowing(head, "name")?;
        return rows("SELECT * FROM system.functions", &[], "name", &narrowing);
    }
    if head.word("ENGINES") {
        return rows("SELECT * FROM system.table_engines", &[], "name", &Narrowing::default());
    }
    if head.word("CLUSTERS") {
        let narrowing = narrowing(head, "cluster")?;
        return rows("SELECT DISTINCT cluster FROM system.clusters", &[], "cluster", &narrowing);
    }
    if head.word("COMPUTE") {
        head.expect_word("NODES")?;
        return rows(COMPUTE_NODES, &[], "ComputeNodeId", &Narrowing::default());
    }
    if head.word("FRONTENDS") {
        return rows(FRONTENDS, &[], "Name", &Narrowing::default());
    }
    if head.word("BACKENDS") {
        return rows(BACKENDS, &[], "BackendId", &Narrowing::default());
    }
    if head.word("SETTING") {
        let named = format!("name = {}", quote_text(&head.name("a setting's name")?));
        return rows("SELECT value FROM system.settings", &[named], "name", &Narrowing::default());
    }
    of_tables(head)
}

/// StarRocks' words for the servers of a shared root.
const COMPUTE_NODES: &str = "SELECT id AS ComputeNodeId, host_address AS IP, port AS HttpPort, \
    start_time AS LastStartTime, last_seen AS LastHeartbeat, if(is_active, 'true', 'false') AS Alive, \
    if(is_active, '', 'it was not heard of for 30 seconds') AS ErrMsg, version AS Version, \
    running_queries AS NumRunningQueries FROM system.nodes";

/// Every server answers statements. There is no leader; tools look for one, and find the server that they ask.
const FRONTENDS: &str = "SELECT id AS Name, host_address AS IP, port AS HttpPort, \
    if(is_local, 'LEADER', 'FOLLOWER') AS Role, if(is_local, 'true', 'false') AS IsMaster, \
    if(is_active, 'true', 'false') AS Alive, known_seq AS ReplayedJournalId, last_seen AS LastHeartbeat, \
    if(is_active, '', 'it was not heard of for 30 seconds') AS ErrMsg, start_time AS StartTime, version AS Version \
    FROM system.nodes";

/// Servers with data of their own: none, where all share theirs.
const BACKENDS: &str = "SELECT id AS BackendId, host_address AS IP, port AS HttpPort, start_time AS LastStartTime, \
    last_seen AS LastHeartbeat, 'true' AS Alive, '' AS ErrMsg, version AS Version FROM system.nodes WHERE 0";

/// Kinds that are about tables, and those of other databases' people.
fn of_tables(head: &mut Head<'_>) -> Result<Statement> {
    let extended = head.word("EXTENDED");
    let full = head.word("FULL");
    if head.word("COLUMNS") || head.word("FIELDS") {
        return columns(head, full);
    }
    if ["INDEX", "INDEXES", "INDICES", "KEYS"].iter().any(|word| head.word(word)) {
        return index(head);
    }
    let temporary = !extended && head.word("TEMPORARY");
    if !extended && head.word("TABLES") {
        return tables(head, full, temporary);
    }
    if !extended && !full && !temporary && head.word("DICTIONARIES") {
        return dictionaries(head);
    }
    if temporary || full || extended {
        return Err(head.expected("TABLES, COLUMNS or INDEX"));
    }
    if head.word("PROFILELIST") {
        let limit = limit(head)?;
        return Ok(Statement::Show(Show::ProfileList { limit }));
    }
    let changed = head.word("CHANGED");
    if head.word("SETTINGS") {
        return Ok(Statement::Show(Show::Settings { changed, filter: filter(head)? }));
    }
    let one_name = matches!(head.token_after(1), Token::EOF | Token::SemiColon | Token::Period);
    if one_name || head.peek_word("TABLE") || head.peek_word("VIEW") || head.peek_word("DATABASE") {
        return created(head);
    }
    Err(head
        .expected("DATABASES, TABLES, COLUMNS, INDEX, CREATE, PROCESSLIST, SETTINGS, FUNCTIONS or ENGINES"))
}

/// What is kept of the rows: LIKE and WHERE as a condition, LIMIT.
#[derive(Default)]
struct Narrowing {
    condition: Option<String>,
    limit: Option<u64>,
}

fn narrowing(head: &mut Head<'_>, column: &str) -> Result<Narrowing> {
    let condition = if head.word("WHERE") {
        let start = head.offset();
        head.expression()?;
        Some(head.text_since(start).to_owned())
    } else {
        let filter = filter(head)?;
        let like = if filter.ignore_case { "ILIKE" } else { "LIKE" };
        let not = if filter.negated { "NOT " } else { "" };
        filter.pattern.map(|pattern| format!("{column} {not}{like} {}", quote_text(&pattern)))
    };
    Ok(Narrowing { condition, limit: limit(head)? })
}

fn limit(head: &mut Head<'_>) -> Result<Option<u64>> {
    if head.word("LIMIT") { count(head).map(Some) } else { Ok(None) }
}

/// The SELECT that a SHOW stands for.
fn select(from: &str, conditions: &[String], order: &str, narrowing: &Narrowing) -> Result<Box<Query>> {
    // The line end closes a comment that a condition may end in.
    let all = conditions.iter().chain(&narrowing.condition).map(|condition| format!("({condition}\n)"));
    let all = all.collect::<Vec<_>>().join(" AND ");
    let condition = if all.is_empty() { all } else { format!(" WHERE {all}") };
    let limit = narrowing.limit.map(|limit| format!(" LIMIT {limit}")).unwrap_or_default();
    query::of_text(&format!("{from}{condition} ORDER BY {order}{limit}")).map(Box::new)
}

fn rows(from: &str, conditions: &[String], order: &str, narrowing: &Narrowing) -> Result<Statement> {
    Ok(Statement::Show(Show::Rows(select(from, conditions, order, narrowing)?)))
}

fn from_database(head: &mut Head<'_>) -> Result<Option<String>> {
    if head.word("FROM") || head.word("IN") { head.name("a database name").map(Some) } else { Ok(None) }
}

/// `database = ..`, of the database that is named or the current one.
fn in_database(database: Option<&str>) -> String {
    match database {
        Some(name) => format!("database = {}", quote_text(name)),
        None => "database = currentDatabase()".to_owned(),
    }
}

fn tables(head: &mut Head<'_>, full: bool, temporary: bool) -> Result<Statement> {
    let database = from_database(head)?;
    let narrowing = narrowing(head, "name")?;
    let columns = if full { "name, engine" } else { "name" };
    let from = format!("SELECT {columns} FROM system.tables");
    if temporary {
        return rows(&from, &["is_temporary = 1".to_owned()], "name", &narrowing);
    }
    let query = select(&from, &[in_database(database.as_deref())], "name", &narrowing)?;
    Ok(Statement::Show(Show::RowsOf { database, query }))
}

fn dictionaries(head: &mut Head<'_>) -> Result<Statement> {
    let database = from_database(head)?;
    let narrowing = narrowing(head, "name")?;
    let conditions = [in_database(database.as_deref())];
    let query = select("SELECT name FROM system.dictionaries", &conditions, "name", &narrowing)?;
    Ok(Statement::Show(Show::RowsOf { database, query }))
}

fn columns(head: &mut Head<'_>, full: bool) -> Result<Statement> {
    if !head.word("IN") {
        head.expect_word("FROM")?;
    }
    let mut table = head.table_name()?;
    if let Some(database) = from_database(head)? {
        table.database = Some(database);
    }
    let narrowing = narrowing(head, "field")?;
    let more = if full { ", NULL AS `collation`, comment, \'\' AS `privileges`" } else { "" };
    let described = format!(
        "SELECT name AS field, type, \
         if(type LIKE \'Nullable(%\' OR type LIKE \'LowCardinality(Nullable(%\', \'YES\', \'NO\') AS `null`, \
         multiIf(is_in_primary_key = 1, \'PRI SOR\', is_in_sorting_key = 1, \'SOR\', \'\') AS `key`, \
         if(default_expression = \'\', NULL, default_expression) AS `default`, \'\' AS extra{more} \
         FROM system.columns WHERE {} AND table = {}",
        in_database(table.database.as_deref()),
        quote_text(&table.table)
    );
    let query = select(&format!("SELECT * FROM ({described})"), &[], "field", &narrowing)?;
    Ok(Statement::Show(Show::RowsOf { database: table.database, query }))
}

fn index(head: &mut Head<'_>) -> Result<Statement> {
    if !head.word("IN") {
        head.expect_word("FROM")?;
    }
    let mut table = head.table_name()?;
    if let Some(database) = from_database(head)? {
        table.database = Some(database);
    }
    if head.peek_word("WHERE") {
        return Err(head.refuse("WHERE of SHOW INDEX"));
    }
    Ok(Statement::Show(Show::Index(table)))
}

/// Whether the word says what kind of thing is named next, and is not the name itself.
fn is_kind(head: &Head<'_>, word: &str) -> bool {
    head.peek_word(word) && !matches!(head.token_after(1), Token::EOF | Token::SemiColon | Token::Period)
}

/// Behind SHOW CREATE, or behind SHOW where CREATE is left out.
fn created(head: &mut Head<'_>) -> Result<Statement> {
    if is_kind(head, "DATABASE") || is_kind(head, "SCHEMA") {
        head.advance();
        return Ok(Statement::Show(Show::CreateDatabase(head.name("a database name")?)));
    }
    for refused in ["USER", "ROLE", "QUOTA", "ROW", "SETTINGS", "PROFILE"] {
        if is_kind(head, refused) {
            return Err(head.refuse(&format!("SHOW CREATE {refused}")));
        }
    }
    let what = if is_kind(head, "VIEW") {
        head.advance();
        Created::View
    } else if is_kind(head, "DICTIONARY") {
        head.advance();
        Created::Dictionary
    } else if is_kind(head, "TEMPORARY") {
        head.advance();
        head.expect_word("TABLE")?;
        Created::Temporary
    } else {
        if is_kind(head, "TABLE") {
            head.advance();
        }
        Created::Table
    };
    Ok(Statement::Show(Show::CreateTable { name: head.table_name()?, what }))
}

/// Behind EXISTS.
pub(crate) fn exists(head: &mut Head<'_>) -> Result<Statement> {
    let what = if is_kind(head, "DATABASE") {
        head.advance();
        ExistsKind::Database(head.name("a database name")?)
    } else if is_kind(head, "TEMPORARY") {
        head.advance();
        head.word("TABLE");
        ExistsKind::TemporaryTable(temporary_name(head)?)
    } else if is_kind(head, "VIEW") {
        head.advance();
        ExistsKind::View(head.table_name()?)
    } else if is_kind(head, "DICTIONARY") {
        head.advance();
        ExistsKind::Dictionary(head.table_name()?)
    } else {
        if is_kind(head, "TABLE") {
            head.advance();
        }
        ExistsKind::Table(head.table_name()?)
    };
    Ok(Statement::Exists { what })
}
