#!/usr/bin/env python3
"""Loads generated posts and compares the table with what ClickHouse (chdb), pyarrow and DuckDB read.

Usage: load_check.py BINARY [ROWS] [QUERIES]

Compared: for every column count, nulls, min, max and an order-independent hash; random WHERE and GROUP BY queries
before and after OPTIMIZE FINAL, with key pruning possible and impossible; the part files as other readers see them.
"""
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import chdb
import duckdb
import pyarrow.parquet

from shell import Shell

POSTS = """CREATE TABLE posts (`Id` Int32 CODEC(Delta(4), ZSTD(1)),
`PostTypeId` Enum8('Question' = 1, 'Answer' = 2, 'Wiki' = 3, 'TagWikiExcerpt' = 4, 'TagWiki' = 5,
  'ModeratorNomination' = 6, 'WikiPlaceholder' = 7, 'PrivilegeWiki' = 8),
`AcceptedAnswerId` UInt32, `CreationDate` DateTime64(3, 'UTC'), `Score` Int32, `ViewCount` UInt32, `Body` String,
`OwnerUserId` Int32, `OwnerDisplayName` String, `LastEditorUserId` Int32, `LastEditorDisplayName` String,
`LastEditDate` DateTime64(3, 'UTC'), `LastActivityDate` DateTime64(3, 'UTC'), `Title` String, `Tags` String,
`AnswerCount` UInt16, `CommentCount` UInt8, `FavoriteCount` UInt8, `ContentLicense` LowCardinality(String),
`ParentId` String, `CommunityOwnedDate` DateTime64(3, 'UTC'), `ClosedDate` DateTime64(3, 'UTC'))
ENGINE = MergeTree PARTITION BY toYear(CreationDate) ORDER BY (PostTypeId, toDate(CreationDate), CreationDate)"""
NUMBERS = ["Id", "Score", "ViewCount", "OwnerUserId", "AnswerCount", "CommentCount"]
TEXTS = ["OwnerDisplayName", "Title", "Tags", "ContentLicense"]


def columns(shell):
    return [row[0] for row in shell.query("DESCRIBE TABLE posts")]


def summary(column):
    return (
        f"SELECT count(), countIf(isNull(`{column}`)), toString(min(`{column}`)), toString(max(`{column}`)), "
        f"groupBitXor(xxHash64(toString(`{column}`))) FROM posts"
    )


def random_query(dice, prunable):
    wrap = (lambda c: c) if prunable else (lambda c: f"identity({c})")
    conditions = [
        f"{wrap('CreationDate')} >= '20{dice.randint(8, 24):02}-{dice.randint(1, 12):02}-01 00:00:00'",
        f"{wrap('Score')} {dice.choice(['>', '<=', '='])} {dice.randint(-5, 50)}",
        f"{wrap('PostTypeId')} = '{dice.choice(['Question', 'Answer', 'TagWiki'])}'",
        f"{wrap('ViewCount')} BETWEEN {dice.randint(0, 100)} AND {dice.randint(100, 5000)}",
        f"{wrap('OwnerDisplayName')} LIKE '{dice.choice('abcdefgh')}%'",
        f"{wrap('CommentCount')} IN ({dice.randint(0, 3)}, {dice.randint(3, 9)})",
        f"toDate({wrap('CreationDate')}) < '20{dice.randint(8, 24):02}-06-15'",
        f"length({wrap('Body')}) > {dice.randint(10, 2000)}",
    ]
    where = " AND ".join(dice.sample(conditions, dice.randint(1, 3)))
    key = dice.choice(["PostTypeId", "toYear(CreationDate)", "ContentLicense", "CommentCount"])
    number = dice.choice(NUMBERS)
    return (
        f"SELECT {key} AS k, count(), sum({number}), min({number}), max({dice.choice(NUMBERS)}), "
        f"uniqExact({dice.choice(TEXTS)}) FROM posts WHERE {where} GROUP BY k ORDER BY k"
    )


def compare(what, mine, theirs, wrong):
    if mine != theirs:
        wrong.append(f"{what}\n  ours:   {mine[:3]}\n  theirs: {theirs[:3]}")


def check_parts(shell, wrong):
    """Part files through other readers: same rows, same sum of ids."""
    files = [row[0] for row in shell.query("SELECT path FROM system.parts WHERE table = 'posts' AND active")]
    rows = int(shell.query("SELECT count() FROM posts")[0][0])
    ids = int(shell.query("SELECT sum(Id) FROM posts")[0][0])
    arrow = [pyarrow.parquet.read_table(file, columns=["Id"]) for file in files]
    compare("pyarrow rows", sum(table.num_rows for table in arrow), rows, wrong)
    compare("pyarrow ids", sum(sum(table["Id"].to_pylist()) for table in arrow), ids, wrong)
    names = ", ".join(f"'{file}'" for file in files)
    duck = duckdb.sql(f"SELECT count(*), sum(Id), count(Body) FROM read_parquet([{names}])").fetchall()[0]
    compare("DuckDB", [int(n) for n in duck], [rows, ids, rows], wrong)


def main():
    binary, rows, queries = sys.argv[1], *(int(a) for a in (sys.argv[2:] + ["20000", "200"][len(sys.argv) - 2 :]))
    wrong, dice = [], random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "files"
        subprocess.run(
            [binary, "generate", "posts", "--rows", str(rows), "--to", str(files), "--files", "6"],
            check=True, capture_output=True,
        )
        oracle = chdb.session.Session()
        ask = lambda sql: [l.split("\t") for l in oracle.query(sql, "TabSeparated").data().split("\n")[:-1]]  # noqa: E731
        shell = Shell(binary, Path(folder) / "db")
        for run in (shell.query, ask):
            run(POSTS)
            run(f"INSERT INTO posts SELECT * FROM file('{files}/*.parquet')")
        for column in columns(shell):
            compare(column, shell.query(summary(column)), ask(summary(column)), wrong)
        for after in ("before OPTIMIZE", "after OPTIMIZE"):
            if after == "after OPTIMIZE":
                shell.query("OPTIMIZE TABLE posts FINAL")
            for number in range(queries // 2):
                sql = random_query(dice, prunable=number % 2 == 0)
                compare(f"{after}: {sql}", shell.query(sql), ask(sql), wrong)
            check_parts(shell, wrong)
        shell.close()
    print("\n".join(wrong))
    print(f"{22 + queries + 6 - len(wrong)} passed, {len(wrong)} failed")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
