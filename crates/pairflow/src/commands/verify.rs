//! `pairflow verify`: recomputes the certificate.

use clap::{ArgMatches, Args, FromArgMatches};
use pairflow_core::view::safe::safe_line;
use pairflow_engine::verbs::{VerifyReport, verify};

use crate::app::App;
use crate::commands::common::BubbleArg;
use crate::exit::{CommandError, Exit};
use crate::out::{Line, Out, Paint};
use crate::table::{CommandEntry, Group, anyone};

/// Recompute the certificate from log and repository
///
/// Only reads; fails on any damage of the log.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow verify login-race")]
pub struct VerifyArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Print JSON for programs
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = CommandEntry {
    name: "verify",
    aliases: &[],
    group: Group::Operator,
    about: "Recompute the certificate from log and repository",
    hidden: false,
    human_only: anyone,
    args: VerifyArgs::augment_args,
    run,
};

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = VerifyArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    let bubble = app.look_at(&args.bubble, "verify", out)?;
    out.progress(format_args!("recomputing what the log of {} claims …", bubble.id));
    let report = verify(&bubble)?;
    if args.json {
        out.json("verify/1", &report)?;
    } else {
        for row in &report.rows {
            let (paint, mark) = if row.holds { (Paint::Good, "ok   ") } else { (Paint::Bad, "wrong") };
            let problem = if row.holds { String::new() } else { format!(": {}", row.problem) };
            out.paint(&Line::new().add(paint, mark).plain(format!("  {}{problem}", row.what)))?;
        }
        out.line(format_args!("{}", verdict(&report)))?;
    }
    if report.holds { Ok(()) } else { Err(CommandError::told(Exit::LogDamaged)) }
}

fn verdict(report: &VerifyReport) -> String {
    let id = &report.bubble_id;
    let lines = if report.envelopes == 1 { "1 line".to_owned() } else { format!("{} lines", report.envelopes) };
    match (&report.certificate, report.holds) {
        (_, false) => format!("The log of bubble {id} claims what does not hold."),
        (None, true) => format!("Everything holds in {lines} of bubble {id}: no certificate yet."),
        (Some(certificate), true) => {
            let by: Vec<_> = certificate.reviews.iter().map(|review| review.agent.as_str()).collect();
            let tree = certificate.tree.short();
            let how = if by.is_empty() {
                "was accepted by a person at a tie-break, without a clean review".to_owned()
            } else {
                format!("was accepted, reviewed by {}", by.join(" and "))
            };
            let waived = match &certificate.waived[..] {
                [] => String::new(),
                waived => format!("; waived by a person: {}", safe_line(&waived.join(", "), 400)),
            };
            format!("Everything holds in {lines} of bubble {id}: tree {tree} {how}{waived}.")
        }
    }
}
