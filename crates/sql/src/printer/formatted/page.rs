//! Text that grows line by line: where ClickHouse breaks lines, and how far it indents them.
//!
//! Invariant: on one line every break is a space or nothing. Must not know: syntax trees.

use lexer::escape::quote_name;

/// How a query is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// Without line breaks, as in `system.tables.create_table_query`.
    pub on_one_line: bool,
    /// Operators as functions: `plus(a, 1)`.
    pub as_functions: bool,
    /// As ClickHouse's query tree reads it, with what goes without saying: literals with their types, ALL, `system.one`.
    pub as_tree: bool,
    /// Whether INTERSECT, and EXCEPT, is DISTINCT in a tree where nothing is said.
    pub distinct: (bool, bool),
}

impl Layout {
    pub const ON_ONE_LINE: Layout =
        Layout { on_one_line: true, as_functions: false, as_tree: false, distinct: (false, false) };
}

const INDENT: usize = 4;

/// The text of a statement, up to where it is written.
pub(crate) struct Page {
    text: String,
    indent: usize,
    pub(crate) layout: Layout,
}

impl Page {
    pub(crate) fn new(layout: Layout) -> Self {
        Self { text: String::new(), indent: 0, layout }
    }

    pub(crate) fn finished(self) -> String {
        self.text
    }

    pub(crate) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// A name, in backticks where ClickHouse writes them.
    pub(crate) fn name(&mut self, name: &str) {
        self.text.push_str(&quote_name(name));
    }

    /// A new line, or a space.
    pub(crate) fn line(&mut self) {
        match self.layout.on_one_line {
            true => self.text.push(' '),
            false => self.break_line(),
        }
    }

    /// A new line, or nothing.
    pub(crate) fn edge(&mut self) {
        if !self.layout.on_one_line {
            self.break_line();
        }
    }

    fn break_line(&mut self) {
        self.text.push('\n');
        self.text.extend(std::iter::repeat_n(' ', INDENT * self.indent));
    }

    /// What is written inside stands further right by one step.
    pub(crate) fn inside(&mut self, written: impl FnOnce(&mut Self)) {
        self.indent += 1;
        written(self);
        self.indent -= 1;
    }

    /// `(..)` around what is written, if it is wanted.
    pub(crate) fn grouped(&mut self, wanted: bool, written: impl FnOnce(&mut Self)) {
        if wanted {
            self.push("(");
        }
        written(self);
        if wanted {
            self.push(")");
        }
    }

    /// `a, b, c`.
    pub(crate) fn separated<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut written: impl FnMut(&mut Self, T),
    ) {
        for (at, item) in items.into_iter().enumerate() {
            if at > 0 {
                self.push(", ");
            }
            written(self, item);
        }
    }

    /// One item behind a word, several on lines of their own.
    pub(crate) fn listed<T>(
        &mut self,
        items: impl ExactSizeIterator<Item = T>,
        mut written: impl FnMut(&mut Self, T),
    ) {
        let several = items.len() > 1;
        self.inside(|page| {
            for (at, item) in items.enumerate() {
                if at > 0 {
                    page.push(",");
                }
                if several {
                    page.line()
                } else {
                    page.push(" ")
                }
                written(page, item);
            }
        });
    }
}
