#!/usr/bin/env python3
"""Kills the real binary at random moments of inserts, loads and merges, and checks what is there afterwards.

Usage: kill9.py BINARY [ROUNDS] [SEED]

Checked after every kill: the database opens within 5 seconds; every acknowledged statement is there, whole; a
statement that was under way is there whole or not at all; the folder holds no file that no part names.
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
CREATE = """CREATE TABLE IF NOT EXISTS t (statement UInt64, row UInt64, d Date, text String)
ENGINE = MergeTree PARTITION BY toYYYYMM(d) ORDER BY (d, statement, row)"""


def statement(number, dice):
    """(rows, sql): a small insert into the log, a load through sinks, or a merge."""
    kind = dice.random()
    if kind < 0.6:
        rows = dice.randint(1, 20)
        values = ", ".join(f"({number}, {row}, '2020-0{row % 6 + 1}-01', 'text {row}')" for row in range(rows))
        return rows, f"INSERT INTO t VALUES {values}"
    if kind < 0.9:
        rows = dice.randint(1, 60_000)
        return rows, (
            f"INSERT INTO t SELECT {number}, number, toDate('2020-01-01') + (number % 170), "
            f"concat('loaded ', toString(number)) FROM numbers({rows})"
        )
    return 0, dice.choice(["OPTIMIZE TABLE t", "OPTIMIZE TABLE t FINAL"])


def run_until_killed(binary, path, expected, first, dice):
    """Sends statements until a timer kills the process; `expected` gets the rows of acknowledged ones."""
    shell = Shell(binary, path)
    timer = threading.Timer(dice.uniform(0.05, 2.5), shell.process.kill)
    timer.start()
    number, pending = first, None
    try:
        shell.query(CREATE)
        while True:
            rows, sql = statement(number, dice)
            pending = (number, rows)
            shell.query(sql)
            if rows:
                expected[number] = rows
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
        assert not expected, "the table is gone"
        shell.close()
        return seconds
    found = shell.query("SELECT statement, count(), uniqExact(row) FROM t GROUP BY statement ORDER BY statement")
    found = {int(s): (int(c), int(u)) for s, c, u in found}
    for number, rows in expected.items():
        assert found.get(number) == (rows, rows), f"statement {number}: {found.get(number)} of {rows} rows"
    for number in set(found) - set(expected):
        assert pending and number == pending[0], f"statement {number} was never sent"
        assert found[number][0] == pending[1], f"statement {number} is half there: {found[number]} of {pending[1]}"
        expected[number] = pending[1]
    left = left_over(shell, path)
    assert not left, f"left over: {sorted(left)[:5]}"
    shell.close()
    return seconds


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
    expected, number, slowest = {}, 0, 0.0
    try:
        for round_number in range(rounds):
            number, pending = run_until_killed(binary, path, expected, number, dice)
            slowest = max(slowest, check(binary, path, expected, pending))
            if (round_number + 1) % 10 == 0:
                print(f"{round_number + 1} kills, {len(expected)} statements, slowest open {slowest:.2f} s", flush=True)
    finally:
        shutil.rmtree(path, ignore_errors=True)
    print(f"{rounds} passed, 0 failed")


if __name__ == "__main__":
    main()
