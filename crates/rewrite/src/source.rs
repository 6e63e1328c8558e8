//! FROM: tables, table functions, subqueries, joins.

use model::ErrorCode;
use sql::dialect::text;
use sql::reader::clauses::word_of;
use sql::reader::head::ident;
use sql::tables::functions::from_parts;
use sql::tables::joins::constraint_mut;
use sql::{PLACEHOLDER_DATABASE, Result, SqlError};
use sqlparser::ast::{
    Expr, Ident, Join, JoinConstraint, JoinOperator, ObjectName, Query, SetExpr, Table, TableAlias,
    TableFactor, TableWithJoins,
};

use crate::Rewriter;
use crate::array_join::nested;
use crate::manner::JoinDefault;

/// `FROM a, b RIGHT JOIN c` as one chain of joins: a comma binds as tightly as JOIN, from the left.
fn one_chain(from: &mut Vec<TableWithJoins>) {
    if from.len() < 2 || from[1..].iter().all(|table| table.joins.is_empty()) {
        return;
    }
    let rest = from.split_off(1);
    let Some(first) = from.first_mut() else { return };
    for table in rest {
        let join_operator = JoinOperator::CrossJoin(JoinConstraint::None);
        first.joins.push(Join { relation: table.relation, global: false, join_operator });
        first.joins.extend(table.joins);
    }
}

/// `ANY INNER JOIN` as `SEMI LEFT JOIN`, which has the columns of both tables, too.
fn keep_left(strictness: &mut Expr) {
    if word_of(strictness) == Some("ANY INNER") {
        *strictness = text("SEMI LEFT");
    }
}

/// Joins that say neither ALL nor ANY, as `join_default_strictness` has them. ALL came as INNER, LEFT OUTER and RIGHT OUTER.
fn with_strictness(table: &mut TableWithJoins, default: JoinDefault) -> Result<()> {
    if let TableFactor::NestedJoin { table_with_joins, .. } = &mut table.relation {
        with_strictness(table_with_joins, default)?;
    }
    for join in &mut table.joins {
        if let TableFactor::NestedJoin { table_with_joins, .. } = &mut join.relation {
            with_strictness(table_with_joins, default)?;
        }
        let (side, on) = match &mut join.join_operator {
            JoinOperator::Join(on) => ("INNER", on),
            JoinOperator::Left(on) => ("LEFT", on),
            JoinOperator::Right(on) => ("RIGHT", on),
            JoinOperator::FullOuter(_) if default == JoinDefault::Any => {
                return Err(SqlError::not_implemented("ANY FULL JOIN"));
            }
            _ => continue,
        };
        if !matches!(on, JoinConstraint::On(_) | JoinConstraint::Using(_)) {
            continue;
        }
        if default == JoinDefault::None {
            let message = "expected ANY or ALL before JOIN, because setting join_default_strictness is empty";
            return Err(SqlError::new(ErrorCode::EXPECTED_ALL_OR_ANY, message));
        }
        let constraint = std::mem::replace(on, JoinConstraint::None);
        let match_condition = text(format!("ANY {side}"));
        join.join_operator = JoinOperator::AsOf { match_condition, constraint };
    }
    Ok(())
}

impl Rewriter {
    /// FROM as one chain of joins that say what they are.
    pub(crate) fn one_chain(&self, from: &mut Vec<TableWithJoins>) -> Result<()> {
        one_chain(from);
        match self.manner.join {
            JoinDefault::All => Ok(()),
            default => from.iter_mut().try_for_each(|table| with_strictness(table, default)),
        }
    }

    pub(crate) fn joined(&mut self, table: TableWithJoins) -> Result<TableWithJoins> {
        let mut done = TableWithJoins { relation: self.factor(table.relation)?, joins: vec![] };
        for mut join in table.joins {
            // There is one node.
            join.global = false;
            match &mut join.join_operator {
                JoinOperator::ArrayJoin | JoinOperator::LeftArrayJoin | JoinOperator::InnerArrayJoin => {
                    join.relation = self.arrays(join.relation)?;
                    done = TableWithJoins { relation: nested(done, join), joins: vec![] };
                }
                JoinOperator::AsOf { match_condition, constraint } => {
                    if self.manner.any_keeps_left {
                        keep_left(match_condition);
                    }
                    join.relation = self.factor(join.relation)?;
                    self.constraint(constraint)?;
                    done = TableWithJoins { relation: nested(done, join), joins: vec![] };
                }
                operator => {
                    constraint_mut(operator).map_or(Ok(()), |on| self.constraint(on))?;
                    join.relation = self.factor(join.relation)?;
                    done.joins.push(join);
                }
            }
        }
        Ok(done)
    }

    fn constraint(&mut self, on: &mut JoinConstraint) -> Result<()> {
        if let JoinConstraint::On(condition) = on {
            let condition = std::mem::replace(condition, Expr::Identifier(Ident::new("")));
            *on = JoinConstraint::On(self.condition(condition)?);
        }
        Ok(())
    }

    fn factor(&mut self, factor: TableFactor) -> Result<TableFactor> {
        match factor {
            TableFactor::Table { name, alias, args: Some(args), .. } => {
                let function = name.to_string().replace('`', "");
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
            other => {
                if let TableFactor::Table { name, .. } = &other
                    && let [part] = name.0.as_slice()
                    && let Some(part) = part.as_ident()
                {
                    self.weight.reads(&part.value)?;
                }
                Ok(other)
            }
        }
    }
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
    let template: Query = sql::parse_query("SELECT * FROM t")?;
    let mut body = *template.body;
    if let SetExpr::Select(select) = &mut body {
        select.from = vec![TableWithJoins { relation: plain_table(&names, None), joins: vec![] }];
    }
    Ok(body)
}
