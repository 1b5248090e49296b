//! Small helpers for text: a number with its noun, a short list of files, and how much two names resemble each other.

use std::fmt::Display;

/// Returns the number with its noun, in the plural unless there is one. The noun takes an `s`.
pub fn counted<N: Display + PartialEq + From<u8>>(n: N, noun: &str) -> String {
    let plural = if n == N::from(1) { "" } else { "s" };
    format!("{n} {noun}{plural}")
}

/// Names at most five files.
pub(crate) fn list(files: &[String]) -> String {
    let shown = files.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(5) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

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
    fn one_is_singular_and_everything_else_is_not() {
        assert_eq!(counted(0_u32, "minute"), "0 minutes");
        assert_eq!(counted(1_u64, "minute"), "1 minute");
        assert_eq!(counted(2_usize, "minute"), "2 minutes");
    }

    #[test]
    fn each_slip_of_a_finger_counts_once() {
        assert_eq!(distance("main", "main"), 0);
        assert_eq!(distance("mian", "main"), 1);
        assert_eq!(distance("", "main"), 4);
        assert_eq!(distance("Max-Rounds", "max_rounds"), 0);
        assert!(distance("mastr", "master") < distance("mastr", "develop"));
    }
}
