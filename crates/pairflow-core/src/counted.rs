//! A number with its noun: "1 minute", "2 minutes".

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_everything_else_is_not() {
        assert_eq!(counted(0_u32, "minute"), "0 minutes");
        assert_eq!(counted(1_u64, "minute"), "1 minute");
        assert_eq!(counted(2_usize, "minute"), "2 minutes");
    }
}
