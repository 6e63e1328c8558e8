//! Definition of a table as its user gave it.
//!
//! Invariant: column ids are never reused; expressions are kept as text over column ids (`` `#4` ``), so a renamed
//! column changes no expression. Must not know: how expressions are evaluated.

pub mod column_names;
pub mod detached_parts;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};

use crate::column_type::ColumnType;
use crate::ids::{ColumnId, DatabaseId, TableId};
use crate::merge_mode::{Combining, MergeMode, is_summed};
use crate::table_settings::TableSettings;
use crate::type_arrow::{FIELD_ID_KEY, to_field};

/// Where rows go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableEngine {
    /// Sorted parts, merged in the background.
    MergeTree,
    /// As MergeTree without any key: rows stay in the order in which they came. So are the next two, whose files differ
    /// in ClickHouse.
    Log,
    TinyLog,
    StripeLog,
    /// A log whose rows are asked by IN.
    Set,
    /// A log whose rows are the right side of joins, and what joinGet asks.
    Join,
    /// Rows live in the process and are gone with it.
    Memory,
    /// The same of a root that several servers share: all of them see the rows, so these are in parts and in the log.
    SharedMemory,
    /// Rows are counted and dropped.
    Null,
    /// Objects in a bucket, outside.
    S3,
    /// The same, behind Google's XML API.
    Gcs,
    AzureBlobStorage,
    /// What an HTTP server answers.
    Url,
    /// Local files.
    File,
    /// A SELECT under a name.
    View,
    /// A SELECT that every INSERT into the table it reads is put through; its rows go to another table.
    MaterializedView,
    /// The rows of all tables whose names match.
    Merge,
    /// Another table's name: rows go there at once.
    Buffer,
    /// The same: there is one node, and its table is all of them.
    Distributed,
    /// Rows of a source by their keys, which dictGet asks; the definition is the text of its CREATE DICTIONARY.
    Dictionary,
}

impl TableEngine {
    /// ClickHouse's word for it.
    pub fn name(self) -> &'static str {
        match self {
            TableEngine::MergeTree => "MergeTree",
            TableEngine::Log => "Log",
            TableEngine::TinyLog => "TinyLog",
            TableEngine::StripeLog => "StripeLog",
            TableEngine::Set => "Set",
            TableEngine::Join => "Join",
            TableEngine::Memory | TableEngine::SharedMemory => "Memory",
            TableEngine::Null => "Null",
            TableEngine::S3 => "S3",
            TableEngine::Gcs => "GCS",
            TableEngine::AzureBlobStorage => "AzureBlobStorage",
            TableEngine::Url => "URL",
            TableEngine::File => "File",
            TableEngine::View => "View",
            TableEngine::MaterializedView => "MaterializedView",
            TableEngine::Merge => "Merge",
            TableEngine::Buffer => "Buffer",
            TableEngine::Distributed => "Distributed",
            TableEngine::Dictionary => "Dictionary",
        }
    }

    /// Whether rows live outside: the engine's arguments say where, and the database keeps none.
    pub fn is_external(self) -> bool {
        matches!(
            self,
            TableEngine::S3
                | TableEngine::Gcs
                | TableEngine::AzureBlobStorage
                | TableEngine::Url
                | TableEngine::File
        )
    }

    /// Whether a query stands where it is named: it has no rows of its own.
    pub fn is_query(self) -> bool {
        use TableEngine::{Dictionary, MaterializedView, Merge, View};
        matches!(self, View | MaterializedView | Merge | Dictionary) || self.names_another()
    }

    /// Whether it is another table's name: rows of an INSERT are that table's.
    pub fn names_another(self) -> bool {
        matches!(self, TableEngine::Buffer | TableEngine::Distributed)
    }

    /// Whether rows are in parts and in the log.
    pub fn keeps_parts(self) -> bool {
        use TableEngine::{Join, MergeTree, Set, SharedMemory};
        matches!(self, MergeTree | SharedMemory | Set | Join) || self.is_log()
    }

    fn is_log(self) -> bool {
        matches!(self, TableEngine::Log | TableEngine::TinyLog | TableEngine::StripeLog)
    }
}

/// What stands in the parentheses behind an engine's name, as it was written; of a view its SELECT. It may hold credentials, so it does not
/// print: whoever shows it masks it first.
#[derive(Clone, PartialEq, Eq)]
pub struct EngineArguments(Arc<str>);

impl EngineArguments {
    pub fn new(text: &str) -> EngineArguments {
        EngineArguments(text.into())
    }

    /// The text, with its secrets.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl Default for EngineArguments {
    fn default() -> EngineArguments {
        EngineArguments::new("")
    }
}

impl fmt::Debug for EngineArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "" } else { "[HIDDEN]" })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DefaultKind {
    Default,
    Materialized,
    Alias,
    Ephemeral,
}

/// One column. `default` is text over column ids.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnDef {
    pub id: ColumnId,
    pub name: Arc<str>,
    pub column_type: ColumnType,
    pub default: Option<(DefaultKind, Arc<str>)>,
    pub comment: Arc<str>,
    /// Kept for SHOW CREATE TABLE; without effect.
    pub codec: Option<Arc<str>>,
    /// The function by which values of equal key become one: `SimpleAggregateFunction(max, ..)`.
    pub combined_by: Option<Arc<str>>,
}

impl ColumnDef {
    /// A column without a default, a comment or a codec.
    pub fn plain(id: u32, name: &str, column_type: ColumnType) -> ColumnDef {
        ColumnDef {
            id: ColumnId(id),
            name: name.into(),
            column_type,
            default: None,
            comment: "".into(),
            codec: None,
            combined_by: None,
        }
    }

    /// The type as it was declared.
    pub fn declared_type(&self) -> String {
        match &self.combined_by {
            Some(function) => format!("SimpleAggregateFunction({function}, {})", self.column_type),
            None => self.column_type.to_string(),
        }
    }

    /// Whether values of equal key become one by a function that the type names.
    pub fn is_combined(&self) -> bool {
        self.combined_by.is_some() || self.column_type.state().is_some()
    }

    /// Whether parts hold its values.
    pub fn is_stored(&self) -> bool {
        !matches!(self.default, Some((DefaultKind::Alias | DefaultKind::Ephemeral, _)))
    }
}

/// A clause we keep verbatim and do not act on: TTL, INDEX, PROJECTION, SAMPLE BY.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeptClause {
    pub keyword: Arc<str>,
    pub text: Arc<str>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConstraintKind {
    /// Every row that is inserted is asked.
    Check,
    /// Believed, and not checked.
    Assume,
}

/// What rows keep to. `expression` is text over column ids.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConstraintDef {
    pub name: Arc<str>,
    pub kind: ConstraintKind,
    pub expression: Arc<str>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableDef {
    pub id: TableId,
    pub database: DatabaseId,
    pub name: Arc<str>,
    pub engine: TableEngine,
    pub engine_arguments: EngineArguments,
    pub mode: MergeMode,
    /// Counts up with every change of the columns.
    pub schema_version: u32,
    /// In the user's order.
    pub columns: Vec<ColumnDef>,
    /// The id the next added column gets.
    pub next_column_id: u32,
    /// Expressions over column ids.
    pub partition_by: Vec<Arc<str>>,
    pub order_by: Vec<Arc<str>>,
    /// Counts up when ORDER BY changes.
    pub sort_key_version: u32,
    /// How many leading ORDER BY expressions PRIMARY KEY names.
    pub primary_key_len: u32,
    /// Table-level SETTINGS, name to value as text.
    pub settings: TableSettings,
    pub kept: Vec<KeptClause>,
    /// In the order in which they were given.
    pub constraints: Vec<ConstraintDef>,
    pub comment: Arc<str>,
}

/// Metadata by which a batch in storage carries its column's id.
fn field_of(column: &ColumnDef) -> Field {
    let mut field = to_field(&column.name, &column.column_type);
    let mut metadata = field.metadata().clone();
    metadata.insert(FIELD_ID_KEY.to_owned(), column.id.0.to_string());
    field.set_metadata(metadata);
    field
}

impl TableDef {
    /// A table that is its columns and nothing else: of no database, without keys, settings and clauses.
    pub fn plain(id: TableId, name: &str, engine: TableEngine, columns: Vec<ColumnDef>) -> TableDef {
        TableDef {
            id,
            database: DatabaseId::from_bytes([0; 16]),
            name: name.into(),
            engine,
            engine_arguments: EngineArguments::default(),
            mode: MergeMode::Plain,
            schema_version: 1,
            next_column_id: u32::try_from(columns.len() + 1).unwrap_or(u32::MAX),
            columns,
            partition_by: Vec::new(),
            order_by: Vec::new(),
            sort_key_version: 1,
            primary_key_len: 0,
            settings: TableSettings::new(),
            kept: Vec::new(),
            constraints: Vec::new(),
            comment: "".into(),
        }
    }

    /// The engine's name as people write it.
    pub fn engine_name(&self) -> &'static str {
        if self.engine == TableEngine::MergeTree { self.mode.engine_name() } else { self.engine.name() }
    }

    /// Whether it was defined as `MergeTree(date, key, granularity)`: its arguments are an expression over column ids.
    pub fn is_in_old_syntax(&self) -> bool {
        self.engine == TableEngine::MergeTree && !self.engine_arguments.text().is_empty()
    }

    /// What is kept of a clause.
    pub fn kept_text(&self, keyword: &str) -> Option<&str> {
        self.kept.iter().find(|clause| clause.keyword.as_ref() == keyword).map(|clause| clause.text.as_ref())
    }

    pub fn column(&self, name: &str) -> Option<&ColumnDef> {
        self.columns.iter().find(|column| column.name.as_ref() == name)
    }

    pub fn column_by_id(&self, id: ColumnId) -> Option<&ColumnDef> {
        self.columns.iter().find(|column| column.id == id)
    }

    /// A table-level setting that was given, if it reads as what is asked for.
    pub fn setting<T: FromStr>(&self, name: &str) -> Option<T> {
        self.settings.get(name)?.parse().ok()
    }

    /// Columns that are stored: all but ALIAS and EPHEMERAL ones.
    pub fn stored_columns(&self) -> impl Iterator<Item = &ColumnDef> {
        self.columns.iter().filter(|column| column.is_stored())
    }

    /// Columns that an INSERT has values of: those that are stored, and EPHEMERAL ones, from which defaults may be computed.
    pub fn written_columns(&self) -> impl Iterator<Item = &ColumnDef> {
        self.columns.iter().filter(|column| !matches!(column.default, Some((DefaultKind::Alias, _))))
    }

    /// The schema of rows before their EPHEMERAL columns are dropped, as [`TableDef::arrow_schema`] otherwise.
    pub fn written_schema(&self) -> SchemaRef {
        Arc::new(Schema::new(self.written_columns().map(field_of).collect::<Vec<_>>()))
    }

    /// The schema of stored rows: user's names and order, our types attached, field ids set.
    pub fn arrow_schema(&self) -> SchemaRef {
        Arc::new(Schema::new(self.stored_columns().map(field_of).collect::<Vec<_>>()))
    }
}

impl TableDef {
    /// Whether ORDER BY or PARTITION BY names the column.
    pub fn is_in_key(&self, id: ColumnId) -> bool {
        let name = format!("`{}`", stored_column_name(id));
        self.order_by.iter().chain(&self.partition_by).any(|key| key.contains(&name))
    }

    /// The columns that are added: numbers that are named, or all that are in no key.
    pub fn summed_columns(&self) -> Vec<ColumnId> {
        let MergeMode::Summing { columns } = &self.mode else { return Vec::new() };
        let numbers = self.stored_columns().filter(|column| is_summed(&column.column_type));
        let added = numbers.filter(|column| !column.is_combined() && self.is_meant(columns, column.id));
        added.map(|column| column.id).collect()
    }

    /// The columns whose values become one by a function, and by which.
    pub fn combined_columns(&self) -> Vec<(ColumnId, Combining)> {
        let (columns, others): (&[ColumnId], _) = match &self.mode {
            MergeMode::Aggregating => (&[], None),
            MergeMode::Summing { columns } => (columns, None),
            MergeMode::Coalescing { columns } => (columns, Some(Combining::By("anyLast".into()))),
            _ => return Vec::new(),
        };
        let combined = |column: &ColumnDef| match (&column.combined_by, column.column_type.state()) {
            (Some(function), _) => Some((column.id, Combining::By(Arc::clone(function)))),
            (None, Some(_)) => Some((column.id, Combining::States)),
            (None, None) => others.clone().map(|by| (column.id, by)),
        };
        let meant = self.stored_columns().filter(|column| self.is_meant(columns, column.id));
        meant.filter_map(combined).collect()
    }

    /// Columns that are in no key, and neither states nor combined by a function nor computed from others.
    pub fn dimensions_outside_keys(&self) -> impl Iterator<Item = &ColumnDef> {
        let is_computed = |column: &ColumnDef| matches!(column.default, Some((DefaultKind::Materialized, _)));
        self.stored_columns()
            .filter(move |column| !column.is_combined() && !is_computed(column) && !self.is_in_key(column.id))
    }

    /// Whether a mode means the column: it is among those named, or in no key where none is named.
    fn is_meant(&self, named: &[ColumnId], id: ColumnId) -> bool {
        if named.is_empty() { !self.is_in_key(id) } else { named.contains(&id) }
    }
}

/// The column a field of a stored batch or part belongs to.
pub fn column_id_of(field: &Field) -> Option<ColumnId> {
    field.metadata().get(FIELD_ID_KEY)?.parse().ok().map(ColumnId)
}

/// The spelling of a column inside a stored expression; see the module's invariant.
pub fn stored_column_name(id: ColumnId) -> String {
    format!("#{}", id.0)
}

/// Reads a name made by [`stored_column_name`].
pub fn parse_stored_column_name(name: &str) -> Option<ColumnId> {
    name.strip_prefix('#')?.parse().ok().map(ColumnId)
}
