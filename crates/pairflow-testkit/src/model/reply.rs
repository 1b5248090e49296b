//! What the model answers to a request, and which request gets which answer: by a function, or by a marker in the prompt.

use std::collections::BTreeMap;

use super::record::Seen;

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

type Choice = Box<dyn Fn(&Seen) -> Option<Reply> + Send + Sync>;

/// Everything that the model can be made to say.
///
/// Functions are asked first, in the order in which they were given. If none has an answer, the last text of the user
/// with a marker `[[name]]` picks a script by its name, and the number of turns that the model has taken since picks
/// the step. A request that nothing answers fails with status 400, which both CLIs show.
#[derive(Default)]
pub struct Scripts {
    choices: Vec<Choice>,
    named: BTreeMap<String, Vec<Reply>>,
}

impl Scripts {
    /// Knows nothing to say yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets a function choose. It sees no side requests: those get a title.
    #[must_use]
    pub fn by(mut self, choice: impl Fn(&Seen) -> Option<Reply> + Send + Sync + 'static) -> Self {
        self.choices.push(Box::new(choice));
        self
    }

    /// Adds a script, one reply a step. A failure takes no step: it is served once, and the retry gets what follows; at
    /// the end of a script it is served for good.
    #[must_use]
    pub fn named(mut self, name: &str, steps: impl IntoIterator<Item = Reply>) -> Self {
        self.named.insert(name.to_owned(), steps.into_iter().collect());
        self
    }

    /// Returns the answer, or why there is none.
    pub(super) fn answer(&self, seen: &Seen) -> Result<Reply, String> {
        if seen.side {
            return Ok(Reply::text(r#"{"title":"Mock title"}"#));
        }
        if let Some(reply) = self.choices.iter().find_map(|choice| choice(seen)) {
            return Ok(reply);
        }
        let place = seen.last_where(|text| self.marked(text).is_some());
        let place = place.ok_or("no script answers this request: no function chose, and no text has a marker")?;
        let name = self.marked(place.text).ok_or("the marker was there a moment ago")?;
        let reply = step(&self.named[name], place.turns, seen.attempt);
        reply.cloned().ok_or_else(|| format!("the script [[{name}]] has no step {}", place.turns + 1))
    }

    /// Returns the script whose marker stands last in `text`.
    fn marked(&self, text: &str) -> Option<&str> {
        let found = self.named.keys().filter_map(|name| Some((text.rfind(&format!("[[{name}]]"))?, name.as_str())));
        found.max().map(|(_, name)| name)
    }
}

/// Returns what follows after `turns` answers. Failures before it come first, one an attempt.
fn step(steps: &[Reply], turns: usize, attempt: usize) -> Option<&Reply> {
    let answers: Vec<usize> = (0..steps.len()).filter(|at| !steps[*at].fails()).collect();
    let answer = match answers.get(turns) {
        Some(at) => *at,
        None if turns == answers.len() => steps.len(),
        None => return None,
    };
    let from = turns.checked_sub(1).map_or(0, |before| answers[before] + 1);
    let failures = &steps[from..answer];
    failures.get(attempt).or_else(|| steps.get(answer)).or_else(|| failures.last())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_takes_no_step_and_is_served_once() {
        let steps = [Reply::shell("a"), Reply::status(500), Reply::status(429), Reply::text("b")];
        let served = |turns, attempt| step(&steps, turns, attempt).unwrap().clone();
        assert_eq!(served(0, 0), steps[0]);
        assert_eq!(
            [served(1, 0), served(1, 1), served(1, 2), served(1, 3)].as_slice(),
            [steps[1].clone(), steps[2].clone(), steps[3].clone(), steps[3].clone()]
        );
        assert_eq!(step(&steps, 2, 0), None);
    }

    #[test]
    fn a_failure_at_the_end_is_served_for_good() {
        let steps = [Reply::text("a"), Reply::status(500)];
        assert_eq!(step(&steps, 1, 7), Some(&steps[1]));
        assert_eq!(step(&[], 0, 0), None);
    }
}
