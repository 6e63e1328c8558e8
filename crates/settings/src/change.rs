//! One setting and its value, as a statement, a URL or a configuration gives them.
//!
//! Invariant: the value is text as it was written. Must not know: which settings there are.

/// `name = value` of SET and SETTINGS.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingChange {
    pub name: String,
    pub value: SettingText,
}

/// A setting's value as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SettingText {
    /// A bare number, true or false.
    Bare(String),
    /// The inside of a quoted literal.
    Quoted(String),
    /// `DEFAULT`.
    Default,
}

impl SettingText {
    /// The value without quotes; `None` for DEFAULT.
    pub fn text(&self) -> Option<&str> {
        match self {
            SettingText::Bare(text) | SettingText::Quoted(text) => Some(text),
            SettingText::Default => None,
        }
    }
}

impl SettingChange {
    /// Whether it asks for the defaults of an older version, which other settings get.
    pub fn names_a_version(&self) -> bool {
        self.name == "compatibility"
    }
}
