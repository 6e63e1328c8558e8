"""The tables of docs/performance.md: the newest run of each benchmark, between two comments of the page.

`python3 xtask/bench/page.py docs` writes them again from docs/measurements; with `--check` it writes nothing and fails
if they differ. A ratio below 1 is bold: there we lose. Must not know: how anything is measured.
"""

import os
import re
import sys
import textwrap

import measurements

PLACE = re.compile(r"(<!-- newest: (\w+) -->\n).*?(<!-- end of \2 -->\n)", re.DOTALL)
LARGER = {"ms": ("s", 1000), "MB": ("GB", 1000), "kB": ("MB", 1000)}
WRITERS = (1, 8, 32, 64)
LINE_CHARS = 150
SUITES = {"hits": "hits of a web counter", "tpch": "TPC-H"}


class Run:
    """The newest run of a benchmark; figures are looked up by measure and name."""

    def __init__(self, folder, benchmark):
        self.lines = measurements.newest(folder, benchmark)
        self.other = measurements.columns(benchmark)[-2]
        self.by_name = {(line["measure"], line["figure"]): line for line in self.lines}

    def measures(self, pattern=""):
        """Those whose first figure's measure matches, in their order."""
        return [name for name in dict.fromkeys(line["measure"] for line in self.lines) if re.search(pattern, name)]

    def line(self, measure, figure):
        return self.by_name.get((measure, figure))

    def ours(self, measure, figure="median"):
        line = self.line(measure, figure)
        return value(line["gristmill"], line["unit"]) if line else "-"

    def theirs(self, measure, figure="median"):
        line = self.line(measure, figure)
        return value(line[self.other], line["unit"]) if line else "-"

    def ratio(self, measure, figure="median"):
        line = self.line(measure, figure)
        return times(line["ratio"]) if line else "-"

    def latency(self, measure, side="gristmill"):
        """Median, 95th and 99th percentile."""
        lines = [self.line(measure, share) for share in ("median", "p95", "p99")]
        return " / ".join(line[side] for line in lines) + " ms" if all(lines) else "-"

    def heading(self):
        """Where and when it was measured."""
        first = self.lines[0]
        commits = sorted({line["commit"].removesuffix("-dirty") for line in self.lines})
        return f"`cargo xtask {first['command']}`, {first['date']}, commit {', '.join(commits)}, {first['machine']}:\n\n"


def value(text, unit):
    """Three digits of the number, in a unit that keeps it below a thousand."""
    if not text:
        return "-"
    number = float(text)
    while unit in LARGER and number >= LARGER[unit][1]:
        unit, size = LARGER[unit]
        number /= size
    digits = 2 if number < 10 else 1 if number < 100 else 0
    if unit in ("", "/s"):
        return f"{number:,.0f}{unit}"
    return f"{number:.{digits}f} {unit}"


def times(ratio):
    if not ratio:
        return "-"
    digits = 2 if float(ratio) < 10 else 0
    shown = f"{float(ratio):.{digits}f}x"
    return f"**{shown}**" if float(ratio) < 1 else shown


def table(names, rows):
    lines = [names, ["---"] * len(names), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def load(run):
    rows = [[name, run.ours(name), run.theirs(name), run.ratio(name)] for name in run.measures()]
    return table(["", "Gristmill", "ClickHouse", "ratio"], rows)


def query(run):
    rows, lost = [], ""
    for suite, title in SUITES.items():
        found = {name: float(run.line(name, "median")["ratio"]) for name in run.measures(f"^{suite} \\d+$")}
        mean = next((times(line["ratio"]) for line in run.lines if line["measure"].startswith(f"{suite}: geometric")), "-")
        rows.append([title, str(len(found)), mean, str(sum(ratio >= 1 for ratio in found.values()))])
        below = sorted((ratio, name.split()[-1]) for name, ratio in found.items() if ratio < 1)
        text = f"* {title}: {', '.join(f'{name} ({ratio:.2f}x)' for ratio, name in below) or 'none'}."
        lost += textwrap.fill(text, LINE_CHARS, subsequent_indent="  ") + "\n"
    return table(["", "questions", "geometric mean", "ratio of 1 or more"], rows) + "\nQuestions with a ratio below 1:\n\n" + lost


def insert(run):
    def shape(name):
        cells = [f"{name}, {columns} columns, ClickHouse with fsync" for columns in (4, 50)]
        return [name] + [text for cell in cells
                         for text in (run.latency(cell), run.latency(cell, "clickhouse"), run.ratio(cell, "total"))]

    def writers(count):
        name = f"{count} writer" if count == 1 else f"{count} writers"
        fsync, without = f"{name} x 1 row, ClickHouse with fsync", f"{name} x 1 row, ClickHouse without"
        return [str(count), run.ours(fsync, "rate"), run.theirs(fsync, "rate"), run.ratio(fsync, "rate"),
                run.theirs(without, "rate"), run.latency(f"{name}, a statement")]

    shapes = [name.split(", ")[0] for name in run.measures(" 4 columns, ClickHouse with fsync$")]
    bare = run.latency("bare fdatasync of 200 bytes")
    return (
        table(["1,000 rows", "4 columns", "ClickHouse", "ratio", "50 columns", "ClickHouse", "ratio"], map(shape, shapes))
        + "\n" + table(["connections", "Gristmill", "ClickHouse", "ratio", "without fsync", "our statement"], map(writers, WRITERS))
        + f"\nA bare `fdatasync` of 200 bytes took {bare}.\n"
    )


def read(run):
    places = list(dict.fromkeys(name.split(": ")[0] for name in run.measures(": ")))
    kinds = list(dict.fromkeys(name.split(": ")[1] for name in run.measures(": ")))

    def cell(place, kind):
        return f"{run.ours(f'{place}: {kind}')}, {run.ratio(f'{place}: {kind}')}"

    text = table(["", *places], [[kind, *(cell(place, kind) for place in places)] for kind in kinds])
    sweeps = [
        f"{name} {run.ours(name, 'default threads')} and {run.ours(name, 'best of 1 to 64 threads')}"
        for name in run.measures("^[^:]*$")
    ]
    return text + f"\nWith the default `max_threads`, and with the best of 1 to 64: {'; '.join(sweeps)}.\n"


def http(run):
    one = "1000 x 1 row over HTTP, ClickHouse in process with fsync"
    statements = [[name, run.latency(name), "-"] for name in run.measures("^bare ")]
    statements += [["INSERT of a row", run.latency(one), "-"],
                   ["the same by ClickHouse in process, with fsync", run.latency(one, "clickhouse"), "-"]]
    statements += [[f"INSERT of a row, {name.split(' x ')[0]}", run.latency(name), run.ours(name, "rate")]
                   for name in run.measures("connections x 1 row$")]
    bodies = []
    for name in run.measures("streamed into"):
        body, target = re.fullmatch(r"(.*) streamed into (\w+),.*", name).groups()
        most = run.ours(f"{body.split(' of ')[1]} into {target}", "most memory")
        bodies.append([f"{body} into {target}", run.ours(name), run.theirs(name), run.ratio(name), most])
    crowd = [
        [name.split(", ")[-1], run.latency(name), run.latency(name.replace("SELECT 1", "a sum over a million rows"))]
        for name in run.measures("^SELECT 1, ")
    ]
    return (
        table(["", "a statement", "together"], statements)
        + "\n" + table(["body", "Gristmill", "ClickHouse", "ratio", "our most memory"], bodies)
        + "\n" + table(["on a new connection", "SELECT 1", "a sum over a million rows"], crowd)
    )


def opened(run):
    rows = [[name, run.ours(name), run.theirs(name), run.ratio(name)] for name in run.measures("^(open|plan)")]
    rows += [[name, run.latency(name), "-", "-"] for name in run.measures("commits")]
    rows += [[name, run.ours(name, "most"), "-", "-"] for name in run.measures("active parts")]
    return table(["", "Gristmill", "ClickHouse", "ratio"], rows)


def shared(run):
    def price(name, figure="price"):
        line = run.line(name, figure)
        return f"{float(line['ratio']):.2f}x" if line else "-"

    load = "load of posts, loopback"
    more = run.ours(f"{load}: peak memory above the folder's")
    loads = [["time", run.ours(load), price(f"{load}: shared root over folder"), run.theirs(load), run.ratio(load)],
             ["peak memory", run.ours(f"{load}: peak memory"), f"{more} more", run.theirs(f"{load}: peak memory"),
              run.ratio(f"{load}: peak memory")]]
    asked = []
    for name in run.measures("^[^:]*, cold, [0-9]+ ms$"):
        gain, warm = price(f"{name}: without read-ahead over with it", "gain"), name.replace(", cold, ", ", warm, ")
        asked.append([name, run.ours(name), run.theirs(name), run.ratio(name), gain, price(f"{warm}: shared root over folder")])
    return (
        table(["load of a million posts", "shared root", "over a folder", "ClickHouse, S3 disk", "ratio"], loads)
        + "\n" + table(["", "shared root", "ClickHouse, S3 disk", "ratio", "without read-ahead", "warm, over a folder"], asked)
    )


def scaled(run):
    rows = [[name.split(": ")[0], run.line(name, "speedup")["ratio"] + "x"] for name in run.measures(": one server over")]
    return table(["three servers beside one", "as fast"], rows)


SECTIONS = {"load": load, "query": query, "final": load, "insert": insert, "read": read, "http": http, "open": opened,
            "shared": shared, "scale": scaled}


def section(folder, benchmark):
    run = Run(folder, benchmark)
    return run.heading() + SECTIONS[benchmark](run) if run.lines else "Not measured yet.\n"


def with_tables(text, folder):
    return PLACE.sub(lambda place: place[1] + section(folder, place[2]) + place[3], text)


def write(docs):
    """Puts the newest tables into the page; tells whether it changed."""
    path = os.path.join(docs, "performance.md")
    with open(path) as file:
        before = file.read()
    after = with_tables(before, os.path.join(docs, "measurements"))
    if after != before:
        with open(path, "w") as file:
            file.write(after)
    return after != before


def main():
    docs = sys.argv[-1]
    if "--check" not in sys.argv:
        write(docs)
        return
    with open(os.path.join(docs, "performance.md")) as file:
        text = file.read()
    if with_tables(text, os.path.join(docs, "measurements")) != text:
        sys.exit(f"{docs}/performance.md does not show the newest measurements: run python3 xtask/bench/page.py {docs}")


if __name__ == "__main__":
    main()
