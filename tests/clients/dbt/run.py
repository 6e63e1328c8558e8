"""dbt-clickhouse: seed, run, test, an incremental second run and the catalogue of a small project."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
import clickhouse_connect
from checks import DATABASE, HOST, PASSWORD, PORT, USER, check, equal, failed, passed

HOME = Path(os.environ["GRISTMILL_TEST_FOLDER"])
PROJECT = HOME / "project"
PROFILE = f"""mill:
  target: test
  outputs:
    test:
      type: clickhouse
      driver: http
      host: {HOST}
      port: {PORT}
      user: {USER}
      password: "{PASSWORD}"
      schema: {DATABASE}
      threads: 2
"""


def dbt(*words):
    """A command of dbt that must succeed; its last lines are the failure."""
    command = [str(Path(sys.executable).with_name("dbt")), "--no-use-colors", "--no-send-anonymous-usage-stats", *words,
               "--project-dir", str(PROJECT), "--profiles-dir", str(PROJECT)]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=PROJECT, timeout=200)
    name = "dbt " + " ".join(words)
    if ended.returncode == 0:
        passed(name)
    else:
        lines = [line for line in ended.stdout.splitlines() if "rror" in line or "Code:" in line]
        failed(name, " | ".join(line[10:160] for line in lines[:6]) or ended.stdout[-400:] + ended.stderr[-400:])


def project():
    shutil.copytree(Path(__file__).resolve().parent / "project", PROJECT)
    (PROJECT / "profiles.yml").write_text(PROFILE)
    client = clickhouse_connect.get_client(host=HOST, port=PORT, username=USER, password=PASSWORD, database=DATABASE)
    dbt("debug")
    dbt("seed")
    dbt("run")
    equal("the table", client.query("SELECT customer, orders, total FROM customers ORDER BY customer").result_rows,
          [("ann", 2, 15.75), ("bob", 1, 20.25)])
    equal("the view", client.query("SELECT total FROM days ORDER BY day").result_rows, [(30.75,), (5.25,)])
    equal("its engine", client.command("SELECT engine FROM system.tables WHERE database = currentDatabase() AND name = 'days'"), "View")
    dbt("test")
    client.command("INSERT INTO orders (id, customer, amount, day) VALUES (4, 'cid', 1, '2024-01-03')")
    dbt("run")
    equal("an incremental run adds", client.query("SELECT id, customer FROM by_day ORDER BY id").result_rows,
          [(1, "ann"), (2, "bob"), (3, "ann"), (4, "cid")])
    equal("a second run replaces the table", client.command("SELECT count() FROM customers"), 3)
    dbt("docs", "generate")
    catalogue = PROJECT / "target" / "catalog.json"
    names = sorted(node["metadata"]["name"] for node in json.loads(catalogue.read_text())["nodes"].values()) if catalogue.exists() else []
    equal("the catalogue", names, ["by_day", "customers", "days", "orders"])


check(project)
