#!/usr/bin/env python3
"""Statements that compute for long, against `gristmill server`: nobody else may notice them, and their time is what they were given.

Usage: turns.py BINARY [short|long]

Each statement runs with as many threads as compute, and `SELECT 1` is asked on new connections beside it. Joins that hand batches on for
hours, joins that throw every pair away, lists that become rows, tables of groups written out, sorts behind many rows: what
never awaits anything would keep everybody else out.
"""
import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

SECONDS = {"short": 6, "long": 8}
# Behind the time that a statement was given. A debug build beside others computes slowly.
LATE_SECONDS_MAX = {"short": 20.0, "long": 4.0}
BESIDE_SECONDS_MAX = {"short": 5.0, "long": 1.0}
MANY, ONES = "numbers(1000000)", "(SELECT 1 AS k, number AS n FROM numbers(1000000))"
JOINS = {
    "pairs": f"SELECT count() FROM {MANY} AS a CROSS JOIN {MANY} AS b",
    "pairs that are computed with": f"SELECT sum(a.number * b.number) FROM {MANY} AS a CROSS JOIN {MANY} AS b",
    "pairs thrown away": f"SELECT count() FROM {MANY} AS a CROSS JOIN {MANY} AS b WHERE a.number + b.number = 3",
    "pairs of one key": f"SELECT count() FROM {ONES} AS a JOIN {ONES} AS b ON a.k = b.k",
    "pairs of one key thrown away": f"SELECT count() FROM {ONES} AS a JOIN {ONES} AS b ON a.k = b.k AND a.n + b.n = 3",
    "nobody's partner": f"SELECT count() FROM {ONES} AS a LEFT JOIN {ONES} AS b ON a.k = b.k AND a.n > b.n + 3000000",
    "no key at all": f"SELECT count() FROM {MANY} AS a FULL JOIN {MANY} AS b ON a.number > b.number + 3000000",
    "lists as rows": "SELECT count() FROM numbers(1000000) ARRAY JOIN range(100000) AS x",
}
OTHERS = {
    "groups": "SELECT count() FROM (SELECT toString(number) AS s, count() FROM numbers(30000000) GROUP BY s)",
    "median": "SELECT quantileExact(number) FROM numbers(100000000)",
    "different texts": "SELECT uniqExact(toString(number)) FROM numbers(30000000)",
    "a set": "SELECT count() FROM numbers(100000000) WHERE number IN (SELECT number * 2 FROM numbers(20000000))",
    "a bitmap": "SELECT bitmapCardinality(groupBitmapState(number * 100)) FROM numbers(30000000)",
    "a list": "SELECT length(groupArray(number)) FROM numbers(100000000)",
    "sums up to each row": "SELECT max(s) FROM (SELECT sum(number) OVER (ORDER BY number) AS s FROM numbers(30000000))",
    "nothing but numbers": "SELECT sum(cityHash64(number)) FROM numbers(1000000000000)",
}
SHORT = ["pairs", "pairs thrown away", "pairs of one key", "lists as rows"]
STATEMENTS = {"short": {name: JOINS[name] for name in SHORT}, "long": {**JOINS, **OTHERS}}


class Server:
    def __init__(self, binary):
        self.path = Path(tempfile.mkdtemp(prefix="turns-"))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        log = open(self.path / "log", "wb")
        command = [binary, "server", "--path", str(self.path / "data"), "--listen", f"127.0.0.1:{self.port}"]
        self.process = subprocess.Popen(command, stdout=log, stderr=log)
        for _ in range(600):
            try:
                self.ask("SELECT 1")
                return
            except OSError:
                time.sleep(0.1)
        raise SystemExit("the server did not start: " + (self.path / "log").read_text())

    def ask(self, sql, parameters=""):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        connection.request("POST", "/?" + parameters, body=sql)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def close(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        shutil.rmtree(self.path, ignore_errors=True)


def beside(server, sql, amount):
    """What is wrong about the statement, and the slowest `SELECT 1` beside it in seconds."""
    ended = []

    def long():
        started = time.monotonic()
        threads = os.cpu_count()
        settings = f"max_threads={threads}&max_memory_usage=6000000000&max_execution_time={SECONDS[amount]}"
        status, answer = server.ask(sql, settings)
        ended.append((status, answer[:200].decode(errors="replace"), time.monotonic() - started))

    running = threading.Thread(target=long)
    running.start()
    time.sleep(0.2)
    times, wrong = [], []
    while running.is_alive():
        started = time.monotonic()
        if (answer := server.ask("SELECT 1")) != (200, b"1\n"):
            wrong.append(f"SELECT 1 beside it: {answer}")
        times.append(time.monotonic() - started)
        time.sleep(0.02)
    running.join()
    status, answer, seconds = ended[0] if ended else (0, "no answer", 0.0)
    if status != 200 and "Code: 159" not in answer:
        wrong.append(f"{status}: {answer}")
    if seconds > SECONDS[amount] + LATE_SECONDS_MAX[amount]:
        wrong.append(f"it took {seconds:.1f} s and had {SECONDS[amount]}")
    slowest = max(times, default=0.0)
    if slowest > BESIDE_SECONDS_MAX[amount]:
        wrong.append(f"SELECT 1 beside it took {slowest:.2f} s")
    return wrong, slowest, len(times), seconds


def main():
    binary, amount = os.path.abspath(sys.argv[1]), (sys.argv + ["", ""])[2] or "short"
    passed = failed = 0
    server = Server(binary)
    try:
        for name, sql in STATEMENTS[amount].items():
            wrong, slowest, count, seconds = beside(server, sql, amount)
            print(f"  {name}: {seconds:.1f} s, {count} times SELECT 1 beside it, at most {slowest * 1000:.0f} ms", flush=True)
            for line in wrong[:5]:
                print(f"  WRONG: {name}: {line}", flush=True)
            failed += bool(wrong)
            passed += not wrong
    finally:
        server.close()
    print(f"turns: {passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
