#!/usr/bin/env python3
"""The binary against real servers of object storage, with ClickHouse (chdb) as second reader and writer.

Usage: stores.py BINARY

S3 and gcs() against versitygw (or moto), azureBlobStorage() against Azurite, url() against Python's own HTTP server.
A server that cannot be had is skipped with its reason. What is skipped is not counted as passed.
"""
import functools
import http.server
import sys
import tempfile
import threading
from pathlib import Path

import chdb

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "oracle"))
import servers
from shell import Refused, Shell

ROWS = "SELECT number AS n, concat('row ', toString(number)) AS s, number % 3 AS part FROM numbers({})"
BIG = ("SELECT number AS n, concat(toString(cityHash64(number)), toString(cityHash64(number + 1)),"
       " toString(cityHash64(number + 2)), toString(cityHash64(number + 3))) AS s FROM numbers(1500000)")


class Checks:
    def __init__(self):
        self.passed, self.failed = 0, []

    def equal(self, what, got, expected):
        if got == expected:
            self.passed += 1
        else:
            self.failed.append(f"{what}: {str(got)[:300]} instead of {str(expected)[:300]}")

    def answer(self, what, shell, sql, expected):
        try:
            self.equal(what, shell.query(sql), expected)
        except Refused as refused:
            self.failed.append(f"{what}: {str(refused).strip()[:300]}")

    def runs(self, what, shell, sql):
        self.answer(what, shell, sql, [])

    def refused(self, what, shell, sql, code, *words):
        try:
            self.failed.append(f"{what}: {shell.query(sql)[:3]} instead of error {code}")
        except Refused as refused:
            said = str(refused)
            wrong = [word for word in words if word not in said]
            if refused.code() != code or wrong:
                self.failed.append(f"{what}: {said.strip()[:300]} instead of error {code} with {wrong}")
            elif servers.SECRET_KEY in said or servers.AZURE_KEY in said:
                self.failed.append(f"{what}: the error shows a secret")
            else:
                self.passed += 1


class Theirs:
    def query(self, sql):
        try:
            answer = str(chdb.query(sql, "TabSeparated"))
        except Exception as error:
            raise Refused(str(error)) from error
        return [line.split("\t") for line in answer.split("\n")[:-1]]


def check_written(checks, shell, call):
    """Writing and reading through one table function; `call(path, *more)` spells a call of it."""
    name = call.__name__
    theirs = Theirs()
    for form, suffix in (("Parquet", "parquet"), ("CSVWithNames", "csv.gz"), ("JSONEachRow", "jsonl.zst"), ("Native", "native")):
        ours, other = f"w/ours.{suffix}", f"w/theirs.{suffix}"
        checks.runs(f"{name}: write {form}", shell, f"INSERT INTO FUNCTION {call(ours, form)} {ROWS.format(1000)}")
        summed = [["1000", "499500", "row 999"]]
        asked = "SELECT count(), sum(n), max(s) FROM "
        checks.answer(f"{name}: {form} is read back", shell, asked + call(ours, form), summed)
        checks.answer(f"{name}: ClickHouse reads our {form}", theirs, asked + call(ours, form), summed)
        theirs.query(f"INSERT INTO FUNCTION {call(other, form)} {ROWS.format(1000)}")
        checks.answer(f"{name}: ClickHouse's {form} is read", shell, asked + call(other, form), summed)
    checks.refused(f"{name}: a key is not overwritten", shell,
                   f"INSERT INTO FUNCTION {call('w/ours.parquet', 'Parquet')} {ROWS.format(1)}", 36, "truncate_on_insert")
    checks.runs(f"{name}: partitions by wildcard", shell,
                f"INSERT INTO FUNCTION {call('p/{_partition_id}.csv', 'CSV', 'n UInt64, s String, part UInt8')}"
                f" PARTITION BY part {ROWS.format(30)}")
    checks.answer(f"{name}: one object a partition", shell,
                  f"SELECT _file, count() FROM {call('p/*.csv', 'CSV', 'n UInt64, s String, part UInt8')}"
                  " GROUP BY _file ORDER BY _file", [["0.csv", "10"], ["1.csv", "10"], ["2.csv", "10"]])
    checks.runs(f"{name}: an upload in parts", shell, f"INSERT INTO FUNCTION {call('big.csv', 'CSV')} {BIG}")
    checks.answer(f"{name}: it is whole", shell,
                  f"SELECT count(), sum(c1) FROM {call('big.csv', 'CSV', 'c1 UInt64, c2 String')}",
                  [["1500000", "1124999250000"]])
    checks.refused(f"{name}: a failing INSERT", shell,
                   f"INSERT INTO FUNCTION {call('never.csv', 'CSV')} SELECT CAST(if(number = 900000, 'x', '1'), 'UInt8') AS x,"
                   " number AS n FROM numbers(1000000)", 6)
    checks.answer(f"{name}: leaves nothing", shell, f"SELECT count() FROM {call('never*.csv', 'CSV', 'x UInt8, n UInt64')}", [["0"]])
    checks.refused(f"{name}: a missing key is named", shell, f"SELECT * FROM {call('w/none.csv', 'CSV', 'n UInt64')}", 499, "none.csv")


def check_s3(checks, shell, server):
    def s3(path, form, *more):
        words = [f"{server.url}/first-bucket/{path}", servers.ACCESS_KEY, servers.SECRET_KEY, form, *more]
        return "s3(" + ", ".join(f"'{word}'" for word in words) + ")"

    def gcs(path, form, *more):
        return s3(path.replace("w/", "g/").replace("p/", "gp/").replace("big", "gbig"), form, *more).replace("s3(", "gcs(", 1)

    check_written(checks, shell, s3)
    checks.answer("s3: tags, of which there are none", shell,
                  f"SELECT _tags FROM {s3('w/ours.parquet', 'Parquet')} LIMIT 1", [["{}"]])
    checks.runs("s3: truncate on insert", shell,
                f"INSERT INTO FUNCTION {s3('w/ours.parquet', 'Parquet')} SETTINGS s3_truncate_on_insert = 1 {ROWS.format(5)}")
    checks.answer("s3: the new object is there", shell, f"SELECT count() FROM {s3('w/ours.parquet', 'Parquet')}", [["5"]])
    checks.runs("s3: a new file on insert", shell,
                f"INSERT INTO FUNCTION {s3('w/ours.parquet', 'Parquet')} SETTINGS s3_create_new_file_on_insert = 1 {ROWS.format(7)}")
    checks.answer("s3: numbered", shell, f"SELECT count() FROM {s3('w/ours.1.parquet', 'Parquet')}", [["7"]])
    checks.refused("s3: a wrong key", shell,
                   f"SELECT count() FROM s3('{server.url}/first-bucket/w/*.parquet', 'wrong', 'secret', 'Parquet')", 499)
    checks.refused("s3: no such bucket", shell,
                   s3("w/*.csv", "CSV", "n UInt64").replace("first-bucket", "no-such-bucket").join(["SELECT * FROM ", ""]), 499)
    check_many_keys(checks, shell, s3)
    if server.name == "versitygw":
        # Only the folder shows what a listing of objects does not.
        check_written(checks, shell, gcs)


def check_many_keys(checks, shell, s3):
    """More keys than a page of a listing holds."""
    checks.runs("s3: 1,200 objects of one INSERT", shell,
                f"INSERT INTO FUNCTION {s3('many/{_partition_id}.csv', 'CSV', 'n UInt64')} PARTITION BY n"
                " SETTINGS max_partitions_per_insert_block = 0 SELECT number AS n FROM numbers(1200)")
    checks.answer("s3: more than one page of keys", shell,
                  f"SELECT count(), sum(n) FROM {s3('many/*.csv', 'CSV', 'n UInt64')}", [["1200", "719400"]])
    checks.answer("s3: a filter on the name", shell,
                  f"SELECT sum(n) FROM {s3('many/*.csv', 'CSV', 'n UInt64')} WHERE _file IN ('7.csv', '1100.csv')", [["1107"]])


def check_azure(checks, shell, server):
    connection = servers.azure_connection(server)

    def azureBlobStorage(path, form, *more):
        words = [connection, "first-container", path, form, *(["auto", more[0]] if more else [])]
        return "azureBlobStorage(" + ", ".join(f"'{word}'" for word in words) + ")"

    def by_account(path, form):
        words = [f"{server.url}/{servers.AZURE_ACCOUNT}", "first-container", path, servers.AZURE_ACCOUNT, servers.AZURE_KEY, form]
        return "azureBlobStorage(" + ", ".join(f"'{word}'" for word in words) + ")"

    # ClickHouse makes the container that does not exist.
    Theirs().query(f"INSERT INTO FUNCTION {azureBlobStorage('made.csv', 'CSV', 'n UInt64')} SELECT 1")
    check_written(checks, shell, azureBlobStorage)
    checks.answer("azure: account name and key", shell, f"SELECT count() FROM {by_account('w/ours.parquet', 'Parquet')}", [["1000"]])


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def check_url(checks, shell, folder):
    (folder / "a.csv").write_text("n,s\n1,x\n2,y\n")
    (folder / "b.csv").write_text("n,s\n3,z\n")
    handler = functools.partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    at = f"http://127.0.0.1:{server.server_address[1]}"
    checks.answer("url: a file", shell, f"SELECT sum(n), max(s) FROM url('{at}/a.csv')", [["3", "y"]])
    checks.answer("url: alternatives", shell, f"SELECT n, _file FROM url('{at}/{{a,b}}.csv', 'CSVWithNames') ORDER BY n",
                  [["1", "a.csv"], ["2", "a.csv"], ["3", "b.csv"]])
    checks.refused("url: a missing page", shell, f"SELECT * FROM url('{at}/none.csv', 'CSV', 'n UInt64')", 86, "404")
    server.shutdown()


def main():
    checks = Checks()
    shell = Shell(sys.argv[1], goes_on=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("s3", "azure", "url"):
            (folder / part).mkdir()
        server, reason = servers.s3(folder / "s3", ["first-bucket", "second-bucket"])
        if server:
            check_s3(checks, shell, server)
            server.stop()
        else:
            print(f"SKIPPED: S3: {reason}")
        server, reason = servers.azure(folder / "azure")
        if server:
            check_azure(checks, shell, server)
            server.stop()
        else:
            print(f"SKIPPED: Azure: {reason}")
        check_url(checks, shell, folder / "url")
        shell.close()
    print("\n".join(checks.failed))
    print(f"{checks.passed} passed, {len(checks.failed)} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
