//! What the process has used, and what it may use: memory, CPU time, cores.
//!
//! Everything is read from `/proc` and the cgroup file system as text, so no unsafe call is needed. Where a
//! figure is not to be had (another system than Linux) the answer is 0; no caller may fail because of a
//! statistic. Must not know: who asks.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// CPU time of the process since its start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTimes {
    pub user: Duration,
    pub system: Duration,
}

/// The memory the process has resident, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResidentBytes {
    pub current: u64,
    /// The most since its start.
    pub peak: u64,
}

/// Both figures of one moment, in one look: the kernel counts pages for each.
pub fn resident_bytes() -> ResidentBytes {
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    let bytes = |field| kilobytes(&status, field).unwrap_or(0);
    ResidentBytes { current: bytes("VmRSS:"), peak: bytes("VmHWM:") }
}

/// The most memory the process had resident since its start, in bytes.
pub fn peak_rss_bytes() -> u64 {
    resident_bytes().peak
}

/// The memory the process has resident now, in bytes.
pub fn current_rss_bytes() -> u64 {
    resident_bytes().current
}

/// CPU time of all threads, living and ended; the kernel counts in ticks of 10 ms.
pub fn cpu_times() -> CpuTimes {
    let ticks_per_second = std::fs::read("/proc/self/auxv").ok().and_then(|auxv| clock_ticks(&auxv));
    match (read_to_string("/proc/self/stat"), ticks_per_second) {
        (Ok(stat), Some(ticks)) => parse_cpu_times(&stat, ticks).unwrap_or_default(),
        _ => CpuTimes::default(),
    }
}

/// Cores this process may use, by affinity and by cgroup quota; at least 1.
pub fn cpu_count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Files and sockets the process may have open at one time; `None`: any number, or nobody says.
pub fn open_files_max() -> Option<u64> {
    soft_limit(&read_to_string("/proc/self/limits").ok()?, "Max open files")
}

/// The first figure behind a name.
fn soft_limit(limits: &str, name: &str) -> Option<u64> {
    let figures = limits.lines().find_map(|line| line.strip_prefix(name))?;
    figures.split_whitespace().next()?.parse().ok()
}

/// The machine's name, or `localhost` where it does not say.
pub fn host_name() -> String {
    let given = read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = given.trim();
    if name.is_empty() { "localhost".to_owned() } else { name.to_owned() }
}

/// Which start of the machine this is; empty where it does not say.
pub fn boot_id() -> String {
    read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// All memory this process could ever have: the machine's, or less where the cgroup or `ulimit -v` limits it. In bytes.
pub fn total_memory_bytes() -> u64 {
    let root = Path::new("/");
    let machine = meminfo_bytes(root, "MemTotal:");
    let limits = read_to_string("/proc/self/limits").unwrap_or_default();
    let of_group = cgroup_memory(root).map_or(machine, |group| machine.min(group.limit));
    address_space(&limits).map_or(of_group, |bytes| of_group.min(bytes))
}

/// Addresses that hold no rows: the program itself, and the stacks of its threads.
const ADDRESSES_OF_PROGRAM: u64 = 2 << 30;

/// What a limit on addresses leaves for memory, out of `/proc/self/limits`; `None` without a limit.
fn address_space(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let bytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(bytes.saturating_sub(ADDRESSES_OF_PROGRAM).max(bytes / 4))
}

/// Memory that can still be had without swapping, in bytes: what the machine calls available, or what is left
/// of the cgroup's limit if that is less. Page cache counts as available in both.
pub fn available_memory_bytes() -> u64 {
    available_under(Path::new("/"))
}

fn available_under(root: &Path) -> u64 {
    let machine = meminfo_bytes(root, "MemAvailable:");
    cgroup_memory(root).map_or(machine, |group| machine.min(group.limit.saturating_sub(group.used)))
}

fn meminfo_bytes(root: &Path, field: &str) -> u64 {
    read_to_string(root.join("proc/meminfo")).ok().and_then(|text| kilobytes(&text, field)).unwrap_or(0)
}

/// The value of a line `Field:   123 kB`, in bytes.
fn kilobytes(text: &str, field: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    let number: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    number.checked_mul(1024)
}

/// `AT_CLKTCK` of the auxiliary vector: pairs of machine words, key then value.
fn clock_ticks(auxv: &[u8]) -> Option<u64> {
    const AT_CLKTCK: u64 = 17;
    let mut words = auxv.chunks_exact(8).filter_map(|word| word.try_into().ok().map(u64::from_ne_bytes));
    while let (Some(key), Some(value)) = (words.next(), words.next()) {
        if key == AT_CLKTCK {
            return Some(value).filter(|ticks| *ticks > 0);
        }
    }
    None
}

/// Fields 14 and 15 of `/proc/self/stat`. The second field is the program's name in parentheses and may hold
/// anything, so counting starts behind the last parenthesis, where field 3 follows.
fn parse_cpu_times(stat: &str, ticks_per_second: u64) -> Option<CpuTimes> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let mut next = || {
        let ticks: u64 = fields.next()?.parse().ok()?;
        Some(Duration::from_nanos(ticks.saturating_mul(1_000_000_000 / ticks_per_second)))
    };
    Some(CpuTimes { user: next()?, system: next()? })
}

#[derive(Debug, PartialEq, Eq)]
struct CgroupMemory {
    limit: u64,
    /// Without page cache the kernel can drop.
    used: u64,
}

/// The tightest memory limit above this process, version 2 or 1; `None` when there is none.
///
/// In a container the path of `/proc/self/cgroup` may be that of the outer machine and not exist inside; the
/// root of the mounted hierarchy is then the container's own group. Hence every ancestor is tried, and the
/// root always.
fn cgroup_memory(root: &Path) -> Option<CgroupMemory> {
    let groups = read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mut tightest: Option<CgroupMemory> = None;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let version_1 = controllers.split(',').any(|name| name == "memory");
        if !version_1 && !controllers.is_empty() {
            continue;
        }
        let mount = root.join(if version_1 { "sys/fs/cgroup/memory" } else { "sys/fs/cgroup" });
        for ancestor in Path::new(path.trim_start_matches('/')).ancestors() {
            if let Some(group) = limit_of(&mount.join(ancestor), version_1)
                && tightest.as_ref().is_none_or(|best| group.limit < best.limit)
            {
                tightest = Some(group);
            }
        }
    }
    tightest
}

fn limit_of(group: &Path, version_1: bool) -> Option<CgroupMemory> {
    let (limit_file, used_file, cache_field) = match version_1 {
        true => ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "),
        false => ("memory.max", "memory.current", "inactive_file "),
    };
    let number = |file: PathBuf| read_to_string(file).ok()?.trim().parse::<u64>().ok();
    // Version 2 says "max" for no limit, which is not a number; version 1 a number near 2^63, harmless under
    // `min`.
    let limit = number(group.join(limit_file))?;
    let usage = number(group.join(used_file)).unwrap_or(0);
    let statistics = read_to_string(group.join("memory.stat")).unwrap_or_default();
    let cache = statistics.lines().find_map(|line| line.strip_prefix(cache_field)?.trim().parse().ok());
    Some(CgroupMemory { limit, used: usage.saturating_sub(cache.unwrap_or(0)) })
}

/// Starts another process, which is the caller's to end.
///
/// # Errors
/// The system refuses, or there is no such program.
pub fn start(command: &mut std::process::Command) -> std::io::Result<std::process::Child> {
    command.spawn()
}

#[cfg(test)]
mod tests;
