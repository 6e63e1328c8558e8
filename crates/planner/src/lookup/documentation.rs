//! The functions a session has, as a reference lists them.

use crate::scalar::{dict_names, format_query, join_get};
use aggregates::scalars;

/// One name a function can be called by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DocumentedFunction {
    pub name: String,
    pub is_aggregate: bool,
    pub case_insensitive: bool,
    /// The name that an alias stands for; empty for others.
    pub alias_to: String,
    pub description: String,
    pub syntax: String,
    pub example: String,
}

/// Every function and alias, by name.
pub fn documented_functions() -> Vec<DocumentedFunction> {
    let mut all = Vec::new();
    let planned = format_query::functions().iter().chain(join_get::functions());
    let planned = planned.chain(dict_names::functions()).chain(scalars::functions());
    for function in functions::all().iter().chain(planned) {
        // The forms with and without a lambda are one function to a reader.
        let doc = functions::lambda_function(function.name).map_or(function.doc, |form| form.doc);
        let row = |name: &str, alias_to: &str| DocumentedFunction {
            name: name.to_owned(),
            is_aggregate: false,
            case_insensitive: function.case_insensitive,
            alias_to: alias_to.to_owned(),
            description: doc.description.to_owned(),
            syntax: doc.signature.to_owned(),
            example: doc.example.to_owned(),
        };
        all.push(row(function.name, ""));
        all.extend(function.aliases.iter().map(|alias| row(alias, function.name)));
    }
    let only_with_lambda =
        functions::lambda_functions().iter().filter(|function| functions::lookup(function.name).is_none());
    for function in only_with_lambda {
        all.push(DocumentedFunction {
            name: function.name.to_owned(),
            is_aggregate: false,
            case_insensitive: false,
            alias_to: String::new(),
            description: function.doc.description.to_owned(),
            syntax: function.doc.signature.to_owned(),
            example: function.doc.example.to_owned(),
        });
    }
    for function in aggregates::documentation() {
        let row = |name: &str, alias_to: &str| DocumentedFunction {
            name: name.to_owned(),
            is_aggregate: true,
            case_insensitive: function.any_case,
            alias_to: alias_to.to_owned(),
            description: function.description.to_owned(),
            syntax: function.syntax.to_owned(),
            example: function.example.to_owned(),
        };
        all.push(row(function.name, ""));
        all.extend(function.aliases.iter().map(|alias| row(alias, function.name)));
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}
