"""docs/measurements/*.csv: what every run of every benchmark measured, a file a benchmark, a line a figure.

A run only appends. Its number tells it from others of the same day and commit. What has no value is empty.
"""

import csv
import os

ABOUT_RUN = ["run", "date", "commit", "machine", "command"]
ABOUT_FIGURE = ["measure", "figure", "unit"]
# What the other side of the comparison is called in a file.
OTHERS = {"against": "before"}


def columns(benchmark):
    return [*ABOUT_RUN, *ABOUT_FIGURE, "gristmill", OTHERS.get(benchmark, "clickhouse"), "ratio"]


def path_of(folder, benchmark):
    return os.path.join(folder, benchmark + ".csv")


def read(folder, benchmark):
    """Every line as a dictionary; none when nothing was measured yet."""
    path = path_of(folder, benchmark)
    if not os.path.exists(path):
        return []
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def append(folder, benchmark, about, figures):
    """Adds a run: `about` is its date, commit, machine and command, `figures` are the cells from `measure` on."""
    os.makedirs(folder, exist_ok=True)
    run = max((int(line["run"]) for line in read(folder, benchmark)), default=0) + 1
    path = path_of(folder, benchmark)
    is_new = not os.path.exists(path)
    with open(path, "a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(columns(benchmark))
        writer.writerows([run, *about, *figure] for figure in figures)
    return path


def newest(folder, benchmark):
    """The lines of the last run."""
    lines = read(folder, benchmark)
    return [line for line in lines if line["run"] == lines[-1]["run"]]
