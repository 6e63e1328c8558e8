//! Kernels ask before they allocate: each that makes much of little is refused by an account too small for it, and not by one
//! that is large enough. Nothing large is made here: without an allocator that counts, an account holds what is asked for.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, ListArray, StringViewArray, UInt32Array};
use arrow::buffer::OffsetBuffer;
use functions::{Arg, ArgType, Call, FunctionError, SessionValues, lookup};
use host::{Account, MemoryBudget};
use model::type_arrow::to_field;
use model::type_name::parse;
use model::{ColumnType, ErrorCode};

const MIB: usize = 1 << 20;

/// An argument of a table of cases.
#[derive(Clone, Debug)]
enum Given {
    Text(&'static str, usize),
    Number(i64),
    /// So many numbers.
    List(usize),
    /// A list of so many texts of so many bytes.
    Texts(usize, usize),
}
use Given::{List, Number, Text, Texts};

impl Given {
    fn arg(&self) -> Arg {
        let list = |element: &ColumnType, values: ArrayRef, count: usize| -> ArrayRef {
            let field = Arc::new(to_field("item", element));
            Arc::new(ListArray::new(field, OffsetBuffer::from_lengths([count]), values, None))
        };
        let (array, name): (ArrayRef, _) = match self {
            Text(text, times) => (Arc::new(StringViewArray::from(vec![text.repeat(*times)])), "String"),
            Number(number) => (Arc::new(Int64Array::from(vec![*number])), "Int64"),
            List(count) => (
                list(&ColumnType::Int64, Arc::new(Int64Array::from(vec![7; *count])), *count),
                "Array(Int64)",
            ),
            Texts(count, bytes) => {
                let one = StringViewArray::from(vec!["x".repeat(*bytes)]);
                let same = UInt32Array::from(vec![0; *count]);
                let values = arrow::compute::take(&one, &same, None).expect("taken");
                (list(&ColumnType::String, values, *count), "Array(String)")
            }
        };
        Arg { array, is_constant: true, column_type: parse(name).expect("a type") }
    }
}

/// The code of a function's error under an account of so many bytes.
fn code(name: &str, given: &[Given], limit: usize) -> Option<ErrorCode> {
    let account = Account::open(limit as u64, &MemoryBudget::new(1 << 50));
    let entered = host::meter::enter(Some(Arc::clone(&account)));
    let function = lookup(name).expect("a function");
    let args: Vec<Arg> = given.iter().map(Given::arg).collect();
    let types: Vec<ArgType> = args
        .iter()
        .map(|arg| ArgType { column_type: arg.column_type.clone(), constant: Some(Arc::clone(&arg.array)) })
        .collect();
    let evaluated = || -> Result<ArrayRef, FunctionError> {
        let result = function.result_type(&types)?;
        function.evaluate(&Call::new(&args, 1, &result, &SessionValues::default()))
    };
    let answer = evaluated();
    drop(entered);
    assert_eq!(account.live_bytes(), 0, "{name} gives back what it asked for");
    answer.err().map(|error| error.code)
}

#[test]
fn what_makes_much_of_little_asks_first() {
    let (million, tens) = (Text("x", 1_000_000), Text("0123456789", 100_000));
    // Function, arguments; each makes more than 32 MiB and less than 1 GiB.
    let cases: Vec<(&str, Vec<Given>)> = vec![
        ("replaceAll", vec![Text("a", 10_000), Text("a", 1), Text("b", 10_000)]),
        ("replaceOne", vec![Text("a", 40_000_000), Text("a", 1), Text("b", 10)]),
        ("replaceRegexpAll", vec![Text("a", 10_000), Text("a", 1), Text("b", 10_000)]),
        ("replaceRegexpOne", vec![Text("a", 10_000), Text("a+", 1), Text("\\0", 10_000)]),
        ("format", vec![Text("{0}", 10_000), Text("x", 10_000)]),
        ("repeat", vec![Text("x", 1000), Number(100_000)]),
        ("concat", vec![million.clone(); 50]),
        ("concatWithSeparator", vec![million.clone(); 50]),
        ("arrayStringConcat", vec![Texts(1000, 100_000)]),
        ("arrayStringConcat", vec![Texts(10_000, 1), Text("-", 10_000)]),
        ("hex", vec![Text("x", 20_000_000)]),
        ("bin", vec![Text("x", 10_000_000)]),
        ("base64Encode", vec![Text("x", 40_000_000)]),
        ("upper", vec![Text("x", 40_000_000)]),
        ("encodeURLComponent", vec![Text("%", 20_000_000)]),
        ("range", vec![Number(10_000_000)]),
        ("arrayResize", vec![List(1), Number(4_000_000)]),
        ("arrayWithConstant", vec![Number(4_000_000), Number(1)]),
        ("arrayWithConstant", vec![Number(4_000_000), Text("abc", 1)]),
        ("replicate", vec![Number(1), List(4_000_000)]),
        ("splitByChar", vec![Text(",", 1), Text(",", 2_000_000)]),
        ("splitByString", vec![Text("", 1), Text("a", 2_000_000)]),
        ("splitByRegexp", vec![Text("[0-4]", 1), Text("0123456789", 400_000)]),
        ("extractAll", vec![Text("a", 2_000_000), Text("a", 1)]),
        ("extractAllGroupsVertical", vec![tens.clone(), Text("(.)(.)", 1)]),
        ("alphaTokens", vec![Text("a ", 2_000_000)]),
        ("arrayReverse", vec![List(2_000_000)]),
        ("arraySort", vec![List(2_000_000)]),
        ("arrayConcat", vec![List(1_000_000), List(1_000_000)]),
        ("arrayShingles", vec![List(10_000), Number(1000)]),
        ("toString", vec![List(1_000_000)]),
        ("extractURLParameters", vec![Text("http://h/?a&b&", 200_000)]),
    ];
    for (name, given) in cases {
        assert_eq!(code(name, &given, 32 * MIB), Some(ErrorCode::MEMORY_LIMIT_EXCEEDED), "{name}");
        assert_eq!(code(name, &given, 4096 * MIB), None, "{name}");
    }
}

#[test]
fn what_is_little_asks_for_nothing() {
    for (name, given) in [
        ("replaceAll", vec![Text("a", 100), Text("a", 1), Text("b", 100)]),
        ("repeat", vec![Text("x", 100), Number(1000)]),
        ("range", vec![Number(1000)]),
        ("upper", vec![Text("x", 10_000)]),
        ("splitByChar", vec![Text(",", 1), Text(",", 1000)]),
        ("arrayReverse", vec![List(1000)]),
    ] {
        assert_eq!(code(name, &given, 0), None, "{name}");
    }
}

#[test]
fn limits_of_clickhouse_come_before_memory() {
    for (name, given, expected) in [
        ("repeat", vec![Text("x", 1), Number(1_000_001)], ErrorCode::TOO_LARGE_STRING_SIZE),
        ("space", vec![Number(1_000_001)], ErrorCode::TOO_LARGE_STRING_SIZE),
        ("leftPad", vec![Text("x", 1), Number(1_000_001)], ErrorCode::TOO_LARGE_STRING_SIZE),
        ("range", vec![Number(500_000_001)], ErrorCode::ARGUMENT_OUT_OF_BOUND),
        ("arrayResize", vec![List(1), Number((1 << 30) + 1)], ErrorCode::TOO_LARGE_ARRAY_SIZE),
        ("arrayWithConstant", vec![Number(100_000_000), Text("abc", 1)], ErrorCode::TOO_LARGE_ARRAY_SIZE),
    ] {
        assert_eq!(code(name, &given, 0), Some(expected), "{name}");
    }
}
