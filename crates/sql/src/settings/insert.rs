//! Settings of inserts and loads.

use super::SettingKind::{Bool, Bytes, Choice, Float, Milliseconds, Text, Threads, UInt64};

super::settings! { INSERT:
max_insert_threads              Threads, "0", Obeyed, "Sinks of an INSERT SELECT; 0 lets the plan decide.";
min_insert_block_size_rows      UInt64, "1048449", Obeyed, "Rows from which a block becomes a part; 0 means any.";
min_insert_block_size_bytes     Bytes, "268402944", Obeyed, "Bytes from which a block becomes a part; 0 means any.";
max_insert_block_size           UInt64, "1048449", NoEffect, "Rows of a block of a text format; min_insert_block_size_rows cuts parts.";
max_insert_block_size_rows      UInt64, "1048449", NoEffect, "Rows of a block of a text format; min_insert_block_size_rows cuts parts.";
max_insert_block_size_bytes     Bytes, "0", NoEffect, "Bytes of a block of a text format; 0 means any.";
use_strict_insert_block_limits  Bool, "0", NoEffect, "Whether both minimums must be met.";
min_insert_block_size_rows_for_materialized_views UInt64, "0", NoEffect, "Rows of blocks of materialized views.";
min_insert_block_size_bytes_for_materialized_views Bytes, "0", NoEffect, "Bytes of blocks of materialized views.";
max_partitions_per_insert_block UInt64, "100", Obeyed, "Partitions one block may touch; 0 means any number.";
throw_on_max_partitions_per_insert_block Bool, "1", Obeyed, "Whether too many partitions are an error.";
optimize_on_insert              Bool, "1", Obeyed, "Whether rows of one insert that the table's engine merges are merged at once.";
async_insert                    Bool, "1", NoEffect, "Whether small inserts are grouped. Group commit: every INSERT is durable and visible when answered.";
wait_for_async_insert           Bool, "1", NoEffect, "Whether a grouped INSERT waits until it is durable; group commit always waits.";
wait_for_async_insert_timeout   UInt64, "120", NoEffect, "Seconds a grouped INSERT waits; group commit writes at once, max_execution_time limits a statement.";
async_insert_max_data_size      Bytes, "10485760", NoEffect, "Bytes from which a group is written; group commit writes what has come while it wrote before.";
async_insert_max_query_number   UInt64, "450", NoEffect, "Inserts from which a group is written; group commit writes what has come while it wrote before.";
async_insert_busy_timeout_ms    Milliseconds, "200", NoEffect, "Time after which a group is written; group commit does not wait for company.";
async_insert_busy_timeout_max_ms Milliseconds, "200", NoEffect, "Time after which a group is written; group commit does not wait for company.";
async_insert_busy_timeout_min_ms Milliseconds, "50", NoEffect, "Time after which a group is written; group commit does not wait for company.";
async_insert_use_adaptive_busy_timeout Bool, "1", NoEffect, "Whether that time follows the load; group commit does not wait for company.";
async_insert_busy_timeout_increase_rate Float, "0.2", NoEffect, "How fast that time grows; group commit does not wait for company.";
async_insert_busy_timeout_decrease_rate Float, "0.2", NoEffect, "How fast that time falls; group commit does not wait for company.";
async_insert_poll_timeout_ms    Milliseconds, "10", NoEffect, "How often groups are looked at; group commit is woken instead.";
async_insert_deduplicate        Bool, "0", NoEffect, "Whether grouped inserts are deduplicated; deduplicate_insert and insert_deduplicate decide for every INSERT.";
insert_label                    Text, "", Obeyed, "Label of an INSERT, as WITH LABEL gives it: the same statement under the same label is written once.";
insert_deduplicate              Bool, "1", Obeyed, "Whether an INSERT is compared with those before it; deduplicate_insert wins when it is given.";
deduplicate_insert              Choice(&["enable", "disable", "backward_compatible_choice"]), "enable", Obeyed, "Whether an INSERT is compared with those before it; when given, insert_deduplicate is not looked at.";
deduplicate_insert_select       Choice(&["enable_when_possible", "force_enable", "enable_even_for_bad_queries", "disable"]), "enable_when_possible", Obeyed, "Whether that holds for INSERT SELECT; rows are compared in any order, so it is always possible.";
insert_deduplication_token      Text, "", Obeyed, "Name by which an INSERT into its table is written once; other data under the same name are an error.";
deduplicate_blocks_in_dependent_materialized_views Bool, "1", NoEffect, "Whether views deduplicate.";
insert_quorum                   Text, "0", NoEffect, "Replicas that must have a part.";
insert_null_as_default          Bool, "1", Obeyed, "Whether NULL of INSERT SELECT into a column without NULL is its default.";
insert_distributed_sync         Bool, "0", NoEffect, "Whether inserts into distributed tables wait.";
distributed_foreground_insert   Bool, "0", NoEffect, "Whether inserts into distributed tables wait.";
parallel_distributed_insert_select UInt64, "2", NoEffect, "How INSERT SELECT is spread over nodes.";
parallel_view_processing        Bool, "0", NoEffect, "Whether views are fed in parallel.";
materialized_views_ignore_errors Bool, "0", NoEffect, "Whether a failing view fails the insert.";
min_chunk_bytes_for_parallel_parsing Bytes, "10485760", Obeyed, "Bytes of a piece of text for one parser, from 64 KiB to 16 MiB; 4 MiB of a file and 1 MiB of a body unless it is set.";
max_insert_delayed_streams_for_parallel_write UInt64, "0", Obeyed, "Objects of one INSERT whose last parts are sent at one time; 0 means 100.";
fsync_metadata                  Bool, "1", NoEffect, "Whether metadata is synced; every commit is.";
load_stage_min_bytes            Bytes, "67108864", Obeyed, "Stored bytes of whole units from which a sink of a labelled load makes them resumable; 0 after every unit.";
adopt                           Bool, "1", Obeyed, "Whether column chunks of Parquet files may be copied into parts.";
optimize_throw_if_noop          Bool, "0", Obeyed, "Whether OPTIMIZE fails when there is nothing to merge.";
optimize_skip_merged_partitions Bool, "0", NoEffect, "Whether OPTIMIZE FINAL skips partitions of one part.";
alter_sync                      UInt64, "1", NoEffect, "Whose replicas ALTER waits for.";
mutations_sync                  UInt64, "1", NoEffect, "Whose replicas mutations wait for.";
lightweight_deletes_sync        UInt64, "2", NoEffect, "Whose replicas DELETE waits for.";
database_atomic_wait_for_drop_and_detach_synchronously Bool, "0", NoEffect, "Whether DROP waits; it always does.";
data_type_default_nullable      Bool, "0", Refused, "Whether columns without NULL or NOT NULL are nullable.";
allow_suspicious_low_cardinality_types Bool, "0", NoEffect, "Whether LowCardinality may hold numbers.";
allow_nullable_key              Bool, "1", NoEffect, "Whether keys may be nullable; they always may.";
default_table_engine            Choice(&["MergeTree", "Memory", "None"]), "MergeTree", Obeyed, "Engine of CREATE TABLE without ENGINE.";
}
