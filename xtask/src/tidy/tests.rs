use super::*;

fn file(path: &str, text: &str) -> RustFile {
    RustFile { path: path.to_owned(), source: Source::new(text), declared_for_tests: false }
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
fn what_a_run_left_at_the_top_is_found() {
    assert_one(&root::strangers(["crates", ".gitignore", "data.avro"].into_iter()), "data.avro");
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

#[test]
fn arrows_that_nobody_goes_are_removed() {
    let needed = "[dependencies]\nhost.workspace = true\n";
    assert!(edges::dead_edges("commitlog", needed).is_empty());
    assert_one(&edges::dead_edges("commitlog", "[dependencies]\nbytes = \"1\"\n"), "remove the edge");
    assert_one(&edges::dead_edges("commitlog", "[dev-dependencies]\nhost.workspace = true\n"), "name host");
    let without = "[dependencies]\nsql.workspace = true\nfunctions.workspace = true\nmodel.workspace = true\n\
                   aggregates.workspace = true\nhost.workspace = true\n";
    assert_one(&edges::dead_edges("planner", without), "name datafusion");
}

/// A picture that draws every crate on the level of its place in the table, which is bottom-up.
fn picture() -> String {
    let lines =
        edges::EDGES.iter().enumerate().map(|(level, (name, ..))| format!(" L{level}  {name} │ words\n"));
    format!(
        "{}\nOnly `aggregates`, `planner`, `sources`, `physical`, `boundary`, `tables`, `sinks` and `engine`\nmay name DataFusion; the others not.\n",
        lines.collect::<String>()
    )
}

#[test]
fn the_picture_of_crates_is_the_table() {
    let right = picture();
    assert_eq!(edges::check_picture(&right), Vec::<Complaint>::new());
    assert_one(&edges::check_picture(&right.replace("  load │", "  nobody │")), "does not draw load");
    assert_one(&edges::check_picture(&right.replace("  load │", "  load, load │")), "draws load twice");
    let beside = right.replace(" L3  commitlog", " L0  commitlog");
    assert_one(&edges::check_picture(&beside), "does not draw commitlog above host");
    assert_one(&edges::check_picture(&right.replace("`sources`, ", "`stores`, ")), "does not name exactly");
}

fn manifest(text: &str) -> manifest::Manifest {
    manifest::Manifest { folder: "crates/x".to_owned(), text: text.to_owned() }
}

#[test]
fn dependencies_are_named() {
    let unused = |lines: &str, code: &str| {
        let files =
            [file("crates/x/src/a.rs", code), file("crates/xy/src/a.rs", "//! x\nuse bytes::Bytes;\n")];
        dependencies::unused(&manifest(lines), &files)
    };
    let one = "[dependencies]\nserde-json.workspace = true\n";
    for code in [
        "use serde_json::Value;",
        "pub use serde_json as json;",
        "fn f(v: &serde_json::Value) {}",
        "use ::serde_json;",
    ] {
        assert_eq!(unused(one, &format!("//! x\n{code}\n")), Vec::<Complaint>::new(), "{code}");
    }
    for code in
        ["use crate::serde_json::Value;", "// serde_json::Value", "const A: &str = \"serde_json::A\";"]
    {
        assert_one(&unused(one, &format!("//! x\n{code}\n")), "no code names serde-json");
    }
    assert_one(&unused("[dependencies]\nbytes = \"1\"\n", "//! x\n"), "no code names bytes");
    let in_tests = "//! x\n#[cfg(test)]\nmod tests {\n    use serde_json::Value;\n}\n";
    assert_one(&unused(one, in_tests), "move it to dev-dependencies");
    assert!(unused("[dev-dependencies]\nserde-json = \"1\"\n", in_tests).is_empty());
    assert_one(&unused("[dev-dependencies]\nbytes = \"1\"\n", in_tests), "no code names bytes");
    let twice = "[dependencies]\nbytes = \"1\"\n[dev-dependencies]\nbytes = \"1\"\n";
    assert_one(&unused(twice, "//! x\nuse bytes::Bytes;\n"), "remove the second line");
    assert!(unused("[dependencies]\nmd-5 = \"1\" # library: md5\n", "//! x\nuse md5::Md5;\n").is_empty());
    assert!(unused("[dependencies]\nzstd = \"1\" # feature: codecs of arrow\n", "//! x\n").is_empty());
}

#[test]
fn lines_of_the_workspace_are_taken() {
    let workspace =
        "[workspace.dependencies]\nbytes = \"1\"\nurl = { version = \"2\", features = [\n    \"a\",\n] }\n";
    let both = manifest("[dependencies]\nbytes.workspace = true\n[dev-dependencies]\nurl.workspace = true\n");
    assert!(dependencies::untaken(workspace, &[both]).is_empty());
    let one = manifest("[dependencies]\nbytes.workspace = true\n");
    assert_one(&dependencies::untaken(workspace, &[one]), "no crate takes url");
}

#[test]
fn folders_and_crates_have_an_end() {
    let folder = |count: usize| -> Vec<RustFile> {
        (0..count).map(|number| file(&format!("crates/x/tests/it/a{number}.rs"), "//! x\n")).collect()
    };
    assert!(tree::check(&folder(25)).is_empty());
    assert_one(&tree::check(&folder(26)), "crates/x/tests/it: 26 Rust files");
    let lines = |path: &str, count: usize| file(path, &"const A: u8 = 1;\n".repeat(count));
    let whole = |more: usize| [lines("crates/x/src/a.rs", 9000), lines("crates/x/src/b/c.rs", 6000 + more)];
    assert!(tree::check(&whole(0)).is_empty());
    assert_one(&tree::check(&whole(1)), "crates/x: 15001 lines, the limit is 15000");
    assert!(tree::check(&[lines("crates/x/src/tests.rs", 15_001)]).is_empty(), "tests do not count");
}

#[test]
fn what_is_declared_for_tests_is_one() {
    let mut files = [
        file("crates/x/src/lib.rs", "//! x\nmod a;\n#[cfg(test)]\nmod made;\n"),
        file("crates/x/src/a.rs", "//! x\n#[cfg(test)]\nmod more_tests;\n"),
        file("crates/x/src/a/more_tests.rs", ""),
        file("crates/x/src/made/mod.rs", ""),
        file("crates/x/src/made/deep.rs", ""),
        file("crates/x/src/more_tests.rs", ""),
    ];
    mark_tests(&mut files);
    let marks: Vec<bool> = files.iter().map(RustFile::is_test).collect();
    assert_eq!(marks, [false, false, true, true, true, false]);
}

#[test]
fn few_places_attest_and_spawn() {
    let ban = |pattern| bans::Ban {
        pattern,
        words: "does it",
        places: &["crates/x/src/a.rs", "crates/low/src/"],
        invariant: "I8",
    };
    let does = "//! x\nfn f() { it() }\n";
    let both = [("crates/x/src/a.rs", does), ("crates/low/src/deep/b.rs", does)];
    let judged = |more: &[(&str, &str)]| {
        let files: Vec<RustFile> = both.iter().chain(more).map(|(path, text)| file(path, text)).collect();
        bans::judge(&ban(r"\bit\("), &files)
    };
    assert!(judged(&[]).is_empty());
    assert_one(&judged(&[("crates/x/src/b.rs", does)]), "crates/x/src/b.rs:2: does it (I8)");
    assert!(
        judged(&[("crates/x/src/b.rs", "//! x\n// it()\n#[cfg(test)]\nmod tests { fn f() { it() } }\n")])
            .is_empty()
    );
    assert!(judged(&[("crates/x/tests/b.rs", does), ("xtask/src/b.rs", does)]).is_empty());
    assert_eq!(bans::judge(&ban("never"), &[]).len(), 2, "places that do it no longer");
    let text = |places: &str| format!("- **I7** `x/a.rs`\n- **I8** Only\n  {places}.\n- **I9** `x/a.rs`\n");
    assert!(bans::unnamed(&ban(""), &text("`low` and `x/a.rs`")).is_empty());
    assert_one(&bans::unnamed(&ban(""), &text("`low`")), "I8 does not name `x/a.rs`");
}

#[test]
fn ways_to_start_a_task_are_known() {
    let found = |code: &str| {
        let files = [file("crates/x/src/a.rs", &format!("//! x\n{code}\n"))];
        bans::BANS.iter().flat_map(|ban| bans::judge(ban, &files)).filter(|c| c.contains("a.rs:2: ")).count()
    };
    for code in [
        "tokio::spawn(work);",
        "task::spawn_blocking(work);",
        "let mut running = JoinSet::new();",
        "use datafusion::common::runtime::SpawnedTask;",
        "handle.spawn(work);",
        "        .spawn(work)",
        "std::thread::spawn(work);",
        "thread::Builder::new()",
        "SealedPart::attest_durable(part)",
    ] {
        assert_eq!(found(code), 1, "{code}");
    }
    for code in
        ["runtimes.spawn_io(\"a\", work);", "runtimes.spawn_thread(\"a\", work);", "thread::sleep(a);"]
    {
        assert_eq!(found(code), 0, "{code}");
    }
}

#[test]
fn a_build_costs_what_is_written_down() {
    let package = |name: &str, version: &str| {
        format!(
            "[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nsource = \"registry\"\ndependencies = [\n \"a\",\n]\n\n"
        )
    };
    let ours = "[[package]]\nname = \"engine\"\nversion = \"0.1.0\"\n\n";
    let lock =
        format!("version = 4\n\n{}{ours}{}{}", package("a", "1"), package("a", "2"), package("b", "1"));
    assert_eq!(budget::packages(&lock), ["a", "a", "b"]);
    let workspace = "arrow = { features = [\"z\"] }\ndatafusion = { version = \"=1\", features = [\n    \"a\", \"b\",\n    \"c\",\n] }\nparquet = { features = [\"d\"] }\n";
    assert_eq!(budget::datafusion_features(workspace), ["a", "b", "c"]);
    assert_eq!(budget::check(&lock, workspace).len(), 3, "the figures are those of the repository");
    assert_eq!(budget::ratchet("Cargo.lock", "packages", 4, 4), None);
    let more = budget::ratchet("Cargo.lock", "packages", 5, 4).unwrap();
    assert!(more.starts_with("Cargo.lock: 5 packages, the budget is 4: do without"), "{more}");
    let fewer = budget::ratchet("Cargo.lock", "packages", 3, 4).unwrap();
    assert!(fewer.contains("write the smaller figure"), "{fewer}");
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
