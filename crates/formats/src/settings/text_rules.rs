//! Options of the text formats that few statements change: CustomSeparated, what JSON values may stand for, inference.
//!
//! Invariant: plain data with ClickHouse's defaults, each field named by one session setting. Must not know: sessions.

use model::{ColumnType, ErrorCode};

use super::Lookup;
use crate::error::FormatError;

/// How a field of CustomSeparated or Regexp is escaped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EscapingRule {
    Escaped,
    Quoted,
    Csv,
    Json,
    #[default]
    Raw,
    /// Of XML; fields are written so and not read.
    Xml,
}

/// Which inferred columns of a format without metadata become Nullable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InferNullable {
    Never,
    Always,
    /// Those with a NULL in the sample.
    Seen,
}

impl InferNullable {
    /// `schema_inference_make_columns_nullable`, of which 3 goes by metadata where there is some.
    pub(super) fn of(mode: &str) -> InferNullable {
        match mode.trim().to_ascii_lowercase().as_str() {
            "0" | "false" => InferNullable::Never,
            "2" | "auto" => InferNullable::Seen,
            _ => InferNullable::Always,
        }
    }
}

/// What stands around the fields of CustomSeparated, or parts those of Regexp.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CustomText {
    pub rule: EscapingRule,
    pub field_delimiter: String,
    pub row_before: String,
    pub row_after: String,
    pub row_between: String,
    pub result_before: String,
    pub result_after: String,
    pub detect_header: bool,
    pub allow_variable_columns: bool,
    pub skip_trailing_empty_lines: bool,
    /// Of Regexp, whose fields are found by a pattern.
    pub pattern: LinePattern,
}

impl Default for CustomText {
    fn default() -> Self {
        Self {
            rule: EscapingRule::Escaped,
            field_delimiter: "\t".to_owned(),
            row_before: String::new(),
            row_after: "\n".to_owned(),
            row_between: String::new(),
            result_before: String::new(),
            result_after: String::new(),
            detect_header: true,
            allow_variable_columns: false,
            skip_trailing_empty_lines: false,
            pattern: LinePattern::default(),
        }
    }
}

impl EscapingRule {
    /// The rule that a setting names.
    fn take(&mut self, lookup: &Lookup<'_>, setting: &str) {
        *self = match (lookup.0)(setting).as_deref() {
            Some("Quoted") => EscapingRule::Quoted,
            Some("CSV") => EscapingRule::Csv,
            Some("JSON") => EscapingRule::Json,
            Some("Raw") => EscapingRule::Raw,
            Some("XML") => EscapingRule::Xml,
            Some("Escaped") => EscapingRule::Escaped,
            _ => return,
        };
    }

    /// Refuses a rule by which fields are written only.
    pub(crate) fn may_be_read(self) -> Result<(), FormatError> {
        match self {
            EscapingRule::Xml => {
                Err(FormatError::new(ErrorCode::BAD_ARGUMENTS, "no value is read with the escaping rule XML"))
            }
            _ => Ok(()),
        }
    }
}

/// How the lines of Regexp are taken apart.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LinePattern {
    pub pattern: String,
    pub rule: EscapingRule,
    /// Lines that are not of the pattern are passed over.
    pub skips_others: bool,
}

impl LinePattern {
    fn take(&mut self, lookup: &Lookup<'_>) {
        lookup.text("format_regexp", &mut self.pattern);
        self.rule.take(lookup, "format_regexp_escaping_rule");
        lookup.flag("format_regexp_skip_unmatched", &mut self.skips_others);
    }
}

impl CustomText {
    /// Whether texts end at the field's delimiter. Escaped ones end at a tab or line end only, as in ClickHouse.
    pub(crate) fn takes_text(&self, no_names: bool, types: &[ColumnType]) -> bool {
        // Without any delimiter there is another error.
        let ends = self.field_delimiter.is_empty() || self.field_delimiter.starts_with(['\t', '\n']);
        self.rule != EscapingRule::Escaped
            || ends
            || no_names && types.iter().all(|of| *of.value_type() != ColumnType::String)
    }

    pub(super) fn take(&mut self, lookup: &Lookup<'_>) {
        self.rule.take(lookup, "format_custom_escaping_rule");
        self.pattern.take(lookup);
        lookup.text("format_custom_field_delimiter", &mut self.field_delimiter);
        lookup.text("format_custom_row_before_delimiter", &mut self.row_before);
        lookup.text("format_custom_row_after_delimiter", &mut self.row_after);
        lookup.text("format_custom_row_between_delimiter", &mut self.row_between);
        lookup.text("format_custom_result_before_delimiter", &mut self.result_before);
        lookup.text("format_custom_result_after_delimiter", &mut self.result_after);
        lookup.flag("input_format_custom_detect_header", &mut self.detect_header);
        lookup.flag("input_format_custom_allow_variable_number_of_columns", &mut self.allow_variable_columns);
        lookup.flag("input_format_custom_skip_trailing_empty_lines", &mut self.skip_trailing_empty_lines);
    }
}

/// How CSV and TabSeparated are read, beyond what every table of text has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DelimitedReading {
    /// Enums are given by their numbers alone.
    pub csv_enum_as_number: bool,
    pub tsv_enum_as_number: bool,
    pub csv_skip_trailing_empty_lines: bool,
    pub tsv_skip_trailing_empty_lines: bool,
    /// A tuple of CSV stands in one field.
    pub csv_tuples_whole: bool,
    /// A list of CSV is CSV of its own.
    pub csv_lists_nested: bool,
    /// A field of CSV that cannot be read is its column's default.
    pub csv_bad_as_default: bool,
    /// Blanks around a field of CSV are a part of it.
    pub csv_keeps_blanks: bool,
}

impl DelimitedReading {
    pub(super) fn take(&mut self, lookup: &Lookup<'_>) {
        lookup.flag("input_format_csv_enum_as_number", &mut self.csv_enum_as_number);
        lookup.flag("input_format_tsv_enum_as_number", &mut self.tsv_enum_as_number);
        lookup.flag("input_format_csv_skip_trailing_empty_lines", &mut self.csv_skip_trailing_empty_lines);
        lookup.flag("input_format_tsv_skip_trailing_empty_lines", &mut self.tsv_skip_trailing_empty_lines);
        let mut apart = true;
        lookup.flag("input_format_csv_deserialize_separate_columns_into_tuple", &mut apart);
        lookup.flag("input_format_csv_arrays_as_nested_csv", &mut self.csv_lists_nested);
        lookup.flag("input_format_csv_use_default_on_bad_values", &mut self.csv_bad_as_default);
        lookup.flag("input_format_csv_allow_whitespace_or_tab_as_delimiter", &mut self.csv_keeps_blanks);
        // A field that may be anything is not looked for in several.
        self.csv_tuples_whole = !apart || self.csv_bad_as_default;
    }
}

/// How values are written, beyond what most statements ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Writing {
    /// The elements of a tuple are columns of CSV.
    pub csv_tuples_apart: bool,
    /// Nested values of the format JSON stand on lines of their own.
    pub json_indents: bool,
    /// Elements of named tuples that are NULL are left out of their objects.
    pub json_skips_nulls: bool,
    /// A map is a list of objects with `keys` and `values`.
    pub json_maps_as_lists: bool,
    /// FixedString is written without its zero bytes.
    pub trims_fixed: bool,
    /// A quote within quotes is doubled.
    pub doubles_quotes: bool,
    /// Decimals keep the zeros at their end.
    pub decimal_zeros: bool,
    /// Rows of JSONEachRow stand in a list.
    pub json_array_of_rows: bool,
    /// Punctuation of texts is escaped in Markdown.
    pub escapes_markdown: bool,
    /// Fractions of seconds lose their last zeros, three at once.
    pub cuts_fractions: bool,
    /// Digits of floats behind the point; 0 for as many as there are. Others are not written.
    pub float_digits: u64,
    /// Intervals are times; they are not written then.
    pub intervals_as_times: bool,
    /// A UUID in MsgPack is no extension; it is not written then.
    pub packs_uuids_otherwise: bool,
    /// Texts of BSON are texts, not bytes.
    pub bson_texts: bool,
}

impl Default for Writing {
    fn default() -> Self {
        Self {
            csv_tuples_apart: true,
            json_indents: true,
            json_skips_nulls: false,
            json_maps_as_lists: false,
            trims_fixed: false,
            doubles_quotes: false,
            decimal_zeros: false,
            json_array_of_rows: false,
            escapes_markdown: false,
            cuts_fractions: false,
            float_digits: 0,
            intervals_as_times: false,
            packs_uuids_otherwise: false,
            bson_texts: false,
        }
    }
}

impl Writing {
    pub(super) fn take(&mut self, lookup: &Lookup<'_>) {
        lookup.flag("output_format_csv_serialize_tuple_into_separate_columns", &mut self.csv_tuples_apart);
        lookup.flag("output_format_json_pretty_print", &mut self.json_indents);
        lookup.flag("output_format_json_skip_null_value_in_named_tuples", &mut self.json_skips_nulls);
        lookup.flag("output_format_json_map_as_array_of_tuples", &mut self.json_maps_as_lists);
        lookup.flag("output_format_trim_fixed_string", &mut self.trims_fixed);
        lookup.flag("output_format_values_escape_quote_with_quote", &mut self.doubles_quotes);
        lookup.flag("output_format_decimal_trailing_zeros", &mut self.decimal_zeros);
        lookup.flag("output_format_json_array_of_rows", &mut self.json_array_of_rows);
        lookup.flag("output_format_markdown_escape_special_characters", &mut self.escapes_markdown);
        lookup.flag(
            "date_time_64_output_format_cut_trailing_zeros_align_to_groups_of_thousands",
            &mut self.cuts_fractions,
        );
        lookup.number("output_format_float_precision", &mut self.float_digits);
        self.intervals_as_times = (lookup.0)("interval_output_format").as_deref() == Some("kusto");
        lookup.flag("output_format_bson_string_as_string", &mut self.bson_texts);
        let uuids = (lookup.0)("output_format_msgpack_uuid_representation");
        self.packs_uuids_otherwise = uuids.is_some_and(|word| word != "ext");
    }
}

/// The statements that SQLInsert writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SqlInsert {
    pub table: String,
    pub rows_max: u64,
    pub names_columns: bool,
    pub quotes_names: bool,
    /// REPLACE in the place of INSERT.
    pub replaces: bool,
}

impl Default for SqlInsert {
    fn default() -> Self {
        let (table, rows_max) = ("table".to_owned(), 65_409);
        Self { table, rows_max, names_columns: true, quotes_names: true, replaces: false }
    }
}

impl SqlInsert {
    pub(super) fn take(&mut self, lookup: &Lookup<'_>) {
        lookup.text("output_format_sql_insert_table_name", &mut self.table);
        lookup.number("output_format_sql_insert_max_batch_size", &mut self.rows_max);
        lookup.flag("output_format_sql_insert_include_column_names", &mut self.names_columns);
        lookup.flag("output_format_sql_insert_quote_names", &mut self.quotes_names);
        lookup.flag("output_format_sql_insert_use_replace", &mut self.replaces);
    }
}

/// What JSON values may stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JsonReading {
    pub numbers_as_strings: bool,
    pub bools_as_strings: bool,
    pub objects_as_strings: bool,
    pub arrays_as_strings: bool,
    pub bools_as_numbers: bool,
    /// A named tuple's missing element is its default.
    pub missing_elements_as_defaults: bool,
    pub ignore_unknown_elements: bool,
    /// `""` is the default of every type but texts.
    pub empty_as_default: bool,
    /// Members of an object fill the columns that have its name and theirs.
    pub imports_nested: bool,
    /// Brackets in brackets of one value; 0 for any number.
    pub depth_max: usize,
    /// A map is a list of objects with `keys` and `values`.
    pub maps_as_lists: bool,
    /// Elements of named tuples are members of objects; off: values of lists.
    pub tuples_as_objects: bool,
    /// Rows that are lists may miss values at their end.
    pub variable_lists: bool,
    /// A column that the data leave out must take NULL, in every format of text.
    pub omitted_is_null: bool,
}

impl Default for JsonReading {
    fn default() -> Self {
        Self {
            numbers_as_strings: true,
            bools_as_strings: true,
            objects_as_strings: true,
            arrays_as_strings: true,
            bools_as_numbers: true,
            missing_elements_as_defaults: true,
            ignore_unknown_elements: true,
            empty_as_default: false,
            imports_nested: false,
            depth_max: 1000,
            maps_as_lists: false,
            tuples_as_objects: true,
            variable_lists: false,
            omitted_is_null: false,
        }
    }
}

impl JsonReading {
    pub(super) fn take(&mut self, lookup: &Lookup<'_>) {
        lookup.flag("input_format_json_read_numbers_as_strings", &mut self.numbers_as_strings);
        lookup.flag("input_format_json_read_bools_as_strings", &mut self.bools_as_strings);
        lookup.flag("input_format_json_read_objects_as_strings", &mut self.objects_as_strings);
        lookup.flag("input_format_json_read_arrays_as_strings", &mut self.arrays_as_strings);
        lookup.flag("input_format_json_read_bools_as_numbers", &mut self.bools_as_numbers);
        lookup.flag(
            "input_format_json_defaults_for_missing_elements_in_named_tuple",
            &mut self.missing_elements_as_defaults,
        );
        lookup
            .flag("input_format_json_ignore_unknown_keys_in_named_tuple", &mut self.ignore_unknown_elements);
        lookup.flag("input_format_json_empty_as_default", &mut self.empty_as_default);
        lookup.flag("input_format_import_nested_json", &mut self.imports_nested);
        lookup.number("input_format_json_max_depth", &mut self.depth_max);
        lookup.flag("input_format_force_null_for_omitted_fields", &mut self.omitted_is_null);
        lookup.flag("input_format_json_map_as_array_of_tuples", &mut self.maps_as_lists);
        lookup.flag("input_format_json_named_tuples_as_objects", &mut self.tuples_as_objects);
        lookup.flag("input_format_json_compact_allow_variable_number_of_columns", &mut self.variable_lists);
    }

    /// Whether every JSON value may be read as text.
    pub(crate) fn any_value_is_text(self) -> bool {
        self.numbers_as_strings && self.bools_as_strings && self.objects_as_strings && self.arrays_as_strings
    }
}

/// How types are guessed from text, beyond the settings every format shares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guessing {
    /// Whether a column of which nothing but NULL or nothing at all is seen is text.
    pub incomplete_as_string: bool,
    /// Off: every column of CSV is text.
    pub csv_types: bool,
    pub tsv_types: bool,
    pub csv_numbers_in_quotes: bool,
    pub json_numbers_in_quotes: bool,
    /// Off: a JSON object is text.
    pub json_named_tuples: bool,
    /// `1e5` is a number in CSV and TabSeparated, too.
    pub exponents: bool,
    /// Times are DateTime64 even without a fraction.
    pub only_datetime64: bool,
    /// Columns of values of several kinds are Variant, of which there is none here: they are refused.
    pub variants: bool,
    /// Which columns become Nullable.
    pub nullable: InferNullable,
}

impl Default for Guessing {
    fn default() -> Self {
        Self {
            incomplete_as_string: true,
            csv_types: true,
            tsv_types: true,
            csv_numbers_in_quotes: false,
            json_numbers_in_quotes: false,
            json_named_tuples: true,
            exponents: false,
            only_datetime64: false,
            variants: false,
            nullable: InferNullable::Always,
        }
    }
}

impl Guessing {
    pub(super) fn take(&mut self, lookup: &Lookup<'_>) {
        lookup.flag("input_format_csv_use_best_effort_in_schema_inference", &mut self.csv_types);
        lookup.flag("input_format_tsv_use_best_effort_in_schema_inference", &mut self.tsv_types);
        lookup.flag("input_format_csv_try_infer_numbers_from_strings", &mut self.csv_numbers_in_quotes);
        lookup.flag("input_format_json_try_infer_numbers_from_strings", &mut self.json_numbers_in_quotes);
        lookup.flag("input_format_json_try_infer_named_tuples_from_objects", &mut self.json_named_tuples);
        lookup.flag("input_format_json_infer_incomplete_types_as_strings", &mut self.incomplete_as_string);
        lookup.flag("input_format_try_infer_exponent_floats", &mut self.exponents);
        lookup.flag("input_format_try_infer_datetimes_only_datetime64", &mut self.only_datetime64);
        lookup.flag("input_format_try_infer_variants", &mut self.variants);
        if let Some(mode) = (lookup.0)("schema_inference_make_columns_nullable") {
            self.nullable = InferNullable::of(&mode);
        }
    }
}
