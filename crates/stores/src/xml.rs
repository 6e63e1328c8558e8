//! XML as stores answer it: listings, tags, errors.
//!
//! Invariant: an element is known by its local name, whatever prefix and attributes a store gives it; a reference that nobody
//! defined stands as it was written. Must not know: what the elements mean.

use std::ops::Range;

use model::saturating::usize_of;
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, Event};
use quick_xml::name::LocalName;

/// An element that has ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Element {
    pub name: String,
    /// Elements around it.
    pub depth: usize,
    /// What it means, behind the last element inside it.
    pub text: String,
    /// Where this is written, of an element that holds no other one and has a tag for its end.
    pub inside: Option<Range<usize>>,
}

/// The elements of a text in the order of their ends, up to where it is XML no more.
///
/// Places are counted behind a byte order mark.
pub(crate) struct Elements<'a> {
    reader: Reader<&'a [u8]>,
    /// Elements that have begun and not ended.
    depth: usize,
    /// Where the last one that began does, as long as none has ended since.
    begin: Option<usize>,
    text: String,
}

impl<'a> Elements<'a> {
    pub(crate) fn of(xml: &'a str) -> Elements<'a> {
        let mut reader = Reader::from_str(xml);
        // Messages of errors are not always escaped.
        reader.config_mut().allow_dangling_amp = true;
        Elements { reader, depth: 0, begin: None, text: String::new() }
    }

    fn place(&self) -> usize {
        usize_of(self.reader.buffer_position())
    }

    /// The element that ends with a tag at `end`.
    fn ended(&mut self, name: LocalName<'_>, end: usize) -> Element {
        let inside = self.begin.take().map(|begin| begin..end);
        Element { name: shown(name), depth: self.depth, text: std::mem::take(&mut self.text), inside }
    }

    /// What a reference stands for, or as it is written.
    fn refer(&mut self, reference: &BytesRef<'_>) {
        if let Ok(Some(letter)) = reference.resolve_char_ref() {
            self.text.push(letter);
            return;
        }
        let name = String::from_utf8_lossy(reference);
        match resolve_predefined_entity(&name) {
            Some(text) => self.text.push_str(text),
            None => {
                self.text.push('&');
                self.text.push_str(&name);
                self.text.push(';');
            }
        }
    }
}

impl Iterator for Elements<'_> {
    type Item = Element;

    fn next(&mut self) -> Option<Element> {
        loop {
            let place = self.place();
            match self.reader.read_event().ok()? {
                Event::Start(_) => {
                    self.depth += 1;
                    self.begin = Some(self.place());
                    self.text.clear();
                }
                Event::End(tag) => {
                    self.depth = self.depth.saturating_sub(1);
                    return Some(self.ended(tag.local_name(), place));
                }
                Event::Empty(tag) => {
                    self.begin = None;
                    self.text.clear();
                    return Some(self.ended(tag.local_name(), place));
                }
                Event::Text(text) => self.text.push_str(&text.decode().ok()?),
                Event::CData(text) => self.text.push_str(&text.decode().ok()?),
                Event::GeneralRef(reference) => self.refer(&reference),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
                Event::Eof => return None,
            }
        }
    }
}

/// The name of the element around all others, of a text that may be cut behind its beginning.
pub(crate) fn root(xml: &str) -> Option<String> {
    let mut reader = Reader::from_str(xml);
    loop {
        match reader.read_event().ok()? {
            Event::Decl(_) => {}
            Event::Text(text) if text.iter().all(u8::is_ascii_whitespace) => {}
            Event::Start(tag) => return Some(shown(tag.local_name())),
            _ => return None,
        }
    }
}

/// What the first element of this name holds, when that is something.
pub(crate) fn first_text(xml: &str, name: &str) -> Option<String> {
    let text = Elements::of(xml).find(|element| element.name == name)?.text;
    (!text.is_empty()).then_some(text)
}

fn shown(name: LocalName<'_>) -> String {
    String::from_utf8_lossy(name.into_inner()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_told_by_their_local_names() {
        let xml = "<?xml version=\"1.0\"?>\n<s:A xmlns:s=\"u>v\"><s:B at='1'>x &amp; y</s:B><!-- <C>no</C> --> <C/> z</s:A>";
        let seen: Vec<_> =
            Elements::of(xml).map(|element| (element.name, element.depth, element.text)).collect();
        let expected = [("B", 1, "x & y"), ("C", 1, ""), ("A", 0, " z")];
        assert_eq!(seen, expected.map(|(name, depth, text)| (name.to_owned(), depth, text.to_owned())));
    }

    #[test]
    fn places_are_those_of_what_is_written() {
        let xml = "<A><B>a&amp;b</B><C></C><D/></A>";
        let seen: Vec<_> = Elements::of(xml).map(|element| element.inside.map(|at| &xml[at])).collect();
        assert_eq!(seen, [Some("a&amp;b"), Some(""), None, None]);
    }

    #[test]
    fn what_is_cut_or_damaged_ends_there() {
        for (xml, expected) in [
            ("<A><B>1</B><B>2", vec!["1"]),
            ("<A><B>1</B></X>", vec!["1"]),
            ("<A><B>R & D &</B></A>", vec!["R & D &", ""]),
            ("<A><B><![CDATA[<1>]]></B></A>", vec!["<1>", ""]),
            ("", vec![]),
        ] {
            let seen: Vec<_> = Elements::of(xml).map(|element| element.text).collect();
            assert_eq!(seen, expected, "{xml}");
        }
    }
}
