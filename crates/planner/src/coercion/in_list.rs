//! `IN (list)`: which items can be in it, and how each is compared.
//!
//! Invariant: as in ClickHouse, a value that the type of the left side cannot hold, and NULL, is in no list. Must not know: sets that
//! a subquery gives.

use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator};
use functions::{FunctionError, SessionValues};
use model::{ColumnType, ErrorCode};

use super::comparison::{as_predicate, as_value, call_arguments, compare, elements, nests};
use crate::chains::grouped as balanced;
use crate::scalar::adapter::{CAST, call};
use crate::scalar::constant_set;
use crate::scalar::surely::surely;
use crate::types::literals::{Purpose, literal_as};
use aggregates::typing::{external, literal_of, type_of};

/// `expr [NOT] IN (list)`. As in ClickHouse, a value that the type of `expr` cannot hold, and NULL, is in no list.
pub(crate) fn in_list(in_list: InList, schema: &DFSchema, session: &SessionValues) -> Result<Expr> {
    let InList { expr, list, negated } = in_list;
    let expr = as_value(*expr, schema)?;
    let column_type = type_of(&expr, schema)?;
    if column_type == ColumnType::Nothing {
        return Ok(Expr::Literal(ScalarValue::Null, None));
    }
    let is_of_rows = list.iter().any(|item| !item.column_refs().is_empty());
    if let Some(found) = in_one_array(&expr, &column_type, &list, schema)? {
        return Ok(if negated { Expr::Not(Box::new(found)) } else { found });
    }
    let list = match list.as_slice() {
        [one] => match constant_set::list_of(one) {
            Some(constants) => {
                let alone = std::slice::from_ref(&expr);
                let exprs = call_arguments(&expr, "tuple").unwrap_or(alone);
                if let Some(test) = constant_set::test(exprs, constants, schema)? {
                    return Ok(if negated { Expr::Not(Box::new(test)) } else { test });
                }
                constant_set::expressions(constants, |cells| call("tuple", cells))?
            }
            None => list,
        },
        _ => list,
    };
    let list = fitting(as_one_array(list, &column_type, schema)?, &column_type, schema)?;
    let made = if nests(&column_type) || list.iter().any(|item| literal_of(item).is_none()) {
        let equal = |item: Expr| match call_arguments(&expr, "tuple").zip(call_arguments(&item, "tuple")) {
            Some((left, right)) if left.len() == right.len() => elements(left, right, schema, Some(session)),
            _ => compare(expr.clone(), Operator::Eq, item, schema, Some(session)),
        };
        let (items, may_be_null) = without_nulls(list, schema)?;
        let tests = items.into_iter().map(equal).collect::<Result<Vec<_>>>()?;
        // A tree, since a chain of thousands is as deep.
        let found = balanced(tests, &|left, right| left.or(right));
        // A tuple with a NULL is in no list, and never NULL itself; what is compared with a NULL is just not it.
        match found {
            Some(found) if matches!(column_type, ColumnType::Tuple(_)) && found.nullable(schema)? => {
                Some(surely(found))
            }
            Some(found) if may_be_null && column_type.is_nullable() => {
                Some(unless_null(surely(found), expr.clone()))
            }
            Some(found) if may_be_null => Some(surely(found)),
            found => found,
        }
    } else {
        let literals = literals_in(&list, &column_type, schema, session)?;
        let asked = Box::new(expr.clone());
        (!literals.is_empty()).then(|| Expr::InList(InList::new(asked, literals, false)))
    };
    let found = match made {
        Some(made) if is_of_rows => maybe_null(made, schema)?,
        Some(made) => made,
        None => in_nothing(expr, schema)?,
    };
    Ok(match found {
        Expr::InList(list) => Expr::InList(InList { negated, ..list }),
        other if negated => Expr::Not(Box::new(other)),
        other => other,
    })
}

/// A set that is given as one array: `x IN {set:Array(UInt8)}`.
fn in_one_array(
    asked: &Expr,
    column_type: &ColumnType,
    list: &[Expr],
    schema: &DFSchema,
) -> Result<Option<Expr>> {
    let [one] = list else { return Ok(None) };
    if matches!(column_type.value_type(), ColumnType::Array(_)) {
        return Ok(None);
    }
    let ColumnType::Array(element) = type_of(one, schema)? else { return Ok(None) };
    check_shapes(&element, column_type, one)?;
    let found = as_predicate(call("has", vec![one.clone(), asked.clone()])?, schema)?;
    // NULL is in no array, and unknown.
    let found = if column_type.is_nullable() { unless_null(found, asked.clone()) } else { found };
    Ok(Some(if one.column_refs().is_empty() { found } else { maybe_null(found, schema)? }))
}

/// What is compared with values of rows may be NULL by its type, as in ClickHouse, although it never is.
fn maybe_null(found: Expr, schema: &DFSchema) -> Result<Expr> {
    if found.nullable(schema)? {
        return Ok(found);
    }
    as_predicate(call("toNullable", vec![as_value(found, schema)?])?, schema)
}

/// A condition without what [`maybe_null`] puts around it: there unknown is as good as no, and an equality may be a join's key.
pub(crate) fn as_condition(found: Expr) -> Expr {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::NotEq, .. }) = &found else { return found };
    let value = call_arguments(left, "toNullable").and_then(|args| args.first());
    match value.and_then(|value| call_arguments(value, CAST)) {
        Some([equal @ Expr::BinaryExpr(BinaryExpr { op: Operator::Eq | Operator::Or, .. }), _]) => {
            equal.clone()
        }
        _ => found,
    }
}

/// Refuses to look for a tuple among values that are none, and the other way round. In a constant set such values are passed
/// over.
fn check_shapes(element: &ColumnType, asked: &ColumnType, list: &Expr) -> Result<()> {
    let is_tuple = |of: &ColumnType| matches!(of.value_type(), ColumnType::Tuple(_));
    let is_known = *element != ColumnType::Nothing && literal_of(list).is_none();
    if is_known && is_tuple(element) != is_tuple(asked) {
        let message = format!("there is no supertype for types {element}, {asked}");
        return Err(external(FunctionError::new(ErrorCode::NO_COMMON_TYPE, message)));
    }
    Ok(())
}

/// The items of which something can be in a list, and whether one of them may be NULL in a row.
fn without_nulls(list: Vec<Expr>, schema: &DFSchema) -> Result<(Vec<Expr>, bool)> {
    let (mut items, mut may_be_null) = (Vec::with_capacity(list.len()), false);
    for item in list {
        // NULL is in no list, and neither is a tuple with one.
        let parts = call_arguments(&item, "tuple").unwrap_or(std::slice::from_ref(&item));
        let types = parts.iter().map(|part| type_of(part, schema)).collect::<Result<Vec<_>>>()?;
        if !types.contains(&ColumnType::Nothing) {
            may_be_null |= types.iter().any(ColumnType::is_nullable);
            items.push(item);
        }
    }
    Ok((items, may_be_null))
}

/// The answer, unknown where that is NULL.
fn unless_null(answer: Expr, asked: Expr) -> Expr {
    let unknown = Expr::Literal(ScalarValue::Boolean(None), None).and(asked.clone().is_null());
    answer.and(asked.is_not_null()).or(unknown)
}

/// No item can be it: that is false, and unknown of NULL.
fn in_nothing(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let constant = |answer| Expr::Literal(ScalarValue::Boolean(answer), None);
    match type_of(&expr, schema)?.is_nullable() {
        true => Ok(constant(None).and(expr.is_null())),
        false => Ok(constant(Some(false))),
    }
}

/// `[1, 2] IN [1, 2]`: for values that are arrays, elements that are none were written as one array.
fn as_one_array(list: Vec<Expr>, column_type: &ColumnType, schema: &DFSchema) -> Result<Vec<Expr>> {
    let ColumnType::Array(element) = column_type.value_type() else { return Ok(list) };
    if matches!(element.value_type(), ColumnType::Array(_)) || list.is_empty() {
        return Ok(list);
    }
    for item in &list {
        if matches!(type_of(item, schema)?.value_type(), ColumnType::Array(_)) {
            return Ok(list);
        }
    }
    Ok(vec![call("array", list)?])
}

/// The items as ClickHouse takes them: `(1, 2) IN (1, 2)` has one, that tuple; what is no array is in no list of arrays.
fn fitting(list: Vec<Expr>, column_type: &ColumnType, schema: &DFSchema) -> Result<Vec<Expr>> {
    match column_type.value_type() {
        ColumnType::Tuple(elements) if elements.len() == list.len() => {
            let fits = match list.first() {
                Some(first) => is_of_shape(&type_of(first, schema)?, column_type),
                None => true,
            };
            if fits { Ok(list) } else { Ok(vec![call("tuple", list)?]) }
        }
        ColumnType::Array(_) => {
            let mut arrays = Vec::with_capacity(list.len());
            for item in list {
                let item_type = type_of(&item, schema)?;
                if matches!(item_type.value_type(), ColumnType::Array(_)) || item_type == ColumnType::Nothing
                {
                    arrays.push(item);
                }
            }
            Ok(arrays)
        }
        _ => Ok(list),
    }
}

/// Whether tuples nest in one as in the other.
fn is_of_shape(one: &ColumnType, other: &ColumnType) -> bool {
    match (one.value_type(), other.value_type()) {
        (ColumnType::Nothing, _) | (_, ColumnType::Nothing) => true,
        (ColumnType::Tuple(a), ColumnType::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_of_shape(&a.column_type, &b.column_type))
        }
        (ColumnType::Tuple(_), _) | (_, ColumnType::Tuple(_)) => false,
        _ => true,
    }
}

fn literals_in(
    list: &[Expr],
    column_type: &ColumnType,
    schema: &DFSchema,
    session: &SessionValues,
) -> Result<Vec<Expr>> {
    let mut literals = Vec::with_capacity(list.len());
    for item in list {
        let Some(value) = literal_of(item).filter(|value| !value.is_null()) else { continue };
        let from = type_of(item, schema)?;
        literals.extend(literal_as(value, &from, column_type, Purpose::Member, Some(session))?);
    }
    Ok(literals)
}
