//! The path of a call: keys and places, and what they lead to in the text of a row.
//!
//! Invariant: a path that leads nowhere gives nothing, never an error.

use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::rows::{Numbers, Texts};

use super::document::{Document, Item, Kind};

/// One argument of a path.
enum Step {
    Key(Texts),
    Place(Numbers<arrow::datatypes::Int64Type>),
}

/// The arguments between the text and `end`.
pub(super) struct Path {
    steps: Vec<Step>,
    any_case: bool,
}

impl Path {
    pub(super) fn new(call: &Call<'_>, end: usize, any_case: bool) -> Result<Self, FunctionError> {
        let mut steps = Vec::new();
        for index in 1..end {
            let is_key = call.arg(index)?.column_type.is_string();
            steps.push(if is_key { Step::Key(call.texts(index)?) } else { Step::Place(call.ints(index)?) });
        }
        Ok(Self { steps, any_case })
    }

    /// What is at the path of a row, and the key it was found under.
    fn find<'d>(&self, row: usize, root: Item<'d>) -> Option<(Item<'d>, &'d str)> {
        let mut found = (root, "");
        for step in &self.steps {
            found = match step {
                Step::Key(keys) => self.by_key(found.0, keys.get(row))?,
                Step::Place(places) => by_place(found.0, places.get(row))?,
            };
        }
        Some(found)
    }

    fn by_key<'d>(&self, item: Item<'d>, wanted: &str) -> Option<(Item<'d>, &'d str)> {
        let same = |key: &str| if self.any_case { key.eq_ignore_ascii_case(wanted) } else { key == wanted };
        item.pairs().find(|(key, _)| same(key)).map(|(key, value)| (value, key))
    }
}

/// Places count from 1, and from the end from -1.
fn by_place(item: Item<'_>, place: i64) -> Option<(Item<'_>, &str)> {
    let count = i64::try_from(item.count()).ok()?;
    let at = usize::try_from(if place < 0 { count + place } else { place - 1 }).ok()?;
    match item.kind() {
        Kind::Object => item.pairs().nth(at).map(|(key, value)| (value, key)),
        _ => item.elements().nth(at).map(|element| (element, "")),
    }
}

pub(super) fn check(args: &[ArgType], end: usize, name: &str) -> Result<(), FunctionError> {
    for (index, arg) in args.iter().enumerate().take(end) {
        let fits = arg.column_type.is_string() || index > 0 && arg.column_type.is_integer();
        if !fits {
            return Err(FunctionError::illegal_type(&arg.column_type, name));
        }
    }
    Ok(())
}

/// What a function with a path is called, and whether keys are found in any case.
#[derive(Clone, Copy)]
pub(super) struct Name {
    pub(super) name: &'static str,
    pub(super) any_case: bool,
}

/// What each row's text has at the path, read by `read`.
pub(super) fn each<T>(
    call: &Call<'_>,
    name: Name,
    mut read: impl FnMut(Option<(Item<'_>, &str)>) -> T,
) -> Result<Vec<T>, FunctionError> {
    let texts = call.texts(0)?;
    let path = Path::new(call, call.args.len(), name.any_case)?;
    let mut document = Document::new();
    let mut out = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let root = if call.is_null(row) { None } else { document.read(texts.get(row)) };
        out.push(read(root.and_then(|root| path.find(row, root))));
    }
    Ok(out)
}
pub(super) fn documents<'t>(call: &Call<'_>, texts: &'t Texts) -> Vec<Document<'t>> {
    (0..call.rows)
        .map(|row| {
            let mut document = Document::new();
            if !call.is_null(row) {
                document.read(texts.get(row));
            }
            document
        })
        .collect()
}

pub(super) fn items<'d>(documents: &'d [Document<'d>], path: &Path) -> Vec<Option<Item<'d>>> {
    let find =
        |(row, document): (usize, &'d Document<'d>)| path.find(row, document.root()?).map(|(item, _)| item);
    documents.iter().enumerate().map(find).collect()
}
