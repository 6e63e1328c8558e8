#!/usr/bin/env python3
"""Statements on ours and on ClickHouse (the chdb wheel): the same bytes, or the same error code.

Usage: statements_check.py BINARY [--write] [FILE ...]     without files: all of statements/*.sql

Each line of a file is one statement: a whole one, an expression (`SELECT` is put before it), or `FROM t: expression` (over
every row of table `t` of statements/setup.sql, in the order of `id`). Lines that begin with `--` are comments. Answers are
compared as TSVWithNamesAndTypes, so names and types count, unless the statement names a format; failures by their code.
Differences that are known stand in docs/differences.md. One that is not there is a failure, and so is a row there that no
longer differs or differs otherwise. `--write` writes ours and theirs of its rows anew.
"""
import json
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
TABLE = HERE.parents[1] / "docs" / "differences.md"
END = "--end-of-answer--"
# A statement that has not answered after this is given up, and its process with it.
PATIENCE_SECONDS = 120
# The acceptance: fewer than this share of the statements may differ.
KNOWN_SHARE_MAX = 0.03
WHOLE = re.compile(
    r"\(?(SELECT|WITH|SHOW|DESCRIBE|DESC|EXPLAIN|INSERT|CREATE|DROP|ALTER|SET|EXISTS|TRUNCATE|RENAME|EXCHANGE|USE|VALUES|OPTIMIZE)\b"
)
ANSWERS = re.compile(r"\(?(SELECT|WITH|SHOW|DESCRIBE|DESC|EXPLAIN|EXISTS|VALUES)\b")


def statements(path):
    """The statements of a file, complete and with their format."""
    for line in Path(path).read_text().split("\n"):
        line = line.strip()
        if not line or line.startswith("--"):
            continue
        rows = re.match(r"FROM (\w+): (.*)", line)
        if rows:
            line = f"SELECT {rows.group(2)} FROM {rows.group(1)} ORDER BY id"
        elif not WHOLE.match(line):
            line = f"SELECT {line}"
        if ANSWERS.match(line) and not re.search(r"\bFORMAT \w+", line):
            line += " FORMAT TSVWithNamesAndTypes"
        yield line


class Ours:
    """`gristmill local`, started again when it dies."""

    def __init__(self, binary, setup):
        self.binary, self.setup, self.process = binary, setup, None

    def start(self):
        command = [self.binary, "local", "--format", "TabSeparated", "--ignore-error"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "bufsize": 0}
        # In memory where there is such a folder: durability is not what is compared here.
        folder = {"TMPDIR": "/dev/shm"} if os.access("/dev/shm", os.W_OK) else {}
        self.process = subprocess.Popen(command, env={**os.environ, "TZ": "UTC", **folder}, **pipes)
        os.set_blocking(self.process.stderr.fileno(), False)
        for sql in self.setup:
            answer = self.ask(sql)
            if answer != (b"", ""):
                raise RuntimeError(f"setup fails: {sql}\n{answer}")

    def answer(self, sql):
        if self.process is None:
            self.start()
        return self.ask(sql)

    def ask(self, sql):
        """(bytes, what was said on standard error)"""
        guard = threading.Timer(PATIENCE_SECONDS, self.process.kill)
        guard.start()
        try:
            self.process.stdin.write(f"{sql};\nSELECT '{END}' FORMAT TabSeparated;\n".encode())
            out, marker = b"", f"{END}\n".encode()
            while not out.endswith(marker):
                piece = self.process.stdout.read(1 << 16)
                if not piece:
                    break
                out += piece
        except BrokenPipeError:
            out, marker = b"", b""
        guard.cancel()
        said = self.said()
        if not marker or not out.endswith(marker):
            self.process.kill()
            self.process.wait()
            self.process = None
            return b"", f"the process ended: {said[-300:]}"
        out = out[: -len(marker)]
        code = re.search(r"Code: (\d+)\. DB::Exception", said)
        return (f"error {code.group(1)}".encode(), said.strip()) if code else (out, "")

    def said(self):
        text = b""
        while True:
            try:
                piece = os.read(self.process.stderr.fileno(), 1 << 16)
            except (BlockingIOError, OSError):
                break
            if not piece:
                break
            text += piece
        return text.decode(errors="replace")


class Theirs:
    """ClickHouse in a process of its own: `serve` below, which reads statements and writes answers as lines."""

    def __init__(self, setup):
        self.setup, self.process = setup, None

    def start(self):
        self.process = subprocess.Popen([sys.executable, __file__, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for sql in self.setup:
            answer = self.ask(sql)
            if answer[0] != b"":
                raise RuntimeError(f"setup fails: {sql}\n{answer}")

    def answer(self, sql):
        if self.process is None:
            self.start()
        return self.ask(sql)

    def ask(self, sql):
        guard = threading.Timer(PATIENCE_SECONDS, self.process.kill)
        guard.start()
        try:
            self.process.stdin.write(json.dumps(sql) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        guard.cancel()
        if not line:
            self.process = None
            return b"", "the process ended"
        answer = json.loads(line)
        return bytes.fromhex(answer["bytes"]), answer["said"]


def serve():
    """Answers statements of standard input with ClickHouse."""
    from chdb import session as chdb_session

    session = chdb_session.Session()
    for line in sys.stdin:
        try:
            answer, said = session.query(json.loads(line), "TSVWithNamesAndTypes").bytes(), ""
        except Exception as error:  # chdb raises RuntimeError with ClickHouse's text
            said = str(error)
            code = re.search(r"Code: (\d+)\.", said)
            answer = f"error {code.group(1) if code else '?'}".encode()
            # What a statement wrote before it failed would stand in front of the next answer.
            session.query("SELECT 1")
        print(json.dumps({"bytes": answer.hex(), "said": said}), flush=True)


def shown_pair(ours, theirs):
    """Both answers as cells of the table, from the value on that is the first to differ."""
    start = len(os.path.commonprefix([ours, theirs]))
    start = max(ours.rfind(mark, 0, start) for mark in (b"\t", b"\n")) + 1 if start < min(len(ours), len(theirs)) else 0
    cut = 0 if b"error " in (ours[:6], theirs[:6]) else start
    return tuple(shown((b"\xe2\x80\xa6" if cut else b"") + answer[cut:]) for answer in (ours, theirs))


def shown(answer):
    """An answer as one cell of the table."""
    text = answer.decode(errors="backslashreplace")
    text = re.sub(r"[\x00-\x09\x0b-\x1f]", lambda c: " " if c.group() == "\t" else f"\\x{ord(c.group()):02x}", text).replace("\n", "⏎")
    return cell(text if len(text) <= 200 else text[:200] + "…")


def cell(text):
    return text.replace("|", "\\|").strip()


def table():
    """{statement: (ours, theirs, why)} and the text above the rows."""
    rows, head = {}, []
    for line in TABLE.read_text().split("\n") if TABLE.exists() else []:
        cells = [c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 4 and cells[0].startswith("`"):
            rows[cells[0].strip("`")] = tuple(c.strip("`") for c in cells[1:3]) + (cells[3],)
        elif not rows:
            head.append(line)
    return head, rows


def compare(sqls, binary):
    setup = list(statements(HERE / "statements" / "setup.sql"))
    sides = [Ours(binary, setup), Theirs(setup)]
    with ThreadPoolExecutor(2) as pool:
        answers = pool.map(lambda side: [side.answer(sql) for sql in sqls], sides)
    return [(sql, ours, theirs) for sql, ours, theirs in zip(sqls, *answers) if ours[0] != theirs[0] or "process ended" in ours[1]]


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    binary, files = arguments[0], arguments[1:]
    everything = not files
    files = files or sorted(map(str, HERE.joinpath("statements").glob("*.sql")))
    sqls = list(dict.fromkeys(sql for file in files if not file.endswith("setup.sql") for sql in statements(file)))
    different = compare(sqls, binary)
    head, known = table()
    wrong, lines, found = [], [], set()
    for sql, ours, theirs in different:
        key, cells = cell(sql), shown_pair(ours[0], theirs[0])
        found.add(key)
        why = known.get(key, ("", "", ""))[2]
        lines.append(f"| `{key}` | `{cells[0]}` | `{cells[1]}` | {why} |")
        if known.get(key, ())[:2] != cells and not (why and "--write" in sys.argv):
            said = (ours[1] or theirs[1]).split("\n")[0][:300]
            wrong.append(f"{sql}\n  ours:   {ours[0].decode(errors='backslashreplace')[:600]!r}\n"
                         f"  theirs: {theirs[0].decode(errors='backslashreplace')[:600]!r}\n  said:   {said}")
    wrong += [f"{TABLE.name} has a row that no longer differs: {key}" for key in known if everything and key not in found and "--write" not in sys.argv]
    if everything and len(different) >= KNOWN_SHARE_MAX * len(sqls):
        wrong.append(f"{len(different)} of {len(sqls)} statements differ, which is not under {KNOWN_SHARE_MAX:.0%}")
    if "--write" in sys.argv:
        TABLE.write_text("\n".join(head + [line for line in lines if not line.endswith("|  |")]) + "\n")
    for line in wrong:
        print(line)
    print(f"{len(sqls)} statements: {len(sqls) - len(different)} equal, {len(different)} different, {len(known)} of them known")
    print(f"{len(sqls) - len(different)} passed, {len(wrong)} failed")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    serve() if "--serve" in sys.argv else main()
