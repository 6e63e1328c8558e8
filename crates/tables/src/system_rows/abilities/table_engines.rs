//! `system.table_engines`: what ENGINE of CREATE TABLE can be.

use boundary::error::Error;

use super::super::rows::{Columns, RowBuilder};

struct Engine {
    name: &'static str,
    settings: bool,
    sorts: bool,
    deduplicates: bool,
    parallel_insert: bool,
    description: &'static str,
    syntax: &'static str,
}

const fn outside(name: &'static str, description: &'static str, syntax: &'static str) -> Engine {
    Engine {
        name,
        settings: true,
        sorts: false,
        deduplicates: false,
        parallel_insert: false,
        description,
        syntax,
    }
}

const fn log(name: &'static str, syntax: &'static str) -> Engine {
    let description = "Rows in the order in which they came.";
    Engine {
        name,
        settings: true,
        sorts: false,
        deduplicates: false,
        parallel_insert: false,
        description,
        syntax,
    }
}

/// MergeTree, and engines of it whose rows of equal key become one.
const fn merging(name: &'static str, description: &'static str, syntax: &'static str) -> Engine {
    Engine {
        name,
        settings: true,
        sorts: true,
        deduplicates: true,
        parallel_insert: true,
        description,
        syntax,
    }
}

const ENGINES: &[Engine] = &[
    merging(
        "AggregatingMergeTree",
        "MergeTree; states of rows of equal key are merged.",
        "AggregatingMergeTree ORDER BY expr ..",
    ),
    outside(
        "AzureBlobStorage",
        "Blobs in a container of Azure.",
        "AzureBlobStorage(connection_string, container, blob_path[, format])",
    ),
    Engine {
        name: "Buffer",
        settings: false,
        sorts: false,
        deduplicates: false,
        parallel_insert: true,
        description: "Another table's name: rows go there at once.",
        syntax: "Buffer(database, table, num_layers, min_time, ..)",
    },
    merging(
        "CoalescingMergeTree",
        "MergeTree; of rows of equal key the last value of each column that is not NULL stays.",
        "CoalescingMergeTree[(columns)] ORDER BY expr ..",
    ),
    merging(
        "CollapsingMergeTree",
        "MergeTree; rows of equal key cancel each other by their sign, 1 or -1.",
        "CollapsingMergeTree(sign) ORDER BY expr ..",
    ),
    Engine {
        name: "Dictionary",
        settings: false,
        sorts: false,
        deduplicates: false,
        parallel_insert: false,
        description: "The rows of a dictionary, some of its columns or all.",
        syntax: "Dictionary('db.name')",
    },
    Engine {
        name: "Distributed",
        settings: false,
        sorts: false,
        deduplicates: false,
        parallel_insert: true,
        description: "Another table's name: there is one node, and its table is all of them.",
        syntax: "Distributed(cluster, database, table[, key[, policy]])",
    },
    outside("File", "Local files.", "File(format, 'path')"),
    outside("GCS", "Objects in a bucket of Google Cloud Storage.", "GCS('url'[, key, secret][, format])"),
    Engine {
        name: "Join",
        settings: true,
        sorts: false,
        deduplicates: false,
        parallel_insert: false,
        description: "Rows that are the right side of joins, and that joinGet asks by their keys.",
        syntax: "Join(ANY | ALL | SEMI | ANTI, LEFT | INNER | RIGHT | FULL, key columns ..)",
    },
    log("Log", "Log"),
    Engine {
        name: "MaterializedView",
        settings: false,
        sorts: false,
        deduplicates: false,
        parallel_insert: false,
        description: "A SELECT that INSERTs into the table it reads go through, into another table.",
        syntax: "CREATE MATERIALIZED VIEW name [TO table | ENGINE = ..] AS SELECT ..",
    },
    Engine {
        name: "Memory",
        settings: false,
        sorts: false,
        deduplicates: false,
        parallel_insert: true,
        description: "Rows live in the process and are gone with it.",
        syntax: "Memory",
    },
    Engine {
        name: "Merge",
        settings: false,
        sorts: false,
        deduplicates: false,
        parallel_insert: false,
        description: "The rows of all tables whose names match.",
        syntax: "Merge(database, 'regular expression')",
    },
    merging(
        "MergeTree",
        "Sorted parts, merged in the background.",
        "MergeTree ORDER BY expr [PARTITION BY expr] [PRIMARY KEY expr] [SETTINGS name = value, ..]",
    ),
    Engine {
        name: "Null",
        settings: false,
        sorts: false,
        deduplicates: false,
        parallel_insert: true,
        description: "Rows are counted and dropped.",
        syntax: "Null",
    },
    merging(
        "ReplacingMergeTree",
        "MergeTree; of rows of equal key the newest stays, by version or by insertion.",
        "ReplacingMergeTree[(version[, is_deleted])] ORDER BY expr ..",
    ),
    outside("S3", "Objects in a bucket.", "S3('url'[, key, secret][, format])"),
    Engine {
        name: "Set",
        settings: true,
        sorts: false,
        deduplicates: false,
        parallel_insert: false,
        description: "Rows that IN asks.",
        syntax: "Set",
    },
    log("StripeLog", "StripeLog"),
    merging(
        "SummingMergeTree",
        "MergeTree; numbers of rows of equal key are added.",
        "SummingMergeTree[(columns)] ORDER BY expr ..",
    ),
    log("TinyLog", "TinyLog"),
    outside("URL", "What an HTTP server answers.", "URL('url'[, format])"),
    merging(
        "VersionedCollapsingMergeTree",
        "MergeTree; rows of equal key and version cancel each other by their sign, in any order.",
        "VersionedCollapsingMergeTree(sign, version) ORDER BY expr ..",
    ),
    Engine {
        name: "View",
        settings: false,
        sorts: false,
        deduplicates: false,
        parallel_insert: false,
        description: "A SELECT under a name.",
        syntax: "CREATE VIEW name AS SELECT ..",
    },
];

pub const COLUMNS: &Columns = &[
    ("name", "String"),
    ("supports_settings", "UInt8"),
    ("supports_skipping_indices", "UInt8"),
    ("supports_projections", "UInt8"),
    ("supports_sort_order", "UInt8"),
    ("supports_ttl", "UInt8"),
    ("supports_replication", "UInt8"),
    ("supports_deduplication", "UInt8"),
    ("supports_parallel_insert", "UInt8"),
    ("description", "String"),
    ("syntax", "String"),
    ("examples", "String"),
    ("introduced_in", "String"),
    ("related", "Array(String)"),
];

pub fn fill(rows: &mut RowBuilder) -> Result<(), Error> {
    for engine in ENGINES {
        rows.push_some([
            ("name", engine.name.into()),
            ("supports_settings", engine.settings.into()),
            ("supports_sort_order", engine.sorts.into()),
            ("supports_deduplication", engine.deduplicates.into()),
            ("supports_parallel_insert", engine.parallel_insert.into()),
            ("description", engine.description.into()),
            ("syntax", engine.syntax.into()),
        ])?;
    }
    Ok(())
}
