//! Rows of a statement made into rows of a table: order of columns, casts, defaults.
//!
//! Invariant: what comes out has the table's schema, column ids included. A value that does not fit is an error naming
//! the column; nothing is cut or dropped silently beyond what ClickHouse's INSERT does.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::{Schema, SchemaRef};
use functions::cast::{CastMode, cast_column, default_array};
use model::type_arrow::from_field;
use model::{ColumnDef, ColumnType, DefaultKind, RowExpr, TableDef};

use crate::constraints::Constraints;
use crate::error::{Error, ErrorKind};
use crate::room::room_for;

/// A row is gathered out of its batch, sorted, and written as a page of a part.
const COPIES_STORED: usize = 4;

/// Expressions of the columns that have one, in the order of `TableDef::written_columns`.
pub(crate) type Defaults = Vec<Option<Arc<dyn RowExpr>>>;

enum Origin {
    /// Column of the incoming batch.
    Input(usize),
    Computed(Arc<dyn RowExpr>),
    /// Zero, empty or NULL.
    TypeDefault,
}

/// Maps batches of one source onto one table.
pub(crate) struct Conform {
    /// Of the rows that come out.
    schema: SchemaRef,
    /// One for each target; the same as `schema` without EPHEMERAL columns.
    written: SchemaRef,
    /// Columns with values, also those that are only there for the defaults of others.
    targets: Vec<(ColumnDef, Origin)>,
    /// Targets that are computed, each behind those it is computed from.
    computed: Vec<usize>,
    null_as_default: bool,
    /// A schema of batches whose columns have the types of their targets already.
    native: Option<SchemaRef>,
    /// Whether native batches have the columns of the table, all and in order.
    is_whole: bool,
    /// What the rows that come out keep to.
    constraints: Option<Arc<Constraints>>,
}

impl Conform {
    /// `names` are the columns an INSERT lists, `None` for all insertable ones in order.
    pub(crate) fn new(
        def: &TableDef,
        names: Option<&[String]>,
        source_columns: usize,
        defaults: &Defaults,
    ) -> Result<Conform, Error> {
        let listed = insert_columns(def, names)?;
        if listed.len() != source_columns {
            let message = format!(
                "number of columns does not match: table {} takes {} column(s) here, the source has {source_columns}",
                def.name,
                listed.len()
            );
            return Err(Error::new(ErrorKind::BadInput, 20, message));
        }
        let origin = |(column, default): (&ColumnDef, &Option<Arc<dyn RowExpr>>)| {
            let input = listed.iter().position(|listed| listed.id == column.id);
            let origin = match (input, default) {
                (Some(index), _) => Origin::Input(index),
                (None, Some(expression)) => Origin::Computed(Arc::clone(expression)),
                (None, None) => Origin::TypeDefault,
            };
            (column.clone(), origin)
        };
        let targets: Vec<_> = def.written_columns().zip(defaults).map(origin).collect();
        Ok(Conform {
            schema: def.arrow_schema(),
            written: def.written_schema(),
            computed: computing_order(&targets),
            targets,
            null_as_default: true,
            native: None,
            is_whole: false,
            constraints: None,
        })
    }

    /// Whether NULL into a column that takes none is the default of its type, as it is unless this says no, or an error.
    pub(crate) fn with_null_as_default(mut self, null_as_default: bool) -> Conform {
        self.null_as_default = null_as_default;
        self
    }

    /// Rows that do not keep to them are an error.
    pub(crate) fn with_constraints(mut self, constraints: Option<Arc<Constraints>>) -> Conform {
        self.constraints = constraints;
        self
    }

    /// Batches of this very schema need not be asked for the types of their columns.
    pub(crate) fn with_native(mut self, native: SchemaRef) -> Conform {
        let in_place = |(at, (_, origin)): (usize, &(ColumnDef, Origin))| match origin {
            Origin::Input(index) => *index == at,
            Origin::Computed(_) | Origin::TypeDefault => false,
        };
        self.is_whole = native.fields().len() == self.targets.len()
            && self.targets.iter().enumerate().all(in_place)
            && self.all_stored();
        self.native = Some(native);
        self
    }

    /// Rows of the table. `rows_before` came before these, from the same source.
    pub(crate) fn apply_behind(&self, rows_before: u64, batch: &RecordBatch) -> Result<RecordBatch, Error> {
        let rows = self.converted(batch)?;
        if let Some(constraints) = &self.constraints {
            constraints.check(&rows, rows_before)?;
        }
        Ok(rows)
    }

    /// As [`Conform::apply_behind`], of rows that are the first of their source.
    pub(crate) fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch, Error> {
        self.apply_behind(0, batch)
    }

    /// The same before the table's constraints are asked.
    fn converted(&self, batch: &RecordBatch) -> Result<RecordBatch, Error> {
        room_for(batch, COPIES_STORED, "an inserted row")?;
        let is_native = self.native.as_ref().is_some_and(|native| Arc::ptr_eq(native, batch.schema_ref()));
        if is_native && self.is_whole && self.null_as_default {
            // Nothing to convert: the same columns, under the table's schema with its column ids.
            let columns = batch.columns().to_vec();
            return RecordBatch::try_new(Arc::clone(&self.schema), columns)
                .map_err(|e| Error::internal(e.to_string()));
        }
        let mut arrays: Vec<Option<ArrayRef>> = vec![None; self.targets.len()];
        for (array, (column, origin)) in arrays.iter_mut().zip(&self.targets) {
            match origin {
                Origin::Input(index) => {
                    self.check_nulls(batch.column(*index), column)?;
                    let cast = match is_native {
                        true => cast_into(batch.column(*index), &column.column_type, column),
                        false => {
                            let from = from_field(batch.schema_ref().field(*index));
                            cast_into(batch.column(*index), &from, column)
                        }
                    };
                    *array = Some(cast?);
                }
                Origin::TypeDefault => {
                    *array = Some(default_array(&column.column_type, batch.num_rows()));
                }
                Origin::Computed(_) => {}
            }
        }
        self.compute_defaults(&mut arrays, batch.num_rows())?;
        let stored = arrays.into_iter().zip(&self.targets).filter(|(_, (column, _))| !is_ephemeral(column));
        let arrays: Vec<ArrayRef> = stored.filter_map(|(array, _)| array).collect();
        RecordBatch::try_new(Arc::clone(&self.schema), arrays).map_err(|e| Error::internal(e.to_string()))
    }

    fn all_stored(&self) -> bool {
        self.written.fields().len() == self.schema.fields().len()
    }

    fn check_nulls(&self, array: &ArrayRef, column: &ColumnDef) -> Result<(), Error> {
        if self.null_as_default || column.column_type.is_nullable() || array.logical_null_count() == 0 {
            return Ok(());
        }
        let message =
            format!("cannot convert NULL to {}, the type of column {}", column.column_type, column.name);
        let error = Error::new(ErrorKind::BadInput, 70, message);
        Err(error.with_hint("insert_null_as_default = 1 makes it the default"))
    }

    /// Defaults may use any columns, also computed ones.
    fn compute_defaults(&self, arrays: &mut [Option<ArrayRef>], rows: usize) -> Result<(), Error> {
        for index in self.computed.iter().copied() {
            let (column, Origin::Computed(expression)) = &self.targets[index] else { continue };
            let known = self.known(arrays, rows)?;
            let value = expression.evaluate(&known).map_err(Error::from)?;
            arrays[index] = Some(cast_into(&value, expression.column_type(), column)?);
        }
        Ok(())
    }

    fn known(&self, arrays: &[Option<ArrayRef>], rows: usize) -> Result<RecordBatch, Error> {
        let present = arrays.iter().enumerate().filter_map(|(i, array)| Some((i, array.clone()?)));
        let (fields, columns): (Vec<_>, Vec<_>) =
            present.map(|(i, array)| (Arc::clone(&self.written.fields()[i]), array)).unzip();
        let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
            .map_err(|e| Error::internal(e.to_string()))
    }
}

/// The computed targets, each behind those it needs. In a circle one of them comes first, and says what it misses.
fn computing_order(targets: &[(ColumnDef, Origin)]) -> Vec<usize> {
    fn visit(targets: &[(ColumnDef, Origin)], index: usize, seen: &mut [bool], order: &mut Vec<usize>) {
        let Some((_, Origin::Computed(expression))) = targets.get(index) else { return };
        if std::mem::replace(&mut seen[index], true) {
            return;
        }
        for needed in expression.columns() {
            if let Some(at) = targets.iter().position(|(column, _)| column.id == *needed) {
                visit(targets, at, seen, order);
            }
        }
        order.push(index);
    }
    let (mut seen, mut order) = (vec![false; targets.len()], Vec::new());
    (0..targets.len()).for_each(|index| visit(targets, index, &mut seen, &mut order));
    order
}

fn is_ephemeral(column: &ColumnDef) -> bool {
    matches!(column.default, Some((DefaultKind::Ephemeral, _)))
}

/// The columns an INSERT gives values for: EPHEMERAL ones only where it names them.
pub(crate) fn insert_columns(def: &TableDef, names: Option<&[String]>) -> Result<Vec<ColumnDef>, Error> {
    let computed = |column: &ColumnDef| {
        matches!(column.default, Some((DefaultKind::Materialized | DefaultKind::Alias, _)))
    };
    let Some(names) = names else {
        return Ok(def.stored_columns().filter(|column| !computed(column)).cloned().collect());
    };
    let mut listed: Vec<ColumnDef> = Vec::with_capacity(names.len());
    for name in names {
        let column = def.column(name).ok_or_else(|| {
            let message = format!("no such column {name} in table {}", def.name);
            Error::new(ErrorKind::UnknownObject, 16, message)
        })?;
        if computed(column) {
            let message = format!("cannot insert column {name}, because it is MATERIALIZED or ALIAS");
            return Err(Error::new(ErrorKind::BadInput, 44, message));
        }
        if listed.iter().any(|other| other.id == column.id) {
            return Err(Error::new(
                ErrorKind::BadInput,
                15,
                format!("column {name} is given more than once"),
            ));
        }
        listed.push(column.clone());
    }
    Ok(listed)
}

/// Values of one type as those of a column; what does not fit is an error that names it.
pub(crate) fn cast_into(array: &ArrayRef, from: &ColumnType, column: &ColumnDef) -> Result<ArrayRef, Error> {
    let cast = cast_column(array, from, &column.column_type, CastMode::Insert).map_err(|error| {
        let error = Error::from(error);
        error.in_context(&format!("while converting column {}", column.name))
    })?;
    debug_assert_eq!(cast.len(), array.len());
    Ok(cast)
}
