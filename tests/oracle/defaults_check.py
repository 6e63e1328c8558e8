#!/usr/bin/env python3
"""Defaults of what data leave out: every format, every kind of default, every way in, against ClickHouse.

A cell is one column of one row that some format brought by some way. Rows leave one field out each, or all, or have NULL
or nothing there; columns have defaults of every kind of type, constant, computed, chained, in the sort key and in
the partition key, and one that was added later.
Usage: defaults_check.py BINARY [ROWS [FORMAT]]     ROWS of the larger body of each format, 3000 by default; formats with FORMAT in
their title alone
"""
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

# Name, type, default, a value as JSON has it, the same as text.
COLUMNS = [
    ("c0", "UInt8", "", 5, "5"),
    ("c1", "UInt8", "DEFAULT 7", 8, "8"),
    ("c2", "UInt16", "DEFAULT c0 + 1000", 17, "17"),
    ("c3", "String", "DEFAULT concat('s', toString(c2))", "given", "given"),
    ("c4", "Nullable(Int32)", "DEFAULT c1 * 2", -3, "-3"),
    ("c5", "LowCardinality(String)", "DEFAULT upper(c3)", "lc", "lc"),
    ("c6", "Array(UInt8)", "DEFAULT [c1, c0]", [1, 2], "[1,2]"),
    ("c8", "Map(String, UInt8)", "DEFAULT map('a', c0)", {"z": 1}, "{'z':1}"),
    ("c9", "Enum8('x' = 1, 'y' = 2)", "DEFAULT 'y'", "x", "x"),
    ("c10", "Decimal(9, 2)", "DEFAULT toDecimal32(1.5, 2)", 2.25, "2.25"),
    ("c11", "UUID", "DEFAULT toUUID('00000000-0000-0000-0000-0000000000ab')", "61f0c404-5cb3-11e7-907b-a6006ad3dba0",
     "61f0c404-5cb3-11e7-907b-a6006ad3dba0"),
    ("c12", "FixedString(3)", "DEFAULT 'ab'", "xyz", "xyz"),
    ("c13", "Date", "DEFAULT toDate('2024-01-20') + c0", "2023-05-06", "2023-05-06"),
    ("c14", "DateTime('UTC')", "DEFAULT toDateTime(c13, 'UTC')", "2022-02-02 01:02:03", "2022-02-02 01:02:03"),
    ("c15", "Bool", "DEFAULT true", False, "false"),
    ("c16", "Float64", "DEFAULT c0 / 4", 0.5, "0.5"),
    ("c17", "UInt8", "DEFAULT c0 + 1", 3, "3"),
    ("c19", "Nullable(String)", "DEFAULT 'n'", "ns", "ns"),
    ("c20", "Tuple(UInt8, String)", "DEFAULT (c0, 't')", [4, "u"], "(4,'u')"),
]
LATER = ("c18", "String", "DEFAULT concat(c3, '!')", "later", "later")
ALL = COLUMNS + [LATER]
NAMES = ["k"] + [column[0] for column in ALL]
MISSING, NULL, EMPTY = object(), object(), object()
SHOWN = ", ".join(NAMES + ["m", "l"])
QUERY = f"SELECT {SHOWN} FROM t WHERE k > 0 ORDER BY k, c3 FORMAT TSV"


def table():
    columns = ", ".join(f"{name} {kind} {default}" for name, kind, default, *_ in COLUMNS)
    return [
        "DROP TABLE IF EXISTS t",
        f"CREATE TABLE t (k UInt32, {columns}, m UInt32 MATERIALIZED c2 + c17, l UInt8 ALIAS c1 + 1) "
        "ENGINE = MergeTree PARTITION BY toYYYYMM(c13) ORDER BY (c3, k)",
        "INSERT INTO t (k) VALUES (0)",
        f"ALTER TABLE t ADD COLUMN {LATER[0]} {LATER[1]} {LATER[2]}",
    ]


def row_of(key, what, columns):
    row = {name: (value, text) for name, _, _, value, text in ALL}
    row = {name: (what if name in columns else given) for name, given in row.items()}
    return {"k": (key, str(key)), **row}


def rows_of(what, always=()):
    """One row leaves nothing out, one all, and one each column alone; but for those that are always there."""
    names = [column[0] for column in ALL if column[0] not in always]
    which = [[], names] + [[name] for name in names]
    return [row_of(key + 1, what, columns) for key, columns in enumerate(which)]


# Text formats: rows to bytes. Rows of a format with a header all have its columns.

def as_json(row, strings=False):
    def one(given):
        if given is NULL:
            return "ᴺᵁᴸᴸ" if strings else None
        if given is EMPTY:
            return ""
        return given[1] if strings else given[0]
    return {name: one(given) for name, given in row.items() if given is not MISSING}


def json_rows(rows):
    return "".join(json.dumps(as_json(row), ensure_ascii=False) + "\n" for row in rows)


def json_strings(rows):
    return "".join(json.dumps(as_json(row, True), ensure_ascii=False) + "\n" for row in rows)


def json_array(rows):
    return json.dumps([as_json(row) for row in rows], ensure_ascii=False)


def present(rows):
    return [name for name in NAMES if rows[0][name] is not MISSING]


def compact(rows, header=True, strings=False):
    names = present(rows)
    lines = [json.dumps(names)] if header else []
    for row in rows:
        values = as_json(row, strings)
        lines.append(json.dumps([values[name] for name in names], ensure_ascii=False))
    return "\n".join(lines) + "\n"


def separated(separator, quote):
    def one(given):
        if given is NULL:
            return "\\N"
        if given is EMPTY:
            return ""
        return quote(given[1])

    def write(rows, header):
        names = present(rows)
        lines = [separator.join(names)] if header else []
        lines += [separator.join(one(row[name]) for name in names) for row in rows]
        return "\n".join(lines) + "\n"
    return write


def csv_quote(text):
    return '"' + text.replace('"', '""') + '"' if re.search("[,'\"\\[{(]", text) else text


# A tuple of CSV stands in as many cells as it has elements, and under a header ClickHouse finds none of them.
TUPLE = "c20"


def csv_row(rows, header):
    """The cells of rows that all have the same columns."""
    def cells(name, given):
        if name == TUPLE:
            return ["4", "u"]
        return ["\\N" if given is NULL else "" if given is EMPTY else csv_quote(given[1])]
    names = [name for name in present(rows) if not (header and name == TUPLE)]
    lines = [",".join(names)] if header else []
    lines += [",".join(cell for name in names for cell in cells(name, row[name])) for row in rows]
    return "\n".join(lines) + "\n"


tsv = separated("\t", lambda text: text)


def tskv(rows):
    def one(given):
        return "\\N" if given is NULL else "" if given is EMPTY else given[1]
    return "".join(
        "\t".join(f"{name}={one(given)}" for name, given in row.items() if given is not MISSING) + "\n" for row in rows)


def values(rows):
    def one(name, given):
        if given is MISSING:
            return "DEFAULT"
        if given is NULL:
            return "NULL"
        kind = dict((column[0], column[1]) for column in ALL).get(name, "UInt32")
        bare = re.match("U?Int|Float|Array|Map|Tuple|Decimal|Bool|Nullable.Int", kind)
        return given[1] if bare else "'" + given[1] + "'"
    return ", ".join("(" + ", ".join(one(name, row[name]) for name in NAMES) + ")" for row in rows)


def groups(rows):
    """Rows of the same columns together, for formats whose columns are those of a header."""
    found = {}
    for row in rows:
        found.setdefault(tuple(present([row])), []).append(row)
    return list(found.values())


TEXT = {
    # Format: writer, whether all rows fit one file, what may stand for a value that is not there, settings.
    "JSONEachRow": (json_rows, True, [MISSING, NULL], ""),
    "JSONEachRow of a list": (json_array, True, [MISSING], ""),
    "JSONStringsEachRow": (json_strings, True, [MISSING, NULL], ""),
    "JSONCompactEachRow": (lambda rows: compact(rows, False), True, [NULL], ""),
    "JSONCompactEachRowWithNames": (compact, False, [MISSING, NULL], ""),
    "JSONCompactStringsEachRowWithNames": (lambda rows: compact(rows, True, True), False, [MISSING, NULL], ""),
    "CSV": (lambda rows: csv_row(rows, False), True, [NULL, EMPTY], ""),
    "CSVWithNames": (lambda rows: csv_row(rows, True), False, [MISSING, NULL, EMPTY], ""),
    "TSV": (lambda rows: tsv(rows, False), True, [NULL], ""),
    "TSV empty as default": (lambda rows: tsv(rows, False), True, [EMPTY], "input_format_tsv_empty_as_default = 1"),
    "TSVWithNames": (lambda rows: tsv(rows, True), False, [MISSING, NULL], ""),
    "TSKV": (tskv, True, [MISSING, NULL], ""),
    "Values": (values, True, [MISSING, NULL], ""),
    "JSONEachRow, omitted are zeros": (json_rows, True, [MISSING, NULL], "input_format_defaults_for_omitted_fields = 0"),
    "CSV, omitted are zeros": (lambda rows: csv_row(rows, False), True, [EMPTY], "input_format_defaults_for_omitted_fields = 0"),
}
BINARY = ["Native", "RowBinaryWithNamesAndTypes", "Parquet", "ArrowStream", "Arrow"]


def name_of(title):
    return re.split("[ ,]", title)[0]


class Ours:
    def __init__(self, binary, folder):
        # One that is free now: a number of our own may be somebody's.
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        config = os.path.join(folder, "server.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f'user_files = "{folder}"\n')
        arguments = [binary, "server", "--path", os.path.join(folder, "db"), "--config", config,
                     "--listen", f"127.0.0.1:{self.port}"]
        self.process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(1200):
            try:
                self.ask("SELECT 1")
                return
            except OSError:
                time.sleep(0.05)
        self.process.kill()
        raise SystemExit("the server does not answer")

    def ask(self, text, body=None, settings=""):
        given = {"query": text} if body is not None else {}
        given.update(dict(pair.split("=") for pair in settings.replace(" ", "").split(",") if pair))
        url = f"http://127.0.0.1:{self.port}/?" + urllib.parse.urlencode(given)
        data = body if body is not None else text.encode()
        try:
            with urllib.request.urlopen(urllib.request.Request(url, data=data), timeout=60) as answer:
                return answer.read().decode("utf-8", "replace")
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode("utf-8", "replace")[:200]) from error

    def close(self):
        self.process.terminate()
        self.process.wait()


class Theirs:
    def __init__(self, folder):
        from chdb import session
        os.chdir(folder)
        self.session = session.Session()

    def ask(self, text):
        return str(self.session.query(text, "TSV"))


def loads(theirs, ours, title, data, settings):
    """Puts the data into both tables by every way; of each the rows that are there then."""
    name = name_of(title)
    with open("data.bin", "wb") as file:
        file.write(data)
    tail = f" SETTINGS {settings}" if settings else ""

    def theirs_rows(insert):
        theirs.ask("TRUNCATE TABLE t")
        try:
            theirs.ask(insert)
            return theirs.ask(QUERY)
        except Exception as error:  # noqa: BLE001: chdb raises what it likes
            return "error " + (re.search(r"Code: (\d+)", str(error)) or [0, "?"])[1]

    def ours_rows(insert):
        ours.ask("TRUNCATE TABLE t")
        try:
            insert()
            return ours.ask(QUERY)
        except RuntimeError as error:
            return "error " + (re.search(r"Code: (\d+)", str(error)) or [0, "?"])[1] + f" {error}"

    infile = f"INSERT INTO t FROM INFILE 'data.bin'{tail} FORMAT {name}"
    expected = theirs_rows(infile)
    is_text = name in [name_of(title) for title in TEXT]
    ways = {
        "body": lambda: ours.ask(f"INSERT INTO t FORMAT {name}", data, settings),
        "async": lambda: ours.ask(f"INSERT INTO t FORMAT {name}", data, ",".join(filter(None, [settings, "async_insert=1"]))),
        "infile": lambda: ours.ask(infile),
    }
    if is_text:
        ways["inline"] = lambda: ours.ask(f"INSERT INTO t{tail} FORMAT {name} ".encode().decode() + data.decode())
    for way, insert in ways.items():
        yield way, expected, ours_rows(insert)
    # A SELECT takes the structure and the defaults of the table; not of rows without names.
    select = f"INSERT INTO t SELECT * FROM file('data.bin', {name}){tail}"
    if name in ("JSONEachRow", "TSKV", "Parquet", "Arrow", "ArrowStream", "Native") or name.endswith("WithNames"):
        filtered = f"INSERT INTO t SELECT * FROM file('data.bin', {name}) WHERE k > 0 ORDER BY k{tail}"
        listed = f"INSERT INTO t (k, c1, c4) SELECT k, c1, c4 FROM file('data.bin', {name}){tail}"
        for way, statement in [("filtered", filtered), ("listed", listed), ("file", select)]:
            expected = theirs_rows(statement)
            yield way, expected, ours_rows(lambda: ours.ask(statement))  # noqa: B023: called at once
        label = f"insert_label = 'l{time.time_ns()}'"
        labelled = select + (", " if tail else " SETTINGS ") + label
        yield "labelled", expected, ours_rows(lambda: ours.ask(labelled))


def known(what, way, expected, found):
    """Why a difference is one that is meant (`docs/differences.md`); none of them is a wrong value."""
    if found.startswith("error 47") and way == "listed":
        return "a SELECT that names a column which no file has"
    if found.startswith("error 27") and way == "infile" and what.startswith("Values"):
        return "the word DEFAULT in a file of Values"
    if expected.startswith("error 691"):
        return "the zero of an Enum that has none: ClickHouse cannot show it"
    if expected.startswith("error 117") and what == "RowBinaryWithNamesAndTypes of NULLs":
        return "a header with Nullable types for columns without"
    return None


def differing(expected, found):
    """Cells that differ, of how many; an error is one cell."""
    if expected.startswith("error") or found.startswith("error"):
        same = expected.split()[:2] == found.split()[:2]
        return 1, [] if same else [f"{expected[:200]!r} / {found[:300]!r}"]
    theirs = [line.split("\t") for line in expected.splitlines()]
    ours = [line.split("\t") for line in found.splitlines()]
    names = NAMES + ["m", "l"]
    if len(theirs) != len(ours):
        return 1, [f"{len(theirs)} rows / {len(ours)} rows"]
    wrong = []
    for left, right in zip(theirs, ours):
        wrong += [f"row {left[0]} {name}: {a} / {b}" for name, a, b in zip(names, left, right) if a != b]
    return len(theirs) * len(names), wrong


def main():
    binary, part = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3000
    only = sys.argv[3] if len(sys.argv) > 3 else ""
    cells, wrong, meant = 0, [], {}

    def compare(what, results):
        nonlocal cells
        for way, expected, found in results:
            count, differs = differing(expected, found)
            if differs and (why := known(what, way, expected, found)):
                meant[why] = meant.get(why, 0) + 1
                continue
            cells += count
            for one in differs:
                wrong.append(f"{what}, {way}: {one}")
                print(wrong[-1], flush=True)

    with tempfile.TemporaryDirectory() as folder:
        theirs, ours = Theirs(folder), Ours(binary, folder)
        for statement in table():
            theirs.ask(statement)
            ours.ask(statement)
        try:
            for title, (write, together, kinds, settings) in TEXT.items():
                if only and only not in title:
                    continue
                for kind in kinds:
                    what = f"{title} {'missing' if kind is MISSING else 'NULL' if kind is NULL else 'empty'}"
                    always = [TUPLE] if title.startswith("CSV") else []
                    rows = rows_of(kind, always)
                    batches = [rows] if together else groups(rows)
                    for batch in batches:
                        results = list(loads(theirs, ours, title, write(batch).encode(), settings))
                        if all(expected.startswith("error") for _, expected, _ in results) and len(batch) > 1:
                            # One row that ClickHouse refuses hides the others.
                            for row in batch:
                                compare(what, loads(theirs, ours, title, write([row]).encode(), settings))
                        else:
                            compare(what, results)
                if together and part:
                    many = [dict(row, k=(n, str(n))) for n, row in
                            enumerate((rows_of(kinds[0], always) * (part // len(NAMES) + 1))[:part], 1)]
                    results = list(loads(theirs, ours, title, write(many).encode(), settings))
                    compare(f"{title} of {part} rows", results)
            for name in BINARY:
                if only and only not in name:
                    continue
                names = [column[0] for column in ALL]
                for absent in [[], names] + [[one] for one in names]:
                    kept = [column for column in ALL if column[0] not in absent]
                    chosen = ["toUInt32(number + 1) AS k"] + [
                        f"CAST({literal(kind, text)}, {quoted(kind)}) AS {name_}"
                        for name_, kind, _, _, text in kept]
                    data = binary_data(theirs, f"SELECT {', '.join(chosen)} FROM numbers(2)", name)
                    compare(f"{name} without {' '.join(absent)}", loads(theirs, ours, name, data, ""))
                nulls = [f"CAST(NULL, {quoted(f'Nullable({kind})')}) AS {name_}" for name_, kind, *_ in ALL
                         if not re.match("Nullable|LowC|Array|Map|Tuple", kind)]
                data = binary_data(theirs, f"SELECT toUInt32(1) AS k, {', '.join(nulls)}", name)
                compare(f"{name} of NULLs", loads(theirs, ours, name, data, ""))
        finally:
            ours.close()
    for why, times in meant.items():
        print(f"known: {why}: {times} times")
    print(f"{cells} cells: {cells - len(wrong)} passed, {len(wrong)} failed")
    sys.exit(1 if wrong else 0)


def quoted(text):
    return "'" + text.replace("'", "\\'") + "'"


def literal(kind, text):
    """ClickHouse makes no Map of a text."""
    return "map('z', 1)" if kind.startswith("Map") else quoted(text)


def binary_data(theirs, query, name):
    if os.path.exists("out.bin"):
        os.remove("out.bin")
    theirs.ask(f"INSERT INTO FUNCTION file('{os.getcwd()}/out.bin', '{name}') {query}")
    with open("out.bin", "rb") as file:
        return file.read()


main()
