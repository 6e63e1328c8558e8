#!/usr/bin/env python3
"""64 clients of every kind against `gristmill server` with a memory limit of 2 GiB; in the middle the server is killed.

Usage: mixed.py BINARY [SECONDS] [SEED]

Inserts (rows, CSV, JSON), aggregates and joins, tables made and dropped, sessions with temporary tables, statements that must fail, some
that are given up or killed, answers that are hardly read. Checked: no answer but those expected; a SELECT sees of each
INSERT all rows or none, and of each client no later INSERT without the earlier ones; after `kill -9` and at the end
everything acknowledged is there, whole; never more than 60 active parts a table; the memory stays below the limit, and from
five minutes on does not grow by 1 MB a minute.
"""
import http.client
import json
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlencode

CLIENTS = {"inserts": 24, "selects": 14, "ddl": 6, "sessions": 4, "errors": 6, "given_up": 4, "slow": 6}
MEMORY_LIMIT = 2 << 30
# The limit is of what statements and caches are granted; code, stacks and what the allocator keeps are beside it.
RESIDENT_MAX = MEMORY_LIMIT + (512 << 20)
PARTS_OF_TABLE_MAX = 60
SLOPE_MAX_MB = 1.0
# Only over so long a time the slope is one of the server and not of its warming up.
SLOPE_SECONDS, WARM_SECONDS = 240, 60
START_SECONDS, PATIENCE_SECONDS = 60, 120
# Between two statements of a client, so that the machine is busy and not only its queues.
PAUSE_SECONDS = 0.02
CREATE = """CREATE TABLE IF NOT EXISTS events (client UInt16, seq UInt64, row UInt16, rows UInt16, at DateTime, text String)
ENGINE = MergeTree ORDER BY (client, seq, row)"""
# Of each INSERT all rows, and of each client no gap but the statements nobody got an answer to.
TORN = "SELECT count() FROM (SELECT client, seq, count() AS n, any(rows) AS wanted FROM events GROUP BY client, seq HAVING n != wanted)"


class Down(Exception):
    """The server was killed, as planned."""


class Unexpected(Exception):
    """An answer nobody expected."""


class Server:
    """The server, its deaths and what was found wrong with it."""

    def __init__(self, binary, folder):
        self.binary, self.folder, self.process = binary, Path(folder), None
        with socket.socket() as door:
            door.bind(("127.0.0.1", 0))
            self.port = door.getsockname()[1]
        self.config = self.folder / "server.toml"
        self.config.write_text(f"memory_bytes = {MEMORY_LIMIT}\n")
        self.log = open(self.folder / "server.log", "a")
        self.up, self.lives, self.stop = threading.Event(), 0, threading.Event()
        self.wrong, self.done, self.lock = [], {}, threading.Lock()
        self.parts_most, self.resident = 0, []

    def start(self):
        command = [self.binary, "server", "--path", str(self.folder / "data"), "--config", str(self.config),
                   "--listen", f"127.0.0.1:{self.port}"]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT)
        deadline, started = time.monotonic() + START_SECONDS, time.monotonic()
        while time.monotonic() < deadline:
            try:
                with socket.create_connection(("127.0.0.1", self.port), 1):
                    break
            except OSError:
                if self.process.poll() is not None:
                    raise Unexpected(f"the server ended with {self.process.returncode}") from None
                time.sleep(0.05)
        self.lives += 1
        self.up.set()
        return time.monotonic() - started

    def kill(self):
        self.up.clear()
        self.process.kill()
        self.process.wait()

    def found(self, problem):
        with self.lock:
            self.wrong.append(problem)
        if len(self.wrong) > 20:
            self.stop.set()

    def count(self, kind):
        with self.lock:
            self.done[kind] = self.done.get(kind, 0) + 1


class Client:
    """One client: a connection that is made again when it breaks."""

    def __init__(self, server, seed):
        self.server, self.dice, self.connection, self.life = server, random.Random(seed), None, 0

    def request(self, sql, body=None, **parameters):
        """Sends a statement; the answer is still to be read."""
        if not self.server.up.wait(PATIENCE_SECONDS):
            raise Unexpected("the server did not come back")
        if self.connection is None or self.life != self.server.lives:
            self.close()
            self.life = self.server.lives
            self.connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE_SECONDS)
        if body is not None:
            parameters["query"] = sql
        target = "/?" + urlencode(parameters)
        try:
            self.connection.request("POST", target, body=body if body is not None else sql.encode())
            return self.connection.getresponse()
        except (OSError, http.client.HTTPException) as broken:
            raise self.broken(sql, broken) from None

    def broken(self, sql, problem):
        self.close()
        if not self.server.up.is_set() or self.life != self.server.lives or self.server.process.poll() is not None:
            # The one who kills waits until the server is up again.
            return Down()
        # A kill shows on the wire before its flag is set.
        time.sleep(0.5)
        if not self.server.up.is_set() or self.life != self.server.lives:
            return Down()
        return Unexpected(f"{sql[:120]}: {type(problem).__name__}: {problem}")

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def ask(self, sql, body=None, expected=None, **parameters):
        """Text of the answer, which must be good or one of the expected codes."""
        response = self.request(sql, body, **parameters)
        try:
            text = response.read().decode(errors="replace")
        except http.client.IncompleteRead as cut:
            # An error behind rows ends the connection after its frame.
            text = cut.partial.decode(errors="replace")
            if "__exception__" not in text:
                raise self.broken(sql, cut) from None
            self.close()
        except (OSError, http.client.HTTPException) as broken:
            raise self.broken(sql, broken) from None
        found = re.search(r"Code: (\d+)\. DB::Exception", text)
        code = int(found.group(1)) if found and (response.status != 200 or "__exception__" in text) else None
        if code is None and response.status == 200 and expected is None or expected and code in expected:
            return text
        raise Unexpected(f"{sql[:200]}: {response.status}, code {code} instead of {expected}: {text[-300:]}")


class Inserts(Client):
    """Rows by several formats; remembers what was acknowledged, and what was under way when the server died."""

    def __init__(self, server, seed, number):
        super().__init__(server, seed)
        self.number, self.seq, self.acknowledged, self.open = number, 0, {}, {}

    def step(self):
        seq, rows = self.seq, self.dice.choice([1, 1, 1, 1, 5, 50, 2000])
        self.seq += 1
        values = [(self.number, seq, row, rows, 1700000000 + seq, f"text {row} of {seq}") for row in range(rows)]
        kind = self.dice.random()
        self.open[seq] = rows
        if kind < 0.6 and rows <= 50:
            text = ", ".join("({}, {}, {}, {}, {}, '{}')".format(*value) for value in values)
            self.ask(f"INSERT INTO events VALUES {text}")
        elif kind < 0.8:
            body = "".join("{},{},{},{},{},\"{}\"\n".format(*value) for value in values)
            self.ask("INSERT INTO events FORMAT CSV", body.encode())
        else:
            names = ("client", "seq", "row", "rows", "at", "text")
            body = "".join(json.dumps(dict(zip(names, value))) + "\n" for value in values)
            self.ask("INSERT INTO events FORMAT JSONEachRow", body.encode())
        self.acknowledged[seq] = self.open.pop(seq)


class Selects(Client):
    def step(self):
        kind, client = self.dice.randrange(6), self.dice.randrange(CLIENTS["inserts"])
        if kind == 0:
            torn = self.ask(TORN)
            if torn != "0\n":
                raise Unexpected(f"{torn.strip()} statements are seen in part")
        elif kind == 1:
            self.ask("SELECT client, count(), max(seq), uniq(text) FROM events GROUP BY client ORDER BY client FORMAT JSON")
        elif kind == 2:
            self.ask(f"SELECT * FROM events WHERE client = {client} ORDER BY seq DESC, row LIMIT 100 FORMAT RowBinary")
        elif kind == 3:
            self.ask("SELECT a.client, count() FROM events AS a JOIN (SELECT number AS client FROM numbers(5)) AS b "
                     f"USING (client) WHERE a.seq % 10 = {client % 10} GROUP BY a.client")
        elif kind == 4:
            self.ask("SELECT * FROM events LIMIT 20000 FORMAT Native", compress=1)
        else:
            self.ask("SELECT toStartOfHour(at) AS h, count(), quantile(0.9)(length(text)) FROM events GROUP BY h ORDER BY h LIMIT 10",
                     max_threads=1, wait_end_of_query=1)


class Ddl(Client):
    def __init__(self, server, seed, number):
        super().__init__(server, seed)
        self.table = f"ddl_{number}"

    def step(self):
        table = self.table
        # What a killed server left half done is taken away first.
        for sql in [
            f"DROP VIEW IF EXISTS {table}_view", f"DROP TABLE IF EXISTS {table}_b", f"DROP TABLE IF EXISTS {table}",
            f"CREATE TABLE {table} (a UInt64, b String) ENGINE = MergeTree ORDER BY a",
            f"INSERT INTO {table} SELECT number, toString(number) FROM numbers({self.dice.randrange(1, 20000)})",
            f"ALTER TABLE {table} ADD COLUMN c UInt32 DEFAULT a * 2",
            f"INSERT INTO {table} (a, b) VALUES (1, 'one')",
            f"CREATE VIEW {table}_view AS SELECT sum(c) AS s FROM {table}",
            f"SELECT s FROM {table}_view", f"RENAME TABLE {table} TO {table}_b", f"SELECT count() FROM {table}_b",
            f"OPTIMIZE TABLE {table}_b FINAL", f"TRUNCATE TABLE {table}_b", f"DROP VIEW {table}_view", f"DROP TABLE {table}_b",
        ]:
            self.ask(sql)


class Sessions(Client):
    def step(self):
        session = f"s{self.dice.randrange(1 << 40)}"
        asks = [
            "CREATE TEMPORARY TABLE mine (a UInt32)", "INSERT INTO mine SELECT number FROM numbers(1000)",
            "SET max_threads = 1", "SELECT sum(a) FROM mine", "SELECT getSetting('max_threads')",
        ]
        texts = [self.ask(sql, session_id=session, session_timeout=5) for sql in asks]
        if texts[3:] != ["499500\n", "1\n"]:
            raise Unexpected(f"the session says {texts[3:]}")


class Errors(Client):
    CASES = [
        ("SELEKT 1", None, [62]), ("SELECT * FROM nosuch", None, [60]), ("SELECT nosuch FROM events", None, [47]),
        ("SELECT intDiv(1, 0)", None, [153]), ("INSERT INTO events FORMAT CSV", b"x,y\n", [27, 6, 117, 72, 26]),
        ("INSERT INTO events FORMAT JSONEachRow", b"{\"client\": \n", [27, 117, 26, 6]),
        ("SELECT 1 SETTINGS nosuch = 1", None, [115]), ("SELECT nosuch(1)", None, [46]),
        ("SELECT intDiv(1, 200000 - toInt64(number)) FROM numbers(300000)", None, [153]),
        ("SELECT * FROM url('http://169.254.169.254/x', 'CSV', 'a Int8')", None, [491]),
        ("CREATE TABLE events (a Int8) ENGINE = Memory", None, [57]),
        ("SELECT groupArray(number) FROM numbers(100000000) SETTINGS max_memory_usage = 50000000", None, [241]),
        ("SELECT count() FROM numbers(100000000000) SETTINGS max_execution_time = 1", None, [159]),
    ]

    def step(self):
        sql, body, codes = self.dice.choice(self.CASES)
        self.ask(sql, body, expected=codes)


class GivenUp(Client):
    """Statements that nobody waits for."""

    def step(self):
        query_id = f"given-up-{self.dice.randrange(1 << 40)}"
        if not self.server.up.wait(PATIENCE_SECONDS):
            raise Unexpected("the server did not come back")
        life = self.server.lives
        sql = self.dice.choice([
            "SELECT max(sipHash64(number)) FROM numbers(100000000000)", "SELECT number FROM numbers(100000000000)",
            "INSERT INTO ddl_none SELECT number FROM numbers(100000000000)",
        ])
        try:
            with socket.create_connection(("127.0.0.1", self.server.port), 30) as left:
                left.sendall(f"POST /?query_id={query_id} HTTP/1.1\r\nHost: h\r\nContent-Length: {len(sql)}\r\n\r\n{sql}".encode())
                time.sleep(self.dice.uniform(0, 0.5))
                if self.dice.random() < 0.5:
                    self.ask(f"KILL QUERY WHERE query_id = '{query_id}' SYNC")
        except OSError as broken:
            self.life = life
            raise self.broken(sql, broken) from None
        deadline = time.monotonic() + 30
        # One that writes goes on without its client.
        while sql.startswith("INSERT") and time.monotonic() < deadline:
            if self.ask(f"KILL QUERY WHERE query_id = '{query_id}' SYNC"):
                break
            time.sleep(0.1)
        while self.ask(f"SELECT count() FROM system.processes WHERE query_id = '{query_id}'") != "0\n":
            if time.monotonic() > deadline:
                raise Unexpected(f"{sql} still runs 30 s after its client left")
            time.sleep(0.1)


class Slow(Client):
    """Reads an answer of gigabytes by the kilobyte, and leaves."""

    def step(self):
        response = self.request("SELECT number, toString(number), 'some text' FROM numbers(1000000000)")
        try:
            for _ in range(self.dice.randrange(1, 20)):
                if self.server.stop.is_set() or not response.read(4096):
                    break
                time.sleep(0.1)
        except (OSError, http.client.HTTPException) as broken:
            raise self.broken("a slow reader", broken) from None
        finally:
            self.close()


def live(server, client, kind):
    while not server.stop.is_set():
        try:
            client.step()
            server.count(kind)
        except Down:
            server.count("cut by the kill")
        except Exception as error:
            if not server.stop.is_set() or isinstance(error, Unexpected):
                server.found(f"{kind}: {error}" if isinstance(error, Unexpected) else f"{kind}: {type(error).__name__}: {error}")
        time.sleep(PAUSE_SECONDS * client.dice.random() * 2)
    client.close()


def watch(server):
    """Memory and parts, while the server is up."""
    client = Client(server, 0)
    while not server.stop.wait(0.5):
        try:
            status = Path(f"/proc/{server.process.pid}/status").read_text()
            server.resident.append((time.monotonic(), server.lives, int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) / 1024))
            most = client.ask("SELECT max(n) FROM (SELECT count() AS n FROM system.parts WHERE active GROUP BY database, table)")
            server.parts_most = max(server.parts_most, int(most or 0))
        except (Down, OSError, AttributeError):
            continue
        except Exception as error:
            server.found(f"watching: {error}")
    client.close()


def check_rows(server, inserts):
    """Everything acknowledged is there, whole; what was under way when the server died is there whole or not at all."""
    client, rows = Client(server, 0), {}
    for line in client.ask("SELECT client, seq, count() FROM events GROUP BY client, seq").splitlines():
        number, seq, count = map(int, line.split("\t"))
        rows[number, seq] = count
    known = 0
    for insert in inserts:
        for seq, count in insert.acknowledged.items():
            known += 1
            if rows.pop((insert.number, seq), 0) != count:
                server.found(f"statement {seq} of client {insert.number} was acknowledged and is not there, whole")
        for seq, count in insert.open.items():
            if rows.pop((insert.number, seq), count) != count:
                server.found(f"statement {seq} of client {insert.number} is there in part")
    if rows:
        server.found(f"{len(rows)} statements are there that nobody sent: {list(rows)[:3]}")
    client.close()
    return known


def slope(samples):
    """MB a minute of the last life, without its warming up; None when that is too short."""
    last = max(life for _, life, _ in samples)
    samples = [(at, megabytes) for at, life, megabytes in samples if life == last]
    samples = [(at, megabytes) for at, megabytes in samples if at >= samples[0][0] + WARM_SECONDS]
    if not samples or samples[-1][0] - samples[0][0] < SLOPE_SECONDS:
        return None
    mean_at = sum(at for at, _ in samples) / len(samples)
    mean = sum(megabytes for _, megabytes in samples) / len(samples)
    above = sum((at - mean_at) * (megabytes - mean) for at, megabytes in samples)
    return 60 * above / sum((at - mean_at) ** 2 for at, _ in samples)


def run(binary, seconds, seed, folder):
    server = Server(binary, folder)
    server.start()
    Client(server, 0).ask(CREATE)
    kinds = {"selects": Selects, "sessions": Sessions, "errors": Errors, "given_up": GivenUp, "slow": Slow}
    Client(server, 0).ask("CREATE TABLE ddl_none (a UInt64) ENGINE = Null")
    inserts = [Inserts(server, seed * 1000 + number, number) for number in range(CLIENTS["inserts"])]
    clients = [("inserts", client) for client in inserts]
    clients += [("ddl", Ddl(server, seed * 2000 + number, number)) for number in range(CLIENTS["ddl"])]
    for at, (kind, make) in enumerate(kinds.items()):
        clients += [(kind, make(server, seed * 3000 + at * 100 + number)) for number in range(CLIENTS[kind])]
    threads = [threading.Thread(target=live, args=(server, client, kind)) for kind, client in clients]
    threads.append(threading.Thread(target=watch, args=(server,)))
    for thread in threads:
        thread.start()
    # Two fifths before the kill, so that what comes after is long enough for a slope.
    server.stop.wait(seconds * 0.4)
    server.kill()
    opened = server.start()
    server.stop.wait(seconds * 0.6)
    server.stop.set()
    for thread in threads:
        thread.join()
    known = check_rows(server, inserts)
    server.process.send_signal(signal.SIGTERM)
    status = server.process.wait(PATIENCE_SECONDS)
    if status != 0:
        server.found(f"the server ended with {status}")
    return server, known, opened


def main():
    arguments = sys.argv[1:] + [""] * 3
    binary, seconds, seed = arguments[0], float(arguments[1] or 600), int(arguments[2] or 1)
    folder = tempfile.mkdtemp(prefix="gristmill-mixed-")
    server, known, opened = run(binary, seconds, seed, folder)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(server.done.items())))
    most = max(megabytes for _, _, megabytes in server.resident)
    grows = slope(server.resident)
    shown = "too short for a slope" if grows is None else f"{grows:+.2f} MB a minute"
    print(f"{known} acknowledged statements are there; opened again in {opened:.2f} s")
    print(f"at most {server.parts_most} active parts of a table; memory at most {most:.0f} MB, {shown}", flush=True)
    for kind in CLIENTS:
        if not server.done.get(kind):
            server.found(f"no client of kind {kind} got anything done")
    if server.parts_most > PARTS_OF_TABLE_MAX:
        server.found(f"{server.parts_most} parts of a table were active, the limit is {PARTS_OF_TABLE_MAX}")
    if most > RESIDENT_MAX / (1 << 20):
        server.found(f"{most:.0f} MB were resident, the limit is {RESIDENT_MAX >> 20}")
    if grows is not None and grows >= SLOPE_MAX_MB:
        server.found(f"memory grows by {grows:.2f} MB a minute")
    if server.wrong:
        print(f"mixed: seed {seed}, folder {folder} (kept)")
        for problem in server.wrong[:20]:
            print(f"  {problem}")
        print(f"1 passed, {len(server.wrong)} failed")
        sys.exit(1)
    shutil.rmtree(folder, ignore_errors=True)
    print(f"{known} passed, 0 failed")


if __name__ == "__main__":
    main()
