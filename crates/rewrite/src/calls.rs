//! Function calls: names to the planner's names, `-If` to FILTER, parameters to arguments, operators by their names.

mod cases;
mod outside_if;
mod state_if;

use model::ErrorCode;
use sql::dialect::{
    PARAMETER_FUNCTION, call, constant_text, interval_unit, literal_list, name_of, number, plain_args, text,
    text_of,
};
use sql::printer::label::label;
use sql::{Result, SqlError};
use sqlparser::ast::{
    BinaryOperator, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    Ident, NullTreatment, ObjectName,
};

use self::cases::{case_of, is_case};
use self::outside_if::{default_if_empty, outside_if, unless_empty};
use self::state_if::over_present;
use crate::Rewriter;
use crate::aliases::resolve;
use crate::distinct::counted_by;
use crate::grouping_sets::{GROUPING, present};
use crate::lower::{nested, not, operation};
use crate::manner::over_nothing::{has_no_default, makes_array};
use crate::manner::truncation::narrowed;
use crate::manner::{null_for_empty::null_for_empty, nulls_asked::null_treatment, splits::limited};
use crate::windows::{ROW_NUMBERS, in_frame, row_numbers};
use aggregates::combined::COMBINED;
use aggregates::naming::{self, Aggregate, OverNothing};
use aggregates::own::PARAMETER_END;
use aggregates::states;
use planner::of_function;
use planner::words::CAST;
use planner::words::SIMPLE;
use planner::words::names;

/// The cast that users write, which keeps the zone of a moment.
const WRITTEN_CAST: &str = "CAST";

/// The subcolumn of a Nullable column, whose name no element of a tuple may have.
const NULLS: &str = "null";

impl Rewriter {
    pub(crate) fn function(&mut self, function: Function) -> Result<Expr> {
        let name = name_of(&function);
        if name == PARAMETER_FUNCTION {
            return Err(unset_parameter(&function));
        }
        if let Some(operator) = operator_call(&name, &plain_args(&function)) {
            return self.value(operator).map(nested);
        }
        if name.eq_ignore_ascii_case(GROUPING) {
            let args = self.values(arguments(&function)?)?;
            let keys = args.len();
            let left_out = call(CAST, vec![call(GROUPING, args), text("UInt64")]);
            return Ok(if self.manner.grouping_of_present { present(left_out, keys) } else { left_out });
        }
        if let Some(other) = counted_by(&name, &function, &self.manner) {
            return self.function(other);
        }
        if let Some(base) = naming::simple(&name) {
            let canonical = naming::canonical(base).unwrap_or_else(|| base.to_owned());
            let mut inner = function;
            inner.name = ObjectName::from(vec![Ident::with_quote('`', base)]);
            let value = self.function(inner)?;
            return Ok(call(SIMPLE, vec![text(canonical), value]));
        }
        if let Some(window) = names::window(&name).filter(|_| function.over.is_some()) {
            return self.windowed(window, function);
        }
        if let Some(window) = in_frame(&name).filter(|_| function.over.is_some()) {
            return self.windowed_in_frame(window, function);
        }
        if let Some(aggregate) = naming::aggregate(&name) {
            let nullable = if self.manner.null_for_empty { null_for_empty(&name) } else { None };
            let (name, aggregate) = nullable.unwrap_or((name, aggregate));
            return self.aggregate(&name, &aggregate, function);
        }
        let plain = function.over.is_none() && function.filter.is_none() && function.null_treatment.is_none();
        if !plain || !matches!(function.parameters, FunctionArguments::None) {
            return Err(match names::scalar(&name) {
                Some(_) => SqlError::bad_arguments(format!("function {name} is not an aggregate function")),
                None => names::unknown(&name),
            });
        }
        self.scalar(&name, arguments(&function)?)
    }

    fn scalar(&mut self, name: &str, mut args: Vec<Expr>) -> Result<Expr> {
        if let Some(Expr::Lambda(lambda)) = resolve(&self.scopes, name).cloned() {
            return self.applied(name, &lambda, args);
        }
        if let Some(place) = args.iter().position(|arg| self.lambda_of(arg).is_some())
            && let Some(lambda) = self.lambda_of(&args.remove(place))
        {
            return self.with_lambda(name, lambda, (place, args));
        }
        if self.manner.splits_keep_rest
            && let Some(whole) = limited(name, &args, true)?
        {
            return self.value(whole);
        }
        let lower = name.to_ascii_lowercase();
        match (lower.as_str(), args.as_slice()) {
            _ if name == "arrayJoin" => return self.array_join(args),
            _ if is_case(name) => return self.value(case_of(&args)?),
            _ if name == ROW_NUMBERS && args.is_empty() => return Ok(row_numbers()),
            // DataFusion's grammar reads a call of that name without arguments as its own.
            ("map", []) => {
                let nothing = call(CAST, vec![call("array", vec![]), text("Array(String)")]);
                return Ok(call("mapFromArrays", vec![nothing.clone(), nothing]));
            }
            ("cast", [operand, type_name]) => return self.cast(WRITTEN_CAST, operand.clone(), type_name),
            ("_cast", [operand, type_name]) => return self.cast(CAST, operand.clone(), type_name),
            ("date_add" | "dateadd" | "timestampadd" | "timestamp_add", _) => {
                return self.shifted(BinaryOperator::Plus, args);
            }
            ("date_sub" | "datesub" | "timestampsub" | "timestamp_sub", _) => {
                return self.shifted(BinaryOperator::Minus, args);
            }
            ("date", _) => return self.scalar("toDate", args),
            ("adddate", [_, _]) => return self.shifted(BinaryOperator::Plus, args),
            ("subdate", [_, _]) => return self.shifted(BinaryOperator::Minus, args),
            ("locate", [_, _, ..]) if self.manner.locates_in_first => args.swap(0, 1),
            (_, [_, format, ..]) if self.manner.time_letters.change(&lower) => {
                args[1] = self.manner.time_letters.changed(&lower, format)?;
            }
            ("tointerval", [amount, unit]) => return self.interval(amount.clone(), unit),
            _ => {}
        }
        let Some(known) = names::scalar(name) else {
            let error = names::unknown(name);
            // With one argument the array is what is missing.
            let takes_lambda = functions::lambda_function(name).is_some() && args.len() > 1;
            let code = if takes_lambda { ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT } else { error.code };
            return Err(SqlError { code, ..error });
        };
        let args = if lower.contains("diff") { with_unit_as_text(args) } else { args };
        let narrow = if self.manner.narrows_truncated { narrowed(&lower, &args) } else { None };
        let value = call(names::planned(known), self.values(self.of_tables(known, args))?);
        Ok(match narrow {
            Some(narrow) => call(narrow, vec![value]),
            None => value,
        })
    }

    fn cast(&mut self, name: &str, operand: Expr, type_name: &Expr) -> Result<Expr> {
        let Some(written) = text_of(type_name) else {
            return Err(SqlError::bad_arguments("the second argument of CAST must be a constant type name"));
        };
        let parsed = model::type_name::parse(written);
        let column_type = parsed.map_err(|e| SqlError::new(ErrorCode::UNKNOWN_TYPE, e.to_string()))?;
        states::check_states(&column_type).map_err(of_function)?;
        if column_type.has_element(NULLS) {
            let message = format!(
                "the name '{NULLS}' of a tuple's element is that of the subcolumn that says what is NULL"
            );
            return Err(SqlError::bad_arguments(message));
        }
        let operand = self.value(operand)?;
        Ok(call(name, vec![operand, text(column_type.to_string())]))
    }

    /// `toInterval(3, 'day')`.
    fn interval(&mut self, amount: Expr, unit: &Expr) -> Result<Expr> {
        let word = text_of(unit).unwrap_or_default();
        let known = interval_unit(word).filter(|known| known.eq_ignore_ascii_case(word));
        let known =
            known.ok_or_else(|| SqlError::bad_arguments(format!("'{word}' is not a unit of time")))?;
        self.scalar(&format!("toInterval{known}"), vec![amount])
    }

    /// `date_add(day, 1, x)` and `date_add(x, INTERVAL 1 DAY)`.
    fn shifted(&mut self, op: BinaryOperator, args: Vec<Expr>) -> Result<Expr> {
        let (base, interval) = match args.as_slice() {
            [unit, amount, base] => {
                let word = text_of(unit).map_or_else(|| label(unit), str::to_owned);
                let unit = interval_unit(&word)
                    .ok_or_else(|| SqlError::bad_arguments(format!("{word} is not a unit of time")))?;
                (base.clone(), call(&format!("toInterval{unit}"), vec![amount.clone()]))
            }
            [base, interval] => (base.clone(), interval.clone()),
            _ => {
                return Err(SqlError::new(
                    ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "adding to a date takes two or three arguments",
                ));
            }
        };
        self.value(operation(base, op, interval)).map(nested)
    }

    fn aggregate(&mut self, written: &str, aggregate: &Aggregate, function: Function) -> Result<Expr> {
        if let Some(limited) = limited_concat(aggregate, &function) {
            return self.value(limited);
        }
        if let Some(outside) = outside_if(written, aggregate, &function) {
            return self.value(outside);
        }
        let mut args = arguments(&function)?;
        let mut filter = function.filter.as_ref().map(|condition| condition.as_ref().clone());
        if aggregate.filtered {
            let condition = args.pop().ok_or_else(|| {
                SqlError::new(
                    ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    format!("aggregate function {written} needs a condition"),
                )
            })?;
            filter = Some(match filter {
                Some(other) => operation(nested(other), BinaryOperator::And, nested(condition)),
                None => condition,
            });
        }
        let (args, filter) = over_present(aggregate, args, filter);
        let over_window = function.over.is_some();
        self.check_place(written, over_window)?;
        // An aggregate under OVER may hold aggregates: sum(sum(x)) OVER ().
        let guarded = usize::from(!over_window);
        self.scope().inside_aggregate += guarded;
        let args = self.values(args);
        let filter = filter.map(|condition| self.condition(condition)).transpose();
        self.scope().inside_aggregate -= guarded;
        let (args, filter) = (args?, filter?);
        let counted: Vec<Expr> = args.first().cloned().into_iter().collect();
        let args = with_parameters(written, aggregate, &function, args)?;
        let distinct = aggregate.distinct || is_distinct(&function);
        if args.is_empty() && (distinct || aggregate.name != "count") {
            let message = format!("aggregate function {written} needs an argument");
            let is_quantile =
                ["quantile", "quantileExactHigh", "quantileTiming"].contains(&aggregate.name.as_str());
            let code = if is_quantile {
                ErrorCode::TOO_FEW_ARGUMENTS_FOR_FUNCTION
            } else {
                ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH
            };
            return Err(SqlError::new(code, message));
        }
        let over = function.over.map(|over| self.over(over)).transpose()?;
        let rows = with_call("count", counted, |call| {
            (call.filter, call.over) = (filter.clone().map(Box::new), over.clone());
        });
        let nulls = null_treatment(written, aggregate, function.null_treatment)?;
        let planned = planned_name(aggregate, nulls);
        let value = with_call(planned, args, |call| {
            call.filter = filter.map(Box::new);
            call.over = over;
            call.null_treatment = nulls;
            if let (FunctionArguments::List(list), true) = (&mut call.args, distinct) {
                list.duplicate_treatment = Some(DuplicateTreatment::Distinct);
            }
        });
        Ok(match aggregate.over_nothing {
            OverNothing::Own => value,
            // An array cannot be NULL; over nothing it is empty.
            OverNothing::Null if makes_array(aggregate) => default_if_empty(rows, value),
            OverNothing::Null => unless_empty(rows, value),
            OverNothing::Default if has_no_default(aggregate) => default_if_empty(rows, value),
            OverNothing::Default => value,
        })
    }

    fn check_place(&mut self, written: &str, over_window: bool) -> Result<()> {
        let place = match (over_window, self.scope().inside_aggregate > 0, self.scope().in_where) {
            (false, true, _) => "inside another aggregate function",
            (false, _, true) => "in WHERE",
            _ => return Ok(()),
        };
        let message = format!("aggregate function {written} is found {place}");
        Err(SqlError::new(ErrorCode::ILLEGAL_AGGREGATION, message))
    }
}

/// The function that the planner looks for.
fn planned_name(aggregate: &Aggregate, nulls: Option<NullTreatment>) -> &str {
    let respects = nulls == Some(NullTreatment::RespectNulls);
    match aggregate.name.as_str() {
        _ if aggregate.stateful.is_some() => states::STATED,
        _ if aggregate.combinator.is_some() => COMBINED,
        "any" | "first_value" if respects => "any_respect_nulls",
        "anyLast" | "last_value" if respects => "anyLast_respect_nulls",
        name => name,
    }
}

/// `groupConcat(separator, limit)(x)` is `arrayStringConcat(groupArray(limit)(toString(x)), separator)`.
fn limited_concat(aggregate: &Aggregate, function: &Function) -> Option<Expr> {
    let FunctionArguments::List(parameters) = &function.parameters else { return None };
    let args = plain_args(function);
    let ([FunctionArg::Unnamed(FunctionArgExpr::Expr(separator)), limit], [value]) =
        (parameters.args.as_slice(), args.as_slice())
    else {
        return None;
    };
    if aggregate.name != "groupConcat" || aggregate.filtered || aggregate.combinator.is_some() {
        return None;
    }
    let mut array = function.clone();
    array.name = ObjectName::from(vec![Ident::with_quote('`', "groupArray")]);
    if let FunctionArguments::List(list) = &mut array.parameters {
        list.args = vec![limit.clone()];
    }
    if let FunctionArguments::List(list) = &mut array.args {
        let text = call("toString", vec![value.clone()]);
        list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(text))];
    }
    Some(call("arrayStringConcat", vec![Expr::Function(array), separator.clone()]))
}

fn unset_parameter(function: &Function) -> SqlError {
    let args = plain_args(function);
    let name = args.first().and_then(text_of).unwrap_or_default();
    SqlError::new(ErrorCode::UNKNOWN_QUERY_PARAMETER, format!("substitution \"{name}\" is not set"))
}

/// Operators written as functions become operators again, so that filters on them are pushed down.
fn operator_call(name: &str, args: &[Expr]) -> Option<Expr> {
    let like = |expr: &Expr, pattern: &Expr| (Box::new(expr.clone()), Box::new(pattern.clone()));
    Some(match (name, args) {
        ("and" | "or", [first, rest @ ..]) if !rest.is_empty() => {
            let op = if name == "and" { BinaryOperator::And } else { BinaryOperator::Or };
            let link = |left: Expr, right: &Expr| operation(nested(left), op.clone(), nested(right.clone()));
            rest.iter().fold(first.clone(), link)
        }
        ("not", [operand]) => not(operand.clone()),
        ("isNull", [operand]) => Expr::IsNull(Box::new(operand.clone())),
        ("isNotNull", [operand]) => Expr::IsNotNull(Box::new(operand.clone())),
        ("like" | "notLike", [expr, pattern]) => {
            let (expr, pattern) = like(expr, pattern);
            Expr::Like { negated: name == "notLike", any: false, expr, pattern, escape_char: None }
        }
        ("ilike" | "notILike", [expr, pattern]) => {
            let (expr, pattern) = like(expr, pattern);
            Expr::ILike { negated: name == "notILike", any: false, expr, pattern, escape_char: None }
        }
        ("isDistinctFrom", [left, right]) => {
            Expr::IsDistinctFrom(Box::new(nested(left.clone())), Box::new(nested(right.clone())))
        }
        ("in" | "notIn" | "globalIn" | "globalNotIn", [expr, set]) => {
            let list = match set {
                Expr::Tuple(parts) => parts.clone(),
                Expr::Array(array) => array.elem.clone(),
                other => vec![other.clone()],
            };
            Expr::InList { expr: Box::new(expr.clone()), list, negated: name.ends_with("otIn") }
        }
        (_, [left, right]) => operation(nested(left.clone()), comparison(name)?, nested(right.clone())),
        _ => return None,
    })
}

fn comparison(name: &str) -> Option<BinaryOperator> {
    Some(match name {
        "equals" => BinaryOperator::Eq,
        "notEquals" => BinaryOperator::NotEq,
        "less" => BinaryOperator::Lt,
        "lessOrEquals" => BinaryOperator::LtEq,
        "greater" => BinaryOperator::Gt,
        "greaterOrEquals" => BinaryOperator::GtEq,
        "isNotDistinctFrom" => BinaryOperator::Spaceship,
        _ => return None,
    })
}

pub(crate) fn with_call(name: &str, args: Vec<Expr>, change: impl FnOnce(&mut Function)) -> Expr {
    match call(name, args) {
        Expr::Function(mut function) => {
            change(&mut function);
            Expr::Function(function)
        }
        other => other,
    }
}

fn is_distinct(function: &Function) -> bool {
    match &function.args {
        FunctionArguments::List(list) => list.duplicate_treatment == Some(DuplicateTreatment::Distinct),
        _ => false,
    }
}

/// Arguments as expressions; `count(*)` has none.
pub(crate) fn arguments(function: &Function) -> Result<Vec<Expr>> {
    let FunctionArguments::List(list) = &function.args else { return Ok(vec![]) };
    let mut args = vec![];
    for arg in &list.args {
        match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => args.push(expr.clone()),
            FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => {}
            other => {
                return Err(SqlError::bad_arguments(format!(
                    "argument {other} of function {}",
                    name_of(function)
                )));
            }
        }
    }
    if list.args.len() != args.len() && !name_of(function).eq_ignore_ascii_case("count") {
        return Err(SqlError::bad_arguments(format!("function {} does not take *", name_of(function))));
    }
    Ok(args)
}

/// Constants in the first parentheses of `f(0.5)(x)`, which follow the arguments.
fn parameters(written: &str, aggregate: &Aggregate, function: &Function) -> Result<Vec<Expr>> {
    let FunctionArguments::List(list) = &function.parameters else { return Ok(vec![]) };
    if !names::takes_parameters(&aggregate.name) && aggregate.combinator != Some("Resample") {
        return names::usual_parameters(written, aggregate, &list.args);
    }
    // As a parameter a list stands where a number does.
    let takes_lists = aggregate.name == "groupArrayInsertAt" || aggregate.name.starts_with("sumMapFiltered");
    let literal = |expr: &Expr| literal_list(expr).filter(|_| takes_lists).map(number);
    let constant = |arg: &FunctionArg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr @ Expr::Value(_))) => Ok(expr.clone()),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) if let Some(list) = literal(expr) => Ok(list),
        other => Err(SqlError::bad_arguments(format!("parameter {other} of {written} is not a constant"))),
    };
    let parameters = list.args.iter().map(constant).collect::<Result<Vec<_>>>()?;
    let is_zero =
        |parameter: &Expr| matches!(parameter, Expr::Value(value) if value.value.to_string() == "0");
    let takes_size = aggregate.name.starts_with("groupArray") && aggregate.name != "groupArrayInsertAt";
    if takes_size && parameters.first().is_some_and(is_zero) {
        return Err(SqlError::bad_arguments(format!("the size of {written} must be a positive number")));
    }
    Ok(parameters)
}

/// The arguments with the parameters where the planner looks for them, and the combinator in front.
fn with_parameters(
    written: &str,
    aggregate: &Aggregate,
    function: &Function,
    mut args: Vec<Expr>,
) -> Result<Vec<Expr>> {
    let mut parameters = parameters(written, aggregate, function)?;
    if let Some((kind, function)) = &aggregate.stateful {
        let shown: Vec<String> = parameters.iter().map(constant_text).collect();
        let said = states::written(*kind, function, !args.is_empty(), &shown);
        if args.is_empty() {
            args.push(number("1"));
        }
        args.insert(0, text(said));
        return Ok(args);
    }
    let bounds = match aggregate.combinator {
        Some("Resample") if parameters.len() < 3 => {
            let message = format!("aggregate function {written} needs three parameters: start, end, step");
            return Err(SqlError::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message));
        }
        Some("Resample") => parameters.split_off(parameters.len() - 3),
        _ => vec![],
    };
    if let ("count", Some("Resample" | "ArgMin" | "ArgMax"), 1) =
        (aggregate.name.as_str(), aggregate.combinator, args.len())
    {
        // What is counted are rows: the one argument is the combinator's.
        args.insert(0, number("1"));
    }
    let mut behind = 0;
    if naming::parameters_in_front(&aggregate.name) {
        args.insert(0, text(parameters_as_text(&parameters)));
    } else {
        behind = parameters.len();
        args.extend(parameters);
    }
    if let Some(combinator) = aggregate.combinator {
        let mut said = vec![written.to_owned(), combinator.to_owned(), aggregate.name.clone()];
        said.push(behind.to_string());
        said.extend(bounds.iter().map(ToString::to_string));
        args.insert(0, text(said.join(&PARAMETER_END.to_string())));
    }
    Ok(args)
}

/// What the functions that collect rows read: each parameter after a mark of its kind.
fn parameters_as_text(parameters: &[Expr]) -> String {
    let mut out = String::from(PARAMETER_END);
    for parameter in parameters {
        match text_of(parameter) {
            Some(text) => out.push_str(&format!("'{text}")),
            None => out.push_str(&format!("#{parameter}")),
        }
        out.push(PARAMETER_END);
    }
    out
}

/// `dateDiff(day, a, b)` is `dateDiff('day', a, b)`.
fn with_unit_as_text(mut args: Vec<Expr>) -> Vec<Expr> {
    if let Some(Expr::Identifier(unit)) = args.first()
        && interval_unit(&unit.value).is_some()
        && args.len() >= 3
    {
        args[0] = text(unit.value.to_ascii_lowercase());
    }
    args
}
