//! A dictionary as text: the statement that makes it, and the SELECT that reads its rows.
//!
//! Invariant: what is printed is read again as the same. Must not know: which tables there are.

use sqlparser::ast;

use crate::grammar::dictionary::body;
use crate::parser::parse_query;
use crate::printer::formatted::{Layout, Page};
use crate::printer::printed::printed_query;
use crate::reader::head::{Head, ident};
use crate::reader::tokens::tokenize;
use crate::statement::dictionary::{Dictionary, DictionaryAttribute, DictionarySource, SourceValue};
use lexer::error::{Result, SqlError};
use lexer::escape::{always_quote_name, quote_name, quote_text};

/// The column that says of every row that it is there.
pub const IS_THERE: &str = "_is_there";

/// The dictionary of which this is the text.
///
/// # Errors
/// It is none.
pub fn dictionary_of_text(text: &str) -> Result<Dictionary> {
    let mut head = Head::new(text, 0, tokenize(text)?)?;
    let measure = head.measure;
    measure.run(|| Ok(body(&mut head)?.0))
}

/// What is kept of a dictionary.
pub fn dictionary_text(dictionary: &Dictionary) -> String {
    let mut page = Page::new(Layout::ON_ONE_LINE);
    write(&mut page, dictionary);
    page.finished()
}

/// What stands behind the name in SHOW CREATE.
pub(crate) fn write(page: &mut Page, dictionary: &Dictionary) {
    page.push("(");
    page.inside(|page| {
        page.edge();
        for (at, attribute) in dictionary.attributes.iter().enumerate() {
            if at > 0 {
                page.push(",");
                page.line();
            }
            page.push(&attribute_text(attribute));
        }
    });
    page.edge();
    page.push(")");
    page.line();
    let keys: Vec<String> = dictionary.primary_key.iter().map(|key| quote_name(key)).collect();
    page.push(&format!("PRIMARY KEY {}", keys.join(", ")));
    page.line();
    page.push(&format!("SOURCE({})", source_text(&dictionary.source)));
    if let Some((least, most)) = dictionary.lifetime {
        page.line();
        page.push(&format!("LIFETIME(MIN {least} MAX {most})"));
    }
    page.line();
    let arguments: Vec<String> =
        dictionary.layout.arguments.iter().map(|(name, value)| format!("{name} {value}")).collect();
    page.push(&format!("LAYOUT({}({}))", dictionary.layout.kind.word(), arguments.join(" ")));
    if !dictionary.settings.is_empty() {
        let settings: Vec<String> =
            dictionary.settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        page.line();
        page.push(&format!("SETTINGS({})", settings.join(", ")));
    }
}

fn attribute_text(attribute: &DictionaryAttribute) -> String {
    let mut text = format!("{} {}", always_quote_name(&attribute.name), attribute.column_type);
    if let Some(default) = &attribute.default {
        text.push_str(&format!(" DEFAULT {default}"));
    }
    if let Some(expression) = &attribute.expression {
        text.push_str(&format!(" EXPRESSION {expression}"));
    }
    let flags = [
        (attribute.is_hierarchical, " HIERARCHICAL"),
        (attribute.is_injective, " INJECTIVE"),
        (attribute.is_object_id, " IS_OBJECT_ID"),
    ];
    flags.iter().filter(|(is_set, _)| *is_set).for_each(|(_, word)| text.push_str(word));
    text
}

fn source_text(source: &DictionarySource) -> String {
    let DictionarySource::ClickHouse(parameters) = source else { return "NULL()".to_owned() };
    let parameter = |(name, value): &(String, SourceValue)| match value {
        SourceValue::Text(text) => format!("{name} {}", quote_text(text)),
        SourceValue::Number(number) => format!("{name} {number}"),
        SourceValue::CurrentDatabase => format!("{name} currentDatabase()"),
    };
    format!("CLICKHOUSE({})", parameters.iter().map(parameter).collect::<Vec<_>>().join(" "))
}

impl Dictionary {
    /// The same, where what a call in its source stands for is known.
    pub fn in_database(mut self, database: &str) -> Dictionary {
        if let DictionarySource::ClickHouse(parameters) = &mut self.source {
            let calls = parameters.iter_mut().filter(|(_, value)| *value == SourceValue::CurrentDatabase);
            calls.for_each(|(_, value)| *value = SourceValue::Text(database.to_owned()));
        }
        self
    }

    fn parameter(&self, wanted: &str) -> Option<&str> {
        let DictionarySource::ClickHouse(parameters) = &self.source else { return None };
        let found = parameters.iter().find(|(name, _)| name == wanted);
        match found.map(|(_, value)| value) {
            Some(SourceValue::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Texts of its source, and of expressions that it is asked for.
    pub fn source_texts(&self) -> impl Iterator<Item = &str> {
        let parameters: &[(String, SourceValue)] = match &self.source {
            DictionarySource::ClickHouse(parameters) => parameters,
            DictionarySource::Null => &[],
        };
        let texts = parameters.iter().filter_map(|(_, value)| match value {
            SourceValue::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.chain(self.attributes.iter().filter_map(|attribute| attribute.expression.as_deref()))
    }

    /// `system.dictionaries.source`; `database` is the dictionary's.
    pub fn shown_source(&self, database: &str) -> String {
        match (&self.source, self.parameter("TABLE")) {
            (DictionarySource::Null, _) => "Null".to_owned(),
            (_, Some(table)) => format!("ClickHouse: {}.{table}", self.parameter("DB").unwrap_or(database)),
            _ => format!("ClickHouse: {}", self.parameter("QUERY").unwrap_or_default()),
        }
    }

    /// A SELECT of all rows of the source, with keys first, then attributes, and then [`IS_THERE`]; `database` is the
    /// dictionary's.
    ///
    /// # Errors
    /// The query of its source is none.
    pub fn rows_text(&self, database: &str) -> Result<String> {
        let keys = self.keys();
        let typed = |name: &str, column_type: &model::ColumnType| {
            let (name, text) = (always_quote_name(name), quote_text(&column_type.to_string()));
            format!("_CAST({name}, {text}) AS {name}")
        };
        let columns = keys.iter().map(|(key, column_type)| typed(&key.name, column_type));
        let columns = columns.chain(self.values().map(|value| typed(&value.name, &value.column_type)));
        let columns: Vec<String> = columns.collect();
        let from = self.source_select(database)?;
        Ok(format!("SELECT {}, toUInt8(1) AS {IS_THERE} FROM ({from})", columns.join(", ")))
    }

    /// A SELECT of its rows, of each key one: what stands where its name does.
    ///
    /// # Errors
    /// As [`Dictionary::rows_text`].
    pub fn select_text(&self, database: &str) -> Result<String> {
        let rows = self.rows_text(database)?;
        let names = |all: &mut dyn Iterator<Item = &DictionaryAttribute>| -> Vec<String> {
            all.map(|attribute| always_quote_name(&attribute.name)).collect()
        };
        let keys = names(&mut self.keys().into_iter().map(|(key, _)| key)).join(", ");
        let values = names(&mut self.values());
        // In the order in which they were declared.
        let all = names(&mut self.attributes.iter()).join(", ");
        let kind = self.layout.kind;
        if kind.is_direct() {
            return Ok(format!("SELECT {all} FROM ({rows})"));
        }
        if !kind.keeps_last() || values.is_empty() {
            return Ok(format!("SELECT {all} FROM ({rows}) LIMIT 1 BY {keys}"));
        }
        let last = values.iter().enumerate();
        let last: Vec<String> =
            last.map(|(at, name)| format!("tupleElement(_last, {}) AS {name}", at + 1)).collect();
        let tuple = values.join(", ");
        let grouped =
            format!("SELECT {keys}, anyLast(tuple({tuple})) AS _last FROM ({rows}) GROUP BY {keys}");
        Ok(format!("SELECT {all} FROM (SELECT {keys}, {} FROM ({grouped}))", last.join(", ")))
    }

    /// What the source is asked for.
    fn source_select(&self, database: &str) -> Result<String> {
        let asked = |attribute: &DictionaryAttribute| match &attribute.expression {
            Some(expression) => format!("{expression} AS {}", always_quote_name(&attribute.name)),
            None => always_quote_name(&attribute.name),
        };
        let asked: Vec<String> = self.attributes.iter().map(asked).collect();
        if let Some(query) = self.parameter("QUERY") {
            return self.of_query(query, database);
        }
        let Some(table) = self.parameter("TABLE") else {
            // Of the types, and without rows.
            let empty = |attribute: &DictionaryAttribute| {
                let column_type = quote_text(&attribute.column_type.to_string());
                let name = always_quote_name(&attribute.name);
                format!("defaultValueOfTypeName({column_type}) AS {name}")
            };
            let empty: Vec<String> = self.attributes.iter().map(empty).collect();
            return Ok(format!("SELECT {} WHERE 0", empty.join(", ")));
        };
        let database = self.parameter("DB").filter(|database| !database.is_empty()).unwrap_or(database);
        let from = format!("{}.{}", always_quote_name(database), always_quote_name(table));
        let select = format!("SELECT {} FROM {from}", asked.join(", "));
        Ok(match self.parameter("WHERE") {
            Some(condition) if !condition.is_empty() => format!("{select} WHERE {condition}"),
            _ => select,
        })
    }

    /// The columns of a query are found by their names; where not all are there, by their places.
    fn of_query(&self, query: &str, database: &str) -> Result<String> {
        let database = self.parameter("DB").filter(|database| !database.is_empty()).unwrap_or(database);
        let mut query = crate::tables::names::qualified(&parse_query(query)?, database);
        let attributes: Vec<String> =
            self.attributes.iter().map(|attribute| always_quote_name(&attribute.name)).collect();
        let by_name = |query: &ast::Query| {
            Ok(format!("SELECT {} FROM ({})", attributes.join(", "), printed_query(query)))
        };
        let ast::SetExpr::Select(select) = query.body.as_mut() else { return by_name(&query) };
        let mut found = Vec::with_capacity(select.projection.len());
        for (at, item) in select.projection.iter_mut().enumerate() {
            let name = match item {
                ast::SelectItem::ExprWithAlias { alias, .. } => alias.value.clone(),
                ast::SelectItem::UnnamedExpr(ast::Expr::Identifier(name)) => name.value.clone(),
                ast::SelectItem::UnnamedExpr(expr) => {
                    let name = format!("_column{}", at + 1);
                    *item = ast::SelectItem::ExprWithAlias { expr: expr.clone(), alias: ident(&name) };
                    name
                }
                // They may be any.
                _ => return by_name(&query),
            };
            found.push(name);
        }
        let has = |attribute: &DictionaryAttribute| found.contains(&attribute.name);
        if self.attributes.iter().all(has) {
            return by_name(&query);
        }
        if found.len() != attributes.len() {
            let message = format!(
                "number of columns doesn't match: the query of the source has {}, and the dictionary {}",
                found.len(),
                attributes.len()
            );
            return Err(SqlError::new(model::ErrorCode::NUMBER_OF_COLUMNS_DOESNT_MATCH, message));
        }
        let places = found.iter().zip(&attributes);
        let places: Vec<String> =
            places.map(|(name, attribute)| format!("{} AS {attribute}", always_quote_name(name))).collect();
        Ok(format!("SELECT {} FROM ({})", places.join(", "), printed_query(&query)))
    }
}
