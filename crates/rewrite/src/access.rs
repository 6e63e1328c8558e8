//! Columns and parts of them: bare names, `t.a[1]`, `x.b` of a tuple that an alias names.
//!
//! Invariant: a first name that is a table's is no alias. Must not know: which columns the tables have.

use sql::dialect::{call, text};
use sql::reader::head::ident;
use sql::{Result, SqlError};
use sqlparser::ast::{AccessExpr, Expr, Ident, Subscript, Value};

use crate::Rewriter;
use crate::aliases::resolve;
use crate::using_star::Joined;

impl Rewriter {
    /// A column; one of ARRAY JOIN is its elements, one of USING that of whichever table has the value.
    pub(crate) fn of_using(&mut self, name: Ident) -> Result<Expr> {
        let scope = self.scope();
        if let Some(planned) = scope.joined_column(&name.value) {
            return Ok(Expr::Identifier(ident(planned)));
        }
        let is_meant =
            |known: &&Joined| (scope.in_where || known.everywhere) && known.name.value == name.value;
        match scope.using.iter().find(is_meant) {
            Some(Joined { value: column @ Expr::CompoundIdentifier(_), .. }) => Ok(column.clone()),
            Some(known) => {
                let value = known.value.clone();
                self.value(value)
            }
            None => Ok(Expr::Identifier(name)),
        }
    }

    /// `t.x` where t is an alias of a tuple and no table; else a column.
    pub(crate) fn element_of_alias(&mut self, names: Vec<Ident>) -> Result<Expr> {
        let [first, path @ ..] = names.as_slice() else { return Ok(Expr::CompoundIdentifier(names)) };
        let is_table = self.scopes.iter().any(|scope| scope.tables.contains(&first.value));
        let element =
            |tuple: Expr, name: &Ident| call("tupleElement", vec![tuple, text(name.value.as_str())]);
        let planned = if is_table { None } else { self.scope().joined_column(&first.value) };
        if let Some(planned) = planned.filter(|planned| *planned != first.value) {
            return Ok(path.iter().fold(Expr::Identifier(ident(planned)), element));
        }
        let definition = if is_table { None } else { resolve(&self.scopes, &first.value).cloned() };
        let Some(definition) = definition else { return Ok(Expr::CompoundIdentifier(names)) };
        let tuple = self.replaced(&first.value, definition)?;
        Ok(path.iter().fold(tuple, element))
    }

    /// What is accessed, and how: of `t.a[1]` the names in front are a column where the first one is a table's.
    pub(crate) fn accessed(&self, root: Expr, chain: Vec<AccessExpr>) -> (Expr, Vec<AccessExpr>) {
        let Expr::Identifier(first) = &root else { return (root, chain) };
        if !self.scopes.iter().any(|scope| scope.tables.contains(&first.value)) {
            return (root, chain);
        }
        let is_name = |access: &&AccessExpr| matches!(access, AccessExpr::Dot(Expr::Identifier(_)));
        let count = chain.iter().take_while(is_name).count();
        if count == 0 {
            return (root, chain);
        }
        let (mut names, mut rest) = (vec![first.clone()], vec![]);
        for (at, access) in chain.into_iter().enumerate() {
            match access {
                AccessExpr::Dot(Expr::Identifier(name)) if at < count => names.push(name),
                other => rest.push(other),
            }
        }
        (Expr::CompoundIdentifier(names), rest)
    }

    pub(crate) fn access(&mut self, root: Expr, access: AccessExpr) -> Result<Expr> {
        match access {
            AccessExpr::Subscript(Subscript::Index { index }) => {
                let index = self.value(index)?;
                Ok(call("arrayElement", vec![root, index]))
            }
            AccessExpr::Dot(Expr::Value(value)) if value.value == Value::Null => {
                Ok(call("isNull", vec![root]))
            }
            AccessExpr::Dot(Expr::Identifier(name)) => Ok(call("tupleElement", vec![root, text(name.value)])),
            other => Err(SqlError::not_implemented(format!("access {other}"))),
        }
    }
}
