//! Which files count as unfinished, and which may be appended to.

use stores::files::listing::is_unfinished;

use super::*;
use crate::export::names::temporary_of;

#[test]
fn unfinished_files_are_known_by_their_name() {
    let export = model::ExportId::from_random_bytes([0xab; 16]).to_string();
    let temporary = temporary_of("/files/a.csv", &export);
    assert_eq!(temporary.parent(), Some(Path::new("/files")));
    let name = temporary.file_name().and_then(|name| name.to_str()).unwrap();
    assert!(is_unfinished(name), "{name}");
    for other in ["a.csv", ".a.csv", ".a.tmp", "a.tmp", ".tmp", &name[1..], &name.replace("ab", "xy")] {
        assert!(!is_unfinished(other), "{other}");
    }
}

#[test]
fn files_with_an_end_are_not_appended_to() {
    for (format, appends) in [
        ("CSV", true),
        ("Native", true),
        ("Parquet", false),
        ("Arrow", false),
        ("ArrowStream", false),
        ("JSON", false),
    ] {
        assert_eq!(can_append(FormatKind::parse(format).unwrap()), appends, "{format}");
    }
}
