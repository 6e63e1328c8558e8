//! `untuple(t)` as the elements of a tuple: `tupleElement(t, 'a'), tupleElement(t, 'b')`, items of the SELECT or arguments of a call.
//!
//! Which elements there are, the type of the tuple tells: the probe has the tuple in the call's place. Invariant: the probe has
//! the items that the SELECT has, in their places, so that aliases and positions mean the same.

use aggregates::typing::type_of_field;
use arrow::datatypes::Schema;
use model::{ColumnType, ErrorCode};
use sql::dialect::{call, name_of, plain_args, text};
use sql::reader::head::ident;
use sql::{Result, SqlError};
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Select, SelectItem,
};

/// Begins the names of the probe's tuples.
const MARK: &str = "\u{1}untuple";

pub(super) fn is_call(expr: &Expr) -> bool {
    argument_of(expr).is_some()
}

fn argument_of(expr: &Expr) -> Option<Expr> {
    let Expr::Function(function) = expr else { return None };
    let args = if name_of(function) == "untuple" { plain_args(function) } else { return None };
    <[Expr; 1]>::try_from(args).ok().map(|[arg]| arg)
}

/// The tuples that an item takes apart, from left to right.
fn tuples_in(expr: &Expr) -> Vec<Expr> {
    match (argument_of(expr), expr) {
        (Some(tuple), _) => vec![tuple],
        (None, Expr::Function(function)) => plain_args(function).iter().flat_map(tuples_in).collect(),
        (None, Expr::Tuple(parts)) => parts.iter().flat_map(tuples_in).collect(),
        (None, Expr::Nested(inner) | Expr::Named { expr: inner, .. }) => tuples_in(inner),
        _ => vec![],
    }
}

fn expr_of(item: &SelectItem) -> Option<&Expr> {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    }
}

pub(super) fn asks(select: &Select) -> bool {
    select.projection.iter().filter_map(expr_of).any(|expr| !tuples_in(expr).is_empty())
}

/// The SELECT with the tuples in the places of what takes them apart.
pub(super) fn probe(select: &Select) -> Select {
    let mut probe = select.clone();
    let (mut count, mut further) = (0_usize, vec![]);
    for item in &mut probe.projection {
        for (at, tuple) in expr_of(item).map(tuples_in).unwrap_or_default().into_iter().enumerate() {
            let shown = SelectItem::ExprWithAlias { expr: tuple, alias: ident(&format!("{MARK}{count}")) };
            count += 1;
            if at == 0 {
                *item = shown;
            } else {
                further.push(shown);
            }
        }
    }
    probe.projection.extend(further);
    probe
}

/// Puts the elements into their places; the columns are those of the probe.
pub(super) fn fill(select: &mut Select, columns: &Schema) -> Result<()> {
    let mut filler = Filler { columns, count: 0 };
    let mut items = vec![];
    for item in std::mem::take(&mut select.projection) {
        match item {
            SelectItem::UnnamedExpr(expr) if is_call(&expr) => items.extend(filler.items(&expr, None)?),
            SelectItem::ExprWithAlias { expr, alias } if is_call(&expr) => {
                items.extend(filler.items(&expr, Some(&alias))?);
            }
            SelectItem::UnnamedExpr(expr) => items.push(SelectItem::UnnamedExpr(filler.within(expr)?)),
            SelectItem::ExprWithAlias { expr, alias } => {
                items.push(SelectItem::ExprWithAlias { expr: filler.within(expr)?, alias });
            }
            other => items.push(other),
        }
    }
    if items.is_empty() {
        let message = "untuple of an empty tuple leaves no column to SELECT";
        return Err(SqlError::new(ErrorCode::EMPTY_LIST_OF_COLUMNS_QUERIED, message));
    }
    select.projection = items;
    Ok(())
}

struct Filler<'a> {
    columns: &'a Schema,
    /// How many tuples were taken apart.
    count: usize,
}

impl Filler<'_> {
    /// The elements of the next tuple, each with its name.
    fn elements(&mut self, expr: &Expr) -> Result<Vec<(String, Expr)>> {
        let Some(tuple) = argument_of(expr) else { return Ok(vec![]) };
        let name = format!("{MARK}{}", self.count);
        self.count += 1;
        let column_type = match self.columns.field_with_name(&name) {
            Ok(field) => type_of_field(field),
            Err(_) => {
                return Err(SqlError::bad_arguments("untuple stands where no tuple can be taken apart"));
            }
        };
        let ColumnType::Tuple(elements) = column_type.value_type() else {
            let message = format!("function untuple takes a tuple, not {column_type}");
            return Err(SqlError::new(ErrorCode::UNSUPPORTED_METHOD, message));
        };
        let named = elements.iter().enumerate().map(|(at, element)| {
            let name = element.name.as_ref().map_or_else(|| (at + 1).to_string(), ToString::to_string);
            let value = call("tupleElement", vec![tuple.clone(), text(name.as_str())]);
            (name, value)
        });
        Ok(named.collect())
    }

    fn items(&mut self, expr: &Expr, alias: Option<&Ident>) -> Result<Vec<SelectItem>> {
        let item = |(name, expr): (String, Expr)| match alias {
            Some(alias) => {
                SelectItem::ExprWithAlias { expr, alias: ident(&format!("{}.{name}", alias.value)) }
            }
            None => SelectItem::UnnamedExpr(expr),
        };
        Ok(self.elements(expr)?.into_iter().map(item).collect())
    }

    fn list(&mut self, parts: Vec<Expr>) -> Result<Vec<Expr>> {
        let mut done = vec![];
        for part in parts {
            if is_call(&part) {
                done.extend(self.elements(&part)?.into_iter().map(|(_, element)| element));
            } else {
                done.push(self.within(part)?);
            }
        }
        Ok(done)
    }

    /// An expression with elements among the arguments of its calls.
    fn within(&mut self, expr: Expr) -> Result<Expr> {
        Ok(match expr {
            Expr::Function(function) => Expr::Function(self.arguments(function)?),
            Expr::Tuple(parts) => Expr::Tuple(self.list(parts)?),
            Expr::Nested(inner) => Expr::Nested(Box::new(self.within(*inner)?)),
            Expr::Named { expr, name } => Expr::Named { expr: Box::new(self.within(*expr)?), name },
            other => other,
        })
    }

    fn arguments(&mut self, mut function: Function) -> Result<Function> {
        let FunctionArguments::List(list) = &mut function.args else { return Ok(function) };
        let mut args = vec![];
        for arg in std::mem::take(&mut list.args) {
            match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => {
                    let parts = self.list(vec![expr])?.into_iter();
                    args.extend(parts.map(|part| FunctionArg::Unnamed(FunctionArgExpr::Expr(part))));
                }
                other => args.push(other),
            }
        }
        list.args = args;
        Ok(function)
    }
}
