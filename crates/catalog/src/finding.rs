//! What an open came across and went on after: for people, and for whoever is about to delete something.
//!
//! Invariant: whatever was lost for certain is an error of the open and no finding.

use std::fmt;

use commitlog::LogFinding;
use model::Seq;

/// Something that is not as it was left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Finding {
    Log(LogFinding),
    /// A newer checkpoint is missing or damaged; the log reached back to an older one, so nothing is lost.
    Checkpoint {
        missed: Seq,
        taken: Option<Seq>,
        problems: String,
    },
}

impl Finding {
    /// Whether a crash cannot explain it.
    pub fn is_damage(&self) -> bool {
        match self {
            Finding::Log(finding) => finding.is_damage(),
            Finding::Checkpoint { .. } => true,
        }
    }

    /// Whether records may be gone that nobody knows of: what seems to be garbage may be all that is left of them.
    pub fn may_have_lost(&self) -> bool {
        matches!(self, Finding::Log(finding) if finding.may_have_lost())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Log(finding) => finding.fmt(f),
            Finding::Checkpoint { missed, taken, problems } => {
                write!(f, "checkpoint {missed} was not taken ({problems}); the state was made from ")?;
                match taken {
                    Some(taken) => write!(f, "checkpoint {taken} and the log"),
                    None => write!(f, "the log alone"),
                }
            }
        }
    }
}
