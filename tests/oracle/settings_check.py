#!/usr/bin/env python3
"""Settings by name, type and default: `system.settings` and `system.merge_tree_settings` of ours against ClickHouse's.

Usage: settings_check.py BINARY

Every setting of ClickHouse (the chdb wheel) must be there, with its type, its default, and the name it is another word for. Defaults of
settings that have a row of ours may be ours, and are shown; the numbers of threads are the machine's.
"""
import json
import subprocess
import sys
from pathlib import Path

import chdb

KNOWN = Path(__file__).resolve().parents[2] / "crates/settings/src/known"
# Settings that ours does not show: clients that see them use them, and answers are not written that way.
HIDDEN = {"send_progress_in_http_headers"}


def ours(binary, table):
    text = f"SELECT name, type, default, effect, alias_for, is_obsolete FROM system.{table} FORMAT JSONCompact"
    answer = subprocess.run([binary, "local", "-q", text], capture_output=True, check=True)
    return {row[0]: row[1:] for row in json.loads(answer.stdout)["data"]}


def theirs(table, alias):
    text = f"SELECT name, type, default, '', {alias}, is_obsolete FROM system.{table}"
    return {row[0]: row[1:] for row in json.loads(str(chdb.query(text, "JSONCompact")))["data"]}


def plain(type_name):
    return "Enum" if type_name.startswith("Enum") else type_name


def main():
    passed, wrong, own_defaults = 0, [], []
    of_ours = {line.split("\t")[0] for file in KNOWN.glob("*.tsv") if file.name != "changes.tsv" for line in file.read_text().splitlines() if "row" in line.split("\t")[3]}
    for table, alias in (("settings", "alias_for"), ("merge_tree_settings", "''")):
        known = ours(sys.argv[1], table)
        for name, (type_name, default, _, alias_for, obsolete) in theirs(table, alias).items():
            if name in HIDDEN:
                continue
            if name not in known:
                wrong.append(f"{table}: {name} is missing")
                continue
            our_type, our_default, _, our_alias, our_obsolete = known[name]
            same = our_default == default or default.startswith("auto(") or our_default == "auto"
            if not same and name in of_ours:
                own_defaults.append(f"{name} {our_default!r} ({default!r} there)")
                same = True
            facts = (our_type, our_alias, bool(our_obsolete)) == (plain(type_name), alias_for, bool(obsolete))
            if same and facts:
                passed += 1
            else:
                wrong.append(f"{table}: {name}: {known[name]} is {[type_name, default, alias_for, obsolete]} there")
    for line in wrong:
        print(line)
    print(f"{len(own_defaults)} defaults are ours, of settings that say here what they do: {'; '.join(own_defaults)}")
    print(f"{passed} passed, {len(wrong)} failed")
    sys.exit(1 if wrong else 0)


main()
