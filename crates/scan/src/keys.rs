//! Keys of objects in the order a file has them, learnt from its rows.
//!
//! Rows of one file mostly have the same keys in the same order, whatever the order of the columns and whether or not
//! anybody wants them all; so the key that followed last time is compared first, eight bytes at a time.
//! Invariant: a key that is found is the one that stands there, byte for byte. One that is not found may be known all the
//! same: it has to be looked up. Must not know: values, columns' types.

/// Keys that are remembered.
const KEYS_MAX: usize = 1024;
/// Keys that may be missing in a row before the one that follows has to be looked up.
const SKIPPED_MAX: usize = 8;
/// Keys that are looked up are compared with all that are known, so many times: rows without any order teach nothing.
const LESSONS_MAX: usize = 4 * KEYS_MAX;

const WORD: usize = size_of::<u64>();

/// A key as rows have it: its quotes, and the colon behind it.
struct Key {
    text: Vec<u8>,
    head: u64,
    /// Of the head: the bytes that count.
    mask: u64,
    /// Last bytes of a text longer than a word.
    tail: u64,
    column: Option<usize>,
}

impl Key {
    fn new(quoted: &[u8], column: Option<usize>) -> Key {
        let mut text = quoted.to_vec();
        text.push(b':');
        let mut head = [0; WORD];
        for (to, from) in head.iter_mut().zip(&text) {
            *to = *from;
        }
        let mut mask = [0; WORD];
        mask.iter_mut().take(text.len()).for_each(|byte| *byte = 0xff);
        let tail = text.last_chunk().copied().unwrap_or_default();
        let [head, mask, tail] = [head, mask, tail].map(u64::from_le_bytes);
        Key { text, head, mask, tail, column }
    }

    #[inline]
    fn starts(&self, rest: &[u8]) -> bool {
        let Some(head) = rest.first_chunk() else { return rest.starts_with(&self.text) };
        if (u64::from_le_bytes(*head) ^ self.head) & self.mask != 0 {
            return false;
        }
        let length = self.text.len();
        if length <= WORD {
            return true;
        }
        let tail = rest.get(..length).and_then(|text| text.last_chunk());
        let has_tail = tail.is_some_and(|tail| u64::from_le_bytes(*tail) == self.tail);
        has_tail && (length <= 2 * WORD || rest.starts_with(&self.text))
    }
}

/// What is known of the keys of a file.
#[derive(Default)]
pub struct Keys {
    known: Vec<Key>,
    /// The key that is expected next.
    place: usize,
    lessons: usize,
}

/// A key that stands where it was looked for.
pub struct Found {
    /// Bytes with quotes and colon.
    pub length: usize,
    /// The column that it means, if any.
    pub column: Option<usize>,
}

impl Keys {
    /// A row begins.
    #[inline]
    pub fn restart(&mut self) {
        self.place = 0;
    }

    /// The key at the start of `rest`, if it is one of those expected.
    #[inline]
    pub fn find(&mut self, rest: &[u8]) -> Option<Found> {
        match self.known.get(self.place) {
            Some(key) if key.starts(rest) => {
                self.place += 1;
                Some(Found { length: key.text.len(), column: key.column })
            }
            _ => self.find_later(rest),
        }
    }

    fn find_later(&mut self, rest: &[u8]) -> Option<Found> {
        let later = self.known.get(self.place + 1..).unwrap_or_default();
        let skipped = later.iter().take(SKIPPED_MAX).position(|key| key.starts(rest))?;
        let key = &later[skipped];
        self.place += skipped + 2;
        Some(Found { length: key.text.len(), column: key.column })
    }

    /// Says of which column a key was that was not found; it is given with its quotes.
    pub fn learn(&mut self, quoted: &[u8], column: Option<usize>) {
        if self.lessons >= LESSONS_MAX {
            return;
        }
        self.lessons += 1;
        let is_it = |key: &Key| key.text.split_last().is_some_and(|(_, text)| text == quoted);
        if let Some(at) = self.known.iter().position(is_it) {
            self.place = at + 1;
        } else if self.known.len() < KEYS_MAX {
            let at = self.place.min(self.known.len());
            self.known.insert(at, Key::new(quoted, column));
            self.place = at + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns found for the keys of a row; a key that is not found is taught.
    fn walk(keys: &mut Keys, row: &[&str]) -> Vec<Option<usize>> {
        keys.restart();
        let mut found = Vec::new();
        for key in row {
            let rest = format!("{key}:1,\"a\":2}}");
            let here = keys.find(rest.as_bytes());
            if let Some(here) = &here {
                assert_eq!(here.length, key.len() + 1, "{key}");
            } else {
                keys.learn(key.as_bytes(), Some(key.len()));
            }
            found.push(here.and_then(|here| here.column));
        }
        found
    }

    #[test]
    fn keys_are_found_once_they_were_seen() {
        let row = ["\"a\"", "\"shorter\"", "\"seventeen bytes\"", "\"a key that is longer than two words\""];
        let lengths: Vec<Option<usize>> = row.iter().map(|key| Some(key.len())).collect();
        let mut keys = Keys::default();
        assert_eq!(walk(&mut keys, &row), [None; 4]);
        assert_eq!(walk(&mut keys, &row), lengths);
        assert_eq!(walk(&mut keys, &row[2..]), lengths[2..], "the first ones are missing");
        assert_eq!(walk(&mut keys, &[row[0], "\"new\"", row[1]]), [lengths[0], None, lengths[1]]);
        assert_eq!(walk(&mut keys, &[row[0], "\"new\"", row[1]]), [lengths[0], Some(5), lengths[1]]);
        assert_eq!(
            walk(&mut keys, &[row[3], row[0], row[1]]),
            [lengths[3], None, lengths[1]],
            "another order"
        );
    }

    #[test]
    fn a_key_is_found_only_where_all_of_it_stands() {
        for key in [
            "\"a\"",
            "\"abcde\"",
            "\"abcdef\"",
            "\"abcdefgh\"",
            "\"abcdefghijklm\"",
            "\"abcdefghijklmnopqrst\"",
        ] {
            let mut keys = Keys::default();
            keys.learn(key.as_bytes(), Some(7));
            let whole = format!("{key}:");
            for change in 0..whole.len() {
                let mut other = whole.clone().into_bytes();
                other[change] ^= 1;
                other.extend_from_slice(b"1234567890");
                keys.restart();
                assert!(keys.find(&other).is_none(), "{key} at {change}");
                keys.restart();
                assert!(keys.find(&whole.as_bytes()[..change]).is_none(), "{key} cut at {change}");
            }
            for behind in ["", "1", "123456789"] {
                keys.restart();
                let found = keys.find(format!("{whole}{behind}").as_bytes());
                assert_eq!(found.map(|found| found.length), Some(whole.len()), "{key}");
            }
        }
    }

    #[test]
    fn rows_without_order_stop_teaching() {
        let mut keys = Keys::default();
        for number in 0..3 * LESSONS_MAX {
            keys.restart();
            keys.learn(format!("\"{number}\"").as_bytes(), None);
        }
        assert_eq!((keys.known.len(), keys.lessons), (KEYS_MAX, LESSONS_MAX));
    }
}
