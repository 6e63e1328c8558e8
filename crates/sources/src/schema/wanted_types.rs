//! Types that inferred columns get from elsewhere: hints, the table an INSERT fills, the wish for NULLs.
//!
//! Pure. Invariant: names, number and order of columns stay what the files say. Must not know: how files are read.

use formats::FormatKind;
use model::ColumnType;
use stores::error::{Result, SourceError};
use stores::statement::settings::{Nullability, WantedTypes};

use crate::schema::source_columns::Columns;
use crate::schema::structure;

/// `schema_inference_hints`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Hints(Columns);

impl Hints {
    /// # Errors
    /// What is no structure; ClickHouse ignores it.
    pub(crate) fn parse(text: &str) -> Result<Hints> {
        if text.trim().is_empty() {
            return Ok(Hints::default());
        }
        structure::parse(text).map(Hints).map_err(|error| {
            SourceError::bad_arguments(format!("setting schema_inference_hints: {}", error.message()))
                .with_hint("it is a list like 'a UInt8, b Nullable(String)'")
        })
    }

    pub(crate) fn of(&self, name: &str) -> Option<&ColumnType> {
        self.0.iter().find(|(hinted, _)| hinted == name).map(|(_, column_type)| column_type)
    }

    /// Gives the columns named their types; answers a note for each that is not there.
    pub(crate) fn apply(&self, columns: &mut Columns) -> Vec<String> {
        let mut notes = Vec::new();
        for (name, column_type) in &self.0 {
            match columns.iter_mut().find(|(known, _)| known == name) {
                Some((_, known)) => *known = column_type.clone(),
                None => notes.push(format!("schema_inference_hints names \"{name}\", which no file has")),
            }
        }
        notes
    }
}

/// Gives text columns the types they are wanted in; `positional` columns have no names of their own.
pub(crate) fn apply(columns: &mut Columns, wanted: &WantedTypes, positional: bool) -> Option<String> {
    let mut taken = 0_usize;
    if wanted.whole && takes_places(columns, wanted) {
        // Rows go by place, so a namesake elsewhere in the table says nothing.
        let places = columns.iter_mut().zip(&wanted.columns);
        for ((_, found), (_, column_type)) in places.filter(|((name, _), _)| !wanted.used.contains(name)) {
            *found = column_type.clone();
            taken += 1;
        }
    } else if !wanted.whole && !positional {
        for (name, found) in columns {
            if let Some((_, column_type)) = wanted.columns.iter().find(|(known, _)| known == name) {
                *found = column_type.clone();
                taken += 1;
            }
        }
    }
    (taken > 0).then(|| format!("{taken} columns are read in the types of the table they go to"))
}

/// The columns of the table that all of these go to, if they are found by their names: some is called as one of them, and
/// rows of the format can be read without the others. One that no file has is there, too, in the table's type, unless the
/// SELECT asks for its value: that would be a default, which is put in later. A file with metadata keeps its own types for
/// the rest. Case does not matter where the format's own rows are read so.
pub(crate) fn by_names(columns: &Columns, wanted: &WantedTypes, format: FormatKind) -> Option<Columns> {
    let keeps_types = format == FormatKind::Parquet;
    let is_same = |known: &str, name: &str| known == name || !keeps_types && known.eq_ignore_ascii_case(name);
    let is_wanted = |name: &str| wanted.columns.iter().any(|(known, _)| is_same(known, name));
    let known = columns.iter().filter(|(name, _)| is_wanted(name)).count();
    if !wanted.whole || known == 0 || known < columns.len() && !format.names_columns() {
        return None;
    }
    let own = |name: &str| {
        let exact = columns.iter().find(|(found, _)| found == name);
        exact
            .or_else(|| columns.iter().find(|(found, _)| is_same(found, name)))
            .map(|(_, found)| found.clone())
    };
    if wanted
        .used
        .iter()
        .any(|name| wanted.columns.iter().any(|(known, _)| known == name) && own(name).is_none())
    {
        return None;
    }
    let column = |(name, column_type): &(String, ColumnType)| {
        let found = own(name).filter(|_| keeps_types);
        (name.clone(), found.unwrap_or_else(|| column_type.clone()))
    };
    Some(wanted.columns.iter().map(column).collect())
}

/// Whether every column has a place in the table that all of them go to; partitions in paths follow on them.
pub(crate) fn takes_places(columns: &Columns, wanted: &WantedTypes) -> bool {
    columns.len() <= wanted.columns.len()
}

/// Makes a type of a file with metadata as Nullable as the setting wants it.
pub(crate) fn make_nullable(column_type: &mut ColumnType, wanted: Nullability) {
    match wanted {
        Nullability::Seen | Nullability::Declared => {}
        Nullability::Never => *column_type = rebuilt(column_type, false),
        Nullability::Always => *column_type = rebuilt(column_type, true),
    }
}

fn rebuilt(column_type: &ColumnType, nullable: bool) -> ColumnType {
    match column_type {
        ColumnType::Array(item) => ColumnType::Array(Box::new(rebuilt(item, nullable))),
        ColumnType::Map(key, value) => ColumnType::Map(key.clone(), Box::new(rebuilt(value, nullable))),
        ColumnType::Tuple(elements) => {
            let mut elements = elements.clone();
            for element in &mut elements {
                element.column_type = rebuilt(&element.column_type, nullable);
            }
            ColumnType::Tuple(elements)
        }
        ColumnType::Nullable(inner) if !nullable => inner.as_ref().clone(),
        other if nullable => other.clone().nullable(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(text: &str) -> Columns {
        structure::parse(text).unwrap()
    }

    #[test]
    fn hints_replace_types_and_nothing_else() {
        let mut found = columns("a Int64, b String");
        let hints = Hints::parse("b LowCardinality(String), z Int8").unwrap();
        let notes = hints.apply(&mut found);
        assert_eq!(found, columns("a Int64, b LowCardinality(String)"));
        assert!(notes.len() == 1 && notes[0].contains("\"z\""), "{notes:?}");
        assert!(Hints::parse("garbage(").unwrap_err().to_string().contains("schema_inference_hints"));
        assert_eq!(Hints::parse(" ").unwrap(), Hints::default());
    }

    #[test]
    fn types_of_the_target() {
        for (found, wanted, whole, positional, result) in [
            ("a Int64, b Int64", "b String, a UInt8", false, false, "a UInt8, b String"),
            ("b Int64, a Float64", "a String, b UInt8", true, false, "b String, a UInt8"),
            ("b Int64, a Int64", "a String, b UInt8, c Date", true, false, "b String, a UInt8"),
            ("b Int64, a Int64", "a String", true, false, "b Int64, a Int64"),
            ("a Int64, x Int64", "a UInt8", false, false, "a UInt8, x Int64"),
            ("c1 Int64, c2 Int64", "a UInt8, b String", true, true, "c1 UInt8, c2 String"),
            ("c1 Int64, c2 Int64", "a UInt8, b String", false, true, "c1 Int64, c2 Int64"),
            ("c1 Int64, c2 Int64", "a UInt8", true, true, "c1 Int64, c2 Int64"),
        ] {
            let mut found_columns = columns(found);
            let wanted = WantedTypes { columns: columns(wanted), whole, ..WantedTypes::default() };
            apply(&mut found_columns, &wanted, positional);
            assert_eq!(found_columns, columns(result), "{found}");
        }
    }

    #[test]
    fn columns_of_the_target_by_their_names() {
        use FormatKind::{Csv, CsvWithNames, Parquet};
        for (found, wanted, format, result) in [
            ("b Int64, a Float64", "a String, b UInt8", CsvWithNames, "a String, b UInt8"),
            ("b Int64", "a String, b UInt8", Csv, "a String, b UInt8"),
            ("b Int64", "a String, b UInt8", Parquet, "a String, b Int64"),
            ("b Int64, x Int64", "a String, b UInt8", Parquet, "a String, b Int64"),
            ("b Int64, x Int64", "a String, b UInt8", Csv, "none"),
            ("x Int64, y Int64", "a String, b UInt8", Parquet, "none"),
            ("B Int64, A Int64", "a String, b UInt8", CsvWithNames, "a String, b UInt8"),
            ("B Int64, A Int64", "a String, b UInt8", Parquet, "none"),
            (
                "b Int64, used Int64",
                "a String, b UInt8, used UInt8",
                CsvWithNames,
                "a String, b UInt8, used UInt8",
            ),
            ("b Int64", "a String, b UInt8, used UInt8", CsvWithNames, "none"),
        ] {
            let wanted = WantedTypes {
                columns: columns(wanted),
                whole: true,
                used: vec!["used".to_owned()],
                ..WantedTypes::default()
            };
            let expected = (result != "none").then(|| columns(result));
            assert_eq!(by_names(&columns(found), &wanted, format), expected, "{found} {format:?}");
        }
    }

    #[test]
    fn nullable_as_wanted() {
        let given = "a UInt8, b Nullable(String), c Array(Nullable(Int8)), d Map(String, Int8)";
        for (wanted, result) in [
            (Nullability::Never, "a UInt8, b String, c Array(Int8), d Map(String, Int8)"),
            (
                Nullability::Always,
                "a Nullable(UInt8), b Nullable(String), c Array(Nullable(Int8)), d Map(String, Nullable(Int8))",
            ),
            (Nullability::Declared, given),
        ] {
            let mut found = columns(given);
            found.iter_mut().for_each(|(_, column_type)| make_nullable(column_type, wanted));
            assert_eq!(found, columns(result), "{wanted:?}");
        }
    }
}
