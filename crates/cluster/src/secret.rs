//! The proof that a call comes from a server that holds the secret, was made for this one, and is new.
//!
//! ```text
//! <version>;<from>;<to>;<time, ms>;<nonce>;<SHA-256 of the first message>;<HMAC-SHA-256 of all of it and of the path>
//! ```
//! So a proof is checked before a byte of the message is read, and the message when it is there.
//! Times are the store's, which all servers share. Invariant: a proof counts once, for one server, within [`FRESH_MS`]; without a
//! secret the last field is empty, and who calls is on this machine. Must not know: the calls.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use ring::{digest, hmac};

use crate::CALLS_VERSION;
use crate::identity::Identity;

/// How old, or how far ahead, a proof may be.
const FRESH_MS: u64 = 30_000;

/// The header it stands in.
pub(crate) const HEADER: &str = "gristmill-peer";

/// Proofs that came, by nonce, until they are too old to count anyway.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    nonces: Mutex<BTreeMap<u128, u64>>,
}

/// Makes the proof of a call.
pub(crate) fn prove(me: &Identity, to: u128, path: &str, first: &[u8]) -> String {
    let nonce = u128::from_le_bytes(host::random::uuid_bytes(me.random.as_ref()));
    let now_ms = me.clock.now_ms();
    let head = format!("{CALLS_VERSION};{:032x};{to:032x};{now_ms};{nonce:032x};{}", me.id, sum_of(first));
    let tag = me
        .secret
        .as_deref()
        .map_or_else(String::new, |secret| hex(hmac::sign(&key(secret), &signed(&head, path)).as_ref()));
    format!("{head};{tag}")
}

/// A proof that counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Proven {
    /// Who calls.
    pub from: u128,
    /// Of its first message.
    sum: String,
}

impl Proven {
    /// Whether it was made for a call that begins with this message.
    pub(crate) fn is_for(&self, first: &[u8]) -> bool {
        self.sum == sum_of(first)
    }
}

/// Who makes a call.
///
/// # Errors
/// Why the proof does not count, in words that may be told to whoever calls.
pub(crate) fn check(me: &Identity, seen: &Seen, proof: &str, path: &str) -> Result<Proven, String> {
    let (head, tag) = proof.rsplit_once(';').ok_or("no proof of membership")?;
    let fields: Vec<&str> = head.split(';').collect();
    let &[version, from, to, time, nonce, sum] = fields.as_slice() else {
        return Err("no proof of membership".to_owned());
    };
    if version != CALLS_VERSION.to_string() {
        return Err(format!("calls of another version than {CALLS_VERSION}"));
    }
    let number = |text: &str| u128::from_str_radix(text, 16).map_err(|_| "no proof of membership");
    let (from, to, nonce) = (number(from)?, number(to)?, number(nonce)?);
    match &me.secret {
        Some(secret) => {
            let tag = unhex(tag).ok_or("another secret, or none")?;
            hmac::verify(&key(secret), &signed(head, path), &tag).map_err(|_| "another secret, or none")?;
        }
        None if !tag.is_empty() => return Err("a secret, and this server has none".to_owned()),
        None => {}
    }
    if to != me.id {
        return Err("it was meant for another server".to_owned());
    }
    let time: u64 = time.parse().map_err(|_| "no proof of membership")?;
    let now = me.clock.now_ms();
    if now.abs_diff(time) > FRESH_MS {
        return Err(format!("its time is {} s away", now.abs_diff(time) / 1000));
    }
    let mut nonces = seen.nonces.lock();
    nonces.retain(|_, made_ms| now.abs_diff(*made_ms) <= 2 * FRESH_MS);
    if nonces.insert(nonce, time).is_some() {
        return Err("it was heard before".to_owned());
    }
    Ok(Proven { from, sum: sum.to_owned() })
}

fn key(secret: &str) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes())
}

fn signed(head: &str, path: &str) -> Vec<u8> {
    format!("{head}\n{path}").into_bytes()
}

fn sum_of(message: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, message).as_ref())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || text.is_empty() || text.len() % 2 == 1 {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests;
