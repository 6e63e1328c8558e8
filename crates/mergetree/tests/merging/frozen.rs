//! Copies of parts on a real disk.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use host::Host;
use mergetree::frozen::{freeze, next_number, unfreeze};

use crate::tables::{create, definition, insert, live};

#[test]
fn copies_outlive_their_parts_and_go_when_they_are_told_to() {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::system(1 << 30).unwrap();
    let table = create(&host, folder.path(), definition(&["Int64"], &[1]));
    for first in 0..2 {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(first..first + 10));
        insert(&table, &RecordBatch::try_new(table.def.arrow_schema(), vec![column]).unwrap());
    }
    let (store, id, parts) = (&table.store, table.def.id, live(&table));
    assert_eq!(next_number(store).unwrap(), "1");
    let frozen = freeze(store, "7", &parts[..1]).unwrap();
    assert_eq!(
        (frozen.len(), frozen[0].name.as_str(), frozen[0].partition.as_str()),
        (1, "all_1_1_0", "all")
    );
    assert_eq!(next_number(store).unwrap(), "8");
    // All of them or none.
    assert!(freeze(store, "7", &[Arc::clone(&parts[1]), Arc::clone(&parts[0])]).is_err());
    let bytes = host::read_all(host.disk.as_ref(), &store.path(&parts[0])).unwrap();
    store.delete(&parts[0]).unwrap();
    assert_eq!(host::read_all(host.disk.as_ref(), &frozen[0].path).unwrap(), bytes);
    assert_eq!(unfreeze(store, "7", id, |partition| partition == "1").unwrap(), []);
    assert_eq!(unfreeze(store, "7", id, |_| true).unwrap(), frozen);
    assert!(!host.disk.exists(&folder.path().join("shadow/7")).unwrap());
    assert_eq!(unfreeze(store, "7", id, |_| true).unwrap(), []);
}
