//! What an open came across, in words for the log of the server and for `system.errors`.
//!
//! Invariant: whatever is not as it was left has a line here, or was an error of the open.

use catalog::{Catalog, Finding};
use commitlog::LogFinding;
use mergetree::collect::FoundAtOpen;
use mergetree::lost::LOST_DIR;
use model::{ByteSize, ErrorCode};

/// One thing to tell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenNotice {
    /// Of `system.errors`; `None` if nothing is wrong.
    pub code: Option<ErrorCode>,
    pub text: String,
}

/// Missing files of parts named by one line; the others are counted.
const MISSING_SHOWN: usize = 5;

pub fn notices(catalog: &Catalog, found: &FoundAtOpen) -> Vec<OpenNotice> {
    let wrong = |code, text| OpenNotice { code: Some(code), text };
    let of_log = |finding: &Finding| match finding {
        Finding::Log(LogFinding::TornEnd { .. }) => {
            wrong(ErrorCode::CANNOT_READ_ALL_DATA, finding.to_string())
        }
        Finding::Log(_) | Finding::Checkpoint { .. } => wrong(ErrorCode::CORRUPTED_DATA, finding.to_string()),
    };
    let mut notices: Vec<OpenNotice> = catalog.findings().iter().map(of_log).collect();
    if !found.missing.is_empty() {
        let (all, shown) = (found.missing.len(), found.missing.iter().take(MISSING_SHOWN));
        let names: Vec<String> = shown.map(|path| path.display().to_string()).collect();
        let text = format!(
            "{all} files of parts are missing or have another length, and their tables cannot be read: {}",
            names.join(", ")
        );
        notices.push(wrong(ErrorCode::FILE_DOESNT_EXIST, text));
    }
    if found.brought_back > 0 {
        let text = format!("{} files of parts were brought back from {LOST_DIR}/", found.brought_back);
        notices.push(wrong(ErrorCode::FILE_DOESNT_EXIST, text));
    }
    if found.held_until_ms > 0 {
        let text = format!(
            "because of earlier damage no file is deleted until {} ms since 1970; {} files that no record names stay \
             where they are",
            found.held_until_ms, found.left
        );
        notices.push(OpenNotice { code: None, text });
    }
    if found.put_aside.files > 0 {
        let (files, bytes) = (found.put_aside.files, ByteSize(found.put_aside.bytes));
        let text = format!("{files} files ({bytes}) that no record names were put into {LOST_DIR}/");
        notices.push(OpenNotice { code: None, text });
    }
    notices
}
