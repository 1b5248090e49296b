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
    let mut told = Vec::new();
    for (agent, custom) in named(app, reach) {
        let line = match spec_of(&agent, custom.as_ref()) {
            Ok(spec) => spec.fresh.command.first().map(|program| (program.clone(), custom)),
            Err(why) => {
                report.warning("agent", &format!("{agent}: {why}"), Some("pairflow config explain"));
                None
            }
        };
        let Some((program, custom)) = line.filter(|(program, _)| !told.contains(program)) else { continue };
        look(app, &agent, &program, custom.is_some_and(|custom| !custom.command.is_empty()), report);
        told.push(program);
    }
}

fn look(app: &App, agent: &AgentId, program: &str, configured: bool, report: &mut Report) {
    let name = if program == agent.as_str() { String::new() } else { format!("{agent}: ") };
    if let Some(path) = app.on_path(program) {
        return report.ok("agent", &format!("{name}{program} is {}", path.display()));
    }
    let place = if program.contains('/') { "no program that can be run" } else { "not on PATH" };
    let install = match program {
        _ if configured => format!("install it, or mend `command` of [agent.{agent}]: pairflow config explain"),
        "claude" => "npm install -g @anthropic-ai/claude-code".to_owned(),
        "codex" => "npm install -g @openai/codex".to_owned(),
        _ => "install it, or name its program in the configuration: pairflow config explain".to_owned(),
    };
    let found = format!("{name}{program} is {place}; only bubbles with this agent need it");
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
