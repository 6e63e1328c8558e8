//! `system.disks` and its kin: what stands in a configuration of ClickHouse, of which there is one here.
//!
//! Invariant: names are those that ClickHouse gives without a configuration.

use super::SystemTable;
use ::tables::system_rows::parts::DISK as DEFAULT;
use ::tables::system_rows::rows::Cell;

pub(super) const DISKS: SystemTable = SystemTable {
    columns: &[
        ("name", "String"),
        ("path", "String"),
        ("free_space", "UInt64"),
        ("total_space", "UInt64"),
        ("unreserved_space", "UInt64"),
        ("type", "String"),
        ("is_remote", "UInt8"),
    ],
    fill: |services, _, rows| {
        let root = services.store.root();
        // Of a bucket there is no end, as ClickHouse says it.
        let space = host::disk_space(&root).unwrap_or(host::DiskSpace { free: u64::MAX, total: u64::MAX });
        let is_remote = services.sharing.is_some();
        rows.push_some([
            ("name", DEFAULT.into()),
            ("path", root.display().to_string().into()),
            ("free_space", space.free.into()),
            ("total_space", space.total.into()),
            ("unreserved_space", space.free.into()),
            ("type", if is_remote { "ObjectStorage" } else { "Local" }.into()),
            ("is_remote", is_remote.into()),
        ])
    },
};

pub(super) const STORAGE_POLICIES: SystemTable = SystemTable {
    columns: &[
        ("policy_name", "String"),
        ("volume_name", "String"),
        ("volume_priority", "UInt64"),
        ("disks", "Array(String)"),
        ("volume_type", "Enum8('JBOD' = 0, 'SINGLE_DISK' = 1, 'UNKNOWN' = 2)"),
        ("load_balancing", "Enum8('ROUND_ROBIN' = 0, 'LEAST_USED' = 1)"),
    ],
    fill: |_, _, rows| {
        rows.push_some([
            ("policy_name", DEFAULT.into()),
            ("volume_name", DEFAULT.into()),
            ("volume_priority", 1_u64.into()),
            ("disks", Cell::Texts(vec![DEFAULT.to_owned()])),
        ])
    },
};

pub(super) const SETTINGS_PROFILES: SystemTable = SystemTable {
    columns: &[("name", "String"), ("storage", "String")],
    fill: |_, _, rows| rows.push_some([("name", DEFAULT.into()), ("storage", "configuration".into())]),
};

pub(super) const USER_DIRECTORIES: SystemTable = SystemTable {
    columns: &[("name", "String"), ("type", "String"), ("precedence", "UInt64")],
    fill: |_, _, rows| {
        rows.push_some([
            ("name", "configuration".into()),
            ("type", "configuration".into()),
            ("precedence", 1_u64.into()),
        ])
    },
};
