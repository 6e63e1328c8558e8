#!/usr/bin/env python3
"""What people type for clickhouse-local works for `gristmill local` as it is.

Usage: local.py BINARY
Each case is a command line, what is on standard input, and what comes out; files are in a folder of their own.
"""
import os
import subprocess
import sys
import tempfile

FILES = {
    "rows.csv": "a,b\n1,x\n2,y\n3,x\n",
    "rows.tsv": "1\tx\n2\ty\n",
    "rows.jsonl": '{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n',
    "two.sql": "SELECT 1;\nSELECT 2;\n",
    "more.sql": "SELECT 3",
}
SUM = "SELECT b, sum(a) FROM table GROUP BY b ORDER BY b"

# (what it is, arguments, standard input (None: none), output or a part of the error)
CASES = [
    ("a statement", ["--query", "SELECT 1 + 1"], None, "2\n"),
    ("a statement without a word before it", ["SELECT 1 + 1"], None, "2\n"),
    ("several statements", ["-n", "--query", "SELECT 1; SELECT 2"], None, "1\n2\n"),
    ("a file of statements", ["--queries-file", "two.sql", "more.sql"], None, "1\n2\n3\n"),
    ("a file of statements by its name", ["two.sql"], None, "1\n2\n"),
    ("statements from standard input", [], "SELECT 1;\nSELECT 2", "1\n2\n"),
    ("standard input with a structure", ["-S", "a Int64, b String", "--input-format", "TSV", "-q", SUM], FILES["rows.tsv"], "x\t1\ny\t2\n"),
    ("standard input in CSV", ["--structure", "a Int64, b String", "--input-format", "CSVWithNames", "--query", SUM], FILES["rows.csv"], "x\t4\ny\t2\n"),
    ("standard input that says what it is", ["-q", SUM], FILES["rows.jsonl"], "x\t1\ny\t2\n"),
    ("standard input read twice", ["-q", "SELECT count() FROM table; SELECT max(a) FROM `table`"], FILES["rows.csv"], "3\n3\n"),
    ("standard input under a name", ["-N", "t", "--input-format", "CSV", "-q", "SELECT count() FROM t"], FILES["rows.csv"], "3\n"),
    ("a file as the table", ["--file", "rows.csv", "--query", SUM], None, "x\t4\ny\t2\n"),
    ("a file as the table, in short", ["-f", "rows.jsonl", "-q", SUM], None, "x\t1\ny\t2\n"),
    ("a file by its name", ["-q", "SELECT sum(a) FROM 'rows.csv'"], None, "6\n"),
    ("columns of a file", ["-q", "DESCRIBE TABLE 'rows.csv' FORMAT CSV SETTINGS describe_compact_output = 1"], None, '"a","Nullable(Int64)"\n"b","Nullable(String)"\n'),
    ("files by their names, joined", ["-q", "SELECT count() FROM 'rows.csv' AS l JOIN 'rows.jsonl' AS r ON l.a = r.a"], None, "2\n"),
    ("file()", ["-q", "SELECT count() FROM file('rows.tsv', 'TSV', 'a Int64, b String')"], None, "2\n"),
    ("a format of answers", ["--output-format", "JSONEachRow", "-q", "SELECT 1 AS a"], None, '{"a":1}\n'),
    ("a format of answers by its other name", ["--format", "CSV", "-q", "SELECT 1, 'x'"], None, '1,"x"\n'),
    ("a conversion of formats", ["--input-format", "CSVWithNames", "--output-format", "JSONEachRow", "-q", "SELECT * FROM table ORDER BY a LIMIT 1"], FILES["rows.csv"], '{"a":1,"b":"x"}\n'),
    ("a parameter", ["--param_id=7", "-q", "SELECT {id:UInt8} + 1"], None, "8\n"),
    ("a parameter behind its name", ["-q", "SELECT {name:String}", "--param_name", "it's"], None, "it\\'s\n"),
    ("a setting", ["--max_threads=3", "-q", "SELECT getSetting('max_threads')"], None, "3\n"),
    ("a setting with dashes", ["--max-block-size", "100", "-q", "SELECT getSetting('max_block_size')"], None, "100\n"),
    ("statements that are shown", ["--echo", "-q", "SELECT 1"], None, "SELECT 1\n1\n"),
    ("an error that is passed over", ["--ignore-error", "-q", "SELECT nosuch; SELECT 2"], None, "2\n"),
    ("rows into a table", ["-q", "CREATE TABLE t (a Int8) ENGINE = Memory; INSERT INTO t FORMAT CSV", "-q", "SELECT 1"], "5\n", "1\n"),
    ("a setting that is none", ["--max_thread=3", "-q", "SELECT 1"], None, "ERROR maybe you meant \"max_threads\""),
    ("an option that is none", ["--no.such", "-q", "SELECT 1"], None, "ERROR is neither an option (see --help) nor a setting"),
    ("a file that is not there", ["--file", "nosuch.csv", "-q", SUM], None, 'ERROR file "nosuch.csv" does not exist'),
    ("a format for a file", ["-f", "CSV", "-q", SUM], None, "ERROR -f is --file"),
    ("a format that is none", ["--input-format", "Nosuch", "-q", SUM], "1\n", "ERROR unknown format Nosuch"),
    ("statements that are not there", ["--queries-file", "nosuch.sql"], None, 'ERROR file "nosuch.sql" of statements'),
    ("two ways at once", ["-q", "SELECT 1", "SELECT 2"], None, "ERROR cannot be used with"),
]


def problem(binary, folder, arguments, given, wanted):
    """What is wrong with the answer; None if nothing is."""
    source = subprocess.DEVNULL if given is None else subprocess.PIPE
    done = subprocess.run([binary, "local", *arguments], cwd=folder, text=True, capture_output=True, **({"stdin": source} if given is None else {"input": given}))
    if wanted.startswith("ERROR "):
        part = wanted.removeprefix("ERROR ")
        return None if done.returncode and part in done.stderr else f"wanted an error with {part!r}; {done.returncode}: {done.stdout!r} {done.stderr!r}"
    ends_well = done.returncode == 0
    return None if done.stdout == wanted and ends_well else f"wanted {wanted!r}; {done.returncode}: {done.stdout!r} {done.stderr!r}"


def kept_database(binary, folder):
    """The table is gone from a folder that stays, and an input redirected from a file is that file."""
    with open(os.path.join(folder, "rows.csv")) as rows:
        command = [binary, "local", "--path", "kept", "-q", "CREATE TABLE sums ENGINE = MergeTree ORDER BY b AS SELECT b, sum(a) AS s FROM table GROUP BY b"]
        done = subprocess.run(command, cwd=folder, stdin=rows, text=True, capture_output=True)
    if done.returncode:
        return done.stderr
    wanted = "sums\nx\t4\ny\t2\n"
    refused = problem(binary, folder, ["--path", "kept", "-N", "sums", "-f", "rows.csv", "-q", "SELECT 1"], None, "ERROR already exists")
    elsewhere = problem(binary, folder, ["--path", "kept", "-f", "rows.csv", "-q", "SELECT count() FROM table; CREATE DATABASE d; USE d; CREATE TABLE table (a Int8) ENGINE = Log"], None, "3\n")
    other = problem(binary, folder, ["--path", "kept", "-d", "d", "-q", "SHOW TABLES"], None, "table\n")
    return refused or elsewhere or other or problem(binary, folder, ["--path", "kept", "-q", "SHOW TABLES; SELECT * FROM sums ORDER BY b"], None, wanted)


def main():
    binary = os.path.abspath(sys.argv[1])
    failed = 0
    with tempfile.TemporaryDirectory(prefix="local") as folder:
        for name, text in FILES.items():
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        found = [(name, problem(binary, folder, *rest)) for name, *rest in CASES]
        found.append(("a database that is kept", kept_database(binary, folder)))
    for name, why in found:
        if why:
            failed += 1
            print(f"{name}: {why}")
    print(f"{len(found) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
