//! Where the bytes stand that end a cell, found for 64 bytes of text at once.
//!
//! Cells are short: a search for each costs more than the cell. Here one pass over a block notes all of its bytes that count
//! as bits, and the next of them is told by one instruction.
//! Invariant: positions are those of a byte-by-byte search, by whichever instructions they are found. Must not know: formats.

/// Bytes looked for: a quote, and up to three that count alike.
#[derive(Clone, Copy)]
pub struct Needles {
    /// The quote.
    pub quote: u8,
    /// The others.
    pub ends: [u8; 3],
}

/// Bytes compared at once.
pub const BLOCK: usize = 64;

/// How the bytes of a block are compared.
pub trait Lanes {
    /// A bit for each byte that is the quote, and for each that is one of the ends.
    fn bits(block: &[u8; BLOCK], needles: Needles) -> (u64, u64);
}

/// What the bytes of one text are, asked from left to right mostly.
pub struct Marks<'t, L> {
    text: &'t [u8],
    needles: Needles,
    /// Start of the block the bits are of.
    base: usize,
    quotes: u64,
    ends: u64,
    lanes: std::marker::PhantomData<L>,
}

impl<'t, L: Lanes> Marks<'t, L> {
    /// Nothing is looked at before it is asked for.
    #[inline(always)]
    pub fn new(text: &'t [u8], needles: Needles) -> Self {
        Self { text, needles, base: usize::MAX, quotes: 0, ends: 0, lanes: std::marker::PhantomData }
    }

    /// Position of the first quote at `at` or behind it.
    #[inline(always)]
    pub fn quote(&mut self, at: usize) -> Option<usize> {
        self.next(at, |marks| marks.quotes)
    }

    /// Position of the first end at `at` or behind it.
    #[inline(always)]
    pub fn end(&mut self, at: usize) -> Option<usize> {
        self.next(at, |marks| marks.ends)
    }

    #[inline(always)]
    fn next(&mut self, at: usize, bits_of: impl Fn(&Self) -> u64) -> Option<usize> {
        let mut base = at & !(BLOCK - 1);
        if base != self.base && !self.load(base) {
            return None;
        }
        let bits = bits_of(self) >> (at - base);
        if bits != 0 {
            return Some(at + position(bits));
        }
        loop {
            base += BLOCK;
            if !self.load(base) {
                return None;
            }
            let bits = bits_of(self);
            if bits != 0 {
                return Some(base + position(bits));
            }
        }
    }

    /// False when the text has no byte there.
    #[inline(always)]
    fn load(&mut self, base: usize) -> bool {
        let Some(rest) = self.text.get(base..) else { return false };
        self.base = base;
        (self.quotes, self.ends) = match rest.first_chunk() {
            Some(block) => L::bits(block, self.needles),
            None => last_bits::<L>(rest, self.needles),
        };
        !rest.is_empty()
    }
}

#[inline(always)]
fn position(bits: u64) -> usize {
    // At most 63.
    usize::try_from(bits.trailing_zeros()).unwrap_or(0)
}

/// The last block, which is not whole.
#[inline(never)]
fn last_bits<L: Lanes>(rest: &[u8], needles: Needles) -> (u64, u64) {
    let mut block = [0; BLOCK];
    block.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    let (quotes, ends) = L::bits(&block, needles);
    let there = (1_u64 << rest.len()) - 1;
    (quotes & there, ends & there)
}

/// One byte after the other, as wide as the compiler makes it.
pub struct Portable;

impl Lanes for Portable {
    #[inline(always)]
    fn bits(block: &[u8; BLOCK], needles: Needles) -> (u64, u64) {
        let (mut quotes, mut ends) = (0, 0);
        for (at, byte) in block.iter().enumerate() {
            quotes |= u64::from(*byte == needles.quote) << at;
            ends |= u64::from(needles.ends.contains(byte)) << at;
        }
        (quotes, ends)
    }
}

/// 32 bytes at once. Only [`with_lanes`] names it, where the processor has the instructions.
#[cfg(target_arch = "x86_64")]
struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Lanes for Avx2 {
    #[inline(always)]
    fn bits(block: &[u8; BLOCK], needles: Needles) -> (u64, u64) {
        use std::arch::x86_64::{
            __m256i, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256,
            _mm256_set1_epi8,
        };
        let (halves, _) = block.as_chunks::<32>();
        let mut bits = (0, 0);
        for (at, half) in halves.iter().enumerate() {
            // Neither closures nor `map`: what is not inlined is not compiled for the wide instructions, and slower than bytes.
            let [first, second, third] = needles.ends;
            #[expect(unsafe_code, reason = "a wide load has no safe form")]
            // SAFETY: `half` is 32 bytes long, any alignment will do; `with_lanes` has asked for AVX2.
            let (quotes, ends) = unsafe {
                let bytes = _mm256_loadu_si256(half.as_ptr().cast::<__m256i>());
                let quotes = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(needles.quote.cast_signed()));
                let first = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(first.cast_signed()));
                let second = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(second.cast_signed()));
                let third = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(third.cast_signed()));
                let ends = _mm256_or_si256(_mm256_or_si256(first, second), third);
                (_mm256_movemask_epi8(quotes), _mm256_movemask_epi8(ends))
            };
            bits.0 |= u64::from(quotes.cast_unsigned()) << (32 * at);
            bits.1 |= u64::from(ends.cast_unsigned()) << (32 * at);
        }
        bits
    }
}

/// Work that looks for marks; `run` is to be inlined always.
pub trait Marked {
    /// What it gives.
    type Done;
    /// Does it by these instructions.
    fn run<L: Lanes>(self) -> Self::Done;
}

/// Does the work by the widest instructions of this processor.
pub fn with_lanes<W: Marked>(work: W) -> W::Done {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("bmi2")
    {
        #[expect(unsafe_code, reason = "what the processor has is known at run time only")]
        // SAFETY: it has what the function was compiled for.
        return unsafe { run_wide(work) };
    }
    work.run::<Portable>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn run_wide<W: Marked>(work: W) -> W::Done {
    work.run::<Avx2>()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Positions<'t>(&'t [u8], Needles);

    impl Marked for Positions<'_> {
        type Done = Vec<(Option<usize>, Option<usize>)>;

        fn run<L: Lanes>(self) -> Self::Done {
            let mut marks = Marks::<L>::new(self.0, self.1);
            (0..=self.0.len()).map(|at| (marks.quote(at), marks.end(at))).collect()
        }
    }

    #[test]
    fn marks_are_where_a_plain_search_finds_them() {
        let needles = Needles { quote: b'"', ends: [b',', b'\n', 0] };
        let mut text = Vec::new();
        for step in 0..300_usize {
            text.push([b'a', b'"', b',', 0x80, b'\n', b'#', b'-', 0xff, 0, b'!'][step * step % 97 % 10]);
            let plain = |from: usize, wanted: &[u8]| {
                text[from..].iter().position(|byte| wanted.contains(byte)).map(|offset| from + offset)
            };
            let expected: Vec<_> =
                (0..=text.len()).map(|at| (plain(at, b"\""), plain(at, &needles.ends))).collect();
            assert_eq!(with_lanes(Positions(&text, needles)), expected);
            assert_eq!(Positions(&text, needles).run::<Portable>(), expected);
        }
    }
}
