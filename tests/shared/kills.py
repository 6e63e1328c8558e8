#!/usr/bin/env python3
"""Kills and stops servers of one shared root at random moments of inserts, deletes, updates and merges, and counts what is there.

Usage: kills.py BINARY [KILLS=20] [--seed N] [--store folder|endpoint|proxy] [--kinds FAULT,FAULT,..]

Three servers, eight writers with labels, and one thread each that deletes, updates, merges and reads. A statement without an
answer is repeated under its label on another server. Every column of a row follows from (label, row). Checked in the end, on
all servers and on a new one: no label that was answered is lost, doubled or torn, a materialized view has counted each
row of its table, what was deleted stays away, an update was seen by all rows of a label or none; and while it runs: whoever was
answered sees its rows, and no server fails a statement because another one died. With `proxy` one request in ten fails.
"""
import random
import shutil
import signal
import sys
import threading
import time

from servers import Connection, Refused, Root, Unanswered, kind_of

SERVERS, WRITERS = 3, 8
SMALL_ROWS_MAX, LARGE_ROWS, LARGE_ONE_IN = 200, 50_000, 60
CLASSES = 5
# Whoever was stopped goes on after 8 s at most.
PATIENCE_SECONDS = (3, 15)
LAST_PATIENCE_SECONDS = 120
PRIME = 4_294_967_291
HASH = f"(label * 1000003 + row * 2654435761) % {PRIME}"
CREATE = (
    "CREATE TABLE t (label UInt64, row UInt64, hash UInt64, payload String, stamp UInt64) "
    "ENGINE = MergeTree PARTITION BY label % 3 ORDER BY (label, row)",
    "CREATE TABLE viewed (n UInt64, row UInt64) ENGINE = MergeTree ORDER BY (n, row)",
    "CREATE TABLE counted (n UInt64, rows UInt64) ENGINE = SummingMergeTree ORDER BY n",
    "CREATE MATERIALIZED VIEW counting TO counted AS SELECT n, count() AS rows FROM viewed GROUP BY n",
)
FOUND = (f"SELECT label, count(), uniqExact(row), max(row), countIf(hash != {HASH} OR payload != concat('payload ', "
         "toString(hash))), uniqExact(stamp) FROM t GROUP BY label ORDER BY label")
CONSISTENT = " SETTINGS select_sequential_consistency = 1"


class Wrong(Exception):
    """What does not hold, and of which label."""


class Story:
    """What was sent and what was answered, by all threads."""

    def __init__(self, seed):
        self.seed, self.lock = seed, threading.Lock()
        self.rows, self.acknowledged, self.deleted = {}, set(), set()
        self.viewed, self.in_doubt = {}, {}
        self.errors, self.unanswered, self.wrong, self.counts = {}, {}, [], {}
        self.slowest, self.slowest_sql = 0.0, ""
        self.ending = threading.Event()

    def note(self, kinds, text, node=None):
        with self.lock:
            count, first = kinds.get(kind_of(text), (0, None))
            kinds[kind_of(text)] = (count + 1, first or f"node {node.number if node else '?'}: {str(text)[:600]}")

    def count(self, name):
        with self.lock:
            self.counts[name] = self.counts.get(name, 0) + 1

    def fail(self, text):
        with self.lock:
            self.wrong.append(text)
        print(f"WRONG: {text}", flush=True)


def insert(label, rows):
    begin = f"INSERT INTO t WITH LABEL label{label}"
    if rows > SMALL_ROWS_MAX:
        value = f"({label} * 1000003 + number * 2654435761) % {PRIME}"
        return f"{begin} SELECT {label}, number, {value}, concat('payload ', toString({value})), 0 FROM numbers({rows})"
    hashes = [(label * 1000003 + row * 2654435761) % PRIME for row in range(rows)]
    return f"{begin} VALUES " + ", ".join(f"({label}, {row}, {one}, 'payload {one}', 0)" for row, one in enumerate(hashes))


def until_answered(story, root, sql, dice, retries=True):
    """Sends a statement to one server after the other until one answers; the server that did, or None if it was refused."""
    refusals, begun = 0, time.monotonic()
    while True:
        node = dice.choice(root.nodes)
        patience = LAST_PATIENCE_SECONDS if story.ending.is_set() else dice.uniform(*PATIENCE_SECONDS)
        started = time.monotonic()
        try:
            connection = Connection(node, patience)
            try:
                connection.query(sql)
            finally:
                connection.close()
            seconds = time.monotonic() - begun
            if seconds > story.slowest:
                story.slowest, story.slowest_sql = seconds, sql[:60]
            return node
        except Unanswered as lost:
            # Neither killed nor stopped meanwhile: it should have answered.
            if node.lost_at < started - 1 and node.port:
                story.note(story.unanswered, f"{lost} ({sql.split(' ', 1)[0]})", node)
        except Refused as refused:
            story.note(story.errors, f"{sql.split(' ', 1)[0]}: {refused}", node)
            refusals += 1
            if not retries or refusals > 20:
                return None
        if time.monotonic() - begun > 3 * LAST_PATIENCE_SECONDS:
            story.fail(f"never answered: {sql[:100]}")
            return None
        time.sleep(0.05)


def write(story, root, number):
    dice, sequence = random.Random(story.seed * 1000 + number), 0
    while not story.ending.is_set():
        sequence += 1
        label = sequence * WRITERS + number
        rows = LARGE_ROWS if dice.randrange(LARGE_ONE_IN) == 0 else dice.randint(1, SMALL_ROWS_MAX)
        with story.lock:
            story.rows[label] = rows
        node = until_answered(story, root, insert(label, rows), dice)
        if node is None:
            story.fail(f"label {label} was refused again and again")
            continue
        if dice.random() < 0.3:
            look(story, root, node, label, rows, dice)
        with story.lock:
            story.acknowledged.add(label)
        story.count("inserts")


def look(story, root, node, label, rows, dice):
    """Who was answered sees its rows: on the same server, or on any that is asked for everything. Nobody has deleted them yet."""
    end, where = ("", "the same server") if dice.random() < 0.5 else (CONSISTENT, "another server")
    node = node if not end else dice.choice(root.nodes)
    process = node.process
    try:
        found = node.query(f"SELECT count(), uniqExact(row) FROM t WHERE label = {label}{end}", timeout=30).strip()
    except Unanswered:
        return
    except Refused as refused:
        story.note(story.errors, f"SELECT: {refused}", node)
        return
    story.count("looks")
    if found != f"{rows}\t{rows}" and node.process is process:
        story.fail(f"label {label} was answered, and {where} ({node.number}) sees {found.split()} of {rows} rows")


def change(story, root):
    """Deletes labels, updates classes of labels, merges."""
    dice, stamp = random.Random(story.seed * 1000 + 500), 0
    while not story.ending.is_set():
        time.sleep(dice.uniform(0, 0.6))
        kind = dice.random()
        with story.lock:
            known = sorted(story.acknowledged - story.deleted)
        if kind < 0.45 and known:
            victim = dice.choice(known)
            # On a server that may not know of the label yet.
            if until_answered(story, root, f"DELETE FROM t WHERE label = {victim}", dice):
                with story.lock:
                    story.deleted.add(victim)
                story.count("deletes")
            else:
                story.fail(f"DELETE of {victim} was refused again and again")
        elif kind < 0.75:
            stamp += 1
            sql = f"ALTER TABLE t UPDATE stamp = {stamp} WHERE label % {CLASSES} = {dice.randrange(CLASSES)}"
            if until_answered(story, root, sql, dice):
                story.count("updates")
        elif until_answered(story, root, "OPTIMIZE TABLE t" + dice.choice(["", " FINAL"]), dice, retries=False):
            story.count("merges")


def write_viewed(story, root):
    """Inserts that a view sees: labels are not for them, so nothing is repeated, and what was not answered may be there."""
    dice, n = random.Random(story.seed * 1000 + 700), 0
    while not story.ending.is_set():
        n += 1
        rows, node = dice.randint(1, 20), dice.choice(root.nodes)
        try:
            node.query(f"INSERT INTO viewed SELECT {n}, number FROM numbers({rows})", timeout=20)
        except Unanswered:
            with story.lock:
                story.in_doubt[n] = rows
        except Refused as refused:
            story.note(story.errors, f"INSERT with a view: {refused}", node)
        else:
            story.count("viewed")
            with story.lock:
                story.viewed[n] = rows
        time.sleep(0.05)


def ask(story, node, sql):
    """Rows of a SELECT that sees everything; where the store fails it is tried again."""
    for _ in range(20):
        try:
            return node.rows(sql + CONSISTENT, timeout=LAST_PATIENCE_SECONDS)
        except (Refused, Unanswered) as error:
            story.note(story.errors, f"SELECT at the end: {error}", node)
            time.sleep(0.5)
    raise Wrong(f"node {node.number} does not answer {sql[:60]}")


def check_views(story, node):
    """The view has counted what its table has, and every answered insert is there once and whole."""
    of_table = ask(story, node, "SELECT n, count(), uniqExact(row) FROM viewed GROUP BY n ORDER BY n")
    of_view = ask(story, node, "SELECT n, sum(rows) FROM counted GROUP BY n ORDER BY n")
    found = {int(n): int(rows) for n, rows, _ in of_table}
    if [row[:2] for row in of_table] != of_view or any(rows != different for _, rows, different in of_table):
        story.fail(f"node {node.number}: table and view differ: {[row for row in of_table if row[:2] not in of_view][:5]}, "
                   f"{[row for row in of_view if int(row[1]) != found.get(int(row[0]))][:5]}")
    wrong = [n for n, rows in story.viewed.items() if found.get(n) != rows]
    torn = [n for n, rows in found.items() if rows != story.viewed.get(n, story.in_doubt.get(n))]
    if wrong or torn:
        story.fail(f"node {node.number}: inserts that a view sees: lost {wrong[:5]}, torn or unknown {torn[:5]}")


def read(story, root):
    """Looks for labels that are half there, on a server that may be behind."""
    dice = random.Random(story.seed * 1000 + 600)
    while not story.ending.is_set():
        time.sleep(0.3)
        node = dice.choice(root.nodes)
        try:
            found = node.rows(FOUND, timeout=30)
        except Unanswered:
            continue
        except Refused as refused:
            story.note(story.errors, f"SELECT of all: {refused}", node)
            continue
        story.count("reads")
        for row in found:
            problem = problem_of(story, [int(value) for value in row])
            if problem:
                story.fail(f"a reader on node {node.number}: {problem}")


def problem_of(story, row):
    label, count, different, highest, mixed, stamps = row
    rows = story.rows.get(label)
    if rows is None:
        return f"label {label} was never sent, and has {count} rows"
    if count != different:
        return f"label {label} is doubled: {count} rows, {different} different ones"
    if count != rows or highest != rows - 1:
        return f"label {label} is torn: {count} of {rows} rows, up to {highest}"
    if mixed or stamps != 1:
        return f"label {label} is mixed: {mixed} rows do not belong together, {stamps} stamps"
    return None


def disturb(story, root, kills, dice):
    """Kills and stops one server after the other."""
    for kill in range(1, kills + 1):
        time.sleep(dice.uniform(0.3, 2))
        node = dice.choice(root.nodes)
        node.lost_at = float("inf")
        if dice.random() < 0.6:
            node.kill()
            time.sleep(dice.uniform(0, 1.5))
            if dice.random() < 0.3:
                shutil.rmtree(node.cache, ignore_errors=True)
            node.start()
        else:
            node.signal(signal.SIGSTOP)
            time.sleep(dice.uniform(0.5, 8))
            node.signal(signal.SIGCONT)
        node.lost_at = time.monotonic()
        dead = [node.number for node in root.nodes if node.process.child.poll() is not None]
        if dead:
            raise Wrong(f"servers {dead} ended by themselves")
        if kill % 5 == 0:
            print(f"{kill} of {kills}, {story.counts}", flush=True)


def check(story, root):
    """Compares all servers and a new one with what was answered."""
    answers = {}
    for node in [*root.nodes, *root.start(1)]:
        answers[node.number] = "\n".join("\t".join(row) for row in ask(story, node, FOUND))
        check_views(story, node)
    if len(set(answers.values())) != 1:
        story.fail(f"servers do not agree: {[hash(text) for text in answers.values()]}")
    for number, answer in answers.items():
        found = {int(line.split("\t")[0]): [int(value) for value in line.split("\t")] for line in answer.splitlines()}
        for row in found.values():
            problem = problem_of(story, row)
            if problem:
                story.fail(f"node {number}: {problem}")
        lost = story.acknowledged - story.deleted - found.keys()
        back = story.deleted & found.keys()
        if lost:
            story.fail(f"node {number}: {len(lost)} labels lost: {sorted(lost)[:5]}")
        if back:
            story.fail(f"node {number}: {len(back)} deleted labels are there: {sorted(back)[:5]}")


def run(binary, kills, seed, store, kinds):
    story, dice = Story(seed), random.Random(seed)
    with Root(binary, store, seed, fault_kinds=kinds) as root:
        root.start(SERVERS)
        for sql in CREATE:
            if not until_answered(story, root, sql.replace(" TABLE ", " TABLE IF NOT EXISTS ", 1).replace(
                    "MATERIALIZED VIEW ", "MATERIALIZED VIEW IF NOT EXISTS "), dice):
                raise Wrong(f"refused: {sql}")
            time.sleep(0.3)
        work = [threading.Thread(target=write, args=(story, root, number), daemon=True) for number in range(WRITERS)]
        work += [threading.Thread(target=one, args=(story, root), daemon=True) for one in (change, read, write_viewed)]
        for thread in work:
            thread.start()
        try:
            disturb(story, root, kills, dice)
        finally:
            story.ending.set()
        for thread in work:
            thread.join(3 * LAST_PATIENCE_SECONDS)
        if any(thread.is_alive() for thread in work):
            story.fail("a statement hangs")
        check(story, root)
        tell(story, root)
    return story


def tell(story, root):
    for text in root.failed_starts:
        story.note(story.errors, f"start: {text}")
    print(f"{story.counts}, {len(story.acknowledged)} labels answered, {len(story.rows)} sent, {len(story.deleted)} deleted")
    print(f"slowest statement with its repetitions: {story.slowest:.1f} s ({story.slowest_sql})")
    for name, kinds in (("error", story.errors), ("no answer", story.unanswered)):
        for count, first in kinds.values():
            print(f"{name}, {count} times: {first}")
    for alarm in root.alarms()[:10]:
        story.fail(f"in a log: {alarm}")


def main():
    arguments, options = sys.argv[1:], {"--seed": "1", "--store": "folder", "--kinds": None}
    for name in options:
        if name in arguments:
            at = arguments.index(name)
            options[name] = arguments[at + 1]
            del arguments[at:at + 2]
    kills = int(arguments[1]) if len(arguments) > 1 else 20
    story = run(arguments[0], kills, int(options["--seed"]), options["--store"], options["--kinds"])
    # Through the proxy a statement may be told that the store does not answer.
    refused = sum(count for count, _ in story.errors.values()) if options["--store"] != "proxy" else 0
    failed = len(story.wrong) + refused
    print(f"{kills} kills passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
