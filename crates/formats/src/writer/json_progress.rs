//! JSON rows among lines that tell how far the statement is: the four formats `..WithProgress`.
//!
//! ```text
//! {"meta":[{"name":"n","type":"UInt8"}]}
//! {"progress":{"read_rows":"65409",..}}      as often as whoever runs the statement wants, also before the first row
//! {"row":{"n":1}}
//! {"totals":{"n":1}}
//! {"min":{"n":1}}
//! {"max":{"n":1}}
//! {"progress":{"read_rows":"81920",..}}      once more at the end, if anything was read
//! {"rows_before_limit_at_least":15}
//! ```
//! Invariant: every line is one JSON document, whatever `output_format_json_array_of_rows` says; counts are texts, since
//! they are beyond what JavaScript's numbers hold. Must not know: clocks.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use model::saturating::nanos_of;

use super::json::{JsonRowsWriter, string};
use super::{OutputStats, RowWriter, is_extremes, is_totals};
use crate::error::FormatError;
use crate::settings::FormatSettings;
use model::value::print;

pub(super) struct JsonProgressWriter {
    rows: JsonRowsWriter,
    settings: FormatSettings,
    /// Rows and bytes read that were told of; the same are not told twice.
    told: (u64, u64),
}

impl JsonProgressWriter {
    pub(super) fn new(rows: JsonRowsWriter, settings: &FormatSettings) -> Self {
        Self { rows, settings: settings.clone(), told: (0, 0) }
    }
}

impl RowWriter for JsonProgressWriter {
    fn start(&mut self, schema: &SchemaRef, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let columns = self.rows.take_columns(schema);
        out.extend_from_slice(b"{\"meta\":[");
        for (at, (name, column_type)) in columns.names.iter().zip(&columns.types).enumerate() {
            out.extend_from_slice(if at > 0 { b",{\"name\":" } else { b"{\"name\":" });
            out.extend_from_slice(&string(name, &self.settings));
            out.extend_from_slice(b",\"type\":");
            out.extend_from_slice(&string(&column_type.to_string(), &self.settings));
            out.push(b'}');
        }
        out.extend_from_slice(b"]}\n");
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let mut columns = self.rows.open(batch)?;
        for row in 0..batch.num_rows() {
            let head: &[u8] = match (is_totals(batch), is_extremes(batch), row) {
                (true, ..) => b"{\"totals\":",
                (_, true, 0) => b"{\"min\":",
                (_, true, _) => b"{\"max\":",
                _ => b"{\"row\":",
            };
            out.extend_from_slice(head);
            self.rows.write_row(&mut columns, row, out);
            out.extend_from_slice(b"}\n");
        }
        Ok(())
    }

    fn progress(&mut self, stats: &OutputStats, out: &mut Vec<u8>) {
        let read = (stats.rows_read, stats.bytes_read);
        if std::mem::replace(&mut self.told, read) == read {
            return;
        }
        out.extend_from_slice(b"{\"progress\":{");
        let elapsed_ns = nanos_of(stats.elapsed);
        let counts = [
            ("read_rows", stats.rows_read),
            ("read_bytes", stats.bytes_read),
            ("total_rows_to_read", stats.rows_total),
            ("elapsed_ns", elapsed_ns),
        ];
        // What is not known is not there.
        for (at, (name, count)) in counts.into_iter().filter(|(_, count)| *count > 0).enumerate() {
            out.extend_from_slice(if at > 0 { b",\"" } else { b"\"" });
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b"\":\"");
            print::integer(count, out);
            out.push(b'"');
        }
        out.extend_from_slice(b"}}\n");
    }

    fn finish(&mut self, stats: &OutputStats, out: &mut Vec<u8>) -> Result<(), FormatError> {
        self.progress(stats, out);
        if let Some(rows) = stats.rows_before_limit {
            out.extend_from_slice(b"{\"rows_before_limit_at_least\":");
            print::integer(rows, out);
            out.extend_from_slice(b"}\n");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;
    use std::time::Duration;

    use arrow::array::{StringViewArray, UInt64Array};
    use arrow::datatypes::Schema;
    use model::ColumnType;
    use model::type_arrow::to_field;

    use super::super::{TOTALS_KEY, new_writer};
    use super::*;
    use crate::settings::Writing;
    use model::format_kind::FormatKind;

    fn batch(number: u64, text: &str, marks: HashMap<String, String>) -> RecordBatch {
        let fields = vec![to_field("a\"b/c", &ColumnType::UInt64), to_field("s", &ColumnType::String)];
        let schema = Arc::new(Schema::new_with_metadata(fields, marks));
        let numbers = Arc::new(UInt64Array::from(vec![number]));
        RecordBatch::try_new(schema, vec![numbers, Arc::new(StringViewArray::from(vec![text]))]).unwrap()
    }

    /// What ClickHouse prints, but for the time.
    #[test]
    fn lines_are_those_of_clickhouse() {
        let stats = |rows_read| OutputStats {
            rows_read,
            bytes_read: rows_read * 8,
            rows_total: 30,
            elapsed: Duration::from_nanos(7),
            rows_before_limit: Some(15),
        };
        let meta = r#"{"meta":[{"name":"a\"b\/c","type":"UInt64"},{"name":"s","type":"String"}]}"#;
        let far =
            r#"{"progress":{"read_rows":"2","read_bytes":"16","total_rows_to_read":"30","elapsed_ns":"7"}}"#;
        let end = r#"{"progress":{"read_rows":"30","read_bytes":"240","total_rows_to_read":"30","elapsed_ns":"7"}}"#;
        for (name, row, totals) in [
            ("JSONEachRowWithProgress", r#"{"a\"b\/c":1,"s":"x"}"#, r#"{"a\"b\/c":2,"s":""}"#),
            ("JSONStringsEachRowWithProgress", r#"{"a\"b\/c":"1","s":"x"}"#, r#"{"a\"b\/c":"2","s":""}"#),
            ("JSONCompactEachRowWithProgress", r#"[1, "x"]"#, r#"[2, ""]"#),
            ("JSONCompactStringsEachRowWithProgress", r#"["1", "x"]"#, r#"["2", ""]"#),
        ] {
            let kind = FormatKind::parse(name).unwrap();
            let settings = FormatSettings {
                writing: Writing { json_array_of_rows: true, ..Writing::default() },
                ..FormatSettings::default()
            };
            let mut writer = new_writer(kind, &settings).unwrap();
            let rows = batch(1, "x", HashMap::new());
            let mut out = vec![];
            writer.start(&rows.schema(), &mut out).unwrap();
            writer.progress(&stats(0), &mut out);
            writer.progress(&stats(2), &mut out);
            writer.write(&rows, &mut out).unwrap();
            writer.write(&batch(2, "", [(TOTALS_KEY.to_owned(), String::new())].into()), &mut out).unwrap();
            writer.finish(&stats(30), &mut out).unwrap();
            let expected = format!(
                "{meta}\n{far}\n{{\"row\":{row}}}\n{{\"totals\":{totals}}}\n{end}\n{{\"rows_before_limit_at_least\":15}}\n"
            );
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{name}");
        }
    }
}
