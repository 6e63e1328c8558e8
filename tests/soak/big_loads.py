#!/usr/bin/env python3
"""Loads that are much larger than the memory they may use: 12 GB of CSV out of 12 objects, and a Parquet file of 300 columns.

Usage: big_loads.py BINARY [CSV_GIGABYTES] [PARQUET_ROWS] [csv|parquet]

The CSV files exist nowhere: an S3 endpoint in this process makes their bytes as they are asked for, from one block of whole lines a
file, which it repeats. The Parquet file is written by pyarrow in row groups of its default size (one, unless there are more than
1,048,576 rows), by gristmill itself where there is no pyarrow. Each is loaded into a sorted MergeTree table by one INSERT SELECT with
`max_memory_usage = '1Gi'`. Checked: the rows, sums and checksums of columns, first and last rows in the order of the key, all
rows of some keys; the process never has more than 1.15 GiB and 200 MiB. Reported: seconds, MB of source a second, peak memory.
"""
import heapq
import http.server
import random
import re
import shutil
import sys
import tempfile
import threading
import time
import zlib
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

sys.path.insert(0, str(Path(__file__).parents[1] / "oracle"))
from shell import Shell  # noqa: E402

MEMORY_LIMIT = 1 << 30
RESIDENT_MAX = 1.15 * MEMORY_LIMIT + (200 << 20)
FILES, BLOCK_BYTES = 12, 1 << 20
STRUCTURE = "id UInt64, user UInt32, at DateTime(''UTC''), amount Int64, price Decimal(12, 2), text String"
CREATE_CSV = """CREATE TABLE csv (id UInt64, user UInt32, at DateTime('UTC'), amount Int64, price Decimal(12, 2), text String)
ENGINE = MergeTree ORDER BY (user, at, id)"""
CSV_SUMS = "SELECT count(), sum(id), sum(user), sum(toUnixTimestamp(at)), sum(amount), sum(price), sum(CRC32(text)) FROM csv"
USERS = 50_000
COLUMNS = 300
# Greater than the rows, and prime: products modulo it are all different.
PRIME = 1_000_003
KINDS = ["Int64", "Int32", "Float64", "String", "DateTime('UTC')", "Nullable(Int64)"]


class Wrong(Exception):
    """What does not hold, and the figures."""


class Lines:
    """One file: a block of whole lines, repeated."""

    def __init__(self, number, size):
        dice, rows, lines, length = random.Random(number), [], [], 0
        while length < BLOCK_BYTES:
            price = dice.randrange(-10**9, 10**9)
            words = f'"quoted", {dice.randrange(10**9)}\nand {dice.choice("abcdef") * dice.randrange(40)}'
            row = (number * 1_000_000 + len(rows), dice.randrange(USERS), 1_600_000_000 + dice.randrange(10**8),
                   dice.randrange(-10**9, 10**9), price, words)
            sign, cents = "-" * (price < 0), abs(price)
            text = row[5].replace('"', '""')
            line = f'{row[0]},{row[1]},{row[2]},{row[3]},{sign}{cents // 100}.{cents % 100:02},"{text}"\n'.encode()
            rows.append(row)
            lines.append(line)
            length += len(line)
        self.rows, self.block = rows, memoryview(b"".join(lines))
        self.repeats = max(1, round(size / len(self.block)))
        self.size = self.repeats * len(self.block)

    def write(self, out, start, end):
        """The bytes from `start` to before `end`."""
        while start < end:
            at = start % len(self.block)
            piece = self.block[at:at + end - start]
            out.write(piece)
            start += len(piece)

    def sums(self):
        columns = [1] + [0] * 6
        for at, values in enumerate(zip(*self.rows)):
            columns[at + 1] = sum(values) if at < 5 else sum(zlib.crc32(text.encode()) for text in values)
        columns[0] = len(self.rows)
        return [value * self.repeats for value in columns]


class Bucket(http.server.BaseHTTPRequestHandler):
    """As much of S3 as a reader asks for: a listing, sizes, ranges."""

    protocol_version, files = "HTTP/1.1", {}

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        url = urlsplit(self.path)
        if "list-type" in parse_qs(url.query):
            return self.list(parse_qs(url.query).get("prefix", [""])[0])
        lines = self.files.get(url.path.rsplit("/", 1)[-1])
        if lines is None:
            return self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        wanted = re.match(r"bytes=(\d+)-(\d*)$", self.headers.get("Range", ""))
        start, end = 0, lines.size
        if wanted:
            start, end = int(wanted[1]), min(int(wanted[2] or lines.size) + 1, lines.size)
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(end - start))
        self.send_header("ETag", f'"{lines.size}"')
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        self.send_header("Accept-Ranges", "bytes")
        if wanted:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{lines.size}")
        self.end_headers()
        if self.command == "GET":
            try:
                lines.write(self.wfile, start, end)
            except OSError:
                self.close_connection = True

    def list(self, prefix):
        found = "".join(
            f"<Contents><Key>{name}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;{lines.size}&quot;</ETag>"
            f"<Size>{lines.size}</Size><StorageClass>STANDARD</StorageClass></Contents>"
            for name, lines in sorted(self.files.items()) if name.startswith(prefix)
        )
        self.answer(200, ('<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
                          f"<Name>bucket</Name><Prefix>{prefix}</Prefix><KeyCount>{len(self.files)}</KeyCount><MaxKeys>1000</MaxKeys>"
                          f"<IsTruncated>false</IsTruncated>{found}</ListBucketResult>").encode())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


def expect(what, found, wanted):
    wanted = [[str(cell) for cell in row] for row in wanted]
    if found != wanted:
        raise Wrong(f"{what}: {found[:3]} instead of {wanted[:3]}")


def peak_bytes(shell):
    status = Path(f"/proc/{shell.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) * 1024


def load(binary, path, create, insert, megabytes):
    """The shell after the load, and a line of its figures."""
    shell = Shell(binary, path, [("max_memory_usage", "'1Gi'")])
    shell.query(create)
    started = time.monotonic()
    shell.query(insert)
    seconds = time.monotonic() - started
    peak, stored = peak_bytes(shell), sum(file.stat().st_size for file in Path(path).rglob("*.parquet"))
    print(f"{megabytes:.0f} MB in {seconds:.1f} s, {megabytes / seconds:.1f} MB/s, peak memory {peak / 1e6:.0f} MB, "
          f"{stored / 1e6:.0f} MB on disk", flush=True)
    return shell, peak


def check_peak(what, peak):
    if peak > RESIDENT_MAX:
        raise Wrong(f"{what}: {peak / 1e6:.0f} MB were resident, the limit is {RESIDENT_MAX / 1e6:.0f} MB")


def cents(value):
    return f"{'-' * (value < 0)}{abs(value) // 100}.{abs(value) % 100:02}".rstrip("0").rstrip(".")


def load_csv(binary, path, gigabytes):
    files = [Lines(number, gigabytes * 1e9 / FILES) for number in range(FILES)]
    Bucket.files = {f"part-{number:02}.csv": lines for number, lines in enumerate(files)}
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Bucket)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    source = f"s3('http://127.0.0.1:{server.server_address[1]}/bucket/*.csv', NOSIGN, 'CSV', '{STRUCTURE}')"
    print(f"CSV: {FILES} files of {files[0].size / 1e6:.1f} MB", flush=True)
    shell, peak = load(binary, path, CREATE_CSV, f"INSERT INTO csv SELECT * FROM {source}", sum(lines.size for lines in files) / 1e6)
    server.shutdown()
    sums = [sum(column) for column in zip(*(lines.sums() for lines in files))]
    expect("sums", shell.query(CSV_SUMS), [sums[:5] + [cents(sums[5])] + sums[6:]])
    # The keys in their order, with how many rows each has.
    keys = [((user, at, id), lines.repeats) for lines in files for id, user, at, *_ in lines.rows]
    for order, chosen in (("ASC", heapq.nsmallest(2, keys)), ("DESC", heapq.nlargest(2, keys))):
        wanted = [key for key, repeats in chosen for _ in range(repeats)]
        way = ", ".join(f"{name} {order}" for name in ("user", "at", "id"))
        found = shell.query(f"SELECT user, toUnixTimestamp(at), id FROM csv ORDER BY {way} LIMIT {len(wanted)}")
        expect(f"the first in order {order}", found, wanted)
    users = random.Random(0).sample(range(USERS), 5)
    wanted = [[*key, repeats] for key, repeats in sorted(keys) if key[0] in users]
    found = shell.query(f"SELECT user, toUnixTimestamp(at), id, count() FROM csv WHERE user IN ({', '.join(map(str, users))}) "
                        "GROUP BY user, at, id ORDER BY user, at, id")
    expect("all rows of some keys", found, wanted)
    shell.close()
    check_peak("CSV", peak)
    return len(["sums", "first", "last", "some keys", "peak"])


def factor(column):
    return 7919 + 2 * column


def number_at(row, column):
    return row * factor(column) % PRIME


def wide_sql(rows):
    """The SELECT that makes the rows, for where there is no pyarrow."""
    forms = ["toInt64({})", "toInt32({})", "{} / 4", "concat('text ', toString({}))", "toDateTime(1600000000 + {}, 'UTC')",
             "nullIf(toInt64({}) % 7, 0)"]
    columns = (forms[at % 6].format(f"(number * {factor(at)} % {PRIME})") + f" AS c{at}" for at in range(COLUMNS))
    return f"SELECT {', '.join(columns)} FROM numbers({rows})"


def write_wide(binary, file, rows):
    try:
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq
    except ImportError:
        shell = Shell(binary)
        shell.query(f"INSERT INTO FUNCTION file('{file}', 'Parquet') {wide_sql(rows)}")
        shell.close()
        return "gristmill"

    def column(at):
        products = pc.multiply(numbers, factor(at))
        values = pc.subtract(products, pc.multiply(pc.divide(products, PRIME), PRIME))
        if at % 6 == 5:
            sevenths = pc.subtract(values, pc.multiply(pc.divide(values, 7), 7))
            return pc.if_else(pc.equal(sevenths, 0), pa.scalar(None, pa.int64()), sevenths)
        return [lambda: values, lambda: pc.cast(values, pa.int32()), lambda: pc.divide(pc.cast(values, pa.float64()), 4.0),
                lambda: pc.binary_join_element_wise("text", pc.cast(values, pa.string()), " "),
                lambda: pc.cast(pc.add(values, 1_600_000_000), pa.timestamp("s", "UTC"))][at % 6]()

    numbers = pa.array(range(rows), pa.int64())
    pq.write_table(pa.table({f"c{at}": column(at) for at in range(COLUMNS)}), file)
    return "pyarrow"


def load_parquet(binary, path, rows):
    file = Path(path) / "wide.parquet"
    writer = write_wide(binary, file, rows)
    print(f"Parquet: {COLUMNS} columns, {rows} rows, {file.stat().st_size / 1e6:.0f} MB, written by {writer}", flush=True)
    create = f"CREATE TABLE wide ({', '.join(f'c{at} {KINDS[at % 6]}' for at in range(COLUMNS))}) ENGINE = MergeTree ORDER BY c0"
    insert = f"INSERT INTO wide SELECT * FROM file('{file}', 'Parquet')"
    shell, peak = load(binary, Path(path) / "db", create, insert, file.stat().st_size / 1e6)
    # Some of each kind, spread over the file.
    asked = [at + 6 * group for group in (0, 17, 49) for at in range(6)]
    forms = ["sum({})", "sum({})", "sum({})", "sum(CRC32({}))", "sum(toUnixTimestamp({}))",
             "sum({}) * 1000000000 + countIf({} IS NULL)"]
    wanted = [sum(true_value(row, at) for row in range(rows)) for at in asked]
    wanted = [f"{value / 4:.2f}".rstrip("0").rstrip(".") if at % 6 == 2 else value for at, value in zip(asked, wanted)]
    sums = ", ".join(forms[at % 6].replace("{}", f"c{at}") for at in asked)
    expect("sums", shell.query(f"SELECT count(), {sums} FROM wide"), [[rows, *wanted]])
    firsts = heapq.nsmallest(5, range(rows), key=lambda row: number_at(row, 0))
    found = shell.query("SELECT c0, c3, c297 FROM wide ORDER BY c0 LIMIT 5")
    expect("the first in order", found, [[number_at(row, 0), f"text {number_at(row, 3)}", f"text {number_at(row, 297)}"] for row in firsts])
    shell.close()
    check_peak("Parquet", peak)
    return len(["sums", "first", "peak"])


def true_value(row, at):
    """What a row adds to the sum of its column; NULLs are counted beside the sum."""
    value = number_at(row, at)
    if at % 6 == 3:
        return zlib.crc32(f"text {value}".encode())
    if at % 6 == 4:
        return 1_600_000_000 + value
    if at % 6 == 5:
        return value % 7 * 1_000_000_000 + (value % 7 == 0)
    return value


def main():
    arguments = sys.argv[1:] + [""] * 4
    binary, gigabytes, rows = arguments[0], float(arguments[1] or 12), int(arguments[2] or 420_000)
    passed, failed = 0, []
    for name, part in (("csv", lambda path: load_csv(binary, path, gigabytes)), ("parquet", lambda path: load_parquet(binary, path, rows))):
        if arguments[3] not in ("", name):
            continue
        path = tempfile.mkdtemp(prefix=f"gristmill-big-{name}-")
        try:
            passed += part(path)
        except Exception as error:
            failed.append(f"{name}: {type(error).__name__}: {error}")
        # Even of a failure gigabytes are not kept.
        shutil.rmtree(path, ignore_errors=True)
    print("".join(f"{problem}\n" for problem in failed) + f"{passed} passed, {len(failed)} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
