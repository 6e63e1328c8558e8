"""cargo xtask bench query: questions over tables loaded once: hits of a web counter, TPC-H, posts; in turns, medians.

`--rows 1000000` means five million hits, scale factor 1 of TPC-H, a million posts. A ratio above 1 is ClickHouse's time
over ours; the geometric mean is over each suite.
"""

import statistics
import sys

import load_once
import peers
import posts
import report
import suites


def main():
    args = report.arguments(__doc__)
    out = report.Report("query", f"--rows {args.rows} --rounds {args.rounds} --threads {args.threads}")
    report.heading(12)
    different = []
    for suite in suites.suites(args.rows):
        folders = suites.loaded(args.binary, args.cache, suite)
        ratios = []
        for number, (question, ours, theirs, same) in enumerate(
            suites.measure(args.binary, suite, folders, args.threads, args.rounds), 1
        ):
            out.add(f"{suite.name} {number}", ours, theirs, "ms")
            ratios.append(statistics.median(theirs) / statistics.median(ours))
            if not same:
                different.append(f"{suite.name} {number}: {question}")
        mean = suites.geometric_mean(ratios)
        out.add_ratio(f"{suite.name}: geometric mean of {len(ratios)}", "geometric mean", mean)
        worst = sorted(range(len(ratios)), key=lambda at: ratios[at])[:10]
        print("slowest against ClickHouse:", ", ".join(f"{at + 1} ({ratios[at]:.2f}x)" for at in worst), flush=True)
    about_posts(args, out)
    for line in different:
        print("another answer:", line[:200])
    out.append_to(args.docs)
    sys.exit(1 if different else 0)


def about_posts(args, out):
    bucket = peers.generated(args.binary, args.cache, "posts", ["posts", "--rows", str(args.rows), "--seed", "1"])
    with peers.Endpoint(args.binary, bucket) as endpoint:
        ours, theirs = load_once.tables(args, endpoint.url)
        questions = posts.questions(endpoint.url)
        setup = ["SYSTEM STOP MERGES posts", f"SET max_threads = {args.threads}"]
        statements = setup + [sql for _, sql in questions] * 2
        mine, other = [], []
        for _ in range(args.rounds):
            mine.append(peers.gristmill(args.binary, ours, statements).seconds[len(setup) + len(questions):])
            other.append(peers.chdb(theirs, statements).seconds[len(setup) + len(questions):])
        for index, (name, _) in enumerate(questions):
            out.add(name, [run[index] for run in mine], [run[index] for run in other], "ms")


main()
