//! DELETE FROM, UPDATE, and the commands of ALTER TABLE about rows and partitions.
//!
//! Invariant: a command without a condition is one that needs none. Must not know: which columns there are.

use sqlparser::tokenizer::Token;

use crate::grammar::admin::partition;
use crate::printer::formatted::formatted_expression;
use crate::reader::head::Head;
use crate::statement::{Mutation, Partition, RowChange, RowCommand, Statement, TableName};
use lexer::error::Result;
use lexer::escape::{quote_name, quote_text};

/// Behind DELETE: `FROM t [IN PARTITION p] WHERE condition`.
pub(crate) fn delete(head: &mut Head<'_>) -> Result<Statement> {
    head.expect_word("FROM")?;
    let table = head.table_name()?;
    head.on_cluster()?;
    let command = condition(head, |condition| RowChange::Delete { condition })?;
    Ok(of_one(table, command))
}

/// Behind UPDATE: `t SET a = b, .. [IN PARTITION p] WHERE condition`.
pub(crate) fn update(head: &mut Head<'_>) -> Result<Statement> {
    let table = head.table_name()?;
    head.on_cluster()?;
    head.expect_word("SET")?;
    let assignments = assignments(head)?;
    if head.peek_word("FROM") {
        return Err(head.refuse("UPDATE .. FROM"));
    }
    let command = condition(head, |condition| RowChange::Update { assignments, condition })?;
    Ok(of_one(table, command))
}

fn of_one(table: TableName, command: RowCommand) -> Statement {
    Statement::Mutate(Box::new(Mutation { table, commands: vec![command] }))
}

/// A command of ALTER TABLE about rows, if one stands there.
pub(crate) fn command(head: &mut Head<'_>) -> Result<Option<RowCommand>> {
    let command = if head.word("DELETE") {
        condition(head, |condition| RowChange::Delete { condition })?
    } else if head.word("UPDATE") {
        let assignments = assignments(head)?;
        condition(head, |condition| RowChange::Update { assignments, condition })?
    } else if head.words(&["DROP", "PARTITION"]) {
        let partition = if head.word("ALL") { None } else { Some(partition(head)?) };
        command_of(RowChange::DropPartition, partition)
    } else if head.words(&["DROP", "PART"]) {
        command_of(RowChange::DropPart { name: head.text("a part's name")? }, None)
    } else if head.words(&["CLEAR", "COLUMN"]) {
        let if_exists = head.if_exists();
        let change = RowChange::ClearColumn { name: head.column_name()?, if_exists };
        command_of(change, in_partition(head)?)
    } else if head.words(&["MATERIALIZE", "COLUMN"]) {
        let change = RowChange::MaterializeColumn { name: head.column_name()? };
        command_of(change, in_partition(head)?)
    } else if head.words(&["MATERIALIZE", "TTL"]) {
        command_of(RowChange::MaterializeTtl { is_forced: false }, in_partition(head)?)
    } else {
        return Ok(None);
    };
    Ok(Some(command))
}

fn command_of(change: RowChange, partition: Option<Partition>) -> RowCommand {
    let text = text_of(&change, partition.as_ref());
    RowCommand { change, partition, text }
}

/// The command as ClickHouse writes it.
fn text_of(change: &RowChange, partition: Option<&Partition>) -> String {
    let of_partition = |words: &str| match partition {
        None => String::new(),
        Some(Partition::Id(id)) => format!(" {words} ID {}", quote_text(id)),
        Some(Partition::Expression(value)) => format!(" {words} {}", formatted_expression(value)),
    };
    let within = of_partition("IN PARTITION");
    match change {
        RowChange::Delete { condition } => {
            format!("DELETE{within} WHERE {}", formatted_expression(condition))
        }
        RowChange::Update { assignments, condition } => {
            let assigned = |(name, value): &(String, sqlparser::ast::Expr)| {
                format!("{} = {}", quote_name(name), formatted_expression(value))
            };
            let assignments: Vec<String> = assignments.iter().map(assigned).collect();
            format!("UPDATE {}{within} WHERE {}", assignments.join(", "), formatted_expression(condition))
        }
        RowChange::DropPartition => format!("DROP{}", of_partition("PARTITION")),
        RowChange::DropPart { name } => format!("DROP PART {}", quote_text(name)),
        RowChange::ClearColumn { name, .. } => format!("CLEAR COLUMN {}{within}", quote_name(name)),
        RowChange::MaterializeTtl { .. } => format!("MATERIALIZE TTL{within}"),
        RowChange::MaterializeColumn { name } => format!("MATERIALIZE COLUMN {}{within}", quote_name(name)),
    }
}

/// `[IN PARTITION p] WHERE condition`.
fn condition(
    head: &mut Head<'_>,
    change: impl FnOnce(Box<sqlparser::ast::Expr>) -> RowChange,
) -> Result<RowCommand> {
    let partition = in_partition(head)?;
    head.expect_word("WHERE")?;
    let condition = head.expression()?;
    Ok(command_of(change(Box::new(condition)), partition))
}

fn in_partition(head: &mut Head<'_>) -> Result<Option<Partition>> {
    if head.words(&["IN", "PARTITION"]) { partition(head).map(Some) } else { Ok(None) }
}

/// `a = 1, b = c + 1`.
fn assignments(head: &mut Head<'_>) -> Result<Vec<(String, sqlparser::ast::Expr)>> {
    let mut assignments = Vec::new();
    loop {
        let name = head.column_name()?;
        head.expect_symbol(&Token::Eq)?;
        assignments.push((name, head.expression()?));
        if !head.symbol(&Token::Comma) {
            return Ok(assignments);
        }
    }
}
