use super::*;

fn file(path: &str, text: &str) -> RustFile {
    RustFile { path: path.to_owned(), source: Source::new(text) }
}

fn complaints_about(path: &str, text: &str) -> Vec<Complaint> {
    files::check(&[file(path, text)])
}

#[track_caller]
fn assert_one(complaints: &[Complaint], part: &str) {
    assert!(
        complaints.len() == 1 && complaints[0].contains(part),
        "wanted one about {part:?}: {complaints:?}"
    );
}

#[test]
fn the_repository_is_tidy() {
    let root = crate::root().unwrap();
    let complaints = check(&root).unwrap();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn a_file_opens_with_what_it_is() {
    assert_one(&complaints_about("crates/x/src/a.rs", "use std::io;\n"), "//!");
    assert!(complaints_about("crates/x/src/a.rs", "//! A thing.\n").is_empty());
}

#[test]
fn files_have_a_wall() {
    let long = format!("//! x\n{}", "const A: u8 = 1;\n".repeat(500));
    assert_one(&complaints_about("crates/x/src/a.rs", &long), "501 lines");
    let tested = format!(
        "//! x\n{}#[cfg(test)]\nmod tests {{\n{}}}\n",
        "const A: u8 = 1;\n".repeat(499),
        "const B: u8 = 1;\n".repeat(100)
    );
    assert!(complaints_about("crates/x/src/a.rs", &tested).is_empty(), "tests do not count");
    let tests = format!("//! x\n#[cfg(test)]\nmod tests {{\n{}}}\n", "const B: u8 = 1;\n".repeat(300));
    assert_one(&complaints_about("crates/x/src/a.rs", &tests), "lines of tests");
}

#[test]
fn functions_fit_a_screen() {
    let function =
        |lines: usize| format!("//! x\nfn f() {{\n{}}}\n", "    g();\n\n    // why\n".repeat(lines));
    assert!(complaints_about("crates/x/src/a.rs", &function(70)).is_empty());
    assert_one(&complaints_about("crates/x/src/a.rs", &function(71)), "fn f has 71 lines");
}

#[test]
fn names_say_something() {
    assert_one(&complaints_about("crates/x/src/utils.rs", "//! x\n"), "\"utils\"");
    assert_one(&complaints_about("crates/x/src/helpers/mod.rs", "//! x\n"), "\"helpers\"");
    assert_one(&complaints_about("crates/x/src/read_v2.rs", "//! x\n"), "read_v2");
    assert_one(
        &complaints_about("crates/x/src/a.rs", "//! x\npub(crate) struct PartManager;\n"),
        "PartManager",
    );
    assert_one(&complaints_about("crates/x/src/a.rs", "//! x\nenum Inner { A }\n"), "Inner");
    assert!(complaints_about("crates/x/src/a.rs", "//! x\nstruct DataSet;\nstruct Metadata;\n").is_empty());
}

#[test]
fn dead_code_and_nameless_notes_are_found() {
    assert_one(&complaints_about("crates/x/src/a.rs", "//! x\n// use std::io;\n"), "commented-out");
    assert_one(&complaints_about("crates/x/src/a.rs", "//! x\n    // pub mod old;\n"), "commented-out");
    assert!(complaints_about("crates/x/src/a.rs", "//! x\n// use it while it lasts\n").is_empty());
    let note = ["TO", "DO"].concat();
    assert_one(&complaints_about("crates/x/src/a.rs", &format!("//! x\n// {note}: later\n")), "issue");
    assert!(complaints_about("crates/x/src/a.rs", &format!("//! x\n// {note}(#12): later\n")).is_empty());
}

#[test]
fn crates_point_downward() {
    let manifest = |lines: &str| format!("[package]\nname = \"x\"\n\n[dependencies]\n{lines}");
    assert!(edges::check_manifest("catalog", &manifest("host.workspace = true\nbytes = \"1\"\n")).is_empty());
    assert_one(
        &edges::check_manifest("catalog", &manifest("parts.workspace = true\n")),
        "may not depend on parts",
    );
    assert_one(&edges::check_manifest("parts", &manifest("datafusion.workspace = true\n")), "DataFusion");
    assert_one(
        &edges::check_manifest("parts", "[dependencies.sql]\npath = \"../sql\"\n"),
        "may not depend on sql",
    );
    assert_one(&edges::check_manifest("newcomer", &manifest("")), "not in the table");
    let for_tests = "[dev-dependencies]\nengine.workspace = true\n";
    assert!(edges::check_manifest("cli", for_tests).is_empty());
}

fn import_complaints(modules: &[(&str, &str)]) -> Vec<Complaint> {
    let files: Vec<RustFile> =
        modules.iter().map(|(path, text)| file(&format!("crates/x/src/{path}"), text)).collect();
    imports::check(&files)
}

#[test]
fn modules_name_only_what_is_listed_above() {
    let root = ("lib.rs", "//! x\npub mod low;\npub mod high;\npub use high::High;\n");
    assert!(
        import_complaints(&[root, ("low.rs", "//! x\n"), ("high.rs", "//! x\nuse crate::low::Low;\n")])
            .is_empty()
    );
    assert_one(&import_complaints(&[root, ("low.rs", "//! x\nuse crate::high::High;\n")]), "names high");
    assert_one(
        &import_complaints(&[root, ("low.rs", "//! x\nuse super::{high::{A, B}, low};\n")]),
        "names high",
    );
    assert_one(
        &import_complaints(&[root, ("low.rs", "//! x\nuse crate::{\n    high::A,\n};\n")]),
        "names high",
    );
    assert_one(&import_complaints(&[root, ("low.rs", "//! x\nfn f() { crate::high::g() }\n")]), "names high");
    assert!(
        import_complaints(&[root, ("low.rs", "//! x\n#[cfg(test)]\nmod tests {\n use crate::high::A;\n}\n")])
            .is_empty()
    );
    let deep = |text| [root, ("low/mod.rs", "//! x\nmod a;\nmod b;\n"), ("low/a.rs", text)];
    assert_one(&import_complaints(&deep("//! x\nuse super::b::B;\n")), "low::a names low::b");
    let recursive = [
        root,
        ("low/mod.rs", "//! x\n//! Recursive: an expression holds expressions.\nmod a;\nmod b;\n"),
        ("low/a.rs", "//! x\nuse super::b::B;\n"),
    ];
    assert!(import_complaints(&recursive).is_empty(), "what walks a tree may call itself");
    assert_one(&import_complaints(&deep("//! x\nuse super::super::high;\n")), "low names high");
}

#[test]
fn architecture_names_what_exists() {
    let paragraphs: String =
        edges::EDGES.iter().map(|(name, ..)| format!("**`{name}`** does things.\n")).collect();
    let there = |path: &str| path == "crates/engine/src/insert.rs" || path == "docs/x.md";
    assert!(
        documents::check_architecture(
            &format!("{paragraphs}`engine/insert.rs` `docs/x.md` `a/b c` `u8`\n"),
            there
        )
        .is_empty()
    );
    assert_one(
        &documents::check_architecture(&format!("{paragraphs}see `engine/gone.rs`\n"), there),
        "engine/gone.rs",
    );
    assert_one(&documents::check_architecture(&format!("{paragraphs}see `GONE.md`\n"), there), "GONE.md");
    let without = paragraphs.replace("**`load`**", "load");
    assert_one(&documents::check_architecture(&without, there), "crate load has no paragraph");
    assert_one(
        &documents::check_architecture(&format!("{paragraphs}{}", "x\n".repeat(250)), there),
        "the limit is 250",
    );
}

#[test]
fn settings_have_a_meaning() {
    let row = |doc: &str| format!("max_threads  Choice(&[\"a\", \"b\"]), \"0\", Obeyed, \"{doc}\";\n");
    assert!(documents::undocumented_settings("s.rs", &row("Most threads a query uses.")).is_empty());
    assert_one(&documents::undocumented_settings("s.rs", &row(" ")), "max_threads");
}

#[test]
fn obeyed_settings_are_read() {
    let row =
        |effect: &str| format!("max_threads  Threads, \"0\", {effect}, \"Most threads a query uses.\";\n");
    let read = "settings.get_u64(\"max_threads\")";
    assert!(documents::unread_settings("s.rs", &row("Obeyed"), read).is_empty());
    assert!(documents::unread_settings("s.rs", &row("NoEffect"), "").is_empty());
    assert_one(&documents::unread_settings("s.rs", &row("Obeyed"), "// max_threads"), "no code reads it");
}

#[test]
fn tests_that_documents_name_exist() {
    let read = |path: &str| match path {
        "crates/x/src/a.rs" => Some("#[test]\nfn shown() {}\nfn shown_too<T>() {}\n".to_owned()),
        "tests/sql/a.slt" => Some("SELECT 1 SETTINGS x = 1\n".to_owned()),
        "tests/a.py" => Some("def check_s3(checks):\n    pass\n".to_owned()),
        _ => None,
    };
    let row = |test: &str| {
        evidence::check_page(&format!("| what | ours | test |\n|---|---|---|\n| a | yes | {test} |\n"), read)
    };
    for right in [
        "`crates/x/src/a.rs::shown`, `crates/x/src/a.rs::shown_too`",
        "`tests/sql/a.slt`",
        "`tests/sql/a.slt: SETTINGS x = 1`",
        "`tests/a.py::check_s3`",
    ] {
        assert_eq!(row(right), Vec::<Complaint>::new(), "{right}");
    }
    assert_one(&row("`crates/x/src/a.rs::show`"), "no function show");
    assert_one(&row("`crates/x/src/gone.rs::shown`"), "gone.rs does not exist");
    assert_one(&row("`tests/sql/a.slt: SETTINGS y`"), "does not hold");
    assert_one(&row("`tests/a.py::check`"), "no function check");
    assert!(row("somewhere").iter().any(|complaint| complaint.contains("names no test, and does not say")));
    let honest = "| a | yes | `tests/sql/a.slt` |\n| b | yes | no test |\n";
    assert!(evidence::check_page(honest, read).is_empty());
}
