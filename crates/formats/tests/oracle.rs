//! What ClickHouse reads and prints, against what we read and print. `tests/oracle/regenerate.py` makes the fixtures.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests; a difference is best read in full"
)]

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema, SchemaRef};
use formats::{FormatError, FormatKind, FormatSettings, OutputStats, infer, new_reader, new_writer};
use model::type_arrow::to_field;
use model::{ColumnType, type_name};

/// `@@@ title`, the lines of the body.
fn sections(fixture: &str) -> Vec<(&str, &str)> {
    let parts = fixture.split("@@@ ").skip(1);
    parts.map(|part| part.split_once('\n').unwrap()).collect()
}

/// Columns of `a Int32, b String`.
fn columns(structure: &str) -> Vec<(String, ColumnType)> {
    let tuple = type_name::parse(&format!("Tuple({structure})")).unwrap();
    let ColumnType::Tuple(elements) = tuple else { unreachable!("a tuple was parsed") };
    // A name in backticks may hold escapes.
    let name = |name: &str| name.replace("\\t", "\t");
    elements.into_iter().map(|e| (name(e.name.as_deref().unwrap()), e.column_type)).collect()
}

fn schema(columns: &[(String, ColumnType)]) -> SchemaRef {
    Arc::new(Schema::new(columns.iter().map(|(name, t)| to_field(name, t)).collect::<Vec<Field>>()))
}

fn read(kind: FormatKind, schema: &SchemaRef, text: &[u8]) -> Result<Vec<RecordBatch>, FormatError> {
    read_under(kind, schema, text, &FormatSettings::default())
}

fn read_under(
    kind: FormatKind,
    schema: &SchemaRef,
    text: &[u8],
    settings: &FormatSettings,
) -> Result<Vec<RecordBatch>, FormatError> {
    let mut reader = new_reader(kind, Arc::clone(schema), settings)?;
    let mut out = Vec::new();
    reader.read(text, true, &mut out)?;
    Ok(out)
}

fn write(kind: FormatKind, schema: &SchemaRef, batches: &[RecordBatch]) -> String {
    write_under(kind, schema, batches, &FormatSettings::default())
}

fn write_under(
    kind: FormatKind,
    schema: &SchemaRef,
    batches: &[RecordBatch],
    settings: &FormatSettings,
) -> String {
    let mut writer = new_writer(kind, settings).unwrap();
    let mut out = Vec::new();
    writer.start(schema, &mut out).unwrap();
    for batch in batches {
        writer.write(batch, &mut out).unwrap();
    }
    writer.finish(&OutputStats::default(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Times and bytes read differ from run to run.
fn without_statistics(text: &str) -> &str {
    text.split("\n\t\"statistics\"").next().unwrap()
}

/// Prints every difference and fails when there is one that is not in `known`.
fn settle(differences: &[(String, String, String)], known: &[&str]) {
    for (title, ours, theirs) in differences {
        println!("--- {title}\n--- ours\n{ours}\n--- theirs\n{theirs}");
    }
    let titles: Vec<&str> = differences.iter().map(|(title, ..)| title.as_str()).collect();
    assert_eq!(titles, known);
}

#[test]
fn rows_print_as_clickhouse_prints_them() {
    let mut differences = Vec::new();
    let (mut table, mut batches) = (schema(&[]), Vec::new());
    let mut case = "";
    for (title, body) in sections(include_str!("oracle/outputs.txt")) {
        if let Some(structure) = title.strip_prefix("case ") {
            case = structure;
            table = schema(&columns(structure));
            batches = read(FormatKind::Values, &table, body.as_bytes()).unwrap();
            continue;
        }
        let kind = FormatKind::parse(title).unwrap();
        let ours = write(kind, &table, &batches);
        let theirs = body.strip_suffix('\n').unwrap();
        if without_statistics(&ours) != without_statistics(theirs) {
            differences.push((format!("{title}: {case}"), ours, theirs.to_owned()));
        }
    }
    // ClickHouse pads a cell with a tab in a table without lines as if the tab were one column wide.
    let known = "PrettySpace: s String, n Nullable(String), f FixedString(4), l LowCardinality(String)";
    settle(&differences, &[known]);
}

#[test]
fn rows_are_read_as_clickhouse_reads_them() {
    let mut differences = Vec::new();
    for (title, body) in sections(include_str!("oracle/inputs.txt")) {
        let (kind, structure) = title.split_once(' ').unwrap();
        let (data, theirs) = body.split_once('\n').unwrap();
        let data: String = serde_json::from_str(data).unwrap();
        let table = schema(&columns(structure));
        let ours = match read(FormatKind::parse(kind).unwrap(), &table, data.as_bytes()) {
            Ok(batches) => write(FormatKind::JsonCompactEachRow, &table, &batches),
            Err(error) => format!("code {}", error.code),
        };
        if ours.trim_end() != theirs.trim_end() {
            differences.push((format!("{title} {data:?}"), ours, theirs.to_owned()));
        }
    }
    // A quoted cell that never closes is an error here, text there. A key that comes twice
    // is an error also where ClickHouse has seen all of its columns and stops looking.
    let known =
        ["CSV a Int32, b String \"1,\\\"open\\n\"", "JSONEachRow a Int32 \"{\\\"a\\\":1,\\\"a\\\":2}\""];
    settle(&differences, &known);
}

#[test]
fn columns_are_inferred_as_clickhouse_infers_them() {
    let mut differences = Vec::new();
    for (kind, body) in sections(include_str!("oracle/inference.txt")) {
        let (data, theirs) = body.split_once('\n').unwrap();
        let data: String = serde_json::from_str(data).unwrap();
        let ours = match infer(
            FormatKind::parse(kind).unwrap(),
            data.as_bytes(),
            true,
            &FormatSettings::default(),
        ) {
            Ok(columns) => columns.iter().map(|(name, t)| format!("{name}\t{t}\n")).collect(),
            Err(error) => format!("code {}", error.code),
        };
        if ours.trim_end() != theirs.trim_end() {
            differences.push((format!("{kind} {data:?}"), ours, theirs.to_owned()));
        }
    }
    settle(&differences, &[]);
}

/// What we make of one case under settings: rows read, columns inferred, or rows printed.
fn under_settings(title: &str, settings: &FormatSettings, data: &str) -> String {
    if let Some(title) = title.strip_prefix("out ") {
        let (kind, structure) = title.split_once(' ').unwrap();
        let table = schema(&columns(structure));
        let batches = read(FormatKind::Values, &table, data.as_bytes()).unwrap();
        let text = write_under(FormatKind::parse(kind).unwrap(), &table, &batches, settings);
        return serde_json::to_string(&text).unwrap();
    }
    let (kind, structure) = title.split_once(' ').unwrap();
    let kind = FormatKind::parse(kind).unwrap();
    let answer = if structure.is_empty() {
        infer(kind, data.as_bytes(), true, settings)
            .map(|columns| columns.iter().map(|(name, t)| format!("{name}\t{t}\n")).collect())
    } else {
        let table = schema(&columns(structure));
        read_under(kind, &table, data.as_bytes(), settings)
            .map(|batches| write(FormatKind::JsonCompactEachRow, &table, &batches))
    };
    answer.unwrap_or_else(|error: FormatError| format!("code {}", error.code))
}

#[test]
fn settings_mean_what_they_mean_in_clickhouse() {
    let mut differences = Vec::new();
    for (title, body) in sections(include_str!("oracle/settings.txt")) {
        let mut lines = body.splitn(3, '\n');
        let given: serde_json::Value = serde_json::from_str(lines.next().unwrap()).unwrap();
        let data: String = serde_json::from_str(lines.next().unwrap()).unwrap();
        let theirs = lines.next().unwrap().trim_end().to_owned();
        let settings = FormatSettings::from_lookup(&|name| match &given[name] {
            serde_json::Value::Null => None,
            serde_json::Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        });
        let ours = under_settings(title, &settings, &data).trim_end().to_owned();
        let theirs = if title.starts_with("out ") {
            let text: String = serde_json::from_str(&theirs).unwrap();
            serde_json::to_string(&text).unwrap()
        } else {
            theirs
        };
        if ours != theirs {
            differences.push((format!("{title} {given} {data:?}"), ours, theirs));
        }
    }
    settle(&differences, &[]);
}
