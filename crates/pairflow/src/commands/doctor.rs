//! `pairflow doctor`: checks everything that pairflow needs.
//!
//! It only reads, and starts an agent's program only to ask for its version. `--repair` changes logs, after a question.

mod logs;
mod machine;

use pairflow_core::text::counted;
use serde::Serialize;

use super::{App, Args, CommandEntry, CommandError, Exit, Out, RepoArg, TextLine, Tone, command};
use crate::app::RepoScope;

/// Check git, configuration, logs and agents, and suggest fixes
///
/// `--repair` keeps the lines before the damage of a log and moves the damaged log to quarantine. Nothing is deleted.
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
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("doctor", Everyday, DoctorArgs, run, |matches| matches.get_flag("repair"));

fn run(args: DoctorArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let mut report = Report::default();
    machine::git(&mut report);
    machine::programs(app, &mut report);
    machine::agent_programs(
        app,
        &app.repo_scope(args.repo.repo.as_deref()).unwrap_or_else(|_| app.empty_repo_scope()),
        &mut report,
    );
    let repo_scope = repo_scope(app, &args, &mut report);
    machine::config(app, &repo_scope, &mut report);
    machine::places(app, &repo_scope, &mut report);
    machine::trust(app, &repo_scope, &mut report);
    if args.repair {
        logs::repair(app, &repo_scope, args.yes, out)?;
    }
    logs::look(app, &repo_scope, &mut report)?;
    machine::supervisor(app, &repo_scope, &mut report)?;
    if args.json {
        out.json("doctor/1", &report)?;
    } else {
        report.print(out)?;
    }
    if report.exit() == Exit::Done { Ok(()) } else { Err(CommandError::silent(report.exit())) }
}

/// Finds out where to look, and says what is wrong with the repository. Without one, every known repository is looked at.
fn repo_scope(app: &App, args: &DoctorArgs, report: &mut Report) -> RepoScope {
    match app.repo_scope(args.repo.repo.as_deref()) {
        Ok(repo_scope) => {
            machine::repository(&repo_scope, report);
            repo_scope
        }
        Err(error) => {
            report.problem("repository", &error.message, error.hint.as_deref());
            app.empty_repo_scope()
        }
    }
}

/// Everything that was looked at.
#[derive(Default, Serialize)]
struct Report {
    rows: Vec<ReportRow>,
    problems: usize,
    warnings: usize,
}

/// One thing that was looked at.
#[derive(Serialize)]
struct ReportRow {
    what: String,
    level: RowLevel,
    /// What was found, as a sentence without its full stop.
    found: String,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    #[serde(skip)]
    damaged: bool,
    /// Whether people only see the number of such rows.
    #[serde(skip)]
    counted: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum RowLevel {
    Ok,
    Warning,
    Problem,
}

impl Report {
    /// Something is as it should be.
    fn ok(&mut self, what: &str, found: &str) {
        self.add(what, RowLevel::Ok, found, None);
    }

    /// Adds a good row that people only see counted.
    fn ok_too(&mut self, what: &str, found: &str) {
        self.add(what, RowLevel::Ok, found, None).counted = true;
    }

    /// Something is missing that not everybody needs.
    fn warning(&mut self, what: &str, found: &str, next: Option<&str>) {
        self.warnings += 1;
        self.add(what, RowLevel::Warning, found, next);
    }

    /// Something does not work.
    fn problem(&mut self, what: &str, found: &str, next: Option<&str>) {
        self.problems += 1;
        self.add(what, RowLevel::Problem, found, next);
    }

    /// A log is damaged.
    fn damage(&mut self, what: &str, found: &str, next: &str) {
        self.problems += 1;
        self.add(what, RowLevel::Problem, found, Some(next)).damaged = true;
    }

    /// Returns how the process ends.
    fn exit(&self) -> Exit {
        if self.rows.iter().any(|row| row.damaged) {
            Exit::LogDamaged
        } else if self.problems > 0 {
            Exit::IoError
        } else {
            Exit::Done
        }
    }

    /// Prints the rows, and what they come to.
    fn print(&self, out: &mut Out) -> Result<(), CommandError> {
        for row in self.rows.iter().filter(|row| !row.counted) {
            row.print(out)?;
        }
        let (problems, warnings) = (counted(self.problems, "problem"), counted(self.warnings, "warning"));
        match (self.problems, self.warnings) {
            (0, 0) => out.paint(&TextLine::new().add(Tone::Good, "Everything is in order.")),
            (0, _) => out.paint(&TextLine::new().add(Tone::Good, "No problems").plain(format!(", {warnings}."))),
            (_, _) => out.paint(&TextLine::new().add(Tone::Bad, problems).plain(format!(", {warnings}."))),
        }
    }

    fn add(&mut self, what: &str, level: RowLevel, found: &str, next: Option<&str>) -> &mut ReportRow {
        let (what, found, next) = (what.to_owned(), found.to_owned(), next.map(str::to_owned));
        self.rows.push(ReportRow { what, level, found, next, damaged: false, counted: false });
        self.rows.last_mut().expect("a row was pushed a line above")
    }
}

impl ReportRow {
    fn print(&self, out: &mut Out) -> Result<(), CommandError> {
        let (mark, paint) = match self.level {
            RowLevel::Ok => ("ok      ", Tone::Good),
            RowLevel::Warning => ("warning ", Tone::Warn),
            RowLevel::Problem => ("problem ", Tone::Bad),
        };
        let what = format!("{:<12} ", self.what);
        let mut lines = self.found.lines();
        let first = lines.next().unwrap_or_default();
        out.paint(&TextLine::new().add(paint, mark).add(Tone::Strong, what).plain(first))?;
        let indent = " ".repeat(21);
        for line in lines {
            out.paint(&TextLine::new().plain(&indent).plain(line))?;
        }
        match &self.next {
            Some(next) => out.paint(&TextLine::new().plain(&indent).add(Tone::Faint, "next: ").plain(next)),
            None => Ok(()),
        }
    }
}
