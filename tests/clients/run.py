#!/usr/bin/env python3
"""ClickHouse's real clients against `gristmill server`.

Usage: run.py [--binary PATH] [--only NAME]... [--url URL] [--seconds N]

Each client is installed from its registry at the pinned version, gets a database of its own and runs its program: connect,
ping, DDL, every type in and out, errors, cancel, compression, sessions, parameters, a million rows. A program prints
`ok NAME` or `FAILED NAME: why` for each check. Afterwards the table it filled is read as text and compared with what
ClickHouse prints for the same values (types.tsv). A client that cannot be installed here (no tool, no network), or for which
no time is left, is skipped with its reason, and what is skipped is not counted as passed.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import install
from service import Service

HERE = Path(__file__).resolve().parent
# A program that hangs is a finding, too.
PATIENCE_SECONDS = 300


def curl():
    install.tool("curl")
    return [sys.executable, str(HERE / "curl.py")]


CLIENTS = {
    "curl": curl,
    "clickhouse-connect": lambda: [str(install.python()), str(HERE / "python" / "connect.py")],
    "sqlalchemy": lambda: [str(install.python()), str(HERE / "python" / "alchemy.py")],
    "dbt": lambda: [str(install.python()), str(HERE / "dbt" / "run.py")],
    "js": lambda: [install.tool("node"), str(HERE / "node" / "client.mjs")],
    "jdbc": lambda: [install.tool("java"), "-cp", install.java(), "Client"],
    "go": lambda: [str(install.go())],
    "rust": lambda: [str(install.rust())],
}


class Results:
    def __init__(self):
        self.passed, self.failed = 0, []

    def read(self, output):
        for line in output.splitlines():
            if line.startswith("ok "):
                self.passed += 1
            elif line.startswith("FAILED "):
                self.failed.append(line[len("FAILED "):])

    def add(self, name, problem):
        if problem:
            self.failed.append(f"{name}: {problem}")
        else:
            self.passed += 1


def ask(service, sql):
    """The rows of an answer as lists of text, as TabSeparated has them."""
    request = urllib.request.Request(f"{service.url}/", data=sql.encode())
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return [line.split("\t") for line in answer.read().decode().split("\n")[:-1]]
    except urllib.error.HTTPError as error:
        return [[f"HTTP {error.code}: {error.read().decode()[:300]}"]]


def types():
    lines = (HERE / "types.tsv").read_text().split("\n")[:-1]
    return [line.split("\t") for line in lines]


def check_types(service):
    """Whether the server knows each type; what it does not know is one failure here and is left out of the clients' tables."""
    results, missing = Results(), []
    for name, declared, *_ in types():
        said = ask(service, f"CREATE TABLE default.of_{name} (v {declared}) ENGINE = Memory")
        results.add(declared, said[0][0].strip() if said else None)
        if said:
            missing.append(name)
    return results, missing


def check_stored(service, database, missing, results):
    """What a client stored, in the server's own words."""
    rows = ask(service, f"SELECT * FROM {database}.every_type ORDER BY u8 FORMAT TabSeparated")
    if len(rows) != 2:
        results.add("every type as stored", f"{len(rows)} rows instead of 2: {str(rows)[:300]}")
        return
    known = [entry for entry in types() if entry[0] not in missing]
    for row, texts in enumerate(zip(*(entry[4:6] for entry in known))):
        for (name, declared, *_), got, expected in zip(known, rows[row], texts):
            # Go has no order of a map's keys.
            same = entries(got) == entries(expected) if declared.startswith("Map(") else got == expected
            wrong = None if same else f"{got!r} instead of {expected!r}"
            results.add(f"{declared} as stored in row {row}", wrong)


def entries(text):
    """Of a map with plain keys and values, in an order of their own."""
    return sorted(text.strip("{}").split(","))


def run_client(name, service, missing, folder, deadline):
    results = Results()
    if time.monotonic() >= deadline:
        return None, "no time is left"
    try:
        command = CLIENTS[name]()
    except OSError as problem:
        return None, str(problem)
    except install.Broken as problem:
        results.add("the program", str(problem))
        return results, None
    database = "t_" + name.replace("-", "_")
    ask(service, f"CREATE DATABASE {database}")
    environment = dict(
        os.environ, GRISTMILL_HOST=service.host, GRISTMILL_PORT=str(service.port), GRISTMILL_TEST_DATABASE=database,
        GRISTMILL_TYPES=str(HERE / "types.tsv"), GRISTMILL_TEST_USER=service.user,
        GRISTMILL_TEST_PASSWORD=service.password, GRISTMILL_TEST_FOLDER=str(folder),
        GRISTMILL_MISSING=",".join(missing), TZ="Asia/Tokyo",
    )
    if name == "js":
        environment["GRISTMILL_NODE_MODULES"] = str(install.node() / "node_modules")
    left = deadline - time.monotonic()
    try:
        patience = min(PATIENCE_SECONDS, max(left, 1))
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=patience)
    except subprocess.TimeoutExpired as hung:
        if left < PATIENCE_SECONDS:
            return None, f"it did not end in the {left:.0f} s that were left"
        results.read((hung.stdout or b"").decode())
        results.add("the program", f"did not end in {PATIENCE_SECONDS} s")
        return results, None
    results.read(ended.stdout)
    if ended.returncode != 0:
        said = "\n    ".join((ended.stdout + ended.stderr).strip().split("\n")[-12:])
        results.add("the program", f"ended with {ended.returncode}: {said}")
    elif results.passed + len(results.failed) == 0:
        results.add("the program", "checked nothing")
    if name != "dbt":
        check_stored(service, database, missing, results)
    return results, None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", help="the gristmill binary [default: the debug build of this tree]")
    parser.add_argument("--only", action="append", choices=list(CLIENTS), help="run this client; may be repeated")
    parser.add_argument("--url", help="a server that runs already, instead of starting one")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="what is not done by then is skipped")
    args = parser.parse_args()
    deadline = time.monotonic() + args.seconds
    passed, failed, skipped = 0, 0, 0
    with tempfile.TemporaryDirectory(prefix="gristmill-clients-") as folder, Service(args.binary, args.url, folder) as service:
        known, missing = check_types(service)
        for name in ["types", *(args.only or CLIENTS)]:
            home = Path(folder) / name
            home.mkdir()
            results, problem = (known, None) if name == "types" else run_client(name, service, missing, home, deadline)
            if results is None:
                skipped += 1
                print(f"SKIPPED {name}: {problem}", flush=True)
                continue
            passed, failed = passed + results.passed, failed + len(results.failed)
            print(f"{name}: {results.passed} passed, {len(results.failed)} failed", flush=True)
            for problem in results.failed:
                print(f"  {problem}", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
