//! The pages under `docs/reference` are those that the binary writes.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

fn pages(folder: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(folder).expect("a folder of pages").flatten();
    let page = |path: std::path::PathBuf| {
        let name = path.file_name()?.to_str()?.to_owned();
        Some((name, std::fs::read_to_string(&path).ok()?))
    };
    entries.filter_map(|entry| page(entry.path())).collect()
}

#[test]
fn the_reference_is_what_the_code_says() {
    let written = tempfile::tempdir().expect("a folder");
    let done =
        Command::new(env!("CARGO_BIN_EXE_gristmill")).args(["docs", "--to"]).arg(written.path()).status();
    assert!(done.expect("the binary starts").success());
    let kept = pages(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference"));
    for (name, page) in pages(written.path()) {
        assert!(
            kept.get(&name) == Some(&page),
            "docs/reference/{name} is out of date: cargo xtask reference"
        );
    }
}
