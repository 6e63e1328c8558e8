//! Identifiers as types of their own, so that one cannot stand where another is meant.
//!
//! Invariant: an id is never reused. Random ids are made by `host::Random` and handed in as bytes.

use std::fmt;
use std::sync::Arc;

use uuid::Uuid;

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// Makes a version 4 UUID out of sixteen random bytes.
            pub fn from_random_bytes(bytes: [u8; 16]) -> Self {
                Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
            }

            pub fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }

            pub fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }

            /// Reads the hyphenated text form; `None` if `text` is not a UUID.
            pub fn parse(text: &str) -> Option<Self> {
                Uuid::parse_str(text).ok().map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0.hyphenated())
            }
        }
    };
}

uuid_id!(
    /// A database; survives renames.
    DatabaseId
);
uuid_id!(
    /// A table; survives renames, names the folder of its parts.
    TableId
);
uuid_id!(
    /// A part; names its file `<uuid>.parquet`.
    PartId
);
uuid_id!(
    /// One transaction; what a doubtful commit is recognised by.
    TxnId
);
uuid_id!(
    /// One bulk load over all its attempts.
    LoadId
);
uuid_id!(
    /// One INSERT that writes objects outside of the database.
    ExportId
);

impl PartId {
    /// Makes a version 7 UUID (RFC 9562) of a time, milliseconds since 1970 UTC, and random bytes. A part whose file may be swept away
    /// is known by the time in its id, for whoever sweeps and for whoever admits it alike.
    pub fn made_at(at_ms: u64, random: [u8; 16]) -> Self {
        let mut last = [0; 10];
        last.copy_from_slice(&random[..10]);
        Self(uuid::Builder::from_unix_timestamp_millis(at_ms, &last).into_uuid())
    }

    /// The time in the id, milliseconds since 1970 UTC; 0 if it has none.
    pub fn made_ms(&self) -> u64 {
        if self.0.get_version_num() != 7 {
            return 0;
        }
        self.0.as_bytes()[..6].iter().fold(0, |ms, byte| ms << 8 | u64::from(*byte))
    }
}

/// A column of one table. Never reused within the table, also after DROP COLUMN. Written as the Parquet field id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ColumnId(pub u32);

/// Position of a record in the log and our only clock. The first record is 1; 0 means "before everything".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Seq(pub u64);

impl Seq {
    pub const ZERO: Seq = Seq(0);

    pub fn next(self) -> Seq {
        Seq(self.0 + 1)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A cut of the input of one load; numbered from 0 in the order of the frozen listing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct UnitId(pub u32);

/// The user's name of a load, unique in its database for as long as labels are kept.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Label(Arc<str>);

/// Longest label accepted, in bytes; StarRocks' limit.
pub const LABEL_BYTES_MAX: usize = 128;

impl Label {
    /// Letters, digits, `_` and `-`, 1 to [`LABEL_BYTES_MAX`] bytes; `None` otherwise.
    pub fn new(text: &str) -> Option<Self> {
        let valid = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        (!text.is_empty() && text.len() <= LABEL_BYTES_MAX && text.chars().all(valid))
            .then(|| Self(text.into()))
    }

    /// Of a load that nobody named, opened by a server of this id: no user can write it.
    pub fn hidden(server: u128, load: LoadId) -> Self {
        let load: String = load.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        Self(format!("{HIDDEN}{server:032x}-{load}").into())
    }

    /// As it was stored: one that [`Label::new`] or [`Label::hidden`] made.
    pub fn stored(text: &str) -> Option<Self> {
        match text.strip_prefix(HIDDEN) {
            Some(rest) => Self::new(rest).map(|_| Self(text.into())),
            None => Self::new(text),
        }
    }

    /// The server that opened the load, if nobody named it.
    pub fn hidden_of(&self) -> Option<u128> {
        let (server, _) = self.0.strip_prefix(HIDDEN)?.split_once('-')?;
        u128::from_str_radix(server, 16).ok()
    }

    pub fn is_hidden(&self) -> bool {
        self.0.starts_with(HIDDEN)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Before the label of a load that nobody named.
const HIDDEN: char = '~';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_print_and_parse() {
        let id = PartId::from_random_bytes([7; 16]);
        assert_eq!(PartId::parse(&id.to_string()), Some(id));
        assert_eq!(PartId::parse("nonsense"), None);
    }

    #[test]
    fn ids_of_parts_know_their_time() {
        let id = PartId::made_at(1_700_000_000_123, [0xff; 16]);
        assert_eq!((id.made_ms(), id.to_string().as_bytes()[14]), (1_700_000_000_123, b'7'));
        assert!(id < PartId::made_at(1_700_000_000_124, [0; 16]));
        assert_eq!(PartId::from_random_bytes([7; 16]).made_ms(), 0);
    }

    #[test]
    fn labels_have_rules() {
        assert!(Label::new("daily-2026_01").is_some());
        assert!(Label::new("").is_none());
        assert!(Label::new("a b").is_none());
        assert!(Label::new(&"x".repeat(LABEL_BYTES_MAX + 1)).is_none());
    }

    #[test]
    fn hidden_labels_name_their_server_and_are_no_users() {
        let label = Label::hidden(7, LoadId::from_bytes([3; 16]));
        assert!(label.is_hidden() && Label::new(label.as_str()).is_none());
        assert_eq!(label.hidden_of(), Some(7));
        assert_eq!(Label::stored(label.as_str()), Some(label));
        assert_eq!(Label::stored("~a b"), None);
        let named = Label::stored("daily").unwrap();
        assert!(!named.is_hidden() && named.hidden_of().is_none());
    }
}
