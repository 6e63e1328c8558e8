//! `gristmill client`: the shell of `local`, with the statements run by a server.
//!
//! Invariant: a password comes from GRISTMILL_PASSWORD, from the terminal or from its option, and goes nowhere but to
//! the server.

use std::fmt;
use std::io::{self, IsTerminal};

use clap::Args;
use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers, read};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use host::{Host, Runtimes};

use crate::batch::{Script, StatementArgs};
use crate::failure::Failure;
use crate::local::output_format;
use crate::options::Setting;
use crate::remote::{Address, Remote};
use crate::runner::Runner;
use crate::terminal;

const PASSWORD_VARIABLE: &str = "GRISTMILL_PASSWORD";
/// Where `gristmill server` listens by itself, without and with TLS.
const PORT: u16 = 8123;
const SECURE_PORT: u16 = 8443;

#[derive(Args, Debug)]
pub(crate) struct ClientArgs {
    #[command(flatten)]
    statements: StatementArgs,
    /// Name or address of the server
    #[arg(long, default_value = "localhost")]
    host: String,
    /// Its HTTP port [default: 8123, with --secure 8443]
    #[arg(long)]
    port: Option<u16>,
    /// Speak TLS
    #[arg(long)]
    secure: bool,
    #[arg(short, long, default_value = "default")]
    user: String,
    /// Password; without a value it is asked for. GRISTMILL_PASSWORD is the better place: others may see a command line
    #[arg(long, num_args = 0..=1, default_missing_value = "")]
    password: Option<Secret>,
    /// Current database
    #[arg(short, long)]
    database: Option<String>,
    /// Format of answers that name none [default: PrettyCompact at a terminal, TabSeparated otherwise]
    #[arg(short, long, visible_alias = "output-format")]
    format: Option<String>,
    /// Print the closing line of each statement even when nobody is at the terminal
    #[arg(long)]
    stats: bool,
}

/// A text that is not printed.
#[derive(Clone)]
struct Secret(String);

impl From<String> for Secret {
    fn from(text: String) -> Secret {
        Secret(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[HIDDEN]")
    }
}

/// The command.
pub(crate) fn run(
    args: &ClientArgs,
    settings: &[Setting],
    host: &Host,
    runtimes: &Runtimes,
) -> Result<(), Failure> {
    let format = output_format(args.format.as_deref())?;
    let address = Address {
        host: args.host.clone(),
        port: args.port.unwrap_or(if args.secure { SECURE_PORT } else { PORT }),
        secure: args.secure,
        user: args.user.clone(),
        password: password(args)?,
    };
    let remote = Remote::new(&address, &host.random)?;
    let script = Script::new(&args.statements, args.database.as_deref(), settings)?;
    let runner = Runner::of_server(remote, host, format, args.stats || script.is_interactive());
    if script.is_interactive() {
        // Somebody who cannot get in is told before typing a statement.
        runtimes.block_on(runner.rows("SELECT version()"))?;
    }
    script.run(&runner, runtimes)
}

fn password(args: &ClientArgs) -> Result<Option<String>, Failure> {
    match &args.password {
        Some(Secret(given)) if !given.is_empty() => Ok(Some(given.clone())),
        Some(_) => ask_password(&args.user).map(Some),
        None => Ok(std::env::var(PASSWORD_VARIABLE).ok()),
    }
}

/// Reads a line from the terminal without showing it.
fn ask_password(user: &str) -> Result<String, Failure> {
    if !io::stdin().is_terminal() {
        let message = format!("nobody is there to type the password of \"{user}\"; set {PASSWORD_VARIABLE}");
        return Err(Failure::new(message));
    }
    terminal::note(&format!("Password of \"{user}\" (not shown):"));
    enable_raw_mode()?;
    let typed = read_hidden();
    disable_raw_mode()?;
    typed
}

fn read_hidden() -> Result<String, Failure> {
    let mut typed = String::new();
    loop {
        let Event::Key(key) = read()? else { continue };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        match key.code {
            KeyCode::Enter => return Ok(typed),
            KeyCode::Char('c' | 'd') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return Err(Failure::new("no password was given"));
            }
            KeyCode::Char(character) => typed.push(character),
            KeyCode::Backspace => {
                typed.pop();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_printed() {
        assert_eq!(format!("{:?}", Secret::from("s3cr3t".to_owned())), "[HIDDEN]");
    }
}
