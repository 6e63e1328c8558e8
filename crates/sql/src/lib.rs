//! SQL text -> statements: what is written, as plain data, and as sqlparser's syntax tree with ClickHouse's forms in it.
//!
//! From below: `dialect` and `reader` make tokens and trees of it, `printer` makes text of trees; `grammar`
//! holds the statements, `parser` is the entry. `guard` refuses what nobody would carry out.
//!
//! Invariant: unknown syntax is an error with ClickHouse's code, never ignored. Must not know: DataFusion, what functions
//! compute, storage, sessions, protocols.

pub mod statement;
pub mod dialect;
pub mod reader;
pub mod printer;
pub mod tables;
mod grammar;
pub mod parser;
mod parameters;
pub mod guard;
pub mod table_text;
pub mod key_text;
pub mod definition;
pub mod create_text;

pub use create_text::{
    NAME_DIVIDER, VIEW_FROM, VIEW_OWN, VIEW_REFRESH, VIEW_RUN, VIEW_TO, WRITTEN_PRIMARY_KEY, sampling_key,
    show_create_table, show_create_temporary_table, shown_projection, shown_select, storage_text,
};
pub use definition::dictionary::{dictionary_of_text, dictionary_text};
pub use grammar::query::explain_of_query;
pub use grammar::refresh::refresh_of_text;
pub use guard::{guard, guard_expression};
pub use key_text::{WRITTEN, kept_keys, partition_key, primary_key, sorted_by, sorting_key};
pub use lexer;
pub use lexer::arriving::{Arrived, arrived};
pub use lexer::codec_text::shown_codec;
pub use lexer::depth::Measure;
pub use lexer::error::{Result, SqlError};
pub use lexer::escape;
pub use lexer::scan::{Lexeme, is_blank, lexemes, lexemes_at, next_statement};
pub use parameters::{bind_parameters, default_parameters, has_parameters};
pub use parser::{
    measured_query, parse, parse_constraint, parse_expression, parse_one, parse_pairs, parse_query,
    view_settings,
};
pub use printer::explained::explained_syntax;
pub use printer::formatted::{Layout, formatted_expression, formatted_query};
pub use printer::label::display_name;
pub use printer::printed::{printed, printed_query};
pub use settings;
pub use settings::{
    KnownSetting, SettingDef, SettingEffect, SettingKind, SettingValue, Settings, known_session_settings,
    known_table_settings, session_settings, table_settings,
};
pub use sqlparser::ast::Expr;
pub use statement::{
    Alter, AlterCommand, ClausePlace, CollectionChange, CollectionEntry, ColumnPlace, ColumnProperty,
    ColumnSpec, ConstraintSpec, CreateSource, CreateTable, CreateView, Created, Described, ExistsKind,
    Explain, ExplainKind, FunctionChange, IndexClause, Insert, InsertSource, InsertTarget, KillMode,
    Materialized, Mutation, NameFilter, NamedParts, Optimize, Outfile, Output, ParsedStatement, Partition,
    PartitionTransfer, PartsChange, PartsChangeKind, ProjectionClause, Query, Refresh, RenamedTable, Retries,
    RowChange, RowCommand, SettingChange, SettingText, Show, Statement, SystemCommand, TableName,
    TransferKind, VIEW_SETTINGS, ViewCommand, When, WrittenMode,
};
pub use table_text::{column_ttl, display_expression, key_texts, named_expression, stored_expr};
pub use tables::constant_rows::{constant_column, constant_rows};
pub use tables::functions::{
    CallArgument, CallValue, PLACEHOLDER_DATABASE, TableFunctionCall, arguments_of_text, table_function_call,
};
pub use tables::names::{Replace, WrittenCall, arguments_of, qualified, replace_tables, written_call};
