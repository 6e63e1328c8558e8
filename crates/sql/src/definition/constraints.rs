//! Constraints of a definition, of today and as older versions kept them.
//!
//! Invariant: what is stored is over ids of columns that are stored themselves. Must not know: rows.

use model::{ConstraintDef, KeptClause, TableDef};

use crate::parser::parse_constraint;
use crate::statement::ConstraintSpec;
use crate::table_text::stored_expr;
use lexer::error::Result;

/// What CONSTRAINT says, over the ids of the columns that are stored.
pub fn stored_constraint(def: &TableDef, spec: &ConstraintSpec) -> Result<ConstraintDef> {
    let stored: Vec<_> = def.stored_columns().cloned().collect();
    let expression = stored_expr(&spec.expression, &stored)
        .map_err(|error| error.in_context(&format!("while reading constraint {}", spec.name)))?;
    Ok(ConstraintDef { name: spec.name.as_str().into(), kind: spec.kind, expression: expression.into() })
}

/// The definition with all of its constraints: in older folders they are clauses that were kept as text. One that cannot be
/// read stays what it is.
pub fn with_kept_constraints(def: &TableDef) -> TableDef {
    let mut next = TableDef { kept: Vec::new(), ..def.clone() };
    for clause in &def.kept {
        match is_constraint(clause).then(|| kept_constraint(def, clause)) {
            Some(Ok(constraint)) => next.constraints.push(constraint),
            _ => next.kept.push(clause.clone()),
        }
    }
    next
}

pub fn is_constraint(clause: &KeptClause) -> bool {
    clause.keyword.as_ref() == "CONSTRAINT"
}

pub fn kept_constraint(def: &TableDef, clause: &KeptClause) -> Result<ConstraintDef> {
    stored_constraint(def, &parse_constraint(&clause.text)?)
}
