//! What CREATE DICTIONARY says.
//!
//! Invariant: texts of expressions are as ClickHouse prints them, so that what is shown is read again. Must not know: how a
//! dictionary is read.

use model::ColumnType;

use super::TableName;

#[derive(Clone, PartialEq, Debug)]
pub struct CreateDictionary {
    pub name: TableName,
    pub if_not_exists: bool,
    pub or_replace: bool,
    pub dictionary: Dictionary,
    pub comment: String,
}

/// What stands behind the name.
#[derive(Clone, PartialEq, Debug)]
pub struct Dictionary {
    pub attributes: Vec<DictionaryAttribute>,
    pub primary_key: Vec<String>,
    pub source: DictionarySource,
    /// Seconds, the least and the most; a DIRECT one has none.
    pub lifetime: Option<(u64, u64)>,
    pub layout: DictionaryLayout,
    /// The attributes between whose values a row holds: RANGE(MIN .. MAX ..).
    pub range: Option<(String, String)>,
    /// SETTINGS, as written.
    pub settings: Vec<(String, String)>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct DictionaryAttribute {
    pub name: String,
    pub column_type: ColumnType,
    /// A literal.
    pub default: Option<String>,
    /// What the source is asked for in its place.
    pub expression: Option<String>,
    pub is_hierarchical: bool,
    /// Of one that is: keys below others are asked for.
    pub is_bidirectional: bool,
    pub is_injective: bool,
    pub is_object_id: bool,
}

/// Where its rows are.
#[derive(Clone, PartialEq, Debug)]
pub enum DictionarySource {
    /// A table of this server, or a query.
    ClickHouse(Vec<(String, SourceValue)>),
    /// A file, as table function `file` reads it.
    File(Vec<(String, SourceValue)>),
    /// A page, as table function `url` reads it.
    Http(Vec<(String, SourceValue)>),
    /// Nowhere: it is empty.
    Null,
}

impl DictionarySource {
    /// Its word.
    pub fn word(&self) -> &'static str {
        match self {
            DictionarySource::ClickHouse(_) => "CLICKHOUSE",
            DictionarySource::File(_) => "FILE",
            DictionarySource::Http(_) => "HTTP",
            DictionarySource::Null => "NULL",
        }
    }

    /// What it is given.
    pub fn parameters(&self) -> &[(String, SourceValue)] {
        match self {
            DictionarySource::ClickHouse(parameters)
            | DictionarySource::File(parameters)
            | DictionarySource::Http(parameters) => parameters,
            DictionarySource::Null => &[],
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SourceValue {
    Text(String),
    /// Without quotes.
    Name(String),
    Number(String),
    /// `currentDatabase()`, until it is known.
    CurrentDatabase,
}

/// The layout and what it is given, as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DictionaryLayout {
    pub kind: LayoutKind,
    pub arguments: Vec<(String, String)>,
    /// `FLAT()`, not `FLAT`.
    pub has_parentheses: bool,
}

/// ClickHouse's layouts, as far as they are there. Those that look for a whole key find the same rows, but of several of one key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LayoutKind {
    Flat,
    Hashed,
    SparseHashed,
    HashedArray,
    Direct,
    Cache,
    ComplexKeyHashed,
    ComplexKeySparseHashed,
    ComplexKeyHashedArray,
    ComplexKeyDirect,
    ComplexKeyCache,
    RangeHashed,
    ComplexKeyRangeHashed,
    IpTrie,
}

impl LayoutKind {
    /// Each with its word, and with what `system.dictionaries` calls it.
    pub const ALL: [(LayoutKind, &'static str, &'static str); 14] = [
        (LayoutKind::Flat, "FLAT", "Flat"),
        (LayoutKind::Hashed, "HASHED", "Hashed"),
        (LayoutKind::SparseHashed, "SPARSE_HASHED", "SparseHashed"),
        (LayoutKind::HashedArray, "HASHED_ARRAY", "HashedArray"),
        (LayoutKind::Direct, "DIRECT", "Direct"),
        (LayoutKind::Cache, "CACHE", "Cache"),
        (LayoutKind::ComplexKeyHashed, "COMPLEX_KEY_HASHED", "ComplexKeyHashed"),
        (LayoutKind::ComplexKeySparseHashed, "COMPLEX_KEY_SPARSE_HASHED", "ComplexKeySparseHashed"),
        (LayoutKind::ComplexKeyHashedArray, "COMPLEX_KEY_HASHED_ARRAY", "ComplexKeyHashedArray"),
        (LayoutKind::ComplexKeyDirect, "COMPLEX_KEY_DIRECT", "ComplexKeyDirect"),
        (LayoutKind::ComplexKeyCache, "COMPLEX_KEY_CACHE", "ComplexKeyCache"),
        (LayoutKind::RangeHashed, "RANGE_HASHED", "RangeHashed"),
        (LayoutKind::ComplexKeyRangeHashed, "COMPLEX_KEY_RANGE_HASHED", "ComplexKeyRangeHashed"),
        (LayoutKind::IpTrie, "IP_TRIE", "Trie"),
    ];

    /// The word of it.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(kind, ..)| *kind == self).map_or("", |(_, word, _)| word)
    }

    /// Keys are tuples, also of one value.
    pub fn is_complex(self) -> bool {
        self.word().starts_with("COMPLEX_KEY_")
    }

    /// Every question is one to the source.
    pub fn is_direct(self) -> bool {
        matches!(self, LayoutKind::Direct | LayoutKind::ComplexKeyDirect)
    }

    /// A row holds for a range.
    pub fn has_ranges(self) -> bool {
        matches!(self, LayoutKind::RangeHashed | LayoutKind::ComplexKeyRangeHashed)
    }

    /// Of rows of one key the last one stays, not the first.
    pub fn keeps_last(self) -> bool {
        use LayoutKind::{Cache, ComplexKeyCache, Flat};
        self.is_direct() || matches!(self, Flat | Cache | ComplexKeyCache)
    }
}

impl Dictionary {
    /// Whether its key is one integer, which is a UInt64 whatever it was declared.
    pub fn is_simple(&self) -> bool {
        let [key] = self.primary_key.as_slice() else { return false };
        let key = self.attributes.iter().find(|attribute| attribute.name == *key);
        use ColumnType::{Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
        let is_integer = key.is_some_and(|key| {
            matches!(key.column_type, UInt8 | UInt16 | UInt32 | UInt64 | Int8 | Int16 | Int32 | Int64)
        });
        is_integer && !self.layout.kind.is_complex()
    }

    fn is_key(&self, attribute: &DictionaryAttribute) -> bool {
        self.primary_key.contains(&attribute.name)
    }

    /// Its keys with their types, in the order of PRIMARY KEY.
    pub fn keys(&self) -> Vec<(&DictionaryAttribute, ColumnType)> {
        let is_simple = self.is_simple();
        let found = |key: &String| self.attributes.iter().find(|attribute| attribute.name == *key);
        let typed = |attribute: &DictionaryAttribute| match is_simple {
            true => ColumnType::UInt64,
            false => attribute.column_type.clone(),
        };
        let keys = self.primary_key.iter().filter_map(found);
        keys.map(|attribute| (attribute, typed(attribute))).collect()
    }

    /// The attributes between whose values a row holds, the first and the last, with the type of both.
    pub fn range_of(&self) -> Option<(&DictionaryAttribute, &DictionaryAttribute, ColumnType)> {
        let (from, to) = self.range.as_ref()?;
        let find = |name: &str| self.attributes.iter().find(|attribute| attribute.name == *name);
        let (from, to) = (find(from)?, find(to)?);
        Some((from, to, from.column_type.value_type().clone()))
    }

    /// Where several ranges are around a point, the last one means something, not the first.
    pub fn takes_last_range(&self) -> bool {
        let is_last = |(name, value): &(String, String)| name == "RANGE_LOOKUP_STRATEGY" && value == "'max'";
        self.layout.arguments.iter().any(is_last)
    }

    /// The attribute that names the key above.
    pub fn parent(&self) -> Option<&DictionaryAttribute> {
        self.attributes.iter().find(|attribute| attribute.is_hierarchical)
    }

    /// What it is asked for by its keys.
    pub fn values(&self) -> impl Iterator<Item = &DictionaryAttribute> {
        let is_range = |name: &str| self.range.as_ref().is_some_and(|(from, to)| name == from || name == to);
        self.attributes.iter().filter(move |value| !self.is_key(value) && !is_range(&value.name))
    }
}
