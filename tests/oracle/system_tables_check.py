#!/usr/bin/env python3
"""Names and types of system tables' columns: ours against ClickHouse's (the chdb wheel).

Usage: system_tables_check.py BINARY [--write]

Tables of ClickHouse with nothing to show here (`EMPTY`) must be there with its columns; tables of both must have all of its columns,
filled or not. `--write` writes what is missing to the file that the program reads it from.
"""
import json
import subprocess
import sys
from pathlib import Path

from chdb import session as chdb_session

KNOWN = Path(__file__).resolve().parents[2] / "crates/tables/src/system_rows/unfilled/clickhouse.tsv"
# What they are about does not exist here.
EMPTY = """
    backups current_roles dictionaries distribution_queue     enabled_roles graphite_retentions iceberg_history kafka_consumers macros moves
    projection_parts projection_parts_columns quota_limits quota_usage quotas quotas_usage query_cache replicas
    replication_queue resources role_grants roles row_policies scheduler s3_queue_settings     view_refreshes warnings workloads
    asynchronous_inserts database_replicas distributed_ddl_queue dns_cache dropped_tables filesystem_cache part_moves_between_shards
    query_condition_cache remote_data_paths replicated_fetches rocksdb
""".split()
# Of theirs that have columns which are no data.
SHARED = """
    parts tables columns databases functions processes mutations merges clusters users projections data_type_families
    detached_parts disks storage_policies parts_columns settings_profiles user_directories """.split()
# Second names of columns.
ALIASES = {("tables", "table"): "name", ("columns", "column"): "name", ("databases", "database"): "name", ("clusters", "name"): "cluster",
           ("metrics", "name"): "metric", ("events", "name"): "event"}


def ours(binary, table):
    text = f"DESCRIBE system.{table} FORMAT JSONCompactEachRow"
    answer = subprocess.run([binary, "local", "-q", text], capture_output=True, check=False)
    return [json.loads(line)[:2] for line in answer.stdout.decode().splitlines()]


def parses(binary, type_name):
    text = "SELECT defaultValueOfTypeName('" + type_name.replace("\\", "\\\\").replace("'", "\\'") + "')"
    return subprocess.run([binary, "local", "-q", text], capture_output=True, check=False).returncode == 0


def main():
    binary, write = sys.argv[1], "--write" in sys.argv
    theirs = chdb_session.Session()
    lines, passed, wrong = [], 0, []
    if write:
        KNOWN.parent.mkdir(exist_ok=True)
        KNOWN.write_text("")
    for table in EMPTY + SHARED + ["metrics", "events"]:
        described = [json.loads(line)[:2] for line in str(theirs.query(f"DESCRIBE system.{table}", "JSONCompactEachRow")).splitlines()]
        known = dict(ours(binary, table))
        written = {line.split("\t")[1] for line in KNOWN.read_text().splitlines() if line.startswith(table + "\t")}
        for name, type_name in described:
            alias = ALIASES.get((table, name), "")
            if write and (name not in known or name in written) and parses(binary, type_name):
                lines.append("\t".join([table, name, " ".join(type_name.split()), alias]).rstrip("\t"))
            if name in known:
                passed += 1
            else:
                wrong.append(f"{table}.{name} {type_name} is missing")
    if write:
        KNOWN.write_text("\n".join(lines) + "\n")
        return
    for line in wrong:
        print(line)
    print(f"{passed} passed, {len(wrong)} failed")
    sys.exit(1 if wrong else 0)


main()
