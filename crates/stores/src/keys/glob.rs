//! Patterns over object keys: `*`, `**`, `?`, `{a,b}`, `{N..M}`.
//!
//! Pure. Invariant: a pattern matches a whole key or not at all; every key that matches starts with one of
//! [`Glob::listing_prefixes`]. Matching walks sets of positions, so no pattern takes more than pattern times key steps.
//! Must not know: stores, listings, URLs.

/// Alternatives are multiplied out into exact keys or prefixes only up to these numbers.
const EXACT_KEYS_MAX: usize = 10_000;
const PREFIXES_MAX: usize = 64;
/// All of them together: keys have 1024 bytes at most, patterns may be as long as a statement.
const EXPANDED_BYTES_MAX: usize = 16 << 20;
/// Braces inside braces: each level is a call of the parser, and the stack ends. Deeper ones stand for themselves, so
/// who can answer with an error asks [`nesting`] first.
pub const NESTING_MAX: usize = 32;
/// Digits of the largest number there is.
const DIGITS_MAX: usize = 20;

/// How deep the braces of a pattern are nested.
pub fn nesting(pattern: &str) -> usize {
    let partners = partners(pattern);
    let (mut depth, mut deepest) = (0_usize, 0);
    for (byte, partner) in pattern.bytes().zip(&partners) {
        match byte {
            b'{' if partner.is_some() => depth += 1,
            // One without a partner stands where no brace is open.
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// A parsed pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Glob {
    pattern: String,
    tokens: Vec<Token>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Token {
    Literal(String),
    /// `*`: any run without `/`.
    Run,
    /// `**`: any run.
    DeepRun,
    /// `?`: one character, not `/`.
    One,
    /// `{a,b*}`.
    Alternatives(Vec<Vec<Token>>),
    /// `{N..M}`: integers low..=high; with `width` the number is padded with zeros to it.
    Numbers {
        low: u64,
        high: u64,
        width: Option<usize>,
    },
}

impl Glob {
    /// Every text is a pattern: a brace without its partner stands for itself.
    pub fn parse(pattern: &str) -> Glob {
        Glob { pattern: pattern.to_owned(), tokens: parse_tokens(pattern, 0) }
    }

    /// As it was written.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// A pattern without any special character.
    pub fn is_literal(&self) -> bool {
        self.tokens.iter().all(|token| matches!(token, Token::Literal(_)))
    }

    /// The exact keys of a pattern whose only globs are string alternatives, in the pattern's order and without
    /// repetition. `None`: the pattern must be matched against a listing.
    pub fn exact_keys(&self) -> Option<Vec<String>> {
        let keys = expand(&self.tokens, EXACT_KEYS_MAX)?;
        let mut seen = std::collections::HashSet::new();
        Some(keys.into_iter().filter(|key| seen.insert(key.clone())).collect())
    }

    /// Text before the first glob character.
    pub fn literal_prefix(&self) -> &str {
        match self.tokens.first() {
            Some(Token::Literal(text)) => text,
            _ => "",
        }
    }

    /// Prefixes whose listings together hold every match; none is the beginning of another.
    pub fn listing_prefixes(&self) -> Vec<String> {
        let mut prefixes = vec![String::new()];
        for token in &self.tokens {
            let Some(next) = expand(std::slice::from_ref(token), PREFIXES_MAX) else { break };
            if prefixes.len() * next.len() > PREFIXES_MAX {
                break;
            }
            prefixes = joined(prefixes, &next);
        }
        prefixes.sort_unstable();
        prefixes.dedup_by(|longer, shorter| longer.starts_with(shorter.as_str()));
        prefixes
    }

    /// How many keys braces alone stand for, saturating: what a user who wrote ranges seems to expect.
    pub fn brace_product(&self) -> u64 {
        product(&self.tokens)
    }

    /// How many `/` a match can have at most; `None` with `**`, which has no limit.
    pub fn slashes_max(&self) -> Option<usize> {
        slashes(&self.tokens)
    }

    /// Whether the whole key matches.
    pub fn matches(&self, key: &str) -> bool {
        let mut at = vec![false; key.len() + 1];
        at[0] = true;
        advance(&self.tokens, key, at)[key.len()]
    }
}

fn slashes(tokens: &[Token]) -> Option<usize> {
    tokens.iter().try_fold(0, |sum, token| match token {
        Token::Literal(text) => Some(sum + text.matches('/').count()),
        Token::DeepRun => None,
        Token::Alternatives(all) => all
            .iter()
            .map(|one| slashes(one))
            .try_fold(0, |most, n| n.map(|n| most.max(n)))
            .map(|most| sum + most),
        Token::Run | Token::One | Token::Numbers { .. } => Some(sum),
    })
}

fn product(tokens: &[Token]) -> u64 {
    tokens.iter().fold(1, |total: u64, token| {
        total.saturating_mul(match token {
            Token::Alternatives(all) => all.iter().fold(0, |sum: u64, one| sum.saturating_add(product(one))),
            Token::Numbers { low, high, .. } => (high - low).saturating_add(1),
            _ => 1,
        })
    })
}

/// All texts of tokens made of literals and alternatives of them; `None` if there are other tokens or too many texts.
fn expand(tokens: &[Token], texts_max: usize) -> Option<Vec<String>> {
    let mut texts = vec![String::new()];
    for token in tokens {
        let next = match token {
            Token::Literal(text) => vec![text.clone()],
            Token::Alternatives(all) => {
                let mut next = Vec::new();
                for one in all {
                    next.extend(expand(one, texts_max)?);
                    if next.len() > texts_max || bytes(&next) > EXPANDED_BYTES_MAX {
                        return None;
                    }
                }
                next
            }
            _ => return None,
        };
        let grown = bytes(&texts).saturating_mul(next.len()) + bytes(&next).saturating_mul(texts.len());
        if texts.len().saturating_mul(next.len()) > texts_max || grown > EXPANDED_BYTES_MAX {
            return None;
        }
        texts = joined(texts, &next);
    }
    Some(texts)
}

fn bytes(texts: &[String]) -> usize {
    texts.iter().map(String::len).sum()
}

/// Each of `texts` with each of `next` behind it. One more piece is appended in place: a pattern of many literals would
/// otherwise be copied once for each.
fn joined(mut texts: Vec<String>, next: &[String]) -> Vec<String> {
    match next {
        [one] => {
            texts.iter_mut().for_each(|text| text.push_str(one));
            texts
        }
        _ => texts.iter().flat_map(|text| next.iter().map(move |more| format!("{text}{more}"))).collect(),
    }
}

/// Of each `{` with a partner its place, found in one walk.
fn partners(pattern: &str) -> Vec<Option<usize>> {
    let mut partners = vec![None; pattern.len()];
    let mut open = Vec::new();
    for (at, byte) in pattern.bytes().enumerate() {
        match byte {
            b'{' => open.push(at),
            b'}' => {
                if let Some(start) = open.pop() {
                    partners[start] = Some(at);
                }
            }
            _ => {}
        }
    }
    partners
}

fn parse_tokens(pattern: &str, depth: usize) -> Vec<Token> {
    let partners = if depth < NESTING_MAX { partners(pattern) } else { Vec::new() };
    let mut tokens = Vec::new();
    let mut literal = String::new();
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let (token, length) = match c {
            '*' if rest.starts_with("**") => {
                (Token::DeepRun, rest.len() - rest.trim_start_matches('*').len())
            }
            '*' => (Token::Run, 1),
            '?' => (Token::One, 1),
            '{' => match partners.get(pattern.len() - rest.len()).copied().flatten() {
                Some(end) => {
                    let length = end + 1 - (pattern.len() - rest.len());
                    (brace(&rest[1..length - 1], depth), length)
                }
                None => {
                    literal.push(c);
                    rest = &rest[1..];
                    continue;
                }
            },
            _ => {
                literal.push(c);
                rest = &rest[c.len_utf8()..];
                continue;
            }
        };
        if !literal.is_empty() {
            tokens.push(Token::Literal(std::mem::take(&mut literal)));
        }
        tokens.push(token);
        rest = &rest[length..];
    }
    if !literal.is_empty() {
        tokens.push(Token::Literal(literal));
    }
    tokens
}

/// The token of what is between a brace and its partner.
fn brace(body: &str, depth: usize) -> Token {
    if let Some(numbers) = numbers(body) {
        return numbers;
    }
    let (mut inside, mut start, mut all) = (0_usize, 0, Vec::new());
    for (at, byte) in body.bytes().enumerate() {
        match byte {
            b'{' => inside += 1,
            b'}' => inside = inside.saturating_sub(1),
            b',' if inside == 0 => {
                all.push(parse_tokens(&body[start..at], depth + 1));
                start = at + 1;
            }
            _ => {}
        }
    }
    all.push(parse_tokens(&body[start..], depth + 1));
    Token::Alternatives(all)
}

/// `N..M`. A leading zero on either side asks for numbers padded to the longer side.
fn numbers(body: &str) -> Option<Token> {
    let (first, last) = body.split_once("..")?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(first) || !digits(last) {
        return None;
    }
    let (n, m) = (first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
    let padded = [first, last].iter().any(|text| text.len() > 1 && text.starts_with('0'));
    let width = padded.then_some(first.len().max(last.len()));
    Some(Token::Numbers { low: n.min(m), high: n.max(m), width })
}

/// The positions reachable after all tokens, from any position that is set.
fn advance(tokens: &[Token], key: &str, mut at: Vec<bool>) -> Vec<bool> {
    for token in tokens {
        let mut next = vec![false; at.len()];
        match token {
            Token::Run | Token::DeepRun => spread(token, key, &at, &mut next),
            Token::Alternatives(all) => {
                for one in all {
                    let reached = advance(one, key, at.clone());
                    next.iter_mut().zip(reached).for_each(|(n, r)| *n |= r);
                }
            }
            _ => {
                for from in (0..key.len()).filter(|from| at[*from]) {
                    step(token, key, from, &mut next);
                }
            }
        }
        at = next;
    }
    at
}

fn spread(token: &Token, key: &str, at: &[bool], next: &mut [bool]) {
    let mut reached = false;
    for (position, byte) in key.bytes().map(Some).chain(std::iter::once(None)).enumerate() {
        reached |= at[position];
        next[position] = reached;
        if byte == Some(b'/') && matches!(token, Token::Run) {
            reached = false;
        }
    }
}

fn step(token: &Token, key: &str, from: usize, next: &mut [bool]) {
    let Some(rest) = key.get(from..) else { return };
    match token {
        Token::Literal(text) if rest.starts_with(text.as_str()) => next[from + text.len()] = true,
        Token::One => {
            if let Some(c) = rest.chars().next().filter(|c| *c != '/') {
                next[from + c.len_utf8()] = true;
            }
        }
        Token::Numbers { low, high, width } => {
            let shortest = width.unwrap_or(1);
            let run = rest.bytes().take(shortest.max(DIGITS_MAX)).take_while(u8::is_ascii_digit).count();
            for length in shortest..=run {
                let text = &rest[..length];
                let plain = length == 1 || !text.starts_with('0') || *width == Some(length);
                if plain && text.parse::<u64>().is_ok_and(|n| (*low..=*high).contains(&n)) {
                    next[from + length] = true;
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
