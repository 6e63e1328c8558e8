//! How buckets and containers are asked: regions, headers, versions, Azure's signatures, and the folder of user files.

use std::io::Write;
use std::sync::Arc;

use sources::{ObjectTable, resolve};
use stores::locations::location::UserFiles;
use stores::{
    AccessKey, Argument, ArgumentValue, EndpointCredentials, HostFilter, S3Environment, Secret, SourceCall,
    SourceError, SourceErrorKind, StoreCache,
};

use crate::fixture::Fixture;
use crate::web::{Page, WebServer};

const STRUCTURE: [&str; 2] = ["CSV", "n Int64"];

fn fixture() -> (Fixture, WebServer) {
    let fixture = Fixture::new();
    let server = WebServer::start(&fixture.runtimes);
    (fixture, server)
}

fn page(content: &str) -> Page {
    Page { content: content.as_bytes().to_vec(), gives_ranges: true, etag: Some("\"e1\""), ..Page::default() }
}

fn read(fixture: &Fixture, function: &str, arguments: &[&str]) -> Result<Vec<String>, SourceError> {
    let table = fixture.resolve(function, arguments)?;
    Ok(fixture.query(&table, "select n, _path from t order by n").unwrap())
}

#[test]
fn a_bucket_in_another_region_is_asked_again_with_its_region() {
    let (mut fixture, server) = fixture();
    fixture.env.environment =
        S3Environment { region: Some("us-east-1".to_owned()), ..S3Environment::default() };
    server.put("/b/k.csv", Page { region: Some("eu-west-3"), ..page("7\n") });
    let url = server.url("/b/k.csv");
    let table = fixture.resolve("s3", &[&url, "id", "secret", STRUCTURE[0], STRUCTURE[1]]).unwrap();
    assert_eq!(fixture.query(&table, "select n from t").unwrap(), ["7"]);
    let notes = table.notes().join("\n");
    assert!(notes.contains("is in region eu-west-3") && notes.contains("we are in us-east-1"), "{notes}");
    // Nothing helps without a signature: the error says what the server said.
    let error = fixture.resolve("s3", &[&url, "NOSIGN", STRUCTURE[0], STRUCTURE[1]]).unwrap_err();
    assert_eq!(error.s3_code(), Some("PermanentRedirect"), "{error}");
}

fn with_headers(fixture: &Fixture, function: &str, url: &str, key: &str) -> Result<ObjectTable, SourceError> {
    let text = |text: &str| ArgumentValue::Text(text.to_owned());
    let header = Argument { name: Some("X-Key".to_owned()), value: text(key) };
    let headers = ArgumentValue::Call { name: "headers".to_owned(), arguments: vec![header] };
    let values = [text(url), text("id"), text("secret"), text("CSV"), text("n Int64"), headers];
    let arguments = values.map(|value| Argument { name: None, value }).into();
    fixture.run(resolve(&SourceCall { function: function.to_owned(), arguments }, &fixture.env, None))
}

#[test]
fn headers_go_with_every_request_and_are_signed() {
    let (fixture, server) = fixture();
    server.put("/b/k.csv", Page { key: Some("open"), ..page("7\n") });
    for function in ["s3", "gcs"] {
        let table = with_headers(&fixture, function, &server.url("/b/k.csv"), "open").unwrap();
        assert_eq!(fixture.query(&table, "select n from t").unwrap(), ["7"]);
        let signed = server.signed();
        assert!(signed.len() >= 2, "{signed:?}");
        assert!(signed.iter().all(|(_, _, authorization)| authorization.contains("x-key")), "{signed:?}");
    }
    let error = with_headers(&fixture, "s3", &server.url("/b/k.csv"), "s3cr3t").unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Denied);
    assert!(!format!("{error} {error:?}").contains("s3cr3t"), "{error}");
}

#[test]
fn keys_of_the_environment_are_the_owners_and_not_the_users() {
    let (mut fixture, server) = fixture();
    let key = AccessKey { id: "ambient".to_owned(), secret: Secret::new("s3cr3t"), session_token: None };
    fixture.env.environment = S3Environment { key: Some(key.clone()), ..S3Environment::default() };
    server.put("/b/k.csv", page("7\n"));
    let url = server.url("/b/k.csv");
    let authorizations = |fixture: &Fixture| {
        assert_eq!(read(fixture, "s3", &[&url, STRUCTURE[0], STRUCTURE[1]]).unwrap(), ["7|b/k.csv"]);
        server.signed().into_iter().map(|(_, _, authorization)| authorization).collect::<Vec<_>>()
    };
    assert!(authorizations(&fixture).iter().all(|one| one.contains("Credential=ambient/")));
    let host = url.strip_prefix("http://").and_then(|rest| rest.split('/').next()).unwrap().to_owned();
    let hosts = HostFilter::new(Some(vec![host]), true).unwrap();
    fixture.env.stores = Arc::new(StoreCache::with_hosts(fixture.runtimes.clone(), hosts));
    assert!(authorizations(&fixture).iter().all(String::is_empty));
    // What the operator configured for a prefix is meant for users.
    let configured = AccessKey { id: "configured".to_owned(), ..key };
    let endpoint = EndpointCredentials { prefix: server.url("/b/"), key: Some(configured) };
    fixture.env.environment.endpoints = vec![endpoint];
    assert!(authorizations(&fixture).iter().all(|one| one.contains("Credential=configured/")));
}

#[test]
fn a_version_is_asked_for_with_every_request() {
    let (fixture, server) = fixture();
    server.put("/b/k.csv", page("7\n"));
    let url = server.url("/b/k.csv?versionId=v.1");
    assert_eq!(read(&fixture, "s3", &[&url, "NOSIGN", STRUCTURE[0], STRUCTURE[1]]).unwrap(), ["7|b/k.csv"]);
    let signed = server.signed();
    assert!(signed.len() >= 2 && signed.iter().all(|(_, query, _)| query == "versionId=v.1"), "{signed:?}");
    assert!(signed.iter().all(|(_, _, authorization)| authorization.is_empty()), "{signed:?}");
}

#[test]
fn a_folder_is_no_key() {
    let (fixture, server) = fixture();
    let error = read(&fixture, "s3", &[&server.url("/b/a/"), STRUCTURE[0], STRUCTURE[1]]).unwrap_err();
    assert!(error.to_string().contains("names a folder"), "{error}");
    assert!(server.signed().is_empty());
}

fn azure(server: &WebServer) {
    let blob = |name: &str| {
        format!(
            "<Blob><Name>{name}</Name><Properties><Last-Modified>Sun, 13 Sep 2020 12:26:40 GMT</Last-Modified>\
             <Content-Length>2</Content-Length><Content-Type>text/csv</Content-Type><Etag>\"e1\"</Etag></Properties></Blob>"
        )
    };
    let list = format!(
        "<?xml version=\"1.0\"?><EnumerationResults><Blobs>{}{}</Blobs><NextMarker/></EnumerationResults>",
        blob("a/1.csv"),
        blob("a/2.csv")
    );
    server.put("/acc/c", Page { content: list.into_bytes(), ..Page::default() });
    server.put("/acc/c/a/1.csv", page("1\n"));
    server.put("/acc/c/a/2.csv", page("2\n"));
}

#[test]
fn azure_is_listed_and_read_in_both_forms() {
    let (fixture, server) = fixture();
    azure(&server);
    let (endpoint, key) = (server.url("/acc"), "a2V5");
    let string = format!("BlobEndpoint={endpoint};AccountName=acc;AccountKey={key};");
    for arguments in [
        &[string.as_str(), "c", "a/*.csv", "CSV", "auto", "n Int64"][..],
        &[endpoint.as_str(), "c", "a/*.csv", "acc", key, "CSV", "auto", "n Int64"],
    ] {
        let rows = read(&fixture, "azureBlobStorage", arguments).unwrap();
        assert_eq!(rows, ["1|c/a/1.csv", "2|c/a/2.csv"]);
        let signed = server.signed();
        assert!(signed.iter().all(|(_, _, one)| one.starts_with("SharedKey acc:")), "{signed:?}");
        assert!(signed[0].1.contains("comp=list") && signed[0].1.contains("prefix=a%2F"), "{signed:?}");
    }
    let exact = ["c", "a/{1,2}.csv", "CSV", "auto", "n Int64"];
    let exact: Vec<&str> = std::iter::once(string.as_str()).chain(exact).collect();
    assert_eq!(read(&fixture, "azureBlobStorage", &exact).unwrap().len(), 2);
    assert!(
        server.signed().iter().all(|(_, query, _)| !query.contains("comp=list")),
        "no LIST for exact blobs"
    );
}

#[test]
fn an_azure_signature_is_sent_and_never_shown() {
    let (fixture, server) = fixture();
    azure(&server);
    let signature = "sv=2024-01-01&sig=s3cr3t%2Fx%3D";
    let url = format!("{}?{signature}", server.url("/acc"));
    let string = format!("BlobEndpoint={};SharedAccessSignature={signature}", server.url("/acc"));
    for address in [&url, &string] {
        let rows =
            read(&fixture, "azureBlobStorage", &[address, "c", "a/1.csv", "CSV", "auto", "n Int64"]).unwrap();
        assert_eq!(rows, ["1|c/a/1.csv"]);
        let signed = server.signed();
        assert!(signed.iter().all(|(_, query, _)| query.contains("sig=s3cr3t%2Fx%3D")), "{signed:?}");
        let error = read(&fixture, "azureBlobStorage", &[address, "c", "a/9.csv", "CSV", "auto", "n Int64"])
            .unwrap_err();
        assert_eq!(error.kind(), SourceErrorKind::NotFound);
        assert!(!format!("{error} {error:?}").contains("s3cr3t"), "{error}");
    }
    let error =
        read(&fixture, "azureBlobStorage", &["AccountName=n;AccountKey=!s3cr3t!", "c", "a"]).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("s3cr3t"), "{error}");
}

#[test]
fn nothing_outside_the_folder_of_user_files_is_read() {
    let mut fixture = Fixture::new();
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        #[expect(clippy::disallowed_methods, reason = "a test makes its own input")]
        std::fs::File::create(path).unwrap().write_all(b"7\n").unwrap();
    };
    ["in/a.csv", "in/deep/b.csv", "secret.csv", "indeed/x.csv"].into_iter().for_each(write);
    let link = |from: &str, to: &str| {
        std::os::unix::fs::symlink(folder.path().join(to), folder.path().join(from)).unwrap()
    };
    link("in/link.csv", "secret.csv");
    link("in/folder", "indeed");
    link("in/fine.csv", "in/a.csv");
    fixture.env.user_files = UserFiles { root: folder.path().join("in"), anywhere: false };
    let secret = folder.path().join("secret.csv").display().to_string();
    let inside = folder.path().join("in/a.csv").display().to_string();
    let beside = folder.path().join("indeed/x.csv").display().to_string();
    let climbs = format!("{}/../secret.csv", folder.path().join("in").display());
    for (path, code) in [
        ("a.csv", 0),
        ("./a.csv", 0),
        ("deep/../a.csv", 0),
        ("deep/*.csv", 0),
        ("fine.csv", 0),
        (inside.as_str(), 0),
        ("../secret.csv", 291),
        ("deep/../../secret.csv", 291),
        (climbs.as_str(), 291),
        (secret.as_str(), 291),
        (beside.as_str(), 291),
        ("../*.csv", 291),
        ("{..,x}/secret.csv", 291),
        ("{../secret.csv,a.csv}", 291),
        ("deep/{a,../../secret}.csv", 291),
        ("/etc/passwd", 291),
        ("//etc/passwd", 291),
        ("file:///etc/passwd", 291),
        ("link.csv", 291),
        ("*.csv", 291),
        ("folder/*.csv", 291),
        ("folder/x.csv", 291),
        ("**/x.csv", 291),
        ("a.csv\0", 36),
        ("\0/etc/passwd", 36),
        ("", 36),
    ] {
        let found = read(&fixture, "file", &[path, STRUCTURE[0], STRUCTURE[1]]);
        let told = found.as_ref().map_or_else(|error| error.code().number(), |_| 0);
        assert_eq!(told, code, "{path:?}: {found:?}");
        let leaks =
            found.is_ok_and(|rows| rows.iter().any(|row| row.contains("secret") || row.contains("indeed")));
        assert!(!leaks, "{path:?}");
    }
}
