//! Joins that find at most one partner: ANY, SEMI, ANTI and ASOF.
//!
//! Invariant: the side a partner is looked up in is cut to one row for each key before the join, so every join is an
//! ordinary one; that of ASOF carries a mark until `analyzer` makes it a step of its own. Where more than keys decides who is a
//! partner, the rows that look are numbered, and of their partners the first passes. Columns of both sides can be selected, as
//! in ClickHouse.

use std::sync::Arc;

use datafusion::common::{Column, DFSchema, DataFusionError, JoinType, Result, plan_err};
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::planner::RelationPlannerContext;
use datafusion::logical_expr::utils::{conjunction, find_valid_equijoin_key_pair, split_conjunction_owned};
use datafusion::logical_expr::{
    BinaryExpr, Expr, Join, LogicalPlan, LogicalPlanBuilder, Operator, ScalarUDF, lit,
};
use functions::FunctionError;
use model::ErrorCode;
use sql::reader::clauses::{ASOF, Side, Strictness, USING};
use sqlparser::ast::JoinConstraint;

use super::extended;
use crate::nodes::{Cut, CutKind};

/// A join's condition taken apart.
struct Condition {
    left_keys: Vec<Expr>,
    right_keys: Vec<Expr>,
    /// Names of USING.
    using: Option<Vec<Column>>,
    left_only: Vec<Expr>,
    right_only: Vec<Expr>,
    /// Comparisons of one side with the other that are no equality.
    between: Vec<Expr>,
}

/// Says of a partner that it is one; never shown.
const MATCHED: &str = "\u{1}matched";
/// The number of a row that looks for a partner; never shown.
const NUMBER: &str = "\u{1}number";

pub(super) fn plan(
    (left, right): (LogicalPlan, LogicalPlan),
    (strictness, side): (Strictness, Side),
    constraint: JoinConstraint,
    context: &mut dyn RelationPlannerContext,
) -> Result<LogicalPlan> {
    let condition = condition(&left, &right, constraint, context)?;
    if strictness == Strictness::Asof {
        let Some(mark) = context.context_provider().get_function_meta(ASOF) else {
            return plan_err!("there is no function {ASOF}");
        };
        return nearest((left, right), side, condition, &mark);
    }
    // Conditions on the side that is looked up in say what it has; on the other side, which rows look.
    let (mut left, mut right) = (left, right);
    let mut rest = vec![];
    match side {
        Side::Left => (right, rest) = (filtered(right, &condition.right_only)?, condition.left_only.clone()),
        Side::Right => (left, rest) = (filtered(left, &condition.left_only)?, condition.right_only.clone()),
        Side::Inner => {
            left = filtered(left, &condition.left_only)?;
            right = filtered(right, &condition.right_only)?;
        }
        Side::Full => {
            let is_plain = condition.left_only.is_empty()
                && condition.right_only.is_empty()
                && condition.between.is_empty();
            if strictness != Strictness::Any || !is_plain {
                return Err(refused("a FULL JOIN that is SEMI or ANTI, or ANY with more than equalities,"));
            }
        }
    }
    rest.extend(condition.between.clone());
    if strictness == Strictness::Anti {
        return unmatched((left, right), side, condition, rest);
    }
    if !condition.between.is_empty() {
        return first_partners((left, right), (strictness, side), condition, rest);
    }
    if side != Side::Right {
        right = one_of_each(right, &condition.right_keys)?;
    }
    if side == Side::Right || (side == Side::Inner && strictness == Strictness::Any) {
        left = one_of_each(left, &condition.left_keys)?;
    }
    let join_type = match (strictness, side) {
        (Strictness::Any, Side::Left) => JoinType::Left,
        (Strictness::Any, Side::Right) => JoinType::Right,
        (Strictness::Any, Side::Full) => JoinType::Full,
        _ => JoinType::Inner,
    };
    joined(left, right, join_type, condition, rest)
}

/// Of each row that looks the first partner among those that meet the whole condition.
fn first_partners(
    (left, right): (LogicalPlan, LogicalPlan),
    (strictness, side): (Strictness, Side),
    condition: Condition,
    rest: Vec<Expr>,
) -> Result<LogicalPlan> {
    if condition.left_keys.is_empty() && (strictness, side) == (Strictness::Any, Side::Inner) {
        return Err(refused("ANY INNER JOIN whose condition has no equality of both sides"));
    }
    let shown: Vec<Expr> =
        left.schema().columns().into_iter().chain(right.schema().columns()).map(Expr::Column).collect();
    let keeps_all = strictness == Strictness::Any;
    let both = match side {
        Side::Right => {
            let join_type = if keeps_all { JoinType::Right } else { JoinType::Inner };
            joined(left, numbered(right)?, join_type, condition, rest)?
        }
        _ => {
            let join_type = if keeps_all && side == Side::Left { JoinType::Left } else { JoinType::Inner };
            joined(numbered(left)?, right, join_type, condition, rest)?
        }
    };
    let number = Expr::Column(Column::from_name(NUMBER));
    LogicalPlanBuilder::from(one_of_each(both, &[number])?).project(shown)?.build()
}

/// The rows with a number each, of which no two are the same.
fn numbered(plan: LogicalPlan) -> Result<LogicalPlan> {
    let columns: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
    let number = row_number();
    let made = Column::from_name(number.schema_name().to_string());
    let columns = columns.into_iter().chain([Expr::Column(made).alias(NUMBER)]);
    LogicalPlanBuilder::from(plan).window(vec![number])?.project(columns)?.build()
}

/// ASOF JOIN, as a join whose condition is the mark around its inequality. Of USING the last column is compared.
fn nearest(
    (left, right): (LogicalPlan, LogicalPlan),
    side: Side,
    condition: Condition,
    mark: &Arc<ScalarUDF>,
) -> Result<LogicalPlan> {
    let join_type = match side {
        Side::Left => JoinType::Left,
        Side::Inner => JoinType::Inner,
        Side::Right | Side::Full => {
            return Err(refused(
                "ASOF RIGHT JOIN or FULL JOIN: only ASOF JOIN and ASOF LEFT JOIN are, and it",
            ));
        }
    };
    // What only the right side is asked says what it has; what only the left side is asked, which rows look.
    let right = filtered(right, &condition.right_only)?;
    let inequality = match (condition.using.as_ref(), condition.between.as_slice()) {
        (Some(_), []) => {
            let last = (condition.left_keys.last().cloned(), condition.right_keys.last().cloned());
            let (Some(one), Some(other)) = last else { return plan_err!("USING needs names of columns") };
            Expr::BinaryExpr(BinaryExpr::new(Box::new(one), Operator::GtEq, Box::new(other)))
        }
        (None, [one]) => one.clone(),
        _ => {
            let message =
                "ASOF JOIN needs one inequality (<, <=, > or >=) between its sides beside the equalities";
            return Err(external(ErrorCode::INVALID_JOIN_ON_EXPRESSION, message));
        }
    };
    let equalities = condition.left_keys.len() - usize::from(condition.using.is_some());
    if equalities == 0 {
        return Err(refused("ASOF JOIN without an equality between its sides"));
    }
    let mark = mark.call(std::iter::once(inequality).chain(condition.left_only.clone()).collect());
    let builder = LogicalPlanBuilder::from(left);
    let joined = match condition.using {
        Some(columns) => builder.join_using(right, join_type, columns)?,
        None => {
            let keys = (condition.left_keys, condition.right_keys);
            builder.join_with_expr_keys(right, join_type, keys, None)?
        }
    };
    match joined.build()? {
        LogicalPlan::Join(join) => Ok(LogicalPlan::Join(Join { filter: Some(mark), ..join })),
        other => plan_err!("ASOF JOIN was planned as {}", other.display()),
    }
}

/// The rows of one side that have no partner, with defaults for the other side's columns.
fn unmatched(
    (left, right): (LogicalPlan, LogicalPlan),
    side: Side,
    condition: Condition,
    rest: Vec<Expr>,
) -> Result<LogicalPlan> {
    let marked = |plan: LogicalPlan| {
        let mut columns: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
        columns.push(lit(true).alias(MATCHED));
        LogicalPlanBuilder::from(plan).project(columns)?.build()
    };
    let shown: Vec<Expr> =
        left.schema().columns().into_iter().chain(right.schema().columns()).map(Expr::Column).collect();
    let both = match side {
        Side::Right => joined(marked(left)?, right, JoinType::Right, condition, rest)?,
        _ => joined(left, marked(right)?, JoinType::Left, condition, rest)?,
    };
    let alone = Expr::IsNotTrue(Box::new(Expr::Column(Column::from_name(MATCHED))));
    LogicalPlanBuilder::from(both).filter(alone)?.project(shown)?.build()
}

fn joined(
    left: LogicalPlan,
    right: LogicalPlan,
    join_type: JoinType,
    condition: Condition,
    rest: Vec<Expr>,
) -> Result<LogicalPlan> {
    let builder = LogicalPlanBuilder::from(left);
    let joined = match condition.using {
        Some(columns) => builder.join_using(right, join_type, columns)?,
        // Equalities are a condition as any other: how tuples and floats are compared `analyzer` knows.
        None => {
            let keys = condition.left_keys.into_iter().zip(condition.right_keys);
            let all = conjunction(keys.map(|(one, other)| one.eq(other)).chain(rest));
            builder.join_on(right, join_type, [all.unwrap_or_else(|| lit(true))])?
        }
    };
    joined.build()
}

fn filtered(plan: LogicalPlan, conditions: &[Expr]) -> Result<LogicalPlan> {
    match conjunction(conditions.to_vec()) {
        Some(condition) => LogicalPlanBuilder::from(plan).filter(condition)?.build(),
        None => Ok(plan),
    }
}

/// A key without the mark of USING around it.
fn bare(key: &Expr) -> &Expr {
    match key {
        Expr::ScalarFunction(function) if function.func.name() == USING => {
            function.args.first().unwrap_or(key)
        }
        other => other,
    }
}

/// One row of each value of the keys; without keys one row.
fn one_of_each(plan: LogicalPlan, keys: &[Expr]) -> Result<LogicalPlan> {
    if keys.is_empty() {
        return LogicalPlanBuilder::from(plan).limit(0, Some(1))?.build();
    }
    let keys = keys.iter().map(|key| bare(key).clone()).collect();
    Ok(extended(Cut::new(CutKind::By, keys, (0, 1), plan)))
}

fn condition(
    left: &LogicalPlan,
    right: &LogicalPlan,
    constraint: JoinConstraint,
    context: &mut dyn RelationPlannerContext,
) -> Result<Condition> {
    let (left, right) = (left.schema(), right.schema());
    let mut found = Condition {
        left_keys: vec![],
        right_keys: vec![],
        using: None,
        left_only: vec![],
        right_only: vec![],
        between: vec![],
    };
    match constraint {
        JoinConstraint::Using(names) => {
            let mut using = vec![];
            for name in names {
                let name = name.0.last().and_then(|part| part.as_ident()).map(|part| part.value.clone());
                let Some(name) = name else { return plan_err!("USING needs names of columns") };
                found.left_keys.push(column_of(left, &name)?);
                found.right_keys.push(column_of(right, &name)?);
                using.push(Column::from_name(name));
            }
            found.using = Some(using);
        }
        JoinConstraint::On(condition) => {
            let whole = context.sql_to_expr(condition, &left.join(right)?)?;
            for part in split_conjunction_owned(whole) {
                found.add(part, left, right)?;
            }
        }
        JoinConstraint::Natural | JoinConstraint::None => {}
    }
    Ok(found)
}

impl Condition {
    fn add(&mut self, part: Expr, left: &DFSchema, right: &DFSchema) -> Result<()> {
        if let Expr::BinaryExpr(BinaryExpr { left: one, op: Operator::Eq, right: other }) = &part
            && let Some((of_left, of_right)) = find_valid_equijoin_key_pair(one, other, left, right)?
        {
            self.left_keys.push(of_left);
            self.right_keys.push(of_right);
            return Ok(());
        }
        let within = |schema: &DFSchema| part.column_refs().iter().all(|column| schema.has_column(column));
        match (within(left), within(right)) {
            (_, true) => self.right_only.push(part),
            (true, _) => self.left_only.push(part),
            _ => self.between.push(turned(part, left)),
        }
        Ok(())
    }
}

/// A comparison with the left side's expression on its left.
fn turned(part: Expr, left: &DFSchema) -> Expr {
    let Expr::BinaryExpr(BinaryExpr { left: one, op, right: other }) = &part else { return part };
    let is_left = one.column_refs().iter().all(|column| left.has_column(column));
    match op.swap() {
        Some(op) if !is_left => Expr::BinaryExpr(BinaryExpr::new(other.clone(), op, one.clone())),
        _ => part,
    }
}

fn column_of(schema: &DFSchema, name: &str) -> Result<Expr> {
    schema.qualified_field_with_unqualified_name(name).map(|part| Expr::Column(Column::from(part)))
}

fn refused(what: &str) -> DataFusionError {
    external(ErrorCode::NOT_IMPLEMENTED, &format!("{what} is not supported"))
}

fn external(code: ErrorCode, message: &str) -> DataFusionError {
    DataFusionError::External(Box::new(FunctionError::new(code, message)))
}
