-- Comparisons across types, NULL, sets, BETWEEN, and three-valued logic.
FROM n: i8 = u8, i8 != u8, i8 < u8, i8 <= u8, i8 > u8, i8 >= u8
FROM n: i8 BETWEEN u8 AND 10, i8 NOT BETWEEN -1 AND u8
FROM n: i64 = u64, i64 != u64, i64 < u64, i64 <= u64, i64 > u64, i64 >= u64
FROM n: i64 BETWEEN u64 AND 10, i64 NOT BETWEEN -1 AND u64
FROM n: u64 = i8, u64 != i8, u64 < i8, u64 <= i8, u64 > i8, u64 >= i8
FROM n: u64 BETWEEN i8 AND 10, u64 NOT BETWEEN -1 AND i8
FROM n: f32 = f64, f32 != f64, f32 < f64, f32 <= f64, f32 > f64, f32 >= f64
FROM n: f32 BETWEEN f64 AND 10, f32 NOT BETWEEN -1 AND f64
FROM n: f64 = i64, f64 != i64, f64 < i64, f64 <= i64, f64 > i64, f64 >= i64
FROM n: f64 BETWEEN i64 AND 10, f64 NOT BETWEEN -1 AND i64
FROM n: u64 = f64, u64 != f64, u64 < f64, u64 <= f64, u64 > f64, u64 >= f64
FROM n: u64 BETWEEN f64 AND 10, u64 NOT BETWEEN -1 AND f64
FROM n: d32 = i32, d32 != i32, d32 < i32, d32 <= i32, d32 > i32, d32 >= i32
FROM n: d32 BETWEEN i32 AND 10, d32 NOT BETWEEN -1 AND i32
FROM n: d64 = d32, d64 != d32, d64 < d32, d64 <= d32, d64 > d32, d64 >= d32
FROM n: d64 BETWEEN d32 AND 10, d64 NOT BETWEEN -1 AND d32
FROM n: d32 = f64, d32 != f64, d32 < f64, d32 <= f64, d32 > f64, d32 >= f64
FROM n: d32 BETWEEN f64 AND 10, d32 NOT BETWEEN -1 AND f64
FROM n: ni = i32, ni != i32, ni < i32, ni <= i32, ni > i32, ni >= i32
FROM n: ni BETWEEN i32 AND 10, ni NOT BETWEEN -1 AND i32
FROM n: nf = f32, nf != f32, nf < f32, nf <= f32, nf > f32, nf >= f32
FROM n: nf BETWEEN f32 AND 10, nf NOT BETWEEN -1 AND f32
FROM n: b = u8, b != u8, b < u8, b <= u8, b > u8, b >= u8
FROM n: b BETWEEN u8 AND 10, b NOT BETWEEN -1 AND u8
FROM n: b = i8, b != i8, b < i8, b <= i8, b > i8, b >= i8
FROM n: b BETWEEN i8 AND 10, b NOT BETWEEN -1 AND i8
FROM n: d128 = i64, d128 != i64, d128 < i64, d128 <= i64, d128 > i64, d128 >= i64
FROM n: d128 BETWEEN i64 AND 10, d128 NOT BETWEEN -1 AND i64
FROM n: i32 IN (0, 1, 777), i32 NOT IN (1, 2)
FROM n: ni IN (1, NULL), ni IN (1), ni NOT IN (1, 2)
FROM n: u64 IN (18446744073709551615, 1), i8 IN (255, -1)
FROM n: f64 IN (0, 0.1), d32 IN (7.77, 1)
FROM n: i32 = NULL, ni IS NULL, ni IS NOT NULL, ni <=> NULL
FROM n: ni <=> i32, ni IS DISTINCT FROM i32, ni IS NOT DISTINCT FROM 1
FROM n: b AND i8, b OR ni, NOT ni, xor(b, u8), NOT f64
FROM n: i8 AND NULL, i8 OR NULL, NOT NULL, xor(i8, NULL)
FROM n: and(i8, u8, ni), or(i8, u8, ni)
FROM n: i32 > 0 ? 'pos' : 'rest'
FROM n: CASE i32 WHEN 0 THEN 'zero' WHEN 1 THEN 'one' END
FROM n: CASE WHEN ni > 0 THEN ni ELSE -1 END
FROM s: s = ns, s < ns, s >= l, f = s, f = 'a', l = 'a'
FROM s: s = 'a', 'a' = l, f != '', nl = 'AAA', nl IS NULL
FROM s: s IN ('a', ''), ns IN ('a', NULL), f IN ('a', 'x.org'), l IN ('a', '7'), nl IN ('7')
FROM s: s BETWEEN 'a' AND 'b', greatest(s, l), least(ns, s)
FROM t: d = dt, d < d32, dt > t3, dtz = dt, d32 <= t3
FROM t: d = '2024-02-29', dt >= '2024-01-01 00:00:00', t3 < '2024-01-01 12:34:56.789', d32 > '2000-01-01'
FROM t: d IN ('2024-02-29', '1970-01-01'), dt IN ('2024-02-29 23:59:59'), d BETWEEN '2020-01-01' AND '2024-12-31'
FROM t: nd = d, nd IS NULL, ndt > dt, nd <=> d
FROM t: dtz = toDateTime('2024-07-01 12:00:00'), dtz = '2024-07-01 12:00:00'
FROM c: ai = [1], an = [NULL], sa < ['b'], ai > [], aa = [[]]
FROM c: tu = (1, 'x'), tu > (0, ''), tu IN ((1, 'x'), (5, 'five')), tt = tt
FROM c: e = 'one', e > 'minus', e IN ('one', 'two'), e = 1, e != 'two'
FROM c: u = '61f0c404-5cb3-11e7-907b-a6006ad3dba0', u > toUUID('00000000-0000-0000-0000-000000000001'), u IN ('00000000-0000-0000-0000-000000000000')
FROM c: m = map('a', 1), m != m
FROM c: e = 'nothing'
1 = '1', 'a' = 1
'abc' < 'abd', '' = '', 'a' < 'B', 'é' > 'z'
1 = 1.0, 0.1 + 0.2 = 0.3, nan = nan, nan != nan, nan < 1, nan > 1, inf = inf
-0.0 = 0.0, toFloat32(0.1) = 0.1, toFloat32(0.5) = 0.5
toUInt64(18446744073709551615) = -1, toInt8(-1) < toUInt8(0), toUInt64(18446744073709551615) > toInt64(-1)
9007199254740993 = 9007199254740992., 9007199254740993 > 9007199254740992.
toDecimal32('1.10', 2) = 1.1, toDecimal32('1.10', 2) = '1.1', toDecimal64('1.1', 1) = toDecimal32('1.10', 2)
NULL = NULL, NULL != 1, NULL IS NULL, NULL IN (NULL), NULL NOT IN (1)
1 IN (1, NULL), 2 IN (1, NULL), 2 NOT IN (1, NULL), 1 IN (NULL)
1 IN 1, 1 IN (1), 'a' IN 'a'
1 IN [1, 2], 3 NOT IN [1, 2], 1 IN array(1)
(1, 'a') IN ((1, 'a'), (2, 'b')), (1, 'c') NOT IN ((1, 'a')), (1, 2) = (1, 2), (1, 2) < (1, 3)
(1, NULL) = (1, NULL), (1, NULL) IN ((1, NULL)), (1, 2) != (1, NULL)
(1, 2) = (1, 2, 3)
1 IN ('1', '2')
'1' IN (1, 2)
1 IN (1.0, 2), 1.5 IN (1, 2), 256 IN (toUInt8(0))
1 IN ()
1 IN (SELECT 1), 1 IN (SELECT 2), NULL IN (SELECT NULL), 1 NOT IN (SELECT NULL)
1 AND 0, 1 AND NULL, 0 AND NULL, 1 OR NULL, 0 OR NULL, NOT NULL, NOT 5
1 AND 2.5, 0.0 OR 0, NOT 0.5, xor(1, 1), xor(1, 0, 1), 1 XOR 2
'a' AND 1
1 AND 'a'
not('a')
NOT 1 = 2, NOT (1 AND 0), NOT NOT 1
1 BETWEEN 1 AND 2, 3 BETWEEN 1 AND 2, NULL BETWEEN 1 AND 2, 1 NOT BETWEEN 2 AND 3, 5 BETWEEN NULL AND 3
1 == 1, 1 <> 2, 1 <=> NULL, NULL <=> NULL
equals(1, 1), notEquals(1, 1), less(1, 2), greater(1, 2), lessOrEquals(1, 1), greaterOrEquals(1, 2)
equals(1)
[1, 2] = [1, 2], [1] < [1, 2], [2] > [1, 5], [] = [], [1, NULL] = [1, NULL]
[1] = 1
[1] = ['a']
toDate('2020-01-01') = '2020-01-01', toDate('2020-01-01') = '2020-1-1'
toDate('2020-01-01') = 'abc'
toDateTime('2020-01-01 00:00:00') = '2020-01-01'
toDate('2020-01-01') = toDateTime('2020-01-01 00:00:00'), toDate('2020-01-01') < toDateTime64('2020-01-01 00:00:00.001', 3)
toDate('2020-01-01') = 18262
toDateTime('2020-01-01 00:00:00', 'UTC') = toDateTime('2020-01-01 01:00:00', 'Europe/Berlin')
toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0') = '61F0C404-5CB3-11E7-907B-A6006AD3DBA0'
CAST('a' AS Enum8('a' = 1, 'b' = 2)) < CAST('b' AS Enum8('a' = 1, 'b' = 2))
true = 1, true = 2, false < true, true = 'true'
toFixedString('a', 3) = 'a', toFixedString('a', 3) = 'a\0\0', toFixedString('a', 3) < 'b'
isNull(1), isNull(NULL), isNotNull(NULL), isZeroOrNull(0), isZeroOrNull(NULL), isZeroOrNull(1)
1 < 2 < 3, 3 > 2 > 1
1 = 1 = 1
if(NULL, 1, 2), if(1, 'a', NULL), if(0, 1, 2.5), if(1, toUInt8(1), toInt8(-1))
if('a', 1, 2)
if(1, 'a', 2)
multiIf(0, 1, 0, 2, 3), multiIf(NULL, 1, 1, 2, 3), multiIf(1, NULL, 5)
multiIf(1, 2)
ifNull(NULL, 1), ifNull(1, 2), ifNull(NULL, NULL), ifNull(NULL, 'x')
nullIf(1, 1), nullIf(1, 2), nullIf(NULL, 1), nullIf('a', 'a')
coalesce(NULL, NULL, 3), coalesce(NULL), coalesce(), coalesce(1, NULL), coalesce(toNullable(1), 2)
assumeNotNull(toNullable(1)), assumeNotNull(NULL)
toNullable(1), toNullable(NULL), toNullable('a'), isNullable(toNullable(1)), isNullable(1)
transform(1, [1, 2], ['one', 'two'], 'other'), transform(3, [1, 2], ['one', 'two'], 'other')
transform(1, [1, 2], [10, 20]), transform(3, [1, 2], [10, 20]), transform('c', ['a'], ['b'])
transform(NULL, [1], [2], 3)
transform(1, [1, 2], [1])
transform(1, [1], ['a'])
FROM n: if(b, i8, u16), if(b, ni, 1), if(ni > 0, 'a', NULL)
FROM n: multiIf(i8 > 0, f32, i8 < 0, d32, 0)
FROM n: multiIf(i8 > 0, 'pos', i8 < 0, 'neg', 'zero'), ifNull(ni, i8), nullIf(i8, u8), coalesce(ni, nf, 7)
FROM n: transform(i32, [0, 1, 777], ['z', 'o', 's'], 'else'), transform(u8, [7, 255], [70, 2550], i8)
FROM s: if(s = '', 'empty', s), ifNull(ns, 'none'), coalesce(ns, s), nullIf(s, 'a'), if(ns IS NULL, l, nl)
FROM s: transform(s, ['a', '12345'], ['A', 'N'], '?'), multiIf(empty(s), 'e', length(s) > 10, 'long', l)
FROM t: if(d > '2024-01-01', d, nd), coalesce(nd, d), ifNull(ndt, dt), greatest(d, nd), least(dt, ndt)
FROM t: if(d > '2024-01-01', d, dt)
