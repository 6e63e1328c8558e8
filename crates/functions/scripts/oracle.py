#!/usr/bin/env python3
"""Fills in the fixtures of tests/oracle from chdb, ClickHouse as a Python module (pip install chdb).

Each line of a fixture starts with an expression; its type and its text are written after it, separated by tabs, or
ERR and the error's number. Lines that start with # are kept. Usage: oracle.py FILE...
"""

import re
import sys

import chdb.session


def fixture_line(session, line):
    expression = line.split("\t")[0].rstrip("\n")
    if not expression or expression.startswith("#"):
        return expression
    query = f"SELECT toTypeName({expression}), ifNull(toString({expression}), 'NULL')"
    try:
        answer = str(session.query(query, "TabSeparatedRaw"))
    except Exception as error:  # chdb raises plain RuntimeErrors
        code = re.search(r"Code: (\d+)", str(error))
        return f"{expression}\tERR\t{code.group(1) if code else '?'}"
    type_name, text = answer.rstrip("\n").split("\t", 1)
    return "\t".join([expression, type_name, text.replace("\n", "\\n").replace("\t", "\\t")])


def main():
    session = chdb.session.Session()
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            lines = [fixture_line(session, line) for line in file]
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
