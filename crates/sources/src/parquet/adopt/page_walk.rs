//! Where the pages of a column chunk are: their headers, one after the other.
//!
//! A header is a Thrift struct in the compact protocol (Parquet format, `PageHeader`); the library reads it, too, and does not
//! tell where it ends. A copy gets headers of its own, so a header must not be understood in two ways: only those fields are taken
//! that the format gives such a page, each once. Pure. Invariant: the pages cover the bytes from the first to the last, without
//! a gap, at most one dictionary in front. Must not know: what is in a page.

use std::ops::Range;

use model::saturating::u64_of;

/// A page as it is stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredPage {
    pub is_dictionary: bool,
    /// Its bytes in the chunk, behind its header.
    pub content: Range<usize>,
    /// The same without compression.
    pub decoded_bytes: u32,
    /// Values, NULLs included; of a dictionary its entries.
    pub values: u32,
    /// The format's number of how values are written.
    pub encoding: u32,
    /// The CRC-32 of the content, where the file has one.
    pub crc: Option<u32>,
}

/// Why the pages cannot be told, or not be copied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum WalkError {
    /// A data page of version 2.
    Version2,
    /// Pages that a part does not have: an index, a dictionary behind data, levels as bits.
    Layout,
    /// These are no pages. The number is that of the page, counted from the chunk's first.
    Broken(usize, &'static str),
}

/// Page types of the format.
const DATA_PAGE: i64 = 0;
const INDEX_PAGE: i64 = 1;
const DICTIONARY_PAGE: i64 = 2;
const DATA_PAGE_V2: i64 = 3;
/// Encodings of the format.
const RLE: i64 = 3;
const BIT_PACKED: i64 = 4;
/// Encodings of texts in which few bytes may stand for many.
const DELTA_LENGTHS: i64 = 6;
const DELTA_TEXTS: i64 = 7;
/// Structs in structs; a header has three.
const DEPTH_MAX: u32 = 16;
/// Rows that a page has at least, on average; some pages may have fewer. Each page is an entry of a part's index, which readers keep.
const PAGE_ROWS_MIN: u64 = 64;
const SMALL_PAGES_MAX: u64 = 64;

/// The pages of a chunk of `rows` values. `has_levels` says whether its column is OPTIONAL.
pub(crate) fn pages(chunk: &[u8], rows: u64, has_levels: bool) -> Result<Vec<StoredPage>, WalkError> {
    let mut pages: Vec<StoredPage> = Vec::new();
    let pages_max = SMALL_PAGES_MAX + rows / PAGE_ROWS_MIN;
    let (mut at, mut values) = (0, 0);
    while at < chunk.len() {
        let number = pages.len();
        if u64_of(number) >= pages_max {
            return Err(WalkError::Layout);
        }
        let broken = |problem| WalkError::Broken(number, problem);
        let mut cursor = Cursor { bytes: chunk, at };
        let header = Header::read(&mut cursor).ok_or_else(|| broken("its header cannot be read"))?;
        let page = header.page(cursor.at, has_levels).map_err(|problem| match problem {
            WalkError::Broken(_, problem) => broken(problem),
            other => other,
        })?;
        if page.content.end > chunk.len() {
            return Err(broken("it is longer than its column chunk"));
        }
        if page.is_dictionary && number > 0 {
            return Err(WalkError::Layout);
        }
        values += if page.is_dictionary { 0 } else { u64::from(page.values) };
        at = page.content.end;
        pages.push(page);
    }
    match values == rows && pages.iter().any(|page| !page.is_dictionary) {
        true => Ok(pages),
        false => Err(WalkError::Broken(0, "its pages have not as many values as its row group has rows")),
    }
}

/// The fields of a header that say what follows.
#[derive(Default)]
struct Header {
    kind: Option<i64>,
    decoded_bytes: Option<i64>,
    stored_bytes: Option<i64>,
    crc: Option<i64>,
    /// Of the struct of a data page or a dictionary: values, how they are written, and how definition levels are.
    values: Option<i64>,
    encoding: Option<i64>,
    levels: Option<i64>,
    /// The id of that struct.
    of: Option<i64>,
    /// Whether anything else stands there, or something twice: others may understand it in another way.
    is_strange: bool,
}

/// Ids of the structs of a page of values and of a dictionary.
const DATA_FIELD: i64 = 5;
const DICTIONARY_FIELD: i64 = 7;

impl Header {
    fn read(cursor: &mut Cursor<'_>) -> Option<Header> {
        let mut header = Header::default();
        let (mut id, mut last) = (0, 0);
        while let Some(kind) = cursor.field(&mut id)? {
            header.is_strange |= id <= last;
            last = id;
            match (id, kind) {
                (1, Kind::I32) => header.kind = Some(cursor.number()?),
                (2, Kind::I32) => header.decoded_bytes = Some(cursor.number()?),
                (3, Kind::I32) => header.stored_bytes = Some(cursor.number()?),
                (4, Kind::I32) => header.crc = Some(cursor.number()?),
                (DATA_FIELD | DICTIONARY_FIELD, Kind::Struct) => {
                    header.is_strange |= header.of.replace(id).is_some();
                    header.read_page(cursor)?;
                }
                (_, kind) => {
                    header.is_strange = true;
                    cursor.skip(kind, 0)?;
                }
            }
        }
        Some(header)
    }

    fn read_page(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        let is_dictionary = self.of == Some(DICTIONARY_FIELD);
        let (mut id, mut last) = (0, 0);
        while let Some(kind) = cursor.field(&mut id)? {
            self.is_strange |= id <= last;
            last = id;
            match (id, kind) {
                (1, Kind::I32) => self.values = Some(cursor.number()?),
                (2, Kind::I32) => self.encoding = Some(cursor.number()?),
                (3, Kind::I32) if !is_dictionary => self.levels = Some(cursor.number()?),
                // Whether a dictionary is sorted; repetition levels, and statistics.
                (3, Kind::Bool) if is_dictionary => {}
                (4, Kind::I32) | (5, Kind::Struct) if !is_dictionary => cursor.skip(kind, 0)?,
                (_, kind) => {
                    self.is_strange = true;
                    cursor.skip(kind, 0)?;
                }
            }
        }
        Some(())
    }

    /// The page whose content begins at `begin`.
    fn page(&self, begin: usize, has_levels: bool) -> Result<StoredPage, WalkError> {
        let broken = |problem| WalkError::Broken(0, problem);
        let is_dictionary = match self.kind {
            Some(DATA_PAGE) => false,
            Some(DICTIONARY_PAGE) => true,
            Some(DATA_PAGE_V2) => return Err(WalkError::Version2),
            Some(INDEX_PAGE) => return Err(WalkError::Layout),
            _ => return Err(broken("its header does not say what it is")),
        };
        let of = if is_dictionary { DICTIONARY_FIELD } else { DATA_FIELD };
        if self.is_strange || self.of.is_some_and(|found| found != of) {
            return Err(WalkError::Layout);
        }
        let size = |number: Option<i64>| {
            let number = number.filter(|number| *number <= i64::from(i32::MAX));
            number.and_then(|number| u32::try_from(number).ok())
        };
        let (Some(decoded_bytes), Some(stored_bytes)) = (size(self.decoded_bytes), size(self.stored_bytes))
        else {
            return Err(broken("its header does not say its size"));
        };
        let (Some(values), Some(encoding)) = (size(self.values), size(self.encoding)) else {
            return Err(broken("its header does not say its values"));
        };
        // An entry takes a byte at least, and room is made for all of them at once.
        if is_dictionary && values > decoded_bytes {
            return Err(broken("it has more entries than bytes"));
        }
        let is_unfit = matches!(i64::from(encoding), BIT_PACKED | DELTA_LENGTHS | DELTA_TEXTS);
        let levels_differ = !is_dictionary && has_levels && self.levels != Some(RLE);
        if is_unfit || levels_differ || (values == 0 && !is_dictionary) {
            return Err(WalkError::Layout);
        }
        let length = usize::try_from(stored_bytes).ok();
        let end = length.and_then(|length| begin.checked_add(length));
        let end = end.ok_or_else(|| broken("its header does not say its size"))?;
        let crc = match self.crc {
            // The format has it as a signed number.
            Some(crc) => Some(i32::try_from(crc).map_err(|_| broken("its checksum is no 32 bits"))?),
            None => None,
        };
        let crc = crc.map(i32::cast_unsigned);
        Ok(StoredPage { is_dictionary, content: begin..end, decoded_bytes, values, encoding, crc })
    }
}

/// Types of fields in the compact protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Bool,
    Byte,
    /// And all other whole numbers, which are written alike.
    I32,
    Double,
    Binary,
    List,
    Map,
    Struct,
}

impl Kind {
    fn of(number: u8) -> Option<Kind> {
        Some(match number {
            1 | 2 => Kind::Bool,
            3 => Kind::Byte,
            4..=6 => Kind::I32,
            7 => Kind::Double,
            8 => Kind::Binary,
            9 | 10 => Kind::List,
            11 => Kind::Map,
            12 => Kind::Struct,
            _ => return None,
        })
    }
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn advance(&mut self, bytes: usize) -> Option<()> {
        let at = self.at.checked_add(bytes)?;
        self.at = (at <= self.bytes.len()).then_some(at)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for place in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << place;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// Zigzag: 0, -1, 1, -2, ..
    fn number(&mut self) -> Option<i64> {
        let value = self.varint()?;
        let half = i64::try_from(value >> 1).ok()?;
        Some(if value & 1 == 0 { half } else { -half - 1 })
    }

    fn length(&mut self) -> Option<usize> {
        usize::try_from(self.varint()?).ok()
    }

    /// The type of the next field, whose id follows `id`; `Some(None)` at the end of the struct.
    fn field(&mut self, id: &mut i64) -> Option<Option<Kind>> {
        let byte = self.byte()?;
        if byte == 0 {
            return Some(None);
        }
        *id = match byte >> 4 {
            0 => self.number()?,
            step => id.checked_add(i64::from(step))?,
        };
        Some(Some(Kind::of(byte & 0x0f)?))
    }

    fn skip(&mut self, kind: Kind, depth: u32) -> Option<()> {
        if depth > DEPTH_MAX {
            return None;
        }
        match kind {
            // The value is in the type.
            Kind::Bool => {}
            Kind::Byte => self.advance(1)?,
            Kind::I32 => {
                self.varint()?;
            }
            Kind::Double => self.advance(8)?,
            Kind::Binary => {
                let length = self.length()?;
                self.advance(length)?;
            }
            Kind::List => self.skip_list(depth)?,
            Kind::Map => self.skip_map(depth)?,
            Kind::Struct => {
                let mut id = 0;
                while let Some(kind) = self.field(&mut id)? {
                    self.skip(kind, depth + 1)?;
                }
            }
        }
        Some(())
    }

    fn skip_list(&mut self, depth: u32) -> Option<()> {
        let head = self.byte()?;
        let kind = Kind::of(head & 0x0f)?;
        let items = match head >> 4 {
            15 => self.length()?,
            few => usize::from(few),
        };
        for _ in 0..items {
            self.skip_item(kind, depth)?;
        }
        Some(())
    }

    fn skip_map(&mut self, depth: u32) -> Option<()> {
        let items = self.length()?;
        if items == 0 {
            return Some(());
        }
        let kinds = self.byte()?;
        let (key, value) = (Kind::of(kinds >> 4)?, Kind::of(kinds & 0x0f)?);
        for _ in 0..items {
            self.skip_item(key, depth)?;
            self.skip_item(value, depth)?;
        }
        Some(())
    }

    /// Every item takes a byte at least, so the bytes bound the items.
    fn skip_item(&mut self, kind: Kind, depth: u32) -> Option<()> {
        match kind {
            Kind::Bool => self.advance(1),
            other => self.skip(other, depth + 1),
        }
    }
}

#[cfg(test)]
mod tests;
