//! The hooks that both known programs understand, and the command that they run.

use std::path::Path;

/// A moment at which a program reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookEvent {
    /// As the programs call it.
    pub name: &'static str,
    /// As Codex calls it in the names of hooks.
    pub label: &'static str,
    /// How long the program waits for our answer. Codex allows no more than three seconds at an end.
    pub timeout_secs: u32,
    /// Whether Claude Code knows it.
    pub claude: bool,
    /// Whether Codex knows it.
    pub codex: bool,
}

/// Every moment that pairflow wants to hear of.
pub const HOOK_EVENTS: [HookEvent; 10] = [
    both("SessionStart", "session_start", 10),
    both("UserPromptSubmit", "user_prompt_submit", 10),
    both("PreToolUse", "pre_tool_use", 10),
    both("PostToolUse", "post_tool_use", 10),
    both("PermissionRequest", "permission_request", 600),
    both("Stop", "stop", 15),
    both("SessionEnd", "session_end", 3),
    HookEvent { codex: false, ..both("StopFailure", "stop_failure", 10) },
    HookEvent { codex: false, ..both("Notification", "notification", 10) },
    HookEvent { claude: false, ..both("Interrupt", "interrupt", 3) },
];

const fn both(name: &'static str, label: &'static str, timeout_secs: u32) -> HookEvent {
    HookEvent { name, label, timeout_secs, claude: true, codex: true }
}

/// Returns the command line, for a shell, that a program runs at `event`.
pub(super) fn command(program: &Path, event: &HookEvent) -> String {
    format!("{} hook {}", quoted(&program.display().to_string()), event.name)
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+');
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_for_a_permission_may_wait_longer_than_pairflow_keeps_it_waiting() {
        let event = HOOK_EVENTS.iter().find(|event| event.name == "PermissionRequest").expect("it is one of them");
        assert!(u64::from(event.timeout_secs) >= pairflow_engine::stage::HELD.as_secs() + 60);
    }
}
