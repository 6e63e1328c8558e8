"""What the page about SQL says is not there: the words on the page, and a statement that is refused as long as they are true.

Whoever makes one of these work takes its words off docs/guide/sql.md, and its row off this list.
"""
# Not implemented, or an unknown function, type, engine, format or clause; 497 and 511 are those of statements about users, which
# nobody may run; 43 is a type that holds no other. Anything else would mean that it is there.
CODES = {43, 46, 48, 50, 56, 62, 73, 141, 497, 511}
TABLE = "CREATE TABLE t (a Int8) ENGINE = "

MISSING = [
    ("SAMPLE", "SELECT * FROM system.one SAMPLE 0.1"),
    ("PASTE JOIN", "SELECT 1 FROM numbers(3) AS a PASTE JOIN numbers(3) AS b"),
    ("LATERAL", "SELECT * FROM numbers(3) AS a LEFT JOIN LATERAL (SELECT 1) AS b ON 1"),
    ("COLLATE", "SELECT 'a' AS a ORDER BY a COLLATE 'en'"),
    ("`= ALL (SELECT ..)`", "SELECT 1 = ALL (SELECT 1)"),
    ("WITH FILL .. STALENESS of one key among several",
     "SELECT x, y FROM (SELECT arrayJoin([1, 5])::Int64 AS x, x AS y) ORDER BY x WITH FILL STALENESS 2, y WITH FILL"),
    ("`EXPLAIN QUERY TREE`", "EXPLAIN QUERY TREE SELECT 1"),
    ("subqueries over rows of the outer query", "SELECT (SELECT count() FROM numbers(5) AS b WHERE b.number < a.number) FROM numbers(3) AS a"),
    *((name, f"CREATE TABLE t (a {type_}) ENGINE = Memory") for name, type_ in (
        ("JSON", "JSON"), ("Object", "Object('json')"), ("BFloat16", "BFloat16"), ("Time", "Time"), ("Time64", "Time64(3)"),
        ("Ring", "Ring"), ("Polygon", "Polygon"))),
    ("Variant", "SELECT 1::Variant(Int8, String)"),
    ("Dynamic", "SELECT 1::Dynamic"),
    ("Point", "SELECT (1, 2)::Point"),
    ("of encryption", "SELECT encrypt('aes-256-ecb', 'a', '12345678901234567890123456789012')"),
    ("H3", "SELECT h3IsValid(1)"),
    ("S2", "SELECT s2ToGeo(1)"),
    ("languages", "SELECT detectLanguage('x')"),
    *((f"`{name}`", f"SELECT * FROM {call}") for name, call in (
        ("mysql", "mysql('h', 'd', 't', 'u', 'p')"),
        ("postgresql", "postgresql('h', 'd', 't', 'u', 'p')"), ("mongodb", "mongodb('h')"), ("redis", "redis('h')"),
        ("sqlite", "sqlite('f', 't')"), ("jdbc", "jdbc('x')"), ("hdfs", "hdfs('x')"), ("iceberg", "iceberg('x')"),
        ("deltaLake", "deltaLake('x')"), ("hudi", "hudi('x')"), ("executable", "executable('x', 'TSV', 'a Int8')"),
        ("input", "input('a Int8')"))),
    ("Kafka", TABLE + "Kafka"),
    ("RabbitMQ", TABLE + "RabbitMQ"),
    ("S3Queue", TABLE + "S3Queue"),
    ("MySQL", TABLE + "MySQL('h', 'd', 't', 'u', 'p')"),
    ("PostgreSQL", TABLE + "PostgreSQL('h', 'd', 't', 'u', 'p')"),
    ("STATISTICS", "CREATE TABLE t (a Int8 STATISTICS(tdigest)) ENGINE = MergeTree ORDER BY a"),
    ("descending keys", TABLE + "MergeTree ORDER BY (a DESC)"),
    ("Window views", "CREATE WINDOW VIEW v AS SELECT 1"),
    ("live views", "CREATE LIVE VIEW v AS SELECT 1"),
    *((name, f"SELECT 1 FORMAT {format_}") for name, format_ in (
        ("Avro", "Avro"), ("ORC", "ORC"), ("Protobuf", "Protobuf"), ("Cap'n Proto", "CapnProto"),
        ("Template", "Template"))),
    ("FETCH PARTITION", "ALTER TABLE system.one FETCH PARTITION 1 FROM 'x'"),
    ("UNDROP", "UNDROP TABLE t"),
    *((word, f"SHOW {word.upper()}") for word in ("GRANTS", "USERS")),
    ("BEGIN", "BEGIN"),
    ("CREATE USER", "CREATE USER u"),
    *((word, f"CREATE {word} x") for word in ("ROLE", "QUOTA")),
    ("ROW POLICY", "CREATE ROW POLICY p ON t USING 1 TO u"),
    ("dictionaries of other sources",
     "CREATE DICTIONARY d (a UInt64) PRIMARY KEY a SOURCE(MYSQL(DB 'd' TABLE 't')) LAYOUT(FLAT()) LIFETIME(0)"),
    ("GRANT", "GRANT SELECT ON *.* TO u"),
    ("REVOKE", "REVOKE SELECT ON *.* FROM u"),
    ("BACKUP", "BACKUP TABLE t TO File('x')"),
    ("RESTORE", "RESTORE TABLE t FROM File('x')"),
]
