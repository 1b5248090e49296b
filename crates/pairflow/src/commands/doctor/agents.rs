//! The programs of the agents that the configuration names. They are asked for their version, and for nothing else.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use pairflow_agents::spec::{OldestVersion, Version, spec_of};
use pairflow_core::config::Layer;
use pairflow_core::ids::AgentId;
use pairflow_core::rules::CustomAgent;
use pairflow_core::safe::safe_line;
use pairflow_engine::process::{Cancel, Job, JobCommand, run};

use super::report::Report;
use crate::app::{App, Reach};

/// How long a program may take to say its version, and how many columns of what it says instead are shown.
const VERSION_WITHIN: Duration = Duration::from_secs(10);
const SAID: usize = 200;

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
            None => {
                wanted.push(Wanted { program: program.clone(), agents: vec![agent], configured, oldest: spec.oldest })
            }
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
    /// The oldest version of it that is known to work.
    oldest: Option<OldestVersion>,
}

fn look(app: &App, wanted: &Wanted, report: &mut Report) {
    let program = wanted.program.as_str();
    let agents = wanted.agents.iter().map(AgentId::as_str).collect::<Vec<_>>().join(", ");
    let name = if program == agents { String::new() } else { format!("{agents}: ") };
    if let Some(path) = app.on_path(program) {
        // Whatever is called otherwise may be a script that does not know the question.
        return match wanted.oldest.filter(|oldest| path.file_name().is_some_and(|file| file == oldest.program)) {
            Some(oldest) => version(&name, &path, &oldest, report),
            None => report.ok("agent", &format!("{name}{program} is {}", path.display())),
        };
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

/// Compares the version of a program with the oldest that works.
fn version(name: &str, path: &Path, oldest: &OldestVersion, report: &mut Report) {
    let (program, path) = (oldest.program, path.display());
    let job = Job {
        command: JobCommand::Argv(vec![path.to_string(), "--version".to_owned()]),
        cwd: "/".into(),
        env: Vec::new(),
        timeout: Some(VERSION_WITHIN),
        max_output_bytes: 4096,
        log: None,
        registry: None,
    };
    let ran = Cancel::new().map(|cancel| run(&job, &cancel)).unwrap_or_default();
    let said = String::from_utf8_lossy(&ran.output);
    let needed = format!("the oldest version that is known to work is {}", oldest.version);
    match Version::find(&said).filter(|_| ran.exit == Some(0)) {
        Some(found) if found >= oldest.version => report.ok("agent", &format!("{name}{program} {found} is {path}")),
        Some(found) => {
            report.warning("agent", &format!("{name}{program} {found} is {path}; {needed}"), Some(&oldest.install()));
        }
        None => {
            let said = ran.could_not_start.unwrap_or_else(|| safe_line(&said, SAID));
            let found = format!("{name}{program} is {path}, but does not say its version ({said}); {needed}");
            report.warning("agent", &found, Some(&oldest.install()));
        }
    }
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
