#!/usr/bin/env python3
"""Kills and stops servers that read a share of a query at random moments, and compares what is answered.

Usage: reads.py BINARY [ROUNDS=20] [--seed N] [--rows N] [--servers N]

Three servers of one bucket have ports for each other. Each round asks a random server one of some questions, over a table or over files, which all of them read
(`enable_parallel_replicas = 2`). Meanwhile another server is killed with -9, stopped for eight seconds, or the statement is killed; or nothing happens. The answer is
that of one server, or within ten seconds an error that names the server that was lost; never other rows. In the end no statement is left on any server, and no log has an
alarm.
"""
import hashlib
import random
import signal
import sys
import threading
import time

from servers import BUCKET, KEYS, Refused, Root, Unanswered

STOPPED_SECONDS = 8
ERROR_SECONDS_MAX = 10
LEFT_SECONDS_MAX = 2
# A server that was lost is not asked for ten seconds; a new one is known with the second beat.
KNOWN_SECONDS_MAX = 40
STOP_MERGES = "SYSTEM STOP MERGES"
FAULTS = ("kill", "stop", "none", "cancel")
RUNNING = "SELECT count() FROM system.processes WHERE query LIKE '%cityHash64%' AND query NOT LIKE '%system.processes%'"


def files(pattern, form):
    return f"'s3://{BUCKET}/files/{pattern}', '{KEYS[0]}', '{KEYS[1]}', '{form}'"


def questions():
    """Each has one answer, however its rows are ordered; all take a while."""
    read = f"s3Cluster('default', {files('*.parquet', 'Parquet')})"
    return [
        "SELECT g, count(), sum(n), max(cityHash64(n, s)), uniqExact(s) FROM t GROUP BY g",
        "SELECT n, cityHash64(n, s) FROM t WHERE cityHash64(n) % 4 = 1",
        "SELECT n, s FROM t ORDER BY cityHash64(n, s), n LIMIT 100",
        "SELECT a.g, count(), sum(cityHash64(a.n) % 1000) FROM t AS a JOIN small AS b ON a.g = b.g GROUP BY a.g",
        f"SELECT n % 10, count(), sum(cityHash64(s) % 1000) FROM {read} GROUP BY n % 10",
        f"SELECT n, cityHash64(n, s) FROM {read} WHERE cityHash64(n) % 3 = 1",
    ]


def all_read(node, sql, servers):
    """Waits until a server knows all the others, and would share a question with them."""
    deadline = time.monotonic() + KNOWN_SECONDS_MAX
    while f"SpreadExec: servers={servers}" not in node.query(f"EXPLAIN {sql} SETTINGS enable_parallel_replicas = 2"):
        if time.monotonic() > deadline:
            raise SystemExit(f"{servers} servers do not share: {sql}")
        time.sleep(0.3)


def digest(text):
    return hashlib.sha256("\n".join(sorted(text.splitlines())).encode()).hexdigest()


class Round:
    """One question and what happens meanwhile."""

    def __init__(self, root, number, dice, expected, seconds):
        self.root, self.dice = root, dice
        self.fault = FAULTS[number % len(FAULTS)]
        self.question = dice.randrange(len(expected))
        self.expected, self.seconds = expected[self.question], seconds[self.question]
        self.answer = self.error = None

    def run(self):
        nodes = self.root.nodes
        asked = self.dice.choice(nodes)
        victim = self.dice.choice([node for node in nodes if node is not asked])
        mark = f"read {self.dice.random()}"
        all_read(asked, questions()[self.question], len(nodes))
        asking = threading.Thread(target=self.ask, args=(asked, mark), daemon=True)
        asking.start()
        time.sleep(self.dice.uniform(0, self.seconds))
        struck = time.monotonic()
        if self.fault == "kill":
            victim.kill()
        elif self.fault == "stop":
            victim.signal(signal.SIGSTOP)
        elif self.fault == "cancel":
            asked.query(f"KILL QUERY WHERE query LIKE '%{mark}%' AND query NOT LIKE 'KILL%' ASYNC")
        asking.join()
        took = time.monotonic() - struck
        if self.fault == "cancel":
            self.nothing_is_left()
        if self.fault == "stop":
            time.sleep(max(0, STOPPED_SECONDS - took))
            victim.signal(signal.SIGCONT)
        if victim.port is None:
            victim.start()
            victim.query(STOP_MERGES)
        self.check(took, victim)
        return "error" if self.error else "exact"

    def ask(self, node, mark):
        sql = f"/* {mark} */ {questions()[self.question]} SETTINGS enable_parallel_replicas = 2"
        try:
            self.answer = node.query(sql, timeout=120)
        except (Refused, Unanswered) as error:
            self.error = str(error)

    def check(self, took, victim):
        told = f"{self.fault}, question {self.question}"
        if self.error is None:
            if digest(self.answer) != self.expected:
                raise SystemExit(f"{told}: other rows, {len(self.answer.splitlines())} of them")
        elif self.fault == "none" or self.fault != "cancel" and "127.0.0.1:" not in self.error:
            raise SystemExit(f"{told}: {self.error[:600]}")
        elif took > ERROR_SECONDS_MAX + self.seconds:
            raise SystemExit(f"{told}: the error came after {took:.1f} s: {self.error[:300]}")

    def nothing_is_left(self):
        deadline = time.monotonic() + LEFT_SECONDS_MAX + self.seconds
        while any(node.query(RUNNING).strip() != "0" for node in self.root.nodes):
            if time.monotonic() > deadline:
                raise SystemExit("a server goes on reading for a statement that was killed")
            time.sleep(0.1)


def fill(root, rows):
    first = root.nodes[0]
    first.query("CREATE TABLE t (n UInt64, g UInt16, s String) ENGINE = MergeTree ORDER BY n")
    for node in root.nodes:
        # Else there would soon be one part, which one server reads.
        node.query(STOP_MERGES)
    first.query("CREATE TABLE small (g UInt16, name String) ENGINE = MergeTree ORDER BY g")
    for part in range(4):
        first.query(f"INSERT INTO t SELECT number, number % 97, repeat(hex(cityHash64(number)), 4) FROM numbers({part * rows // 4}, {rows // 4})")
    first.query("INSERT INTO t VALUES (1, 2, 'a row that is in no part')")
    first.query("INSERT INTO small SELECT number, toString(number) FROM numbers(50)")
    for file in range(12):
        first.query(f"INSERT INTO FUNCTION s3({files(f'{file:02}.parquet', 'Parquet')}) "
                    f"SELECT number AS n, hex(cityHash64(number)) AS s FROM numbers({file * rows // 12}, {rows // 12})")


def main():
    given, plain, words = {"seed": 1, "rows": 1_000_000, "servers": 3}, [], iter(sys.argv[1:])
    for word in words:
        if word.startswith("--"):
            given[word[2:]] = int(next(words))
        else:
            plain.append(word)
    rounds, dice = int(plain[1]) if len(plain) > 1 else 20, random.Random(given["seed"])
    with Root(plain[0], "endpoint", seed=given["seed"], server_arguments=["--peer-listen", "127.0.0.1:0"]) as root:
        allowed = root.folder / "server.toml"
        allowed.write_text(f'remote_url_allow_hosts = ["{root.endpoint_url.removeprefix("http://")}"]\n')
        root.server_arguments += ["--config", str(allowed)]
        root.start(given["servers"])
        fill(root, given["rows"])
        expected, seconds = [], []
        for sql in questions():
            began = time.monotonic()
            expected.append(digest(root.nodes[0].query(sql + " SETTINGS enable_parallel_replicas = 0")))
            seconds.append(time.monotonic() - began)
        ends = {}
        for number in range(rounds):
            one = Round(root, number, dice, expected, seconds)
            end = (one.fault, one.run())
            ends[end] = ends.get(end, 0) + 1
        sql = "SELECT count() FROM system.query_log WHERE type = 'QueryFinish' AND client_name = 'peer'"
        shares = sum(int(node.query(sql)) for node in root.nodes)
        if not shares:
            raise SystemExit("no server has read a share")
        for words in ("SHOW FRONTENDS", "SHOW COMPUTE NODES", "SELECT * FROM system.clusters WHERE cluster = 'default'"):
            if len(root.nodes[0].rows(words)) < given["servers"]:
                raise SystemExit(f"{words} does not list all servers")
        alarms = root.alarms()
        if alarms:
            raise SystemExit("\n".join(alarms[:10]))
        print(f"{rounds} passed, 0 failed: {shares} shares read to the end by servers that run, "
              + ", ".join(f"{fault} {end} {count}" for (fault, end), count in sorted(ends.items())))


if __name__ == "__main__":
    main()
