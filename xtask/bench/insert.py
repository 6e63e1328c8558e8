"""cargo xtask bench insert: small INSERTs, one connection and many, beside the bare fdatasync of the disk.

The shapes are those of a published study of StarRocks: 1,000 rows as 1,000 statements, as 10, as one, and as INSERT SELECT.
"""

import os
import shutil
import statistics

import inserts
import plot
import report

FSYNC = "fsync_after_insert = 1, fsync_part_directory = 1"
# Statements, rows of each, SELECT, times it is repeated in a round so that there are percentiles.
SHAPES = [
    ("1000 x 1 row", 1000, 1, False, 1),
    ("10 x 100 rows", 10, 100, False, 5),
    ("1 x 1000 rows", 1, 1000, False, 20),
    ("INSERT SELECT 1000 rows", 1, 1000, True, 20),
]
COLUMNS = [4, 50]
# StarRocks 4.0, four columns, total seconds: shared-data and shared-nothing. Another machine; for the eye, not for a ratio.
STARROCKS_SECONDS = {"1000 x 1 row": (64.39, 100.1), "10 x 100 rows": (0.823, 1.006), "1 x 1000 rows": (0.326, 0.354),
                     "INSERT SELECT 1000 rows": (0.250, 0.277)}
CONNECTIONS = [1, 2, 4, 8, 16, 32, 64]
# Of all connections together. ClickHouse makes a part of each, and a run should end; fewer parts are in its favour.
STATEMENTS_OF_ALL, STATEMENTS_OF_CLICKHOUSE = 4096, 640


class Sides:
    """Gristmill, ClickHouse with fsync, ClickHouse without; nobody keeps one place in the order."""

    def __init__(self, args):
        self.args, self.order = args, ["ours", "fsync", "unsafe"]

    def fresh(self):
        path = os.path.join(self.args.cache, "inserts")
        shutil.rmtree(path, ignore_errors=True)
        return path

    def round(self, workload, of_clickhouse):
        binary, runs = self.args.binary, {}
        for side in self.order:
            if side == "ours":
                runs[side] = inserts.gristmill(binary, self.fresh(), workload)
            else:
                runs[side] = inserts.chdb(binary, self.fresh(), of_clickhouse, FSYNC if side == "fsync" else None)
        self.order = self.order[1:] + self.order[:1]
        self.fresh()
        return runs

    def rounds(self, workload, of_clickhouse=None):
        """Runs of each side, by round."""
        done = [self.round(workload, of_clickhouse or workload) for _ in range(self.args.rounds)]
        return {side: [runs[side] for runs in done] for side in self.order}


def shapes(sides, out):
    for columns in COLUMNS:
        for name, statements, rows, select, repeats in SHAPES:
            runs = sides.rounds(inserts.Workload(statements * repeats, rows, columns, select=select))
            for peer, with_what in (("fsync", "with fsync"), ("unsafe", "without")):
                out.add_statements(
                    f"{name}, {columns} columns, ClickHouse {with_what}",
                    [run.every() for run in runs["ours"]], [run.every() for run in runs[peer]], repeats)
            if columns == 4:
                shared_data, shared_nothing = STARROCKS_SECONDS[name]
                print(f"    StarRocks' study, elsewhere: {shared_data} s shared-data, {shared_nothing} s shared-nothing")


def concurrency(sides, out):
    per_second = {side: [] for side in sides.order}
    for connections in CONNECTIONS:
        of_each = [inserts.Workload(statements // connections, connections=connections)
                   for statements in (STATEMENTS_OF_ALL, STATEMENTS_OF_CLICKHOUSE)]
        runs = sides.rounds(*of_each)
        for side in per_second:
            per_second[side].append(statistics.median(run.per_second() for run in runs[side]))
        ours = runs["ours"]
        records = statistics.median(run.closing["log_records"] for run in ours)
        name = f"{connections} writers" if connections > 1 else "1 writer"
        for peer, with_what in (("fsync", "with fsync"), ("unsafe", "without")):
            out.add_rate(f"{name} x 1 row, ClickHouse {with_what}", per_second["ours"][-1], per_second[peer][-1])
        out.add_latency(f"{name}, a statement", [run.every() for run in ours], [run.every() for run in runs["fsync"]])
        out.add_ours(f"{name}, statements a log record (one fdatasync each)", ("mean", "", f"{STATEMENTS_OF_ALL / records:.2f}"))
    return per_second


def main():
    args = report.arguments(__doc__)
    out, sides = report.Report("insert", f"--rounds {args.rounds}"), Sides(args)
    report.heading()
    bare = [inserts.bare_fdatasync(args.cache) for _ in range(args.rounds)]
    out.add_ours("bare fdatasync of 200 bytes", *report.latency(report.of_all(bare)))
    shapes(sides, out)
    per_second = concurrency(sides, out)
    if args.images:
        plot.lines(
            os.path.join(args.images, "insert-concurrency.svg"),
            title="Single-row INSERTs a second, each answered when it is done",
            note=f"{report.machine()}; no network; ClickHouse: chdb, one session a thread",
            x_label="connections", y_label="statements/s", xs=CONNECTIONS, steps=True,
            series=[("Gristmill, durable", per_second["ours"]),
                    ("ClickHouse, fsync", per_second["fsync"]),
                    ("ClickHouse, no fsync", per_second["unsafe"])])
    out.append_to(args.docs)


main()
