//! What a commit costs on this machine's disk; the figures of `docs/design/commitlog.md` come from here:
//! `cargo test --release -p commitlog cost -- --ignored --nocapture`.

use std::path::Path;
use std::time::Duration;

use super::*;

const COMMITS: u64 = 2000;
const BYTES: u64 = 200;

/// Tenth percentile and median: on a busy machine the median is that of the scheduler.
struct Cost {
    tenth: Duration,
    median: Duration,
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "median {:?}, tenth percentile {:?}", self.median, self.tenth)
    }
}

impl Cost {
    /// Times the commits one by one.
    fn of(host: &Host, mut commit: impl FnMut(u64)) -> Self {
        let mut times: Vec<Duration> = (0..COMMITS)
            .map(|n| {
                let start = host.clock.monotonic();
                commit(n);
                host.clock.monotonic() - start
            })
            .collect();
        times.sort_unstable();
        Self { tenth: times[times.len() / 10], median: times[times.len() / 2] }
    }
}

/// One write of 200 bytes and one sync each, in a file filled with `zeros` zeros before.
fn commits(host: &Host, path: &Path, zeros: u64) -> Cost {
    let mut file = host.disk.create(path).expect("created");
    write_zeros(&mut *file, 0, zeros).expect("filled");
    file.sync_data().expect("synced");
    Cost::of(host, |n| {
        file.write_at(n * BYTES, &[1; 200]).expect("written");
        file.sync_data().expect("synced");
    })
}

#[test]
#[ignore = "measures the disk for seconds; its answer is for people"]
fn a_zero_filled_file_commits_faster_than_a_growing_one() {
    let dir = tempfile::tempdir().expect("tempdir");
    let host = Host::system(1 << 20).expect("host");
    let filled = commits(&host, &dir.path().join("filled"), COMMITS * BYTES);
    let growing = commits(&host, &dir.path().join("growing"), 0);
    let folder = LogFolder::below(&dir.path().join("log"));
    let mut log = LocalLog::open(&host, &folder, 0, &mut |_| Ok(()), LogConfig::default()).expect("opened");
    let append = Cost::of(&host, |_| {
        put(&mut log, &[Bytes::from_static(&[1; 100])]);
    });
    println!("zero-filled {filled}\ngrowing {growing}\nLocalLog::append {append}");
    assert!(filled.tenth < growing.tenth, "zero-filled {filled}, growing {growing}");
}
