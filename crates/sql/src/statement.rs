//! Everything a client can ask, as one enum.
//!
//! Invariant: what a [`Statement`] says was understood; a clause that is accepted without effect is in `warnings`.
//! Must not know: whether the names in it exist.

use std::fmt;
use std::ops::Range;

use model::{ColumnType, ConstraintKind, DefaultKind, EngineArguments, TableEngine};
use sqlparser::ast;

use lexer::depth::Measure;

mod mutation;
mod parts_change;
mod refresh;
mod alter;
mod create_view;
pub mod dictionary;
mod query_of;
mod system;
mod written_mode;

pub use alter::{
    Alter, AlterCommand, ClausePlace, ColumnPlace, ColumnProperty, IndexClause, ProjectionClause,
    RenamedTable,
};
pub use create_view::{CreateView, Materialized, VIEW_SETTINGS};
pub use model::likeness::names::NameFilter;
pub use mutation::{Mutation, Partition, PartitionTransfer, RowChange, RowCommand, TransferKind};
pub use parts_change::{NamedParts, PartsChange, PartsChangeKind};
pub use refresh::{Interval, IntervalUnit, Refresh, Retries, When};
pub use settings::{SettingChange, SettingText};
pub use system::{SystemCommand, ViewCommand};
pub use written_mode::WrittenMode;

/// `table` or `database.table`.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct TableName {
    pub database: Option<String>,
    pub table: String,
}

/// One statement and where it stood in the text.
#[derive(Clone, PartialEq, Debug)]
pub struct ParsedStatement {
    pub statement: Statement,
    /// Byte range, without the closing `;`.
    pub range: Range<usize>,
    /// One sentence for each clause accepted without effect.
    pub warnings: Vec<String>,
    pub output: Output,
    /// How deep it is, and how large.
    pub measure: Measure,
}

/// What may stand in or behind any statement: SETTINGS, FORMAT, INTO OUTFILE.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Output {
    pub settings: Vec<SettingChange>,
    pub format: Option<String>,
    pub outfile: Option<Outfile>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Statement {
    Query(Query),
    Insert(Box<Insert>),
    CreateTable(Box<CreateTable>),
    CreateView(Box<CreateView>),
    CreateDictionary(Box<dictionary::CreateDictionary>),
    DropDictionary {
        dictionaries: Vec<TableName>,
        if_exists: bool,
    },
    DropView {
        views: Vec<TableName>,
        if_exists: bool,
    },
    Alter(Box<Alter>),
    Mutate(Box<Mutation>),
    TransferPartition(Box<PartitionTransfer>),
    ChangeParts(Box<PartsChange>),
    CreateDatabase {
        name: String,
        if_not_exists: bool,
        comment: String,
    },
    DropDatabase {
        name: String,
        if_exists: bool,
    },
    DropTable {
        tables: Vec<TableName>,
        if_exists: bool,
    },
    /// DROP TEMPORARY TABLE: of the session, never of a database.
    DropTemporaryTables {
        names: Vec<String>,
        if_exists: bool,
    },
    Truncate {
        table: TableName,
        if_exists: bool,
    },
    /// All tables of a database: emptied, or with `drops` dropped.
    TruncateDatabase {
        name: String,
        if_exists: bool,
        drops: bool,
    },
    Describe(Described),
    Show(Show),
    Exists {
        what: ExistsKind,
    },
    Use {
        database: String,
    },
    Set(Vec<SettingChange>),
    Optimize(Optimize),
    System(SystemCommand),
    Explain(Explain),
    Rename(Vec<RenamedTable>),
    RenameDatabase {
        from: String,
        to: String,
    },
    Exchange(TableName, TableName),
    /// KILL QUERY WHERE condition over `system.processes`; the query finds those it means.
    KillQuery {
        victims: Box<Query>,
        mode: KillMode,
    },
    CheckTable {
        table: TableName,
    },
    /// DETACH TABLE or VIEW.
    Detach {
        table: TableName,
        if_exists: bool,
        is_permanent: bool,
        is_view: bool,
    },
    Attach {
        table: TableName,
        if_not_exists: bool,
    },
    Function(FunctionChange),
    Collection(CollectionChange),
    /// Goes on with an open load. `database`: whose label it is, the current one if absent.
    ResumeLoad {
        database: Option<String>,
        label: String,
    },
    /// Gives an open load up.
    CancelLoad {
        database: Option<String>,
        label: String,
    },
}

/// What KILL QUERY does with the statements it finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KillMode {
    /// Asks them to stop.
    Async,
    /// Waits until they have.
    Sync,
    /// Only says which they are.
    Test,
}

/// What happens to a named collection.
#[derive(Clone, PartialEq, Debug)]
pub enum CollectionChange {
    Create { name: String, if_not_exists: bool, entries: Vec<CollectionEntry> },
    Alter { name: String, if_exists: bool, set: Vec<CollectionEntry>, deleted: Vec<String> },
    Drop { name: String, if_exists: bool },
}

/// What happens to a function that statements make.
#[derive(Clone, PartialEq, Debug)]
pub enum FunctionChange {
    Create { name: String, if_not_exists: bool, or_replace: bool, lambda: Box<ast::Expr> },
    Drop { name: String, if_exists: bool },
}

/// `key = value`, and whether a call may override it. Does not print its value.
#[derive(Clone, PartialEq, Eq)]
pub struct CollectionEntry {
    pub key: String,
    pub value: String,
    /// `None`: neither OVERRIDABLE nor NOT OVERRIDABLE was written.
    pub overridable: Option<bool>,
}

impl fmt::Debug for CollectionEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = [HIDDEN]", self.key)
    }
}

/// A SELECT. The clauses behind it are those of the statement's [`Output`], repeated here when it is the statement.
#[derive(Clone, PartialEq, Debug)]
pub struct Query {
    pub ast: Box<ast::Query>,
    pub settings: Vec<SettingChange>,
    pub format: Option<String>,
    pub outfile: Option<Outfile>,
}

/// `INTO OUTFILE 'path' [APPEND|TRUNCATE] [AND STDOUT] [COMPRESSION 'method' [LEVEL n]]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outfile {
    pub path: String,
    pub truncate: bool,
    pub append: bool,
    /// The answer is shown, too.
    pub and_stdout: bool,
    pub compression: Option<String>,
    pub level: Option<u32>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Insert {
    pub target: InsertTarget,
    /// Of INSERT INTO FUNCTION.
    pub partition_by: Option<Box<ast::Expr>>,
    /// `None`: all columns that take values.
    pub columns: Option<Vec<String>>,
    /// Of `(* EXCEPT (a))`: all columns that take values but these.
    pub except: Vec<String>,
    /// OVERWRITE: its rows take the place of those that are there.
    pub overwrites: bool,
    /// Of OVERWRITE: only those of these partitions; of all, if none are named.
    pub partitions: Vec<Partition>,
    /// WITH LABEL, as written.
    pub label: Option<String>,
    pub source: InsertSource,
    /// All SETTINGS of the statement, wherever they stood.
    pub settings: Vec<SettingChange>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum InsertTarget {
    Table(TableName),
    /// INSERT INTO FUNCTION f(..).
    Function(Box<ast::Function>),
}

/// Where the rows are. Ranges are byte ranges of the text given to the parser.
#[derive(Clone, PartialEq, Debug)]
pub enum InsertSource {
    /// Text of `(..), (..)`. Empty: the rows come in the request's body.
    Values(Range<usize>),
    Select(Query),
    /// Data in this format: the range, then the request's body.
    Format {
        name: String,
        data: Range<usize>,
    },
    Infile {
        path: String,
        compression: Option<String>,
        format: Option<String>,
    },
}

#[derive(Clone, PartialEq, Debug)]
pub struct CreateTable {
    pub name: TableName,
    /// Lives in the session and is seen by no other.
    pub temporary: bool,
    pub if_not_exists: bool,
    pub or_replace: bool,
    pub source: CreateSource,
    /// With the rows of the table that is its source.
    pub clones: bool,
    /// `None`: not written; MergeTree unless the source is a table, whose engine is taken.
    pub engine: Option<TableEngine>,
    /// What stood in the engine's parentheses, as an engine outside takes it.
    pub engine_arguments: EngineArguments,
    pub partition_by: Vec<ast::Expr>,
    /// `PARTITION BY tuple()` is written.
    pub unpartitioned: bool,
    /// `None`: not written. `Some(vec![])`: `tuple()`.
    pub order_by: Option<Vec<ast::Expr>>,
    pub primary_key: Option<Vec<ast::Expr>>,
    pub sample_by: Option<ast::Expr>,
    /// Keys whose text does not follow from their expressions, by their clause.
    pub written_keys: Vec<(&'static str, ast::Expr)>,
    /// Of an engine whose rows of equal key become one.
    pub mode: Option<WrittenMode>,
    /// `MergeTree(date, key, 8192)`: its arguments, as one tuple. The clauses they stand for are in the other fields.
    pub old_syntax: Option<ast::Expr>,
    pub settings: Vec<SettingChange>,
    /// Clauses kept verbatim: keyword and text.
    pub kept: Vec<(String, String)>,
    pub constraints: Vec<ConstraintSpec>,
    pub comment: String,
}

/// `CONSTRAINT name CHECK expression`.
#[derive(Clone, PartialEq, Debug)]
pub struct ConstraintSpec {
    pub name: String,
    pub kind: ConstraintKind,
    pub expression: ast::Expr,
}

/// Where the columns come from.
#[derive(Clone, PartialEq, Debug)]
pub enum CreateSource {
    Columns(Vec<ColumnSpec>),
    /// CREATE TABLE a AS b.
    Table(TableName),
    /// CREATE TABLE a [(columns)] [EMPTY] AS SELECT; `empty`: only the columns.
    Select {
        columns: Vec<ColumnSpec>,
        query: Box<Query>,
        empty: bool,
    },
}

/// A column as written. `column_type` is missing when a DEFAULT decides it.
#[derive(Clone, PartialEq, Debug)]
pub struct ColumnSpec {
    pub name: String,
    pub column_type: Option<ColumnType>,
    pub default: Option<(DefaultKind, ast::Expr)>,
    pub comment: String,
    pub codec: Option<String>,
    pub ttl: Option<ast::Expr>,
    /// The function of `SimpleAggregateFunction(function, type)`.
    pub combined_by: Option<std::sync::Arc<str>>,
    /// Written as Nested(..): with `flatten_nested` it is a column for each of its names.
    pub is_nested: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Described {
    Table(TableName),
    Function(Box<ast::Function>),
    Query(Query),
}

#[derive(Clone, PartialEq, Debug)]
pub enum Show {
    /// What a SELECT over system tables answers.
    Rows(Box<Query>),
    /// The same, of a database that must exist; `None`: the current one.
    RowsOf {
        database: Option<String>,
        query: Box<Query>,
    },
    CreateTable {
        name: TableName,
        what: Created,
    },
    CreateDatabase(String),
    /// SHOW INDEX.
    Index(TableName),
    /// `changed`: only settings that differ from their default.
    Settings {
        changed: bool,
        filter: NameFilter,
    },
    /// StarRocks' SHOW PROFILELIST.
    ProfileList {
        limit: Option<u64>,
    },
    /// StarRocks' ANALYZE PROFILE FROM 'query id'.
    Profile {
        query_id: String,
    },
    Load {
        database: Option<String>,
        label: NameFilter,
        limit: Option<u64>,
    },
}

/// Whose definition SHOW CREATE wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Created {
    /// Of any kind.
    Table,
    View,
    Dictionary,
    Temporary,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExistsKind {
    Database(String),
    Table(TableName),
    View(TableName),
    TemporaryTable(String),
    Dictionary(TableName),
}

#[derive(Clone, PartialEq, Debug)]
pub struct Optimize {
    pub table: TableName,
    pub partition: Option<Partition>,
    pub is_final: bool,
    /// DEDUPLICATE, with the columns of BY as they are written; empty without.
    pub deduplicate: Option<String>,
    pub settings: Vec<SettingChange>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Explain {
    pub kind: ExplainKind,
    /// `EXPLAIN PLAN header = 1 ..`.
    pub options: Vec<SettingChange>,
    pub statement: Box<Statement>,
    /// FORMAT of the explanation itself.
    pub format: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExplainKind {
    Plan,
    Ast,
    Syntax,
    Pipeline,
    Estimate,
    Analyze,
    /// How an INSERT SELECT would be carried out.
    Load,
}

impl Statement {
    /// Copies the trailing clauses into the statements that carry them.
    pub(crate) fn with_output(mut self, output: &Output) -> Self {
        match &mut self {
            Statement::Query(query) => {
                query.settings.clone_from(&output.settings);
                query.format.clone_from(&output.format);
                query.outfile.clone_from(&output.outfile);
            }
            Statement::Insert(insert) => insert.settings.clone_from(&output.settings),
            Statement::Optimize(optimize) => optimize.settings.clone_from(&output.settings),
            Statement::Explain(explain) => {
                // FORMAT Null is for the rows of what is explained; the explanation is shown.
                let shown = output.format.as_ref().filter(|format| !format.eq_ignore_ascii_case("Null"));
                explain.format = shown.cloned();
                if let Statement::Query(query) = explain.statement.as_mut() {
                    query.settings.clone_from(&output.settings);
                }
            }
            _ => {}
        }
        self
    }
}

impl From<Box<ast::Query>> for Query {
    fn from(ast: Box<ast::Query>) -> Self {
        Query { ast, settings: vec![], format: None, outfile: None }
    }
}

impl TableName {
    pub fn new(database: Option<&str>, table: &str) -> Self {
        Self { database: database.map(str::to_owned), table: table.to_owned() }
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.database {
            Some(database) => write!(f, "{database}.{}", self.table),
            None => f.write_str(&self.table),
        }
    }
}
