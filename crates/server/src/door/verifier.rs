//! What is kept of a password: PBKDF2 with SHA-256, as text `pbkdf2-sha256$rounds$salt$hash` (base64 without padding).
//!
//! Invariant: a password cannot be read from its verifier, nor from a message of this file; comparing takes the same time
//! whatever is compared.

use std::fmt;
use std::num::NonZeroU32;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use ring::pbkdf2::{self, PBKDF2_HMAC_SHA256};

const SCHEME: &str = "pbkdf2-sha256";
/// About 30 ms of a core: enough to make guessing a stolen file slow, little next to a connection.
const ROUNDS: NonZeroU32 = NonZeroU32::new(100_000).unwrap();
/// A file that asks for more would make every login hang.
const ROUNDS_MAX: u32 = 10_000_000;
const SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 32;

/// See the module.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    rounds: NonZeroU32,
    salt: Vec<u8>,
    hash: Vec<u8>,
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier")
    }
}

impl Verifier {
    /// The verifier of a password, under a salt of its own.
    pub fn new(password: &str, random: &dyn host::Random) -> Verifier {
        let (mut salt, mut hash) = (vec![0; SALT_BYTES], vec![0; HASH_BYTES]);
        random.fill(&mut salt);
        pbkdf2::derive(PBKDF2_HMAC_SHA256, ROUNDS, &salt, password.as_bytes(), &mut hash);
        Verifier { rounds: ROUNDS, salt, hash }
    }

    /// A verifier of no password, which takes as long as any.
    pub(crate) fn of_nobody(random: &dyn host::Random) -> Verifier {
        let (mut salt, mut hash) = (vec![0; SALT_BYTES], vec![0; HASH_BYTES]);
        random.fill(&mut salt);
        random.fill(&mut hash);
        Verifier { rounds: ROUNDS, salt, hash }
    }

    /// Reads the text of a verifier; `None` when it is none.
    pub fn parse(text: &str) -> Option<Verifier> {
        let mut pieces = text.split('$');
        let (scheme, rounds) = (pieces.next()?, pieces.next()?);
        let (salt, hash) = (pieces.next()?, pieces.next()?);
        let rounds: u32 = rounds.parse().ok()?;
        if scheme != SCHEME || rounds > ROUNDS_MAX || pieces.next().is_some() {
            return None;
        }
        let (salt, hash) = (STANDARD_NO_PAD.decode(salt).ok()?, STANDARD_NO_PAD.decode(hash).ok()?);
        let verifier = Verifier { rounds: NonZeroU32::new(rounds)?, salt, hash };
        (verifier.salt.len() >= 8 && verifier.hash.len() == HASH_BYTES).then_some(verifier)
    }

    /// Whether this is the password. Takes a while.
    pub(crate) fn accepts(&self, password: &str) -> bool {
        let done =
            pbkdf2::verify(PBKDF2_HMAC_SHA256, self.rounds, &self.salt, password.as_bytes(), &self.hash);
        done.is_ok()
    }
}

impl fmt::Display for Verifier {
    /// The text that [`Verifier::parse`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (salt, hash) = (STANDARD_NO_PAD.encode(&self.salt), STANDARD_NO_PAD.encode(&self.hash));
        write!(f, "{SCHEME}${}${salt}${hash}", self.rounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_password_is_accepted_and_texts_are_read_back() {
        let random = host::SystemRandom::new().unwrap();
        let verifier = Verifier::new("correct horse", &random);
        let again = Verifier::parse(&verifier.to_string()).unwrap();
        assert_eq!(again, verifier);
        assert!(again.accepts("correct horse"));
        assert!(!again.accepts("correct horsf") && !again.accepts(""));
        assert_ne!(Verifier::new("correct horse", &random), verifier, "every verifier has its own salt");
        assert!(!Verifier::of_nobody(&random).accepts(""));
    }

    #[test]
    fn other_texts_are_no_verifiers() {
        for text in [
            "",
            "secret",
            "pbkdf2-sha256$0$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            "pbkdf2-sha256$99999999$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            "pbkdf2-sha256$1000$AA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            "pbkdf2-sha256$1000$AAAAAAAAAAAAAAAAAAAAAA$AAAA",
            "bcrypt$1000$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        ] {
            assert_eq!(Verifier::parse(text), None, "{text}");
        }
    }
}
