//! `pairflow brief`: what the present turn is about.

use pairflow_core::safe::safe;
use pairflow_engine::engine::{Denial, EngineError};
use pairflow_engine::verbs::AgentRequest;

use super::{App, Args, BubbleArg, CommandEntry, CommandError, Out, anyone, command, fits};

/// Print the brief of the current turn
///
/// The brief has the task, findings, checks, and the commands that end the turn.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow brief\n  pairflow brief login-race")]
pub struct BriefArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("brief", Agents, BriefArgs, run, anyone);

fn run(args: BriefArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let caller = app.caller();
    if let (Some(own), Some(other)) = (caller.as_ref().and_then(|caller| caller.bubble.as_deref()), args.bubble.typed())
        && own != other
    {
        return Err(Denial::other_bubble(own, other).into());
    }
    let bubble = app.bubble_that(fits::pausable, &args.bubble, "brief")?;
    let state = bubble.load()?.state;
    let reader = caller.and_then(|caller| caller.agent);
    let turn = state.turn_to_read(reader.as_deref()).map_err(EngineError::from)?;
    let file = bubble.brief(&turn.agent);
    let text = pairflow_engine::regular::read_text(&file).map_err(|error| {
        CommandError::io(format_args!("cannot read the brief {}: {error}.", file.display())).next("pairflow status")
    })?;
    out.line(format_args!("{}", safe(text.trim_end())))?;
    if reader.is_some() && state.returned_to(&turn.agent).is_some() {
        // The brief says why the work came back. Whether that can be recorded or not, it was read.
        let _ = app.sender(args.bubble.typed()).and_then(|sender| sender.say(AgentRequest::BriefRead));
    }
    Ok(())
}
