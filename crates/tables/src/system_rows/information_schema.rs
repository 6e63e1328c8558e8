//! `information_schema`: the standard's views, each over one system table.
//!
//! Invariant: a column is one of the system table, a constant, or computed from its columns; every lower-case name
//! stands in capitals, too, with the same values. Must not know: the catalog.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringViewArray, new_null_array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Schema};
use boundary::error::Error;
use model::ColumnType;
use model::type_arrow::to_field;

use super::derived_names::NAMES;
use super::rows::column_type;

/// Where the values of a column come from.
pub enum Source {
    /// A column of the system table.
    Of(&'static str),
    Text(&'static str),
    Null,
    /// From the values of columns of the system table, in a row.
    From(&'static [&'static str], fn(&[&str]) -> Option<String>),
}
use Source::{From, Null, Of, Text};

type Keeps = fn(&str) -> bool;

/// One of the views.
pub struct View {
    /// The system table that it is made of.
    pub over: &'static str,
    /// Rows are kept where this column's text fits.
    keeps: Option<(&'static str, Keeps)>,
    /// (name, type, where the values come from).
    pub columns: &'static [(&'static str, &'static str, Source)],
}

/// The view of a name.
pub fn view(name: &str) -> Option<View> {
    let view = match name.to_ascii_lowercase().as_str() {
        "schemata" => View { over: "databases", keeps: None, columns: SCHEMATA },
        "tables" => View { over: "tables", keeps: None, columns: TABLES },
        "columns" => View { over: "columns", keeps: None, columns: COLUMNS },
        "views" => View { over: "tables", keeps: Some(("engine", |e| e.ends_with("View"))), columns: VIEWS },
        "key_column_usage" => View {
            over: "columns",
            keeps: Some(("is_in_primary_key", |is| is == "1")),
            columns: KEY_COLUMN_USAGE,
        },
        "referential_constraints" => {
            View { over: "tables", keeps: Some(("name", |_| false)), columns: CONSTRAINTS }
        }
        _ => return None,
    };
    Some(view).filter(|_| NAMES.contains(&name))
}

const TEXT: &str = "String";
const MAYBE_TEXT: &str = "Nullable(String)";
const MAYBE_COUNT: &str = "Nullable(UInt64)";
const MAYBE_TIME: &str = "Nullable(DateTime)";
const NO_OR_YES: &str = "Enum8('NO' = 0, 'YES' = 1)";
const COLLATION: Source = Text("utf8mb4_0900_ai_ci");

const SCHEMATA: &[(&str, &str, Source)] = &[
    ("catalog_name", TEXT, Of("name")),
    ("schema_name", TEXT, Of("name")),
    ("schema_owner", TEXT, Text("default")),
    ("default_character_set_catalog", MAYBE_TEXT, Null),
    ("default_character_set_schema", MAYBE_TEXT, Null),
    ("default_character_set_name", MAYBE_TEXT, Null),
    ("sql_path", MAYBE_TEXT, Null),
    ("default_collation_name", TEXT, COLLATION),
    ("default_encryption", TEXT, Text("NO")),
];

const TABLES: &[(&str, &str, Source)] = &[
    ("table_catalog", TEXT, Of("database")),
    ("table_schema", TEXT, Of("database")),
    ("table_name", TEXT, Of("name")),
    ("table_type", TEXT, From(&["is_temporary", "engine", "has_own_data"], table_type)),
    ("table_rows", MAYBE_COUNT, Of("total_rows")),
    ("data_length", MAYBE_COUNT, Of("total_bytes")),
    ("index_length", MAYBE_COUNT, From(&[], |_| Some("0".to_owned()))),
    ("table_collation", MAYBE_TEXT, COLLATION),
    ("table_comment", MAYBE_TEXT, Of("comment")),
    ("engine", MAYBE_TEXT, From(&["is_temporary", "engine", "has_own_data"], engine)),
    ("version", MAYBE_COUNT, Null),
    ("row_format", MAYBE_TEXT, Null),
    ("avg_row_length", MAYBE_COUNT, Null),
    ("max_data_length", MAYBE_COUNT, Null),
    ("data_free", MAYBE_COUNT, Null),
    ("auto_increment", MAYBE_COUNT, Null),
    ("create_time", MAYBE_TIME, Null),
    ("update_time", MAYBE_TIME, Null),
    ("check_time", MAYBE_TIME, Null),
    ("checksum", "Nullable(Int64)", Null),
    ("create_options", MAYBE_TEXT, Null),
];

fn table_type(row: &[&str]) -> Option<String> {
    let kind = match row {
        ["1", ..] => "LOCAL TEMPORARY",
        [_, engine, _] if engine.ends_with("View") => "VIEW",
        [_, engine, _] if engine.starts_with("System") => "SYSTEM VIEW",
        [_, _, "0"] => "FOREIGN TABLE",
        _ => "BASE TABLE",
    };
    Some(kind.to_owned())
}

fn engine(row: &[&str]) -> Option<String> {
    match table_type(row)?.as_str() {
        "VIEW" | "SYSTEM VIEW" => None,
        _ => row.get(1).map(|engine| (*engine).to_owned()),
    }
}

const COLUMNS: &[(&str, &str, Source)] = &[
    ("table_catalog", TEXT, Of("database")),
    ("table_schema", TEXT, Of("database")),
    ("table_name", TEXT, Of("table")),
    ("column_name", TEXT, Of("name")),
    ("ordinal_position", "UInt64", Of("position")),
    ("column_default", TEXT, Of("default_expression")),
    ("is_nullable", TEXT, From(&["type"], |row| Some(u8::from(is_nullable(row)).to_string()))),
    ("data_type", TEXT, Of("type")),
    ("character_maximum_length", MAYBE_COUNT, Of("character_octet_length")),
    ("character_octet_length", MAYBE_COUNT, Of("character_octet_length")),
    ("numeric_precision", MAYBE_COUNT, Of("numeric_precision")),
    ("numeric_precision_radix", MAYBE_COUNT, Of("numeric_precision_radix")),
    ("numeric_scale", MAYBE_COUNT, Of("numeric_scale")),
    ("datetime_precision", MAYBE_COUNT, Of("datetime_precision")),
    ("character_set_catalog", MAYBE_TEXT, Null),
    ("character_set_schema", MAYBE_TEXT, Null),
    ("character_set_name", MAYBE_TEXT, Null),
    ("collation_catalog", MAYBE_TEXT, Null),
    ("collation_schema", MAYBE_TEXT, Null),
    ("collation_name", MAYBE_TEXT, Null),
    ("domain_catalog", MAYBE_TEXT, Null),
    ("domain_schema", MAYBE_TEXT, Null),
    ("domain_name", MAYBE_TEXT, Null),
    ("extra", MAYBE_TEXT, From(&["default_kind"], |row| Some(extra(row).to_owned()))),
    ("column_comment", TEXT, Of("comment")),
    ("column_type", TEXT, Of("type")),
    ("column_key", TEXT, From(&["is_in_primary_key"], |row| Some(key(row).to_owned()))),
    ("privileges", TEXT, Text("")),
    ("generation_expression", TEXT, From(&["default_kind", "default_expression"], generation)),
    ("srs_id", "Nullable(UInt32)", Null),
];

fn is_nullable(row: &[&str]) -> bool {
    row.iter().any(|type_name| type_name.starts_with("Nullable("))
}

fn extra(row: &[&str]) -> &'static str {
    match row {
        ["DEFAULT"] => "DEFAULT_GENERATED",
        ["MATERIALIZED"] => "STORED GENERATED",
        ["ALIAS"] => "VIRTUAL GENERATED",
        _ => "",
    }
}

fn key(row: &[&str]) -> &'static str {
    if row == ["1"] { "PRI" } else { "" }
}

fn generation(row: &[&str]) -> Option<String> {
    Some(match row {
        ["MATERIALIZED" | "ALIAS", expression] => (*expression).to_owned(),
        _ => String::new(),
    })
}

const VIEWS: &[(&str, &str, Source)] = &[
    ("table_catalog", TEXT, Of("database")),
    ("table_schema", TEXT, Of("database")),
    ("table_name", TEXT, Of("name")),
    ("view_definition", TEXT, Of("as_select")),
    ("check_option", TEXT, Text("NONE")),
    ("is_updatable", NO_OR_YES, From(&[], |_| Some("0".to_owned()))),
    ("is_insertable_into", NO_OR_YES, From(&["engine"], |row| Some(takes_rows(row).to_owned()))),
    ("is_trigger_updatable", NO_OR_YES, From(&[], |_| Some("0".to_owned()))),
    ("is_trigger_deletable", NO_OR_YES, From(&[], |_| Some("0".to_owned()))),
    ("is_trigger_insertable_into", NO_OR_YES, From(&[], |_| Some("0".to_owned()))),
];

fn takes_rows(row: &[&str]) -> &'static str {
    if row == ["MaterializedView"] { "1" } else { "0" }
}

const KEY_COLUMN_USAGE: &[(&str, &str, Source)] = &[
    ("constraint_catalog", TEXT, Text("def")),
    ("constraint_schema", TEXT, Of("database")),
    ("constraint_name", TEXT, Text("PRIMARY")),
    ("table_catalog", TEXT, Text("def")),
    ("table_schema", TEXT, Of("database")),
    ("table_name", TEXT, Of("table")),
    ("column_name", TEXT, Of("name")),
    ("ordinal_position", "UInt32", From(&[], |_| Some("1".to_owned()))),
    ("position_in_unique_constraint", "Nullable(UInt32)", Null),
    ("referenced_table_schema", MAYBE_TEXT, Null),
    ("referenced_table_name", MAYBE_TEXT, Null),
    ("referenced_column_name", MAYBE_TEXT, Null),
];

const CONSTRAINTS: &[(&str, &str, Source)] = &[
    ("constraint_catalog", TEXT, Text("")),
    ("constraint_schema", TEXT, Text("")),
    ("constraint_name", MAYBE_TEXT, Null),
    ("unique_constraint_catalog", TEXT, Text("")),
    ("unique_constraint_schema", TEXT, Text("")),
    ("unique_constraint_name", MAYBE_TEXT, Null),
    ("match_option", TEXT, Text("")),
    ("update_rule", TEXT, Text("")),
    ("delete_rule", TEXT, Text("")),
    ("table_name", TEXT, Of("name")),
    ("referenced_table_name", TEXT, Text("")),
];

/// (column, type) of a view.
pub fn columns_of(name: &str) -> Vec<(String, ColumnType)> {
    let Some(view) = view(name) else { return Vec::new() };
    let lower = view.columns.iter().map(|(name, of, _)| ((*name).to_owned(), column_type(of)));
    let upper = view.columns.iter().map(|(name, of, _)| (name.to_ascii_uppercase(), column_type(of)));
    lower.chain(upper).collect()
}

/// The rows of `information_schema.<name>`, made of those of its system table.
pub fn rows_of(
    name: &str,
    rows: impl FnOnce(&str) -> Result<RecordBatch, Error>,
) -> Result<Option<RecordBatch>, Error> {
    let Some(view) = view(name) else { return Ok(None) };
    let batch = kept(&view, rows(view.over)?)?;
    let mut fields: Vec<_> =
        columns_of(name).iter().map(|(column, of)| to_field(column, of)).map(Arc::new).collect();
    let values = view.columns.iter().zip(&fields);
    let values = values.map(|((_, _, source), field)| value(source, &batch, field.data_type()));
    let mut values = values.collect::<Result<Vec<_>, _>>()?;
    values.extend(values.clone());
    let schema = Arc::new(Schema::new(std::mem::take(&mut fields)));
    RecordBatch::try_new(schema, values).map(Some).map_err(internal)
}

fn internal(error: impl std::fmt::Display) -> Error {
    Error::internal(error.to_string())
}

fn named(batch: &RecordBatch, name: &str) -> Result<ArrayRef, Error> {
    let found = batch.column_by_name(name).cloned();
    found.ok_or_else(|| Error::internal(format!("a system table has no column {name}")))
}

fn texts(batch: &RecordBatch, name: &str) -> Result<StringViewArray, Error> {
    let cast = cast(&named(batch, name)?, &DataType::Utf8View).map_err(internal)?;
    Ok(cast.as_string_view().clone())
}

fn kept(view: &View, batch: RecordBatch) -> Result<RecordBatch, Error> {
    let Some((column, keeps)) = &view.keeps else { return Ok(batch) };
    let texts = texts(&batch, column)?;
    let mask: arrow::array::BooleanArray = texts.iter().map(|text| Some(text.is_some_and(keeps))).collect();
    arrow::compute::filter_record_batch(&batch, &mask).map_err(internal)
}

fn value(source: &Source, batch: &RecordBatch, data_type: &DataType) -> Result<ArrayRef, Error> {
    let values: ArrayRef = match source {
        Of(name) => named(batch, name)?,
        Null => return Ok(new_null_array(data_type, batch.num_rows())),
        Text(text) => Arc::new((0..batch.num_rows()).map(|_| Some(*text)).collect::<StringViewArray>()),
        From(names, compute) => {
            let columns = names.iter().map(|name| texts(batch, name)).collect::<Result<Vec<_>, _>>()?;
            let row = |row: usize| {
                let values: Vec<&str> = columns.iter().map(|column| column.value(row)).collect();
                compute(&values)
            };
            Arc::new((0..batch.num_rows()).map(row).collect::<StringViewArray>())
        }
    };
    if values.data_type() == data_type { Ok(values) } else { cast(&values, data_type).map_err(internal) }
}
