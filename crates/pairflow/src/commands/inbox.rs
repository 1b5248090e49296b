//! `pairflow inbox`: what waits for the person.

use pairflow_core::bubble::BubbleState;
use pairflow_core::view::inbox::{Inbox, InboxItem, SCHEMA, inbox};

use super::home::called;

use super::{App, Args, BubbleArg, CommandEntry, CommandError, Out, TextLine, Tone, anyone, command};
use crate::app::tell_foreign;

/// Show the questions that wait for you
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow inbox login-race")]
pub struct InboxArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("inbox", Decisions, InboxArgs, run, anyone);

fn run(args: InboxArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let states = states(app, out, &args.bubble)?;
    let mut items: Vec<InboxItem> = states.iter().flat_map(inbox).collect();
    items.sort_by_key(|item| item.since);
    for item in &mut items {
        item.answer = std::mem::take(&mut item.answer).into_iter().map(|line| app.line_here(line)).collect();
    }
    if args.json {
        return out.json(SCHEMA, &Inbox { items });
    }
    if items.is_empty() {
        return match &states[..] {
            [only] => out.line(format_args!("Nothing waits for you in bubble {}", only.id)),
            _ => out.line(format_args!("Nothing waits for you.")),
        };
    }
    for item in &items {
        let head = format!("{}  {}  since {} UTC", item.bubble_id, item.id, item.since.hms());
        out.paint(&TextLine::new().add(Tone::Strong, head))?;
        out.paint(&TextLine::new().plain(format!("  {} asks: ", called(item))).plain(&item.question))?;
        for (at, line) in item.answer.iter().enumerate() {
            let label = if at == 0 { "  answer  " } else { "  or      " };
            out.paint(&TextLine::new().add(Tone::Faint, label).plain(line))?;
        }
    }
    Ok(())
}

/// The bubble that is meant; without one, all of the repository. One that cannot be read does not hide the others.
fn states(app: &App, out: &mut Out, arg: &BubbleArg) -> Result<Vec<BubbleState>, CommandError> {
    let place = app.place(arg.repo.as_deref())?;
    if arg.typed().is_some() || place.bubble.is_some() {
        let bubble = app.look_at(arg, "inbox", out)?;
        let state = bubble.load()?.state;
        // A question of a foreign bubble cannot be answered.
        return Ok(if bubble.foreign()?.is_none() { vec![state] } else { Vec::new() });
    }
    let mut states = Vec::new();
    for listed in app.engine()?.list(&place.repo.root)? {
        if let Some(why) = &listed.foreign {
            tell_foreign(&listed.bubble.id, &listed.bubble.notice_of(why), out);
            continue;
        }
        match listed.state {
            Ok(state) => states.push(state),
            Err(error) => out.warn(format_args!("{}: {}", listed.bubble.id, CommandError::from(error).message)),
        }
    }
    Ok(states)
}
