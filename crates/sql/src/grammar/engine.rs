//! ENGINE of CREATE TABLE: its name, its arguments, and which clauses an engine takes.
//!
//! Invariant: what an engine does not take is an error with ClickHouse's code. Must not know: what an engine does.

use model::{EngineArguments, ErrorCode, TableEngine};
use sqlparser::ast::{Expr, Value};
use sqlparser::tokenizer::Token;

use crate::dialect::text_of;
use crate::printer::printed::printed;
use crate::reader::head::{Head, whole_expression};
use crate::reader::keys::{self, ORDER_BY, PRIMARY_KEY, key_of};
use crate::statement::{CreateSource, CreateTable, WrittenMode};
use crate::tables::functions::arguments_of_text;
use crate::tables::servers::CLUSTER;
use lexer::error::{Result, SqlError};
use lexer::escape::{quote_name, quote_text};

/// Behind ENGINE.
pub(super) fn read(head: &mut Head<'_>, table: &mut CreateTable) -> Result<()> {
    let mut name = head.name("a table engine")?;
    let mut has_more = false;
    if let Some(plain) =
        name.strip_prefix("Replicated").filter(|plain| *plain == "MergeTree" || is_mode(plain))
    {
        has_more = replicated(head, plain)?;
        name = plain.to_owned();
    }
    if let Some(name) = MODES.iter().find(|known| **known == name) {
        let mut arguments = if has_more { rest_of_arguments(head)? } else { mode_arguments(head)? };
        if let Some(list) = arguments.iter().find(|argument| matches!(argument, Expr::Array(_))) {
            let message = format!("an argument of {name} must be the name of a column, not {list}");
            return Err(SqlError::new(ErrorCode::UNEXPECTED_AST_STRUCTURE, message));
        }
        table.engine = Some(TableEngine::MergeTree);
        if let Some(keys) = length_of_keys(&arguments) {
            let own = arguments.split_off(keys);
            arguments.extend_from_slice(&own);
            table.old_syntax = Some(Expr::Tuple(std::mem::replace(&mut arguments, own)));
        }
        table.mode = Some(WrittenMode { engine: name, arguments });
        return Ok(());
    }
    let engine = by_name(&name)?;
    table.engine = Some(engine);
    match engine {
        TableEngine::MergeTree => old_syntax(head, table),
        TableEngine::Log | TableEngine::TinyLog | TableEngine::StripeLog | TableEngine::Set => {
            if head.symbol(&Token::LParen) && !head.symbol(&Token::RParen) {
                let message = format!("table engine {name} takes no arguments");
                return Err(SqlError::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message));
            }
            Ok(())
        }
        TableEngine::Merge | TableEngine::Buffer => {
            let (arguments, printed) = arguments_of_text(&name, arguments_text(head)?)?;
            let (takes, needs) = match engine {
                TableEngine::Merge => (2..=2, "a database and a regular expression of tables' names"),
                _ => (9..=12, "a database, a table and 7 to 10 limits"),
            };
            if !takes.contains(&arguments.len()) {
                let message = format!("table engine {name} needs {needs}");
                return Err(SqlError::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message));
            }
            if engine == TableEngine::Buffer {
                let warning = "limits of Buffer have no effect: its rows go to the other table at once";
                head.warnings.push(warning.to_owned());
            }
            table.engine_arguments = EngineArguments::new(&printed);
            Ok(())
        }
        TableEngine::Distributed => distributed(head, table),
        TableEngine::Join => joined(head, table),
        TableEngine::Dictionary => over_dictionary(head, table),
        engine if engine.is_external() => {
            let text = arguments_text(head)?;
            // Read once here, so that nothing is stored that could not be read later; comments are left out.
            let (arguments, printed) = arguments_of_text(&name, text)?;
            if arguments.is_empty() {
                let message = format!("table engine {name} needs arguments that say where its rows are");
                return Err(SqlError::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message));
            }
            table.engine_arguments = EngineArguments::new(&printed);
            Ok(())
        }
        _ => no_arguments(head),
    }
}

/// `Distributed(cluster, database, table[, sharding key[, policy]])`: which rows go to which node does not matter on one.
fn distributed(head: &mut Head<'_>, table: &mut CreateTable) -> Result<()> {
    let arguments = mode_arguments(head)?;
    if !(3..=5).contains(&arguments.len()) {
        let message = "table engine Distributed needs a cluster, a database, a table and, if wanted, a key and a policy";
        return Err(SqlError::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message));
    }
    let cluster = match arguments.first() {
        Some(Expr::Identifier(name)) => Some(name.value.as_str()),
        Some(other) => text_of(other),
        None => None,
    };
    // Clauses that the engine does not take are refused first, with all of the table read.
    if let Some(cluster) =
        cluster.filter(|name| table.kept.is_empty() && ![CLUSTER, "{cluster}"].contains(name))
    {
        let message = format!("requested cluster '{cluster}' not found: the only cluster is {CLUSTER}");
        return Err(SqlError::new(ErrorCode::CLUSTER_DOESNT_EXIST, message));
    }
    let printed: Vec<String> = arguments.iter().map(printed).collect();
    table.engine_arguments = EngineArguments::new(&printed.join(", "));
    head.warnings.push("Distributed is the table behind it: there is one node".to_owned());
    Ok(())
}

/// `Dictionary('db.name')`: a dictionary's rows. Who defines the table computes the name, and looks for it.
fn over_dictionary(head: &mut Head<'_>, table: &mut CreateTable) -> Result<()> {
    let name = match mode_arguments(head)?.as_slice() {
        [Expr::Identifier(name)] => quote_text(&name.value),
        [Expr::CompoundIdentifier(names)] => {
            let names: Vec<&str> = names.iter().map(|name| name.value.as_str()).collect();
            quote_text(&names.join("."))
        }
        [other] => text_of(other).map_or_else(|| printed(other), quote_text),
        _ => {
            let message = "table engine Dictionary needs one argument: the name of a dictionary";
            return Err(SqlError::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message));
        }
    };
    table.engine_arguments = EngineArguments::new(&name);
    Ok(())
}

/// `Join(ANY, LEFT, key[, ..])`: whoever defines the table reads them.
fn joined(head: &mut Head<'_>, table: &mut CreateTable) -> Result<()> {
    let argument = |argument: &Expr| match argument {
        Expr::Identifier(name) => quote_name(&name.value),
        other => printed(other),
    };
    let arguments: Vec<String> = mode_arguments(head)?.iter().map(argument).collect();
    table.engine_arguments = EngineArguments::new(&arguments.join(", "));
    Ok(())
}

/// Engines of MergeTree whose rows of equal key become one.
const MODES: &[&str] = &[
    "ReplacingMergeTree",
    "SummingMergeTree",
    "AggregatingMergeTree",
    "CoalescingMergeTree",
    "CollapsingMergeTree",
    "VersionedCollapsingMergeTree",
];

fn is_mode(name: &str) -> bool {
    MODES.contains(&name)
}

/// The columns between parentheses; a tuple of them is the same as they are.
fn mode_arguments(head: &mut Head<'_>) -> Result<Vec<Expr>> {
    if !head.symbol(&Token::LParen) || head.symbol(&Token::RParen) {
        return Ok(Vec::new());
    }
    rest_of_arguments(head)
}

/// Arguments up to the parenthesis that closes them; there is one at least.
fn rest_of_arguments(head: &mut Head<'_>) -> Result<Vec<Expr>> {
    let mut arguments = Vec::new();
    loop {
        arguments.push(head.expression()?);
        if !head.symbol(&Token::Comma) {
            head.expect_symbol(&Token::RParen)?;
            return Ok(arguments);
        }
    }
}

/// `Replicated..('path', 'replica')`: on one node it is the plain engine. Whether arguments of that one follow.
fn replicated(head: &mut Head<'_>, plain: &str) -> Result<bool> {
    head.warnings.push(format!("Replicated{plain} is {plain} on a single node"));
    let names_replica = *head.token() == Token::LParen
        && matches!(head.token_after(1), Token::SingleQuotedString(_))
        && *head.token_after(2) == Token::Comma
        && matches!(head.token_after(3), Token::SingleQuotedString(_));
    if names_replica {
        (0..4).for_each(|_| head.advance());
        if is_mode(plain) && head.symbol(&Token::Comma) {
            return Ok(true);
        }
        if !head.symbol(&Token::RParen) {
            return Err(head.refuse("ReplicatedMergeTree with more than a path and a replica"));
        }
    }
    Ok(false)
}

fn by_name(name: &str) -> Result<TableEngine> {
    Ok(match name {
        "MergeTree" => TableEngine::MergeTree,
        "Log" => TableEngine::Log,
        "TinyLog" => TableEngine::TinyLog,
        "StripeLog" => TableEngine::StripeLog,
        "Set" => TableEngine::Set,
        "Join" => TableEngine::Join,
        "Dictionary" => TableEngine::Dictionary,
        "Memory" => TableEngine::Memory,
        "Null" => TableEngine::Null,
        "S3" => TableEngine::S3,
        "GCS" => TableEngine::Gcs,
        "AzureBlobStorage" => TableEngine::AzureBlobStorage,
        "URL" => TableEngine::Url,
        "File" => TableEngine::File,
        "Merge" => TableEngine::Merge,
        "Buffer" => TableEngine::Buffer,
        "Distributed" => TableEngine::Distributed,
        // NULL is also a keyword, so people write it in any case.
        other if other.eq_ignore_ascii_case("null") => TableEngine::Null,
        other if KNOWN_ENGINES.iter().any(|known| other.ends_with(known)) => {
            return Err(SqlError::not_implemented(format!("table engine \"{other}\"")));
        }
        other => {
            let message = format!("unknown table engine \"{other}\": SHOW ENGINES lists those there are");
            return Err(SqlError::new(ErrorCode::UNKNOWN_STORAGE, message));
        }
    })
}

/// Ends of names of ClickHouse's engines that we know and do not have.
const KNOWN_ENGINES: &[&str] = &[
    "MergeTree",
    "Log",
    "Kafka",
    "S3Queue",
    "MySQL",
    "PostgreSQL",
    "GenerateRandom",
    "View",
    "MaterializedView",
    "Iceberg",
    "DeltaLake",
];

/// `MergeTree(date, [sample,] key, granularity)`: a partition a month, and the key.
fn old_syntax(head: &mut Head<'_>, table: &mut CreateTable) -> Result<()> {
    if !head.symbol(&Token::LParen) || head.symbol(&Token::RParen) {
        return Ok(());
    }
    let mut arguments = vec![head.expression()?];
    while head.symbol(&Token::Comma) {
        arguments.push(head.expression()?);
    }
    head.expect_symbol(&Token::RParen)?;
    table.old_syntax = Some(Expr::Tuple(arguments));
    Ok(())
}

/// How many arguments the old syntax has in front of a mode's own: the granularity, a number, is the last of them.
fn length_of_keys(arguments: &[Expr]) -> Option<usize> {
    let is_number =
        |argument: &Expr| matches!(argument, Expr::Value(value) if matches!(value.value, Value::Number(..)));
    arguments.iter().take(4).position(is_number).filter(|at| *at >= 2).map(|at| at + 1)
}

/// What the old syntax says, as the clauses of today.
fn with_old_syntax(table: &mut CreateTable) -> Result<()> {
    let Some(Expr::Tuple(arguments)) = &table.old_syntax else { return Ok(()) };
    let wrong_count = |message: &str| {
        Err(SqlError::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            format!("table engine MergeTree {message}"),
        ))
    };
    if is_keyed(table) || table.sample_by.is_some() || !table.settings.is_empty() || !table.kept.is_empty() {
        return wrong_count("takes no arguments beside clauses such as ORDER BY");
    }
    let keys = table.mode.as_ref().and_then(|_| length_of_keys(arguments)).unwrap_or(arguments.len());
    let (date, sample, key, granularity) = match &arguments[..keys] {
        [date, key, granularity] => (date, None, key, granularity),
        [date, sample, key, granularity] => (date, Some(sample), key, granularity),
        _ => return wrong_count("needs ORDER BY or PRIMARY KEY"),
    };
    let Expr::Identifier(_) = date else {
        return Err(SqlError::bad_arguments(
            "the first argument of MergeTree(..) must be the name of a Date column",
        ));
    };
    if !granularity.to_string().parse::<u64>().is_ok_and(|rows| rows > 0) {
        return Err(SqlError::bad_arguments("the granularity of MergeTree(..) must be a positive integer"));
    }
    table.partition_by = vec![whole_expression(&format!("toYYYYMM({date})"))?];
    table.sample_by = sample.cloned();
    table.order_by = Some(key_of(key.clone()));
    Ok(())
}

pub(super) fn no_arguments(head: &mut Head<'_>) -> Result<()> {
    if head.symbol(&Token::LParen) && !head.symbol(&Token::RParen) {
        return Err(head.refuse("arguments of an engine"));
    }
    Ok(())
}

/// The text between the parentheses that come next; empty when there are none.
fn arguments_text<'a>(head: &mut Head<'a>) -> Result<&'a str> {
    if !head.symbol(&Token::LParen) {
        return Ok("");
    }
    let (start, mut depth) = (head.offset(), 0_usize);
    while !head.at_end() {
        match head.token() {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => {
                let text = head.text_since(start);
                head.advance();
                return Ok(text);
            }
            Token::RParen => depth -= 1,
            _ => {}
        }
        head.advance();
    }
    Err(head.expected_silently(")"))
}

fn is_keyed(table: &CreateTable) -> bool {
    table.order_by.is_some() || table.primary_key.is_some() || !table.partition_by.is_empty()
}

/// Refuses the clauses that the engine does not take.
pub(super) fn check_clauses(table: &mut CreateTable) -> Result<()> {
    let engine = table.engine.unwrap_or(TableEngine::MergeTree);
    let may_partition = matches!(engine, TableEngine::S3 | TableEngine::Gcs | TableEngine::AzureBlobStorage);
    if may_partition {
        if table.order_by.is_some() || table.primary_key.is_some() {
            let message = format!("table engine {engine:?} takes no ORDER BY or PRIMARY KEY");
            return Err(SqlError::bad_arguments(message));
        }
    } else if engine != TableEngine::MergeTree && (is_keyed(table) || table.sample_by.is_some()) {
        let name = engine.name();
        let message =
            format!("table engine {name} takes no PARTITION BY, ORDER BY, PRIMARY KEY or SAMPLE BY");
        return Err(SqlError::bad_arguments(message));
    }
    if engine != TableEngine::MergeTree {
        let clause = table.kept.first().map(|(keyword, _)| keyword.as_str());
        return match clause {
            None => Ok(()),
            Some(clause) => {
                let message = format!("table engine {} takes no {clause}", engine.name());
                Err(SqlError::bad_arguments(message))
            }
        };
    }
    with_old_syntax(table)?;
    check_keys(table)
}

/// `SAMPLE BY tuple()`.
pub(crate) fn is_of_nothing(key: &Expr) -> bool {
    key_of(key.clone()).is_empty()
}

/// Why it is refused.
pub(crate) fn no_sampling() -> SqlError {
    SqlError::new(ErrorCode::INCORRECT_QUERY, "there are no columns in the sampling expression")
}

/// Of a MergeTree table.
fn check_keys(table: &mut CreateTable) -> Result<()> {
    // One like another takes what is not written from there.
    if table.order_by.is_none() && !matches!(table.source, CreateSource::Table(_)) {
        // The key that is written serves as both; without any rows keep their insertion order, if that is wanted.
        table.order_by = table.primary_key.clone();
        let primary = table.written_keys.iter().find(|(clause, _)| *clause == PRIMARY_KEY);
        let order = primary.map(|(_, key)| (ORDER_BY, key.clone()));
        table.written_keys.extend(order);
        let of_mode = table.mode.as_ref().filter(|mode| !mode.arguments.is_empty());
        if let (None, Some(mode)) = (&table.order_by, of_mode) {
            let message = format!(
                "ORDER BY or PRIMARY KEY is missing: {} of table \"{}\" makes one of rows with an equal key",
                mode.engine, table.name
            );
            return Err(SqlError::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message));
        }
    }
    let bare = |key: &[Expr]| key.iter().map(|part| part.to_string().replace('`', "")).collect::<Vec<_>>();
    let (order, primary) = (table.order_by.as_deref().map(bare), table.primary_key.as_deref().map(bare));
    if let (Some(key), Some(order)) = (&primary, &order)
        && !order.starts_with(key)
    {
        let message = format!("PRIMARY KEY of table \"{}\" must be a prefix of its ORDER BY", table.name);
        return Err(SqlError::bad_arguments(message));
    }
    if table.sample_by.as_ref().is_some_and(is_of_nothing) {
        return Err(no_sampling());
    }
    let sample = table.sample_by.as_ref().map(|sample| bare(&[keys::bare(sample.clone())]));
    if let (Some(sample), Some(key)) = (sample, primary.or(order))
        && !sample.iter().all(|part| key.contains(part))
    {
        return Err(SqlError::bad_arguments("the sampling expression must be present in the primary key"));
    }
    Ok(())
}
