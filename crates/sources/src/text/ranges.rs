//! A plain text file cut into ranges of whole records, each of which is read by itself, by whomever.
//!
//! ```text
//! head: the first records ──► names of the columns        ranges: every byte, in order ──► where records end
//! ```
//! Invariant: the ranges of a file follow each other from where the cut began to its end, and the rows of all of them are the rows
//! of the file. A file whose head does not say how its middle is read is not cut. Must not know: who reads the ranges.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use formats::{
    Cut, Cutter, Feed, FormatKind, FormatSettings, Header, ReaderStart, RecordBoundaries, new_reader_at,
};
use host::MemoryBudget;
use model::saturating::u64_of;
use parking_lot::Mutex;
use stores::codecs::compression::{Compression, by_first_bytes};
use stores::error::{Result, SourceError};
use stores::files::fetch::FileReader;
use stores::statement::progress::ReadProgress;

use crate::text::cut_stream::{CutStream, Next};
use crate::text::stored::stored;

/// First bytes of a file: they hold what is known ahead of its rows.
const HEAD_BYTES: u64 = 128 << 10;

/// What the start of a file says about its middle: the names of its columns, if it has its own order.
pub(crate) type Head = Arc<Option<Vec<String>>>;

/// Heads of the files of a listing, by path.
#[derive(Default)]
pub(crate) struct Heads(Mutex<HashMap<String, Option<Head>>>);

/// How the files of a listing are read.
pub(crate) struct TextFiles<'a> {
    pub format: FormatKind,
    pub compression: Option<Compression>,
    /// Every column of the files.
    pub schema: &'a SchemaRef,
}

impl Heads {
    /// `None`: the file is compressed, or can only be read from its start.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) async fn of(&self, reader: &FileReader, files: &TextFiles<'_>) -> Result<Option<Head>> {
        let path = &reader.file.path;
        if let Some(known) = self.0.lock().get(path) {
            return Ok(known.clone());
        }
        let first = quiet(reader).get(0..reader.file.bytes.min(HEAD_BYTES)).await?;
        let head = head_of(first, reader, files).map(Arc::new);
        self.0.lock().insert(path.clone(), head.clone());
        Ok(head)
    }
}

/// What is read twice counts once.
fn quiet(reader: &FileReader) -> FileReader {
    FileReader { progress: Arc::new(ReadProgress::default()), ..reader.clone() }
}

fn head_of(first: Bytes, reader: &FileReader, files: &TextFiles<'_>) -> Option<Option<Vec<String>>> {
    let settings = &reader.settings.format;
    let compression = files.compression.unwrap_or_else(|| by_first_bytes(&first, &reader.file.path));
    if compression != Compression::None {
        return None;
    }
    let boundaries = RecordBoundaries::new(files.format, settings)?;
    let aimed = first.len() / 2;
    let mut cutter = Cutter::new(boundaries, vec![first], 0);
    let Cut::Records(piece) = cutter.next(aimed) else { return None };
    // Whoever reads the rows tells what is wrong with them.
    let start = ReaderStart::File;
    let row_reader = new_reader_at(files.format, Arc::clone(files.schema), None, settings, &start).ok()?;
    let mut feed = Feed::new(row_reader);
    feed.take_all(piece.parts, false, false, &mut Vec::new()).ok()?;
    match feed.header() {
        Header::Ahead => None,
        Header::Read(columns) => Some(columns.map(<[String]>::to_vec)),
    }
}

/// Whether files of this format may be cut, read with these settings.
pub(crate) fn are_cuttable(format: FormatKind, settings: &FormatSettings) -> bool {
    RecordBoundaries::new(format, settings).is_some()
}

/// See the module.
pub struct Ranges {
    /// `None`: all is cut.
    file: Option<CutStream<SourceError>>,
    bytes: u64,
    bytes_aimed: usize,
}

impl Ranges {
    /// From the record that begins at `from`.
    pub(crate) fn new(
        reader: &FileReader,
        format: FormatKind,
        memory: MemoryBudget,
        (from, bytes_aimed): (u64, usize),
    ) -> Result<Ranges> {
        let file = &reader.file;
        let boundaries = RecordBoundaries::new(format, &reader.settings.format).ok_or_else(|| {
            SourceError::bad_arguments(format!("{} files cannot be cut", format.name())).with_file(&file.path)
        })?;
        let chunks = stored(quiet(reader), memory, from..file.bytes);
        let file = Some(CutStream::new(Cutter::behind(boundaries, from), chunks));
        Ok(Ranges { file, bytes: reader.file.bytes, bytes_aimed })
    }

    /// The next range; `None`: the file is cut to its end. Where no record ends any more, the rest is one range.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn next(&mut self) -> Result<Option<Range<u64>>> {
        let Some(file) = &mut self.file else { return Ok(None) };
        let range = match file.next(self.bytes_aimed).await? {
            Next::Records(piece) => return Ok(Some(piece.position..piece.position + u64_of(piece.bytes()))),
            Next::Last(piece) => piece.position..self.bytes,
            Next::Rest => file.position()..self.bytes,
        };
        self.file = None;
        Ok(Some(range).filter(|range| !range.is_empty()))
    }
}
