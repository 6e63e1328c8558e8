//! CONSTRAINT .. CHECK: what every row that comes into a table keeps to; and that bytes which come as states are some.
//!
//! Invariant: asked of rows as they are stored, defaults and all, before any of them is; one row that does not keep to it,
//! or of which it cannot be said, fails the statement. ASSUME is kept, and asked of nobody. Must not know: where the rows
//! come from or go.

use std::sync::Arc;

use arrow::array::{Array, AsArray, BooleanArray, RecordBatch, UInt8Array};
use arrow::buffer::BooleanBuffer;
use boundary::error::{Error, ErrorKind};
use catalog::Catalog;
use datafusion::execution::SessionState;
use functions::cast::{CastMode, cast_column};
use model::table_def::column_id_of;
use model::{ColumnId, ColumnType, ConstraintKind, ErrorCode, RowExpr, TableDef};
use planner::StateCheck;
use sql::definition::constraints::{is_constraint, kept_constraint, with_kept_constraints};

use crate::row_expr::compile;

/// One CHECK.
struct Check {
    name: Arc<str>,
    expression: Arc<dyn RowExpr>,
}

/// All that a table's rows are asked.
pub struct Constraints {
    def: Arc<TableDef>,
    /// Knows what the table is called now.
    catalog: Arc<Catalog>,
    checks: Vec<Check>,
    /// The columns of states.
    states: Vec<(ColumnId, StateCheck)>,
}

/// The table's checks, and whether one of them asks about the statement; `None` if it has none.
pub fn compile_constraints(
    state: &SessionState,
    def: &Arc<TableDef>,
    catalog: &Arc<Catalog>,
) -> Result<(Option<Arc<Constraints>>, bool), Error> {
    let states = checks_of_states(def)?;
    if def.constraints.is_empty() && !def.kept.iter().any(is_constraint) && states.is_empty() {
        return Ok((None, false));
    }
    let known = with_kept_constraints(def);
    if let Some(clause) = known.kept.iter().find(|clause| is_constraint(clause)) {
        let error = kept_constraint(def, clause).err().map(Error::from);
        let error = error.unwrap_or_else(|| Error::internal("it can be read"));
        return Err(error
            .in_context(&format!("in CONSTRAINT {}, which an older version kept as text", clause.text))
            .with_hint("drop it by its name: ALTER TABLE .. DROP CONSTRAINT"));
    }
    let (mut checks, mut asks) = (Vec::new(), false);
    for constraint in known.constraints {
        let (expression, asked) = compile(state, def, &constraint.expression)
            .map_err(|error| error.in_context(&format!("while reading constraint {}", constraint.name)))?;
        if !is_truth(expression.column_type()) {
            let message = format!("constraint `{}` does not return a value of type UInt8", constraint.name);
            return Err(Error::new(ErrorKind::BadInput, ErrorCode::UNSUPPORTED_METHOD, message)
                .with_hint(format!("it returns {}: compare it with something", expression.column_type())));
        }
        if constraint.kind == ConstraintKind::Check {
            asks |= asked.is_some();
            checks.push(Check { name: constraint.name, expression });
        }
    }
    let found = Constraints { def: Arc::clone(def), catalog: Arc::clone(catalog), checks, states };
    Ok((Some(Arc::new(found)).filter(|found| !found.checks.is_empty() || !found.states.is_empty()), asks))
}

fn checks_of_states(def: &TableDef) -> Result<Vec<(ColumnId, StateCheck)>, Error> {
    let mut checks = Vec::new();
    for column in def.stored_columns() {
        if let Some(check) = StateCheck::of(&column.column_type)? {
            checks.push((column.id, check));
        }
    }
    Ok(checks)
}

fn is_truth(column_type: &ColumnType) -> bool {
    matches!(column_type.value_type(), ColumnType::UInt8 | ColumnType::Bool)
}

impl Constraints {
    /// Fails for the first row that does not keep to one of them. `rows_before` of the statement were asked already.
    pub fn check(&self, rows: &RecordBatch, rows_before: u64) -> Result<(), Error> {
        for (id, check) in &self.states {
            let at = rows.schema_ref().fields().iter().position(|field| column_id_of(field) == Some(*id));
            let Some(at) = at else { continue };
            check.check(rows.column(at)).map_err(|error| {
                let name = self.def.column_by_id(*id).map_or("", |column| &column.name);
                Error::from(error).in_context(&format!("in column {name}"))
            })?;
        }
        self.checks.iter().try_for_each(|check| self.check_one(check, rows, rows_before))
    }

    fn check_one(&self, check: &Check, rows: &RecordBatch, rows_before: u64) -> Result<(), Error> {
        let kept = check.expression.evaluate(rows).map_err(Error::from)?;
        if kept.logical_null_count() > 0 {
            let message = format!(
                "{}. Constraint expression returns nullable column that contains null value",
                self.violated(check, "")
            );
            let hint = "a constraint that lets NULL pass says so: x IS NULL OR x > 0";
            return Err(
                Error::new(ErrorKind::BadInput, ErrorCode::VIOLATED_CONSTRAINT, message).with_hint(hint)
            );
        }
        let truths = truths(kept.as_ref())?;
        if truths.count_set_bits() == truths.len() {
            return Ok(());
        }
        let row = (0..truths.len()).find(|row| !truths.value(*row)).unwrap_or_default();
        let number = rows_before + row as u64 + 1;
        let message = format!(
            "{}. Column values: {}",
            self.violated(check, &format!(" at row {number}")),
            self.values(check, rows, row)?
        );
        Err(Error::new(ErrorKind::BadInput, ErrorCode::VIOLATED_CONSTRAINT, message))
    }

    fn violated(&self, check: &Check, at: &str) -> String {
        let snapshot = self.catalog.snapshot();
        let state = snapshot.state();
        // A temporary table is none of the catalog's.
        let table = match state.table_by_id(self.def.id) {
            Some(_) => state.table_name(self.def.id),
            None => self.def.name.to_string(),
        };
        let (name, text) = (&check.name, check.expression.text());
        format!("Constraint `{name}` for table {table} is violated{at}. Expression: ({text})")
    }

    /// `a = 9, b = 'x'`, of the columns that the check reads.
    fn values(&self, check: &Check, rows: &RecordBatch, row: usize) -> Result<String, Error> {
        let mut shown = Vec::new();
        for id in check.expression.columns() {
            let at = rows.schema_ref().fields().iter().position(|field| column_id_of(field) == Some(*id));
            let (Some(at), Some(column)) = (at, self.def.column_by_id(*id)) else { continue };
            let cell = rows.column(at).slice(row, 1);
            let text = ColumnType::String.nullable();
            let value = cast_column(&cell, &column.column_type, &text, CastMode::Insert)?;
            let value = value.as_string_view_opt().filter(|text| text.is_valid(0)).map(|text| text.value(0));
            let quoted = matches!(column.column_type.value_type(), ColumnType::String);
            shown.push(match value {
                None => format!("{} = NULL", column.name),
                Some(value) if quoted => format!("{} = {}", column.name, sql::escape::quote_text(value)),
                Some(value) => format!("{} = {value}", column.name),
            });
        }
        Ok(shown.join(", "))
    }
}

/// Which rows it is true of.
fn truths(kept: &dyn Array) -> Result<BooleanBuffer, Error> {
    if let Some(booleans) = kept.as_any().downcast_ref::<BooleanArray>() {
        return Ok(booleans.values().clone());
    }
    let numbers = kept.as_any().downcast_ref::<UInt8Array>();
    let numbers = numbers.ok_or_else(|| Error::internal("a constraint gave no UInt8"))?;
    Ok(BooleanBuffer::collect_bool(numbers.len(), |row| numbers.value(row) != 0))
}
