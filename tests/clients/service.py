"""The server under test: started on a free port of the loopback address, stopped gracefully at the end."""
import os
import signal
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from pathlib import Path

# A debug build opens its folder slowly on a busy machine.
START_SECONDS = 60
STOP_SECONDS = 60
# The clients are a user with a password; `default` has none, and is there for the runner only.
USER, PASSWORD = "tester", "p@ss:word/1 +%"
CONFIG = """[users.default]
[users.{user}]
verifier = "{verifier}"
"""


def free_port():
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return door.getsockname()[1]


def default_binary():
    root = Path(__file__).resolve().parents[2]
    return Path(os.environ.get("CARGO_TARGET_DIR") or root / "target") / "debug" / "gristmill"


class Service:
    """`with Service(...) as service`: `service.url` answers inside."""

    def __init__(self, binary, url, folder):
        self.binary, self.folder, self.process = binary or default_binary(), Path(folder), None
        # A server that runs already knows nobody but its own.
        self.user, self.password = (USER, PASSWORD) if url is None else ("default", "")
        self.url = (url or f"http://127.0.0.1:{free_port()}").rstrip("/")
        self.starts = url is None
        split = urllib.parse.urlsplit(self.url)
        self.host, self.port = split.hostname, split.port

    def __enter__(self):
        if self.starts:
            made = subprocess.run([str(self.binary), "password-verifier"], input=PASSWORD + "\n", capture_output=True, text=True)
            if made.returncode != 0:
                raise OSError(f"gristmill password-verifier: {made.stderr}")
            config = self.folder / "server.toml"
            config.write_text(CONFIG.format(user=USER, verifier=made.stdout.strip()))
            command = [str(self.binary), "server", "--path", str(self.folder / "data"), "--config", str(config),
                       "--listen", f"{self.host}:{self.port}"]
            self.log = open(self.folder / "server.log", "w")
            self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT)
        self.wait()
        return self

    def wait(self):
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"{self.url}/ping", timeout=5) as answer:
                    if answer.status == 200:
                        return
            except OSError:
                pass
            if self.process and self.process.poll() is not None:
                raise OSError(f"the server ended with {self.process.returncode}: {self.tail()}")
            time.sleep(0.1)
        raise OSError(f"the server did not answer /ping within {START_SECONDS} s: {self.tail()}")

    def tail(self):
        log = self.folder / "server.log"
        return log.read_text()[-2000:] if log.exists() else ""

    def __exit__(self, *_):
        if not self.process:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise OSError(f"the server did not stop within {STOP_SECONDS} s of SIGTERM") from None
        finally:
            self.log.close()
        if status != 0:
            raise OSError(f"the server ended with {status}: {self.tail()}")
