#!/usr/bin/env python3
"""Writes an .slt file from a list of statements, with ClickHouse's answers (the chdb wheel) as expectations.

Usage: fill.py INPUT.sql OUTPUT.slt

INPUT has statements separated by lines that hold only `;`. Lines starting with `--` become comments. A statement that
ClickHouse refuses becomes `statement error` with ClickHouse's error name.
"""
import re
import sys
from pathlib import Path

from chdb import session as chdb_session


def main():
    source, target = sys.argv[1:]
    oracle, out = chdb_session.Session(), []
    for block in re.split(r"^;[ \t]*$", Path(source).read_text(), flags=re.M):
        comments = [line[2:].strip() for line in block.split("\n") if line.startswith("--")]
        sql = "\n".join(line for line in block.strip().split("\n") if not line.startswith("--")).strip()
        out += [f"# {comment}" for comment in comments]
        if not sql:
            continue
        try:
            answer = oracle.query(sql, "TabSeparated").data()
        except Exception as error:
            name = re.findall(r"\(([A-Z_0-9]+)\)", str(error))
            out += [f"statement error {name[-1] if name else ''}".rstrip(), sql, ""]
            continue
        returns = re.match(r"(?i)\s*(select|with|show|describe|desc|exists|explain|values|\()", sql)
        if not returns:
            out += ["statement ok", sql, ""]
            continue
        rows = [["(empty)" if c == "" else c for c in row.split("\t")] for row in answer.split("\n")[:-1]]
        width = len(rows[0]) if rows else 1
        ordered = re.search(r"(?i)order by|^show|^desc|^exists", sql) or len(rows) <= 1
        out += [f"query {'T' * width} {'nosort' if ordered else 'rowsort'}", sql, "----"]
        lines = ["\t".join(row) for row in rows]
        out += lines if ordered else sorted(lines)
        out += [""]
    Path(target).write_text("\n".join(out).rstrip() + "\n")


if __name__ == "__main__":
    main()
