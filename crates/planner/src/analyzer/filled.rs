//! Defaults where DataFusion has NULLs: columns of an outer join's row without a partner, keys that ROLLUP leaves out.
//!
//! Invariant: a column whose type is Nullable keeps its NULLs; any other has none afterwards, and its own type.

use std::sync::Arc;

use crate::nodes::Asof;
use aggregates::typing::{is_attached, type_of_field};
use arrow::array::{Array, ArrayRef, new_empty_array};
use arrow::compute::{interleave, is_not_null};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, JoinConstraint, JoinType, Result, TableReference, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    Cast, ColumnarValue, Expr, Extension, Join, LogicalPlan, Projection, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use model::ColumnType;
use model::type_arrow::{EXTENSION_METADATA_KEY, EXTENSION_NAME_KEY, from_field, to_field};

use crate::scalar::attached::said;
use crate::scalar::call_name::call_name;

/// The name the rewrite gives it.
pub const FILLED: &str = "_filled";

/// `_filled(x)`: the default of x's type where x is NULL; `_filled(x, y)`: there y, and the default where both are.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Filled {
    signature: Signature,
    aliases: Vec<String>,
}

impl Default for Filled {
    fn default() -> Self {
        let aliases = vec![FILLED.to_ascii_lowercase()];
        Self { signature: Signature::variadic_any(Volatility::Immutable), aliases }
    }
}

/// A column of nothing but NULLs, in which nothing is to be filled.
pub(crate) fn is_nothing(field: &Field) -> bool {
    field.data_type().is_null()
}

/// The type of a column before something made NULLs in it; `None` when it is Nullable by itself.
fn type_to_fill(field: &Field) -> Option<ColumnType> {
    let attached = field.metadata().contains_key(EXTENSION_NAME_KEY);
    let written =
        field.metadata().get(EXTENSION_METADATA_KEY).and_then(|name| model::type_name::parse(name).ok());
    match written {
        Some(column_type) if attached && column_type.is_nullable() => return None,
        _ => {}
    }
    let bare = field.clone().with_nullable(false);
    let column_type = match field.data_type() {
        // A predicate's answer.
        DataType::Boolean if !attached => return None,
        _ => from_field(&bare),
    };
    (column_type != ColumnType::Nothing).then_some(column_type)
}

impl ScalarUDFImpl for Filled {
    fn name(&self) -> &str {
        FILLED
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        call_name(FILLED, args)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(arg_types.first().cloned().unwrap_or(DataType::Null))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let Some(field) = args.arg_fields.first() else { return internal_err!("{FILLED} takes an argument") };
        Ok(match type_to_fill(field) {
            Some(column_type) => Arc::new(to_field(FILLED, &column_type)),
            None => Arc::clone(field),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (Some(value), Some(field)) = (args.args.first(), args.arg_fields.first()) else {
            return internal_err!("{FILLED} takes an argument");
        };
        // The optimizer puts a bare NULL for the column to see whether a condition refuses it: one over defaults does
        // not, and its default is not known here. Columns that are NULL by themselves never come.
        if is_nothing(field) {
            return internal_err!("{FILLED} of a NULL without a type");
        }
        let mut array = value.to_array(args.number_rows)?;
        if let Some(other) = args.args.get(1) {
            let other = arrow::compute::cast(&other.to_array(args.number_rows)?, array.data_type())?;
            array = merged(&array, &other)?;
        }
        Ok(ColumnarValue::Array(match type_to_fill(field) {
            Some(column_type) => filled(array, &column_type)?,
            None => array,
        }))
    }
}

/// The other array's values where one has NULLs.
fn merged(array: &ArrayRef, other: &ArrayRef) -> Result<ArrayRef> {
    let present = is_not_null(array)?;
    let picks: Vec<(usize, usize)> =
        (0..array.len()).map(|row| (usize::from(!present.value(row)), row)).collect();
    Ok(interleave(&[array.as_ref(), other.as_ref()], &picks)?)
}

fn filled(array: ArrayRef, column_type: &ColumnType) -> Result<ArrayRef> {
    let wanted = model::type_arrow::to_data_type(column_type);
    let same = *array.data_type() == wanted;
    let array = if same { array } else { arrow::compute::cast(&array, &wanted)? };
    if array.logical_null_count() == 0 {
        return Ok(array);
    }
    if array.is_empty() {
        return Ok(new_empty_array(&wanted));
    }
    let default = functions::default_array(column_type, 1);
    let present = is_not_null(&array)?;
    let picks: Vec<(usize, usize)> =
        (0..array.len()).map(|row| if present.value(row) { (0, row) } else { (1, 0) }).collect();
    Ok(interleave(&[array.as_ref(), default.as_ref()], &picks)?)
}

fn call(args: Vec<Expr>) -> Expr {
    let function = Arc::new(ScalarUDF::from(Filled::default()));
    Expr::ScalarFunction(ScalarFunction::new_udf(function, args))
}

/// Puts defaults into the rows of an outer join that have no partner, and what either side has into the columns of USING.
pub(crate) fn outer_join(plan: LogicalPlan, use_nulls: bool) -> Result<Transformed<LogicalPlan>> {
    let join = match plan {
        LogicalPlan::Join(join) => join,
        LogicalPlan::Extension(step) => return asof_join(step, use_nulls),
        other => return Ok(Transformed::no(other)),
    };
    let (left_empty, right_empty) = match join.join_type {
        JoinType::Left => (false, true),
        JoinType::Right => (true, false),
        JoinType::Full => (true, true),
        _ => return Ok(Transformed::no(LogicalPlan::Join(join))),
    };
    let inputs = join.left.schema().fields().iter().chain(join.right.schema().fields());
    let columns = join.schema.iter().zip(inputs).enumerate().map(|(at, ((qualifier, field), input))| {
        let of_left = at < join.left.schema().fields().len();
        let own = Expr::Column(Column::from((qualifier, field)));
        let nests = nests(field);
        let may_miss = !is_nothing(field) && if of_left { left_empty } else { right_empty };
        let value = match partner(&join, &own).filter(|_| of_left && left_empty) {
            // The key of whichever side has a row.
            Some(other) if right_empty => call(vec![with_own_nulls(own.clone(), input), other.clone()]),
            Some(other) => other.clone(),
            None if may_miss && !use_nulls && has_nulls(input) => own.clone(),
            // The join says already that it may be NULL.
            None if may_miss && use_nulls && is_tuple(field) => own.clone(),
            None if may_miss && (!use_nulls || nests) => call(vec![answer(own.clone(), input)]),
            // The type says so, too: keys that ROLLUP leaves out have its default.
            None if may_miss => match type_to_fill(field) {
                Some(column_type) => said(own.clone(), &column_type.nullable()),
                None => own.clone(),
            },
            None => own.clone(),
        };
        Ok(match value == own {
            true => own,
            false => named(value, qualifier, field.name()),
        })
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let projection = Projection::try_new(columns, Arc::new(LogicalPlan::Join(join)))?;
    Ok(Transformed::yes(LogicalPlan::Projection(projection)))
}

/// The same for ASOF LEFT JOIN.
fn asof_join(step: Extension, use_nulls: bool) -> Result<Transformed<LogicalPlan>> {
    let of_left = match step.node.as_any().downcast_ref::<Asof>() {
        Some(join) if join.keeps_left => join.left_columns(),
        _ => return Ok(Transformed::no(LogicalPlan::Extension(step))),
    };
    let inputs = step.node.inputs();
    let inputs = inputs.iter().flat_map(|input| input.schema().fields());
    let columns =
        step.node.schema().iter().zip(inputs).enumerate().map(|(at, ((qualifier, field), input))| {
            let own = Expr::Column(Column::from((qualifier, field)));
            let is_filled = if use_nulls { nests(field) && !is_tuple(field) } else { !has_nulls(input) };
            match at >= of_left && !is_nothing(field) && is_filled {
                true => named(call(vec![answer(own, input)]), qualifier, field.name()),
                false => own,
            }
        });
    let columns = columns.collect();
    let projection = Projection::try_new(columns, Arc::new(LogicalPlan::Extension(step)))?;
    Ok(Transformed::yes(LogicalPlan::Projection(projection)))
}

/// A tuple, which is Nullable where a row has no partner; an interval is carried as one and is not.
fn is_tuple(field: &Field) -> bool {
    matches!(type_to_fill(field), Some(tuple @ ColumnType::Tuple(_)) if !tuple.is_interval())
}

/// A column that is not Nullable even where a row has no partner, but for tuples.
fn nests(field: &Field) -> bool {
    matches!(field.data_type(), DataType::List(_) | DataType::Map(..) | DataType::Struct(_))
}

/// A column that is Nullable below the join, also where nothing is attached to say so, as behind CASE: the join makes every
/// field nullable, so that above it the two kinds look alike.
fn has_nulls(input: &Field) -> bool {
    !nests(input) && type_of_field(input).is_nullable()
}

/// A predicate's answer, as that of IN, as the number that it is in ClickHouse: there is a default of it.
fn answer(own: Expr, input: &Field) -> Expr {
    match *input.data_type() == DataType::Boolean && !is_attached(input) {
        true => said(Expr::Cast(Cast::new(Box::new(own), DataType::UInt8)), &ColumnType::UInt8),
        false => own,
    }
}

fn with_own_nulls(own: Expr, input: &Field) -> Expr {
    if has_nulls(input) && !is_nothing(input) { said(own, &type_of_field(input)) } else { own }
}

fn named(value: Expr, qualifier: Option<&TableReference>, name: &str) -> Expr {
    value.alias_qualified(qualifier.cloned(), name)
}

/// The right side's column that USING joins with this one of the left.
fn partner<'a>(join: &'a Join, own: &Expr) -> Option<&'a Expr> {
    if join.join_constraint != JoinConstraint::Using {
        return None;
    }
    join.on.iter().find(|(left, _)| left == own).map(|(_, right)| right)
}
