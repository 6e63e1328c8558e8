//! What functions answer about the session, and random values.
//!
//! Invariant: what the session answers is the same in all of a query; only random functions are volatile.

use std::sync::Arc;

use arrow::array::{ArrayRef, FixedSizeBinaryArray, ListBuilder, StringViewBuilder};
use arrow::buffer::Buffer;
use arrow::datatypes::{UInt32Type, UInt64Type};
use model::mix64::mix64;
use model::saturating::u64_of;
use model::type_arrow::to_field;
use model::{ColumnType, ErrorCode};

use crate::cast::CastMode;
use crate::columns::number::wrap;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call, SessionValues};
use crate::kernel::registry::ScalarFunction;
use crate::time::temporal::ticks;

fn session_text(name: &'static str, text: fn(&SessionValues) -> &str) -> ScalarFunction {
    ScalarFunction::new(
        name,
        0..=0,
        |_| Ok(ColumnType::String),
        move |call| call.each_part(|_| text(call.session)),
    )
    .of_statement()
}

/// Readers of Native ask for it and then expect what it says of blocks.
const PROTOCOL_REVISION: u32 = 54_460;

fn session_number(name: &'static str, number: u32) -> ScalarFunction {
    ScalarFunction::new(
        name,
        0..=0,
        |_| Ok(ColumnType::UInt32),
        move |call| call.each::<UInt32Type>(|_| Ok(number)),
    )
    .of_statement()
}

/// The same list of names in every row.
fn session_list(call: &Call<'_>, names: &[&str]) -> Result<ArrayRef, FunctionError> {
    let item = to_field("item", &ColumnType::String);
    let mut lists = ListBuilder::new(StringViewBuilder::new()).with_field(item);
    for _ in 0..call.rows {
        names.iter().for_each(|name| lists.values().append_value(name));
        lists.append(true);
    }
    Ok(Arc::new(lists.finish()))
}

/// The values stand in the plan before it runs, as their types differ; a call that is left has no constant name.
fn of_setting(name: &'static str, arity: std::ops::RangeInclusive<usize>) -> ScalarFunction {
    let message = move || format!("function {name} takes the name of a setting as a constant text");
    ScalarFunction::new(
        name,
        arity,
        move |_| Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message())),
        move |_| Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message())),
    )
    .of_statement()
}

fn names_of_session(
    name: &'static str,
    call: &'static str,
    names: &'static [&'static str],
    description: &'static str,
) -> ScalarFunction {
    let list = |_: &[ArgType]| Ok(ColumnType::Array(Box::new(ColumnType::String)));
    let function = ScalarFunction::new(name, 0..=0, list, move |call| session_list(call, names));
    function.of_statement().doc(call, description, call)
}

/// Of the one who asks.
fn identity() -> Vec<ScalarFunction> {
    vec![
        session_text("currentDatabase", |session| &session.database)
            .any_case()
            .aliases(&["current_database", "database", "schema"])
            .doc("currentDatabase()", "The database of the session.", "currentDatabase()"),
        ScalarFunction::new(
            "currentSchemas",
            1..=1,
            |_| Ok(ColumnType::Array(Box::new(ColumnType::String))),
            |call| session_list(call, &[call.session.database.as_ref()]),
        )
        .any_case()
        .aliases(&["current_schemas"])
        .of_statement()
        .doc(
            "currentSchemas(with_implicit)",
            "The database of the session, as a list.",
            "currentSchemas(true)",
        ),
        session_text("currentUser", |session| &session.user)
            .any_case()
            .aliases(&["user", "current_user", "session_user"])
            .doc("currentUser()", "The user of the session.", "currentUser()"),
        session_text("authenticatedUser", |session| &session.user).aliases(&["authUser"]).doc(
            "authenticatedUser()",
            "The user who was let in: always the user of the session.",
            "authenticatedUser()",
        ),
        names_of_session(
            "currentProfiles",
            "currentProfiles()",
            &["default"],
            "The settings profiles of the session.",
        ),
        names_of_session("currentRoles", "currentRoles()", &[], "The roles of the session; there are none."),
        names_of_session("enabledRoles", "enabledRoles()", &[], "The roles in force; there are none."),
        names_of_session(
            "defaultRoles",
            "defaultRoles()",
            &[],
            "The roles a session begins with; there are none.",
        ),
    ]
}

/// Of the server that answers.
fn server() -> Vec<ScalarFunction> {
    vec![
        session_number("shardNum", 0).doc(
            "shardNum()",
            "The number of the shard that answers: 0, as there are none.",
            "shardNum() -> 0",
        ),
        session_number("shardCount", 0).doc(
            "shardCount()",
            "How many shards answer: 0, as there are none.",
            "shardCount() -> 0",
        ),
        session_text("version", |session| &session.version).any_case().doc(
            "version()",
            "The version of the server.",
            "version()",
        ),
        session_text("hostName", |session| &session.host_name).any_case().aliases(&["hostname"]).doc(
            "hostName()",
            "The name of the machine.",
            "hostName()",
        ),
        session_text("FQDN", |session| &session.host_name).any_case().aliases(&["fullHostName"]).doc(
            "FQDN()",
            "The name of the machine, as far as it knows its own.",
            "FQDN()",
        ),
        session_text("displayName", |session| &session.host_name).doc(
            "displayName()",
            "The name the server shows.",
            "displayName()",
        ),
        session_text("serverTimezone", |_| "UTC").aliases(&["serverTimeZone"]).doc(
            "serverTimezone()",
            "The time zone of the server, whatever that of the session is.",
            "serverTimezone()",
        ),
        session_number("revision", PROTOCOL_REVISION).any_case().doc(
            "revision()",
            "The revision of ClickHouse's protocol that is spoken.",
            "revision()",
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

/// Of the query and what it runs with.
fn query() -> Vec<ScalarFunction> {
    vec![
        session_text("queryID", |session| &session.query_id).any_case().aliases(&["query_id"]).doc(
            "queryID()",
            "The id of the query.",
            "queryID()",
        ),
        session_text("initialQueryID", |session| &session.query_id)
            .any_case()
            .aliases(&["initial_query_id"])
            .doc("initialQueryID()", "The id of the query that a client sent: this one.", "initialQueryID()"),
        session_text("currentQueryID", |session| &session.query_id)
            .any_case()
            .aliases(&["current_query_id"])
            .doc("currentQueryID()", "The id of the query.", "currentQueryID()"),
        ScalarFunction::new(
            "connectionId",
            0..=0,
            |_| Ok(ColumnType::UInt64),
            |call| call.each::<UInt64Type>(|_| Ok(0)),
        )
        .any_case()
        .aliases(&["connectionID", "connection_id"])
        .of_statement()
        .doc(
            "connectionId()",
            "The number of the connection; 0 where a protocol has none.",
            "connectionId()",
        ),
        of_setting("getSetting", 1..=1).doc(
            "getSetting(name)",
            "The value of a setting, whose name is a constant.",
            "getSetting('max_block_size')",
        ),
        of_setting("getSettingOrDefault", 2..=2).doc(
            "getSettingOrDefault(name, default)",
            "The value of a setting, or the default if there is no such setting.",
            "getSettingOrDefault('nosuch', 5)",
        ),
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

/// UUIDs that start with a time in milliseconds, in the order of rows: a counter with a random start behind the time.
fn uuids_in_order(call: &Call<'_>, millis: impl Fn(usize) -> i64) -> ArrayRef {
    // One bit less than it has, so that it does not start again.
    let start = call.session.random.next_u64() >> 23;
    let mut bytes = Vec::with_capacity(call.rows * 16);
    for row in 0..call.rows {
        let millis = u128::try_from(millis(row)).unwrap_or(0) & 0xFFFF_FFFF_FFFF;
        let counter = u128::from(start.wrapping_add(u64_of(row)) & 0x3FF_FFFF_FFFF);
        let random = u128::from(call.session.random.next_u64() >> 32);
        let (high, low) = (counter >> 30, counter & 0x3FFF_FFFF);
        let uuid = millis << 80 | 7 << 76 | high << 64 | 2 << 62 | low << 32 | random;
        bytes.extend(uuid.to_be_bytes());
    }
    Arc::new(FixedSizeBinaryArray::new(16, Buffer::from(bytes), None))
}

fn time_of_uuid(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    match &args[0].column_type {
        ColumnType::DateTime { .. } => Ok(ColumnType::Uuid),
        other => Err(FunctionError::illegal_type(other, "dateTimeToUUIDv7")),
    }
}

/// One number for all rows of a query. It follows from when the query began and from the argument where that is a constant, as
/// batches of rows that many threads work on know nothing else of each other.
fn random_constant(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let mut bits = mix64(wrap::<i64, u64>(call.session.now_ns));
    if let Some(arg) = call.args.first().filter(|arg| arg.is_constant && !arg.is_null(0)) {
        let text = call.caster(CastMode::Strict).to_text(&arg.array, arg.column_type.value_type());
        bits = text.value(0).bytes().fold(bits, |bits, byte| mix64(bits ^ u64::from(byte)));
    }
    call.each::<UInt32Type>(|_| Ok(wrap(bits >> 32)))
}

fn random() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new("randConstant", 0..=1, |_| Ok(ColumnType::UInt32), random_constant)
            .own_nulls()
            .of_statement()
            .doc("randConstant([x])", "A random UInt32 that is the same in all rows.", "randConstant()"),
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
        ScalarFunction::new(
            "generateUUIDv7",
            0..=1,
            |_| Ok(ColumnType::Uuid),
            |call| Ok(uuids_in_order(call, |_| call.session.now_ns.div_euclid(1_000_000))),
        )
        .own_nulls()
        .volatile()
        .doc("generateUUIDv7([x])", "A UUID that starts with the time.", "generateUUIDv7()"),
        ScalarFunction::new("dateTimeToUUIDv7", 1..=1, time_of_uuid, |call| {
            let (arg, times) = (call.arg(0)?, ticks(&call.arg(0)?.array));
            Ok(uuids_in_order(call, |row| times.value(arg.row(row)).saturating_mul(1000)))
        })
        .volatile()
        .doc("dateTimeToUUIDv7(t)", "A UUID that starts with a time.", "dateTimeToUUIDv7(now())"),
    ]
}

pub(crate) fn functions() -> Vec<ScalarFunction> {
    let mut out = identity();
    out.extend(server());
    out.extend(query());
    out.extend(random());
    out
}
