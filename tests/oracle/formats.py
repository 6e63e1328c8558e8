#!/usr/bin/env python3
"""Every format and codec there and back: what we write ClickHouse (chdb) reads, what ClickHouse writes we read.

Usage: formats.py BINARY [ROWS]

For every format two files are written with the same rows, by each side; every file is read by both sides, and the four
readings must be equal. Codecs are crossed with a few formats. Arrow and Parquet are also read by pyarrow.
"""
import itertools
import sys
import tempfile
from pathlib import Path

import chdb
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet

from shell import Refused, Shell

# Name, type, and an expression over `number`: values that formats like to get wrong.
COLUMNS = [
    ("u8", "UInt8", "toUInt8(number % 256)"),
    ("u64", "UInt64", "toUInt64(number * 184467440737095516 + number)"),
    ("i32", "Int32", "toInt32(number * 7919 - 1000000)"),
    ("i64", "Int64", "toInt64(number) * -92233720368547"),
    ("f32", "Float32", "toFloat32(number) / 8"),
    ("f64", "Float64", "toFloat64(number) / 16 - 3"),
    ("yes", "Bool", "number % 3 = 0"),
    ("dec", "Decimal(18, 4)", "toDecimal64(number, 4) / 8"),
    ("text", "String", "concat('a\\t\"b\\\\,\\'c\\n', toString(number), ' \\u00fc\\u6c34 \\U0001f600')"),
    ("empty", "String", "''"),
    ("maybe", "Nullable(String)", "if(number % 4 = 0, NULL, concat('x', toString(number)))"),
    ("maybe_n", "Nullable(Int32)", "if(number % 5 = 0, NULL, toInt32(number))"),
    ("low", "LowCardinality(String)", "concat('low ', toString(number % 7))"),
    ("day", "Date", "toDate('2020-02-29') + number % 1000"),
    ("day32", "Date32", "toDate32('1960-02-29') + number % 1000"),
    ("at", "DateTime('UTC')", "toDateTime('2021-03-28 01:59:59', 'UTC') + number * 61"),
    ("at3", "DateTime64(3, 'UTC')", "toDateTime64('2021-03-28 01:59:59.123', 3, 'UTC') + number * 61"),
    ("id", "UUID", "toUUID(concat('61f0c404-5cb3-11e7-907b-a6006ad3d', leftPad(toString(number % 1000), 3, '0')))"),
    ("kind", "Enum8('new' = 1, 'old' = -2)", "CAST(if(number % 2 = 0, 'new', 'old'), 'Enum8(\\'new\\' = 1, \\'old\\' = -2)')"),
    ("list", "Array(Int32)", "arrayMap(x -> toInt32(x * number), range(number % 4))"),
    ("words", "Array(String)", "arrayMap(x -> concat('w\\'', toString(x)), range(number % 3))"),
    ("dict", "Map(String, UInt32)", "map('k', toUInt32(number), concat('m', toString(number)), 7)"),
    ("pair", "Tuple(a UInt8, b String)", "CAST((number % 200, toString(number)), 'Tuple(a UInt8, b String)')"),
]

TEXT = [
    "CSV", "CSVWithNames", "CSVWithNamesAndTypes", "TabSeparated", "TabSeparatedWithNames", "TabSeparatedWithNamesAndTypes",
    "JSONEachRow", "JSON", "JSONCompact", "JSONCompactEachRow", "JSONCompactEachRowWithNames",
    "JSONCompactEachRowWithNamesAndTypes", "Values", "TSKV", "CustomSeparated", "CustomSeparatedWithNames",
]
BINARY = ["Native", "RowBinary", "RowBinaryWithNames", "RowBinaryWithNamesAndTypes", "Parquet", "Arrow", "ArrowStream"]
CODECS = {"none": "", "gzip": ".gz", "zstd": ".zst", "lz4": ".lz4", "xz": ".xz", "bz2": ".bz2", "br": ".br", "snappy": ".snappy"}
# Columns a format cannot carry, or carries as another type, on ClickHouse's side; raw text has no escapes at all.
WITHOUT = {
    "CSV": {"dict", "pair"}, "CSVWithNames": {"dict", "pair"}, "CSVWithNamesAndTypes": {"dict", "pair"},
}


def columns_of(name):
    return [column for column in COLUMNS if column[0] not in WITHOUT.get(name, ())]


def structure(name):
    return ", ".join(f"{column} {kind}" for column, kind, _ in columns_of(name))


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def select(name, rows):
    asked = ", ".join(f"{expression} AS {column}" for column, _, expression in columns_of(name))
    return f"SELECT {asked} FROM numbers({rows})"


def reading(name, path):
    return f"SELECT * FROM file('{path}', '{name}', {quoted(structure(name))}) ORDER BY u64"


class Theirs:
    def query(self, sql):
        try:
            answer = str(chdb.query(sql, "TabSeparated"))
        except Exception as error:
            raise Refused(str(error)) from error
        return [line.split("\t") for line in answer.split("\n")[:-1]]


# Methods that the package of ClickHouse was built without: only we write and read them.
OURS_ONLY = {"bz2"}


class Checker:
    def __init__(self, binary, rows, folder):
        self.sides = {"ours": Shell(binary, goes_on=True), "theirs": Theirs()}
        self.rows, self.folder = rows, folder
        self.passed, self.failed = 0, []
        self.base = folder / "base.native"
        make = f"INSERT INTO FUNCTION file('{self.base}', 'Native', {quoted(structure('Native'))}) "
        self.sides["theirs"].query(make + select("Native", rows))

    def rows_of(self, name):
        """The same rows for whoever writes: ClickHouse computed them, in Native."""
        columns = ", ".join(column for column, _, _ in columns_of(name))
        return f"SELECT {columns} FROM file('{self.base}', 'Native', {quoted(structure('Native'))})"

    def there_and_back(self, name, codec):
        what = f"{name}, {codec}"
        expected = None
        sides = ("ours",) if codec in OURS_ONLY else ("theirs", "ours")
        for writer in sides:
            path = self.folder / f"{writer}-{name}{CODECS[codec]}"
            write = f"INSERT INTO FUNCTION file('{path}', '{name}', {quoted(structure(name))}, '{codec}') " + self.rows_of(name)
            if not self.run(f"{what}: {writer} writes", lambda: self.sides[writer].query(write)):
                continue
            for reader in sides:
                rows = []
                read = lambda: rows.extend(self.sides[reader].query(reading(name, path)))
                if not self.run(f"{what}: {reader} reads what {writer} wrote", read):
                    continue
                expected = expected or rows
                self.compare(f"{what}: {reader} reads what {writer} wrote", rows, expected)
            if codec == "none":
                self.pyarrow(name, path, writer)

    def pyarrow(self, name, path, writer):
        opened = {
            "Parquet": lambda: pyarrow.parquet.read_table(path).num_rows,
            "Arrow": lambda: pyarrow.feather.read_table(path).num_rows,
            "ArrowStream": lambda: pyarrow.ipc.open_stream(path.read_bytes()).read_all().num_rows,
        }.get(name)
        if opened:
            counted = []
            if self.run(f"{name}: pyarrow reads what {writer} wrote", lambda: counted.append(opened())):
                self.compare(f"{name}: pyarrow reads what {writer} wrote", counted, [self.rows])

    def run(self, what, step):
        try:
            step()
            return True
        except (Refused, OSError, ValueError, pyarrow.lib.ArrowException) as error:
            self.failed.append(f"{what}: {str(error).strip()[:400]}")
            return False

    def compare(self, what, got, expected):
        if got == expected:
            self.passed += 1
            return
        if len(got) != len(expected):
            self.failed.append(f"{what}: {len(got)} rows instead of {len(expected)}")
            return
        row = next(i for i in range(len(got)) if got[i] != expected[i])
        pairs = list(zip(got[row], expected[row])) if isinstance(got[row], list) else [(got[row], expected[row])]
        differing = [f"{a!r} instead of {b!r}" for a, b in pairs if a != b]
        self.failed.append(f"{what}: row {row}: {'; '.join(differing)[:400]}")


def main():
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(sys.argv[1], rows, Path(folder))
        for name in TEXT + BINARY:
            checker.there_and_back(name, "none")
        for name, codec in itertools.product(["CSV", "JSONEachRow", "Native", "RowBinary"], list(CODECS)[1:]):
            checker.there_and_back(name, codec)
    print("\n".join(checker.failed))
    print(f"{checker.passed} passed, {len(checker.failed)} failed")
    return 1 if checker.failed else 0


if __name__ == "__main__":
    sys.exit(main())
