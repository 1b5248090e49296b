//! The form of an agent's description.

use pairflow_core::rules::{HookKind, Permissions, PromptBy};
use pairflow_engine::driver::{Composer, Dialog, SeatStart, Session};
use serde_json::Value;

use super::environment::EnvNames;
use super::version::OldestVersion;

/// What stands for the name of a conversation in the words of an [`Opening`].
const SESSION: &str = "{session}";

/// How one agent program is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSpec {
    /// How a new conversation is begun.
    pub fresh: Opening,
    /// How an earlier conversation goes on; `None` if the program cannot do that.
    pub resume: Option<Opening>,
    /// What the person adds to every start.
    pub args: Vec<String>,
    /// What every start needs.
    pub always: Vec<String>,
    /// What it may do without asking.
    pub permissions: PermissionWords,
    /// How the first prompt gets there.
    pub prompt: PromptBy,
    /// Whose hooks it understands; the words that come with them are that program's too.
    pub hooks: HookKind,
    /// Whether the person wants it without its hooks; everything else stays.
    pub mute: bool,
    /// Which variables of the person it gets.
    pub env: EnvNames,
    /// What it may show instead of working.
    pub dialogs: Vec<Dialog>,
    /// How its screen shows that a prompt may be typed; nothing if that is not known.
    pub composer: Option<Composer>,
    /// Whether it works in a sandbox of its own, which it leaves with a permission.
    pub sandboxed: bool,
    /// The oldest version that is known to work; nothing if none is known.
    pub oldest: Option<OldestVersion>,
}

/// The words of a start around those that every start has; `{session}` stands for the name of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Opening {
    /// The program, with words that belong to it.
    pub command: Vec<String>,
    /// What comes right after the program.
    pub first: Vec<String>,
    /// What comes last, before the prompt.
    pub last: Vec<String>,
}

/// The words for each level of permissions that needs no sandbox around the agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PermissionWords {
    /// For [`Permissions::Ask`].
    pub ask: Vec<String>,
    /// For [`Permissions::Edits`].
    pub edits: Vec<String>,
}

/// Texts that turn a program's own protection off; no word of a start may have one in it.
const BYPASS: [&str; 5] = ["dangerously", "bypassPermissions", "danger-full-access", "bypass_hook_trust", "--yolo"];

impl AgentSpec {
    /// Returns the program and its arguments. `hook_words` are asked for last: they may name files that are written then.
    pub(super) fn words_of_start(
        &self,
        seat: &SeatStart,
        hook_words: impl FnOnce() -> Result<Vec<String>, String>,
    ) -> Result<Vec<String>, String> {
        let opening = self.opening(&seat.session);
        let session = match &seat.session {
            Session::Fresh(name) | Session::Resume(name) => name,
        };
        let mut argv = filled(&opening.command, session);
        argv.extend(filled(&opening.first, session));
        argv.extend(self.args.iter().cloned());
        if let Some(word) = argv.iter().find(|word| BYPASS.iter().any(|text| word.contains(text))) {
            return Err(format!("`{word}` turns off its own protection, and there is no sandbox around it"));
        }
        argv.extend(self.always.iter().cloned());
        argv.extend(self.permission_words(seat.permissions)?.iter().cloned());
        argv.extend(hook_words()?);
        argv.extend(filled(&opening.last, session));
        argv.extend(self.prompts(seat).then(|| seat.prompt.clone()));
        Ok(argv)
    }

    /// Returns the name of the conversation, if it is known before the program says it.
    pub fn session(&self, session: &Session) -> Option<String> {
        let opening = self.opening(session);
        let named =
            [&opening.command, &opening.first, &opening.last].into_iter().flatten().any(|word| word.contains(SESSION));
        let (Session::Fresh(name) | Session::Resume(name)) = session;
        named.then(|| name.clone())
    }

    /// Whether it reports by hooks.
    pub fn reports(&self) -> bool {
        self.hooks != HookKind::None && !self.mute
    }

    /// Whether the first prompt is one of the arguments.
    pub fn prompts(&self, seat: &SeatStart) -> bool {
        self.prompt == PromptBy::Argument && !seat.prompt.is_empty()
    }

    /// A program that cannot go on with a conversation begins a new one.
    fn opening(&self, session: &Session) -> &Opening {
        match session {
            Session::Fresh(_) => &self.fresh,
            Session::Resume(_) => self.resume.as_ref().unwrap_or(&self.fresh),
        }
    }

    fn permission_words(&self, permissions: Permissions) -> Result<&[String], String> {
        match permissions {
            Permissions::Ask => Ok(&self.permissions.ask),
            Permissions::Edits => Ok(&self.permissions.edits),
            Permissions::All => Err("`permissions = \"all\"` needs a sandbox around the agent, and pairflow has none \
                                     yet; set `permissions = \"edits\"`"
                .to_owned()),
        }
    }
}

/// Owns some words.
pub(super) fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

/// Makes a dialog.
pub(super) fn dialog<const N: usize>(name: &str, marks: [&str; N], advice: &str) -> Dialog {
    Dialog { name: name.to_owned(), marks: words(marks), advice: advice.to_owned() }
}

/// Reads the end of a file of JSON lines, newest first; what is cut off or no JSON is left out.
pub(super) fn lines_from_end(text: &str) -> impl Iterator<Item = Value> {
    text.lines().rev().filter_map(|line| serde_json::from_str(line).ok())
}

fn filled(words: &[String], session: &str) -> Vec<String> {
    words.iter().map(|word| word.replace(SESSION, session)).collect()
}
