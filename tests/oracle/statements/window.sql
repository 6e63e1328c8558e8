-- Window functions: frames, ranks, neighbours, named windows, NULL order.
SELECT id, row_number() OVER (ORDER BY id) FROM g WHERE id < 10 ORDER BY id
SELECT id, k, row_number() OVER (PARTITION BY k ORDER BY x) AS rn FROM g WHERE id < 20 ORDER BY id
SELECT id, rank() OVER (ORDER BY k), dense_rank() OVER (ORDER BY k), percent_rank() OVER (ORDER BY k) FROM g WHERE id < 12 ORDER BY id
SELECT id, cume_dist() OVER (ORDER BY k), ntile(3) OVER (ORDER BY id) FROM g WHERE id < 10 ORDER BY id
SELECT id, sum(x) OVER (ORDER BY id), sum(x) OVER (), sum(x) OVER (PARTITION BY k) FROM g WHERE id < 10 ORDER BY id
SELECT id, sum(x) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM g WHERE id < 10 ORDER BY id
SELECT id, sum(x) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW), sum(x) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM g WHERE id < 10 ORDER BY id
SELECT id, count() OVER (ORDER BY k2 RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM g WHERE id < 10 ORDER BY id
SELECT id, avg(x) OVER w, max(x) OVER w FROM g WHERE id < 10 WINDOW w AS (PARTITION BY k ORDER BY id) ORDER BY id
SELECT id, first_value(x) OVER (ORDER BY id), last_value(x) OVER (ORDER BY id), nth_value(x, 2) OVER (ORDER BY id) FROM g WHERE id < 6 ORDER BY id
SELECT id, first_value(nx) OVER (ORDER BY id), any(nx) OVER (ORDER BY id), count(nx) OVER (ORDER BY id) FROM g WHERE id < 8 ORDER BY id
SELECT id, groupArray(k) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM g WHERE id < 6 ORDER BY id
SELECT id, sum(x) OVER (ORDER BY nx NULLS FIRST, id) FROM g WHERE id < 10 ORDER BY id
SELECT k, sum(sum(x)) OVER (ORDER BY k) FROM g GROUP BY k ORDER BY k
SELECT k, count() AS c, rank() OVER (ORDER BY count() DESC, k) AS r FROM g GROUP BY k ORDER BY k
SELECT id, min(f) OVER (PARTITION BY k2 ORDER BY id ROWS 2 PRECEDING) FROM g WHERE id < 9 ORDER BY id
SELECT * FROM (SELECT id, k, row_number() OVER (PARTITION BY k ORDER BY id DESC) AS rn FROM g) WHERE rn = 1 ORDER BY id
SELECT sum(x) OVER (ORDER BY id ROWS BETWEEN 1 FOLLOWING AND 1 PRECEDING) FROM g
SELECT id, sumIf(x, k = 'a') OVER (ORDER BY id), uniqExact(k) OVER (ORDER BY id) FROM g WHERE id < 6 ORDER BY id
SELECT id, row_number() OVER (ORDER BY id DESC) AS r FROM g WHERE id < 5 QUALIFY r = 1
SELECT id, sum(x) OVER (PARTITION BY k ORDER BY id) AS s FROM g WHERE id < 12 QUALIFY s > 0 ORDER BY id
SELECT id, sum(dec) OVER (ORDER BY id), avg(dec) OVER (ORDER BY id), max(d) OVER (ORDER BY id) FROM g WHERE id < 5 ORDER BY id
SELECT id, ntile(0) OVER (ORDER BY id) FROM g
SELECT id, quantile(0.5)(x) OVER (ORDER BY id), median(x) OVER (PARTITION BY k) FROM g WHERE id < 6 ORDER BY id
