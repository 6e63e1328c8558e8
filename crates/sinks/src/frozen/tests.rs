//! What is frozen is found again, and what is not the same is named.

use catalog::loads::OpenedLoad;
use model::{DatabaseId, Label, LoadId, Seq, TableId};

use super::*;

fn file(name: &str, bytes: u64, etag: Option<&str>) -> Arc<SourceFile> {
    Arc::new(SourceFile {
        key: name.to_owned(),
        path: format!("bucket/{name}"),
        file: name.to_owned(),
        bytes,
        modified: None,
        etag: etag.map(str::to_owned),
        headers: None,
        tags: None,
        unwrapped: None,
    })
}

fn unit(file: usize, row_groups: Option<Vec<usize>>) -> SourceUnit {
    SourceUnit { file, row_groups, range: None, bytes: 10, rows: Some(5), share: None }
}

/// The units of a load over these files.
fn thawed(load: &StagedLoad, files: &[Arc<SourceFile>]) -> Result<Vec<SourceUnit>, Error> {
    thaw(load, &Places::find(load, files)?, 0)
}

fn frozen() -> (Vec<Arc<SourceFile>>, Vec<SourceUnit>, StagedLoad) {
    let files = vec![file("a", 100, Some("x")), file("b", 200, Some("y"))];
    let units = vec![unit(0, Some(vec![0, 1])), unit(0, Some(vec![2])), unit(1, None)];
    let (staged_files, staged_units) = freeze(&files, &units).unwrap();
    let load = OpenedLoad {
        id: LoadId::from_bytes([1; 16]),
        database: DatabaseId::from_bytes([2; 16]),
        label: Label::new("l").unwrap(),
        table: TableId::from_bytes([3; 16]),
        fingerprint: 4,
        schema_version: 1,
        statement: "INSERT".into(),
        files: staged_files,
        units: staged_units,
        input: None,
        is_sealed: true,
    };
    (files, units, StagedLoad::new(load, Seq(1), 0))
}

#[test]
fn units_are_found_where_their_files_are_now() {
    let (files, units, load) = frozen();
    assert_eq!(thawed(&load, &files).unwrap(), units);
    let moved = [file("0", 1, None), Arc::clone(&files[1]), Arc::clone(&files[0])];
    let expected = vec![unit(2, Some(vec![0, 1])), unit(2, Some(vec![2])), unit(1, None)];
    assert_eq!(thawed(&load, &moved).unwrap(), expected, "new files are not looked at");
}

#[test]
fn the_columns_of_a_load_are_those_it_was_opened_with() {
    let (_, _, mut load) = frozen();
    assert!(known_source(&load).is_none(), "opened by an earlier program");
    let columns =
        vec![("b c".into(), "Array(Nullable(String))".into()), ("a".into(), "Decimal(9, 2)".into())];
    load.input = Some(Arc::new(StagedInput { format: "CSV".into(), columns, ..StagedInput::default() }));
    let known = known_source(&load).unwrap();
    let shown: Vec<String> = known.columns.iter().map(|(name, shown)| format!("{name}: {shown}")).collect();
    assert_eq!(
        (known.format.as_str(), shown.join("; ").as_str()),
        ("CSV", "b c: Array(Nullable(String)); a: Decimal(9, 2)")
    );
    let columns = vec![("headers".into(), "Tuple(`Content-Type` String)".into())];
    load.input = Some(Arc::new(StagedInput { columns, ..StagedInput::default() }));
    let known = known_source(&load).unwrap();
    assert_eq!(known.columns[0].1.to_string(), "Tuple(`Content-Type` String)");
    let columns = vec![("x".into(), "TypeOfTheFuture(1)".into())];
    load.input = Some(Arc::new(StagedInput { columns, ..StagedInput::default() }));
    assert!(known_source(&load).is_none(), "inferred again");
}

#[test]
fn a_listing_of_very_many_files_is_too_large_to_freeze() {
    let (files, units, _) = frozen();
    assert!(frozen_bytes(&files, &units) < 1000);
    let many = vec![Arc::clone(&files[0]); 400_000];
    let of_many: Vec<SourceUnit> = (0..400_000).map(|file| unit(file, None)).collect();
    assert!(frozen_bytes(&many, &of_many) > FROZEN_BYTES_MAX);
}

#[test]
fn files_of_unfinished_units_must_be_the_same() {
    let (files, _, mut load) = frozen();
    let other = [Arc::clone(&files[0]), file("b", 200, Some("z"))];
    let error = thawed(&load, &other).unwrap_err();
    assert_eq!(
        error.message,
        "file \"bucket/b\" has changed since load \"l\" was opened: then 200 bytes, version y; now 200 bytes, \
         version z"
    );
    assert!(error.hint.unwrap().contains("CANCEL LOAD 'l'"));
    let error = thawed(&load, &files[..1]).unwrap_err();
    assert_eq!(error.message, "file \"bucket/b\" of load \"l\" is not there any more");
    load.cover([2], 5, 0);
    assert_eq!(thawed(&load, &other).unwrap().len(), 3, "its rows are staged");
}

#[test]
fn files_that_are_still_to_be_cut_must_be_the_same_too() {
    let (files, _, mut load) = frozen();
    load.is_sealed = false;
    load.units = [StagedUnit { file: 0, row_groups: None, range: Some(0..60), bytes: 60, rows: None }].into();
    load.cover([0], 5, 0);
    assert_eq!(Places::find(&load, &files).unwrap(), Places::same(2));
    let error = Places::find(&load, &files[1..]).unwrap_err();
    assert_eq!(error.message, "file \"bucket/a\" of load \"l\" is not there any more");
    load.units.push_back(StagedUnit { range: Some(60..100), ..load.units[0].clone() });
    load.cover([1], 5, 0);
    assert!(Places::find(&load, &files[1..]).is_ok(), "its rows are staged");
    assert!(Places::find(&load, &files[..1]).is_err());
}
