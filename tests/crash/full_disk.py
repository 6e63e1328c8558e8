#!/usr/bin/env python3
"""Fills the disk under a running database at an insert, a load, a flush, a merge and (LONG) a checkpoint.

Usage: full_disk.py BINARY [SEED] [LONG]

A small tmpfs is the disk; a filler file takes what is free but a little. Checked each time: the statement fails with error
243 and says which file or table; nothing acknowledged is lost and nothing of the failed statement is there; once the filler
is gone the same process goes on; no file is left that no part names. At the end a fresh process sees the same rows.
LONG=1 also fills the log up to a due checkpoint and waits for it, which takes a minute.

Mounting needs root: without it the script says loudly that it proved nothing, and exits with 0.
"""
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "oracle"))
sys.path.insert(0, str(Path(__file__).parent))
from kill9 import left_over  # noqa: E402
from shell import Refused, Shell  # noqa: E402

DISK_BYTES = 200 << 20
NOT_ENOUGH_SPACE = 243
INSERTS_MAX = 3_000
# Longer than the pause of background work after an error.
RECOVERY_SECONDS_MAX = 60
CHECKPOINT_LOG_BYTES = 64 << 20


class Wrong(Exception):
    """What does not hold, and where."""


class Disk:
    """A tmpfs of its own with a folder for the database and a file that takes the rest."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="gristmill-full-disk-"))
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "none", str(self.folder)], capture_output=True, text=True
        )
        self.why_not = mounted.stderr.strip() if mounted.returncode else None
        self.root, self.filler = self.folder / "data-of-gristmill", self.folder / "filler"

    def free_bytes(self):
        shown = os.statvfs(self.folder)
        return shown.f_bavail * shown.f_frsize

    def fill(self, leave_bytes):
        """tmpfs has no holes to fill later: zeros that are written take room at once."""
        with open(self.filler, "wb") as file:
            left = self.free_bytes() - leave_bytes
            while left > 0:
                left -= file.write(bytes(min(left, 1 << 20)))

    def relieve(self):
        self.filler.unlink(missing_ok=True)

    def log_bytes(self):
        return sum(file.stat().st_size for file in (self.root / "stream/0/wal").glob("*.seg"))

    def remove(self):
        if not self.why_not:
            subprocess.run(["umount", "--lazy", str(self.folder)], check=True)
        self.folder.rmdir()


class Test:
    def __init__(self, binary, disk, seed):
        self.binary, self.disk, self.dice = binary, disk, random.Random(seed)
        self.shell = Shell(binary, disk.root, goes_on=True)
        # Rows of every table that were acknowledged.
        self.expected = {}

    def create(self, table):
        self.shell.query(f"CREATE TABLE {table} (id UInt64, text String) ENGINE = MergeTree ORDER BY id")
        self.expected[table] = 0

    def insert(self, table, rows=100, bytes_each=600):
        """A small insert, whose rows go into the log; the text cannot be packed."""
        first = self.expected[table]
        values = ", ".join(f"({first + row}, '{self.dice.randbytes(bytes_each // 2).hex()}')" for row in range(rows))
        self.shell.query(f"INSERT INTO {table} VALUES {values}")
        self.expected[table] += rows

    def load(self, table, rows):
        """A load, whose rows go into parts."""
        first = self.expected[table]
        self.shell.query(f"INSERT INTO {table} SELECT number + {first}, concat(toString(cityHash64(number, {first})), "
                         f"toString(cityHash64(number, {first}, 'b'))) FROM numbers({rows})")
        self.expected[table] += rows

    def refused(self, what, run):
        """Runs something that must find the disk full."""
        try:
            run()
        except Refused as error:
            said = str(error).strip()
            if error.code() != NOT_ENOUGH_SPACE:
                raise Wrong(f"{what}: a full disk is error {error.code()}, not {NOT_ENOUGH_SPACE}: {said}")
            if str(self.disk.root) not in said and not any(f'"{table}"' in said or f'.{table}"' in said for table in self.expected):
                raise Wrong(f"{what}: the error names neither a file nor a table: {said}")
            print(f"{what}: {said}", flush=True)
            return
        raise Wrong(f"{what}: {self.disk.free_bytes()} bytes were free, and nothing failed")

    def check(self, what):
        for table, rows in self.expected.items():
            found = self.shell.query(f"SELECT count(), uniqExact(id), if(count() = 0, 0, max(id) + 1) FROM {table}")
            if found != [[str(rows)] * 3]:
                raise Wrong(f"{what}: table {table} has (rows, different ids, highest id + 1) {found} instead of {rows}")

    def reopen(self):
        if self.shell.close() != 0:
            raise Wrong(f"the process ended with {self.shell.process.returncode}")
        self.shell = Shell(self.binary, self.disk.root, goes_on=True)


def insert(test):
    test.create("small")
    test.insert("small")
    test.disk.fill(leave_bytes=2 << 20)

    def until_full():
        for _ in range(INSERTS_MAX):
            test.insert("small")

    test.refused("insert", until_full)
    test.check("insert, disk full")
    test.disk.relieve()
    test.insert("small")
    test.check("insert, room again")


def load(test):
    test.create("large")
    test.load("large", 1_000)
    test.disk.fill(leave_bytes=4 << 20)
    test.refused("load", lambda: test.load("large", 500_000))
    test.check("load, disk full")
    test.disk.relieve()
    test.load("large", 200_000)
    test.check("load, room again")


def flush(test):
    test.create("flushed")
    for _ in range(40):
        test.insert("flushed")
    test.disk.fill(leave_bytes=256 << 10)
    test.refused("flush", lambda: test.shell.query("OPTIMIZE TABLE flushed"))
    test.check("flush, disk full")
    test.disk.relieve()
    test.shell.query("OPTIMIZE TABLE flushed")
    test.check("flush, room again")


def merge(test):
    test.create("merged")
    test.shell.query("SYSTEM STOP MERGES merged")
    for _ in range(4):
        test.load("merged", 100_000)
    test.disk.fill(leave_bytes=1 << 20)
    test.shell.query("SYSTEM START MERGES merged")
    test.refused("merge", lambda: test.shell.query("OPTIMIZE TABLE merged FINAL"))
    test.check("merge, disk full")
    test.disk.relieve()
    test.shell.query("OPTIMIZE TABLE merged FINAL")
    test.check("merge, room again")


def checkpoint(test):
    """The log grows until a checkpoint and a flush are due, and there is no room for either."""
    test.create("logged")
    room = CHECKPOINT_LOG_BYTES + (24 << 20) - test.disk.log_bytes()
    test.disk.fill(leave_bytes=room)

    def until_full():
        for _ in range(INSERTS_MAX):
            test.insert("logged", rows=400, bytes_each=1_000)

    test.refused("checkpoint", until_full)
    test.check("checkpoint, disk full")
    full = test.disk.log_bytes()
    test.disk.relieve()
    test.insert("logged")
    deadline = time.monotonic() + RECOVERY_SECONDS_MAX
    while not list((test.disk.root / "stream/0/ckpt").glob("*.parquet")):
        if time.monotonic() > deadline:
            raise Wrong(f"checkpoint: none in {RECOVERY_SECONDS_MAX} s after there was room, with {full} bytes of log")
        test.insert("logged", rows=1)
        time.sleep(0.5)
    test.check("checkpoint, room again")


def main():
    arguments = sys.argv[1:] + [""] * 3
    binary, seed, long = arguments[0], int(arguments[1] or 1), arguments[2] == "1"
    disk = Disk()
    if disk.why_not:
        disk.remove()
        print(f"SKIPPED: NOTHING WAS PROVED ABOUT A FULL DISK: no tmpfs can be mounted here: {disk.why_not}")
        print("0 passed, 0 failed")
        return
    scenes, passed, at = [insert, load, flush, merge] + ([checkpoint] if long else []), 0, "opening"
    try:
        test = Test(binary, disk, seed)
        for scene in scenes:
            at = scene.__name__
            scene(test)
            passed += 1
        at = "opening again"
        test.reopen()
        test.check(at)
        left = left_over(test.shell, disk.root)
        if left:
            raise Wrong(f"{len(left)} files that no part names: {sorted(left)[:5]}")
        test.shell.close()
    except Exception as error:
        print(f"full_disk: {at}, seed {seed}, {disk.free_bytes()} bytes free: {type(error).__name__}: {error}")
        print(f"{passed} passed, 1 failed")
        sys.exit(1)
    finally:
        disk.remove()
    print(f"{passed + 1} passed, 0 failed")


if __name__ == "__main__":
    main()
