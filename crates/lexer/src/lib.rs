//! Text before there is a tree: where words, quotes and statements end, what escapes mean, which lists of constants are cut
//! out, how much of a statement has arrived, how deep its tree will be; which tokens are one, and how codecs are spelt.
//!
//! Invariant: no tree is built and nothing recurses, so any text may be looked at. Must not know: the grammar.

pub mod error;
pub mod values;
pub mod escape;
pub mod joined;
pub mod codec_text;
pub mod scan;
pub mod constants;
pub mod arriving;
pub mod depth;
