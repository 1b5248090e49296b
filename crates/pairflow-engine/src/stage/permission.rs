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

use super::held::{Held, Waiter};
use super::play::Play;
use super::seat::Status;
use crate::seat::{HookAnswer, HookCall, HookName};

/// How long a hook waits for a person. The programs end a hook after ten minutes, and nobody knows what they do then.
pub const HELD: Duration = Duration::from_secs(9 * 60);
/// How often it is looked whether somebody has attached.
const LOOK: Duration = Duration::from_secs(1);
/// How much of what an agent wants is told to a person; more than a hook hands on.
const SHOWN: usize = 1400;

/// What becomes of a request.
enum Fate {
    /// Nobody knows yet.
    Waits,
    /// A person has answered.
    Answered(HookAnswer),
    /// The agent goes on without an answer, and its question is gone.
    Over,
    /// It is asked in the pane.
    Pane,
}

impl Play {
    /// A program asks for a permission.
    pub(super) fn wants_permission(&mut self, agent: &AgentId, call: HookCall, waiter: Waiter) {
        let now = self.bubble().engine.clock.now().ts;
        self.seat(agent).becomes(Status::Permission, now);
        let what = wanted(&call, self.seat(agent).kept.sandboxed);
        let whole = call.tool_text_whole;
        let at = Instant::now();
        let held = Held {
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
            return self.leave_to_pane(held);
        }
        self.seat(agent).kept.permit = Some(held.what.clone());
        self.held.push(held);
        self.ask_next();
    }

    /// Whether `call` is about other work of an agent whose hook waits, and says nothing of what it waits for. Whatever
    /// says that the program goes on ends the waiting.
    pub(super) fn is_beside_a_permission(&mut self, agent: &AgentId, call: &HookCall) -> bool {
        for held in self.held.iter_mut().filter(|held| held.agent == *agent) {
            held.passed |= match call.event {
                HookName::Notification | HookName::PreToolUse | HookName::PermissionRequest => false,
                HookName::PostToolUse => (&held.call.tool, &held.call.tool_text) == (&call.tool, &call.tool_text),
                _ => true,
            };
        }
        self.held.iter().any(|held| held.agent == *agent && !held.passed)
    }

    /// Looks after the hooks that wait.
    pub(super) fn hold(&mut self) {
        self.look_for_orphans();
        if self.held.is_empty() {
            return;
        }
        self.refresh();
        let now = Instant::now();
        let watched = self.held.iter().any(|held| held.look <= now) && self.is_watched();
        for mut held in std::mem::take(&mut self.held) {
            if held.look <= now {
                held.look = now + LOOK;
            }
            match self.fate(&held, watched, now) {
                Fate::Waits => self.held.push(held),
                Fate::Answered(answer) => self.answer(held, answer),
                Fate::Over => {
                    self.forget(&held.agent);
                    let _ = held.waiter.answer.send(HookAnswer::Nothing);
                }
                Fate::Pane => self.leave_to_pane(held),
            }
        }
        self.ask_next();
    }

    /// When the hooks that wait are to be looked after next.
    pub(super) fn hold_due(&self) -> Option<Instant> {
        self.held.iter().map(|held| held.look).min()
    }

    fn fate(&self, held: &Held, watched: bool, now: Instant) -> Fate {
        let open = |id: &MsgId| {
            self.state.as_ref().is_some_and(|state| state.gate.questions.iter().any(|question| question.id == *id))
        };
        match held.question.as_ref().filter(|id| !open(id)) {
            Some(id) => match self.reply_to(id) {
                Some((Party::Human, reply)) => meaning(reply).map_or(Fate::Pane, Fate::Answered),
                Some(_) => Fate::Over,
                None => Fate::Pane,
            },
            None if watched || held.passed || is_over(now - held.since) || held.waiter.is_gone() => Fate::Pane,
            None => Fate::Waits,
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

    fn answer(&mut self, held: Held, answer: HookAnswer) {
        if held.waiter.is_gone() || held.waiter.answer.send(answer).is_err() {
            // It came too late; the program asks in its pane.
            return self.leave_to_pane(held);
        }
        self.forget(&held.agent);
        let now = self.bubble().engine.clock.now().ts;
        self.seat(&held.agent).becomes(Status::Busy, now);
    }

    /// Lets the program ask in its pane, and a person be asked there.
    fn leave_to_pane(&mut self, held: Held) {
        // A hook that does not wait any more needs no answer.
        let _ = held.waiter.answer.send(HookAnswer::Nothing);
        self.forget(&held.agent);
        self.report(&Command::Hindered { agent: held.agent, by: Hindrance::Permission, what: held.what });
    }

    /// Asks about the next request, if no answer to another one is waited for. What cannot be asked is asked in the pane.
    fn ask_next(&mut self) {
        while !self.held.is_empty() && self.held.iter().all(|held| held.question.is_none()) {
            let (agent, what) = (self.held[0].agent.clone(), self.held[0].what.clone());
            let state = self.report(&Command::Hindered { agent: agent.clone(), by: Hindrance::Permit, what });
            let its_own = |one: &OpenQuestion| one.kind == QuestionKind::Permit && one.about.as_ref() == Some(&agent);
            let asked = state.and_then(|state| state.gate.questions.into_iter().rfind(its_own));
            match asked {
                Some(question) => self.held[0].question = Some(question.id),
                None => {
                    let held = self.held.remove(0);
                    self.leave_to_pane(held);
                }
            }
        }
    }

    /// Hooks that waited for an earlier supervisor have ended with it: their programs ask in their panes. What they
    /// waited for is asked about in the log, or was answered meanwhile and is known from the file alone.
    fn look_for_orphans(&mut self) {
        let left = |(agent, seat): (&AgentId, &super::seat::SeatNow)| {
            seat.kept.permit.clone().filter(|_| !self.holds_for(agent)).map(|what| (agent.clone(), what))
        };
        let mut orphans: Vec<_> = self.seats.iter().filter_map(left).collect();
        let held = |open: &OpenQuestion| self.held.iter().any(|held| held.question.as_ref() == Some(&open.id));
        let asked = self.state.iter().flat_map(|state| &state.gate.questions);
        let asked = asked.filter(|open| open.kind == QuestionKind::Permit && !held(open));
        orphans.extend(asked.filter_map(|open| open.about.clone().zip(open.wants.clone())));
        orphans.sort();
        orphans.dedup();
        for (agent, what) in orphans {
            self.seat(&agent).kept.permit = None;
            self.report(&Command::Hindered { agent, by: Hindrance::Permission, what });
        }
    }

    pub(super) fn holds_for(&self, agent: &AgentId) -> bool {
        self.held.iter().any(|held| held.agent == *agent)
    }

    /// A later supervisor need not know of the request any more.
    fn forget(&mut self, agent: &AgentId) {
        let next = self.held.iter().find(|held| held.agent == *agent).map(|held| held.what.clone());
        self.seat(agent).kept.permit = next;
    }

    /// Whether anybody looks at the session. If that cannot be found out, somebody does.
    fn is_watched(&self) -> bool {
        self.room.as_ref().is_none_or(|room| room.tmux.is_watched().unwrap_or(true))
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
fn meaning(reply: Reply) -> Option<HookAnswer> {
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
        let means = |message: &str, decision| meaning(Reply { message: message.to_owned(), decision });
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
