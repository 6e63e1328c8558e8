#!/usr/bin/env python3
"""Other people's schemas and queries: what of public projects' statements ClickHouse (chdb) accepts is accepted here.

FOLDER holds bare git snapshots as OWNER+NAME/repo; projects_sources.py says where each keeps its statements. The
statements of a project run in order on a fresh chdb folder and on a fresh server of ours; a statement counts if chdb
accepts it, and only those are asked of ours. Nothing of the projects is kept.

Usage: projects_check.py BINARY FOLDER [--report FILE] [--port N] [--jobs N] [--only TEXT] [--answers FOLDER [--again]]
"""
import argparse
import collections
import concurrent.futures
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import public_check
from projects_sources import BEGINNINGS, DATABASES, PROJECTS, Snapshot, of_project
from public_check import Server, _line_within, cause, ours, same

# A machine that does other things beside this must not look like a refusal.
public_check.SECONDS = 60
PARAMETER = re.compile(r"\{(\w+)\s*:\s*([A-Z]\w*(?:\([^{}]*\))?)\}")
PLACE = re.compile(r"(?<![\w'?)])\?(?![\w?(])|%\((\w+)\)s")
ABOUT_TIME = re.compile(r"(time|date|created|_at|start|end|hour|since)\w*['\")\s]*([<>=!,]+|BETWEEN|AND|\w+\()?\s*$", re.I)
FILLS = ["1", "'a'", "'2024-01-01 00:00:00'", "['a']", "(1)", "('a')"]
CHANGING = re.compile(r"\b(now|today|yesterday|rand\w*|generate\w*|uptime|version|hostName|currentUser|timezone|query_log|system)\b", re.I)
OWN = "lower(database) NOT IN ('system', 'information_schema', 'aside') AND {} NOT LIKE '.inner%'"
TABLES = [
    f"SELECT database, table, name, type, default_kind, is_in_sorting_key FROM system.columns WHERE {OWN.format('table')} ORDER BY database, table, position",
    "SELECT database, name, engine, " + ", ".join(f"replaceAll({key}, ' ', '')" for key in ("partition_key", "sorting_key", "primary_key", "sampling_key"))
    + f" FROM system.tables WHERE {OWN.format('name')} ORDER BY database, name",
]
# Errors that an earlier refusal leaves behind: a table, a column or a database is not there.
FOLLOWING = {8, 10, 16, 36, 47, 60, 81}


def worker(folder):
    """Reads one JSON list of alternatives a line and answers with one line: [code, text, the alternative]."""
    import chdb

    fresh = not os.path.exists(folder)
    connection = chdb.connect(folder)
    if fresh:
        # chdb's own default database is an Overlay; ClickHouse's is Atomic.
        for sql in ("CREATE DATABASE aside ENGINE = Atomic", "USE aside", "DROP DATABASE default", "CREATE DATABASE default ENGINE = Atomic"):
            connection.query(sql)
    connection.query("USE default")
    for line in sys.stdin:
        answer = [-1, "", ""]
        for sql in json.loads(line):
            try:
                result = connection.query(sql, "TabSeparated")
                answer = [0, result.bytes().decode("utf-8", "replace") if result is not None else "", sql]
                break
            except Exception as error:  # noqa: BLE001 whatever chdb raises is its answer
                code = re.search(r"Code: (\d+)", str(error))
                answer = [int(code.group(1)) if code else -1, str(error)[:400], sql]
        print(json.dumps(answer), flush=True)


class Theirs:
    """A chdb on a folder of its own, started anew on the same folder when a statement hangs or ends it."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="projects")
        self.process = None

    def ask(self, alternatives):
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [sys.executable, os.path.abspath(__file__), "--chdb-worker", self.folder + "/data"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=self.folder,
            )
        try:
            self.process.stdin.write(json.dumps(alternatives) + "\n")
            self.process.stdin.flush()
            line = _line_within(self.process.stdout, public_check.SECONDS * 2)
        except BrokenPipeError:
            line = ""
        if line:
            return json.loads(line)
        self.process.kill()
        self.process.wait()
        return [-2, "no answer", alternatives[0]]

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def value(kind):
    """A value for a parameter of this type, as SET takes it."""
    inner = re.sub(r"^(Nullable|LowCardinality)\((.*)\)$", r"\2", kind)
    if inner.startswith("Array("):
        one = value(inner[6:-1])
        return f"[{one}]" if re.match(r"Array\((U?Int|Float|Decimal|Bool)", inner) else "[\\'" + one + "\\']"
    return (
        "2024-01-01 00:00:00" if inner.startswith("DateTime") else "2024-01-01" if inner.startswith("Date")
        else "00000000-0000-0000-0000-000000000001" if inner == "UUID" else "{}" if inner.startswith("Map") else "true" if inner == "Bool"
        else "1" if re.match(r"U?Int|Float|Decimal", inner) else "default" if inner == "Identifier" else "a"
    )


def alternatives(sql):
    """The statement with its `?` and `%(name)s` filled in a few ways, of which ClickHouse takes the first it accepts."""
    if not PLACE.search(sql):
        return [sql]
    made = []
    for fill in FILLS:
        def one(found):
            before = sql[max(0, found.start() - 60) : found.start()]
            if re.search(r"\b(LIMIT|OFFSET)\s*$", before, re.I):
                return "1"
            return FILLS[2] if ABOUT_TIME.search(before) or found.group(1) and ABOUT_TIME.search(found.group(1)) else fill
        made.append(PLACE.sub(one, sql).replace("%%", "%"))
    return list(dict.fromkeys(made))


class Project:
    """One project's run: what both said, statement by statement."""

    def __init__(self, name, folder, binary, port):
        self.name, snapshot = name, Snapshot(folder)
        self.commit = snapshot.commit
        found, self.elsewhere = of_project(name, snapshot)
        self.found = len(found)
        theirs = Theirs()
        try:
            self._theirs(theirs, found)
            self._tables(theirs)
        finally:
            theirs.stop()
        self.again(binary, port)

    def again(self, binary, port):
        """What ours says, of a fresh server."""
        server = Server(binary, port)
        try:
            self._ours(server)
        finally:
            server.stop()
            self.deaths = server.deaths
            shutil.rmtree(server.folder, ignore_errors=True)

    def _theirs(self, theirs, found):
        """What chdb accepts: [(path, sql, answer, kind)]; kinds: set, schema, query, table."""
        self.asked, self.refused = [], []
        for database in DATABASES.get(self.name, []):
            sql = f"CREATE DATABASE IF NOT EXISTS {database}"
            self.asked.append(("", sql, theirs.ask([sql]), "set"))
        for sql in BEGINNINGS.get(self.name, []):
            self.asked.append(("", sql, theirs.ask([sql]), "set"))
        for path, sql in found:
            for name, kind in dict(PARAMETER.findall(sql)).items():
                given = f"SET param_{name} = '{value(kind)}'"
                self.asked.append((path, given, theirs.ask([given]), "set"))
            answer = theirs.ask(alternatives(sql))
            if answer[0]:
                self.refused.append((path, sql, answer))
                continue
            query = re.match(r"\s*(SELECT|WITH|EXPLAIN|SHOW|DESCRIBE|EXISTS|FROM)\b", sql, re.I)
            self.asked.append((path, answer[2], answer, "query" if query else "schema"))

    def _tables(self, theirs):
        """Beyond the project's own statements: each table it ended with, described."""
        for sql in TABLES:
            self.asked.append(("", sql, theirs.ask([sql]), "table"))

    def _ours(self, server):
        self.got, rest = [], [sql for _, sql, _, _ in self.asked]
        while rest:
            answers = ours(server.port, "default", rest)
            dead = next((at for at, (code, _) in enumerate(answers) if code == -2), None)
            if dead is None or server.process.poll() is None:
                self.got += answers
                break
            self.got += answers[: dead + 1]
            server.alive()
            rest = rest[dead + 1 :]

    def counts(self, kind):
        mine = [got for (_, _, _, each), got in zip(self.asked, self.got) if each == kind]
        return len(mine), sum(1 for code, _ in mine if code == 0)


def _follows(mine, earlier):
    """Whether a refusal is of something that an earlier refused statement names."""
    names = re.findall(r"[\"`']([\w.$]+)[\"`']", mine[1].splitlines()[0] if mine[1] else "")
    last = {name.rsplit(".", 1)[-1] for name in names}
    return mine[0] in FOLLOWING and any(re.search(rf"\b{re.escape(name)}\b", sql) for name in last for sql in earlier)


def described(mine, theirs):
    """Of the tables that are on both sides: how many are told alike, how many there are, and those that are not."""
    sides = []
    for text in (mine, theirs):
        lines = collections.defaultdict(list)
        for line in text.splitlines():
            database, _, rest = line.partition("\t")
            lines[database + "." + rest.split("\t")[0]].append(rest.partition("\t")[2])
        sides.append(lines)
    # A table that is not here was counted as refused already.
    both = [name for name in sides[1] if name in sides[0]]
    unlike = [(name, sides[0][name], sides[1][name]) for name in both if sides[0][name] != sides[1][name]]
    return len(both) - len(unlike), len(both), unlike


def report(projects, path):
    """The table, the refusals by cause with an example each, and the answers that differ."""
    causes, examples, followed, others, unlike = collections.Counter(), {}, collections.Counter(), [], []
    table = ["project | commit | statements found | chdb accepts | accepted here | % | schema | queries | tables alike"]
    total = collections.Counter()
    for each in projects:
        earlier = []
        alike = tables = 0
        for (where, sql, theirs, kind), mine in zip(each.asked, each.got):
            if kind == "table":
                alike_now, both, shown = described(mine[1], theirs[1])
                alike, tables = alike + alike_now, tables + both
                unlike += [(each.name, *one) for one in shown]
            elif mine[0]:
                why = f"{mine[0]}: {cause(mine[1])}" if mine[0] > 0 else "no answer (ended or too slow)"
                if _follows(mine, earlier):
                    followed[each.name] += 1
                else:
                    causes[why] += 1
                    examples.setdefault(why, (each.name, where, sql, mine[1]))
                if kind == "schema":
                    earlier.append(sql)
            elif kind == "query" and not same(mine, theirs) and not CHANGING.search(sql):
                others.append((each.name, where, sql, mine[1], theirs[1]))
        (schema, schema_here), (query, query_here) = each.counts("schema"), each.counts("query")
        accepted, here = schema + query, schema_here + query_here
        total.update(found=each.found, accepted=accepted, here=here, alike=alike, tables=tables, schema=schema, schema_here=schema_here, query=query, query_here=query_here)
        table.append(f"{each.name} | {each.commit[:10]} | {each.found} | {accepted} | {here} | {100 * here / max(1, accepted):.1f} | {schema_here}/{schema} | {query_here}/{query} | {alike}/{tables}")
    table.append(f"all | | {total['found']} | {total['accepted']} | {total['here']} | {100 * total['here'] / max(1, total['accepted']):.1f} | {total['schema_here']}/{total['schema']} | {total['query_here']}/{total['query']} | {total['alike']}/{total['tables']}")
    with open(path, "w") as out:
        out.write("\n".join(table) + f"\n\nrefusals by cause (and {sum(followed.values())} that follow an earlier refusal: {dict(followed)}; deaths {sum(each.deaths for each in projects)})\n")
        for why, count in causes.most_common():
            name, where, sql, message = examples[why]
            out.write(f"{count:4}  {why}\n      {name} {where}\n      {' '.join(sql.split())[:900]}\n      -> {' '.join(message.split())[:400]}\n")
        out.write("\nother answers\n")
        for name, where, sql, mine, wanted in others:
            out.write(f"### {name} {where}\n{sql[:2500]}\n--- ours\n{mine[:600]}\n--- theirs\n{wanted[:600]}\n")
        out.write("\ntables described otherwise\n")
        for name, table_name, mine, wanted in unlike:
            shown = [f"- {line}" for line in mine if line not in wanted][:6] + [f"+ {line}" for line in wanted if line not in mine][:6]
            out.write(f"### {name} {table_name}\n" + "\n".join(shown) + "\n")
        out.write("\nrefused by chdb itself\n")
        for each in projects:
            for where, sql, answer in each.refused:
                out.write(f"{each.name} {where} ({answer[0]}) {' '.join(sql.split())[:140]} -> {' '.join(answer[1].split())[:160]}\n")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("binary")
    arguments.add_argument("folder")
    arguments.add_argument("--report", default="/tmp/projects_report.txt")
    arguments.add_argument("--port", type=int, default=18255)
    arguments.add_argument("--only", default="")
    arguments.add_argument("--answers", default="", help="a folder that keeps a finished project's answers, so that a run goes on where it was ended")
    arguments.add_argument("--again", action="store_true", help="asks ours anew what is kept in --answers, and ClickHouse not")
    arguments.add_argument("--jobs", type=int, default=2, help="projects at once, each with a port of its own from --port on")
    given = arguments.parse_args()
    names = [name for name in PROJECTS if given.only in name and os.path.isdir(_folder(given.folder, name))]
    ports, done, writing = queue.SimpleQueue(), {}, threading.Lock()
    for job in range(given.jobs):
        ports.put(given.port + job)

    def run(name):
        port = ports.get()
        try:
            kept = os.path.join(given.answers, name.replace("/", "+") + ".json") if given.answers else ""
            if kept and os.path.exists(kept):
                project = Project.__new__(Project)
                with open(kept) as file:
                    project.__dict__.update(json.load(file))
                if given.again:
                    project.again(os.path.abspath(given.binary), port)
                    with open(kept, "w") as file:
                        json.dump(project.__dict__, file)
                done[name] = project
            else:
                done[name] = Project(name, _folder(given.folder, name), os.path.abspath(given.binary), port)
                if kept:
                    with open(kept, "w") as file:
                        json.dump(done[name].__dict__, file)
        finally:
            ports.put(port)
        print(name, time.strftime("%H:%M:%S"), flush=True)
        with writing:
            report([done[each] for each in names if each in done], given.report)

    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        list(pool.map(run, names))
    with open(given.report) as text:
        print(text.read().split("\n\n")[0])


def _folder(root, name):
    folder = os.path.join(root, name.replace("/", "+"), "repo")
    return folder + "/.git" if os.path.isdir(folder + "/.git") else folder


if __name__ == "__main__":
    worker(sys.argv[2]) if "--chdb-worker" in sys.argv else main()
