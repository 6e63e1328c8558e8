//! Compiles stored expressions (`` toDate(`#4`) ``) to `RowExpr`s: keys and defaults as storage sees them.
//!
//! Invariant: only row-wise expressions compile, and of keys only deterministic ones, so that a key computed today equals
//! the key computed when the row was written. A default may ask about the statement that writes the row, as `now()` does,
//! or draw a value, as `rand()` does; it is known by that and belongs to the one statement it was compiled for.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, Schema, SchemaRef};
use boundary::error::{Error, ErrorKind};
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, ExprSchemable, Volatility};
use datafusion::physical_plan::PhysicalExpr;
use datafusion::sql::sqlparser::ast::ExprWithAlias;
use functions::call::ArgType;
use model::table_def::{column_id_of, parse_stored_column_name, stored_column_name};
use model::type_arrow::{from_field, to_field};
use model::{
    ColumnDef, ColumnId, ColumnType, Combine, Combining, ErrorCode, Monotonicity, RowExpr, RowExprError,
    TableDef, TableKeys,
};

/// See `model::RowExpr`.
#[derive(Debug)]
struct CompiledExpr {
    text: String,
    column_type: ColumnType,
    columns: Vec<ColumnId>,
    plain: Option<ColumnId>,
    monotonicity: Option<Monotonicity>,
    /// The columns it reads, named as stored expressions name them.
    schema: SchemaRef,
    physical: Arc<dyn PhysicalExpr>,
}

impl RowExpr for CompiledExpr {
    fn evaluate(&self, rows: &RecordBatch) -> Result<ArrayRef, RowExprError> {
        let failed = |message: String| RowExprError { expression: self.text.clone(), message };
        let find = |id: &ColumnId| {
            let position = rows.schema_ref().fields().iter().position(|f| column_id_of(f) == Some(*id));
            position
                .map(|i| Arc::clone(rows.column(i)))
                .ok_or_else(|| failed(format!("column {} is not there", id.0)))
        };
        if let Some(id) = &self.plain {
            return find(id);
        }
        let columns = self.columns.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(|e| failed(e.to_string()))?;
        let value = self.physical.evaluate(&batch).map_err(|e| failed(Error::from(e).message))?;
        value.into_array(rows.num_rows()).map_err(|e| failed(e.to_string()))
    }

    fn column_type(&self) -> &ColumnType {
        &self.column_type
    }

    fn columns(&self) -> &[ColumnId] {
        &self.columns
    }

    fn as_column(&self) -> Option<ColumnId> {
        self.plain
    }

    fn monotonicity(&self) -> Option<Monotonicity> {
        self.monotonicity
    }

    fn text(&self) -> &str {
        &self.text
    }
}

/// Compiles one key of `def`.
fn compile_key(state: &SessionState, def: &TableDef, text: &str) -> Result<Arc<dyn RowExpr>, Error> {
    let (key, asked) = compile(state, def, text)?;
    match asked {
        None => Ok(key),
        Some(function) => {
            let message = format!(
                "key {} uses the function {function}, which does not answer the same in every statement",
                key.text()
            );
            Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message)
                .with_hint("give the table a column with DEFAULT, and use that in the key"))
        }
    }
}

/// Compiles one stored expression of `def`; also answers a function it asks about the statement, if it does.
pub fn compile(
    state: &SessionState,
    def: &TableDef,
    text: &str,
) -> Result<(Arc<dyn RowExpr>, Option<&'static str>), Error> {
    compiled(state, def, text, logical(state, &all_columns(def)?, text)?)
}

/// The columns of a table as stored expressions name them.
pub fn all_columns(def: &TableDef) -> Result<DFSchema, Error> {
    let field = |column: &ColumnDef| to_field(&stored_column_name(column.id), &column.column_type);
    Ok(DFSchema::try_from(Schema::new(def.columns.iter().map(field).collect::<Vec<Field>>()))?)
}

/// Compiles what was read of a stored expression.
pub fn compiled(
    state: &SessionState,
    def: &TableDef,
    text: &str,
    expression: Expr,
) -> Result<(Arc<dyn RowExpr>, Option<&'static str>), Error> {
    let all = all_columns(def)?;
    refuse_volatile(&expression, text)?;
    let asked = asks_statement(&expression)?;
    let columns = used_columns(&expression);
    let used: Vec<Field> = columns
        .iter()
        .filter_map(|id| def.column_by_id(*id))
        .map(|column| to_field(&stored_column_name(column.id), &column.column_type))
        .collect();
    let schema = Arc::new(Schema::new(used));
    let used = DFSchema::try_from(Arc::clone(&schema))?;
    let monotonicity = monotonicity(&expression, &all);
    let plain = match &expression {
        Expr::Column(column) => parse_stored_column_name(&column.name),
        _ => None,
    };
    let physical = state.create_physical_expr(expression, &used)?;
    let column_type = match plain.and_then(|id| def.column_by_id(id)) {
        Some(column) => column.column_type.clone(),
        None => from_field(physical.return_field(&schema)?.as_ref()),
    };
    let text = sql::display_expression(text, def);
    let compiled: Arc<dyn RowExpr> =
        Arc::new(CompiledExpr { text, column_type, columns, plain, monotonicity, schema, physical });
    Ok((compiled, asked))
}

/// A stored expression over these columns, which have the names that [`stored_column_name`] gives.
pub fn logical(state: &SessionState, columns: &DFSchema, text: &str) -> Result<Expr, Error> {
    let ast = rewrite::prepare_expression(&sql::parse_expression(text)?)?;
    let expression =
        state.create_logical_expr_from_sql_expr(ExprWithAlias { expr: ast, alias: None }, columns)?;
    Ok(planner::typed_expression(expression, columns, state.config_options())?)
}

/// The type of the column at `index`, which is that of its default, over those of `columns` whose own types are known.
pub fn type_of(
    state: &SessionState,
    columns: &[ColumnDef],
    index: usize,
    text: &str,
) -> Result<ColumnType, Error> {
    let name = &columns[index].name;
    let known = columns.iter().filter(|column| column.column_type != ColumnType::Nothing);
    let fields: Vec<Field> =
        known.map(|column| to_field(&stored_column_name(column.id), &column.column_type)).collect();
    let known = DFSchema::try_from(Schema::new(fields))?;
    let found = logical(state, &known, text).and_then(|default| {
        let (_, field) = default.to_field(&known)?;
        Ok(from_field(&field))
    });
    match found {
        Ok(ColumnType::Nothing) => {
            let message = format!("column {name} needs a type: its default has none");
            Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message))
        }
        Ok(found) => Ok(found),
        Err(error) => Err(error
            .in_context(&format!("while taking the type of column {name} from its default"))
            .with_hint("give it a type, or put it behind the columns that its default names")),
    }
}

/// Compiles the keys of a table.
pub fn compile_keys(state: &SessionState, def: &TableDef) -> Result<TableKeys, Error> {
    let all = |texts: &[Arc<str>]| {
        texts.iter().map(|text| compile_key(state, def, text)).collect::<Result<Vec<_>, _>>()
    };
    let (sort, partition) = (all(&def.order_by)?, all(&def.partition_by)?);
    let is_state = |key: &&Arc<dyn RowExpr>| key.column_type().state().is_some();
    if let Some(key) = sort.iter().chain(&partition).find(is_state) {
        let message = format!("key {} is a state of an aggregate function, which has no order", key.text());
        let code = ErrorCode::DATA_TYPE_CANNOT_BE_USED_IN_KEY;
        return Err(Error::new(ErrorKind::BadInput, code, message));
    }
    Ok(TableKeys { sort, partition, combined: compile_combined(def)?, ..TableKeys::default() })
}

/// How values of equal key become one, of the columns whose types say it; whatever the engine, types have to be such that it
/// can be said.
fn compile_combined(def: &TableDef) -> Result<BTreeMap<ColumnId, Arc<dyn Combine>>, Error> {
    for column in &def.columns {
        let in_column = |error| Error::from(error).in_context(&format!("in column {}", column.name));
        planner::check_states(&column.column_type).map_err(in_column)?;
        if let Some(function) = &column.combined_by {
            let combining = Combining::By(Arc::clone(function));
            planner::combiner(&column.column_type, &combining).map_err(in_column)?;
        }
    }
    let combined = def.combined_columns().into_iter().map(|(id, combining)| {
        let column_type = def.column_by_id(id).map_or(&ColumnType::Nothing, |column| &column.column_type);
        Ok((id, planner::combiner(column_type, &combining)?))
    });
    combined.collect()
}

fn refuse_volatile(expression: &Expr, text: &str) -> Result<(), Error> {
    let mut volatile = None;
    expression.apply(|node| {
        match node {
            Expr::ScalarFunction(call)
                if call.func.signature().volatility == Volatility::Volatile
                    && functions::lookup(call.func.name()).is_none() =>
            {
                volatile = Some(call.func.name().to_owned());
            }
            Expr::AggregateFunction(call) => volatile = Some(call.func.name().to_owned()),
            Expr::WindowFunction(call) => volatile = Some(call.fun.name().to_owned()),
            _ => return Ok(TreeNodeRecursion::Continue),
        }
        Ok(TreeNodeRecursion::Stop)
    })?;
    match volatile {
        None => Ok(()),
        Some(name) => {
            let message = format!("function {name} is not allowed in the stored expression {text}");
            Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message))
        }
    }
}

/// The name of a function that answers something about the statement, or another value for each row.
fn asks_statement(expression: &Expr) -> Result<Option<&'static str>, Error> {
    let mut asked = None;
    expression.apply(|node| {
        if let Expr::ScalarFunction(call) = node
            && let Some(function) =
                functions::lookup(call.func.name()).filter(|known| known.of_statement || known.volatile)
        {
            asked = Some(function.name);
            return Ok(TreeNodeRecursion::Stop);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(asked)
}

/// The columns that an expression over stored names reads.
pub fn used_columns(expression: &Expr) -> Vec<ColumnId> {
    let mut ids: Vec<ColumnId> = expression
        .column_refs()
        .into_iter()
        .filter_map(|column| parse_stored_column_name(&column.name))
        .collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Known for a plain column, and for a chain of functions that declare it for the one argument that varies.
fn monotonicity(expression: &Expr, schema: &DFSchema) -> Option<Monotonicity> {
    match expression {
        Expr::Column(_) => Some(Monotonicity::Increasing),
        Expr::Alias(alias) => monotonicity(&alias.expr, schema),
        Expr::ScalarFunction(call) => {
            let types = call.args.iter().map(|arg| arg_type(arg, schema)).collect::<Option<Vec<_>>>()?;
            let (argument, own) = functions::lookup(call.func.name())?.monotonicity(&types)?;
            let constant = |(i, other): (usize, &Expr)| i == argument || matches!(other, Expr::Literal(..));
            if !call.args.iter().enumerate().all(constant) {
                return None;
            }
            match (own, monotonicity(call.args.get(argument)?, schema)?) {
                (Monotonicity::Increasing, inner) => Some(inner),
                (Monotonicity::Decreasing, Monotonicity::Increasing) => Some(Monotonicity::Decreasing),
                (Monotonicity::Decreasing, Monotonicity::Decreasing) => Some(Monotonicity::Increasing),
            }
        }
        _ => None,
    }
}

fn arg_type(expression: &Expr, schema: &DFSchema) -> Option<ArgType> {
    let (_, field) = expression.to_field(schema).ok()?;
    let constant = match expression {
        Expr::Literal(value, _) => value.to_array().ok(),
        _ => None,
    };
    Some(ArgType { column_type: from_field(&field), constant })
}
