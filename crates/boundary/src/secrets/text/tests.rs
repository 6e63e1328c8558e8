use super::*;

#[test]
fn secrets_are_masked_and_the_rest_is_not() {
    for (text, shown) in [
        (
            "SELECT 's3(x)' FROM s3('u', 'key', 'secret', 'CSV')",
            "SELECT 's3(x)' FROM s3('u', '[HIDDEN]', '[HIDDEN]', 'CSV')",
        ),
        (
            "INSERT INTO t SELECT * FROM s3Cluster('default', 'u', 'k', 's') WHERE a = 'b'",
            "INSERT INTO t SELECT * FROM s3Cluster('default', 'u', '[HIDDEN]', '[HIDDEN]') WHERE a = 'b'",
        ),
        ("SELECT concat('a', 'b')", "SELECT concat('a', 'b')"),
        (
            "SELECT * FROM s3('u', NOSIGN, 'Parquet', 'a Int8, b String')",
            "SELECT * FROM s3('u', NOSIGN, 'Parquet', 'a Int8, b String')",
        ),
    ] {
        assert_eq!(masked(text), shown);
    }
}

#[test]
fn named_arguments_are_masked_by_their_names() {
    for (text, shown) in [
        (
            "s3(secret_access_key = 'SK', access_key_id = 'AK', url = 'u', structure = 'a Int8')",
            "s3(secret_access_key = '[HIDDEN]', access_key_id = '[HIDDEN]', url = 'u', structure = 'a Int8')",
        ),
        ("s3(format='CSV', structure='a Int8', url='http://h/b/jan.csv')", ""),
        ("s3 /* ( */ ('u', 'key', \"secret\")", "s3 /* ( */ ('u', '[HIDDEN]', '[HIDDEN]')"),
        ("`s3`('u', ('k'), 's')", "`s3`('u', '[HIDDEN]', '[HIDDEN]')"),
        ("s3('u', extra_credentials(role = 'r'))", "s3('u', extra_credentials(role = '[HIDDEN]'))"),
        (
            "url('u', CSV, 'a Int8', headers('k' = 'v'))",
            "url('u', CSV, 'a Int8', headers('[HIDDEN]' = '[HIDDEN]'))",
        ),
        ("INSERT INTO url (a, b)", ""),
        ("s3('u', 'key', 'sec", "s3('u', '[HIDDEN]', '[HIDDEN]'"),
        ("s3('u', 'CSV', 'AKIA', 'SECRET')", "s3('u', 'CSV', '[HIDDEN]', '[HIDDEN]')"),
        ("s3('u', $$key$$, $$secret$$)", "s3('u', '[HIDDEN]', '[HIDDEN]')"),
        (
            "url(headers('Authorization' = 'Bearer T'), 'u')",
            "url(headers('[HIDDEN]' = '[HIDDEN]'), '[HIDDEN]')",
        ),
    ] {
        assert_eq!(masked(text), if shown.is_empty() { text } else { shown });
    }
}

#[test]
fn values_of_collections_are_hidden_and_their_keys_shown() {
    for (text, shown) in [
        (
            "CREATE NAMED COLLECTION n AS url = 'u', k = 12 OVERRIDABLE, t = true NOT OVERRIDABLE",
            "CREATE NAMED COLLECTION n AS url = '[HIDDEN]', k = '[HIDDEN]' OVERRIDABLE, \
             t = '[HIDDEN]' NOT OVERRIDABLE",
        ),
        (
            "alter named collection n set a 'x', b = 'y' delete c",
            "alter named collection n set a '[HIDDEN]', b = '[HIDDEN]' delete c",
        ),
        ("DROP NAMED COLLECTION n", ""),
    ] {
        let expected = if shown.is_empty() { text } else { shown };
        assert_eq!(masked(text), expected);
    }
}

#[test]
fn comments_and_telling_names_are_searched() {
    for (text, shown) in [
        (
            "SELECT 1 -- FROM s3('u', 'k', 'sec')\n, 2",
            "SELECT 1 -- FROM s3('u', '[HIDDEN]', '[HIDDEN]')\n, 2",
        ),
        (
            "SELECT 1 -- FROM s3('u',\n-- 'k',\n -- 'sec')\n",
            "SELECT 1 -- FROM s3('u',\n-- '[HIDDEN]',\n -- '[HIDDEN]')\n",
        ),
        (
            "SELECT 1 /* /* a */ -- */ s3('u', 'k', 's')",
            "SELECT 1 /* /* a */ -- */ s3('u', '[HIDDEN]', '[HIDDEN]')",
        ),
        ("SELECT 1 /* secret_access_key = 'sk' */", "SELECT 1 /* secret_access_key = '[HIDDEN]' */"),
        ("SET password = 'x'", "SET password = '[HIDDEN]'"),
        ("INSERT INTO t SETTINGS insert_deduplication_token = 'x'", ""),
        ("SELECT 'http://u:p@h/x?sig=s'", "SELECT 'http://u:[HIDDEN]@h/x?sig=[HIDDEN]'"),
    ] {
        assert_eq!(masked(text), if shown.is_empty() { text } else { shown });
    }
}

#[test]
fn users_of_other_servers_are_hidden() {
    for (text, shown) in [
        (
            "SELECT 'a' FROM remote('h', db.t, 'bob', 'pw', rand())",
            "SELECT 'a' FROM remote('h', db.t, '[HIDDEN]', '[HIDDEN]', rand())",
        ),
        ("remoteSecure('h', 'd', 't', 'bob', 'pw')", "remoteSecure('h', 'd', 't', '[HIDDEN]', '[HIDDEN]')"),
        ("remote('h', 'd', 't', 'bob', 'p", "remote('h', 'd', 't', '[HIDDEN]', '[HIDDEN]'"),
        (
            "remote('h', s3('u', 'k', 'sec'), 'bob')",
            "remote('h', s3('u', '[HIDDEN]', '[HIDDEN]'), '[HIDDEN]')",
        ),
        ("SELECT remote('h', 'd', 't')", ""),
    ] {
        assert_eq!(masked(text), if shown.is_empty() { text } else { shown });
    }
}

/// As much of it as a client can send: the stack does not grow with it, nor the time by its square.
#[test]
fn long_and_deep_texts_are_searched() {
    for piece in ["-", "-- ", "/*", "/**/", "#", "'(", "s3(", "s3((", "remote(", "/* x */ ", "-- a (b)\n"] {
        let text = format!("SELECT 1 -- {} s3('u', 'k', 'sec", piece.repeat(90_000));
        assert!(!masked(&text).contains("sec"), "{piece}");
    }
    let mut nested = "s3('u', 'k', 'sec')".to_owned();
    for depth in 0..60_u32 {
        // Escaped so that every level costs little.
        let quotes = nested.replace('\\', "\\x5c").replace('\'', "\\x27");
        if quotes.len() > 300_000 {
            break;
        }
        nested = format!("f('{quotes}')");
        assert!(!masked(&nested).contains("sec"), "{depth}");
    }
}

#[test]
fn types_with_commas_and_codecs_are_shown() {
    for text in [
        "s3('u', 'CSV', 'a Decimal(10, 2), `b c` Map(String, Int8)', 'gzip')",
        r"s3('u', 'CSV', 'e Enum8(\'x, (\' = 1)', 'none')",
        "url('u', 'CSV', 'a Decimal(10, 2)', 'zstd')",
    ] {
        assert_eq!(masked(text), text);
    }
}

#[test]
fn only_credentials_are_left_out_of_a_comparison() {
    for text in [
        "s3(format='CSV', structure='a Int8', url='http://h/b/jan.csv')",
        "s3('u', 'no format', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h')",
        "url('u', 'x', headers('a' = 'b'))",
    ] {
        assert_eq!(without_credentials(text), text);
    }
    assert_eq!(without_credentials("s3('u', 'k', 's', 'CSV')"), "s3('u', '[HIDDEN]', '[HIDDEN]', 'CSV')");
}

#[test]
fn parameters_become_typed_literals() {
    let params = [("x".to_owned(), "it's".to_owned())];
    assert_eq!(
        with_parameters("SELECT {x:String}, '{x:String}'", &params).unwrap(),
        "SELECT 'it\\'s', '{x:String}'"
    );
    // Whoever plans asks for it; a view leaves it to those who read from it.
    assert_eq!(with_parameters("SELECT {y:Int8}", &params).unwrap(), "SELECT {y:Int8}");
    assert_eq!(with_parameters("{ {x : String} } /*{x:String}*/", &params).unwrap().matches("{x").count(), 1);
    for (value, type_name, expected) in [
        ("a\\tb\\\\", "String", "'a\\tb\\\\'"),
        ("it\\'s", "Nullable(String)", "CAST('it\\'s', 'Nullable(String)')"),
        ("\\N", "Nullable(Int8)", "CAST(NULL, 'Nullable(Int8)')"),
        ("['a\\'b']", "Array(String)", "CAST('[\\'a\\\\\\'b\\']', 'Array(String)')"),
        ("my table", "Identifier", "`my table`"),
    ] {
        let params = [("x".to_owned(), value.to_owned())];
        let read = with_parameters(&format!("SELECT {{x:{type_name}}}"), &params).unwrap();
        assert_eq!(read, format!("SELECT {expected}"), "{value} {type_name}");
    }
    let bare = [("x".to_owned(), "a\tb".to_owned())];
    let read = with_parameters("SELECT {x:DateTime64(3, 'UTC')}, {y:Enum8('}' = 1)}", &params).unwrap();
    assert!(read.contains("'DateTime64(3, \\'UTC\\')'") && read.ends_with("{y:Enum8('}' = 1)}"), "{read}");
    assert_eq!(with_parameters("SELECT {x:String}", &bare).unwrap_err().code.number(), 457);
}
