//! What the hooks of an agent program report, and what they can be answered.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Weak;
use std::sync::mpsc::Sender;
use std::time::Duration;

use pairflow_core::ids::AgentId;
use pairflow_core::safe::{exact_line, safe_line, width};
use serde::{Deserialize, Serialize};

/// The longest prompt that is handed on, in bytes.
const PROMPT: usize = 2048;
/// How much of it is reserved for notices behind the cut.
const NOTICES: usize = 400;
/// The longest description of what a tool will do, in columns: a person may have to decide on it.
const TOOL: usize = 1000;
/// The longest text of any other field, in columns.
const TEXT: usize = 300;
/// The longest name of a session.
const SESSION: usize = 128;
/// The longest mark of a program.
const MARK: usize = 128;
/// The longest path of a transcript, in bytes.
const PATH: usize = 4096;

/// The events of the agent programs, which name them alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HookName {
    /// A conversation begins; Codex reports it with the first prompt.
    SessionStart,
    /// A prompt has arrived.
    UserPromptSubmit,
    /// A tool is about to be used.
    PreToolUse,
    /// A tool was used.
    PostToolUse,
    /// A tool needs a permission.
    PermissionRequest,
    /// The agent ends its turn.
    Stop,
    /// The agent's turn ended because the model could not be reached.
    StopFailure,
    /// A person interrupted the agent.
    Interrupt,
    /// The program notifies its user.
    Notification,
    /// The session ends.
    SessionEnd,
}

/// One event of an agent program. It is a report, never a verb.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookCall {
    /// What happened.
    pub event: HookName,
    /// The mark of the program whose hook it is, if its environment has one.
    pub mark: Option<String>,
    /// The name of the conversation.
    pub session: Option<String>,
    /// Where the program keeps its transcript.
    pub transcript: Option<PathBuf>,
    /// The prompt: its beginning, and every notice of pairflow that is in the rest.
    pub prompt: Option<String>,
    /// Which tool it is about.
    pub tool: Option<String>,
    /// What the tool is to do, byte for byte; a view makes it fit to be shown.
    pub tool_text: Option<String>,
    /// Whether nothing is cut, and no other input matters.
    #[serde(default)]
    pub tool_text_whole: bool,
    /// The message that comes with it.
    pub message: Option<String>,
    /// What went wrong.
    pub error: Option<String>,
    /// Whether the agent goes on because an earlier stop was refused.
    #[serde(default)]
    pub stop_hook_active: bool,
    /// Why the conversation began or ended, or the kind of notification.
    pub reason: Option<String>,
}

/// What a hook may answer its program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum HookAnswer {
    /// No decision: the program goes on as if there were no hook.
    Nothing,
    /// The agent may not end its turn yet.
    Block {
        /// What it is to do first.
        reason: String,
    },
    /// The tool may be used.
    Allow,
    /// The tool may not be used.
    Deny {
        /// Why.
        message: String,
    },
}

/// An event of an agent, with a way to answer. The caller waits until it is answered or dropped, so drop it only once it
/// is handled.
#[derive(Debug)]
pub struct HookEvent {
    /// Whose hook it is.
    pub agent: AgentId,
    /// What it reports.
    pub call: HookCall,
    /// Takes the answer. A caller that is gone needs none.
    pub answer: Sender<HookAnswer>,
    /// Upgradable while the caller is connected.
    pub alive: Weak<()>,
}

impl HookName {
    const ALL: [Self; 10] = [
        Self::SessionStart,
        Self::UserPromptSubmit,
        Self::PreToolUse,
        Self::PostToolUse,
        Self::PermissionRequest,
        Self::Stop,
        Self::StopFailure,
        Self::Interrupt,
        Self::Notification,
        Self::SessionEnd,
    ];

    /// Returns how long the hook waits for its event to be handled; `None` for one that is only forwarded.
    pub(crate) fn patience(self) -> Option<Duration> {
        match self {
            Self::Stop => Some(Duration::from_secs(8)),
            // A person may be asked. The programs end a hook after ten minutes.
            Self::PermissionRequest => Some(Duration::from_secs(570)),
            Self::UserPromptSubmit | Self::SessionStart => Some(Duration::from_secs(3)),
            _ => None,
        }
    }

    /// Whether the event must not get lost while the supervisor restarts.
    pub(super) fn insists(self) -> bool {
        matches!(self, Self::Stop | Self::UserPromptSubmit | Self::SessionStart | Self::PermissionRequest)
    }
}

impl fmt::Display for HookName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The variants have the names that the programs use.
        fmt::Debug::fmt(self, f)
    }
}

/// A text that names no event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown hook event")]
pub struct BadHookName;

impl FromStr for HookName {
    type Err = BadHookName;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let plain = |text: &str| text.trim().replace(['-', '_', ' '], "").to_ascii_lowercase();
        Self::ALL.into_iter().find(|name| plain(&name.to_string()) == plain(text)).ok_or(BadHookName)
    }
}

impl HookCall {
    /// Returns an event without details.
    pub fn new(event: HookName) -> Self {
        Self {
            event,
            mark: None,
            session: None,
            transcript: None,
            prompt: None,
            tool: None,
            tool_text: None,
            tool_text_whole: false,
            message: None,
            error: None,
            stop_hook_active: false,
            reason: None,
        }
    }

    /// Returns the event with every text cut to its limit. An invalid name of a conversation is dropped: it may become an
    /// argument of the program.
    pub(super) fn bounded(self) -> Self {
        let line = |text: Option<String>| text.map(|text| safe_line(&text, TEXT)).filter(|text| !text.is_empty());
        Self {
            mark: self.mark.filter(|mark| is_mark(mark)),
            session: self.session.filter(|name| is_session(name)),
            transcript: self.transcript.filter(|path| path.is_absolute() && path.as_os_str().len() <= PATH),
            prompt: self.prompt.map(prompt),
            tool: line(self.tool),
            tool_text_whole: self.tool_text_whole && self.tool_text.as_deref().is_some_and(is_showable),
            tool_text: self
                .tool_text
                .map(|text| text.chars().take(TOOL).collect::<String>())
                .filter(|text| !text.is_empty()),
            message: line(self.message),
            error: line(self.error),
            reason: line(self.reason),
            ..self
        }
    }
}

/// Whether all of `text` can be shown to the person who decides on it.
fn is_showable(text: &str) -> bool {
    !text.is_empty() && width(&exact_line(text)) <= TOOL
}

fn is_mark(mark: &str) -> bool {
    (1..=MARK).contains(&mark.len()) && mark.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
}

fn is_session(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    name.len() <= SESSION && name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(fits)
}

/// Cuts a prompt but keeps its notices: a busy program joins prompts that arrive meanwhile.
fn prompt(text: String) -> String {
    if text.len() <= PROMPT {
        return text;
    }
    let head = floor(&text, PROMPT - NOTICES);
    let mut notices = String::new();
    for notice in text[head..].match_indices("[pairflow ").filter_map(|(at, _)| notice(&text[head + at..])) {
        if notices.len() + notice.len() + 2 < NOTICES && !notices.contains(notice) {
            notices.push('\n');
            notices.push_str(notice);
        }
    }
    format!("{}{notices}", &text[..head])
}

/// Returns the last character boundary of `text` up to `at`.
pub(super) fn floor(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Returns the `[pairflow 12]` that a text begins with.
fn notice(text: &str) -> Option<&str> {
    let end = text.bytes().take(32).position(|byte| byte == b']')?;
    let number = text[..end].strip_prefix("[pairflow ")?;
    let whole = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    whole.then(|| &text[..=end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_known_in_every_spelling() {
        for name in HookName::ALL {
            assert_eq!(name.to_string().parse(), Ok(name));
            assert_eq!(name.to_string().to_uppercase().parse(), Ok(name));
        }
        assert_eq!("user-prompt_submit".parse(), Ok(HookName::UserPromptSubmit));
        for other in ["", "SubagentStop", "stops", "stop;rm"] {
            assert_eq!(other.parse::<HookName>(), Err(BadHookName), "{other}");
        }
    }

    #[test]
    fn a_long_prompt_keeps_its_beginning_and_every_notice() {
        let text = format!(
            "see {} [pairflow 7] é{} [pairflow x] [pairflow 12] [pairflow 7]",
            "é".repeat(4000),
            "y".repeat(9000)
        );
        let cut =
            HookCall { prompt: Some(text), ..HookCall::new(HookName::UserPromptSubmit) }.bounded().prompt.unwrap();
        assert!(cut.len() <= PROMPT && cut.starts_with("see é"), "{} bytes", cut.len());
        assert!(cut.ends_with("é\n[pairflow 7]\n[pairflow 12]"), "{}", &cut[cut.len() - 60..]);
    }

    #[test]
    fn what_cannot_be_the_mark_of_a_program_is_none() {
        let mark =
            |mark: &str| HookCall { mark: Some(mark.to_owned()), ..HookCall::new(HookName::Stop) }.bounded().mark;
        let drawn = crate::process::fresh_mark();
        assert_eq!(mark(&drawn), Some(drawn));
        for bad in ["", "1 2", "1\n", "1/2", &"1".repeat(129)] {
            assert_eq!(mark(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn what_could_be_an_option_is_no_session() {
        let session =
            |name: &str| HookCall { session: Some(name.to_owned()), ..HookCall::new(HookName::Stop) }.bounded().session;
        assert_eq!(session("0199-ab_c").as_deref(), Some("0199-ab_c"));
        for bad in ["", "--resume", "a b", "a\n", "../x", &"x".repeat(129)] {
            assert_eq!(session(bad), None, "{bad:?}");
        }
    }
}
