//! Agents as running programs: what they are to be told, whether they are heard of, and what keeps them from going on.
//!
//! What a program shows on its screen decides nothing here. Hooks and commands are signs of life; the rules below turn
//! their absence into one question to a person, and their return into the end of that question.

use serde::{Deserialize, Serialize};

use crate::bubble::conversation::Known;
use crate::bubble::human::question_about;
use crate::bubble::lifecycle::own;
use crate::bubble::{Command, Decided, OpenQuestion, Phase, Refusal, Turn, Unit, converge, turn};
use crate::counted::counted;
use crate::facts::Seat;
use crate::ids::{AgentId, MsgId, Party};
use crate::log::{Body, Control, ControlAction, Delivery, Event, Lifecycle, Question, QuestionKind, Reply};
use crate::rules::DriverKind;
use crate::time::{Moment, Timestamp};

/// How often an agent is reminded in one turn that it has not handed over.
pub const NUDGES: u32 = 2;
/// How often a notice is sent before a person is asked.
pub const ATTEMPTS: u32 = 3;

/// How long a bubble waits by itself for a used-up account, in milliseconds: longer than any account's week.
pub const LONGEST_PARK: i64 = 8 * 24 * 3_600_000;

/// A notice to an agent that is not known to have reached it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// Its number, counted over the whole life of the bubble.
    pub number: u64,
    /// To whom.
    pub agent: AgentId,
    /// In which turn.
    pub turn: u32,
    /// How often it was sent.
    pub attempts: u32,
    /// When it was last sent.
    pub sent: Option<Moment>,
}

/// An agent of which nothing is expected for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    /// Which.
    pub agent: AgentId,
    /// Since when.
    pub since: Moment,
    /// Until when.
    pub until: Timestamp,
}

impl Parked {
    /// Returns how many milliseconds it lasts.
    pub fn lasts(&self) -> u64 {
        u64::try_from(self.until.millis().saturating_sub(self.since.ts.millis())).unwrap_or(0)
    }
}

/// What keeps an agent from going on until a person does something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hindrance {
    /// It asks for a permission, in its pane.
    Permission,
    /// It asks for a permission, and its hook waits for a person's answer.
    Permit,
    /// It shows a dialog.
    Dialog,
    /// Its model could not be reached, or something else failed that it does not get over by itself.
    Failure,
    /// It has used up what its account allows.
    Limit {
        /// Until when, if it says so.
        until: Option<Timestamp>,
    },
}

impl Unit {
    /// Returns when the agent whose turn it is will have been silent for too long, if it was last `active` then.
    pub fn silence_ends(&self, active: Option<Moment>) -> Option<(Moment, u64)> {
        let turn = self.watched()?;
        let heard = later(turn.heard, active);
        Some((heard, u64::from(self.rules.watchdog_timeout_minutes) * 60_000))
    }

    /// Returns when the present turn will have taken too long; nothing if a person knows that already.
    pub fn turn_ends(&self) -> Option<(Moment, u64)> {
        let turn = self.watched().filter(|turn| !turn.overdue)?;
        Some((turn.uninterrupted, u64::from(self.rules.max_turn_minutes) * 60_000))
    }

    /// Returns the notice that waits for `agent`.
    pub fn notice_for(&self, agent: &AgentId) -> Option<&Notice> {
        self.presence.outbox.iter().find(|notice| notice.agent == *agent)
    }

    /// Whether an agent has an open turn that nobody has interrupted.
    pub(crate) fn is_at_work(&self) -> bool {
        matches!(&self.phase, Phase::Running(turn) if turn.is_open()) && !self.paused
    }

    /// Returns the number of the open review during which `agent` must not be at work, unless it is known that it is.
    pub fn disturbed_by(&self, agent: &AgentId) -> Option<u32> {
        let turn = self.phase.turn().filter(|turn| turn.is_open() && turn.seat == Seat::Critic)?;
        (turn.agent != *agent && !turn.others_at_work).then_some(turn.number)
    }

    fn watched(&self) -> Option<&Turn> {
        self.phase.turn().filter(|_| self.is_at_work() && self.presence.parked.is_none())
    }
}

fn later(heard: Moment, active: Option<Moment>) -> Moment {
    match active {
        // Of two uptimes the larger one is later, unless the machine was started again in between.
        Some(active) if active.since(heard) > 0 && heard.since(active) == 0 => active,
        _ => heard,
    }
}

/// The table of what is reported of agents' programs; nothing for any other command.
pub(super) fn decide_presence(unit: &Unit, command: &Command, now: Moment) -> Option<Result<Decided, Refusal>> {
    let waiting = matches!(unit.phase, Phase::WaitingHuman(_));
    let going = waiting || matches!(unit.phase, Phase::Running(_));
    Some(match command {
        Command::Tick { active } => Ok(tick(unit, *active, now)),
        Command::AgentSession { agent, turn, seat, session: id } => {
            session(unit, Known { agent, turn: *turn, seat: *seat, id: id.as_ref() })
        }
        Command::Sent { notice } if going => sent(unit, *notice),
        Command::Acknowledged { agent, notice } if going => acknowledged(unit, agent, *notice),
        Command::Undelivered { notice, why } if going && !waiting => undelivered(unit, *notice, why),
        Command::Active { agent } if going => Ok(active(unit, agent)),
        Command::Stopped { agent } if going && !waiting => Ok(stopped(unit, agent)),
        Command::Hindered { agent, by, what } if going => Ok(hindered(unit, agent, *by, what, now)),
        _ => return None,
    })
}

/// Time went by: an agent that was silent for too long, or has the turn for too long, becomes a question, once.
fn tick(unit: &Unit, active: Option<Moment>, now: Moment) -> Decided {
    if let Some(parked) =
        unit.presence.parked.as_ref().filter(|parked| unit.is_at_work() && now.since(parked.since) >= parked.lasts())
    {
        return Decided::one(unpark(unit, parked));
    }
    let Some(turn) = unit.watched() else { return Decided::default() };
    let gone = |limit: Option<(Moment, u64)>| limit.is_some_and(|(since, limit)| now.since(since) >= limit);
    let (agent, round, seat, id) = (&turn.agent, unit.rounds.round, turn.seat, &unit.id);
    if gone(unit.silence_ends(active)) {
        let question = format!(
            "{agent} has not sent a pairflow command for {} (round {round}, as {seat}). Go on with 'pairflow resume {id}' when it is back at work.",
            counted(unit.rules.watchdog_timeout_minutes, "minute")
        );
        return Decided::one(question_about(unit, agent, QuestionKind::Watchdog, question));
    }
    if gone(unit.turn_ends()) {
        let question = format!(
            "{agent} has had the turn for {} (round {round}, as {seat}) and is still at work. Let it go on with 'pairflow resume {id}', or stop it with 'pairflow pause {id}'.",
            counted(unit.rules.max_turn_minutes, "minute")
        );
        return Decided::one(question_about(unit, agent, QuestionKind::LongTurn, question));
    }
    Decided::default()
}

/// A notice is about to be sent.
fn sent(unit: &Unit, number: u64) -> Result<Decided, Refusal> {
    let notice = unit.presence.outbox.iter().find(|notice| notice.number == number).ok_or(Refusal::NotOwed)?;
    if notice.attempts >= ATTEMPTS {
        return Err(Refusal::NotOwed);
    }
    Ok(Decided::one(delivery(unit, notice, notice.attempts + 1, false)))
}

/// An agent is known to have a notice. That it was silent before needs no answer any more.
fn acknowledged(unit: &Unit, agent: &AgentId, number: u64) -> Result<Decided, Refusal> {
    let mine = |notice: &&Notice| notice.number == number && notice.agent == *agent;
    let notice = unit.presence.outbox.iter().find(mine).cloned();
    let known = notice.or_else(|| read_without_notice(unit, agent, number)).ok_or(Refusal::NotOwed)?;
    let mut events = withdrawals(unit, agent, |_| true);
    events.push(delivery(unit, &known, 0, true));
    Ok(Decided::of(events))
}

/// An agent that gets no notices has read in its brief that its work came back.
fn read_without_notice(unit: &Unit, agent: &AgentId, number: u64) -> Option<Notice> {
    let turn = unit.phase.turn().filter(|turn| number == 0 && turn.is_open())?;
    unit.returned_to(agent)?;
    Some(Notice { number, agent: agent.clone(), turn: turn.number, attempts: 0, sent: None })
}

/// A notice was sent as often as makes sense.
fn undelivered(unit: &Unit, number: u64, why: &str) -> Result<Decided, Refusal> {
    let notice = unit.presence.outbox.iter().find(|notice| notice.number == number).ok_or(Refusal::NotOwed)?;
    if asked(unit, &notice.agent, QuestionKind::Undelivered) {
        return Ok(Decided::default());
    }
    let question = format!(
        "notice {number} did not reach {}: {why}. Look at its pane with 'pairflow attach {id}', then go on with 'pairflow resume {id}'.",
        notice.agent,
        id = unit.id
    );
    Ok(Decided::one(question_about(unit, &notice.agent, QuestionKind::Undelivered, question)))
}

/// A program was started, or its session became known.
fn session(unit: &Unit, known: Known<'_>) -> Result<Decided, Refusal> {
    if !unit.rules.agents.contain(known.agent) || unit.phase.is_final() {
        return Err(Refusal::NotOwed);
    }
    if unit.knows(known) {
        return Ok(Decided::default());
    }
    let Known { agent, turn, seat, id } = known;
    let fact = Lifecycle::AgentSession { agent: agent.clone(), turn, seat, session: id.cloned() };
    Ok(Decided::one(own(unit, fact)))
}

/// A sign of life that is no command: what was asked because of its absence is withdrawn.
fn active(unit: &Unit, agent: &AgentId) -> Decided {
    // Being busy does not make a turn shorter.
    let mut events = withdrawals(unit, agent, |kind| kind != QuestionKind::LongTurn);
    if let Some(turn) = unit.disturbed_by(agent) {
        events.push(own(unit, Lifecycle::AtWorkOutOfTurn { agent: agent.clone(), turn }));
    }
    events
        .extend(unit.presence.parked.iter().filter(|parked| parked.agent == *agent).map(|parked| unpark(unit, parked)));
    Decided::of(events)
}

/// An agent wants to end its turn without a hand-over: it is reminded, and then a person is asked.
fn stopped(unit: &Unit, agent: &AgentId) -> Decided {
    // An agent that has not read the newest notice yet ends what came before it, and that is right.
    let behind = unit.notice_for(agent).is_some();
    let Some(turn) = unit.watched().filter(|turn| turn.agent == *agent && !behind) else { return Decided::default() };
    if turn.nudges < NUDGES {
        let reason = "it ended its turn without a pairflow command".to_owned();
        let control = Control { action: ControlAction::Nudge, reason, waived: None, until: None };
        let mut event = Event::own(unit.rounds.round, Body::Control(control));
        event.recipient = Party::Agent(agent.clone());
        return Decided::one(event);
    }
    let question = format!(
        "{agent} has stopped without handing over (round {}, as {}), although it was reminded. Look at its pane with 'pairflow attach {id}', then go on with 'pairflow resume {id}'.",
        unit.rounds.round,
        turn.seat,
        id = unit.id
    );
    Decided::one(question_about(unit, agent, QuestionKind::Idle, question))
}

/// Something keeps an agent from going on.
fn hindered(unit: &Unit, agent: &AgentId, by: Hindrance, what: &str, now: Moment) -> Decided {
    let id = &unit.id;
    let (kind, question) = match by {
        // Nothing is expected of it now; in its own turn it meets it again.
        Hindrance::Limit { .. } | Hindrance::Failure if unit.phase.turn().is_none_or(|turn| turn.agent != *agent) => {
            return Decided::default();
        }
        Hindrance::Limit { until: Some(until) } if is_soon(until, now) => return park(unit, agent, what, until),
        Hindrance::Limit { until } => {
            let until = until.filter(|until| *until > now.ts);
            let until = until.map(|until| format!(" until {} UTC", until.date_hms())).unwrap_or_default();
            let question = format!(
                "{agent} has used up what its account allows{until}: {what}. Go on with 'pairflow resume {id}' when it can work again."
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
    if !asked(unit, agent, kind) {
        let (about, wants) = (Some(agent.clone()), (kind == QuestionKind::Permit).then(|| what.to_owned()));
        let asked = Question { about, wants, ..Question::new(kind, question) };
        events.push(Event::own(unit.rounds.round, Body::HumanQuestion(asked)));
    }
    if kind == QuestionKind::Permission {
        // No hook waits any more: what a person answered now would reach nobody.
        let is_held = |open: &&OpenQuestion| wanted(open) == Some((agent, what));
        let held = unit.gate.questions.iter().filter(is_held);
        events.extend(held.map(|open| take_back(unit, open, "it is asked in its pane now".to_owned())));
    }
    Decided::of(events)
}

/// Whether a used-up account is waited for until then.
fn is_soon(until: Timestamp, now: Moment) -> bool {
    (1..=LONGEST_PARK).contains(&until.millis().saturating_sub(now.ts.millis()))
}

/// Nothing is expected of the turn's holder until its account can be used again.
fn park(unit: &Unit, agent: &AgentId, what: &str, until: Timestamp) -> Decided {
    if unit.presence.parked.is_some() {
        return Decided::default();
    }
    let control = Control { action: ControlAction::Park, reason: what.to_owned(), waived: None, until: Some(until) };
    let mut event = Event::own(unit.rounds.round, Body::Control(control));
    event.recipient = Party::Agent(agent.clone());
    Decided::one(event)
}

/// Returns which agent wants a permission that can be given from everywhere, and what for.
pub(crate) fn wanted(open: &OpenQuestion) -> Option<(&AgentId, &str)> {
    Some((open.about.as_ref()?, open.wants.as_deref()?))
}

/// Returns a question as a person reads it: the commands that answer a request for a permission have its name in them,
/// which it has only once it is recorded.
pub(super) fn shown(unit: &Unit, asked: &Question, name: &MsgId) -> String {
    let (id, question) = (&unit.id, &asked.question);
    if asked.kind != QuestionKind::Permit {
        return question.clone();
    }
    let reply = format!("pairflow reply {id} --question {name}");
    format!(
        "{question} Allow it this once with '{reply} --decision accept', refuse it with '{reply} --message …', or answer in its pane: pairflow attach {id}"
    )
}

/// An agent's command arrives while only its own silence is asked about: that is withdrawn, and the command is decided
/// as if nobody had been asked.
pub(super) fn come_back(unit: &Unit, command: &Command) -> Option<Result<Decided, Refusal>> {
    let agent = command.agent()?;
    let turn = unit.phase.turn().filter(|turn| turn.agent == *agent)?;
    if !only_about(unit, agent) || unit.paused {
        return None;
    }
    let decided = match command {
        Command::Pass(pass) => turn::pass(unit, turn, pass),
        _ => converge::claim(unit, turn, agent, command),
    };
    let mut events = withdrawals(unit, agent, |_| true);
    Some(decided.map(|mut decided| {
        events.append(&mut decided.events);
        Decided { events, artifacts: decided.artifacts }
    }))
}

/// The answers with which pairflow takes back what it asked about the presence of `agent`, no matter who has the turn.
pub(super) fn withdrawals(unit: &Unit, agent: &AgentId, which: impl Fn(QuestionKind) -> bool) -> Vec<Event> {
    let its_own = |open: &&OpenQuestion| open.kind.is_about_presence() && is_about(unit, open, agent);
    let open = unit.gate.questions.iter().filter(its_own).filter(|open| which(open.kind));
    open.map(|open| take_back(unit, open, format!("{agent} is at work again"))).collect()
}

/// The answer with which pairflow takes back a question of its own.
fn take_back(unit: &Unit, open: &OpenQuestion, message: String) -> Event {
    let mut event = Event::own(unit.rounds.round, Body::HumanReply(Reply { message, decision: None }));
    event.in_reply_to = Some(open.id.clone());
    event
}

/// Whether agents of this bubble are told by notices.
pub(crate) fn notified(unit: &Unit) -> bool {
    unit.rules.driver == DriverKind::Tmux
}

fn asked(unit: &Unit, agent: &AgentId, kind: QuestionKind) -> bool {
    unit.gate.questions.iter().any(|open| open.kind == kind && is_about(unit, open, agent))
}

/// Whether all that is open is about the presence of `agent`, so that its next command answers it.
pub(super) fn only_about(unit: &Unit, agent: &AgentId) -> bool {
    unit.gate.questions.iter().all(|open| open.kind.is_about_presence() && is_about(unit, open, agent))
}

/// Whether a question about presence is about `agent`; one that does not say so is about the turn's holder.
fn is_about(unit: &Unit, open: &OpenQuestion, agent: &AgentId) -> bool {
    let holder = || unit.phase.turn().map(|turn| &turn.agent);
    open.about.as_ref().or_else(holder) == Some(agent)
}

fn delivery(unit: &Unit, notice: &Notice, attempt: u32, acknowledged: bool) -> Event {
    let mut event =
        Event::own(unit.rounds.round, Body::Delivery(Delivery { notice: notice.number, attempt, acknowledged }));
    event.recipient = Party::Agent(notice.agent.clone());
    event
}

fn unpark(unit: &Unit, parked: &Parked) -> Event {
    let control = Control { action: ControlAction::Unpark, reason: String::new(), waived: None, until: None };
    let mut event = Event::own(unit.rounds.round, Body::Control(control));
    event.recipient = Party::Agent(parked.agent.clone());
    event
}
