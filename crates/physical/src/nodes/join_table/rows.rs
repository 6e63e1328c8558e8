//! A table of engine Join as DataFusion sees it: the rows that are the right side of a join, and one column of them by keys.
//!
//! Invariant: which rows of a key there are does not depend on what is asked of them, so conditions on other columns than the
//! key's are asked afterwards. Must not know: what the engine says, which is read elsewhere.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use model::ColumnType;
use planner::Lookup;

use super::looked_up::{LookedUpExec, schema};
use super::one_of_key::{OfKey, OneOfKeyExec};
use crate::unary::Unary;

/// Rows with a key; what is stored beside them is hidden.
#[derive(Debug)]
pub struct JoinRows {
    stored: Arc<dyn TableProvider>,
    schema: SchemaRef,
    /// Places of the key's columns.
    keys: Vec<usize>,
    of_key: OfKey,
}

impl JoinRows {
    /// `stored` comes in the order of insertion.
    pub fn new(stored: Arc<dyn TableProvider>, keys: Vec<usize>, of_key: OfKey) -> JoinRows {
        JoinRows { schema: stored.schema(), stored, keys, of_key }
    }

    /// Whether a condition may be asked before it is known which rows there are: it is true or false of all rows of a key.
    fn is_about_key(&self, filter: &Expr) -> bool {
        let is_key = |name: &str| self.schema.index_of(name).is_ok_and(|place| self.keys.contains(&place));
        let is_of_row = self.of_key == OfKey::Each;
        !filter.is_volatile() && (is_of_row || filter.column_refs().iter().all(|column| is_key(&column.name)))
    }
}

#[async_trait]
impl TableProvider for JoinRows {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let pushed = |filter: &&Expr| match self.is_about_key(filter) {
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
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let asked = projection.cloned().unwrap_or_else(|| (0..self.schema.fields().len()).collect());
        let mut read = asked.clone();
        read.extend(self.keys.iter().filter(|key| !asked.contains(key)));
        let filters: Vec<Expr> = filters.iter().filter(|filter| self.is_about_key(filter)).cloned().collect();
        let rows = self.stored.scan(session, Some(&read), &filters, None).await?;
        let keys = self.keys.iter().filter_map(|key| read.iter().position(|place| place == key)).collect();
        let rows = OneOfKeyExec::over(rows, keys, self.of_key)?;
        if read.len() == asked.len() {
            return Ok(rows);
        }
        let names = rows.schema();
        let column = |place: usize| {
            let name = names.field(place).name().clone();
            (Arc::new(Column::new(&name, place)) as Arc<dyn PhysicalExpr>, name)
        };
        Ok(Arc::new(ProjectionExec::try_new((0..asked.len()).map(column).collect::<Vec<_>>(), rows)?))
    }
}

/// One row, which is there when all rows of the table are in the lookup.
#[derive(Debug)]
pub struct LookupTable {
    pub table: Arc<dyn TableProvider>,
    /// Places of the key's columns, and then of the values.
    pub columns: Vec<usize>,
    pub lookup: Arc<Lookup>,
    /// Its default is the value of what is not there.
    pub missing: ColumnType,
    /// Of rows of equal key the last stays.
    pub keeps_last: bool,
}

#[async_trait]
impl TableProvider for LookupTable {
    fn schema(&self) -> SchemaRef {
        schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let rows = self.table.scan(session, Some(&self.columns), &[], None).await?;
        let (lookup, missing) = (Arc::clone(&self.lookup), self.missing.clone());
        let filled = Unary::over(rows, LookedUpExec { lookup, missing, keeps_last: self.keeps_last })?;
        match projection {
            Some(none) if none.is_empty() => {
                Ok(Arc::new(ProjectionExec::try_new(Vec::<(Arc<dyn PhysicalExpr>, String)>::new(), filled)?))
            }
            _ => Ok(filled),
        }
    }
}
