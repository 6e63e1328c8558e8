//! Which crate may name which. This table and the one in `ARCHITECTURE.md` are the same; a new edge is a decision.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};

use super::Complaint;

/// Crate, the workspace crates it may depend on, and whether it may name DataFusion. Bottom-up.
pub(super) const EDGES: &[(&str, &[&str], bool)] = &[
    ("host", &[], false),
    ("model", &[], false),
    ("commitlog", &["host"], false),
    ("catalog", &["commitlog", "model", "host"], false),
    ("parts", &["model", "host"], false),
    ("mergetree", &["parts", "catalog", "model", "host"], false),
    ("load", &["catalog", "model", "host"], false),
    ("formats", &["model"], false),
    ("functions", &["model", "host"], false),
    ("stores", &["formats", "model", "host"], false),
    ("sources", &["stores", "formats", "model", "host"], true),
    ("sql", &["model"], false),
    ("planner", &["sql", "functions", "model"], true),
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
        "engine",
        &[
            "physical",
            "planner",
            "sql",
            "sources",
            "stores",
            "load",
            "mergetree",
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
    ("server", &["engine", "formats", "host"], false),
    // `bench-insert` counts the records of the log.
    ("lab", &["engine", "commitlog", "model", "host"], false),
    // `inspect` prints log records and checkpoints in the words of the crates that own them.
    ("cli", &["lab", "server", "engine", "formats", "catalog", "commitlog", "model", "host"], false),
];

/// Checks every manifest under `crates`.
pub(super) fn check(root: &Path) -> Result<Vec<Complaint>> {
    let mut complaints = Vec::new();
    let mut seen = BTreeSet::new();
    let mut entries: Vec<_> = std::fs::read_dir(root.join("crates"))?.collect::<std::io::Result<_>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let manifest = entry.path().join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest).with_context(|| manifest.display().to_string())?;
        complaints.extend(check_manifest(&name, &text));
        seen.insert(name);
    }
    complaints.extend(
        EDGES
            .iter()
            .filter(|(name, ..)| !seen.contains(*name))
            .map(|(name, ..)| format!("crates/{name}: in the table of crates, but not there")),
    );
    Ok(complaints)
}

/// Complaints about the manifest of crate `name`.
pub(super) fn check_manifest(name: &str, manifest: &str) -> Vec<Complaint> {
    let Some((_, allowed, datafusion)) = EDGES.iter().find(|(known, ..)| *known == name) else {
        return vec![format!("crates/{name}: not in the table of crates in xtask/src/tidy/edges.rs")];
    };
    let is_ours = |dependency: &str| EDGES.iter().any(|(known, ..)| *known == dependency);
    let mut complaints = Vec::new();
    for (section, dependency) in dependencies(manifest) {
        // Tests may use whatever lies below or beside them.
        let for_tests = section == "dev-dependencies";
        if is_ours(&dependency) && !for_tests && !allowed.contains(&dependency.as_str()) {
            complaints.push(format!("crates/{name}: may not depend on {dependency}"));
        }
        if dependency.starts_with("datafusion") && !datafusion && !for_tests {
            complaints.push(format!("crates/{name}: may not name DataFusion"));
        }
    }
    complaints
}

/// Names in the dependency tables of a manifest, with the table they stand in.
fn dependencies(manifest: &str) -> Vec<(String, String)> {
    let mut section = String::new();
    let mut found = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if let Some(table) = line.strip_prefix('[') {
            section = table.trim_end_matches(']').to_owned();
            if let Some((table, name)) = section.clone().split_once("dependencies.") {
                found.push((format!("{table}dependencies"), name.to_owned()));
            }
        } else if section.ends_with("dependencies") && !line.starts_with('#') {
            let name: String =
                line.chars().take_while(|c| c.is_alphanumeric() || "-_".contains(*c)).collect();
            if !name.is_empty() {
                found.push((section.clone(), name));
            }
        }
    }
    found
}
