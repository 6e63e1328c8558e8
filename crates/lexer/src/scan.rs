//! Cuts text into words, quotes and symbols without building anything.
//!
//! Finds where a statement ends and where the data of an INSERT begins, so that data is never tokenized.
//! Invariant: never fails and always moves forward; text that ends inside a quote or comment says so.

/// What a [`Piece`] is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PieceKind {
    Word,
    /// An identifier in backticks or double quotes.
    QuotedName,
    Text,
    /// `$$text$$` or `$tag$text$tag$`.
    Heredoc,
    Number,
    Symbol(u8),
    /// A quote or a comment that the text does not close.
    Unclosed,
}

/// One lexical element, by byte offsets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    pub kind: PieceKind,
    pub start: usize,
    pub end: usize,
}

/// Iterates over the pieces of a text; space and comments are skipped.
#[derive(Clone)]
pub struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    pub fn new(text: &'a str, at: usize) -> Self {
        Self { text: text.as_bytes(), at }
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// True when a comment is still open at the end of the text.
    fn skip_space(&mut self) -> bool {
        loop {
            match (self.byte(0), self.byte(1)) {
                (b, _) if b.is_ascii_whitespace() && self.at < self.text.len() => self.at += 1,
                (b'-', b'-') => self.skip_line(),
                (b'/', b'/') | (b'#', b' ' | b'!') => self.skip_line(),
                (b'/', b'*') => {
                    if !self.skip_comment() {
                        return true;
                    }
                }
                _ => return false,
            }
        }
    }

    fn skip_line(&mut self) {
        while self.at < self.text.len() && self.byte(0) != b'\n' {
            self.at += 1;
        }
    }

    fn skip_comment(&mut self) -> bool {
        let mut depth = 0_usize;
        while self.at < self.text.len() {
            match (self.byte(0), self.byte(1)) {
                (b'/', b'*') => (depth, self.at) = (depth + 1, self.at + 2),
                (b'*', b'/') => {
                    (depth, self.at) = (depth - 1, self.at + 2);
                    if depth == 0 {
                        return true;
                    }
                }
                _ => self.at += 1,
            }
        }
        false
    }

    fn quoted(&mut self, quote: u8) -> bool {
        self.at += 1;
        while self.at < self.text.len() {
            match self.byte(0) {
                b'\\' => self.at += 2,
                b if b == quote && self.byte(1) == quote => self.at += 2,
                b if b == quote => {
                    self.at += 1;
                    return true;
                }
                _ => self.at += 1,
            }
        }
        self.at = self.text.len();
        false
    }

    /// Behind the text in dollars that starts here. `None`: it is no such text; `Some(None)`: it is not closed.
    fn heredoc_end(&self) -> Option<Option<usize>> {
        let rest = self.text.get(self.at + 1..)?;
        let is_of_tag = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
        let tag = rest.iter().take_while(|byte| is_of_tag(byte)).count();
        if rest.get(tag) != Some(&b'$') {
            return None;
        }
        let content = self.at + tag + 2;
        let bound = &self.text[self.at..content];
        let end = self.text[content..].windows(bound.len()).position(|window| window == bound);
        Some(end.map(|end| content + end + bound.len()))
    }

    fn skip_while(&mut self, wanted: impl Fn(u8) -> bool) {
        while self.at < self.text.len() && wanted(self.byte(0)) {
            self.at += 1;
        }
    }
}

/// Whether the byte may stand behind the first one of a bare word.
fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

impl Iterator for Scanner<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let before = self.at;
        if self.skip_space() {
            return Some(Piece { kind: PieceKind::Unclosed, start: before, end: self.text.len() });
        }
        if self.at >= self.text.len() {
            return None;
        }
        let start = self.at;
        let kind = match self.byte(0) {
            b'\'' => {
                if self.quoted(b'\'') {
                    PieceKind::Text
                } else {
                    PieceKind::Unclosed
                }
            }
            quote @ (b'`' | b'"') => {
                if self.quoted(quote) {
                    PieceKind::QuotedName
                } else {
                    PieceKind::Unclosed
                }
            }
            b'$' => match self.heredoc_end() {
                Some(Some(end)) => {
                    self.at = end;
                    PieceKind::Heredoc
                }
                Some(None) => {
                    self.at = self.text.len();
                    PieceKind::Unclosed
                }
                None => {
                    self.at += 1;
                    self.skip_while(is_of_word);
                    if self.at > start + 1 { PieceKind::Word } else { PieceKind::Symbol(b'$') }
                }
            },
            b if b.is_ascii_alphabetic() || b == b'_' || b >= 0x80 => {
                self.skip_while(is_of_word);
                PieceKind::Word
            }
            b if b.is_ascii_digit() => {
                self.skip_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_'));
                PieceKind::Number
            }
            other => {
                self.at += 1;
                PieceKind::Symbol(other)
            }
        };
        Some(Piece { kind, start, end: self.at })
    }
}

/// The words, numbers, quotes and symbols of a text, without the space and the comments between them.
pub fn lexemes(text: &str) -> impl Iterator<Item = &str> {
    Scanner::new(text, 0).map(move |piece| &text[piece.start..piece.end])
}

/// One of [`lexemes`] with its place in the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lexeme<'a> {
    pub text: &'a str,
    pub start: usize,
    pub end: usize,
    /// A literal in single quotes.
    pub is_text: bool,
    /// A bare word, or a name in backticks or double quotes.
    pub is_name: bool,
}

/// [`lexemes`] by their places.
pub fn lexemes_at(text: &str) -> impl Iterator<Item = Lexeme<'_>> {
    Scanner::new(text, 0).map(move |piece| Lexeme {
        text: &text[piece.start..piece.end],
        start: piece.start,
        end: piece.end,
        is_text: piece.kind == PieceKind::Text,
        is_name: matches!(piece.kind, PieceKind::Word | PieceKind::QuotedName),
    })
}

/// Offset just behind the statement that starts `text`, its `;` included. `None`: the statement may go on.
///
/// `at_end` says that no more text will come, which ends a statement without `;`. Data after `INSERT .. FORMAT f`
/// ends at an empty line or at the end of the input, because any format may contain `;`.
pub fn next_statement(text: &str, at_end: bool) -> Option<usize> {
    statement_end(text, at_end).map(|(end, _)| end)
}

/// As [`next_statement`], and where its last `;` starts if it ends with one.
pub fn statement_end(text: &str, at_end: bool) -> Option<(usize, Option<usize>)> {
    let whole = || at_end.then_some((text.len(), None));
    if let Some(data) = format_data_start(text) {
        let blank = text[data..].find("\n\n").map(|found| (data + found + 2, None));
        return blank.or_else(whole);
    }
    for piece in Scanner::new(text, 0) {
        match piece.kind {
            PieceKind::Symbol(b';') => return Some((piece.end, Some(piece.start))),
            PieceKind::Unclosed => return whole(),
            _ => {}
        }
    }
    whole()
}

/// True when `text` holds nothing but space, comments and semicolons.
pub fn is_blank(text: &str) -> bool {
    Scanner::new(text, 0).all(|piece| piece.kind == PieceKind::Symbol(b';'))
}

/// Where the data of `INSERT INTO .. FORMAT f <data>` starts: behind one line end after the format's name.
fn format_data_start(text: &str) -> Option<usize> {
    let mut first = Scanner::new(text, 0).filter(|piece| piece.kind != PieceKind::Symbol(b';'));
    let head = first.next()?;
    if !text[head.start..head.end].eq_ignore_ascii_case("insert") {
        return None;
    }
    match insert_body(text, head.end)? {
        InsertBody::Format { data, .. } => Some(data),
        InsertBody::Values { .. } | InsertBody::Select { .. } | InsertBody::None => None,
    }
}

/// What follows the head of an INSERT; offsets into the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InsertBody {
    /// `head` ends the head, `data` is behind the word VALUES.
    Values {
        head: usize,
        data: usize,
    },
    /// `name` is the format's name.
    Format {
        head: usize,
        name: (usize, usize),
        data: usize,
    },
    Select {
        head: usize,
    },
    None,
}

/// Finds the body of an INSERT; `from` is the offset behind the word INSERT. `None`: the text ends inside a quote.
pub fn insert_body(text: &str, from: usize) -> Option<InsertBody> {
    let mut depth = 0_usize;
    let mut names_left = 0_usize;
    let mut pieces = Scanner::new(text, from).peekable();
    // INTO, TABLE and FUNCTION, then the target's name, which may itself be a keyword.
    for opening in ["INTO", "TABLE", "FUNCTION"] {
        pieces.next_if(|piece| text[piece.start..piece.end].eq_ignore_ascii_case(opening));
    }
    pieces.next();
    // Behind FROM INFILE nothing is data: the statement ends as any other.
    let (mut is_from, mut has_file) = (false, false);
    while let Some(piece) = pieces.next() {
        let word = &text[piece.start..piece.end];
        let was_from = std::mem::replace(&mut is_from, depth == 0 && is_word(word, "from"));
        if matches!(piece.kind, PieceKind::Symbol(symbol) if symbol != b'.') {
            // `t.*`
            names_left = 0;
        }
        match piece.kind {
            PieceKind::Unclosed => return None,
            PieceKind::Symbol(b'(') if depth == 0 && selects(text, piece.end) => {
                return Some(InsertBody::Select { head: piece.start });
            }
            PieceKind::Symbol(b'(') => depth += 1,
            PieceKind::Symbol(b')') => depth = depth.saturating_sub(1),
            PieceKind::Symbol(b';') if depth == 0 => return Some(InsertBody::None),
            PieceKind::Symbol(b'.') => names_left = 1,
            PieceKind::Word | PieceKind::QuotedName if names_left > 0 => names_left = 0,
            PieceKind::Word if depth == 0 && !has_file && word.eq_ignore_ascii_case("values") => {
                return Some(InsertBody::Values { head: piece.start, data: piece.end });
            }
            PieceKind::Word if was_from && is_word(word, "infile") => has_file = true,
            PieceKind::Word if depth == 0 && !has_file && word.eq_ignore_ascii_case("format") => {
                let name = pieces.next().filter(|name| name.kind == PieceKind::Word)?;
                let data = behind_line_end(text, name.end);
                return Some(InsertBody::Format { head: piece.start, name: (name.start, name.end), data });
            }
            PieceKind::Word if depth == 0 && is_word(word, "with") && names_label(text, piece.end) => {
                // Over LABEL and its name, which may be any word.
                pieces.next();
                pieces.next();
            }
            PieceKind::Word if depth == 0 && (is_word(word, "select") || is_word(word, "with")) => {
                return Some(InsertBody::Select { head: piece.start });
            }
            _ => {}
        }
    }
    Some(InsertBody::None)
}

fn is_word(word: &str, wanted: &str) -> bool {
    word.eq_ignore_ascii_case(wanted)
}

/// Whether `LABEL name` follows the word WITH of an INSERT, and not a query that calls something `label`.
fn names_label(text: &str, at: usize) -> bool {
    let mut pieces = Scanner::new(text, at);
    let label = pieces.next().is_some_and(|piece| is_word(&text[piece.start..piece.end], "label"));
    label
        && pieces.next().is_some_and(|piece| match piece.kind {
            PieceKind::Text | PieceKind::QuotedName | PieceKind::Number => true,
            PieceKind::Word => may_be_label(&text[piece.start..piece.end]),
            PieceKind::Symbol(_) | PieceKind::Heredoc | PieceKind::Unclosed => false,
        })
}

/// Whether a bare word behind WITH LABEL is a name. These go on with an expression, as in `WITH label AS x SELECT`.
pub fn may_be_label(word: &str) -> bool {
    const CONTINUES: &[&str] =
        &["as", "and", "or", "in", "not", "is", "like", "ilike", "between", "global", "div", "mod", "regexp"];
    !CONTINUES.iter().any(|other| is_word(word, other))
}

fn selects(text: &str, at: usize) -> bool {
    let next = Scanner::new(text, at).find(|piece| piece.kind != PieceKind::Symbol(b'('));
    next.is_some_and(|piece| {
        let word = &text[piece.start..piece.end];
        piece.kind == PieceKind::Word && (is_word(word, "select") || is_word(word, "with"))
    })
}

/// Skips blanks and at most one line end.
fn behind_line_end(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r']).len();
    if rest[blank..].starts_with('\n') { at + blank + 1 } else { at + blank }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_at_a_semicolon_outside_quotes_and_comments() {
        let check =
            |text: &str, expected: Option<usize>| assert_eq!(next_statement(text, false), expected, "{text}");
        check("SELECT 1; SELECT 2", Some(9));
        check("SELECT ';' -- ;\n, `;`", None);
        check("SELECT ';' -- ;\n, `;`;", Some(22));
        check("SELECT '\\';'", None);
        check("/* ; /* ; */ ; */ SELECT 1;", Some(27));
        check("SELECT $$;'$$, $a$;$$;$a$;", Some(26));
        check("SELECT $a$;$b$;", None);
        check("SELECT $1;", Some(10));
        check("INSERT INTO t VALUES (1, ';');", Some(30));
        check("INSERT INTO t FORMAT CSV\n1;2\n", None);
        check("INSERT INTO t FORMAT CSV\n1;2\n\nSELECT 1", Some(30));
        assert_eq!(next_statement("SELECT 1", true), Some(8));
    }

    #[test]
    fn insert_bodies_are_found_without_reading_data() {
        let check =
            |text: &str, expected: InsertBody| assert_eq!(insert_body(text, 6), Some(expected), "{text}");
        check("INSERT INTO t VALUES (1)", InsertBody::Values { head: 14, data: 20 });
        check("INSERT INTO values VALUES (1)", InsertBody::Values { head: 19, data: 25 });
        check("INSERT INTO db.values (a) VALUES (1)", InsertBody::Values { head: 26, data: 32 });
        check(
            "INSERT INTO t (format) FORMAT CSV\n1",
            InsertBody::Format { head: 23, name: (30, 33), data: 34 },
        );
        check("INSERT INTO t (SELECT 1)", InsertBody::Select { head: 14 });
        check("INSERT INTO FUNCTION s3('u', 'values') SELECT 1", InsertBody::Select { head: 39 });
        check("INSERT INTO t", InsertBody::None);
        check("INSERT INTO t FROM INFILE 'a' FORMAT CSV; SELECT 1", InsertBody::None);
        check("INSERT INTO t FROM INFILE 'a' FORMAT Values", InsertBody::None);
        check("INSERT INTO t WITH LABEL l VALUES (1)", InsertBody::Values { head: 27, data: 33 });
        check("INSERT INTO t WITH LABEL values (a) SELECT 1", InsertBody::Select { head: 36 });
        check("INSERT INTO t WITH LABEL 'select' SELECT 1", InsertBody::Select { head: 34 });
        check("INSERT INTO t WITH LABEL l WITH 1 AS x SELECT x", InsertBody::Select { head: 27 });
        check("INSERT INTO t WITH label AS (SELECT 1) SELECT 2", InsertBody::Select { head: 14 });
    }

    #[test]
    fn space_and_comments_lie_between_lexemes() {
        let same = |text: &str| lexemes(text).collect::<Vec<_>>().join("|");
        assert_eq!(same("(1, 'a b') -- x"), "(|1|,|'a b'|)");
        assert_eq!(same("( 1/* 2 */,'a b')"), "(|1|,|'a b'|)");
    }

    #[test]
    fn blank_text_holds_only_space_and_comments() {
        assert!(is_blank(" ; -- x\n /* y */"));
        assert!(!is_blank("SELECT 1"));
    }
}
