//! `FROM 'rows.csv'`: a table whose name stands in the quotes of a text and is that of a file or an address is read by the
//! function for such, as `file('rows.csv')`.
//!
//! Invariant: a name quoted as a name is never one of a file. Must not know: which files there are, and who may read them.

use std::ops::ControlFlow;

use sqlparser::ast::{
    FunctionArg, FunctionArgExpr, Ident, ObjectName, Query, TableFactor, TableFunctionArgs, VisitMut,
    VisitorMut,
};

use crate::dialect::text;

/// Beginnings of addresses, and the function that reads what is there.
const ADDRESSES: [(&str, &str); 4] =
    [("s3://", "s3"), ("gs://", "gcs"), ("http://", "url"), ("https://", "url")];

/// Puts calls where files are named.
pub(crate) fn call_files(query: &mut Query, written: &str) {
    if names_files(written) {
        // It breaks off nowhere.
        let _ = query.visit(&mut Files);
    }
}

/// Whether a text stands behind FROM or JOIN: most statements need not be looked through.
fn names_files(written: &str) -> bool {
    let starts = written.match_indices('\'').map(|(at, _)| written[..at].trim_end());
    let mut heads = starts.filter_map(|before| before.get(before.len().checked_sub(4)?..));
    heads.any(|word| word.eq_ignore_ascii_case("from") || word.eq_ignore_ascii_case("join"))
}

struct Files;

impl VisitorMut for Files {
    type Break = ();

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, args: args @ None, .. } = factor
            && let [part] = name.0.as_slice()
            && let Some(Ident { value, quote_style: Some('\''), .. }) = part.as_ident()
            && let Some(function) = function_for(value)
        {
            let path = FunctionArg::Unnamed(FunctionArgExpr::Expr(text(value.as_str())));
            *args = Some(TableFunctionArgs { args: vec![path], settings: None });
            *name = ObjectName::from(vec![Ident::new(function)]);
        }
        ControlFlow::Continue(())
    }
}

/// The function that reads what has this name; `None` for what is a table's.
fn function_for(name: &str) -> Option<&'static str> {
    if let Some((_, function)) = ADDRESSES.iter().find(|(address, _)| name.starts_with(address)) {
        return Some(function);
    }
    // Tables of materialized views begin with a point.
    let is_path = name.contains('/') || name.get(1..).is_some_and(|rest| rest.contains('.'));
    (is_path && !name.starts_with(".inner")).then_some("file")
}

#[cfg(test)]
mod tests {
    use crate::parser::parse_query;

    fn read(text: &str) -> String {
        parse_query(text).map_or_else(|error| error.message, |query| query.to_string())
    }

    #[test]
    fn files_and_addresses_are_read_by_functions() {
        assert_eq!(read("SELECT * FROM 'rows.csv'"), "SELECT * FROM file('rows.csv')");
        assert_eq!(read("SELECT * FROM '/d/*' AS a"), "SELECT * FROM file('/d/*') AS a");
        assert_eq!(read("SELECT 1 FROM t join 's3://b/x'"), "SELECT 1 FROM t JOIN s3('s3://b/x')");
        assert_eq!(
            read("SELECT (SELECT 1 FROM\n'https://a/b.csv')"),
            "SELECT (SELECT 1 FROM url('https://a/b.csv'))"
        );
    }

    #[test]
    fn tables_and_texts_are_not() {
        for same in [
            "SELECT * FROM 'rows'",
            "SELECT * FROM '.inner.v'",
            "SELECT * FROM `rows.csv`",
            "SELECT TRIM(BOTH 'a' FROM 'a.b')",
            "SELECT * FROM f('a.b')",
        ] {
            assert_eq!(read(same), same);
        }
    }
}
