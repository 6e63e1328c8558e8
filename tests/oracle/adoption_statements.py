"""Statements for adoption_check.py that hand columns of a Parquet file on in special ways, or do more than that, or into special tables."""
import decimal

import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 9000
PLAIN = "(k UInt32, v Int64, s String) ENGINE = MergeTree ORDER BY k"
TWO = "(k UInt32, v Int64, w Int64) ENGINE = MergeTree ORDER BY k"
INTO = "INSERT INTO {t} SELECT"
ADOPT = "SETTINGS adopt = {adopt}"


def insert(select, settings=""):
    return f"{INTO} {select} {ADOPT}{settings}"


def write_files(folder):
    """Names for statements, and the files they stand for; three row groups each."""
    rows = range(ROWS)
    fields = [pa.field("pair", pa.struct([("a", pa.uint8()), ("k", pa.uint32())])), pa.field("list", pa.list_(pa.int64()))]
    fields += [pa.field(name, kind, name == "o") for name, kind in [
        ("k", pa.uint32()), ("v", pa.int64()), ("w", pa.int64()), ("s", pa.string()), ("o", pa.int64()), ("f", pa.float64()),
        ("day", pa.date32()), ("d", pa.decimal128(9, 1)), ("at", pa.timestamp("us")), ("a.b", pa.int64()), ("K", pa.uint32())]]
    columns = [
        [{"a": i % 200, "k": i + 9} for i in rows], [[i] * (i % 3) for i in rows], list(rows), [i * 1_000_003 - 5 for i in rows],
        [-i for i in rows], [f"s{i % 9}" for i in rows], [None if i % 4 == 1 else i * 7 for i in rows],
        [float("nan") if i % 50 == 3 else i / 2 - 9 for i in rows], [i - 100 for i in rows], [decimal.Decimal(i * 11).scaleb(-1) for i in rows], [i * 7_777_777_777 - 10 ** 12 for i in rows],
        [i * 3 for i in rows], [ROWS - i for i in rows]]
    table = pa.table([pa.array(values, one.type) for values, one in zip(columns, fields)], schema=pa.schema(fields))
    paths = {name: folder / f"statement-{name}.parquet" for name in ["plain", "empty", "large", "twice", "rough", "steps", "one", "two", "three"]}
    paths["glob"] = folder / "statement-{one,two,three}.parquet"
    few = table.select(["k", "v", "s"])
    pq.write_table(table, paths["plain"], row_group_size=ROWS // 3, store_decimal_as_integer=True)
    pq.write_table(few.slice(0, 0), paths["empty"])
    # One page of more than 8 MiB.
    large = pa.table([pa.array([1, 2], pa.uint32()), pa.array([1, 2]), pa.array(["x" * (9 << 20), "y"])], schema=pa.schema(
        [pa.field("k", pa.uint32(), False), pa.field("v", pa.int64(), False), pa.field("s", pa.string(), False)]))
    pq.write_table(large, paths["large"], use_dictionary=False)
    pq.write_table(pa.table([few["k"], few["v"], few["v"]], names=["k", "v", "v"]), paths["twice"])
    with pq.ParquetWriter(paths["rough"], few.schema) as writer:
        for begin, rows_of_group in ((0, 100), (100, 0), (100, 1), (101, ROWS - 101)):
            writer.write_table(few.slice(begin, rows_of_group))
    # Steps of one width that go over the end of 32 bits, of which a decoder may be asked to skip some.
    steps = pa.table([few["k"], pa.array([(i * 1_234_567_891 + (1 << 31)) % (1 << 32) - (1 << 31) for i in rows], pa.int32())], schema=pa.schema(
        [pa.field("k", pa.uint32(), False), pa.field("v", pa.int32(), False)]))
    pq.write_table(steps, paths["steps"], use_dictionary=False, column_encoding={"k": "PLAIN", "v": "DELTA_BINARY_PACKED"}, data_page_size=4000)
    # Files of one load: other types, another order, a column less.
    pq.write_table(few, paths["one"])
    pq.write_table(pa.table({"s": few["s"], "v": few["v"].cast(pa.int64()), "k": few["k"]}), paths["two"], compression="gzip")
    pq.write_table(few.select(["k", "v"]), paths["three"], data_page_version="2.0")
    return paths


# Title, the table, statements. They run twice, and the rows are compared after each time.
STATEMENTS = [
    ("as they are", PLAIN, insert("k, v, s FROM file('{plain}')")),
    ("two change places", TWO, insert("k, w, v FROM file('{plain}')")),
    ("under each other's names", TWO, insert("k, v AS w, w AS v FROM file('{plain}')")),
    ("listed in another order", TWO, "INSERT INTO {t} (w, k, v) SELECT v, k, w FROM file('{plain}') " + ADOPT),
    ("one twice", TWO, insert("k, v, v FROM file('{plain}')")),
    ("the same name with other letters", TWO, insert("K, v, w FROM file('{plain}')")),
    ("all of one file", PLAIN, insert("* FROM file('{one}')")),
    ("all but some", TWO, insert("* EXCEPT (pair, list, s, o, f, day, d, at, `a.b`, K) FROM file('{plain}')")),
    ("replaced", PLAIN, insert("* REPLACE (v + 1 AS v) FROM file('{one}')")),
    ("an element of a tuple", TWO, insert("pair.k, v, pair.a FROM file('{plain}')")),
    ("a name with a dot", TWO, insert("k, `a.b`, v FROM file('{plain}')")),
    ("behind an alias", TWO, insert("x.k, x.v, x.w FROM file('{plain}') AS x")),
    ("filter of a key", PLAIN, insert("k, v, s FROM file('{plain}') WHERE k < 8500")),
    ("filter of a value", PLAIN, insert("k, v, s FROM file('{plain}') WHERE v % 2 = 0")),
    ("filter that is always true", PLAIN, insert("k, v, s FROM file('{plain}') WHERE 1")),
    ("filter that is never true", PLAIN, insert("k, v, s FROM file('{plain}') WHERE 0")),
    ("filter around", PLAIN, insert("k, v, s FROM (SELECT k, v, s FROM file('{plain}')) WHERE k % 3 = 0")),
    ("limit", PLAIN, insert("k, v, s FROM file('{plain}') ORDER BY k LIMIT 17 OFFSET 3")),
    ("limit of each", PLAIN, insert("k, v, s FROM file('{plain}') ORDER BY k LIMIT 2 BY s")),
    ("limit alone", PLAIN, insert("count(), 1, 'x' FROM (SELECT k FROM file('{plain}') LIMIT 17)")),
    ("order", PLAIN, insert("k, v, s FROM file('{plain}') ORDER BY v DESC")),
    ("distinct", PLAIN, insert("DISTINCT k, v, s FROM file('{plain}')")),
    ("groups", PLAIN, insert("max(k), sum(v), s FROM file('{plain}') GROUP BY s")),
    ("window", PLAIN, insert("k, row_number() OVER (ORDER BY k), s FROM file('{plain}')")),
    ("array join", PLAIN, insert("k, v, s FROM file('{plain}') ARRAY JOIN list")),
    ("join", TWO, insert("a.k, a.v, b.w FROM file('{plain}') AS a JOIN file('{plain}') AS b ON a.k = b.k")),
    ("union", PLAIN, insert("k, v, s FROM file('{one}') UNION ALL SELECT k, v, s FROM file('{two}')")),
    ("several files", PLAIN, insert("k, v, s FROM file('{glob}')")),
    ("WITH", PLAIN, insert("k, v, s FROM (WITH x AS (SELECT * FROM file('{plain}')) SELECT k, v, s FROM x)")),
    ("view", PLAIN, insert("* FROM view(SELECT k, v, s FROM file('{plain}'))")),
    ("computed", TWO, insert("k, v + 0, -w FROM file('{plain}')")),
    ("cast to the same", TWO, insert("k, CAST(v AS Int64), toInt64(w) FROM file('{plain}')")),
    ("cast to less", TWO, insert("k, CAST(v AS UInt8), toInt8(w) FROM file('{plain}')")),
    ("cast of all", PLAIN, insert("CAST(k AS UInt32), CAST(v AS Int64), CAST(s AS String) FROM file('{plain}')")),
    ("literal", PLAIN, insert("k, 5, s FROM file('{plain}')")),
    ("its file and row", PLAIN, insert("k, _row_number, _file FROM file('{plain}')")),
    ("structure with narrower types", PLAIN, insert("k, v, s FROM file('{plain}', 'Parquet', 'k UInt8, v UInt8, s String')")),
    ("structure with wider types", PLAIN, insert("k, v, s FROM file('{plain}', 'Parquet', 'k UInt64, v Float64, s LowCardinality(String)')")),
    ("structure with other texts", PLAIN, insert("k, v, s FROM file('{plain}', 'Parquet', 'k UInt32, v Int64, s FixedString(1)')")),
    ("structure with an enum", PLAIN, insert("k, v, s FROM file('{plain}', 'Parquet', 'k UInt32, v Int64, s Enum8(''s1'' = 1, ''s2'' = 2)')")),
    ("structure with a column more", PLAIN, insert("k, v, s FROM file('{plain}', 'Parquet', 'k UInt32, v Int64, s String, x UInt8')")),
    ("structure with a column that is missing", PLAIN, insert("k, x, s FROM file('{plain}', 'Parquet', 'k UInt32, x Int64, s String')")),
    ("structure in other letters", PLAIN, insert("k, V, S FROM file('{one}', 'Parquet', 'k UInt32, V Int64, S String')",
                                                 ", input_format_parquet_case_insensitive_column_matching = 1")),
    ("structure with fewer digits", "(k UInt32, d Decimal(9, 1)) ENGINE = MergeTree ORDER BY k",
     insert("k, d FROM file('{plain}', 'Parquet', 'k UInt32, d Decimal(4, 1)')")),
    ("structure with days before the first", "(k UInt32, day Date32) ENGINE = MergeTree ORDER BY k",
     insert("k, day FROM file('{plain}', 'Parquet', 'k UInt32, day Date')")),
    ("structure with days for times", "(k UInt32, at DateTime64(6, 'UTC')) ENGINE = MergeTree ORDER BY k",
     insert("k, at FROM file('{plain}', 'Parquet', 'k UInt32, at Date')")),
    ("structure with coarser times", "(k UInt32, at DateTime64(6, 'UTC')) ENGINE = MergeTree ORDER BY k",
     insert("k, at FROM file('{plain}', 'Parquet', 'k UInt32, at DateTime64(3)')")),
    ("times of another zone", "(k UInt32, at DateTime64(6, 'Europe/Berlin')) ENGINE = MergeTree ORDER BY at",
     insert("k, at FROM file('{plain}')", ", session_timezone = 'America/New_York'")),
    ("defaults", "(k UInt32, v Int64 DEFAULT k * 2, m UInt64 MATERIALIZED v + 1, l UInt64 ALIAS v + 2, s String DEFAULT 'x') "
                 "ENGINE = MergeTree ORDER BY (v, k)", "INSERT INTO {t} (k, s) SELECT k, s FROM file('{plain}') " + ADOPT, "SELECT k, v, m, l, s FROM {t}"),
    ("NULL becomes a default", "(k UInt32, o Int64 DEFAULT 77, e Int64 DEFAULT k) ENGINE = MergeTree ORDER BY k",
     insert("k, o, o FROM file('{plain}')"), "SELECT o, count() FROM {t} GROUP BY o"),
    ("NULL does not become a default", "(k UInt32, o Int64 DEFAULT 77) ENGINE = MergeTree ORDER BY k",
     insert("k, o FROM file('{plain}')", ", insert_null_as_default = 0, input_format_null_as_default = 0")),
    ("a constraint that holds", "(k UInt32, v Int64, CONSTRAINT c CHECK v > -100) ENGINE = MergeTree ORDER BY k", insert("k, v FROM file('{plain}')")),
    ("a constraint that does not hold", "(k UInt32, v Int64, CONSTRAINT c CHECK v > 100) ENGINE = MergeTree ORDER BY k",
     insert("k, v FROM file('{plain}')"), "SELECT count() FROM {t}"),
    ("rows that came already", PLAIN + " SETTINGS non_replicated_deduplication_window = 100", insert("k, v, s FROM file('{plain}')"),
     "SELECT count() FROM {t}"),
    ("rows that came without adoption", PLAIN + " SETTINGS non_replicated_deduplication_window = 100",
     "INSERT INTO {t} SELECT k, v, s FROM file('{plain}') SETTINGS adopt = 0", insert("k, v, s FROM file('{plain}')"), "SELECT count() FROM {t}"),
    ("a token that came already", PLAIN, insert("k, v, s FROM file('{plain}')", ", insert_deduplication_token = 'x'"), "SELECT count() FROM {t}"),
    ("a label that came already", PLAIN, insert("k, v, s FROM file('{plain}')", ", insert_label = '{t}'"), "SELECT count() FROM {t}"),
    ("sorted by a value", "(k UInt32, v Int64, s String) ENGINE = MergeTree PARTITION BY s ORDER BY (v, s)", insert("k, v, s FROM file('{plain}')")),
    ("sorted by NaN", "(k UInt32, f Float64) ENGINE = MergeTree ORDER BY (f, k)", insert("k, f FROM file('{plain}')"),
     "SELECT count() FROM {t} WHERE f > 10", "SELECT count() FROM {t} WHERE f != f", "SELECT min(f), max(f), countIf(isNaN(f)) FROM {t}"),
    ("sorted by NULL", "(k UInt32, o Nullable(Int64)) ENGINE = MergeTree ORDER BY (o, k)", insert("k, o FROM file('{plain}')"),
     "SELECT count() FROM {t} WHERE o > 100", "SELECT count() FROM {t} WHERE o IS NULL"),
    ("sorted backwards", "(k UInt32, v Int64) ENGINE = MergeTree ORDER BY -k", insert("k, v FROM file('{plain}')"), "SELECT sum(v) FROM {t} WHERE k > 8000"),
    ("partitions of each row group", "(k UInt32, v Int64) ENGINE = MergeTree PARTITION BY intDiv(k, 3000) ORDER BY k",
     insert("k, v FROM file('{plain}')"), "SELECT partition, sum(rows) FROM system.parts WHERE table = '{t}' AND active GROUP BY partition"),
    ("merges are stopped", PLAIN, "SYSTEM STOP MERGES {t}", insert("K, v, s FROM file('{plain}')"), "SYSTEM START MERGES {t}"),
    ("columns that came and went", PLAIN, "ALTER TABLE {t} DROP COLUMN IF EXISTS v", "ALTER TABLE {t} ADD COLUMN IF NOT EXISTS v String AFTER k",
     "INSERT INTO {t} (k, v, s) SELECT k, s, v FROM file('{plain}') " + ADOPT, "SELECT k, v, s FROM {t}"),
    ("codecs of columns", "(k UInt32 CODEC(ZSTD(3)), v Int64 CODEC(Delta, LZ4), s String) ENGINE = MergeTree ORDER BY k", insert("k, v, s FROM file('{plain}')")),
    ("small blocks, one thread", PLAIN, insert("k, v, s FROM file('{plain}')", ", max_threads = 1, min_insert_block_size_rows = 10")),
    ("many threads", PLAIN, insert("k, v, s FROM file('{plain}')", ", max_threads = 16, max_insert_threads = 4")),
    ("too many rows", PLAIN, insert("k, v, s FROM file('{plain}')", ", max_rows_to_read = 10")),
    ("nowhere", "(k UInt32, v Int64, s String) ENGINE = Memory", insert("k, v, s FROM file('{plain}')")),
    ("steps over the end", "(k UInt32, v Int32) ENGINE = MergeTree ORDER BY k", insert("k, v FROM file('{steps}')"),
     "SELECT sum(v) FROM {t} WHERE k = 8700", "SELECT sum(k) FROM {t} WHERE v > 100 AND k BETWEEN 8700 AND 8705"),
    ("no rows", PLAIN, insert("k, v, s FROM file('{empty}')")),
    ("row groups without rows", PLAIN, insert("k, v, s FROM file('{rough}')")),
    ("a large page", "(k UInt32, v Int64, s String) ENGINE = MergeTree ORDER BY k", insert("k, v, s FROM file('{large}')")),
    ("two columns of one name", TWO, insert("k, v, v FROM file('{twice}')")),
    ("too few columns", PLAIN, insert("k, v FROM file('{plain}')")),
    ("no such file", PLAIN, insert("k, v, s FROM file('{plain}x')")),
]
