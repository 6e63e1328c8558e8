//! The columns a file brings, as the columns that were asked for.
//!
//! Invariant: batches have the schema asked for. A column the file lacks is NULL or its default, one nobody asked for is
//! dropped or an error, values change their type by the rules of `conform`. Must not know: bytes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow::datatypes::{DataType, FieldRef, SchemaRef};
use arrow::error::ArrowError;
use model::type_arrow::{from_field, to_data_type, to_field};
use model::{ColumnType, ErrorCode};

use crate::columns::conform::{conform_from, missing, written};
use crate::columns::omitted::{Omissions, asked_in, without_omissions};
use crate::error::FormatError;
use crate::settings::FormatSettings;
use model::format_kind::FormatKind;

/// The types of a schema's columns, in order.
pub fn types_of(schema: &SchemaRef) -> Vec<ColumnType> {
    schema.fields().iter().map(|field| from_field(field)).collect()
}

/// The columns that were asked for, before the file is known.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) kind: FormatKind,
    /// Every column the caller believes the file to have.
    pub(crate) file_schema: SchemaRef,
    /// Schema of the batches, omission columns included.
    pub(crate) schema: SchemaRef,
    omissions: Omissions,
    /// Names of that schema.
    names: Arc<HashSet<String>>,
    /// Whether case matters in names.
    pub(crate) any_case: bool,
    /// Whether the file may lack columns.
    pub(crate) allow_missing: bool,
    /// Tuples of the file that are read for members asked for as columns.
    pub(crate) taken_apart: HashSet<String>,
    pub(crate) settings: Arc<FormatSettings>,
}

/// How the file's columns become the wanted ones.
#[derive(Debug)]
pub(crate) struct Fit {
    wanted: Wanted,
    types: Vec<ColumnType>,
    /// For each column of the schema its place in the file.
    places: Vec<Option<usize>>,
    /// For each column of the file its place in the schema.
    wanted_at: Vec<Option<usize>>,
}

impl Wanted {
    pub(crate) fn new(
        kind: FormatKind,
        file_schema: SchemaRef,
        projection: Option<&[usize]>,
        settings: &FormatSettings,
    ) -> Result<Self, FormatError> {
        let schema = match projection {
            Some(columns) => Arc::new(file_schema.project(columns).map_err(|error| failed(&error))?),
            None => Arc::clone(&file_schema),
        };
        let settings = Arc::new(settings.clone());
        let (file_schema, _) = without_omissions(&file_schema)?;
        let omissions = Omissions::of(&schema)?;
        let wanted = schema.fields().iter().take(omissions.width);
        let names = Arc::new(wanted.map(|field| field.name().clone()).collect());
        let (any_case, allow_missing) = (false, true);
        let taken_apart = HashSet::new();
        Ok(Self {
            kind,
            file_schema,
            schema,
            omissions,
            names,
            any_case,
            allow_missing,
            taken_apart,
            settings,
        })
    }

    fn error(&self, message: &str) -> FormatError {
        FormatError::new(ErrorCode::INCORRECT_DATA, format!("{} {message}", self.kind.name()))
    }

    /// Whether a column of the file has a place in the batches.
    pub(crate) fn is_wanted(&self, name: &str) -> bool {
        self.names.contains(name) || self.any_case && self.fields().any(|field| self.same(field.name(), name))
    }

    fn similar(&self, name: &str, names: &[String]) -> Option<usize> {
        names.iter().position(|other| self.same(name, other))
    }

    /// Place of the column of that name among those of the file.
    pub(crate) fn place_of(&self, name: &str, names: &[String]) -> Option<usize> {
        names.iter().position(|other| other == name).or_else(|| self.similar(name, names))
    }

    /// The columns asked for.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &FieldRef> {
        self.schema.fields().iter().take(self.omissions.width)
    }

    fn same(&self, a: &str, b: &str) -> bool {
        a == b || self.any_case && a.eq_ignore_ascii_case(b)
    }

    fn is_known(&self, name: &str) -> bool {
        let known = || self.file_schema.fields().iter().any(|field| self.same(field.name(), name));
        self.is_wanted(name) || known() || self.taken_apart.contains(name)
    }

    /// Columns are found by the names the file gives them.
    pub(crate) fn by_name(&self, names: &[String], types: Vec<ColumnType>) -> Result<Fit, FormatError> {
        let mut by_name: HashMap<&str, usize> = HashMap::with_capacity(names.len());
        for (at, name) in names.iter().enumerate() {
            if by_name.insert(name, at).is_some() {
                return Err(self.error(&format!("data has the column \"{name}\" twice")));
            }
            if !self.settings.skip_unknown_fields && !self.is_known(name) {
                let message = format!(
                    "data has the column \"{name}\", which was not asked for: \
                     set input_format_skip_unknown_fields = 1 to leave it out"
                );
                return Err(self.error(&message));
            }
        }
        let mut places = Vec::with_capacity(self.omissions.width);
        for field in self.fields() {
            let exact = by_name.get(field.name().as_str()).copied();
            let place =
                exact.or_else(|| if self.any_case { self.similar(field.name(), names) } else { None });
            if place.is_none() && !self.allow_missing {
                return Err(self.error(&format!(
                    "data has no column \"{}\": set input_format_arrow_allow_missing_columns = 1 to read its default",
                    field.name()
                )));
            }
            places.push(place);
        }
        Ok(Fit::new(self.clone(), types, places))
    }

    /// Columns stand in the file in the order of the file's schema.
    pub(crate) fn by_place(&self, types: Vec<ColumnType>) -> Fit {
        let place = |name: &str| self.file_schema.index_of(name).ok().filter(|place| *place < types.len());
        let places = self.fields().map(|field| place(field.name())).collect();
        Fit::new(self.clone(), types, places)
    }
}

impl Fit {
    fn new(wanted: Wanted, types: Vec<ColumnType>, places: Vec<Option<usize>>) -> Self {
        let mut wanted_at = vec![None; types.len()];
        for (at, place) in places.iter().enumerate() {
            if let Some(known) = place.and_then(|place| wanted_at.get_mut(place)) {
                *known = Some(at);
            }
        }
        Self { wanted, types, places, wanted_at }
    }

    /// Name of the column at a place of the file.
    pub(crate) fn name(&self, place: usize) -> String {
        match self.wanted_at.get(place).copied().flatten() {
            Some(at) => self.wanted.schema.field(at).name().clone(),
            None => format!("number {}", place + 1),
        }
    }

    pub(crate) fn types(&self) -> &[ColumnType] {
        &self.types
    }

    /// Whether the file's column at `place` was asked for.
    pub(crate) fn is_wanted(&self, place: usize) -> bool {
        self.wanted_at.get(place).copied().flatten().is_some()
    }

    /// A batch of the file's columns; those not asked for may be `None`.
    pub(crate) fn batch(
        &self,
        columns: &[Option<ArrayRef>],
        rows: usize,
    ) -> Result<RecordBatch, FormatError> {
        self.batch_marked(columns, rows, &[])
    }

    /// [`Fit::batch`] of data that mark cells which ask for their default: an omission column, or none, for each of the file's.
    pub(crate) fn batch_marked(
        &self,
        columns: &[Option<ArrayRef>],
        rows: usize,
        marked: &[Option<ArrayRef>],
    ) -> Result<RecordBatch, FormatError> {
        let mut arrays = Vec::with_capacity(self.wanted.schema.fields().len());
        for (field, place) in self.wanted.schema.fields().iter().zip(&self.places) {
            let given = place.and_then(|place| Some((columns.get(place)?.as_ref()?, self.types.get(place)?)));
            let array = match given {
                Some((array, column_type)) => {
                    if array.null_count() > 0 && !field.is_nullable() && !self.wanted.settings.null_as_default
                    {
                        let message = "has NULL, which its type does not know: set input_format_null_as_default = 1 \
                                       to read the default";
                        let error =
                            FormatError::new(ErrorCode::CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN, message);
                        return Err(error.in_column(field.name()));
                    }
                    let array = self.readable(array, column_type, &from_field(field))?;
                    conform_from(&array, Some(&to_field(field.name(), column_type)), field)
                }
                None => missing(field, rows),
            };
            arrays.push(array.map_err(|error| {
                let message = format!("a column of {} data {}", self.wanted.kind.name(), error.message);
                FormatError::new(error.code, message).in_column(field.name())
            })?);
        }
        for column in &self.wanted.omissions.columns {
            let place = self.places.get(*column).copied().flatten();
            let given = place.and_then(|place| columns.get(place)?.as_ref());
            let may_ask = self.wanted.settings.defaults_for_omitted_fields;
            let mark = place.and_then(|place| marked.get(place)?.clone()).filter(|_| may_ask);
            let field = self.wanted.schema.field(*column);
            arrays.push(mark.unwrap_or_else(|| asked_in(given, field, rows, may_ask)));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.wanted.schema), arrays, &options)
            .map_err(|error| failed(&error))
    }

    /// Values whose Arrow layout says less than their type (names of enums, UUIDs, dates) as text, where text or
    /// another enum is asked for.
    fn readable(
        &self,
        array: &ArrayRef,
        from: &ColumnType,
        to: &ColumnType,
    ) -> Result<ArrayRef, FormatError> {
        let (from_value, to_value) = (from.value_type(), to.value_type());
        if let (DataType::Timestamp(unit, _), DataType::Timestamp(_, zone)) =
            (array.data_type(), to_data_type(to_value))
        {
            // A zone only says how a time is shown; Arrow's cast would take a time without one for a local time.
            let labelled = array.to_data().into_builder().data_type(DataType::Timestamp(*unit, zone)).build();
            return labelled.map(make_array).map_err(|error| failed(&error));
        }
        let to_text = to_value.is_string() && !from_value.is_string();
        let renamed = from_value.enum_values().is_some() && to_value.enum_values().is_some();
        if from_value == to_value || !(to_text || renamed) || *from_value == ColumnType::Nothing {
            return Ok(Arc::clone(array));
        }
        written(array, from, &self.wanted.settings).map_err(FormatError::from)
    }
}

fn failed(error: &ArrowError) -> FormatError {
    FormatError::new(ErrorCode::LOGICAL_ERROR, error.to_string())
}
