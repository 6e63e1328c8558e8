//! Settings and parameters among the options of `local` and `client`: `--max_threads 4`, `--param_id=7`.
//!
//! Invariant: what is an option of the command is never taken for a setting. Must not know: which settings there are; the
//! database says so of each.

use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::{Arg, Command};

/// Commands whose statements have settings.
const COMMANDS: [&str; 2] = ["local", "client"];

/// A setting by its name, and its value as written.
pub(crate) type Setting = (String, String);

/// What is left for the parser of options, and the settings that stood among it.
pub(crate) fn split(
    program: &Command,
    arguments: impl Iterator<Item = OsString>,
) -> (Vec<OsString>, Vec<Setting>) {
    let (mut rest, mut settings) = (Vec::new(), Vec::new());
    let mut arguments = arguments.peekable();
    rest.extend(arguments.next());
    let name = arguments.peek().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let Some(command) = program.find_subcommand(&name).filter(|_| COMMANDS.contains(&name.as_str())) else {
        rest.extend(arguments);
        return (rest, settings);
    };
    let known = known(command);
    while let Some(argument) = arguments.next() {
        let written = argument.to_str().unwrap_or_default();
        if written == "--" {
            rest.push(argument);
            break;
        }
        let (option, value) = written.split_once('=').map_or((written, None), |(o, v)| (o, Some(v)));
        let has_value = known.get(option).copied();
        match option.strip_prefix("--").filter(|_| has_value.is_none()) {
            Some(setting) => {
                let value = value.map(str::to_owned).or_else(|| value_behind(&mut arguments));
                settings.push((setting.replace('-', "_"), value.unwrap_or_else(|| "1".to_owned())));
            }
            None => {
                let takes_next = has_value == Some(true) && value.is_none();
                rest.push(argument);
                rest.extend(takes_next.then(|| arguments.next()).flatten());
            }
        }
    }
    rest.extend(arguments);
    (rest, settings)
}

/// Options as they are typed, and whether the next argument is the value of one.
fn known(command: &Command) -> BTreeMap<String, bool> {
    let mut known = BTreeMap::from([("--help".to_owned(), false), ("-h".to_owned(), false)]);
    for argument in command.get_arguments() {
        let takes_next = takes_next(argument);
        let short = argument.get_short_and_visible_aliases().unwrap_or_default().into_iter();
        let long = argument.get_long_and_visible_aliases().unwrap_or_default().into_iter();
        known.extend(short.map(|name| (format!("-{name}"), takes_next)));
        known.extend(long.map(|name| (format!("--{name}"), takes_next)));
    }
    known
}

fn takes_next(argument: &Arg) -> bool {
    let may_be_without = argument.get_num_args().is_some_and(|count| count.min_values() == 0);
    argument.get_action().takes_values() && !may_be_without
}

/// The next argument, if it is no option.
fn value_behind(arguments: &mut std::iter::Peekable<impl Iterator<Item = OsString>>) -> Option<String> {
    let is_value = |next: &OsString| next.to_str().is_some_and(|next| !next.starts_with("--"));
    arguments.next_if(is_value)?.into_string().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split_words(words: &str) -> (String, Vec<Setting>) {
        let local = Command::new("local")
            .arg(Arg::new("query").short('q').long("query"))
            .arg(Arg::new("stats").long("stats").action(clap::ArgAction::SetTrue))
            .arg(Arg::new("password").long("password").num_args(0..=1));
        let program = Command::new("gristmill").subcommand(local).subcommand(Command::new("server"));
        let (rest, settings) = split(&program, words.split(' ').map(OsString::from));
        (rest.join(" ".as_ref()).into_string().unwrap(), settings)
    }

    fn setting(name: &str, value: &str) -> Setting {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn settings_are_what_the_command_does_not_know() {
        for (words, rest, settings) in [
            ("g local -q 1 --max_threads 4", "g local -q 1", vec![setting("max_threads", "4")]),
            ("g local --param_x=a=b --stats", "g local --stats", vec![setting("param_x", "a=b")]),
            (
                "g local --max-threads=4 -q --max_threads",
                "g local -q --max_threads",
                vec![setting("max_threads", "4")],
            ),
            ("g local --readonly --stats", "g local --stats", vec![setting("readonly", "1")]),
            ("g local --password --x 1", "g local --password", vec![setting("x", "1")]),
            ("g local --query=1 -- --x 1", "g local --query=1 -- --x 1", vec![]),
            ("g server --path x", "g server --path x", vec![]),
            ("g", "g", vec![]),
        ] {
            assert_eq!(split_words(words), (rest.to_owned(), settings), "{words}");
        }
    }
}
