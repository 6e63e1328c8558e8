//! Text files of a table in ranges, for those who read them on several machines.
//!
//! Invariant: as of `text::ranges`. Must not know: who hands ranges out.

use futures::stream::{self, StreamExt, TryStreamExt};
use model::saturating::u64_of;
use stores::error::{Result, SourceError};
use stores::files::fetch::FileReader;

use super::{FOOTERS_AT_ONCE, ObjectTable, schema_of};
use crate::tables::split::{SourceUnit, is_uneven};
use crate::text::parse::TextPart;
use crate::text::ranges::{Head, Ranges, TextFiles, are_cuttable};

/// A range has so many times the bytes that one stream takes at a time.
const PIECES_IN_RANGE: u64 = 4;

impl ObjectTable {
    /// Bytes of a range, about.
    pub fn range_bytes(&self) -> u64 {
        PIECES_IN_RANGE * u64_of(self.source.env.settings.piece_bytes())
    }

    /// Files, by position, that are to be cut so that `streams` streams have enough to do; none if whole files do as well.
    ///
    /// # Errors
    /// The first bytes of a file cannot be read.
    pub async fn files_to_cut(&self, streams: usize) -> Result<Vec<usize>> {
        let (source, settings) = (&self.source, &self.source.env.settings);
        let may = are_cuttable(source.format, &settings.format)
            && settings.parallel_parsing
            && settings.validate_etag
            && !self.counts_rows(None)
            && is_uneven(source.files.iter().map(|file| file.bytes), streams);
        if !may {
            return Ok(Vec::new());
        }
        // Ranges of one version mean nothing in another, and without an ETag nobody would notice.
        let is_worth = |file: &usize| {
            let file = &source.files[*file];
            file.etag.is_some() && file.bytes / 2 > self.range_bytes()
        };
        let large: Vec<usize> = (0..source.files.len()).filter(is_worth).collect();
        let heads = large.into_iter().map(|file| async move {
            let head = self.head_of(&self.reader(file)?).await?;
            Ok::<_, SourceError>(head.map(|_| file))
        });
        let heads: Vec<_> = heads.collect();
        let cut: Vec<Option<usize>> = stream::iter(heads).buffered(FOOTERS_AT_ONCE).try_collect().await?;
        Ok(cut.into_iter().flatten().collect())
    }

    /// The ranges of a file from the record that begins at `from`.
    ///
    /// # Errors
    /// The format is not one that is cut.
    pub fn ranges(&self, file: usize, from: u64) -> Result<Ranges> {
        let aimed = usize::try_from(self.range_bytes()).unwrap_or(usize::MAX);
        let memory = self.source.env.memory.clone();
        Ranges::new(&self.reader(file)?, self.source.format, memory, (from, aimed))
    }

    async fn head_of(&self, reader: &FileReader) -> Result<Option<Head>> {
        let source = &self.source;
        let schema = schema_of(&source.columns.stored, &[]);
        let files = TextFiles { format: source.format, compression: source.compression, schema: &schema };
        source.heads.of(reader, &files).await
    }

    /// Which rows of its file a unit is.
    pub(super) async fn text_part(&self, unit: &SourceUnit, reader: &FileReader) -> Result<TextPart> {
        let Some(range) = &unit.range else {
            return Ok(unit.share.clone().map_or(TextPart::All, TextPart::Share));
        };
        if range.start == 0 {
            return Ok(TextPart::Range(range.clone(), None));
        }
        let head = self.head_of(reader).await?.ok_or_else(|| {
            let message = "a part of a file that can only be read from its start";
            SourceError::corrupt(&reader.file.path, message)
        })?;
        Ok(TextPart::Range(range.clone(), Some(head)))
    }
}
