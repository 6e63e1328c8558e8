#!/usr/bin/env python3
"""Reads odd and broken files of other projects through s3() and compares with what several readers made of them.

Usage: odd_files.py BINARY [FOLDER]

FOLDER (or the variable GRISTMILL_TESTDATA, or a folder `testdata` in a neighbour of the checkout) holds
manifest_parquet.json and manifest_text.json; without it nothing is compared, and that is said. Every file must be
answered within the manifest's time and memory, rows or error as its verdict says, and the process must go on.
"""
import json
import os
import subprocess
import sys
import threading
import time
import urllib.parse
from pathlib import Path

from shell import Refused, Shell

CUT_CHARACTERS_MIN = 150
PARQUET_SECONDS, TEXT_SECONDS, PEAK_BYTES = 30, 5, 2 << 30
MEMORY_BYTES = 3 << 29

# Files that must be read and are not yet: a clear error instead of rows, with the reason.
NOT_READ = {
    "dict-page-offset-zero.parquet": "the Parquet library refuses its list of 16-bit numbers in the footer",
    "nation.dict-malformed.parquet": "the Parquet library refuses its dictionary page header",
    "fuzzing/5068991573000192": "the Parquet library refuses decimals wider than their bytes",
}

# Readings that differ from ClickHouse's on purpose, with the reason; docs/design/formats.md says more.
DIFFERENT = {
    "tuple_object_order.ndjson": "elements of an object keep the order of the first row, ClickHouse sorts them",
    "whitespace.tsv": "the first row is data",
    "people.csv": "a byte order mark is never a part of a value",
    "timestampformat.csv": "\"June 2003\" is a date to best effort",
}


def folder_of(arguments):
    named = arguments[1:2] or [os.environ.get("GRISTMILL_TESTDATA", "")]
    if named[0]:
        return Path(named[0])
    found = sorted(Path(__file__).resolve().parents[2].parent.glob("*/testdata/manifest_parquet.json"))
    return found[0].parent if found else None


class Endpoint:
    """The folder as a bucket."""

    def __init__(self, binary, folder):
        command = [binary, "s3-endpoint", "--path", str(folder.parent), "--port", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.url = None
        for line in self.process.stdout:
            words = [word.rstrip("/.,") for word in line.split() if word.startswith("http://")]
            if words:
                self.url = f"{words[0]}/{folder.name}"
                break
        threading.Thread(target=self.process.stdout.read, daemon=True).start()


class Reader:
    """Statements one after the other, each with a limit of time; a process that died is started again."""

    def __init__(self, binary):
        self.binary, self.shell, self.peak = binary, None, 0

    def read(self, sql, seconds):
        """Rows, or the error as text; with what went wrong beside it, if anything did."""
        if self.shell is None:
            self.shell = Shell(self.binary, settings=[("max_memory_usage", MEMORY_BYTES)], goes_on=True)
        shell, late = self.shell, []
        timer = threading.Timer(seconds + 5, lambda: (late.append(True), shell.process.kill()))
        timer.start()
        start = time.monotonic()
        try:
            answer = shell.query(sql)
        except Refused as refused:
            answer = str(refused)
        except (BrokenPipeError, ValueError) as broken:
            answer = f"the process is gone: {broken}"
        timer.cancel()
        spent = time.monotonic() - start
        self.peak = max(self.peak, peak_bytes(shell.process.pid))
        wrong = None
        if late or spent > seconds:
            wrong = f"took {spent:.1f} s"
        elif shell.process.poll() is not None or not self.answers():
            wrong = f"the process ended: {str(answer)[-300:]}"
        elif isinstance(answer, str) and "panicked" in answer:
            wrong = f"panic: {answer[:300]}"
        if late or shell.process.poll() is not None:
            shell.kill()
            self.shell = None
        return answer, wrong

    def answers(self):
        try:
            return self.shell.query("SELECT 1") == [["1"]]
        except (Refused, BrokenPipeError, ValueError):
            return False


def peak_bytes(pid):
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM")), 0)


def judge_parquet(entry, answer):
    rows, verdict = len(answer) if isinstance(answer, list) else None, entry["verdict"]
    if verdict == "reject":
        return None if rows is None else f"{rows} rows instead of an error ({entry.get('reason', 'it is broken')})"
    if rows is None:
        known = any(entry["file"].endswith(name) for name in NOT_READ)
        return None if verdict == "either" or known else f"error instead of {entry['rows']} rows: {answer.strip()[:300]}"
    return None if rows == entry.get("rows", rows) else f"{rows} rows instead of {entry['rows']}"


def judge_text(entry, name, answer):
    """ClickHouse's rows, or an error; a file with no verdict only has to be answered."""
    theirs = entry["clickhouse"][name]
    if entry["verdict"] == "no_crash" or isinstance(answer, str):
        return None
    if any(entry["file"].endswith(known) for known in DIFFERENT):
        return None
    if "rows" not in theirs:
        return None
    if len(answer) != theirs["rows"]:
        return f"{name}: {len(answer)} rows, ClickHouse reads {theirs['rows']}"
    for row, expected in zip(answer, theirs.get("first_rows_tsv", [])):
        # The manifest keeps the beginning of long rows.
        ours = "\t".join(row)[: len(expected)] if len(expected) >= CUT_CHARACTERS_MIN else "\t".join(row)
        if ours != expected:
            return f"{name}: differs\n    ours:   {ours[:300]}\n    theirs: {expected[:300]}"
    return None


def source(url, entry, name):
    path = urllib.parse.quote(entry["file"])
    return f"SELECT * FROM s3('{url}/{path}', NOSIGN, '{name}')"


def main():
    folder = folder_of(sys.argv[1:])
    if folder is None or not (folder / "manifest_parquet.json").exists():
        print("SKIPPED: no folder with odd files (GRISTMILL_TESTDATA names one)")
        print("0 passed, 0 failed")
        return 0
    endpoint, passed, failed = Endpoint(sys.argv[1], folder), 0, []
    reader, refused = Reader(sys.argv[1]), 0
    work = [(entry, "Parquet", PARQUET_SECONDS) for entry in json.loads((folder / "manifest_parquet.json").read_text())["files"]]
    for entry in json.loads((folder / "manifest_text.json").read_text())["files"]:
        work += [(entry, name, TEXT_SECONDS) for name in entry["clickhouse"]]
    for entry, name, seconds in work:
        answer, wrong = reader.read(source(endpoint.url, entry, name), seconds)
        judged = judge_parquet(entry, answer) if name == "Parquet" else judge_text(entry, name, answer)
        refused += name != "Parquet" and entry["verdict"] == "compare" and isinstance(answer, str) \
            and "rows" in entry["clickhouse"][name]
        if wrong or judged:
            failed.append(f"{entry['file']}: {wrong or judged}")
        else:
            passed += 1
    endpoint.process.kill()
    if reader.peak > PEAK_BYTES:
        failed.append(f"peak memory {reader.peak >> 20} MiB is above {PEAK_BYTES >> 20} MiB")
    print("\n".join(failed))
    print(f"peak memory {reader.peak >> 20} MiB; {refused} text readings are errors here and rows in ClickHouse")
    print(f"{passed} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
