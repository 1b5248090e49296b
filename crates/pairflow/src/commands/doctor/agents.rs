//! The programs of the agents that the configuration names. None of them is started.

use std::collections::BTreeMap;

use pairflow_agents::spec::spec_of;
use pairflow_core::config::Layer;
use pairflow_core::ids::AgentId;
use pairflow_core::rules::CustomAgent;

use super::report::Report;
use crate::app::{App, Reach};

/// Looks for the program of every agent that a seat or an `[agent.NAME]` of the configuration names.
pub(super) fn programs(app: &App, reach: &Reach, report: &mut Report) {
    let mut wanted: Vec<Wanted> = Vec::new();
    for (agent, custom) in named(app, reach) {
        let spec = match spec_of(&agent, custom.as_ref()) {
            Ok(spec) => spec,
            Err(why) => {
                report.warning("agent", &format!("{agent}: {why}"), Some("pairflow config explain"));
                continue;
            }
        };
        let Some(program) = spec.fresh.command.first() else { continue };
        let configured = custom.filter(|custom| !custom.command.is_empty()).map(|_| agent.clone());
        match wanted.iter_mut().find(|one| one.program == *program) {
            Some(one) => {
                one.configured = one.configured.take().or(configured);
                one.agents.extend((!one.agents.contains(&agent)).then_some(agent));
            }
            None => wanted.push(Wanted { program: program.clone(), agents: vec![agent], configured }),
        }
    }
    wanted.iter().for_each(|one| look(app, one, report));
}

/// A program, and the agents that are run with it.
struct Wanted {
    program: String,
    agents: Vec<AgentId>,
    /// The agent whose `[agent.NAME]` names it, if one does.
    configured: Option<AgentId>,
}

fn look(app: &App, wanted: &Wanted, report: &mut Report) {
    let program = wanted.program.as_str();
    let agents = wanted.agents.iter().map(AgentId::as_str).collect::<Vec<_>>().join(", ");
    let name = if program == agents { String::new() } else { format!("{agents}: ") };
    if let Some(path) = app.on_path(program) {
        return report.ok("agent", &format!("{name}{program} is {}", path.display()));
    }
    let place = if program.contains('/') { "no program that can be run" } else { "not on PATH" };
    let install = match (program, &wanted.configured) {
        (_, Some(agent)) => format!("install it, or correct `command` of [agent.{agent}]: pairflow config explain"),
        ("claude", None) => "npm install -g @anthropic-ai/claude-code".to_owned(),
        ("codex", None) => "npm install -g @openai/codex".to_owned(),
        _ => "install it, or name its program in the configuration: pairflow config explain".to_owned(),
    };
    let these = if wanted.agents.len() == 1 { "this agent" } else { "these agents" };
    let found = format!("{name}{program} is {place}; only bubbles with {these} need it");
    report.warning("agent", &found, Some(&install));
}

/// The agents of all repositories in reach, each with what the configuration says of it. That a configuration
/// cannot be used is told elsewhere; the defaults stand in for it.
fn named(app: &App, reach: &Reach) -> Vec<(AgentId, Option<CustomAgent>)> {
    // Beneath a file lies no repository, so that only the person's own file is read.
    let nowhere = app.engine().map(|engine| engine.dirs.config).ok().filter(|_| reach.roots.is_empty());
    let mut all: BTreeMap<AgentId, Vec<Option<CustomAgent>>> = BTreeMap::new();
    for root in reach.roots.iter().chain(&nowhere) {
        let layers = app.layers(root, None, Layer::default()).unwrap_or_default();
        for (agent, custom) in layers.agents() {
            let known = all.entry(agent).or_default();
            if !known.contains(&custom) {
                known.push(custom);
            }
        }
    }
    all.into_iter().flat_map(|(agent, customs)| customs.into_iter().map(move |one| (agent.clone(), one))).collect()
}
