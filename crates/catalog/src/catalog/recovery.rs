//! What a root holds: the newest checkpoint that can be read, and the log from there on.
//!
//! Invariant: reads only. What is missing for certain is an error; what is not as it was left, and yet not missed, is a
//! finding.

use std::path::Path;
use std::sync::Arc;

use commitlog::{
    Anchor, LogError, LogFinding, LogFolder, ObjectLog, ObjectLogConfig, ReplayedRecord, read_only,
};
use host::{Host, Objects};
use model::Seq;

use super::{CatalogConfig, CatalogError, replay_record};
use crate::checkpoint::CheckpointError;
use crate::checkpoint_home::CheckpointHome;
use crate::finding::Finding;
use crate::state::State;

pub(super) struct Recovered {
    pub(super) state: State,
    /// The checkpoint that was taken.
    pub(super) from: Option<Seq>,
    /// The newest seq a checkpoint is named after, readable or not.
    newest_named: Seq,
    /// Why newer checkpoints were not taken.
    passed_over: Vec<String>,
}

/// The newest checkpoint that can be read, or the empty state.
pub(super) fn recover(home: &CheckpointHome) -> Result<Recovered, CatalogError> {
    let seqs = home.list()?;
    let newest_named = seqs.first().copied().unwrap_or(Seq::ZERO);
    let mut passed_over = Vec::new();
    for seq in seqs {
        match home.read(seq) {
            Ok(state) if state.seq() == seq => {
                return Ok(Recovered { state, from: Some(seq), newest_named, passed_over });
            }
            Ok(state) => passed_over.push(format!("checkpoint {seq} holds seq {}", state.seq())),
            Err(too_new @ CheckpointError::TooNew { .. }) => return Err(too_new.into()),
            Err(error) => passed_over.push(error.to_string()),
        }
    }
    Ok(Recovered { state: State::default(), from: None, newest_named, passed_over })
}

impl Recovered {
    /// The log is needed from the record after this one.
    pub(super) fn after(&self) -> u64 {
        self.from.unwrap_or(Seq::ZERO).0
    }

    /// An error of the log, with why it was asked for more than there is.
    pub(super) fn because(&self, error: LogError) -> LogError {
        let because = |what: String| match self.passed_over.is_empty() {
            true => what,
            false => format!("{what} ({})", self.passed_over.join("; ")),
        };
        match error {
            LogError::Corruption { path, offset, what } => {
                LogError::Corruption { path, offset, what: because(what) }
            }
            LogError::Lacking { path, what } => LogError::Lacking { path, what: because(what) },
            other => other,
        }
    }

    /// After the log was replayed onto the state. A checkpoint as new as `known` must be there.
    pub(super) fn findings(
        &self,
        home: &CheckpointHome,
        of_log: &[LogFinding],
        known: Seq,
    ) -> Result<Vec<Finding>, CatalogError> {
        if self.state.seq() < self.newest_named {
            let (end, newest, problems) = (self.state.seq(), self.newest_named, self.passed_over.join("; "));
            let problem = format!("the log ends at {end}, before checkpoint {newest}: {problems}");
            return Err(CatalogError::Unrecoverable(problem));
        }
        let mut findings: Vec<Finding> = of_log.iter().cloned().map(Finding::Log).collect();
        let missed = self.newest_named.max(known);
        if self.from.unwrap_or(Seq::ZERO) < missed {
            let missing = || format!("{} is missing", home.place(missed).display());
            let problems = if self.passed_over.is_empty() { missing() } else { self.passed_over.join("; ") };
            findings.push(Finding::Checkpoint { missed, taken: self.from, problems });
        }
        Ok(findings)
    }
}

/// A root as it stands.
#[derive(Debug)]
pub struct ReadRoot {
    pub state: State,
    /// Of a root in a store, which has none, the empty one.
    pub anchor: Anchor,
    pub findings: Vec<Finding>,
}

/// What [`super::Catalog::open`] would give, without a lock and without a change.
pub fn read_root(host: &Host, root: &Path, config: CatalogConfig) -> Result<ReadRoot, CatalogError> {
    let home = CheckpointHome::folder(host, root);
    let mut recovered = recover(&home)?;
    let (after, folder) = (recovered.after(), LogFolder::below(root));
    let mut deliver = |record: ReplayedRecord| replay_record(&mut recovered.state, &record).map(drop);
    let read = read_only(&*host.disk, &folder, after, &mut deliver, &config.log);
    let read = read.map_err(|error| recovered.because(error))?;
    let findings = recovered.findings(&home, &read.findings, Seq(read.anchor.checkpoint_seq))?;
    Ok(ReadRoot { state: recovered.state, anchor: read.anchor, findings })
}

/// What [`super::Catalog::open_shared`] would give, without an object being created.
pub fn read_shared_root(host: &Host, objects: &Arc<dyn Objects>) -> Result<ReadRoot, CatalogError> {
    // Nothing is written, so no folder is needed.
    let home = CheckpointHome::objects(host, Arc::clone(objects), Path::new(""));
    let mut recovered = recover(&home)?;
    let after = recovered.after();
    let mut deliver = |record: ReplayedRecord| replay_record(&mut recovered.state, &record).map(drop);
    let config = ObjectLogConfig::default();
    let opened = ObjectLog::open(host, Arc::clone(objects), after, &mut deliver, config).map(drop);
    opened.map_err(|error| recovered.because(error))?;
    let findings = recovered.findings(&home, &[], Seq::ZERO)?;
    Ok(ReadRoot { state: recovered.state, anchor: Anchor::default(), findings })
}
