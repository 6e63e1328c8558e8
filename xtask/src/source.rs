//! Rust source as the house rules see it: code without comments and strings, test code set apart.
//!
//! Pure. It does not parse Rust; it knows just enough of its lexical rules to count lines and find names.

/// A source file prepared for checking.
#[derive(Debug)]
pub(crate) struct Source {
    /// The text with comments and the insides of strings blanked out, line for line.
    pub(crate) code: Vec<String>,
    /// The text as it is.
    pub(crate) lines: Vec<String>,
    /// For each line: whether it belongs to a `#[cfg(test)]` item.
    pub(crate) in_tests: Vec<bool>,
}

/// A function and its length.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// Line of its name, from 1.
    pub(crate) line: usize,
    /// Lines of its body that hold code.
    pub(crate) code_lines: usize,
}

impl Source {
    pub(crate) fn new(text: &str) -> Source {
        let code: Vec<String> = blank(text).lines().map(str::to_owned).collect();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let in_tests = test_lines(&code);
        Source { code, lines, in_tests }
    }

    /// Lines outside tests.
    pub(crate) fn lines_of_code(&self) -> usize {
        self.in_tests.iter().filter(|in_tests| !**in_tests).count()
    }

    /// Code lines outside tests with their numbers, from 1.
    pub(crate) fn code_outside_tests(&self) -> impl Iterator<Item = (usize, &str)> {
        let numbered = self.code.iter().enumerate().zip(&self.in_tests);
        numbered.filter(|(_, in_tests)| !**in_tests).map(|((number, line), _)| (number + 1, line.as_str()))
    }

    /// Functions outside tests.
    pub(crate) fn functions(&self) -> Vec<Function> {
        let mut functions = Vec::new();
        for (index, line) in self.code.iter().enumerate() {
            if self.in_tests[index] {
                continue;
            }
            if let Some(name) = function_name(line)
                && let Some(code_lines) = self.body_lines(index)
            {
                functions.push(Function { name: name.to_owned(), line: index + 1, code_lines });
            }
        }
        functions
    }

    /// Lines with code between the braces of the item that begins at `index`; `None` without a body.
    fn body_lines(&self, index: usize) -> Option<usize> {
        let (mut depth, mut lines, mut opened) = (0_i32, 0, false);
        for line in &self.code[index..] {
            let mut on_this_line = false;
            for c in line.chars() {
                match c {
                    '{' => {
                        depth += 1;
                        opened = true;
                        continue;
                    }
                    '}' => depth -= 1,
                    ';' if !opened && depth == 0 => return None,
                    _ => {}
                }
                if opened && depth > 0 && !c.is_whitespace() {
                    on_this_line = true;
                }
                if opened && depth == 0 {
                    return Some(lines);
                }
            }
            lines += usize::from(on_this_line);
        }
        None
    }
}

fn function_name(line: &str) -> Option<&str> {
    let at = line.find("fn ").filter(|at| *at == 0 || line[..*at].ends_with([' ', '(']))?;
    let name = line[at + 3..].trim_start();
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    (end > 0).then(|| &name[..end])
}

/// Marks `#[cfg(test)]` and the item behind it.
fn test_lines(code: &[String]) -> Vec<bool> {
    let mut marks = vec![false; code.len()];
    let mut index = 0;
    while index < code.len() {
        if !code[index].trim_start().starts_with("#[cfg(test)]") {
            index += 1;
            continue;
        }
        let mut depth = 0_i32;
        let mut opened = false;
        while index < code.len() {
            marks[index] = true;
            for c in code[index].chars() {
                depth += i32::from(c == '{') - i32::from(c == '}');
                opened |= c == '{';
            }
            let ended = (opened && depth == 0) || (!opened && code[index].trim_end().ends_with(';'));
            index += 1;
            if ended {
                break;
            }
        }
    }
    marks
}

/// Replaces comments, the insides of strings and character literals by blanks; keeps line ends.
fn blank(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => block_comment(rest),
            '"' => string(rest, 1),
            'r' | 'b' if !out.ends_with(|c: char| c.is_alphanumeric() || c == '_') => prefixed_string(rest),
            '\'' => character(rest),
            _ => 0,
        };
        let taken = length.max(first.len_utf8());
        let blanked = length > 0;
        for c in rest[..taken].chars() {
            out.push(if blanked && c != '\n' { ' ' } else { c });
        }
        rest = &rest[taken..];
    }
    out
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        if text[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if text[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// Length of a string whose quote stands before `at`.
fn string(text: &str, at: usize) -> usize {
    let mut escaped = false;
    for (offset, c) in text[at..].char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + offset + 1,
            _ => {}
        }
    }
    text.len()
}

/// `r"..."`, `r#"..."#`, `b"..."`, `br"..."`: their length, or 0 when it is something else.
fn prefixed_string(text: &str) -> usize {
    let after = text.trim_start_matches('b');
    if text.len() - after.len() > 1 {
        return 0;
    }
    let prefix = text.len() - after.len();
    let Some(raw) = after.strip_prefix('r') else {
        return if after.starts_with('"') { string(text, prefix + 1) } else { 0 };
    };
    let hashes = raw.len() - raw.trim_start_matches('#').len();
    if !raw[hashes..].starts_with('"') {
        return 0;
    }
    let start = prefix + 1 + hashes + 1;
    let end = format!("\"{}", "#".repeat(hashes));
    text[start..].find(&end).map_or(text.len(), |at| start + at + end.len())
}

/// `'x'` and `'\n'`, but not the lifetime `'a`.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some((escape, c))) => {
            let behind = escape + c.len_utf8();
            text[behind..].find('\'').map_or(0, |at| behind + at + 1)
        }
        (Some((_, c)), Some((at, '\''))) if c != '\'' => at + 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_do_not_count() {
        let source = Source::new(
            "let a = \"fn x() {\"; // fn y() {\nlet b = '{'; /* fn z() { */ let c = r#\"}\"}\"#;\n",
        );
        assert!(source.functions().is_empty());
        assert_eq!(source.code[0].trim_end(), "let a =           ;".trim_end());
        assert!(!source.code.join("").contains(['{', '}']));
        assert!(Source::new("fn f<'a>(x: &'a str) {\n x\n}\n").functions().len() == 1);
    }

    #[test]
    fn a_function_is_as_long_as_its_code() {
        let text = "fn one() { 1 }\n\npub(crate) async fn two(\n    a: u8,\n) -> u8 {\n    // why\n\n    a\n}\ntrait T {\n    fn none(&self);\n}\n";
        let functions = Source::new(text).functions();
        let seen: Vec<_> = functions.iter().map(|f| (f.name.as_str(), f.line, f.code_lines)).collect();
        assert_eq!(seen, [("one", 1, 0), ("two", 3, 1)]);
    }

    #[test]
    fn tests_are_set_apart() {
        let source = Source::new(
            "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n#[cfg(test)]\nmod more;\n",
        );
        assert_eq!(source.lines_of_code(), 2);
        assert_eq!(source.functions().len(), 2);
    }
}
