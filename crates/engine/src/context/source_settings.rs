//! Session settings as `sources` and `formats` take them.
//!
//! Invariant: every setting that reading obeys is handed over here and nowhere else.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use boundary::outfile::effort;
use formats::FormatSettings;
use model::saturating::usize_of;
use sources::export::{ExportSettings, PartSizes};
use sql::Settings;
use stores::{
    AzureRules, InferenceMode, InferenceSettings, Nullability, Rate, ReadMethod, SourceSettings, WebPolicy,
};

use crate::context::execution::Execution;
use crate::context::services::Services;

/// What formats obey while nobody has changed it, and the settings that would change it.
struct Unchanged {
    names: BTreeSet<&'static str>,
    formats: Arc<FormatSettings>,
}

static UNCHANGED: LazyLock<Unchanged> = LazyLock::new(|| {
    let (settings, names) = (Settings::session(), RefCell::new(BTreeSet::new()));
    let formats = FormatSettings::from_lookup(&|name| {
        names.borrow_mut().extend(sql::session_settings().get(name).map(|def| def.name));
        known(&settings, name)
    });
    Unchanged { names: names.into_inner(), formats: Arc::new(formats) }
});

/// What formats obey; the same for all statements that change none of it.
pub(crate) fn format_settings(settings: &Settings) -> Arc<FormatSettings> {
    if settings.changed().all(|(name, _)| !UNCHANGED.names.contains(name)) {
        return unchanged_format_settings();
    }
    Arc::new(FormatSettings::from_lookup(&|name| known(settings, name)))
}

/// What formats obey by default.
pub(crate) fn unchanged_format_settings() -> Arc<FormatSettings> {
    Arc::clone(&UNCHANGED.formats)
}

/// Settings of formats that a session has; a format may know names that no session offers yet.
fn known(settings: &Settings, name: &str) -> Option<String> {
    sql::session_settings().get(name).map(|def| settings.get_text(def.name))
}

/// What sources obey.
pub(crate) fn source_settings(services: &Services, execution: &Execution) -> SourceSettings {
    let settings = &execution.settings;
    let number = |name: &str| usize_of(settings.get_u64(name));
    let given =
        |name: &str, otherwise: usize| if settings.is_changed(name) { number(name) } else { otherwise };
    let defaults = SourceSettings::default();
    let mode = settings.get_text("schema_inference_mode");
    let inference_mode = match (settings.is_changed("schema_inference_mode"), mode.as_str()) {
        (true, "union") => InferenceMode::Union,
        (true, "default") => InferenceMode::First,
        _ => InferenceMode::SampledUnion,
    };
    let read_method = match settings.get_text("remote_filesystem_read_method").as_str() {
        "read" => ReadMethod::Read,
        _ => ReadMethod::Threadpool,
    };
    SourceSettings {
        max_threads: services.threads_of(&execution.settings),
        max_download_threads: number("max_download_threads").max(1),
        max_download_buffer_size: settings.get_u64("max_download_buffer_size").max(1),
        read_method,
        prefetch: settings.get_bool("remote_filesystem_read_prefetch"),
        parallel_parsing: settings.get_bool("input_format_parallel_parsing"),
        max_parsing_threads: number("max_parsing_threads"),
        parsing_chunk_bytes: match settings.is_changed("min_chunk_bytes_for_parallel_parsing") {
            true => settings.get_u64("min_chunk_bytes_for_parallel_parsing"),
            false => defaults.parsing_chunk_bytes,
        },
        zstd_window_log_max: zstd_window_log_max(settings),
        max_block_size: given("max_block_size", 8192).max(1),
        list_page_keys: number("s3_list_object_keys_size").clamp(1, 1000),
        retry_attempts: number("s3_retry_attempts"),
        body_retries: number("s3_max_single_read_retries"),
        slow_all_after_refusal: settings.get_bool("s3_slow_all_threads_after_retryable_error"),
        max_connections: number("s3_max_connections").max(1),
        get_rate: Rate {
            per_second: settings.get_u64("s3_max_get_rps"),
            burst: settings.get_u64("s3_max_get_burst"),
        },
        put_rate: Rate {
            per_second: settings.get_u64("s3_max_put_rps"),
            burst: settings.get_u64("s3_max_put_burst"),
        },
        connect_timeout: Duration::from_millis(settings.get_u64("s3_connect_timeout_ms").max(1)),
        request_timeout: Duration::from_millis(settings.get_u64("s3_request_timeout_ms").max(1)),
        redirects_max: number("s3_max_redirects"),
        presigned_query_in_key: settings.get_bool("compatibility_s3_presigned_url_query_in_path"),
        glob_expansion_max: settings.get_u64("glob_expansion_max_elements"),
        skip_missing_pages: settings.get_bool("http_skip_not_found_url_for_globs"),
        skip_empty_pages: settings.get_bool("engine_url_skip_empty_files"),
        web: web_policy(settings),
        azure: azure_rules(settings),
        validate_etag: settings.get_bool("s3_validate_etag_on_read"),
        ignore_missing: settings.get_bool("s3_ignore_file_doesnt_exist"),
        throw_on_zero_files: settings.get_bool("s3_throw_on_zero_files_match"),
        skip_empty_files: settings.get_bool("s3_skip_empty_files"),
        inference_mode,
        use_schema_cache: settings.get_bool("schema_inference_use_cache_for_s3"),
        use_schema_cache_for_files: settings.get_bool("schema_inference_use_cache_for_file"),
        parquet_any_case: settings.get_bool("input_format_parquet_case_insensitive_column_matching"),
        parquet_missing_columns: settings.get_bool("input_format_parquet_allow_missing_columns"),
        parquet_skip_row_groups: settings.get_bool("input_format_parquet_filter_push_down"),
        parquet_bloom_filters: settings.get_bool("input_format_parquet_bloom_filter_push_down"),
        inference_bytes_max: settings.get_u64("input_format_max_bytes_to_read_for_schema_inference"),
        inference: inference_settings(settings),
        hive_partitioning: settings.get_bool("use_hive_partitioning"),
        path_filter_limit: number("s3_path_filter_limit"),
        format: FormatSettings::clone(&format_settings(settings)),
        rejects: Arc::clone(&execution.progress.rejects),
        ..defaults
    }
}

/// The largest window of zstd files. What is no window at all is refused by whoever opens one.
fn zstd_window_log_max(settings: &Settings) -> u32 {
    match settings.get_text("zstd_window_log_max").as_str() {
        "0" => stores::codecs::compression::ZSTD_WINDOW_LOG_MAX,
        given => given.parse().unwrap_or(u32::MAX),
    }
}

/// As long as never: a day.
const NO_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// What `url()` obeys.
fn web_policy(settings: &Settings) -> WebPolicy {
    let defaults = WebPolicy::default();
    let number = |name: &str| usize_of(settings.get_u64(name));
    let redirects = "max_http_get_redirects";
    // A time of 0 is none, as in ClickHouse.
    let seconds = |name: &str, none: Duration| match settings.get_f64(name) {
        given if given > 0.0 => Duration::try_from_secs_f64(given).unwrap_or(none),
        _ => none,
    };
    WebPolicy {
        tries: number("http_max_tries").max(1),
        connect_timeout: seconds("http_connection_timeout", NO_TIMEOUT),
        receive_timeout: seconds("http_receive_timeout", NO_TIMEOUT),
        backoff_min: Duration::from_millis(settings.get_u64("http_retry_initial_backoff_ms").max(1)),
        backoff_max: Duration::from_millis(settings.get_u64("http_retry_max_backoff_ms").max(1)),
        redirects_max: if settings.is_changed(redirects) {
            number(redirects)
        } else {
            defaults.redirects_max
        },
    }
}

/// What listings and requests of `azureBlobStorage()` obey.
fn azure_rules(settings: &Settings) -> AzureRules {
    let number = |name: &str| usize_of(settings.get_u64(name));
    let time = |name: &str| Duration::from_millis(settings.get_u64(name).max(1));
    let rate = |per_second: &str, burst: &str| Rate {
        per_second: settings.get_u64(per_second),
        burst: settings.get_u64(burst),
    };
    let retries = "azure_sdk_max_retries";
    AzureRules {
        retry_attempts: settings.is_changed(retries).then(|| number(retries)),
        body_retries: number("azure_max_single_read_retries"),
        connect_timeout: time("azure_connect_timeout_ms"),
        request_timeout: time("azure_request_timeout_ms"),
        redirects_max: number("azure_max_redirects"),
        get_rate: rate("azure_max_get_rps", "azure_max_get_burst"),
        put_rate: rate("azure_max_put_rps", "azure_max_put_burst"),
        list_page_keys: number("azure_list_object_keys_size"),
        ignore_missing: settings.get_bool("azure_ignore_file_doesnt_exist"),
        throw_on_zero_files: settings.get_bool("azure_throw_on_zero_files_match"),
        skip_empty_files: settings.get_bool("azure_skip_empty_files"),
    }
}

/// What writing objects obeys.
pub(crate) fn export_settings(settings: &Settings) -> ExportSettings {
    let number = |name: &str| usize_of(settings.get_u64(name));
    let defaults = ExportSettings::default();
    let delayed_objects_max = match number("max_insert_delayed_streams_for_parallel_write") {
        0 => defaults.delayed_objects_max,
        given => given,
    };
    let partitions_max = match settings.get_bool("throw_on_max_partitions_per_insert_block") {
        true => settings.get_u64("max_partitions_per_insert_block"),
        false => 0,
    };
    ExportSettings {
        truncate: settings.get_bool("s3_truncate_on_insert"),
        create_new: settings.get_bool("s3_create_new_file_on_insert"),
        azure_truncate: settings.get_bool("azure_truncate_on_insert"),
        azure_create_new: settings.get_bool("azure_create_new_file_on_insert"),
        file_truncate: settings.get_bool("engine_file_truncate_on_insert"),
        file_create_new: settings.get_bool("engine_file_allow_create_multiple_files"),
        part_sizes: part_sizes(settings, S3_PART_SIZES),
        inflight_parts_max: inflight_parts(
            settings.get_bool("s3_allow_parallel_part_upload"),
            settings.get_u64("s3_max_inflight_parts_for_one_file"),
        ),
        azure_part_sizes: part_sizes(settings, AZURE_PART_SIZES),
        azure_inflight_parts_max: inflight_parts(
            settings.get_bool("azure_allow_parallel_part_upload"),
            settings.get_u64("azure_max_inflight_parts_for_one_file"),
        ),
        delayed_objects_max,
        partitions_max,
        effort: effort(settings),
    }
}

/// How large the parts of an upload are, by the settings of one kind of store.
fn part_sizes(settings: &Settings, names: [&str; 6]) -> PartSizes {
    let [single_bytes_max, part_bytes_min, part_bytes_max, multiply_factor, multiply_parts, strict] =
        names.map(|name| settings.get_u64(name));
    match strict {
        0 => PartSizes { single_bytes_max, part_bytes_min, part_bytes_max, multiply_factor, multiply_parts },
        bytes => PartSizes {
            single_bytes_max,
            part_bytes_min: bytes,
            part_bytes_max: bytes,
            multiply_factor: 1,
            multiply_parts,
        },
    }
}

const S3_PART_SIZES: [&str; 6] = [
    "s3_max_single_part_upload_size",
    "s3_min_upload_part_size",
    "s3_max_upload_part_size",
    "s3_upload_part_size_multiply_factor",
    "s3_upload_part_size_multiply_parts_count_threshold",
    "s3_strict_upload_part_size",
];

const AZURE_PART_SIZES: [&str; 6] = [
    "azure_max_single_part_upload_size",
    "azure_min_upload_part_size",
    "azure_max_upload_part_size",
    "azure_upload_part_size_multiply_factor",
    "azure_upload_part_size_multiply_parts_count_threshold",
    "azure_strict_upload_part_size",
];

/// Parts of one object on their way together.
fn inflight_parts(are_parallel: bool, parts: u64) -> usize {
    match parts {
        _ if !are_parallel => 1,
        0 => usize::MAX,
        parts => usize_of(parts),
    }
}

/// How columns are inferred.
pub(crate) fn inference_settings(settings: &Settings) -> InferenceSettings {
    let nullable = match settings.get_text("schema_inference_make_columns_nullable").as_str() {
        "0" | "false" => Nullability::Never,
        "1" | "true" => Nullability::Always,
        "2" | "auto" => Nullability::Seen,
        _ => Nullability::Declared,
    };
    let names = settings.get_text("column_names_for_schema_inference");
    let column_names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
    InferenceSettings {
        nullable,
        column_names: column_names.map(str::to_owned).collect(),
        hints: settings.get_text("schema_inference_hints"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_change_no_format_share_its_settings() {
        let shared = unchanged_format_settings();
        let mut settings = Settings::session();
        assert!(Arc::ptr_eq(&format_settings(&settings), &shared));
        settings.set("max_threads", "3").unwrap();
        assert!(Arc::ptr_eq(&format_settings(&settings), &shared));
        let lookup = |name: &str| known(&settings, name);
        assert_eq!(*shared, FormatSettings::from_lookup(&lookup));
        settings.set("format_csv_delimiter", ";").unwrap();
        assert_eq!(format_settings(&settings).csv_delimiter, b';');
    }

    #[test]
    fn parts_and_objects_on_their_way_follow_their_settings() {
        for (given, parts, objects) in [
            (&[][..], 20, 100),
            (&[("s3_max_inflight_parts_for_one_file", "3")], 3, 100),
            (&[("s3_max_inflight_parts_for_one_file", "0")], usize::MAX, 100),
            (&[("s3_max_inflight_parts_for_one_file", "3"), ("s3_allow_parallel_part_upload", "0")], 1, 100),
            (&[("max_insert_delayed_streams_for_parallel_write", "7")], 20, 7),
            (&[("azure_max_inflight_parts_for_one_file", "3")], 20, 100),
        ] {
            let mut settings = Settings::session();
            for (name, value) in given {
                settings.set(name, value).unwrap();
            }
            let export = export_settings(&settings);
            assert_eq!(
                (export.inflight_parts_max, export.delayed_objects_max),
                (parts, objects),
                "{given:?}"
            );
        }
    }

    #[test]
    fn sizes_of_parts_follow_their_settings() {
        let mut settings = Settings::session();
        for (name, value) in [
            ("s3_strict_upload_part_size", "7000000"),
            ("azure_min_upload_part_size", "6000000"),
            ("azure_max_inflight_parts_for_one_file", "3"),
        ] {
            settings.set(name, value).unwrap();
        }
        let export = export_settings(&settings);
        let sizes = |sizes: PartSizes| (sizes.part_bytes_min, sizes.part_bytes_max, sizes.multiply_factor);
        assert_eq!(sizes(export.part_sizes), (7_000_000, 7_000_000, 1));
        assert_eq!(sizes(export.azure_part_sizes), (6_000_000, 5 << 30, 2));
        assert_eq!((export.inflight_parts_max, export.azure_inflight_parts_max), (20, 3));
    }
}
