//! How much two names resemble each other, to guess what a misspelt one was meant to be.

/// Counts the insertions, deletions, replacements and swaps of neighbours between two names. Upper and lower case are
/// the same here, and so are `-` and `_`.
pub fn distance(left: &str, right: &str) -> usize {
    let plain = |text: &str| text.to_lowercase().replace('-', "_");
    strsim::osa_distance(&plain(left), &plain(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slip_of_a_finger_counts_once() {
        assert_eq!(distance("main", "main"), 0);
        assert_eq!(distance("mian", "main"), 1);
        assert_eq!(distance("", "main"), 4);
        assert_eq!(distance("Max-Rounds", "max_rounds"), 0);
        assert!(distance("mastr", "master") < distance("mastr", "develop"));
    }
}
