//! The formats by name.
//!
//! Invariant: `FormatKind::parse(kind.name()) == Some(kind)`; names are found in any case, as ClickHouse finds them. Must not
//! know: how rows are read and written.

/// A format of rows as bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FormatKind {
    Csv,
    CsvWithNames,
    CsvWithNamesAndTypes,
    TabSeparated,
    TabSeparatedWithNames,
    TabSeparatedWithNamesAndTypes,
    Tskv,
    TabSeparatedRaw,
    TabSeparatedRawWithNames,
    TabSeparatedRawWithNamesAndTypes,
    Values,
    Json,
    JsonCompact,
    JsonStrings,
    JsonCompactStrings,
    JsonColumns,
    JsonCompactColumns,
    JsonColumnsWithMetadata,
    JsonObjectEachRow,
    JsonAsString,
    JsonEachRow,
    JsonCompactEachRow,
    JsonCompactEachRowWithNames,
    JsonCompactEachRowWithNamesAndTypes,
    JsonStringsEachRow,
    JsonCompactStringsEachRow,
    JsonCompactStringsEachRowWithNames,
    JsonCompactStringsEachRowWithNamesAndTypes,
    JsonEachRowWithProgress,
    JsonStringsEachRowWithProgress,
    JsonCompactEachRowWithProgress,
    JsonCompactStringsEachRowWithProgress,
    CustomSeparated,
    CustomSeparatedWithNames,
    CustomSeparatedWithNamesAndTypes,
    LineAsString,
    Regexp,
    Template,
    MsgPack,
    BsonEachRow,
    Hash,
    Xml,
    SqlInsert,
    Pretty,
    PrettyNoEscapes,
    PrettyMonoBlock,
    PrettyCompact,
    PrettyCompactNoEscapes,
    PrettyCompactMonoBlock,
    PrettySpace,
    PrettySpaceNoEscapes,
    PrettySpaceMonoBlock,
    Vertical,
    Markdown,
    Parquet,
    Arrow,
    ArrowStream,
    Native,
    RowBinary,
    RowBinaryWithNames,
    RowBinaryWithNamesAndTypes,
    RowBinaryWithDefaults,
    One,
    RawBlob,
    Null,
}

/// Whether a text file begins with rows of names and types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeaderRows {
    None,
    Names,
    NamesAndTypes,
}

struct Spec {
    kind: FormatKind,
    name: &'static str,
    aliases: &'static [&'static str],
    is_input: bool,
    is_output: bool,
    /// File name suffixes, without the dot, that mean this format.
    suffixes: &'static [&'static str],
}

const fn spec(
    kind: FormatKind,
    name: &'static str,
    aliases: &'static [&'static str],
    directions: (bool, bool),
) -> Spec {
    Spec { kind, name, aliases, is_input: directions.0, is_output: directions.1, suffixes: &[] }
}

impl Spec {
    const fn in_files(self, suffixes: &'static [&'static str]) -> Spec {
        Spec { suffixes, ..self }
    }
}

const BOTH: (bool, bool) = (true, true);
const INPUT: (bool, bool) = (true, false);
const OUTPUT: (bool, bool) = (false, true);

use FormatKind as F;

const SPECS: &[Spec] = &[
    spec(F::Csv, "CSV", &[], BOTH).in_files(&["csv"]),
    spec(F::CsvWithNames, "CSVWithNames", &[], BOTH),
    spec(F::CsvWithNamesAndTypes, "CSVWithNamesAndTypes", &[], BOTH),
    spec(F::TabSeparated, "TabSeparated", &["TSV"], BOTH).in_files(&["tsv"]),
    spec(F::TabSeparatedWithNames, "TabSeparatedWithNames", &["TSVWithNames"], BOTH),
    spec(F::TabSeparatedWithNamesAndTypes, "TabSeparatedWithNamesAndTypes", &["TSVWithNamesAndTypes"], BOTH),
    spec(F::Tskv, "TSKV", &[], BOTH).in_files(&["tskv"]),
    spec(F::TabSeparatedRaw, "TabSeparatedRaw", &["TSVRaw", "Raw"], BOTH),
    spec(F::TabSeparatedRawWithNames, "TabSeparatedRawWithNames", &["TSVRawWithNames", "RawWithNames"], BOTH),
    spec(
        F::TabSeparatedRawWithNamesAndTypes,
        "TabSeparatedRawWithNamesAndTypes",
        &["TSVRawWithNamesAndTypes", "RawWithNamesAndTypes"],
        BOTH,
    ),
    spec(F::Values, "Values", &[], BOTH),
    spec(F::Json, "JSON", &[], BOTH),
    spec(F::JsonCompact, "JSONCompact", &[], BOTH),
    spec(F::JsonStrings, "JSONStrings", &[], OUTPUT),
    spec(F::JsonCompactStrings, "JSONCompactStrings", &[], OUTPUT),
    spec(F::JsonColumns, "JSONColumns", &[], BOTH),
    spec(F::JsonCompactColumns, "JSONCompactColumns", &[], BOTH),
    spec(F::JsonColumnsWithMetadata, "JSONColumnsWithMetadata", &[], BOTH),
    spec(F::JsonObjectEachRow, "JSONObjectEachRow", &[], BOTH),
    spec(F::JsonAsString, "JSONAsString", &[], INPUT),
    spec(F::JsonEachRow, "JSONEachRow", &["JSONLines", "NDJSON", "JSONL"], BOTH)
        .in_files(&["jsonl", "ndjson", "json"]),
    spec(F::JsonCompactEachRow, "JSONCompactEachRow", &[], BOTH),
    spec(F::JsonCompactEachRowWithNames, "JSONCompactEachRowWithNames", &[], BOTH),
    spec(F::JsonCompactEachRowWithNamesAndTypes, "JSONCompactEachRowWithNamesAndTypes", &[], BOTH),
    spec(F::JsonStringsEachRow, "JSONStringsEachRow", &[], BOTH),
    spec(F::JsonCompactStringsEachRow, "JSONCompactStringsEachRow", &[], BOTH),
    spec(F::JsonCompactStringsEachRowWithNames, "JSONCompactStringsEachRowWithNames", &[], BOTH),
    spec(
        F::JsonCompactStringsEachRowWithNamesAndTypes,
        "JSONCompactStringsEachRowWithNamesAndTypes",
        &[],
        BOTH,
    ),
    spec(F::JsonEachRowWithProgress, "JSONEachRowWithProgress", &[], OUTPUT),
    spec(F::JsonStringsEachRowWithProgress, "JSONStringsEachRowWithProgress", &[], OUTPUT),
    spec(F::JsonCompactEachRowWithProgress, "JSONCompactEachRowWithProgress", &[], OUTPUT),
    spec(F::JsonCompactStringsEachRowWithProgress, "JSONCompactStringsEachRowWithProgress", &[], OUTPUT),
    spec(F::CustomSeparated, "CustomSeparated", &[], BOTH),
    spec(F::CustomSeparatedWithNames, "CustomSeparatedWithNames", &[], BOTH),
    spec(F::CustomSeparatedWithNamesAndTypes, "CustomSeparatedWithNamesAndTypes", &[], BOTH),
    spec(F::LineAsString, "LineAsString", &[], BOTH),
    spec(F::Regexp, "Regexp", &[], INPUT),
    spec(F::Template, "Template", &[], INPUT),
    spec(F::MsgPack, "MsgPack", &[], OUTPUT),
    spec(F::BsonEachRow, "BSONEachRow", &[], OUTPUT),
    spec(F::Hash, "Hash", &[], OUTPUT),
    spec(F::Xml, "XML", &[], OUTPUT),
    spec(F::SqlInsert, "SQLInsert", &[], OUTPUT),
    spec(F::Pretty, "Pretty", &[], OUTPUT),
    spec(F::PrettyNoEscapes, "PrettyNoEscapes", &[], OUTPUT),
    spec(F::PrettyMonoBlock, "PrettyMonoBlock", &[], OUTPUT),
    spec(F::PrettyCompact, "PrettyCompact", &[], OUTPUT),
    spec(F::PrettyCompactNoEscapes, "PrettyCompactNoEscapes", &[], OUTPUT),
    spec(F::PrettyCompactMonoBlock, "PrettyCompactMonoBlock", &[], OUTPUT),
    spec(F::PrettySpace, "PrettySpace", &[], OUTPUT),
    spec(F::PrettySpaceNoEscapes, "PrettySpaceNoEscapes", &[], OUTPUT),
    spec(F::PrettySpaceMonoBlock, "PrettySpaceMonoBlock", &[], OUTPUT),
    spec(F::Vertical, "Vertical", &[], OUTPUT),
    spec(F::Markdown, "Markdown", &["MD"], OUTPUT).in_files(&["md"]),
    spec(F::Parquet, "Parquet", &[], BOTH).in_files(&["parquet", "pq"]),
    spec(F::Arrow, "Arrow", &[], BOTH).in_files(&["arrow", "feather"]),
    spec(F::ArrowStream, "ArrowStream", &[], BOTH).in_files(&["arrows"]),
    spec(F::Native, "Native", &[], BOTH).in_files(&["native"]),
    spec(F::RowBinary, "RowBinary", &[], BOTH),
    spec(F::RowBinaryWithNames, "RowBinaryWithNames", &[], BOTH),
    spec(F::RowBinaryWithNamesAndTypes, "RowBinaryWithNamesAndTypes", &[], BOTH),
    spec(F::RowBinaryWithDefaults, "RowBinaryWithDefaults", &[], INPUT),
    spec(F::One, "One", &[], INPUT),
    spec(F::RawBlob, "RawBLOB", &[], BOTH),
    spec(F::Null, "Null", &[], OUTPUT),
];

impl FormatKind {
    /// The format of this name or alias, in any case.
    pub fn parse(name: &str) -> Option<FormatKind> {
        let named = |spec: &&Spec| {
            spec.name.eq_ignore_ascii_case(name)
                || spec.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
        };
        SPECS.iter().find(named).map(|spec| spec.kind)
    }

    /// The format a file name's last suffix stands for, compression suffixes already removed. The name of a format is a
    /// suffix, too.
    pub fn of_file_name(name: &str) -> Option<FormatKind> {
        let (_, suffix) = name.rsplit_once('.')?;
        let matches = |spec: &&Spec| spec.suffixes.iter().any(|s| s.eq_ignore_ascii_case(suffix));
        SPECS.iter().find(matches).map(|spec| spec.kind).or_else(|| Self::parse(suffix))
    }

    /// Every format, for `system.formats`.
    pub fn list() -> impl Iterator<Item = FormatKind> {
        SPECS.iter().map(|spec| spec.kind)
    }

    fn spec(self) -> &'static Spec {
        // Every kind has a row: the test below walks them. The first row stands in for the impossible rest.
        SPECS.iter().find(|spec| spec.kind == self).unwrap_or(&SPECS[0])
    }

    /// Its name, as ClickHouse writes it.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// Further names it is found by.
    pub fn aliases(self) -> &'static [&'static str] {
        self.spec().aliases
    }

    /// Whether rows are read from it.
    pub fn is_input(self) -> bool {
        self.spec().is_input
    }

    /// Whether rows are written as it.
    pub fn is_output(self) -> bool {
        self.spec().is_output
    }

    /// Whether the bytes are text.
    pub fn is_text(self) -> bool {
        !matches!(
            self,
            F::Parquet
                | F::Arrow
                | F::ArrowStream
                | F::Native
                | F::RowBinary
                | F::RowBinaryWithNames
                | F::RowBinaryWithNamesAndTypes
                | F::RowBinaryWithDefaults
                | F::One
                | F::RawBlob
                | F::MsgPack
                | F::BsonEachRow
        )
    }

    /// Whether the columns are the same whatever the data is.
    pub fn has_fixed_columns(self) -> bool {
        matches!(
            self,
            FormatKind::One | FormatKind::RawBlob | FormatKind::LineAsString | FormatKind::JsonAsString
        )
    }

    /// Whether the data names its columns, so that a reader finds them in any order and may be given a part of them.
    pub fn names_columns(self) -> bool {
        let names = matches!(
            self,
            F::JsonEachRow
                | F::JsonStringsEachRow
                | F::JsonObjectEachRow
                | F::JsonColumns
                | F::JsonColumnsWithMetadata
                | F::Parquet
                | F::Arrow
                | F::ArrowStream
                | F::Native
        );
        // Without its type a column of RowBinary cannot be skipped.
        names || self.header_rows() != HeaderRows::None && self != F::RowBinaryWithNames
    }

    /// Whether the values of a column stand together, so that there are no rows before all of the text is there.
    pub fn stands_by_column(self) -> bool {
        matches!(self, F::JsonColumns | F::JsonCompactColumns | F::JsonColumnsWithMetadata)
    }

    /// Whether the rows stand among lines that tell how far the statement is.
    pub fn tells_progress(self) -> bool {
        matches!(
            self,
            F::JsonEachRowWithProgress
                | F::JsonStringsEachRowWithProgress
                | F::JsonCompactEachRowWithProgress
                | F::JsonCompactStringsEachRowWithProgress
        )
    }

    /// MIME type of the written bytes, as ClickHouse's HTTP interface names it.
    pub fn content_type(self) -> &'static str {
        match self {
            F::Csv => "text/csv; charset=UTF-8; header=absent",
            F::CsvWithNames | F::CsvWithNamesAndTypes => "text/csv; charset=UTF-8; header=present",
            F::Json | F::JsonCompact | F::JsonStrings | F::JsonCompactStrings | F::JsonObjectEachRow => {
                "application/json; charset=UTF-8"
            }
            F::JsonColumns | F::JsonCompactColumns | F::JsonColumnsWithMetadata => {
                "application/json; charset=UTF-8"
            }
            F::JsonEachRow | F::JsonCompactEachRow => "application/x-ndjson; charset=UTF-8",
            F::JsonCompactEachRowWithNames | F::JsonCompactEachRowWithNamesAndTypes => {
                "application/x-ndjson; charset=UTF-8"
            }
            telling if telling.tells_progress() => "application/json; charset=UTF-8",
            json if json.of_plain_values() != json => "application/x-ndjson; charset=UTF-8",
            F::TabSeparated | F::TabSeparatedWithNames | F::TabSeparatedWithNamesAndTypes => {
                "text/tab-separated-values; charset=UTF-8"
            }
            F::Xml => "application/xml; charset=UTF-8",
            F::Markdown => "text/markdown; charset=UTF-8",
            F::RawBlob | F::One => "text/plain; charset=UTF-8",
            binary if !binary.is_text() => "application/octet-stream",
            _ => "text/plain; charset=UTF-8",
        }
    }

    /// For JSON in which every value is a string, the same with values of all kinds; else the format itself.
    pub fn of_plain_values(self) -> FormatKind {
        match self {
            F::JsonStringsEachRow => F::JsonEachRow,
            F::JsonCompactStringsEachRow => F::JsonCompactEachRow,
            F::JsonCompactStringsEachRowWithNames => F::JsonCompactEachRowWithNames,
            F::JsonCompactStringsEachRowWithNamesAndTypes => F::JsonCompactEachRowWithNamesAndTypes,
            other => other,
        }
    }

    /// Whether the fields are escaped and parted as settings say.
    pub fn is_custom(self) -> bool {
        self.name().starts_with("CustomSeparated")
    }

    /// Whether rows are lists of JSON values.
    pub fn is_json_list(self) -> bool {
        self.name().starts_with("JSONCompact") && self.name().contains("EachRow")
    }

    /// Header rows a file of this format begins with: its name says them.
    pub fn header_rows(self) -> HeaderRows {
        match self.name() {
            name if name.ends_with("WithNamesAndTypes") => HeaderRows::NamesAndTypes,
            name if name.ends_with("WithNames") => HeaderRows::Names,
            _ => HeaderRows::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_names() {
        for kind in FormatKind::list() {
            assert_eq!(FormatKind::parse(kind.name()), Some(kind));
            assert_eq!(FormatKind::parse(&kind.name().to_ascii_lowercase()), Some(kind));
            for alias in kind.aliases() {
                assert_eq!(FormatKind::parse(alias), Some(kind));
            }
        }
        assert_eq!(FormatKind::parse("CSVv"), None);
    }

    #[test]
    fn suffixes_name_formats() {
        assert_eq!(FormatKind::of_file_name("a/b.CSV"), Some(FormatKind::Csv));
        assert_eq!(FormatKind::of_file_name("x.ndjson"), Some(FormatKind::JsonEachRow));
        assert_eq!(FormatKind::of_file_name("x.parquet"), Some(FormatKind::Parquet));
        assert_eq!(FormatKind::of_file_name("parquet"), None);
    }
}
