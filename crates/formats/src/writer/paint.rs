//! Lines, corners and colours of tables.

/// How a table is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Grid {
    Full,
    Compact,
    Space,
}

pub(super) const BOLD: &[u8] = b"\x1b[1m";
pub(super) const GREY: &[u8] = b"\x1b[90m";
pub(super) const PLAIN: &[u8] = b"\x1b[0m";
pub(super) const UNDERLINED: &[u8] = b"\x1b[4m";

/// A horizontal line: left end, fill, crossing, right end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) left: &'static str,
    pub(super) fill: &'static str,
    pub(super) cross: &'static str,
    pub(super) right: &'static str,
}

const fn line(left: &'static str, fill: &'static str, cross: &'static str, right: &'static str) -> Line {
    Line { left, fill, cross, right }
}

/// What a table is drawn with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strokes {
    /// Between cells; a blank for tables without lines.
    pub(super) bar: &'static str,
    /// Around the names of a full table.
    pub(super) name_bar: &'static str,
    pub(super) top: Line,
    pub(super) below_names: Line,
    pub(super) between: Line,
    pub(super) bottom: Line,
    pub(super) above_footer: Line,
    pub(super) below_footer: Line,
    /// Repeated where rows are left out.
    pub(super) gap: &'static str,
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
    pub(super) fn of(grid: Grid, ascii: bool) -> Strokes {
        match grid {
            Grid::Space => Strokes { bar: " ", name_bar: " ", ..COMPACT },
            _ if ascii => ASCII,
            Grid::Compact => COMPACT,
            Grid::Full => FULL,
        }
    }
}
