//! What is written, when it becomes visible, and what stays when it fails.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use futures::future::BoxFuture;
use host::{Disk, MemoryBudget, SystemDisk};
use model::{ExportObject, ExportStore};
use sources::export::finish::{abort, complete, complete_left};
use sources::export::places::object_name;
use sources::export::{ExportJournal, ExportNames, PartSizes, PartitionKey, Sealed};
use sources::{Destination, Export, ExportSettings};
use stores::{Argument, ArgumentValue, SourceCall, SourceError, SourceErrorKind};

use crate::fixture::Fixture;
use crate::s3_server::{Fault, Kind};

/// Remembers what it was told, or refuses.
#[derive(Default)]
struct Noted {
    opened: Mutex<Vec<String>>,
    reserved: Mutex<BTreeSet<String>>,
    refuses: bool,
}

impl ExportJournal for Noted {
    fn opened(&self, objects: &[ExportObject]) -> Result<(), SourceError> {
        let reserved = self.reserved.lock().unwrap();
        assert!(objects.iter().all(|one| reserved.contains(&object_name(&one.store, &one.key))));
        self.opened.lock().unwrap().extend(objects.iter().map(ExportObject::shown));
        match self.refuses {
            true => Err(SourceError::bad_arguments("refused")),
            false => Ok(()),
        }
    }

    /// Never waits: what is taken is an error.
    fn reserve<'a>(
        &'a self,
        place: &'a ExportStore,
        key: &'a str,
        _waits: bool,
    ) -> BoxFuture<'a, Result<(), SourceError>> {
        let is_new = self.reserved.lock().unwrap().insert(object_name(place, key));
        let taken = || SourceError::new(SourceErrorKind::Exists, format!("{key} is taken"));
        Box::pin(std::future::ready(is_new.then_some(()).ok_or_else(taken)))
    }
}

pub(crate) struct Writing<'a> {
    fixture: &'a Fixture,
    pub(crate) settings: ExportSettings,
    pub(crate) partitioned: bool,
    named: bool,
    journal: Arc<Noted>,
}

impl<'a> Writing<'a> {
    pub(crate) fn new(fixture: &'a Fixture) -> Writing<'a> {
        fixture.server.put("b", "there.csv", "old");
        Writing {
            fixture,
            settings: ExportSettings::default(),
            partitioned: false,
            named: false,
            journal: Arc::default(),
        }
    }

    pub(crate) fn begin(&self, function: &str, path: &str) -> Result<Export, SourceError> {
        let url = if function == "file" { path.to_owned() } else { self.fixture.server.url(path) };
        let arguments = vec![Argument { name: None, value: ArgumentValue::Text(url) }];
        let call = SourceCall { function: function.to_owned(), arguments };
        let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
        let (env, settings) = (&self.fixture.env, self.settings.clone());
        let destination = Destination::new(&call, env, disk, settings, self.partitioned)?;
        let names =
            ExportNames { file_id: "77".to_owned(), temporary_id: "t1".to_owned(), is_named: self.named };
        let journal = Arc::clone(&self.journal) as Arc<dyn ExportJournal>;
        Ok(Export::new(Arc::new(destination), rows(1).schema(), journal, names))
    }

    /// Writes batches into one object, up to the commit.
    pub(crate) fn sealed(
        &self,
        path: &str,
        batches: &[RecordBatch],
    ) -> Result<(Export, Sealed), SourceError> {
        let mut export = self.begin("s3", path)?;
        let sealed = self.fixture.run(async {
            for batch in batches {
                export.write(None, batch).await?;
            }
            export.seal().await
        });
        match sealed {
            Ok(sealed) => Ok((export, sealed)),
            Err(error) => {
                self.journal.reserved.lock().unwrap().clear();
                self.fixture.run(export.abort()).unwrap();
                Err(error)
            }
        }
    }

    /// Makes it visible; with that the statement is over.
    pub(crate) fn commit(&self, sealed: Sealed) -> Result<(), SourceError> {
        self.journal.reserved.lock().unwrap().clear();
        let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
        self.fixture.run(async {
            match sealed {
                Sealed::Whole { object, replaces } => {
                    object.put(replaces).await.map_err(|failed| failed.error)
                }
                Sealed::Staged(objects) => complete(&disk, objects).await,
                Sealed::Posted(pages) => pages.finish().await,
            }
        })
    }
}

pub(crate) fn rows(count: i64) -> RecordBatch {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("n", Arc::new(Int64Array::from_iter_values(0..count))),
        ("t", Arc::new(StringArray::from_iter_values((0..count).map(|n| format!("text {n}"))))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Text of about as many MiB.
pub(crate) fn wide(mib: usize) -> RecordBatch {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("n", Arc::new(Int64Array::from_iter_values(0..i64::try_from(mib).unwrap()))),
        ("t", Arc::new(StringArray::from_iter_values((0..mib).map(|_| "x".repeat(1 << 20))))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

#[test]
fn a_small_object_is_one_conditional_put() {
    let fixture = Fixture::new();
    let writing = Writing::new(&fixture);
    let (_, sealed) = writing.sealed("b/new.csv", &[rows(2)]).unwrap();
    assert_eq!(fixture.server.keys("b"), ["there.csv"]);
    // Somebody else is faster.
    fixture.server.put("b", "new.csv", "theirs");
    let error = writing.commit(sealed).unwrap_err();
    assert_eq!(
        (error.code().number(), fixture.server.content("b", "new.csv").as_ref()),
        (36, b"theirs".as_slice())
    );
    let (_, sealed) = writing.sealed("b/other.csv", &[rows(2)]).unwrap();
    writing.commit(sealed).unwrap();
    assert_eq!(fixture.server.content("b", "other.csv").as_ref(), b"0,\"text 0\"\n1,\"text 1\"\n");
    assert!(writing.journal.opened.lock().unwrap().is_empty(), "one PUT needs no journal");
}

#[test]
fn a_key_that_is_taken_is_an_error_a_replacement_or_a_number() {
    let fixture = Fixture::new();
    let mut writing = Writing::new(&fixture);
    let error = writing.sealed("b/there.csv", &[rows(1)]).map(drop).unwrap_err();
    let text = error.to_string();
    assert_eq!(error.code().number(), 36);
    assert!(
        text.contains("s3_truncate_on_insert") && text.contains("s3_create_new_file_on_insert"),
        "{text}"
    );
    writing.settings.create_new = true;
    for expected in ["there.1.csv", "there.2.csv"] {
        let (_, sealed) = writing.sealed("b/there.csv", &[rows(1)]).unwrap();
        writing.commit(sealed).unwrap();
        assert!(fixture.server.keys("b").contains(&expected.to_owned()), "{:?}", fixture.server.keys("b"));
    }
    // Truncating wins.
    writing.settings.truncate = true;
    let (_, sealed) = writing.sealed("b/there.csv", &[rows(1)]).unwrap();
    writing.commit(sealed).unwrap();
    assert_eq!(fixture.server.content("b", "there.csv").as_ref(), b"0,\"text 0\"\n");
}

#[test]
fn a_large_object_is_sent_in_parts_and_seen_when_completed() {
    let fixture = Fixture::new();
    let mut writing = Writing::new(&fixture);
    writing.settings.part_sizes =
        PartSizes { single_bytes_max: 8 << 20, part_bytes_min: 5 << 20, ..PartSizes::default() };
    fixture.server.forget_arrived();
    let (_, sealed) = writing.sealed("b/big.csv", &[wide(7), wide(7), wide(7)]).unwrap();
    assert_eq!(fixture.server.keys("b"), ["there.csv"]);
    assert_eq!(fixture.server.open_uploads(), ["b/big.csv"]);
    let parts = fixture.server.arrived().iter().filter(|one| one.kind == Kind::Put).count();
    assert_eq!(parts, 5, "21 MiB in parts of 5");
    writing.commit(sealed).unwrap();
    assert!(fixture.server.open_uploads().is_empty());
    assert!(fixture.server.content("b", "big.csv").len() > 21 << 20);
    assert_eq!(*writing.journal.opened.lock().unwrap(), ["b/big.csv"]);
}

#[test]
fn objects_of_one_statement_are_seen_together() {
    let fixture = Fixture::new();
    let mut writing = Writing::new(&fixture);
    writing.partitioned = true;
    let write = |export: &mut Export, values: &[&str]| {
        fixture.run(async {
            for value in values {
                export.write(Some(&PartitionKey::Value((*value).to_owned())), &rows(1)).await?;
            }
            export.seal().await
        })
    };
    let mut export = writing.begin("s3", "b/p_{_partition_id}.csv.gz").unwrap();
    let sealed = write(&mut export, &["x", "y", "x"]).unwrap();
    assert_eq!(fixture.server.keys("b"), ["there.csv"]);
    assert_eq!(fixture.server.open_uploads().len(), 2);
    writing.commit(sealed).unwrap();
    assert_eq!(fixture.server.keys("b"), ["p_x.csv.gz", "p_y.csv.gz", "there.csv"]);
    let table = fixture.s3("b/p_*.csv.gz", &["CSV", "n Int64, t String"]).unwrap();
    assert_eq!(fixture.query(&table, "select count(*) from t").unwrap(), ["3"]);
    // A value that cannot be a key: nothing of the others stays.
    let mut export = writing.begin("s3", "b/q_{_partition_id}.csv").unwrap();
    let error = write(&mut export, &["x", "a/b"]).map(drop).unwrap_err();
    assert!(error.to_string().contains("'/'"), "{error}");
    fixture.run(export.abort()).unwrap();
    assert!(fixture.server.open_uploads().is_empty());
    writing.settings.partitions_max = 2;
    let mut export = writing.begin("s3", "b/r_{_partition_id}.csv").unwrap();
    assert_eq!(write(&mut export, &["1", "2", "3"]).map(drop).unwrap_err().code().number(), 252);
}

#[test]
fn a_failed_statement_leaves_nothing() {
    let fixture = Fixture::new();
    let mut writing = Writing::new(&fixture);
    writing.named = true;
    // Not a passing trouble: it is not tried again.
    fixture.server.fail("partNumber=1", Fault::Status(403, "AccessDenied"), 1);
    let error = writing.sealed("b/lost.csv", &[rows(1)]).map(drop).unwrap_err();
    assert!(error.to_string().contains("writing \"b/lost.csv\" was denied"), "{error}");
    assert!(fixture.server.open_uploads().is_empty());
    assert_eq!(fixture.server.keys("b"), ["there.csv"]);
    // A journal that cannot write: what it may have noted is aborted.
    writing.journal = Arc::new(Noted { refuses: true, ..Noted::default() });
    assert!(writing.sealed("b/lost.csv", &[rows(1)]).is_err());
    assert!(fixture.server.open_uploads().is_empty());
    // Aborting what is gone is done.
    writing.journal = Arc::default();
    let (export, _) = writing.sealed("b/lost.csv", &[rows(1)]).unwrap();
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
    let begun = export.into_begun();
    fixture.run(abort(&disk, begun.clone())).unwrap();
    fixture.run(abort(&disk, begun)).unwrap();
    assert_eq!(fixture.server.keys("b"), ["there.csv"]);
}

#[test]
fn a_completion_whose_answer_was_lost_is_done() {
    let fixture = Fixture::new();
    let writing = Writing { named: true, ..Writing::new(&fixture) };
    let (_, sealed) = writing.sealed("b/once.csv", &[rows(1)]).unwrap();
    let Sealed::Staged(objects) = sealed else { panic!("a named statement is committed by its journal") };
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
    fixture.run(complete(&disk, objects.clone())).unwrap();
    fixture.run(complete(&disk, objects)).unwrap();
    assert_eq!(fixture.server.keys("b"), ["once.csv", "there.csv"]);
}

#[test]
fn a_key_that_another_statement_writes_is_not_written() {
    let fixture = Fixture::new();
    let mut writing = Writing { named: true, ..Writing::new(&fixture) };
    let (_, first) = writing.sealed("b/x.csv", &[rows(1)]).unwrap();
    let mut second = writing.begin("s3", "b/x.csv").unwrap();
    let error = fixture.run(second.write(None, &rows(2))).unwrap_err();
    assert!(error.to_string().contains("x.csv is taken"), "{error}");
    // Numbers are chosen around what others are writing.
    writing.settings.create_new = true;
    let mut third = writing.begin("s3", "b/x.csv").unwrap();
    let third = fixture.run(async {
        third.write(None, &rows(2)).await?;
        third.seal().await
    });
    writing.commit(first).unwrap();
    writing.commit(third.unwrap()).unwrap();
    assert_eq!(fixture.server.keys("b"), ["there.csv", "x.1.csv", "x.csv"]);
    // Two partitions that come to one key: the number of one is the name of the other.
    fixture.server.put("b", "p.csv", "old");
    writing.partitioned = true;
    let mut export = writing.begin("s3", "b/{_partition_id}.csv").unwrap();
    let sealed = fixture.run(async {
        for value in ["p.1", "p"] {
            export.write(Some(&PartitionKey::Value(value.to_owned())), &rows(1)).await?;
        }
        export.seal().await
    });
    writing.commit(sealed.unwrap()).unwrap();
    let keys = fixture.server.keys("b");
    assert!(keys.contains(&"p.1.csv".to_owned()) && keys.contains(&"p.2.csv".to_owned()), "{keys:?}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "somebody else changes the files")]
fn a_file_that_came_meanwhile_is_not_replaced() {
    let fixture = Fixture::new();
    let writing = Writing::new(&fixture);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet").to_str().unwrap().to_owned();
    let mut export = writing.begin("file", &path).unwrap();
    let sealed = fixture.run(async {
        export.write(None, &rows(1)).await?;
        export.seal().await
    });
    std::fs::write(&path, "theirs").unwrap();
    let error = writing.commit(sealed.unwrap()).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Exists);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "theirs");
    // Before the commit it is noticed, too.
    std::fs::remove_file(&path).unwrap();
    let journal = Arc::default();
    let writing = Writing { journal, ..writing };
    let mut export = writing.begin("file", &folder.path().join("b.parquet").display().to_string()).unwrap();
    fixture.run(export.write(None, &rows(1))).unwrap();
    std::fs::write(folder.path().join("b.parquet"), "theirs").unwrap();
    assert_eq!(fixture.run(export.seal()).map(drop).unwrap_err().kind(), SourceErrorKind::Exists);
}

#[test]
fn an_upload_that_is_gone_is_complete_only_if_its_object_is_there() {
    let fixture = Fixture::new();
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
    let mut writing = Writing { named: true, ..Writing::new(&fixture) };
    writing.settings.truncate = true;
    let (_, sealed) = writing.sealed("b/there.csv", &[rows(1)]).unwrap();
    let Sealed::Staged(objects) = sealed else { panic!("a named statement is committed by its journal") };
    // A rule of the bucket was faster, and the object that was to be replaced is still there.
    fixture.run(abort(&disk, objects.clone())).unwrap();
    let error = fixture.run(complete(&disk, objects.clone())).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::NotFound);
    assert!(error.to_string().contains("the object that is there has 3 bytes"), "{error}");
    assert_eq!(fixture.run(complete_left(&disk, objects.clone())).unwrap().len(), 1);
    // What cannot be completed now may be later.
    fixture.server.fail("there.csv", Fault::Status(403, "AccessDenied"), 1);
    assert!(fixture.run(complete_left(&disk, objects)).is_err());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "somebody else changes the files")]
fn a_temporary_file_that_is_gone_is_in_place_only_if_its_bytes_are() {
    let fixture = Fixture::new();
    let writing = Writing::new(&fixture);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv").to_str().unwrap().to_owned();
    let mut export = writing.begin("file", &path).unwrap();
    let sealed = fixture.run(async {
        export.write(None, &rows(1)).await?;
        export.seal().await
    });
    let Sealed::Staged(objects) = sealed.unwrap() else { panic!("files are staged") };
    let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
    for _ in 0..2 {
        fixture.run(complete(&disk, objects.clone())).unwrap();
    }
    std::fs::write(&path, "other").unwrap();
    let error = fixture.run(complete(&disk, objects.clone())).unwrap_err();
    assert!(error.to_string().contains("the file that is there has 5 bytes"), "{error}");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(fixture.run(complete_left(&disk, objects)).unwrap()[0].code().number(), 107);
}

#[test]
fn a_put_whose_answer_was_lost_is_looked_for() {
    let fixture = Fixture::new();
    let writing = Writing::new(&fixture);
    // Carried out; the repetition is refused for another reason.
    let (_, sealed) = writing.sealed("b/lost.csv", &[rows(1)]).unwrap();
    fixture.server.fail("b/lost.csv", Fault::Lost(500), 1);
    fixture.server.fail("b/lost.csv", Fault::Status(403, "AccessDenied"), 1);
    writing.commit(sealed).unwrap();
    assert_eq!(fixture.server.content("b", "lost.csv").as_ref(), b"0,\"text 0\"\n");
    // Refused: there is nothing to look for.
    for (fault, times, is_unknown, is_there) in
        [(Fault::Status(403, "AccessDenied"), 1, false, false), (Fault::Lost(500), 100, true, true)]
    {
        let (_, sealed) = writing.sealed("b/other.csv", &[rows(1)]).unwrap();
        let Sealed::Whole { object, replaces } = sealed else { panic!("small objects are one PUT") };
        fixture.server.fail("b/other.csv", fault, times);
        let failed = fixture.run(object.put(replaces)).unwrap_err();
        writing.journal.reserved.lock().unwrap().clear();
        assert_eq!(failed.is_unknown, is_unknown, "{}", failed.error);
        assert_eq!(fixture.server.keys("b").contains(&"other.csv".to_owned()), is_there);
    }
}

#[test]
fn memory_that_is_refused_is_an_error_that_says_what_to_lower() {
    let mut fixture = Fixture::new();
    fixture.env.memory = MemoryBudget::new(4 << 20);
    let writing = Writing::new(&fixture);
    let error = writing.sealed("b/big.csv", &[wide(6)]).map(drop).unwrap_err();
    assert_eq!(error.code().number(), 241);
    assert!(error.to_string().contains("s3_min_upload_part_size"), "{error}");
}

#[test]
fn what_is_held_is_sent_before_memory_is_refused() {
    let mut fixture = Fixture::new();
    fixture.env.memory = MemoryBudget::new(8 << 20);
    let mut writing = Writing::new(&fixture);
    let batches: Vec<RecordBatch> = std::iter::repeat_with(|| wide(1)).take(20).collect();
    let (_, sealed) = writing.sealed("b/big.csv", &batches).unwrap();
    writing.commit(sealed).unwrap();
    let row = fixture.server.content("b", "big.csv").len() / 20;
    assert!(row > 1 << 20);
    assert_eq!(fixture.env.memory.used(), 0);
    // The second object has too little for a part when memory ends: the first one sends what it has.
    writing.partitioned = true;
    let mut export = writing.begin("s3", "b/p_{_partition_id}.csv").unwrap();
    let sealed = fixture.run(async {
        for (value, count) in [("a", 6), ("b", 4), ("a", 3)] {
            for _ in 0..count {
                export.write(Some(&PartitionKey::Value(value.to_owned())), &wide(1)).await?;
            }
        }
        export.seal().await
    });
    writing.commit(sealed.unwrap()).unwrap();
    for (key, rows) in [("p_a.csv", 9), ("p_b.csv", 4)] {
        assert_eq!(fixture.server.content("b", key).len(), rows * row, "{key}");
    }
}

#[test]
fn local_files_are_renamed_appended_to_and_numbered() {
    let fixture = Fixture::new();
    let mut writing = Writing::new(&fixture);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let names = |of: &std::path::Path| {
        let mut names: Vec<String> =
            std::fs::read_dir(of).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let write = |writing: &Writing<'_>, name: &str| -> Result<Sealed, SourceError> {
        let mut export = writing.begin("file", &path(name))?;
        fixture.run(async {
            export.write(None, &rows(1)).await?;
            export.seal().await
        })
    };
    let sealed = write(&writing, "new/a.csv").unwrap();
    assert_eq!(names(&folder.path().join("new")), [".a.csv.t1.tmp"]);
    writing.commit(sealed).unwrap();
    writing.commit(write(&writing, "new/a.csv").unwrap()).unwrap();
    let both = std::fs::read_to_string(path("new/a.csv")).unwrap();
    assert_eq!(both, "0,\"text 0\"\n0,\"text 0\"\n");
    writing.settings.file_truncate = true;
    writing.commit(write(&writing, "new/a.csv").unwrap()).unwrap();
    assert_eq!(std::fs::read_to_string(path("new/a.csv")).unwrap(), "0,\"text 0\"\n");
    writing.settings.file_truncate = false;
    writing.commit(write(&writing, "b.parquet").unwrap()).unwrap();
    assert_eq!(write(&writing, "b.parquet").map(drop).unwrap_err().code().number(), 641);
    writing.settings.file_create_new = true;
    writing.commit(write(&writing, "b.parquet").unwrap()).unwrap();
    assert_eq!(names(folder.path()), ["b.1.parquet", "b.parquet", "new"]);
}

#[test]
fn patterns_and_foreign_functions_are_refused_by_name() {
    let fixture = Fixture::new();
    let writing = Writing::new(&fixture);
    for (function, path, code, words) in [
        ("s3", "b/*.csv", 291, "read-only"),
        ("s3", "b/{_partition_id}.csv", 36, "PARTITION BY"),
        ("s3", "b/noformat", 715, "tells no format"),
        ("url", "b/{a,b}.csv", 291, "read-only"),
    ] {
        let error = writing.begin(function, path).map(drop).unwrap_err();
        assert_eq!(error.code().number(), code, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}
