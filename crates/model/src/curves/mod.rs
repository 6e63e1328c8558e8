//! Several numbers as one along a curve through space, and back: Morton's and Hilbert's.
//!
//! Invariant: taking apart what was joined gives the same numbers, as long as they have few enough bits. Must not know: columns.

/// Where the bits of a number are when each takes the room of `room`: the highest of its places.
fn places(room: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..64).zip((room - 1..64).step_by(usize::try_from(room).unwrap_or(1)))
}

/// The number with its bits so far from each other.
pub fn spread(number: u64, room: u64) -> u64 {
    places(room).fold(0, |spread, (bit, place)| spread | (number >> bit & 1) << place)
}

/// What [`spread`] was given.
pub fn gathered(number: u64, room: u64) -> u64 {
    places(room).fold(0, |gathered, (bit, place)| gathered | (number >> place & 1) << bit)
}

/// The bits of all numbers in turn, from the lowest.
pub fn interleaved(numbers: &[u64]) -> u64 {
    let (mut code, mut place) = (0, 0);
    for bit in 0..64 {
        for number in numbers {
            if place < 64 {
                code |= (number >> bit & 1) << place;
            }
            place += 1;
        }
    }
    code
}

/// What [`interleaved`] was given.
pub fn taken_apart(code: u64, count: usize) -> Vec<u64> {
    let mut numbers = vec![0; count];
    for place in 0..64 {
        numbers[place % count] |= (code >> place & 1) << (place / count);
    }
    numbers
}

/// Where Hilbert's curve of 32 steps comes to a place, from the highest bits on; 0 for places beyond it.
pub fn along_hilbert(x: u64, y: u64) -> u64 {
    if x.max(y) > 0xFFFF_FFFF {
        return 0;
    }
    let (mut x, mut y, mut code) = (x, y, 0);
    for bit in (0..32).rev() {
        let (a, b) = (x >> bit & 1, y >> bit & 1);
        code = code << 2 | (3 * a) ^ b;
        let low = (1_u64 << bit) - 1;
        if b == 0 {
            if a == 1 {
                (x, y) = (low - (x & low), low - (y & low));
            }
            (x, y) = (y & low, x & low);
        }
    }
    code
}

/// The place that [`along_hilbert`] was given.
pub fn of_hilbert(code: u64) -> (u64, u64) {
    let (mut x, mut y) = (0_u64, 0_u64);
    for step in 0..32 {
        let quarter = code >> (2 * step) & 3;
        let a = quarter >> 1 & 1;
        let b = (quarter ^ a) & 1;
        let low = (1_u64 << step) - 1;
        if b == 0 {
            if a == 1 {
                (x, y) = (low - (x & low), low - (y & low));
            }
            (x, y) = (y, x);
        }
        x |= a << step;
        y |= b << step;
    }
    (x, y)
}
