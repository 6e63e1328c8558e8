#!/usr/bin/env python3
"""The pages for users do what they print: README.md, docs/guide and docs/shared.md, every command, in order, with the output shown.

Usage: pages.py BINARY [PAGE ..]

A page is one shell (`bash -e`) in an empty folder, where `gristmill` is the binary. Its fenced blocks are told apart by the words behind
the three marks:

    sh                    run in the page's shell
    sh server             one command, run beside it until the page ends; it is waited for until it prints a line. A second block of
                          the same command and the same `--listen` takes the place of the first
    sh stopped            run when what `sh server` started has ended
    sh fails              must fail
    sql                   statements for the page's server, or for `gristmill local --path ./db` while there is none
    toml NAME, text NAME  a file that is written under this name
    text                  what the block above prints; three points stand for any text, on a line alone for any lines
    .. norun: REASON      not run, and why: it needs a network, a cloud or a build

Everything else is an error, so nothing on a page goes by untested. Ports that pages print are replaced by free ones, and nothing is read
from the network. Beside that links of all pages must lead somewhere, docs/guide/configuration.md must name every key the binary knows, and what
docs/guide/sql.md says is missing (missing.py) must be refused.
"""
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from missing import CODES, MISSING

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs/guide"
# Ports that pages print, by their use: HTTP, HTTPS, a store, several servers on one machine.
USED = ("8123", "8443", "9090", "9001", "9002", "9003")
PORTS = re.compile(rf"\b({'|'.join(USED)})\b")
PAGE_SECONDS = 180
# Pages at one time: most of a page is waiting.
PAGES_AT_ONCE = 3
OPTIONS = {"sh": {"", "server", "stopped", "fails"}, "sql": {""}}
# What a page's shell has beside the blocks. Default ports are others here, so commands that name none are given one.
PRELUDE = r"""
set -e
declare -A servers
launch() { # number, name: waits for the first line of what was just started
    servers[$2]=$!
    for _ in $(seq 600); do
        if [ -s "$outputs/$1" ]; then return 0; fi
        if ! kill -0 "${servers[$2]}" 2>/dev/null; then break; fi
        sleep 0.1
    done
    return 1
}
stop() { # name
    if [ -n "${servers[$1]:-}" ]; then kill "${servers[$1]}" 2>/dev/null || true; wait "${servers[$1]}" 2>/dev/null || true; unset "servers[$1]"; fi
}
stop_all() { for name in "${!servers[@]}"; do stop "$name"; done; }
"""
WRAPPER = """#!/bin/bash
case "$1 $*" in
    server\\ *--listen*|server\\ *--config*) exec {binary} "$@" ;;
    server\\ *) exec {binary} "$@" --listen 127.0.0.1:{port} ;;
    client\\ *--port*) exec {binary} "$@" ;;
    client\\ *) exec {binary} "$@" --port {port} ;;
    s3-endpoint\\ *--port*) exec {binary} "$@" ;;
    s3-endpoint\\ *) exec {binary} "$@" --port {store} ;;
    *) exec {binary} "$@" ;;
esac
"""


class Block:
    """A fenced block: where it stands, what it is, its text."""

    def __init__(self, line, info, text):
        self.line, self.text = line, text
        words, self.reason = info.partition("norun")[::2] if "norun" in info.split(":")[0].split() else (info, None)
        words = words.split()
        self.language, self.option = (words + [""])[0] if words else "", " ".join(words[1:])
        self.wanted = None

    def problem(self):
        """What is wrong with the words at its head."""
        if self.reason is not None:
            return None if len(self.reason.removeprefix(":").strip()) > 5 else "norun without a reason"
        if self.language in ("toml", "text"):
            return None if self.option else f"a block of {self.language} that is neither a file nor the output of a block above"
        if self.option not in OPTIONS.get(self.language, ()):
            return f"a block of {self.language or 'no language'} {self.option}: see the head of tests/pages/pages.py"
        return None


def blocks_of(path):
    """The blocks of a page; outputs are those of the block above."""
    blocks, inside, info, begun, text = [], False, "", 0, []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.startswith("```"):
            text.append(line)
        elif not inside:
            inside, info, begun, text = True, line[3:].strip(), number, []
        else:
            inside, body = False, "".join(row + "\n" for row in text)
            above = blocks[-1] if blocks else None
            if info == "text" and above and above.language in ("sh", "sql") and above.wanted is None:
                above.wanted = body
            else:
                blocks.append(Block(begun, info, body))
    return blocks


def free_ports(count):
    """Ports below those that the machine gives to connections, so that none is taken until a page's server has it."""
    ports = []
    while len(ports) < count:
        port = random.randrange(20000, 32000)
        with socket.socket() as door:
            if port not in ports and door.connect_ex(("127.0.0.1", port)) != 0:
                ports.append(port)
    return ports


def step(number, block):
    """The lines of the page's script that a block becomes."""
    lines = [f'exec > "$outputs/{number}" 2>&1; echo {number} > "$outputs/last"']
    command = block.text.rstrip("\n")
    if block.language in ("toml", "text"):
        lines.append(f'cp "$outputs/{number}.file" {block.option}')
    elif block.language == "sql":
        # A page whose server has ended goes on in its folder.
        lines += [f'if [ -n "${{servers[server]:-}}" ]; then gristmill client --queries-file "$outputs/{number}.file"',
                  f'else gristmill local --path ./db --queries-file "$outputs/{number}.file"; fi']
    elif block.option == "server":
        # Of one address the later block is the only one; several addresses are several servers.
        name = re.sub(r"\W", "_", "_".join([command.split()[1], *re.findall(r"--listen (\S+)", command)]))
        lines += [f"stop {name}", f'( exec {command}', f') > "$outputs/{number}" 2> "$outputs/{number}.log" &', f"launch {number} {name}"]
    elif block.option == "fails":
        lines += ["set +e", "( set -e", command, ")", "ended=$?; set -e; [ $ended -ne 0 ]"]
    else:
        lines += ["stop_all"] * (block.option == "stopped") + [command]
    return lines + [f'touch "$outputs/{number}.done"']


def fits(wanted, found):
    """Whether lines are those that were wanted, where a line of three points is any lines."""
    if not wanted:
        return not found
    if wanted[0].strip() == "...":
        return any(fits(wanted[1:], found[at:]) for at in range(len(found) + 1))
    line = ".*".join(re.escape(piece) for piece in wanted[0].rstrip().split("..."))
    return bool(found) and re.fullmatch(line, found[0].rstrip()) is not None and fits(wanted[1:], found[1:])


def run_page(binary, path):
    """How many blocks did what they say, and what is wrong with the others."""
    blocks = blocks_of(path)
    place = path.relative_to(ROOT)
    problems = [f"{place}:{block.line}: {problem}" for block in blocks for problem in [block.problem()] if problem]
    run = [block for block in blocks if block.reason is None and not block.problem()]
    with tempfile.TemporaryDirectory(prefix="page") as name:
        base = Path(name)
        work, outputs, bin_ = base / "work", base / "outputs", base / "bin"
        for folder in (work, outputs, bin_):
            folder.mkdir()
        ports = dict(zip(USED, free_ports(len(USED))))
        replaced = lambda text: PORTS.sub(lambda found: str(ports[found[0]]), text)
        wrapper = bin_ / "gristmill"
        wrapper.write_text(WRAPPER.format(binary=binary, port=ports["8123"], store=ports["9090"]))
        wrapper.chmod(0o755)
        script = [PRELUDE]
        for number, block in enumerate(run):
            block.text = replaced(block.text)
            block.wanted = block.wanted and replaced(block.wanted)
            (outputs / f"{number}.file").write_text(block.text)
            script += step(number, block)
        (base / "page.sh").write_text("\n".join(script) + "\n")
        keep = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "GRISTMILL_")) and not key.lower().endswith("_proxy")}
        env = {**keep, "PATH": f"{bin_}:{os.environ['PATH']}", "HOME": str(base), "outputs": str(outputs), "TZ": "UTC"}
        with (outputs / "shell").open("w") as said:
            shell = subprocess.Popen(["bash", str(base / "page.sh")], cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True)
            late = end(shell)
        if late:
            problems.append(f"{place}: not done within {PAGE_SECONDS} s")
        judged = [judge(outputs, number, block) for number, block in enumerate(run)]
        if shell.returncode and not any(judged):
            judged.append(f"the shell ended with {shell.returncode}: {(outputs / 'shell').read_text()}")
            run.append(Block(0, "", ""))
    problems += [f"{place}:{block.line}: {problem}" for block, problem in zip(run, judged) if problem]
    return judged.count(None), problems


def end(shell):
    """Waits for the page's shell and ends what it left; whether that took too long."""
    try:
        shell.wait(PAGE_SECONDS)
        late = False
    except subprocess.TimeoutExpired:
        late = True
    try:
        os.killpg(shell.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    shell.wait()
    return late


def judge(outputs, number, block):
    """What is wrong with a block that was run; None if nothing is."""
    output, log = outputs / str(number), outputs / f"{number}.log"
    found = output.read_text(errors="replace") if output.exists() else ""
    if not (outputs / f"{number}.done").exists():
        last = outputs / "last"
        if not last.exists() or last.read_text().strip() != str(number):
            return "not run: a block above failed"
        return f"failed:\n{block.text}--- and said\n{found}{log.read_text() if log.exists() else ''}"
    if block.wanted is not None and not fits(block.wanted.splitlines(), found.splitlines()):
        return f"printed something else:\n{block.text}--- wanted\n{block.wanted}--- found\n{found}"
    return None


def anchors(path):
    """Headings as they are named in links."""
    heads = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", head)).strip().lower().replace(" ", "-") for head in heads}


def broken_links(path):
    """Links of a page that lead nowhere in the repository."""
    problems = []
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        there = (path.parent / name).resolve() if name else path
        if not there.exists() or (anchor and anchor not in anchors(there)):
            problems.append(f"{path.relative_to(ROOT)}: {target} leads nowhere")
    return problems


def unnamed_keys(binary):
    """Keys of the configuration file that the page about it does not name: an unknown key is answered with the known ones."""
    page = GUIDE / "configuration.md"
    problems = []
    with tempfile.TemporaryDirectory(prefix="keys") as folder:
        for table in ("", "[limits]", "[tls]", "[users.a]", "[shared]\nurl = 'file:///x'", "[cluster]"):
            file = Path(folder) / "server.toml"
            file.write_text(f"{table}\nno_such_key = 1\n")
            said = subprocess.run([binary, "server", "--path", folder, "--config", str(file)], capture_output=True, text=True).stderr
            _, found, list_ = said.partition("there are ")
            if not found:
                problems.append(f"an unknown key of {table!r} is answered with {said!r}")
            keys = re.findall(r"\w+", re.sub(r" and ", ", ", list_))
            missing = [key for key in keys if key not in ("hint",) and f"`{key}`" not in page.read_text() and f"[{key}" not in page.read_text()]
            problems += [f"docs/guide/configuration.md does not name `{key}` of {table.split()[0] if table else 'the file'}" for key in missing]
    return problems


def untruth(binary, row):
    """What is wrong with a row of what the page about SQL says is not there; None if nothing is."""
    words, statement = row
    if words not in (GUIDE / "sql.md").read_text():
        return f"docs/guide/sql.md does not say {words!r}, as tests/pages/missing.py has it"
    done = subprocess.run([binary, "local", "-q", statement], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    code = re.match(r"Code: (\d+)", done.stderr)
    if done.returncode and code and int(code[1]) in CODES:
        return None
    return f"docs/guide/sql.md says that {words} is not there, but {statement} said {(done.stdout + done.stderr).strip()[:200]!r}"


def main():
    if shutil.which("curl") is None or shutil.which("openssl") is None:
        print("SKIPPED pages: curl and openssl are needed\n0 passed, 0 failed")
        return
    binary = os.path.abspath(sys.argv[1])
    pages = [ROOT / name for name in sys.argv[2:]] or [ROOT / "README.md", ROOT / "docs/shared.md", *sorted(GUIDE.glob("*.md"))]
    began = time.monotonic()
    with ThreadPoolExecutor(PAGES_AT_ONCE) as pool:
        results = list(pool.map(lambda path: run_page(binary, path), pages))
        untruths = list(pool.map(lambda row: untruth(binary, row), [] if sys.argv[2:] else MISSING))
    passed = sum(count for count, _ in results) + untruths.count(None)
    problems = [problem for _, found in results for problem in found] + [problem for problem in untruths if problem]
    written = [path for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")) if path.parent.name != "reference"]
    problems += [problem for path in (pages if sys.argv[2:] else written) for problem in broken_links(path)]
    problems += unnamed_keys(binary) if not sys.argv[2:] else []
    print(*problems, sep="\n", end="\n" * bool(problems))
    print(f"{len(pages)} pages in {time.monotonic() - began:.0f} s")
    print(f"{passed} passed, {len(problems)} failed")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
