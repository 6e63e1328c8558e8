//! A text of several statements, cut into single ones.

/// The statements of a text, without blank ones.
pub(crate) fn statements(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let length = engine::next_statement(rest, true).filter(|length| *length > 0)?;
        let (statement, behind) = rest.split_at(length);
        rest = behind;
        Some(statement)
    })
    .filter(|statement| !engine::is_blank(statement))
}

/// Whether a statement may take rows from outside its text.
pub(crate) fn is_insert(statement: &str) -> bool {
    statement.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("insert"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_at_its_semicolons() {
        let text = "SELECT 1; SELECT ';' -- ;\n;;\n select 2";
        let trimmed: Vec<&str> = statements(text).map(str::trim).collect();
        assert_eq!(trimmed, ["SELECT 1;", "SELECT ';' -- ;\n;", "select 2"]);
        assert_eq!(statements(" ; -- nothing").count(), 0);
    }

    #[test]
    fn only_an_insert_takes_standard_input() {
        assert!(is_insert("  insert into t format CSV"));
        assert!(!is_insert("select 1"));
        assert!(!is_insert("ins"));
    }
}
