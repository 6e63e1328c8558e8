//! `system.clusters`: there are none yet; clients ask all the same.

use super::SystemTable;

pub(super) const TABLE: SystemTable = SystemTable {
    columns: &[
        ("cluster", "String"),
        ("shard_num", "UInt32"),
        ("shard_name", "String"),
        ("shard_weight", "UInt32"),
        ("internal_replication", "UInt8"),
        ("replica_num", "UInt32"),
        ("host_name", "String"),
        ("host_address", "String"),
        ("port", "UInt16"),
        ("is_local", "UInt8"),
        ("user", "String"),
        ("default_database", "String"),
        ("errors_count", "UInt32"),
        ("slowdowns_count", "UInt32"),
        ("estimated_recovery_time", "UInt32"),
        ("database_shard_name", "String"),
        ("database_replica_name", "String"),
        ("is_active", "Nullable(UInt8)"),
    ],
    fill: |_, _, _| Ok(()),
};
