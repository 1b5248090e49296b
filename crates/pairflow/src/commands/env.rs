//! `pairflow env`: what an agent process needs to join.

use std::collections::BTreeMap;

use pairflow_core::ids::AgentId;
use pairflow_engine::engine::{EngineError, environment};
use pairflow_engine::git::insist_on_plain_path;
use serde::Serialize;

use super::{App, Args, BubbleArg, CommandEntry, CommandError, Out, command, people};

const EXAMPLES: &str = r#"Examples:
  pairflow env login-race --agent codex
  eval "$(pairflow env login-race --agent codex)""#;

/// Print the environment that an agent needs to join a bubble
///
/// Creates a new token for the agent; older ones become invalid.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct EnvArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// The agent that joins
    #[arg(long, value_name = "AGENT")]
    pub agent: AgentId,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("env", Bubbles, EnvArgs, run, people);

/// The variables as programs see them.
#[derive(Serialize)]
struct Joining<'a> {
    bubble_id: &'a str,
    agent: &'a AgentId,
    worktree: Option<&'a str>,
    env: BTreeMap<String, String>,
}

fn run(args: EnvArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let bubble = app.bubble(&args.bubble, "env")?;
    // What is printed here is used as it is, so it must not differ from the real path.
    insist_on_plain_path(bubble.control.repo()).map_err(EngineError::from)?;
    let (token, state) = bubble.mint(&args.agent)?;
    let env = environment(&bubble, &state, &args.agent, &token);
    let worktree = state.evidence.workspace.as_ref().map(|workspace| workspace.path.as_str());
    if args.json {
        let env = env.into_iter().collect();
        return out.json("env/1", &Joining { bubble_id: bubble.id.as_str(), agent: &args.agent, worktree, env });
    }
    for (name, value) in &env {
        out.line(format_args!("export {name}='{}'", value.replace('\'', "'\\''")))?;
    }
    if let Some(worktree) = worktree {
        out.note(format_args!("{} works in bubble {} at {worktree}", args.agent, bubble.id));
    }
    Ok(())
}
