"""cargo xtask bench http: what the HTTP door costs and bears.

Single-row INSERTs on one connection and on 64, large bodies streamed, and new statements beside ten thousand idle connections
and a thousand readers that hardly read. ClickHouse's figures are those of its engine in process (chdb): no network is in them.
"""

import os
import shutil
import statistics
import threading
import time

import door
import inserts
import peers
import report

FSYNC = "fsync_after_insert = 1, fsync_part_directory = 1"
STATEMENTS, CONNECTIONS, SECONDS = 1000, 64, 10
BODY_BYTES = 1 << 30
IDLE, SLOW, NEW = 10_000, 1_000, 50
# Columns of the streamed bodies, and the same as ClickHouse and we compute them from a number.
COLUMNS = [
    ("id", "UInt64", "number"),
    ("at", "DateTime", "toDateTime(1700000000 + number % 10000000)"),
    ("name", "String", "concat('user ', toString(number % 100003))"),
    ("score", "Float64", "number / 7"),
    ("kind", "String", "['view', 'click', 'buy'][1 + number % 3]"),
    ("text", "String", "concat('some words of text ', hex(number * 2654435761))"),
]
STRUCTURE = ", ".join(f"{name} {declared}" for name, declared, _ in COLUMNS)
# About what a row takes in CSV, and in Native.
ROW_BYTES = {"CSV": 84, "Native": 73}


def fresh(args, name):
    folder = os.path.join(args.cache, "http", name)
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def single_rows(args, out):
    workload = inserts.Workload(STATEMENTS)
    create, (statements,) = inserts.text(args.binary, workload, None)
    requests = [door.post(statement) for statement in statements]
    ours, theirs, ping, select = [], [], [], []
    for _ in range(args.rounds):
        with door.Server(args.binary, fresh(args, "rows")) as server:
            server.ask(create)
            ours.append(door.one_after_the_other(server, requests)[workload.warmup:])
            ping.append(door.one_after_the_other(server, [door.post("", "/ping", "GET")] * STATEMENTS))
            select.append(door.one_after_the_other(server, [door.post("SELECT 1")] * STATEMENTS))
            stored = int(server.ask("SELECT count() FROM bench"))
            if stored != len(statements):
                raise SystemExit(f"{stored} rows instead of {len(statements)}")
        chdb = inserts.chdb(args.binary, fresh(args, "chdb"), workload, FSYNC)
        theirs.append(chdb.every())
    bare = [inserts.bare_fdatasync(args.cache) for _ in range(args.rounds)]
    out.add_ours("bare fdatasync of 200 bytes", *report.latency(report.of_all(bare)))
    out.add_ours("bare round trip: GET /ping", *report.latency(report.of_all(ping)))
    out.add_ours("bare statement: SELECT 1", *report.latency(report.of_all(select)))
    out.add_statements("1000 x 1 row over HTTP, ClickHouse in process with fsync", ours, theirs)


def many_connections(args, out):
    for connections in (1 * door.SENDERS, 8, CONNECTIONS):
        rates, every, busiest = [], [], 0
        for _ in range(args.rounds):
            with door.Server(args.binary, fresh(args, "many")) as server:
                server.ask("CREATE TABLE t (id UInt64, name String, score Float64, at DateTime) ENGINE = MergeTree ORDER BY id")
                request = door.post("INSERT INTO t VALUES (42, 'forty-two', 4.2, '2024-01-01 00:00:00')")
                micros, per_second, busy = door.all_at_once(server, connections, request, SECONDS)
                stored = int(server.ask("SELECT count() FROM t"))
                if stored != len(micros):
                    raise SystemExit(f"{stored} rows instead of {len(micros)}")
                parts = int(server.ask("SELECT count() FROM system.parts WHERE active AND table = 't'"))
            rates.append(per_second), every.extend(micros)
            busiest = max(busiest, busy)
        out.add_ours(f"{connections} connections x 1 row", ("rate", "/s", f"{statistics.median(rates):.0f}"),
                     *report.latency(every), ("parts", "", str(parts)))
        print(f"    a sender used {busiest:.0%} of a core")


def body_file(args, body_format):
    """A file of about a gigabyte, made once."""
    rows = BODY_BYTES // ROW_BYTES[body_format]
    path = os.path.join(args.cache, "http", f"body-{rows}.{body_format.lower()}")
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        columns = ", ".join(f"{value} AS {name}" for name, _, value in COLUMNS)
        sql = f"SELECT {columns} FROM numbers({rows}) INTO OUTFILE '{path}.tmp' TRUNCATE COMPRESSION 'none' FORMAT {body_format}"
        peers.gristmill(args.binary, fresh(args, "made"), [sql])
        os.rename(path + ".tmp", path)
    return path, rows


def bodies(args, out):
    for body_format in ROW_BYTES:
        path, rows = body_file(args, body_format)
        size = os.path.getsize(path)
        for engine in ("Null", "MergeTree ORDER BY id"):
            ours, theirs, memory = [], [], []
            create = f"CREATE TABLE t ({STRUCTURE}) ENGINE = {engine}"
            for _ in range(args.rounds):
                with door.Server(args.binary, fresh(args, "bodies")) as server:
                    server.ask(create)
                    with door.Memory(server) as watched:
                        ours.append(server.send_file(f"INSERT INTO t FORMAT {body_format}", path))
                    memory.append(watched)
                    stored = int(server.ask("SELECT count() FROM t"))
                    if engine != "Null" and stored != rows:
                        raise SystemExit(f"{stored} rows instead of {rows}")
                insert = f"INSERT INTO t SELECT * FROM file('{path}', '{body_format}', '{STRUCTURE}')"
                threads = f"SET max_threads = {args.threads}, max_insert_threads = 1"
                theirs.append(peers.chdb(fresh(args, "chdb"), ["CREATE DATABASE d", "USE d", threads, create, insert]).seconds[-1])
            name = f"{size / 1e6:.0f} MB of {body_format} streamed into {engine.split()[0]}, ClickHouse from the file"
            out.add(name, ours, theirs, "s")
            peak = max(max(watched.samples) for watched in memory)
            middle, last = memory[-1].middle_and_last()
            rate = size / statistics.median(ours) / 1e6
            out.add_ours(f"{body_format} into {engine.split()[0]}", ("rate", "MB/s", f"{rate:.0f}"),
                         ("memory in the second quarter", "MB", f"{middle / 1e6:.0f}"),
                         ("memory in the last quarter", "MB", f"{last / 1e6:.0f}"),
                         ("most memory", "MB", f"{peak / 1e6:.0f}"))


def new_statements(server, sql, times):
    """Microseconds from connecting to the answer."""
    micros = []
    for _ in range(times):
        started = time.perf_counter()
        server.ask(sql)
        micros.append((time.perf_counter() - started) * 1e6)
    return micros


def slow_reader(server):
    """A connection that asks for gigabytes; it is read by the kilobyte."""
    connection = server.connect(receive_bytes=4096)
    connection.sendall(door.post("SELECT number, toString(number) FROM numbers(1000000000)"))
    connection.setblocking(False)
    return connection


def crowd(args, out):
    files = door.allow_many_files()
    idle_wanted = min(IDLE, files - SLOW - 200)
    config = "[limits]\nkeep_alive_seconds = 600\n"
    with door.Server(args.binary, fresh(args, "crowd"), config) as server:
        server.ask("CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a")
        server.ask("INSERT INTO t SELECT number FROM numbers(1000000)")
        sqls = {"SELECT 1": "SELECT 1", "a sum over a million rows": "SELECT sum(a) FROM t"}
        alone = {name: new_statements(server, sql, NEW) for name, sql in sqls.items()}
        before = server.resident_bytes()
        idle = [server.connect() for _ in range(idle_wanted)]
        for connection in idle:
            connection.sendall(door.post("", "/ping", "GET"))
        for connection in idle:
            door.answer(connection)
        with_idle = {name: new_statements(server, sql, NEW) for name, sql in sqls.items()}
        idle_bytes = (server.resident_bytes() - before) / idle_wanted
        # All at once, and while they begin the others ask.
        slow = []
        begin = threading.Thread(target=lambda: slow.extend(slow_reader(server) for _ in range(SLOW)))
        begin.start()
        starting = {name: new_statements(server, sql, NEW) for name, sql in sqls.items()}
        begin.join()
        end = time.monotonic() + 5
        settled = {name: [] for name in sqls}
        while time.monotonic() < end:
            for connection in slow:
                try:
                    connection.recv(1024)
                except BlockingIOError:
                    pass
            for name, sql in sqls.items():
                settled[name] += new_statements(server, sql, 2)
        running = int(server.ask("SELECT count() FROM system.processes"))
        crowded_bytes = server.resident_bytes()
        for name in sqls:
            out.add_ours(f"{name}, a new connection, alone", *report.latency(alone[name]))
            out.add_ours(f"{name}, beside {idle_wanted} idle connections", *report.latency(with_idle[name]))
            out.add_ours(f"{name}, while {SLOW} slow readers begin", *report.latency(starting[name]))
            slowest = ("slowest", "ms", f"{max(settled[name]) / 1000:.0f}")
            out.add_ours(f"{name}, beside {SLOW} slow readers", *report.latency(settled[name]), slowest)
        out.add_ours("memory in the crowd", ("an idle connection", "kB", f"{idle_bytes / 1e3:.1f}"),
                     ("the server", "MB", f"{crowded_bytes / 1e6:.0f}"))
        print(f"    {running} statements were running")
        for connection in idle + slow:
            connection.close()


def main():
    args = report.arguments(__doc__)
    out = report.Report("http", f"--rounds {args.rounds}")
    report.heading()
    only = os.environ.get("GRISTMILL_BENCH_ONLY", "").split(",")
    for part in (single_rows, many_connections, bodies, crowd):
        if only == [""] or part.__name__ in only:
            part(args, out)
    shutil.rmtree(os.path.join(args.cache, "http", "bodies"), ignore_errors=True)
    out.append_to(args.docs)


if __name__ == "__main__":
    main()
