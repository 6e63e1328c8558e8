//! Numbers of an enum by name.
//!
//! Invariant: what is found is a number of the enum. Must not know: where texts come from.

use std::collections::HashMap;

use crate::column_type::EnumValues;

/// Names of up to this many are compared one by one.
const ENUM_SCAN_MAX: usize = 8;

/// Finds an enum's number by its name, or by the number's text.
#[derive(Debug)]
pub struct EnumLookup {
    names: Vec<(Box<[u8]>, i16)>,
    by_name: HashMap<Box<[u8]>, i16>,
}

impl EnumLookup {
    /// The lookup for an enum.
    pub fn new(values: &EnumValues) -> Self {
        let names: Vec<(Box<[u8]>, i16)> =
            values.iter().map(|(number, name)| (name.as_bytes().into(), number)).collect();
        let by_name =
            if names.len() > ENUM_SCAN_MAX { names.iter().cloned().collect() } else { HashMap::new() };
        Self { names, by_name }
    }

    /// The default of the column: the smallest number, as in ClickHouse.
    pub fn least(&self) -> i16 {
        self.names.first().map_or(0, |(_, number)| *number)
    }

    /// The number a text stands for; with `numbers` names are not looked at.
    pub fn find_as(&self, text: &[u8], numbers: bool) -> Option<i16> {
        if numbers { self.known(text) } else { self.find(text) }
    }

    fn known(&self, text: &[u8]) -> Option<i16> {
        let number: i16 = std::str::from_utf8(text).ok()?.parse().ok()?;
        self.names.iter().any(|(_, known)| *known == number).then_some(number)
    }

    fn find(&self, text: &[u8]) -> Option<i16> {
        let by_name = if self.by_name.is_empty() {
            self.names.iter().find(|(name, _)| name.as_ref() == text).map(|(_, number)| *number)
        } else {
            self.by_name.get(text).copied()
        };
        by_name.or_else(|| self.known(text))
    }
}
