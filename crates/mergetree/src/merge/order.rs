//! The order of the rows of several sorted inputs, as runs: so many rows of this input, then so many of that.
//!
//! A binary heap holds the inputs by their next key. The input on top gives rows as long as they come before the next
//! key of its closest rival, found by doubling steps, so inputs that hardly overlap cost a few comparisons per batch.
//! Without a key the inputs simply follow each other. Invariant: stable. Rows with equal keys come in the order of the
//! inputs, and within an input as they stand. An input that is not in order is an error, never a wrong result.
//! Must not know: what columns besides those of the key mean.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::row::Rows;
use model::saturating::usize_of;
use model::table_def::column_id_of;
use parts::PartReader;
use parts::sorted::{KeyRows, run_length};

use super::rows::{InputRows, SortedRows};
use crate::error::TableError;
use crate::table::Table;

/// The next rows of the result: `rows` rows of an input, from where the run before it on that input ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    pub(crate) input: usize,
    pub(crate) rows: u64,
}

pub(crate) struct MergeOrder {
    /// `None` if the table has no sort key.
    keys: Option<KeyRows>,
    heads: Vec<Head>,
    /// Inputs that have rows left; every one comes before its two children at `2i + 1` and `2i + 2`.
    heap: Vec<usize>,
    /// Without a key: the input whose turn it is.
    following: usize,
    /// Whether somebody looks at more than keys.
    keeps_batches: bool,
}

/// The current batch of an input.
pub(crate) struct HeadRows<'a> {
    pub(crate) batch: &'a RecordBatch,
    pub(crate) keys: &'a Rows,
    /// The next row of it.
    pub(crate) at: usize,
    /// Rows of the batches before it.
    pub(crate) passed: u64,
}

/// Where one input stands.
struct Head {
    /// The columns of the key, and others of which somebody asks.
    batches: SortedRows,
    /// The current batch, if somebody looks at more than its keys.
    batch: Option<RecordBatch>,
    /// Keys of the current batch.
    rows: Option<Rows>,
    at: usize,
    /// Rows of the batches before it.
    passed: u64,
    /// The first bytes of the key at `at`: most comparisons need no more. Padding with zeros never changes an order, as
    /// no key is the beginning of another.
    prefix: u128,
}

impl Head {
    fn key(&self) -> &[u8] {
        self.key_at(self.at)
    }

    fn key_at(&self, row: usize) -> &[u8] {
        match &self.rows {
            Some(rows) if row < rows.num_rows() => rows.row(row).data(),
            _ => &[],
        }
    }

    fn left(&self) -> usize {
        self.rows.as_ref().map_or(0, Rows::num_rows) - self.at
    }

    fn move_to(&mut self, row: usize) {
        self.at = row;
        let key = self.key();
        let mut prefix = [0; 16];
        let held = key.len().min(prefix.len());
        prefix[..held].copy_from_slice(&key[..held]);
        self.prefix = u128::from_be_bytes(prefix);
    }
}

impl MergeOrder {
    /// `inputs` are in the order in which equal keys shall come.
    ///
    /// # Errors
    /// The first rows cannot be read, or are not in order.
    pub(crate) fn new(
        table: &Table,
        inputs: &[PartReader],
        batch_rows: usize,
    ) -> Result<MergeOrder, TableError> {
        let keys = (!table.keys.sort.is_empty()).then(|| KeyRows::new(&table.keys.sort));
        let schema = key_schema(&table.def.arrow_schema(), keys.as_ref());
        let rows_of = |reader: &PartReader| {
            let columns = (&schema, &table.keys.evolution);
            SortedRows::Part(Box::new(InputRows::new(reader, 0..reader.rows(), columns, batch_rows)))
        };
        MergeOrder::of_rows(keys, inputs.iter().map(rows_of).collect(), false)
    }

    /// Of rows that have the columns of the key.
    ///
    /// # Errors
    /// As [`MergeOrder::new`].
    pub(crate) fn of_rows(
        keys: Option<KeyRows>,
        inputs: Vec<SortedRows>,
        keeps_batches: bool,
    ) -> Result<MergeOrder, TableError> {
        let mut order = MergeOrder { keys, heads: Vec::new(), heap: Vec::new(), following: 0, keeps_batches };
        for (input, batches) in inputs.into_iter().enumerate() {
            order.heads.push(Head { batches, batch: None, rows: None, at: 0, passed: 0, prefix: 0 });
            if order.keys.is_some() && order.load(input)? {
                order.heap.push(input);
            }
        }
        for position in (0..order.heap.len() / 2).rev() {
            order.sift_down(position);
        }
        Ok(order)
    }

    /// The input the next run is of.
    pub(crate) fn next_input(&self) -> Option<usize> {
        match self.keys {
            Some(_) => self.heap.first().copied(),
            None => (self.following..self.heads.len()).find(|input| self.heads[*input].batches.left() > 0),
        }
    }

    /// The next run, of at most `rows_max` rows; `None` when all inputs are at their ends.
    ///
    /// # Errors
    /// The next rows of an input cannot be read, or are not in order.
    pub(crate) fn next_run(&mut self, rows_max: u64) -> Result<Option<Run>, TableError> {
        if self.keys.is_none() {
            return Ok(self.next_following(rows_max));
        }
        let run = self.coming(usize_of(rows_max));
        if let Some(run) = run {
            self.pass(run)?;
        }
        Ok(run)
    }

    /// The run that is next, of at most `rows_max` rows, with a key.
    pub(crate) fn coming(&self, rows_max: usize) -> Option<Run> {
        let input = self.heap.first().copied()?;
        let limit = self.heads[input].left().min(rows_max).max(1);
        let rows = match self.rival() {
            Some(rival) => self.rows_before(input, rival, limit),
            None => limit,
        };
        Some(Run { input, rows: rows as u64 })
    }

    /// Goes behind the run that was [`MergeOrder::coming`].
    ///
    /// # Errors
    /// As [`MergeOrder::next_run`].
    pub(crate) fn pass(&mut self, run: Run) -> Result<(), TableError> {
        let head = &mut self.heads[run.input];
        head.move_to(head.at + usize_of(run.rows));
        if head.left() == 0 && !self.load(run.input)? {
            self.heap.swap_remove(0);
        }
        self.sift_down(0);
        Ok(())
    }

    /// Where an input stands that has rows.
    pub(crate) fn head(&self, input: usize) -> Option<HeadRows<'_>> {
        let head = &self.heads[input];
        Some(HeadRows {
            batch: head.batch.as_ref()?,
            keys: head.rows.as_ref()?,
            at: head.at,
            passed: head.passed,
        })
    }

    /// The next run without a key.
    fn next_following(&mut self, rows_max: u64) -> Option<Run> {
        let input = self.next_input()?;
        self.following = input;
        Some(Run { input, rows: self.heads[input].batches.pass(rows_max) })
    }

    /// The input that would be next if the one on top had no rows.
    fn rival(&self) -> Option<usize> {
        let (left, right) = (self.heap.get(1).copied()?, self.heap.get(2).copied());
        Some(right.filter(|right| self.is_before(*right, left)).unwrap_or(left))
    }

    /// How many rows of `input` come before the next one of `rival`; the first does. At most `limit`.
    fn rows_before(&self, input: usize, rival: usize, limit: usize) -> usize {
        let (head, bound) = (&self.heads[input], self.heads[rival].key());
        let is_before = |row: usize| match head.key_at(head.at + row).cmp(bound) {
            Ordering::Less => true,
            Ordering::Equal => input < rival,
            Ordering::Greater => false,
        };
        run_length(limit, is_before)
    }

    fn is_before(&self, a: usize, b: usize) -> bool {
        let (one, two) = (&self.heads[a], &self.heads[b]);
        let by_key = one.prefix.cmp(&two.prefix).then_with(|| one.key().cmp(two.key()));
        by_key.then(a.cmp(&b)).is_lt()
    }

    fn sift_down(&mut self, mut position: usize) {
        loop {
            let (left, right) = (2 * position + 1, 2 * position + 2);
            if left >= self.heap.len() {
                return;
            }
            let right_first = right < self.heap.len() && self.is_before(self.heap[right], self.heap[left]);
            let first = if right_first { right } else { left };
            if !self.is_before(self.heap[first], self.heap[position]) {
                return;
            }
            self.heap.swap(position, first);
            position = first;
        }
    }

    /// Goes to the next batch that has rows; false if there is none.
    fn load(&mut self, input: usize) -> Result<bool, TableError> {
        let (head, Some(keys)) = (&mut self.heads[input], self.keys.as_mut()) else { return Ok(false) };
        head.passed += head.rows.as_ref().map_or(0, |rows| rows.num_rows() as u64);
        let Some(batch) = head.batches.next()? else {
            (head.batch, head.rows, head.at) = (None, None, 0);
            return Ok(false);
        };
        let arrays = keys.arrays(&batch)?;
        let rows = keys.rows(&arrays)?;
        let last = head.rows.as_ref().and_then(|rows| Some(rows.row(rows.num_rows().checked_sub(1)?)));
        let falls = (1..rows.num_rows()).any(|row| rows.row(row - 1) > rows.row(row));
        if falls || last.is_some_and(|last| last > rows.row(0)) {
            return Err(head.batches.damaged(&format!("its rows are not in the order of {}", keys.text())));
        }
        (head.batch, head.rows) = (Some(batch).filter(|_| self.keeps_batches), Some(rows));
        head.move_to(0);
        Ok(true)
    }
}

/// The columns of `schema` the key is computed from.
fn key_schema(schema: &SchemaRef, keys: Option<&KeyRows>) -> SchemaRef {
    let columns = keys.map(KeyRows::columns).unwrap_or_default();
    let fields =
        schema.fields().iter().filter(|field| column_id_of(field).is_some_and(|id| columns.contains(&id)));
    Arc::new(Schema::new(fields.cloned().collect::<Vec<_>>()))
}
