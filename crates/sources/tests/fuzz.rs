//! Mutated text for the structures users write in calls: an answer or an error, never a panic, a hang or much memory.

#![expect(clippy::panic, reason = "helpers of tests fail as tests do")]

#[path = "../../../tests/fuzz/mutate.rs"]
mod mutate;

use mutate::fuzz;
use sources::schema::structure;

#[test]
fn structures() {
    let seeds: [&[u8]; 3] = [
        b"a UInt8, `b c` Array(String), d Decimal(9, 2), e Enum8('x, (' = 1)",
        b"t Tuple(a UInt8, b Nullable(String)), m Map(String, Array(Int32))",
        b"\"q\" DateTime64(3, 'UTC')",
    ];
    let tokens: &[&[u8]] =
        &[b"(", b")", b",", b"'", b"`", b"\"", b"\\", b"Array(", b"Nullable(", b"Tuple(", b" ", b"=", b"-"];
    fuzz("structures", &seeds, tokens, |bytes, _| match structure::parse(&String::from_utf8_lossy(bytes)) {
        Ok(columns) => "i".repeat(columns.len().min(20)),
        // What the input is quoted in is not an answer of another kind.
        Err(error) => error.to_string().rsplit(": ").next().unwrap_or_default().to_owned(),
    });
}
