//! What a writer meant to do and what it was told, line by line, on the disk before the statement is sent.
//!
//! Lines: `try LABEL SEQUENCE ROWS HASH_SUM KIND`, then `ok LABEL`, `known LABEL CODE`, `refused LABEL CODE MESSAGE` or
//! `unknown LABEL CODE MESSAGE`. Invariant: a `try` without an answer behind it can only be the last, and what is cut off
//! in the middle of a line was never said. Must not know: what the statement does.

use std::path::Path;

use host::{Disk, DiskFile, read_all};

use super::attempt::Attempt;
use crate::failure::Failure;

/// Where a writer goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Resume {
    /// Tried, and nobody knows how it ended.
    pub(super) pending: Option<u64>,
    /// The next sequence number nobody has tried.
    pub(super) next: u64,
}

pub(super) struct Journal {
    file: Box<dyn DiskFile>,
}

impl Journal {
    /// Opens the journal of a writer, or begins it.
    pub(super) fn open(disk: &dyn Disk, path: &Path) -> Result<(Journal, Resume), Failure> {
        if !disk.exists(path)? {
            return Ok((Journal { file: disk.create(path)? }, resume("")));
        }
        let bytes = read_all(disk, path)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let mut file = disk.open_append(path)?;
        file.set_len(u64::try_from(whole)?)?;
        Ok((Journal { file }, resume(&String::from_utf8_lossy(&bytes[..whole]))))
    }

    /// The intention, durable when this returns; so is every answer before it.
    pub(super) fn intend(&mut self, attempt: &Attempt, sequence: u64) -> Result<(), Failure> {
        let (label, kind) = (attempt.label(), attempt.kind.name());
        self.write(&format!("try {label} {sequence} {} {} {kind}\n", attempt.rows, attempt.hash_sum()))?;
        Ok(self.file.sync_data()?)
    }

    /// An answer. Should it be lost, the statement is repeated under its label, which is what labels are for.
    pub(super) fn answered(&mut self, attempt: &Attempt, answer: &str, behind: &str) -> Result<(), Failure> {
        let line = format!("{answer} {} {behind}", attempt.label()).replace('\n', " ");
        self.write(&format!("{}\n", line.trim_end()))
    }

    fn write(&mut self, line: &str) -> Result<(), Failure> {
        Ok(self.file.append(line.as_bytes())?)
    }
}

fn resume(text: &str) -> Resume {
    let mut resume = Resume { pending: None, next: 0 };
    for line in text.lines() {
        let mut words = line.split(' ');
        match (words.next(), words.next(), words.next().and_then(|word| word.parse::<u64>().ok())) {
            (Some("try"), Some(_), Some(sequence)) => {
                resume = Resume { pending: Some(sequence), next: sequence + 1 };
            }
            // Only the log knows: the label is tried again.
            (Some("unknown"), ..) => {}
            _ => resume.pending = None,
        }
    }
    resume
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_goes_on_where_its_journal_ends() {
        assert_eq!(resume(""), Resume { pending: None, next: 0 });
        let tried = "try writer0_0 0 5 99 values\nok writer0_0\ntry writer0_1 1 7 12 select\n";
        assert_eq!(resume(tried), Resume { pending: Some(1), next: 2 });
        assert_eq!(resume(&format!("{tried}refused writer0_1 38 no\n")), Resume { pending: None, next: 2 });
        assert_eq!(
            resume(&format!("{tried}unknown writer0_1 1002 io\n")),
            Resume { pending: Some(1), next: 2 }
        );
    }

    #[test]
    fn a_line_cut_off_was_never_said() {
        let host = host::Host::system(1 << 20).expect("entropy");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("writer0.journal");
        let attempt = Attempt::of(1, 0, 0);
        let (mut journal, _) = Journal::open(host.disk.as_ref(), &path).expect("opened");
        journal.intend(&attempt, 0).expect("written");
        journal.write("ok writ").expect("written");
        drop(journal);
        let (mut journal, found) = Journal::open(host.disk.as_ref(), &path).expect("opened");
        assert_eq!(found, Resume { pending: Some(0), next: 1 });
        journal.answered(&attempt, "ok", "").expect("written");
        drop(journal);
        let (_, found) = Journal::open(host.disk.as_ref(), &path).expect("opened");
        assert_eq!(found, Resume { pending: None, next: 1 });
        let text = read_all(host.disk.as_ref(), &path).expect("read");
        let text = String::from_utf8_lossy(&text);
        assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), ["ok writer0_0"], "{text}");
    }
}
