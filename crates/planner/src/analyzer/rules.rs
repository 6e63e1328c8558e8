//! The analyzer rule that gives a plan ClickHouse's types, before DataFusion's own coercion sees it.
//!
//! Invariant: names of output columns do not change; after this rule every literal carries its type and every
//! comparison has sides that DataFusion compares without moving a column to another type, where that is possible.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, JoinType, NullEquality, Result, ScalarValue, TableReference};
use datafusion::logical_expr::expr::{Alias, Between, InList, ScalarFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, Filter, Join, LogicalPlan, Operator, Projection, Sort, Subquery, Union,
};
use datafusion::optimizer::AnalyzerRule;
use functions::{FunctionError, SessionValues};
use model::type_arrow::to_field;
use model::{ColumnType, ErrorCode};

use super::bags;
use super::drawn::DrawnOnce;
use super::elements::Elements;
use super::filled::{self, FILLED};
use super::lift::Lift;
use super::taken_apart::TakenApart;
use super::using::alike;
use super::whole_blocks::WholeBlocks;
use super::window_orders;
use crate::analyzer::dependencies::Dependencies;
use crate::coercion::aggregated::typed_aggregate;
use crate::coercion::branches::{self, common_type};
use crate::coercion::closure::closed;
use crate::coercion::comparison::{
    arguments, as_predicate, as_value, cast_to, compare, fit_to, is_comparison,
};
use crate::coercion::distinct::{compared, is_distinction};
use crate::coercion::in_list::in_list;
use crate::coercion::in_subquery::in_subquery;
use crate::coercion::join_keys::{condition, place_of};
use crate::coercion::like;
use crate::coercion::short_circuit::{choice, guarded, is_choice};
use crate::coercion::sort_keys::sort_keys;
use crate::coercion::windowed::typed_window;
use crate::scalar::adapter::{call, digested};
use crate::scalar::attached::{said_once, with_type};
use crate::scalar::dict_get::found_in;
use crate::scalar::join_get::looked_up;
use crate::scalar::long_constants::folded;
use crate::scalar::prewhere::is_prewhere;
use crate::scalar::truth::TRUTH;
use crate::session::{query_rules, session_values};
use aggregates::typing::{external, is_predicate, literal, literal_array, type_of, type_of_field};

/// See the module.
#[derive(Debug)]
pub(crate) struct ClickHouseTypes;

impl AnalyzerRule for ClickHouseTypes {
    fn name(&self) -> &str {
        "clickhouse_types"
    }

    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        let (session, rules) = (session_values(config), query_rules(config));
        let typed = |node| {
            let typed = typed_node(alike(node)?, &session)?.transform_data(bags::numbered)?;
            typed.transform_data(|node| filled::outer_join(node, rules.join_use_nulls))
        };
        Ok(plan.transform_up_with_subqueries(typed)?.data)
    }
}

fn typed_node(node: LogicalPlan, session: &SessionValues) -> Result<Transformed<LogicalPlan>> {
    if let LogicalPlan::Union(union) = node {
        return Ok(Transformed::yes(self::union(union)?));
    }
    let node = set_operation(node)?;
    // Their expressions are counts and constants that DataFusion reads itself.
    if matches!(node, LogicalPlan::Limit(_) | LogicalPlan::Values(_) | LogicalPlan::TableScan(_)) {
        return Ok(Transformed::no(node));
    }
    let schema = merge_schema(&node.inputs());
    let makes_columns =
        matches!(node, LogicalPlan::Projection(_) | LogicalPlan::Aggregate(_) | LogicalPlan::Window(_));
    let is_projection = matches!(node, LogicalPlan::Projection(_));
    let names = NamePreserver::new(&node);
    let place = place_of(&node);
    let typed = node.map_expressions(|expr| {
        if matches!(expr, Expr::GroupingSet(_)) {
            return expr.map_children(|key| grouped(key, &schema, session));
        }
        let name = names.save(&expr);
        let typed = |expr: Expr| typed(expr, &schema, session);
        let expr = match place {
            Some(place) => condition(expr, place, &schema, session, &typed)?,
            None => typed(expr)?,
        };
        let expr = match makes_columns {
            true if is_projection => dictionary(expr, &schema)?,
            true => output(expr, &schema)?,
            false => expr,
        };
        Ok(Transformed::yes(name.restore(guarded(expr, &schema)?)))
    })?;
    typed.map_data(predicates)?.map_data(window_orders::apart)?.map_data(LogicalPlan::recompute_schema)
}

/// A key that some sets leave out: one that is a condition is the number that it is in ClickHouse, whose default is 0.
fn grouped(key: Expr, schema: &DFSchema, session: &SessionValues) -> Result<Transformed<Expr>> {
    if !is_predicate(&key, schema)? {
        return Ok(Transformed::no(key));
    }
    let name = key.schema_name().to_string();
    let key = output(typed(key, schema, session)?, schema)?;
    Ok(Transformed::yes(key.alias(name)))
}

/// Columns of a UNION have the type that holds those of all its inputs.
fn union(union: Union) -> Result<LogicalPlan> {
    let Union { inputs, schema } = union;
    let types = common_types(&inputs)?;
    let fields = schema.iter().zip(&types);
    let fields =
        fields.map(|((qualifier, field), t)| (qualifier.cloned(), Arc::new(to_field(field.name(), t))));
    let schema = DFSchema::new_with_metadata(fields.collect(), schema.metadata().clone())?;
    let inputs = inputs.into_iter().map(|input| in_types(input, &types)).collect::<Result<_>>()?;
    Ok(LogicalPlan::Union(Union { inputs, schema: Arc::new(schema) }))
}

/// INTERSECT and EXCEPT, which are joins on all columns: the sides have common types, as those of a UNION.
fn set_operation(node: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Join(join) = node else { return Ok(node) };
    let is_each = |side: &LogicalPlan| side.schema().fields().len() == join.on.len();
    // ON with IS NOT DISTINCT FROM is a filter until the optimizer finds keys in it.
    let is_set_operation = matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti)
        && join.null_equality == NullEquality::NullEqualsNull
        && is_each(&join.left)
        && is_each(&join.right);
    if !is_set_operation {
        return Ok(LogicalPlan::Join(join));
    }
    let types = common_types(&[Arc::clone(&join.left), Arc::clone(&join.right)])?;
    let (left, right) = (in_types(join.left, &types)?, in_types(join.right, &types)?);
    Ok(LogicalPlan::Join(Join { left, right, ..join }))
}

/// For each column, the type that holds those of all inputs.
fn common_types(inputs: &[Arc<LogicalPlan>]) -> Result<Vec<ColumnType>> {
    let columns = inputs.first().map_or(0, |first| first.schema().fields().len());
    let of_column = |column: usize| {
        let fields = inputs.iter().filter_map(|input| input.schema().fields().get(column));
        common_type(&fields.map(|field| type_of_field(field)).collect::<Vec<_>>())
    };
    (0..columns).map(of_column).collect()
}

/// The plan with its columns in these types.
fn in_types(input: Arc<LogicalPlan>, types: &[ColumnType]) -> Result<Arc<LogicalPlan>> {
    let schema = Arc::clone(input.schema());
    // What a literal made carries no type, and a UNION's columns all do.
    let fits = |(field, t): (&Arc<arrow::datatypes::Field>, &ColumnType)| {
        type_of_field(field) == *t && field.metadata() == to_field(field.name(), t).metadata()
    };
    if schema.fields().iter().zip(types).all(fits) {
        return Ok(input);
    }
    let column =
        |((qualifier, field), t): ((Option<&TableReference>, &Arc<arrow::datatypes::Field>), &ColumnType)| {
            let column = Expr::Column(Column::from((qualifier, field)));
            if fits((field, t)) {
                return Ok(column);
            }
            let fitted = fit_to(column, &type_of_field(field), t)?;
            Ok(fitted.alias_qualified(qualifier.cloned(), field.name()))
        };
    let columns = schema.iter().zip(types).map(column).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(LogicalPlan::Projection(Projection::try_new(columns, input)?)))
}

/// Conditions of filters and joins may be numbers; keys of a sort may be floats.
fn predicates(node: LogicalPlan) -> Result<LogicalPlan> {
    match node {
        LogicalPlan::Filter(filter) => {
            let predicate = as_predicate(filter.predicate, filter.input.schema())?;
            Ok(LogicalPlan::Filter(Filter::new(predicate, filter.input)))
        }
        LogicalPlan::Join(join) => {
            let schema = join.left.schema().join(join.right.schema())?;
            let filter = join.filter.map(|filter| as_predicate(filter, &schema)).transpose()?;
            Ok(LogicalPlan::Join(Join { filter, ..join }))
        }
        LogicalPlan::Sort(sort) => {
            let expr = sort_keys(sort.expr, sort.input.schema())?;
            Ok(LogicalPlan::Sort(Sort { expr, ..sort }))
        }
        other => Ok(other),
    }
}

/// A column made by an expression: predicates become UInt8, also inside aggregate and window functions.
fn output(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    match expr {
        Expr::Alias(alias) => {
            let inner = output(*alias.expr, schema)?;
            Ok(Expr::Alias(Alias { expr: Box::new(inner), ..alias }))
        }
        Expr::AggregateFunction(_) | Expr::WindowFunction(_) | Expr::Column(_) => Ok(expr),
        other => as_value(other, schema),
    }
}

/// As [`output`]; what is asked of one dictionary column and constants is a dictionary, too.
fn dictionary(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    if let Expr::Alias(alias) = expr {
        let inner = dictionary(*alias.expr, schema)?;
        return Ok(Expr::Alias(Alias { expr: Box::new(inner), ..alias }));
    }
    let is_column = |side: &&Expr| aggregates::typing::literal_of(side).is_none();
    let is_dictionary = match asked_of(&expr).into_iter().filter(is_column).collect::<Vec<_>>().as_slice() {
        [one] => matches!(type_of(one, schema)?, ColumnType::LowCardinality(_)),
        _ => false,
    };
    let made = output(expr, schema)?;
    match type_of(&made, schema)? {
        plain if is_dictionary => cast_to(made, &ColumnType::LowCardinality(Box::new(plain))),
        _ => Ok(made),
    }
}

/// What a condition asks about: the sides of a comparison, a value and its pattern or its list.
fn asked_of(condition: &Expr) -> Vec<&Expr> {
    match condition {
        Expr::Not(inner) => asked_of(inner),
        Expr::BinaryExpr(BinaryExpr { left, op, right })
            if is_comparison(*op) || matches!(op, Operator::IsDistinctFrom | Operator::IsNotDistinctFrom) =>
        {
            vec![left, right]
        }
        Expr::Like(like) => vec![&like.expr, &like.pattern],
        Expr::InList(list) => std::iter::once(list.expr.as_ref()).chain(&list.list).collect(),
        Expr::InSubquery(asked) => vec![&asked.expr],
        _ => vec![],
    }
}

/// An expression that no analyzer will see (a key, a default) with ClickHouse's types.
pub fn typed_expression(expr: Expr, schema: &DFSchema, config: &ConfigOptions) -> Result<Expr> {
    guarded(output(typed(expr, schema, &session_values(config))?, schema)?, schema)
}

/// The expression with ClickHouse's types, all through.
fn typed(expr: Expr, schema: &DFSchema, session: &SessionValues) -> Result<Expr> {
    let into = |expr: Expr| match expr {
        // The types of a lambda's parameters come from the arguments, so those are typed first.
        Expr::HigherOrderFunction(call) => {
            let plain = closed(call, schema, &|inner| typed(inner, schema, session))?;
            Ok(Transformed::new(plain, true, TreeNodeRecursion::Jump))
        }
        expr if counts_rows(&expr) => Ok(Transformed::new(expr, false, TreeNodeRecursion::Jump)),
        expr => Ok(Transformed::no(expr)),
    };
    Ok(expr.transform_down_up(into, |expr| Ok(Transformed::yes(typed_one(expr, schema, session)?)))?.data)
}

/// count(): its one argument is DataFusion's mark for "all rows" and must stay as it is.
fn counts_rows(expr: &Expr) -> bool {
    match expr {
        Expr::AggregateFunction(function) => {
            function.func.name() == "count"
                && matches!(function.params.args.as_slice(), [Expr::Literal(..)])
                && function.params.filter.is_none()
        }
        _ => false,
    }
}

/// One expression whose children are done.
fn typed_one(expr: Expr, schema: &DFSchema, session: &SessionValues) -> Result<Expr> {
    match expr {
        Expr::Literal(value, None) if !value.is_null() => typed_literal(value, schema),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(op) || is_distinction(op) => {
            compared(*left, op, *right, schema, Some(session))
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if matches!(op, Operator::And | Operator::Or) => {
            let (left, right) = (as_predicate(*left, schema)?, as_predicate(*right, schema)?);
            Ok(Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right))))
        }
        Expr::ScalarFunction(mut function) if function.func.name() == TRUTH && function.args.len() == 1 => {
            let inner = function.args.pop().unwrap_or(Expr::Literal(ScalarValue::Null, None));
            as_predicate(inner, schema)
        }
        Expr::ScalarFunction(mut function) if is_prewhere(&function) => {
            let conditions = function.args.into_iter().map(|arg| as_predicate(arg, schema));
            function.args = conditions.collect::<Result<_>>()?;
            Ok(Expr::ScalarFunction(function))
        }
        Expr::ScalarFunction(mut function)
            if function.func.name() == FILLED
                && function.args.len() == 1
                && is_null(&function.args, schema)? =>
        {
            Ok(function.args.pop().unwrap_or(Expr::Literal(ScalarValue::Null, None)))
        }
        Expr::ScalarFunction(mut function) if is_parsed_in_the_session_zone(&function) => {
            let zone = ScalarValue::Utf8View(Some(session.time_zone.name().to_owned()));
            function.args.push(Expr::Literal(zone, None));
            Ok(Expr::ScalarFunction(function))
        }
        Expr::Not(inner) => Ok(Expr::Not(Box::new(as_predicate(*inner, schema)?))),
        Expr::ScalarFunction(function)
            if function.func.name() == "negate"
                && function.args.len() == 1
                && is_plain_tuple(&type_of(&function.args[0], schema)?) =>
        {
            call("tupleNegate", function.args)
        }
        Expr::Negative(inner) => call("negate", vec![*inner]),
        Expr::Between(between) => self::between(between, schema, session),
        Expr::InList(list) => in_list(InList { ..list }, schema, session),
        Expr::Like(like) => like::like(like, schema),
        Expr::Case(case) => branches::case(case, schema, session),
        Expr::ScalarFunction(function) if is_choice(&function) => {
            branches::case(choice(function.args), schema, session)
        }
        // What it tells is known now, and the folding of constants forgets which of them may be NULL.
        Expr::ScalarFunction(function)
            if function.func.name() == "toTypeName" && function.args.len() == 1 =>
        {
            let arg = function.args.into_iter().next().unwrap_or(Expr::Literal(ScalarValue::Null, None));
            let arg = dictionary(arg, schema)?;
            let column_type = type_of(&arg, schema)?;
            match column_type {
                ColumnType::Nothing => call("toTypeName", vec![arg]),
                known => Ok(Expr::Literal(ScalarValue::Utf8View(Some(functions::shown_type(&known))), None)),
            }
        }
        Expr::ScalarSubquery(subquery) => scalar_subquery(subquery, schema),
        Expr::InSubquery(asked) => in_subquery(asked, schema),
        Expr::ScalarFunction(function) => called(function, schema),
        Expr::AggregateFunction(function) => typed_aggregate(function, schema),
        Expr::WindowFunction(function) => typed_window(*function, schema),
        other => Ok(other),
    }
}

fn typed_literal(value: ScalarValue, schema: &DFSchema) -> Result<Expr> {
    let plain = Expr::Literal(value.clone(), None);
    let column_type = match value {
        ScalarValue::Boolean(_) => ColumnType::Bool,
        _ if is_plain(&value) => type_of(&plain, schema)?,
        _ => return Ok(plain),
    };
    literal(&literal_array(&value, &column_type)?, &column_type)
}

/// A call that no other rule is about.
fn called(function: ScalarFunction, schema: &DFSchema) -> Result<Expr> {
    let function = as_floats(function, schema)?;
    check_place(&function, schema)?;
    if let Some(lookup) = looked_up(&function, schema)? {
        return Ok(lookup);
    }
    if let Some(found) = found_in(&function, schema)? {
        return Ok(found);
    }
    folded(digested(said_once(arguments(function, schema)?))?, schema)
}

/// Refuses the place 0 of a row's array: places begin with 1, and who counts from 0 would get defaults.
fn check_place(function: &ScalarFunction, schema: &DFSchema) -> Result<()> {
    let [array, Expr::Literal(place, _)] = function.args.as_slice() else { return Ok(()) };
    let is_zero =
        !place.is_null() && ScalarValue::new_zero(&place.data_type()).is_ok_and(|zero| zero == *place);
    if function.func.name() != "arrayElement" || !is_zero || array.column_refs().is_empty() {
        return Ok(());
    }
    match type_of(array, schema)? {
        ColumnType::Array(_) => {
            let message = "array indices are 1-based";
            Err(external(FunctionError::new(ErrorCode::ZERO_ARRAY_OR_TUPLE_INDEX, message)))
        }
        _ => Ok(()),
    }
}

/// `[toInt64(1), 0.5]` and `coalesce(n, 0.5)`, which have a Variant in ClickHouse, with floats that nothing is rounded to.
fn as_floats(mut function: ScalarFunction, schema: &DFSchema) -> Result<ScalarFunction> {
    if !["array", "coalesce", "ifNull"].contains(&function.func.name()) {
        return Ok(function);
    }
    let types = function.args.iter().map(|arg| type_of(arg, schema)).collect::<Result<Vec<_>>>()?;
    // Behind what is never NULL nothing is asked for.
    let asked = match types.iter().position(|own| !own.is_nullable()) {
        Some(last) if function.func.name() != "array" => last + 1,
        _ => types.len(),
    };
    let Some(floats) = functions::floats_for_integers(&types[..asked]) else { return Ok(function) };
    let wanted = floats.iter().chain(&types[asked..]);
    let args = std::mem::take(&mut function.args).into_iter().zip(types.iter().zip(wanted));
    let fitted = args.map(|(arg, (own, to))| if own == to { Ok(arg) } else { fit_to(arg, own, to) });
    function.args = fitted.collect::<Result<_>>()?;
    Ok(function)
}

/// An interval is a tuple by its layout only.
fn is_plain_tuple(column_type: &ColumnType) -> bool {
    matches!(column_type, ColumnType::Tuple(_)) && column_type.to_string().starts_with("Tuple(")
}

/// `parseDateTime(text, format)` and its kin: the type of the result names the zone that they read in.
fn is_parsed_in_the_session_zone(function: &ScalarFunction) -> bool {
    let name = function.func.name();
    name.starts_with("parseDateTime") && !name.contains("BestEffort") && function.args.len() == 2
}

fn is_null(args: &[Expr], schema: &DFSchema) -> Result<bool> {
    args.first().map_or(Ok(false), |arg| Ok(arg.get_type(schema)?.is_null()))
}

/// A subquery's value, with what its layout does not tell of its type.
fn scalar_subquery(subquery: Subquery, schema: &DFSchema) -> Result<Expr> {
    let subquery = Expr::ScalarSubquery(maybe_empty(subquery)?);
    let column_type = type_of(&subquery, schema)?;
    Ok(with_type(subquery, &column_type))
}

/// The value of a subquery is NULL where it has no row, so its type is Nullable.
fn maybe_empty(subquery: Subquery) -> Result<Subquery> {
    let schema = Arc::clone(subquery.subquery.schema());
    let Some((qualifier, field)) = schema.iter().next() else { return Ok(subquery) };
    let column_type = type_of_field(field);
    let nests = matches!(column_type, ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Tuple(_));
    if nests || column_type.is_nullable() || column_type == ColumnType::Nothing {
        return Ok(subquery);
    }
    let column = cast_to(Expr::Column(Column::from((qualifier, field))), &column_type.nullable())?;
    let column = column.alias_qualified(qualifier.cloned(), field.name());
    let projection = Projection::try_new(vec![column], Arc::clone(&subquery.subquery))?;
    Ok(subquery.with_plan(Arc::new(LogicalPlan::Projection(projection))))
}

/// Literals as the statement writes them.
fn is_plain(value: &ScalarValue) -> bool {
    use ScalarValue::{Float64, Int64, UInt64, Utf8, Utf8View};
    matches!(value, Int64(_) | UInt64(_) | Float64(_) | Utf8(_) | Utf8View(_))
}

fn between(between: Between, schema: &DFSchema, session: &SessionValues) -> Result<Expr> {
    let Between { expr, negated, low, high } = between;
    let low = compare(
        expr.as_ref().clone(),
        if negated { Operator::Lt } else { Operator::GtEq },
        *low,
        schema,
        Some(session),
    )?;
    let high =
        compare(*expr, if negated { Operator::Gt } else { Operator::LtEq }, *high, schema, Some(session))?;
    Ok(if negated { low.or(high) } else { low.and(high) })
}

/// The rules of a session: ours run before DataFusion's coercion.
pub(crate) fn analyzer_rules() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    use datafusion::optimizer::analyzer::resolve_grouping_function::ResolveGroupingFunction;
    use datafusion::optimizer::analyzer::type_coercion::TypeCoercion;
    vec![
        Arc::new(Lift),
        Arc::new(Elements),
        Arc::new(ResolveGroupingFunction::new()),
        Arc::new(ClickHouseTypes),
        Arc::new(TakenApart),
        Arc::new(DrawnOnce),
        Arc::new(TypeCoercion::new()),
        Arc::new(Dependencies),
        Arc::new(WholeBlocks),
    ]
}
