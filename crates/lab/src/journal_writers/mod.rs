//! The hidden command that `tests/crash/labels9.py` kills: writers that insert with labels and keep journals.
//!
//! Each writer notes what it is about to send, sends it, notes the answer. Started again, it first repeats what it was
//! never answered, under the same label. One more thread optimizes the table meanwhile, so that flushes and merges are
//! under way. Invariant: no statement is sent that the journal does not name; an answer that no writer expects ends the
//! run with it. Must not know: what is in the table, which is for the script to check.

mod attempt;
mod journal;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use engine::{Config, Database, Error, ErrorKind, Request, Session};
use futures::future::{join, try_join_all};
use host::{Host, Runtimes};

use crate::failure::Failure;
use crate::terminal;
use attempt::{Attempt, CREATE, Kind, mixed};
use journal::Journal;

/// Between two OPTIMIZE, at least and at most.
const OPTIMIZE_PAUSE_MS: std::ops::Range<u64> = 50..400;

#[derive(Args, Debug)]
pub struct JournalWritersArgs {
    /// Folder of the database
    #[arg(long)]
    path: PathBuf,
    /// Folder of the journals, one file a writer
    #[arg(long)]
    journals: PathBuf,
    #[arg(long, default_value_t = 8)]
    writers: u64,
    /// New statements of each writer; 0 only repeats what was never answered
    #[arg(long, default_value_t = u64::MAX)]
    statements: u64,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The command. Call from outside the runtimes.
pub fn run(args: &JournalWritersArgs, host: &Host, runtimes: &Runtimes) -> Result<(), Failure> {
    let journals = std::path::absolute(&args.journals)?;
    host.disk.create_dir_all(&journals)?;
    let database = Database::open(Config { root: Some(args.path.clone()), ..Config::default() })?;
    runtimes.block_on(answer(&database.session(), CREATE))?;
    let stop = Arc::new(AtomicBool::new(false));
    let mut ends = Vec::new();
    for client in 0..args.writers {
        let (journal, resume) =
            Journal::open(host.disk.as_ref(), &journals.join(format!("writer{client}.journal")))?;
        let writer = Writer {
            client,
            seed: args.seed,
            session: database.session(),
            journal,
            runtimes: runtimes.clone(),
            stop: Arc::clone(&stop),
        };
        let statements = args.statements;
        ends.push(runtimes.spawn_thread("writer", move || writer.run(resume, statements))?);
    }
    let optimizer = optimize(&database, host, runtimes, &stop, args.seed)?;
    let written = runtimes.block_on(try_join_all(ends.into_iter().map(|end| async move { flat(end.await) })));
    stop.store(true, Ordering::Relaxed);
    let optimized = flat(runtimes.block_on(optimizer));
    runtimes.block_on(database.close());
    written.and(optimized)
}

/// A thread that broke is a failure like any other.
fn flat(end: Result<Result<(), Failure>, impl std::error::Error>) -> Result<(), Failure> {
    end.unwrap_or_else(|broken| Err(Failure::new(format!("a thread broke: {broken}"))))
}

async fn answer(session: &Session, sql: &str) -> Result<(), Error> {
    session.execute(Request::new(sql)).await?.collect().await?;
    Ok(())
}

type End = tokio::sync::oneshot::Receiver<Result<(), Failure>>;

/// Flushes and merges for as long as there are writers.
fn optimize(
    database: &Arc<Database>,
    host: &Host,
    runtimes: &Runtimes,
    stop: &Arc<AtomicBool>,
    seed: u64,
) -> Result<End, Failure> {
    let (session, clock) = (database.session(), Arc::clone(&host.clock));
    let (waiting, stop) = (runtimes.clone(), Arc::clone(stop));
    let pause_ms = move |turn: u64| {
        OPTIMIZE_PAUSE_MS.start + mixed(seed ^ turn) % (OPTIMIZE_PAUSE_MS.end - OPTIMIZE_PAUSE_MS.start)
    };
    let work = move || {
        for turn in 0.. {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            clock.sleep(Duration::from_millis(pause_ms(turn)));
            let sql = if turn % 5 == 4 { "OPTIMIZE TABLE t FINAL" } else { "OPTIMIZE TABLE t" };
            // A background merge may be faster, which is a conflict and no failure.
            if let Err(error) = waiting.block_on(answer(&session, sql))
                && error.kind != ErrorKind::Conflict
            {
                // Said at once: the writers may go on for ever.
                terminal::note(&format!("{sql}: {error}"));
                return Err(Failure::new(format!("{sql}: {error}")));
            }
        }
        Ok(())
    };
    Ok(runtimes.spawn_thread("optimizer", work)?)
}

struct Writer {
    client: u64,
    seed: u64,
    session: Session,
    journal: Journal,
    runtimes: Runtimes,
    /// Another writer failed, or all are done.
    stop: Arc<AtomicBool>,
}

impl Writer {
    fn run(mut self, resume: journal::Resume, statements: u64) -> Result<(), Failure> {
        if let Some(sequence) = resume.pending {
            self.send(&Attempt::of(self.seed, self.client, sequence))?;
        }
        for sequence in resume.next..resume.next.saturating_add(statements) {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let attempt = Attempt::of(self.seed, self.client, sequence);
            self.journal.intend(&attempt, sequence)?;
            self.send(&attempt)?;
        }
        Ok(())
    }

    /// Sends the statement and notes how it ended.
    fn send(&mut self, attempt: &Attempt) -> Result<(), Failure> {
        let sql = attempt.sql();
        let ended = if attempt.kind == Kind::Twice {
            let both = join(answer(&self.session, &sql), answer(&self.session, &sql));
            let (one, other) = self.runtimes.block_on(both);
            either(one, other)
        } else {
            self.runtimes.block_on(answer(&self.session, &sql))
        };
        let Err(error) = ended else { return self.journal.answered(attempt, "ok", "") };
        let (word, expected) = match error.kind {
            ErrorKind::AlreadyExists => ("known", true),
            ErrorKind::OutcomeUnknown => ("unknown", false),
            _ => ("refused", attempt.kind == Kind::Broken),
        };
        self.journal.answered(attempt, word, &format!("{} {}", error.code, error.message))?;
        if expected {
            return Ok(());
        }
        self.stop.store(true, Ordering::Relaxed);
        Err(Failure::new(format!("{}: {error}", attempt.label())))
    }
}

/// The answer of a statement that was sent twice: one of them is enough, and a label that is there says the same.
fn either(one: Result<(), Error>, other: Result<(), Error>) -> Result<(), Error> {
    match (one, other) {
        (Ok(()), _) | (_, Ok(())) => Ok(()),
        (Err(known), Err(_)) if known.kind == ErrorKind::AlreadyExists => Err(known),
        (Err(_), Err(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use model::ErrorCode;

    use super::*;

    #[test]
    fn one_success_of_two_is_success() {
        let known = || Err(Error::new(ErrorKind::AlreadyExists, ErrorCode::TABLE_ALREADY_EXISTS, "label"));
        let bad = || Err(Error::new(ErrorKind::BadInput, ErrorCode::CANNOT_PARSE_DATE, "date"));
        assert!(either(Ok(()), known()).is_ok() && either(known(), Ok(())).is_ok());
        assert_eq!(either(known(), bad()).map_err(|error| error.code), Err(ErrorCode::TABLE_ALREADY_EXISTS));
        assert_eq!(either(bad(), known()).map_err(|error| error.code), Err(ErrorCode::TABLE_ALREADY_EXISTS));
        assert_eq!(either(bad(), bad()).map_err(|error| error.code), Err(ErrorCode::CANNOT_PARSE_DATE));
    }
}
