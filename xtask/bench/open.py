"""cargo xtask bench open: 10,000 parts opened and a point query planned; and commits that stay as fast as the first.

The parts are made once, one row and one partition each, and kept in the cache. Both sides open the folder in a process of
their own; ours is timed from its start to its end, ClickHouse's around session and first query, after its import. Then
--rows single-row INSERTs go through one process, and the latency of each 10,000 is plotted.
"""

import os
import re
import shutil
import statistics
import subprocess
import sys
import time

import inserts
import peers
import plot
import report

PARTS = 10_000
OPEN_SECONDS_MAX, PLAN_SECONDS_MAX = 1.0, 0.020
COMMITS_OF_A_POINT = 10_000
CREATE = "CREATE TABLE p (id UInt64, text String) ENGINE = MergeTree PARTITION BY id ORDER BY id"
FILL = (f"INSERT INTO p SELECT number, toString(number) FROM numbers({PARTS}) "
        "SETTINGS max_partitions_per_insert_block = 0")
COUNT = "SELECT count() FROM system.parts WHERE active AND table = 'p'"
# ClickHouse loads tables when they are asked for: a count that reads makes both sides know every part.
FIRST = "SELECT sum(id) FROM p WHERE id < 10"
PLANS = [f"EXPLAIN SELECT text FROM p WHERE id = {number}" for number in range(0, PARTS, PARTS // 40)]
CHDB_OPEN = r"""
import sys, time
from chdb import session
started = time.perf_counter()
opened = session.Session(sys.argv[1])
opened.query(sys.argv[2])
print(time.perf_counter() - started)
"""


def folders(args):
    """Folders with the parts, one a side; made once."""
    made = []
    for side, run in (("gm", lambda path, sql: peers.gristmill(args.binary, path, sql)), ("ch", peers.chdb)):
        path = os.path.join(args.cache, f"parts-{side}-{PARTS}")
        if not os.path.exists(path + ".complete"):
            shutil.rmtree(path, ignore_errors=True)
            started = time.perf_counter()
            found = run(path, [CREATE, "SYSTEM STOP MERGES p", FILL, COUNT]).answers[-1].strip()
            if found != str(PARTS):
                sys.exit(f"{path} has {found} parts instead of {PARTS}")
            print(f"made {path} in {time.perf_counter() - started:.0f} s", flush=True)
            open(path + ".complete", "w").close()
        made.append(path)
    return made


def gristmill_open(binary, path):
    started = time.perf_counter()
    subprocess.run([binary, "local", "--path", path, "-q", FIRST], check=True, capture_output=True,
                   stdin=subprocess.DEVNULL)
    return time.perf_counter() - started


def chdb_open(path):
    done = subprocess.run([sys.executable, "-c", CHDB_OPEN, path, FIRST], check=True, capture_output=True, text=True)
    return float(re.findall(r"[0-9.e-]+", done.stdout)[-1])


def many_parts(args, out):
    """Seconds of opening and of planning; the answers are the sides' medians of ours."""
    ours, theirs = folders(args)
    opened, other, planned, other_planned = [], [], [], []
    for _ in range(args.rounds):
        opened.append(gristmill_open(args.binary, ours))
        other.append(chdb_open(theirs))
        # The first statements of a process pay for what all later ones find warm.
        planned += peers.gristmill(args.binary, ours, PLANS).seconds[5:]
        other_planned += peers.chdb(theirs, PLANS).seconds[5:]
    out.add(f"open {PARTS} parts and read ten rows", opened, other, "s")
    out.add(f"plan a point query over {PARTS} parts", planned, other_planned, "ms")
    return statistics.median(opened), statistics.median(planned)


def commits(args, out):
    """Latency of commits from the first to the last."""
    path = os.path.join(args.cache, "commits")
    shutil.rmtree(path, ignore_errors=True)
    run = inserts.gristmill(args.binary, path, inserts.Workload(args.rows))
    micros = run.micros[0]
    shutil.rmtree(path, ignore_errors=True)
    of_a_point = min(COMMITS_OF_A_POINT, max(1, len(micros) // 10))
    points = [micros[first:first + of_a_point] for first in range(0, len(micros) - of_a_point + 1, of_a_point)]
    out.add_ours(f"commits 1 to {of_a_point}", *report.latency(points[0]))
    out.add_ours(f"the last {of_a_point} of {len(micros)} commits", *report.latency(points[-1]))
    out.add_ours("active parts at most, meanwhile", ("most", "", str(run.closing["parts_active_max"])))
    if args.images:
        plot.lines(
            os.path.join(args.images, "commit-latency.svg"),
            title=f"A single-row INSERT, from the first to number {len(micros)}",
            note=f"{report.machine()}; one connection; each durable when it is answered; of {of_a_point} each",
            x_label="INSERTs before", y_label="ms",
            xs=[number * of_a_point for number in range(len(points))],
            series=[(name, [report.percentile(point, share) / 1000 for point in points])
                    for name, share in (("median", 50), ("95 %", 95), ("99 %", 99))])


def main():
    args = report.arguments(__doc__)
    out = report.Report("open", f"--rows {args.rows} --rounds {args.rounds}")
    report.heading(12)
    open_seconds, plan_seconds = many_parts(args, out)
    commits(args, out)
    out.append_to(args.docs)
    if open_seconds > OPEN_SECONDS_MAX:
        sys.exit(f"opening {PARTS} parts took {open_seconds:.2f} s, the limit is {OPEN_SECONDS_MAX}")
    if plan_seconds > PLAN_SECONDS_MAX:
        sys.exit(f"planning over {PARTS} parts took {plan_seconds * 1000:.0f} ms, the limit is {PLAN_SECONDS_MAX * 1000:.0f}")


main()
