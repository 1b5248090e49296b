//! What a call of the program left: its exit code and its two streams.

use std::process::Output;

use serde_json::Value;

/// A call that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// The exit code; 128 and the number of the signal if one ended it.
    pub code: i32,
    /// What it printed as its result.
    pub stdout: String,
    /// What else it said.
    pub stderr: String,
}

impl Ran {
    /// Reads what a process left.
    pub fn of(output: &Output) -> Self {
        use std::os::unix::process::ExitStatusExt;
        let code = output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap_or_default());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code, stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    /// Insists that the call ended with 0.
    #[track_caller]
    pub fn ok(self) -> Self {
        self.ends(0)
    }

    /// Insists that the call ended with `code`.
    #[track_caller]
    pub fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Insists that one of the two streams contains `part`.
    #[track_caller]
    pub fn says(self, part: &str) -> Self {
        let said = self.stdout.contains(part) || self.stderr.contains(part);
        assert!(said, "{part:?} is missing in stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Returns the result as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        let parsed = serde_json::from_str(&self.stdout);
        parsed.unwrap_or_else(|error| panic!("{error} in stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr))
    }
}
