//! Agents as running programs: what they are to be told, whether they are heard of, and what keeps them from going on.
//!
//! What a program shows on its screen decides nothing here. Hooks and commands are signs of life; the rules below turn
//! their absence into one question to a person, and their return into the end of that question.

use super::questions::{question_about, take_back, withdrawals};
use super::{lifecycle, turn};
use crate::bubble::command::event;
use crate::bubble::state::KnownSession;
use crate::bubble::{BubbleState, Command, Decided, Hindrance, Notice, OpenQuestion, Parked, Phase, Refusal};
use crate::facts::Seat;
use crate::ids::{AgentId, Party};
use crate::log::{Control, ControlAction, Delivery, Event, Lifecycle, Question, QuestionKind};
use crate::text::counted;
use crate::time::{Moment, Timestamp};

/// How often an agent is reminded in one turn that it has not handed over.
pub const NUDGES: u32 = 2;
/// How often a notice is sent before a person is asked.
pub const ATTEMPTS: u32 = 3;

/// How long a bubble waits by itself for a used-up account, in milliseconds: longer than any account's week.
pub const LONGEST_PARK: i64 = 8 * 24 * 3_600_000;

impl BubbleState {
    /// Returns the number of the open review during which `agent` must not be at work, unless it is known that it is.
    pub fn disturbed_by(&self, agent: &AgentId) -> Option<u32> {
        let turn = self.phase.turn().filter(|turn| turn.is_open() && turn.seat == Seat::Reviewer)?;
        (turn.agent != *agent && !turn.others_at_work).then_some(turn.number)
    }
}

/// The table of what is reported of agents' programs; nothing for any other command.
pub(crate) fn decide_presence(state: &BubbleState, command: &Command, now: Moment) -> Option<Result<Decided, Refusal>> {
    let waiting = matches!(state.phase, Phase::WaitingHuman(_));
    let going = waiting || matches!(state.phase, Phase::Running(_));
    Some(match command {
        Command::Tick { active } => Ok(tick(state, *active, now)),
        Command::AgentSession { agent, turn, seat, session: id } => {
            session(state, KnownSession { agent, turn: *turn, seat: *seat, id: id.as_ref() })
        }
        Command::Sent { notice } if going => sent(state, *notice),
        Command::Acknowledged { agent, notice } if going => acknowledged(state, agent, *notice),
        Command::Undelivered { notice, why } if going && !waiting => undelivered(state, *notice, why),
        Command::Active { agent } if going => Ok(active(state, agent)),
        Command::Stopped { agent } if going && !waiting => Ok(stopped(state, agent)),
        Command::Hindered { agent, by, what } if going => Ok(hindered(state, agent, *by, what, now)),
        _ => return None,
    })
}

/// Time went by: an agent that was silent for too long, or has the turn for too long, becomes a question, once.
fn tick(state: &BubbleState, active: Option<Moment>, now: Moment) -> Decided {
    if let Some(parked) =
        state.presence.parked.as_ref().filter(|parked| state.is_at_work() && now.since(parked.since) >= parked.lasts())
    {
        return Decided::one(unpark(state, parked));
    }
    let Some(turn) = state.watched() else { return Decided::default() };
    let gone = |limit: Option<(Moment, u64)>| limit.is_some_and(|(since, limit)| now.since(since) >= limit);
    let (agent, round, seat, id) = (&turn.agent, state.rounds.round, turn.seat, &state.id);
    if gone(state.silence_ends(active)) {
        let question = format!(
            "{agent} has not sent a pairflow command for {} (round {round}, as {seat}). Go on with 'pairflow resume {id}' when it is back at work.",
            counted(state.rules.watchdog_timeout_minutes, "minute")
        );
        return Decided::one(question_about(state, agent, QuestionKind::Watchdog, question));
    }
    if gone(state.turn_ends()) {
        let question = format!(
            "{agent} has had the turn for {} (round {round}, as {seat}) and is still at work. Let it go on with 'pairflow resume {id}', or stop it with 'pairflow pause {id}'.",
            counted(state.rules.max_turn_minutes, "minute")
        );
        return Decided::one(question_about(state, agent, QuestionKind::LongTurn, question));
    }
    Decided::default()
}

/// A notice is about to be sent.
fn sent(state: &BubbleState, number: u64) -> Result<Decided, Refusal> {
    let notice = state.presence.outbox.iter().find(|notice| notice.number == number).ok_or(Refusal::NotOwed)?;
    if notice.attempts >= ATTEMPTS {
        return Err(Refusal::NotOwed);
    }
    Ok(Decided::one(delivery(state, notice, notice.attempts + 1, false)))
}

/// An agent is known to have a notice. That it was silent before needs no answer any more.
fn acknowledged(state: &BubbleState, agent: &AgentId, number: u64) -> Result<Decided, Refusal> {
    let mine = |notice: &&Notice| notice.number == number && notice.agent == *agent;
    let notice = state.presence.outbox.iter().find(mine).cloned();
    let known = notice.or_else(|| read_without_notice(state, agent, number)).ok_or(Refusal::NotOwed)?;
    let mut events = withdrawals(state, agent, |_| true);
    events.push(delivery(state, &known, 0, true));
    Ok(Decided::of(events))
}

/// An agent that gets no notices has read in its brief that its work came back.
fn read_without_notice(state: &BubbleState, agent: &AgentId, number: u64) -> Option<Notice> {
    let turn = state.phase.turn().filter(|turn| number == 0 && turn.is_open())?;
    state.returned_to(agent)?;
    Some(Notice { number, agent: agent.clone(), turn: turn.number, attempts: 0, sent: None })
}

/// A notice was sent as often as makes sense.
fn undelivered(state: &BubbleState, number: u64, why: &str) -> Result<Decided, Refusal> {
    let notice = state.presence.outbox.iter().find(|notice| notice.number == number).ok_or(Refusal::NotOwed)?;
    if state.is_asked_about(&notice.agent, QuestionKind::Undelivered) {
        return Ok(Decided::default());
    }
    let question = format!(
        "notice {number} did not reach {}: {why}. Look at its pane with 'pairflow attach {id}', then go on with 'pairflow resume {id}'.",
        notice.agent,
        id = state.id
    );
    Ok(Decided::one(question_about(state, &notice.agent, QuestionKind::Undelivered, question)))
}

/// A program was started, or its session became known.
fn session(state: &BubbleState, known: KnownSession<'_>) -> Result<Decided, Refusal> {
    if !state.rules.agents.contain(known.agent) || state.phase.is_final() {
        return Err(Refusal::NotOwed);
    }
    if state.knows(known) {
        return Ok(Decided::default());
    }
    let KnownSession { agent, turn, seat, id } = known;
    let fact = Lifecycle::AgentSession { agent: agent.clone(), turn, seat, session: id.cloned() };
    Ok(Decided::one(event(state, fact)))
}

/// A sign of life that is no command: what was asked because of its absence is withdrawn.
fn active(state: &BubbleState, agent: &AgentId) -> Decided {
    // Being busy does not make a turn shorter.
    let mut events = withdrawals(state, agent, |kind| kind != QuestionKind::LongTurn);
    if let Some(turn) = state.disturbed_by(agent) {
        events.push(event(state, Lifecycle::AtWorkOutOfTurn { agent: agent.clone(), turn }));
    }
    events.extend(
        state.presence.parked.iter().filter(|parked| parked.agent == *agent).map(|parked| unpark(state, parked)),
    );
    Decided::of(events)
}

/// An agent wants to end its turn without a hand-over: it is reminded, and then a person is asked.
fn stopped(state: &BubbleState, agent: &AgentId) -> Decided {
    // An agent that has not read the newest notice yet ends what came before it, and that is right.
    let behind = state.notice_for(agent).is_some();
    let Some(turn) = state.watched().filter(|turn| turn.agent == *agent && !behind) else { return Decided::default() };
    if turn.nudges < NUDGES {
        let control = Control::new(ControlAction::Nudge, "it ended its turn without a pairflow command");
        return Decided::one(event(state, control).to(Party::Agent(agent.clone())));
    }
    let question = format!(
        "{agent} has stopped without handing over (round {}, as {}), although it was reminded. Look at its pane with 'pairflow attach {id}', then go on with 'pairflow resume {id}'.",
        state.rounds.round,
        turn.seat,
        id = state.id
    );
    Decided::one(question_about(state, agent, QuestionKind::Idle, question))
}

/// Something keeps an agent from going on.
fn hindered(state: &BubbleState, agent: &AgentId, by: Hindrance, what: &str, now: Moment) -> Decided {
    let id = &state.id;
    let (kind, question) = match by {
        // Nothing is expected of it now; in its own turn it meets it again.
        Hindrance::Limit { .. } | Hindrance::Failure if state.phase.turn().is_none_or(|turn| turn.agent != *agent) => {
            return Decided::default();
        }
        Hindrance::Limit { until: Some(until) } if is_soon(until, now) => return park(state, agent, what, until),
        Hindrance::Limit { until } => {
            let until = until.filter(|until| *until > now.ts);
            let until = until.map(|until| format!(" until {} UTC", until.date_hms())).unwrap_or_default();
            let question = format!(
                "{agent} has reached the limit of its account{until}: {what}. Go on with 'pairflow resume {id}' when it can work again."
            );
            (QuestionKind::Limit, question)
        }
        Hindrance::Failure => (
            QuestionKind::Idle,
            format!(
                "{agent} has stopped: {what}. Look at its pane with 'pairflow attach {id}', then go on with 'pairflow resume {id}'."
            ),
        ),
        Hindrance::Permit => (QuestionKind::Permit, format!("{agent} asks for a permission: {what}.")),
        Hindrance::Permission => (
            QuestionKind::Permission,
            format!("{agent} asks for a permission in its pane: {what}. Answer it there: pairflow attach {id}"),
        ),
        Hindrance::Dialog => (
            QuestionKind::Dialog,
            format!(
                "{agent} shows a dialog in its pane: {what}. Answer it there: pairflow attach {id}. If nothing goes on then: pairflow resume {id}"
            ),
        ),
    };
    let mut events = Vec::new();
    if !state.is_asked_about(agent, kind) {
        let (about, wants) = (Some(agent.clone()), (kind == QuestionKind::Permit).then(|| what.to_owned()));
        let asked = Question { about, wants, ..Question::new(kind, question) };
        events.push(event(state, asked));
    }
    if kind == QuestionKind::Permission {
        // No hook waits any more: what a person answered now would reach nobody.
        let is_held = |open: &&OpenQuestion| open.wanted() == Some((agent, what));
        let held = state.gate.questions.iter().filter(is_held);
        events.extend(held.map(|open| take_back(state, open, "it is asked in its pane now".to_owned())));
    }
    Decided::of(events)
}

/// Whether a used-up account is waited for until then.
fn is_soon(until: Timestamp, now: Moment) -> bool {
    (1..=LONGEST_PARK).contains(&until.millis().saturating_sub(now.ts.millis()))
}

/// Nothing is expected of the turn's holder until its account can be used again.
fn park(state: &BubbleState, agent: &AgentId, what: &str, until: Timestamp) -> Decided {
    if state.presence.parked.is_some() {
        return Decided::default();
    }
    let control = Control { until: Some(until), ..Control::new(ControlAction::Park, what) };
    Decided::one(event(state, control).to(Party::Agent(agent.clone())))
}

/// An agent's command arrives while only its own silence is asked about: that is withdrawn, and the command is decided
/// as if nobody had been asked.
pub(crate) fn come_back(state: &BubbleState, command: &Command) -> Option<Result<Decided, Refusal>> {
    let agent = command.agent()?;
    let turn = state.phase.turn().filter(|turn| turn.agent == *agent)?;
    if !state.is_asked_only_about(agent) || state.paused {
        return None;
    }
    let decided = match command {
        Command::Pass(pass) => turn::pass(state, turn, pass),
        _ => lifecycle::claim(state, turn, agent, command),
    };
    let mut events = withdrawals(state, agent, |_| true);
    Some(decided.map(|mut decided| {
        events.append(&mut decided.events);
        Decided { events, artifacts: decided.artifacts }
    }))
}

fn delivery(state: &BubbleState, notice: &Notice, attempt: u32, acknowledged: bool) -> Event {
    let delivery = Delivery { notice: notice.number, attempt, acknowledged };
    event(state, delivery).to(Party::Agent(notice.agent.clone()))
}

fn unpark(state: &BubbleState, parked: &Parked) -> Event {
    event(state, Control::new(ControlAction::Unpark, "")).to(Party::Agent(parked.agent.clone()))
}
