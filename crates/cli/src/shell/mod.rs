//! The interactive shell: lines in, answers out, until ctrl-D.
//!
//! A statement may span lines; Enter runs it once it ends with a semicolon. Invariant: an error of a statement is shown
//! and forgotten, only the end of the input ends the shell.

mod shortcuts;
mod colours;
mod words;

use std::borrow::Cow;
use std::path::PathBuf;

use engine::{is_blank, masked, next_statement};
use host::Runtimes;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper, Hinter};

use crate::failure::Failure;
use crate::runner::{Runner, Stop};
use crate::script::statements;
use crate::terminal;
use shortcuts::{HELP, Shortcut, shortcut};
use words::Words;

const PROMPT: &str = "gristmill :) ";
const HISTORY_FILE: &str = ".gristmill_history";
const HISTORY_LINES_MAX: usize = 10_000;

/// Reads and runs until the end of the input. Call from outside the runtimes.
pub(crate) fn run(runner: &Runner, runtimes: &Runtimes) -> Result<(), Failure> {
    // What all offers have in common is typed, then they are listed: the first of a hundred is seldom meant.
    let config = Config::builder()
        .max_history_size(HISTORY_LINES_MAX)?
        .auto_add_history(false)
        .completion_type(CompletionType::List)
        .build();
    let mut editor: Editor<Assistant, DefaultHistory> = Editor::with_config(config)?;
    editor.set_helper(Some(Assistant { words: runtimes.block_on(words::load(runner)) }));
    let history = history_path();
    if let Some(path) = &history {
        // There is none the first time.
        let _ = editor.load_history(path);
    }
    terminal::note(&format!(
        "gristmill {}. Statements end with a semicolon; Tab completes, help tells more, ctrl-D leaves.",
        env!("CARGO_PKG_VERSION")
    ));
    loop {
        match editor.readline(PROMPT) {
            Ok(text) if is_farewell(&text) => break,
            Ok(text) if is_blank(&text) => {}
            Ok(text) => {
                // The history is a file: what may be a credential does not get there.
                editor.add_history_entry(masked(text.trim_end()))?;
                let text = match shortcut(&text) {
                    Some(Shortcut::Help) => {
                        terminal::note(HELP);
                        continue;
                    }
                    Some(Shortcut::Statement(statement)) => statement,
                    None => text,
                };
                if !runtimes.block_on(run_all(runner, &text)) {
                    break;
                }
                if let Some(assistant) = editor.helper_mut()
                    && changes_names(&text)
                {
                    assistant.words = runtimes.block_on(words::load(runner));
                }
            }
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(error.into()),
        }
    }
    if let Some(path) = &history {
        editor.save_history(path)?;
    }
    Ok(())
}

/// False when the answers cannot be shown any more.
async fn run_all(runner: &Runner, text: &str) -> bool {
    for statement in statements(text) {
        match runner.run(statement, None).await {
            Ok(()) => terminal::note(""),
            Err(Stop::OutputClosed) => return false,
            Err(Stop::Failed(error)) => {
                terminal::note(&format!("{error}\n"));
                break;
            }
        }
    }
    true
}

fn is_farewell(text: &str) -> bool {
    let word = text.trim().trim_end_matches(';').to_ascii_lowercase();
    matches!(word.as_str(), "exit" | "quit" | "bye" | "\\q")
}

/// Whether other names may exist after this statement.
fn changes_names(text: &str) -> bool {
    let word: String = text.trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
    ["CREATE", "DROP", "ALTER", "RENAME", "USE", "EXCHANGE"]
        .iter()
        .any(|known| word.eq_ignore_ascii_case(known))
}

fn history_path() -> Option<PathBuf> {
    std::env::var_os("HOME").map(|home| PathBuf::from(home).join(HISTORY_FILE))
}

/// What the editor asks while somebody types.
#[derive(Helper, Hinter)]
struct Assistant {
    words: Words,
}

impl Completer for Assistant {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let (start, found) = self.words.complete(&line[..at]);
        Ok((start, found))
    }
}

impl Validator for Assistant {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let text = context.input();
        let complete = is_blank(text)
            || is_farewell(text)
            || shortcut(text).is_some()
            || next_statement(text, false).is_some();
        Ok(if complete { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

impl Highlighter for Assistant {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        Cow::Owned(colours::coloured(line, words::is_keyword))
    }

    fn highlight_char(&self, _: &str, _: usize, kind: CmdKind) -> bool {
        kind != CmdKind::MoveCursor
    }

    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        Cow::Owned(format!("\x1b[1;34m{prompt}\x1b[0m"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_parting_and_of_change_are_known() {
        assert!(is_farewell(" exit; ") && is_farewell("QUIT") && !is_farewell("select 1"));
        assert!(changes_names("  create table t") && changes_names("USE x") && !changes_names("SELECT 1"));
    }
}
