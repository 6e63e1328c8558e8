//! `remote('127.0.0.1', db.t)`, `cluster('default', db.t)`: calls about tables of servers, of which this one is the only one
//! that can be asked.
//!
//! Invariant: a call is the table itself, once for each address of this server, or an error. Must not know: which tables
//! there are, names of hosts.

use std::ops::ControlFlow;

use model::ErrorCode;
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, Query, TableFactor,
    TableFunctionArgs, VisitMut, VisitorMut,
};

use crate::dialect::{name_of, plain_args, text_of};
use crate::reader::head::Head;
use crate::reader::tokens::tokenize;
use crate::statement::TableName;
use lexer::error::{Result, SqlError};

/// Addresses of one call. ClickHouse's `table_function_remote_max_addresses`.
const ADDRESSES_MAX: usize = 1000;

/// The functions: name, and whether addresses stand first, not a cluster.
const FUNCTIONS: &[(&str, bool)] =
    &[("remote", true), ("remoteSecure", true), ("cluster", false), ("clusterAllReplicas", false)];

/// The one cluster there is: this server.
pub(crate) const CLUSTER: &str = "default";

/// Puts tables where calls about servers stand.
///
/// # Errors
/// Another server is named.
pub(crate) fn of_this_server(query: &mut Query, written: &str) -> Result<()> {
    let written = written.to_ascii_lowercase();
    if !written.contains("remote") && !written.contains("cluster") {
        return Ok(());
    }
    match query.visit(&mut Servers { items: Vec::new() }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Whether a call outside of a query is about servers.
pub(crate) fn is_about_servers(function: &Function) -> bool {
    let name = name_of(function);
    FUNCTIONS.iter().any(|(known, _)| *known == name)
}

/// The table that INSERT INTO FUNCTION writes through such a call; `None` for other calls.
///
/// # Errors
/// Another server is named, or what is named is no table.
pub(crate) fn written_table(function: &Function) -> Result<Option<TableName>> {
    let name = name_of(function);
    let Some((name, by_address)) = FUNCTIONS.iter().find(|(known, _)| *known == name) else {
        return Ok(None);
    };
    let call = Call { name, by_address: *by_address, arguments: plain_args(function) };
    if call.copies()? > 1 {
        return Err(SqlError::not_implemented(format!("INSERT INTO FUNCTION {name} of several addresses")));
    }
    match call.table()? {
        Source::Table(parts) => {
            let mut parts = parts.into_iter().map(|part| part.value);
            let (first, second) = (parts.next().unwrap_or_default(), parts.next());
            Ok(Some(match second {
                Some(table) => TableName { database: Some(first), table },
                None => TableName { database: None, table: first },
            }))
        }
        Source::Call(_) => Err(call.wrong("names no table that takes rows")),
    }
}

struct Servers {
    /// Names of WITH items, which a table's name must not mean.
    items: Vec<String>,
}

impl VisitorMut for Servers {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        let items = query.with.iter().flat_map(|with| &with.cte_tables);
        self.items.extend(items.map(|item| item.alias.name.value.clone()));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<SqlError> {
        match self.replace(factor) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl Servers {
    fn replace(&self, factor: &mut TableFactor) -> Result<()> {
        let TableFactor::Table { name, args, .. } = factor else { return Ok(()) };
        let (Some(written), [part]) = (args.as_ref(), name.0.as_slice()) else { return Ok(()) };
        let Some(word) = part.as_ident() else { return Ok(()) };
        let Some((known, by_address)) = FUNCTIONS.iter().find(|(known, _)| *known == word.value) else {
            return Ok(());
        };
        let arguments = written.args.iter().filter_map(|arg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
            _ => None,
        });
        let call = Call { name: known, by_address: *by_address, arguments: arguments.collect() };
        if call.arguments.len() != written.args.len() {
            return Err(call.wrong("takes no such arguments"));
        }
        let copies = call.copies()?;
        match call.table()? {
            Source::Table(parts) => {
                if let [bare] = parts.as_slice()
                    && self.items.contains(&bare.value)
                {
                    let message = format!("{known}(..) of a table that has the name of a WITH item");
                    return Err(SqlError::not_implemented(message));
                }
                *name = ObjectName::from(parts);
                *args = None;
            }
            Source::Call(function) => {
                let FunctionArguments::List(list) = function.args else {
                    return Err(call.wrong("takes a call with arguments"));
                };
                *name = function.name;
                *args = Some(TableFunctionArgs { args: list.args, settings: None });
            }
        }
        if copies > 1 { repeat(factor, copies) } else { Ok(()) }
    }
}

/// The rows of a table so many times.
fn repeat(factor: &mut TableFactor, copies: usize) -> Result<()> {
    let arms = vec!["SELECT * FROM t"; copies].join(" UNION ALL ");
    let mut subquery = Head::new(&arms, 0, tokenize(&arms)?)?.query()?;
    let TableFactor::Table { alias, .. } = factor else { return Ok(()) };
    let alias = alias.take();
    // It breaks off nowhere.
    let _ = subquery.visit(&mut Filling(factor.clone()));
    *factor = TableFactor::Derived { lateral: false, subquery, alias, sample: None };
    Ok(())
}

/// Puts one table in the place of every other.
struct Filling(TableFactor);

impl VisitorMut for Filling {
    type Break = ();

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        *factor = self.0.clone();
        ControlFlow::Continue(())
    }
}

/// What is read.
enum Source {
    /// One part or two.
    Table(Vec<Ident>),
    Call(Box<Function>),
}

struct Call<'a> {
    name: &'a str,
    by_address: bool,
    arguments: Vec<Expr>,
}

impl Call<'_> {
    fn wrong(&self, why: &str) -> SqlError {
        SqlError::bad_arguments(format!("table function {} {why}", self.name))
    }

    /// How often the table is read: once for each address, each of which is this server.
    fn copies(&self) -> Result<usize> {
        let Some(first) = self.arguments.first() else {
            let message = format!(
                "table function {} takes {} and a table",
                self.name,
                if self.by_address { "addresses" } else { "a cluster" }
            );
            return Err(SqlError::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message));
        };
        if self.by_address {
            let addresses = text_of(first).ok_or_else(|| self.wrong("takes addresses as a text"))?;
            return of_addresses(addresses);
        }
        let cluster = match first {
            Expr::Identifier(name) => name.value.as_str(),
            other => text_of(other).ok_or_else(|| self.wrong("takes the name of a cluster"))?,
        };
        if cluster == CLUSTER {
            return Ok(1);
        }
        let message = format!("requested cluster '{cluster}' not found: the only cluster is {CLUSTER}");
        Err(SqlError::new(ErrorCode::CLUSTER_DOESNT_EXIST, message))
    }

    /// What stands behind the addresses; nothing means `system.one`. A user, a password and a key are of no use here.
    fn table(&self) -> Result<Source> {
        let named = |expr: &Expr| match expr {
            Expr::Identifier(name) => Some(name.clone()),
            other => text_of(other).map(|name| Ident::with_quote('`', name)),
        };
        match self.arguments.get(1..).unwrap_or_default() {
            [] => Ok(Source::Table(vec![Ident::new("system"), Ident::new("one")])),
            [Expr::CompoundIdentifier(parts), ..] if parts.len() == 2 => Ok(Source::Table(parts.clone())),
            [Expr::Function(current), table, ..] if is_current_database(current) => {
                let table = named(table).ok_or_else(|| self.wrong("takes the name of a table"))?;
                Ok(Source::Table(vec![table]))
            }
            [Expr::Function(function), ..] => Ok(Source::Call(Box::new(function.clone()))),
            [database, table, ..] => match (named(database), named(table)) {
                (Some(database), Some(table)) => Ok(Source::Table(vec![database, table])),
                _ => Err(self.wrong("takes the name of a table")),
            },
            [_] => Err(self.wrong("takes a database and a table")),
        }
    }
}

fn is_current_database(function: &Function) -> bool {
    let name = name_of(function);
    ["currentDatabase", "current_database", "database", "schema"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(&name))
}

/// The number of addresses, each of this server. One of those that `|` joins is enough.
fn of_addresses(written: &str) -> Result<usize> {
    let shards = alternatives(written, ',');
    if shards.len() > ADDRESSES_MAX {
        return Err(SqlError::bad_arguments(format!("more than {ADDRESSES_MAX} addresses")));
    }
    let here = |shard: &String| alternatives(shard, '|').iter().any(|address| is_here(address));
    let found = shards.iter().filter(|shard| here(shard)).count();
    if found == shards.len() {
        return Ok(found);
    }
    // As ClickHouse has it: without any that answers not even the columns are known.
    let code = match found {
        0 => ErrorCode::NO_REMOTE_SHARD_AVAILABLE,
        _ => ErrorCode::ALL_CONNECTION_TRIES_FAILED,
    };
    let message = "all connection tries failed: this server asks no other one";
    Err(SqlError::new(code, message)
        .with_hint("remote() reads tables of 127.0.0.1 and localhost without a port"))
}

fn is_here(address: &str) -> bool {
    ["127.0.0.1", "127.1", "localhost", "::1", "[::1]"].contains(&address.trim())
}

/// What a pattern stands for: parts between separators, and `{a,b}` and `{1..3}` within each.
fn alternatives(pattern: &str, separator: char) -> Vec<String> {
    let mut found = Vec::new();
    for part in split(pattern, separator) {
        let Some((before, inner, behind)) = braces(part, separator) else {
            found.push(part.to_owned());
            continue;
        };
        let choices = match range(inner) {
            Some(numbers) => numbers,
            None => split(inner, separator).into_iter().map(str::to_owned).collect(),
        };
        for choice in choices {
            found.extend(alternatives(&format!("{before}{choice}{behind}"), separator));
            if found.len() > ADDRESSES_MAX {
                return found;
            }
        }
    }
    found
}

/// The parts between separators that stand in no braces.
fn split(text: &str, separator: char) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_usize, 0, Vec::new());
    for (at, found) in text.char_indices() {
        match found {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            other if other == separator && depth == 0 => {
                parts.push(&text[start..at]);
                start = at + other.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// The first braces with such choices: what stands before, in and behind them.
fn braces(text: &str, separator: char) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let open = from + text[from..].find('{')?;
        let close = open + text[open..].find('}')?;
        let inner = &text[open + 1..close];
        if inner.contains(separator) || separator == ',' && range(inner).is_some() {
            return Some((&text[..open], inner, &text[close + 1..]));
        }
        from = close + 1;
    }
}

/// `1..3`, with zeros in front as the first number has them.
fn range(inner: &str) -> Option<Vec<String>> {
    let (first, last) = inner.split_once("..")?;
    let (from, to) = (first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
    let width = if first.starts_with('0') { first.len() } else { 0 };
    let most = u64::try_from(ADDRESSES_MAX).unwrap_or(u64::MAX);
    Some((from..=to.min(from.saturating_add(most))).map(|number| format!("{number:0width$}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::{parse_one, parse_query};

    fn read(text: &str) -> String {
        parse_query(text)
            .map_or_else(|error| error.code.name().to_owned(), |query| query.to_string().replace('`', ""))
    }

    #[test]
    fn calls_about_this_server_are_tables() {
        for (written, wanted) in [
            ("SELECT * FROM remote('127.0.0.1', d.t) AS a", "SELECT * FROM d.t AS a"),
            ("SELECT * FROM remote('localhost', d, 't', 'user', '')", "SELECT * FROM d.t"),
            ("SELECT * FROM remote('127.0.0.1', currentDatabase(), t)", "SELECT * FROM t"),
            ("SELECT * FROM remote('127.0.0.1')", "SELECT * FROM system.one"),
            ("SELECT * FROM remote('127.0.0.1|127.0.0.2', numbers(3))", "SELECT * FROM numbers(3)"),
            (
                "SELECT * FROM remote('127.0.0.{1,1}', d.t)",
                "SELECT * FROM (SELECT * FROM d.t UNION ALL SELECT * FROM d.t)",
            ),
            ("SELECT * FROM cluster('default', d.t)", "SELECT * FROM d.t"),
            ("SELECT * FROM clusterAllReplicas(other, d.t)", "CLUSTER_DOESNT_EXIST"),
            ("SELECT * FROM remote('127.0.0.{1,2}', d.t)", "ALL_CONNECTION_TRIES_FAILED"),
            ("SELECT * FROM remote('127.0.0.{2..4}', d.t)", "NO_REMOTE_SHARD_AVAILABLE"),
            ("SELECT * FROM remote('127.0.0.1:1', d.t)", "NO_REMOTE_SHARD_AVAILABLE"),
            ("WITH t AS (SELECT 1) SELECT * FROM remote('127.1', currentDatabase(), t)", "NOT_IMPLEMENTED"),
            ("SELECT * FROM remote(d.t)", "BAD_ARGUMENTS"),
            ("SELECT remote FROM t", "SELECT remote FROM t"),
        ] {
            assert_eq!(read(written), wanted, "{written}");
        }
    }

    #[test]
    fn patterns_have_alternatives() {
        assert_eq!(alternatives("a{1,2}b,c", ','), ["a1b", "a2b", "c"]);
        assert_eq!(alternatives("a{09..11}", ','), ["a09", "a10", "a11"]);
        assert_eq!(alternatives("a{1,2}{x|y}", ','), ["a1{x|y}", "a2{x|y}"]);
        assert_eq!(alternatives("a1{x|y}", '|'), ["a1x", "a1y"]);
    }

    #[test]
    fn rows_go_into_the_table() {
        let target = |text: &str| match parse_one(text) {
            Ok(parsed) => format!("{:?}", parsed.statement).contains("Table(TableName"),
            Err(error) => panic!("{text}: {error}"),
        };
        assert!(target("INSERT INTO FUNCTION remote('127.0.0.1', d.t) SELECT 1"));
        assert!(!target("INSERT INTO FUNCTION file('a.csv') SELECT 1"));
    }
}
