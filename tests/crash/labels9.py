#!/usr/bin/env python3
"""Kills the real binary with signal 9 while writers insert with labels and repeat what they were never answered.

Usage: labels9.py BINARY [KILLS] [SEED] [WRITERS]

`gristmill journal-writers` runs the writers in one process, with flushes and merges beside them. Each notes in its journal
what it is about to send and what it was told. After every kill, and again after a last run that only repeats, the table is
compared with the journals: a label that was answered ok is there once and whole; one that was refused is absent; one
without an answer is there once and whole or not at all, and after its repetition once. Every column of a row follows from
(client, sequence, row), so a failure says whether rows were lost, doubled, torn or mixed.

In the folder that is kept after a failure: `data` (the database) and `journals`. The same SEED sends the same statements.
"""
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "oracle"))
sys.path.insert(0, str(Path(__file__).parent))
from kill9 import left_over  # noqa: E402
from shell import Shell  # noqa: E402

OPEN_SECONDS_MAX = 10.0
LAST_RUN_SECONDS_MAX = 120
# The numbers of crates/lab/src/journal_writers/attempt.rs.
HASH = "(client * 1000003 + sequence * 7919 + row * 2654435761) % 4294967291"
FOUND = f"""SELECT client, sequence, count(), uniqExact(row), max(row), sum(hash),
    countIf(hash != {HASH} OR payload != concat('payload ', toString(hash))) FROM t GROUP BY client, sequence"""
JOURNAL_NAME = re.compile(r"writer(\d+)\.journal")


class Wrong(Exception):
    """What does not hold, and of which label."""


class Attempt:
    def __init__(self, label, rows, hash_sum, kind):
        self.label, self.rows, self.hash_sum, self.kind, self.answer = label, int(rows), int(hash_sum), kind, None


def read_journals(folder):
    """(client, sequence) -> Attempt with the last answer; a line that was cut off was never said."""
    attempts = {}
    for path in sorted(Path(folder).glob("writer*.journal")):
        client, of_label = int(JOURNAL_NAME.fullmatch(path.name).group(1)), {}
        for line in path.read_text().rpartition("\n")[0].splitlines():
            words = line.split(" ")
            if words[0] == "try":
                _, label, sequence, rows, hash_sum, kind = words
                of_label[label] = attempts[client, int(sequence)] = Attempt(label, rows, hash_sum, kind)
            elif words[0] in ("ok", "known", "refused"):
                of_label[words[1]].answer = words[0]
            else:
                raise Wrong(f"{path.name}: a writer was told that the outcome is not known: {line}")
    return attempts


def compare(found, attempts, everything_answered):
    """Raises Wrong for the first label whose rows are not what its answer says; answers with counts for a person."""
    counts = {"ok": 0, "known": 0, "refused": 0, "whole": 0, "absent": 0}
    for key in found.keys() - attempts.keys():
        raise Wrong(f"client {key[0]}, sequence {key[1]}: {found[key][0]} rows of a statement that nobody sent")
    for key, attempt in attempts.items():
        name = f"label {attempt.label} ({attempt.kind}, {attempt.rows} rows, answer {attempt.answer})"
        rows = found.get(key)
        if attempt.kind == "broken" and attempt.answer in ("ok", "known"):
            raise Wrong(f"{name}: its last row cannot be read, and it was accepted")
        if attempt.answer == "refused" or attempt.kind == "broken":
            if rows:
                raise Wrong(f"{name}: refused, and {rows[0]} rows are there")
            counts["refused"] += 1
            continue
        if rows is None:
            if attempt.answer:
                raise Wrong(f"{name}: lost")
            if everything_answered:
                raise Wrong(f"{name}: not answered by the run that repeats")
            counts["absent"] += 1
            continue
        check_rows(name, attempt, *rows)
        counts[attempt.answer or "whole"] += 1
    return counts


def check_rows(name, attempt, count, different, highest, hash_sum, mixed):
    if count > different:
        raise Wrong(f"{name}: doubled: {count} rows, {different} different ones")
    if count < attempt.rows:
        raise Wrong(f"{name}: torn: {count} of {attempt.rows} rows")
    if count > attempt.rows or highest != attempt.rows - 1:
        raise Wrong(f"{name}: {count} rows up to number {highest}")
    if mixed or hash_sum != attempt.hash_sum:
        raise Wrong(f"{name}: mixed: {mixed} rows do not belong together, hashes add up to {hash_sum}")


def check(binary, folder, everything_answered=False):
    """Compares the table with the journals; seconds until the first answer, and counts."""
    started = time.monotonic()
    shell = Shell(binary, folder / "data")
    exists = shell.query("EXISTS TABLE t") == [["1"]]
    seconds = time.monotonic() - started
    if seconds > OPEN_SECONDS_MAX:
        raise Wrong(f"the first answer after a kill took {seconds:.1f} s, the limit is {OPEN_SECONDS_MAX}")
    rows = shell.query(FOUND) if exists else []
    found = {(int(row[0]), int(row[1])): tuple(map(int, row[2:])) for row in rows}
    counts = compare(found, read_journals(folder / "journals"), everything_answered)
    left = left_over(shell, folder / "data") if exists else []
    if left:
        raise Wrong(f"{len(left)} files that no part names: {sorted(left)[:5]}")
    if shell.close() != 0:
        raise Wrong("the database that was only asked did not close")
    return seconds, counts


def writers(binary, folder, seed, count, *more):
    command = [binary, "journal-writers", "--path", str(folder / "data"), "--journals", str(folder / "journals"),
               "--seed", str(seed), "--writers", str(count), *more]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def kill_once(binary, folder, seed, count, dice):
    process = writers(binary, folder, seed, count)
    time.sleep(dice.uniform(0.05, 2.5))
    ended = process.poll()
    process.kill()
    said = process.stderr.read()
    process.wait()
    if ended is not None or said.strip():
        raise Wrong(f"the writers ended or complained before they were killed (exit code {ended}): {said.strip()}")


def main():
    arguments = sys.argv[1:] + [""] * 4
    binary, kills = arguments[0], int(arguments[1] or 10)
    seed, count = int(arguments[2] or 1), int(arguments[3] or 8)
    folder, dice = Path(tempfile.mkdtemp(prefix="gristmill-labels9-")), random.Random(seed)
    kill, slowest = 0, 0.0
    try:
        for kill in range(1, kills + 1):
            kill_once(binary, folder, seed, count, dice)
            seconds, counts = check(binary, folder)
            slowest = max(slowest, seconds)
            if kill % 10 == 0:
                print(f"{kill} kills, {counts}, slowest first answer {slowest:.2f} s", flush=True)
        last = writers(binary, folder, seed, count, "--statements", "0")
        _, said = last.communicate(timeout=LAST_RUN_SECONDS_MAX)
        if last.returncode != 0:
            raise Wrong(f"the run that repeats ended with {last.returncode}: {said.strip()}")
        _, counts = check(binary, folder, everything_answered=True)
        if counts["ok"] == 0:
            raise Wrong(f"nothing was ever answered ok, so nothing was proved: {counts}")
    except Exception as error:
        print(f"labels9: after {kill} of {kills} kills, seed {seed}: {type(error).__name__}: {error}")
        print(f"kept for a look: {folder}\n0 passed, 1 failed")
        sys.exit(1)
    shutil.rmtree(folder, ignore_errors=True)
    print(f"all answered: {counts}\n{kills} passed, 0 failed")


if __name__ == "__main__":
    main()
