//! The formats by name.
//!
//! Invariant: `FormatKind::parse(kind.name()) == Some(kind)`; names are found in any case, as ClickHouse finds them.

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
    suffixes: &'static [&'static str],
) -> Spec {
    Spec { kind, name, aliases, is_input: directions.0, is_output: directions.1, suffixes }
}

const BOTH: (bool, bool) = (true, true);
const INPUT: (bool, bool) = (true, false);
const OUTPUT: (bool, bool) = (false, true);

const SPECS: &[Spec] = &[
    spec(FormatKind::Csv, "CSV", &[], BOTH, &["csv"]),
    spec(FormatKind::CsvWithNames, "CSVWithNames", &[], BOTH, &[]),
    spec(FormatKind::CsvWithNamesAndTypes, "CSVWithNamesAndTypes", &[], BOTH, &[]),
    spec(FormatKind::TabSeparated, "TabSeparated", &["TSV"], BOTH, &["tsv"]),
    spec(FormatKind::TabSeparatedWithNames, "TabSeparatedWithNames", &["TSVWithNames"], BOTH, &[]),
    spec(
        FormatKind::TabSeparatedWithNamesAndTypes,
        "TabSeparatedWithNamesAndTypes",
        &["TSVWithNamesAndTypes"],
        BOTH,
        &[],
    ),
    spec(FormatKind::Tskv, "TSKV", &[], BOTH, &["tskv"]),
    spec(FormatKind::TabSeparatedRaw, "TabSeparatedRaw", &["TSVRaw", "Raw"], BOTH, &[]),
    spec(
        FormatKind::TabSeparatedRawWithNames,
        "TabSeparatedRawWithNames",
        &["TSVRawWithNames", "RawWithNames"],
        BOTH,
        &[],
    ),
    spec(
        FormatKind::TabSeparatedRawWithNamesAndTypes,
        "TabSeparatedRawWithNamesAndTypes",
        &["TSVRawWithNamesAndTypes", "RawWithNamesAndTypes"],
        BOTH,
        &[],
    ),
    spec(FormatKind::Values, "Values", &[], BOTH, &[]),
    spec(FormatKind::Json, "JSON", &[], BOTH, &[]),
    spec(FormatKind::JsonCompact, "JSONCompact", &[], BOTH, &[]),
    spec(FormatKind::JsonStrings, "JSONStrings", &[], OUTPUT, &[]),
    spec(FormatKind::JsonCompactStrings, "JSONCompactStrings", &[], OUTPUT, &[]),
    spec(FormatKind::JsonColumns, "JSONColumns", &[], BOTH, &[]),
    spec(FormatKind::JsonCompactColumns, "JSONCompactColumns", &[], BOTH, &[]),
    spec(FormatKind::JsonColumnsWithMetadata, "JSONColumnsWithMetadata", &[], BOTH, &[]),
    spec(FormatKind::JsonObjectEachRow, "JSONObjectEachRow", &[], BOTH, &[]),
    spec(FormatKind::JsonAsString, "JSONAsString", &[], INPUT, &[]),
    spec(
        FormatKind::JsonEachRow,
        "JSONEachRow",
        &["JSONLines", "NDJSON", "JSONL"],
        BOTH,
        &["jsonl", "ndjson", "json"],
    ),
    spec(FormatKind::JsonCompactEachRow, "JSONCompactEachRow", &[], BOTH, &[]),
    spec(FormatKind::JsonCompactEachRowWithNames, "JSONCompactEachRowWithNames", &[], BOTH, &[]),
    spec(
        FormatKind::JsonCompactEachRowWithNamesAndTypes,
        "JSONCompactEachRowWithNamesAndTypes",
        &[],
        BOTH,
        &[],
    ),
    spec(FormatKind::JsonStringsEachRow, "JSONStringsEachRow", &[], BOTH, &[]),
    spec(FormatKind::JsonCompactStringsEachRow, "JSONCompactStringsEachRow", &[], BOTH, &[]),
    spec(
        FormatKind::JsonCompactStringsEachRowWithNames,
        "JSONCompactStringsEachRowWithNames",
        &[],
        BOTH,
        &[],
    ),
    spec(
        FormatKind::JsonCompactStringsEachRowWithNamesAndTypes,
        "JSONCompactStringsEachRowWithNamesAndTypes",
        &[],
        BOTH,
        &[],
    ),
    spec(FormatKind::JsonEachRowWithProgress, "JSONEachRowWithProgress", &[], OUTPUT, &[]),
    spec(FormatKind::JsonStringsEachRowWithProgress, "JSONStringsEachRowWithProgress", &[], OUTPUT, &[]),
    spec(FormatKind::JsonCompactEachRowWithProgress, "JSONCompactEachRowWithProgress", &[], OUTPUT, &[]),
    spec(
        FormatKind::JsonCompactStringsEachRowWithProgress,
        "JSONCompactStringsEachRowWithProgress",
        &[],
        OUTPUT,
        &[],
    ),
    spec(FormatKind::CustomSeparated, "CustomSeparated", &[], BOTH, &[]),
    spec(FormatKind::CustomSeparatedWithNames, "CustomSeparatedWithNames", &[], BOTH, &[]),
    spec(FormatKind::CustomSeparatedWithNamesAndTypes, "CustomSeparatedWithNamesAndTypes", &[], BOTH, &[]),
    spec(FormatKind::LineAsString, "LineAsString", &[], BOTH, &[]),
    spec(FormatKind::Pretty, "Pretty", &[], OUTPUT, &[]),
    spec(FormatKind::PrettyNoEscapes, "PrettyNoEscapes", &[], OUTPUT, &[]),
    spec(FormatKind::PrettyMonoBlock, "PrettyMonoBlock", &[], OUTPUT, &[]),
    spec(FormatKind::PrettyCompact, "PrettyCompact", &[], OUTPUT, &[]),
    spec(FormatKind::PrettyCompactNoEscapes, "PrettyCompactNoEscapes", &[], OUTPUT, &[]),
    spec(FormatKind::PrettyCompactMonoBlock, "PrettyCompactMonoBlock", &[], OUTPUT, &[]),
    spec(FormatKind::PrettySpace, "PrettySpace", &[], OUTPUT, &[]),
    spec(FormatKind::PrettySpaceNoEscapes, "PrettySpaceNoEscapes", &[], OUTPUT, &[]),
    spec(FormatKind::PrettySpaceMonoBlock, "PrettySpaceMonoBlock", &[], OUTPUT, &[]),
    spec(FormatKind::Vertical, "Vertical", &[], OUTPUT, &[]),
    spec(FormatKind::Markdown, "Markdown", &["MD"], OUTPUT, &["md"]),
    spec(FormatKind::Parquet, "Parquet", &[], BOTH, &["parquet", "pq"]),
    spec(FormatKind::Arrow, "Arrow", &[], BOTH, &["arrow", "feather"]),
    spec(FormatKind::ArrowStream, "ArrowStream", &[], BOTH, &["arrows"]),
    spec(FormatKind::Native, "Native", &[], BOTH, &["native"]),
    spec(FormatKind::RowBinary, "RowBinary", &[], BOTH, &[]),
    spec(FormatKind::RowBinaryWithNames, "RowBinaryWithNames", &[], BOTH, &[]),
    spec(FormatKind::RowBinaryWithNamesAndTypes, "RowBinaryWithNamesAndTypes", &[], BOTH, &[]),
    spec(FormatKind::RowBinaryWithDefaults, "RowBinaryWithDefaults", &[], INPUT, &[]),
    spec(FormatKind::One, "One", &[], INPUT, &[]),
    spec(FormatKind::RawBlob, "RawBLOB", &[], BOTH, &[]),
    spec(FormatKind::Null, "Null", &[], OUTPUT, &[]),
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

    /// The format a file name's last suffix stands for, compression suffixes already removed.
    pub fn of_file_name(name: &str) -> Option<FormatKind> {
        let (_, suffix) = name.rsplit_once('.')?;
        let matches = |spec: &&Spec| spec.suffixes.iter().any(|s| s.eq_ignore_ascii_case(suffix));
        SPECS.iter().find(matches).map(|spec| spec.kind)
    }

    /// Every format, for `system.formats`.
    pub fn list() -> impl Iterator<Item = FormatKind> {
        SPECS.iter().map(|spec| spec.kind)
    }

    fn spec(self) -> &'static Spec {
        // Every kind has a row: the test below walks them. The first row stands in for the impossible rest.
        SPECS.iter().find(|spec| spec.kind == self).unwrap_or(&SPECS[0])
    }

    pub fn name(self) -> &'static str {
        self.spec().name
    }

    pub fn aliases(self) -> &'static [&'static str] {
        self.spec().aliases
    }

    pub fn is_input(self) -> bool {
        self.spec().is_input
    }

    pub fn is_output(self) -> bool {
        self.spec().is_output
    }

    /// Whether the bytes are text.
    pub fn is_text(self) -> bool {
        use FormatKind as F;
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
        use FormatKind as F;
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
    pub(crate) fn stands_by_column(self) -> bool {
        use FormatKind as F;
        matches!(self, F::JsonColumns | F::JsonCompactColumns | F::JsonColumnsWithMetadata)
    }

    /// Whether the rows stand among lines that tell how far the statement is.
    pub fn tells_progress(self) -> bool {
        use FormatKind as F;
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
        use FormatKind as F;
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
            F::Markdown => "text/markdown; charset=UTF-8",
            F::RawBlob | F::One => "text/plain; charset=UTF-8",
            binary if !binary.is_text() => "application/octet-stream",
            _ => "text/plain; charset=UTF-8",
        }
    }

    /// For JSON in which every value is a string, the same with values of all kinds; else the format itself.
    pub(crate) fn of_plain_values(self) -> FormatKind {
        use FormatKind as F;
        match self {
            F::JsonStringsEachRow => F::JsonEachRow,
            F::JsonCompactStringsEachRow => F::JsonCompactEachRow,
            F::JsonCompactStringsEachRowWithNames => F::JsonCompactEachRowWithNames,
            F::JsonCompactStringsEachRowWithNamesAndTypes => F::JsonCompactEachRowWithNamesAndTypes,
            other => other,
        }
    }

    /// Whether the fields are escaped and parted as settings say.
    pub(crate) fn is_custom(self) -> bool {
        use FormatKind as F;
        matches!(self, F::CustomSeparated | F::CustomSeparatedWithNames | F::CustomSeparatedWithNamesAndTypes)
    }

    /// Header rows a file of this format begins with.
    pub fn header_rows(self) -> HeaderRows {
        use FormatKind as F;
        match self {
            F::CsvWithNames
            | F::TabSeparatedWithNames
            | F::TabSeparatedRawWithNames
            | F::JsonCompactEachRowWithNames
            | F::JsonCompactStringsEachRowWithNames
            | F::CustomSeparatedWithNames
            | F::RowBinaryWithNames => HeaderRows::Names,
            F::CsvWithNamesAndTypes
            | F::TabSeparatedWithNamesAndTypes
            | F::TabSeparatedRawWithNamesAndTypes
            | F::JsonCompactEachRowWithNamesAndTypes
            | F::JsonCompactStringsEachRowWithNamesAndTypes
            | F::CustomSeparatedWithNamesAndTypes
            | F::RowBinaryWithNamesAndTypes => HeaderRows::NamesAndTypes,
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
