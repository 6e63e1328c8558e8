//! Who asks: credentials of a request against the configured users.
//!
//! Invariant: an unknown user and a wrong password get the same answer after the same work, and no answer holds a
//! password. What was right of users that are no longer the configured ones is right no more. Must not know: HTTP.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use engine::{Error, ErrorCode, ErrorKind};
use host::{Host, Runtimes};
use parking_lot::{Mutex, RwLock};
use ring::hmac;
use tokio::sync::Semaphore;

use crate::door::config::User;
use crate::door::verifier::Verifier;

/// Passwords checked at one time: guessing must not take the machine.
const CHECKS_AT_ONCE: usize = 2;
/// Bytes of a password that are looked at.
const PASSWORD_BYTES_MAX: usize = 1024;

/// What a request says about its sender.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub(crate) user: String,
    pub(crate) password: String,
}

/// The configured users.
pub(crate) struct Users {
    users: RwLock<BTreeMap<String, Arc<User>>>,
    nobody: Verifier,
    /// Of this process alone; what it signs is worthless elsewhere.
    key: hmac::Key,
    /// The last password of each user that was right, signed: clients send it with every request.
    accepted: Mutex<BTreeMap<String, hmac::Tag>>,
    checks: Semaphore,
    runtimes: Runtimes,
}

impl Users {
    pub(crate) fn new(users: &[User], host: &Host, runtimes: &Runtimes) -> Users {
        let mut key = [0; 32];
        host.random.fill(&mut key);
        Users {
            users: RwLock::new(by_name(users)),
            nobody: Verifier::of_nobody(host.random.as_ref()),
            key: hmac::Key::new(hmac::HMAC_SHA256, &key),
            accepted: Mutex::default(),
            checks: Semaphore::new(CHECKS_AT_ONCE),
            runtimes: runtimes.clone(),
        }
    }

    /// These are the users from now on.
    pub(crate) fn replace(&self, users: &[User]) {
        let mut known = self.users.write();
        *known = by_name(users);
        self.accepted.lock().clear();
    }

    /// The user these credentials belong to.
    ///
    /// # Errors
    /// They belong to nobody.
    pub(crate) async fn authenticated(&self, from: IpAddr, given: &Credentials) -> Result<Arc<User>, Error> {
        let known = self.users.read().get(&given.user).cloned();
        let known = known.as_ref();
        if let Some(user) = known
            && user.verifier.is_none()
            && given.password.is_empty()
            && from.is_loopback()
        {
            return Ok(Arc::clone(user));
        }
        let message = [given.user.as_bytes(), given.password.as_bytes()].join(&0);
        let seen = self.accepted.lock().get(&given.user).copied();
        if let (Some(user), Some(tag)) = (known, seen)
            && hmac::verify(&self.key, &message, tag.as_ref()).is_ok()
        {
            return Ok(Arc::clone(user));
        }
        let verifier = known.and_then(|user| user.verifier.clone());
        let can_match = verifier.is_some() && given.password.len() <= PASSWORD_BYTES_MAX;
        let verifier = verifier.unwrap_or_else(|| self.nobody.clone());
        let _turn = self.checks.acquire().await;
        let mut password = given.password.clone();
        password.truncate(password.floor_char_boundary(PASSWORD_BYTES_MAX));
        let matches = self.runtimes.spawn_blocking("password", move || verifier.accepts(&password)).await;
        match known {
            Some(user) if can_match && matches.unwrap_or(false) => {
                // Others may be the users by now: their passwords are not signed by this one.
                let users = self.users.read();
                if users.get(&user.name).is_some_and(|now| Arc::ptr_eq(now, user)) {
                    self.accepted.lock().insert(user.name.clone(), hmac::sign(&self.key, &message));
                }
                Ok(Arc::clone(user))
            }
            _ => Err(refused(&given.user)),
        }
    }
}

fn by_name(users: &[User]) -> BTreeMap<String, Arc<User>> {
    users.iter().map(|user| (user.name.clone(), Arc::new(user.clone()))).collect()
}

/// The one answer to credentials that are not right.
pub(crate) fn refused(user: &str) -> Error {
    let message = format!(
        "{}: Authentication failed: password is incorrect, or there is no user with such name",
        user.escape_debug()
    );
    Error::new(ErrorKind::Denied, ErrorCode::AUTHENTICATION_FAILED, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_right_passwords_and_the_machine_itself_come_in() {
        let host = Host::system(1 << 20).unwrap();
        let runtimes = Runtimes::new(1, 1).unwrap();
        let verifier = Some(Verifier::new("secret", host.random.as_ref()));
        let reader =
            User { name: "reader".to_owned(), verifier, readonly: 1, database: None, sees_all: false };
        let users = Users::new(&[User::unnamed(), reader], &host, &runtimes);
        let (here, there): (IpAddr, IpAddr) = ("127.0.0.1".parse().unwrap(), "10.0.0.1".parse().unwrap());
        for (from, user, password, comes_in) in [
            (here, "default", "", true),
            (there, "default", "", false),
            (here, "default", "not empty", false),
            (there, "reader", "secret", true),
            // Remembered.
            (there, "reader", "secret", true),
            (here, "reader", "", false),
            (there, "reader", "secreT", false),
            (here, "nobody", "", false),
            (here, "nobody", "secret", false),
        ] {
            let given = Credentials { user: user.to_owned(), password: password.to_owned() };
            let answer = runtimes.block_on(users.authenticated(from, &given));
            match answer {
                Ok(found) => assert!(comes_in && found.name == user, "{user} {password}"),
                Err(error) => {
                    assert!(!comes_in && error.code.number() == 516, "{user} {password}");
                    assert_eq!(error.message, refused(user).message);
                    assert!(password.is_empty() || !error.to_string().contains(password));
                }
            }
        }
    }

    #[test]
    fn a_password_that_was_replaced_is_right_no_more() {
        let host = Host::system(1 << 20).unwrap();
        let runtimes = Runtimes::new(1, 1).unwrap();
        let with = |password: &str| {
            let verifier = Some(Verifier::new(password, host.random.as_ref()));
            User { name: "ann".to_owned(), verifier, readonly: 0, database: None, sees_all: true }
        };
        let users = Users::new(&[with("old")], &host, &runtimes);
        let comes_in = |password: &str| {
            let given = Credentials { user: "ann".to_owned(), password: password.to_owned() };
            runtimes.block_on(users.authenticated("10.0.0.1".parse().unwrap(), &given)).is_ok()
        };
        assert!(comes_in("old") && comes_in("old"));
        users.replace(&[with("new")]);
        assert!(!comes_in("old") && comes_in("new"));
        users.replace(&[]);
        assert!(!comes_in("new"));
    }
}
