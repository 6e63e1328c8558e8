//! `COLUMNS('regex')`, `COLUMNS(a, b)` and what may follow them or a `*`: EXCEPT, REPLACE, APPLY; and a `*` whose columns are
//! keys that some rows leave out.
//!
//! Which columns there are, only a plan of FROM tells: `probe` asks for one, `expanded` puts the answer in. Invariant: the
//! first SELECT that asks is the innermost, so that its answer does not wait for another.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StringViewArray};
use arrow::datatypes::UInt8Type;
use functions::{Arg, ArgType, Call, SessionValues};
use model::{ColumnType, ErrorCode};
use sql::dialect::{APPLY, COLUMNS, EXCEPT, REPLACE, name_of, plain_args, text_of};
use sql::printer::label::label;
use sql::reader::head::ident;
use sql::{Result, SqlError};
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, LambdaFunction,
    OneOrManyWithParens, Query, Select, SelectItem, SetExpr, Visit, VisitMut, Visitor, VisitorMut, With,
    visit_expressions_mut,
};

/// A query whose columns are those that the next SELECT with COLUMNS can choose from.
pub fn probe(query: &Query) -> Option<Query> {
    if !asks(query) {
        return None;
    }
    let mut finder = Finder { with: vec![], answer: None };
    let mut copy = query.clone();
    let _ = VisitMut::visit(&mut copy, &mut finder);
    finder.answer
}

/// The query with these columns in the SELECT that [`probe`] asked for.
pub fn expanded(mut query: Query, names: &[String]) -> Result<Query> {
    let mut filler = Filler { names, outcome: Ok(()) };
    let _ = VisitMut::visit(&mut query, &mut filler);
    filler.outcome.map(|()| query)
}

/// Whether there is anything to be asked.
fn asks(query: &Query) -> bool {
    struct Asking;

    impl Visitor for Asking {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if is_matcher(expr) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }

        fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
            if stars_are_keys(select) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    query.visit(&mut Asking).is_break()
}

/// Whether there is a `*` of columns that are keys, of which it must be known which.
fn stars_are_keys(select: &Select) -> bool {
    let is_set = |key: &Expr| matches!(key, Expr::Rollup(_) | Expr::Cube(_) | Expr::GroupingSets(_));
    let by_name = match &select.group_by {
        GroupByExpr::All(_) => true,
        GroupByExpr::Expressions(keys, modifiers) => !modifiers.is_empty() || keys.iter().any(is_set),
    };
    by_name && select.projection.iter().any(|item| starred_without(item).is_some())
}

/// What a `*` leaves out; `None` for other items.
fn starred_without(item: &SelectItem) -> Option<Vec<&str>> {
    let SelectItem::Wildcard(options) = item else { return None };
    let is_plain =
        options.opt_replace.is_none() && options.opt_rename.is_none() && options.opt_ilike.is_none();
    let except = options.opt_except.iter();
    let left_out =
        except.flat_map(|except| std::iter::once(&except.first_element).chain(&except.additional_elements));
    is_plain.then(|| left_out.map(|name| name.value.as_str()).collect())
}

struct Finder {
    with: Vec<Option<With>>,
    answer: Option<Query>,
}

impl VisitorMut for Finder {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.with.push(query.with.clone());
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let Some(select) = asking(&mut query.body) {
            let with = seen_from_here(&self.with);
            self.answer = all_of(select).map(|probe| Query { with, ..probe });
            return ControlFlow::Break(());
        }
        self.with.pop();
        ControlFlow::Continue(())
    }
}

/// The WITH lists around a query, without what still asks for columns: it cannot be seen from here.
pub(crate) fn seen_from_here(lists: &[Option<With>]) -> Option<With> {
    let mut lists = lists.iter().flatten().cloned();
    let mut all = lists.next()?;
    all.cte_tables.extend(lists.flat_map(|list| list.cte_tables));
    all.cte_tables.retain(|table| !asks(&table.query));
    (!all.cte_tables.is_empty()).then_some(all)
}

/// `SELECT * FROM ..` of a SELECT.
pub(crate) fn all_of(select: &Select) -> Option<Query> {
    let mut probe = sql::parse_query("SELECT * FROM t").ok()?;
    if let SetExpr::Select(outer) = probe.body.as_mut() {
        outer.from.clone_from(&select.from);
    }
    Some(probe)
}

/// The first SELECT of a query that asks.
fn asking(body: &mut SetExpr) -> Option<&mut Select> {
    match body {
        SetExpr::Select(select) => {
            let asks = select.projection.iter().any(|item| match item {
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => has_matcher(expr),
                _ => false,
            });
            (asks || stars_are_keys(select)).then_some(select.as_mut())
        }
        SetExpr::SetOperation { left, right, .. } => asking(left).or_else(|| asking(right)),
        _ => None,
    }
}

fn function_of(expr: &Expr) -> Option<&Function> {
    match expr {
        Expr::Function(function) => Some(function),
        _ => None,
    }
}

fn is_matcher(expr: &Expr) -> bool {
    function_of(expr).is_some_and(|call| [COLUMNS, APPLY, EXCEPT, REPLACE].contains(&name_of(call).as_str()))
}

fn has_matcher(expr: &Expr) -> bool {
    is_matcher(expr) || function_of(expr).is_some_and(|call| plain_args(call).iter().any(has_matcher))
}

struct Filler<'a> {
    names: &'a [String],
    outcome: Result<()>,
}

impl VisitorMut for Filler<'_> {
    type Break = ();

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let Some(select) = asking(&mut query.body) else { return ControlFlow::Continue(()) };
        let mut items = vec![];
        let stars_are_keys = stars_are_keys(select);
        for item in std::mem::take(&mut select.projection) {
            if let Some(left_out) = starred_without(&item).filter(|_| stars_are_keys) {
                let kept = self.names.iter().filter(|name| !left_out.contains(&name.as_str()));
                items.extend(kept.map(|name| SelectItem::UnnamedExpr(column(name).0)));
                continue;
            }
            match self.items(item) {
                Ok(more) => items.extend(more),
                Err(error) => self.outcome = Err(error),
            }
        }
        if items.is_empty() && self.outcome.is_ok() {
            self.outcome =
                Err(SqlError::new(ErrorCode::EMPTY_LIST_OF_COLUMNS_QUERIED, "COLUMNS matches no column"));
        }
        select.projection = items;
        ControlFlow::Break(())
    }
}

/// A chosen column: what it is, and its name when that is not the expression's.
type Chosen = (Expr, Option<String>);

impl Filler<'_> {
    fn items(&self, item: SelectItem) -> Result<Vec<SelectItem>> {
        let (expr, alias) = match item {
            SelectItem::UnnamedExpr(expr) if has_matcher(&expr) => (expr, None),
            SelectItem::ExprWithAlias { expr, alias } if has_matcher(&expr) => (expr, Some(alias)),
            other => return Ok(vec![other]),
        };
        if !is_matcher(&expr) {
            let expr = self.spliced(expr)?;
            return Ok(vec![match alias {
                Some(alias) => SelectItem::ExprWithAlias { expr, alias },
                None => SelectItem::UnnamedExpr(expr),
            }]);
        }
        if let Some(alias) = alias {
            return Err(SqlError::new(
                ErrorCode::SYNTAX_ERROR,
                format!("COLUMNS cannot have the alias {alias}"),
            ));
        }
        let chosen = self.chosen(&expr)?;
        Ok(chosen
            .into_iter()
            .map(|(expr, name)| match name {
                Some(name) => SelectItem::ExprWithAlias { expr, alias: ident(&name) },
                None => SelectItem::UnnamedExpr(expr),
            })
            .collect())
    }

    /// A call with the columns among its arguments.
    fn spliced(&self, expr: Expr) -> Result<Expr> {
        let Expr::Function(mut function) = expr else { return Ok(expr) };
        if let FunctionArguments::List(list) = &mut function.args {
            let mut args = vec![];
            for arg in std::mem::take(&mut list.args) {
                match arg {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) if is_matcher(&expr) => {
                        let chosen = self.chosen(&expr)?.into_iter();
                        args.extend(
                            chosen.map(|(expr, _)| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))),
                        );
                    }
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => {
                        args.push(FunctionArg::Unnamed(FunctionArgExpr::Expr(self.spliced(expr)?)));
                    }
                    other => args.push(other),
                }
            }
            list.args = args;
        }
        Ok(Expr::Function(function))
    }

    fn chosen(&self, matcher: &Expr) -> Result<Vec<Chosen>> {
        let Some(call) = function_of(matcher) else { return Ok(vec![(matcher.clone(), None)]) };
        let (name, args) = (name_of(call), plain_args(call));
        let Some((first, rest)) = args.split_first() else { return Ok(vec![]) };
        Ok(match name.as_str() {
            COLUMNS => match (text_of(first), rest) {
                (Some(pattern), []) => self.matching(pattern)?.into_iter().map(|name| column(name)).collect(),
                _ => args.iter().map(|arg| (arg.clone(), None)).collect(),
            },
            EXCEPT => {
                let mut left_out: Vec<String> = vec![];
                for name in rest {
                    match text_of(name) {
                        Some(pattern) => left_out.extend(self.matching(pattern)?.into_iter().cloned()),
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

    /// Names that match a regular expression.
    fn matching(&self, pattern: &str) -> Result<Vec<&String>> {
        let refused = |error: functions::FunctionError| SqlError::bad_arguments(error.message);
        let Some(function) = functions::lookup("match") else { return Ok(vec![]) };
        let names: ArrayRef = Arc::new(StringViewArray::from_iter_values(self.names));
        let patterns: ArrayRef = Arc::new(StringViewArray::from_iter_values([pattern]));
        let constant = ArgType { column_type: ColumnType::String, constant: Some(Arc::clone(&patterns)) };
        let plain = ArgType { column_type: ColumnType::String, constant: None };
        let result_type = function.result_type(&[plain, constant]).map_err(refused)?;
        let args = [
            Arg { array: names, is_constant: false, column_type: ColumnType::String },
            Arg { array: patterns, is_constant: true, column_type: ColumnType::String },
        ];
        let session = SessionValues::default();
        let call = Call::new(&args, self.names.len(), &result_type, &session);
        let matched = function.evaluate(&call).map_err(refused)?;
        let matched = matched.as_primitive_opt::<UInt8Type>().cloned();
        let is_match = |row: usize| matched.as_ref().is_some_and(|found| found.value(row) != 0);
        Ok(self.names.iter().enumerate().filter(|(row, _)| is_match(*row)).map(|(_, name)| name).collect())
    }
}

fn column(name: &str) -> Chosen {
    (Expr::Identifier(ident(name)), None)
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
