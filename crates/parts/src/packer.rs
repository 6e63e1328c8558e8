//! Zstandard for pages of text, at a level or quicker than any level that keeps text small.
//!
//! The quick way looks for repetitions at one position in nine, in a table that fits the processor's first cache, and packs
//! what is left by the frequency of its bytes, which the library's own quick levels leave out; any reader of Zstandard
//! unpacks it. `docs/design/parts.md` has the measurements. Invariant: what comes out is one frame that names its size.
//! Must not know: pages, files.

use std::io::Cursor;

use zstd::zstd_safe::{self, CCtx, CParameter, ParamSwitch, Strategy};

/// Bytes that must be alike to count as a repetition: the longest that Zstandard can ask for.
const QUICK_MATCH_BYTES_MIN: u32 = 7;
/// Positions that are remembered: 32 KiB of them.
const QUICK_REMEMBERED_BITS: u32 = 13;
/// Positions that are passed over after one that was looked at.
const QUICK_POSITIONS_PASSED: u32 = 8;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effort {
    Quick,
    /// One of Zstandard's own levels.
    Level(i32),
}

/// Packs texts, one after the other.
pub(crate) struct Packer {
    context: CCtx<'static>,
}

impl Packer {
    /// # Errors
    /// The library does not know a parameter, which would be another library.
    pub(crate) fn new(effort: Effort) -> Result<Packer, String> {
        let quick = [
            CParameter::CompressionLevel(1),
            CParameter::Strategy(Strategy::ZSTD_fast),
            CParameter::MinMatch(QUICK_MATCH_BYTES_MIN),
            CParameter::HashLog(QUICK_REMEMBERED_BITS),
            CParameter::TargetLength(QUICK_POSITIONS_PASSED),
            CParameter::LiteralCompressionMode(ParamSwitch::Enable),
        ];
        let level = match effort {
            Effort::Quick => None,
            Effort::Level(level) => Some(CParameter::CompressionLevel(level)),
        };
        let parameters = level.as_ref().map_or(quick.as_slice(), std::slice::from_ref);
        let mut context = CCtx::create();
        for parameter in parameters {
            context.set_parameter(*parameter).map_err(message)?;
        }
        Ok(Packer { context })
    }

    /// Room that is always enough for a frame of so many bytes.
    pub(crate) fn room_for(bytes: usize) -> usize {
        zstd_safe::compress_bound(bytes)
    }

    /// Appends one frame to what is in `out`, which should have [`Packer::room_for`] it; returns its bytes.
    ///
    /// # Errors
    /// There is no memory for it.
    pub(crate) fn pack(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<usize, String> {
        out.reserve(Packer::room_for(bytes.len()));
        let end = out.len() as u64;
        let mut target = Cursor::new(out);
        target.set_position(end);
        self.context.compress2(&mut target, bytes).map_err(message)
    }
}

fn message(code: usize) -> String {
    zstd_safe::get_error_name(code).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_back() {
        let text = "the quick brown fox and its lazy dog, again and again. ".repeat(4000);
        let noise: Vec<u8> =
            (0..300_000_u32).flat_map(|i| i.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
        for effort in [Effort::Quick, Effort::Level(1), Effort::Level(2)] {
            let mut packer = Packer::new(effort).unwrap();
            let mut out = b"before".to_vec();
            for bytes in [text.as_bytes(), &noise, b"", b"x", &text.as_bytes()[..70_000]] {
                let begin = out.len();
                let packed = packer.pack(bytes, &mut out).unwrap();
                assert_eq!(out.len(), begin + packed);
                let frame = &out[begin..];
                assert_eq!(zstd_safe::get_frame_content_size(frame).unwrap(), Some(bytes.len() as u64));
                assert_eq!(zstd::bulk::decompress(frame, bytes.len()).unwrap(), bytes);
            }
            assert!(out.starts_with(b"before"));
            assert!(packer.pack(text.as_bytes(), &mut out).unwrap() * 20 < text.len());
        }
    }
}
