//! Every codec: round trips through the encoder, files of several members, cuts, garbage, and limits.

use futures::TryStreamExt;

use super::*;
use crate::codecs::encode::{Effort, Encoder};

const ALL: [Compression; 8] = [
    Compression::Gzip,
    Compression::Zstd,
    Compression::Lz4,
    Compression::Xz,
    Compression::Bzip2,
    Compression::Brotli,
    Compression::Snappy,
    Compression::Deflate,
];

fn text() -> Vec<u8> {
    (0..40_000_u32).flat_map(|n| format!("{n},{}\n", n.wrapping_mul(2_654_435_761)).into_bytes()).collect()
}

fn encoded(compression: Compression, level: Option<i32>, text: &[u8]) -> Vec<u8> {
    let mut encoder = Encoder::new(compression, Effort { level, ..Effort::default() }).unwrap();
    let mut out = Vec::new();
    for chunk in text.chunks(100_003) {
        encoder.encode(chunk, &mut out).unwrap();
    }
    encoder.finish(&mut out).unwrap();
    out
}

fn stored(file: &[u8], step: usize) -> ByteStream {
    let chunks: Vec<Result<Bytes>> =
        file.chunks(step).map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
    futures::stream::iter(chunks).boxed()
}

fn read(file: &[u8], said: Option<Compression>, path: &str) -> Result<Vec<u8>> {
    let chunks = opened(stored(file, 60_001), said, path, None).try_collect::<Vec<Bytes>>();
    futures::executor::block_on(chunks).map(|chunks| chunks.concat())
}

#[test]
fn names_and_suffixes() {
    assert_eq!(Compression::by_name("GZ").unwrap(), Compression::Gzip);
    assert_eq!(Compression::by_name("lzma").unwrap(), Compression::Xz);
    assert_eq!(Compression::by_name("rar").unwrap_err().code(), ErrorCode::NOT_IMPLEMENTED);
    for compression in ALL.into_iter().chain([Compression::None]) {
        assert_eq!(Compression::by_name(compression.name()).unwrap(), compression);
    }
    for (name, compression) in [
        ("a.csv.zst", Compression::Zstd),
        ("a.csv.br", Compression::Brotli),
        ("a.csv.lzma", Compression::Xz),
        ("a.csv.bz2", Compression::Bzip2),
        ("a.csv.snappy", Compression::Snappy),
        ("a.csv", Compression::None),
    ] {
        assert_eq!(Compression::by_suffix(name), (compression, "a.csv"));
    }
}

#[test]
fn first_bytes() {
    assert_eq!(magic(b"PAR1...."), Some(Magic::Parquet));
    assert_eq!(magic(&[0x1f, 0x8b, 8]), Some(Magic::Compressed(Compression::Gzip)));
    assert_eq!(magic(b"BZh91AY"), Some(Magic::Compressed(Compression::Bzip2)));
    assert_eq!(magic(b"a,b,c"), None);
    assert_eq!(magic(b""), None);
}

#[test]
fn what_the_encoder_makes_is_read_back() {
    for compression in ALL {
        for text in [text(), Vec::new(), b"x".to_vec()] {
            let file = encoded(compression, None, &text);
            assert_eq!(read(&file, Some(compression), "f").unwrap(), text, "{compression:?}");
        }
        let twice = [encoded(compression, None, &text()), encoded(compression, None, b"more")].concat();
        assert_eq!(read(&twice, Some(compression), "f").unwrap(), [text(), b"more".to_vec()].concat());
    }
    assert_eq!(encoded(Compression::None, None, b"as it is"), b"as it is");
}

#[test]
fn magic_bytes_win_over_the_suffix_and_methods_without_any_need_it() {
    let text = text();
    for (compression, path, is_text) in [
        (Compression::Gzip, "a.csv.zst", true),
        (Compression::Xz, "a.csv", true),
        (Compression::Bzip2, "a.csv.gz", true),
        (Compression::None, "a.csv.gz", true),
        (Compression::Brotli, "a.csv.br", true),
        (Compression::Snappy, "a.csv.snappy", true),
        (Compression::Brotli, "a.csv", false),
    ] {
        let read = read(&encoded(compression, None, &text), None, path).unwrap();
        assert_eq!(read == text, is_text, "{compression:?} in {path}");
    }
}

#[test]
fn the_method_is_told_from_chunks_of_any_size() {
    for compression in [Compression::Gzip, Compression::Zstd, Compression::Xz, Compression::Bzip2] {
        let file = encoded(compression, None, b"some text");
        for step in [1, 3, 7, 1000] {
            let chunks = opened(stored(&file, step), None, "a.csv", None).try_collect::<Vec<Bytes>>();
            let text = futures::executor::block_on(chunks).unwrap().concat();
            assert_eq!(text, b"some text", "{compression:?}, chunks of {step}");
        }
    }
}

#[test]
fn a_cut_stream_says_so() {
    for compression in ALL {
        let file = encoded(compression, None, &text());
        for length in [file.len() - 1, file.len() / 2, file.len() / 3] {
            let error = read(&file[..length], Some(compression), "b/f.csv").unwrap_err();
            assert!(error.to_string().contains("\"b/f.csv\" is cut"), "{compression:?}, {length}: {error}");
            assert_eq!(error.code(), ErrorCode::CANNOT_DECOMPRESS);
        }
    }
}

#[test]
fn garbage_behind_a_stream_is_an_error() {
    for compression in ALL {
        let file = [encoded(compression, None, &text()), b"garbage behind the stream".to_vec()].concat();
        let error = read(&file, Some(compression), "f").unwrap_err();
        assert_eq!(error.code(), ErrorCode::CANNOT_DECOMPRESS, "{compression:?}: {error}");
    }
}

#[test]
fn levels_have_names_and_limits() {
    for (compression, level) in [(Compression::Gzip, 10), (Compression::Zstd, 23), (Compression::Brotli, 12)]
    {
        let error = Encoder::new(compression, Effort::of_level(level)).err().unwrap();
        assert_eq!(error.code(), ErrorCode::BAD_ARGUMENTS);
        assert!(error.to_string().contains(&format!("level {level}")), "{error}");
    }
    for zstd_window_log in [9, 32] {
        let error = Encoder::new(Compression::Zstd, Effort { level: None, zstd_window_log }).err().unwrap();
        assert_eq!(error.code(), ErrorCode::ILLEGAL_CODEC_PARAMETER);
        // Of other methods it says nothing.
        assert!(Encoder::new(Compression::Gzip, Effort { level: None, zstd_window_log }).is_ok());
    }
    let mut encoder =
        Encoder::new(Compression::Zstd, Effort { level: Some(1), zstd_window_log: 12 }).unwrap();
    let mut wide = Vec::new();
    encoder.encode(&text(), &mut wide).unwrap();
    encoder.finish(&mut wide).unwrap();
    assert_eq!(read(&wide, None, "f").unwrap(), text());
    let (fast, small) =
        (encoded(Compression::Gzip, Some(1), &text()), encoded(Compression::Gzip, Some(9), &text()));
    assert!(small.len() < fast.len());
}

#[test]
fn windows_that_are_too_large_are_refused_by_name() {
    // A frame header that asks for a window of 2^28 bytes, and one empty last block.
    let zstd = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 18 << 3, 1, 0, 0];
    let error = read(&zstd, None, "f.zst").unwrap_err();
    assert!(error.to_string().contains("window is larger than 128 MiB"), "{error}");
    assert_eq!(zstd_window(&zstd), Some(1 << 28));
    // 2^27 is read.
    assert_eq!(read(&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 17 << 3, 1, 0, 0], None, "f.zst").unwrap(), b"");
    let error = read(&[0x11, 0x1e, 0, 0], Some(Compression::Brotli), "f.br").unwrap_err();
    assert!(error.to_string().contains("window above 16 MiB"), "{error}");
}

#[test]
fn a_task_of_its_own_gives_the_same_and_is_granted_memory() {
    let runtimes = Runtimes::new(1, 1).unwrap();
    let text = text();
    let file = encoded(Compression::Gzip, None, &text);
    let task =
        |bytes| DecodeTask { runtimes: runtimes.clone(), memory: MemoryBudget::new(bytes), threads: 1 };
    let roomy = task(64 << 20);
    let mut chunks = opened(stored(&file, 4096), None, "f.gz", Some(roomy.clone()));
    let first = runtimes.block_on(chunks.next()).unwrap().unwrap();
    assert!(roomy.memory.used() >= 4 << 20);
    let rest = runtimes.block_on(chunks.try_collect::<Vec<Bytes>>()).unwrap();
    assert_eq!([first.to_vec(), rest.concat()].concat(), text);
    assert_eq!(roomy.memory.used(), 0);

    let mut chunks = opened(stored(&file, 4096), None, "f.gz", Some(task(1 << 20)));
    let error = runtimes.block_on(chunks.next()).unwrap().unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Memory);
    let cut = &file[..file.len() - 3];
    let chunks = opened(stored(cut, 4096), None, "f.gz", Some(task(64 << 20)));
    let error = runtimes.block_on(chunks.try_collect::<Vec<Bytes>>()).unwrap_err();
    assert!(error.to_string().contains("is cut"), "{error}");
}
