//! Totals of WITH TOTALS: a last batch that is marked, shown where and as the format has it, or not at all.
//!
//! Invariant: whoever hands batches to a writer need not know of totals; no format mixes them with rows.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::{OutputStats, RowWriter, plain_writer};
use crate::error::FormatError;
use crate::kind::FormatKind;
use crate::settings::FormatSettings;

/// Marks the schema of a batch that holds totals.
pub const TOTALS_KEY: &str = "gristmill.totals";

/// Whether these are totals, not rows.
pub fn is_totals(batch: &RecordBatch) -> bool {
    batch.schema_ref().metadata().contains_key(TOTALS_KEY)
}

/// A writer that sees totals only where they are rows behind the others, and what they need.
pub(super) struct TotalsWriter {
    kind: FormatKind,
    rows: Box<dyn RowWriter>,
    settings: FormatSettings,
    schema: Option<SchemaRef>,
    totals: Option<RecordBatch>,
}

impl TotalsWriter {
    pub(super) fn new(kind: FormatKind, rows: Box<dyn RowWriter>, settings: &FormatSettings) -> Self {
        Self { kind, rows, settings: settings.clone(), schema: None, totals: None }
    }

    /// The totals alone, from a writer of their own: what it puts ahead of rows, the rows, what it puts behind.
    fn alone(&self, totals: &RecordBatch) -> Result<[Vec<u8>; 3], FormatError> {
        let mut parts = [vec![], vec![], vec![]];
        let mut writer = plain_writer(self.kind, &self.settings)?;
        let schema = self.schema.clone().unwrap_or_else(|| totals.schema());
        writer.start(&schema, &mut parts[0])?;
        writer.write(totals, &mut parts[1])?;
        writer.finish(&OutputStats::default(), &mut parts[2])?;
        Ok(parts)
    }
}

impl RowWriter for TotalsWriter {
    fn start(&mut self, schema: &SchemaRef, out: &mut Vec<u8>) -> Result<(), FormatError> {
        self.schema = Some(SchemaRef::clone(schema));
        self.rows.start(schema, out)
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        if is_totals(batch) {
            self.totals = Some(batch.clone());
            return Ok(());
        }
        self.rows.write(batch, out)
    }

    fn progress(&mut self, stats: &OutputStats, out: &mut Vec<u8>) {
        self.rows.progress(stats, out);
    }

    fn finish(&mut self, stats: &OutputStats, out: &mut Vec<u8>) -> Result<(), FormatError> {
        use FormatKind as F;
        let Some(totals) = self.totals.take().filter(|totals| totals.num_rows() > 0) else {
            return self.rows.finish(stats, out);
        };
        match self.kind {
            F::Csv | F::CsvWithNames | F::CsvWithNamesAndTypes => {
                out.extend_from_slice(if self.settings.csv_crlf { b"\r\n" } else { b"\n" });
                self.rows.write(&totals, out)?;
                self.rows.finish(stats, out)
            }
            F::TabSeparated
            | F::TabSeparatedWithNames
            | F::TabSeparatedWithNamesAndTypes
            | F::TabSeparatedRaw
            | F::TabSeparatedRawWithNames
            | F::TabSeparatedRawWithNamesAndTypes => {
                out.extend_from_slice(if self.settings.tsv_output_crlf { b"\r\n" } else { b"\n" });
                self.rows.write(&totals, out)?;
                self.rows.finish(stats, out)
            }
            kind if kind.tells_progress() => {
                self.rows.write(&totals, out)?;
                self.rows.finish(stats, out)
            }
            F::Json | F::JsonCompact | F::JsonStrings | F::JsonCompactStrings => {
                let mut end = vec![];
                self.rows.finish(stats, &mut end)?;
                with_totals(&end, &self.alone(&totals)?[1], out);
                Ok(())
            }
            F::Vertical => {
                self.rows.finish(stats, out)?;
                out.extend_from_slice("\n\nTotals:\n───────\n".as_bytes());
                let text = self.alone(&totals)?.concat();
                // The number of the row and its line.
                let lines = text.split_inclusive(|byte| *byte == b'\n').skip(2);
                lines.for_each(|line| out.extend_from_slice(line));
                Ok(())
            }
            kind if is_table(kind) => {
                self.rows.finish(stats, out)?;
                out.extend_from_slice(b"\nTotals:\n");
                out.extend(self.alone(&totals)?.concat());
                Ok(())
            }
            _ => self.rows.finish(stats, out),
        }
    }
}

fn is_table(kind: FormatKind) -> bool {
    use FormatKind as F;
    matches!(
        kind,
        F::Pretty
            | F::PrettyMonoBlock
            | F::PrettyNoEscapes
            | F::PrettyCompact
            | F::PrettyCompactMonoBlock
            | F::PrettyCompactNoEscapes
            | F::PrettySpace
            | F::PrettySpaceMonoBlock
            | F::PrettySpaceNoEscapes
    )
}

/// Puts totals between the rows of a document and what follows them. They stand one level less deep than a row.
fn with_totals(end: &[u8], row: &[u8], out: &mut Vec<u8>) {
    const ROWS_END: &[u8] = b"\n\t],\n\n";
    let rest = end.strip_prefix(ROWS_END).unwrap_or(end);
    out.extend_from_slice(ROWS_END);
    out.extend_from_slice(b"\t\"totals\":");
    let is_list = row.trim_ascii_start().starts_with(b"[");
    if is_list {
        out.push(b' ');
        out.extend_from_slice(row.trim_ascii_start());
    } else {
        for line in row.split(|byte| *byte == b'\n') {
            out.push(b'\n');
            out.extend_from_slice(line.strip_prefix(b"\t").unwrap_or(line));
        }
    }
    out.extend_from_slice(b",\n\n");
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use arrow::array::{StringViewArray, UInt64Array};
    use arrow::datatypes::Schema;
    use model::ColumnType;
    use model::type_arrow::to_field;

    use super::*;

    fn batch(numbers: Vec<u64>, texts: Vec<&str>, is_totals: bool) -> RecordBatch {
        let fields = vec![to_field("c", &ColumnType::UInt64), to_field("s", &ColumnType::String)];
        let marks = is_totals.then(|| (TOTALS_KEY.to_owned(), String::new()));
        let schema = Schema::new_with_metadata(fields, HashMap::from_iter(marks));
        let columns: Vec<arrow::array::ArrayRef> =
            vec![Arc::new(UInt64Array::from(numbers)), Arc::new(StringViewArray::from(texts))];
        RecordBatch::try_new(Arc::new(schema), columns).unwrap()
    }

    /// What ClickHouse prints.
    #[test]
    fn totals_stand_where_clickhouse_has_them() {
        let check = |kind: FormatKind, expected: &str| {
            let settings = FormatSettings { write_statistics: false, ..FormatSettings::default() };
            let mut writer = super::super::new_writer(kind, &settings).unwrap();
            let rows = batch(vec![3, 2], vec!["0", "1"], false);
            let mut out = vec![];
            writer.start(&rows.schema(), &mut out).unwrap();
            writer.write(&rows, &mut out).unwrap();
            writer.write(&batch(vec![5], vec!["0"], true), &mut out).unwrap();
            writer.finish(&OutputStats::default(), &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{}", kind.name());
        };
        check(FormatKind::TabSeparated, "3\t0\n2\t1\n\n5\t0\n");
        check(FormatKind::Csv, "3,\"0\"\n2,\"1\"\n\n5,\"0\"\n");
        check(FormatKind::JsonEachRow, "{\"c\":3,\"s\":\"0\"}\n{\"c\":2,\"s\":\"1\"}\n");
        let meta = "{\n\t\"meta\":\n\t[\n\t\t{\n\t\t\t\"name\": \"c\",\n\t\t\t\"type\": \"UInt64\"\n\t\t},\n\t\t{\n\t\t\t\"name\": \"s\",\n\t\t\t\"type\": \"String\"\n\t\t}\n\t],\n\n\t\"data\":\n\t[\n";
        check(
            FormatKind::JsonCompact,
            &format!(
                "{meta}\t\t[3, \"0\"],\n\t\t[2, \"1\"]\n\t],\n\n\t\"totals\": [5, \"0\"],\n\n\t\"rows\": 2\n}}\n"
            ),
        );
        let rows = "\t\t{\n\t\t\t\"c\": 3,\n\t\t\t\"s\": \"0\"\n\t\t},\n\t\t{\n\t\t\t\"c\": 2,\n\t\t\t\"s\": \"1\"\n\t\t}";
        let totals = "\t\"totals\":\n\t{\n\t\t\"c\": 5,\n\t\t\"s\": \"0\"\n\t}";
        check(FormatKind::Json, &format!("{meta}{rows}\n\t],\n\n{totals},\n\n\t\"rows\": 2\n}}\n"));
        check(
            FormatKind::Vertical,
            "Row 1:\n──────\nc: 3\ns: 0\n\nRow 2:\n──────\nc: 2\ns: 1\n\n\nTotals:\n───────\nc: 5\ns: 0\n",
        );
    }
}
