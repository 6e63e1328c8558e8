//! A sum over bytes that come in pieces: SipHash-2-4 of 128 bits without a key.
//!
//! Invariant: the sum is of the bytes, however they are cut into pieces; both halves stand in it as they lie in memory, as
//! in ClickHouse. Jean-Philippe Aumasson and Daniel J. Bernstein, "SipHash: a fast short-input PRF" (2012). Must not know:
//! what the bytes are.

const WORD: usize = size_of::<u64>();

/// The sum so far.
#[derive(Clone, Debug)]
pub struct Digest {
    state: [u64; 4],
    /// Bytes that do not fill a word yet.
    rest: Vec<u8>,
    /// Bytes so far, of which the lowest eight bits count.
    bytes: u64,
}

impl Default for Digest {
    fn default() -> Self {
        let state =
            [0x736f_6d65_7073_6575, 0x646f_7261_6e64_6f6d, 0x6c79_6765_6e65_7261, 0x7465_6462_7974_6573];
        Self { state, rest: Vec::new(), bytes: 0 }
    }
}

impl Digest {
    /// Takes further bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.bytes = self.bytes.wrapping_add(crate::saturating::u64_of(bytes.len()));
        self.rest.extend_from_slice(bytes);
        let rest = std::mem::take(&mut self.rest);
        let (words, left) = rest.as_chunks::<WORD>();
        words.iter().for_each(|word| self.word(u64::from_le_bytes(*word)));
        self.rest = left.to_vec();
    }

    /// The sixteen bytes of the sum.
    pub fn finish(mut self) -> [u8; 16] {
        let mut last = [0; WORD];
        last.iter_mut().zip(&self.rest).for_each(|(place, byte)| *place = *byte);
        self.word(u64::from_le_bytes(last) | self.bytes << 56);
        self.state[2] ^= 0xff;
        (0..4).for_each(|_| self.round());
        let [a, b, c, d] = self.state;
        let mut sum = [0; 16];
        sum[..WORD].copy_from_slice(&(a ^ b).to_le_bytes());
        sum[WORD..].copy_from_slice(&(c ^ d).to_le_bytes());
        sum
    }

    fn word(&mut self, word: u64) {
        self.state[3] ^= word;
        self.round();
        self.round();
        self.state[0] ^= word;
    }

    fn round(&mut self) {
        let [mut a, mut b, mut c, mut d] = self.state;
        a = a.wrapping_add(b);
        b = b.rotate_left(13) ^ a;
        a = a.rotate_left(32);
        c = c.wrapping_add(d);
        d = d.rotate_left(16) ^ c;
        a = a.wrapping_add(d);
        d = d.rotate_left(21) ^ a;
        c = c.wrapping_add(b);
        b = b.rotate_left(17) ^ c;
        c = c.rotate_left(32);
        self.state = [a, b, c, d];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_do_not_matter() {
        let sum = |pieces: &[&[u8]]| {
            let mut digest = Digest::default();
            pieces.iter().for_each(|piece| digest.add(piece));
            digest.finish().iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        // What ClickHouse's format Hash prints of no rows, and of the UInt8 1 and 7.
        assert_eq!(sum(&[]), "32b5c1db56a683e9e5b5b6a8cbed11f7");
        assert_eq!(sum(&[b"\x01", b"", b"\x07"]), "ef84da306e7210f4cb548ca952e03a5c");
        assert_eq!(sum(&[b"abcdefghij"]), sum(&[b"abc", b"defgh", b"ij"]));
    }
}
