"""cargo xtask bench final: FINAL of tables whose rows replace each other, or are added, before anything was merged.

`--rows 1000000` means ten million rows in twenty INSERTs; the last fifth of them has keys that were there before, in no order.
Merges are stopped on both sides. Each round is a process of its own a side: the first FINAL finds out what is replaced, the
others ask again. Each round leaves a row more on both sides.
"""

import os
import shutil
import statistics
import sys

import peers
import report
import suites

INSERTS = 20
COLUMNS = "k UInt64, v UInt64, g UInt16, s String, x Float64"
ENGINES = {"replacing": "ReplacingMergeTree(v)", "summing": "SummingMergeTree(v)"}
WARM = ["SELECT count(), sum(x), max(v), max(s) FROM {table}", "SELECT count(), min(s) FROM {table} WHERE g = 78"]
ASKED = [
    ("first FINAL", "SELECT count(), sum(v) FROM {table} FINAL"),
    ("GROUP BY", "SELECT g, count(), sum(v), max(x) FROM {table} FINAL GROUP BY g ORDER BY g"),
    ("GROUP BY again", "SELECT g, count(), sum(v), max(x) FROM {table} FINAL GROUP BY g ORDER BY g"),
    ("selective filter", "SELECT count(), sum(v), min(s) FROM {table} FINAL WHERE g = 77"),
    ("selective filter again", "SELECT count(), sum(v), min(s) FROM {table} FINAL WHERE g = 77"),
    ("one key", "SELECT k, v, s FROM {table} FINAL WHERE k = 4004"),
    ("one key again", "SELECT k, v, s FROM {table} FINAL WHERE k = 4004"),
    ("count()", "SELECT count() FROM {table} FINAL"),
    ("GROUP BY without FINAL", "SELECT g, count(), sum(v), max(x) FROM {table} GROUP BY g ORDER BY g"),
    ("GROUP BY without FINAL again", "SELECT g, count(), sum(v), max(x) FROM {table} GROUP BY g ORDER BY g"),
    ("INSERT of a row", "INSERT INTO {table} SELECT 4004, max(v) + 1, 1, 'new', 1 FROM {table} WHERE k = 4004"),
    ("GROUP BY after it", "SELECT g, count(), sum(v), max(x) FROM {table} FINAL GROUP BY g ORDER BY g"),
]


def filling(table, rows):
    """CREATE TABLE and the INSERTs; keys come in no order."""
    keys = rows * 4 // 5
    statements = [f"CREATE TABLE {table} ({COLUMNS}) ENGINE = {ENGINES[table]} ORDER BY k", f"SYSTEM STOP MERGES {table}"]
    share = rows // INSERTS
    for insert in range(INSERTS):
        key = f"if(number < {keys}, number * 7919 % {keys}, number * 104729 % {keys})"
        statements.append(
            f"INSERT INTO {table} SELECT {key} AS k, number AS v, k % 1000 AS g, concat('text of ', toString(number * 31 % 100003)), "
            f"number / 7 FROM numbers({insert * share}, {share}) SETTINGS max_insert_threads = 1"
        )
    return statements


def folders(args, table):
    """Folders with the rows, one a side; made once."""
    made = []
    for side in ("gm", "ch"):
        path = os.path.join(args.cache, f"final-{side}-{table}-{args.rows}")
        if not os.path.exists(path + ".complete"):
            shutil.rmtree(path, ignore_errors=True)
            statements = filling(table, 10 * args.rows)
            run = peers.chdb(path, statements) if side == "ch" else peers.gristmill(args.binary, path, statements)
            print(f"{table}: loaded into {side} in {sum(run.seconds):.1f} s", flush=True)
            open(path + ".complete", "w").close()
        made.append(path)
    return made


def measure(args, out, table):
    ours, theirs = folders(args, table)
    setup = [f"SYSTEM STOP MERGES {table}", f"SET max_threads = {args.threads}", *(warm.format(table=table) for warm in WARM * 3)]
    statements = setup + [statement.format(table=table) for _, statement in ASKED]
    mine, other = [], []
    for number in range(args.rounds):
        sides = [(mine, lambda: peers.gristmill(args.binary, ours, statements)),
                 (other, lambda: peers.chdb(theirs, statements))]
        for kept, run in sides if number % 2 == 0 else sides[::-1]:
            kept.append(run())
    for at, (name, _) in enumerate(ASKED, len(setup)):
        out.add(f"{table}: {name}", [run.seconds[at] for run in mine], [run.seconds[at] for run in other], "ms")
    again = [statistics.median(run.seconds[len(setup) + at] for run in mine) for at in (2, 9)]
    out.add_ratio(f"{table}: our GROUP BY again without FINAL over with", "median", again[1] / again[0])
    peaks = [[run.peak_bytes for run in runs] for runs in (mine, other)]
    out.add(f"{table}: peak memory", *peaks, "MB")
    different = [name for at, (name, _) in enumerate(ASKED, len(setup)) if not suites.alike(mine[0].answers[at], other[0].answers[at])]
    return [f"{table}: {name}" for name in different]


def main():
    args = report.arguments(__doc__)
    out = report.Report("final", f"--rows {args.rows} --rounds {args.rounds} --threads {args.threads}")
    report.heading(12)
    different = [name for table in ENGINES for name in measure(args, out, table)]
    for name in different:
        print("another answer:", name)
    out.append_to(args.docs)
    sys.exit(1 if different else 0)


main()
