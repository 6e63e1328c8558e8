"""cargo xtask bench load: INSERT SELECT from S3 into a sorted table, then queries over both; in turns, medians."""

import os
import shutil

import peers
import posts
import report


def memory_bytes():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def tuned(threads):
    """The guide's formula: rows never end a block, bytes do; blocks of RAM / (3 x insert threads)."""
    return (
        f" SETTINGS max_insert_threads = {threads}, min_insert_block_size_rows = 0,"
        f" min_insert_block_size_bytes = {memory_bytes() // (3 * threads)}"
    )


class Folders:
    def __init__(self, cache):
        self.cache = cache

    def fresh(self, name):
        path = os.path.join(self.cache, name)
        shutil.rmtree(path, ignore_errors=True)
        return path


def check_equal(name, ours, theirs):
    if ours.strip() != theirs.strip():
        raise SystemExit(f"{name}: different answers\nGristmill:\n{ours}\nClickHouse:\n{theirs}")


def load_posts(args, url, out):
    threads, folders = f"SET max_threads = {args.threads}", Folders(args.cache)
    insert = f"INSERT INTO posts SELECT * FROM {posts.source(url)}"
    times = {"ours": [], "default": [], "tuned": []}
    peaks, sizes = {"ours": [], "default": []}, {"ours": [], "default": []}
    for _ in range(args.rounds):
        ours = peers.gristmill(args.binary, folders.fresh("gm"), [threads, posts.CREATE, insert, posts.ACTIVE_BYTES])
        times["ours"].append(ours.seconds[2])
        peaks["ours"].append(ours.peak_bytes)
        sizes["ours"].append(int(ours.answers[3]))
        theirs = peers.chdb(folders.fresh("ch"), [threads, posts.CREATE, insert, posts.ACTIVE_BYTES])
        times["default"].append(theirs.seconds[2])
        peaks["default"].append(theirs.peak_bytes)
        sizes["default"].append(int(theirs.answers[3]))
        best = peers.chdb(folders.fresh("ch-tuned"), [threads, posts.CREATE, insert + tuned(args.threads)])
        times["tuned"].append(best.seconds[2])
    out.add("INSERT SELECT posts, defaults", times["ours"], times["default"], "s")
    out.add("INSERT SELECT posts, ClickHouse tuned by the guide", times["ours"], times["tuned"], "s")
    out.add("bytes of active parts after it", sizes["ours"], sizes["default"], "MB")
    out.add("peak memory of the process", peaks["ours"], peaks["default"], "MB")


def ask(args, url, out):
    questions = posts.questions(url)
    statements = [f"SET max_threads = {args.threads}"] + [sql for _, sql in questions] * 2
    ours, theirs = [], []
    for round_number in range(args.rounds):
        mine = peers.gristmill(args.binary, os.path.join(args.cache, "gm"), statements)
        other = peers.chdb(os.path.join(args.cache, "ch"), statements)
        # The first pass warms up; the second is counted.
        ours.append(mine.seconds[1 + len(questions):])
        theirs.append(other.seconds[1 + len(questions):])
        if round_number == 0:
            for (name, _), a, b in zip(questions, mine.answers[1:], other.answers[1:]):
                check_equal(name, a, b)
    for index, (name, _) in enumerate(questions):
        out.add(name, [run[index] for run in ours], [run[index] for run in theirs], "ms")


def load_lineitem(args, url, out):
    threads, folders = f"SET max_threads = {args.threads}", Folders(args.cache)
    insert = f"INSERT INTO lineitem SELECT * FROM {posts.lineitem_source(url)}"
    ours, theirs = [], []
    for _ in range(args.rounds):
        ours.append(peers.gristmill(args.binary, folders.fresh("gm-tpch"), [threads, posts.LINEITEM, insert]).seconds[2])
        theirs.append(peers.chdb(folders.fresh("ch-tpch"), [threads, posts.LINEITEM, insert]).seconds[2])
    out.add("INSERT SELECT TPC-H lineitem SF 0.5", ours, theirs, "s")


def main():
    args = report.arguments(__doc__)
    bucket = peers.generated(args.binary, args.cache, "posts", ["posts", "--rows", str(args.rows), "--seed", "1"])
    peers.generated(args.binary, args.cache, "lineitem", ["tpch", "--scale", "0.5"])
    out = report.Report(f"bench load --rows {args.rows} --rounds {args.rounds} --threads {args.threads}")
    with peers.Endpoint(args.binary, bucket) as endpoint:
        report.heading()
        load_posts(args, endpoint.url, out)
        ask(args, endpoint.url, out)
        load_lineitem(args, endpoint.url, out)
    out.append_to(args.append_to)


main()
