//! The facts of every state of a random history rebuild it.

use model::Seq;

use super::*;
use crate::admit::admit;
use crate::generated::{Dice, check_state, next_transaction};
use crate::op_format::{decode_transaction, encode_transaction, stored_time};
use crate::state::Moment;

fn rebuilt(state: &State) -> State {
    let mut rebuild = Rebuild::default();
    for fact in facts(state) {
        rebuild.add(&fact).unwrap();
    }
    rebuild.finish(state.seq()).unwrap()
}

#[test]
fn histories_replay_and_rebuild_to_equal_states() {
    let (mut admitted, mut refused, mut staged, mut cut) = (0, 0, 0, 0);
    let (mut collections, mut exported) = (0, 0);
    let (mut objects, mut out_of_sight) = (0, 0);
    for seed in 0..40 {
        let mut dice = Dice(seed);
        let (mut state, mut replayed) = (State::default(), State::default());
        for step in 0..120u64 {
            let transaction = next_transaction(&mut dice, &state);
            let at_ms = stored_time(&transaction, 1_700_000_000_000 + step * 40_000_000);
            let moment = Moment { seq: state.seq().next(), at_ms };
            let Ok(next) = admit(&state, &transaction, moment) else {
                refused += 1;
                continue;
            };
            admitted += 1;
            check_state(&next);
            let stored = decode_transaction(&encode_transaction(&transaction, at_ms)).unwrap();
            replayed.apply(Moment { seq: moment.seq, at_ms: stored.at_ms }, &stored.ops).unwrap();
            assert_eq!(next, replayed, "seed {seed}, seq {}", next.seq());
            state = next;
        }
        assert_eq!(rebuilt(&state), state, "seed {seed}");
        staged += state.loads().iter().filter(|load| load.part_count() > 0).count();
        let needed = facts(&state).map(|fact| needs(&fact)).max().unwrap_or(1);
        let new = state.loads().iter().count() + state.tokens().iter().count() > 0;
        let (named, exports) = (state.collections().len(), state.exports().iter().count());
        let detached = state.databases().flat_map(|database| state.detached_tables(database.id)).count();
        let made = detached + state.functions().len();
        (objects, out_of_sight) = (objects + made, out_of_sight + detached);
        collections += named;
        exported += exports;
        let older = if named + exports > 0 { 3 } else { 1 + u64::from(new) };
        let is_cut =
            |load: &&Arc<StagedLoad>| !load.is_sealed || load.units.iter().any(|unit| unit.range.is_some());
        let loads_cut = state.loads().iter().filter(is_cut).count();
        cut += loads_cut;
        assert_eq!(
            needed,
            [older, 7 * u64::from(made > 0), 13 * u64::from(loads_cut > 0)].into_iter().max().unwrap()
        );
    }
    assert!(cut > 10, "{cut} loads whose units are found as they run");
    assert!(collections > 10, "{collections} collections at the end");
    assert!(
        out_of_sight > 5 && objects > 10,
        "{out_of_sight} detached tables among {objects} objects at the end"
    );
    assert!(exported > 5, "{exported} exports half way at the end");
    assert!(staged > 10, "{staged} loads half way at the end");
    assert!(
        admitted > 3000 && refused > 100,
        "{admitted} admitted, {refused} refused: a history worth testing"
    );
}

#[test]
fn a_table_outside_asks_for_a_new_reader() {
    let mut def = crate::generated::table_def(TableId::from_bytes([1; 16]), "t");
    let needed_by = |def: &TableDef| {
        let mut state = State::default();
        state.insert_table(TableState::new(Arc::new(def.clone()))).unwrap();
        assert_eq!(rebuilt(&state), state);
        facts(&state).map(|fact| needs(&fact)).collect::<Vec<_>>()
    };
    assert_eq!(needed_by(&def), [1]);
    def.engine = model::TableEngine::S3;
    def.engine_arguments = model::EngineArguments::new("'http://host/bucket/x.csv', CSV");
    assert_eq!(needed_by(&def), [3]);
}

#[test]
fn a_label_kept_before_it_had_rows_is_read() {
    let mut fields = FieldWriter::default();
    fields.id(1, &[3; 16]);
    fields.text(2, "l");
    fields.id(3, &5u128.to_le_bytes());
    fields.uint(4, 77);
    let old = Fact { kind: kind::LABEL, seq: Seq(9), payload: fields.into_bytes() };
    let expected = LabelState { seq: Seq(9), fingerprint: 5, committed_ms: 77, rows: 0 };
    let read = decode(&old).unwrap();
    assert!(matches!(read, Content::Label { state, .. } if state == expected), "{read:?}");
}

#[test]
fn facts_out_of_place_are_errors() {
    let mut state = State::default();
    let mut dice = Dice(5);
    while state.all_tables().all(|table| table.part_count() == 0) {
        let transaction = next_transaction(&mut dice, &state);
        let moment = Moment { seq: state.seq().next(), at_ms: 1 };
        state = admit(&state, &transaction, moment).unwrap_or(state);
    }
    let part = facts(&state).find(|fact| fact.kind == kind::PART).unwrap();
    let error = Rebuild::default().add(&part).unwrap_err();
    assert_eq!(error.to_string(), "Part has a field 0 that cannot be read: its table is missing");
    let later = Fact { kind: 77, seq: Seq::ZERO, payload: Vec::new() };
    let error = Rebuild::default().add(&later).unwrap_err();
    assert_eq!(
        error.to_string(),
        "checkpoint row of kind 77 (unnamed) is not known to format version 15; version 16 is needed"
    );
}

#[test]
fn a_sweep_is_remembered_and_goes_forward_only() {
    let mut state = State::default();
    for (seq, before_ms, swept_ms) in [(1, 7_000, 7_000), (2, 5_000, 7_000), (3, 8_000, 8_000)] {
        let moment = Moment { seq: Seq(seq), at_ms: 0 };
        state.apply(moment, &[crate::op::Op::PartsSwept { before_ms }]).unwrap();
        assert_eq!(state.swept_ms(), swept_ms);
    }
    assert_eq!(facts(&state).map(|fact| needs(&fact)).collect::<Vec<_>>(), [11]);
    assert_eq!(rebuilt(&state), state);
}

#[test]
fn a_load_that_finds_its_units_is_kept_from_programs_that_would_read_whole_files() {
    let load = LoadId::from_bytes([7; 16]);
    let mut state = State::default();
    let table = TableId::from_bytes([1; 16]);
    let def = crate::generated::table_def(table, "t");
    let mut open = crate::generated::stage_open(load, table, Label::new("l").unwrap(), 1);
    let (create, moment) = (crate::op::Op::CreateTable(def), |seq| Moment { seq: Seq(seq), at_ms: 0 });
    state.apply(moment(1), &[create, open.clone()]).unwrap();
    let needed = |state: &State| facts(state).find(|fact| fact.kind == kind::LOAD).map(|fact| needs(&fact));
    assert_eq!(needed(&state), Some(2));
    if let crate::op::Op::StageOpen { load, label, is_sealed, units, .. } = &mut open {
        (*load, *label, *is_sealed) = (LoadId::from_bytes([8; 16]), Label::new("m").unwrap(), false);
        units.clear();
    }
    state.apply(moment(2), &[crate::op::Op::StageAbort { load }, open]).unwrap();
    assert_eq!((needed(&state), rebuilt(&state) == state), (Some(13), true));
}
