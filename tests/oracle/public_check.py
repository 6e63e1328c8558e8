#!/usr/bin/env python3
"""Other people's test files (folders of `.sql`), statement by statement: Gristmill's answers against ClickHouse's.

The files are not part of this project: FOLDER is any folder of them, for example a checkout's
`tests/queries/0_stateless`. A statement counts where ClickHouse (chdb) answers it within its time.

Usage: public_check.py BINARY FOLDER [--cache FILE] [--only TEXT] [--every N] [--report FILE]
"""
import argparse
import collections
import glob
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.parse

# What one process cannot answer, or what is about other machines: such files say nothing of a statement.
TAGS_LEFT = re.compile(r"^--\s*Tags:.*\b(zookeeper|replica|shard|distributed|long|kafka|hdfs|mysql|stateful|disabled|global)\b", re.M)
SECONDS = 15


def statements(text):
    """The statements of a file; a comment behind a statement that names an error stays out of it."""
    found, start, at, end = [], 0, 0, len(text)
    while at < end:
        two = text[at : at + 2]
        if two == "--" or text[at] == "#" and text[at : at + 2] in ("# ", "#!"):
            at = (text.find("\n", at) + 1) or end
        elif two == "/*":
            at = (text.find("*/", at) + 2) if "*/" in text[at:] else end
        elif text[at] in "'\"`":
            at = _behind_quote(text, at)
        elif text[at] == ";":
            found.append(text[start:at].strip())
            at += 1
            start = at
        else:
            at += 1
    found.append(text[start:].strip())
    return [one for one in (re.sub(r"\A(\s*(--|#[ !])[^\n]*(\n|\Z)|\s*/\*.*?\*/)*", "", each, flags=re.S).strip() for each in found) if one]


def _behind_quote(text, at):
    quote, at = text[at], at + 1
    while at < len(text) and text[at] != quote:
        at += 2 if text[at] == "\\" else 1
    return at + 1


def chdb_worker():
    """Reads one JSON line a file from standard input and answers with one: [[code, text], ..]."""
    import chdb

    for line in sys.stdin:
        job = json.loads(line)
        connection = chdb.connect(":memory:")
        answers = []
        with open(job["progress"], "a") as progress:
            for number, sql in enumerate(job["statements"]):
                try:
                    result = connection.query(sql, "TabSeparated")
                    answers.append([0, result.bytes().decode("utf-8", "replace") if result is not None else ""])
                except Exception as error:  # noqa: BLE001 whatever chdb raises is its answer
                    code = re.search(r"Code: (\d+)", str(error))
                    answers.append([int(code.group(1)) if code else -1, str(error)[:300]])
                progress.write(json.dumps([job["name"], number, *answers[-1]]) + "\n")
                progress.flush()
        connection.close()
        print(json.dumps(answers), flush=True)


class Chdb:
    """A worker that is started anew when it hangs or dies."""

    def __init__(self):
        self.process = None
        # Files write beside themselves (INTO OUTFILE, file()): not into the folder this was started from.
        self.folder = tempfile.mkdtemp(prefix="public")

    def answers(self, name, asked):
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [sys.executable, os.path.abspath(__file__), "--chdb-worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=self.folder
            )
        progress = tempfile.NamedTemporaryFile("r", suffix=".jsonl")
        self.process.stdin.write(json.dumps({"name": name, "statements": asked, "progress": progress.name}) + "\n")
        self.process.stdin.flush()
        line = _line_within(self.process.stdout, SECONDS * 2)
        if line:
            return json.loads(line)
        self.process.kill()
        self.process.wait()
        done = [json.loads(each)[2:] for each in progress.read().splitlines()]
        return done + [[-2, "no answer"]] * (len(asked) - len(done))


def _line_within(stream, seconds):
    import select

    ready, _, _ = select.select([stream], [], [], seconds)
    return stream.readline() if ready else ""


def ours(port, database, asked):
    """What a server of Gristmill's answers in one session: [[code, text], ..]; -2 where it did not in time."""
    answers = []
    session = f"s{database}_{time.time_ns()}"
    for sql in asked:
        query = urllib.parse.urlencode({"session_id": session, "database": database, "default_format": "TabSeparated", "max_execution_time": SECONDS})
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS + 5)
        try:
            connection.request("POST", "/?" + query, sql.encode("utf-8", "surrogateescape"))
            response = connection.getresponse()
            body = response.read().decode("utf-8", "replace")
            code = int(response.headers.get("X-ClickHouse-Exception-Code") or 0)
            answers.append([code or (0 if response.status == 200 else -1), body])
        except (OSError, http.client.HTTPException) as error:
            answers.append([-2, f"no answer: {error}"])
        finally:
            connection.close()
    return answers


def passes(path, text, asked, expected):
    """Whether ClickHouse itself passes the file: its answers are the reference beside it, its errors those announced."""
    try:
        with open(path[:-4] + ".reference", errors="replace") as file:
            reference = file.read()
    except OSError:
        return False
    errors = sum(1 for code, _ in expected if code)
    if errors > len(re.findall(r"\{\s*(?:server|client)?Error", text)):
        return False
    shown = "\n".join(body for code, body in expected if not code)
    lines = lambda all: [line.rstrip() for line in all.split("\n") if line.strip()]
    return lines(shown) == lines(reference)


# An error that a comment inside of the statement announces: chdb has checked it, and answers nothing.
ANNOUNCED = re.compile(r"--[^\n]*\{\s*(?:server|client)?Error\s+(\w+)", re.I)


# What chdb says where it only lacks a server around it: logs, an address, clusters and rights of a configuration, queues.
NO_SERVER = re.compile(
    r"identifier 'system\.(\w+_log|asynchronous_metrics)'|Connection refused|[Cc]luster '\w+' not found"
    r"|default: Not enough privileges|config is not defined|queue because it is not initialized"
)


def unanswered(theirs):
    """Whether chdb has no answer, because it runs inside of another program or did not answer in time."""
    code, message = theirs
    return code < 0 or code > 0 and bool(NO_SERVER.search(message))


def same(mine, theirs, sql=""):
    announced = ANNOUNCED.search(sql)
    if mine[0] and theirs == [0, ""] and announced:
        return announced.group(1) in (str(mine[0]), *re.findall(r"\(([A-Z_0-9]+)\)", mine[1]))
    if mine[0] or theirs[0]:
        return mine[0] == theirs[0]
    return sorted(mine[1].strip("\n").split("\n")) == sorted(theirs[1].strip("\n").split("\n"))


def cause(message):
    """A message without what is of one statement alone, so that equal causes count together."""
    message = re.sub(r"^Code: \d+\. DB::Exception: ", "", message.strip())
    message = re.sub(r"'[^']*'", "'…'", message)
    message = re.sub(r"\b\d+\b", "N", message)
    return message[:110]


class Server:
    """Our server on a folder of its own; started anew when a statement ended it."""

    def __init__(self, binary, port=18230):
        self.binary, self.port, self.deaths = binary, port, 0
        self.folder = tempfile.mkdtemp(prefix="public")
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            ["bash", "-c", f"ulimit -v 20000000; exec {self.binary} server --path {self.folder} --listen 127.0.0.1:{self.port}"],
            cwd=self.folder, stdout=subprocess.DEVNULL, stderr=open(self.folder + ".log", "a"),
        )
        for _ in range(200):
            if ours(self.port, "default", ["SELECT 1"])[0][0] == 0:
                return
            time.sleep(0.1)
        sys.exit("the server does not answer: " + self.folder + ".log")

    def alive(self):
        if self.process.poll() is None:
            return
        self.deaths += 1
        self.start()

    def stop(self):
        self.process.kill()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("binary")
    arguments.add_argument("folder")
    arguments.add_argument("--cache", default="/tmp/public_answers.jsonl")
    arguments.add_argument("--only", default="")
    arguments.add_argument("--every", type=int, default=1)
    arguments.add_argument("--report", default="/tmp/public_report.txt")
    arguments.add_argument("--passed-alone", action="store_true", help="only files whose .reference ClickHouse's answers are")
    arguments.add_argument("--oracle-alone", action="store_true")
    arguments.add_argument("--port", type=int, default=18230)
    given = arguments.parse_args()
    known = {}
    if os.path.exists(given.cache):
        with open(given.cache) as cache:
            known = {name: answers for name, answers in map(json.loads, cache)}
    theirs, server = Chdb(), None if given.oracle_alone else Server(os.path.abspath(given.binary), given.port)
    files = [path for path in sorted(glob.glob(given.folder + "/*.sql")) if given.only in path][:: given.every]
    report = Report()
    with open(given.cache, "a") as cache:
        for count, path in enumerate(files):
            name = os.path.basename(path)[:-4]
            with open(path, errors="surrogateescape") as file:
                text = file.read()
            if TAGS_LEFT.search(text) or len(text) > 60_000:
                continue
            asked = statements(text)
            expected = known.get(name)
            if expected is None or len(expected) != len(asked):
                expected = theirs.answers(name, [each.encode("utf-8", "replace").decode() for each in asked])
                cache.write(json.dumps([name, expected]) + "\n")
                cache.flush()
            if server is None or not asked or len(expected) != len(asked):
                continue
            if given.passed_alone and not passes(path, text, asked, expected):
                continue
            database = f"t{count}"
            ours(server.port, "default", [f"CREATE DATABASE {database}"])
            # ClickHouse ran them in its database "default".
            got = [[code, re.sub(rf"\b{database}\b", "default", text)] for code, text in ours(server.port, database, asked)]
            server.alive()
            ours(server.port, "default", [f"DROP DATABASE IF EXISTS {database}"])
            report.file(name, asked, got, expected)
    if server:
        server.stop()
        report.write(given.report, server.deaths)


class Report:
    """Counts files and statements, and says what stopped each."""

    def __init__(self):
        self.files = self.passed = self.asked = self.alike = self.gapped = 0
        self.causes, self.firsts, self.sole, self.lines = (collections.Counter() for _ in range(3)), None, None, []
        self.every, self.first, self.alone = collections.Counter(), collections.Counter(), collections.Counter()

    def file(self, name, asked, got, expected):
        self.files += 1
        causes, gaps = [], 0
        for sql, mine, wanted in zip(asked, got, expected):
            if unanswered(wanted):
                gaps += wanted[0] > 0 and not same(mine, wanted, sql)
                continue
            self.asked += 1
            if same(mine, wanted, sql):
                self.alike += 1
                continue
            if mine[0] == 0 and wanted[0] == 0:
                why = "other answer"
            elif mine[0] == 0:
                why = f"no error where {wanted[0]} is due"
            elif mine[0] < 0:
                why = "no answer in time"
            else:
                why = cause(mine[1]) if not wanted[0] else f"error {mine[0]} where {wanted[0]} is due"
            causes.append(why)
            self.lines.append(f"### {name} · {why}\n{sql}\n--- ours ({mine[0]})\n{mine[1][:800]}\n--- theirs ({wanted[0]})\n{wanted[1][:800]}\n")
        if not causes:
            self.passed += 1
            self.gapped += gaps > 0
            return
        self.first[causes[0]] += 1
        self.every.update(set(causes))
        if len(set(causes)) == 1:
            self.alone[causes[0]] += 1

    def write(self, path, deaths):
        head = f"files {self.passed} of {self.files} ({100 * self.passed / max(1, self.files):.1f} %, {self.gapped} of them but for statements that ask for a server around ClickHouse), statements {self.alike} of {self.asked} ({100 * self.alike / max(1, self.asked):.1f} %), deaths {deaths}"
        with open(path, "w", errors="surrogateescape") as out:
            out.write(head + "\n\nfiles met / first / alone · cause\n")
            for why, count in self.every.most_common():
                out.write(f"{count:5} {self.first[why]:5} {self.alone[why]:5}  {why}\n")
            out.write("\n" + "\n".join(self.lines))
        print(head)


if __name__ == "__main__":
    chdb_worker() if "--chdb-worker" in sys.argv else main()
