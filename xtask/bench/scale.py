"""cargo xtask bench scale: three small servers of one bucket beside one of the same size.

Each server is a process in a network namespace of its own, with half a core, a gigabyte and an equal link (token bucket, of 400 Mbit/s,
or of LINK_MBIT in the environment; MEASURED there says loads, questions or both; 400 is about what a core of a rented machine has for itself, twice over); the store is
outside, on what is left of the machine. One statement loads posts: 16 files, one large file of Parquet, and one of CSV. Then
a question is asked of the 16 files, and of the loaded table when it is warm. A ratio above 1 is the time of one
server over that of three. A run in which the servers did not get their share of the processor is thrown away. Needs root, `ip` and
`tc`; what it makes is taken away again. Processes on one machine: no network above the links, no store that grows with its readers.
"""

import atexit
import http.client
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time

import posts
import report

SERVERS = 3
CORES, MEMORY_BYTES, LINK_MBIT = 0.5, 1 << 30, int(os.environ.get("LINK_MBIT", 400))
PERIOD_US = 100_000
NETWORK, BRIDGE = "10.77.0", "gristmill0"
PORT, PEER_PORT = 8123, 9500
BUCKET = "scale"
KEYS = ("bench-access-key", "bench-secret-key")
SECRET = "a secret of this benchmark alone"
PASSWORD = "bench"
# Servers know each other with the second beat.
KNOWN_SECONDS = 11


def run(*command, check=True):
    return subprocess.run(command, check=check, capture_output=True, text=True)


def write(path, value):
    with open(path, "w") as file:
        file.write(str(value))


def read(path):
    with open(path) as file:
        return file.read()


class Slice:
    """Half a core and a gigabyte, by control groups of version 1 or 2."""

    def __init__(self, name):
        self.name = "gristmill-" + name
        self.is_new = os.path.exists("/sys/fs/cgroup/cgroup.controllers")
        base = "/sys/fs/cgroup"
        self.cpu = os.path.join(base, self.name) if self.is_new else os.path.join(base, "cpu", self.name)
        self.memory = self.cpu if self.is_new else os.path.join(base, "memory", self.name)
        self.usage = self.cpu if self.is_new else os.path.join(base, "cpuacct", self.name)
        for folder in {self.cpu, self.memory, self.usage}:
            os.makedirs(folder, exist_ok=True)
        quota = int(CORES * PERIOD_US)
        if self.is_new:
            write(os.path.join(self.cpu, "cpu.max"), f"{quota} {PERIOD_US}")
            write(os.path.join(self.memory, "memory.max"), MEMORY_BYTES)
        else:
            write(os.path.join(self.cpu, "cpu.cfs_period_us"), PERIOD_US)
            write(os.path.join(self.cpu, "cpu.cfs_quota_us"), quota)
            write(os.path.join(self.memory, "memory.limit_in_bytes"), MEMORY_BYTES)

    def enter(self):
        """Called by the child itself."""
        for folder in {self.cpu, self.memory, self.usage}:
            write(os.path.join(folder, "cgroup.procs"), os.getpid())

    def cpu_seconds(self):
        if self.is_new:
            stat = dict(line.split() for line in read(os.path.join(self.usage, "cpu.stat")).splitlines())
            return int(stat["usage_usec"]) / 1e6
        return int(read(os.path.join(self.usage, "cpuacct.usage"))) / 1e9

    def remove(self):
        for folder in {self.cpu, self.memory, self.usage}:
            for _ in range(50):
                try:
                    os.rmdir(folder)
                    break
                except OSError:
                    time.sleep(0.1)


class Network:
    """A bridge, and a namespace with a slow link for each server."""

    def __init__(self, count):
        self.names = [f"gristmill{number}" for number in range(count)]
        self.remove()
        run("ip", "link", "add", BRIDGE, "type", "bridge")
        run("ip", "addr", "add", f"{NETWORK}.1/24", "dev", BRIDGE)
        run("ip", "link", "set", BRIDGE, "up")
        for number, name in enumerate(self.names):
            outside, inside = f"gmo{number}", f"gmi{number}"
            run("ip", "netns", "add", name)
            run("ip", "link", "add", outside, "type", "veth", "peer", "name", inside)
            run("ip", "link", "set", outside, "master", BRIDGE, "up")
            run("ip", "link", "set", inside, "netns", name)
            run("ip", "-n", name, "addr", "add", f"{NETWORK}.{number + 2}/24", "dev", inside)
            run("ip", "-n", name, "link", "set", inside, "up")
            run("ip", "-n", name, "link", "set", "lo", "up")
            limit = ("tbf", "rate", f"{LINK_MBIT}mbit", "burst", "256kb", "latency", "50ms")
            run("tc", "qdisc", "add", "dev", outside, "root", *limit)
            run("tc", "-n", name, "qdisc", "add", "dev", inside, "root", *limit)

    def remove(self):
        for number, name in enumerate(self.names):
            run("ip", "link", "del", f"gmo{number}", check=False)
            run("ip", "netns", "del", name, check=False)
        run("ip", "link", "del", BRIDGE, check=False)


class Server:
    """One server in its slice and its namespace."""

    def __init__(self, number, network, args, store_port, folder):
        self.number, self.address = number, f"{NETWORK}.{number + 2}"
        self.slice = Slice(str(number))
        config = os.path.join(folder, f"server{number}.toml")
        # Whoever is no user of this machine has a password.
        made = subprocess.run([args.binary, "password-verifier"], input=PASSWORD, capture_output=True, text=True, check=True)
        write(config, f'memory_bytes = {MEMORY_BYTES * 3 // 4}\nremote_url_allow_hosts = ["{NETWORK}.1:{store_port}"]\n'
                      f'host_names = ["{self.address}"]\n[named_collections.source]\n'
                      f'access_key_id = "{KEYS[0]}"\nsecret_access_key = "{KEYS[1]}"\n[users.default]\n'
                      f'verifier = "{made.stdout.strip()}"\n')
        environment = {**os.environ, "AWS_ACCESS_KEY_ID": KEYS[0], "AWS_SECRET_ACCESS_KEY": KEYS[1], "AWS_REGION": "us-east-1",
                       "AWS_ENDPOINT_URL": f"http://{NETWORK}.1:{store_port}", "GRISTMILL_SECRET": SECRET}
        command = ["ip", "netns", "exec", network.names[number], args.binary, "server", "--shared", f"s3://{BUCKET}/db",
                   "--cache", os.path.join(folder, f"cache{number}"), "--config", config,
                   "--listen", f"{self.address}:{PORT}", "--peer-listen", f"{self.address}:{PEER_PORT}"]
        with open(os.path.join(folder, f"server{number}.log"), "w") as log:
            self.child = subprocess.Popen(command, stdout=log, stderr=log, env=environment, preexec_fn=self.slice.enter)

    def query(self, sql):
        deadline = time.monotonic() + 60
        while True:
            connection = http.client.HTTPConnection(self.address, PORT, timeout=600)
            try:
                headers = {"X-ClickHouse-User": "default", "X-ClickHouse-Key": PASSWORD}
                connection.request("POST", "/", body=sql.encode(), headers=headers)
                answer = connection.getresponse()
                text = answer.read().decode(errors="replace")
                break
            except ConnectionRefusedError:
                if time.monotonic() > deadline or self.child.poll() is not None:
                    raise
                time.sleep(0.1)
            finally:
                connection.close()
        if answer.status != 200:
            sys.exit(f"{sql[:200]}: {text[:600]}")
        return text

    def stop(self):
        self.child.kill()
        self.child.wait()
        self.slice.remove()


class Store:
    """The bucket, outside of all slices."""

    def __init__(self, binary, folder):
        command = [binary, "s3-endpoint", "--path", folder, "--port", "0", "--address", f"{NETWORK}.1", "--bucket", BUCKET,
                   "--access-key", KEYS[0], "--secret-key", KEYS[1]]
        self.child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.port = int(self.child.stdout.readline().split(" ")[0].rsplit(":", 1)[1])

    def cpu_seconds(self):
        fields = read(f"/proc/{self.child.pid}/stat").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.child.kill()
        self.child.wait()


class Cell:
    """Servers and their store, as a context."""

    def __init__(self, args, count, folder, store_folder):
        self.args, self.count, self.folder, self.store_folder = args, count, folder, store_folder

    def __enter__(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.rmtree(os.path.join(self.store_folder, BUCKET, "db"), ignore_errors=True)
        os.makedirs(self.folder)
        self.network, self.servers = Network(self.count), []
        self.store = Store(self.args.binary, self.store_folder)
        atexit.register(self.__exit__)
        for number in range(self.count):
            self.servers.append(Server(number, self.network, self.args, self.store.port, self.folder))
        for server in self.servers:
            server.query("SELECT 1")
        time.sleep(KNOWN_SECONDS if self.count > 1 else 1)
        return self

    def __exit__(self, *_):
        atexit.unregister(self.__exit__)
        for server in self.servers:
            server.stop()
        self.store.stop()
        self.network.remove()

    def source(self, pattern):
        # Keys in the statement would not be sent over a network without TLS; the name of a collection is.
        return f"s3(source, url = 'http://{NETWORK}.1:{self.store.port}/bench/{pattern}')"

    def timed(self, sql):
        """Seconds; processor seconds of the servers and of the store."""
        before = [server.slice.cpu_seconds() for server in self.servers], self.store.cpu_seconds()
        started = time.perf_counter()
        self.servers[0].query(sql)
        seconds = time.perf_counter() - started
        used = [server.slice.cpu_seconds() - was for server, was in zip(self.servers, before[0])]
        return seconds, used, self.store.cpu_seconds() - before[1]


QUESTION = ("SELECT toYear(CreationDate) AS year, count(), avg(Score), uniq(OwnerUserId), countIf(Body LIKE '%database%')"
            " FROM {} GROUP BY year ORDER BY year")


def measure_questions(args, count, rows, places):
    """Seconds of the question over files, and over the table (the third time it is asked)."""
    with Cell(args, count, *places) as cell:
        files = cell.source("posts16/*.parquet").replace("s3(", "s3Cluster('default', ")
        cell.servers[0].query(posts.CREATE)
        cell.servers[0].query(f"INSERT INTO posts SELECT * FROM {cell.source('posts16/*.parquet')}")
        cell.servers[0].query("OPTIMIZE TABLE posts FINAL")
        time.sleep(KNOWN_SECONDS)
        over_files = cell.timed(QUESTION.format(files))
        for _ in range(2):
            cell.servers[0].query(QUESTION.format("posts"))
        over_table = cell.timed(QUESTION.format("posts"))
        shares = sum(int(server.query("SELECT count() FROM system.query_log WHERE client_name = 'peer' AND query_kind = 'Select'"
                                      " AND type = 'QueryFinish'")) for server in cell.servers[1:])
        for title, (seconds, used, store) in (("files", over_files), ("table", over_table)):
            print(f"  {count} server(s), {title}: {seconds:.2f} s; processor seconds {', '.join(f'{one:.2f}' for one in used)}, "
                  f"store {store:.2f}; the busiest had {max(used) / (CORES * seconds):.0%} of its share; {shares} shares", flush=True)
        return over_files[0], over_table[0]


def measure(args, count, pattern, rows, places):
    """One load by so many servers, in seconds; `None` if they did not get their share."""
    with Cell(args, count, *places) as cell:
        cell.servers[0].query(posts.CREATE)
        insert = f"INSERT INTO posts SELECT * FROM {cell.source(pattern)}"
        seconds, used, store = cell.timed(insert)
        found = int(cell.servers[-1].query("SELECT count() FROM posts SETTINGS select_sequential_consistency = 1"))
        if found != rows:
            sys.exit(f"{found} rows of {rows}")
        helped = sum(int(server.query("SELECT count() FROM system.query_log WHERE client_name = 'peer' AND type = 'QueryFinish'"))
                     for server in cell.servers[1:])
        share = max(used) / (CORES * seconds)
        print(f"  {count} server(s): {seconds:.2f} s; processor seconds {', '.join(f'{one:.2f}' for one in used)}, store {store:.2f}; "
              f"the busiest had {share:.0%} of its share; {helped} helped", flush=True)
        return seconds


def main():
    args = report.arguments(__doc__)
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("tc"):
        sys.exit("bench scale makes network namespaces and control groups: it needs root, ip and tc")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    out = report.Report("scale", f"--rows {args.rows} --rounds {args.rounds}")
    report.heading(12)
    folder, store = os.path.join(args.cache, "scale"), os.path.join(args.cache, f"scale-store-{args.rows}")
    for name, files in (("posts16", 16), ("posts1", 1)):
        target = os.path.join(store, "bench", name)
        if not os.path.exists(target + ".complete"):
            shutil.rmtree(target, ignore_errors=True)
            run(args.binary, "generate", "posts", "--rows", str(args.rows), "--files", str(files), "--to", target)
            write(target + ".complete", "")
    text = os.path.join(store, "bench", "posts.csv")
    if not os.path.exists(text + ".complete"):
        source = os.path.join(store, "bench", "posts1", "*.parquet")
        if os.path.exists(text):
            os.remove(text)
        run(args.binary, "local", "-q", f"INSERT INTO FUNCTION file('{text}', 'CSVWithNames') SELECT * FROM file('{source}')")
        write(text + ".complete", "")
    places = (folder, store)
    measured = os.environ.get("MEASURED", "loads,questions").split(",")
    loads = (("16 files", "posts16/*.parquet"), ("one Parquet file", "posts1/*.parquet"), ("one CSV file", "posts.csv"))
    for title, pattern in ((f"load of {files}", pattern) for files, pattern in loads if "loads" in measured):
        one, three = [], []
        for _ in range(args.rounds):
            one.append(measure(args, 1, pattern, args.rows, places))
            three.append(measure(args, SERVERS, pattern, args.rows, places))
        ratio = statistics.median(one) / statistics.median(three)
        out.add_ratio(f"{title}: one server over {SERVERS}", "speedup", ratio)
    one, three = [], []
    for _ in range(args.rounds if "questions" in measured else 0):
        one.append(measure_questions(args, 1, args.rows, places))
        three.append(measure_questions(args, SERVERS, args.rows, places))
    for place, title in enumerate(("16 files, s3Cluster", "the table, warm") if one else ()):
        ratio = statistics.median(run[place] for run in one) / statistics.median(run[place] for run in three)
        out.add_ratio(f"question over {title}: one server over {SERVERS}", "speedup", ratio)
    out.append_to(args.docs)


main()
