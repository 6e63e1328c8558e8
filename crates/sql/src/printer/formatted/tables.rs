//! Recursive: FROM as ClickHouse writes it, with joins a line each and subqueries on lines of their own.
//!
//! Invariant: strict joins and ARRAY JOIN, which are carried through the grammar, are what they were. Must not know:
//! what tables there are.

use sqlparser::ast::{
    BinaryOperator, Expr, Join, JoinConstraint, JoinOperator, ObjectName, SelectItem, SetExpr, TableAlias,
    TableFactor, TableSample, TableSampleKind, TableWithJoins, Value,
};

use super::calls::argument_list;
use super::expression::expression;
use super::page::Page;
use super::select::{select_item, subquery};
use crate::reader::clauses::word_of;

pub(super) fn from(page: &mut Page, tables: &[TableWithJoins]) {
    page.push("FROM");
    for (at, table) in tables.iter().enumerate() {
        if at > 0 {
            page.push(",");
        }
        with_joins(page, table);
    }
}

fn with_joins(page: &mut Page, table: &TableWithJoins) {
    factor(page, &table.relation);
    for join in &table.joins {
        page.line();
        self::join(page, join);
    }
}

fn factor(page: &mut Page, factor: &TableFactor) {
    match factor {
        TableFactor::Table { name, args, alias, sample, with_hints, .. } => {
            page.push(" ");
            object(page, name);
            if let Some(args) = args {
                argument_list(page, &name.to_string(), &args.args);
            }
            self::alias(page, alias.as_ref());
            for hint in with_hints {
                page.line();
                expression(page, hint);
            }
            self::sample(page, sample.as_ref());
        }
        TableFactor::Function { name, args, alias, .. } => {
            page.push(" ");
            object(page, name);
            argument_list(page, &name.to_string(), args);
            self::alias(page, alias.as_ref());
        }
        TableFactor::TableFunction { expr, alias } => {
            page.push(" ");
            expression(page, expr);
            self::alias(page, alias.as_ref());
        }
        TableFactor::Derived { subquery, alias, sample, .. } => {
            page.line();
            self::subquery(page, subquery);
            self::alias(page, alias.as_ref());
            self::sample(page, sample.as_ref());
        }
        TableFactor::NestedJoin { table_with_joins, alias } => {
            page.line();
            page.push("(");
            page.inside(|page| {
                page.edge();
                page.push("SELECT *");
                page.line();
                from(page, std::slice::from_ref(table_with_joins));
            });
            page.edge();
            page.push(")");
            self::alias(page, alias.as_ref());
        }
        other => page.push(&format!(" {other}")),
    }
}

/// `db.t`.
pub(super) fn object(page: &mut Page, name: &ObjectName) {
    for (at, part) in name.0.iter().enumerate() {
        if at > 0 {
            page.push(".");
        }
        match part.as_ident() {
            Some(name) => page.name(&name.value),
            None => page.push(&part.to_string()),
        }
    }
}

fn alias(page: &mut Page, alias: Option<&TableAlias>) {
    let Some(alias) = alias else { return };
    page.push(" AS ");
    page.name(&alias.name.value);
    if !alias.columns.is_empty() {
        page.push("(");
        page.separated(&alias.columns, |page, column| page.name(&column.name.value));
        page.push(")");
    }
}

fn sample(page: &mut Page, sample: Option<&TableSampleKind>) {
    let (TableSampleKind::BeforeTableAlias(sample) | TableSampleKind::AfterTableAlias(sample)) = match sample
    {
        Some(sample) => sample,
        None => return,
    };
    let TableSample { quantity: Some(quantity), offset, .. } = sample.as_ref() else { return };
    page.line();
    page.push("SAMPLE ");
    ratio(page, &quantity.value);
    if let Some(offset) = offset {
        page.push(" OFFSET ");
        ratio(page, offset);
    }
}

/// `0.1` is `1 / 10`.
fn ratio(page: &mut Page, part: &Expr) {
    // `2e-2` is 0.02.
    let digits = match part {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) if digits.contains(['e', 'E']) => {
                digits.parse::<f64>().map_or_else(|_| digits.clone(), |ratio| ratio.to_string())
            }
            Value::Number(digits, _) => digits.clone(),
            _ => String::new(),
        },
        _ => String::new(),
    };
    let Some((whole, fraction)) = digits.split_once('.') else {
        return match part {
            Expr::BinaryOp { left, op: BinaryOperator::Divide, right } => {
                expression(page, left);
                page.push(" / ");
                expression(page, right);
            }
            other => expression(page, other),
        };
    };
    let whole = if whole == "0" { "" } else { whole };
    let above = format!("{whole}{fraction}");
    let above = above.trim_start_matches('0');
    page.push(&format!("{} / 1{}", if above.is_empty() { "0" } else { above }, "0".repeat(fraction.len())));
}

fn join(page: &mut Page, join: &Join) {
    if let Some(word) = array_join(&join.join_operator) {
        return arrays(page, word, &join.relation);
    }
    if join.global {
        page.push("GLOBAL ");
    }
    // ALL is carried as the words that nobody needs: OUTER, and INNER.
    let said = matches!(
        join.join_operator,
        JoinOperator::Inner(_) | JoinOperator::LeftOuter(_) | JoinOperator::RightOuter(_)
    );
    let all = if said || page.layout.as_tree { "ALL " } else { "" };
    let (word, constraint) = match &join.join_operator {
        JoinOperator::Join(on) | JoinOperator::Inner(on) => (format!("{all}INNER JOIN"), Some(on)),
        JoinOperator::Left(on) | JoinOperator::LeftOuter(on) => (format!("{all}LEFT JOIN"), Some(on)),
        JoinOperator::Right(on) | JoinOperator::RightOuter(on) => (format!("{all}RIGHT JOIN"), Some(on)),
        JoinOperator::FullOuter(on) => (format!("{all}FULL OUTER JOIN"), Some(on)),
        JoinOperator::CrossJoin(on) => ("CROSS JOIN".to_owned(), Some(on)),
        JoinOperator::LeftSemi(on) | JoinOperator::Semi(on) => ("SEMI LEFT JOIN".to_owned(), Some(on)),
        JoinOperator::RightSemi(on) => ("SEMI RIGHT JOIN".to_owned(), Some(on)),
        JoinOperator::LeftAnti(on) | JoinOperator::Anti(on) => ("ANTI LEFT JOIN".to_owned(), Some(on)),
        JoinOperator::RightAnti(on) => ("ANTI RIGHT JOIN".to_owned(), Some(on)),
        JoinOperator::AsOf { match_condition, constraint } => match word_of(match_condition) {
            Some(words) => (format!("{words} JOIN"), Some(constraint)),
            None => ("ASOF INNER JOIN".to_owned(), Some(constraint)),
        },
        _ => return page.push(&join.to_string()),
    };
    if matches!(constraint, Some(JoinConstraint::Natural)) {
        page.push("NATURAL ");
    }
    page.push(&word);
    factor(page, &join.relation);
    match constraint {
        Some(JoinConstraint::On(condition)) => {
            page.push(" ON ");
            expression(page, condition);
        }
        Some(JoinConstraint::Using(columns)) => {
            page.push(" USING (");
            page.separated(columns, object);
            page.push(")");
        }
        _ => {}
    }
}

fn array_join(operator: &JoinOperator) -> Option<&'static str> {
    match operator {
        JoinOperator::ArrayJoin | JoinOperator::InnerArrayJoin => Some("ARRAY JOIN"),
        JoinOperator::LeftArrayJoin => Some("LEFT ARRAY JOIN"),
        _ => None,
    }
}

/// Carried as `ARRAY JOIN (SELECT a, b)`.
fn arrays(page: &mut Page, word: &str, relation: &TableFactor) {
    page.push(word);
    let items: &[SelectItem] = match relation {
        TableFactor::Derived { subquery, .. } => match subquery.body.as_ref() {
            SetExpr::Select(select) => &select.projection,
            _ => &[],
        },
        _ => &[],
    };
    page.listed(items.iter(), select_item);
}
