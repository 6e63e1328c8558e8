"""Question suites over tables loaded once into both databases: hits of a web counter, and TPC-H.

Columns have the types that ClickHouse infers from the files, spelled out for both. Loaded tables are kept in the cache.
"""

import math
import os
import shutil
import statistics

import peers

QUERIES = os.path.join(os.path.dirname(__file__), "../../tests/oracle/queries")
TPCH = {
    "lineitem": "l_orderkey, l_linenumber", "orders": "o_orderkey", "customer": "c_custkey", "part": "p_partkey",
    "partsupp": "ps_partkey, ps_suppkey", "supplier": "s_suppkey", "nation": "n_nationkey", "region": "r_regionkey",
}
HITS = {"hits": "CounterID, EventDate, UserID, EventTime, WatchID"}


class Suite:
    """Tables with their sort keys, where their files are, and the questions."""

    def __init__(self, name, tables, arguments):
        self.name, self.tables, self.arguments = name, tables, arguments

    def questions(self):
        with open(os.path.join(QUERIES, self.name + ".sql")) as file:
            return [line.strip().rstrip(";") for line in file if line.strip() and not line.startswith("--")]


def suites(rows):
    """Five hits for each of `rows`; a million rows is scale factor 1 of TPC-H."""
    return [
        Suite("hits", HITS, ["hits", "--rows", str(5 * rows)]),
        Suite("tpch", TPCH, ["tpch", "--scale", str(rows / 1_000_000)]),
    ]


def loaded(binary, cache, suite, sides=("gm", "ch")):
    """Folders of a Gristmill and a ClickHouse database that hold the suite's tables, merged."""
    bucket = peers.generated(binary, cache, "suite-" + suite.name, suite.arguments)
    files = os.path.join(bucket, "bench", "suite-" + suite.name)
    key = "-".join(suite.arguments).replace("--", "")
    folders = {side: os.path.join(cache, f"suite-{side}-{key}") for side in sides}
    missing = [side for side, path in folders.items() if not os.path.exists(path + ".complete")]
    if missing:
        statements = filling(cache, suite, files)
        for side in missing:
            shutil.rmtree(folders[side], ignore_errors=True)
            run = peers.chdb(folders[side], statements) if side == "ch" else peers.gristmill(binary, folders[side], statements)
            print(f"{suite.name}: loaded into {side} in {sum(run.seconds):.1f} s, peak {run.peak_bytes / 1e6:.0f} MB", flush=True)
            open(folders[side] + ".complete", "w").close()
    return [folders[side] for side in sides]


def filling(cache, suite, files):
    """CREATE TABLE and INSERT for every table."""
    statements = []
    described = peers.chdb(
        os.path.join(cache, "describe"),
        [f"DESCRIBE file('{files}/{table}-000.parquet') SETTINGS schema_inference_make_columns_nullable = 0" for table in suite.tables],
    ).answers
    for (table, key), answer in zip(suite.tables.items(), described):
        columns = [line.replace("\\'", "'").split("\t")[:2] for line in answer.strip().split("\n")]
        structure = ", ".join(f"{name} {kind}" for name, kind in columns)
        quoted = structure.replace("'", "''")
        statements += [
            f"CREATE TABLE {table} ({structure}) ENGINE = MergeTree ORDER BY ({key})",
            f"INSERT INTO {table} SELECT * FROM file('{files}/{table}-*.parquet', 'Parquet', '{quoted}')",
            f"OPTIMIZE TABLE {table} FINAL",
        ]
    return statements


def measure(binary, suite, folders, threads, rounds):
    """For each question: (question, our seconds by round, theirs, whether the answers are the same).

    Each round asks everything twice and counts the second time, so that files are in the page cache on both sides.
    """
    questions = suite.questions()
    setup = [f"SYSTEM STOP MERGES {table}" for table in suite.tables] + [f"SET max_threads = {threads}"]
    statements = setup + questions * 2
    first = len(setup) + len(questions)
    ours, theirs, same = [], [], []
    for _ in range(rounds):
        mine, other = peers.gristmill(binary, folders[0], statements), peers.chdb(folders[1], statements)
        ours.append(mine.seconds[first:])
        theirs.append(other.seconds[first:])
        same = [alike(a, b) for a, b in zip(mine.answers[first:], other.answers[first:])]
    return [
        (question, [run[i] for run in ours], [run[i] for run in theirs], same[i])
        for i, question in enumerate(questions)
    ]


def alike(mine, other):
    """The same cells; floating-point numbers to ten digits, because sums are added in another order."""
    rows = [[line.split("\t") for line in text.strip("\n").split("\n")] for text in (mine, other)]
    if [len(row) for row in rows[0]] != [len(row) for row in rows[1]]:
        return False
    return all(same_cell(a, b) for row, expected in zip(*rows) for a, b in zip(row, expected))


def same_cell(mine, other):
    if mine == other:
        return True
    try:
        return math.isclose(float(mine), float(other), rel_tol=1e-10)
    except ValueError:
        return False


def geometric_mean(ratios):
    return math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))
