#!/usr/bin/env python3
"""64 clients of every kind against `gristmill server` with a memory limit of 2 GiB; in the middle the server is killed.

Usage: mixed.py BINARY [SECONDS] [SEED]

Inserts (rows, CSV, JSON), aggregates and joins, tables made and dropped, sessions with temporary tables, statements that must
fail, some that are given up or killed, answers that are hardly read (`mixed_clients.py`). The data stays bounded: every tenth of
the time, or every 90 s, all clients rest, the table is checked whole, made one part, and dropped at the next rest, while the clients go on with the
next generation of it. Checked: no answer but those expected; a SELECT sees of each INSERT all rows or none, everything acknowledged before
it began, and of each client no later INSERT without the earlier ones; at the end of each generation, also the one with the `kill -9`,
everything acknowledged is there, whole; never more than 60 active parts a table; the memory stays below the limit.

From a minute after the kill on memory does not surely grow by 1 MB a minute: the slope less twice its standard error, which is
shown, is below that; the longer the run, the smaller a leak it finds. That is the memory of the server at rest: of the statements
that happen to run at a moment it takes some hundred MB more or less, which says nothing about a leak and hides a small one. Shown
beside it: the slope of all samples. What a table has removed is forgotten after 20 s instead of 480.
"""
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

from mixed_clients import (CREATE, PATIENCE_SECONDS, PAUSE_SECONDS, Client, Ddl, Down, Errors, GivenUp, Inserts, Selects, Server, Sessions,
                           Slow, Unexpected)

CLIENTS = {"inserts": 24, "selects": 14, "ddl": 6, "sessions": 4, "errors": 6, "given_up": 4, "slow": 6}
MEMORY_LIMIT = 2 << 30
# The limit is of what statements and caches are granted; code, stacks and what the allocator keeps are beside it.
RESIDENT_MAX = MEMORY_LIMIT + (512 << 20)
PARTS_OF_TABLE_MAX = 60
SLOPE_MAX_MB = 1.0
# Only over so long a time the slope is one of the server and not of its warming up.
SLOPE_SECONDS, WARM_SECONDS = 240, 60
# The server at rest takes 10 to 20 MB more or less: which pages of the allocator have something left in them is chance. In ten
# minutes that gives or takes several MB a minute, in an hour a fraction of one.
SLOPE_ERRORS = 2
# A long run rests more often: every rest makes the slope surer.
GENERATIONS, GENERATION_SECONDS_MIN, GENERATION_SECONDS_MAX = 10, 4, 90
# The allocator gives back what has been free for 5 s; housekeeping runs every 5 s.
REST_SECONDS, REST_SAMPLES_SECONDS = 12, 2


class Memory:
    """Resident megabytes, (time, life of the server, megabytes), all the time and at rest."""

    def __init__(self):
        self.busy, self.rests, self.parts_most = [], [], 0

    def slope(self, samples):
        """MB a minute of the last life, without its warming up, and the standard error of it; None when that is too short."""
        last = self.busy[-1][1]
        begin = next(at for at, life, _ in self.busy if life == last)
        samples = [(at, megabytes) for at, life, megabytes in samples if life == last and at >= begin + WARM_SECONDS]
        if len(samples) < 3 or samples[-1][0] - samples[0][0] < SLOPE_SECONDS:
            return None
        mean_at = sum(at for at, _ in samples) / len(samples)
        mean = sum(megabytes for _, megabytes in samples) / len(samples)
        spread = sum((at - mean_at) ** 2 for at, _ in samples)
        slope = sum((at - mean_at) * (megabytes - mean) for at, megabytes in samples) / spread
        left = sum((megabytes - mean - slope * (at - mean_at)) ** 2 for at, megabytes in samples)
        return 60 * slope, 60 * (left / (len(samples) - 2) / spread) ** 0.5

    def rested(self, since):
        """Keeps the least of the samples since then as one at rest: now and then housekeeping runs."""
        samples = [sample for sample in self.busy if sample[0] >= since]
        if samples:
            self.rests.append(min(samples, key=lambda sample: sample[2]))


def live(server, client, kind):
    while not server.stop.is_set():
        if server.rest():
            # The server ends connections on which nothing happens for long.
            client.close()
        try:
            client.step()
            server.count(kind)
        except Down:
            server.count("cut by the kill")
        except Exception as error:
            if not server.stop.is_set() or isinstance(error, Unexpected):
                server.found(f"{kind}: {error}" if isinstance(error, Unexpected) else f"{kind}: {type(error).__name__}: {error}")
        time.sleep(PAUSE_SECONDS * client.dice.random() * 2)
    client.close()


def watch(server, memory):
    """Memory and parts, while the server is up."""
    client = Client(server, 0)
    while not server.stop.wait(0.5):
        try:
            status = Path(f"/proc/{server.process.pid}/status").read_text()
            memory.busy.append((time.monotonic(), server.lives, int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) / 1024))
            most = client.ask("SELECT max(n) FROM (SELECT count() AS n FROM system.parts WHERE active GROUP BY database, table)")
            memory.parts_most = max(memory.parts_most, int(most or 0))
        except (Down, OSError, AttributeError):
            continue
        except Exception as error:
            server.found(f"watching: {error}")
    client.close()


def check_rows(server):
    """Everything acknowledged is there, whole; what was under way when the server died is there whole or not at all."""
    client, rows = Client(server, 0), {}
    for line in client.ask(f"SELECT client, seq, count() FROM {server.events()} GROUP BY client, seq").splitlines():
        number, seq, count = map(int, line.split("\t"))
        rows[number, seq] = count
    known = 0
    for insert in server.inserts:
        for seq, count in insert.acknowledged.items():
            known += 1
            if rows.pop((insert.number, seq), 0) != count:
                server.found(f"statement {seq} of client {insert.number} was acknowledged and is not there, whole")
        for seq, count in insert.open.items():
            if rows.pop((insert.number, seq), count) != count:
                server.found(f"statement {seq} of client {insert.number} is there in part")
    if rows:
        server.found(f"{len(rows)} statements are there that nobody sent: {list(rows)[:3]}")
    client.close()
    return known


def change_generation(server, memory, clients, rest_seconds):
    """All clients rest; the table is checked, the one before dropped, the next one made. Returns the statements found."""
    server.going.clear()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while server.resting < clients and not server.stop.wait(0.05):
        if time.monotonic() > deadline:
            server.found(f"{clients - server.resting} clients had no answer within {PATIENCE_SECONDS} s")
            return 0
    if server.stop.is_set():
        return 0
    known, client = check_rows(server), Client(server, 0)
    # Else up to 32 MiB of rows would be in the log and in memory, now more of them and now fewer.
    client.ask(f"OPTIMIZE TABLE {server.events()} FINAL")
    if server.generation:
        client.ask(f"DROP TABLE events_{server.generation - 1}")
    server.generation += 1
    client.ask(CREATE.format(events=server.events()))
    client.close()
    for insert in server.inserts:
        insert.next_generation()
    if rest_seconds:
        server.stop.wait(rest_seconds)
        memory.rested(time.monotonic() - REST_SAMPLES_SECONDS)
    server.going.set()
    return known


def make_clients(server, seed):
    kinds = {"selects": Selects, "sessions": Sessions, "errors": Errors, "given_up": GivenUp, "slow": Slow}
    server.inserts = [Inserts(server, seed * 1000 + number, number) for number in range(CLIENTS["inserts"])]
    clients = [("inserts", client) for client in server.inserts]
    clients += [("ddl", Ddl(server, seed * 2000 + number, number)) for number in range(CLIENTS["ddl"])]
    for at, (kind, make) in enumerate(kinds.items()):
        clients += [(kind, make(server, seed * 3000 + at * 100 + number)) for number in range(CLIENTS[kind])]
    return clients


def run(binary, seconds, seed, folder):
    server, memory = Server(binary, folder, MEMORY_LIMIT), Memory()
    server.start()
    Client(server, 0).ask(CREATE.format(events=server.events()))
    Client(server, 0).ask("CREATE TABLE ddl_none (a UInt64) ENGINE = Null")
    clients = make_clients(server, seed)
    threads = [threading.Thread(target=live, args=(server, client, kind)) for kind, client in clients]
    threads.append(threading.Thread(target=watch, args=(server, memory)))
    for thread in threads:
        thread.start()
    length = min(max(seconds / GENERATIONS, GENERATION_SECONDS_MIN), GENERATION_SECONDS_MAX)
    count = max(2, int(seconds / length))
    # Only a long run has the time to come to rest. What comes after the kill must be long enough for a slope.
    rest_seconds, killed = REST_SECONDS if length > 2 * REST_SECONDS else 0, int(count * 0.4) - 1
    known, opened = 0, 0.0
    for number in range(count):
        busy = length - rest_seconds
        server.stop.wait(busy / 2)
        if number == killed:
            server.kill()
            opened = server.start()
        server.stop.wait(busy / 2)
        known += change_generation(server, memory, len(clients), rest_seconds)
    server.end()
    for thread in threads:
        thread.join()
    server.process.send_signal(signal.SIGTERM)
    status = server.process.wait(PATIENCE_SECONDS)
    if status != 0:
        server.found(f"the server ended with {status}")
    return server, memory, known, opened


def judge(server, memory):
    """The figures of the memory and the parts as text; what is beyond a limit is a problem found."""
    most, grows, busy = max(sample[2] for sample in memory.busy), memory.slope(memory.rests), memory.slope(memory.busy)
    shown = "too short for a slope"
    if grows and busy:
        shown = f"{grows[0]:+.2f} MB a minute at rest, give or take {grows[1]:.2f}; {busy[0]:+.2f} of all samples"
    print("memory at rest: " + ", ".join(f"{megabytes:.0f}" for _, _, megabytes in memory.rests) + " MB")
    print(f"at most {memory.parts_most} active parts of a table; memory at most {most:.0f} MB, {shown}", flush=True)
    for kind in CLIENTS:
        if not server.done.get(kind):
            server.found(f"no client of kind {kind} got anything done")
    if memory.parts_most > PARTS_OF_TABLE_MAX:
        server.found(f"{memory.parts_most} parts of a table were active, the limit is {PARTS_OF_TABLE_MAX}")
    if most > RESIDENT_MAX / (1 << 20):
        server.found(f"{most:.0f} MB were resident, the limit is {RESIDENT_MAX >> 20}")
    if grows and grows[0] - SLOPE_ERRORS * grows[1] >= SLOPE_MAX_MB:
        server.found(f"memory at rest grows by {grows[0]:.2f} MB a minute, give or take {grows[1]:.2f}")


def main():
    arguments = sys.argv[1:] + [""] * 3
    binary, seconds, seed = arguments[0], float(arguments[1] or 600), int(arguments[2] or 1)
    folder = tempfile.mkdtemp(prefix="gristmill-mixed-")
    server, memory, known, opened = run(binary, seconds, seed, folder)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(server.done.items())))
    print(f"{known} acknowledged statements are there, of {server.generation} generations; opened again in {opened:.2f} s")
    judge(server, memory)
    if server.wrong:
        print(f"mixed: seed {seed}, folder {folder} (kept)")
        for problem in server.wrong[:20]:
            print(f"  {problem}")
        print(f"1 passed, {len(server.wrong)} failed")
        sys.exit(1)
    shutil.rmtree(folder, ignore_errors=True)
    print(f"{known} passed, 0 failed")


if __name__ == "__main__":
    main()
