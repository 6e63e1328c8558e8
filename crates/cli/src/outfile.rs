//! INTO OUTFILE: an answer as a file on the machine of whoever asks.
//!
//! Invariant: an existing file is only touched when the statement says APPEND or TRUNCATE.

use std::path::Path;

use engine::{Error, ErrorKind, FormatKind};
use host::{Disk, DiskFile};

/// The clause.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outfile<'a> {
    pub(crate) path: &'a str,
    pub(crate) append: bool,
    pub(crate) truncate: bool,
    pub(crate) compression: Option<&'a str>,
}

/// Opens the file a statement names.
pub(crate) fn open(outfile: &Outfile<'_>, disk: &dyn Disk) -> Result<Box<dyn DiskFile>, Error> {
    if let Some(compression) = outfile.compression.filter(|name| !name.eq_ignore_ascii_case("none")) {
        return Err(Error::unsupported(format!("COMPRESSION '{compression}' of INTO OUTFILE")));
    }
    let path = std::path::absolute(outfile.path)?;
    let there = disk.exists(&path)?;
    if there && outfile.append {
        return Ok(disk.open_append(&path)?);
    }
    if there && !outfile.truncate {
        let message = format!("file {} exists already", path.display());
        return Err(Error::new(ErrorKind::AlreadyExists, 504, message).with_hint("add APPEND or TRUNCATE"));
    }
    if there {
        disk.remove_file(&path)?;
    }
    Ok(disk.create(&path)?)
}

/// The format a file's name suggests.
pub(crate) fn format_of(path: &str) -> Option<FormatKind> {
    let suffix = Path::new(path).extension()?.to_str()?.to_ascii_lowercase();
    FormatKind::parse(match suffix.as_str() {
        "csv" => "CSV",
        "tsv" => "TabSeparated",
        "json" => "JSON",
        "jsonl" | "ndjson" => "JSONEachRow",
        "parquet" => "Parquet",
        "arrow" | "feather" => "Arrow",
        "arrows" => "ArrowStream",
        "native" => "Native",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use host::SystemDisk;

    use super::*;

    #[test]
    fn a_file_is_only_replaced_when_asked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.csv");
        let path = path.to_str().unwrap();
        let new = Outfile { path, append: false, truncate: false, compression: None };
        open(&new, &SystemDisk).unwrap().append(b"1\n").unwrap();
        assert_eq!(open(&new, &SystemDisk).map(|_| ()).unwrap_err().kind, ErrorKind::AlreadyExists);
        open(&Outfile { append: true, ..new }, &SystemDisk).unwrap().append(b"2\n").unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "1\n2\n");
        open(&Outfile { truncate: true, ..new }, &SystemDisk).unwrap().append(b"3\n").unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "3\n");
        assert!(open(&Outfile { compression: Some("gzip"), ..new }, &SystemDisk).is_err());
        assert!(open(&Outfile { compression: Some("none"), append: true, ..new }, &SystemDisk).is_ok());
    }

    #[test]
    fn a_name_suggests_a_format() {
        assert_eq!(format_of("a/b.CSV"), FormatKind::parse("CSV"));
        assert_eq!(format_of("b.parquet"), FormatKind::parse("Parquet"));
        assert_eq!(format_of("b.native"), FormatKind::parse("Native"));
        assert_eq!(format_of("b"), None);
    }
}
