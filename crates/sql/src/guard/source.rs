//! What a query may read from: tables, table functions, subqueries, joins of them.

use sqlparser::ast::{
    Cte, Expr, Join, JoinConstraint, JoinOperator, TableAlias, TableFactor, TableFunctionArgs, TableWithJoins,
};

use crate::guard::expression::expression;
use crate::guard::{Depth, call, query, refuse_if};
use crate::reader::clauses::{Strictness, word_of};
use crate::reader::finals::FINAL;
use crate::reader::head::sampling;
use crate::tables::joins::constraint_of;
use lexer::error::{Result, SqlError};

pub(crate) fn common_table(checked: &Cte, depth: Depth) -> Result<()> {
    let Cte { alias, query: inner, from, materialized, closing_paren_token: _ } = checked;
    refuse_if(from.is_some(), "FROM of a WITH item")?;
    refuse_if(materialized.is_some(), "MATERIALIZED")?;
    self::alias(Some(alias))?;
    query(inner, depth)
}

fn alias(checked: Option<&TableAlias>) -> Result<()> {
    let Some(TableAlias { explicit, name, columns, at }) = checked else { return Ok(()) };
    refuse_if(at.is_some(), "AT of a table alias")?;
    refuse_if(columns.iter().any(|column| column.data_type.is_some()), "a type in a table alias")?;
    if !explicit && name.quote_style.is_none() {
        for word in ["FINAL", "SAMPLE", "PREWHERE", "ASOF", "ANY", "GLOBAL", "ARRAY"] {
            refuse_if(name.value.eq_ignore_ascii_case(word), word)?;
        }
    }
    Ok(())
}

pub(crate) fn joined(checked: &TableWithJoins, depth: Depth) -> Result<()> {
    let TableWithJoins { relation, joins } = checked;
    factor(relation, depth)?;
    joins.iter().try_for_each(|join| {
        // On one node a GLOBAL JOIN is a JOIN.
        let Join { relation, global: _, join_operator } = join;
        factor(relation, depth)?;
        operator(join_operator, depth)
    })
}

fn operator(checked: &JoinOperator, depth: Depth) -> Result<()> {
    match checked {
        JoinOperator::Semi(_) | JoinOperator::Anti(_) => {
            return Err(SqlError::not_implemented("SEMI and ANTI without a side"));
        }
        JoinOperator::CrossApply | JoinOperator::OuterApply => {
            return Err(SqlError::not_implemented("APPLY"));
        }
        JoinOperator::StraightJoin(_) => return Err(SqlError::not_implemented("STRAIGHT_JOIN")),
        JoinOperator::AsOf { match_condition, .. } => {
            let known = word_of(match_condition).and_then(Strictness::parse).is_some();
            refuse_if(!known, "ASOF JOIN")?;
        }
        _ => {}
    }
    // An ARRAY JOIN has none: the arrays stand where a table stands, as a query without FROM.
    constraint_of(checked).map_or(Ok(()), |on| constraint(on, depth))
}

fn constraint(checked: &JoinConstraint, depth: Depth) -> Result<()> {
    match checked {
        JoinConstraint::On(condition) => expression(condition, depth),
        JoinConstraint::Using(_) | JoinConstraint::Natural | JoinConstraint::None => Ok(()),
    }
}

fn factor(checked: &TableFactor, depth: Depth) -> Result<()> {
    let depth = depth.deeper()?;
    match checked {
        TableFactor::Table {
            name: _,
            alias,
            args,
            with_hints,
            version,
            with_ordinality,
            partitions,
            json_path,
            sample,
            index_hints,
        } => {
            let is_final = |hint: &Expr| matches!(hint, Expr::Identifier(word) if word.value.eq_ignore_ascii_case(FINAL));
            refuse_if(!with_hints.iter().all(is_final) || with_hints.len() > 1, "WITH hints of a table")?;
            refuse_if(!with_hints.is_empty() && args.is_some(), FINAL)?;
            refuse_if(version.is_some(), "a version of a table")?;
            refuse_if(*with_ordinality, "WITH ORDINALITY")?;
            refuse_if(!partitions.is_empty(), "PARTITION of a table")?;
            refuse_if(json_path.is_some(), "a path into a table")?;
            if sample.is_some() {
                return Err(sampling());
            }
            refuse_if(!index_hints.is_empty(), "an index hint")?;
            self::alias(alias.as_ref())?;
            match args {
                None => Ok(()),
                Some(TableFunctionArgs { args, settings }) => {
                    refuse_if(settings.is_some(), "SETTINGS of a table function")?;
                    args.iter().try_for_each(|arg| call::argument(arg, depth))
                }
            }
        }
        TableFactor::Derived { lateral, subquery, alias, sample } => {
            refuse_if(*lateral, "LATERAL")?;
            refuse_if(sample.is_some(), "SAMPLE")?;
            self::alias(alias.as_ref())?;
            query(subquery, depth)
        }
        TableFactor::NestedJoin { table_with_joins, alias } => {
            self::alias(alias.as_ref())?;
            joined(table_with_joins, depth)
        }
        TableFactor::TableFunction { expr: _, alias: _ }
        | TableFactor::Function { lateral: _, name: _, args: _, with_ordinality: _, alias: _ } => {
            Err(SqlError::not_implemented("TABLE(..)"))
        }
        TableFactor::UNNEST { .. } => Err(SqlError::not_implemented("UNNEST")),
        TableFactor::Pivot { .. } | TableFactor::Unpivot { .. } => Err(SqlError::not_implemented("PIVOT")),
        TableFactor::MatchRecognize { .. } => Err(SqlError::not_implemented("MATCH_RECOGNIZE")),
        TableFactor::JsonTable { .. } | TableFactor::OpenJsonTable { .. } | TableFactor::XmlTable { .. } => {
            Err(SqlError::not_implemented("a table made of JSON or XML"))
        }
        TableFactor::SemanticView { .. } => Err(SqlError::not_implemented("SEMANTIC_VIEW")),
    }
}
