-- Maps and tuples: access, keys and values, lambdas, arithmetic on tuples, names.
FROM c: m, mi
FROM c: m['a'], m['none'], mi[1], mi[-1]
FROM c: mapKeys(m), mapValues(m), length(m), empty(mi), notEmpty(m)
FROM c: mapContains(m, 'a'), mapContainsKey(m, 'k'), mapContainsValue(m, 1), mapContainsKeyLike(m, '%a%'), mapContainsValueLike(mi, '%i%')
FROM c: mapSort(m), mapReverseSort(m), mapSort((k, v) -> v, m), mapReverseSort((k, v) -> v, m)
FROM c: mapApply((k, v) -> (k, v + 1), m), mapFilter((k, v) -> v > 1, m), mapExists((k, v) -> v = 1, m), mapAll((k, v) -> v > 0, m)
FROM c: mapAdd(m, map('a', toUInt32(5))), mapSubtract(m, map('a', toUInt32(1))), mapConcat(m, map('zz', toUInt32(0))), mapUpdate(m, map('a', toUInt32(100)))
FROM c: mapExtractKeyLike(m, 'a%'), mapExtractValueLike(mi, '%x%'), mapPartialSort(1, m)
FROM c: toString(m), m::String, CAST(m AS Map(String, Float64)), toTypeName(mi), hex(toString(m))
FROM c: m.keys, m.values, m.size0
FROM c: tu.1, tu.2, tu.a, tu.b, tt.1, tt.3
FROM c: tu = tu, tt IS NULL, tuple(tu, 1), (id, tu.1)
FROM c: tupleConcat(tu, tt), flattenTuple(tuple(tu, 1)), tupleNames(tu), tupleToNameValuePairs(tu)
FROM c: e, e = 'two', toString(e), CAST(e AS Int8), e IN ('one'), toTypeName(e), e < 'two'
FROM c: u, toString(u), u = u, hex(u), toTypeName(u), reverse(toString(u))
FROM c: aa[1], aa[-1][1], ai[id], sa[toInt8(-id)]
map('a', 1, 'b', 2), map(1, NULL), map('a', [1]), map('k', map('n', 1)), map(1, 2, 1, 3)
map('a')
map('a', 1, 1, 2)
map(NULL, 1)
map([1], 2), map((1, 2), 3), map(1.5, 2)
map('a', 1)['a'], map('a', 1)['b'], map('a', 's')['b'], map('a', NULL)['a'], map('a', toNullable(1))['z'], map(1, 2)[1]
map('a', 1)[1]
map('a', 1)[NULL]
mapFromArrays(['a', 'b'], [1, 2]), mapFromArrays([], []), MAP_FROM_ARRAYS([1], ['x'])
mapFromArrays(['a'], [1, 2])
mapValues(map('a', 1)), mapContains(map('a', 1), 'a'), length(map('a', 1, 'b', 2)), mapKeys(map(1, 2))
mapKeys(1)
mapAdd(map('a', 1), map('a', 2, 'b', 1)), mapSubtract(map('a', 1), map('a', 2)), mapAdd(map('a', 1.5), map('a', 1.5))
mapPopulateSeries(map(1, 10, 4, 40)), mapPopulateSeries(map(1, 10, 4, 40), 6), mapPopulateSeries([1, 4], [10, 40], 5)
mapConcat(map('a', 1), map('a', 2)), mapConcat(map(1, 2)), mapUpdate(map('a', 1, 'b', 2), map('b', 3, 'c', 4))
mapApply((k, v) -> (v, k), map('a', 1)), mapFilter((k, v) -> k != 'a', map('a', 1, 'b', 2)), mapExists((k, v) -> v = 2, map('a', 1))
mapSort(map('b', 1, 'a', 2)), mapReverseSort(map('b', 1, 'a', 2)), mapSort((k, v) -> v, map('b', 1, 'a', 2)), mapPartialSort(1, map('b', 1, 'a', 2))
map('a', 1) = map('a', 1), map('a', 1) = map('b', 1), map('a', 1, 'b', 2) = map('b', 2, 'a', 1)
tuple(1, 'a'), (1, NULL), (1,), ((1, 2), 3), tuple(1), (1, 'a', [1], map('a', 1))
(1, 'a').1, (1, 'a').2, tupleElement((1, 'a'), 2), ((1, 2), 3).1.2
(1, 'a').3
tupleElement((1, 2), 'x')
tuplePlus((1, 2), (3, 4)), tupleMinus((1, 2), (3, 4)), tupleMultiply((1, 2), (3, 4)), tupleDivide((1, 2), (2, 4)), tupleNegate((1, -2)), tupleMultiplyByNumber((1, 2), 3), tupleDivideByNumber((1, 2), 2), tupleIntDiv((7, 8), (2, 3)), tupleIntDivByNumber((7, 8), 2), tupleModulo((7, 8), (4, 3)), tupleModuloByNumber((7, 8), 3), tupleIntDivOrZero((1, 2), (0, 1)), tupleIntDivOrZeroByNumber((1, 2), 0)
tuplePlus((1, 2), (1, 2, 3))
tupleHammingDistance((1, 2, 3), (1, 5, 3)), tupleConcat((1, 2), ('a', true)), flattenTuple(((1, 2), 3)), tupleToNameValuePairs((1, 2)), vectorSum((1, 2), (3, 4)), vectorDifference((1, 2), (3, 4))
(1, 2) = (1, 2), (1, 'a') < (1, 'b'), (1, NULL) = (1, 2), (1, 2) IN ((1, 2)), (NULL, 1) IS NULL
SELECT CAST((1, 'a') AS Tuple(x UInt8, y String)) AS t, t.x, t.y, toTypeName(t)
SELECT (1, 2) AS t, t.1 + t.2
SELECT tuple(1 AS a, 2 AS b) AS t, toTypeName(t)
SELECT map('k', 5) AS m, m['k'] + 1, mapKeys(m)[1]
SELECT (SELECT (1, 'a')).1
FROM c: tupleElement(tu, 'a'), tupleElement(tu, 2)
map()
tuple()
FROM c: tt.3[1]
