-- Formats byte for byte: every writer over every table of edge values, totals, empty answers, no columns of text.
SELECT * FROM n ORDER BY id FORMAT CSV
SELECT * FROM s ORDER BY id FORMAT CSV
SELECT * FROM t ORDER BY id FORMAT CSV
SELECT * FROM c ORDER BY id FORMAT CSV
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT CSV
SELECT * FROM empty FORMAT CSV
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT CSV
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT CSV
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT CSV
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT CSV
SELECT * FROM n ORDER BY id FORMAT CSVWithNames
SELECT * FROM s ORDER BY id FORMAT CSVWithNames
SELECT * FROM t ORDER BY id FORMAT CSVWithNames
SELECT * FROM c ORDER BY id FORMAT CSVWithNames
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT CSVWithNames
SELECT * FROM empty FORMAT CSVWithNames
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT CSVWithNames
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT CSVWithNames
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT CSVWithNames
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT CSVWithNames
SELECT * FROM n ORDER BY id FORMAT CSVWithNamesAndTypes
SELECT * FROM s ORDER BY id FORMAT CSVWithNamesAndTypes
SELECT * FROM t ORDER BY id FORMAT CSVWithNamesAndTypes
SELECT * FROM c ORDER BY id FORMAT CSVWithNamesAndTypes
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT CSVWithNamesAndTypes
SELECT * FROM empty FORMAT CSVWithNamesAndTypes
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT CSVWithNamesAndTypes
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT CSVWithNamesAndTypes
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT CSVWithNamesAndTypes
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT CSVWithNamesAndTypes
SELECT * FROM n ORDER BY id FORMAT TSV
SELECT * FROM s ORDER BY id FORMAT TSV
SELECT * FROM t ORDER BY id FORMAT TSV
SELECT * FROM c ORDER BY id FORMAT TSV
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT TSV
SELECT * FROM empty FORMAT TSV
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT TSV
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT TSV
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT TSV
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT TSV
SELECT * FROM n ORDER BY id FORMAT TSVWithNames
SELECT * FROM s ORDER BY id FORMAT TSVWithNames
SELECT * FROM t ORDER BY id FORMAT TSVWithNames
SELECT * FROM c ORDER BY id FORMAT TSVWithNames
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT TSVWithNames
SELECT * FROM empty FORMAT TSVWithNames
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT TSVWithNames
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT TSVWithNames
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT TSVWithNames
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT TSVWithNames
SELECT * FROM n ORDER BY id FORMAT TSVWithNamesAndTypes
SELECT * FROM s ORDER BY id FORMAT TSVWithNamesAndTypes
SELECT * FROM t ORDER BY id FORMAT TSVWithNamesAndTypes
SELECT * FROM c ORDER BY id FORMAT TSVWithNamesAndTypes
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT TSVWithNamesAndTypes
SELECT * FROM empty FORMAT TSVWithNamesAndTypes
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT TSVWithNamesAndTypes
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT TSVWithNamesAndTypes
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT TSVWithNamesAndTypes
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT TSVWithNamesAndTypes
SELECT * FROM n ORDER BY id FORMAT TSVRaw
SELECT * FROM s ORDER BY id FORMAT TSVRaw
SELECT * FROM t ORDER BY id FORMAT TSVRaw
SELECT * FROM c ORDER BY id FORMAT TSVRaw
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT TSVRaw
SELECT * FROM empty FORMAT TSVRaw
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT TSVRaw
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT TSVRaw
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT TSVRaw
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT TSVRaw
SELECT * FROM n ORDER BY id FORMAT TabSeparatedRawWithNames
SELECT * FROM s ORDER BY id FORMAT TabSeparatedRawWithNames
SELECT * FROM t ORDER BY id FORMAT TabSeparatedRawWithNames
SELECT * FROM c ORDER BY id FORMAT TabSeparatedRawWithNames
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT TabSeparatedRawWithNames
SELECT * FROM empty FORMAT TabSeparatedRawWithNames
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT TabSeparatedRawWithNames
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT TabSeparatedRawWithNames
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT TabSeparatedRawWithNames
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT TabSeparatedRawWithNames
SELECT * FROM n ORDER BY id FORMAT TSKV
SELECT * FROM s ORDER BY id FORMAT TSKV
SELECT * FROM t ORDER BY id FORMAT TSKV
SELECT * FROM c ORDER BY id FORMAT TSKV
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT TSKV
SELECT * FROM empty FORMAT TSKV
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT TSKV
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT TSKV
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT TSKV
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT TSKV
SELECT * FROM n ORDER BY id FORMAT JSON
SELECT * FROM s ORDER BY id FORMAT JSON
SELECT * FROM t ORDER BY id FORMAT JSON
SELECT * FROM c ORDER BY id FORMAT JSON
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT JSON
SELECT * FROM empty FORMAT JSON
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT JSON
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT JSON
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT JSON
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT JSON
SELECT * FROM n ORDER BY id FORMAT JSONCompact
SELECT * FROM s ORDER BY id FORMAT JSONCompact
SELECT * FROM t ORDER BY id FORMAT JSONCompact
SELECT * FROM c ORDER BY id FORMAT JSONCompact
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT JSONCompact
SELECT * FROM empty FORMAT JSONCompact
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT JSONCompact
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT JSONCompact
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT JSONCompact
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT JSONCompact
SELECT * FROM n ORDER BY id FORMAT JSONEachRow
SELECT * FROM s ORDER BY id FORMAT JSONEachRow
SELECT * FROM t ORDER BY id FORMAT JSONEachRow
SELECT * FROM c ORDER BY id FORMAT JSONEachRow
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT JSONEachRow
SELECT * FROM empty FORMAT JSONEachRow
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT JSONEachRow
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT JSONEachRow
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT JSONEachRow
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT JSONEachRow
SELECT * FROM n ORDER BY id FORMAT JSONStringsEachRow
SELECT * FROM s ORDER BY id FORMAT JSONStringsEachRow
SELECT * FROM t ORDER BY id FORMAT JSONStringsEachRow
SELECT * FROM c ORDER BY id FORMAT JSONStringsEachRow
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT JSONStringsEachRow
SELECT * FROM empty FORMAT JSONStringsEachRow
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT JSONStringsEachRow
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT JSONStringsEachRow
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT JSONStringsEachRow
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT JSONStringsEachRow
SELECT * FROM n ORDER BY id FORMAT JSONCompactEachRow
SELECT * FROM s ORDER BY id FORMAT JSONCompactEachRow
SELECT * FROM t ORDER BY id FORMAT JSONCompactEachRow
SELECT * FROM c ORDER BY id FORMAT JSONCompactEachRow
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT JSONCompactEachRow
SELECT * FROM empty FORMAT JSONCompactEachRow
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT JSONCompactEachRow
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT JSONCompactEachRow
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT JSONCompactEachRow
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT JSONCompactEachRow
SELECT * FROM n ORDER BY id FORMAT JSONCompactEachRowWithNames
SELECT * FROM s ORDER BY id FORMAT JSONCompactEachRowWithNames
SELECT * FROM t ORDER BY id FORMAT JSONCompactEachRowWithNames
SELECT * FROM c ORDER BY id FORMAT JSONCompactEachRowWithNames
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT JSONCompactEachRowWithNames
SELECT * FROM empty FORMAT JSONCompactEachRowWithNames
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT JSONCompactEachRowWithNames
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT JSONCompactEachRowWithNames
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT JSONCompactEachRowWithNames
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT JSONCompactEachRowWithNames
SELECT * FROM n ORDER BY id FORMAT JSONCompactEachRowWithNamesAndTypes
SELECT * FROM s ORDER BY id FORMAT JSONCompactEachRowWithNamesAndTypes
SELECT * FROM t ORDER BY id FORMAT JSONCompactEachRowWithNamesAndTypes
SELECT * FROM c ORDER BY id FORMAT JSONCompactEachRowWithNamesAndTypes
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT JSONCompactEachRowWithNamesAndTypes
SELECT * FROM empty FORMAT JSONCompactEachRowWithNamesAndTypes
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT JSONCompactEachRowWithNamesAndTypes
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT JSONCompactEachRowWithNamesAndTypes
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT JSONCompactEachRowWithNamesAndTypes
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT JSONCompactEachRowWithNamesAndTypes
SELECT * FROM n ORDER BY id FORMAT JSONCompactStringsEachRow
SELECT * FROM s ORDER BY id FORMAT JSONCompactStringsEachRow
SELECT * FROM t ORDER BY id FORMAT JSONCompactStringsEachRow
SELECT * FROM c ORDER BY id FORMAT JSONCompactStringsEachRow
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT JSONCompactStringsEachRow
SELECT * FROM empty FORMAT JSONCompactStringsEachRow
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT JSONCompactStringsEachRow
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT JSONCompactStringsEachRow
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT JSONCompactStringsEachRow
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT JSONCompactStringsEachRow
SELECT * FROM n ORDER BY id FORMAT JSONCompactStringsEachRowWithNamesAndTypes
SELECT * FROM s ORDER BY id FORMAT JSONCompactStringsEachRowWithNamesAndTypes
SELECT * FROM t ORDER BY id FORMAT JSONCompactStringsEachRowWithNamesAndTypes
SELECT * FROM c ORDER BY id FORMAT JSONCompactStringsEachRowWithNamesAndTypes
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT JSONCompactStringsEachRowWithNamesAndTypes
SELECT * FROM empty FORMAT JSONCompactStringsEachRowWithNamesAndTypes
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT JSONCompactStringsEachRowWithNamesAndTypes
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT JSONCompactStringsEachRowWithNamesAndTypes
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT JSONCompactStringsEachRowWithNamesAndTypes
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT JSONCompactStringsEachRowWithNamesAndTypes
SELECT * FROM n ORDER BY id FORMAT Values
SELECT * FROM s ORDER BY id FORMAT Values
SELECT * FROM t ORDER BY id FORMAT Values
SELECT * FROM c ORDER BY id FORMAT Values
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT Values
SELECT * FROM empty FORMAT Values
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT Values
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT Values
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT Values
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT Values
SELECT * FROM n WHERE id NOT IN (4, 7) ORDER BY id FORMAT Vertical
SELECT * FROM s WHERE id NOT IN (7, 13) ORDER BY id FORMAT Vertical
SELECT * FROM t ORDER BY id FORMAT Vertical
SELECT * FROM c ORDER BY id FORMAT Vertical
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT Vertical
SELECT * FROM empty FORMAT Vertical
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT Vertical
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT Vertical
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT Vertical
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT Vertical
SELECT * FROM n WHERE id NOT IN (4, 7) ORDER BY id FORMAT Pretty
SELECT * FROM s WHERE id NOT IN (7, 13) ORDER BY id FORMAT Pretty
SELECT * FROM t ORDER BY id FORMAT Pretty
SELECT * FROM c ORDER BY id FORMAT Pretty
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT Pretty
SELECT * FROM empty FORMAT Pretty
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT Pretty
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT Pretty
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT Pretty
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT Pretty
SELECT * FROM n WHERE id NOT IN (4, 7) ORDER BY id FORMAT PrettyCompact
SELECT * FROM s WHERE id NOT IN (7, 13) ORDER BY id FORMAT PrettyCompact
SELECT * FROM t ORDER BY id FORMAT PrettyCompact
SELECT * FROM c ORDER BY id FORMAT PrettyCompact
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT PrettyCompact
SELECT * FROM empty FORMAT PrettyCompact
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT PrettyCompact
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT PrettyCompact
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT PrettyCompact
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT PrettyCompact
SELECT * FROM n WHERE id NOT IN (4, 7) ORDER BY id FORMAT PrettySpace
SELECT * FROM s WHERE id NOT IN (7, 13) ORDER BY id FORMAT PrettySpace
SELECT * FROM t ORDER BY id FORMAT PrettySpace
SELECT * FROM c ORDER BY id FORMAT PrettySpace
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT PrettySpace
SELECT * FROM empty FORMAT PrettySpace
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT PrettySpace
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT PrettySpace
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT PrettySpace
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT PrettySpace
SELECT * FROM n WHERE id NOT IN (4, 7) ORDER BY id FORMAT PrettyNoEscapes
SELECT * FROM s WHERE id NOT IN (7, 13) ORDER BY id FORMAT PrettyNoEscapes
SELECT * FROM t ORDER BY id FORMAT PrettyNoEscapes
SELECT * FROM c ORDER BY id FORMAT PrettyNoEscapes
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT PrettyNoEscapes
SELECT * FROM empty FORMAT PrettyNoEscapes
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT PrettyNoEscapes
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT PrettyNoEscapes
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT PrettyNoEscapes
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT PrettyNoEscapes
SELECT * FROM n WHERE id NOT IN (4, 7) ORDER BY id FORMAT PrettyCompactNoEscapes
SELECT * FROM s WHERE id NOT IN (7, 13) ORDER BY id FORMAT PrettyCompactNoEscapes
SELECT * FROM t ORDER BY id FORMAT PrettyCompactNoEscapes
SELECT * FROM c ORDER BY id FORMAT PrettyCompactNoEscapes
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT PrettyCompactNoEscapes
SELECT * FROM empty FORMAT PrettyCompactNoEscapes
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT PrettyCompactNoEscapes
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT PrettyCompactNoEscapes
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT PrettyCompactNoEscapes
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT PrettyCompactNoEscapes
SELECT * FROM n WHERE id NOT IN (4, 7) ORDER BY id FORMAT PrettySpaceNoEscapes
SELECT * FROM s WHERE id NOT IN (7, 13) ORDER BY id FORMAT PrettySpaceNoEscapes
SELECT * FROM t ORDER BY id FORMAT PrettySpaceNoEscapes
SELECT * FROM c ORDER BY id FORMAT PrettySpaceNoEscapes
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT PrettySpaceNoEscapes
SELECT * FROM empty FORMAT PrettySpaceNoEscapes
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT PrettySpaceNoEscapes
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT PrettySpaceNoEscapes
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT PrettySpaceNoEscapes
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT PrettySpaceNoEscapes
SELECT * FROM n WHERE id NOT IN (4, 7) ORDER BY id FORMAT PrettyMonoBlock
SELECT * FROM s WHERE id NOT IN (7, 13) ORDER BY id FORMAT PrettyMonoBlock
SELECT * FROM t ORDER BY id FORMAT PrettyMonoBlock
SELECT * FROM c ORDER BY id FORMAT PrettyMonoBlock
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT PrettyMonoBlock
SELECT * FROM empty FORMAT PrettyMonoBlock
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT PrettyMonoBlock
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT PrettyMonoBlock
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT PrettyMonoBlock
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT PrettyMonoBlock
SELECT * FROM n WHERE id NOT IN (4, 7) ORDER BY id FORMAT PrettyCompactMonoBlock
SELECT * FROM s WHERE id NOT IN (7, 13) ORDER BY id FORMAT PrettyCompactMonoBlock
SELECT * FROM t ORDER BY id FORMAT PrettyCompactMonoBlock
SELECT * FROM c ORDER BY id FORMAT PrettyCompactMonoBlock
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT PrettyCompactMonoBlock
SELECT * FROM empty FORMAT PrettyCompactMonoBlock
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT PrettyCompactMonoBlock
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT PrettyCompactMonoBlock
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT PrettyCompactMonoBlock
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT PrettyCompactMonoBlock
SELECT * FROM n WHERE id NOT IN (4, 7) ORDER BY id FORMAT PrettySpaceMonoBlock
SELECT * FROM s WHERE id NOT IN (7, 13) ORDER BY id FORMAT PrettySpaceMonoBlock
SELECT * FROM t ORDER BY id FORMAT PrettySpaceMonoBlock
SELECT * FROM c ORDER BY id FORMAT PrettySpaceMonoBlock
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT PrettySpaceMonoBlock
SELECT * FROM empty FORMAT PrettySpaceMonoBlock
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT PrettySpaceMonoBlock
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT PrettySpaceMonoBlock
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT PrettySpaceMonoBlock
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT PrettySpaceMonoBlock
SELECT * FROM n ORDER BY id FORMAT Markdown
SELECT * FROM s ORDER BY id FORMAT Markdown
SELECT * FROM t ORDER BY id FORMAT Markdown
SELECT * FROM c ORDER BY id FORMAT Markdown
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT Markdown
SELECT * FROM empty FORMAT Markdown
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT Markdown
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT Markdown
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT Markdown
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT Markdown
SELECT * FROM n ORDER BY id FORMAT RowBinary
SELECT * FROM s ORDER BY id FORMAT RowBinary
SELECT * FROM t ORDER BY id FORMAT RowBinary
SELECT * FROM c ORDER BY id FORMAT RowBinary
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT RowBinary
SELECT * FROM empty FORMAT RowBinary
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT RowBinary
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT RowBinary
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT RowBinary
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT RowBinary
SELECT * FROM n ORDER BY id FORMAT RowBinaryWithNames
SELECT * FROM s ORDER BY id FORMAT RowBinaryWithNames
SELECT * FROM t ORDER BY id FORMAT RowBinaryWithNames
SELECT * FROM c ORDER BY id FORMAT RowBinaryWithNames
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT RowBinaryWithNames
SELECT * FROM empty FORMAT RowBinaryWithNames
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT RowBinaryWithNames
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT RowBinaryWithNames
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT RowBinaryWithNames
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT RowBinaryWithNames
SELECT * FROM n ORDER BY id FORMAT RowBinaryWithNamesAndTypes
SELECT * FROM s ORDER BY id FORMAT RowBinaryWithNamesAndTypes
SELECT * FROM t ORDER BY id FORMAT RowBinaryWithNamesAndTypes
SELECT * FROM c ORDER BY id FORMAT RowBinaryWithNamesAndTypes
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT RowBinaryWithNamesAndTypes
SELECT * FROM empty FORMAT RowBinaryWithNamesAndTypes
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT RowBinaryWithNamesAndTypes
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT RowBinaryWithNamesAndTypes
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT RowBinaryWithNamesAndTypes
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT RowBinaryWithNamesAndTypes
SELECT * FROM n ORDER BY id FORMAT Native
SELECT * FROM s ORDER BY id FORMAT Native
SELECT * FROM t ORDER BY id FORMAT Native
SELECT * FROM c ORDER BY id FORMAT Native
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT Native
SELECT * FROM empty FORMAT Native
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT Native
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT Native
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT Native
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT Native
SELECT * FROM n ORDER BY id FORMAT CustomSeparated
SELECT * FROM s ORDER BY id FORMAT CustomSeparated
SELECT * FROM t ORDER BY id FORMAT CustomSeparated
SELECT * FROM c ORDER BY id FORMAT CustomSeparated
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT CustomSeparated
SELECT * FROM empty FORMAT CustomSeparated
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT CustomSeparated
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT CustomSeparated
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT CustomSeparated
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT CustomSeparated
SELECT * FROM n ORDER BY id FORMAT CustomSeparatedWithNames
SELECT * FROM s ORDER BY id FORMAT CustomSeparatedWithNames
SELECT * FROM t ORDER BY id FORMAT CustomSeparatedWithNames
SELECT * FROM c ORDER BY id FORMAT CustomSeparatedWithNames
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT CustomSeparatedWithNames
SELECT * FROM empty FORMAT CustomSeparatedWithNames
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT CustomSeparatedWithNames
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT CustomSeparatedWithNames
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT CustomSeparatedWithNames
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT CustomSeparatedWithNames
SELECT * FROM n ORDER BY id FORMAT CustomSeparatedWithNamesAndTypes
SELECT * FROM s ORDER BY id FORMAT CustomSeparatedWithNamesAndTypes
SELECT * FROM t ORDER BY id FORMAT CustomSeparatedWithNamesAndTypes
SELECT * FROM c ORDER BY id FORMAT CustomSeparatedWithNamesAndTypes
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT CustomSeparatedWithNamesAndTypes
SELECT * FROM empty FORMAT CustomSeparatedWithNamesAndTypes
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT CustomSeparatedWithNamesAndTypes
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT CustomSeparatedWithNamesAndTypes
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT CustomSeparatedWithNamesAndTypes
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT CustomSeparatedWithNamesAndTypes
SELECT s FROM s ORDER BY id FORMAT LineAsString
SELECT s FROM s ORDER BY id FORMAT RawBLOB
SELECT * FROM n ORDER BY id FORMAT Null
SELECT * FROM s ORDER BY id FORMAT Null
SELECT * FROM t ORDER BY id FORMAT Null
SELECT * FROM c ORDER BY id FORMAT Null
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT Null
SELECT * FROM empty FORMAT Null
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT Null
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT Null
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT Null
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT Null
SELECT * FROM n ORDER BY id FORMAT JSONLines
SELECT * FROM s ORDER BY id FORMAT JSONLines
SELECT * FROM t ORDER BY id FORMAT JSONLines
SELECT * FROM c ORDER BY id FORMAT JSONLines
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT JSONLines
SELECT * FROM empty FORMAT JSONLines
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT JSONLines
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT JSONLines
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT JSONLines
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT JSONLines
SELECT * FROM n ORDER BY id FORMAT NDJSON
SELECT * FROM s ORDER BY id FORMAT NDJSON
SELECT * FROM t ORDER BY id FORMAT NDJSON
SELECT * FROM c ORDER BY id FORMAT NDJSON
SELECT * FROM g WHERE id < 12 ORDER BY id FORMAT NDJSON
SELECT * FROM empty FORMAT NDJSON
SELECT 1 AS `a b`, 'x\ty\n"<&>\'' AS `q"'<`, NULL AS n, [1, 2] AS a, nan AS f, inf AS g, -0.0 AS z FORMAT NDJSON
SELECT k, sum(x) AS s FROM g GROUP BY k WITH TOTALS ORDER BY k FORMAT NDJSON
SELECT number, number * 1.5 AS half, toString(number) AS s FROM numbers(3) FORMAT NDJSON
SELECT k, x FROM g WHERE id < 2 ORDER BY id FORMAT NDJSON
SELECT 1 FORMAT NoSuchFormat
SELECT 1 AS x FORMAT JSON SETTINGS output_format_json_quote_64bit_integers = 1
SELECT toUInt64(1) AS x, toInt64(-1) AS y FORMAT JSONEachRow SETTINGS output_format_json_quote_64bit_integers = 1
SELECT nan AS x, inf AS y FORMAT JSONEachRow SETTINGS output_format_json_quote_denormals = 1
SELECT 'a/b' AS x FORMAT JSONEachRow SETTINGS output_format_json_escape_forward_slashes = 0
SELECT number FROM numbers(3) FORMAT JSONEachRow SETTINGS output_format_json_array_of_rows = 1
SELECT 1, 'a' FORMAT CSV SETTINGS format_csv_delimiter = ';'
SELECT NULL, 'NULL' FORMAT CSV SETTINGS format_csv_null_representation = 'nil'
SELECT NULL FORMAT TSV SETTINGS format_tsv_null_representation = 'nil'
SELECT number FROM numbers(3) FORMAT PrettyCompact SETTINGS output_format_pretty_row_numbers = 0
SELECT number FROM numbers(3) FORMAT PrettyCompact SETTINGS output_format_pretty_max_rows = 2
SELECT 'a\nb' AS x FORMAT PrettyCompact
SELECT 1234567 AS x, 1234567.5 AS y FORMAT PrettyCompact
SELECT 1000000 AS x FORMAT PrettyCompact
SELECT 1000000 AS x FORMAT Pretty
SELECT 'long' || repeat('x', 300) AS x FORMAT Vertical
SELECT number FROM numbers(60) FORMAT PrettyCompact
SELECT number, toString(number) FROM numbers(12) FORMAT Vertical
SELECT true AS b, false AS c FORMAT JSONEachRow
SELECT true, false FORMAT CSV
SELECT toDateTime64('2024-01-01 00:00:00.5', 3) AS t FORMAT JSONEachRow SETTINGS date_time_output_format = 'iso'
SELECT toDateTime('2024-01-01 00:00:00') AS t FORMAT TSV SETTINGS date_time_output_format = 'unix_timestamp'
SELECT (1, 'a') AS t, map('k', 1) AS m FORMAT JSONEachRow
SELECT CAST((1, 'a') AS Tuple(x UInt8, y String)) AS t FORMAT JSONEachRow
SELECT CAST((1, 'a') AS Tuple(x UInt8, y String)) AS t FORMAT JSONEachRow SETTINGS output_format_json_named_tuples_as_objects = 0

SELECT * FROM s WHERE id = 7 FORMAT PrettyCompact
SELECT * FROM s WHERE id = 13 FORMAT PrettyCompact
SELECT * FROM n WHERE id = 4 FORMAT Vertical
SELECT k, x FROM g ORDER BY id LIMIT 2 FORMAT JSON
