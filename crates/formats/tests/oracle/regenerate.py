"""Rewrites the fixtures next to this file from the chdb package (ClickHouse in process).

    python3 crates/formats/tests/oracle/regenerate.py

outputs.txt   rows given as Values, and what every text output format prints for them
inputs.txt    bytes of an input format, and the rows read from them (as JSONCompactEachRow) or the error code
settings.txt  as inputs.txt under settings; without a structure what is inferred; `out` for what is printed of outputs
inference.txt bytes of a file, and the columns inferred, or the error code
binary.txt    rows given as Values, and their bytes in every binary format, as base64
"""

import base64
import json
import os
import re
import tempfile

import chdb

HERE = os.path.dirname(os.path.abspath(__file__))


def query(sql, output_format):
    """The result as text, or `code N`."""
    try:
        return chdb.query(sql, output_format).bytes().decode()
    except Exception as error:  # chdb raises RuntimeError with the server's text
        return "code " + re.search(r"Code: (\d+)", str(error)).group(1)


def literal(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


OUTPUT_FORMATS = """CSV CSVWithNames CSVWithNamesAndTypes TabSeparated TabSeparatedWithNames
TabSeparatedWithNamesAndTypes TabSeparatedRaw TSKV Values JSON JSONCompact JSONEachRow JSONCompactEachRow
JSONStringsEachRow JSONCompactStringsEachRow JSONCompactStringsEachRowWithNamesAndTypes
JSONCompactEachRowWithNamesAndTypes Pretty PrettyCompact PrettySpace Vertical Markdown""".split()

OUTPUTS = [
    ("u8 UInt8, u16 UInt16, u32 UInt32, u64 UInt64, i8 Int8, i16 Int16, i32 Int32, i64 Int64",
     "(0,0,0,0,0,0,0,0),(255,65535,4294967295,18446744073709551615,-128,-32768,-2147483648,-9223372036854775808)"),
    ("f Float32, d Float64, n Nullable(Float64)",
     "(0,0,NULL),(1.5,-1e-7,1e21),(nan,inf,-inf),(16777216,123456789012345680000,0.000001),(0.1,0.1,1e20)"),
    ("a Decimal(9, 2), b Decimal(38, 10), c Decimal(76, 5), d Nullable(Decimal(18, 0))",
     "('1.20','-0.0000000001','0',NULL),('-1234567.89','1234567890123456789.5','-99999999999999999999999999999.12345','7')"),
    ("s String, n Nullable(String), f FixedString(4), l LowCardinality(String)",
     r"('','','ab','x'),('it\'s \"q\" \\ /path','tab\there','abcd','new\nline'),('日本語 é',NULL,'','a,b;c'),('\0\b\f\r','  pad  ','','|md|*_`<>')"),
    ("d Date, d32 Date32, t DateTime, tz DateTime('Europe/Berlin'), n Nullable(Date)",
     "('1970-01-01','1900-01-01','1970-01-01 00:00:00','2020-07-01 12:00:00',NULL),('2149-06-06','2299-12-31','2106-02-07 06:28:15','2020-12-01 12:00:00','2020-02-29')"),
    ("a DateTime64(0), b DateTime64(1), c DateTime64(3, 'Asia/Tokyo'), d DateTime64(6), e DateTime64(9, 'America/New_York'), n Nullable(DateTime64(3))",
     "('2020-01-02 03:04:05','2020-01-02 03:04:05.9','1960-01-02 03:04:05.678','2020-01-02 03:04:05.000001','2020-07-02 03:04:05.123456789',NULL)"),
    ("b Bool, u UUID, e Enum8('a' = 1, 'b\\'c' = -2), g Enum16('x' = 1000), n Nullable(UUID), m Nullable(Bool)",
     "(true,'61f0c404-5cb3-11e7-907b-a6006ad3dba0','a','x',NULL,NULL),(false,'00000000-0000-0000-0000-000000000000','b\\'c','x','ffffffff-ffff-ffff-ffff-ffffffffffff',true)"),
    ("a Array(Int32), s Array(Nullable(String)), n Array(Array(Float64)), d Array(Date)",
     r"([],[],[],[]),([1,-2],['it\'s',NULL,'q\"q'],[[1.5],[],[nan]],['2020-01-01'])"),
    ("m Map(String, Int32), k Map(UInt8, Array(String)), t Tuple(Int32, String), n Tuple(a Int32, b Nullable(String))",
     r"({},{},(0,''),(0,NULL)),({'k1':1,'k\'2':-2},{1:['x','y'],2:[]},(7,'it\'s'),(8,'z'))"),
    ("x Array(Tuple(a UInt8, b Array(Bool))), y Map(String, Tuple(d Date, t DateTime64(3)))",
     "([(1,[true,false]),(2,[])],{'k':('2020-01-01','2020-01-01 00:00:00.5')})"),
    ("single UInt64", "(1234567)"),
    ("number UInt64", ",".join(f"({n})" for n in range(12))),
    ("many UInt8", ",".join(f"({n % 256})" for n in range(60))),
    ("a String, b UInt8", r"('line one\nline two\nthree',1),('plain',2)"),
    ("a_rather_long_column_name UInt8, b String", "(1,'x'),(2,'longer than its header')"),
    ("quote\"name UInt8".replace('quote"name', "`quote\"name`") + ", `tab\tname` String", "(1,'x')"),
    ("a UInt8, w1 String, w2 String, w3 String, w4 String, w5 String",
     "(1," + ",".join(f"'{'z' * 60}'" for _ in range(5)) + ")"),
]

INPUTS = [
    ("CSV", "a Int32, b String", "1,x\n,\n\\N,\\N\n\"\",\"\"\n"),
    ("CSV", "a Nullable(Int32), b Nullable(String)", "1,x\n,\n\\N,\\N\n\"5\",\"\"\n"),
    ("CSV", "a Nullable(Int32), b Nullable(String)", "\"\",\"\\N\"\n"),
    ("CSV", "a Nullable(Int32)", "NULL\n"),
    ("CSV", "a Nullable(String), b Nullable(String)", "NULL,\"\\N\"\n"),
    ("CSV", "a String, b String", "a,b\rc\n1,2\r\n"),
    ("CSV", "a String, b String", "1,\"a\"\rx\n"),
    ("TSKV", "a Int32, b Nullable(String)", "a=1\tb=x\\ty\ntskv\tb=q\ta=2\n\nb=\\N\ta=5\tz=\n"),
    ("TSKV", "a Int32, b Nullable(String)", "a=1\tb\n"),
    ("TSKV", "a Int32", "a=1\ta=2\n"),
    ("TSKV", "a Int32", "a=1=2\n"),
    ("JSON", "a Int32, b String", '{"meta":[{"name":"a","type":"Int32"},{"name":"b","type":"String"}],"data":[{"a":1,"b":"]"},{"b":"x","a":2}],"rows":2}'),
    ("JSON", "a Int32, b String", '{"meta":[{"name":"a","type":"Int32"},{"name":"b","type":"String"}],"data":[],"rows":0}'),
    ("JSON", "a Int32, b String", '{"a":1,"b":"x"}\n{"a":2}'),
    ("JSON", "a Int32, b String", '[{"a":1,"b":"x"},{"a":2}]'),
    ("JSONCompact", "a Int32, b String", '{"meta":[{"name":"a","type":"Int32"},{"name":"b","type":"String"}],"data":[[1,"]"],[2,"x"]],"rows":2}'),
    ("CSV", "a Int32, b String", "1\n"),
    ("CSV", "a Int32, b String", "1,2,3\n"),
    ("CSV", "a Int32, b String", "1,2,\n"),
    ("CSV", "a Int32, b String", "1,2\n\n"),
    ("CSV", "a Int32", "1\n\n3\n"),
    ("CSV", "a String, b String", " x y , \"q\" \n"),
    ("CSV", "a Int32, b String", "1.5,x\n"),
    ("CSV", "a Int32, b String", "abc,x\n"),
    ("CSV", "a Int32, b String", "+7,x"),
    ("CSV", "a Decimal(9, 2), b Float64", "1.239,1e5\n1e2,nan\n-0.005,-inf\n,Infinity\n"),
    ("CSV", "a Decimal(9, 2)", "12345678901\n"),
    ("CSV", "a Date, b Date32", "1900-01-01,2000-01-01\n2200-01-01,1901-02-03\n20200102,2020-1-2\n"),
    ("CSV", "a DateTime", "2020-01-02 03:04:05\n1577836800\n2020-01-02T03:04:05Z\n2020-01-02T03:04:05.123+02:00\n2020-01-02\n20200102030405\n01/02/2020 03:04:05\nJan 5 2020 10:00 PM\n"),
    ("CSV", "a DateTime", "0\n"),
    ("CSV", "a DateTime", "2020-13-45 99:99:99\n"),
    ("CSV", "a DateTime64(3)", "2020-01-02 03:04:05.6789\n1577836800.5\n1577836800\n1577836800123\n1960-01-01 00:00:00\n2020-01-02T03:04:05Z\n"),
    ("CSV", "a DateTime('Europe/Berlin')", "2020-03-29 02:30:00\n2020-10-25 02:30:00\n1960-01-01 00:00:00\n2300-01-01 00:00:00\n"),
    ("CSV", "a Bool", "true\n0\nt\nyes\nFalse\non\nDisabled\n"),
    ("CSV", "a Bool", "maybe\n"),
    ("CSV", "a UUID", "61f0c404-5cb3-11e7-907b-a6006ad3dba0\n61F0C4045cb311e7907ba6006ad3dba0\n"),
    ("CSV", "a Enum8('x' = 1, 'y' = 2)", "x\n2\n\"y\"\n"),
    ("CSV", "a Enum8('x' = 1, 'y' = 2)", "z\n"),
    ("CSV", "a FixedString(3)", "ab\n\"abc\"\n"),
    ("CSV", "a FixedString(3)", "abcd\n"),
    ("CSV", "a Array(Nullable(Int32)), b Array(String)", "\"[1,NULL,3]\",\"['a','b''c','d\\'e']\"\n[],[]\n"),
    ("CSV", "a Tuple(x Int32, y String), b Int32", "1,\"q\",5\n"),
    ("CSV", "a Map(String, Int32)", "\"{'a':1,'b':2}\"\n{}\n"),
    ("CSVWithNames", "a Int32, b String", "b,a,zz\nx,1,9\n"),
    ("CSVWithNames", "a Int32, b String", "b\nx\n"),
    ("CSVWithNamesAndTypes", "a Int32, b String", "a,b\nInt32,String\n1,x\n"),
    ("CSV", "a Int32, b String", "a,b\n5,x\n"),
    ("CSV", "a String, b String", "a,b\n5,x\n"),
    ("CSV", "a Int32, b String", "b,a\n5,1\n"),
    ("CSV", "a Int32, b String", "\"1\",\"x\ny\"\"z\"\r\n2,w\r\n"),
    ("CSV", "a Int32, b String", "1,\"open\n"),
    ("TSV", "a Int32, b String", "1\tx\\ty\n\\N\t\\N\n"),
    ("TSV", "a Int32, b String", "\tx\n"),
    ("TSV", "a Nullable(Int32), b Nullable(String)", "\t\n\\N\t\\N\n"),
    ("TSV", "a Date", "\n"),
    ("TSV", "a Int32, b String", "1\n"),
    ("TSV", "a Int32, b String", "1\t2\t3\n"),
    ("TSV", "a Int32, b String", "1\t2\r\n"),
    ("TSV", "a Int32, b String", "a\tb\n1\t2\n"),
    ("TSV", "b String", "\\a\\b\\e\\q\\x41\\\\\\'\n"),
    ("TSV", "a Array(String), b Tuple(Int32, String), c Map(String, Int32)", "['a\\tb','c\\'d']\t(1,'x')\t{'k':1}\n"),
    ("TSVWithNames", "a Int32, b String", "b\ta\nx\t1\n"),
    ("TSVRaw", "a Int32, b String", "1\tx\\ty\n"),
    ("JSONEachRow", "a Int32, b String, c Bool", "{\"a\":\"5\",\"b\":7,\"c\":1,\"d\":{\"x\":[1]}}\n{\"a\":true,\"b\":{\"x\": 1},\"c\":null}{\"b\":[1, 2]}"),
    ("JSONEachRow", "a Int32", "{\"a\":1,\"a\":2}"),
    ("JSONEachRow", "a Int32", "[{\"a\":1},{\"a\":2}]"),
    ("JSONEachRow", "a Int32", "{\"a\":1},{\"a\":2}"),
    ("JSONEachRow", "a Int32", "{\"a\":1.5}"),
    ("JSONEachRow", "a Int32", "{\"a\":\"x\"}"),
    ("JSONEachRow", "a Tuple(x Int32, y String), b Map(String, Int32), c Array(Nullable(Float64)), d DateTime64(3)", "{\"a\":{\"y\":\"q\"},\"b\":{\"k\":1},\"c\":[1,null,2.5],\"d\":\"2020-01-01 00:00:00.5\"}"),
    ("JSONEachRow", "a Tuple(Int32, String), d DateTime64(3), e Nullable(String)", "{\"a\":[1,\"q\"],\"d\":1577836800.25, \"e\":\"\\u00e9\\n\\ud83d\\ude00\"}"),
    ("Values", "a Int32, b String, c Array(Int32), d Nullable(Date)", "(1,'a''b\\n',[1,2],'2020-01-01'), (2 , 'x', [], NULL);"),
    ("LineAsString", "a String", "x\ny\nz"),
    ("JSONCompactEachRow", "a Int32, b String", "[1,\"x\"]\n[2,\"y\"]"),
]

INFERENCE = [
    ("CSV", "1,2.5,true,2020-01-01,2020-01-01 00:00:00,2020-01-01 00:00:00.123,abc,\"x\",\"12\",\"2020-01-01\",\\N,,\"[1,2]\",\"(1,'a')\",\"{'a':1}\"\n"),
    ("TSKV", "a=1\tb\\==x\n\nb\\==2\tc=\\N\n"),
    ("JSON", '{"meta":[{"name":"a","type":"Int32"},{"name":"b","type":"Array(String)"}],"data":[{"a":1,"b":[]}]}'),
    ("JSON", '{"a":1,"b":"x"}\n{"a":2.5}'),
    ("JSONCompact", '{"meta":[{"name":"a","type":"UInt8"}],"data":[[1]]}'),
    ("CSV", "a,b\n1,x\n"),
    ("CSV", "a,b\nc,d\n"),
    ("CSV", "\"a\",\"b\"\n1,2\n"),
    ("CSV", "a,b\n\\N,\n"),
    ("CSV", "1,2\n2.5,x\n"),
    ("CSV", "2020-01-01\n2020-01-01 00:00:00\n"),
    ("CSV", "2020-01-01 00:00:00\n2020-01-01 00:00:00.5\n"),
    ("CSV", "2020-01-01 00:00:00.5\n2020-01-01\n"),
    ("CSV", "2020-01-01T00:00:00Z\n"),
    ("CSV", "true\n1\n"),
    ("CSV", "9223372036854775808\n"),
    ("CSV", "18446744073709551616\n"),
    ("CSV", "1e5\n"),
    ("CSV", "-5\nnan\n"),
    ("CSV", "01\n007\n"),
    ("CSV", " 1 , 2\n"),
    ("CSV", "1577836800\n20200101\n"),
    ("CSV", "inf,Infinity,NULL,null,True,t,1.,.5,1_0,0x10\n"),
    ("CSV", "1,2\n3\n"),
    ("CSV", ""),
    ("CSV", "a,b\n"),
    ("CSV", "2020/01/02,01/02/2020 03:04:05,Jan 5 2020,12:30\n"),
    ("TSV", "1\t2.5\ttrue\t2020-01-01\t2020-01-01 00:00:00\tabc\t\\N\t[1,2]\t(1,'a')\t{'a':1}\t\n"),
    ("TSV", "id\tname\n1\tx\n"),
    ("TSV", "['a']\t[1,NULL]\t[1,2.5]\t[[1],[]]\n"),
    ("CSVWithNames", "a,b\n1,x\n2,\n"),
    ("CSVWithNamesAndTypes", "a,b\nInt8,String\n1,x\n"),
    ("JSONEachRow", "{\"a\":1,\"b\":\"x\",\"c\":null,\"d\":[1,2],\"e\":{\"x\":1,\"y\":\"s\"},\"f\":true,\"g\":1.5,\"h\":\"2020-01-01\",\"i\":\"2020-01-01 00:00:00\",\"l\":{},\"m\":[null,1],\"n\":\"12\",\"o\":[{\"x\":1},{\"y\":2}],\"p\":\"2020-01-01 00:00:00.123\"}"),
    ("JSONEachRow", "{\"a\":1}\n{\"a\":2.5}\n{\"b\":1}"),
    ("JSONEachRow", "{\"a\":1}\n{\"a\":\"x\"}"),
    ("JSONEachRow", "{\"a\":1}\n{\"a\":true}"),
    ("JSONEachRow", "{\"a\":[1]}\n{\"a\":[2.5]}\n{\"a\":null}"),
    ("JSONEachRow", "{\"a\":{\"x\":1}}\n{\"a\":{\"y\":[1]}}"),
    ("JSONEachRow", "{\"a\":18446744073709551615}"),
    ("JSONEachRow", "{\"a\":{\"x\":1}}\n{\"a\":5}"),
    ("JSONEachRow", "{\"a\":\"2020-01-01\"}\n{\"a\":\"x\"}"),
    ("JSONEachRow", "{\"a\":\"2020-01-01T00:00:00Z\",\"b\":\"1577836800\"}"),
    ("JSONEachRow", "{\"a\":1e5,\"b\":[[1],[]],\"c\":{\"d\":{\"e\":null}}}"),
    ("JSONCompactEachRow", "[1,\"x\"]\n[2,\"y\"]"),
    ("CSV", "18446744073709551615\n5\n"),
    ("CSV", "9223372036854775808\n1.5\n"),
    ("CSV", "99999999999999999999\n5\n"),
    ("CSV", "\"[18446744073709551615,1]\"\n"),
    ("TSV", "18446744073709551615\n5\n"),
    ("JSONEachRow", "{\"a\":18446744073709551615}\n{\"a\":5}"),
    ("JSONEachRow", "{\"a\":[18446744073709551615,5]}"),
    ("CSV", "05/06/2019,10-08-2008,5/6/2019,2008-08-10 1:2:3,\"05/06/2019\",2020-Jan-05,5 Jan 2020 10:11,10:11:12,2020.01.05,2020-1-5\n"),
    ("CSV", "2020-12-30 01:25:58.745232+01,2020-12-30 01:25:58+01,2020-12-30 01:25:58Z,20200101101112\n"),
    ("CSV", "2020-01-01 11:11:11.345,2020-01-01 11:11:11\n2020-01-01T11:11:11Z,2020-01-01T11:11:11Z\n"),
    ("CSV", "919 304 6161,10/08/2008\n"),
    ("CSV", "Date\n02/01/2019\n08//01/2019\n"),
    ("CSV", "['x'],[],{},(1)\n"),
    ("TSV", "[]\t{}\t[[]]\t[NULL]\n"),
    ("TSV", "[]\t{}\n[1]\t{'a':1}\n"),
    ("JSONEachRow", "{\"a\":[],\"b\":[null],\"c\":[[]]}"),
    ("CSV", "\"[]\",\"{}\",\"['x']\",\"true\",\"1.5\",True\n"),
    ("TSV", "05/06/2019\t2020-12-30 01:25:58.745232+01\n"),
    ("JSONEachRow", "{\"a\":\"05/06/2019\",\"b\":\"2020-12-30 01:25:58.745232+01\"}"),
    ("JSONCompactEachRowWithNames", "[\"a\",\"b\"]\n[1,\"x\"]\n[2,\"y\"]"),
]


def custom(rule, **others):
    around = {"field_delimiter": "|", "row_before_delimiter": "<", "row_after_delimiter": ">", "row_between_delimiter": ";\n"}
    return {"format_custom_escaping_rule": rule} | {f"format_custom_{name}": text for name, text in (around | others).items()}


ENUM = "a Enum8('x' = 1, '2' = 3)"
NAMED = {"result_before_delimiter": "BEGIN\n", "result_after_delimiter": "END\n"}

# Format, structure (none: what is inferred), settings, data.
SETTINGS = [
    ("CustomSeparated", "a Int32, b String", {}, "1\tx\\n\n2\ty\n"),
    ("CustomSeparated", "a Int32, b String", {}, "1\tx\n2\ty"),
    ("CustomSeparated", "a Int32, b String", {}, "a\tb\n2\ty\n"),
    ("CustomSeparated", "", {}, "a\tb\n2\ty\n"),
    ("CustomSeparated", "", {}, "1\tx\n2\ty\n"),
    ("CustomSeparatedWithNames", "a Int32, b String", {}, "b\ta\nx\t1\n"),
    ("CustomSeparatedWithNamesAndTypes", "a Int32, b String", {}, "b\ta\nString\tInt32\nx\t1\n"),
    ("CustomSeparated", "a Nullable(Int32), b String", custom("CSV"), '<1|"a|b">;\n<\\N|c>'),
    ("CustomSeparated", "", custom("CSV"), '<1|"a|b">;\n<2|c>'),
    ("CustomSeparated", "a Int32, b String", custom("CSV"), "<1|ab>;\n<2|c>;\n"),
    ("CustomSeparated", "a Int32, b String", custom("CSV"), "<1|ab>\n<2|c>"),
    ("CustomSeparated", "a Int32, b String", custom("CSV"), "1|ab>;\n<2|c>"),
    ("CustomSeparated", "a Int32, b String, c Array(Int32)", custom("JSON"), '<1|"a|b\\"">;\n<2|"c"|[1, 2]>'.replace('b\\"">', 'b\\""|[]>')),
    ("CustomSeparated", "", custom("JSON"), '<1|"a|b">;\n<2.5|"c">'),
    ("CustomSeparated", "a Nullable(Int32), b String", custom("Quoted"), "<1|'a|b\\'s'>;\n<NULL|'c'>"),
    ("CustomSeparated", "", custom("Quoted"), "<1|'a|b'>;\n<2|'c'>"),
    ("CustomSeparated", "a Int32, b String", custom("CSV", field_delimiter="||", row_before_delimiter="", row_after_delimiter="##", row_between_delimiter=""), "1||x|y##2||y#z##"),
    ("CustomSeparated", "a Int32, b String", custom("CSV", field_delimiter=",", row_before_delimiter="", row_after_delimiter="\n", row_between_delimiter=""), "1, x \r\n2,y\r\n"),
    ("CustomSeparated", "a Int32, b String", {f"format_custom_{n}": v for n, v in NAMED.items()}, "BEGIN\n1\tx\n2\ty\nEND\n"),
    ("CustomSeparated", "a Int32, b String", {f"format_custom_{n}": v for n, v in NAMED.items()}, "BEGIN\n1\tx\n2\ty\n"),
    ("CustomSeparated", "a Int32, b String", {"input_format_custom_skip_trailing_empty_lines": 1}, "1\tx\n2\ty\n\n\n"),
    ("CustomSeparated", "a Int32, b String", {"input_format_custom_allow_variable_number_of_columns": 1}, "1\n2\ty\n3\tz\tw\n"),
    ("CustomSeparated", "a Int32, b String", {"format_custom_field_delimiter": ""}, "1,x\n"),
    ("JSONStringsEachRow", "a Nullable(Int32), b Nullable(String)", {}, '{"a":"ᴺᵁᴸᴸ","b":"ᴺᵁᴸᴸ"}\n{"a":"NULL","b":"NULL"}\n{"b":"\\\\N","a":"5"}\n'),
    ("JSONStringsEachRow", "a Date, b DateTime, c Array(String), d Bool, e Tuple(Int32, String), m Map(String, Int32)", {},
     '{"a":"2020-01-01","b":"05/06/2019","c":"[\'x\',\'\\u00e9\']","d":"yes","e":"(1,\'x\')","m":"{\'a\':1}"}'),
    ("JSONStringsEachRow", "a String, b String", {}, '{"a":"x\\ty","b":""}'),
    ("JSONStringsEachRow", "a Int32", {}, '{"a":"x"}'),
    ("JSONStringsEachRow", "", {}, '{"a":"1","b":"x","c":"[1,2]","e":"2020-01-01"}\n'),
    ("JSONCompactStringsEachRow", "", {}, '["1","x"]\n["2","y"]'),
    ("JSONCompactStringsEachRow", "a Int32, b String", {}, '["1","x"]\n["2","y"]'),
    ("JSONCompactStringsEachRowWithNames", "a Int32, b String", {}, '["b","a"]\n["x","2"]'),
    ("JSONCompactStringsEachRowWithNamesAndTypes", "a Int32, b String", {}, '["b","a"]\n["String","Int32"]\n["x","2"]'),
    ("CSV", ENUM, {"input_format_csv_enum_as_number": 1}, "1\n3\n"),
    ("CSV", ENUM, {"input_format_csv_enum_as_number": 1}, "2\n"),
    ("CSV", ENUM, {"input_format_csv_enum_as_number": 1}, "x\n"),
    ("CSV", ENUM, {}, "2\n3\nx\n"),
    ("TSV", ENUM, {"input_format_tsv_enum_as_number": 1}, "1\n3\n"),
    ("TSV", ENUM, {"input_format_tsv_enum_as_number": 1}, "2\n"),
    ("CSV", "", {"input_format_csv_try_infer_numbers_from_strings": 1}, '"1","2.5","x","[1]"\n'),
    ("CSV", "", {"input_format_csv_use_best_effort_in_schema_inference": 0}, "1,2.5,2020-01-01,true,[1]\n"),
    ("TSV", "", {"input_format_tsv_use_best_effort_in_schema_inference": 0}, "1\t2.5\t2020-01-01\ttrue\t[1]\n"),
    ("CSV", "", {"input_format_try_infer_exponent_floats": 1}, "1e5,2E-3,1e,1.5e3,5\n"),
    ("CSV", "", {"input_format_try_infer_datetimes_only_datetime64": 1}, "2020-01-01 00:00:00,2020-01-01\n"),
    ("CSV", "a Int32", {"input_format_csv_skip_trailing_empty_lines": 1}, "5\n\n\n"),
    ("CSV", "a Int32, b Int32", {"input_format_csv_skip_trailing_empty_lines": 1}, "5,6\r\n\n\n"),
    ("CSV", "a Int32, b Int32", {}, "5,6\n\n\n"),
    ("TSV", "a Int32, b Int32", {"input_format_tsv_skip_trailing_empty_lines": 1}, "5\t6\n\n\n"),
    ("JSONEachRow", "", {"input_format_json_try_infer_numbers_from_strings": 1}, '{"a":"1","b":"2.5","c":"x","d":["1","2"],"e":["1","x"],"f":"2020-01-01"}\n{"a":"x"}'),
    ("JSONEachRow", "", {"input_format_json_try_infer_numbers_from_strings": 1}, '{"a":"1"}\n{"a":2}'),
    ("JSONEachRow", "", {"input_format_json_try_infer_named_tuples_from_objects": 0}, '{"a":{"x":1,"z":2}}'),
    ("JSONEachRow", "", {"input_format_json_read_numbers_as_strings": 0}, '{"a":1}\n{"a":"x"}'),
    ("JSONEachRow", "", {"input_format_json_read_bools_as_strings": 0}, '{"a":true}\n{"a":"x"}'),
    ("JSONEachRow", "", {"input_format_json_read_bools_as_numbers": 0}, '{"a":true}\n{"a":1}'),
    ("JSONEachRow", "a String", {"input_format_json_read_bools_as_strings": 0}, '{"a":true}'),
    ("JSONEachRow", "a String", {"input_format_json_read_objects_as_strings": 0}, '{"a":{"x":1}}'),
    ("JSONEachRow", "a String", {"input_format_json_read_arrays_as_strings": 0}, '{"a":[1, 2]}'),
    ("JSONEachRow", "a Tuple(x Int32, y Int32)", {"input_format_json_defaults_for_missing_elements_in_named_tuple": 0}, '{"a":{"x":1}}'),
    ("JSONEachRow", "a Tuple(x Int32)", {"input_format_json_ignore_unknown_keys_in_named_tuple": 0}, '{"a":{"x":1,"z":2}}'),
    ("JSONEachRow", "b Int32", {"input_format_json_max_depth": 2}, '{"a":[[[1]]],"b":1}'),
    ("JSONEachRow", "b Int32", {"input_format_json_max_depth": 3}, '{"a":[[[1]],"]["],"b":1}'),
]

CUSTOM = [{}] + [custom(rule, **NAMED) for rule in ("Escaped", "CSV", "JSON", "Quoted", "Raw")]
SETTINGS_OUT = [(name, settings) for name in ("CustomSeparated", "CustomSeparatedWithNames", "CustomSeparatedWithNamesAndTypes")
                for settings in CUSTOM]


def write(name, sections):
    with open(os.path.join(HERE, name), "w", newline="") as out:
        out.write("".join(sections))


def outputs():
    for structure, values in OUTPUTS:
        yield f"@@@ case {structure.replace(chr(9), chr(92) + 't')}\n{values}\n"
        for name in OUTPUT_FORMATS:
            sql = f"select * from format(Values, {literal(structure)}, {literal(values)})"
            yield f"@@@ {name}\n{query(sql, name)}\n"


def file_query(path, kind, structure, select, suffix=""):
    arguments = f"'{path}', '{kind}'" + (f", {literal(structure)}" if structure else "")
    return f"{select} file({arguments}){suffix}"


def inputs(path):
    for kind, structure, data in INPUTS:
        with open(path, "w", newline="") as file:
            file.write(data)
        result = query(file_query(path, kind, structure, "select * from"), "JSONCompactEachRow")
        yield f"@@@ {kind} {structure}\n{json.dumps(data)}\n{result}\n"


def setting_list(settings):
    return "".join(f", {name} = {literal(str(value))}" for name, value in settings.items())


def under_settings(path):
    for kind, structure, settings, data in SETTINGS:
        with open(path, "w", newline="") as file:
            file.write(data)
        suffix = " settings schema_inference_use_cache_for_file = 0" + setting_list(settings)
        if structure:
            # In the outer query settings of CustomSeparated would also be those of the output.
            result = query(file_query(path, kind, structure, "select * from", suffix), "JSONCompactEachRow")
        else:
            result = query(file_query(path, kind, None, "describe", suffix), "TabSeparatedRaw")
            if not result.startswith("code "):
                result = "\n".join("\t".join(line.split("\t")[:2]) for line in result.splitlines()) + "\n"
        yield f"@@@ {kind} {structure}\n{json.dumps(settings)}\n{json.dumps(data)}\n{result}\n"
    for kind, settings in SETTINGS_OUT:
        for structure, values in OUTPUTS[:10]:
            sql = f"select * from format(Values, {literal(structure)}, {literal(values)})"
            suffix = " settings max_threads = 1" + setting_list(settings)
            result = json.dumps(query(sql + suffix, kind))
            yield f"@@@ out {kind} {structure}\n{json.dumps(settings)}\n{json.dumps(values)}\n{result}\n"


def inference(path):
    for kind, data in INFERENCE:
        with open(path, "w", newline="") as file:
            file.write(data)
        sql = file_query(path, kind, None, "describe", " settings schema_inference_use_cache_for_file = 0")
        described = query(sql, "TabSeparatedRaw")
        if not described.startswith("code "):
            described = "\n".join("\t".join(line.split("\t")[:2]) for line in described.splitlines()) + "\n"
        yield f"@@@ {kind}\n{json.dumps(data)}\n{described}\n"


BINARY_FORMATS = """Native RowBinary RowBinaryWithNames RowBinaryWithNamesAndTypes Arrow ArrowStream""".split()

# Cases of OUTPUTS that every binary format holds, and what only those have: dictionaries.
BINARY = OUTPUTS[:10] + [
    ("l LowCardinality(String), n LowCardinality(Nullable(String)), f LowCardinality(FixedString(2))",
     "('a',NULL,'x'),('b','','yy'),('a','z','x'),('','z','')"),
    ("a Array(LowCardinality(String)), e Array(LowCardinality(Nullable(String)))",
     "(['a','b','a'],[]),([],[]),(['c'],[])"),
    ("m Map(LowCardinality(String), Array(UInt8)), t Tuple(x LowCardinality(String), y Array(Nullable(Int16)))",
     "({'k':[1]},('v',[1,NULL])),({},('',[]))"),
    ("many LowCardinality(String)", ",".join(f"('value {n}')" for n in range(300))),
]


def binary():
    for structure, values in BINARY:
        yield f"@@@ case {structure.replace(chr(9), chr(92) + 't')}\n{values}\n"
        for name in BINARY_FORMATS:
            sql = f"select * from format(Values, {literal(structure)}, {literal(values)})"
            yield f"@@@ {name}\n{base64.b64encode(chdb.query(sql, name).bytes()).decode()}\n"


write("outputs.txt", outputs())
write("binary.txt", binary())
with tempfile.TemporaryDirectory() as folder:
    write("inputs.txt", inputs(os.path.join(folder, "data")))
    write("settings.txt", under_settings(os.path.join(folder, "data")))
    write("inference.txt", inference(os.path.join(folder, "data")))
