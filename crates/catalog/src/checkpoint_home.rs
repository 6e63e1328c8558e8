//! Where the checkpoints of a root are: in a folder of this machine, or in a store that many processes share.
//!
//! In a store a checkpoint is the object `stream/0/checkpoint/<seq, 20 digits>.parquet`. It is written to a folder of this process
//! first, read back there, and then created: whoever sees it sees all of it. Invariant: as for [`crate::checkpoint`]. Must not
//! know: which checkpoints are needed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use host::{Host, Objects, read_all};
use model::Seq;

use crate::checkpoint::{self, CheckpointError};
use crate::state::State;

const OBJECTS_FOLDER: &str = "stream/0/checkpoint/";

#[derive(Debug, Clone)]
pub(crate) struct CheckpointHome {
    host: Host,
    /// Of the checkpoints, or of those being written.
    folder: PathBuf,
    objects: Option<Arc<dyn Objects>>,
}

impl CheckpointHome {
    /// Below the root of a database of one process.
    pub(crate) fn folder(host: &Host, root: &Path) -> CheckpointHome {
        CheckpointHome { host: host.clone(), folder: checkpoint::dir_of(root), objects: None }
    }

    /// In a store; `scratch` is a folder of this process alone.
    pub(crate) fn objects(host: &Host, objects: Arc<dyn Objects>, scratch: &Path) -> CheckpointHome {
        let folder = scratch.join("checkpoint");
        CheckpointHome { host: host.clone(), folder, objects: Some(objects) }
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.objects.is_some()
    }

    /// Newest first.
    pub(crate) fn list(&self) -> Result<Vec<Seq>, CheckpointError> {
        let listed = match &self.objects {
            None => checkpoint::list(&*self.host.disk, &self.folder),
            Some(objects) => objects.list(OBJECTS_FOLDER, "").map(|objects| {
                let names = objects.iter().filter_map(|object| object.key.strip_prefix(OBJECTS_FOLDER));
                let mut seqs: Vec<Seq> = names.filter_map(checkpoint::seq_of).collect();
                seqs.reverse();
                seqs
            }),
        };
        listed.map_err(|source| CheckpointError::Io { path: self.folder_place(), source })
    }

    pub(crate) fn read(&self, seq: Seq) -> Result<State, CheckpointError> {
        let place = self.place(seq);
        match &self.objects {
            None => checkpoint::read(&*self.host.disk, &place),
            Some(objects) => {
                let bytes = objects.get(&key_of(seq));
                let bytes = bytes.map_err(|source| CheckpointError::Io { path: place.clone(), source })?;
                checkpoint::decode(&place, bytes)
            }
        }
    }

    /// Writes a checkpoint durably, after reading it back.
    pub(crate) fn write(&self, host: &Host, state: &State) -> Result<(), CheckpointError> {
        checkpoint::write(host, &self.folder, state)?;
        let Some(objects) = &self.objects else { return Ok(()) };
        let written = checkpoint::path_of(&self.folder, state.seq());
        let place = self.place(state.seq());
        let io_error = |source| CheckpointError::Io { path: place.clone(), source };
        let bytes = read_all(&*self.host.disk, &written).map_err(io_error)?;
        // The state of a seq is the same whoever writes it.
        let written = objects.put(&key_of(state.seq()), bytes);
        checkpoint::remove_others(&*self.host.disk, &self.folder, &[]).map_err(io_error)?;
        written.map_err(io_error)
    }

    /// Removes checkpoints older than the newest of `kept` that are not among them.
    pub(crate) fn remove_others(&self, kept: &[Seq]) -> Result<(), CheckpointError> {
        let io_error = |source| CheckpointError::Io { path: self.folder_place(), source };
        let Some(objects) = &self.objects else {
            return checkpoint::remove_others(&*self.host.disk, &self.folder, kept).map_err(io_error);
        };
        let oldest = kept.iter().min().copied().unwrap_or(Seq::ZERO);
        let mut outdated = self.list()?.into_iter().filter(|seq| *seq < oldest);
        outdated.try_for_each(|seq| objects.delete(&key_of(seq))).map_err(io_error)
    }

    /// Removes files an interrupted write of this process has left.
    pub(crate) fn remove_leftovers(&self) -> Result<(), CheckpointError> {
        let io_error = |source| CheckpointError::Io { path: self.folder.clone(), source };
        match self.objects {
            None => checkpoint::remove_leftovers(&*self.host.disk, &self.folder),
            Some(_) => checkpoint::remove_others(&*self.host.disk, &self.folder, &[]),
        }
        .map_err(io_error)
    }

    /// Where a checkpoint is, for people.
    pub(crate) fn place(&self, seq: Seq) -> PathBuf {
        match &self.objects {
            None => checkpoint::path_of(&self.folder, seq),
            Some(objects) => objects.place(&key_of(seq)).into(),
        }
    }

    /// Where all of them are, for people.
    pub(crate) fn folder_place(&self) -> PathBuf {
        match &self.objects {
            None => self.folder.clone(),
            Some(objects) => objects.place(OBJECTS_FOLDER).into(),
        }
    }
}

fn key_of(seq: Seq) -> String {
    format!("{OBJECTS_FOLDER}{:020}.parquet", seq.0)
}
