"""cargo xtask bench shared: a root in a bucket beside a folder, and beside ClickHouse's MergeTree on an S3 disk of the same endpoint.

Loading a million posts on loopback; then questions about them with nothing kept on this machine (cold) and when they were asked
before (warm), on loopback and with 20 ms before every answer of the store. ClickHouse keeps nothing of an S3 disk, so only its cold
answers are compared. The endpoint runs on the same cores. A ratio above 1 is ClickHouse's time over ours.
"""

import os
import shutil
import socket
import statistics

import peers
import posts
import report

LATENCIES_MS = (0, 20)
BUCKET = "shared"


class Places:
    """The folders of all sides below the cache."""

    def __init__(self, cache):
        self.folder = os.path.join(cache, "shared-root")
        self.store = os.path.join(self.folder, "store")
        # ClickHouse keeps the address of its disk in its folder.
        with socket.create_server(("127.0.0.1", 0)) as door:
            self.port = door.getsockname()[1]

    def of(self, name):
        return os.path.join(self.folder, name)

    def fresh(self, name):
        path = self.of(name)
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def endpoint(self, binary, latency_ms=0):
        os.makedirs(os.path.join(self.store, BUCKET), exist_ok=True)
        return peers.Endpoint(binary, self.store, latency_ms, self.port)


def on_s3_disk(url):
    """The table of posts on a disk of ClickHouse's in the bucket."""
    disk = f"disk(type = s3, endpoint = '{url}/{BUCKET}/clickhouse/', access_key_id = 'bench', secret_access_key = 'bench')"
    return f"{posts.CREATE} SETTINGS disk = {disk}"


def load(args, source, places, out):
    setup, insert = f"SET max_threads = {args.threads}", f"INSERT INTO posts SELECT * FROM {posts.source(source)}"
    sides = {"folder": [], "shared": [], "clickhouse": []}
    for _ in range(args.rounds):
        shutil.rmtree(places.store, ignore_errors=True)
        with places.endpoint(args.binary) as endpoint:
            sides["folder"].append(peers.gristmill(args.binary, places.fresh("folder"), [setup, posts.CREATE, insert]))
            url = f"{endpoint.url}/{BUCKET}/db"
            sides["shared"].append(peers.shared(args.binary, url, places.fresh("kept"), [setup, posts.CREATE, insert]))
            sides["clickhouse"].append(peers.chdb(places.fresh("clickhouse"), [setup, on_s3_disk(endpoint.url), insert]))
    seconds = {name: [run.seconds[2] for run in runs] for name, runs in sides.items()}
    out.add("load of posts, loopback", seconds["shared"], seconds["clickhouse"], "s")
    price = statistics.median(seconds["shared"]) / statistics.median(seconds["folder"])
    out.add_ratio("load of posts, loopback: shared root over folder", "price", price)
    peaks = {name: [run.peak_bytes for run in runs] for name, runs in sides.items()}
    out.add("load of posts, loopback: peak memory", peaks["shared"], peaks["clickhouse"], "MB")
    more = statistics.median(peaks["shared"]) - statistics.median(peaks["folder"])
    out.add_ours("load of posts, loopback: peak memory above the folder's", ("median", "MB", f"{more / 1e6:.0f}"))


def merge(args, places):
    """One sorted part for each partition on every side, so that nothing is merged while it is asked."""
    statements = [f"SET max_threads = {args.threads}", "OPTIMIZE TABLE posts FINAL"]
    with places.endpoint(args.binary) as endpoint:
        peers.gristmill(args.binary, places.of("folder"), statements)
        peers.shared(args.binary, f"{endpoint.url}/{BUCKET}/db", places.fresh("kept"), statements)
        peers.chdb(places.of("clickhouse"), statements)


def ask(args, source, places, out):
    questions = [(name, sql) for name, sql in posts.questions(source) if "over S3" not in name]
    setup = [f"SET max_threads = {args.threads}", "SYSTEM STOP MERGES posts"]
    for latency in LATENCIES_MS:
        with places.endpoint(args.binary, latency) as endpoint:
            url = f"{endpoint.url}/{BUCKET}/db"
            cold(args, url, places, questions, setup, f"{latency} ms", out)
            warm(args, url, places, questions, setup, f"{latency} ms", out)


def cold(args, url, places, questions, setup, where, out):
    """Each question in a process of its own that has kept nothing."""
    for name, sql in questions:
        mine, blind, other = [], [], []
        for _ in range(args.rounds):
            mine.append(peers.shared(args.binary, url, places.fresh("kept"), [*setup, sql]))
            ahead = "SET remote_filesystem_read_prefetch = 0"
            blind.append(peers.shared(args.binary, url, places.fresh("kept"), [*setup, ahead, sql]))
            other.append(peers.chdb(places.of("clickhouse"), [*setup, sql]))
        out.add(f"{name}, cold, {where}", [run.seconds[2] for run in mine], [run.seconds[2] for run in other], "ms")
        without = statistics.median(run.seconds[3] for run in blind) / statistics.median(run.seconds[2] for run in mine)
        out.add_ratio(f"{name}, cold, {where}: without read-ahead over with it", "gain", without)


def warm(args, url, places, questions, setup, where, out):
    """All questions three times in one process, the third time counts: beside the same in a folder."""
    statements = setup + [sql for _, sql in questions] * 3
    first = len(setup) + 2 * len(questions)
    mine, folder = [], []
    for _ in range(args.rounds):
        mine.append(peers.shared(args.binary, url, places.fresh("kept"), statements).seconds[first:])
        folder.append(peers.gristmill(args.binary, places.of("folder"), statements).seconds[first:])
    for index, (name, _) in enumerate(questions):
        price = statistics.median(run[index] for run in mine) / statistics.median(run[index] for run in folder)
        out.add_ratio(f"{name}, warm, {where}: shared root over folder", "price", price)


def main():
    args = report.arguments(__doc__)
    out = report.Report("shared", f"--rows {args.rows} --rounds {args.rounds} --threads {args.threads}")
    report.heading(12)
    places = Places(args.cache)
    bucket = peers.generated(args.binary, args.cache, "posts", ["posts", "--rows", str(args.rows), "--seed", "1"])
    with peers.Endpoint(args.binary, bucket) as source:
        load(args, source.url, places, out)
        merge(args, places)
        ask(args, source.url, places, out)
    out.append_to(args.docs)


main()
