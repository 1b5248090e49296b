//! `pairflow init`: prepares a repository.

use std::io::{ErrorKind, Write};
use std::path::Path;

use clap::{ArgMatches, Args, FromArgMatches};
use pairflow_core::config::{StarterCommand, render_pairflow_toml};
use pairflow_engine::detect::{Detected, Found, detect};
use pairflow_engine::engine::EngineError;

use crate::app::App;
use crate::commands::common::RepoArg;
use crate::exit::CommandError;
use crate::out::{Grid, Out, Paint};
use crate::table::{CommandEntry, Group};
use pairflow_engine::regular;

/// Prepare a repository: detect its checks, write pairflow.toml
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow init\n  pairflow init --yes")]
pub struct InitArgs {
    /// Which repository
    #[command(flatten)]
    pub repo: RepoArg,
    /// Do not ask
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Replace a pairflow.toml that is there
    #[arg(long)]
    pub force: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = CommandEntry {
    name: "init",
    aliases: &[],
    group: Group::Daily,
    about: "Prepare a repository: detect its checks, write pairflow.toml",
    hidden: false,
    human_only: |_| true,
    args: InitArgs::augment_args,
    run,
};

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = InitArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    let repo = app.place(args.repo.repo.as_deref())?.repo;
    let file = repo.root.join("pairflow.toml");
    if file.exists() && !args.force {
        return Err(exists(&file));
    }
    let commands = commands(detect(&repo.root));
    show(&commands, out)?;
    app.insist(out, args.yes, &format!("Write {}?", file.display()))?;
    repo.exclude().map_err(EngineError::from)?;
    write(&file, &render_pairflow_toml(&commands), args.force)?;
    out.line(format_args!("Wrote {}", file.display()))?;
    out.line(format_args!("pairflow's own files stay out of your history: .pairflow/ is in .git/info/exclude"))?;
    if commands.iter().all(|one| one.command.is_none()) {
        out.warn(format_args!(
            "no command was found that checks the work; name one in [commands] of {}",
            file.display()
        ));
        out.next(format_args!("pairflow new \"what to do\" --test \"…\""));
    } else {
        out.next(format_args!("pairflow new \"what to do\""));
    }
    Ok(())
}

fn commands(detected: Detected) -> Vec<StarterCommand> {
    let Detected { test, typecheck, lint, setup } = detected;
    let command = |(key, found): (&'static str, Option<Found>)| match found {
        Some(Found { command, because }) => StarterCommand { key, command: Some(command), because },
        None => StarterCommand { key, command: None, because: String::new() },
    };
    [("test", test), ("typecheck", typecheck), ("lint", lint), ("setup", setup)].into_iter().map(command).collect()
}

fn show(commands: &[StarterCommand], out: &mut Out) -> Result<(), CommandError> {
    let mut grid = Grid::new(&["CHECK", "COMMAND", "FOUND IN"]);
    for one in commands {
        let (paint, command) = match &one.command {
            Some(command) => (Paint::Plain, command.as_str()),
            None => (Paint::Dim, "not found"),
        };
        grid.row([(Paint::Bold, one.key), (paint, command), (Paint::Dim, one.because.as_str())]);
    }
    out.grid(&grid)
}

fn write(file: &Path, text: &str, force: bool) -> Result<(), CommandError> {
    let made = || regular::create_new(file, 0o666)?.write_all(text.as_bytes());
    let written = if force { regular::write(file, text) } else { made() };
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => exists(file),
        _ => CommandError::world(format_args!("cannot write {}: {error}.", file.display())),
    })
}

fn exists(file: &Path) -> CommandError {
    CommandError::refused(format_args!(
        "{} is there already, and nothing was changed; --force replaces it.",
        file.display()
    ))
    .next("pairflow config explain")
}
