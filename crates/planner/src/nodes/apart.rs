//! Apart: rows as they come, of which no column is known to determine another.
//!
//! DataFusion knows that the keys of a GROUP BY determine its other columns. It goes on believing that of a whole second
//! GROUP BY over a join that repeats such rows, and takes keys of ORDER BY, keys of groups and joins away. Invariant: columns that
//! are not needed pass, and conditions unless it stops them; the node is gone before there is a physical plan.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, DFSchemaRef, FunctionalDependencies, Result, internal_err};
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};

use super::needed;

/// See the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Apart {
    input: LogicalPlan,
    schema: DFSchemaRef,
    /// Whether conditions stay above it. A limit passes then.
    stops: bool,
}

impl Apart {
    /// The node over `input`.
    ///
    /// # Errors
    /// None: the schema is that of the input.
    pub fn over(input: LogicalPlan) -> Result<LogicalPlan> {
        Ok(LogicalPlan::Extension(Extension { node: Arc::new(Apart::new(input, false)?) }))
    }

    /// The node over `input`, which no condition passes.
    ///
    /// # Errors
    /// None: the schema is that of the input.
    pub fn stopping(input: LogicalPlan) -> Result<LogicalPlan> {
        Ok(LogicalPlan::Extension(Extension { node: Arc::new(Apart::new(input, true)?) }))
    }

    fn new(input: LogicalPlan, stops: bool) -> Result<Apart> {
        let known = input.schema();
        let schema = DFSchema::clone(known).with_functional_dependencies(FunctionalDependencies::empty())?;
        Ok(Apart { schema: Arc::new(schema), input, stops })
    }
}

/// The plan without such nodes.
///
/// # Errors
/// Those of the walk.
pub fn without_apart(plan: LogicalPlan) -> Result<LogicalPlan> {
    let node = |node: LogicalPlan| {
        Ok(match &node {
            LogicalPlan::Extension(extension) => match extension.node.as_any().downcast_ref::<Apart>() {
                Some(apart) => Transformed::yes(apart.input.clone()),
                None => Transformed::no(node),
            },
            _ => Transformed::no(node),
        })
    };
    Ok(plan.transform_up_with_subqueries(node)?.data)
}

impl PartialOrd for Apart {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for Apart {
    fn name(&self) -> &str {
        "Apart"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        if !self.stops {
            return HashSet::new();
        }
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Apart")
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        let Some(input) = inputs.pop() else { return internal_err!("rows that stand apart have no input") };
        Apart::new(input, self.stops)
    }

    /// As in ClickHouse, a neighbour behind the limit is none.
    fn supports_limit_pushdown(&self) -> bool {
        self.stops
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(needed(output_columns, &[], self.input.schema()))
    }
}
