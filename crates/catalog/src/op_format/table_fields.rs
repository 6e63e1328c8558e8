//! A table's definition as fields. Column types travel as the text people write.
//!
//! Invariant: what is written is read back equal. Must not know: where in a record or checkpoint it stands.

use std::sync::Arc;

use model::{
    ColumnDef, ColumnId, ColumnType, ConstraintDef, ConstraintKind, DETACHED_PARTS, DatabaseId, DefaultKind,
    EngineArguments, KeptClause, MergeMode, TableDef, TableEngine, TableId, TableSettings,
};

use super::VERSION;
use super::fields::{Field, FieldReader, FieldWriter, FormatError};

const TABLE: &str = "table definition";
const MODE: &str = "merge mode";
const COLUMN: &str = "column definition";

/// Numbers on disk; one is never given to another engine.
const ENGINES: [(u64, TableEngine); 20] = [
    (1, TableEngine::MergeTree),
    (2, TableEngine::Memory),
    (3, TableEngine::Null),
    (4, TableEngine::S3),
    (5, TableEngine::Gcs),
    (6, TableEngine::AzureBlobStorage),
    (7, TableEngine::Url),
    (8, TableEngine::File),
    (9, TableEngine::View),
    (10, TableEngine::Log),
    (11, TableEngine::TinyLog),
    (12, TableEngine::StripeLog),
    (13, TableEngine::Merge),
    (14, TableEngine::Buffer),
    (15, TableEngine::Set),
    (16, TableEngine::MaterializedView),
    (17, TableEngine::Distributed),
    (18, TableEngine::SharedMemory),
    (19, TableEngine::Join),
    (20, TableEngine::Dictionary),
];

/// The oldest format version whose readers know the definition.
pub fn needs(def: &TableDef) -> u64 {
    match def.engine {
        // Who does not know the number refuses the record.
        TableEngine::Join | TableEngine::Dictionary => 15,
        // Who does not know the clause would delete the files.
        _ if def.kept_text(DETACHED_PARTS).is_some() => 15,
        TableEngine::SharedMemory => 10,
        // Who does not know the function would keep any of the values.
        _ if matches!(def.mode, MergeMode::Aggregating | MergeMode::Coalescing { .. }) => 9,
        _ if def.columns.iter().any(ColumnDef::is_combined) => 9,
        TableEngine::Distributed => 9,
        // Who does not know them would show rows that were replaced.
        _ if !def.mode.is_plain() => 8,
        // Or would leave the rows of the view out.
        TableEngine::MaterializedView => 8,
        TableEngine::Log | TableEngine::TinyLog | TableEngine::StripeLog => 7,
        TableEngine::Merge | TableEngine::Buffer | TableEngine::Set => 7,
        // Who does not know them would take rows that they refuse.
        _ if !def.constraints.is_empty() => 6,
        TableEngine::View => 4,
        engine if engine.is_external() => 3,
        _ => 1,
    }
}

const DEFAULT_KINDS: [(u64, DefaultKind); 4] = [
    (1, DefaultKind::Default),
    (2, DefaultKind::Materialized),
    (3, DefaultKind::Alias),
    (4, DefaultKind::Ephemeral),
];

const CONSTRAINT_KINDS: [(u64, ConstraintKind); 2] =
    [(1, ConstraintKind::Check), (2, ConstraintKind::Assume)];

fn number_of<T: PartialEq>(list: &[(u64, T)], wanted: &T) -> u64 {
    list.iter().find(|(_, item)| item == wanted).map_or(0, |(number, _)| *number)
}

fn item_of<T: Copy>(list: &[(u64, T)], field: &Field<'_>) -> Result<T, FormatError> {
    let number = field.uint()?;
    let found = list.iter().find(|(known, _)| *known == number).map(|(_, item)| *item);
    found.ok_or_else(|| field.malformed(format!("{number} is unknown")))
}

pub fn write_table(fields: &mut FieldWriter, def: &TableDef) {
    fields.id(1, def.id.as_bytes());
    fields.id(2, def.database.as_bytes());
    fields.text(3, &def.name);
    fields.uint(4, number_of(&ENGINES, &def.engine));
    fields.uint(5, def.schema_version.into());
    def.columns.iter().for_each(|column| fields.nested(6, |inner| write_column(inner, column)));
    fields.uint(7, def.next_column_id.into());
    def.partition_by.iter().for_each(|text| fields.bytes(8, text.as_bytes()));
    def.order_by.iter().for_each(|text| fields.bytes(9, text.as_bytes()));
    fields.uint(10, def.sort_key_version.into());
    fields.uint(11, def.primary_key_len.into());
    def.settings.iter().for_each(|(name, value)| fields.nested(12, |inner| write_pair(inner, name, value)));
    def.kept
        .iter()
        .for_each(|clause| fields.nested(13, |inner| write_pair(inner, &clause.keyword, &clause.text)));
    fields.text(14, &def.comment);
    fields.text(15, def.engine_arguments.text());
    def.constraints
        .iter()
        .for_each(|constraint| fields.nested(16, |inner| write_constraint(inner, constraint)));
    if !def.mode.is_plain() {
        fields.nested(17, |inner| write_mode(inner, &def.mode));
    }
}

/// The kind is its number; the columns are those of the engine's arguments, by what they are for.
fn write_mode(fields: &mut FieldWriter, mode: &MergeMode) {
    let mut column = |number: u64, id: &ColumnId| fields.uint_some(number, id.0.into());
    let kind = match mode {
        MergeMode::Plain => 0,
        MergeMode::Replacing { version, is_deleted } => {
            version.iter().for_each(|id| column(2, id));
            is_deleted.iter().for_each(|id| column(3, id));
            1
        }
        MergeMode::Summing { columns } => {
            columns.iter().for_each(|id| column(5, id));
            2
        }
        MergeMode::Collapsing { sign } => {
            column(4, sign);
            3
        }
        MergeMode::Aggregating => 5,
        MergeMode::Coalescing { columns } => {
            columns.iter().for_each(|id| column(5, id));
            6
        }
        MergeMode::VersionedCollapsing { sign, version } => {
            column(4, sign);
            column(2, version);
            4
        }
    };
    fields.uint(1, kind);
}

fn read_mode(mut fields: FieldReader<'_>) -> Result<MergeMode, FormatError> {
    let (mut kind, mut version, mut is_deleted, mut sign) = (None, None, None, None);
    let mut columns = Vec::new();
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => kind = Some((field.uint()?, field)),
            2 => version = Some(ColumnId(field.narrow()?)),
            3 => is_deleted = Some(ColumnId(field.narrow()?)),
            4 => sign = Some(ColumnId(field.narrow()?)),
            5 => columns.push(ColumnId(field.narrow()?)),
            _ => field.skip(VERSION)?,
        }
    }
    let missing = |number| FormatError::Missing { what: MODE, number };
    let (kind, field) = kind.ok_or_else(|| missing(1))?;
    match kind {
        1 => Ok(MergeMode::Replacing { version, is_deleted }),
        2 => Ok(MergeMode::Summing { columns }),
        3 => Ok(MergeMode::Collapsing { sign: sign.ok_or_else(|| missing(4))? }),
        4 => Ok(MergeMode::VersionedCollapsing {
            sign: sign.ok_or_else(|| missing(4))?,
            version: version.ok_or_else(|| missing(2))?,
        }),
        5 => Ok(MergeMode::Aggregating),
        6 => Ok(MergeMode::Coalescing { columns }),
        other => Err(field.malformed(format!("{other} is unknown"))),
    }
}

fn write_constraint(fields: &mut FieldWriter, constraint: &ConstraintDef) {
    fields.text(1, &constraint.name);
    fields.uint(2, number_of(&CONSTRAINT_KINDS, &constraint.kind));
    fields.text(3, &constraint.expression);
}

fn write_pair(fields: &mut FieldWriter, first: &str, second: &str) {
    fields.text(1, first);
    fields.text(2, second);
}

fn write_column(fields: &mut FieldWriter, column: &ColumnDef) {
    fields.uint(1, column.id.0.into());
    fields.text(2, &column.name);
    fields.text(3, &column.column_type.to_string());
    if let Some((kind, text)) = &column.default {
        fields.uint(4, number_of(&DEFAULT_KINDS, kind));
        fields.text(5, text);
    }
    fields.text(6, &column.comment);
    if let Some(codec) = &column.codec {
        fields.bytes(7, codec.as_bytes());
    }
    if let Some(function) = &column.combined_by {
        fields.bytes(8, function.as_bytes());
    }
}

fn read_column(mut fields: FieldReader<'_>) -> Result<ColumnDef, FormatError> {
    let mut column_type = None;
    let (mut default_kind, mut default_text): (Option<DefaultKind>, Arc<str>) = (None, "".into());
    let mut column = ColumnDef {
        id: ColumnId(0),
        name: "".into(),
        column_type: ColumnType::Nothing,
        default: None,
        comment: "".into(),
        codec: None,
        combined_by: None,
    };
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => column.id = ColumnId(field.narrow()?),
            2 => column.name = field.text()?.into(),
            3 => {
                let parsed = model::type_name::parse(field.text()?);
                column_type = Some(parsed.map_err(|error| field.malformed(error.to_string()))?);
            }
            4 => default_kind = Some(item_of(&DEFAULT_KINDS, &field)?),
            5 => default_text = field.text()?.into(),
            6 => column.comment = field.text()?.into(),
            7 => column.codec = Some(field.text()?.into()),
            8 => column.combined_by = Some(field.text()?.into()),
            _ => field.skip(VERSION)?,
        }
    }
    column.column_type = column_type.ok_or(FormatError::Missing { what: COLUMN, number: 3 })?;
    column.default = default_kind.map(|kind| (kind, default_text));
    Ok(column)
}

fn read_constraint(mut fields: FieldReader<'_>) -> Result<ConstraintDef, FormatError> {
    let mut constraint =
        ConstraintDef { name: "".into(), kind: ConstraintKind::Check, expression: "".into() };
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => constraint.name = field.text()?.into(),
            2 => constraint.kind = item_of(&CONSTRAINT_KINDS, &field)?,
            3 => constraint.expression = field.text()?.into(),
            _ => field.skip(VERSION)?,
        }
    }
    Ok(constraint)
}

fn read_pair(mut fields: FieldReader<'_>) -> Result<(Arc<str>, Arc<str>), FormatError> {
    let (mut first, mut second) = ("", "");
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => first = field.text()?,
            2 => second = field.text()?,
            _ => field.skip(VERSION)?,
        }
    }
    Ok((first.into(), second.into()))
}

pub fn read_table(mut fields: FieldReader<'_>) -> Result<TableDef, FormatError> {
    let (mut id, mut database, mut engine) = (None, None, None);
    let mut def = blank();
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => id = Some(TableId::from_bytes(field.id()?)),
            2 => database = Some(DatabaseId::from_bytes(field.id()?)),
            3 => def.name = field.text()?.into(),
            4 => engine = Some(item_of(&ENGINES, &field)?),
            5 => def.schema_version = field.narrow()?,
            6 => def.columns.push(read_column(field.nested(COLUMN)?)?),
            7 => def.next_column_id = field.narrow()?,
            8 => def.partition_by.push(field.text()?.into()),
            9 => def.order_by.push(field.text()?.into()),
            10 => def.sort_key_version = field.narrow()?,
            11 => def.primary_key_len = field.narrow()?,
            12 => {
                let (name, value) = read_pair(field.nested("table setting")?)?;
                def.settings.insert(name, value);
            }
            13 => {
                let (keyword, text) = read_pair(field.nested("kept clause")?)?;
                def.kept.push(KeptClause { keyword, text });
            }
            14 => def.comment = field.text()?.into(),
            16 => def.constraints.push(read_constraint(field.nested("constraint")?)?),
            15 => def.engine_arguments = EngineArguments::new(field.text()?),
            17 => def.mode = read_mode(field.nested(MODE)?)?,
            _ => field.skip(VERSION)?,
        }
    }
    def.id = id.ok_or(FormatError::Missing { what: TABLE, number: 1 })?;
    def.database = database.ok_or(FormatError::Missing { what: TABLE, number: 2 })?;
    def.engine = engine.ok_or(FormatError::Missing { what: TABLE, number: 4 })?;
    Ok(def)
}

/// What a definition is when none of its optional fields is written.
fn blank() -> TableDef {
    TableDef {
        id: TableId::from_bytes([0; 16]),
        database: DatabaseId::from_bytes([0; 16]),
        name: "".into(),
        engine: TableEngine::MergeTree,
        engine_arguments: EngineArguments::default(),
        mode: MergeMode::Plain,
        schema_version: 0,
        columns: Vec::new(),
        next_column_id: 0,
        partition_by: Vec::new(),
        order_by: Vec::new(),
        sort_key_version: 0,
        primary_key_len: 0,
        settings: TableSettings::new(),
        kept: Vec::new(),
        constraints: Vec::new(),
        comment: "".into(),
    }
}
