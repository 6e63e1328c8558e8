//! Settings of one table: SETTINGS of CREATE TABLE.

use super::SettingKind::{Bool, Bytes, Choice, Float, Seconds, Text, UInt64};

super::settings! { TABLE:
index_granularity               UInt64, "8192", NoEffect, "Rows of a granule; ours are pages of at most 8192 rows.";
index_granularity_bytes         Bytes, "10485760", NoEffect, "Bytes of a granule.";
min_bytes_for_wide_part         Bytes, "10485760", NoEffect, "Bytes from which parts get one file a column.";
min_rows_for_wide_part          UInt64, "0", NoEffect, "Rows from which parts get one file a column.";
max_parts_in_total              UInt64, "100000", Obeyed, "Parts of all partitions from which inserts of parts are refused; 0 means never.";
parts_to_delay_insert           UInt64, "1000", Obeyed, "Parts of a partition from which inserts of parts are slowed; 0 means never.";
parts_to_throw_insert           UInt64, "3000", Obeyed, "Parts of a partition from which inserts of parts are refused; 0 means never.";
inactive_parts_to_delay_insert  UInt64, "0", NoEffect, "Old parts from which inserts are slowed.";
inactive_parts_to_throw_insert  UInt64, "0", NoEffect, "Old parts from which inserts are refused.";
max_delay_to_insert             UInt64, "1", Obeyed, "Seconds an insert is slowed at most; 0 counts as 1.";
min_delay_to_insert_ms          UInt64, "10", Obeyed, "Milliseconds an insert is slowed at least.";
max_avg_part_size_for_too_many_parts Bytes, "1073741824", Obeyed, "Mean part size above which the limits of a partition rest; 0 means they never do.";
old_parts_lifetime              Seconds, "480", Obeyed, "Seconds a replaced part is kept.";
temporary_directories_lifetime  Seconds, "86400", NoEffect, "Seconds unfinished files are kept.";
max_bytes_to_merge_at_max_space_in_pool Bytes, "161061273600", Obeyed, "Bytes of parts that are merged at most.";
max_bytes_to_merge_at_min_space_in_pool Bytes, "1048576", NoEffect, "The same when the pool is nearly full.";
number_of_free_entries_in_pool_to_lower_max_size_of_merge UInt64, "8", NoEffect, "Free slots from which it shrinks.";
max_parts_to_merge_at_once      UInt64, "100", Obeyed, "Parts one merge takes at most.";
merge_max_block_size            UInt64, "8192", Obeyed, "Rows a merge reads at a time.";
merge_max_block_size_bytes      Bytes, "10485760", NoEffect, "Bytes a merge reads at a time.";
merge_selector_base             Float, "5", Obeyed, "How unequal parts of one merge may be.";
min_age_to_force_merge_seconds  UInt64, "0", NoEffect, "Age from which parts are merged whatever their sizes.";
merge_with_ttl_timeout          Seconds, "14400", Obeyed, "Seconds between two looks for rows that are too old.";
ttl_only_drop_parts             Bool, "0", Obeyed, "Whether old rows go only with their whole part.";
fsync_after_insert              Bool, "1", NoEffect, "Whether a part is synced; every part is.";
fsync_part_directory            Bool, "1", NoEffect, "Whether its directory is synced; it is.";
non_replicated_deduplication_window UInt64, "0", Obeyed, "Inserts remembered to find repeated ones by their rows; 0 compares none.";
replicated_deduplication_window UInt64, "10000", NoEffect, "The same in replicated tables, of which there are none.";
storage_policy                  Text, "default", NoEffect, "Disks of the table.";
disk                            Text, "", NoEffect, "Disk of the table.";
default_compression_codec       Text, "", NoEffect, "Codec of columns without one.";
enable_mixed_granularity_parts  Bool, "1", NoEffect, "Whether granules may have any size.";
allow_nullable_key              Bool, "1", NoEffect, "Whether keys may be nullable; they always may.";
allow_dimensions_outside_sorting_key Bool, "0", Obeyed, "Whether AggregatingMergeTree takes columns that are neither in the key nor states; any of their values stays.";
allow_suspicious_indices        Bool, "0", Obeyed, "Whether an index or the key may name an expression twice when the table is made.";
alter_column_secondary_index_mode Choice(&["throw", "drop", "rebuild", "compatibility"]), "rebuild", Obeyed, "Whether ALTER may change the type of a column that an index needs; what is kept of an index is made with the rows.";
ratio_of_defaults_for_sparse_serialization Float, "0.9375", NoEffect, "Share of defaults from which columns are sparse.";
replace_long_file_name_to_hash  Bool, "1", NoEffect, "Whether long names of column files are hashed.";
add_minmax_index_for_numeric_columns Bool, "0", NoEffect, "Whether numbers get a skip index; all have statistics.";
add_minmax_index_for_string_columns Bool, "0", NoEffect, "Whether texts get a skip index; all have statistics.";
join_use_nulls                  Bool, "0", Obeyed, "Of engine Join: joinGet gives NULL where there is no row, and joins must do the same.";
join_any_take_last_row          Bool, "0", Obeyed, "Of engine Join: of rows of equal key the last one counts, not the first.";
any_join_distinct_right_table_keys Bool, "0", Obeyed, "Of engine Join: joins must have the same setting.";
max_rows_in_join                UInt64, "0", Refused, "Of engine Join: rows it may have.";
max_bytes_in_join               Bytes, "0", Refused, "Of engine Join: bytes it may have.";
join_overflow_mode              Choice(&["throw", "break"]), "throw", NoEffect, "Of engine Join: what happens at these limits.";
persistent                      Bool, "1", NoEffect, "Of engines Join and Set: whether rows are there after a restart; they always are.";
max_suspicious_broken_parts     UInt64, "100", NoEffect, "Broken parts a table may have when it is opened.";
}
