//! A scan of files in which several servers take part.
//!
//! Invariant: it reads what its feed gives, and all of that. Must not know: who hands out units.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use formats::FormatKind;
use stores::error::Result;

use super::ObjectScanExec;
use crate::tables::split::SourceUnit;
use crate::tables::unit_feed::UnitFeed;

/// Units for each server, so that none waits long for the others at the end.
const UNITS_EACH: u64 = 8;
/// Smallest unit worth a question.
const UNIT_BYTES_MIN: u64 = 4 << 20;

impl ObjectScanExec {
    /// Whether the files are on this machine.
    pub fn is_local(&self) -> bool {
        self.table.is_local()
    }

    /// Bytes of the files that are read.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| self.table.files()[*file].bytes).sum()
    }

    /// Which files are read, in which versions, and which columns of them.
    pub fn identity(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for position in &self.files {
            let file = &self.table.files()[*position];
            (position, &file.path, file.bytes, &file.etag, file.modified).hash(&mut hasher);
        }
        self.projection.hash(&mut hasher);
        self.table.columns().iter().for_each(|(name, kind)| (name, kind.to_string()).hash(&mut hasher));
        hasher.finish()
    }

    /// What so many servers share: units of whole files or row groups, which mean the same wherever they are read.
    ///
    /// # Errors
    /// A footer cannot be read.
    pub async fn units_for(&self, servers: usize) -> Result<Vec<SourceUnit>> {
        let servers = u64::try_from(servers).unwrap_or(1).max(1);
        let target = (self.bytes() / (servers * UNITS_EACH)).max(UNIT_BYTES_MIN);
        let units = self.table.units_of(&self.files, target, &self.filters).await?;
        self.table.expect(&units, self.projection.as_deref()).await?;
        Ok(units)
    }

    /// About how many units there are to share, as far as that is known without reading: files, or pieces of them.
    pub fn units_expected(&self) -> usize {
        let bytes = |file: &usize| self.table.files()[*file].bytes;
        let pieces = |file: &usize| match self.table.format() {
            FormatKind::Parquet => (bytes(file) / UNIT_BYTES_MIN).max(1),
            _ => 1,
        };
        usize::try_from(self.files.iter().map(pieces).sum::<u64>()).unwrap_or(usize::MAX)
    }

    /// The same scan, as one that has not run.
    pub fn anew(&self) -> ObjectScanExec {
        self.again()
    }

    /// The same scan, reading what the feed gives.
    pub fn fed_by(&self, feed: Arc<dyn UnitFeed>) -> ObjectScanExec {
        ObjectScanExec { feed: Some(feed), ..self.again() }
    }
}
