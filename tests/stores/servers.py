"""Real servers of object storage for tests, started on free ports of the loopback address.

versitygw is built once with `go install` and kept in the cache folder; where Go is missing, moto (Python) stands in.
Azurite comes from npm. A server that cannot be had is None, with the reason: callers say that they skipped it.
"""
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

VERSITYGW, AZURITE = "v1.8.0", "3.35.0"
ACCESS_KEY, SECRET_KEY = "test-access-key", "test-secret-key-0123456789"
# Azurite's own, published: every installation has this account.
AZURE_ACCOUNT = "devstoreaccount1"
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


def cache():
    base = os.environ.get("GRISTMILL_SERVERS") or os.path.join(
        os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "gristmill", "servers"
    )
    Path(base).mkdir(parents=True, exist_ok=True)
    return Path(base)


def free_port():
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return door.getsockname()[1]


class Server:
    def __init__(self, name, command, port, environment=None):
        self.name, self.port, self.url = name, port, f"http://127.0.0.1:{port}"
        self.log = open(cache() / f"{name}.log", "w")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT, env=environment)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with socket.socket() as door:
                if door.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.1)
        self.stop()
        raise OSError(f"{name} did not listen within 30 s")

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


def versitygw_binary():
    binary = cache() / f"versitygw-{VERSITYGW}"
    if binary.exists():
        return binary, None
    go = shutil.which("go") or (shutil.which("/usr/local/go/bin/go"))
    if not go:
        return None, "Go is not installed"
    environment = dict(os.environ, GOBIN=str(cache() / "go-bin"))
    module = f"github.com/versity/versitygw/cmd/versitygw@{VERSITYGW}"
    built = subprocess.run([go, "install", module], env=environment, capture_output=True, text=True)
    if built.returncode != 0:
        return None, f"go install failed: {built.stderr[-200:]}"
    (cache() / "go-bin" / "versitygw").rename(binary)
    return binary, None


def s3(folder, buckets):
    """A real S3 server over `folder`; its buckets exist."""
    binary, reason = versitygw_binary()
    port = free_port()
    if binary:
        for bucket in buckets:
            (Path(folder) / bucket).mkdir(parents=True)
        command = [str(binary), "--access", ACCESS_KEY, "--secret", SECRET_KEY, "--port", f"127.0.0.1:{port}",
                   "posix", str(folder)]
        return Server("versitygw", command, port), None
    try:
        import boto3
        import moto.server  # noqa: F401
    except ImportError:
        return None, f"{reason}, and the Python package moto is not there"
    server = Server("moto", [sys.executable, "-m", "moto.server", "-p", str(port)], port)
    client = boto3.client("s3", endpoint_url=server.url, aws_access_key_id=ACCESS_KEY,
                          aws_secret_access_key=SECRET_KEY, region_name="us-east-1")
    for bucket in buckets:
        client.create_bucket(Bucket=bucket)
    return server, None


def azure(folder):
    """Azurite over `folder`, without containers."""
    home = cache() / f"azurite-{AZURITE}"
    program = home / "node_modules" / ".bin" / "azurite-blob"
    if not program.exists():
        npm = shutil.which("npm")
        if not npm:
            return None, "npm is not installed"
        home.mkdir(exist_ok=True)
        command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(home), f"azurite@{AZURITE}"]
        installed = subprocess.run(command, cwd=home, capture_output=True, text=True)
        if installed.returncode != 0:
            return None, f"npm install failed: {installed.stderr[-200:]}"
    port = free_port()
    command = [str(program), "--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", str(folder),
               "--skipApiVersionCheck", "--silent"]
    return Server("azurite", command, port), None


def azure_connection(server):
    return (f"DefaultEndpointsProtocol=http;AccountName={AZURE_ACCOUNT};AccountKey={AZURE_KEY};"
            f"BlobEndpoint={server.url}/{AZURE_ACCOUNT};")
