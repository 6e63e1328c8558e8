#!/usr/bin/env python3
"""Gives servers of a shared root what is wrong, and looks whether they say so, name it, and lose nothing.

Usage: bad_input.py BINARY [SECONDS_GONE=6] [ONLY]

Checked at the start: a bucket that is missing, access denied, a store that creates what is there already, a prefix of something
else, roots too new or damaged, addresses and cache folders that cannot be. Checked while two servers run: a record that is
damaged or of a newer version (reads go on, writes stop, a repaired record is followed, no restart), a cache folder on a full
disk (goes on without it), `inspect` of roots that are sound, damaged or no roots (it changes nothing), a store that is gone for SECONDS_GONE (reads go on, writes say that nothing or nobody knows what was
written, a label tells, then all goes on without a restart). Every message is printed.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from servers import BUCKET, KEYS, Connection, Node, Process, Refused, Root, Unanswered

ONES = "CREATE TABLE ones (n UInt64) ENGINE = MergeTree ORDER BY n"
CONSISTENT = " SETTINGS select_sequential_consistency = 1"
NETWORK_ERRORS = (209, 210, 236, 499, 503, 999)
CACHE_DISK_BYTES = 8 << 20
# Of a frame: the oldest program that can read it, header checksum, frame checksum (crates/commitlog/src/record.rs).
MIN_READER, HEADER_END, HEAD_BYTES = slice(6, 8), 80, 84


class Wrong(Exception):
    """What does not hold."""


def expect(holds, text):
    if not holds:
        raise Wrong(text)


def said_of(what, text):
    shown = re.sub(r"\s+", " ", str(text))
    print(f"  {what}: {shown[:700]}", flush=True)
    return str(text)


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
    return (value ^ 0xFFFFFFFF).to_bytes(4, "little")


def refused_start(root, what, pattern, url=None, cache=None, environment=None):
    """A server that must not start, and must say why."""
    command = [root.binary, "server", "--shared", url or root.url, "--cache", str(cache or root.folder / "cache-x"),
               "--listen", "127.0.0.1:0"]
    began = time.monotonic()
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120,
                               env={**os.environ, **root.environment, **(environment or {})})
    except subprocess.TimeoutExpired as late:
        raise Wrong(f"{what}: the server neither started nor ended within 120 s: {late.stdout} {late.stderr}") from late
    text = said_of(f"{what} ({time.monotonic() - began:.1f} s)", ended.stdout + ended.stderr)
    expect(ended.returncode != 0, f"{what}: the server ended with 0")
    expect(re.search(pattern, text, re.S), f"{what}: the message does not say {pattern!r}")
    expect("panicked" not in text, f"{what}: a panic")


class Deaf(BaseHTTPRequestHandler):
    """A store that takes no heed of If-None-Match: passes requests on without it."""

    protocol_version = "HTTP/1.1"
    upstream = ""

    def log_message(self, *_):
        pass

    def serve(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        kept = {name: value for name, value in self.headers.items()
                if name.lower() not in ("if-none-match", "authorization", "host", "connection")}
        request = Request(f"{self.upstream}{self.path}", data=body or None, method=self.command, headers=kept)
        try:
            answer = urlopen(request, timeout=30)
        except HTTPError as error:
            answer = error
        content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        length = answer.headers.get("content-length") if self.command == "HEAD" else len(content)
        self.send_header("content-length", str(length or 0))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = serve


def deaf(url):
    """The URL of a proxy of that kind."""
    door = ThreadingHTTPServer(("127.0.0.1", 0), type("Deaf", (Deaf,), {"upstream": url}))
    threading.Thread(target=door.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{door.server_address[1]}"


def stores(binary):
    """What is wrong with a store, found when a server starts."""
    with Root(binary, "endpoint") as root:
        refused_start(root, "a bucket that is missing", r"no-such-bucket.*(does not exist|NoSuchBucket)",
                      url="s3://no-such-bucket/prefix")
        refused_start(root, "a wrong secret", rf"{BUCKET}/prefix.*(denied|signature)",
                      environment={"AWS_SECRET_ACCESS_KEY": "wrong-secret-key-0123456"})
        refused_start(root, "no keys", rf"{BUCKET}/prefix.*(denied|AccessDenied|unsigned|keys)",
                      environment={"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "HOME": str(root.folder)})
        (root.folder / "store" / BUCKET / "photos").mkdir()
        (root.folder / "store" / BUCKET / "photos" / "1.jpg").write_bytes(b"jpeg")
        refused_start(root, "a prefix of something else", rf"{BUCKET}/photos.*is no database.*1\.jpg.*choose an empty prefix",
                      url=f"s3://{BUCKET}/photos")
        refused_start(root, "nobody listens", r"127\.0\.0\.1:1\b", environment={"AWS_ENDPOINT_URL": "http://127.0.0.1:1"})
        folder = root.folder / "store" / BUCKET / "later"
        folder.mkdir()
        (folder / "root").write_text("gristmill shared root\nformat 9\nid " + "0" * 32 + "\n")
        refused_start(root, "a root of a newer program", rf"{BUCKET}/later.*format 9.*update", url=f"s3://{BUCKET}/later")
        (folder / "root").write_text("<html>")
        refused_start(root, "a damaged root", rf"{BUCKET}/later/root.*is damaged", url=f"s3://{BUCKET}/later")
    with Root(binary, "endpoint", signed=False, through=deaf) as root:
        refused_start(root, "a store without conditions", rf"{BUCKET}/prefix.*does not create objects only where there are none")
    with Root(binary, "endpoint", signed=False) as root:
        node = root.start(1)[0]
        node.query(ONES)
        node.kill()
        refused_start(root, "a way to it without conditions", r"does not create objects only where there are none",
                      environment={"AWS_ENDPOINT_URL": deaf(root.endpoint_url)})


def addresses(binary):
    """What no root can be at, and cache folders that cannot be used."""
    with Root(binary, "folder") as root:
        for url, pattern in (
            ("ftp://host/prefix", r'"ftp://host/prefix" has an unknown scheme'),
            ("az://", r'"az://" names no'),
            ("s3://", r'"s3://" names no bucket'),
            ("s3://bucket/pre*fix", r'"pre\*fix" of a shared root is a pattern'),
            ("bucket/prefix", r'"bucket/prefix" has no scheme'),
            ("file://", r'"file://" has no absolute path'),
            ("file://host/folder", r'"file://host/folder" has no absolute path'),
            ("http://127.0.0.1:9/", r"http://127\.0\.0\.1:9"),
        ):
            refused_start(root, f"the address {url}", pattern, url=url, environment={"AWS_REGION": "us-east-1"})
        (root.folder / "file").write_text("x")
        refused_start(root, "a cache folder that is a file", r"cache folder .*/file", cache=root.folder / "file")
        refused_start(root, "a root that is a file", r"/file", url=f"file://{root.folder}/file")
        node = root.start(1)[0]
        refused_start(root, "a cache folder in use", r"cache0.*in use by another process", cache=node.cache)
        (root.folder / "things").mkdir()
        (root.folder / "things" / "notes.txt").write_text("x")
        refused_start(root, "a folder of something else", r"things is not empty and is no database.*notes\.txt",
                      url=f"file://{root.folder}/things")


def two_roots(binary):
    """Two roots under one cache folder, one after the other and at once: each answers with its own rows."""
    with Root(binary, "folder") as root:
        first, second = Node(root, 0), Node(root, 1)
        second.cache = first.cache
        root.nodes += [first, second]
        for node, place, count in ((first, "root", 3), (second, "root2", 5)):
            root.url = f"file://{root.folder}/{place}"
            node.start()
            node.query(ONES)
            node.query(f"INSERT INTO ones SELECT number FROM numbers({count})")
        expect([node.query("SELECT count() FROM ones").strip() for node in (first, second)] == ["3", "5"], "rows of the other root")
        first.kill()
        second.kill()
        root.url = f"file://{root.folder}/root"
        expect(second.start().query("SELECT count() FROM ones").strip() == "3", "rows of the other root after a restart")
        said_of("two roots under one cache folder", "each has its own rows")


def expect_refused(what, node, sql, pattern, timeout=60):
    try:
        answer = node.query(sql, timeout)
    except Refused as refused:
        text = said_of(what, refused)
        expect(re.search(pattern, text, re.S), f"{what}: the message does not say {pattern!r}")
        return refused
    raise Wrong(f"{what}: answered {answer!r}")


def until(what, holds, seconds=30):
    deadline = time.monotonic() + seconds
    while True:
        try:
            if holds():
                return
            why = "not yet"
        except (Refused, Unanswered) as error:
            why = error
        expect(time.monotonic() < deadline, f"{what}: not within {seconds} s: {why}")
        time.sleep(0.2)


def newer_record(frame):
    """The same for programs of the next version only."""
    changed = bytearray(frame)
    changed[MIN_READER] = (2).to_bytes(2, "little")
    changed[HEADER_END:HEAD_BYTES] = crc32c(changed[:HEADER_END])
    changed[-4:] = crc32c(changed[:-4])
    return bytes(changed)


def newer_transaction(frame):
    """The same record with a transaction that says that it needs format 99."""
    changed = bytearray(frame)
    expect(changed[HEAD_BYTES + 4] < 0x80, "the version of a transaction takes one byte")
    changed[HEAD_BYTES + 4] = 99
    changed[-4:] = crc32c(changed[:-4])
    return bytes(changed)


def damaged_record(frame):
    changed = bytearray(frame)
    changed[len(changed) // 2] ^= 0x55
    return bytes(changed)


def cut_record(frame):
    return frame[: len(frame) // 2]


def records(binary):
    """A record that is wrong, met by a server that runs and by one that starts."""
    for what, change, pattern in (
        ("a damaged record", damaged_record, r"from a copy"),
        ("a record that ends early", cut_record, r"from a copy"),
        ("a record of a newer version", newer_record, r"newer version"),
        ("a transaction of a newer version", newer_transaction, r"newer version"),
    ):
        with Root(binary, "folder") as root:
            writer, reader = root.start(2)
            writer.query(ONES)
            writer.query("INSERT INTO ones VALUES (1), (2)")
            until("the first rows", lambda: reader.query("SELECT count() FROM ones").strip() == "2")
            reader.signal(signal.SIGSTOP)
            writer.query("INSERT INTO ones VALUES (3)")
            writer.kill()
            last = max((root.folder / "root/stream/0/log").iterdir())
            whole = last.read_bytes()
            last.write_bytes(change(whole))
            reader.signal(signal.SIGCONT)
            time.sleep(1)
            name = rf"(?=.*\b0*{int(last.name)}\b)(?=.*{pattern})"
            expect(reader.query("SELECT count() FROM ones").strip() == "2", f"{what}: reads do not go on")
            # Of a record that cannot be read nobody knows whose it is.
            expect_refused(f"{what}, insert", reader, "INSERT INTO ones WITH LABEL four VALUES (4)", rf"\b0*{int(last.name)}\b")
            expect_refused(f"{what}, CREATE", reader, "CREATE TABLE more (n UInt8) ENGINE = MergeTree ORDER BY n", name)
            expect_refused(f"{what}, consistent read", reader, "SELECT count() FROM ones" + CONSISTENT, name)
            refused_start(root, f"{what}, start", name, cache=root.folder / "cache-y")
            last.write_bytes(whole)
            if change is newer_transaction:
                # What cannot be applied is not read again by the same process.
                reader.kill()
                reader.start()
            until(f"{what}, repaired", lambda: reader.query("SELECT count() FROM ones" + CONSISTENT).strip() == "3")
            reader.query("INSERT INTO ones WITH LABEL four VALUES (4)")
            expect(reader.query("SELECT sum(n) FROM ones").strip() == "10", f"{what}: rows after the repair")
            expect(writer.start().query("SELECT sum(n) FROM ones").strip() == "10", f"{what}: rows of a new server")


def full_cache(binary):
    """A cache folder on a disk that is full: statements go on, what is written is whole."""
    disk = Path(tempfile.mkdtemp(prefix="gristmill-cache-disk-"))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={CACHE_DISK_BYTES}", "none", str(disk)]
    mounted = subprocess.run(mount, capture_output=True, text=True)
    if mounted.returncode:
        disk.rmdir()
        print(f"SKIPPED a full cache folder: {mounted.stderr.strip()}")
        return
    try:
        with Root(binary, "endpoint") as root:
            node = Node(root, 0)
            node.cache = disk / "cache"
            root.nodes.append(node)
            node.start()
            other = Node(root, 1).start()
            root.nodes.append(other)
            other.query("CREATE TABLE texts (n UInt64, text String) ENGINE = MergeTree ORDER BY n")
            other.query("INSERT INTO texts SELECT number, concat(toString(cityHash64(number)), toString(cityHash64(number, 1))) "
                        "FROM numbers(200000)", 300)
            expect(node.query("SELECT count() FROM texts" + CONSISTENT).strip() == "200000", "rows beside a cache that is empty")
            filler = disk / "filler"
            with open(filler, "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(1 << 16))
                except OSError:
                    pass
            truth = other.query("SELECT count(), sum(n), sum(cityHash64(text)) FROM texts")
            expect(node.query("SELECT count(), sum(n), sum(cityHash64(text)) FROM texts") == truth, "rows beside a full cache")
            node.query("INSERT INTO texts VALUES (200000, 'small')")
            load = "INSERT INTO texts SELECT number, toString(cityHash64(number, 2)) FROM numbers(200000)"
            try:
                node.query(load, 300)
                said_of("a load beside a full cache", "done")
                rows = 400001
            except Refused as refused:
                said_of("a load beside a full cache", refused)
                expect(refused.code() == 243 and "cache" in str(refused), "the error does not name the cache folder")
                rows = 200001
            expect(other.query("SELECT count() FROM texts" + CONSISTENT).strip() == str(rows), "rows after a load beside a full cache")
            filler.unlink()
            node.query("OPTIMIZE TABLE texts FINAL")
            expect(node.query("SELECT count() FROM texts" + CONSISTENT).strip() == str(rows), "rows when there is room again")
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=False)
        shutil.rmtree(disk, ignore_errors=True)


def inspected(binary):
    """`inspect` of a root says what is there, finds what is damaged, and changes nothing; beside a server that writes."""
    for store in ("endpoint", "folder"):
        with Root(binary, store) as root:
            node = root.start(1)[0]
            node.query(ONES)
            node.query("INSERT INTO ones SELECT number FROM numbers(200000)")
            node.query("INSERT INTO ones VALUES (200000)")
            files = root.folder / "root" if store == "folder" else root.folder / "store" / BUCKET / "prefix"

            def inspect(*arguments, root=root):
                ended = subprocess.run([binary, "inspect", *arguments], capture_output=True, text=True, timeout=120,
                                       env={**os.environ, **root.environment})
                expect("panicked" not in ended.stderr, ended.stderr)
                return ended.returncode, ended.stdout + ended.stderr

            code, text = inspect("--verify", root.url)
            said_of(f"--verify of a sound root ({store})", text)
            expect(code == 0 and re.search(r"state +1 +ok +opens at record \d+, 1 tables", text), "a sound root is not verified")
            expect(re.search(r"parts +\d+ +ok +20000\d rows", text), "its part is not verified")

            def told(files=files):
                newest = int(max((files / "stream/0/log").iterdir()).name)
                return any(f"applied {newest}\n" in said.read_text() for said in (files / "nodes").iterdir())

            until("the server says how far the log goes", told)
            node.kill()
            before = {path: path.stat().st_mtime_ns for path in files.rglob("*")}
            code, text = inspect(root.url)
            for words in ("gristmill shared root", "CreateTable", "AddPart", "part: 200.00 thousand rows", "applied "):
                expect(code == 0 and words in text, f"not everything is shown, {words}: {text[:2000]}")
            code, text = inspect(f"{root.url}/stream/0/log/{1:020}")
            expect(code == 0 and re.search(r"record 1 epoch=", text) and "record 2 " not in text, f"one record: {text}")
            code, text = inspect("--verify", root.url)
            expect(code == 0, f"a root without servers: {text}")
            expect({path: path.stat().st_mtime_ns for path in files.rglob("*")} == before, "inspect has changed something")
            last, part = max((files / "stream/0/log").iterdir()), next((files / "data").rglob("*.parquet"))
            whole, rows = last.read_bytes(), part.read_bytes()
            last.write_bytes(damaged_record(whole))
            code, text = inspect("--verify", root.url)
            said_of("--verify, a damaged record", text)
            expect(code == 1 and last.name in text and "it is no record" in text, "the damaged record is not named")
            last.unlink()
            code, text = inspect("--verify", root.url)
            said_of("--verify, the last record is gone", text)
            expect(code == 1 and "says that there was record" in text, "a log that was cut is not found")
            last.write_bytes(whole)
            part.write_bytes(bytes(100) + rows[100:])
            code, text = inspect("--verify", root.url)
            said_of("--verify, a damaged part", text)
            expect(code == 1 and part.name in text, "the damaged part is not named")
            code, text = inspect(f"{root.url}-that-is-not-there")
            said_of("inspect of nothing", text)
            expect(code == 1 and re.search("there is no database at|cannot be used", text), "nothing is not said to be nothing")
            expect(not Path(f"{files}-that-is-not-there").exists(), "inspect has made a folder")


def gone_store(binary, seconds):
    """A store that is gone for a while."""
    with Root(binary, "endpoint") as root:
        first, second = root.start(2)
        first.query(ONES)
        first.query("INSERT INTO ones SELECT number FROM numbers(1000000)")
        first.query("INSERT INTO ones VALUES (1000000)")
        expect(second.query("SELECT sum(n) FROM ones" + CONSISTENT).strip() == "500000500000", "the first rows")
        port = urlsplit(root.endpoint_url).port
        root.others[0].kill()
        began = time.monotonic()
        expect(first.query("SELECT sum(n) FROM ones").strip() == "500000500000", "the writer's reads do not go on")
        expect(second.query("SELECT sum(n) FROM ones").strip() == "500000500000", "cached reads do not go on")
        said_of("cached reads without a store", f"answered within {time.monotonic() - began:.1f} s")
        began = time.monotonic()
        for node, row in ((first, 1000001), (second, 1000002)):
            expect_refused(f"an insert without a store ({node.number})", node, f"INSERT INTO ones WITH LABEL gone{row} VALUES ({row})",
                           r"(unknown|nothing was written|not known)", timeout=120)
            said_of("which took", f"{time.monotonic() - began:.1f} s")
        expect_refused("a consistent read without a store", second, "SELECT count() FROM ones" + CONSISTENT, r"127\.0\.0\.1|s3://")
        time.sleep(max(0, seconds - (time.monotonic() - began)))
        command = [root.binary, "s3-endpoint", "--path", str(root.folder / "store"), "--port", str(port), "--bucket", BUCKET,
                   "--access-key", KEYS[0], "--secret-key", KEYS[1]]
        root.others.append(Process(command, root.folder / "endpoint2.log", r"(http://127\.0\.0\.1:\d+) serves"))
        root.others[-1].wait_started()
        for node, row in ((first, 1000001), (second, 1000002)):
            until("a labelled insert again", lambda node=node, row=row: Connection(node).query(
                f"INSERT INTO ones WITH LABEL gone{row} VALUES ({row})") is not None, 60)
        for node in (first, second):
            expect(node.query("SELECT count(), uniqExact(n) FROM ones" + CONSISTENT).split() == ["1000003", "1000003"],
                   "a row is lost or doubled")


def main():
    binary, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 6.0
    only = sys.argv[3] if len(sys.argv) > 3 else ""
    passed = failed = 0
    for name, work in (
        ("stores", lambda: stores(binary)),
        ("addresses", lambda: addresses(binary)),
        ("two roots", lambda: two_roots(binary)),
        ("records", lambda: records(binary)),
        ("full cache", lambda: full_cache(binary)),
        ("inspected", lambda: inspected(binary)),
        ("gone store", lambda: gone_store(binary, seconds)),
    ):
        if only not in name:
            continue
        print(name, flush=True)
        try:
            work()
            passed += 1
        except Exception as error:
            failed += 1
            print(f"{name}: FAILED: {type(error).__name__}: {error}", flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
