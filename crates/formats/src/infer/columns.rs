//! Columns of a text file from a sample of its bytes.
//!
//! Invariant: every row of the sample can be read with the columns given. Conflicting values widen to Float64 or
//! String; what cannot widen is an error naming row and column. Must not know: files, caches.

mod described;
mod guess;
mod value;

use model::saturating::u64_of;
use model::type_name;
use model::{ColumnType, ErrorCode};

use crate::error::{FormatError, excerpt};
use crate::rows::custom::delimiter_unfit;
use crate::rows::json::document::declared;
use crate::rows::split::{NamedRows, RowEnd, SplitError, SplitRows};
use crate::rows::splitter::{Splitter, is_csv, splitter};
use crate::settings::{EscapingRule, FormatSettings};
use crate::values::cell::{Cell, TextForm, bare_value};
use guess::Guess;
use model::format_kind::{FormatKind, HeaderRows};
use value::Source;

/// What a sample says about its file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inferred {
    pub columns: Vec<(String, ColumnType)>,
    /// Whether the first row turned out to be, or was, the names.
    pub has_header: bool,
    /// Rows of data the columns were derived from.
    pub rows: u64,
}

/// The columns of a file that begins with `sample`; `at_end` says that the sample is the whole file.
pub fn infer(
    kind: FormatKind,
    sample: &[u8],
    at_end: bool,
    settings: &FormatSettings,
) -> Result<Vec<(String, ColumnType)>, FormatError> {
    infer_details(kind, sample, at_end, settings).map(|inferred| inferred.columns)
}

/// As [`infer`], with what else was learnt.
pub fn infer_details(
    kind: FormatKind,
    sample: &[u8],
    at_end: bool,
    settings: &FormatSettings,
) -> Result<Inferred, FormatError> {
    let cut = sample.len() > settings.infer_bytes_max;
    let sample = &sample[..sample.len().min(settings.infer_bytes_max)];
    let raw = sample;
    let sample = sample.strip_prefix(b"\xef\xbb\xbf").unwrap_or(sample);
    let at_end = at_end && !cut;
    // What strings hold is guessed as JSON's own strings are.
    let values = kind.of_plain_values();
    let tally = Tally {
        kind: values,
        settings,
        columns: Vec::new(),
        rows: 0,
        second_has_types: false,
        second_names_types: None,
        has_header: false,
    };
    if kind.is_custom() && !settings.custom.takes_text(false, &[]) {
        return Err(delimiter_unfit(settings));
    }
    let describes =
        matches!(kind, FormatKind::Json | FormatKind::JsonCompact | FormatKind::JsonColumnsWithMetadata);
    let declared = if describes { declared(kind, sample) } else { Ok(None) };
    let inferred = match (declared, described::infer(kind, raw, settings)) {
        (Err(error), _) => Err(error),
        // Nothing but its metadata says the names of a document of lists.
        (Ok(None), _) if kind == FormatKind::JsonCompact => {
            let code = ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED;
            Err(FormatError::new(code, format!("expected '{{' before: {}", excerpt(sample))))
        }
        (Ok(Some(columns)), _) => return Ok(Inferred { columns, has_header: true, rows: 0 }),
        (_, Some(inferred)) => inferred,
        (_, None) => tally.run(sample, at_end),
    };
    inferred.map_err(|mut error| {
        if error.code != ErrorCode::BAD_ARGUMENTS {
            error.code = ErrorCode::CANNOT_EXTRACT_TABLE_STRUCTURE;
        }
        error.message =
            format!("the table structure cannot be extracted from a {} file: {}", kind.name(), error.message);
        error
    })
}

/// Guesses of all columns over the rows seen.
struct Tally<'s> {
    kind: FormatKind,
    settings: &'s FormatSettings,
    columns: Vec<(String, Guess)>,
    rows: u64,
    /// Whether the row behind the first holds something else than text.
    second_has_types: bool,
    /// The types that it names, when every cell of it is the name of one.
    second_names_types: Option<Vec<ColumnType>>,
    has_header: bool,
}

impl Tally<'_> {
    fn run(self, sample: &[u8], at_end: bool) -> Result<Inferred, FormatError> {
        match splitter(self.kind, self.settings, std::iter::empty())? {
            Splitter::Csv(rows) => self.listed(rows, sample, at_end),
            Splitter::Tsv(rows) => self.listed(rows, sample, at_end),
            Splitter::Lists(rows) => self.listed(rows, sample, at_end),
            Splitter::Objects(rows) => self.objects(rows, sample, at_end),
            Splitter::Tskv(rows) => self.objects(rows, sample, at_end),
            Splitter::Custom(rows) => self.listed(rows, sample, at_end),
            Splitter::Pattern(rows) => self.listed(rows, sample, at_end),
            Splitter::ObjectDocument(rows) => self.objects(rows.into_rows(), sample, at_end),
            Splitter::ListDocument(rows) => self.listed(rows.into_rows(), sample, at_end),
            Splitter::NamedObjects(rows) => self.objects(rows, sample, at_end),
            Splitter::Columns(rows) if self.kind == FormatKind::JsonCompactColumns => {
                self.listed(rows, sample, at_end)
            }
            Splitter::Columns(rows) => self.objects(rows, sample, at_end),
            Splitter::Lines(_) => Ok(one_text("line")),
            Splitter::ObjectTexts(_) => Ok(one_text("json")),
        }
    }

    fn source(&self) -> Source {
        source_of(self.kind, self.settings)
    }

    fn error(&self, error: SplitError) -> FormatError {
        FormatError::new(error.code, error.message).at_row(self.rows + 1).at_position(u64_of(error.at))
    }

    fn enough(&self, ahead: usize) -> bool {
        self.rows + u64_of(ahead) >= u64_of(self.settings.infer_rows_max)
    }

    fn guesses(&self, cells: &[Cell<'_>]) -> Vec<Guess> {
        cells.iter().map(|cell| Guess::of(*cell, self.source(), self.settings)).collect()
    }

    fn texts(cells: &[Cell<'_>]) -> Result<Vec<String>, FormatError> {
        let mut scratch = Vec::new();
        cells.iter().map(|c| Ok(String::from_utf8_lossy(c.content(&mut scratch)?).into_owned())).collect()
    }

    /// Rows that are lists of cells.
    fn listed(
        mut self,
        mut rows: impl SplitRows,
        sample: &[u8],
        at_end: bool,
    ) -> Result<Inferred, FormatError> {
        let mut at = self.skipped_lines(sample);
        let mut early: Vec<Vec<Cell<'_>>> = Vec::new();
        let header = self.kind.header_rows();
        let early_wanted = if header == HeaderRows::NamesAndTypes { 2 } else { 1 };
        let mut ahead = 0;
        while !self.enough(ahead) {
            let mut cells = Vec::new();
            match rows.row(sample, at, at_end, &mut cells).map_err(|e| self.error(e))? {
                RowEnd::Row(next) => at = next,
                RowEnd::Incomplete | RowEnd::Finished(_) => break,
            }
            self.check(&cells, header != HeaderRows::None && early.len() < early_wanted)?;
            if early.len() < early_wanted {
                ahead = usize::from(header == HeaderRows::None && !self.first_row_may_name(&cells));
                early.push(cells);
                continue;
            }
            self.row(&early[0], &cells)?;
        }
        self.finish_listed(&early)
    }

    fn skipped_lines(&self, sample: &[u8]) -> usize {
        let lines = match self.source() {
            _ if self.kind.is_custom() || self.kind == FormatKind::Regexp => 0,
            Source::Csv => self.settings.csv_skip_first_lines,
            Source::Tsv => self.settings.tsv_skip_first_lines,
            Source::Json | Source::Literal => 0,
        };
        (0..lines).fold(0, |at, _| {
            sample[at..].iter().position(|b| *b == b'\n').map_or(sample.len(), |offset| at + offset + 1)
        })
    }

    /// One row behind the first.
    fn row(&mut self, first: &[Cell<'_>], cells: &[Cell<'_>]) -> Result<(), FormatError> {
        let ends_empty = cells.last().is_some_and(|cell| cell.text.is_empty());
        let trailing = self.source() == Source::Csv && cells.len() == first.len() + 1 && ends_empty;
        if cells.len() != first.len() && !trailing {
            let message = format!("row has {} columns, the first has {}", cells.len(), first.len());
            return Err(FormatError::new(ErrorCode::INCORRECT_DATA, message).at_row(self.rows + 1));
        }
        let guesses = self.guesses(&cells[..first.len()]);
        if self.columns.is_empty() {
            self.second_has_types = guesses.iter().any(no_text);
            let types = |texts: Vec<String>| texts.iter().map(|text| type_name::parse(text).ok()).collect();
            self.second_names_types = Self::texts(&cells[..first.len()]).ok().and_then(types);
            self.columns = guesses.into_iter().map(|guess| (String::new(), guess)).collect();
        } else {
            self.join(guesses)?;
        }
        self.rows += 1;
        Ok(())
    }

    /// Refuses cells of JSON and SQL that are no values: of other formats everything is text.
    fn check(&self, cells: &[Cell<'_>], are_names: bool) -> Result<(), FormatError> {
        let is_garbled = |cell: &&Cell<'_>| match are_names {
            true => cell.form == TextForm::Json && cell.text.first() != Some(&b'"'),
            false => Guess::is_garbled(**cell, self.settings),
        };
        // Values of JSON that do not stand in rows of their own are read before they are looked at.
        let custom = &self.settings.custom.rule;
        let is_read = self.kind.stands_by_column() || self.kind.is_custom() && *custom == EscapingRule::Json;
        let is_wrong =
            |cell: &&Cell<'_>| is_read && cell.form == TextForm::Json && bare_value(cell.text).is_err();
        let is_looked_at = !self.kind.is_custom() || *custom == EscapingRule::Quoted;
        match cells.iter().find(|cell| is_wrong(cell) || is_looked_at && is_garbled(cell)) {
            None => Ok(()),
            Some(garbled) => {
                let message = format!("cannot parse input: no value is {}", excerpt(garbled.text));
                Err(FormatError::new(ErrorCode::INCORRECT_DATA, message).at_row(self.rows + 1))
            }
        }
    }

    /// What a further row says of the columns.
    fn join(&mut self, guesses: Vec<Guess>) -> Result<(), FormatError> {
        let (row, is_json) = (self.rows + 1, self.source() == Source::Json);
        for ((_, known), guess) in self.columns.iter_mut().zip(guesses) {
            if self.settings.guessing.variants && known.is_foreign_to(&guess, is_json) {
                *known = Guess::Torn;
                continue;
            }
            let joined = match self.kind {
                _ if is_json => known.join_json(guess, self.settings.json),
                FormatKind::Values if known.is_foreign_to(&guess, false) => Err(known.differs(&guess)),
                _ => {
                    known.join(guess);
                    Ok(())
                }
            };
            joined.map_err(|message| FormatError::new(ErrorCode::TYPE_MISMATCH, message).at_row(row))?;
        }
        Ok(())
    }

    fn finish_listed(mut self, early: &[Vec<Cell<'_>>]) -> Result<Inferred, FormatError> {
        let Some(first) = early.first().filter(|first| !first.is_empty()) else {
            return Err(FormatError::new(ErrorCode::CANNOT_EXTRACT_TABLE_STRUCTURE, "the file is empty"));
        };
        let header = self.kind.header_rows();
        if header == HeaderRows::NamesAndTypes
            && let Some(types) = early.get(1)
        {
            return self.declared(first, types);
        }
        // Names and types in front of rows are what a file WithNamesAndTypes has.
        if header == HeaderRows::None
            && self.rows > 1
            && self.first_row_may_name(first)
            && let Some(types) = self.second_names_types.take()
        {
            let columns = distinct(Self::texts(first)?)?.into_iter().zip(types).collect();
            return Ok(Inferred { columns, has_header: true, rows: self.rows - 1 });
        }
        if self.columns.is_empty() && header == HeaderRows::Names {
            let message = "the file holds names and no rows";
            return Err(FormatError::new(ErrorCode::CANNOT_EXTRACT_TABLE_STRUCTURE, message));
        }
        if self.columns.is_empty() {
            self.columns = first.iter().map(|_| (String::new(), Guess::Unknown)).collect();
        }
        let names = match header {
            HeaderRows::None if self.first_row_is_header(first) => {
                self.has_header = true;
                distinct(Self::texts(first)?)?
            }
            HeaderRows::None => {
                self.join(self.guesses(first))?;
                self.rows += 1;
                (1..=first.len()).map(|position| format!("c{position}")).collect()
            }
            HeaderRows::Names | HeaderRows::NamesAndTypes => {
                self.has_header = true;
                distinct(Self::texts(first)?)?
            }
        };
        for ((name, _), given) in self.columns.iter_mut().zip(names) {
            *name = given;
        }
        self.finish()
    }

    /// A value that is no text in the second row or in all rows of a column, behind a row that may hold names.
    fn first_row_is_header(&self, first: &[Cell<'_>]) -> bool {
        self.first_row_may_name(first)
            && (self.second_has_types || self.columns.iter().any(|(_, guess)| no_text(guess)))
    }

    /// All texts in the first row, of a format of which a header is looked for.
    fn first_row_may_name(&self, first: &[Cell<'_>]) -> bool {
        let detect = match self.source() {
            _ if self.kind.is_custom() => self.settings.custom.detect_header,
            _ if self.kind == FormatKind::Regexp => false,
            Source::Csv => self.settings.csv_detect_header,
            Source::Tsv => self.settings.tsv_detect_header,
            Source::Json | Source::Literal => false,
        };
        // A line that begins with a tab is more often data than a header.
        // NULL is no name there.
        let may_name = |cell: &Cell<'_>| !cell.text.is_empty() && !cell.text.eq_ignore_ascii_case(b"null");
        let is_named = self.source() != Source::Tsv || first.iter().all(may_name);
        let all_texts = self.guesses(first).iter().all(|guess| *guess == Guess::Type(ColumnType::String));
        detect && is_named && all_texts
    }

    /// Types written in the file.
    fn declared(self, names: &[Cell<'_>], types: &[Cell<'_>]) -> Result<Inferred, FormatError> {
        let typed = |(name, text): (String, String)| {
            let column_type = type_name::parse(&text).map_err(|error| {
                FormatError::new(ErrorCode::INCORRECT_DATA, error.to_string()).in_column(name.clone())
            })?;
            Ok((name, column_type))
        };
        let columns = Self::texts(names)?.into_iter().zip(Self::texts(types)?).map(typed);
        Ok(Inferred {
            columns: columns.collect::<Result<_, FormatError>>()?,
            has_header: true,
            rows: self.rows,
        })
    }

    /// Rows that name their columns.
    fn objects(
        mut self,
        mut rows: impl NamedRows,
        sample: &[u8],
        at_end: bool,
    ) -> Result<Inferred, FormatError> {
        let mut at = 0;
        let mut members = Vec::new();
        while !self.enough(0) {
            members.clear();
            match rows.any_row(sample, at, at_end, &mut members).map_err(|e| self.error(e))? {
                RowEnd::Row(next) => at = next,
                RowEnd::Incomplete | RowEnd::Finished(_) => break,
            }
            for (key, value) in &members {
                self.check(std::slice::from_ref(value), false)?;
                let name = Self::texts(&[*key])?.pop().unwrap_or_default();
                let mut guess = Guess::of(*value, self.source(), self.settings);
                if self.kind == FormatKind::Tskv {
                    // ClickHouse does not remember NULLs of this format.
                    guess = guess.without_null();
                }
                let (row, variants, is_json) =
                    (self.rows + 1, self.settings.guessing.variants, self.kind != FormatKind::Tskv);
                match self.columns.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, known)) if variants && known.is_foreign_to(&guess, is_json) => {
                        *known = Guess::Torn
                    }
                    Some((_, known)) if !is_json => known.join(guess),
                    Some((_, known)) => known.join_json(guess, self.settings.json).map_err(|message| {
                        FormatError::new(ErrorCode::TYPE_MISMATCH, message).at_row(row).in_column(name)
                    })?,
                    None => self.columns.push((name, guess)),
                }
            }
            self.rows += 1;
        }
        if self.columns.is_empty() {
            return Err(FormatError::new(
                ErrorCode::CANNOT_EXTRACT_TABLE_STRUCTURE,
                "the file holds no rows",
            ));
        }
        self.finish()
    }

    fn finish(self) -> Result<Inferred, FormatError> {
        let mut columns = Vec::with_capacity(self.columns.len());
        let is_json = self.source() == Source::Json;
        for (name, guess) in self.columns {
            let variants = self.settings.guessing.variants;
            if guess.is_torn(variants) {
                let message = match variants {
                    true => {
                        format!("values of column \"{name}\" have several types, and there is no Variant")
                    }
                    false => format!(
                        "JSON objects have ambiguous data: those in lists of column \"{name}\" differ"
                    ),
                };
                return Err(FormatError::new(ErrorCode::INCORRECT_DATA, message).in_column(name));
            }
            // Outside of JSON what is only NULL is text without NULLs, as in ClickHouse.
            let incomplete = !is_json && (guess.is_unknown() || guess.is_incomplete());
            let guess = match incomplete {
                true if self.kind == FormatKind::Values => None,
                true => Some(Guess::Type(ColumnType::String)),
                false => Some(guess),
            };
            let Some(column_type) = guess.and_then(|guess| guess.into_type(self.settings)) else {
                let message = format!(
                    "cannot determine type for column \"{name}\" by first {} rows of data, \
                     most likely this column contains only nulls or empty arrays",
                    self.rows
                );
                return Err(
                    FormatError::new(ErrorCode::CANNOT_EXTRACT_TABLE_STRUCTURE, message).in_column(name)
                );
            };
            columns.push((name, column_type));
        }
        Ok(Inferred { columns, has_header: self.has_header, rows: self.rows })
    }
}

/// Names of a header, each of which stands there once.
fn distinct(names: Vec<String>) -> Result<Vec<String>, FormatError> {
    match names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
        Some((_, twice)) => {
            let message = format!("column \"{twice}\" stands twice in the header");
            Err(FormatError::new(ErrorCode::CANNOT_EXTRACT_TABLE_STRUCTURE, message))
        }
        None => Ok(names),
    }
}

/// A format whose rows are one text each.
fn one_text(name: &str) -> Inferred {
    Inferred { columns: vec![(name.to_owned(), ColumnType::String)], has_header: false, rows: 0 }
}

fn no_text(guess: &Guess) -> bool {
    !guess.is_unknown() && !guess.is_text()
}

fn escaped_so(rule: EscapingRule) -> Source {
    match rule {
        EscapingRule::Csv => Source::Csv,
        EscapingRule::Json => Source::Json,
        EscapingRule::Quoted => Source::Literal,
        EscapingRule::Escaped | EscapingRule::Raw | EscapingRule::Xml => Source::Tsv,
    }
}

fn source_of(kind: FormatKind, settings: &FormatSettings) -> Source {
    use FormatKind as F;
    match kind {
        _ if is_csv(kind) => Source::Csv,
        _ if kind.is_custom() => escaped_so(settings.custom.rule),
        F::Regexp => escaped_so(settings.custom.pattern.rule),
        F::Json
        | F::JsonCompact
        | F::JsonEachRow
        | F::JsonObjectEachRow
        | F::JsonColumns
        | F::JsonCompactColumns
        | F::JsonColumnsWithMetadata
        | F::JsonCompactEachRow
        | F::JsonCompactEachRowWithNames
        | F::JsonCompactEachRowWithNamesAndTypes => Source::Json,
        F::Values => Source::Literal,
        _ => Source::Tsv,
    }
}

#[cfg(test)]
mod tests;
