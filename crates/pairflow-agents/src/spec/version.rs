//! Which versions of an agent's program are known to work.

use std::fmt;

/// A version of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

/// The oldest version of a program with which agents in panes are known to work, and where npm has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OldestVersion {
    /// What the program is called.
    pub program: &'static str,
    /// The version.
    pub version: Version,
    /// Its package.
    pub package: &'static str,
}

impl Version {
    /// Finds the version in what a program says to `--version`: the first word with three numbers.
    pub fn find(said: &str) -> Option<Self> {
        said.split_whitespace().find_map(|word| {
            let mut numbers = word.split(['-', '+']).next()?.split('.').map(|part| part.parse().ok());
            let version = Self(numbers.next()??, numbers.next()??, numbers.next()??);
            numbers.next().is_none().then_some(version)
        })
    }
}

impl OldestVersion {
    /// The command that installs it. The version is named, because npm otherwise takes an older one for an older Node.js.
    pub fn install(&self) -> String {
        format!("npm install -g {}@{}", self.package, self.version)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_the_programs_say() {
        for (said, version) in [
            ("2.1.325 (Claude Code)\n", Some(Version(2, 1, 325))),
            ("codex-cli 0.166.0\n", Some(Version(0, 166, 0))),
            ("codex-cli 0.167.0-alpha.1", Some(Version(0, 167, 0))),
            ("usage: 1.2 or 1.2.3.4", None),
            ("", None),
        ] {
            assert_eq!(Version::find(said), version, "{said:?}");
        }
        assert!(Version(2, 1, 197) < Version(2, 1, 325) && Version(0, 166, 0) < Version(1, 0, 0));
    }
}
