//! How a database stands at this moment, in a few numbers, for whoever watches it.
//!
//! Invariant: asking costs little and changes nothing.

use model::saturating::u64_of;

use crate::context::database::Database;

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    pub statements_running: u64,
    pub tables: u64,
    pub parts_active: u64,
    /// Rows of parts and of the log together.
    pub rows: u64,
    /// Bytes of active parts.
    pub part_bytes: u64,
    /// Rows of the log that are no parts yet take so much of it.
    pub inline_bytes: u64,
    /// Bytes of the log's files.
    pub log_bytes: u64,
    pub memory_used_bytes: u64,
    pub memory_limit_bytes: u64,
}

impl Database {
    /// Counts now.
    pub fn figures(&self) -> Figures {
        let services = &self.services;
        let memory = &services.host.memory;
        let log = services.root().join("stream").join("0").join("wal");
        let segments = services.host.disk.list(&log).unwrap_or_default();
        let mut figures = Figures {
            statements_running: u64_of(services.processes.running_count()),
            log_bytes: segments.iter().map(|segment| segment.bytes).sum(),
            memory_used_bytes: memory.used(),
            memory_limit_bytes: memory.limit(),
            ..Figures::default()
        };
        for table in services.catalog.snapshot().all_tables() {
            figures.tables += 1;
            figures.inline_bytes += table.inline_bytes();
            figures.rows += table.inline_rows();
            for part in table.parts() {
                figures.parts_active += 1;
                figures.rows += part.rows;
                figures.part_bytes += part.bytes;
            }
        }
        figures
    }
}
