//! `system.clusters`, `system.nodes`: the servers that share the root, as ClickHouse and as we show them. Without a shared root
//! there are none; clients ask all the same.

use shared::Node;

use super::SystemTable;
use ::tables::system_rows::rows::Cell;

pub(super) const CLUSTERS: SystemTable = SystemTable {
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
    fill: |services, _, rows| {
        let nodes = services.sharing.as_ref().map(|sharing| sharing.member.nodes()).unwrap_or_default();
        for (number, node) in (1u64..).zip(&nodes) {
            let (address, port) = address_of(node);
            rows.push([
                "default".into(),
                1u64.into(),
                "".into(),
                1u64.into(),
                // A row that one of them gets all of them have.
                1u64.into(),
                number.into(),
                node.report.host.as_str().into(),
                address.into(),
                port.into(),
                u64::from(node.is_me).into(),
                "default".into(),
                "".into(),
                0u64.into(),
                0u64.into(),
                0u64.into(),
                "".into(),
                node.id.to_string().into(),
                u64::from(node.is_active).into(),
            ])?;
        }
        Ok(())
    },
};

pub(super) const NODES: SystemTable = SystemTable {
    columns: &[
        ("id", "String"),
        ("host_name", "String"),
        ("host_address", "String"),
        ("port", "UInt16"),
        ("version", "String"),
        ("start_time", "DateTime64(3)"),
        ("last_seen", "DateTime64(3)"),
        ("is_active", "UInt8"),
        ("is_local", "UInt8"),
        ("known_seq", "UInt64"),
        ("oldest_read_seq", "UInt64"),
        ("running_queries", "UInt64"),
    ],
    fill: |services, _, rows| {
        let nodes = services.sharing.as_ref().map(|sharing| sharing.member.nodes()).unwrap_or_default();
        for node in &nodes {
            let (address, port) = address_of(node);
            rows.push([
                node.id.to_string().into(),
                node.report.host.as_str().into(),
                address.into(),
                port.into(),
                node.report.version.as_str().into(),
                Cell::Time(node.report.started_ms),
                Cell::Time(node.seen_ms),
                u64::from(node.is_active).into(),
                u64::from(node.is_me).into(),
                node.report.applied.into(),
                node.report.horizon.into(),
                node.report.queries.into(),
            ])?;
        }
        Ok(())
    },
};

/// The first address a node listens at; none and 0 if it does not.
fn address_of(node: &Node) -> (String, u64) {
    let first = node.report.addresses.split(',').next().unwrap_or_default();
    match first.rsplit_once(':') {
        Some((address, port)) => (address.trim_matches(['[', ']']).to_owned(), port.parse().unwrap_or(0)),
        None => (String::new(), 0),
    }
}
