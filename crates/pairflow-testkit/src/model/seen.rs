//! A request as a script looks at it: who asks, and what was said so far, in one form for both CLIs.

use serde_json::Value;

/// Which CLI is asking, told by the protocol that it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Claude Code: Anthropic Messages.
    Claude,
    /// Codex: OpenAI Responses.
    Codex,
}

/// One thing that was said in a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// Standing instructions, the developer's included.
    System(String),
    /// A text of the user: prompts, and what the CLI adds in the user's name.
    User(String),
    /// A text of the model.
    Assistant(String),
    /// A tool that the model has called.
    Call {
        /// The call's own id.
        id: String,
        /// The tool.
        name: String,
        /// What the tool was given.
        input: Value,
    },
    /// What a tool gave back.
    Result(ToolResult),
}

impl Said {
    fn text(&self) -> Option<&str> {
        match self {
            Self::System(text) | Self::User(text) | Self::Assistant(text) => Some(text),
            Self::Call { .. } | Self::Result(_) => None,
        }
    }

    fn is_models(&self) -> bool {
        matches!(self, Self::Assistant(_) | Self::Call { .. })
    }
}

/// What a tool gave back, as the model reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// The call that it belongs to.
    pub call: String,
    /// The text, with everything that the CLI writes around it.
    pub text: String,
    /// Whether the CLI called it an error. Codex never does; its text holds the exit code.
    pub is_error: bool,
}

/// A request for an answer of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// Which CLI asks.
    pub kind: Kind,
    /// The conversation, as the CLI names it.
    pub session: String,
    /// What was said so far, oldest first.
    pub said: Vec<Said>,
    /// Whether the CLI asks for itself, without tools, for example for a title.
    pub side: bool,
    /// How often the very same was asked before in a row: 0 at first, more in retries.
    pub attempt: usize,
}

/// A text of the user, and what has happened since.
#[derive(Debug, Clone, PartialEq)]
pub struct Place<'a> {
    /// The text.
    pub text: &'a str,
    /// How many turns the model has taken since.
    pub turns: usize,
    /// What tools gave back since.
    pub results: Vec<&'a ToolResult>,
}

impl Seen {
    /// Returns every text of the user, verbatim, oldest first.
    pub fn user_texts(&self) -> Vec<&str> {
        self.said.iter().filter(|said| matches!(said, Said::User(_))).filter_map(Said::text).collect()
    }

    /// Returns the standing instructions.
    pub fn system_texts(&self) -> Vec<&str> {
        self.said.iter().filter(|said| matches!(said, Said::System(_))).filter_map(Said::text).collect()
    }

    /// Returns what tools gave back, oldest first.
    pub fn tool_results(&self) -> Vec<&ToolResult> {
        results(&self.said)
    }

    /// Returns the last text of the user that contains `part`, with what has happened since.
    pub fn last_with(&self, part: &str) -> Option<Place<'_>> {
        self.last_where(|text| text.contains(part))
    }

    /// Returns the last text of the user that `fits`, with what has happened since.
    pub fn last_where(&self, fits: impl Fn(&str) -> bool) -> Option<Place<'_>> {
        let at = self.said.iter().rposition(|said| matches!(said, Said::User(text) if fits(text)))?;
        let Said::User(text) = &self.said[at] else { return None };
        let since = &self.said[at + 1..];
        Some(Place { text, turns: turns(since), results: results(since) })
    }
}

fn results(said: &[Said]) -> Vec<&ToolResult> {
    said.iter().filter_map(|said| if let Said::Result(result) = said { Some(result) } else { None }).collect()
}

/// Counts the model's turns. A turn may hold a text and a call: it is a run of what the model said.
fn turns(said: &[Said]) -> usize {
    let starts = |(at, one): &(usize, &Said)| one.is_models() && (*at == 0 || !said[at - 1].is_models());
    said.iter().enumerate().filter(starts).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(said: Vec<Said>) -> Seen {
        Seen { kind: Kind::Claude, session: "s".to_owned(), said, side: false, attempt: 0 }
    }

    fn call() -> Said {
        Said::Call { id: "c".to_owned(), name: "Bash".to_owned(), input: Value::Null }
    }

    fn result(text: &str) -> Said {
        Said::Result(ToolResult { call: "c".to_owned(), text: text.to_owned(), is_error: false })
    }

    #[test]
    fn a_text_and_a_call_in_a_row_are_one_turn() {
        let user = |text: &str| Said::User(text.to_owned());
        let said = vec![user("go"), Said::Assistant("first".to_owned()), call(), result("1"), call(), result("2")];
        let seen = seen(said);
        let place = seen.last_with("go").unwrap();
        assert_eq!((place.turns, place.results.len()), (2, 2));
    }

    #[test]
    fn turns_are_counted_from_the_last_text_that_fits() {
        let user = |text: &str| Said::User(text.to_owned());
        let said = vec![user("go 1"), call(), result("1"), Said::Assistant("done".to_owned()), user("go 2"), user("x")];
        let seen = seen(said);
        assert_eq!(seen.last_with("go").unwrap(), Place { text: "go 2", turns: 0, results: Vec::new() });
        assert_eq!(seen.last_with("go 1").unwrap().turns, 2);
        assert!(seen.last_with("stop").is_none());
    }
}
