"""cargo xtask bench changes: DELETE, UPDATE and what is read after them, partitions, and INSERTs into keys and under views.

`--rows 1000000` means ten million rows in one part a side. Each round starts from a copy of them; ClickHouse answers a change when it is
visible (mutations_sync, lightweight_deletes_sync). A fifth of the rows is in each of the partitions; single rows are INSERTs of one.
"""

import os
import shutil
import sys

import peers
import report
import suites

COLUMNS = "k UInt64, v UInt64, g UInt16, s String, x Float64"
ROWS = "number AS k, number AS v, number % 1000 AS g, concat('text of ', toString(number * 31 % 100003)), number / 7"
SCAN = "SELECT g, count(), sum(v), max(x), max(s) FROM {table} GROUP BY g ORDER BY g"
SINGLE = 50
VIEWS = 5


def filling(rows):
    return [
        f"CREATE TABLE t ({COLUMNS}) ENGINE = MergeTree ORDER BY k",
        f"INSERT INTO t SELECT {ROWS} FROM numbers({rows}) SETTINGS max_insert_threads = 1",
        "OPTIMIZE TABLE t FINAL",
        f"CREATE TABLE p ({COLUMNS}) ENGINE = MergeTree PARTITION BY g % 5 ORDER BY k",
        f"INSERT INTO p SELECT {ROWS} FROM numbers({rows // 5})",
        f"CREATE TABLE q ({COLUMNS}) ENGINE = MergeTree PARTITION BY g % 5 ORDER BY k",
        f"CREATE TABLE r ({COLUMNS}) ENGINE = ReplacingMergeTree(v) ORDER BY k",
        f"INSERT INTO r SELECT {ROWS} FROM numbers({rows}) SETTINGS max_insert_threads = 1",
        f"CREATE TABLE plain ({COLUMNS}) ENGINE = MergeTree ORDER BY k",
        f"CREATE TABLE source ({COLUMNS}) ENGINE = MergeTree ORDER BY k",
        *[f"CREATE TABLE target{n} (g UInt16, n UInt64) ENGINE = MergeTree ORDER BY g" for n in range(VIEWS)],
        *[f"CREATE MATERIALIZED VIEW view{n} TO target{n} AS SELECT g, v + {n} AS n FROM source" for n in range(VIEWS)],
    ]


def asked(rows):
    """(figure, statements that are one measurement)"""
    single = lambda table: [f"INSERT INTO {table} VALUES ({n * 7919 % rows}, {rows + n}, 1, 'new', 1)" for n in range(SINGLE)]  # noqa: E731
    return [
        ("scan before", [SCAN.format(table="t")]),
        ("DELETE of a scattered 1 %", ["DELETE FROM t WHERE k % 100 = 7"]),
        ("scan after it", [SCAN.format(table="t")]),
        ("scan after it again", [SCAN.format(table="t")]),
        ("UPDATE of a column", ["ALTER TABLE t UPDATE v = v + 1 WHERE k % 100 = 8"]),
        ("scan after the UPDATE", [SCAN.format(table="t")]),
        ("DELETE by key", ["ALTER TABLE t DELETE WHERE k < 1000"]),
        ("REPLACE PARTITION", ["ALTER TABLE q REPLACE PARTITION 1 FROM p"]),
        ("MOVE PARTITION", ["ALTER TABLE p MOVE PARTITION 2 TO TABLE q"]),
        ("DROP PARTITION", ["ALTER TABLE p DROP PARTITION 3"]),
        (f"{SINGLE} single rows, plain", single("plain")),
        (f"{SINGLE} single rows, keys that are there", single("r")),
        (f"{SINGLE} single rows under {VIEWS} views", single("source")),
        ("a tenth of the keys by INSERT SELECT", [f"INSERT INTO r SELECT k * 10, v + 1, g, s, x FROM t WHERE k < {rows // 10}"]),
    ]


def folders(args):
    """Folders with the rows, one a side; made once."""
    made = []
    for side in ("gm", "ch"):
        path = os.path.join(args.cache, f"changes-{side}-{args.rows}")
        if not os.path.exists(path + ".complete"):
            shutil.rmtree(path, ignore_errors=True)
            statements = filling(10 * args.rows)
            run = peers.chdb(path, statements) if side == "ch" else peers.gristmill(args.binary, path, statements)
            print(f"loaded into {side} in {sum(run.seconds):.1f} s", flush=True)
            open(path + ".complete", "w").close()
        made.append(path)
    return made


def changed(side, path, statements):
    """The statements over a copy of the folder."""
    copy = path + "-copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(path, copy, symlinks=True)
    try:
        return side(copy, statements)
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def main():
    args = report.arguments(__doc__)
    out = report.Report("changes", f"--rows {args.rows} --rounds {args.rounds} --threads {args.threads}")
    report.heading(12)
    ours, theirs = folders(args)
    rows = 10 * args.rows
    setup = [f"SET max_threads = {args.threads}", "SET mutations_sync = 2", "SET lightweight_deletes_sync = 2", SCAN.format(table="t")]
    figures = asked(rows)
    statements = setup + [statement for _, group in figures for statement in group]
    mine, other = [], []
    for number in range(args.rounds):
        sides = [(mine, lambda: changed(lambda path, all_of: peers.gristmill(args.binary, path, all_of), ours, statements)),
                 (other, lambda: changed(peers.chdb, theirs, statements))]
        for kept, run in sides if number % 2 == 0 else sides[::-1]:
            kept.append(run())
    different, at, medians = [], len(setup), {}
    for name, group in figures:
        span = slice(at, at + len(group))
        times = [[sum(run.seconds[span]) for run in runs] for runs in (mine, other)]
        medians[name] = sorted(times[0])[len(times[0]) // 2]
        out.add(name, *times, "ms")
        if not suites.alike(mine[0].answers[at], other[0].answers[at]):
            different.append(name)
        at += len(group)
    plain = medians[f"{SINGLE} single rows, plain"]
    out.add_ratio("our plain rows over those of keys that are there", "median", plain / medians[f"{SINGLE} single rows, keys that are there"])
    out.add_ratio(f"our plain rows over those under {VIEWS} views", "median", plain / medians[f"{SINGLE} single rows under {VIEWS} views"])
    out.add_ratio("our scan before over the one after DELETE", "median", medians["scan before"] / medians["scan after it again"])
    out.add("peak memory", *[[run.peak_bytes for run in runs] for runs in (mine, other)], "MB")
    for name in different:
        print("another answer:", name)
    out.append_to(args.docs)
    sys.exit(1 if different else 0)


main()
