//! `pairflow export`: a bubble as one page to read.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use pairflow_core::view::export::{VerifiedClaim, render};
use pairflow_engine::verbs::export;

use pairflow_engine::regular;

use super::{App, Args, BubbleArg, CommandEntry, CommandError, Exit, Out, command};

/// Write a report of a bubble as one HTML page
///
/// Contains verdict, timeline, findings, changes and receipts, without scripts or network access. Exits with 5 if something
/// in the log does not hold.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow bubble export login-race --html\n  \
                        pairflow export login-race --html --out report.html --force\n  \
                        pairflow export login-race --html --out - | gzip > login-race.html.gz")]
pub struct ExportArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Write HTML; there is no other format
    #[arg(long)]
    pub html: bool,
    /// The file to write, or `-` for stdout [default: `<ID>.html` in the current directory]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    pub force: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("export", Reading, ExportArgs, run, writes);

/// An agent may read the page; a file anywhere is for a person to ask for.
fn writes(matches: &ArgMatches) -> bool {
    matches.get_one::<PathBuf>("out").is_none_or(|file| file != Path::new("-"))
}

fn run(args: ExportArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let bubble = app.look_at(&args.bubble, "export", out)?;
    app.refuse_during_first_look(&bubble)?;
    let file = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}.html", bubble.id)));
    let page = PageFile::chosen(app, &file, args.force, format!("pairflow export {} --html", bubble.id))?;
    out.progress(format_args!("recomputing what the log of {} claims …", bubble.id));
    let export = export(&bubble)?;
    page.write(&render(&export), out)?;
    held(&export.verified, out)
}

/// Says what does not hold, as `verify` does.
fn held(checked: &[VerifiedClaim], out: &mut Out) -> Result<(), CommandError> {
    let wrong: Vec<_> = checked.iter().filter_map(|one| Some((&one.what, one.problem.as_ref()?))).collect();
    if wrong.is_empty() {
        return Ok(());
    }
    for (what, problem) in &wrong {
        out.warn(format_args!("{what}: {problem}"));
    }
    let (wrong, all) = (wrong.len(), checked.len());
    Err(CommandError::new(Exit::LogDamaged, format_args!("{wrong} of {all} claims do not hold; the page says which.")))
}

/// Where a page is written to: stdout, or a file.
pub(super) struct PageFile {
    /// Nothing for stdout.
    path: Option<PathBuf>,
    force: bool,
    /// The command line that wrote it, without the options about the file.
    line: String,
}

impl PageFile {
    /// Takes `-` for stdout. A file that is there is only replaced on demand.
    pub(super) fn chosen(app: &App, file: &Path, force: bool, line: String) -> Result<Self, CommandError> {
        let path = if file == Path::new("-") { None } else { Some(app.resolve(file)?) };
        let page = Self { path, force, line };
        match &page.path {
            Some(path) if !force && path.symlink_metadata().is_ok() => Err(page.exists(path)),
            _ => Ok(page),
        }
    }

    pub(super) fn write(&self, page: &str, out: &mut Out) -> Result<(), CommandError> {
        let Some(path) = &self.path else { return out.raw(page.as_bytes()) };
        let written = if self.force { replace(path, page.as_bytes()) } else { create(path, page.as_bytes()) };
        written.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => self.exists(path),
            _ => CommandError::cannot("write", path.display(), error),
        })?;
        out.line(format_args!("Wrote {}", path.display()))
    }

    fn exists(&self, path: &Path) -> CommandError {
        let (shown, line) = (path.display(), &self.line);
        CommandError::refused(format_args!("{shown} already exists."))
            .next(format_args!("{line} --out {shown} --force"))
    }
}

fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = regular::create_new(path, 0o666)?;
    file.write_all(bytes).inspect_err(|_| {
        // Half a page is worse than none, and the error is reported.
        let _ = fs::remove_file(path);
    })
}

/// Replaces the file in one step, so that it is never half written.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let beside = path.with_file_name(name);
    create(&beside, bytes)?;
    fs::rename(&beside, path).inspect_err(|_| {
        let _ = fs::remove_file(&beside);
    })
}
