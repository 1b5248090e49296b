//! Questions to the person: how pairflow asks its own, whom they are about, and how it takes them back.

use crate::bubble::{BubbleState, OpenQuestion};
use crate::ids::{AgentId, MsgId, Party};
use crate::log::{Body, Event, Question, QuestionKind, Reply};

/// A question of pairflow's own.
pub(super) fn own_question(state: &BubbleState, kind: QuestionKind, question: String) -> Event {
    Event::own(state.rounds.round, Body::HumanQuestion(Question::new(kind, question)))
}

/// A question of pairflow's own about what these checks say.
pub(super) fn question_of_checks<'a>(
    state: &BubbleState,
    kind: QuestionKind,
    question: String,
    checks: impl IntoIterator<Item = &'a str>,
) -> Event {
    let checks = checks.into_iter().map(str::to_owned).collect();
    Event::own(state.rounds.round, Body::HumanQuestion(Question { checks, ..Question::new(kind, question) }))
}

/// A question of pairflow's own about the presence of `agent`.
pub(super) fn question_about(state: &BubbleState, agent: &AgentId, kind: QuestionKind, question: String) -> Event {
    let about = Some(agent.clone());
    Event::own(state.rounds.round, Body::HumanQuestion(Question { about, ..Question::new(kind, question) }))
}

/// The question of a reviewer that wants the person to decide before the loop goes on.
pub(super) fn discussion(state: &BubbleState, by: &AgentId, summary: &str) -> Event {
    let question = format!("{by} wants to discuss its review before the work goes on: {summary}");
    let mut event = own_question(state, QuestionKind::Question, question);
    event.sender = Party::Agent(by.clone());
    event
}

/// Returns which agent wants a permission that can be given from everywhere, and what for.
pub(crate) fn wanted(open: &OpenQuestion) -> Option<(&AgentId, &str)> {
    Some((open.about.as_ref()?, open.wants.as_deref()?))
}

/// Returns a question as a person reads it: the commands that answer a request for a permission have its name in them,
/// which it has only once it is recorded.
pub(super) fn shown(state: &BubbleState, asked: &Question, name: &MsgId) -> String {
    let (id, question) = (&state.id, &asked.question);
    if asked.kind != QuestionKind::Permit {
        return question.clone();
    }
    let reply = format!("pairflow reply {id} --question {name}");
    format!(
        "{question} Allow it this once with '{reply} --decision accept', refuse it with '{reply} --message …', or answer in its pane: pairflow attach {id}"
    )
}

/// The answers with which pairflow takes back what it asked about the presence of `agent`, no matter who has the turn.
pub(super) fn withdrawals(state: &BubbleState, agent: &AgentId, which: impl Fn(QuestionKind) -> bool) -> Vec<Event> {
    let its_own = |open: &&OpenQuestion| open.kind.is_about_presence() && is_about(state, open, agent);
    let open = state.gate.questions.iter().filter(its_own).filter(|open| which(open.kind));
    open.map(|open| take_back(state, open, format!("{agent} is at work again"))).collect()
}

/// The answer with which pairflow takes back a question of its own.
pub(super) fn take_back(state: &BubbleState, open: &OpenQuestion, message: String) -> Event {
    let mut event = Event::own(state.rounds.round, Body::HumanReply(Reply { message, decision: None }));
    event.in_reply_to = Some(open.id.clone());
    event
}

/// Whether a question of this kind about `agent` is open.
pub(super) fn asked(state: &BubbleState, agent: &AgentId, kind: QuestionKind) -> bool {
    state.gate.questions.iter().any(|open| open.kind == kind && is_about(state, open, agent))
}

/// Whether all that is open is about the presence of `agent`, so that its next command answers it.
pub(super) fn only_about(state: &BubbleState, agent: &AgentId) -> bool {
    state.gate.questions.iter().all(|open| open.kind.is_about_presence() && is_about(state, open, agent))
}

/// Whether a question about presence is about `agent`; one that does not say so is about the turn's holder.
fn is_about(state: &BubbleState, open: &OpenQuestion, agent: &AgentId) -> bool {
    let holder = || state.phase.turn().map(|turn| &turn.agent);
    open.about.as_ref().or_else(holder) == Some(agent)
}
