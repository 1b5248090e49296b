//! The driver for agents in panes: it says how each of them is started, out of its description.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use pairflow_core::ids::AgentId;
use pairflow_core::rules::CustomAgent;
use pairflow_engine::driver::{AgentDriver, DriverError, Launch, SeatStart, Started, Trouble, TurnStart};

use crate::spec::{AgentSpec, environment, spec_of};

/// Knows the programs that agents are. It starts none of them: the stage of the bubble does, in a pane.
#[derive(Debug, Clone, Copy, Default)]
pub struct PaneDriver;

impl AgentDriver for PaneDriver {
    /// An agent in a pane takes its turn by itself once it has been told to.
    fn start(&self, _turn: &TurnStart) -> Result<Started, DriverError> {
        Ok(Started::Joins)
    }

    fn launch(&self, seat: &SeatStart) -> Result<Launch, DriverError> {
        let spec = spec_of(&seat.agent, seat.spec.as_ref());
        let launch = spec.and_then(|spec| launch(&spec, seat));
        launch.map_err(|why| DriverError::Start { agent: seat.agent.clone(), why })
    }

    fn trouble(&self, agent: &AgentId, spec: Option<&CustomAgent>, record_end: &str) -> Option<Trouble> {
        spec_of(agent, spec).ok()?.trouble(record_end)
    }
}

fn launch(spec: &AgentSpec, seat: &SeatStart) -> Result<Launch, String> {
    let env = environment(&spec.env, &seat.person, &seat.env, &seat.program);
    let mut argv = spec.argv(seat)?;
    let program = argv.first_mut().ok_or("its command is empty")?;
    *program = find(program, &env)?;
    Ok(Launch {
        argv,
        env,
        cwd: seat.worktree.clone(),
        session: spec.session(&seat.session),
        hooks: spec.reports(),
        prompted: spec.prompts(seat),
        dialogs: spec.dialogs.clone(),
        composer: spec.composer.clone(),
        sandboxed: spec.sandboxed,
    })
}

/// Finds a program on the agent's own `PATH`, so that one that is missing is known before its pane stays empty.
fn find(program: &str, env: &[(String, String)]) -> Result<String, String> {
    if program.contains('/') {
        return Ok(program.to_owned());
    }
    let path = env.iter().find(|(name, _)| name == "PATH").map_or("", |(_, value)| value);
    let found = path.split(':').map(|dir| Path::new(dir).join(program)).find(|file| file.is_absolute() && runs(file));
    let found = found.ok_or_else(|| {
        format!("`{program}` is not installed, or not on the PATH of the person who started the bubble")
    })?;
    found.to_str().map(str::to_owned).ok_or_else(|| format!("the path {} is not UTF-8", found.display()))
}

fn runs(file: &Path) -> bool {
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
