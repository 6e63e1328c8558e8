//! What CREATE VIEW and CREATE MATERIALIZED VIEW say.

use lexer::escape::quote_text;
use model::KeptClause;

use super::{ColumnSpec, CreateTable, Query, Refresh, SettingChange, SettingText, TableName};

#[derive(Clone, PartialEq, Debug)]
pub struct CreateView {
    pub name: TableName,
    pub if_not_exists: bool,
    pub or_replace: bool,
    /// Empty: those of the SELECT.
    pub columns: Vec<ColumnSpec>,
    pub query: Query,
    pub comment: String,
    pub materialized: Option<Materialized>,
    /// Its SELECT is run by the clock, and sees no INSERTs.
    pub refresh: Option<Refresh>,
    /// EMPTY: the first run is not at once.
    pub is_empty: bool,
    /// SETTINGS of the SELECT.
    pub settings: Vec<SettingChange>,
}

impl CreateView {
    /// By what the view remembers the settings of its SELECT.
    pub fn kept_settings(&self) -> Option<KeptClause> {
        let shown = |change: &SettingChange| match &change.value {
            SettingText::Bare(text) => Some(format!("{} = {text}", change.name)),
            SettingText::Quoted(text) => Some(format!("{} = {}", change.name, quote_text(text))),
            SettingText::Default => None,
        };
        let shown: Vec<String> = self.settings.iter().filter_map(shown).collect();
        (!shown.is_empty())
            .then(|| KeptClause { keyword: VIEW_SETTINGS.into(), text: shown.join(", ").into() })
    }
}

/// The clause by which a view remembers the settings of its SELECT.
pub const VIEW_SETTINGS: &str = "SELECT SETTINGS";

/// Where the rows of a materialized view go.
#[derive(Clone, PartialEq, Debug)]
pub enum Materialized {
    /// TO: a table that is there.
    To(TableName),
    /// A table of the view's own, whose engine and keys the statement gives. `populate`: with the rows that are there.
    Own { table: Box<CreateTable>, populate: bool },
}
