#!/usr/bin/env python3
"""Kills a load with a label at random moments and lets it go on, until it is done.

Usage: resume.py BINARY [KILLS] [SEED]

Checked: until the load is done nobody sees a row of it, and then all of them, the same as of a load that was not
killed; units that were staged before a kill are not read again; nothing is left over in the folder.
"""
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "oracle"))
from shell import Refused, Shell  # noqa: E402

FILES = 16
ROWS = 100_000
LABEL = "posts-1"
HASH = "SELECT count(), uniqExact(Id), sum(cityHash64(Id, toString(CreationDate), Title)) FROM posts"
PROGRESS = f"SELECT units_total, units_done FROM system.loads WHERE label = '{LABEL}'"
# Small units: staged one by one, or a load of this size would be staged once, at its end.
SETTINGS = [("load_stage_min_bytes", "0"), ("max_insert_threads", "2")]


def unescaped(text):
    return text.replace("\\'", "'")


def create(shell, source):
    """The table has the columns of the files."""
    columns = shell.query(f"DESCRIBE TABLE file('{source}')")
    columns = ", ".join(f"`{column[0]}` {unescaped(column[1])}" for column in columns)
    shell.query(f"CREATE TABLE IF NOT EXISTS posts ({columns}) ENGINE = MergeTree ORDER BY Id")


def insert(source):
    return f"INSERT INTO posts WITH LABEL `{LABEL}` SELECT * FROM file('{source}')"


def unkilled(binary, source):
    """What the table holds after an undisturbed load, and how long that takes."""
    path = tempfile.mkdtemp(prefix="gristmill-resume-")
    try:
        shell = Shell(binary, path, SETTINGS)
        create(shell, source)
        started = time.monotonic()
        shell.query(insert(source))
        seconds = time.monotonic() - started
        found = shell.query(HASH)
        shell.close()
        return found, seconds
    finally:
        shutil.rmtree(path, ignore_errors=True)


def progress(shell):
    """(units, staged units) of the load; none when it was not opened yet."""
    rows = shell.query(PROGRESS)
    if not rows:
        return 0, 0
    return tuple(0 if cell == "\\N" else int(cell) for cell in rows[0])


def run_until_killed(binary, path, source, statement, seconds):
    """Runs the statement and kills the process meanwhile; True if the statement was done before."""
    shell = Shell(binary, path, SETTINGS)
    create(shell, source)
    timer = threading.Timer(seconds, shell.process.kill)
    timer.start()
    try:
        shell.query(statement)
        done = True
    except (Refused, BrokenPipeError, OSError):
        done = False
    timer.cancel()
    shell.kill()
    return done


def check(binary, path, expected):
    """After a kill: all rows or none. Returns the progress of the load."""
    shell = Shell(binary, path)
    count = int(shell.query("SELECT count() FROM posts")[0][0])
    assert count in (0, int(expected[0][0])), f"{count} rows are visible"
    units, staged = progress(shell)
    shell.close()
    return count > 0, units, staged


def finish(binary, path, statement, staged, expected):
    """Lets the load go on to its end."""
    shell = Shell(binary, path, SETTINGS)
    shell.query(statement)
    found = shell.query(HASH)
    assert found == expected, f"{found} instead of {expected}"
    units, done = progress(shell)
    assert units == done > 0, f"{done} of {units} units are done"
    read = int(shell.query(f"SELECT sum(read_here) FROM system.load_units WHERE label = '{LABEL}'")[0][0])
    assert read == units - staged, f"{read} of {units} units were read, and {staged} had been staged"
    left = left_over(shell, path)
    assert not left, f"left over: {sorted(left)[:5]}"
    shell.close()
    return read


def left_over(shell, path):
    """Files that no part names, once no merge is writing any more."""
    shell.query("SYSTEM STOP MERGES")
    left = set()
    for _ in range(50):
        files = {file.name for file in Path(path).glob("data/**/*") if file.is_file()}
        left = files - {Path(row[0]).name for row in shell.query("SELECT path FROM system.parts")}
        if not left:
            break
        time.sleep(0.1)
    return left


def round_of(binary, source, expected, seconds, dice):
    """One load, killed once or twice, then finished. Returns what was staged at the last kill."""
    path = tempfile.mkdtemp(prefix="gristmill-resume-")
    try:
        statement, staged = insert(source), 0
        for _ in range(dice.randint(1, 2)):
            killed_after = dice.uniform(0.02, seconds)
            run_until_killed(binary, path, source, statement, killed_after)
            visible, units, now_staged = check(binary, path, expected)
            if visible:
                return units, units
            assert now_staged >= staged, f"{staged} units were staged, now {now_staged}"
            staged = now_staged
            if units:
                statement = dice.choice([insert(source), f"RESUME LOAD '{LABEL}'"])
        finish(binary, path, statement, staged, expected)
        return units, staged
    finally:
        shutil.rmtree(path, ignore_errors=True)


def main():
    binary, kills, seed = sys.argv[1], int((sys.argv + ["", "", "3"])[2] or 3), int((sys.argv + [""] * 4)[3] or 1)
    dice, files = random.Random(seed), tempfile.mkdtemp(prefix="gristmill-resume-files-")
    try:
        generate = [binary, "generate", "posts", "--to", files, "--files", str(FILES), "--rows", str(ROWS)]
        subprocess.run(generate, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        source = f"{files}/*.parquet"
        expected, seconds = unkilled(binary, source)
        assert int(expected[0][0]) == ROWS, f"{expected[0][0]} rows of {ROWS}"
        for number in range(kills):
            units, staged = round_of(binary, source, expected, seconds, dice)
            print(f"load {number + 1}: {staged} of {units} units were staged when it was killed last", flush=True)
    finally:
        shutil.rmtree(files, ignore_errors=True)
    print(f"{kills} passed, 0 failed")


if __name__ == "__main__":
    main()
