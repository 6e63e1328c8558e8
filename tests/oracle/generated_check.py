#!/usr/bin/env python3
"""Generated statements on ours and on ClickHouse (the chdb wheel): which answers differ, by class.

Usage: generated_check.py BINARY [--statements N] [--seed S] [--only KIND] [--report FILE]

Dice make SELECTs over tables of edge values (`generated_grammar.py`), both answer each, and answers are compared as TSVWithNamesAndTypes:
without the order of rows where the statement has none, floats to a relative 1e-9. A statement whose answers differ is made smaller until every
piece of it is needed; what is left names its class. Classes that are known stand in generated_known.tsv (a function's name or a regular
expression, and the reason). One that is not there, or a death of ours, is a failure. What one side refuses is counted and not a failure. FILE
gets a line of JSON for each statement that differed: what it was made smaller to, and both answers.
"""
import argparse
import collections
import json
import math
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import generated_grammar
import statements_check
from generated_statements import Signatures, Statement
from generated_tables import COLUMNS, setup

HERE = Path(__file__).resolve().parent
PATIENCE_SECONDS = 40
BATCH = 250
# How often a statement is asked in a smaller form before it is taken as it is.
SMALLER_MAX = 150
SHOWN_MAX = 3
REFUSED_BY_NAME = {b"error 46", b"error 48"}
NUMBER = re.compile(r"(-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|nan|inf)\b)")
# Not the same twice, of the server and not of its arguments, or slow by intent.
NOT_ASKED = re.compile(
    r"rand|^now|today|yesterday|generate|uptime|host|version|sleep|^current|dict|joinGet|^file|throwIf|serverUUID|blockN|rowNumber|runningD|neighbor|Macro|tcpPort"
    r"|^(initial)?[qQ]uery|getSetting|getServer|display|addressTo|demangle|trap|shard|replica|initialize|timezone$|defaultRoles|enabled|transaction|zookeeper|buildId"
    r"|arrayJoin|transactionID|partitionId|getOSKernel|ignore|fuzz|logTrace|shuffle|Shuffle|lowCardinalityIndices|dumpColumn|blockSer|indexHint|byteSize|estimate|catboost"
    r"|^user$|^database$|^finalizeAggregation|authenticated|connection|has(Column|Thread)|timeZone$|filesystem|^evalML|obfuscate|formatQuery|highlight|^_|^USER|isMergeTree|toColumnTypeName"
)


def known():
    """(regular expression, reason) of each class that is known."""
    for line in (HERE / "generated_known.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            what, _, reason = line.partition("\t")
            yield re.compile(rf"\b{what}(If|Array|Distinct|OrNull|OrDefault|State|Merge|ForEach|Map|ArgM\w+)*\(" if re.fullmatch(r"\w+", what) else what), reason


class Both:
    """Both sides, asked at the same time."""

    def __init__(self, binary):
        statements_check.PATIENCE_SECONDS = PATIENCE_SECONDS
        self.sides = [statements_check.Ours(binary, list(setup())), statements_check.Theirs(list(setup()))]
        self.pool = ThreadPoolExecutor(2)

    def answers(self, texts):
        """[(ours, theirs)], each (bytes, what was said)."""
        return list(zip(*self.pool.map(lambda side: [side.answer(text) for text in texts], self.sides)))

    def functions(self):
        """({name: documentation}, names of aggregates) of what both have and every answer can be compared of."""
        said = lambda columns: f"SELECT name, is_aggregate, {columns} FROM system.functions FORMAT JSONCompactEachRow"  # noqa: E731
        ours = {json.loads(line)[0] for line in self.sides[0].answer(said("1"))[0].splitlines()}
        theirs = [json.loads(line) for line in self.sides[1].answer(said("arguments, alias_to, deterministic"))[0].splitlines()]
        rows = {row[0]: row for row in theirs if row[0] in ours and not row[3] and row[4] != 0 and not NOT_ASKED.search(row[0])}
        return {name: row[2] for name, row in rows.items()}, sorted(name for name, row in rows.items() if row[1])


def near(ours, theirs, kind):
    """Whether two cells are the same but for last digits."""
    if ours == theirs:
        return True
    mine, other = NUMBER.split(ours), NUMBER.split(theirs)
    if len(mine) != len(other) or mine[::2] != other[::2]:
        return False
    tolerance = 1e-6 if "Float32" in kind or "BFloat" in kind else 1e-9
    for a, b in zip(mine[1::2], other[1::2]):
        if a == b:
            continue
        if "Float" not in kind and not ("String" in kind and "." in a and min(len(a), len(b)) > 14):
            return False
        if not math.isclose(float(a), float(b), rel_tol=tolerance, abs_tol=1e-300):
            return False
    return True


def difference(statement, ours, theirs):
    """The word for how two answers differ: '' for not at all."""
    if "process ended" in ours[1]:
        return "ours died"
    if "process ended" in theirs[1]:
        return "theirs died"
    if b"error" in (ours[0][:5], theirs[0][:5]):
        both = ours[0][:5] == theirs[0][:5]
        return "both refuse" if both else "only ours refuses" if ours[0].startswith(b"error") else "only theirs refuses"
    mine, other = (answer[0].decode(errors="surrogateescape").split("\n") for answer in (ours, theirs))
    rows = [lines[2:-1] if statement.is_ordered() else sorted(lines[2:-1]) for lines in (mine, other)]
    kinds = other[1].split("\t")
    same = len(rows[0]) == len(rows[1]) and all(
        len(a.split("\t")) == len(b.split("\t")) and all(map(near, a.split("\t"), b.split("\t"), kinds)) for a, b in zip(*rows)
    )
    if not same:
        return "DIFFERENT ANSWER"
    return "type only" if mine[1] != other[1] else "name only" if mine[0] != other[0] else "same"


class Check:
    def __init__(self, both, dice, report):
        self.both, self.dice, self.report = both, dice, report
        self.known = list(known())
        self.outcomes, self.refusals = collections.Counter(), collections.Counter()
        self.classes = {}

    def batch(self, size, only):
        statements = [getattr(self.dice, only)() if only else self.dice.statement() for _ in range(size)]
        for statement, (ours, theirs) in zip(statements, self.both.answers([one.text() for one in statements])):
            word = difference(statement, ours, theirs)
            self.outcomes[word] += 1
            if word == "only ours refuses":
                self.refused(statement, ours)
            if word in ("same", "type only", "name only", "DIFFERENT ANSWER"):
                self.learn(statement, theirs)
            if word in ("DIFFERENT ANSWER", "ours died", "type only"):
                self.differs(statement, word, ours, theirs)

    def refused(self, statement, ours):
        """Not a failure, but said in the report, unless it is refused by name."""
        self.refusals[ours[0].decode()] += 1
        if self.report and ours[0] not in REFUSED_BY_NAME:
            entry = {"word": "only ours refuses", "small": statement.text(), "ours": ours[0].decode(), "said": ours[1][-300:]}
            print(json.dumps(entry), file=self.report, flush=True)

    def learn(self, statement, theirs):
        for node in statement.select:
            if hasattr(node, "learnt"):
                self.dice.signatures.learn(*node.learnt)
        node = statement.select[-1]
        if statement.source == "v" and len(statement.select) == 2 and "OVER" not in node.template and node.children and not statement.clauses.get("group"):
            kind = generated_grammar.family(theirs[0].decode(errors="replace").split("\n")[1].split("\t")[-1].replace("\\'", "'"))
            node.kind = kind
            if len(node.text()) < 120:
                self.dice.pool.setdefault(kind, []).append(node)

    def differs(self, statement, word, ours, theirs):
        small, ours, theirs = self.reduced(statement, word, ours, theirs) if word != "type only" else (statement, ours, theirs)
        text = small.text()
        reason = next((reason for pattern, reason in self.known if pattern.search(text)), "")
        entry = {"word": word, "shape": small.shape(), "small": text, "ours": shown(ours), "theirs": shown(theirs), "known": reason, "from": statement.text()}
        self.classes.setdefault((word, small.shape()), []).append(entry)
        if self.report:
            print(json.dumps(entry, ensure_ascii=False).encode(errors="backslashreplace").decode(), file=self.report, flush=True)

    def reduced(self, statement, word, ours, theirs):
        """The smallest statement found whose answers still differ in the same way."""
        asked, goes_on = 0, True
        while goes_on and asked < SMALLER_MAX:
            goes_on = False
            for one in statement.smaller():
                asked += 1
                if asked > SMALLER_MAX:
                    break
                answers = self.both.answers([one.text()])[0]
                if difference(one, *answers) == word:
                    statement, (ours, theirs), goes_on = one, answers, True
                    break
        return statement, ours, theirs


def shown(answer):
    text = answer[0] or answer[1].encode()
    return text[:600].decode(errors="backslashreplace")


def report(check):
    """Prints the classes, the commonest last, and gives the number of those that are failures."""
    wrong = 0
    for (word, shape), entries in sorted(check.classes.items(), key=lambda item: len(item[1])):
        if word == "type only" or entries[0]["known"]:
            continue
        wrong += 1
        print(f"{word}, {len(entries)} times: {shape}")
        for entry in sorted(entries, key=lambda entry: len(entry["small"]))[:SHOWN_MAX]:
            print(f"  {entry['small']}\n    ours:   {entry['ours'][-300:]!r}\n    theirs: {entry['theirs'][-300:]!r}")
    print(f"refused by ours only: {dict(check.refusals.most_common())}")
    print("; ".join(f"{word} {count}" for word, count in check.outcomes.most_common()))
    explained = sum(1 for entries in check.classes.values() if entries[0]["known"])
    print(f"{sum(check.outcomes.values())} statements, {len(check.classes)} classes of differences, {explained} known")
    print(f"{check.outcomes['same']} passed, {wrong} failed")
    return wrong


def same_tables(both):
    """Whether the tables of both sides hold the same; nothing else means anything if not."""
    texts = [Statement("v", [generated_grammar.Node(name)], order=generated_grammar.Node("ORDER BY id")).text() for name in COLUMNS]
    different = [text for text, (ours, theirs) in zip(texts, both.answers(texts)) if ours != theirs]
    for text in different:
        print(f"the tables differ: {text}")
    return not different


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--statements", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--report", type=lambda path: open(path, "a"))
    arguments = parser.parse_args()
    both = Both(arguments.binary)
    if not same_tables(both):
        sys.exit(1)
    documentation, aggregates = both.functions()
    scalars = sorted(set(documentation) - set(aggregates))
    aggregates = [name for name in aggregates if name not in generated_grammar.NO_AGGREGATES]
    dice = generated_grammar.Dice(arguments.seed).begin(Signatures(documentation), scalars, aggregates)
    check = Check(both, dice, arguments.report)
    while (left := arguments.statements - sum(check.outcomes.values())) > 0:
        check.batch(min(BATCH, left), arguments.only)
        print(f"{dict(check.outcomes)}, {len(check.classes)} classes", file=sys.stderr, flush=True)
    sys.exit(1 if report(check) else 0)


if __name__ == "__main__":
    main()
