//! A stream of bytes cut into pieces of whole records, as they arrive: a file's, or a body's.
//!
//! Invariant: that of `formats::Cutter`; bytes are asked for only while a piece lacks them. Must not know: readers.

use bytes::Bytes;
use formats::{Cut, Cutter, Piece};
use futures::stream::{BoxStream, StreamExt};

/// The next piece.
#[derive(Debug)]
pub enum Next {
    Records(Piece),
    /// The last bytes; nothing may be in it.
    Last(Piece),
    /// What is left cannot be cut: it is for one reader.
    Rest,
}

/// See the module.
pub struct CutStream<E> {
    cutter: Cutter,
    chunks: BoxStream<'static, Result<Bytes, E>>,
}

impl<E: Send + 'static> CutStream<E> {
    /// `cutter` has what is known of the bytes in front of `chunks`.
    pub fn new(cutter: Cutter, chunks: BoxStream<'static, Result<Bytes, E>>) -> CutStream<E> {
        CutStream { cutter, chunks }
    }

    /// The next piece, of about `bytes_aimed`. May be dropped and asked again.
    ///
    /// # Errors
    /// What the stream says.
    pub async fn next(&mut self, bytes_aimed: usize) -> Result<Next, E> {
        loop {
            match self.cutter.next(bytes_aimed) {
                Cut::Records(piece) => return Ok(Next::Records(piece)),
                Cut::Endless => return Ok(Next::Rest),
                Cut::Ahead => match self.chunks.next().await {
                    Some(chunk) => self.cutter.push(chunk?),
                    None => return Ok(Next::Last(self.cutter.last())),
                },
            }
        }
    }

    /// Whether no end of a record will be found any more.
    pub fn is_lost(&self) -> bool {
        self.cutter.is_lost()
    }

    /// Where the next piece begins.
    pub fn position(&self) -> u64 {
        self.cutter.position()
    }

    /// All that is left.
    pub fn into_rest(self) -> BoxStream<'static, Result<Bytes, E>> {
        let held: Vec<Result<Bytes, E>> = self.cutter.into_rest().map(Ok).collect();
        futures::stream::iter(held).chain(self.chunks).boxed()
    }
}
