//! `cargo xtask reference`: pages under `docs/reference`, written by the binary itself from the tables it runs with.

use std::path::Path;

use anyhow::Result;

use crate::bench::release_binary;
use crate::run::Step;

/// Lets the binary write its pages.
pub(crate) fn run(root: &Path) -> Result<()> {
    let binary = release_binary(root)?;
    let folder = root.join("docs/reference");
    Step::new(binary, &["docs", "--to", &folder.to_string_lossy()], root).run()?;
    Ok(())
}
