//! How agents are run: each turn of a scripted agent is a process of its own; an agent in a pane is described, and the
//! bubble's session starts it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use pairflow_core::ids::AgentId;
use pairflow_core::rules::CustomAgent;
use pairflow_engine::driver::{AgentDriver, DriverError, Launch, PaneStart, Trouble, TurnStart};
use pairflow_engine::process::{Cancel, Job, JobCommand, JobKind, Registration, RunningJob, start};

use crate::spec::{environment, spec_of};

/// The variable that names the directory in which a scripted agent notes its progress.
pub const STATE_VARIABLE: &str = "PAIRFLOW_SCRIPT_STATE";

/// The variables by which pairflow finds its own directories, beyond what every job gets.
const DIRECTORIES: [&str; 2] = ["XDG_RUNTIME_DIR", "XDG_STATE_HOME"];

/// How much of an agent's output is kept in memory, to be shown when it ends without a hand-over.
const KEPT_OUTPUT: usize = 8 * 1024;

/// The driver of a supervisor, for all kinds of bubbles.
#[derive(Debug, Clone, Default)]
pub struct Drivers {
    /// The pairflow binary.
    pub program: PathBuf,
}

impl AgentDriver for Drivers {
    fn start(&self, turn: &TurnStart) -> Result<RunningJob, DriverError> {
        let failed = |why: String| DriverError::Start { agent: turn.agent.clone(), why };
        let script = turn.script.as_ref().ok_or_else(|| DriverError::NoScript { agent: turn.agent.clone() })?;
        let job = self.script_job(turn, script).map_err(failed)?;
        let cancel = Cancel::new().map_err(|error| failed(format!("cannot create a pipe: {error}")))?;
        start(&job, &cancel).map_err(failed)
    }

    fn launch(&self, pane: &PaneStart) -> Result<Launch, DriverError> {
        launch(pane).map_err(|why| DriverError::Start { agent: pane.agent.clone(), why })
    }

    fn trouble(&self, agent: &AgentId, spec: Option<&CustomAgent>, record_end: &str) -> Option<Trouble> {
        spec_of(agent, spec).ok()?.trouble(record_end)
    }
}

impl Drivers {
    /// Returns the process that plays a turn of a script: `<program> script-agent`.
    fn script_job(&self, turn: &TurnStart, script: &Path) -> Result<Job, String> {
        let nth = turn.nth.to_string();
        let (program, script) = (text(&self.program)?, text(script)?);
        let argv = [program, "script-agent", "--script", script, "--agent", turn.agent.as_str(), "--nth", &nth];
        // A scripted agent calls pairflow, which looks for its own directories there.
        let directory = |name: &&str| Some(((*name).to_owned(), std::env::var(name).ok()?));
        let mut env: Vec<_> = DIRECTORIES.iter().filter_map(directory).collect();
        env.extend(turn.env.clone());
        env.push((STATE_VARIABLE.to_owned(), text(&turn.runtime_dir.join("script"))?.to_owned()));
        let what = format!("{} as {}, turn {}", turn.agent, turn.seat, turn.turn);
        Ok(Job {
            command: JobCommand::Argv(argv.map(str::to_owned).to_vec()),
            cwd: turn.worktree.clone(),
            env,
            timeout: None,
            max_output_bytes: KEPT_OUTPUT,
            log: Some(turn.log.clone()),
            registry: Some(Registration { dir: turn.registry(), kind: JobKind::Agent, what }),
        })
    }
}

fn launch(pane: &PaneStart) -> Result<Launch, String> {
    let spec = spec_of(&pane.agent, pane.spec.as_ref())?;
    let env = environment(&spec.env, &pane.person, &pane.env, &pane.program);
    let mut argv = spec.argv(pane)?;
    let program = argv.first_mut().ok_or("its command is empty")?;
    *program = find(program, &env)?;
    Ok(Launch {
        argv,
        env,
        cwd: pane.worktree.clone(),
        session: spec.session(&pane.session),
        hooks: spec.reports(),
        prompted: spec.prompts(pane),
        dialogs: spec.dialogs,
        composer: spec.composer,
        sandboxed: spec.sandboxed,
    })
}

/// Finds a program on the agent's own `PATH`, so that a missing one is reported instead of an empty pane.
fn find(program: &str, env: &[(String, String)]) -> Result<String, String> {
    if program.contains('/') {
        return Ok(program.to_owned());
    }
    let path = env.iter().find(|(name, _)| name == "PATH").map_or("", |(_, value)| value);
    let runs = |file: &Path| file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
    let found = path.split(':').map(|dir| Path::new(dir).join(program)).find(|file| file.is_absolute() && runs(file));
    let missing = || format!("`{program}` is not installed, or not on the PATH of the person who started the bubble");
    text(&found.ok_or_else(missing)?).map(str::to_owned)
}

fn text(path: &Path) -> Result<&str, String> {
    path.to_str().ok_or_else(|| format!("the path {} is not UTF-8", path.display()))
}
