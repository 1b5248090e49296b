//! What agents read: the brief of the agent that has the turn, and what the others are told meanwhile.
//!
//! A brief is a template and a context, which is a pure function of the state and of what the engine gathered. It ends
//! with the commands that can end the turn, one a line.

mod context;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use context::{BriefContext, StandbyContext};
use minijinja::{Environment, Error, ErrorKind};
use serde::Serialize;

use crate::bubble::{BubbleState, Stage};
use crate::facts::Seat;
use crate::ids::AgentId;
use crate::view::templates::{environment, render, try_render};
use crate::view::words::one_line;
pub use context::{BriefMaterial, ReviewDiff, Slice, Standard};

static BRIEFS: LazyLock<Environment<'static>> = LazyLock::new(|| {
    environment(&[
        ("pairflow/brief.md.j2", include_str!("../../templates/brief.md.j2")),
        ("pairflow/implementer.md.j2", include_str!("../../templates/implementer.md.j2")),
        ("pairflow/reviewer.md.j2", include_str!("../../templates/reviewer.md.j2")),
        ("pairflow/judge.md.j2", include_str!("../../templates/judge.md.j2")),
        ("pairflow/acceptance.md.j2", include_str!("../../templates/acceptance.md.j2")),
        ("pairflow/standby.md.j2", include_str!("../../templates/standby.md.j2")),
    ])
});

/// The templates that a repository may replace, in `pairflow-templates/` of its base. Each may extend the built-in one, whose
/// name has `pairflow/` before it.
pub const REPLACEABLE: [&str; 5] =
    ["implementer.md.j2", "reviewer.md.j2", "judge.md.j2", "acceptance.md.j2", "standby.md.j2"];

/// Returns the brief of the present turn; nothing while no agent has the turn or is about to have it.
pub fn brief(state: &BubbleState, material: &BriefMaterial) -> Option<String> {
    let turn = state.phase.turn().filter(|turn| matches!(turn.stage, Stage::Opening | Stage::Open))?;
    let template = match turn.seat {
        Seat::Implementer => "implementer.md.j2",
        Seat::Reviewer if turn.acceptance => "acceptance.md.j2",
        Seat::Reviewer => "reviewer.md.j2",
        Seat::Judge => "judge.md.j2",
    };
    Some(page(state, template, &BriefContext::of(state, turn, material)))
}

/// Returns the briefing of an agent that waits for its turn; nothing for one that has no seat here.
pub fn standby(state: &BubbleState, agent: &AgentId) -> Option<String> {
    let seated = state.rules.agents.contain(agent);
    seated.then(|| page(state, "standby.md.j2", &StandbyContext::of(state, agent)))
}

/// Renders the bubble's own template if it has one. If that fails, the built-in text is used, after a line that names the failure.
fn page(state: &BubbleState, template: &str, context: &impl Serialize) -> String {
    let built_in = || render(&BRIEFS, &format!("pairflow/{template}"), context);
    let Some(text) = state.rules.templates.get(template) else { return built_in() };
    let own = with_template(template, text).and_then(|briefs| try_render(&briefs, template, context));
    own.unwrap_or_else(|error| {
        let why = one_line(&error.to_string());
        format!("> The repository's template {template} failed ({why}). This is the built-in text.\n\n{}", built_in())
    })
}

fn with_template(name: &str, text: &str) -> Result<Environment<'static>, Error> {
    let mut briefs = BRIEFS.clone();
    briefs.add_template_owned(name.to_owned(), text.to_owned())?;
    Ok(briefs)
}

/// Tries templates of a repository on two sample bubbles: one that has just begun, and one that has everything a brief can
/// show. Returns what is wrong with the first that fails: file, line, reason and fix.
pub fn check_templates(templates: &BTreeMap<String, String>) -> Result<(), String> {
    for (name, text) in templates {
        if !REPLACEABLE.contains(&name.as_str()) {
            let all = REPLACEABLE.join(", ");
            return Err(format!("pairflow-templates/{name} replaces nothing; remove it, or rename it to one of {all}"));
        }
        let samples = context::samples(name);
        let tried = with_template(name, text)
            .and_then(|briefs| samples.iter().try_for_each(|sample| try_render(&briefs, name, sample).map(drop)));
        tried.map_err(|error| {
            let line = error.line().unwrap_or(1);
            let source = one_line(text.lines().nth(line - 1).unwrap_or_default());
            let what =
                error.detail().map_or_else(|| error.kind().to_string(), |detail| format!("{}: {detail}", error.kind()));
            let fix = match (error.kind(), samples[0].as_object()) {
                (ErrorKind::UndefinedError, Some(values)) => {
                    let names = values.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
                    format!("use one of the values that this brief has: {names}")
                }
                _ => "correct it, or remove the file to use the built-in brief".to_owned(),
            };
            format!("pairflow-templates/{name}:{line}: {what} in `{source}`; {fix}")
        })?;
    }
    Ok(())
}
