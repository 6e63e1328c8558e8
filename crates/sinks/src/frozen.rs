//! A listing frozen into a load, and found again when the load goes on.
//!
//! Invariant: a unit is only read from the file it was cut from, in the same version, and the files mean what they meant
//! when the load was opened. Must not know: who reads.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use catalog::{StagedLoad, TableState};
use model::saturating::{u64_of, usize_of};
use model::{ColumnType, ErrorCode, Label, StagedFile, StagedInput, StagedUnit};
use physical::nodes::unit_list::UnitList;
use sources::{ObjectTable, SourceUnit};
use sql::Settings;
use stores::SourceFile;

/// What a load freezes is one record: half of what a record of the log may have.
const FROZEN_BYTES_MAX: usize = 16 << 20;

/// What a source was found to be when its load was opened: nothing is inferred again, or files that came or went in the
/// meantime would change what the statement means.
pub struct KnownSource {
    pub format: String,
    pub columns: Vec<(String, ColumnType)>,
}

/// What is to be said of a load whose units [fit](fits) no record.
pub fn too_many(source: &ObjectTable, units: &[SourceUnit]) -> String {
    let (files, count) = (source.files().len(), units.len());
    format!(
        "a load of {files} files and {count} units is too large to be resumable: its label is kept when all of it is \
         loaded; load fewer files at a time to have it go on after an error"
    )
}

/// Whether they can be frozen.
pub fn fits(source: &ObjectTable, units: &[SourceUnit]) -> bool {
    frozen_bytes(source.files(), units) <= FROZEN_BYTES_MAX
}

/// Bytes the lists will about have in the log, rather too many: a varint has 5 bytes at most, or 10 for a `u64`.
fn frozen_bytes(files: &[Arc<SourceFile>], units: &[SourceUnit]) -> usize {
    let version = |file: &SourceFile| file.etag.as_ref().map_or(40, String::len);
    let of_files: usize = files.iter().map(|file| 24 + file.path.len() + version(file)).sum();
    let row_groups = |unit: &SourceUnit| unit.row_groups.as_ref().map_or(0, |groups| 8 + 5 * groups.len());
    of_files + units.iter().map(|unit| 32 + row_groups(unit)).sum::<usize>()
}

/// What decides the rows of a load beside its files.
pub fn input_of(
    settings: &Settings,
    current_database: &str,
    source: &ObjectTable,
    token: Option<&str>,
) -> StagedInput {
    let settings = settings.deciding_rows();
    StagedInput {
        format: source.format().name().into(),
        columns: columns_of(source),
        current_database: current_database.into(),
        token: token.map(Arc::from),
        settings: settings.map(|(name, value)| (name.into(), value.into())).collect(),
    }
}

fn columns_of(source: &ObjectTable) -> Vec<(Arc<str>, Arc<str>)> {
    let column = |(name, column_type): &(String, ColumnType)| {
        (Arc::from(name.as_str()), Arc::from(column_type.to_string()))
    };
    source.columns().iter().map(column).collect()
}

/// Format and columns as the load found them. With a type that cannot be read back they are inferred again, and
/// [`check_source`] tells whether they are the same.
pub fn known_source(load: &StagedLoad) -> Option<KnownSource> {
    let input = load.input.as_ref()?;
    let column = |(name, type_name): &(Arc<str>, Arc<str>)| {
        Some((name.to_string(), model::type_name::parse(type_name).ok()?))
    };
    let columns = input.columns.iter().map(column).collect::<Option<Vec<_>>>()?;
    Some(KnownSource { format: input.format.to_string(), columns })
}

/// Refuses to go on with a load that goes by the places of its table's columns, when these have changed.
pub fn check_columns(load: &StagedLoad, table: &TableState, columns: Option<&[String]>) -> Result<(), Error> {
    if columns.is_some() || load.schema_version == table.def.schema_version {
        return Ok(());
    }
    let message = format!(
        "the columns of table \"{}\" have changed since {} was opened, and its statement names none",
        table.def.name,
        shown(load)
    );
    Err(Error::new(ErrorKind::Conflict, ErrorCode::INCORRECT_DATA, message)
        .with_hint(give_up(load.label.as_str())))
}

/// The load as people know it.
fn shown(load: &StagedLoad) -> String {
    match load.label.is_hidden() {
        true => "the load".to_owned(),
        false => format!("load \"{}\"", load.label.as_str()),
    }
}

/// Refuses a source that is not what it was when the load was opened.
pub fn check_source(load: &StagedLoad, source: &ObjectTable) -> Result<(), Error> {
    let Some(input) = &load.input else { return Ok(()) };
    if *input.format == *source.format().name() && input.columns == columns_of(source) {
        return Ok(());
    }
    let shown = |format: &str, columns: &[(Arc<str>, Arc<str>)]| {
        let columns: Vec<String> = columns.iter().map(|(name, shown)| format!("{name} {shown}")).collect();
        format!("{format} ({})", columns.join(", "))
    };
    let then = shown(&input.format, &input.columns);
    let now = shown(source.format().name(), &columns_of(source));
    let message = format!(
        "the files of load \"{}\" were read as {then} when it was opened, and are now {now}",
        load.label.as_str()
    );
    Err(Error::new(ErrorKind::Conflict, ErrorCode::INCORRECT_DATA, message)
        .with_hint("run the statement again"))
}

/// Files and units as the catalog keeps them.
///
/// # Errors
/// More of either than can be numbered.
pub fn freeze(
    files: &[Arc<SourceFile>],
    units: &[SourceUnit],
) -> Result<(Vec<StagedFile>, Vec<StagedUnit>), Error> {
    let narrow = |number: usize| {
        u32::try_from(number).map_err(|_| {
            Error::new(
                ErrorKind::Limit,
                ErrorCode::BAD_ARGUMENTS,
                "a load of more files or units than it can number",
            )
        })
    };
    narrow(units.len())?;
    let staged = files.iter().map(|file| StagedFile {
        path: file.path.as_str().into(),
        bytes: file.bytes,
        version: version_of(file),
    });
    let unit = |unit: &SourceUnit| -> Result<StagedUnit, Error> {
        let row_groups = unit.row_groups.as_ref();
        let row_groups =
            row_groups.map(|all| all.iter().map(|group| narrow(*group)).collect::<Result<Vec<u32>, Error>>());
        Ok(StagedUnit {
            file: narrow(unit.file)?,
            row_groups: row_groups.transpose()?,
            range: unit.range.clone(),
            bytes: unit.bytes,
            rows: unit.rows,
        })
    };
    Ok((staged.collect(), units.iter().map(unit).collect::<Result<_, Error>>()?))
}

/// The ETag, or else the time of the last change.
fn version_of(file: &SourceFile) -> Option<Arc<str>> {
    let changed = || file.modified.map(|at| format!("changed {}", at.format("%Y-%m-%d %H:%M:%S%.3f UTC")));
    file.etag.clone().or_else(changed).map(Arc::from)
}

/// Where the files of a load stand in a listing: those that still have to be read.
#[derive(Debug, PartialEq)]
pub struct Places(Vec<Option<usize>>);

impl Places {
    /// Of a load that is to be opened over this listing.
    pub fn same(files: usize) -> Places {
        Places((0..files).map(Some).collect())
    }

    /// Of a load that is open.
    ///
    /// # Errors
    /// A file that still has to be read is not there any more, or another one is.
    pub fn find(load: &StagedLoad, files: &[Arc<SourceFile>]) -> Result<Places, Error> {
        let listed: HashMap<&str, usize> =
            files.iter().enumerate().map(|(position, file)| (file.path.as_str(), position)).collect();
        let unread = unread(load);
        let place = |(number, frozen): (u32, &StagedFile)| {
            if !unread.contains(&number) {
                return Ok(None);
            }
            let position = listed.get(&*frozen.path).copied();
            let found = position.and_then(|position| Some((position, files.get(position)?)));
            let (position, now) = found.ok_or_else(|| gone(load, frozen))?;
            if now.bytes != frozen.bytes || version_of(now) != frozen.version {
                return Err(changed(load, frozen, now));
            }
            Ok(Some(position))
        };
        (0_u32..).zip(load.files.iter()).map(place).collect::<Result<_, _>>().map(Places)
    }

    /// # Errors
    /// There is no such file, or nothing of it is to be read.
    pub fn of(&self, file: u32) -> Result<usize, Error> {
        let place = self.0.get(file as usize).copied().flatten();
        place.ok_or_else(|| Error::internal("a unit of a load lies in no file of it"))
    }
}

/// Files, by number, of which something is not staged.
fn unread(load: &StagedLoad) -> BTreeSet<u32> {
    let numbered = (0_u32..).zip(load.units.iter());
    let of_units = numbered.filter(|(number, _)| !load.is_covered(*number)).map(|(_, unit)| unit.file);
    let mut unread: BTreeSet<u32> = of_units.collect();
    unread.extend(load.uncut().map(|(file, _)| file));
    unread
}

/// The units of a load from number `from` on, numbered as they were frozen. Of covered ones only the number is right: nobody reads
/// them again, and their files may be gone.
///
/// # Errors
/// A unit lies in no file.
pub fn thaw(load: &StagedLoad, places: &Places, from: usize) -> Result<Vec<SourceUnit>, Error> {
    let unit = |(number, unit): (u32, &StagedUnit)| -> Result<SourceUnit, Error> {
        let row_groups = |all: &Vec<u32>| all.iter().map(|group| *group as usize).collect();
        let file = if load.is_covered(number) { usize::MAX } else { places.of(unit.file)? };
        Ok(SourceUnit {
            file,
            row_groups: unit.row_groups.as_ref().map(row_groups),
            range: unit.range.clone(),
            bytes: unit.bytes,
            rows: unit.rows,
            share: None,
        })
    };
    (0_u32..).zip(load.units.iter()).skip(from).map(unit).collect()
}

/// Adds to a list what the log has beyond it, and gives what was added.
pub fn take_in(list: &UnitList, open: &StagedLoad, places: &Places) -> Result<Vec<SourceUnit>, Error> {
    let known = list.len();
    let found = thaw(open, places, known)?;
    list.add(known, &found);
    Ok(found)
}

/// About how many units a load will have in all, and their bytes.
pub fn outlook(units: &[SourceUnit], uncut: &[SourceUnit], range_bytes: u64) -> (usize, u64) {
    let bytes = |units: &[SourceUnit]| units.iter().map(|unit| unit.bytes).sum::<u64>();
    let ranges: u64 = uncut.iter().map(|rest| rest.bytes.div_ceil(range_bytes.max(1))).sum();
    (usize_of(u64_of(units.len()) + ranges), bytes(units) + bytes(uncut))
}

/// What is in no unit yet, a piece a file.
pub fn uncut_of(open: &StagedLoad, places: &Places) -> Result<Vec<SourceUnit>, Error> {
    open.uncut().map(|(file, rest)| Ok(piece_of(places.of(file)?, rest))).collect()
}

/// Bytes of a file as a unit.
pub fn piece_of(file: usize, range: Range<u64>) -> SourceUnit {
    let bytes = range.end - range.start;
    SourceUnit { file, row_groups: None, range: Some(range), bytes, rows: None, share: None }
}

fn gone(load: &StagedLoad, frozen: &StagedFile) -> Error {
    let label = load.label.as_str();
    let message = format!("file \"{}\" of {} is not there any more", frozen.path, shown(load));
    Error::new(ErrorKind::Conflict, ErrorCode::FILE_DOESNT_EXIST, message).with_hint(give_up(label))
}

fn changed(load: &StagedLoad, frozen: &StagedFile, now: &SourceFile) -> Error {
    let label = load.label.as_str();
    let told = |bytes: u64, version: Option<&str>| match version {
        Some(version) => format!("{bytes} bytes, version {version}"),
        None => format!("{bytes} bytes"),
    };
    let then = told(frozen.bytes, frozen.version.as_deref());
    let now = told(now.bytes, version_of(now).as_deref());
    let message = format!(
        "file \"{}\" has changed since {} was opened: then {then}; now {now}",
        frozen.path,
        shown(load)
    );
    Error::new(ErrorKind::Conflict, ErrorCode::INCORRECT_DATA, message).with_hint(give_up(label))
}

fn give_up(label: &str) -> String {
    if Label::stored(label).is_some_and(|label| label.is_hidden()) {
        return "run the statement again".to_owned();
    }
    format!("put the file back, or give the load up with CANCEL LOAD '{label}' and run the statement again")
}

#[cfg(test)]
mod tests;
