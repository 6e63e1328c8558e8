#!/usr/bin/env python3
"""The question suites (hits, TPC-H) at a small scale: Gristmill's answers against ClickHouse's.

Usage: suites_check.py BINARY [ROWS]     ROWS as for `cargo xtask bench query`; 20000 by default
"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../xtask/bench"))
import peers  # noqa: E402
import suites  # noqa: E402


def main():
    binary, rows = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
    asked, wrong = 0, []
    with tempfile.TemporaryDirectory() as cache:
        for suite in suites.suites(rows):
            ours, theirs = suites.loaded(binary, cache, suite)
            questions = suite.questions()
            for question, expected in zip(questions, peers.chdb(theirs, questions).answers):
                asked += 1
                try:
                    answer = peers.gristmill(binary, ours, [question]).answers[0]
                except SystemExit as error:
                    answer = str(error)
                if not suites.alike(answer, expected):
                    wrong.append(f"{suite.name}: {question}\n  ours:   {answer[:300]!r}\n  theirs: {expected[:300]!r}")
    for line in wrong:
        print(line)
    print(f"{asked - len(wrong)} passed, {len(wrong)} failed")
    sys.exit(1 if wrong else 0)


main()
