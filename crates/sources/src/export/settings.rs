//! Session settings that writing objects obeys, as plain data.
//!
//! Invariant: names and defaults are ClickHouse's. Must not know: how a session stores its settings.

use stores::codecs::encode::Effort;

use crate::export::part_sizes::PartSizes;

#[derive(Clone, Debug)]
pub struct ExportSettings {
    /// `s3_truncate_on_insert`: an object that is there is replaced.
    pub truncate: bool,
    /// `s3_create_new_file_on_insert`: an object that is there gets a numbered neighbour.
    pub create_new: bool,
    /// `azure_truncate_on_insert`.
    pub azure_truncate: bool,
    /// `azure_create_new_file_on_insert`.
    pub azure_create_new: bool,
    /// `engine_file_truncate_on_insert`.
    pub file_truncate: bool,
    /// `engine_file_allow_create_multiple_files`.
    pub file_create_new: bool,
    pub part_sizes: PartSizes,
    /// Parts of one object on their way at one time.
    pub inflight_parts_max: usize,
    /// Of blobs.
    pub azure_part_sizes: PartSizes,
    pub azure_inflight_parts_max: usize,
    /// Objects whose last parts are on their way at one time.
    pub delayed_objects_max: usize,
    /// Objects of one statement; 0 means any number.
    pub partitions_max: u64,
    /// How hard objects are compressed.
    pub effort: Effort,
}

impl Default for ExportSettings {
    fn default() -> Self {
        ExportSettings {
            truncate: false,
            create_new: false,
            azure_truncate: false,
            azure_create_new: false,
            file_truncate: false,
            file_create_new: false,
            part_sizes: PartSizes::default(),
            inflight_parts_max: 20,
            azure_part_sizes: PartSizes::default(),
            azure_inflight_parts_max: 20,
            delayed_objects_max: 100,
            partitions_max: 100,
            effort: Effort::default(),
        }
    }
}
