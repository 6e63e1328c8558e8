"""Tables of posts for benchmarks that only ask: loaded and merged once, kept in the cache."""

import os
import shutil

import peers
import posts


def tables(args, url):
    """Folders of a Gristmill and a ClickHouse database that hold the posts, merged to one part a partition."""
    statements = [posts.CREATE, f"INSERT INTO posts SELECT * FROM {posts.source(url)}", "OPTIMIZE TABLE posts FINAL"]
    folders = []
    for side, run in (("gm", lambda path: peers.gristmill(args.binary, path, statements)),
                      ("ch", lambda path: peers.chdb(path, statements))):
        path = os.path.join(args.cache, f"merged-{side}-{args.rows}")
        if not os.path.exists(path + ".complete"):
            shutil.rmtree(path, ignore_errors=True)
            run(path)
            open(path + ".complete", "w").close()
        folders.append(path)
    return folders
