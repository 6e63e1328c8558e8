//! FROM: tables, table functions, subqueries, joins.

use sqlparser::ast::{
    Expr, Ident, JoinConstraint, JoinOperator, ObjectName, Query, SetExpr, Table, TableAlias, TableFactor,
    TableWithJoins,
};

use crate::error::Result;
use crate::head::ident;
use crate::rewrite::Rewriter;
use crate::table_functions::{PLACEHOLDER_DATABASE, from_parts};

impl Rewriter {
    pub(crate) fn joined(&mut self, mut table: TableWithJoins) -> Result<TableWithJoins> {
        table.relation = self.factor(table.relation)?;
        for join in &mut table.joins {
            let relation = std::mem::replace(&mut join.relation, nothing());
            join.relation = self.factor(relation)?;
            // There is one node.
            join.global = false;
            self.join_operator(&mut join.join_operator)?;
        }
        Ok(table)
    }

    fn join_operator(&mut self, operator: &mut JoinOperator) -> Result<()> {
        match operator {
            JoinOperator::Join(on)
            | JoinOperator::Inner(on)
            | JoinOperator::Left(on)
            | JoinOperator::LeftOuter(on)
            | JoinOperator::Right(on)
            | JoinOperator::RightOuter(on)
            | JoinOperator::FullOuter(on)
            | JoinOperator::CrossJoin(on)
            | JoinOperator::LeftSemi(on)
            | JoinOperator::RightSemi(on)
            | JoinOperator::LeftAnti(on)
            | JoinOperator::RightAnti(on) => {
                if let JoinConstraint::On(condition) = on {
                    let condition = std::mem::replace(condition, Expr::Identifier(Ident::new("")));
                    *on = JoinConstraint::On(self.condition(condition)?);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn factor(&mut self, factor: TableFactor) -> Result<TableFactor> {
        match factor {
            TableFactor::Table { name, alias, args: Some(args), .. } => {
                let function = name.to_string();
                let call = from_parts(&function, &args.args, self.calls.len())?;
                let table = plain_table(&[PLACEHOLDER_DATABASE, &call.placeholder], alias);
                self.calls.push(call);
                Ok(table)
            }
            TableFactor::Derived { lateral, subquery, alias, sample } => {
                let subquery = Box::new(self.query(*subquery, false)?);
                Ok(TableFactor::Derived { lateral, subquery, alias, sample })
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let table_with_joins = Box::new(self.joined(*table_with_joins)?);
                Ok(TableFactor::NestedJoin { table_with_joins, alias })
            }
            other => Ok(other),
        }
    }
}

fn nothing() -> TableFactor {
    plain_table(&[], None)
}

pub(crate) fn plain_table(names: &[&str], alias: Option<TableAlias>) -> TableFactor {
    TableFactor::Table {
        name: ObjectName::from(names.iter().map(|name| ident(name)).collect::<Vec<_>>()),
        alias,
        args: None,
        with_hints: vec![],
        version: None,
        with_ordinality: false,
        partitions: vec![],
        json_path: None,
        sample: None,
        index_hints: vec![],
    }
}

/// `SELECT * FROM table`, which `IN table` stands for.
pub(crate) fn select_all(table: &Table) -> Result<SetExpr> {
    let names: Vec<&str> =
        table.schema_name.as_deref().into_iter().chain(table.table_name.as_deref()).collect();
    let template: Query = crate::parser::parse_query("SELECT * FROM t")?;
    let mut body = *template.body;
    if let SetExpr::Select(select) = &mut body {
        select.from = vec![TableWithJoins { relation: plain_table(&names, None), joins: vec![] }];
    }
    Ok(body)
}
