//! Which git is there.

use super::error::GitError;
use super::run::{Call, Git};

/// The oldest git whose `merge-tree`, worktrees and settings by environment pairflow relies on.
pub const OLDEST_GIT: (u32, u32) = (2, 40);

/// Returns what `git --version` says, without its first two words.
pub fn version() -> Result<String, GitError> {
    let line = Git::nowhere().run(Call::new(["--version"]).raw_config())?.line()?;
    Ok(line.strip_prefix("git version ").unwrap_or(&line).to_owned())
}

/// Whether a version such as `2.43.0` or `2.39.5 (Apple Git-154)` is new enough; one that cannot be read is not.
pub fn is_recent(version: &str) -> bool {
    let mut numbers = version.split(['.', ' ', '-']).map(|part| part.parse::<u32>().ok());
    matches!((numbers.next(), numbers.next()), (Some(Some(major)), Some(Some(minor))) if (major, minor) >= OLDEST_GIT)
}

/// Insists on a git that is new enough, where a step that needs one is about to be recorded.
pub(crate) fn insist_on_recent() -> Result<(), GitError> {
    let found = version()?;
    if is_recent(&found) { Ok(()) } else { Err(GitError::TooOld { found }) }
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

    #[test]
    fn the_git_of_this_machine_is_new_enough_for_these_tests() {
        let found = version().unwrap();
        assert!(is_recent(&found), "git {found} is too old; install {OLDEST_GIT:?} or newer");
    }
}
