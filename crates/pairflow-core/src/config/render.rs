//! The `bubble.toml` that a new bubble is given: every decision written out, so that it stays what it was.

use toml::Value;

use super::resolve::Resolved;
use crate::ids::BubbleId;
use crate::rules::{
    BubbleKind, Check, ChecksIn, ContextMode, CustomAgent, HookKind, Notifications, Permissions, PromptBy, WorkMode,
};

/// Writes what was resolved as a `bubble.toml`; reading it gives the same rules again.
pub fn render_bubble_toml(resolved: &Resolved, id: &BubbleId, repo_path: &str) -> String {
    let mut file = Page { text: "# What this bubble was created with. A flag wins over this file.\n".to_owned() };
    head(&mut file, resolved, id, repo_path);
    tables(&mut file, resolved);
    file.text
}

fn head(file: &mut Page, resolved: &Resolved, id: &BubbleId, repo_path: &str) {
    let rules = &resolved.rules;
    file.line("id", id.as_str(), "");
    file.line("repo_path", repo_path, "");
    file.line("base_branch", rules.base_branch.as_str(), "");
    file.line("bubble_branch", rules.bubble_branch.as_str(), "");
    file.line("work_mode", work_mode(rules.work_mode), "worktree|clone");
    file.line("quality_mode", "strict", "only strict exists");
    file.line("reviewer_context_mode", context_mode(rules.reviewer_context_mode), "fresh|persistent");
    file.line("watchdog_timeout_minutes", i64::from(rules.watchdog_timeout_minutes), "");
    file.line("max_turn_minutes", i64::from(rules.max_turn_minutes), "");
    file.line("max_rounds", i64::from(rules.max_rounds), "reviews before a person decides");
    file.line("commit_requires_approval", true, "always");
    file.line("open_command", rules.open_command.as_str(), "");
    file.line("driver", rules.driver.name(), "tmux|external|script");
    file.maybe("script", rules.script.as_deref());
    file.line("permissions", permissions(rules.permissions), "ask|edits|all");
    file.line("capture_output", rules.capture_output, "");
    file.line("check_timeout_secs", i64::try_from(rules.check_timeout_secs).unwrap_or(i64::MAX), "");
    if rules.checks_in != ChecksIn::default() {
        file.line("checks_in", "worktree", "checkout|worktree");
    }
    if resolved.no_tests {
        file.line("no_tests", true, "the manual checks stand in");
    }
    file.list("manual_checks", &rules.manual_checks);
    if rules.kind != BubbleKind::Code {
        file.line("kind", rules.kind.to_string(), "code|implementation|document");
    }
    file.list("documents", &rules.documents);
    file.maybe("prd", rules.prd.as_ref().map(|prd| prd.source.as_str()));
}

fn tables(file: &mut Page, resolved: &Resolved) {
    let rules = &resolved.rules;
    file.table("agents");
    file.line("implementer", rules.agents.implementer.as_str(), "");
    file.line("reviewer", rules.agents.reviewer.as_str(), "");
    file.maybe("second_reviewer", rules.agents.second_reviewer.as_ref().map(|agent| agent.as_str()));
    let commands: Vec<_> = rules.checks.iter().filter(|check| !check.is_own()).collect();
    if !commands.is_empty() || rules.setup.is_some() {
        file.table("commands");
    }
    for check in commands {
        file.line(&check.name, check.command.as_str(), "");
    }
    file.maybe("setup", rules.setup.as_deref());
    if rules.checks.iter().any(|check| check.name == Check::RED_GREEN) {
        file.table("evidence");
        file.line("red_green", true, "new tests have to fail on the base");
    }
    if !rules.risk.is_empty() {
        file.table("risk");
    }
    file.list("paths", &rules.risk);
    notifications(file, &rules.notifications);
    if rules.scope != Default::default() {
        file.table("scope");
    }
    file.list("allow", &rules.scope.allow);
    file.list("deny", &rules.scope.deny);
    for (name, agent) in &rules.agents_custom {
        file.table(&format!("agent.{name}"));
        custom(file, agent);
    }
}

/// The webhook is left out: its address is a secret, and the file that it came from still says it.
fn notifications(file: &mut Page, notifications: &Notifications) {
    file.table("notifications");
    file.line("enabled", notifications.enabled, "");
    file.line("bell", notifications.bell, "");
    file.line("desktop", notifications.desktop, "");
    file.maybe("waiting_human_sound", notifications.waiting_human_sound.as_deref());
    file.maybe("converged_sound", notifications.converged_sound.as_deref());
}

fn custom(file: &mut Page, agent: &CustomAgent) {
    file.list("command", &agent.command);
    file.list("args", &agent.args);
    file.list("resume", &agent.resume);
    // A known agent that is only added to has its own; what nobody said is not written as if somebody had.
    if agent.prompt != PromptBy::default() {
        file.line("prompt", prompt(agent.prompt), "argument|paste");
    }
    if let Some(kind) = agent.hooks {
        file.line("hooks", hooks(kind), "claude|codex|none");
    }
    file.list("env", &agent.env);
}

fn work_mode(mode: WorkMode) -> &'static str {
    match mode {
        WorkMode::Worktree => "worktree",
        WorkMode::Clone => "clone",
    }
}

fn context_mode(mode: ContextMode) -> &'static str {
    match mode {
        ContextMode::Fresh => "fresh",
        ContextMode::Persistent => "persistent",
    }
}

fn permissions(permissions: Permissions) -> &'static str {
    match permissions {
        Permissions::Ask => "ask",
        Permissions::Edits => "edits",
        Permissions::All => "all",
    }
}

fn prompt(by: PromptBy) -> &'static str {
    match by {
        PromptBy::Argument => "argument",
        PromptBy::Paste => "paste",
    }
}

fn hooks(kind: HookKind) -> &'static str {
    match kind {
        HookKind::Claude => "claude",
        HookKind::Codex => "codex",
        HookKind::None => "none",
    }
}

struct Page {
    text: String,
}

impl Page {
    fn table(&mut self, name: &str) {
        self.text.push_str(&format!("\n[{name}]\n"));
    }

    fn line(&mut self, key: &str, value: impl Into<Value>, comment: &str) {
        let comment = if comment.is_empty() { String::new() } else { format!(" # {comment}") };
        self.text.push_str(&format!("{key} = {}{comment}\n", value.into()));
    }

    fn maybe(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.line(key, value, "");
        }
    }

    fn list(&mut self, key: &str, values: &[String]) {
        if !values.is_empty() {
            self.line(key, values.to_vec(), "");
        }
    }
}
