//! Which format a file has, by the bytes it begins with.
//!
//! Pure. Invariant: a format is named only if the sample reads as it and as no other one; bytes that would be one column of
//! text in any format are not guessed at (ClickHouse reads them as such). Must not know: files, suffixes, magic bytes of
//! formats that are not read here.

use model::{ColumnType, type_name};

use crate::binary::native::read_counts;
use crate::binary::wire::Cursor;
use crate::infer::columns::{Inferred, infer_details};
use crate::rows::json::document::declared;
use crate::settings::FormatSettings;
use model::format_kind::FormatKind;

/// An Arrow stream begins with this instead of a length.
const ARROW_CONTINUATION: &[u8] = &[0xff; 4];
/// Columns that a block of Native may have for it to be taken for one.
const NATIVE_COLUMNS_MAX: usize = 10_000;

/// The format of a file that begins with `sample`; `at_end` says that the sample is the whole file.
///
/// # Errors
/// Why it cannot be told, to be put behind the name of the file.
pub fn detect(sample: &[u8], at_end: bool, settings: &FormatSettings) -> Result<FormatKind, &'static str> {
    let look = Look { sample, at_end, settings };
    let text = sample.strip_prefix(b"\xef\xbb\xbf").unwrap_or(sample);
    if text.iter().all(u8::is_ascii_whitespace) {
        return Err("it holds nothing but blanks");
    }
    if !is_text(text) {
        return match () {
            () if sample.starts_with(ARROW_CONTINUATION) => Ok(FormatKind::ArrowStream),
            () if begins_as_native(sample) => Ok(FormatKind::Native),
            () => Err("its bytes are no UTF-8 text, and no format that is known by them"),
        };
    }
    let mut marks = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace());
    match (marks.next(), marks.next()) {
        (Some(b'{'), _) => look.objects(),
        (Some(b'['), Some(b'{')) => Ok(FormatKind::JsonEachRow),
        (Some(b'['), _) if look.inferred(FormatKind::JsonCompactEachRow).is_some() => {
            Ok(FormatKind::JsonCompactEachRow)
        }
        (Some(b'('), _) if look.inferred(FormatKind::Values).is_some() => Ok(FormatKind::Values),
        _ if names_every_value(text) && look.inferred(FormatKind::Tskv).is_some() => Ok(FormatKind::Tskv),
        _ => look.delimited(),
    }
}

struct Look<'a> {
    sample: &'a [u8],
    at_end: bool,
    settings: &'a FormatSettings,
}

impl Look<'_> {
    fn inferred(&self, kind: FormatKind) -> Option<Inferred> {
        infer_details(kind, self.sample, self.at_end, self.settings)
            .ok()
            .filter(|inferred| inferred.rows > 0 || inferred.has_header)
    }

    /// A document, or objects that are rows.
    fn objects(&self) -> Result<FormatKind, &'static str> {
        if let Ok(Some(columns)) = declared(FormatKind::Json, self.sample)
            && !columns.is_empty()
        {
            return Ok(if rows_are_lists(self.sample) { FormatKind::JsonCompact } else { FormatKind::Json });
        }
        // What cannot be inferred is said better by whoever infers it: with row and column.
        let Some(Inferred { columns, rows: 1, .. }) = self.inferred(FormatKind::JsonEachRow) else {
            return Ok(FormatKind::JsonEachRow);
        };
        let all =
            |is: fn(&ColumnType) -> bool| columns.iter().all(|(_, column_type)| is(column_type.value_type()));
        match () {
            () if all(|one| matches!(one, ColumnType::Array(_))) => Err(
                "one object of lists is a row of JSONEachRow or the columns of JSONColumns: name the format",
            ),
            () if all(|one| matches!(one, ColumnType::Tuple(_) | ColumnType::Map(..))) => Err(
                "one object of objects is a row of JSONEachRow or rows of JSONObjectEachRow: name the format",
            ),
            () => Ok(FormatKind::JsonEachRow),
        }
    }

    /// CSV or TSV: whichever has more columns, then whichever has more that are no text.
    fn delimited(&self) -> Result<FormatKind, &'static str> {
        let csv = self.table(FormatKind::Csv, FormatKind::CsvWithNamesAndTypes);
        let tsv = self.table(FormatKind::TabSeparated, FormatKind::TabSeparatedWithNamesAndTypes);
        let best = match (csv, tsv) {
            (Some(csv), Some(tsv)) => {
                if tsv.1 > csv.1 {
                    tsv
                } else {
                    csv
                }
            }
            (csv, tsv) => csv.or(tsv).ok_or("its lines have different numbers of fields")?,
        };
        match best {
            (_, (1, 0)) => Err("its lines are one column of text in every format (LineAsString reads them)"),
            (kind, _) => Ok(kind),
        }
    }

    /// The format with its number of columns, and of those that are no text.
    fn table(&self, plain: FormatKind, with_types: FormatKind) -> Option<(FormatKind, (usize, usize))> {
        let columns = self.inferred(plain)?.columns;
        let line_ends = self.sample.trim_ascii().iter().filter(|byte| **byte == b'\n').take(2).count();
        if line_ends + usize::from(self.at_end) >= 2
            && let Some(typed) =
                self.inferred(with_types).filter(|typed| typed.columns.len() == columns.len())
        {
            return Some((with_types, (columns.len(), typed.columns.len())));
        }
        let is_text = |column_type: &ColumnType| matches!(column_type.value_type(), ColumnType::String);
        let values = columns.iter().filter(|(_, column_type)| !is_text(column_type)).count();
        Some((plain, (columns.len(), values)))
    }
}

/// UTF-8 without control characters, but for a character that the end of the sample cuts.
fn is_text(sample: &[u8]) -> bool {
    let is_utf8 = match std::str::from_utf8(sample) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    is_utf8 && !sample.iter().any(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace())
}

/// Numbers of columns and rows, then the name and the type of the first column.
fn begins_as_native(sample: &[u8]) -> bool {
    let mut cursor = Cursor::new(sample, 0);
    let Ok((columns, _)) = read_counts(&mut cursor) else { return false };
    let named = (1..=NATIVE_COLUMNS_MAX).contains(&columns) && cursor.name().is_ok();
    named && cursor.name().is_ok_and(|text| type_name::parse(text).is_ok())
}

/// Whether the rows of a document are lists.
fn rows_are_lists(sample: &[u8]) -> bool {
    let key = b"\"data\"";
    let Some(at) = sample.windows(key.len()).position(|bytes| bytes == key) else { return false };
    let mut marks = sample[at + key.len()..].iter().filter(|byte| !byte.is_ascii_whitespace());
    (marks.next(), marks.next(), marks.next()) == (Some(&b':'), Some(&b'['), Some(&b'['))
}

/// Whether the first line is `name=value` between tabs.
fn names_every_value(text: &[u8]) -> bool {
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.split(|byte| *byte == b'\t').all(|field| {
        let name = field.split(|byte| *byte == b'=').next().unwrap_or_default();
        let in_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        name.len() < field.len() && !name.is_empty() && name.iter().all(in_name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(sample: &str) -> Result<&'static str, &'static str> {
        detect(sample.as_bytes(), true, &FormatSettings::default()).map(FormatKind::name)
    }

    #[test]
    fn formats_that_clickhouse_finds_too() {
        for (sample, format) in [
            ("{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":\"y\"}\n", "JSONEachRow"),
            ("[{\"a\":1},{\"a\":2}]\n", "JSONEachRow"),
            ("{\"meta\":[{\"name\":\"a\",\"type\":\"UInt8\"}],\"data\":[[1],[2]],\"rows\":2}", "JSONCompact"),
            ("1,2,x\n3,4,y\n", "CSV"),
            ("id,name,score\n1,bob,3.5\n2,eve,4.5\n", "CSV"),
            ("\"id\",\"na,me\"\n\"1\",\"bob\"\n", "CSV"),
            ("1\t2\tx\n3\t4\ty\n", "TabSeparated"),
            ("id\tname\n1\tbob\n", "TabSeparated"),
            ("1,a\tb\n2,c\td\n", "CSV"),
            ("1\n2\n3\n", "CSV"),
            ("a,b,c\n", "CSV"),
            ("a\tb\n", "TabSeparated"),
            ("(1,'x'),(2,'y')", "Values"),
            ("a=1\tb=x\na=2\tb=y\n", "TSKV"),
            ("a,b\nUInt8,String\n1,x\n", "CSVWithNamesAndTypes"),
            ("a\tb\nUInt8\tString\n1\tx\n", "TabSeparatedWithNamesAndTypes"),
        ] {
            assert_eq!(detected(sample), Ok(format), "{sample}");
        }
    }

    /// It reads lists as text, fails on documents of objects, and counts `1<tab>a` as one value.
    #[test]
    fn formats_that_it_does_not_find() {
        for (sample, format) in [
            ("{\"meta\":[{\"name\":\"a\",\"type\":\"UInt8\"}],\"data\":[{\"a\":1}],\"rows\":1}", "JSON"),
            ("[1,\"x\"]\n[2,\"y\"]\n", "JSONCompactEachRow"),
            ("1\ta,b\n2\tc,d\n", "TabSeparated"),
            ("{\"a\":1}\nnot json\n", "JSONEachRow"),
        ] {
            assert_eq!(detected(sample), Ok(format), "{sample}");
        }
    }

    #[test]
    fn what_is_not_guessed_at() {
        for (sample, why) in [
            ("", "blanks"),
            (" \n\n", "blanks"),
            ("hello world\nfoo bar\n", "one column of text"),
            ("hello", "one column of text"),
            ("1;x\n3;y\n", "one column of text"),
            ("<a><b>1</b></a>\n", "one column of text"),
            ("\u{1}\u{2}\u{3}", "no UTF-8 text"),
            ("{\"a\":[1,2],\"b\":[\"x\",\"y\"]}", "JSONColumns"),
            ("{\"r1\":{\"a\":1},\"r2\":{\"a\":2}}", "JSONObjectEachRow"),
        ] {
            let problem = detected(sample).unwrap_err();
            assert!(problem.contains(why), "{sample}: {problem}");
        }
    }

    #[test]
    fn binary_formats() {
        let settings = FormatSettings::default();
        let native = b"\x01\x02\x01a\x05Int32\x01\0\0\0\x02\0\0\0";
        assert_eq!(detect(native, true, &settings), Ok(FormatKind::Native));
        assert_eq!(detect(&native[..12], false, &settings), Ok(FormatKind::Native));
        assert_eq!(detect(b"\x01\x02\x01a\x05Intxx\0\0", true, &settings).ok(), None);
        assert_eq!(detect(b"\xff\xff\xff\xff\x10\0\0\0", false, &settings), Ok(FormatKind::ArrowStream));
    }

    #[test]
    fn a_sample_that_ends_in_a_row() {
        let settings = FormatSettings::default();
        assert_eq!(
            detect("1,ä\n2,\u{e9}".as_bytes().split_last().unwrap().1, false, &settings),
            Ok(FormatKind::Csv)
        );
        assert_eq!(detect(b"{\"a\":1}\n{\"a", false, &settings), Ok(FormatKind::JsonEachRow));
    }
}
