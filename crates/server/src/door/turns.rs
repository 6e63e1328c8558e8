//! A statement gives its place to others while it waits for its body, as it does while its client does not read.
//!
//! Invariant: a statement that waits for bytes has no place after [`SLOW`] of waiting in sum, however the bytes are portioned;
//! when they come it stands in line behind those who wait to begin. Must not know: what the bytes are.

use std::sync::Arc;
use std::time::Duration;

use engine::BodyStream;
use futures::{FutureExt, StreamExt, stream};
use host::{Clock, Faults};

use crate::door::gate::Seat;

/// A client that takes or brings nothing for so long does not keep others from running their statements: short, so that a
/// thousand of them who begin together hold a new statement up by what they compute and not by how long they were waited for.
pub(crate) const SLOW: Duration = Duration::from_millis(5);

/// The mistake that the attack on clients must notice.
const KEEPS_PLACE: &str = "server.keep_place_of_stalled_body";

/// A body whose statement gives up its place while it waits for it.
pub(crate) fn taking_turns(
    body: BodyStream,
    seat: Arc<Seat>,
    clock: Arc<dyn Clock>,
    faults: &Faults,
) -> BodyStream {
    if faults.planted(KEEPS_PLACE) {
        return body;
    }
    let chunks = stream::unfold((body, SLOW), move |(mut body, left)| {
        let (seat, clock) = (Arc::clone(&seat), Arc::clone(&clock));
        async move {
            if let Some(chunk) = body.next().now_or_never() {
                return Some((chunk?, (body, left)));
            }
            let before = clock.monotonic();
            if let Ok(chunk) = tokio::time::timeout(left, body.next()).await {
                let left = left.saturating_sub(clock.monotonic().saturating_sub(before));
                return Some((chunk?, (body, left)));
            }
            seat.leave();
            let chunk = body.next().await;
            seat.take_again().await;
            Some((chunk?, (body, SLOW)))
        }
    });
    chunks.boxed()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use tokio::sync::mpsc;

    use super::*;
    use crate::door::config::Limits;
    use crate::door::gate::Gate;

    #[tokio::test]
    async fn a_stalled_body_gives_its_place_away_and_takes_it_again_with_the_next_bytes() {
        let host = host::Host::system(1 << 20).unwrap();
        let limits = Limits { statements: 1, wait: Duration::from_secs(20), ..Limits::default() };
        let gate = Arc::new(Gate::new(&limits, Arc::clone(&host.clock)));
        let seat = Seat::new(&gate, gate.enter().await.unwrap());
        let (sender, receiver) = mpsc::channel(1);
        let body =
            stream::unfold(receiver, |mut receiver| async { Some((receiver.recv().await?, receiver)) });
        let mut body = taking_turns(body.boxed(), Arc::clone(&seat), Arc::clone(&host.clock), &host.faults);
        sender.send(Ok(Bytes::from_static(b"1"))).await.unwrap();
        assert_eq!(body.next().await.unwrap().unwrap(), "1");
        assert!(gate.try_enter().is_none(), "it computes");
        let mut second = body.next();
        assert!(futures::poll!(&mut second).is_pending());
        // Somebody else comes in while it waits.
        let place = tokio::select! {
            place = gate.enter() => place.unwrap(),
            _ = &mut second => unreachable!("nothing was sent"),
        };
        sender.send(Ok(Bytes::from_static(b"2"))).await.unwrap();
        assert!(futures::poll!(&mut second).is_pending(), "and keeps their place");
        drop(place);
        assert_eq!(second.await.unwrap().unwrap(), "2");
        assert!(gate.try_enter().is_none(), "it computes again");
        drop(sender);
        assert!(body.next().await.is_none());
    }
}
