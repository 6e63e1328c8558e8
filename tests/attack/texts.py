#!/usr/bin/env python3
"""Short texts that ask for much: chains, nests and names that double, against `gristmill server` as a user who may only read.

Usage: texts.py BINARY [short|long]

Then bombs: productions of the grammar, those of `tests/deep`, repeated and nested in each other, from a seed (long: 5,000). Each text
must end within its time with an answer or an error that is no defect; the server must live, hold no more than its memory and 1 GiB beside
it, and answer `SELECT 1` on a new connection meanwhile.
"""
import http.client
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

MEMORY = 512_000_000
RESIDENT_MAX = MEMORY + (1 << 30)
# Of one text, and of a short statement beside it: a debug build plans slowly.
SECONDS_MAX = {"short": 120.0, "long": 30.0}
BOMBS = {"short": 120, "long": 5000}
BOMB_SECONDS_MAX = {"short": 120.0, "long": 2.0}
BESIDE_P99_MS = {"short": 5000.0, "long": 100.0}
BESIDE_SECONDS_MAX = {"short": 20.0, "long": 2.0}


def doubling(count):
    return "SELECT 1 AS a0, " + ", ".join(f"a{n} + a{n} AS a{n + 1}" for n in range(count))


def with_doubling(count):
    tables = ["t0 AS (SELECT 1 AS x)"] + [f"t{n + 1} AS (SELECT a.x FROM t{n} AS a, t{n} AS b)" for n in range(count)]
    return f"WITH {', '.join(tables)} SELECT count() FROM t{count}"


TEXTS = {
    "elements of arrays": lambda n: "SELECT [1]" + "[1]" * n,
    "APPLY": lambda n: "SELECT * APPLY(toString)" + " APPLY(toString)" * n + " FROM numbers(1)",
    "ARRAY JOIN": lambda n: "SELECT 1 FROM numbers(1)" + " ARRAY JOIN [1] AS x" * n,
    "UNION ALL": lambda n: "SELECT 1" + " UNION ALL SELECT 1" * n,
    "EXPLAIN": lambda n: "EXPLAIN " * n + "SELECT 1",
    "brackets": lambda n: "SELECT " + "(" * n + "1" + ")" * n,
    "NOT": lambda n: "SELECT " + "NOT " * n + "1",
    "sums": lambda n: "SELECT 1" + "+1" * n,
}
LENGTHS = {"short": [2000, 30_000], "long": [1000, 2000, 3000, 10_000, 30_000, 100_000]}
WIDE = {"aliases that double": doubling, "tables that double": with_doubling}
WIDTHS = {"short": [30], "long": [14, 18, 25, 30, 60]}


class Server:
    def __init__(self, binary):
        self.path = tempfile.mkdtemp(prefix="gristmill-texts-")
        config = Path(self.path, "server.toml")
        config.write_text(f"memory_bytes = {MEMORY}\n")
        command = [binary, "server", "--path", str(Path(self.path, "db")), "--listen", "127.0.0.1:0", "--config", str(config)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.port = int(re.match(r"listening on 127\.0\.0\.1:(\d+)", self.process.stdout.readline())[1])

    def ask(self, sql, seconds):
        """(status, the beginning of the text); None: no answer in this time."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        try:
            connection.request("POST", "/?readonly=1", sql.encode())
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace")[:200]
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def resident(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        return int(found[1]) * 1024 if found else 0

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()
        shutil.rmtree(self.path, ignore_errors=True)


def attack(server, sql, amount):
    """What is wrong with how one text ended; None: nothing."""
    answer, most, slow = [], 0, 0.0
    asking = threading.Thread(target=lambda: answer.append(server.ask(sql, SECONDS_MAX[amount])))
    asking.start()
    while asking.is_alive() and server.process.poll() is None:
        most = max(most, server.resident())
        started = time.monotonic()
        beside = server.ask("SELECT 1", SECONDS_MAX[amount])
        slow = max(slow, time.monotonic() - started)
        if beside != (200, "1\n"):
            return f"SELECT 1 beside it: {beside}"
        if most > RESIDENT_MAX:
            break
        asking.join(0.05)
    if server.process.poll() is not None:
        return f"the server ended with {server.process.returncode}"
    if most > RESIDENT_MAX:
        return f"{most >> 20} MiB are resident"
    if slow > BESIDE_SECONDS_MAX[amount]:
        return f"SELECT 1 beside it took {slow:.1f} s"
    asking.join(SECONDS_MAX[amount])
    if not answer or answer[0] is None:
        return f"no answer in {SECONDS_MAX[amount]:.0f} s"
    if answer[0][0] != 200 and ("Code: " not in answer[0][1] or "Code: 49." in answer[0][1]):
        return f"{answer[0]}"
    return None


def productions():
    """(start, what is repeated, middle, what is repeated behind) of the search that runs in the process."""
    text = (Path(__file__).parents[1] / "deep" / "main.rs").read_text()
    literal = r'"((?:[^"\\]|\\.)*)"'
    found = re.findall(rf"^    \({literal}, {literal}, {literal}, {literal}\),$", text, re.MULTILINE)
    assert len(found) > 50, "the productions of tests/deep are not found"
    # KILL ends the short statements beside the bombs, too, which are the same user's.
    found = [one for one in found if not one[0].startswith("KILL")]
    return [tuple(piece.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\") for piece in one) for one in found]


def bombs(count, dice):
    """Texts of up to 30,000 repetitions; every third nests productions in each other."""
    all_, nesting = productions(), [one for one in productions() if one[0] == "SELECT " and one[3].endswith(")")]
    for number in range(count):
        if number % 3 == 2:
            chosen = [dice.choice(nesting) for _ in range(dice.choice([5, 50, 500, 5000, 30_000]))]
            yield "SELECT " + "".join(one[1] for one in chosen) + "1" + "".join(one[3] for one in reversed(chosen))
            continue
        start, link, middle, behind = all_[number % len(all_)]
        times = int(10 ** dice.uniform(0.5, 4.48))
        yield start + link * times + middle + behind * times


def bombard(server, amount):
    """Every bomb in turn, two at a time, beside short statements on connections of their own."""
    dice = random.Random(1)
    waiting, failures, times, beside, slow = list(bombs(BOMBS[amount], dice)), [], [], [], []
    waiting.reverse()
    lock = threading.Lock()

    def throw():
        while True:
            with lock:
                if not waiting or server.process.poll() is not None:
                    return
                sql = waiting.pop()
            started = time.monotonic()
            answer = server.ask(sql, SECONDS_MAX[amount])
            seconds = time.monotonic() - started
            with lock:
                times.append(seconds)
                if answer is None or answer[0] != 200 and ("Code: " not in answer[1] or "Code: 49." in answer[1]):
                    failures.append(f"{answer}: {sql[:80]!r} of {len(sql)} bytes")
                elif seconds > BOMB_SECONDS_MAX[amount]:
                    slow.append((seconds, f"{seconds:.1f} s: {sql[:80]!r} of {len(sql)} bytes: {answer}"))

    throwing = [threading.Thread(target=throw) for _ in range(2)]
    for thread in throwing:
        thread.start()
    most = 0
    while any(thread.is_alive() for thread in throwing):
        most = max(most, server.resident())
        if most > RESIDENT_MAX:
            failures.append(f"{most >> 20} MiB are resident beside bombs")
            server.close()
            break
        started = time.monotonic()
        answer = server.ask("SELECT 1", SECONDS_MAX[amount])
        beside.append(time.monotonic() - started)
        if answer != (200, "1\n"):
            failures.append(f"SELECT 1 beside bombs: {answer}")
            break
        time.sleep(0.01)
    for thread in throwing:
        thread.join()
    if server.process.poll() is not None:
        failures.append(f"the server ended with {server.process.returncode}")
    at = lambda all_, share: sorted(all_)[min(int(len(all_) * share), len(all_) - 1)] * 1000  # noqa: E731
    print(f"  {len(times)} bombs: median {at(times, 0.5):.1f} ms, most {at(times, 1):.0f} ms; {len(beside)} x SELECT 1 beside "
          f"them: median {at(beside, 0.5):.1f} ms, p99 {at(beside, 0.99):.1f} ms, most {at(beside, 1):.0f} ms; at most {most >> 20} MiB resident", flush=True)
    if at(beside, 0.99) > BESIDE_P99_MS[amount]:
        failures.append(f"SELECT 1 beside bombs: p99 {at(beside, 0.99):.0f} ms")
    return failures + [text for _, text in sorted(slow, reverse=True)]


def main():
    binary, amount = os.path.abspath(sys.argv[1]), (sys.argv + ["", ""])[2] or "short"
    texts = [(name, size, make(size)) for name, make in TEXTS.items() for size in LENGTHS[amount]]
    texts += [(name, size, make(size)) for name, make in WIDE.items() for size in WIDTHS[amount]]
    server, failed = Server(binary), 0
    try:
        for name, size, sql in texts:
            if wrong := attack(server, sql, amount):
                failed += 1
                print(f"  WRONG: {name} x {size} ({len(sql)} bytes): {wrong}", flush=True)
                server.close()
                server = Server(binary)
        wrong = bombard(server, amount)
        for line in wrong[:40]:
            print(f"  WRONG: {line}", flush=True)
        failed += len(wrong)
    finally:
        server.close()
    print(f"{max(len(texts) + BOMBS[amount] - failed, 0)} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
