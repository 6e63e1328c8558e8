#!/usr/bin/env python3
"""Measures INSERTs as a published comparison of StarRocks' shared-nothing and shared-data does: the same rows in blocks of 1 to 1,000.

Usage: study.py BINARY

On one connection: (a) 1,000 statements of 1 row, (b) 10 of 100 rows, (c) 1 of 1,000 rows, (d) INSERT INTO t2 SELECT * FROM t.
Each on a server with a folder of its own (`--path`), and on one server of a shared root (`--shared`) in a bucket of
`gristmill s3-endpoint` that answers at once, or after 20 ms. The column of StarRocks has the published times of one INSERT of one
row, 64 ms (shared-nothing) and 99 ms (shared-data). They are from other hardware: they say what users are told to expect of
such a design, and cannot be compared to the millisecond. Checked at last: every server has all rows in both tables, counted
and summed, also after it was killed and started again.
"""
import statistics
import sys
import time

from servers import Connection, Node, Process, Root

PLACES = (("own folder", "folder", 0), ("shared, 0 ms", "endpoint", 0), ("shared, 20 ms", "endpoint", 20))
# Statements and rows of each.
BLOCKS = ((1000, 1), (10, 100), (1, 1000))
ROWS = sum(statements * rows for statements, rows in BLOCKS)
COPY = "INSERT INTO t2 SELECT * FROM t"
STARROCKS = {(1000, 1): "64 and 99 ms"}
COLUMNS = "(id UInt64, amount Int64, name String) ENGINE = MergeTree ORDER BY id"
FOUND = "SELECT count(), uniqExact(id), sum(id), sum(amount), sum(length(name)) FROM {}"


class Alone(Node):
    """A server with a folder of its own, without a shared root."""

    def start(self, wait=True):
        command = [self.root.binary, "server", "--path", str(self.root.folder / "own"), "--listen", "127.0.0.1:0"]
        self.process = Process(command, self.root.folder / "own.log", r"listening on 127\.0\.0\.1:(\d+)")
        if wait:
            self.wait_started()
        return self


def row_of(row_id):
    return row_id, row_id * 7 % 1000 - 500, f"name {row_id}"


def wanted():
    """What both tables have in the end, as FOUND says it."""
    rows = [row_of(row_id) for row_id in range(ROWS)]
    sums = [sum(row[0] for row in rows), sum(row[1] for row in rows), sum(len(row[2]) for row in rows)]
    return "\t".join(str(number) for number in (ROWS, ROWS, *sums))


def statements():
    """For each kind what it is and its statements; no row comes twice."""
    kinds, begin = [], 0
    for count, rows in BLOCKS:
        texts = []
        for _ in range(count):
            values = ", ".join(f"({row_id}, {amount}, '{name}')" for row_id, amount, name in map(row_of, range(begin, begin + rows)))
            texts.append(f"INSERT INTO t VALUES {values}")
            begin += rows
        kinds.append((f"{count:,} x {rows:,} row{'s' * (rows > 1)}", STARROCKS.get((count, rows), ""), texts))
    return [*kinds, (f"INSERT SELECT of {ROWS:,} rows", "", [COPY])]


def seconds_each(connection, texts):
    seconds = []
    for text in texts:
        started = time.monotonic()
        connection.query(text)
        seconds.append(time.monotonic() - started)
    return seconds


def problems_of(node, place, moment):
    found = {table: node.query(FOUND.format(table)).strip() for table in ("t", "t2")}
    return [f"{place}, {moment}: table {table} has {text.split()}, wanted {wanted().split()}"
            for table, text in found.items() if text != wanted()]


def measure(binary, place, store, latency_ms):
    """Times of each kind, and what is wrong."""
    with Root(binary, store, latency_ms=latency_ms) as root:
        if store == "folder":
            node = Alone(root, 0)
            root.nodes.append(node)
            node.start()
        else:
            [node] = root.start(1)
        connection = Connection(node)
        for table in ("t", "t2"):
            connection.query(f"CREATE TABLE {table} {COLUMNS}")
        times = [seconds_each(connection, texts) for _, _, texts in statements()]
        connection.close()
        problems = problems_of(node, place, "at last")
        node.kill()
        node.start()
        problems += problems_of(node, place, "started again")
        return times, problems + [f"{place}, in a log: {alarm}" for alarm in root.alarms()]


def shown(seconds):
    return f"{statistics.median(seconds) * 1000:.2f} ms, {sum(seconds):.3f} s"


def main():
    measured = [measure(sys.argv[1], *place) for place in PLACES]
    print("Median of a statement, and all of them:\n")
    print(f"| INSERTs | {' | '.join(name for name, _, _ in PLACES)} | StarRocks, one INSERT |")
    print("|---" * (len(PLACES) + 2) + "|")
    for kind, (name, starrocks, _) in enumerate(statements()):
        print(f"| {name} | {' | '.join(shown(times[kind]) for times, _ in measured)} | {starrocks} |")
    problems = [problem for _, found in measured for problem in found]
    for problem in problems:
        print(f"WRONG: {problem}")
    print(f"{len(PLACES)} places passed, {len(problems)} failed")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
