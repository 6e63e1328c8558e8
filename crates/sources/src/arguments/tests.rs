use super::*;

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
    match call("s3", arguments).object_arguments() {
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
        (&["u", "2", "3", "4", "5", "6", "7", "8"], "42"),
    ] {
        assert_eq!(reading(arguments), expected, "{arguments:?}");
    }
}

#[test]
fn named_arguments_follow_positional_ones() {
    let parsed = call("s3", vec![text("u"), named("format", "CSV"), named("structure", "auto")])
        .object_arguments()
        .unwrap();
    assert_eq!((parsed.format.as_deref(), parsed.structure), (Some("CSV"), None));
    let error = call("s3", vec![named("format", "CSV"), text("u")]).object_arguments().unwrap_err();
    assert_eq!(error.code(), code::BAD_ARGUMENTS);
    let error = call("s3", vec![text("u"), named("colour", "red")]).object_arguments().unwrap_err();
    assert!(error.to_string().contains("colour"), "{error}");
    let error = call("s3", vec![text("u"), named("access_key_id", "k")]).object_arguments().unwrap_err();
    assert!(error.to_string().contains("together"), "{error}");
}

#[test]
fn what_we_do_not_do_is_refused_by_name() {
    let headers = Argument {
        name: None,
        value: ArgumentValue::Call {
            name: "headers".to_owned(),
            arguments: vec![named("Authorization", "x")],
        },
    };
    for (arguments, word) in
        [(vec![text("u"), headers], "headers()"), (vec![word("my_collection")], "collection")]
    {
        let error = call("s3", arguments).object_arguments().unwrap_err();
        assert_eq!(error.code(), code::NOT_IMPLEMENTED);
        assert!(error.to_string().contains(word), "{error}");
    }
    assert_eq!(call("gcs", vec![text("u")]).object_arguments().unwrap_err().code(), code::NOT_IMPLEMENTED);
}

#[test]
fn a_cluster_of_one() {
    let parsed = call("s3Cluster", vec![text("default"), text("u"), text("CSV")]).object_arguments().unwrap();
    assert_eq!(parsed.reading, "(url, format)");
    let error = call("s3Cluster", vec![text("other"), text("u")]).object_arguments().unwrap_err();
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
    let parsed = format!("{:?}", positional.object_arguments().unwrap());
    assert!(!parsed.contains("se'cret") && !parsed.contains("t0k3n"), "{parsed}");
}

#[test]
fn file_takes_a_path_and_no_keys() {
    let parsed = call("file", vec![text("x.csv"), text("CSV"), text("a Int8"), text("none")])
        .object_arguments()
        .unwrap();
    assert_eq!((parsed.url.as_str(), parsed.compression.as_deref()), ("x.csv", Some("none")));
    let many = vec![text("a"), text("b"), text("c"), text("d"), text("e")];
    assert_eq!(
        call("file", many).object_arguments().unwrap_err().code(),
        code::NUMBER_OF_ARGUMENTS_DOESNT_MATCH
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
