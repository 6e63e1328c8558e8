"""Medians, ratios, and rows for docs/performance.md."""

import argparse
import datetime
import os
import platform
import statistics
import subprocess

HEADER = (
    "\n| date | commit | machine | command | measure | Gristmill | ClickHouse | ratio |\n"
    "|---|---|---|---|---|---|---|---|\n"
)


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--cache", required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--append-to")
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


class Report:
    def __init__(self, command):
        self.command, self.rows = command, []

    def add(self, measure, ours, theirs, unit):
        """Medians of both; the ratio says how many times ClickHouse's figure is ours: above 1 is better."""
        mine, other = statistics.median(ours), statistics.median(theirs)
        scale, shown = {"s": (1, "s"), "ms": (1000, "ms"), "MB": (1e-6, "MB")}[unit]
        ratio = other / mine if mine else float("inf")
        self.rows.append((measure, f"{mine * scale:.2f} {shown}", f"{other * scale:.2f} {shown}", f"{ratio:.2f}x"))
        print(f"{measure:48} {self.rows[-1][1]:>12} {self.rows[-1][2]:>12} {self.rows[-1][3]:>8}", flush=True)

    def append_to(self, path):
        if not path:
            return
        today = datetime.date.today().isoformat()
        with open(path, "a") as file:
            file.write(HEADER)
            for row in self.rows:
                file.write(f"| {today} | {commit()} | {machine()} | {self.command} | {' | '.join(row)} |\n")
        print(f"appended {len(self.rows)} rows to {path}")


def heading():
    print(f"{'':48} {'Gristmill':>12} {'ClickHouse':>12} {'ratio':>8}")
