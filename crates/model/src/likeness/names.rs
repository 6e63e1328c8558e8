//! LIKE of SHOW: names that a pattern fits.
//!
//! Invariant: no pattern takes longer than the product of its length and the name's. Must not know: whose names they are.

/// `[NOT] LIKE 'pattern'` of SHOW.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NameFilter {
    pub pattern: Option<String>,
    pub negated: bool,
    pub ignore_case: bool,
}

impl NameFilter {
    /// LIKE over a name: `%` is any text, `_` any character.
    pub fn matches(&self, name: &str) -> bool {
        let Some(pattern) = &self.pattern else { return true };
        let fold = |text: &str| if self.ignore_case { text.to_lowercase() } else { text.to_owned() };
        let (pattern, name): (Vec<char>, Vec<char>) =
            (fold(pattern).chars().collect(), fold(name).chars().collect());
        like(&pattern, &name) != self.negated
    }
}

/// Backtracks only to the last `%`, so the time is the product of the lengths at most.
fn like(pattern: &[char], name: &[char]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while n < name.len() {
        let escaped = pattern.get(p) == Some(&'\\') && p + 1 < pattern.len();
        let wanted = pattern.get(p + usize::from(escaped));
        if !escaped && wanted == Some(&'%') {
            retry = Some((p, n));
            p += 1;
        } else if wanted.is_some_and(|c| *c == name[n] || (!escaped && *c == '_')) {
            p += 1 + usize::from(escaped);
            n += 1;
        } else if let Some((star, from)) = retry {
            retry = Some((star, from + 1));
            (p, n) = (star + 1, from + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == '%')
}

#[cfg(test)]
mod tests {
    use super::NameFilter;

    #[test]
    fn name_filters_are_like_patterns() {
        let check = |pattern: &str, name: &str, expected: bool| {
            let filter = NameFilter { pattern: Some(pattern.to_owned()), ..NameFilter::default() };
            assert_eq!(filter.matches(name), expected, "{pattern} {name}");
        };
        check("max%", "max_threads", true);
        check("%threads", "max_threads", true);
        check("%max%a%s", "max_threads", true);
        check("max_threads", "maxAthreads", true);
        check(r"max\_threads", "maxAthreads", false);
        check("", "a", false);
        check("a", "A", false);
    }
}
