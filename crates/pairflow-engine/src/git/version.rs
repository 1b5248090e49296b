//! Which git is new enough.

/// The oldest git whose `merge-tree`, worktrees and settings by environment pairflow relies on.
pub const OLDEST_GIT: (u32, u32) = (2, 40);

/// Whether a version such as `2.43.0` or `2.39.5 (Apple Git-154)` is new enough; one that cannot be read is not.
pub fn is_recent(version: &str) -> bool {
    let mut numbers = version.split(['.', ' ', '-']).map(|part| part.parse::<u32>().ok());
    matches!((numbers.next(), numbers.next()), (Some(Some(major)), Some(Some(minor))) if (major, minor) >= OLDEST_GIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        for new in ["2.40.0", "2.40", "2.100.1.windows.1", "3.0.0-rc1", "2.47.1 (Apple Git-1)"] {
            assert!(is_recent(new), "{new}");
        }
        for old in ["2.39.5 (Apple Git-154)", "1.99", "2", "", "x.y"] {
            assert!(!is_recent(old), "{old}");
        }
    }
}
