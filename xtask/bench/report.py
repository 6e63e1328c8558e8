"""Medians and ratios of a run: printed while it goes, then appended to docs/measurements."""

import argparse
import datetime
import os
import platform
import statistics
import subprocess

import measurements
import page

PERCENTILES = {"median": 50, "p95": 95, "p99": 99}


def arguments(description, add_more=lambda parser: None):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--cache", required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--docs", help="folder for measurements, their page and plots; without it nothing is written")
    add_more(parser)
    parsed = parser.parse_args()
    parsed.images = os.path.join(parsed.docs, "images") if parsed.docs else None
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


def milliseconds(micros):
    """Median, 95th and 99th percentile, as text."""
    return [f"{percentile(micros, share) / 1000:.2f}" for share in PERCENTILES.values()]


def of_all(rounds):
    return [micros for of_round in rounds for micros in of_round]


class Report:
    """The figures of one run. The ratio stands beside the figure it is made of."""

    def __init__(self, benchmark, options):
        self.benchmark = benchmark
        # What is measured is what was there when the run began.
        self.about = [datetime.date.today().isoformat(), commit(), machine(), f"bench {benchmark} {options}"]
        self.figures = []

    def row(self, measure, figures, widths=(34, 34)):
        """Adds (figure, unit, ours, theirs, ratio) of one measure, each a text, and prints them in a line."""
        self.figures += [(measure, *figure) for figure in figures]
        sides = [", ".join(f"{figure[side]} {figure[1]}".strip() for figure in figures if figure[side]) or "-" for side in (2, 3)]
        ratio = next((figure[4] + "x" for figure in figures if figure[4]), "-")
        print(f"{measure:56} {sides[0]:>{widths[0]}} {sides[1]:>{widths[1]}} {ratio:>8}", flush=True)

    def add(self, measure, ours, theirs, unit):
        """Medians of both; the ratio says how many times ClickHouse's figure is ours: above 1 is better."""
        mine, other = statistics.median(ours), statistics.median(theirs)
        scale = {"s": 1, "ms": 1000, "MB": 1e-6}[unit]
        ratio = other / mine if mine else float("inf")
        self.row(measure, [("median", unit, f"{mine * scale:.2f}", f"{other * scale:.2f}", f"{ratio:.2f}")], (12, 12))

    def add_ours(self, measure, *figures):
        """Figures only we have: (figure, unit, value)."""
        self.row(measure, [(figure, unit, value, "", "") for figure, unit, value in figures])

    def add_ratio(self, measure, figure, ratio):
        """A ratio that is made of other rows."""
        self.row(measure, [(figure, "", "", "", f"{ratio:.2f}")])

    def add_statements(self, measure, ours, theirs, repeats=1):
        """Microseconds of statements, by round: percentiles over all of them, and the seconds of one pass of `repeats`."""
        totals = [statistics.median(sum(micros) for micros in rounds) / repeats / 1e6 for rounds in (ours, theirs)]
        shares = zip(PERCENTILES, milliseconds(of_all(ours)), milliseconds(of_all(theirs)))
        total = ("total", "s", f"{totals[0]:.3f}", f"{totals[1]:.3f}", f"{totals[1] / totals[0]:.2f}")
        self.row(measure, [(name, "ms", mine, other, "") for name, mine, other in shares] + [total])

    def add_latency(self, measure, ours, theirs):
        """The same without a total; the ratio is that of the medians."""
        both = [of_all(ours), of_all(theirs)]
        ratio = statistics.median(both[1]) / statistics.median(both[0])
        shares = zip(PERCENTILES, *map(milliseconds, both), (f"{ratio:.2f}", "", ""))
        self.row(measure, [(name, "ms", *cells) for name, *cells in shares])

    def add_rate(self, measure, ours, theirs):
        """Statements a second, where more is better: the ratio is ours divided by ClickHouse's."""
        self.row(measure, [("rate", "/s", f"{ours:.0f}", f"{theirs:.0f}", f"{ours / theirs:.2f}")])

    def append_to(self, docs):
        """Appends to the benchmark's file and writes its newest table into the page."""
        if not docs:
            return
        path = measurements.append(os.path.join(docs, "measurements"), self.benchmark, self.about, self.figures)
        print(f"appended {len(self.figures)} lines to {path}")
        page.write(docs)


def latency(micros):
    """Percentiles as `add_ours` takes them."""
    return [(name, "ms", value) for name, value in zip(PERCENTILES, milliseconds(micros))]


def heading(width=34, other="ClickHouse"):
    print(f"{'':56} {'Gristmill':>{width}} {other:>{width}} {'ratio':>8}")
