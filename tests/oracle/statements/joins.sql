-- Joins of every kind and strictness, their defaults, NULL keys, USING, several tables.
SELECT l.id, l.v, r.id, r.w FROM l INNER JOIN r ON l.k = r.k ORDER BY l.id, r.id
SELECT * FROM l INNER JOIN r ON l.k = r.k ORDER BY l.id, r.id
SELECT * FROM l INNER JOIN r USING (k) ORDER BY k, l.id, r.id
SELECT count(), sum(l.id), sum(r.t) FROM l INNER JOIN r ON l.k = r.k AND r.t > 6
SELECT l.id, r.id FROM l INNER JOIN r ON l.k = r.k ORDER BY l.id, r.id SETTINGS join_use_nulls = 1
SELECT l.id, l.v, r.id, r.w FROM l LEFT JOIN r ON l.k = r.k ORDER BY l.id, r.id
SELECT * FROM l LEFT JOIN r ON l.k = r.k ORDER BY l.id, r.id
SELECT * FROM l LEFT JOIN r USING (k) ORDER BY k, l.id, r.id
SELECT count(), sum(l.id), sum(r.t) FROM l LEFT JOIN r ON l.k = r.k AND r.t > 6
SELECT l.id, r.id FROM l LEFT JOIN r ON l.k = r.k ORDER BY l.id, r.id SETTINGS join_use_nulls = 1
SELECT l.id, l.v, r.id, r.w FROM l RIGHT JOIN r ON l.k = r.k ORDER BY l.id, r.id
SELECT * FROM l RIGHT JOIN r ON l.k = r.k ORDER BY l.id, r.id
SELECT * FROM l RIGHT JOIN r USING (k) ORDER BY k, l.id, r.id
SELECT count(), sum(l.id), sum(r.t) FROM l RIGHT JOIN r ON l.k = r.k AND r.t > 6
SELECT l.id, r.id FROM l RIGHT JOIN r ON l.k = r.k ORDER BY l.id, r.id SETTINGS join_use_nulls = 1
SELECT l.id, l.v, r.id, r.w FROM l FULL JOIN r ON l.k = r.k ORDER BY l.id, r.id
SELECT * FROM l FULL JOIN r ON l.k = r.k ORDER BY l.id, r.id
SELECT * FROM l FULL JOIN r USING (k) ORDER BY k, l.id, r.id
SELECT count(), sum(l.id), sum(r.t) FROM l FULL JOIN r ON l.k = r.k AND r.t > 6
SELECT l.id, r.id FROM l FULL JOIN r ON l.k = r.k ORDER BY l.id, r.id SETTINGS join_use_nulls = 1
SELECT l.id, l.v, l.k, r.k FROM l LEFT ANY JOIN r ON l.k = r.k ORDER BY l.id, r.k
SELECT l.id, l.v, l.k, r.k FROM l ANY LEFT JOIN r ON l.k = r.k ORDER BY l.id, r.k
SELECT l.id, l.v, l.k, r.k FROM l ANY INNER JOIN r ON l.k = r.k ORDER BY l.id, r.k
SELECT l.id, l.v FROM l SEMI LEFT JOIN r ON l.k = r.k ORDER BY l.id
SELECT l.id, l.v FROM l LEFT SEMI JOIN r ON l.k = r.k ORDER BY l.id
SELECT l.id, l.v FROM l LEFT ANTI JOIN r ON l.k = r.k ORDER BY l.id
SELECT r.id, r.w FROM l RIGHT SEMI JOIN r ON l.k = r.k ORDER BY r.id
SELECT r.id, r.w FROM l RIGHT ANTI JOIN r ON l.k = r.k ORDER BY r.id
SELECT l.id, l.v, r.id, r.w FROM l ALL LEFT JOIN r ON l.k = r.k ORDER BY l.id, r.id
SELECT * FROM l ALL LEFT JOIN r ON l.k = r.k ORDER BY l.id, r.id
SELECT * FROM l ALL LEFT JOIN r USING (k) ORDER BY k, l.id, r.id
SELECT count(), sum(l.id), sum(r.t) FROM l ALL LEFT JOIN r ON l.k = r.k AND r.t > 6
SELECT l.id, r.id FROM l ALL LEFT JOIN r ON l.k = r.k ORDER BY l.id, r.id SETTINGS join_use_nulls = 1
SELECT l.id, l.v, r.id, r.w FROM l FULL OUTER JOIN r ON l.k = r.k ORDER BY l.id, r.id
SELECT * FROM l FULL OUTER JOIN r ON l.k = r.k ORDER BY l.id, r.id
SELECT * FROM l FULL OUTER JOIN r USING (k) ORDER BY k, l.id, r.id
SELECT count(), sum(l.id), sum(r.t) FROM l FULL OUTER JOIN r ON l.k = r.k AND r.t > 6
SELECT l.id, r.id FROM l FULL OUTER JOIN r ON l.k = r.k ORDER BY l.id, r.id SETTINGS join_use_nulls = 1
SELECT l.id, l.v, r.id, r.w FROM l LEFT OUTER JOIN r ON l.k = r.k ORDER BY l.id, r.id
SELECT * FROM l LEFT OUTER JOIN r ON l.k = r.k ORDER BY l.id, r.id
SELECT * FROM l LEFT OUTER JOIN r USING (k) ORDER BY k, l.id, r.id
SELECT count(), sum(l.id), sum(r.t) FROM l LEFT OUTER JOIN r ON l.k = r.k AND r.t > 6
SELECT l.id, r.id FROM l LEFT OUTER JOIN r ON l.k = r.k ORDER BY l.id, r.id SETTINGS join_use_nulls = 1
SELECT l.id, l.v, r.id, r.w FROM l JOIN r ON l.k = r.k ORDER BY l.id, r.id
SELECT * FROM l JOIN r ON l.k = r.k ORDER BY l.id, r.id
SELECT * FROM l JOIN r USING (k) ORDER BY k, l.id, r.id
SELECT count(), sum(l.id), sum(r.t) FROM l JOIN r ON l.k = r.k AND r.t > 6
SELECT l.id, r.id FROM l JOIN r ON l.k = r.k ORDER BY l.id, r.id SETTINGS join_use_nulls = 1
SELECT l.id, l.v, l.k, r.k FROM l ANY RIGHT JOIN r ON l.k = r.k ORDER BY l.id, r.k
SELECT * FROM l, r WHERE l.k = r.k ORDER BY l.id, r.id
SELECT l.id, r.id FROM l CROSS JOIN r ORDER BY l.id, r.id LIMIT 5
SELECT a.id, b.id FROM l AS a JOIN l AS b ON a.k = b.k ORDER BY a.id, b.id
SELECT l.id, r.id, g.k FROM l JOIN r ON l.k = r.k JOIN g ON g.id = r.t ORDER BY l.id, r.id
SELECT k, l.id, r.id FROM l JOIN r USING k ORDER BY k, l.id, r.id
SELECT k, v, w FROM l LEFT JOIN r USING (k) ORDER BY k, v, w
SELECT k, v, w FROM l FULL JOIN r USING (k) ORDER BY k, v, w
SELECT l.id FROM l JOIN r ON l.k = r.k AND l.id < r.id ORDER BY l.id
SELECT l.id FROM l JOIN r ON l.nosuch = r.k
SELECT id FROM l JOIN r ON l.k = r.k
SELECT x.id, y.s FROM (SELECT id, k FROM l) AS x LEFT JOIN (SELECT k, sum(t) AS s FROM r GROUP BY k) AS y ON x.k = y.k ORDER BY x.id
SELECT l.id, toTypeName(r.w), toTypeName(r.id) FROM l LEFT JOIN r ON l.k = r.k ORDER BY l.id, r.id LIMIT 1
SELECT l.id, toTypeName(r.w), toTypeName(r.id) FROM l LEFT JOIN r ON l.k = r.k ORDER BY l.id, r.id LIMIT 1 SETTINGS join_use_nulls = 1
SELECT n1.id, n2.id FROM n AS n1 JOIN n AS n2 ON n1.ni = n2.ni ORDER BY n1.id, n2.id
SELECT n1.id, n2.id FROM n AS n1 JOIN n AS n2 ON n1.ni <=> n2.ni ORDER BY n1.id, n2.id
SELECT n1.id, n2.id FROM n AS n1 JOIN n AS n2 ON n1.i8 = n2.u8 ORDER BY n1.id, n2.id
SELECT l.id, s.s FROM l LEFT JOIN s ON l.v = s.s ORDER BY l.id
SELECT l.* FROM l JOIN r ON l.k = r.k ORDER BY l.id, r.id
SELECT l.*, r.w FROM l LEFT JOIN r ON l.k = r.k WHERE r.w IS NULL ORDER BY l.id, r.id
SELECT count() FROM l LEFT JOIN empty ON l.id = empty.id
SELECT count() FROM empty RIGHT JOIN l ON l.id = empty.id
SELECT * FROM empty JOIN l ON l.id = empty.id
SELECT l.id FROM l WHERE l.k IN (SELECT k FROM r) ORDER BY l.id
SELECT l.id FROM l WHERE l.k NOT IN (SELECT k FROM r) ORDER BY l.id
SELECT l.id FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k) ORDER BY l.id
SELECT l.id FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k) ORDER BY l.id
SELECT l.id, (SELECT max(t) FROM r WHERE r.k = l.k) AS m FROM l ORDER BY l.id
SELECT l.id FROM l JOIN r ON l.k = r.k OR l.id = r.id ORDER BY l.id, r.id
