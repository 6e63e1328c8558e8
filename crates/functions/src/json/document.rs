//! One JSON text, parsed as a whole: a tape of nodes in the order of the text.
//!
//! Invariant: a text is either valid from end to end, by the rules of RFC 8259, or has no nodes at all. Must not know:
//! columns, types.

/// Deepest nesting that is read.
const DEPTH_MAX: usize = 1024;

/// A value, or the key before one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    Int(i64),
    /// Above the range of Int64.
    UInt(u64),
    /// Digits of the source: a whole number that no 64 bits hold.
    Whole {
        start: usize,
        end: usize,
    },
    Double(f64),
    /// Bytes of the source, or of the arena if there were escapes.
    Text {
        start: usize,
        end: usize,
        unescaped: bool,
    },
    Array,
    Object,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    kind: Kind,
    /// The node after this one and all inside it.
    next: usize,
    /// Elements or pairs.
    count: usize,
}

/// A parsed text; its memory is used again by the next.
#[derive(Debug, Default)]
pub(super) struct Document<'a> {
    source: &'a str,
    arena: String,
    nodes: Vec<Node>,
}

impl<'a> Document<'a> {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// The value of a text; `None` where it is not valid.
    pub(super) fn read(&mut self, source: &'a str) -> Option<Item<'_>> {
        self.source = source;
        self.arena.clear();
        self.nodes.clear();
        let mut parser = Parser { document: self, at: 0 };
        let valid = parser.value(0).is_some() && {
            parser.blanks();
            parser.at == source.len()
        };
        if !valid {
            self.nodes.clear();
        }
        self.root()
    }

    pub(super) fn root(&self) -> Option<Item<'_>> {
        (!self.nodes.is_empty()).then_some(Item { document: self, at: 0 })
    }
}

/// One value of a document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item<'d> {
    document: &'d Document<'d>,
    at: usize,
}

impl<'d> Item<'d> {
    pub(super) fn kind(self) -> Kind {
        self.document.nodes[self.at].kind
    }

    /// Elements of an array, pairs of an object, 0 for all else.
    pub(super) fn count(self) -> usize {
        self.document.nodes[self.at].count
    }

    /// The digits of a whole number beyond 64 bits.
    pub(super) fn digits(self) -> &'d str {
        match self.kind() {
            Kind::Whole { start, end } => &self.document.source[start..end],
            _ => "",
        }
    }

    /// The value of a text or key.
    pub(super) fn text(self) -> Option<&'d str> {
        let Kind::Text { start, end, unescaped } = self.kind() else { return None };
        Some(if unescaped { &self.document.arena[start..end] } else { &self.document.source[start..end] })
    }

    fn after(self) -> Item<'d> {
        Item { at: self.document.nodes[self.at].next, ..self }
    }

    /// The elements of an array; nothing for all else.
    pub(super) fn elements(self) -> impl Iterator<Item = Item<'d>> {
        let count = if self.kind() == Kind::Array { self.count() } else { 0 };
        std::iter::successors(Some(Item { at: self.at + 1, ..self }), |item| Some(item.after())).take(count)
    }

    /// Keys and values of an object; nothing for all else.
    pub(super) fn pairs(self) -> impl Iterator<Item = (&'d str, Item<'d>)> {
        let count = if self.kind() == Kind::Object { self.count() } else { 0 };
        let first = Item { at: self.at + 1, ..self };
        std::iter::successors(Some(first), |key| Some(key.after().after()))
            .take(count)
            .map(|key| (key.text().unwrap_or(""), key.after()))
    }
}

struct Parser<'p, 'a> {
    document: &'p mut Document<'a>,
    at: usize,
}

impl Parser<'_, '_> {
    fn byte(&self) -> Option<u8> {
        self.document.source.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        self.blanks();
        (self.byte()? == byte).then(|| self.at += 1)
    }

    fn push(&mut self, kind: Kind) -> usize {
        let at = self.document.nodes.len();
        self.document.nodes.push(Node { kind, next: at + 1, count: 0 });
        at
    }

    fn word(&mut self, word: &str, kind: Kind) -> Option<()> {
        let found = self.document.source.as_bytes()[self.at..].starts_with(word.as_bytes());
        found.then(|| {
            self.at += word.len();
            self.push(kind);
        })
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        self.blanks();
        match self.byte()? {
            b'{' | b'[' if depth == DEPTH_MAX => None,
            b'{' => self.container(Kind::Object, b'}', depth),
            b'[' => self.container(Kind::Array, b']', depth),
            b'"' => self.string(),
            b't' => self.word("true", Kind::Bool(true)),
            b'f' => self.word("false", Kind::Bool(false)),
            b'n' => self.word("null", Kind::Null),
            _ => self.number(),
        }
    }

    fn container(&mut self, kind: Kind, close: u8, depth: usize) -> Option<()> {
        self.at += 1;
        let own = self.push(kind);
        let mut count = 0;
        if self.take(close).is_none() {
            loop {
                if kind == Kind::Object {
                    self.blanks();
                    (self.byte()? == b'"').then_some(())?;
                    self.string()?;
                    self.take(b':')?;
                }
                self.value(depth + 1)?;
                count += 1;
                if self.take(b',').is_none() {
                    self.take(close)?;
                    break;
                }
            }
        }
        let next = self.document.nodes.len();
        let node = self.document.nodes.get_mut(own)?;
        (node.next, node.count) = (next, count);
        Some(())
    }

    fn string(&mut self) -> Option<()> {
        self.at += 1;
        let start = self.at;
        let rest = &self.document.source.as_bytes()[start..];
        let length = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1F))?;
        self.at = start + length;
        if self.byte()? == b'"' {
            self.push(Kind::Text { start, end: self.at, unescaped: false });
            self.at += 1;
            return Some(());
        }
        let begin = self.document.arena.len();
        let length = unescape(&self.document.source[start..], &mut self.document.arena)?;
        self.at = start + length;
        let end = self.document.arena.len();
        self.push(Kind::Text { start: begin, end, unescaped: true });
        Some(())
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.byte().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Option<()> {
        let start = self.at;
        if self.byte()? == b'-' {
            self.at += 1;
        }
        let leading_zero = self.byte()? == b'0';
        let whole = self.digits();
        if whole == 0 || leading_zero && whole > 1 {
            return None;
        }
        let mut is_integer = true;
        if self.byte() == Some(b'.') {
            is_integer = false;
            self.at += 1;
            (self.digits() > 0).then_some(())?;
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            is_integer = false;
            self.at += 1;
            if matches!(self.byte(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            (self.digits() > 0).then_some(())?;
        }
        let text = &self.document.source[start..self.at];
        let integer = if is_integer {
            text.parse().map(Kind::Int).or_else(|_| text.parse().map(Kind::UInt)).ok()
        } else {
            None
        };
        let kind = match integer {
            Some(kind) => kind,
            None if is_integer => Kind::Whole { start, end: self.at },
            None => Kind::Double(text.parse().ok().filter(|value: &f64| value.is_finite())?),
        };
        self.push(kind);
        Some(())
    }
}

fn hex4(text: &str) -> Option<u32> {
    let digits = text.get(..4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

/// Appends the text up to its closing quote, escapes read; gives the bytes read with the quote.
pub(super) fn unescape(text: &str, out: &mut String) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let plain = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1F))?;
        out.push_str(&rest[..plain]);
        at += plain;
        match text.as_bytes()[at] {
            b'"' => return Some(at + 1),
            b'\\' => {
                at += 2;
                match *text.as_bytes().get(at - 1)? {
                    b'b' => out.push('\u{8}'),
                    b'f' => out.push('\u{c}'),
                    b'n' => out.push('\n'),
                    b'r' => out.push('\r'),
                    b't' => out.push('\t'),
                    other @ (b'"' | b'\\' | b'/') => out.push(char::from(other)),
                    b'u' => {
                        let first = hex4(text.get(at..)?)?;
                        at += 4;
                        let code = if (0xD800..0xDC00).contains(&first) {
                            let low = hex4(text.get(at..)?.strip_prefix("\\u")?)?;
                            at += 6;
                            0x1_0000
                                + ((first - 0xD800) << 10)
                                + low.checked_sub(0xDC00).filter(|l| *l < 0x400)?
                        } else {
                            first
                        };
                        out.push(char::from_u32(code)?);
                    }
                    _ => return None,
                }
            }
            _ => return None,
        }
    }
}
