//! Rows of a statement made into rows of a table: order of columns, casts, defaults.
//!
//! Invariant: what comes out has the table's schema, column ids included. A value that does not fit is an error naming
//! the column; nothing is cut or dropped silently beyond what ClickHouse's INSERT does.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::compute::{filter_record_batch, interleave};
use arrow::datatypes::{Field, FieldRef, Schema, SchemaRef};
use boundary::error::{Error, ErrorKind};
use boundary::room::room_for;
use formats::Omissions;
use functions::cast::{CastMode, cast_column, type_default_array};
use model::table_def::column_id_of;
use model::type_arrow::from_field;
use model::{ColumnDef, ColumnId, ColumnType, DefaultKind, ErrorCode, RowExpr, TableDef};
use physical::adopt::Needs;

use crate::constraints::Constraints;
use crate::nested::{Parts, complete, nested_of};

/// A row is gathered out of its batch, sorted, and written as a page of a part.
const COPIES_STORED: usize = 4;

/// Expressions of the columns that have one, in the order of `TableDef::written_columns`.
pub type Defaults = Vec<Option<Arc<dyn RowExpr>>>;

enum Origin {
    /// Column of the incoming batch, and what stands in for its cells that ask for the default.
    Input(usize, Option<Arc<dyn RowExpr>>),
    Computed(Arc<dyn RowExpr>),
    /// Zero, empty or NULL.
    TypeDefault,
}

/// Maps batches of one source onto one table.
pub struct Conform {
    /// Of the rows that come out.
    schema: SchemaRef,
    /// One for each target; the same as `schema` without EPHEMERAL columns.
    written: SchemaRef,
    /// Columns with values, also those that are only there for the defaults of others.
    targets: Vec<(ColumnDef, Origin)>,
    /// Among the targets.
    nested: Vec<Parts>,
    /// Targets with an expression, each behind those it is computed from.
    computed: Vec<usize>,
    null_as_default: bool,
    /// Of batches that are not native.
    omissions: Omissions,
    /// A schema of batches whose columns have the types of their targets already.
    native: Option<(SchemaRef, Omissions)>,
    /// Whether native batches have the columns of the table, all and in order.
    is_whole: bool,
    /// What the rows that come out keep to.
    constraints: Option<Arc<Constraints>>,
}

impl Conform {
    /// `names` are the columns an INSERT lists, `None` for all insertable ones in order.
    pub fn new(
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
            return Err(Error::new(ErrorKind::BadInput, ErrorCode::NUMBER_OF_COLUMNS_DOESNT_MATCH, message));
        }
        let origin = |(column, default): (&ColumnDef, &Option<Arc<dyn RowExpr>>)| {
            let input = listed.iter().position(|listed| listed.id == column.id);
            let origin = match (input, default) {
                (Some(index), default) => Origin::Input(index, default.clone()),
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
            nested: nested_of(targets.iter().map(|(column, _)| column)),
            targets,
            null_as_default: true,
            omissions: Omissions { width: source_columns, columns: Vec::new() },
            native: None,
            is_whole: false,
            constraints: None,
        })
    }

    /// Whether NULL into a column that takes none is the column's default, as it is unless this says no, or an error.
    pub fn with_null_as_default(mut self, null_as_default: bool) -> Conform {
        self.null_as_default = null_as_default;
        self
    }

    /// Rows that do not keep to them are an error.
    pub fn with_constraints(mut self, constraints: Option<Arc<Constraints>>) -> Conform {
        self.constraints = constraints;
        self
    }

    /// Batches have these omission columns behind their own.
    pub fn with_omissions(mut self, omissions: Omissions) -> Conform {
        self.omissions = omissions;
        self
    }

    /// Batches of this very schema need not be asked for the types of their columns.
    pub fn with_native(mut self, native: SchemaRef) -> Result<Conform, Error> {
        let in_place = |(at, (_, origin)): (usize, &(ColumnDef, Origin))| match origin {
            Origin::Input(index, _) => *index == at,
            Origin::Computed(_) | Origin::TypeDefault => false,
        };
        let omissions = Omissions::of(&native)?;
        self.is_whole = omissions.width == self.targets.len()
            && self.targets.iter().enumerate().all(in_place)
            && self.nested.is_empty()
            && self.all_stored();
        self.native = Some((native, omissions));
        Ok(self)
    }

    /// Rows of the table. `rows_before` came before these, from the same source; behind the columns of `batch` may stand
    /// omission columns.
    pub fn apply_behind(&self, rows_before: u64, batch: &RecordBatch) -> Result<RecordBatch, Error> {
        let rows = self.converted(batch)?;
        if let Some(constraints) = &self.constraints {
            constraints.check(&rows, rows_before)?;
        }
        Ok(rows)
    }

    /// As [`Conform::apply_behind`], of rows that are the first of their source.
    pub fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch, Error> {
        self.apply_behind(0, batch)
    }

    /// The same before the table's constraints are asked.
    fn converted(&self, batch: &RecordBatch) -> Result<RecordBatch, Error> {
        room_for(batch, COPIES_STORED, "an inserted row")?;
        let native = self.native.as_ref().filter(|(native, _)| Arc::ptr_eq(native, batch.schema_ref()));
        let omissions = native.map_or(&self.omissions, |(_, omissions)| omissions);
        if native.is_some() && self.is_whole && self.null_as_default && nothing_omitted(batch, omissions) {
            // Nothing to convert: the same columns, under the table's schema with its column ids.
            let columns = batch.columns()[..omissions.width].to_vec();
            return RecordBatch::try_new(Arc::clone(&self.schema), columns)
                .map_err(|e| Error::internal(e.to_string()));
        }
        let field = |index: usize| native.is_none().then(|| batch.schema_ref().field(index));
        let input = |index: usize| batch.columns().get(index).map(|array| (array, field(index)));
        let known = vec![None; self.targets.len()];
        let wanted = vec![true; self.targets.len()];
        let arrays = self.arrays(batch.num_rows(), &input, omissions, known, &wanted)?;
        let arrays: Vec<ArrayRef> = self.stored(arrays).flatten().collect();
        RecordBatch::try_new(Arc::clone(&self.schema), arrays).map_err(|e| Error::internal(e.to_string()))
    }

    /// Values of the targets that are wanted and not known yet, in the layout of the table; `input` gives the incoming columns,
    /// native ones without a field.
    fn arrays<'a>(
        &self,
        rows: usize,
        input: &dyn Fn(usize) -> Option<(&'a ArrayRef, Option<&'a Field>)>,
        omissions: &Omissions,
        known: Vec<Option<ArrayRef>>,
        wanted: &[bool],
    ) -> Result<Vec<Option<ArrayRef>>, Error> {
        let mut arrays = known;
        let mut asked: Vec<Option<BooleanArray>> = vec![None; self.targets.len()];
        for (place, (column, origin)) in self.targets.iter().enumerate() {
            if arrays[place].is_some() || !wanted[place] {
                continue;
            }
            match origin {
                Origin::Input(index, default) => {
                    let missing = || Error::internal(format!("column {} has no input", column.name));
                    let (array, field) = input(*index).ok_or_else(missing)?;
                    self.check_nulls(array, column)?;
                    let from = match field {
                        None => &column.column_type,
                        Some(field) => &from_field(field),
                    };
                    arrays[place] = Some(cast_into(array, from, column)?);
                    if default.is_some() {
                        let told = omissions.columns.iter().position(|of| of == index);
                        let told = told.and_then(|at| input(omissions.width + at)).map(|(told, _)| told);
                        asked[place] = asked_cells(told, array, &column.column_type);
                    }
                }
                Origin::TypeDefault => arrays[place] = Some(type_default_array(&column.column_type, rows)),
                Origin::Computed(_) => {}
            }
        }
        self.compute_defaults(&mut arrays, (&asked, wanted), rows)?;
        let columns: Vec<&ColumnDef> = self.targets.iter().map(|(column, _)| column).collect();
        let is_left_out = |place: usize| matches!(self.targets[place].1, Origin::TypeDefault);
        for parts in &self.nested {
            complete(parts, &mut arrays, &columns, &is_left_out)?;
        }
        Ok(arrays)
    }

    /// Without those that are there only for the defaults of others.
    fn stored<T>(&self, of_targets: Vec<T>) -> impl Iterator<Item = T> {
        let stored = of_targets.into_iter().zip(&self.targets);
        stored.filter(|(_, (column, _))| !is_ephemeral(column)).map(|(one, _)| one)
    }

    /// Whether rows are compared with constraints, or their arrays with each other.
    pub fn has_constraints(&self) -> bool {
        self.constraints.is_some() || !self.nested.is_empty()
    }

    /// The incoming column of a stored one, if it has one, and whether NULL there may ask for something else than NULL.
    pub fn input_of(&self, column: ColumnId) -> Option<(usize, bool)> {
        let target = self.targets.iter().find(|(target, _)| target.id == column);
        match target.map(|(_, origin)| origin) {
            Some(Origin::Input(index, default)) => Some((*index, default.is_some())),
            _ => None,
        }
    }

    /// What is needed to make all stored columns but those for which `is_copied` holds.
    pub fn needs(&self, is_copied: &dyn Fn(ColumnId) -> bool) -> Needs {
        let mut needs = Needs { wanted: vec![false; self.targets.len()], ..Needs::default() };
        let made = |(column, _): &(ColumnDef, Origin)| !is_ephemeral(column) && !is_copied(column.id);
        let mut due: Vec<usize> = (0..self.targets.len()).filter(|at| made(&self.targets[*at])).collect();
        while let Some(at) = due.pop() {
            if std::mem::replace(&mut needs.wanted[at], true) {
                continue;
            }
            let (column, origin) = &self.targets[at];
            if is_copied(column.id) {
                needs.values_of.push(column.id);
                continue;
            }
            if let Origin::Input(index, _) = origin {
                needs.inputs.push(*index);
                let told = self.omissions.columns.iter().position(|of| of == index);
                needs.inputs.extend(told.map(|at| self.omissions.width + at));
            }
            if let Origin::Computed(expression) | Origin::Input(_, Some(expression)) = origin {
                let of = |id: &ColumnId| self.targets.iter().position(|(column, _)| column.id == *id);
                due.extend(expression.columns().iter().filter_map(of));
            }
        }
        needs.inputs.sort_unstable();
        needs.inputs.dedup();
        needs
    }

    /// Stored columns in the order of the table, without those that are not needed. `given` are incoming columns by position,
    /// `copied` gives the values of columns that are copied.
    pub fn apply_beside(
        &self,
        rows: usize,
        needs: &Needs,
        given: &[Option<(ArrayRef, FieldRef)>],
        copied: &dyn Fn(ColumnId) -> Option<ArrayRef>,
    ) -> Result<Vec<Option<ArrayRef>>, Error> {
        let known = |(column, _): &(ColumnDef, Origin)| match needs.values_of.contains(&column.id) {
            true => copied(column.id),
            false => None,
        };
        let known = self.targets.iter().map(known).collect();
        let input = |index: usize| {
            let (array, field) = given.get(index)?.as_ref()?;
            Some((array, Some(field.as_ref())))
        };
        let arrays = self.arrays(rows, &input, &self.omissions, known, &needs.wanted)?;
        Ok(self.stored(arrays).collect())
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
        let error = Error::new(ErrorKind::BadInput, ErrorCode::CANNOT_CONVERT_TYPE, message);
        Err(error.with_hint("insert_null_as_default = 1 makes it the default"))
    }

    /// Defaults may use any columns, also computed ones.
    fn compute_defaults(
        &self,
        arrays: &mut [Option<ArrayRef>],
        (asked, wanted): (&[Option<BooleanArray>], &[bool]),
        rows: usize,
    ) -> Result<(), Error> {
        for index in self.computed.iter().copied().filter(|index| wanted[*index]) {
            let (column, origin) = &self.targets[index];
            match (origin, &arrays[index], &asked[index]) {
                (Origin::Computed(expression), ..) => {
                    let known = self.known(arrays, rows)?;
                    arrays[index] = Some(computed(expression, &known, column)?);
                }
                (Origin::Input(_, Some(expression)), Some(given), Some(asked)) => {
                    let known = self.known(arrays, rows)?;
                    arrays[index] = Some(filled(given, asked, expression, &known, column)?);
                }
                _ => {}
            }
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

/// Whether every cell of the batch has its value.
fn nothing_omitted(batch: &RecordBatch, omissions: &Omissions) -> bool {
    batch.columns()[omissions.width..].iter().all(|column| column.as_boolean().true_count() == 0)
}

/// The cells of a column that ask for its default, if any: whoever read them said so, or they are NULL where the column
/// knows none.
fn asked_cells(told: Option<&ArrayRef>, values: &ArrayRef, column_type: &ColumnType) -> Option<BooleanArray> {
    let told = told.map(|told| told.as_boolean().values().clone());
    let nulls = values.logical_nulls().filter(|_| !column_type.is_nullable());
    // Files with types of their own may have a NULL where whoever reads them sees nothing missing.
    let asked = match (told, nulls) {
        (Some(told), Some(nulls)) => &told | &!nulls.inner(),
        (Some(told), None) => told,
        (None, Some(nulls)) => !nulls.inner(),
        (None, None) => return None,
    };
    let asked = BooleanArray::new(asked, None);
    (asked.true_count() > 0).then_some(asked)
}

fn computed(
    expression: &Arc<dyn RowExpr>,
    known: &RecordBatch,
    column: &ColumnDef,
) -> Result<ArrayRef, Error> {
    let value = expression.evaluate(known).map_err(Error::from)?;
    if !column.column_type.is_nullable() && value.logical_null_count() > 0 {
        let message =
            format!("the default of column {} is NULL, which {} cannot be", column.name, column.column_type);
        return Err(Error::new(
            ErrorKind::BadInput,
            ErrorCode::CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN,
            message,
        ));
    }
    cast_into(&value, expression.column_type(), column)
}

/// `given` with the default where it is asked for. Only those rows are computed: what an expression makes of others is
/// nobody's business, and may be an error.
fn filled(
    given: &ArrayRef,
    asked: &BooleanArray,
    expression: &Arc<dyn RowExpr>,
    known: &RecordBatch,
    column: &ColumnDef,
) -> Result<ArrayRef, Error> {
    if asked.true_count() == asked.len() {
        return computed(expression, known, column);
    }
    let wrong = |e: arrow::error::ArrowError| Error::internal(e.to_string());
    let used = |field: &FieldRef| column_id_of(field).is_some_and(|id| expression.columns().contains(&id));
    let schema = known.schema();
    let used: Vec<usize> = (0..schema.fields().len()).filter(|at| used(&schema.fields()[*at])).collect();
    let rows = filter_record_batch(&known.project(&used).map_err(wrong)?, asked).map_err(wrong)?;
    let defaults = computed(expression, &rows, column)?;
    let mut next = 0;
    let places: Vec<(usize, usize)> = (0..asked.len())
        .map(|row| match asked.value(row) {
            true => {
                next += 1;
                (1, next - 1)
            }
            false => (0, row),
        })
        .collect();
    interleave(&[given.as_ref(), defaults.as_ref()], &places).map_err(wrong)
}

/// The targets with an expression, each behind those it needs. In a circle one of them comes first, and says what it misses.
fn computing_order(targets: &[(ColumnDef, Origin)]) -> Vec<usize> {
    fn visit(targets: &[(ColumnDef, Origin)], index: usize, seen: &mut [bool], order: &mut Vec<usize>) {
        let Some((_, Origin::Computed(expression) | Origin::Input(_, Some(expression)))) = targets.get(index)
        else {
            return;
        };
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
pub fn insert_columns(def: &TableDef, names: Option<&[String]>) -> Result<Vec<ColumnDef>, Error> {
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
            Error::new(ErrorKind::UnknownObject, ErrorCode::NO_SUCH_COLUMN_IN_TABLE, message)
        })?;
        if computed(column) {
            let message = format!("cannot insert column {name}, because it is MATERIALIZED or ALIAS");
            return Err(Error::new(ErrorKind::BadInput, ErrorCode::ILLEGAL_COLUMN, message));
        }
        if listed.iter().any(|other| other.id == column.id) {
            return Err(Error::new(
                ErrorKind::BadInput,
                ErrorCode::DUPLICATE_COLUMN,
                format!("column {name} is given more than once"),
            ));
        }
        listed.push(column.clone());
    }
    Ok(listed)
}

/// Values of one type as those of a column; what does not fit is an error that names it.
pub fn cast_into(array: &ArrayRef, from: &ColumnType, column: &ColumnDef) -> Result<ArrayRef, Error> {
    let cast = cast_column(array, from, &column.column_type, CastMode::Insert).map_err(|error| {
        let error = Error::from(error);
        error.in_context(&format!("while converting column {}", column.name))
    })?;
    debug_assert_eq!(cast.len(), array.len());
    Ok(cast)
}

/// As [`cast_into`] of values of VALUES, where ClickHouse compares the types first, but for lists of one plain type.
pub fn cast_value_into(array: &ArrayRef, from: &ColumnType, column: &ColumnDef) -> Result<ArrayRef, Error> {
    use ColumnType::{Array, Map, Nothing, Tuple};
    let nests = |of: &ColumnType| matches!(of, Array(_) | Map(..) | Tuple(_));
    let is_list = match from {
        Array(item) => !nests(item) && **item != Nothing,
        Tuple(elements) => elements
            .iter()
            .all(|element| !nests(&element.column_type) && element.column_type == elements[0].column_type),
        _ => false,
    };
    cast_into(array, from, column).map_err(|error| {
        let is_plain = nests(from) && !nests(column.column_type.value_type());
        match is_plain && !(is_list && error.code == ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT) {
            true => Error { code: ErrorCode::TYPE_MISMATCH, ..error },
            false => error,
        }
    })
}
