# What the plans of this folder are about. Sorted and partitioned, larger than what stays in the log.
CREATE TABLE hits (day Date, site UInt32, user UInt64, page String, spent Float64, tags Array(String), at DateTime, country LowCardinality(String), referrer Nullable(String)) ENGINE = MergeTree PARTITION BY toYYYYMM(day) ORDER BY (site, user)

INSERT INTO hits SELECT toDate('2024-01-01') + intDiv(number, 1000), number % 50, number, concat('/page/', toString(number % 977)), number / 7, [toString(number % 3), 'x'], toDateTime('2024-01-01 00:00:00', 'UTC') + number, ['de', 'fr', 'us'][number % 3 + 1], if(number % 5 = 0, NULL, 'r') FROM numbers(60000) SETTINGS max_insert_threads = 1, max_threads = 1

OPTIMIZE TABLE hits FINAL

# Smaller than a part has to be: one part.
CREATE TABLE sites (id UInt32, name String, owner Nullable(String), opened Date) ENGINE = MergeTree ORDER BY id

INSERT INTO sites SELECT number, concat('site ', toString(number)), if(number % 2 = 0, NULL, 'o'), toDate('2020-01-01') + number FROM numbers(50)

OPTIMIZE TABLE sites FINAL

CREATE TABLE prices (item UInt32, at DateTime, price Float64) ENGINE = MergeTree ORDER BY (item, at)

INSERT INTO prices SELECT number % 10, toDateTime('2024-01-01 00:00:00', 'UTC') + number * 60, number / 3 FROM numbers(20000) SETTINGS max_insert_threads = 1, max_threads = 1

OPTIMIZE TABLE prices FINAL

# Its rows are in the log.
CREATE TABLE fresh (id UInt64, name String) ENGINE = MergeTree ORDER BY id

INSERT INTO fresh VALUES (1, 'a'), (2, 'b'), (3, 'c')

# Rows that replace each other: two parts whose keys overlap, one apart from them, rows in the log.
CREATE TABLE users (id UInt64, version UInt32, name String, age UInt8) ENGINE = ReplacingMergeTree(version) ORDER BY id

SYSTEM STOP MERGES users

INSERT INTO users SELECT number, 1, concat('user ', toString(number)), number % 90 FROM numbers(20000) SETTINGS max_insert_threads = 1, max_threads = 1

INSERT INTO users SELECT number * 2, 2, concat('user ', toString(number)), number % 91 FROM numbers(10000) SETTINGS max_insert_threads = 1, max_threads = 1

INSERT INTO users SELECT 1000000 + number, 1, concat('user ', toString(number)), number % 92 FROM numbers(10000) SETTINGS max_insert_threads = 1, max_threads = 1

INSERT INTO users VALUES (7, 3, 'seven', 7)

CREATE TABLE totals (id UInt64, spent UInt64) ENGINE = SummingMergeTree ORDER BY id

INSERT INTO totals SELECT number, 1 FROM numbers(10000) SETTINGS max_insert_threads = 1, max_threads = 1

CREATE TABLE nothing (id UInt64, name String) ENGINE = MergeTree ORDER BY id

CREATE TABLE kept (id UInt64, name String, amount Float64) ENGINE = Memory

INSERT INTO kept VALUES (1, 'a', 0.5), (2, 'b', 1.5), (2, 'c', 2.5)

CREATE TABLE outside (a Nullable(Int64), b Nullable(String)) ENGINE = File(CSVWithNames, 'sql/data/plans/*.csv')

CREATE VIEW german AS SELECT site, user, page, spent FROM hits WHERE country = 'de'

CREATE VIEW per_site AS SELECT site, count() AS visits, sum(spent) AS total FROM hits GROUP BY site

SET max_threads = 2
