//! `gristmill inspect PATH`: what is in a part, a record or a segment of the log, a checkpoint; in a folder, or in a root that servers
//! share. The debugger's first stop.
//!
//! Reads beside a running database and changes nothing. Which kind of file it is, is decided by its name and its place.

mod part;
mod records;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use engine::{FolderCheck, RootPlace};
use host::{Host, ObjectsDisk, Runtimes};

use crate::failure::Failure;
use crate::terminal;
use part::part;
use records::{object_record, segment};

/// Digits of the name of a record that is an object of its own.
const SEQ_DIGITS: usize = 20;
/// Folders of a root, by which what is below one is told from where the root is.
const FOLDERS_OF_ROOTS: [&str; 4] = ["/stream/", "/data/", "/nodes/", "/boundary/"];

#[derive(Args, Debug)]
pub(crate) struct InspectArgs {
    /// A part (.parquet), a segment of the log (.seg), a checkpoint, or a folder of them; or s3://bucket/prefix of a shared root, or what is below it
    path: String,
    /// PATH is the folder of a database, or a shared root: check every byte of it, name what is damaged, and exit with 1 if something is
    #[arg(long)]
    verify: bool,
}

/// The command.
pub(crate) fn run(args: &InspectArgs, host: &Host, runtimes: &Runtimes) -> Result<(), Failure> {
    if args.path.contains("://") {
        return of_root(&args.path, args.verify, host, runtimes);
    }
    let path = std::path::absolute(&args.path)?;
    if !args.verify {
        return print(&path, host);
    }
    if !host.disk.exists(&path)? {
        return Err(Failure::new(format!("{} does not exist", path.display())));
    }
    if host.disk.exists(&path.join("root"))? && host.disk.exists(&path.join("stream/0/log"))? {
        return of_root(&format!("file://{}", path.display()), true, host, runtimes);
    }
    report(&engine::verify_folder(host, &path), &path)
}

/// What is below a URL.
fn of_root(url: &str, verifies: bool, host: &Host, runtimes: &Runtimes) -> Result<(), Failure> {
    let look = |url: &str| {
        let place = RootPlace { url: url.to_owned(), ..RootPlace::default() };
        engine::look_at(&place, host, runtimes).map_err(engine::Error::from)
    };
    let (looked, key) = match (look(url), below(url)) {
        (Ok(looked), _) => (looked, ""),
        // A part of a root, and not one itself.
        (Err(error), Some((root, key))) if !verifies => (look(root).map_err(|_| error)?, key),
        (Err(error), _) => return Err(error.into()),
    };
    let disk = ObjectsDisk::new(Arc::clone(&looked.objects));
    let path = disk.root().to_owned();
    if !verifies {
        let host = Host { disk: Arc::new(disk), ..host.clone() };
        return print(&if key.is_empty() { path } else { path.join(key) }, &host);
    }
    let mut checks = vec![FolderCheck { what: "root", checked: 1, ..FolderCheck::default() }];
    match &looked.id {
        Ok(id) => checks[0].remark = format!("id {id}"),
        Err(damage) => checks[0].damage.push(damage.clone()),
    }
    checks.extend(engine::verify_root(host, &looked.objects, looked.known.as_ref()));
    report(&checks, &path)
}

/// The URL of a root and the key, if this is of something in it.
fn below(url: &str) -> Option<(&str, &str)> {
    let url = url.trim_end_matches('/');
    let folder = format!("{url}/");
    let at = FOLDERS_OF_ROOTS.iter().filter_map(|name| folder.rfind(name)).max()?;
    Some((url.get(..at)?, url.get(at + 1..)?))
}

fn print(path: &Path, host: &Host) -> Result<(), Failure> {
    for path in files(path, host)? {
        terminal::line(&format!("{}", path.display()))?;
        for line in lines_of(&path, host)? {
            terminal::line(&format!("  {line}"))?;
        }
    }
    Ok(())
}

/// A line a kind of file, a line a problem.
fn report(checks: &[FolderCheck], root: &Path) -> Result<(), Failure> {
    let mut problems = 0;
    for check in checks {
        let verdict = if check.damage.is_empty() { "ok" } else { "DAMAGED" };
        terminal::line(&format!("{:<12} {:>6}  {verdict:<8} {}", check.what, check.checked, check.remark))?;
        problems += check.damage.len();
    }
    for problem in checks.iter().flat_map(|check| &check.damage) {
        terminal::line(&format!("DAMAGED {problem}"))?;
    }
    match problems {
        0 => Ok(()),
        _ => Err(Failure::new(format!("{problems} problems in {}", root.display()))),
    }
}

/// The file itself, or everything in a folder that can be inspected.
fn files(path: &Path, host: &Host) -> Result<Vec<PathBuf>, Failure> {
    if !host.disk.exists(path)? {
        return Err(Failure::new(format!("{} does not exist", path.display())));
    }
    let mut found = Vec::new();
    if !walk(path, host, &mut found)? {
        found.push(path.to_owned());
    }
    Ok(found)
}

/// Whether it is a folder, whose files were found.
fn walk(path: &Path, host: &Host, found: &mut Vec<PathBuf>) -> Result<bool, Failure> {
    let entries = match host.disk.list(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotADirectory => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    if entries.is_empty() {
        // A store has no folders but those with something in them.
        return Ok(path.is_dir());
    }
    for entry in entries {
        let below = path.join(&entry.name);
        if entry.is_dir {
            walk(&below, host, found)?;
        } else if kind_of(&below).is_some() {
            found.push(below);
        }
    }
    Ok(true)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Part,
    Segment,
    Checkpoint,
    /// A record that is an object of its own.
    Record,
    /// Records up to it may have been deleted.
    Boundary,
    /// The object of a root, or of one of its servers: lines for people.
    Text,
}

fn kind_of(path: &Path) -> Option<Kind> {
    let name = path.file_name()?.to_str()?;
    let is_in = |folders: &[&str]| {
        path.components().any(|piece| folders.iter().any(|folder| piece.as_os_str() == *folder))
    };
    let is_directly_in = |folder: &str| path.parent().is_some_and(|parent| parent.ends_with(folder));
    let is_seq = name.len() == SEQ_DIGITS && name.bytes().all(|byte| byte.is_ascii_digit());
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("seg") => Some(Kind::Segment),
        Some(_) if is_in(&["ckpt"]) => Some(Kind::Checkpoint),
        Some("parquet") if is_directly_in("checkpoint") => Some(Kind::Checkpoint),
        Some("parquet") => Some(Kind::Part),
        Some(_) => None,
        None if is_seq && is_directly_in("log") => Some(Kind::Record),
        None if is_seq && is_directly_in("boundary") => Some(Kind::Boundary),
        None if name == "root" || is_directly_in("nodes") => Some(Kind::Text),
        None => None,
    }
}

fn lines_of(path: &Path, host: &Host) -> Result<Vec<String>, Failure> {
    match kind_of(path) {
        Some(Kind::Part) => part(path, host),
        Some(Kind::Segment) => segment(path, host),
        Some(Kind::Checkpoint) => Ok(catalog::inspect::checkpoint_lines(host.disk.as_ref(), path)?),
        Some(Kind::Record) => object_record(path, host),
        Some(Kind::Boundary) => Ok(vec!["boundary: records up to it may have been deleted".to_owned()]),
        Some(Kind::Text) => {
            let bytes = host::read_all(host.disk.as_ref(), path)?;
            Ok(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
        }
        None => Err(Failure::new(format!("{} is no part, log segment or checkpoint", path.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_name_and_place() {
        for (path, kind) in [
            ("/d/data/t/x.parquet", Some(Kind::Part)),
            ("/d/stream/0/wal/00000000000000000001.seg", Some(Kind::Segment)),
            ("/d/stream/0/ckpt/00000000000000000009.parquet", Some(Kind::Checkpoint)),
            ("/d/LOCK", None),
            ("s3://b/p/stream/0/log/00000000000000000001", Some(Kind::Record)),
            ("s3://b/p/stream/0/log/1", None),
            ("s3://b/p/stream/0/checkpoint/00000000000000000009.parquet", Some(Kind::Checkpoint)),
            ("s3://b/p/boundary/00000000000000000009", Some(Kind::Boundary)),
            ("s3://b/p/nodes/0123456789abcdef0123456789abcdef", Some(Kind::Text)),
            ("s3://b/p/root", Some(Kind::Text)),
            ("s3://b/p/data/t/x.parquet", Some(Kind::Part)),
        ] {
            assert_eq!(kind_of(Path::new(path)), kind, "{path}");
        }
    }

    #[test]
    fn what_is_in_a_root_is_told_from_the_root() {
        assert_eq!(below("s3://b/p/stream/0/log/1"), Some(("s3://b/p", "stream/0/log/1")));
        assert_eq!(below("s3://b/p/data/t/"), Some(("s3://b/p", "data/t")));
        assert_eq!(below("s3://b/p/nodes"), Some(("s3://b/p", "nodes")));
        assert_eq!(below("s3://b/data/p/stream/0"), Some(("s3://b/data/p", "stream/0")));
        assert_eq!(below("s3://b/p"), None);
    }
}
