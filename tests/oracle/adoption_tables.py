"""Two tables for one Parquet file, with its column chunks adopted and without, and all that is compared between them."""
import collections
import http.client
import random
import re
import signal
import subprocess
import threading
from dataclasses import dataclass
from urllib.parse import urlencode

from adoption_files import nullable

LOGICAL_ERROR, NO_ANSWER, SECONDS = 49, -1, 120
SETTINGS = {"allow_suspicious_low_cardinality_types": 1, "session_timezone": "UTC"}
NUMBER = re.compile(r"U?Int\d+|Float\d+|Decimal\(|Bool")
WRAPPERS = re.compile(r"^(?:(?:LowCardinality|Nullable)\()+")


class Server:
    """The server of one folder, which may be ended and started again."""

    def __init__(self, binary, folder):
        self.binary, self.folder, self.log = binary, folder, folder / "server.log"
        (folder / "server.toml").write_text(f'user_files = "{folder}"\n')
        self.start()

    def start(self):
        command = [self.binary, "server", "--path", str(self.folder / "db"), "--config", str(self.folder / "server.toml"),
                   "--listen", "127.0.0.1:0"]
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        found = re.match(r"listening on 127\.0\.0\.1:(\d+)", self.process.stdout.readline())
        if not found:
            raise SystemExit(f"the server does not start: {self.log.read_text(errors='replace')[-1000:]}")
        self.port = int(found[1])

    def ask(self, sql):
        """(code of the error or 0, the answer as bytes)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            connection.request("POST", "/?" + urlencode(SETTINGS), sql.encode())
            answer = connection.getresponse()
            text = answer.read()
            found = re.search(rb"Code: (\d+)\. DB::Exception", text)
            code = int(answer.getheader("X-ClickHouse-Exception-Code") or (found[1] if found else 0))
            return code or (0 if answer.status == 200 else LOGICAL_ERROR), text
        except (OSError, http.client.HTTPException) as error:
            return NO_ANSWER, repr(error).encode()
        finally:
            connection.close()

    def must(self, sql):
        code, text = self.ask(sql)
        if code:
            raise RuntimeError(f"{sql[:500]}\n{text[:500]!r}")
        return text

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        return self.process.returncode

    def panics(self):
        """Lines of the log that tell of a panic."""
        return [line for line in self.log.read_text(errors="replace").split("\n") if "panicked" in line]


def adopted(server, table):
    """How often each column of the table was adopted; None as long as the server cannot tell."""
    code, text = server.ask(f"SELECT name, count() FROM system.parts ARRAY JOIN adopted_columns AS name WHERE table = '{table}' GROUP BY name")
    if code:
        return None
    return {name: int(count) for name, count in (line.split("\t") for line in text.decode().split("\n")[:-1])}


@dataclass
class Case:
    """A file and two tables for it, which end in _1 and _0: with adoption and without."""
    name: str
    file: object
    # (name in the file, name in the table, kind, type of the table's column)
    columns: list
    key: str
    partition: str
    plan: int
    # Whether it has one of several columns only, since the tables did not take them all.
    is_part: bool = False
    inserted: bool = False
    was_adopted: bool = False

    def __post_init__(self):
        self.at_first = list(self.columns), self.key

    def told(self):
        types = ", ".join(f"{of_table} {table} of {kind.name}" for _, of_table, kind, table in self.columns)
        return (f"{self.name}: {self.file.path.name} ({self.file.rows} rows, {self.file.order}, {self.file.how}); {types}; "
                f"{self.partition} ORDER BY {self.key}")


class Checks:
    def __init__(self, server):
        self.server, self.passed, self.failed, self.lock = server, 0, [], threading.Lock()
        self.adopted, self.adopted_files, self.files = collections.Counter(), set(), set()
        # By statement and code, what neither table took.
        self.refused = collections.Counter()

    def end(self):
        """Ends the server, which must have had no panic."""
        code = self.server.stop()
        self.check(code in (0, -signal.SIGTERM), f"the server ended with {code}")
        self.check(not self.server.panics(), "\n".join(self.server.panics()[:10]))

    def check(self, is_right, what):
        with self.lock:
            self.passed += bool(is_right)
            if not is_right:
                self.failed.append(what)
        return bool(is_right)

    def both(self, case, sql, normal=lambda text: text, may_differ=False):
        """The answer that both tables give to `sql`, in which {t} is the table; None if it is an error, False if they
        differ. Where several things are wrong, errors `may_differ`: either may come first."""
        one, other = (self.server.ask(sql.replace("{t}", f"{case.name}_{adopt}").replace("{adopt}", str(adopt))) for adopt in (1, 0))
        shown = f"{case.told()}\n    {sql[:1500]}\n"
        is_same = one[0] == other[0] or (may_differ and one[0] and other[0])
        if LOGICAL_ERROR in (one[0], other[0]) or NO_ANSWER in (one[0], other[0]) or not is_same:
            self.check(False, f"{shown}    adopted:  {one[0]} {one[1][:400]!r}\n    ordinary: {other[0]} {other[1][:400]!r}")
            return False
        if one[0]:
            self.check(True, "")
            self.refused[sql.split()[0], one[0]] += 1
            return None
        first, second = normal(one[1]), normal(other[1])
        told = "" if first == second else f"{shown}    {difference(first, second)}"
        return self.check(first == second, told) and other[1]


def difference(one, other):
    """The first places where two answers differ: texts, lists of lines, or several of them."""
    if isinstance(one, tuple):
        one, other = next((first, second) for first, second in zip(one, other) if first != second)
    lines, others = (answer if isinstance(answer, list) else answer.split(b"\n") for answer in (one, other))
    found = [(first, second) for first, second in zip(lines, others) if first != second][:3]
    return f"adopted {len(lines)} lines, ordinary {len(others)}: " + "; ".join(f"{a[:200]!r} instead of {b[:200]!r}" for a, b in found)


def in_order(text):
    """Keys in the order in which they came, and rows in whatever order."""
    lines = text.split(b"\n")
    return [b"\t".join(line.split(b"\t")[:2]) for line in lines], sorted(lines)


def without_signs(text):
    """Of the two zeros either is the least and the greatest."""
    return re.sub(rb"\t-0(?=[\t\n])", b"\t0", text)


def in_any_order(text):
    return sorted(text.split(b"\n"))


def literal(table, text):
    """A value in SQL that stands in `text` as TabSeparated has it."""
    return text if NUMBER.match(WRAPPERS.sub("", table)) else f"'{text}'"


class Walk:
    """What is done with the tables of one case."""

    def __init__(self, checks, case):
        self.checks, self.case, self.server = checks, case, checks.server
        self.dice = random.Random(case.name)

    def create(self):
        """Whether there are tables now."""
        columns = ", ".join(f"{name} {table}" for _, name, _, table in self.case.columns)
        made = self.checks.both(self.case, f"CREATE TABLE {{t}} (k UInt32, key2 {self.case.file.key_type}, {columns}) "
                                f"ENGINE = MergeTree {self.case.partition} ORDER BY {self.case.key}")
        return self.checks.check(isinstance(made, bytes), f"{self.case.told()}\n    the table cannot be created")

    def insert(self, may_differ=False):
        """As of `both`: bytes if the tables took the file."""
        case = self.case
        names = ", ".join(["k", "key2"] + [name for _, name, _, _ in case.columns])
        of_file = ", ".join(["k", "key2"] + [name for name, _, _, _ in case.columns])
        insert = f"INSERT INTO {{t}} ({names}) SELECT {of_file} FROM file('{case.file.path}', 'Parquet') SETTINGS adopt = {{adopt}}"
        return self.checks.both(case, insert, may_differ=may_differ)

    def first(self):
        """The first insert. A file that is refused is inserted column by column, which returns other cases."""
        case = self.case
        if not self.create():
            return []
        answer = self.insert(may_differ=len(case.columns) > 1)
        case.inserted = isinstance(answer, bytes)
        if answer is None:
            self.checks.both(case, "SELECT count() FROM {t}")
        if not case.inserted:
            key = "k" if "c" in case.key else case.key
            return [Case(f"{case.name}c{at}", case.file, [column], key, case.partition, case.plan, is_part=True)
                    for at, column in enumerate(case.columns) if len(case.columns) > 1]
        self.note_adopted()
        self.compare(is_first=True)
        self.check_table()
        for step in ([["alter", "again", "optimize"], ["optimize", "alter"], ["again"], []][case.plan % 4]) * (not case.is_part):
            getattr(self, step)()
        return []

    def note_adopted(self):
        found, case, checks = adopted(self.server, f"{self.case.name}_1"), self.case, self.checks
        without = adopted(self.server, f"{case.name}_0")
        with checks.lock:
            checks.files.add(case.file.path)
            case.was_adopted = bool(found)
            if found:
                checks.adopted_files.add(case.file.path)
            for _, name, kind, table in case.columns:
                checks.adopted[case.file.writer, kind.name, table] += (found or {}).get(name, 0)
        if without:
            checks.check(False, f"{case.told()}\n    adopted with adopt = 0: {without}")

    def compare(self, much=True, is_first=False):
        """Rows; with `much` bounds and filters, too."""
        case, both = self.case, self.checks.both
        key = "" if case.key == "()" else f"ORDER BY {case.key}, k, key2"
        names = ", ".join(["k", "key2"] + [name for _, name, _, _ in case.columns])
        rows = both(case, f"SELECT {names} FROM {{t}} {key} FORMAT TabSeparated", in_order if key else in_any_order)
        if not rows or not much:
            return
        values = self.values(rows)
        flat = [name for _, name, kind, table in case.columns if not kind.nests]
        found = ", ".join(f"count({one}), countIf({one} IS NULL), min({one}), max({one}), uniqExact({one})" for one in ["k", "key2", *flat])
        both(case, f"SELECT count(), {found} FROM {{t}}", without_signs)
        both(case, " UNION ALL ".join(self.filters(values, 2 if is_first else 1)), in_any_order)
        if is_first:
            both(case, "SELECT min(k), max(k), min(key2), max(key2), count() FROM {t}")
            if key and "k" in values:
                both(case, f"SELECT k, key2 FROM {{t}} WHERE k >= {values['k'][1]} {key} LIMIT 7")

    def values(self, rows):
        """Two values of each column, the middle one second, as far as they can be written in SQL."""
        lines = [line.split(b"\t") for line in rows.split(b"\n")[:-1]]
        found = {}
        for at, name in enumerate(["k", "key2"] + [name for _, name, _, _ in self.case.columns]):
            texts = sorted({line[at] for line in lines} - {b"\\N", b"nan"})
            try:
                texts = [text.decode() for text in texts if len(text) < 300]
            except UnicodeDecodeError:
                continue
            texts = sorted(texts, key=lambda text: float(text) if re.fullmatch(r"-?\d+(\.\d+)?", text) else 0.0)
            if texts:
                found[name] = (texts[len(texts) // 3], texts[len(texts) // 2])
        return found

    def filters(self, values, count):
        """Some conditions of each column, others each time."""
        case = self.case
        types = {"k": "UInt32", "key2": case.file.key_type} | {name: table for _, name, kind, table in case.columns if not kind.nests}
        for name, table in types.items():
            conditions = [f"{name} IS NULL", f"{name} IS NOT NULL AND k < 100"]
            if name in values:
                one, middle = (literal(table, text) for text in values[name])
                conditions += [f"{name} = {one}", f"{name} > {middle}", f"{name} <= {middle}", f"{name} != {one}", f"{name} IN ({one}, {middle})",
                               f"{name} BETWEEN {one} AND {middle}"]
            for condition in self.dice.sample(conditions, count):
                yield f"SELECT '{name}', '{condition[len(name):len(name) + 3]}', count(), sum(k) FROM {{t}} WHERE {condition}"

    def check_table(self):
        """Parts have other names in each table, and may be more or fewer."""
        self.checks.both(self.case, "CHECK TABLE {t}", lambda text: sorted({line.partition(b"\t")[2] for line in text.split(b"\n")[:-1]}))

    def optimize(self):
        self.checks.both(self.case, "OPTIMIZE TABLE {t} FINAL")
        self.compare()
        self.check_table()

    def again(self):
        """The file once more, beside the rows that are there."""
        self.insert()
        if self.case.plan % 4 == 2:
            self.compare()

    def alter(self):
        case, both = self.case, self.checks.both
        both(case, "ALTER TABLE {t} ADD COLUMN IF NOT EXISTS added UInt16 DEFAULT toUInt16(k % 7)")
        both(case, "SELECT sum(added), countIf(added > 3) FROM {t}")
        for at, (of_file, name, kind, table) in enumerate(case.columns):
            wider = kind.wider if kind.wider and table == kind.table and case.plan % 3 else nullable(table)
            if wider != table and isinstance(both(case, f"ALTER TABLE {{t}} MODIFY COLUMN {name} {wider}"), bytes):
                table = wider
            is_renamed = at == case.plan % len(case.columns)
            if is_renamed and isinstance(both(case, f"ALTER TABLE {{t}} RENAME COLUMN {name} TO renamed"), bytes):
                case.key, name = case.key.replace(name, "renamed"), "renamed"
            case.columns[at] = (of_file, name, kind, table)
        self.compare()

    def reopened(self):
        """In another process than the one that inserted."""
        if not self.case.inserted or self.case.is_part:
            return
        was_left = self.case.plan % 4 > 1
        self.compare(much=was_left)
        if was_left:
            self.check_table()
            self.alter()
            self.optimize()

    def drop(self):
        for adopt in (1, 0):
            self.server.ask(f"DROP TABLE IF EXISTS {self.case.name}_{adopt}")
