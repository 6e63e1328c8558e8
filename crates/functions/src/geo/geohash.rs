//! Geohashes: places as texts that are longer the more exact they are.
//!
//! Invariant: of a hash's bits the first, third, ... halve longitudes and the others latitudes; five of them are a letter.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, StringViewBuilder};
use model::{ColumnType, ErrorCode, TupleElement};

use crate::columns::container::{list_of, offsets_of, tuple_of};
use crate::columns::number::wrap;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::is_float;

const LETTERS: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";
const LETTERS_MAX: u8 = 12;
/// Most hashes of a box, as in ClickHouse.
const BOX_MAX: u64 = 10_000_000;

/// Bits of longitude and of latitude in a hash of so many letters.
fn bits_of(letters: u8) -> (u32, u32) {
    let bits = u32::from(letters) * 5;
    (bits.div_ceil(2), bits / 2)
}

fn letters_of(wanted: i64) -> u8 {
    u8::try_from(wanted).ok().filter(|wanted| (1..=LETTERS_MAX).contains(wanted)).unwrap_or(LETTERS_MAX)
}

/// The number of the cell that a coordinate is in, of a range cut in halves so often.
fn cell(coordinate: f64, low: f64, high: f64, bits: u32) -> u64 {
    let (mut low, mut high, mut number) = (low, high, 0);
    for _ in 0..bits {
        let middle = (low + high) / 2.0;
        number <<= 1;
        if coordinate >= middle {
            number |= 1;
            low = middle;
        } else {
            high = middle;
        }
    }
    number
}

fn size(range: f64, bits: u32) -> f64 {
    range / wrap::<u64, f64>(1 << bits)
}

fn write(longitude: u64, latitude: u64, letters: u8, out: &mut String) {
    let (along, up) = bits_of(letters);
    let (mut along, mut up, mut word) = (along, up, 0_usize);
    for place in 0..u32::from(letters) * 5 {
        let bit = if place.is_multiple_of(2) {
            along -= 1;
            longitude >> along & 1
        } else {
            up -= 1;
            latitude >> up & 1
        };
        word = word << 1 | usize::from(bit == 1);
        if place % 5 == 4 {
            out.push(char::from(LETTERS[word & 31]));
            word = 0;
        }
    }
}

/// The middle of the cell of a hash; (0, 0) for what is none.
fn read(text: &str) -> (f64, f64) {
    let (mut longitude, mut latitude, mut place) = (0_u64, 0_u64, 0_u32);
    for byte in text.bytes().take(usize::from(LETTERS_MAX)) {
        // What is no letter of a hash is all ones.
        let digit = LETTERS.iter().position(|letter| *letter == byte.to_ascii_lowercase()).unwrap_or(31);
        for shift in (0..5).rev() {
            let bit = u64::from(digit >> shift & 1 == 1);
            if place.is_multiple_of(2) {
                longitude = longitude << 1 | bit;
            } else {
                latitude = latitude << 1 | bit;
            }
            place += 1;
        }
    }
    if place == 0 {
        return (0.0, 0.0);
    }
    let middle =
        |number: u64, low: f64, bits: u32| low + (wrap::<u64, f64>(number) + 0.5) * size(-2.0 * low, bits);
    (middle(longitude, -180.0, place.div_ceil(2)), middle(latitude, -90.0, place / 2))
}

fn encode_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    match args.iter().take(2).find(|arg| !is_float(&arg.column_type)) {
        Some(other) => Err(FunctionError::illegal_type(&other.column_type, "geohashEncode")),
        None => Ok(ColumnType::String),
    }
}

fn encode(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (longitudes, latitudes) = (call.floats(0)?, call.floats(1)?);
    let letters = if call.args.len() > 2 { Some(call.ints(2)?) } else { None };
    call.each_text(|row, out| {
        let letters = letters_of(letters.as_ref().map_or(0, |letters| letters.get(row)));
        let (along, up) = bits_of(letters);
        let longitude = cell(longitudes.get(row), -180.0, 180.0, along);
        write(longitude, cell(latitudes.get(row), -90.0, 90.0, up), letters, out);
        Ok(())
    })
}

fn place_type() -> ColumnType {
    let part = |name: &str| TupleElement { name: Some(name.into()), column_type: ColumnType::Float64 };
    ColumnType::Tuple(vec![part("longitude"), part("latitude")])
}

fn decode(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let texts = call.texts(0)?;
    let (mut longitudes, mut latitudes) = (Vec::with_capacity(call.rows), Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        let (longitude, latitude) = if call.is_null(row) { (0.0, 0.0) } else { read(texts.get(row)) };
        longitudes.push(longitude);
        latitudes.push(latitude);
    }
    let ColumnType::Tuple(elements) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "geohashDecode"));
    };
    let columns: Vec<ArrayRef> =
        vec![Arc::new(Float64Array::from(longitudes)), Arc::new(Float64Array::from(latitudes))];
    Ok(tuple_of(elements, columns, None, call.rows)?)
}

fn box_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let (corners, letters) = args.split_at(4);
    if let Some(other) = corners.iter().find(|arg| !is_float(&arg.column_type)) {
        return Err(FunctionError::illegal_type(&other.column_type, "geohashesInBox"));
    }
    match letters.first() {
        Some(other) if !other.column_type.is_integer() => {
            Err(FunctionError::illegal_type(&other.column_type, "geohashesInBox"))
        }
        _ => Ok(ColumnType::Array(Box::new(ColumnType::String))),
    }
}

fn in_box(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let corners: Vec<_> = (0..4).map(|index| call.floats(index)).collect::<Result<_, _>>()?;
    let letters = call.ints(4)?;
    let (mut builder, mut lengths, mut text) = (StringViewBuilder::new(), Vec::new(), String::new());
    for row in 0..call.rows {
        let letters = letters_of(letters.get(row));
        let (along, up) = bits_of(letters);
        let (low, high) =
            ((corners[0].get(row), corners[1].get(row)), (corners[2].get(row), corners[3].get(row)));
        if call.is_null(row) || !(low.0 <= high.0 && low.1 <= high.1) {
            lengths.push(0);
            continue;
        }
        let cells = |low: f64, high: f64, end: f64, bits: u32| {
            cell(low.clamp(-end, end), -end, end, bits)..=cell(high.clamp(-end, end), -end, end, bits)
        };
        let (mut longitudes, mut latitudes) =
            (cells(low.0, high.0, 180.0, along), cells(low.1, high.1, 90.0, up));
        // Of a box that only touches the map's edge ClickHouse has the first cell.
        if low.0 >= 180.0 || high.0 <= -180.0 || low.1 >= 90.0 || high.1 <= -90.0 {
            longitudes = *longitudes.start()..=*longitudes.start();
            latitudes = *latitudes.start()..=*latitudes.start();
        }
        let count = |range: &std::ops::RangeInclusive<u64>| range.end() - range.start() + 1;
        let all = count(&longitudes).saturating_mul(count(&latitudes));
        if all > BOX_MAX {
            let message = format!("geohashesInBox would make {all} hashes of a box: at most {BOX_MAX}");
            return Err(FunctionError::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, message));
        }
        let mut made = 0;
        call.reserve(usize::try_from(all).unwrap_or(usize::MAX).saturating_mul(32))?;
        for longitude in longitudes {
            for latitude in latitudes.clone() {
                text.clear();
                write(longitude, latitude, letters, &mut text);
                builder.append_value(&text);
                made += 1;
            }
        }
        lengths.push(made);
    }
    Ok(list_of(&ColumnType::String, offsets_of(lengths), Arc::new(builder.finish()), None)?)
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new("geohashEncode", 2..=3, encode_type, encode).doc(
            "geohashEncode(longitude, latitude[, letters])",
            "The geohash of a place, of 12 letters unless told.",
            "geohashEncode(-5.60302734375, 42.593994140625, 0) -> 'ezs42d000000'",
        ),
        ScalarFunction::new(
            "geohashDecode",
            1..=1,
            |args| match &args[0].column_type {
                text if text.is_string() => Ok(place_type()),
                other => Err(FunctionError::illegal_type(other, "geohashDecode")),
            },
            decode,
        )
        .doc(
            "geohashDecode(text)",
            "Longitude and latitude of the middle of a geohash's cell.",
            "geohashDecode('ezs42') -> (-5.60302734375,42.60498046875)",
        ),
        ScalarFunction::new("geohashesInBox", 5..=5, box_type, in_box).doc(
            "geohashesInBox(lon_min, lat_min, lon_max, lat_max, letters)",
            "The geohashes of so many letters that a box is covered by.",
            "geohashesInBox(24.48, 40.56, 24.785, 40.81, 4) -> ['sx1q','sx1r','sx32','sx1w','sx1x','sx38']",
        ),
    ]
}
