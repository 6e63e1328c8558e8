//! Runs the scripts of `tests/` that drive the real binary: kill -9, a full disk, many inserts, comparison with ClickHouse.
//!
//! Invariant: a script that cannot run here (no Python, no `chdb` package) says so and is not counted as a comparison.
//! `GRISTMILL_SOAK=1` runs the long amounts. Under `GRISTMILL_MUST_COMPARE=1`, which `cargo xtask` sets, it fails instead.

#![expect(clippy::disallowed_methods, reason = "how long a script took is for who reads the log")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(name)
}

/// The amount of an ordinary run, or the long one.
fn amount(short: &str, long: &str) -> String {
    let soak = std::env::var_os("GRISTMILL_SOAK").is_some_and(|value| value == "1");
    if soak { long } else { short }.to_owned()
}

/// Whether Python has what a script imports. Without it the script is skipped, unless somebody counts on the comparison.
fn can_run(name: &str, modules: &str) -> bool {
    let import = Command::new("python3").args(["-c", &format!("import {modules}")]).output();
    if import.is_ok_and(|output| output.status.success()) {
        return true;
    }
    let must = std::env::var_os("GRISTMILL_MUST_COMPARE").is_some_and(|value| value == "1");
    assert!(!must, "{name} cannot run: python3 cannot import {modules}, and GRISTMILL_MUST_COMPARE is set");
    let _ = writeln!(std::io::stderr(), "{name} skipped: python3 cannot import {modules}");
    false
}

fn run(name: &str, arguments: &[String]) {
    let start = Instant::now();
    let output = Command::new("python3")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .arg(script(name))
        .args(arguments)
        .output()
        .expect("python3 starts");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains(" passed, 0 failed"), "{name} failed:\n{out}\n{err}");
    for skipped in out.lines().filter(|line| line.starts_with("SKIPPED")) {
        // Not by a macro, whose lines the harness keeps to itself when a test passes.
        let _ = writeln!(std::io::stderr(), "{name}: {skipped}");
    }
    // A third of a whole run is spent here: who wants it shorter has to see where.
    let _ = writeln!(std::io::stderr(), "{name} took {} s", start.elapsed().as_secs());
}

/// Runs a script that drives the binary, if Python has what it imports.
fn run_with_binary(modules: &str, name: &str, arguments: &[String]) {
    if can_run(name, modules) {
        let binary = env!("CARGO_BIN_EXE_gristmill").to_owned();
        run(name, &[&[binary], arguments].concat());
    }
}

#[test]
fn nothing_acknowledged_is_lost_by_kill_nine() {
    run_with_binary("json", "crash/kill9.py", &[amount("10", "100"), "7".to_owned()]);
}

#[test]
fn servers_of_one_root_race_and_one_wins() {
    run_with_binary("json", "shared/races.py", &[amount("3", "500")]);
}

#[test]
fn what_is_wrong_with_a_shared_root_is_said_and_loses_nothing() {
    run_with_binary("json", "shared/bad_input.py", &[amount("6", "60")]);
}

#[test]
fn nothing_is_lost_when_a_server_of_a_shared_root_dies() {
    let store = ["--seed", "7", "--store", "folder"].map(str::to_owned);
    run_with_binary("json", "shared/kills.py", &[&[amount("4", "1000")], store.as_slice()].concat());
}

#[test]
fn a_load_that_servers_share_is_whole_whatever_becomes_of_them() {
    let faults = ["--faults", "kill,coordinator", "--files", "12", "--rows", "30000"].map(str::to_owned);
    run_with_binary("json", "shared/helped.py", &[&[amount("4", "100")], faults.as_slice()].concat());
}

#[test]
fn a_query_that_servers_share_is_whole_whatever_becomes_of_them() {
    let rows = ["--rows", "200000"].map(str::to_owned);
    run_with_binary("json", "shared/reads.py", &[&[amount("8", "300")], rows.as_slice()].concat());
}

#[test]
fn a_label_repeated_after_kill_nine_is_there_once() {
    run_with_binary("json", "crash/labels9.py", &[amount("10", "300"), "7".to_owned()]);
}

#[test]
fn a_killed_load_goes_on_where_it_stopped() {
    run_with_binary("json", "crash/resume.py", &[amount("3", "20"), "7".to_owned()]);
}

#[test]
fn generated_histories_of_modes_and_mutations_are_those_of_clickhouse() {
    run_with_binary("chdb", "oracle/modes_check.py", &[amount("12", "400"), "7".to_owned()]);
}

#[test]
fn masks_of_final_show_what_merging_shows() {
    run_with_binary("json", "oracle/masks_check.py", &[amount("15", "2000"), "7".to_owned()]);
}

#[test]
fn a_full_disk_loses_nothing_and_needs_no_restart() {
    run_with_binary("json", "crash/full_disk.py", &["7".to_owned(), amount("0", "1")]);
}

#[test]
fn a_million_small_inserts_leave_few_parts_and_little_memory() {
    run_with_binary("json", "soak/million.py", &[amount("10000", "1000000")]);
}

#[test]
fn mixed_clients_and_a_kill_lose_nothing_and_let_memory_be() {
    run_with_binary("json", "soak/mixed.py", &[amount("20", "600")]);
}

#[test]
fn damaged_folders_are_refused_or_right() {
    run_with_binary("json", "attack/folders.py", &[amount("40", "2000")]);
}

#[test]
fn mutated_bodies_break_nothing() {
    run_with_binary("json", "attack/bodies.py", &[amount("600", "30000")]);
}

#[test]
fn defaults_of_what_data_leave_out_are_those_of_clickhouse() {
    // Rows of the larger bodies, and of which formats.
    run_with_binary("chdb", "oracle/defaults_check.py", &[amount("60", "3000"), amount("JSONEachRow", "")]);
}

#[test]
fn loads_much_larger_than_their_memory_succeed() {
    let amounts = [amount("0.06", "12"), amount("4000", "420000")];
    run_with_binary("json", "soak/big_loads.py", &amounts);
}

#[test]
fn slow_silent_and_foreign_clients_keep_nobody_out() {
    run_with_binary("json", "attack/clients.py", &[amount("short", "long")]);
}

#[test]
fn statements_that_explode_end_within_their_memory() {
    // All families take a debug build half an hour: the ordinary run tries one.
    run_with_binary("json", "soak/explosions.py", &[amount("short", "long"), amount("replace", "")]);
}

#[test]
fn statements_that_compute_for_long_keep_nobody_out() {
    run_with_binary("json", "attack/turns.py", &[amount("short", "long")]);
}

#[test]
fn texts_that_ask_for_much_end_no_server() {
    run_with_binary("json", "attack/texts.py", &[amount("short", "long")]);
}

#[test]
fn real_clients_are_served() {
    let arguments = ["--seconds".to_owned(), amount("600", "3600")];
    let binary = ["--binary".to_owned(), env!("CARGO_BIN_EXE_gristmill").to_owned()];
    if can_run("clients/run.py", "venv") {
        run("clients/run.py", &[&binary[..], &arguments[..]].concat());
    }
}

#[test]
fn a_load_equals_what_other_readers_see() {
    let amounts = [amount("5000", "1000000"), amount("60", "200")];
    run_with_binary("chdb, duckdb, pyarrow", "oracle/load_check.py", &amounts);
}

#[test]
fn adopted_rows_are_those_of_a_load_that_decodes() {
    run_with_binary("chdb, duckdb, pyarrow", "oracle/adoption_check.py", &[amount("short", "long")]);
}

#[test]
fn formats_and_codecs_go_there_and_back() {
    run_with_binary("chdb, pyarrow", "oracle/formats.py", &[amount("50", "20000")]);
}

#[test]
fn real_stores_are_read_and_written() {
    run_with_binary("chdb", "stores/stores.py", &[]);
}

#[test]
fn suites_of_questions_have_the_answers_of_clickhouse() {
    run_with_binary("chdb", "oracle/suites_check.py", &[amount("20000", "200000")]);
}

#[test]
fn settings_are_those_of_clickhouse() {
    run_with_binary("chdb", "oracle/settings_check.py", &[]);
}

#[test]
fn five_thousand_statements_have_the_answers_of_clickhouse() {
    run_with_binary("chdb", "oracle/statements_check.py", &[]);
}

#[test]
fn what_people_type_for_clickhouse_local_works() {
    run_with_binary("json", "local/local.py", &[]);
}

#[test]
fn the_readme_and_the_guide_do_what_they_print() {
    run_with_binary("json", "pages/pages.py", &[]);
}

#[test]
fn odd_and_broken_files_are_read_or_refused() {
    run_with_binary("json", "oracle/odd_files.py", &[]);
}

#[test]
fn the_sql_tests_expect_what_clickhouse_answers() {
    if can_run("oracle/check.py", "chdb") {
        run("oracle/check.py", &[]);
    }
}
