//! `pairflow findings`: the ledger.

use pairflow_core::findings::{ReproducerState, Row};
use pairflow_core::rules::BubbleKind;
use pairflow_core::view::asides;
use pairflow_core::view::ledger::{LedgerShown, SCHEMA};

use super::{App, Args, BubbleArg, CommandEntry, CommandError, Grid, Out, TextLine, Tone, anyone, command};

/// Show every finding of a bubble and its state
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow findings login-race\n  pairflow findings login-race --history\n  \
                        pairflow findings login-race --json")]
pub struct FindingsArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Show the history of each finding
    #[arg(long)]
    pub history: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("findings", Reading, FindingsArgs, run, anyone);

fn run(args: FindingsArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let bubble = app.look_at(&args.bubble, "findings", out)?;
    let state = bubble.load()?.state;
    let state = state.without(&app.hidden(&bubble, &state));
    if args.json {
        return out.json(SCHEMA, &LedgerShown::of(&state));
    }
    if state.ledger.rows.is_empty() {
        return out.line(format_args!("There are no findings in bubble {}", state.id));
    }
    if args.history {
        return state.ledger.rows.iter().try_for_each(|row| history(out, row, state.rules.kind));
    }
    let mut grid = Grid::new(&["ID", "SEV", "STATE", "WHERE", "FINDING"]);
    for row in &state.ledger.rows {
        let cells = [
            (Tone::Strong, row.id.to_string()),
            (paint(row), row.severity.to_string()),
            (Tone::Plain, stand(row, state.rules.kind)),
            (Tone::Faint, place(row)),
            (Tone::Plain, row.title.clone()),
        ];
        grid.row(cells);
    }
    out.grid(&grid)?;
    match state.ledger.withdrawn() {
        Some(withdrawn) => out.line(format_args!("{withdrawn}")),
        None => Ok(()),
    }
}

fn paint(row: &Row) -> Tone {
    match row.blocks() {
        true => Tone::Bad,
        false if row.is_open() => Tone::Warn,
        false => Tone::Faint,
    }
}

/// Returns the state of a finding in a few words.
fn stand(row: &Row, kind: BubbleKind) -> String {
    let closed = if row.settled && matches!(row.state.name(), "fixed" | "disputed") { ", closed" } else { "" };
    let late = if row.late() { ", late" } else { "" };
    let proof = match row.reproducer.as_ref().map(|one| one.stand) {
        Some(ReproducerState::Fails) => ", reproducer fails",
        Some(ReproducerState::Passes) => ", reproducer passes",
        Some(ReproducerState::Dropped) => ", reproducer dropped",
        None if row.withdrawn > 0 => ", reproducer withdrawn",
        Some(ReproducerState::Pending) | None => "",
    };
    let asides: String = asides(row, kind).iter().map(|aside| format!(", {aside}")).collect();
    format!("{}{closed}{late}{proof}{asides}", row.stands())
}

fn place(row: &Row) -> String {
    match (&row.file, row.line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => file.clone(),
        (None, _) => "-".to_owned(),
    }
}

fn history(out: &mut Out, row: &Row, kind: BubbleKind) -> Result<(), CommandError> {
    let head = format!("{} {} {}", row.id, row.severity, row.title);
    out.paint(
        &TextLine::new().add(paint(row), head).add(Tone::Faint, format!("  {}  {}", stand(row, kind), place(row))),
    )?;
    let fix = row.fix_evidence().filter(|_| kind != BubbleKind::Document);
    if let Some(fix) = fix {
        let shown = if fix.shown { "fix shown" } else { "fix not shown" };
        out.paint(&TextLine::new().add(Tone::Plain, format!("    {shown}: {}", fix.why)))?;
    }
    for text in [&row.detail, &row.suggestion].into_iter().filter(|text| !text.trim().is_empty()) {
        out.paint(&TextLine::new().add(Tone::Plain, format!("    {text}")))?;
    }
    for change in &row.history {
        let closed = if change.settled { " and closed" } else { "" };
        let note = if change.note.is_empty() { String::new() } else { format!(": {}", change.note) };
        let line = format!("  r{:<3} {} by {}{closed}{note}", change.round, change.to.told(change.settled), change.by);
        out.paint(&TextLine::new().add(Tone::Faint, line))?;
    }
    Ok(())
}
