//! A damaged part is an error of the statements that need it, and of no others; nobody makes wrong rows out of it.
#![expect(clippy::disallowed_methods, reason = "the test is the disk that lies")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::{Config, Database, Error};

use crate::support::{drawn, open, quiet_at, run, with_runtime};

const TABLE: &str = "CREATE TABLE t (p UInt8, n UInt64, name String, tag LowCardinality(String), \
     list Array(Nullable(Int32))) ENGINE = MergeTree PARTITION BY p ORDER BY n";

fn insert(partition: u8, first: u32, rows: u32) -> String {
    format!(
        "INSERT INTO t SELECT {partition}, number, concat('name ', toString(number % 977)), \
         concat('tag ', toString(number % 7)), [number, NULL] FROM numbers({first}, {rows})"
    )
}

struct Server(Arc<Database>);

impl Server {
    fn open(root: &Path) -> Server {
        Server(open(root))
    }

    async fn run(&self, sql: &str) -> Result<String, Error> {
        Ok(drawn(&run(&self.0.session(), sql).await?))
    }

    /// The file of the part of these rows.
    async fn file(&self, condition: &str) -> PathBuf {
        let sql =
            format!("SELECT path FROM system.parts WHERE active AND table = 't' AND {condition} LIMIT 1");
        let shown = self.run(&sql).await.unwrap();
        shown.lines().nth(3).unwrap().trim_matches(['|', ' ']).into()
    }

    async fn close(self) {
        self.0.close().await;
    }
}

fn flip(file: &Path, at: usize) {
    let mut bytes = std::fs::read(file).unwrap();
    bytes[at] ^= 1 << (at % 8);
    std::fs::write(file, bytes).unwrap();
}

fn with_folder<F: Future<Output = ()>>(test: impl FnOnce(PathBuf) -> F) {
    let folder = tempfile::tempdir().unwrap();
    with_runtime(test(folder.path().to_owned()));
}

fn is_damage(error: &Error) -> bool {
    error.code.number() == 40 && error.message.contains("table \"t\", part 0_")
}

#[test]
fn a_flipped_bit_is_never_an_answer() {
    const SELECT: &str =
        "SELECT sum(cityHash64(p, n, name, tag, toString(list))), count() FROM t WHERE n < 1000000000";
    with_folder(async |root| {
        let server = Server::open(&root);
        server.run(TABLE).await.unwrap();
        server.run(&insert(0, 0, 20_000)).await.unwrap();
        server.run("SYSTEM FLUSH LOGS").await.ok();
        server.run("OPTIMIZE TABLE t FINAL").await.unwrap();
        let expected = server.run(SELECT).await.unwrap();
        let file = server.file("rows > 0").await;
        server.close().await;
        let bytes = usize::try_from(std::fs::metadata(&file).unwrap().len()).unwrap();
        let mut errors = 0;
        for turn in 0..32 {
            // Every fourth in the tail.
            let at = if turn % 4 == 3 { bytes - 1 - turn * 40 } else { 4 + (bytes - 4) * turn / 33 };
            flip(&file, at);
            let server = Server::open(&root);
            match server.run(SELECT).await {
                Ok(answer) => assert_eq!(answer, expected, "byte {at} of {bytes}"),
                Err(error) => {
                    assert!(is_damage(&error), "byte {at} of {bytes}: {error}");
                    errors += 1;
                }
            }
            server.close().await;
            flip(&file, at);
        }
        assert!(errors >= 30, "{errors}");
    });
}

#[test]
fn a_damaged_part_is_not_merged_and_hinders_nobody_else() {
    with_folder(async |root| {
        let server = Server::open(&root);
        server.run(TABLE).await.unwrap();
        for (partition, first) in [(0, 0), (0, 300_000), (0, 600_000), (1, 0), (1, 300_000)] {
            server.run(&insert(partition, first, 300_000)).await.unwrap();
        }
        let parts = "SELECT toString(p) AS p, count() FROM (SELECT partition AS p FROM system.parts WHERE active) \
                     GROUP BY p ORDER BY p";
        let before = server.run(parts).await.unwrap();
        let rows = server.run("SELECT sum(n), count() FROM t WHERE p = 1").await.unwrap();
        let file = server.file("partition = '0' AND min_block_number = 1").await;
        let at = usize::try_from(std::fs::metadata(&file).unwrap().len()).unwrap() / 3;
        flip(&file, at);
        for _ in 0..2 {
            let error = server.run("OPTIMIZE TABLE t FINAL").await.unwrap_err();
            assert!(error.message.contains("table \"t\", part 0_1_1_0"), "{error}");
        }
        let after = server.run(parts).await.unwrap();
        assert!(after.contains("| 0 | 2") && after.contains("| 1 | 1"), "{before}\n{after}");
        assert_eq!(server.run("SELECT sum(n), count() FROM t WHERE p = 1").await.unwrap(), rows);
        assert!(is_damage(
            &server.run("SELECT sum(cityHash64(p, n, name, tag, toString(list))) FROM t").await.unwrap_err()
        ));
        let checked = server.run("CHECK TABLE t").await.unwrap();
        let broken = "SELECT name FROM system.parts WHERE is_broken AND exception LIKE '%checksum%' AND last_checked IS NOT NULL";
        let broken = server.run(broken).await.unwrap();
        assert_eq!(broken.matches("0_").count(), 1, "{broken}");
        assert!(checked.contains("| 0_1_1_0") && checked.contains("its checksum is"), "{checked}");
        flip(&file, at);
        server.run("CHECK TABLE t").await.unwrap();
        let seen = "SELECT countIf(is_broken) AS b, countIf(last_checked IS NULL) AS n FROM system.parts WHERE active";
        let seen = server.run(seen).await.unwrap();
        assert!(seen.contains("| 0 | 0 |"), "{seen}");
        server.run("OPTIMIZE TABLE t FINAL").await.unwrap();
        let sound = server.run(parts).await.unwrap();
        assert!(sound.contains("| 0 | 1") && sound.contains("| 1 | 1"), "{sound}");
        server.close().await;
    });
}

#[test]
fn pages_are_compared_before_they_are_kept() {
    with_folder(async |root| {
        let server = Server::open(&root);
        server.run(TABLE).await.unwrap();
        server.run(&insert(0, 0, 300_000)).await.unwrap();
        let query = "SELECT uniqExact(name) FROM t";
        let expected = server.run(query).await.unwrap();
        let file = server.file("rows > 0").await;
        let bytes = std::fs::read(&file).unwrap();
        // The first page of names: of the pages that are packed, the first whose damage the query meets.
        let packed = bytes.windows(4).enumerate().filter(|(_, four)| *four == [0x28, 0xb5, 0x2f, 0xfd]);
        let mut at = 0;
        for (place, _) in packed {
            at = place + 20;
            flip(&file, at);
            if server.run(&format!("{query} SETTINGS use_uncompressed_cache = 0")).await.is_err() {
                break;
            }
            flip(&file, at);
        }
        // The second reading is the one that would keep them.
        for _ in 0..3 {
            let error = server.run(query).await.unwrap_err();
            assert!(is_damage(&error) && error.message.contains("column name, row group 0"), "{error}");
        }
        flip(&file, at);
        for _ in 0..3 {
            assert_eq!(server.run(query).await.unwrap(), expected);
        }
        flip(&file, at);
        assert_eq!(server.run(query).await.unwrap(), expected, "what is kept was compared");
        flip(&file, at);
        std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
        let error = server.run("SELECT sum(cityHash64(p, n, tag, toString(list))) FROM t").await.unwrap_err();
        assert!(error.code.number() == 246 && error.message.contains("table \"t\", part 0_1_1_0"), "{error}");
        server.close().await;
    });
}

#[test]
fn old_parts_are_looked_at_unasked() {
    with_folder(async |root| {
        let config = Config { background: true, scrub_interval_ms: 1, ..quiet_at(&root) };
        let server = Server(Database::open(config).unwrap());
        server.run("SYSTEM STOP MERGES").await.unwrap();
        server.run(TABLE).await.unwrap();
        server.run(&insert(0, 0, 300_000)).await.unwrap();
        server.run(&insert(0, 300_000, 300_000)).await.unwrap();
        let file = server.file("min_block_number = 2").await;
        flip(&file, 5_000);
        let found = "SELECT countIf(is_broken AND min_block_number = 2) AS b, countIf(is_broken) AS a, \
                     countIf(last_checked IS NULL) AS n FROM system.parts";
        let mut shown = String::new();
        for _ in 0..1_000 {
            shown = server.run(found).await.unwrap();
            if shown.contains("| 1 | 1 | 0 |") {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        assert!(shown.contains("| 1 | 1 | 0 |"), "{shown}");
        server.close().await;
    });
}
