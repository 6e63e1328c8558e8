"""`gristmill server` and clients of bare sockets, so that what is measured is the server and not a client's library."""

import multiprocessing
import os
import re
import resource
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse

LISTENING = re.compile(r"listening on 127\.0\.0\.1:(\d+)")
START_SECONDS, STOP_SECONDS = 60, 60
# Processes that send: more would take the server's cores, fewer would be the bottleneck.
SENDERS = 2


def allow_many_files():
    """As many open files as this machine lets us have; children inherit it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


class Server:
    """Runs for as long as the `with` lasts, on a folder of its own."""

    def __init__(self, binary, folder, config=""):
        os.makedirs(folder, exist_ok=True)
        settings = os.path.join(folder, "server.toml")
        with open(settings, "w") as file:
            file.write(config)
        self.log = tempfile.TemporaryFile("w+")
        command = [binary, "server", "--path", os.path.join(folder, "data"), "--config", settings, "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log, text=True)
        first = self.process.stdout.readline()
        found = LISTENING.search(first)
        if not found:
            raise SystemExit(f"the server did not start: {first}{self.said()}")
        self.port = int(found.group(1))

    def said(self):
        self.log.seek(0)
        return self.log.read()[-2000:]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(STOP_SECONDS)

    def connect(self, receive_bytes=None):
        connection = socket.socket()
        if receive_bytes:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        connection.connect(("127.0.0.1", self.port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def ask(self, sql):
        """The answer's text, on a connection of its own."""
        with self.connect() as connection:
            connection.sendall(post(sql))
            status, body = answer(connection)
        if status != 200:
            raise SystemExit(f"{sql[:200]}: {status} {body.decode(errors='replace')[:500]}")
        return body.decode()

    def send_file(self, sql, path):
        """Seconds of an INSERT whose body is a file, with its length."""
        with self.connect() as connection, open(path, "rb") as file:
            target = "/?query=" + urllib.parse.quote(sql)
            started = time.perf_counter()
            connection.sendall(f"POST {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {os.path.getsize(path)}\r\n\r\n".encode())
            connection.sendfile(file)
            status, body = answer(connection)
            seconds = time.perf_counter() - started
        if status != 200:
            raise SystemExit(f"{sql}: {status} {body.decode(errors='replace')[:500]}")
        return seconds

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return int(re.search(r"VmRSS:\s+(\d+) kB", file.read()).group(1)) * 1024


class Memory:
    """Resident bytes of a server while something is done."""

    def __init__(self, server, every_seconds=0.05):
        self.server, self.every, self.samples, self.done = server, every_seconds, [], threading.Event()
        self.thread = threading.Thread(target=self.look)

    def look(self):
        while not self.done.wait(self.every):
            self.samples.append(self.server.resident_bytes())

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()

    def middle_and_last(self):
        """Means of the second and of the last quarter: flat when they are alike."""
        quarter = max(1, len(self.samples) // 4)
        second, last = self.samples[quarter:2 * quarter] or self.samples, self.samples[-quarter:]
        return sum(second) / len(second), sum(last) / len(last)


def post(body, target="/", method="POST"):
    body = body.encode() if isinstance(body, str) else body
    return f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def answer(connection):
    """Status and body of an answer; chunks are joined."""
    held = b""
    while b"\r\n\r\n" not in held:
        held += received(connection)
    head, body = held.split(b"\r\n\r\n", 1)
    status = int(head[9:12])
    length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    if length:
        while len(body) < int(length.group(1)):
            body += received(connection)
        return status, body
    while not body.endswith(b"0\r\n\r\n"):
        body += received(connection)
    return status, body


def received(connection):
    chunk = connection.recv(1 << 16)
    if not chunk:
        raise OSError("the connection ended")
    return chunk


def one_after_the_other(server, requests):
    """Microseconds of each request on one connection."""
    micros = []
    with server.connect() as connection:
        for request in requests:
            started = time.perf_counter()
            connection.sendall(request)
            status, body = answer(connection)
            micros.append((time.perf_counter() - started) * 1e6)
            if status != 200:
                raise SystemExit(f"{status} {body.decode(errors='replace')[:500]}")
    return micros


def pump(port, connections, request, seconds, start, told):
    """Sends one request again and again on each connection, and counts the answers; their bodies are empty."""
    poll, sockets = select.epoll(), {}
    for _ in range(connections):
        connection = socket.create_connection(("127.0.0.1", port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sockets[connection.fileno()] = connection
        poll.register(connection.fileno(), select.EPOLLIN)
    start.wait()
    sent_at, micros, failed = {}, [], None
    clock = time.perf_counter
    first = clock()
    end = first + seconds
    for number, connection in sockets.items():
        connection.send(request)
        sent_at[number] = clock()
    open_requests = len(sockets)
    while open_requests:
        for number, _ in poll.poll(10):
            said = sockets[number].recv(4096)
            now = clock()
            if not said.startswith(b"HTTP/1.1 200") or not said.endswith(b"\r\n\r\n"):
                failed = said.decode(errors="replace") or "the connection ended"
                open_requests = 0
                break
            micros.append((now - sent_at[number]) * 1e6)
            if now < end:
                sockets[number].send(request)
                sent_at[number] = now
            else:
                open_requests -= 1
    told.put((micros, clock() - first, time.process_time(), failed))


def all_at_once(server, connections, request, seconds):
    """Microseconds of each answer, answers a second of all, and the share of a core that each sender used."""
    start, told = multiprocessing.Event(), multiprocessing.Queue()
    share = connections // SENDERS
    arguments = (server.port, share, request, seconds, start, told)
    senders = [multiprocessing.Process(target=pump, args=arguments) for _ in range(SENDERS)]
    for sender in senders:
        sender.start()
    time.sleep(1)
    start.set()
    answers = [told.get() for _ in senders]
    for sender in senders:
        sender.join()
    for _, _, _, failed in answers:
        if failed:
            raise SystemExit(f"a request failed: {failed}")
    micros = [one for of_sender, _, _, _ in answers for one in of_sender]
    per_second = sum(len(of_sender) / took for of_sender, took, _, _ in answers)
    busy = max(used / took for _, took, used, _ in answers)
    return micros, per_second, busy
