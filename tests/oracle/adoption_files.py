"""Parquet files of four writers for adoption_check.py: every type, presence of NULLs, codec, page version and layout.

Not all of the product: each choice is drawn from a deck that holds all of its cards before any comes again, so every card, and every
pair of a type and a presence of NULLs, is in some file of each writer. All comes from a seed.
"""
import decimal
import random
import re
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import chdb
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

LONG = "a text of more than sixty-four bytes, for which a column chunk gets no bounds at all: "
ENUM = "Enum8('new' = 1, 'old' = -2, 'жук' = 7)"
HOUR = 3_600_000_000
PRIME = 1_000_003
# So many rows are a load by all means, which small inserts need not be.
LOAD_ROWS_MIN = 8193
FAR_DAYS = [-62_091, 193_579, -25_568, 120_530, 65_536, -1, 0, 19_000]
NULLS = ["required", "optional", "some", "all"]
ORDERS = ["sorted", "sorted", "shuffled", "reversed", "pieces", "twins", "equal"]
CODECS = ["none", "snappy", "lz4", "zstd", "gzip", "brotli"]
KEYS = {
    "String": ("concat('key ', leftPad(toString({k}), 7, '0'))", pa.string(), lambda k: f"key {k:07}"),
    "Int64": ("toInt64({k}) * 1000 - 50000", pa.int64(), lambda k: k * 1000 - 50_000),
    "DateTime64(6, 'UTC')": ("fromUnixTimestamp64Micro(toInt64({k}) * 600000000, 'UTC')", pa.timestamp("us", "UTC"), lambda k: k * HOUR // 6),
}


@dataclass
class Kind:
    """Values of one type; `sql`, which is cast to it, is for ClickHouse and Gristmill, `arrow` a type and a function of the row for pyarrow and DuckDB."""
    name: str
    table: str
    sql: str | None
    arrow: tuple | None
    # Other types of a table's column, and a wider one to alter it to.
    others: list = field(default_factory=list)
    wider: str | None = None
    nests: bool = False


@dataclass
class Column:
    name: str
    kind: Kind
    nulls: str


@dataclass
class File:
    path: Path
    writer: str
    columns: list
    key_type: str
    order: str
    rows: int
    group_rows: int
    # How it was written, for messages.
    how: str


def nullable(table):
    """As Gristmill nests them."""
    if table.startswith("LowCardinality(") and "Nullable" not in table:
        return f"LowCardinality(Nullable({table[15:-1]}))"
    return table if "Nullable" in table or table.startswith(("Array", "Map", "Tuple")) else f"Nullable({table})"


def integers():
    for bits in (8, 16, 32, 64):
        for sign in ("UInt", "Int"):
            # From the least value to near the greatest: few values of 8 bits, many of the others.
            name, many = f"{sign}{bits}", 7 if bits == 8 else 991
            base, step = 0 if sign == "UInt" else 1 << (bits - 1), (1 << bits) // many
            expression = f"to{name}(toInt128(number % {many}) * toInt128('{step}') - toInt128('{base}'))"
            value = (lambda many, base, step: lambda i: i % many * step - base)(many, base, step)
            wider = {8: f"{sign}16", 16: f"{sign}64", 32: f"{sign}64", 64: None}[bits]
            others = ["UInt8", "Int32", "Int64", "UInt64", "Float64", "String", f"LowCardinality({name})"]
            yield Kind(name.lower(), name, expression, (getattr(pa, name.lower())(), value), others, wider)


def pick(values):
    return lambda i: values[i % len(values)]


def choice(*expressions):
    """SQL that takes one expression after the other."""
    pairs = ", ".join(f"number % {len(expressions)} = {at}, {one}" for at, one in enumerate(expressions[:-1]))
    return f"multiIf({pairs}, {expressions[-1]})"


def numbers():
    odd = [0.5, float("nan"), -0.0, 0.0, float("inf"), float("-inf"), 1e-40, -7.25]
    odd_sql = choice("0.5", "nan", "-0.0", "0.0", "inf", "-inf", "1e-40", "-7.25")
    for bits, low in (("32", pa.float32()), ("64", pa.float64())):
        others = ["Float32", "Float64", "String"]
        wider = "Float64" if bits == "32" else None
        yield Kind(f"float{bits}", f"Float{bits}", f"toFloat{bits}(number) / 8 - 20", (low, lambda i: i / 8 - 20), others, wider)
        yield Kind(f"nan{bits}", f"Float{bits}", f"toFloat{bits}({odd_sql})", (low, pick(odd)), others, wider)
        yield Kind(f"zero{bits}", f"Float{bits}", f"toFloat{bits}({choice('-0.0', '0.0')})", (low, pick([-0.0, 0.0])), others, wider)
    yield Kind("float16", "Float32", None, (pa.float16(), lambda i: i % 100 / 4), ["Float64"], "Float64")
    yield Kind("bool", "Bool", "toString(toUInt8(number % 3 = 0))", (pa.bool_(), lambda i: i % 3 == 0), ["UInt8", "String", "Int32"])
    yield Kind("int128", "Int128", "toInt128(number) * toInt128('-92233720368547758079')", None, ["String"])
    yield Kind("ipv4", "IPv4", "toIPv4(concat('10.0.0.', toString(number % 256)))", None, ["UInt32"])
    for digits, scale, wider in ((4, 1, None), (9, 2, "Decimal(18, 2)"), (18, 4, "Decimal(38, 4)"), (38, 10, None)):
        table, top = f"Decimal({digits}, {scale})", 10 ** (digits - scale) - 1
        expression = f"CAST({choice('1.5', '-7.2', 'number % 99', '0', f'{top}')} AS {table})"
        value = (lambda top, scale: lambda i: decimal.Decimal([15, -72, 990 - i % 99 * 10, 0, top * 10][i % 5]).scaleb(-1))(top, scale)
        others = ["Decimal(9, 2)", "Decimal(18, 4)", "Decimal(38, 10)", "Decimal(9, 1)", "Float64", "String"]
        yield Kind(f"decimal{digits}", table, expression, (pa.decimal128(digits, scale), value), others, wider)


def texts():
    some = ["", "a", "жук 水 \U0001f600", LONG, "tab\t, quote ' and \\", "\0"]
    some_sql = choice("''", "'a'", "'жук 水 \U0001f600'", f"'{LONG}'", "'tab\\t, quote \\' and \\\\'", "'\\0'")
    others = ["LowCardinality(String)", "FixedString(200)"]
    text = lambda i: some[i % 6] + (str(i) if i % 5 == 0 else "")
    for name, arrow in (("text", pa.string()), ("large_text", pa.large_string()), ("view_text", pa.string_view())):
        expression = f"concat({some_sql}, if(number % 5 = 0, toString(number), ''))" if name == "text" else None
        yield Kind(name, "String", expression, (arrow, text), others, "LowCardinality(String)")
    yield Kind("few", "String", "concat('s', toString(number % 23))", (pa.string(), lambda i: f"s{i % 23}"),
               [*others, "UUID", "FixedString(3)"], "LowCardinality(String)")
    raw = [b"\xff\x00\xfe", b"", b"plain", "жук".encode()[:3], b"\xf4\x8f\xba\x80"]
    raw_sql = choice("unhex('ff00fe')", "''", "'plain'", "unhex('d0b6d1')", "unhex('f48fba80')")
    yield Kind("raw", "String", raw_sql, (pa.binary(), pick(raw)), others)
    yield Kind("bytes", "String", None, (pa.binary(), lambda i: f"plain {i}".encode()), others)
    # These characters carry bytes that are not UTF-8, and may stand in a file all the same.
    yield Kind("carrier", "String", "concat('x\U0010fe80', toString(number % 5))", (pa.string(), lambda i: f"x\U0010fe80{i % 5}"), others)
    yield Kind("fixed", "FixedString(5)", f"toFixedString({choice(repr('ab'), repr(''), repr('abcde'))}, 5)",
               (pa.binary(5), pick([b"ab\0\0\0", b"\0\0\0\0\0", b"abcde", b"\0a\0\0\0"])), ["String", "FixedString(7)"])
    yield Kind("low", "LowCardinality(String)", "concat('low ', toString(number % 7))",
               (pa.dictionary(pa.int32(), pa.string()), lambda i: f"low {i % 7}"), ["String"], "String")
    yield Kind("low_number", "Int64", None, (pa.dictionary(pa.int8(), pa.int64()), lambda i: i % 7), ["Int32"])
    yield Kind("enum", ENUM, choice(repr('new'), repr('old'), repr('жук')),
               (pa.string(), pick(["new", "old", "жук"])), ["String", "LowCardinality(String)", "Int8"])
    yield Kind("uuid", "UUID", "toUUID(concat('61f0c404-5cb3-11e7-907b-a6006ad3d', leftPad(toString(number % 997), 3, '0')))",
               (pa.uuid(), lambda i: uuid.uuid5(uuid.NAMESPACE_DNS, str(i % 997)).bytes), ["String", "FixedString(36)"])


def times():
    yield Kind("day", "Date", "toDate('2020-02-29') + number % 1000", (pa.date32(), lambda i: 18_321 + i % 1000),
               ["Date32", "DateTime('UTC')", "String", "Int32"])
    yield Kind("day_old", "Date32", "toDate32('1960-02-29') + number % 9999", (pa.date32(), lambda i: i % 9999 - 3600), ["Date", "String"])
    yield Kind("day_far", "Date32", None, (pa.date32(), pick(FAR_DAYS)), ["Date", "DateTime64(3, 'UTC')"])
    yield Kind("day64", "Date32", None, (pa.date64(), lambda i: i * 86_400_000), ["Date"])
    yield Kind("at", "DateTime('UTC')", "toDateTime('2021-03-28 01:59:59', 'UTC') + number * 61",
               (pa.timestamp("s"), lambda i: 1_616_896_799 + 61 * i), ["DateTime64(3, 'UTC')", "UInt32", "Date"])
    yield Kind("at0", "DateTime64(0, 'UTC')", "toDateTime64('1969-12-31 23:59:00', 0, 'UTC') + number", None, ["DateTime64(3, 'UTC')"])
    for precision, unit, name in ((3, "ms", "Milli"), (6, "us", "Micro"), (9, "ns", "Nano")):
        second = 10 ** precision
        table = f"DateTime64({precision}, 'UTC')"
        expression = f"fromUnixTimestamp64{name}(toInt64(number) * {second + 1} - {second * 300}, 'UTC')"
        others = [f"DateTime64({precision})", f"DateTime64({precision}, 'Europe/Berlin')", f"DateTime64({precision - 1}, 'UTC')",
                  "DateTime64(3, 'UTC')", "DateTime64(6, 'UTC')", "DateTime64(9, 'UTC')", "DateTime('UTC')", "Date", "Int64", "String"]
        ticks = (lambda second: lambda i: i * (second + 1) - second * 300)(second)
        far = [days * 86_400 * second for days in FAR_DAYS if abs(days) < 106_000 or precision < 9]
        wider = {3: "DateTime64(6, 'UTC')", 6: "DateTime64(9, 'UTC')"}.get(precision)
        yield Kind(f"at{precision}", table, expression, (pa.timestamp(unit), ticks), others, wider)
        yield Kind(f"at{precision}_zone", table, None, (pa.timestamp(unit, "Europe/Berlin"), ticks), others, wider)
        yield Kind(f"at{precision}_far", table, None, (pa.timestamp(unit, "UTC"), pick(far)), others)
    yield Kind("clock", "DateTime64(6, 'UTC')", None, (pa.time64("us"), lambda i: i * 1_000_001 % (24 * HOUR)), ["Int64"])
    yield Kind("span", "Int64", None, (pa.duration("us"), lambda i: i * 77), ["Int32"])


def lies():
    """Values that a column of such a type cannot have."""
    yield Kind("decimal_lies", "Decimal(9, 1)", None,
               (pa.decimal128(4, 1), pick([decimal.Decimal(n).scaleb(-1) for n in (123_456_789, 15, -987_654_321)]), pa.decimal128(9, 1)),
               ["Decimal(4, 1)", "Decimal(18, 1)", "String"])
    yield Kind("text_lies", "String", None, (pa.string(), pick([b"plain", b"\xff\xfe"]), pa.binary()), ["LowCardinality(String)"])


def nested():
    yield Kind("list", "Array(Int32)", "arrayMap(x -> toInt32(x * number), range(number % 4))",
               (pa.list_(pa.int32()), lambda i: [x * i for x in range(i % 4)]), ["Array(Nullable(Int64))"], nests=True)
    yield Kind("map", "Map(String, UInt32)", "map('k', toUInt32(number), concat('m', toString(number)), 7)",
               (pa.map_(pa.string(), pa.uint32()), lambda i: [("k", i), (f"m{i}", 7)]), nests=True)
    yield Kind("pair", "Tuple(a UInt8, b String)", "CAST((number % 200, toString(number)) AS Tuple(a UInt8, b String))",
               (pa.struct([pa.field("a", pa.uint8()), pa.field("b", pa.string())]), lambda i: {"a": i % 200, "b": str(i)}), nests=True)


# DuckDB does not take Arrow's numbers of 16 bits, and believes no lies.
NOT_WRITTEN = {("duckdb", "float16"), ("duckdb", "text_lies"), ("duckdb", "decimal_lies")}
KINDS = [*integers(), *numbers(), *texts(), *times(), *lies(), *nested()]
BY_NAME = {kind.name: kind for kind in KINDS}
# Of a column in a footer: the fields `converted_type` and `logicalType` of an integer of 16 or 32 bits, and whether it has a sign.
WIDTHS = re.compile(rb"\x25[\x18\x1a\x20]\x4c\xac\x13[\x10\x20]([\x11\x12])")
# What each becomes: UINT_8 and INT_8.
NARROW = {b"\x12": b"\x25\x16\x4c\xac\x13\x08\x12", b"\x11": b"\x25\x1e\x4c\xac\x13\x08\x11"}
FITTING = ["none", "snappy", "lz4", "zstd"]


class Deck:
    """Draws all of its cards, in an order of its own, before one comes again."""

    def __init__(self, cards, dice):
        self.cards, self.dice, self.left = list(cards), dice, []

    def draw(self):
        if not self.left:
            self.left = self.dice.sample(self.cards, len(self.cards))
        return self.left.pop()


def key_of(order, rows, group_rows):
    """The key of a row as SQL and as a function; `shuffled` is a permutation, since its prime is more than there are rows."""
    return {
        "sorted": ("number", lambda i: i),
        "shuffled": (f"(number * {PRIME} % {rows})", lambda i: i * PRIME % rows),
        "reversed": (f"({rows} - number)", lambda i: rows - i),
        "pieces": (f"(number % {group_rows} * 10 + intDiv(number, {group_rows}))", lambda i: i % group_rows * 10 + i // group_rows),
        "twins": ("intDiv(number, 3)", lambda i: i // 3),
        "equal": ("7", lambda i: 7),
    }[order]


class Maker:
    """Makes the files of one folder; `ask` runs a statement of Gristmill."""

    def __init__(self, folder, ask, seed, rows_max):
        self.folder, self.ask, self.dice, self.rows_max = folder, ask, random.Random(seed), rows_max
        self.made, self.duck = 0, duckdb.connect()
        self.writers = {"pyarrow": self.pyarrow, "duckdb": self.duckdb, "clickhouse": self.clickhouse, "gristmill": self.gristmill}
        self.decks = {}

    def deck(self, writer, name, cards):
        key = (writer, name)
        if key not in self.decks:
            self.decks[key] = Deck(cards, self.dice)
        return self.decks[key].draw()

    def cards(self, writer):
        """Kinds that the writer has, each with every presence of NULLs."""
        for kind in KINDS:
            if (kind.arrow if writer in ("pyarrow", "duckdb") else kind.sql) and (writer, kind.name) not in NOT_WRITTEN:
                for nulls in NULLS:
                    if not kind.nests or nulls == "required" or writer in ("pyarrow", "duckdb"):
                        yield kind, nulls

    def make(self, writer, columns=5):
        self.made += 1
        path = self.folder / f"{writer}-{self.made}.parquet"
        drawn = [self.deck(writer, "columns", self.cards(writer)) for _ in range(columns)]
        drawn = [Column(f"c{at}", kind, nulls) for at, (kind, nulls) in enumerate(drawn)]
        is_large = self.deck(writer, "large", [True] + [False] * 5)
        rows = self.dice.randrange(LOAD_ROWS_MIN, self.rows_max) if is_large else self.dice.randrange(300, 1500)
        group_rows = {"one": rows, "several": rows // 4 + 1, "ragged": rows - 3}[self.deck(writer, "groups", ["one", "several", "ragged"])]
        if writer == "duckdb" and group_rows < rows:
            # Its row groups are of whole vectors.
            group_rows = (group_rows + 2047) // 2048 * 2048
        order, key_type = self.deck(writer, "order", ORDERS), self.deck(writer, "key", KEYS)
        made = File(path, writer, drawn, key_type, order, rows, group_rows, "")
        self.writers[writer](made)
        return made

    def plain(self, kind, nulls):
        """A file of one column beside the keys, which is as parts like it."""
        self.made += 1
        path = self.folder / f"pyarrow-{self.made}.parquet"
        made = File(path, "pyarrow", [Column("c0", kind, nulls)], "Int64", "sorted", LOAD_ROWS_MIN, LOAD_ROWS_MIN, "plain")
        pq.write_table(self.arrow_table(made, False), path, compression="none", use_dictionary=False, store_decimal_as_integer=True)
        return made

    def arrow_table(self, made, key_is_optional):
        """All columns; those without NULLs are REQUIRED where the field says so."""
        key = key_of(made.order, made.rows, made.group_rows)[1]
        keys = [key(i) for i in range(made.rows)]
        _, key_type, of_key = KEYS[made.key_type]
        fields = [pa.field("k", pa.uint32(), key_is_optional), pa.field("key2", key_type, key_is_optional)]
        arrays = [pa.array(keys, pa.uint32()), pa.array([of_key(k) for k in keys], key_type)]
        for column in made.columns:
            kind, value, *written_as = column.kind.arrow
            missing = {"some": lambda i: i % 5 == 2, "all": lambda i: True}.get(column.nulls, lambda i: False)
            values = [None if missing(i) else value(i) for i in range(made.rows)]
            fields.append(pa.field(column.name, kind, column.nulls != "required"))
            if pa.types.is_dictionary(kind):
                arrays.append(pa.array(values, kind.value_type).dictionary_encode().cast(kind))
            elif written_as:
                arrays.append(pa.array(values, written_as[0]).view(kind))
            else:
                arrays.append(pa.array(values, kind))
        return pa.table(arrays, schema=pa.schema(fields))

    def pyarrow(self, made):
        draw = lambda name, cards: self.deck("pyarrow", name, cards)
        # Pages of version 2 and two of the codecs are never adopted.
        kinds = [(c, "1.0") for c in FITTING * 3] + [(c, v) for c in CODECS for v in ("1.0", "2.0")]
        codec, pages, dictionary = draw("codec", [(*kind, d) for kind in kinds for d in ("on", "off", "short", "encodings")])
        options = {
            "row_group_size": made.group_rows, "compression": codec, "data_page_version": pages, "use_dictionary": dictionary in ("on", "short"),
            "write_page_index": draw("index", [True, False]), "write_page_checksum": draw("sums", [True, False, False]),
            "data_page_size": draw("page bytes", [None, 200, 4000]), "version": draw("version", ["2.6", "2.6", "2.4", "1.0"]),
            "write_statistics": draw("statistics", [True, True, False]), "store_schema": draw("schema", [True, False]),
            "store_decimal_as_integer": draw("decimals", [True, True, False]),
            "use_deprecated_int96_timestamps": draw("int96", [True, False, False, False, False]),
        }
        lies = draw("lies", [True] + [False] * 9)
        if lies:
            made.columns[0].kind, made.columns[1].kind, options["version"] = BY_NAME["uint32"], BY_NAME["int16"], "2.6"
        table = self.arrow_table(made, draw("key", [True, False]))
        if options["use_deprecated_int96_timestamps"]:
            dictionary = "off" if dictionary == "encodings" else dictionary
        elif options["version"] != "2.6" and any(str(one.type).startswith("timestamp[ns") for one in table.schema):
            options.update(coerce_timestamps="us", allow_truncated_timestamps=True)
        if dictionary == "short":
            # It does not last: the first pages point into the dictionary, the others have values.
            options["dictionary_pagesize_limit"] = 64
        if options["data_page_size"]:
            options["write_batch_size"] = 50
        if dictionary == "encodings":
            options["column_encoding"] = self.encodings(table.schema)
        if draw("claims", [False, False, True]):
            # What a file says of its order need not be so.
            options["sorting_columns"] = [pq.SortingColumn(0)]
        made.how = ", ".join(f"{name}={value}" for name, value in options.items())
        pq.write_table(table, made.path, **options)
        if lies:
            self.narrow(made)

    def narrow(self, made):
        """Makes the footer say of integers of 16 and 32 bits that they are of 8, which their values are not."""
        written = made.path.read_bytes()
        begin = len(written) - 8 - int.from_bytes(written[-8:-4], "little")
        made.path.write_bytes(written[:begin] + WIDTHS.sub(lambda found: NARROW[found[1]], written[begin:]))
        made.how += ", said to be of 8 bits"
        for column in made.columns:
            column.kind = BY_NAME[{"uint16": "uint8", "uint32": "uint8", "int16": "int8"}.get(column.kind.name, column.kind.name)]

    def encodings(self, schema):
        """Encodings other than those of dictionaries, for columns that can have them."""
        found, of_numbers = {}, ["DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT", "PLAIN"]
        for one in schema:
            cards = None
            if pa.types.is_string(one.type) or pa.types.is_large_string(one.type) or one.type == pa.binary():
                cards = ["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "PLAIN"]
            elif pa.types.is_integer(one.type) or pa.types.is_date32(one.type) or str(one.type) == "timestamp[ms]":
                cards = of_numbers
            elif pa.types.is_float32(one.type) or pa.types.is_float64(one.type):
                cards = ["BYTE_STREAM_SPLIT"]
            elif pa.types.is_boolean(one.type):
                cards = ["RLE", "PLAIN"]
            if cards:
                found[one.name] = self.deck("pyarrow", str(cards), cards)
        return found

    def duckdb(self, made):
        draw = lambda name, cards: self.deck("duckdb", name, cards)
        codec, version = draw("codec", [(c, v) for c in ["uncompressed", "snappy", "lz4_raw", "zstd", "gzip", "brotli"] for v in ("V1", "V1", "V2")])
        limit = draw("dictionary", ["", "", ", DICTIONARY_SIZE_LIMIT 1", ", DICTIONARY_SIZE_LIMIT 100"])
        made.how = f"CODEC {codec}, PARQUET_VERSION {version}, ROW_GROUP_SIZE {made.group_rows}{limit}"
        self.duck.register("rows", self.arrow_table(made, True))
        source = "rows"
        if draw("required", [True, False]):
            # Columns of a table without NULLs become REQUIRED.
            self.duck.execute("CREATE OR REPLACE TEMP TABLE stored AS FROM rows")
            source = "stored"
        self.duck.execute(f"COPY (FROM {source}) TO '{made.path}' (FORMAT parquet, {made.how})")
        self.duck.unregister("rows")

    def select(self, made, key_is_optional):
        key = key_of(made.order, made.rows, made.group_rows)[0]
        keys = [f"toUInt32({key})", KEYS[made.key_type][0].format(k=key)]
        columns = [f"{f'toNullable({one})' if key_is_optional else one} AS {name}" for one, name in zip(keys, ["k", "key2"])]
        for column in made.columns:
            kind, table = column.kind, column.kind.table
            value = {"some": f"if(number % 5 = 2, NULL, {kind.sql})", "all": "NULL"}.get(column.nulls, kind.sql)
            columns.append(f"CAST({value} AS {table if column.nulls == 'required' else nullable(table)}) AS {column.name}")
        return f"SELECT {', '.join(columns)} FROM numbers({made.rows})"

    def sql_options(self, made, draw):
        """What both obey."""
        codec, page_bytes = draw("codec", [(c, b) for c in FITTING + CODECS for b in (1 << 20, 500, 5000)])
        return {
            "compression_method": f"'{codec}'", "data_page_size": page_bytes, "row_group_size": made.group_rows,
            "write_page_index": draw("index", [1, 0]), "string_as_string": draw("strings", [1, 1, 0]), "write_bloom_filter": draw("bloom", [1, 0]),
        }

    def clickhouse(self, made):
        draw = lambda name, cards: self.deck("clickhouse", name, cards)
        options = self.sql_options(made, draw)
        options["use_custom_encoder"], options["version"] = draw("encoder", [(1, "'2.latest'"), (1, "'2.latest'"), (0, "'1.0'"), (0, "'2.6'")])
        options.update({
            "max_dictionary_size": draw("dictionary", [1 << 20, 0, 200]), "write_checksums": draw("sums", [1, 0]),
            "batch_size": draw("batch", [1024, 50]), "date_as_uint16": draw("dates", [0, 0, 1]), "datetime_as_uint32": draw("times", [0, 0, 1]),
            "enum_as_byte_array": draw("enums", [1, 1, 0]), "fixed_string_as_fixed_byte_array": draw("fixed", [1, 1, 0]),
        })
        self.insert_into(made, options, lambda sql: chdb.query(sql), draw("key", [True, False]), f", max_block_size = {made.group_rows}")

    def gristmill(self, made):
        draw = lambda name, cards: self.deck("gristmill", name, cards)
        self.insert_into(made, self.sql_options(made, draw), self.ask, draw("key", [True, False]))

    def insert_into(self, made, options, ask, key_is_optional, more=""):
        settings = ", ".join(f"output_format_parquet_{name} = {value}" for name, value in options.items())
        made.how = f"{settings}, optional key: {key_is_optional}"
        ask(f"INSERT INTO FUNCTION file('{made.path}', 'Parquet') {self.select(made, key_is_optional)} "
            f"SETTINGS max_threads = 1, {settings}{more}")
