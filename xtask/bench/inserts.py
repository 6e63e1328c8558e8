"""Inserts of both sides, statement by statement, each timed inside its own process around the call.

Gristmill's are those of the hidden `gristmill bench-insert`; ClickHouse gets the same text from its `--print`. With several
connections ClickHouse has one chdb session a thread over one folder: sessions of one process run side by side, the
statements of one session do not. No client and no network is in either figure.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

CHDB_CHILD = r"""
import json, sys, threading, time
from chdb import session
request = json.load(open(sys.argv[1]))
connections, warmup, failed = request["connections"], request["warmup"], []
sessions = [session.Session(request["path"]) for _ in connections]
sessions[0].query(request["create"])
micros = [[] for _ in connections]

def insert(number, statements, into):
    try:
        for statement in statements:
            started = time.perf_counter()
            sessions[number].query(statement)
            into.append((time.perf_counter() - started) * 1e6)
    except Exception as error:
        failed.append(f"connection {number}: {error}")

def all_at_once(statements_of, into):
    threads = [threading.Thread(target=insert, args=(number, statements_of(statements), into(number)))
               for number, statements in enumerate(connections)]
    started = time.perf_counter()
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    return (time.perf_counter() - started) * 1e6

all_at_once(lambda statements: statements[:warmup], lambda number: [])
wall = all_at_once(lambda statements: statements[warmup:], lambda number: micros[number])
json.dump({"micros": micros, "wall_micros": wall, "failed": failed}, open(sys.argv[2], "w"))
"""


class Inserted:
    """Microseconds of each statement of each connection, and of all from the first to the last."""

    def __init__(self, micros, wall_micros, closing):
        self.micros, self.wall_micros, self.closing = micros, wall_micros, closing

    def every(self):
        return [micros for connection in self.micros for micros in connection]

    def per_second(self):
        return len(self.every()) * 1e6 / self.wall_micros


class Workload:
    """How many statements of what; the flags of `bench-insert`."""

    def __init__(self, statements, rows=1, columns=4, connections=1, select=False, warmup=5):
        self.statements, self.connections, self.warmup = statements, connections, warmup
        self.flags = ["--statements", str(statements), "--rows-per-statement", str(rows), "--columns", str(columns),
                      "--connections", str(connections), "--warmup", str(warmup)] + (["--select"] if select else [])


def gristmill(binary, path, workload, more=()):
    command = [binary, "bench-insert", "--path", path, "--count-records", *workload.flags, *more]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    *lines, closing = [json.loads(line) for line in done.stdout.splitlines()]
    return Inserted([line["micros"] for line in lines], closing["wall_micros"], closing)


def text(binary, workload, table_settings):
    """CREATE TABLE, and the statements of each connection."""
    settings = ["--table-settings", table_settings] if table_settings else []
    command = [binary, "bench-insert", "--print", *workload.flags, *settings]
    create, *inserts = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    each = workload.warmup + workload.statements
    return create, [inserts[first:first + each] for first in range(0, len(inserts), each)]


def chdb(binary, path, workload, table_settings=None):
    create, connections = text(binary, workload, table_settings)
    request = {"path": path, "create": create, "connections": connections, "warmup": workload.warmup}
    with tempfile.TemporaryDirectory() as folder:
        asked, told = os.path.join(folder, "request"), os.path.join(folder, "reply")
        with open(asked, "w") as file:
            json.dump(request, file)
        subprocess.run([sys.executable, "-c", CHDB_CHILD, asked, told], check=True, stdin=subprocess.DEVNULL)
        with open(told) as file:
            answer = json.load(file)
    if answer["failed"]:
        sys.exit("chdb: " + "\n".join(answer["failed"]))
    return Inserted(answer["micros"], answer["wall_micros"], answer)


def bare_fdatasync(folder, times=1000, payload_bytes=200):
    """Microseconds of `times` writes with an fdatasync each, into a file that is there and full of zeros: what this
    disk takes for a commit that does nothing else."""
    path = os.path.join(folder, "bare-fdatasync")
    with open(path, "wb") as file:
        file.write(bytes(times * payload_bytes))
        file.flush()
        os.fsync(file.fileno())
    micros, payload = [], b"x" * payload_bytes
    descriptor = os.open(path, os.O_WRONLY)
    for number in range(times):
        started = time.perf_counter()
        os.pwrite(descriptor, payload, number * payload_bytes)
        os.fdatasync(descriptor)
        micros.append((time.perf_counter() - started) * 1e6)
    os.close(descriptor)
    os.remove(path)
    return micros
