//! How much of a statement is on its way together, how often a bucket is written to, and to which keys.

use std::time::Duration;

use host::{Clock, SystemClock};
use sources::export::{PartSizes, PartitionKey};
use stores::Rate;

use crate::exports::{Writing, rows, wide};
use crate::fixture::Fixture;

#[test]
fn parts_of_an_object_are_sent_together_as_far_as_allowed() {
    let fixture = Fixture::new();
    let mut writing = Writing::new(&fixture);
    writing.settings.part_sizes =
        PartSizes { single_bytes_max: 8 << 20, part_bytes_min: 5 << 20, ..PartSizes::default() };
    for (inflight_parts_max, key) in [(1, "b/one.csv"), (3, "b/three.csv")] {
        writing.settings.inflight_parts_max = inflight_parts_max;
        fixture.server.wait_for_puts(inflight_parts_max);
        let (_, sealed) = writing.sealed(key, &[wide(7), wide(7), wide(7)]).unwrap();
        assert_eq!(fixture.server.most_puts(), inflight_parts_max, "{key}");
        writing.commit(sealed).unwrap();
    }
    assert_eq!(fixture.server.content("b", "one.csv"), fixture.server.content("b", "three.csv"));
}

#[test]
fn last_parts_of_objects_are_sent_together_as_far_as_allowed() {
    let fixture = Fixture::new();
    let mut writing = Writing::new(&fixture);
    writing.partitioned = true;
    for delayed_objects_max in [1, 4] {
        writing.settings.delayed_objects_max = delayed_objects_max;
        fixture.server.wait_for_puts(delayed_objects_max);
        let mut export =
            writing.begin("s3", &format!("b/{delayed_objects_max}_{{_partition_id}}.csv")).unwrap();
        let sealed = fixture.run(async {
            for value in ["k", "l", "m", "n"] {
                export.write(Some(&PartitionKey::Value(value.to_owned())), &rows(1)).await?;
            }
            export.seal().await
        });
        assert_eq!(fixture.server.most_puts(), delayed_objects_max);
        writing.commit(sealed.unwrap()).unwrap();
    }
    assert_eq!(fixture.server.keys("b").len(), 9);
}

#[test]
fn writes_a_second_are_limited() {
    let mut fixture = Fixture::new();
    fixture.settings(|settings| settings.put_rate = Rate { per_second: 20, burst: 1 });
    let writing = Writing::new(&fixture);
    let clock = SystemClock::new();
    for key in ["b/1.csv", "b/2.csv", "b/3.csv", "b/4.csv", "b/5.csv"] {
        let (_, sealed) = writing.sealed(key, &[rows(1)]).unwrap();
        writing.commit(sealed).unwrap();
    }
    assert!(clock.monotonic() >= Duration::from_millis(200), "five PUTs 50 ms apart");
}

/// A key that says where it is by folders without a name.
#[test]
fn odd_keys_are_written_as_they_are() {
    let fixture = Fixture::new();
    let mut writing = Writing::new(&fixture);
    writing.settings.part_sizes =
        PartSizes { single_bytes_max: 8 << 20, part_bytes_min: 5 << 20, ..PartSizes::default() };
    for (path, key, batch) in [
        ("b//a.csv", "/a.csv", rows(2)),
        ("b/x//y/b.csv", "x//y/b.csv", rows(3)),
        ("b/x///c.csv", "x///c.csv", wide(11)),
    ] {
        let (_, sealed) = writing.sealed(path, &[batch]).unwrap();
        writing.commit(sealed).unwrap();
        assert!(fixture.server.keys("b").contains(&key.to_owned()), "{:?}", fixture.server.keys("b"));
        assert_eq!(
            writing.sealed(path, &[rows(1)]).map(drop).unwrap_err().code().number(),
            36,
            "{path} is there"
        );
    }
    assert!(fixture.server.open_uploads().is_empty());
}
