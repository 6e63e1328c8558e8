//! Pretty, PrettyCompact and PrettySpace: tables for people.
//!
//! Invariant: all rows of a statement make one table; of more than `pretty_rows_max` rows the first and the last half
//! are shown. At most that many rows, and one batch more, are kept in memory.

use std::collections::VecDeque;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::vertical::VerticalWriter;
use super::{Columns, OutputStats, RowWriter};
use crate::columns::text::Style;
use crate::error::FormatError;
use crate::settings::FormatSettings;
use model::raw_text;
use model::value::in_words::tip;
use model::value::strokes::{BOLD, GREY, Grid, Line, PLAIN, Strokes, UNDERLINED};
use model::value::width::{cut, display_width};

pub(super) struct PrettyWriter {
    grid: Grid,
    settings: FormatSettings,
    schema: Option<SchemaRef>,
    head: Vec<RecordBatch>,
    head_rows: usize,
    tail: VecDeque<RecordBatch>,
    tail_rows: usize,
    rows: usize,
}

impl PrettyWriter {
    pub(super) fn new(grid: Grid, settings: FormatSettings) -> Self {
        Self {
            grid,
            settings,
            schema: None,
            head: Vec::new(),
            head_rows: 0,
            tail: VecDeque::new(),
            tail_rows: 0,
            rows: 0,
        }
    }
}

impl RowWriter for PrettyWriter {
    fn start(&mut self, schema: &SchemaRef, _: &mut Vec<u8>) -> Result<(), FormatError> {
        self.schema = Some(SchemaRef::clone(schema));
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, _: &mut Vec<u8>) -> Result<(), FormatError> {
        self.rows += batch.num_rows();
        let fits = self.settings.pretty_rows_max.saturating_sub(self.head_rows).min(batch.num_rows());
        if fits > 0 {
            self.head.push(batch.slice(0, fits));
            self.head_rows += fits;
        }
        if fits == batch.num_rows() {
            return Ok(());
        }
        self.tail.push_back(batch.slice(fits, batch.num_rows() - fits));
        self.tail_rows += batch.num_rows() - fits;
        let wanted = self.settings.pretty_rows_max / 2;
        while let Some(first) = self.tail.front()
            && self.tail_rows - first.num_rows() >= wanted
        {
            self.tail_rows -= first.num_rows();
            self.tail.pop_front();
        }
        Ok(())
    }

    fn finish(&mut self, stats: &OutputStats, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let Some(schema) = self.schema.take() else { return Ok(()) };
        if self.rows == 0 {
            return Ok(());
        }
        let columns = Columns::of(&schema);
        let shown = self.shown();
        let mut table = Table::new(&columns, &self.settings, self.grid, self.rows);
        for batch in &shown {
            table.add(batch)?;
        }
        table.measure();
        if table.is_too_wide() {
            let mut vertical = VerticalWriter::instead_of_table(&self.settings);
            vertical.start(&schema, out)?;
            for batch in &shown {
                vertical.write(batch, out)?;
            }
            return vertical.finish(stats, out);
        }
        table.draw(out);
        Ok(())
    }
}

impl PrettyWriter {
    /// The rows to be drawn: all, or the first half and the last half of the most that may be.
    fn shown(&mut self) -> Vec<RecordBatch> {
        let mut shown = std::mem::take(&mut self.head);
        let max = self.settings.pretty_rows_max;
        if self.rows <= max {
            return shown;
        }
        // Everything kept, of which the first (max + 1) / 2 and the last max / 2 rows are taken.
        let kept_rows = self.head_rows + self.tail_rows;
        shown.extend(self.tail.drain(..));
        let (first, last) = (max.div_ceil(2), kept_rows - max / 2);
        let mut at = 0;
        let mut parts = Vec::new();
        for batch in shown {
            let end = at + batch.num_rows();
            for (from, to) in [(at, end.min(first)), (at.max(last).max(first), end)] {
                if from < to {
                    parts.push(batch.slice(from - at, to - from));
                }
            }
            at = end;
        }
        parts
    }
}

/// One value, split into lines.
struct Shown {
    lines: Vec<String>,
    is_cut: bool,
}

struct Table<'t> {
    columns: &'t Columns,
    settings: &'t FormatSettings,
    grid: Grid,
    strokes: Strokes,
    right: Vec<bool>,
    rows: Vec<Vec<Shown>>,
    notes: Vec<Option<String>>,
    rows_total: usize,
    widths: Vec<usize>,
    /// Columns the row numbers take, dot and blank included; 0 without them.
    number_width: usize,
}

impl<'t> Table<'t> {
    fn new(columns: &'t Columns, settings: &'t FormatSettings, grid: Grid, rows_total: usize) -> Self {
        let number_width = if settings.pretty_row_numbers { rows_total.to_string().len() + 2 } else { 0 };
        Self {
            columns,
            settings,
            grid,
            strokes: Strokes::of(grid, settings.pretty_ascii),
            right: columns.right_aligned(),
            rows: Vec::new(),
            notes: Vec::new(),
            rows_total,
            widths: Vec::new(),
            number_width,
        }
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<(), FormatError> {
        let mut columns = self.columns.open_for_table(batch, self.settings)?;
        for row in 0..batch.num_rows() {
            let mut note = None;
            let mut cells = Vec::with_capacity(columns.len());
            for (column, column_type) in columns.iter_mut().zip(&self.columns.types) {
                let mut text = Vec::new();
                match column.is_null(row) && self.settings.pretty_ascii {
                    true => text.extend_from_slice(b"NULL"),
                    false => column.write(row, Style::Plain, &mut text),
                }
                note = tip(&text, column_type, self.settings.pretty_single_number_tip);
                let text = raw_text::carry(&text);
                cells.push(Shown { lines: text.split('\n').map(str::to_owned).collect(), is_cut: false });
            }
            self.rows.push(cells);
            // Only behind the last column is there room for a note.
            self.notes.push(note);
        }
        Ok(())
    }

    /// Terminal column of the first cell's text.
    fn first_start(&self) -> usize {
        self.number_width + if self.grid == Grid::Space { 1 } else { 2 }
    }

    /// Finds the widths and cuts what is too wide.
    fn measure(&mut self) {
        let single = self.rows_total == 1 && self.columns.names.len() == 1;
        let value_max = if single { usize::MAX } else { self.settings.pretty_value_width_max };
        let mut start = self.first_start();
        for (at, name) in self.columns.names.iter().enumerate() {
            let mut widest = display_width(name, 0);
            for row in &mut self.rows {
                let cell = &mut row[at];
                for line in &mut cell.lines {
                    let mut width = display_width(line, start);
                    if width > value_max {
                        let kept = cut(line, start, value_max).len();
                        line.truncate(kept);
                        width = display_width(line, start);
                        cell.is_cut = true;
                    }
                    widest = widest.max(width);
                }
            }
            let width = widest.min(self.settings.pretty_pad_width_max).max(1);
            self.widths.push(width);
            start += width + 3;
        }
    }

    /// Few rows with many columns that are wide, or have values of several lines, are shown one value per line instead.
    fn is_too_wide(&self) -> bool {
        const ROWS_MAX: usize = 10;
        const COLUMNS_MIN: usize = 5;
        const WIDTH_MIN: usize = 250;
        let width: usize = self.widths.iter().map(|width| width + 3).sum();
        self.settings.pretty_fallback_to_vertical
            && self.rows_total <= ROWS_MAX
            && self.widths.len() >= COLUMNS_MIN
            && (width >= WIDTH_MIN || self.rows.iter().flatten().any(|cell| cell.lines.len() > 1))
    }

    fn draw(&self, out: &mut Vec<u8>) {
        self.head(out);
        let first_half = self.settings.pretty_rows_max.div_ceil(2);
        let has_gap = self.rows_total > self.rows.len();
        for (at, row) in self.rows.iter().enumerate() {
            let gap = has_gap && at == first_half;
            if at > 0 && self.grid == Grid::Full {
                self.line(self.strokes.between, out);
            }
            if gap {
                self.gap(out);
            }
            let number =
                if has_gap && at >= first_half { at + self.rows_total - self.rows.len() } else { at };
            self.row(number + 1, row, self.notes[at].as_deref(), out);
        }
        self.foot(out);
        if self.rows_total >= self.settings.pretty_rows_max {
            if self.grid == Grid::Space {
                out.push(b'\n');
            }
            let message = format!("Showed {} out of {} rows.\n", self.rows.len(), self.rows_total);
            out.extend_from_slice(message.as_bytes());
        }
    }

    fn head(&self, out: &mut Vec<u8>) {
        match self.grid {
            Grid::Compact => self.names_in_line(self.strokes.top, out),
            Grid::Full => {
                self.line(self.strokes.top, out);
                self.names(self.strokes.name_bar, out);
                self.line(self.strokes.below_names, out);
            }
            Grid::Space => {
                self.names(self.strokes.name_bar, out);
                out.push(b'\n');
            }
        }
    }

    fn foot(&self, out: &mut Vec<u8>) {
        let named = self.rows_total >= self.settings.pretty_footer_rows_min;
        match self.grid {
            Grid::Compact if named => self.names_in_line(self.strokes.bottom, out),
            Grid::Compact => self.line(self.strokes.bottom, out),
            Grid::Full if named => {
                self.line(self.strokes.above_footer, out);
                self.names(self.strokes.name_bar, out);
                self.line(self.strokes.below_footer, out);
            }
            Grid::Full => self.line(self.strokes.bottom, out),
            Grid::Space if named => {
                out.push(b'\n');
                self.names(self.strokes.name_bar, out);
                out.push(b'\n');
            }
            Grid::Space => {}
        }
    }

    fn indent(&self, out: &mut Vec<u8>) {
        out.resize(out.len() + self.number_width, b' ');
    }

    fn line(&self, line: Line, out: &mut Vec<u8>) {
        self.indent(out);
        for (at, width) in self.widths.iter().enumerate() {
            out.extend_from_slice(if at == 0 { line.left } else { line.cross }.as_bytes());
            out.extend_from_slice(line.fill.repeat(width + 2).as_bytes());
        }
        out.extend_from_slice(line.right.as_bytes());
        out.push(b'\n');
    }

    /// `─ ─ ─` over the width of the table.
    fn gap(&self, out: &mut Vec<u8>) {
        self.indent(out);
        let width: usize = self.widths.iter().map(|width| width + 3).sum::<usize>() + 1;
        out.extend_from_slice(self.strokes.gap.repeat(width.div_ceil(2)).as_bytes());
        out.push(b'\n');
    }

    fn name(&self, at: usize, out: &mut Vec<u8>) {
        let (before, after): (&[u8], &[u8]) =
            if self.settings.has_color() { (BOLD, PLAIN) } else { (b"", b"") };
        out.extend_from_slice(before);
        out.extend_from_slice(self.columns.names[at].as_bytes());
        out.extend_from_slice(after);
    }

    /// Blank or stroke to fill up a name that is narrower than its column.
    fn name_padding(&self, at: usize) -> usize {
        self.widths[at].saturating_sub(display_width(&self.columns.names[at], 0))
    }

    /// `┌─a─┬─b─┐`
    fn names_in_line(&self, line: Line, out: &mut Vec<u8>) {
        self.indent(out);
        for at in 0..self.widths.len() {
            out.extend_from_slice(if at == 0 { line.left } else { line.cross }.as_bytes());
            out.extend_from_slice(line.fill.as_bytes());
            let padding = line.fill.repeat(self.name_padding(at));
            if self.right[at] {
                out.extend_from_slice(padding.as_bytes());
            }
            self.name(at, out);
            if !self.right[at] {
                out.extend_from_slice(padding.as_bytes());
            }
            out.extend_from_slice(line.fill.as_bytes());
        }
        out.extend_from_slice(line.right.as_bytes());
        out.push(b'\n');
    }

    /// `┃ a ┃ b ┃`, or names alone in a table without lines.
    fn names(&self, bar: &str, out: &mut Vec<u8>) {
        self.indent(out);
        for at in 0..self.widths.len() {
            if at > 0 || self.grid != Grid::Space {
                out.extend_from_slice(bar.as_bytes());
            }
            out.push(b' ');
            let padding = self.name_padding(at);
            if self.right[at] {
                out.resize(out.len() + padding, b' ');
            }
            self.name(at, out);
            let last_of_space = self.grid == Grid::Space && at + 1 == self.widths.len();
            if !self.right[at] {
                out.resize(out.len() + padding, b' ');
            }
            if !last_of_space {
                out.push(b' ');
            }
        }
        if self.grid != Grid::Space {
            out.extend_from_slice(bar.as_bytes());
        }
        out.push(b'\n');
    }

    fn row(&self, number: usize, cells: &[Shown], note: Option<&str>, out: &mut Vec<u8>) {
        let lines = cells.iter().map(|cell| cell.lines.len()).max().unwrap_or(1);
        for line in 0..lines {
            self.row_number(number, line, out);
            for (at, cell) in cells.iter().enumerate() {
                if at > 0 || self.grid != Grid::Space {
                    out.extend_from_slice(self.strokes.bar.as_bytes());
                }
                self.cell(at, cell, line, out);
            }
            if self.grid != Grid::Space {
                out.extend_from_slice(self.strokes.bar.as_bytes());
            }
            if let Some(note) = note
                && line == 0
            {
                self.grey(note, out);
            }
            out.push(b'\n');
        }
    }

    fn grey(&self, text: &str, out: &mut Vec<u8>) {
        let (before, after): (&[u8], &[u8]) =
            if self.settings.has_color() { (GREY, PLAIN) } else { (b"", b"") };
        out.extend_from_slice(before);
        out.extend_from_slice(text.as_bytes());
        out.extend_from_slice(after);
    }

    fn row_number(&self, number: usize, line: usize, out: &mut Vec<u8>) {
        match line {
            0 if self.number_width > 0 => {
                self.grey(&format!("{:>width$}", format!("{number}. "), width = self.number_width), out);
            }
            _ => self.indent(out),
        }
    }

    fn cell(&self, at: usize, cell: &Shown, line: usize, out: &mut Vec<u8>) {
        let text = cell.lines.get(line).map_or("", String::as_str);
        let continued = line > 0 && line < cell.lines.len();
        let goes_on = line + 1 < cell.lines.len();
        let start = self.first_start() + self.widths[..at].iter().map(|width| width + 3).sum::<usize>();
        let padding = self.widths[at].saturating_sub(display_width(text, start));
        out.extend_from_slice(if continued { "↳" } else { " " }.as_bytes());
        if self.right[at] {
            out.resize(out.len() + padding, b' ');
        }
        if self.settings.has_color() && self.columns.types[at].is_number() {
            self.digits(text, out);
        } else {
            out.extend_from_slice(&raw_text::bytes(text));
        }
        if !self.right[at] {
            out.resize(out.len() + padding, b' ');
        }
        let end = if goes_on {
            "↴"
        } else if cell.is_cut {
            "⋯"
        } else {
            " "
        };
        out.extend_from_slice(end.as_bytes());
    }

    /// A number whose groups of three digits are told apart by an underline.
    fn digits(&self, text: &str, out: &mut Vec<u8>) {
        let whole = text.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
        for (at, byte) in text.bytes().enumerate() {
            let left = whole.saturating_sub(at + 1);
            let marked =
                at < whole && byte.is_ascii_digit() && left > 0 && left.is_multiple_of(3) && whole > 4;
            if marked {
                out.extend_from_slice(UNDERLINED);
            }
            out.push(byte);
            if marked {
                out.extend_from_slice(PLAIN);
            }
        }
    }
}
