//! A vocabulary whose words are drawn as people use them: rank r about as often as 1/(r + 2.7).
//!
//! English function words and the words of programming questions lead; 30,000 made words follow.
//! Drawing costs one table look-up (Walker's alias method) and one copy of 16 bytes, because a million bodies
//! need two hundred million words. Knows nothing of sentences.

use super::dice::{Dice, scale_down};

/// Bytes of a slot: the longest word and the blank behind it.
const SLOT_BYTES: usize = 16;
const MADE_WORDS: usize = 30_000;
/// The vocabulary is one for every seed: seeds change the texts, not the language.
pub(super) const LANGUAGE_SEED: u64 = 0x6772_6973_746d_696c;

const LEADING: &str = "the to I a is in and of it this that for you have with be on not are as but can if or an my \
from at do will what so there your am how when use all just like get would any which code one has use by error \
then need was we using want value file data function work some string me here them array way class should only \
return does because method no time following type also than problem set where two object more new try user first \
number list now other into each example make add they been find line tried out could list change name same after \
its create run server index why works call table without these got between solution query version result know \
output input different app application page test different element check column row field key could however works \
button event image library loop variable thread memory pointer template database select insert update delete join \
java python javascript html css sql php android json xml http request response client message date random size \
simple better possible answer question edit thanks please help seems instead every before something being both \
while still even see over very really through down many most must too own under again once such those their";

const ONSETS: [&str; 24] = [
    "b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "v", "w", "st", "tr", "pl", "gr", "cl",
    "sh", "br", "qu", "fl",
];
const VOWELS: [&str; 9] = ["a", "e", "i", "o", "u", "ea", "io", "ou", "ai"];
const CODAS: [&str; 16] = ["", "", "", "", "", "n", "r", "s", "l", "t", "m", "nd", "st", "ck", "ng", "x"];

/// Words in fixed slots, the blank after the word included, and the table that draws them.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    slots: Vec<[u8; SLOT_BYTES]>,
    lengths: Vec<u8>,
    alias: Vec<Alias>,
}

#[derive(Clone, Copy, Debug)]
struct Alias {
    /// Below this throw the slot itself is drawn, otherwise `other`.
    threshold: u32,
    other: u32,
}

impl Vocabulary {
    pub(crate) fn new() -> Vocabulary {
        let mut dice = Dice::new(LANGUAGE_SEED, 0);
        let mut vocabulary = Vocabulary { slots: Vec::new(), lengths: Vec::new(), alias: Vec::new() };
        LEADING.split_whitespace().for_each(|word| vocabulary.push(word));
        for made in 0..MADE_WORDS {
            // Frequent words are short in every language.
            let syllables = 1 + (made + 8).ilog2() / 6 + dice.below(2);
            vocabulary.push(&made_word(&mut dice, syllables));
        }
        vocabulary.alias = alias_table(vocabulary.slots.len());
        vocabulary
    }

    /// Appends one word and a blank.
    pub(crate) fn push_word(&self, dice: &mut Dice, out: &mut Vec<u8>) {
        let throw = dice.next();
        let column = scale_down(throw, len_u32(self.alias.len())) as usize;
        let alias = self.alias[column];
        let word =
            if (throw & 0xFFFF_FFFF) as u32 <= alias.threshold { column } else { alias.other as usize };
        // A copy of fixed size is one instruction; the surplus is cut off again.
        let end = out.len() + usize::from(self.lengths[word]);
        out.extend_from_slice(&self.slots[word]);
        out.truncate(end);
    }

    /// The word at `rank` (0 is the most frequent), without its blank.
    pub(crate) fn word(&self, rank: usize) -> &str {
        let rank = rank % self.slots.len();
        let letters = usize::from(self.lengths[rank]) - 1;
        std::str::from_utf8(&self.slots[rank][..letters]).unwrap_or_default()
    }

    fn push(&mut self, word: &str) {
        let letters = word.len().min(SLOT_BYTES - 1);
        let mut slot = [b' '; SLOT_BYTES];
        slot[..letters].copy_from_slice(&word.as_bytes()[..letters]);
        self.slots.push(slot);
        self.lengths.push(u8::try_from(letters + 1).unwrap_or(u8::MAX));
    }
}

fn made_word(dice: &mut Dice, syllables: u32) -> String {
    let mut word = String::new();
    for _ in 0..syllables {
        word.push_str(pick(dice, &ONSETS));
        word.push_str(pick(dice, &VOWELS));
    }
    word.push_str(pick(dice, &CODAS));
    word
}

fn pick<'a>(dice: &mut Dice, from: &[&'a str]) -> &'a str {
    from[dice.below(len_u32(from.len())) as usize]
}

/// Walker's alias table for the weights 1/(rank + 2.7), in whole numbers so that it is the same on every machine.
fn alias_table(words: usize) -> Vec<Alias> {
    let weights: Vec<u64> = (0..words as u64).map(|rank| 1_000_000_000_000 / (10 * rank + 27)).collect();
    let mean = weights.iter().sum::<u64>() / words as u64;
    let mut left = weights;
    let mut table = vec![Alias { threshold: u32::MAX, other: 0 }; words];
    let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..words).partition(|&word| left[word] < mean);
    while let (Some(&under), Some(&over)) = (small.last(), large.last()) {
        small.pop();
        let part = u128::from(left[under]) * u128::from(u32::MAX) / u128::from(mean);
        table[under] = Alias { threshold: u32::try_from(part).unwrap_or(u32::MAX), other: len_u32(over) };
        left[over] -= mean - left[under];
        if left[over] < mean {
            large.pop();
            small.push(over);
        }
    }
    for (word, alias) in table.iter_mut().enumerate() {
        if alias.threshold == u32::MAX {
            alias.other = len_u32(word);
        }
    }
    table
}

fn len_u32(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_as_often_as_their_rank_says() {
        let vocabulary = Vocabulary::new();
        let mut dice = Dice::new(1, 1);
        let mut text = Vec::new();
        for _ in 0..200_000 {
            vocabulary.push_word(&mut dice, &mut text);
        }
        let text = String::from_utf8(text).unwrap();
        let count = |wanted: &str| text.split(' ').filter(|word| *word == wanted).count();
        let (first, second, tenth) =
            (count(vocabulary.word(0)), count(vocabulary.word(1)), count(vocabulary.word(9)));
        // Weights 1/2.7, 1/3.7 and 1/11.7 of a sum of about 8.9.
        assert!((7_500..9_500).contains(&first), "{first}");
        assert!((5_400..7_000).contains(&second), "{second}");
        assert!((1_600..2_300).contains(&tenth), "{tenth}");
        assert!(text.split(' ').collect::<std::collections::HashSet<_>>().len() > 15_000, "a long tail");
    }

    #[test]
    fn every_word_fits_its_slot() {
        let vocabulary = Vocabulary::new();
        for rank in 0..vocabulary.slots.len() {
            assert!(!vocabulary.word(rank).is_empty());
            assert!(vocabulary.word(rank).bytes().all(|b| b.is_ascii_alphabetic()));
        }
    }
}
