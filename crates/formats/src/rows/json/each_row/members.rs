//! Members of the objects of JSONEachRow, as cells of their columns.
//!
//! Invariant: rows are the same whether the ends of strings are found by marks, many rows at once, or searched for. Must not
//! know: what stands between rows.

use super::{JsonObjects, Stop, json_cell, key_at, next_member, no_key, no_string, string_cell, value_at};
use crate::rows::quick_rows::QuickRow;
use crate::values::cell::{Cell, TextForm};
use scan::find::{find_any, number_length, skip_space};
use scan::marks::{Lanes, Marks, Needles};

/// How deep objects in objects are looked for as columns.
const NESTED_MAX: usize = 32;

/// Finds where a string may end.
pub(super) trait StringEnds {
    /// The first quote or backslash at `at` or behind it.
    fn next(&mut self, bytes: &[u8], at: usize) -> Option<usize>;
}

/// A search for every string.
pub(super) struct Searched;

impl StringEnds for Searched {
    #[inline(always)]
    fn next(&mut self, bytes: &[u8], at: usize) -> Option<usize> {
        find_any(bytes.get(at..)?, [b'"', b'\\']).map(|offset| at + offset)
    }
}

/// Of the bytes it is asked about.
impl<L: Lanes> StringEnds for Marks<'_, L> {
    #[inline(always)]
    fn next(&mut self, _bytes: &[u8], at: usize) -> Option<usize> {
        self.end(at)
    }
}

/// Length of the value at `at` and how it stands there, if it is a string without a backslash or a number, and
/// something follows.
#[inline(always)]
fn plain_value(bytes: &[u8], at: usize, ends: &mut impl StringEnds) -> Option<(usize, TextForm)> {
    let rest = bytes.get(at..)?;
    match rest.first()? {
        b'"' => {
            let end = ends.next(bytes, at + 1).filter(|end| bytes.get(*end) == Some(&b'"'))?;
            Some((end + 1 - at, TextForm::JsonPlain))
        }
        b'-' | b'0'..=b'9' => {
            let length = number_length(rest);
            let ends = matches!(rest.get(length)?, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
            ends.then_some((length, TextForm::Json))
        }
        _ => None,
    }
}

/// Objects that follow each other line by line.
impl QuickRow for &mut JsonObjects {
    #[inline(always)]
    fn needles(&self) -> Needles {
        Needles { quote: b'"', ends: [b'"', b'\\', b'\\'] }
    }

    #[inline(always)]
    fn row<'a, L: Lanes>(
        &mut self,
        bytes: &'a [u8],
        at: usize,
        width: usize,
        marks: &mut Marks<'a, L>,
        cells: &mut Vec<Cell<'a>>,
    ) -> Option<usize> {
        let start = at + usize::from(bytes.get(at) == Some(&b'\n'));
        if bytes.get(start) != Some(&b'{') {
            return None;
        }
        let first = cells.len();
        cells.resize(first + width, Cell::DEFAULT);
        // Cut short, or wrong: the one who splits row by row says which.
        self.values(bytes, start, &mut cells[first..], marks).ok()
    }
}

impl JsonObjects {
    /// The key at `at`: where it ends, where its value may start, and its column.
    #[inline(always)]
    fn key(&mut self, bytes: &[u8], at: usize, count: usize) -> Result<(usize, usize, Option<usize>), Stop> {
        if let Some(found) = self.keys.find(bytes.get(at..).unwrap_or_default()) {
            let start = at + found.length;
            return Ok((start - 1, start, found.column));
        }
        let (key_end, start) = key_at(bytes, at, count)?;
        let key = &bytes[at..key_end];
        let column = self.column(key);
        let column = column.map_err(|error| Stop::Wrong(Self::unclear(key, Some(error), at, count)))?;
        if column.is_some() || self.skip_unknown {
            self.keys.learn(key, column);
        }
        Ok((key_end, start, column))
    }

    /// The values of the object at `at` into the cells of its row; gives its end.
    #[inline(always)]
    pub(super) fn values<'a>(
        &mut self,
        bytes: &'a [u8],
        at: usize,
        cells: &mut [Cell<'a>],
        ends: &mut impl StringEnds,
    ) -> Result<usize, Stop> {
        let mut at = skip_space(bytes, at + 1);
        self.keys.restart();
        let mut count = 0;
        loop {
            match bytes.get(at) {
                Some(b'"') => {}
                Some(b'}') => return Ok(at + 1),
                Some(_) => return Err(Stop::Wrong(no_key(bytes, at, count))),
                None => return Err(Stop::NeedsMore),
            }
            let (key_end, start, column) = self.key(bytes, at, count)?;
            let start = skip_space(bytes, start);
            let (text, form) = match plain_value(bytes, start, ends) {
                Some((length, form)) => (&bytes[start..start + length], form),
                None => {
                    let end = match bytes.get(start) {
                        Some(b',' | b'}') => Ok(start),
                        _ => value_at(bytes, start, count),
                    };
                    // What is missing is a value of its type: which one says what is wrong.
                    if let (Err(Stop::Wrong(_)), Some(slot)) = (&end, column.and_then(|at| cells.get_mut(at)))
                    {
                        *slot = Cell { text: b"", form: TextForm::Json };
                    }
                    let cell = json_cell(&bytes[start..end?]);
                    (cell.text, cell.form)
                }
            };
            match column.and_then(|column| cells.get_mut(column)) {
                Some(slot) if slot.form == TextForm::Default => {
                    if self.strings {
                        *slot = string_cell(text).map_err(|message| no_string(message, start, count))?;
                    } else {
                        // A whole cell would go through memory in parts, for which the processor has to wait.
                        (slot.text, slot.form) = (text, form);
                    }
                }
                Some(_) => {
                    return Err(Stop::Wrong(Self::unclear(&bytes[at..key_end], None, at, count)));
                }
                None if self.imports_nested && text.first() == Some(&b'{') => {
                    let key = &bytes[at..key_end];
                    let name =
                        Cell { text: key, form: TextForm::Json }.content(&mut Vec::new()).map(<[u8]>::to_vec);
                    self.nested(&name.unwrap_or_default(), text, at, cells, 1)?;
                }
                None => self.unknown(&bytes[at..key_end], text, at).map_err(Stop::Wrong)?,
            }
            count += 1;
            at = next_member(bytes, start + text.len(), count)?;
        }
    }

    /// The members of an object under `prefix` into the cells of the columns `prefix.member`.
    fn nested<'a>(
        &mut self,
        prefix: &[u8],
        object: &'a [u8],
        at: usize,
        cells: &mut [Cell<'a>],
        depth: usize,
    ) -> Result<(), Stop> {
        let mut members = Vec::new();
        Self::members(object, 0, |key, value| members.push((key, value)))?;
        for (key, value) in members {
            let member = Cell { text: key, form: TextForm::Json };
            let name = [prefix, b".", member.content(&mut Vec::new()).unwrap_or_default()].concat();
            let column = self.by_name.find(&name);
            let column = column.map_err(|error| Stop::Wrong(Self::unclear(key, Some(error), at, 0)))?;
            match column.and_then(|column| cells.get_mut(column)) {
                Some(slot) if slot.form == TextForm::Default => *slot = json_cell(value),
                Some(_) => return Err(Stop::Wrong(Self::unclear(key, None, at, 0))),
                None if value.first() == Some(&b'{') && depth < NESTED_MAX => {
                    self.nested(&name, value, at, cells, depth + 1)?;
                }
                None => self.unknown(key, value, at).map_err(Stop::Wrong)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rows::split::{Room, RowEnd, SplitRows, Taken};
    use crate::settings::FormatSettings;

    type Row = Vec<(Vec<u8>, TextForm)>;

    /// Rows up to the first that is none, where it starts, and how often several were split at once.
    fn rows(text: &[u8], is_quick: bool) -> (Vec<Row>, usize, usize) {
        let settings = FormatSettings { skip_unknown_fields: true, ..FormatSettings::default() };
        let mut objects = JsonObjects::new(["a", "long name", "c"].into_iter(), &settings);
        let (mut found, mut at, mut quick) = (Vec::new(), 0, 0);
        loop {
            let mut cells = Vec::new();
            let room = Room { width: 3, rows: 3, bytes: 1000 };
            let taken = match is_quick {
                true => objects.quick_rows(text, at, room, &mut cells),
                false => Taken { rows: 0, next: at },
            };
            assert_eq!(cells.len(), taken.rows * 3);
            if taken.rows == 0 {
                match objects.row(text, at, true, &mut cells) {
                    Ok(RowEnd::Row(next)) => at = next,
                    _ => return (found, at, quick),
                }
            } else {
                at = taken.next;
                quick += 1;
            }
            let plain = cells.iter().map(|cell| (cell.text.to_vec(), cell.form)).collect::<Vec<_>>();
            found.extend(plain.chunks(3).map(<[_]>::to_vec));
        }
    }

    #[test]
    fn lines_of_objects_are_quick() {
        let line = "{\"a\":1,\"c\":\"x\\\"y\",\"long name\":null}\n";
        let (found, _, quick) = rows(line.repeat(7).as_bytes(), true);
        assert_eq!((found.len(), quick), (7, 2), "the first row is split alone");
    }

    proptest! {
        #[test]
        fn quick_rows_are_the_rows(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "{\"a\":1}\n", "{\"a\":", "\"c\":", "\"long name\" : ", "\"x\"", "\"x\\\"\"", "-1.5", "null", "[1,{\"a\":\"]\"}]",
                    ",", "}\n", "}", "\n", " ", "{", "\"\\\\\"", "12", "\"unknown\":", "{\"c\":\"é\",\"a\":\"\"}\n",
                ]),
                0..60,
            ),
        ) {
            let text = parts.concat();
            let (quick, slow) = (rows(text.as_bytes(), true), rows(text.as_bytes(), false));
            prop_assert_eq!((quick.0, quick.1), (slow.0, slow.1));
        }
    }
}
