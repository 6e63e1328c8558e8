//! Inside a crate modules name only modules listed above them, so a crate, and each folder of it, reads from top to bottom
//! without cycles.
//!
//! The order is that of the `mod` lines in the file above: `lib.rs`, `main.rs`, `mod.rs`, or the file that is called as the
//! folder. What walks a recursive structure (an AST) is recursive itself: a folder whose file has a line `//! Recursive: ..`
//! may have modules that name each other.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::{Complaint, RustFile, pattern};

static MODULE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\s*(?:pub(?:\([a-z]+\))?\s+)?mod\s+(\w+)\s*;"));
static REFERENCE: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b((?:crate|super)(?:::super)*)::(\{|\w+)"));

/// Path of a module inside its crate: empty for the root.
type ModulePath = Vec<String>;

/// The modules that each module lists.
type Orders = BTreeMap<ModulePath, Vec<String>>;

pub(super) fn check(files: &[RustFile]) -> Vec<Complaint> {
    let mut crates: BTreeMap<String, Vec<&RustFile>> = BTreeMap::new();
    for file in files.iter().filter(|file| !file.is_test()) {
        if let Some((before, _)) = file.path.split_once("/src/") {
            crates.entry(before.to_owned()).or_default().push(file);
        }
    }
    crates.values().flat_map(|files| check_crate(files)).collect()
}

fn check_crate(files: &[&RustFile]) -> Vec<Complaint> {
    let ordered = files.iter().filter(|file| !is_recursive(file));
    let orders: Orders = ordered.map(|file| (module_of(&file.path), children(file))).collect();
    let mut complaints = Vec::new();
    for file in files {
        let here = module_of(&file.path);
        for (line, target) in references(file, &here) {
            if let Some(complaint) = judge(&orders, &here, &target) {
                complaints.push(format!("{}:{line}: {complaint}", file.path));
            }
        }
    }
    complaints
}

/// `crates/x/src/a/b.rs` -> `[a, b]`; `lib.rs`, `main.rs` and `mod.rs` stand for their folder.
fn module_of(path: &str) -> ModulePath {
    let inside = path.split_once("/src/").map_or(path, |(_, inside)| inside).trim_end_matches(".rs");
    let mut pieces: ModulePath = inside.split('/').map(str::to_owned).collect();
    if pieces.last().is_some_and(|last| ["lib", "main", "mod"].contains(&last.as_str())) {
        pieces.pop();
    }
    pieces
}

fn children(file: &RustFile) -> Vec<String> {
    let names = file.source.code_outside_tests().filter_map(|(_, line)| MODULE.captures(line)?.get(1));
    names.map(|name| name.as_str().to_owned()).collect()
}

/// Paths a file names, absolute inside the crate, with their lines.
fn references(file: &RustFile, here: &ModulePath) -> Vec<(usize, ModulePath)> {
    let mut found = Vec::new();
    let code: Vec<(usize, &str)> = file.source.code_outside_tests().collect();
    for (index, (number, line)) in code.iter().enumerate() {
        for capture in REFERENCE.captures_iter(line) {
            let (Some(base), Some(first)) = (capture.get(1), capture.get(2)) else { continue };
            let mut prefix = here.clone();
            for step in base.as_str().split("::") {
                if step == "crate" {
                    prefix.clear();
                } else {
                    prefix.pop();
                }
            }
            let behind = &line[first.start()..];
            let mut text = behind.to_owned();
            if behind.starts_with('{') {
                // A group may go on for several lines.
                let mut following = code[index + 1..].iter();
                while !text.contains("};") {
                    let Some((_, more)) = following.next() else { break };
                    text.push_str(more);
                }
                for name in group_heads(&text) {
                    found.push((*number, prefix.iter().cloned().chain([name]).collect()));
                }
            } else {
                let names = path_pieces(&text);
                found.push((*number, prefix.iter().cloned().chain(names).collect()));
            }
        }
    }
    found
}

/// `a::b::C` -> `[a, b, C]`
fn path_pieces(text: &str) -> Vec<String> {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').unwrap_or(text.len());
    text[..end].split("::").filter(|piece| !piece.is_empty()).map(str::to_owned).collect()
}

/// `{a::X, b::{Y, Z}}` -> `[a, b]`
fn group_heads(text: &str) -> Vec<String> {
    let (mut heads, mut depth, mut word) = (Vec::new(), 0, String::new());
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => {
                heads.extend(path_pieces(std::mem::take(&mut word).trim()).into_iter().next())
            }
            _ if depth >= 1 => word.push(c),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    heads.extend(path_pieces(word.trim()).into_iter().next());
    heads
}

/// A complaint if `target` lies in a module listed below the one `here` lies in, where their ways part.
fn judge(orders: &Orders, here: &ModulePath, target: &ModulePath) -> Option<Complaint> {
    let shared = here.iter().zip(target).take_while(|(a, b)| a == b).count();
    let (mine, other) = (here.get(shared)?, target.get(shared)?);
    let order = orders.get(&here[..shared])?;
    let place = |name: &String| order.iter().position(|known| known == name);
    let module = |name: &String| [&here[..shared], std::slice::from_ref(name)].concat().join("::");
    (place(other)? > place(mine)?)
        .then(|| format!("module {} names {}, which is listed below it", module(mine), module(other)))
}

/// Says of itself that its modules call each other.
fn is_recursive(file: &RustFile) -> bool {
    file.source
        .lines
        .iter()
        .take_while(|line| line.starts_with("//!"))
        .any(|line| line.starts_with("//! Recursive: "))
}
