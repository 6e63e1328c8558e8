//! A listing frozen into a load, and found again when the load goes on.
//!
//! Pure. Invariant: a unit is only read from the file it was cut from, in the same version. Must not know: who reads.

use std::collections::HashMap;
use std::sync::Arc;

use catalog::StagedLoad;
use model::{StagedFile, StagedUnit};
use sources::{SourceFile, SourceUnit};

use crate::error::{Error, ErrorKind};

/// Files and units as the catalog keeps them.
///
/// # Errors
/// More of either than can be numbered.
pub(crate) fn freeze(
    files: &[Arc<SourceFile>],
    units: &[SourceUnit],
) -> Result<(Vec<StagedFile>, Vec<StagedUnit>), Error> {
    let narrow = |number: usize| {
        u32::try_from(number)
            .map_err(|_| Error::new(ErrorKind::Limit, 36, "a load of more files or units than it can number"))
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

/// The units of a load over `files`, numbered as they were frozen. Of covered ones only the number is right: nobody reads
/// them again, and their files may be gone.
///
/// # Errors
/// A file that still has to be read is not there any more, or another one is.
pub(crate) fn thaw(load: &StagedLoad, files: &[Arc<SourceFile>]) -> Result<Vec<SourceUnit>, Error> {
    let listed: HashMap<&str, usize> =
        files.iter().enumerate().map(|(position, file)| (file.path.as_str(), position)).collect();
    let unit = |(number, unit): (u32, &StagedUnit)| -> Result<SourceUnit, Error> {
        let row_groups = |all: &Vec<u32>| all.iter().map(|group| *group as usize).collect();
        let thawed = |file: usize| SourceUnit {
            file,
            row_groups: unit.row_groups.as_ref().map(row_groups),
            bytes: unit.bytes,
            rows: unit.rows,
        };
        if load.is_covered(number) {
            return Ok(thawed(usize::MAX));
        }
        let frozen = load.files.get(unit.file as usize);
        let frozen = frozen.ok_or_else(|| Error::internal("a unit of a load lies in no file of it"))?;
        let position = listed.get(&*frozen.path).copied();
        let found = position.and_then(|position| Some((position, files.get(position)?)));
        let (position, now) = found.ok_or_else(|| gone(load, frozen))?;
        if now.bytes != frozen.bytes || version_of(now) != frozen.version {
            return Err(changed(load, frozen, now));
        }
        Ok(thawed(position))
    };
    (0_u32..).zip(load.units.iter()).map(unit).collect()
}

fn gone(load: &StagedLoad, frozen: &StagedFile) -> Error {
    let label = load.label.as_str();
    let message = format!("file \"{}\" of load \"{label}\" is not there any more", frozen.path);
    Error::new(ErrorKind::Conflict, 107, message).with_hint(give_up(label))
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
        "file \"{}\" has changed since load \"{label}\" was opened: then {then}; now {now}",
        frozen.path
    );
    Error::new(ErrorKind::Conflict, 117, message).with_hint(give_up(label))
}

fn give_up(label: &str) -> String {
    format!("put the file back, or give the load up with CANCEL LOAD '{label}' and run the statement again")
}

#[cfg(test)]
mod tests;
