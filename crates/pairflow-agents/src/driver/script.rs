//! The driver for scripted agents: every turn is a process of its own that plays a part of the script.

use std::path::{Path, PathBuf};

use pairflow_engine::driver::{AgentDriver, DriverError, Started, TurnStart};
use pairflow_engine::process::{Cancel, Job, JobCommand, JobKind, Registration, start};

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
    fn start(&self, turn: &TurnStart) -> Result<Started, DriverError> {
        let failed = |why: String| DriverError::Start { agent: turn.agent.clone(), why };
        let script = turn.script.as_ref().ok_or_else(|| DriverError::NoScript { agent: turn.agent.clone() })?;
        let job = self.job(turn, script).map_err(failed)?;
        let cancel = Cancel::new().map_err(|error| failed(format!("cannot make a pipe: {error}")))?;
        start(&job, &cancel).map(Started::Runs).map_err(failed)
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
            command: JobCommand::Argv(argv),
            cwd: turn.worktree.clone(),
            env,
            timeout: None,
            max_output_bytes: KEPT_OUTPUT,
            log: Some(turn.log.clone()),
            registry: Some(Registration { dir: turn.registry(), kind: JobKind::Agent, what }),
        })
    }
}

fn text(path: &Path) -> Result<&str, String> {
    path.to_str().ok_or_else(|| format!("the path {} is not UTF-8", path.display()))
}
