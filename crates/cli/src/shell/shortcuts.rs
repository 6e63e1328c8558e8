//! What people type by habit from other terminals: `help`, `\d t`, `\l`, `.tables`, a statement that ends with `\G`.
//!
//! Invariant: whatever is no shortcut is a statement as it stands. Must not know: how statements run.

/// What a line stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shortcut {
    Help,
    Statement(String),
}

pub(super) const HELP: &str = "\
A statement ends with a semicolon and may span lines; \\G in its place shows one value a line.
  \\l             databases                 .databases, SHOW DATABASES
  \\d, \\dt        tables                    .tables, SHOW TABLES
  \\d NAME        columns of a table        DESCRIBE NAME
  .schema NAME   how a table was created   SHOW CREATE TABLE NAME
  \\c NAME        another database          USE NAME
  \\ps            statements that run       SHOW PROCESSLIST
  \\q             leave                     exit, quit, ctrl-D
Tab completes names, ctrl-R searches the history, ctrl-C cancels the statement that runs.";

/// The shortcut that a text is, if it is one.
pub(super) fn shortcut(text: &str) -> Option<Shortcut> {
    let text = text.trim();
    if let Some(statement) = text.trim_end_matches(';').strip_suffix("\\G") {
        return Some(Shortcut::Statement(format!("{statement}\nFORMAT Vertical")));
    }
    let words: Vec<&str> = text.trim_end_matches(';').split_whitespace().collect();
    let statement = |text: &str| Some(Shortcut::Statement(text.to_owned()));
    match words.as_slice() {
        [help] if help.eq_ignore_ascii_case("help") => Some(Shortcut::Help),
        ["?" | "\\?" | "\\h" | ".help"] => Some(Shortcut::Help),
        ["\\l" | ".databases"] => statement("SHOW DATABASES"),
        ["\\d" | "\\dt" | ".tables"] => statement("SHOW TABLES"),
        ["\\ps"] => statement("SHOW PROCESSLIST"),
        ["\\d", table] => Some(Shortcut::Statement(format!("DESCRIBE TABLE {table}"))),
        ["\\c", database] => Some(Shortcut::Statement(format!("USE {database}"))),
        [".schema", table] => {
            Some(Shortcut::Statement(format!("SHOW CREATE TABLE {table} FORMAT TabSeparatedRaw")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn habits_are_statements() {
        for (typed, statement) in [
            ("\\d", "SHOW TABLES"),
            (" .tables; ", "SHOW TABLES"),
            ("\\d db.t", "DESCRIBE TABLE db.t"),
            ("\\l", "SHOW DATABASES"),
            ("\\c x", "USE x"),
            ("SELECT 1\\G", "SELECT 1\nFORMAT Vertical"),
            ("SELECT 1\n\\G;", "SELECT 1\n\nFORMAT Vertical"),
        ] {
            assert_eq!(shortcut(typed), Some(Shortcut::Statement(statement.to_owned())), "{typed}");
        }
        assert_eq!(shortcut("HELP;"), Some(Shortcut::Help));
        for typed in ["SELECT 1;", "help me", "SELECT '\\G';", "\\d a b", ""] {
            assert_eq!(shortcut(typed), None, "{typed}");
        }
    }
}
