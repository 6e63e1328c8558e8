#!/usr/bin/env python3
"""Statements that make much of little, and how much memory the server takes for each.

Usage: explosions.py BINARY [short|long] [WORD]

A server with memory_bytes = 512 MB (long: and 2 GiB) gets some 200 statements, one after the other, under a limit of address space
that it may not need. Each must end with its right answer, with error 241, or with the code of a limit that ClickHouse has, too;
the process must never have more resident than 1.15 times its limit and 200 MiB; `SELECT 1` beside them is always answered. Then
each family once more with `max_memory_usage`. Short: the smaller sizes, which a debug build ends in minutes. WORD: only statements
whose family has it in its name. Reported: the peak of each statement, the highest last.
"""
import gzip
import http.client
import json
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlencode

MIB = 1 << 20
LIMITS = {"short": [512_000_000], "long": [512_000_000, 2 << 30]}
ADDRESS_SPACE = 12_000_000 * 1024
MEMORY_LIMIT_EXCEEDED, TIMEOUT_EXCEEDED = 241, 159
# ClickHouse's own: a text, an argument, an array too large.
TOO_LARGE = {131, 69, 128, 36}
STATEMENT_SECONDS = {"short": 40, "long": 300}
# The answer of what does not end; and how late it may be told.
TIMED_OUT, LATE_SECONDS_MAX = object(), 10
BESIDE_SECONDS = 20
STATEMENT_LIMIT = 128_000_000
PLANTED = "meter.allow_everything"


class Family:
    """Statements of one kind: their text for a size, and the answer."""

    def __init__(self, name, text, sizes, answer, setup=None):
        self.name, self.text, self.sizes, self.answer, self.setup = name, text, sizes, answer, setup

    def statements(self, is_long):
        for size in self.sizes:
            weight = size[-1] if isinstance(size, tuple) else size
            if is_long or weight >= 0:
                sizes = size if isinstance(size, tuple) else (size,)
                yield self.text.format(*[abs(n) for n in sizes]), self.answer(*[abs(n) for n in sizes])


def nothing(*_sizes):
    """An answer that is not known beforehand."""


def texts():
    """Functions that make long texts; `long` of n bytes, n a multiple of 1,000."""
    long_text = "repeat(repeat('a', 1000), intDiv({0}, 1000))"
    each = [10_000, 1_000_000, 50_000_000, 400_000_000]
    pairs = [(100, 100), (1000, 100_000), (100_000, 1000), (100_000, 100_000), (1_000_000, 1_000_000)]
    product = lambda n, m: n * m  # noqa: E731
    yield Family("replaceAll", "SELECT length(replaceAll(repeat('a', {0}), 'a', repeat('b', {1})))", pairs, product)
    yield Family("replaceRegexpAll", "SELECT length(replaceRegexpAll(repeat('a', {0}), 'a', repeat('b', {1})))", pairs, product)
    yield Family("replaceRegexpAll group", "SELECT length(replaceRegexpAll(repeat('a', {0}), '^.*$', repeat('\\\\0', {1})))",
                 pairs[:4], product)
    yield Family("format", "SELECT length(format(repeat('{{{{0}}}}', {0}), repeat('x', {1})))".replace("{{{{0}}}}", "{{0}}"), pairs, product)
    yield Family("repeat twice", "SELECT length(repeat(repeat('x', {0}), {1}))", pairs, product)
    yield Family("repeat once", "SELECT length(repeat('x', {0}))", [1_000_000, 1_000_000_000], lambda n: n)
    yield Family("space", "SELECT length(space({0}))", each + [1_000_000_000], lambda n: n)
    for function in ["leftPad", "rightPad", "leftPadUTF8", "rightPadUTF8"]:
        yield Family(function, "SELECT lengthUTF8(" + function + "('a', {0}, 'xy'))", [1_000_000, 100_000_000, 1_000_000_000], lambda n: n)
    for function, times in [("hex", 2), ("bin", 8), ("base64Encode", None), ("base32Encode", None), ("encodeURLComponent", 1),
                            ("encodeXMLComponent", 1), ("upper", 1), ("reverse", 1), ("toJSONString", None), ("reverseUTF8", 1)]:
        known = (lambda times: lambda n: n * times)(times) if times else nothing
        yield Family(function, f"SELECT length({function}({long_text}))", each[1:], known)
    yield Family("concat", f"SELECT length(concat({', '.join([long_text] * 20)}))", each[1:], lambda n: n * 20)
    yield Family("concatWithSeparator", f"SELECT length(concatWithSeparator({', '.join([long_text] * 10)}))", each[1:], lambda n: n * 17)
    yield Family("arrayStringConcat", "SELECT length(arrayStringConcat(arrayWithConstant({0}, repeat('x', {1}))))", pairs, product)
    yield Family("translate", f"SELECT length(translate({long_text}, 'a', 'b'))", each[1:], lambda n: n)
    yield Family("overlay", f"SELECT length(overlay({long_text}, 'b', 3))", each[1:], lambda n: n)
    yield Family("rows of text", "SELECT sum(length(repeat('x', {1}))) FROM numbers({0})", pairs[:4], product)
    yield Family("rows of replaced text", "SELECT sum(length(replaceAll(toString(number % 10), toString(number % 10), repeat('ab', {1})))) "
                 "FROM numbers({0})", pairs[:3], lambda n, m: n * m * 2)


def arrays():
    each = [1000, 1_000_000, 10_000_000, 100_000_000]
    itself = lambda n: n  # noqa: E731
    yield Family("range", "SELECT length(range({0}))", each + [500_000_000, 600_000_000], itself)
    yield Family("arrayResize", "SELECT length(arrayResize([1], {0}))", each + [1_000_000_000], itself)
    yield Family("arrayResize text", "SELECT length(arrayResize(['abc'], {0}, 'a text that is not in its view'))", each, itself)
    yield Family("arrayWithConstant", "SELECT length(arrayWithConstant({0}, 'abc'))", each + [300_000_000], itself)
    yield Family("arrayWithConstant nested", "SELECT length(arrayWithConstant({0}, range(100)))", each[:3], itself)
    yield Family("splitByChar", "SELECT length(splitByChar(',', repeat(repeat(',', 1000), intDiv({0}, 1000))))", each, lambda n: n + 1)
    yield Family("splitByString", "SELECT length(splitByString('', repeat(repeat('a', 1000), intDiv({0}, 1000))))", each, itself)
    yield Family("splitByRegexp", "SELECT length(splitByRegexp('a', repeat(repeat('a', 1000), intDiv({0}, 1000))))", each[:3], lambda n: n + 1)
    yield Family("extractAll", "SELECT length(extractAll(repeat(repeat('a', 1000), intDiv({0}, 1000)), 'a'))", each[:3], itself)
    for function, answer in [("arrayReverse", itself), ("arraySort", itself), ("arrayCumSum", itself), ("arrayEnumerate", itself),
                             ("arrayDistinct", itself), ("arrayCompact", itself), ("arrayPopBack", lambda n: n - 1)]:
        yield Family(function, f"SELECT length({function}(range({{0}})))", each, answer)
    yield Family("arrayConcat", "SELECT length(arrayConcat(range({0}), range({0}), range({0}), range({0})))", each, lambda n: 4 * n)
    yield Family("arrayZip", "SELECT length(arrayZip(range({0}), range({0})))", each, itself)
    yield Family("arrayShingles", "SELECT length(arrayShingles(range({0}), 1000))", [2000, 100_000, 1_000_000], lambda n: n - 999)
    yield Family("arrayFlatten", "SELECT length(arrayFlatten(arrayWithConstant(1000, range({0}))))", [1000, 1_000_000], lambda n: n * 1000)
    yield Family("arrayMap", "SELECT length(arrayMap(x -> x + 1, range({0})))", each, itself)
    yield Family("arrayMap text", "SELECT length(arrayMap(x -> repeat('x', 1000), range({0})))", each[:3], itself)
    yield Family("arrayMap array", "SELECT length(arrayMap(x -> range(1000), range({0})))", each[:3], itself)
    yield Family("toString", "SELECT length(toString(range({0})))", each, nothing)
    yield Family("range of rows", "SELECT sum(length(range({1}))) FROM numbers({0})", [(100, 1000), (8192, 100_000), (100, 10_000_000)],
                 lambda n, m: n * m)
    yield Family("arrayJoin", "SELECT count() FROM (SELECT arrayJoin(range({1})) FROM numbers({0}))",
                 [(100, 1000), (10, 1_000_000), (100, 10_000_000)], lambda n, m: n * m)
    yield Family("ARRAY JOIN", "SELECT count() FROM numbers({0}) ARRAY JOIN range({1}) AS x",
                 [(100, 1000), (10, 1_000_000), (100, 10_000_000)], lambda n, m: n * m)
    yield Family("ARRAY JOIN text", "SELECT sum(length(s)) FROM (SELECT repeat('x', 100000) AS s, range({0}) AS a) ARRAY JOIN a",
                 [100, 100_000, 1_000_000], nothing)
    yield Family("mapFromArrays", "SELECT length(mapFromArrays(range({0}), range({0})))", each[:3], itself)
    yield from sets()
    yield from maps()


def sets():
    """Functions that tell elements apart, which takes more than the elements; ranges that overlap."""
    each = [1000, 100_000, -2_000_000, -10_000_000]
    for function, answer in [("arrayUnion", lambda n: n), ("arrayIntersect", lambda n: n), ("arraySymmetricDifference", lambda n: 0),
                             ("arrayExcept", lambda n: 0)]:
        yield Family(function, f"SELECT length({function}(range({{0}}), range({{0}})))", each, answer)
    for function in ["arrayEnumerateUniq", "arrayEnumerateDense", "arrayEnumerateUniqRanked"]:
        yield Family(function, f"SELECT length({function}(range({{0}})))", each, lambda n: n)
    yield Family("arrayUniq", "SELECT arrayUniq(range({0}))", each, lambda n: n)
    yield Family("arrayZipUnaligned", "SELECT length(arrayZipUnaligned(range({0}), range(10)))", [1000, 1_000_000, 20_000_000], lambda n: n)
    yield Family("arrayReduce", "SELECT length(arrayReduce('groupArray', range({0})))", [1000, 1_000_000, 20_000_000], lambda n: n)
    yield Family("arrayReduceInRanges", "SELECT length(arrayReduceInRanges('sum', arrayMap(x -> (1, 1000), range({0})), range(1000)))",
                 [100, 10_000, -1_000_000], lambda n: n)
    yield Family("damerauLevenshteinDistance", "SELECT damerauLevenshteinDistance(repeat('a', {0}), repeat('b', {0}))", [1000, -20_000, -65_000],
                 lambda n: n)
    yield Family("bitmapToArray", "SELECT length(bitmapToArray(bitmapBuild(range({0}))))", [1000, 1_000_000, -20_000_000], lambda n: n)


def maps():
    each = [1000, 100_000, -5_000_000]
    entries = "mapFromArrays(range({0}), range({0}))"
    for function, times in [("mapAdd", 1), ("mapUpdate", 1), ("mapConcat", 2)]:
        yield Family(function, f"SELECT length({function}({entries}, {entries}))", each, (lambda times: lambda n: n * times)(times))
    for call in ["mapSort({0})", "mapReverseSort({0})", "mapApply((k, v) -> (k, v + 1), {0})", "mapFilter((k, v) -> 1, {0})"]:
        yield Family(call.split("(")[0], f"SELECT length({call.replace('{0}', entries)})", each, lambda n: n)
    for call in ["{0}", "mapSort({0})", "mapConcat({0}, {0})", "mapUpdate({0}, {0})"]:
        one = "mapFromArrays(range({1}), range({1}))"
        yield Family("rows of maps", f"SELECT count() FROM (SELECT {call.replace('{0}', one)} AS m FROM numbers({{0}})) WHERE length(m) > 0",
                     [(100, 100), (1000, 10_000), (10_000, 10_000)], lambda n, _: n)


def aggregates():
    each = [100_000, 2_000_000, -20_000_000]
    itself = lambda n: n  # noqa: E731
    numbers = " FROM numbers({0})"
    for name, text, answer in [
        ("GROUP BY", "SELECT count() FROM (SELECT number, count() FROM numbers({0}) GROUP BY number)", itself),
        ("GROUP BY text", "SELECT count() FROM (SELECT toString(number) AS t, count() FROM numbers({0}) GROUP BY t)", itself),
        ("GROUP BY states", "SELECT count() FROM (SELECT number, groupArray(number) FROM numbers({0}) GROUP BY number)", itself),
        ("GROUP BY uniq", "SELECT count() FROM (SELECT intDiv(number, 4) AS k, uniq(number) FROM numbers({0}) GROUP BY k)", nothing),
        ("DISTINCT", "SELECT count() FROM (SELECT DISTINCT toString(number) AS t FROM numbers({0}))", itself),
        ("uniqExact", "SELECT uniqExact(number)" + numbers, itself),
        ("uniqExact text", "SELECT uniqExact(toString(number))" + numbers, itself),
        ("groupArray", "SELECT length(groupArray(number))" + numbers, itself),
        ("groupArray text", "SELECT length(groupArray(concat('a text of some length ', toString(number))))" + numbers, itself),
        ("groupUniqArray", "SELECT length(groupUniqArray(number))" + numbers, itself),
        ("groupConcat", "SELECT length(groupConcat(',')(toString(number)))" + numbers, nothing),
        ("groupArray of arrays", "SELECT length(groupArray(range(100)))" + numbers, itself),
        ("quantileExact", "SELECT quantileExact(0.5)(number) >= 0" + numbers, lambda n: 1),
        ("median", "SELECT median(number) >= 0" + numbers, lambda n: 1),
        ("topK", "SELECT length(topK(10)(number))" + numbers, nothing),
        ("sumMap", "SELECT length(sumMap([number], [number]).1)" + numbers, nothing),
        ("scalar subquery", "SELECT length((SELECT groupArray(number) FROM numbers({0})))", itself),
        ("IN subquery", "SELECT count() FROM numbers({0}) WHERE number IN (SELECT number * 2 FROM numbers({0}))", lambda n: n // 2),
        ("ORDER BY", "SELECT max(number) FROM (SELECT number FROM numbers({0}) ORDER BY cityHash64(number))", lambda n: n - 1),
        ("ORDER BY text", "SELECT count() FROM (SELECT repeat(toString(number), 20) AS t FROM numbers({0}) ORDER BY t)", nothing),
        ("window", "SELECT max(s) >= 0 FROM (SELECT sum(number) OVER (ORDER BY number) AS s FROM numbers({0}))", lambda n: 1),
        ("window by key", "SELECT max(s) > 0 FROM (SELECT row_number() OVER (PARTITION BY number % 10 ORDER BY number DESC) AS s FROM numbers({0}))",
         lambda n: 1),
        ("JOIN", "SELECT count() FROM numbers({0}) AS a JOIN numbers({0}) AS b ON a.number = b.number", itself),
        ("JOIN text", "SELECT count() FROM (SELECT toString(number) AS t FROM numbers({0})) AS a "
         "JOIN (SELECT toString(number) AS t, repeat('x', 100) AS v FROM numbers({0})) AS b ON a.t = b.t", itself),
        ("JOIN of many", "SELECT count() FROM (SELECT number % 10 AS k FROM numbers(intDiv({0}, 100))) AS a "
         "JOIN (SELECT number % 10 AS k FROM numbers(intDiv({0}, 100))) AS b ON a.k = b.k", lambda n: (n // 100) ** 2 // 10),
        ("CROSS JOIN", "SELECT count() FROM numbers(intDiv({0}, 100)) AS a CROSS JOIN numbers(1000) AS b", lambda n: n * 10),
        ("UNION DISTINCT", "SELECT count() FROM (SELECT number FROM numbers({0}) UNION DISTINCT SELECT number + 1 FROM numbers({0}))",
         lambda n: n + 1),
    ]:
        yield Family(name, text, each, answer)


def answers():
    """What is small until it is written."""
    for name in ("JSONColumns", "JSONColumnsWithMetadata", "JSONCompactColumns"):
        yield Family(f"rows held back by {name}", f"SELECT number, repeat('x', 100000) FROM numbers({{0}}) FORMAT {name}", [10, 20_000], nothing)
    for name in ("TSV", "RowBinary", "JSONEachRow"):
        yield Family(f"zeros of a FixedString as {name}", f"SELECT toFixedString('a', 16000000) FROM numbers({{0}}) FORMAT {name}", [1, 20], nothing)
    yield Family("a list of FixedString", "SELECT arrayResize([toFixedString('a', 16000000)], {0}) FORMAT RowBinary", [1, 1000], nothing)
    yield Family("bits of a FixedString", "SELECT length(bitNot(toFixedString('a', {0})))", [1000, 16_000_000], lambda n: n)
    yield Family("a pair of lists never equal", "SELECT count() FROM numbers({0}) AS a CROSS JOIN numbers({0}) AS b WHERE a.number + b.number = 3",
                 [1000, -1_000_000], lambda n: 4 if n == 1000 else TIMED_OUT)


def inserts():
    memory = "CREATE OR REPLACE TABLE m (n UInt64, s String) ENGINE = Memory"
    tree = "CREATE OR REPLACE TABLE t (n UInt64, s String) ENGINE = MergeTree ORDER BY n"
    wide = "repeat(repeat('y', 1000), intDiv({0}, 1000))"
    for name, setup, table in [("Memory", memory, "m"), ("MergeTree", tree, "t")]:
        yield Family(f"INSERT a row into {name}", f"INSERT INTO {table} SELECT 1, {wide}", [1_000_000, 60_000_000, 900_000_000], lambda n: "", setup)
        yield Family(f"INSERT rows into {name}", f"INSERT INTO {table} SELECT number, repeat('y', 1000) FROM numbers({{0}})",
                     [10_000, 400_000, -4_000_000], lambda n: "", setup)
        yield Family(f"INSERT wide rows into {name}", f"INSERT INTO {table} SELECT number, repeat('y', 1000000) FROM numbers({{0}})",
                     [10, 100, 1000], lambda n: "", setup)


def files(folder):
    """Files that are small and become large."""
    line = folder / "line.csv.gz"
    with gzip.open(line, "wb", compresslevel=1) as out:
        for _ in range(512):
            out.write(b"x" * MIB)
    yield Family("one line of CSV", "SELECT sum(length(s)) FROM file('line.csv.gz', 'CSV', 's String')", [1], nothing)
    yield Family("one line as a string", "SELECT sum(length(line)) FROM file('line.csv.gz', 'LineAsString', 'line String')", [1], nothing)
    yield Family("one raw blob", "SELECT sum(length(blob)) FROM file('line.csv.gz', 'RawBLOB', 'blob String')", [1], nothing)
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        print("SKIPPED Parquet bombs: Python has no pyarrow")
        return
    lists = arrow.table({"a": arrow.array([[7] * 2_000_000] * 40, arrow.list_(arrow.int64()))})
    parquet.write_table(lists, folder / "lists.parquet", compression="zstd")
    texts_of = arrow.DictionaryArray.from_arrays(arrow.array([0] * 3000, arrow.int32()), arrow.array(["x" * MIB]))
    parquet.write_table(arrow.table({"s": texts_of}), folder / "dictionary.parquet", compression="zstd")
    yield Family("lists of Parquet", "SELECT sum(length(a)) FROM file('lists.parquet')", [1], lambda _: 80_000_000)
    yield Family("dictionary of Parquet", "SELECT sum(length(s)) FROM file('dictionary.parquet')", [1], lambda _: 3000 * MIB)
    yield Family("sorted dictionary of Parquet", "SELECT length(s) FROM file('dictionary.parquet') ORDER BY s LIMIT 1", [1], lambda _: MIB)
    yield Family("grouped dictionary of Parquet", "SELECT count() FROM (SELECT s, count() FROM file('dictionary.parquet') GROUP BY s)", [1],
                 lambda _: 1)


class Server:
    """The server, and how much memory it has."""

    def __init__(self, binary, folder, limit, planted=""):
        self.folder, self.limit, self.planted = folder, limit, planted
        self.binary = binary
        self.start()

    def start(self):
        folder = self.folder
        with socket.socket() as door:
            door.bind(("127.0.0.1", 0))
            self.port = door.getsockname()[1]
        config = folder / "server.toml"
        config.write_text(f"memory_bytes = {self.limit}\n")
        (folder / "data/user_files").mkdir(parents=True)
        command = [self.binary, "server", "--path", str(folder / "data"), "--config", str(config), "--listen", f"127.0.0.1:{self.port}"]
        self.log = open(folder / "server.log", "w")
        bounded = lambda: resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))  # noqa: E731
        environment = {**os.environ, "GRISTMILL_PLANTED": self.planted}
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, preexec_fn=bounded,
                                        env=environment)

    def wait(self):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                if self.ask("SELECT 1", 5)[1] == "1":
                    return
            except OSError:
                time.sleep(0.1)
        raise SystemExit("the server does not answer")

    def ask(self, sql, seconds, **settings):
        """(code or 0, answer)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        try:
            connection.request("POST", "/?" + urlencode(settings), body=sql.encode())
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace").strip()
            return int(answer.getheader("X-ClickHouse-Exception-Code") or 0), text
        finally:
            connection.close()

    def memory(self, field):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(field + r":\s+(\d+) kB", status)[1]) << 10

    def forget_peak(self):
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def is_dead(self):
        return self.process.poll() is not None


class Beside(threading.Thread):
    """`SELECT 1`, again and again."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.stop, self.failed, self.done, self.slowest = server, threading.Event(), [], 0, 0.0

    def run(self):
        while not self.stop.wait(0.5):
            started = time.monotonic()
            try:
                code, text = self.server.ask("SELECT 1", BESIDE_SECONDS)
                if text != "1":
                    self.failed.append(f"code {code}: {text[:200]}")
            except OSError as error:
                if not self.stop.is_set():
                    self.failed.append(f"no answer: {error}")
            self.done, self.slowest = self.done + 1, max(self.slowest, time.monotonic() - started)


class Trial:
    """All statements against one server."""

    def __init__(self, server, amount):
        self.server, self.amount, self.peaks, self.wrong, self.counts = server, amount, [], [], {}

    def fail(self, sql, why):
        self.wrong.append(f"{why}: {sql[:200]}")
        print(f"WRONG {self.wrong[-1]}", flush=True)

    def run(self, name, sql, answer, limit=None):
        seconds = STATEMENT_SECONDS["short" if answer is TIMED_OUT else self.amount]
        bound = self.server.limit * 1.15 + 200 * MIB
        if limit:
            bound = min(bound, self.server.memory("VmRSS") + limit * 1.15 + 200 * MIB)
        self.server.forget_peak()
        settings = {"max_execution_time": seconds, **({"max_memory_usage": limit} if limit else {})}
        started = time.monotonic()
        try:
            code, text = self.server.ask(sql, seconds + 60, **settings)
        except OSError as error:
            return self.fail(sql, f"no answer ({error})")
        if self.server.is_dead():
            return self.fail(sql, f"the server ended with {self.server.process.returncode}")
        peak = self.server.memory("VmHWM")
        self.peaks.append((peak, name, sql, code))
        took = time.monotonic() - started
        print(f"{peak / MIB:7.0f} MiB {took:6.1f} s {code or 'ok':>4} {name}{' limited' if limit else ''}: {sql[:110]}", flush=True)
        self.counts[code] = self.counts.get(code, 0) + 1
        if peak > bound:
            self.fail(sql, f"{peak / MIB:.0f} MiB resident, {bound / MIB:.0f} MiB allowed")
        if answer is TIMED_OUT:
            if code != TIMEOUT_EXCEEDED or took > seconds + LATE_SECONDS_MAX:
                self.fail(sql, f"code {code} after {took:.0f} s, {seconds} s were allowed")
            return None
        if code == TIMEOUT_EXCEEDED and self.amount == "short":
            return None
        if code == 0 and answer is not None and text != str(answer):
            self.fail(sql, f"answered {text[:100]}, not {answer}")
        if code not in {0, MEMORY_LIMIT_EXCEEDED} | TOO_LARGE:
            self.fail(sql, f"error {code}: {text[:300]}")
        return None

    def family(self, family):
        statements = list(family.statements(self.amount == "long"))
        for sql, answer in statements:
            self.prepare(family)
            self.run(family.name, sql, answer)
            if self.server.is_dead():
                return
        # One that passes its own limit, and only that.
        if len(statements) > 2:
            self.prepare(family)
            self.run(family.name, *statements[-2], limit=STATEMENT_LIMIT)
            self.prepare(family)

    def prepare(self, family):
        if family.setup and not self.server.is_dead():
            code, text = self.server.ask(family.setup, 60)
            if code:
                self.fail(family.setup, text)


def trial(binary, limit, amount, word):
    folder = Path(tempfile.mkdtemp(prefix="explosions-"))
    server = Server(binary, folder, limit)
    try:
        server.wait()
        tried = Trial(server, amount)
        beside = Beside(server)
        beside.start()
        families = [*texts(), *arrays(), *aggregates(), *answers(), *inserts(), *files(folder / "data/user_files")]
        for family in families:
            if word not in family.name:
                continue
            tried.family(family)
            if server.is_dead():
                shutil.rmtree(folder / "data", ignore_errors=True)
                server.start()
                server.wait()
                list(files(folder / "data/user_files"))
        beside.stop.set()
        beside.join(BESIDE_SECONDS)
        tried.wrong += [f"SELECT 1 beside them: {why}" for why in beside.failed[:5]]
        print(f"limit {limit / MIB:.0f} MiB; at rest {server.memory('VmRSS') / MIB:.0f} MiB; {beside.done} times SELECT 1 beside, "
              f"slowest {beside.slowest:.1f} s; codes {json.dumps(tried.counts)}; highest:")
        for peak, name, sql, code in sorted(tried.peaks)[-12:]:
            print(f"{peak / MIB:7.0f} MiB {code or 'ok':>4} {name}: {sql[:100]}")
        return tried
    finally:
        server.process.kill()
        server.process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def planted(binary, limit):
    """A server that refuses nobody, which a debug build can be: whether the bound is found broken."""
    folder = Path(tempfile.mkdtemp(prefix="explosions-"))
    server = Server(binary, folder, limit, PLANTED)
    try:
        server.wait()
        tried = Trial(server, "short")
        tried.run("planted", "SELECT length(arrayResize([1], 150000000))", 150_000_000)
        return bool(tried.wrong)
    finally:
        server.process.kill()
        server.process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    binary = sys.argv[1]
    amount = sys.argv[2] if len(sys.argv) > 2 else "short"
    word = sys.argv[3] if len(sys.argv) > 3 else ""
    tried = [trial(binary, limit, amount, word) for limit in LIMITS[amount]]
    wrong = [why for one in tried for why in one.wrong]
    if "debug" not in Path(binary).parts:
        print("SKIPPED planted mistake: a release build has none")
    elif not word and not planted(binary, LIMITS[amount][0]):
        wrong.append(f"{PLANTED} was not noticed")
    for why in wrong:
        print(f"WRONG {why}")
    statements = sum(len(one.peaks) for one in tried)
    print(f"explosions: {statements - len(wrong)} passed, {len(wrong)} failed")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
