//! What the model answers to one request: texts, a shell command, gates that hold the stream, or a failure.

/// An answer to one request. With a command the turn goes on, without one it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub(super) parts: Vec<Part>,
    pub(super) ending: Ending,
}

/// A piece of an answer, sent in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Shell(Shell),
    /// A file that the agent is to read with its own tool for that; Codex, which has none, with a command.
    Read(String),
    /// The stream stands still here until the test opens the gate of this name.
    Gate(String),
}

/// A command that the agent is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shell {
    pub(super) command: String,
    /// Why Codex should run it outside of its sandbox, which makes it ask for permission.
    pub(super) escalated: Option<String>,
}

/// How an answer ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    /// As the protocol has it.
    Whole,
    /// The connection breaks where the end would be.
    Cut,
    /// There is no answer but an error; the body is the usual one of the protocol unless it is given.
    Status { status: u16, headers: Vec<(String, String)>, body: Option<String> },
}

impl Reply {
    /// Says `text`. If nothing follows, the turn ends.
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(Part::Text(text.into()))
    }

    /// Has the agent run `command` in its shell.
    pub fn shell(command: impl Into<String>) -> Self {
        Self::of(Part::Shell(Shell { command: command.into(), escalated: None }))
    }

    /// Has the agent run `command`; Codex is told to leave its sandbox for it because of `why`, so it has to ask.
    pub fn escalated(command: impl Into<String>, why: impl Into<String>) -> Self {
        Self::of(Part::Shell(Shell { command: command.into(), escalated: Some(why.into()) }))
    }

    /// Has the agent read a file.
    pub fn read(path: impl Into<String>) -> Self {
        Self::of(Part::Read(path.into()))
    }

    /// Begins to answer and then waits for the gate `name`.
    pub fn gate(name: impl Into<String>) -> Self {
        Self::of(Part::Gate(name.into()))
    }

    /// Fails with an HTTP status, for example 429 or 500.
    pub fn status(status: u16) -> Self {
        Self { parts: Vec::new(), ending: Ending::Status { status, headers: Vec::new(), body: None } }
    }

    /// Adds a header to a failure, for example `retry-after`. An answer has the headers of its protocol only.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Ending::Status { headers, .. } = &mut self.ending {
            headers.push((name.into(), value.into()));
        }
        self
    }

    /// Gives a failure a body of its own, for example the one that says when a limit ends.
    #[must_use]
    pub fn body(mut self, text: impl Into<String>) -> Self {
        if let Ending::Status { body, .. } = &mut self.ending {
            *body = Some(text.into());
        }
        self
    }

    /// Goes on with what `next` says, and ends as `next` ends.
    #[must_use]
    pub fn then(mut self, next: Self) -> Self {
        self.parts.extend(next.parts);
        self.ending = next.ending;
        self
    }

    /// Breaks the connection where the end of the answer would be.
    #[must_use]
    pub fn cut(mut self) -> Self {
        self.ending = Ending::Cut;
        self
    }

    /// Whether the CLI gets no answer that it could keep.
    pub(super) fn fails(&self) -> bool {
        self.ending != Ending::Whole
    }

    fn of(part: Part) -> Self {
        Self { parts: vec![part], ending: Ending::Whole }
    }
}
