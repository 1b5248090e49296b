//! `pairflow script-agent`: one turn of a scripted agent.

use std::path::PathBuf;

use clap::{ArgMatches, Args, FromArgMatches};
use pairflow_agents::script::{STATE_VARIABLE, Script, ScriptedTurn, play};
use pairflow_core::ids::AgentId;

use crate::app::App;
use crate::entry::{CommandEntry, Group, anyone};
use crate::exit::CommandError;
use crate::out::Out;

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
    /// Which of its own turns it is, starting with 1
    #[arg(long, value_name = "N")]
    pub nth: u32,
}

/// The line of the table.
pub const ENTRY: CommandEntry = CommandEntry {
    name: "script-agent",
    aliases: &[],
    group: Group::Other,
    about: "Play one turn of a scripted agent",
    hidden: true,
    human_only: anyone,
    args: ScriptAgentArgs::augment_args,
    run,
};

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = ScriptAgentArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    let path = app.resolve(&args.script)?;
    let name = path.display().to_string();
    let text = pairflow_engine::regular::read_text(&path)
        .map_err(|error| CommandError::world(format_args!("cannot read the script {name}: {error}.")))?;
    let script = Script::parse(&name, &text).map_err(CommandError::usage)?;
    let state = app.env.text(STATE_VARIABLE).map(PathBuf::from);
    let state_dir = state.ok_or_else(|| {
        CommandError::usage(format_args!("{STATE_VARIABLE} is not set; the supervisor does that for its agents."))
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
    out.finish()?;
    if code != 0 {
        // The code is the agent's own and can be any number, so it does not go through the table of exit codes.
        std::process::exit(code);
    }
    Ok(())
}
