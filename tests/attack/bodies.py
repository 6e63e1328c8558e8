#!/usr/bin/env python3
"""Sends mutated bodies of every input format to a server and looks whether it ever breaks, hangs, or keeps half of one.

Usage: bodies.py BINARY [BODIES] [SEED]

The server itself writes a sound body of each format it both reads and writes; bits, bytes, lengths and pieces of it are changed, and
it is sent as the data of an INSERT. Whatever the answer is, it must come within two seconds; a refused body leaves no row, an accepted one all
that the answer says; nothing of ours may panic, and a library's panic ends its statement alone; and the server must answer `SELECT 1` all
the time.
"""
import collections
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

ANSWER_SECONDS_MAX = 2.0
# A debug build on a busy machine computes thirty times slower than what is promised.
SLACK = 10.0 if "debug" in Path(sys.argv[1]).resolve().parts else 1.0
# So many formats at least read and write these columns.
FORMATS_MIN = 20
COLUMNS = "n UInt32, i Nullable(Int64), f Float64, s String, d Date, t DateTime, a Array(UInt8), m Map(String, UInt8), u UUID, c LowCardinality(String)"
ROWS = """SELECT toUInt32(number) AS n, if(number % 3 = 0, NULL, toInt64(number) - 5) AS i, number / 3 AS f, concat('row ', toString(number)) AS s,
toDate('2024-01-01') + number AS d, toDateTime('2024-01-01 00:00:00') + number AS t, range(number % 3)::Array(UInt8) AS a,
map('k', toUInt8(number)) AS m, toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0') AS u, toLowCardinality(['x', 'y'][number % 2 + 1]) AS c FROM numbers(20)"""


class Server:
    def __init__(self, binary, folder):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.log = open(folder / "server.log", "w+b")
        command = [binary, "server", "--path", str(folder / "db"), "--listen", f"127.0.0.1:{self.port}"]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        for _ in range(1200):
            try:
                return self.wait_for_ping()
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("the server does not answer")

    def wait_for_ping(self):
        urllib.request.urlopen(f"http://127.0.0.1:{self.port}/ping", timeout=5).read()

    def ask(self, sql, body=None, **parameters):
        """(status, answer, seconds); `written` is then how many rows the server says it took."""
        words = urllib.parse.urlencode({"query": sql, **parameters})
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/?{words}", data=body if body is not None else b"")
        started = time.monotonic()
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                data, status = answer.read(), answer.status
                self.written = int(json.loads(answer.headers.get("X-ClickHouse-Summary", "{}")).get("written_rows", 0))
        except urllib.error.HTTPError as error:
            data, status = error.read(), error.code
        return status, data, time.monotonic() - started

    def said(self):
        self.log.flush()
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)


def mutated(body, dice):
    data = bytearray(body)
    for _ in range(dice.choice([1, 1, 1, 2, 5])):
        at = dice.randrange(len(data)) if data else 0
        kind = dice.randrange(8)
        if kind == 0 and data:
            data[at] ^= 1 << dice.randrange(8)
        elif kind == 1 and data:
            data[at] = dice.choice([0, 1, 0x7F, 0x80, 0xFF, 0x22, 0x5B, 0x7B, 0x2C, 0x0A])
        elif kind == 2:
            del data[at:at + dice.randrange(1, 9)]
        elif kind == 3:
            data[at:at] = bytes(dice.randrange(256) for _ in range(dice.randrange(1, 9)))
        elif kind == 4:
            data = data[:at]
        elif kind == 5:
            data[at:at] = data[at:at + dice.randrange(1, 65)]
        elif kind == 6:
            data[at:at + 8] = dice.choice([b"\xff" * 8, b"\0" * 8, b"\x7f" + b"\xff" * 7, b"\x80" * 8])
        else:
            data[at:at] = data[at:at + 4] * dice.randrange(1, 200)
    return bytes(data)


def sound_bodies(server):
    """Format -> a body it reads back as so many rows as it was made of; and what is wrong with those that are not."""
    _, names, _ = server.ask("SELECT name FROM system.formats WHERE is_input AND is_output ORDER BY name")
    bodies, wrong = {}, []
    for name in names.decode().split():
        status, body, _ = server.ask(f"{ROWS} FORMAT {name}")
        if status != 200:
            continue
        status, answer, _ = server.ask(f"INSERT INTO b FORMAT {name}", body)
        # One that cannot hold these columns says so; one that takes the body takes all of it.
        if status == 200:
            bodies[name] = body
            if (rows := int(server.ask("SELECT count() FROM b")[1])) != 20:
                wrong.append(f"{name}: {rows} rows of a sound body of 20")
        server.ask("TRUNCATE TABLE b")
    if len(bodies) < FORMATS_MIN:
        wrong.append(f"only {len(bodies)} formats read what they write: {' '.join(sorted(bodies))}")
    return bodies, wrong


def attack(server, bodies, count, dice):
    failures, statuses = [], collections.Counter()
    names = sorted(bodies)
    for number in range(count):
        name = names[number % len(names)]
        body = mutated(bodies[name], dice)
        status, answer, seconds = server.ask(f"INSERT INTO b FORMAT {name}", body)
        written = server.written if status == 200 else 0
        statuses[status] += 1
        rows = int(server.ask("SELECT count() FROM b")[1])
        wrong = None
        if seconds > ANSWER_SECONDS_MAX * SLACK:
            wrong = f"took {seconds:.1f} s"
        elif status != 200 and rows:
            wrong = f"refused and {rows} rows are there"
        elif status == 200 and rows != written:
            wrong = f"says it took {written} rows and {rows} are there"
        elif status != 200 and (b"Code: " not in answer or b"Code: 49." in answer):
            wrong = f"status {status}: {answer[:100]!r}"
        elif number % 50 == 0 and server.ask("SELECT 1")[1] != b"1\n":
            wrong = "SELECT 1 is not answered behind it"
        if wrong:
            failures.append(f"{name}: {wrong}: {body[:60].hex()}")
        if rows:
            server.ask("TRUNCATE TABLE b")
    return failures, statuses


def main():
    binary = os.path.abspath(sys.argv[1])
    count, seed = int((sys.argv + ["", "", "300"])[2] or 300), int((sys.argv + [""] * 4)[3] or 1)
    folder = Path(tempfile.mkdtemp(prefix="gristmill-bodies-"))
    server, ended = Server(binary, folder), None
    try:
        server.ask(f"CREATE TABLE b ({COLUMNS}) ENGINE = MergeTree ORDER BY n")
        bodies, failures = sound_bodies(server)
        wrong, statuses = attack(server, bodies, count, random.Random(seed))
        failures += wrong
        failures += [f"SELECT 1 is {server.ask('SELECT 1')}"] if server.ask("SELECT 1")[1] != b"1\n" else []
        ended = server.end()
        panics = [line for line in server.said().splitlines() if "panicked at" in line]
        ours = [line for line in panics if "/registry/" not in line]
        failures += [f"{len(ours)} panics: {ours[0]}"] if ours else []
        failures += [f"the server ended with {ended}"] if ended else []
        print(f"{len(bodies)} formats, answers: {json.dumps(statuses)}, panics of libraries: {len(panics) - len(ours)}")
        for failure in failures:
            print(failure)
        print(f"{max(count + 3 - len(failures), 0)} passed, {len(failures)} failed")
    finally:
        if ended is None:
            server.process.kill()
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
