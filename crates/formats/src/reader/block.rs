//! Cells of many rows into a batch, column by column.
//!
//! Invariant: rows before the first bad one are complete in every column when an error is reported, so the error
//! always names the first bad row. Must not know: how rows are split.

mod sift;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::cast;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode};

use crate::columns::builder::{BuilderOptions, TypedColumnBuilder, omitted};
use crate::columns::omitted::{Asked, Omissions, without_omissions};
use crate::error::{FormatError, ValueError};
use crate::values::cell::{Cell, TextForm};
use model::table_def::column_names::{ColumnNames, NameMatching};
pub(crate) use sift::BadCell;

/// Where a cell of a row goes: a column, or an element of a tuple column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Slot {
    /// Column of the file, from 0.
    column: usize,
    /// Builder of that column; `None` when nobody asked for the column.
    builder: Option<usize>,
    path: Vec<usize>,
    name: String,
}

/// Collects one batch.
pub(crate) struct Block {
    file_schema: SchemaRef,
    /// Schema of the batches: the columns asked for.
    schema: SchemaRef,
    builders: Vec<TypedColumnBuilder>,
    /// Of the file's columns.
    types: Vec<ColumnType>,
    /// One per cell of a row; `None` for a cell nobody wants.
    slots: Vec<Option<Slot>>,
    /// Column of the file that each name of the header means as a whole.
    named: Vec<Option<usize>>,
    /// Builders no cell goes to.
    missing: Vec<usize>,
    /// Omission columns of the batches, in order.
    asked: Vec<Asked>,
    /// What the data leave out must take NULL.
    omitted_is_null: bool,
    /// A cell that cannot be read is the default of its column.
    bad_as_default: bool,
    /// Behind the last cell of a row its line ends, of which ClickHouse says so where an integer has more behind it.
    pub(crate) ends_lines: bool,
    rows: usize,
    rows_before: u64,
    rows_skipped: u64,
}

impl Block {
    /// Cells are the file's columns in order; with `flatten` a tuple's elements stand in cells of their own, as in CSV.
    /// Batches hold the columns of `projection`, in its order. `types` are those of the file's columns.
    pub(crate) fn new(
        file_schema: SchemaRef,
        types: &[ColumnType],
        projection: Option<&[usize]>,
        options: &BuilderOptions,
        flatten: bool,
    ) -> Result<Self, FormatError> {
        let failed = |error: ArrowError| FormatError::new(ErrorCode::LOGICAL_ERROR, error.to_string());
        let schema = match projection {
            Some(columns) => Arc::new(file_schema.project(columns).map_err(failed)?),
            None => Arc::clone(&file_schema),
        };
        let (file_schema, of_file) = without_omissions(&file_schema)?;
        let omissions = Omissions::of(&schema)?;
        let types = types.get(..of_file.width).unwrap_or(types);
        let projection = projection.map(|columns| columns.get(..omissions.width).unwrap_or(columns));
        let builder = |column_type: &ColumnType| TypedColumnBuilder::with_options(column_type, options);
        let builders: Result<Vec<_>, FormatError> = match projection {
            Some(columns) => columns.iter().filter_map(|column| types.get(*column)).map(builder).collect(),
            None => types.iter().map(builder).collect(),
        };
        let mut slots = Vec::with_capacity(types.len());
        for (column, (field, column_type)) in file_schema.fields().iter().zip(types).enumerate() {
            let builder =
                projection.map_or(Some(column), |columns| columns.iter().position(|c| *c == column));
            let slot = Slot { column, builder, path: Vec::new(), name: field.name().clone() };
            push_slots(&mut slots, slot, column_type, flatten);
        }
        let slots = slots.into_iter().map(Some).collect();
        let (builders, missing) = (builders?, Vec::new());
        let types = types.to_vec();
        let (may_ask, json) = (options.defaults_for_omitted_fields, options.json);
        let asked =
            |column: &usize| Some(Asked::new(*column, builders.get(*column)?.column_type(), may_ask, json));
        let asked = omissions.columns.iter().filter_map(asked).collect();
        let (rows, rows_before, rows_skipped) = (0, 0, 0);
        let named = (0..types.len()).map(Some).collect();
        let mut block = Self {
            file_schema,
            schema,
            builders,
            types,
            slots,
            named,
            missing,
            asked,
            omitted_is_null: options.json.omitted_is_null,
            bad_as_default: options.bad_as_default,
            ends_lines: false,
            rows,
            rows_before,
            rows_skipped,
        };
        block.map_asked();
        Ok(block)
    }

    fn map_asked(&mut self) {
        for asked in &mut self.asked {
            asked.map_cells(self.slots.iter().map(|slot| slot.as_ref()?.builder));
        }
    }

    /// Refuses to leave out a column that takes no NULL, where the settings want NULL for it.
    fn may_omit(&self, builders: impl IntoIterator<Item = usize>) -> Result<(), ValueError> {
        let columns =
            builders.into_iter().filter_map(|at| self.builders.get(at)).map(|column| column.column_type());
        match columns.into_iter().find(|column_type| self.omitted_is_null && !column_type.is_nullable()) {
            Some(column_type) => Err(omitted(column_type)),
            None => Ok(()),
        }
    }

    /// Whether the cells of a row from this one on may be missing.
    pub(crate) fn may_omit_from(&self, cell: usize) -> Result<(), ValueError> {
        self.may_omit(self.slots.iter().skip(cell).filter_map(|slot| slot.as_ref()?.builder))
    }

    /// Cells per row.
    pub(crate) fn width(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Rows of the input so far.
    pub(crate) fn rows_total(&self) -> u64 {
        self.rows_before + self.rows_skipped + u64_of(self.rows)
    }

    /// Counts rows that were not appended.
    pub(crate) fn skip_rows(&mut self, rows: usize) {
        self.rows_skipped += u64_of(rows);
    }

    pub(crate) fn column_names(&self) -> impl Iterator<Item = &str> {
        self.file_schema.fields().iter().map(|field| field.name().as_str())
    }

    /// Names of the cells in order: columns, and `column.element` of flattened tuples.
    pub(crate) fn cell_name(&self, cell: usize) -> Option<&str> {
        self.slots.get(cell)?.as_ref().map(|slot| slot.name.as_str())
    }

    pub(crate) fn has_cell_named(&self, name: &str) -> bool {
        let is_column = || self.file_schema.fields().iter().any(|field| field.name() == name);
        self.slots.iter().flatten().any(|slot| slot.name == name) || is_column()
    }

    /// Cells come in this order of names from now on; an unknown name's cells are dropped, or are an error. The name of a
    /// tuple that stands in several cells means all of them.
    pub(crate) fn map_names(
        &mut self,
        names: &[String],
        skip_unknown: bool,
        matching: NameMatching,
    ) -> Result<(), FormatError> {
        let known: Vec<Slot> = self.slots.drain(..).flatten().collect();
        self.named.clear();
        let cells = ColumnNames::new(known.iter().map(|slot| slot.name.as_str()), matching);
        let columns =
            ColumnNames::new(self.file_schema.fields().iter().map(|field| field.name().as_str()), matching);
        let wrong = |message: String| FormatError::new(ErrorCode::INCORRECT_DATA, message);
        let mut named: HashSet<&str> = HashSet::with_capacity(names.len());
        for name in names {
            let find = |among: &ColumnNames| {
                among.find(name.as_bytes()).map_err(|ambiguous| wrong(ambiguous.message(name.as_bytes())))
            };
            let slots: Vec<&Slot> = match (find(&cells)?, find(&columns)?) {
                (Some(cell), _) => known.get(cell).into_iter().collect(),
                (None, Some(column)) => known.iter().filter(|slot| slot.column == column).collect(),
                (None, None) if skip_unknown => vec![],
                (None, None) => return Err(wrong(format!("unknown column \"{name}\" in the header"))),
            };
            self.named.push(
                slots.first().filter(|slot| slots.len() > 1 || slot.path.is_empty()).map(|slot| slot.column),
            );
            if let Some(slot) = slots.iter().find(|slot| !named.insert(&slot.name)) {
                return Err(wrong(format!("column \"{}\" stands twice in the header", slot.name)));
            }
            match slots.is_empty() {
                true => self.slots.push(None),
                false => self.slots.extend(slots.into_iter().cloned().map(Some)),
            }
        }
        let reached: HashSet<usize> = self.slots.iter().flatten().filter_map(|slot| slot.builder).collect();
        self.missing = (0..self.builders.len()).filter(|builder| !reached.contains(builder)).collect();
        self.map_asked();
        self.may_omit(self.missing.iter().copied())?;
        let absent = |slot: &Slot| slot.builder.is_none_or(|builder| !reached.contains(&builder));
        let complete = |slot: &Slot| named.contains(slot.name.as_str()) || absent(slot);
        match known.iter().find(|slot| !complete(slot)) {
            None => Ok(()),
            Some(slot) => {
                let message =
                    format!("the header has only a part of tuple column: \"{}\" is missing", slot.name);
                Err(FormatError::new(ErrorCode::INCORRECT_DATA, message))
            }
        }
    }

    /// Whether the types that a header names, cell by cell, are those of the columns.
    pub(crate) fn check_types(&self, names: &[String]) -> Result<(), FormatError> {
        for (column, name) in self.named.iter().zip(names) {
            let Some((column, asked)) = column.and_then(|at| Some((at, self.types.get(at)?))) else {
                continue;
            };
            if model::type_name::parse(name).ok().as_ref() != Some(asked) {
                let message = format!(
                    "type of column \"{}\" must be {asked}, not {name} as the header says; \
                     input_format_with_types_use_header = 0 passes over the header's types",
                    self.file_schema.field(column).name()
                );
                return Err(FormatError::new(ErrorCode::INCORRECT_DATA, message));
            }
        }
        Ok(())
    }

    /// Appends rows of `width` cells each. What of the input is known to be text is `plain`. `position` tells where in the file
    /// a cell stands.
    pub(crate) fn append(
        &mut self,
        cells: &[Cell<'_>],
        plain: &str,
        position: impl Fn(&Cell<'_>) -> u64,
    ) -> Result<(), FormatError> {
        match self.try_append(cells, plain) {
            None => Ok(()),
            Some(bad) => {
                let at = position(&cells[bad.row * self.width() + bad.cell]);
                Err(self.placed(bad, self.rows_total()).at_position(at))
            }
        }
    }

    /// The error of a bad cell with its column and row; `rows_before` are the rows ahead of its run.
    pub(crate) fn placed(&self, bad: BadCell, rows_before: u64) -> FormatError {
        let name = self.cell_name(bad.cell).unwrap_or_default().to_owned();
        let row = rows_before + u64_of(bad.row) + 1;
        FormatError::from(bad.error).at_row(row).in_column(name)
    }

    /// Appends rows, or gives the first bad cell of the first bad row; then builders hold parts of rows.
    fn try_append(&mut self, cells: &[Cell<'_>], plain: &str) -> Option<BadCell> {
        let width = self.width();
        let count = cells.len().checked_div(width).unwrap_or(0);
        if count == 0 {
            return None;
        }
        let mut first_bad: Option<BadCell> = None;
        let mut defaults: Vec<usize> = Vec::new();
        for (cell, slot) in self.slots.iter().enumerate() {
            let Some(slot) = slot.as_ref().filter(|slot| slot.builder.is_some()) else { continue };
            // Rows from the first bad one on need no reading: this append is lost anyway.
            let limit = first_bad.as_ref().map_or(count, |bad| bad.row);
            let column = cells[cell..].iter().step_by(width).take(limit).copied();
            let Some(builder) = builder_at(&mut self.builders, slot) else { continue };
            let before = builder.len();
            let (mut done, mut appended) = (0, builder.append_cells(column.clone(), plain));
            while let Err(failed) = appended {
                done += failed.index;
                if !self.bad_as_default {
                    let ends_line = self.ends_lines && cell + 1 == width;
                    let text = cells[done * width + cell];
                    let error = ended(failed.error, text, builder.column_type(), ends_line);
                    first_bad = Some(BadCell { row: done, cell, error });
                    break;
                }
                builder.truncate(before + done);
                builder.append_default();
                defaults.push(done * width + cell);
                done += 1;
                appended = builder.append_cells(column.clone().skip(done), plain);
            }
        }
        if first_bad.is_some() {
            return first_bad;
        }
        for column in &self.missing {
            (0..count).for_each(|_| self.builders[*column].append_default());
        }
        self.builders.iter_mut().for_each(TypedColumnBuilder::count_tuple_rows);
        let mut cells = Cow::Borrowed(cells);
        for at in defaults {
            cells.to_mut()[at].form = TextForm::Default;
        }
        self.asked.iter_mut().for_each(|asked| asked.append(&cells, width));
        self.rows += count;
        None
    }

    /// The rows so far as a batch; `None` when there are none.
    pub(crate) fn finish(&mut self) -> Result<Option<RecordBatch>, FormatError> {
        if self.rows == 0 {
            return Ok(None);
        }
        let failed = |error: ArrowError| FormatError::new(ErrorCode::LOGICAL_ERROR, error.to_string());
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.builders.len());
        for (builder, field) in self.builders.iter_mut().zip(self.schema.fields()) {
            let array = builder.finish()?;
            let fits = array.data_type() == field.data_type();
            arrays.push(if fits { array } else { cast(&array, field.data_type()).map_err(failed)? });
        }
        arrays.extend(self.asked.iter_mut().map(Asked::finish));
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        let batch =
            RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options).map_err(failed)?;
        self.rows_before += u64_of(self.rows);
        self.rows = 0;
        Ok(Some(batch))
    }
}

/// The error of a cell; of a bare integer with more behind it, that the line does not end there.
fn ended(error: ValueError, cell: Cell<'_>, of: &ColumnType, ends_line: bool) -> ValueError {
    let is_bare = cell.form == TextForm::Raw && !cell.text.starts_with(b"'");
    let has_more = of.is_integer() && error.code == ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED;
    match ends_line && is_bare && has_more {
        true => ValueError { code: ErrorCode::INCORRECT_DATA, ..error },
        false => error,
    }
}

fn builder_at<'b>(builders: &'b mut [TypedColumnBuilder], slot: &Slot) -> Option<&'b mut TypedColumnBuilder> {
    let mut builder = builders.get_mut(slot.builder?)?;
    for child in &slot.path {
        builder = builder.tuple_children()?.get_mut(*child)?;
    }
    Some(builder)
}

fn push_slots(slots: &mut Vec<Slot>, slot: Slot, column_type: &ColumnType, flatten: bool) {
    match column_type {
        ColumnType::Tuple(elements) if flatten && !elements.is_empty() => {
            for (at, element) in elements.iter().enumerate() {
                let mut path = slot.path.clone();
                path.push(at);
                let position = (at + 1).to_string();
                let name = format!("{}.{}", slot.name, element.name.as_deref().unwrap_or(&position));
                push_slots(slots, Slot { path, name, ..slot.clone() }, &element.column_type, flatten);
            }
        }
        _ => slots.push(slot),
    }
}
