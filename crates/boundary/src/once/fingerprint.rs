//! What a statement is recognised by when it comes again: a hash of its text and data, or of its rows.
//!
//! Both are XXH3 of 128 bits and are kept in the log, so their layout does not change: a repetition must be
//! recognised by the next version, too. Invariant: space and comments do not matter, nor settings that do not decide
//! rows, nor how a body was cut into pieces; for rows, neither order, batches nor threads matter, but how often each
//! row comes does.

use arrow::array::RecordBatch;
use arrow::row::{RowConverter, SortField};
use model::TableId;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::error::Error;

/// Stands first in every hash of a statement.
const LAYOUT: &[u8] = b"gristmill statement 1";

/// The hash of a statement while its bytes arrive.
pub struct StatementHash {
    hash: Xxh3,
}

impl StatementHash {
    /// A table made anew under an old name is another target: what the old one had loaded is gone.
    pub fn new(target: TableId, columns: Option<&[String]>) -> StatementHash {
        let mut hash = StatementHash { hash: Xxh3::new() };
        hash.piece(LAYOUT);
        hash.piece(target.as_bytes());
        hash.number(columns.map_or(u64::MAX, |columns| columns.len() as u64));
        for column in columns.unwrap_or_default() {
            hash.piece(column.as_bytes());
        }
        hash
    }

    /// With its length, so that no two lists of pieces are the same bytes.
    pub fn piece(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.hash.update(bytes);
    }

    /// A text without its space and comments.
    pub fn text(&mut self, text: &str) {
        for lexeme in sql::lexemes(text) {
            self.piece(lexeme.as_bytes());
        }
    }

    /// Data as it comes. Last, and without lengths: its pieces are cut by chance.
    pub fn data(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
    }

    fn number(&mut self, number: u64) {
        self.hash.update(&number.to_le_bytes());
    }

    pub fn digest(&self) -> u128 {
        self.hash.digest128()
    }
}

/// A user's token as the catalog keeps it.
pub fn of_token(token: &str) -> u128 {
    xxh3_128(&[b"token ", token.as_bytes()].concat())
}

/// The hash of rows while they are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RowsHash {
    /// Of the hashes of the rows: a sum does not depend on their order.
    sum: u128,
    rows: u64,
}

impl RowsHash {
    /// Of one batch of the table's columns.
    pub fn of(batch: &RecordBatch) -> Result<RowsHash, Error> {
        let mut hash = RowsHash { sum: 0, rows: batch.num_rows() as u64 };
        let fields =
            batch.schema().fields().iter().map(|field| SortField::new(field.data_type().clone())).collect();
        let converter = RowConverter::new(fields).map_err(|e| Error::internal(e.to_string()))?;
        let rows = converter.convert_columns(batch.columns()).map_err(|e| Error::internal(e.to_string()))?;
        for row in rows.iter() {
            hash.sum = hash.sum.wrapping_add(xxh3_128(row.data()));
        }
        Ok(hash)
    }

    pub fn add(&mut self, other: RowsHash) {
        self.sum = self.sum.wrapping_add(other.sum);
        self.rows += other.rows;
    }

    /// `None` without rows: nothing is not a repetition of nothing.
    pub fn digest(&self) -> Option<u128> {
        let all = [b"rows ".as_slice(), &self.rows.to_le_bytes(), &self.sum.to_le_bytes()].concat();
        (self.rows > 0).then(|| xxh3_128(&all))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, StringViewArray};

    use super::*;

    fn of_text(text: &str) -> u128 {
        let mut hash = StatementHash::new(TableId::from_bytes([1; 16]), None);
        hash.text(text);
        hash.digest()
    }

    #[test]
    fn space_and_comments_do_not_make_another_statement() {
        let first = of_text("(1, 'a'), (2, 'b')");
        assert_eq!(of_text("( 1,'a') /* x */ ,\n (2, 'b') -- y"), first);
        for other in ["(1, 'a'), (2, 'c')", "(1, 'a '), (2, 'b')", "(1, 'a')", "(12, 'a'), ('b')", ""] {
            assert_ne!(of_text(other), first, "{other}");
        }
    }

    #[test]
    fn target_and_columns_make_another_statement() {
        let of = |table: u8, columns: Option<&[String]>| {
            StatementHash::new(TableId::from_bytes([table; 16]), columns).digest()
        };
        let names = ["a".to_owned(), "b".to_owned()];
        let all = [of(1, None), of(2, None), of(1, Some(&[])), of(1, Some(&names)), of(1, Some(&names[..1]))];
        for (i, one) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|other| other != one), "{i}");
        }
    }

    #[test]
    fn a_body_may_come_in_any_pieces() {
        let of = |pieces: &[&str]| {
            let mut hash = StatementHash::new(TableId::from_bytes([1; 16]), None);
            pieces.iter().for_each(|piece| hash.data(piece.as_bytes()));
            hash.digest()
        };
        assert_eq!(of(&["1,2\n", "3,4\n"]), of(&["1", ",2\n3,", "", "4\n"]));
        assert_ne!(of(&["1,2\n"]), of(&["1,2\n", "3,4\n"]));
    }

    fn rows(numbers: &[i64], texts: &[Option<&str>]) -> RowsHash {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("n", Arc::new(Int64Array::from(numbers.to_vec()))),
            ("t", Arc::new(texts.iter().copied().collect::<StringViewArray>())),
        ];
        RowsHash::of(
            &RecordBatch::try_from_iter_with_nullable(
                columns.into_iter().map(|(name, array)| (name, array, true)),
            )
            .unwrap(),
        )
        .unwrap()
    }

    #[test]
    fn rows_may_come_in_any_order_and_any_batches() {
        let all = rows(&[1, 2, 3], &[Some("a"), None, Some("")]);
        assert_eq!(rows(&[3, 1, 2], &[Some(""), Some("a"), None]), all);
        let mut pieces = rows(&[2], &[None]);
        pieces.add(rows(&[], &[]));
        pieces.add(rows(&[1, 3], &[Some("a"), Some("")]));
        assert_eq!(pieces.digest(), all.digest());
        assert_eq!(rows(&[], &[]).digest(), None);
    }

    #[test]
    fn every_row_counts_as_often_as_it_comes() {
        let once = rows(&[1], &[Some("a")]).digest();
        assert_ne!(rows(&[1, 1], &[Some("a"), Some("a")]).digest(), once);
        assert_ne!(rows(&[1], &[None]).digest(), once);
        assert_ne!(rows(&[2], &[Some("a")]).digest(), once);
        assert_ne!(of_token("a"), of_token("b"));
    }
}
