#!/usr/bin/env python3
"""Kills and stops servers that help with loads at random moments, and counts what was loaded.

Usage: helped.py BINARY [LOADS=20] [--seed N] [--faults kill,stop,none,coordinator] [--files N] [--rows N] [--servers N]
                 [--formats Parquet,CSV]

Formats take turns. Text (CSV, TSV, JSONEachRow) has the same rows in two files, which are cut into ranges while they are read; its cells hold
line ends and quotes.

Three servers of one bucket have ports for each other. Each load is an INSERT SELECT of all files into a new table, sent to a random
server. A helper is killed with -9 or stopped for eight seconds meanwhile: the statement succeeds, and every row is there once, on all
servers. With `coordinator` the load has a label, and the server it was sent to is killed: the same statement on another one ends it. In the end
no load is open, and no log has an alarm.
"""
import random
import signal
import sys
import threading
import time

from servers import BUCKET, KEYS, Refused, Root, Unanswered

PRIME = 4_294_967_291
HASH = f"(file * 1000003 + row * 2654435761) % {PRIME}"
STOPPED_SECONDS = 8
CONSISTENT = " SETTINGS select_sequential_consistency = 1"
PAYLOAD = "concat('payload ', toString(hash), '\\n\"a\", ', char(92), '\\t\\r\\n')"
COLUMNS = "file UInt64, row UInt64, hash UInt64, payload String"


def source(files, form):
    """With credentials, which go to the helpers and nowhere else."""
    return f"s3('s3://{BUCKET}/{form}/{files}', '{KEYS[0]}', '{KEYS[1]}', '{form}', '{COLUMNS}')"


def amounts(given, form):
    """Files, and the rows of each."""
    files, rows = given["files"], given["rows"]
    return (files, rows) if form == "Parquet" else (2, files * rows // 2)


def options(words):
    given = {"seed": 1, "faults": "kill,stop,none,coordinator", "files": 24, "rows": 100_000, "servers": 3,
             "formats": "Parquet,CSV"}
    plain = []
    words = iter(words)
    for word in words:
        if word.startswith("--"):
            name = word[2:]
            given[name] = type(given[name])(next(words))
        else:
            plain.append(word)
    return plain, given


class Trial:
    """One load and what happens meanwhile."""

    def __init__(self, root, number, fault, dice, given):
        self.root, self.number, self.fault, self.dice, self.given = root, number, fault, dice, given
        forms = given["formats"].split(",")
        self.form = forms[number % len(forms)]
        self.table, self.label = f"t{number}", f"load-{number}"
        self.error = None

    def run(self):
        nodes = self.root.nodes
        coordinator = self.dice.choice(nodes)
        coordinator.query(
            f"CREATE TABLE {self.table} ({COLUMNS}) ENGINE = MergeTree ORDER BY (file, row)")
        # Text is cut into ranges of four such pieces.
        settings = "SETTINGS load_stage_min_bytes = 1, min_chunk_bytes_for_parallel_parsing = 65536"
        label = f" WITH LABEL `{self.label}`" if self.fault == "coordinator" else ""
        insert = f"INSERT INTO {self.table}{label} SELECT * FROM {source('*', self.form)} {settings}"
        loading = threading.Thread(target=self.send, args=(coordinator, insert), daemon=True)
        began = time.monotonic()
        loading.start()
        time.sleep(self.dice.uniform(0, self.given["seconds"]))
        others = [node for node in nodes if node is not coordinator]
        victim = coordinator if self.fault == "coordinator" else self.dice.choice(others)
        if self.fault in ("kill", "coordinator"):
            victim.kill()
        if self.fault == "stop":
            victim.signal(signal.SIGSTOP)
            time.sleep(STOPPED_SECONDS)
            victim.signal(signal.SIGCONT)
        loading.join()
        took = time.monotonic() - began
        if self.fault == "coordinator":
            self.resume(self.dice.choice(others), insert)
        elif self.error:
            raise SystemExit(f"load {self.number} ({self.fault}) failed: {self.error}")
        if victim.port is None:
            victim.start()
        self.check()
        return took

    def send(self, node, sql):
        try:
            node.query(sql, timeout=120)
        except (Refused, Unanswered) as error:
            self.error = error

    def resume(self, node, insert):
        """The same statement goes on, for RESUME LOAD knows no credentials; the load may not have been opened, or be finished."""
        node.query(insert, timeout=120)

    def check(self):
        files, rows = amounts(self.given, self.form)
        sql = (f"SELECT count(), uniqExact(file, row), countIf(hash != {HASH} OR payload != {PAYLOAD})"
               f" FROM {self.table}{CONSISTENT}")
        for node in self.root.nodes:
            found = node.rows(sql)
            if found != [[str(files * rows), str(files * rows), "0"]]:
                raise SystemExit(f"load {self.number} ({self.fault}): {found} on server {node.number}, not {files * rows} rows")


def times_helped(root):
    """How often a server helped to the end, as far as those that run remember."""
    sql = "SELECT count() FROM system.query_log WHERE type = 'QueryFinish' AND client_name = 'peer'"
    return sum(int(node.query(sql)) for node in root.nodes)


def main():
    plain, given = options(sys.argv[1:])
    binary, loads = plain[0], int(plain[1]) if len(plain) > 1 else 20
    dice, faults = random.Random(given["seed"]), given["faults"].split(",")
    with Root(binary, "endpoint", seed=given["seed"], server_arguments=["--peer-listen", "127.0.0.1:0"]) as root:
        # Sources of statements may not be on this machine unless that is allowed.
        allowed = root.folder / "server.toml"
        allowed.write_text(f'remote_url_allow_hosts = ["{root.endpoint_url.removeprefix("http://")}"]\n')
        root.server_arguments += ["--config", str(allowed)]
        root.start(given["servers"])
        first = root.nodes[0]
        for form in given["formats"].split(","):
            files, rows = amounts(given, form)
            for file in range(files):
                first.query(
                    f"INSERT INTO FUNCTION {source(f'{file:03}', form)} SELECT toUInt64({file}) AS file, "
                    f"number AS row, {HASH} AS hash, {PAYLOAD} AS payload FROM numbers({rows})")
        # Servers hear of each other with the second beat.
        time.sleep(6)
        given["seconds"] = 0
        given["seconds"] = max(Trial(root, 0, "none", dice, given).run() for _ in range(1))
        # A server that is killed forgets whom it helped.
        helped = times_helped(root)
        if not helped:
            raise SystemExit("no server has helped")
        counts, took = {}, {}
        for number in range(1, loads + 1):
            # Every fault meets every format.
            fault = faults[number // len(given["formats"].split(",")) % len(faults)]
            seconds = Trial(root, number, fault, dice, given).run()
            counts[fault] = counts.get(fault, 0) + 1
            took[fault] = max(took.get(fault, 0), seconds)
            time.sleep(dice.uniform(0, 6))
        helped = max(helped, times_helped(root))
        for node in root.nodes:
            left = node.rows(f"SELECT label, state FROM system.loads WHERE state IN ('LOADING', 'INTERRUPTED'){CONSISTENT}")
            if left:
                raise SystemExit(f"server {node.number} still has loads: {left}")
        alarms = root.alarms()
        if alarms:
            raise SystemExit("\n".join(alarms[:10]))
        print(f"{loads} passed, 0 failed: loads of {given['files'] * given['rows']} rows, {counts}, slowest {({k: round(v, 1) for k, v in took.items()})} s; "
              f"{helped} times a server helped to the end; every row once")


if __name__ == "__main__":
    main()
