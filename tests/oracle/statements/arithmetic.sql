-- Operators and numeric functions: result types, overflow, NULL, division by zero, NaN and infinity.
FROM n: i8 + i64
FROM n: i8 + i16
FROM n: i16 + u8
FROM n: i16 + u32
FROM n: i32 + u16
FROM n: i32 + d64
FROM n: i64 + u32
FROM n: i64 + i32
FROM n: u8 + u64
FROM n: u16 + f32
FROM n: u16 + ni
FROM n: u32 + f64
FROM n: u32 + i64
FROM n: u64 + d32
FROM n: u64 + f32
FROM n: f32 + d64
FROM n: f32 + b
FROM n: f64 + ni
FROM n: f64 + u8
FROM n: d32 + b
FROM n: d32 + f64
FROM n: d64 + i8
FROM n: ni + i16
FROM n: ni + u16
FROM n: b + i32
FROM n: b + d32
FROM n: i8 - i64
FROM n: i8 - i16
FROM n: i16 - u8
FROM n: i16 - u32
FROM n: i32 - u16
FROM n: i32 - d64
FROM n: i64 - u32
FROM n: i64 - i32
FROM n: u8 - u64
FROM n: u16 - f32
FROM n: u16 - ni
FROM n: u32 - f64
FROM n: u32 - i64
FROM n: u64 - d32
FROM n: u64 - f32
FROM n: f32 - d64
FROM n: f32 - b
FROM n: f64 - ni
FROM n: f64 - u8
FROM n: d32 - b
FROM n: d32 - f64
FROM n: d64 - i8
FROM n: ni - i16
FROM n: ni - u16
FROM n: b - i32
FROM n: b - d32
FROM n: i8 * i64
FROM n: i8 * i16
FROM n: i16 * u8
FROM n: i16 * u32
FROM n: i32 * u16
FROM n: i32 * d64
FROM n: i64 * u32
FROM n: i64 * i32
FROM n: u8 * u64
FROM n: u16 * f32
FROM n: u16 * ni
FROM n: u32 * f64
FROM n: u32 * i64
FROM n: u64 * d32
FROM n: u64 * f32
FROM n: f32 * d64
FROM n: f32 * b
FROM n: f64 * ni
FROM n: f64 * u8
FROM n: d32 * b
FROM n: d32 * f64
FROM n: d64 * i8
FROM n: ni * i16
FROM n: ni * u16
FROM n: b * i32
FROM n: b * d32
FROM n: -i8, abs(i8), sign(i8)
FROM n: -i16, abs(i16), sign(i16)
FROM n: -i32, abs(i32), sign(i32)
FROM n: -i64, abs(i64), sign(i64)
FROM n: -u8, abs(u8), sign(u8)
FROM n: -u16, abs(u16), sign(u16)
FROM n: -u32, abs(u32), sign(u32)
FROM n: -u64, abs(u64), sign(u64)
FROM n: -f32, abs(f32), sign(f32)
FROM n: -f64, abs(f64), sign(f64)
FROM n: -d32, abs(d32), sign(d32)
FROM n: -d64, abs(d64), sign(d64)
FROM n: -ni, abs(ni), sign(ni)
FROM n: i8 / i16
FROM n: intDivOrZero(i8, i16), moduloOrZero(i8, i16)
FROM n: if(i16 = 0, 0, intDiv(i8, i16))
FROM n: if(i16 = 0, 0, i8 % i16)
FROM n: u8 / i32
FROM n: intDivOrZero(u8, i32), moduloOrZero(u8, i32)
FROM n: if(i32 = 0, 0, intDiv(u8, i32))
FROM n: if(i32 = 0, 0, u8 % i32)
FROM n: i64 / u64
FROM n: intDivOrZero(i64, u64), moduloOrZero(i64, u64)
FROM n: if(u64 = 0, 0, intDiv(i64, u64))
FROM n: if(u64 = 0, 0, i64 % u64)
FROM n: u64 / u8
FROM n: intDivOrZero(u64, u8), moduloOrZero(u64, u8)
FROM n: if(u8 = 0, 0, intDiv(u64, u8))
FROM n: if(u8 = 0, 0, u64 % u8)
FROM n: f32 / i8
FROM n: intDivOrZero(f32, i8), moduloOrZero(f32, i8)
FROM n: if(i8 = 0, 0, intDiv(f32, i8))
FROM n: if(i8 = 0, 0, f32 % i8)
FROM n: i32 / f64
FROM n: intDivOrZero(i32, f64), moduloOrZero(i32, f64)
FROM n: if(f64 = 0, 0, intDiv(i32, f64))
FROM n: if(f64 = 0, 0, i32 % f64)
FROM n: d32 / i8
FROM n: if(i8 = 0, 0, intDiv(d32, i8))
FROM n: if(i8 = 0, 0, d32 % i8)
FROM n: i8 / d32
FROM n: if(d32 = 0, 0, intDiv(i8, d32))
FROM n: if(d32 = 0, 0, i8 % d32)
FROM n: d64 / d32
FROM n: if(d32 = 0, 0, intDiv(d64, d32))
FROM n: if(d32 = 0, 0, d64 % d32)
FROM n: ni / i32
FROM n: intDivOrZero(ni, i32), moduloOrZero(ni, i32)
FROM n: if(i32 = 0, 0, intDiv(ni, i32))
FROM n: if(i32 = 0, 0, ni % i32)
FROM n: u32 / ni
FROM n: intDivOrZero(u32, ni), moduloOrZero(u32, ni)
FROM n: if(ni = 0, 0, intDiv(u32, ni))
FROM n: if(ni = 0, 0, u32 % ni)
intDiv(1, 0)
intDiv(-128, toInt8(-1))
intDiv(toInt64(-9223372036854775808), -1)
intDiv(7, -2), intDiv(-7, 2), intDiv(-7, -2)
intDiv(7.9, 2)
intDiv(1, 0.5)
intDiv(NULL, 0)
1 % 0
-7 % 3, 7 % -3, -7 % -3
7.5 % 2, -7.5 % 2
7 % 0.
toDecimal32('7.5', 2) % 2
modulo(toInt8(-128), -1)
positiveModulo(-7, 3), positiveModulo(7, -3), pmod(-1, 10), positive_modulo(-5.5, 2)
positiveModulo(1, 0)
moduloOrZero(5, 0), intDivOrZero(5, 0), intDivOrZero(toInt8(-128), -1)
1 / 0, -1 / 0, 0 / 0
1 DIV 0
7 DIV 2, 7 MOD 4
toUInt8(255) + toUInt8(1), toTypeName(toUInt8(255) + toUInt8(1))
toInt8(127) + toInt8(1), toInt64(9223372036854775807) + 1
18446744073709551615 + 1
toUInt64(18446744073709551615) * 2
9223372036854775807 * 2
-9223372036854775808
9223372036854775808
-9223372036854775809
18446744073709551615
18446744073709551616
-18446744073709551616
1e400
1e-400
0x1F, 0b101, 0xFFFFFFFFFFFFFFFF
1_000_000
.5, 5., 1e3, 1E-3
inf, -inf, nan, NaN, Infinity
negate(toUInt8(200)), negate(toInt8(-128)), negate(NULL)
abs(toInt8(-128)), abs(-1.5), abs(toDecimal32(-1.5, 2)), abs(NULL)
sign(-0.0), sign(nan), sign(-inf), sign(toUInt8(0))
gcd(12, 18), gcd(-12, 18), gcd(0, 5)
gcd(0, 0)
gcd(toInt64(-9223372036854775808), 2)
lcm(4, 6), lcm(-4, 6)
lcm(0, 6)
gcd(1.5, 2)
factorial(0), factorial(5), factorial(20), factorial(-1)
factorial(21)
factorial(1.5)
pow(2, 10), pow(2, -1), pow(0, 0), pow(-8, 1/3), power(2, 0.5)
exp(0), exp(1), exp(710), exp(-800), exp(NULL)
exp2(10), exp10(3), exp10(-3), exp2(0.5)
log(0), log(-1), ln(e()), log2(8), log10(1000), log1p(0)
sqrt(-1), sqrt(2), cbrt(27), cbrt(-8)
sin(0), cos(0), tan(1), asin(1), acos(1), atan(1), asin(2)
sinh(1), cosh(1), round(tanh(1), 9), atan2(1, 2), hypot(3, 4), atan2(0, -1)
degrees(pi()), radians(180), pi(), e()
intExp2(0), intExp2(63), intExp2(64), intExp2(-1)
intExp10(0), intExp10(19), intExp10(20), intExp10(-1)
isFinite(1/0), isInfinite(1/0), isNaN(0/0), isInfinite(-1/0), isFinite(1), isNaN('a')
isFinite(NULL), isNaN(NULL)
ifNotFinite(1/0, 42), ifNotFinite(1.5, 42), ifNotFinite(0/0, 7)
round(2.5), round(3.5), round(-2.5), round(0.5), round(-0.5)
round(123.456, 1), round(123.456, -1), round(123.456, 0), round(123.456, -3)
round(15, -1), round(25, -1), round(-15, -1), round(14, -1), round(255, -2)
round(toUInt8(255), -1), round(toInt8(-128), -1), round(toUInt8(250), -2)
round(toDecimal32('1.235', 3), 2), round(toDecimal64('-1.235', 3), 2), round(toDecimal32('15.5', 1), -1)
roundBankers(2.5), roundBankers(3.5), roundBankers(-2.5), roundBankers(25, -1), roundBankers(0.125, 2)
floor(2.7), floor(-2.7), floor(123.456, 1), floor(-123, -1), floor(toDecimal32('1.55', 2), 1)
ceil(2.1), ceil(-2.1), ceiling(123.456, 1), ceil(123, -1), ceil(toDecimal32('1.55', 2), 1)
trunc(2.7), trunc(-2.7), truncate(123.456, 1), trunc(-129, -1)
round(1e20, 2), round(nan), round(inf), round(NULL), round(1.5, NULL)
round('1.5')
round(1.5, 'a')
roundToExp2(100), roundToExp2(0), roundToExp2(-100), roundToExp2(100.5), roundToExp2(toUInt8(255))
roundDuration(0), roundDuration(1), roundDuration(59), roundDuration(3601), roundDuration(1000000)
roundAge(0), roundAge(1), roundAge(17), roundAge(18), roundAge(54), roundAge(100), roundAge(-1)
bitAnd(12, 10), bitOr(12, 10), bitXor(12, 10), bitNot(12), bitNot(toInt8(0))
bitAnd(-1, 255), bitOr(toInt8(-1), toUInt16(1)), bitXor(toUInt64(1), toInt8(-1))
bitShiftLeft(1, 3), bitShiftLeft(toUInt8(255), 1), bitShiftLeft(1, 64), bitShiftRight(-1, 1), bitShiftRight(toUInt8(255), 9)
bitShiftLeft(1, -1)
bitShiftLeft('abc', 4), bitShiftRight('abc', 8)
bitTest(5, 0), bitTest(5, 1), bitTest(toInt8(-1), 7)
bitTest(5, 8)
bitCount(255), bitCount(-1), bitCount(toInt8(-1)), bitCount(1.5), bitCount(NULL)
bitAnd(1.5, 1)
bitHammingDistance(1, 14), bitHammingDistance(-1, 0)
bitPositionsToArray(toInt8(-1)), bitPositionsToArray(0), bitmaskToList(50), bitmaskToArray(50), bitmaskToArray(-128)
bitmaskToList(0), bitmaskToList(-1)
greatest(1, 2.5), least(1, -1), greatest('a', 'b'), least(NULL, 1), greatest(1, NULL)
greatest(toUInt64(18446744073709551615), toInt8(-1))
least(toDate('2020-01-01'), toDateTime('2020-01-01 00:00:00'))
greatest(1, 'a')
greatest(), least()
greatest(1, 2, 3, toDecimal32('3.5', 1))
clamp(5, 1, 3), clamp(0, 1, 3), clamp(2, 1, 3), clamp(2.5, 1, 3)
clamp(1, 5, 3)
widthBucket(10.15, -8.6, 23, 10), widthBucket(-10, 0, 5, 3), widthBucket(10, 0, 5, 3)
widthBucket(1, 0, 5, 0)
'1' + 1
1 + 'a'
'a' + 'b'
[1, 2] + [3, 4]
[1, 2] + [3]
[1, 2] * 2
(1, 2) + (3, 4)
(1, 2) - (3, 4), (1, 2) * 3, (4, 6) / 2
-(1, 2)
toDecimal32(1, 2) + toDecimal64(2, 4), toDecimal32('1.5', 1) * toDecimal32('2.25', 2), toDecimal32(10, 2) / 3
toDecimal32('1.5', 1) + 1.5
toDecimal32('1.5', 1) + 1
toDecimal32('9999999.99', 2) * toDecimal32('9999999.99', 2)
toDecimal64('999999999999.999999', 6) * toDecimal64('999999999999.999999', 6)
toDecimal128('99999999999999999999999999999999999999', 0) + 1
toDecimal32(1, 2) / toDecimal32(0, 2)
toDecimal32('10', 2) - toInt64(3), toInt64(3) * toDecimal32('1.1', 1)
plus(1, 2), minus(1, 2), multiply(2, 3), divide(1, 2), negate(1)
plus(1)
plus(1, 2, 3)
true + true, true * 5, -true, true / 2
toDate('2020-01-31') + 1, toDate('2020-01-31') - 1, toDateTime('2020-01-31 00:00:00') + 86400
toDate('2020-01-31') - toDate('2020-01-01'), toDateTime('2020-01-31 00:00:00') - toDateTime('2020-01-01 00:00:00')
toDate('2020-01-31') + toDate('2020-01-01')
toDate('2020-01-01') * 2
toDate('2020-01-31') + INTERVAL 1 MONTH, toDate('2020-03-31') - INTERVAL 1 MONTH, toDate('2020-02-29') + INTERVAL 1 YEAR
toDateTime('2020-01-31 10:00:00') + INTERVAL 90 MINUTE, toDate('2020-01-31') + INTERVAL 1 HOUR
INTERVAL 1 DAY + toDate('2020-01-01')
INTERVAL 1 DAY + INTERVAL 2 DAY
toIntervalDay(3), toTypeName(toIntervalDay(3))
INTERVAL 2 WEEK * 2
rand() >= 0, rand64() >= 0, toTypeName(rand()), toTypeName(rand64())
FROM n: exp(i32), exp(f64), exp(u8)
FROM n: exp(ni), exp(nf)
FROM n: exp2(i32), exp2(f64), exp2(u8)
FROM n: exp2(ni), exp2(nf)
FROM n: round(exp10(i32), 9), round(exp10(f64), 9), round(exp10(u8), 9)
FROM n: round(exp10(ni), 9), round(exp10(nf), 9)
FROM n: log(i32), log(f64), log(u8)
FROM n: log(ni), log(nf)
FROM n: log2(i32), log2(f64), log2(u8)
FROM n: log2(ni), log2(nf)
FROM n: log10(i32), log10(f64), log10(u8)
FROM n: log10(ni), log10(nf)
FROM n: log1p(i32), log1p(f64), log1p(u8)
FROM n: log1p(ni), log1p(nf)
FROM n: sqrt(i32), sqrt(f64), sqrt(u8)
FROM n: sqrt(ni), sqrt(nf)
FROM n: cbrt(i32), cbrt(f64), cbrt(u8)
FROM n: cbrt(ni), cbrt(nf)
FROM n: sin(i32), sin(f64), sin(u8)
FROM n: sin(ni), sin(nf)
FROM n: cos(i32), cos(f64), cos(u8)
FROM n: cos(ni), cos(nf)
FROM n: round(tan(i32), 9), round(tan(f64), 9), round(tan(u8), 9)
FROM n: round(tan(ni), 9), round(tan(nf), 9)
FROM n: asin(i32), asin(f64), asin(u8)
FROM n: asin(ni), asin(nf)
FROM n: acos(i32), acos(f64), acos(u8)
FROM n: acos(ni), acos(nf)
FROM n: round(atan(i32), 9), round(atan(f64), 9), round(atan(u8), 9)
FROM n: round(atan(ni), 9), round(atan(nf), 9)
FROM n: sinh(i32), sinh(f64), sinh(u8)
FROM n: sinh(ni), sinh(nf)
FROM n: cosh(i32), cosh(f64), cosh(u8)
FROM n: cosh(ni), cosh(nf)
FROM n: round(tanh(i32), 9), round(tanh(u8), 9)
FROM n: round(tanh(ni), 9)
FROM n: degrees(i32), degrees(f64), degrees(u8)
FROM n: degrees(ni), degrees(nf)
FROM n: radians(i32), radians(f64), radians(u8)
FROM n: radians(ni), radians(nf)
FROM n: round(i32), round(f64), round(u8)
FROM n: round(ni), round(nf)
FROM n: floor(i32), floor(f64), floor(u8)
FROM n: floor(ni), floor(nf)
FROM n: ceil(i32), ceil(f64), ceil(u8)
FROM n: ceil(ni), ceil(nf)
FROM n: trunc(i32), trunc(f64), trunc(u8)
FROM n: trunc(ni), trunc(nf)
FROM n: roundBankers(i32), roundBankers(f64), roundBankers(u8)
FROM n: roundBankers(ni), roundBankers(nf)
FROM n: isFinite(i32), isFinite(f64), isFinite(u8)
FROM n: isFinite(ni), isFinite(nf)
FROM n: isNaN(i32), isNaN(f64), isNaN(u8)
FROM n: isNaN(ni), isNaN(nf)
FROM n: isInfinite(i32), isInfinite(f64), isInfinite(u8)
FROM n: isInfinite(ni), isInfinite(nf)
FROM n: sign(i32), sign(f64), sign(u8)
FROM n: sign(ni), sign(nf)
FROM n: abs(i32), abs(f64), abs(u8)
FROM n: abs(ni), abs(nf)
FROM n: round(d32, 1), round(d64, 2), round(f32, 1), round(i16, -1)
FROM n: round(i64, -3), round(u8, -1), round(f64, -2), round(d128, 3)
FROM n: round(d32), round(d32, -1), round(ni, -2), round(nf, 1)
FROM n: floor(d32, 1), floor(d64, 2), floor(f32, 1), floor(i16, -1)
FROM n: floor(i64, -3), floor(u8, -1), floor(f64, -2), floor(d128, 3)
FROM n: floor(d32), floor(d32, -1), floor(ni, -2), floor(nf, 1)
FROM n: ceil(d32, 1), ceil(d64, 2), ceil(f32, 1), ceil(i16, -1)
FROM n: ceil(i64, -3), ceil(u8, -1), ceil(f64, -2), ceil(d128, 3)
FROM n: ceil(d32), ceil(d32, -1), ceil(ni, -2), ceil(nf, 1)
FROM n: trunc(d32, 1), trunc(d64, 2), trunc(f32, 1), trunc(i16, -1)
FROM n: trunc(i64, -3), trunc(u8, -1), trunc(f64, -2), trunc(d128, 3)
FROM n: trunc(d32), trunc(d32, -1), trunc(ni, -2), trunc(nf, 1)
FROM n: roundBankers(d32, 1), roundBankers(d64, 2), roundBankers(f32, 1), roundBankers(i16, -1)
FROM n: roundBankers(i64, -3), roundBankers(u8, -1), roundBankers(f64, -2), roundBankers(d128, 3)
FROM n: roundBankers(d32), roundBankers(d32, -1), roundBankers(ni, -2), roundBankers(nf, 1)
FROM n: bitAnd(i8, u8)
FROM n: bitAnd(i64, u16)
FROM n: bitAnd(u64, i8)
FROM n: bitAnd(ni, u8)
FROM n: bitAnd(b, i8)
FROM n: bitAnd(i32, i32)
FROM n: bitOr(i8, u8)
FROM n: bitOr(i64, u16)
FROM n: bitOr(u64, i8)
FROM n: bitOr(ni, u8)
FROM n: bitOr(b, i8)
FROM n: bitOr(i32, i32)
FROM n: bitXor(i8, u8)
FROM n: bitXor(i64, u16)
FROM n: bitXor(u64, i8)
FROM n: bitXor(ni, u8)
FROM n: bitXor(b, i8)
FROM n: bitXor(i32, i32)
FROM n: bitShiftLeft(i8, 3), bitShiftLeft(i8, 40)
FROM n: bitShiftLeft(u8, 3), bitShiftLeft(u8, 40)
FROM n: bitShiftLeft(i32, 3), bitShiftLeft(i32, 40)
FROM n: bitShiftLeft(u64, 3), bitShiftLeft(u64, 40)
FROM n: bitShiftLeft(i64, 3), bitShiftLeft(i64, 40)
FROM n: bitShiftRight(i8, 3), bitShiftRight(i8, 40)
FROM n: bitShiftRight(u8, 3), bitShiftRight(u8, 40)
FROM n: bitShiftRight(i32, 3), bitShiftRight(i32, 40)
FROM n: bitShiftRight(u64, 3), bitShiftRight(u64, 40)
FROM n: bitShiftRight(i64, 3), bitShiftRight(i64, 40)
FROM n: bitNot(i8)
FROM n: bitNot(u8)
FROM n: bitNot(u32)
FROM n: bitCount(i8)
FROM n: bitCount(u8)
FROM n: bitCount(u32)
FROM n: negate(i8)
FROM n: negate(u8)
FROM n: negate(u32)
FROM n: factorial(i8)
FROM n: roundToExp2(i8)
FROM n: roundToExp2(u8)
FROM n: roundToExp2(u32)
FROM n: roundDuration(i8)
FROM n: roundDuration(u8)
FROM n: roundDuration(u32)
FROM n: roundAge(i8)
FROM n: roundAge(u8)
FROM n: roundAge(u32)
FROM n: intExp2(i8)
FROM n: intExp2(u8)
FROM n: intExp2(u32)
FROM n: intExp10(i8)
FROM n: intExp10(u8)
FROM n: intExp10(u32)
FROM n: bitPositionsToArray(i8)
FROM n: bitPositionsToArray(u8)
FROM n: bitPositionsToArray(u32)
FROM n: bitmaskToArray(i8)
FROM n: bitmaskToArray(u8)
FROM n: bitmaskToArray(u32)
FROM n: bitmaskToList(i8)
FROM n: bitmaskToList(u8)
FROM n: bitmaskToList(u32)
FROM n: gcd(i8, u8)
FROM n: gcd(u32, i16)
FROM n: gcd(u8, u64)
FROM n: lcm(i8, u8)
FROM n: lcm(u32, i16)
FROM n: lcm(u8, u64)
FROM n: greatest(i8, u8)
FROM n: greatest(u32, i16)
FROM n: greatest(u8, u64)
FROM n: least(i8, u8)
FROM n: least(u32, i16)
FROM n: least(u8, u64)
FROM n: pow(i8, u8)
FROM n: pow(u32, i16)
FROM n: pow(u8, u64)
FROM n: hypot(i8, u8)
FROM n: hypot(u32, i16)
FROM n: hypot(u8, u64)
FROM n: atan2(i8, u8)
FROM n: atan2(u32, i16)
FROM n: atan2(u8, u64)
FROM n: bitHammingDistance(i8, u8)
FROM n: bitHammingDistance(u32, i16)
FROM n: bitHammingDistance(u8, u64)
FROM n: greatest(f32, i32), least(f32, i32)
FROM n: greatest(d32, d64), least(d32, d64)
FROM n: greatest(i32, d32), least(i32, d32)
FROM n: greatest(ni, nf), least(ni, nf)
FROM n: greatest(u64, i64), least(u64, i64)
FROM n: greatest(b, u8), least(b, u8)
FROM n: greatest(f64, d32), least(f64, d32)
FROM n: tanh(f64), atan(u8), tan(i32)
exp10(1.5)
toDecimal32('7.5', 2) % toDecimal32('2', 2)
