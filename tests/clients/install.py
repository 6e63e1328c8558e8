"""The real clients, pinned, installed from their registries into the cache folder, once each.

A client whose tools, packages or network are missing here is an OSError with the reason: the caller says that it was skipped. A
program of ours that does not compile is a mistake, and another kind of error.
"""
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
# dbt-core 1.12 asks for a package that fetches a binary from elsewhere while it is installed.
PYTHON = ["clickhouse-connect==1.12.0", "sqlalchemy==2.0.58", "dbt-clickhouse==1.10.3", "dbt-core==1.11.16",
          "pyarrow==26.0.1", "pandas==3.1.1", "lz4==4.4.5"]
NODE = "@clickhouse/client@1.23.1"


def cache():
    base = os.environ.get("GRISTMILL_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "gristmill"
    )
    folder = Path(base) / "clients"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


# A registry that hangs is one that cannot be had.
INSTALL_SECONDS = 600


class Broken(Exception):
    """A program of ours does not compile."""


def run(command, ours=False, **more):
    name = Path(command[0]).name
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, **more)
    except subprocess.TimeoutExpired:
        raise OSError(f"{name} did not end in {INSTALL_SECONDS} s") from None
    if ended.returncode != 0:
        said = " ".join((ended.stderr or ended.stdout)[-400:].split())
        raise (Broken if ours else OSError)(f"{name} failed: {said}")


def tool(name, *places):
    found = shutil.which(name) or next((place for place in places if os.path.exists(place)), None)
    if not found:
        raise OSError(f"{name} is not installed")
    return found


def place(name, *pinned):
    """A folder that is made anew when what is pinned changes; and whether it is complete."""
    digest = hashlib.sha256("\n".join(str(text) for text in pinned).encode()).hexdigest()[:12]
    folder = cache() / f"{name}-{digest}"
    return folder, (folder / "complete").exists()


def complete(folder):
    (folder / "complete").write_text("")


def python():
    """The interpreter that has clickhouse-connect, SQLAlchemy and dbt."""
    folder, done = place("python", *PYTHON, sys.version)
    if not done:
        try:
            venv.create(folder, with_pip=True, clear=True)
        except subprocess.CalledProcessError as problem:
            raise OSError(f"python3 makes no virtual environment: {problem}") from None
        run([folder / "bin" / "python", "-m", "pip", "install", "-q", *PYTHON])
        complete(folder)
    return folder / "bin" / "python"


def node():
    """The folder whose node_modules has @clickhouse/client."""
    folder, done = place("node", NODE)
    if not done:
        folder.mkdir(exist_ok=True)
        run([tool("npm"), "install", "--no-audit", "--no-fund", "--prefix", str(folder), NODE], cwd=folder)
        complete(folder)
    return folder


def java():
    """The folder of the jars of clickhouse-jdbc, and of our program compiled against them."""
    sources = sorted((HERE / "java").glob("*.java"))
    pom = HERE / "java" / "pom.xml"
    libs, done = place("java", pom.read_text())
    if not done:
        libs.mkdir(exist_ok=True)
        run([tool("mvn"), "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={libs}"])
        complete(libs)
    classes, done = place("java-classes", pom.read_text(), *(source.read_text() for source in sources))
    if not done:
        run([tool("javac"), "-cp", f"{libs}/*", "-d", str(classes), *map(str, sources)], ours=True)
        complete(classes)
    return f"{classes}:{libs}/*"


def go():
    """The Go program, built."""
    sources = sorted((HERE / "go").glob("*"))
    folder, done = place("go", *(source.read_text() for source in sources))
    if not done:
        folder.mkdir(exist_ok=True)
        compiler = tool("go", "/usr/local/go/bin/go")
        run([compiler, "mod", "download"], cwd=HERE / "go")
        run([compiler, "build", "-o", str(folder / "client"), "."], ours=True, cwd=HERE / "go")
        complete(folder)
    return folder / "client"


def rust():
    """The Rust program, built with what it pins, outside the workspace."""
    cargo = tool("cargo", os.path.expanduser("~/.cargo/bin/cargo"))
    target = cache() / "rust"
    environment = dict(os.environ, CARGO_TARGET_DIR=str(target))
    manifest = ["--locked", "--manifest-path", str(HERE / "rust" / "Cargo.toml")]
    run([cargo, "fetch", *manifest], env=environment)
    run([cargo, "build", "--offline", *manifest], ours=True, env=environment)
    return target / "debug" / "clients"
