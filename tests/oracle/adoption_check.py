#!/usr/bin/env python3
"""Parquet files of four writers into tables, with column chunks adopted and without: the same rows, whatever happens to the tables then.

Usage: adoption_check.py BINARY [short|long [SEED]]

Each file (adoption_files.py) is inserted twice, with `adopt` 1 and 0, into tables with its own types and into tables with other ones. Both
must take it, or refuse it with the same code. Every row, bounds, NULLs and filters are then compared, again after OPTIMIZE, ALTER and a second
INSERT, and again in a process that opened the folder anew (adoption_tables.py). Statements that do more than hand columns on follow
(adoption_statements.py). Then single bits of some files are flipped: an error that names the file, the rows of before, or those that the
flipped file has without adoption; never a panic.
"""
import collections
import random
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from adoption_files import KINDS, Deck, Maker, nullable
from adoption_statements import STATEMENTS, write_files
from adoption_tables import LOGICAL_ERROR, NO_ANSWER, Case, Checks, Server, Walk, adopted, difference, in_any_order

# Files of a batch, batches, flipped bits, most rows of a file, and pairs of tables for each.
AMOUNTS = {"short": (100, 1, 200, 9000, 1), "long": (150, 16, 5000, 30_000, 2)}
WRITERS = ["pyarrow"] * 5 + ["clickhouse"] * 2 + ["duckdb"] * 2 + ["gristmill"]
FLIPPED_FILES, THREADS = 20, 3
# In these the file's pages are not those of the table's type, or have values that it has not.
NEVER = {"float16", "decimal38", "raw", "carrier", "fixed", "enum", "day_far", "at", "at3_far", "at6_far", "at9_far", "clock", "text_lies", "decimal_lies",
         "list", "map", "pair"}


class Cases:
    """Cases of each file, by turns with a table of the file's own types and with one of other types."""

    def __init__(self, dice, pairs):
        self.dice, self.pairs, self.made = dice, pairs, 0
        self.keys = Deck(["k", "k", "k", "key2", "(key2, k)", "()", "-toInt64(k)", "(k % 5, key2)", "column"], dice)
        self.partitions = Deck(["", "", "", "k % 2", "intDiv(k, {group})", "intDiv(k, 1000000)", "month"], dice)
        self.others = {}

    def of(self, file):
        for _ in range(self.pairs):
            self.made += 1
            columns = [(one.name, one.name, one.kind, self.table_type(one, self.made % 2 == 0)) for one in file.columns]
            key, partition = self.keys.draw(), self.partitions.draw().replace("{group}", str(max(file.group_rows, 1000)))
            if key == "column":
                flat = [name for name, _, kind, _ in columns if not kind.nests]
                key = flat[0] if flat else "k"
            if partition == "month":
                partition = "toYYYYMM(key2)" if "DateTime" in file.key_type else ""
            yield Case(f"t{self.made}", file, columns, key, f"PARTITION BY {partition}" if partition else "", self.made // 2)

    def table_type(self, column, is_other):
        kind = column.kind
        if is_other:
            deck = self.others.setdefault(kind.name, Deck([kind.table, nullable(kind.table), *kind.others], self.dice))
            found = deck.draw()
            return nullable(found) if self.dice.random() < 0.3 else found
        if column.nulls == "required" or self.dice.random() < 0.3:
            return kind.table
        return nullable(kind.table)


def batch(checks, files, cases):
    """The cases of some files, before and after the folder is opened anew; the tables stay."""
    found = [case for file in files for case in cases.of(file)]
    with ThreadPoolExecutor(THREADS) as pool:
        walks = [Walk(checks, case) for case in found]
        more = [Walk(checks, case) for cases_of_one in pool.map(Walk.first, walks) for case in cases_of_one]
        list(pool.map(Walk.first, more))
        walks += more
        checks.end()
        checks.server.start()
        list(pool.map(Walk.reopened, walks))
        list(pool.map(Walk.drop, walks))
    return found


def plain(checks, maker):
    """Each type in a file that has nothing in the way of adoption: its pages must be copied, unless they never are."""
    for number, kind in enumerate(kind for kind in KINDS if kind.arrow and kind.name not in NEVER):
        file = maker.plain(kind, ["required", "optional", "some"][number % 3])
        table = nullable(kind.table) if file.columns[0].nulls == "some" else kind.table
        case = Case(f"plain{number}", file, [("c0", "c0", kind, table)], "k", "", 3, is_part=True)
        Walk(checks, case).first()
        found = adopted(checks.server, f"{case.name}_1")
        checks.check(found is None or "c0" in found, f"{case.told()}\n    {kind.name} is not adopted: {found}")


@dataclass
class Statement:
    """A statement of adoption_statements.py, as a case."""
    name: str
    sql: str

    def told(self):
        return f"{self.name}: {self.sql[:300]}"


def statements(checks, folder):
    """Statements that do more than hand columns on, or less, or into special tables; one that differs is not gone on with."""
    paths = write_files(folder)
    rows = "SELECT * FROM {t} FORMAT TabSeparated"
    for number, (title, columns, *each) in enumerate(STATEMENTS):
        case, failed = Statement(f"s{number}", f"{title}: {each[0]}"), len(checks.failed)
        for sql in [f"CREATE TABLE {{t}} {columns}", *[*each, rows] * 2, "OPTIMIZE TABLE {t} FINAL", rows]:
            if len(checks.failed) == failed:
                checks.both(case, sql.format(t="{t}", adopt="{adopt}", **paths), in_any_order)


class Flips:
    """Single bits of files, flipped; one table pair for each file."""

    def __init__(self, checks, folder, cases, dice):
        self.checks, self.server, self.folder, self.dice = checks, checks.server, folder, dice
        self.cases, self.before, self.made, self.ends = [], {}, 0, collections.Counter()
        taken = collections.Counter()
        for case in sorted(cases, key=lambda case: not case.was_adopted):
            if len(self.cases) < FLIPPED_FILES and taken[case.file.writer] < FLIPPED_FILES // 4 and case.inserted and not case.key.startswith("("):
                taken[case.file.writer] += 1
                self.cases.append(case)
                self.ready(case)

    def ready(self, case):
        """Empty tables as the case began with them, and the rows that belong there."""
        columns, case.key = case.at_first
        case.columns = list(columns)
        walk = Walk(self.checks, case)
        walk.drop()
        walk.create()
        self.server.must(self.insert(case, case.file.path, 0))
        self.before[case.name] = self.rows(case, 0)
        self.empty(case)

    def insert(self, case, path, adopt):
        names = ", ".join(["k", "key2"] + [name for name, *_ in case.columns])
        return f"INSERT INTO {case.name}_{adopt} ({names}) SELECT {names} FROM file('{path}', 'Parquet') SETTINGS adopt = {adopt}"

    def rows(self, case, adopt):
        code, text = self.server.ask(f"SELECT * FROM {case.name}_{adopt} FORMAT TabSeparated")
        return in_any_order(text) if code == 0 else (code, text[:300])

    def empty(self, case):
        for adopt in (1, 0):
            self.server.ask(f"TRUNCATE TABLE {case.name}_{adopt}")

    def place(self, content, path):
        """A byte: of the footer, of the first page headers of a column chunk, or any other, equally often."""
        footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
        if self.made % 3 == 0:
            return self.dice.randrange(footer, len(content))
        if self.made % 3 == 1:
            groups = pq.ParquetFile(path).metadata
            chunk = groups.row_group(self.dice.randrange(groups.num_row_groups)).column(self.dice.randrange(groups.num_columns))
            return min(chunk.dictionary_page_offset or chunk.data_page_offset, chunk.data_page_offset) + self.dice.randrange(40)
        return self.dice.randrange(footer)

    def flip(self):
        self.made += 1
        case = self.cases[self.made % len(self.cases)]
        content = bytearray(case.file.path.read_bytes())
        at, bit = self.place(content, case.file.path), self.dice.randrange(8)
        content[at] ^= 1 << bit
        path = self.folder / f"flip-{self.made}.parquet"
        path.write_bytes(content)
        wrong = self.wrong(case, path)
        self.checks.check(wrong is None, f"{case.told()}\n    bit {bit} of byte {at} of {len(content)} flipped: {wrong}")
        path.unlink()
        if self.server.process.poll() is not None:
            self.checks.check(False, f"the server ended with {self.server.process.returncode}")
            self.server.stop()
            self.server.start()
        self.empty(case)

    def wrong(self, case, path):
        """What is wrong with how the flipped file ended; None: nothing."""
        code, text = self.server.ask(self.insert(case, path, 1))
        if code in (LOGICAL_ERROR, NO_ANSWER):
            return f"{code} {text[:400]!r}"
        rows = self.rows(case, 1)
        if code:
            if rows != [b""]:
                return f"rows of an INSERT that failed: {str(rows)[:200]}; {text[:300]!r}"
            if path.name.encode() in text:
                self.ends["errors"] += 1
                return None
            ordinary, said = self.server.ask(self.insert(case, path, 0))
            self.ends["errors of both"] += 1
            return None if ordinary == code else f"the error does not name the file, and is not the ordinary one, {ordinary} {said[:300]!r}: {text[:300]!r}"
        if rows == self.before[case.name]:
            self.ends["same rows"] += 1
            return None
        ordinary, said = self.server.ask(self.insert(case, path, 0))
        if ordinary:
            return f"adopted, where without adoption it is the error {said[:400]!r}"
        self.ends["the flipped file's rows"] += 1
        others = self.rows(case, 0)
        return None if rows == others else f"other rows than without adoption: {difference(rows, others)}"


def told_adopted(checks):
    """What was adopted, as text; None where the server does not tell."""
    if checks.server.ask("SELECT adopted_columns FROM system.parts LIMIT 0")[0]:
        return None
    print(f"{len(checks.adopted_files)} of {len(checks.files)} files had a column adopted")
    by_kind = collections.Counter()
    for (_, kind, _), count in checks.adopted.items():
        by_kind[kind] += count
    print("columns adopted by writer: " + ", ".join(f"{w} {sum(n for (x, *_), n in checks.adopted.items() if x == w)}" for w in sorted(set(WRITERS))))
    print("never adopted: " + ", ".join(kind.name for kind in KINDS if not by_kind[kind.name]))
    return len(checks.adopted_files)


def run(checks, folder, amount, seed):
    """Everything, in a folder that is empty."""
    files, batches, flips, rows_max, pairs = AMOUNTS[amount]
    dice = random.Random(seed)
    maker, cases = Maker(folder, checks.server.must, seed, rows_max), Cases(dice, pairs)
    for number in range(batches):
        made = [maker.make(WRITERS[at % len(WRITERS)]) for at in range(files)]
        found = batch(checks, made, cases)
        if number == 0:
            plain(checks, maker)
            statements(checks, folder)
            flipping = Flips(checks, folder, found, dice)
            for _ in range(flips):
                flipping.flip()
        for file in made:
            file.path.unlink()
    count = told_adopted(checks)
    checks.check(count is None or count > 0, "no file at all was adopted")
    checks.end()
    print(f"{maker.made} files, {cases.made} pairs of tables, flips: {dict(flipping.ends)}")
    print(f"refused by both, by error: {sorted(checks.refused.items())}")


def main():
    binary, amount = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "short"
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    print(f"seed {seed}")
    with tempfile.TemporaryDirectory(prefix="gristmill-adoption-") as name:
        checks = Checks(Server(binary, Path(name)))
        try:
            run(checks, Path(name), amount, seed)
        finally:
            checks.server.stop()
    print("\n".join(checks.failed))
    print(f"{checks.passed} passed, {len(checks.failed)} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
