//! `ObjectTable` as a table of the query engine.
//!
//! Invariant: making the plan sends no request; filters only choose files and row groups, and are applied again above
//! the scan. Must not know: how rows are read.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::DFSchema;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;

use crate::tables::object_table::{ObjectTable, to_datafusion};
use crate::tables::scan::ObjectScanExec;

#[async_trait]
impl TableProvider for ObjectTable {
    fn schema(&self) -> SchemaRef {
        ObjectTable::schema(self)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> datafusion::common::Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> datafusion::common::Result<Arc<dyn ExecutionPlan>> {
        let schema = DFSchema::try_from(ObjectTable::schema(self))?;
        let mut physical = Vec::new();
        for filter in filters {
            // A filter that cannot be compiled here is applied above the scan.
            if let Ok(compiled) = state.create_physical_expr(filter.clone(), &schema) {
                physical.push(compiled);
            }
        }
        let files = self.files_matching(&physical).map_err(to_datafusion)?;
        let partitions = state.config().target_partitions().max(1);
        let exec =
            ObjectScanExec::try_new(self.clone(), files, projection.cloned(), physical, limit, partitions)?;
        Ok(Arc::new(exec))
    }
}
