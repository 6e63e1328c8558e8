//! Options of the formats: delimiters, NULLs, dates, limits.
//!
//! Invariant: plain data with ClickHouse's defaults; every field is named by one session setting and read by
//! [`FormatSettings::from_lookup`]. Must not know: sessions.

mod text_rules;

use std::time::Duration;

pub use model::calendar::date_text::DateTimeInput;
use model::table_def::column_names::{HeaderReading, NameMatching};
pub use model::value::print::DateTimeOutput;
use scan::number;
pub use text_rules::{
    CustomText, DelimitedReading, EscapingRule, Guessing, InferNullable, JsonReading, LinePattern, SqlInsert,
    Writing,
};

/// Options shared by readers, writers and inference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormatSettings {
    /// Zone of DateTime columns that name none.
    pub time_zone: String,
    pub date_time_input: DateTimeInput,
    pub date_time_output: DateTimeOutput,
    pub header: HeaderReading,
    /// NULL for a column that is not Nullable becomes its default instead of an error.
    pub null_as_default: bool,
    /// Whether a cell of which the data say nothing asks for its column's default, or is its type's zero.
    pub defaults_for_omitted_fields: bool,
    pub skip_unknown_fields: bool,
    /// Bad rows a reader may skip.
    pub allow_errors_num: u64,
    /// Share of bad rows that may be skipped, in billionths.
    pub allow_errors_ratio_billionths: u64,
    /// Bytes of one row at most; 0 for as many as there are.
    pub row_bytes_max: usize,
    /// Rows per batch a reader makes at most.
    pub block_rows_max: usize,
    pub csv_delimiter: u8,
    pub csv_null: String,
    pub csv_single_quotes: bool,
    pub csv_double_quotes: bool,
    pub csv_detect_header: bool,
    pub csv_empty_as_default: bool,
    pub csv_trim_whitespace: bool,
    pub csv_skip_first_lines: usize,
    pub csv_allow_variable_columns: bool,
    pub csv_crlf: bool,
    /// A CR alone ends a row of CSV input.
    pub csv_cr_ends_row: bool,
    pub delimited: DelimitedReading,
    pub writing: Writing,
    pub sql_insert: SqlInsert,
    pub custom: CustomText,
    pub json: JsonReading,
    pub guessing: Guessing,
    pub tsv_null: String,
    pub tsv_detect_header: bool,
    pub tsv_empty_as_default: bool,
    pub tsv_skip_first_lines: usize,
    pub tsv_allow_variable_columns: bool,
    /// Accept CR LF line ends in TabSeparated input.
    pub tsv_input_crlf: bool,
    pub tsv_output_crlf: bool,
    pub json_quote_64bit_integers: bool,
    pub json_quote_64bit_floats: bool,
    pub json_quote_denormals: bool,
    pub json_quote_decimals: bool,
    pub json_escape_forward_slashes: bool,
    pub json_named_tuples_as_objects: bool,
    /// JSON documents end with what the statement read.
    pub write_statistics: bool,
    /// Time between two lines of progress in the formats that tell it.
    pub progress_every: Duration,
    pub bool_true: String,
    pub bool_false: String,
    pub infer_rows_max: usize,
    pub infer_bytes_max: usize,
    pub infer_integers: bool,
    pub infer_dates: bool,
    pub infer_datetimes: bool,
    pub pretty_rows_max: usize,
    /// Columns cut a longer value, in columns of the terminal; not applied to a single value.
    pub pretty_value_width_max: usize,
    pub pretty_pad_width_max: usize,
    /// `None`: whoever writes to a person's terminal decides.
    pub pretty_color: Option<bool>,
    pub pretty_row_numbers: bool,
    pub pretty_ascii: bool,
    pub pretty_fallback_to_vertical: bool,
    /// Rows from which the column names are repeated below the table.
    pub pretty_footer_rows_min: usize,
    /// A single number above this gets a readable note; 0 switches it off.
    pub pretty_single_number_tip: u64,
    pub parquet: ParquetOutput,
    /// Longest text of a binary format.
    pub binary_text_bytes_max: u64,
    /// Most items of an array of a binary format.
    pub binary_array_items_max: u64,
    /// Columns of Arrow input are found in any case.
    pub arrow_names_any_case: bool,
    pub arrow_allow_missing_columns: bool,
    pub arrow_string_as_string: bool,
    pub arrow_fixed_string_as_bytes: bool,
    /// none, lz4_frame or zstd.
    pub arrow_compression: String,
    /// Revision of ClickHouse's protocol that Native is written in; the reader's choice, not a session's.
    pub native_revision: u64,
}

/// How Parquet files are written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParquetOutput {
    pub row_group_rows: usize,
    pub row_group_bytes: usize,
    /// none, snappy, lz4, lz4_raw, zstd, gzip or brotli.
    pub compression: String,
    pub string_as_string: bool,
    pub bloom_filters: bool,
    pub data_page_bytes: usize,
    pub page_index: bool,
}

impl Default for ParquetOutput {
    fn default() -> Self {
        Self {
            row_group_rows: 1_000_000,
            row_group_bytes: 512 << 20,
            compression: "zstd".to_owned(),
            string_as_string: true,
            bloom_filters: false,
            data_page_bytes: 1 << 20,
            page_index: true,
        }
    }
}

impl Default for FormatSettings {
    fn default() -> Self {
        Self {
            time_zone: "UTC".to_owned(),
            date_time_input: DateTimeInput::BestEffort,
            date_time_output: DateTimeOutput::Simple,
            header: HeaderReading::default(),
            null_as_default: true,
            defaults_for_omitted_fields: true,
            skip_unknown_fields: true,
            allow_errors_num: 0,
            allow_errors_ratio_billionths: 0,
            row_bytes_max: 256 << 20,
            block_rows_max: 65_409, // ClickHouse's max_block_size: 65536 minus room for padding
            csv_delimiter: b',',
            csv_null: "\\N".to_owned(),
            csv_single_quotes: false,
            csv_double_quotes: true,
            csv_detect_header: true,
            csv_empty_as_default: true,
            csv_trim_whitespace: true,
            csv_skip_first_lines: 0,
            csv_allow_variable_columns: false,
            csv_crlf: false,
            csv_cr_ends_row: false,
            delimited: DelimitedReading::default(),
            writing: Writing::default(),
            sql_insert: SqlInsert::default(),
            custom: CustomText::default(),
            json: JsonReading::default(),
            guessing: Guessing::default(),
            tsv_null: "\\N".to_owned(),
            tsv_detect_header: true,
            tsv_empty_as_default: false,
            tsv_skip_first_lines: 0,
            tsv_allow_variable_columns: false,
            tsv_input_crlf: false,
            tsv_output_crlf: false,
            json_quote_64bit_integers: false,
            json_quote_64bit_floats: false,
            json_quote_denormals: false,
            json_quote_decimals: false,
            json_escape_forward_slashes: true,
            json_named_tuples_as_objects: true,
            write_statistics: true,
            progress_every: Duration::from_millis(100),
            bool_true: "true".to_owned(),
            bool_false: "false".to_owned(),
            infer_rows_max: 25_000,
            infer_bytes_max: 32 << 20,
            infer_integers: true,
            infer_dates: true,
            infer_datetimes: true,
            pretty_rows_max: 1000,
            pretty_value_width_max: 10_000,
            pretty_pad_width_max: 250,
            pretty_color: None,
            pretty_row_numbers: true,
            pretty_ascii: false,
            pretty_fallback_to_vertical: true,
            pretty_footer_rows_min: 50,
            pretty_single_number_tip: 1_000_000,
            parquet: ParquetOutput::default(),
            binary_text_bytes_max: 1 << 30,
            binary_array_items_max: 1 << 30,
            arrow_names_any_case: false,
            arrow_allow_missing_columns: true,
            arrow_string_as_string: true,
            arrow_fixed_string_as_bytes: true,
            arrow_compression: "lz4_frame".to_owned(),
            native_revision: 0,
        }
    }
}

/// Reads one option out of a lookup; keeps the default when it is absent or unreadable.
struct Lookup<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Lookup<'_> {
    fn flag(&self, name: &str, into: &mut bool) {
        if let Some(text) = (self.0)(name) {
            match text.trim().to_ascii_lowercase().as_str() {
                "0" | "false" => *into = false,
                "" => {}
                _ => *into = true,
            }
        }
    }

    fn number<N: std::str::FromStr>(&self, name: &str, into: &mut N) {
        if let Some(number) = (self.0)(name).and_then(|text| text.trim().parse().ok()) {
            *into = number;
        }
    }

    /// A share between 0 and 1.
    fn billionths(&self, name: &str, into: &mut u64) {
        let Some(text) = (self.0)(name) else { return };
        if let Ok(share) = number::decimal128(text.trim().as_bytes(), 38, 9) {
            *into = u64::try_from(share).unwrap_or(0);
        }
    }

    fn text(&self, name: &str, into: &mut String) {
        if let Some(text) = (self.0)(name) {
            *into = text;
        }
    }
}

impl FormatSettings {
    /// Whether colours are wanted; without a wish there are none.
    pub fn has_color(&self) -> bool {
        self.pretty_color.unwrap_or(false)
    }

    /// Takes every option from `lookup`, which answers a session setting's name with its value as text.
    pub fn from_lookup(lookup: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut settings = Self::default();
        let lookup = Lookup(lookup);
        lookup.text("session_timezone", &mut settings.time_zone);
        if settings.time_zone.is_empty() {
            settings.time_zone = Self::default().time_zone;
        }
        if let Some(mode) = (lookup.0)("date_time_input_format") {
            settings.date_time_input = match mode.to_ascii_lowercase().as_str() {
                "basic" => DateTimeInput::Basic,
                "best_effort_us" => DateTimeInput::BestEffortUs,
                _ => DateTimeInput::BestEffort,
            };
        }
        settings.date_time_output = match (lookup.0)("date_time_output_format").as_deref() {
            Some("iso") => DateTimeOutput::Iso,
            Some("unix_timestamp") => DateTimeOutput::UnixTimestamp,
            _ => DateTimeOutput::Simple,
        };
        settings.take_input(&lookup);
        settings.delimited.take(&lookup);
        settings.custom.take(&lookup);
        settings.json.take(&lookup);
        settings.guessing.take(&lookup);
        settings.take_output(&lookup);
        settings
    }

    fn take_input(&mut self, lookup: &Lookup<'_>) {
        lookup.flag("input_format_null_as_default", &mut self.null_as_default);
        lookup.flag("input_format_defaults_for_omitted_fields", &mut self.defaults_for_omitted_fields);
        lookup.flag("input_format_skip_unknown_fields", &mut self.skip_unknown_fields);
        if let Some(word) = (lookup.0)("input_format_column_name_matching_mode") {
            self.header.matching = NameMatching::of(&word);
        }
        lookup.flag("input_format_with_names_use_header", &mut self.header.use_names);
        lookup.flag("input_format_with_types_use_header", &mut self.header.check_types);
        lookup.number("format_binary_max_string_size", &mut self.binary_text_bytes_max);
        lookup.number("format_binary_max_array_size", &mut self.binary_array_items_max);
        lookup.flag("input_format_arrow_case_insensitive_column_matching", &mut self.arrow_names_any_case);
        lookup.flag("input_format_arrow_allow_missing_columns", &mut self.arrow_allow_missing_columns);
        lookup.number("input_format_allow_errors_num", &mut self.allow_errors_num);
        lookup.billionths("input_format_allow_errors_ratio", &mut self.allow_errors_ratio_billionths);
        lookup.number("input_format_max_row_bytes", &mut self.row_bytes_max);
        lookup.number("max_block_size", &mut self.block_rows_max);
        self.block_rows_max = self.block_rows_max.max(1);
        if let Some([delimiter, ..]) = (lookup.0)("format_csv_delimiter").as_ref().map(String::as_bytes) {
            self.csv_delimiter = *delimiter;
        }
        lookup.text("format_csv_null_representation", &mut self.csv_null);
        lookup.flag("format_csv_allow_single_quotes", &mut self.csv_single_quotes);
        lookup.flag("format_csv_allow_double_quotes", &mut self.csv_double_quotes);
        lookup.flag("input_format_csv_detect_header", &mut self.csv_detect_header);
        lookup.flag("input_format_csv_empty_as_default", &mut self.csv_empty_as_default);
        lookup.flag("input_format_csv_trim_whitespaces", &mut self.csv_trim_whitespace);
        lookup.number("input_format_csv_skip_first_lines", &mut self.csv_skip_first_lines);
        lookup
            .flag("input_format_csv_allow_variable_number_of_columns", &mut self.csv_allow_variable_columns);
        lookup.flag("input_format_csv_allow_cr_end_of_line", &mut self.csv_cr_ends_row);
        lookup.text("format_tsv_null_representation", &mut self.tsv_null);
        lookup.flag("input_format_tsv_detect_header", &mut self.tsv_detect_header);
        lookup.flag("input_format_tsv_empty_as_default", &mut self.tsv_empty_as_default);
        lookup.number("input_format_tsv_skip_first_lines", &mut self.tsv_skip_first_lines);
        lookup
            .flag("input_format_tsv_allow_variable_number_of_columns", &mut self.tsv_allow_variable_columns);
        lookup.flag("input_format_tsv_crlf_end_of_line", &mut self.tsv_input_crlf);
        lookup.number("input_format_max_rows_to_read_for_schema_inference", &mut self.infer_rows_max);
        lookup.number("input_format_max_bytes_to_read_for_schema_inference", &mut self.infer_bytes_max);
        lookup.flag("input_format_try_infer_integers", &mut self.infer_integers);
        lookup.flag("input_format_try_infer_dates", &mut self.infer_dates);
        lookup.flag("input_format_try_infer_datetimes", &mut self.infer_datetimes);
    }

    fn take_output(&mut self, lookup: &Lookup<'_>) {
        lookup.flag("output_format_csv_crlf_end_of_line", &mut self.csv_crlf);
        lookup.flag("output_format_tsv_crlf_end_of_line", &mut self.tsv_output_crlf);
        lookup.flag("output_format_json_quote_64bit_integers", &mut self.json_quote_64bit_integers);
        lookup.flag("output_format_json_quote_64bit_floats", &mut self.json_quote_64bit_floats);
        lookup.flag("output_format_json_quote_denormals", &mut self.json_quote_denormals);
        lookup.flag("output_format_json_quote_decimals", &mut self.json_quote_decimals);
        lookup.flag("output_format_json_escape_forward_slashes", &mut self.json_escape_forward_slashes);
        lookup.flag("output_format_json_named_tuples_as_objects", &mut self.json_named_tuples_as_objects);
        lookup.flag("output_format_write_statistics", &mut self.write_statistics);
        self.writing.take(lookup);
        self.sql_insert.take(lookup);
        if let Some(micros) = (lookup.0)("interactive_delay").and_then(|text| text.trim().parse().ok()) {
            self.progress_every = Duration::from_micros(micros);
        }
        lookup.text("bool_true_representation", &mut self.bool_true);
        lookup.text("bool_false_representation", &mut self.bool_false);
        lookup.number("output_format_pretty_max_rows", &mut self.pretty_rows_max);
        lookup.number("output_format_pretty_max_value_width", &mut self.pretty_value_width_max);
        lookup.number("output_format_pretty_max_column_pad_width", &mut self.pretty_pad_width_max);
        if let Some(color) = (lookup.0)("output_format_pretty_color").filter(|color| color != "auto") {
            self.pretty_color = Some(!matches!(color.as_str(), "0" | "false"));
        }
        lookup.flag("output_format_pretty_row_numbers", &mut self.pretty_row_numbers);
        if let Some(charset) = (lookup.0)("output_format_pretty_grid_charset") {
            self.pretty_ascii = charset.eq_ignore_ascii_case("ASCII");
        }
        lookup.flag("output_format_pretty_fallback_to_vertical", &mut self.pretty_fallback_to_vertical);
        lookup.number(
            "output_format_pretty_display_footer_column_names_min_rows",
            &mut self.pretty_footer_rows_min,
        );
        let mut footer = true;
        lookup.flag("output_format_pretty_display_footer_column_names", &mut footer);
        if !footer {
            self.pretty_footer_rows_min = usize::MAX;
        }
        lookup.number(
            "output_format_pretty_single_large_number_tip_threshold",
            &mut self.pretty_single_number_tip,
        );
        lookup.number("output_format_parquet_row_group_size", &mut self.parquet.row_group_rows);
        self.take_binary_output(lookup);
    }

    fn take_binary_output(&mut self, lookup: &Lookup<'_>) {
        lookup.number("output_format_parquet_row_group_size_bytes", &mut self.parquet.row_group_bytes);
        lookup.text("output_format_parquet_compression_method", &mut self.parquet.compression);
        lookup.flag("output_format_parquet_string_as_string", &mut self.parquet.string_as_string);
        lookup.flag("output_format_parquet_write_bloom_filter", &mut self.parquet.bloom_filters);
        lookup.number("output_format_parquet_data_page_size", &mut self.parquet.data_page_bytes);
        lookup.flag("output_format_parquet_write_page_index", &mut self.parquet.page_index);
        lookup.flag("output_format_arrow_string_as_string", &mut self.arrow_string_as_string);
        lookup.flag(
            "output_format_arrow_fixed_string_as_fixed_byte_array",
            &mut self.arrow_fixed_string_as_bytes,
        );
        lookup.text("output_format_arrow_compression_method", &mut self.arrow_compression);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_settings_reach_their_fields() {
        let given = |name: &str| match name {
            "format_csv_delimiter" => Some(";".to_owned()),
            "input_format_null_as_default" => Some("0".to_owned()),
            "date_time_input_format" => Some("basic".to_owned()),
            "output_format_pretty_max_rows" => Some("7".to_owned()),
            _ => None,
        };
        let expected = FormatSettings {
            csv_delimiter: b';',
            null_as_default: false,
            date_time_input: DateTimeInput::Basic,
            pretty_rows_max: 7,
            ..FormatSettings::default()
        };
        assert_eq!(FormatSettings::from_lookup(&given), expected);
    }
}
