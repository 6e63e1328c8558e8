use std::collections::BTreeSet;

use super::*;
use crate::calls::showing::{SeenArgument, Showing, showing};

fn text(value: &str) -> Argument {
    Argument { name: None, value: ArgumentValue::Text(value.to_owned()) }
}

fn word(value: &str) -> Argument {
    Argument { name: None, value: ArgumentValue::Word(value.to_owned()) }
}

fn named(name: &str, value: &str) -> Argument {
    Argument { name: Some(name.to_owned()), value: ArgumentValue::Text(value.to_owned()) }
}

fn call(function: &str, arguments: Vec<Argument>) -> SourceCall {
    SourceCall { function: function.to_owned(), arguments }
}

fn reading(arguments: &[&str]) -> String {
    let arguments = arguments
        .iter()
        .map(|argument| if *argument == "NOSIGN" { word(argument) } else { text(argument) })
        .collect();
    match call("s3", arguments).object_arguments(&NamedCollections::default()) {
        Ok(parsed) => parsed.reading,
        Err(error) => error.code().to_string(),
    }
}

#[test]
fn positions_are_told_apart_as_clickhouse_does() {
    for (arguments, expected) in [
        (&["u"][..], "(url)"),
        (&["u", "NOSIGN"], "(url, NOSIGN)"),
        (&["u", "CSV"], "(url, format)"),
        (&["u", "NOSIGN", "CSV"], "(url, NOSIGN, format)"),
        (&["u", "CSV", "a Int8"], "(url, format, structure)"),
        (&["u", "auto", "auto"], "(url, format, structure)"),
        (&["u", "k", "s"], "(url, access_key_id, secret_access_key)"),
        (&["u", "NOSIGN", "CSV", "a Int8"], "(url, NOSIGN, format, structure)"),
        (&["u", "CSV", "a Int8", "gzip"], "(url, format, structure, compression_method)"),
        (&["u", "k", "s", "CSV"], "(url, access_key_id, secret_access_key, format)"),
        (&["u", "k", "s", "t"], "(url, access_key_id, secret_access_key, session_token)"),
        (&["u", "NOSIGN", "CSV", "a Int8", "gzip"], "(url, NOSIGN, format, structure, compression_method)"),
        (&["u", "k", "s", "CSV", "a Int8"], "(url, access_key_id, secret_access_key, format, structure)"),
        (&["u", "k", "s", "t", "CSV"], "(url, access_key_id, secret_access_key, session_token, format)"),
        (
            &["u", "k", "s", "CSV", "a Int8", "gzip"],
            "(url, access_key_id, secret_access_key, format, structure, compression_method)",
        ),
        (
            &["u", "k", "s", "t", "CSV", "a Int8"],
            "(url, access_key_id, secret_access_key, session_token, format, structure)",
        ),
        (
            &["u", "k", "s", "t", "CSV", "a Int8", "gzip"],
            "(url, access_key_id, secret_access_key, session_token, format, structure, compression_method)",
        ),
        (&[], "42"),
        (&["u", "2", "3", "4", "5", "6", "7", "8", "9", "10"], "42"),
    ] {
        assert_eq!(reading(arguments), expected, "{arguments:?}");
    }
}

#[test]
fn named_arguments_follow_positional_ones() {
    let parsed = call("s3", vec![text("u"), named("format", "CSV"), named("structure", "auto")])
        .object_arguments(&NamedCollections::default())
        .unwrap();
    assert_eq!((parsed.format.as_deref(), parsed.structure), (Some("CSV"), None));
    let error = call("s3", vec![named("format", "CSV"), text("u")])
        .object_arguments(&NamedCollections::default())
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::BAD_ARGUMENTS);
    let error = call("s3", vec![text("u"), named("colour", "red")])
        .object_arguments(&NamedCollections::default())
        .unwrap_err();
    assert!(error.to_string().contains("colour"), "{error}");
    let error = call("s3", vec![text("u"), named("access_key_id", "k")])
        .object_arguments(&NamedCollections::default())
        .unwrap_err();
    assert!(error.to_string().contains("together"), "{error}");
}

fn sorted(function: &str, arguments: Vec<Argument>) -> Result<ObjectArguments> {
    call(function, arguments).object_arguments(&NamedCollections::default())
}

fn inner_call(name: &str, arguments: Vec<Argument>) -> Argument {
    Argument { name: None, value: ArgumentValue::Call { name: name.to_owned(), arguments } }
}

#[test]
fn headers_are_kept_and_never_shown() {
    let with = |name: &str, value: &str| {
        vec![text("u"), inner_call("headers", vec![named(name, value)]), text("CSV")]
    };
    let parsed = sorted("s3", with("Authorization", "s3cr3t")).unwrap();
    assert_eq!(parsed.headers, [("Authorization".to_owned(), Secret::new("s3cr3t"))]);
    assert_eq!(parsed.reading, "(url, format)", "headers() takes no place");
    assert!(!format!("{parsed:?}").contains("s3cr3t"));
    let masked = call("url", with("X-Key", "s3cr3t")).masked();
    assert_eq!(masked, "url('u', headers('X-Key' = '[HIDDEN]'), 'CSV')");
    for (name, value) in [("", "v"), ("a b", "v"), ("Host", "v"), ("range", "v"), ("X", "s3cr3t\r\nY: z")] {
        let error = sorted("s3", with(name, value)).unwrap_err();
        assert_eq!(error.code(), ErrorCode::BAD_ARGUMENTS, "{name}");
        assert!(!error.to_string().contains("s3cr3t"), "{error}");
    }
    assert!(sorted("file", with("X", "v")).is_err());
}

#[test]
fn what_we_do_not_do_is_refused_by_name() {
    let role = inner_call("extra_credentials", vec![named("role_arn", "arn:aws:iam::1:role/r")]);
    let error = sorted("s3", vec![text("u"), role]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::NOT_IMPLEMENTED);
    assert!(
        error.to_string().contains("extra_credentials()") && error.to_string().contains("session_token"),
        "{error}"
    );
    assert_eq!(sorted("hdfs", vec![text("u")]).unwrap_err().code(), ErrorCode::NOT_IMPLEMENTED);
    assert_eq!(
        sorted("url", vec![text("u"), named("method", "DELETE")]).unwrap_err().code(),
        ErrorCode::BAD_ARGUMENTS
    );
    for (name, value, word) in [
        ("storage_class_name", "GLACIER", "archival"),
        ("storage_class_name", "DEEP_ARCHIVE", "DEEP_ARCHIVE"),
        ("partition_strategy", "random", "'hive' or 'wildcard'"),
        ("partition_columns_in_data_file", "maybe", "0 or 1"),
        ("no_sign_request", "perhaps", "0 or 1"),
        ("expiration_window_seconds", "soon", "number"),
    ] {
        let error = sorted("s3", vec![text("u"), named(name, value)]).unwrap_err();
        assert_eq!(error.code(), ErrorCode::BAD_ARGUMENTS, "{name}");
        assert!(error.to_string().contains(word), "{error}");
    }
    let error = sorted("s3", vec![text("u"), named("format", "CSV"), named("FORMAT", "TSV")]).unwrap_err();
    assert!(error.to_string().contains("twice"), "{error}");
    let error = sorted("s3", vec![]).unwrap_err();
    assert!(error.to_string().contains("(url, access_key_id, secret_access_key, session_token)"), "{error}");
}

#[test]
fn arguments_of_writing_and_of_credentials() {
    let parsed = sorted(
        "s3",
        vec![
            text("u"),
            text("CSV"),
            named("partition_strategy", "hive"),
            named("partition_columns_in_data_file", "0"),
            named("storage_class_name", "standard_ia"),
            named("expiration_window_seconds", "60"),
            named("use_environment_credentials", "0"),
        ],
    )
    .unwrap();
    assert_eq!(parsed.partition_strategy.as_deref(), Some("hive"));
    assert_eq!(parsed.partition_columns_in_data_file, Some(false));
    assert_eq!(parsed.storage_class.as_deref(), Some("STANDARD_IA"));
    assert_eq!(parsed.credentials, GivenCredentials::NoSign, "not even the environment's");
    assert!(parsed.notes[0].contains("expiration_window_seconds"), "{:?}", parsed.notes);
    let positional = ["u", "NOSIGN", "CSV", "auto", "auto", "hive", "1"].map(text).to_vec();
    let parsed = sorted("gcs", positional).unwrap();
    assert_eq!(parsed.partition_strategy.as_deref(), Some("hive"));
    assert_eq!(parsed.partition_columns_in_data_file, Some(true));
    let cluster = vec![text("default"), text("u"), named("use_environment_credentials", "1")];
    assert!(sorted("s3Cluster", cluster).is_err());
}

#[test]
fn a_collection_gives_arguments_and_the_call_overrides_them() {
    let of = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let collections = NamedCollections::new(BTreeMap::from([
        (
            "mine".to_owned(),
            of(&[
                ("url", "http://h/b/"),
                ("access_key_id", "id"),
                ("secret_access_key", "s3cr3t"),
                ("format", "CSV"),
            ]),
        ),
        ("azure".to_owned(), of(&[("connection_string", "AccountName=n;AccountKey=k"), ("container", "c")])),
        ("odd".to_owned(), of(&[("url", "u"), ("colour", "s3cr3t")])),
    ]));
    let sorted =
        |function: &str, arguments: Vec<Argument>| call(function, arguments).object_arguments(&collections);
    let parsed =
        sorted("s3", vec![word("mine"), named("filename", "a/1.tsv"), named("format", "TSV")]).unwrap();
    assert_eq!((parsed.url.as_str(), parsed.format.as_deref()), ("http://h/b/a/1.tsv", Some("TSV")));
    assert!(matches!(&parsed.credentials, GivenCredentials::Key(key) if key.id == "id"));
    assert_eq!(parsed.reading, "(named collection mine)");
    let parsed = sorted("azureBlobStorage", vec![word("azure"), named("blob_path", "x/*.csv")]).unwrap();
    assert_eq!((parsed.container.as_str(), parsed.blob_path.as_str()), ("c", "x/*.csv"));
    let parsed = sorted("s3Cluster", vec![word("default"), word("mine"), named("filename", "k")]).unwrap();
    assert_eq!(parsed.url, "http://h/b/k");
    let error = sorted("s3", vec![word("none")]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::NAMED_COLLECTION_DOESNT_EXIST);
    for (arguments, words) in [
        (vec![word("odd")], "\"colour\""),
        (vec![word("mine"), text("CSV")], "name = value"),
        (vec![word("mine"), named("nonsense", "1")], "\"nonsense\""),
    ] {
        let error = sorted("s3", arguments).unwrap_err();
        assert!(error.to_string().contains(words) && !error.to_string().contains("s3cr3t"), "{error}");
    }
    // A collection for a store is no collection for a page.
    assert!(sorted("url", vec![word("mine")]).is_err());
}

#[test]
fn other_functions_have_their_own_arguments() {
    let parsed = sorted(
        "azureBlobStorage",
        ["https://n.x", "c", "p/*.csv", "n", "key", "CSV", "gzip", "a Int8"].map(text).to_vec(),
    )
    .unwrap();
    assert_eq!((parsed.container.as_str(), parsed.blob_path.as_str()), ("c", "p/*.csv"));
    assert_eq!((parsed.compression.as_deref(), parsed.structure.as_deref()), (Some("gzip"), Some("a Int8")));
    let parsed =
        sorted("urlCluster", ["default", "http://h/x", "CSV", "a Int8", "auto"].map(text).to_vec()).unwrap();
    assert_eq!((parsed.url.as_str(), parsed.compression), ("http://h/x", None));
    assert_eq!(sorted("azureBlobStorage", vec![text("c"), text("b")]).unwrap_err().code().number(), 42);
    assert_eq!(sorted("url", vec![]).unwrap_err().code().number(), 42);
}

#[test]
fn secrets_of_all_functions_are_masked() {
    for (function, arguments, expected) in [
        (
            "azureBlobStorage",
            vec![text("AccountName=n;AccountKey=s3cr3t"), text("c"), text("p")],
            "azureBlobStorage('AccountName=n;AccountKey=[HIDDEN]', 'c', 'p')",
        ),
        (
            "azureBlobStorage",
            vec![text("https://n.x"), text("c"), text("p"), text("n"), text("s3cr3t")],
            "azureBlobStorage('https://n.x', 'c', 'p', 'n', '[HIDDEN]')",
        ),
        (
            "azureBlobStorageCluster",
            vec![text("default"), word("coll"), named("account_key", "s3cr3t")],
            "azureBlobStorageCluster('default', coll, account_key = '[HIDDEN]')",
        ),
        ("url", vec![text("http://u:s3cr3t@h/x")], "url('http://[HIDDEN]@h/x')"),
        (
            "gcs",
            vec![text("https://h/b/k?X-Goog-Signature=s3cr3t")],
            "gcs('https://h/b/k?X-Goog-Signature=[HIDDEN]')",
        ),
        (
            "s3",
            vec![named("SECRET_ACCESS_KEY", "s3cr3t"), named("url", "u")],
            "s3(SECRET_ACCESS_KEY = '[HIDDEN]', url = 'u')",
        ),
        ("gcs", vec![text("u"), text("id"), text("s3cr3t")], "gcs('u', 'id', '[HIDDEN]')"),
        ("nonsense", vec![text("s3cr3t")], "nonsense([HIDDEN])"),
    ] {
        assert_eq!(call(function, arguments).masked(), expected);
    }
    let too_many = vec![text("s3cr3t"); 12];
    assert_eq!(call("s3", too_many).masked().matches("s3cr3t").count(), 1, "only the address is known");
}

#[test]
fn a_cluster_of_one() {
    let parsed = call("s3Cluster", vec![text("default"), text("u"), text("CSV")])
        .object_arguments(&NamedCollections::default())
        .unwrap();
    assert_eq!(parsed.reading, "(url, format)");
    let error = call("s3Cluster", vec![text("other"), text("u")])
        .object_arguments(&NamedCollections::default())
        .unwrap_err();
    assert!(error.to_string().contains("other"), "{error}");
}

#[test]
fn secrets_are_masked_wherever_they_stand() {
    let positional = call("s3", vec![text("u"), text("id"), text("se'cret"), text("t0k3n"), text("CSV")]);
    assert_eq!(positional.masked(), "s3('u', 'id', '[HIDDEN]', '[HIDDEN]', 'CSV')");
    let by_name =
        call("s3", vec![text("u"), named("access_key_id", "id"), named("secret_access_key", "secret")]);
    assert_eq!(by_name.masked(), "s3('u', access_key_id = 'id', secret_access_key = '[HIDDEN]')");
    let cluster = call("s3Cluster", vec![text("default"), text("u"), text("id"), text("secret")]);
    assert_eq!(format!("{cluster:?}"), "s3Cluster('default', 'u', 'id', '[HIDDEN]')");
    let parsed = format!("{:?}", positional.object_arguments(&NamedCollections::default()).unwrap());
    assert!(!parsed.contains("se'cret") && !parsed.contains("t0k3n"), "{parsed}");
}

#[test]
fn file_takes_a_path_and_no_keys() {
    let parsed = call("file", vec![text("x.csv"), text("CSV"), text("a Int8"), text("none")])
        .object_arguments(&NamedCollections::default())
        .unwrap();
    assert_eq!((parsed.url.as_str(), parsed.compression.as_deref()), ("x.csv", Some("none")));
    let many = vec![text("a"), text("b"), text("c"), text("d"), text("e")];
    assert_eq!(
        call("file", many).object_arguments(&NamedCollections::default()).unwrap_err().code(),
        ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH
    );
}

#[test]
fn a_log_may_show_what_is_no_credential() {
    use Showing::{Credential, Shown, Unclear};
    let of = |function: &str, arguments: &[SeenArgument<'_>]| showing(function, arguments, true);
    let texts = |all: &[&'static str]| all.iter().map(|text| (None, Some(*text))).collect::<Vec<_>>();
    let some = |all: &[Showing]| Some(all.to_vec());
    assert_eq!(of("S3", &texts(&["u", "k", "s"])), some(&[Shown, Credential, Credential]));
    let guessed = some(&[Shown, Unclear, Unclear, Unclear]);
    assert_eq!(
        of("s3", &texts(&["u", "CSV", "a Int8", "gzip"])),
        guessed,
        "a key may stand in a wrong place"
    );
    assert_eq!(
        of("url", &[(None, None), (None, Some("u"))]),
        some(&[Unclear, Unclear]),
        "a call comes first"
    );
    assert_eq!(
        of("s3Cluster", &texts(&["default", "u", "k", "s"])),
        some(&[Shown, Shown, Credential, Credential])
    );
    assert_eq!(of("url", &texts(&["u", "x"])), some(&[Shown, Unclear]));
    assert_eq!(of("file", &texts(&["p"])), None);
    let named = [(Some("session_token"), Some("t")), (Some("url"), Some("u")), (Some("other"), Some("x"))];
    assert_eq!(of("s3", &named), some(&[Credential, Shown, Unclear]));
    assert_eq!(showing("s3", &texts(&["u", "k"]), false), some(&[Shown, Unclear]), "more may follow");
}

#[test]
fn fixed_keys_are_known_by_their_meaning() {
    let fixed = |name: &str, keys: &[&str]| {
        (name.to_owned(), keys.iter().map(|key| (*key).to_owned()).collect::<BTreeSet<_>>())
    };
    let collections = NamedCollections::default().with_fixed(BTreeMap::from([
        fixed("mine", &["url", "compression", "colour"]),
        fixed("azure", &["connection_string"]),
        fixed("files", &["path"]),
    ]));
    let headers = || Argument {
        name: None,
        value: ArgumentValue::Call { name: "headers".to_owned(), arguments: vec![named("x", "y")] },
    };
    let evil = |name: &str| named(name, "http://evil/");
    for (function, arguments, fits) in [
        ("s3", vec![word("mine"), evil("url")], false),
        ("s3", vec![word("mine"), evil("URL")], false),
        ("s3", vec![headers(), word("mine"), evil("url")], false),
        ("s3Cluster", vec![word("default"), word("mine"), evil("url")], false),
        ("s3", vec![word("mine"), named("compression_method", "none")], false),
        ("s3", vec![word("mine"), named("Colour", "red")], false),
        ("s3", vec![word("mine"), named("format", "CSV"), named("filename", "x")], true),
        ("s3", vec![word("other"), evil("url")], true),
        ("s3", vec![text("mine"), evil("url")], true),
        ("azureBlobStorage", vec![word("azure"), evil("storage_account_url")], false),
        ("azureBlobStorage", vec![word("azure"), named("container", "c")], true),
        ("file", vec![word("files"), named("url", "/etc/passwd")], false),
    ] {
        let call = call(function, arguments);
        match call.check_overrides(&collections) {
            Ok(()) => assert!(fits, "{call:?}"),
            Err(error) => {
                assert!(!fits, "{call:?}: {error}");
                assert_eq!((error.kind(), error.code()), (SourceErrorKind::Denied, ErrorCode::BAD_ARGUMENTS));
            }
        }
    }
}
