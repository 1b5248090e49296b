//! What agents read: the brief of the agent that has the turn, and what the others are told meanwhile.
//!
//! A brief is a template and a context, which is a pure function of the state and of what the engine gathered. It ends
//! with the commands that can end the turn, one a line.

mod context;

use std::sync::LazyLock;

use context::{BriefContext, StandbyContext};
use minijinja::Environment;

use crate::bubble::{BubbleState, Stage};
use crate::facts::Seat;
use crate::ids::AgentId;
use crate::view::templates::{environment, render};
pub use context::{BriefMaterial, ReviewDiff, Slice, Standard};

static BRIEFS: LazyLock<Environment<'static>> = LazyLock::new(|| {
    environment(&[
        ("pairflow/brief.md.j2", include_str!("../../templates/brief.md.j2")),
        ("pairflow/implementer.md.j2", include_str!("../../templates/implementer.md.j2")),
        ("pairflow/reviewer.md.j2", include_str!("../../templates/reviewer.md.j2")),
        ("pairflow/judge.md.j2", include_str!("../../templates/judge.md.j2")),
        ("pairflow/standby.md.j2", include_str!("../../templates/standby.md.j2")),
    ])
});

/// Returns the brief of the present turn; nothing while no agent has the turn or is about to have it.
pub fn brief(state: &BubbleState, material: &BriefMaterial) -> Option<String> {
    let turn = state.phase.turn().filter(|turn| matches!(turn.stage, Stage::Opening | Stage::Open))?;
    let template = match turn.seat {
        Seat::Implementer => "pairflow/implementer.md.j2",
        Seat::Reviewer => "pairflow/reviewer.md.j2",
        Seat::Judge => "pairflow/judge.md.j2",
    };
    Some(render(&BRIEFS, template, &BriefContext::of(state, turn, material)))
}

/// Returns the briefing of an agent that waits for its turn; nothing for one that has no seat here.
pub fn standby(state: &BubbleState, agent: &AgentId) -> Option<String> {
    let seated = state.rules.agents.contain(agent);
    seated.then(|| render(&BRIEFS, "pairflow/standby.md.j2", &StandbyContext::of(state, agent)))
}
