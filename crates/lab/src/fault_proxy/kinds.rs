//! What may go wrong between a client and a store, and which request it happens to.
//!
//! Invariant: seed and number of a request decide its fault; nothing else is random. Must not know: sockets.

use model::mix64::{STEP, mix64};
use model::saturating::u64_of;

/// One thing that goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FaultKind {
    ResetBeforeHead,
    ResetInHead,
    ResetInBody,
    /// Nothing is answered, and the connection stays.
    Stall,
    Internal500,
    SlowDown503,
    /// With a `Retry-After` of one second.
    TooMany429,
    /// The connection ends in order, before all the bytes that were announced.
    Truncated,
    /// The answer is of another version than was asked for.
    WrongEtag,
    /// Status 500, pages of listings only.
    ListFails,
    /// A page of a listing ends in the middle.
    ListCut,
    /// Status 200 with an error as its body.
    ErrorUnder200,
    /// The body comes at 1 kB/s.
    Dribble,
    /// A page of a listing names itself as the next one.
    SameToken,
}

/// All kinds with the names they have on a command line.
pub(crate) const KINDS: [(&str, FaultKind); 14] = [
    ("reset-before-head", FaultKind::ResetBeforeHead),
    ("reset-in-head", FaultKind::ResetInHead),
    ("reset-in-body", FaultKind::ResetInBody),
    ("stall", FaultKind::Stall),
    ("500", FaultKind::Internal500),
    ("503", FaultKind::SlowDown503),
    ("429", FaultKind::TooMany429),
    ("truncated", FaultKind::Truncated),
    ("wrong-etag", FaultKind::WrongEtag),
    ("list-fails", FaultKind::ListFails),
    ("list-cut", FaultKind::ListCut),
    ("error-under-200", FaultKind::ErrorUnder200),
    ("dribble", FaultKind::Dribble),
    ("same-token", FaultKind::SameToken),
];

/// What a request asks for, as far as faults care.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asked {
    List,
    Get,
    Other,
}

impl FaultKind {
    /// Whether it can happen to such a request.
    fn fits(self, asked: Asked) -> bool {
        match self {
            FaultKind::ResetInBody | FaultKind::Truncated | FaultKind::Dribble | FaultKind::ErrorUnder200 => {
                asked != Asked::Other
            }
            FaultKind::WrongEtag => asked == Asked::Get,
            FaultKind::ListFails | FaultKind::ListCut | FaultKind::SameToken => asked == Asked::List,
            _ => true,
        }
    }
}

/// How often what goes wrong.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) seed: u64,
    /// Of 1000 requests so many have a fault, if one of the kinds fits them.
    pub(crate) per_mille: u64,
    pub(crate) kinds: Vec<FaultKind>,
    /// Added to every answer.
    pub(crate) latency_ms: u64,
}

impl Faults {
    /// What happens to the request with this number.
    pub(crate) fn of(&self, number: u64, asked: Asked) -> Option<FaultKind> {
        let kinds: Vec<FaultKind> = self.kinds.iter().copied().filter(|kind| kind.fits(asked)).collect();
        let count = u64_of(kinds.len());
        let roll = mix64(self.seed.wrapping_mul(0x9e37_79b9).wrapping_add(number).wrapping_add(STEP));
        if count == 0 || roll % 1000 >= self.per_mille {
            return None;
        }
        kinds.get(usize::try_from((roll >> 20) % count).unwrap_or(0)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_and_the_rate_is_kept() {
        let all: Vec<FaultKind> = KINDS.iter().map(|(_, kind)| *kind).collect();
        let faults = Faults { seed: 7, per_mille: 100, kinds: all, latency_ms: 0 };
        let run = |faults: &Faults| (0..5000).map(|n| faults.of(n, Asked::List)).collect::<Vec<_>>();
        assert_eq!(run(&faults), run(&faults.clone()));
        let hit = run(&faults).iter().flatten().count();
        assert!((350..650).contains(&hit), "{hit}");
        assert!(!run(&faults).contains(&Some(FaultKind::WrongEtag)), "does not happen to listings");
        assert_ne!(run(&faults), run(&Faults { seed: 8, ..faults.clone() }));
    }
}
