//! Claude Code.
//!
//! Our hooks and permission rules are in a settings file of the bubble, which `--settings` adds to the person's own. The
//! person's files are neither read nor changed.

use std::collections::BTreeSet;

use pairflow_core::rules::{Check, HookKind, Permissions};
use pairflow_core::time::Timestamp;
use pairflow_engine::driver::{Composer, Dialog, PaneStart, Trouble, TroubleKind, private_file};
use serde_json::{Map, Value, json};

use super::model::EnvNames;
use super::model::{AgentSpec, Opening, PermissionWords, dialog, lines_from_end, words};
use super::model::{HOOK_EVENTS, command};
use super::model::{OldestVersion, Version};

/// Screens, hooks and arguments here are those of this version; no older one was tried in a pane.
const OLDEST: OldestVersion =
    OldestVersion { program: "claude", version: Version(2, 1, 325), package: "@anthropic-ai/claude-code" };

/// The pairflow commands that need no permission.
const VERBS: [&str; 10] =
    ["brief", "pass", "ask-human", "converged", "judge", "status", "findings", "diff", "inbox", "log"];

/// What a person is told when the list of conversations is shown.
const AGENTS: &str = "Claude Code shows its list of conversations. Go back to the one of this bubble, in its pane.";

/// Describes Claude Code.
pub(super) fn spec() -> AgentSpec {
    let opening = |first| Opening { command: words(["claude"]), first, last: Vec::new() };
    AgentSpec {
        resume: Some(opening(words(["--resume", "{session}"]))),
        permissions: PermissionWords {
            // Older versions do not know its new name, `manual`.
            ask: words(["--permission-mode", "default"]),
            edits: words(["--permission-mode", "acceptEdits"]),
        },
        hooks: HookKind::Claude,
        env: env(),
        dialogs: dialogs(),
        composer: Some(composer()),
        oldest: Some(OLDEST),
        ..AgentSpec::plain(opening(words(["--session-id", "{session}"])))
    }
}

fn env() -> EnvNames {
    EnvNames {
        names: &[
            "API_TIMEOUT_MS",
            "MAX_THINKING_TOKENS",
            "MAX_MCP_OUTPUT_TOKENS",
            "MCP_TIMEOUT",
            "MCP_TOOL_TIMEOUT",
            "USE_BUILTIN_RIPGREP",
        ],
        prefixes: &["ANTHROPIC_", "CLAUDE_", "DISABLE_", "BASH_DEFAULT_", "BASH_MAX_"],
        with: &[
            ("CLAUDE_CODE_USE_BEDROCK", &["AWS_"]),
            ("CLAUDE_CODE_USE_VERTEX", &["GOOGLE_", "VERTEX_", "CLOUD_ML_REGION", "GCLOUD_"]),
        ],
        outer: &[
            "CLAUDE_PID",
            "CLAUDE_EFFORT",
            "CLAUDE_ENV_FILE",
            "CLAUDE_PROJECT_DIR",
            "CLAUDE_PLUGIN_",
            "CLAUDE_JOB_",
            "CLAUDE_CODE_SESSION_",
            "CLAUDE_CODE_ENTRYPOINT",
            "CLAUDE_CODE_SSE_PORT",
            "CLAUDE_CODE_MESSAGING_",
            "CLAUDE_CODE_CHILD_",
            "CLAUDE_CODE_EXECPATH",
            "CLAUDE_CODE_REMOTE",
        ],
        added: Vec::new(),
    }
}

/// Its prompt is between two rules, of which a small pane shows the upper one only. It never shows the cursor.
fn composer() -> Composer {
    let hints = words(["Press up to edit queued messages"]);
    Composer { marks: words(["❯", ">"]), ruled: true, cursor: false, hints }
}

/// Each mark was seen on a real screen, except those of `setup`, `login`, `limit`, `plan` and `plugin`, which need a real
/// account or plan and were taken from the program itself. `agents` asks nothing, but its prompt, which looks like any
/// other, begins another conversation.
fn dialogs() -> Vec<Dialog> {
    let asks = |name: &str, marks: &[&str], what: &str| {
        dialog(name, marks, &format!("Claude Code {what}. Answer in its pane."))
    };
    let key = ["Detected a custom API key in your environment", "Do you want to use this API key?"];
    let mcp = ["MCP servers may execute code or access system resources", "Enter to confirm"];
    let setup = ["Choose the text style that looks best with your terminal"];
    vec![
        asks("trust", &["Yes, I trust this folder", "Enter to confirm"], "asks whether it may work in this folder"),
        asks("setup", &setup, "is not set up for this user and asks its first questions"),
        asks("login", &["Select login method"], "is not logged in"),
        asks("key", &key, "asks whether it may use the API key of your environment"),
        asks("settings", &["Exit and fix manually", "Enter to confirm"], "cannot read your settings"),
        asks("mcp", &mcp, "asks about an MCP server of this repository"),
        asks(
            "imports",
            &["Allow external CLAUDE.md file imports?", "Enter to confirm"],
            "asks whether CLAUDE.md may include files from elsewhere",
        ),
        asks(
            "limit",
            &["What do you want to do?", "Stop and wait for limit to reset"],
            "has reached the limit of its account",
        ),
        asks("permission", &["Do you want to", "1. Yes", "Esc to cancel"], "asks for a permission"),
        asks("plan", &["ready to execute", "Would you like to proceed?"], "shows a plan and asks whether to go on"),
        asks("plugin", &["Plugin recommendation", "Would you like to install it?"], "offers a plugin"),
        dialog("agents", &["New sessions:", "awaiting input"], AGENTS),
        dialog("agents", &["describe a task for a new session"], AGENTS),
    ]
}

/// Writes the settings file and returns the arguments that name it; a program without hooks gets its permissions only.
pub(super) fn hook_words(seat: &PaneStart, mute: bool) -> Result<Vec<String>, String> {
    let file = seat.runtime_dir.join(format!("{}.settings.json", seat.agent));
    let failed = |error: std::io::Error| format!("cannot write {}: {error}", file.display());
    private_file(&file, settings(seat, mute).to_string().as_bytes()).map_err(failed)?;
    let file = file.to_str().ok_or_else(|| format!("the path {} is not UTF-8", file.display()))?;
    Ok(words(["--settings", file]))
}

fn settings(seat: &PaneStart, mute: bool) -> Value {
    let entry = |event| {
        let handler =
            json!({"type": "command", "command": command(&seat.program, event), "timeout": event.timeout_secs});
        (event.name.to_owned(), json!([{"hooks": [handler]}]))
    };
    let hooks: Map<String, Value> = HOOK_EVENTS.iter().filter(|event| event.claude && !mute).map(entry).collect();
    // Questions to a person belong in the log: the agent asks them with `pairflow ask-human`.
    let mut permissions = json!({"allow": allowed(seat), "deny": ["AskUserQuestion"]});
    if let Some(path) = seat.scratch.as_ref().and_then(|path| path.to_str()) {
        // It counts as part of the worktree: files there are edited as freely.
        permissions["additionalDirectories"] = json!([path]);
    }
    json!({"hooks": hooks, "permissions": permissions})
}

/// Returns the commands that need no permission, as rules of Claude Code.
fn allowed(seat: &PaneStart) -> BTreeSet<String> {
    let checks: &[String] = if seat.permissions == Permissions::Edits { &seat.allowed } else { &[] };
    let checks = checks.iter().filter(|line| *line != Check::BUILT_IN).flat_map(|line| simple_commands(line));
    checks
        .map(|command| rule(&command))
        .chain(VERBS.iter().map(|verb| rule(&format!("pairflow {verb}"))))
        .chain(reads(seat))
        .collect()
}

/// Returns the rule that lets the agent read what pairflow writes for it outside the worktree. A path that would be taken
/// for a pattern gets none; then the agent asks.
fn reads(seat: &PaneStart) -> Option<String> {
    let path = seat.artifacts.to_str().filter(|path| !path.contains(['*', '?', '[', ']', '(', ')', '!', '\\']))?;
    Some(format!("Read(/{path}/**)"))
}

/// Allows arguments after a command, but not after a bare name: `sh` alone is harmless, `sh` with arguments is not.
fn rule(command: &str) -> String {
    let named = command.contains([' ', '/']);
    if named { format!("Bash({command}:*)") } else { format!("Bash({command})") }
}

/// Claude Code records a failed request as a message of the model with the failure beside it.
pub(super) fn trouble(record_end: &str) -> Option<Trouble> {
    let is_said = |line: &Value| matches!(line["type"].as_str(), Some("assistant" | "user"));
    let last = lines_from_end(record_end).find(is_said).filter(|line| line["isApiErrorMessage"] == true)?;
    let kind = match last["error"].as_str() {
        Some("rate_limit") => TroubleKind::Limit,
        Some("authentication_failed" | "billing_error" | "oauth_org_not_allowed") => TroubleKind::Account,
        _ => TroubleKind::Model,
    };
    let until = last["quotaLimits"]["resetsAt"].as_i64().and_then(|secs| secs.checked_mul(1000));
    let text = last["message"]["content"][0]["text"].as_str().unwrap_or("the model could not be reached");
    Some(Trouble { kind, until: until.map(Timestamp::from_millis), text: text.to_owned() })
}

/// Splits a command line into the commands that Claude Code judges one by one. Commands that a rule cannot express are
/// left out, and so are those that read from a pipe: `… | sh` would allow everything. A person is asked about those.
fn simple_commands(line: &str) -> Vec<String> {
    let mut parts = vec![Part::default()];
    let mut quote = None;
    for c in line.chars() {
        let last = parts.last_mut().expect("there is always a last part");
        match (quote, c) {
            (None, '|') if last.is_pipe() => last.piped = false,
            (None, '&') if last.is_pipe() => {}
            (None, '&' | '|' | ';' | '\n') => parts.push(Part { text: String::new(), piped: c == '|' }),
            _ => last.text.push(c),
        }
        quote = match (quote, c) {
            (None, '\'' | '"') => Some(c),
            (Some(open), c) if open == c => None,
            (quote, _) => quote,
        };
    }
    let sayable = |part: &&str| !part.is_empty() && !part.contains(['(', ')', '<', '>', '`', '$', '*', '\\', '\n']);
    let parts = parts.iter().filter(|part| !part.piped).map(|part| part.text.trim());
    parts.filter(sayable).map(str::to_owned).collect()
}

/// A command of a command line.
#[derive(Default)]
struct Part {
    text: String,
    /// Whether it reads the output of the one before.
    piped: bool,
}

impl Part {
    /// Whether only its pipe has been read so far.
    fn is_pipe(&self) -> bool {
        self.piped && self.text.is_empty()
    }
}
