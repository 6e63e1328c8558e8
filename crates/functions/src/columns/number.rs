//! Machine numbers as ClickHouse converts them: wrapping between integers, as its CPU does from floats.
//!
//! Invariant: `wrap_*` never fails and gives ClickHouse's bits; `exact_*` gives a value only if nothing is lost.

#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "ClickHouse's casts wrap")]

use arrow::datatypes::ArrowPrimitiveType;

/// A native number of an Arrow array.
pub(crate) trait Number: Copy + PartialOrd + Default + Send + Sync + 'static {
    const FLOAT: bool;
    const SIGNED: bool;
    /// The value of an integer; floats are cut.
    fn int(self) -> i128;
    fn float(self) -> f64;
    fn wrap_int(value: i128) -> Self;
    fn wrap_float(value: f64) -> Self;
    fn exact_int(value: i128) -> Option<Self>;

    fn exact_float(value: f64) -> Option<Self> {
        if Self::FLOAT {
            return Some(Self::wrap_float(value));
        }
        // 2^100 is far outside every integer, so the conversion below is exact.
        let whole = value.trunc() == value && value.abs() < 1.3e30;
        if whole { Self::exact_int(value as i128) } else { None }
    }

    fn is_finite(self) -> bool {
        !Self::FLOAT || self.float().is_finite()
    }
}

/// An Arrow type whose values are [`Number`]s.
pub(crate) trait NumberType: ArrowPrimitiveType<Native: Number> {}
impl<T: ArrowPrimitiveType<Native: Number>> NumberType for T {}

/// What the CPU gives for a float outside of 32 bits: the smallest integer.
fn float_to_i32(value: f64) -> i32 {
    if value > -2_147_483_649.0 && value < 2_147_483_648.0 { value as i32 } else { i32::MIN }
}

fn float_to_i64(value: f64) -> i64 {
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value) {
        value as i64
    } else {
        i64::MIN
    }
}

fn float_to_u64(value: f64) -> u64 {
    // The instructions compilers emit: the upper half is converted shifted, and taken where the lower one overflows.
    const HALF: f64 = 9_223_372_036_854_775_808.0;
    let low = float_to_i64(value);
    let high = float_to_i64(value - HALF);
    (low | (high & (low >> 63))) as u64
}

macro_rules! integer {
    ($native:ty, $signed:literal, $from_float:expr) => {
        impl Number for $native {
            const FLOAT: bool = false;
            const SIGNED: bool = $signed;
            fn int(self) -> i128 {
                i128::from(self)
            }
            fn float(self) -> f64 {
                self as f64
            }
            fn wrap_int(value: i128) -> Self {
                value as $native
            }
            fn wrap_float(value: f64) -> Self {
                $from_float(value) as $native
            }
            fn exact_int(value: i128) -> Option<Self> {
                <$native>::try_from(value).ok()
            }
        }
    };
}

macro_rules! floating {
    ($native:ty) => {
        impl Number for $native {
            const FLOAT: bool = true;
            const SIGNED: bool = true;
            fn int(self) -> i128 {
                self as i128
            }
            fn float(self) -> f64 {
                f64::from(self)
            }
            fn wrap_int(value: i128) -> Self {
                value as $native
            }
            fn wrap_float(value: f64) -> Self {
                value as $native
            }
            fn exact_int(value: i128) -> Option<Self> {
                let float = value as $native;
                (float as i128 == value).then_some(float)
            }
        }
    };
}

integer!(u8, false, float_to_i32);
integer!(u16, false, float_to_i32);
integer!(u32, false, float_to_i64);
integer!(u64, false, float_to_u64);
integer!(i8, true, float_to_i32);
integer!(i16, true, float_to_i32);
integer!(i32, true, float_to_i32);
integer!(i64, true, float_to_i64);
floating!(f32);
floating!(f64);

/// `value` in another number type, wrapping.
pub(crate) fn wrap<S: Number, T: Number>(value: S) -> T {
    if S::FLOAT { T::wrap_float(value.float()) } else { T::wrap_int(value.int()) }
}

/// `value` in another number type, if that type has it.
pub(crate) fn exact<S: Number, T: Number>(value: S) -> Option<T> {
    if S::FLOAT { T::exact_float(value.float()) } else { T::exact_int(value.int()) }
}

/// Runs `$body` with `$t` as the Arrow type of a machine number type; `$other` for all other types.
macro_rules! with_number {
    ($column_type:expr, $t:ident => $body:expr, else $other:expr) => {{
        use arrow::datatypes as types;
        use model::ColumnType as C;
        match $column_type {
            C::UInt8 => {
                type $t = types::UInt8Type;
                $body
            }
            C::UInt16 => {
                type $t = types::UInt16Type;
                $body
            }
            C::UInt32 => {
                type $t = types::UInt32Type;
                $body
            }
            C::UInt64 => {
                type $t = types::UInt64Type;
                $body
            }
            C::Int8 => {
                type $t = types::Int8Type;
                $body
            }
            C::Int16 => {
                type $t = types::Int16Type;
                $body
            }
            C::Int32 => {
                type $t = types::Int32Type;
                $body
            }
            C::Int64 => {
                type $t = types::Int64Type;
                $body
            }
            C::Float32 => {
                type $t = types::Float32Type;
                $body
            }
            C::Float64 => {
                type $t = types::Float64Type;
                $body
            }
            _ => $other,
        }
    }};
}
pub(crate) use with_number;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_convert_as_the_cpu_does() {
        assert_eq!(wrap::<f64, u8>(300.5), 44);
        assert_eq!(wrap::<f64, u8>(1e10), 0);
        assert_eq!(wrap::<f64, i32>(3e9), i32::MIN);
        assert_eq!(wrap::<f64, i64>(1e20), i64::MIN);
        assert_eq!(wrap::<f64, u64>(-1.5), u64::MAX);
        assert_eq!(wrap::<f64, u64>(1e20), 1 << 63);
        assert_eq!(wrap::<f64, u64>(1e19), 10_000_000_000_000_000_000);
        assert_eq!(wrap::<i64, u8>(-1), 255);
    }

    #[test]
    fn exact_refuses_what_would_change() {
        assert_eq!(exact::<f64, u8>(1.5), None);
        assert_eq!(exact::<f64, u8>(255.0), Some(255));
        assert_eq!(exact::<i64, u8>(300), None);
        assert_eq!(exact::<i64, f32>(16_777_217), None);
        assert_eq!(exact::<f64, i64>(f64::NAN), None);
    }
}
