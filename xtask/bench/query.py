"""cargo xtask bench query: the questions alone, over tables loaded once; in turns, medians."""

import os

import load_once
import peers
import posts
import report


def main():
    args = report.arguments(__doc__)
    bucket = peers.generated(args.binary, args.cache, "posts", ["posts", "--rows", str(args.rows), "--seed", "1"])
    out = report.Report(f"bench query --rows {args.rows} --rounds {args.rounds} --threads {args.threads}")
    with peers.Endpoint(args.binary, bucket) as endpoint:
        ours, theirs = load_once.tables(args, endpoint.url)
        questions = posts.questions(endpoint.url)
        setup = ["SYSTEM STOP MERGES posts", f"SET max_threads = {args.threads}"]
        statements = setup + [sql for _, sql in questions] * 2
        mine, other = [], []
        for _ in range(args.rounds):
            mine.append(peers.gristmill(args.binary, ours, statements).seconds[len(setup) + len(questions):])
            other.append(peers.chdb(theirs, statements).seconds[len(setup) + len(questions):])
        report.heading()
        for index, (name, _) in enumerate(questions):
            out.add(name, [run[index] for run in mine], [run[index] for run in other], "ms")
    out.append_to(args.append_to)


main()
