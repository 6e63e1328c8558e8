//! Counts, removal and inline statements of one table, beside what whole histories check.

use model::{PartId, TableId};

use super::*;
use crate::generated::{part, table_def};

fn table() -> TableState {
    TableState::new(Arc::new(table_def(TableId::from_bytes([1; 16]), "t")))
}

fn live(state: &mut TableState, id: u8, partition: u64, blocks: (u64, u64)) {
    let fresh = part(PartId::from_bytes([id; 16]), state.def.id, partition);
    let blocks = BlockRange { min: blocks.0, max: blocks.1 };
    state.insert_part(Arc::new(PartDescriptor { blocks, ..fresh }));
}

#[test]
fn a_clone_does_not_see_later_changes() {
    let mut state = table();
    live(&mut state, 1, 0, (1, 1));
    let before = state.clone();
    live(&mut state, 2, 0, (2, 2));
    state.remove_part(PartId::from_bytes([1; 16]), Seq(9), 50);
    assert_eq!(before.parts().map(|part| part.blocks.min).collect::<Vec<_>>(), [1]);
    assert_eq!(state.parts().map(|part| part.blocks.min).collect::<Vec<_>>(), [2]);
    let removed: Vec<_> = state.removed().map(|removed| (removed.seq, removed.removed_ms)).collect();
    assert_eq!(removed, [(Seq(9), 50)]);
    assert_eq!((before.rows(), state.rows(), before.removed().count()), (10, 10, 0));
}

#[test]
fn overlap_is_found_within_the_group_only() {
    let mut state = table();
    live(&mut state, 1, 0, (1, 3));
    live(&mut state, 2, 0, (7, 9));
    live(&mut state, 3, 1, (5, 5));
    let group = group_of(state.part(PartId::from_bytes([1; 16])).unwrap());
    let hit = |min, max| state.overlapping(&group, BlockRange { min, max }).map(|part| part.blocks.min);
    let cases = [((1, 1), Some(1)), ((3, 4), Some(1)), ((4, 6), None), ((2, 8), Some(7)), ((9, 20), Some(7))];
    for ((min, max), expected) in cases {
        assert_eq!(hit(min, max), expected, "{min}..={max}");
    }
    assert_eq!(hit(10, 11), None);
}

#[test]
fn statements_leave_oldest_first() {
    let mut state = table();
    for seq in [3, 5, 5, 8] {
        let block = state.take_block();
        let bytes = Bytes::from_static(b"0123");
        state.insert_inline(InlineStatement { seq: Seq(seq), block, schema_version: 1, rows: 2, bytes });
    }
    assert_eq!(state.inline_blocks(Seq(2)), None);
    assert_eq!(state.inline_blocks(Seq(5)), Some(BlockRange { min: 1, max: 3 }));
    state.remove_inline(Seq(5), Seq(9));
    assert_eq!(state.inline().map(|statement| statement.seq).collect::<Vec<_>>(), [Seq(8)]);
    assert_eq!((state.inline_rows(), state.inline_bytes(), state.inline_changed()), (2, 4, Seq(9)));
}

#[test]
fn clearing_keeps_block_numbers_and_forgets_nothing_by_itself() {
    let mut state = table();
    let block = state.take_block();
    live(&mut state, 1, 0, (block, block));
    state.clear(Seq(4), 70);
    assert_eq!((state.rows(), state.part_count(), state.next_block()), (0, 0, 2));
    assert_eq!(state.removed().count(), 1);
    state.forget(&[PartId::from_bytes([7; 16]), PartId::from_bytes([1; 16])]);
    assert_eq!(state.removed().count(), 0);
}
