//! Single values as BSON has them: members of documents.
//!
//! Invariant: a document's length counts itself and the zero byte at its end. A key cannot hold a zero byte, so keys are
//! escaped as texts of JSON are. Must not know: arrays, types of columns.

use super::print;

/// What a member is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tag {
    Double = 1,
    Text = 2,
    Document = 3,
    List = 4,
    Binary = 5,
    Bool = 8,
    DateTime = 9,
    Null = 10,
    Int32 = 16,
    Int64 = 18,
}

/// Kind of bytes that are bytes.
pub const BYTES: u8 = 0;
/// Kind of bytes that are a UUID.
pub const UUID: u8 = 4;

/// The tag and key of a member, behind which its value stands.
pub fn head(tag: Tag, key: &[u8], out: &mut Vec<u8>) {
    out.push(tag as u8);
    let from = out.len();
    print::json_string(key, true, out);
    out.pop();
    out.remove(from);
    out.push(0);
}

/// A member of 32 bits.
pub fn int32(number: i32, key: &[u8], out: &mut Vec<u8>) {
    head(Tag::Int32, key, out);
    out.extend_from_slice(&number.to_le_bytes());
}

/// A member of 64 bits; a moment has [`Tag::DateTime`].
pub fn int64(tag: Tag, number: i64, key: &[u8], out: &mut Vec<u8>) {
    head(tag, key, out);
    out.extend_from_slice(&number.to_le_bytes());
}

/// A member with a fraction.
pub fn double(number: f64, key: &[u8], out: &mut Vec<u8>) {
    head(Tag::Double, key, out);
    out.extend_from_slice(&number.to_le_bytes());
}

/// Bytes of one of the kinds.
pub fn binary(kind: u8, bytes: &[u8], key: &[u8], out: &mut Vec<u8>) {
    head(Tag::Binary, key, out);
    length(bytes.len(), out);
    out.push(kind);
    out.extend_from_slice(bytes);
}

/// Text, with the zero byte that ends it.
pub fn text(text: &[u8], key: &[u8], out: &mut Vec<u8>) {
    head(Tag::Text, key, out);
    length(text.len() + 1, out);
    out.extend_from_slice(text);
    out.push(0);
}

/// A document of these members, or a list of them, whose keys are their places.
pub fn document(out: &mut Vec<u8>, members: impl FnOnce(&mut Vec<u8>)) {
    let from = out.len();
    length(0, out);
    members(out);
    out.push(0);
    let mut own = Vec::new();
    length(out.len() - from, &mut own);
    out[from..from + own.len()].copy_from_slice(&own);
}

/// Nothing longer than its 31 bits fits into a document; what is longer has a length that no reader takes.
fn length(bytes: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&u32::try_from(bytes).unwrap_or(u32::MAX).to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_those_of_clickhouse() {
        let mut out = Vec::new();
        document(&mut out, |out| int32(-1, b"a", out));
        assert_eq!(out, [0x0c, 0, 0, 0, 0x10, b'a', 0, 0xff, 0xff, 0xff, 0xff, 0]);
        out.clear();
        document(&mut out, |out| text(b"x", b"a", out));
        assert_eq!(out, [0x0e, 0, 0, 0, 2, b'a', 0, 2, 0, 0, 0, b'x', 0, 0]);
        out.clear();
        head(Tag::Null, b"a\"\0", &mut out);
        assert_eq!(out, b"\x0aa\\\"\\u0000\0");
    }
}
