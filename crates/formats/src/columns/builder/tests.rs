use arrow::array::{Array, AsArray};
use arrow::datatypes::{Int64Type, TimestampMillisecondType, TimestampSecondType};
use model::type_arrow::to_data_type;
use model::type_name::parse;
use model::{EVERY_TYPE, raw_text};

use super::*;

fn one(text: &str, form: TextForm, type_name: &str) -> Result<ArrayRef, String> {
    let column_type = parse(type_name).unwrap();
    let array = parse_value(text.as_bytes(), form, &column_type, &FormatSettings::default());
    array.map_err(|e| format!("{} {}", e.code, e.message)).inspect(|array| {
        assert_eq!(array.len(), 1);
        assert_eq!(*array.data_type(), to_data_type(&column_type));
    })
}

#[test]
fn every_type_has_a_default_and_its_layout() {
    let more = [
        "UInt16",
        "UInt32",
        "Int8",
        "Int16",
        "Int64",
        "Float64",
        "DateTime64(1)",
        "DateTime64(9)",
        "Enum8('a' = 1)",
        "Enum16('a' = 500)",
        "LowCardinality(Nullable(String))",
        "Tuple(a UInt8, b Array(String))",
    ];
    for name in EVERY_TYPE.into_iter().chain(more) {
        let column_type = parse(name).unwrap();
        let mut builder = TypedColumnBuilder::new(&column_type).unwrap();
        builder.append_default();
        builder.append_null().unwrap();
        assert_eq!(builder.len(), 2);
        let array = builder.finish().unwrap();
        assert_eq!((array.len(), array.data_type()), (2, &to_data_type(&column_type)), "{name}");
        assert!(builder.is_empty());
    }
}

#[test]
fn errors_carry_code_text_and_type() {
    for (text, form, type_name, error) in [
        ("300", TextForm::Raw, "UInt8", "69 value 300 does not fit type UInt8"),
        ("1.5", TextForm::Raw, "Int32", "27 cannot read \"1.5\" as Int32"),
        ("maybe", TextForm::Raw, "Bool", "467 cannot read \"maybe\" as Bool"),
        ("z", TextForm::Raw, "Enum8('x' = 1)", "691 unknown enum element \"z\" as Enum8('x' = 1)"),
        ("2020-02-30", TextForm::Raw, "Date", "38 cannot read \"2020-02-30\" as Date"),
        ("abcd", TextForm::Raw, "FixedString(3)", "131 text of 4 bytes does not fit type FixedString(3)"),
        ("abc", TextForm::Literal, "String", "26 abc stands without quotes, for type String"),
        ("2020", TextForm::Literal, "Date", "26 2020 stands without quotes, for type Date"),
        (
            "2020-01-01",
            TextForm::Literal,
            "DateTime",
            "26 2020-01-01 stands without quotes, for type DateTime",
        ),
        ("[abc]", TextForm::Raw, "Array(String)", "26 abc stands without quotes, for type String"),
        ("[1,x]", TextForm::Raw, "Array(Int8)", "130 cannot read \"x\" as Int8"),
        ("[1", TextForm::Raw, "Array(Int8)", "27 cannot read \"[1\" as Array(Int8)"),
        (
            "12345678901",
            TextForm::Raw,
            "Decimal(9, 2)",
            "69 value 12345678901 does not fit type Decimal(9, 2)",
        ),
    ] {
        assert_eq!(one(text, form, type_name).map(|_| ()), Err(error.to_owned()));
    }
}

#[test]
fn bytes_that_are_no_utf8_are_carried() {
    for (bytes, form, type_name, expected) in [
        (&b"a\xff"[..], TextForm::Raw, "String", &b"a\xff"[..]),
        (b"'\xe9''t'", TextForm::Literal, "String", b"\xe9't"),
        (b"\xff\xfe\0", TextForm::CsvQuoted, "FixedString(3)", b"\xff\xfe"),
        ("\u{10FEFF}".as_bytes(), TextForm::Raw, "String", "\u{10FEFF}".as_bytes()),
    ] {
        let mut builder = TypedColumnBuilder::new(&parse(type_name).unwrap()).unwrap();
        builder.append_text(bytes, form).unwrap();
        let text = builder.finish().unwrap();
        assert_eq!(raw_text::bytes(text.as_string_view().value(0)).as_ref(), expected, "{bytes:?}");
    }
}

#[test]
fn times_are_read_in_their_zone() {
    let seconds = |text, type_name| one(text, TextForm::Raw, type_name).unwrap();
    let berlin = seconds("2020-07-01 12:00:00", "DateTime('Europe/Berlin')");
    assert_eq!(berlin.as_primitive::<TimestampSecondType>().value(0), 1_593_597_600);
    let before = seconds("1960-01-01 00:00:00.5", "DateTime64(3)");
    assert_eq!(before.as_primitive::<TimestampMillisecondType>().value(0), -315_619_199_500);
    let clamped = seconds("2300-01-01 00:00:00", "DateTime");
    assert_eq!(clamped.as_primitive::<TimestampSecondType>().value(0), 4_294_967_295);
    let one_digit = seconds("2020-01-01 00:00:00.987", "DateTime64(1)");
    assert_eq!(one_digit.as_primitive::<TimestampMillisecondType>().value(0), 1_577_836_800_900);
}

#[test]
fn nested_json_and_literals_agree() {
    for (literal, json, type_name) in [
        ("[1,NULL,3]", "[1, null, 3]", "Array(Nullable(Int32))"),
        ("{'a':1,'b':2}", "{\"a\": 1, \"b\": \"2\"}", "Map(String, UInt8)"),
        ("(1,'x')", "{\"b\":\"x\",\"a\":1,\"c\":[{}]}", "Tuple(a Int32, b String)"),
        ("(1,['x','it\\'s'])", "[1,[\"x\",\"it's\"]]", "Tuple(Int32, Array(String))"),
        ("[[],[1]]", "[[],[1]]", "Array(Array(UInt8))"),
    ] {
        let from_literal = one(literal, TextForm::Literal, type_name).unwrap();
        assert_eq!(&from_literal, &one(json, TextForm::Json, type_name).unwrap(), "{type_name}");
        assert_eq!(&from_literal, &one(literal, TextForm::Raw, type_name).unwrap(), "{type_name}");
    }
}

#[test]
fn a_failed_scalar_leaves_no_trace() {
    let mut builder = TypedColumnBuilder::new(&ColumnType::Int64).unwrap();
    builder.append_text(b"1", TextForm::Raw).unwrap();
    builder.append_text(b"x", TextForm::Raw).unwrap_err();
    builder.append_value(&Value::Int(2)).unwrap();
    builder.append_value(&Value::Text("2".into())).unwrap_err();
    assert_eq!(builder.finish().unwrap().as_primitive::<Int64Type>().values(), &[1, 2]);
}
