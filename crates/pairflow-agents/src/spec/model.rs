//! What is known about an agent program: how it is started, which variables it gets, which versions work, and which
//! moments it reports by hooks.
//!
//! An agent gets no variable that is not named here, so that no secret of the person, no variable of an outer agent and
//! nothing of pairflow's own reaches it by accident.

use std::fmt;
use std::path::Path;

use pairflow_core::rules::{HookKind, Permissions, PromptBy};
use pairflow_core::view::quoted;
use pairflow_engine::driver::{Composer, Dialog, PaneStart, Session};
use pairflow_engine::process::may_inherit;
use serde_json::Value;

/// The placeholder for the name of a conversation in an [`Opening`].
const SESSION: &str = "{session}";

/// How one agent program is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSpec {
    /// How a new conversation begins.
    pub fresh: Opening,
    /// How an earlier conversation is resumed; `None` if the program cannot do that.
    pub resume: Option<Opening>,
    /// Arguments that the person adds to every start.
    pub args: Vec<String>,
    /// Arguments that every start needs.
    pub always: Vec<String>,
    /// The arguments for each level of permissions.
    pub permissions: PermissionWords,
    /// How the first prompt is passed.
    pub prompt: PromptBy,
    /// Whose hooks it understands.
    pub hooks: HookKind,
    /// Whether the person switched its hooks off.
    pub mute: bool,
    /// Which variables of the person it gets.
    pub env: EnvNames,
    /// The dialogs in which it may wait for a person.
    pub dialogs: Vec<Dialog>,
    /// What its prompt looks like, if known.
    pub composer: Option<Composer>,
    /// Whether it works in a sandbox, which it leaves with a permission.
    pub sandboxed: bool,
    /// The oldest version that is known to work, if any is.
    pub oldest: Option<OldestVersion>,
}

/// The words of a start around those that all starts share; `{session}` is the name of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Opening {
    /// The program, with its own arguments.
    pub command: Vec<String>,
    /// What comes right after the program.
    pub first: Vec<String>,
    /// What comes last, before the prompt.
    pub last: Vec<String>,
}

/// The arguments for each level of permissions that needs no sandbox around the agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PermissionWords {
    /// For [`Permissions::Ask`].
    pub ask: Vec<String>,
    /// For [`Permissions::Edits`].
    pub edits: Vec<String>,
}

/// Texts that turn off a program's own protection; no argument may contain one.
const BYPASS: [&str; 5] = ["dangerously", "bypassPermissions", "danger-full-access", "bypass_hook_trust", "--yolo"];

impl AgentSpec {
    /// Describes a program of which only its start is known.
    pub(super) fn plain(fresh: Opening) -> Self {
        Self {
            fresh,
            resume: None,
            args: Vec::new(),
            always: Vec::new(),
            permissions: PermissionWords::default(),
            prompt: PromptBy::Argument,
            hooks: HookKind::None,
            mute: false,
            env: EnvNames::default(),
            dialogs: Vec::new(),
            composer: None,
            sandboxed: false,
            oldest: None,
        }
    }

    /// Returns the program and its arguments. `hook_words` is called last: it may write the files that they name.
    pub(super) fn words_of_start(
        &self,
        seat: &PaneStart,
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

    /// Returns the name of the conversation, if it is known before the program reports it.
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
    pub fn prompts(&self, seat: &PaneStart) -> bool {
        self.prompt == PromptBy::Argument && !seat.prompt.is_empty()
    }

    /// A program that cannot resume a conversation begins a new one.
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

/// Returns owned words.
pub(super) fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

/// Makes a dialog.
pub(super) fn dialog(name: &str, marks: &[&str], advice: &str) -> Dialog {
    let marks = marks.iter().map(|mark| (*mark).to_owned()).collect();
    Dialog { name: name.to_owned(), marks, advice: advice.to_owned() }
}

/// Reads JSON lines, last one first; invalid lines are skipped.
pub(super) fn lines_from_end(text: &str) -> impl Iterator<Item = Value> {
    text.lines().rev().filter_map(|line| serde_json::from_str(line).ok())
}

fn filled(words: &[String], session: &str) -> Vec<String> {
    words.iter().map(|word| word.replace(SESSION, session)).collect()
}

/// What agents get beyond what every command of a bubble gets. Signing keys of the person are not included.
const PERSON: [&str; 5] = ["NODE_EXTRA_CA_CERTS", "ALL_PROXY", "all_proxy", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"];

/// The terminal type inside tmux; every terminal database has it.
const TERMINAL: &str = "screen-256color";

/// The `PATH` if the person has none.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Which variables of the person an agent program gets, beyond what all agents get.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EnvNames {
    /// By name.
    pub names: &'static [&'static str],
    /// By prefix.
    pub prefixes: &'static [&'static str],
    /// By prefix, if the variable before it is set: credentials of one of several providers.
    pub with: &'static [(&'static str, &'static [&'static str])],
    /// Prefixes that are never admitted: they are about the conversation in which pairflow was called.
    pub outer: &'static [&'static str],
    /// Added by the person, by name; overrides everything but pairflow's own variables.
    pub added: Vec<String>,
}

impl EnvNames {
    fn admit(&self, name: &str, person: &[(String, String)]) -> bool {
        if name.starts_with("PAIRFLOW_") {
            return false;
        }
        if self.added.iter().any(|added| added == name) {
            return true;
        }
        let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        let set = |flag: &str| person.iter().any(|(name, value)| name == flag && !value.is_empty());
        let named = self.names.contains(&name) || begins(self.prefixes);
        let provided = || self.with.iter().any(|(flag, prefixes)| begins(prefixes) && set(flag));
        let person = may_inherit(name) || name.starts_with("XDG_") || PERSON.contains(&name);
        !begins(self.outer) && (person || named || provided())
    }
}

/// Returns the environment of an agent: what `names` admits of the person's, then `ours`, with the directory of
/// `program` before everything else in `PATH`.
pub fn environment(
    names: &EnvNames,
    person: &[(String, String)],
    ours: &[(String, String)],
    program: &Path,
) -> Vec<(String, String)> {
    let is_ours = |name: &str| ours.iter().any(|(one, _)| one == name);
    let own = |name: &str| matches!(name, "PATH" | "TERM") || is_ours(name);
    let mut env: Vec<_> = person.iter().filter(|(name, _)| !own(name) && names.admit(name, person)).cloned().collect();
    let path = person.iter().find(|(name, value)| name == "PATH" && !value.is_empty());
    let path = path.map_or(USUAL_PATH, |(_, value)| value);
    env.push(("PATH".to_owned(), with_first(program, path)));
    env.push(("TERM".to_owned(), TERMINAL.to_owned()));
    env.extend(ours.iter().cloned());
    env.sort();
    env.dedup_by(|later, first| later.0 == first.0);
    env
}

/// Puts the directory of `program` first: the agent has to find the pairflow that started it.
fn with_first(program: &Path, path: &str) -> String {
    let dir = program.parent().map(|dir| dir.display().to_string()).filter(|dir| !dir.is_empty());
    match dir {
        Some(dir) => format!("{dir}:{path}"),
        None => path.to_owned(),
    }
}

/// A version of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

/// The oldest version of a program that is known to work in a pane, and its npm package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OldestVersion {
    /// The name of the program.
    pub program: &'static str,
    /// The version.
    pub version: Version,
    /// Its npm package.
    pub package: &'static str,
}

impl Version {
    /// Finds the version in the output of `--version`: the first word with three numbers.
    pub fn find(said: &str) -> Option<Self> {
        said.split_whitespace().find_map(|word| {
            let mut numbers = word.split(['-', '+']).next()?.split('.').map(|part| part.parse().ok());
            let version = Self(numbers.next()??, numbers.next()??, numbers.next()??);
            numbers.next().is_none().then_some(version)
        })
    }
}

impl OldestVersion {
    /// Returns the command that installs it. It names the version, because npm picks an older one for an older Node.js.
    pub fn install(&self) -> String {
        format!("npm install -g {}@{}", self.package, self.version)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// An event that a program reports by a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookSpec {
    /// Its name.
    pub name: &'static str,
    /// Its name in the keys of Codex.
    pub label: &'static str,
    /// How long the program waits for the answer. Codex allows at most three seconds for the end of a session.
    pub timeout_secs: u32,
    /// Whether Claude Code knows it.
    pub claude: bool,
    /// Whether Codex knows it.
    pub codex: bool,
}

/// Every event that pairflow wants to know.
pub const HOOK_EVENTS: [HookSpec; 10] = [
    both("SessionStart", "session_start", 10),
    both("UserPromptSubmit", "user_prompt_submit", 10),
    both("PreToolUse", "pre_tool_use", 10),
    both("PostToolUse", "post_tool_use", 10),
    both("PermissionRequest", "permission_request", 600),
    both("Stop", "stop", 15),
    both("SessionEnd", "session_end", 3),
    HookSpec { codex: false, ..both("StopFailure", "stop_failure", 10) },
    HookSpec { codex: false, ..both("Notification", "notification", 10) },
    HookSpec { claude: false, ..both("Interrupt", "interrupt", 3) },
];

const fn both(name: &'static str, label: &'static str, timeout_secs: u32) -> HookSpec {
    HookSpec { name, label, timeout_secs, claude: true, codex: true }
}

/// Returns the shell command that a program runs at `event`.
pub(super) fn command(program: &Path, event: &HookSpec) -> String {
    format!("{} hook {}", quoted(&program.display().to_string()), event.name)
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

    #[test]
    fn a_request_for_a_permission_may_wait_longer_than_pairflow_keeps_it_waiting() {
        let event = HOOK_EVENTS.iter().find(|event| event.name == "PermissionRequest").expect("it is one of them");
        assert!(u64::from(event.timeout_secs) >= pairflow_engine::session::HOOK_WAIT.as_secs() + 60);
    }
}
