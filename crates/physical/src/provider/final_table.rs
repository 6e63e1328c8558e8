//! A table of ours read with FINAL, as DataFusion sees it.
//!
//! Invariant: a condition is asked of rows before they were compared with others of their key only where it cannot matter: by
//! masks of any row, otherwise of the key alone; and PREWHERE, which is asked of rows before they are compared. Must not know:
//! how a range of keys is read.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use mergetree::Table;
use mergetree::masks::can_mask;
use model::ColumnId;
use planner::prewhere_of;

use super::final_plan::FinalScan;
use super::masks::SharedMasks;
use super::table::MergeTreeTable;

/// What FINAL asks.
#[derive(Clone)]
pub struct FinalRead {
    pub table: Table,
    /// Rows of equal key in two partitions stay two rows.
    pub splits_partitions: bool,
    /// `None`: rows are merged as they are read.
    pub masks: Option<Arc<SharedMasks>>,
}

/// A table with rows of equal key made one.
pub struct FinalTable {
    stored: MergeTreeTable,
    read: FinalRead,
}

impl std::fmt::Debug for FinalTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FinalTable({:?})", self.stored)
    }
}

impl FinalTable {
    pub fn new(stored: MergeTreeTable, read: FinalRead) -> FinalTable {
        // Another statement would find other versions in rows that were stored without one.
        let can_mask = stored.older.is_lasting && can_mask(&read.table);
        let read = FinalRead { masks: read.masks.filter(|_| can_mask), ..read };
        FinalTable { stored, read }
    }

    /// Whether a condition is true or false of all rows of a key.
    fn is_about_key(&self, filter: &Expr) -> bool {
        let table = &self.read.table;
        let plain: Vec<ColumnId> = table.keys.sort.iter().filter_map(|key| key.as_column()).collect();
        let is_plain = |name: &str| table.def.column(name).is_some_and(|column| plain.contains(&column.id));
        !filter.is_volatile() && filter.column_refs().iter().all(|column| is_plain(&column.name))
    }
}

#[async_trait]
impl TableProvider for FinalTable {
    fn schema(&self) -> SchemaRef {
        self.stored.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        // Any other condition would choose among the rows of a key before they are one.
        let pushed = |filter: &&Expr| match self.read.masks.is_some() || self.is_about_key(filter) {
            _ if prewhere_of(filter).is_some() => TableProviderFilterPushDown::Exact,
            true => TableProviderFilterPushDown::Inexact,
            false => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(pushed).collect())
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let prewhere = conjunction(filters.iter().filter_map(prewhere_of).cloned());
        let filters: Vec<Expr> =
            filters.iter().filter(|filter| prewhere_of(filter).is_none()).cloned().collect();
        let filters = filters.as_slice();
        let key_filters = filters.iter().filter(|filter| self.is_about_key(filter)).cloned().collect();
        // A mask is of all rows.
        let masks = self.read.masks.as_ref().filter(|_| prewhere.is_none());
        let (stored, table) = (&self.stored, &self.read.table);
        let splits_partitions = self.read.splits_partitions;
        let scan = FinalScan {
            stored,
            table,
            masks,
            splits_partitions,
            session,
            projection,
            filters,
            key_filters,
            prewhere,
            limit,
        };
        scan.plan()
    }
}
