//! The bytes of the schema cache on disk.
//!
//! ```text
//! "GMSCHEMA" | version: text | payload bytes: u32 | CRC-32C of the payload: u32 | payload
//! payload = entry*      entry = storage | source | etag | format | settings: text
//!                             | registered: u64 | has rows: u8 | rows: u64
//!                             | columns: u32 (none: u32::MAX) | (name: text | type: text)*
//! text = bytes: u32 | UTF-8        numbers are little-endian
//! ```
//! Invariant: what is decoded is exactly what was encoded by the same version of the program, or nothing: another version
//! may infer other columns. Must not know: where the bytes lie.

use model::{ColumnType, type_name};

use crate::cache::key::{SchemaEntry, SchemaKey};

const MAGIC: &[u8; 8] = b"GMSCHEMA";
const VERSION: &str = concat!("1 ", env!("CARGO_PKG_VERSION"));
const NO_COLUMNS: u32 = u32::MAX;

/// Kinds of storage a key may have.
const STORAGES: [&str; 4] = ["S3", "File", "URL", "Azure"];

/// Entries as bytes; one too long for its lengths is left out.
pub(crate) fn encode<'a>(entries: impl Iterator<Item = (&'a SchemaKey, &'a SchemaEntry)>) -> Vec<u8> {
    let mut payload = Vec::new();
    for (key, entry) in entries {
        let start = payload.len();
        if put_entry(&mut payload, key, entry).is_none() {
            payload.truncate(start);
        }
    }
    let mut bytes = MAGIC.to_vec();
    let header = put_text(&mut bytes, VERSION).and_then(|()| u32::try_from(payload.len()).ok());
    let Some(length) = header else { return Vec::new() };
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&crc32c::crc32c(&payload).to_le_bytes());
    bytes.append(&mut payload);
    bytes
}

fn put_text(into: &mut Vec<u8>, text: &str) -> Option<()> {
    into.extend_from_slice(&u32::try_from(text.len()).ok()?.to_le_bytes());
    into.extend_from_slice(text.as_bytes());
    Some(())
}

fn put_entry(into: &mut Vec<u8>, key: &SchemaKey, entry: &SchemaEntry) -> Option<()> {
    for text in [key.storage, &key.source, &key.etag, &key.format, &key.format_settings] {
        put_text(into, text)?;
    }
    into.extend_from_slice(&entry.registered_ms.to_le_bytes());
    into.push(u8::from(entry.rows.is_some()));
    into.extend_from_slice(&entry.rows.unwrap_or(0).to_le_bytes());
    let Some(columns) = &entry.columns else {
        into.extend_from_slice(&NO_COLUMNS.to_le_bytes());
        return Some(());
    };
    into.extend_from_slice(&u32::try_from(columns.len()).ok()?.to_le_bytes());
    for (name, column_type) in columns {
        put_text(into, name)?;
        put_text(into, &column_type.to_string())?;
    }
    Some(())
}

/// What [`encode`] was given; `None` if the bytes are not whole or not of this version.
pub(crate) fn decode(bytes: &[u8]) -> Option<Vec<(SchemaKey, SchemaEntry)>> {
    let mut header = Reader(bytes.strip_prefix(MAGIC)?);
    if header.text()? != VERSION {
        return None;
    }
    let (length, checksum) = (header.u32()?, header.u32()?);
    let payload = header.0;
    if u32::try_from(payload.len()) != Ok(length) || crc32c::crc32c(payload) != checksum {
        return None;
    }
    let mut reader = Reader(payload);
    let mut entries = Vec::new();
    while !reader.0.is_empty() {
        entries.push(reader.entry()?);
    }
    Some(entries)
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Option<&'a str> {
        let bytes = usize::try_from(self.u32()?).ok()?;
        std::str::from_utf8(self.take(bytes)?).ok()
    }

    fn entry(&mut self) -> Option<(SchemaKey, SchemaEntry)> {
        let storage = self.text()?;
        let key = SchemaKey {
            storage: STORAGES.into_iter().find(|known| *known == storage)?,
            source: self.text()?.to_owned(),
            etag: self.text()?.to_owned(),
            format: self.text()?.to_owned(),
            format_settings: self.text()?.to_owned(),
        };
        let registered_ms = self.u64()?;
        let has_rows = self.take(1)? == [1];
        let rows = Some(self.u64()?).filter(|_| has_rows);
        let columns = match self.u32()? {
            NO_COLUMNS => None,
            count => Some((0..count).map(|_| self.column()).collect::<Option<Vec<_>>>()?),
        };
        Some((key, SchemaEntry { columns, rows, registered_ms }))
    }

    fn column(&mut self) -> Option<(String, ColumnType)> {
        let name = self.text()?.to_owned();
        Some((name, type_name::parse(self.text()?).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_noticed_at_every_byte() {
        let key = SchemaKey {
            storage: "S3",
            source: "http://h/b/k".to_owned(),
            etag: "e".to_owned(),
            format: "CSV".to_owned(),
            format_settings: "00".to_owned(),
        };
        let columns = Some(vec![("a".to_owned(), ColumnType::String.nullable())]);
        let entry = SchemaEntry { columns, rows: Some(0), registered_ms: 5 };
        let bytes = encode([(&key, &entry)].into_iter());
        assert_eq!(decode(&bytes), Some(vec![(key, entry)]));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x40;
            assert_eq!(decode(&damaged), None, "byte {at}");
            assert_eq!(decode(&bytes[..at]), None, "cut at {at}");
        }
        assert_eq!(decode(&encode(std::iter::empty())), Some(Vec::new()));
    }
}
