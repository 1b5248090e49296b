//! Codex.
//!
//! Our hooks are on the command line, and so is the trust in exactly them: Codex runs a hook only if its hash is trusted,
//! and reads that from the same layers as all settings. So the person's configuration is not touched, their own hooks stay
//! as trusted as they are, and the switch that trusts all hooks is not needed. A version that computes another hash shows
//! its review of hooks, which is one of the dialogs here.

use pairflow_core::hash::sha256;
use pairflow_core::rules::{HookKind, Permissions};
use pairflow_core::time::Timestamp;
use pairflow_engine::driver::{Composer, Dialog, PaneStart, Trouble, TroubleKind};
use pairflow_engine::process::MARK;
use serde_json::{Value, json};

use super::model::EnvNames;
use super::model::{AgentSpec, Opening, PermissionWords, dialog, lines_from_end, words};
use super::model::{HOOK_EVENTS, HookSpec, command};
use super::model::{OldestVersion, Version};

/// Screens, hooks and arguments here are those of this version; no older one was tried in a pane.
const OLDEST: OldestVersion = OldestVersion { program: "codex", version: Version(0, 166, 0), package: "@openai/codex" };

/// The file that Codex names as the source of settings on the command line.
const FLAGS: &str = "/<session-flags>/config.toml";

/// Describes Codex.
pub(super) fn spec() -> AgentSpec {
    let opening = |first, last| Opening { command: words(["codex"]), first, last };
    AgentSpec {
        resume: Some(opening(words(["resume"]), words(["{session}"]))),
        always: always(),
        permissions: permissions(),
        hooks: HookKind::Codex,
        env: env(),
        dialogs: dialogs(),
        composer: Some(composer()),
        sandboxed: true,
        oldest: Some(OLDEST),
        ..AgentSpec::plain(opening(Vec::new(), Vec::new()))
    }
}

/// Its shared server would outlive the pane; a login shell of Debian sets a PATH without pairflow; and a person who types
/// into a pane must not meet an offer that takes the next Enter for a yes.
fn always() -> Vec<String> {
    let settings =
        ["allow_login_shell=false", "check_for_update_on_startup=false", "notice.hide_rate_limit_model_nudge=true"];
    let settings = settings.into_iter().flat_map(|setting| ["-c".to_owned(), setting.to_owned()]);
    std::iter::once("--no-daemon".to_owned()).chain(settings).collect()
}

/// Its sandbox is the permission: what works inside needs none. The network is open because agents reach pairflow
/// through a socket.
fn permissions() -> PermissionWords {
    let reading = r#"permissions.pairflow={extends=":read-only",network={enabled=true}}"#;
    let network = "sandbox_workspace_write.network_access=true";
    PermissionWords {
        ask: words(["-a", "on-request", "-c", reading, "-c", r#"default_permissions="pairflow""#]),
        edits: words(["-a", "on-request", "-s", "workspace-write", "-c", network]),
    }
}

fn env() -> EnvNames {
    EnvNames {
        names: &[],
        prefixes: &["OPENAI_", "CODEX_", "AZURE_OPENAI_"],
        with: &[],
        outer: &[
            "CODEX_THREAD_ID",
            "CODEX_SESSION_ID",
            "CODEX_TOOL_CALL_ID",
            "CODEX_SANDBOX",
            "CODEX_CI",
            "CODEX_VERSION",
            "CODEX_APPLY_PATCH_",
            "CODEX_INTERNAL_",
        ],
        added: Vec::new(),
    }
}

/// Its prompt has no edges, but it shows the cursor only where it takes text, never beside a choice.
fn composer() -> Composer {
    Composer { marks: words(["›"]), ruled: false, cursor: true, hints: words(["Ask Codex to do anything"]) }
}

/// Each mark was seen on a real screen, except those of `update`, which our arguments turn off, and of `network`, `tool`
/// and `new-model`, which need a real account or server: those were taken from the program itself.
fn dialogs() -> Vec<Dialog> {
    let asks =
        |name: &str, marks: &[&str], what: &str| dialog(name, marks, &format!("Codex {what}. Answer in its pane."));
    let review = "asks whether it may run hooks (those of pairflow call `pairflow hook`)";
    let near_limit = "offers another model because its account is near its limit";
    vec![
        asks("trust", &["Trust this folder?", "Trust and continue"], "asks whether it may work in this folder"),
        asks("login", &["Sign in with ChatGPT", "Press enter to continue"], "is not logged in"),
        asks("hooks", &["Hooks need review", "Continue without trusting"], review),
        asks("update", &["Update available!", "Update now"], "offers an update"),
        asks("model", &["Approaching rate limits", "Keep current model"], near_limit),
        asks("permission", &["Would you like to", "enter to confirm", "esc to cancel"], "asks for a permission"),
        asks("network", &["Do you want to approve network access to"], "asks for network access"),
        asks("tool", &["needs your approval.", "Cancel this request"], "asks for the permission to use a tool"),
        asks("new-model", &["Try new model", "Use existing model"], "offers another model"),
    ]
}

/// Returns the arguments that install our hooks, make Codex trust them, and pass pairflow's variables to its shell whatever
/// the person's policy for variables is. A program without hooks gets the variables only.
pub(super) fn hook_words(seat: &PaneStart, mute: bool) -> Vec<String> {
    let wanted = |event: &&HookSpec| event.codex && !mute;
    let ours = || HOOK_EVENTS.iter().filter(wanted).map(|event| (event, command(&seat.program, event)));
    let hook = |(event, command): (&HookSpec, String)| {
        let (command, timeout) = (toml(&command), event.timeout_secs);
        format!("hooks.{}=[{{hooks=[{{type=\"command\",command={command},timeout={timeout}}}]}}]", event.name)
    };
    let trust = |(event, command): (&HookSpec, String)| {
        let key = toml(&format!("{FLAGS}:{}:0:0", event.label));
        format!("{key}={{trusted_hash={}}}", toml(&fingerprint(event, &command)))
    };
    let trusted = ours().map(trust).collect::<Vec<_>>().join(",");
    let told = seat.env.iter().filter(|(name, _)| name.starts_with("PAIRFLOW_") || name == MARK);
    let told = told.map(|(name, value)| format!("shell_environment_policy.set.{name}={}", toml(value)));
    let state = (!mute).then(|| format!("hooks.state={{{trusted}}}"));
    let settings = ours().map(hook).chain(state).chain(told).chain(writable(seat));
    settings.flat_map(|setting| ["-c".to_owned(), setting]).collect()
}

/// Lets the sandbox write acceptance tests. One that only reads asks for it.
fn writable(seat: &PaneStart) -> Option<String> {
    let path = seat.scratch.as_ref().filter(|_| seat.permissions == Permissions::Edits)?.to_str()?;
    Some(format!("sandbox_workspace_write.writable_roots=[{}]", toml(path)))
}

/// Codex records the end of each turn with its failure, and before it how much of the account is used.
pub(super) fn trouble(record_end: &str) -> Option<Trouble> {
    let ends = |line: &Value| matches!(line["payload"]["type"].as_str(), Some("task_started" | "task_complete"));
    let error =
        lines_from_end(record_end).find(ends)?["payload"].get("error").filter(|error| !error.is_null())?.clone();
    let kind = match error["codex_error_info"].as_str() {
        Some("usage_limit_exceeded" | "rate_limit_exceeded") => TroubleKind::Limit,
        Some("unauthorized") => TroubleKind::Account,
        _ => TroubleKind::Model,
    };
    let until = (kind == TroubleKind::Limit).then(|| resets_at(record_end)).flatten();
    let until = until.and_then(|secs| secs.checked_mul(1000));
    let text = error["message"].as_str().unwrap_or("the model could not be reached").to_owned();
    Some(Trouble { kind, until: until.map(Timestamp::from_millis), text })
}

/// Returns when the last exhausted window resets, in seconds since 1970.
fn resets_at(record_end: &str) -> Option<i64> {
    let limits =
        lines_from_end(record_end).map(|line| line["payload"]["rate_limits"].clone()).find(Value::is_object)?;
    let windows = [&limits["primary"], &limits["secondary"]].into_iter();
    let used_up = windows.filter(|window| window["used_percent"].as_f64().is_some_and(|used| used >= 100.0));
    used_up.filter_map(|window| window["resets_at"].as_i64()).max()
}

/// Returns how Codex identifies a hook: the hash of its description with sorted keys.
fn fingerprint(event: &HookSpec, command: &str) -> String {
    let handler = json!({"async": false, "command": command, "timeout": event.timeout_secs, "type": "command"});
    let identity = json!({"event_name": event.label, "hooks": [handler]});
    format!("sha256:{}", sha256(identity.to_string().as_bytes()))
}

/// Writes a text as TOML. JSON escapes the same way, except for one character.
fn toml(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}
