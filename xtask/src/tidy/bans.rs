//! What only a few places may do: attest that a part is durable, and start tasks.
//!
//! A place is a file, or a folder with a slash at its end. `ARCHITECTURE.md` names each of them at its invariant, with the
//! reason, and a place that does it no longer is not kept. Tests may do everything. `clippy.toml` forbids functions of
//! libraries by their paths; here are methods that a lint does not see, because libraries give them on types of their own.

use super::{Complaint, RustFile, pattern};

pub(super) struct Ban {
    /// What a line of code does.
    pub(super) pattern: &'static str,
    /// The same in words, and what to do instead.
    pub(super) words: &'static str,
    pub(super) places: &'static [&'static str],
    /// The invariant that names the places.
    pub(super) invariant: &'static str,
}

pub(super) const BANS: &[Ban] = &[
    Ban {
        pattern: r"\battest_durable\b",
        words: "attests that a part is durable: ask the part writer for a SealedPart",
        places: &[
            "crates/model/src/part.rs",
            "crates/parts/src/writer.rs",
            "crates/catalog/src/op_format.rs",
            "crates/catalog/src/op_format/stage_fields.rs",
        ],
        invariant: "I2",
    },
    Ban {
        pattern: concat!(
            r"\b(?:tokio|task|thread)::spawn|\bthread::(?:scope|Builder)\b|\.spawn(?:_on|_local|_scoped)?\(",
            r"|\b(?:JoinSet|SpawnedTask|TaskTracker|RecordBatchReceiverStream)\b",
            r"|\bruntime::Builder\b|\bRuntime::new\b",
        ),
        words: "starts a task or a thread: use host::Runtimes, which names and joins them",
        places: &[
            "crates/host/src/",
            "crates/sinks/src/exec/commit.rs",
            "crates/physical/src/nodes/gather.rs",
            "crates/cli/src/remote/mod.rs",
            "crates/lab/src/generate/write.rs",
        ],
        invariant: "I8",
    },
];

pub(super) fn check(files: &[RustFile], architecture: &str) -> Vec<Complaint> {
    BANS.iter().flat_map(|ban| [judge(ban, files), unnamed(ban, architecture)].concat()).collect()
}

/// Complaints about files that do what only others may, and about places that do not do it.
pub(super) fn judge(ban: &Ban, files: &[RustFile]) -> Vec<Complaint> {
    let pattern = pattern(ban.pattern);
    let mut complaints = Vec::new();
    let mut used = vec![false; ban.places.len()];
    for file in files.iter().filter(|file| file.path.starts_with("crates/") && !file.is_test()) {
        let place = ban.places.iter().position(|place| is_in(&file.path, place));
        for (number, _) in file.source.code_outside_tests().filter(|(_, line)| pattern.is_match(line)) {
            match place {
                Some(place) => used[place] = true,
                None => complaints.push(format!("{}:{number}: {} ({})", file.path, ban.words, ban.invariant)),
            }
        }
    }
    let idle = ban.places.iter().zip(used).filter(|(_, used)| !used);
    complaints.extend(idle.map(|(place, _)| {
        format!(
            "{place}: xtask/src/tidy/bans.rs has it as a place of {}, and it is none: remove it",
            ban.invariant
        )
    }));
    complaints
}

fn is_in(path: &str, place: &str) -> bool {
    path == place || (place.ends_with('/') && path.starts_with(place))
}

/// Complaints about places that the invariant does not name.
pub(super) fn unnamed(ban: &Ban, architecture: &str) -> Vec<Complaint> {
    let head = format!("- **{}** ", ban.invariant);
    let behind = architecture.split_once(head.as_str()).map_or("", |(_, behind)| behind);
    let words = behind.split("\n- ").next().unwrap_or_default();
    let missing = ban.places.iter().filter(|place| !words.contains(&format!("`{}`", short(place))));
    missing
        .map(|place| format!("ARCHITECTURE.md: {} does not name `{}`", ban.invariant, short(place)))
        .collect()
}

/// A place as documents write it: `host`, `sinks/exec/commit.rs`.
fn short(place: &str) -> String {
    place.trim_start_matches("crates/").replacen("/src/", "/", 1).trim_end_matches('/').to_owned()
}
