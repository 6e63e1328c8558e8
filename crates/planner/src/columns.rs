//! `COLUMNS('regex')`, `COLUMNS(a, b)` and what may follow them or a `*`: EXCEPT, REPLACE, APPLY; a `*` whose columns are
//! keys that some rows leave out, or that are there twice, or of which USING joins some and others are changed; and `untuple(t)`.
//!
//! Which columns there are, only a plan of FROM tells: `probe` asks for one, `expanded` puts the answer in. Invariant: the
//! first SELECT that asks is the innermost, so that its answer does not wait for another.

mod matchers;
mod repeated;
mod splice;
mod untuple;

use std::ops::ControlFlow;

use arrow::datatypes::Schema;
use datafusion::common::DFSchema;
use model::ErrorCode;
use sql::reader::head::ident;
use sql::{Result, SqlError};
use sqlparser::ast::{
    Expr, GroupByExpr, Query, Select, SelectItem, SetExpr, Visit, VisitMut, Visitor, VisitorMut, With,
};

use self::matchers::{Columns, Source, has_matcher, is_matcher, without_parentheses};
use self::repeated::{Star, changes_joined, joins_using, kept_of, repeats, star_of};
use self::splice::spliced;

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

/// The query with what the plan of the [`probe`] told: its columns with their tables, and its result with their types.
pub fn expanded(mut query: Query, columns: &DFSchema, result: &Schema) -> Result<Query> {
    let source =
        |(table, name): (Option<String>, &String)| Source { table, name: sql::display_name(name).to_owned() };
    let columns = columns.iter().map(|(table, field)| (table.map(|t| t.table().to_owned()), field.name()));
    let columns = Columns(columns.map(source).collect());
    let mut filler = Filler { columns: &columns, result, outcome: Ok(()), depth: 0 };
    let _ = VisitMut::visit(&mut query, &mut filler);
    filler.outcome.map(|()| query)
}

/// Whether there is anything to be asked.
fn asks(query: &Query) -> bool {
    struct Asking;

    impl Visitor for Asking {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if is_matcher(expr) || untuple::is_call(expr) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        }

        fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
            if takes_stars(select, true) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
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
    by_name && select.projection.iter().any(|item| matches!(star_of(item), Star::Of(None, _)))
}

/// Whether the stars of a SELECT have to be the columns that they stand for.
fn takes_stars(select: &Select, is_inside: bool) -> bool {
    stars_are_keys(select) || repeats(select, is_inside) || changes_joined(select)
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
        if let Some(select) = asking(&mut query.body, self.with.len() > 1) {
            let with = seen_from_here(&self.with);
            self.answer = probe_of(select, self.with.len() > 1, with);
            return ControlFlow::Break(());
        }
        self.with.pop();
        ControlFlow::Continue(())
    }
}

/// The WITH lists around a query, without what still asks for columns: it cannot be seen from here.
pub fn seen_from_here(lists: &[Option<With>]) -> Option<With> {
    let mut lists = lists.iter().flatten().cloned();
    let mut all = lists.next()?;
    all.cte_tables.extend(lists.flat_map(|list| list.cte_tables));
    all.cte_tables.retain(|table| !asks(&table.query));
    (!all.cte_tables.is_empty()).then_some(all)
}

/// `SELECT * FROM ..` of a SELECT.
pub fn all_of(select: &Select) -> Option<Query> {
    let mut probe = sql::parse_query("SELECT * FROM t").ok()?;
    if let SetExpr::Select(outer) = probe.body.as_mut() {
        outer.from.clone_from(&select.from);
    }
    Some(probe)
}

/// What tells a SELECT that asks what it asks.
fn probe_of(select: &Select, is_inside: bool, with: Option<With>) -> Option<Query> {
    let probe = all_of(select).map(|probe| Query { with, ..probe })?;
    if !only_untuples(select, is_inside) {
        return Some(probe);
    }
    Some(Query { body: Box::new(SetExpr::Select(Box::new(untuple::probe(select)))), ..probe })
}

/// Whether it is only the tuples that a SELECT which asks has to know.
fn only_untuples(select: &Select, is_inside: bool) -> bool {
    untuple::asks(select) && !chooses(select) && !takes_stars(select, is_inside)
}

fn chooses(select: &Select) -> bool {
    select.projection.iter().any(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => has_matcher(expr),
        _ => false,
    })
}

/// The first SELECT of a query that asks. Inside of another one no two columns may have one name.
fn asking(body: &mut SetExpr, is_inside: bool) -> Option<&mut Select> {
    match body {
        SetExpr::Select(select) => {
            let asks = chooses(select) || takes_stars(select, is_inside) || untuple::asks(select);
            asks.then_some(select.as_mut())
        }
        SetExpr::SetOperation { left, right, .. } => {
            asking(left, is_inside).or_else(|| asking(right, is_inside))
        }
        _ => None,
    }
}

fn alias_of(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
        _ => None,
    }
}

struct Filler<'a> {
    columns: &'a Columns,
    result: &'a Schema,
    outcome: Result<()>,
    depth: usize,
}

impl VisitorMut for Filler<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let is_inside = self.depth > 1;
        self.depth = self.depth.saturating_sub(1);
        let Some(select) = asking(&mut query.body, is_inside) else { return ControlFlow::Continue(()) };
        self.outcome = match only_untuples(select, is_inside) {
            true => untuple::fill(select, self.result),
            false => self.fill(select, is_inside),
        };
        ControlFlow::Break(())
    }
}

impl Filler<'_> {
    fn fill(&self, select: &mut Select, is_inside: bool) -> Result<()> {
        let mut items = vec![];
        let takes_stars = takes_stars(select, is_inside);
        let aliases: Vec<String> = select.projection.iter().filter_map(alias_of).collect();
        for item in std::mem::take(&mut select.projection) {
            // A column of USING is of no table, so that its star has to be as it is.
            let is_joined = joins_using(select) && matches!(item, SelectItem::QualifiedWildcard(..));
            if let (Star::Of(table, left_out), true, false) = (star_of(&item), takes_stars, is_joined) {
                let places = self.columns.of_table(table.as_deref());
                let kept = places.filter(|at| !left_out.contains(&self.columns.0[*at].name.as_str()));
                items
                    .extend(kept.map(|at| SelectItem::UnnamedExpr(self.columns.column_beside(at, &aliases))));
                continue;
            }
            if let (true, SelectItem::Wildcard(options)) = (takes_stars, &item)
                && let Some(kept) = kept_of(self.columns, options, &aliases)
            {
                items.extend(kept);
                continue;
            }
            items.extend(self.items(item)?);
        }
        if items.is_empty() {
            let message = "COLUMNS matches no column";
            return Err(SqlError::new(ErrorCode::EMPTY_LIST_OF_COLUMNS_QUERIED, message));
        }
        select.projection = items;
        Ok(())
    }

    fn items(&self, item: SelectItem) -> Result<Vec<SelectItem>> {
        let (expr, alias) = match item {
            SelectItem::UnnamedExpr(expr) if has_matcher(&expr) => (expr, None),
            SelectItem::ExprWithAlias { expr, alias } if has_matcher(&expr) => (expr, Some(alias)),
            other => return Ok(vec![other]),
        };
        let expr = without_parentheses(expr);
        if !is_matcher(&expr) {
            let expr = spliced(expr, self.columns)?;
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
        let chosen = self.columns.chosen(&expr)?;
        Ok(chosen
            .into_iter()
            .map(|(expr, name)| match name {
                Some(name) => SelectItem::ExprWithAlias { expr, alias: ident(&name) },
                None => SelectItem::UnnamedExpr(expr),
            })
            .collect())
    }
}
