//! Mutated text and bytes for what users write in calls and what stores give: an answer or an error, never a panic, a
//! hang or much memory.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

#[path = "../../../tests/fuzz/mutate.rs"]
mod mutate;

use std::collections::BTreeMap;

use bytes::Bytes;
use futures::executor::block_on;
use futures::stream::{StreamExt, iter};
use mutate::{Dice, fuzz};
use stores::codecs::compression::{ByteStream, Compression, opened};
use stores::keys::glob::Glob;
use stores::locations::location::location;
use stores::statement::settings::SourceSettings;
use stores::{
    Argument, ArgumentValue, Encoder, NamedCollections, S3Environment, SourceCall, SourceError, UserFiles,
};

const GLOB_TOKENS: &[&[u8]] = &[
    b"*",
    b"**",
    b"?",
    b"{",
    b"}",
    b",",
    b"/",
    b"{a,b}",
    b"{1..9}",
    b"{000..078}",
    b"{0..99999}",
    b"..",
    b"0",
    b"1",
    "\u{436}".as_bytes(),
];

/// Keys no longer than those of a store.
fn key(bytes: &[u8], dice: &mut Dice) -> String {
    let from = dice.below(bytes.len() + 1);
    String::from_utf8_lossy(&bytes[from..(from + dice.below(200)).min(bytes.len())]).into_owned()
}

#[test]
fn globs() {
    let seeds: [&[u8]; 6] =
        [b"a/*.csv", b"a/{1,10}.csv", b"{000..078}/**/x?", b"{a,{b,c*}}", b"{a{b,c", b"{0,1}{0,1}{0,1}"];
    fuzz("globs", &seeds, GLOB_TOKENS, |bytes, dice| {
        let pattern = String::from_utf8_lossy(bytes);
        let glob = Glob::parse(&pattern);
        let prefixes = glob.listing_prefixes();
        let key = key(bytes, dice);
        let matches = glob.matches(&key);
        if matches {
            assert!(prefixes.iter().any(|prefix| key.starts_with(prefix.as_str())), "{pattern:?} {key:?}");
        }
        // Thousands of keys take longer than all the rest: only some of them.
        let few = glob.brace_product() < 500 || dice.below(100) == 0;
        let exact = few.then(|| glob.exact_keys()).flatten();
        if let Some(keys) = &exact {
            assert_eq!(keys.contains(&key), matches, "{pattern:?} {key:?}");
            if let Some(first) = keys.first().filter(|first| first.len() <= 256) {
                assert!(glob.matches(first), "{pattern:?} does not match its own key {first:?}");
            }
        }
        let product = "i".repeat(usize::try_from(glob.brace_product().ilog2()).unwrap());
        format!("{matches} {:?} {product}", exact.map(|keys| "k".repeat(keys.len().min(20))))
    });
}

/// Arguments between line ends: `name=value`, `headers:name=value`, `word:NOSIGN`, or a text. The first line is the
/// function.
fn call(text: &str) -> SourceCall {
    let mut lines = text.split('\n');
    let function = lines.next().unwrap_or_default().to_owned();
    SourceCall { function, arguments: lines.map(argument).collect() }
}

fn argument(line: &str) -> Argument {
    let text = |text: &str| ArgumentValue::Text(text.to_owned());
    if let Some(word) = line.strip_prefix("word:") {
        return Argument { name: None, value: ArgumentValue::Word(word.to_owned()) };
    }
    if let Some(header) = line.strip_prefix("headers:") {
        let (name, value) = header.split_once('=').unwrap_or((header, ""));
        let inside = Argument { name: Some(name.to_owned()), value: text(value) };
        let value = ArgumentValue::Call { name: "headers".to_owned(), arguments: vec![inside] };
        return Argument { name: None, value };
    }
    match line.split_once('=') {
        Some((name, value)) if name.chars().all(|c| c.is_ascii_lowercase() || c == '_') => {
            Argument { name: Some(name.to_owned()), value: text(value) }
        }
        _ => Argument { name: None, value: text(line) },
    }
}

const CALLS: &[&[u8]] = &[
    b"s3\nhttps://bucket.s3.eu-west-1.amazonaws.com/a/{1..3}/*.csv\nword:NOSIGN\nCSV\na Int8\ngzip",
    b"s3\nhttp://127.0.0.1:9000/bucket/key?versionId=7\nAKIDAKID\nSECRETSECRET\nTOKENTOKEN\nCSV\nheaders:x-a=b",
    b"gcs\ngs://bucket/k%20ey\nformat=CSV\npartition_strategy=hive\nstorage_class_name=STANDARD",
    b"s3\nword:coll\nfilename=x.csv\nno_sign_request=1",
    b"azureBlobStorage\nDefaultEndpointsProtocol=https;AccountName=acct;AccountKey=a2V5;EndpointSuffix=core.windows.net\nc\nb/**\nCSV",
    b"azureBlobStorage\nhttps://acct.blob.core.windows.net\nc\nb.csv\nacct\na2V5\nCSV\nauto\na Int8",
    b"url\nhttp://user:SECRETSECRET@host:80/{a,b}/{01..12}.csv?x=y#z\nCSV\nheaders:Authorization=SECRETSECRET",
    b"urlCluster\ndefault\nhttp://[::1]/x",
    b"file\n../a/{b,c}/*.csv\nauto",
];
const CALL_TOKENS: &[&[u8]] = &[
    b"\n",
    b"=",
    b"%",
    b"%2F",
    b"?",
    b"&",
    b"://",
    b"s3://",
    b"gs://",
    b"@",
    b":",
    b"[",
    b"]",
    b"..",
    b"{",
    b"}",
    b"{1..9}",
    b"word:",
    b"headers:",
    b"auto",
    b"format=",
    b"url=",
    b";",
    b"AccountKey=",
    b"?versionId=",
    b"&X-Amz-Signature=x",
    b"CSV",
    b"\0",
    "\u{130}".as_bytes(),
];

#[test]
fn calls() {
    let keys = [
        ("url", "http://host/bucket/"),
        ("access_key_id", "AKIDAKID"),
        ("secret_access_key", "SECRETSECRET"),
    ];
    let keys: BTreeMap<String, String> = keys.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let collections = NamedCollections::new(BTreeMap::from([("coll".to_owned(), keys)]));
    // Up to that many pages are made of one URL.
    let settings = SourceSettings { glob_expansion_max: 50, ..SourceSettings::default() };
    let files = UserFiles { root: "/data/files".into(), anywhere: false };
    fuzz("calls", CALLS, CALL_TOKENS, |bytes, _| {
        let call = call(&String::from_utf8_lossy(bytes));
        assert!(!call.masked().is_empty());
        let said = |error: SourceError| format!("{}: {error}", error.code());
        let arguments = match call.object_arguments(&collections) {
            Ok(arguments) => arguments,
            Err(error) => return said(error),
        };
        let place = match location(&arguments, &S3Environment::default(), &settings, &files) {
            Ok(place) => place,
            Err(error) => return said(error),
        };
        if arguments.family == stores::calls::signatures::Family::File {
            assert!(format!("/{}", place.pattern()).starts_with("/data/files"), "{}", place.pattern());
        }
        format!("{} {}", arguments.reading, place.pattern().contains('*'))
    });
}

const CODECS: [Compression; 8] = [
    Compression::Gzip,
    Compression::Zstd,
    Compression::Lz4,
    Compression::Xz,
    Compression::Bzip2,
    Compression::Brotli,
    Compression::Snappy,
    Compression::Deflate,
];
/// Output is a stream: whoever reads decides how much of a bomb there will be.
const OUTPUT_BYTES_MAX: usize = 4 << 20;

fn encoded(compression: Compression, text: &[u8]) -> Vec<u8> {
    let mut encoder = Encoder::new(compression, stores::Effort::default()).unwrap();
    let mut file = Vec::new();
    encoder.encode(text, &mut file).unwrap();
    encoder.finish(&mut file).unwrap();
    file
}

/// The file in chunks that end anywhere.
fn stored(file: &[u8], dice: &mut Dice) -> ByteStream {
    let mut chunks = Vec::new();
    let mut rest = Bytes::copy_from_slice(file);
    while !rest.is_empty() {
        chunks.push(Ok(rest.split_to(1 + dice.below(rest.len()))));
    }
    iter(chunks).boxed()
}

async fn read(mut stream: ByteStream) -> Result<Vec<u8>, SourceError> {
    let mut out = Vec::new();
    while let Some(chunk) = stream.next().await {
        out.extend_from_slice(&chunk?);
        if out.len() > OUTPUT_BYTES_MAX {
            break;
        }
    }
    Ok(out)
}

#[test]
fn compressed_files() {
    let text = b"1,some text\n2,some more text\n".repeat(40);
    for compression in CODECS {
        let file = encoded(compression, &text);
        let twice = [file.clone(), encoded(compression, b"more")].concat();
        let empty = encoded(compression, b"");
        let seeds: [&[u8]; 4] = [&file, &twice, &empty, b"plain text"];
        // The codec is said, or told by the first bytes and the suffix.
        let suffix = if compression == Compression::Brotli { "br" } else { compression.name() };
        let path = format!("f.csv.{suffix}");
        fuzz(compression.name(), &seeds, &[b"\x50\x2a\x4d\x18\x01\0\0\0"], |bytes, dice| {
            let said = (dice.below(2) == 0).then_some(compression);
            match block_on(read(opened(stored(bytes, dice), said, &path, None))) {
                Ok(out) => {
                    assert!(bytes != file.as_slice() || out == text, "{compression:?}: another text");
                    format!("bytes {}", "i".repeat(usize::try_from(out.len().max(1).ilog2()).unwrap()))
                }
                Err(error) => error.to_string(),
            }
        });
    }
}
