//! Tokens that stand right behind each other and are one: `12ab` is a word, `0b11` a number, `b'0011'` a text.
//!
//! Invariant: a joined token spans both. Must not know: what statements are made of.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::escape::bytes_in_digits;

fn is_b(token: &Token) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("b"))
}

/// `b'0011'` is the text of its bytes.
pub fn join_bits(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut joined: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for token in tokens {
        if let Token::SingleQuotedString(digits) = &token.token
            && let Some(before) = joined.last_mut()
            && is_b(&before.token)
            && before.span.end == token.span.start
            && let Some(bytes) = bytes_in_digits(digits, 2)
        {
            before.token = Token::SingleQuotedString(bytes);
            before.span.end = token.span.end;
            continue;
        }
        joined.push(token);
    }
    joined
}

/// A number and the word right behind it are one word, and some such words are numbers.
pub fn join_numbers(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut joined: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for token in tokens {
        if let Token::Word(word) = &token.token
            && word.quote_style.is_none()
            && let Some(before) = joined.last_mut()
            && before.span.end == token.span.start
            && let Some(exponent) = more_of_exponent(&before.token, &word.value)
        {
            before.token = Token::Number(exponent, false);
            before.span.end = token.span.end;
            continue;
        }
        if let Token::Word(word) = &token.token
            && word.quote_style.is_none()
            && let Some(before) = joined.last_mut()
            && let Some(digits) = written(&before.token)
        {
            before.token = number_or_word(&format!("{digits}{}", word.value));
            before.span.end = token.span.end;
            continue;
        }
        joined.push(token);
    }
    joined
}

/// `1.5e1` with `_0` behind it: the tokenizer ends an exponent before a line between its digits.
fn more_of_exponent(token: &Token, behind: &str) -> Option<String> {
    let Token::Number(number, false) = token else { return None };
    let digits = behind.replace('_', "");
    let goes_on = behind.starts_with('_') && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    (number.contains(['e', 'E']) && goes_on).then(|| format!("{number}{digits}"))
}

/// The text of a whole number.
fn written(token: &Token) -> Option<String> {
    match token {
        Token::Number(digits, false) if !digits.contains('.') => Some(digits.clone()),
        Token::HexStringLiteral(digits) => Some(format!("0x{digits}")),
        _ => None,
    }
}

/// `0b101`, `0x1p3`, or a name that begins with digits.
fn number_or_word(text: &str) -> Token {
    let plain = text.replace('_', "");
    if let Some(bits) = plain.strip_prefix("0b")
        && let Ok(number) = u64::from_str_radix(bits, 2)
    {
        return Token::Number(number.to_string(), false);
    }
    match plain.strip_prefix("0x").and_then(hexadecimal) {
        Some(number) => Token::Number(format!("{number:?}"), false),
        None => Token::make_word(text, None),
    }
}

/// `1p3`: hexadecimal digits and an exponent of two.
fn hexadecimal(text: &str) -> Option<f64> {
    let (digits, exponent) = text.split_once(['p', 'P'])?;
    let digits = u32::from_str_radix(digits, 16).ok()?;
    let exponent = exponent.parse::<u16>().ok()?;
    Some(f64::from(digits) * f64::from(exponent).exp2()).filter(|number| number.is_finite())
}
