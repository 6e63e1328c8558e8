//! The text of an expression as ClickHouse names a result column: `plus(a, 1)`, `count()`, `CAST(x, 'String')`.
//!
//! Invariant: made from the query as written, before aliases are replaced. Operators appear as their functions.

use sqlparser::ast::{
    AccessExpr, Array, BinaryOperator, CaseWhen, CeilFloorKind, DuplicateTreatment, Expr, Function,
    FunctionArg, FunctionArgExpr, FunctionArguments, LambdaFunction, OneOrManyWithParens, OrderByExpr,
    Subscript, TrimWhereField, UnaryOperator, Value, ValueWithSpan, WindowFrame, WindowFrameBound,
    WindowSpec, WindowType,
};

use crate::dialect::interval_unit;
use lexer::constants::{list_of, shown};
use lexer::escape::quote_text;

/// Separates a label from what makes it unique inside one SELECT; never shown.
const UNIQUE_MARK: char = '\u{1}';

/// A label that no other column has, shown as `label`.
pub fn unique(label: &str, position: usize) -> String {
    format!("{label}{UNIQUE_MARK}{position}")
}

/// The name a result column is shown with. Results may have the same name twice.
pub fn display_name(column: &str) -> &str {
    column.split(UNIQUE_MARK).next().unwrap_or(column)
}

/// ClickHouse's name of the column that an unnamed expression makes.
pub fn label(expr: &Expr) -> String {
    match expr {
        Expr::Identifier(name) => name.value.clone(),
        Expr::CompoundIdentifier(names) => names.last().map(|name| name.value.clone()).unwrap_or_default(),
        Expr::Value(value) => literal(&value.value),
        Expr::Nested(inner) => label(inner),
        Expr::Named { name, .. } => name.value.clone(),
        Expr::BinaryOp { left, op, right } => binary(left, op, right),
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => label(expr),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } if is_not_finite(expr) => {
            format!("-{}", label(expr))
        }
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => call("negate", &[expr]),
        Expr::UnaryOp { op: _, expr } => call("not", &[expr]),
        Expr::IsNull(inner) => call("isNull", &[inner]),
        Expr::IsNotNull(inner) => call("isNotNull", &[inner]),
        Expr::IsTrue(inner) | Expr::IsNotFalse(inner) => label(inner),
        Expr::IsFalse(inner) | Expr::IsNotTrue(inner) => call("not", &[inner]),
        Expr::IsNotDistinctFrom(left, right) => call("isNotDistinctFrom", &[left, right]),
        Expr::IsDistinctFrom(left, right) => call("isDistinctFrom", &[left, right]),
        Expr::InList { expr, list, negated } => {
            let name = if *negated { "notIn" } else { "in" };
            match list.as_slice() {
                [Expr::Value(value)] if list_of(&value.value).is_some() => {
                    let list = list_of(&value.value).map(shown).unwrap_or_default();
                    format!("{name}({}, ({list}))", label(expr))
                }
                [one] => format!("{name}({}, {})", label(expr), label(one)),
                _ => format!("{name}({}, ({}))", label(expr), joined(list)),
            }
        }
        Expr::InSubquery { expr, negated, .. } => {
            format!("{}({}, _subquery)", if *negated { "notIn" } else { "in" }, label(expr))
        }
        Expr::Between { expr, negated, low, high } => between(&label(expr), *negated, low, high),
        Expr::Like { negated, expr, pattern, escape_char, .. } => {
            like(if *negated { "notLike" } else { "like" }, [expr, pattern], escape_char.as_ref())
        }
        Expr::ILike { negated, expr, pattern, escape_char, .. } => {
            like(if *negated { "notILike" } else { "ilike" }, [expr, pattern], escape_char.as_ref())
        }
        Expr::RLike { expr, pattern, .. } => call("match", &[expr, pattern]),
        Expr::Function(function) => function_label(function),
        Expr::Tuple(parts) => format!("({})", joined(parts)),
        Expr::Array(Array { elem, .. }) => array(elem),
        Expr::Subquery(_) => "_subquery".to_owned(),
        Expr::Exists { .. } => "exists(_subquery)".to_owned(),
        Expr::CompoundFieldAccess { root, access_chain } => access_chain.iter().fold(label(root), accessed),
        Expr::Lambda(lambda) => lambda_label(lambda),
        other => worded(other),
    }
}

/// The words that are numbers without digits.
fn is_not_finite(expr: &Expr) -> bool {
    let is_word = |word: &str| ["inf", "infinity", "nan"].contains(&word.to_ascii_lowercase().as_str());
    match expr {
        Expr::Identifier(name) => name.quote_style.is_none() && is_word(&name.value),
        Expr::Value(value) => matches!(&value.value, Value::Number(digits, _) if is_word(digits)),
        _ => false,
    }
}

/// Literals of an array have one type: beside a float whole numbers have a point, booleans are numbers.
fn array(elements: &[Expr]) -> String {
    let of = |expr: &Expr| match expr {
        Expr::Value(value) => Some(value.value.clone()),
        _ => None,
    };
    let is_float = |expr: &Expr| match of(expr) {
        Some(Value::Number(digits, _)) if !is_not_finite(expr) => number(&digits).contains(['.', 'e']),
        _ => is_not_finite(expr) || matches!(expr, Expr::UnaryOp { expr, .. } if is_not_finite(expr)),
    };
    let floats = elements.iter().any(is_float);
    let shown = |expr: &Expr| match of(expr) {
        Some(Value::Number(digits, _)) if floats && !is_float(expr) => format!("{}.", number(&digits)),
        Some(Value::Boolean(flag)) => u8::from(flag).to_string(),
        _ => label(expr),
    };
    format!("[{}]", elements.iter().map(shown).collect::<Vec<_>>().join(", "))
}

/// SQL's forms with words between the arguments.
fn worded(expr: &Expr) -> String {
    match expr {
        Expr::Case { operand, conditions, else_result, .. } => {
            case(operand.as_deref(), conditions, else_result.as_deref())
        }
        Expr::Extract { field, expr, .. } => {
            format!("{}({})", extract_function(&field.to_string()), label(expr))
        }
        Expr::Ceil { expr, field } => rounded("ceil", expr, field),
        Expr::Floor { expr, field } => rounded("floor", expr, field),
        Expr::Position { expr, r#in } => call("position", &[r#in, expr]),
        Expr::Substring { expr, substring_from, substring_for, shorthand, .. } => {
            let mut args = vec![expr.as_ref()];
            args.extend(substring_from.as_deref());
            args.extend(substring_for.as_deref());
            call(if *shorthand { "substr" } else { "substring" }, &args)
        }
        Expr::Trim { trim_where, trim_what, expr, .. } => {
            let mut args = vec![expr.as_ref()];
            args.extend(trim_what.as_deref());
            call(trim_function(*trim_where), &args)
        }
        other => other.to_string(),
    }
}

/// ClickHouse's function for `TRIM(LEADING ..)`.
pub fn trim_function(trim_where: Option<TrimWhereField>) -> &'static str {
    match trim_where {
        Some(TrimWhereField::Leading) => "trimLeft",
        Some(TrimWhereField::Trailing) => "trimRight",
        Some(TrimWhereField::Both) | None => "trimBoth",
    }
}

/// The function behind `EXTRACT(field FROM x)`.
pub fn extract_function(field: &str) -> String {
    let part = capitalised(field);
    format!("to{}", if part == "Day" { "DayOfMonth" } else { part.as_str() })
}

fn capitalised(word: &str) -> String {
    let mut chars = word.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(chars.map(|c| c.to_ascii_lowercase())).collect()
}

fn rounded(name: &str, expr: &Expr, field: &CeilFloorKind) -> String {
    match field {
        CeilFloorKind::Scale(digits) => format!("{name}({}, {})", label(expr), literal(&digits.value)),
        CeilFloorKind::DateTimeField(_) => call(name, &[expr]),
    }
}

fn call(name: &str, args: &[&Expr]) -> String {
    let args: Vec<String> = args.iter().map(|arg| label(arg)).collect();
    format!("{name}({})", args.join(", "))
}

/// LIKE with what stands behind ESCAPE as a third argument.
fn like(name: &str, [expr, pattern]: [&Expr; 2], escape: Option<&ValueWithSpan>) -> String {
    match escape {
        Some(escape) => call(name, &[expr, pattern, &Expr::Value(escape.clone())]),
        None => call(name, &[expr, pattern]),
    }
}

fn joined(parts: &[Expr]) -> String {
    parts.iter().map(label).collect::<Vec<_>>().join(", ")
}

/// A literal as ClickHouse prints it.
pub(crate) fn literal(value: &Value) -> String {
    match value {
        Value::SingleQuotedString(text) => quote_text(text),
        Value::Number(digits, _) => number(digits),
        Value::HexStringLiteral(digits) => u64::from_str_radix(&digits.replace('_', ""), 16)
            .map_or_else(|_| format!("0x{digits}"), |n| n.to_string()),
        Value::Null => "NULL".to_owned(),
        other => other.to_string(),
    }
}

/// Floats keep a point: `1.0` is `1.`, `.5` is `0.5`.
fn number(digits: &str) -> String {
    let digits = digits.replace('_', "");
    if let Some(hex) = digits.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).map_or(digits, |number| number.to_string());
    }
    let whole =
        || digits.parse::<i128>().ok().filter(|whole| (i64::MIN.into()..=u64::MAX.into()).contains(whole));
    if let Some(whole) = whole() {
        return whole.to_string();
    }
    match digits.parse::<f64>() {
        Ok(n) if n.is_nan() => "nan".to_owned(),
        Ok(n) if n.fract() == 0.0 && n.abs() < 1e21 => format!("{n}."),
        Ok(n) if n.abs() >= 1e21 || (n != 0.0 && n.abs() < 1e-6) => format!("{n:e}"),
        Ok(n) => n.to_string(),
        Err(_) => digits,
    }
}

/// ClickHouse's function of a binary operator.
pub(crate) fn operator_function(op: &BinaryOperator) -> Option<&'static str> {
    Some(match op {
        BinaryOperator::Plus => "plus",
        BinaryOperator::Minus => "minus",
        BinaryOperator::Multiply => "multiply",
        BinaryOperator::Divide => "divide",
        BinaryOperator::Modulo => "modulo",
        BinaryOperator::StringConcat => "concat",
        BinaryOperator::Gt => "greater",
        BinaryOperator::Lt => "less",
        BinaryOperator::GtEq => "greaterOrEquals",
        BinaryOperator::LtEq => "lessOrEquals",
        BinaryOperator::Eq => "equals",
        BinaryOperator::NotEq => "notEquals",
        BinaryOperator::Spaceship => "isNotDistinctFrom",
        BinaryOperator::And => "and",
        BinaryOperator::Or => "or",
        BinaryOperator::Xor => "xor",
        _ => return None,
    })
}

/// `and`, `or` and `concat` take any number of arguments; other operators nest. Walks along the left side.
fn binary(left: &Expr, op: &BinaryOperator, right: &Expr) -> String {
    let Some(name) = operator_function(op) else { return format!("{left} {op} {right}") };
    if !matches!(op, BinaryOperator::And | BinaryOperator::Or | BinaryOperator::StringConcat) {
        return call(name, &[left, right]);
    }
    let mut args = vec![label(right)];
    let mut rest = left;
    while let Expr::BinaryOp { left, op: next, right } = rest {
        if next != op {
            break;
        }
        args.push(label(right));
        rest = left;
    }
    args.push(label(rest));
    args.reverse();
    format!("{name}({})", args.join(", "))
}

fn accessed(root: String, access: &AccessExpr) -> String {
    match access {
        AccessExpr::Subscript(Subscript::Index { index }) => {
            format!("arrayElement({root}, {})", label(index))
        }
        AccessExpr::Dot(name) => format!("tupleElement({root}, {})", quote_text(&label(name))),
        AccessExpr::Subscript(slice) => format!("{root}[{slice}]"),
    }
}

fn case(operand: Option<&Expr>, conditions: &[CaseWhen], otherwise: Option<&Expr>) -> String {
    let mut args: Vec<String> = operand.iter().map(|operand| label(operand)).collect();
    for CaseWhen { condition, result } in conditions {
        args.push(label(condition));
        args.push(label(result));
    }
    args.push(otherwise.map_or("NULL".to_owned(), label));
    let name = match (operand, conditions.len()) {
        (Some(_), _) => "caseWithExpression",
        (None, _) => "multiIf",
    };
    format!("{name}({})", args.join(", "))
}

fn lambda_label(lambda: &LambdaFunction) -> String {
    let names = match &lambda.params {
        OneOrManyWithParens::One(name) => name.name.value.clone(),
        OneOrManyWithParens::Many(names) => {
            names.iter().map(|name| name.name.value.clone()).collect::<Vec<_>>().join(", ")
        }
    };
    format!("lambda(tuple({names}), {})", label(&lambda.body))
}

/// Other spellings under which ClickHouse shows a function.
const CANONICAL: &[(&str, &str)] = &[
    ("ltrim", "trimLeft"),
    ("rtrim", "trimRight"),
    ("trim", "trimBoth"),
    ("date_diff", "dateDiff"),
    ("datediff", "dateDiff"),
    ("timestamp_diff", "dateDiff"),
    ("timestampdiff", "dateDiff"),
    ("cast", "CAST"),
];

fn function_label(function: &Function) -> String {
    let written = crate::dialect::name_of(function);
    let lower = written.to_ascii_lowercase();
    let mut name =
        CANONICAL.iter().find(|(other, _)| *other == lower).map_or(written, |(_, name)| (*name).to_owned());
    let mut args = arguments(&function.args);
    if let Some(shifted) = shifted_date(&lower, &function.args) {
        return shifted;
    }
    if let (["timestampdiff" | "timestamp_diff" | "datediff" | "date_diff", ..], Some(unit)) =
        ([lower.as_str()], args.first_mut())
        && args_are_bare_unit(&function.args)
    {
        *unit = quote_text(&unit.to_ascii_lowercase());
    }
    if lower == "string_agg" && args.len() == 2 && function.over.is_none() {
        return format!("{name}({})({})", args[1], args[0]);
    }
    if lower == "count" && args == ["*"] {
        args.clear();
    }
    if name == "tuple" || name == "array" {
        let (open, close) = if name == "tuple" { ('(', ')') } else { ('[', ']') };
        return format!("{open}{}{close}", args.join(", "));
    }
    if let FunctionArguments::List(list) = &function.args
        && list.duplicate_treatment == Some(DuplicateTreatment::Distinct)
    {
        name.push_str("Distinct");
    }
    if let Some(condition) = &function.filter {
        name.push_str("If");
        args.push(label(condition));
    }
    let parameters = match &function.parameters {
        FunctionArguments::None => String::new(),
        other => format!("({})", arguments(other).join(", ")),
    };
    let over = match &function.over {
        None => String::new(),
        Some(WindowType::NamedWindow(window)) => format!(" OVER {}", window.value),
        Some(WindowType::WindowSpec(spec)) => format!(" OVER ({})", window(spec)),
    };
    format!("{name}{parameters}({}){over}", args.join(", "))
}

/// `DATE_ADD(DAY, 1, d)` and its kin are the sum that they mean.
fn shifted_date(name: &str, arguments: &FunctionArguments) -> Option<String> {
    let operator = match name {
        "date_add" | "dateadd" | "timestamp_add" | "timestampadd" => "plus",
        "date_sub" | "datesub" | "timestamp_sub" | "timestampsub" => "minus",
        _ => return None,
    };
    match self::arguments(arguments).as_slice() {
        [unit, amount, base] => {
            let unit = interval_unit(unit.trim_matches('\''))?;
            Some(format!("{operator}({base}, toInterval{unit}({amount}))"))
        }
        [base, interval] => Some(format!("{operator}({base}, {interval})")),
        _ => None,
    }
}

/// Whether the first argument is a unit written without quotes.
fn args_are_bare_unit(arguments: &FunctionArguments) -> bool {
    let FunctionArguments::List(list) = arguments else { return false };
    matches!(list.args.first(), Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(unit))))
        if interval_unit(&unit.value).is_some())
}

fn arguments(arguments: &FunctionArguments) -> Vec<String> {
    let FunctionArguments::List(list) = arguments else { return vec![] };
    let shown = |arg: &FunctionArg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => label(expr),
        other => other.to_string(),
    };
    list.args.iter().map(shown).collect()
}

fn window(spec: &WindowSpec) -> String {
    let mut parts = vec![];
    if !spec.partition_by.is_empty() {
        parts.push(format!("PARTITION BY {}", joined(&spec.partition_by)));
    }
    if !spec.order_by.is_empty() {
        let keys: Vec<String> = spec.order_by.iter().map(order_key).collect();
        parts.push(format!("ORDER BY {}", keys.join(", ")));
    }
    if let Some(WindowFrame { units, start_bound, end_bound }) = &spec.window_frame {
        parts.push(match end_bound {
            Some(end) => format!("{units} BETWEEN {} AND {}", bound(start_bound), bound(end)),
            None => format!("{units} BETWEEN {} AND CURRENT ROW", bound(start_bound)),
        });
    }
    parts.join(" ")
}

fn order_key(key: &OrderByExpr) -> String {
    let way = if key.options.asc == Some(false) { "DESC" } else { "ASC" };
    let nulls = if key.options.nulls_first == Some(true) { " NULLS FIRST" } else { "" };
    format!("{} {way}{nulls}", label(&key.expr))
}

fn bound(bound: &WindowFrameBound) -> String {
    match bound {
        WindowFrameBound::CurrentRow => "CURRENT ROW".to_owned(),
        WindowFrameBound::Preceding(rows) => {
            format!("{} PRECEDING", rows.as_deref().map_or("UNBOUNDED".into(), label))
        }
        WindowFrameBound::Following(rows) => {
            format!("{} FOLLOWING", rows.as_deref().map_or("UNBOUNDED".into(), label))
        }
    }
}

/// The left side stands in both comparisons. Of BETWEENs in each other that is a text that no memory holds, but such a
/// statement is refused for its size soon after.
fn between(side: &str, negated: bool, low: &Expr, high: &Expr) -> String {
    const TWICE_BYTES_MAX: usize = 64 << 10;
    let again = if side.len() > TWICE_BYTES_MAX { "_" } else { side };
    let (low, high) = (label(low), label(high));
    match negated {
        false => format!("and(greaterOrEquals({side}, {low}), lessOrEquals({again}, {high}))"),
        true => format!("or(less({side}, {low}), greater({again}, {high}))"),
    }
}

#[cfg(test)]
mod tests {
    use super::label;
    use crate::parser::parse_expression;

    /// The expected texts are what ClickHouse 26 prints.
    #[test]
    fn labels_are_clickhouses() {
        let check = |text: &str, expected: &str| {
            assert_eq!(label(&parse_expression(text).unwrap()), expected, "{text}");
        };
        check("1+2", "plus(1, 2)");
        check("-number", "negate(number)");
        check("count(*)", "count()");
        check("COUNT()", "COUNT()");
        check("Sum(x)", "Sum(x)");
        check("x in (1)", "in(x, 1)");
        check("-inf", "-inf");
        check("[1, 2.5]", "[1., 2.5]");
        check("1e20", "100000000000000000000.");
        check("case when a then 1 end", "multiIf(a, 1, NULL)");
        check("count(distinct number)", "countDistinct(number)");
        check("number::String", "CAST(number, 'String')");
        check("1::UInt8", "CAST('1', 'UInt8')");
        check("CAST(x AS DateTime64(3,'UTC'))", r"CAST(x, 'DateTime64(3, \'UTC\')')");
        check("a = 1 and b = 2 and c = 3", "and(equals(a, 1), equals(b, 2), equals(c, 3))");
        check("1+2+3", "plus(plus(1, 2), 3)");
        check("x in (1, 2)", "in(x, (1, 2))");
        check("x between 1 and 2", "and(greaterOrEquals(x, 1), lessOrEquals(x, 2))");
        check("a ? 1 : 2", "if(a, 1, 2)");
        check("a.1", "tupleElement(a, 1)");
        check("a[1]", "arrayElement(a, 1)");
        check("(1, a)", "(1, a)");
        check("tuple(1, 2)", "(1, 2)");
        check("[1, a]", "[1, a]");
        check("'a'||'b'||'c'", "concat('a', 'b', 'c')");
        check("now() - interval 1 day", "minus(now(), toIntervalDay(1))");
        check("date '2020-01-01'", "toDate('2020-01-01')");
        check("extract(year from d)", "toYear(d)");
        check("trim(both ' ' from x)", "trimBoth(x, ' ')");
        check("quantiles(0.5,0.9)(number)", "quantiles(0.5, 0.9)(number)");
        check("count(number) filter (where number>1)", "countIf(number, greater(number, 1))");
        check("sum(a) over (partition by b order by c)", "sum(a) OVER (PARTITION BY b ORDER BY c ASC)");
        check("arrayMap((x,y) -> x+y, a, b)", "arrayMap(lambda(tuple(x, y), plus(x, y)), a, b)");
        check("5 div 2", "intDiv(5, 2)");
        check("1.0", "1.");
        check(".5", "0.5");
        check("0x1F", "31");
        check("case when a then 1 when b then 2 end", "multiIf(a, 1, b, 2, NULL)");
        check("case a when 1 then 2 end", "caseWithExpression(a, 1, 2, NULL)");
    }
}
