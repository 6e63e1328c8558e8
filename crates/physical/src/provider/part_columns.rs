//! Columns of a table that no file has and no `*` shows: which part a row is of, and which row of it.
//!
//! Rows that lie in the log are shown as of the parts they will be, under the names that `system.parts` has for them. Invariant: a column of the table
//! itself comes before one of these with its name. Must not know: which rows are read.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, StringViewArray, StructArray, UInt32Array,
    UInt64Array, new_empty_array,
};
use arrow::compute::{concat, concat_batches, take};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef, UInt32Type};
use catalog::TableState;
use datafusion::catalog::Session;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::{DFSchema, Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::utils::conjunction;
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties};
use futures::StreamExt;
use mergetree::Table;
use mergetree::memtable::inline_runs;
use mergetree::write::partition::split;
use model::saturating::usize_of;
use model::type_arrow::{to_data_type, to_field};
use model::{
    ColumnDef, ColumnType, PartDescriptor, PartitionValue, RowExpr, TableDef, TableEngine, TupleElement,
};
use planner::prewhere_of;

use crate::error::into_datafusion;
use crate::unary::{Step, Unary};

/// Rows of a granule of a table that says nothing of it.
const GRANULARITY: u64 = 8192;

/// What such a column says of a row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PartColumn {
    /// The name of its part.
    Part,
    /// The name of its partition.
    PartitionId,
    /// What PARTITION BY gives, as a tuple.
    PartitionValue,
    /// The number of its part among those of the table.
    PartIndex,
    /// Its number in the part.
    PartOffset,
    /// The number of the granule of the part that it would be in by `index_granularity`.
    PartGranuleOffset,
    /// The name of the table.
    Table,
    /// The name of the database.
    Database,
}

impl PartColumn {
    const ALL: [PartColumn; 8] = [
        PartColumn::Part,
        PartColumn::PartitionId,
        PartColumn::PartitionValue,
        PartColumn::PartIndex,
        PartColumn::PartOffset,
        PartColumn::PartGranuleOffset,
        PartColumn::Table,
        PartColumn::Database,
    ];

    /// Its name in a query.
    pub fn name(self) -> &'static str {
        match self {
            PartColumn::Part => "_part",
            PartColumn::PartitionId => "_partition_id",
            PartColumn::PartitionValue => "_partition_value",
            PartColumn::PartIndex => "_part_index",
            PartColumn::PartOffset => "_part_offset",
            PartColumn::PartGranuleOffset => "_part_granule_offset",
            PartColumn::Table => "_table",
            PartColumn::Database => "_database",
        }
    }

    /// All their names.
    pub fn names() -> impl Iterator<Item = String> {
        Self::ALL.into_iter().map(|column| column.name().to_owned())
    }

    /// Those of a table that a query with these names asks for.
    pub fn asked(def: &TableDef, names: &BTreeSet<String>) -> Vec<PartColumn> {
        let has = |column: &PartColumn| match column {
            PartColumn::PartitionValue => !def.partition_by.is_empty(),
            _ => true,
        };
        let is_asked =
            |column: &PartColumn| names.contains(column.name()) && def.column(column.name()).is_none();
        match def.engine {
            TableEngine::MergeTree => {
                Self::ALL.into_iter().filter(|column| is_asked(column) && has(column)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// How many rows in turn have the same number, where the column is a number of rows.
    fn rows_of_number(self, def: &TableDef) -> Option<u64> {
        let granularity = || def.settings.get("index_granularity").and_then(|rows| rows.parse::<u64>().ok());
        match self {
            PartColumn::PartOffset => Some(1),
            PartColumn::PartGranuleOffset => {
                Some(granularity().filter(|rows| *rows > 0).unwrap_or(GRANULARITY))
            }
            _ => None,
        }
    }

    fn column_type(self, table: &Table) -> ColumnType {
        match self {
            PartColumn::PartIndex | PartColumn::PartOffset | PartColumn::PartGranuleOffset => {
                ColumnType::UInt64
            }
            PartColumn::PartitionValue => {
                let keys = table.keys.partition.iter();
                let element = |key: &Arc<dyn RowExpr>| TupleElement {
                    name: None,
                    column_type: key.column_type().clone(),
                };
                ColumnType::Tuple(keys.map(element).collect())
            }
            _ => ColumnType::LowCardinality(Box::new(ColumnType::String)),
        }
    }
}

/// The columns that are asked of one table.
pub struct PartColumns {
    table: Table,
    database: Arc<str>,
    columns: Vec<PartColumn>,
    fields: Vec<Field>,
}

/// What is the same in all rows of a part.
struct OfPart<'a> {
    name: Arc<str>,
    partition: &'a PartitionValue,
    index: u64,
}

impl PartColumns {
    /// Of the table in the database of this name.
    pub fn new(table: Table, database: &str, columns: Vec<PartColumn>) -> PartColumns {
        let fields =
            columns.iter().map(|column| to_field(column.name(), &column.column_type(&table))).collect();
        PartColumns { table, database: database.into(), columns, fields }
    }

    /// The table's definition with these behind its columns.
    pub fn defined(&self) -> TableDef {
        let mut def = self.table.def.as_ref().clone();
        for (at, column) in (1..).zip(&self.columns) {
            def.columns.push(ColumnDef::plain(u32::MAX - at, column.name(), column.column_type(&self.table)));
        }
        def
    }

    /// The columns of the table with these behind them.
    pub(super) fn schema_behind(&self, stored: &SchemaRef) -> SchemaRef {
        let fields =
            stored.fields().iter().map(|field| field.as_ref().clone()).chain(self.fields.iter().cloned());
        Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), stored.metadata().clone()))
    }

    pub(super) fn are_named_in(&self, filter: &Expr) -> bool {
        filter.column_refs().iter().any(|column| self.fields.iter().any(|field| *field.name() == column.name))
    }

    /// The parts that may have rows of which the conditions are true.
    pub(super) fn asked_for(
        &self,
        session: &dyn Session,
        filters: &[Expr],
        state: &TableState,
        parts: Vec<Arc<PartDescriptor>>,
    ) -> Result<Vec<Arc<PartDescriptor>>> {
        let of_part: Vec<usize> =
            (0..self.columns.len()).filter(|at| self.rows_of_number(*at).is_none()).collect();
        let is_known = |name: &str| of_part.iter().any(|at| self.fields[*at].name() == name);
        let filters = filters.iter().map(|filter| prewhere_of(filter).unwrap_or(filter));
        let decided = filters.filter(|filter| {
            let columns = filter.column_refs();
            !filter.is_volatile()
                && !columns.is_empty()
                && columns.iter().all(|column| is_known(&column.name))
        });
        let Some(filter) = conjunction(decided.cloned()) else { return Ok(parts) };
        let schema =
            Arc::new(Schema::new(of_part.iter().map(|at| self.fields[*at].clone()).collect::<Vec<_>>()));
        let values = {
            let known = self.of_parts(state, &parts);
            of_part.iter().map(|at| self.value(*at, &known)).collect::<Result<Vec<_>>>()?
        };
        let options = RecordBatchOptions::new().with_row_count(Some(parts.len()));
        let rows = RecordBatch::try_new_with_options(Arc::clone(&schema), values, &options)?;
        let filter = session.create_physical_expr(filter, &DFSchema::try_from(schema)?)?;
        // What cannot be computed is an error where it is asked of rows.
        let Ok(kept) = filter.evaluate(&rows).and_then(|kept| kept.into_array(parts.len())) else {
            return Ok(parts);
        };
        let kept = as_boolean_array(&kept)?;
        let is_kept = |at: usize| kept.is_valid(at) && kept.value(at);
        Ok(parts.into_iter().enumerate().filter(|(at, _)| is_kept(*at)).map(|(_, part)| part).collect())
    }

    fn rows_of_number(&self, at: usize) -> Option<u64> {
        self.columns[at].rows_of_number(&self.table.def)
    }

    fn of_parts<'a>(&self, state: &TableState, parts: &'a [Arc<PartDescriptor>]) -> Vec<OfPart<'a>> {
        let places: HashMap<_, u64> = state.parts().map(|part| part.id).zip(0..).collect();
        let of = |part: &'a Arc<PartDescriptor>| OfPart {
            name: part.name().into(),
            partition: &part.partition,
            index: places.get(&part.id).copied().unwrap_or_default(),
        };
        parts.iter().map(of).collect()
    }

    /// What the column says of each.
    fn value(&self, at: usize, of: &[OfPart<'_>]) -> Result<ArrayRef> {
        let texts = |text: &dyn Fn(&OfPart<'_>) -> Arc<str>| -> ArrayRef {
            Arc::new(StringViewArray::from_iter_values(of.iter().map(text)))
        };
        Ok(match self.columns[at] {
            PartColumn::Part => texts(&|part| Arc::clone(&part.name)),
            PartColumn::PartitionId => texts(&|part| part.partition.name().into()),
            PartColumn::PartIndex => {
                Arc::new(UInt64Array::from_iter_values(of.iter().map(|part| part.index)))
            }
            PartColumn::PartitionValue => self.partition_values(at, of)?,
            PartColumn::Table => texts(&|_| Arc::clone(&self.table.def.name)),
            PartColumn::Database => texts(&|_| Arc::clone(&self.database)),
            PartColumn::PartOffset | PartColumn::PartGranuleOffset => {
                return internal_err!("the number of a row is not its part's");
            }
        })
    }

    fn partition_values(&self, at: usize, of: &[OfPart<'_>]) -> Result<ArrayRef> {
        let DataType::Struct(fields) = self.fields[at].data_type() else {
            return internal_err!("the values of a partition are no tuple");
        };
        let mut columns = Vec::with_capacity(fields.len());
        for (element, key) in self.table.keys.partition.iter().enumerate() {
            let data_type = to_data_type(key.column_type());
            let value = |part: &OfPart<'_>| -> Result<ArrayRef> {
                match part.partition.values().get(element) {
                    Some(value) => Ok(value.to_array(&data_type)?),
                    None => internal_err!("partition {} has too few values", part.partition.name()),
                }
            };
            let values = of.iter().map(value).collect::<Result<Vec<ArrayRef>>>()?;
            let values: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
            columns.push(match values.is_empty() {
                true => new_empty_array(&data_type),
                false => concat(&values)?,
            });
        }
        Ok(Arc::new(StructArray::try_new(fields.clone(), columns, None)?))
    }

    /// Rows of parts with what is asked of them: `numbered` gives, behind the columns of the table, which of the parts a row is
    /// of, and its number there. `given`: places among all columns, of which the first `stored` are the table's.
    pub(super) fn told(
        &self,
        numbered: Arc<dyn ExecutionPlan>,
        (given, stored): (&[usize], usize),
        schema: Schema,
        (state, parts): (&TableState, &[Arc<PartDescriptor>]),
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let known = self.of_parts(state, parts);
        let mut next = 0;
        let mut columns = Vec::with_capacity(given.len());
        for at in given {
            columns.push(match at.checked_sub(stored) {
                None => {
                    next += 1;
                    Told::Given(next - 1)
                }
                Some(at) => match self.rows_of_number(at) {
                    Some(rows) => Told::Number(rows),
                    None => Told::OfPart(self.value(at, &known)?),
                },
            });
        }
        Unary::over(numbered, Telling { columns: Arc::new(columns), schema: Arc::new(schema) })
    }

    /// Rows of the log with these columns behind them: those with no part between them together, under the first of their blocks.
    pub(super) fn told_rows(
        &self,
        state: &TableState,
        stored: &SchemaRef,
        rows: &[RecordBatch],
    ) -> Result<Vec<(u64, RecordBatch)>> {
        let schema = self.schema_behind(stored);
        let all = concat_batches(stored, rows)?;
        let (mut told, mut first, mut index) = (Vec::new(), 0, state.parts().count() as u64);
        for run in inline_runs(state) {
            let count = usize_of(run.rows);
            if all.num_rows() < first + count {
                return internal_err!("fewer rows in the log than its statements have");
            }
            let block = all.slice(first, count);
            first += count;
            // Of each row its part, and its number there.
            let (mut part_of, mut numbers) = (vec![0_u32; count], vec![0_u64; count]);
            let pieces = split(&self.table, std::slice::from_ref(&block), 0).map_err(into_datafusion)?;
            let mut known = Vec::with_capacity(pieces.len());
            for (piece, part) in pieces.iter().zip(0_u32..) {
                let rows: Vec<usize> = match &piece.rows {
                    None => (0..count).collect(),
                    Some(places) => places.iter().map(|place| place.row as usize).collect(),
                };
                for (row, number) in rows.into_iter().zip(0..) {
                    (part_of[row], numbers[row]) = (part, number);
                }
                let name = format!("{}_{}_{}_0", piece.partition.name(), run.first, run.last);
                known.push(OfPart { name: name.into(), partition: &piece.partition, index });
                index += 1;
            }
            let part_of = UInt32Array::from(part_of);
            let mut columns = block.columns().to_vec();
            for at in 0..self.columns.len() {
                columns.push(match self.rows_of_number(at) {
                    Some(rows) => {
                        Arc::new(UInt64Array::from_iter_values(numbers.iter().map(|number| number / rows)))
                    }
                    None => take(&self.value(at, &known)?, &part_of, None)?,
                });
            }
            let options = RecordBatchOptions::new().with_row_count(Some(count));
            told.push((
                run.first,
                RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options)?,
            ));
        }
        Ok(told)
    }
}

/// Where a column comes from.
#[derive(Debug)]
enum Told {
    /// This column of the input.
    Given(usize),
    /// By part of the scan.
    OfPart(ArrayRef),
    /// The row's, which so many in turn have.
    Number(u64),
}

/// Says of rows of parts what is asked of them. The last two columns of the input are the part, and the row's number in it.
#[derive(Clone)]
struct Telling {
    columns: Arc<Vec<Told>>,
    schema: SchemaRef,
}

impl Telling {
    fn told(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let behind = rows.num_columns().saturating_sub(2);
        let (Some(parts), Some(numbers)) = (
            rows.columns().get(behind).and_then(|of| of.as_primitive_opt::<UInt32Type>()),
            rows.columns().get(behind + 1).and_then(|of| of.as_primitive_opt::<Int64Type>()),
        ) else {
            return internal_err!("rows come without their numbers");
        };
        if parts.null_count() + numbers.null_count() > 0 {
            return internal_err!("rows come without their numbers");
        }
        let column = |told: &Told| -> Result<ArrayRef> {
            match told {
                Told::Given(at) => Ok(Arc::clone(rows.column(*at))),
                Told::OfPart(values) => Ok(take(values, parts, None)?),
                Told::Number(rows) => {
                    let numbers = numbers.values().iter().map(|number| number.unsigned_abs() / rows);
                    Ok(Arc::new(UInt64Array::from_iter_values(numbers)))
                }
            }
        };
        let columns = self.columns.iter().map(column).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

impl Step for Telling {
    const NAME: &'static str = "PartColumnsExec";

    fn shown(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
        write!(f, "PartColumnsExec: {}", names.join(", "))
    }

    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Result<Arc<PlanProperties>> {
        let known = EquivalenceProperties::new(Arc::clone(&self.schema));
        let partitioning = Partitioning::UnknownPartitioning(input.output_partitioning().partition_count());
        let (emission, bounded) = (EmissionType::Incremental, Boundedness::Bounded);
        Ok(Arc::new(PlanProperties::new(known, partitioning, emission, bounded)))
    }

    fn may_be_divided(&self) -> bool {
        false
    }

    fn execute(
        node: &Unary<Self>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let step = node.step.clone();
        let schema = Arc::clone(&step.schema);
        let rows = node.input.execute(partition, context)?.map(move |batch| step.told(&batch?));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}
