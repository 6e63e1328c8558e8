//! Files of several frames: decoded side by side they are what one decoder makes of them, errors and all.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use super::*;

static RUNTIMES: LazyLock<Runtimes> = LazyLock::new(|| Runtimes::new(3, 1).unwrap());

const SPLIT: [Compression; 4] = [Compression::Gzip, Compression::Zstd, Compression::Bzip2, Compression::Xz];

/// One frame, by the codec's own encoder.
fn compressed(compression: Compression, text: &[u8]) -> Vec<u8> {
    use async_compression::tokio::bufread::{BzEncoder, GzipEncoder, XzEncoder, ZstdEncoder};
    let mut encoder: Box<dyn AsyncRead + Unpin + '_> = match compression {
        Compression::Gzip => Box::new(GzipEncoder::new(text)),
        Compression::Zstd => Box::new(ZstdEncoder::new(text)),
        Compression::Bzip2 => Box::new(BzEncoder::new(text)),
        _ => Box::new(XzEncoder::new(text)),
    };
    let mut out = Vec::new();
    futures::executor::block_on(encoder.read_to_end(&mut out)).unwrap();
    out
}

fn frame(compression: Compression, text: &[u8]) -> Vec<u8> {
    let out = compressed(compression, text);
    if compression == Compression::Gzip { bgzf(&out) } else { out }
}

/// The member with its length in an extra field.
fn bgzf(member: &[u8]) -> Vec<u8> {
    assert_eq!(member[3], 0, "the encoder writes no fields of its own");
    let length = u16::try_from(member.len() + 8 - 1).unwrap();
    let head = [&member[..3], &[4], &member[4..10], b"\x06\x00BC\x02\x00", &length.to_le_bytes()];
    [&head.concat(), &member[10..]].concat()
}

/// What a reader gets, and the error it ends with.
type Seen = (Vec<u8>, Option<String>);

fn seen(stream: ByteStream) -> Seen {
    RUNTIMES.block_on(async move {
        let (mut stream, mut bytes) = (stream, Vec::new());
        while let Some(chunk) = stream.next().await {
            match chunk {
                Ok(chunk) => bytes.extend_from_slice(&chunk),
                Err(error) => return (bytes, Some(error.to_string())),
            }
        }
        (bytes, None)
    })
}

fn stored(file: &[u8], step: usize, broken: bool) -> ByteStream {
    let chunks = file.chunks(step).map(|chunk| Ok(Bytes::copy_from_slice(chunk)));
    let end = broken.then(|| Err(SourceError::new(SourceErrorKind::Unavailable, "the store is away")));
    futures::stream::iter(chunks.chain(end).collect::<Vec<_>>()).boxed()
}

fn limits() -> Limits {
    Limits { xz_bytes_max: 1 << 30, window_log_max: ZSTD_WINDOW_LOG_MAX }
}

/// Decodes side by side; the number of decoders that were made is the second.
fn side(compression: Compression, stored: ByteStream, memory: &MemoryBudget) -> (Seen, usize) {
    let made = Arc::new(AtomicUsize::new(0));
    let (counted, one) = (Arc::clone(&made), decode_of(compression, limits(), "b/f"));
    let decode: Decode = Arc::new(move |stored| {
        counted.fetch_add(1, Ordering::Relaxed);
        one(stored)
    });
    let workers =
        Workers { runtimes: RUNTIMES.clone(), memory: memory.clone(), threads: 3, decoder_bytes: 1 << 20 };
    let seen = seen(side_by_side(stored, framing(compression).unwrap(), decode, workers));
    (seen, made.load(Ordering::Relaxed))
}

fn rows(rows: u32) -> Vec<u8> {
    (0..rows).flat_map(|n| format!("{n},{}\n", n.wrapping_mul(2_654_435_761)).into_bytes()).collect()
}

fn frames(compression: Compression, text: &[u8], frame_bytes: usize) -> Vec<u8> {
    text.chunks(frame_bytes).flat_map(|text| frame(compression, text)).collect()
}

#[test]
fn files_of_frames_are_decoded_by_several_and_others_by_one() {
    let text = rows(200_000);
    for compression in SPLIT {
        let memory = MemoryBudget::new(1 << 30);
        let file = frames(compression, &text, 60_000);
        let (seen, decoders) = side(compression, stored(&file, 1 << 20, false), &memory);
        assert!(seen == (text.clone(), None), "{compression:?}: {:?}", seen.1);
        assert!(decoders > 2, "{compression:?}: {decoders}");
        assert_eq!(memory.used(), 0, "{compression:?}");
        assert!(memory.peak() > 2 << 20, "{compression:?}");
    }
    let file = compressed(Compression::Gzip, &text);
    let memory = MemoryBudget::new(1 << 30);
    let (seen, decoders) = side(Compression::Gzip, stored(&file, 1 << 20, false), &memory);
    assert!(seen == (text, None) && decoders == 1, "{decoders}");
    assert!(memory.peak() < 1 << 20, "nothing is held of a file that is no bgzf");
}

#[test]
fn a_seek_table_and_other_frames_without_content_are_passed_over() {
    let text = rows(100_000);
    let skippable = b"\x5e\x2a\x4d\x18\x04\x00\x00\x00abcd".to_vec();
    let file = [frames(Compression::Zstd, &text, 300_000), skippable].concat();
    let memory = MemoryBudget::new(1 << 30);
    let (seen, decoders) = side(Compression::Zstd, stored(&file, 50_000, false), &memory);
    assert!(seen == (text.clone(), None) && decoders > 1, "{decoders}: {:?}", seen.1);
    let file = [frames(Compression::Gzip, &text, 50_000), frame(Compression::Gzip, b"")].concat();
    let (seen, decoders) = side(Compression::Gzip, stored(&file, 50_000, false), &memory);
    assert!(seen == (text, None) && decoders > 1, "{decoders}: {:?}", seen.1);
}

#[test]
fn lengths_that_are_not_true_are_not_believed() {
    let text = rows(100_000);
    let memory = MemoryBudget::new(1 << 30);
    // The length of a bgzf member, and the size it says that it has decoded; behind the first group.
    let good = frames(Compression::Gzip, &text, 50_000);
    for (in_member, byte) in [(16, 0x99), (17, 0x01), (17, 0xff)] {
        let mut file = [good.clone(), frame(Compression::Gzip, b"more"), good.clone()].concat();
        file[good.len() + in_member] = byte;
        let one = seen(decode_of(Compression::Gzip, limits(), "b/f")(stored(&file, 9999, false)));
        assert_eq!(one, (([&text[..], b"more", &text].concat()), None), "deflate needs no such length");
        let (several, decoders) = side(Compression::Gzip, stored(&file, 9999, false), &memory);
        assert!(several == one && decoders > 1, "{in_member}: {:?}", several.1);
    }
    assert_eq!(memory.used(), 0);
}

#[test]
fn little_memory_is_one_decoder() {
    let text = rows(300_000);
    let file = frames(Compression::Zstd, &text, 500_000);
    let memory = MemoryBudget::new(1 << 20);
    let (seen, decoders) = side(Compression::Zstd, stored(&file, 1 << 20, false), &memory);
    assert!(seen == (text, None) && decoders == 1, "{decoders}: {:?}", seen.1);
    assert!(memory.peak() <= 1 << 20);
}

/// What happens to a file on its way.
#[derive(Clone, Debug)]
enum Harm {
    None,
    Cut(usize),
    Flip(usize, u8),
    Insert(usize, Vec<u8>),
    Behind(Vec<u8>),
    Broken(usize),
}

fn harms() -> impl Strategy<Value = Harm> {
    let garbage = || {
        prop_oneof![
            prop::collection::vec(any::<u8>(), 1..40),
            (1..12_usize).prop_map(|count| vec![0; count]),
            Just(b"\x1f\x8b\x08\x04".to_vec()),
            Just(b"\x28\xb5\x2f\xfd\x00".to_vec()),
            Just(b"YZ\xfd7zXZ\x00".to_vec()),
            Just(b"BZh91AY&SY".to_vec()),
        ]
    };
    prop_oneof![
        2 => Just(Harm::None),
        2 => any::<usize>().prop_map(Harm::Cut),
        3 => (any::<usize>(), 1..=255_u8).prop_map(|(at, bits)| Harm::Flip(at, bits)),
        1 => (any::<usize>(), garbage()).prop_map(|(at, bytes)| Harm::Insert(at, bytes)),
        1 => garbage().prop_map(Harm::Behind),
        1 => any::<usize>().prop_map(Harm::Broken),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn several_decoders_give_what_one_gives(
        method in 0..SPLIT.len(),
        sizes in prop::collection::vec((0..64_000_usize, any::<bool>()), 0..60),
        step in prop_oneof![1..400_usize, 400..200_000_usize],
        harm in harms(),
        short in any::<bool>(),
    ) {
        let compression = SPLIT[method];
        let text = rows(10_000);
        let mut file = Vec::new();
        // Small steps over large files are slow in a build for tests.
        let count = if short { 4 } else { 60 };
        for (bytes, flat) in sizes.iter().take(count) {
            let bytes = if *flat { vec![b'x'; *bytes] } else { text[..(*bytes).min(text.len())].to_vec() };
            file.extend(frame(compression, &bytes));
        }
        let mut broken = false;
        match harm {
            Harm::None => {}
            Harm::Cut(at) => file.truncate(at % (file.len() + 1)),
            Harm::Flip(at, bits) if !file.is_empty() => {
                let at = at % file.len();
                file[at] ^= bits;
            }
            Harm::Flip(..) => {}
            Harm::Insert(at, bytes) => {
                let at = at % (file.len() + 1);
                file.splice(at..at, bytes);
            }
            Harm::Behind(bytes) => file.extend(bytes),
            Harm::Broken(at) => {
                file.truncate(at % (file.len() + 1));
                broken = true;
            }
        }
        let memory = MemoryBudget::new(1 << 30);
        let one = seen(decode_of(compression, limits(), "b/f")(stored(&file, step, broken)));
        let (several, _) = side(compression, stored(&file, step, broken), &memory);
        prop_assert!(one.1 == several.1, "{:?} is not {:?}", several.1, one.1);
        // What one decoder gives before it fails depends on how its input arrives: it drops what it has made of the bytes
        // in which it fails.
        let (shorter, longer) = match one.0.len() < several.0.len() {
            true => (&one.0, &several.0),
            false => (&several.0, &one.0),
        };
        prop_assert!(longer.starts_with(shorter) && (one.1.is_some() || longer.len() == shorter.len()));
        prop_assert_eq!(memory.used(), 0);
    }
}
