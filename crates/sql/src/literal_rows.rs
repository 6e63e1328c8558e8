//! `VALUES (1, 'a'), (2, 'b')` of constants -> a batch, without a plan.
//!
//! Invariant: rows are read as the columns' types by the same code that reads files; the first value that is not a
//! constant makes the whole text a matter for the planner. Must not know: tables, defaults.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::Schema;
use formats::{FormatSettings, TextForm, TypedColumnBuilder};
use model::ColumnType;
use model::type_arrow::to_field;
use sqlparser::ast::{Expr, Query as AstQuery, SelectItem, SetExpr, SetOperator, SetQuantifier};

use crate::error::{ErrorCode, Result, SqlError};
use crate::parser::{parse_expression, parse_query};
use crate::scan::{Piece, PieceKind, Scanner};
use crate::statement::Query;

/// What became of the text behind VALUES.
#[derive(Clone, PartialEq, Debug)]
pub enum LiteralRows {
    Rows(RecordBatch),
    /// Some value is an expression: see [`values_query`].
    NeedsPlan,
}

/// One value, by byte offsets.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
}

/// Reads rows of constants; `columns` are names and types in the order of the values.
///
/// # Errors
/// Wrong number of values, text that is no row, a value that is not of its column's type: with row and column.
pub fn literal_rows(
    text: &str,
    columns: &[(String, ColumnType)],
    settings: &FormatSettings,
) -> Result<LiteralRows> {
    let made =
        columns.iter().map(|(_, column_type)| TypedColumnBuilder::with_settings(column_type, settings));
    let mut builders = made
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(|e| SqlError::bad_arguments(e.to_string()))?;
    let mut rows = Rows { text, pieces: Scanner::new(text, 0), row: 0 };
    while let Some(row) = rows.next_row()? {
        let Row::Constants(values) = row else { return Ok(LiteralRows::NeedsPlan) };
        if values.len() != columns.len() {
            let message = format!(
                "row {} of VALUES has {} values, but there are {} columns",
                rows.row,
                values.len(),
                columns.len()
            );
            return Err(SqlError::new(ErrorCode::CannotParseInput, message));
        }
        for ((value, builder), (name, column_type)) in values.iter().zip(&mut builders).zip(columns) {
            let value = &text[value.start..value.end];
            append(builder, value, column_type).map_err(|e| {
                let code = ErrorCode::of_number(e.code);
                SqlError::new(code, format!("{e} at row {} of VALUES, column \"{name}\"", rows.row))
            })?;
        }
    }
    let fields: Vec<_> = columns.iter().map(|(name, column_type)| to_field(name, column_type)).collect();
    let arrays = builders
        .iter_mut()
        .map(TypedColumnBuilder::finish)
        .collect::<std::result::Result<Vec<ArrayRef>, _>>();
    let arrays = arrays.map_err(|e| SqlError::bad_arguments(e.to_string()))?;
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays);
    batch.map(LiteralRows::Rows).map_err(|e| SqlError::bad_arguments(e.to_string()))
}

fn append(
    builder: &mut TypedColumnBuilder,
    value: &str,
    column_type: &ColumnType,
) -> std::result::Result<(), formats::ValueError> {
    if value.eq_ignore_ascii_case("null") {
        return builder.append_null();
    }
    // A bare number in a column of texts is its digits.
    let is_text = value.starts_with('\'');
    let form = if column_type.is_string() && !is_text { TextForm::Raw } else { TextForm::Literal };
    builder.append_text(value.as_bytes(), form)
}

enum Row {
    Constants(Vec<Span>),
    Expressions,
}

struct Rows<'a> {
    text: &'a str,
    pieces: Scanner<'a>,
    /// The row being read, from 1.
    row: usize,
}

impl Rows<'_> {
    fn wrong(&self, expected: &str, at: Option<Piece>) -> SqlError {
        let (found, offset) = match at {
            Some(piece) => (&self.text[piece.start..piece.end], piece.start),
            None => ("end of query", self.text.len()),
        };
        let message = format!("cannot read row {} of VALUES: expected {expected}, found {found}", self.row);
        SqlError::new(ErrorCode::CannotParseInput, message).at(offset)
    }

    /// `(..)` and the comma before it.
    fn next_row(&mut self) -> Result<Option<Row>> {
        let mut first = self.pieces.next();
        if self.row > 0 && first.is_some_and(|piece| piece.kind == PieceKind::Symbol(b',')) {
            first = self.pieces.next();
        }
        self.row += 1;
        match first.map(|piece| piece.kind) {
            None | Some(PieceKind::Symbol(b';')) => Ok(None),
            Some(PieceKind::Symbol(b'(')) => self.values().map(Some),
            _ => Err(self.wrong("(", first)),
        }
    }

    fn values(&mut self) -> Result<Row> {
        let (mut values, mut depth, mut constant) = (vec![], 0_usize, true);
        let mut span: Option<Span> = None;
        let mut before: Option<PieceKind> = None;
        loop {
            let piece = self.pieces.next();
            let Some(found) = piece.filter(|piece| piece.kind != PieceKind::Unclosed) else {
                return Err(self.wrong(")", piece));
            };
            let ends = depth == 0 && matches!(found.kind, PieceKind::Symbol(b',' | b')'));
            if ends {
                match span.take() {
                    Some(span) => values.push(span),
                    None if values.is_empty() && found.kind == PieceKind::Symbol(b')') => {}
                    None => return Err(self.wrong("a value", piece)),
                }
                if found.kind == PieceKind::Symbol(b')') {
                    return Ok(if constant { Row::Constants(values) } else { Row::Expressions });
                }
                before = None;
                continue;
            }
            match found.kind {
                PieceKind::Symbol(b'(' | b'[' | b'{') => depth += 1,
                PieceKind::Symbol(b')' | b']' | b'}') => depth = depth.saturating_sub(1),
                _ => {}
            }
            constant &= is_constant(self.text, found, before, depth);
            before = Some(found.kind);
            span = Some(Span { start: span.map_or(found.start, |span| span.start), end: found.end });
        }
    }
}

/// True while a value is a literal: text, number, NULL, true, false, or a container of such.
fn is_constant(text: &str, piece: Piece, before: Option<PieceKind>, depth: usize) -> bool {
    let starts = matches!(before, None | Some(PieceKind::Symbol(b'(' | b'[' | b'{' | b',' | b':')));
    let signed = matches!(before, Some(PieceKind::Symbol(b'-')));
    match piece.kind {
        PieceKind::Text => starts,
        PieceKind::Number => starts || signed,
        PieceKind::Word => {
            let word = &text[piece.start..piece.end];
            starts
                && ["null", "true", "false", "inf", "nan"]
                    .iter()
                    .any(|known| known.eq_ignore_ascii_case(word))
        }
        PieceKind::Symbol(b'-' | b'(' | b'[' | b'{') => starts,
        PieceKind::Symbol(b')' | b']' | b'}') => !signed,
        PieceKind::Symbol(b',' | b':') => depth > 0 && !starts,
        PieceKind::Symbol(_) | PieceKind::QuotedName | PieceKind::Unclosed => false,
    }
}

/// The text behind VALUES as a query, one SELECT a row.
pub fn values_query(text: &str) -> Result<Query> {
    let rows = match parse_expression(&format!("_({})", text.trim().trim_end_matches(';')))? {
        Expr::Function(call) => crate::dialect::plain_args(&call),
        _ => vec![],
    };
    let template = parse_query("SELECT 1")?;
    let mut body: Option<SetExpr> = None;
    for row in rows {
        let values = match row {
            Expr::Tuple(values) => values,
            Expr::Nested(value) => vec![*value],
            other => {
                return Err(SqlError::new(
                    ErrorCode::SyntaxError,
                    format!("syntax error: {other} is no row of VALUES"),
                ));
            }
        };
        let mut select = template.body.as_ref().clone();
        if let SetExpr::Select(select) = &mut select {
            select.projection = values.into_iter().map(SelectItem::UnnamedExpr).collect();
        }
        body = Some(match body {
            None => select,
            Some(before) => SetExpr::SetOperation {
                left: Box::new(before),
                op: SetOperator::Union,
                set_quantifier: SetQuantifier::All,
                right: Box::new(select),
            },
        });
    }
    let body =
        body.ok_or_else(|| SqlError::new(ErrorCode::SyntaxError, "syntax error: VALUES has no rows"))?;
    Ok(Query::from(Box::new(AstQuery { body: Box::new(body), ..template })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, types: &[&str], expected: &str) {
        let columns: Vec<(String, ColumnType)> = types
            .iter()
            .enumerate()
            .map(|(i, name)| (format!("c{i}"), model::type_name::parse(name).unwrap()))
            .collect();
        let shown = match literal_rows(text, &columns, &FormatSettings::default()) {
            Ok(LiteralRows::Rows(batch)) => format!("{} rows", batch.num_rows()),
            Ok(LiteralRows::NeedsPlan) => "plan".to_owned(),
            Err(e) => format!("{} {}", e.code.number(), e.message),
        };
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn constants_need_no_plan() {
        check("(1, 'a'), (-2, 'it''s')", &["Int8", "String"], "2 rows");
        check("(1), (2),", &["UInt8"], "2 rows");
        check(
            "(NULL, [1, 2], (1, 'x'))",
            &["Nullable(UInt8)", "Array(UInt8)", "Tuple(UInt8, String)"],
            "1 rows",
        );
        check("('2024-01-01', '2024-01-01 00:00:00.5')", &["Date", "DateTime64(3)"], "1 rows");
        check("(5)", &["String"], "1 rows");
        check("", &["UInt8"], "0 rows");
    }

    #[test]
    fn expressions_need_one() {
        check("(1 + 1)", &["UInt8"], "plan");
        check("(now())", &["DateTime"], "plan");
        check("(1), (toString(2))", &["UInt8"], "plan");
        let query = values_query(" (1 + 1, 'a'), (2, 'b');").unwrap();
        assert_eq!(query.ast.to_string(), "SELECT 1 + 1, 'a' UNION ALL SELECT 2, 'b'");
    }

    #[test]
    fn errors_name_row_and_column() {
        check("(1), (1, 2)", &["UInt8"], "27 row 2 of VALUES has 2 values, but there are 1 columns");
        check("(1) 2", &["UInt8"], "27 cannot read row 2 of VALUES: expected (, found 2");
        check("(1", &["UInt8"], "27 cannot read row 1 of VALUES: expected ), found end of query");
        let columns = [("n".to_owned(), ColumnType::UInt8)];
        let e = literal_rows("(1), ('x')", &columns, &FormatSettings::default()).unwrap_err();
        assert!(e.message.ends_with("at row 2 of VALUES, column \"n\""), "{}", e.message);
    }
}
