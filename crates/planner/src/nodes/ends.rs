//! LIMIT and OFFSET that count from the end (`LIMIT -3`) or take a share of all rows (`OFFSET 0.5`).
//!
//! Invariant: rows keep their order, and which ones pass depends on how many there are. Must not know: how rows are kept.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use datafusion::common::{DFSchemaRef, Result, ScalarValue, internal_err};
use datafusion::logical_expr::{Expr, Extension, Limit, LogicalPlan, UserDefinedLogicalNodeCore, lit};
use functions::FunctionError;
use model::ErrorCode;

use super::needed;
use aggregates::typing::external;

/// A number of rows, as LIMIT or OFFSET says it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Debug)]
pub enum Count {
    /// From the first row on.
    First(u64),
    /// Up to the last row.
    Last(u64),
    /// A share of all rows between 0 and 1, rounded up to a row: the bits of a Float64.
    Share(u64),
}

impl Count {
    /// The number that is written; `None` where it is none of a row count's.
    fn of(expr: &Expr) -> Option<Count> {
        match expr {
            Expr::Literal(ScalarValue::Int64(Some(number)), _) => Some(match u64::try_from(*number) {
                Ok(number) => Count::First(number),
                Err(_) => Count::Last(number.unsigned_abs()),
            }),
            Expr::Literal(ScalarValue::UInt64(Some(number)), _) => Some(Count::First(*number)),
            Expr::Literal(ScalarValue::Float64(Some(number)), _) => match *number {
                share if 0.0 < share && share < 1.0 => Some(Count::Share(share.to_bits())),
                whole if whole >= 0.0 && whole.fract() == 0.0 => Some(Count::First(whole_rows(whole))),
                _ => None,
            },
            _ => None,
        }
    }

    fn rows_of(self, total: u64) -> u64 {
        match self {
            Count::First(rows) | Count::Last(rows) => rows,
            Count::Share(bits) => whole_rows((f64::from_bits(bits) * total as f64).ceil()),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a whole number that is not below 0"
)]
fn whole_rows(number: f64) -> u64 {
    number as u64
}

/// See the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Ends {
    pub skip: Count,
    pub fetch: Option<Count>,
    input: LogicalPlan,
}

impl Ends {
    /// What this LIMIT means; a plain one stays what it is.
    ///
    /// # Errors
    /// ClickHouse does not join one kind of count with the other.
    pub fn planned(limit: Limit) -> Result<LogicalPlan> {
        let skip = limit.skip.as_deref().map_or(Some(Count::First(0)), Count::of);
        let fetch = limit.fetch.as_deref().map_or(Some(None), |fetch| Count::of(fetch).map(Some));
        let (Some(skip), Some(fetch)) = (skip, fetch) else { return Ok(LogicalPlan::Limit(limit)) };
        let refused = match (fetch, skip) {
            (None | Some(Count::First(_)), Count::First(_)) => return Ok(plain(limit, fetch, skip)),
            (Some(Count::Last(_)), Count::Share(_)) => "a negative LIMIT with a fractional OFFSET",
            (Some(Count::Share(_)), Count::Last(_)) => "a fractional LIMIT with a negative OFFSET",
            _ => {
                let input = Arc::unwrap_or_clone(limit.input);
                return Ok(LogicalPlan::Extension(Extension { node: Arc::new(Ends { skip, fetch, input }) }));
            }
        };
        let message = format!("{refused} is not supported");
        Err(external(FunctionError::new(ErrorCode::NOT_IMPLEMENTED, message)))
    }

    /// The rows that pass of so many: of more rows it starts where it does, or later.
    pub fn passing(&self, total: u64) -> Range<u64> {
        let skipped = self.skip.rows_of(total).min(total);
        let (start, end) = match self.skip {
            Count::Last(_) => (0, total - skipped),
            _ => (skipped, total),
        };
        match self.fetch {
            None => start..end,
            Some(Count::Last(rows)) => start.max(end.saturating_sub(rows))..end,
            Some(fetch) => start..end.min(start.saturating_add(fetch.rows_of(total))),
        }
    }
}

/// Counts that DataFusion's own node knows, as the numbers it reads.
fn plain(limit: Limit, fetch: Option<Count>, skip: Count) -> LogicalPlan {
    let number = |given: Option<Box<Expr>>, count: Count| {
        given.map(|_| Box::new(lit(i64::try_from(count.rows_of(0)).unwrap_or(i64::MAX))))
    };
    LogicalPlan::Limit(match fetch {
        Some(fetch) => Limit { skip: number(limit.skip, skip), fetch: number(limit.fetch, fetch), ..limit },
        None => Limit { skip: number(limit.skip, skip), ..limit },
    })
}

impl PartialOrd for Ends {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let order = (self.skip, self.fetch).partial_cmp(&(other.skip, other.fetch));
        order.filter(|order| order.is_ne() || self == other)
    }
}

impl UserDefinedLogicalNodeCore for Ends {
    fn name(&self) -> &str {
        "Ends"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Ends: skip={:?}, fetch={:?}", self.skip, self.fetch)
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        let Some(input) = inputs.pop() else { return internal_err!("a limit has no input") };
        Ok(Ends { input, ..self.clone() })
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(needed(output_columns, &[], self.input.schema()))
    }
}
