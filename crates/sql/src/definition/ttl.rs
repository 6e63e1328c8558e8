//! TTL of a table and of its columns: when rows and values are too old.
//!
//! The TTL of a table is kept as text over names, in ClickHouse's grammar; that of a column, which is none of ClickHouse's
//! clauses of a table, as `id expression` over ids. Invariant: what is kept reads back, or was kept by an older version as it
//! was written. Must not know: rows, types.

use std::ops::ControlFlow;

use model::table_def::{parse_stored_column_name, stored_column_name};
use model::{ColumnDef, ColumnId, ColumnType, ErrorCode, KeptClause, TableDef};
use sqlparser::ast::{Expr, Function, VisitMut, VisitorMut};

use super::kept::{read, texts};
use crate::dialect::{call, name_of, number, plain_args};
use crate::grammar::ttl::{TtlAction, formatted, items};
use crate::parser::parse_expression;
use crate::printer::printed::printed;
use crate::statement::ColumnSpec;
use crate::table_text::{COLUMN_TTL, named_expression, stored_expr};
use lexer::error::{Result, SqlError};

/// The keyword under which the TTL of a table is kept.
pub const TTL: &str = "TTL";

/// When rows, or values of a column, are too old. Texts are stored expressions.
#[derive(Clone, PartialEq, Debug)]
pub struct TtlRule {
    /// The moment from which they are.
    pub expression: String,
    /// Only rows of which this holds.
    pub condition: Option<String>,
    /// Whose values become its defaults; without it rows are deleted.
    pub column: Option<ColumnId>,
}

/// Whether rows or values of a table may be too old one day.
pub fn has_ttl(def: &TableDef) -> bool {
    def.kept.iter().any(|clause| *clause.keyword == *TTL || *clause.keyword == *COLUMN_TTL)
}

/// What is too old in a table. Whatever does not change rows is left out.
///
/// # Errors
/// A clause that an older version kept as it was written is none of these.
pub fn ttl_rules(def: &TableDef) -> Result<Vec<TtlRule>> {
    let mut rules = vec![];
    for text in texts(def, TTL) {
        let unreadable = |error: SqlError| error.with_hint("ALTER TABLE .. MODIFY TTL gives it another");
        for item in read(text, items).map_err(unreadable)? {
            let TtlAction::Delete { condition } = item.action else { continue };
            rules.push(TtlRule {
                expression: stored_expr(&item.expression, &def.columns)?,
                condition: condition.map(|condition| stored_expr(&condition, &def.columns)).transpose()?,
                column: None,
            });
        }
    }
    for text in texts(def, COLUMN_TTL) {
        if let Some((id, expression)) = text.split_once(' ')
            && let Some(column) = parse_stored_column_name(id)
        {
            rules.push(TtlRule { expression: expression.to_owned(), condition: None, column: Some(column) });
        }
    }
    Ok(rules)
}

/// The moment of a rule in types that go on for centuries: Date and DateTime end in 2149 and 2106, and what is added to their
/// ends would wrap to long ago.
///
/// # Errors
/// The rule is no expression.
pub fn lasting_moment(rule: &TtlRule, def: &TableDef) -> Result<String> {
    let mut moment = parse_expression(&rule.expression)?;
    // It breaks off nowhere.
    let _ = VisitMut::visit(&mut moment, &mut Lasting { def });
    Ok(printed(&moment))
}

/// What a function's result has to be for centuries.
enum Lasts {
    Days,
    Seconds,
}

/// Of functions that give a Date or a DateTime, which end too early.
fn lasting_type(function: &str) -> Option<Lasts> {
    const MOMENTS: &[&str] =
        &["tostartof", "tomonday", "tolastday", "parsedatetime", "fromunixtimestamp", "make", "date_trunc"];
    let name = function.to_ascii_lowercase();
    // Those that go on for centuries by themselves, and numbers.
    if name.contains("date32") || name.contains("64") {
        return None;
    }
    if name.starts_with("todatetime") || MOMENTS.iter().any(|moment| name.starts_with(moment)) {
        return Some(Lasts::Seconds);
    }
    name.starts_with("todate").then_some(Lasts::Days)
}

/// Whether it makes a Date or a DateTime of anything, and nothing else.
fn converts(function: &Function) -> bool {
    ["todate", "todatetime"].contains(&name_of(function).to_ascii_lowercase().as_str())
}

/// Whether it is a call that gives one of the longer types, or a sum with one.
fn is_lasting(expr: &Expr) -> bool {
    match expr {
        Expr::Function(function) => ["toDate32", "toDateTime64"].contains(&name_of(function).as_str()),
        Expr::BinaryOp { left, right, .. } => is_lasting(left) || is_lasting(right),
        Expr::Nested(inner) => is_lasting(inner),
        _ => false,
    }
}

struct Lasting<'a> {
    def: &'a TableDef,
}

impl VisitorMut for Lasting<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let lasting = match expr {
            Expr::Identifier(name) => {
                let id = parse_stored_column_name(&name.value);
                let column = id.and_then(|id| self.def.column_by_id(id));
                match column.map(|column| column.column_type.value_type()) {
                    Some(ColumnType::Date | ColumnType::Date32) => call("toDate32", vec![expr.clone()]),
                    Some(ColumnType::DateTime { .. } | ColumnType::DateTime64 { .. }) => {
                        call("toDateTime64", vec![expr.clone(), number("0")])
                    }
                    _ => return ControlFlow::Continue(()),
                }
            }
            Expr::Function(function) => {
                let Some(lasts) = lasting_type(&name_of(function)) else { return ControlFlow::Continue(()) };
                // A time becomes the longer one at once. What a number or a text becomes is as it was.
                let value = match plain_args(function).as_slice() {
                    [time] if converts(function) && is_lasting(time) => time.clone(),
                    _ => expr.clone(),
                };
                match lasts {
                    Lasts::Days => call("toDate32", vec![value]),
                    Lasts::Seconds => call("toDateTime64", vec![value, number("0")]),
                }
            }
            _ => return ControlFlow::Continue(()),
        };
        *expr = lasting;
        ControlFlow::Continue(())
    }
}

/// `text` of the table's TTL, or none.
///
/// # Errors
/// It cannot be read, or there is none to take away.
pub fn set_ttl(def: &mut TableDef, text: Option<&str>) -> Result<()> {
    let before = def.kept.len();
    def.kept.retain(|clause| *clause.keyword != *TTL);
    match text {
        Some(text) => {
            def.kept.push(KeptClause { keyword: TTL.into(), text: text.into() });
            ttl_rules(def).map(drop)
        }
        None if def.kept.len() == before => {
            Err(SqlError::bad_arguments("the table has no TTL expression, cannot remove it"))
        }
        None => Ok(()),
    }
}

/// Makes the table's TTL say the names of `def`, which were others in `before`.
///
/// # Errors
/// It cannot be read.
pub fn follow_names(before: &TableDef, def: &mut TableDef) -> Result<()> {
    let renamed = |expression: &mut Expr| -> Result<()> {
        let stored = stored_expr(expression, &before.columns)?;
        *expression = parse_expression(&named_expression(&stored, def))?;
        Ok(())
    };
    let mut found = Vec::new();
    for text in texts(before, TTL) {
        let mut items = read(text, items)?;
        for item in &mut items {
            renamed(&mut item.expression)?;
            if let TtlAction::Delete { condition: Some(condition) } = &mut item.action {
                renamed(condition)?;
            }
        }
        found.push(formatted(&items));
    }
    let clauses = def.kept.iter_mut().filter(|clause| *clause.keyword == *TTL);
    clauses.zip(found).for_each(|(clause, text)| clause.text = text.into());
    Ok(())
}

/// The TTL of the columns of a new table.
///
/// # Errors
/// One names a column that is not there, or stands at a column of a key.
pub fn with_column_ttls(def: &mut TableDef, specs: &[ColumnSpec]) -> Result<()> {
    for spec in specs {
        if let (Some(ttl), Some(column)) = (&spec.ttl, def.column(&spec.name)) {
            let id = column.id;
            set_column_ttl(def, id, ttl)?;
        }
    }
    Ok(())
}

/// The TTL of a column, in the place of what it had.
///
/// # Errors
/// It names a column that is not there, or stands at a column of a key.
pub fn set_column_ttl(def: &mut TableDef, id: ColumnId, ttl: &Expr) -> Result<()> {
    let name = format!("`{}`", stored_column_name(id));
    if def.order_by.iter().chain(&def.partition_by).any(|key| key.contains(&name)) {
        let column = def.column_by_id(id).map_or_else(String::new, |column| column.name.to_string());
        let message = format!("trying to set TTL for key column {column}");
        return Err(SqlError::new(ErrorCode::ILLEGAL_COLUMN, message));
    }
    let text = format!("{} {}", stored_column_name(id), stored_expr(ttl, &def.columns)?);
    remove_column_ttl(def, id);
    def.kept.push(KeptClause { keyword: COLUMN_TTL.into(), text: text.into() });
    Ok(())
}

/// Takes the TTL of a column away; whether there was one.
pub fn remove_column_ttl(def: &mut TableDef, id: ColumnId) -> bool {
    let before = def.kept.len();
    def.kept.retain(|clause| *clause.keyword != *COLUMN_TTL || ttl_column(&clause.text) != Some(id));
    def.kept.len() < before
}

fn ttl_column(text: &str) -> Option<ColumnId> {
    parse_stored_column_name(text.split_once(' ')?.0)
}

/// The column whose TTL needs another column.
pub fn column_whose_ttl_needs(def: &TableDef, id: ColumnId) -> Option<&ColumnDef> {
    let name = format!("`{}`", stored_column_name(id));
    let needs = |text: &&str| text.contains(&name) && ttl_column(text) != Some(id);
    texts(def, COLUMN_TTL).find(needs).and_then(|text| def.column_by_id(ttl_column(text)?))
}

#[cfg(test)]
mod tests {
    use model::{TableEngine, TableId};

    use super::*;

    #[test]
    fn moments_are_computed_in_types_that_last() {
        let columns = [(1, "d", "Date"), (2, "t", "DateTime"), (3, "n", "Int64"), (4, "l", "DateTime64(3)")];
        let columns = columns
            .map(|(id, name, kind)| ColumnDef::plain(id, name, model::type_name::parse(kind).unwrap()));
        let def = TableDef::plain(TableId::from_bytes([1; 16]), "t", TableEngine::MergeTree, columns.into());
        let cases = [
            ("d + INTERVAL 1 YEAR", "toDate32(`#1`) + toIntervalYear(1)"),
            ("t", "toDateTime64(`#2`, 0)"),
            // What a number becomes is as it was: -1 is 0, which is never.
            ("toDateTime(n)", "toDateTime64(toDateTime(`#3`), 0)"),
            ("toDate(n) + 1", "toDate32(toDate(`#3`)) + 1"),
            ("toDateTime(l) + INTERVAL 1 DAY", "toDateTime64(toDateTime64(`#4`, 0), 0) + toIntervalDay(1)"),
            ("toDate(t) + 1", "toDate32(toDateTime64(`#2`, 0)) + 1"),
            ("toStartOfMonth(d) + 1", "toDateTime64(toStartOfMonth(toDate32(`#1`)), 0) + 1"),
        ];
        for (written, expected) in cases {
            let expression = stored_expr(&parse_expression(written).unwrap(), &def.columns).unwrap();
            let rule = TtlRule { expression, condition: None, column: None };
            let moment = lasting_moment(&rule, &def).unwrap();
            assert_eq!(moment.replace('`', ""), expected.replace('`', ""), "{written}");
        }
    }
}
