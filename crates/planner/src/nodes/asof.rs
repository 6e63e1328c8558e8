//! ASOF JOIN as a step of a plan: of the rows with equal keys the one whose value is nearest on one side.
//!
//! Invariant: the columns are the left input's, then the right one's, as those of any join. Conditions stay comparisons
//! of one expression of the left with one of the right, so that their sides get common types like any others.

use std::cmp::Ordering;
use std::fmt;

use datafusion::common::{DFSchemaRef, JoinType, Result, internal_err};
use datafusion::logical_expr::logical_plan::builder::build_join_schema;
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};
use std::sync::Arc;

use super::needed;

/// See the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Asof {
    /// `left = right`, of each pair of keys.
    pub equal: Vec<Expr>,
    /// `left >= right` or another inequality.
    pub nearest: Expr,
    /// What must hold of a left row for it to look for a partner.
    pub looks: Vec<Expr>,
    /// LEFT: rows without a partner stay.
    pub keeps_left: bool,
    left: LogicalPlan,
    right: LogicalPlan,
    schema: DFSchemaRef,
}

impl Asof {
    pub fn try_new(
        (left, right): (LogicalPlan, LogicalPlan),
        (equal, nearest, looks): (Vec<Expr>, Expr, Vec<Expr>),
        keeps_left: bool,
    ) -> Result<Asof> {
        let join_type = if keeps_left { JoinType::Left } else { JoinType::Inner };
        let schema = Arc::new(build_join_schema(left.schema(), right.schema(), &join_type)?);
        Ok(Asof { equal, nearest, looks, keeps_left, left, right, schema })
    }

    /// How many of the columns are the left input's.
    pub fn left_columns(&self) -> usize {
        self.left.schema().fields().len()
    }
}

impl PartialOrd for Asof {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let order = (&self.equal, &self.nearest).partial_cmp(&(&other.equal, &other.nearest));
        order.filter(|order| order.is_ne() || self == other)
    }
}

impl UserDefinedLogicalNodeCore for Asof {
    fn name(&self) -> &str {
        "Asof"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.left, &self.right]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        self.equal.iter().chain(std::iter::once(&self.nearest)).chain(&self.looks).cloned().collect()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let equal = self.equal.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let side = if self.keeps_left { "left" } else { "inner" };
        write!(f, "Asof: {side}, on=[{equal}], nearest={}", self.nearest)
    }

    fn with_exprs_and_inputs(&self, mut exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let looks = exprs.split_off(exprs.len().saturating_sub(self.looks.len()));
        let (Some(nearest), Ok([left, right])) = (exprs.pop(), <[LogicalPlan; 2]>::try_from(inputs)) else {
            return internal_err!("an ASOF JOIN has two inputs and an inequality");
        };
        Asof::try_new((left, right), (exprs, nearest, looks), self.keeps_left)
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        let left = self.left_columns();
        let (of_left, of_right): (Vec<usize>, Vec<usize>) =
            output_columns.iter().partition(|column| **column < left);
        let of_right: Vec<usize> = of_right.into_iter().map(|column| column - left).collect();
        let expressions = self.expressions();
        let needed_left = needed(&of_left, &expressions, self.left.schema());
        let needed_right = needed(&of_right, &expressions, self.right.schema());
        Some(needed_left.into_iter().chain(needed_right).collect())
    }
}
