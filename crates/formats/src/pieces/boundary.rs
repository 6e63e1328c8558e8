//! Where records end, for cutting a file into pieces that can be read on their own.
//!
//! A line end inside a quoted cell is no record's end, and whether a byte stands inside quotes depends on every byte
//! before it. So a file is scanned once, in order, with the few states a splitter has, which is many times faster than
//! reading its values; nothing is guessed.
//! Invariant: of a file that its splitter reads without an error, the rows of the pieces are the rows of the file,
//! wherever it is cut. Where a splitter would stop with an error, so does the reader of one of the pieces.

mod blocks;

use blocks::BlockScan;

use crate::rows::splitter::{is_csv, is_tsv};
use crate::settings::FormatSettings;
use model::format_kind::FormatKind;
use scan::find::{differs, each_marked};
use scan::records::QuotedRecords;

/// Scans a file from its first byte and says where records end.
#[derive(Clone, Debug)]
pub struct RecordBoundaries {
    syntax: Syntax,
}

#[derive(Clone, Debug)]
enum Syntax {
    Lines,
    /// A line end behind a backslash belongs to the cell.
    EscapedLines {
        escaped: bool,
    },
    Csv(QuotedRecords),
    Json(JsonScan),
    Blocks(Box<BlockScan>),
}

impl RecordBoundaries {
    /// `None`: files of this kind, read with these settings, cannot be cut.
    pub fn new(kind: FormatKind, settings: &FormatSettings) -> Option<Self> {
        use FormatKind as F;
        // Bad rows are counted by one reader, and what follows a row that cannot be split is for it to say.
        let skips_bad_rows = settings.allow_errors_num > 0 || settings.allow_errors_ratio_billionths > 0;
        // The scan knows no lone CR as the end of a row.
        let cr_ends_rows = is_csv(kind) && settings.csv_cr_ends_row;
        // Empty lines are none at the end of the file, and rows everywhere else.
        let skips_end = is_csv(kind) && settings.delimited.csv_skip_trailing_empty_lines
            || is_tsv(kind) && settings.delimited.tsv_skip_trailing_empty_lines;
        // Nor that a quote behind a blank is text.
        let keeps_blanks = is_csv(kind) && settings.delimited.csv_keeps_blanks;
        if skips_bad_rows || cr_ends_rows || skips_end || keeps_blanks {
            return None;
        }
        let syntax = match kind.of_plain_values() {
            F::TabSeparated | F::TabSeparatedWithNames | F::TabSeparatedWithNamesAndTypes => {
                Syntax::EscapedLines { escaped: false }
            }
            F::TabSeparatedRaw
            | F::TabSeparatedRawWithNames
            | F::TabSeparatedRawWithNamesAndTypes
            | F::LineAsString => Syntax::Lines,
            F::JsonEachRow => Syntax::Json(JsonScan { array_is_rows: true, ..JsonScan::default() }),
            F::JsonCompactEachRow
            | F::JsonCompactEachRowWithNames
            | F::JsonCompactEachRowWithNamesAndTypes => Syntax::Json(JsonScan::default()),
            // Lines that are skipped may hold anything, an open quote too.
            _ if is_csv(kind) && settings.csv_skip_first_lines == 0 => Syntax::Csv(QuotedRecords::new(
                settings.csv_delimiter,
                settings.csv_double_quotes,
                settings.csv_single_quotes,
                settings.csv_trim_whitespace,
            )?),
            _ => return None,
        };
        Some(Self { syntax })
    }

    /// [`RecordBoundaries::new`], and of Native the ends of blocks.
    pub fn with_blocks(kind: FormatKind, settings: &FormatSettings) -> Option<Self> {
        match kind {
            FormatKind::Native => Some(Self { syntax: Syntax::Blocks(Box::default()) }),
            _ => Self::new(kind, settings),
        }
    }

    /// Whether a byte order mark may stand in front of the first record.
    pub fn may_follow_mark(&self) -> bool {
        !matches!(self.syntax, Syntax::Blocks(_))
    }

    /// Whether no end of a record will be found any more: the rest is for one reader.
    pub fn are_lost(&self) -> bool {
        match &self.syntax {
            Syntax::Json(scan) => scan.in_array,
            Syntax::Blocks(scan) => scan.is_lost,
            _ => false,
        }
    }

    /// Takes the next bytes of the file; gives the end of the last record that ends in them. A byte order mark must be
    /// left out.
    pub fn advance(&mut self, bytes: &[u8]) -> Option<usize> {
        match &mut self.syntax {
            Syntax::Lines => bytes.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1),
            Syntax::EscapedLines { escaped } => escaped_lines(bytes, escaped),
            Syntax::Csv(scan) => scan.advance(bytes),
            Syntax::Json(scan) => scan.advance(bytes),
            Syntax::Blocks(scan) => scan.advance(bytes),
        }
    }
}

/// The last line end that is not escaped is found from behind: escapes are pairs, so a line end counts if the
/// backslashes right before it are even in number.
fn escaped_lines(bytes: &[u8], escaped: &mut bool) -> Option<usize> {
    let was_escaped = std::mem::take(escaped);
    // Whether the byte at `at` is the second of a pair that began before it.
    let is_escaped = |at: usize| {
        let backslashes = bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        (backslashes % 2 == 1) != (backslashes == at && was_escaped)
    };
    *escaped = is_escaped(bytes.len());
    let mut until = bytes.len();
    loop {
        let at = bytes[..until].iter().rposition(|byte| *byte == b'\n')?;
        if !is_escaped(at) {
            return Some(at + 1);
        }
        until = at;
    }
}

/// JSON: a record ends at a line end outside of brackets and strings.
#[derive(Clone, Default, Debug)]
struct JsonScan {
    depth: u64,
    in_string: bool,
    escaped: bool,
    /// The byte before is part of a bare value, in which a quote is a character, as for the splitter.
    in_bare: bool,
    started: bool,
    /// A first `[` stands around all rows, and such a file has no boundaries.
    array_is_rows: bool,
    in_array: bool,
}

impl JsonScan {
    fn advance(&mut self, bytes: &[u8]) -> Option<usize> {
        if self.in_array || bytes.is_empty() {
            return None;
        }
        let others = |word: u64| {
            // With this bit `[` is `{` and `]` is `}`, and nothing else is.
            let folded = word | 0x2020_2020_2020_2020;
            let brackets = differs(folded, b'{') & differs(folded, b'}');
            brackets & differs(word, b'"') & differs(word, b'\\') & differs(word, b'\n')
        };
        let mut boundary = None;
        // Behind the last byte that counted; where it stands says whether a quote belongs to a bare value.
        let mut since = 0;
        let start = usize::from(std::mem::take(&mut self.escaped));
        each_marked(bytes, start, others, |at| {
            let byte = bytes[at];
            if self.in_string {
                match byte {
                    b'"' => {
                        self.in_string = false;
                        since = at + 1;
                    }
                    b'\\' => {
                        self.escaped = at + 1 == bytes.len();
                        return at + 2;
                    }
                    _ => {}
                }
                return at + 1;
            }
            if byte != b'\\' {
                self.note_bare(&bytes[since..at]);
                since = at + 1;
                self.outside(byte, at + 1, &mut boundary);
            }
            if self.in_array { usize::MAX } else { at + 1 }
        });
        if !self.in_string {
            self.note_bare(bytes.get(since..).unwrap_or_default());
        }
        boundary
    }

    /// What stands between two bytes that count.
    #[inline]
    fn note_bare(&mut self, between: &[u8]) {
        if let Some(last) = between.last() {
            self.in_bare = !matches!(last, b',' | b':' | b';' | b' ' | b'\t' | b'\r');
        }
    }

    /// A byte that counts, outside of strings; `next` is behind it.
    #[inline]
    fn outside(&mut self, byte: u8, next: usize, boundary: &mut Option<usize>) {
        // Inside of a nested value the splitter takes every quote for the start of a string.
        if byte == b'"' && self.in_bare && self.depth < 2 {
            return;
        }
        self.in_bare = false;
        match byte {
            b'"' => self.in_string = true,
            b'[' if self.array_is_rows && !self.started => self.in_array = true,
            b'{' | b'[' => {
                self.started = true;
                self.depth += 1;
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ if self.depth == 0 => *boundary = Some(next),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
