//! The table of functions as a whole: names, documentation, and what every function must not do.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, StringArray, StringViewArray};
use arrow::datatypes::{DataType, UInt8Type, UInt64Type};
use functions::{Arg, ArgType, Call, RandomStream, SessionValues, all, lookup};
use model::type_arrow::to_data_type;
use model::{ColumnType, type_name};

fn arg(array: ArrayRef, name: &str) -> Arg {
    Arg { array, is_constant: false, column_type: type_name::parse(name).expect("a value of the test") }
}

fn call(name: &str, args: &[Arg], rows: usize) -> (ColumnType, ArrayRef) {
    let function = lookup(name).expect("a value of the test");
    let types: Vec<ArgType> = args
        .iter()
        .map(|arg| ArgType {
            column_type: arg.column_type.clone(),
            constant: arg.is_constant.then(|| Arc::clone(&arg.array)),
        })
        .collect();
    let result = function.result_type(&types).expect("a value of the test");
    let session = SessionValues::default();
    let array = function.evaluate(&Call::new(args, rows, &result, &session)).expect("a value of the test");
    (result, array)
}

#[test]
fn names_are_unique_and_documented() {
    let mut seen = HashSet::new();
    for function in all() {
        for name in std::iter::once(&function.name).chain(function.aliases) {
            assert!(seen.insert(*name), "{name} is there twice");
            assert!(std::ptr::eq(lookup(name).expect("a value of the test"), function), "{name}");
        }
        assert!(!function.doc.signature.is_empty(), "{}", function.name);
        assert!(!function.doc.description.is_empty(), "{}", function.name);
        assert!(!function.doc.example.is_empty(), "{}", function.name);
    }
    assert!(all().windows(2).all(|pair| pair[0].name < pair[1].name));
    assert!(all().len() > 300, "{}", all().len());
}

#[test]
fn names_are_found_in_any_case_where_clickhouse_allows_it() {
    assert!(lookup("SUBSTRING").is_some() && lookup("Coalesce").is_some() && lookup("cast").is_some());
    assert!(lookup("TOYEARX").is_none() && lookup("splitbychar").is_none() && lookup("ToInt32").is_none());
}

#[test]
fn wrong_counts_of_arguments_are_refused() {
    for function in all() {
        let (least, most) = function.arity();
        assert!(least <= most, "{}", function.name);
        if most < usize::MAX {
            let many = vec![ArgType { column_type: ColumnType::UInt8, constant: None }; most + 1];
            assert_eq!(function.result_type(&many).unwrap_err().code.number(), 42, "{}", function.name);
        }
    }
}

#[test]
fn no_function_panics_on_arguments_of_any_type() {
    let types = [
        "UInt8",
        "Int64",
        "Float64",
        "String",
        "Date",
        "DateTime('UTC')",
        "DateTime64(3)",
        "Decimal(9, 2)",
        "Array(String)",
        "Array(UInt8)",
        "Map(String, UInt8)",
        "Tuple(UInt8, String)",
        "Nullable(String)",
        "Bool",
        "UUID",
        "Int128",
        "UInt128",
        "Int256",
        "UInt256",
        "IPv4",
        "IPv6",
        "Enum8('a' = 1)",
        "LowCardinality(String)",
        "Nothing",
    ];
    let session = SessionValues::default();
    let mut wrong = Vec::new();
    for function in all() {
        let (least, most) = function.arity();
        for name in types {
            let column_type = type_name::parse(name).expect("a value of the test");
            for count in least.max(1)..=most.min(least + 2) {
                for is_constant in [true, false] {
                    let array = functions::default_array(&column_type, if is_constant { 1 } else { 3 });
                    let args = vec![Arg { array, is_constant, column_type: column_type.clone() }; count];
                    let run = std::panic::AssertUnwindSafe(|| check_layout(function, &args, &session));
                    if std::panic::catch_unwind(run).is_err() {
                        wrong.push(format!("{} of {count} {name}, constant: {is_constant}", function.name));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn check_layout(function: &functions::ScalarFunction, args: &[Arg], session: &SessionValues) {
    let types: Vec<ArgType> = args
        .iter()
        .map(|arg| ArgType {
            column_type: arg.column_type.clone(),
            constant: arg.is_constant.then(|| Arc::clone(&arg.array)),
        })
        .collect();
    let Ok(result) = function.result_type(&types) else { return };
    if let Ok(array) = function.evaluate(&Call::new(args, 3, &result, session)) {
        assert_eq!(array.len(), 3, "{}", function.name);
        assert_eq!(array.data_type(), &to_data_type(&result), "{}", function.name);
        if !result.is_nullable() {
            assert_eq!(array.null_count(), 0, "{} of {:?}", function.name, types);
        }
    }
}

#[test]
fn nulls_make_rows_null() {
    let texts: ArrayRef = Arc::new(StringViewArray::from(vec![Some("abc"), None]));
    let (column_type, lengths) = call("length", &[arg(texts, "Nullable(String)")], 2);
    assert_eq!(column_type.to_string(), "Nullable(UInt64)");
    assert_eq!(lengths.as_primitive::<UInt64Type>().value(0), 3);
    assert!(lengths.is_null(1));
}

#[test]
fn foreign_layouts_are_accepted() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["abc", ""]));
    let (_, empty) = call("empty", &[arg(texts, "String")], 2);
    assert_eq!(empty.as_primitive::<UInt8Type>().values(), &[0, 1]);
    let sliced: ArrayRef = Arc::new(Int64Array::from(vec![1, -2, 3]).slice(1, 2));
    let (column_type, magnitude) = call("abs", &[arg(sliced, "Int64")], 2);
    assert_eq!(column_type, ColumnType::UInt64);
    assert_eq!(magnitude.as_primitive::<UInt64Type>().values(), &[2, 3]);
    assert_eq!(magnitude.data_type(), &DataType::UInt64);
}

#[test]
fn random_streams_follow_from_their_seed() {
    let (a, b) = (RandomStream::new(7), RandomStream::new(7));
    let first: Vec<u64> = (0..100).map(|_| a.next_u64()).collect();
    let second: Vec<u64> = (0..100).map(|_| b.next_u64()).collect();
    assert_eq!(first, second);
    assert_eq!(first.iter().collect::<HashSet<_>>().len(), 100);
}

#[test]
fn volatile_functions_say_so() {
    let volatile: Vec<&str> = all().iter().filter(|f| f.volatile).map(|f| f.name).collect();
    let random = [
        "arrayPartialShuffle",
        "arrayRandomSample",
        "arrayShuffle",
        "blockSize",
        "dateTimeToUUIDv7",
        "dumpColumnStructure",
        "fuzzBits",
        "generateUUIDv4",
        "generateUUIDv7",
        "neighbor",
        "rand",
        "rand64",
        "randBernoulli",
        "randBinomial",
        "randCanonical",
        "randExponential",
        "randLogNormal",
        "randNormal",
        "randPoisson",
        "randUniform",
        "randomFixedString",
        "randomPrintableASCII",
        "randomString",
        "randomStringUTF8",
        "rowNumberInAllBlocks",
        "rowNumberInBlock",
        "runningDifference",
        "runningDifferenceStartingWithFirstValue",
        "sleep",
        "sleepEachRow",
        "throwIf",
    ];
    assert_eq!(volatile, random);
}

#[test]
fn functions_of_the_statement_say_so() {
    let of_statement: Vec<&str> = all().iter().filter(|f| f.of_statement).map(|f| f.name).collect();
    let expected = [
        "FQDN",
        "UTCTimestamp",
        "authenticatedUser",
        "connectionId",
        "currentDatabase",
        "currentProfiles",
        "currentQueryID",
        "currentRoles",
        "currentSchemas",
        "currentUser",
        "defaultRoles",
        "displayName",
        "enabledRoles",
        "getSetting",
        "getSettingOrDefault",
        "hostName",
        "initialQueryID",
        "now",
        "now64",
        "queryID",
        "randConstant",
        "revision",
        "serverTimezone",
        "shardCount",
        "shardNum",
        "timeZone",
        "today",
        "uptime",
        "version",
        "yesterday",
    ];
    assert_eq!(of_statement, expected);
}

#[test]
fn monotonicity_depends_on_the_types() {
    let by = |name: &str, types: &[&str]| {
        let args: Vec<ArgType> = types
            .iter()
            .map(|name| ArgType {
                column_type: type_name::parse(name).expect("a value of the test"),
                constant: None,
            })
            .collect();
        lookup(name).expect("a value of the test").monotonicity(&args)
    };
    let increasing = Some((0, model::Monotonicity::Increasing));
    assert_eq!(by("toDate", &["DateTime64(3, 'UTC')"]), increasing);
    assert_eq!(by("toDate", &["String"]), None);
    assert_eq!(by("toYYYYMM", &["Date"]), increasing);
    assert_eq!(by("toStartOfMonth", &["DateTime"]), increasing);
    assert_eq!(by("toMonth", &["Date"]), None);
    assert_eq!(by("addSeconds", &["DateTime", "UInt8"]), None);
    assert_eq!(by("negate", &["Int32"]), Some((0, model::Monotonicity::Decreasing)));
    assert_eq!(by("negate", &["UInt64"]), None);
}
