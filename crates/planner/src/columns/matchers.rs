//! What chooses columns: `COLUMNS(..)` and the calls that EXCEPT, REPLACE and APPLY are; which columns they choose.
//!
//! Invariant: columns are chosen in the order of the tables. Must not know: where the choice stands.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StringViewArray};
use arrow::datatypes::UInt8Type;
use functions::{Arg, ArgType, Call, SessionValues};
use model::ColumnType;
use sql::dialect::{APPLY, COLUMNS, EXCEPT, REPLACE, name_of, plain_args, text_of};
use sql::printer::label::label;
use sql::reader::head::ident;
use sql::{Result, SqlError};
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, LambdaFunction, OneOrManyWithParens,
    visit_expressions, visit_expressions_mut,
};

/// A column that can be chosen.
pub(super) struct Source {
    pub(super) table: Option<String>,
    pub(super) name: String,
}

fn function_of(expr: &Expr) -> Option<&Function> {
    match expr {
        Expr::Function(function) => Some(function),
        _ => None,
    }
}

pub(super) fn is_matcher(expr: &Expr) -> bool {
    function_of(expr).is_some_and(|call| [COLUMNS, APPLY, EXCEPT, REPLACE].contains(&name_of(call).as_str()))
}

/// Whether columns are to be chosen in an expression; its subqueries choose theirs before.
pub(super) fn has_matcher(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |expr| match is_matcher(expr) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    found.is_break()
}

pub(super) fn without_parentheses(expr: Expr) -> Expr {
    match expr {
        Expr::Nested(inner) if is_matcher(&inner) => *inner,
        other => other,
    }
}

/// A chosen column: what it is, and its name when that is not the expression's.
pub(super) type Chosen = (Expr, Option<String>);

/// All columns that there are.
pub(super) struct Columns(pub(super) Vec<Source>);

impl Columns {
    /// The places of all columns, or of those of a table.
    pub(super) fn of_table(&self, table: Option<&str>) -> impl Iterator<Item = usize> {
        let is_of = move |at: &usize| table.is_none_or(|table| self.0[*at].table.as_deref() == Some(table));
        (0..self.0.len()).filter(is_of)
    }

    /// A column by its name, with the table's where another table has a column of the name.
    pub(super) fn column(&self, at: usize) -> Expr {
        self.column_beside(at, &[])
    }

    /// A column by its name, with the table's where something else has the name, too.
    pub(super) fn column_beside(&self, at: usize, aliases: &[String]) -> Expr {
        let Source { table, name } = &self.0[at];
        let is_shared =
            aliases.contains(name) || self.0.iter().filter(|other| other.name == *name).count() > 1;
        match table {
            Some(table) if is_shared => Expr::CompoundIdentifier(vec![ident(table), ident(name)]),
            _ => Expr::Identifier(ident(name)),
        }
    }

    pub(super) fn chosen(&self, matcher: &Expr) -> Result<Vec<Chosen>> {
        let Some(call) = function_of(matcher) else { return Ok(vec![(matcher.clone(), None)]) };
        let (name, args) = (name_of(call), plain_args(call));
        let Some((first, rest)) = args.split_first() else { return Ok(vec![]) };
        Ok(match name.as_str() {
            COLUMNS => match (text_of(first), rest) {
                (Some(pattern), []) => self.places(pattern)?.map(|at| (self.column(at), None)).collect(),
                (Some(""), [Expr::Identifier(table)]) => {
                    self.of_table(Some(&table.value)).map(|at| (self.column(at), None)).collect()
                }
                _ => args.iter().map(|arg| (arg.clone(), None)).collect(),
            },
            EXCEPT => {
                let mut left_out: Vec<String> = vec![];
                for name in rest {
                    match text_of(name) {
                        Some(pattern) => {
                            left_out.extend(self.places(pattern)?.map(|at| self.0[at].name.clone()));
                        }
                        None => left_out.push(label(name)),
                    }
                }
                let mut kept = self.chosen(first)?;
                kept.retain(|chosen| !left_out.contains(&name_of_chosen(chosen)));
                kept
            }
            REPLACE => {
                let mut columns = self.chosen(first)?;
                for pair in rest.chunks(2) {
                    let [expr, name] = pair else { continue };
                    let wanted = label(name);
                    for chosen in columns.iter_mut().filter(|chosen| name_of_chosen(chosen) == wanted) {
                        *chosen = (expr.clone(), Some(wanted.clone()));
                    }
                }
                columns
            }
            _ => {
                let Some(function) = rest.first() else { return Ok(vec![]) };
                let columns = self.chosen(first)?.into_iter();
                columns.map(|(expr, _)| Ok((applied(function, expr)?, None))).collect::<Result<_>>()?
            }
        })
    }

    /// The places of the columns whose names match a regular expression.
    fn places(&self, pattern: &str) -> Result<impl Iterator<Item = usize>> {
        let refused = |error: functions::FunctionError| SqlError::bad_arguments(error.message);
        let Some(function) = functions::lookup("match") else {
            return Err(SqlError::bad_arguments("there is no function match"));
        };
        let names: ArrayRef =
            Arc::new(StringViewArray::from_iter_values(self.0.iter().map(|column| &column.name)));
        let patterns: ArrayRef = Arc::new(StringViewArray::from_iter_values([pattern]));
        let constant = ArgType { column_type: ColumnType::String, constant: Some(Arc::clone(&patterns)) };
        let plain = ArgType { column_type: ColumnType::String, constant: None };
        let result_type = function.result_type(&[plain, constant]).map_err(refused)?;
        let args = [
            Arg { array: names, is_constant: false, column_type: ColumnType::String },
            Arg { array: patterns, is_constant: true, column_type: ColumnType::String },
        ];
        let session = SessionValues::default();
        let call = Call::new(&args, self.0.len(), &result_type, &session);
        let matched = function.evaluate(&call).map_err(refused)?;
        let matched = matched.as_primitive_opt::<UInt8Type>().cloned();
        let is_match = move |row: &usize| matched.as_ref().is_some_and(|found| found.value(*row) != 0);
        Ok((0..self.0.len()).filter(is_match))
    }
}

fn name_of_chosen((expr, name): &Chosen) -> String {
    name.clone().unwrap_or_else(|| label(expr))
}

/// `f`, `f(0.5)` or `x -> ..` of a column.
fn applied(function: &Expr, column: Expr) -> Result<Expr> {
    match function {
        Expr::Identifier(name) => Ok(sql::dialect::call(&name.value, vec![column])),
        Expr::Function(call) => {
            let mut call = call.clone();
            call.parameters = std::mem::replace(&mut call.args, FunctionArguments::None);
            let FunctionArguments::List(list) = &call.parameters else {
                return Err(SqlError::bad_arguments(format!("APPLY of {function}")));
            };
            let mut list = list.clone();
            list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(column))];
            call.args = FunctionArguments::List(list);
            Ok(Expr::Function(call))
        }
        Expr::Lambda(LambdaFunction { params, body, .. }) => {
            let name = match params {
                OneOrManyWithParens::One(name) => name.name.value.clone(),
                OneOrManyWithParens::Many(names) if names.len() == 1 => names[0].name.value.clone(),
                OneOrManyWithParens::Many(_) => {
                    return Err(SqlError::bad_arguments("the lambda of APPLY takes one argument"));
                }
            };
            let mut body = body.as_ref().clone();
            let _ = visit_expressions_mut(&mut body, |expr| {
                if matches!(expr, Expr::Identifier(found) if found.value == name) {
                    *expr = column.clone();
                }
                ControlFlow::<()>::Continue(())
            });
            Ok(body)
        }
        other => Err(SqlError::bad_arguments(format!("APPLY of {other}: it takes a function or a lambda"))),
    }
}
