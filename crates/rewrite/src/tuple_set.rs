//! `(a, b) IN (SELECT x, y ..)` as EXISTS of a row whose columns are equal, which the planner makes a join; where no row is
//! filtered, as IN of tuples; and IN where NULL is a value like others (`transform_null_in`).
//!
//! Invariant: the columns of the set get names that no query can write, so that what is compared means the row outside.

use model::ErrorCode;
use sql::dialect::call;
use sql::reader::head::ident;
use sql::{Result, SqlError};
use sqlparser::ast::{
    BinaryOperator, Expr, Query, SelectItem, SetExpr, TableAliasColumnDef, TableFactor, Value,
};

use crate::Rewriter;
use crate::lower::{nested, not, operation};

/// A tuple of something is looked for among tuples of its size.
pub(crate) fn check_not_empty(expr: &Expr, list: &[Expr]) -> Result<()> {
    match expr {
        Expr::Tuple(parts) if list.is_empty() => {
            let message = format!("incorrect size of tuple in set: 0 instead of {}", parts.len());
            Err(SqlError::new(ErrorCode::INCORRECT_ELEMENT_OF_SET, message))
        }
        _ => Ok(()),
    }
}

impl Rewriter {
    /// How many columns a set has; `None` where only a plan tells.
    pub(crate) fn columns_of(set: &SetExpr) -> Option<usize> {
        columns_of(set)
    }

    pub(crate) fn tuple_in(&mut self, parts: Vec<Expr>, mut set: Query, negated: bool) -> Result<Expr> {
        let width = parts.len();
        let set = match columns_of(&set.body) {
            // The one column has the tuples.
            Some(1) if width > 1 => {
                let expr = Box::new(call("tuple", self.values(parts)?));
                return Ok(Expr::InSubquery { expr, subquery: Box::new(self.query(set, false)?), negated });
            }
            Some(_) => {
                name_columns(&mut set.body, width)?;
                self.query(set, false)?
            }
            None => renamed(self.set(set)?, width)?,
        };
        if !self.scope().in_where {
            let expr = Box::new(call("tuple", self.values(parts)?));
            return Ok(Expr::InSubquery { expr, subquery: Box::new(as_tuples(set, width)?), negated });
        }
        let mut condition: Option<Expr> = None;
        for (at, part) in parts.into_iter().enumerate() {
            let column = Expr::Identifier(ident(&column_name(at)));
            let equal = operation(column, BinaryOperator::Eq, nested(self.value(part)?));
            condition = Some(match condition {
                Some(other) => operation(other, BinaryOperator::And, equal),
                None => equal,
            });
        }
        let mut rows = over(set)?;
        if let SetExpr::Select(select) = rows.body.as_mut() {
            select.selection = condition;
        }
        Ok(Expr::Exists { subquery: Box::new(rows), negated })
    }

    /// `x = ANY (SELECT ..)` as IN, `x > ALL (SELECT ..)` as a comparison with the largest of the rows, as ClickHouse has it.
    pub(crate) fn quantified(&mut self, expr: Expr) -> Result<Expr> {
        use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
        let (left, op, right, is_any) = match expr {
            Expr::AnyOp { left, compare_op, right, is_some: _ } => (left, compare_op, *right, true),
            Expr::AllOp { left, compare_op, right } => (left, compare_op, *right, false),
            other => return Err(SqlError::not_implemented(format!("expression {other}"))),
        };
        let word = if is_any { "ANY" } else { "ALL" };
        let Expr::Subquery(rows) = right else {
            return Err(SqlError::not_implemented(format!("{word} of what is no query")));
        };
        let end = match (&op, is_any) {
            (Eq, true) | (NotEq, false) => {
                return self.value(Expr::InSubquery { expr: left, subquery: rows, negated: !is_any });
            }
            (Lt | LtEq, true) | (Gt | GtEq, false) => "max",
            (Gt | GtEq, true) | (Lt | LtEq, false) => "min",
            _ => return Err(SqlError::not_implemented(format!("{op} {word} of a query"))),
        };
        let mut ends =
            sql::parse_query(&format!("SELECT {end}(compared) FROM (SELECT 1) AS rows_compared(compared)"))?;
        if let SetExpr::Select(select) = ends.body.as_mut()
            && let Some(TableFactor::Derived { subquery, .. }) =
                select.from.first_mut().map(|from| &mut from.relation)
        {
            *subquery = rows;
        }
        self.value(operation(*left, op, Expr::Subquery(Box::new(ends))))
    }

    /// `x IN (SELECT a, b ..)` of what may be a tuple.
    pub(crate) fn in_columns(
        &mut self,
        expr: Expr,
        mut set: Query,
        (width, negated): (usize, bool),
    ) -> Result<Expr> {
        name_columns(&mut set.body, width)?;
        let (expr, set) = (Box::new(self.value(expr)?), self.query(set, false)?);
        Ok(Expr::InSubquery { expr, subquery: Box::new(as_tuples(set, width)?), negated })
    }

    /// `x IN (1, NULL)` where NULL is found in a list that has it. It is never NULL itself.
    pub(crate) fn list_with_nulls(&mut self, expr: Expr, list: Vec<Expr>, negated: bool) -> Result<Expr> {
        let list = match &expr {
            // `(a, b) IN (1, NULL)` has one tuple.
            Expr::Tuple(parts)
                if parts.len() == list.len() && !list.iter().any(|item| matches!(item, Expr::Tuple(_))) =>
            {
                vec![Expr::Tuple(list)]
            }
            _ => list,
        };
        let (with_null, plain): (Vec<Expr>, Vec<Expr>) = list.into_iter().partition(has_null);
        let computed = |item: &&Expr| !matches!(expr, Expr::Tuple(_)) && is_computed(item);
        let may_be_null: Vec<Expr> = plain.iter().filter(computed).cloned().collect();
        let mut tests = Vec::with_capacity(with_null.len() + may_be_null.len() + 1);
        if !plain.is_empty() {
            let (expr, elements) = (Box::new(self.value(expr.clone())?), self.weight.elements);
            let list = self.values(plain)?;
            self.weight.elements = elements + 1;
            tests.push(Expr::IsTrue(Box::new(Expr::InList { expr, list, negated: false })));
        }
        for item in with_null {
            tests.push(self.same(&expr, item)?);
        }
        for item in may_be_null {
            let asked = Expr::IsNull(Box::new(nested(self.value(expr.clone())?)));
            let item = Expr::IsNull(Box::new(nested(self.value(item)?)));
            tests.push(nested(operation(asked, BinaryOperator::And, item)));
        }
        let or = |left, right| operation(left, BinaryOperator::Or, nested(right));
        let nothing = Expr::Value(Value::Boolean(false).into());
        let found = nested(tests.into_iter().reduce(or).unwrap_or(nothing));
        Ok(if negated { not(found) } else { found })
    }

    /// Whether a value is an element of a list that has a NULL, part by part.
    fn same(&mut self, expr: &Expr, item: Expr) -> Result<Expr> {
        Ok(match (expr, item) {
            (expr, item) if is_null(&item) => Expr::IsNull(Box::new(self.value(expr.clone())?)),
            (Expr::Tuple(parts), Expr::Tuple(items)) if parts.len() == items.len() => {
                let mut tests = Vec::with_capacity(parts.len());
                for (part, item) in parts.iter().zip(items) {
                    tests.push(nested(self.same(part, item)?));
                }
                let and = |left, right| operation(left, BinaryOperator::And, right);
                let all = Expr::Value(Value::Boolean(true).into());
                nested(tests.into_iter().reduce(and).unwrap_or(all))
            }
            (expr, item) => {
                let (expr, item) = (nested(self.value(expr.clone())?), nested(self.value(item)?));
                Expr::IsTrue(Box::new(nested(operation(expr, BinaryOperator::Eq, item))))
            }
        })
    }

    /// `x IN (SELECT ..)` where NULL is found in a set that has it.
    pub(crate) fn set_with_nulls(&mut self, expr: Expr, mut set: Query, negated: bool) -> Result<Expr> {
        if let Expr::Tuple(parts) = expr {
            if parts.iter().any(is_null) {
                return Err(SqlError::not_implemented(
                    "IN of a tuple that has NULL and a subquery with transform_null_in",
                ));
            }
            return self.tuple_in_pairs(parts, set, negated);
        }
        name_columns(&mut set.body, 1)?;
        let (expr, set) = (self.value(expr)?, self.query(set, false)?);
        let mut nulls = sql::parse_query("SELECT count() > 0 FROM (SELECT 1) AS `_set`")?;
        if let SetExpr::Select(select) = nulls.body.as_mut() {
            let column = Expr::Identifier(ident(&column_name(0)));
            select.selection = Some(Expr::IsNull(Box::new(column)));
            if let Some(TableFactor::Derived { subquery, .. }) =
                select.from.first_mut().map(|from| &mut from.relation)
            {
                **subquery = set.clone();
            }
        }
        let asked = nested(Expr::IsNull(Box::new(expr.clone())));
        let has_null = Expr::Subquery(Box::new(nulls));
        let (expr, subquery) = (Box::new(expr), Box::new(set));
        // Nothing is computed of NULL, so that the answer is not NULL either.
        let present = nested(Expr::IsNotNull(expr.clone()));
        let found = Expr::InSubquery { expr, subquery, negated: false };
        let found = nested(operation(present, BinaryOperator::And, nested(found)));
        let both = nested(operation(asked, BinaryOperator::And, nested(has_null)));
        let found = nested(operation(found, BinaryOperator::Or, both));
        // It is never NULL, and a value says so in its type.
        let found = if negated { not(found) } else { found };
        Ok(if self.scope().in_where { found } else { call("assumeNotNull", vec![found]) })
    }

    /// Each part beside whether it is NULL, in a set of such pairs.
    fn tuple_in_pairs(&mut self, parts: Vec<Expr>, mut set: Query, negated: bool) -> Result<Expr> {
        name_columns(&mut set.body, parts.len())?;
        let mut pairs = sql::parse_query("SELECT 1 FROM (SELECT 1) AS `_pairs`")?;
        let pair = |part: Expr| {
            let value = call("assumeNotNull", vec![part.clone()]);
            [Expr::IsNull(Box::new(part)), value]
        };
        if let SetExpr::Select(select) = pairs.body.as_mut() {
            // Behind the name of the table, because the pairs get such names, too.
            let column = |at: usize| Expr::CompoundIdentifier(vec![ident("_pairs"), ident(&column_name(at))]);
            let items = (0..parts.len()).flat_map(|at| pair(column(at)));
            select.projection = items.map(SelectItem::UnnamedExpr).collect();
            if let Some(TableFactor::Derived { subquery, .. }) =
                select.from.first_mut().map(|from| &mut from.relation)
            {
                **subquery = set;
            }
        }
        self.tuple_in(parts.into_iter().flat_map(pair).collect(), pairs, negated)
    }
}

fn is_null(item: &Expr) -> bool {
    matches!(item, Expr::Value(value) if value.value == Value::Null)
}

/// Whether only a row tells if an element of a list is NULL.
fn is_computed(item: &Expr) -> bool {
    !matches!(item, Expr::Value(_) | Expr::UnaryOp { .. } | Expr::Tuple(_) | Expr::Array(_))
}

/// Whether an element of a list is NULL or a tuple with one.
fn has_null(item: &Expr) -> bool {
    match item {
        Expr::Tuple(parts) => parts.iter().any(has_null),
        other => is_null(other),
    }
}

/// `SELECT 1 FROM (set)`.
fn over(set: Query) -> Result<Query> {
    let mut rows = sql::parse_query("SELECT 1 FROM (SELECT 1) AS `_set`")?;
    if let SetExpr::Select(select) = rows.body.as_mut()
        && let Some(TableFactor::Derived { subquery, .. }) =
            select.from.first_mut().map(|from| &mut from.relation)
    {
        **subquery = set;
    }
    Ok(rows)
}

/// The rows of a set, each as one tuple, which `analyzer` takes apart again where it joins them.
fn as_tuples(set: Query, width: usize) -> Result<Query> {
    let mut rows = over(set)?;
    if let SetExpr::Select(select) = rows.body.as_mut() {
        let columns = (0..width).map(|at| Expr::Identifier(ident(&column_name(at)))).collect();
        select.projection = vec![SelectItem::UnnamedExpr(call("tuple", columns))];
    }
    Ok(rows)
}

fn columns_of(body: &SetExpr) -> Option<usize> {
    match body {
        SetExpr::Select(select) => {
            let is_column = |item: &SelectItem| {
                matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. })
            };
            select.projection.iter().all(is_column).then_some(select.projection.len())
        }
        SetExpr::SetOperation { left, right, .. } => columns_of(right).and(columns_of(left)),
        SetExpr::Query(query) => columns_of(&query.body),
        _ => None,
    }
}

/// The set with the names of its columns put behind it: their number is the planner's to compare.
fn renamed(set: Query, width: usize) -> Result<Query> {
    let mut rows = sql::parse_query("SELECT * FROM (SELECT 1) AS `_named`")?;
    if let SetExpr::Select(select) = rows.body.as_mut()
        && let Some(TableFactor::Derived { subquery, alias: Some(alias), .. }) =
            select.from.first_mut().map(|from| &mut from.relation)
    {
        **subquery = set;
        let column = |at: usize| TableAliasColumnDef { name: ident(&column_name(at)), data_type: None };
        alias.columns = (0..width).map(column).collect();
    }
    Ok(rows)
}

fn column_name(at: usize) -> String {
    format!("\u{1}in{at}")
}

/// Gives the columns of a set their names; an alias of theirs still names what it named.
fn name_columns(body: &mut SetExpr, width: usize) -> Result<()> {
    match body {
        SetExpr::Select(select) => {
            if select.projection.len() != width {
                let message = format!(
                    "the tuple left of IN has {width} elements, the subquery {} columns",
                    select.projection.len()
                );
                return Err(SqlError::new(ErrorCode::NUMBER_OF_COLUMNS_DOESNT_MATCH, message));
            }
            for (at, item) in select.projection.iter_mut().enumerate() {
                let expr = match item {
                    SelectItem::UnnamedExpr(expr) => expr.clone(),
                    SelectItem::ExprWithAlias { expr, alias } => {
                        Expr::Named { expr: Box::new(expr.clone()), name: alias.clone() }
                    }
                    _ => return Err(SqlError::not_implemented("IN of a tuple and a subquery with *")),
                };
                *item = SelectItem::ExprWithAlias { expr, alias: ident(&column_name(at)) };
            }
            Ok(())
        }
        SetExpr::SetOperation { left, right, .. } => {
            name_columns(left, width)?;
            name_columns(right, width)
        }
        SetExpr::Query(query) => name_columns(&mut query.body, width),
        _ => Err(SqlError::not_implemented(
            "IN of a tuple and a table: write a subquery with its columns; this",
        )),
    }
}
