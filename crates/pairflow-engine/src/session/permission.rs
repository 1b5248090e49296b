//! Permissions that a person gives or refuses from wherever they are.
//!
//! While nobody looks at a bubble's session, the hook of a program that asks for a permission waits here for the answer
//! to a question in the inbox. Only a person's recorded answer allows anything. Whatever else happens (somebody attaches,
//! nobody answers, the hook is gone, something cannot be found out) the hook is told nothing, the program asks in its
//! pane, and so does the question. Claude Code shows its dialog meanwhile and takes whichever answer comes first; Codex
//! shows it only once the hook has ended.

use std::time::{Duration, Instant};

use pairflow_core::bubble::{Command, Hindrance, OpenQuestion};
use pairflow_core::ids::{AgentId, MsgId, Party};
use pairflow_core::log::{Body, Decision, QuestionKind, Reply};
use pairflow_core::safe::{cut, exact_line, legend};

use super::session_loop::SessionLoop;
use super::session_state::ProgramStatus;
use super::session_state::{HookWaiter, PendingPermission};
use crate::agent_socket::{HookAnswer, HookCall, HookName};

/// How long a hook waits for a person. The programs end a hook after ten minutes, and nobody knows what they do then.
pub const HELD: Duration = Duration::from_secs(9 * 60);
/// How often it is looked whether somebody has attached.
const LOOK: Duration = Duration::from_secs(1);
/// How much of what an agent wants is told to a person; more than a hook hands on.
const SHOWN: usize = 1400;

/// What becomes of a request.
enum PermissionOutcome {
    /// Nobody knows yet.
    Waits,
    /// A person has answered.
    Answered(HookAnswer),
    /// The agent goes on without an answer, and its question is gone.
    Over,
    /// It is asked in the pane.
    Pane,
}

impl SessionLoop {
    /// A program asks for a permission.
    pub(super) fn request_permission(&mut self, agent: &AgentId, call: HookCall, waiter: HookWaiter) {
        let now = self.bubble().engine.clock.now().ts;
        self.program(agent).set_status(ProgramStatus::Permission, now);
        let what = wanted(&call, self.program(agent).saved.sandboxed);
        let whole = call.tool_text_whole;
        let at = Instant::now();
        let pending = PendingPermission {
            agent: agent.clone(),
            call,
            what,
            waiter,
            since: at,
            look: at + LOOK,
            question: None,
            passed: false,
        };
        if !whole || self.is_watched() {
            return self.leave_to_pane(pending);
        }
        self.program(agent).saved.permit = Some(pending.what.clone());
        self.pending.push(pending);
        self.ask_next();
    }

    /// Whether `call` is about other work of an agent whose hook waits, and says nothing of what it waits for. Whatever
    /// says that the program goes on ends the waiting.
    pub(super) fn is_beside_a_permission(&mut self, agent: &AgentId, call: &HookCall) -> bool {
        for pending in self.pending.iter_mut().filter(|pending| pending.agent == *agent) {
            pending.passed |= match call.event {
                HookName::Notification | HookName::PreToolUse | HookName::PermissionRequest => false,
                HookName::PostToolUse => (&pending.call.tool, &pending.call.tool_text) == (&call.tool, &call.tool_text),
                _ => true,
            };
        }
        self.pending.iter().any(|pending| pending.agent == *agent && !pending.passed)
    }

    /// Looks after the hooks that wait.
    pub(super) fn check_permissions(&mut self) {
        self.release_orphans();
        if self.pending.is_empty() {
            return;
        }
        self.refresh();
        let now = Instant::now();
        let watched = self.pending.iter().any(|pending| pending.look <= now) && self.is_watched();
        for mut pending in std::mem::take(&mut self.pending) {
            if pending.look <= now {
                pending.look = now + LOOK;
            }
            match self.outcome_of(&pending, watched, now) {
                PermissionOutcome::Waits => self.pending.push(pending),
                PermissionOutcome::Answered(answer) => self.answer(pending, answer),
                PermissionOutcome::Over => {
                    self.forget(&pending.agent);
                    let _ = pending.waiter.answer.send(HookAnswer::Nothing);
                }
                PermissionOutcome::Pane => self.leave_to_pane(pending),
            }
        }
        self.ask_next();
    }

    /// When the hooks that wait are to be looked after next.
    pub(super) fn permissions_due(&self) -> Option<Instant> {
        self.pending.iter().map(|pending| pending.look).min()
    }

    fn outcome_of(&self, pending: &PendingPermission, watched: bool, now: Instant) -> PermissionOutcome {
        let open = |id: &MsgId| {
            self.state.as_ref().is_some_and(|state| state.gate.questions.iter().any(|question| question.id == *id))
        };
        match pending.question.as_ref().filter(|id| !open(id)) {
            Some(id) => match self.reply_to(id) {
                Some((Party::Human, reply)) => {
                    hook_answer(reply).map_or(PermissionOutcome::Pane, PermissionOutcome::Answered)
                }
                Some(_) => PermissionOutcome::Over,
                None => PermissionOutcome::Pane,
            },
            None if watched || pending.passed || is_over(now - pending.since) || pending.waiter.is_gone() => {
                PermissionOutcome::Pane
            }
            None => PermissionOutcome::Waits,
        }
    }

    /// Finds who answered a question, and what. What cannot be read is not known.
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

    fn answer(&mut self, pending: PendingPermission, answer: HookAnswer) {
        if pending.waiter.is_gone() || pending.waiter.answer.send(answer).is_err() {
            // It came too late; the program asks in its pane.
            return self.leave_to_pane(pending);
        }
        self.forget(&pending.agent);
        let now = self.bubble().engine.clock.now().ts;
        self.program(&pending.agent).set_status(ProgramStatus::Busy, now);
    }

    /// Lets the program ask in its pane, and a person be asked there.
    fn leave_to_pane(&mut self, pending: PendingPermission) {
        // A hook that does not wait any more needs no answer.
        let _ = pending.waiter.answer.send(HookAnswer::Nothing);
        self.forget(&pending.agent);
        self.report(&Command::Hindered { agent: pending.agent, by: Hindrance::Permission, what: pending.what });
    }

    /// Asks about the next request, if no answer to another one is waited for. What cannot be asked is asked in the pane.
    fn ask_next(&mut self) {
        while !self.pending.is_empty() && self.pending.iter().all(|pending| pending.question.is_none()) {
            let (agent, what) = (self.pending[0].agent.clone(), self.pending[0].what.clone());
            let state = self.report(&Command::Hindered { agent: agent.clone(), by: Hindrance::Permit, what });
            let its_own = |one: &OpenQuestion| one.kind == QuestionKind::Permit && one.about.as_ref() == Some(&agent);
            let asked = state.and_then(|state| state.gate.questions.into_iter().rfind(its_own));
            match asked {
                Some(question) => self.pending[0].question = Some(question.id),
                None => {
                    let pending = self.pending.remove(0);
                    self.leave_to_pane(pending);
                }
            }
        }
    }

    /// Hooks that waited for an earlier supervisor have ended with it: their programs ask in their panes. What they
    /// waited for is asked about in the log, or was answered meanwhile and is known from the file alone.
    fn release_orphans(&mut self) {
        let left = |(agent, program): (&AgentId, &super::session_state::AgentProgram)| {
            program.saved.permit.clone().filter(|_| !self.has_pending(agent)).map(|what| (agent.clone(), what))
        };
        let mut orphans: Vec<_> = self.programs.iter().filter_map(left).collect();
        let pending =
            |open: &OpenQuestion| self.pending.iter().any(|pending| pending.question.as_ref() == Some(&open.id));
        let asked = self.state.iter().flat_map(|state| &state.gate.questions);
        let asked = asked.filter(|open| open.kind == QuestionKind::Permit && !pending(open));
        orphans.extend(asked.filter_map(|open| open.about.clone().zip(open.wants.clone())));
        orphans.sort();
        orphans.dedup();
        for (agent, what) in orphans {
            self.program(&agent).saved.permit = None;
            self.report(&Command::Hindered { agent, by: Hindrance::Permission, what });
        }
    }

    pub(super) fn has_pending(&self, agent: &AgentId) -> bool {
        self.pending.iter().any(|pending| pending.agent == *agent)
    }

    /// A later supervisor need not know of the request any more.
    fn forget(&mut self, agent: &AgentId) {
        let next = self.pending.iter().find(|pending| pending.agent == *agent).map(|pending| pending.what.clone());
        self.program(agent).saved.permit = next;
    }

    /// Whether anybody looks at the session. If that cannot be found out, somebody does.
    fn is_watched(&self) -> bool {
        self.session.as_ref().is_none_or(|session| session.tmux.is_watched().unwrap_or(true))
    }
}

/// What a program asks for, with every character of it.
fn wanted(call: &HookCall, sandboxed: bool) -> String {
    let (tool, text) = (call.tool.as_deref().unwrap_or("a tool"), call.tool_text.as_deref().unwrap_or_default());
    let line = cut(format!("{tool} {}", exact_line(text)), SHOWN);
    let where_to = if sandboxed { " (outside its sandbox)" } else { "" };
    format!("{line}{}{where_to}", legend(&line))
}

/// What a person's answer means to the hook; nothing for one that is neither a yes nor a no.
fn hook_answer(reply: Reply) -> Option<HookAnswer> {
    match reply.decision {
        Some(Decision::Accept) => Some(HookAnswer::Allow),
        None if !reply.message.trim().is_empty() => Some(HookAnswer::Deny { message: reply.message }),
        _ => None,
    }
}

/// Whether a hook has waited for as long as it may.
fn is_over(waited: Duration) -> bool {
    waited >= HELD
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
            wanted(&HookCall { tool, tool_text: text, ..HookCall::new(HookName::PermissionRequest) }, true)
        };
        assert_eq!(asks("ls -l"), "Bash ls -l (outside its sandbox)");
        assert_eq!(asks("rm -rf  'a  b'\n"), "Bash rm -rf␣␣'a␣␣b'⏎ (␣ blank, ⏎ line break) (outside its sandbox)");
        assert_eq!(width(&asks(&"\u{202e}".repeat(900))), SHOWN + width(" (outside its sandbox)"), "a cut is seen");
    }

    #[test]
    fn a_hook_waits_for_nine_minutes() {
        assert!(!is_over(Duration::from_secs(539)));
        assert!(is_over(Duration::from_secs(540)));
        let hook = HookName::PermissionRequest.patience().unwrap();
        assert!(HELD + LOOK * 2 < hook, "the stage ends it before the hook ends itself");
    }
}
