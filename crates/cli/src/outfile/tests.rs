//! Files of INTO OUTFILE on the real disk: what is left after success, failure and a second try.

use std::fs::read_to_string;

use engine::{Config, Database, Request};
use host::SystemDisk;

use super::*;

/// Clauses understood by a database, which is where a door has them from.
struct Clauses {
    runtime: tokio::runtime::Runtime,
    database: Arc<Database>,
}

impl Clauses {
    fn new() -> Clauses {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Clauses { runtime, database: Database::open(Config::default()).unwrap() }
    }

    fn read(&self, path: &Path, words: &str) -> Outfile {
        let sql = format!("SELECT 1 INTO OUTFILE '{}' {words}", path.display());
        let session = self.database.session();
        self.runtime.block_on(session.execute(Request::new(sql))).unwrap().outfile.unwrap()
    }
}

fn disk() -> Arc<dyn Disk> {
    Arc::new(SystemDisk)
}

fn written(outfile: &Outfile, bytes: &[u8]) -> Result<(), Error> {
    let mut file = OpenOutfile::open(outfile, &disk(), 7)?;
    file.write(bytes)?;
    file.finish()
}

fn names(folder: &Path) -> Vec<String> {
    SystemDisk.list(folder).unwrap().into_iter().map(|entry| entry.name).collect()
}

#[test]
fn a_file_is_only_touched_when_asked() {
    let (clauses, folder) = (Clauses::new(), tempfile::tempdir().unwrap());
    let path = folder.path().join("x.csv");
    let new = clauses.read(&path, "");
    written(&new, b"1\n").unwrap();
    let error = written(&new, b"2\n").unwrap_err();
    assert_eq!((error.code.number(), error.kind), (504, ErrorKind::AlreadyExists));
    assert!(error.message.contains("APPEND or TRUNCATE"), "{error}");
    assert_eq!(read_to_string(&path).unwrap(), "1\n");
    written(&clauses.read(&path, "APPEND"), b"2\n").unwrap();
    assert_eq!(read_to_string(&path).unwrap(), "1\n2\n");
    written(&clauses.read(&path, "TRUNCATE"), b"3\n").unwrap();
    assert_eq!(read_to_string(&path).unwrap(), "3\n");
    assert_eq!(names(folder.path()), ["x.csv"]);
}

#[test]
fn what_is_not_finished_leaves_the_file_as_it_was() {
    let (clauses, folder) = (Clauses::new(), tempfile::tempdir().unwrap());
    let path = folder.path().join("x.csv");
    for (words, before) in [("", None), ("APPEND", Some("old\n")), ("TRUNCATE", Some("old\n"))] {
        if let Some(text) = before {
            written(&clauses.read(&path, "TRUNCATE"), text.as_bytes()).unwrap();
        }
        let outfile = clauses.read(&path, words);
        let mut file = OpenOutfile::open(&outfile, &disk(), 7).unwrap();
        assert_eq!(file.continues(), words == "APPEND");
        file.write(b"new\n").unwrap();
        assert_eq!(read_to_string(&path).ok().as_deref(), before, "{words}: seen before its end");
        drop(file);
        assert_eq!(read_to_string(&path).ok().as_deref(), before, "{words}");
        assert_eq!(
            names(folder.path()).len(),
            usize::from(before.is_some()),
            "{words}: a temporary file is left"
        );
    }
}

#[test]
fn whoever_was_faster_keeps_the_name() {
    let (clauses, folder) = (Clauses::new(), tempfile::tempdir().unwrap());
    let path = folder.path().join("x.csv");
    let new = clauses.read(&path, "");
    let mut slow = OpenOutfile::open(&new, &disk(), 1).unwrap();
    slow.write(b"slow\n").unwrap();
    written(&new, b"fast\n").unwrap();
    assert_eq!(slow.finish().unwrap_err().code.number(), 504);
    assert_eq!(read_to_string(&path).unwrap(), "fast\n");
    assert_eq!(names(folder.path()), ["x.csv"]);
}

#[test]
fn links_devices_and_folders() {
    let (clauses, folder) = (Clauses::new(), tempfile::tempdir().unwrap());
    let (file, link) = (folder.path().join("x.csv"), folder.path().join("link.csv"));
    written(&clauses.read(&file, ""), b"1\n").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    written(&clauses.read(&link, "TRUNCATE"), b"2\n").unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(read_to_string(&file).unwrap(), "2\n");
    // A device is written, never replaced.
    written(&clauses.read(Path::new("/dev/null"), "TRUNCATE"), b"3\n").unwrap();
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    assert_eq!(written(&clauses.read(folder.path(), "TRUNCATE"), b"4\n").unwrap_err().code.number(), 76);
    let nowhere = folder.path().join("none").join("x.csv");
    assert_eq!(written(&clauses.read(&nowhere, ""), b"5\n").unwrap_err().code.number(), 107);
}

#[test]
fn compressed_files_begin_with_their_magic_bytes() {
    let (clauses, folder) = (Clauses::new(), tempfile::tempdir().unwrap());
    for (name, words, magic) in [
        ("a.csv.gz", "", &[0x1f, 0x8b][..]),
        ("a.csv.zst", "", &[0x28, 0xb5, 0x2f, 0xfd]),
        ("a.csv", "COMPRESSION 'xz' LEVEL 1", b"\xfd7zXZ"),
    ] {
        let path = folder.path().join(name);
        written(&clauses.read(&path, words), b"1\n").unwrap();
        assert!(std::fs::read(&path).unwrap().starts_with(magic), "{name}");
    }
}
