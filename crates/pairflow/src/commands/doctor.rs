//! `pairflow doctor`: is everything there that pairflow needs?
//!
//! It looks and never acts: no agent is started but to say its version, no log is touched. Only `--repair` changes anything, after a yes.

mod agents;
mod logs;
mod machine;
mod report;

use clap::Args;

use crate::app::{App, Reach};
use crate::args::RepoArg;
use crate::entry::{CommandEntry, command};
use crate::exit::{CommandError, Exit};
use crate::out::Out;

use report::Report;

/// Check git, configuration, logs and agents, each with the next step
///
/// With `--repair` a damaged log is put aside up to the damage; nothing is deleted.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow doctor\n  pairflow doctor --repair")]
pub struct DoctorArgs {
    /// Which repository
    #[command(flatten)]
    pub repo: RepoArg,
    /// Repair what can be repaired
    #[arg(long)]
    pub repair: bool,
    /// Do not ask before a repair
    #[arg(long, short = 'y', requires = "repair")]
    pub yes: bool,
    /// Print JSON for programs
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("doctor", Everyday, DoctorArgs, run, |matches| matches.get_flag("repair"));

fn run(args: DoctorArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let mut report = Report::default();
    machine::git(&mut report);
    machine::programs(app, &mut report);
    agents::programs(app, &app.reach(args.repo.repo.as_deref()).unwrap_or_else(|_| app.reach_of_none()), &mut report);
    let reach = reach(app, &args, &mut report);
    machine::config(app, &reach, &mut report);
    machine::places(app, &reach, &mut report);
    machine::trust(app, &reach, &mut report);
    if args.repair {
        logs::repair(app, &reach, args.yes, out)?;
    }
    logs::look(app, &reach, &mut report)?;
    machine::supervisor(app, &reach, &mut report)?;
    if args.json {
        out.json("doctor/1", &report)?;
    } else {
        report.print(out)?;
    }
    if report.exit() == Exit::Done { Ok(()) } else { Err(CommandError::told(report.exit())) }
}

/// Finds out where to look, and says what is wrong with the repository. Without one, every known one is looked at.
fn reach(app: &App, args: &DoctorArgs, report: &mut Report) -> Reach {
    match app.reach(args.repo.repo.as_deref()) {
        Ok(reach) => {
            machine::repository(&reach, report);
            reach
        }
        Err(error) => {
            report.problem("repository", &error.message, error.hint.as_deref());
            app.reach_of_none()
        }
    }
}
