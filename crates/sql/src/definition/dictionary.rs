//! A dictionary as text: the statement that makes it.
//!
//! Invariant: what is printed is read again as the same. Must not know: which tables there are, and how rows are read.

use crate::grammar::dictionary::body;
use crate::printer::formatted::{Layout, Page};
use crate::reader::head::Head;
use crate::reader::tokens::tokenize;
use crate::statement::dictionary::{Dictionary, DictionaryAttribute, DictionarySource, SourceValue};
use lexer::error::Result;
use lexer::escape::{always_quote_name, quote_name, quote_text};

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
    let word = dictionary.layout.kind.word();
    page.push(&match dictionary.layout.has_parentheses {
        true => format!("LAYOUT({word}({}))", arguments.join(" ")),
        false => format!("LAYOUT({word})"),
    });
    if let Some((from, to)) = &dictionary.range {
        page.line();
        page.push(&format!("RANGE(MIN {} MAX {})", quote_name(from), quote_name(to)));
    }
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
        (attribute.is_bidirectional, " BIDIRECTIONAL"),
        (attribute.is_injective, " INJECTIVE"),
        (attribute.is_object_id, " IS_OBJECT_ID"),
    ];
    flags.iter().filter(|(is_set, _)| *is_set).for_each(|(_, word)| text.push_str(word));
    text
}

fn source_text(source: &DictionarySource) -> String {
    let parameter = |(name, value): &(String, SourceValue)| match value {
        SourceValue::Text(text) => format!("{name} {}", quote_text(text)),
        SourceValue::Name(word) => format!("{name} {}", quote_name(word)),
        SourceValue::Number(number) => format!("{name} {number}"),
        SourceValue::CurrentDatabase => format!("{name} currentDatabase()"),
    };
    let parameters: Vec<String> = source.parameters().iter().map(parameter).collect();
    format!("{}({})", source.word(), parameters.join(" "))
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

    /// A text that its source is given.
    pub fn parameter(&self, wanted: &str) -> Option<&str> {
        let found = self.source.parameters().iter().find(|(name, _)| name == wanted);
        match found.map(|(_, value)| value) {
            Some(SourceValue::Text(text) | SourceValue::Name(text)) => Some(text),
            _ => None,
        }
    }

    /// The database that its source names; an empty one is none.
    pub fn source_database(&self) -> Option<&str> {
        let found = self.parameter("DB").or_else(|| self.parameter("DATABASE"));
        found.filter(|database| !database.is_empty())
    }

    /// Texts of its source, and of expressions that it is asked for.
    pub fn source_texts(&self) -> impl Iterator<Item = &str> {
        let texts = self.source.parameters().iter().filter_map(|(_, value)| match value {
            SourceValue::Text(text) | SourceValue::Name(text) => Some(text.as_str()),
            _ => None,
        });
        texts.chain(self.attributes.iter().filter_map(|attribute| attribute.expression.as_deref()))
    }
}
