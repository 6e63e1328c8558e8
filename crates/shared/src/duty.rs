//! Who does which background work: each node finds out by itself, by rendezvous hashing over those that are there.
//!
//! Invariant: nodes that know of the same nodes agree; when they do not, work is done twice and one of the two is refused. Must not
//! know: what the work is.

use xxhash_rust::xxh3::xxh3_64;

use crate::node::{Member, NodeId};

/// The nodes that share the work, as this one knows them.
#[derive(Debug, Clone)]
pub struct Duties {
    me: NodeId,
    active: Vec<NodeId>,
}

impl Duties {
    pub fn of(member: &Member) -> Duties {
        let active =
            member.nodes().into_iter().filter(|node| node.report.works && (node.is_active || node.is_me));
        Duties { me: member.id(), active: active.map(|node| node.id).collect() }
    }

    /// Whether the work that `name` stands for is this node's.
    pub fn is_mine(&self, name: &[u8]) -> bool {
        let weight = |node: &NodeId| {
            let mut bytes = node.0.to_le_bytes().to_vec();
            bytes.extend_from_slice(name);
            xxh3_64(&bytes)
        };
        self.active.iter().max_by_key(|node| weight(node)).is_none_or(|owner| *owner == self.me)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_piece_of_work_has_one_owner_and_few_move() {
        let nodes: Vec<NodeId> = (0..4u128).map(|n| NodeId(n * 7_919 + 5)).collect();
        let owner = |active: &[NodeId], work: u32| {
            let mine =
                |me: &&NodeId| Duties { me: **me, active: active.to_vec() }.is_mine(&work.to_le_bytes());
            let owners: Vec<NodeId> = active.iter().filter(mine).copied().collect();
            assert_eq!(owners.len(), 1);
            owners[0]
        };
        let before: Vec<NodeId> = (0..1000).map(|work| owner(&nodes, work)).collect();
        let after: Vec<NodeId> = (0..1000).map(|work| owner(&nodes[..3], work)).collect();
        let moved = before.iter().zip(&after).filter(|(before, after)| before != after);
        assert!(moved.clone().all(|(before, _)| *before == nodes[3]), "only what the lost one did moves");
        assert!((150..350).contains(&moved.count()));
    }
}
