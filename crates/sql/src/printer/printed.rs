//! An AST as text that reads back as the same AST.
//!
//! sqlparser prints the value of a literal as it is, and our literals have backslash escapes: `'C:\\new'` would come out
//! as `'C:\new'`, with a line end in it. Invariant: `parse(&printed(ast))` is `ast`, spans aside. Must not know: what the
//! text is for.

use std::fmt::Display;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, Join, JoinOperator, LimitClause, ObjectName, OrderBy, OrderByKind, Query, Select, SetExpr,
    TableFactor, TableWithJoins, Value, ValueWithSpan, VisitMut, VisitorMut,
};

use crate::dialect::{name_of, plain_args};
use crate::reader::clauses::{LIMIT_BY, WITH_TIES};
use lexer::constants::{list_of, shown};
use lexer::escape::{always_quote_name, quote_text};

/// Text of a query or an expression, for whoever parses or compares it later.
pub fn printed<T: VisitMut + Clone + Display>(ast: &T) -> String {
    let mut escaped = ast.clone();
    // It never breaks off.
    let _ = escaped.visit(&mut Escaping);
    escaped.to_string()
}

/// Text of a query as it was read: [`printed`] has the clauses that are carried through the grammar as `clauses` left
/// them, and those do not read back.
pub fn printed_query(query: &Query) -> String {
    let mut written = query.clone();
    // Neither breaks off.
    let _ = written.visit(&mut Escaping);
    let _ = written.visit(&mut Uncarrying);
    written.to_string()
}

/// Puts the text of ARRAY JOIN, of strict joins, of LIMIT BY and WITH TIES where they stand.
struct Uncarrying;

impl VisitorMut for Uncarrying {
    type Break = ();

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        select.from.iter_mut().for_each(as_written);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        with_limits(query);
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::NestedJoin { table_with_joins, .. } = factor {
            as_written(table_with_joins);
        }
        ControlFlow::Continue(())
    }
}

/// Puts the marks behind the keys of ORDER BY where LIMIT stands.
fn with_limits(query: &mut Query) {
    let Some(OrderBy { kind: OrderByKind::Expressions(keys), .. }) = &mut query.order_by else { return };
    let limits: Vec<String> = keys.iter().filter_map(|key| limit(&key.expr)).collect();
    if limits.is_empty() {
        return;
    }
    keys.retain(|key| limit(&key.expr).is_none());
    if keys.is_empty() {
        query.order_by = None;
    }
    let mut text = limits.join(" LIMIT ");
    if let Some(rest) = query.limit_clause.take() {
        text.push_str(&rest.to_string());
    }
    // A name without quotes is printed as it is.
    let limit = Some(Expr::Identifier(Ident::new(text)));
    query.limit_clause = Some(LimitClause::LimitOffset { limit, offset: None, limit_by: vec![] });
}

/// What stands behind LIMIT for a mark.
fn limit(key: &Expr) -> Option<String> {
    let Expr::Function(function) = key else { return None };
    let name = name_of(function);
    if ![LIMIT_BY, WITH_TIES].contains(&name.as_str()) {
        return None;
    }
    let args: Vec<String> = plain_args(function).iter().map(ToString::to_string).collect();
    let [rows, skip, keys @ ..] = args.as_slice() else { return None };
    let skip = if skip == "0" { String::new() } else { format!(" OFFSET {skip}") };
    Some(match name == LIMIT_BY {
        true => format!("{rows}{skip} BY {}", keys.join(", ")),
        false => format!("{rows}{skip} WITH TIES"),
    })
}

fn as_written(tables: &mut TableWithJoins) {
    let is_carried = |join: &Join| arrays(join).is_some() || strict(join).is_some();
    if !tables.joins.iter().any(is_carried) {
        return;
    }
    let mut text = tables.relation.to_string();
    for join in std::mem::take(&mut tables.joins) {
        text.push(' ');
        text.push_str(&arrays(&join).or_else(|| strict(&join)).unwrap_or_else(|| join.to_string()));
    }
    // A name without quotes is printed as it is.
    let name = ObjectName::from(vec![Ident::new(text)]);
    tables.relation = TableFactor::Table {
        name,
        alias: None,
        args: None,
        with_hints: vec![],
        version: None,
        with_ordinality: false,
        partitions: vec![],
        json_path: None,
        sample: None,
        index_hints: vec![],
    };
}

/// `ARRAY JOIN (SELECT a, b)` as `ARRAY JOIN a, b`.
fn arrays(join: &Join) -> Option<String> {
    let word = match join.join_operator {
        JoinOperator::ArrayJoin => "ARRAY JOIN",
        JoinOperator::LeftArrayJoin => "LEFT ARRAY JOIN",
        JoinOperator::InnerArrayJoin => "INNER ARRAY JOIN",
        _ => return None,
    };
    let TableFactor::Derived { subquery, .. } = &join.relation else { return None };
    let SetExpr::Select(select) = subquery.body.as_ref() else { return None };
    let items: Vec<String> = select.projection.iter().map(ToString::to_string).collect();
    Some(format!("{word} {}", items.join(", ")))
}

/// `ASOF JOIN t MATCH_CONDITION ('ANY LEFT') ON c` as `ANY LEFT JOIN t ON c`, `LEFT OUTER JOIN` as `ALL LEFT JOIN`.
fn strict(join: &Join) -> Option<String> {
    let all = match &join.join_operator {
        JoinOperator::Inner(on) => Some(JoinOperator::Inner(on.clone())),
        JoinOperator::LeftOuter(on) => Some(JoinOperator::Left(on.clone())),
        JoinOperator::RightOuter(on) => Some(JoinOperator::Right(on.clone())),
        _ => None,
    };
    if let Some(join_operator) = all {
        // No one is asked elsewhere.
        let plain = Join { relation: join.relation.clone(), global: false, join_operator };
        return Some(format!("ALL {plain}"));
    }
    let JoinOperator::AsOf { match_condition: Expr::Value(words), constraint } = &join.join_operator else {
        return None;
    };
    let words = words.value.to_string();
    let join_operator = JoinOperator::Join(constraint.clone());
    let plain = Join { relation: join.relation.clone(), global: false, join_operator };
    Some(format!("{} {plain}", words.trim_matches('\'')))
}

/// Puts literals and names that need escapes into what is printed as it is.
struct Escaping;

impl VisitorMut for Escaping {
    type Break = ();

    fn pre_visit_value(&mut self, literal: &mut ValueWithSpan) -> ControlFlow<()> {
        if let Value::SingleQuotedString(text) = &literal.value {
            literal.value = Value::Placeholder(quote_text(text));
        } else if let Value::HexStringLiteral(digits) = &literal.value {
            // A number; as sqlparser prints it, it would be read as text.
            literal.value = Value::Placeholder(format!("0x{digits}"));
        } else if let Some(list) = list_of(&literal.value) {
            literal.value = Value::Placeholder(shown(list));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        match expression {
            Expr::Identifier(name) => escape_name(name),
            Expr::CompoundIdentifier(names) => names.iter_mut().for_each(escape_name),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn escape_name(name: &mut Ident) {
    if name.quote_style.is_some() && name.value.contains(['\\', '`', '"', '\n', '\r', '\t', '\0']) {
        *name = Ident::new(always_quote_name(&name.value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::{parse_expression, parse_query};

    #[test]
    fn what_is_printed_reads_back_as_it_was() {
        for text in [
            r"'\\'",
            r"'C:\\new'",
            r"concat('it\'s', 'a''b', '100\%', '\n\t\0')",
            r"a LIKE '%\\%' AND b IN ('\\', 'x')",
            r"[('\\', 1)]",
        ] {
            let once = parse_expression(text).unwrap();
            let again = parse_expression(&printed(&once)).unwrap();
            assert_eq!(again, once, "{text} was printed as {}", printed(&once));
        }
        assert_eq!(printed(&parse_expression(r"'C:\\new'").unwrap()), r"'C:\\new'");
    }

    #[test]
    fn clauses_that_were_carried_are_printed_as_they_were_written() {
        for text in [
            "SELECT a, x FROM t ARRAY JOIN b AS x, c",
            "SELECT a FROM t LEFT ARRAY JOIN [1, 2] AS x WHERE x > 1",
            "SELECT t.a FROM t ANY LEFT JOIN u ON t.a = u.a",
            "SELECT t.a FROM t ASOF LEFT JOIN u ON t.a = u.a AND t.b >= u.b",
            "SELECT t.a FROM t ALL INNER JOIN u ON t.a = u.a ALL LEFT JOIN v ON t.a = v.a LEFT JOIN w ON t.a = w.a",
            "SELECT a FROM t LIMIT 1 BY a",
            "SELECT a FROM t ORDER BY a, b LIMIT 2 OFFSET 1 BY a, b LIMIT 5",
            "SELECT a FROM (SELECT a FROM t ORDER BY a LIMIT 2 WITH TIES) LIMIT 3",
            "SELECT a FROM (SELECT a FROM t SEMI LEFT JOIN u USING(a)) AS s JOIN v ON s.a = v.a ARRAY JOIN v.b AS `c d`",
            "SELECT a FROM t WHERE a IN (SELECT a FROM t ANTI LEFT JOIN u ON t.a = u.a AND u.b = '\\\\')",
        ] {
            let once = parse_query(text).unwrap();
            assert_eq!(printed_query(&once), text);
        }
        for text in [
            "SELECT a FROM t LIMIT 1 BY a",
            "SELECT a FROM t ORDER BY a, b LIMIT 1, 2 BY a LIMIT 5",
            "SELECT a FROM t ORDER BY a LIMIT 2 WITH TIES",
            "SELECT a FROM t PREWHERE a > 1 GROUP BY a WITH TOTALS",
            "WITH 1 AS x SELECT arrayMap(i -> i + x, [1, 2]) AS y, y[1]",
        ] {
            let once = parse_query(text).unwrap();
            let again = parse_query(&printed_query(&once)).unwrap();
            assert_eq!(printed_query(&again), printed_query(&once), "{text}");
        }
    }
}
