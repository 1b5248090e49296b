//! `pairflow findings`: the ledger.

use clap::{ArgMatches, Args, FromArgMatches};
use pairflow_core::findings::{ReproducerState, Row};
use pairflow_core::view::ledger::{LedgerShown, SCHEMA};

use crate::app::App;
use crate::args::BubbleArg;
use crate::entry::{CommandEntry, Group, anyone};
use crate::exit::CommandError;
use crate::out::{Grid, Line, Out, Paint};

/// Show every finding of a bubble, and where it stands
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow findings login-race\n  pairflow findings login-race --history\n  \
                        pairflow findings login-race --json")]
pub struct FindingsArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Show what happened to each
    #[arg(long)]
    pub history: bool,
    /// Print JSON for programs
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = CommandEntry {
    name: "findings",
    aliases: &[],
    group: Group::Operator,
    about: "Show every finding of a bubble, and where it stands",
    hidden: false,
    human_only: anyone,
    args: FindingsArgs::augment_args,
    run,
};

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = FindingsArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    let bubble = app.look_at(&args.bubble, "findings", out)?;
    let state = bubble.load()?.state;
    if args.json {
        return out.json(SCHEMA, &LedgerShown::of(&state));
    }
    if state.ledger.rows.is_empty() {
        return out.line(format_args!("No finding has been filed in bubble {}.", state.id));
    }
    if args.history {
        return state.ledger.rows.iter().try_for_each(|row| history(out, row));
    }
    let mut grid = Grid::new(&["ID", "SEV", "STATE", "WHERE", "FINDING"]);
    for row in &state.ledger.rows {
        let cells = [
            (Paint::Bold, row.id.to_string()),
            (paint(row), row.severity.to_string()),
            (Paint::Plain, stand(row)),
            (Paint::Dim, place(row)),
            (Paint::Plain, row.title.clone()),
        ];
        grid.row(cells);
    }
    out.grid(&grid)?;
    match state.ledger.withdrawn() {
        Some(withdrawn) => out.line(format_args!("{withdrawn}")),
        None => Ok(()),
    }
}

fn paint(row: &Row) -> Paint {
    match row.blocks() {
        true => Paint::Bad,
        false if row.is_open() => Paint::Warn,
        false => Paint::Dim,
    }
}

/// Where a row stands, in a few words.
fn stand(row: &Row) -> String {
    let closed = if row.settled && matches!(row.state.name(), "fixed" | "disputed") { ", closed" } else { "" };
    let late = if row.late() { ", late" } else { "" };
    let proof = match row.reproducer.as_ref().map(|one| one.stand) {
        Some(ReproducerState::Fails) => ", reproducer fails",
        Some(ReproducerState::Passes) => ", reproducer passes",
        Some(ReproducerState::Dropped) => ", reproducer dropped",
        None if row.withdrawn > 0 => ", reproducer withdrawn",
        Some(ReproducerState::Pending) | None => "",
    };
    format!("{}{closed}{late}{proof}", row.stands())
}

fn place(row: &Row) -> String {
    match (&row.file, row.line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => file.clone(),
        (None, _) => "-".to_owned(),
    }
}

fn history(out: &mut Out, row: &Row) -> Result<(), CommandError> {
    let head = format!("{} {} {}", row.id, row.severity, row.title);
    out.paint(&Line::new().add(paint(row), head).add(Paint::Dim, format!("  {}  {}", stand(row), place(row))))?;
    for text in [&row.detail, &row.suggestion].into_iter().filter(|text| !text.trim().is_empty()) {
        out.paint(&Line::new().add(Paint::Plain, format!("    {text}")))?;
    }
    for change in &row.history {
        let closed = if change.settled { " and closed" } else { "" };
        let note = if change.note.is_empty() { String::new() } else { format!(": {}", change.note) };
        let line = format!("  r{:<3} {} by {}{closed}{note}", change.round, change.to.told(change.settled), change.by);
        out.paint(&Line::new().add(Paint::Dim, line))?;
    }
    Ok(())
}
