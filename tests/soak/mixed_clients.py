#!/usr/bin/env python3
"""The clients of `mixed.py`, and the server they ask: what each of the seven kinds does, and how an answer is judged.

Rows are inserted into the server's current generation of a table, `events_N`. A client holds no lock while it asks, and knows of
its own statements only: which were acknowledged, and which nobody got an answer to.
"""
import http.client
import json
import random
import re
import socket
import subprocess
import threading
import time
from pathlib import Path
from urllib.parse import urlencode

START_SECONDS, PATIENCE_SECONDS = 60, 120
# Between two statements of a client, so that the machine is busy and not only its queues.
PAUSE_SECONDS = 0.02
# So long a statement that was sent may lie unread.
UNREAD_SECONDS = 5
# What a table has removed is forgotten within a run, not after eight minutes: memory of it then is the same all the time.
SETTINGS = "SETTINGS old_parts_lifetime = 20"
CREATE = """CREATE TABLE {events} (client UInt16, seq UInt64, row UInt16, rows UInt16, at DateTime, text String)
ENGINE = MergeTree ORDER BY (client, seq, row) """ + SETTINGS
# Of each INSERT all rows, and of each client no gap but the statements nobody got an answer to.
TORN = "SELECT count() FROM (SELECT client, seq, count() AS n, any(rows) AS wanted FROM {events} GROUP BY client, seq HAVING n != wanted)"
SEEN = "SELECT client, max(seq), uniqExact(seq) FROM {events} GROUP BY client ORDER BY client"


class Down(Exception):
    """The server was killed, as planned."""


class Unexpected(Exception):
    """An answer nobody expected."""


class Server:
    """The server, its deaths, the generation of its table, and what was found wrong with it."""

    def __init__(self, binary, folder, memory_limit):
        self.binary, self.folder, self.process = binary, Path(folder), None
        with socket.socket() as door:
            door.bind(("127.0.0.1", 0))
            self.port = door.getsockname()[1]
        self.config = self.folder / "server.toml"
        self.config.write_text(f"memory_bytes = {memory_limit}\n")
        self.log = open(self.folder / "server.log", "a")
        self.up, self.lives, self.stop = threading.Event(), 0, threading.Event()
        self.wrong, self.done, self.lock = [], {}, threading.Lock()
        self.generation, self.inserts, self.going, self.resting = 0, [], threading.Event(), 0
        self.going.set()

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

    def events(self):
        """The table that is asked and filled now."""
        return f"events_{self.generation}"

    def end(self):
        self.stop.set()
        self.going.set()

    def found(self, problem):
        with self.lock:
            self.wrong.append(problem)
        if len(self.wrong) > 20:
            self.end()

    def rest(self):
        """What a client does between two statements while all of them shall be quiet; whether it did."""
        if self.going.is_set():
            return False
        with self.lock:
            self.resting += 1
        self.going.wait()
        with self.lock:
            self.resting -= 1
        return True

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
        self.number, self.first, self.seq, self.last, self.acknowledged, self.open = number, 0, 0, -1, {}, {}

    def next_generation(self):
        """While nothing is under way."""
        self.first, self.last, self.acknowledged, self.open = self.seq, self.seq - 1, {}, {}

    def step(self):
        events, seq, rows = self.server.events(), self.seq, self.dice.choice([1, 1, 1, 1, 5, 50, 2000])
        self.seq += 1
        values = [(self.number, seq, row, rows, 1700000000 + seq, f"text {row} of {seq}") for row in range(rows)]
        kind = self.dice.random()
        self.open[seq] = rows
        if kind < 0.6 and rows <= 50:
            text = ", ".join("({}, {}, {}, {}, {}, '{}')".format(*value) for value in values)
            self.ask(f"INSERT INTO {events} VALUES {text}")
        elif kind < 0.8:
            body = "".join("{},{},{},{},{},\"{}\"\n".format(*value) for value in values)
            self.ask(f"INSERT INTO {events} FORMAT CSV", body.encode())
        else:
            names = ("client", "seq", "row", "rows", "at", "text")
            body = "".join(json.dumps(dict(zip(names, value))) + "\n" for value in values)
            self.ask(f"INSERT INTO {events} FORMAT JSONEachRow", body.encode())
        self.acknowledged[seq] = self.open.pop(seq)
        self.last = seq

    def check_seen(self, last, seen_last, seen):
        """What a SELECT saw of this client: all up to `last`, acknowledged before it began, and no gap below the latest it saw."""
        if seen_last < last:
            raise Unexpected(f"statement {last} of client {self.number} was acknowledged, and a SELECT saw none behind {seen_last}")
        # Those nobody got an answer to may be there or not.
        unknown = sum(self.first <= seq <= seen_last for seq in list(self.open))
        if not 0 <= seen_last + 1 - self.first - seen <= unknown:
            raise Unexpected(f"of the statements {self.first} to {seen_last} of client {self.number} a SELECT saw {seen}, "
                             f"{unknown} had no answer")


class Selects(Client):
    def step(self):
        kind, client, events = self.dice.randrange(8), self.dice.choice(self.server.inserts), self.server.events()
        if kind == 0:
            torn = self.ask(TORN.format(events=events))
            if torn != "0\n":
                raise Unexpected(f"{torn.strip()} statements are seen in part")
        elif kind == 1:
            last = [insert.last for insert in self.server.inserts]
            lines = self.ask(SEEN.format(events=events)).splitlines()
            seen = {number: rest for number, *rest in (map(int, line.split("\t")) for line in lines)}
            for insert in self.server.inserts:
                insert.check_seen(last[insert.number], *seen.get(insert.number, (insert.first - 1, 0)))
        elif kind == 2:
            self.ask(f"SELECT client, count(), max(seq), uniq(text) FROM {events} GROUP BY client ORDER BY client FORMAT JSON")
        elif kind == 3:
            self.ask(f"SELECT * FROM {events} WHERE client = {client.number} ORDER BY seq DESC, row LIMIT 100 FORMAT RowBinary")
        elif kind == 4:
            self.ask(f"SELECT a.client, count() FROM {events} AS a JOIN (SELECT number AS client FROM numbers(5)) AS b "
                     f"USING (client) WHERE a.seq % 10 = {client.number % 10} GROUP BY a.client")
        elif kind == 5:
            self.ask(f"SELECT * FROM {events} LIMIT 20000 FORMAT Native", compress=1)
        elif kind == 6:
            # A join whose rows are the answer: its inputs must all go on while nobody sums them up.
            rows = self.ask(f"SELECT a.client, b.twice FROM {events} AS a JOIN (SELECT number AS client, number * 2 AS twice FROM "
                            f"numbers(64)) AS b USING (client) WHERE a.seq % 50 = {client.number}")
            wrong = [row for row in (line.split("\t") for line in rows.splitlines()) if 2 * int(row[0]) != int(row[1])]
            if wrong:
                raise Unexpected(f"a join gives {wrong[0]!r}")
        else:
            self.ask(f"SELECT toStartOfHour(at) AS h, count(), quantile(0.9)(length(text)) FROM {events} GROUP BY h ORDER BY h LIMIT 10",
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
            f"CREATE TABLE {table} (a UInt64, b String) ENGINE = MergeTree ORDER BY a {SETTINGS}",
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
        # A session dies with the server.
        life = self.server.lives
        try:
            texts = [self.ask(sql, session_id=session, session_timeout=5) for sql in asks]
            if texts[3:] != ["499500\n", "1\n"]:
                raise Unexpected(f"the session says {texts[3:]}")
        except Unexpected:
            if self.server.lives == life:
                raise
            raise Down() from None


class Errors(Client):
    CASES = [
        ("SELEKT 1", None, [62]), ("SELECT * FROM nosuch", None, [60]), ("SELECT nosuch FROM {events}", None, [47]),
        ("SELECT intDiv(1, 0)", None, [153]), ("INSERT INTO {events} FORMAT CSV", b"x,y\n", [27, 6, 117, 72, 26]),
        ("INSERT INTO {events} FORMAT JSONEachRow", b"{\"client\": \n", [27, 117, 26, 6, 32]),
        ("SELECT 1 SETTINGS nosuch = 1", None, [115]), ("SELECT nosuch(1)", None, [46]),
        ("SELECT intDiv(1, 200000 - toInt64(number)) FROM numbers(300000)", None, [153]),
        ("SELECT * FROM url('http://169.254.169.254/x', 'CSV', 'a Int8')", None, [491]),
        ("CREATE TABLE {events} (a Int8) ENGINE = Memory", None, [57]),
        ("SELECT groupArray(number) FROM numbers(100000000) SETTINGS max_memory_usage = 50000000", None, [241]),
        ("SELECT count() FROM numbers(100000000000) SETTINGS max_execution_time = 1", None, [159]),
    ]

    def step(self):
        sql, body, codes = self.dice.choice(self.CASES)
        self.ask(sql.format(events=self.server.events()), body, expected=codes)


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
                left.sendall(f"POST /?query_id={query_id} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(sql)}\r\n\r\n{sql}".encode())
                time.sleep(self.dice.uniform(0, 0.5))
                if self.dice.random() < 0.5:
                    self.ask(f"KILL QUERY WHERE query_id = '{query_id}' SYNC")
        except OSError as broken:
            self.life = life
            raise self.broken(sql, broken) from None
        began = time.monotonic()
        # One that writes goes on without its client; one whose client left before it was read never begins.
        while sql.startswith("INSERT") and time.monotonic() < began + UNREAD_SECONDS:
            if self.ask(f"KILL QUERY WHERE query_id = '{query_id}' SYNC"):
                break
            time.sleep(0.1)
        while self.ask(f"SELECT count() FROM system.processes WHERE query_id = '{query_id}'") != "0\n":
            if time.monotonic() > began + 30:
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
