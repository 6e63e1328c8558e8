//! Bodies and titles: paragraphs, lists and code blocks in the HTML that question-and-answer sites store.
//!
//! Invariant: what is appended is ASCII and well-formed (every tag is closed). Knows nothing of rows.

use std::io::Write;

use super::dice::Dice;
use super::words::{LANGUAGE_SEED, Vocabulary};

/// Ranks a made identifier is taken from: past the function words, before the long tail.
const IDENTIFIER_RANKS: u32 = 2_000;
const FIRST_IDENTIFIER: usize = 60;

/// Turns of phrase people repeat ("is there a way to", "thanks in advance"); without them text hardly compresses.
const PHRASES: u32 = 4_096;
/// So often, per mille, a phrase stands where a word could.
const PHRASE_PER_MILLE: u32 = 300;

#[derive(Debug)]
pub(crate) struct Prose {
    vocabulary: Vocabulary,
    phrases: Vec<Phrase>,
}

#[derive(Debug)]
struct Phrase {
    words: u32,
    text: Vec<u8>,
}

impl Prose {
    pub(crate) fn new() -> Prose {
        let vocabulary = Vocabulary::new();
        let mut dice = Dice::new(LANGUAGE_SEED, 1);
        let phrases = (0..PHRASES).map(|_| {
            let mut phrase = Phrase { words: 3 + dice.below(4), text: Vec::new() };
            (0..phrase.words).for_each(|_| vocabulary.push_word(&mut dice, &mut phrase.text));
            phrase
        });
        Prose { phrases: phrases.collect(), vocabulary }
    }

    /// Appends a body of about `words` words.
    pub(crate) fn body(&self, dice: &mut Dice, words: u32, out: &mut Vec<u8>) {
        let mut left = words;
        while left > 0 {
            let throw = dice.below(100);
            let written = match throw {
                0..=71 => self.paragraph(left.min(20 + dice.below(60)), dice, out),
                72..=91 => self.code_block(3 + dice.below(10), dice, out),
                92..=96 => self.list(left.min(12 + dice.below(30)), dice, out),
                _ => self.quote(left.min(10 + dice.below(20)), dice, out),
            };
            left = left.saturating_sub(written);
        }
    }

    /// Appends a title of `words` words, capitalised and without a full stop.
    pub(crate) fn title(&self, dice: &mut Dice, words: u32, out: &mut Vec<u8>) {
        let start = out.len();
        for _ in 0..words {
            self.vocabulary.push_word(dice, out);
        }
        out.pop();
        capitalise(out, start);
        if dice.chance(600) {
            out.push(b'?');
        }
    }

    /// A word that names something: a tag, a person, a variable. Low numbers are common.
    pub(crate) fn name(&self, number: u32) -> &str {
        self.vocabulary.word(FIRST_IDENTIFIER + number as usize)
    }

    fn paragraph(&self, words: u32, dice: &mut Dice, out: &mut Vec<u8>) -> u32 {
        out.extend_from_slice(b"<p>");
        self.sentences(dice, words, out);
        out.extend_from_slice(b"</p>\n\n");
        words
    }

    fn quote(&self, words: u32, dice: &mut Dice, out: &mut Vec<u8>) -> u32 {
        out.extend_from_slice(b"<blockquote>\n  <p>");
        self.sentences(dice, words, out);
        out.extend_from_slice(b"</p>\n</blockquote>\n\n");
        words
    }

    fn list(&self, words: u32, dice: &mut Dice, out: &mut Vec<u8>) -> u32 {
        out.extend_from_slice(b"<ul>\n");
        let mut left = words;
        while left > 0 {
            let item = left.min(4 + dice.below(10));
            out.extend_from_slice(b"<li>");
            self.sentences(dice, item, out);
            out.extend_from_slice(b"</li>\n");
            left -= item;
        }
        out.extend_from_slice(b"</ul>\n\n");
        words
    }

    fn sentences(&self, dice: &mut Dice, words: u32, out: &mut Vec<u8>) {
        let mut left = words;
        while left > 0 {
            let length = left.min(5 + dice.below(16));
            self.sentence(dice, length, out);
            left -= length;
            if left > 0 {
                out.push(b' ');
            }
        }
    }

    fn sentence(&self, dice: &mut Dice, words: u32, out: &mut Vec<u8>) {
        let start = out.len();
        let marked = dice.below(48);
        let comma = 2 + dice.below(12);
        let mut word = 0;
        while word < words {
            if word == marked {
                self.marked_word(dice, out);
            } else if dice.chance(PHRASE_PER_MILLE) {
                let phrase = &self.phrases[dice.skewed(PHRASES) as usize];
                out.extend_from_slice(&phrase.text);
                word += phrase.words - 1;
            } else {
                self.vocabulary.push_word(dice, out);
            }
            if word == comma && word + 2 < words {
                out.pop();
                out.extend_from_slice(b", ");
            }
            word += 1;
        }
        capitalise(out, start);
        out.pop();
        out.push(if dice.chance(120) { b'?' } else { b'.' });
    }

    /// A word with markup around it, and the blank behind it.
    fn marked_word(&self, dice: &mut Dice, out: &mut Vec<u8>) {
        let name = self.identifier(dice);
        let written = match dice.below(4) {
            0 => write!(out, "<strong>{name}</strong> "),
            1 => write!(out, "<a href=\"https://{name}.example.com/{}\">{name}</a> ", dice.below(100_000)),
            _ => write!(out, "<code>{name}()</code> "),
        };
        debug_assert!(written.is_ok(), "a Vec takes every byte");
    }

    /// Appends `lines` lines of code; counts as four words a line.
    fn code_block(&self, lines: u32, dice: &mut Dice, out: &mut Vec<u8>) -> u32 {
        out.extend_from_slice(b"<pre><code>");
        for _ in 0..lines {
            let (a, b) = (self.identifier(dice), self.identifier(dice));
            let number = dice.below(1000);
            let written = match dice.below(8) {
                0 => writeln!(out, "if ({a} &lt; {number}) {{"),
                1 => writeln!(out, "    {a}.{b}({number});"),
                2 => writeln!(out, "    return {a};\n}}"),
                3 => writeln!(out, "    var {a} = new {b}(\"{}\");", self.identifier(dice)),
                4 => writeln!(out, "for (int i = 0; i &lt; {a}.length; i++) {{"),
                5 => writeln!(out, "    // {a} {b}"),
                6 => writeln!(out, "{a} = {b}[{number}];"),
                _ => writeln!(out, "def {a}(self, {b}):"),
            };
            debug_assert!(written.is_ok(), "a Vec takes every byte");
        }
        out.extend_from_slice(b"</code></pre>\n\n");
        lines * 4
    }

    fn identifier(&self, dice: &mut Dice) -> &str {
        self.name(dice.skewed(IDENTIFIER_RANKS))
    }
}

fn capitalise(out: &mut [u8], at: usize) {
    if let Some(letter) = out.get_mut(at) {
        letter.make_ascii_uppercase();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_ascii_with_every_tag_closed() {
        let prose = Prose::new();
        let mut dice = Dice::new(3, 0);
        for words in [1, 2, 10, 150, 600] {
            let mut body = Vec::new();
            prose.body(&mut dice, words, &mut body);
            let body = String::from_utf8(body).unwrap();
            assert!(body.is_ascii());
            for tag in ["p", "ul", "li", "code", "pre", "strong", "blockquote"] {
                let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
                assert_eq!(body.matches(&open).count(), body.matches(&close).count(), "{tag} in {body}");
            }
        }
    }

    #[test]
    fn a_title_is_one_capitalised_line() {
        let mut title = Vec::new();
        Prose::new().title(&mut Dice::new(9, 0), 8, &mut title);
        let title = String::from_utf8(title).unwrap();
        assert!(title.starts_with(|c: char| c.is_ascii_uppercase()) && !title.contains('\n'), "{title}");
        assert_eq!(title.split(' ').count(), 8);
    }
}
