//! MD4 (RFC 1320).
//!
//! Invariant: the digest is that of the whole text; it is broken, and kept for what others have written with it.

/// What each round adds, and by how far it turns words.
const ROUNDS: [(u32, [u32; 4]); 3] =
    [(0, [3, 7, 11, 19]), (0x5a82_7999, [3, 5, 9, 13]), (0x6ed9_eba1, [3, 9, 11, 15])];

/// Which word of a block each step takes.
fn word_of(round: usize, step: usize) -> usize {
    match round {
        0 => step,
        1 => step % 4 * 4 + step / 4,
        // The bits of the step from behind.
        _ => step % 2 * 8 + step / 2 % 2 * 4 + step / 4 % 2 * 2 + step / 8,
    }
}

fn mixed(round: usize, x: u32, y: u32, z: u32) -> u32 {
    match round {
        0 => x & y | !x & z,
        1 => x & y | x & z | y & z,
        _ => x ^ y ^ z,
    }
}

fn compress(state: [u32; 4], words: &[u32; 16]) -> [u32; 4] {
    let [mut a, mut b, mut c, mut d] = state;
    for (round, (constant, turns)) in ROUNDS.iter().enumerate() {
        for step in 0..16 {
            let sum = a.wrapping_add(mixed(round, b, c, d)).wrapping_add(words[word_of(round, step)]);
            let turned = sum.wrapping_add(*constant).rotate_left(turns[step % 4]);
            (a, b, c, d) = (d, turned, b, c);
        }
    }
    [a.wrapping_add(state[0]), b.wrapping_add(state[1]), c.wrapping_add(state[2]), d.wrapping_add(state[3])]
}

/// The digest of a text.
pub fn md4(bytes: &[u8]) -> [u8; 16] {
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    // The length takes the last 8 bytes of the last block.
    padded.resize((padded.len() + 8).next_multiple_of(64), 0);
    let length = (bytes.len() as u64).wrapping_mul(8).to_le_bytes();
    let end = padded.len();
    padded[end - 8..].copy_from_slice(&length);
    let mut state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    for block in padded.chunks_exact(64) {
        let mut words = [0_u32; 16];
        for (word, four) in words.iter_mut().zip(block.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*four);
        }
        state = compress(state, &words);
    }
    let mut digest = [0; 16];
    for (four, word) in digest.chunks_exact_mut(4).zip(state) {
        four.copy_from_slice(&word.to_le_bytes());
    }
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those of RFC 1320.
    #[test]
    fn digests_are_those_of_the_standard() {
        let hex =
            |text: &str| md4(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(hex(""), "31d6cfe0d16ae931b73c59d7e0c089c0");
        assert_eq!(hex("abc"), "a448017aaf21d8525fc10ae87aa6729d");
        assert_eq!(hex("message digest"), "d9130a8164549fe818874806e1c7014b");
        assert_eq!(hex(&"a".repeat(63)), "7ea3da77432d44c323671097d1348fc8");
        let numbers = "1234567890".repeat(8);
        assert_eq!(hex(&numbers), "e33b4ddc9c38f2199c3e7b164fcc0536");
    }
}
