//! The tester is tested: mistakes planted in the code are noticed, each within a tenth of the seeds of a soak run.

use crate::world::scenario;

/// A tenth of `ten_thousand_seeds`.
const SEEDS_MAX: u64 = 1000;

const MISTAKES: [&str; 12] = [
    // A record's sync is left out.
    "commitlog.skip_sync",
    // A commit is answered and published before its record is synced.
    "commitlog.answer_before_sync",
    // The anchor names a segment before the segment is durable.
    "commitlog.anchor_before_segment",
    // The anchor hears nothing of a new segment.
    "commitlog.segment_without_anchor",
    // A part is named by a record without having been synced.
    "parts.skip_sync",
    "mergetree.merge_drops_last_row",
    // A flush joins statements with a part between them.
    "mergetree.flush_across_parts",
    // Files of removed parts go although a snapshot reads them.
    "mergetree.collect_ignores_snapshots",
    // A flush deletes its parts though the record that names them may be durable.
    "mergetree.discard_unknown",
    "catalog.checkpoint_without_inline",
    "catalog.checkpoint_without_labels",
    // A repeated statement does not carry its label.
    "statement.repeated_without_label",
];

#[test]
fn every_planted_mistake_is_noticed() {
    for mistake in MISTAKES {
        let noticed = (0..SEEDS_MAX).find_map(|seed| Some((seed, scenario(seed, Some(mistake)).err()?)));
        let Some((seed, violation)) = noticed else {
            panic!("{mistake} was not noticed in {SEEDS_MAX} seeds");
        };
        println!("{mistake}: seed {seed}: {violation}");
        assert!(scenario(seed, None).is_ok(), "{mistake}: seed {seed} is not well without it either");
    }
}
