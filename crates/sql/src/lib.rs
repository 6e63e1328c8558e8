//! SQL text -> statements, and ClickHouse's SQL on top of DataFusion's planner.
//!
//! Invariant: unknown syntax is an error with ClickHouse's code, never ignored. Must not know: storage, sessions,
//! protocols.

pub mod error;
pub mod escape;
mod scan;
mod chains;
mod constants;
mod arriving;
mod depth;
pub mod statement;
mod types;
mod dialect;
mod tokens;
mod clauses;
mod head;
mod label;
mod printed;
mod constant_rows;
pub mod table_functions;
mod parse;
pub mod parser;
mod named_functions;
mod named_tables;
pub mod settings;
pub mod nodes;
mod relations;
pub mod guard;
pub mod table_text;
pub mod functions;
mod names;
pub mod rewrite;
pub mod columns;

pub use crate::functions::{
    DocumentedFunction, configure, documented_functions, typed_expression, with_session_values,
};
pub use arriving::{Arrived, arrived};
pub use constant_rows::{constant_column, constant_rows};
pub use depth::Measure;
pub use error::{ErrorCode, Result, SqlError};
pub use guard::{guard, guard_expression};
pub use label::display_name;
pub use named_functions::named_functions;
pub use named_tables::{Replace, WrittenCall, qualified, replace_tables};
pub use named_tables::{arguments_of, written_call};
pub use parser::{measured_query, parse, parse_constraint, parse_expression, parse_one, parse_query};
pub use printed::{printed, printed_query};
pub use rewrite::shown_name;
pub use rewrite::{Prepared, RewriteContext, prepare, prepare_expression};
pub use scan::{Lexeme, is_blank, lexemes, lexemes_at, next_statement};
pub use settings::{
    SettingDef, SettingEffect, SettingKind, SettingValue, Settings, session_settings, table_settings,
};
pub use sqlparser::ast::Expr;
pub use statement::{Alter, AlterCommand, ColumnPlace, ColumnProperty, CreateView};
pub use statement::{
    CollectionChange, CollectionEntry, ColumnSpec, ConstraintSpec, CreateSource, CreateTable, Created,
    Described, ExistsKind, Explain, ExplainKind, Insert, InsertSource, InsertTarget, KillMode, NameFilter,
    Optimize, Outfile, Output, ParsedStatement, Partition, Query, SettingChange, SettingText, Show,
    Statement, SystemCommand, TableName,
};
pub use table_functions::{
    CallArgument, CallValue, PLACEHOLDER_DATABASE, TableFunctionCall, arguments_of_text, table_function_call,
};
pub use table_text::{
    display_expression, engine_name, show_create_table, show_create_temporary_table, storage_text,
    stored_expr,
};
