//! Every line of `tests/oracle/*.txt` is an expression with the type and text ClickHouse gives it; ours must agree.
//!
//! Lines are `expression<TAB>type<TAB>text`, or `expression<TAB>ERR<TAB>code`; `scripts/oracle.py` makes the last two
//! columns. Each expression runs twice: with constant arguments, and with columns of two rows.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, NullArray, StringViewArray, UInt64Array};
use functions::{Arg, ArgType, Call, CastMode, FunctionError, SessionValues, cast_column, lookup};
use model::type_arrow::to_data_type;
use model::{ColumnType, ErrorCode};

/// A value of an expression: a column or a constant, and its type.
#[derive(Clone)]
struct Evaluated {
    array: ArrayRef,
    is_constant: bool,
    column_type: ColumnType,
}

struct Evaluator<'a> {
    text: &'a str,
    at: usize,
    rows: usize,
    /// Literals become columns.
    materialize: bool,
    session: &'a SessionValues,
}

type Result<T> = std::result::Result<T, FunctionError>;

impl<'a> Evaluator<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn take(&mut self, symbol: &str) -> bool {
        self.skip();
        let found = self.rest().starts_with(symbol);
        if found {
            self.at += symbol.len();
        }
        found
    }

    fn literal(&self, array: ArrayRef, column_type: ColumnType) -> Result<Evaluated> {
        Ok(Evaluated { array, is_constant: true, column_type })
    }

    fn expression(&mut self) -> Result<Evaluated> {
        let mut value = self.primary()?;
        while self.take("::") {
            let start = self.at;
            let mut depth = 0_i32;
            for c in self.rest().chars() {
                match c {
                    '(' => depth += 1,
                    ')' | ',' | ']' if depth == 0 => break,
                    ')' => depth -= 1,
                    _ => {}
                }
                self.at += c.len_utf8();
            }
            let name = self.text[start..self.at].trim().to_owned();
            let name: ArrayRef = Arc::new(StringViewArray::from(vec![name.as_str()]));
            let name = Evaluated { array: name, is_constant: true, column_type: ColumnType::String };
            value = self.call("CAST", vec![value, name])?;
        }
        Ok(value)
    }

    fn primary(&mut self) -> Result<Evaluated> {
        self.skip();
        let first = self.rest().chars().next().expect("an expression");
        match first {
            '\'' => self.string(),
            '[' => {
                self.at += 1;
                let elements = self.list("]")?;
                self.call("array", elements)
            }
            '(' => {
                self.at += 1;
                let elements = self.list(")")?;
                self.call("tuple", elements)
            }
            c if c.is_ascii_digit() || c == '-' => self.number(),
            _ => self.named(),
        }
    }

    fn list(&mut self, close: &str) -> Result<Vec<Evaluated>> {
        let mut elements = Vec::new();
        while !self.take(close) {
            elements.push(self.expression()?);
            let more = self.take(",");
            assert!(more || self.rest().trim_start().starts_with(close), "bad list in {}", self.text);
        }
        Ok(elements)
    }

    fn named(&mut self) -> Result<Evaluated> {
        let rest = self.rest();
        let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let name = &rest[..length];
        self.at += length;
        if self.take("(") {
            let arguments = self.list(")")?;
            return self.call(name, arguments);
        }
        match name {
            "NULL" => self.literal(Arc::new(NullArray::new(1)), ColumnType::Nothing),
            "true" | "false" => self
                .literal(Arc::new(arrow::array::BooleanArray::from(vec![name == "true"])), ColumnType::Bool),
            "nan" => {
                self.literal(Arc::new(arrow::array::Float64Array::from(vec![f64::NAN])), ColumnType::Float64)
            }
            "inf" => self.literal(
                Arc::new(arrow::array::Float64Array::from(vec![f64::INFINITY])),
                ColumnType::Float64,
            ),
            other => Err(FunctionError::new(
                ErrorCode::SYNTAX_ERROR,
                format!("unknown word {other} in {}", self.text),
            )),
        }
    }

    fn string(&mut self) -> Result<Evaluated> {
        let mut out = String::new();
        let mut chars = self.rest()[1..].char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '\'' => {
                    self.at += at + 2;
                    return self
                        .literal(Arc::new(StringViewArray::from(vec![out.as_str()])), ColumnType::String);
                }
                '\\' => out.push(match chars.next().expect("an escape").1 {
                    'n' => '\n',
                    't' => '\t',
                    '0' => '\0',
                    other => other,
                }),
                other => out.push(other),
            }
        }
        Err(FunctionError::new(ErrorCode::SYNTAX_ERROR, format!("unclosed string in {}", self.text)))
    }

    fn number(&mut self) -> Result<Evaluated> {
        let rest = self.rest();
        let is_part = |(at, c): (usize, char)| {
            let after_e = at > 0 && matches!(rest.as_bytes()[at - 1], b'e' | b'E');
            c.is_ascii_digit()
                || matches!(c, '.' | 'e' | 'E')
                || (matches!(c, '-' | '+') && (at == 0 || after_e))
        };
        let length = rest.char_indices().find(|part| !is_part(*part)).map_or(rest.len(), |(at, _)| at);
        let text = &rest[..length];
        self.at += length;
        if text.contains(['.', 'e', 'E']) {
            let value: f64 = text.parse().expect("a float");
            return self
                .literal(Arc::new(arrow::array::Float64Array::from(vec![value])), ColumnType::Float64);
        }
        let value: i128 = text.parse().expect("an integer");
        let column_type = match value {
            0..=0xFF => ColumnType::UInt8,
            0x100..=0xFFFF => ColumnType::UInt16,
            0x1_0000..=0xFFFF_FFFF => ColumnType::UInt32,
            0x1_0000_0000.. => ColumnType::UInt64,
            -0x80..0 => ColumnType::Int8,
            -0x8000..-0x80 => ColumnType::Int16,
            -0x8000_0000..-0x8000 => ColumnType::Int32,
            _ => ColumnType::Int64,
        };
        let wide: ArrayRef = match u64::try_from(value) {
            Ok(value) => Arc::new(UInt64Array::from(vec![value])),
            Err(_) => Arc::new(Int64Array::from(vec![i64::try_from(value).expect("64 bits")])),
        };
        let array = arrow::compute::cast(&wide, &to_data_type(&column_type)).expect("fits");
        self.literal(array, column_type)
    }

    fn call(&self, name: &str, arguments: Vec<Evaluated>) -> Result<Evaluated> {
        let function = lookup(name).ok_or_else(|| {
            FunctionError::new(ErrorCode::UNKNOWN_FUNCTION, format!("unknown function {name}"))
        })?;
        if name == "materialize" || self.materialize {
            // The first argument as a column where types allow it; the others often must be constant.
            let all: Vec<Evaluated> = arguments
                .iter()
                .enumerate()
                .map(|(index, value)| if index == 0 { self.column(value) } else { value.clone() })
                .collect();
            match self.apply(function, &all) {
                Err(error) if error.code == ErrorCode::ILLEGAL_COLUMN => {}
                done => return done,
            }
        }
        self.apply(function, &arguments)
    }

    fn column(&self, value: &Evaluated) -> Evaluated {
        if !value.is_constant {
            return value.clone();
        }
        let indices = UInt64Array::from(vec![0; self.rows]);
        let array = arrow::compute::take(&value.array, &indices, None).expect("a column");
        Evaluated { array, is_constant: false, column_type: value.column_type.clone() }
    }

    fn apply(&self, function: &functions::ScalarFunction, arguments: &[Evaluated]) -> Result<Evaluated> {
        let types: Vec<ArgType> = arguments
            .iter()
            .map(|value| ArgType {
                column_type: value.column_type.clone(),
                constant: value.is_constant.then(|| Arc::clone(&value.array)),
            })
            .collect();
        let column_type = function.result_type(&types)?;
        let args: Vec<Arg> = arguments
            .iter()
            .map(|value| Arg {
                array: Arc::clone(&value.array),
                is_constant: value.is_constant,
                column_type: value.column_type.clone(),
            })
            .collect();
        let is_constant = arguments.iter().all(|value| value.is_constant) && function.name != "materialize";
        let rows = if is_constant { 1 } else { self.rows };
        let array = function.evaluate(&Call::new(&args, rows, &column_type, self.session))?;
        assert_eq!(array.data_type(), &to_data_type(&column_type), "layout of {}", function.name);
        assert_eq!(array.len(), rows, "rows of {}", function.name);
        Ok(Evaluated { array, is_constant, column_type })
    }
}

/// Type and text of every row, or the error's code.
fn evaluate(
    text: &str,
    materialize: bool,
    session: &SessionValues,
) -> std::result::Result<(String, Vec<String>), FunctionError> {
    let mut evaluator = Evaluator { text, at: 0, rows: 2, materialize, session };
    let value = evaluator.expression()?;
    assert!(evaluator.rest().trim().is_empty(), "unread: {} in {text}", evaluator.rest());
    let shown =
        cast_column(&value.array, &value.column_type, &ColumnType::String.nullable(), CastMode::Strict)?;
    let shown = shown.as_string_view();
    let words = (0..shown.len())
        .map(|row| if shown.is_null(row) { "NULL".to_owned() } else { shown.value(row).to_owned() });
    let type_name = match value.column_type {
        ColumnType::Nothing => "Nullable(Nothing)".to_owned(),
        ref other => other.to_string(),
    };
    Ok((type_name, words.collect()))
}

/// What is wrong with a line, if anything.
fn mismatch(line: &str, materialize: bool, session: &SessionValues) -> Option<String> {
    let columns: Vec<&str> = line.split('\t').collect();
    let [expression, column_type, text] = columns.as_slice() else {
        return Some(format!("bad line: {line}"));
    };
    match evaluate(expression, materialize, session) {
        Err(error) if *column_type == "ERR" && error.code.to_string() == *text => None,
        Err(error) => Some(format!(
            "{expression}\n   want {column_type} {text}\n   got  error {}: {}",
            error.code, error.message
        )),
        Ok((found, words)) => {
            let same_text = words.iter().all(|word| word.replace('\n', "\\n").replace('\t', "\\t") == *text);
            // With columns, ClickHouse's dictionaries are those of constants, so only values are compared.
            let same_type = materialize || found == *column_type;
            (!same_text || !same_type).then(|| {
                format!("{expression}\n   want {column_type} {text}\n   got  {found} {}", words.join(" | "))
            })
        }
    }
}

#[test]
fn every_expression_gives_what_clickhouse_gives() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle");
    let session = SessionValues { now_ns: 1_600_000_000_000_000_000, ..SessionValues::default() };
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("fixtures").map(|f| f.expect("file").path()).collect();
    files.sort();
    let (mut cases, mut wrong) = (0, Vec::new());
    for file in files.iter().filter(|file| file.extension().is_some_and(|e| e == "txt")) {
        let text = std::fs::read_to_string(file).expect("a fixture");
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            cases += 1;
            for materialize in [false, true] {
                if let Some(problem) = mismatch(line, materialize, &session) {
                    wrong.push(format!("{}{}", if materialize { "[columns] " } else { "" }, problem));
                    break;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {cases} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(cases >= 600, "only {cases} cases");
}

#[test]
fn documented_examples_are_true() {
    let session = SessionValues::default();
    let mut wrong = Vec::new();
    for function in functions::all() {
        let Some((expression, expected)) = function.doc.example.split_once(" -> ") else { continue };
        let is_quoted = expected.starts_with('\'') && expected.ends_with('\'') && expected.len() > 1;
        let expected = if is_quoted { &expected[1..expected.len() - 1] } else { expected };
        match evaluate(expression, false, &session) {
            Ok((_, words)) if words.iter().all(|word| word == expected) => {}
            Ok((_, words)) => wrong.push(format!("{}: {expression} is {}", function.name, words.join(" | "))),
            Err(error) => wrong.push(format!("{}: {expression} fails: {}", function.name, error.message)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
