//! Totals of WITH TOTALS and extremes: last batches that are marked, shown where and as the format has them, or not at all.
//!
//! Invariant: whoever hands batches to a writer need not know of them; no format mixes them with rows.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::{OutputStats, RowWriter, plain_writer};
use crate::error::FormatError;
use crate::settings::FormatSettings;
use model::format_kind::FormatKind;

/// Marks the schema of a batch that holds totals.
pub const TOTALS_KEY: &str = "gristmill.totals";

/// Marks the schema of a batch that holds two rows: the least and the greatest values of all columns.
pub const EXTREMES_KEY: &str = "gristmill.extremes";

/// Whether these are totals, not rows.
pub fn is_totals(batch: &RecordBatch) -> bool {
    batch.schema_ref().metadata().contains_key(TOTALS_KEY)
}

/// Whether these are extremes, not rows.
pub fn is_extremes(batch: &RecordBatch) -> bool {
    batch.schema_ref().metadata().contains_key(EXTREMES_KEY)
}

/// A writer that sees totals and extremes only where they are rows behind the others, and what they need.
pub(super) struct TotalsWriter {
    kind: FormatKind,
    rows: Box<dyn RowWriter>,
    settings: FormatSettings,
    schema: Option<SchemaRef>,
    totals: Option<RecordBatch>,
    extremes: Option<RecordBatch>,
}

impl TotalsWriter {
    pub(super) fn new(kind: FormatKind, rows: Box<dyn RowWriter>, settings: &FormatSettings) -> Self {
        Self { kind, rows, settings: settings.clone(), schema: None, totals: None, extremes: None }
    }

    /// Rows alone, from a writer of their own: what it puts ahead of rows, the rows, what it puts behind.
    fn alone(&self, rows: &RecordBatch) -> Result<[Vec<u8>; 3], FormatError> {
        let mut parts = [vec![], vec![], vec![]];
        // What stands beside columns is rows.
        let by_column = self.kind == FormatKind::JsonColumnsWithMetadata;
        let kind = if by_column { FormatKind::Json } else { self.kind };
        let mut writer = plain_writer(kind, &self.settings)?;
        let schema = self.schema.clone().unwrap_or_else(|| rows.schema());
        writer.start(&schema, &mut parts[0])?;
        writer.write(rows, &mut parts[1])?;
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
        if is_extremes(batch) {
            self.extremes = Some(batch.clone());
            return Ok(());
        }
        self.rows.write(batch, out)
    }

    fn progress(&mut self, stats: &OutputStats, out: &mut Vec<u8>) {
        self.rows.progress(stats, out);
    }

    fn held_bytes(&self) -> usize {
        self.rows.held_bytes()
    }

    fn finish(&mut self, stats: &OutputStats, out: &mut Vec<u8>) -> Result<(), FormatError> {
        use FormatKind as F;
        let behind = [self.totals.take(), self.extremes.take()];
        let [totals, extremes] = behind.map(|rows| rows.filter(|rows| rows.num_rows() > 0));
        if totals.is_none() && extremes.is_none() {
            return self.rows.finish(stats, out);
        }
        let rows_behind = [&totals, &extremes].into_iter().flatten();
        match self.kind {
            F::Csv | F::CsvWithNames | F::CsvWithNamesAndTypes => {
                for rows in rows_behind {
                    out.extend_from_slice(if self.settings.csv_crlf { b"\r\n" } else { b"\n" });
                    self.rows.write(rows, out)?;
                }
                self.rows.finish(stats, out)
            }
            F::TabSeparated
            | F::TabSeparatedWithNames
            | F::TabSeparatedWithNamesAndTypes
            | F::TabSeparatedRaw
            | F::TabSeparatedRawWithNames
            | F::TabSeparatedRawWithNamesAndTypes => {
                for rows in rows_behind {
                    out.extend_from_slice(if self.settings.tsv_output_crlf { b"\r\n" } else { b"\n" });
                    self.rows.write(rows, out)?;
                }
                self.rows.finish(stats, out)
            }
            kind if kind.tells_progress() || kind == F::Xml => {
                for rows in rows_behind {
                    self.rows.write(rows, out)?;
                }
                self.rows.finish(stats, out)
            }
            F::Json
            | F::JsonCompact
            | F::JsonStrings
            | F::JsonCompactStrings
            | F::JsonColumnsWithMetadata => {
                let mut end = vec![];
                self.rows.finish(stats, &mut end)?;
                self.in_document(&end, totals.as_ref(), extremes.as_ref(), out)
            }
            F::Vertical => {
                self.rows.finish(stats, out)?;
                self.vertical(totals.as_ref(), extremes.as_ref(), out)
            }
            kind if is_table(kind) => {
                self.rows.finish(stats, out)?;
                for (rows, title) in [(&totals, "\nTotals:\n"), (&extremes, "\nExtremes:\n")] {
                    if let Some(rows) = rows {
                        out.extend_from_slice(title.as_bytes());
                        out.extend(self.alone(rows)?.concat());
                    }
                }
                Ok(())
            }
            _ => self.rows.finish(stats, out),
        }
    }
}

impl TotalsWriter {
    /// Puts totals and extremes between the rows of a document and what follows them.
    fn in_document(
        &self,
        end: &[u8],
        totals: Option<&RecordBatch>,
        extremes: Option<&RecordBatch>,
        out: &mut Vec<u8>,
    ) -> Result<(), FormatError> {
        let by_column = self.kind == FormatKind::JsonColumnsWithMetadata;
        let rows_end: &[u8] = if by_column { b"\n\t},\n\n" } else { b"\n\t],\n\n" };
        // Columns are held back until here; no value has a line end.
        let at = end.windows(rows_end.len()).rposition(|window| window == rows_end);
        let (rows, rest) = end.split_at(at.map_or(0, |at| at + rows_end.len()));
        out.extend_from_slice(rows);
        if let Some(totals) = totals {
            out.extend_from_slice(b"\t\"totals\":");
            // They stand one level less deep than a row.
            named_row(&self.alone(totals)?[1], b"\t", out);
            out.extend_from_slice(b",\n\n");
        }
        if let Some(extremes) = extremes {
            out.extend_from_slice(b"\t\"extremes\":\n\t{\n\t\t\"min\":");
            named_row(&self.alone(&extremes.slice(0, 1))?[1], b"", out);
            out.extend_from_slice(b",\n\t\t\"max\":");
            named_row(&self.alone(&extremes.slice(1, 1))?[1], b"", out);
            out.extend_from_slice(b"\n\t},\n\n");
        }
        out.extend_from_slice(rest);
        Ok(())
    }

    fn vertical(
        &self,
        totals: Option<&RecordBatch>,
        extremes: Option<&RecordBatch>,
        out: &mut Vec<u8>,
    ) -> Result<(), FormatError> {
        let at = |row: usize| extremes.map(|extremes| extremes.slice(row, 1));
        let sections =
            [(totals.cloned(), "Totals:\n───────\n"), (at(0), "Min:\n────\n"), (at(1), "Max:\n────\n")];
        out.push(b'\n');
        for (rows, title) in sections {
            let Some(rows) = rows else { continue };
            out.push(b'\n');
            out.extend_from_slice(title.as_bytes());
            let text = self.alone(&rows)?.concat();
            // The number of the row and its line.
            let lines = text.split_inclusive(|byte| *byte == b'\n').skip(2);
            lines.for_each(|line| out.extend_from_slice(line));
        }
        Ok(())
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

/// A row of a document behind its name, without the first of its tabs.
fn named_row(row: &[u8], without: &[u8], out: &mut Vec<u8>) {
    if row.trim_ascii_start().starts_with(b"[") {
        out.push(b' ');
        out.extend_from_slice(row.trim_ascii_start());
        return;
    }
    for line in row.split(|byte| *byte == b'\n') {
        out.push(b'\n');
        out.extend_from_slice(line.strip_prefix(without).unwrap_or(line));
    }
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

    fn batch(numbers: Vec<u64>, texts: Vec<&str>, mark: Option<&str>) -> RecordBatch {
        let fields = vec![to_field("c", &ColumnType::UInt64), to_field("s", &ColumnType::String)];
        let marks = mark.map(|mark| (mark.to_owned(), String::new()));
        let schema = Schema::new_with_metadata(fields, HashMap::from_iter(marks));
        let columns: Vec<arrow::array::ArrayRef> =
            vec![Arc::new(UInt64Array::from(numbers)), Arc::new(StringViewArray::from(texts))];
        RecordBatch::try_new(Arc::new(schema), columns).unwrap()
    }

    fn written(kind: FormatKind, behind: &[RecordBatch]) -> String {
        let settings = FormatSettings { write_statistics: false, ..FormatSettings::default() };
        let mut writer = super::super::new_writer(kind, &settings).unwrap();
        let rows = batch(vec![3, 2], vec!["0", "1"], None);
        let mut out = vec![];
        writer.start(&rows.schema(), &mut out).unwrap();
        for batch in std::iter::once(&rows).chain(behind) {
            writer.write(batch, &mut out).unwrap();
        }
        writer.finish(&OutputStats::default(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// What ClickHouse prints.
    #[test]
    fn totals_stand_where_clickhouse_has_them() {
        let check = |kind: FormatKind, expected: &str| {
            let totals = batch(vec![5], vec!["0"], Some(TOTALS_KEY));
            assert_eq!(written(kind, &[totals]), expected, "{}", kind.name());
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
    #[test]
    fn extremes_stand_behind_rows_and_totals() {
        let totals = batch(vec![5], vec!["0"], Some(TOTALS_KEY));
        let extremes = batch(vec![2, 3], vec!["0", "1"], Some(EXTREMES_KEY));
        let (alone, both) = ([extremes.clone()], [totals, extremes]);
        assert_eq!(written(FormatKind::TabSeparated, &alone), "3\t0\n2\t1\n\n2\t0\n3\t1\n");
        assert_eq!(written(FormatKind::TabSeparated, &both), "3\t0\n2\t1\n\n5\t0\n\n2\t0\n3\t1\n");
        assert_eq!(written(FormatKind::TabSeparatedRaw, &alone), "3\t0\n2\t1\n\n2\t0\n3\t1\n");
        assert_eq!(
            written(FormatKind::JsonEachRow, &alone),
            "{\"c\":3,\"s\":\"0\"}\n{\"c\":2,\"s\":\"1\"}\n"
        );
        let rows = "Row 1:\n──────\nc: 3\ns: 0\n\nRow 2:\n──────\nc: 2\ns: 1\n\n\n";
        let ends = "Min:\n────\nc: 2\ns: 0\n\nMax:\n────\nc: 3\ns: 1\n";
        assert_eq!(written(FormatKind::Vertical, &alone), format!("{rows}{ends}"));
        let total = "Totals:\n───────\nc: 5\ns: 0\n\n";
        assert_eq!(written(FormatKind::Vertical, &both), format!("{rows}{total}{ends}"));
        let document = written(FormatKind::Json, &both);
        let json_tail = "\t\"totals\":\n\t{\n\t\t\"c\": 5,\n\t\t\"s\": \"0\"\n\t},\n\n\t\"extremes\":\n\t{\n\t\t\"min\":\n\t\t{\n\t\t\t\"c\": 2,\n\t\t\t\"s\": \"0\"\n\t\t},\n\t\t\"max\":\n\t\t{\n\t\t\t\"c\": 3,\n\t\t\t\"s\": \"1\"\n\t\t}\n\t},\n\n\t\"rows\": 2\n}\n";
        assert!(document.ends_with(json_tail), "{document}");
        let document = written(FormatKind::Xml, &both);
        let shown = "\t</data>\n\t<totals>\n\t\t<c>5</c>\n\t\t<s>0</s>\n\t</totals>\n\t<extremes>\n\t\t<min>\n\t\t\t<c>2</c>\n\t\t\t<s>0</s>\n\t\t</min>\n\t\t<max>\n\t\t\t<c>3</c>\n\t\t\t<s>1</s>\n\t\t</max>\n\t</extremes>\n\t<rows>2</rows>\n</result>\n";
        assert!(document.ends_with(shown), "{document}");
        let by_column = written(FormatKind::JsonColumnsWithMetadata, &both);
        let head = "\t{\n\t\t\"c\": [3, 2],\n\t\t\"s\": [\"0\", \"1\"]\n\t},\n\n";
        assert!(by_column.contains(&format!("{head}{json_tail}")), "{by_column}");
        let lists = written(FormatKind::JsonCompact, &alone);
        let shown = "\n\t],\n\n\t\"extremes\":\n\t{\n\t\t\"min\": [2, \"0\"],\n\t\t\"max\": [3, \"1\"]\n\t},\n\n\t\"rows\": 2\n}\n";
        assert!(lists.ends_with(shown), "{lists}");
    }
}
