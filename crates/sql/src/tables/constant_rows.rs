//! Many rows of constants as one array for each column: a query of its own for each row would be planned row by row.
//!
//! Invariant: the same values of the same types as `SELECT .. UNION ALL SELECT ..` of the rows; what might differ stays
//! with that. Must not know: what the columns are called or converted to.

use std::fmt::Write as _;

use sqlparser::ast::{Expr, UnaryOperator, Value};

/// Fewer rows are planned as queries.
const ROWS_MIN: usize = 32;

/// What the cells of a column are, besides NULL.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Null,
    Integer,
    Float,
    Text,
}

/// The column `number`, from 1, of what [`constant_rows`] returns.
pub fn constant_column(number: usize) -> String {
    format!("_constant{number}")
}

/// What stands behind FROM to read these rows, if all cells of each column are constants of one kind.
pub fn constant_rows(rows: &[Vec<&Expr>]) -> Option<String> {
    let width = rows.first().filter(|_| rows.len() >= ROWS_MIN)?.len();
    let (mut arrays, mut names) = (Vec::with_capacity(width), Vec::with_capacity(width));
    for at in 0..width {
        let cells = rows.iter().map(|row| row.get(at).copied()).collect::<Option<Vec<&Expr>>>()?;
        let mut kind = Kind::Null;
        for cell in &cells {
            kind = match (kind, kind_of(cell)?) {
                (Kind::Null, other) | (other, Kind::Null) => other,
                (one, other) if one == other => one,
                _ => return None,
            };
        }
        if kind == Kind::Null {
            return None;
        }
        let mut array = String::from("[");
        for cell in cells {
            write!(array, "{}, ", crate::printed(cell)).ok()?;
        }
        array.truncate(array.len() - 2);
        names.push(constant_column(at + 1));
        arrays.push(format!("{array}] AS {}", names[at]));
    }
    (width > 0).then(|| format!("(SELECT {}) ARRAY JOIN {}", arrays.join(", "), names.join(", ")))
}

fn kind_of(cell: &Expr) -> Option<Kind> {
    match cell {
        Expr::Nested(inner) => kind_of(inner),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
            kind_of(expr).filter(|kind| matches!(kind, Kind::Integer | Kind::Float))
        }
        Expr::Value(value) => match &value.value {
            Value::Null => Some(Kind::Null),
            Value::SingleQuotedString(_) => Some(Kind::Text),
            // Larger ones have no type together with negative ones.
            Value::Number(digits, _) if digits.parse::<i64>().is_ok() => Some(Kind::Integer),
            Value::Number(digits, _) if digits.contains(['.', 'e', 'E']) && !digits.starts_with("0x") => {
                Some(Kind::Float)
            }
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cells: &[&str]) -> Option<String> {
        let read = |cell: &&str| {
            let query = crate::parse_query(&format!("SELECT {cell}")).unwrap();
            match *query.body {
                sqlparser::ast::SetExpr::Select(select) => match select.projection.into_iter().next() {
                    Some(sqlparser::ast::SelectItem::UnnamedExpr(expr)) => expr,
                    other => panic!("{other:?}"),
                },
                other => panic!("{other:?}"),
            }
        };
        let cells: Vec<Expr> = cells.iter().map(read).collect();
        let rows: Vec<Vec<&Expr>> = (0..ROWS_MIN).map(|at| vec![&cells[at % cells.len()]]).collect();
        constant_rows(&rows)
    }

    #[test]
    fn columns_of_one_kind_are_arrays_and_others_are_not() {
        assert!(read(&["1", "-2", "NULL"]).unwrap().starts_with("(SELECT [1, -2, NULL, 1,"));
        assert!(read(&["'a'", "'b'"]).unwrap().ends_with("] AS _constant1) ARRAY JOIN _constant1"));
        assert!(read(&["1.5", "-2.0"]).is_some());
        for others in
            [&["1", "1.5"][..], &["1", "'a'"], &["NULL"], &["18446744073709551615"], &["now()"], &["[1]"]]
        {
            assert_eq!(read(others), None, "{others:?}");
        }
    }

    #[test]
    fn few_rows_and_rows_of_other_widths_are_not() {
        let one = Expr::Value(Value::Number("1".to_owned(), false).into());
        assert_eq!(constant_rows(&vec![vec![&one]; ROWS_MIN - 1]), None);
        let mut rows = vec![vec![&one, &one]; ROWS_MIN];
        rows.push(vec![&one]);
        assert_eq!(constant_rows(&rows), None);
        assert_eq!(constant_rows(&vec![vec![]; ROWS_MIN]), None);
    }
}
