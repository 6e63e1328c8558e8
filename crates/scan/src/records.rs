//! Ends of records whose cells may stand in quotes, 64 bytes at a time.
//!
//! In usual text quotes are met in pairs: one where a cell begins, one where it ends, and two in a row for a quote that is
//! meant. Then what lies inside of quotes is the parity of the quotes before it, which is a few instructions for 64 bytes.
//! A block in which a quote stands anywhere else is read quote by quote.
//! Invariant: both ways give the same ends and the same state. A quote opens a cell only where the cell begins, blanks
//! aside; anywhere else in a bare cell it is a character.

use crate::find::{differs, each_marked};
use crate::marks::{BLOCK, Lanes, Marked, Needles, with_lanes};

/// What is known behind the bytes taken so far.
#[derive(Clone, Debug)]
pub struct QuotedRecords {
    delimiter: u8,
    quotes: [u8; 2],
    trim: bool,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Only blanks since a cell began.
    CellStart,
    /// In a bare cell, or behind a quoted one.
    Bare,
    Quoted(u8),
    /// Behind a quote in a quoted cell: it closes the cell, or is the first of two.
    QuoteInQuoted(u8),
}

impl QuotedRecords {
    /// `None`: such quotes, delimiters and line ends are not told apart by their bytes. With `trim` blanks around a cell are
    /// no part of it.
    pub fn new(delimiter: u8, double_quotes: bool, single_quotes: bool, trim: bool) -> Option<Self> {
        // A quote that is switched off is looked for as the one that is on: the same byte twice.
        let quotes = match (double_quotes, single_quotes) {
            (true, true) => [b'"', b'\''],
            (true, false) => [b'"', b'"'],
            (false, true) => [b'\'', b'\''],
            (false, false) => [b'\n', b'\n'],
        };
        let is_plain = !quotes.contains(&delimiter) && !matches!(delimiter, b'\n' | b'\r' | b'"' | b'\'');
        is_plain.then_some(Self { delimiter, quotes, trim, state: State::CellStart })
    }

    /// Takes the next bytes; gives the end of the last record that ends in them.
    pub fn advance(&mut self, bytes: &[u8]) -> Option<usize> {
        let [first, second] = self.quotes;
        if first == second && first != b'\n' {
            return with_lanes(Pass { scan: self, bytes });
        }
        self.by_quote(bytes)
    }

    /// The state behind bare text that begins in `before`: only its last bytes matter.
    fn behind_bare(&self, text: &[u8], before: State) -> State {
        let is_blank = |byte: &u8| self.trim && matches!(byte, b' ' | b'\t') && *byte != self.delimiter;
        match text.iter().rev().find(|byte| !is_blank(byte)) {
            Some(byte) if *byte == self.delimiter || *byte == b'\n' => State::CellStart,
            Some(_) => State::Bare,
            None => before,
        }
    }

    /// Every quote and line end by itself.
    #[inline(never)]
    fn by_quote(&mut self, bytes: &[u8]) -> Option<usize> {
        let [first, second] = self.quotes;
        match first == second {
            true => self.each_quote(bytes, |word| differs(word, first) & differs(word, b'\n')),
            false => self.each_quote(bytes, |word| {
                differs(word, first) & differs(word, second) & differs(word, b'\n')
            }),
        }
    }

    #[inline]
    fn each_quote(&mut self, bytes: &[u8], others: impl Fn(u64) -> u64) -> Option<usize> {
        let (mut state, mut boundary) = (self.state, None);
        // The state holds for the byte here.
        let mut since = 0;
        if let (State::QuoteInQuoted(quote), Some(byte)) = (state, bytes.first()) {
            let is_second = *byte == quote;
            state = if is_second { State::Quoted(quote) } else { State::Bare };
            since = usize::from(is_second);
        }
        each_marked(bytes, since, others, |at| {
            let byte = bytes[at];
            match state {
                State::Quoted(quote) if byte != quote => return at + 1,
                State::Quoted(quote) => match bytes.get(at + 1) {
                    Some(next) if *next == quote => return at + 2,
                    Some(_) => state = State::Bare,
                    None => state = State::QuoteInQuoted(quote),
                },
                _ if byte == b'\n' => {
                    state = State::CellStart;
                    boundary = Some(at + 1);
                }
                before => {
                    let opens = self.behind_bare(&bytes[since..at], before) == State::CellStart;
                    state = if opens { State::Quoted(byte) } else { State::Bare };
                }
            }
            since = at + 1;
            since
        });
        self.state = match state {
            State::CellStart | State::Bare => self.behind_bare(bytes.get(since..).unwrap_or_default(), state),
            inside => inside,
        };
        boundary
    }
}

/// One way through some bytes.
struct Pass<'s, 't> {
    scan: &'s mut QuotedRecords,
    bytes: &'t [u8],
}

impl Marked for Pass<'_, '_> {
    type Done = Option<usize>;

    #[inline(always)]
    fn run<L: Lanes>(self) -> Option<usize> {
        let Pass { scan, bytes } = self;
        let [quote, _] = scan.quotes;
        let cells = Needles { quote, ends: [scan.delimiter, b'\n', b'\n'] };
        let lines = Needles { quote: b'\n', ends: [b'\n'; 3] };
        let (blocks, tail) = bytes.as_chunks::<BLOCK>();
        let mut boundary = None;
        for (number, block) in blocks.iter().enumerate() {
            let base = number * BLOCK;
            let (quotes, cell_ends) = L::bits(block, cells);
            let is_inside = matches!(scan.state, State::Quoted(_));
            let inside = parity(quotes) ^ if is_inside { u64::MAX } else { 0 };
            // A quote that opens stands at the start of a cell, or right behind one that closed: then it is the second of two.
            let at_start = matches!(scan.state, State::CellStart | State::QuoteInQuoted(_));
            let may_open = (cell_ends | quotes) << 1 | u64::from(at_start);
            if quotes & inside & !may_open != 0 {
                boundary = scan.by_quote(block).map(|end| base + end).or(boundary);
                continue;
            }
            let line_ends = L::bits(block, lines).0 & !inside;
            if line_ends != 0 {
                boundary = Some(base + BLOCK - count(line_ends.leading_zeros()));
            }
            scan.state = if inside >> (BLOCK - 1) == 1 {
                State::Quoted(quote)
            } else if quotes >> (BLOCK - 1) == 1 {
                State::QuoteInQuoted(quote)
            } else if cell_ends >> (BLOCK - 1) == 1 {
                State::CellStart
            } else {
                let bare = BLOCK - count(quotes.leading_zeros());
                let before = match scan.state {
                    State::CellStart if quotes == 0 => State::CellStart,
                    _ => State::Bare,
                };
                scan.behind_bare(&block[bare..], before)
            };
        }
        let base = bytes.len() - tail.len();
        scan.by_quote(tail).map(|end| base + end).or(boundary)
    }
}

/// Bit for bit, whether the bits up to and with it are odd in number.
#[inline(always)]
const fn parity(bits: u64) -> u64 {
    let bits = bits ^ (bits << 1);
    let bits = bits ^ (bits << 2);
    let bits = bits ^ (bits << 4);
    let bits = bits ^ (bits << 8);
    let bits = bits ^ (bits << 16);
    bits ^ (bits << 32)
}

/// At most 64.
#[inline(always)]
fn count(bits: u32) -> usize {
    usize::try_from(bits).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Plainly<'s, 't>(Pass<'s, 't>);

    impl Marked for Plainly<'_, '_> {
        type Done = Option<usize>;
        fn run<L: Lanes>(self) -> Option<usize> {
            self.0.run::<crate::marks::Portable>()
        }
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        // Mostly usual cells, so that blocks of both kinds and the seams between them are met.
        let piece = prop_oneof![
            8 => "[a-z0-9 ]{0,40}[,\n]",
            8 => "\"[a-z,\n]{0,40}\"[,\n]",
            4 => "\"([a-z]{0,9}\"\"){0,3}\"[,\n]",
            1 => "[a\", \n\t]{0,20}",
        ];
        prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat().into_bytes())
    }

    proptest! {
        #[test]
        fn blocks_and_single_quotes_agree(text in text(), steps in prop::collection::vec(1_usize..300, 1..5), trim: bool) {
            let mut scans = [0; 3].map(|_| QuotedRecords::new(b',', true, false, trim).unwrap());
            let mut at = 0;
            for step in steps.iter().cycle() {
                let next = (at + step).min(text.len());
                let bytes = &text[at..next];
                let [wide, narrow, single] = &mut scans;
                let ends = [
                    with_lanes(Pass { scan: wide, bytes }),
                    with_lanes(Plainly(Pass { scan: narrow, bytes })),
                    single.by_quote(bytes),
                ];
                prop_assert_eq!(ends, [ends[2]; 3], "{}..{}", at, next);
                prop_assert_eq!((wide.state, narrow.state), (single.state, single.state), "{}..{}", at, next);
                at = next;
                if at == text.len() {
                    break;
                }
            }
        }
    }
}
