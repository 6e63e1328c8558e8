//! Parsing of `/proc` and cgroup files, on folders that imitate them and on the machine itself.
#![expect(clippy::disallowed_methods, reason = "the imitated files are fixtures, not data of the database")]

use super::*;

fn file(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    std::fs::create_dir_all(path.parent().expect("has a parent")).expect("directory");
    std::fs::write(path, text).expect("written");
}

#[test]
fn limits_are_read_by_their_names() {
    let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                  Max cpu time              unlimited            unlimited            seconds   \n\
                  Max open files            64                   1048576              files     \n";
    assert_eq!(soft_limit(limits, "Max open files"), Some(64));
    assert_eq!(soft_limit(limits, "Max cpu time"), None);
    assert_eq!(soft_limit(limits, "Max"), None);
    assert!(open_files_max().is_none_or(|files| files > 0));
}

#[test]
fn this_process_uses_memory_and_time() {
    assert!(current_rss_bytes() > 100_000);
    let resident = resident_bytes();
    assert!(resident.peak >= resident.current && resident.current > 100_000);
    assert!(total_memory_bytes() >= available_memory_bytes());
    assert!(available_memory_bytes() > 0);
    assert!(cpu_count() >= 1);
    let before = cpu_times();
    let mut sum = 0_u64;
    while cpu_times().user == before.user {
        sum = std::hint::black_box((0..1_000_000_u64).fold(sum, |a, b| a ^ b.wrapping_mul(31)));
    }
    assert!(cpu_times().user > before.user);
}

#[test]
fn cpu_times_survive_a_name_with_parentheses() {
    let stat = "42 (a) b) (c) R 1 42 42 0 -1 4194304 100 0 0 0 250 30 0 0 20 0 1 0 100 1000 200";
    let times = parse_cpu_times(stat, 100).expect("parsed");
    assert_eq!(times, CpuTimes { user: Duration::from_millis(2500), system: Duration::from_millis(300) });
    assert_eq!(parse_cpu_times("42 (x) R 1", 100), None);
}

#[test]
fn the_tightest_group_of_version_2_counts_without_its_page_cache() {
    let root = tempfile::tempdir().expect("tempdir");
    let root = root.path();
    file(root, "proc/meminfo", "MemTotal: 2000000 kB\nMemAvailable:  1000000 kB\n");
    assert_eq!(available_under(root), 1_024_000_000);
    file(root, "proc/self/cgroup", "0::/a/b\n");
    file(root, "sys/fs/cgroup/a/b/memory.max", "max\n");
    assert_eq!(available_under(root), 1_024_000_000, "no limit is no limit");
    file(root, "sys/fs/cgroup/a/memory.max", "500000\n");
    file(root, "sys/fs/cgroup/a/memory.current", "300000\n");
    file(root, "sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file 100000\n");
    assert_eq!(cgroup_memory(root), Some(CgroupMemory { limit: 500_000, used: 200_000 }));
    assert_eq!(available_under(root), 300_000);
}

#[test]
fn version_1_in_a_container_is_found_at_the_root_of_the_mount() {
    let root = tempfile::tempdir().expect("tempdir");
    let root = root.path();
    file(root, "proc/meminfo", "MemTotal: 2000000 kB\nMemAvailable: 1000000 kB\n");
    file(root, "proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/123\n0::/\n");
    file(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "700000\n");
    file(root, "sys/fs/cgroup/memory/memory.usage_in_bytes", "100000\n");
    assert_eq!(available_under(root), 600_000);
}

#[test]
fn a_limit_of_addresses_limits_memory() {
    let limits = |soft: &str| {
        format!(
            "Limit                     Soft Limit           Hard Limit           Units     \nMax cpu time              unlimited            unlimited            seconds   \nMax address space         {soft}          unlimited            bytes     \n"
        )
    };
    assert_eq!(address_space(&limits("14336000000")), Some(14_336_000_000 - ADDRESSES_OF_PROGRAM));
    assert_eq!(address_space(&limits("2147483648")), Some(512 << 20), "a quarter at least");
    assert_eq!(address_space(&limits("unlimited")), None);
    assert_eq!(address_space(""), None);
}
