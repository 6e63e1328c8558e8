-- Types: names, defaults, nesting, LowCardinality, Nullable, Enum, and what a table keeps.
CAST(255 AS UInt8) AS x, toTypeName(x)
defaultValueOfTypeName('UInt8'), toTypeName(defaultValueOfTypeName('UInt8'))
[CAST(255 AS UInt8)], tuple(CAST(255 AS UInt8))
toString(CAST(255 AS UInt8)), CAST(255 AS UInt8) = CAST(255 AS UInt8)
SELECT x, count() FROM (SELECT CAST(255 AS UInt8) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST(255 AS UInt8) AS x FROM numbers(2))
if(1, CAST(255 AS UInt8), CAST(255 AS UInt8)), materialize(CAST(255 AS UInt8)), toNullable(CAST(255 AS UInt8)) IS NULL
toJSONString(CAST(255 AS UInt8))
CAST(-9223372036854775808 AS Int64) AS x, toTypeName(x)
defaultValueOfTypeName('Int64'), toTypeName(defaultValueOfTypeName('Int64'))
[CAST(-9223372036854775808 AS Int64)], tuple(CAST(-9223372036854775808 AS Int64))
toString(CAST(-9223372036854775808 AS Int64)), CAST(-9223372036854775808 AS Int64) = CAST(-9223372036854775808 AS Int64)
SELECT x, count() FROM (SELECT CAST(-9223372036854775808 AS Int64) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST(-9223372036854775808 AS Int64) AS x FROM numbers(2))
if(1, CAST(-9223372036854775808 AS Int64), CAST(-9223372036854775808 AS Int64)), materialize(CAST(-9223372036854775808 AS Int64)), toNullable(CAST(-9223372036854775808 AS Int64)) IS NULL
toJSONString(CAST(-9223372036854775808 AS Int64))
CAST(0.1 AS Float32) AS x, toTypeName(x)
defaultValueOfTypeName('Float32'), toTypeName(defaultValueOfTypeName('Float32'))
[CAST(0.1 AS Float32)], tuple(CAST(0.1 AS Float32))
toString(CAST(0.1 AS Float32)), CAST(0.1 AS Float32) = CAST(0.1 AS Float32)
SELECT x, count() FROM (SELECT CAST(0.1 AS Float32) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST(0.1 AS Float32) AS x FROM numbers(2))
if(1, CAST(0.1 AS Float32), CAST(0.1 AS Float32)), materialize(CAST(0.1 AS Float32)), toNullable(CAST(0.1 AS Float32)) IS NULL
toJSONString(CAST(0.1 AS Float32))
CAST(1e-320 AS Float64) AS x, toTypeName(x)
defaultValueOfTypeName('Float64'), toTypeName(defaultValueOfTypeName('Float64'))
[CAST(1e-320 AS Float64)], tuple(CAST(1e-320 AS Float64))
toString(CAST(1e-320 AS Float64)), CAST(1e-320 AS Float64) = CAST(1e-320 AS Float64)
SELECT x, count() FROM (SELECT CAST(1e-320 AS Float64) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST(1e-320 AS Float64) AS x FROM numbers(2))
if(1, CAST(1e-320 AS Float64), CAST(1e-320 AS Float64)), materialize(CAST(1e-320 AS Float64)), toNullable(CAST(1e-320 AS Float64)) IS NULL
toJSONString(CAST(1e-320 AS Float64))
CAST('a\tb' AS String) AS x, toTypeName(x)
defaultValueOfTypeName('String'), toTypeName(defaultValueOfTypeName('String'))
[CAST('a\tb' AS String)], tuple(CAST('a\tb' AS String))
toString(CAST('a\tb' AS String)), CAST('a\tb' AS String) = CAST('a\tb' AS String)
SELECT x, count() FROM (SELECT CAST('a\tb' AS String) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST('a\tb' AS String) AS x FROM numbers(2))
if(1, CAST('a\tb' AS String), CAST('a\tb' AS String)), materialize(CAST('a\tb' AS String)), toNullable(CAST('a\tb' AS String)) IS NULL
toJSONString(CAST('a\tb' AS String))
CAST('ab' AS FixedString(4)) AS x, toTypeName(x)
defaultValueOfTypeName('FixedString(4)'), toTypeName(defaultValueOfTypeName('FixedString(4)'))
[CAST('ab' AS FixedString(4))], tuple(CAST('ab' AS FixedString(4)))
toString(CAST('ab' AS FixedString(4))), CAST('ab' AS FixedString(4)) = CAST('ab' AS FixedString(4))
SELECT x, count() FROM (SELECT CAST('ab' AS FixedString(4)) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST('ab' AS FixedString(4)) AS x FROM numbers(2))
if(1, CAST('ab' AS FixedString(4)), CAST('ab' AS FixedString(4))), materialize(CAST('ab' AS FixedString(4))), toNullable(CAST('ab' AS FixedString(4))) IS NULL
toJSONString(CAST('ab' AS FixedString(4)))
CAST('2024-02-29' AS Date) AS x, toTypeName(x)
defaultValueOfTypeName('Date'), toTypeName(defaultValueOfTypeName('Date'))
[CAST('2024-02-29' AS Date)], tuple(CAST('2024-02-29' AS Date))
toString(CAST('2024-02-29' AS Date)), CAST('2024-02-29' AS Date) = CAST('2024-02-29' AS Date)
SELECT x, count() FROM (SELECT CAST('2024-02-29' AS Date) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST('2024-02-29' AS Date) AS x FROM numbers(2))
if(1, CAST('2024-02-29' AS Date), CAST('2024-02-29' AS Date)), materialize(CAST('2024-02-29' AS Date)), toNullable(CAST('2024-02-29' AS Date)) IS NULL
toJSONString(CAST('2024-02-29' AS Date))
CAST('1900-01-01' AS Date32) AS x, toTypeName(x)
defaultValueOfTypeName('Date32'), toTypeName(defaultValueOfTypeName('Date32'))
[CAST('1900-01-01' AS Date32)], tuple(CAST('1900-01-01' AS Date32))
toString(CAST('1900-01-01' AS Date32)), CAST('1900-01-01' AS Date32) = CAST('1900-01-01' AS Date32)
SELECT x, count() FROM (SELECT CAST('1900-01-01' AS Date32) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST('1900-01-01' AS Date32) AS x FROM numbers(2))
if(1, CAST('1900-01-01' AS Date32), CAST('1900-01-01' AS Date32)), materialize(CAST('1900-01-01' AS Date32)), toNullable(CAST('1900-01-01' AS Date32)) IS NULL
toJSONString(CAST('1900-01-01' AS Date32))
CAST('2024-02-29 12:34:56' AS DateTime) AS x, toTypeName(x)
defaultValueOfTypeName('DateTime'), toTypeName(defaultValueOfTypeName('DateTime'))
[CAST('2024-02-29 12:34:56' AS DateTime)], tuple(CAST('2024-02-29 12:34:56' AS DateTime))
toString(CAST('2024-02-29 12:34:56' AS DateTime)), CAST('2024-02-29 12:34:56' AS DateTime) = CAST('2024-02-29 12:34:56' AS DateTime)
SELECT x, count() FROM (SELECT CAST('2024-02-29 12:34:56' AS DateTime) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST('2024-02-29 12:34:56' AS DateTime) AS x FROM numbers(2))
if(1, CAST('2024-02-29 12:34:56' AS DateTime), CAST('2024-02-29 12:34:56' AS DateTime)), materialize(CAST('2024-02-29 12:34:56' AS DateTime)), toNullable(CAST('2024-02-29 12:34:56' AS DateTime)) IS NULL
toJSONString(CAST('2024-02-29 12:34:56' AS DateTime))
CAST('2024-02-29 12:34:56' AS DateTime('Asia/Tokyo')) AS x, toTypeName(x)
defaultValueOfTypeName('DateTime(\'Asia/Tokyo\')'), toTypeName(defaultValueOfTypeName('DateTime(\'Asia/Tokyo\')'))
[CAST('2024-02-29 12:34:56' AS DateTime('Asia/Tokyo'))], tuple(CAST('2024-02-29 12:34:56' AS DateTime('Asia/Tokyo')))
toString(CAST('2024-02-29 12:34:56' AS DateTime('Asia/Tokyo'))), CAST('2024-02-29 12:34:56' AS DateTime('Asia/Tokyo')) = CAST('2024-02-29 12:34:56' AS DateTime('Asia/Tokyo'))
SELECT x, count() FROM (SELECT CAST('2024-02-29 12:34:56' AS DateTime('Asia/Tokyo')) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST('2024-02-29 12:34:56' AS DateTime('Asia/Tokyo')) AS x FROM numbers(2))
if(1, CAST('2024-02-29 12:34:56' AS DateTime('Asia/Tokyo')), CAST('2024-02-29 12:34:56' AS DateTime('Asia/Tokyo'))), materialize(CAST('2024-02-29 12:34:56' AS DateTime('Asia/Tokyo'))), toNullable(CAST('2024-02-29 12:34:56' AS DateTime('Asia/Tokyo'))) IS NULL
toJSONString(CAST('2024-02-29 12:34:56' AS DateTime('Asia/Tokyo')))
CAST('2024-02-29 12:34:56.123456' AS DateTime64(6)) AS x, toTypeName(x)
defaultValueOfTypeName('DateTime64(6)'), toTypeName(defaultValueOfTypeName('DateTime64(6)'))
[CAST('2024-02-29 12:34:56.123456' AS DateTime64(6))], tuple(CAST('2024-02-29 12:34:56.123456' AS DateTime64(6)))
toString(CAST('2024-02-29 12:34:56.123456' AS DateTime64(6))), CAST('2024-02-29 12:34:56.123456' AS DateTime64(6)) = CAST('2024-02-29 12:34:56.123456' AS DateTime64(6))
SELECT x, count() FROM (SELECT CAST('2024-02-29 12:34:56.123456' AS DateTime64(6)) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST('2024-02-29 12:34:56.123456' AS DateTime64(6)) AS x FROM numbers(2))
if(1, CAST('2024-02-29 12:34:56.123456' AS DateTime64(6)), CAST('2024-02-29 12:34:56.123456' AS DateTime64(6))), materialize(CAST('2024-02-29 12:34:56.123456' AS DateTime64(6))), toNullable(CAST('2024-02-29 12:34:56.123456' AS DateTime64(6))) IS NULL
toJSONString(CAST('2024-02-29 12:34:56.123456' AS DateTime64(6)))
CAST('2024-02-29 12:34:56.5' AS DateTime64(3, 'Europe/Berlin')) AS x, toTypeName(x)
defaultValueOfTypeName('DateTime64(3, \'Europe/Berlin\')'), toTypeName(defaultValueOfTypeName('DateTime64(3, \'Europe/Berlin\')'))
[CAST('2024-02-29 12:34:56.5' AS DateTime64(3, 'Europe/Berlin'))], tuple(CAST('2024-02-29 12:34:56.5' AS DateTime64(3, 'Europe/Berlin')))
toString(CAST('2024-02-29 12:34:56.5' AS DateTime64(3, 'Europe/Berlin'))), CAST('2024-02-29 12:34:56.5' AS DateTime64(3, 'Europe/Berlin')) = CAST('2024-02-29 12:34:56.5' AS DateTime64(3, 'Europe/Berlin'))
SELECT x, count() FROM (SELECT CAST('2024-02-29 12:34:56.5' AS DateTime64(3, 'Europe/Berlin')) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST('2024-02-29 12:34:56.5' AS DateTime64(3, 'Europe/Berlin')) AS x FROM numbers(2))
if(1, CAST('2024-02-29 12:34:56.5' AS DateTime64(3, 'Europe/Berlin')), CAST('2024-02-29 12:34:56.5' AS DateTime64(3, 'Europe/Berlin'))), materialize(CAST('2024-02-29 12:34:56.5' AS DateTime64(3, 'Europe/Berlin'))), toNullable(CAST('2024-02-29 12:34:56.5' AS DateTime64(3, 'Europe/Berlin'))) IS NULL
toJSONString(CAST('2024-02-29 12:34:56.5' AS DateTime64(3, 'Europe/Berlin')))
CAST('61f0c404-5cb3-11e7-907b-a6006ad3dba0' AS UUID) AS x, toTypeName(x)
defaultValueOfTypeName('UUID'), toTypeName(defaultValueOfTypeName('UUID'))
[CAST('61f0c404-5cb3-11e7-907b-a6006ad3dba0' AS UUID)], tuple(CAST('61f0c404-5cb3-11e7-907b-a6006ad3dba0' AS UUID))
toString(CAST('61f0c404-5cb3-11e7-907b-a6006ad3dba0' AS UUID)), CAST('61f0c404-5cb3-11e7-907b-a6006ad3dba0' AS UUID) = CAST('61f0c404-5cb3-11e7-907b-a6006ad3dba0' AS UUID)
SELECT x, count() FROM (SELECT CAST('61f0c404-5cb3-11e7-907b-a6006ad3dba0' AS UUID) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST('61f0c404-5cb3-11e7-907b-a6006ad3dba0' AS UUID) AS x FROM numbers(2))
if(1, CAST('61f0c404-5cb3-11e7-907b-a6006ad3dba0' AS UUID), CAST('61f0c404-5cb3-11e7-907b-a6006ad3dba0' AS UUID)), materialize(CAST('61f0c404-5cb3-11e7-907b-a6006ad3dba0' AS UUID)), toNullable(CAST('61f0c404-5cb3-11e7-907b-a6006ad3dba0' AS UUID)) IS NULL
toJSONString(CAST('61f0c404-5cb3-11e7-907b-a6006ad3dba0' AS UUID))
CAST(true AS Bool) AS x, toTypeName(x)
defaultValueOfTypeName('Bool'), toTypeName(defaultValueOfTypeName('Bool'))
[CAST(true AS Bool)], tuple(CAST(true AS Bool))
toString(CAST(true AS Bool)), CAST(true AS Bool) = CAST(true AS Bool)
SELECT x, count() FROM (SELECT CAST(true AS Bool) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST(true AS Bool) AS x FROM numbers(2))
if(1, CAST(true AS Bool), CAST(true AS Bool)), materialize(CAST(true AS Bool)), toNullable(CAST(true AS Bool)) IS NULL
toJSONString(CAST(true AS Bool))
CAST(1.234 AS Decimal(9, 3)) AS x, toTypeName(x)
defaultValueOfTypeName('Decimal(9, 3)'), toTypeName(defaultValueOfTypeName('Decimal(9, 3)'))
[CAST(1.234 AS Decimal(9, 3))], tuple(CAST(1.234 AS Decimal(9, 3)))
toString(CAST(1.234 AS Decimal(9, 3))), CAST(1.234 AS Decimal(9, 3)) = CAST(1.234 AS Decimal(9, 3))
SELECT x, count() FROM (SELECT CAST(1.234 AS Decimal(9, 3)) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST(1.234 AS Decimal(9, 3)) AS x FROM numbers(2))
if(1, CAST(1.234 AS Decimal(9, 3)), CAST(1.234 AS Decimal(9, 3))), materialize(CAST(1.234 AS Decimal(9, 3))), toNullable(CAST(1.234 AS Decimal(9, 3))) IS NULL
toJSONString(CAST(1.234 AS Decimal(9, 3)))
CAST(-1234567890.0987654321 AS Decimal(38, 10)) AS x, toTypeName(x)
defaultValueOfTypeName('Decimal(38, 10)'), toTypeName(defaultValueOfTypeName('Decimal(38, 10)'))
[CAST(-1234567890.0987654321 AS Decimal(38, 10))], tuple(CAST(-1234567890.0987654321 AS Decimal(38, 10)))
toString(CAST(-1234567890.0987654321 AS Decimal(38, 10))), CAST(-1234567890.0987654321 AS Decimal(38, 10)) = CAST(-1234567890.0987654321 AS Decimal(38, 10))
SELECT x, count() FROM (SELECT CAST(-1234567890.0987654321 AS Decimal(38, 10)) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST(-1234567890.0987654321 AS Decimal(38, 10)) AS x FROM numbers(2))
if(1, CAST(-1234567890.0987654321 AS Decimal(38, 10)), CAST(-1234567890.0987654321 AS Decimal(38, 10))), materialize(CAST(-1234567890.0987654321 AS Decimal(38, 10))), toNullable(CAST(-1234567890.0987654321 AS Decimal(38, 10))) IS NULL
toJSONString(CAST(-1234567890.0987654321 AS Decimal(38, 10)))
CAST(1.5 AS Decimal(76, 20)) AS x, toTypeName(x)
defaultValueOfTypeName('Decimal(76, 20)'), toTypeName(defaultValueOfTypeName('Decimal(76, 20)'))
[CAST(1.5 AS Decimal(76, 20))], tuple(CAST(1.5 AS Decimal(76, 20)))
toString(CAST(1.5 AS Decimal(76, 20))), CAST(1.5 AS Decimal(76, 20)) = CAST(1.5 AS Decimal(76, 20))
SELECT x, count() FROM (SELECT CAST(1.5 AS Decimal(76, 20)) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST(1.5 AS Decimal(76, 20)) AS x FROM numbers(2))
if(1, CAST(1.5 AS Decimal(76, 20)), CAST(1.5 AS Decimal(76, 20))), materialize(CAST(1.5 AS Decimal(76, 20))), toNullable(CAST(1.5 AS Decimal(76, 20))) IS NULL
toJSONString(CAST(1.5 AS Decimal(76, 20)))
CAST('b' AS Enum8('a' = 1, 'b' = -1)) AS x, toTypeName(x)
defaultValueOfTypeName('Enum8(\'a\' = 1, \'b\' = -1)'), toTypeName(defaultValueOfTypeName('Enum8(\'a\' = 1, \'b\' = -1)'))
[CAST('b' AS Enum8('a' = 1, 'b' = -1))], tuple(CAST('b' AS Enum8('a' = 1, 'b' = -1)))
toString(CAST('b' AS Enum8('a' = 1, 'b' = -1))), CAST('b' AS Enum8('a' = 1, 'b' = -1)) = CAST('b' AS Enum8('a' = 1, 'b' = -1))
SELECT x, count() FROM (SELECT CAST('b' AS Enum8('a' = 1, 'b' = -1)) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST('b' AS Enum8('a' = 1, 'b' = -1)) AS x FROM numbers(2))
if(1, CAST('b' AS Enum8('a' = 1, 'b' = -1)), CAST('b' AS Enum8('a' = 1, 'b' = -1))), materialize(CAST('b' AS Enum8('a' = 1, 'b' = -1))), toNullable(CAST('b' AS Enum8('a' = 1, 'b' = -1))) IS NULL
toJSONString(CAST('b' AS Enum8('a' = 1, 'b' = -1)))
CAST('x' AS Enum16('x' = 1000, 'it\'s' = 2)) AS x, toTypeName(x)
defaultValueOfTypeName('Enum16(\'x\' = 1000, \'it\\'s\' = 2)'), toTypeName(defaultValueOfTypeName('Enum16(\'x\' = 1000, \'it\\'s\' = 2)'))
[CAST('x' AS Enum16('x' = 1000, 'it\'s' = 2))], tuple(CAST('x' AS Enum16('x' = 1000, 'it\'s' = 2)))
toString(CAST('x' AS Enum16('x' = 1000, 'it\'s' = 2))), CAST('x' AS Enum16('x' = 1000, 'it\'s' = 2)) = CAST('x' AS Enum16('x' = 1000, 'it\'s' = 2))
SELECT x, count() FROM (SELECT CAST('x' AS Enum16('x' = 1000, 'it\'s' = 2)) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST('x' AS Enum16('x' = 1000, 'it\'s' = 2)) AS x FROM numbers(2))
if(1, CAST('x' AS Enum16('x' = 1000, 'it\'s' = 2)), CAST('x' AS Enum16('x' = 1000, 'it\'s' = 2))), materialize(CAST('x' AS Enum16('x' = 1000, 'it\'s' = 2))), toNullable(CAST('x' AS Enum16('x' = 1000, 'it\'s' = 2))) IS NULL
toJSONString(CAST('x' AS Enum16('x' = 1000, 'it\'s' = 2)))
CAST(NULL AS Nullable(Int32)) AS x, toTypeName(x)
defaultValueOfTypeName('Nullable(Int32)'), toTypeName(defaultValueOfTypeName('Nullable(Int32)'))
[CAST(NULL AS Nullable(Int32))], tuple(CAST(NULL AS Nullable(Int32)))
toString(CAST(NULL AS Nullable(Int32))), CAST(NULL AS Nullable(Int32)) = CAST(NULL AS Nullable(Int32))
SELECT x, count() FROM (SELECT CAST(NULL AS Nullable(Int32)) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST(NULL AS Nullable(Int32)) AS x FROM numbers(2))
if(1, CAST(NULL AS Nullable(Int32)), CAST(NULL AS Nullable(Int32))), materialize(CAST(NULL AS Nullable(Int32))), toNullable(CAST(NULL AS Nullable(Int32))) IS NULL
toJSONString(CAST(NULL AS Nullable(Int32)))
CAST('x' AS Nullable(String)) AS x, toTypeName(x)
defaultValueOfTypeName('Nullable(String)'), toTypeName(defaultValueOfTypeName('Nullable(String)'))
[CAST('x' AS Nullable(String))], tuple(CAST('x' AS Nullable(String)))
toString(CAST('x' AS Nullable(String))), CAST('x' AS Nullable(String)) = CAST('x' AS Nullable(String))
SELECT x, count() FROM (SELECT CAST('x' AS Nullable(String)) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST('x' AS Nullable(String)) AS x FROM numbers(2))
if(1, CAST('x' AS Nullable(String)), CAST('x' AS Nullable(String))), materialize(CAST('x' AS Nullable(String))), toNullable(CAST('x' AS Nullable(String))) IS NULL
toJSONString(CAST('x' AS Nullable(String)))
CAST('lc' AS LowCardinality(String)) AS x, toTypeName(x)
defaultValueOfTypeName('LowCardinality(String)'), toTypeName(defaultValueOfTypeName('LowCardinality(String)'))
[CAST('lc' AS LowCardinality(String))], tuple(CAST('lc' AS LowCardinality(String)))
toString(CAST('lc' AS LowCardinality(String))), CAST('lc' AS LowCardinality(String)) = CAST('lc' AS LowCardinality(String))
SELECT x, count() FROM (SELECT CAST('lc' AS LowCardinality(String)) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST('lc' AS LowCardinality(String)) AS x FROM numbers(2))
if(1, CAST('lc' AS LowCardinality(String)), CAST('lc' AS LowCardinality(String))), materialize(CAST('lc' AS LowCardinality(String))), toNullable(CAST('lc' AS LowCardinality(String))) IS NULL
toJSONString(CAST('lc' AS LowCardinality(String)))
CAST(NULL AS LowCardinality(Nullable(String))) AS x, toTypeName(x)
defaultValueOfTypeName('LowCardinality(Nullable(String))'), toTypeName(defaultValueOfTypeName('LowCardinality(Nullable(String))'))
[CAST(NULL AS LowCardinality(Nullable(String)))], tuple(CAST(NULL AS LowCardinality(Nullable(String))))
toString(CAST(NULL AS LowCardinality(Nullable(String)))), CAST(NULL AS LowCardinality(Nullable(String))) = CAST(NULL AS LowCardinality(Nullable(String)))
SELECT x, count() FROM (SELECT CAST(NULL AS LowCardinality(Nullable(String))) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST(NULL AS LowCardinality(Nullable(String))) AS x FROM numbers(2))
if(1, CAST(NULL AS LowCardinality(Nullable(String))), CAST(NULL AS LowCardinality(Nullable(String)))), materialize(CAST(NULL AS LowCardinality(Nullable(String)))), toNullable(CAST(NULL AS LowCardinality(Nullable(String)))) IS NULL
toJSONString(CAST(NULL AS LowCardinality(Nullable(String))))
CAST([1, -1] AS Array(Int8)) AS x, toTypeName(x)
defaultValueOfTypeName('Array(Int8)'), toTypeName(defaultValueOfTypeName('Array(Int8)'))
[CAST([1, -1] AS Array(Int8))], tuple(CAST([1, -1] AS Array(Int8)))
toString(CAST([1, -1] AS Array(Int8))), CAST([1, -1] AS Array(Int8)) = CAST([1, -1] AS Array(Int8))
SELECT x, count() FROM (SELECT CAST([1, -1] AS Array(Int8)) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST([1, -1] AS Array(Int8)) AS x FROM numbers(2))
if(1, CAST([1, -1] AS Array(Int8)), CAST([1, -1] AS Array(Int8))), materialize(CAST([1, -1] AS Array(Int8)))
toJSONString(CAST([1, -1] AS Array(Int8)))
CAST(['a', NULL] AS Array(Nullable(String))) AS x, toTypeName(x)
defaultValueOfTypeName('Array(Nullable(String))'), toTypeName(defaultValueOfTypeName('Array(Nullable(String))'))
[CAST(['a', NULL] AS Array(Nullable(String)))], tuple(CAST(['a', NULL] AS Array(Nullable(String))))
toString(CAST(['a', NULL] AS Array(Nullable(String)))), CAST(['a', NULL] AS Array(Nullable(String))) = CAST(['a', NULL] AS Array(Nullable(String)))
SELECT x, count() FROM (SELECT CAST(['a', NULL] AS Array(Nullable(String))) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST(['a', NULL] AS Array(Nullable(String))) AS x FROM numbers(2))
if(1, CAST(['a', NULL] AS Array(Nullable(String))), CAST(['a', NULL] AS Array(Nullable(String)))), materialize(CAST(['a', NULL] AS Array(Nullable(String))))
toJSONString(CAST(['a', NULL] AS Array(Nullable(String))))
CAST([[1.5], []] AS Array(Array(Float64))) AS x, toTypeName(x)
defaultValueOfTypeName('Array(Array(Float64))'), toTypeName(defaultValueOfTypeName('Array(Array(Float64))'))
[CAST([[1.5], []] AS Array(Array(Float64)))], tuple(CAST([[1.5], []] AS Array(Array(Float64))))
toString(CAST([[1.5], []] AS Array(Array(Float64)))), CAST([[1.5], []] AS Array(Array(Float64))) = CAST([[1.5], []] AS Array(Array(Float64)))
SELECT x, count() FROM (SELECT CAST([[1.5], []] AS Array(Array(Float64))) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST([[1.5], []] AS Array(Array(Float64))) AS x FROM numbers(2))
if(1, CAST([[1.5], []] AS Array(Array(Float64))), CAST([[1.5], []] AS Array(Array(Float64)))), materialize(CAST([[1.5], []] AS Array(Array(Float64))))
toJSONString(CAST([[1.5], []] AS Array(Array(Float64))))
CAST(map('a', 1) AS Map(String, Int32)) AS x, toTypeName(x)
defaultValueOfTypeName('Map(String, Int32)'), toTypeName(defaultValueOfTypeName('Map(String, Int32)'))
[CAST(map('a', 1) AS Map(String, Int32))], tuple(CAST(map('a', 1) AS Map(String, Int32)))
toString(CAST(map('a', 1) AS Map(String, Int32))), CAST(map('a', 1) AS Map(String, Int32)) = CAST(map('a', 1) AS Map(String, Int32))
SELECT x, count() FROM (SELECT CAST(map('a', 1) AS Map(String, Int32)) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST(map('a', 1) AS Map(String, Int32)) AS x FROM numbers(2))
if(1, CAST(map('a', 1) AS Map(String, Int32)), CAST(map('a', 1) AS Map(String, Int32))), materialize(CAST(map('a', 1) AS Map(String, Int32))), toNullable(CAST(map('a', 1) AS Map(String, Int32))) IS NULL
toJSONString(CAST(map('a', 1) AS Map(String, Int32)))
CAST(map(1, ['x']) AS Map(Int8, Array(String))) AS x, toTypeName(x)
defaultValueOfTypeName('Map(Int8, Array(String))'), toTypeName(defaultValueOfTypeName('Map(Int8, Array(String))'))
[CAST(map(1, ['x']) AS Map(Int8, Array(String)))], tuple(CAST(map(1, ['x']) AS Map(Int8, Array(String))))
toString(CAST(map(1, ['x']) AS Map(Int8, Array(String)))), CAST(map(1, ['x']) AS Map(Int8, Array(String))) = CAST(map(1, ['x']) AS Map(Int8, Array(String)))
SELECT x, count() FROM (SELECT CAST(map(1, ['x']) AS Map(Int8, Array(String))) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST(map(1, ['x']) AS Map(Int8, Array(String))) AS x FROM numbers(2))
if(1, CAST(map(1, ['x']) AS Map(Int8, Array(String))), CAST(map(1, ['x']) AS Map(Int8, Array(String)))), materialize(CAST(map(1, ['x']) AS Map(Int8, Array(String)))), toNullable(CAST(map(1, ['x']) AS Map(Int8, Array(String)))) IS NULL
toJSONString(CAST(map(1, ['x']) AS Map(Int8, Array(String))))
CAST((1, 'a') AS Tuple(Int8, String)) AS x, toTypeName(x)
defaultValueOfTypeName('Tuple(Int8, String)'), toTypeName(defaultValueOfTypeName('Tuple(Int8, String)'))
[CAST((1, 'a') AS Tuple(Int8, String))], tuple(CAST((1, 'a') AS Tuple(Int8, String)))
toString(CAST((1, 'a') AS Tuple(Int8, String))), CAST((1, 'a') AS Tuple(Int8, String)) = CAST((1, 'a') AS Tuple(Int8, String))
SELECT x, count() FROM (SELECT CAST((1, 'a') AS Tuple(Int8, String)) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST((1, 'a') AS Tuple(Int8, String)) AS x FROM numbers(2))
if(1, CAST((1, 'a') AS Tuple(Int8, String)), CAST((1, 'a') AS Tuple(Int8, String))), materialize(CAST((1, 'a') AS Tuple(Int8, String))), toNullable(CAST((1, 'a') AS Tuple(Int8, String))) IS NULL
toJSONString(CAST((1, 'a') AS Tuple(Int8, String)))
CAST((1, tuple('x')) AS Tuple(a Int8, b Tuple(c String))) AS x, toTypeName(x)
defaultValueOfTypeName('Tuple(a Int8, b Tuple(c String))'), toTypeName(defaultValueOfTypeName('Tuple(a Int8, b Tuple(c String))'))
[CAST((1, tuple('x')) AS Tuple(a Int8, b Tuple(c String)))], tuple(CAST((1, tuple('x')) AS Tuple(a Int8, b Tuple(c String))))
toString(CAST((1, tuple('x')) AS Tuple(a Int8, b Tuple(c String)))), CAST((1, tuple('x')) AS Tuple(a Int8, b Tuple(c String))) = CAST((1, tuple('x')) AS Tuple(a Int8, b Tuple(c String)))
SELECT x, count() FROM (SELECT CAST((1, tuple('x')) AS Tuple(a Int8, b Tuple(c String))) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST((1, tuple('x')) AS Tuple(a Int8, b Tuple(c String))) AS x FROM numbers(2))
if(1, CAST((1, tuple('x')) AS Tuple(a Int8, b Tuple(c String))), CAST((1, tuple('x')) AS Tuple(a Int8, b Tuple(c String)))), materialize(CAST((1, tuple('x')) AS Tuple(a Int8, b Tuple(c String)))), toNullable(CAST((1, tuple('x')) AS Tuple(a Int8, b Tuple(c String)))) IS NULL
toJSONString(CAST((1, tuple('x')) AS Tuple(a Int8, b Tuple(c String))))
CAST([(1, 'a')] AS Array(Tuple(x UInt8, y LowCardinality(String)))) AS x, toTypeName(x)
defaultValueOfTypeName('Array(Tuple(x UInt8, y LowCardinality(String)))'), toTypeName(defaultValueOfTypeName('Array(Tuple(x UInt8, y LowCardinality(String)))'))
[CAST([(1, 'a')] AS Array(Tuple(x UInt8, y LowCardinality(String))))], tuple(CAST([(1, 'a')] AS Array(Tuple(x UInt8, y LowCardinality(String)))))
toString(CAST([(1, 'a')] AS Array(Tuple(x UInt8, y LowCardinality(String))))), CAST([(1, 'a')] AS Array(Tuple(x UInt8, y LowCardinality(String)))) = CAST([(1, 'a')] AS Array(Tuple(x UInt8, y LowCardinality(String))))
SELECT x, count() FROM (SELECT CAST([(1, 'a')] AS Array(Tuple(x UInt8, y LowCardinality(String)))) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST([(1, 'a')] AS Array(Tuple(x UInt8, y LowCardinality(String)))) AS x FROM numbers(2))
if(1, CAST([(1, 'a')] AS Array(Tuple(x UInt8, y LowCardinality(String)))), CAST([(1, 'a')] AS Array(Tuple(x UInt8, y LowCardinality(String))))), materialize(CAST([(1, 'a')] AS Array(Tuple(x UInt8, y LowCardinality(String)))))
toJSONString(CAST([(1, 'a')] AS Array(Tuple(x UInt8, y LowCardinality(String)))))
CAST([map('k', 1)] AS Array(Map(String, UInt8))) AS x, toTypeName(x)
defaultValueOfTypeName('Array(Map(String, UInt8))'), toTypeName(defaultValueOfTypeName('Array(Map(String, UInt8))'))
[CAST([map('k', 1)] AS Array(Map(String, UInt8)))], tuple(CAST([map('k', 1)] AS Array(Map(String, UInt8))))
toString(CAST([map('k', 1)] AS Array(Map(String, UInt8)))), CAST([map('k', 1)] AS Array(Map(String, UInt8))) = CAST([map('k', 1)] AS Array(Map(String, UInt8)))
SELECT x, count() FROM (SELECT CAST([map('k', 1)] AS Array(Map(String, UInt8))) AS x FROM numbers(2)) GROUP BY x
SELECT min(x), max(x), any(x), groupArray(x) FROM (SELECT CAST([map('k', 1)] AS Array(Map(String, UInt8))) AS x FROM numbers(2))
if(1, CAST([map('k', 1)] AS Array(Map(String, UInt8))), CAST([map('k', 1)] AS Array(Map(String, UInt8)))), materialize(CAST([map('k', 1)] AS Array(Map(String, UInt8))))
toJSONString(CAST([map('k', 1)] AS Array(Map(String, UInt8))))
CAST(1 AS DateTime('No/Zone'))
CAST('a' AS Enum('a', 'b')), toTypeName(CAST('a' AS Enum('a', 'b'))), toTypeName(CAST('a' AS Enum('a' = 1000)))
toTypeName(CAST(1 AS Int)), toTypeName(CAST(1 AS Float)), toTypeName(CAST('' AS Text)), toTypeName(CAST('' AS Blob)), toTypeName(CAST(1 AS bool)), toTypeName(CAST(1 AS Dec(5, 2)))
toTypeName(CAST(NULL AS Nullable(Nothing))), toTypeName([]), toTypeName(map()), toTypeName(tuple())
toTypeName(1 + 1), toTypeName(1 - 1), toTypeName(1 * 1), toTypeName(1 / 1), toTypeName(1 % 1), toTypeName(-1), toTypeName(1 + 1.0), toTypeName(toUInt64(1) + 1), toTypeName(toInt64(1) + 1)
toTypeName(toUInt32(1) + toInt32(1)), toTypeName(toUInt64(1) - toUInt64(1)), toTypeName(toInt8(1) * toUInt8(1)), toTypeName(toFloat32(1) + 1), toTypeName(toFloat32(1) * toFloat32(1)), toTypeName(intDiv(toInt64(1), toUInt8(1))), toTypeName(toUInt8(1) % toInt64(3)), toTypeName(toInt64(1) % toUInt8(3))
toTypeName(toDecimal32(1, 2) + 1), toTypeName(toDecimal32(1, 2) * toDecimal64(1, 3)), toTypeName(toDecimal64(1, 4) / toDecimal32(1, 2)), toTypeName(toDecimal128(1, 4) - 1), toTypeName(toDecimal32(1, 2) + 1.5), toTypeName(-toDecimal32(1, 2))
toTypeName(if(1, 1, -1)), toTypeName(if(1, 1, 1.5)), toTypeName(if(1, 1, NULL)), toTypeName(if(1, toDate('2020-01-01'), toDateTime('2020-01-01 00:00:00'))), toTypeName(if(1, 'a', toFixedString('b', 1)))
toTypeName(toUInt8(1) = 1), toTypeName(toNullable(1) = 1), toTypeName(1 AND 1), toTypeName(true AND true), toTypeName(NOT true), toTypeName(1 IN (1)), toTypeName(isNull(1))
toTypeName(length('a')), toTypeName(position('a', 'a')), toTypeName(toYear(today())), toTypeName(toUnixTimestamp(now())), toTypeName(rand()), toTypeName(round(1)), toTypeName(round(1.5)), toTypeName(floor(toDecimal32(1, 2))), toTypeName(abs(-1)), toTypeName(sqrt(4)), toTypeName(bitAnd(1, 300)), toTypeName(bitShiftLeft(1, 1))
toTypeName(least(1, 2.5)), toTypeName(greatest('a', 'b')), toTypeName(coalesce(NULL, 1)), toTypeName(ifNull(toNullable(1), 2)), toTypeName(nullIf(1, 2)), toTypeName(assumeNotNull(toNullable(1)))
toTypeName(arrayMap(x -> x + 1, [1])), toTypeName(arraySum([1])), toTypeName(arrayConcat([1], [300])), toTypeName(range(3)), toTypeName(arrayElement([1], 1)), toTypeName(mapKeys(map('a', 1))), toTypeName(splitByChar(',', 'a'))
CREATE TABLE ty1 (a UInt8 DEFAULT 5, b String MATERIALIZED toString(a), c Nullable(Int8), d LowCardinality(String) DEFAULT 'x') ENGINE = MergeTree ORDER BY a
INSERT INTO ty1 (c) VALUES (NULL), (1)
SELECT *, b FROM ty1 ORDER BY c
INSERT INTO ty1 (a) VALUES (256)
INSERT INTO ty1 (a) VALUES ('abc')
INSERT INTO ty1 (a) VALUES (-1)
INSERT INTO ty1 (a, c) VALUES (1)
INSERT INTO ty1 (a, c) VALUES (DEFAULT, 3)
INSERT INTO ty1 (a) SELECT 'x'
INSERT INTO ty1 (a) SELECT '12'
SELECT a, c, d FROM ty1 ORDER BY a, c
DESCRIBE TABLE ty1
SHOW CREATE TABLE ty1
DROP TABLE ty1
SELECT CAST('x' AS LowCardinality(String)) = 'x' AS c, toTypeName(c)
SELECT l, upper(l), length(l), l || 'x', toTypeName(l || 'x'), toTypeName(length(l)) FROM s ORDER BY id
SELECT nl, ifNull(nl, 'none'), toTypeName(ifNull(nl, 'none')), isNull(nl) FROM s ORDER BY id
SELECT l, count() FROM s GROUP BY l ORDER BY l
SELECT e, count() FROM c GROUP BY e ORDER BY e
SELECT * FROM n ORDER BY id
SELECT * FROM s ORDER BY id
SELECT * FROM t ORDER BY id
SELECT * FROM c ORDER BY id
SELECT * FROM g ORDER BY id
toNullable([1])
