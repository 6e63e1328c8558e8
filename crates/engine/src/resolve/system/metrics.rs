//! `system.metrics`, `system.events`, `system.asynchronous_metrics`: numbers for those who watch, under ClickHouse's
//! names.

use std::sync::atomic::{AtomicU64, Ordering};

use catalog::{Snapshot, TableState};
use shared::Counts;

use super::SystemTable;

/// What is so at this moment.
pub(super) const METRICS: SystemTable = SystemTable {
    columns: &[("metric", "String"), ("value", "Int64"), ("description", "String")],
    fill: |services, execution, rows| {
        let tables = tables(&execution.snapshot);
        let (unpacked_bytes, unpacked_chunks) =
            services.store.unpacked().map_or((0, 0), |pages| pages.size());
        let metrics = [
            ("Query", services.processes.running().len() as u64, "Statements running."),
            ("MemoryTracking", services.host.memory.used(), "Bytes granted to statements and caches."),
            ("UncompressedCacheBytes", unpacked_bytes, "Bytes of parts kept without their compression."),
            ("UncompressedCacheCells", unpacked_chunks as u64, "Column chunks kept so."),
            ("PartsActive", tables.parts, "Parts that are read."),
            ("PartsOutdated", tables.removed, "Parts that were merged away and are not deleted yet."),
            ("AttachedTable", tables.count, "Tables."),
            ("AttachedDatabase", execution.snapshot.databases().count() as u64, "Databases."),
            ("TemporaryTables", execution.temporary.all().len() as u64, "Temporary tables of this session."),
        ];
        for (metric, value, description) in metrics {
            rows.push([metric.into(), value.into(), description.into()])?;
        }
        Ok(())
    },
};

/// What has been counted since the process started.
pub(super) const EVENTS: SystemTable = SystemTable {
    columns: &[("event", "String"), ("value", "UInt64"), ("description", "String")],
    fill: |services, _, rows| {
        let (hits, misses) = services.store.unpacked().map_or((0, 0), |pages| pages.hits_and_misses());
        let unpacked = [("UncompressedCacheHits", hits), ("UncompressedCacheMisses", misses)];
        let requests = services.sharing.as_ref().map_or_else(Vec::new, |sharing| requests(&sharing.counts));
        for (event, value) in services.processes.totals.all().into_iter().chain(unpacked).chain(requests) {
            if value > 0 {
                rows.push([event.into(), value.into(), described(event).into()])?;
            }
        }
        Ok(())
    },
};

/// Requests to the store of a shared root.
fn requests(counts: &Counts) -> Vec<(&'static str, u64)> {
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    vec![
        ("DiskS3PutObject", count(&counts.creates) + count(&counts.puts)),
        ("DiskS3GetObject", count(&counts.gets)),
        ("DiskS3HeadObject", count(&counts.heads)),
        ("DiskS3ListObjects", count(&counts.lists)),
        ("DiskS3DeleteObjects", count(&counts.deletes)),
        ("ReadBufferFromS3Bytes", count(&counts.bytes_read)),
        ("SharedLogConflicts", count(&counts.taken)),
    ]
}

fn described(event: &str) -> &'static str {
    match event {
        "DiskS3PutObject" => "Objects of the shared root written.",
        "DiskS3GetObject" => "Objects of the shared root, or ranges of them, read.",
        "DiskS3HeadObject" => "Objects of the shared root looked for.",
        "DiskS3ListObjects" => "Listings of the shared root.",
        "DiskS3DeleteObjects" => "Objects of the shared root deleted.",
        "ReadBufferFromS3Bytes" => "Bytes read from the shared root.",
        "SharedLogConflicts" => "Records of the shared log that another server wrote first.",
        "Query" => "Statements that ended.",
        "SelectQuery" => "SELECT statements that ended.",
        "InsertQuery" => "INSERT statements that ended.",
        "FailedQuery" => "Statements that failed.",
        "FailedSelectQuery" => "SELECT statements that failed.",
        "FailedInsertQuery" => "INSERT statements that failed.",
        "QueryTimeMicroseconds" => "Time of all statements together.",
        "SelectedRows" => "Rows read.",
        "SelectedBytes" => "Bytes read.",
        "InsertedRows" => "Rows inserted.",
        "InsertedBytes" => "Bytes of inserted rows.",
        "UncompressedCacheHits" => "Reads of column chunks that were kept without their compression.",
        "UncompressedCacheMisses" => "Reads of column chunks that had to be decompressed for it.",
        _ => "",
    }
}

/// What takes more than a counter to say.
pub(super) const ASYNCHRONOUS: SystemTable = SystemTable {
    columns: &[("metric", "String"), ("value", "Float64"), ("description", "String")],
    fill: |services, execution, rows| {
        let tables = tables(&execution.snapshot);
        let seconds = services.now_ms().saturating_sub(services.started_ms) / 1000;
        let metrics = [
            ("Uptime", seconds, "Seconds since the process started."),
            ("NumberOfDatabases", execution.snapshot.databases().count() as u64, "Databases."),
            ("NumberOfTables", tables.count, "Tables."),
            ("TotalPartsOfMergeTreeTables", tables.parts, "Parts that are read."),
            ("TotalRowsOfMergeTreeTables", tables.rows, "Rows in parts and in the log."),
            ("TotalBytesOfMergeTreeTables", tables.bytes, "Bytes of parts and of rows in the log."),
            ("MaxPartCountForPartition", tables.parts_of_partition, "Most parts of one partition."),
            ("MemoryResident", host::process::current_rss_bytes(), "Bytes the process has resident."),
            ("MemoryLimit", services.host.memory.limit(), "Bytes everything together may hold."),
            ("NumberOfThreads", services.threads as u64, "Computing threads."),
        ];
        for (metric, value, description) in metrics {
            // Counts that a Float64 cannot hold exactly are shown nearly.
            rows.push([metric.into(), (value as f64).into(), description.into()])?;
        }
        Ok(())
    },
};

/// Sums over all tables of the snapshot.
#[derive(Default)]
struct Sums {
    count: u64,
    parts: u64,
    removed: u64,
    rows: u64,
    bytes: u64,
    parts_of_partition: u64,
}

fn tables(snapshot: &Snapshot) -> Sums {
    let mut sums = Sums::default();
    for table in snapshot.all_tables() {
        sums.count += 1;
        if table.def.engine.keeps_parts() {
            add(&mut sums, table);
        }
    }
    sums
}

fn add(sums: &mut Sums, table: &TableState) {
    let (rows, bytes) = super::tables::merge_tree_size(table);
    sums.parts += table.part_count() as u64;
    sums.removed += table.outdated().count() as u64;
    sums.rows += rows;
    sums.bytes += bytes;
    let most = table.partitions().map(|(_, partition)| partition.parts().count() as u64).max();
    sums.parts_of_partition = sums.parts_of_partition.max(most.unwrap_or(0));
}
