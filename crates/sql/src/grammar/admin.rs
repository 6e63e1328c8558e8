//! Everything that is neither SELECT, INSERT nor CREATE: DROP, SHOW, SET, SYSTEM, OPTIMIZE, KILL, ...

use model::ErrorCode;
use sqlparser::tokenizer::Token;

use crate::grammar::{collection, detach, dictionary, function, kill, mutation, show, view};
use crate::reader::head::Head;
use crate::reader::tokens::is_word;
use crate::statement::{
    Alter, AlterCommand, NameFilter, Optimize, Partition, RenamedTable, Show, Statement, SystemCommand,
    TableName, ViewCommand,
};
use lexer::error::{Result, SqlError};

/// Statements of ClickHouse that we know and do not have.
const REFUSED: &[&str] = &[
    "GRANT", "REVOKE", "BACKUP", "RESTORE", "MOVE", "UNDROP", "BEGIN", "START", "WATCH", "REPLACE", "MERGE",
    "COPY", "EXECUTE", "PARALLEL",
];

/// Statements about a transaction that was begun; none ever is.
const ENDS_OF_TRANSACTIONS: &[&str] = &["COMMIT", "ROLLBACK"];

/// The error of a statement about a transaction that was begun.
fn no_transaction(head: &Head<'_>, statement: &str) -> SqlError {
    let error = head.refuse(statement);
    let message = format!("{statement}: there is no current transaction");
    SqlError { code: ErrorCode::INVALID_TRANSACTION, message, ..error }
        .with_hint("every statement is one transaction: BEGIN is not supported")
}

/// Reads a statement by its first word.
pub(crate) fn statement(head: &mut Head<'_>) -> Result<Statement> {
    match head.token().clone() {
        Token::Word(word) if word.quote_style.is_none() => {
            let verb = word.value.to_ascii_uppercase();
            if ENDS_OF_TRANSACTIONS.contains(&verb.as_str()) {
                return Err(no_transaction(head, &verb));
            }
            if REFUSED.contains(&verb.as_str()) {
                return Err(head.refuse(&verb));
            }
            by_verb(head, &verb)
        }
        _ => Err(head.expected("a statement")),
    }
}

fn by_verb(head: &mut Head<'_>, verb: &str) -> Result<Statement> {
    let read = match verb {
        "ALTER" => alter,
        "DROP" => drop,
        "TRUNCATE" => truncate,
        "USE" => use_database,
        "SET" => set,
        "SHOW" => show::show,
        "ANALYZE" => analyze,
        "EXISTS" => show::exists,
        "OPTIMIZE" => optimize,
        "DELETE" => mutation::delete,
        "UPDATE" => mutation::update,
        "SYSTEM" => system,
        "RENAME" => rename,
        "EXCHANGE" => exchange,
        "KILL" => kill::kill,
        "CHECK" => check,
        "DETACH" => detach::detach,
        "ATTACH" => detach::attach,
        _ => return Err(head.expected("a statement: SELECT, INSERT, CREATE, DROP, SHOW, SET, ..")),
    };
    head.advance();
    read(head)
}

/// ALTER of anything but a table: there is only that of named collections.
fn alter(head: &mut Head<'_>) -> Result<Statement> {
    if head.peek_word("NAMED") { collection::alter(head) } else { Err(head.refuse("ALTER")) }
}

fn drop(head: &mut Head<'_>) -> Result<Statement> {
    if head.peek_word("NAMED") {
        return collection::drop(head);
    }
    if head.word("DATABASE") || head.word("SCHEMA") {
        let if_exists = head.if_exists();
        let name = head.name("a database name")?;
        head.on_cluster()?;
        head.sync();
        return Ok(Statement::DropDatabase { name, if_exists });
    }
    if head.words(&["TEMPORARY", "TABLE"]) {
        return drop_temporary(head);
    }
    if head.word("VIEW") {
        return view::drop(head);
    }
    if head.word("FUNCTION") {
        return function::drop(head);
    }
    if head.word("DICTIONARY") {
        return dictionary::drop(head);
    }
    if head.word("WORKLOAD") || head.word("RESOURCE") {
        return drop_workload(head);
    }
    if head.word("INDEX") {
        let if_exists = head.if_exists();
        let name = head.name("an index's name")?;
        head.expect_word("ON")?;
        let table = head.table_name()?;
        head.on_cluster()?;
        let commands = vec![AlterCommand::DropIndex { name, if_exists }];
        return Ok(Statement::Alter(Box::new(Alter { table, commands, rows: None })));
    }
    if !head.word("TABLE") {
        return Err(head.refuse(
            "DROP of anything but DATABASE, TABLE, VIEW, DICTIONARY, INDEX, FUNCTION and NAMED COLLECTION",
        ));
    }
    let if_exists = head.if_exists();
    if head.words(&["IF", "EMPTY"]) {
        return Err(head.refuse("IF EMPTY"));
    }
    let mut tables = vec![head.table_name()?];
    while head.symbol(&Token::Comma) {
        tables.push(head.table_name()?);
    }
    head.on_cluster()?;
    head.sync();
    Ok(Statement::DropTable { tables, if_exists })
}

/// There are none: CREATE of them is refused.
fn drop_workload(head: &mut Head<'_>) -> Result<Statement> {
    let if_exists = head.if_exists();
    let name = head.name("a name")?;
    head.on_cluster()?;
    if !if_exists {
        return Err(SqlError::bad_arguments(format!("workload entity '{name}' does not exist")));
    }
    Ok(Statement::DropTable { tables: vec![], if_exists })
}

fn drop_temporary(head: &mut Head<'_>) -> Result<Statement> {
    let if_exists = head.if_exists();
    let mut names = vec![temporary_name(head)?];
    while head.symbol(&Token::Comma) {
        names.push(temporary_name(head)?);
    }
    head.sync();
    Ok(Statement::DropTemporaryTables { names, if_exists })
}

pub(crate) fn temporary_name(head: &mut Head<'_>) -> Result<String> {
    let name = head.name("a table name")?;
    if *head.token() == Token::Period {
        let message = format!("a temporary table is in no database: name it without \"{name}\"");
        return Err(SqlError::new(ErrorCode::BAD_DATABASE_FOR_TEMPORARY_TABLE, message));
    }
    Ok(name)
}

fn truncate(head: &mut Head<'_>) -> Result<Statement> {
    let drops = head.word("DATABASE");
    if drops || head.words(&["ALL", "TABLES", "FROM"]) || head.words(&["TABLES", "FROM"]) {
        let if_exists = head.if_exists();
        let name = head.name("a database name")?;
        for refused in ["LIKE", "ILIKE", "NOT"] {
            if head.peek_word(refused) {
                return Err(head.refuse("LIKE of TRUNCATE TABLES"));
            }
        }
        head.on_cluster()?;
        return Ok(Statement::TruncateDatabase { name, if_exists, drops });
    }
    head.word("TABLE");
    let if_exists = head.if_exists();
    let table = head.table_name()?;
    head.on_cluster()?;
    head.sync();
    Ok(Statement::Truncate { table, if_exists })
}

fn use_database(head: &mut Head<'_>) -> Result<Statement> {
    head.word("DATABASE");
    Ok(Statement::Use { database: head.name("a database name")? })
}

fn set(head: &mut Head<'_>) -> Result<Statement> {
    if head.peek_word("TRANSACTION") {
        return Err(no_transaction(head, "SET TRANSACTION"));
    }
    for refused in ["ROLE", "DEFAULT"] {
        if head.peek_word(refused) {
            return Err(head.refuse(&format!("SET {refused}")));
        }
    }
    Ok(Statement::Set(head.settings()?))
}

/// Behind ANALYZE. That of tables has no counterpart: parts carry their own statistics.
fn analyze(head: &mut Head<'_>) -> Result<Statement> {
    if !head.word("PROFILE") {
        return Err(head.refuse("ANALYZE of anything but PROFILE"));
    }
    head.expect_word("FROM")?;
    let query_id = head.text("a query id in quotes")?;
    if *head.token() == Token::Comma {
        return Err(head.refuse("ANALYZE PROFILE of single plan nodes"));
    }
    Ok(Statement::Show(Show::Profile { query_id }))
}

pub(crate) fn filter(head: &mut Head<'_>) -> Result<NameFilter> {
    let negated = head.word("NOT");
    let ignore_case = head.word("ILIKE");
    if ignore_case || head.word("LIKE") {
        return Ok(NameFilter { pattern: Some(head.text("a pattern")?), negated, ignore_case });
    }
    if negated {
        return Err(head.expected("LIKE"));
    }
    if head.peek_word("WHERE") {
        return Err(head.refuse("WHERE of SHOW"));
    }
    Ok(NameFilter::default())
}

pub(crate) fn count(head: &mut Head<'_>) -> Result<u64> {
    match head.token() {
        Token::Number(digits, _) => {
            let count = digits.parse().map_err(|_| head.expected("a count"))?;
            head.advance();
            Ok(count)
        }
        _ => Err(head.expected("a count")),
    }
}

fn optimize(head: &mut Head<'_>) -> Result<Statement> {
    head.expect_word("TABLE")?;
    let table = head.table_name()?;
    head.on_cluster()?;
    let partition = if head.word("PARTITION") { Some(partition(head)?) } else { None };
    let is_final = head.word("FINAL") || head.word("FORCE");
    for refused in ["CLEANUP", "DRY"] {
        if head.peek_word(refused) {
            return Err(head.refuse(&format!("OPTIMIZE .. {refused}")));
        }
    }
    let mut deduplicate = head.word("DEDUPLICATE").then(String::new);
    if deduplicate.is_some() && head.word("BY") {
        if head.at_end() {
            return Err(head.expected("columns"));
        }
        let start = head.offset();
        let length = head.rest().len();
        deduplicate = Some(head.text_between(start, start + length).to_owned());
    }
    Ok(Statement::Optimize(Optimize { table, partition, is_final, deduplicate, settings: vec![] }))
}

pub(crate) fn partition(head: &mut Head<'_>) -> Result<Partition> {
    if head.word("ID") {
        return Ok(Partition::Id(head.text("a partition's id")?));
    }
    head.expression().map(|expression| Partition::Expression(Box::new(expression)))
}

fn system(head: &mut Head<'_>) -> Result<Statement> {
    let command = if head.words(&["STOP", "MERGES"]) {
        SystemCommand::StopMerges(optional_table(head)?)
    } else if head.words(&["START", "MERGES"]) {
        SystemCommand::StartMerges(optional_table(head)?)
    } else if head.words(&["STOP", "TTL", "MERGES"]) {
        SystemCommand::StopTtlMerges(optional_table(head)?)
    } else if head.words(&["START", "TTL", "MERGES"]) {
        SystemCommand::StartTtlMerges(optional_table(head)?)
    } else if head.words(&["STOP", "VIEWS"]) {
        SystemCommand::StopViews
    } else if head.words(&["START", "VIEWS"]) {
        SystemCommand::StartViews
    } else if let Some(command) = view_command(head) {
        SystemCommand::View(head.table_name()?, command)
    } else if head.words(&["DROP", "SCHEMA", "CACHE"]) || head.words(&["CLEAR", "SCHEMA", "CACHE"]) {
        SystemCommand::DropSchemaCache(if head.word("FOR") { Some(cached_storage(head)?) } else { None })
    } else if head.words(&["DROP", "UNCOMPRESSED", "CACHE"])
        || head.words(&["CLEAR", "UNCOMPRESSED", "CACHE"])
    {
        SystemCommand::DropUncompressedCache
    } else if head.words(&["FLUSH", "LOGS"]) {
        // Each log is written at once; the names say which of them are waited for.
        listed_names(head)?;
        SystemCommand::FlushLogs
    } else if head.words(&["FLUSH", "ASYNC", "INSERT", "QUEUE"]) {
        // An INSERT is durable when it is answered: nobody's waits.
        listed_names(head)?;
        SystemCommand::Nothing
    } else if head.words(&["RELOAD", "DICTIONARIES"]) {
        // One is read when it is asked.
        SystemCommand::Nothing
    } else if head.words(&["RELOAD", "DICTIONARY"]) {
        SystemCommand::OfTable(head.table_name()?)
    } else if is_of_nothing(head)? {
        SystemCommand::Nothing
    } else if let Some(words) = OF_TABLES.iter().find(|words| head.words(words)) {
        let table = head.table_name()?;
        if *words == ["SYNC", "REPLICA"] {
            let _mode = ["STRICT", "LIGHTWEIGHT", "PULL"].iter().any(|mode| head.word(mode));
        }
        SystemCommand::OfTable(table)
    } else {
        let mut named = String::from("SYSTEM");
        for at in 0..3 {
            if let Token::Word(word) = head.token_after(at) {
                named = format!("{named} {}", word.value.to_uppercase());
            }
        }
        return Err(head.refuse(&named));
    };
    head.on_cluster()?;
    Ok(Statement::System(command))
}

fn listed_names(head: &mut Head<'_>) -> Result<()> {
    while matches!(head.token(), Token::Word(_)) && !head.peek_word("ON") {
        head.table_name()?;
        if *head.token() == Token::Comma {
            head.advance();
        }
    }
    Ok(())
}

/// Caches that ClickHouse has and that are not here, without the word CACHE behind each.
const NO_CACHES: &[&[&str]] = &[
    &["MARK"],
    &["PRIMARY", "INDEX"],
    &["INDEX", "MARK"],
    &["INDEX", "UNCOMPRESSED"],
    &["MMAP"],
    &["QUERY"],
    &["QUERY", "CONDITION"],
    &["COMPILED", "EXPRESSION"],
    &["DNS"],
    &["PAGE"],
    &["FILESYSTEM"],
    &["VECTOR", "SIMILARITY", "INDEX"],
    &["ICEBERG", "METADATA"],
    &["PARQUET", "METADATA"],
    &["S3", "CLIENT"],
    &["CONNECTIONS"],
    &["TEXT", "INDEX", "TOKENS"],
    &["TEXT", "INDEX", "HEADER"],
    &["TEXT", "INDEX", "POSTINGS"],
];

/// Background work of clusters and of storages with several disks.
const NO_WORK: &[&[&str]] = &[
    &["DISTRIBUTED", "SENDS"],
    &["FETCHES"],
    &["REPLICATED", "SENDS"],
    &["REPLICATION", "QUEUES"],
    &["PULLING", "REPLICATION", "LOG"],
    &["MOVES"],
    &["CLEANUP"],
];

/// What is done to one table of a cluster, or to what of a table is loaded late.
const OF_TABLES: &[&[&str]] = &[
    &["SYNC", "REPLICA"],
    &["RESTART", "REPLICA"],
    &["FLUSH", "DISTRIBUTED"],
    &["WAIT", "LOADING", "PARTS"],
    &["LOAD", "PRIMARY", "KEY"],
    &["UNLOAD", "PRIMARY", "KEY"],
    &["PREWARM", "MARK", "CACHE"],
];

/// Reads a command about a cache or work that there is none of. Its table is not looked up, as in ClickHouse.
fn is_of_nothing(head: &mut Head<'_>) -> Result<bool> {
    let said = |head: &Head<'_>, words: &[&str]| {
        words.iter().enumerate().all(|(at, word)| is_word(head.token_after(at + 1), word))
    };
    if head.peek_word("DROP") || head.peek_word("CLEAR") {
        let is_cache =
            |words: &&&[&str]| said(head, words) && is_word(head.token_after(words.len() + 1), "CACHE");
        let Some(words) = NO_CACHES.iter().find(is_cache) else { return Ok(false) };
        (0..words.len() + 2).for_each(|_| head.advance());
        if head.word("TAG") {
            head.text("a tag of the query cache")?;
        }
        return Ok(true);
    }
    if head.peek_word("STOP") || head.peek_word("START") {
        let Some(words) = NO_WORK.iter().find(|words| said(head, words)) else { return Ok(false) };
        (0..=words.len()).for_each(|_| head.advance());
        if !head.peek_word("ON") {
            optional_table(head)?;
        }
        return Ok(true);
    }
    Ok(false)
}

/// `REFRESH VIEW` and its kin.
fn view_command(head: &mut Head<'_>) -> Option<ViewCommand> {
    use ViewCommand::{Cancel, Refresh, Start, Stop, Wait};
    let commands =
        [("REFRESH", Refresh), ("WAIT", Wait), ("STOP", Stop), ("START", Start), ("CANCEL", Cancel)];
    commands.into_iter().find(|(word, _)| head.words(&[word, "VIEW"])).map(|(_, command)| command)
}

/// ClickHouse's words for the storages whose schemas are cached.
fn cached_storage(head: &mut Head<'_>) -> Result<String> {
    let storages = ["FILE", "S3", "URL", "AZURE"];
    if head.peek_word("HDFS") {
        return Err(head.refuse("SCHEMA CACHE FOR HDFS"));
    }
    let found = storages.iter().find(|storage| head.word(storage));
    found.map(|storage| (*storage).to_owned()).ok_or_else(|| head.expected("FILE, S3, URL or AZURE"))
}

fn optional_table(head: &mut Head<'_>) -> Result<Option<TableName>> {
    if head.at_end() { Ok(None) } else { head.table_name().map(Some) }
}

fn rename(head: &mut Head<'_>) -> Result<Statement> {
    if head.word("DATABASE") {
        let from = head.name("a database name")?;
        head.expect_word("TO")?;
        return Ok(Statement::RenameDatabase { from, to: head.name("a database name")? });
    }
    let _ = head.word("TABLE") || head.word("DICTIONARY");
    let mut pairs = vec![];
    loop {
        let if_exists = head.words(&["IF", "EXISTS"]);
        let from = head.table_name()?;
        head.expect_word("TO")?;
        pairs.push(RenamedTable { from, to: head.table_name()?, if_exists });
        if !head.symbol(&Token::Comma) {
            break;
        }
    }
    head.on_cluster()?;
    Ok(Statement::Rename(pairs))
}

fn exchange(head: &mut Head<'_>) -> Result<Statement> {
    if !head.word("DICTIONARIES") {
        head.expect_word("TABLES")?;
    }
    let first = head.table_name()?;
    head.expect_word("AND")?;
    let second = head.table_name()?;
    head.on_cluster()?;
    Ok(Statement::Exchange(first, second))
}

fn check(head: &mut Head<'_>) -> Result<Statement> {
    head.expect_word("TABLE")?;
    let table = head.table_name()?;
    if head.peek_word("PARTITION") || head.peek_word("PART") {
        return Err(head.refuse("CHECK TABLE of a part"));
    }
    Ok(Statement::CheckTable { table })
}
