-- Literals and the names of columns that have none.
1, -1, +1, 0, 255, 256, 65535, 65536, 4294967295, 4294967296, 18446744073709551615
-128, -129, -32768, -32769, -2147483648, -2147483649, -9223372036854775808
1.0, 1., .5, 1e5, 1.5e-5, -1.5, 1e100, 0.1, 123456789012345678901234567890.
1e15, 1e16, 1e20, 1e21, 1e22, 123456789.123456789, 0.000001, 0.0000001, 1.1e-10
0x10, 0xff, 0xFFFFFFFF, 0b11, 0b0, 0x0
1_000, 0xFF_FF
'', 'a', 'it''s', 'it\'s', 'tab\t', 'nl\n', '\x41', '\u00e9', '日本', 'a\\b', '\0'
"id" FROM l LIMIT 0
$$heredoc 'quoted'$$, $tag$a $$ b$tag$
x'4142', X'ff' = '\xff', b'01000001'
true, false, TRUE, NOT true, true AND false
NULL, null, NULL + 1, NULL || 'a'
[], [1], [1, 2], ['a', 'b'], [[1, 2], [3]], [1.5, NULL], [true], [NULL]
(1), (1,), (1, 'a'), ((1, 2), 'x'), (NULL,)
{'a': 1}, {}, {'k': [1, 2]}, {1: 'x'}
DATE '2024-01-01', TIMESTAMP '2024-01-01 00:00:00', INTERVAL 5 DAY, INTERVAL '5' DAY, INTERVAL '5 DAY'
inf, -inf, nan, NAN, +inf
1 + 2 * 3, (1 + 2) * 3, 1 - -1, - - 1, -(1), 2 * -3
1 = 1 AND 2 = 2 OR 0, NOT 1 + 1, 1 < 2 AND 3 > 2
1 IS NULL, 1 IS NOT NULL, NULL IS NOT NULL
'a' LIKE 'a', 'a' NOT LIKE 'b', 'a' ILIKE 'A'
1 BETWEEN 0 AND 2, 1 NOT BETWEEN 0 AND 2
1 IN (1, 2), 1 NOT IN (2), (1, 2) IN ((1, 2)), 'a' IN ('a', 'b')
CASE WHEN 1 THEN 2 END, CASE 1 WHEN 1 THEN 'a' ELSE 'b' END, CASE WHEN 0 THEN 1 ELSE 2 END
if(1, 2, 3), 1 ? 2 : 3, 1 > 0 ? 'a' : 'b'
CAST(1 AS String), 1::String, '1'::UInt8, CAST('1', 'UInt8'), [1]::Array(String), 1::Int8::String
a.1 FROM (SELECT (1, 2) AS a)
[1, 2][1], (1, 2).1, map('a', 1)['a'], [1, 2][-1]
arrayMap(x -> x + 1, [1]), arrayMap((x, y) -> x, [1], [2]), arrayFilter(x -> x > 1 AND x < 5, [1, 2])
1 AS one, 2 two, 3 AS `three 3`, 4 AS "four"
count(), sum(1), COUNT(*), Sum(2), MAX(3)
toString(1) AS s, s || 'x'
plus(1, 2), 1 + 2 AS p, -p
toDate('2024-01-01') + INTERVAL 1 DAY, now() - now(), toDate('2024-01-01') - 1
concat('a', 'b'), 'a' || 'b' || 'c'
NOT NOT 1, NOT (1 = 1), NOT NULL
1::Nullable(UInt8), NULL::Nullable(String), toNullable('a')
quantile(0.5)(1), quantiles(0.1, 0.9)(1), topK(3)(1), groupArray(2)(1)
count(DISTINCT 1), uniqExact(1), countIf(1), sumIf(1, 0)
(SELECT 1), (SELECT 1) + 1, 1 IN (SELECT 1)
1 == 1, 1 <> 2, 1 != 2, 1 <= 2
5 % 3, 5 DIV 2, 5 MOD 2, 5 / 2
'\q'
1 + 
[1, 2
1a
@x
0x
1e
0b2
9999999999999999999999999999999999999999
-99999999999999999999
0.1 + 0.2, 1 / 3, 2 / 3., 10 / 2, 1e308 * 10, 0.1::Float32 + 0.2::Float32
toFloat32(1) / 3, toFloat32(16777216) + 1, toFloat32(0.1) * 3
()
