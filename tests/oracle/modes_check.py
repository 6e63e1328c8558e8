#!/usr/bin/env python3
"""Generated histories of tables whose rows of equal key become one, and of rows that are deleted and updated, beside ClickHouse.

Usage: modes_check.py BINARY [TABLES] [SEED]

Each table gets an engine, a key, partitions and some thirty statements: inserts of few and of many rows, DELETE, ALTER .. DELETE and
UPDATE, DROP PARTITION, OPTIMIZE FINAL, ADD COLUMN. After each of them FINAL, a filtered FINAL and an aggregate over it are compared
with ClickHouse's, and now and then all rows, which must be those that OPTIMIZE FINAL leaves. Merges of ClickHouse are stopped but for
OPTIMIZE; ours run. Exit code 1 if an answer differs.
"""
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from shell import Refused, Shell  # noqa: E402

import chdb  # noqa: E402

KEYS = ["k", "(k, s)", "(s, k)", "k % 7", "(toDate(d), k)", "f", "n", "(k, -v)", "tuple()"]
ENGINES = [
    "MergeTree",
    "ReplacingMergeTree",
    "ReplacingMergeTree(v)",
    "ReplacingMergeTree(v, x)",
    "SummingMergeTree(a)",
    "SummingMergeTree((a, b))",
    "CollapsingMergeTree(g)",
    "VersionedCollapsingMergeTree(g, v)",
]
COLUMNS = "k Int32, s LowCardinality(String), d DateTime('UTC'), f Float64, n Nullable(Int16), v UInt32, x UInt8, g Int8, a Int64, b Float64, t String"


class Table:
    def __init__(self, dice, number):
        self.dice, self.name = dice, f"t{number}"
        self.engine = dice.choice(ENGINES)
        keys = [key for key in KEYS if key != "tuple()" or self.engine in ENGINES[:2]]
        self.key = "k" if self.engine.startswith("Collapsing") else dice.choice(keys)
        # Rows of equal key are in one partition, or the order of insertion over partitions would count.
        self.partition = "k % 3" if self.key in ("k", "(k, s)", "(s, k)") and dice.random() < 0.5 else ""
        self.keys = dice.choice([3, 20, 500])
        self.inserted = self.generation = 0
        self.has_added = False

    def create(self):
        partition = f" PARTITION BY {self.partition}" if self.partition else ""
        return (
            f"CREATE TABLE {self.name} ({COLUMNS}) ENGINE = {self.engine}{partition} ORDER BY {self.key} "
            "SETTINGS allow_nullable_key = 1"
        )

    def final(self):
        return "" if self.engine == "MergeTree" else " FINAL"

    def insert(self):
        rows = self.dice.choice([1, 1, 2, 5, 40, 3000])
        first, self.inserted = self.inserted, self.inserted + rows
        seed = self.dice.randrange(1000)
        number = f"(number + {first})"
        at = f"cityHash64({number}, {seed})"
        sign = self.dice.choice(["1", "-1", f"if({at} % 3 = 0, -1, 1)"])
        key = f"{at} % {self.keys}"
        if self.engine.startswith("Collapsing"):
            # Rows of a key must be written and cancelled in turn, or what is left depends on when merges come.
            self.inserted, self.generation = first + self.keys, self.generation + 1
            rows, key, sign = self.keys, "number", "1" if self.generation % 2 else "-1"
        settings = "optimize_on_insert = 0, " if self.dice.random() < 0.3 else ""
        added = ", added" if self.has_added else ""
        value = f", {at} % 5" if self.has_added else ""
        return (
            f"INSERT INTO {self.name} (k, s, d, f, n, v, x, g, a, b, t{added}) SETTINGS {settings}max_insert_threads = 1 SELECT "
            f"{key}, toString({at} % 4), toDateTime('2024-01-01 00:00:00', 'UTC') + ({at} % 5) * 40000, "
            f"({at} % 6) / 2, if({at} % 5 = 0, NULL, {at} % 9), {at} % 13, {at} % 11 = 0, {sign}, "
            f"toInt64({at} % 100) - 50, ({at} % 16) / 4, toString({number}){value} FROM numbers({rows})"
        )

    def condition(self):
        dice = self.dice
        return dice.choice(
            [
                f"k = {dice.randrange(self.keys)}",
                f"k % {dice.randint(2, 9)} = {dice.randrange(3)}",
                f"s = '{dice.randrange(4)}'",
                f"n < {dice.randrange(9)}",
                "n IS NULL",
                f"v > {dice.randrange(13)} AND a < {dice.randrange(-50, 50)}",
                f"k IN (SELECT k FROM {self.name} WHERE v = {dice.randrange(13)})",
                f"n NOT IN (SELECT number FROM numbers({dice.randrange(9)}))",
                f"NOT (n = {dice.randrange(9)}) OR f > 1",
                f"t LIKE '%{dice.randrange(10)}'",
                "0",
            ]
        )

    def change(self):
        kind = self.dice.random()
        if kind < 0.45:
            return self.insert()
        if kind < 0.6:
            return f"ALTER TABLE {self.name} DELETE WHERE {self.condition()} SETTINGS mutations_sync = 2"
        if kind < 0.7:
            return f"DELETE FROM {self.name} WHERE {self.condition()}"
        if kind < 0.82:
            value = self.dice.choice(["t = concat(t, '+')", "b = b + 0.5, t = upper(s)", "t = toString(v), b = f"])
            return f"ALTER TABLE {self.name} UPDATE {value} WHERE {self.condition()} SETTINGS mutations_sync = 2"
        if kind < 0.86 and self.partition:
            return f"ALTER TABLE {self.name} DROP PARTITION {self.dice.randrange(3)}"
        if kind < 0.9 and not self.has_added:
            self.has_added = True
            return f"ALTER TABLE {self.name} ADD COLUMN added UInt8 DEFAULT 3"
        return f"OPTIMIZE TABLE {self.name} FINAL"

    def questions(self):
        table = f"{self.name}{self.final()}"
        yield f"SELECT * FROM {table} ORDER BY ALL"
        yield f"SELECT * FROM {table} WHERE {self.condition()} ORDER BY ALL"
        yield f"SELECT s, count(), sum(a), min(v), max(t), sum(b) FROM {table} GROUP BY s ORDER BY s"


class ClickHouse:
    def __init__(self):
        self.connection = chdb.connect(":memory:")

    def query(self, sql):
        return self.connection.query(sql, "TSV").bytes().decode()


def ask(shell, sql):
    rows = shell.query(sql)
    return "".join("\t".join(row) + "\n" for row in rows)


def run(shell, oracle, table, statements):
    """The first question that is answered otherwise, or nothing."""
    history = [table.create()]
    oracle.query(history[0])
    oracle.query(f"SYSTEM STOP MERGES {table.name}")
    shell.query(history[0])
    for _ in range(statements):
        sql = table.change()
        history.append(sql)
        if sql.startswith("OPTIMIZE") or "mutations_sync" in sql or sql.startswith("DELETE"):
            oracle.query(f"SYSTEM START MERGES {table.name}")
            oracle.query(f"OPTIMIZE TABLE {table.name} FINAL")
            shell.query(f"OPTIMIZE TABLE {table.name} FINAL")
        oracle.query(sql)
        shell.query(sql)
        oracle.query(f"SYSTEM STOP MERGES {table.name}")
        for question in table.questions():
            theirs, ours = oracle.query(question), ask(shell, question)
            if theirs != ours:
                return history, question, theirs, ours
    return None


def main():
    binary, tables, seed = sys.argv[1], int((sys.argv + ["", "", "20"])[2] or 20), int((sys.argv + [""] * 4)[3] or 1)
    dice, oracle, failed = random.Random(seed), ClickHouse(), 0
    with tempfile.TemporaryDirectory(prefix="gristmill-modes-") as path:
        shell = Shell(binary, path)
        for number in range(tables):
            table = Table(dice, number)
            try:
                difference = run(shell, oracle, table, 30)
            except Refused as error:
                print(f"{table.create()}\n  refused: {error}")
                sys.exit(1)
            if difference:
                failed += 1
                history, question, theirs, ours = difference
                print("\n".join(history))
                print(f"{question}\n--- ClickHouse\n{theirs[:2000]}--- ours\n{ours[:2000]}", flush=True)
        shell.close()
    print(f"{tables - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
