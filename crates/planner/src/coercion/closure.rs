//! A call with a lambda as a plain function: of its arrays, and of what the lambda reads of the rows.
//!
//! So the optimizer sees nothing new: columns that a lambda reads are arguments of the call. The body is an expression
//! over the lambda's parameters and these arguments, evaluated once a batch, over the elements of all of its rows.
//! Invariant: the body is typed, guarded and coerced as any expression of a plan is.

use std::any::Any;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{
    Column, DFSchema, DFSchemaRef, DataFusionError, Result, internal_err, not_impl_err,
};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::expr::{HigherOrderFunction, Lambda, LambdaVariable, ScalarFunction};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};
use functions::allowance::reserve;
use functions::lambda::{Elements, Over};
use functions::{Arg, FunctionError, LambdaFunction, row_bytes};
use model::ColumnType;
use model::saturating::{place_of, u64_of};
use model::type_arrow::{from_field, to_field};

use super::comparison::as_value;
use super::short_circuit::guarded;
use crate::scalar::call_name::{digest_of_large, short_name};
use crate::scalar::lambda::{BODY, Planned};
use crate::scalar::unpacked::{seen_argument, seen_type};
use crate::session::session_values;
use aggregates::typing::{argument, argument_type, external, scalar_at, type_of};

/// See the module. Its arguments are those behind the lambda, then the captures.
#[derive(Debug)]
pub(crate) struct Closure {
    function: &'static LambdaFunction,
    /// The planner's name: the function may also be one without a lambda.
    name: String,
    apart: bool,
    parameters: Vec<String>,
    body: Expr,
    body_type: ColumnType,
    /// The parameters, then the captures.
    schema: DFSchemaRef,
    /// How many arguments are no captures.
    given: usize,
    signature: Signature,
    /// The body compiled for the options of one statement.
    compiled: Mutex<Option<Compiled>>,
}

type Compiled = (Arc<ConfigOptions>, Arc<dyn PhysicalExpr>);

impl PartialEq for Closure {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.body == other.body
            && self.schema == other.schema
            && self.given == other.given
    }
}

impl Eq for Closure {}

impl Hash for Closure {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        self.body.hash(state);
        self.given.hash(state);
    }
}

/// An error of evaluation on its way through a kernel.
struct Failed(DataFusionError);

impl From<FunctionError> for Failed {
    fn from(error: FunctionError) -> Self {
        Self(external(error))
    }
}

impl From<DataFusionError> for Failed {
    fn from(error: DataFusionError) -> Self {
        Self(error)
    }
}

/// The plain function of a call with a lambda. `typed` gives an expression ClickHouse's types.
pub(crate) fn closed(
    call: HigherOrderFunction,
    schema: &DFSchema,
    typed: &dyn Fn(Expr) -> Result<Expr>,
) -> Result<Expr> {
    let HigherOrderFunction { func, args } = call;
    let implementation: &dyn Any = func.inner().as_ref();
    let (Some(planned), mut args) = (implementation.downcast_ref::<Planned>(), args.into_iter()) else {
        return internal_err!("{} is not a function of ours", func.name());
    };
    let Some(Expr::Lambda(Lambda { params, body })) = args.next() else {
        return internal_err!("{} has no lambda", func.name());
    };
    let mut given = args.map(|arg| as_value(typed(arg)?, schema)).collect::<Result<Vec<_>>>()?;
    let types = given.iter().map(|arg| type_of(arg, schema)).collect::<Result<Vec<_>>>()?;
    let parameters = planned.function.parameters(&types, planned.apart).map_err(external)?;
    let parameters = params.iter().zip(&parameters).map(|(name, t)| Arc::new(to_field(name, t)));
    let parameters: Vec<FieldRef> = parameters.collect();
    let body = typed(with_fields(unwrapped(*body), &parameters)?)?;
    let body = as_value(body, schema)?;
    let body_type = type_of(&body, schema)?;
    let (body, captures) = captured(body, &parameters)?;
    let mut fields = parameters;
    for (place, capture) in captures.iter().enumerate() {
        fields.push(Arc::new(to_field(&capture_name(place), &type_of(capture, schema)?)));
    }
    let schema = Arc::new(DFSchema::from_unqualified_fields(fields.into(), Default::default())?);
    let body = guarded(body, &schema)?;
    let context = SimplifyContext::builder().with_schema(Arc::clone(&schema)).build();
    let body = ExprSimplifier::new(context).coerce(body, &schema)?;
    let closure = Closure {
        function: planned.function,
        name: func.name().to_owned(),
        apart: planned.apart,
        parameters: params,
        signature: Signature::user_defined(volatility(&body)?),
        body,
        body_type,
        schema,
        given: given.len(),
        compiled: Mutex::new(None),
    };
    given.extend(captures);
    Ok(Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(ScalarUDF::from(closure)), given)))
}

/// The body without the call that carried its type.
fn unwrapped(body: Expr) -> Expr {
    match body {
        Expr::ScalarFunction(ScalarFunction { func, mut args }) if func.name() == BODY && args.len() == 1 => {
            args.swap_remove(0)
        }
        other => other,
    }
}

/// The body with its parameters' types as they are now that literals have theirs.
fn with_fields(body: Expr, fields: &[FieldRef]) -> Result<Expr> {
    let set = |expr: Expr| match expr {
        Expr::LambdaVariable(variable) => {
            let field = fields.iter().find(|field| *field.name() == variable.name);
            Ok(match field {
                Some(field) => Transformed::yes(Expr::LambdaVariable(LambdaVariable::new(
                    variable.name,
                    Some(Arc::clone(field)),
                ))),
                None => Transformed::no(Expr::LambdaVariable(variable)),
            })
        }
        Expr::Lambda(Lambda { params, body }) => {
            // An inner lambda may have parameters of the same names.
            let outer: Vec<FieldRef> =
                fields.iter().filter(|field| !params.contains(field.name())).cloned().collect();
            let body = Box::new(with_fields(*body, &outer)?);
            Ok(Transformed::new(Expr::Lambda(Lambda { params, body }), true, TreeNodeRecursion::Jump))
        }
        other => Ok(Transformed::no(other)),
    };
    Ok(body.transform_down(set)?.data)
}

fn capture_name(place: usize) -> String {
    format!("#{place}")
}

/// The body over columns, and what of the rows it reads.
fn captured(body: Expr, parameters: &[FieldRef]) -> Result<(Expr, Vec<Expr>)> {
    let mut captures: Vec<Expr> = vec![];
    let replace = |expr: Expr| {
        let name = match expr {
            Expr::LambdaVariable(variable)
                if parameters.iter().any(|field| *field.name() == variable.name) =>
            {
                variable.name
            }
            Expr::LambdaVariable(_)
            | Expr::Column(_)
            | Expr::OuterReferenceColumn(..)
            | Expr::ScalarSubquery(_) => {
                let known = captures.iter().position(|capture| *capture == expr);
                let place = known.unwrap_or(captures.len());
                if known.is_none() {
                    captures.push(expr);
                }
                capture_name(place)
            }
            Expr::InSubquery(_) | Expr::Exists(_) | Expr::SetComparison(_) => {
                return not_impl_err!("a subquery inside a lambda, other than one that gives a value");
            }
            other => return Ok(Transformed::no(other)),
        };
        let column = Expr::Column(Column::new_unqualified(name));
        Ok(Transformed::new(column, true, TreeNodeRecursion::Jump))
    };
    let body = body.transform_down(replace)?.data;
    Ok((body, captures))
}

/// A function of the statement or of chance makes the whole call one.
fn volatility(body: &Expr) -> Result<Volatility> {
    let mut worst = Volatility::Immutable;
    body.apply(|expr| {
        if let Expr::ScalarFunction(function) = expr {
            match function.func.signature().volatility {
                Volatility::Volatile => worst = Volatility::Volatile,
                Volatility::Stable if worst == Volatility::Immutable => worst = Volatility::Stable,
                _ => {}
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(worst)
}

impl Closure {
    fn physical(&self, options: &Arc<ConfigOptions>) -> Result<Arc<dyn PhysicalExpr>> {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, physical)) = compiled.as_ref()
            && Arc::ptr_eq(known, options)
        {
            return Ok(Arc::clone(physical));
        }
        let context = SimplifyContext::builder()
            .with_schema(Arc::clone(&self.schema))
            .with_config_options(Arc::clone(options))
            .build();
        let body = ExprSimplifier::new(context).simplify(self.body.clone())?;
        let mut props = ExecutionProps::new();
        props.config_options = Some(Arc::clone(options));
        let planning = PhysicalPlanningContext::default();
        let physical = create_physical_expr(&body, &self.schema, &props, &planning)?;
        *compiled = Some((Arc::clone(options), Arc::clone(&physical)));
        Ok(physical)
    }

    /// The body's values for `rows` sets of parameters and captures.
    fn run(&self, body: &Arc<dyn PhysicalExpr>, columns: Vec<ArrayRef>, rows: usize) -> Result<ArrayRef> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::clone(self.schema.inner());
        // The optimizer may put a constant for a column, in a layout of its own.
        let laid_out = |(column, field): (ArrayRef, &FieldRef)| match column.data_type() == field.data_type()
        {
            true => Ok(column),
            false => cast(&column, field.data_type()),
        };
        let columns = columns.into_iter().zip(schema.fields()).map(laid_out).collect::<Result<_, _>>()?;
        let batch = RecordBatch::try_new_with_options(schema, columns, &options)?;
        let value = body.evaluate(&batch)?;
        let _repeated = match &value {
            ColumnarValue::Scalar(constant) => {
                let bytes = row_bytes(&constant.to_array()?).saturating_mul(rows);
                Some(reserve("of a lambda", bytes).map_err(external)?)
            }
            ColumnarValue::Array(_) => None,
        };
        let values = value.into_array(rows)?;
        let field = to_field("", &self.body_type);
        Ok(argument(&ColumnarValue::Array(values), &field)?.array)
    }

    fn evaluate(&self, args: &ScalarFunctionArgs, values: &[Arg], rows: usize) -> Result<ArrayRef> {
        let (given, captures) = values.split_at(self.given.min(values.len()));
        let elements = Elements::new(self.function, given, rows, self.apart).map_err(external)?;
        let body = self.physical(&args.config_options)?;
        let session = session_values(&args.config_options);
        if self.function.over == Over::Fold {
            return self.fold(&body, &elements, given, captures);
        }
        let count = elements.offsets().last().map_or(0, |count| place_of(*count));
        let _repeated = match count < LOOKED_AT_MIN {
            true => None,
            false => Some(reserve("of a lambda", repeated_bytes(captures, count)).map_err(external)?),
        };
        let mut columns = elements.parameters();
        if !captures.is_empty() {
            let rows = elements.row_of_each();
            columns.extend(spread(captures, &rows)?);
        }
        let results = self.run(&body, columns, count)?;
        let result_type = from_field(&args.return_field);
        self.function
            .finish(&results, &self.body_type, &elements, given, &result_type, &session)
            .map_err(external)
    }

    fn fold(
        &self,
        body: &Arc<dyn PhysicalExpr>,
        elements: &Elements,
        given: &[Arg],
        captures: &[Arg],
    ) -> Result<ArrayRef> {
        let Some(start) = given.last() else { return internal_err!("a fold without a start") };
        let all: UInt64Array = (0..elements.rows()).map(u64_of).collect();
        let Some(start) = spread(std::slice::from_ref(start), &all)?.pop() else {
            return internal_err!("a fold without a start");
        };
        let step =
            |rows: &UInt64Array, folded: ArrayRef, elements: Vec<ArrayRef>| -> Result<ArrayRef, Failed> {
                let mut columns = vec![folded];
                columns.extend(elements);
                columns.extend(spread(captures, rows)?);
                Ok(self.run(body, columns, rows.len())?)
            };
        elements.steps().fold(&start, step).map_err(|failed| failed.0)
    }

    fn shown(&self) -> String {
        format!("{}(({}) -> {}", self.function.name, self.parameters.join(", "), self.body)
    }
}

/// Values that are repeated for fewer elements are not asked for.
const LOOKED_AT_MIN: usize = 1 << 16;

/// What it takes to repeat what a lambda captures for so many elements: rows in a buffer that grows by doubling, and values.
fn repeated_bytes(captures: &[Arg], count: usize) -> usize {
    let each = |arg: &Arg| arg.array.data_type().primitive_width().unwrap_or(16).max(row_average(arg));
    let bytes = captures.iter().map(each).fold(16, usize::saturating_add);
    bytes.saturating_mul(count)
}

/// Bytes of a captured array, map or tuple; a text stays where it is.
fn row_average(arg: &Arg) -> usize {
    match arg.array.data_type() {
        DataType::Utf8View | DataType::BinaryView => 16,
        _ => row_bytes(&arg.array) / arg.array.len().max(1),
    }
}

/// The values of these rows, constants repeated.
fn spread(values: &[Arg], rows: &UInt64Array) -> Result<Vec<ArrayRef>> {
    let first =
        UInt64Array::from(vec![0; if values.iter().any(|arg| arg.is_constant) { rows.len() } else { 0 }]);
    let spread = |arg: &Arg| Ok(take(&arg.array, if arg.is_constant { &first } else { rows }, None)?);
    values.iter().map(spread).collect()
}

impl ScalarUDFImpl for Closure {
    fn name(&self) -> &str {
        &self.name
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let shown = self.shown();
        if let Some(digest) = digest_of_large(&shown, args)? {
            return Ok(short_name(self.function.name, digest));
        }
        let args: Vec<String> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        Ok(format!("{shown}, {})", args.join(", ")))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(arg_types.to_vec())
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        internal_err!("the type of {} depends on more than layouts", self.function.name)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types = args.arg_fields.iter().zip(args.scalar_arguments).take(self.given);
        let name = self.function.name;
        let types = types.map(|(field, constant)| Ok(seen_type(name, argument_type(field, *constant)?)));
        let types = types.collect::<Result<Vec<_>>>()?;
        let result = self.function.result_type(&self.body_type, &types).map_err(external)?;
        Ok(Arc::new(to_field(&self.name, &result)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let all_constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let is_constant = all_constant && self.signature.volatility != Volatility::Volatile;
        let rows = if is_constant { 1 } else { args.number_rows };
        let values = args.args.iter().zip(&args.arg_fields);
        let mut values = values.map(|(value, field)| argument(value, field)).collect::<Result<Vec<_>>>()?;
        for arg in values.iter_mut().take(self.given) {
            *arg = seen_argument(self.function.name, arg.clone())?;
        }
        let array = self.evaluate(&args, &values, rows)?;
        Ok(if is_constant {
            ColumnarValue::Scalar(scalar_at(&array, 0)?)
        } else {
            ColumnarValue::Array(array)
        })
    }
}
