//! What a guess consists of: commands, each with what speaks for it.

/// The commands that a repository seems to be checked with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Detected {
    /// Runs the tests.
    pub test: Option<Found>,
    /// Checks types without running anything.
    pub typecheck: Option<Found>,
    /// Checks style.
    pub lint: Option<Found>,
    /// Runs once in a new worktree.
    pub setup: Option<Found>,
}

/// A command, and what speaks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The command line.
    pub command: String,
    /// The file that speaks for it, and what in it.
    pub because: String,
}

impl Detected {
    /// Whether there is a command that can show that the work is right.
    pub fn has_check(&self) -> bool {
        self.test.is_some() || self.typecheck.is_some() || self.lint.is_some()
    }

    /// Fills what is missing with `weaker`.
    pub(super) fn or(self, weaker: Self) -> Self {
        Self {
            test: self.test.or(weaker.test),
            typecheck: self.typecheck.or(weaker.typecheck),
            lint: self.lint.or(weaker.lint),
            setup: self.setup.or(weaker.setup),
        }
    }
}

impl Found {
    pub(super) fn new(command: impl Into<String>, because: impl Into<String>) -> Self {
        Self { command: command.into(), because: because.into() }
    }
}
