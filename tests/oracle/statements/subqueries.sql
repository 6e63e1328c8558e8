-- Scalar subqueries, IN, EXISTS, derived tables, common table expressions and recursion.
SELECT (SELECT 1), (SELECT 'a'), (SELECT NULL), (SELECT max(x) FROM g), (SELECT x FROM empty)
SELECT (SELECT 1, 2)
SELECT (SELECT id FROM l)
SELECT (SELECT [1, 2])[1], (SELECT (1, 'a')) AS t
SELECT toTypeName((SELECT 1)), toTypeName((SELECT x FROM empty)), toTypeName((SELECT toNullable(1)))
SELECT id FROM g WHERE x = (SELECT max(x) FROM g) ORDER BY id
SELECT id FROM g WHERE id IN (SELECT arrayJoin([1, 2, 500])) ORDER BY id
SELECT 1 WHERE 1 IN (SELECT x FROM empty)
SELECT * FROM (SELECT 1 AS a, 'x' AS b)
SELECT t.a FROM (SELECT 1 AS a) AS t
SELECT a FROM (SELECT 1 AS a) t
SELECT * FROM (SELECT * FROM (SELECT 1 AS z))
WITH 5 AS x SELECT x, x + 1
WITH t AS (SELECT 1 AS a UNION ALL SELECT 2) SELECT sum(a) FROM t
WITH t AS (SELECT id FROM l), u AS (SELECT id FROM t WHERE id > 2) SELECT * FROM u ORDER BY id
WITH (SELECT max(x) FROM g) AS m SELECT m, m + 1
WITH x -> x + 1 AS f SELECT f(5)
WITH [1, 2] AS a SELECT arrayMap(x -> x + a[1], a)
WITH t AS (SELECT 1 AS a) SELECT a.a, b.a FROM t AS a, t AS b
WITH 1 AS a, a + 1 AS b SELECT a, b
SELECT id IN (SELECT id FROM l WHERE id < 3) AS i, id FROM l ORDER BY id
SELECT id, id IN (1, 2) ? 'in' : 'out' FROM l ORDER BY id
SELECT x FROM (SELECT number AS x FROM numbers(10)) WHERE x % 3 = 0 ORDER BY x
SELECT count() FROM numbers(100) WHERE number IN (SELECT number * 2 FROM numbers(10))
SELECT a.id FROM (SELECT id FROM l) a WHERE a.id > (SELECT avg(id) FROM r) ORDER BY a.id
SELECT 1 IN (SELECT 1, 2)
SELECT nosuch FROM (SELECT 1 AS a)
SELECT * FROM nosuchtable
SELECT * FROM nosuchdb.t
SELECT * FROM VALUES('a UInt8, b String', (1, 'x'), (2, 'y')) ORDER BY a
SELECT * FROM numbers(3)
SELECT * FROM numbers(5, 3)
SELECT number FROM numbers(0, 10, 3)
SELECT * FROM generate_series(1, 10, 3)
SELECT * FROM system.one
SELECT * FROM zeros(2)
SELECT sum(number) FROM numbers(1000)
SELECT * FROM view(SELECT 1 AS v)
SELECT * FROM null('x Int8')
SELECT DISTINCT x FROM (SELECT arrayJoin([1, 1, 2]) AS x) ORDER BY x
