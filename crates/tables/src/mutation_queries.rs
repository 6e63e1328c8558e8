//! The SELECTs of which a mutation is made.
//!
//! Conditions stand in WHERE, and values alone among what is selected: names that they define reach nothing else. Invariant:
//! rows are known by their numbers. Must not know: where the rows are.

use std::ops::ControlFlow;

use boundary::error::Error;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, SelectItem, SetExpr, TableFactor,
    visit_expressions,
};
use model::{ColumnDef, ColumnType, TableDef};
use physical::nodes::numbered_part::PART_OFFSET;
use sql::Query;
use sql::escape::{always_quote_name, quote_text};

use sql::PLACEHOLDER_DATABASE as CALLS;

use crate::reserved::REWRITTEN;

/// How many rows a condition is about.
pub fn count(name: &str, condition: &Expr) -> Result<Query, Error> {
    select(&format!("SELECT count() FROM {} WHERE 1", source(name)), Some(condition), [])
}

/// The numbers of these rows, in any order.
pub fn numbers(name: &str, condition: &Expr) -> Result<Query, Error> {
    select(&format!("SELECT `{PART_OFFSET}` FROM {} WHERE 1", source(name)), Some(condition), [])
}

/// All rows as they are, in their order.
pub fn all(def: &TableDef) -> Result<Query, Error> {
    let columns: Vec<String> = def.stored_columns().map(|column| always_quote_name(&column.name)).collect();
    let text = format!("SELECT {} FROM {} ORDER BY `{PART_OFFSET}`", columns.join(", "), source(&def.name));
    select(&text, None, [])
}

/// The numbers of the rows of a condition, in order, and their new values, each cast to its type.
pub fn values<'a>(
    name: &str,
    condition: &Expr,
    values: impl IntoIterator<Item = (&'a Expr, &'a ColumnType)>,
) -> Result<Query, Error> {
    // Names that a value defines are no names of the condition, nor the other way round.
    let found = select(&format!("SELECT * FROM {} WHERE 1", source(name)), Some(condition), [])?;
    let text = format!(
        "SELECT `{PART_OFFSET}` FROM (SELECT 1) AS {} ORDER BY `{PART_OFFSET}`",
        always_quote_name(name)
    );
    let cast = |(value, column_type)| cast(value, column_type).map(SelectItem::UnnamedExpr);
    let items = values.into_iter().map(cast).collect::<Result<Vec<_>, Error>>()?;
    let mut query = select(&text, None, items)?;
    let SetExpr::Select(select) = query.ast.body.as_mut() else {
        return Err(Error::internal("a SELECT was read as something else"));
    };
    match select.from.first_mut().map(|from| &mut from.relation) {
        Some(TableFactor::Derived { subquery, .. }) => *subquery = found.ast,
        _ => return Err(Error::internal("a subquery was read as something else")),
    }
    Ok(query)
}

/// Whether a condition asks for the numbers of rows.
pub fn is_by_number(condition: &Expr) -> bool {
    let is_number = |expr: &Expr| matches!(expr, Expr::Identifier(name) if name.value == PART_OFFSET);
    let found = visit_expressions(condition, |expr| match is_number(expr) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Rows that have the values of a row before them in these columns, of one part.
///
/// # Errors
/// None, if the names are those of columns.
pub fn repeated(columns: &[&ColumnDef]) -> Result<Expr, Error> {
    let key = |column: &&ColumnDef| {
        let name = always_quote_name(&column.name);
        match column.column_type.value_type() {
            // Groups have one zero, and 0 and -0 are two values.
            ColumnType::Float32 | ColumnType::Float64 => format!("{name}, toString({name})"),
            _ => name,
        }
    };
    let keys: Vec<String> = columns.iter().map(key).collect();
    let (number, keys) = (always_quote_name(PART_OFFSET), keys.join(", "));
    let first = format!("SELECT min({number}) FROM {CALLS}.{REWRITTEN} GROUP BY {keys}");
    Ok(sql::parse_expression(&format!("{number} NOT IN ({first})"))?)
}

/// What is written anew, under the table's name.
fn source(name: &str) -> String {
    format!("{CALLS}.{REWRITTEN} AS {}", always_quote_name(name))
}

fn select(
    text: &str,
    condition: Option<&Expr>,
    items: impl IntoIterator<Item = SelectItem>,
) -> Result<Query, Error> {
    let mut query = sql::parse_query(text)?;
    let SetExpr::Select(select) = query.body.as_mut() else {
        return Err(Error::internal("a SELECT was read as something else"));
    };
    select.selection = condition.cloned().or_else(|| select.selection.take());
    select.projection.extend(items);
    Ok(Query::from(Box::new(query)))
}

/// `CAST(value, 'type')`.
fn cast(value: &Expr, column_type: &ColumnType) -> Result<Expr, Error> {
    let text = format!("_CAST(NULL, {})", quote_text(&column_type.to_string()));
    let mut call = sql::parse_expression(&text)?;
    let arguments = match &mut call {
        Expr::Function(Function { args: FunctionArguments::List(list), .. }) => &mut list.args,
        other => return Err(Error::internal(format!("{other} is no call"))),
    };
    let Some(first) = arguments.first_mut() else { return Err(Error::internal("a call without arguments")) };
    *first = FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Nested(Box::new(value.clone()))));
    Ok(call)
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::ast::Ident;

    use super::*;

    #[test]
    fn a_condition_stands_in_where_and_values_are_cast() {
        let condition = sql::parse_expression("a + 1 > 2").unwrap();
        let value = Expr::Identifier(Ident::new("c"));
        let query = values("t", &condition, [(&value, &ColumnType::UInt8)]).unwrap();
        let text = query.ast.to_string();
        assert!(text.starts_with("SELECT `\u{a0}row`, _CAST((c), 'UInt8') FROM"), "{text}");
        assert!(text.contains(" WHERE a + 1 > 2) AS"), "{text}");
    }
}
