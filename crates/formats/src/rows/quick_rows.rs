//! Rows as almost all are, many at once, split by marks.
//!
//! Invariant: every row that is taken has the cells that the format's `SplitRows::row` gives it; a row that is in any way
//! unusual, or cut short, is left to that, with none of its cells. Must not know: formats, errors.

use crate::rows::split::{Room, Taken};
use crate::values::cell::Cell;
use scan::marks::{Lanes, Marked, Marks, Needles, with_lanes};

/// How the usual rows of a format are split. Both are to be inlined always.
pub(crate) trait QuickRow {
    /// Bytes that are found for it.
    fn needles(&self) -> Needles;

    /// Pushes the cells of the row at `at`; gives where the next may start. `None`: it is not a usual one of `width` cells.
    fn row<'a, L: Lanes>(
        &mut self,
        bytes: &'a [u8],
        at: usize,
        width: usize,
        marks: &mut Marks<'a, L>,
        cells: &mut Vec<Cell<'a>>,
    ) -> Option<usize>;
}

/// Usual rows from `at` on, up to the first that is none.
pub(crate) fn quick_rows<'a, R: QuickRow>(
    row: R,
    bytes: &'a [u8],
    at: usize,
    room: Room,
    cells: &mut Vec<Cell<'a>>,
) -> Taken {
    with_lanes(Rows { row, bytes, at, room, cells })
}

struct Rows<'a, 'c, R> {
    row: R,
    bytes: &'a [u8],
    at: usize,
    room: Room,
    cells: &'c mut Vec<Cell<'a>>,
}

impl<R: QuickRow> Marked for Rows<'_, '_, R> {
    type Done = Taken;

    #[inline(always)]
    fn run<L: Lanes>(self) -> Taken {
        let Self { mut row, bytes, at, room, cells } = self;
        let mut marks = Marks::<L>::new(bytes, row.needles());
        let mut taken = Taken { rows: 0, next: at };
        let until = at.saturating_add(room.bytes);
        while taken.rows < room.rows && taken.next < until {
            let first = cells.len();
            match row.row(bytes, taken.next, room.width, &mut marks, cells) {
                Some(next) => taken = Taken { rows: taken.rows + 1, next },
                None => {
                    cells.truncate(first);
                    break;
                }
            }
        }
        taken
    }
}
