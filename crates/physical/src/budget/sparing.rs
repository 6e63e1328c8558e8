//! Planning that waits in between, with room for so many constants and no more.
//!
//! Invariant: the room is the thread's only while the future is polled. Must not know: what is planned.

use std::pin::Pin;
use std::task::{Context, Poll};

use functions::folding;

/// A future that computes no more constants than planning may.
pub struct Sparing<F> {
    room: usize,
    future: Pin<Box<F>>,
}

impl<F: Future> Sparing<F> {
    pub fn new(future: F) -> Self {
        Self { room: folding::ROOM_BYTES, future: Box::pin(future) }
    }
}

impl<F: Future> Future for Sparing<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self { room, future } = &mut *self;
        folding::within(room, || future.as_mut().poll(context))
    }
}
