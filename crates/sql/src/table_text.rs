//! Table definitions as text: expressions over column ids, and SHOW CREATE TABLE.
//!
//! A stored expression names columns by id (`` toDate(`#4`) ``), so renaming a column changes no expression.
//! Invariant: `display_expression(&stored_expr(e, columns), def)` is `e` as ClickHouse prints it. Must not know: what
//! an expression evaluates to.

use std::fmt::Write;
use std::ops::ControlFlow;

use model::table_def::{parse_stored_column_name, stored_column_name};
use model::{
    ColumnDef, ConstraintDef, ConstraintKind, DefaultKind, ErrorCode, KeptClause, TableDef, TableEngine,
};
use sqlparser::ast::{Expr, Ident, LambdaFunction, OneOrManyWithParens, VisitMut, VisitorMut};

use crate::codec_text::shown_codec;
use crate::error::{Result, SqlError};
use crate::guard::guard_expression;
use crate::parser::parse_expression;
use crate::printer::printed::printed;

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

/// A stored expression as people wrote it; text that cannot be read is shown as it is.
pub fn display_expression(stored: &str, def: &TableDef) -> String {
    let Ok(mut expression) = parse_expression(stored) else { return stored.to_owned() };
    let find = |name: &str| {
        let column = def.column_by_id(parse_stored_column_name(name)?)?;
        Some(column.name.to_string())
    };
    match expression.visit(&mut Renaming::new(find)) {
        ControlFlow::Continue(()) => {
            // It breaks off nowhere.
            let _ = expression.visit(&mut Parts);
            printed(&expression)
        }
        ControlFlow::Break(_) => stored.to_owned(),
    }
}

fn column_text(column: &ColumnDef, def: &TableDef) -> String {
    let mut text = format!("    `{}` {}", column.name, column.column_type);
    if let Some((kind, expression)) = &column.default {
        let word = match kind {
            DefaultKind::Default => "DEFAULT",
            DefaultKind::Materialized => "MATERIALIZED",
            DefaultKind::Alias => "ALIAS",
            DefaultKind::Ephemeral => "EPHEMERAL",
        };
        let shown = display_expression(expression, def);
        match kind {
            // What stands for an EPHEMERAL without an expression.
            DefaultKind::Ephemeral if shown.starts_with("defaultValueOfTypeName(") => {
                text.push_str(" EPHEMERAL")
            }
            _ => text.push_str(&format!(" {word} {shown}")),
        }
    }
    if !column.comment.is_empty() {
        text.push_str(&format!(" COMMENT {}", crate::lexer::escape::quote_text(&column.comment)));
    }
    if let Some(codec) = &column.codec {
        text.push_str(&format!(" CODEC({})", shown_codec(codec, &column.column_type)));
    }
    if let Some(ttl) = column_ttl(column, def) {
        text.push_str(&format!(" TTL {ttl}"));
    }
    text
}

/// The keyword under which the TTL of a column is kept, as `id expression` over ids.
pub(crate) const COLUMN_TTL: &str = "COLUMN TTL";

/// The TTL of a column as people wrote it.
pub fn column_ttl(column: &ColumnDef, def: &TableDef) -> Option<String> {
    let ttls = def.kept.iter().filter(|clause| *clause.keyword == *COLUMN_TTL);
    let mut pairs = ttls.filter_map(|clause| clause.text.split_once(' '));
    let found = pairs.find(|(id, _)| parse_stored_column_name(id) == Some(column.id));
    found.map(|(_, text)| display_expression(text, def))
}

/// One expression as it is, several in parentheses, none as `tuple()`.
fn key_text(expressions: &[std::sync::Arc<str>], def: &TableDef) -> String {
    let shown: Vec<String> = expressions.iter().map(|stored| display_expression(stored, def)).collect();
    match shown.as_slice() {
        [] => "tuple()".to_owned(),
        [one] => one.clone(),
        several => format!("({})", several.join(", ")),
    }
}

/// The statement that makes this table, in ClickHouse's layout. `engine` is the engine with its arguments, secrets
/// masked by who knows which they are: the definition's own are never printed here. Of a view it is the SELECT.
pub fn show_create_table(def: &TableDef, database: &str, engine: &str) -> String {
    let name = format!("{}.{}", identifier(database), identifier(&def.name));
    let what = if def.engine == TableEngine::View { "VIEW" } else { "TABLE" };
    create_text(def, &format!("{what} {name}"), engine)
}

/// The same of a temporary table, which is in no database.
pub fn show_create_temporary_table(def: &TableDef, engine: &str) -> String {
    create_text(def, &format!("TEMPORARY TABLE {}", identifier(&def.name)), engine)
}

fn create_text(def: &TableDef, what: &str, engine: &str) -> String {
    let columns: Vec<String> = def.columns.iter().map(|column| column_text(column, def)).collect();
    if def.engine == TableEngine::View {
        let mut text = format!("CREATE {what}\n(\n{}\n)\nAS {engine}", columns.join(",\n"));
        if !def.comment.is_empty() {
            let _ = write!(text, "\nCOMMENT {}", crate::lexer::escape::quote_text(&def.comment));
        }
        return text;
    }
    let elements: Vec<String> = columns.into_iter().chain(element_texts(def)).collect();
    let mut text = format!("CREATE {what}\n(\n{}\n)", elements.join(",\n"));
    text.push_str(&format!("\nENGINE = {}", storage_text(def, engine)));
    if !def.comment.is_empty() {
        let _ = write!(text, "\nCOMMENT {}", crate::lexer::escape::quote_text(&def.comment));
    }
    text
}

/// What stands behind the columns, in their parentheses.
fn element_texts(def: &TableDef) -> Vec<String> {
    let of = |keyword: &'static str| def.kept.iter().filter(move |clause| *clause.keyword == *keyword);
    let kept = ["INDEX", "PROJECTION", "CONSTRAINT"].into_iter().flat_map(of);
    let kept = kept.map(|clause| format!("    {} {}", clause.keyword, clause.text));
    let constraint = |constraint: &ConstraintDef| {
        let word = match constraint.kind {
            ConstraintKind::Check => "CHECK",
            ConstraintKind::Assume => "ASSUME",
        };
        let shown = display_expression(&constraint.expression, def);
        format!("    CONSTRAINT {} {word} {shown}", identifier(&constraint.name))
    };
    kept.chain(def.constraints.iter().map(constraint)).collect()
}

fn is_element(clause: &KeptClause) -> bool {
    matches!(clause.keyword.as_ref(), "INDEX" | "PROJECTION" | "CONSTRAINT" | COLUMN_TTL)
}

/// The engine and the clauses that belong to it, a clause a line: ClickHouse's `engine_full` but for the lines. A view
/// has none.
pub fn storage_text(def: &TableDef, engine: &str) -> String {
    if def.engine == TableEngine::View {
        return String::new();
    }
    if def.is_in_old_syntax() {
        // Its arguments say all that the clauses would.
        return engine.to_owned();
    }
    let mut text = engine.to_owned();
    if !def.partition_by.is_empty() {
        text.push_str(&format!("\nPARTITION BY {}", key_text(&def.partition_by, def)));
    }
    if def.engine == TableEngine::MergeTree {
        let primary = usize::try_from(def.primary_key_len).unwrap_or(usize::MAX).min(def.order_by.len());
        if primary < def.order_by.len() {
            text.push_str(&format!("\nPRIMARY KEY {}", key_text(&def.order_by[..primary], def)));
        }
        text.push_str(&format!("\nORDER BY {}", key_text(&def.order_by, def)));
    }
    for clause in def.kept.iter().filter(|clause| !is_element(clause)) {
        text.push_str(&format!("\n{} {}", clause.keyword, clause.text));
    }
    if !def.settings.is_empty() {
        let settings: Vec<String> =
            def.settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        text.push_str(&format!("\nSETTINGS {}", settings.join(", ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use model::ColumnId;

    use super::*;

    fn def() -> TableDef {
        let column = |id: u32, name: &str, type_name: &str| ColumnDef {
            id: ColumnId(id),
            name: name.into(),
            column_type: model::type_name::parse(type_name).unwrap(),
            default: None,
            comment: "".into(),
            codec: None,
        };
        TableDef {
            id: model::TableId::from_bytes([1; 16]),
            database: model::DatabaseId::from_bytes([2; 16]),
            name: "posts".into(),
            engine: TableEngine::MergeTree,
            engine_arguments: model::EngineArguments::default(),
            schema_version: 1,
            columns: vec![column(1, "Id", "Int32"), column(2, "Creation Date", "DateTime64(3, 'UTC')")],
            next_column_id: 3,
            partition_by: vec!["toYear(`#2`)".into()],
            order_by: vec!["toDate(`#2`)".into(), "`#1`".into()],
            sort_key_version: 1,
            primary_key_len: 1,
            settings: [("index_granularity".into(), "8192".into())].into(),
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

    #[test]
    fn a_definition_prints_as_clickhouse_prints_it() {
        let text = show_create_table(&def(), "default", "MergeTree");
        assert_eq!(
            text,
            "CREATE TABLE default.posts\n(\n    `Id` Int32,\n    `Creation Date` DateTime64(3, 'UTC')\n)\n\
             ENGINE = MergeTree\nPARTITION BY toYear(`Creation Date`)\nPRIMARY KEY toDate(`Creation Date`)\n\
             ORDER BY (toDate(`Creation Date`), Id)\nSETTINGS index_granularity = 8192"
        );
    }
}
