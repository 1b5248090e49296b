//! Every way to run an agent behind one door, for a supervisor that looks after all kinds of bubbles.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use pairflow_core::ids::AgentId;
use pairflow_core::rules::CustomAgent;
use pairflow_engine::driver::{AgentDriver, DriverError, Launch, PaneStart, StartedAgent, Trouble, TurnStart};
use pairflow_engine::process::{Cancel, CommandLine, Job, Kind, Registration, start};

use crate::spec::{AgentSpec, environment, spec_of};

/// Starts turns of scripted agents, and knows how agents are started in panes.
#[derive(Debug, Clone)]
pub struct Drivers {
    script: ScriptDriver,
    pane: PaneDriver,
}

impl Drivers {
    /// Uses `program` as the pairflow binary.
    pub fn new(program: PathBuf) -> Self {
        Self { script: ScriptDriver { program }, pane: PaneDriver }
    }
}

impl AgentDriver for Drivers {
    fn start(&self, turn: &TurnStart) -> Result<StartedAgent, DriverError> {
        self.script.start(turn)
    }

    fn launch(&self, seat: &PaneStart) -> Result<Launch, DriverError> {
        self.pane.launch(seat)
    }

    fn trouble(&self, agent: &AgentId, spec: Option<&CustomAgent>, record_end: &str) -> Option<Trouble> {
        self.pane.trouble(agent, spec, record_end)
    }
}

/// Starts nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExternalDriver;

impl AgentDriver for ExternalDriver {
    fn start(&self, _turn: &TurnStart) -> Result<StartedAgent, DriverError> {
        Ok(StartedAgent::Joins)
    }
}

/// Knows the programs that agents are. It starts none of them: the stage of the bubble does, in a pane.
#[derive(Debug, Clone, Copy, Default)]
pub struct PaneDriver;

impl AgentDriver for PaneDriver {
    /// An agent in a pane takes its turn by itself once it has been told to.
    fn start(&self, _turn: &TurnStart) -> Result<StartedAgent, DriverError> {
        Ok(StartedAgent::Joins)
    }

    fn launch(&self, seat: &PaneStart) -> Result<Launch, DriverError> {
        let spec = spec_of(&seat.agent, seat.spec.as_ref());
        let launch = spec.and_then(|spec| launch(&spec, seat));
        launch.map_err(|why| DriverError::Start { agent: seat.agent.clone(), why })
    }

    fn trouble(&self, agent: &AgentId, spec: Option<&CustomAgent>, record_end: &str) -> Option<Trouble> {
        spec_of(agent, spec).ok()?.trouble(record_end)
    }
}

fn launch(spec: &AgentSpec, seat: &PaneStart) -> Result<Launch, String> {
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

/// The variable that names the directory in which a scripted agent notes how far it has come.
pub const STATE_VARIABLE: &str = "PAIRFLOW_SCRIPT_STATE";

/// The variables by which pairflow finds its own directories, beyond what every job gets.
const DIRECTORIES: [&str; 2] = ["XDG_RUNTIME_DIR", "XDG_STATE_HOME"];

/// How much of an agent's output is kept in memory, to be shown when it ends without a hand-over.
const KEPT_OUTPUT: usize = 8 * 1024;

/// Plays turns with `<program> script-agent`.
#[derive(Debug, Clone)]
pub struct ScriptDriver {
    /// The pairflow binary.
    pub program: PathBuf,
}

impl AgentDriver for ScriptDriver {
    fn start(&self, turn: &TurnStart) -> Result<StartedAgent, DriverError> {
        let failed = |why: String| DriverError::Start { agent: turn.agent.clone(), why };
        let script = turn.script.as_ref().ok_or_else(|| DriverError::NoScript { agent: turn.agent.clone() })?;
        let job = self.job(turn, script).map_err(failed)?;
        let cancel = Cancel::new().map_err(|error| failed(format!("cannot make a pipe: {error}")))?;
        start(&job, &cancel).map(StartedAgent::Runs).map_err(failed)
    }
}

impl ScriptDriver {
    fn job(&self, turn: &TurnStart, script: &Path) -> Result<Job, String> {
        let words = [text(&self.program)?, "script-agent", "--script", text(script)?, "--agent", turn.agent.as_str()];
        let mut argv: Vec<String> = words.map(str::to_owned).to_vec();
        argv.extend(["--nth".to_owned(), turn.nth.to_string()]);
        // A scripted agent calls pairflow, which looks for its own directories there.
        let mut env: Vec<_> =
            DIRECTORIES.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?))).collect();
        env.extend(turn.env.clone());
        env.push((STATE_VARIABLE.to_owned(), text(&turn.runtime_dir.join("script"))?.to_owned()));
        let what = format!("{} as {}, turn {}", turn.agent, turn.seat, turn.turn);
        Ok(Job {
            command: CommandLine::Argv(argv),
            cwd: turn.worktree.clone(),
            env,
            timeout: None,
            max_output_bytes: KEPT_OUTPUT,
            log: Some(turn.log.clone()),
            registry: Some(Registration { dir: turn.registry(), kind: Kind::Agent, what }),
        })
    }
}

fn text(path: &Path) -> Result<&str, String> {
    path.to_str().ok_or_else(|| format!("the path {} is not UTF-8", path.display()))
}
