use proptest::prelude::*;

use super::{Glob, NESTING_MAX, nesting};

const KEYS: [&str; 4] = ["a/1.csv", "a/2.csv", "a/b/3.csv", "a/10.csv"];

fn matching(pattern: &str) -> Vec<&'static str> {
    let glob = Glob::parse(pattern);
    KEYS.into_iter().filter(|key| glob.matches(key)).collect()
}

#[test]
fn vectors_of_the_specification() {
    assert_eq!(matching("a/*.csv"), ["a/1.csv", "a/2.csv", "a/10.csv"]);
    assert_eq!(matching("a/**.csv"), KEYS);
    assert_eq!(matching("a/?.csv"), ["a/1.csv", "a/2.csv"]);
    assert_eq!(matching("a/{1,10}.csv"), ["a/1.csv", "a/10.csv"]);
    assert_eq!(matching("a/{1..3}.csv"), ["a/1.csv", "a/2.csv"]);
    assert_eq!(matching("**/3.csv"), ["a/b/3.csv"]);
}

#[test]
fn only_string_alternatives_expand_to_exact_keys() {
    assert_eq!(Glob::parse("a/{1,10}.csv").exact_keys().unwrap(), ["a/1.csv", "a/10.csv"]);
    assert_eq!(Glob::parse("{b,a/c,{d,b}}").exact_keys().unwrap(), ["b", "a/c", "d"]);
    assert_eq!(Glob::parse("{only}").exact_keys().unwrap(), ["only"]);
    assert_eq!(Glob::parse("plain").exact_keys().unwrap(), ["plain"]);
    for pattern in ["*", "?", "{1..3}", "{a,b*}", &"{0,1,2,3,4,5,6,7,8,9}".repeat(6)] {
        assert_eq!(Glob::parse(pattern).exact_keys(), None, "{pattern}");
    }
}

#[test]
fn ranges_are_numbers() {
    let check = |pattern: &str, key: &str, expected: bool| {
        assert_eq!(Glob::parse(pattern).matches(key), expected, "{pattern} {key}");
    };
    check("{000..078}", "007", true);
    check("{000..078}", "7", false);
    check("{000..078}", "079", false);
    check("{0..10}", "10", true);
    check("{0..10}", "010", false);
    check("{08..10}", "10", true);
    check("{10..8}", "9", true);
    check("{1..3}{1..3}", "23", true);
    check("x{1..100}y", "x100y", true);
    check("x{1..100}y", "x101y", false);
    check("{0..0}", "0", true);
    check("{0..18446744073709551615}", "18446744073709551615", true);
    check("{1..x}", "1..x", true);
}

#[test]
fn odd_patterns() {
    assert!(Glob::parse("a{b").matches("a{b"));
    assert!(Glob::parse("a}b").matches("a}b"));
    assert!(Glob::parse("").matches(""));
    assert!(Glob::parse("{a,}").matches(""));
    assert!(Glob::parse("x{,y}").matches("x"));
    assert!(Glob::parse("ж?я").matches("жця"));
    assert!(!Glob::parse("?").matches("/"));
    assert!(Glob::parse("***").matches("a/b"));
    // Would be exponential with a backtracking matcher.
    assert!(!Glob::parse(&"**a".repeat(30)).matches(&"a".repeat(29)));
}

#[test]
fn no_pattern_takes_more_than_its_share() {
    let nested = |depth: usize| format!("{}a{}", "{".repeat(depth), "}".repeat(depth));
    assert_eq!(nesting(&nested(NESTING_MAX + 1)), NESTING_MAX + 1);
    assert_eq!(nesting("{a,{b}}{{c}{d}}}{"), 2);
    assert!(Glob::parse(&nested(NESTING_MAX)).matches("a"));
    // Deeper braces stand for themselves, and the stack does not end.
    assert!(Glob::parse(&nested(NESTING_MAX + 1)).matches("{a}"));
    assert!(!Glob::parse(&nested(100_000)).matches("a"));
    assert!(!Glob::parse(&"{".repeat(100_000)).matches("a"));
    // Many literals behind many keys are joined once, and not at all where the keys would be too long.
    let many = format!("{}{}", "{0,1}".repeat(13), "a{b}".repeat(3_000));
    assert_eq!(Glob::parse(&many).exact_keys(), None);
    let few = format!("{}{}", "{0,1}".repeat(10), "a{b}".repeat(3_000));
    assert_eq!(Glob::parse(&few).exact_keys().unwrap().len(), 1024);
}

#[test]
fn prefixes_to_list() {
    assert_eq!(Glob::parse("a/b*.csv").listing_prefixes(), ["a/b"]);
    assert_eq!(Glob::parse("{x,y}/d{1,2}/*").listing_prefixes(), ["x/d1/", "x/d2/", "y/d1/", "y/d2/"]);
    assert_eq!(Glob::parse("{a,ab}*").listing_prefixes(), ["a"]);
    assert_eq!(Glob::parse("a/{1..3}.csv").listing_prefixes(), ["a/"]);
    assert_eq!(Glob::parse("**").listing_prefixes(), [""]);
    assert_eq!(Glob::parse("a/{1..3}").literal_prefix(), "a/");
    assert_eq!(Glob::parse("a/{b/c,d}/*").slashes_max(), Some(3));
    assert_eq!(Glob::parse("a/{b/**,d}/*").slashes_max(), None);
    assert_eq!(Glob::parse("{0..9999}/{0..9999}").brace_product(), 100_000_000);
}

fn pattern() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a", "b", "/", "*", "**", "?", "{a,b/}", "{0..12}", "{00..12}", "1", "{b*,1}",
    ]);
    prop::collection::vec(piece, 0..7).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn a_match_starts_with_a_listed_prefix(pattern in pattern(), key in "[ab/01]{0,8}") {
        let glob = Glob::parse(&pattern);
        if glob.matches(&key) {
            prop_assert!(glob.listing_prefixes().iter().any(|prefix| key.starts_with(prefix.as_str())));
            prop_assert!(key.starts_with(glob.literal_prefix()));
        }
    }

    #[test]
    fn exact_keys_are_the_matches(pattern in pattern(), key in "[ab/01]{0,8}") {
        let glob = Glob::parse(&pattern);
        if let Some(keys) = glob.exact_keys() {
            prop_assert_eq!(keys.contains(&key), glob.matches(&key));
        }
    }

    #[test]
    fn a_literal_matches_itself_only(key in "[a-c/.]{0,9}", other in "[a-c/.]{0,9}") {
        prop_assert_eq!(Glob::parse(&key).matches(&other), key == other);
    }
}
