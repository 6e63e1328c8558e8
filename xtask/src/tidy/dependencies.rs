//! Every dependency of a manifest is named in the code it is for, and every line of the workspace's table is taken by a
//! manifest.
//!
//! A dependency nobody names is built by everybody. Two remarks behind its line say what the code cannot: `# library: md5`,
//! the name of a library that is not called as its package, and `# feature: ..`, why a package is there that only switches
//! something on in another. Must not know: what the code does with it.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::manifest::{Dependency, Manifest, dependencies};
use super::{Complaint, RustFile, pattern};

/// The first name of a path: `bytes` in `bytes::Bytes`, `::bytes::Bytes` and `use bytes;`, not in `crate::bytes::Bytes`.
static FIRST_NAME: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?:^|[^\w:])(?:::)?(\w+)::|\b(?:use|extern crate)\s+(?:::)?(\w+)"));
/// The file of a target that does not lie where Cargo looks for it.
static TARGET: LazyLock<Regex> = LazyLock::new(|| pattern(r#"(?m)^path\s*=\s*"([^"/]+)/"#));

pub(super) fn check(manifests: &[Manifest], workspace: &str, files: &[RustFile]) -> Vec<Complaint> {
    let mut complaints: Vec<Complaint> =
        manifests.iter().flat_map(|manifest| unused(manifest, files)).collect();
    complaints.extend(untaken(workspace, manifests));
    complaints
}

/// Complaints about the dependencies of a manifest that its code does not name.
pub(super) fn unused(manifest: &Manifest, files: &[RustFile]) -> Vec<Complaint> {
    let folders = folders(manifest);
    let mine = |file: &&RustFile| folders.iter().any(|folder| file.path.starts_with(folder));
    let mut in_product = BTreeSet::new();
    let mut anywhere = BTreeSet::new();
    for file in files.iter().filter(mine) {
        if !file.is_test() {
            file.source.code_outside_tests().for_each(|(_, line)| in_product.extend(first_names(line)));
        }
        file.source.code.iter().for_each(|line| anywhere.extend(first_names(line)));
    }
    let declared = manifest.dependencies();
    let mut complaints = Vec::new();
    for dependency in declared.iter().filter(|dependency| !dependency.remark.starts_with("feature: ")) {
        let (folder, name) = (&manifest.folder, &dependency.name);
        let library = library(dependency);
        if !anywhere.contains(library.as_str()) {
            complaints.push(format!("{folder}/Cargo.toml: no code names {name}: remove it"));
        } else if !dependency.is_for_tests() && !in_product.contains(library.as_str()) {
            complaints
                .push(format!("{folder}/Cargo.toml: only tests name {name}: move it to dev-dependencies"));
        } else if dependency.is_for_tests()
            && declared.iter().any(|other| other.table == "dependencies" && other.name == *name)
        {
            complaints.push(format!(
                "{folder}/Cargo.toml: tests have {name} from dependencies: remove the second line"
            ));
        }
    }
    complaints
}

/// Complaints about lines of the workspace's table that no manifest takes.
pub(super) fn untaken(workspace: &str, manifests: &[Manifest]) -> Vec<Complaint> {
    let taken: BTreeSet<String> =
        manifests.iter().flat_map(Manifest::dependencies).map(|dependency| dependency.name).collect();
    let declared = dependencies(workspace).into_iter().map(|dependency| dependency.name);
    let untaken = declared.filter(|name| !taken.contains(name));
    untaken.map(|name| format!("Cargo.toml: no crate takes {name}: remove its line")).collect()
}

/// Where the code of a manifest lies.
fn folders(manifest: &Manifest) -> Vec<String> {
    let named = TARGET.captures_iter(&manifest.text).filter_map(|found| found.get(1));
    let named = named.map(|folder| folder.as_str());
    ["src", "tests", "benches"]
        .into_iter()
        .chain(named)
        .map(|name| format!("{}/{name}/", manifest.folder))
        .collect()
}

fn first_names(line: &str) -> impl Iterator<Item = &str> {
    // Most lines name nothing, and are told so in less time.
    let line =
        if line.contains("::") || line.contains("use ") || line.contains("extern ") { line } else { "" };
    FIRST_NAME.captures_iter(line).filter_map(|found| found.get(1).or(found.get(2))).map(|name| name.as_str())
}

/// What code calls it.
fn library(dependency: &Dependency) -> String {
    let said = dependency.remark.strip_prefix("library: ").and_then(|words| words.split_whitespace().next());
    said.map_or_else(|| dependency.name.replace('-', "_"), str::to_owned)
}
