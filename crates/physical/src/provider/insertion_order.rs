//! Whether the rows of a query come in an order that somebody may mean: those of a file, of `numbers()`, of VALUES.
//!
//! Invariant: rows of groups, joins, sets and parts are in none, if they are not sorted; several threads give them. Must not know: who asks.

use datafusion::datasource::DefaultTableSource;
use datafusion::logical_expr::{Distinct, LogicalPlan};

use super::table::MergeTreeTable;

/// See the module.
pub fn comes_in_order(rows: &LogicalPlan) -> bool {
    match rows {
        LogicalPlan::Projection(node) => comes_in_order(&node.input),
        LogicalPlan::Filter(node) => comes_in_order(&node.input),
        LogicalPlan::Limit(node) => comes_in_order(&node.input),
        LogicalPlan::Window(node) => comes_in_order(&node.input),
        LogicalPlan::Distinct(Distinct::All(input)) => comes_in_order(input),
        LogicalPlan::Distinct(Distinct::On(node)) => comes_in_order(&node.input),
        LogicalPlan::SubqueryAlias(node) => comes_in_order(&node.input),
        LogicalPlan::Extension(node) => node.node.inputs().into_iter().all(comes_in_order),
        LogicalPlan::TableScan(scan) => {
            let provider = scan.source.downcast_ref::<DefaultTableSource>();
            !provider.is_some_and(|provider| provider.table_provider.is::<MergeTreeTable>())
        }
        LogicalPlan::Sort(_) | LogicalPlan::Values(_) | LogicalPlan::EmptyRelation(_) => true,
        _ => false,
    }
}
