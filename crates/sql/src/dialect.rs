//! ClickHouse's expression grammar where sqlparser's own dialect stops: casts, ternaries, `t.1`, `IN [..]`, DIV, ...
//!
//! Every hook answers with a plain function call of ClickHouse's own name (`x::T` is `CAST(x, 'T')`), so that the
//! rest of the crate sees one form. Invariant: a hook either consumes what it answers for, or consumes nothing.

pub(crate) mod types;
mod columns;
mod constants;
mod interval;
mod precedence;
mod tuples;
mod words;

use std::any::TypeId;

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, ObjectName,
    Query, SetExpr, Value,
};
use sqlparser::dialect::{ClickHouseDialect, Dialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, Word};

use crate::dialect::types::{read_type, read_written_type};
pub use columns::{APPLY, COLUMNS, EXCEPT, REPLACE};
pub use constants::{constant_text, literal_list};
use interval::interval;
pub use interval::interval_unit;
use tuples::tuple_of_few;
use words::word_infix;

/// Stands for `AS` inside an expression, where `a + 1 AS x` names a part of it; put there by `tokens`.
pub(crate) const INNER_ALIAS: &str = "AS";

/// sqlparser's ClickHouse dialect with our hooks. Parsing decisions taken by dialect identity stay ClickHouse's.
#[derive(Debug)]
pub(crate) struct OurDialect;

pub(crate) static DIALECT: OurDialect = OurDialect;

type Parsed = Result<Expr, ParserError>;

/// Words that continue a FROM clause or a query and so can not be an implicit alias.
const NOT_AN_ALIAS: &[Keyword] = &[
    Keyword::FINAL,
    Keyword::SAMPLE,
    Keyword::PREWHERE,
    Keyword::ARRAY,
    Keyword::ASOF,
    Keyword::ANY,
    Keyword::SEMI,
    Keyword::ANTI,
    Keyword::GLOBAL,
    Keyword::SETTINGS,
    Keyword::FORMAT,
    Keyword::ALL,
    Keyword::QUALIFY,
    Keyword::WINDOW,
];

impl Dialect for OurDialect {
    fn dialect(&self) -> TypeId {
        TypeId::of::<ClickHouseDialect>()
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        ClickHouseDialect {}.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        ch == '$' || ClickHouseDialect {}.is_identifier_part(ch)
    }

    fn supports_string_literal_backslash_escape(&self) -> bool {
        true
    }

    fn supports_select_wildcard_except(&self) -> bool {
        true
    }

    fn supports_select_wildcard_replace(&self) -> bool {
        true
    }

    fn supports_limit_comma(&self) -> bool {
        true
    }

    fn supports_numeric_literal_underscores(&self) -> bool {
        true
    }

    fn supports_array_join_syntax(&self) -> bool {
        true
    }

    fn supports_dictionary_syntax(&self) -> bool {
        true
    }

    fn supports_lambda_functions(&self) -> bool {
        true
    }

    fn supports_from_first_select(&self) -> bool {
        true
    }

    fn supports_order_by_all(&self) -> bool {
        true
    }

    fn supports_filter_during_aggregation(&self) -> bool {
        true
    }

    fn supports_group_by_expr(&self) -> bool {
        true
    }

    fn supports_group_by_with_modifier(&self) -> bool {
        true
    }

    fn supports_nested_comments(&self) -> bool {
        true
    }

    fn supports_prewhere(&self) -> bool {
        true
    }

    fn supports_with_fill(&self) -> bool {
        true
    }

    fn supports_limit_by(&self) -> bool {
        true
    }

    fn supports_interpolate(&self) -> bool {
        true
    }

    fn supports_settings(&self) -> bool {
        true
    }

    fn supports_select_format(&self) -> bool {
        true
    }

    fn supports_comma_separated_trim(&self) -> bool {
        true
    }

    fn supports_named_fn_args_with_eq_operator(&self) -> bool {
        // `f(a = 1)` is a comparison in ClickHouse; table functions read it as a named argument later.
        false
    }

    fn supports_window_clause_named_window_reference(&self) -> bool {
        true
    }

    fn is_table_alias(&self, keyword: &Keyword, _parser: &mut Parser<'_>) -> bool {
        !NOT_AN_ALIAS.contains(keyword) && !sqlparser::keywords::RESERVED_FOR_TABLE_ALIAS.contains(keyword)
    }

    fn parse_prefix(&self, parser: &mut Parser<'_>) -> Option<Parsed> {
        match &parser.peek_token_ref().token {
            Token::Word(word) if word.quote_style.is_none() => word_prefix(&word.clone(), parser),
            Token::LParen => tuple_of_few(parser),
            Token::Minus => negative_number(parser).map(Ok),
            Token::LBrace => parameter(parser),
            _ => None,
        }
    }

    fn parse_infix(&self, parser: &mut Parser<'_>, left: &Expr, precedence: u8) -> Option<Parsed> {
        match parser.peek_token_ref().token.clone() {
            Token::Placeholder(mark) if mark.starts_with('?') => Some(ternary(&mark, parser, left)),
            Token::Number(text, _) if text.starts_with('.') => {
                parser.advance_token();
                Some(Ok(tuple_elements(left.clone(), &text)))
            }
            // Behind an identifier sqlparser reads it itself; behind what the hooks made it does not.
            Token::LBracket => {
                parser.advance_token();
                let index = parser.parse_expr();
                Some(index.and_then(|index| {
                    parser.expect_token(&Token::RBracket)?;
                    Ok(call("arrayElement", vec![left.clone(), index]))
                }))
            }
            Token::DoubleColon => {
                parser.advance_token();
                Some(read_written_type(parser).map(|name| cast_call(cast_operand(left), &name)))
            }
            Token::CustomBinaryOperator(operator) if operator == INNER_ALIAS => {
                parser.advance_token();
                let name = parser.parse_identifier();
                Some(name.map(|name| Expr::Named { expr: Box::new(left.clone()), name }))
            }
            Token::Word(word) if word.quote_style.is_none() => word_infix(&word, parser, left, precedence),
            _ => None,
        }
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        precedence::of_next(parser)
    }
}

fn is(word: &Word, wanted: &str) -> bool {
    word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted)
}

/// The function's name as written, without quotes; a dotted one keeps its points.
pub fn name_of(function: &Function) -> String {
    let part = |part: &sqlparser::ast::ObjectNamePart| match part.as_ident() {
        Some(name) => name.value.clone(),
        None => part.to_string(),
    };
    function.name.0.iter().map(part).collect::<Vec<_>>().join(".")
}

/// A call without anything but arguments.
pub fn call(name: &str, args: Vec<Expr>) -> Expr {
    Expr::Function(Function {
        // Quoted, because DataFusion folds the case of bare function names.
        name: ObjectName::from(vec![Ident::with_quote('`', name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: args.into_iter().map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg))).collect(),
            clauses: vec![],
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: vec![],
    })
}

/// A literal number with this text.
pub fn number(text: impl Into<String>) -> Expr {
    Expr::Value(Value::Number(text.into(), false).into())
}

/// A literal text.
pub fn text(text: impl Into<String>) -> Expr {
    Expr::Value(Value::SingleQuotedString(text.into()).into())
}

fn word_prefix(word: &Word, parser: &mut Parser<'_>) -> Option<Parsed> {
    let next = parser.peek_nth_token_ref(1).token.clone();
    let upper = word.value.to_ascii_uppercase();
    match (upper.as_str(), &next) {
        ("CAST", Token::LParen) => Some(cast(parser)),
        ("INTERVAL", next) => interval(parser).or_else(|| {
            // A column that is only named so.
            let is_name = !matches!(
                next,
                Token::LParen | Token::Period | Token::SingleQuotedString(_) | Token::Number(..)
            );
            is_name.then(|| parser.parse_identifier().map(Expr::Identifier))
        }),
        ("COLUMNS", Token::LParen) => Some(columns::matcher(parser)),
        ("DATE", Token::SingleQuotedString(value)) => Some(Ok(typed_text("toDate", value, parser))),
        ("TIMESTAMP" | "DATETIME", Token::SingleQuotedString(value)) => {
            Some(Ok(typed_text("toDateTime", value, parser)))
        }
        ("INF" | "NAN" | "INFINITY", next) if !matches!(next, Token::LParen | Token::Period) => {
            parser.advance_token();
            Some(Ok(number(if upper == "NAN" { "nan" } else { "inf" })))
        }
        _ => None,
    }
}

fn typed_text(function: &str, value: &str, parser: &mut Parser<'_>) -> Expr {
    parser.advance_token();
    parser.advance_token();
    call(function, vec![text(value)])
}

/// `-5` is a literal, so that `-1::Int8` casts -1 as ClickHouse does; `- x` stays an operator.
fn negative_number(parser: &mut Parser<'_>) -> Option<Expr> {
    let negative = match &parser.peek_nth_token_ref(1).token {
        Token::Number(digits, _) => number(format!("-{digits}")),
        // As a literal it has no sign.
        Token::Word(word) if is(word, "NAN") => number("nan"),
        _ => return None,
    };
    parser.advance_token();
    parser.advance_token();
    Some(negative)
}

/// `{name:Type}`.
fn parameter(parser: &mut Parser<'_>) -> Option<Parsed> {
    let (Token::Word(name), Token::Colon) =
        (&parser.peek_nth_token_ref(1).token, &parser.peek_nth_token_ref(2).token)
    else {
        return None;
    };
    let name = name.value.clone();
    for _ in 0..3 {
        parser.advance_token();
    }
    let typed = read_type(parser).and_then(|column_type| {
        parser.expect_token(&Token::RBrace)?;
        Ok(call(PARAMETER_FUNCTION, vec![text(name), text(column_type)]))
    });
    Some(typed)
}

/// The call that stands for `{name:Type}` until its value is known.
pub const PARAMETER_FUNCTION: &str = "_queryParameter";

fn cast(parser: &mut Parser<'_>) -> Parsed {
    parser.advance_token();
    parser.expect_token(&Token::LParen)?;
    let operand = named_operand(parser)?;
    let name = if parser.consume_token(&Token::Comma) {
        let name = parser.parse_expr()?;
        parser.expect_token(&Token::RParen)?;
        return Ok(call("CAST", vec![operand, name]));
    } else {
        parser.expect_keyword_is(Keyword::AS)?;
        read_written_type(parser)?
    };
    parser.expect_token(&Token::RParen)?;
    Ok(cast_call(operand, &name))
}

/// The operand of CAST, which may have a name: `CAST(x AS name AS T)`, `CAST(x AS name, 'T')`.
fn named_operand(parser: &mut Parser<'_>) -> Parsed {
    let operand = parser.parse_expr()?;
    let is_alias = matches!(&parser.peek_token_ref().token, Token::Word(word) if is(word, "AS"))
        && matches!(parser.peek_nth_token_ref(1).token, Token::Word(_))
        && match &parser.peek_nth_token_ref(2).token {
            Token::Word(word) => is(word, "AS"),
            next => *next == Token::Comma,
        };
    if !is_alias {
        return Ok(operand);
    }
    parser.advance_token();
    Ok(Expr::Named { expr: Box::new(operand), name: parser.parse_identifier()? })
}

pub(crate) fn cast_call(operand: Expr, type_name: &str) -> Expr {
    call("CAST", vec![operand, text(type_name)])
}

/// `1::T` reads T from the text `1`, so that `0.1::Decimal(9, 1)` loses nothing.
fn cast_operand(operand: &Expr) -> Expr {
    match operand {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => text(digits.replace('_', "")),
            _ => operand.clone(),
        },
        other => other.clone(),
    }
}

/// `condition ? a : b`; the tokenizer glues digits to the mark: `x ?1:0`.
fn ternary(mark: &str, parser: &mut Parser<'_>, condition: &Expr) -> Parsed {
    parser.advance_token();
    let glued = &mark[1..];
    let then = if glued.is_empty() { parser.parse_expr()? } else { number(glued) };
    parser.expect_token(&Token::Colon)?;
    let otherwise = parser.parse_expr()?;
    Ok(call("if", vec![condition.clone(), then, otherwise]))
}

/// `t.1` and `t.1.2`; the tokenizer reads `.1.2` as `.1` and `.2`.
fn tuple_elements(tuple: Expr, dotted: &str) -> Expr {
    dotted
        .split('.')
        .filter(|position| !position.is_empty())
        .fold(tuple, |tuple, position| call("tupleElement", vec![tuple, number(position)]))
}

/// `IN` followed by something else than a list in parentheses: `IN [1, 2]`, `IN tuple(1, 2)`, `IN table`, `IN ()`.
fn membership(negated: bool, parser: &mut Parser<'_>, left: &Expr) -> Option<Parsed> {
    let operand = usize::from(negated) + 1;
    let in_word =
        matches!(&parser.peek_nth_token_ref(operand - 1).token, Token::Word(word) if is(word, "IN"));
    let opens = matches!(parser.peek_nth_token_ref(operand).token, Token::LParen);
    let is_empty = opens && matches!(parser.peek_nth_token_ref(operand + 1).token, Token::RParen);
    if !in_word || opens && !is_empty {
        return None;
    }
    for _ in 0..operand + if is_empty { 2 } else { 0 } {
        parser.advance_token();
    }
    if is_empty {
        return Some(Ok(Expr::InList { expr: Box::new(left.clone()), list: vec![], negated }));
    }
    let parsed = parser.parse_subexpr(DIALECT.prec_value(Precedence::Between));
    Some(parsed.and_then(|set| {
        let expr = Box::new(left.clone());
        match set {
            array @ Expr::Array(_) => {
                // The parentheses tell it from an array that is the only element of a list.
                Ok(Expr::InList { expr, list: vec![Expr::Nested(Box::new(array))], negated })
            }
            Expr::Function(function) if is_call_of(&function, &["array"]) => {
                let array = Expr::Nested(Box::new(Expr::Function(function)));
                Ok(Expr::InList { expr, list: vec![array], negated })
            }
            Expr::Function(function) if is_call_of(&function, &["tuple"]) => {
                Ok(Expr::InList { expr, list: plain_args(&function), negated })
            }
            Expr::Function(function) if makes_array(&name_of(&function)) => {
                let found = call("has", vec![Expr::Function(function), *expr]);
                Ok(if negated { call("not", vec![found]) } else { found })
            }
            // What it is tells its type: an array is a set.
            function @ Expr::Function(_) => Ok(Expr::InList { expr, list: vec![function], negated }),
            Expr::Identifier(name) => {
                Ok(Expr::InSubquery { expr, subquery: whole_table(vec![name]), negated })
            }
            Expr::CompoundIdentifier(names) => {
                Ok(Expr::InSubquery { expr, subquery: whole_table(names), negated })
            }
            constant @ Expr::Value(_) => Ok(Expr::InList { expr, list: vec![constant], negated }),
            _ => parser
                .expected_ref("a list, an array, a table or a subquery after IN", parser.peek_token_ref()),
        }
    }))
}

/// Functions whose result is an array, whatever they are given.
fn makes_array(function: &str) -> bool {
    let starts = ["splitBy", "arrayMap", "arrayFilter", "arraySort", "arrayDistinct", "arrayConcat"];
    function == "range" || starts.iter().any(|start| function.starts_with(start))
}

fn is_call_of(function: &Function, names: &[&str]) -> bool {
    names.iter().any(|name| name_of(function).eq_ignore_ascii_case(name))
}

/// The text that a literal is.
pub fn text_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// Arguments that are plain expressions.
pub fn plain_args(function: &Function) -> Vec<Expr> {
    let FunctionArguments::List(list) = &function.args else { return vec![] };
    let plain = |arg: &FunctionArg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    };
    list.args.iter().filter_map(plain).collect()
}

/// `SELECT * FROM table`.
fn whole_table(names: Vec<Ident>) -> Box<Query> {
    let table = sqlparser::ast::Table {
        schema_name: (names.len() > 1).then(|| names[0].value.clone()),
        table_name: names.last().map(|name| name.value.clone()),
    };
    Box::new(Query {
        with: None,
        body: Box::new(SetExpr::Table(Box::new(table))),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: vec![],
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: vec![],
    })
}
