//! The commands of ALTER TABLE about whole parts, and about two tables: partitions that go from one to the other, and SWAP WITH.
//!
//! Invariant: such a command stands alone, or beside others that do the same. Must not know: which partitions and parts there are.

use sqlparser::tokenizer::Token;

use crate::grammar::admin::partition;
use crate::reader::head::Head;
use crate::statement::{
    NamedParts, PartitionTransfer, PartsChange, PartsChangeKind, Statement, TableName, TransferKind,
};
use lexer::error::Result;

/// Behind ALTER TABLE t.
pub(crate) fn statement(head: &mut Head<'_>, table: &TableName) -> Result<Option<Statement>> {
    if head.words(&["SWAP", "WITH"]) {
        return Ok(Some(Statement::Exchange(table.clone(), head.table_name()?)));
    }
    for (verb, kind) in [("REPLACE", TransferKind::Replace), ("MOVE", TransferKind::Move)] {
        if let Some(parts) = behind(head, &[verb])? {
            return transfer(head, table, kind, parts).map(Some);
        }
    }
    let Some((kind, parts)) = command(head)? else { return Ok(None) };
    if kind == PartsChangeKind::Attach && head.peek_word("FROM") {
        return transfer(head, table, TransferKind::Attach, parts).map(Some);
    }
    let mut change = PartsChange { table: table.clone(), kind, parts: vec![parts] };
    while head.symbol(&Token::Comma) {
        match command(head)? {
            Some((kind, parts)) if kind == change.kind && !is_copy(&kind) => change.parts.push(parts),
            _ => return Err(head.refuse("DETACH, ATTACH, DROP DETACHED or FREEZE beside other commands")),
        }
    }
    Ok(Some(Statement::ChangeParts(Box::new(change))))
}

fn is_copy(kind: &PartsChangeKind) -> bool {
    matches!(kind, PartsChangeKind::Freeze { .. } | PartsChangeKind::Unfreeze { .. })
}

fn command(head: &mut Head<'_>) -> Result<Option<(PartsChangeKind, NamedParts)>> {
    let verbs: [(&[&str], PartsChangeKind); 3] = [
        (&["DETACH"], PartsChangeKind::Detach),
        (&["ATTACH"], PartsChangeKind::Attach),
        (&["DROP", "DETACHED"], PartsChangeKind::DropDetached),
    ];
    for (verb, kind) in verbs {
        if let Some(parts) = behind(head, verb)? {
            return Ok(Some((kind, parts)));
        }
    }
    for verb in ["FREEZE", "UNFREEZE"] {
        let parts = match behind(head, &[verb])? {
            Some(NamedParts::Part(_)) => return Err(head.refuse(&format!("{verb} PART"))),
            Some(parts) => parts,
            None if head.word(verb) => NamedParts::All,
            None => continue,
        };
        let name = if head.words(&["WITH", "NAME"]) { Some(head.text("a name")?) } else { None };
        return match (verb, name) {
            ("FREEZE", name) => Ok(Some((PartsChangeKind::Freeze { name }, parts))),
            (_, Some(name)) => Ok(Some((PartsChangeKind::Unfreeze { name }, parts))),
            (_, None) => Err(head.expected("WITH NAME")),
        };
    }
    Ok(None)
}

/// The parts that are named behind these words, if they stand there with PARTITION or PART.
fn behind(head: &mut Head<'_>, verb: &[&str]) -> Result<Option<NamedParts>> {
    if head.words(&[verb, &["PARTITION"]].concat()) {
        let named = if head.word("ALL") { NamedParts::All } else { NamedParts::Partition(partition(head)?) };
        return Ok(Some(named));
    }
    if head.words(&[verb, &["PART"]].concat()) {
        return Ok(Some(NamedParts::Part(head.text("a part's name")?)));
    }
    Ok(None)
}

/// From FROM or TO TABLE on: the other table.
fn transfer(
    head: &mut Head<'_>,
    table: &TableName,
    kind: TransferKind,
    parts: NamedParts,
) -> Result<Statement> {
    let partition = match parts {
        NamedParts::All => None,
        NamedParts::Partition(partition) => Some(partition),
        NamedParts::Part(_) => {
            return Err(head.refuse("a PART that comes from, or goes to, another table or disk"));
        }
    };
    let (from, to) = match kind {
        TransferKind::Move => {
            if !head.words(&["TO", "TABLE"]) {
                return Err(head.refuse("MOVE PARTITION to anything but a TABLE"));
            }
            (table.clone(), head.table_name()?)
        }
        TransferKind::Attach | TransferKind::Replace => {
            if !head.word("FROM") {
                return Err(head.expected("FROM and a table"));
            }
            (head.table_name()?, table.clone())
        }
    };
    if *head.token() == Token::Comma {
        return Err(head.refuse("a partition of another table beside other commands"));
    }
    Ok(Statement::TransferPartition(Box::new(PartitionTransfer { from, to, partition, kind })))
}
