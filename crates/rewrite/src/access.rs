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

/// `value.name`: an element of a tuple, or what else ClickHouse keeps a value in by that name.
pub(crate) fn part(value: Expr, name: &Ident) -> Expr {
    let depth = name.value.strip_prefix("size").filter(|depth| !depth.is_empty());
    let is_subcolumn = matches!(name.value.as_str(), "null" | "keys" | "values")
        || depth.is_some_and(|depth| depth.bytes().all(|digit| digit.is_ascii_digit()));
    let function = if is_subcolumn { "getSubcolumn" } else { "tupleElement" };
    call(function, vec![value, text(name.value.as_str())])
}

/// The name behind a point, `null` among them.
fn name_of(access: &AccessExpr) -> Option<Ident> {
    match access {
        AccessExpr::Dot(Expr::Identifier(name)) => Some(name.clone()),
        AccessExpr::Dot(Expr::Value(value)) if value.value == Value::Null => Some(ident("null")),
        _ => None,
    }
}

/// The names of a column and its parts, where an expression is nothing else.
pub(crate) fn names_in(expr: &Expr) -> Option<Vec<Ident>> {
    match expr {
        Expr::CompoundIdentifier(names) => Some(names.clone()),
        Expr::CompoundFieldAccess { root, access_chain } => match root.as_ref() {
            Expr::Identifier(first) => {
                std::iter::once(Some(first.clone())).chain(access_chain.iter().map(name_of)).collect()
            }
            _ => None,
        },
        _ => None,
    }
}

/// The names of a column and its parts as one.
pub(crate) fn path_of(names: &[Ident]) -> String {
    names.iter().map(|name| name.value.as_str()).collect::<Vec<_>>().join(".")
}

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
        if let Some(element) = self.joined_element(&names) {
            return Ok(element);
        }
        let [first, path @ ..] = names.as_slice() else { return Ok(Expr::CompoundIdentifier(names)) };
        let is_table = self.scopes.iter().any(|scope| scope.tables.contains(&first.value));
        let planned = if is_table { None } else { self.scope().joined_column(&first.value) };
        if let Some(planned) = planned.filter(|planned| *planned != first.value) {
            return Ok(path.iter().fold(Expr::Identifier(ident(planned)), part));
        }
        let definition = if is_table { None } else { resolve(&self.scopes, &first.value).cloned() };
        let Some(definition) = definition else { return Ok(Expr::CompoundIdentifier(names)) };
        let tuple = self.replaced(&first.value, definition)?;
        Ok(path.iter().fold(tuple, part))
    }

    /// The names of a column and its parts, without those of its table.
    pub(crate) fn without_table<'n>(&self, names: &'n [Ident]) -> &'n [Ident] {
        let is_table = |name: &Ident| self.scopes.iter().any(|scope| scope.tables.contains(&name.value));
        match names {
            [first, rest @ ..] if is_table(first) => rest,
            [_, second, rest @ ..] if !rest.is_empty() && is_table(second) => rest,
            names => names,
        }
    }

    /// What is made of a part of a column that ARRAY JOIN takes apart: `c.x` behind `ARRAY JOIN c.x`.
    fn joined_element(&self, names: &[Ident]) -> Option<Expr> {
        let (scope, names) = (self.scopes.last()?, self.without_table(names));
        (2..=names.len()).rev().find_map(|count| {
            let planned = scope.joined_column(&path_of(&names[..count]))?;
            Some(names[count..].iter().fold(Expr::Identifier(ident(planned)), part))
        })
    }

    /// What is accessed, and how: of `t.a[1]` the names in front are a column where the first one is a table's.
    pub(crate) fn accessed(&self, root: Expr, chain: Vec<AccessExpr>) -> (Expr, Vec<AccessExpr>) {
        let Expr::Identifier(first) = &root else { return (root, chain) };
        let names: Vec<Ident> =
            std::iter::once(first.clone()).chain(chain.iter().map_while(name_of)).collect();
        let count = names.len() - 1;
        // `x.null` of a column that is called as its table.
        let is_null = matches!(chain.first(), Some(AccessExpr::Dot(Expr::Value(_))));
        let is_table = !is_null && self.scopes.iter().any(|scope| scope.tables.contains(&first.value));
        if count == 0 || !is_table && self.joined_element(&names).is_none() {
            return (root, chain);
        }
        let rest = chain.into_iter().skip(count).collect();
        (Expr::CompoundIdentifier(names), rest)
    }

    pub(crate) fn access(&mut self, root: Expr, access: AccessExpr) -> Result<Expr> {
        match access {
            AccessExpr::Subscript(Subscript::Index { index }) => {
                let index = self.value(index)?;
                Ok(call("arrayElement", vec![root, index]))
            }
            AccessExpr::Dot(Expr::Value(value)) if value.value == Value::Null => {
                Ok(part(root, &ident("null")))
            }
            AccessExpr::Dot(Expr::Identifier(name)) => Ok(part(root, &name)),
            other => Err(SqlError::not_implemented(format!("access {other}"))),
        }
    }
}
