//! `*` over joins with USING as the columns of USING, then the tables' stars without these.
//!
//! DataFusion keeps the key of whichever table's name sorts first, which in an outer join may be the side without a row.
//! Invariant: where a table has no name, or a join is of another kind, the `*` stays.

use sql::tables::joins::constraint_of;
use sqlparser::ast::{
    Expr, Ident, Join, JoinConstraint, JoinOperator, ObjectName, SelectItem, SelectItemQualifiedWildcardKind,
    TableFactor, TableWithJoins, WildcardAdditionalOptions,
};

/// The table's name, and the columns of it that USING names.
type Part = (ObjectName, Vec<Ident>);

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

/// For each column of USING a table whose column has its value: the planner does not find it in WHERE by itself. In a
/// FULL JOIN there is none.
pub(crate) fn in_where(from: &[TableWithJoins]) -> Vec<(Ident, Vec<Ident>)> {
    let (Some(parts), [tables]) = (parts(from), from) else { return vec![] };
    let mut names: Vec<&ObjectName> = vec![];
    for (at, (name, _)) in parts.iter().enumerate() {
        let operator = at.checked_sub(1).and_then(|at| tables.joins.get(at)).map(|join| &join.join_operator);
        match operator {
            Some(JoinOperator::FullOuter(_)) => return vec![],
            Some(JoinOperator::Right(_) | JoinOperator::RightOuter(_)) => names = vec![name],
            _ => names.push(name),
        }
    }
    let Some(first) = names.first() else { return vec![] };
    let table: Vec<Ident> = first.0.iter().filter_map(|part| part.as_ident()).cloned().collect();
    let mut columns: Vec<(Ident, Vec<Ident>)> = vec![];
    for column in parts.iter().flat_map(|(_, columns)| columns) {
        // Which of several tables has a column that only the later ones are joined by is not known here.
        let everywhere = parts.iter().skip(1).all(|(_, columns)| columns.contains(column));
        if everywhere && columns.iter().all(|(known, _)| known != column) {
            let path = table.iter().cloned().chain([column.clone()]).collect();
            columns.push((column.clone(), path));
        }
    }
    columns
}

/// A plain `*` as these columns and stars. Where the tables are joined by different columns, the first table keeps its own
/// in their places.
pub(crate) fn stars(
    options: &WildcardAdditionalOptions,
    parts: &[Part],
    leave_out: impl Fn(&mut WildcardAdditionalOptions, &[Ident]),
) -> Vec<SelectItem> {
    let joined: Vec<&Vec<Ident>> = parts.iter().skip(1).map(|(_, columns)| columns).collect();
    let same = joined.first().filter(|first| joined.iter().all(|other| other == *first));
    let star = |(at, (name, columns)): (usize, &Part)| {
        let mut options = options.clone();
        leave_out(&mut options, if at == 0 { same.map_or(&[][..], |same| same) } else { columns });
        let kind = SelectItemQualifiedWildcardKind::ObjectName(name.clone());
        SelectItem::QualifiedWildcard(kind, options)
    };
    let first = parts.first().map(|(name, _)| name);
    let key = |column: Ident| match (first, parts.len()) {
        // The planner finds the one of whichever side has the row, but not among more than two tables.
        (Some(first), 3..) => {
            let parts = first.0.iter().filter_map(|part| part.as_ident()).cloned();
            Expr::CompoundIdentifier(parts.chain([column]).collect())
        }
        _ => Expr::Identifier(column),
    };
    let keys = same.into_iter().flat_map(|columns| columns.iter().cloned());
    let keys = keys.map(|column| SelectItem::UnnamedExpr(key(column)));
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
