//! How much a rewrite makes out of a query: aliases and WITH items stand for copies of what they mean.
//!
//! Invariant: it is counted while it is made, so nothing of more than [`COPIES_MAX`] elements or [`DEPTH_MAX`] levels
//! ever exists.

use model::ErrorCode;
use sql::{Result, SqlError};

/// Elements that copies add to what is written. Planning takes a tenth of a millisecond for each.
const COPIES_MAX: usize = 20_000;
/// Bytes of long lists of constants that aliases may repeat.
const LIST_BYTES_MAX: usize = 64 << 20;
/// The left side of BETWEEN stands in two comparisons, whose types are found together again and again.
const BETWEEN_COST: usize = 8;
/// Levels of what a query becomes; it is planned, cloned and dropped recursively.
const DEPTH_MAX: usize = 400;
/// Calls with lambdas that are in each other: planning a chain of n takes the third power of n.
const LAMBDAS_MAX: usize = 100;
/// A WITH item that reads another stands this deep in the plan, at least.
const ITEM_LEVELS: usize = 2;
/// What a SELECT takes besides its expressions.
pub(crate) const SELECT_ELEMENTS: usize = 20;

/// Stack that one level needs, and how much is made at once when there is less.
const LEVEL_BYTES: usize = 256 << 10;
const STACK_BYTES: usize = 4 << 20;

#[derive(Default)]
pub(crate) struct Weight {
    /// Elements so far.
    pub(crate) elements: usize,
    copies: usize,
    /// Fewer than [`COPIES_MAX`], if the session wants that.
    copies_max: Option<usize>,
    /// Bytes of lists of constants that stand elsewhere again.
    list_bytes: usize,
    depth: usize,
    /// WITH items that are visible, the innermost last.
    items: Vec<Item>,
    /// Levels of WITH items below the current query.
    below: usize,
    /// WITH items around the current query.
    around: usize,
    /// CASEs with an operand around the current expression.
    operands: usize,
    /// Calls with lambdas around the current expression.
    lambdas: usize,
}

struct Item {
    name: String,
    elements: usize,
    levels: usize,
    is_read: bool,
}

/// Where the count stood before a WITH item.
pub(crate) struct Mark {
    elements: usize,
    below: usize,
}

impl Weight {
    /// `copies_max` copies at most; 0 is [`COPIES_MAX`].
    pub(crate) fn of(copies_max: u64) -> Weight {
        let copies_max = usize::try_from(copies_max).ok().filter(|most| *most > 0);
        Weight { copies_max, ..Weight::default() }
    }

    /// One level deeper.
    pub(crate) fn enter(&mut self) -> Result<()> {
        self.elements += 1;
        self.depth += 1;
        within_levels(self.depth)
    }

    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Something that stood elsewhere stands here again.
    pub(crate) fn copied(&mut self, elements: usize) -> Result<()> {
        self.copies = self.copies.saturating_add(elements);
        let most = self.copies_max.unwrap_or(COPIES_MAX).min(COPIES_MAX);
        if self.copies > most {
            let message = format!(
                "AST is too big: its aliases and WITH items stand for more than {most} elements. Use each less \
                 often, or put them into a subquery in FROM, where a column is computed once"
            );
            return Err(SqlError::new(ErrorCode::TOO_BIG_AST, message));
        }
        Ok(())
    }

    /// A list of constants that stood elsewhere stands here again; it is one element, however long.
    pub(crate) fn copied_list(&mut self, bytes: usize) -> Result<()> {
        self.list_bytes = self.list_bytes.saturating_add(bytes);
        if self.list_bytes > LIST_BYTES_MAX {
            let message = format!(
                "AST is too big: aliases stand for copies of long lists of constants of more than {LIST_BYTES_MAX} bytes. \
                 Put the list, or the condition, into a subquery in FROM, where it is computed once"
            );
            return Err(SqlError::new(ErrorCode::TOO_BIG_AST, message));
        }
        Ok(())
    }

    /// What has been made since there were so many elements stands in both comparisons of a BETWEEN.
    pub(crate) fn compared_twice(&mut self, before: usize) -> Result<()> {
        let elements = self.elements - before;
        self.elements = self.elements.saturating_add(elements);
        // One that is no BETWEEN itself is free.
        if elements < BETWEEN_COST { Ok(()) } else { self.copied(elements.saturating_mul(BETWEEN_COST)) }
    }

    /// Before the query of a WITH item.
    pub(crate) fn begin_item(&mut self) -> Result<Mark> {
        self.around += 1;
        within_doublings(self.around, "WITH items")?;
        Ok(Mark { elements: self.elements, below: std::mem::take(&mut self.below) })
    }

    /// Around a CASE whose operand is compared with several values.
    pub(crate) fn enter_operand(&mut self) -> Result<()> {
        self.operands += 1;
        within_doublings(self.operands, "CASEs with an operand")
    }

    pub(crate) fn leave_operand(&mut self) {
        self.operands -= 1;
    }

    /// Around a call with a lambda, whose type is found together with those of all in it, again for each above it.
    pub(crate) fn enter_lambda(&mut self) -> Result<()> {
        self.lambdas += 1;
        if self.lambdas <= LAMBDAS_MAX {
            return Ok(());
        }
        let message =
            format!("functions with lambdas are nested deeper than {LAMBDAS_MAX} levels in each other");
        Err(SqlError::new(ErrorCode::TOO_DEEP_RECURSION, message))
    }

    pub(crate) fn leave_lambda(&mut self) {
        self.lambdas -= 1;
    }

    /// Behind it: the item is visible.
    pub(crate) fn end_item(&mut self, name: &str, mark: &Mark) -> Result<()> {
        self.around -= 1;
        let levels = self.below + ITEM_LEVELS;
        within_levels(levels)?;
        self.below = self.below.max(mark.below);
        let elements = self.elements - mark.elements;
        self.items.push(Item { name: name.to_owned(), elements, levels, is_read: false });
        Ok(())
    }

    pub(crate) fn visible(&self) -> usize {
        self.items.len()
    }

    /// Behind the query that had items of its own.
    pub(crate) fn forget(&mut self, visible: usize) {
        self.items.truncate(visible);
    }

    /// A table is read, which may be a WITH item.
    pub(crate) fn reads(&mut self, name: &str) -> Result<()> {
        let Some(item) = self.items.iter_mut().rev().find(|item| item.name == name) else { return Ok(()) };
        let (elements, again) = (item.elements, std::mem::replace(&mut item.is_read, true));
        self.below = self.below.max(item.levels);
        self.elements = self.elements.saturating_add(elements);
        if again { self.copied(elements) } else { Ok(()) }
    }
}

fn within_levels(levels: usize) -> Result<()> {
    if levels <= DEPTH_MAX {
        return Ok(());
    }
    let message = format!("aliases or WITH items of the query stand for more than {DEPTH_MAX} nested levels");
    Err(SqlError::new(ErrorCode::TOO_DEEP_RECURSION, message))
}

/// Refuses what the planner looks at twice, of which each half is looked at twice.
fn within_doublings(levels: usize, what: &str) -> Result<()> {
    const DOUBLINGS_MAX: usize = 10;
    if levels <= DOUBLINGS_MAX {
        return Ok(());
    }
    let message = format!(
        "{what} are nested deeper than {DOUBLINGS_MAX} levels in each other: write them beside each other"
    );
    Err(SqlError::new(ErrorCode::TOO_DEEP_RECURSION, message))
}

/// Runs one level of a recursion, on another stack when this one ends.
pub(crate) fn level<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(LEVEL_BYTES, STACK_BYTES, work)
}
