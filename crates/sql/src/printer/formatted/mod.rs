//! Queries and expressions as ClickHouse prints them, for people to read: SHOW CREATE, EXPLAIN SYNTAX, `formatQuery`.
//!
//! Recursive: expressions have queries in them. Invariant: what is printed reads back as what prints so again; it means
//! what was written. Must not know: what is stored (`printed` makes those texts), the catalog.

mod calls;
mod expression;
mod literals;
mod order;
mod page;
mod plain;
mod select;
mod tables;

use sqlparser::ast::{self, Expr, Value};

use crate::printer::label::literal;
use crate::statement::{Outfile, Query, SettingText};
use lexer::escape::{quote_name, quote_text};
pub use page::Layout;
pub(crate) use page::Page;

/// An expression on one line.
pub fn formatted_expression(expr: &Expr) -> String {
    let mut page = Page::new(Layout::ON_ONE_LINE);
    expression::expression(&mut page, expr);
    page.finished()
}

/// A query with all that stands behind it.
pub fn formatted_query(query: &Query, layout: Layout) -> String {
    let mut page = Page::new(layout);
    select::query(&mut page, &query.ast);
    if let Some(outfile) = &query.outfile {
        page.line();
        page.push(&shown_outfile(outfile));
    }
    if !query.settings.is_empty() {
        page.line();
        page.push("SETTINGS ");
        page.separated(&query.settings, |page, change| {
            let value = match &change.value {
                SettingText::Bare(text) if text.parse::<f64>().is_ok() => {
                    literal(&Value::Number(text.clone(), false))
                }
                SettingText::Bare(text)
                    if ["true", "false"].contains(&text.to_ascii_lowercase().as_str()) =>
                {
                    text.to_ascii_lowercase()
                }
                SettingText::Bare(text) => text.clone(),
                SettingText::Quoted(text) => quote_text(text),
                SettingText::Default => "DEFAULT".to_owned(),
            };
            page.push(&format!("{} = {value}", quote_name(&change.name)));
        });
    }
    if let Some(format) = &query.format {
        page.line();
        page.push("FORMAT ");
        page.name(format);
    }
    page.finished()
}

/// A query without what stands behind it, on a page that goes on.
pub(crate) fn write_query(page: &mut Page, query: &ast::Query) {
    select::query(page, query);
}

/// One key behind a word, several on lines of their own.
pub(crate) fn write_keys<'a>(page: &mut Page, keys: impl ExactSizeIterator<Item = &'a Expr>) {
    page.listed(keys, expression::expression);
}

fn shown_outfile(outfile: &Outfile) -> String {
    let mut text = format!("INTO OUTFILE {}", quote_text(&outfile.path));
    let words =
        [(outfile.append, " APPEND"), (outfile.truncate, " TRUNCATE"), (outfile.and_stdout, " AND STDOUT")];
    words.iter().filter(|(said, _)| *said).for_each(|(_, word)| text.push_str(word));
    if let Some(method) = &outfile.compression {
        text.push_str(&format!(" COMPRESSION {}", quote_text(method)));
        if let Some(level) = outfile.level {
            text.push_str(&format!(" LEVEL {level}"));
        }
    }
    text
}

#[cfg(test)]
mod tests;
