"""The dice: which statement comes next.

Every kind of statement is a method of `Dice`; `KINDS` says how often each comes. Whatever has no order of its own is compared without
one, and what no order decides (which row of several LIMIT takes) is not asked.
"""
import random

from generated_statements import FAMILIES, Node, Statement
from generated_tables import COLUMNS, DAYS, INTERVALS, KEYS, SORTED, TEXTS, TIMES, ZONES, family, literal

OF_FAMILY = {}
for _name, (_type, _) in COLUMNS.items():
    OF_FAMILY.setdefault(family(_type), []).append(_name)
TYPES = list(dict.fromkeys(kind for kind, _ in COLUMNS.values())) + ["DateTime", "DateTime64(3)", "Array(String)", "Array(Nullable(Float64))", "Decimal(5, 1)",
                                                                    "FixedString(2)", "FixedString(8)", "Tuple(String, String)", "Map(String, String)"]
# Arguments whose values have a meaning that no type tells, by their name.
NAMED = {
    "timezone": ZONES, "time_zone": ZONES, "tz": ZONES, "zone": ZONES,
    "unit": ["'second'", "'minute'", "'hour'", "'day'", "'week'", "'month'", "'quarter'", "'year'", "'millisecond'"],
    "format": ["'%Y-%m-%d %H:%i:%s'", "'%d/%m/%y %j %a %b %M'", "'%f %V %u %w'", "'yyyy-MM-dd HH:mm:ss'", "'%T%%'", "'{}-{}'", "'{0}{1}{0}'"],
    "pattern": ["'a'", "'[a-z]+'", "'^(.)(.*)$'", "'(\\\\d+)'", "''", "'%a%'", "'_'", "'\\\\W'", "'а|и'"], "regexp": ["'a'", "'(\\\\w)(\\\\w)'", "''", "'[^,]*'", "'^'"],
    "regex": ["'a'", "'(.)'", "'x*'"], "needle": ["'a'", "''", "'мир'", "'l'", "s2", "'Hello'"], "separator": ["','", "''", "' '", "'a'", "', '"],
    "json": ["'{\"a\":1,\"b\":[1,2.5,null,\"x\"],\"c\":{\"d\":true}}'", "'[1,\"2\",{\"a\":null}]'", "'\"text\"'", "'-1e3'", "'null'", "'{bad'", "s"],
    "indices_or_keys": ["'a'", "'b'", "1", "-1", "'c'", "0", "2"], "path": ["'$.a'", "'$.b[1]'", "'$.c.d'", "'$.*'", "'$'"],
    "return_type": ["'Int32'", "'String'", "'Array(Nullable(Float64))'", "'Tuple(a Int8, b Array(String))'", "'Map(String, String)'", "'DateTime'", "'Bool'"],
    "mode": ["0", "1", "2", "3", "5", "9"], "N": ["0", "1", "2", "-1", "-2", "3", "10"], "scale": ["0", "1", "2", "3", "6", "9"], "S": ["0", "2", "4"],
    "T": [f"'{kind}'" for kind in TYPES[:40] if "'" not in kind], "type": ["'Int8'", "'UInt64'", "'Date'", "'Float32'", "'Decimal(9, 2)'", "'IPv4'"],
    "url": ["'https://user:pw@www.example.co.uk:8080/path/f.html?a=1&b=%20#x'", "'//a.b/c'", "'mailto:x@y.z'", "s", "s2", "''"],
    "URL": ["'https://user:pw@www.example.co.uk:8080/path/f.html?a=1&b=%20#x'", "'http://xn--e1afmkfd.com/?q'", "s", "''"],
    "interval": ["INTERVAL 1 DAY", "INTERVAL 3 MONTH", "INTERVAL 15 MINUTE", "INTERVAL 2 WEEK", "INTERVAL 1 YEAR", "INTERVAL 7 HOUR"],
    "offset": ["0", "1", "-1", "2", "3", "-3", "i8", "100"], "length": ["0", "1", "2", "5", "-1", "u8"], "precision": ["0", "1", "5", "17"],
}
# Functions that make much of a large number.
SMALL = {"range", "repeat", "space", "leftPad", "rightPad", "leftPadUTF8", "rightPadUTF8", "lpad", "rpad", "arrayResize", "arrayWithConstant", "arrayShingles",
         "mapPopulateSeries", "toDecimalString", "randomString", "timeSlots", "bitmapSubsetLimit", "numericIndexedVectorBuild", "stringBytesUniq", "arrayRandomSample"}
LAMBDAS = [("arrayMap", "array"), ("arrayFilter", "array"), ("arrayExists", "array"), ("arrayAll", "array"), ("arrayCount", "array"), ("arraySum", "array"),
           ("arrayMin", "array"), ("arrayMax", "array"), ("arrayAvg", "array"), ("arraySort", "array"), ("arrayReverseSort", "array"), ("arrayFirst", "array"),
           ("arrayLast", "array"), ("arrayFirstIndex", "array"), ("arrayLastIndex", "array"), ("arrayFirstOrNull", "array"), ("arrayLastOrNull", "array"),
           ("arrayCumSum", "array"), ("arrayCumSumNonNegative", "array"), ("arrayFill", "array"), ("arraySplit", "array"), ("arrayReverseSplit", "array"),
           ("arrayProduct", "array"), ("arrayReverseFill", "array"), ("arrayPartialSort(2)", "array")]
COMPARISONS = ["{} = {}", "{} != {}", "{} < {}", "{} <= {}", "{} > {}", "{} >= {}", "{} IS NOT DISTINCT FROM {}", "{} <=> {}", "{} IS DISTINCT FROM {}"]
ARITHMETIC = ["{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} % {}", "intDiv({}, {})", "intDivOrZero({}, {})", "bitAnd({}, {})", "bitShiftRight({}, {})",
              "moduloOrZero({}, {})", "positiveModulo({}, {})", "greatest({}, {})", "least({}, {})", "{} || {}", "divideOrNull({}, {})", "-{}", "NOT {}"]
CONVERSIONS = ["CAST({} AS %s)", "{}::%s", "accurateCastOrNull({}, '%s')", "accurateCast({}, '%s')", "toString(CAST({} AS %s))", "accurateCastOrDefault({}, '%s')"]
NUMBERS_OF = ["Int8", "Int16", "Int32", "Int64", "Int128", "Int256", "UInt8", "UInt16", "UInt32", "UInt64", "UInt128", "UInt256", "Float32", "Float64",
              "Date", "Date32", "DateTime", "UUID", "IPv4", "IPv6"]
PARAMETERS = {"quantile": ["0.5", "0.9", "0", "1"], "quantiles": ["0.1, 0.9"], "topK": ["3"], "groupArraySample": ["20"], "groupConcat": ["','"],
              "groupArrayLast": ["3"], "groupArrayMovingSum": ["2", ""], "groupArrayMovingAvg": ["3"], "groupUniqArray": ["20"], "uniqUpTo": ["4"],
              "exponentialMovingAverage": ["2"], "groupArraySorted": ["3"], "groupArrayInsertAt": ["''", "0"], "sequenceMatch": ["'(?1)(?2)'"]}
COMBINATORS = ["", "", "", "", "If", "If", "OrNull", "OrDefault", "Distinct", "Array", "OrNullIf", "DistinctIf", "ForEach", "ArrayIf", "State", "ArgMax", "ArgMin", "Map"]
FRAMES = ["", "", " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", " ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING",
          " RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", " ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING"]
RANKS = ["row_number()", "rank()", "dense_rank()", "percent_rank()", "ntile(3)", "cume_dist()", "lagInFrame({})", "leadInFrame({}, 2)", "lag({})", "lead({}, 1)",
         "first_value({})", "last_value({})", "nth_value({}, 2)"]
# Names of aggregates whose value no order of rows decides, or that take what is not made here.
NO_AGGREGATES = {"any_respect_nulls", "estimateCompressionRatio", "groupArraySample"}


def number(value):
    return Node(str(value), kind="int")


class Dice(random.Random):
    """Makes nodes and statements; `signatures` says what functions take, `pool` has expressions that both sides answered."""

    def begin(self, signatures, functions, aggregates):
        self.signatures, self.functions, self.aggregates = signatures, functions, aggregates
        self.pool = {}
        return self

    def leaf(self, kind=None, columns=None):
        """A column or a constant of a family."""
        kind = kind or self.choice(FAMILIES)
        if kind == "null":
            return Node("NULL", kind="null")
        if kind == "interval":
            return Node(f"INTERVAL {self.choice([0, 1, -1, 3, 15, 1000])} {self.choice(INTERVALS)}", kind="interval")
        roll = self.random()
        if self.pool.get(kind) and roll < 0.1:
            return self.choice(self.pool[kind])
        name = self.choice(columns or OF_FAMILY.get(kind) or list(COLUMNS))
        if roll < 0.55:
            return Node(name, kind=family(COLUMNS[name][0]))
        if kind in ("int", "string", "float", "date", "time") and roll < 0.8:
            return Node(self.plain(kind), kind=kind)
        if kind == "array" and roll < 0.7:
            return Node("[{}, {}]", [self.leaf(one) for one in [self.choice(FAMILIES[:-1])] * 2], kind="array")
        if kind == "tuple" and roll < 0.7:
            return Node("({}, {})", [self.leaf(), self.leaf()], kind="tuple")
        type_name, values = COLUMNS[name]
        return Node(literal(self.choice(values), type_name), kind=family(type_name))

    def plain(self, kind):
        """A constant as people write it."""
        texts = {"int": ["0", "1", "2", "-1", "3", "10", "255", "-300", "65536", "18446744073709551615", "-9223372036854775808"],
                 "float": ["0.5", "-1.5", "1e10", "nan", "inf", "-0.0", "0.1", "1e-10"], "string": TEXTS, "date": DAYS, "time": TIMES}
        text = self.choice(texts[kind])
        if kind in ("int", "float"):
            return text
        return f"'{text}'" if kind == "string" else f"to{'Date' if kind == 'date' else 'DateTime'}('{text}')"

    def argument(self, function, name, kind):
        if name in NAMED and self.random() < 0.8:
            text = self.choice(NAMED[name])
            return Node(text, kind=name)
        if function in SMALL and kind in ("int", "wide", "float", "decimal"):
            return number(self.choice([0, 1, 2, 5, 17, -1, "u8 % 9"]))
        return self.leaf(kind)

    def call(self):
        name = self.choice(self.functions)
        arguments = [self.argument(name, said, kind) for said, kind in self.signatures.choose(self, name)]
        node = Node(f"{name}({', '.join(['{}'] * len(arguments))})", arguments)
        node.learnt = (name, tuple(argument.kind for argument in arguments))
        return node

    def conversion(self):
        if self.random() < 0.35:
            name = f"to{self.choice(NUMBERS_OF)}{self.choice(['', 'OrZero', 'OrNull', 'OrDefault'])}"
            return Node(f"{name}({{}})", [self.leaf()])
        if self.random() < 0.2:
            return Node(f"to{self.choice(['Decimal32', 'Decimal64', 'Decimal128', 'Decimal256', 'DateTime64'])}{self.choice(['', '', 'OrNull', 'OrZero'])}({{}}, {self.choice([0, 2, 3, 5])})",
                        [self.leaf(self.choice(["int", "float", "string", "decimal", "time", "wide"]))])
        return Node(self.choice(CONVERSIONS) % self.choice(TYPES).replace("'", "'"), [self.leaf()])

    def operator(self):
        kind = self.choice(["int", "int", "wide", "float", "decimal", "date", "time"])
        other = self.choice([kind, "int", "float", "decimal", "wide", "interval" if kind in ("date", "time") else "int"])
        template = self.choice(ARITHMETIC)
        return Node(template, [self.leaf(kind), self.leaf(other)][:template.count("{}")])

    def condition(self, depth=1):
        roll = self.random()
        if depth and roll < 0.25:
            return Node(self.choice(["({} AND {})", "({} OR {})", "xor({}, {})", "(NOT {} OR {})"]), [self.condition(0), self.condition(0)])
        kind = self.choice(FAMILIES[:-2])
        near = [kind, kind, kind, self.choice(["int", "wide", "float", "decimal", "string", "date", "time"])]
        if roll < 0.6:
            return Node(self.choice(COMPARISONS), [self.leaf(kind), self.leaf(self.choice(near))])
        if roll < 0.68:
            return Node(self.choice(["{} BETWEEN {} AND {}", "{} NOT BETWEEN {} AND {}"]), [self.leaf(kind)] + [self.leaf(self.choice(near)) for _ in "ab"])
        if roll < 0.76:
            return Node(self.choice(["{} IS NULL", "{} IS NOT NULL", "isNotNull({})", "isZeroOrNull({})"]), [self.leaf(kind)])
        if roll < 0.83:
            return Node(self.choice(["{} LIKE ", "{} ILIKE ", "{} NOT LIKE "]) + self.choice(["'%a%'", "'_'", "'%'", "''", "'A%b'", "'\\\\%a\\\\_b%'", "'%мир'"]), [self.leaf("string")])
        return self.membership(kind, near)

    def membership(self, kind, near):
        word = self.choice(["IN", "IN", "NOT IN"])
        roll = self.random()
        if roll < 0.35:
            return Node(f"{{}} {word} ({{}}, {{}}, {{}})", [self.leaf(kind)] + [self.constant(self.choice(near)) for _ in "ab"] + [self.constant(self.choice([kind, "null"]))])
        if roll < 0.7:
            return Node(f"{{}} {word} (SELECT {{}} FROM v)", [self.leaf(kind), self.leaf(self.choice(near))])
        if roll < 0.8:
            return Node(f"({{}}, {{}}) {word} (SELECT {{}}, {{}} FROM v)", [self.leaf(kind), self.leaf("int"), self.leaf(kind), self.leaf("int")])
        if roll < 0.9:
            return Node(f"({{}}, {{}}) {word} (({{}}, {{}}), ({{}}, {{}}))", [self.leaf(kind), self.leaf("int")] + [self.constant(one) for one in (kind, "int", kind, "null")])
        return Node(f"{{}} {word} {{}}", [self.leaf(kind), Node("[{}, {}]", [self.constant(kind), self.constant(kind)])])

    def constant(self, kind):
        while True:
            leaf = self.leaf(kind)
            if not leaf.children and leaf.template not in COLUMNS and not any(name in leaf.template for name in ("u8 %",)):
                return leaf

    def conditional(self):
        kind = self.choice(FAMILIES)
        near = lambda: self.leaf(self.choice([kind, kind, kind, "null", "int", "decimal"]))  # noqa: E731
        template = self.choice(["if({}, {}, {})", "multiIf({}, {}, NULL, {}, {})", "CASE WHEN {} THEN {} ELSE {} END", "CASE WHEN {} THEN {} END", "ifNull({1}, {})",
                                "coalesce({1}, {}, {})", "nullIf({1}, {})", "CASE {1} WHEN {} THEN {} WHEN {} THEN {} END", "assumeNotNull({1})", "toNullable({1})",
                                "{} ? {} : {}"])
        starts_with_value = "{1}" in template
        template = template.replace("{1}", "{}")
        children = [near() for _ in range(template.count("{}"))]
        if not starts_with_value:
            children[0] = self.condition(0)
        return Node(template, children)

    def lambda_call(self):
        name, kind = self.choice(LAMBDAS)
        array = self.leaf("array")
        x = Node("x", kind="x")
        body = self.choice([Node(self.choice(ARITHMETIC), [x, self.leaf("int")]), Node(self.choice(COMPARISONS), [x, self.leaf(self.choice(["int", "string", "float"]))]),
                            Node("-x", kind="x"), Node("x", kind="x"), Node("x IS NULL", kind="x"), Node("toString(x)", kind="x"), Node("(x, {})", [self.leaf("int")]),
                            Node("if({}, x, NULL)", [self.condition(0)])])
        if "Sort(2)" in name:
            return Node("arrayPartialSort(x -> {}, 2, {})", [body, array])
        return Node(name + "(x -> {}, {})", [body, array])

    def expression(self):
        return self.choices([self.call, self.conversion, self.operator, self.condition, self.conditional, self.lambda_call], [50, 13, 12, 16, 9, 6])[0]()

    def aggregate(self):
        name = self.choice(self.aggregates)
        combinator = self.choice(COMBINATORS)
        kinds = [kind for _, kind in self.signatures.choose(self, name)] or ["int"]
        arguments = [self.leaf("array") if combinator in ("Array", "ForEach", "ArrayIf") else self.leaf("map") if combinator == "Map" else self.leaf(kind)
                     for kind in kinds][:max(1, len(kinds))]
        if name == "count" and self.random() < 0.5:
            arguments = []
        taken = (name, tuple(argument.kind for argument in arguments))
        if combinator.endswith("If"):
            arguments.append(self.condition(0))
        if combinator.startswith("Arg"):
            arguments.append(self.leaf(self.choice(["int", "string", "float", "decimal", "time"])))
        parameters = next((self.choice(values) for start, values in PARAMETERS.items() if name == start or name.startswith(start + "E") or name.startswith(start + "T")), None)
        call = f"{name}{combinator}{f'({parameters})' if parameters else ''}({', '.join(['{}'] * len(arguments))})"
        node = Node(f"finalizeAggregation({call})" if combinator == "State" else call, arguments)
        if not combinator:
            node.learnt = taken
        return node

    # Statements.

    def of_rows(self):
        node = self.expression()
        roll = self.random()
        if roll < 0.75:
            return Statement("v", [Node("id", kind="id"), node], order=Node("ORDER BY id"))
        if roll < 0.9:
            return Statement(f"(SELECT * FROM v WHERE id = {self.randint(1, 12)})", [node])
        return Statement("e" if roll < 0.93 else "", [node])

    def filtered(self):
        return Statement("v", [Node("id", kind="id")], where=Node("WHERE {}", [self.condition()]), order=Node("ORDER BY id"))

    def grouped(self):
        select, keys = [self.aggregate()], []
        clauses = {}
        if self.random() < 0.5:
            keys = [self.leaf() if self.random() < 0.7 else self.expression()]
            how = self.choice(["GROUP BY {}"] * 6 + ["GROUP BY ROLLUP({})", "GROUP BY CUBE({})", "GROUP BY {} WITH TOTALS", "GROUP BY GROUPING SETS (({}), ())"])
            if "{}" != how[-2:]:
                # Of a constant, ClickHouse shows the constant also where the key is left out.
                name = self.choice(list(COLUMNS))
                keys = [Node(name, kind=family(COLUMNS[name][0]))]
            clauses["group"] = Node(how, keys)
            if self.random() < 0.2:
                clauses["having"] = Node("HAVING {}", [Node(self.choice(COMPARISONS), [self.aggregate(), self.leaf()])])
        if self.random() < 0.3:
            clauses["where"] = Node("WHERE {}", [self.condition()])
        return Statement(self.choice(["v"] * 8 + ["e", "(SELECT * FROM v WHERE id < 4)"]), keys + select, **clauses)

    def merged(self):
        """States that are made in parts and merged, against ClickHouse's of the same parts."""
        node = self.aggregate()
        name = node.template.split("(")[0]
        if name == "finalizeAggregation" or name.endswith(("Map", "ForEach")):
            return self.grouped()
        rest = node.template[len(name):]
        parameters = rest[:rest.rindex("(")]
        inner = Node(f"{name}State{rest}", node.children).text()
        return Statement(f"(SELECT {inner} AS st FROM v GROUP BY id % 3)", [Node(f"{name}Merge{parameters}(st)", kind="state")])

    def windowed(self):
        node = self.aggregate() if self.random() < 0.5 else Node(self.choice(RANKS), [self.leaf()])
        if "{}" not in node.template:
            node = Node(node.template)
        partition = self.choice(["", "PARTITION BY {} "])
        order = self.choice(["ORDER BY id", "ORDER BY {}, id", "ORDER BY {} DESC NULLS FIRST, id", "ORDER BY {}"])
        frame = self.choice(FRAMES)
        if order == "ORDER BY {}" and (frame.startswith(" ROWS") or not node.template.startswith(("rank", "dense", "sum", "count", "min", "max", "avg"))):
            order = "ORDER BY {}, id"
        over = partition + order + frame
        whole = Node(node.template + f" OVER ({over})", node.children + [self.leaf() for _ in range(over.count("{}"))])
        return Statement("v", [Node("id", kind="id"), whole], order=Node("ORDER BY id"))

    def ordered(self):
        key = self.leaf() if self.random() < 0.7 else self.expression()
        how = self.choice(["", " DESC", " NULLS FIRST", " DESC NULLS FIRST", " ASC NULLS LAST", " DESC NULLS LAST"])
        limit = self.choice([""] * 3 + [" LIMIT 3", " LIMIT 2, 4", " LIMIT 5 OFFSET 1", " LIMIT 1 BY {}", " LIMIT 4 OFFSET 20"])
        extra = [self.leaf()] if "{}" in limit else []
        if self.random() < 0.25:
            return Statement("v", [key], distinct=True)
        return Statement("v", [Node("id", kind="id")], order=Node(f"ORDER BY {{}}{how}, id{limit}", [key] + extra))

    def pruned(self):
        name = self.choice(SORTED)
        kind = family(COLUMNS[name][0])
        k = Node("k", kind=kind)
        other = lambda: self.constant(self.choice([kind, kind, "int", "float", "string", "decimal", "date", "time"]))  # noqa: E731
        call = self.call()
        if call.children and self.random() < 0.3:
            call.children[0] = k
            k = Node(call.template, [k] + [self.constant(child.kind if child.kind in FAMILIES else "int") for child in call.children[1:]])
        condition = self.choice([lambda: Node(self.choice(COMPARISONS), [k, other()]), lambda: Node("{} BETWEEN {} AND {}", [k, other(), other()]),
                                 lambda: Node("{} IN ({}, {}, {})", [k, other(), other(), other()]), lambda: Node("{} NOT IN ({}, {})", [k, other(), other()]),
                                 lambda: Node("{} IS NULL", [k]), lambda: Node("startsWith({}, {})", [k, other()]), lambda: Node("{} LIKE 'a%'", [k]),
                                 lambda: Node("{} IN (SELECT {} FROM v)", [k, self.leaf(kind)]), lambda: Node("NOT {}", [Node(self.choice(COMPARISONS), [k, other()])])])()
        return Statement(f"p_{name}", [Node("id", kind="id")], where=Node("WHERE {}", [condition]), order=Node("ORDER BY id"))

    def joined(self):
        left, right = self.choice(list(KEYS)), None
        right = left if self.random() < 0.6 else self.choice(list(KEYS))
        kind = self.choice(["INNER JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "RIGHT SEMI JOIN", "RIGHT ANTI JOIN",
                            "LEFT ANY JOIN", "INNER ANY JOIN", "ASOF JOIN", "ASOF LEFT JOIN", "CROSS JOIN", "ALL INNER JOIN"])
        settings = self.choice(["join_use_nulls = 0", "join_use_nulls = 1"])
        extra = self.choice(list(KEYS))
        only_left, only_right = kind.startswith(("LEFT SEMI", "LEFT ANY", "INNER ANY")), kind.startswith("RIGHT SEMI")
        names = ([] if only_right else ["l.id", f"l.{left}", f"l.{extra}"]) + ([] if only_left else ["r.id", f"r.{right}", f"r.{extra}"])
        if "SEMI" in kind or "ANY" in kind:
            names.append(f"r.{right}" if only_left and "SEMI" not in kind else f"l.{left}")
        on = f"l.{left} = r.{right}"
        if kind.startswith("ASOF"):
            by = self.choice(["k32", "k64", "kdt", "kt", "kd", "kf", "kda"])
            on += f" AND l.{by} {self.choice(['>=', '>', '<=', '<'])} r.{by}"
            names = [name for name in names if name != "r.id"]
        elif self.random() < 0.25:
            on += self.choice([f" AND l.{extra} = r.{extra}", f" AND l.k32 {self.choice(['<', '!='])} r.k32", " AND l.id > 2", " AND r.id < 3"])
        elif self.random() < 0.1:
            on = f"l.{left} IS NOT DISTINCT FROM r.{right}"
        if kind == "CROSS JOIN":
            source = "l CROSS JOIN r"
        elif self.random() < 0.3 and not kind.startswith("ASOF"):
            source, names = f"l {kind} r USING ({left})", [left] + [name for name in names if name not in (f"l.{left}", f"r.{right}")]
        else:
            source = f"l {kind} r ON {on}"
        where = Node(f"WHERE {self.choice(names)} {self.choice(['IS NOT NULL', 'IS NULL', '= 1', '> 0'])}") if self.random() < 0.15 else None
        return Statement(source, [Node(name, kind=name) for name in names], settings=settings, where=where)

    def united(self):
        kind = self.choice(FAMILIES)
        one, two = self.leaf(kind), self.leaf(self.choice([kind, kind, "int", "decimal", "null"]))
        word = self.choice(["UNION ALL", "UNION DISTINCT", "INTERSECT", "EXCEPT", "EXCEPT DISTINCT", "INTERSECT DISTINCT"])
        source = f"(SELECT {one.text()} AS x FROM v WHERE id < 9 {word} SELECT {two.text()} AS x FROM v WHERE id > 4)"
        return Statement(source, [Node("x", kind=f"{one.kind}, {two.kind}")])

    def statement(self):
        kinds, weights = zip(*KINDS.items())
        return getattr(self, self.choices(kinds, weights)[0])()


KINDS = {"of_rows": 55, "filtered": 8, "grouped": 14, "merged": 3, "windowed": 6, "ordered": 5, "pruned": 5, "joined": 8, "united": 4}
