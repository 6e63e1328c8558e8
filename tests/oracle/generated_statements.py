"""Statements as trees, which can be made smaller, and what functions take.

An expression is a tree (`Node`): text with places for its children. `Statement.smaller` gives all statements with one piece less, so
that one whose answers differ can be reduced to what the difference needs. What functions take is not known beforehand: `Signatures`
begins with what ClickHouse's own `system.functions` says of their arguments, and learns from answers which families of types a
function took.
"""
import re

from generated_tables import COLUMNS, ROWS, literal


class Node:
    """A piece of text with places (`{}`) for its children, and the family of its type (None where it is not known)."""

    def __init__(self, template, children=(), kind=None):
        self.template, self.children, self.kind = template, list(children), kind

    def text(self):
        if not self.children:
            return self.template
        pieces = self.template.split("{}")
        return "".join(a + b for a, b in zip(pieces, [child.text() for child in self.children] + [""]))

    def smaller(self):
        """Trees with one piece less: a child in place of its parent, a literal in place of a column."""
        for child in self.children:
            if "->" not in child.template:
                yield child
        if not self.children and self.template in COLUMNS:
            kind, values = COLUMNS[self.template]
            for value in dict.fromkeys(values):
                yield Node(literal(value, kind), kind=self.kind)
        for place, child in enumerate(self.children):
            for one in child.smaller():
                yield Node(self.template, self.children[:place] + [one] + self.children[place + 1:], self.kind)

    def shape(self):
        """The functions and the families of the leaves: what statements of one class have in common."""
        if not self.children:
            return self.kind or re.sub(r"'[^']*'|\d+", "_", self.template)[:30]
        pieces = self.template.split("{}")
        return "".join(a + b for a, b in zip(pieces, [child.shape() for child in self.children] + [""]))


class Statement:
    """A SELECT: its source, and a tree for each thing in its clauses."""

    def __init__(self, source, select, **clauses):
        self.source, self.select, self.clauses = source, select, clauses

    def text(self):
        get = self.clauses.get
        text = f"SELECT {'DISTINCT ' if get('distinct') else ''}{', '.join(node.text() for node in self.select)}"
        text += f" FROM {self.source}" if self.source else ""
        for word in ("where", "group", "having", "window", "order", "limit_by"):
            if get(word):
                text += " " + get(word).text()
        text += f" SETTINGS {get('settings')}" if get("settings") else ""
        return text + " FORMAT TSVWithNamesAndTypes"

    def is_ordered(self):
        return bool(self.clauses.get("order")) and "id" in self.clauses["order"].text().split()

    def with_(self, **changes):
        return Statement(changes.pop("source", self.source), changes.pop("select", self.select), **{**self.clauses, **changes})

    def smaller(self):
        for word, clause in self.clauses.items():
            if clause:
                yield self.with_(**{word: None})
        if len(self.select) > 1:
            for place in range(len(self.select)):
                yield self.with_(select=self.select[:place] + self.select[place + 1:])
        if self.source == "v" and not self.clauses.get("where"):
            yield self.with_(source="")
            for row in range(1, ROWS + 1):
                yield self.with_(source=f"(SELECT * FROM v WHERE id = {row})")
        for place, node in enumerate(self.select):
            for one in node.smaller():
                yield self.with_(select=self.select[:place] + [one] + self.select[place + 1:])
        for word, clause in self.clauses.items():
            if isinstance(clause, Node):
                for place, child in enumerate(clause.children):
                    for one in child.smaller():
                        yield self.with_(**{word: Node(clause.template, clause.children[:place] + [one] + clause.children[place + 1:])})

    def shape(self):
        clauses = [self.clauses[word].shape() for word in ("where", "group", "having", "order", "limit_by") if self.clauses.get(word)]
        source = re.sub(r"\(SELECT \* FROM v.*|^v$", "", self.source)
        pieces = [node.shape() for node in self.select] + [source] + clauses + [str(self.clauses.get("settings") or "")]
        return " ".join(piece for piece in pieces if piece)


# What the documentation of an argument says, and the families that are meant.
DOCUMENTED = [(r"\(U\)Int|U?Int(8|16|32|64|\*)", ["int", "int", "wide", "bool"]), (r"U?Int(128|256)", ["wide"]), ("Float", ["float"]), ("Decimal", ["decimal"]),
              (r"^String|const String", ["string"]), ("FixedString", ["fixed"]), ("Date(32)?$", ["date"]), ("DateTime", ["time"]), ("Enum", ["enum"]),
              ("Array", ["array"]), ("Map", ["map"]), ("Tuple", ["tuple"]), ("Interval", ["interval"]), ("IPv", ["ip"]), ("UUID", ["uuid"]), ("Bool", ["bool"])]
FAMILIES = ["int", "int", "wide", "float", "decimal", "string", "string", "fixed", "date", "time", "time", "uuid", "ip", "enum", "bool", "array", "array", "map",
            "tuple", "interval", "null"]


class Argument:
    """What is said of an argument: its name, its families, and whether it may be left out."""

    def __init__(self, name, text):
        self.name = name
        self.is_optional = "ptional" in text
        types = re.findall(r"\[`([^`]+)`\]", text)
        self.families = [word for one in types for pattern, words in DOCUMENTED if re.search(pattern, one) for word in words]


def documented(text):
    """The arguments of a function, from its row of system.functions."""
    pieces = re.split(r"(?:^|\n|\s)- `(\w+)[^`]*`", text)[1:]
    return [Argument(name, said) for name, said in zip(pieces[::2], pieces[1::2])]


class Signatures:
    """Which families of types functions take."""

    TRIES_MAX = 40

    def __init__(self, documentation):
        self.arguments = {name: documented(text) for name, text in documentation.items()}
        self.taken = {}

    def learn(self, name, families):
        taken = self.taken.setdefault(name, [])
        if families not in taken and len(taken) < self.TRIES_MAX:
            taken.append(families)

    def choose(self, dice, name):
        """(argument's name or '', family) of each argument of a call."""
        arguments = self.arguments.get(name, [])
        names = [argument.name for argument in arguments]
        if self.taken.get(name) and dice.random() < 0.45:
            families = dice.choice(self.taken[name])
            return list(zip(names + [""] * len(families), families))
        if not arguments:
            return [("", dice.choice(FAMILIES)) for _ in range(dice.choice([1, 1, 2, 2, 3]))]
        wanted = [a for a in arguments if not a.is_optional or dice.random() < 0.5]
        if dice.random() < 0.1:
            wanted = wanted + wanted[-1:]
        return [(a.name, dice.choice(a.families if a.families and dice.random() < 0.75 else FAMILIES)) for a in wanted]
