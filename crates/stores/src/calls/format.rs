//! Which format a file has: said, by suffix, or by its first bytes.
//!
//! Invariant: a format that is only recognised, not read, is refused by name. Must not know: how a format is decoded.

use formats::{FormatKind, FormatSettings};
use model::ErrorCode;

use crate::codecs::compression::{Compression, Magic, magic};
use crate::error::{Result, SourceError, SourceErrorKind};

/// Whether a positional argument can only be a format.
pub fn is_name_or_auto(text: &str) -> bool {
    text.eq_ignore_ascii_case("auto") || FormatKind::parse(text).is_some()
}

/// A format named in a call.
pub fn by_name(name: &str) -> Result<FormatKind> {
    let Some(format) = FormatKind::parse(name) else {
        return Err(SourceError::bad_arguments(format!("unknown format \"{name}\""))
            .with_code(ErrorCode::UNKNOWN_FORMAT));
    };
    if !format.is_input() {
        let message = format!("format \"{}\" is only written", format.name());
        return Err(
            SourceError::bad_arguments(message).with_code(ErrorCode::FORMAT_IS_NOT_SUITABLE_FOR_INPUT)
        );
    }
    Ok(format)
}

/// By the file name without its compression suffix.
///
/// # Errors
/// The suffix belongs to a format that is not read yet.
pub fn by_suffix(file_name: &str) -> Result<Option<FormatKind>> {
    let (_, plain) = Compression::by_suffix(file_name);
    let Some((_, suffix)) = plain.rsplit_once('.') else { return Ok(None) };
    match suffix.to_ascii_lowercase().as_str() {
        "orc" => Err(not_yet("ORC", file_name)),
        "avro" => Err(not_yet("Avro", file_name)),
        "xml" | "bson" | "msgpack" | "npy" | "geojson" | "sql" => Err(not_yet(suffix, file_name)),
        _ => Ok(FormatKind::of_file_name(plain).filter(|format| format.is_input())),
    }
}

/// Whether the suffix is one of rows and of documents around them.
pub fn may_be_document(file_name: &str) -> bool {
    let (_, plain) = Compression::by_suffix(file_name);
    plain.rsplit_once('.').is_some_and(|(_, suffix)| suffix.eq_ignore_ascii_case("json"))
}

/// The format of a document around rows, by its first bytes; `None` for rows alone.
pub fn document(first: &[u8], at_end: bool, settings: &FormatSettings) -> Option<FormatKind> {
    let found = formats::detect(first, at_end, settings).ok();
    found.filter(|format| matches!(format, FormatKind::Json | FormatKind::JsonCompact))
}

/// By the first bytes of the decompressed content, which are all of it `at_end`.
pub fn by_content(
    first: &[u8],
    at_end: bool,
    settings: &FormatSettings,
    file_name: &str,
) -> Result<FormatKind> {
    match magic(first) {
        Some(Magic::Parquet) => return Ok(FormatKind::Parquet),
        Some(Magic::Foreign("Arrow")) => return Ok(FormatKind::Arrow),
        Some(Magic::Foreign(name)) => return Err(not_yet(name, file_name)),
        _ if first.starts_with(b"\x93NUMPY") => return Err(not_yet("Npy", file_name)),
        _ => {}
    }
    formats::detect(first, at_end, settings).map_err(|why| {
        let message = format!("the format of \"{file_name}\" cannot be detected: {why}");
        SourceError::new(SourceErrorKind::NoStructure, message)
            .with_file(file_name)
            .with_code(ErrorCode::CANNOT_DETECT_FORMAT)
            .with_hint("give the format as an argument")
    })
}

fn not_yet(format: &str, file_name: &str) -> SourceError {
    SourceError::unsupported(format!("format {format} of \"{file_name}\" is not supported yet"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_behind_compression() {
        let name = |file: &str| by_suffix(file).unwrap().map(|format| format.name().to_owned());
        assert_eq!(name("a.csv.gz").as_deref(), Some("CSV"));
        assert_eq!(name("a.ndjson").as_deref(), Some("JSONEachRow"));
        assert_eq!(name("A.PARQUET").as_deref(), Some("Parquet"));
        assert_eq!(name("a.arrow").as_deref(), Some("Arrow"));
        assert_eq!(name("a.feather").as_deref(), Some("Arrow"));
        assert_eq!(name("a.native.zst").as_deref(), Some("Native"));
        assert_eq!(name("a.dat"), None);
        assert_eq!(name("a"), None);
        assert!(may_be_document("a.json.gz") && !may_be_document("a.jsonl") && !may_be_document("json"));
        assert_eq!(by_suffix("a.orc").unwrap_err().code(), ErrorCode::NOT_IMPLEMENTED);
    }

    #[test]
    fn content_tells_when_the_name_does_not() {
        let of = |first: &[u8]| by_content(first, true, &FormatSettings::default(), "b/f");
        assert_eq!(of(b"PAR1xxxx").unwrap().name(), "Parquet");
        assert_eq!(of(b"ARROW1\0\0").unwrap().name(), "Arrow");
        assert_eq!(of(b" \n{\"a\":1}").unwrap().name(), "JSONEachRow");
        assert_eq!(of(b"a,b\n1,2\n").unwrap().name(), "CSV");
        for foreign in [&b"ORC..."[..], b"Obj\x01", b"\x93NUMPY\x01"] {
            assert_eq!(of(foreign).unwrap_err().code(), ErrorCode::NOT_IMPLEMENTED);
        }
        let error = of(b"??").unwrap_err();
        assert_eq!((error.code(), error.file()), (ErrorCode::CANNOT_DETECT_FORMAT, Some("b/f")));
        assert!(error.to_string().contains("give the format"), "{error}");
    }

    #[test]
    fn names_in_calls() {
        assert!(is_name_or_auto("auto") && is_name_or_auto("CSV") && !is_name_or_auto("a Int8"));
        assert_eq!(by_name("Foo").unwrap_err().code(), ErrorCode::UNKNOWN_FORMAT);
    }
}
