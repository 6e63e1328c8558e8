//! Every table function: its name and what it does.
//!
//! Invariant: [`TABLE_FUNCTIONS`] is the one list of table functions; `system.table_functions` shows it. Must not know: how
//! their rows are made.

/// One table function.
pub struct TableFunction {
    /// As ClickHouse spells it.
    pub name: &'static str,
    /// What it does, and what it is called with.
    pub description: &'static str,
    /// Reads nothing outside of the database.
    pub is_internal: bool,
}

const fn outside(name: &'static str, description: &'static str) -> TableFunction {
    TableFunction { name, description, is_internal: false }
}

const fn internal(name: &'static str, description: &'static str) -> TableFunction {
    TableFunction { name, description, is_internal: true }
}

/// Every table function, by name.
pub const TABLE_FUNCTIONS: &[TableFunction] = &[
    outside(
        "azureBlobStorage",
        "Reads and writes objects of an Azure container: azureBlobStorage(connection, container, path[, ..]).",
    ),
    outside("azureBlobStorageCluster", "As azureBlobStorage, read by all servers of a shared root."),
    internal(
        "cluster",
        "A table of the one cluster, default, which is this server: cluster('default', db.table).",
    ),
    internal("clusterAllReplicas", "As cluster."),
    outside("file", "Reads and writes local files: file(path[, format[, structure[, compression]]])."),
    outside("fileCluster", "As file: its files are on one machine."),
    internal("format", "Rows of a text in some format: format(name[, structure], data)."),
    outside(
        "gcs",
        "Reads and writes objects of a Google bucket: gcs(url[, key, secret][, format[, structure[, compression]]]).",
    ),
    internal(
        "generateRandom",
        "Rows of random values without an end: generateRandom([structure][, seed[, max_string_length[, max_array_length]]]).",
    ),
    internal("generateSeries", "Another spelling of generate_series."),
    internal(
        "generate_series",
        "Numbers from the first to the last, both included: generate_series(start, stop[, step]).",
    ),
    internal("merge", "Rows of all tables whose names match: merge([database,] regular_expression)."),
    internal("null", "A table without rows that takes any: null(structure)."),
    internal("numbers", "Numbers from 0 or an offset: numbers(count), numbers(offset, count[, step])."),
    internal("numbers_mt", "As numbers."),
    internal("remote", "A table at addresses of this server: remote('127.0.0.1', db.table)."),
    internal("remoteSecure", "As remote."),
    outside(
        "s3",
        "Reads and writes objects of an S3 bucket: s3(url[, key, secret][, format[, structure[, compression]]]).",
    ),
    outside("s3Cluster", "As s3, read by all servers of a shared root."),
    outside("url", "Reads what an HTTP server answers, and writes to it: url(url[, format[, structure]])."),
    outside("urlCluster", "As url, read by all servers of a shared root."),
    internal("values", "The rows given: values(structure, (..), ..)."),
    internal("view", "A query as a table: view(SELECT ..)."),
    internal("zeros", "So many rows of 0: zeros(count)."),
    internal("zeros_mt", "As zeros."),
];
