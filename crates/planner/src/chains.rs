//! Long chains of one operation that may be grouped anyhow, AND, OR and UNION, as balanced trees.
//!
//! Invariant: the operands keep their order, so what is evaluated first stays first; short chains stay as written.

/// Chains up to this length are left as they are: their trees are shallow and their plans known.
const SHORT: usize = 32;

/// A chain whose links all have the same operation, from left to right.
pub fn grouped<T>(mut items: Vec<T>, joined: &impl Fn(T, T) -> T) -> Option<T> {
    if items.len() <= SHORT {
        return items.into_iter().reduce(joined);
    }
    let right = items.split_off(items.len() / 2);
    match (grouped(items, joined), grouped(right, joined)) {
        (Some(left), Some(right)) => Some(joined(left, right)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_chain_keeps_its_order_and_is_shallow() {
        let joined = |(left, a): (String, usize), (right, b): (String, usize)| {
            (format!("{left} {right}"), a.max(b) + 1)
        };
        let items: Vec<_> = (0..5000).map(|at| (at.to_string(), 0)).collect();
        let written: Vec<_> = (0..5000).map(|at| at.to_string()).collect();
        let (text, depth) = grouped(items, &joined).unwrap();
        assert_eq!(text, written.join(" "));
        assert!(depth < 50, "{depth}");
        let few = |count: usize| grouped((0..count).map(|at| (at.to_string(), 0)).collect(), &joined);
        assert_eq!(few(3), Some(("0 1 2".to_owned(), 2)));
        assert_eq!(few(0), None);
    }
}
