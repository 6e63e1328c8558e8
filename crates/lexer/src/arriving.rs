//! How much of a statement has arrived, when its text comes in pieces and its data may follow.
//!
//! Invariant: text that says `Format` or `Values` says the same with anything behind it, so whoever asks may stop
//! collecting there and hand on the rest unread. Must not know: what carries the pieces.

use crate::scan::{InsertBody, PieceKind, Scanner, insert_body};

/// What the beginning of a text says about the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrived {
    /// More of it decides.
    Undecided,
    /// All of it is the statement.
    Text,
    /// `INSERT .. VALUES`; rows begin at this offset.
    Values { data: usize },
    /// `INSERT .. FORMAT f`: the statement ends at `end`, its data begins at `data`, behind one line end.
    Format { end: usize, data: usize },
}

/// What `text`, the beginning of a statement, says about what follows it.
pub fn arrived(text: &str) -> Arrived {
    let first = Scanner::new(text, 0).find(|piece| piece.kind != PieceKind::Symbol(b';'));
    let Some(first) = first.filter(|piece| piece.end < text.len()) else { return Arrived::Undecided };
    if !text[first.start..first.end].eq_ignore_ascii_case("insert") {
        return Arrived::Text;
    }
    match insert_body(text, first.end) {
        // The word may go on in what comes next.
        Some(InsertBody::Values { data, .. }) if data < text.len() => Arrived::Values { data },
        // So may the name, and the line end that is not data.
        Some(InsertBody::Format { name: (_, end), data, .. })
            if data < text.len() || text[end..].contains('\n') =>
        {
            Arrived::Format { end, data }
        }
        Some(InsertBody::Select { .. }) => Arrived::Text,
        _ => Arrived::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_says_where_its_data_begins_as_soon_as_it_is_certain() {
        use Arrived::{Format, Text, Undecided, Values};
        for (text, expected) in [
            ("", Undecided),
            ("INS", Undecided),
            ("SELECT", Undecided),
            ("SELECT 1", Text),
            (" /* FORMAT */ WITH 1 AS x", Text),
            ("INSERT INTO t", Undecided),
            ("INSERT INTO t (a, b) VALUES", Undecided),
            ("INSERT INTO t (a, b) VALUES ", Values { data: 27 }),
            ("INSERT INTO t VALUES(1)", Values { data: 20 }),
            ("INSERT INTO t FORMAT ", Undecided),
            ("INSERT INTO t FORMAT CSV", Undecided),
            ("INSERT INTO t FORMAT CSV ", Undecided),
            ("INSERT INTO t FORMAT CSV\n", Format { end: 24, data: 25 }),
            ("INSERT INTO t FORMAT CSV \r\n1", Format { end: 24, data: 27 }),
            ("INSERT INTO t FORMAT CSV 1", Format { end: 24, data: 25 }),
            ("INSERT INTO t SETTINGS a = 1 FORMAT Native\n\x01", Format { end: 42, data: 43 }),
            ("INSERT INTO `t FORMAT ", Undecided),
            ("INSERT INTO format FORMAT CSV\n", Format { end: 29, data: 30 }),
            ("INSERT INTO `d`.`t` FORMAT CSV\n", Format { end: 30, data: 31 }),
            ("INSERT INTO t SELECT 1 FORMAT ", Text),
            ("INSERT INTO FUNCTION file('x', CSV, 'a Int8') SELECT ", Text),
        ] {
            assert_eq!(arrived(text), expected, "{text:?}");
        }
    }
}
