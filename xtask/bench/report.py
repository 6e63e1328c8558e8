"""Medians, ratios, and rows for docs/performance.md."""

import argparse
import datetime
import os
import platform
import statistics
import subprocess

HEADER = (
    "\n| date | commit | machine | command | measure | Gristmill | {other} | ratio |\n"
    "|---|---|---|---|---|---|---|---|\n"
)


def arguments(description, add_more=lambda parser: None):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--cache", required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--append-to")
    parser.add_argument("--images", help="folder for plots; without it there are none")
    add_more(parser)
    parsed = parser.parse_args()
    os.makedirs(parsed.cache, exist_ok=True)
    return parsed


def machine():
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    model = platform.processor() or platform.machine()
    with open("/proc/cpuinfo") as file:
        names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    return f"{os.cpu_count()} x {names[0] if names else model}, {memory:.0f} GiB"


def commit():
    try:
        shown = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=True)
        return shown.stdout.strip()
    except subprocess.CalledProcessError:
        return "none"


def percentile(values, share):
    """The smallest value that `share` of all are not above."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)]


def latency(micros):
    """Median, 95th and 99th percentile."""
    figures = [percentile(micros, share) / 1000 for share in (50, 95, 99)]
    return " / ".join(f"{figure:.2f}" for figure in figures) + " ms"


class Report:
    def __init__(self, command, other="ClickHouse"):
        self.command, self.other, self.rows = command, other, []

    def add(self, measure, ours, theirs, unit):
        """Medians of both; the ratio says how many times ClickHouse's figure is ours: above 1 is better."""
        mine, other = statistics.median(ours), statistics.median(theirs)
        scale, shown = {"s": (1, "s"), "ms": (1000, "ms"), "MB": (1e-6, "MB")}[unit]
        ratio = other / mine if mine else float("inf")
        self.rows.append((measure, f"{mine * scale:.2f} {shown}", f"{other * scale:.2f} {shown}", f"{ratio:.2f}x"))
        print(f"{measure:48} {self.rows[-1][1]:>12} {self.rows[-1][2]:>12} {self.rows[-1][3]:>8}", flush=True)

    def row(self, measure, ours, theirs="-", ratio="-"):
        self.rows.append((measure, ours, theirs, ratio))
        print(f"{measure:64} {ours:>34} {theirs:>34} {ratio:>8}", flush=True)

    def add_ours(self, measure, ours):
        """A figure only we have."""
        self.row(measure, ours)

    def add_statements(self, measure, ours, theirs, repeats=1):
        """Microseconds of statements, by round: percentiles over all of them, and the seconds of one pass of `repeats`."""
        totals = [statistics.median(sum(micros) for micros in rounds) / repeats / 1e6 for rounds in (ours, theirs)]
        cells = [f"{latency([m for micros in rounds for m in micros])}; {total:.3f} s"
                 for rounds, total in zip((ours, theirs), totals)]
        self.row(measure, *cells, f"{totals[1] / totals[0]:.2f}x")

    def add_latency(self, measure, ours, theirs):
        """The same without a total; the ratio is that of the medians."""
        both = [[m for micros in rounds for m in micros] for rounds in (ours, theirs)]
        ratio = statistics.median(both[1]) / statistics.median(both[0])
        self.row(measure, latency(both[0]), latency(both[1]), f"{ratio:.2f}x")

    def add_rate(self, measure, ours, theirs):
        """Statements a second, where more is better: the ratio is ours divided by ClickHouse's."""
        self.row(measure, f"{ours:.0f}/s", f"{theirs:.0f}/s", f"{ours / theirs:.2f}x")

    def append_to(self, path):
        if not path:
            return
        today = datetime.date.today().isoformat()
        with open(path, "a") as file:
            file.write(HEADER.format(other=self.other))
            for row in self.rows:
                file.write(f"| {today} | {commit()} | {machine()} | {self.command} | {' | '.join(row)} |\n")
        print(f"appended {len(self.rows)} rows to {path}")


def heading(name_width=48, width=12, other="ClickHouse"):
    print(f"{'':{name_width}} {'Gristmill':>{width}} {other:>{width}} {'ratio':>8}")
