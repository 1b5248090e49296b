//! Permissions that a person grants or refuses from anywhere.
//!
//! While no client is attached to a bubble's session, the hook of a program that asks for a permission waits here for the
//! answer to a question in the inbox. Only a person's recorded answer allows anything. In every other case (a client
//! attaches, no answer comes, the hook is gone, something cannot be found out) the hook gets no decision, the program asks
//! in its pane, and so does the question. Claude Code shows its dialog meanwhile and takes whichever answer comes first;
//! Codex shows it only once the hook has ended.

use std::time::{Duration, Instant};

use pairflow_core::bubble::{Command, Hindrance, OpenQuestion};
use pairflow_core::ids::{AgentId, MsgId, Party};
use pairflow_core::log::{Body, Decision, QuestionKind, Reply};
use pairflow_core::safe::{cut, exact_line, legend};

use super::session_loop::SessionLoop;
use super::session_state::{AgentProgram, HookWaiter, PendingPermission, ProgramStatus};
use crate::agent_socket::{HookAnswer, HookCall, HookName};

/// How long a hook waits for a person. The programs end a hook after ten minutes; what they do then is not known.
pub const HOOK_WAIT: Duration = Duration::from_secs(9 * 60);
/// How often pairflow checks whether a client has attached.
const LOOK: Duration = Duration::from_secs(1);
/// How much of a request a person is shown, in columns; more than a hook hands on.
const SHOWN: usize = 1400;

/// What becomes of a request.
enum PermissionOutcome {
    /// It waits on.
    Waits,
    /// A person has answered.
    Answered(HookAnswer),
    /// The agent went on without an answer, and its question is closed.
    Over,
    /// The program asks in its pane.
    Pane,
}

impl SessionLoop {
    /// Takes a permission request.
    pub(super) fn request_permission(&mut self, agent: &AgentId, call: HookCall, waiter: HookWaiter) {
        self.set_status(agent, ProgramStatus::Permission);
        let what = describe(&call, self.program(agent).saved.sandboxed);
        let (whole, since, agent) = (call.tool_text_whole, Instant::now(), agent.clone());
        let (look, question, passed) = (since + LOOK, None, false);
        let request = PendingPermission { agent, call, what, waiter, since, look, question, passed };
        if !whole || self.is_watched() {
            return self.leave_to_pane(request);
        }
        self.program(&request.agent).saved.permit = Some(request.what.clone());
        self.pending.push(request);
        self.ask_next();
    }

    /// Whether `call` reports other work of an agent whose hook waits, and so does not end the waiting. A report that the
    /// program goes on ends it.
    pub(super) fn is_beside_a_permission(&mut self, agent: &AgentId, call: &HookCall) -> bool {
        for request in self.pending.iter_mut().filter(|request| request.agent == *agent) {
            request.passed |= match call.event {
                HookName::Notification | HookName::PreToolUse | HookName::PermissionRequest => false,
                HookName::PostToolUse => (&request.call.tool, &request.call.tool_text) == (&call.tool, &call.tool_text),
                _ => true,
            };
        }
        self.pending.iter().any(|request| request.agent == *agent && !request.passed)
    }

    /// Answers or releases the hooks that wait.
    pub(super) fn check_permissions(&mut self) {
        self.release_orphans();
        if self.pending.is_empty() {
            return;
        }
        self.refresh();
        let now = Instant::now();
        let watched = self.pending.iter().any(|request| request.look <= now) && self.is_watched();
        for mut request in std::mem::take(&mut self.pending) {
            if request.look <= now {
                request.look = now + LOOK;
            }
            match self.outcome_of(&request, watched, now) {
                PermissionOutcome::Waits => self.pending.push(request),
                PermissionOutcome::Answered(answer) => self.answer(request, answer),
                PermissionOutcome::Over => {
                    self.save_next_request(&request.agent);
                    let _ = request.waiter.answer.send(HookAnswer::Nothing);
                }
                PermissionOutcome::Pane => self.leave_to_pane(request),
            }
        }
        self.ask_next();
    }

    /// Returns when the hooks that wait are checked next.
    pub(super) fn permissions_due(&self) -> Option<Instant> {
        self.pending.iter().map(|request| request.look).min()
    }

    fn outcome_of(&self, request: &PendingPermission, watched: bool, now: Instant) -> PermissionOutcome {
        let open = |id: &MsgId| {
            self.state.as_ref().is_some_and(|state| state.gate.questions.iter().any(|question| question.id == *id))
        };
        let timed_out = now - request.since >= HOOK_WAIT;
        match request.question.as_ref().filter(|id| !open(id)) {
            Some(id) => match self.reply_to(id) {
                Some((Party::Human, reply)) => {
                    hook_answer(reply).map_or(PermissionOutcome::Pane, PermissionOutcome::Answered)
                }
                Some(_) => PermissionOutcome::Over,
                None => PermissionOutcome::Pane,
            },
            None if watched || request.passed || timed_out || request.waiter.is_gone() => PermissionOutcome::Pane,
            None => PermissionOutcome::Waits,
        }
    }

    /// Returns who answered a question, and what; `None` if the log cannot be read.
    fn reply_to(&self, question: &MsgId) -> Option<(Party, Reply)> {
        let mut found = None;
        let read = self.bubble().log().visit(&mut |envelope| {
            if let Body::HumanReply(reply) = envelope.event.body
                && envelope.event.in_reply_to.as_ref() == Some(question)
            {
                found = Some((envelope.event.sender, reply));
            }
        });
        found.filter(|_| read.is_ok())
    }

    fn answer(&mut self, request: PendingPermission, answer: HookAnswer) {
        if request.waiter.is_gone() || request.waiter.answer.send(answer).is_err() {
            // Too late: the program asks in its pane.
            return self.leave_to_pane(request);
        }
        self.save_next_request(&request.agent);
        self.set_status(&request.agent, ProgramStatus::Busy);
    }

    /// Lets the program ask in its pane, and tells a person to answer there.
    fn leave_to_pane(&mut self, request: PendingPermission) {
        // A hook that no longer waits needs no answer.
        let _ = request.waiter.answer.send(HookAnswer::Nothing);
        self.save_next_request(&request.agent);
        self.report(&Command::Hindered { agent: request.agent, by: Hindrance::Permission, what: request.what });
    }

    /// Asks about the next request if no other question is open. A request that cannot be asked is left to the pane.
    fn ask_next(&mut self) {
        while !self.pending.is_empty() && self.pending.iter().all(|request| request.question.is_none()) {
            let (agent, what) = (self.pending[0].agent.clone(), self.pending[0].what.clone());
            let state = self.report(&Command::Hindered { agent: agent.clone(), by: Hindrance::Permit, what });
            let its_own = |one: &OpenQuestion| one.kind == QuestionKind::Permit && one.about.as_ref() == Some(&agent);
            let asked = state.and_then(|state| state.gate.questions.into_iter().rfind(its_own));
            match asked {
                Some(question) => self.pending[0].question = Some(question.id),
                None => {
                    let request = self.pending.remove(0);
                    self.leave_to_pane(request);
                }
            }
        }
    }

    /// Hooks that waited for an earlier supervisor ended with it, so their programs ask in their panes. What they waited
    /// for is in an open question, or was answered meanwhile and is known only from the saved file.
    fn release_orphans(&mut self) {
        let left = |(agent, program): (&AgentId, &AgentProgram)| {
            program.saved.permit.clone().filter(|_| !self.has_pending(agent)).map(|what| (agent.clone(), what))
        };
        let mut orphans: Vec<_> = self.programs.iter().filter_map(left).collect();
        let waits = |open: &OpenQuestion| self.pending.iter().any(|one| one.question.as_ref() == Some(&open.id));
        let asked = self.state.iter().flat_map(|state| &state.gate.questions);
        let asked = asked.filter(|open| open.kind == QuestionKind::Permit && !waits(open));
        orphans.extend(asked.filter_map(|open| open.about.clone().zip(open.wants.clone())));
        orphans.sort();
        orphans.dedup();
        for (agent, what) in orphans {
            self.program(&agent).saved.permit = None;
            self.report(&Command::Hindered { agent, by: Hindrance::Permission, what });
        }
    }

    /// Whether a hook of `agent` waits.
    pub(super) fn has_pending(&self, agent: &AgentId) -> bool {
        self.pending.iter().any(|request| request.agent == *agent)
    }

    /// Replaces the agent's saved request by its next one, if there is any.
    fn save_next_request(&mut self, agent: &AgentId) {
        let next = self.pending.iter().find(|request| request.agent == *agent).map(|request| request.what.clone());
        self.program(agent).saved.permit = next;
    }

    /// Whether a client is attached to the session. If that cannot be found out, one is.
    fn is_watched(&self) -> bool {
        self.tmux.as_ref().is_none_or(|tmux| tmux.is_watched().unwrap_or(true))
    }
}

/// Describes a request, with every character of it.
fn describe(call: &HookCall, sandboxed: bool) -> String {
    let (tool, text) = (call.tool.as_deref().unwrap_or("a tool"), call.tool_text.as_deref().unwrap_or_default());
    let line = cut(format!("{tool} {}", exact_line(text)), SHOWN);
    let outside = if sandboxed { " (outside its sandbox)" } else { "" };
    format!("{line}{}{outside}", legend(&line))
}

/// Returns the hook's answer for a person's reply; `None` if the reply is neither a yes nor a no.
fn hook_answer(reply: Reply) -> Option<HookAnswer> {
    match reply.decision {
        Some(Decision::Accept) => Some(HookAnswer::Allow),
        None if !reply.message.trim().is_empty() => Some(HookAnswer::Deny { message: reply.message }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use pairflow_core::safe::width;

    use super::*;

    #[test]
    fn only_the_word_accept_allows_and_only_words_refuse() {
        let means = |message: &str, decision| hook_answer(Reply { message: message.to_owned(), decision });
        assert_eq!(means("", Some(Decision::Accept)), Some(HookAnswer::Allow));
        assert_eq!(means("but be quick", Some(Decision::Accept)), Some(HookAnswer::Allow));
        assert_eq!(means("accept", None), Some(HookAnswer::Deny { message: "accept".to_owned() }));
        for neither in [means(" ", None), means("go on", Some(Decision::Continue)), means("", None)] {
            assert_eq!(neither, None);
        }
    }

    #[test]
    fn a_request_shows_every_character() {
        let asks = |text: &str| {
            let (tool, text) = (Some("Bash".to_owned()), Some(text.to_owned()));
            describe(&HookCall { tool, tool_text: text, ..HookCall::new(HookName::PermissionRequest) }, true)
        };
        assert_eq!(asks("ls -l"), "Bash ls -l (outside its sandbox)");
        assert_eq!(asks("rm -rf  'a  b'\n"), "Bash rm -rf␣␣'a␣␣b'⏎ (␣ blank, ⏎ line break) (outside its sandbox)");
        assert_eq!(width(&asks(&"\u{202e}".repeat(900))), SHOWN + width(" (outside its sandbox)"), "a cut is seen");
    }

    #[test]
    fn a_hook_waits_for_nine_minutes() {
        assert_eq!(HOOK_WAIT, Duration::from_secs(540));
        let hook = HookName::PermissionRequest.patience().unwrap();
        assert!(HOOK_WAIT + LOOK * 2 < hook, "the stage ends it before the hook ends itself");
    }
}
