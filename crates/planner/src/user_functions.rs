//! Calls of functions that statements made, as what their lambdas say.
//!
//! Invariant: a result column keeps the name of the call that stood there; a parameter of a lambda inside of a function
//! never catches a column of the caller. Must not know: where functions are kept, what expressions mean.

use std::ops::ControlFlow;
use std::sync::Arc;

use model::ErrorCode;
use sql::dialect::{name_of, plain_args};
use sql::printer::label::label;
use sql::{
    AlterCommand, ColumnSpec, CreateSource, Measure, Result, SqlError, Statement, measured_query,
    parse_expression, printed, printed_query,
};
use sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArguments, Ident, LambdaFunction, OneOrManyWithParens, Query,
    Select, SelectItem, Visit, VisitMut, Visitor, VisitorMut,
};

/// Elements that the functions of one statement may stand for.
const ELEMENTS_MAX: usize = 100_000;
/// Functions that call functions.
const DEPTH_MAX: usize = 100;

/// The text of the lambda of a function, by its name.
pub type Lambdas<'a> = &'a dyn Fn(&str) -> Option<Arc<str>>;

/// The query with what its functions stand for, and how deep it is then; `None` if it calls none.
///
/// # Errors
/// A call has another number of arguments than the function; a function calls itself; it comes to too much.
pub fn with_functions(query: &Query, lambdas: Lambdas<'_>) -> Result<Option<(Query, Measure)>> {
    let mut ast = query.clone();
    let mut expansion = Expansion::new(lambdas);
    expansion.run(&mut ast)?;
    if !expansion.found {
        return Ok(None);
    }
    // Reading it again measures it, and refuses what is too deep.
    measured_query(&printed_query(&ast)).map(Some)
}

/// As [`with_functions`], of one expression.
///
/// # Errors
/// As there.
pub fn with_functions_in(expression: &Expr, lambdas: Lambdas<'_>) -> Result<Option<Expr>> {
    let mut made = expression.clone();
    let mut expansion = Expansion::new(lambdas);
    expansion.run(&mut made)?;
    if !expansion.found {
        return Ok(None);
    }
    // What was put in parentheses and needs none is shown without them.
    let bare = match made {
        Expr::Nested(inner) => *inner,
        other => other,
    };
    parse_expression(&printed(&bare)).map(Some)
}

/// The definition with what its functions stand for: a table keeps expressions, not names of functions. `None` if it
/// calls none.
///
/// # Errors
/// As [`with_functions`].
pub fn defined_with_functions(statement: &Statement, lambdas: Lambdas<'_>) -> Result<Option<Statement>> {
    let mut made = statement.clone();
    let (mut found, mut in_queries) = (false, false);
    let mut replace = |expr: &mut Expr| -> Result<()> {
        if let Some(expanded) = with_functions_in(expr, lambdas)? {
            (*expr, found) = (expanded, true);
        }
        Ok(())
    };
    match &mut made {
        Statement::CreateTable(create) => {
            if let CreateSource::Columns(columns) | CreateSource::Select { columns, .. } = &mut create.source
            {
                columns.iter_mut().filter_map(default_of).try_for_each(&mut replace)?;
            }
            create.partition_by.iter_mut().try_for_each(&mut replace)?;
            create.order_by.iter_mut().flatten().try_for_each(&mut replace)?;
            create.primary_key.iter_mut().flatten().try_for_each(&mut replace)?;
            create.sample_by.iter_mut().try_for_each(&mut replace)?;
            create.constraints.iter_mut().try_for_each(|constraint| replace(&mut constraint.expression))?;
        }
        Statement::Alter(alter) => {
            for command in &mut alter.commands {
                match command {
                    AlterCommand::AddColumn { column, .. } | AlterCommand::ModifyColumn { column, .. } => {
                        default_of(column).into_iter().try_for_each(&mut replace)?;
                    }
                    AlterCommand::AddConstraint { constraint, .. } => replace(&mut constraint.expression)?,
                    AlterCommand::ModifyQuery(query) => {
                        if let Some((made, _)) = with_functions(&query.ast, lambdas)? {
                            (*query.ast, in_queries) = (made, true);
                        }
                    }
                    _ => {}
                }
            }
            if let Some(rows) = &mut alter.rows {
                rows.expressions_mut().try_for_each(&mut replace)?;
            }
        }
        Statement::Mutate(mutation) => mutation.expressions_mut().try_for_each(&mut replace)?,
        Statement::CreateView(create) => {
            if let Some((query, _)) = with_functions(&create.query.ast, lambdas)? {
                (*create.query.ast, in_queries) = (query, true);
            }
        }
        _ => {}
    }
    Ok((found || in_queries).then_some(made))
}

fn default_of(column: &mut ColumnSpec) -> Option<&mut Expr> {
    column.default.as_mut().map(|(_, expression)| expression)
}

struct Expansion<'a> {
    lambdas: Lambdas<'a>,
    /// The functions around, outermost first.
    around: Vec<String>,
    found: bool,
    elements: usize,
}

impl<'a> Expansion<'a> {
    fn new(lambdas: Lambdas<'a>) -> Expansion<'a> {
        Expansion { lambdas, around: Vec::new(), found: false, elements: 0 }
    }

    fn run<T: VisitMut>(&mut self, ast: &mut T) -> Result<()> {
        match ast.visit(self) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(error),
        }
    }

    /// The lambda that an expression calls.
    fn lambda_of(&self, expr: &Expr) -> Option<(String, Arc<str>)> {
        let Expr::Function(call) = expr else { return None };
        let name = name_of(call);
        is_plain(call).then(|| (self.lambdas)(&name)).flatten().map(|lambda| (name, lambda))
    }

    fn calls_any(&self, expr: &Expr) -> bool {
        let mut search = Search { wanted: |expr: &Expr| self.lambda_of(expr).is_some() };
        expr.visit(&mut search).is_break()
    }

    /// What a call stands for.
    fn body(&mut self, call: &Expr, name: String, lambda: &str) -> Result<Expr> {
        if self.around.contains(&name) {
            let message = format!("recursive function {name}");
            return Err(SqlError::new(ErrorCode::UNSUPPORTED_METHOD, message));
        }
        if self.around.len() >= DEPTH_MAX {
            let message = format!("functions call functions to a depth of more than {DEPTH_MAX}");
            return Err(SqlError::new(ErrorCode::TOO_DEEP_RECURSION, message));
        }
        let (Expr::Function(call), Expr::Lambda(lambda)) = (call, parse_expression(lambda)?) else {
            return Err(SqlError::bad_arguments(format!("function {name} is no lambda")));
        };
        let (arguments, parameters) = (plain_args(call), names_of(&lambda));
        if arguments.len() != parameters.len() {
            let message = format!(
                "function {name} expects {} argument(s), found {}",
                parameters.len(),
                arguments.len()
            );
            return Err(SqlError::bad_arguments(message));
        }
        let mut body = *lambda.body;
        self.around.push(name);
        self.run(&mut body)?;
        self.around.pop();
        let pairs = parameters.into_iter().zip(arguments).collect();
        // It breaks off nowhere.
        let _ = VisitMut::visit(&mut body, &mut Substitution { pairs, shadowed: Vec::new() });
        self.elements += count(&body);
        if self.elements > ELEMENTS_MAX {
            let message =
                format!("the functions of the statement stand for more than {ELEMENTS_MAX} elements");
            return Err(SqlError::new(ErrorCode::TOO_BIG_AST, message));
        }
        Ok(body)
    }
}

/// Without anything that a lambda could not do.
fn is_plain(call: &Function) -> bool {
    let FunctionArguments::List(list) = &call.args else { return false };
    let distinct = matches!(list.duplicate_treatment, Some(DuplicateTreatment::Distinct));
    call.over.is_none() && call.filter.is_none() && call.within_group.is_empty() && !distinct
}

fn names_of(lambda: &LambdaFunction) -> Vec<String> {
    lambda.params.iter().map(|parameter| parameter.name.value.clone()).collect()
}

impl VisitorMut for Expansion<'_> {
    type Break = SqlError;

    /// Result columns keep their names.
    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<SqlError> {
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) = item
                && self.calls_any(expr)
            {
                let alias = Ident::with_quote('`', label(expr));
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        let Some((name, lambda)) = self.lambda_of(expr) else { return ControlFlow::Continue(()) };
        self.found = true;
        match self.body(expr, name, &lambda) {
            Ok(body) => {
                *expr = nested(body);
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    }
}

/// In parentheses, unless nothing can come between its parts.
fn nested(expr: Expr) -> Expr {
    match expr {
        Expr::Identifier(_)
        | Expr::Value(_)
        | Expr::Function(_)
        | Expr::Nested(_)
        | Expr::Array(_)
        | Expr::Tuple(_)
        | Expr::Lambda(_) => expr,
        other => Expr::Nested(Box::new(other)),
    }
}

/// Puts arguments where parameters stand.
struct Substitution {
    pairs: Vec<(String, Expr)>,
    /// Of each lambda around: the names it has taken, and what they are called now.
    shadowed: Vec<Vec<(String, String)>>,
}

impl Substitution {
    fn renamed(&self, name: &str) -> Option<&str> {
        let found = self.shadowed.iter().rev().flatten().find(|(known, _)| known == name);
        found.map(|(_, now)| now.as_str())
    }

    /// A name that no argument says.
    fn fresh(&self, name: &str) -> String {
        let says = |wanted: &str| {
            let mut search = Search {
                wanted: |expr: &Expr| matches!(expr, Expr::Identifier(name) if name.value == wanted),
            };
            self.pairs
                .iter()
                .any(|(parameter, argument)| parameter == wanted || argument.visit(&mut search).is_break())
        };
        let mut fresh = name.to_owned();
        while says(&fresh) {
            fresh.push('_');
        }
        fresh
    }
}

impl VisitorMut for Substitution {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Lambda(lambda) = expr {
            let names = names_of(lambda).into_iter().map(|name| (name.clone(), self.fresh(&name)));
            let names: Vec<(String, String)> = names.collect();
            let parameters: Vec<&mut Ident> = match &mut lambda.params {
                OneOrManyWithParens::One(parameter) => vec![&mut parameter.name],
                OneOrManyWithParens::Many(all) => {
                    all.iter_mut().map(|parameter| &mut parameter.name).collect()
                }
            };
            for (parameter, (_, now)) in parameters.into_iter().zip(&names) {
                parameter.value.clone_from(now);
            }
            self.shadowed.push(names);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Lambda(_) => {
                self.shadowed.pop();
            }
            Expr::Identifier(name) => {
                if let Some(now) = self.renamed(&name.value) {
                    name.value = now.to_owned();
                } else if let Some((_, argument)) = self.pairs.iter().find(|(known, _)| *known == name.value)
                {
                    *expr = nested(argument.clone());
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Breaks off at the first expression that is wanted.
struct Search<F> {
    wanted: F,
}

impl<F: Fn(&Expr) -> bool> Visitor for Search<F> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if (self.wanted)(expr) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn count(expr: &Expr) -> usize {
    struct Count(usize);
    impl Visitor for Count {
        type Break = ();

        fn pre_visit_expr(&mut self, _expr: &Expr) -> ControlFlow<()> {
            self.0 += 1;
            ControlFlow::Continue(())
        }
    }
    let mut found = Count(0);
    // It breaks off nowhere.
    let _ = expr.visit(&mut found);
    found.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> String {
        let lambdas = |name: &str| -> Option<Arc<str>> {
            let known = [
                ("f", "x -> x * 2"),
                ("g", "(x, y) -> f(x) + y"),
                ("h", "(x, y) -> arrayMap(z -> z + x, y)"),
                ("loop", "x -> loop(x)"),
            ];
            known.iter().find(|(known, _)| *known == name).map(|(_, lambda)| Arc::from(*lambda))
        };
        let query = sql::parse_query(text).unwrap();
        match with_functions(&query, &lambdas) {
            Ok(Some((query, _))) => printed_query(&query),
            Ok(None) => "nothing".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn calls_become_what_their_lambdas_say() {
        assert_eq!(expanded("SELECT 1"), "nothing");
        assert_eq!(expanded("SELECT f(a + 1) FROM t"), "SELECT ((a + 1) * 2) AS `f(plus(a, 1))` FROM t");
        assert_eq!(expanded("SELECT g(1, 2) AS q"), "SELECT ((1 * 2) + 2) AS q");
        let shown = expanded("SELECT h(z, [1]) AS q FROM t WHERE f(1) = 2");
        assert_eq!(shown, "SELECT arrayMap(z_ -> z_ + z, [1]) AS q FROM t WHERE (1 * 2) = 2");
        assert!(expanded("SELECT f(1, 2)").contains("expects 1"));
        assert!(expanded("SELECT loop(1)").contains("recursive"));
    }
}
