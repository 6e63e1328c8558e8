//! The splitter of every text format that is read row by row.
//!
//! Invariant: a format that is not listed here is refused by name. Must not know: column types, readers.

use model::ErrorCode;

use crate::error::FormatError;
use crate::rows::custom::CustomRows;
use crate::rows::delimited::{CsvRows, LineRows, TsvRows};
use crate::rows::json::by_column::JsonColumns;
use crate::rows::json::document::Document;
use crate::rows::json::each_row::{JsonObjects, ListRows};
use crate::rows::json::objects::{NamedObjects, ObjectTexts};
use crate::rows::pattern::PatternRows;
use crate::rows::tskv::TskvRows;
use crate::settings::FormatSettings;
use model::format_kind::FormatKind;

pub(crate) enum Splitter {
    Csv(CsvRows),
    Tsv(TsvRows),
    Objects(JsonObjects),
    Lists(ListRows),
    Lines(LineRows),
    Tskv(TskvRows),
    Custom(CustomRows),
    Pattern(PatternRows),
    ObjectDocument(Document<JsonObjects>),
    ListDocument(Document<ListRows>),
    NamedObjects(NamedObjects),
    ObjectTexts(ObjectTexts),
    Columns(JsonColumns),
}

pub(crate) fn is_csv(kind: FormatKind) -> bool {
    kind.name().starts_with("CSV")
}

pub(crate) fn is_tsv(kind: FormatKind) -> bool {
    kind.name().starts_with("TabSeparated")
}

pub(crate) fn splitter<'n>(
    kind: FormatKind,
    settings: &FormatSettings,
    names: impl Iterator<Item = &'n str>,
) -> Result<Splitter, FormatError> {
    use FormatKind as F;
    Ok(match kind {
        F::Csv | F::CsvWithNames | F::CsvWithNamesAndTypes => Splitter::Csv(CsvRows::new(settings)),
        F::TabSeparated | F::TabSeparatedWithNames | F::TabSeparatedWithNamesAndTypes => {
            Splitter::Tsv(TsvRows::new(settings, false))
        }
        F::TabSeparatedRaw | F::TabSeparatedRawWithNames | F::TabSeparatedRawWithNamesAndTypes => {
            Splitter::Tsv(TsvRows::new(settings, true))
        }
        F::JsonEachRow => Splitter::Objects(JsonObjects::new(names, settings)),
        F::JsonCompactEachRow | F::JsonCompactEachRowWithNames | F::JsonCompactEachRowWithNamesAndTypes => {
            Splitter::Lists(ListRows::json())
        }
        F::JsonStringsEachRow => Splitter::Objects(JsonObjects::new(names, settings).of_strings()),
        F::JsonCompactStringsEachRow
        | F::JsonCompactStringsEachRowWithNames
        | F::JsonCompactStringsEachRowWithNamesAndTypes => Splitter::Lists(ListRows::strings()),
        F::CustomSeparated | F::CustomSeparatedWithNames | F::CustomSeparatedWithNamesAndTypes => {
            Splitter::Custom(CustomRows::new(settings)?)
        }
        F::Regexp => Splitter::Pattern(PatternRows::new(settings)?),
        F::Json => {
            let rows = JsonObjects::new(names, settings);
            Splitter::ObjectDocument(Document::new(rows))
        }
        F::JsonCompact => {
            Splitter::ListDocument(Document::of_lists(ListRows::json(), names, settings.skip_unknown_fields))
        }
        F::JsonObjectEachRow => Splitter::NamedObjects(NamedObjects::new(JsonObjects::new(names, settings))),
        F::JsonAsString => Splitter::ObjectTexts(ObjectTexts::new(settings)),
        by_column if by_column.stands_by_column() => {
            Splitter::Columns(JsonColumns::new(kind, names, settings))
        }
        F::Values => Splitter::Lists(ListRows::values()),
        F::Tskv => Splitter::Tskv(TskvRows::new(names, settings)),
        F::LineAsString => Splitter::Lines(LineRows),
        F::Template => {
            let message =
                "format Template needs the file that format_template_row names, which is not read here";
            return Err(FormatError::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        other => {
            let message = format!("format {} is not read row by row", other.name());
            return Err(FormatError::new(ErrorCode::FORMAT_IS_NOT_SUITABLE_FOR_INPUT, message));
        }
    })
}
