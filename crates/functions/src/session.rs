//! What functions answer about the session, and random values.
//!
//! Invariant: what the session answers is the same in all of a query; only random functions are volatile.

use std::sync::Arc;

use arrow::array::{ArrayRef, FixedSizeBinaryArray};
use arrow::buffer::Buffer;
use arrow::datatypes::{UInt32Type, UInt64Type};
use model::ColumnType;

use crate::call::{Call, SessionValues};
use crate::error::FunctionError;
use crate::number::wrap;
use crate::registry::ScalarFunction;

fn session_text(name: &'static str, text: fn(&SessionValues) -> &str) -> ScalarFunction {
    ScalarFunction::new(
        name,
        0..=0,
        |_| Ok(ColumnType::String),
        move |call| call.each_part(|_| text(call.session)),
    )
    .of_statement()
}

fn session() -> Vec<ScalarFunction> {
    vec![
        session_text("version", |session| &session.version).any_case().doc(
            "version()",
            "The version of the server.",
            "version()",
        ),
        session_text("currentDatabase", |session| &session.database)
            .any_case()
            .aliases(&["current_database", "database", "schema"])
            .doc("currentDatabase()", "The database of the session.", "currentDatabase()"),
        session_text("currentUser", |session| &session.user)
            .any_case()
            .aliases(&["user", "current_user"])
            .doc("currentUser()", "The user of the session.", "currentUser()"),
        session_text("hostName", |session| &session.host_name).any_case().aliases(&["hostname"]).doc(
            "hostName()",
            "The name of the machine.",
            "hostName()",
        ),
        session_text("displayName", |session| &session.host_name).doc(
            "displayName()",
            "The name the server shows.",
            "displayName()",
        ),
        session_text("queryID", |session| &session.query_id).any_case().aliases(&["query_id"]).doc(
            "queryID()",
            "The id of the query.",
            "queryID()",
        ),
        ScalarFunction::new(
            "uptime",
            0..=0,
            |_| Ok(ColumnType::UInt32),
            |call| {
                let seconds = (call.session.now_ns - call.session.process_start_ns) / 1_000_000_000;
                call.each::<UInt32Type>(|_| Ok(wrap(seconds)))
            },
        )
        .of_statement()
        .doc("uptime()", "Seconds the server has been running.", "uptime()"),
    ]
}

fn uuids(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let mut bytes = Vec::with_capacity(call.rows * 16);
    for _ in 0..call.rows {
        let mut random = [0_u8; 16];
        random[..8].copy_from_slice(&call.session.random.next_u64().to_be_bytes());
        random[8..].copy_from_slice(&call.session.random.next_u64().to_be_bytes());
        bytes.extend(uuid::Builder::from_random_bytes(random).into_uuid().into_bytes());
    }
    Ok(Arc::new(FixedSizeBinaryArray::new(16, Buffer::from(bytes), None)))
}

fn random() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new(
            "rand",
            0..=1,
            |_| Ok(ColumnType::UInt32),
            |call| call.each::<UInt32Type>(|_| Ok(wrap(call.session.random.next_u64() >> 32))),
        )
        .any_case()
        .aliases(&["rand32"])
        .own_nulls()
        .volatile()
        .doc("rand([x])", "A random UInt32; x only keeps calls apart.", "rand()"),
        ScalarFunction::new(
            "rand64",
            0..=1,
            |_| Ok(ColumnType::UInt64),
            |call| call.each::<UInt64Type>(|_| Ok(call.session.random.next_u64())),
        )
        .own_nulls()
        .volatile()
        .doc("rand64([x])", "A random UInt64.", "rand64()"),
        ScalarFunction::new(
            "randCanonical",
            0..=1,
            |_| Ok(ColumnType::Float64),
            |call| {
                // 53 bits are what a Float64 holds below one.
                let scale = 1.0 / 9_007_199_254_740_992.0;
                call.each::<arrow::datatypes::Float64Type>(|_| {
                    Ok(wrap::<u64, f64>(call.session.random.next_u64() >> 11) * scale)
                })
            },
        )
        .own_nulls()
        .volatile()
        .doc("randCanonical([x])", "A random Float64 from 0 to below 1.", "randCanonical()"),
        ScalarFunction::new("generateUUIDv4", 0..=1, |_| Ok(ColumnType::Uuid), uuids)
            .own_nulls()
            .volatile()
            .doc("generateUUIDv4([x])", "A random UUID.", "generateUUIDv4()"),
    ]
}

pub(crate) fn functions() -> Vec<ScalarFunction> {
    let mut out = session();
    out.extend(random());
    out
}
