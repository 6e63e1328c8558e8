"""Both sides of a comparison: the gristmill binary, and ClickHouse as the chdb package. Each runs in a process of its own.

A run is a list of statements; the answer is the seconds of each, what it printed, and the most memory the process had.
Gristmill's seconds are those of its closing line, chdb's are taken around the call, so neither pays for its start.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time

CLOSING_LINE = re.compile(r"Elapsed: ([0-9.]+) sec\.")

# Of the endpoints, which serve everybody.
KEYS = {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench", "AWS_REGION": "us-east-1"}

CHDB_CHILD = r"""
import json, sys, time
from chdb import session
request = json.load(open(sys.argv[1]))
opened = session.Session(request["path"])
seconds, answers = [], []
for statement in request["statements"]:
    started = time.perf_counter()
    answer = opened.query(statement, "TabSeparated")
    seconds.append(time.perf_counter() - started)
    answers.append("" if answer is None else str(answer))
json.dump({"seconds": seconds, "answers": answers}, open(sys.argv[2], "w"))
"""

ANSWER_END = "end of answer"


class Run:
    """Seconds and answers of the statements; processor seconds and peak memory of the process, its start included."""

    def __init__(self, seconds, answers, usage):
        self.seconds, self.answers = seconds, answers
        self.cpu_seconds = usage.ru_utime + usage.ru_stime
        self.peak_bytes = usage.ru_maxrss * 1024


def gristmill(binary, path, statements):
    """Runs statements with `gristmill local` on the folder `path`."""
    return local(binary, ["--path", path], statements)


def shared(binary, url, kept, statements):
    """The same on a root in a bucket, with the folder `kept` beside it."""
    return local(binary, ["--shared", url, "--cache", kept], statements)


def local(binary, place, statements):
    marked = []
    for statement in statements:
        marked += [statement, f"SELECT '{ANSWER_END}'"]
    command = [binary, "local", *place, "--stats", "--format", "TabSeparated", "-q", ";\n".join(marked)]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env={**os.environ, **KEYS})
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), err.seek(0)
        printed, said = out.read(), err.read()
    if child.returncode != 0:
        sys.exit(f"gristmill ended with {child.returncode}:\n{said}")
    seconds = [float(match) for match in CLOSING_LINE.findall(said)][::2]
    answers = printed.split(ANSWER_END + "\n")[:-1]
    if len(seconds) != len(statements) or len(answers) != len(statements):
        sys.exit(f"{len(statements)} statements, {len(seconds)} closing lines, {len(answers)} answers:\n{said}")
    return Run(seconds, answers, usage)


def chdb(path, statements):
    """Runs statements with chdb on the folder `path`."""
    with tempfile.TemporaryDirectory() as folder:
        request, reply = os.path.join(folder, "request"), os.path.join(folder, "reply")
        with open(request, "w") as file:
            json.dump({"path": path, "statements": statements}, file)
        child = subprocess.Popen([sys.executable, "-c", CHDB_CHILD, request, reply])
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            sys.exit(f"chdb ended with {child.returncode}")
        with open(reply) as file:
            answer = json.load(file)
    return Run(answer["seconds"], answer["answers"], usage)


class Endpoint:
    """`gristmill s3-endpoint` over a folder, for as long as the `with` lasts."""

    def __init__(self, binary, folder, latency_ms=0, port=0):
        command = [binary, "s3-endpoint", "--path", folder, "--port", str(port)]
        command += ["--latency-ms", str(latency_ms)] if latency_ms else []
        self.child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url = self.child.stdout.readline().split(" ")[0].strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait()


def generated(binary, cache, name, arguments):
    """The folder of a generated data set; made once for the same arguments, then kept."""
    bucket = os.path.join(cache, "bucket")
    folder = os.path.join(bucket, "bench", name)
    stamp = os.path.join(folder, ".complete")
    wanted = " ".join(arguments)
    if not os.path.exists(stamp) or open(stamp).read() != wanted:
        started = time.perf_counter()
        subprocess.run(["rm", "-rf", folder], check=True)
        subprocess.run([binary, "generate", *arguments, "--to", folder], check=True)
        with open(stamp, "w") as file:
            file.write(wanted)
        print(f"generated {name} in {time.perf_counter() - started:.1f} s")
    return bucket
