//! `pairflow log`: the timeline.

use pairflow_core::view::timeline::{SCHEMA, TimelineLog, TimelineState};
use pairflow_engine::engine::EngineError;

use super::{App, Args, BubbleArg, CommandEntry, CommandError, Out, TextLine, Tone, anyone, command};

/// Show the timeline of a bubble
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow log login-race\n  pairflow log login-race --json")]
pub struct LogArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("log", Reading, LogArgs, run, anyone);

fn run(args: LogArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let bubble = app.look_at(&args.bubble, "log", out)?;
    let mut story = TimelineState::new(bubble.id.clone());
    let mut rows = Vec::new();
    match bubble.load() {
        Ok(seen) => story.hide(app.hidden(&bubble, &seen.state)),
        // A person is shown as much of a damaged log as can be read.
        Err(_) if app.caller().is_none() => {}
        Err(error) => return Err(error.into()),
    }
    bubble.log().visit(&mut |envelope| rows.extend(story.step(&envelope))).map_err(EngineError::from)?;
    if args.json {
        return out.json(SCHEMA, &TimelineLog { bubble_id: bubble.id.clone(), rows });
    }
    let mut day = String::new();
    for row in &rows {
        let date = row.at.yyyymmdd();
        if date != day {
            out.paint(&TextLine::new().add(Tone::Faint, format!("{} (UTC)", row.at)))?;
            day = date;
        }
        let line = TextLine::new()
            .add(Tone::Faint, format!("{}  r{:<3}", row.at.hms(), row.round))
            .add(Tone::Strong, format!("{:<9} ", row.who))
            .add(row.tone, &row.what);
        out.paint(&line)?;
    }
    Ok(())
}
