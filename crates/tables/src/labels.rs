//! What the columns of a result are called, and the types they are shown with.
//!
//! Invariant: the labels are those that ClickHouse gives; what is labelled has as many columns as the plan. Must not know: how
//! the plan is run.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use boundary::error::Error;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::LogicalPlan;
use model::ColumnType;
use model::type_arrow::{EXTENSION_NAME_KEY, combined_by, from_field, to_field};

/// The result's schema under the dialect's labels; `nullable` says which columns may be NULL by their types.
pub fn labelled(logical: &LogicalPlan, labels: &[String], schema: &Schema, nullable: &[bool]) -> SchemaRef {
    // With a `*` in the SELECT only the plan knows how many columns there are.
    let is_written = labels.len() == schema.fields().len();
    let labels = if is_written { shown(logical, labels) } else { names_of_star(logical, schema) };
    let fields = schema.fields().iter().zip(&labels).enumerate();
    let fields = fields.map(|(at, (field, label))| {
        let may_be_null = field.is_nullable() || nullable.get(at).is_some_and(|nullable| *nullable);
        let shown = to_field(label, &result_type(&field.as_ref().clone().with_nullable(may_be_null)));
        // What CREATE .. AS SELECT has to know of a column.
        if combined_by(field).is_some() { shown.with_metadata(field.metadata().clone()) } else { shown }
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Labels with the names of tables where these tell columns apart: of two tables that of the second, of more all.
fn shown(logical: &LogicalPlan, labels: &[String]) -> Vec<String> {
    let tables = joined_tables(logical);
    let is_shared = |table: &str, column: &str| {
        let is_first = tables.len() == 2 && tables.first().is_some_and(|(first, _)| first == table);
        let has =
            |(other, columns): &&(String, Vec<String>)| other != table && columns.iter().any(|c| c == column);
        !is_first && tables.iter().any(|other| has(&other))
    };
    labels.iter().map(|label| rewrite::shown_name(label, is_shared)).collect()
}

/// Names of the columns of a `*`: a second one of a name shows its table; of three tables and more every one.
fn names_of_star(logical: &LogicalPlan, schema: &Schema) -> Vec<String> {
    let planned = logical.schema();
    let same = planned.fields().len() == schema.fields().len();
    let tables: BTreeSet<&str> = planned.iter().filter_map(|(table, _)| table).map(|t| t.table()).collect();
    let mut names: Vec<String> = Vec::with_capacity(schema.fields().len());
    let of = |field: &Field| sql::display_name(field.name()).to_owned();
    for (at, field) in schema.fields().iter().enumerate() {
        let name = of(field);
        let table = if same { planned.qualified_field(at).0 } else { None };
        let others = if tables.len() > 2 { schema.fields().len() } else { at };
        let is_shared = schema
            .fields()
            .iter()
            .take(others)
            .enumerate()
            .any(|(other, field)| other != at && of(field) == name);
        names.push(match table {
            Some(table) if is_shared => format!("{}.{name}", table.table()),
            _ => name,
        });
    }
    names
}

/// The tables that the outermost SELECT joins, from left to right, with the names of their columns.
fn joined_tables(plan: &LogicalPlan) -> Vec<(String, Vec<String>)> {
    let mut tables: Vec<(String, Vec<String>)> = vec![];
    // It cannot fail: nothing in it does.
    let _ = plan.apply(|node| {
        let is_table = matches!(node, LogicalPlan::SubqueryAlias(_) | LogicalPlan::TableScan(_));
        if is_table {
            for (table, field) in node.schema().iter() {
                let Some(table) = table.map(|table| table.table()) else { continue };
                match tables.iter_mut().find(|(known, _)| known == table) {
                    Some((_, columns)) => columns.push(field.name().clone()),
                    None => tables.push((table.to_owned(), vec![field.name().clone()])),
                }
            }
        }
        Ok(if is_table { TreeNodeRecursion::Jump } else { TreeNodeRecursion::Continue })
    });
    tables
}

/// The type of a result column. What DataFusion itself computes as a truth value is ClickHouse's UInt8; only a column
/// that says so is a Bool.
fn result_type(field: &Field) -> ColumnType {
    let attached = field.metadata().contains_key(EXTENSION_NAME_KEY);
    match field.data_type() {
        DataType::Boolean if !attached && field.is_nullable() => ColumnType::UInt8.nullable(),
        DataType::Boolean if !attached => ColumnType::UInt8,
        _ => from_field(field),
    }
}

/// A batch in the layouts of the result's types.
pub fn presented(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, Error> {
    let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| {
        let same = column.data_type() == field.data_type();
        if same { Ok(Arc::clone(column)) } else { arrow::compute::cast(column, field.data_type()) }
    });
    let columns = columns.collect::<Result<Vec<_>, _>>().map_err(|e| Error::internal(e.to_string()))?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
        .map_err(|e| Error::internal(e.to_string()))
}
