//! Expressions: aliases replaced, SQL's worded forms as function calls, everything else as it is.
//!
//! Operators, literals, conditions and CASE stay what they are: `coercion` gives them ClickHouse's types while
//! DataFusion plans. Invariant: what comes out has no node that only ClickHouse's grammar knows.

use model::ErrorCode;
use sql::dialect::{call, name_of, number, plain_args, text};
use sql::lexer::constants::list_of;
use sql::printer::label::{extract_function, label, trim_function};
use sql::{Result, SqlError};
use sqlparser::ast::{
    BinaryOperator, CeilFloorKind, DictionaryField, Expr, GroupByExpr, Ident, Query, SelectItem, SetExpr,
    TableFactor, UnaryOperator, Value,
};

use crate::Rewriter;
use crate::aliases::resolve;
use crate::weight::level;
use planner::chains::grouped;
use planner::words::CONSTANTS;
use planner::words::USING;

/// Keeps a rewritten operand together where an operator is put around it.
pub(crate) fn nested(expr: Expr) -> Expr {
    match expr {
        Expr::BinaryOp { .. }
        | Expr::UnaryOp { .. }
        | Expr::Between { .. }
        | Expr::Like { .. }
        | Expr::ILike { .. } => Expr::Nested(Box::new(expr)),
        other => other,
    }
}

pub(crate) fn operation(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

pub(crate) fn not(condition: Expr) -> Expr {
    Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(nested(condition)) }
}

/// Scalar subqueries within scalar subqueries: each level doubles the planner's work.
const SUBQUERIES_MAX: usize = 8;

/// Turns any number into a condition; `scalar` offers it, `coercion` takes it away again from what is Boolean.
const TRUTH: &str = "_isTrue";

/// True when DataFusion makes a Boolean of it. AND and OR look after their operands themselves.
fn is_condition(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_condition(inner),
        Expr::BinaryOp { op, .. } => matches!(
            op,
            BinaryOperator::And
                | BinaryOperator::Or
                | BinaryOperator::Eq
                | BinaryOperator::NotEq
                | BinaryOperator::Lt
                | BinaryOperator::LtEq
                | BinaryOperator::Gt
                | BinaryOperator::GtEq
                | BinaryOperator::Spaceship
        ),
        Expr::UnaryOp { op, .. } => *op == UnaryOperator::Not,
        Expr::Value(value) => matches!(value.value, Value::Boolean(_) | Value::Null),
        Expr::IsNull(_) | Expr::IsNotNull(_) | Expr::IsTrue(_) | Expr::IsNotTrue(_) | Expr::IsFalse(_) => {
            true
        }
        Expr::IsNotFalse(_) | Expr::IsDistinctFrom(..) | Expr::IsNotDistinctFrom(..) => true,
        Expr::InList { .. } | Expr::InSubquery { .. } | Expr::Between { .. } => true,
        Expr::Like { .. } | Expr::ILike { .. } | Expr::Exists { .. } => true,
        _ => false,
    }
}

fn as_condition(expr: Expr) -> Expr {
    if is_condition(&expr) { expr } else { call(TRUTH, vec![expr]) }
}

/// Whether a query has rows, as a query of one value: the planner knows EXISTS in conditions only. One of constants counts its
/// rows itself, so that its WHERE may name columns of the query around it.
pub(crate) fn any_row(mut query: Query) -> Result<Query> {
    let is_of_constants = is_of_constants(&query);
    let mut any = sql::parse_query("SELECT count() > 0 FROM (SELECT 1) AS t")?;
    if let SetExpr::Select(counting) = any.body.as_mut() {
        if is_of_constants && let SetExpr::Select(select) = query.body.as_mut() {
            select.projection = std::mem::take(&mut counting.projection);
            return Ok(query);
        }
        let from = counting.from.first_mut().map(|from| &mut from.relation);
        if let Some(TableFactor::Derived { subquery, .. }) = from {
            **subquery = query;
        }
    }
    Ok(any)
}

/// Whether a query is `SELECT 1 FROM t WHERE ..`, as EXISTS is mostly asked.
fn is_of_constants(query: &Query) -> bool {
    let Query { with: None, order_by: None, limit_clause: None, fetch: None, settings: None, .. } = query
    else {
        return false;
    };
    let SetExpr::Select(select) = query.body.as_ref() else { return false };
    let is_constant = |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(Expr::Value(_)));
    let is_ungrouped = matches!(&select.group_by, GroupByExpr::Expressions(keys, modifiers)
        if keys.is_empty() && modifiers.is_empty());
    let is_bare = select.distinct.is_none() && select.having.is_none() && select.qualify.is_none();
    is_bare && is_ungrouped && !select.from.is_empty() && select.projection.iter().all(is_constant)
}

impl Rewriter {
    /// Rewrites the expression of WHERE, HAVING, ON, FILTER and NOT, where ClickHouse takes numbers.
    pub(crate) fn condition(&mut self, expr: Expr) -> Result<Expr> {
        self.value(expr).map(as_condition)
    }

    pub(crate) fn values(&mut self, exprs: Vec<Expr>) -> Result<Vec<Expr>> {
        exprs.into_iter().map(|expr| self.value(expr)).collect()
    }

    fn boxed(&mut self, expr: Expr) -> Result<Box<Expr>> {
        self.value(expr).map(Box::new)
    }

    fn called(&mut self, name: &str, args: Vec<Expr>) -> Result<Expr> {
        Ok(call(name, self.values(args)?))
    }

    /// Rewrites an expression.
    pub(crate) fn value(&mut self, expr: Expr) -> Result<Expr> {
        self.weight.enter()?;
        if self.replacing > 0 {
            self.weight.copied(1)?;
        }
        let done = level(|| self.value_of(expr));
        self.weight.leave();
        done
    }

    fn value_of(&mut self, expr: Expr) -> Result<Expr> {
        match expr {
            Expr::Identifier(name) => match self.parameter(&name.value) {
                Some(meaning) => Ok(meaning),
                None => match resolve(&self.scopes, &name.value).cloned() {
                    Some(definition) => self.replaced(&name.value, definition),
                    None => self.of_using(name),
                },
            },
            Expr::CompoundIdentifier(names) => match self.parameter_element(&names) {
                Some(element) => Ok(element),
                None => self.element_of_alias(names),
            },
            Expr::Value(value) => {
                if self.replacing > 0
                    && let Some(list) = list_of(&value.value)
                {
                    self.weight.copied_list(list.len())?;
                }
                literal(value.value)
            }
            Expr::Named { expr: inner, name } => {
                self.scope().enter(&name.value);
                let lowered = self.value(*inner);
                self.scope().leave();
                lowered.map(nested)
            }
            Expr::Nested(inner) => Ok(nested(self.value(*inner)?)),
            Expr::BinaryOp { .. } => self.chain(expr),
            Expr::UnaryOp { op: UnaryOperator::Plus, expr } => self.value(*expr),
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => self.called("negate", vec![*expr]),
            Expr::UnaryOp { op, expr } => {
                Ok(Expr::UnaryOp { op, expr: Box::new(nested(self.condition(*expr)?)) })
            }
            Expr::Function(function) if name_of(&function) == USING => {
                self.called(USING, plain_args(&function))
            }
            Expr::Function(function) => self.function(function),
            Expr::Tuple(parts) => self.called("tuple", parts),
            Expr::Array(array) => self.called("array", array.elem),
            Expr::CompoundFieldAccess { root, access_chain } => {
                let (root, rest) = self.accessed(*root, access_chain);
                let root = self.value(root)?;
                rest.into_iter().try_fold(root, |root, access| self.access(root, access))
            }
            Expr::Subquery(query) => {
                let query = as_tuple(*query)?;
                Ok(Expr::Subquery(self.subquery(query)?))
            }
            Expr::Exists { subquery, negated } if !self.scope().in_where => {
                let exists = Expr::Subquery(Box::new(any_row(*subquery)?));
                let exists = self.value(exists)?;
                Ok(if negated { not(as_condition(exists)) } else { exists })
            }
            Expr::Exists { subquery, negated } => {
                Ok(Expr::Exists { subquery: self.subquery(*subquery)?, negated })
            }
            other => self.predicate(other),
        }
    }

    /// A query within an expression; each level of them is planned twice.
    fn subquery(&mut self, query: Query) -> Result<Box<Query>> {
        self.subqueries += 1;
        if self.subqueries > SUBQUERIES_MAX {
            let message =
                format!("scalar subqueries and EXISTS are nested deeper than {SUBQUERIES_MAX} levels");
            return Err(SqlError::new(ErrorCode::TOO_DEEP_RECURSION, message));
        }
        let done = self.query(query, false)?;
        self.subqueries -= 1;
        Ok(Box::new(done))
    }

    /// An alias: its definition, inside of which the name means a column.
    pub(crate) fn replaced(&mut self, name: &str, definition: Expr) -> Result<Expr> {
        self.scope().enter(name);
        self.replacing += 1;
        let lowered = self.value(definition);
        self.replacing -= 1;
        self.scope().leave();
        lowered.map(nested)
    }

    /// Comparisons with words: IS, IN, BETWEEN, LIKE.
    fn predicate(&mut self, expr: Expr) -> Result<Expr> {
        Ok(match expr {
            Expr::IsNull(inner) => Expr::IsNull(self.boxed(*inner)?),
            Expr::IsNotNull(inner) => Expr::IsNotNull(self.boxed(*inner)?),
            Expr::IsTrue(inner) => Expr::IsTrue(Box::new(self.condition(*inner)?)),
            Expr::IsNotTrue(inner) => Expr::IsNotTrue(Box::new(self.condition(*inner)?)),
            Expr::IsFalse(inner) => Expr::IsFalse(Box::new(self.condition(*inner)?)),
            Expr::IsNotFalse(inner) => Expr::IsNotFalse(Box::new(self.condition(*inner)?)),
            Expr::IsDistinctFrom(left, right) => {
                Expr::IsDistinctFrom(self.boxed(*left)?, self.boxed(*right)?)
            }
            Expr::IsNotDistinctFrom(left, right) => {
                Expr::IsNotDistinctFrom(self.boxed(*left)?, self.boxed(*right)?)
            }
            Expr::InList { expr, list, negated } => self.in_list(*expr, list, negated)?,
            Expr::InSubquery { expr, subquery, negated } => {
                if self.manner.null_in_sets {
                    return self.set_with_nulls(*expr, *subquery, negated);
                }
                if let Expr::Tuple(parts) = *expr {
                    return self.tuple_in(parts, *subquery, negated);
                }
                if let Some(width @ 2..) = Rewriter::columns_of(&subquery.body) {
                    return self.in_columns(*expr, *subquery, (width, negated));
                }
                let (expr, subquery) = (self.boxed(*expr)?, Box::new(self.set(*subquery)?));
                Expr::InSubquery { expr, subquery, negated }
            }
            Expr::Between { expr, negated, low, high } => {
                let before = self.weight.elements;
                let expr = self.boxed(*expr)?;
                self.weight.compared_twice(before)?;
                Expr::Between { expr, negated, low: self.boxed(*low)?, high: self.boxed(*high)? }
            }
            Expr::Like { negated, any: _, expr, pattern, escape_char: Some(escape) } => {
                let name = if negated { "notLike" } else { "like" };
                return self.value(call(name, vec![*expr, *pattern, Expr::Value(escape)]));
            }
            Expr::ILike { negated, any: _, expr, pattern, escape_char: Some(escape) } => {
                let name = if negated { "notILike" } else { "ilike" };
                return self.value(call(name, vec![*expr, *pattern, Expr::Value(escape)]));
            }
            Expr::Like { negated, any, expr, pattern, escape_char } => {
                let (expr, pattern) = (self.boxed(*expr)?, self.boxed(*pattern)?);
                Expr::Like { negated, any, expr, pattern, escape_char }
            }
            Expr::ILike { negated, any, expr, pattern, escape_char } => {
                let (expr, pattern) = (self.boxed(*expr)?, self.boxed(*pattern)?);
                Expr::ILike { negated, any, expr, pattern, escape_char }
            }
            other => return self.worded(other),
        })
    }

    /// The right side of IN.
    pub(crate) fn set(&mut self, mut query: Query) -> Result<Query> {
        if let SetExpr::Table(table) = query.body.as_ref() {
            self.weight.reads(table.table_name.as_deref().unwrap_or_default())?;
            query.body = Box::new(super::source::select_all(table)?);
            return Ok(query);
        }
        self.query(query, false)
    }

    /// `x IN ((1, 2))` is `x IN (1, 2)`, unless x is a tuple.
    fn in_list(&mut self, expr: Expr, list: Vec<Expr>, negated: bool) -> Result<Expr> {
        let is_tuple = matches!(expr, Expr::Tuple(_));
        super::tuple_set::check_not_empty(&expr, &list)?;
        let list = match <[Expr; 1]>::try_from(list) {
            Ok([Expr::Tuple(parts)])
                if !is_tuple || parts.iter().all(|part| matches!(part, Expr::Tuple(_))) =>
            {
                parts
            }
            Ok([Expr::Nested(inner)]) => match *inner {
                Expr::Array(array) => array.elem,
                Expr::Function(function) if name_of(&function).eq_ignore_ascii_case("array") => {
                    plain_args(&function)
                }
                other => vec![Expr::Nested(Box::new(other))],
            },
            Ok(one) => one.into(),
            Err(list) => list,
        };
        if self.manner.null_in_sets {
            return self.list_with_nulls(expr, list, negated);
        }
        // What holds nothing is a set like that of NULL, which no value is.
        let list = if list.is_empty() { vec![Expr::Value(Value::Null.into())] } else { list };
        let expr = self.boxed(expr)?;
        // However long, it is one set.
        let elements = self.weight.elements;
        let list = self.values(list)?;
        self.weight.elements = elements + 1;
        Ok(Expr::InList { expr, list, negated })
    }

    /// Operators of one chain, from the innermost left side outwards: long chains need no deep recursion.
    fn chain(&mut self, expr: Expr) -> Result<Expr> {
        let (mut rest, mut links) = (expr, vec![]);
        while let Expr::BinaryOp { left, op, right } = rest {
            links.push((op, *right));
            rest = *left;
        }
        let mut done = self.value(rest)?;
        while let Some((op, right)) = links.pop() {
            let right = self.value(right)?;
            if !matches!(op, BinaryOperator::And | BinaryOperator::Or) {
                done = operation(done, op, right);
                continue;
            }
            let mut operands = vec![done, right];
            while let Some((_, right)) = links.pop_if(|(next, _)| *next == op) {
                operands.push(self.value(right)?);
            }
            let joined = |left, right| operation(left, op.clone(), right);
            done = grouped(operands, &joined).ok_or_else(|| SqlError::bad_arguments("nothing to join"))?;
        }
        Ok(done)
    }

    /// SQL's forms with words between the arguments.
    fn worded(&mut self, expr: Expr) -> Result<Expr> {
        match expr {
            Expr::RLike { negated, expr, pattern, regexp: _ } => {
                let matched = self.called("match", vec![*expr, *pattern])?;
                Ok(if negated { not(as_condition(matched)) } else { matched })
            }
            Expr::Case { operand, conditions, else_result, .. }
                if operand.is_none() || conditions.len() == 1 =>
            {
                self.called("multiIf", branches(operand, conditions, else_result))
            }
            Expr::Case { case_token, end_token, operand, conditions, else_result } => {
                self.weight.enter_operand()?;
                let operand = operand.map(|operand| self.boxed(*operand)).transpose()?;
                let mut whens = vec![];
                for when in conditions {
                    let (condition, result) = (self.value(when.condition)?, self.value(when.result)?);
                    whens.push(sqlparser::ast::CaseWhen { condition, result });
                }
                let else_result = else_result.map(|otherwise| self.boxed(*otherwise)).transpose()?;
                self.weight.leave_operand();
                Ok(Expr::Case { case_token, end_token, operand, conditions: whens, else_result })
            }
            Expr::Extract { field, expr, .. } => {
                self.called(&extract_function(&field.to_string()), vec![*expr])
            }
            Expr::Ceil { expr, field } => self.rounded("ceil", *expr, field),
            Expr::Floor { expr, field } => self.rounded("floor", *expr, field),
            Expr::Position { expr, r#in } => self.called("position", vec![*r#in, *expr]),
            Expr::Substring { expr, substring_from, substring_for, .. } => {
                let mut args = vec![*expr, substring_from.map_or_else(|| number("1"), |from| *from)];
                args.extend(substring_for.map(|length| *length));
                self.called("substring", args)
            }
            Expr::Trim { trim_where, trim_what, expr, trim_characters } => {
                let mut args = vec![*expr];
                args.extend(trim_what.map(|what| *what));
                args.extend(trim_characters.unwrap_or_default());
                self.called(trim_function(trim_where), args)
            }
            Expr::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                let args = [Some(expr), Some(overlay_what), Some(overlay_from), overlay_for];
                self.called("overlay", args.into_iter().flatten().map(|arg| *arg).collect())
            }
            other => self.quantified(other),
        }
    }

    fn rounded(&mut self, name: &str, expr: Expr, field: CeilFloorKind) -> Result<Expr> {
        let mut args = vec![expr];
        if let CeilFloorKind::Scale(digits) = field {
            args.push(Expr::Value(digits));
        }
        self.called(name, args)
    }
}

/// A scalar subquery of several columns gives one tuple of them.
fn as_tuple(query: Query) -> Result<Query> {
    let SetExpr::Select(select) = query.body.as_ref() else { return Ok(query) };
    let mut names: Vec<Expr> = vec![];
    for item in &select.projection {
        names.push(match item {
            SelectItem::UnnamedExpr(expr) => Expr::Identifier(sql::reader::head::ident(&label(expr))),
            SelectItem::ExprWithAlias { alias, .. } => Expr::Identifier(alias.clone()),
            _ => return Ok(query),
        });
    }
    let is_repeated = names.iter().enumerate().any(|(at, name)| names[..at].contains(name));
    if names.len() < 2 || is_repeated {
        return Ok(query);
    }
    let mut outer = sql::parse_query("SELECT 1 FROM (SELECT 1) AS row_of_columns")?;
    if let SetExpr::Select(select) = outer.body.as_mut() {
        select.projection = vec![SelectItem::UnnamedExpr(call("tuple", names))];
        if let Some(TableFactor::Derived { subquery, .. }) =
            select.from.first_mut().map(|from| &mut from.relation)
        {
            **subquery = query;
        }
    }
    Ok(outer)
}

/// A number as a literal of its type, for the SELECTs around: they are planned before literals get their types.
pub(crate) fn with_type(expr: Expr) -> Expr {
    let digits = match &expr {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits,
            _ => return expr,
        },
        _ => return expr,
    };
    let Ok(number) = digits.parse::<u64>() else { return expr };
    let column_type = match number {
        0..=0xFF => "UInt8",
        0x100..=0xFFFF => "UInt16",
        0x1_0000..=0xFFFF_FFFF => "UInt32",
        _ => "UInt64",
    };
    let (key, value) = (Ident::with_quote('\'', column_type), Box::new(text(digits.as_str())));
    Expr::Dictionary(vec![DictionaryField { key, value }])
}

/// DataFusion reads decimal digits only, and `0x..` as bytes.
fn literal(value: Value) -> Result<Expr> {
    Ok(match value {
        Value::Number(digits, _) => number(digits.replace('_', "")),
        Value::HexStringLiteral(digits) => match u64::from_str_radix(&digits.replace('_', ""), 16) {
            Ok(n) => number(n.to_string()),
            Err(_) => return Err(SqlError::bad_arguments(format!("number 0x{digits} is out of range"))),
        },
        other => match list_of(&other) {
            Some(list) => call(CONSTANTS, vec![text(list)]),
            None => Expr::Value(other.into()),
        },
    })
}

/// `CASE operand WHEN when`: NULL is NULL there. Both sides are written twice only where they are names.
fn same(operand: Expr, when: Expr) -> Expr {
    let is_null = |expr: &Expr| Expr::IsNull(Box::new(nested(expr.clone())));
    let is_name = |expr: &Expr| matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
    if matches!(&when, Expr::Value(value) if value.value == Value::Null) {
        return is_null(&operand);
    }
    let both_null = (is_name(&operand) && is_name(&when))
        .then(|| operation(is_null(&operand), BinaryOperator::And, is_null(&when)));
    let equal = operation(nested(operand), BinaryOperator::Eq, nested(when));
    match both_null {
        Some(both_null) => nested(operation(equal, BinaryOperator::Or, nested(both_null))),
        None => equal,
    }
}

/// A CASE as the arguments of multiIf, which the planner does not look into.
fn branches(
    operand: Option<Box<Expr>>,
    conditions: Vec<sqlparser::ast::CaseWhen>,
    otherwise: Option<Box<Expr>>,
) -> Vec<Expr> {
    let mut args = Vec::with_capacity(conditions.len() * 2 + 1);
    for when in conditions {
        args.push(match &operand {
            Some(operand) => same((**operand).clone(), when.condition),
            None => when.condition,
        });
        args.push(when.result);
    }
    args.push(otherwise.map_or(Expr::Value(Value::Null.into()), |otherwise| *otherwise));
    args
}
