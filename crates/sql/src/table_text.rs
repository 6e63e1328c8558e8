//! Expressions of a table's definition as text: stored over column ids, and shown over names.
//!
//! A stored expression names columns by id (`` toDate(`#4`) ``), so renaming a column changes no expression.
//! Invariant: `display_expression(&stored_expr(e, columns), def)` is `e` as ClickHouse prints it. Must not know: what
//! an expression evaluates to.

use std::ops::ControlFlow;

use model::table_def::{parse_stored_column_name, stored_column_name};
use model::{ColumnDef, ErrorCode, TableDef};
use sqlparser::ast::{AccessExpr, Expr, Ident, LambdaFunction, OneOrManyWithParens, VisitMut, VisitorMut};

use crate::dialect::{COLUMNS, name_of};
use crate::guard::guard_expression;
use crate::parser::parse_expression;
use crate::printer::formatted::formatted_expression;
use crate::printer::printed::printed;
use crate::reader::keys::key_of;
use lexer::error::{Result, SqlError};

/// Replaces names of columns by other names; the first that cannot be replaced stops it.
struct Renaming<F> {
    rename: F,
    /// Parameters of the lambdas around the current expression, which are no columns.
    lambdas: Vec<Vec<String>>,
}

impl<F> Renaming<F> {
    fn new(rename: F) -> Self {
        Self { rename, lambdas: vec![] }
    }
}

impl<F: Fn(&str) -> Option<String>> Renaming<F> {
    /// `n.a[1]` of a Nested, which the grammar reads as two steps into `n`: the name of the column and one step.
    fn part(&self, root: &mut Expr, chain: &mut Vec<AccessExpr>) {
        let Expr::Identifier(name) = &*root else { return };
        if self.lambdas.iter().flatten().any(|parameter| *parameter == name.value) {
            return;
        }
        let dotted = chain.iter().map_while(|step| match step {
            AccessExpr::Dot(Expr::Identifier(name)) => Some(name.value.clone()),
            _ => None,
        });
        let mut names: Vec<String> = std::iter::once(name.value.clone()).chain(dotted).collect();
        while names.len() > 1 {
            let joined = names.join(".");
            if (self.rename)(&joined).is_some() {
                chain.drain(..names.len() - 1);
                *root = Expr::Identifier(Ident::with_quote('`', joined));
                return;
            }
            names.pop();
        }
    }
}

fn parameters(lambda: &LambdaFunction) -> Vec<String> {
    match &lambda.params {
        OneOrManyWithParens::One(name) => vec![name.name.value.clone()],
        OneOrManyWithParens::Many(names) => names.iter().map(|name| name.name.value.clone()).collect(),
    }
}

impl<F: Fn(&str) -> Option<String>> VisitorMut for Renaming<F> {
    type Break = String;

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<String> {
        if let Expr::CompoundIdentifier(names) = expression {
            // A part of a Nested is a column of that name.
            let shown = names.iter().map(|name| name.value.as_str()).collect::<Vec<_>>().join(".");
            return match (self.rename)(&shown) {
                Some(renamed) => {
                    *expression = Expr::Identifier(identifier(&renamed));
                    ControlFlow::Continue(())
                }
                None => ControlFlow::Break(shown),
            };
        }
        if let Expr::CompoundFieldAccess { root, access_chain } = expression {
            self.part(root, access_chain);
        }
        if matches!(expression, Expr::Function(function) if name_of(function) == COLUMNS) {
            return ControlFlow::Break("*".to_owned());
        }
        if let Expr::Lambda(lambda) = expression {
            self.lambdas.push(parameters(lambda));
        }
        if let Expr::Identifier(name) = expression
            && !self.lambdas.iter().flatten().any(|parameter| *parameter == name.value)
        {
            match (self.rename)(&name.value) {
                Some(renamed) => *name = identifier(&renamed),
                None => return ControlFlow::Break(name.value.clone()),
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<String> {
        if matches!(expression, Expr::Lambda(_)) {
            self.lambdas.pop();
        }
        ControlFlow::Continue(())
    }
}

/// A name, in backticks where it is not a plain word.
fn identifier(name: &str) -> Ident {
    let plain = name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && name.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
    if plain { Ident::new(name) } else { Ident::with_quote('`', name) }
}

/// Shows a part of a Nested as `n.a`.
struct Parts;

impl VisitorMut for Parts {
    type Break = ();

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expression
            && name.value.contains('.')
        {
            let names: Vec<Ident> = name.value.split('.').map(identifier).collect();
            *expression = Expr::CompoundIdentifier(names);
        }
        ControlFlow::Continue(())
    }
}

/// The text to store for an expression a user wrote over `columns`.
///
/// # Errors
/// UNKNOWN_IDENTIFIER for a name that is no column; syntax the guard refuses.
pub fn stored_expr(expression: &Expr, columns: &[ColumnDef]) -> Result<String> {
    guard_expression(expression)?;
    let mut stored = expression.clone();
    let find = |name: &str| {
        let column = columns.iter().find(|column| column.name.as_ref() == name)?;
        Some(stored_column_name(column.id))
    };
    match stored.visit(&mut Renaming::new(find)) {
        ControlFlow::Continue(()) => Ok(printed(&stored)),
        ControlFlow::Break(name) => Err(SqlError::new(
            ErrorCode::UNKNOWN_IDENTIFIER,
            format!("missing column \"{name}\" in the expression"),
        )),
    }
}

/// A stored expression for people, as ClickHouse prints it; text that cannot be read is shown as it is.
pub fn display_expression(stored: &str, def: &TableDef) -> String {
    let Some(mut expression) = over_names(stored, def) else { return stored.to_owned() };
    // It breaks off nowhere.
    let _ = expression.visit(&mut Parts);
    formatted_expression(&expression)
}

/// The values of a key as texts: those of a tuple, or the one.
pub fn key_texts(expression: &Expr) -> Vec<String> {
    key_of(expression.clone()).iter().map(printed).collect()
}

/// A stored expression over names, for who reads it again; text that cannot be read is as it is.
pub fn named_expression(stored: &str, def: &TableDef) -> String {
    over_names(stored, def).map_or_else(|| stored.to_owned(), |expression| printed(&expression))
}

fn over_names(stored: &str, def: &TableDef) -> Option<Expr> {
    let mut expression = parse_expression(stored).ok()?;
    let find = |name: &str| {
        let column = def.column_by_id(parse_stored_column_name(name)?)?;
        Some(column.name.to_string())
    };
    match expression.visit(&mut Renaming::new(find)) {
        ControlFlow::Continue(()) => Some(expression),
        ControlFlow::Break(_) => None,
    }
}

/// The keyword under which the TTL of a column is kept, as `id expression` over ids.
pub const COLUMN_TTL: &str = "COLUMN TTL";

/// The TTL of a column as people wrote it.
pub fn column_ttl(column: &ColumnDef, def: &TableDef) -> Option<String> {
    let ttls = def.kept.iter().filter(|clause| *clause.keyword == *COLUMN_TTL);
    let mut pairs = ttls.filter_map(|clause| clause.text.split_once(' '));
    let found = pairs.find(|(id, _)| parse_stored_column_name(id) == Some(column.id));
    found.map(|(_, text)| display_expression(text, def))
}

#[cfg(test)]
mod tests {
    use model::{ColumnId, TableEngine};

    use super::*;

    fn def() -> TableDef {
        let column = |id: u32, name: &str, type_name: &str| ColumnDef {
            id: ColumnId(id),
            name: name.into(),
            column_type: model::type_name::parse(type_name).unwrap(),
            default: None,
            comment: "".into(),
            codec: None,
            combined_by: None,
        };
        TableDef {
            id: model::TableId::from_bytes([1; 16]),
            database: model::DatabaseId::from_bytes([2; 16]),
            name: "posts".into(),
            engine: TableEngine::MergeTree,
            engine_arguments: model::EngineArguments::default(),
            mode: model::MergeMode::Plain,
            schema_version: 1,
            columns: vec![column(1, "Id", "Int32"), column(2, "Creation Date", "DateTime64(3, 'UTC')")],
            next_column_id: 3,
            partition_by: vec!["toYear(`#2`)".into()],
            order_by: vec!["toDate(`#2`)".into(), "`#1`".into()],
            sort_key_version: 1,
            primary_key_len: 1,
            settings: model::TableSettings::new(),
            kept: vec![],
            constraints: vec![],
            comment: "".into(),
        }
    }

    #[test]
    fn expressions_are_stored_over_ids_and_shown_over_names() {
        let def = def();
        let expression = parse_expression("toDate(`Creation Date`)").unwrap();
        let stored = stored_expr(&expression, &def.columns).unwrap();
        assert_eq!(stored, "toDate(`#2`)");
        assert_eq!(display_expression(&stored, &def), "toDate(`Creation Date`)");
        let unknown = parse_expression("nosuch + 1").unwrap();
        assert_eq!(stored_expr(&unknown, &def.columns).unwrap_err().code, ErrorCode::UNKNOWN_IDENTIFIER);
    }

    #[test]
    fn backslashes_of_literals_are_kept() {
        let def = def();
        for text in [r"'\\'", r"'C:\\new'", r"concat(toString(Id), '\\\'')"] {
            let expression = parse_expression(text).unwrap();
            let stored = stored_expr(&expression, &def.columns).unwrap();
            assert_eq!(display_expression(&stored, &def), text);
            assert_eq!(parse_expression(&display_expression(&stored, &def)).unwrap(), expression);
        }
    }
}
