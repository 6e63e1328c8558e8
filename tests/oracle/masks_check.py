#!/usr/bin/env python3
"""Generated tables of ReplacingMergeTree: FINAL by masks beside FINAL that merges at each read, in one process.

Usage: masks_check.py BINARY [TABLES] [SEED]

Each table gets a key, a version, partitions and some inserts of few and of many rows, between them DELETE, UPDATE, OPTIMIZE, ADD
and MODIFY COLUMN. Queries with conditions on the key and on other columns are asked with final_masks = 0 and twice with masks: the
first may compute one, the second finds it. One table in four ends with many small inserts, each of which changes a mask. Merges are
stopped where rows of equal key are in two partitions, since a merge decides between equal versions there. Exit code 1 if an answer
differs.
"""
import random
import re
import subprocess
import sys

KEYS = [
    (["k UInt64"], "k"), (["k Int32"], "k"), (["k String"], "k"), (["k UInt32", "j UInt8"], "(k, j)"), (["k DateTime"], "k"),
    (["k LowCardinality(String)"], "k"), (["k UInt64"], "intDiv(k, 3)"), (["k Nullable(Int64)"], "k"), (["k Date", "j String"], "(k, j)"),
    (["k Enum8('a' = 1, 'b' = 2, 'c' = -3)"], "k"), (["k Float64"], "k"), (["k UUID"], "k"), (["k Decimal(9, 2)"], "k"),
]
VERSIONS = [None, "v UInt32", "v UInt64", "v DateTime", "v Int64", "v UInt8", "v Date", "v DateTime64(3)"]
TEXTS = ["", "key_prefix_that_is_long_"]
AGAIN = 2
LOGGED_MAX = 50


def value(dice, column, spread):
    """An expression over `number` for a column; keys come in a row now and then."""
    name, kind = column.split(" ", 1)
    hashed = f"cityHash64(number, {dice.randrange(1 << 30)}, '{name}')"
    first = dice.randrange(3) * spread
    key = f"({hashed} % {spread} + {first})"
    if dice.random() < 0.35:
        key = f"(intDiv(number, {dice.choice([1, 1, 2])}) + {first})"
    if kind in ("String", "LowCardinality(String)"):
        return f"concat('{dice.choice(TEXTS)}', toString({key}))"
    return {
        "DateTime64(3)": f"toDateTime64({key}, 3)",
        "DateTime": f"toDateTime({key})",
        "Date": f"toDate(toUInt16({key} % 5000))",
        "Nullable(Int64)": f"if({hashed} % 7 = 0, NULL, toInt64({key}))",
        "Float64": f"toFloat64({key}) * if({hashed} % 5 = 0, -1, 1)",
        "UUID": f"toUUID(concat('00000000-0000-0000-0000-', leftPad(toString({key}), 12, '0')))",
        "Decimal(9, 2)": f"toDecimal32({key} % 1000000, 2)",
    }.get(kind) or (f"transform({hashed} % 3, [0, 1], ['a', 'b'], 'c')" if kind.startswith("Enum") else f"to{kind}({key})")


class Table:
    def __init__(self, dice):
        self.dice = dice
        self.key_columns, order = dice.choice(KEYS)
        self.version = dice.choice(VERSIONS)
        self.has_deleted = self.version is not None and dice.random() < 0.5
        self.is_long = dice.random() < 0.25
        self.spread = dice.choice([3, 20, 300, 5000])
        self.columns = self.key_columns + ([self.version] if self.version else []) + (["d UInt8"] if self.has_deleted else [])
        self.columns = self.columns + ["p UInt8", "s String", "x UInt32"]
        engine = ", ".join((["v"] if self.version else []) + (["d"] if self.has_deleted else []))
        plain = self.key_columns[0].split(" ", 1)[1] not in ("Nullable(Int64)", "Float64", "UUID")
        partition = dice.choice(["", "", "PARTITION BY p", "PARTITION BY cityHash64(k) % 4" if plain else ""])
        self.is_stopped = partition == "PARTITION BY p" or dice.random() < 0.5
        self.names = [column.split(" ")[0] for column in self.columns]
        self.added = 0
        self.statements = [
            f"CREATE TABLE t ({', '.join(self.columns)}, n Nullable(Int32)) ENGINE = ReplacingMergeTree({engine}) {partition} "
            f"ORDER BY {order} SETTINGS allow_nullable_key = 1"
        ] + (["SYSTEM STOP MERGES t"] if self.is_stopped else [])

    def insert(self, rows):
        def one(column):
            if column == "d UInt8":
                return f"toUInt8(cityHash64(number, {self.dice.randrange(999)}) % {self.dice.choice([3, 10])} = 0)"
            if column == "p UInt8":
                return f"toUInt8(cityHash64(number, {self.dice.randrange(9)}) % 3)"
            return value(self.dice, column, self.spread)

        values = ", ".join(one(column) for column in self.columns)
        settings = self.dice.choice(["", " SETTINGS optimize_on_insert = 0"])
        values += ", if(number % 4 = 0, NULL, toInt32(number % 100))"
        head = f"INSERT INTO t ({', '.join(self.names)}, n){settings} "
        # Few rows go into the log.
        each = [re.sub(r"\bnumber\b", str(self.dice.randrange(1000)), values) for _ in range(rows if rows <= LOGGED_MAX else 0)]
        listed = ", ".join(f"({row})" for row in each)
        self.statements.append(head + (f"VALUES {listed}" if each else f"SELECT {values} FROM numbers({rows})"))

    def change(self):
        choice = self.dice.random()
        if choice < 0.2 and not self.is_stopped:
            self.statements.append("OPTIMIZE TABLE t" + self.dice.choice(["", " FINAL"]))
        elif 0.2 < choice < 0.27:
            self.statements.append(f"DELETE FROM t WHERE x % {self.dice.choice([3, 11])} = 1")
        elif 0.27 < choice < 0.33:
            self.statements.append("ALTER TABLE t UPDATE s = concat(s, 'u') WHERE x % 4 = 0")
        elif 0.33 < choice < 0.42 and self.added < 2:
            self.added += 1
            self.statements.append(f"ALTER TABLE t ADD COLUMN e{self.added} UInt32 DEFAULT x + 1")
        elif 0.42 < choice < 0.46:
            self.statements.append("ALTER TABLE t MODIFY COLUMN x UInt64")

    def condition(self):
        dice, spread, kind = self.dice, self.spread, self.key_columns[0].split(" ", 1)[1]
        some = [f"x % {dice.choice([2, 3, 7])} = 0", "s LIKE '%1'", "n IS NULL", "p = 1", f"x < {dice.randrange(1, spread * 3)}",
                "length(s) > 2", "intDiv(100, x + 1) > 3"]
        some += ["toUInt64(v) % 2 = 0", f"toInt64(v) > {dice.randrange(spread * 3)}"] if self.version else []
        some += ["d = 0", "d = 1"] if self.has_deleted else []
        number = dice.randrange(spread * 3)
        literal = {"UInt64": number, "Int32": number, "UInt32": number, "DateTime": f"toDateTime({number})",
                   "Date": f"toDate({number % 5000})"}.get(kind)
        if "String" in kind:
            literal = f"'{dice.choice(TEXTS)}{number}'"
        if literal is not None:
            some += [f"k = {literal}", f"k >= {literal}", f"k < {literal}", f"k IN ({literal})", f"k = {literal} OR x % 5 = 0"]
        return " AND ".join(f"({condition})" for condition in dice.sample(some, dice.choice([1, 1, 2])))

    def query(self):
        dice = self.dice
        where = f" WHERE {self.condition()}" if dice.random() < 0.65 else ""
        every = ", ".join(name for name in self.names + ["n"] if name != "d")
        return dice.choice([
            f"SELECT count(), sum(x), uniqExact(s), sum(cityHash64({every})) FROM t FINAL{where}",
            f"SELECT sum(cityHash64(*)), count() FROM t FINAL{where}",
            f"SELECT count() FROM t FINAL{where}",
            f"SELECT min(x), max(x), min(k), max(k), count(n) FROM t FINAL{where}",
            f"SELECT p, count(), max(x), sum(cityHash64({every})) FROM t FINAL{where} GROUP BY p ORDER BY p",
            f"SELECT x, k, s FROM t FINAL{where} ORDER BY x {dice.choice(['', 'DESC'])}, {every} LIMIT {dice.choice([1, 5, 50])}",
            f"SELECT count() FROM (SELECT * FROM t FINAL{where} LIMIT {dice.choice([1, 10, 1000])})",
            f"SELECT count(), sum(cityHash64(a)) FROM (SELECT DISTINCT s AS a FROM t FINAL{where})",
            f"SELECT count(), sum(a.x) FROM t AS a FINAL INNER JOIN (SELECT DISTINCT s FROM t FINAL{where}) AS b ON a.s = b.s",
            f"SELECT count() FROM t FINAL WHERE x IN (SELECT x FROM t FINAL{where})",
        ])

    def history(self):
        """Statements, and queries as tuples of one."""
        for _ in range(self.dice.randrange(3, 9)):
            self.insert(self.dice.choice([1, 3, 50, 2000, 20000]) if not self.is_long else self.dice.choice([30000, 60000]))
            self.statements += [(self.query(),) for _ in range(self.dice.randrange(4))]
            self.change()
        for _ in range(self.dice.randrange(4, 12) if self.is_long else 0):
            self.insert(self.dice.choice([1, 1, 2, 5, 20]))
            self.statements += [(self.query(),) for _ in range(self.dice.randrange(1, 4))]
        self.statements += [(self.query(),) for _ in range(8)]
        return self.statements


def check(binary, seed):
    """The number of queries, and how many answers differ."""
    queries, text = [], []
    for statement in Table(random.Random(seed)).history():
        if isinstance(statement, str):
            text.append(statement)
            continue
        text.append(f"SELECT 'query {len(queries)}'")
        text += [f"{statement[0]} SETTINGS final_masks = 0"] + ["SELECT 'masked'", statement[0]] * AGAIN + ["SELECT 'end'"]
        queries.append(statement[0])
    run = subprocess.run([binary, "local"], input=";\n".join(text), capture_output=True, text=True, timeout=600)
    answers = [answer.split("\nend\n")[0] for answer in run.stdout.split("query ")[1:]]
    different = 0
    for answer in answers:
        number, _, rows = answer.partition("\n")
        merged, *masked = rows.split("masked\n")
        if len(masked) == AGAIN and any(one.strip() != merged.strip() for one in masked):
            different += 1
            print(f"seed {seed}: {queries[int(number)]}\n  {text[0]}\n  merged {merged[:200]!r}\n  masked {[one[:200] for one in masked]}")
    if run.returncode != 0 or len(answers) < len(queries):
        different += 1
        print(f"seed {seed}: {run.stderr.strip()[:400]}\n  {text[0]}")
    return len(answers), different


def main():
    binary = sys.argv[1]
    tables = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    asked, different = (sum(column) for column in zip(*(check(binary, seed + number) for number in range(tables))))
    print(f"{tables} tables: {asked - different} queries passed, {different} failed")
    sys.exit(1 if different else 0)


main()
