//! Whether agents can be run here: asked before anything is made for them, so that nothing half done is left.

use pairflow_agents::script::Script;
use pairflow_agents::spec::spec_of;
use pairflow_core::config::Resolved;
use pairflow_core::ids::AgentId;
use pairflow_core::rules::{DriverKind, Rules};

use crate::app::App;
use crate::exit::CommandError;

/// Something that agents need and that is not there.
struct Missing {
    /// What, as a sentence without its full stop.
    what: String,
    /// Whether the sentence names the line of a file that has to be corrected.
    in_file: bool,
}

impl App {
    /// Insists that the agents of a configuration can be run; `again` is the command that is typed once they can.
    pub(crate) fn can_run(&self, resolved: &Resolved, again: &str) -> Result<(), CommandError> {
        readable(&resolved.rules)?;
        self.installed(resolved, again)
    }

    /// Insists that what runs in panes is there; names everything that is missing.
    fn installed(&self, resolved: &Resolved, again: &str) -> Result<(), CommandError> {
        if resolved.rules.driver != DriverKind::Tmux {
            return Ok(());
        }
        let tmux =
            self.on_path("tmux").is_none().then(|| Missing { what: "tmux is not on PATH".into(), in_file: false });
        let programs = resolved.rules.agents.all().filter_map(|agent| self.lacks(resolved, agent));
        let missing: Vec<_> = tmux.into_iter().chain(programs).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let all: Vec<_> = missing.iter().map(|one| one.what.as_str()).collect();
        let error =
            CommandError::world(format_args!("agents cannot run here: {}. Nothing was started.", all.join("; ")));
        let correct = missing.iter().all(|one| one.in_file);
        Err(error.next(if correct { again } else { "pairflow doctor" }))
    }

    /// What keeps one agent from being started. A file that counts is named: the bubble's own is not the repository's.
    fn lacks(&self, resolved: &Resolved, agent: &AgentId) -> Option<Missing> {
        let program = match spec_of(agent, resolved.rules.agents_custom.get(agent)) {
            Ok(spec) => spec.fresh.command.first().cloned().unwrap_or_default(),
            Err(why) => return Some(Missing { what: format!("{agent}: {why}"), in_file: false }),
        };
        if self.on_path(&program).is_some() {
            return None;
        }
        let key = format!("agent.{agent}.command");
        let place = resolved.explained.iter().find(|row| row.key == key).and_then(|row| row.source.place());
        let named =
            place.map(|place| format!("; correct `command` of [agent.{agent}] in {}, line {}", place.file, place.line));
        let what = format!("{program}, the program of {agent}, is not there{}", named.as_deref().unwrap_or_default());
        Some(Missing { what, in_file: named.is_some() })
    }
}

/// Insists that the agents' script can be played.
fn readable(rules: &Rules) -> Result<(), CommandError> {
    let Some(path) = rules.script.as_ref().filter(|_| rules.driver == DriverKind::Script) else { return Ok(()) };
    let text = pairflow_engine::regular::read_text(std::path::Path::new(path))
        .map_err(|error| CommandError::usage(format_args!("cannot read the script {path}: {error}.")));
    let played = text.and_then(|text| Script::parse(path, &text).map(drop).map_err(CommandError::usage));
    played.map_err(|error| error.or_next("pairflow start --help"))
}
