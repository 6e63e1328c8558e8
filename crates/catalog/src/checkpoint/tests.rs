//! Checkpoint files on a real disk: equal after reading, and damage is noticed wherever it falls.

use host::{Disk, SystemDisk};

use super::*;
use crate::admit::admit;
use crate::generated::{Dice, next_transaction};
use crate::state::Moment;

fn host() -> Host {
    Host::system(1 << 30).unwrap()
}

fn history(seed: u64, steps: u64) -> State {
    let mut dice = Dice(seed);
    let mut state = State::default();
    for step in 0..steps {
        let transaction = next_transaction(&mut dice, &state);
        let moment = Moment { seq: state.seq().next(), at_ms: 1000 + step };
        state = admit(&state, &transaction, moment).unwrap_or(state);
    }
    state
}

#[test]
fn a_state_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    for (seed, steps) in [(1, 0), (2, 30), (3, 300)] {
        let dir = folder.path().join(seed.to_string());
        let state = history(seed, steps);
        let bytes = write(&host(), &dir, &state).unwrap();
        let path = path_of(&dir, state.seq());
        assert_eq!(read(&SystemDisk, &path).unwrap(), state);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), bytes);
        assert_eq!(list(&SystemDisk, &dir).unwrap(), [state.seq()]);
    }
}

#[test]
fn every_damaged_byte_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let state = history(4, 60);
    write(&host(), folder.path(), &state).unwrap();
    let good = read_all(&SystemDisk, &path_of(folder.path(), state.seq())).unwrap();
    let bad = folder.path().join("bad.parquet");
    let refused = |bytes: &[u8]| {
        if SystemDisk.exists(&bad).unwrap() {
            SystemDisk.remove_file(&bad).unwrap();
        }
        SystemDisk.create(&bad).unwrap().append(bytes).unwrap();
        match read(&SystemDisk, &bad) {
            Ok(read) => assert_eq!(read, state, "damage that changes what is read must be an error"),
            Err(error) => assert!(matches!(error, CheckpointError::Damaged { .. }), "{error}"),
        }
    };
    for at in 0..good.len() {
        // Every bit of what the footer says, in which a reader believes; one of each byte of the rows.
        let bits = if at < good.len() / 2 { 6..7 } else { 0..8 };
        for bit in bits {
            let mut bytes = good.to_vec();
            bytes[at] ^= 1 << bit;
            refused(&bytes);
        }
    }
    for end in (0..good.len()).step_by(101) {
        refused(&good[..end]);
    }
}

#[test]
fn leftovers_and_old_files_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let names = [
        "00000000000000000003.parquet",
        "00000000000000000007.parquet",
        "00000000000000000009.parquet",
        "00000000000000000011.parquet.tmp",
        "note.txt",
    ];
    for name in names {
        SystemDisk.create(&folder.path().join(name)).unwrap();
    }
    assert_eq!(list(&SystemDisk, folder.path()).unwrap(), [Seq(9), Seq(7), Seq(3)]);
    remove_others(&SystemDisk, folder.path(), &[Seq(9), Seq(7)]).unwrap();
    let left: Vec<String> =
        SystemDisk.list(folder.path()).unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(left, [names[1], names[2], names[4]]);
}

#[test]
fn a_checkpoint_of_a_newer_program_is_named_so() {
    let folder = tempfile::tempdir().unwrap();
    let digest = digest_of(Xxh3::new(), Seq(5), 16, 0);
    let pairs = [(SEQ_KEY, "5"), (NEEDS_KEY, "16"), (HASH_KEY, digest.as_str())];
    let path = folder.path().join("newer.parquet");
    let file = Appending(SystemDisk.create(&path).unwrap());
    let mut writer = ArrowWriter::try_new(file, schema(), None).unwrap();
    for (key, value) in pairs {
        writer.append_key_value_metadata(KeyValue { key: key.to_owned(), value: Some(value.to_owned()) });
    }
    writer.close().unwrap();
    let error = read(&SystemDisk, &path).unwrap_err();
    assert!(matches!(error, CheckpointError::TooNew { .. }));
    let message = "checkpoint needs format version 16, and this program reads up to version 15";
    assert!(error.to_string().ends_with(message), "{error}");
}
