//! ORDER BY .. WITH FILL as a step of a plan: rows that are missing between the rows of a sorted input.
//!
//! Invariant: the columns are the input's. Rows that are made have values in the columns of keys, of the keys before the
//! first filled one, and of INTERPOLATE; every other column has its default there.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use datafusion::common::{Column, DFSchema, DFSchemaRef, Result, internal_err};
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};

use super::needed;

/// A key that is filled. Bounds and step are constants.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Debug)]
pub struct FillKey {
    pub expr: Expr,
    pub descending: bool,
    pub from: Option<Expr>,
    pub to: Option<Expr>,
    pub step: Option<Expr>,
    /// How far behind a row of the input rows are made.
    pub stale: Option<Expr>,
}

/// A column that INTERPOLATE gives values: those of the row before, or what is computed from it.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Debug)]
pub struct Interpolated {
    pub column: Column,
    pub value: Option<Expr>,
}

/// See the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Fill {
    pub keys: Vec<FillKey>,
    /// The keys of the sort before the first filled one: rows are filled for each of their values.
    pub prefix: Vec<Expr>,
    pub interpolated: Vec<Interpolated>,
    input: LogicalPlan,
    schema: DFSchemaRef,
}

impl Fill {
    pub fn try_new(
        keys: Vec<FillKey>,
        prefix: Vec<Expr>,
        interpolated: Vec<Interpolated>,
        input: LogicalPlan,
    ) -> Result<Fill> {
        let schema = without_dependencies(&input)?;
        Ok(Fill { keys, prefix, interpolated, input, schema })
    }
}

/// The input's columns, without what its rows promise of each other: rows that are made keep none of it.
fn without_dependencies(input: &LogicalPlan) -> Result<DFSchemaRef> {
    let fields = input.schema().iter().map(|(qualifier, field)| (qualifier.cloned(), Arc::clone(field)));
    let schema = DFSchema::new_with_metadata(fields.collect(), input.schema().metadata().clone())?;
    Ok(Arc::new(schema))
}

impl PartialOrd for Fill {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let order = (&self.keys, &self.prefix).partial_cmp(&(&other.keys, &other.prefix));
        order.filter(|order| order.is_ne() || self == other)
    }
}

impl UserDefinedLogicalNodeCore for Fill {
    fn name(&self) -> &str {
        "Fill"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        let keys = self.keys.iter().flat_map(|key| {
            let constants = [&key.from, &key.to, &key.step, &key.stale].into_iter().flatten();
            std::iter::once(&key.expr).chain(constants)
        });
        let values = self.interpolated.iter().flat_map(|one| {
            one.value.iter().cloned().chain(std::iter::once(Expr::Column(one.column.clone())))
        });
        keys.chain(&self.prefix).cloned().chain(values).collect()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let keys = self.keys.iter().map(|key| key.expr.to_string()).collect::<Vec<_>>().join(", ");
        let prefix = self.prefix.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        write!(f, "Fill: keys=[{keys}], for each=[{prefix}]")
    }

    fn with_exprs_and_inputs(&self, exprs: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        let (Some(input), mut exprs) = (inputs.pop(), exprs.into_iter()) else {
            return internal_err!("a fill has no input");
        };
        let (mut keys, mut prefix, mut interpolated) = (vec![], vec![], vec![]);
        for key in &self.keys {
            let Some(expr) = exprs.next() else { return internal_err!("a fill lost a key") };
            let mut constant = |was: &Option<Expr>| was.as_ref().and_then(|_| exprs.next());
            let (from, to, step) = (constant(&key.from), constant(&key.to), constant(&key.step));
            let stale = constant(&key.stale);
            keys.push(FillKey { expr, descending: key.descending, from, to, step, stale });
        }
        for _ in &self.prefix {
            prefix.extend(exprs.next());
        }
        for one in &self.interpolated {
            let value = one.value.as_ref().and_then(|_| exprs.next());
            let Some(Expr::Column(column)) = exprs.next() else {
                return internal_err!("a fill lost a column");
            };
            interpolated.push(Interpolated { column, value });
        }
        Fill::try_new(keys, prefix, interpolated, input)
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(needed(output_columns, &self.expressions(), self.input.schema()))
    }
}
