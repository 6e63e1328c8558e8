//! INTO OUTFILE as a door carries it out: which format, how compressed, and what becomes of a file that is there.
//!
//! Invariant: what is wrong with the clause is an error before the statement runs, and nothing of it is left for a door
//! to understand. Must not know: files; they are on the machine of whoever asks.

use formats::FormatKind;
use model::ErrorCode;
use sources::export::can_append;
use sql::{Settings, Statement};
use stores::codecs::compression::Compression;
use stores::{Effort, Encoder};

use crate::error::{Error, ErrorKind};

/// What becomes of a file that is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Existing {
    /// It is an error.
    Refuse,
    /// Rows go behind what it has.
    Append,
    Replace,
}

/// The clause, understood.
#[derive(Clone, Debug)]
pub struct Outfile {
    pub path: String,
    pub existing: Existing,
    /// The answer is shown, too.
    pub and_stdout: bool,
    pub format: FormatKind,
    compression: Compression,
    effort: Effort,
}

/// Compresses the bytes of one answer.
pub struct OutputEncoder(Encoder);

/// Names of files that mean formats nobody writes here; by default they would hold another one.
const OTHER_FORMATS: [&str; 8] = ["orc", "avro", "xml", "bson", "msgpack", "npy", "sql", "geojson"];

impl Outfile {
    /// What `statement` says with `clause`. `format` is its FORMAT clause.
    pub fn of(
        clause: &sql::Outfile,
        statement: &Statement,
        format: Option<&str>,
        settings: &Settings,
    ) -> Result<Outfile, Error> {
        if !answers(statement) {
            let message = "INTO OUTFILE belongs to a statement that answers with rows";
            return Err(Error::new(ErrorKind::Syntax, ErrorCode::SYNTAX_ERROR, message)
                .with_hint("INSERT INTO FUNCTION file('path') writes a file"));
        }
        let path = clause.path.clone();
        let (by_suffix, plain) = Compression::by_suffix(&path);
        let compression = match clause.compression.as_deref() {
            None => by_suffix,
            Some(name) if name.eq_ignore_ascii_case("auto") => by_suffix,
            Some(name) => Compression::by_name(name)?,
        };
        let format = match format {
            Some(name) => output_format(name)?,
            None => named_format(plain, settings)?,
        };
        let existing = match (clause.append, clause.truncate) {
            (true, _) => Existing::Append,
            (false, true) => Existing::Replace,
            (false, false) => Existing::Refuse,
        };
        if existing == Existing::Append {
            check_append(&path, format, compression)?;
        }
        let level = clause.level.map(|level| i32::try_from(level).unwrap_or(i32::MAX));
        let of_settings = effort(settings);
        let effort = Effort { level: level.or(of_settings.level), ..of_settings };
        let outfile = Outfile { path, existing, and_stdout: clause.and_stdout, format, compression, effort };
        // Levels and windows are refused before the statement runs.
        outfile.encoder()?;
        Ok(outfile)
    }

    /// Makes what is written into the file of what is shown.
    ///
    /// # Errors
    /// The method of compression cannot be used.
    pub fn encoder(&self) -> Result<OutputEncoder, Error> {
        Ok(OutputEncoder(Encoder::new(self.compression, self.effort)?))
    }
}

impl OutputEncoder {
    /// An encoder of a method by its name, such as `gzip`; a level nobody gives is the method's fast one.
    ///
    /// # Errors
    /// The method is unknown, or has no such level.
    pub fn of_method(name: &str, level: Option<i32>) -> Result<OutputEncoder, Error> {
        Ok(OutputEncoder(Encoder::new(Compression::by_name(name)?, Effort { level, zstd_window_log: 0 })?))
    }

    /// Appends to `out` what is ready of the compressed stream.
    ///
    /// # Errors
    /// The method of compression failed, as for want of memory.
    pub fn encode(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        Ok(self.0.encode(bytes, out)?)
    }

    /// Appends to `out` what a reader needs for all that was encoded so far.
    ///
    /// # Errors
    /// As for [`OutputEncoder::encode`].
    pub fn flush(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        Ok(self.0.flush(out)?)
    }

    /// Appends the end of the stream to `out`.
    ///
    /// # Errors
    /// As for [`OutputEncoder::encode`].
    pub fn finish(self, out: &mut Vec<u8>) -> Result<(), Error> {
        Ok(self.0.finish(out)?)
    }
}

fn answers(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Query(_)
            | Statement::Explain(_)
            | Statement::Show(_)
            | Statement::Describe(_)
            | Statement::Exists { .. }
            | Statement::CheckTable { .. }
    )
}

/// ClickHouse's rule: the name, then `default_format`, then TabSeparated.
fn named_format(plain: &str, settings: &Settings) -> Result<FormatKind, Error> {
    let suffix = plain.rsplit_once('.').map_or("", |(_, suffix)| suffix).to_ascii_lowercase();
    if OTHER_FORMATS.contains(&suffix.as_str()) {
        return Err(Error::unsupported(format!("writing \"{plain}\": the format .{suffix}"))
            .with_hint("give a FORMAT, or another name"));
    }
    // Read, .json is a row a line; written, it is the whole document that ClickHouse writes.
    let named = if suffix == "json" { Some(FormatKind::Json) } else { FormatKind::of_file_name(plain) };
    let default = settings.get_text("default_format");
    match named.filter(|format| format.is_output()) {
        Some(format) => Ok(format),
        None if !default.is_empty() => output_format(&default),
        None => Ok(FormatKind::TabSeparated),
    }
}

fn check_append(path: &str, format: FormatKind, compression: Compression) -> Result<(), Error> {
    if compression != Compression::None {
        let message =
            format!("cannot append to file \"{path}\": it is compressed with {}", compression.name());
        return Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message)
            .with_hint("leave COMPRESSION or APPEND out, or write another file"));
    }
    if !can_append(format) {
        let message =
            format!("cannot append to file \"{path}\": a file of format {} ends once", format.name());
        return Err(Error::new(ErrorKind::BadInput, ErrorCode::CANNOT_APPEND_TO_FILE, message)
            .with_hint("write TRUNCATE or another file"));
    }
    Ok(())
}

/// How hard output is compressed. A level nobody asked for is fitted to the method instead of being refused.
pub fn effort(settings: &Settings) -> Effort {
    let level = "output_format_compression_level";
    let given =
        settings.is_changed(level).then(|| i32::try_from(settings.get_u64(level)).unwrap_or(i32::MAX));
    let window_log = settings.get_u64("output_format_compression_zstd_window_log");
    Effort { level: given, zstd_window_log: u32::try_from(window_log).unwrap_or(u32::MAX) }
}

/// A FORMAT clause of a SELECT.
pub fn output_format(name: &str) -> Result<FormatKind, Error> {
    match FormatKind::parse(name) {
        Some(kind) if kind.is_output() => Ok(kind),
        Some(_) => Err(Error::new(
            ErrorKind::BadInput,
            ErrorCode::UNKNOWN_FORMAT,
            format!("format {name} cannot be written"),
        )),
        None => Err(Error::new(
            ErrorKind::UnknownObject,
            ErrorCode::UNKNOWN_FORMAT,
            format!("unknown format {name}"),
        )
        .with_hint("system.formats lists the formats")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Outfile, Error> {
        let parsed = sql::parse_one(text)?;
        let mut settings = Settings::session();
        settings.apply_all(&parsed.output.settings)?;
        let clause = parsed.output.outfile.as_ref().ok_or_else(|| Error::internal("no clause"))?;
        Outfile::of(clause, &parsed.statement, parsed.output.format.as_deref(), &settings)
    }

    #[test]
    fn names_and_words_decide_format_and_compression() {
        for (clause, expected) in [
            ("'a.csv'", "CSV none Refuse"),
            ("'a.CSV' APPEND", "CSV none Append"),
            ("'a.tsv.gz' TRUNCATE AND STDOUT", "TabSeparated gzip Replace shown"),
            ("'a.json'", "JSON none Refuse"),
            ("'a.jsonl.zst'", "JSONEachRow zstd Refuse"),
            ("'a.csv.gz' COMPRESSION 'none'", "CSV none Refuse"),
            ("'a.csv.gz' COMPRESSION 'auto'", "CSV gzip Refuse"),
            ("'a' COMPRESSION 'br' LEVEL 5 FORMAT Values", "Values brotli Refuse"),
            ("'a.dat'", "TabSeparated none Refuse"),
            ("'a.dat' SETTINGS default_format = 'CSV'", "CSV none Refuse"),
            ("'a.tsv' SETTINGS default_format = 'CSV'", "TabSeparated none Refuse"),
            ("'a.orc' FORMAT CSV", "CSV none Refuse"),
        ] {
            let read = read(&format!("SELECT 1 INTO OUTFILE {clause}")).unwrap();
            let shown = if read.and_stdout { " shown" } else { "" };
            let (format, method) = (read.format.name(), read.compression.name());
            assert_eq!(format!("{format} {method} {:?}{shown}", read.existing), expected, "{clause}");
        }
    }

    #[test]
    fn what_cannot_be_done_is_said_before_the_statement_runs() {
        for (text, code, named) in [
            ("SELECT 1 INTO OUTFILE 'a.csv' APPEND TRUNCATE", 36, "not both"),
            ("SELECT 1 INTO OUTFILE 'a.csv' LEVEL 3", 62, "LEVEL"),
            ("SELECT 1 INTO OUTFILE 'a.csv' COMPRESSION 'nope'", 48, "nope"),
            ("SELECT 1 INTO OUTFILE 'a.csv' COMPRESSION 'gzip' LEVEL 22", 36, "level 22"),
            ("SELECT 1 INTO OUTFILE 'a.csv.gz' APPEND", 36, "a.csv.gz"),
            ("SELECT 1 INTO OUTFILE 'a.parquet' APPEND", 641, "Parquet"),
            ("SELECT 1 INTO OUTFILE 'a.arrows' APPEND", 641, "ArrowStream"),
            ("SELECT 1 INTO OUTFILE 'a.orc'", 48, ".orc"),
            ("SELECT 1 INTO OUTFILE 'a.csv' FORMAT Nope", 73, "Nope"),
            ("TRUNCATE TABLE t INTO OUTFILE 'a.csv'", 62, "INTO OUTFILE"),
            ("INSERT INTO t SELECT 1 INTO OUTFILE 'a.csv'", 62, "INTO OUTFILE"),
            (
                "SELECT 1 INTO OUTFILE 'a.zst' SETTINGS output_format_compression_zstd_window_log = 5",
                433,
                "zstd_window_log",
            ),
            ("SELECT 1 INTO OUTFILE 'a.gz' SETTINGS output_format_compression_level = 11", 36, "level 11"),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!(error.code.number(), code, "{text}: {error}");
            assert!(
                error.to_string().contains(named) || format!("{error:?}").contains(named),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn bytes_are_those_of_the_method() {
        let outfile = read("SELECT 1 INTO OUTFILE 'a.csv.gz'").unwrap();
        let (mut encoder, mut out) = (outfile.encoder().unwrap(), Vec::new());
        encoder.encode(b"1\n", &mut out).unwrap();
        encoder.finish(&mut out).unwrap();
        assert_eq!(out[..2], [0x1f, 0x8b]);
    }
}
