//! `pairflow metrics`: the figures of a repository's loops.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use pairflow_core::view::metrics::{Metrics, MetricsReport, MetricsTable, SCHEMA, page};

use super::export::PageFile;
use super::{App, Args, CommandEntry, CommandError, Grid, Out, RepoArg, TextLine, Tone, command};

const AFTER: &str = "\
Of each finding it says how it ended: confirmed (fixed, as a reviewer or a passing reproducer says), conceded (disputed,
and the reviewer agreed), dismissed (by a judge or a person), waived, or open. Disputed and upheld count the findings to
which that happened at some time. A fix of a P0 or P1 is shown if its test or reproducer failed before and passes now.

Examples:
  pairflow metrics
  pairflow metrics --json
  pairflow metrics --html --out metrics.html --force";

/// The file of the page, unless another one is named.
const PAGE: &str = "pairflow-metrics.html";

/// Show how the loops of a repository went
///
/// Everything follows from the logs of its bubbles, also of deleted ones. Foreign bubbles are counted apart; a bubble that
/// cannot be read is named and counted nowhere.
#[derive(Debug, Clone, Args)]
#[command(after_help = AFTER)]
pub struct MetricsArgs {
    /// Which repository
    #[command(flatten)]
    pub repo: RepoArg,
    /// Print JSON
    #[arg(long, conflicts_with = "html")]
    pub json: bool,
    /// Write one HTML page with charts
    #[arg(long)]
    pub html: bool,
    /// The file of the page, or `-` for stdout [default: `pairflow-metrics.html` in the current directory]
    #[arg(long, value_name = "FILE", requires = "html")]
    pub out: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long, requires = "html")]
    pub force: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("metrics", Reading, MetricsArgs, run, writes);

/// An agent may read the figures; a file anywhere is for a person to ask for.
fn writes(matches: &ArgMatches) -> bool {
    matches.get_flag("html") && matches.get_one::<PathBuf>("out").is_none_or(|file| file != Path::new("-"))
}

fn run(args: MetricsArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let root = app.place(args.repo.repo.as_deref())?.repo.root;
    let file = args.out.unwrap_or_else(|| PathBuf::from(PAGE));
    let line = || "pairflow metrics --html".to_owned();
    let html = args.html.then(|| PageFile::chosen(app, &file, args.force, line())).transpose()?;
    out.progress(format_args!("reading the logs of {} …", root.display()));
    let report = app.engine()?.metrics(&root)?;
    match html {
        Some(file) => file.write(&page::render(&report), out),
        None if args.json => out.json(SCHEMA, &report),
        None => print(&report, out),
    }
}

fn print(report: &MetricsReport, out: &mut Out) -> Result<(), CommandError> {
    out.paint(&TextLine::new().add(Tone::Strong, report.own.summary()).plain(format!(" in {}", report.repo)))?;
    if let Some(caution) = report.own.caution() {
        out.paint(&TextLine::new().add(Tone::Warn, caution))?;
    }
    print_figures(&report.own, out)?;
    if !report.foreign.is_empty() {
        out.line(format_args!(""))?;
        let summary = format!("Foreign: {}", report.foreign.summary());
        out.paint(&TextLine::new().add(Tone::Strong, summary).plain("; their logs are not yours"))?;
        print_figures(&report.foreign, out)?;
    }
    for one in &report.unreadable {
        let archived = if one.archived { " (archived)" } else { "" };
        out.warn(format_args!("{}{archived} cannot be read and is in no figure: {}", one.bubble_id, one.error));
    }
    if report.unreadable_left_out > 0 {
        out.warn(format_args!("{} more bubbles cannot be read and are in no figure", report.unreadable_left_out));
    }
    if report.own.is_empty() && report.foreign.is_empty() {
        out.next(format_args!("pairflow new \"what to do\""));
    }
    Ok(())
}

fn print_figures(metrics: &Metrics, out: &mut Out) -> Result<(), CommandError> {
    for table in metrics.tables() {
        out.line(format_args!(""))?;
        out.grid(&grid(&table))?;
    }
    let remarks = metrics.remarks();
    if !remarks.is_empty() {
        out.line(format_args!(""))?;
    }
    for remark in remarks {
        out.line(format_args!("{remark}"))?;
    }
    if !metrics.escaped.newest.is_empty() {
        out.line(format_args!(""))?;
        let mut grid = Grid::new(&["SEVERITY", "BUBBLE", "ESCAPED DEFECT"]);
        for one in &metrics.escaped.newest {
            let (severity, id) = (one.severity.to_string(), one.bubble_id.to_string());
            grid.row([(Tone::Bad, severity), (Tone::Plain, id), (Tone::Plain, one.text.clone())]);
        }
        out.grid(&grid)?;
    }
    Ok(())
}

/// The row of totals stands out, and so does each name; a zero does not.
fn grid(table: &MetricsTable) -> Grid {
    let mut grid = Grid::new(&table.heads);
    for row in &table.rows {
        let all = row.first().is_some_and(|name| name == "all");
        grid.row(row.iter().enumerate().map(|(nth, cell)| {
            let tone = match cell.as_str() {
                _ if nth == 0 || all => Tone::Strong,
                "0" => Tone::Faint,
                _ => Tone::Plain,
            };
            (tone, cell.clone())
        }));
    }
    grid
}
