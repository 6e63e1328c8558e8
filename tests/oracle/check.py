#!/usr/bin/env python3
"""Runs the project's .slt files against ClickHouse (the chdb wheel) and compares the answers.

Usage: check.py [FILE ...]     without files: all of tests/sql

A record after a line `# ours` is our own behaviour and is skipped. `statement error` records must fail there too.
Cells are compared as TabSeparated prints them; sorted when the record says `rowsort`.
"""
import os
import re
import sys
from pathlib import Path

from chdb import session as chdb_session


def records(text):
    """Yields (line number, kind, expected rows or error, sort mode, sql, ours)."""
    lines = text.split("\n")
    i, ours = 0, False
    while i < len(lines):
        line = lines[i].strip()
        if line == "# ours":
            ours = True
        elif line.startswith(("statement", "query")):
            head, start = line.split(), i + 1
            i += 1
            sql = []
            while i < len(lines) and lines[i].strip() not in ("", "----"):
                sql.append(lines[i])
                i += 1
            rows = []
            if i < len(lines) and lines[i].strip() == "----":
                i += 1
                while i < len(lines) and lines[i].strip() != "":
                    rows.append(lines[i])
                    i += 1
            sort = "rowsort" if "rowsort" in head else "nosort"
            yield start, head, rows, sort, "\n".join(sql), ours
            ours = False
        i += 1


def cells(text):
    return [["(empty)" if c == "" else c for c in row.split("\t")] for row in text.split("\n")[:-1]]


def check(path):
    oracle, wrong, compared = chdb_session.Session(), [], 0
    for line, head, rows, sort, sql, ours in records(Path(path).read_text()):
        if ours:
            continue
        compared += 1
        where = f"{path}:{line}"
        try:
            answer = oracle.query(sql, "TabSeparated").data()
        except Exception as error:  # chdb raises RuntimeError with ClickHouse's text
            if head[:2] != ["statement", "error"] and head[:2] != ["query", "error"]:
                wrong.append(f"{where}: ClickHouse refuses: {str(error)[:200]}")
            continue
        if head[1:2] == ["error"]:
            wrong.append(f"{where}: ClickHouse accepts what we refuse")
        elif head[0] == "query":
            theirs = [" ".join(row) for row in cells(answer)]
            mine = [re.sub(r"[\t ]+", " ", row).strip() for row in rows]
            theirs = [re.sub(r"[\t ]+", " ", row).strip() for row in theirs]
            if sort == "rowsort":
                theirs, mine = sorted(theirs), sorted(mine)
            if theirs != mine:
                apart = next((i for i, pair in enumerate(zip(theirs, mine)) if pair[0] != pair[1]), min(len(theirs), len(mine)))
                wrong.append(
                    f"{where}: {sql[:120]} (row {apart + 1} of {len(theirs)}, {len(mine)} expected)\n"
                    f"  ClickHouse: {theirs[apart:apart + 3]}\n  expected:   {mine[apart:apart + 3]}"
                )
    return compared, wrong


def main():
    files = sys.argv[1:] or sorted(map(str, Path(__file__).parents[1].joinpath("sql").rglob("*.slt")))
    files = [str(Path(file).resolve()) for file in files]
    # Paths in the records are those that the runner of our own tests sees.
    os.chdir(Path(__file__).resolve().parents[1])
    total, wrong = 0, []
    for path in files:
        compared, bad = check(path)
        total += compared
        wrong += bad
    print("\n".join(wrong))
    print(f"{total - len(wrong)} passed, {len(wrong)} failed")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
