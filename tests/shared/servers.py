"""Servers of one shared root for tests: started on free ports, and gone with their folders however the test ends.

A `Root` is a folder, or a bucket of `gristmill s3-endpoint`, with or without `gristmill fault-proxy` in front of it, or a bucket
of versitygw, a gateway of others over a folder (https://github.com/versity/versitygw), or a container of Azurite. A child is killed by the kernel when its
parent dies: start servers on the main thread, for the kernel means the thread that started them.
With PEERS=1 in the environment all servers have ports for each other.
With KEEP=1 in the environment the folder stays, for a look at its logs.
"""
import base64
import ctypes
import email.utils
import hashlib
import hmac
import http.client
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

ADDRESS_SPACE_BYTES_MAX = 12_000_000 << 10
START_SECONDS_MAX = 60
STARTS_MAX = 5
BUCKET, KEYS = "shared-root", ("test-access-key", "test-secret-key-0123456789")
# Azurite's own, published: every installation has this account.
AZURE_ACCOUNT = "devstoreaccount1"
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)
# What a server must never print.
ALARMS = re.compile(r"panicked|RUST_BACKTRACE|[Cc]orrupt|Z +ERROR ")


class Refused(Exception):
    """A statement failed; the text is the server's."""

    def code(self):
        found = re.search(r"Code: (\d+)\.", str(self))
        return int(found.group(1)) if found else 0


class Unanswered(Exception):
    """Nobody knows whether the statement was executed."""


def before_exec():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES_MAX, ADDRESS_SPACE_BYTES_MAX))


class Process:
    """A child whose output goes to a file; `pattern` finds in it that it has started."""

    def __init__(self, command, output, pattern, environment=None):
        self.output, self.pattern = Path(output), re.compile(pattern)
        with open(output, "ab") as log:
            self.offset = log.tell()
            self.child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, preexec_fn=before_exec,
                env=dict(os.environ, **(environment or {})),
            )

    def said(self):
        with open(self.output, "rb") as log:
            log.seek(self.offset)
            return log.read().decode(errors="replace")

    def wait_started(self):
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline:
            found = self.pattern.search(self.said())
            if found:
                return found.group(1)
            if self.child.poll() is not None:
                raise OSError(f"{self.output.name} ended with {self.child.returncode}: {self.said()[-600:]}")
            time.sleep(0.02)
        raise OSError(f"{self.output.name} did not start within {START_SECONDS_MAX} s: {self.said()[-600:]}")

    def kill(self):
        self.child.kill()
        self.child.wait()


class Node:
    """One server. It can be killed, stopped and started again; its port changes then."""

    def __init__(self, root, number):
        self.root, self.number, self.port, self.process = root, number, None, None
        self.cache = root.folder / f"cache{number}"
        self.lost_at = float("-inf")

    def start(self, wait=True):
        """With `wait` it is tried again where the store fails; `Root.failed_starts` has what was said."""
        command = [self.root.binary, "server", "--shared", self.root.url, "--cache", str(self.cache),
                   "--listen", "127.0.0.1:0"] + self.root.server_arguments
        output = self.root.folder / f"node{self.number}.log"
        self.process = Process(command, output, r"listening on 127\.0\.0\.1:(\d+)", self.root.environment)
        if wait:
            self.wait_started()
        return self

    def wait_started(self):
        for _ in range(STARTS_MAX):
            try:
                self.port = int(self.process.wait_started())
                return
            except OSError as error:
                self.root.failed_starts.append(str(error))
                if self.root.store != "proxy":
                    raise
                self.process.kill()
                self.start(wait=False)
        raise OSError(self.root.failed_starts[-1])

    def kill(self):
        self.port = None
        self.process.kill()

    def signal(self, number):
        self.process.child.send_signal(number)

    def query(self, sql, timeout=60):
        """The answer as text; a connection of its own."""
        connection = Connection(self, timeout)
        try:
            return connection.query(sql)
        finally:
            connection.close()

    def rows(self, sql, timeout=60):
        return [line.split("\t") for line in self.query(sql, timeout).splitlines()]


class Connection:
    """A connection that stays, to the server that is there now."""

    def __init__(self, node, timeout=60):
        if node.port is None:
            raise Unanswered("the server is down")
        self.http = http.client.HTTPConnection("127.0.0.1", node.port, timeout=timeout)
        self.written_rows = 0

    def query(self, sql):
        try:
            self.http.request("POST", "/", body=sql.encode())
            answer = self.http.getresponse()
            text = answer.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            self.http.close()
            raise Unanswered(f"{type(error).__name__}: {error}") from error
        if answer.status != 200 or "DB::Exception" in text:
            raise Refused(text.strip())
        written = re.search(r'"written_rows":"(\d+)"', answer.getheader("x-clickhouse-summary") or "")
        self.written_rows = int(written.group(1)) if written else 0
        return text

    def close(self):
        self.http.close()


class Root:
    """A place that servers share, as a context: nothing is left of it behind the `with`."""

    def __init__(self, binary, store="folder", seed=1, latency_ms=0, through=None, signed=True, fault_kinds=None, gateway=None,
                 server_arguments=()):
        """`store`: folder, endpoint, proxy, gateway or azure. `through` makes of the endpoint's URL the one that servers ask;
        `gateway` is the binary of versitygw, or azurite-blob; `server_arguments` go to each server."""
        self.signed, self.gateway, self.server_arguments = signed, gateway, list(server_arguments)
        if os.environ.get("PEERS"):
            self.server_arguments += ["--peer-listen", "127.0.0.1:0"]
        self.binary, self.store, self.seed, self.latency_ms = str(Path(binary).resolve()), store, seed, latency_ms
        self.through, self.nodes, self.others, self.environment = through, [], [], {}
        self.failed_starts = []
        self.fault_rate, self.fault_kinds = 0.1, fault_kinds

    def __enter__(self):
        signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(SystemExit(143)))
        self.folder = Path(tempfile.mkdtemp(prefix="gristmill-shared-"))
        try:
            starts = {"folder": lambda: f"file://{self.folder}/root", "azure": self.start_azure}
            self.url = starts.get(self.store, self.start_endpoint)()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def own_endpoint(self):
        command = [self.binary, "s3-endpoint", "--path", str(self.folder / "store"), "--port", "0", "--bucket", BUCKET,
                   "--latency-ms", str(self.latency_ms)]
        command += ["--access-key", KEYS[0], "--secret-key", KEYS[1]] if self.signed else []
        self.others.append(Process(command, self.folder / "endpoint.log", r"(http://127\.0\.0\.1:\d+) serves"))
        return self.others[-1].wait_started()

    def gateway_endpoint(self):
        """versitygw takes no port 0, and says where it listens before it does."""
        (self.folder / "store" / BUCKET).mkdir(parents=True)
        port = free_port()
        command = [self.gateway, "--access", KEYS[0], "--secret", KEYS[1], "--port", f"127.0.0.1:{port}", "posix",
                   str(self.folder / "store")]
        self.others.append(Process(command, self.folder / "gateway.log", r"(http://127\.0\.0\.1:\d+)"))
        url = self.others[-1].wait_started()
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline and self.others[-1].child.poll() is None:
            with socket.socket() as door:
                if door.connect_ex(("127.0.0.1", port)) == 0:
                    return url
            time.sleep(0.02)
        raise OSError(f"{self.gateway} does not listen: {self.others[-1].said()[-600:]}")

    def start_azure(self):
        port = free_port()
        command = [self.gateway, "--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", str(self.folder / "store"),
                   "--skipApiVersionCheck"]
        self.others.append(Process(command, self.folder / "azurite.log", r"(http://127\.0\.0\.1:\d+)"))
        self.others[-1].wait_started()
        create_container(port, BUCKET)
        endpoint = f"http://127.0.0.1:{port}/{AZURE_ACCOUNT}"
        self.environment = {"AZURE_STORAGE_CONNECTION_STRING": f"DefaultEndpointsProtocol=http;AccountName={AZURE_ACCOUNT};"
                                                               f"AccountKey={AZURE_KEY};BlobEndpoint={endpoint};"}
        return f"az://{BUCKET}/prefix"

    def start_endpoint(self):
        url = self.endpoint_url = self.gateway_endpoint() if self.store == "gateway" else self.own_endpoint()
        if self.through:
            url = self.through(url)
        if self.store == "proxy":
            command = [self.binary, "fault-proxy", "--to", url, "--port", "0", "--rate", str(self.fault_rate),
                       "--seed", str(self.seed)] + (["--kinds", self.fault_kinds] if self.fault_kinds else [])
            self.others.append(Process(command, self.folder / "proxy.log", r"(http://127\.0\.0\.1:\d+) breaks"))
            url = self.others[-1].wait_started()
        self.environment = {"AWS_ACCESS_KEY_ID": KEYS[0], "AWS_SECRET_ACCESS_KEY": KEYS[1], "AWS_ENDPOINT_URL": url,
                            "AWS_REGION": "us-east-1"}
        return f"s3://{BUCKET}/prefix"

    def start(self, count):
        """So many more servers, all at the same moment."""
        new = [Node(self, len(self.nodes) + number) for number in range(count)]
        self.nodes += new
        for node in new:
            node.start(wait=False)
        for node in new:
            node.wait_started()
        return new

    def alarms(self):
        """Lines of the logs that should not be there, with their nodes."""
        found = []
        for log in sorted(self.folder.glob("*.log")):
            with open(log, errors="replace") as lines:
                found += [f"{log.name}: {line.strip()[:400]}" for line in lines if ALARMS.search(line)]
        return found

    def __exit__(self, *_):
        for process in [node.process for node in self.nodes if node.process] + self.others:
            process.child.send_signal(signal.SIGCONT)
            process.kill()
        if os.environ.get("KEEP"):
            print(f"kept: {self.folder}")
        else:
            shutil.rmtree(self.folder, ignore_errors=True)


def create_container(port, name):
    """One request, signed as Azure wants it; the first ones may come before Azurite listens."""
    date, version = email.utils.formatdate(usegmt=True), "2021-08-06"
    signed = (f"PUT{chr(10) * 12}x-ms-date:{date}\nx-ms-version:{version}\n"
              f"/{AZURE_ACCOUNT}/{AZURE_ACCOUNT}/{name}\nrestype:container")
    signature = base64.b64encode(hmac.new(base64.b64decode(AZURE_KEY), signed.encode(), hashlib.sha256).digest()).decode()
    headers = {"x-ms-date": date, "x-ms-version": version, "Content-Length": "0",
               "Authorization": f"SharedKey {AZURE_ACCOUNT}:{signature}"}
    deadline = time.monotonic() + START_SECONDS_MAX
    while True:
        try:
            store = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            store.request("PUT", f"/{AZURE_ACCOUNT}/{name}?restype=container", headers=headers)
            answer = store.getresponse()
            text = answer.read().decode(errors="replace")
            if answer.status != 201:
                raise OSError(f"Azurite did not make a container: {answer.status} {text[:600]}")
            return
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def free_port():
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return door.getsockname()[1]


def at_once(count, work):
    """`work(number)` on threads that begin at the same moment; their answers, exceptions among them."""
    barrier, answers = threading.Barrier(count), [None] * count

    def run(number):
        barrier.wait()
        try:
            answers[number] = work(number)
        except Exception as error:
            answers[number] = error

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def kind_of(text):
    """An error without its numbers and names, so that equal ones can be counted."""
    text = re.sub(r"[0-9a-f]{8}-?[0-9a-f-]{8,}|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|gristmill-shared-\w+", "#", str(text))
    return re.sub(r"\d+", "#", text)[:400]
