-- Aggregates over edge values, empty input, NULL, every type; combinators and parameters.
SELECT count(x) FROM (SELECT * FROM g ORDER BY id)
SELECT count(nx) FROM (SELECT * FROM g ORDER BY id)
SELECT count(f), count(dec) FROM (SELECT * FROM g ORDER BY id)
SELECT count(k) FROM (SELECT * FROM g ORDER BY id)
SELECT count(d) FROM (SELECT * FROM g ORDER BY id)
SELECT count(x) FROM empty
SELECT k, count(x) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT count(NULL)
SELECT countIf(x, x > 0), countOrNull(x), countOrDefault(x) FROM empty
SELECT countOrNullIf(x, x > 1000) FROM g
SELECT count(i8), count(u8), count(ni) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT min(x) FROM (SELECT * FROM g ORDER BY id)
SELECT min(nx) FROM (SELECT * FROM g ORDER BY id)
SELECT min(f), min(dec) FROM (SELECT * FROM g ORDER BY id)
SELECT min(k) FROM (SELECT * FROM g ORDER BY id)
SELECT min(d) FROM (SELECT * FROM g ORDER BY id)
SELECT min(x) FROM empty
SELECT k, min(x) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT min(NULL)
SELECT minIf(x, x > 0), minOrNull(x), minOrDefault(x) FROM empty
SELECT minOrNullIf(x, x > 1000) FROM g
SELECT min(i8), min(u8), min(ni) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT min()
SELECT min(x, x, x, x) FROM g
SELECT max(x) FROM (SELECT * FROM g ORDER BY id)
SELECT max(nx) FROM (SELECT * FROM g ORDER BY id)
SELECT max(f), max(dec) FROM (SELECT * FROM g ORDER BY id)
SELECT max(k) FROM (SELECT * FROM g ORDER BY id)
SELECT max(d) FROM (SELECT * FROM g ORDER BY id)
SELECT max(x) FROM empty
SELECT k, max(x) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT max(NULL)
SELECT maxIf(x, x > 0), maxOrNull(x), maxOrDefault(x) FROM empty
SELECT maxOrNullIf(x, x > 1000) FROM g
SELECT max(i8), max(u8), max(ni) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT max()
SELECT max(x, x, x, x) FROM g
SELECT sum(x) FROM (SELECT * FROM g ORDER BY id)
SELECT sum(nx) FROM (SELECT * FROM g ORDER BY id)
SELECT sum(f), sum(dec) FROM (SELECT * FROM g ORDER BY id)
SELECT sum(k) FROM (SELECT * FROM g ORDER BY id)
SELECT sum(d) FROM (SELECT * FROM g ORDER BY id)
SELECT sum(x) FROM empty
SELECT k, sum(x) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT sum(NULL)
SELECT sumIf(x, x > 0), sumOrNull(x), sumOrDefault(x) FROM empty
SELECT sumOrNullIf(x, x > 1000) FROM g
SELECT sum(i8), sum(u8), sum(ni) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT sum()
SELECT sum(x, x, x, x) FROM g
SELECT avg(x) FROM (SELECT * FROM g ORDER BY id)
SELECT avg(nx) FROM (SELECT * FROM g ORDER BY id)
SELECT avg(f), avg(dec) FROM (SELECT * FROM g ORDER BY id)
SELECT avg(k) FROM (SELECT * FROM g ORDER BY id)
SELECT avg(d) FROM (SELECT * FROM g ORDER BY id)
SELECT avg(x) FROM empty
SELECT k, avg(x) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT avg(NULL)
SELECT avgIf(x, x > 0), avgOrNull(x), avgOrDefault(x) FROM empty
SELECT avgOrNullIf(x, x > 1000) FROM g
SELECT avg(i8), avg(u8), avg(ni) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT avg()
SELECT avg(x, x, x, x) FROM g
SELECT any(x) FROM (SELECT * FROM g ORDER BY id)
SELECT any(nx) FROM (SELECT * FROM g ORDER BY id)
SELECT any(f), any(dec) FROM (SELECT * FROM g ORDER BY id)
SELECT any(k) FROM (SELECT * FROM g ORDER BY id)
SELECT any(d) FROM (SELECT * FROM g ORDER BY id)
SELECT any(x) FROM empty
SELECT k, any(x) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT any(NULL)
SELECT anyIf(x, x > 0), anyOrNull(x), anyOrDefault(x) FROM empty
SELECT anyOrNullIf(x, x > 1000) FROM g
SELECT any(i8), any(u8), any(ni) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT any()
SELECT any(x, x, x, x) FROM g
SELECT anyLast(x) FROM (SELECT * FROM g ORDER BY id)
SELECT anyLast(nx) FROM (SELECT * FROM g ORDER BY id)
SELECT anyLast(f), anyLast(dec) FROM (SELECT * FROM g ORDER BY id)
SELECT anyLast(k) FROM (SELECT * FROM g ORDER BY id)
SELECT anyLast(d) FROM (SELECT * FROM g ORDER BY id)
SELECT anyLast(x) FROM empty
SELECT k, anyLast(x) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT anyLastIf(x, x > 0), anyLastOrNull(x), anyLastOrDefault(x) FROM empty
SELECT anyLastOrNullIf(x, x > 1000) FROM g
SELECT anyLast(i8), anyLast(u8), anyLast(ni) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT anyLast()
SELECT anyLast(x, x, x, x) FROM g
SELECT uniq(x) FROM (SELECT * FROM g ORDER BY id)
SELECT uniq(nx) FROM (SELECT * FROM g ORDER BY id)
SELECT uniq(f), uniq(dec) FROM (SELECT * FROM g ORDER BY id)
SELECT uniq(k) FROM (SELECT * FROM g ORDER BY id)
SELECT uniq(d) FROM (SELECT * FROM g ORDER BY id)
SELECT uniq(x) FROM empty
SELECT k, uniq(x) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT uniqIf(x, x > 0), uniqOrNull(x), uniqOrDefault(x) FROM empty
SELECT uniqOrNullIf(x, x > 1000) FROM g
SELECT uniq(i8), uniq(u8), uniq(ni) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT uniqExact(x) FROM (SELECT * FROM g ORDER BY id)
SELECT uniqExact(nx) FROM (SELECT * FROM g ORDER BY id)
SELECT uniqExact(f), uniqExact(dec) FROM (SELECT * FROM g ORDER BY id)
SELECT uniqExact(k) FROM (SELECT * FROM g ORDER BY id)
SELECT uniqExact(d) FROM (SELECT * FROM g ORDER BY id)
SELECT uniqExact(x) FROM empty
SELECT k, uniqExact(x) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT uniqExact(NULL)
SELECT uniqExactIf(x, x > 0), uniqExactOrNull(x), uniqExactOrDefault(x) FROM empty
SELECT uniqExactOrNullIf(x, x > 1000) FROM g
SELECT uniqExact(i8), uniqExact(u8), uniqExact(ni) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT round(stddevPop(x), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(stddevPop(nx), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(stddevPop(f), 9), round(stddevPop(dec), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(stddevPop(k), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(stddevPop(d), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(stddevPop(x), 9) FROM empty
SELECT k, round(stddevPop(x), 9) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT round(stddevPopIf(x, x > 0), 9), round(stddevPopOrNull(x), 9), round(stddevPopOrDefault(x), 9) FROM empty
SELECT round(stddevPopOrNullIf(x, x > 1000), 9) FROM g
SELECT round(stddevPop(i8), 9), round(stddevPop(u8), 9) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT stddevPop()
SELECT round(stddevPop(x, x, x, x), 9) FROM g
SELECT round(stddevSamp(x), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(stddevSamp(nx), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(stddevSamp(f), 9), round(stddevSamp(dec), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(stddevSamp(k), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(stddevSamp(d), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(stddevSamp(x), 9) FROM empty
SELECT k, round(stddevSamp(x), 9) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT round(stddevSampIf(x, x > 0), 9), round(stddevSampOrNull(x), 9), round(stddevSampOrDefault(x), 9) FROM empty
SELECT round(stddevSampOrNullIf(x, x > 1000), 9) FROM g
SELECT round(stddevSamp(i8), 9), round(stddevSamp(u8), 9) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT stddevSamp()
SELECT round(stddevSamp(x, x, x, x), 9) FROM g
SELECT round(varPop(x), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(varPop(nx), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(varPop(f), 9), round(varPop(dec), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(varPop(k), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(varPop(d), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(varPop(x), 9) FROM empty
SELECT k, round(varPop(x), 9) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT round(varPopIf(x, x > 0), 9), round(varPopOrNull(x), 9), round(varPopOrDefault(x), 9) FROM empty
SELECT round(varPopOrNullIf(x, x > 1000), 9) FROM g
SELECT round(varPop(i8), 9), round(varPop(u8), 9) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT varPop()
SELECT round(varPop(x, x, x, x), 9) FROM g
SELECT round(varSamp(x), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(varSamp(nx), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(varSamp(f), 9), round(varSamp(dec), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(varSamp(k), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(varSamp(d), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(varSamp(x), 9) FROM empty
SELECT k, round(varSamp(x), 9) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT round(varSampIf(x, x > 0), 9), round(varSampOrNull(x), 9), round(varSampOrDefault(x), 9) FROM empty
SELECT round(varSampOrNullIf(x, x > 1000), 9) FROM g
SELECT round(varSamp(i8), 9), round(varSamp(u8), 9) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT varSamp()
SELECT round(varSamp(x, x, x, x), 9) FROM g
SELECT round(skewPop(x), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(skewPop(nx), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(skewPop(f), 9), round(skewPop(dec), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(skewPop(k), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(skewPop(d), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(skewPop(x), 9) FROM empty
SELECT k, round(skewPop(x), 9) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT round(skewPopIf(x, x > 0), 9), round(skewPopOrNull(x), 9), round(skewPopOrDefault(x), 9) FROM empty
SELECT round(skewPopOrNullIf(x, x > 1000), 9) FROM g
SELECT round(skewPop(i8), 9), round(skewPop(u8), 9), round(skewPop(ni), 9) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT skewPop()
SELECT round(skewPop(x, x, x, x), 9) FROM g
SELECT round(skewSamp(x), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(skewSamp(nx), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(skewSamp(f), 9), round(skewSamp(dec), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(skewSamp(k), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(skewSamp(d), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(skewSamp(x), 9) FROM empty
SELECT k, round(skewSamp(x), 9) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT round(skewSampIf(x, x > 0), 9), round(skewSampOrNull(x), 9), round(skewSampOrDefault(x), 9) FROM empty
SELECT round(skewSampOrNullIf(x, x > 1000), 9) FROM g
SELECT round(skewSamp(i8), 9), round(skewSamp(u8), 9), round(skewSamp(ni), 9) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT skewSamp()
SELECT round(skewSamp(x, x, x, x), 9) FROM g
SELECT round(kurtPop(x), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(kurtPop(nx), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(kurtPop(f), 9), round(kurtPop(dec), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(kurtPop(k), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(kurtPop(d), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(kurtPop(x), 9) FROM empty
SELECT k, round(kurtPop(x), 9) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT round(kurtPopIf(x, x > 0), 9), round(kurtPopOrNull(x), 9), round(kurtPopOrDefault(x), 9) FROM empty
SELECT round(kurtPopOrNullIf(x, x > 1000), 9) FROM g
SELECT round(kurtPop(i8), 9), round(kurtPop(u8), 9), round(kurtPop(ni), 9) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT kurtPop()
SELECT round(kurtPop(x, x, x, x), 9) FROM g
SELECT round(kurtSamp(x), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(kurtSamp(nx), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(kurtSamp(f), 9), round(kurtSamp(dec), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(kurtSamp(k), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(kurtSamp(d), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT round(kurtSamp(x), 9) FROM empty
SELECT k, round(kurtSamp(x), 9) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT round(kurtSampIf(x, x > 0), 9), round(kurtSampOrNull(x), 9), round(kurtSampOrDefault(x), 9) FROM empty
SELECT round(kurtSampOrNullIf(x, x > 1000), 9) FROM g
SELECT round(kurtSamp(i8), 9), round(kurtSamp(u8), 9), round(kurtSamp(ni), 9) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT kurtSamp()
SELECT round(kurtSamp(x, x, x, x), 9) FROM g
SELECT median(x) FROM (SELECT * FROM g ORDER BY id)
SELECT median(nx) FROM (SELECT * FROM g ORDER BY id)
SELECT median(f), median(dec) FROM (SELECT * FROM g ORDER BY id)
SELECT median(k) FROM (SELECT * FROM g ORDER BY id)
SELECT median(d) FROM (SELECT * FROM g ORDER BY id)
SELECT median(x) FROM empty
SELECT k, median(x) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT medianIf(x, x > 0), medianOrNull(x), medianOrDefault(x) FROM empty
SELECT medianOrNullIf(x, x > 1000) FROM g
SELECT median(i8), median(u8), median(ni) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT median()
SELECT median(x, x, x, x) FROM g
SELECT quantile(x) FROM (SELECT * FROM g ORDER BY id)
SELECT quantile(nx) FROM (SELECT * FROM g ORDER BY id)
SELECT quantile(f), quantile(dec) FROM (SELECT * FROM g ORDER BY id)
SELECT quantile(k) FROM (SELECT * FROM g ORDER BY id)
SELECT quantile(d) FROM (SELECT * FROM g ORDER BY id)
SELECT quantile(x) FROM empty
SELECT k, quantile(x) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT quantileIf(x, x > 0), quantileOrNull(x), quantileOrDefault(x) FROM empty
SELECT quantileOrNullIf(x, x > 1000) FROM g
SELECT quantile(i8), quantile(u8), quantile(ni) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT quantile()
SELECT quantile(x, x, x, x) FROM g
SELECT quantileExact(x) FROM (SELECT * FROM g ORDER BY id)
SELECT quantileExact(nx) FROM (SELECT * FROM g ORDER BY id)
SELECT quantileExact(f), quantileExact(dec) FROM (SELECT * FROM g ORDER BY id)
SELECT quantileExact(k) FROM (SELECT * FROM g ORDER BY id)
SELECT quantileExact(d) FROM (SELECT * FROM g ORDER BY id)
SELECT quantileExact(x) FROM empty
SELECT k, quantileExact(x) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT quantileExactIf(x, x > 0), quantileExactOrNull(x), quantileExactOrDefault(x) FROM empty
SELECT quantileExactOrNullIf(x, x > 1000) FROM g
SELECT quantileExact(i8), quantileExact(u8), quantileExact(ni) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT quantileExact()
SELECT quantileExact(x, x, x, x) FROM g
SELECT groupArray(x) FROM (SELECT * FROM g ORDER BY id)
SELECT groupArray(nx) FROM (SELECT * FROM g ORDER BY id)
SELECT groupArray(f), groupArray(dec) FROM (SELECT * FROM g ORDER BY id)
SELECT groupArray(k) FROM (SELECT * FROM g ORDER BY id)
SELECT groupArray(d) FROM (SELECT * FROM g ORDER BY id)
SELECT groupArray(x) FROM empty
SELECT k, groupArray(x) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT groupArray(NULL)
SELECT groupArrayIf(x, x > 0), groupArrayOrNull(x), groupArrayOrDefault(x) FROM empty
SELECT groupArrayOrNullIf(x, x > 1000) FROM g
SELECT groupArray(i8), groupArray(u8), groupArray(ni) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT groupArray()
SELECT groupArray(x, x, x, x) FROM g
SELECT arraySort(groupUniqArray(x)) FROM (SELECT * FROM g ORDER BY id)
SELECT arraySort(groupUniqArray(nx)) FROM (SELECT * FROM g ORDER BY id)
SELECT arraySort(groupUniqArray(f)), arraySort(groupUniqArray(dec)) FROM (SELECT * FROM g ORDER BY id)
SELECT arraySort(groupUniqArray(k)) FROM (SELECT * FROM g ORDER BY id)
SELECT arraySort(groupUniqArray(d)) FROM (SELECT * FROM g ORDER BY id)
SELECT arraySort(groupUniqArray(x)) FROM empty
SELECT k, arraySort(groupUniqArray(x)) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT groupUniqArrayIf(x, x > 0), groupUniqArrayOrNull(x), groupUniqArrayOrDefault(x) FROM empty
SELECT groupUniqArrayOrNullIf(x, x > 1000) FROM g
SELECT arraySort(groupUniqArray(i8)), arraySort(groupUniqArray(u8)), arraySort(groupUniqArray(ni)) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT groupUniqArray()
SELECT groupUniqArray(x, x, x, x) FROM g
SELECT sumKahan(x) FROM (SELECT * FROM g ORDER BY id)
SELECT sumKahan(nx) FROM (SELECT * FROM g ORDER BY id)
SELECT sumKahan(f), sumKahan(dec) FROM (SELECT * FROM g ORDER BY id)
SELECT sumKahan(k) FROM (SELECT * FROM g ORDER BY id)
SELECT sumKahan(d) FROM (SELECT * FROM g ORDER BY id)
SELECT sumKahan(x) FROM empty
SELECT k, sumKahan(x) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT sumKahanIf(x, x > 0), sumKahanOrNull(x), sumKahanOrDefault(x) FROM empty
SELECT sumKahanOrNullIf(x, x > 1000) FROM g
SELECT sumKahan(i8), sumKahan(u8), sumKahan(ni) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT sumKahan()
SELECT sumKahan(x, x, x, x) FROM g
SELECT sumWithOverflow(x) FROM (SELECT * FROM g ORDER BY id)
SELECT sumWithOverflow(nx) FROM (SELECT * FROM g ORDER BY id)
SELECT sumWithOverflow(f), sumWithOverflow(dec) FROM (SELECT * FROM g ORDER BY id)
SELECT sumWithOverflow(k) FROM (SELECT * FROM g ORDER BY id)
SELECT sumWithOverflow(d) FROM (SELECT * FROM g ORDER BY id)
SELECT sumWithOverflow(x) FROM empty
SELECT k, sumWithOverflow(x) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT sumWithOverflowIf(x, x > 0), sumWithOverflowOrNull(x), sumWithOverflowOrDefault(x) FROM empty
SELECT sumWithOverflowOrNullIf(x, x > 1000) FROM g
SELECT sumWithOverflow(i8), sumWithOverflow(u8), sumWithOverflow(ni) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT sumWithOverflow()
SELECT sumWithOverflow(x, x, x, x) FROM g
SELECT sumCount(x) FROM (SELECT * FROM g ORDER BY id)
SELECT sumCount(nx) FROM (SELECT * FROM g ORDER BY id)
SELECT sumCount(f), sumCount(dec) FROM (SELECT * FROM g ORDER BY id)
SELECT sumCount(k) FROM (SELECT * FROM g ORDER BY id)
SELECT sumCount(d) FROM (SELECT * FROM g ORDER BY id)
SELECT sumCount(x) FROM empty
SELECT k, sumCount(x) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT sumCountIf(x, x > 0), sumCountOrNull(x), sumCountOrDefault(x) FROM empty
SELECT sumCountOrNullIf(x, x > 1000) FROM g
SELECT sumCount(i8), sumCount(u8), sumCount(ni) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT sumCount()
SELECT sumCount(x, x, x, x) FROM g
SELECT entropy(x) FROM (SELECT * FROM g ORDER BY id)
SELECT entropy(nx) FROM (SELECT * FROM g ORDER BY id)
SELECT entropy(f), entropy(dec) FROM (SELECT * FROM g ORDER BY id)
SELECT entropy(k) FROM (SELECT * FROM g ORDER BY id)
SELECT entropy(d) FROM (SELECT * FROM g ORDER BY id)
SELECT entropy(x) FROM empty
SELECT k, entropy(x) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT entropyIf(x, x > 0), entropyOrNull(x), entropyOrDefault(x) FROM empty
SELECT entropyOrNullIf(x, x > 1000) FROM g
SELECT singleValueOrNull(x) FROM (SELECT * FROM g ORDER BY id)
SELECT singleValueOrNull(nx) FROM (SELECT * FROM g ORDER BY id)
SELECT singleValueOrNull(f), singleValueOrNull(dec) FROM (SELECT * FROM g ORDER BY id)
SELECT singleValueOrNull(k) FROM (SELECT * FROM g ORDER BY id)
SELECT singleValueOrNull(d) FROM (SELECT * FROM g ORDER BY id)
SELECT singleValueOrNull(x) FROM empty
SELECT k, singleValueOrNull(x) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT singleValueOrNullIf(x, x > 0), singleValueOrNullOrNull(x), singleValueOrNullOrDefault(x) FROM empty
SELECT singleValueOrNullOrNullIf(x, x > 1000) FROM g
SELECT singleValueOrNull(i8), singleValueOrNull(u8), singleValueOrNull(ni) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT singleValueOrNull()
SELECT singleValueOrNull(x, x, x, x) FROM g
SELECT anyHeavy(x) FROM (SELECT * FROM g ORDER BY id)
SELECT anyHeavy(nx) FROM (SELECT * FROM g ORDER BY id)
SELECT anyHeavy(f), anyHeavy(dec) FROM (SELECT * FROM g ORDER BY id)
SELECT anyHeavy(k) FROM (SELECT * FROM g ORDER BY id)
SELECT anyHeavy(d) FROM (SELECT * FROM g ORDER BY id)
SELECT anyHeavy(x) FROM empty
SELECT anyHeavy(x), 1 FROM empty
SELECT anyHeavyIf(x, x > 0), anyHeavyOrNull(x), anyHeavyOrDefault(x) FROM empty
SELECT anyHeavyOrNullIf(x, x > 1000) FROM g
SELECT anyHeavy()
SELECT anyHeavy(x, x, x, x) FROM g
SELECT first_value(x) FROM (SELECT * FROM g ORDER BY id)
SELECT first_value(nx) FROM (SELECT * FROM g ORDER BY id)
SELECT first_value(f), first_value(dec) FROM (SELECT * FROM g ORDER BY id)
SELECT first_value(k) FROM (SELECT * FROM g ORDER BY id)
SELECT first_value(d) FROM (SELECT * FROM g ORDER BY id)
SELECT first_value(x) FROM empty
SELECT k, first_value(x) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT first_valueIf(x, x > 0), first_valueOrNull(x), first_valueOrDefault(x) FROM empty
SELECT first_valueOrNullIf(x, x > 1000) FROM g
SELECT first_value(i8), first_value(u8), first_value(ni) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT first_value()
SELECT first_value(x, x, x, x) FROM g
SELECT last_value(x) FROM (SELECT * FROM g ORDER BY id)
SELECT last_value(nx) FROM (SELECT * FROM g ORDER BY id)
SELECT last_value(f), last_value(dec) FROM (SELECT * FROM g ORDER BY id)
SELECT last_value(k) FROM (SELECT * FROM g ORDER BY id)
SELECT last_value(d) FROM (SELECT * FROM g ORDER BY id)
SELECT last_value(x) FROM empty
SELECT k, last_value(x) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT last_valueIf(x, x > 0), last_valueOrNull(x), last_valueOrDefault(x) FROM empty
SELECT last_valueOrNullIf(x, x > 1000) FROM g
SELECT last_value(i8), last_value(u8), last_value(ni) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT last_value()
SELECT last_value(x, x, x, x) FROM g
SELECT deltaSum(x) FROM (SELECT * FROM g ORDER BY id)
SELECT deltaSum(nx) FROM (SELECT * FROM g ORDER BY id)
SELECT deltaSum(f), deltaSum(dec) FROM (SELECT * FROM g ORDER BY id)
SELECT deltaSum(k) FROM (SELECT * FROM g ORDER BY id)
SELECT deltaSum(d) FROM (SELECT * FROM g ORDER BY id)
SELECT deltaSum(x) FROM empty
SELECT k, deltaSum(x) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT deltaSumIf(x, x > 0), deltaSumOrNull(x), deltaSumOrDefault(x) FROM empty
SELECT deltaSumOrNullIf(x, x > 1000) FROM g
SELECT deltaSum(i8), deltaSum(u8), deltaSum(ni) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT deltaSum()
SELECT deltaSum(x, x, x, x) FROM g
SELECT groupBitAnd(toUInt32(x + 50)) FROM g
SELECT groupBitAnd(toUInt8(nx)) FROM g
SELECT groupBitAnd(x) FROM empty
SELECT k, groupBitAnd(toUInt8(x + 50)) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT groupBitAndIf(x, x > 0), groupBitAndOrNull(x), groupBitAndOrDefault(x) FROM empty
SELECT groupBitAndOrNullIf(x, x > 1000) FROM g
SELECT groupBitAnd(i8), groupBitAnd(u64) FROM n WHERE id < 6
SELECT groupBitAnd()
SELECT groupBitAnd(x, x, x, x) FROM g
SELECT groupBitOr(toUInt32(x + 50)) FROM g
SELECT groupBitOr(toUInt8(nx)) FROM g
SELECT groupBitOr(x) FROM empty
SELECT k, groupBitOr(toUInt8(x + 50)) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT groupBitOrIf(x, x > 0), groupBitOrOrNull(x), groupBitOrOrDefault(x) FROM empty
SELECT groupBitOrOrNullIf(x, x > 1000) FROM g
SELECT groupBitOr(i8), groupBitOr(u64) FROM n WHERE id < 6
SELECT groupBitOr()
SELECT groupBitOr(x, x, x, x) FROM g
SELECT groupBitXor(toUInt32(x + 50)) FROM g
SELECT groupBitXor(toUInt8(nx)) FROM g
SELECT groupBitXor(x) FROM empty
SELECT k, groupBitXor(toUInt8(x + 50)) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT groupBitXorIf(x, x > 0), groupBitXorOrNull(x), groupBitXorOrDefault(x) FROM empty
SELECT groupBitXorOrNullIf(x, x > 1000) FROM g
SELECT groupBitXor(i8), groupBitXor(u64) FROM n WHERE id < 6
SELECT groupBitXor()
SELECT groupBitXor(x, x, x, x) FROM g
SELECT quantileExactLow(x) FROM (SELECT * FROM g ORDER BY id)
SELECT quantileExactLow(nx) FROM (SELECT * FROM g ORDER BY id)
SELECT quantileExactLow(f), quantileExactLow(dec) FROM (SELECT * FROM g ORDER BY id)
SELECT quantileExactLow(k) FROM (SELECT * FROM g ORDER BY id)
SELECT quantileExactLow(d) FROM (SELECT * FROM g ORDER BY id)
SELECT quantileExactLow(x) FROM empty
SELECT k, quantileExactLow(x) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT quantileExactLowIf(x, x > 0), quantileExactLowOrNull(x), quantileExactLowOrDefault(x) FROM empty
SELECT quantileExactLowOrNullIf(x, x > 1000) FROM g
SELECT quantileExactLow(i8), quantileExactLow(u8), quantileExactLow(ni) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT quantileExactLow()
SELECT quantileExactLow(x, x, x, x) FROM g
SELECT quantileExactHigh(x) FROM (SELECT * FROM g ORDER BY id)
SELECT quantileExactHigh(nx) FROM (SELECT * FROM g ORDER BY id)
SELECT quantileExactHigh(f), quantileExactHigh(dec) FROM (SELECT * FROM g ORDER BY id)
SELECT quantileExactHigh(k) FROM (SELECT * FROM g ORDER BY id)
SELECT quantileExactHigh(d) FROM (SELECT * FROM g ORDER BY id)
SELECT quantileExactHigh(x) FROM empty
SELECT k, quantileExactHigh(x) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT quantileExactHighIf(x, x > 0), quantileExactHighOrNull(x), quantileExactHighOrDefault(x) FROM empty
SELECT quantileExactHighOrNullIf(x, x > 1000) FROM g
SELECT quantileExactHigh(i8), quantileExactHigh(u8), quantileExactHigh(ni) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT quantileExactHigh()
SELECT quantileExactHigh(x, x, x, x) FROM g
SELECT any_respect_nulls(x) FROM (SELECT * FROM g ORDER BY id)
SELECT any_respect_nulls(nx) FROM (SELECT * FROM g ORDER BY id)
SELECT any_respect_nulls(f), any_respect_nulls(dec) FROM (SELECT * FROM g ORDER BY id)
SELECT any_respect_nulls(k) FROM (SELECT * FROM g ORDER BY id)
SELECT any_respect_nulls(d) FROM (SELECT * FROM g ORDER BY id)
SELECT any_respect_nulls(x) FROM empty
SELECT k, any_respect_nulls(x) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT any_respect_nullsIf(x, x > 0), any_respect_nullsOrNull(x), any_respect_nullsOrDefault(x) FROM empty
SELECT any_respect_nullsOrNullIf(x, x > 1000) FROM g
SELECT any_respect_nulls(i8), any_respect_nulls(u8), any_respect_nulls(ni) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT any_respect_nulls()
SELECT any_respect_nulls(x, x, x, x) FROM g
SELECT anyLast_respect_nulls(x) FROM (SELECT * FROM g ORDER BY id)
SELECT anyLast_respect_nulls(nx) FROM (SELECT * FROM g ORDER BY id)
SELECT anyLast_respect_nulls(f), anyLast_respect_nulls(dec) FROM (SELECT * FROM g ORDER BY id)
SELECT anyLast_respect_nulls(k) FROM (SELECT * FROM g ORDER BY id)
SELECT anyLast_respect_nulls(d) FROM (SELECT * FROM g ORDER BY id)
SELECT anyLast_respect_nulls(x) FROM empty
SELECT k, anyLast_respect_nulls(x) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT anyLast_respect_nullsIf(x, x > 0), anyLast_respect_nullsOrNull(x), anyLast_respect_nullsOrDefault(x) FROM empty
SELECT anyLast_respect_nullsOrNullIf(x, x > 1000) FROM g
SELECT anyLast_respect_nulls(i8), anyLast_respect_nulls(u8), anyLast_respect_nulls(ni) FROM (SELECT * FROM n WHERE id != 4 ORDER BY id)
SELECT anyLast_respect_nulls()
SELECT anyLast_respect_nulls(x, x, x, x) FROM g
SELECT groupConcat(x) FROM (SELECT * FROM g ORDER BY id)
SELECT groupConcat(nx) FROM (SELECT * FROM g ORDER BY id)
SELECT groupConcat(f), groupConcat(dec) FROM (SELECT * FROM g ORDER BY id)
SELECT groupConcat(k) FROM (SELECT * FROM g ORDER BY id)
SELECT groupConcat(d) FROM (SELECT * FROM g ORDER BY id)
SELECT groupConcat(x) FROM empty
SELECT groupConcatIf(x, x > 0), groupConcatOrNull(x), groupConcatOrDefault(x) FROM empty
SELECT groupConcatOrNullIf(x, x > 1000) FROM g
SELECT groupConcat()
SELECT topK(x) FROM empty
SELECT topK(x), 1 FROM empty
SELECT topKIf(x, x > 0), topKOrNull(x), topKOrDefault(x) FROM empty
SELECT topKOrNullIf(x, x > 1000) FROM g
SELECT topK()
SELECT topK(x, x, x, x) FROM g
SELECT simpleLinearRegression(x, f) FROM g
SELECT quantileTDigest(x) FROM empty
SELECT quantileTDigestIf(x, x > 0), quantileTDigestOrNull(x), quantileTDigestOrDefault(x) FROM empty
SELECT quantileTDigest()
SELECT quantileTiming(x) FROM empty
SELECT quantileTimingIf(x, x > 0), quantileTimingOrNull(x), quantileTimingOrDefault(x) FROM empty
SELECT quantileTiming()
SELECT groupBitmap(toUInt32(x + 50)) FROM g
SELECT groupBitmap(toUInt8(nx)) FROM g
SELECT groupBitmap(x) FROM empty
SELECT k, groupBitmap(toUInt8(x + 50)) FROM g WHERE id < 40 GROUP BY k ORDER BY k
SELECT groupBitmapIf(x, x > 0), groupBitmapOrNull(x), groupBitmapOrDefault(x) FROM empty
SELECT groupBitmap()
SELECT sumIf(x, x > 0), sumIf(nx, nx > 3), sumIf(x, 0) FROM (SELECT * FROM g ORDER BY id)
SELECT sumIf(x, NULL) FROM (SELECT * FROM g ORDER BY id)
SELECT sumDistinct(k2) FROM g
SELECT sumMap(map(k, x)) FROM (SELECT * FROM g ORDER BY id)
SELECT avgIf(x, x > 0), avgIf(nx, nx > 3), avgIf(x, 0) FROM (SELECT * FROM g ORDER BY id)
SELECT avgIf(x, NULL) FROM (SELECT * FROM g ORDER BY id)
SELECT avgDistinct(k2) FROM g
SELECT countIf(x, x > 0), countIf(nx, nx > 3), countIf(x, 0) FROM (SELECT * FROM g ORDER BY id)
SELECT countIf(x, NULL) FROM (SELECT * FROM g ORDER BY id)
SELECT countDistinct(k2) FROM g
SELECT minIf(x, x > 0), minIf(nx, nx > 3), minIf(x, 0) FROM (SELECT * FROM g ORDER BY id)
SELECT minIf(x, NULL) FROM (SELECT * FROM g ORDER BY id)
SELECT minDistinct(k2) FROM g
SELECT minMap(map(k, x)) FROM (SELECT * FROM g ORDER BY id)
SELECT maxIf(x, x > 0), maxIf(nx, nx > 3), maxIf(x, 0) FROM (SELECT * FROM g ORDER BY id)
SELECT maxIf(x, NULL) FROM (SELECT * FROM g ORDER BY id)
SELECT maxDistinct(k2) FROM g
SELECT maxMap(map(k, x)) FROM (SELECT * FROM g ORDER BY id)
SELECT uniqExactIf(x, x > 0), uniqExactIf(nx, nx > 3), uniqExactIf(x, 0) FROM (SELECT * FROM g ORDER BY id)
SELECT uniqExactIf(x, NULL) FROM (SELECT * FROM g ORDER BY id)
SELECT uniqExactDistinct(k2) FROM g
SELECT anyIf(x, x > 0), anyIf(nx, nx > 3), anyIf(x, 0) FROM (SELECT * FROM g ORDER BY id)
SELECT anyIf(x, NULL) FROM (SELECT * FROM g ORDER BY id)
SELECT count(DISTINCT k, k2), anyDistinct(1) FROM g
SELECT groupArrayIf(x, x > 0), groupArrayIf(nx, nx > 3), groupArrayIf(x, 0) FROM (SELECT * FROM g ORDER BY id)
SELECT groupArrayIf(x, NULL) FROM (SELECT * FROM g ORDER BY id)
SELECT arraySort(groupArrayDistinct(k2)) FROM g
SELECT quantileIf(x, x > 0), quantileIf(nx, nx > 3), quantileIf(x, 0) FROM (SELECT * FROM g ORDER BY id)
SELECT quantileIf(x, NULL) FROM (SELECT * FROM g ORDER BY id)
SELECT quantileDistinct(k2) FROM g
SELECT medianIf(x, x > 0), medianIf(nx, nx > 3), medianIf(x, 0) FROM (SELECT * FROM g ORDER BY id)
SELECT medianIf(x, NULL) FROM (SELECT * FROM g ORDER BY id)
SELECT medianDistinct(k2) FROM g
SELECT round(stddevPopIf(x, x > 0), 9), round(stddevPopIf(nx, nx > 3), 9), round(stddevPopIf(x, 0), 9) FROM (SELECT * FROM g ORDER BY id)
SELECT stddevPopDistinct(k2) FROM g
SELECT sumKahanIf(x, x > 0), sumKahanIf(nx, nx > 3), sumKahanIf(x, 0) FROM (SELECT * FROM g ORDER BY id)
SELECT sumKahanIf(x, NULL) FROM (SELECT * FROM g ORDER BY id)
SELECT sumKahanDistinct(k2) FROM g
SELECT argMinIf(k, x, x > 0), argMaxIf(k, x, nx > 3), argMinDistinct(k, x) FROM g
SELECT count(), count(*), count(1), count(nx), count(ns), count(DISTINCT k), count(DISTINCT nx), count(DISTINCT k, k2) FROM g
SELECT count() FROM empty
SELECT sum(x), avg(x), min(x), max(s), any(s), uniq(x) FROM empty
SELECT sum(i8), sum(i64), sum(u64), sum(f32), sum(d32), sum(d64), sum(b) FROM n WHERE id IN (1, 2, 6, 7)
SELECT avg(i8), avg(u64), avg(f32), avg(d32), avg(b), avg(ni) FROM n WHERE id IN (1, 2, 6, 7)
SELECT sum(i64) FROM n
SELECT sumWithOverflow(i8), sumWithOverflow(u8), sumWithOverflow(i64) FROM n
SELECT sum(nan), max(nan), min(nan), avg(inf), sum(toDecimal32('9999999.99', 2))
SELECT min(f64), max(f64), min(d128), max(d128), min(ni), max(nf) FROM n
SELECT min(s), max(s), min(ns), max(l), any(s), anyLast(s) FROM (SELECT * FROM s ORDER BY id)
SELECT min(d), max(dt), min(dtz), max(t9z), min(nd), any(ndt) FROM (SELECT * FROM t ORDER BY id)
SELECT min(ai), max(sa), min(tu), max(e), min(u), any(m) FROM (SELECT * FROM c ORDER BY id)
SELECT sum('a')
SELECT avg('a')
SELECT sum(d) FROM t
SELECT max(arr), groupArray(arr) FROM (SELECT * FROM g WHERE id < 5 ORDER BY id)
SELECT argMin(k, x), argMax(k, x), argMin(id, f), argMax(nx, x), argMin(k, nx), argMax((id, k), x), max_by(k, x), min_by(k, x) FROM g
SELECT argMin(s, id), argMax(ns, id) FROM empty2
SELECT argMin(s, x), argMax(x, s) FROM empty
SELECT avgWeighted(x, k2), avgWeighted(f, 1), avgWeighted(x, 0) FROM g
SELECT round(corr(x, f), 9), round(covarPop(x, id), 9), round(covarSamp(x, id), 9), round(corr(x, nx), 9), round(covarPop(x, x), 9) FROM g
SELECT round(corr(x, x), 9), round(covarSamp(x, x), 9), round(stddevSamp(x), 9), round(varSamp(x), 9) FROM g WHERE id = 1
SELECT round(stddevPop(x), 9), round(varPop(x), 9), round(STDDEV_POP(x), 9), round(VAR_SAMP(x), 9), round(stddevPop(dec), 9), round(varSamp(f), 9) FROM g
SELECT quantile(0.9)(x), quantile(0)(x), quantile(1)(x), quantiles(0.1, 0.5, 0.9)(x), median(f), quantileExact(0.25)(x), quantilesExact(0.1, 0.9)(dec) FROM g
SELECT quantile(2)(x) FROM g
SELECT quantile('a')(x) FROM g
SELECT quantileExactInclusive(0.25)(x), quantileExactExclusive(0.25)(x), quantilesExactInclusive(0.25, 0.75)(f), quantilesExactExclusive(0.25, 0.75)(x) FROM g
SELECT quantile(d), quantileExact(d), quantile(toDateTime(d)) FROM g
SELECT groupArray(3)(x), groupArray(0)(x) FROM (SELECT * FROM g ORDER BY id)
SELECT groupArray(5)(x), groupArrayLast(2)(x), groupArraySorted(3)(x), groupArraySample(200, 1)(1), groupArrayInsertAt(x, id) FROM (SELECT * FROM g WHERE id < 6 ORDER BY id)
SELECT groupArrayInsertAt(-1, 5)(x, id * 2) FROM (SELECT * FROM g WHERE id < 3 ORDER BY id)
SELECT groupArray(nx), groupArray(ns) FROM (SELECT * FROM g WHERE id < 10 ORDER BY id)
SELECT arraySort(groupUniqArray(k)), arraySort(groupUniqArray(nx)), length(groupUniqArray(2)(k)) FROM g
SELECT groupArrayMovingSum(x), groupArrayMovingAvg(x), groupArrayMovingSum(2)(x), groupArrayMovingAvg(3)(f) FROM (SELECT * FROM g WHERE id < 6 ORDER BY id)
SELECT groupArrayIntersect(arr), groupConcat(',')(k), groupConcat(', ', 2)(k), string_agg(k, '-'), array_agg(x) FROM (SELECT * FROM g WHERE id > 0 AND id < 4 ORDER BY id)
SELECT uniq(x), uniqExact(x), uniqCombined(x), uniqHLL12(x), uniqExact(k, k2), uniqExact(nx), uniq(ns), uniqCombined64(x) FROM g
SELECT sumMap([1, 2], [10, 20]), minMap([1], [5]), maxMap([1], [5]), sumMap(map('a', 1)), sumMap([1, 1], [2, 3])
SELECT sumMap(map(k, x)), maxMap(map(k, id)), minMap(map(k2, f)) FROM g
SELECT deltaSum(x), boundingRatio(x, id) FROM (SELECT * FROM g ORDER BY id)
SELECT round(exponentialMovingAverage(5)(x, id), 9) FROM g
SELECT rankCorr(x, f), simpleLinearRegression(x, f), entropy(k), round(kurtPop(x), 9), round(skewSamp(f), 9) FROM g
SELECT regr_slope(x, f), regr_intercept(x, f), regr_count(x, f), regr_r2(x, f), regr_avgx(x, f), round(regr_avgy(x, f), 9), regr_sxx(x, f), regr_syy(x, f), regr_sxy(x, f) FROM g
SELECT windowFunnel(100)(toDateTime(id), k = 'a', k = 'b', k = 'c'), retention(k = 'a', k2 = 1, x > 40), sequenceMatch('(?1)(?2)')(toDateTime(id), k = 'a', k = 'b'), sequenceCount('(?1).*(?2)')(toDateTime(id), k = 'a', k = 'c') FROM g
SELECT groupBitAnd(toUInt8(x + 60)), groupBitOr(toUInt8(x + 60)), groupBitXor(toUInt64(x + 60)), BIT_AND(toInt8(x)) FROM g
SELECT groupBitAnd(f) FROM g
SELECT sumCount(x), sumCount(f), sumCount(nx), sumKahan(f) FROM g
SELECT any(nx), anyLast(nx), any_respect_nulls(nx), anyLast_respect_nulls(nx), first_value(nx), last_value(nx), any(nx) RESPECT NULLS FROM (SELECT * FROM g ORDER BY id)
SELECT count(nx) FILTER (WHERE x > 0), sum(x) FILTER (WHERE k = 'a') FROM g
SELECT countIf(x > 0), countIf(nx > 3), countIf(NULL), sumIf(x, k = 'zzz'), avgIf(x, 0), minIf(k, x > 49), uniqIf(k, x > 0) FROM g
SELECT sumDistinct(k2), countDistinct(k), avgDistinct(k2), sum(DISTINCT k2), groupArrayDistinct(1), uniqExactDistinct(k) FROM g
SELECT sumOrNull(x), sumOrDefault(x), avgOrNull(x), avgOrDefault(x), countOrNull(x), maxOrNull(s), minOrDefault(s) FROM empty
SELECT k, sum(x), avg(x), count(), max(nx), uniqExact(ns) FROM g GROUP BY k ORDER BY k
SELECT k2 % 2 = 0 AS even, sum(x) FROM g GROUP BY even ORDER BY even
SELECT nx, count() FROM g GROUP BY nx ORDER BY nx NULLS FIRST
SELECT arr, count() FROM g GROUP BY arr ORDER BY arr
SELECT toStartOfWeek(d) AS w, sum(dec) FROM g GROUP BY w ORDER BY w
SELECT sum(x) + count() * 2 AS z, max(x) - min(x) FROM g
SELECT sum(sum(x)) FROM g
SELECT k, x FROM g GROUP BY k
SELECT sum(x) AS s FROM g WHERE s > 1
SELECT nosuch(x) FROM g
SELECT count(nosuch) FROM g
SELECT sum(1), sum(-1), sum(1.5), sum(NULL), count(NULL), avg(NULL), max(NULL), groupArray(NULL)
SELECT toTypeName(sum(toUInt8(1))), toTypeName(sum(toInt8(1))), toTypeName(sum(toFloat32(1))), toTypeName(sum(toDecimal32(1, 2))), toTypeName(avg(1)), toTypeName(count()), toTypeName(uniq(1)), toTypeName(max(toDate('2020-01-01'))), toTypeName(groupArray(toNullable(1))), toTypeName(quantile(1)), toTypeName(quantile(toFloat32(1))), toTypeName(median(toDecimal32(1, 2)))
SELECT quantileTDigest(0.5)(x) FROM g
SELECT quantileTiming(0.9)(x + 50) FROM g
SELECT stddevPop(f), varSamp(x), kurtPop(x), skewPop(x) FROM g
SELECT topK(2)(k2) FROM g
SELECT topK(k) FROM (SELECT * FROM g WHERE k2 = 0 AND id < 90 OR k = 'a')
SELECT sumIf(x, nx) FROM g
SELECT groupBitmap(x) FROM g
