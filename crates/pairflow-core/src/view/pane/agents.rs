//! The agents of a bubble: who sits where, and what each does.

use crate::bubble::{BubbleState, Phase};
use crate::ids::AgentId;
use crate::log::QuestionKind;
use crate::rules::DriverKind;
use crate::safe::width;
use crate::view::inbox::open_questions;
use crate::view::pane::sections::{Section, labelled};
use crate::view::pane::{PaneLine, Scene, SeatNow, SeatStatus, Shade};
use crate::view::status::HeldNotice;
use crate::view::words::age;

/// How many columns a role takes.
const ROLE: usize = 11;

/// Returns a line for each agent.
pub(super) fn agents(scene: &Scene<'_>) -> Section {
    let state = scene.state;
    let mut names: Vec<&AgentId> = Vec::new();
    for agent in state.rules.agents.all() {
        if !names.contains(&agent) {
            names.push(agent);
        }
    }
    let columns = names.iter().map(|name| width(name.as_str())).max().unwrap_or(0);
    let lines = names.iter().flat_map(|agent| [Some(line(scene, agent, columns)), held(scene, agent)]).flatten();
    let lines: Vec<_> = lines.collect();
    Section::new(3, lines.len(), labelled("Agents", lines))
}

fn line(scene: &Scene<'_>, agent: &AgentId, columns: usize) -> PaneLine {
    let state = scene.state;
    let turn = state.phase.turn().filter(|turn| turn.agent == *agent && matches!(state.phase, Phase::Running(_)));
    let name = if turn.is_some() { Shade::Strong } else { Shade::Plain };
    let line = PaneLine::of(name, agent.as_str()).pad(columns + 2);
    let line = line.join(PaneLine::of(Shade::Plain, role(state, agent)).pad(ROLE + 2));
    let seat = scene.seats.and_then(|seats| seats.iter().find(|seat| seat.agent == *agent));
    let status = match seat {
        Some(seat) => status(seat, scene),
        None if state.rules.driver == DriverKind::Tmux => PaneLine::of(Shade::Faint, SeatStatus::Unknown.name()),
        None if turn.is_some() => PaneLine::of(Shade::Plain, "has the turn"),
        None => PaneLine::of(Shade::Faint, "waits for its turn"),
    };
    match state.notice_for(agent) {
        Some(notice) => {
            let sent = if notice.attempts == 0 { "not sent yet" } else { "not acknowledged yet" };
            line.join(status).add(Shade::Warn, format!(", notice {} {sent}", notice.number))
        }
        None => line.join(status),
    }
}

/// Says that a notice is kept back because a person has typed something where it belongs.
fn held(scene: &Scene<'_>, agent: &AgentId) -> Option<PaneLine> {
    let notice = scene.state.notice_for(agent)?.number;
    let seat = scene.seats?.iter().find(|seat| seat.agent == *agent && seat.held_back)?;
    let held = HeldNotice { agent: seat.agent.clone(), notice };
    Some(PaneLine::of(Shade::Warn, held.to_string()))
}

fn role(state: &BubbleState, agent: &AgentId) -> &'static str {
    match agent {
        _ if *agent == state.rounds.seats.implementer => "implementer",
        _ if *agent == state.rounds.seats.reviewer => "reviewer",
        _ => "stand-by",
    }
}

fn status(seat: &SeatNow, scene: &Scene<'_>) -> PaneLine {
    let shade = match seat.status {
        SeatStatus::Ready | SeatStatus::Stopped => Shade::Plain,
        SeatStatus::Busy => Shade::Good,
        SeatStatus::Permission | SeatStatus::Dialog => Shade::Warn,
        SeatStatus::Gone => Shade::Bad,
        SeatStatus::Starting | SeatStatus::Unknown => Shade::Faint,
    };
    let line = PaneLine::of(shade, seat.status.name());
    let line = match seat.since {
        Some(since) if seat.status != SeatStatus::Unknown => {
            line.add(Shade::Faint, format!(" {}", age(since, scene.now.ts)))
        }
        _ => line,
    };
    match seat.status.wants_person() {
        false => line,
        // What answers it stands beside the question.
        true if is_asked(scene.state, &seat.agent) => line.add(Shade::Warn, ", see Inbox"),
        true => line.add(Shade::Warn, format!(", see pairflow attach {}", scene.state.id)),
    }
}

/// Whether the person is asked for something that this agent shows in its pane.
fn is_asked(state: &BubbleState, agent: &AgentId) -> bool {
    let shown = |kind| matches!(kind, QuestionKind::Permission | QuestionKind::Permit | QuestionKind::Dialog);
    open_questions(state).iter().any(|open| shown(open.kind) && open.about.as_ref() == Some(agent))
}
