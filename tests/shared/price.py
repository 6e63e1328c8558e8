#!/usr/bin/env python3
"""Counts what statements cost at a store: requests of each kind, and time beside that of a bare create-only PUT.

Usage: price.py BINARY [INSERTS=1000]

A proxy between servers and `gristmill s3-endpoint` counts every request by method and kind of key. Three measurements, each
with the endpoint's latency 0 and 20 ms: INSERTs of one row on one connection; 64 connections with 50 each; three servers with
21 writers each beside one with 64. All of it goes through the same proxy, in the same run.
"""
import http.client
import re
import socket
import statistics
import sys
import threading
import time
from urllib.parse import urlsplit

from servers import BUCKET, Connection, Root

CONNECTIONS, EACH = 64, 50
SERVERS, WRITERS_EACH = 3, 21
WRITING_SECONDS = 10
BARE_PUTS, BARE_BYTES = 200, 200
LATENCIES_MS = (0, 20)
KINDS = ((r"/stream/\d+/log/", "log"), (r"/stream/\d+/checkpoint/", "checkpoint"), (r"/nodes/", "nodes"), (r"/data/", "data"),
         (r"/boundary/", "boundary"), (r"/probe/", "probe"), (r"/bare/", "bare"))


class CountingProxy:
    """Passes requests on, on connections that stay, and counts them."""

    def __init__(self, url):
        self.upstream, self.lock, self.counts = urlsplit(url), threading.Lock(), {}
        self.door = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.url = f"http://127.0.0.1:{self.door.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.door.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        store = socket.create_connection((self.upstream.hostname, self.upstream.port))
        for end in (client, store):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        from_client, from_store = client.makefile("rb"), store.makefile("rb")
        try:
            while True:
                request = head_of(from_client)
                if not request:
                    return
                line = request.split(b"\r\n", 1)[0].decode()
                store.sendall(request + from_client.read(length_of(request)))
                answer = head_of(from_store)
                status = int(answer.split(b" ", 2)[1])
                bodiless = line.startswith("HEAD ") or status in (204, 304)
                body = b"" if bodiless else body_of(from_store, answer)
                self.count(line, status)
                client.sendall(answer + body)
                if re.search(rb"(?i)\r\nconnection: *close", request + answer):
                    return
        except (OSError, ValueError, IndexError):
            pass
        finally:
            for end in (client, store):
                end.close()

    def count(self, line, status):
        method, path, _ = line.split(" ")
        listing = method == "GET" and "list-type=" in path
        named = re.sub(r"%2F", "/", path) if listing else urlsplit(path).path
        kind = next((name for pattern, name in KINDS if re.search(pattern, named)), "other")
        if kind == "other" and listing:
            kind = next((name for pattern, name in KINDS if re.search(pattern.rstrip("/"), named)), "other")
        key = ("LIST" if listing else method, kind, status)
        with self.lock:
            self.counts[key] = self.counts.get(key, 0) + 1

    def taken(self):
        """What was counted since the last time."""
        with self.lock:
            counts, self.counts = self.counts, {}
        return counts


def head_of(stream):
    lines = []
    while True:
        line = stream.readline()
        if not line:
            return b""
        lines.append(line)
        if line == b"\r\n":
            return b"".join(lines)


def length_of(head):
    found = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    return int(found.group(1)) if found else 0


def body_of(stream, head):
    if not re.search(rb"(?i)\r\ntransfer-encoding: *chunked", head):
        return stream.read(length_of(head))
    whole = b""
    while True:
        line = stream.readline()
        size = int(line.split(b";")[0], 16)
        whole += line + stream.read(size + 2)
        if size == 0:
            return whole


def total(counts, method, kind=None, status=None):
    return sum(count for (one, of, answer), count in counts.items()
               if one == method and kind in (None, of) and status in (None, answer))


def shown(counts):
    return ", ".join(f"{method} {kind} {status}: {count}" for (method, kind, status), count in sorted(counts.items()))


def bare_puts(proxy, seconds_of):
    """Median time of a create-only PUT without the database; unsigned, so the endpoint must take everybody."""
    url = urlsplit(proxy.url)
    connection = http.client.HTTPConnection(url.hostname, url.port)
    connection.connect()
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for number in range(BARE_PUTS):
        started = time.monotonic()
        connection.request("PUT", f"/{BUCKET}/bare/{number}", body=b"x" * BARE_BYTES, headers={"If-None-Match": "*"})
        answer = connection.getresponse()
        answer.read()
        seconds_of.append(time.monotonic() - started)
        assert answer.status == 200, f"a bare PUT was answered {answer.status}"
    connection.close()


def one_connection(node, inserts):
    connection, seconds = Connection(node), []
    connection.query("SELECT 1")
    connection.http.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for number in range(inserts):
        started = time.monotonic()
        connection.query(f"INSERT INTO t VALUES ({number})")
        seconds.append(time.monotonic() - started)
    connection.close()
    return seconds


def many(nodes, writers_each, each=None, seconds=None):
    """Writers of one row at a time, `each` so many or for so many seconds; inserts and the time they took."""
    done, lock, errors = [0], threading.Lock(), []
    begin = threading.Barrier(len(nodes) * writers_each + 1)

    def write(node):
        connection, count = Connection(node), 0
        connection.query("SELECT 1")
        begin.wait()
        until = time.monotonic() + (seconds or 1e9)
        try:
            while count < (each or 1e9) and time.monotonic() < until:
                connection.query(f"INSERT INTO t VALUES ({count})")
                count += 1
        except Exception as error:
            errors.append(error)
        with lock:
            done[0] += count
        connection.close()

    threads = [threading.Thread(target=write, args=(node,), daemon=True) for node in nodes for _ in range(writers_each)]
    for thread in threads:
        thread.start()
    begin.wait()
    started = time.monotonic()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return done[0], time.monotonic() - started


def measure(binary, inserts, latency_ms):
    proxies = []

    def through(url):
        proxies.append(CountingProxy(url))
        return proxies[0].url

    with Root(binary, "endpoint", latency_ms=latency_ms, through=through, signed=False) as root:
        proxy, [node] = proxies[0], root.start(1)
        node.query("CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a")
        print(f"\nlatency of the endpoint {latency_ms} ms", flush=True)
        bare, before = [], []
        bare_puts(proxy, bare)
        proxy.taken()
        started = time.monotonic()
        before = one_connection(node, inserts)
        took = time.monotonic() - started
        counts = proxy.taken()
        middle, bare_middle = statistics.median(before) * 1000, statistics.median(bare) * 1000
        print(f"| 1 connection, {inserts} inserts | {took:.1f} s | PUT {total(counts, 'PUT')} (log {total(counts, 'PUT', 'log')}) | "
              f"GET {total(counts, 'GET')} | HEAD {total(counts, 'HEAD')} | LIST {total(counts, 'LIST')} |")
        print(f"|   median of an INSERT {middle:.2f} ms | of a bare PUT {bare_middle:.2f} ms | {middle / bare_middle:.2f} times | "
              f"p99 {sorted(before)[len(before) * 99 // 100] * 1000:.1f} ms |")
        print(f"|   {shown(counts)}")
        done, took = many([node], CONNECTIONS, each=EACH)
        counts = proxy.taken()
        puts = total(counts, "PUT", "log")
        print(f"| {CONNECTIONS} connections x {EACH} | {took:.1f} s, {done / took:.0f} rows/s | log PUTs {puts} | "
              f"{done / max(puts, 1):.1f} statements each | {shown(counts)} |", flush=True)
        done, took = many([node], CONNECTIONS, seconds=WRITING_SECONDS)
        counts = proxy.taken()
        alone = done / took
        print(f"| 1 server, {CONNECTIONS} writers | {alone:.0f} rows/s | log PUTs {total(counts, 'PUT', 'log')}, conflicts "
              f"{total(counts, 'PUT', 'log', 412)} | GET log {total(counts, 'GET', 'log')} |", flush=True)
        nodes = [node, *root.start(SERVERS - 1)]
        proxy.taken()
        done, took = many(nodes, WRITERS_EACH, seconds=WRITING_SECONDS)
        counts = proxy.taken()
        print(f"| {SERVERS} servers, {WRITERS_EACH} writers each | {done / took:.0f} rows/s, {done / took / alone:.2f} times one | "
              f"log PUTs {total(counts, 'PUT', 'log')}, conflicts {total(counts, 'PUT', 'log', 412)} | "
              f"GET log {total(counts, 'GET', 'log')} | {shown(counts)} |", flush=True)
        found = {one.query("SELECT count() FROM t SETTINGS select_sequential_consistency = 1") for one in nodes}
        assert len(found) == 1, f"servers count {found} rows"
        alarms = root.alarms()
        assert not alarms, alarms[:5]


def main():
    inserts = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    for latency_ms in LATENCIES_MS:
        measure(sys.argv[1], inserts, latency_ms)


if __name__ == "__main__":
    main()
