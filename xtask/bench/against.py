"""cargo xtask bench against --before BINARY: loads, inserts, questions and HTTP of two builds, in turns, medians.

Each build has a database of its own, which it filled itself. A ratio above 1 says that the build before takes longer. `--rows`
is as for `bench query`. Questions are asked of stored pages (`nothing kept`) and of pages kept without compression.
"""

import os
import shutil
import statistics

import door
import inserts
import peers
import posts
import report
import suites

LINEITEM_ROWS_FOR_EACH = 3
SUITES_KEPT = {"nothing kept": "SET use_uncompressed_cache = 0", "kept pages": "SET use_uncompressed_cache = 1"}
ROWS = {"1 row": inserts.Workload(1000), "1 row, 8 connections": inserts.Workload(500, connections=8),
        "1000 rows": inserts.Workload(200, rows=1000)}
REQUESTS = 1000


def fresh(args, name):
    folder = os.path.join(args.cache, "against", name)
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def loads(args, builds, out):
    scale = str(LINEITEM_ROWS_FOR_EACH * args.rows / 6_000_000)
    peers.generated(args.binary, args.cache, "posts", ["posts", "--rows", str(args.rows), "--seed", "1"])
    bucket = peers.generated(args.binary, args.cache, "against-tpch", ["tpch", "--scale", scale])
    jobs = {
        "posts": (posts.CREATE, f"INSERT INTO posts SELECT * FROM file('{bucket}/bench/posts/*.parquet')"),
        "lineitem": (posts.LINEITEM, f"INSERT INTO lineitem SELECT * FROM file('{bucket}/bench/against-tpch/lineitem-*.parquet')"),
    }
    for name, (create, load) in jobs.items():
        seconds, merging, memory = ({build: [] for build in builds} for _ in range(3))
        for _ in range(args.rounds):
            for build, binary in builds.items():
                statements = [create, f"SYSTEM STOP MERGES {name}", load, f"SYSTEM START MERGES {name}", f"OPTIMIZE TABLE {name} FINAL"]
                run = peers.gristmill(binary, fresh(args, "load"), statements)
                seconds[build].append(run.seconds[2])
                merging[build].append(run.seconds[4])
                memory[build].append(run.peak_bytes)
        out.add(f"load of {name}", *seconds.values(), "s")
        out.add(f"OPTIMIZE FINAL of {name}", *merging.values(), "s")
        out.add(f"most memory of both, {name}", *memory.values(), "MB")


def single(args, builds, out):
    for name, workload in ROWS.items():
        micros = {build: [] for build in builds}
        for _ in range(args.rounds):
            for build, binary in builds.items():
                every = inserts.gristmill(binary, fresh(args, "insert"), workload).every()
                micros[build].append(statistics.median(every) / 1e6)
        out.add(f"INSERT of {name}, median", *micros.values(), "ms")


def questions(args, builds, out):
    for suite in suites.suites(args.rows):
        folders = {}
        for build, binary in builds.items():
            own = os.path.join(args.cache, "against", f"{build}-{suite.name}-{args.rows}")
            os.makedirs(own, exist_ok=True)
            if not os.path.islink(os.path.join(own, "bucket")):
                os.symlink(os.path.join(args.cache, "bucket"), os.path.join(own, "bucket"))
            folders[build] = suites.loaded(binary, own, suite, ["gm"])[0]
        asked = suite.questions()
        for kept, setting in SUITES_KEPT.items():
            setup = [f"SYSTEM STOP MERGES {table}" for table in suite.tables] + [f"SET max_threads = {args.threads}", setting]
            seconds = {build: [] for build in builds}
            for _ in range(args.rounds):
                for build, binary in builds.items():
                    run = peers.gristmill(binary, folders[build], setup + asked * 2)
                    seconds[build].append(run.seconds[len(setup) + len(asked):])
            ratios = []
            for number in range(len(asked)):
                now, before = ([run[number] for run in seconds[build]] for build in builds)
                ratios.append(statistics.median(before) / statistics.median(now))
            totals = [[sum(run) for run in seconds[build]] for build in builds]
            out.add(f"{suite.name}, {len(asked)} questions, {kept}: all", *totals, "s")
            out.add_ratio(f"{suite.name}, {kept}: geometric mean", "geometric mean", suites.geometric_mean(ratios))


def over_http(args, builds, out):
    workload = inserts.Workload(REQUESTS)
    create, (statements,) = inserts.text(args.binary, workload, None)
    requests = {
        "GET /ping": [door.post("", "/ping", "GET")] * REQUESTS,
        "SELECT 1": [door.post("SELECT 1")] * REQUESTS,
        "INSERT of 1 row": [door.post(statement) for statement in statements],
    }
    micros = {name: {build: [] for build in builds} for name in requests}
    for _ in range(args.rounds):
        for build, binary in builds.items():
            with door.Server(binary, fresh(args, "http")) as server:
                server.ask(create)
                for name, sent in requests.items():
                    took = door.one_after_the_other(server, sent)[workload.warmup:]
                    micros[name][build].append(statistics.median(took) / 1e6)
    for name, of_builds in micros.items():
        out.add(f"{name} over HTTP, median", *of_builds.values(), "ms")


def main():
    args = report.arguments(__doc__, lambda parser: parser.add_argument("--before", required=True, help="the other binary"))
    builds = {"now": args.binary, "before": args.before}
    out = report.Report("against", f"--rows {args.rows} --rounds {args.rounds} --threads {args.threads}")
    report.heading(12, "before")
    for part in (loads, single, questions, over_http):
        part(args, builds, out)
    shutil.rmtree(os.path.join(args.cache, "against", "load"), ignore_errors=True)
    out.append_to(args.docs)


main()
