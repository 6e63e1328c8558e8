#!/usr/bin/env python3
"""Sixty-four clients: some with statements that make much of little, the others with ordinary ones, which must not notice.

Usage: crowd.py BINARY [short|long]

A server with memory_bytes = 512 MB. Eight clients throw the statements of `explosions.py` in an order of their own; the others ask for
rows, sums and groups of a small table, and insert into it. An ordinary statement must have its right answer, or wait: never an error.
A statement that explodes ends with an answer, with error 241, or with the code of a limit. All acknowledged rows are there in the end.
"""
import random
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import explosions

LIMIT = 512_000_000
CLIENTS, EXPLOSIVE = 64, 8
SECONDS = {"short": 30, "long": 600}
ROWS = 10_000
ANSWER_SECONDS = 120
TABLE = "CREATE TABLE ordinary (client UInt32, n UInt64, s String) ENGINE = MergeTree ORDER BY (client, n)"
# Client 0 has the rows that do not change.
FIRST = f"INSERT INTO ordinary SELECT 0, number, toString(number % 100) FROM numbers({ROWS})"
QUESTIONS = [
    ("SELECT 1", "1"),
    ("SELECT count(), sum(n) FROM ordinary WHERE client = 0", f"{ROWS}\t{ROWS * (ROWS - 1) // 2}"),
    ("SELECT s FROM ordinary WHERE client = 0 AND n = 4321", "21"),
    ("SELECT count() FROM (SELECT s, count() FROM ordinary WHERE client = 0 GROUP BY s)", "100"),
    ("SELECT n FROM ordinary WHERE client = 0 ORDER BY n DESC LIMIT 1", str(ROWS - 1)),
    ("SELECT sum(number) FROM numbers(100000)", "4999950000"),
]
ENDS = {0, explosions.MEMORY_LIMIT_EXCEEDED, explosions.TIMEOUT_EXCEEDED, *explosions.TOO_LARGE}


class Crowd:
    """The clients, and what they found."""

    def __init__(self, server, seconds):
        self.server, self.end, self.lock = server, time.monotonic() + seconds, threading.Lock()
        self.wrong, self.times, self.codes, self.inserted = [], [], {}, 0

    def fail(self, why):
        with self.lock:
            self.wrong.append(why)
            print(f"WRONG {why}", flush=True)

    def goes_on(self):
        return time.monotonic() < self.end and len(self.wrong) < 20 and not self.server.is_dead()

    def explode(self, number, statements):
        dice = random.Random(number)
        while self.goes_on():
            sql = dice.choice(statements)
            try:
                code, text = self.server.ask(sql, ANSWER_SECONDS, max_execution_time=60)
            except OSError as error:
                self.fail(f"no answer ({error}): {sql[:120]}")
                continue
            with self.lock:
                self.codes[code] = self.codes.get(code, 0) + 1
            if code not in ENDS:
                self.fail(f"code {code}: {text[:200]}: {sql[:120]}")

    def ordinary(self, number):
        dice, rows = random.Random(number), 0
        while self.goes_on():
            sql, expected = dice.choice(QUESTIONS)
            if dice.random() < 0.3:
                sql, expected = f"INSERT INTO ordinary VALUES ({number}, {rows}, 'row')", ""
            started = time.monotonic()
            try:
                code, text = self.server.ask(sql, ANSWER_SECONDS)
            except OSError as error:
                self.fail(f"no answer ({error}): {sql[:120]}")
                continue
            if code or text != expected:
                self.fail(f"code {code}, {text[:200]!r}: {sql[:120]}")
            with self.lock:
                self.times.append(time.monotonic() - started)
                self.inserted += not expected
            rows += not expected
            time.sleep(0.02)


def main():
    binary, amount = sys.argv[1], (sys.argv + [""])[2] or "short"
    folder = Path(tempfile.mkdtemp(prefix="crowd-"))
    server = explosions.Server(binary, folder, LIMIT)
    try:
        server.wait()
        server.ask(TABLE, 60), server.ask(FIRST, 60)
        families = [*explosions.texts(), *explosions.arrays(), *explosions.aggregates()]
        statements = [sql for family in families for sql, _ in family.statements(True)]
        crowd = Crowd(server, SECONDS[amount])
        clients = [threading.Thread(target=crowd.explode, args=(number, statements)) for number in range(1, EXPLOSIVE + 1)]
        clients += [threading.Thread(target=crowd.ordinary, args=(number,)) for number in range(EXPLOSIVE + 1, CLIENTS + 1)]
        server.forget_peak()
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        if server.is_dead():
            crowd.fail(f"the server ended with {server.process.returncode}")
        else:
            peak, bound = server.memory("VmHWM"), LIMIT * 1.15 + 200 * explosions.MIB
            stored = server.ask("SELECT count() FROM ordinary WHERE client > 0", 60)[1]
            if stored != str(crowd.inserted):
                crowd.fail(f"{stored} rows of {crowd.inserted} that were acknowledged")
            if peak > bound:
                crowd.fail(f"{peak / explosions.MIB:.0f} MiB of {bound / explosions.MIB:.0f}")
            times = sorted(crowd.times)
            print(f"{len(times)} ordinary statements, {crowd.inserted} of them INSERTs: median {statistics.median(times) * 1000:.0f} ms, p99 "
                  f"{times[int(len(times) * 0.99)]:.2f} s, most {times[-1]:.1f} s; {sum(crowd.codes.values())} that explode, by code "
                  f"{crowd.codes}; at most {peak / explosions.MIB:.0f} MiB resident")
        done = len(crowd.times) + sum(crowd.codes.values())
        print(f"crowd: {done} passed, {len(crowd.wrong)} failed")
        sys.exit(1 if crowd.wrong else 0)
    finally:
        server.process.kill()
        server.process.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
