//! What a build may cost: packages of others, versions of one that are built twice, switched-on parts of DataFusion.
//!
//! The figures are those of today and go down only: who removes a package writes the smaller figure here, so that it stays
//! removed. Must not know: how long a build takes, which differs from machine to machine.

use std::collections::BTreeSet;

use super::Complaint;

/// Packages of others in `Cargo.lock`.
const PACKAGES_MAX: usize = 471;
/// Of these, versions beyond the first of their package.
const SECOND_VERSIONS_MAX: usize = 31;
/// Features of DataFusion in `Cargo.toml`.
const DATAFUSION_FEATURES_MAX: usize = 6;

pub(super) fn check(lock: &str, workspace: &str) -> Vec<Complaint> {
    let packages = packages(lock);
    let names: BTreeSet<&str> = packages.iter().copied().collect();
    let features = datafusion_features(workspace).len();
    let second = packages.len() - names.len();
    [
        ratchet("Cargo.lock", "packages of others", packages.len(), PACKAGES_MAX),
        ratchet("Cargo.lock", "second versions of packages (`cargo tree -d`)", second, SECOND_VERSIONS_MAX),
        ratchet("Cargo.toml", "features of DataFusion", features, DATAFUSION_FEATURES_MAX),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A complaint when there are more than the budget has, or fewer.
pub(super) fn ratchet(place: &str, what: &str, count: usize, budget: usize) -> Option<Complaint> {
    let advice = if count > budget {
        "do without, switch features off, or take the version that is already there; raising the budget is a decision \
         to be argued in the commit"
    } else {
        "good: write the smaller figure into xtask/src/tidy/budget.rs"
    };
    (count != budget).then(|| format!("{place}: {count} {what}, the budget is {budget}: {advice}"))
}

/// The name of each package with a source: a package of ours has none.
pub(super) fn packages(lock: &str) -> Vec<&str> {
    let packages = lock.split("[[package]]").skip(1);
    packages
        .filter(|package| package.contains("\nsource = "))
        .filter_map(|package| value(package, "name"))
        .collect()
}

/// `name = "value"` in the text of a package.
fn value<'a>(package: &'a str, name: &str) -> Option<&'a str> {
    package.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \"")?.strip_suffix('"'))
}

/// What stands between the brackets of `features` in the line of DataFusion.
pub(super) fn datafusion_features(workspace: &str) -> Vec<&str> {
    let line = workspace.split_once("\ndatafusion = ").map_or("", |(_, behind)| behind);
    let table = line.split_once('}').map_or("", |(table, _)| table);
    let list = table.split_once("features = [").and_then(|(_, behind)| behind.split_once(']'));
    list.map_or("", |(list, _)| list).split('"').skip(1).step_by(2).collect()
}
