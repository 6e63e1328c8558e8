#!/usr/bin/env python3
"""Single-row INSERTs with default settings, one after the other in one process, until there are a million of them.

Usage: million.py BINARY [STATEMENTS] [MAX_SECONDS]

`gristmill bench-insert` sends them and looks at system.parts twice a second. Checked: no statement fails; never more than 20
parts are active; the memory of the process is flat after it has warmed up; opening again takes less than 5 seconds and all
rows are there; flushes and merges together write at most 4 times the bytes of the parts they leave. Reported: bytes of log
a row, statements a second.
"""
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "oracle"))
from shell import Shell  # noqa: E402

PARTS_ACTIVE_MAX = 20
OPEN_SECONDS_MAX = 5.0
WRITTEN_FACTOR_MAX = 4.0
# The last third of the samples against the one before; the first warms up.
MEMORY_FACTOR_MAX, MEMORY_SLACK_BYTES = 1.2, 50 << 20
SAMPLE_SECONDS = 0.2
RECORD = re.compile(r"^  record \d+ .* bytes=(\d+) ")
OF_TABLE = "database = 'default' AND table = 'bench'"
# Removed parts stay listed for as long as their table says, so that all that were ever written can be added up.
KEEP_REMOVED = "old_parts_lifetime = 1000000"


class Wrong(Exception):
    """What does not hold, and the figures."""


def written_sql(binary):
    """How to ask for the bytes that flushes and merges wrote, and what the table needs for it."""
    shell = Shell(binary)
    columns = shell.query("SELECT name FROM system.columns WHERE database = 'system' AND table = 'part_log'")
    shell.close()
    if ["size_in_bytes"] in columns:
        return f"SELECT sum(size_in_bytes) FROM system.part_log WHERE {OF_TABLE} AND event_type IN ('NewPart', 'MergeParts')", []
    return f"SELECT sum(bytes_on_disk) FROM system.parts WHERE {OF_TABLE}", ["--table-settings", KEEP_REMOVED]


def resident_bytes(process):
    try:
        status = Path(f"/proc/{process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) * 1024
    except (OSError, AttributeError):
        # It ended between two looks.
        return None


def insert(binary, path, statements, max_seconds):
    """Closing line of the driver, memory samples, seconds."""
    asked, settings = written_sql(binary)
    command = [binary, "bench-insert", "--path", path, "--statements", str(statements), "--poll-ms", "500",
               "--ask", asked, "--ask", f"SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND {OF_TABLE}", *settings]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    timer = threading.Timer(max_seconds, process.kill)
    timer.start()
    output, samples, started = [], [], time.monotonic()
    reader = threading.Thread(target=lambda: output.append(process.communicate()))
    reader.start()
    while reader.is_alive():
        samples.append(resident_bytes(process))
        reader.join(SAMPLE_SECONDS)
    seconds = time.monotonic() - started
    timer.cancel()
    out, err = output[0]
    if process.returncode != 0:
        raise Wrong(f"the driver ended with {process.returncode} after {seconds:.0f} s of at most {max_seconds:.0f}: {err.strip()}")
    return json.loads(out.splitlines()[-1]), [sample for sample in samples if sample], seconds


def check_parts(closing):
    most = closing["parts_active_max"]
    if most > PARTS_ACTIVE_MAX:
        raise Wrong(f"{most} parts were active at once, the limit is {PARTS_ACTIVE_MAX}")
    return f"at most {most} active parts"


def check_memory(samples):
    third = len(samples) // 3
    if third < 3:
        return f"too short for a memory curve: {len(samples)} samples"
    middle, last = max(samples[third:2 * third]), max(samples[2 * third:])
    limit = MEMORY_FACTOR_MAX * middle + MEMORY_SLACK_BYTES
    shown = f"memory {middle / 1e6:.0f} MB in the second third, {last / 1e6:.0f} MB in the last"
    if last > limit:
        raise Wrong(f"{shown}: more than {limit / 1e6:.0f} MB, it grows")
    return shown


def check_written(closing):
    written, active = (int(answer or 0) for answer in closing["answers"])
    if not active:
        return "nothing was flushed yet"
    factor = written / active
    shown = f"flushes and merges wrote {written / 1e6:.1f} MB for {active / 1e6:.1f} MB of parts: {factor:.2f} times"
    if factor > WRITTEN_FACTOR_MAX:
        raise Wrong(f"{shown}, the limit is {WRITTEN_FACTOR_MAX}")
    return shown


def check_reopened(binary, path, statements):
    started = time.monotonic()
    shell = Shell(binary, path)
    found = shell.query("SELECT count(), uniqExact(c0), sum(c0) FROM bench")
    seconds = time.monotonic() - started
    shell.close()
    if found != [[str(statements), str(statements), str(statements * (statements - 1) // 2)]]:
        raise Wrong(f"(rows, different ids, sum of ids) after opening again: {found}, of {statements} statements")
    if seconds > OPEN_SECONDS_MAX:
        raise Wrong(f"opening again and counting took {seconds:.1f} s, the limit is {OPEN_SECONDS_MAX}")
    return f"opened and counted in {seconds:.2f} s"


def log_bytes_a_row(binary, path):
    """From the records of the newest segment that has some; others may be behind a checkpoint already."""
    for segment in sorted(Path(path).glob("stream/0/wal/*.seg"), reverse=True):
        bytes_of = []
        with subprocess.Popen([binary, "inspect", str(segment)], stdout=subprocess.PIPE, text=True) as dump:
            bytes_of = [int(found.group(1)) for found in map(RECORD.match, dump.stdout) if found]
        if bytes_of:
            # The median: records of flushes, merges and DDL are others.
            return f"{sorted(bytes_of)[len(bytes_of) // 2]} bytes of log a row"
    return "no record left in the log"


def main():
    arguments = sys.argv[1:] + [""] * 3
    binary, statements = arguments[0], int(arguments[1] or 1_000_000)
    max_seconds = float(arguments[2] or 3_600)
    path = tempfile.mkdtemp(prefix="gristmill-million-")
    passed, steps = 0, []
    try:
        closing, samples, seconds = insert(binary, path, statements, max_seconds)
        print(f"{statements} statements in {seconds:.1f} s, {statements * 1e6 / closing['wall_micros']:.0f} a second", flush=True)
        steps = [
            lambda: check_parts(closing), lambda: check_memory(samples), lambda: check_written(closing),
            lambda: check_reopened(binary, path, statements), lambda: log_bytes_a_row(binary, path),
        ]
        for step in steps:
            print(step(), flush=True)
            passed += 1
    except Exception as error:
        print(f"million: {statements} statements, folder {path} (kept): {type(error).__name__}: {error}")
        print(f"{passed} passed, 1 failed")
        sys.exit(1)
    shutil.rmtree(path, ignore_errors=True)
    print(f"{passed} passed, 0 failed")


if __name__ == "__main__":
    main()
