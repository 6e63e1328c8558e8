//! Parts of Nested columns in queries: `n.a` as the column of that name, ARRAY JOIN n as that of all its parts.
//!
//! Invariant: a name that is no part of a Nested of a table of the query is left alone, so that it may be `table.column` or
//! an element of a tuple. Must not know: which tables there are.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    AccessExpr, Expr, Ident, Join, JoinOperator, Query, Select, SelectItem, SetExpr, TableFactor, VisitMut,
    VisitorMut,
};

/// The query with its Nested columns by their names. `parts` are the columns with a point in their name, `whole` those
/// before the point that are no columns themselves.
pub fn with_nested(query: &mut Query, parts: BTreeSet<String>, whole: &BTreeSet<String>) {
    let mut joins = Joins { parts, whole };
    // Neither breaks off.
    let _ = query.visit(&mut joins);
    let _ = query.visit(&mut Names { parts: &joins.parts });
}

/// Lists the parts of what ARRAY JOIN names as a whole.
struct Joins<'a> {
    parts: BTreeSet<String>,
    whole: &'a BTreeSet<String>,
}

impl VisitorMut for Joins<'_> {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for from in &mut select.from {
            from.joins.iter_mut().for_each(|join| self.join(join));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::NestedJoin { table_with_joins, .. } = factor {
            table_with_joins.joins.iter_mut().for_each(|join| self.join(join));
        }
        ControlFlow::Continue(())
    }
}

impl Joins<'_> {
    fn join(&mut self, join: &mut Join) {
        let is_array_join = matches!(
            join.join_operator,
            JoinOperator::ArrayJoin | JoinOperator::LeftArrayJoin | JoinOperator::InnerArrayJoin
        );
        if let TableFactor::Derived { subquery, .. } = &mut join.relation
            && let SetExpr::Select(list) = subquery.body.as_mut()
            && is_array_join
        {
            let items = std::mem::take(&mut list.projection);
            list.projection = items.into_iter().flat_map(|item| self.items(item)).collect();
        }
    }

    fn items(&mut self, item: SelectItem) -> Vec<SelectItem> {
        let (name, alias) = match &item {
            SelectItem::UnnamedExpr(Expr::Identifier(name)) => (name.value.clone(), None),
            SelectItem::ExprWithAlias { expr: Expr::Identifier(name), alias } => {
                (name.value.clone(), Some(alias.value.clone()))
            }
            _ => return vec![item],
        };
        if !self.whole.contains(&name) {
            return vec![item];
        }
        let prefix = format!("{name}.");
        let parts: Vec<String> =
            self.parts.iter().filter_map(|part| part.strip_prefix(&prefix)).map(str::to_owned).collect();
        let item = |part: String| {
            let expr = Expr::Identifier(quoted(&format!("{prefix}{part}")));
            match &alias {
                None => SelectItem::UnnamedExpr(expr),
                Some(alias) => {
                    let name = format!("{alias}.{part}");
                    self.parts.insert(name.clone());
                    SelectItem::ExprWithAlias { expr, alias: quoted(&name) }
                }
            }
        };
        parts.into_iter().map(item).collect()
    }
}

fn quoted(name: &str) -> Ident {
    Ident::with_quote('`', name)
}

/// Makes one name of `n.a`, maybe behind the name of its table.
struct Names<'a> {
    parts: &'a BTreeSet<String>,
}

impl Names<'_> {
    /// `n.a[1]`, which the grammar reads as `n` with two steps into it.
    fn accessed(&self, root: &mut Expr, chain: &mut Vec<AccessExpr>) {
        let mut names = match root {
            Expr::Identifier(name) => vec![name.clone()],
            Expr::CompoundIdentifier(names) => names.clone(),
            _ => return,
        };
        let dotted = chain.iter().map_while(|step| match step {
            AccessExpr::Dot(Expr::Identifier(name)) => Some(name.clone()),
            _ => None,
        });
        let dotted: Vec<Ident> = dotted.collect();
        for taken in (1..=dotted.len()).rev() {
            let all = [names.clone(), dotted[..taken].to_vec()].concat();
            if let Some(found) = self.column(&all) {
                names = found;
                chain.drain(..taken);
                *root = match names.as_slice() {
                    [name] => Expr::Identifier(name.clone()),
                    _ => Expr::CompoundIdentifier(names),
                };
                return;
            }
        }
    }

    /// The names with the last ones as one, if that is a part of a Nested.
    fn column(&self, names: &[Ident]) -> Option<Vec<Ident>> {
        let joined =
            |names: &[Ident]| names.iter().map(|name| name.value.as_str()).collect::<Vec<_>>().join(".");
        let from =
            (0..names.len().checked_sub(1)?).find(|from| self.parts.contains(&joined(&names[*from..])))?;
        Some([names[..from].to_vec(), vec![quoted(&joined(&names[from..]))]].concat())
    }
}

impl VisitorMut for Names<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundFieldAccess { root, access_chain } = expr {
            self.accessed(root, access_chain);
        }
        if let Expr::CompoundIdentifier(names) = expr {
            match self.column(names).as_deref() {
                Some([name]) => *expr = Expr::Identifier(name.clone()),
                Some(found) => *names = found.to_vec(),
                None => {}
            }
        }
        ControlFlow::Continue(())
    }
}
