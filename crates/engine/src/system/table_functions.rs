//! `system.table_functions`: what can stand behind FROM with parentheses.

use super::SystemTable;

/// (name, whether a user who may only read may call it, what it is).
const FUNCTIONS: &[(&str, bool, &str)] = &[
    ("azureBlobStorage", false, "Rows of blobs in a container of Azure."),
    ("azureBlobStorageCluster", false, "The same as azureBlobStorage: there is one node."),
    ("file", false, "Rows of local files."),
    ("fileCluster", false, "The same as file: there is one node."),
    ("gcs", false, "Rows of objects in a bucket of Google Cloud Storage."),
    ("numbers", true, "A range of numbers in the column number."),
    ("numbers_mt", true, "The same as numbers."),
    ("s3", false, "Rows of objects in a bucket."),
    ("s3Cluster", false, "The same as s3: there is one node."),
    ("url", false, "Rows of what an HTTP server answers."),
    ("urlCluster", false, "The same as url: there is one node."),
    ("zeros", true, "Zeros in the column zero."),
    ("zeros_mt", true, "The same as zeros."),
];

pub(super) const TABLE: SystemTable = SystemTable {
    columns: &[("name", "String"), ("description", "String"), ("allow_readonly", "UInt8")],
    fill: |_, rows| {
        for (name, allow_readonly, description) in FUNCTIONS {
            rows.push([(*name).into(), (*description).into(), (*allow_readonly).into()])?;
        }
        Ok(())
    },
};
