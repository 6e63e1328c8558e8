"""cargo xtask bench read: whole files read in place, from disk and from a store near and far; in turns, medians.

Every reading aggregates every column of the file (`wide, 3 columns` but three), so that nothing is skipped and both
answers can be compared. DuckDB reads the local files too, where it is installed: printed, not kept.
"""

import os
import statistics
import subprocess
import sys
import time

import peers
import plot
import report

NARROW = (
    "toUInt32(number) AS id, toUInt16(number % 1000) AS shop, toInt32(number * 7919 % 100003) AS item,"
    " toFloat64(number % 9973) / 8 AS price, toDate('2024-01-01') + number % 700 AS day,"
    " toDateTime('2024-01-01 00:00:00', 'UTC') + number AS made, concat('user', toString(number * 31 % 50021)) AS name,"
    " ['new', 'paid', 'sent', 'back'][number % 4 + 1] AS state, number % 3 = 0 AS big"
)
ALL_NARROW = "count(), sum(id), sum(shop), sum(item), sum(price), max(day), max(made), max(name), min(state), sum(big)"
WIDE_COLUMNS = 100
WIDE = ", ".join(
    f"toInt64(number * {i + 3} % 1000003) AS n{i}" if i % 4 else f"concat('v{i} ', toString(number * {i + 1} % 977)) AS n{i}"
    for i in range(WIDE_COLUMNS)
)
ALL_WIDE = ", ".join(f"sum(n{i})" if i % 4 else f"max(n{i})" for i in range(WIDE_COLUMNS))
THREE_WIDE = "sum(n1), max(n4), sum(n97)"
FILES = 4
LATENCY_MS = 30
THREADS = (1, 2, 4, 8, 16, 32, 64)
# Readings of the sweep: before any is counted, and of each number of threads in a round.
WARM_UP, REPEATS = 3, 3


class Kind:
    def __init__(self, name, folder, suffix, form, columns, rows, asked):
        self.name, self.folder, self.suffix, self.form = name, folder, suffix, form
        self.columns, self.rows, self.asked = columns, rows, asked


def kinds(rows):
    wide = rows // 10
    return [
        Kind("Parquet, narrow", "narrow-parquet", "parquet", "Parquet", NARROW, rows, ALL_NARROW),
        Kind("Parquet, wide", "wide-parquet", "parquet", "Parquet", WIDE, wide, ALL_WIDE),
        Kind("Parquet, wide, 3 columns", "wide-parquet", "parquet", "Parquet", WIDE, wide, THREE_WIDE),
        Kind("CSV", "narrow-csv", "csv", "CSVWithNames", NARROW, rows, ALL_NARROW),
        Kind("JSONEachRow", "narrow-json", "jsonl", "JSONEachRow", NARROW, rows, ALL_NARROW),
        Kind("CSV, gzip", "narrow-gzip", "csv.gz", "CSVWithNames", NARROW, rows, ALL_NARROW),
    ]


def made(cache, kind):
    """The folder of a kind's files, written by ClickHouse once."""
    folder = os.path.join(cache, "bucket", "bench", "read", kind.folder)
    stamp = os.path.join(folder, ".complete")
    if os.path.exists(stamp) and open(stamp).read() == str(kind.rows):
        return
    subprocess.run(["rm", "-rf", folder], check=True)
    os.makedirs(folder)
    share = kind.rows // FILES
    statements = [
        f"INSERT INTO FUNCTION file('{folder}/{i}.{kind.suffix}', '{kind.form}')"
        f" SELECT {kind.columns} FROM numbers({i * share}, {share})"
        for i in range(FILES)
    ]
    peers.chdb(os.path.join(cache, "read-made"), statements)
    with open(stamp, "w") as file:
        file.write(str(kind.rows))


def question(kind, place):
    """One reading of all files, from a folder or from a bucket."""
    form = f"'{kind.form}'"
    path = f"bench/read/{kind.folder}/*.{kind.suffix}"
    if place.startswith("http"):
        return f"SELECT {kind.asked} FROM s3('{place}/{path}', NOSIGN, {form})"
    return f"SELECT {kind.asked} FROM file('{place}/{path}', {form})"


def compare(args, out, title, place, repeats=2):
    """Each side in a process of its own; the first pass warms up."""
    asked = kinds(args.rows)
    statements = [f"SET max_threads = {args.threads}"] + [question(kind, place) for kind in asked] * repeats
    ours, theirs = [], []
    for round_number in range(args.rounds):
        sides = [
            lambda: ours.append(peers.gristmill(args.binary, os.path.join(args.cache, "read-gm"), statements)),
            lambda: theirs.append(peers.chdb(os.path.join(args.cache, "read-ch"), statements)),
        ]
        for side in sides if round_number % 2 == 0 else reversed(sides):
            side()
    for index, kind in enumerate(asked):
        at = 1 + (repeats - 1) * len(asked) + index
        mine, other = ours[0].answers[at].strip(), theirs[0].answers[at].strip()
        if not same(mine, other):
            sys.exit(f"{title}, {kind.name}: different answers\nGristmill:\n{mine}\nClickHouse:\n{other}")
        out.add(f"{title}: {kind.name}", [r.seconds[at] for r in ours], [r.seconds[at] for r in theirs], "ms")
    out.add(f"{title}: peak memory", [r.peak_bytes for r in ours], [r.peak_bytes for r in theirs], "MB")


def same(mine, other):
    """Equal texts; sums of floating point numbers may differ in the last digits."""
    pairs = list(zip(mine.split("\t"), other.split("\t")))
    return len(mine.split("\t")) == len(other.split("\t")) and all(a == b or close(a, b) for a, b in pairs)


def close(a, b):
    try:
        return abs(float(a) - float(b)) <= 1e-9 * max(abs(float(a)), abs(float(b)))
    except ValueError:
        return False


def duckdb(args):
    """The same readings of local files by DuckDB, as a second opinion."""
    try:
        import duckdb
    except ImportError:
        return
    bucket = os.path.join(args.cache, "bucket")
    connection = duckdb.connect(config={"threads": args.threads})
    for kind in kinds(args.rows):
        reader = {"Parquet": "read_parquet", "CSVWithNames": "read_csv", "JSONEachRow": "read_json"}[kind.form]
        path = f"{bucket}/bench/read/{kind.folder}/*.{kind.suffix}"
        asked = kind.asked.replace("count()", "count(*)").replace("sum(big)", "sum(big::INT)")
        asked = asked.replace("max(made)", "max(made)::VARCHAR")
        seconds = []
        for _ in range(args.rounds):
            started = time.perf_counter()
            connection.execute(f"SELECT {asked} FROM {reader}('{path}')").fetchall()
            seconds.append(time.perf_counter() - started)
        print(f"DuckDB, local: {kind.name:40} {sorted(seconds)[len(seconds) // 2] * 1000:10.2f} ms", flush=True)


def sweep(args, out, url):
    """One reading over the number of threads, against the default."""
    series = []
    for kind in (kind for kind in kinds(args.rows) if kind.name in ("Parquet, wide", "CSV")):
        reading = question(kind, url)
        # A process is slow at first, and the machine now and then: the default has its turn among the others, twice.
        turns = ["DEFAULT", *THREADS, "DEFAULT"]
        statements = [reading] * WARM_UP
        for threads in turns:
            statements += [f"SET max_threads = {threads}"] + [reading] * REPEATS
        rounds = [peers.gristmill(args.binary, os.path.join(args.cache, "read-gm"), statements) for _ in range(args.rounds)]

        def of_turn(turn):
            first = WARM_UP + turn * (REPEATS + 1) + 1
            return [seconds for r in rounds for seconds in r.seconds[first : first + REPEATS]]

        default = statistics.median(of_turn(0) + of_turn(len(turns) - 1))
        times = [statistics.median(of_turn(turn)) for turn in range(1, len(turns) - 1)]
        best = min(times)
        out.row(f"{LATENCY_MS} ms away, {kind.name}", [
            ("default threads", "ms", f"{default * 1000:.0f}", "", f"{best / default:.2f}"),
            ("best of 1 to 64 threads", "ms", f"{best * 1000:.0f}", "", "")])
        series += [(kind.name, times)]
    if args.images:
        plot.lines(os.path.join(args.images, "read-threads.svg"), f"Reading from a store {LATENCY_MS} ms away",
                   f"{args.threads} processors; seconds of one query over max_threads", "max_threads", "seconds",
                   list(THREADS), series, steps=True)


def main():
    args = report.arguments(__doc__)
    for kind in kinds(args.rows):
        made(args.cache, kind)
    bucket = os.path.join(args.cache, "bucket")
    out = report.Report("read", f"--rows {args.rows} --rounds {args.rounds} --threads {args.threads}")
    report.heading(12)
    compare(args, out, "local", bucket)
    duckdb(args)
    with peers.Endpoint(args.binary, bucket) as endpoint:
        compare(args, out, "S3, 0 ms", endpoint.url)
    with peers.Endpoint(args.binary, bucket, LATENCY_MS) as endpoint:
        compare(args, out, f"S3, {LATENCY_MS} ms", endpoint.url)
        sweep(args, out, endpoint.url)
    out.append_to(args.docs)


main()
