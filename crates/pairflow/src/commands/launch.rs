//! `pairflow launch` and `pairflow script-agent`: what the supervisor starts for an agent.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use pairflow_agents::script::{STATE_VARIABLE, Script, ScriptedTurn, play};
use pairflow_core::ids::{AgentId, BubbleId};
use pairflow_engine::driver::LaunchFile;

use super::{App, Args, CommandEntry, CommandError, Out, anyone, command};

/// Run the program of a pane
///
/// The file names the program, its environment and its directory; it is read once and removed. Only a file that the
/// supervisor wrote is accepted, and never from an agent.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow launch .pairflow/runtime/login-race/codex.launch")]
pub struct LaunchArgs {
    /// The file that the supervisor wrote for this pane
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// The line of the table.
pub const LAUNCH: CommandEntry = command!("launch", Plumbing, LaunchArgs, launch, anyone);

fn launch(args: LaunchArgs, app: &App, _: &mut Out) -> Result<(), CommandError> {
    let path = app.resolve(&args.file)?;
    let repo = repository(&path).ok_or_else(|| {
        CommandError::refused(format_args!("{} is not a launch file of a supervisor.", path.display()))
    })?;
    app.only_panes("launch", repo)?;
    let file = LaunchFile::take(&path).map_err(|error| CommandError::cannot("read", args.file.display(), error))?;
    let (program, words) = file
        .argv
        .split_first()
        .ok_or_else(|| CommandError::io(format_args!("{} names no program.", args.file.display())))?;
    if let Some(record) = &file.record {
        record.enrol().map_err(|error| CommandError::io(format_args!("{error}.")))?;
    }
    // The program gets the environment in the file, and nothing of the terminal's.
    let error = Command::new(program).args(words).env_clear().envs(file.env).current_dir(&file.cwd).exec();
    Err(CommandError::io(format_args!("cannot start {program} in {}: {error}.", file.cwd.display())))
}

/// Returns the repository whose supervisor writes `file`: `REPO/.pairflow/runtime/<id>/<agent>.launch`.
fn repository(file: &Path) -> Option<&Path> {
    let agent = file.file_name()?.to_str()?.strip_suffix(".launch")?;
    let bubble = file.parent()?;
    let runtime = bubble.parent()?;
    let own = runtime.parent()?;
    let named = agent.parse::<AgentId>().is_ok() && bubble.file_name()?.to_str()?.parse::<BubbleId>().is_ok();
    let placed = runtime.file_name()? == "runtime" && own.file_name()? == ".pairflow";
    own.parent().filter(|_| named && placed)
}

/// Play one turn of a scripted agent
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow script-agent --script agents.yaml --agent codex --nth 1")]
pub struct ScriptAgentArgs {
    /// The script
    #[arg(long, value_name = "FILE")]
    pub script: PathBuf,
    /// Whose turn it is
    #[arg(long, value_name = "AGENT")]
    pub agent: AgentId,
    /// This agent's turn number, starting at 1
    #[arg(long, value_name = "N")]
    pub nth: u32,
}

/// The line of the table.
pub const SCRIPT_AGENT: CommandEntry = command!("script-agent", Plumbing, ScriptAgentArgs, script_agent, anyone);

fn script_agent(args: ScriptAgentArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let path = app.resolve(&args.script)?;
    let name = path.display().to_string();
    let text = pairflow_engine::regular::read_text(&path)
        .map_err(|error| CommandError::io(format_args!("cannot read the script {name}: {error}.")))?;
    let script = Script::parse(&name, &text).map_err(CommandError::usage)?;
    let state = app.env.text(STATE_VARIABLE).map(PathBuf::from);
    let state_dir = state.ok_or_else(|| {
        CommandError::usage(format_args!("{STATE_VARIABLE} is not set; the supervisor sets it for its agents."))
    })?;
    let turn = ScriptedTurn {
        script: &script,
        agent: args.agent.as_str(),
        n: args.nth,
        program: &app.program()?,
        cwd: app.cwd()?,
        state_dir: &state_dir,
        env: &[],
    };
    let code = play(&turn, out.stream());
    out.flush()?;
    if code != 0 {
        // The code is the agent's own and can be any number, so it does not go through the table of exit codes.
        std::process::exit(code);
    }
    Ok(())
}
