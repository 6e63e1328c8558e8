//! `*` over joins with USING as the columns of USING, then the tables' stars without these.
//!
//! DataFusion keeps the key of whichever table's name sorts first, which in an outer join may be the side without a row.
//! Invariant: where a table has no name, or a join is of another kind, the `*` stays.

use sql::dialect::{call, number};
use sql::reader::clauses::{Side, Strictness, word_of};
use sql::reader::head::ident;
use sql::tables::joins::{constraint_mut, constraint_of};
use sqlparser::ast::{
    BinaryOperator, Expr, Ident, Join, JoinConstraint, JoinOperator, ObjectName, Select, SelectItem,
    SelectItemQualifiedWildcardKind, TableAlias, TableFactor, TableWithJoins, WildcardAdditionalOptions,
};

use crate::lower::operation;
use planner::words::USING;

/// The table's name, and the columns of it that USING names.
type Part = (ObjectName, Vec<Ident>);

/// What the bare name of a column of USING stands for.
pub(crate) struct Joined {
    pub(crate) name: Ident,
    pub(crate) value: Expr,
    /// Also outside of WHERE.
    pub(crate) everywhere: bool,
}

/// The tables that a `*` stands for, when one of them is joined with USING.
pub(crate) fn parts(from: &[TableWithJoins]) -> Option<Vec<Part>> {
    let [tables] = from else { return None };
    let mut parts = vec![(name_of(&tables.relation)?, vec![])];
    for join in &tables.joins {
        parts.push((name_of(&join.relation)?, using(join)?));
    }
    let names: Vec<&ObjectName> = parts.iter().map(|(name, _)| name).collect();
    let is_named_twice = names.iter().enumerate().any(|(at, name)| names[..at].contains(name));
    let any_using = parts.iter().any(|(_, columns)| !columns.is_empty());
    (any_using && !is_named_twice).then_some(parts)
}

/// Names the subqueries without a name that USING joins: a `*` has their columns in the tables' order then.
pub(crate) fn name_subqueries(from: &mut [TableWithJoins]) {
    let [tables] = from else { return };
    if !tables.joins.iter().any(|join| using(join).is_some_and(|columns| !columns.is_empty())) {
        return;
    }
    let relations =
        std::iter::once(&mut tables.relation).chain(tables.joins.iter_mut().map(|j| &mut j.relation));
    for (at, relation) in relations.enumerate() {
        if let TableFactor::Derived { alias, .. } = relation {
            let name = || ident(&format!("__subquery_{at}"));
            alias.get_or_insert_with(|| TableAlias {
                explicit: true,
                name: name(),
                columns: vec![],
                at: None,
            });
        }
    }
}

/// For each column of USING a table whose column has its value: the planner does not find it in WHERE by itself. In a
/// FULL JOIN there is none.
fn in_where(from: &[TableWithJoins]) -> Vec<Joined> {
    let (Some(parts), [tables]) = (parts(from), from) else { return vec![] };
    let mut names: Vec<&ObjectName> = vec![];
    for (at, (name, _)) in parts.iter().enumerate() {
        let operator = at.checked_sub(1).and_then(|at| tables.joins.get(at)).map(|join| &join.join_operator);
        match operator {
            Some(JoinOperator::FullOuter(_)) => return vec![],
            Some(JoinOperator::AsOf { match_condition, .. }) if is_full(match_condition) => return vec![],
            Some(JoinOperator::Right(_) | JoinOperator::RightOuter(_)) => names = vec![name],
            _ => names.push(name),
        }
    }
    let Some(first) = names.first() else { return vec![] };
    let mut columns: Vec<Joined> = vec![];
    for column in parts.iter().flat_map(|(_, columns)| columns) {
        // Which of several tables has a column that only the later ones are joined by is not known here.
        let everywhere = parts.iter().skip(1).all(|(_, columns)| columns.contains(column));
        if everywhere && columns.iter().all(|known| known.name != *column) {
            let value = column_of(first, column);
            columns.push(Joined { name: column.clone(), value, everywhere: false });
        }
    }
    columns
}

/// What the bare names of columns of USING stand for in a SELECT. A `*` of which columns are left out or replaced needs
/// them to be one column.
pub(crate) fn joined_columns(select: &mut Select) -> Vec<Joined> {
    let parts = parts(&select.from).unwrap_or_default();
    let changes = |item: &SelectItem| match item {
        SelectItem::Wildcard(options) => {
            let is_plain = options.opt_replace.is_none() && options.opt_except.is_none();
            !is_plain && !leaves_out_keys(options, &parts)
        }
        _ => false,
    };
    let apart = match select.projection.iter().any(changes) {
        true => vec![],
        false => kept_apart(&mut select.from),
    };
    if apart.is_empty() { in_where(&select.from) } else { apart }
}

/// Joins tables with ON in place of USING where the first may have no row: its own column is then the default, while the bare
/// name is the column of whichever has one; and where more than two are joined. Says what the bare names stand for.
///
/// DataFusion has one column for two tables, and finds none among more.
fn kept_apart(from: &mut [TableWithJoins]) -> Vec<Joined> {
    let [tables] = from else { return vec![] };
    let Some(steps) = steps(tables) else { return vec![] };
    let is_needed = steps.len() > 1 || steps.iter().any(|step| step.kept != Kept::Left);
    if !is_needed {
        return vec![];
    }
    let mut joined: Vec<Joined> = vec![];
    let mut conditions: Vec<Option<Expr>> = vec![];
    for (at, step) in steps.iter().enumerate() {
        let mut equals = vec![];
        for name in &step.columns {
            let known = joined.iter().position(|known| known.name.value == name.value);
            let left = match known {
                Some(known) => joined.swap_remove(known).value,
                // Which of several tables has a column is not known here.
                None if at == 0 => column_of(&step.left, name),
                None => return vec![],
            };
            let right = column_of(&step.right, name);
            // The mark says that they get one type.
            let marked = |column: &Expr| call(USING, vec![column.clone()]);
            equals.push(operation(marked(&left), BinaryOperator::Eq, marked(&right)));
            let value = match step.kept {
                Kept::Left => left,
                Kept::Right => right,
                Kept::Both => whichever(left, right),
            };
            joined.push(Joined { name: name.clone(), value, everywhere: true });
        }
        conditions.push(equals.into_iter().reduce(|all, one| operation(all, BinaryOperator::And, one)));
    }
    for (join, condition) in tables.joins.iter_mut().zip(conditions) {
        if let (Some(condition), Some(constraint)) = (condition, constraint_mut(&mut join.join_operator)) {
            *constraint = JoinConstraint::On(condition);
        }
    }
    joined
}

/// Which side's column of USING has the value in every row of a join.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Left,
    Right,
    Both,
}

/// One join of a chain: the first table, the one that it adds, and the columns of its USING.
struct Step {
    left: ObjectName,
    right: ObjectName,
    columns: Vec<Ident>,
    kept: Kept,
}

/// The joins of a chain of tables with names, one of which has USING; `None` where a join is of a kind that has to stay as written.
fn steps(tables: &TableWithJoins) -> Option<Vec<Step>> {
    let left = name_of(&tables.relation)?;
    let mut names = vec![left.clone()];
    let mut steps = vec![];
    for join in &tables.joins {
        let right = name_of(&join.relation)?;
        if names.contains(&right) {
            return None;
        }
        names.push(right.clone());
        let columns = using(join)?;
        let kept = match &join.join_operator {
            JoinOperator::Right(_) | JoinOperator::RightOuter(_) => Kept::Right,
            JoinOperator::FullOuter(_) => Kept::Both,
            JoinOperator::AsOf { match_condition, .. } => {
                match word_of(match_condition).and_then(Strictness::parse)? {
                    (Strictness::Any | Strictness::Anti, Side::Right) => Kept::Right,
                    (Strictness::Any, Side::Full) => Kept::Both,
                    (Strictness::Any, Side::Left | Side::Inner) if tables.joins.len() > 1 => Kept::Left,
                    _ => return None,
                }
            }
            _ => Kept::Left,
        };
        steps.push(Step { left: left.clone(), right, columns, kept });
    }
    steps.iter().any(|step| !step.columns.is_empty()).then_some(steps)
}

fn is_full(strictness: &Expr) -> bool {
    matches!(word_of(strictness).and_then(Strictness::parse), Some((_, Side::Full)))
}

/// The left column, or the right one where that is its default: then the left row is missing, or both are equal.
fn whichever(left: Expr, right: Expr) -> Expr {
    // What a row that is missing has; of a Date32 that is another than the default of its type.
    let behind_the_end = vec![call("array", vec![left.clone()]), number("2")];
    let default = call("arrayElement", behind_the_end);
    let is_default = operation(left.clone(), BinaryOperator::Eq, default);
    let misses = operation(Expr::IsNull(Box::new(left.clone())), BinaryOperator::Or, is_default);
    call("if", vec![misses, right, left])
}

fn column_of(table: &ObjectName, column: &Ident) -> Expr {
    let table = table.0.iter().filter_map(|part| part.as_ident()).cloned();
    Expr::CompoundIdentifier(table.chain([column.clone()]).collect())
}

/// Whether a `*` is without some of the columns of USING that all tables have, and otherwise plain.
pub(crate) fn leaves_out_keys(options: &WildcardAdditionalOptions, parts: &[Part]) -> bool {
    let Some(except) = &options.opt_except else { return false };
    let mut names = std::iter::once(&except.first_element).chain(&except.additional_elements);
    let is_key = |name: &Ident| {
        parts.len() > 1
            && parts.iter().skip(1).all(|(_, columns)| columns.iter().any(|key| key.value == name.value))
    };
    options.opt_replace.is_none() && names.all(is_key)
}

/// A plain `*`, or one that [`leaves_out_keys`], as these columns and stars. Where the tables are joined by different columns, the
/// first table keeps its own in their places.
pub(crate) fn stars(
    options: &WildcardAdditionalOptions,
    parts: &[Part],
    joined: &[Joined],
    leave_out: impl Fn(&mut WildcardAdditionalOptions, &[Ident]),
) -> Vec<SelectItem> {
    let mut options = options.clone();
    let left_out: Vec<Ident> = options.opt_except.take().map_or(vec![], |except| {
        std::iter::once(except.first_element).chain(except.additional_elements).collect()
    });
    let named: Vec<&Vec<Ident>> = parts.iter().skip(1).map(|(_, columns)| columns).collect();
    let is_of = |one: &[Ident], other: &[Ident]| one.iter().all(|column| other.contains(column));
    // In the order of the last one, whose columns come first.
    let same = named.last().filter(|last| {
        named.iter().all(|other| is_of(other, last.as_slice()) && is_of(last.as_slice(), other))
    });
    let star = |(at, (name, columns)): (usize, &Part)| {
        let mut options = options.clone();
        leave_out(&mut options, if at == 0 { same.map_or(&left_out, |same| same) } else { columns });
        let kind = SelectItemQualifiedWildcardKind::ObjectName(name.clone());
        SelectItem::QualifiedWildcard(kind, options)
    };
    let first = parts.first().map(|(name, _)| name);
    let key = |column: Ident| {
        let known = joined.iter().find(|known| known.everywhere && known.name.value == column.value);
        match (known, first, parts.len()) {
            (Some(known), ..) => SelectItem::ExprWithAlias { expr: known.value.clone(), alias: column },
            // The planner finds the one of whichever side has the row, but not among more than two tables.
            (None, Some(first), 3..) => SelectItem::UnnamedExpr(column_of(first, &column)),
            (None, ..) => SelectItem::UnnamedExpr(Expr::Identifier(column)),
        }
    };
    let keys = same.into_iter().flat_map(|columns| columns.iter().cloned());
    let keys = keys.filter(|key| left_out.iter().all(|left_out| left_out.value != key.value)).map(key);
    keys.chain(parts.iter().enumerate().map(star)).collect()
}

fn name_of(relation: &TableFactor) -> Option<ObjectName> {
    match relation {
        TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } => {
            Some(ObjectName::from(vec![alias.name.clone()]))
        }
        TableFactor::Table { name, alias: None, args: None, .. } => Some(name.clone()),
        _ => None,
    }
}

/// The columns of USING; none when the join has another condition.
fn using(join: &Join) -> Option<Vec<Ident>> {
    let has_both_sides = !matches!(
        &join.join_operator,
        JoinOperator::LeftSemi(_)
            | JoinOperator::RightSemi(_)
            | JoinOperator::LeftAnti(_)
            | JoinOperator::RightAnti(_)
    );
    match constraint_of(&join.join_operator).filter(|_| has_both_sides)? {
        JoinConstraint::Using(names) => {
            let column = |name: &ObjectName| name.0.last().and_then(|part| part.as_ident()).cloned();
            names.iter().map(column).collect()
        }
        JoinConstraint::On(_) | JoinConstraint::None => Some(vec![]),
        JoinConstraint::Natural => None,
    }
}
