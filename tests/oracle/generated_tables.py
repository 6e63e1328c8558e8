"""The tables that generated statements ask: edge values of every type, keys to be joined, and sorted parts to be pruned."""
import re

ZONES = ["'UTC'", "'Europe/Berlin'", "'America/New_York'", "'Asia/Kathmandu'"]
DAYS = ["1970-01-01", "1970-01-02", "2024-02-29", "2024-12-31", "2023-01-01", "2106-02-07", "2149-06-06", "2000-01-01", "2038-01-19"]
TIMES = ["1970-01-01 00:00:00", "1970-01-01 12:00:01", "2024-02-29 23:59:59", "2024-03-31 01:30:00", "2024-10-27 00:30:00", "2106-02-07 06:28:15",
         "2000-01-01 00:00:00", "2038-01-19 03:14:08", "2023-12-31 12:34:56"]
MOMENTS = ["1970-01-01 00:00:00", "1969-12-31 23:59:59.999999999", "2024-02-29 12:34:56.123456789", "1925-07-01 10:20:30.5", "2024-10-27 00:30:00.000000001",
           "2200-01-01 00:00:00", "2000-01-01 00:00:00.1", "1900-01-01 00:00:00"]
TEXTS = ["", "a", "Hello, World", "ÄÖ ß мир", "日本 😀", "0", "-12.5", "2024-02-29 12:34:56", "a,b,,c", '{"a":1,"b":[1,2,{"c":null}],"d":"x"}',
         "http://www.example.com:80/a/b?x=1&y=2#f", "  Tab\\tand\\\\ ", "127.0.0.1", "true", "%a_b%", "61f0c404-5cb3-11e7-907b-a6006ad3dba0", "nan", "AaBb"]
COLUMNS = {  # name: (type, values as text)
    "i8": ("Int8", ["0", "1", "-1", "127", "-128", "7", "100"]),
    "i16": ("Int16", ["0", "-1", "1", "32767", "-32768", "300"]),
    "i32": ("Int32", ["0", "1", "-1", "2147483647", "-2147483648", "65536", "17"]),
    "i64": ("Int64", ["0", "-1", "9223372036854775807", "-9223372036854775808", "9007199254740993", "42", "3"]),
    "i128": ("Int128", ["0", "-1", "170141183460469231731687303715884105727", "-170141183460469231731687303715884105728", "18446744073709551616", "5"]),
    "i256": ("Int256", ["0", "-7", "57896044618658097711785492504343953926634992332820282019728792003956564819967", "3",
                        "-57896044618658097711785492504343953926634992332820282019728792003956564819968", "340282366920938463463374607431768211456"]),
    "u8": ("UInt8", ["0", "1", "255", "128", "3", "64"]),
    "u16": ("UInt16", ["0", "65535", "32768", "1", "12"]),
    "u32": ("UInt32", ["0", "4294967295", "2147483648", "1", "86400"]),
    "u64": ("UInt64", ["0", "18446744073709551615", "9223372036854775808", "1", "9007199254740993", "10"]),
    "u128": ("UInt128", ["0", "340282366920938463463374607431768211455", "18446744073709551616", "9"]),
    "u256": ("UInt256", ["0", "115792089237316195423570985008687907853269984665640564039457584007913129639935", "2", "18446744073709551616"]),
    "f32": ("Float32", ["0", "-0.0", "1.5", "nan", "inf", "-inf", "3.4e38", "16777217", "-2.5"]),
    "f64": ("Float64", ["0", "-0.0", "2.5", "nan", "inf", "-inf", "1e300", "9007199254740993", "-0.1", "1e-300"]),
    "d9": ("Decimal(9, 2)", ["0", "1.25", "-1.25", "9999999.99", "-9999999.99", "0.01", "100"]),
    "d18": ("Decimal(18, 4)", ["0", "-0.5", "99999999999999.9999", "12.3456", "-7", "2.5"]),
    "d38": ("Decimal(38, 10)", ["0", "1", "-1.0000000001", "9999999999999999999999999999.9999999999", "3.14", "1234567890123456789.5"]),
    "d76": ("Decimal(76, 20)", ["0", "-2.5", "99999999999999999999999999999999999999999999999999999999.99999999999999999999", "7"]),
    "s": ("String", TEXTS[:12]), "s2": ("String", TEXTS[6:] + ["b"]),
    "sb": ("String", ["\\xff", "a\\0b", "\\xc3", "", "\\xf0\\x9f\\x98", "ok", "\\xed\\xa0\\x80"]),
    "fs": ("FixedString(4)", ["", "a", "abcd", "Ä", "1234", "ab", " x "]),
    "da": ("Date", DAYS), "d32": ("Date32", DAYS + ["1900-01-01", "1925-07-01", "2299-12-31", "1969-12-31"]),
    "dt": ("DateTime('UTC')", TIMES), "dz": ("DateTime('Europe/Berlin')", TIMES[1:]),
    "t0": ("DateTime64(0, 'UTC')", MOMENTS), "t3": ("DateTime64(3, 'UTC')", MOMENTS[2:] + MOMENTS[:2]),
    "t6z": ("DateTime64(6, 'America/New_York')", MOMENTS[1:]), "t9": ("DateTime64(9, 'UTC')", MOMENTS[:4] + MOMENTS[6:]),
    "uu": ("UUID", ["00000000-0000-0000-0000-000000000000", "61f0c404-5cb3-11e7-907b-a6006ad3dba0", "ffffffff-ffff-ffff-ffff-ffffffffffff"]),
    "ip4": ("IPv4", ["0.0.0.0", "127.0.0.1", "255.255.255.255", "192.168.1.20"]),
    "ip6": ("IPv6", ["::", "::1", "::ffff:192.168.1.20", "2001:db8::8a2e:370:7334", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"]),
    "e8": ("Enum8('zero' = 0, 'a' = 1, 'b' = -5, 'c' = 127)", ["zero", "a", "b", "c"]),
    "e16": ("Enum16('x' = -300, 'y' = 1, '1' = 2)", ["x", "y", "1"]),
    "b": ("Bool", ["false", "true", "true"]),
    "ai": ("Array(Int32)", ["[]", "[0]", "[1,2,3]", "[3,-1,2147483647,3]", "[5,5]"]),
    "au": ("Array(UInt8)", ["[1,2]", "[]", "[255,0,7]", "[0]"]),
    "ar": ("Array(String)", ["[]", "['']", "['a','b','a']", "['мир','b','1']"]),
    "an": ("Array(Nullable(Int64))", ["[]", "[NULL]", "[1,NULL,-1]", "[2,2,NULL,NULL]", "[7]"]),
    "af": ("Array(Float64)", ["[]", "[nan,1]", "[0,-0.0,inf]", "[1.5,2.5,-1]", "[0.1]"]),
    "aa": ("Array(Array(UInt8))", ["[]", "[[]]", "[[1,2],[3]]", "[[0],[],[0]]"]),
    "ad": ("Array(Date)", ["[]", "['2024-02-29','1970-01-01']", "['2149-06-06']"]),
    "m": ("Map(String, Int32)", ["map()", "map('a', 1)", "map('a', 1, 'b', -2, '', 3)", "map('b', 5)"]),
    "mi": ("Map(UInt8, Nullable(String))", ["map()", "map(1, NULL)", "map(1, 'a', 2, 'b')"]),
    "tu": ("Tuple(Int32, String)", ["(0,'')", "(1,'a')", "(-1,'b')", "(1,'b')"]),
    "tn": ("Tuple(Nullable(Int32), Nullable(String))", ["(NULL,NULL)", "(1,NULL)", "(1,'a')", "(NULL,'b')"]),
    "tf": ("Tuple(Float64, UInt8)", ["(nan,1)", "(-0.0,2)", "(1.5,2)", "(0,2)"]),
    "tx": ("Tuple(a UInt8, b Array(Int16))", ["(0,[])", "(1,[1,-1])", "(255,[3])"]),
    "ls": ("LowCardinality(String)", ["", "a", "b", "мир", "Hello"]),
    "ln": ("LowCardinality(Nullable(String))", ["a", None, "", "b", "10"]),
    "lf": ("LowCardinality(FixedString(3))", ["abc", "", "a"]),
}
NULLABLE = ["i8", "i32", "u64", "i256", "f64", "d9", "d38", "s", "fs", "da", "d32", "dt", "t3", "uu", "ip4", "ip6", "e8", "b"]
for _name in NULLABLE:
    _type, _values = COLUMNS[_name]
    COLUMNS["n" + _name] = (f"Nullable({_type})", [_values[1], None] + _values[2:] + [None, _values[0]])
ROWS = 12
# Tables whose parts are sorted by the column `k`: what is pruned must be what does not match.
SORTED = ["i64", "u64", "f64", "d18", "s", "fs", "da", "d32", "dt", "dz", "t3", "t9", "e8", "uu", "ip6", "ni32", "ns", "nf64", "ls", "tu", "ai", "i128"]
KEYS = {  # of the two tables that are joined
    "k8": ("UInt8", ["1", "2", "2", "0", "255"], ["2", "1", "0", "7"]), "k32": ("Int32", ["1", "-1", "2", "0", "2"], ["-1", "2", "0", "3"]),
    "k64": ("UInt64", ["1", "18446744073709551615", "0", "2", "2"], ["2", "0", "18446744073709551615", "1"]),
    "kf": ("Float64", ["1", "nan", "-0.0", "2", "0"], ["0", "nan", "2", "1.5"]), "kd": ("Decimal(9, 2)", ["1", "2.5", "0", "2", "-1"], ["2", "0", "1", "2.5"]),
    "ks": ("String", ["a", "", "b", "1", "a\\0\\0"], ["b", "a", "", "мир"]), "kfs": ("FixedString(3)", ["a", "", "b", "1", "abc"], ["a", "abc", "", "x"]),
    "kls": ("LowCardinality(String)", ["a", "", "b", "b", "c"], ["b", "a", "", "d"]),
    "kln": ("LowCardinality(Nullable(String))", ["a", None, "b", "", "c"], [None, "a", "", "d"]),
    "kn": ("Nullable(Int32)", ["1", None, "2", None, "0"], [None, "2", "0", "1"]), "kns": ("Nullable(String)", ["a", None, "", "b", "b"], [None, "a", "b", ""]),
    "kda": ("Date", ["2024-01-01", "1970-01-01", "2024-01-02", "2149-06-06", "2024-01-01"], ["2024-01-01", "1970-01-01", "2149-06-06", "2024-01-03"]),
    "kdt": ("DateTime('UTC')", ["2024-01-01 00:00:00", "1970-01-01 00:00:00", "2024-01-01 01:00:00", "2024-01-02 00:00:00", "2100-01-01 00:00:00"],
            ["2024-01-01 00:00:00", "1970-01-01 00:00:00", "2024-01-02 00:00:00", "2024-01-01 00:30:00"]),
    "kt": ("DateTime64(3, 'UTC')", ["2024-01-01 00:00:00", "1970-01-01 00:00:00.5", "2024-01-01 01:00:00.001", "1960-01-01 00:00:00", "2024-01-02 00:00:00"],
           ["2024-01-01 00:00:00", "1970-01-01 00:00:00.5", "2024-01-02 00:00:00", "1960-01-01 00:00:00"]),
    "ke": ("Enum8('a' = 1, 'b' = 2)", ["a", "b", "b", "a", "a"], ["b", "a", "a", "b"]), "kt2": ("Tuple(Int32, String)", ["(1,'a')", "(0,'')", "(2,'b')"], ["(2,'b')", "(0,'x')"]),
    "ktn": ("Tuple(Nullable(Int32), String)", ["(1,'a')", "(NULL,'')", "(2,'b')"], ["(2,'b')", "(NULL,'')"]), "ka": ("Array(UInt8)", ["[]", "[1]", "[1,2]"], ["[1,2]", "[]"]),
    "ku": ("UUID", COLUMNS["uu"][1], COLUMNS["uu"][1][::-1]),
}
INTERVALS = ["NANOSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"]


def literal(value, type_name):
    if type_name.startswith("Map"):
        return f"CAST({value} AS {type_name})"
    return f"CAST(NULL AS {type_name})" if value is None else "CAST('" + value.replace("'", "\\'") + f"' AS {type_name})"


def setup():
    """The statements that make the tables, the same on both sides."""
    yield "SET session_timezone = 'UTC'"
    yield "SET allow_suspicious_low_cardinality_types = 1"
    yield f"CREATE TABLE v (id UInt8, {', '.join(f'{name} {kind}' for name, (kind, _) in COLUMNS.items())}) ENGINE = Memory"
    row = lambda number, columns: ", ".join([str(number)] + [literal(values[(number - 1) % len(values)], kind) for kind, values in columns])  # noqa: E731
    for number in range(1, ROWS + 1):
        yield f"INSERT INTO v SELECT {row(number, COLUMNS.values())}"
    yield "CREATE TABLE e AS v"
    for side, rows in ((1, 6), (2, 5)):
        table = " lr"[side]
        yield f"CREATE TABLE {table} (id UInt8, {', '.join(f'{name} {column[0]}' for name, column in KEYS.items())}) ENGINE = MergeTree ORDER BY id"
        for number in range(1, rows + 1):
            yield f"INSERT INTO {table} SELECT {row(number, [(column[0], column[side]) for column in KEYS.values()])}"
    for name in SORTED:
        yield (f"CREATE TABLE p_{name} (id UInt8, k {COLUMNS[name][0]}) ENGINE = MergeTree ORDER BY k "
               "SETTINGS index_granularity = 2, allow_nullable_key = 1")
        for half in ("<= 6", "> 6"):
            yield f"INSERT INTO p_{name} SELECT id, {name} FROM v WHERE id {half}"
        yield f"OPTIMIZE TABLE p_{name} FINAL"


def family(type_name):
    """A word for all types that functions treat alike."""
    type_name = re.sub(r"^(LowCardinality|Nullable)\((.*)\)$", r"\2", type_name)
    type_name = re.sub(r"^(LowCardinality|Nullable)\((.*)\)$", r"\2", type_name)
    for pattern, word in [(r"U?Int(8|16|32|64)$", "int"), (r"U?Int\d+$", "wide"), ("Float", "float"), ("Decimal", "decimal"), ("String", "string"),
                          ("FixedString", "fixed"), ("Date(32)?$", "date"), ("DateTime", "time"), ("Enum", "enum"), ("Array", "array"), ("Map", "map"),
                          ("Tuple", "tuple"), ("Interval", "interval"), ("IPv", "ip"), ("Bool", "bool"), ("UUID", "uuid")]:
        if re.match(pattern, type_name):
            return word
    return "other"
