//! Cargo's manifests as the house rules see them: the names in their tables of dependencies, with the remarks behind them.
//!
//! Pure but for `all`, which reads the files. It does not parse TOML; it knows how our manifests are written.

use std::path::Path;

use anyhow::{Context, Result};

/// A manifest of the workspace.
pub(super) struct Manifest {
    /// The folder it lies in, relative to the root: `crates/host`, `tests`.
    pub(super) folder: String,
    pub(super) text: String,
}

/// A line of a table of dependencies.
pub(super) struct Dependency {
    /// The table: `dependencies`, `dev-dependencies`, `workspace.dependencies`.
    pub(super) table: String,
    pub(super) name: String,
    /// What stands behind `#` on the line.
    pub(super) remark: String,
}

impl Manifest {
    pub(super) fn dependencies(&self) -> Vec<Dependency> {
        dependencies(&self.text)
    }
}

impl Dependency {
    pub(super) fn is_for_tests(&self) -> bool {
        self.table.ends_with("dev-dependencies")
    }
}

/// The manifests of all packages, in the order of their folders.
pub(super) fn all(root: &Path) -> Result<Vec<Manifest>> {
    let entries = std::fs::read_dir(root.join("crates"))?.collect::<std::io::Result<Vec<_>>>()?;
    let mut folders: Vec<String> =
        entries.iter().map(|entry| format!("crates/{}", entry.file_name().to_string_lossy())).collect();
    folders.sort();
    folders.extend(["tests".to_owned(), "xtask".to_owned()]);
    let mut manifests = Vec::new();
    for folder in folders {
        let path = root.join(&folder).join("Cargo.toml");
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        manifests.push(Manifest { folder, text });
    }
    Ok(manifests)
}

/// The tables of dependencies of a manifest.
pub(super) fn dependencies(manifest: &str) -> Vec<Dependency> {
    let mut table = String::new();
    let mut found = Vec::new();
    for line in manifest.lines().map(str::trim) {
        let (line, remark) = line.split_once('#').unwrap_or((line, ""));
        let remark = remark.trim().to_owned();
        if let Some(head) = line.strip_prefix('[') {
            table = head.trim().trim_end_matches(']').to_owned();
            if let Some((before, name)) = table.split_once("dependencies.") {
                let table = format!("{before}dependencies");
                found.push(Dependency { table, name: name.to_owned(), remark });
            }
        } else if table.ends_with("dependencies") {
            let name: String =
                line.chars().take_while(|c| c.is_alphanumeric() || "-_".contains(*c)).collect();
            if !name.is_empty() {
                found.push(Dependency { table: table.clone(), name, remark });
            }
        }
    }
    found
}
