//! What the arguments of a write ask for: a format, by argument or suffix, and a storage class.
//!
//! Invariant: what cannot be done is refused by name. Must not know: stores, keys.

use formats::FormatKind;
use model::ErrorCode;
use stores::calls::arguments::ObjectArguments;
use stores::calls::signatures::Family;
use stores::codecs::compression::Compression;
use stores::error::{Result, SourceError};

/// The path or URL whose suffix counts.
pub(super) fn name_of(arguments: &ObjectArguments) -> &str {
    match arguments.family {
        Family::Url => arguments.url.split(['?', '#']).next().unwrap_or_default(),
        _ => path_of(arguments),
    }
}

pub(super) fn path_of(arguments: &ObjectArguments) -> &str {
    match arguments.family {
        Family::Azure => &arguments.blob_path,
        _ => &arguments.url,
    }
}

/// The client cannot ask for a class when it begins an upload in parts.
pub(super) fn refuse_storage_class(arguments: &ObjectArguments) -> Result<()> {
    match &arguments.storage_class {
        Some(class) if !class.eq_ignore_ascii_case("STANDARD") => {
            Err(SourceError::unsupported(format!("writing with storage class \"{class}\" is not supported"))
                .with_hint("write with STANDARD, and let a lifecycle rule of the bucket move the objects"))
        }
        _ => Ok(()),
    }
}

pub(super) fn format_of(arguments: &ObjectArguments) -> Result<FormatKind> {
    let unknown = |message: String| SourceError::bad_arguments(message).with_code(ErrorCode::UNKNOWN_FORMAT);
    let format = match &arguments.format {
        Some(name) => FormatKind::parse(name).ok_or_else(|| unknown(format!("unknown format \"{name}\"")))?,
        None => {
            let plain = Compression::by_suffix(name_of(arguments)).1;
            FormatKind::of_file_name(plain).ok_or_else(|| {
                let message = format!("the name \"{}\" tells no format to write", name_of(arguments));
                SourceError::bad_arguments(message)
                    .with_code(ErrorCode::CANNOT_DETECT_FORMAT)
                    .with_hint("give the format as an argument")
            })?
        }
    };
    match format.is_output() {
        true => Ok(format),
        false => Err(unknown(format!("format \"{}\" cannot be written", format.name()))),
    }
}
