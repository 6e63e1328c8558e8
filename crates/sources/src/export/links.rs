//! Whether a file that is written stays inside the folder of user files.
//!
//! Invariant: what reading would refuse to follow, writing refuses, too. Must not know: stores, what is written.

use std::path::Path;

use model::ErrorCode;
use stores::error::{Result, SourceError};
use stores::locations::location::{UserFiles, plain_path};

/// Refuses to write where links lead out of the folder, as reading refuses to follow them. A link in place of the file
/// is refused wherever it leads: what is there would be read to be appended to, and renaming would replace the link.
pub(super) fn refuse_links(path: &Path, files: &UserFiles) -> Result<()> {
    if files.anywhere {
        return Ok(());
    }
    let root = plain_path(&files.root);
    let refused = |problem: &str| {
        let message = format!("file \"{}\" {problem} \"{}\"", path.display(), root.display());
        SourceError::bad_arguments(message).with_code(ErrorCode::DATABASE_ACCESS_DENIED)
    };
    if !plain_path(path).starts_with(&root) {
        return Err(refused("is not inside"));
    }
    if path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
        return Err(refused("is a link, and links are not written to in"));
    }
    // Folders that are missing are made below the deepest that is there, even if it is a link to nothing.
    let mut inside = path.ancestors().take_while(|folder| folder.starts_with(&root));
    let Some(there) = inside.find(|folder| folder.symlink_metadata().is_ok()) else { return Ok(()) };
    let real_root = root.canonicalize().unwrap_or_else(|_| root.clone());
    match there.canonicalize() {
        Ok(real) if real.starts_with(&real_root) => Ok(()),
        _ => Err(refused("lies behind a link that leads out of")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test makes its own input")]
    fn nothing_is_written_through_a_link_out_of_the_folder() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = folder.path().join("files");
        let files = UserFiles { root: root.clone(), anywhere: false };
        assert!(refuse_links(&root.join("a/b.csv"), &files).is_ok(), "the folder itself is not there yet");
        std::fs::create_dir_all(root.join("in")).unwrap();
        std::fs::write(outside.path().join("x.csv"), "1").unwrap();
        let link = |target: &Path, name: &str| std::os::unix::fs::symlink(target, root.join(name)).unwrap();
        link(outside.path(), "out");
        link(&root.join("in"), "again");
        link(Path::new("/nosuch/folder"), "gone");
        link(&outside.path().join("x.csv"), "x.csv");
        link(&root.join("in/x.csv"), "y.csv");
        for (path, fits) in [
            ("in/x.csv", true),
            ("in/new/x.csv", true),
            ("again/x.csv", true),
            ("out/x.csv", false),
            ("out/new/x.csv", false),
            ("gone/x.csv", false),
            ("x.csv", false),
            ("y.csv", false),
            ("in/../../x.csv", false),
        ] {
            let found = refuse_links(&root.join(path), &files).map_err(|error| error.code());
            assert_eq!(found, if fits { Ok(()) } else { Err(ErrorCode::DATABASE_ACCESS_DENIED) }, "{path}");
        }
        let anywhere = UserFiles { anywhere: true, ..files };
        assert!(refuse_links(&root.join("out/x.csv"), &anywhere).is_ok());
    }
}
