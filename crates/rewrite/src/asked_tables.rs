//! The names of a table and of a column in calls of joinGet, as texts: `joinGet(db.t, 'c', k)` is `joinGet('db.t', 'c', k)`.
//!
//! Invariant: an alias of a text means the text, as everywhere; any other name is the table's. What is no constant stays, and
//! whoever plans the call refuses it.

use sql::dialect::{name_of, plain_args, text, text_of};
use sqlparser::ast::{BinaryOperator, Expr, Ident};

use crate::Rewriter;
use crate::aliases::resolve;
use planner::words::{asks_dictionary, asks_table};

/// Aliases of aliases that are looked through.
const ALIASES_MAX: usize = 32;

impl Rewriter {
    /// The arguments of a call with the names that it asks for as texts.
    pub(crate) fn of_tables(&self, function: &str, mut args: Vec<Expr>) -> Vec<Expr> {
        // The second argument of these is a key.
        let names = match function {
            "dictHas" | "dictGetHierarchy" | "dictIsIn" | "dictGetChildren" | "dictGetDescendants" => 1,
            _ if asks_table(function) || asks_dictionary(function) => 2,
            _ => 0,
        };
        if names > 0 {
            for (place, arg) in args.iter_mut().take(names).enumerate() {
                let name =
                    self.constant(arg, ALIASES_MAX).or_else(|| written_name(arg).filter(|_| place == 0));
                if let Some(name) = name {
                    *arg = text(name);
                }
            }
        }
        args
    }

    /// The text of an expression, if it is one before any row is read.
    fn constant(&self, expr: &Expr, aliases_max: usize) -> Option<String> {
        let constant = |expr: &Expr| self.constant(expr, aliases_max);
        match expr {
            Expr::Identifier(name) => {
                let meaning = resolve(&self.scopes, &name.value).filter(|_| aliases_max > 0)?;
                self.constant(meaning, aliases_max - 1)
            }
            Expr::Nested(inner) => constant(inner),
            Expr::BinaryOp { left, op: BinaryOperator::StringConcat, right } => {
                Some(constant(left)? + &constant(right)?)
            }
            Expr::Function(call) => match (name_of(call).as_str(), plain_args(call).as_slice()) {
                ("currentDatabase" | "database", []) => Some(self.database.clone()),
                ("concat", parts) => parts.iter().map(constant).collect(),
                _ => None,
            },
            other => text_of(other).map(str::to_owned),
        }
    }
}

fn written_name(expr: &Expr) -> Option<String> {
    let joined = |names: &[Ident]| names.iter().map(|name| name.value.as_str()).collect::<Vec<_>>().join(".");
    match expr {
        Expr::Identifier(name) => Some(joined(std::slice::from_ref(name))),
        Expr::CompoundIdentifier(names) => Some(joined(names)),
        _ => None,
    }
}
