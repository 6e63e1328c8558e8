//! A folder whose log is gone: what its parts hold comes back, once, in the columns of the newest of them.
#![expect(clippy::disallowed_methods, reason = "the test is who deletes and damages files")]

use std::path::{Path, PathBuf};

use engine::{Config, RestoreRequest, Restored, restore};
use host::Host;

use crate::support::{done, drawn, open_again, quiet_at};

const MEMORY: u64 = 1 << 30;

async fn run_all(root: &Path, statements: &[&str]) -> Vec<String> {
    let database = open_again(Config { memory_bytes_max: Some(MEMORY), ..quiet_at(root) });
    let mut shown = Vec::new();
    for statement in statements {
        shown.push(drawn(&done(&database.session(), statement).await));
    }
    database.close().await;
    shown
}

async fn restored(from: &Path, to: &Path) -> Restored {
    let request = RestoreRequest { from: from.into(), to: to.into(), with_lost: false };
    let work = move || restore(&Host::system(MEMORY).unwrap(), &request, &mut |_| {});
    tokio::task::spawn_blocking(work).await.unwrap().unwrap()
}

fn lose_the_log(root: &Path) {
    std::fs::remove_dir_all(root.join("stream")).unwrap();
    for name in ["ANCHOR", "ANCHOR.2"] {
        let _ = std::fs::remove_file(root.join(name));
    }
}

/// Files of parts, the largest first.
fn parts(root: &Path) -> Vec<PathBuf> {
    let tables = std::fs::read_dir(root.join("data")).unwrap().map(|table| table.unwrap().path());
    let files = tables.flat_map(|table| std::fs::read_dir(table).unwrap().map(|file| file.unwrap().path()));
    let mut files: Vec<PathBuf> = files.collect();
    files.sort_by_key(|file| std::cmp::Reverse(std::fs::metadata(file).unwrap().len()));
    files
}

const ROWS: &str =
    "SELECT count(), sum(n), uniqExact(n), sum(length(name)), arraySort(groupUniqArray(added)) FROM shop.t";

#[tokio::test]
async fn rows_of_parts_come_back_once_in_the_newest_columns() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let before = run_all(
        &from,
        &[
            "CREATE DATABASE shop",
            "CREATE TABLE shop.t (p UInt8, n UInt64, name String) ENGINE = MergeTree PARTITION BY p ORDER BY n",
            "INSERT INTO shop.t SELECT number % 3, number, concat('name ', toString(number)) FROM numbers(30000)",
            "INSERT INTO shop.t SELECT number % 3, number, 'later' FROM numbers(30000, 30000)",
            "OPTIMIZE TABLE shop.t FINAL",
            "ALTER TABLE shop.t ADD COLUMN added String DEFAULT concat('a', toString(p))",
            "INSERT INTO shop.t SELECT 0, number, 'last', 'a0' FROM numbers(60000, 10000)",
            "CREATE TABLE other (x UInt8) ENGINE = MergeTree ORDER BY x",
            "INSERT INTO other SELECT number FROM numbers(100)",
            "OPTIMIZE TABLE other FINAL",
            ROWS,
        ],
    )
    .await;
    lose_the_log(&from);
    let found = restored(&from, &to).await;
    assert!(found.passed_over.is_empty(), "{found:?}");
    assert!(found.tables.iter().all(|table| table.remarks.is_empty()), "{found:?}");
    // The parts of the first two INSERTs were merged to three.
    let shop = found.tables.iter().find(|table| table.name == "t").unwrap();
    assert_eq!((shop.rows, shop.database.as_str()), (70_000, "shop"));
    assert!(shop.parts >= 4 && shop.replaced >= 6, "{shop:?}");
    let after = run_all(&to, &[ROWS, "SELECT count(), sum(x) FROM other", "CHECK TABLE shop.t"]).await;
    assert_eq!(after[0], before[before.len() - 1]);
    assert!(after[1].contains("100") && after[1].contains("4950"), "{}", after[1]);
}

#[tokio::test]
async fn a_damaged_part_gives_its_place_to_those_it_replaced_or_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path().join("from");
    let insert = "INSERT INTO shop.t SETTINGS max_insert_threads = 1, max_threads = 1 \
                  SELECT 0, number, toString(number), 'x' FROM numbers";
    run_all(
        &from,
        &[
            "CREATE DATABASE shop",
            "CREATE TABLE shop.t (p UInt8, n UInt64, name String, added String) ENGINE = MergeTree ORDER BY n",
            &format!("{insert}(0, 20000)"),
            &format!("{insert}(20000, 10000)"),
            "OPTIMIZE TABLE shop.t FINAL",
        ],
    )
    .await;
    lose_the_log(&from);
    let files = parts(&from);
    assert_eq!(files.len(), 3);
    let flip = |file: &Path, at: usize| {
        let mut bytes = std::fs::read(file).unwrap();
        bytes[at] ^= 4;
        std::fs::write(file, bytes).unwrap();
    };
    // The merged one is damaged: its inputs are taken.
    flip(&files[0], 5000);
    let to = folder.path().join("first");
    let found = restored(&from, &to).await;
    assert_eq!((found.tables[0].rows, found.tables[0].remarks.len()), (30_000, 0), "{found:?}");
    // And one of the inputs: its rows are lost, and it is said.
    flip(&files[1], 5000);
    let to = folder.path().join("second");
    let found = restored(&from, &to).await;
    assert_eq!(found.tables[0].rows, 10_000);
    assert!(
        found.tables[0].remarks.iter().all(|remark| remark.starts_with("20000 rows are lost: ")),
        "{found:?}"
    );
    let shown = run_all(&to, &["SELECT count(), min(n), max(n) FROM shop.t"]).await;
    assert!(shown[0].contains("20000") && shown[0].contains("29999"), "{}", shown[0]);
    // A footer that says something else than it did is not believed.
    let length = std::fs::metadata(&files[2]).unwrap().len();
    let bytes = std::fs::read(&files[2]).unwrap();
    let said = bytes
        .windows(19)
        .rposition(|window| window == b"gristmill.replaced\0")
        .or_else(|| bytes.windows(18).rposition(|window| window == b"gristmill.database"));
    assert!(length > 0);
    flip(&files[2], said.unwrap() + 22);
    let found = restored(&from, &folder.path().join("third")).await;
    assert_eq!(found.passed_over.len(), 1, "{found:?}");
}

#[tokio::test]
async fn a_sound_folder_and_a_used_target_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let create = "CREATE TABLE t (x UInt8) ENGINE = MergeTree ORDER BY x";
    run_all(&from, &[create, "INSERT INTO t VALUES (1)"]).await;
    let host = Host::system(MEMORY).unwrap();
    let ask = |from: &Path, to: &Path| {
        let request = RestoreRequest { from: from.into(), to: to.into(), with_lost: false };
        restore(&host, &request, &mut |_| {}).unwrap_err().message
    };
    assert!(ask(&from, &to).contains("nothing has to be restored"));
    assert!(ask(&from, &from.join("inside")).contains("inside"));
    assert!(ask(&folder.path().join("none"), &to).contains("does not exist"));
    std::fs::create_dir(&to).unwrap();
    std::fs::write(to.join("file"), "").unwrap();
    assert!(ask(&from, &to).contains("is not empty"));
}
