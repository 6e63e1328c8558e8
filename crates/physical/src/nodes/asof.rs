//! AsofExec: each row of the left stream with the nearest row of the right side that has equal keys.
//!
//! Invariant: the right side is read once, whole, into granted memory, and sorted by value within each key; left rows
//! keep their order. Of several right rows with the nearest value the first one read is taken.

mod index;

use std::fmt;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array,
};
use arrow::compute::{cast, interleave, take};
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, Partitioning, PhysicalExpr, PlanProperties,
};
use futures::{StreamExt, TryStreamExt};
use tokio::sync::OnceCell;

use index::{Index, Keys};

/// Which right value is near: the greatest that is at most the left one, and so on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Nearest {
    GreaterOrEquals,
    Greater,
    LessOrEquals,
    Less,
}

/// The conditions of one side.
#[derive(Clone)]
pub(crate) struct Side {
    pub equal: Vec<Arc<dyn PhysicalExpr>>,
    pub value: Arc<dyn PhysicalExpr>,
}

/// What is joined how.
#[derive(Clone)]
pub(crate) struct Match {
    pub left: Side,
    pub right: Side,
    pub nearest: Nearest,
    /// What must hold of a left row for it to have a partner.
    pub looks: Vec<Arc<dyn PhysicalExpr>>,
    pub keeps_left: bool,
}

pub(crate) struct AsofExec {
    left: Arc<dyn ExecutionPlan>,
    right: Arc<dyn ExecutionPlan>,
    on: Match,
    properties: Arc<PlanProperties>,
    index: Arc<OnceCell<Arc<Index>>>,
}

impl AsofExec {
    /// `schema` is that of the join: the left columns, then the right ones.
    pub(crate) fn new(
        left: Arc<dyn ExecutionPlan>,
        right: Arc<dyn ExecutionPlan>,
        on: Match,
        schema: SchemaRef,
    ) -> AsofExec {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(left.properties().partitioning.partition_count()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        AsofExec { left, right, on, properties: Arc::new(properties), index: Arc::default() }
    }
}

impl fmt::Debug for AsofExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AsofExec({:?})", self.on.nearest)
    }
}

impl DisplayAs for AsofExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = if self.on.keeps_left { "Left" } else { "Inner" };
        let pairs = self.on.left.equal.iter().zip(&self.on.right.equal);
        let pairs: Vec<String> = pairs.map(|(left, right)| format!("{left} = {right}")).collect();
        let (left, right) = (&self.on.left.value, &self.on.right.value);
        write!(f, "AsofExec: {side}, on=[{}], {left} {:?} {right}", pairs.join(", "), self.on.nearest)
    }
}

impl ExecutionPlan for AsofExec {
    fn name(&self) -> &str {
        "AsofExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn required_input_distribution(&self) -> Vec<Distribution> {
        vec![Distribution::UnspecifiedDistribution, Distribution::SinglePartition]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.left, &self.right]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let sides = [&self.on.left, &self.on.right].into_iter();
        let asked = sides.flat_map(|side| side.equal.iter().chain(std::iter::once(&side.value)));
        for expr in asked.chain(&self.on.looks) {
            if f(expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let right = children.swap_remove(1);
        let left = children.swap_remove(0);
        let schema = Arc::clone(self.properties.eq_properties.schema());
        Ok(Arc::new(AsofExec::new(left, right, self.on.clone(), schema)))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let schema = Arc::clone(self.properties.eq_properties.schema());
        let left = self.left.execute(partition, Arc::clone(&context))?;
        let left_keys = Keys::try_new(&self.on.left, &left.schema())?;
        let (right, on, cell) = (Arc::clone(&self.right), self.on.clone(), Arc::clone(&self.index));
        let joined = Arc::clone(&schema);
        let rows = async move {
            let index = cell.get_or_try_init(|| read(right, on.right.clone(), context)).await?;
            let joiner = Joiner { schema: joined, on, index: Arc::clone(index), left_keys };
            Ok::<_, datafusion::common::DataFusionError>(left.map(move |batch| joiner.joined(&batch?)))
        };
        let rows = futures::stream::once(rows).try_flatten();
        let rows =
            rows.filter(|batch| std::future::ready(!matches!(batch, Ok(batch) if batch.num_rows() == 0)));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}

/// Reads the right side.
async fn read(right: Arc<dyn ExecutionPlan>, side: Side, context: Arc<TaskContext>) -> Result<Arc<Index>> {
    let memory = MemoryConsumer::new("AsofExec").register(context.memory_pool());
    let mut rows = right.execute(0, context)?;
    let mut index = Index::new(Keys::try_new(&side, &rows.schema())?, memory);
    while let Some(batch) = rows.next().await {
        index.add(batch?)?;
    }
    index.sort();
    Ok(Arc::new(index))
}

struct Joiner {
    schema: SchemaRef,
    on: Match,
    index: Arc<Index>,
    left_keys: Keys,
}

impl Joiner {
    fn looks(&self, batch: &RecordBatch) -> Result<Vec<BooleanArray>> {
        let of = |look: &Arc<dyn PhysicalExpr>| {
            let answers = look.evaluate(batch)?.into_array(batch.num_rows())?;
            let answers = cast(&answers, &DataType::Boolean)?;
            Ok(answers.as_boolean().clone())
        };
        self.on.looks.iter().map(of).collect()
    }

    fn joined(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let values = self.left_keys.of(batch)?;
        let looks = self.looks(batch)?;
        let nothing = self.index.batches().len();
        let (mut rows, mut picks) = (vec![], vec![]);
        for (row, value) in values.iter().enumerate() {
            let value =
                value.as_ref().filter(|_| looks.iter().all(|look| look.is_valid(row) && look.value(row)));
            let found = value.and_then(|(key, value)| self.index.find(key, *value, self.on.nearest));
            if found.is_none() && !self.on.keeps_left {
                continue;
            }
            rows.push(u32::try_from(row).unwrap_or(u32::MAX));
            picks.push(found.unwrap_or((nothing, 0)));
        }
        let rows = UInt32Array::from(rows);
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.schema.fields().len());
        for column in batch.columns() {
            columns.push(take(column, &rows, None)?);
        }
        for at in 0..self.schema.fields().len() - batch.num_columns() {
            let field = self.schema.field(batch.num_columns() + at);
            let missing = new_null_array(field.data_type(), 1);
            let mut sources: Vec<&dyn Array> =
                self.index.batches().iter().map(|batch| batch.column(at).as_ref()).collect();
            sources.push(missing.as_ref());
            columns.push(interleave(&sources, &picks)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}
