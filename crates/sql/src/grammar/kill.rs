//! KILL QUERY and KILL MUTATION: whom a condition names, and whether somebody waits for their ends.
//!
//! Invariant: what the condition says is asked of the system tables by the statement that this becomes. Must not know: who runs.

use crate::grammar::query;
use crate::reader::head::Head;
use crate::statement::{KillMode, Statement};
use lexer::error::Result;

pub(super) fn kill(head: &mut Head<'_>) -> Result<Statement> {
    if head.peek_word("TRANSACTION") {
        return Err(head.refuse("KILL of anything but QUERY and MUTATION"));
    }
    let of_mutation = head.word("MUTATION");
    if !of_mutation {
        head.expect_word("QUERY")?;
    }
    head.on_cluster()?;
    head.expect_word("WHERE")?;
    let start = head.offset();
    head.expression()?;
    let condition = head.text_between(start, head.offset_behind());
    if of_mutation {
        return kill_mutation(head, condition);
    }
    let columns = "SELECT query_id, user, query FROM system.processes WHERE";
    let victims = Box::new(query::of_text(&format!("{columns} ({condition})"))?);
    let mode = kill_mode(head)?;
    Ok(Statement::KillQuery { victims, mode })
}

fn kill_mode(head: &mut Head<'_>) -> Result<KillMode> {
    match (head.word("SYNC"), head.word("ASYNC"), head.word("TEST")) {
        (false, _, false) => Ok(KillMode::Async),
        (true, false, false) => Ok(KillMode::Sync),
        (false, false, true) => Ok(KillMode::Test),
        _ => Err(head.expected("one of SYNC, ASYNC and TEST")),
    }
}

/// A mutation is done when its statement is answered, and that statement KILL QUERY ends: those that are not done are none.
fn kill_mutation(head: &mut Head<'_>, condition: &str) -> Result<Statement> {
    kill_mode(head)?;
    let columns = "SELECT '' AS kill_status, database, table, mutation_id, command FROM system.mutations";
    Ok(Statement::Query(query::of_text(&format!("{columns} WHERE ({condition}) AND NOT is_done"))?))
}
