#!/usr/bin/env python3
"""Kills the real binary at random moments of inserts, loads, merges, deletes, updates and detached partitions, and checks what is there.

Usage: kill9.py BINARY [ROUNDS] [SEED]

Checked after every kill: the database opens within 5 seconds; every acknowledged statement is there, whole; a
statement that was under way is there whole or not at all; rows that were deleted stay away, and an update is seen by all
rows it was about or by none; what is detached is out of sight, whole, and comes back; the folder holds no file that no part names.
"""
import random
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "oracle"))
from shell import Refused, Shell  # noqa: E402

OPEN_SECONDS_MAX = 5.0
CREATE = """CREATE TABLE IF NOT EXISTS t (statement UInt64, row UInt64, d Date, text String, changes UInt64)
ENGINE = MergeTree PARTITION BY toYYYYMM(d) ORDER BY (d, statement, row)"""
# In the second half of the rounds a view counts what is inserted: in the same transaction.
CREATE_VIEW = (
    "CREATE TABLE IF NOT EXISTS counted (statement UInt64, rows UInt64) ENGINE = SummingMergeTree ORDER BY statement",
    "CREATE MATERIALIZED VIEW IF NOT EXISTS counting TO counted AS SELECT statement, count() AS rows FROM t GROUP BY statement",
)


# Rows of one statement in this many are updated together.
CLASSES = 3


class Expected:
    """What acknowledged statements left behind."""

    def __init__(self):
        self.rows, self.changes = {}, {}
        self.counts, self.counted = False, {}
        # All partitions are detached.
        self.aside = False

    def apply(self, kind, number, rows):
        if kind in ("detach", "attach"):
            self.aside = kind == "detach"
        if kind == "insert" and rows:
            self.rows[number], self.changes[number] = rows, 0
            if self.counts:
                self.counted[number] = rows
        elif kind == "delete":
            self.rows.pop(number, None)
        elif kind == "update":
            for known in self.rows:
                self.changes[known] += known % CLASSES == number


def statement(number, expected, dice):
    """(kind, number, rows, sql): a small insert into the log, a load through sinks, a merge, a delete or an update."""
    if expected.aside:
        return "attach", number, 0, "ALTER TABLE t ATTACH PARTITION ALL"
    kind = dice.random()
    if kind < 0.1 and expected.rows:
        victim = dice.choice(list(expected.rows))
        return "delete", victim, 0, f"DELETE FROM t WHERE statement = {victim}"
    if kind < 0.2:
        chosen = dice.randrange(CLASSES)
        return "update", chosen, 0, f"ALTER TABLE t UPDATE changes = changes + 1 WHERE statement % {CLASSES} = {chosen}"
    if kind < 0.23:
        return "detach", number, 0, "ALTER TABLE t DETACH PARTITION ALL"
    if kind < 0.6:
        rows = dice.randint(1, 20)
        values = ", ".join(f"({number}, {row}, '2020-0{row % 6 + 1}-01', 'text {row}', 0)" for row in range(rows))
        return "insert", number, rows, f"INSERT INTO t VALUES {values}"
    if kind < 0.9:
        rows = dice.randint(1, 60_000)
        return "insert", number, rows, (
            f"INSERT INTO t SELECT {number}, number, toDate('2020-01-01') + (number % 170), "
            f"concat('loaded ', toString(number)), 0 FROM numbers({rows})"
        )
    return "merge", number, 0, dice.choice(["OPTIMIZE TABLE t", "OPTIMIZE TABLE t FINAL"])


def run_until_killed(binary, path, expected, first, dice):
    """Sends statements until a timer kills the process; `expected` gets what acknowledged ones did."""
    shell = Shell(binary, path)
    timer = threading.Timer(dice.uniform(0.05, 2.5), shell.process.kill)
    timer.start()
    number, pending = first, None
    try:
        for create in (CREATE, *CREATE_VIEW) if expected.counts else (CREATE,):
            shell.query(create)
        while True:
            kind, about, rows, sql = statement(number, expected, dice)
            pending = (kind, about, rows)
            shell.query(sql)
            expected.apply(*pending)
            pending = None
            number += 1
    except (Refused, BrokenPipeError, OSError):
        pass
    timer.join()
    shell.process.wait()
    return number + 1, pending


def check(binary, path, expected, pending):
    started = time.monotonic()
    shell = Shell(binary, path)
    shell.query("SELECT 1")
    seconds = time.monotonic() - started
    assert seconds < OPEN_SECONDS_MAX, f"opening took {seconds:.1f} s"
    if shell.query("EXISTS TABLE t") == [["0"]]:
        assert not expected.rows, "the table is gone"
        shell.close()
        return seconds
    if expected.aside or (pending and pending[0] == "detach"):
        (visible,), total = shell.query("SELECT count() FROM t")[0], sum(expected.rows.values())
        allowed = (0, total) if pending else (0,)
        assert int(visible) in allowed, f"{visible} of {total} rows are seen; pending {pending}"
        shell.query("ALTER TABLE t ATTACH PARTITION ALL")
        expected.aside, pending = False, None
    found = shell.query(
        "SELECT statement, count(), uniqExact(row), min(changes), max(changes) FROM t GROUP BY statement ORDER BY statement"
    )
    found = {int(row[0]): tuple(map(int, row[1:])) for row in found}
    if pending and pending_happened(found, expected, *pending):
        expected.apply(*pending)
    for number, rows in expected.rows.items():
        wanted = (rows, rows, expected.changes[number], expected.changes[number])
        assert found.get(number) == wanted, f"statement {number}: {found.get(number)}, not {wanted}; pending {pending}"
    if shell.query("EXISTS TABLE counted") == [["1"]]:
        counted = shell.query("SELECT statement, sum(rows) FROM counted GROUP BY statement")
        counted = {int(row[0]): int(row[1]) for row in counted}
        assert counted == expected.counted, f"the view has {counted}, not {expected.counted}; pending {pending}"
    others = set(found) - set(expected.rows)
    assert not others, f"statements {sorted(others)} were never sent, or are half there; pending {pending}"
    left = left_over(shell, path)
    assert not left, f"left over: {sorted(left)[:5]}"
    shell.close()
    return seconds


def pending_happened(found, expected, kind, number, rows):
    """Whether the statement that was under way left a trace; that it is all there is for the check to say."""
    if kind == "insert":
        return rows > 0 and number in found
    if kind == "delete":
        return number not in found
    concerned = [known for known in expected.rows if known % CLASSES == number and known in found]
    return kind == "update" and any(found[known][3] > expected.changes[known] for known in concerned)


def left_over(shell, path):
    """Files that no part names, once no merge is writing any more."""
    shell.query("SYSTEM STOP MERGES")
    for _ in range(50):
        files = {file.name for file in Path(path).glob("data/**/*") if file.is_file()}
        left = files - {Path(row[0]).name for row in shell.query("SELECT path FROM system.parts")}
        if not left:
            break
        time.sleep(0.1)
    return left


def main():
    binary, rounds, seed = sys.argv[1], int((sys.argv + ["", "", "10"])[2] or 10), int((sys.argv + [""] * 4)[3] or 1)
    dice, path = random.Random(seed), tempfile.mkdtemp(prefix="gristmill-kill9-")
    expected, number, slowest = Expected(), 0, 0.0
    try:
        for round_number in range(rounds):
            expected.counts = round_number >= rounds // 2
            number, pending = run_until_killed(binary, path, expected, number, dice)
            slowest = max(slowest, check(binary, path, expected, pending))
            if (round_number + 1) % 10 == 0:
                print(f"{round_number + 1} kills, {len(expected.rows)} statements, slowest open {slowest:.2f} s", flush=True)
    finally:
        shutil.rmtree(path, ignore_errors=True)
    print(f"{rounds} passed, 0 failed")


if __name__ == "__main__":
    main()
