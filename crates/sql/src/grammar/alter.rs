//! ALTER TABLE: what happens to columns, comments and settings of a table.
//!
//! Invariant: what is not done here is refused by its name. Must not know: which columns there are.

use model::DefaultKind;
use sqlparser::ast::Expr;
use sqlparser::tokenizer::Token;

use crate::grammar::admin::partition;
use crate::grammar::column::{column, constraint, modified_column};
use crate::grammar::refresh::refresh;
use crate::grammar::{engine, kept, mutation, parts, query, ttl};
use crate::reader::head::Head;
use crate::statement::{Alter, AlterCommand, ColumnPlace, ColumnProperty, Mutation, Statement};
use lexer::error::Result;

/// Behind ALTER TABLE.
pub(crate) fn table(head: &mut Head<'_>) -> Result<Statement> {
    if head.peek_word("IF") && *head.token_after(1) != Token::Period {
        return Err(head.refuse("ALTER TABLE IF EXISTS"));
    }
    let table = head.table_name()?;
    head.on_cluster()?;
    if let Some(statement) = parts::statement(head, &table)? {
        return Ok(statement);
    }
    let (mut commands, mut rows) = (vec![], vec![]);
    loop {
        // Each may stand in parentheses.
        let is_enclosed = head.symbol(&Token::LParen);
        match mutation::command(head)? {
            Some(command) => rows.push(command),
            None => commands.push(command(head)?),
        }
        if is_enclosed {
            head.expect_symbol(&Token::RParen)?;
        }
        if !head.symbol(&Token::Comma) {
            break;
        }
    }
    if commands.is_empty() {
        return Ok(Statement::Mutate(Box::new(Mutation { table, commands: rows })));
    }
    if !rows.is_empty() && commands.iter().any(|command| matches!(command, AlterCommand::ModifyQuery(_))) {
        return Err(head.refuse("MODIFY QUERY beside commands about rows"));
    }
    let rows = (!rows.is_empty()).then(|| Mutation { table: table.clone(), commands: rows });
    Ok(Statement::Alter(Box::new(Alter { table, commands, rows })))
}

fn command(head: &mut Head<'_>) -> Result<AlterCommand> {
    if head.words(&["MODIFY", "QUERY"]) {
        return query::query(head).map(AlterCommand::ModifyQuery);
    }
    if head.words(&["MODIFY", "REFRESH"]) {
        return refresh(head).map(|refresh| AlterCommand::ModifyRefresh(Box::new(refresh)));
    }
    if head.words(&["ADD", "COLUMN"]) {
        let if_not_exists = head.if_not_exists();
        let (column, is_key) = column(head)?;
        refuse_key(head, is_key)?;
        return Ok(AlterCommand::AddColumn { column, if_not_exists, place: place(head)? });
    }
    if head.words(&["DROP", "COLUMN"]) {
        let if_exists = head.if_exists();
        return Ok(AlterCommand::DropColumn { name: head.column_name()?, if_exists });
    }
    if head.words(&["RENAME", "COLUMN"]) {
        let if_exists = head.if_exists();
        let from = head.column_name()?;
        head.expect_word("TO")?;
        return Ok(AlterCommand::RenameColumn { from, to: head.column_name()?, if_exists });
    }
    if head.words(&["ADD", "CONSTRAINT"]) {
        let if_not_exists = head.if_not_exists();
        return Ok(AlterCommand::AddConstraint { constraint: constraint(head)?, if_not_exists });
    }
    if head.words(&["DROP", "CONSTRAINT"]) {
        let if_exists = head.if_exists();
        return Ok(AlterCommand::DropConstraint { name: head.name("a constraint's name")?, if_exists });
    }
    if head.words(&["MODIFY", "COLUMN"]) || head.words(&["ALTER", "COLUMN"]) {
        return modify(head);
    }
    if head.words(&["COMMENT", "COLUMN"]) {
        let if_exists = head.if_exists();
        let name = head.column_name()?;
        return Ok(AlterCommand::CommentColumn { name, if_exists, comment: head.text("a comment")? });
    }
    if let Some(command) = of_kept(head)? {
        return Ok(command);
    }
    if head.words(&["MODIFY", "ORDER", "BY"]) {
        return head.key().map(AlterCommand::ModifyOrderBy);
    }
    if head.words(&["MODIFY", "SAMPLE", "BY"]) {
        kept::without_effect(head, "SAMPLE BY");
        return sampled(head).map(AlterCommand::ModifySampleBy);
    }
    if head.words(&["REMOVE", "SAMPLE", "BY"]) {
        return Ok(AlterCommand::RemoveSampleBy);
    }
    if head.words(&["MODIFY", "COMMENT"]) {
        return head.text("a comment").map(AlterCommand::CommentTable);
    }
    if head.words(&["MODIFY", "SETTING"]) {
        return head.settings().map(AlterCommand::ModifySettings);
    }
    if head.words(&["RESET", "SETTING"]) {
        let mut names = vec![head.name("a setting's name")?];
        while *head.token() == Token::Comma && matches!(head.token_after(2), Token::Comma | Token::EOF) {
            head.advance();
            names.push(head.name("a setting's name")?);
        }
        return Ok(AlterCommand::ResetSettings(names));
    }
    Err(refused(head))
}

fn sampled(head: &mut Head<'_>) -> Result<Expr> {
    let expression = head.expression()?;
    if engine::is_of_nothing(&expression) {
        return Err(engine::no_sampling());
    }
    Ok(expression)
}

/// Commands that change files and no rows: deleted rows are in no part that is read, and parts are as they should be.
fn touches_parts(head: &mut Head<'_>) -> Result<bool> {
    let touches = head.words(&["APPLY", "DELETED", "MASK"]) || head.words(&["REWRITE", "PARTS"]);
    if touches && head.words(&["IN", "PARTITION"]) {
        partition(head)?;
    }
    Ok(touches)
}

/// What happens to clauses that have no effect.
fn of_kept(head: &mut Head<'_>) -> Result<Option<AlterCommand>> {
    let command = if head.words(&["ADD", "INDEX"]) {
        let if_not_exists = head.if_not_exists();
        let index = kept::index(head)?;
        kept::without_effect(head, "INDEX");
        AlterCommand::AddIndex { index, if_not_exists, place: kept::place(head, "an index's name")? }
    } else if head.words(&["DROP", "INDEX"]) {
        let if_exists = head.if_exists();
        AlterCommand::DropIndex { name: head.name("an index's name")?, if_exists }
    } else if head.words(&["ADD", "PROJECTION"]) {
        let if_not_exists = head.if_not_exists();
        let projection = kept::projection(head)?;
        kept::without_effect(head, "PROJECTION");
        let place = kept::place(head, "a projection's name")?;
        AlterCommand::AddProjection { projection, if_not_exists, place }
    } else if head.words(&["DROP", "PROJECTION"]) {
        let if_exists = head.if_exists();
        AlterCommand::DropProjection { name: head.name("a projection's name")?, if_exists }
    } else if head.words(&["MODIFY", "TTL"]) {
        AlterCommand::ModifyTtl(ttl::ttl(head)?)
    } else if head.words(&["REMOVE", "TTL"]) {
        AlterCommand::RemoveTtl
    } else {
        return touch(head);
    };
    Ok(Some(command))
}

/// CLEAR and MATERIALIZE, and what changes files alone.
fn touch(head: &mut Head<'_>) -> Result<Option<AlterCommand>> {
    for verb in ["CLEAR", "MATERIALIZE"] {
        for what in ["INDEX", "PROJECTION"] {
            if head.words(&[verb, what]) {
                head.if_exists();
                head.name("a name")?;
                if head.words(&["IN", "PARTITION"]) {
                    head.word("ID");
                    head.expression()?;
                }
                head.warnings.push(format!("{verb} {what} has no effect"));
                return Ok(Some(AlterCommand::Touch));
            }
        }
    }
    Ok(touches_parts(head)?.then_some(AlterCommand::Touch))
}

/// Behind MODIFY COLUMN.
fn modify(head: &mut Head<'_>) -> Result<AlterCommand> {
    let if_exists = head.if_exists();
    let name = head.column_name()?;
    if head.word("REMOVE") {
        return Ok(AlterCommand::RemoveOfColumn { name, if_exists, what: property(head)? });
    }
    if head.peek_word("MODIFY") || head.peek_word("RESET") {
        return Err(head.refuse("SETTING of a column"));
    }
    // ALTER COLUMN x TYPE t.
    head.word("TYPE");
    let (column, is_key) = modified_column(head, name)?;
    refuse_key(head, is_key)?;
    Ok(AlterCommand::ModifyColumn { column, if_exists, place: place(head)? })
}

fn property(head: &mut Head<'_>) -> Result<ColumnProperty> {
    let properties = [
        ("DEFAULT", ColumnProperty::Default(DefaultKind::Default)),
        ("MATERIALIZED", ColumnProperty::Default(DefaultKind::Materialized)),
        ("ALIAS", ColumnProperty::Default(DefaultKind::Alias)),
        ("EPHEMERAL", ColumnProperty::Default(DefaultKind::Ephemeral)),
        ("COMMENT", ColumnProperty::Comment),
        ("CODEC", ColumnProperty::Codec),
        ("TTL", ColumnProperty::Ttl),
    ];
    if head.peek_word("SETTINGS") {
        return Err(
            head.refuse("REMOVE of anything but DEFAULT, MATERIALIZED, ALIAS, COMMENT, CODEC and TTL")
        );
    }
    let found = properties.iter().find(|(word, _)| head.word(word)).map(|(_, property)| *property);
    found.ok_or_else(|| head.expected("DEFAULT, MATERIALIZED, ALIAS, COMMENT or CODEC"))
}

fn place(head: &mut Head<'_>) -> Result<Option<ColumnPlace>> {
    if head.word("FIRST") {
        return Ok(Some(ColumnPlace::First));
    }
    if head.word("AFTER") {
        return head.column_name().map(|name| Some(ColumnPlace::After(name)));
    }
    Ok(None)
}

fn refuse_key(head: &Head<'_>, is_key: bool) -> Result<()> {
    if is_key { Err(head.refuse("PRIMARY KEY in ALTER TABLE")) } else { Ok(()) }
}

/// The error for a command that we know and do not have, or do not know.
fn refused(head: &Head<'_>) -> lexer::error::SqlError {
    const KNOWN: &[&str] = &[
        "ADD",
        "DROP",
        "RENAME",
        "MODIFY",
        "COMMENT",
        "RESET",
        "CLEAR",
        "DELETE",
        "UPDATE",
        "ATTACH",
        "DETACH",
        "FREEZE",
        "UNFREEZE",
        "FETCH",
        "MOVE",
        "REPLACE",
        "MATERIALIZE",
        "REMOVE",
        "APPLY",
        "FORGET",
        "REWRITE",
    ];
    let upper = |token: &Token| match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_ascii_uppercase()),
        _ => None,
    };
    let Some(verb) = upper(head.token()).filter(|verb| KNOWN.contains(&verb.as_str())) else {
        return head
            .expected("ADD, DROP, RENAME, MODIFY or COMMENT COLUMN, MODIFY COMMENT or MODIFY SETTING");
    };
    // What a condition or a name follows is said without it.
    let object = upper(head.token_after(1)).filter(|_| !matches!(verb.as_str(), "DELETE" | "UPDATE"));
    head.refuse(&match object {
        Some(object) => format!("ALTER TABLE .. {verb} {object}"),
        None => format!("ALTER TABLE .. {verb}"),
    })
}
