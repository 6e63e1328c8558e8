#!/usr/bin/env python3
"""Crowds of clients that are slow, silent, idle or of another name, against `gristmill server`: nobody else may notice them.

Usage: clients.py BINARY [short|long]

1,000 INSERTs of which a byte of the body comes now and then, 1,000 heads that do not end, and beside them `SELECT 1` on new connections
(short: 200 each). Then the bodies end, or break off, and the table has the rows of those that ended and no others. Bodies that only
trickle are ended and store nothing. With 64 files, 80 idle connections keep nobody out. A page of another name is refused. A debug build
is attacked once more with a planted mistake, a place that a stalled body keeps, which must be found.
"""
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

CROWD = {"short": 200, "long": 1000}
SECONDS = {"short": 4.0, "long": 60.0}
# A debug build on a machine that builds something else is slow; whoever is kept out waits for 10 s and gets an error.
ANSWER_SECONDS_MAX = {"short": 8.0, "long": 0.2}
PLANTED = "server.keep_place_of_stalled_body"


class Server:
    def __init__(self, binary, limits="", files=None, planted=""):
        self.path = tempfile.mkdtemp(prefix="gristmill-clients-")
        config = Path(self.path, "server.toml")
        config.write_text(f"[limits]\n{limits}\n")
        environment = {**os.environ, "GRISTMILL_PLANTED": planted}
        less = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))) if files else None
        command = [binary, "server", "--path", str(Path(self.path, "db")), "--listen", "127.0.0.1:0", "--config", str(config)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment,
                                        preexec_fn=less)
        listening = re.match(r"listening on 127\.0\.0\.1:(\d+)", self.process.stdout.readline())
        assert listening, "the server does not listen"
        self.port = int(listening[1])

    def connect(self, seconds=30.0):
        stream = socket.create_connection(("127.0.0.1", self.port), seconds)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return stream

    def ask(self, sql, head="Host: localhost\r\n", seconds=30.0):
        """(status, text) of a statement on a connection of its own."""
        with self.connect(seconds) as stream:
            body = sql.encode()
            stream.sendall(f"POST / HTTP/1.1\r\n{head}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            return answer_of(stream)

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = "killed: it did not stop in 60 s"
        self.process.stdout.close()
        shutil.rmtree(self.path, ignore_errors=True)
        return code


def answer_of(stream):
    received = b""
    while chunk := stream.recv(65536):
        received += chunk
    if not received:
        return 0, "the connection ended without an answer"
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), body.decode(errors="replace")


def half_insert(server, length):
    """An INSERT of `length` bytes, none of which is sent."""
    stream = server.connect()
    head = f"POST /?query=INSERT+INTO+t+FORMAT+CSV HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    stream.sendall(head.encode())
    return stream


class Crowd:
    """Half INSERTs and half heads that go on by a byte now and then."""

    def __init__(self, server, count, length):
        self.bodies = [half_insert(server, length) for _ in range(count)]
        self.heads = [server.connect() for _ in range(count)]
        self.sent, self.stop = 0, threading.Event()
        self.feeding = threading.Thread(target=self.feed, daemon=True)
        self.feeding.start()

    def feed(self):
        while not self.stop.wait(1.0):
            # Two bytes: a row of the CSV.
            for stream in self.bodies:
                send(stream, b"1\n")
            self.sent += 2
            for stream in self.heads:
                send(stream, b"G" if self.sent == 2 else b"E")

    def end(self):
        self.stop.set()
        self.feeding.join()


def send(stream, bytes_):
    try:
        stream.sendall(bytes_)
    except OSError:
        # Whoever was sent away hears it from their answer.
        pass


def times_of_short_statements(server, seconds, limit, wrong):
    times, until = [], time.monotonic() + seconds
    while time.monotonic() < until and len(wrong) < 5:
        started = time.monotonic()
        try:
            answer = server.ask("SELECT 1")
        except OSError as error:
            answer = (0, str(error))
        times.append(time.monotonic() - started)
        if answer != (200, "1\n"):
            wrong.append(f"SELECT 1 beside the crowd: {answer}")
        elif times[-1] > limit:
            wrong.append(f"SELECT 1 beside the crowd took {times[-1] * 1000:.0f} ms, more than {limit * 1000:.0f}")
        time.sleep(0.02)
    return sorted(times)


# Places are not lent, so that whoever keeps one for nothing keeps others out, and that is known after seconds.
STRICT = "wait_seconds = 3\nlong_statements = 0"


def stalled(binary, amount, limits="", planted=""):
    """Half bodies and half heads; the rows of bodies that end, and no others, are there in the end."""
    count, length, wrong = CROWD[amount], 10_000, []
    server = Server(binary, limits, planted=planted)
    try:
        assert server.ask("CREATE TABLE t (a UInt32) ENGINE MergeTree ORDER BY a")[0] == 200
        crowd = Crowd(server, count, length)
        times = times_of_short_statements(server, SECONDS[amount], ANSWER_SECONDS_MAX[amount], wrong)
        crowd.end()
        if planted:
            for stream in crowd.bodies + crowd.heads:
                stream.close()
            return wrong
        # Every second body ends, the others break off.
        for stream in crowd.bodies[1::2]:
            stream.close()
        for stream in crowd.bodies[::2]:
            send(stream, b"2\n" * ((length - crowd.sent) // 2))
        answers = [answer_of(stream) for stream in crowd.bodies[::2]]
        wrong.extend(f"a body that ended late: {answer}" for answer in answers if answer[0] != 200)
        for stream in crowd.bodies[::2] + crowd.heads:
            stream.close()
        expected = f"{len(answers) * length // 2}\n"
        found = server.ask("SELECT count() FROM t")
        if found != (200, expected):
            wrong.append(f"{found} rows, and not {expected.strip()}")
        middle, most = times[len(times) // 2] * 1000, times[-1] * 1000
        print(f"  {count} half bodies, {count} half heads: {len(times)} x SELECT 1, median {middle:.1f} ms, most {most:.1f} ms")
    finally:
        code = server.close()
    return wrong + ([f"the server ended with {code}"] if code != 0 else [])


def trickling(binary, _amount):
    """Bodies that bring single bytes for ever are ended with 408, and nothing of them is stored."""
    wrong, server = [], Server(binary, "body_silence_seconds = 2\nbody_bytes_min = 1000")
    try:
        server.ask("CREATE TABLE t (a UInt32) ENGINE MergeTree ORDER BY a")
        crowd = Crowd(server, 20, 10_000)
        answers = [answer_of(stream) for stream in crowd.bodies]
        crowd.end()
        wrong.extend(f"a body that trickles: {answer}" for answer in answers if answer[0] != 408 or "Code: 209" not in answer[1])
        if (found := server.ask("SELECT count() FROM t")) != (200, "0\n"):
            wrong.append(f"{found} rows of bodies that did not end")
        for stream in crowd.bodies + crowd.heads:
            stream.close()
    finally:
        server.close()
    return wrong


def few_files(binary, amount):
    """Idle connections, more than there are files, keep nobody out."""
    wrong, server = [], Server(binary, files=64)
    try:
        idle = [server.connect() for _ in range(80)]
        for _ in range(10):
            started = time.monotonic()
            answer = server.ask("SELECT 1")
            seconds = time.monotonic() - started
            if answer != (200, "1\n") or seconds > 2 * ANSWER_SECONDS_MAX[amount]:
                wrong.append(f"beside 80 idle connections of 64 files: {answer} after {seconds:.2f} s")
        if server.ask("CREATE TABLE t (a UInt8) ENGINE MergeTree ORDER BY a PARTITION BY a")[0] != 200:
            wrong.append("no table beside idle connections")
        answer = server.ask("INSERT INTO t SELECT number FROM numbers(3)")
        if answer[0] != 200:
            wrong.append(f"no INSERT beside idle connections: {answer}")
        for stream in idle:
            stream.close()
    finally:
        server.close()
    return wrong


def other_names(binary, _amount):
    """A page of another name that points here can do nothing."""
    wrong, server = [], Server(binary)
    try:
        for name in ["evil.example", f"evil.example:{server.port}", "127.0.0.1.evil.example", "localhost.evil.example", "x@localhost"]:
            head = f"Host: {name}\r\nOrigin: http://{name}\r\nSec-Fetch-Site: same-origin\r\n"
            answer = server.ask("CREATE TABLE pwned (a UInt8) ENGINE Memory", head)
            if answer[0] != 403:
                wrong.append(f"as {name}: {answer}")
        if (found := server.ask("EXISTS TABLE pwned")) != (200, "0\n"):
            wrong.append(f"the table of a page is there: {found}")
        for name in ["localhost", f"LOCALHOST.:{server.port}", "127.0.0.1", f"[::1]:{server.port}"]:
            if (answer := server.ask("SELECT 1", f"Host: {name}\r\n")) != (200, "1\n"):
                wrong.append(f"as {name}: {answer}")
    finally:
        server.close()
    return wrong


def few_connections(binary, amount):
    """Half bodies, more than there may be connections: new ones take the places of those that wait for nothing."""
    wrong, server = [], Server(binary, files=256)
    crowd = None
    try:
        assert server.ask("CREATE TABLE t (a UInt32) ENGINE MergeTree ORDER BY a")[0] == 200
        crowd = Crowd(server, 150, 10_000)
        times = times_of_short_statements(server, SECONDS[amount] / 2, 2 * ANSWER_SECONDS_MAX[amount] + 0.3, wrong)
        print(f"  300 clients, 256 files: {len(times)} x SELECT 1, most {times[-1] * 1000:.1f} ms")
    finally:
        if crowd:
            crowd.end()
            for stream in crowd.bodies + crowd.heads:
                stream.close()
        server.close()
    return wrong


def strict(binary, amount):
    """The same where places are not lent; and with the mistake, which must be found there."""
    wrong = stalled(binary, "short" if "debug" in Path(binary).parts else amount, STRICT)
    if "debug" not in Path(binary).parts:
        print("SKIPPED: a release build has no planted mistakes")
    elif not stalled(binary, "short", STRICT, PLANTED):
        wrong.append(f"{PLANTED} was not noticed")
    return wrong


def main():
    binary, amount = os.path.abspath(sys.argv[1]), (sys.argv + ["", ""])[2] or "short"
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(files, 16384), most), most))
    passed = failed = 0
    for attack in [stalled, strict, few_connections, trickling, few_files, other_names]:
        print(f"{attack.__name__}: {attack.__doc__}", flush=True)
        wrong = attack(binary, amount)
        for line in wrong[:10]:
            print(f"  WRONG: {line}")
        passed, failed = passed + (not wrong), failed + bool(wrong)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
