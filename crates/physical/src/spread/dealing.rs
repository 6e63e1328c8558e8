//! Who reads which parts: by their names, so that a server reads the same ones next time, whose pages it has kept by then.
//!
//! Rendezvous hashing with a bound: a piece goes to the server that weighs it most, unless that one has its share already.
//! Invariant: pure; each byte of each part goes to one server. Must not know: where servers are.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::leaf::PartPiece;

/// Pieces for each server, so that none has much more than another.
const PIECES_EACH: u64 = 4;
/// Smaller pieces are not made of a part.
const PIECE_BYTES_MIN: u64 = 4 << 20;

/// The pieces of each server. `servers` are names that last; `parts` are whole.
pub fn dealt(parts: &[PartPiece], servers: &[u128]) -> Vec<Vec<PartPiece>> {
    let mut shares = vec![Vec::new(); servers.len()];
    let mut filled = vec![0_u64; servers.len()];
    let total: u64 = parts.iter().map(|part| part.end).sum();
    let count = u64::try_from(servers.len()).unwrap_or(1).max(1);
    let target = (total / (PIECES_EACH * count)).max(PIECE_BYTES_MIN);
    let mut pieces: Vec<PartPiece> = parts.iter().flat_map(|part| cut(part, target)).collect();
    // Large ones first: what is left at the end is small.
    pieces.sort_by_key(|piece| {
        (std::cmp::Reverse(piece.end - piece.begin), piece.leaf, piece.part, piece.begin)
    });
    let bound = total.div_ceil(count);
    for piece in pieces {
        let bytes = piece.end - piece.begin;
        let fits = |server: &usize| filled[*server] == 0 || filled[*server] + bytes <= bound;
        let by_weight = (0..servers.len()).filter(fits).max_by_key(|server| weight(servers[*server], &piece));
        let least = || (0..servers.len()).min_by_key(|server| (filled[*server], *server));
        if let Some(server) = by_weight.or_else(least) {
            filled[server] += bytes;
            shares[server].push(piece);
        }
    }
    shares
}

/// Pieces of about so many bytes.
fn cut(part: &PartPiece, target: u64) -> Vec<PartPiece> {
    let count = (part.end / target).max(1);
    (0..count)
        .map(|at| PartPiece { begin: part.end * at / count, end: part.end * (at + 1) / count, ..*part })
        .collect()
}

fn weight(server: u128, piece: &PartPiece) -> u64 {
    let mut hasher = DefaultHasher::new();
    (server, piece.part.to_string(), piece.begin).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use model::PartId;

    use super::*;

    fn part(number: u8, bytes: u64) -> PartPiece {
        PartPiece { leaf: 0, part: PartId::from_bytes([number; 16]), begin: 0, end: bytes }
    }

    fn bytes(share: &[PartPiece]) -> u64 {
        share.iter().map(|piece| piece.end - piece.begin).sum()
    }

    #[test]
    fn every_byte_goes_to_one_server_and_none_has_much_more_than_another() {
        const MIB: u64 = 1 << 20;
        for (parts, servers) in [
            (vec![part(1, 300 * MIB)], 3),
            (vec![part(1, 300 * MIB + 7), part(2, 10 * MIB), part(3, MIB)], 3),
            ((0..40).map(|n| part(n, u64::from(n) * MIB + 1)).collect(), 3),
            ((0..200).map(|n| part(n, MIB)).collect(), 5),
            (vec![part(1, 100)], 4),
            (Vec::new(), 2),
        ] {
            let names: Vec<u128> = (1..=servers).collect();
            let shares = dealt(&parts, &names);
            let total: u64 = parts.iter().map(|part| part.end).sum();
            assert_eq!(shares.iter().map(|share| bytes(share)).sum::<u64>(), total);
            let mut all: Vec<PartPiece> = shares.iter().flatten().copied().collect();
            all.sort_by_key(|piece| (piece.part, piece.begin));
            for pair in all.windows(2).filter(|pair| pair[0].part == pair[1].part) {
                assert_eq!(pair[0].end, pair[1].begin);
            }
            let most = shares.iter().map(|share| bytes(share)).max().unwrap_or(0);
            let even = total.div_ceil(servers.try_into().unwrap());
            assert!(most <= even + even.max(PIECE_BYTES_MIN * 2) / 3 + PIECE_BYTES_MIN, "{most} of {total}");
        }
    }

    #[test]
    fn most_pieces_stay_where_they_were_when_a_part_is_added() {
        const MIB: u64 = 1 << 20;
        let before: Vec<PartPiece> = (0..60).map(|n| part(n, 8 * MIB)).collect();
        let after: Vec<PartPiece> = (0..63).map(|n| part(n, 8 * MIB)).collect();
        let (before, after) = (dealt(&before, &[1, 2, 3]), dealt(&after, &[1, 2, 3]));
        let kept =
            before.iter().zip(&after).flat_map(|(before, after)| before.iter().filter(|p| after.contains(p)));
        assert!(kept.count() >= 45);
    }
}
