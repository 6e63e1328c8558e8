//! Lines, corners and colours of the tables that people read.
//!
//! Invariant: each is one column wide, colours none. Must not know: values.

/// How a table is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grid {
    /// A line around every value.
    Full,
    /// A line around the table and below its names.
    Compact,
    /// Blanks.
    Space,
}

/// What follows is bold.
pub const BOLD: &[u8] = b"\x1b[1m";
/// What follows is grey.
pub const GREY: &[u8] = b"\x1b[90m";
/// The end of every other.
pub const PLAIN: &[u8] = b"\x1b[0m";
/// What follows is underlined.
pub const UNDERLINED: &[u8] = b"\x1b[4m";

/// A horizontal line: left end, fill, crossing, right end.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Its left end.
    pub left: &'static str,
    /// Above and below values.
    pub fill: &'static str,
    /// Between columns.
    pub cross: &'static str,
    /// Its right end.
    pub right: &'static str,
}

const fn line(left: &'static str, fill: &'static str, cross: &'static str, right: &'static str) -> Line {
    Line { left, fill, cross, right }
}

/// What a table is drawn with.
#[derive(Clone, Copy, Debug)]
pub struct Strokes {
    /// Between cells; a blank for tables without lines.
    pub bar: &'static str,
    /// Around the names of a full table.
    pub name_bar: &'static str,
    /// Above the names.
    pub top: Line,
    /// Below them.
    pub below_names: Line,
    /// Between rows.
    pub between: Line,
    /// Below the last row.
    pub bottom: Line,
    /// Above the names that stand below again.
    pub above_footer: Line,
    /// Below those.
    pub below_footer: Line,
    /// Repeated where rows are left out.
    pub gap: &'static str,
}

const ASCII_LINE: Line = line("+", "-", "+", "+");

const ASCII: Strokes = Strokes {
    bar: "|",
    name_bar: "|",
    top: ASCII_LINE,
    below_names: ASCII_LINE,
    between: ASCII_LINE,
    bottom: ASCII_LINE,
    above_footer: ASCII_LINE,
    below_footer: ASCII_LINE,
    gap: "- ",
};

const COMPACT: Strokes = Strokes {
    bar: "│",
    name_bar: "│",
    top: line("┌", "─", "┬", "┐"),
    below_names: line("├", "─", "┼", "┤"),
    between: line("├", "─", "┼", "┤"),
    bottom: line("└", "─", "┴", "┘"),
    above_footer: line("└", "─", "┴", "┘"),
    below_footer: line("└", "─", "┴", "┘"),
    gap: "─ ",
};

const FULL: Strokes = Strokes {
    name_bar: "┃",
    top: line("┏", "━", "┳", "┓"),
    below_names: line("┡", "━", "╇", "┩"),
    above_footer: line("┢", "━", "╈", "┪"),
    below_footer: line("┗", "━", "┻", "┛"),
    ..COMPACT
};

impl Strokes {
    /// What a grid is drawn with, in ASCII where the settings want that.
    pub fn of(grid: Grid, ascii: bool) -> Strokes {
        match grid {
            Grid::Space => Strokes { bar: " ", name_bar: " ", ..COMPACT },
            _ if ascii => ASCII,
            Grid::Compact => COMPACT,
            Grid::Full => FULL,
        }
    }
}
