#!/usr/bin/env python3
"""Damages the files of a database one by one and looks whether it ever answers wrongly, forgets rows in silence, or breaks.

Usage: folders.py BINARY [TRIALS] [SEED]

Four folders are made by the real binary: killed before its first checkpoint, once with rows in its log alone; closed cleanly by a
server; and killed behind a checkpoint. Each trial copies one of them, changes one file (a bit, a byte, a run of zeros, two blocks swapped, a cut, bytes behind the
end), opens it, asks what reads every column, merges everything, and asks again. Then every file of every folder is deleted and cut in
turns. An answer must be the right one or an error that says what is damaged; after an error nothing of the folder may be gone. What a kill
may take is the last record of the log, and only if that is said.

A debug build is attacked twice more, with mistakes planted in it that must be found: pages that nobody checks, a log without an anchor.
"""
import collections
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "oracle"))
from shell import Refused, Shell  # noqa: E402

OPEN_SECONDS_MAX = 60.0
# Mistakes of a debug build, and in which files of which folders they show.
PLANTED = {
    "parts.no_page_check": ("closed", lambda file: file.suffix == ".parquet" and "data" in file.parts, ["bit"] * 6),
    "commitlog.no_anchor": ("small", lambda file: "wal" in file.parts, ["delete", "empty", "half"]),
}
TABLES = {
    "wide": """CREATE TABLE wide (id UInt64, small UInt8, day Date, at DateTime64(3), price Decimal(12, 2), ratio Float64,
word LowCardinality(String), text String, maybe Nullable(Int32), list Array(UInt16), pair Tuple(a Int32, b String),
tags Map(String, UInt8)) ENGINE = MergeTree PARTITION BY toYYYYMM(day) ORDER BY (day, id)""",
    "narrow": "CREATE TABLE narrow (n UInt64, m UInt32, s String) ENGINE = MergeTree ORDER BY n",
    "rows": "CREATE TABLE rows (n UInt32, s String) ENGINE = MergeTree ORDER BY n",
}
WIDE = """INSERT INTO wide SELECT number + {first}, number % 7, toDate('2024-01-20') + number % 20,
toDateTime64('2024-01-01 00:00:00', 3) + number, number % 977 / 100, number / 7,
['red', 'green', 'blue'][number % 3 + 1], concat('text of row ', toString(number * 7919 % 10007)),
if(number % 5 = 0, NULL, toInt32(number)), range(number % 4), (toInt32(number), toString(number % 11)),
map('k', number % 9) FROM numbers({rows})"""
NARROW = "INSERT INTO narrow SELECT number + {first}, number % 1000, toString(number % 777) FROM numbers({rows})"
QUESTIONS = [
    "SELECT count(), sum(id), sum(small), sum(cityHash64(day)), sum(cityHash64(at)), sum(price), round(sum(ratio), 3) FROM wide",
    "SELECT sum(cityHash64(word)), sum(cityHash64(text)), sum(maybe), count(maybe), sum(length(list)), sum(arraySum(list)) FROM wide",
    "SELECT sum(pair.1), sum(cityHash64(pair.2)), sum(tags['k']) FROM wide",
    "SELECT word, count(), max(id) FROM wide WHERE day >= '2024-01-25' AND text LIKE '%17%' GROUP BY word ORDER BY word",
    "SELECT count(), min(n), max(n), sum(n), sum(m), sum(cityHash64(s)) FROM narrow",
    "SELECT n, m, s FROM narrow WHERE n BETWEEN 300 AND 305 ORDER BY n",
    "SELECT count(), sum(n), sum(cityHash64(s)) FROM rows",
]
FAILED = ("panicked", "RUST_BACKTRACE", "SIGSEGV", "overflowed its stack")


def fill(shell, part, pieces=2):
    """The statements of one half of a folder's life; without pieces all rows are in the log."""
    first = part * 10_000
    for table in TABLES if part == 0 else ():
        shell.query(TABLES[table])
    for piece in range(pieces):
        shell.query(WIDE.format(first=first + piece * 3000, rows=3000))
        shell.query(NARROW.format(first=first + piece * 4000, rows=4000))
    for row in range(30):
        shell.query(f"INSERT INTO rows VALUES ({first + row}, 'row {row}')")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def close_cleanly(binary, path):
    """Opens with a server and ends it by SIGTERM: rows of the log become parts, and a checkpoint is written."""
    port = free_port()
    command = [binary, "server", "--path", str(path), "--listen", f"127.0.0.1:{port}"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + OPEN_SECONDS_MAX
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/ping", timeout=1).read()
            break
        except OSError:
            time.sleep(0.05)
    server.send_signal(signal.SIGTERM)
    assert server.wait(timeout=60) == 0, "the server did not end well"


def folders(binary, root):
    """Name -> (folder, answers, answers without its last record, names of the files of live parts)."""
    made = {}

    def live(folder):
        """Asked of a copy: whoever opens a folder may change it."""
        copy = root / "asked"
        shutil.copytree(folder, copy)
        shell = Shell(binary, copy)
        names = {Path(path).name for (path,) in shell.query("SELECT path FROM system.parts WHERE active")}
        shell.kill()
        shutil.rmtree(copy)
        there = {p.name for p in files_of(folder)}
        # What was flushed or merged in the copy is not there.
        return names & there
    for name, pieces in (("killed", 2), ("small", 0)):
        killed = root / name
        shell = Shell(binary, killed)
        fill(shell, 0, pieces)
        before = ask(shell)
        shell.query("INSERT INTO rows VALUES (999999, 'the last')")
        answers = ask(shell)
        shell.kill()
        made[name] = (killed, answers, before, live(killed))
    killed, answers, _, _ = made["killed"]
    closed = root / "closed"
    shutil.copytree(killed, closed)
    close_cleanly(binary, closed)
    made["closed"] = (closed, answers, None, live(closed))
    behind = root / "behind"
    shutil.copytree(closed, behind)
    shell = Shell(binary, behind)
    fill(shell, 1)
    before = ask(shell)
    shell.query("INSERT INTO rows VALUES (1999999, 'the last')")
    answers = ask(shell)
    shell.kill()
    made["behind"] = (behind, answers, before, live(behind))
    return made


def ask(shell):
    return [shell.query(question) for question in QUESTIONS]


def files_of(folder):
    return sorted(p.relative_to(folder) for p in folder.rglob("*") if p.is_file() and p.name != "LOCK")


def change(path, kind, dice):
    """Changes a file; says what was done."""
    data = bytearray(path.read_bytes())
    # Most of a segment is zeros that nobody has written to yet.
    written = len(data.rstrip(b"\0")) or 1
    size = len(data)
    at = dice.randrange(min(written + 64, size)) if size else 0
    if kind == "delete":
        path.unlink()
        return "deleted"
    if kind == "bit" and size:
        data[at] ^= 1 << dice.randrange(8)
    elif kind == "byte" and size:
        data[at] = (data[at] + dice.randrange(1, 256)) % 256
    elif kind == "zeros" and size:
        data[at:at + 64] = bytes(len(data[at:at + 64]))
    elif kind == "swap" and size > 1024:
        other = dice.randrange(max(written - 256, 1))
        data[at:at + 256], data[other:other + 256] = data[other:other + 256], data[at:at + 256]
        data = data[:size]
    elif kind == "append":
        data += bytes(dice.randrange(256) for _ in range(100))
    elif kind == "empty":
        data = b""
    elif kind == "half":
        data = data[:written // 2]
    elif kind == "short":
        data = data[:max(written - 10, 0)]
    else:
        data = data[:at]
    path.write_bytes(data)
    return f"{kind} at {at} of {size}"


def opened(binary, folder, merge):
    """(answers or None for each question, what was said) of a folder; `merge` asks again after merging everything."""
    rounds, said, late = [], [], threading.Event()
    shell = Shell(binary, folder, goes_on=True)

    def give_up():
        late.set()
        shell.process.kill()

    watchdog = threading.Timer(OPEN_SECONDS_MAX, give_up)
    watchdog.start()
    try:
        for number in range(2 if merge else 1):
            answers = []
            for question in QUESTIONS:
                try:
                    answers.append(shell.query(question))
                except Refused as refused:
                    answers.append(None)
                    said.append(str(refused))
            rounds.append(answers)
            if merge and number == 0:
                for table in TABLES:
                    try:
                        shell.query(f"OPTIMIZE TABLE {table} FINAL")
                    except Refused as refused:
                        said.append(str(refused))
        try:
            errors = shell.query("SELECT name, last_error_message FROM system.errors")
            said.extend(" ".join(row) for row in errors)
        except Refused:
            pass
        said.append(shell.said())
        shell.close()
    except (OSError, subprocess.TimeoutExpired) as error:
        # The process ended while it was spoken to: it refused to open, and says why on its standard error.
        try:
            shell.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            give_up()
        said.append(shell.said())
        said.append(f"ended: {error}")
    finally:
        watchdog.cancel()
        shell.process.kill()
        said.append(shell.said())
        shell.process.wait()
    return rounds, "\n".join(said), "hung" if late.is_set() else shell.process.returncode


def verdict(rounds, said, code, right, short):
    """None if all is well, else what is wrong."""
    if any(word in said for word in FAILED) or code not in (0, 1):
        return f"broke ({code}): {said[-300:]}"
    if "Code: 49." in said:
        return f"a defect is no damage: {said[-300:]}"
    if code == 1 and "Code: " not in said:
        return f"it does not say why it ended: {said[-300:]!r}"
    if "Code: 60." in said:
        return f"it forgot its tables: {said[-300:]!r}"
    silent = not said.replace("Connection refused", "").strip()
    for answers in rounds:
        for question, answer, expected, before in zip(QUESTIONS, answers, right, short or right):
            if answer is None or answer == expected:
                continue
            if short and answer == before:
                if silent:
                    return "the last record is gone and nobody says so"
                continue
            return f"wrong: {question}: {answer[:3]} instead of {expected[:3]}; said: {said[-200:]!r}"
    if (not rounds or None in rounds[0]) and "damage" not in said and "Code:" not in said and "ERROR" not in said.upper():
        return f"an error without words: {said[-300:]!r}"
    return None


def trial(binary, work, name, made, file, kind, seed, merge):
    folder, right, short, live = made[name]
    copy = work / f"{name}-{seed}"
    shutil.copytree(folder, copy)
    dice = random.Random(seed)
    in_log = "wal" in str(file)
    try:
        done = change(copy / file, kind, dice)
        kept = [p for p in files_of(copy) if p.name in live]
        rounds, said, code = opened(binary, copy, merge)
        wrong = verdict(rounds, said, code, right, short if in_log else None)
        outcome = "right" if rounds and all(a == right for a in rounds) else "error or said"
        if not wrong:
            names = {p.name for p in files_of(copy)}
            gone = [str(p) for p in kept if p.name not in names]
            if gone and not wrong:
                wrong = f"{len(gone)} files of parts are gone: {gone[0]}"
        return wrong and f"{name}/{file}: {done} (seed {seed}): {wrong}", outcome
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def plan(made, trials, dice):
    """What to do: the random trials, then every file deleted and cut."""
    kinds = ["bit"] * 6 + ["byte", "zeros", "swap", "append", "cut"]
    for number in range(trials):
        name = dice.choice(list(made))
        files = files_of(made[name][0])
        # Half of the trials are of parts, the rest of the log, checkpoints and whatever else lies there.
        parts = [f for f in files if f.suffix == ".parquet" and "data" in f.parts]
        others = [f for f in files if f not in parts]
        yield name, dice.choice(parts if number % 2 and parts else others), dice.choice(kinds), number, True
    number = trials
    for name in made:
        for file in files_of(made[name][0]):
            for kind in ("delete", "empty", "half", "short"):
                yield name, file, kind, number, False
                number += 1


def is_noticed(binary, work, mistake):
    """Whether damage is found to be answered wrongly by a build that makes this mistake."""
    name, is_of_it, kinds = PLANTED[mistake]
    os.environ["GRISTMILL_PLANTED"] = mistake
    try:
        made = folders(binary, work / mistake)
        jobs = [(file, kind) for file in files_of(made[name][0]) if is_of_it(file) for kind in kinds]
        return any(trial(binary, work, name, made, file, kind, seed, False)[0] for seed, (file, kind) in enumerate(jobs))
    finally:
        del os.environ["GRISTMILL_PLANTED"]


def main():
    binary = os.path.abspath(sys.argv[1])
    trials, seed = int((sys.argv + ["", "", "40"])[2] or 40), int((sys.argv + [""] * 4)[3] or 1)
    work = Path(tempfile.mkdtemp(prefix="gristmill-folders-"))
    failures, outcomes, count = [], collections.Counter(), 0
    try:
        made = folders(binary, work / "made")
        jobs = list(plan(made, trials, random.Random(seed)))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            run = lambda job: trial(binary, work, job[0], made, job[1], job[2], job[3] + seed * 1_000_000, job[4])  # noqa: E731
            for wrong, outcome in pool.map(run, jobs):
                count += 1
                outcomes[outcome] += 1
                if wrong:
                    failures.append(wrong)
                    print(wrong, flush=True)
        if "debug" not in Path(binary).parts:
            print("SKIPPED planted mistakes: a release build has none")
        else:
            unnoticed = [mistake for mistake in PLANTED if not is_noticed(binary, work, mistake)]
            count += len(PLANTED)
            failures += [f"{mistake} was not noticed" for mistake in unnoticed]
            for mistake in unnoticed:
                print(f"WRONG {mistake} was not noticed", flush=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"{dict(outcomes)}")
    print(f"{count - len(failures)} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
