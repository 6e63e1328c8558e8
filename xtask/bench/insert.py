"""cargo xtask bench insert: 1,000 single-row INSERTs on one connection, each durable when it is answered."""

import os
import shutil

import peers
import report

CREATE = "CREATE TABLE t (id UInt64, at DateTime, name String, value Float64) ENGINE = MergeTree ORDER BY id"
STATEMENTS = 1000


def inserts():
    return [
        f"INSERT INTO t VALUES ({number}, '2020-01-01 00:00:00', 'row {number}', {number}.5)"
        for number in range(STATEMENTS)
    ]


def fresh(args):
    path = os.path.join(args.cache, "inserts")
    shutil.rmtree(path, ignore_errors=True)
    return path


def main():
    args = report.arguments(__doc__)
    out = report.Report(f"bench insert --rounds {args.rounds}")
    durable = CREATE + " SETTINGS fsync_after_insert = 1, fsync_part_directory = 1"
    ours, theirs, unsafe = [], [], []
    for _ in range(args.rounds):
        # What opening, creating and closing take is measured too, and taken off.
        empty = peers.gristmill_wall(args.binary, fresh(args), [CREATE])
        ours.append(peers.gristmill_wall(args.binary, fresh(args), [CREATE, *inserts()]) - empty)
        theirs.append(sum(peers.chdb(fresh(args), [durable, *inserts()]).seconds[1:]))
        unsafe.append(sum(peers.chdb(fresh(args), [CREATE, *inserts()]).seconds[1:]))
    report.heading()
    out.add("1000 single-row INSERTs, both with fsync", ours, theirs, "s")
    out.add("1000 single-row INSERTs, ClickHouse without fsync", ours, unsafe, "s")
    out.append_to(args.append_to)


main()
