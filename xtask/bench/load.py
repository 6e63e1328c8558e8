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
    small = insert + " SETTINGS max_memory_usage = '1Gi'"
    statements = [threads, posts.CREATE, insert, posts.ACTIVE_BYTES]
    small_statements = [threads, posts.CREATE, small]
    tuned_statements = [threads, posts.CREATE, insert + tuned(args.threads)]
    decoded_statements = [threads, posts.CREATE, insert + " SETTINGS adopt = 0"]
    final_statements = [threads, posts.CREATE, insert, "OPTIMIZE TABLE posts FINAL", posts.ACTIVE_BYTES]
    sides = {
        "ours": lambda: peers.gristmill(args.binary, folders.fresh("gm"), statements),
        "default": lambda: peers.chdb(folders.fresh("ch"), statements),
        "tuned": lambda: peers.chdb(folders.fresh("ch-tuned"), tuned_statements),
        "small": lambda: peers.gristmill(args.binary, folders.fresh("gm-small"), small_statements),
        "decoded": lambda: peers.gristmill(args.binary, folders.fresh("gm-decoded"), decoded_statements),
        "final": lambda: peers.gristmill(args.binary, folders.fresh("gm-final"), final_statements),
        "default final": lambda: peers.chdb(folders.fresh("ch-final"), final_statements),
    }
    runs = {name: [] for name in sides}
    order = list(sides)
    for _ in range(args.rounds):
        for name in order:
            runs[name].append(sides[name]())
        # What ran before leaves warm memory and unwritten pages to the next: nobody keeps one place.
        order = order[1:] + order[:1]

    def figures(who, read):
        return [read(run) for run in runs[who]]

    def compare(name, ours, theirs, read, unit):
        out.add(name, figures(ours, read), figures(theirs, read), unit)

    compare("INSERT SELECT posts, defaults", "ours", "default", lambda run: run.seconds[2], "s")
    compare("INSERT SELECT posts, ClickHouse tuned by the guide", "ours", "tuned", lambda run: run.seconds[2], "s")
    compare("processor seconds of the process", "ours", "default", lambda run: run.cpu_seconds, "s")
    compare("bytes of active parts after it", "ours", "default", lambda run: int(run.answers[3]), "MB")
    compare("peak memory of the process", "ours", "default", lambda run: run.peak_bytes, "MB")
    compare("INSERT SELECT posts, ours within 1 GiB", "small", "default", lambda run: run.seconds[2], "s")
    compare("peak memory of it", "small", "default", lambda run: run.peak_bytes, "MB")
    compare("INSERT SELECT posts, ours with adopt = 0", "decoded", "default", lambda run: run.seconds[2], "s")
    until_merged = lambda run: run.seconds[2] + run.seconds[3]
    compare("INSERT SELECT posts until OPTIMIZE FINAL has ended", "final", "default final", until_merged, "s")
    compare("processor seconds of both", "final", "default final", lambda run: run.cpu_seconds, "s")
    compare("bytes of active parts after both", "final", "default final", lambda run: int(run.answers[4]), "MB")


def ask(args, url, out):
    questions = posts.questions(url)
    # Neither side merges meanwhile: the tables are as the load left them.
    setup = ["SYSTEM STOP MERGES posts", f"SET max_threads = {args.threads}"]
    statements = setup + [sql for _, sql in questions] * 2
    ours, theirs = [], []
    for round_number in range(args.rounds):
        mine = peers.gristmill(args.binary, os.path.join(args.cache, "gm"), statements)
        other = peers.chdb(os.path.join(args.cache, "ch"), statements)
        # The first pass warms up; the second is counted.
        ours.append(mine.seconds[len(setup) + len(questions):])
        theirs.append(other.seconds[len(setup) + len(questions):])
        if round_number == 0:
            for (name, _), a, b in zip(questions, mine.answers[len(setup):], other.answers[len(setup):]):
                check_equal(name, a, b)
    for index, (name, _) in enumerate(questions):
        out.add(name, [run[index] for run in ours], [run[index] for run in theirs], "ms")


def load_lineitem(args, url, out):
    threads, folders = f"SET max_threads = {args.threads}", Folders(args.cache)
    insert = f"INSERT INTO lineitem SELECT * FROM {posts.lineitem_source(url)}"
    statements = [threads, posts.LINEITEM, insert, "OPTIMIZE TABLE lineitem FINAL"]
    decoded = [threads, posts.LINEITEM, insert + " SETTINGS adopt = 0"]
    ours, ours_decoded, theirs = [], [], []
    for _ in range(args.rounds):
        ours.append(peers.gristmill(args.binary, folders.fresh("gm-tpch"), statements).seconds[2:])
        ours_decoded.append(peers.gristmill(args.binary, folders.fresh("gm-tpch"), decoded).seconds[2])
        theirs.append(peers.chdb(folders.fresh("ch-tpch"), statements).seconds[2:])
    inserted = [run[0] for run in theirs]
    out.add("INSERT SELECT TPC-H lineitem SF 0.5", [run[0] for run in ours], inserted, "s")
    out.add("INSERT SELECT lineitem, ours with adopt = 0", ours_decoded, inserted, "s")
    out.add("INSERT SELECT lineitem until OPTIMIZE FINAL has ended", [sum(run) for run in ours], [sum(run) for run in theirs], "s")


def main():
    args = report.arguments(__doc__)
    bucket = peers.generated(args.binary, args.cache, "posts", ["posts", "--rows", str(args.rows), "--seed", "1"])
    peers.generated(args.binary, args.cache, "lineitem", ["tpch", "--tables", "lineitem", "--scale", "0.5"])
    out = report.Report("load", f"--rows {args.rows} --rounds {args.rounds} --threads {args.threads}")
    with peers.Endpoint(args.binary, bucket) as endpoint:
        report.heading(12)
        load_posts(args, endpoint.url, out)
        ask(args, endpoint.url, out)
        load_lineitem(args, endpoint.url, out)
    out.append_to(args.docs)


main()
