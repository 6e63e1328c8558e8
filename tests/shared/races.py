#!/usr/bin/env python3
"""Sends the same statements to eight servers of one shared root at the same moment, and looks at what is there afterwards.

Usage: races.py BINARY [ROUNDS=20] [--store folder|endpoint|both] [--gateway VERSITYGW | --azure AZURITE-BLOB]

With --gateway, the binary of versitygw, it is done on that alone: a real S3 server, which was not written for this. With --azure
it is done on Azurite.

Checked: a label is loaded once however many servers get it at once, and all of them answer success; of eight servers that
start on nothing each keeps every row it acknowledged, once; of eight CREATE TABLE one succeeds, and CREATE TABLE IF NOT EXISTS
always; DROP, TRUNCATE, RENAME and EXCHANGE beside inserts leave all servers with the same rows, and nobody with half a
statement; a materialized view has counted each row once; FINAL over several servers gives the newest row of each key; a
change on one server is about all rows that another one acknowledged before.
"""
import sys
import threading
import time

from servers import Connection, Refused, Root, at_once, kind_of

SERVERS = 8
ROWS_OF_LABEL = 3
INSERTS_EACH = 50
CONSISTENT = "SETTINGS select_sequential_consistency = 1"


class Wrong(Exception):
    """What does not hold."""


def expect(holds, text):
    if not holds:
        raise Wrong(text)


def raise_first(answers):
    for number, answer in enumerate(answers):
        if isinstance(answer, Exception):
            raise Wrong(f"server {number}: {type(answer).__name__}: {answer}")


def same_everywhere(nodes, sql):
    """The answer that all servers give to a SELECT that sees everything."""
    answers = at_once(len(nodes), lambda number: nodes[number].query(f"{sql} {CONSISTENT}"))
    raise_first(answers)
    expect(len(set(answers)) == 1, f"{sql}: {sorted(set(answers))}")
    return answers[0].strip()


def create(nodes, *statements):
    """Makes something on one server and waits until all know it: servers follow each other within 100 ms."""
    for sql in statements:
        nodes[0].query(sql)
    raise_first(at_once(len(nodes), lambda number: nodes[number].query(f"SELECT 1 {CONSISTENT}")))


def labels(root, rounds):
    """(a) One label on all servers at once."""
    nodes = root.nodes
    create(nodes, "CREATE TABLE labelled (round UInt64, row UInt64) ENGINE = MergeTree ORDER BY (round, row)")
    for round_number in range(rounds):
        values = ", ".join(f"({round_number}, {row})" for row in range(ROWS_OF_LABEL))
        insert = f"INSERT INTO labelled WITH LABEL label{round_number} VALUES {values}"

        def send(number):
            connection = Connection(nodes[number])
            connection.query(insert)
            written = connection.written_rows
            # Whoever was answered sees it at once, on the same server.
            seen = connection.query(f"SELECT count() FROM labelled WHERE round = {round_number}").strip()
            connection.close()
            expect(seen == str(ROWS_OF_LABEL), f"answered, and then {seen} rows are seen")
            return written

        answers = at_once(SERVERS, send)
        raise_first(answers)
        expect(sorted(answers) == [0] * (SERVERS - 1) + [ROWS_OF_LABEL], f"round {round_number}: rows written {answers}")
        found = same_everywhere(nodes, f"SELECT count(), uniqExact(row) FROM labelled WHERE round = {round_number}")
        expect(found == f"{ROWS_OF_LABEL}\t{ROWS_OF_LABEL}", f"round {round_number}: {found}")
    return f"{rounds} labels on {SERVERS} servers"


def from_nothing(root):
    """(b) All start on nothing, make the same table and append."""
    nodes = root.nodes
    table = "CREATE TABLE IF NOT EXISTS appended (server UInt64, n UInt64) ENGINE = MergeTree ORDER BY (server, n)"

    def append(number):
        connection = Connection(nodes[number])
        try:
            connection.query(table)
        except Refused as refused:
            # `creations` is about that.
            expect(refused.code() == 57, str(refused))
        for n in range(INSERTS_EACH):
            connection.query(f"INSERT INTO appended VALUES ({number}, {n})")
        connection.close()

    started = time.monotonic()
    raise_first(at_once(SERVERS, append))
    seconds = time.monotonic() - started
    found = same_everywhere(nodes, "SELECT server, count(), uniqExact(n) FROM appended GROUP BY server ORDER BY server")
    wanted = "\n".join(f"{number}\t{INSERTS_EACH}\t{INSERTS_EACH}" for number in range(SERVERS))
    expect(found == wanted, f"appended: {found}")
    return f"{SERVERS * INSERTS_EACH} rows by {SERVERS} servers in {seconds:.1f} s"


def creations(root, rounds):
    """Of all who create a table, a database or a function one succeeds; IF NOT EXISTS always does."""
    nodes = root.nodes
    problems = {}
    kinds = ("TABLE {} (a UInt64) ENGINE = MergeTree ORDER BY a", "DATABASE {}", "FUNCTION {} AS (x) -> x + 1",
             "VIEW {} AS SELECT 1 AS one")
    for round_number in range(rounds):
        kind = kinds[round_number % len(kinds)]
        name = f"made{round_number}"
        answers = at_once(SERVERS, lambda number: nodes[number].query("CREATE " + kind.format(name)))
        others = [answer for answer in answers if isinstance(answer, Exception)]
        expect(len(others) == SERVERS - 1, f"CREATE {kind.format(name)}: {SERVERS - len(others)} succeeded")
        strange = [str(other) for other in others if not isinstance(other, Refused) or "exist" not in str(other)]
        expect(not strange, f"CREATE {kind.format(name)}: {strange[:1]}")
        what, rest = kind.split(" ", 1)
        at_all = f"CREATE {what} IF NOT EXISTS {rest.format(f'calm{round_number}')}"
        drop = f"DROP {what} IF EXISTS calm{round_number}"
        for sql in (at_all, drop):
            for answer in at_once(SERVERS, lambda number: nodes[number].query(sql)):
                if isinstance(answer, Exception):
                    kind = kind_of(f"{sql[:40]}: {answer}")
                    problems[kind] = problems.get(kind, 0) + 1
    expect(not problems, str(problems))
    return f"{rounds} rounds"


def definitions_beside_inserts(root, rounds, errors):
    """One server drops, truncates, renames and exchanges while the others insert and read."""
    nodes, going = root.nodes, threading.Event()
    allowed = (60, 57, 81)
    columns = "(server UInt64, statement UInt64, row UInt64) ENGINE = MergeTree ORDER BY (server, statement, row)"
    create(nodes, f"CREATE TABLE moving {columns}", f"CREATE TABLE other {columns}")

    def insert(number):
        statement, connection = 0, Connection(nodes[number])
        while not going.is_set():
            statement += 1
            rows = 1 + statement % 7
            sql = (f"INSERT INTO moving (server, statement, row) SELECT {number}, {statement}, number FROM numbers({rows})",
                   "INSERT INTO moving (server, statement, row) VALUES "
                   + ", ".join(f"({number}, {statement}, {row})" for row in range(rows)),
                   "SELECT server, statement, count() AS found FROM moving GROUP BY server, statement "
                   "HAVING found != 1 + statement % 7")[statement % 3]
            try:
                torn = connection.query(sql).strip()
                expect(not torn, f"torn statements (server, statement, rows): {torn[:200]}")
            except Refused as refused:
                kind = kind_of(refused)
                errors[kind] = errors.get(kind, 0) + 1
                expect(refused.code() in allowed, f"server {number}, {sql[:60]}: {refused}")

    def define():
        connection = Connection(nodes[0])
        for round_number in range(rounds):
            time.sleep(0.15)
            for sql in (
                ("DROP TABLE moving", f"CREATE TABLE moving {columns}"),
                ("TRUNCATE TABLE moving",),
                ("RENAME TABLE moving TO away", "RENAME TABLE away TO moving"),
                ("EXCHANGE TABLES moving AND other",),
                ("OPTIMIZE TABLE moving FINAL",),
                ("ALTER TABLE moving ADD COLUMN more UInt64 DEFAULT row", "ALTER TABLE moving DROP COLUMN more"),
            )[round_number % 6]:
                connection.query(sql)

    def work(number):
        if number > 0:
            return insert(number)
        try:
            return define()
        finally:
            going.set()

    raise_first(at_once(SERVERS, work))
    same_everywhere(nodes, "SELECT count(), sum(statement), sum(row) FROM moving")
    same_everywhere(nodes, "SELECT count(), sum(statement), sum(row) FROM other")
    torn = same_everywhere(nodes, "SELECT server, statement, count() AS found FROM moving GROUP BY server, statement "
                                  "HAVING found != 1 + statement % 7")
    expect(not torn, f"torn at the end: {torn[:200]}")
    return f"{rounds} changes"


def changes_see_answered_rows(root, rounds):
    """A DELETE, an UPDATE or an INSERT SELECT on one server is about all rows that were answered before on another."""
    nodes, missed = root.nodes, {}
    create(nodes, "CREATE TABLE changed (n UInt64, c UInt64) ENGINE = MergeTree ORDER BY n",
           "CREATE TABLE copied (n UInt64, c UInt64) ENGINE = MergeTree ORDER BY n")
    kinds = (
        ("DELETE", "DELETE FROM changed WHERE n = {}", "SELECT count() = 0 FROM changed WHERE n = {}"),
        ("UPDATE", "ALTER TABLE changed UPDATE c = 1 WHERE n = {}", "SELECT count() = 0 FROM changed WHERE n = {} AND c = 0"),
        ("INSERT SELECT", "INSERT INTO copied SELECT * FROM changed WHERE n = {}", "SELECT count() = 1 FROM copied WHERE n = {}"),
    )
    for n in range(rounds * len(kinds)):
        name, change, holds = kinds[n % len(kinds)]
        first, second = Connection(nodes[n % SERVERS]), Connection(nodes[(n + 1) % SERVERS])
        # It has looked at the log just now, and would not look again by itself.
        second.query("SELECT 1 " + CONSISTENT)
        first.query(f"INSERT INTO changed VALUES ({n}, 0)")
        second.query(change.format(n))
        if same_everywhere(nodes, holds.format(n)) != "1":
            missed[name] = missed.get(name, 0) + 1
        first.close()
        second.close()
    expect(not missed, f"rows of answered inserts missed, of {rounds} each: {missed}")
    return f"{rounds} of each"


def views_and_final(root):
    """A materialized view counts each row once, and the newest version of a key wins wherever it came from."""
    nodes = root.nodes
    create(
        nodes,
        "CREATE TABLE seen (key UInt64, version UInt64) ENGINE = MergeTree ORDER BY key",
        "CREATE TABLE newest (key UInt64, version UInt64) ENGINE = ReplacingMergeTree(version) ORDER BY key",
        "CREATE TABLE counts (key UInt64, rows UInt64) ENGINE = SummingMergeTree ORDER BY key",
        "CREATE MATERIALIZED VIEW counting TO counts AS SELECT key, count() AS rows FROM seen GROUP BY key",
        "CREATE MATERIALIZED VIEW keeping TO newest AS SELECT key, version FROM seen",
    )

    def insert(number):
        connection = Connection(nodes[number])
        for step in range(INSERTS_EACH):
            keys = [(step * 7 + offset) % 20 for offset in range(4)]
            values = ", ".join(f"({key}, {step * SERVERS + number})" for key in keys)
            connection.query(f"INSERT INTO seen VALUES {values}")
            if step % 10 == number % 10:
                connection.query("OPTIMIZE TABLE newest FINAL" if step % 20 < 10 else "OPTIMIZE TABLE counts")
        connection.close()

    raise_first(at_once(SERVERS, insert))
    truth = same_everywhere(nodes, "SELECT key, count(), max(version) FROM seen GROUP BY key ORDER BY key")
    counted = same_everywhere(nodes, "SELECT key, sum(rows) FROM counts GROUP BY key ORDER BY key")
    final = same_everywhere(nodes, "SELECT key, version FROM newest FINAL ORDER BY key")
    wanted = [line.split("\t") for line in truth.splitlines()]
    expect(counted == "\n".join(f"{key}\t{rows}" for key, rows, _ in wanted), f"counted {counted}, there is {truth}")
    expect(final == "\n".join(f"{key}\t{version}" for key, _, version in wanted), f"FINAL {final}, there is {truth}")
    return f"{SERVERS * INSERTS_EACH} inserts"


def run(binary, rounds, store, gateway):
    errors, failed = {}, 0
    with Root(binary, store, gateway=gateway) as root:
        started = time.monotonic()
        root.start(SERVERS)
        print(f"{store}: {SERVERS} servers started on nothing in {time.monotonic() - started:.1f} s", flush=True)
        for name, work in (
            ("from nothing", lambda: from_nothing(root)),
            ("labels", lambda: labels(root, rounds)),
            ("creations", lambda: creations(root, rounds)),
            ("definitions beside inserts", lambda: definitions_beside_inserts(root, 2 * rounds, errors)),
            ("changes see answered rows", lambda: changes_see_answered_rows(root, rounds)),
            ("views and FINAL", lambda: views_and_final(root)),
        ):
            started = time.monotonic()
            try:
                said = work()
                print(f"{store}: {name}: ok, {said}, {time.monotonic() - started:.1f} s", flush=True)
            except Exception as error:
                failed += 1
                print(f"{store}: {name}: FAILED after {time.monotonic() - started:.1f} s: {type(error).__name__}: {error}", flush=True)
        for kind, count in sorted(errors.items()):
            print(f"{store}: {count} times: {kind}")
        for alarm in root.alarms()[:10]:
            failed += 1
            print(f"{store}: in a log: {alarm}")
    return failed


def main():
    arguments = sys.argv[1:]
    options = {"--store": "both", "--gateway": None, "--azure": None}
    for name in options:
        if name in arguments:
            at = arguments.index(name)
            options[name] = arguments[at + 1]
            del arguments[at:at + 2]
    store, gateway = options["--store"], options["--gateway"] or options["--azure"]
    if gateway:
        store = "gateway" if options["--gateway"] else "azure"
    rounds = int(arguments[1]) if len(arguments) > 1 else 20
    stores = ("folder", "endpoint") if store == "both" else (store,)
    failed = sum(run(arguments[0], rounds, store, gateway) for store in stores)
    print(f"{len(stores)} stores passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
