//! CREATE DICTIONARY and DROP DICTIONARY.
//!
//! Invariant: what would not be done is refused by its name: a source that is not there, another server, a password. Must not
//! know: which tables there are.

mod checks;

use model::ErrorCode;
use sqlparser::ast::{Expr, UnaryOperator};
use sqlparser::tokenizer::Token;

use self::checks::incorrect;
use crate::printer::formatted::formatted_expression;
use crate::reader::head::Head;
use crate::statement::dictionary::{
    CreateDictionary, Dictionary, DictionaryAttribute, DictionaryLayout, DictionarySource, LayoutKind,
    SourceValue,
};
use crate::statement::{SettingChange, SettingText, Statement};
use lexer::error::{Result, SqlError};
use lexer::escape::quote_text;

/// Behind CREATE [OR REPLACE] DICTIONARY.
pub(crate) fn create(head: &mut Head<'_>, or_replace: bool) -> Result<Statement> {
    let if_not_exists = head.if_not_exists();
    let name = head.table_name()?;
    if head.peek_word("UUID") {
        return Err(head.refuse("UUID of CREATE DICTIONARY"));
    }
    head.on_cluster()?;
    let (dictionary, comment) = body(head)?;
    checks::check_new(&dictionary)?;
    let create = CreateDictionary { name, if_not_exists, or_replace, dictionary, comment };
    Ok(Statement::CreateDictionary(Box::new(create)))
}

/// Behind DROP DICTIONARY.
pub(crate) fn drop(head: &mut Head<'_>) -> Result<Statement> {
    let if_exists = head.if_exists();
    let mut dictionaries = vec![head.table_name()?];
    while head.symbol(&Token::Comma) {
        dictionaries.push(head.table_name()?);
    }
    head.on_cluster()?;
    head.sync();
    Ok(Statement::DropDictionary { dictionaries, if_exists })
}

/// The clauses behind the name, as far as they were read.
#[derive(Default)]
struct Clauses {
    primary_key: Option<Vec<String>>,
    source: Option<DictionarySource>,
    lifetime: Option<(u64, u64)>,
    layout: Option<DictionaryLayout>,
    range: Option<(String, String)>,
    settings: Vec<(String, String)>,
    comment: String,
}

/// What stands behind the name, and the comment.
pub(crate) fn body(head: &mut Head<'_>) -> Result<(Dictionary, String)> {
    let attributes = attributes(head)?;
    let mut clauses = Clauses::default();
    while !head.at_end() {
        clause(head, &mut clauses)?;
    }
    let Clauses { primary_key, source, lifetime, layout, range, settings, comment } = clauses;
    let Some(primary_key) = primary_key else {
        return Err(incorrect("cannot create dictionary without primary key"));
    };
    let source = source.ok_or_else(|| incorrect("cannot create dictionary with empty source"))?;
    let layout = layout.ok_or_else(|| incorrect("cannot create dictionary with empty layout"))?;
    let is_direct = layout.kind.is_direct();
    match lifetime {
        None if !is_direct => return Err(incorrect("cannot create dictionary with empty lifetime")),
        Some(_) if is_direct => {
            let layout = layout.kind.word().to_lowercase();
            let message =
                format!("'lifetime' parameter is redundant for the dictionary of layout '{layout}'");
            return Err(SqlError::bad_arguments(message));
        }
        _ => {}
    }
    let dictionary = Dictionary { attributes, primary_key, source, lifetime, layout, range, settings };
    checks::check(&dictionary)?;
    Ok((dictionary, comment))
}

fn clause(head: &mut Head<'_>, clauses: &mut Clauses) -> Result<()> {
    if head.words(&["PRIMARY", "KEY"]) {
        clauses.primary_key = Some(key_names(head)?);
    } else if head.word("SOURCE") {
        clauses.source = Some(source(head)?);
    } else if head.word("LIFETIME") {
        clauses.lifetime = Some(lifetime(head)?);
    } else if head.word("LAYOUT") {
        clauses.layout = Some(layout(head)?);
    } else if head.word("RANGE") {
        clauses.range = Some(range(head)?);
    } else if head.word("SETTINGS") {
        clauses.settings = settings(head)?;
    } else if head.word("COMMENT") {
        clauses.comment = head.text("a comment")?;
    } else {
        return Err(head.expected("PRIMARY KEY, SOURCE, LIFETIME, LAYOUT, RANGE, SETTINGS or COMMENT"));
    }
    Ok(())
}

fn key_names(head: &mut Head<'_>) -> Result<Vec<String>> {
    if *head.token() == Token::LParen {
        return head.names();
    }
    let mut names = vec![head.column_name()?];
    while head.symbol(&Token::Comma) {
        names.push(head.column_name()?);
    }
    Ok(names)
}

fn attributes(head: &mut Head<'_>) -> Result<Vec<DictionaryAttribute>> {
    head.expect_symbol(&Token::LParen)?;
    let mut attributes = vec![attribute(head)?];
    // A comma may stand behind the last one.
    while head.symbol(&Token::Comma) && *head.token() != Token::RParen {
        attributes.push(attribute(head)?);
    }
    head.expect_symbol(&Token::RParen)?;
    Ok(attributes)
}

fn attribute(head: &mut Head<'_>) -> Result<DictionaryAttribute> {
    let name = head.column_name()?;
    let (column_type, combined_by) = head.declared_type()?;
    if combined_by.is_some() {
        return Err(head.refuse("SimpleAggregateFunction of a dictionary's attribute"));
    }
    let mut attribute = DictionaryAttribute {
        name,
        column_type,
        default: None,
        expression: None,
        is_hierarchical: false,
        is_bidirectional: false,
        is_injective: false,
        is_object_id: false,
    };
    loop {
        if head.word("DEFAULT") {
            let default = head.expression()?;
            if !is_literal(&default) {
                let message = format!("syntax error: DEFAULT of attribute {} is no literal", attribute.name);
                return Err(SqlError::new(ErrorCode::SYNTAX_ERROR, message));
            }
            attribute.default = Some(formatted_expression(&default));
        } else if head.word("EXPRESSION") {
            attribute.expression = Some(formatted_expression(&head.expression()?));
        } else if head.word("HIERARCHICAL") {
            attribute.is_hierarchical = true;
        } else if head.word("INJECTIVE") {
            attribute.is_injective = true;
        } else if head.word("IS_OBJECT_ID") {
            attribute.is_object_id = true;
        } else if head.word("BIDIRECTIONAL") {
            attribute.is_bidirectional = true;
        } else {
            return Ok(attribute);
        }
    }
}

fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Value(_) => true,
        Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } => {
            matches!(expr.as_ref(), Expr::Value(_))
        }
        Expr::Array(array) => array.elem.iter().all(is_literal),
        _ => false,
    }
}

fn source(head: &mut Head<'_>) -> Result<DictionarySource> {
    head.expect_symbol(&Token::LParen)?;
    let kind = head.name("a source")?.to_uppercase();
    head.expect_symbol(&Token::LParen)?;
    let source = match kind.as_str() {
        "NULL" => DictionarySource::Null,
        "CLICKHOUSE" => DictionarySource::ClickHouse(of_clickhouse(head)?),
        "FILE" => DictionarySource::File(of_outside(head, "FILE", "PATH")?),
        "HTTP" => DictionarySource::Http(of_outside(head, "HTTP", "URL")?),
        "MYSQL" | "POSTGRESQL" | "MONGODB" | "REDIS" | "EXECUTABLE" | "EXECUTABLE_POOL" | "ODBC" | "JDBC"
        | "CASSANDRA" | "YTSAURUS" | "YAMLREGEXPTREE" => {
            return Err(head.refuse(&format!("SOURCE({kind}(..)) of a dictionary")));
        }
        _ => {
            let message = format!("unknown dictionary source type: {}", kind.to_lowercase());
            return Err(SqlError::new(ErrorCode::UNKNOWN_ELEMENT_IN_CONFIG, message));
        }
    };
    head.expect_symbol(&Token::RParen)?;
    head.expect_symbol(&Token::RParen)?;
    Ok(source)
}

/// `TABLE 't' DB 'd'`, up to the closing parenthesis: a table of this server, read with the rights of who asks.
fn of_clickhouse(head: &mut Head<'_>) -> Result<Vec<(String, SourceValue)>> {
    let mut parameters: Vec<(String, SourceValue)> = Vec::new();
    while *head.token() != Token::RParen {
        let name = head.name("a parameter of the source")?.to_uppercase();
        let value = source_value(head, &name)?;
        let is_empty = value == SourceValue::Text(String::new());
        let is_one_of = |known: &[&str]| match &value {
            SourceValue::Text(text) | SourceValue::Name(text) | SourceValue::Number(text) => {
                known.contains(&text.as_str())
            }
            SourceValue::CurrentDatabase => false,
        };
        let refused = match name.as_str() {
            "HOST" => !is_one_of(&["localhost", "127.0.0.1", "::1"]),
            "PORT" => !is_one_of(&["9000"]),
            "PASSWORD" => !is_empty,
            "SECURE" => !is_one_of(&["0"]),
            "USER" | "TABLE" | "DB" | "DATABASE" | "QUERY" | "WHERE" => false,
            "INVALIDATE_QUERY" => {
                let warning = "INVALIDATE_QUERY has no effect: a dictionary is read when it is asked";
                head.warnings.push(warning.to_owned());
                false
            }
            _ => true,
        };
        if refused {
            return Err(
                head.refuse(&format!("{name} of SOURCE(CLICKHOUSE(..)), but for a table of this server,"))
            );
        }
        parameters.push((name, value));
    }
    let has = |wanted: &str| parameters.iter().any(|(name, _)| name == wanted);
    if has("TABLE") == has("QUERY") {
        return Err(SqlError::bad_arguments("SOURCE(CLICKHOUSE(..)) needs either TABLE or QUERY"));
    }
    if has("QUERY") && has("WHERE") {
        return Err(SqlError::bad_arguments("SOURCE(CLICKHOUSE(..)) with QUERY takes no WHERE"));
    }
    Ok(parameters)
}

/// `PATH '/rows.csv' FORMAT 'CSV'`, up to the closing parenthesis.
fn of_outside(head: &mut Head<'_>, kind: &str, place: &str) -> Result<Vec<(String, SourceValue)>> {
    let mut parameters: Vec<(String, SourceValue)> = Vec::new();
    while *head.token() != Token::RParen {
        let name = head.name("a parameter of the source")?.to_uppercase();
        if ![place, "FORMAT"].contains(&name.as_str()) {
            return Err(head.refuse(&format!("{name} of SOURCE({kind}(..))")));
        }
        let value = head.text("a text")?;
        parameters.push((name, SourceValue::Text(value)));
    }
    for wanted in [place, "FORMAT"] {
        if !parameters.iter().any(|(name, _)| name == wanted) {
            return Err(SqlError::bad_arguments(format!("SOURCE({kind}(..)) needs {wanted}")));
        }
    }
    Ok(parameters)
}

fn source_value(head: &mut Head<'_>, name: &str) -> Result<SourceValue> {
    let value = match head.token().clone() {
        Token::SingleQuotedString(text) => SourceValue::Text(text),
        Token::Number(digits, _) => SourceValue::Number(digits),
        Token::Word(word) if *head.token_after(1) == Token::LParen => {
            let is = |known: &str| word.value.eq_ignore_ascii_case(known);
            let value = match name {
                "PORT" if is("tcpPort") => SourceValue::Number("9000".to_owned()),
                "DB" | "DATABASE" if is("currentDatabase") => SourceValue::CurrentDatabase,
                _ => return Err(head.refuse(&format!("{} in SOURCE of a dictionary", word.value))),
            };
            head.advance();
            head.advance();
            if *head.token() != Token::RParen {
                return Err(head.expected(")"));
            }
            value
        }
        Token::Word(word) => SourceValue::Name(word.value),
        _ => return Err(head.expected_silently("a text, a name or a number")),
    };
    head.advance();
    Ok(value)
}

fn seconds(head: &mut Head<'_>) -> Result<u64> {
    let Token::Number(digits, _) = head.token().clone() else { return Err(head.expected("seconds")) };
    let seconds = digits.parse().map_err(|_| head.expected("seconds"))?;
    head.advance();
    Ok(seconds)
}

fn lifetime(head: &mut Head<'_>) -> Result<(u64, u64)> {
    head.expect_symbol(&Token::LParen)?;
    let (mut least, mut most) = (None, None);
    if matches!(head.token(), Token::Number(..)) {
        (least, most) = (Some(0), Some(seconds(head)?));
    }
    while *head.token() != Token::RParen {
        if head.word("MIN") {
            least = Some(seconds(head)?);
        } else if head.word("MAX") {
            most = Some(seconds(head)?);
        } else {
            return Err(head.expected("MIN, MAX or seconds"));
        }
    }
    head.expect_symbol(&Token::RParen)?;
    Ok((least.unwrap_or_default(), most.unwrap_or_default()))
}

/// `(MIN a MAX b)`, in any order.
fn range(head: &mut Head<'_>) -> Result<(String, String)> {
    head.expect_symbol(&Token::LParen)?;
    let (mut from, mut to) = (None, None);
    while *head.token() != Token::RParen {
        if head.word("MIN") {
            from = Some(head.column_name()?);
        } else if head.word("MAX") {
            to = Some(head.column_name()?);
        } else {
            return Err(head.expected("MIN or MAX"));
        }
    }
    let (Some(from), Some(to)) = (from, to) else { return Err(head.expected("MIN and MAX")) };
    head.expect_symbol(&Token::RParen)?;
    Ok((from, to))
}

fn layout(head: &mut Head<'_>) -> Result<DictionaryLayout> {
    head.expect_symbol(&Token::LParen)?;
    let word = head.name("a layout")?.to_uppercase();
    let Some((kind, ..)) = LayoutKind::ALL.iter().find(|(_, known, _)| *known == word) else {
        const KNOWN: [&str; 6] = [
            "SSD_CACHE",
            "COMPLEX_KEY_SSD_CACHE",
            "POLYGON",
            "POLYGON_SIMPLE",
            "POLYGON_INDEX_EACH",
            "REGEXP_TREE",
        ];
        if KNOWN.contains(&word.as_str()) || word.starts_with("POLYGON") {
            return Err(head.refuse(&format!("LAYOUT({word}(..)) of a dictionary")));
        }
        let message = format!("unknown dictionary layout type: {}", word.to_lowercase());
        return Err(SqlError::new(ErrorCode::UNKNOWN_ELEMENT_IN_CONFIG, message));
    };
    let mut arguments = Vec::new();
    let has_parentheses = head.symbol(&Token::LParen);
    if has_parentheses {
        while *head.token() != Token::RParen {
            let name = head.name("a parameter of the layout")?.to_uppercase();
            let value = match head.token().clone() {
                Token::Number(value, _) => value,
                Token::SingleQuotedString(text) => quote_text(&text),
                _ => return Err(head.expected("a number or a text")),
            };
            head.advance();
            arguments.push((name, value));
        }
        head.expect_symbol(&Token::RParen)?;
    }
    head.expect_symbol(&Token::RParen)?;
    Ok(DictionaryLayout { kind: *kind, arguments, has_parentheses })
}

/// They are about how others read sources: kept, and shown.
fn settings(head: &mut Head<'_>) -> Result<Vec<(String, String)>> {
    head.expect_symbol(&Token::LParen)?;
    let changes = head.settings()?;
    head.expect_symbol(&Token::RParen)?;
    head.warnings.push("SETTINGS of a dictionary have no effect".to_owned());
    let text = |change: SettingChange| match change.value {
        SettingText::Bare(text) => (change.name, text),
        SettingText::Quoted(text) => (change.name, quote_text(&text)),
        SettingText::Default => (change.name, "DEFAULT".to_owned()),
    };
    Ok(changes.into_iter().map(text).collect())
}
