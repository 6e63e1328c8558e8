//! Parts written for an older version of the columns, scanned as rows of the current one.
//!
//! A part is read in its own columns, with whatever of the predicate speaks of columns that have not changed, and a
//! projection above makes the rest: renames by position, casts and defaults by [`EvolvedColumn`]. Invariant: columns are
//! matched by id; what is computed is what `parts::evolve` computes for a merge. Must not know: which parts to read.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};
use datafusion::catalog::Session;
use datafusion::common::metadata::FieldMetadata;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column as NamedColumn, DFSchema, Result, internal_err};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{ColumnarValue, Expr};
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_expr::projection::ProjectionExpr;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use model::table_def::column_id_of;
use model::type_arrow::from_field;
use model::{Evolution, PartDescriptor, TableDef};
use parts::evolve::{columns_read, evolve, position_of};
use planner::scalar_at;

use super::masks::MaskedParts;
use super::part_files::{PartScan, scan_parts};

/// Whether a column of an older version is the column of the same id now: name and type, and stored then, too.
pub(crate) fn is_unchanged(then: &TableDef, now: &model::ColumnDef) -> bool {
    let same = |old: &model::ColumnDef| old.name == now.name && old.column_type == now.column_type;
    then.column_by_id(now.id).is_some_and(|old| old.is_stored() && same(old))
}

/// What is asked of parts of one older version.
pub(crate) struct OlderScan<'a> {
    /// The columns as they were.
    pub then: &'a TableDef,
    /// Those of the result, in its order.
    pub target: SchemaRef,
    pub parts: &'a [Arc<PartDescriptor>],
    /// Conditions over the current columns; they may be left out.
    pub filters: &'a [Expr],
    pub now: &'a TableDef,
    pub limit: Option<usize>,
    pub evolution: &'a Arc<Evolution>,
    pub masked: Option<&'a MaskedParts>,
    /// As of [`PartScan`].
    pub is_numbered: bool,
}

pub(crate) fn scan_older(session: &dyn Session, scan: OlderScan<'_>) -> Result<Arc<dyn ExecutionPlan>> {
    let source = scan.then.arrow_schema();
    let read = columns_read(&source, &scan.target, scan.evolution);
    let projection: Vec<usize> = read.iter().filter_map(|id| position_of(&source, *id)).collect();
    let predicate = match conjunction(scan.filters.iter().filter_map(|filter| then_filter(filter, &scan))) {
        None => None,
        Some(filter) => {
            let schema = DFSchema::try_from(Arc::clone(&source))?;
            Some(session.create_physical_expr(filter, &schema)?)
        }
    };
    let parts = PartScan {
        def: scan.now,
        schema: Arc::clone(&source),
        parts: scan.parts,
        projection: Some(&projection),
        predicate,
        limit: scan.limit,
        in_order: false,
        masked: scan.masked,
        is_numbered: scan.is_numbered,
    };
    let files = scan_parts(session, parts)?;
    let stored = Arc::new(source.project(&projection)?);
    let columns =
        scan.target.fields().iter().map(|field| {
            Ok(ProjectionExpr::new(evolved(&stored, field, scan.evolution)?, field.name().clone()))
        });
    let mut columns = columns.collect::<Result<Vec<_>>>()?;
    for (at, field) in files.schema().fields().iter().enumerate().skip(projection.len()) {
        columns.push(ProjectionExpr::new(Arc::new(Column::new(field.name(), at)), field.name().clone()));
    }
    Ok(Arc::new(ProjectionExec::try_new(columns, files)?))
}

/// A condition in the names that the columns had, if all of them have kept their types.
fn then_filter(filter: &Expr, scan: &OlderScan<'_>) -> Option<Expr> {
    let renamed = filter.clone().transform(|node| {
        let Expr::Column(column) = &node else { return Ok(Transformed::no(node)) };
        let now = scan.now.column(&column.name);
        let then = now
            .and_then(|now| scan.then.column_by_id(now.id).filter(|old| old.column_type == now.column_type));
        match then {
            Some(then) => Ok(Transformed::yes(Expr::Column(NamedColumn::from_name(then.name.as_ref())))),
            None => internal_err!("column {} is another now", column.name),
        }
    });
    renamed.ok().map(|renamed| renamed.data)
}

/// The expression of one column of the result over the columns that are read.
fn evolved(
    stored: &SchemaRef,
    field: &FieldRef,
    evolution: &Arc<Evolution>,
) -> Result<Arc<dyn PhysicalExpr>> {
    let same = column_id_of(field).and_then(|id| position_of(stored, id));
    if let Some(at) = same
        && from_field(stored.field(at)) == from_field(field)
    {
        return Ok(Arc::new(Column::new(stored.field(at).name(), at)));
    }
    let target = Schema::new(vec![Arc::clone(field)]);
    let ids = columns_read(stored, &target, evolution);
    let positions: Vec<usize> = ids.iter().filter_map(|id| position_of(stored, *id)).collect();
    let inputs =
        positions.iter().map(|at| Arc::new(Column::new(stored.field(*at).name(), *at)) as _).collect();
    let column = EvolvedColumn {
        target: Arc::new(target),
        source: Arc::new(stored.project(&positions)?),
        inputs,
        evolution: Arc::clone(evolution),
    };
    if !column.inputs.is_empty() {
        return Ok(Arc::new(column));
    }
    // The same in every row: said so, conditions over it are decided before anything is read.
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)?;
    let ColumnarValue::Array(value) = column.evaluate(&row)? else {
        return internal_err!("a column is an array");
    };
    let metadata = FieldMetadata::from(field.metadata().clone());
    Ok(Arc::new(Literal::new_with_metadata(scalar_at(&value, 0)?, Some(metadata))))
}

/// A column of the current version computed from those of an older one.
#[derive(Debug, Clone)]
struct EvolvedColumn {
    /// The one column.
    target: SchemaRef,
    /// The columns that the inputs are.
    source: SchemaRef,
    inputs: Vec<Arc<dyn PhysicalExpr>>,
    evolution: Arc<Evolution>,
}

impl EvolvedColumn {
    fn field(&self) -> &FieldRef {
        &self.target.fields()[0]
    }
}

impl fmt::Display for EvolvedColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inputs: Vec<String> = self.inputs.iter().map(ToString::to_string).collect();
        write!(f, "evolved {}({})", self.field().name(), inputs.join(", "))
    }
}

impl PartialEq for EvolvedColumn {
    fn eq(&self, other: &EvolvedColumn) -> bool {
        self.target == other.target
            && self.source == other.source
            && self.inputs == other.inputs
            && Arc::ptr_eq(&self.evolution, &other.evolution)
    }
}

impl Eq for EvolvedColumn {}

impl Hash for EvolvedColumn {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.field().name().hash(state);
        self.inputs.hash(state);
    }
}

impl PhysicalExpr for EvolvedColumn {
    fn data_type(&self, _input: &Schema) -> Result<DataType> {
        Ok(self.field().data_type().clone())
    }

    fn nullable(&self, _input: &Schema) -> Result<bool> {
        Ok(self.field().is_nullable())
    }

    fn return_field(&self, _input: &Schema) -> Result<FieldRef> {
        Ok(Arc::clone(self.field()))
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let rows = batch.num_rows();
        let columns = self.inputs.iter().map(|input| input.evaluate(batch)?.into_array(rows));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let stored = RecordBatch::try_new_with_options(Arc::clone(&self.source), columns, &options)?;
        let evolved = evolve(&stored, &self.target, &self.evolution)?;
        Ok(ColumnarValue::Array(Arc::clone(evolved.column(0))))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.inputs.iter().collect()
    }

    fn with_new_children(
        self: Arc<Self>,
        inputs: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(Arc::new(EvolvedColumn { inputs, ..self.as_ref().clone() }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
