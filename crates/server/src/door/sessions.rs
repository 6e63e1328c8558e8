//! Sessions that outlive their requests, by `session_id`.
//!
//! Invariant: a session belongs to one user and runs one statement at a time; one nobody uses goes after its time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use engine::{Database, Error, ErrorCode, ErrorKind, Session};
use host::Clock;
use parking_lot::Mutex;

/// Whose session, and which.
type Key = (String, String);

struct Entry {
    session: Arc<Session>,
    in_use: bool,
    timeout: Duration,
    expires: Duration,
}

/// All named sessions.
pub(crate) struct Sessions {
    entries: Mutex<HashMap<Key, Entry>>,
    clock: Arc<dyn Clock>,
    sessions_max: usize,
}

/// What a request says about its session.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) id: String,
    pub(crate) timeout: Duration,
    /// The session must be there.
    pub(crate) check: bool,
    /// The session ends with this request.
    pub(crate) close: bool,
}

impl Sessions {
    pub(crate) fn new(clock: Arc<dyn Clock>, sessions_max: usize) -> Arc<Sessions> {
        Arc::new(Sessions { entries: Mutex::default(), clock, sessions_max })
    }

    /// The session of this name, made by `make` if there is none.
    ///
    /// # Errors
    /// It is not there and should be, it is in use, or there are too many.
    pub(crate) fn take(
        self: &Arc<Self>,
        user: &str,
        wish: &Wish,
        make: impl FnOnce() -> Result<Session, Error>,
    ) -> Result<Lease, Error> {
        let key = (user.to_owned(), wish.id.clone());
        let now = self.clock.monotonic();
        let mut entries = self.entries.lock();
        if entries.get(&key).is_some_and(|entry| !entry.in_use && entry.expires <= now) {
            entries.remove(&key);
        }
        if let Some(entry) = entries.get_mut(&key) {
            if entry.in_use {
                let message = format!("session \"{}\" runs another statement", wish.id.escape_debug());
                return Err(Error::new(ErrorKind::Conflict, ErrorCode::SESSION_IS_LOCKED, message)
                    .with_hint("one statement at a time; use another session_id"));
            }
            (entry.in_use, entry.timeout) = (true, wish.timeout);
            let session = Arc::clone(&entry.session);
            return Ok(Lease {
                session,
                named: Some((Arc::clone(self), key, wish.close)),
                guests: Vec::new(),
            });
        }
        if wish.check {
            let message = format!("session \"{}\" is not there, or its time is over", wish.id.escape_debug());
            return Err(Error::new(ErrorKind::UnknownObject, ErrorCode::SESSION_NOT_FOUND, message));
        }
        if entries.len() >= self.sessions_max {
            entries.retain(|_, entry| entry.in_use || entry.expires > now);
        }
        if entries.len() >= self.sessions_max {
            let message = format!("there are {} sessions, which is the limit", entries.len());
            return Err(Error::new(ErrorKind::Limit, ErrorCode::USER_SESSION_LIMIT_EXCEEDED, message)
                .with_hint("leave session_id out, or wait"));
        }
        let session = Arc::new(make()?);
        let entry = Entry {
            session: Arc::clone(&session),
            in_use: true,
            timeout: wish.timeout,
            expires: now + wish.timeout,
        };
        entries.insert(key.clone(), entry);
        Ok(Lease { session, named: Some((Arc::clone(self), key, wish.close)), guests: Vec::new() })
    }

    /// Lets sessions go whose time is over.
    pub(crate) fn sweep(&self) {
        let now = self.clock.monotonic();
        let mut gone = Vec::new();
        self.entries.lock().retain(|_, entry| {
            let stays = entry.in_use || entry.expires > now;
            if !stays {
                gone.push(Arc::clone(&entry.session));
            }
            stays
        });
        // What they held is freed without the lock.
        drop(gone);
    }

    pub(crate) fn count(&self) -> usize {
        self.entries.lock().len()
    }
}

/// A session for the time of one request.
pub(crate) struct Lease {
    session: Arc<Session>,
    named: Option<(Arc<Sessions>, Key, bool)>,
    /// Temporary tables that came with the request and go with it.
    guests: Vec<String>,
}

impl Lease {
    /// A session of this request alone.
    pub(crate) fn unnamed(session: Session) -> Lease {
        Lease { session: Arc::new(session), named: None, guests: Vec::new() }
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// A temporary table of the session belongs to the request alone.
    pub(crate) fn entertain(&mut self, table: String) {
        self.guests.push(table);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        for table in &self.guests {
            self.session.forget_temporary(table);
        }
        let Some((sessions, key, close)) = self.named.take() else { return };
        let now = sessions.clock.monotonic();
        let mut entries = sessions.entries.lock();
        if close {
            entries.remove(&key);
        } else if let Some(entry) = entries.get_mut(&key) {
            (entry.in_use, entry.expires) = (false, now + entry.timeout);
        }
    }
}

/// A new session of a user; `readonly` binds all of its statements.
pub(crate) fn new_session(database: &Arc<Database>, readonly: u8) -> Result<Session, Error> {
    let session = database.session();
    if readonly > 0 {
        session.set("readonly", &readonly.to_string())?;
    }
    Ok(session)
}
