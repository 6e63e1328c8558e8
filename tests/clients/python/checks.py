"""What the Python programs share: where the server is, and one line a check."""
import os
import time
import traceback

HOST, PORT = os.environ["GRISTMILL_HOST"], int(os.environ["GRISTMILL_PORT"])
USER, PASSWORD = os.environ["GRISTMILL_TEST_USER"], os.environ["GRISTMILL_TEST_PASSWORD"]
DATABASE = os.environ["GRISTMILL_TEST_DATABASE"]

with open(os.environ["GRISTMILL_TYPES"], encoding="utf-8") as lines:
    ALL = [line.rstrip("\n").split("\t") for line in lines]
# Columns of types that the server does not know; the runner has counted each as a failure.
MISSING = set(os.environ.get("GRISTMILL_MISSING", "").split(","))
TYPES = [entry for entry in ALL if entry[0] not in MISSING]
DDL = ", ".join(f"{name} {declared}" for name, declared, *_ in TYPES)

# Runs for minutes unless it is stopped.
ENDLESS = "SELECT sum(cityHash64(number)) FROM numbers(1000000000000)"
# Fails when much of the answer is on its way: 153 ILLEGAL_DIVISION.
FAILS_LATE = "SELECT number, intDiv(1, 3000000 - number) AS q FROM numbers(4000000)"


def passed(name):
    print(f"ok {name}", flush=True)


def failed(name, why):
    print(f"FAILED {name}: {' '.join(str(why).split())[:400]}", flush=True)


def equal(name, got, expected):
    if got == expected:
        passed(name)
    else:
        failed(name, f"{got!r} instead of {expected!r}")


def check(function):
    """Runs a check; what it throws is its failure."""
    try:
        function()
    except Exception as error:  # every error of a client is a finding
        line = traceback.extract_tb(error.__traceback__)
        ours = [frame.lineno for frame in line if frame.filename.endswith(("connect.py", "alchemy.py", "curl.py"))]
        failed(function.__name__, f"line {ours[-1:]}: {type(error).__name__}: {error}")


def raises(name, function, *words):
    """`function` fails, and every word is in what it says."""
    try:
        answer = function()
    except Exception as error:
        missing = [word for word in words if word not in str(error)]
        if missing:
            failed(name, f"{missing} not in {error}")
        else:
            passed(name)
        return
    failed(name, f"no error, but {answer!r}")


def within(name, seconds, holds):
    """`holds` becomes true within so many seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            passed(name)
            return
        time.sleep(0.05)
    failed(name, f"not within {seconds} s")
