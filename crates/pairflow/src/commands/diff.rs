//! `pairflow diff`: what was changed.

use pairflow_core::facts::FileChange;
use pairflow_core::ids::BubbleId;
use pairflow_engine::verbs::{DiffOf, diff, patch};
use serde::Serialize;

use super::{App, Args, BubbleArg, CommandEntry, CommandError, Out, anyone, command};

/// Show what a bubble changed
///
/// Piped, it is the exact patch for `git apply`; on a terminal, control characters are made visible.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow diff login-race --stat\n  pairflow diff login-race --round 2")]
pub struct DiffArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Only the changes of this round
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub round: Option<u32>,
    /// Only files and line counts
    #[arg(long)]
    pub stat: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("diff", Reading, DiffArgs, run, anyone);

/// A difference as programs see it.
#[derive(Serialize)]
struct Difference<'a> {
    bubble_id: &'a str,
    round: Option<u32>,
    files: Vec<FileChange>,
    patch: Option<String>,
}

fn run(args: DiffArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let bubble = app.look_at(&args.bubble, "diff", out)?;
    let state = bubble.load()?.state;
    let of = args.round.map_or(DiffOf::Everything, DiffOf::Round);
    // A program gets the bytes of binary files, too; a person would only see noise.
    if !args.json && !args.stat && out.columns().is_none() {
        let exact = patch(&bubble, &state, of)?;
        return if exact.is_empty() { nothing(&bubble.id, out) } else { out.raw(&exact) };
    }
    let diff = diff(&bubble, &state, of)?;
    if args.json {
        let patch = (!args.stat).then(|| String::from_utf8_lossy(&diff.patch).into_owned());
        let shown = Difference { bubble_id: bubble.id.as_str(), round: args.round, files: diff.files, patch };
        return out.json("diff/1", &shown);
    }
    if diff.patch.is_empty() {
        return nothing(&bubble.id, out);
    }
    if args.stat { out.line(format_args!("{}", diff.stat.trim_end())) } else { out.raw(&diff.patch) }
}

fn nothing(id: &BubbleId, out: &mut Out) -> Result<(), CommandError> {
    out.note(format_args!("No changes in bubble {id}"));
    Ok(())
}
