//! Which crate may name which. The table, the manifests and the picture in `ARCHITECTURE.md` say the same; a new edge is a
//! decision.

use std::collections::{BTreeMap, BTreeSet};

use super::Complaint;
use super::manifest::{Manifest, dependencies};

/// Crate, the workspace crates it may depend on, and whether it may name DataFusion. Bottom-up.
pub(super) const EDGES: &[(&str, &[&str], bool)] = &[
    ("host", &[], false),
    ("model", &[], false),
    ("scan", &[], false),
    ("commitlog", &["host"], false),
    ("catalog", &["commitlog", "model", "host"], false),
    ("parts", &["model", "host"], false),
    ("mergetree", &["parts", "catalog", "commitlog", "model", "host"], false),
    ("load", &["model"], false),
    ("formats", &["scan", "model"], false),
    ("functions", &["model", "host"], false),
    ("stores", &["formats", "model", "host"], false),
    ("shared", &["parts", "stores", "catalog", "model", "host"], false),
    ("sources", &["stores", "formats", "model", "host"], true),
    ("lexer", &["model"], false),
    ("settings", &["lexer", "model"], false),
    ("sql", &["settings", "lexer", "model"], false),
    ("aggregates", &["functions", "model"], true),
    ("planner", &["sql", "aggregates", "functions", "model", "host"], true),
    ("rewrite", &["planner", "sql", "aggregates", "functions", "model"], false),
    (
        "physical",
        &[
            "planner",
            "sources",
            "stores",
            "functions",
            "load",
            "mergetree",
            "parts",
            "catalog",
            "model",
            "host",
        ],
        true,
    ),
    (
        "boundary",
        &[
            "physical",
            "sql",
            "sources",
            "stores",
            "mergetree",
            "shared",
            "parts",
            "catalog",
            "commitlog",
            "functions",
            "formats",
            "model",
            "host",
        ],
        true,
    ),
    // It names `physical` when plans go to other servers.
    ("cluster", &["host"], false),
    (
        "tables",
        &[
            "boundary",
            "physical",
            "planner",
            "rewrite",
            "sql",
            "sources",
            "stores",
            "mergetree",
            "parts",
            "catalog",
            "functions",
            "formats",
            "model",
            "host",
        ],
        true,
    ),
    (
        "sinks",
        &[
            "tables",
            "boundary",
            "physical",
            "sql",
            "sources",
            "stores",
            "load",
            "mergetree",
            "parts",
            "catalog",
            "formats",
            "model",
            "host",
        ],
        true,
    ),
    (
        "engine",
        &[
            "sinks",
            "tables",
            "boundary",
            "physical",
            "planner",
            "rewrite",
            "sql",
            "sources",
            "stores",
            "load",
            "mergetree",
            "shared",
            "cluster",
            "parts",
            "catalog",
            "functions",
            "formats",
            "model",
            "host",
        ],
        true,
    ),
    ("server", &["engine", "formats", "host"], false),
    // `bench-insert` counts the records of the log.
    ("lab", &["engine", "commitlog", "model", "host"], false),
    // `inspect` prints log records and checkpoints in the words of the crates that own them.
    ("cli", &["lab", "server", "engine", "formats", "catalog", "commitlog", "model", "host"], false),
];

/// Checks every manifest under `crates`, and the picture.
pub(super) fn check(manifests: &[Manifest], architecture: &str) -> Vec<Complaint> {
    let mut complaints = check_picture(architecture);
    let mut seen = BTreeSet::new();
    for manifest in manifests {
        let Some(name) = manifest.folder.strip_prefix("crates/") else { continue };
        complaints.extend(check_manifest(name, &manifest.text));
        complaints.extend(dead_edges(name, &manifest.text));
        seen.insert(name);
    }
    complaints.extend(
        EDGES
            .iter()
            .filter(|(name, ..)| !seen.contains(name))
            .map(|(name, ..)| format!("crates/{name}: in the table of crates, but not there")),
    );
    complaints
}

/// Complaints about what the manifest of crate `name` has and the table does not allow.
pub(super) fn check_manifest(name: &str, manifest: &str) -> Vec<Complaint> {
    let Some((_, allowed, datafusion)) = EDGES.iter().find(|(known, ..)| *known == name) else {
        return vec![format!("crates/{name}: not in the table of crates in xtask/src/tidy/edges.rs")];
    };
    let is_ours = |dependency: &str| EDGES.iter().any(|(known, ..)| *known == dependency);
    let mut complaints = Vec::new();
    // Tests may use whatever lies below or beside them.
    for dependency in dependencies(manifest).into_iter().filter(|dependency| !dependency.is_for_tests()) {
        let other = dependency.name.as_str();
        if is_ours(other) && !allowed.contains(&other) {
            complaints.push(format!("crates/{name}: may not depend on {other}"));
        }
        if other.starts_with("datafusion") && !datafusion {
            complaints.push(format!("crates/{name}: may not name DataFusion"));
        }
    }
    complaints
}

/// Complaints about what the table allows crate `name` and its manifest does not have.
pub(super) fn dead_edges(name: &str, manifest: &str) -> Vec<Complaint> {
    let Some((_, allowed, datafusion)) = EDGES.iter().find(|(known, ..)| *known == name) else {
        return Vec::new();
    };
    let used: BTreeSet<String> = dependencies(manifest)
        .into_iter()
        .filter(|dependency| !dependency.is_for_tests())
        .map(|dependency| dependency.name)
        .collect();
    let datafusion = datafusion.then_some("datafusion");
    let unused = allowed.iter().copied().chain(datafusion).filter(|other| !used.contains(*other));
    unused
        .map(|other| {
            format!("crates/{name}: xtask/src/tidy/edges.rs lets it name {other}, its manifest does not: remove the edge")
        })
        .collect()
}

/// Complaints about the picture of levels in `ARCHITECTURE.md`, and the sentence about DataFusion below it.
pub(super) fn check_picture(architecture: &str) -> Vec<Complaint> {
    let mut levels: BTreeMap<&str, u32> = BTreeMap::new();
    let mut complaints = Vec::new();
    for (level, name) in architecture.lines().flat_map(drawn) {
        if levels.insert(name, level).is_some() {
            complaints.push(format!("ARCHITECTURE.md: the picture of crates draws {name} twice"));
        }
    }
    for (name, allowed, _) in EDGES {
        let Some(level) = levels.get(name) else {
            complaints.push(format!("ARCHITECTURE.md: the picture of crates does not draw {name}"));
            continue;
        };
        let beside = allowed.iter().filter(|other| levels.get(*other).is_some_and(|below| below >= level));
        complaints.extend(beside.map(|other| {
            format!("ARCHITECTURE.md: the picture does not draw {name} above {other}, which it names")
        }));
    }
    let may: BTreeSet<&str> = EDGES.iter().filter(|(.., may)| *may).map(|(name, ..)| *name).collect();
    if named_for_datafusion(architecture) != may {
        complaints.push(format!(
            "ARCHITECTURE.md: \"Only .. may name DataFusion\" does not name exactly {}",
            Vec::from_iter(may).join(", ")
        ));
    }
    complaints
}

/// The crates on a line of the picture, with the level it begins with: ` L4    planner   sources ..`.
fn drawn(line: &str) -> Vec<(u32, &str)> {
    let split = line.trim_start().strip_prefix('L').and_then(|behind| behind.split_once(' '));
    let Some((Ok(level), words)) = split.map(|(level, words)| (level.parse::<u32>(), words)) else {
        return Vec::new();
    };
    let words = words.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| EDGES.iter().any(|(name, ..)| name == word)).map(|word| (level, word)).collect()
}

/// What stands between backquotes in the sentence "Only .. may name DataFusion".
fn named_for_datafusion(architecture: &str) -> BTreeSet<&str> {
    // The line may break anywhere in it but in its last two words.
    let Some(end) = architecture.find("name DataFusion;") else { return BTreeSet::new() };
    let start = architecture[..end].rfind("Only ").unwrap_or(end);
    architecture[start..end].split('`').skip(1).step_by(2).collect()
}
